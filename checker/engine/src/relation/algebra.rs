//! One walk over the model's terms, for every domain that interprets whole sets and relations.
//!
//! [`super::bound`] interprets them as bounds, [`super::execution`] as the exact relations of one execution. The encoder
//! interprets single pairs as literals, on demand; it matches on the same closed enums, so an operator that one of the
//! three does not know does not compile.

use fencepost_dsl::IndexVec;
use fencepost_dsl::cat::memory_model::{
    BaseRelation, BaseSet, MemoryModel, RecursiveId, RelationKind, SetKind, TermId, TermKind,
};
use fencepost_dsl::index::Id;
use fencepost_dsl::sorted::SortedSet;

/// A domain of sets and relations.
pub trait Algebra {
    /// A set of events.
    type Set: Clone;
    /// A relation between events.
    type Relation: Clone + PartialEq;

    /// A set that comes from the event graph.
    fn base_set(&self, base: BaseSet) -> Self::Set;
    /// No event.
    fn set_empty(&self) -> Self::Set;
    /// `a | b`.
    fn set_union(&self, a: &Self::Set, b: &Self::Set) -> Self::Set;
    /// `a & b`.
    fn set_intersection(&self, a: &Self::Set, b: &Self::Set) -> Self::Set;
    /// `a \ b`.
    fn set_difference(&self, a: &Self::Set, b: &Self::Set) -> Self::Set;
    /// All events that are not in `a`.
    fn set_complement(&self, a: &Self::Set) -> Self::Set;
    /// `domain(a)`.
    fn domain(&self, a: &Self::Relation) -> Self::Set;
    /// `range(a)`.
    fn range(&self, a: &Self::Relation) -> Self::Set;

    /// A relation that comes from the event graph.
    fn base_relation(&self, base: BaseRelation) -> Self::Relation;
    /// No pair.
    fn empty(&self) -> Self::Relation;
    /// `a | b`.
    fn union(&self, a: &Self::Relation, b: &Self::Relation) -> Self::Relation;
    /// `a & b`.
    fn intersection(&self, a: &Self::Relation, b: &Self::Relation) -> Self::Relation;
    /// `a \ b`.
    fn difference(&self, a: &Self::Relation, b: &Self::Relation) -> Self::Relation;
    /// All pairs that are not in `a`.
    fn complement(&self, a: &Self::Relation) -> Self::Relation;
    /// `a ; b`.
    fn sequence(&self, a: &Self::Relation, b: &Self::Relation) -> Self::Relation;
    /// `a^-1`.
    fn inverse(&self, a: &Self::Relation) -> Self::Relation;
    /// `a?`.
    fn reflexive(&self, a: &Self::Relation) -> Self::Relation;
    /// `a+`.
    fn transitive_closure(&self, a: &Self::Relation) -> Self::Relation;
    /// `a * b`.
    fn product(&self, a: &Self::Set, b: &Self::Set) -> Self::Relation;
    /// `[a]`.
    fn identity(&self, a: &Self::Set) -> Self::Relation;

    /// A term's value, given what its operator says of it.
    fn of_term(&self, term: TermId, value: Self::Relation) -> Self::Relation {
        let _ = term;
        value
    }
}

/// What of a domain is not what it was.
#[derive(Clone, Default, Debug)]
pub struct Changed {
    /// Base relations.
    pub bases: SortedSet<BaseRelation>,
    /// Terms of which the domain says more ([`Algebra::of_term`]).
    pub terms: SortedSet<TermId>,
}

/// The value of one term.
#[derive(Clone, PartialEq, Debug)]
pub enum Value<S, R> {
    /// Of a set term.
    Set(S),
    /// Of a relation term.
    Relation(R),
}

/// Values of the terms that were asked for, and of what they are made of.
#[derive(Clone, Debug)]
pub struct Values<S, R> {
    values: IndexVec<TermId, Option<Value<S, R>>>,
}

impl<S, R> Values<S, R> {
    /// A set term's value.
    ///
    /// # Panics
    /// If the term is no set or was not asked for.
    pub fn set(&self, term: TermId) -> &S {
        match &self.values[term] {
            Some(Value::Set(set)) => set,
            _ => panic!("term {term:?} is a set that was evaluated"),
        }
    }
    /// A relation term's value.
    ///
    /// # Panics
    /// If the term is no relation or was not asked for.
    pub fn relation(&self, term: TermId) -> &R {
        match &self.values[term] {
            Some(Value::Relation(relation)) => relation,
            _ => panic!("term {term:?} is a relation that was evaluated"),
        }
    }
    /// Forgets all but these.
    pub fn keep(&mut self, terms: &[TermId]) {
        for index in 0..self.values.len() {
            let term = TermId::from_index(index);
            if !terms.contains(&term) {
                self.values[term] = None;
            }
        }
    }
    /// The value, if the term was asked for.
    pub fn get(&self, term: TermId) -> Option<&Value<S, R>> {
        self.values[term].as_ref()
    }
}

/// Evaluates `roots`. Relations of a `let rec` are least fixpoints, reached by iteration from the empty relation.
pub fn evaluate<A: Algebra>(
    model: &MemoryModel,
    algebra: &A,
    roots: &[TermId],
) -> Values<A::Set, A::Relation> {
    let needed = model.needed(roots);
    let mut recursive: IndexVec<RecursiveId, A::Relation> =
        IndexVec::repeat(algebra.empty(), model.recursive.len());
    loop {
        let values = one_pass(model, algebra, &needed, &recursive);
        let mut changed = false;
        for (id, &body) in model.recursive.iter_enumerated() {
            if let Some(Value::Relation(value)) = &values[body]
                && recursive[id] != *value
            {
                recursive[id] = value.clone();
                changed = true;
            }
        }
        if !changed {
            return Values { values };
        }
    }
}

/// Evaluates `roots` and keeps nothing else: a value is dropped behind the last term that is made of it, so that no more are
/// there at a time than the model's text has in use.
pub fn evaluate_only<A: Algebra>(
    model: &MemoryModel,
    algebra: &A,
    roots: &[TermId],
) -> Values<A::Set, A::Relation> {
    if !model.recursive.is_empty() {
        let mut values = evaluate(model, algebra, roots);
        values.keep(roots);
        return values;
    }
    let needed = model.needed(roots);
    let mut n_users: IndexVec<TermId, usize> = IndexVec::repeat(0, model.terms.len());
    let used = |id: TermId| model.operands(id).into_iter();
    for operand in model.terms.ids().filter(|&id| needed[id]).flat_map(used) {
        n_users[operand] += 1;
    }
    for &root in roots {
        n_users[root] += 1;
    }
    let recursive = IndexVec::new();
    let mut table: Table<A> = IndexVec::new();
    for id in model.terms.ids() {
        table.push(needed[id].then(|| value_of(model, algebra, id, &table, &recursive)));
        if needed[id] {
            for operand in used(id) {
                n_users[operand] -= 1;
                if n_users[operand] == 0 {
                    table[operand] = None;
                }
            }
        }
    }
    Values { values: table }
}

/// Evaluates again after some base relations changed; what does not depend on them keeps its value.
///
/// Sound: a term's value is a function of its operands' values and, of base relations, of those that it names itself.
/// Sets of the graph do not change. With a `let rec` in the model everything is evaluated afresh.
///
/// Needs: nothing. Which terms there are is looked up, and so is whether any is recursive.
pub fn evaluate_again<A: Algebra>(
    model: &MemoryModel,
    algebra: &A,
    roots: &[TermId],
    earlier: Values<A::Set, A::Relation>,
    changed: &Changed,
) -> Values<A::Set, A::Relation>
where
    A::Set: PartialEq,
{
    if !model.recursive.is_empty() {
        return evaluate(model, algebra, roots);
    }
    let mut table = earlier.values;
    let mut is_changed: IndexVec<TermId, bool> = IndexVec::repeat(false, model.terms.len());
    let recursive = IndexVec::new();
    for (id, term) in model.terms.iter_enumerated() {
        let affected = match &term.kind {
            TermKind::Relation(RelationKind::Base(base)) => changed.bases.contains(base),
            _ => changed.terms.contains(&id) || model.operands(id).iter().any(|&operand| is_changed[operand]),
        };
        if !affected || table[id].is_none() {
            continue;
        }
        let value = value_of(model, algebra, id, &table, &recursive);
        is_changed[id] = table[id].as_ref() != Some(&value);
        table[id] = Some(value);
    }
    Values { values: table }
}

type Table<A> = IndexVec<TermId, Option<Value<<A as Algebra>::Set, <A as Algebra>::Relation>>>;

fn one_pass<A: Algebra>(
    model: &MemoryModel,
    algebra: &A,
    needed: &IndexVec<TermId, bool>,
    recursive: &IndexVec<RecursiveId, A::Relation>,
) -> Table<A> {
    let mut table: Table<A> = IndexVec::new();
    for id in model.terms.ids() {
        table.push(needed[id].then(|| value_of(model, algebra, id, &table, recursive)));
    }
    table
}

/// A term's value, made of those of its operands.
fn value_of<A: Algebra>(
    model: &MemoryModel,
    algebra: &A,
    id: TermId,
    table: &Table<A>,
    recursive: &IndexVec<RecursiveId, A::Relation>,
) -> Value<A::Set, A::Relation> {
    match &model.terms[id].kind {
        TermKind::Set(kind) => Value::Set(evaluate_set(algebra, kind, table)),
        TermKind::Relation(kind) => {
            Value::Relation(algebra.of_term(id, evaluate_relation(algebra, kind, table, recursive)))
        }
    }
}

fn set_of<A: Algebra>(table: &Table<A>, term: TermId) -> &A::Set {
    match &table[term] {
        Some(Value::Set(set)) => set,
        _ => unreachable!("operands precede their users and have the arity the resolver checked"),
    }
}

fn relation_of<A: Algebra>(table: &Table<A>, term: TermId) -> &A::Relation {
    match &table[term] {
        Some(Value::Relation(relation)) => relation,
        _ => unreachable!("operands precede their users and have the arity the resolver checked"),
    }
}

fn evaluate_set<A: Algebra>(algebra: &A, kind: &SetKind, table: &Table<A>) -> A::Set {
    let set = |term| set_of::<A>(table, term);
    match *kind {
        SetKind::Base(base) => algebra.base_set(base),
        SetKind::Empty => algebra.set_empty(),
        SetKind::Union(a, b) => algebra.set_union(set(a), set(b)),
        SetKind::Intersection(a, b) => algebra.set_intersection(set(a), set(b)),
        SetKind::Difference(a, b) => algebra.set_difference(set(a), set(b)),
        SetKind::Complement(a) => algebra.set_complement(set(a)),
        SetKind::Domain(a) => algebra.domain(relation_of::<A>(table, a)),
        SetKind::Range(a) => algebra.range(relation_of::<A>(table, a)),
    }
}

fn evaluate_relation<A: Algebra>(
    algebra: &A,
    kind: &RelationKind,
    table: &Table<A>,
    recursive: &IndexVec<RecursiveId, A::Relation>,
) -> A::Relation {
    let relation = |term| relation_of::<A>(table, term);
    let set = |term| set_of::<A>(table, term);
    match *kind {
        RelationKind::Base(base) => algebra.base_relation(base),
        RelationKind::Empty => algebra.empty(),
        RelationKind::Recursive(id) => recursive[id].clone(),
        RelationKind::Union(a, b) => algebra.union(relation(a), relation(b)),
        RelationKind::Intersection(a, b) => algebra.intersection(relation(a), relation(b)),
        RelationKind::Difference(a, b) => algebra.difference(relation(a), relation(b)),
        RelationKind::Complement(a) => algebra.complement(relation(a)),
        RelationKind::Sequence(a, b) => algebra.sequence(relation(a), relation(b)),
        RelationKind::Inverse(a) => algebra.inverse(relation(a)),
        RelationKind::Optional(a) => algebra.reflexive(relation(a)),
        RelationKind::TransitiveClosure(a) => algebra.transitive_closure(relation(a)),
        RelationKind::ReflexiveTransitiveClosure(a) => {
            algebra.reflexive(&algebra.transitive_closure(relation(a)))
        }
        RelationKind::Product(a, b) => algebra.product(set(a), set(b)),
        RelationKind::Identity(a) => algebra.identity(set(a)),
    }
}
