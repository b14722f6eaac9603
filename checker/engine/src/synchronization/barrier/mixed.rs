//! Barriers that are used with different thread counts.
//!
//! Each generation begins afresh (BR-3), so one barrier may be that of all warps now and that of two of them later, as long
//! as all who meet in a generation give the same count (UB-B3). How many make a generation is what the first to come says:
//! an unknown, since who comes first is. One that comes with another count comes after one that gives the count of the
//! generation (`bar-order`).
//!
//! Where no count is given, all warps of the CTA are waited for but those that have exited (BR-7); where one is given, an
//! exited warp is still waited for.

use super::completion::before_exit;
use super::instances::Barriers;
use super::loose::{Meeting, Round, WIDTH, WarpArrival};
use crate::event::support::Supports;
use crate::event::{AgentId, BaseRelation, Edge, Misuse, TermPool, TermRef, UnknownKind};
use crate::findings;
use crate::synchronization::log::{Group, WARP_SIZE};
use fencepost_dsl::kernel::program::BinaryOp;
use fencepost_dsl::sorted::SortedMap;

/// What an arrival says of how many are to come.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Demand {
    /// Warps that make the generation.
    pub warps: TermRef,
    /// 1 iff it names no count, so that a warp that has exited is not waited for.
    pub of_all: TermRef,
}

impl Barriers<'_> {
    /// What a lane says at an arrival, of which its executions are the ways.
    pub(super) fn demand(&mut self, first: usize, others: &[usize]) -> Demand {
        let mut demand = self.demand_of(first);
        for &index in others {
            let guard = self.execution(index).guard;
            let own = self.demand_of(index);
            demand = Demand {
                warps: self.graph.terms.if_then_else(guard, own.warps, demand.warps),
                of_all: self.graph.terms.if_then_else(guard, own.of_all, demand.of_all),
            };
        }
        demand
    }

    fn demand_of(&mut self, index: usize) -> Demand {
        let warps = u128::from(self.effective_count(index) / WARP_SIZE);
        Demand {
            warps: self.graph.terms.constant(warps, WIDTH),
            of_all: TermPool::boolean(self.execution(index).count.is_none()),
        }
    }

    /// A generation, made by one of `sizes` warps: as many as one of those who come says.
    pub(super) fn mixed_round(
        &mut self,
        meeting: &Meeting,
        sizes: &[u32],
        number: TermRef,
        count: TermRef,
    ) -> Round {
        let (_, needed) = self.graph.terms.fresh(WIDTH, UnknownKind::Phase);
        let mut known = Vec::new();
        for &size in sizes {
            let size = self.graph.terms.constant(u128::from(size), WIDTH);
            known.push(self.graph.terms.equal(needed, size));
        }
        let is_known = self.graph.terms.or_all(known);
        self.graph.constrain(is_known);
        let (mut some, mut agree, mut differ, mut counted) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for arrival in &meeting.arrivals {
            let here = self.graph.terms.equal(arrival.generation, number);
            let here = self.graph.terms.and(here, arrival.counts);
            let same = self.graph.terms.equal(arrival.demand.warps, needed);
            let other = self.graph.terms.not(same);
            let names_count = self.graph.terms.not(arrival.demand.of_all);
            some.push(here);
            agree.push(self.graph.terms.and(here, same));
            differ.push(self.graph.terms.and(here, other));
            counted.push(self.graph.terms.and(here, names_count));
        }
        let begun = self.graph.terms.or_all(some);
        let agrees = self.graph.terms.or_all(agree);
        self.graph.imply(begun, agrees);
        let differs = self.graph.terms.or_all(differ);
        let is_counted = self.graph.terms.or_all(counted);
        let of_all = self.graph.terms.not(is_counted);
        let exits = self.exits_of_warps(meeting, number, of_all);
        let mut there = count;
        for &(_, exited) in &exits {
            let one = self.graph.terms.resize(exited, WIDTH);
            there = self.graph.terms.binary(BinaryOp::Add, there, one);
        }
        // Exits alone make no generation.
        let enough = self.graph.terms.equal(there, needed);
        let filled = self.graph.terms.and(begun, enough);
        Round { number, count, needed, filled, differs, exits }
    }

    /// The warps that have exited before a generation completes, if that counts, and when: all their lanes end, and they
    /// come neither to it nor to a later one.
    fn exits_of_warps(&mut self, meeting: &Meeting, number: TermRef, of_all: TermRef) -> Vec<(u32, TermRef)> {
        let Group::Cta(cta, _) = meeting.group else { return Vec::new() };
        let mut lanes: SortedMap<u32, Vec<TermRef>> = SortedMap::new();
        for agent in self.graph.hierarchy.threads_of_cta(cta) {
            lanes.entry(self.graph.hierarchy.warp_of(agent)).or_default().push(self.graph.completed[agent]);
        }
        let mut exits = Vec::new();
        for (warp, mut conditions) in lanes {
            for arrival in meeting.arrivals.iter().filter(|arrival| arrival.warp == warp) {
                let before = self.graph.terms.less(arrival.generation, number);
                conditions.push(self.graph.terms.implies(arrival.counts, before));
            }
            conditions.push(of_all);
            let exited = self.graph.terms.and_all(conditions);
            if exited != TermPool::FALSE {
                exits.push((warp, exited));
            }
        }
        exits
    }

    /// UB-B3: one comes with another count than that of the generation that is being filled.
    pub(super) fn state_agreement(&mut self, meeting: &Meeting) {
        for late in &meeting.arrivals {
            let demand = late.demand.warps;
            let differs = self.of_its_generation(meeting, late, |terms, round| {
                let same = terms.equal(demand, round.needed);
                terms.not(same)
            });
            let differs = self.graph.terms.and(late.counts, differs);
            let mut ways = Vec::new();
            for first in meeting.arrivals.iter().filter(|first| first.warp != late.warp) {
                if first.demand.warps == demand {
                    continue;
                }
                let meets = self.meets_first(meeting, first, late);
                let both = self.graph.terms.and(meets, differs);
                if both == TermPool::FALSE {
                    continue;
                }
                let (_, choice) = self.graph.terms.fresh(1, UnknownKind::ComesFirst);
                let comes_first = self.graph.terms.and(choice, both);
                ways.push(comes_first);
                self.link_arrivals(first, late, comes_first);
                self.oblige_agreement(meeting, first, late, comes_first);
            }
            let some = self.graph.terms.or_all(ways);
            self.graph.imply(differs, some);
        }
    }

    /// 1 iff two come to one generation, and the first gives its count.
    fn meets_first(&mut self, meeting: &Meeting, first: &WarpArrival, late: &WarpArrival) -> TermRef {
        let demand = first.demand.warps;
        let gives = self.of_its_generation(meeting, first, |terms, round| terms.equal(demand, round.needed));
        let same = self.graph.terms.equal(first.generation, late.generation);
        self.graph.terms.and_all([gives, same, first.counts, late.counts])
    }

    /// All lanes of the one come before the last of the other.
    fn link_arrivals(&mut self, first: &WarpArrival, late: &WarpArrival, condition: TermRef) {
        for &to in &late.executions {
            let to = self.execution(to);
            let is_last = self.is_last(late, to.agent);
            let condition = self.graph.terms.and(condition, is_last);
            for &from in &first.executions {
                let from = self.execution(from).arrive;
                self.graph.edges.add(BaseRelation::BarrierOrder, Edge { from, to: to.arrive, condition });
            }
        }
    }

    fn oblige_agreement(
        &mut self,
        meeting: &Meeting,
        first: &WarpArrival,
        late: &WarpArrival,
        meet: TermRef,
    ) {
        let name = meeting.group.name(&self.graph.hierarchy);
        // Each way to differ once, told of the first lane that takes it.
        let mut told = Vec::new();
        for &own in &late.executions {
            for &other in &first.executions {
                let counts = (self.effective_count(own), self.effective_count(other));
                if counts.0 == counts.1 {
                    continue;
                }
                let (own, other) = (self.execution(own), self.execution(other));
                let way = (own.span, other.span, counts);
                if told.contains(&way) {
                    continue;
                }
                told.push(way);
                let misuse = Misuse::new(&findings::barrier::ANOTHER_COUNT)
                    .with("barrier", name.clone())
                    .with("own", counts.0)
                    .with("others", counts.1);
                let guard = self.graph.terms.and_all([meet, own.guard, other.guard]);
                self.graph.oblige_at(own.arrive, misuse, guard, TermPool::FALSE);
            }
        }
    }

    /// Links what a warp did before it exited to the waits that its exit lets through.
    pub(super) fn link_exits_of_warps(&mut self, meeting: &Meeting, supports: &mut Supports) {
        let Group::Cta(cta, _) = meeting.group else { return };
        let lanes: Vec<AgentId> = self.graph.hierarchy.threads_of_cta(cta).collect();
        for arrival in &meeting.arrivals {
            if arrival.demand.of_all == TermPool::FALSE {
                continue;
            }
            for &lane in &lanes {
                let warp = self.graph.hierarchy.warp_of(lane);
                if warp == arrival.warp {
                    continue;
                }
                let exited = self.of_its_generation(meeting, arrival, |_, round| {
                    let exit = round.exits.iter().find(|(of, _)| *of == warp);
                    exit.map_or(TermPool::FALSE, |&(_, exited)| exited)
                });
                let condition = self.graph.terms.and(exited, arrival.counts);
                if condition == TermPool::FALSE {
                    continue;
                }
                let decision = self.leaves(meeting, lane, warp);
                let before = before_exit(self.graph, lane, decision, supports);
                let last = self.last_before_exit(lane);
                for &index in &arrival.executions {
                    let Some((wait, _)) = self.execution(index).wait else { continue };
                    self.graph.exit_releases.push((lane, wait, condition));
                    self.link_exit((&before, &last), wait, condition);
                }
            }
        }
    }

    /// 1 iff a lane ends without having come where it might have.
    fn leaves(&mut self, meeting: &Meeting, lane: AgentId, warp: u32) -> TermRef {
        let mut decision = self.graph.completed[lane];
        for arrival in meeting.arrivals.iter().filter(|arrival| arrival.warp == warp) {
            if !self.graph.terms.entails(decision, arrival.arrived) {
                let not = self.graph.terms.not(arrival.arrived);
                decision = self.graph.terms.and(decision, not);
            }
        }
        decision
    }
}
