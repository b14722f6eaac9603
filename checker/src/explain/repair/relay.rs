//! Proposals where a thread of the same CTA hands over for another one, which it does not meet: a barrier between the two,
//! as narrow as holds both.

use super::super::reason::Reason;
use super::ground::{Ground, Proposal};
use super::places::{Gap, barriers, diverges, insert, normal, within_roles};
use crate::event::EventId;

/// Statements around each of the two places that are tried.
const LEVELS_MAX: usize = 4;

/// A barrier behind what one thread has seen, or before what it signals.
pub fn propose(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    for reason in &ground.explanation.reasons {
        let (access, relay, is_signal) = match *reason {
            Reason::NotPassedOn { access, relay, is_signal } => (access, relay, is_signal),
            Reason::WaitsAlone { access, wait } => (access, wait, false),
            Reason::WentAhead { wait, signal } => (wait, signal, true),
            _ => continue,
        };
        between(ground, (access, relay), is_signal, found);
    }
}

fn between(
    ground: &Ground<'_>,
    (access, relay): (EventId, EventId),
    is_signal: bool,
    found: &mut Vec<Proposal>,
) {
    let (Some(first), Some(second)) = (ground.thread(access), ground.thread(relay)) else { return };
    // The narrowest is the last to be thought of, and the first to be tried: of the warp, of the role, of the CTA.
    let (warp, wider): (Vec<_>, Vec<_>) =
        barriers(ground, first, second).into_iter().partition(|(text, _)| text.starts_with("bar.warp"));
    let options = warp.into_iter().chain(within_roles(ground, first, second)).chain(wider);
    for (rank, (text, words)) in (8..).zip(options) {
        for (rank, gap) in (rank..).zip(gaps(ground, (access, relay), is_signal, words)) {
            found.push(Proposal { rank, edits: vec![insert(ground, gap, &text)] });
        }
    }
}

/// Places between an access and what another thread does for it, nearest to that first.
fn gaps(
    ground: &Ground<'_>,
    (access, relay): (EventId, EventId),
    is_signal: bool,
    words: &[&str],
) -> Vec<Gap> {
    let around = |event: EventId, is_after: bool| {
        let ancestors = ground.place(event).map_or_else(Vec::new, |node| ground.syntax.ancestors(node));
        let open = ancestors.into_iter().filter(|&node| !diverges(ground, node, words));
        open.map(|node| (node, is_after)).take(LEVELS_MAX).collect::<Vec<_>>()
    };
    let (near, far) = (around(relay, !is_signal), around(access, is_signal));
    let mut found: Vec<Gap> = Vec::new();
    for at in 0..near.len().max(far.len()) {
        for gap in [near.get(at), far.get(at)].into_iter().flatten() {
            let is_same = |known: &Gap| normal(ground.syntax, *known) == normal(ground.syntax, *gap);
            if !found.iter().any(is_same) {
                found.push(*gap);
            }
        }
    }
    found
}
