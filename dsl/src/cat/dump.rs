//! A resolved model as text: one line a node, so that two models can be compared with `diff`.

use super::memory_model::{AxiomKind, MemoryModel, RelationKind, SetKind, TermId, TermKind};
use std::fmt::Write;

/// `model` as text: `tN = operator operands` per node, then definitions, recursive bodies, axioms and flags, in file order.
///
/// Equal models give equal text. It is for people and tests, and is not read back.
pub fn dump(model: &MemoryModel) -> String {
    let mut text = format!("model {}\n", model.name);
    // Writing to a `String` cannot fail, so the results carry nothing.
    for (id, term) in model.terms.iter_enumerated() {
        let line = match &term.kind {
            TermKind::Set(kind) => set(kind),
            TermKind::Relation(kind) => relation(kind),
        };
        let _ = writeln!(text, "t{} = {line}", id.0);
    }
    for (id, body) in model.recursive.iter_enumerated() {
        let _ = writeln!(text, "recursive r{} = t{}", id.0, body.0);
    }
    for (name, term) in &model.definitions {
        let _ = writeln!(text, "let {name} = t{}", term.0);
    }
    for axiom in &model.axioms {
        let kind = match axiom.kind {
            AxiomKind::Acyclic => "acyclic",
            AxiomKind::Irreflexive => "irreflexive",
            AxiomKind::Empty => "empty",
        };
        let _ = writeln!(text, "{kind} t{} as {}", axiom.term.0, axiom.name);
    }
    for flag in &model.flags {
        let _ = writeln!(text, "flag ~empty t{} as {}", flag.term.0, flag.name);
    }
    text
}

fn set(kind: &SetKind) -> String {
    match kind {
        SetKind::Base(base) => format!("set {}", base.name()),
        SetKind::Empty => "set empty".to_owned(),
        SetKind::Union(a, b) => binary("set-union", *a, *b),
        SetKind::Intersection(a, b) => binary("set-intersection", *a, *b),
        SetKind::Difference(a, b) => binary("set-difference", *a, *b),
        SetKind::Complement(a) => unary("set-complement", *a),
        SetKind::Domain(a) => unary("domain", *a),
        SetKind::Range(a) => unary("range", *a),
    }
}

fn relation(kind: &RelationKind) -> String {
    match kind {
        RelationKind::Base(base) => format!("relation {}", base.name()),
        RelationKind::Empty => "relation empty".to_owned(),
        RelationKind::Recursive(id) => format!("recursive r{}", id.0),
        RelationKind::Union(a, b) => binary("union", *a, *b),
        RelationKind::Intersection(a, b) => binary("intersection", *a, *b),
        RelationKind::Difference(a, b) => binary("difference", *a, *b),
        RelationKind::Complement(a) => unary("complement", *a),
        RelationKind::Sequence(a, b) => binary("sequence", *a, *b),
        RelationKind::Inverse(a) => unary("inverse", *a),
        RelationKind::Optional(a) => unary("optional", *a),
        RelationKind::TransitiveClosure(a) => unary("transitive-closure", *a),
        RelationKind::ReflexiveTransitiveClosure(a) => unary("reflexive-transitive-closure", *a),
        RelationKind::Product(a, b) => binary("product", *a, *b),
        RelationKind::Identity(a) => unary("identity", *a),
    }
}

fn unary(operator: &str, a: TermId) -> String {
    format!("{operator} t{}", a.0)
}

fn binary(operator: &str, a: TermId, b: TermId) -> String {
    format!("{operator} t{} t{}", a.0, b.0)
}
