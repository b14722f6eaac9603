//! What names mean: definitions in nested scopes, and the names every model starts with.

use super::ast::{BinaryOperator, Expr};
use super::memory_model::{BaseRelation, BaseSet};
use super::terms::{Operand, Terms, Value};
use crate::define_id;
use crate::diagnostic::Diagnostic;
use crate::index::IndexVec;
use crate::span::Span;
use rustc_hash::FxHashMap;
use std::rc::Rc;
use strsim::levenshtein;

define_id! {
    /// A scope: one definition on top of an outer scope.
    pub struct EntryId;
}

/// A scope; `None` sees the predefined names only.
pub(super) type ScopeId = Option<EntryId>;

/// All scopes of a run. Scopes are never changed, so a function can keep the one it was defined in.
#[derive(Default, Debug)]
pub(super) struct Scopes {
    entries: IndexVec<EntryId, Entry>,
    /// A number for each name that has a definition somewhere: most names of a model have none, and the others are told apart
    /// by it.
    numbers: FxHashMap<String, usize>,
}

#[derive(Debug)]
struct Entry {
    name: String,
    number: usize,
    definition: Definition,
    outer: ScopeId,
}

#[derive(Clone, Debug)]
pub(super) enum Definition {
    Value(Value),
    Function(Rc<Function>),
    /// Its definition was reported, so its uses are not.
    Broken,
}

#[derive(Debug)]
pub(super) struct Function {
    pub parameters: Vec<String>,
    pub body: Rc<Expr>,
    /// What the body sees besides its parameters.
    pub scope: ScopeId,
    /// Where it is defined.
    pub name: Span,
}

impl Scopes {
    /// The scope of the first statement.
    pub(super) fn root(&self) -> ScopeId {
        None
    }

    /// `outer` with one more definition.
    pub(super) fn push(&mut self, outer: ScopeId, name: &str, definition: Definition) -> ScopeId {
        let n_numbers = self.numbers.len();
        let number = match self.numbers.get(name) {
            Some(&number) => number,
            None => *self.numbers.entry(name.to_owned()).or_insert(n_numbers),
        };
        Some(self.entries.push(Entry { name: name.to_owned(), number, definition, outer }))
    }

    /// The innermost definition of `name`.
    pub(super) fn find(&self, scope: ScopeId, name: &str) -> Option<&Definition> {
        let number = *self.numbers.get(name)?;
        self.visible(scope).find(|entry| entry.number == number).map(|entry| &entry.definition)
    }

    /// The visible name most like `name`, if one is like it at all.
    pub(super) fn similar(&self, scope: ScopeId, name: &str) -> Option<String> {
        let budget = (name.chars().count() / 3).max(1);
        self.visible(scope)
            .map(|entry| entry.name.clone())
            .chain(Predefined::names().map(str::to_owned))
            .map(|known| (levenshtein(&name.to_lowercase(), &known.to_lowercase()), known))
            .filter(|(distance, known)| *distance <= budget && *distance < known.chars().count())
            .min()
            .map(|(_, known)| known)
    }

    fn visible(&self, scope: ScopeId) -> impl Iterator<Item = &Entry> {
        let mut next = scope;
        std::iter::from_fn(move || {
            let entry = &self.entries[next?];
            next = entry.outer;
            Some(entry)
        })
    }
}

/// A name that needs no definition.
#[derive(Clone, Copy, Debug)]
pub(super) enum Predefined {
    Relation(BaseRelation),
    Set(BaseSet),
    /// The intersection of two base relations.
    Part(BaseRelation, BaseRelation),
    Function(PredefinedFunction),
}

#[derive(Clone, Copy, Debug)]
pub(super) enum PredefinedFunction {
    Domain,
    Range,
    Fencerel,
    Toid,
}

const DERIVED: &[(&str, Predefined)] = &[
    ("rfe", Predefined::Part(BaseRelation::ReadsFrom, BaseRelation::External)),
    ("rfi", Predefined::Part(BaseRelation::ReadsFrom, BaseRelation::Internal)),
    ("coe", Predefined::Part(BaseRelation::Coherence, BaseRelation::External)),
    ("coi", Predefined::Part(BaseRelation::Coherence, BaseRelation::Internal)),
    ("fre", Predefined::Part(BaseRelation::FromReads, BaseRelation::External)),
    ("fri", Predefined::Part(BaseRelation::FromReads, BaseRelation::Internal)),
    ("po-loc", Predefined::Part(BaseRelation::ProgramOrder, BaseRelation::SameLocation)),
    ("po_loc", Predefined::Part(BaseRelation::ProgramOrder, BaseRelation::SameLocation)),
    ("sync_barrier", Predefined::Relation(BaseRelation::BarrierSynchronization)),
    ("domain", Predefined::Function(PredefinedFunction::Domain)),
    ("range", Predefined::Function(PredefinedFunction::Range)),
    ("fencerel", Predefined::Function(PredefinedFunction::Fencerel)),
    ("toid", Predefined::Function(PredefinedFunction::Toid)),
];

impl Predefined {
    /// The one called `name`.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        let base = BaseRelation::from_name(name).map(Self::Relation);
        base.or_else(|| BaseSet::from_name(name).map(Self::Set))
            .or_else(|| DERIVED.iter().find(|(own, _)| *own == name).map(|(_, predefined)| *predefined))
    }

    /// What it stands for; a function stands for nothing without its argument.
    pub(super) fn value(self, terms: &mut Terms, span: Span) -> Value {
        match self {
            Self::Relation(base) => terms.base_relation(base, span),
            Self::Set(base) => terms.base_set(base, span),
            Self::Part(whole, part) => {
                let whole = (terms.base_relation(whole, span), span);
                let part = (terms.base_relation(part, span), span);
                terms
                    .binary(BinaryOperator::Intersection, whole, part, span)
                    .expect("both operands are relations")
            }
            Self::Function(_) => Value::Empty,
        }
    }

    fn names() -> impl Iterator<Item = &'static str> {
        let relations = BaseRelation::ALL.iter().map(|(_, name)| *name);
        let sets = BaseSet::ALL.iter().map(|(_, name)| *name);
        relations.chain(sets).chain(DERIVED.iter().map(|(name, _)| *name))
    }
}

impl PredefinedFunction {
    /// Its result for `argument` in a use at `span`.
    pub(super) fn apply(self, terms: &mut Terms, argument: Operand, span: Span) -> Result<Value, Diagnostic> {
        use super::ast::UnaryOperator::Identity;
        match self {
            Self::Domain => terms.projection(true, argument, span),
            Self::Range => terms.projection(false, argument, span),
            Self::Toid => terms.unary(Identity, argument, span),
            Self::Fencerel => {
                let fences = (terms.unary(Identity, argument, span)?, span);
                let po = (terms.base_relation(BaseRelation::ProgramOrder, span), span);
                let rest = (terms.binary(BinaryOperator::Sequence, fences, po, span)?, span);
                terms.binary(BinaryOperator::Sequence, po, rest, span)
            }
        }
    }
}
