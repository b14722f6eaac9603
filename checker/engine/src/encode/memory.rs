//! Communication: where reads take their values from, coherence, the Fence-SC order, and final values.

use super::value::{Known, KnownValues};
use super::{EncodeError, Encoder, Problem, Source, Treatment};
use crate::cnf::{Direction, Literal};
use crate::event::term::mask;
use crate::event::{Access, EventId, EventKind, LocationId, TermPool, TermRef, UnknownId, UnknownKind};
use crate::facts::needs::no_thin_air;
use crate::relation::base;
use fencepost_dsl::IndexVec;
use fencepost_dsl::cat::memory_model::BaseRelation;
use fencepost_dsl::sorted::SortedMap;
use rustc_hash::FxHashMap;

/// Rounds of joining candidate values before what still changes is given up as unknown.
const ROUNDS_MAX: usize = 64;

/// What each read can return, from the values of its candidate writes, cell by cell: each cell of a read is of a write of its
/// own.
///
/// Sound: the iteration joins values along reads-from and data dependencies, one step a round. If the model forbids
/// cycles in `rf | data`, every value of an execution derives from others without any read in between twice, so as many
/// rounds as there are reads cover all of them; past the round limit, a read that still changes is taken to return anything.
/// Without such an axiom any read may, since values that justify themselves come from nowhere.
///
/// Needs: [`Need::NoThinAir`](crate::facts::needs::Need::NoThinAir).
pub fn known_values(problem: Problem<'_>, treatment: Treatment) -> KnownValues {
    let graph = problem.graph;
    let everything = |width: u8| Known::Interval(0, mask(width));
    let mut unknowns: IndexVec<_, Known> = IndexVec::new();
    let mut reads = Vec::new();
    let follows = treatment.known_values && no_thin_air(problem.model);
    let sources = problem.table.basis.bounds(BaseRelation::ReadsFrom).may.inverse();
    for (id, unknown) in graph.terms.unknowns().iter_enumerated() {
        unknowns.push(match unknown.kind {
            UnknownKind::Read(event) if problem.table.basis.counted.sums.contains_key(&event) => {
                let (least, most) = problem.table.basis.counted.sums[&event];
                Known::between(least, most)
            }
            UnknownKind::Read(event) if follows => {
                reads.extend(CellByCell::new(problem, id, event, sources.successors(event)));
                Known::Nothing
            }
            UnknownKind::Parameter if treatment.known_values => Known::Interval(unknown.min, unknown.max),
            _ => everything(unknown.width),
        });
    }
    let mut known = KnownValues { unknowns };
    let rounds = (reads.len() + 1).min(ROUNDS_MAX);
    let complete = rounds == reads.len() + 1;
    for round in 0.. {
        let mut memo = FxHashMap::default();
        let mut changed = false;
        let mut next = known.clone();
        for read in &reads {
            let before = &known.unknowns[read.unknown];
            let joined = before.join(&read.known(&known, &graph.terms, &mut memo));
            if joined != *before {
                changed = true;
                let width = graph.terms.unknown(read.unknown).width;
                next.unknowns[read.unknown] = if round >= rounds { everything(width) } else { joined };
            }
        }
        if !changed || (round >= rounds && complete) {
            return known;
        }
        known = next;
    }
    known
}

/// What a read takes its cells from.
struct CellByCell {
    unknown: UnknownId,
    n_bits: u8,
    /// Of each cell, the values that it may be a part of, and where the part begins.
    cells: Vec<Vec<(TermRef, u32)>>,
}

impl CellByCell {
    fn new(
        problem: Problem<'_>,
        unknown: UnknownId,
        read: EventId,
        writes: impl Iterator<Item = EventId>,
    ) -> Option<Self> {
        let (graph, grains) = (problem.graph, &problem.cells.grain_bytes);
        let access = graph.events[read].kind.access()?;
        let grain = grains[access.location];
        let n_bits = u8::try_from(grain * 8).ok()?;
        let mut cells = vec![Vec::new(); problem.cells.n_pieces(access) as usize];
        assert_eq!(
            cells.len() * usize::from(n_bits),
            usize::from(graph.terms.unknown(unknown).width),
            "the cells of a read make up its value"
        );
        for written in writes.filter_map(|write| graph.events[write].kind.access()) {
            if written.location != access.location {
                continue;
            }
            let first = |access: &Access| graph.terms.constant_value(access.offset);
            let is_alike = written.width_bytes == access.width_bytes;
            for (piece, candidates) in (0u32..).zip(&mut cells) {
                for from in 0..problem.cells.n_pieces(written) {
                    let at = |first: u128, piece: u32| first + u128::from(piece * grain);
                    let may_meet = match (first(access), first(written)) {
                        (Some(own), Some(other)) => at(own, piece) == at(other, from),
                        // Accesses of one size have all cells in common or none.
                        _ => !is_alike || piece == from,
                    };
                    if may_meet {
                        candidates.push((written.value, from * u32::from(n_bits)));
                    }
                }
            }
        }
        Some(Self { unknown, n_bits, cells })
    }

    /// What it may return, if what it takes from is what is known.
    fn known(&self, known: &KnownValues, terms: &TermPool, memo: &mut FxHashMap<TermRef, Known>) -> Known {
        let mut cell = |candidates: &Vec<(TermRef, u32)>| {
            candidates.iter().fold(Known::Nothing, |joined, &(value, low)| {
                joined.join(&known.of_term(terms, value, memo).slice(low, self.n_bits))
            })
        };
        let cells: Vec<Known> = self.cells.iter().map(&mut cell).collect();
        Known::together(&cells, self.n_bits)
    }
}

impl Encoder<'_> {
    /// `rf`, `co` and `sync_fence`.
    pub(super) fn communication(&mut self) -> Result<(), EncodeError> {
        let sources = self.problem.table.basis.bounds(BaseRelation::ReadsFrom).may.inverse();
        for read in self.problem.graph.events.ids() {
            if self.is_read(read) {
                self.reads_from(read, sources.successors(read).collect());
                self.check_limits()?;
            }
        }
        self.coherence_order()?;
        self.fence_sc_order()?;
        self.contradictions()
    }

    /// Events do not both happen if a pair of them is certain and yet impossible: axioms want it there and forbid it.
    fn contradictions(&mut self) -> Result<(), EncodeError> {
        for base in [BaseRelation::ReadsFrom, BaseRelation::Coherence, BaseRelation::FenceSc] {
            let bounds = self.problem.table.basis.bounds(base);
            for (a, b) in bounds.must.difference(&bounds.may).pairs() {
                self.formula.clause(&[!self.executed[a], !self.executed[b]]);
                self.check_limits()?;
            }
        }
        Ok(())
    }

    fn access(&self, event: EventId) -> Access {
        self.problem.graph.events[event].kind.access().cloned().expect("only accesses communicate")
    }

    /// Each piece of an executed read takes its value from exactly one executed write of the same bytes.
    fn reads_from(&mut self, read: EventId, writes: Vec<EventId>) {
        let access = self.access(read);
        let n_pieces = self.problem.cells.n_pieces(&access);
        let executed = self.executed[read];
        let mut pieces = Vec::new();
        for piece in 0..n_pieces {
            let mut candidates = Vec::new();
            for &write in &writes {
                let written = self.access(write);
                for from in 0..self.problem.cells.n_pieces(&written) {
                    let same = self.same_cell(&access, piece, &written, from);
                    if same != Literal::FALSE && self.executed[write] != Literal::FALSE {
                        candidates.push((write, from, same));
                    }
                }
            }
            let only = candidates.len() == 1;
            let mut sources = Vec::new();
            for (write, from, same) in candidates {
                let literal = if only { executed } else { self.formula.fresh() };
                self.formula.imply(literal, executed);
                let happens = self.executed[write];
                self.formula.imply(literal, happens);
                self.formula.imply(literal, same);
                self.same_value(literal, read, piece, write, from);
                sources.push(Source { write, piece: from, literal });
            }
            let mut some: Vec<Literal> = sources.iter().map(|source| source.literal).collect();
            if !only {
                self.formula.at_most_one(&some);
            }
            some.push(!executed);
            self.formula.clause(&some);
            pieces.push(sources);
        }
        self.sources.insert(read, pieces);
    }

    fn same_value(&mut self, condition: Literal, read: EventId, piece: u32, write: EventId, from: u32) {
        let (access, written) = (self.access(read), self.access(write));
        let bits = (self.problem.cells.grain_bytes[access.location] * 8) as usize;
        let (into, out) = (self.bits(access.value), self.bits(written.value));
        for bit in 0..bits {
            self.formula.equal_if(
                condition,
                into[piece as usize * bits + bit],
                out[from as usize * bits + bit],
            );
        }
    }

    /// Whether piece `i` of one access and piece `j` of another are the same cell.
    pub(super) fn same_cell(&mut self, a: &Access, i: u32, b: &Access, j: u32) -> Literal {
        if a.location != b.location {
            return Literal::FALSE;
        }
        if a.width_bytes == b.width_bytes {
            // Naturally aligned accesses of one size share all pieces or none.
            return if i == j { self.same_offset(a.offset, b.offset) } else { Literal::FALSE };
        }
        let grain = u128::from(self.problem.cells.grain_bytes[a.location]);
        let at = |this: &mut Self, offset: TermRef, piece: u32| {
            let distance = this.terms.constant(u128::from(piece) * grain, 32);
            this.terms.binary(fencepost_dsl::kernel::program::BinaryOp::Add, offset, distance)
        };
        let (left, right) = (at(self, a.offset, i), at(self, b.offset, j));
        self.same_offset(left, right)
    }

    fn same_offset(&mut self, a: TermRef, b: TermRef) -> Literal {
        let same = self.terms.equal(a, b);
        self.truth(same)
    }

    /// A transitive partial order on overlapping writes; which pairs it must relate is the model's business (MM-43).
    fn coherence_order(&mut self) -> Result<(), EncodeError> {
        let bounds = self.problem.table.basis.relation(BaseRelation::Coherence);
        let pairs: Vec<(EventId, EventId)> = bounds.open().pairs().collect();
        for &(a, b) in &pairs {
            if let Some(&back) = self.coherence.get(&(b, a)) {
                let literal = self.formula.fresh();
                self.formula.clause(&[!back, !literal]);
                self.coherence.insert((a, b), literal);
            } else {
                let literal = self.formula.fresh();
                self.coherence.insert((a, b), literal);
            }
            let literal = self.coherence[&(a, b)];
            let (from, to) = (self.executed[a], self.executed[b]);
            self.formula.imply(literal, from);
            self.formula.imply(literal, to);
            let meet = self.base_edge(BaseRelation::SameLocation, a, b)?;
            self.formula.imply(literal, meet);
        }
        for (a, b) in bounds.may.pairs() {
            for c in bounds.may.successors(b) {
                if a == c || bounds.must.contains(a, c) {
                    continue;
                }
                let first = self.base_edge(BaseRelation::Coherence, a, b)?;
                let second = self.base_edge(BaseRelation::Coherence, b, c)?;
                let meet = self.base_edge(BaseRelation::SameLocation, a, c)?;
                let whole = self.base_edge(BaseRelation::Coherence, a, c)?;
                self.formula.clause(&[!first, !second, !meet, whole]);
            }
            self.check_limits()?;
        }
        Ok(())
    }

    /// An acyclic order of `fence.sc` in each other's scope, total on such pairs (MM-32).
    ///
    /// Scopes are nested, so of the neighbours of a fence with the narrowest scope any two are in each other's scope: the
    /// pairs form a chordal graph, and without cycles of three there are none.
    fn fence_sc_order(&mut self) -> Result<(), EncodeError> {
        let bounds = self.problem.table.basis.relation(BaseRelation::FenceSc);
        for (a, b) in bounds.open().pairs() {
            let literal = self.formula.fresh();
            if let Some(&back) = self.fence_order.get(&(b, a)) {
                self.formula.clause(&[!back, !literal]);
            }
            let (from, to) = (self.executed[a], self.executed[b]);
            self.formula.imply(literal, from);
            self.formula.imply(literal, to);
            self.fence_order.insert((a, b), literal);
        }
        let related = bounds.may.union(&bounds.may.inverse());
        for (a, b) in related.pairs() {
            let (forth, back) = (self.fence_edge(a, b)?, self.fence_edge(b, a)?);
            if a < b {
                let (first, second) = (self.executed[a], self.executed[b]);
                self.formula.clause(&[!first, !second, forth, back]);
            }
            for c in related.successors(b).filter(|&c| a < b && a < c && related.contains(a, c)) {
                let (second, third) = (self.fence_edge(b, c)?, self.fence_edge(c, a)?);
                self.formula.clause(&[!forth, !second, !third]);
            }
            self.check_limits()?;
        }
        Ok(())
    }

    fn fence_edge(&mut self, a: EventId, b: EventId) -> Result<Literal, EncodeError> {
        self.base_edge(BaseRelation::FenceSc, a, b)
    }

    /// A base relation's pair, exact in both directions.
    pub(super) fn base_edge(
        &mut self,
        base: BaseRelation,
        a: EventId,
        b: EventId,
    ) -> Result<Literal, EncodeError> {
        let bounds = self.problem.table.basis.bounds(base);
        if !bounds.may.contains(a, b) {
            return Ok(Literal::FALSE);
        }
        if bounds.must.contains(a, b) {
            return Ok(self.both_executed(a, b));
        }
        Ok(match base {
            BaseRelation::ReadsFrom => {
                let from: Vec<Literal> = self.sources[&b]
                    .iter()
                    .flatten()
                    .filter(|source| source.write == a)
                    .map(|source| source.literal)
                    .collect();
                self.formula.or(Direction::Both, &from)
            }
            BaseRelation::Coherence => self.coherence[&(a, b)],
            BaseRelation::FenceSc => self.fence_order[&(a, b)],
            BaseRelation::FromReads => self.reads_before(a, b)?,
            BaseRelation::SameLocation
            | BaseRelation::SameVirtualLocation
            | BaseRelation::CompleteOverlap => {
                let (first, second) = (self.access(a), self.access(b));
                let meets = crate::relation::overlap::overlap_term(&mut self.terms, &first, &second);
                let meets = self.truth(meets);
                let both = self.both_executed(a, b);
                self.formula.and(Direction::Both, &[meets, both])
            }
            // Of the remaining base relations those are known exactly that have no conditions.
            _ => {
                let Some(conditions) = self.edge_conditions.get(&base) else {
                    unreachable!("{base:?} has no open pairs")
                };
                let condition = self.truth(conditions[&(a, b)]);
                let both = self.both_executed(a, b);
                self.formula.and(Direction::Both, &[condition, both])
            }
        })
    }

    /// For some common byte the read took the value of a write that is coherence-before `write` (§1.15).
    fn reads_before(&mut self, read: EventId, write: EventId) -> Result<Literal, EncodeError> {
        let (access, written) = (self.access(read), self.access(write));
        let sources = self.sources[&read].clone();
        let mut ways = Vec::new();
        for (piece, candidates) in (0u32..).zip(&sources) {
            let mut covered = Vec::new();
            for from in 0..self.problem.cells.n_pieces(&written) {
                covered.push(self.same_cell(&access, piece, &written, from));
            }
            let covered = self.formula.or(Direction::Both, &covered);
            for source in candidates {
                if source.write == write {
                    continue;
                }
                let before = self.base_edge(BaseRelation::Coherence, source.write, write)?;
                ways.push(self.formula.and(Direction::Both, &[covered, source.literal, before]));
            }
        }
        Ok(self.formula.or(Direction::Both, &ways))
    }

    /// A final value is that of an executed write with no coherence-later executed write of the cell.
    pub(super) fn final_values(&mut self) {
        let graph = self.problem.graph;
        let mut known: SortedMap<(LocationId, u32), Vec<Literal>> = SortedMap::new();
        for (id, unknown) in graph.terms.unknowns().iter_enumerated() {
            if let UnknownKind::FinalValue { location, offset_bytes, width_bytes } = unknown.kind {
                let bits =
                    self.blaster.unknown(&mut self.formula, id, unknown.width, &self.known.unknowns[id]);
                let grain = self.problem.cells.grain_bytes[location];
                for (at, cell) in (offset_bytes / grain..(offset_bytes + width_bytes) / grain).enumerate() {
                    let n = (grain * 8) as usize;
                    let value = &bits[at * n..(at + 1) * n];
                    // Memory ends with one value per cell, through whichever view it is looked at.
                    if let Some(same) = known.get(&(location, cell)) {
                        for (&a, &b) in value.iter().zip(same) {
                            self.formula.equal_if(Literal::TRUE, a, b);
                        }
                        continue;
                    }
                    known.insert((location, cell), value.to_vec());
                    self.final_cell(location, cell * grain, value);
                }
            }
        }
    }

    /// Where it is claimed that a read is of last writes, it takes each piece from a write that no other executed one of the
    /// cell is coherence-after, or no promised one. Only that direction is stated: the claim is asked for, never its opposite.
    pub(super) fn last_reads(&mut self) -> Result<(), EncodeError> {
        let graph = self.problem.graph;
        for (id, unknown) in graph.terms.unknowns().iter_enumerated() {
            let Some((read, counts)) = base::last_writes(graph, &unknown.kind) else { continue };
            let claim =
                self.blaster.unknown(&mut self.formula, id, unknown.width, &self.known.unknowns[id])[0];
            let access = self.access(read);
            let pieces = self.sources.get(&read).cloned().unwrap_or_default();
            for (piece, candidates) in (0u32..).zip(&pieces) {
                for (later, event) in graph.events.iter_enumerated() {
                    let EventKind::Write(written) = &event.kind else { continue };
                    if !counts(later) {
                        continue;
                    }
                    let mut covers = Vec::new();
                    for from in 0..self.problem.cells.n_pieces(written) {
                        covers.push(self.same_cell(&access, piece, written, from));
                    }
                    let covers = self.formula.or(Direction::Both, &covers);
                    if covers == Literal::FALSE || self.executed[later] == Literal::FALSE {
                        continue;
                    }
                    for source in candidates.iter().filter(|source| source.write != later) {
                        let after = self.base_edge(BaseRelation::Coherence, source.write, later)?;
                        let happens = self.executed[later];
                        self.formula.clause(&[!claim, !source.literal, !covers, !happens, !after]);
                    }
                }
                self.check_limits()?;
            }
        }
        Ok(())
    }

    fn final_cell(&mut self, location: LocationId, offset_bytes: u32, value: &[Literal]) {
        let graph = self.problem.graph;
        if let Some(sum) = self.final_sum(location, offset_bytes, value.len()) {
            for (&a, &b) in value.iter().zip(&sum) {
                self.formula.equal_if(Literal::TRUE, a, b);
            }
            return;
        }
        let grain = self.problem.cells.grain_bytes[location];
        let start = self.terms.constant(u128::from(offset_bytes), 32);
        let mut writers = Vec::new();
        for (id, event) in graph.events.iter_enumerated() {
            let (EventKind::Init(access) | EventKind::Write(access)) = &event.kind else { continue };
            if access.location != location {
                continue;
            }
            for piece in 0..access.width_bytes / grain {
                let distance = self.terms.constant(u128::from(piece * grain), 32);
                let at =
                    self.terms.binary(fencepost_dsl::kernel::program::BinaryOp::Add, access.offset, distance);
                let here = self.same_offset(at, start);
                let covers = self.formula.and(Direction::Both, &[here, self.executed[id]]);
                if covers != Literal::FALSE {
                    writers.push((id, piece as usize, covers, access.value));
                }
            }
        }
        let mut last = Vec::new();
        for &(write, piece, covers, written) in &writers {
            let chosen = self.formula.fresh();
            self.formula.imply(chosen, covers);
            for &(other, _, other_covers, _) in &writers {
                if other != write
                    && let Ok(before) = self.base_edge(BaseRelation::Coherence, write, other)
                {
                    self.formula.clause(&[!chosen, !other_covers, !before]);
                }
            }
            let bits = self.bits(written);
            let n = value.len();
            for (bit, &of_value) in value.iter().enumerate() {
                self.formula.equal_if(chosen, of_value, bits[piece * n + bit]);
            }
            last.push(chosen);
        }
        self.formula.clause(&last);
    }
}
