//! What came of changes so far.

use super::super::edit::Repair;
use super::super::ground::Proposal;

/// What came of the changes that were tried.
#[derive(Default)]
pub(super) struct SoFar<'p> {
    /// What mends this launch, of several.
    pub(super) here_only: Option<Repair>,
    /// What mends everything, and has some read see what it had better not; and how many were tried behind it.
    pub(super) second: Option<Repair>,
    pub(super) n_behind: usize,
    /// Those of which no answer came, and the steps that each could take.
    pub(super) undecided: Vec<(&'p Proposal, u64)>,
}
