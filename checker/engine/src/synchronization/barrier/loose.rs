//! Barriers whose thread count is not that of the warps that use them: any warps that come make up a generation.
//!
//! Where `b` threads are counted and more (or fewer) warps use the barrier, or where not all uses count the same number
//! (`mixed`), who meets whom depends on who comes first. So
//! the generation of each warp's n-th arrival is an unknown. A generation has no more than its count, and none begins
//! before the last is full; a later one comes after an earlier one (`bar-order`), so no generation contains arrivals that
//! program order or other synchronization keeps apart.
//!
//! A warp arrives when the last of its lanes does. Which lane that is is a choice, too, since an order between warps is one
//! between those.
//!
//! Exact, for barriers on which each thread's arrivals are counted without knowing values read, without `red`, where no
//! lane exits instead of arriving with its warp, and up to [`MAX_ARRIVALS`] arrivals of warps; else refused.

use super::instances::{Barriers, Instances};
use super::mixed::Demand;
use crate::event::support::Supports;
use crate::event::{
    AgentId, BaseRelation, Blocked, Edge, GraphError, Hierarchy, LooseArrival, LooseBarrier, Misuse,
    TermPool, TermRef, UnknownKind, Wait,
};
use crate::findings;
use crate::synchronization::log::{BarrierLog, Form, Generation, Group, WARP_SIZE};
use fencepost_dsl::Diagnostic;
use fencepost_dsl::kernel::program::BinaryOp;
use fencepost_dsl::sorted::{SortedMap, SortedSet};

/// Most arrivals of warps at one barrier.
const MAX_ARRIVALS: usize = 48;
/// Bits of a generation and of a number of arrivals.
pub(super) const WIDTH: u8 = 8;

/// Barriers of which counting each thread's arrivals does not say who meets.
///
/// Where all uses count the same number and it is that of all warps that use the barrier, every generation is of all of
/// them, so that the n-th arrivals meet. Where numbers differ, there are generations of fewer.
pub fn loose_barriers(hierarchy: &Hierarchy, log: &BarrierLog) -> SortedSet<Group> {
    let is_loose = |executions: &[usize]| {
        let agents = executions.iter().map(|&index| log.executions[index].agent);
        let warps: SortedSet<u32> = agents.map(|agent| hierarchy.warp_of(agent)).collect();
        let n_threads = u32::try_from(warps.len()).unwrap_or(u32::MAX).saturating_mul(WARP_SIZE);
        log.is_mixed(hierarchy, executions)
            || log.common_count(hierarchy, executions).is_some_and(|count| count != n_threads)
    };
    log.groups()
        .into_iter()
        .filter(|(group, executions)| matches!(group, Group::Cta(..)) && is_loose(executions))
        .map(|(group, _)| group)
        .collect()
}

/// A warp's n-th arrival.
pub(super) struct WarpArrival {
    pub warp: u32,
    /// How many the warp has made before.
    pub index: u32,
    /// The lanes' executions.
    pub executions: Vec<usize>,
    /// What it says of how many are to come.
    pub demand: Demand,
    /// 1 iff all lanes have arrived.
    pub arrived: TermRef,
    /// 1 iff it counts: neither it nor an earlier one came back before the warp's last generation was complete.
    pub counts: TermRef,
    /// 1 iff it is the first that came back too early.
    early: TermRef,
    /// What that rests on, if it can be.
    comes_early: Option<TermRef>,
    pub generation: TermRef,
    /// The last lane to come.
    last: Option<TermRef>,
}

/// All arrivals at a barrier, and how full its generations are.
pub(super) struct Meeting {
    pub group: Group,
    pub arrivals: Vec<WarpArrival>,
    pub generations: Vec<Round>,
}

/// A generation.
pub(super) struct Round {
    /// Its number.
    pub number: TermRef,
    /// Arrivals of warps.
    pub count: TermRef,
    /// Warps that make it.
    pub needed: TermRef,
    /// 1 iff all of them have come, or have exited where that counts.
    pub filled: TermRef,
    /// 1 iff who comes does not agree on how many make it.
    pub differs: TermRef,
    /// Warps whose exit counts, if they have not come, and when.
    pub exits: Vec<(u32, TermRef)>,
}

impl Barriers<'_> {
    /// States who meets at a loose barrier.
    pub(super) fn finish_loose(
        &mut self,
        group: Group,
        instances: &Instances,
        supports: &mut Supports,
    ) -> Result<(), GraphError> {
        let meeting = self.meeting(group, instances)?;
        self.state_meeting(&meeting);
        self.state_early(&meeting);
        self.link_meeting(&meeting);
        if self.log.is_mixed(&self.graph.hierarchy, &instances.executions) {
            self.state_agreement(&meeting);
            self.link_exits_of_warps(&meeting, supports);
        }
        if self.hangs {
            self.record_loose_blocked(&meeting);
        }
        self.describe_meeting(&meeting);
        Ok(())
    }

    /// Notes what an execution has to say of it.
    fn describe_meeting(&mut self, meeting: &Meeting) {
        let mut arrivals = Vec::new();
        for arrival in &meeting.arrivals {
            let own = || arrival.executions.iter().map(|&index| self.execution(index));
            let threads = &self.graph.hierarchy.threads;
            arrivals.push(LooseArrival {
                warp: arrival.warp,
                early: arrival.comes_early,
                lanes: own().map(|own| (own.arrive, threads[own.agent].lane)).collect(),
                n_lanes: self.graph.hierarchy.lanes_of(arrival.warp).count(),
                waits: own().filter_map(|own| own.wait).map(|(wait, _)| wait).collect(),
                generation: arrival.generation,
                last: arrival.last,
                warps: arrival.demand.warps,
            });
        }
        let needed = meeting.generations.iter().map(|round| round.needed).collect();
        self.graph.loose.push(LooseBarrier { arrivals, needed });
    }

    fn meeting(&mut self, group: Group, instances: &Instances) -> Result<Meeting, GraphError> {
        let mut by_warp: SortedMap<(u32, u32), Vec<usize>> = SortedMap::new();
        for &index in &instances.executions {
            let execution = self.execution(index);
            let Generation::Static(n) = execution.generation else {
                return Err(self.refuse_loose(
                    group,
                    index,
                    "how often a thread has arrived before depends on values read",
                ));
            };
            if matches!(execution.form, Form::Reduce { .. }) {
                return Err(self.refuse_loose(group, index, "a reduction over whichever warps come first"));
            }
            let warp = self.graph.hierarchy.warp_of(execution.agent);
            by_warp.entry((warp, n)).or_default().push(index);
        }
        let first = instances.executions[0];
        if by_warp.len() > MAX_ARRIVALS {
            return Err(self.refuse_loose(
                group,
                first,
                "too many arrivals to look at every way in which warps can meet",
            ));
        }
        let mut sizes: Vec<u32> =
            instances.executions.iter().map(|&index| self.effective_count(index) / WARP_SIZE).collect();
        sizes.sort_unstable();
        sizes.dedup();
        let mut meeting =
            Meeting { group, arrivals: Vec::with_capacity(by_warp.len()), generations: Vec::new() };
        // With several counts, one arrival may make a generation: the others have exited.
        let smallest = if let [size] = sizes[..] { usize::try_from(size).unwrap_or(1) } else { 1 };
        let n_generations = by_warp.len().div_ceil(smallest.max(1));
        for ((warp, index), executions) in by_warp {
            let previous = meeting.arrivals.last().filter(|arrival| arrival.warp == warp);
            let previous = previous.map(|arrival| (arrival.counts, self.may_go_on(&arrival.executions)));
            let arrival = self.warp_arrival(group, (warp, index), executions, previous)?;
            let bound = self.graph.terms.constant(n_generations as u128, WIDTH);
            let fits = self.graph.terms.less(arrival.generation, bound);
            self.graph.constrain(fits);
            meeting.arrivals.push(arrival);
        }
        for generation in 0..n_generations {
            let number = self.graph.terms.constant(generation as u128, WIDTH);
            let mut count = self.graph.terms.constant(0, WIDTH);
            for arrival in &meeting.arrivals {
                let here = self.graph.terms.equal(arrival.generation, number);
                let counts = self.graph.terms.and(here, arrival.counts);
                let one = self.graph.terms.resize(counts, WIDTH);
                count = self.graph.terms.binary(BinaryOp::Add, count, one);
            }
            let round = match sizes[..] {
                [needed] => {
                    let needed = self.graph.terms.constant(u128::from(needed), WIDTH);
                    let filled = self.graph.terms.equal(count, needed);
                    Round { number, count, needed, filled, differs: TermPool::FALSE, exits: Vec::new() }
                }
                _ => self.mixed_round(&meeting, &sizes, number, count),
            };
            meeting.generations.push(round);
        }
        Ok(meeting)
    }

    /// Whether some lane goes on without waiting.
    fn may_go_on(&self, executions: &[usize]) -> bool {
        executions.iter().any(|&index| matches!(self.execution(index).form, Form::Arrive))
    }

    fn warp_arrival(
        &mut self,
        group: Group,
        (warp, index): (u32, u32),
        executions: Vec<usize>,
        previous: Option<(TermRef, bool)>,
    ) -> Result<WarpArrival, GraphError> {
        let lanes: Vec<AgentId> = self.graph.hierarchy.lanes_of(warp).collect();
        let n_lanes = u32::try_from(lanes.len()).unwrap_or(u32::MAX);
        let mut all = Vec::new();
        let mut demands = Vec::new();
        for lane in lanes {
            let own: Vec<usize> =
                executions.iter().copied().filter(|&index| self.execution(index).agent == lane).collect();
            let arrived = self.arrived(&own, Generation::Static(index));
            all.push((lane, arrived));
            if let [first, others @ ..] = own.as_slice() {
                demands.push(self.demand(*first, others));
            }
        }
        let is_uniform = all.iter().all(|(_, arrived)| *arrived == all[0].1);
        let terms = &self.graph.terms;
        if !is_uniform
            && all.iter().any(|&(lane, arrived)| !terms.entails(self.graph.completed[lane], arrived))
        {
            return Err(self.refuse_loose(group, executions[0], "some lane of the warp may not come"));
        }
        if demands.iter().any(|demand| *demand != demands[0]) {
            return Err(self.refuse_loose(group, executions[0], "lanes of one warp count differently"));
        }
        let arrived = self.graph.terms.and_all(all.iter().map(|&(_, arrived)| arrived).collect::<Vec<_>>());
        let mut comes_early = None;
        let (may_count, early) = match previous {
            None => (arrived, TermPool::FALSE),
            Some((counted, may_go_on)) => {
                let both = self.graph.terms.and(arrived, counted);
                let early = if may_go_on {
                    let (_, early) = self.graph.terms.fresh(1, UnknownKind::Early);
                    comes_early = Some(early);
                    self.graph.terms.and(both, early)
                } else {
                    TermPool::FALSE
                };
                (both, early)
            }
        };
        let in_time = self.graph.terms.not(early);
        let counts = self.graph.terms.and(may_count, in_time);
        let (_, generation) = self.graph.terms.fresh(WIDTH, UnknownKind::Phase);
        let range = (0, u128::from(n_lanes.saturating_sub(1)));
        let last = (n_lanes > 1).then(|| self.graph.fresh_in_range(WIDTH, range, UnknownKind::Phase).1);
        let demand = demands[0];
        Ok(WarpArrival {
            warp,
            index,
            executions,
            demand,
            arrived,
            counts,
            early,
            comes_early,
            generation,
            last,
        })
    }

    /// Generations are filled one after the other, and a warp is in each at most once.
    fn state_meeting(&mut self, meeting: &Meeting) {
        for (at, round) in meeting.generations.iter().enumerate() {
            let over = self.graph.terms.less(round.needed, round.count);
            let within = self.graph.terms.not(over);
            self.graph.constrain(within);
            if let Some(next) = meeting.generations.get(at + 1) {
                let zero = self.graph.terms.constant(0, WIDTH);
                let begun = self.graph.terms.less(zero, next.count);
                self.graph.imply(begun, round.filled);
            }
        }
        for pair in meeting.arrivals.windows(2) {
            if pair[0].warp == pair[1].warp {
                let later = self.graph.terms.less(pair[0].generation, pair[1].generation);
                self.graph.imply(pair[1].counts, later);
            }
        }
        for arrival in &meeting.arrivals {
            let passes = self.gets_through(meeting, arrival);
            for &index in &arrival.executions {
                if let Some((_, guard)) = self.execution(index).wait {
                    self.graph.imply(guard, passes);
                }
            }
        }
    }

    /// 1 iff something holds of the arrival's generation.
    pub(super) fn of_its_generation(
        &mut self,
        meeting: &Meeting,
        arrival: &WarpArrival,
        property: impl Fn(&mut TermPool, &Round) -> TermRef,
    ) -> TermRef {
        let mut ways = Vec::new();
        for round in &meeting.generations {
            let here = self.graph.terms.equal(arrival.generation, round.number);
            let holds = property(&mut self.graph.terms, round);
            ways.push(self.graph.terms.and(here, holds));
        }
        self.graph.terms.or_all(ways)
    }

    /// 1 iff the arrival counts, and its generation is complete in the end.
    fn gets_through(&mut self, meeting: &Meeting, arrival: &WarpArrival) -> TermRef {
        let complete = self.of_its_generation(meeting, arrival, |terms, round| {
            let agrees = terms.not(round.differs);
            terms.and(round.filled, agrees)
        });
        self.graph.terms.and(arrival.counts, complete)
    }

    /// UB-B4: a warp comes back, and its last generation is not complete by then.
    fn state_early(&mut self, meeting: &Meeting) {
        for pair in meeting.arrivals.windows(2) {
            let (previous, back) = (&pair[0], &pair[1]);
            if back.early == TermPool::FALSE {
                continue;
            }
            let full = self.of_its_generation(meeting, previous, |_, round| round.filled);
            let mut ways = vec![self.graph.terms.not(full)];
            for other in meeting.arrivals.iter().filter(|other| other.warp != back.warp) {
                let same = self.graph.terms.equal(other.generation, previous.generation);
                let meets = self.graph.terms.and(same, other.counts);
                for &to in &other.executions {
                    let to = self.execution(to);
                    let (_, choice) = self.graph.terms.fresh(1, UnknownKind::ComesFirst);
                    let there = self.graph.terms.and(meets, to.guard);
                    let later = self.graph.terms.and(choice, there);
                    ways.push(later);
                    let condition = self.graph.terms.and(later, back.early);
                    for &from in &back.executions {
                        let from = self.execution(from).arrive;
                        self.graph
                            .edges
                            .add(BaseRelation::BarrierOrder, Edge { from, to: to.arrive, condition });
                    }
                }
            }
            let some = self.graph.terms.or_all(ways);
            self.graph.imply(back.early, some);
            let misuse = Misuse::new(&findings::barrier::RETURN_BEFORE_RESET)
                .with("barrier", meeting.group.name(&self.graph.hierarchy));
            let event = self.execution(back.executions[0]).arrive;
            let fine = self.graph.terms.not(back.early);
            let guard = self.graph.terms.and(back.arrived, previous.counts);
            self.graph.oblige_at(event, misuse, guard, fine);
        }
    }

    /// Links the arrivals of each generation to its waits, and generations in their order.
    fn link_meeting(&mut self, meeting: &Meeting) {
        for from in &meeting.arrivals {
            for to in &meeting.arrivals {
                let same = self.graph.terms.equal(from.generation, to.generation);
                let meets = self.graph.terms.and(same, from.counts);
                let before = self.graph.terms.less(from.generation, to.generation);
                let both = self.graph.terms.and(from.counts, to.counts);
                let before = self.graph.terms.and(before, both);
                for &to_index in &to.executions {
                    let end = self.execution(to_index);
                    let is_last = self.is_last(to, end.agent);
                    let before = self.graph.terms.and(before, is_last);
                    for &from_index in &from.executions {
                        let start = self.execution(from_index).arrive;
                        if let Some((wait, _)) = end.wait
                            && meets != TermPool::FALSE
                        {
                            self.graph.edges.add(
                                BaseRelation::BarrierSynchronization,
                                Edge { from: start, to: wait, condition: meets },
                            );
                        }
                        if from.warp != to.warp && before != TermPool::FALSE {
                            let edge = Edge { from: start, to: end.arrive, condition: before };
                            self.graph.edges.add(BaseRelation::BarrierOrder, edge);
                        }
                    }
                }
            }
        }
    }

    /// 1 iff a lane is the last of its warp to come.
    pub(super) fn is_last(&mut self, arrival: &WarpArrival, agent: AgentId) -> TermRef {
        match arrival.last {
            Some(last) => {
                let lane = self.graph.hierarchy.threads[agent].lane;
                let lane = self.graph.terms.constant(u128::from(lane), WIDTH);
                self.graph.terms.equal(last, lane)
            }
            None => TermPool::TRUE,
        }
    }

    /// Says when a thread that has arrived waits for ever.
    fn record_loose_blocked(&mut self, meeting: &Meeting) {
        let name = meeting.group.name(&self.graph.hierarchy);
        for arrival in &meeting.arrivals {
            // Where counts differ, what happens is undefined, and no hang of its own.
            let over = self
                .of_its_generation(meeting, arrival, |terms, round| terms.or(round.filled, round.differs));
            let over = self.graph.terms.and(arrival.counts, over);
            let incomplete = self.graph.terms.not(over);
            let mut awaited: SortedMap<AgentId, TermRef> = SortedMap::new();
            for other in &meeting.arrivals {
                let same = self.graph.terms.equal(other.generation, arrival.generation);
                let meets = self.graph.terms.and(same, other.counts);
                let own = (other.warp, other.index) == (arrival.warp, arrival.index);
                for &index in &other.executions {
                    let execution = self.execution(index);
                    let there = if own { execution.guard } else { meets };
                    let known = awaited.entry(execution.agent).or_insert(TermPool::FALSE);
                    *known = self.graph.terms.or(*known, there);
                }
            }
            let awaited: std::sync::Arc<[(AgentId, TermRef)]> = awaited.into_iter().collect();
            for &index in &arrival.executions {
                let execution = self.execution(index);
                let Some((wait, _)) = execution.wait else { continue };
                let stuck = self.graph.terms.and(execution.guard, incomplete);
                let event = &self.graph.events[wait];
                let (Some(site), iterations) = (event.site, event.iterations.clone()) else { continue };
                let calls = event.calls.clone();
                if stuck != TermPool::FALSE {
                    let (name, awaited) = (name.clone(), awaited.clone());
                    let any_of = Some(self.effective_count(index) / WARP_SIZE);
                    let wait = Wait::Barrier { site, name, awaited, any_of };
                    let (agent, span) = (execution.agent, execution.span);
                    self.graph.blocked.push(Blocked { agent, span, iterations, calls, stuck, wait });
                }
            }
        }
    }

    fn refuse_loose(&self, group: Group, index: usize, why: &str) -> GraphError {
        let execution = self.execution(index);
        let diagnostic = Diagnostic::new(
            "unsupported::barrier-participants",
            format!("which warps share a generation of {} is not decided", group.name(&self.graph.hierarchy)),
            execution.span,
            why,
        );
        let help = if self.of_group(group).any(|other| other.count != execution.count) {
            "give each use with another thread count a barrier number of its own (a warp counts as 32)"
        } else {
            "let exactly the warps that the thread count stands for use a barrier number (a warp counts as 32)"
        };
        GraphError::Unsupported(diagnostic.with_help(help).with_rule("BR-1"))
    }
}
