//! What changes cost, so that of several that mend a file the cheapest is taken.
//!
//! The numbers only order changes: a wider scope is the cheapest, then a stronger sem, then what stands in another place,
//! then fences, barriers, waits, and last what changes a protocol (counts, parities, new arrivals). They are no cycles.

use crate::explain::repair::{Edit, EditKind};
use fencepost_dsl::kernel::isa::strength::{SCOPES, height};

/// A stronger sem, for each step.
const SEM: u32 = 4;
/// A statement in another place.
const MOVE: u32 = 16;
/// A fence between proxies, or one that belongs to asynchronous operations.
const FENCE_OF_OPERATIONS: u32 = 20;
/// A fence; sem and scope come on top.
const FENCE: u32 = 20;
/// A barrier of a warp.
const WARP: u32 = 50;
/// A barrier of a CTA.
const CTA: u32 = 60;
/// Half a barrier of a cluster.
const CLUSTER: u32 = 40;
/// A wait for asynchronous operations, or for another grid.
const WAIT: u32 = 70;
/// Another count, parity or number of groups.
const NUMBER: u32 = 100;
/// An arrival, or a wait for a phase.
const PROTOCOL: u32 = 120;

/// How strong an opcode is: its sem before its scope.
fn strength(opcode: &str) -> u32 {
    let words = || opcode.split('.');
    let sem = words().map(height).max().unwrap_or(0);
    let scope =
        (0..).zip(SCOPES).filter(|(_, scope)| words().any(|word| word == *scope)).map(|(i, _)| i).max();
    let is_sys = words().any(|word| word == "volatile" || word == "mmio");
    SEM * sem + if is_sys { 3 } else { scope.unwrap_or(0) }
}

/// What some changes cost together.
pub fn cost<'e>(edits: impl IntoIterator<Item = &'e Edit>) -> u32 {
    edits.into_iter().map(one).sum()
}

fn one(edit: &Edit) -> u32 {
    match &edit.kind {
        EditKind::Replace { before, after, .. } => {
            let is_opcode = before.contains('.') && !before.contains(' ');
            if is_opcode { strength(after).abs_diff(strength(before)).max(1) } else { NUMBER }
        }
        EditKind::Insert { text, .. } => of_statement(text),
        EditKind::Move { .. } => MOVE,
    }
}

/// What statements cost, each with its end.
pub fn of_statement(text: &str) -> u32 {
    text.split(';').map(str::trim).filter(|statement| !statement.is_empty()).map(statement).sum()
}

fn statement(text: &str) -> u32 {
    let opcode = text.split_whitespace().next().unwrap_or("");
    let starts = |words: &[&str]| words.iter().any(|word| opcode.starts_with(word));
    if starts(&["fence.proxy", "fence.mbarrier_init", "tcgen05.fence", "wgmma.fence"]) {
        FENCE_OF_OPERATIONS
    } else if starts(&["fence", "membar", "MEMBAR"]) {
        FENCE + strength(opcode)
    } else if starts(&["bar.warp"]) {
        WARP
    } else if starts(&["barrier.cluster"]) {
        CLUSTER
    } else if starts(&["bar.", "barrier."]) {
        CTA
    } else if starts(&["mbarrier", "await"]) {
        PROTOCOL
    } else {
        WAIT
    }
}

#[cfg(test)]
mod tests {
    use super::{statement, strength};

    #[test]
    fn the_order_of_costs_is_the_documented_one() {
        let order =
            ["ld.relaxed.cta", "ld.relaxed.cluster", "ld.relaxed.gpu", "ld.relaxed.sys", "ld.acquire.cta"];
        assert!(order.windows(2).all(|pair| strength(pair[0]) < strength(pair[1])));
        assert!(strength("fence.acq_rel.sys") < strength("fence.sc.cta"));
        let order =
            ["fence.acq_rel.cta", "fence.sc.cta", "bar.warp.sync 1", "bar.sync 0", "cp.async.wait_all"];
        assert!(order.windows(2).all(|pair| statement(pair[0]) < statement(pair[1])));
        assert!(statement("cp.async.wait_all") < statement("mbarrier.arrive.b64 [full]"));
    }
}
