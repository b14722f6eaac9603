//! `--graph`: the execution of a finding as a picture: a lane for each thread or role, program order down, links across.
//!
//! [`Layout`] says where everything is, in whole pixels, so that a test can look for what overlaps; [`svg`] and [`html`]
//! draw it, and [`dot`] leaves the drawing to graphviz.
//!
//! Links leave and enter boxes at ports of their own. They run up and down in tracks between lanes, and across lanes in
//! channels between rows, so none crosses a box or a label.

pub mod dot;
pub mod html;
mod layout;
mod routes;
mod sizes;
pub mod svg;

use super::case::Case;
use super::story::Story;
use crate::explain;

pub use layout::{Label, Layout, Rectangle, Route, StepBox};
pub use sizes::Role;

/// What there is to draw of a launch: the findings that are told in full, `most` of them at most, or else the execution that a
/// litmus test asks about.
pub fn stories(case: &Case<'_>, most: usize) -> Vec<Story> {
    let outcome = case.outcome;
    let told = outcome.findings.iter().zip(case.explanations);
    let mut stories: Vec<Story> = told
        .filter(|(_, explanation)| explanation.cause.is_none())
        .take(most)
        .map(|(finding, explanation)| Story::new(case, &finding.witness, explanation))
        .collect();
    let condition = outcome.condition.as_ref().and_then(|result| result.witness.as_ref());
    if let (Some(witness), true) = (condition, stories.is_empty()) {
        stories.push(Story::new(case, witness, &explain::condition(&outcome.graph, witness)));
    }
    stories
}

/// The sections of a page of HTML about them.
pub fn sections(case: &Case<'_>, stories: &[Story]) -> Vec<String> {
    let title = format!("{}: {} (launch {})", case.file, case.kernel.name, case.outcome.launch.name);
    stories.iter().map(|story| html::section(case.sources, &title, story)).collect()
}
