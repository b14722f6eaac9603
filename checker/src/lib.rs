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
//! [`check`] is all of this but the last arrow, for each loop bound. [`examine`] is a check, what its proof takes for
//! granted, explanations and repairs. [`report`] says what was found, as text and JSON. What can be found at all is a table,
//! [`findings`], which goals, verdicts, explanations and reports ask.
//!
//! Programs and model files are read by the crate `fencepost_dsl`. The library does not read files, the environment or the
//! clock, and does not print; [`cli`] does.
//!
//! ```
//! use fencepost::check::Config;
//! use fencepost::examine::examine;
//! use fencepost::explain::repair::Texts;
//! use fencepost::models::{self, Model};
//! use fencepost::verdict::Verdict;
//! use fencepost_dsl::SourceMap;
//! use fencepost_dsl::kernel::{LoadOptions, load};
//!
//! let text = "kernel message {
//!     launch { ctas: 2, cooperative: true }
//!     global data: u32 = 0;
//!     global flag: u32 = 0;
//!     if ctaid == 0 {
//!         st.weak [data], 42;
//!         st.relaxed.gpu [flag], 1;
//!     } else {
//!         await ld.acquire.gpu [flag] == 1;
//!         let v = ld.weak [data];
//!     }
//! }";
//! let mut sources = SourceMap::default();
//! let mut read = |_: &str| Ok(text.to_owned());
//! let program = load(&mut sources, "message.fence", &mut read, &LoadOptions::default()).expect("it is well-formed");
//! let model = Model::shipped(models::usual(&program), &[]).expect("it comes along");
//!
//! let kernel = &program.kernels[0];
//! let texts = Texts::new(&sources, LoadOptions::default());
//! let launch = &kernel.launches[0];
//! let found = examine(&texts, &program, kernel, launch, &model, &Config::usual(kernel)).expect("no limit is hit");
//! assert_eq!(found.outcome.verdict, Verdict::Violated);
//! let why = &found.explanations[0];
//! let repair = why.repair.as_ref().expect("one is found");
//! assert_eq!((why.code, repair.edits[0].pieces[0].text.as_str()), ("race::uniform", "st.release.gpu"));
//! ```
//!
//! Modules, in the order of the pipeline:

// What a run is about.

pub mod findings;

pub mod models;

pub mod library;

pub mod event;

pub mod unroll;

mod synchronization;

// From events to clauses, and from an assignment to an execution.

pub(crate) mod bits;

pub(crate) mod relation;

pub(crate) mod cnf;

pub mod encode;

pub(crate) mod solve;

pub(crate) mod witness;

// The passes in their order, and what is said of the outcome.

pub mod verdict;

pub mod work;

pub mod check;

pub mod explain;

pub mod examine;

pub mod warn;

pub mod codes;

pub mod mend;

pub mod report;

pub mod rules;

pub mod cli;
