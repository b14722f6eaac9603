//! What goes wrong in a slice, shown of the whole launch.
//!
//! A slice's execution says what some threads do and leaves the others out, so it may be none of the launch. Its threads are
//! known, and what they do; all others run along (`witness::interleaving`). First it is looked whether what goes wrong does
//! so when all threads just run in turns, which is one execution for whatever is asked of a launch.
//!
//! Sound: only what the re-check accepts is shown, and it knows nothing of slices: it evaluates the whole execution, of all
//! threads, against the model, and what is claimed of it. So a race or a failed assertion is one of an execution that is
//! consistent for whoever was left out, and a hang is one in which all others have ended or wait themselves. Where none is
//! found nothing is said: the slice was a hint, and the whole is asked.
//!
//! Needs: nothing. The re-check asks all axioms, whichever they are.

use super::super::{Config, FindingKey, finding_key, property_in};
use super::{Found, Rest};
use crate::bits::{BitMatrix, EventSet};
use crate::encode::goal::GoalKind;
use crate::encode::{Encoding, Problem};
use crate::event::cell::{Cells, add_initial_writes};
use crate::event::{Access, EventGraph, EventId, UnknownId, UnknownKind};
use crate::slice::Piece;
use crate::verdict::Finding;
use crate::witness::Execution;
use crate::witness::interleaving::{Given, complete, interleave_ctas, interleave_or_stand};
use crate::witness::recheck::{Allowed, Asked};
use crate::work::{self, Work};
use fencepost_dsl::cat::memory_model::MemoryModel;
use fencepost_dsl::index::Id;
use fencepost_dsl::kernel::program::FinalKind;
use fencepost_dsl::sorted::SortedMap;
use rustc_hash::FxHashMap;

/// Executions of the whole that are looked at once more for whatever is asked next.
const RUNS_MAX: usize = 3;

/// A launch with executions of its own.
pub(super) struct Whole<'a> {
    model: &'a MemoryModel,
    config: &'a Config,
    /// With its initial writes.
    graph: EventGraph,
    cells: Cells,
    /// Whether the threads have run in turns.
    has_run: bool,
    runs: Vec<Allowed>,
    /// What goes wrong, each thing once.
    found: Vec<(FindingKey, Finding)>,
    /// Whether there is more than is listed.
    has_more: bool,
}

impl<'a> Whole<'a> {
    /// `None` if one of its locations has too many cells.
    pub(super) fn new(graph: &EventGraph, model: &'a MemoryModel, config: &'a Config) -> Option<Self> {
        let mut graph = graph.clone();
        let cells = add_initial_writes(&mut graph).ok()?;
        let (runs, found) = (Vec::new(), Vec::new());
        Some(Self { model, config, graph, cells, has_run: false, runs, found, has_more: false })
    }

    pub(super) fn n_found(&self) -> usize {
        self.found.len()
    }

    pub(super) fn into_found(self, rest: Rest) -> Found {
        let mut findings: Vec<Finding> = self.found.into_iter().map(|(_, finding)| finding).collect();
        findings.sort_by_key(|finding| !finding.witness.refinements.iter().any(|flag| flag.comes_first));
        Found {
            graph: self.graph,
            findings,
            more_findings: self.has_more,
            open_loops: Vec::new(),
            rest,
            record: None,
        }
    }

    /// Whether there is nothing to be asked any more: a reader knows it already, or an execution that is known shows it.
    pub(super) fn knows(&mut self, claim: &GoalKind) -> bool {
        let key = finding_key(&self.graph, claim);
        if self.found.iter().any(|(known, _)| *known == key) {
            return true;
        }
        let property = property_in(&self.graph, self.model, claim);
        if self.found.len() >= self.config.limits.findings_max
            && self.found.iter().any(|(_, finding)| finding.property == property)
        {
            self.has_more = true;
            return true;
        }
        let mut shown = self.runs.iter().filter_map(|run| run.shows(&self.graph, self.model, claim).ok());
        let Some(witness) = shown.next() else { return false };
        self.found.push((key, Finding { property, witness: Box::new(witness) }));
        true
    }

    /// Adds an execution to those that are known, if it is one.
    fn add(&mut self, execution: Option<Execution>) {
        work::count(Work::Statement, self.graph.events.len());
        let asked = Asked::of(self.model, &self.graph);
        let run = execution
            .and_then(|execution| Allowed::new(&self.graph, &self.cells, self.model, execution, asked).ok());
        if let Some(run) = run {
            self.runs.truncate(RUNS_MAX - 1);
            self.runs.push(run);
        }
    }

    fn run(&mut self) {
        if !std::mem::replace(&mut self.has_run, true) && self.config.treatment.interleave {
            self.add(interleave_or_stand(&self.graph, &self.cells));
        }
    }

    /// Whether that is done where the threads run in turns.
    pub(super) fn does_in_turns(&mut self, claim: &GoalKind) -> bool {
        self.run();
        self.knows(claim)
    }

    /// Asks where the threads run in turns for everything that was asked for.
    pub(super) fn does_all_in_turns(&mut self) {
        self.run();
        let Some(run) = self.runs.first() else { return };
        let claims = run.may_do(&self.graph, self.model);
        for claim in claims {
            if self.config.properties.contains(&property_in(&self.graph, self.model, &claim)) {
                self.knows(&claim);
            }
        }
    }

    /// Whether an execution of the whole does what one of a slice does.
    pub(super) fn does(
        &mut self,
        (piece, slice, unknowns): (&Piece, Problem<'_>, &[UnknownId]),
        encoding: &Encoding,
        execution: &Execution,
        claim: &GoalKind,
    ) -> bool {
        let given = self.given((piece, unknowns), slice, encoding, execution);
        let completed = given.and_then(|given| complete(&self.graph, &self.cells, &given));
        self.add(completed);
        self.knows(claim)
    }

    /// What a slice's execution says of the whole.
    fn given(
        &self,
        (piece, of_whole): (&Piece, &[UnknownId]),
        slice: Problem<'_>,
        encoding: &Encoding,
        execution: &Execution,
    ) -> Option<Given> {
        let n = self.graph.events.len();
        // Cells may be smaller in the whole; then pieces of accesses are others.
        let mut accesses = slice.graph.events.iter().filter_map(|event| event.kind.access());
        let grain = |cells: &Cells, access: &Access| cells.grain_bytes[access.location];
        if accesses.any(|access| grain(slice.cells, access) != grain(&self.cells, access)) {
            return None;
        }
        let of_slice = slice.cells.initial.iter();
        let initial: FxHashMap<EventId, EventId> =
            of_slice.filter_map(|(cell, &event)| Some((event, *self.cells.initial.get(cell)?))).collect();
        let origin = |event: EventId| piece.origin(event).or_else(|| initial.get(&event).copied());
        let sources = execution.sources.iter().map(|(&read, sources)| {
            let sources = sources.iter().map(|&(write, part)| Some((origin(write)?, part)));
            Some((origin(read)?, sources.collect::<Option<Vec<_>>>()?))
        });
        let pairs = |of: &BitMatrix| {
            let pairs = of.pairs().map(|(a, b)| Some((origin(a)?, origin(b)?)));
            Some(BitMatrix::from_pairs(n, pairs.collect::<Option<_>>()?))
        };
        Some(Given {
            unknowns: self.values((slice, of_whole), encoding, execution),
            kept: EventSet::from_iter(n, piece.kept.iter().copied()),
            sources: sources.collect::<Option<_>>()?,
            coherence: pairs(&execution.coherence)?,
            fence_order: pairs(&execution.fence_order)?,
        })
    }

    /// The values of the whole's unknowns that a slice's execution depends on.
    fn values(
        &self,
        (slice, of_whole): (Problem<'_>, &[UnknownId]),
        encoding: &Encoding,
        execution: &Execution,
    ) -> SortedMap<UnknownId, u128> {
        let is_told = |unknown: &UnknownId| encoding.blaster.unknown_bits.contains_key(unknown);
        // A slice has some unknowns of the whole, and then its own for what memory holds at first.
        let mut initial: FxHashMap<(usize, u32), u128> = FxHashMap::default();
        let mut values = Vec::new();
        for (id, unknown) in slice.graph.terms.unknowns().iter_enumerated().filter(|(id, _)| is_told(id)) {
            match unknown.kind {
                UnknownKind::Elsewhere | UnknownKind::FinalValue { .. } => {}
                UnknownKind::Initial { location, offset_bytes } => {
                    initial.insert((location.index(), offset_bytes), execution.unknowns[id]);
                }
                _ => values.extend(of_whole.get(id.index()).map(|&own| (own, execution.unknowns[id]))),
            }
        }
        for (id, unknown) in self.graph.terms.unknowns().iter_enumerated() {
            if let UnknownKind::Initial { location, offset_bytes } = unknown.kind
                && let Some(&value) = initial.get(&(location.index(), offset_bytes))
            {
                values.push((id, value));
            }
        }
        values.into_iter().collect()
    }

    /// Whether some execution runs every thread to its end, and reaches what should be reachable.
    pub(super) fn completes(&mut self) -> bool {
        self.run();
        if self.completing().is_none() {
            self.add(interleave_ctas(&self.graph, &self.cells));
        }
        self.completing().is_some()
    }

    /// Whether both events happen where the threads run in turns, none of which waits for ever.
    pub(super) fn has_both(&mut self, (a, b): (EventId, EventId)) -> bool {
        self.run();
        self.runs.iter().any(|run| {
            let executed = &run.execution().executed;
            let hangs = run.claims(&self.graph, self.model, &GoalKind::Deadlock).is_ok();
            executed.contains(a) && executed.contains(b) && !hangs
        })
    }

    /// The execution among those that are known that does so.
    pub(super) fn completing(&self) -> Option<&Execution> {
        let Self { graph, model, runs, .. } = self;
        let of_the_end = || graph.finals.iter().filter(|own| own.kind == FinalKind::Reachable);
        let asks = graph.reachables.iter().map(|own| own.span);
        let is_reached = |run: &Allowed, span| {
            graph.reachables.iter().any(|own| own.span == span && run.value(own.condition) == 1)
        };
        let completes = |run: &&Allowed| {
            run.claims(graph, model, &GoalKind::Completion).is_ok()
                && asks.clone().all(|span| is_reached(run, span))
                && of_the_end().all(|own| run.value(own.condition) == 1)
        };
        runs.iter().find(completes).map(Allowed::execution)
    }
}
