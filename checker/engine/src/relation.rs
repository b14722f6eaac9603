//! What is impossible and what is certain about every relation of the model, before any literal is spent.
//!
//! A relation takes two [`BitMatrix`]es, which share what they have in common with each other and with what they were
//! made of; where a relation is known exactly they are one, and every operator does its work once. A round of tightening
//! evaluates again only what depends on a base relation that changed.

pub mod algebra;
pub(crate) mod base;
pub(crate) mod counting;
pub mod dependency;
pub mod execution;
pub(crate) mod machine;
pub(crate) mod overlap;
pub(crate) mod symmetry;
pub(crate) mod tighten;
pub(crate) mod together;
pub(crate) mod window;

use crate::bits::{BitMatrix, EventSet};
use algebra::{Algebra, Changed, Values};
use base::Basis;
use fencepost_dsl::cat::memory_model::{BaseRelation, BaseSet, MemoryModel, RelationKind, TermId, TermKind};
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
    /// What is known of pairs that meet.
    met: Met,
}

/// What is known of a relation's pairs if their events have a byte in common (`loc`).
///
/// Whether two accesses at an index that was read meet is open, and so is whatever asks for it. But a race asks first, and
/// what would order it asks the same: of those that meet it may be certain that they are ordered.
///
/// Sound: whether two events meet is one condition of the pair, whichever way round it is asked; of accesses with one mapping
/// it is that of `vloc`, and of accesses of one size, which are aligned, that of `overlap-complete`.
///
/// Needs: nothing. A model's operators are gone through one by one.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Met {
    /// Pairs that are certain once both events happen and meet, if those are more than the certain ones.
    certain: Option<BitMatrix>,
    /// Whether all pairs are of events that meet.
    always: bool,
}

impl MayMust {
    /// Nothing.
    pub fn empty(n: usize) -> Self {
        Self::of(BitMatrix::empty(n), BitMatrix::empty(n))
    }
    /// Both bounds; kept once where they are equal.
    pub fn new(may: BitMatrix, must: BitMatrix) -> Self {
        if may == must { Self::exact(may) } else { Self::of(may, must) }
    }
    /// The pairs in `these` only.
    #[must_use]
    pub fn within(&self, these: &BitMatrix) -> Self {
        if self.is_exact() {
            return Self::exact(self.may.intersection(these));
        }
        Self::of(self.may.intersection(these), self.must.intersection(these))
    }
    /// A relation known exactly.
    pub fn exact(pairs: BitMatrix) -> Self {
        Self::of(pairs.clone(), pairs)
    }
    fn of(may: BitMatrix, must: BitMatrix) -> Self {
        Self { may, must, met: Met::default() }
    }
    /// Pairs that are certain once both events happen and meet.
    fn met(&self) -> &BitMatrix {
        self.met.certain.as_ref().unwrap_or(&self.must)
    }
    /// The same with what a combination makes of pairs that meet.
    fn meeting(self, other: [&Self; 2], always: bool, combine: impl Fn() -> BitMatrix) -> Self {
        let is_more = other.iter().any(|of| of.met.certain.is_some());
        Self { met: Met { certain: is_more.then(combine), always }, ..self }
    }
    /// Whether what is certain is possible. Deductions may find otherwise: then the two events exclude each other.
    pub fn is_consistent(&self) -> bool {
        self.is_exact() || self.must.difference(&self.may).is_empty()
    }
    /// Whether both are one relation in memory; then so are those of what is made of it.
    fn is_exact(&self) -> bool {
        self.may.is_same(&self.must)
    }
    /// Both bounds of a combination that treats them alike.
    fn zip(&self, other: &Self, combine: impl Fn(&BitMatrix, &BitMatrix) -> BitMatrix) -> Self {
        if self.is_exact() && other.is_exact() {
            return Self::exact(combine(&self.may, &other.may));
        }
        Self::of(combine(&self.may, &other.may), combine(&self.must, &other.must))
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
    /// Of which orders one stands for all.
    pub classes: Vec<symmetry::Class>,
}

/// The allowance was used up while bounds were computed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stopped;

/// Bounds from the event graph and, unless `tighten` is off, from the axioms; of orders that are alike, `classes` has one.
///
/// Sound: tightening removes a pair from `may` only if no execution that satisfies the axioms has it, and adds a pair to
/// `must` only if every such execution in which both events happen has it.
///
/// Needs: [`Need::TotalCoherence`](crate::facts::needs::Need::TotalCoherence),
/// [`Need::OneCell`](crate::facts::needs::Need::OneCell) for words that count (`counting`),
/// [`Need::Alike`](crate::facts::needs::Need::Alike) for the orders that `classes` leave out; `tighten` itself needs nothing.
///
/// # Errors
/// If `stop` says so.
pub fn bound(
    basis: Basis,
    model: &MemoryModel,
    roots: &[TermId],
    tighten: bool,
    classes: &[symmetry::Class],
    stop: &dyn Fn() -> bool,
) -> Result<RelationTable, Stopped> {
    let mut basis = basis;
    classes.iter().for_each(|class| class.order(&mut basis));
    let mut values = bounds_of(&basis, model, roots, None, stop)?;
    if tighten {
        for _ in 0..tighten::ROUNDS_MAX {
            let before = basis.clone();
            let by_axioms = tighten::tighten(&mut basis, model, &values);
            if !counting::tighten(&mut basis, model, &values) && !by_axioms {
                break;
            }
            basis.refresh_from_reads();
            let changed = Changed { bases: basis.changed_since(&before), terms: basis.surer_since(&before) };
            // Which events happen together counts wherever certain pairs meet.
            let is_same = basis.counted.follows.len() == before.counted.follows.len();
            values = bounds_of(&basis, model, roots, is_same.then_some((values, changed)), stop)?;
        }
    }
    Ok(RelationTable { basis, values, classes: classes.to_vec() })
}

/// Bounds of all terms; given those of an earlier round and the base relations that changed, of what depends on them.
fn bounds_of(
    basis: &Basis,
    model: &MemoryModel,
    roots: &[TermId],
    earlier: Option<(Values<MayMustSet, MayMust>, Changed)>,
    stop: &dyn Fn() -> bool,
) -> Result<Values<MayMustSet, MayMust>, Stopped> {
    let bounds = Bounds { basis, stop, stopped: Cell::new(false) };
    let values = match earlier {
        Some((values, changed)) => algebra::evaluate_again(model, &bounds, roots, values, &changed),
        None => algebra::evaluate(model, &bounds, roots),
    };
    if bounds.stopped.get() { Err(Stopped) } else { Ok(values) }
}

/// Certain pairs, closed where the event in between happens whenever an end does.
pub fn certain_closure(basis: &Basis, must: &BitMatrix) -> BitMatrix {
    must.certain_closure(basis.together(), &|| false).expect("nothing stops it")
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
                | BaseRelation::SameHome
                | BaseRelation::SameCluster
                | BaseRelation::SameSm
                | BaseRelation::SameChannel
                | BaseRelation::SameDevice
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
        MayMust::of(relation.may.intersection(&self.basis.coexist), relation.must)
    }
    /// Both bounds of what holds of an event or a pair by itself.
    fn each(a: &MayMust, change: impl Fn(&BitMatrix) -> BitMatrix) -> MayMust {
        if a.is_exact() {
            return MayMust::exact(change(&a.may));
        }
        MayMust::of(change(&a.may), change(&a.must))
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
        let bounds = self.basis.relation(base);
        if !base::LOCATIONS.contains(&base) {
            return bounds;
        }
        let certain = (!bounds.is_exact()).then(|| bounds.may.clone());
        MayMust { met: Met { certain, always: true }, ..bounds }
    }
    fn empty(&self) -> MayMust {
        MayMust::empty(self.n())
    }
    fn union(&self, a: &MayMust, b: &MayMust) -> MayMust {
        let always = a.met.always && b.met.always;
        a.zip(b, BitMatrix::union).meeting([a, b], always, || a.met().union(b.met()))
    }
    fn intersection(&self, a: &MayMust, b: &MayMust) -> MayMust {
        let always = a.met.always || b.met.always;
        a.zip(b, BitMatrix::intersection).meeting([a, b], always, || a.met().intersection(b.met()))
    }
    fn difference(&self, a: &MayMust, b: &MayMust) -> MayMust {
        let always = a.met.always;
        if a.is_exact() && b.is_exact() {
            let exact = MayMust::exact(a.may.difference(&b.may));
            return MayMust { met: Met { certain: None, always }, ..exact };
        }
        let certain = if always { b.met() } else { &b.must };
        let (may, must) = (a.may.difference(certain), a.must.difference(&b.may));
        MayMust::of(may, must).meeting([a; 2], always, || a.met().difference(&b.may))
    }
    fn complement(&self, a: &MayMust) -> MayMust {
        let all = &self.basis.coexist;
        if a.is_exact() {
            return MayMust::exact(all.difference(&a.may));
        }
        MayMust::of(all.difference(&a.must), all.difference(&a.may))
    }
    fn sequence(&self, a: &MayMust, b: &MayMust) -> MayMust {
        if self.is_stopped() {
            return self.empty();
        }
        let certain = a.must.certain_sequence(&b.must, self.basis.together());
        self.coexisting(MayMust::of(a.may.sequence(&b.may), certain))
    }
    fn inverse(&self, a: &MayMust) -> MayMust {
        Self::each(a, BitMatrix::inverse).meeting([a; 2], a.met.always, || a.met().inverse())
    }
    fn reflexive(&self, a: &MayMust) -> MayMust {
        let identity = BitMatrix::identity(&EventSet::full(self.n()));
        Self::each(a, |bound| bound.union(&identity))
    }
    fn transitive_closure(&self, a: &MayMust) -> MayMust {
        if self.is_stopped() {
            return self.empty();
        }
        match a.must.certain_closure(self.basis.together(), &|| self.is_stopped()) {
            Some(must) => self.coexisting(MayMust::of(a.may.transitive_closure(), must)),
            None => self.empty(),
        }
    }
    fn product(&self, a: &MayMustSet, b: &MayMustSet) -> MayMust {
        let within = |a, b| BitMatrix::product(a, b).intersection(&self.basis.coexist);
        if a.may == a.must && b.may == b.must {
            return MayMust::exact(within(&a.may, &b.may));
        }
        MayMust::of(within(&a.may, &b.may), within(&a.must, &b.must))
    }
    fn identity(&self, a: &MayMustSet) -> MayMust {
        if a.may == a.must {
            return MayMust::exact(BitMatrix::identity(&a.may));
        }
        MayMust::of(BitMatrix::identity(&a.may), BitMatrix::identity(&a.must))
    }
    fn of_term(&self, term: TermId, value: MayMust) -> MayMust {
        match self.basis.counted.certain.get(&term) {
            Some(pairs) => {
                let pairs = pairs.intersection(&value.may);
                let mut surer = MayMust { must: value.must.union(&pairs), ..value };
                surer.met.certain = surer.met.certain.map(|met| met.union(&pairs));
                surer
            }
            None => value,
        }
    }
}
