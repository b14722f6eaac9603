//! Which other reading of PTX would order a racing pair: the variants of the model that widen what counts.
//!
//! Asked of the execution that was found only: that a variant orders the pair there says that its question matters, not that
//! the kernel is without races under it.

use super::{Explanation, Subject};
use crate::event::EventGraph;
use crate::relation::algebra::{Value, evaluate};
use crate::witness::Witness;
use fencepost_dsl::cat::memory_model::MemoryModel;

/// A question that PTX leaves open and on which a finding depends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reading {
    /// The variant that answers it the other way.
    pub variant: &'static str,
    /// The question's id.
    pub rule: &'static str,
    /// What the variant says.
    pub what: &'static str,
}

/// The variant under which a location has the same address for `multimem` and for all other instructions.
pub const MULTIMEM_IS_NO_ALIAS: &str = "multimem-is-no-alias";

/// Variants of `ptx` that order more, for asynchronous operations and multimem addresses.
pub const WIDER: &[Reading] = &[
    Reading {
        variant: "proxy-fence-anywhere",
        rule: "A-17",
        what: "a proxy fence counts in whatever CTA it is executed",
    },
    Reading {
        variant: "completion-at-owner",
        rule: "A-27",
        what: "the complete-tx of a copy is in scope of the threads of the CTA that has the mbarrier",
    },
    Reading {
        variant: MULTIMEM_IS_NO_ALIAS,
        rule: "A-2",
        what: "a multimem address counts as the own address of each location that it denotes",
    },
];

/// Whether a race of this execution is none under another model.
pub fn orders(model: &MemoryModel, witness: &Witness, explanation: &Explanation) -> bool {
    let Subject::Race { earlier, later } = explanation.subject else { return false };
    let Some(flag) = model.flags.iter().find(|flag| flag.name == "race") else { return false };
    match evaluate(model, &witness.basis, &[flag.term]).get(flag.term) {
        Some(Value::Relation(race)) => !race.contains(earlier, later) && !race.contains(later, earlier),
        _ => false,
    }
}

/// Whether the readings can matter: only for what asynchronous operations do, and where there are multimem addresses.
pub fn may_matter(graph: &EventGraph, explanation: &Explanation) -> bool {
    let Subject::Race { earlier, later } = explanation.subject else { return false };
    if graph.locations.iter().any(|location| !location.multimem.is_empty()) {
        return true;
    }
    graph.is_of_operation(earlier) || graph.is_of_operation(later)
}
