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

/// The variants of a model that order more and may matter to a finding.
pub fn wider(model: &str) -> &'static [Reading] {
    match model {
        "ptx" => WIDER,
        "spa-5.0" => super::spa::WIDER,
        _ => &[],
    }
}

/// The variants of a model that order less than it does by an assumption of ours.
pub fn narrower(model: &str) -> &'static [Reading] {
    if model == "spa-5.0" { super::spa::NARROWER } else { &[] }
}

/// The variant under which a location has the same address for `multimem` and for all other instructions.
pub const MULTIMEM_IS_NO_ALIAS: &str = "multimem-is-no-alias";

/// Variants of `ptx` that order more, for asynchronous operations and multimem addresses.
const WIDER: &[Reading] = &[
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

/// Whether what was flagged in this execution is not under another model, or the execution is none.
pub fn orders(model: &MemoryModel, witness: &Witness, explanation: &Explanation) -> bool {
    let (name, (a, b)) = match &explanation.subject {
        Subject::Race { earlier, later } => ("race", (*earlier, *later)),
        Subject::Flag { name, pair } if name == super::spa::OUT_OF_ORDER => {
            return super::spa::is_excluded(model, witness);
        }
        _ => return false,
    };
    let Some(flag) = model.flags.iter().find(|flag| flag.name == name) else { return false };
    match evaluate(model, &witness.basis, &[flag.term]).get(flag.term) {
        Some(Value::Relation(race)) => !race.contains(a, b) && !race.contains(b, a),
        _ => false,
    }
}

/// Whether the readings can matter: only for what asynchronous operations do, where there are multimem addresses, and on SPA
/// machines.
pub fn may_matter(graph: &EventGraph, explanation: &Explanation) -> bool {
    if graph.hierarchy.launch().spa.is_some() {
        return matches!(&explanation.subject, Subject::Flag { name, .. } if name == super::spa::OUT_OF_ORDER);
    }
    let Subject::Race { earlier, later } = explanation.subject else { return false };
    if graph.locations.iter().any(|location| !location.multimem.is_empty()) {
        return true;
    }
    graph.is_of_operation(earlier) || graph.is_of_operation(later)
}
