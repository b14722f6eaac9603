//! How many rounds of a loop it takes until a flag holds of a pair.
//!
//! A wait keeps the round that leaves and one try before it; all other rounds without effect are left out. So a pair that a
//! flag marks is still there if at most one of its ends and of the events on the way between them is in such a round. The
//! walk counts them: of each term, which events of tries can be at its ends, and how many more it may go through. Each try
//! stands for all rounds that are left out, so that two of its events may be of two rounds.
//!
//! What a round writes back is not counted here: that nobody notices is a need of its own
//! ([`raced_word`](super::needs::raced_word)).

use crate::bits::EventSet;
use crate::event::{EventGraph, EventId, EventKind};
use crate::relation::algebra::{Algebra, Value, evaluate};
use crate::relation::base::in_set;
use fencepost_dsl::cat::memory_model::{BaseRelation, BaseSet, MemoryModel, TermId};
use fencepost_dsl::index::Id;

/// As many as matter: one is kept.
const MANY: u8 = 2;

/// What a flag takes of rounds that are left out.
pub(super) struct Rounds {
    n_between: u8,
    n_rounds: u8,
    /// Whether a marked pair may get lost for other reasons.
    is_lost: bool,
    /// Whether the ends of a marked pair are of two threads, each of which keeps a round.
    is_apart: bool,
}

impl Rounds {
    /// Whether it may take more of them than are kept.
    pub(super) fn takes_several(&self) -> bool {
        self.is_lost || (self.n_rounds >= MANY && !(self.is_apart && self.n_between == 0))
    }
    /// Whether it may take more than one, where threads go round together.
    pub(super) fn takes_several_of_a_cta(&self) -> bool {
        self.is_lost || self.n_rounds >= MANY
    }
    /// Whether it may take one that neither end is part of.
    pub(super) fn has_try_between(&self) -> bool {
        self.is_lost || self.n_between > 0
    }
}

/// What each of some flags takes.
pub(super) fn of_flags(
    graph: &EventGraph,
    tries: &[EventId],
    model: &MemoryModel,
    flags: &[TermId],
) -> Vec<Rounds> {
    let values = evaluate(model, &Walk { graph, tries }, flags);
    let of_flag = |&flag: &TermId| match values.get(flag) {
        Some(Value::Set(set)) => Rounds {
            n_between: set.n_between,
            n_rounds: (set.n_between + u8::from(!set.members.is_empty())).min(MANY),
            is_lost: set.is_lost,
            is_apart: false,
        },
        Some(Value::Relation(relation)) => Rounds {
            n_between: relation.n_between,
            n_rounds: relation.n_rounds(),
            is_lost: relation.is_lost,
            is_apart: !relation.is_of_one_thread,
        },
        None => Rounds { n_between: MANY, n_rounds: MANY, is_lost: true, is_apart: false },
    };
    flags.iter().map(of_flag).collect()
}

#[derive(Clone, PartialEq)]
struct Set {
    /// Events of tries that may be in it.
    members: EventSet,
    /// Whether those are.
    is_known: bool,
    /// Whether it is the set of all events.
    is_all: bool,
    /// Events of tries that an event may be in it for, itself aside.
    n_between: u8,
    /// Whether an event may leave it for other reasons, and whether one may get in.
    is_lost: bool,
    is_gained: bool,
}

#[derive(Clone, PartialEq)]
struct Relation {
    /// Events of tries at the ends of its pairs.
    from: EventSet,
    to: EventSet,
    /// Whether both ends of a pair may be events of tries.
    has_both: bool,
    /// Whether they may be of one thread.
    is_of_one_thread: bool,
    /// Events of tries between the ends of a pair.
    n_between: u8,
    is_lost: bool,
    is_gained: bool,
    /// If it is an identity, and if it is a product of known sets.
    is_identity: bool,
    product: Option<(Box<Set>, Box<Set>)>,
}

impl Relation {
    fn n_rounds(&self) -> u8 {
        let is_at_end = !self.from.is_empty() || !self.to.is_empty();
        let at_ends = if self.has_both { MANY } else { u8::from(is_at_end) };
        (self.n_between + at_ends).min(MANY)
    }
    /// Whether pairs may get lost where all rounds are left out that can be.
    fn shrinks(&self) -> bool {
        self.is_lost || self.n_between > 0
    }
}

impl Set {
    fn shrinks(&self) -> bool {
        self.is_lost || self.n_between > 0
    }
}

struct Walk<'a> {
    graph: &'a EventGraph,
    tries: &'a [EventId],
}

impl Walk<'_> {
    fn where_(&self, is_in: impl Fn(EventId) -> bool) -> EventSet {
        EventSet::from_fn(self.tries.len(), |at| is_in(self.tries[at.index()]))
    }
    fn in_base(&self, base: BaseSet) -> EventSet {
        self.where_(|event| in_set(self.graph, &self.graph.events[event], base))
    }
    fn accesses(&self) -> EventSet {
        let has_place = |event: EventId| {
            let kind = &self.graph.events[event].kind;
            kind.access().is_some() || matches!(kind, EventKind::Spa(_))
        };
        self.where_(has_place)
    }
    fn all(&self) -> EventSet {
        EventSet::full(self.tries.len())
    }
    fn none(&self) -> EventSet {
        EventSet::empty(self.tries.len())
    }
    fn related(&self, from: EventSet, to: EventSet) -> Relation {
        let has_both = !from.is_empty() && !to.is_empty();
        Relation {
            from,
            to,
            has_both,
            is_of_one_thread: true,
            n_between: 0,
            is_lost: false,
            is_gained: false,
            is_identity: false,
            product: None,
        }
    }
    fn combine(a: &Relation, b: &Relation, from: EventSet, to: EventSet, has_both: bool) -> Relation {
        Relation {
            has_both: has_both && !from.is_empty() && !to.is_empty(),
            from,
            to,
            is_of_one_thread: a.is_of_one_thread || b.is_of_one_thread,
            n_between: a.n_between.max(b.n_between),
            is_lost: a.is_lost || b.is_lost,
            is_gained: a.is_gained || b.is_gained,
            is_identity: false,
            product: None,
        }
    }
    fn sets(a: &Set, b: &Set, members: EventSet) -> Set {
        Set {
            members,
            is_known: a.is_known && b.is_known,
            is_all: false,
            n_between: a.n_between.max(b.n_between),
            is_lost: a.is_lost || b.is_lost,
            is_gained: a.is_gained || b.is_gained,
        }
    }
    /// The ends of pairs on one side; an event may be one for the sake of an event on the other.
    fn ends(a: &Relation, members: &EventSet, others: &EventSet) -> Set {
        let n_between = (a.n_between + u8::from(!others.is_empty() && !a.is_identity)).min(MANY);
        let members = members.clone();
        let (is_lost, is_gained) = (a.is_lost, a.is_gained);
        Set { members, is_known: false, is_all: false, n_between, is_lost, is_gained }
    }
}

impl Algebra for Walk<'_> {
    type Set = Set;
    type Relation = Relation;

    fn base_set(&self, base: BaseSet) -> Set {
        let is_all = base == BaseSet::All;
        let members = self.in_base(base);
        Set { members, is_known: true, is_all, n_between: 0, is_lost: false, is_gained: false }
    }
    fn set_empty(&self) -> Set {
        let members = self.none();
        Set { members, is_known: true, is_all: false, n_between: 0, is_lost: false, is_gained: false }
    }
    fn set_union(&self, a: &Set, b: &Set) -> Set {
        Self::sets(a, b, a.members.union(&b.members))
    }
    fn set_intersection(&self, a: &Set, b: &Set) -> Set {
        let n_between = (a.n_between + b.n_between).min(MANY);
        Set { n_between, ..Self::sets(a, b, a.members.intersection(&b.members)) }
    }
    fn set_difference(&self, a: &Set, b: &Set) -> Set {
        let members = if b.is_known { a.members.difference(&b.members) } else { a.members.clone() };
        Set {
            n_between: a.n_between,
            is_lost: a.is_lost || b.is_gained,
            is_gained: a.is_gained || b.shrinks(),
            ..Self::sets(a, b, members)
        }
    }
    fn set_complement(&self, a: &Set) -> Set {
        let members = if a.is_known { self.all().difference(&a.members) } else { self.all() };
        let (is_lost, is_gained) = (a.is_gained, a.shrinks());
        Set { members, is_known: a.is_known, is_all: false, n_between: 0, is_lost, is_gained }
    }
    fn domain(&self, a: &Relation) -> Set {
        Self::ends(a, &a.from, &a.to)
    }
    fn range(&self, a: &Relation) -> Set {
        Self::ends(a, &a.to, &a.from)
    }

    fn base_relation(&self, base: BaseRelation) -> Relation {
        use BaseRelation as B;
        let reads = || self.in_base(BaseSet::Read);
        let (from, to) = match base {
            B::Identity => {
                let everything = self.related(self.all(), self.all());
                return Relation { has_both: false, is_identity: true, ..everything };
            }
            B::ReadsFrom => (self.none(), reads()),
            B::Coherence => (self.none(), self.none()),
            B::FromReads | B::ReadModifyWrite => (reads(), self.none()),
            B::SameLocation | B::SameVirtualLocation | B::CompleteOverlap => {
                (self.accesses(), self.accesses())
            }
            B::AddressDependency | B::DataDependency | B::ControlDependency | B::StoreControlDependency => {
                (reads(), self.all())
            }
            B::BarrierSynchronization => {
                (self.in_base(BaseSet::BarrierArrive), self.in_base(BaseSet::BarrierWait))
            }
            B::Signals => (self.in_base(BaseSet::Signal), self.in_base(BaseSet::Observe)),
            B::Issue => (self.in_base(BaseSet::Issue), self.none()),
            _ => (self.all(), self.all()),
        };
        Relation { is_of_one_thread: base != B::External, ..self.related(from, to) }
    }
    fn empty(&self) -> Relation {
        self.related(self.none(), self.none())
    }
    fn union(&self, a: &Relation, b: &Relation) -> Relation {
        Self::combine(a, b, a.from.union(&b.from), a.to.union(&b.to), a.has_both || b.has_both)
    }
    fn intersection(&self, a: &Relation, b: &Relation) -> Relation {
        let (from, to) = (a.from.intersection(&b.from), a.to.intersection(&b.to));
        Relation {
            is_of_one_thread: a.is_of_one_thread && b.is_of_one_thread,
            n_between: (a.n_between + b.n_between).min(MANY),
            is_identity: a.is_identity || b.is_identity,
            ..Self::combine(a, b, from, to, a.has_both && b.has_both)
        }
    }
    fn difference(&self, a: &Relation, b: &Relation) -> Relation {
        let (mut from, mut to) = (a.from.clone(), a.to.clone());
        if let Some((first, second)) = &b.product {
            if first.is_all {
                to = to.difference(&second.members);
            }
            if second.is_all {
                from = from.difference(&first.members);
            }
        }
        Relation {
            is_of_one_thread: a.is_of_one_thread,
            n_between: a.n_between,
            is_lost: a.is_lost || b.is_gained,
            is_gained: a.is_gained || b.shrinks(),
            is_identity: a.is_identity,
            ..Self::combine(a, b, from, to, a.has_both)
        }
    }
    fn complement(&self, a: &Relation) -> Relation {
        Relation { is_lost: a.is_gained, is_gained: a.shrinks(), ..self.related(self.all(), self.all()) }
    }
    fn sequence(&self, a: &Relation, b: &Relation) -> Relation {
        let middle = a.to.intersection(&b.from);
        let (mut from, mut to) = (a.from.clone(), b.to.clone());
        if a.is_identity {
            from = middle.clone();
        }
        if b.is_identity {
            to = middle.clone();
        }
        let is_between = !middle.is_empty() && !a.is_identity && !b.is_identity;
        let has_both = match (a.is_identity, b.is_identity) {
            (true, _) => b.has_both,
            (_, true) => a.has_both,
            _ => true,
        };
        Relation {
            is_of_one_thread: match (a.is_identity, b.is_identity) {
                (true, _) => b.is_of_one_thread,
                (_, true) => a.is_of_one_thread,
                _ => true,
            },
            n_between: (a.n_between + b.n_between + u8::from(is_between)).min(MANY),
            is_identity: a.is_identity && b.is_identity,
            ..Self::combine(a, b, from, to, has_both)
        }
    }
    fn inverse(&self, a: &Relation) -> Relation {
        Relation { from: a.to.clone(), to: a.from.clone(), product: None, ..a.clone() }
    }
    fn reflexive(&self, a: &Relation) -> Relation {
        self.union(a, &self.base_relation(BaseRelation::Identity))
    }
    fn transitive_closure(&self, a: &Relation) -> Relation {
        let goes_through = a.n_between > 0 || !a.to.intersection(&a.from).is_empty();
        let n_between = if goes_through && !a.is_identity { MANY } else { 0 };
        let has_both = !a.from.is_empty() && !a.to.is_empty();
        Relation { n_between, has_both, is_of_one_thread: true, product: None, ..a.clone() }
    }
    fn product(&self, a: &Set, b: &Set) -> Relation {
        let is_known = a.is_known && b.is_known;
        Relation {
            n_between: (a.n_between + b.n_between).min(MANY),
            is_lost: a.is_lost || b.is_lost,
            is_gained: a.is_gained || b.is_gained,
            product: is_known.then(|| (Box::new(a.clone()), Box::new(b.clone()))),
            ..self.related(a.members.clone(), b.members.clone())
        }
    }
    fn identity(&self, a: &Set) -> Relation {
        Relation {
            // One event is of one round.
            has_both: false,
            n_between: a.n_between,
            is_lost: a.is_lost,
            is_gained: a.is_gained,
            is_identity: true,
            ..self.related(a.members.clone(), a.members.clone())
        }
    }
}
