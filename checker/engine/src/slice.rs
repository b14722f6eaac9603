//! Many threads, a few at a time.
//!
//! Whatever a thread does wrong it does to somebody: a race has two ends, a failed assertion one. So of each thread the
//! part of the launch that it has to do with is looked at alone, the *slice* around it: the thread, those that access
//! what it accesses, the few that have to do with everybody, and of the others' memory what those need. Slices that
//! differ only in the names of threads and places are one. If none of them can go wrong, nor can the launch.
//!
//! Sound: take an execution of the launch and leave out all events that are not in a slice. What is left is an execution
//! of the slice. Its events have their guards, and the constraints that are kept hold, since terms keep their values: a
//! value that was read by an event left out is any value (`UnknownKind::Elsewhere`), and so is one that is written and
//! that nobody asks for. A read stays only if all that may write its bytes stays, so that it has its sources, and all
//! that is coherence-after them. Axioms hold since they are monotone, which [`monotone`] works out from the model file:
//! what an axiom forbids gains no pair when events are left out, and what a flag marks loses none. That threads wait for
//! each other for ever is asked of a slice of its own, with everybody's guards and waits, without any event, or with
//! those that access what waits, and the paths to them, depend on, and then with the fences and barriers of those who do.
//! What is claimed of final memory is asked of a slice with those words and whoever writes them: a word ends as it does
//! in the launch where nobody who writes it is left out, and where all threads end so do some. So what goes wrong in the
//! launch goes wrong in a slice that asks for it; and [`plan`] goes through all pairs that a flag can hold of, and all
//! threads' obligations, waits and loop cuts, to see that each is asked of some slice. The converse does not hold: what
//! goes wrong in a slice may be due to what was left out, and then the launch is checked as a whole. Of what happens once
//! many threads have ended, a slice says so of those that it has ([`wide`]).
//!
//! Needs: [`Need::Monotone`](crate::facts::needs::Need::Monotone),
//! [`Need::MonotoneFlags`](crate::facts::needs::Need::MonotoneFlags). [`monotone`] evaluates both.
//!
//! Surroundings are near first, and far where something goes wrong in what is near, or where threads have to do with too
//! many: then also those are taken along who have strong accesses of words that several CTAs have, for the threads of their
//! warp or CTA, since others know of those only through them; and whoever writes such words of theirs. Neither is more than
//! a choice of threads.
//!
//! Cannot: kernels in which everybody works on one word, launches of programs, conditions of litmus tests. There the whole
//! is checked.

mod constraints;
mod kinds;
mod monotone;
mod piece;
mod plan;
mod reach;
mod spots;
mod wide;

pub use monotone::{are_monotone, gaining_axiom};
pub use piece::{About, Piece, Place};
pub use plan::Plan;
