//! Builds the DAG: equal terms share a node, operands of the wrong sort are errors, and what is plainly empty is dropped.

use super::ast::{BinaryOperator, UnaryOperator};
use super::memory_model::{
    BaseRelation, BaseSet, RecursiveId, RelationKind, SetKind, Term, TermId, TermKind,
};
use crate::diagnostic::Diagnostic;
use crate::index::IndexVec;
use crate::span::Span;
use rustc_hash::FxHashMap;

/// What an expression stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Value {
    /// `{}`: a set or a relation, whichever is wanted.
    Empty,
    Set(TermId),
    Relation(TermId),
}

/// Whether a node is a set or a relation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sort {
    Set,
    Relation,
}

/// A value and where it is written.
pub(super) type Operand = (Value, Span);

/// The nodes so far.
#[derive(Default, Debug)]
pub(super) struct Terms {
    pub nodes: IndexVec<TermId, Term>,
    ids: FxHashMap<TermKind, TermId>,
}

impl Terms {
    /// `left operator right`, written at `span`.
    pub(super) fn binary(
        &mut self,
        operator: BinaryOperator,
        left: Operand,
        right: Operand,
        span: Span,
    ) -> Result<Value, Diagnostic> {
        let sort = match operator {
            BinaryOperator::Product => Sort::Set,
            BinaryOperator::Sequence => Sort::Relation,
            BinaryOperator::Union | BinaryOperator::Intersection | BinaryOperator::Difference => {
                match (left.0, right.0) {
                    (Value::Empty, Value::Empty) => return Ok(Value::Empty),
                    (Value::Empty, Value::Set(_)) | (Value::Set(_), _) => Sort::Set,
                    (Value::Empty, Value::Relation(_)) | (Value::Relation(_), _) => Sort::Relation,
                }
            }
        };
        let symbol = operator.symbol();
        let a = self.operand(left, sort, symbol, left.1)?;
        let b = self.operand(right, sort, symbol, left.1)?;
        Ok(match operator {
            BinaryOperator::Union => self.union(sort, a, b, span),
            BinaryOperator::Intersection => self.intersection(sort, a, b, span),
            BinaryOperator::Difference => self.difference(sort, a, b, span),
            BinaryOperator::Sequence => self.sequence(a, b, span),
            BinaryOperator::Product if self.is_empty(a) || self.is_empty(b) => {
                self.empty(Sort::Relation, span)
            }
            BinaryOperator::Product => self.relation(RelationKind::Product(a, b), span),
        })
    }

    /// `operator` applied to `operand`, written at `span`.
    pub(super) fn unary(
        &mut self,
        operator: UnaryOperator,
        operand: Operand,
        span: Span,
    ) -> Result<Value, Diagnostic> {
        let sort = match (operator, operand.0) {
            (UnaryOperator::Identity, _) | (UnaryOperator::Complement, Value::Set(_)) => Sort::Set,
            _ => Sort::Relation,
        };
        let a = self.operand(operand, sort, operator.symbol(), operand.1)?;
        let empty = self.is_empty(a);
        Ok(match operator {
            UnaryOperator::Complement => self.complement(sort, a, span),
            UnaryOperator::Inverse | UnaryOperator::TransitiveClosure if empty => Value::Relation(a),
            UnaryOperator::Inverse => self.relation(RelationKind::Inverse(a), span),
            UnaryOperator::TransitiveClosure => self.relation(RelationKind::TransitiveClosure(a), span),
            UnaryOperator::Optional | UnaryOperator::ReflexiveTransitiveClosure if empty => {
                self.relation(RelationKind::Base(BaseRelation::Identity), span)
            }
            UnaryOperator::Optional => self.relation(RelationKind::Optional(a), span),
            UnaryOperator::ReflexiveTransitiveClosure => {
                self.relation(RelationKind::ReflexiveTransitiveClosure(a), span)
            }
            UnaryOperator::Identity if empty => self.empty(Sort::Relation, span),
            UnaryOperator::Identity => self.relation(RelationKind::Identity(a), span),
        })
    }

    /// `domain(r)` or `range(r)`.
    pub(super) fn projection(
        &mut self,
        domain: bool,
        operand: Operand,
        span: Span,
    ) -> Result<Value, Diagnostic> {
        let name = if domain { "domain" } else { "range" };
        let a = self.operand(operand, Sort::Relation, name, operand.1)?;
        if self.is_empty(a) {
            return Ok(self.empty(Sort::Set, span));
        }
        Ok(self.set(if domain { SetKind::Domain(a) } else { SetKind::Range(a) }, span))
    }

    /// `value` as a node; `{}` becomes a relation.
    pub(super) fn node(&mut self, value: Value, span: Span) -> TermId {
        match value {
            Value::Set(term) | Value::Relation(term) => term,
            Value::Empty => self.intern(TermKind::Relation(RelationKind::Empty), span),
        }
    }

    /// `value` as a node of `sort`, or why `symbol` cannot take it; `beside` is the operand that set the sort.
    pub(super) fn operand(
        &mut self,
        (value, span): Operand,
        sort: Sort,
        symbol: &str,
        beside: Span,
    ) -> Result<TermId, Diagnostic> {
        let (what, help) = match (value, sort) {
            (Value::Set(term), Sort::Set) | (Value::Relation(term), Sort::Relation) => return Ok(term),
            (Value::Empty, Sort::Set) => return Ok(self.intern(TermKind::Set(SetKind::Empty), span)),
            (Value::Empty, Sort::Relation) => {
                return Ok(self.intern(TermKind::Relation(RelationKind::Empty), span));
            }
            (Value::Set(_), Sort::Relation) => (
                ("a set", "a relation"),
                "write `[S]` for the identity on a set `S`, or `S * T` for a product",
            ),
            (Value::Relation(_), Sort::Set) => {
                (("a relation", "a set"), "write `domain(r)` or `range(r)` for the ends of a relation `r`")
            }
        };
        let mut diagnostic = Diagnostic::new(
            "cat::set-or-relation",
            format!("`{symbol}` needs {} here, and this is {}", what.1, what.0),
            span,
            format!("this is {}", what.0),
        );
        if beside != span {
            diagnostic = diagnostic.with_label(beside, format!("because this is {}", what.1));
        }
        Err(diagnostic.with_help(help))
    }

    /// A base set.
    pub(super) fn base_set(&mut self, base: BaseSet, span: Span) -> Value {
        self.set(SetKind::Base(base), span)
    }

    /// A base relation.
    pub(super) fn base_relation(&mut self, base: BaseRelation, span: Span) -> Value {
        self.relation(RelationKind::Base(base), span)
    }

    /// A relation of a `let rec`.
    pub(super) fn recursive(&mut self, id: RecursiveId, span: Span) -> Value {
        self.relation(RelationKind::Recursive(id), span)
    }

    /// The empty set or relation.
    pub(super) fn empty(&mut self, sort: Sort, span: Span) -> Value {
        match sort {
            Sort::Set => self.set(SetKind::Empty, span),
            Sort::Relation => self.relation(RelationKind::Empty, span),
        }
    }

    fn union(&mut self, sort: Sort, a: TermId, b: TermId, span: Span) -> Value {
        if a == b || self.is_empty(b) {
            return typed(sort, a);
        }
        if self.is_empty(a) {
            return typed(sort, b);
        }
        match sort {
            Sort::Set => self.set(SetKind::Union(a, b), span),
            Sort::Relation => self.relation(RelationKind::Union(a, b), span),
        }
    }

    fn intersection(&mut self, sort: Sort, a: TermId, b: TermId, span: Span) -> Value {
        if a == b || self.is_empty(a) {
            return typed(sort, a);
        }
        if self.is_empty(b) {
            return typed(sort, b);
        }
        match sort {
            Sort::Set => self.set(SetKind::Intersection(a, b), span),
            Sort::Relation => self.relation(RelationKind::Intersection(a, b), span),
        }
    }

    fn difference(&mut self, sort: Sort, a: TermId, b: TermId, span: Span) -> Value {
        if a == b {
            return self.empty(sort, span);
        }
        if self.is_empty(a) || self.is_empty(b) {
            return typed(sort, a);
        }
        match sort {
            Sort::Set => self.set(SetKind::Difference(a, b), span),
            Sort::Relation => self.relation(RelationKind::Difference(a, b), span),
        }
    }

    fn sequence(&mut self, a: TermId, b: TermId, span: Span) -> Value {
        if self.is_empty(a) {
            return Value::Relation(a);
        }
        if self.is_empty(b) {
            return Value::Relation(b);
        }
        self.relation(RelationKind::Sequence(a, b), span)
    }

    fn complement(&mut self, sort: Sort, a: TermId, span: Span) -> Value {
        match (sort, &self.nodes[a].kind) {
            (_, TermKind::Set(SetKind::Complement(inner)))
            | (_, TermKind::Relation(RelationKind::Complement(inner))) => typed(sort, *inner),
            (Sort::Set, _) => self.set(SetKind::Complement(a), span),
            (Sort::Relation, _) => self.relation(RelationKind::Complement(a), span),
        }
    }

    fn is_empty(&self, term: TermId) -> bool {
        matches!(
            self.nodes[term].kind,
            TermKind::Set(SetKind::Empty) | TermKind::Relation(RelationKind::Empty)
        )
    }

    fn set(&mut self, kind: SetKind, span: Span) -> Value {
        Value::Set(self.intern(TermKind::Set(kind), span))
    }

    fn relation(&mut self, kind: RelationKind, span: Span) -> Value {
        Value::Relation(self.intern(TermKind::Relation(kind), span))
    }

    fn intern(&mut self, kind: TermKind, span: Span) -> TermId {
        if let Some(known) = self.ids.get(&kind) {
            return *known;
        }
        let term = self.nodes.push(Term { span, kind: kind.clone() });
        self.ids.insert(kind, term);
        term
    }
}

fn typed(sort: Sort, term: TermId) -> Value {
    match sort {
        Sort::Set => Value::Set(term),
        Sort::Relation => Value::Relation(term),
    }
}
