//! What came of changes so far.

use super::super::edit::Repair;
use super::super::ground::Proposal;

/// A change, its rank, and the finding that it is most likely for.
pub(super) type Ranked<'p> = (u32, usize, &'p Proposal);

/// What came of the changes that were tried.
#[derive(Default)]
pub(super) struct SoFar<'p> {
    /// Those that do nothing but order, and keep apart the two who were found, unless the finding is known to stay.
    pub(super) likely: Vec<Ranked<'p>>,
    /// What mends this launch, of several.
    pub(super) here_only: Option<Repair>,
    /// What mends everything, and has some read see what it had better not; and how many were tried behind it.
    pub(super) second: Option<Repair>,
    pub(super) n_behind: usize,
    /// Those of which no answer came, and the steps that each could take.
    pub(super) undecided: Vec<(&'p Proposal, u64)>,
}
