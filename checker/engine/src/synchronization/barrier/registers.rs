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

use crate::event::{
    AgentId, BaseRelation, Blocked, CtaId, Edge, GraphBuilder, GraphError, TermPool, TermRef, UnknownKind,
    Wait,
};
use crate::synchronization::log::{Group, REGISTERS_WIDTH, RegisterSet};
use fencepost_dsl::kernel::program::BinaryOp;
use fencepost_dsl::sorted::SortedMap;
use std::sync::Arc;

/// Most operations on one pool, of which each looks at all others.
const MAX_OPERATIONS: usize = 64;

/// What a warp does to the pool at one turn.
struct Operation {
    warp: u32,
    turn: u32,
    passes: TermRef,
    /// Registers per thread that it gives back and takes; `None` where it cannot.
    gives: Option<TermRef>,
    takes: Option<TermRef>,
    /// Instances, of all lanes.
    sets: Vec<RegisterSet>,
}

/// States which increases get registers, and when those that get none wait for ever.
pub(super) fn finish(
    graph: &mut GraphBuilder,
    sets: &[RegisterSet],
    passes: &SortedMap<(Group, u32), TermRef>,
    hangs: bool,
) -> Result<(), GraphError> {
    let mut pools: SortedMap<CtaId, SortedMap<(u32, u32), Vec<RegisterSet>>> = SortedMap::new();
    for &set in sets {
        let (cta, warp) = (graph.hierarchy.cta_of(set.agent), graph.hierarchy.warp_of(set.agent));
        pools.entry(cta).or_default().entry((warp, set.turn)).or_default().push(set);
    }
    for (cta, turns) in pools {
        let span = turns.values().flatten().next().map_or(graph.span(), |set| {
            graph.events[set.wait].site.map_or(graph.span(), |site| graph.sites[site].span)
        });
        if turns.len() > MAX_OPERATIONS {
            return Err(GraphError::TooLarge {
                limit: "register changes of a CTA",
                value: MAX_OPERATIONS as u64,
                span,
            });
        }
        let operations: Vec<Operation> =
            turns.into_iter().map(|(turn, sets)| operation(&mut graph.terms, passes, turn, sets)).collect();
        let before = orders(graph, &operations);
        state_room(graph, &operations, &before);
        if hangs {
            record_starved(graph, cta, &operations);
        }
    }
    Ok(())
}

fn operation(
    terms: &mut TermPool,
    passes: &SortedMap<(Group, u32), TermRef>,
    (warp, turn): (u32, u32),
    sets: Vec<RegisterSet>,
) -> Operation {
    let passes = passes.get(&(Group::Registers(warp), turn)).copied();
    // One lane stands for its warp: all of them get through or none does.
    let lead = sets.first().map(|set| set.agent);
    let lead: Vec<RegisterSet> = sets.iter().copied().filter(|set| Some(set.agent) == lead).collect();
    let mut sum = |increase: bool| {
        let some: Vec<&RegisterSet> = lead.iter().filter(|set| set.increase == increase).collect();
        if some.is_empty() {
            return None;
        }
        let zero = registers(terms, 0);
        let mut sum = zero;
        for set in &some {
            let count = registers(terms, set.count);
            let before = terms.known_where(set.guard, set.before);
            let (more, less) = if increase { (count, before) } else { (before, count) };
            let difference = terms.binary(BinaryOp::Subtract, more, less);
            // Whoever passes has arrived; where there is one way to arrive it is that one.
            let counted =
                if lead.len() == 1 { difference } else { terms.if_then_else(set.guard, difference, zero) };
            sum = terms.binary(BinaryOp::Add, sum, counted);
        }
        Some(sum)
    };
    let (gives, takes) = (sum(false), sum(true));
    Operation { warp, turn, passes: passes.unwrap_or(TermPool::FALSE), gives, takes, sets }
}

/// For each two operations, when the first comes before the second; only what an increase has to know is chosen.
fn orders(graph: &mut GraphBuilder, operations: &[Operation]) -> Vec<Vec<TermRef>> {
    let n = operations.len();
    let mut before = vec![vec![TermPool::FALSE; n]; n];
    for (i, first) in operations.iter().enumerate() {
        for (j, second) in operations.iter().enumerate() {
            if first.warp == second.warp {
                before[i][j] = TermPool::boolean(first.turn < second.turn);
            } else if second.takes.is_none() || (first.takes.is_some() && j < i) {
                continue;
            } else {
                let (_, chosen) = graph.terms.fresh(1, UnknownKind::Precedes);
                before[i][j] = chosen;
                // Of two increases one is the first. A decrease that is not known to come before may come after.
                if first.takes.is_some() {
                    before[j][i] = graph.terms.not(chosen);
                }
            }
        }
    }
    before
}

/// States that an increase is passed only if the operations before it have left enough in the pool.
fn state_room(graph: &mut GraphBuilder, operations: &[Operation], before: &[Vec<TermRef>]) {
    for (j, increase) in operations.iter().enumerate() {
        let Some(takes) = increase.takes else { continue };
        let zero = registers(&mut graph.terms, 0);
        let (mut given, mut taken) = (zero, takes);
        for (i, other) in operations.iter().enumerate().filter(|&(i, _)| i != j) {
            let condition = before[i][j];
            if condition == TermPool::FALSE {
                continue;
            }
            let counts = graph.terms.and(condition, other.passes);
            given = add_if(&mut graph.terms, given, counts, other.gives);
            taken = add_if(&mut graph.terms, taken, counts, other.takes);
            if other.warp == increase.warp {
                continue;
            }
            for from in &other.sets {
                let edges = increase.sets.iter().map(|set| Edge { from: from.wait, to: set.wait, condition });
                graph.edges.add_all(BaseRelation::ExitRelease, edges);
            }
        }
        let too_few = graph.terms.less(given, taken);
        let enough = graph.terms.not(too_few);
        graph.imply(increase.passes, enough);
    }
}

fn add_if(terms: &mut TermPool, sum: TermRef, condition: TermRef, number: Option<TermRef>) -> TermRef {
    let Some(number) = number else { return sum };
    let zero = registers(terms, 0);
    let counted = terms.if_then_else(condition, number, zero);
    terms.binary(BinaryOp::Add, sum, counted)
}

/// Says when a warp waits for ever for registers: what is in the pool in the end is too few.
fn record_starved(graph: &mut GraphBuilder, cta: CtaId, operations: &[Operation]) {
    let zero = registers(&mut graph.terms, 0);
    let (mut given, mut taken) = (zero, zero);
    for operation in operations {
        given = add_if(&mut graph.terms, given, operation.passes, operation.gives);
        taken = add_if(&mut graph.terms, taken, operation.passes, operation.takes);
    }
    let free = graph.terms.binary(BinaryOp::Subtract, given, taken);
    let held = held_in_the_end(graph, cta, operations);
    for operation in operations {
        let Some(needed) = operation.takes else { continue };
        let mut all_there = Vec::new();
        for agent in graph.hierarchy.lanes_of(operation.warp).collect::<Vec<_>>() {
            let own = operation.sets.iter().filter(|set| set.agent == agent).map(|set| set.guard);
            let guards: Vec<TermRef> = own.collect();
            all_there.push(graph.terms.or_all(guards));
        }
        let all_there = graph.terms.and_all(all_there);
        let too_few = graph.terms.less(free, needed);
        let waits = graph.terms.not(operation.passes);
        for set in operation.sets.iter().filter(|set| set.increase) {
            let stuck = graph.terms.and_all(vec![set.guard, all_there, waits, too_few]);
            let event = &graph.events[set.wait];
            let (Some(site), iterations) = (event.site, event.iterations.clone()) else { continue };
            let calls = event.calls.clone();
            if stuck != TermPool::FALSE {
                let span = graph.sites[site].span;
                let wait = Wait::Registers { asked: set.count, needed, free, held: held.clone() };
                graph.blocked.push(Blocked { agent: set.agent, span, iterations, calls, stuck, wait });
            }
        }
    }
}

/// A thread of each warp, and the registers that the warp has in the end.
fn held_in_the_end(
    graph: &mut GraphBuilder,
    cta: CtaId,
    operations: &[Operation],
) -> Arc<[(AgentId, TermRef)]> {
    let hierarchy = &graph.hierarchy;
    let first = hierarchy.threads_of_cta(cta).next();
    let at_launch = first.and_then(|first| hierarchy.launch_of(first).registers).unwrap_or(0);
    let leads: Vec<AgentId> = hierarchy
        .threads_of_cta(cta)
        .filter(|&agent| hierarchy.lanes_of(hierarchy.warp_of(agent)).next() == Some(agent))
        .collect();
    let mut held: Vec<(AgentId, TermRef)> = Vec::new();
    for lead in leads {
        let warp = graph.hierarchy.warp_of(lead);
        let mut number = registers(&mut graph.terms, at_launch);
        for operation in operations.iter().filter(|operation| operation.warp == warp) {
            number = add_if(&mut graph.terms, number, operation.passes, operation.takes);
            let zero = registers(&mut graph.terms, 0);
            let given = add_if(&mut graph.terms, zero, operation.passes, operation.gives);
            number = graph.terms.binary(BinaryOp::Subtract, number, given);
        }
        held.push((lead, number));
    }
    held.into()
}

fn registers(terms: &mut TermPool, count: u32) -> TermRef {
    terms.constant(u128::from(count), REGISTERS_WIDTH)
}
