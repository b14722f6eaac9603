//! Fencepost: a bounded model checker for GPU synchronization code over NVIDIA's PTX memory model.
//!
//! ```text
//!  Program ──unroll, synchronization──> EventGraph ──┐
//!                                                    ├──relation──> bounds (must ⊆ may) ──encode──> clauses
//!  Model ────────────────────────────────────────────┘
//!  clauses ──solve──> Answer
//!     satisfiable ──witness──> Execution, evaluated again ──> violated ──explain──> why, and a repair
//!     unsatisfiable ──> proved, proved up to a bound, vacuous
//! ```
//!
//! [`check()`] is all of it in one call, for whoever tests kernels: a file in, a [`Report`] with verdicts, findings, places
//! and changes out. [`assert_proved!`] is that call in a test.
//!
//! ```
//! use fencepost::{Options, Style, Verdict, check};
//!
//! let text = "kernel counter {
//!     launch { ctas: 2 }
//!     global n: u32 = 0;
//!     let seen = ld.relaxed.gpu [n];
//!     st.relaxed.gpu [n], seen + 1;
//!     final { assert [n] == 2; }
//! }";
//! let report = check(text, &Options::default())?;
//! assert_eq!(report.verdict(), Verdict::Violated);
//! for finding in report.findings() {
//!     let place = finding.place.as_ref().expect("an assertion has a place");
//!     assert_eq!((finding.code, place.region.start.line), ("assert::final-violated", 6));
//! }
//! println!("{}", report.to_text(Style::PLAIN));
//! # Ok::<(), fencepost::InputError>(())
//! ```
//!
//! What is below that call is public, too. [`mod@check`] has the passes, for each loop bound. [`examine`] is a check, what
//! its proof takes for granted, explanations and repairs. [`report`] says what was found, as text and JSON. What can be
//! found at all is a table, [`findings`], which goals, verdicts, explanations and reports ask. The memory models are in
//! [`models`], the instructions in [`dsl::kernel::isa`]. The passes are a crate of their own, `fencepost_engine`, whose modules
//! have their names here, too.
//!
//! Programs and model files are read by the crate `fencepost_dsl`, here [`dsl`]. The passes read no files, and
//! nothing here looks at the environment or a clock, or prints: that is the command's, in `fencepost-cli`.
//!
//! Modules, in the order of the pipeline, those of the engine first:

// What is below stands on the engine, and names its rooms as if they were here.

pub use fencepost_engine::{
    check, encode, event, facts, findings, listener, models, outside, unroll, verdict, work,
};

use fencepost_engine::{bits, relation, witness};

// What is said of an outcome.

pub mod library;

pub mod explain;

pub mod examine;

pub mod warn;

pub mod codes;

pub mod mend;

pub mod compare;

pub mod stress;

pub mod report;

pub mod rules;

pub mod instructions;

// What a file has to do with it: the only part that reads any.

pub mod paths;

pub mod project;

pub mod baseline;

pub mod tasks;

pub mod parallel;

// All of it in one call.

pub mod api;

pub use api::{
    Edit, Finding, InputError, InputProblem, Launch, Options, Place, Position, ReadsFrom, Region, Report,
    Source, Step, Warning, check,
};
pub use fencepost_dsl as dsl;
pub use findings::Property;
pub use report::Style;
pub use verdict::Verdict;
