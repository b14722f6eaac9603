//! The engine of Fencepost: a resolved kernel and a memory model in, verdicts and executions out.
//!
//! ```text
//!  Program ──unroll, synchronization──> EventGraph ──┐
//!                                                    ├──relation──> bounds (must ⊆ may) ──encode──> clauses
//!  Model ────────────────────────────────────────────┘
//!  clauses ──solve──> Answer
//!     satisfiable ──witness──> Execution, evaluated again ──> violated
//!     unsatisfiable ──> proved, proved up to a bound, vacuous
//! ```
//!
//! [`mod@check`] is the list of passes. What can be found at all is a table, [`findings`], which goals and verdicts ask; the
//! sentences in its rows are handed on unread. Why something happens, and what would help, is worked out
//! and said by the crate `fencepost`, which is the one to depend on.
//!
//! There are no files, no threads and no clock here: texts are handed in, spreading launches over cores is the caller's, and
//! who calls may [listen](listener) to say what a stage took and when to give up. Same input, same answer, step for step.
//!
//! Modules, in the order of the pipeline:

// What a run is about.

pub mod findings;

pub mod models;

pub mod event;

pub mod unroll;

mod synchronization;

// From events to clauses, and from an assignment to an execution.

pub mod bits;

pub mod relation;

pub mod cnf;

pub mod encode;

pub mod facts;

mod slice;

pub mod evidence;

pub mod outside;

mod solve;

pub mod witness;

// The passes in their order.

pub mod verdict;

pub mod work;

pub mod listener;

pub mod check;
