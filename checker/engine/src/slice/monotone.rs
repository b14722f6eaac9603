//! What becomes of a model's terms when an execution loses events, and where its flags can hold at all.
//!
//! Of each term: whether pairs that the execution had between events that stay may be lost, and whether pairs may come that
//! were not there. An axiom survives if what it forbids gains nothing, a finding if what it flags loses nothing.
//!
//! The same walk says of each flag between which events it can hold, from what does not depend on the execution: `loc` and
//! its kin, and products of sets. It need not be exact, only large enough. Initial writes, which a graph gets only later,
//! are one event more here, about which no flag may be.

use super::spots::Spots;
use crate::bits::{BitMatrix, EventSet};
use crate::encode::goal::is_asked;
use crate::event::{EventGraph, EventId, EventKind, MbarrierId};
use crate::relation::algebra::{Algebra, Value, evaluate};
use crate::relation::base::in_set;
use fencepost_dsl::cat::memory_model::{BaseRelation, BaseSet, MemoryModel, TermId};
use fencepost_dsl::index::Id;
use fencepost_dsl::kernel::program::Launch;
use fencepost_dsl::sorted::{SortedMap, SortedSet};
use std::cell::RefCell;

/// Events with a predecessor in a base relation that is in a base set: what has none in the slice must have none at all.
pub type Anchor = (BaseSet, BaseRelation);

/// What of a model allows to look at some threads only.
pub struct Claims {
    /// Per flag.
    pub candidates: Vec<Candidates>,
    /// What has to be there for the events that are asked about.
    pub anchors: SortedSet<Anchor>,
}

/// The pairs that a flag may hold of; of a flagged set, each event with itself.
pub struct Candidates {
    pairs: BitMatrix,
    /// Whether it holds of no event with itself, although that may be in the relation: without it, events that access the
    /// same would no longer share a row.
    is_irreflexive: bool,
}

impl Candidates {
    /// Whether it may hold of an event with itself.
    pub fn may_hold_of(&self, event: EventId) -> bool {
        !self.is_irreflexive && self.pairs.contains(event, event)
    }
    /// How many there are.
    pub fn len(&self) -> usize {
        let same = |event: EventId| self.pairs.contains(event, event);
        let ids = (0..self.pairs.universe()).map(EventId::from_index);
        let n_same = if self.is_irreflexive { ids.filter(|&event| same(event)).count() } else { 0 };
        self.pairs.len() - n_same
    }
    /// Those with an event.
    pub fn successors(&self, event: EventId) -> impl Iterator<Item = EventId> + '_ {
        let others = self.pairs.successors(event);
        others.filter(move |&other| !self.is_irreflexive || other != event)
    }
    /// All of them.
    pub fn pairs(&self) -> impl Iterator<Item = (EventId, EventId)> + '_ {
        self.pairs.pairs().filter(|(a, b)| !self.is_irreflexive || a != b)
    }
}

/// What the flags of a graph can hold of; `None` if some axiom or flag is not monotone.
pub fn claims(graph: &EventGraph, spots: &Spots, model: &MemoryModel) -> Option<Claims> {
    let flags: Vec<TermId> =
        model.flags.iter().filter(|flag| is_asked(flag, graph)).map(|flag| flag.term).collect();
    let axioms: Vec<TermId> = model.axioms.iter().map(|axiom| axiom.term).collect();
    let roots: Vec<TermId> = axioms.iter().chain(&flags).copied().collect();
    let fates = Fates::new(graph, spots);
    let values = evaluate(model, &fates, &roots);
    for axiom in axioms {
        let fate = match values.get(axiom)? {
            Value::Set(set) => set.fate,
            Value::Relation(relation) => relation.fate,
        };
        if fate.gains {
            return None;
        }
    }
    let mut candidates = Vec::new();
    for flag in flags {
        match values.get(flag)? {
            Value::Set(set) if !set.fate_of_asked.loses => {
                candidates.push(Candidates { pairs: BitMatrix::identity(&set.may), is_irreflexive: false });
            }
            Value::Relation(relation) if !relation.fate.loses => {
                let (pairs, is_irreflexive) = (relation.may.pairs(fates.n())?, relation.is_irreflexive);
                candidates.push(Candidates { pairs, is_irreflexive });
            }
            _ => return None,
        }
    }
    let initial = fates.initial();
    let concerns = |Candidates { pairs, .. }: &Candidates| {
        pairs.successors(initial).next().is_some() || pairs.range().contains(initial)
    };
    if candidates.iter().any(concerns) {
        return None;
    }
    let anchors = fates.anchors.into_inner();
    Some(Claims { candidates, anchors })
}

/// An axiom that is not monotone, whatever the launch: what it forbids may gain a pair.
///
/// What happens to a term does not depend on which events a graph has, so one without any will do.
pub fn gaining_axiom(model: &MemoryModel, launch: &Launch) -> Option<String> {
    let graph = EventGraph::empty(launch);
    let spots = Spots::new(&graph);
    let axioms: Vec<TermId> = model.axioms.iter().map(|axiom| axiom.term).collect();
    let values = evaluate(model, &Fates::new(&graph, &spots), &axioms);
    let gains = |term: TermId| match values.get(term) {
        Some(Value::Set(set)) => set.fate.gains,
        Some(Value::Relation(relation)) => relation.fate.gains,
        None => true,
    };
    model.axioms.iter().find(|axiom| gains(axiom.term)).map(|axiom| axiom.name.clone())
}

/// Whether each axiom and each flag of a graph is monotone.
pub fn are_monotone(graph: &EventGraph, model: &MemoryModel) -> bool {
    claims(graph, &Spots::new(graph), model).is_some()
}

/// What may happen to a term's value among the events that stay.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Fate {
    loses: bool,
    gains: bool,
}

impl Fate {
    const KEPT: Self = Self { loses: false, gains: false };
    const SHRINKS: Self = Self { loses: true, gains: false };

    fn and(self, other: Self) -> Self {
        Self { loses: self.loses || other.loses, gains: self.gains || other.gains }
    }
    fn without(self, other: Self) -> Self {
        self.and(other.complement())
    }
    fn complement(self) -> Self {
        Self { loses: self.gains, gains: self.loses }
    }
    fn losing(self, loses: bool) -> Self {
        Self { loses: self.loses || loses, ..self }
    }
}

#[derive(Clone, PartialEq)]
struct Set {
    fate: Fate,
    /// The same for events of the threads that are asked about, given the anchors.
    fate_of_asked: Fate,
    may: EventSet,
    /// Whether that is what it is in every execution.
    is_known: bool,
    /// If it is a base set, which.
    base: Option<BaseSet>,
}

/// Pairs that a relation may have. Most terms of a model are told by sets, which are a thousandth of the size.
#[derive(Clone, PartialEq)]
enum May {
    Anything,
    Nothing,
    Identity(EventSet),
    Product(EventSet, EventSet),
    Pairs(BitMatrix),
}

impl May {
    /// One by one; `None` is anything.
    fn pairs(&self, n: usize) -> Option<BitMatrix> {
        match self {
            Self::Anything => None,
            Self::Nothing => Some(BitMatrix::empty(n)),
            Self::Identity(set) => Some(BitMatrix::identity(set)),
            Self::Product(from, to) => Some(BitMatrix::product(from, to)),
            Self::Pairs(pairs) => Some(pairs.clone()),
        }
    }
    fn union(&self, other: &Self, n: usize) -> Self {
        match (self, other) {
            (Self::Nothing, may) | (may, Self::Nothing) => may.clone(),
            (Self::Identity(a), Self::Identity(b)) => Self::Identity(a.union(b)),
            _ => match (self.pairs(n), other.pairs(n)) {
                (Some(a), Some(b)) => Self::Pairs(a.union(&b)),
                _ => Self::Anything,
            },
        }
    }
    fn intersection(&self, other: &Self, n: usize) -> Self {
        match (self, other) {
            (Self::Nothing, _) | (_, Self::Nothing) => Self::Nothing,
            (Self::Anything, may) | (may, Self::Anything) => may.clone(),
            (Self::Identity(a), Self::Identity(b)) => Self::Identity(a.intersection(b)),
            (Self::Product(a, b), Self::Product(c, d)) => Self::Product(a.intersection(c), b.intersection(d)),
            _ => match (self.pairs(n), other.pairs(n)) {
                (Some(a), Some(b)) => Self::Pairs(a.intersection(&b)),
                _ => Self::Anything,
            },
        }
    }
    /// Without what another relation has in every execution.
    fn difference(&self, other: &Self, n: usize) -> Self {
        match (self, other) {
            (Self::Nothing, _) => Self::Nothing,
            (may, Self::Nothing) => may.clone(),
            _ => match (self.pairs(n), other.pairs(n)) {
                (Some(a), Some(b)) => Self::Pairs(a.difference(&b)),
                _ => self.clone(),
            },
        }
    }
    fn inverse(&self) -> Self {
        match self {
            Self::Product(from, to) => Self::Product(to.clone(), from.clone()),
            Self::Pairs(pairs) => Self::Pairs(pairs.inverse()),
            may => may.clone(),
        }
    }
}

#[derive(Clone, PartialEq)]
struct Relation {
    fate: Fate,
    /// Whether what comes before an event that stays does, too.
    keeps_predecessors: bool,
    /// Whether what comes after an event that stays does, too.
    keeps_successors: bool,
    may: May,
    /// Whether it relates no event to itself, whatever `may` says.
    is_irreflexive: bool,
    /// Whether `may` is what it is in every execution.
    is_known: bool,
    /// If it is the identity on a base set, which.
    identity_of: Option<BaseSet>,
    /// If it is a base relation, from a base set: both.
    anchor: Option<Anchor>,
}

impl Relation {
    fn unknown(fate: Fate) -> Self {
        Self {
            fate,
            keeps_predecessors: false,
            keeps_successors: false,
            may: May::Anything,
            is_irreflexive: false,
            is_known: false,
            identity_of: None,
            anchor: None,
        }
    }
}

struct Fates<'a> {
    graph: &'a EventGraph,
    location: BitMatrix,
    same_mbarrier: BitMatrix,
    peers: BitMatrix,
    anchors: RefCell<SortedSet<Anchor>>,
}

impl<'a> Fates<'a> {
    fn new(graph: &'a EventGraph, spots: &Spots) -> Self {
        let n = graph.events.len() + 1;
        let mut by_mbarrier: SortedMap<MbarrierId, Vec<EventId>> = SortedMap::new();
        for (id, event) in graph.events.iter_enumerated() {
            if let EventKind::Mbarrier(operation) = &event.kind {
                by_mbarrier.entry(operation.object).or_default().push(id);
            }
        }
        let mut same_mbarrier = BitMatrix::empty(n);
        for operations in by_mbarrier.into_values() {
            let operations = EventSet::from_iter(n, operations);
            same_mbarrier.fill(&operations, &operations);
        }
        let peers =
            graph.peer_accesses.iter().flat_map(|peer| [(peer.start, peer.access), (peer.access, peer.exit)]);
        let initial = EventSet::from_iter(n, [EventId::from_index(n - 1)]);
        let mut location = spots.overlaps(n);
        let accesses = location.domain().union(&initial);
        location.fill(&initial, &accesses);
        location.fill(&accesses, &initial);
        Self {
            graph,
            location,
            same_mbarrier,
            peers: BitMatrix::from_pairs(n, peers.collect()),
            anchors: RefCell::default(),
        }
    }
    /// Number of events, with the one that stands for initial writes.
    fn n(&self) -> usize {
        self.graph.events.len() + 1
    }
    fn initial(&self) -> EventId {
        EventId::from_index(self.graph.events.len())
    }
    fn range_or_domain(&self, a: &Relation, keeps: bool, anchor: Option<Anchor>) -> Set {
        let fate = a.fate.losing(!keeps);
        let mut fate_of_asked = fate;
        if let Some(anchor) = anchor.filter(|_| !a.fate.loses && !keeps) {
            self.anchors.borrow_mut().insert(anchor);
            fate_of_asked = a.fate;
        }
        Set { fate, fate_of_asked, may: EventSet::full(self.n()), is_known: false, base: None }
    }
    fn sets(a: &Set, b: &Set, may: EventSet) -> Set {
        Set {
            fate: a.fate.and(b.fate),
            fate_of_asked: a.fate_of_asked.and(b.fate_of_asked),
            may,
            is_known: a.is_known && b.is_known,
            base: None,
        }
    }
}

impl Algebra for Fates<'_> {
    type Set = Set;
    type Relation = Relation;

    fn base_set(&self, base: BaseSet) -> Set {
        use BaseSet as B;
        let somewhere = matches!(base, B::Register | B::TensorMemory | B::Multimem);
        let holds_of_initial =
            somewhere || matches!(base, B::All | B::Write | B::Memory | B::InitialWrite | B::Generic);
        let may = EventSet::from_fn(self.n(), |event| {
            if event == self.initial() {
                holds_of_initial
            } else {
                in_set(self.graph, &self.graph.events[event], base)
            }
        });
        let is_known = !somewhere;
        Set { fate: Fate::KEPT, fate_of_asked: Fate::KEPT, may, is_known, base: Some(base) }
    }
    fn set_empty(&self) -> Set {
        let may = EventSet::empty(self.n());
        Set { fate: Fate::KEPT, fate_of_asked: Fate::KEPT, may, is_known: true, base: None }
    }
    fn set_union(&self, a: &Set, b: &Set) -> Set {
        Self::sets(a, b, a.may.union(&b.may))
    }
    fn set_intersection(&self, a: &Set, b: &Set) -> Set {
        Self::sets(a, b, a.may.intersection(&b.may))
    }
    fn set_difference(&self, a: &Set, b: &Set) -> Set {
        let may = if b.is_known { a.may.difference(&b.may) } else { a.may.clone() };
        Set {
            fate: a.fate.without(b.fate),
            fate_of_asked: a.fate_of_asked.without(b.fate_of_asked),
            ..Self::sets(a, b, may)
        }
    }
    fn set_complement(&self, a: &Set) -> Set {
        let all = EventSet::full(self.n());
        let may = if a.is_known { all.difference(&a.may) } else { all };
        Set {
            fate: a.fate.complement(),
            fate_of_asked: a.fate_of_asked.complement(),
            may,
            is_known: a.is_known,
            base: None,
        }
    }
    fn domain(&self, a: &Relation) -> Set {
        self.range_or_domain(a, a.keeps_successors, None)
    }
    fn range(&self, a: &Relation) -> Set {
        self.range_or_domain(a, a.keeps_predecessors, a.anchor)
    }

    fn base_relation(&self, base: BaseRelation) -> Relation {
        use BaseRelation as B;
        let fate = match base {
            // What a value depends on is not followed through reads that are left out; homes and lives are told only where
            // something asks for them.
            B::AddressDependency
            | B::DataDependency
            | B::ControlDependency
            | B::SameHome
            | B::SameCluster
            | B::CtaLife => Fate::SHRINKS,
            _ => Fate::KEPT,
        };
        let (may, is_known) = match base {
            B::SameLocation | B::SameVirtualLocation | B::CompleteOverlap => {
                (May::Pairs(self.location.clone()), false)
            }
            B::SameMbarrier => (May::Pairs(self.same_mbarrier.clone()), true),
            B::PeerLife => (May::Pairs(self.peers.clone()), true),
            B::Identity => (May::Identity(EventSet::full(self.n())), true),
            _ => (May::Anything, false),
        };
        // A read that stays has all of its sources, and an operation the instruction that started it.
        let keeps_predecessors = matches!(base, B::ReadsFrom | B::Issue | B::Identity);
        let keeps_successors = base == B::Identity;
        let has_edges = matches!(base, B::PhaseOrder | B::Signals | B::BarrierSynchronization);
        let anchor = has_edges.then_some((BaseSet::All, base));
        Relation { keeps_predecessors, keeps_successors, may, is_known, anchor, ..Relation::unknown(fate) }
    }
    fn empty(&self) -> Relation {
        let may = May::Nothing;
        Relation {
            keeps_predecessors: true,
            keeps_successors: true,
            may,
            is_known: true,
            ..Relation::unknown(Fate::KEPT)
        }
    }
    fn union(&self, a: &Relation, b: &Relation) -> Relation {
        let may = a.may.union(&b.may, self.n());
        Relation {
            keeps_predecessors: a.keeps_predecessors && b.keeps_predecessors,
            keeps_successors: a.keeps_successors && b.keeps_successors,
            is_known: a.is_known && b.is_known && may != May::Anything,
            is_irreflexive: a.is_irreflexive && b.is_irreflexive,
            may,
            ..Relation::unknown(a.fate.and(b.fate))
        }
    }
    fn intersection(&self, a: &Relation, b: &Relation) -> Relation {
        let may = a.may.intersection(&b.may, self.n());
        Relation {
            keeps_predecessors: a.keeps_predecessors || b.keeps_predecessors,
            keeps_successors: a.keeps_successors || b.keeps_successors,
            may,
            is_irreflexive: a.is_irreflexive || b.is_irreflexive,
            is_known: a.is_known && b.is_known,
            ..Relation::unknown(a.fate.and(b.fate))
        }
    }
    fn difference(&self, a: &Relation, b: &Relation) -> Relation {
        // What is left out for being the same is left out in the end.
        let is_identity = b.is_known && b.may == May::Identity(EventSet::full(self.n()));
        let may = if b.is_known && !is_identity { a.may.difference(&b.may, self.n()) } else { a.may.clone() };
        Relation {
            keeps_predecessors: a.keeps_predecessors,
            keeps_successors: a.keeps_successors,
            may,
            is_irreflexive: a.is_irreflexive || is_identity,
            is_known: a.is_known && b.is_known && !is_identity,
            ..Relation::unknown(a.fate.without(b.fate))
        }
    }
    fn complement(&self, a: &Relation) -> Relation {
        Relation::unknown(a.fate.complement())
    }
    fn sequence(&self, a: &Relation, b: &Relation) -> Relation {
        // What is in between stays if it is kept from either side.
        let is_whole = a.keeps_successors || b.keeps_predecessors;
        let anchor = match (a.identity_of, b.anchor) {
            (Some(set), Some((BaseSet::All, base))) => Some((set, base)),
            _ => None,
        };
        Relation {
            keeps_predecessors: a.keeps_predecessors && b.keeps_predecessors,
            keeps_successors: a.keeps_successors && b.keeps_successors,
            anchor,
            ..Relation::unknown(a.fate.and(b.fate).losing(!is_whole))
        }
    }
    fn inverse(&self, a: &Relation) -> Relation {
        Relation {
            keeps_predecessors: a.keeps_successors,
            keeps_successors: a.keeps_predecessors,
            may: a.may.inverse(),
            is_irreflexive: a.is_irreflexive,
            is_known: a.is_known,
            ..Relation::unknown(a.fate)
        }
    }
    fn reflexive(&self, a: &Relation) -> Relation {
        self.union(a, &self.base_relation(BaseRelation::Identity))
    }
    fn transitive_closure(&self, a: &Relation) -> Relation {
        let is_whole = a.keeps_successors || a.keeps_predecessors;
        Relation {
            keeps_predecessors: a.keeps_predecessors,
            keeps_successors: a.keeps_successors,
            ..Relation::unknown(a.fate.losing(!is_whole))
        }
    }
    fn product(&self, a: &Set, b: &Set) -> Relation {
        Relation {
            may: May::Product(a.may.clone(), b.may.clone()),
            is_known: a.is_known && b.is_known,
            ..Relation::unknown(a.fate.and(b.fate))
        }
    }
    fn identity(&self, a: &Set) -> Relation {
        Relation {
            keeps_predecessors: true,
            keeps_successors: true,
            may: May::Identity(a.may.clone()),
            is_known: a.is_known,
            identity_of: a.base,
            ..Relation::unknown(a.fate)
        }
    }
}
