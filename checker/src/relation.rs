//! What is impossible and what is certain about every relation of the model, before any literal is spent.
//!
//! For a graph of `n` events each relation takes two dense matrices, so this pass costs `n²/4` bytes per relation and
//! `n³/64` word operations per composition; it is meant for up to a few thousand events.

pub mod algebra;
pub mod base;
pub mod execution;
pub mod overlap;
pub mod tighten;

use crate::bits::{BitMatrix, EventSet, or_into, or_masked_into};
use crate::event::EventId;
use algebra::{Algebra, Values};
use base::Basis;
use fencepost_dsl::cat::memory_model::{BaseRelation, BaseSet, MemoryModel, RelationKind, TermId, TermKind};
use fencepost_dsl::index::Id;
use std::cell::Cell;

/// Bounds of a relation. Invariant: `must ⊆ may`.
///
/// `may` is unconditional: a pair outside it is in no execution. `must` is conditional: a pair in it is there in every
/// execution in which both events happen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MayMust {
    /// Pairs not excluded.
    pub may: BitMatrix,
    /// Pairs that are certain once both events happen.
    pub must: BitMatrix,
}

impl MayMust {
    /// Nothing.
    pub fn empty(n: usize) -> Self {
        Self { may: BitMatrix::empty(n), must: BitMatrix::empty(n) }
    }
    /// A relation known exactly.
    pub fn exact(pairs: BitMatrix) -> Self {
        Self { may: pairs.clone(), must: pairs }
    }
    /// Pairs that need a literal.
    pub fn open(&self) -> BitMatrix {
        self.may.difference(&self.must)
    }
}

/// Bounds of a set of events.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MayMustSet {
    /// Events not excluded.
    pub may: EventSet,
    /// Events that are members whenever they happen.
    pub must: EventSet,
}

/// The bounds of a graph's relations under a model.
#[derive(Debug)]
pub struct RelationTable {
    /// Base relations and what is known about which events happen together.
    pub basis: Basis,
    /// Bounds of every term the axioms and flags need.
    pub values: Values<MayMustSet, MayMust>,
}

/// The deadline passed while bounds were computed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stopped;

/// Bounds from the event graph and, unless `tighten` is off, from the axioms.
///
/// Sound: tightening removes a pair from `may` only if no execution that satisfies the axioms has it, and adds a pair to
/// `must` only if every such execution in which both events happen has it.
///
/// # Errors
/// If `stop` says so.
pub fn bound(
    basis: Basis,
    model: &MemoryModel,
    roots: &[TermId],
    tighten: bool,
    stop: &dyn Fn() -> bool,
) -> Result<RelationTable, Stopped> {
    let mut basis = basis;
    let mut values = bounds_of(&basis, model, roots, stop)?;
    if tighten {
        for _ in 0..tighten::ROUNDS_MAX {
            if !tighten::tighten(&mut basis, model, &values) {
                break;
            }
            values = bounds_of(&basis, model, roots, stop)?;
        }
    }
    Ok(RelationTable { basis, values })
}

fn bounds_of(
    basis: &Basis,
    model: &MemoryModel,
    roots: &[TermId],
    stop: &dyn Fn() -> bool,
) -> Result<Values<MayMustSet, MayMust>, Stopped> {
    let bounds = Bounds { basis, stop, stopped: Cell::new(false) };
    let values = algebra::evaluate(model, &bounds, roots);
    if bounds.stopped.get() { Err(Stopped) } else { Ok(values) }
}

/// Certain pairs, closed where the event in between happens whenever an end does.
pub fn certain_closure(basis: &Basis, must: &BitMatrix) -> BitMatrix {
    Bounds { basis, stop: &|| false, stopped: Cell::new(false) }.certain_closure(must)
}

/// A stable listing: per named relation, how many pairs are certain and open, and which.
pub fn dump(model: &MemoryModel, table: &RelationTable) -> String {
    let mut text = String::new();
    let mut list = |name: &str, bounds: &MayMust| {
        let open = bounds.open();
        text += &format!(
            "{name}: {} certain, {} open\n",
            bounds.must.intersection(&bounds.may).len(),
            open.len()
        );
        for (title, pairs) in [("certain", bounds.must.intersection(&bounds.may)), ("open", open)] {
            let pairs: Vec<String> = pairs.pairs().map(|(a, b)| format!("e{}-e{}", a.0, b.0)).collect();
            if !pairs.is_empty() {
                text += &format!("  {title}: {}\n", pairs.join(" "));
            }
        }
    };
    for &(base, name) in BaseRelation::ALL {
        list(name, table.basis.bounds(base));
    }
    for (name, term) in &model.definitions {
        if let Some(algebra::Value::Relation(bounds)) = table.values.get(*term) {
            list(name, bounds);
        }
    }
    text
}

/// Whether a relation equals its converse in every execution, by the shape of its definition.
pub fn is_symmetric(model: &MemoryModel, term: TermId) -> bool {
    let relation = |term: TermId| match &model.terms[term].kind {
        TermKind::Relation(kind) => Some(kind.clone()),
        TermKind::Set(_) => None,
    };
    let converse = |a: TermId, b: TermId| {
        // `a` is `b^-1`, or the product with its sets exchanged.
        match (relation(a), relation(b)) {
            (_, Some(RelationKind::Inverse(inner))) if inner == a => true,
            (Some(RelationKind::Inverse(inner)), _) if inner == b => true,
            (Some(RelationKind::Product(s, t)), Some(RelationKind::Product(u, v))) => s == v && t == u,
            _ => false,
        }
    };
    match relation(term) {
        Some(RelationKind::Base(base)) => matches!(
            base,
            BaseRelation::Identity
                | BaseRelation::SameLocation
                | BaseRelation::SameVirtualLocation
                | BaseRelation::CompleteOverlap
                | BaseRelation::Internal
                | BaseRelation::External
                | BaseRelation::SameScope
                | BaseRelation::SameCta
        ),
        Some(RelationKind::Union(..)) => {
            let mut parts = Vec::new();
            let mut stack = vec![term];
            while let Some(top) = stack.pop() {
                match relation(top) {
                    Some(RelationKind::Union(a, b)) => stack.extend([a, b]),
                    _ => parts.push(top),
                }
            }
            parts
                .iter()
                .all(|&part| is_symmetric(model, part) || parts.iter().any(|&other| converse(part, other)))
        }
        Some(RelationKind::Intersection(a, b) | RelationKind::Difference(a, b)) => {
            is_symmetric(model, a) && is_symmetric(model, b)
        }
        Some(RelationKind::Complement(a) | RelationKind::Optional(a) | RelationKind::Inverse(a)) => {
            is_symmetric(model, a)
        }
        Some(RelationKind::Product(a, b)) => a == b,
        Some(RelationKind::Empty | RelationKind::Identity(_)) => true,
        Some(RelationKind::Sequence(a, b)) => {
            // `[S] ; r ; [S]` with r symmetric.
            match (relation(a), relation(b)) {
                (Some(RelationKind::Sequence(s, r)), _) => {
                    s == b && is_symmetric(model, r) && is_symmetric(model, s)
                }
                (_, Some(RelationKind::Sequence(r, s))) => {
                    s == a && is_symmetric(model, r) && is_symmetric(model, s)
                }
                _ => false,
            }
        }
        Some(
            RelationKind::Recursive(_)
            | RelationKind::TransitiveClosure(_)
            | RelationKind::ReflexiveTransitiveClosure(_),
        )
        | None => false,
    }
}

/// The algebra of bounds.
struct Bounds<'a> {
    basis: &'a Basis,
    stop: &'a dyn Fn() -> bool,
    /// Once set, what is returned means nothing.
    stopped: Cell<bool>,
}

impl Bounds<'_> {
    fn n(&self) -> usize {
        self.basis.coexist.universe()
    }
    fn coexisting(&self, relation: MayMust) -> MayMust {
        MayMust { may: relation.may.intersection(&self.basis.coexist), must: relation.must }
    }
    /// Composition of certain pairs: the event in the middle must happen whenever an end does.
    fn certain_sequence(&self, a: &BitMatrix, b: &BitMatrix) -> BitMatrix {
        let mut result = BitMatrix::empty(self.n());
        let useful = b.domain();
        for from in (0..self.n()).map(EventId::from_index) {
            for middle in a.successors_in(from, &useful) {
                if self.basis.implies.contains(from, middle) {
                    or_into(result.row_mut(from), b.row(middle));
                } else {
                    or_masked_into(result.row_mut(from), b.row(middle), self.basis.implied_by.row(middle));
                }
            }
        }
        result
    }
    /// Closure of certain pairs, middle by middle until nothing changes: what may be used as a middle depends on the ends,
    /// so that one pass need not be enough.
    fn certain_closure(&self, a: &BitMatrix) -> BitMatrix {
        let mut closure = a.clone();
        loop {
            let before = closure.len();
            let mut is_lossy = false;
            for middle in (0..self.n()).map(EventId::from_index) {
                let through = closure.row(middle).to_vec();
                if through.iter().all(|&word| word == 0) {
                    continue;
                }
                if self.is_stopped() {
                    return closure;
                }
                let only = self.basis.implied_by.row(middle);
                for from in (0..self.n()).map(EventId::from_index) {
                    if !closure.contains(from, middle) {
                        continue;
                    }
                    if self.basis.implies.contains(from, middle) {
                        or_into(closure.row_mut(from), &through);
                    } else {
                        is_lossy |= through.iter().zip(only).any(|(&row, &only)| row & !only != 0);
                        or_masked_into(closure.row_mut(from), &through, only);
                    }
                }
            }
            // Without losses this was Warshall's algorithm, which needs one pass.
            if !is_lossy || closure.len() == before {
                return closure;
            }
        }
    }
    fn is_stopped(&self) -> bool {
        if !self.stopped.get() && (self.stop)() {
            self.stopped.set(true);
        }
        self.stopped.get()
    }
}

impl Algebra for Bounds<'_> {
    type Set = MayMustSet;
    type Relation = MayMust;

    fn base_set(&self, base: BaseSet) -> MayMustSet {
        let set = self.basis.set(base);
        MayMustSet { may: set.clone(), must: set.clone() }
    }
    fn set_empty(&self) -> MayMustSet {
        MayMustSet { may: EventSet::empty(self.n()), must: EventSet::empty(self.n()) }
    }
    fn set_union(&self, a: &MayMustSet, b: &MayMustSet) -> MayMustSet {
        MayMustSet { may: a.may.union(&b.may), must: a.must.union(&b.must) }
    }
    fn set_intersection(&self, a: &MayMustSet, b: &MayMustSet) -> MayMustSet {
        MayMustSet { may: a.may.intersection(&b.may), must: a.must.intersection(&b.must) }
    }
    fn set_difference(&self, a: &MayMustSet, b: &MayMustSet) -> MayMustSet {
        MayMustSet { may: a.may.difference(&b.must), must: a.must.difference(&b.may) }
    }
    fn set_complement(&self, a: &MayMustSet) -> MayMustSet {
        let all = EventSet::full(self.n());
        MayMustSet { may: all.difference(&a.must), must: all.difference(&a.may) }
    }
    fn domain(&self, a: &MayMust) -> MayMustSet {
        MayMustSet { may: a.may.domain(), must: a.must.intersection(&self.basis.implies).domain() }
    }
    fn range(&self, a: &MayMust) -> MayMustSet {
        MayMustSet { may: a.may.range(), must: a.must.intersection(&self.basis.implied_by).range() }
    }

    fn base_relation(&self, base: BaseRelation) -> MayMust {
        self.basis.relation(base)
    }
    fn empty(&self) -> MayMust {
        MayMust::empty(self.n())
    }
    fn union(&self, a: &MayMust, b: &MayMust) -> MayMust {
        MayMust { may: a.may.union(&b.may), must: a.must.union(&b.must) }
    }
    fn intersection(&self, a: &MayMust, b: &MayMust) -> MayMust {
        MayMust { may: a.may.intersection(&b.may), must: a.must.intersection(&b.must) }
    }
    fn difference(&self, a: &MayMust, b: &MayMust) -> MayMust {
        MayMust { may: a.may.difference(&b.must), must: a.must.difference(&b.may) }
    }
    fn complement(&self, a: &MayMust) -> MayMust {
        let all = &self.basis.coexist;
        MayMust { may: all.difference(&a.must), must: all.difference(&a.may) }
    }
    fn sequence(&self, a: &MayMust, b: &MayMust) -> MayMust {
        if self.is_stopped() {
            return self.empty();
        }
        self.coexisting(MayMust {
            may: a.may.sequence(&b.may),
            must: self.certain_sequence(&a.must, &b.must),
        })
    }
    fn inverse(&self, a: &MayMust) -> MayMust {
        MayMust { may: a.may.inverse(), must: a.must.inverse() }
    }
    fn reflexive(&self, a: &MayMust) -> MayMust {
        let identity = BitMatrix::identity(&EventSet::full(self.n()));
        MayMust { may: a.may.union(&identity), must: a.must.union(&identity) }
    }
    fn transitive_closure(&self, a: &MayMust) -> MayMust {
        if self.is_stopped() {
            return self.empty();
        }
        self.coexisting(MayMust { may: a.may.transitive_closure(), must: self.certain_closure(&a.must) })
    }
    fn product(&self, a: &MayMustSet, b: &MayMustSet) -> MayMust {
        self.coexisting(MayMust {
            may: BitMatrix::product(&a.may, &b.may),
            must: BitMatrix::product(&a.must, &b.must).intersection(&self.basis.coexist),
        })
    }
    fn identity(&self, a: &MayMustSet) -> MayMust {
        MayMust { may: BitMatrix::identity(&a.may), must: BitMatrix::identity(&a.must) }
    }
}
