//! A found execution, evaluated again without bounds, literals or solver: terms on concrete values, relations from
//! concrete addresses, the model file on booleans.

use super::{Execution, Witness, turns};
use crate::bits::{BitMatrix, EventSet, RowWriter};
use crate::encode::goal::{GoalKind, is_asked};
use crate::event::cell::Cells;
use crate::event::{Access, Edges, EventGraph, EventId, EventKind, LocationId, TermRef, UnknownKind};
use crate::findings::{self, FlagKind};
use crate::relation::algebra::{Value, Values, evaluate_only};
use crate::relation::base;
use crate::relation::dependency::dependencies;
use crate::relation::execution::ExactBasis;
use fencepost_dsl::IndexVec;
use fencepost_dsl::cat::memory_model::{AxiomKind, BaseRelation, BaseSet, Flag, MemoryModel, TermId};
use fencepost_dsl::kernel::program::FinalKind;
use fencepost_dsl::sorted::SortedMap;
use std::cell::OnceCell;

/// What does not hold of a decoded execution. A bug of ours.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct Disagreement(pub String);

fn ensure(holds: bool, message: impl FnOnce() -> String) -> Result<(), Disagreement> {
    if holds { Ok(()) } else { Err(Disagreement(message())) }
}

/// Re-evaluates an execution and what is claimed of it.
///
/// # Errors
/// If the execution is no execution of the graph, is not allowed by the model, or does not do what is claimed.
pub fn recheck(
    graph: &EventGraph,
    cells: &Cells,
    model: &MemoryModel,
    execution: Execution,
    claim: GoalKind,
) -> Result<Witness, Disagreement> {
    let asked = Asked { flags: family(model, &claim), refinements: Vec::new() };
    Allowed::new(graph, cells, model, execution, asked)?.witness(graph, model, claim)
}

/// Terms of flags that an execution may be asked for.
#[derive(Default)]
pub struct Asked {
    /// Of those that are looked for.
    pub flags: Vec<TermId>,
    /// Of what says more of a pair once it is found; they cost as much each, and most executions have none.
    pub refinements: Vec<TermId>,
}

impl Asked {
    /// Of everything that is looked for in a launch.
    pub fn of(model: &MemoryModel, graph: &EventGraph) -> Self {
        let (flags, refinements): (Vec<_>, Vec<_>) =
            model.flags.iter().partition(|flag| is_asked(flag, graph));
        let terms = |flags: Vec<&Flag>| flags.iter().map(|flag| flag.term).collect();
        Self { flags: terms(flags), refinements: terms(refinements) }
    }
}

/// An execution of a graph that a model allows, whatever it does wrong.
pub struct Allowed {
    execution: Execution,
    values: IndexVec<TermRef, u128>,
    basis: ExactBasis,
    asked: Asked,
    /// What is asked for, once it is.
    flags: OnceCell<Values<EventSet, BitMatrix>>,
    refinements: OnceCell<Values<EventSet, BitMatrix>>,
}

impl Allowed {
    /// Re-evaluates an execution, of which some flags may be asked.
    ///
    /// # Errors
    /// If it is none of the graph, or not allowed by the model.
    pub fn new(
        graph: &EventGraph,
        cells: &Cells,
        model: &MemoryModel,
        execution: Execution,
        asked: Asked,
    ) -> Result<Self, Disagreement> {
        let values = evaluate_terms(graph, &execution);
        check_values(graph, &execution, &values)?;
        check_reads(graph, cells, &execution, &values)?;
        check_orders(graph, &execution)?;
        check_final_values(graph, cells, &execution, &values)?;
        check_last_reads(graph, cells, &execution, &values)?;
        let basis = exact_basis(graph, cells, &execution, &values);
        check_fence_order(&basis)?;
        let flags = OnceCell::new();
        // Flags are made of what axioms are made of.
        if let Some(mut found) = check_axioms(model, &basis, execution.turns.as_ref(), &asked.flags)? {
            found.keep(&asked.flags);
            let _ = flags.set(found);
        }
        Ok(Self { execution, values, basis, asked, flags, refinements: OnceCell::new() })
    }

    /// Which refinements of a flag hold of the pair of which it is claimed.
    ///
    /// # Errors
    /// If the execution does not do what is claimed.
    pub fn claims(
        &self,
        graph: &EventGraph,
        model: &MemoryModel,
        claim: &GoalKind,
    ) -> Result<Vec<&'static FlagKind>, Disagreement> {
        let has_pair = |term: TermId, pair: (EventId, EventId)| self.has_pair(model, term, pair);
        check_claim(graph, model, &has_pair, &self.values, claim)
    }

    /// The execution, with what is claimed of it.
    ///
    /// # Errors
    /// If it does not do that.
    pub fn witness(
        self,
        graph: &EventGraph,
        model: &MemoryModel,
        claim: GoalKind,
    ) -> Result<Witness, Disagreement> {
        let refinements = self.claims(graph, model, &claim)?;
        let Self { execution, values, basis, .. } = self;
        Ok(Witness { execution, values, basis, claim, refinements })
    }

    /// The execution, of which only its end is claimed, or nothing: whoever asks has looked.
    pub(crate) fn into_witness(self, claim: GoalKind) -> Witness {
        let Self { execution, values, basis, .. } = self;
        Witness { execution, values, basis, claim, refinements: Vec::new() }
    }

    /// The same where more is asked afterwards.
    ///
    /// # Errors
    /// As [`Self::witness`].
    pub fn shows(
        &self,
        graph: &EventGraph,
        model: &MemoryModel,
        claim: &GoalKind,
    ) -> Result<Witness, Disagreement> {
        let refinements = self.claims(graph, model, claim)?;
        let (execution, values, basis) = (self.execution.clone(), self.values.clone(), self.basis.clone());
        Ok(Witness { execution, values, basis, claim: claim.clone(), refinements })
    }

    /// The pairs of which a flag holds in it, in order.
    pub fn flagged(&self, model: &MemoryModel, flag: usize) -> Vec<(EventId, EventId)> {
        match self.flags(model).get(model.flags[flag].term) {
            Some(Value::Relation(relation)) => relation.pairs().collect(),
            Some(Value::Set(set)) => set.iter().map(|event| (event, event)).collect(),
            None => Vec::new(),
        }
    }

    /// What it may do wrong: the pairs of flags that are looked for, and whatever the graph asks for.
    pub fn may_do(&self, graph: &EventGraph, model: &MemoryModel) -> Vec<GoalKind> {
        let flags = (0..model.flags.len()).filter(|&flag| is_asked(&model.flags[flag], graph));
        let flagged = flags.flat_map(|flag| {
            let pairs = self.flagged(model, flag).into_iter();
            pairs.map(move |pair| GoalKind::Flag { flag, pair })
        });
        let finals = graph.finals.iter().enumerate();
        let finals =
            finals.filter(|(_, own)| own.kind == FinalKind::Assert).map(|(at, _)| GoalKind::Final(at));
        let obligations = (0..graph.obligations.len()).map(GoalKind::Obligation);
        obligations.chain(flagged).chain(finals).chain([GoalKind::Deadlock]).collect()
    }

    fn flags(&self, model: &MemoryModel) -> &Values<EventSet, BitMatrix> {
        self.flags.get_or_init(|| evaluate_only(model, &self.basis, &self.asked.flags))
    }

    /// Whether a pair is in a flag, or in what says more of one.
    fn has_pair(&self, model: &MemoryModel, term: TermId, pair: (EventId, EventId)) -> bool {
        let flags = self.flags(model);
        if flags.get(term).is_some() {
            return has_pair(flags, term, pair);
        }
        let all = || evaluate_only(model, &self.basis, &self.asked.refinements);
        has_pair(self.refinements.get_or_init(all), term, pair)
    }

    /// The execution.
    pub fn execution(&self) -> &Execution {
        &self.execution
    }

    /// The value of a term in it.
    pub fn value(&self, term: TermRef) -> u128 {
        self.values[term]
    }
}

/// Terms of a flag, and of its refinements.
fn family(model: &MemoryModel, claim: &GoalKind) -> Vec<TermId> {
    let GoalKind::Flag { flag, .. } = claim else { return Vec::new() };
    let own = &model.flags[*flag];
    let refinements = model.flags.iter().filter(|other| findings::refines(&other.name, &own.name));
    refinements.map(|flag| flag.term).chain([own.term]).collect()
}

/// The value of every term; operands precede their users.
pub fn evaluate_terms(graph: &EventGraph, execution: &Execution) -> IndexVec<TermRef, u128> {
    let terms = &graph.terms;
    let mut values: IndexVec<TermRef, u128> = IndexVec::new();
    for term in (0..terms.n_terms()).map(<TermRef as fencepost_dsl::index::Id>::from_index) {
        let operands: Vec<u128> = terms.operands(term).into_iter().map(|operand| values[operand]).collect();
        values.push(terms.apply(term, &operands, |unknown| execution.unknowns[unknown]));
    }
    values
}

fn check_values(
    graph: &EventGraph,
    execution: &Execution,
    values: &IndexVec<TermRef, u128>,
) -> Result<(), Disagreement> {
    for (id, event) in graph.events.iter_enumerated() {
        ensure((values[event.guard] == 1) == execution.executed.contains(id), || {
            format!("guard and execution of event {id:?} differ")
        })?;
    }
    for constraint in &graph.constraints {
        ensure(values[constraint.term] == 1, || format!("constraint {:?} does not hold", constraint.term))?;
    }
    for (name, unknown) in &graph.parameters {
        let (value, range) = (execution.unknowns[*unknown], graph.terms.unknown(*unknown));
        ensure((range.min..=range.max).contains(&value), || format!("parameter {name} is out of range"))?;
    }
    Ok(())
}

fn access(graph: &EventGraph, event: EventId) -> Option<&Access> {
    graph.events[event].kind.access()
}

/// First byte of an access.
fn start(access: &Access, values: &IndexVec<TermRef, u128>) -> u128 {
    values[access.offset]
}

fn check_reads(
    graph: &EventGraph,
    cells: &Cells,
    execution: &Execution,
    values: &IndexVec<TermRef, u128>,
) -> Result<(), Disagreement> {
    for (read, event) in graph.events.iter_enumerated() {
        let EventKind::Read(access) = &event.kind else { continue };
        if !execution.executed.contains(read) {
            continue;
        }
        let grain = u128::from(cells.grain_bytes[access.location]);
        let pieces = execution.sources.get(&read).map_or(&[][..], Vec::as_slice);
        ensure(pieces.len() == cells.n_pieces(access) as usize, || format!("read {read:?} lacks a source"))?;
        for (piece, &(write, from)) in (0u128..).zip(pieces) {
            let written = match &graph.events[write].kind {
                EventKind::Write(written) | EventKind::Init(written) => written,
                _ => return Err(Disagreement(format!("read {read:?} takes its value from no write"))),
            };
            let from = u128::from(from);
            let same_bytes = written.location == access.location
                && start(access, values) + piece * grain == start(written, values) + from * grain;
            ensure(same_bytes && execution.executed.contains(write), || {
                format!("read {read:?} takes a value from other bytes or from a write that does not happen")
            })?;
            let slice = |value: u128, piece: u128| {
                value >> (piece * grain * 8) & crate::event::term::mask(bits(grain))
            };
            ensure(slice(values[access.value], piece) == slice(values[written.value], from), || {
                format!("read {read:?} and write {write:?} differ in value")
            })?;
        }
    }
    Ok(())
}

fn bits(bytes: u128) -> u8 {
    u8::try_from(bytes * 8).unwrap_or(128)
}

fn check_orders(graph: &EventGraph, execution: &Execution) -> Result<(), Disagreement> {
    let is_write =
        |event: EventId| matches!(graph.events[event].kind, EventKind::Write(_) | EventKind::Init(_));
    for (a, b) in execution.coherence.pairs() {
        let both = execution.executed.contains(a) && execution.executed.contains(b);
        ensure(both && is_write(a) && is_write(b), || format!("coherence relates {a:?} and {b:?}"))?;
    }
    ensure(execution.coherence.transitive_closure().reflexive_event().is_none(), || {
        "coherence has a cycle".into()
    })?;
    for (a, b) in execution.fence_order.pairs() {
        let both = execution.executed.contains(a) && execution.executed.contains(b);
        ensure(both, || format!("Fence-SC order relates {a:?} and {b:?}"))?;
    }
    ensure(execution.fence_order.transitive_closure().reflexive_event().is_none(), || {
        "Fence-SC order has a cycle".into()
    })?;
    Ok(())
}

fn check_final_values(
    graph: &EventGraph,
    cells: &Cells,
    execution: &Execution,
    values: &IndexVec<TermRef, u128>,
) -> Result<(), Disagreement> {
    // Memory ends with one value per byte, through whichever view it is looked at.
    let mut ends: SortedMap<(LocationId, u128), u128> = SortedMap::new();
    for (id, unknown) in graph.terms.unknowns().iter_enumerated() {
        let UnknownKind::FinalValue { location, offset_bytes, width_bytes } = unknown.kind else { continue };
        let grain = cells.grain_bytes[location];
        for piece in 0..width_bytes / grain {
            let byte = u128::from(offset_bytes + piece * grain);
            let mask = crate::event::term::mask(bits(u128::from(grain)));
            let expected = execution.unknowns[id] >> (piece * grain * 8) & mask;
            let end = *ends.entry((location, byte)).or_insert(expected);
            ensure(end == expected, || {
                format!("final value of unknown {id:?} differs from that of another view")
            })?;
            let covers = |event: EventId| {
                execution.executed.contains(event) && covers(graph, event, location, byte, values)
            };
            let last = graph.events.ids().any(|write| {
                covers(write)
                    && !graph
                        .events
                        .ids()
                        .any(|later| covers(later) && execution.coherence.contains(write, later))
                    && access(graph, write).is_some_and(|access| {
                        values[access.value] >> ((byte - start(access, values)) * 8) & mask == expected
                    })
            });
            ensure(last, || format!("final value of unknown {id:?} is of no last write"))?;
        }
    }
    Ok(())
}

/// Checks that reads are of last writes where that is claimed.
fn check_last_reads(
    graph: &EventGraph,
    cells: &Cells,
    execution: &Execution,
    values: &IndexVec<TermRef, u128>,
) -> Result<(), Disagreement> {
    for (id, unknown) in graph.terms.unknowns().iter_enumerated() {
        let Some((read, counts)) = base::last_writes(graph, &unknown.kind) else { continue };
        let (Some(access), 1) = (access(graph, read), execution.unknowns[id]) else { continue };
        let grain = u128::from(cells.grain_bytes[access.location]);
        let pieces = execution.sources.get(&read).map_or(&[][..], Vec::as_slice);
        for (piece, &(source, _)) in (0u128..).zip(pieces) {
            let byte = start(access, values) + piece * grain;
            let is_later = |later: EventId| {
                counts(later)
                    && execution.executed.contains(later)
                    && covers(graph, later, access.location, byte, values)
            };
            ensure(!execution.coherence.successors(source).any(is_later), || {
                format!("read {read:?} is not of a last write")
            })?;
        }
    }
    Ok(())
}

/// Whether an event writes a byte.
fn covers(
    graph: &EventGraph,
    event: EventId,
    location: LocationId,
    byte: u128,
    values: &IndexVec<TermRef, u128>,
) -> bool {
    matches!(graph.events[event].kind, EventKind::Write(_) | EventKind::Init(_))
        && access(graph, event).is_some_and(|access| {
            let first = start(access, values);
            access.location == location && (first..first + u128::from(access.width_bytes)).contains(&byte)
        })
}

/// Base sets and relations from concrete addresses and values.
fn exact_basis(
    graph: &EventGraph,
    cells: &Cells,
    execution: &Execution,
    values: &IndexVec<TermRef, u128>,
) -> ExactBasis {
    let n = graph.events.len();
    let executed = &execution.executed;
    let both = BitMatrix::product(executed, executed);
    let is_all = *executed == EventSet::full(n);
    let happening = |pairs: BitMatrix| if is_all { pairs } else { pairs.intersection(&both) };
    let mut relations: SortedMap<BaseRelation, BitMatrix> =
        BaseRelation::ALL.iter().map(|&(base, _)| (base, BitMatrix::empty(n))).collect();
    let places = base::place_pairs(graph).into_iter().chain(base::life_pairs(graph));
    for (base, matrix) in places.chain(dependencies(graph)) {
        relations.insert(base, happening(matrix));
    }
    relations.extend(overlaps(graph, executed, values));
    for base in Edges::relations() {
        let holds = base::edge_pairs(graph, base, |condition| values[condition] == 1);
        relations.insert(base, happening(holds));
    }
    for (base, pairs) in [
        (BaseRelation::ReadModifyWrite, BitMatrix::from_pairs(n, graph.rmw.clone())),
        (BaseRelation::Coherence, execution.coherence.clone()),
        (BaseRelation::FenceSc, execution.fence_order.clone()),
    ] {
        relations.insert(base, happening(pairs));
    }
    let mut insert = |base: BaseRelation, a: EventId, b: EventId| {
        if let Some(matrix) = relations.get_mut(&base)
            && executed.contains(a)
            && executed.contains(b)
        {
            matrix.insert(a, b);
        }
    };
    for (&read, pieces) in &execution.sources {
        let Some(reading) = access(graph, read) else { continue };
        let grain = u128::from(cells.grain_bytes[reading.location]);
        for (piece, &(source, _)) in (0u128..).zip(pieces) {
            insert(BaseRelation::ReadsFrom, source, read);
            let byte = start(reading, values) + piece * grain;
            for later in execution.coherence.successors(source) {
                let covers = access(graph, later).is_some_and(|written| {
                    let first = start(written, values);
                    written.location == reading.location
                        && (first..first + u128::from(written.width_bytes)).contains(&byte)
                });
                if covers {
                    insert(BaseRelation::FromReads, read, later);
                }
            }
        }
    }
    let sets = BaseSet::ALL
        .iter()
        .map(|&(base, _)| {
            let set = EventSet::from_fn(n, |event| {
                executed.contains(event) && base::in_set(graph, &graph.events[event], base)
            });
            (base, set)
        })
        .collect();
    ExactBasis { executed: executed.clone(), sets, relations }
}

/// Which executed accesses have common bytes.
fn overlaps(
    graph: &EventGraph,
    executed: &EventSet,
    values: &IndexVec<TermRef, u128>,
) -> Vec<(BaseRelation, BitMatrix)> {
    let bytes = |access: &Access| {
        let first = start(access, values);
        (first, first + u128::from(access.width_bytes))
    };
    // Two accesses with a common byte have bytes in the same 16.
    let blocks = |access: &Access| {
        let (first, end) = bytes(access);
        let location = access.location;
        (first / 16..=(end - 1) / 16).map(move |block| (location, block))
    };
    let mut near: SortedMap<(LocationId, u128), Vec<(EventId, &Access)>> = SortedMap::new();
    for event in executed.iter() {
        let Some(access) = access(graph, event) else { continue };
        for block in blocks(access) {
            near.entry(block).or_default().push((event, access));
        }
    }
    let bases =
        [BaseRelation::SameLocation, BaseRelation::SameVirtualLocation, BaseRelation::CompleteOverlap];
    let mut rows = bases.map(|_| RowWriter::new(graph.events.len()));
    for a in executed.iter() {
        let Some(first) = access(graph, a) else { continue };
        let (x, x_end) = bytes(first);
        for &(b, second) in blocks(first).flat_map(|block| &near[&block]) {
            let (y, y_end) = bytes(second);
            let meets = x < y_end && y < x_end;
            let kinds = [meets, meets && first.mapping == second.mapping, (x, x_end) == (y, y_end)];
            for (row, holds) in rows.iter_mut().zip(kinds) {
                if holds {
                    row.insert(b);
                }
            }
        }
        for row in &mut rows {
            row.end(a);
        }
    }
    bases.into_iter().zip(rows.map(RowWriter::finish)).collect()
}

/// The Fence-SC order relates every two `fence.sc` in each other's scope (MM-32).
fn check_fence_order(basis: &ExactBasis) -> Result<(), Disagreement> {
    let fences = basis.sets[&BaseSet::Fence].intersection(&basis.sets[&BaseSet::SequentiallyConsistent]);
    let (order, mutual) =
        (&basis.relations[&BaseRelation::FenceSc], &basis.relations[&BaseRelation::SameScope]);
    for a in fences.iter() {
        for b in mutual.successors_in(a, &fences) {
            ensure(a == b || order.contains(a, b) || order.contains(b, a), || {
                format!("Fence-SC order does not relate {a:?} and {b:?}")
            })?;
        }
    }
    Ok(())
}

/// Whether a model allows an execution.
pub fn is_execution(model: &MemoryModel, basis: &ExactBasis) -> bool {
    check_axioms(model, basis, None, &[]).is_ok()
}

/// Checks the axioms; where that takes their terms, those that may be asked for are evaluated besides.
fn check_axioms(
    model: &MemoryModel,
    basis: &ExactBasis,
    turns: Option<&IndexVec<EventId, u32>>,
    besides: &[TermId],
) -> Result<Option<Values<EventSet, BitMatrix>>, Disagreement> {
    let settled = turns.and_then(|turns| turns::settled(model, basis, turns));
    let settled = settled.unwrap_or_else(|| vec![false; model.axioms.len()]);
    let open = model.axioms.iter().zip(settled).filter(|(_, is_settled)| !is_settled);
    let open: Vec<_> = open.map(|(axiom, _)| axiom).collect();
    if open.is_empty() {
        return Ok(None);
    }
    let roots: Vec<TermId> = open.iter().map(|axiom| axiom.term).chain(besides.iter().copied()).collect();
    let values = evaluate_only(model, basis, &roots);
    for axiom in open {
        let holds = match (axiom.kind, values.get(axiom.term)) {
            (AxiomKind::Empty, Some(Value::Relation(relation))) => relation.is_empty(),
            (AxiomKind::Empty, Some(Value::Set(set))) => set.is_empty(),
            (AxiomKind::Irreflexive, Some(Value::Relation(relation))) => relation.reflexive_event().is_none(),
            (AxiomKind::Acyclic, Some(Value::Relation(relation))) => {
                relation.transitive_closure().reflexive_event().is_none()
            }
            (AxiomKind::Irreflexive | AxiomKind::Acyclic, Some(Value::Set(_))) | (_, None) => true,
        };
        ensure(holds, || {
            format!("axiom `{}` of the model does not hold of the execution found", axiom.name)
        })?;
    }
    Ok(Some(values))
}

fn has_pair(values: &Values<EventSet, BitMatrix>, term: TermId, (a, b): (EventId, EventId)) -> bool {
    match values.get(term) {
        Some(Value::Relation(relation)) => relation.contains(a, b),
        Some(Value::Set(set)) => set.contains(a),
        None => false,
    }
}

/// Checks that threads wait for ever: with every cluster running, or because some have not started.
fn check_deadlock(
    graph: &EventGraph,
    values: &IndexVec<TermRef, u128>,
    everywhere: bool,
) -> Result<(), Disagreement> {
    let has_started = |agent| values[graph.started(agent)] == 1;
    let finished = |agent| values[graph.completed[agent]] == 1;
    let stands =
        |agent| graph.blocked.iter().any(|blocked| blocked.agent == agent && values[blocked.stuck] == 1);
    let running: Vec<_> = graph.hierarchy.agents().filter(|&agent| has_started(agent)).collect();
    ensure((running.len() == graph.hierarchy.n_threads()) == everywhere, || {
        "which clusters have started is not as claimed of the execution found".into()
    })?;
    let settled = running.iter().all(|&agent| finished(agent) || stands(agent));
    let holds_up = |agent| {
        let mut own = graph.blocked.iter().filter(|blocked| blocked.agent == agent);
        everywhere || own.any(|blocked| values[blocked.stuck] == 1 && blocked.is_resident(&graph.hierarchy))
    };
    ensure(settled && running.iter().any(|&agent| !finished(agent) && holds_up(agent)), || {
        "some thread can go on, or all have finished, in the execution found".into()
    })
}

/// Checks the claim, and tells which refinements of a flag hold of the same pair.
fn check_claim(
    graph: &EventGraph,
    model: &MemoryModel,
    has_pair: &dyn Fn(TermId, (EventId, EventId)) -> bool,
    values: &IndexVec<TermRef, u128>,
    claim: &GoalKind,
) -> Result<Vec<&'static FlagKind>, Disagreement> {
    match claim {
        GoalKind::Obligation(index) => {
            let obligation = &graph.obligations[*index];
            ensure(values[obligation.guard] == 1 && values[obligation.condition] == 0, || {
                "the obligation holds in the execution found".into()
            })?;
            Ok(Vec::new())
        }
        GoalKind::Final(index) => {
            let complete = graph.completed.iter().all(|&completed| values[completed] == 1);
            ensure(complete && values[graph.finals[*index].condition] == 0, || {
                "the final condition holds in the execution found".into()
            })?;
            Ok(Vec::new())
        }
        GoalKind::Deadlock | GoalKind::NotResident => {
            check_deadlock(graph, values, *claim == GoalKind::Deadlock)?;
            Ok(Vec::new())
        }
        GoalKind::Condition => {
            let complete = graph.completed.iter().all(|&completed| values[completed] == 1);
            let found = graph.condition.as_ref().is_some_and(|goal| {
                values[goal.filter] == 1 && (values[goal.condition] == 1) == goal.wanted()
            });
            ensure(complete && found, || {
                "the execution found is not one that the condition asks for".into()
            })?;
            Ok(Vec::new())
        }
        GoalKind::Completion => {
            ensure(graph.completed.iter().all(|&completed| values[completed] == 1), || {
                "some thread does not run to its end in the execution found".into()
            })?;
            Ok(Vec::new())
        }
        GoalKind::Flag { flag, pair } => {
            let own = &model.flags[*flag];
            let family: Vec<_> =
                model.flags.iter().filter(|other| findings::refines(&other.name, &own.name)).collect();
            ensure(has_pair(own.term, *pair), || {
                format!("the pair claimed is not in `{}` of the execution found", own.name)
            })?;
            Ok(family
                .iter()
                .filter(|flag| has_pair(flag.term, *pair))
                .map(|flag| findings::flag(&flag.name))
                .collect())
        }
    }
}
