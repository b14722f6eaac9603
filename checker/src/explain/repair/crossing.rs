//! Proposals where two threads store and then look, and neither sees the other: `fence.sc` on both sides.

use super::super::reason::{Reason, Side};
use super::edit::Edit;
use super::ground::{Ground, Proposal};
use super::opcode::{Goal, SemEdit, sem_edits, usual};
use super::places::insert;
/// Fences that are there made `fence.sc`, in a scope that holds both threads; one behind the store where there is none, or
/// before the load.
pub fn propose(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    let graph = ground.graph();
    for reason in &ground.explanation.reasons {
        let Reason::NeitherSees { sides: [first, second] } = reason else { continue };
        let (Some(a), Some(b)) = (graph.events[first.store].agent, graph.events[second.store].agent) else {
            continue;
        };
        let scope = usual(graph, graph.hierarchy.common_scope(a, b));
        let side = |own: &Side, other: &Side, is_behind: bool| -> Option<Vec<Edit>> {
            if own.is_fenced(graph, other) {
                return Some(Vec::new());
            }
            let changed =
                own.fence.map(|event| sem_edits(ground, &[SemEdit { event, goal: Goal::Total, scope }]));
            if let Some(changed) = changed.filter(|edits| !edits.is_empty()) {
                return Some(changed);
            }
            let node = ground.place(if is_behind { own.store } else { own.load })?;
            Some(vec![insert(ground, (node, is_behind), &format!("fence.sc.{scope};"))])
        };
        for (rank, behind) in (7..).zip([(true, true), (false, false), (true, false), (false, true)]) {
            let (Some(mut edits), Some(others)) =
                (side(first, second, behind.0), side(second, first, behind.1))
            else {
                continue;
            };
            for edit in others {
                if !edits.contains(&edit) {
                    edits.push(edit);
                }
            }
            found.push(Proposal { rank, edits });
        }
    }
}
