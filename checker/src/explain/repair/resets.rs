//! Proposals where a word is set back after others have been let on, who may have counted in it for the next round: it is set
//! back before.

use super::super::reason::{Reason, Stored};
use super::edit::Edit;
use super::ground::{Ground, Proposal};
/// Statements before it that are looked at.
const DISTANCE_MAX: usize = 6;

/// The statement that sets back, before each that gives a signal, the nearest first.
pub fn propose(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    let (syntax, sources) = (ground.syntax, ground.texts.sources());
    for reason in &ground.explanation.reasons {
        let Reason::LostUpdate { write, stored: Stored::Initial, .. } = *reason else { continue };
        let Some(node) = ground.place(write) else { continue };
        for (level, around) in (0..).zip(syntax.outwards(node)) {
            let (siblings, at) = syntax.siblings(around);
            let before = siblings[..at].iter().rev().take(DISTANCE_MAX);
            let signals = before.filter(|&&other| syntax.acts(other).iter().any(|act| act.gives_signal()));
            for (rank, &other) in (8 + level..).zip(signals) {
                let (span, anchor) = (syntax.nodes[node].span, syntax.nodes[other].span);
                found.push(Proposal { rank, edits: vec![Edit::moved(sources, span, anchor, false)] });
            }
        }
    }
}
