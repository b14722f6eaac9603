//! Coming back to a barrier after an arrival that did not wait (UB-B4, UB-C1).
//!
//! `bar.arrive` and `barrier.cluster.arrive` do not wait, so the same warp may get to its next instruction on that barrier
//! before the generation it arrived in is complete; hardware leaves open what happens then. It is fine if the generation
//! surely is complete: another barrier, an mbarrier or a flag on the way says so.
//!
//! First a cheap test, sufficient but not necessary: between the arrival and the next use the thread passes a barrier at
//! which some thread arrives only after it has got through the first, or through a third one of which the same is true.
//! What is left is decided by the model: an unknown says that the warp comes back before a certain thread has arrived, and
//! the model refuses what contradicts the order in which things must have happened (`bar-order`). A warp has come back once
//! all its lanes have.
//!
//! Where a thread exits instead of arriving, the warp may come back before that exit; what others pass because of it says
//! that it has happened.
//!
//! Cannot: decide it where how often the thread has arrived before depends on values read.

use super::instances::{Barriers, Instances, OfGroup};
use crate::event::{
    AgentId, BaseRelation, Edge, EventId, GraphError, Misuse, TermPool, TermRef, UnknownKind,
};
use crate::findings;
use crate::synchronization::log::{Execution, Form, Generation, Group};
use crate::work::{self, Work};
use fencepost_dsl::Diagnostic;
use fencepost_dsl::sorted::SortedMap;
use rustc_hash::FxHashMap;

/// Barriers that the cheap test goes through on its way from one to another.
const HOPS_MAX: u32 = 16;
/// Barriers that it looks at from each, the last ones that the thread has passed.
const WAITS_MAX: usize = 8;

/// A warp's arrival that does not wait, and its next use of the barrier.
struct Return {
    generation: u32,
    /// The executions of the next use.
    next: Vec<Execution>,
    /// Per lane with both: 1 iff it does both and has not waited in between.
    both: Vec<(Execution, Execution, TermRef)>,
}

impl Barriers<'_> {
    /// States that no warp comes back to the barrier before the generation of its last arrival is complete.
    pub(super) fn state_reuse(&mut self, group: Group, instances: &Instances) -> Result<(), GraphError> {
        let mut warps: SortedMap<u32, Vec<AgentId>> = SortedMap::new();
        for &lane in instances.per_lane.keys() {
            warps.entry(self.graph.hierarchy.warp_of(lane)).or_default().push(lane);
        }
        for (warp, lanes) in warps {
            for back in self.returns(group, &lanes, instances)? {
                self.state_return(group, (warp, &lanes), &back, instances)?;
            }
        }
        Ok(())
    }

    /// The returns of a warp that the cheap test does not show to be fine.
    fn returns(
        &mut self,
        group: Group,
        lanes: &[AgentId],
        instances: &Instances,
    ) -> Result<Vec<Return>, GraphError> {
        let mut open: SortedMap<u32, Return> = SortedMap::new();
        let mut shown: Vec<u32> = Vec::new();
        for lane in lanes {
            let own = instances.per_lane.get(lane).map_or(&[][..], Vec::as_slice);
            for (at, &index) in own.iter().enumerate() {
                let arrival = self.execution(index);
                if !matches!(arrival.form, Form::Arrive) {
                    continue;
                }
                for &next in &own[at + 1..] {
                    let next = self.execution(next);
                    let both = self.graph.terms.and(arrival.guard, next.guard);
                    let (Generation::Static(k), Generation::Static(n)) =
                        (arrival.generation, next.generation)
                    else {
                        if both == TermPool::FALSE {
                            continue;
                        }
                        return Err(self.undecided_reuse(group, &arrival, &next));
                    };
                    let waited = self.waited_between(group, k, arrival.agent);
                    let not_waited = self.graph.terms.not(waited);
                    let both = self.graph.terms.and(both, not_waited);
                    if n != k + 1 || both == TermPool::FALSE {
                        continue;
                    }
                    if self.graph.terms.entails(next.guard, waited) || self.is_separated(&arrival, k, &next) {
                        shown.push(k);
                        continue;
                    }
                    let back = open.entry(k).or_insert_with(|| Return {
                        generation: k,
                        next: Vec::new(),
                        both: Vec::new(),
                    });
                    back.both.push((arrival, next, both));
                }
            }
        }
        // A warp is back once all its lanes are: what one lane has waited for holds for all.
        open.retain(|generation, _| !shown.contains(generation));
        for back in open.values_mut() {
            for lane in lanes {
                let own = instances.per_lane.get(lane).map_or(&[][..], Vec::as_slice);
                let of_lane = own.iter().map(|&index| self.execution(index));
                back.next.extend(
                    of_lane.filter(|next| next.generation == Generation::Static(back.generation + 1)),
                );
            }
        }
        Ok(open.into_values().collect())
    }

    /// When the thread has waited at the cluster barrier for the generation.
    fn waited_between(&mut self, group: Group, generation: u32, agent: AgentId) -> TermRef {
        let Group::Cluster(_) = group else { return TermPool::FALSE };
        let passed: Vec<TermRef> = self
            .log
            .cluster_waits
            .iter()
            .filter(|wait| wait.agent == agent && wait.generation == generation)
            .map(|wait| wait.passed)
            .collect();
        self.graph.terms.or_all(passed)
    }

    fn state_return(
        &mut self,
        group: Group,
        (warp, lanes): (u32, &[AgentId]),
        back: &Return,
        instances: &Instances,
    ) -> Result<(), GraphError> {
        let generation = Generation::Static(back.generation);
        // 1 iff all lanes of the warp are back.
        let mut all_back = TermPool::TRUE;
        for lane in lanes {
            let arrived = self.arrived_by(*lane, instances, Generation::Static(back.generation + 1));
            let gone = self.graph.completed[*lane];
            let there = self.graph.terms.or(arrived, gone);
            all_back = self.graph.terms.and(all_back, there);
        }
        let mut early = Vec::new();
        for (&other, own) in &instances.per_lane {
            if self.graph.hierarchy.warp_of(other) == warp {
                continue;
            }
            let arrived = self.arrived_by(other, instances, generation);
            let completed = self.graph.completed[other];
            let exits = self.graph.terms.and(completed, all_back);
            let not = self.graph.terms.not(arrived);
            let exits = self.graph.terms.and(exits, not);
            if instances.exit_counts
                && exits != TermPool::FALSE
                && !self.graph.terms.entails(completed, arrived)
            {
                early.push(self.comes_before_exit(&back.next, other, exits));
            }
            if arrived != TermPool::FALSE {
                early.push(self.comes_before(&back.next, own, arrived, generation));
            }
        }
        let complete = self.complete(instances, generation);
        let some = self.graph.terms.or_all(early);
        let not = self.graph.terms.not(some);
        let fine = self.graph.terms.and(complete, not);
        let mut stated = Vec::new();
        for &(_, next, both) in &back.both {
            let guard = self.graph.terms.and(both, all_back);
            if guard != TermPool::FALSE && !stated.contains(&guard) {
                stated.push(guard);
                self.graph.oblige_at(next.arrive, self.reuse(group), guard, fine);
            }
        }
        Ok(())
    }

    /// A choice: the warp that comes back with `next` does so before a thread's arrival.
    fn comes_before(
        &mut self,
        next: &[Execution],
        own: &[usize],
        arrived: TermRef,
        generation: Generation,
    ) -> TermRef {
        let (_, choice) = self.graph.terms.fresh(1, UnknownKind::ComesFirst);
        let before = self.graph.terms.and(choice, arrived);
        let arrivals: Vec<EventId> = own
            .iter()
            .map(|&index| self.execution(index))
            .filter(|execution| execution.generation == generation)
            .map(|execution| execution.arrive)
            .collect();
        for next in next {
            for &to in &arrivals {
                let edge = Edge { from: next.arrive, to, condition: choice };
                self.graph.edges.add(BaseRelation::BarrierOrder, edge);
            }
        }
        before
    }

    /// A choice: the warp that comes back with `next` does so before a thread that does not arrive has exited.
    ///
    /// There is no event for an exit; but whatever passes a barrier because of it comes after it.
    fn comes_before_exit(&mut self, next: &[Execution], other: AgentId, exits: TermRef) -> TermRef {
        let (_, choice) = self.graph.terms.fresh(1, UnknownKind::ComesFirst);
        for next in next {
            self.before_exits.push((next.arrive, other, choice));
        }
        self.graph.terms.and(choice, exits)
    }

    /// Says what coming back before an exit means, once it is known what exits bring about.
    ///
    /// # Errors
    /// If that takes more than may be spent.
    pub(super) fn link_returns_before_exits(&mut self) -> Result<(), GraphError> {
        let before_exits = std::mem::take(&mut self.before_exits);
        if before_exits.is_empty() {
            return Ok(());
        }
        let mut released: FxHashMap<AgentId, Vec<(EventId, TermRef)>> = FxHashMap::default();
        for &(agent, wait, condition) in &self.graph.exit_releases {
            released.entry(agent).or_default().push((wait, condition));
        }
        // All lanes of the warp that comes back make one choice.
        for of_choice in before_exits.chunk_by(|a, b| (a.1, a.2) == (b.1, b.2)) {
            let (_, agent, choice) = of_choice[0];
            let Some(waits) = released.get(&agent) else { continue };
            work::count(Work::Pair, of_choice.len() * waits.len());
            self.graph.goes_on()?;
            let mut both = Vec::new();
            for &(to, condition) in waits {
                both.push((to, self.graph.terms.and(choice, condition)));
            }
            for &(from, ..) in of_choice {
                let edges = both.iter().map(|&(to, condition)| Edge { from, to, condition });
                self.graph.edges.add_all(BaseRelation::BarrierOrder, edges);
            }
        }
        Ok(())
    }

    fn reuse(&self, group: Group) -> Misuse {
        match group {
            Group::Cluster(_) => Misuse::new(&findings::barrier::ARRIVAL_AGAIN),
            _ => Misuse::new(&findings::barrier::RETURN_BEFORE_RESET)
                .with("barrier", group.name(&self.graph.hierarchy)),
        }
    }

    fn undecided_reuse(&self, group: Group, arrival: &Execution, next: &Execution) -> GraphError {
        let diagnostic = Diagnostic::new(
            "unsupported::barrier-reuse-after-arrive",
            format!(
                "{} may be used again before the `arrive` on it has completed",
                group.name(&self.graph.hierarchy)
            ),
            next.span,
            "used again here",
        );
        let help = "pass another barrier in between, at which a thread arrives that has waited for this one";
        GraphError::Unsupported(
            diagnostic
                .with_label(arrival.span, "arrives here, and does not wait")
                .with_help(help)
                .with_rule(if matches!(group, Group::Cluster(_)) { "UB-C1" } else { "UB-B4" }),
        )
    }

    /// Whether the arrival's generation `k` is visibly complete when the thread gets to `next`.
    fn is_separated(&mut self, arrival: &Execution, k: u32, next: &Execution) -> bool {
        let between: Vec<Execution> = self
            .of_agent(arrival.agent)
            .filter(|wait| (arrival.position..next.position).contains(&wait.position))
            .copied()
            .collect();
        self.have_shown(&between, (arrival.group, k), next.guard, HOPS_MAX)
    }

    /// Whether the path `guard` has passed one of these in a way that shows that a generation is complete.
    fn have_shown(&mut self, waits: &[Execution], generation: OfGroup, guard: TermRef, hops: u32) -> bool {
        waits.iter().rev().filter(|wait| wait.group != generation.0).any(|wait| {
            let (Some((_, passed)), Generation::Static(instance)) = (wait.wait, wait.generation) else {
                return false;
            };
            !self.log.loose.contains(&wait.group)
                && self.graph.terms.entails(guard, passed)
                && self.shows_completion(generation, (wait.group, instance), hops)
        })
    }

    /// Whether a generation of a group cannot complete before another one's has: some thread arrives only after it has got
    /// through that one, or through a third that cannot complete before it either.
    fn shows_completion(&mut self, generation: OfGroup, wait: OfGroup, hops: u32) -> bool {
        if let Some(&known) = self.shown.get(&(generation, wait)) {
            return known;
        }
        // Where generations wait for each other in a circle, nothing is shown.
        self.shown.insert((generation, wait), false);
        let mut arrivals: SortedMap<AgentId, Vec<Execution>> = SortedMap::new();
        let mut not_counted = Vec::new();
        for execution in self.of_group(wait.0) {
            match execution.generation {
                Generation::Static(n) if n == wait.1 => {
                    arrivals.entry(execution.agent).or_default().push(*execution);
                }
                Generation::Static(_) => {}
                Generation::Dynamic(_) => not_counted.push(execution.agent),
            }
        }
        let shows = arrivals.iter().any(|(&agent, arrivals)| {
            !not_counted.contains(&agent)
                && self.must_arrive(agent, arrivals)
                && arrivals.iter().all(|arrival| self.comes_after(generation, arrival, hops))
        });
        self.shown.insert((generation, wait), shows);
        shows
    }

    /// Whether a thread gets to an arrival only when a generation is complete.
    fn comes_after(&mut self, generation: OfGroup, arrival: &Execution, hops: u32) -> bool {
        if self.has_passed(arrival.agent, generation.0, generation.1, arrival) {
            return true;
        }
        let Some(hops) = hops.checked_sub(1) else { return false };
        let passed = self.of_agent(arrival.agent).rev().filter(|wait| wait.position < arrival.position);
        let mut last: Vec<Execution> =
            passed.filter(|wait| wait.wait.is_some()).take(WAITS_MAX).copied().collect();
        last.reverse();
        self.have_shown(&last, generation, arrival.guard, hops)
    }

    /// Whether a thread's exit cannot stand for these arrivals.
    fn must_arrive(&self, agent: AgentId, arrivals: &[Execution]) -> bool {
        let completed = self.graph.completed[agent];
        arrivals.iter().any(|arrival| self.graph.terms.entails(completed, arrival.guard))
    }

    /// Whether the thread has waited for generation `k` of `group` on its way to `arrival`.
    fn has_passed(&self, agent: AgentId, group: Group, k: u32, arrival: &Execution) -> bool {
        self.of_agent(agent).any(|sync| {
            sync.group == group
                && sync.generation == Generation::Static(k)
                && sync.position < arrival.position
                && sync.wait.is_some_and(|(_, passed)| self.graph.terms.entails(arrival.guard, passed))
        })
    }
}
