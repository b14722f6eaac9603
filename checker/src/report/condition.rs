//! The answer to a litmus test's condition, and the final state that shows it.

use super::case::{Case, Style};
use crate::verdict::Vacuity;
use fencepost_dsl::kernel::program::Quantifier;

/// The first lines of a litmus test's report; empty for kernels.
pub fn condition(case: &Case<'_>, style: Style) -> String {
    let Some(result) = &case.outcome.condition else { return String::new() };
    let is_filtered_out =
        case.outcome.vacuity.iter().any(|vacuity| matches!(vacuity, Vacuity::FilteredOut(_)));
    let (answer, color) = match result.holds {
        None if is_filtered_out && case.outcome.open_loops.is_empty() => ("is vacuous", "1;33"),
        Some(true) => ("holds", "1;32"),
        Some(false) => ("does not hold", "1;31"),
        None => ("is undecided", "1;33"),
    };
    let is_vacuous = case.outcome.vacuity.contains(&Vacuity::NothingCompletes);
    let why = match (result.quantifier, result.holds) {
        (Quantifier::NotExists | Quantifier::Forall, Some(true)) if is_vacuous => {
            if case.outcome.open_loops.is_empty() {
                "no execution completes at all"
            } else {
                "no execution completes within the loop bound"
            }
        }
        (Quantifier::Exists, Some(true)) => "this state is reachable",
        (Quantifier::Exists, Some(false)) => "no execution that completes ends in such a state",
        (Quantifier::NotExists, Some(true)) => "no execution that completes ends in such a state",
        (Quantifier::NotExists, Some(false)) => "this state is reachable",
        (Quantifier::Forall, Some(true)) => "every execution that completes ends in such a state",
        (Quantifier::Forall, Some(false)) => "this state is reachable too",
        (_, None) if is_filtered_out && case.outcome.open_loops.is_empty() => {
            "no execution that completes passes the filter"
        }
        (_, None) if is_filtered_out => "no execution that completes within the loop bound passes the filter",
        (Quantifier::Exists, None) if case.outcome.limit.is_none() => {
            "no such state was found within the loop bound"
        }
        (_, None) => "a limit stopped the run",
    };
    let mut text =
        format!("{}: condition `{}` {}: {why}\n", case.kernel.name, source(case), style.paint(color, answer));
    let state = state(case);
    if !state.is_empty() {
        let values: Vec<String> =
            state.into_iter().map(|(name, value)| format!("{name} = {value}")).collect();
        text += &format!("  final state: {}\n", values.join(", "));
    }
    text
}

/// Registers and locations that the condition looks at, with their values (signed) in the execution found.
pub fn state(case: &Case<'_>) -> Vec<(String, String)> {
    let outcome = case.outcome;
    let witness = outcome.condition.as_ref().and_then(|result| result.witness.as_ref());
    let (Some(goal), Some(witness)) = (&outcome.graph.condition, witness) else { return Vec::new() };
    goal.values
        .iter()
        .map(|(name, term)| {
            let low = u64::try_from(witness.values[*term]).unwrap_or(u64::MAX);
            (name.clone(), low.cast_signed().to_string())
        })
        .collect()
}

/// The condition as written, on one line.
fn source(case: &Case<'_>) -> String {
    let span = case.kernel.condition.as_ref().map(|condition| condition.span);
    let text = span.map_or("", |span| case.sources.text(span));
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
