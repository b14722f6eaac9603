//! Which findings of a launch have one cause, and which of them tells it best.
//!
//! Findings that one checked change takes away have one cause; so have findings whose first reason is the same broken
//! link, where no change was found. The root is the one that says most: a broken rule before what follows from it, a race
//! before the assertion that fails for it, and a story with a named link before one without.

use super::explanation::Explanation;
use super::reason::Reason;
use super::subject::Subject;
use crate::event::{EventGraph, EventId, SiteId};
use crate::findings;
use crate::verdict::{Finding, Property};

/// The order in which to tell findings, by their place in the list: each root before what it causes. `cause` of the others
/// is set, to the place of their root in that order.
pub fn order(graph: &EventGraph, findings: &[Finding], explanations: &mut [Explanation]) -> Vec<usize> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for i in 0..explanations.len() {
        let same = |group: &&mut Vec<usize>| have_one_cause(graph, &explanations[group[0]], &explanations[i]);
        match groups.iter_mut().find(same) {
            Some(group) => group.push(i),
            None => groups.push(vec![i]),
        }
    }
    for group in &mut groups {
        group.sort_by_key(|&i| (rank(graph, findings[i].property, &explanations[i]), i));
    }
    // A race before an assertion that fails for it, though no change was found that shows it.
    groups.sort_by_key(|group| rank(graph, findings[group[0]].property, &explanations[group[0]]).1);
    let mut order = Vec::new();
    for group in groups {
        let root = order.len();
        for &i in &group[1..] {
            explanations[i].cause = Some(root);
        }
        order.extend(group);
    }
    order
}

fn have_one_cause(graph: &EventGraph, a: &Explanation, b: &Explanation) -> bool {
    match (&a.repair, &b.repair) {
        (Some(first), Some(second)) => first == second,
        (None, None) => {
            let links = (link(graph, a), link(graph, b));
            links.0.is_some() && links.0 == links.1 || fails_for(graph, a, b) || fails_for(graph, b, a)
        }
        _ => false,
    }
}

/// Whether an assertion fails for what the two accesses of a race let be read, or missed.
fn fails_for(graph: &EventGraph, race: &Explanation, assertion: &Explanation) -> bool {
    let (Subject::Race { earlier, later }, Subject::Assertion { .. }) = (&race.subject, &assertion.subject)
    else {
        return false;
    };
    let site = |event: EventId| graph.events[event].site;
    let pair = [site(*earlier), site(*later)];
    assertion.reads.iter().any(|fact| {
        let writes = [fact.source, fact.missed].into_iter().flatten();
        let mut writes = writes.filter_map(site).filter(|_| site(fact.read).is_some());
        writes.any(|write| {
            let read = site(fact.read);
            read != Some(write) && (pair == [Some(write), read] || pair == [read, Some(write)])
        })
    })
}

/// The broken link of a finding: what kind of reason it is, and the instruction at fault.
fn link(graph: &EventGraph, explanation: &Explanation) -> Option<(u8, SiteId)> {
    let at = |kind: u8, event: EventId| Some((kind, graph.events[event].site?));
    explanation.reasons.iter().find_map(|reason| match *reason {
        Reason::WeakLink { event, .. } => at(0, event),
        Reason::OutOfScope { event, .. } => at(1, event),
        Reason::NoRelease { write, .. } => at(2, write),
        Reason::NoAcquire { read, .. } => at(3, read),
        Reason::BothTook { loads, .. } => at(5, loads.into_iter().min()?),
        Reason::TooSoon { signal, .. } => at(6, signal),
        Reason::NotSeen { signal, .. } => at(7, signal),
        Reason::NoWayBack { write, .. } => at(8, write),
        Reason::CompletedByOthers { wait, .. } => at(9, wait),
        Reason::SamePhaseAgain { wait, .. } => at(10, wait),
        Reason::OtherGeneration { arrival, .. } => at(11, arrival),
        Reason::NeitherSees { sides } => at(4, sides.iter().map(|side| side.store).min()?),
        _ => None,
    })
}

/// The lower, the nearer to the cause.
fn rank(graph: &EventGraph, property: Property, explanation: &Explanation) -> (u8, u8) {
    let by_property = match property {
        // Whoever arrives where nobody is left is one too many for that.
        Property::Barrier if explanation.code == findings::mbarrier::LAST_DROPS_OUT.kind.code => 0,
        Property::Barrier | Property::Bounds => 1,
        Property::Race => 2,
        Property::Lifetime => 3,
        Property::Assert => 4,
        _ => 5,
    };
    let tells = |reason: &Reason| {
        matches!(
            reason,
            Reason::NotCarried { .. }
                | Reason::NoWayBack { .. }
                | Reason::NotSeen { .. }
                | Reason::CompletedByOthers { .. }
                | Reason::OtherGeneration { .. }
                | Reason::SamePhaseAgain { .. }
                | Reason::NeitherSees { .. }
                | Reason::TooSoon { .. }
                | Reason::BothTook { .. }
                | Reason::LostUpdate { .. }
        )
    };
    let has_link = link(graph, explanation).is_some() || explanation.reasons.iter().any(tells);
    // Where no change is known that mends it, nothing tells a consequence from its cause but what it is.
    let is_beside = explanation.repair.is_some() && !touches(graph, explanation) && !has_link;
    (u8::from(is_beside), by_property)
}

/// Whether the repair changes an instruction that the finding names.
fn touches(graph: &EventGraph, explanation: &Explanation) -> bool {
    let Some(repair) = &explanation.repair else { return false };
    let events = explanation.reasons.iter().flat_map(Reason::events);
    let spans = events.filter_map(|event| Some(graph.sites[graph.events[event].site?].span));
    let broken = match explanation.subject {
        Subject::Misuse { span, .. } => Some(span),
        _ => None,
    };
    spans.chain(broken).any(|named| {
        repair.edits.iter().any(|edit| {
            let at = edit.span();
            named.file == at.file && named.start <= at.start && at.end <= named.end
        })
    })
}
