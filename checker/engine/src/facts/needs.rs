//! What arguments need of the model and of a launch, each as a function that says where it does not hold.

pub use super::shipped::{foreign_reads, out_of_barrier_order, out_of_phase_order};

use super::rounds::{self, Rounds};
use crate::encode::goal::is_asked;
use crate::event::support::SpinSupport;
use crate::event::{EventGraph, EventId, EventKind};
use crate::findings;
use crate::relation::RelationTable;
use crate::relation::algebra::Value;
use crate::relation::base::in_set;
use crate::verdict::Property;
use fencepost_dsl::cat::memory_model::{
    AxiomKind, BaseRelation, BaseSet, MemoryModel, RelationKind, TermId, TermKind,
};
use fencepost_dsl::kernel::program::Launch;
use std::fmt;

/// What an argument may need.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Need {
    /// What is left of an execution without some of its events satisfies the axioms, too, if each read keeps its sources:
    /// no axiom forbids a pair that was not there before. By [`not_monotone`].
    Monotone,
    /// What a flag marks does not get lost when threads are left out. By `slice::monotone`.
    MonotoneFlags,
    /// What a flag marks is there with one round of each loop that leaves, and one more. By [`several_rounds`].
    OneRound,
    /// What a flag marks is there without any try, but for one at an end of it. By [`try_between`].
    NoTryBetween,
    /// Values do not justify each other in a circle: an axiom makes a union with `rf` and `data` acyclic. By
    /// [`no_thin_air`].
    NoThinAir,
    /// A word that a round writes back is not raced for, and has one name in each thread's rounds. By [`raced_word`].
    NoRace,
    /// Who reads from an update that changes nothing might as well have read from its source, as under the models that come
    /// along. By [`foreign_reads`].
    ReadsThroughUpdates,
    /// The writes of a word are in one order, in which read-modify-writes leave no gap. By `relation::counting`.
    TotalCoherence,
    /// An access is of one memory cell, so that it has one source, and a value that somebody has written. Asked of each access
    /// that is argued about, by `Cells::n_pieces`, where bounds are made (`relation::base`) and words that count are looked for
    /// (`relation::counting`); an access of several cells is left alone there, and nothing is off as a whole.
    OneCell,
    /// The graph, its sets and relations, and all that is asked stay the same if units change places. Asked of each two of
    /// them, by `relation::symmetry::invariant`.
    Alike,
    /// The operations on an mbarrier are in one order, that of its phases, with causality in it (MB-20). By
    /// [`out_of_phase_order`].
    PhasesInOrder,
    /// Barriers order what their threads do, a read sees nothing that is overwritten before it, and no store is there because
    /// of itself, as under PTX's models that come along. By [`out_of_barrier_order`].
    ReadsInBarrierOrder,
    /// Nobody has tensor memory. By [`has_tensor_memory`].
    NoTensorMemory,
    /// The model is one of those that come along, so that its variants are about what they are about there. By
    /// `Model::comes_along`.
    ShippedModel,
}

impl Need {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Monotone => "monotone axioms",
            Self::MonotoneFlags => "monotone flags",
            Self::OneRound => "one round",
            Self::NoTryBetween => "no try between",
            Self::NoThinAir => "no thin air",
            Self::NoRace => "no race for the word",
            Self::ReadsThroughUpdates => "reads through updates",
            Self::TotalCoherence => "one order of writes",
            Self::OneCell => "one cell",
            Self::Alike => "alike",
            Self::PhasesInOrder => "phases in order",
            Self::NoTensorMemory => "no tensor memory",
            Self::ReadsInBarrierOrder => "reads in barrier order",
            Self::ShippedModel => "a model that comes along",
        }
    }
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An axiom that may forbid more of an execution from which events were left out.
pub fn not_monotone(model: &MemoryModel, launch: &Launch) -> Option<String> {
    crate::slice::gaining_axiom(model, launch)
}

/// Whether some axiom is the acyclicity of a union with `rf` and `data` in it.
pub fn no_thin_air(model: &MemoryModel) -> bool {
    fn has(model: &MemoryModel, term: TermId, base: BaseRelation) -> bool {
        match &model.terms[term].kind {
            TermKind::Relation(RelationKind::Base(own)) => *own == base,
            TermKind::Relation(RelationKind::Union(a, b)) => has(model, *a, base) || has(model, *b, base),
            _ => false,
        }
    }
    model.axioms.iter().any(|axiom| {
        axiom.kind == AxiomKind::Acyclic
            && has(model, axiom.term, BaseRelation::ReadsFrom)
            && has(model, axiom.term, BaseRelation::DataDependency)
    })
}

/// A flag of one of some properties that may take more rounds of a loop than waits keep.
pub fn several_rounds(graph: &EventGraph, model: &MemoryModel, properties: &[Property]) -> Option<String> {
    flag_of_tries(graph, model, properties, tries(graph), Rounds::takes_several)
}

/// A flag of one of some properties that may take more than the one round that a CTA keeps of those without effect.
pub fn several_rounds_of_ctas(
    graph: &EventGraph,
    model: &MemoryModel,
    properties: &[Property],
) -> Option<String> {
    flag_of_tries(graph, model, properties, graph.cta_rounds.clone(), Rounds::takes_several_of_a_cta)
}

/// A flag of one of some properties that may hold of a pair for the sake of a try between its ends.
pub fn try_between(graph: &EventGraph, model: &MemoryModel, properties: &[Property]) -> Option<String> {
    flag_of_tries(graph, model, properties, tries(graph), Rounds::has_try_between)
}

fn flag_of_tries(
    graph: &EventGraph,
    model: &MemoryModel,
    properties: &[Property],
    tries: Vec<EventId>,
    fails: fn(&Rounds) -> bool,
) -> Option<String> {
    if tries.is_empty() {
        return None;
    }
    let is_wanted = |name: &str| properties.contains(&findings::flag(name).property());
    let flags = model.flags.iter().filter(|flag| is_asked(flag, graph) && is_wanted(&flag.name));
    let flags: Vec<_> = flags.collect();
    let terms: Vec<TermId> = flags.iter().map(|flag| flag.term).collect();
    let of_flags = rounds::of_flags(graph, &tries, model, &terms);
    flags.iter().zip(of_flags).find(|(_, rounds)| fails(rounds)).map(|(flag, _)| flag.name.clone())
}

/// A write of a round that writes back what it has read, of whose word the bounds do not show that nobody races for it.
///
/// Through a second mapping a thread's own rounds could race with each other, of which bounds say nothing: there is one try.
pub fn raced_word(graph: &EventGraph, model: &MemoryModel, table: &RelationTable) -> Option<EventId> {
    if graph.writing_tries.is_empty() {
        return None;
    }
    let mut supports = SpinSupport::default();
    let is_try: Vec<bool> = graph.events.ids().map(|event| supports.is_of_try(graph, event)).collect();
    let of_races = |name: &str| findings::flag(name).property() == Property::Race;
    let races: Vec<_> = model
        .flags
        .iter()
        .filter(|flag| is_asked(flag, graph) && of_races(&flag.name))
        .filter_map(|flag| match table.values.get(flag.term) {
            Some(Value::Relation(relation)) => Some(&relation.may),
            _ => None,
        })
        .collect();
    let location = table.basis.bounds(BaseRelation::SameLocation);
    let mapping = table.basis.bounds(BaseRelation::SameVirtualLocation);
    let is_fine = |write: EventId, other: EventId| {
        if matches!(graph.events[other].kind, EventKind::Init(_)) {
            return true;
        }
        let is_raced = races.iter().any(|may| may.contains(write, other) || may.contains(other, write));
        let is_own = graph.events[other].agent == graph.events[write].agent;
        let is_of_try = is_try[fencepost_dsl::index::Id::index(other)];
        !races.is_empty() && !is_raced && (!is_own || !is_of_try || mapping.must.contains(write, other))
    };
    let writes = graph.events.iter_enumerated().filter(|(id, event)| {
        matches!(event.kind, EventKind::Write(_)) && is_try[fencepost_dsl::index::Id::index(*id)]
    });
    let mut writes = writes.map(|(id, _)| id);
    writes.find(|&write| location.may.successors(write).any(|other| !is_fine(write, other)))
}

/// Whether somebody allocates tensor memory or accesses it.
pub fn has_tensor_memory(graph: &EventGraph) -> bool {
    let is_about =
        |event| in_set(graph, event, BaseSet::TensorMemory) || in_set(graph, event, BaseSet::TensorAllocate);
    graph.events.iter().any(is_about)
}

/// The events of tries of waits, but for what they write back.
fn tries(graph: &EventGraph) -> Vec<EventId> {
    let mut supports = SpinSupport::default();
    let is_write = |event: EventId| matches!(graph.events[event].kind, EventKind::Write(_));
    graph.events.ids().filter(|&event| !is_write(event) && supports.is_of_try(graph, event)).collect()
}
