//! `.aligned` instructions: the lanes of a warp execute them together (UB-B6, UB-C2; per warp, A-23).
//!
//! An instruction's dynamic instance is named by the way to it in the code: the statements and iterations around it. Two
//! lanes execute the same instance if they come to the instruction in the same way, whatever branches they took before.
//! A lane misses an instance if it gets to a later place in the code, or to the end, without having executed it. A lane
//! that has left by `exit` at an earlier place gets to none of these and is not asked for, as one of compiled code for which
//! only its `ret` is left; one that still waits before the instruction may yet come.
//!
//! Sound and exact: guards say when a lane gets somewhere, so which lanes miss an instance is a term over what was read.

use crate::event::{AgentId, EventId, Fact, GraphBuilder, Misuse, TermPool, TermRef};
use crate::findings;
use crate::synchronization::log::{AlignedLog, CodePath};
use fencepost_dsl::kernel::isa;
use fencepost_dsl::sorted::SortedMap;

/// States that no lane misses an instance that another lane of its warp executes.
pub(super) fn state_alignment(graph: &mut GraphBuilder, log: &AlignedLog) {
    for ((warp, path), executed) in &log.instances {
        let lanes: Vec<AgentId> = graph.hierarchy.lanes_of(*warp).collect();
        let missed: Vec<(AgentId, TermRef)> = lanes
            .into_iter()
            .map(|lane| {
                let own = executed.get(&lane).map_or(TermPool::FALSE, |&(guard, _)| guard);
                let places = log.places.get(&lane).map_or(&[][..], Vec::as_slice);
                (lane, misses(&mut graph.terms, own, path, places))
            })
            .filter(|&(_, missed)| missed != TermPool::FALSE)
            .collect();
        state_together(graph, executed, &missed);
    }
}

/// 1 iff a lane that executes an instance when `own` is 1 gets past it otherwise.
fn misses(terms: &mut TermPool, own: TermRef, path: &CodePath, places: &[(TermRef, CodePath)]) -> TermRef {
    let not_own = terms.not(own);
    let mut ways = Vec::new();
    for (live, last) in places.iter().rev().take_while(|(_, last)| last > path) {
        // A place inside the statement is not past it.
        if !last.starts_with(path) && !terms.entails(*live, own) {
            ways.push(terms.and(*live, not_own));
        }
    }
    terms.or_all(ways)
}

fn state_together(
    graph: &mut GraphBuilder,
    executed: &SortedMap<AgentId, (TermRef, EventId)>,
    missed: &[(AgentId, TermRef)],
) {
    let mut stated: Vec<TermRef> = Vec::new();
    for (&lane, &(guard, event)) in executed {
        if stated.contains(&guard) {
            continue;
        }
        stated.push(guard);
        let ways: Vec<(AgentId, TermRef)> = missed
            .iter()
            .filter(|&&(other, _)| other != lane)
            .map(|&(other, missed)| (other, graph.terms.and(guard, missed)))
            .filter(|&(_, both)| both != TermPool::FALSE)
            .collect();
        let Some(&(first, _)) = ways.first() else { continue };
        let some = graph.terms.or_all(ways.iter().map(|&(_, both)| both).collect::<Vec<_>>());
        let text = graph.events[event].site.map(|site| graph.sites[site].text.clone()).unwrap_or_default();
        let rule = isa::form_of(&text).and_then(|form| form.aligned(&text));
        let kind = match rule {
            Some("UB-C2") => &findings::barrier::ALIGNED_CLUSTER_BARRIER,
            Some("AS-34") => &findings::barrier::ALIGNED_TENSOR_MEMORY,
            Some("UB-A7") => &findings::barrier::ALIGNED_MATRIX,
            Some("UB-A12") => &findings::barrier::ALIGNED_REGISTERS,
            Some("UB-F2") => &findings::barrier::ALIGNED_TENSORMAP,
            _ => &findings::barrier::ALIGNED_BARRIER,
        };
        let misuse =
            Misuse::new(kind).with("instruction", text).with("lanes", Fact::Lanes(ways.len(), first));
        let fine = graph.terms.not(some);
        graph.oblige_at(event, misuse, guard, fine);
    }
}
