//! `setmaxnreg`: registers that warps give back to their CTA's pool and take from it (AS-41).
//!
//! No memory is ordered. What counts is who gets registers: an increase is passed once the pool has as many as it asks for
//! on top of those that its warp holds. The operations of a CTA on its pool come one after the other, so for each increase
//! it is chosen which of the others come before it; those that give back and come before have made the room. The choices
//! are edges like those of exits, which order nothing in memory but must not go in a circle with what lets threads go on.
//!
//! The lanes of a warp wait for one another, as at `elect.sync`. A warp of the launch stands for its warpgroup, as it does
//! for `wgmma`: registers are counted per thread and warp, so three warps are in the ratio of three warpgroups.
//!
//! Readings: the pool holds what the warps have at the launch and nothing else; a warp that ends gives nothing back, since
//! the ISA does not say so.
//!
//! Cannot: tell that the warps of one warpgroup execute the same (UB-A12; the lanes of each warp must); a number of
//! operations that depends on values read.

use super::super::{State, UnrollError, Unroller};
use super::{Form, Generation, Group};
use crate::event::{
    AgentId, BarrierEdge, Blocked, CtaId, EventId, EventKind, MbarrierRole, Misuse, ObligationKind, Role,
    SiteId, TermPool, TermRef, UnknownKind, Wait,
};
use fencepost_dsl::kernel::program::BinaryOp;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Bits of a number of registers: of all threads of a CTA, one per lane.
const WIDTH: u8 = 32;

/// Most operations on one pool, of which each looks at all others.
const MAX_OPERATIONS: usize = 64;

/// Every `setmaxnreg`, and those of the current thread.
#[derive(Default)]
pub(super) struct RegisterLog {
    sets: Vec<Set>,
    /// Of the current thread: indices into `sets`.
    own_first: usize,
}

impl RegisterLog {
    pub(super) fn start_thread(&mut self) {
        self.own_first = self.sets.len();
    }
}

/// A dynamic instance of the instruction.
#[derive(Clone, Copy)]
struct Set {
    agent: AgentId,
    /// How many its thread has executed before.
    turn: u32,
    /// When the thread gets there, and when it gets through.
    guard: TermRef,
    passed: TermRef,
    wait: EventId,
    position: u32,
    increase: bool,
    count: u32,
    /// Registers of the thread before.
    before: TermRef,
}

/// What a warp does to the pool at one turn.
struct Operation {
    warp: u32,
    turn: u32,
    passes: TermRef,
    /// Registers per thread that it gives back and takes; `None` where it cannot.
    gives: Option<TermRef>,
    takes: Option<TermRef>,
    /// Instances, of all lanes.
    sets: Vec<Set>,
}

impl Unroller<'_> {
    /// Runs `setmaxnreg`.
    pub(in super::super) fn set_max_registers(
        &mut self,
        state: &mut State,
        site: SiteId,
        increase: bool,
        count: u32,
    ) -> Result<(), UnrollError> {
        let span = self.graph.sites[site].span;
        let Some(at_launch) = self.graph.hierarchy.launch_of(self.agent).registers else {
            let UnrollError::Unsupported(error) = UnrollError::unsupported(
                "unsupported::launch-registers",
                "`setmaxnreg` cannot be checked without the number of registers that threads start with",
                span,
                "gives registers back, or takes some: of how many?",
            ) else {
                return Ok(());
            };
            let help = "say in the launch what `.maxnreg` or `-maxrregcount` says: `launch { warps: 3, registers: 168 }`";
            return Err(UnrollError::Unsupported(error.with_help(help).with_rule("AS-41")));
        };
        let before = self.registers_before(at_launch);
        self.require_direction(state, site, (increase, count), before);
        self.require_synchronization(state, site);
        if state.live == TermPool::FALSE {
            return Ok(());
        }
        let group = Group::Registers(self.graph.hierarchy.warp_of(self.agent));
        let generation = self.generation(group, state.live);
        let Generation::Static(turn) = generation else {
            return Err(UnrollError::unsupported(
                "unsupported::setmaxnreg-turn",
                "how often the thread has executed `setmaxnreg` before depends on values read",
                span,
                "for the how manieth time?",
            ));
        };
        let operands = (TermPool::FALSE, None);
        self.run_barrier(state, site, (group, generation), Form::Sync, operands, EventKind::BarrierArrive)?;
        let execution = self.barriers.executions[self.barriers.executions.len() - 1];
        let (arrive, guard) = (execution.arrive, execution.guard);
        let (wait, passed) = execution.wait.expect("whoever synchronizes waits");
        self.log_aligned(guard, arrive);
        let (agent, position) = (self.agent, self.position);
        self.barriers.registers.sets.push(Set {
            agent,
            turn,
            guard,
            passed,
            wait,
            position,
            increase,
            count,
            before,
        });
        Ok(())
    }

    fn own_sets(&self) -> Vec<Set> {
        let log = &self.barriers.registers;
        log.sets[log.own_first..].to_vec()
    }

    fn registers(&mut self, count: u32) -> TermRef {
        self.graph.terms.constant(u128::from(count), WIDTH)
    }

    /// Registers that the current thread has.
    fn registers_before(&mut self, at_launch: u32) -> TermRef {
        let mut now = self.registers(at_launch);
        for set in self.own_sets() {
            let count = self.registers(set.count);
            now = self.graph.terms.if_then_else(set.passed, count, now);
        }
        now
    }

    /// UB-A13: a decrease asks for no more than the thread has, an increase for no less.
    fn require_direction(
        &mut self,
        state: &mut State,
        site: SiteId,
        (increase, count): (bool, u32),
        before: TermRef,
    ) {
        let before = self.known_where(state.live, before);
        let asked = self.registers(count);
        let terms = &mut self.graph.terms;
        let wrong = if increase { terms.less(asked, before) } else { terms.less(before, asked) };
        let fine = terms.not(wrong);
        let has = match terms.constant_value(before) {
            Some(number) => format!("it has {number}"),
            None if increase => "it may have more".to_owned(),
            None => "it may have fewer".to_owned(),
        };
        let (what, help) = if increase {
            (
                format!("asks `setmaxnreg.inc` for {count} registers while {has}"),
                "give registers back with `setmaxnreg.dec`; `inc` takes at least as many as the thread has",
            )
        } else {
            (
                format!("asks `setmaxnreg.dec` to leave it {count} registers while {has}"),
                "take more registers with `setmaxnreg.inc`; `dec` leaves at most as many as the thread has",
            )
        };
        let misuse = Misuse { code: "registers::wrong-direction", rule: "UB-A13", what, help };
        let span = self.graph.sites[site].span;
        self.require(state, fine, misuse, span);
    }

    /// A number on a path, where that decides it.
    fn known_where(&mut self, live: TermRef, number: TermRef) -> TermRef {
        let mut number = number;
        while let crate::event::TermKind::IfThenElse(condition, then, otherwise) =
            *self.graph.terms.kind(number)
        {
            number = if self.graph.terms.implies_syntactically(live, condition) {
                then
            } else if self.graph.terms.excludes_syntactically(live, condition) {
                otherwise
            } else {
                break;
            };
        }
        number
    }

    /// UB-A12: the warps of the warpgroup synchronize before the next one.
    fn require_synchronization(&mut self, state: &mut State, site: SiteId) {
        let span = self.graph.sites[site].span;
        let own = self.own_sets();
        for (at, set) in own.iter().enumerate() {
            if state.live == TermPool::FALSE {
                return;
            }
            let mut ways = self.synchronizations_since(set.position);
            ways.extend(own[at + 1..].iter().map(|later| later.passed));
            if ways.iter().any(|&way| self.graph.terms.implies_syntactically(state.live, way)) {
                continue;
            }
            let synchronized = self.graph.terms.or_all(ways);
            let first = self.graph.terms.and(state.live, set.passed);
            if first == TermPool::FALSE {
                continue;
            }
            let misuse = Misuse {
                code: "registers::not-synchronized",
                rule: "UB-A12",
                what:
                    "executes `setmaxnreg` again without synchronizing with its warpgroup since the last one"
                        .to_owned(),
                help: "put a barrier of the warpgroup's four warps between the two, such as `bar.sync 1, 128`",
            };
            self.oblige(ObligationKind::Discipline(misuse), first, synchronized, span);
            let fine = self.graph.terms.implies(first, synchronized);
            state.live = self.graph.terms.and(state.live, fine);
        }
    }

    /// When the current thread has got through something that others bring about, after a position.
    fn synchronizations_since(&self, position: u32) -> Vec<TermRef> {
        let own = self.barriers.executions[self.barriers.own_first..].iter();
        let barriers = own
            .filter(|execution| matches!(execution.group, Group::Cta(..) | Group::Instance(..)))
            .filter(|execution| execution.position >= position)
            .filter_map(|execution| execution.wait.map(|(_, passed)| passed));
        let events = self.graph.events.iter().filter(|event| event.agent == Some(self.agent));
        let others = events.filter(|event| event.position >= position).filter(|event| {
            let is_phase =
                matches!(&event.kind, EventKind::Mbarrier(operation) if operation.role == MbarrierRole::Wait);
            is_phase || matches!(event.kind, EventKind::ClusterWait) || event.role == Role::Await
        });
        barriers.chain(others.map(|event| event.guard)).collect()
    }

    /// States which increases get registers, and when those that get none wait for ever.
    pub(super) fn finish_registers(&mut self) -> Result<(), UnrollError> {
        let mut pools: BTreeMap<CtaId, BTreeMap<(u32, u32), Vec<Set>>> = BTreeMap::new();
        for set in std::mem::take(&mut self.barriers.registers.sets) {
            let (cta, warp) =
                (self.graph.hierarchy.cta_of(set.agent), self.graph.hierarchy.warp_of(set.agent));
            pools.entry(cta).or_default().entry((warp, set.turn)).or_default().push(set);
        }
        for (cta, turns) in pools {
            let span = turns.values().flatten().next().map_or(self.kernel.span, |set| {
                self.graph.events[set.wait].site.map_or(self.kernel.span, |site| self.graph.sites[site].span)
            });
            if turns.len() > MAX_OPERATIONS {
                return Err(UnrollError::TooLarge {
                    limit: "register changes of a CTA",
                    value: MAX_OPERATIONS as u64,
                    span,
                });
            }
            let operations: Vec<Operation> =
                turns.into_iter().map(|((warp, turn), sets)| self.operation(warp, turn, sets)).collect();
            let before = self.orders(&operations);
            self.state_room(&operations, &before);
            if self.options.hangs {
                self.record_starved(cta, &operations);
            }
        }
        Ok(())
    }

    fn operation(&mut self, warp: u32, turn: u32, sets: Vec<Set>) -> Operation {
        let passes = self.barriers.passes.get(&(Group::Registers(warp), turn)).copied();
        // One lane stands for its warp: all of them get through or none does.
        let lead = sets.first().map(|set| set.agent);
        let lead: Vec<Set> = sets.iter().copied().filter(|set| Some(set.agent) == lead).collect();
        let sum = |unroller: &mut Self, increase: bool| {
            let some: Vec<&Set> = lead.iter().filter(|set| set.increase == increase).collect();
            if some.is_empty() {
                return None;
            }
            let zero = unroller.registers(0);
            let mut sum = zero;
            for set in &some {
                let count = unroller.registers(set.count);
                let before = unroller.known_where(set.guard, set.before);
                let (more, less) = if increase { (count, before) } else { (before, count) };
                let terms = &mut unroller.graph.terms;
                let difference = terms.binary(BinaryOp::Subtract, more, less);
                // Whoever passes has arrived; where there is one way to arrive it is that one.
                let counted = if lead.len() == 1 {
                    difference
                } else {
                    terms.if_then_else(set.guard, difference, zero)
                };
                sum = terms.binary(BinaryOp::Add, sum, counted);
            }
            Some(sum)
        };
        let (gives, takes) = (sum(self, false), sum(self, true));
        Operation { warp, turn, passes: passes.unwrap_or(TermPool::FALSE), gives, takes, sets }
    }

    /// For each two operations, when the first comes before the second; only what an increase has to know is chosen.
    fn orders(&mut self, operations: &[Operation]) -> Vec<Vec<TermRef>> {
        let n = operations.len();
        let mut before = vec![vec![TermPool::FALSE; n]; n];
        for (i, first) in operations.iter().enumerate() {
            for (j, second) in operations.iter().enumerate() {
                if first.warp == second.warp {
                    before[i][j] = TermPool::boolean(first.turn < second.turn);
                } else if second.takes.is_none() || (first.takes.is_some() && j < i) {
                    continue;
                } else {
                    let (_, chosen) = self.graph.terms.fresh(1, UnknownKind::Precedes);
                    before[i][j] = chosen;
                    // Of two increases one is the first. A decrease that is not known to come before may come after.
                    if first.takes.is_some() {
                        before[j][i] = self.graph.terms.not(chosen);
                    }
                }
            }
        }
        before
    }

    /// States that an increase is passed only if the operations before it have left enough in the pool.
    fn state_room(&mut self, operations: &[Operation], before: &[Vec<TermRef>]) {
        for (j, increase) in operations.iter().enumerate() {
            let Some(takes) = increase.takes else { continue };
            let zero = self.registers(0);
            let (mut given, mut taken) = (zero, takes);
            for (i, other) in operations.iter().enumerate().filter(|&(i, _)| i != j) {
                let condition = before[i][j];
                if condition == TermPool::FALSE {
                    continue;
                }
                let counts = self.graph.terms.and(condition, other.passes);
                given = self.add_if(given, counts, other.gives);
                taken = self.add_if(taken, counts, other.takes);
                if other.warp == increase.warp {
                    continue;
                }
                for from in &other.sets {
                    let edges = increase.sets.iter().map(|set| BarrierEdge {
                        from: from.wait,
                        wait: set.wait,
                        condition,
                    });
                    self.graph.exit_edges.extend(edges);
                }
            }
            let too_few = self.graph.terms.less(given, taken);
            let enough = self.graph.terms.not(too_few);
            self.graph.imply(increase.passes, enough);
        }
    }

    fn add_if(&mut self, sum: TermRef, condition: TermRef, number: Option<TermRef>) -> TermRef {
        let Some(number) = number else { return sum };
        let zero = self.registers(0);
        let counted = self.graph.terms.if_then_else(condition, number, zero);
        self.graph.terms.binary(BinaryOp::Add, sum, counted)
    }

    /// Says when a warp waits for ever for registers: what is in the pool in the end is too few.
    fn record_starved(&mut self, cta: CtaId, operations: &[Operation]) {
        let zero = self.registers(0);
        let (mut given, mut taken) = (zero, zero);
        for operation in operations {
            given = self.add_if(given, operation.passes, operation.gives);
            taken = self.add_if(taken, operation.passes, operation.takes);
        }
        let free = self.graph.terms.binary(BinaryOp::Subtract, given, taken);
        let held = self.held_in_the_end(cta, operations);
        for operation in operations {
            let Some(needed) = operation.takes else { continue };
            let mut all_there = Vec::new();
            for agent in self.graph.hierarchy.lanes_of(operation.warp).collect::<Vec<_>>() {
                let own = operation.sets.iter().filter(|set| set.agent == agent).map(|set| set.guard);
                let guards: Vec<TermRef> = own.collect();
                all_there.push(self.graph.terms.or_all(guards));
            }
            let all_there = self.graph.terms.and_all(all_there);
            let too_few = self.graph.terms.less(free, needed);
            let waits = self.graph.terms.not(operation.passes);
            for set in operation.sets.iter().filter(|set| set.increase) {
                let stuck = self.graph.terms.and_all(vec![set.guard, all_there, waits, too_few]);
                let event = &self.graph.events[set.wait];
                let (Some(site), iterations) = (event.site, event.iterations.clone()) else { continue };
                if stuck != TermPool::FALSE {
                    let span = self.graph.sites[site].span;
                    let wait = Wait::Registers { asked: set.count, needed, free, held: held.clone() };
                    self.graph.blocked.push(Blocked { agent: set.agent, span, iterations, stuck, wait });
                }
            }
        }
    }

    /// A thread of each warp, and the registers that the warp has in the end.
    fn held_in_the_end(&mut self, cta: CtaId, operations: &[Operation]) -> Arc<[(AgentId, TermRef)]> {
        let hierarchy = &self.graph.hierarchy;
        let first = hierarchy.threads_of_cta(cta).next();
        let at_launch = first.and_then(|first| hierarchy.launch_of(first).registers).unwrap_or(0);
        let leads: Vec<AgentId> = hierarchy
            .threads_of_cta(cta)
            .filter(|&agent| hierarchy.lanes_of(hierarchy.warp_of(agent)).next() == Some(agent))
            .collect();
        let mut held: Vec<(AgentId, TermRef)> = Vec::new();
        for lead in leads {
            let warp = self.graph.hierarchy.warp_of(lead);
            let mut number = self.registers(at_launch);
            for operation in operations.iter().filter(|operation| operation.warp == warp) {
                number = self.add_if(number, operation.passes, operation.takes);
                let zero = self.registers(0);
                let given = self.add_if(zero, operation.passes, operation.gives);
                number = self.graph.terms.binary(BinaryOp::Subtract, number, given);
            }
            held.push((lead, number));
        }
        held.into()
    }
}
