//! From facts to what a user reads: diagnostics, summaries, traces, JSON.
//!
//! All wording of findings and verdicts is here and nowhere else. Pure: values in, text out; the command line prints it.

mod advice;
mod calls;
pub(crate) mod case;
pub mod certificate;
pub mod compare;
mod compiled;
pub(crate) mod condition;
mod deadlock;
pub mod diagnostic;
mod excerpt;
pub(crate) mod failure;
pub mod github;
mod handover;
pub mod json;
pub mod junit;
mod lifetime;
mod markup;
pub mod mend;
mod misuse;
mod multimem;
pub(crate) mod names;
mod operation;
pub mod picture;
pub(crate) mod place;
mod places;
mod reason;
mod remark;
mod repair;
pub mod run;
pub mod sarif;
mod short;
mod spa;
mod standing;
pub mod story;
pub mod summary;
mod table;
mod tensor_memory;
pub mod trace;
pub mod warning;
pub(crate) mod wording;

use crate::explain;

pub use case::{Case, Standing, Style};

/// What is said of a launch to people; with the execution of each finding, if they ask for it.
pub fn text(case: &Case<'_>, with_trace: bool, style: Style) -> String {
    let mut text = condition::condition(case, style);
    if let Some(witness) = case.outcome.condition.as_ref().and_then(|result| result.witness.as_ref())
        && with_trace
    {
        let explanation = explain::condition(&case.outcome.graph, witness);
        text += &format!("{}\n", trace::trace(case, witness, &explanation, style));
    }
    text += &summary::summary(case, style);
    text += &diagnostic::findings(case, with_trace, style);
    text += &standing::text(case, style);
    if !case.outcome.findings.is_empty() {
        text.push('\n');
    }
    text
}
