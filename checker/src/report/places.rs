//! The places of a finding, for forms that programs read.

use super::case::Case;
use super::place::{Place, calls, position, thread};
use super::wording::Words;
use crate::event::{AgentId, EventId};
use crate::explain::{Explanation, Subject};
use fencepost_dsl::Span;

/// (2) is primary, as in the drawn report.
pub(super) fn places(
    case: &Case<'_>,
    words: &Words<'_>,
    explanation: &Explanation,
) -> (Option<Place>, Vec<Place>) {
    let at = |span: Span, agent: Option<AgentId>, text: String, by: &[Span]| {
        let thread = agent.map(|agent| thread(case, agent));
        Place { at: position(case.sources, span), thread, text, calls: calls(case.sources, by) }
    };
    let event = |event: EventId| {
        let agent = case.outcome.graph.events[event].agent;
        Some(at(words.span(event)?, agent, words.instruction(event), words.calls_to(event)))
    };
    let source = |span: Span| case.sources.text(span).to_owned();
    match &explanation.subject {
        Subject::Race { earlier, later } | Subject::Flag { pair: (earlier, later), .. } => {
            let mut secondary = Vec::new();
            if earlier != later {
                secondary.extend(event(*earlier));
            }
            let mut known = vec![*earlier, *later];
            let told = explanation.facts.iter().flat_map(|facts| facts.events());
            for other in explanation.reasons.iter().flat_map(|reason| reason.events()).chain(told) {
                if !known.contains(&other) {
                    known.push(other);
                    secondary.extend(event(other));
                }
            }
            (event(*later), secondary)
        }
        Subject::Assertion { agent, span, iterations }
        | Subject::Misuse { agent, span, iterations, .. }
        | Subject::Bounds { agent, span, iterations, .. } => {
            let told = explanation.facts.iter().flat_map(|facts| facts.events());
            let mut known = Vec::new();
            for other in told.chain(explanation.reads.iter().map(|fact| fact.read)) {
                if !known.contains(&other) {
                    known.push(other);
                }
            }
            let by = words.calls_to_statement(*agent, *span, iterations);
            (Some(at(*span, Some(*agent), source(*span), by)), known.into_iter().filter_map(event).collect())
        }
        Subject::Lifetime { access, last, .. } => {
            (event(*access), last.and_then(event).into_iter().collect())
        }
        Subject::Final { span } => {
            let writes = explanation.reads.iter().filter_map(|fact| event(fact.read)).collect();
            (Some(at(*span, None, source(*span), &[])), writes)
        }
        Subject::Deadlock { roles, .. } => {
            let mut places = roles
                .iter()
                .map(|role| {
                    let agent = role.agents.first().copied();
                    at(role.span, agent, source(role.span), words.calls_to_wait(role))
                })
                .collect::<Vec<_>>()
                .into_iter();
            (places.next(), places.collect())
        }
        Subject::Completion => (None, Vec::new()),
    }
}
