//! Larger bounds asked of slices alone.
//!
//! Slices may say of a launch that nothing goes wrong within the bound, but that loops run past it. The whole says no more of
//! what goes wrong there, and its formula may be many times as large as theirs; it may say that fewer loops run on, since
//! slices leave out what would end one. So a larger bound is asked of slices first, and the whole only where they do not come
//! to an end.
//!
//! Sound: an execution of the whole in which something goes wrong, or a loop runs on, is one of some slice in which it does so,
//! whatever the bound is (see [`crate::slice`]); so what slices say within a bound holds within it.
//!
//! Needs: [`Need::Monotone`](crate::facts::needs::Need::Monotone),
//! [`Need::MonotoneFlags`](crate::facts::needs::Need::MonotoneFlags), as slices do, which are asked only where that holds.

use super::decision::Decision;
use crate::work::Allowance;

/// How often what was spent so far has to be left for a larger bound to be asked.
const TIMES_LEFT: u64 = 3;

/// What slices have said within bounds.
#[derive(Default)]
pub(super) struct Within {
    /// The last such decision, of the largest bound; nothing goes wrong.
    last: Option<(Decision, u32)>,
    first_bound: u32,
    /// Whether the whole is asked from now on.
    is_over: bool,
}

impl Within {
    /// Whether slices have said already what they say of a bound, so that the whole is to be asked.
    pub(super) fn is_known(&self, bound: u32) -> bool {
        self.is_over && self.last.as_ref().is_some_and(|&(_, last)| bound <= last)
    }

    /// Notes what slices say within a bound; returns the bound that is asked next.
    pub(super) fn next(&mut self, said: (Decision, u32), bound_max: u32, allowance: &Allowance) -> u32 {
        let (_, bound) = said;
        if self.last.is_none() {
            self.first_bound = bound;
        }
        self.last = Some(said);
        if self.is_over {
            // The whole has come so far without them.
            return bound;
        }
        if bound < bound_max && allowance.left() / TIMES_LEFT >= allowance.used() {
            return bound.saturating_mul(2).min(bound_max);
        }
        self.start_over()
    }

    /// The whole is asked from now on, from the first bound that slices were asked.
    fn start_over(&mut self) -> u32 {
        self.is_over = true;
        self.first_bound
    }

    /// Where a larger bound was stopped: the bound of which the whole is asked now, if it has not been.
    pub(super) fn after_stop(&mut self) -> Option<u32> {
        (self.last.is_some() && !self.is_over).then(|| self.start_over())
    }

    /// What slices say where the whole says less.
    pub(super) fn instead_of(&mut self, decision: &Decision, bound: u32) -> Option<(Decision, u32)> {
        let says_less = |last| decision.limit.is_some() || !decision.open_loops.is_empty() && bound < last;
        self.last.take_if(|&mut (_, last)| !decision.has_found() && says_less(last))
    }
}
