//! What a verdict rests on, kept for whoever wants to check it: the formulas that the solver was asked about, what their
//! literals mean, what was asked of each, how each refutation is derived, and executions that were found.
//!
//! It is kept only where that is asked for ([`crate::check::Config::record`]), and decides nothing. A decision takes along what
//! was kept on the way to it, so that what an outcome has is about the bound, and the slices or the whole, that it rests on.

use crate::bits::BitMatrix;
use crate::cnf::{Formula, Literal};
use crate::encode::goal::{Goal, GoalKind};
use crate::encode::{Encoding, Problem, Source, Treatment};
use crate::event::cell::grains;
use crate::event::{AgentId, Edge, Edges, EventGraph, EventId, EventKind, LocationId, UnknownId, Wait};
use crate::facts::{self, Deduction};
use crate::relation::dependency::dependencies;
use crate::relation::{RelationTable, base};
use crate::slice::Piece;
use crate::unroll::Leaders;
use crate::witness::Execution;
use fencepost_dsl::cat::memory_model::{BaseRelation, BaseSet};
use fencepost_dsl::{IndexVec, Span};

pub use crate::slice::{About, Place};

/// Why something was asked.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Role {
    /// Whether anything that was asked for goes wrong.
    Goals,
    /// The same of one assertion, or some of them, before the others.
    Lemma,
    /// Whether a rule is broken that nobody asked about, and after which nothing has a meaning.
    Unasked,
    /// The litmus condition.
    Condition,
    /// Whether any final state counts for it.
    Filter,
    /// Whether a loop can run past the bound.
    Cut,
    /// Whether every thread can run to its end.
    Completion,
    /// Whether a `reachable` can be reached.
    Reachable,
    /// Whether there is any execution.
    Exists,
    /// The order of the rounds of a word that is set back.
    Round,
    /// Whether anything goes wrong, or runs past the bound, in a slice.
    Slice,
}

impl Role {
    /// Its name in a certificate.
    pub fn name(self) -> &'static str {
        match self {
            Self::Goals => "goal",
            Self::Lemma => "lemma",
            Self::Unasked => "unasked",
            Self::Condition => "condition",
            Self::Filter => "filter",
            Self::Cut => "cut",
            Self::Completion => "completion",
            Self::Reachable => "reachable",
            Self::Exists => "exists",
            Self::Round => "round",
            Self::Slice => "slice",
        }
    }
}

/// What a step of a derivation cites.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// The clause at this place among all that were given, from 0.
    Given(usize),
    /// The step of this number.
    Derived(usize),
}

/// A clause that follows, by propagation, from clauses that come before it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    /// Steps have ascending numbers, with gaps.
    pub number: usize,
    /// What follows.
    pub clause: Vec<Literal>,
    /// From what, in the order in which it propagates.
    pub reasons: Vec<Reason>,
}

/// What a literal of a formula means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Meaning {
    /// The event happens.
    Executed(EventId),
    /// This piece of the read is of that piece of the write.
    Source {
        /// The read.
        read: EventId,
        /// Which of its pieces.
        piece: u32,
        /// The write.
        write: EventId,
        /// Which of that one's pieces.
        from: u32,
    },
    /// The first write is coherence-before the second.
    Coherence(EventId, EventId),
    /// The same of fences, in the Fence-SC order.
    FenceOrder(EventId, EventId),
    /// A bit of a value.
    Bit(UnknownId, u8),
}

/// A pair that has no literal: bounds say that it is there whenever both events happen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Certain {
    /// Of coherence.
    Coherence(EventId, EventId),
    /// Of the Fence-SC order.
    FenceOrder(EventId, EventId),
}

/// What a formula is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// The launch.
    Whole,
    /// A slice of it, by number.
    Slice(usize),
}

/// A formula, and what its literals mean.
#[derive(Clone, Debug)]
pub struct Stated {
    /// What it is about.
    pub part: Part,
    /// The clauses. Of the gates nothing is kept.
    pub formula: Formula,
    /// What literals mean that are about an execution.
    pub meanings: Vec<(Literal, Meaning)>,
    /// Pairs that have none.
    pub certain: Vec<Certain>,
    /// What goes wrong where a literal is true. What no literal is true of is not there: bounds exclude it.
    pub goals: Vec<Goal>,
    /// By number, the loop cuts, and their disjunction.
    pub cuts: (Vec<Literal>, Literal),
    /// Every thread runs to its end.
    pub complete: Literal,
    /// The `reachable` statements, by place.
    pub reachable: Vec<(Span, Literal)>,
    /// What a litmus condition wants, and which final states count for it.
    pub condition: Option<(Literal, Literal)>,
}

impl Stated {
    fn new(problem: Problem<'_>, encoding: &Encoding) -> Self {
        let mut meanings: Vec<(Literal, Meaning)> = encoding
            .executed
            .iter_enumerated()
            .map(|(event, &literal)| (literal, Meaning::Executed(event)))
            .collect();
        // They are sorted below.
        meanings.extend(encoding.sources.iter().flat_map(|(&read, pieces)| {
            let of_piece = |(piece, candidates): (u32, &'_ Vec<Source>)| -> Vec<(Literal, Meaning)> {
                let means = |&Source { write, piece: from, literal }: &Source| {
                    (literal, Meaning::Source { read, piece, write, from })
                };
                candidates.iter().map(means).collect()
            };
            (0..).zip(pieces).flat_map(of_piece).collect::<Vec<_>>()
        }));
        let orders = [
            (&encoding.coherence, Meaning::Coherence as fn(_, _) -> _),
            (&encoding.fence_order, Meaning::FenceOrder as fn(_, _) -> _),
        ];
        for (open, meaning) in orders {
            meanings.extend(open.iter().map(|(&(a, b), &literal)| (literal, meaning(a, b))));
        }
        meanings.extend(encoding.blaster.unknown_bits.iter().flat_map(|(&unknown, bits)| {
            bits.iter().zip(0..).map(move |(&bit, at)| (bit, Meaning::Bit(unknown, at)))
        }));
        meanings.sort_by_key(|&(literal, meaning)| (kind_of(meaning), literal));
        let mut certain = Vec::new();
        for (base, is) in [
            (BaseRelation::Coherence, Certain::Coherence as fn(_, _) -> _),
            (BaseRelation::FenceSc, Certain::FenceOrder as fn(_, _) -> _),
        ] {
            certain.extend(problem.table.basis.bounds(base).must.pairs().map(|(a, b)| is(a, b)));
        }
        Self {
            part: Part::Whole,
            formula: encoding.formula.without_gates(),
            meanings,
            certain,
            goals: encoding.goals.iter().filter(|goal| goal.literal != Literal::FALSE).cloned().collect(),
            cuts: (encoding.cuts.clone(), encoding.cut),
            complete: encoding.complete,
            reachable: encoding.reachable.iter().map(|goal| (goal.span, goal.literal)).collect(),
            condition: encoding.condition.map(|goal| (goal.wanted, goal.counts)),
        }
    }
}

/// An order of meanings that does not depend on how a table is laid out.
fn kind_of(meaning: Meaning) -> (u8, u32, u32, u32, u32) {
    match meaning {
        Meaning::Executed(event) => (0, event.0, 0, 0, 0),
        Meaning::Source { read, piece, write, from } => (1, read.0, piece, write.0, from),
        Meaning::Coherence(a, b) => (2, a.0, b.0, 0, 0),
        Meaning::FenceOrder(a, b) => (3, a.0, b.0, 0, 0),
        Meaning::Bit(unknown, at) => (4, unknown.0, u32::from(at), 0, 0),
    }
}

/// What came of a question.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answered {
    /// No assignment does that, and so it is derived.
    Refuted(Vec<Step>),
    /// Some assignment does.
    Found,
    /// Nothing, for want of steps.
    Stopped,
}

/// Questions that were put to one solver, each refuted one given to the next.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Series {
    /// Its number.
    pub number: usize,
    /// The variable that is assumed in place of the clause, which has its negation; it occurs nowhere else.
    pub variable: Literal,
    /// That one of these is true was given at first. All that is asked is among them.
    pub among: Vec<Literal>,
}

/// A question that was put to the solver.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The formula, by number.
    pub stated: usize,
    /// Why.
    pub role: Role,
    /// Literals that earlier questions have shown to be false; each is given as a clause.
    pub known: Vec<Literal>,
    /// That one of these is true is a clause more; `None` if that was no part of the question.
    pub any: Option<Vec<Literal>>,
    /// Of questions that build on each other: which they are.
    pub series: Option<Series>,
    /// What came of it.
    pub answered: Answered,
}

/// A part of a launch that was looked at alone.
#[derive(Clone, Debug)]
pub struct Slice {
    /// The part as a graph, with its initial writes.
    pub graph: EventGraph,
    /// By event, which one of the launch it is.
    pub kept: Vec<EventId>,
    /// Whom it is around, and whose slices are the same but for names.
    pub centre: AgentId,
    /// See there.
    pub alike: Vec<AgentId>,
    /// Who is asked about.
    pub asked: Vec<AgentId>,
    /// What is asked.
    pub about: About,
    /// Of slices around places and beside them, by event, where it is; and about which place it is, if it is about one.
    pub places: Option<(Vec<Place>, Option<usize>)>,
    /// By number in the slice, which obligation of the launch it is.
    pub obligations: Vec<usize>,
    /// The same of loop cuts.
    pub cuts: Vec<usize>,
    /// The same of assertions about final memory.
    pub finals: Vec<usize>,
}

/// What an execution that was found shows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Shown {
    /// What goes wrong, or that every thread ends.
    Claim(GoalKind),
    /// A `reachable` statement.
    Reachable(Span),
    /// A loop cut of the graph, by number: its thread runs on.
    Cut(usize),
}

/// A deduction, and what it came to.
#[derive(Clone, Debug)]
pub struct Used {
    /// Its row.
    pub row: &'static Deduction,
    /// Of how many things it says something, and what they are.
    pub n: usize,
    /// See there.
    pub what: &'static str,
}

/// All that was kept on the way to a decision.
#[derive(Clone, Default, Debug)]
pub struct Record {
    /// The slices.
    pub slices: Vec<Slice>,
    /// The formulas.
    pub stated: Vec<Stated>,
    /// The questions, in order.
    pub asked: Vec<Asked>,
    /// Executions that were found.
    pub shown: Vec<(Shown, Execution)>,
    /// What was deduced without the solver.
    pub used: Vec<Used>,
    n_series: usize,
    role: Option<Role>,
}

impl Record {
    /// What is asked from now on is about this formula.
    pub(crate) fn state(&mut self, problem: Problem<'_>, encoding: &Encoding) {
        self.stated.push(Stated::new(problem, encoding));
    }

    /// What is asked from now on is asked for this.
    pub(crate) fn begin(&mut self, role: Role) {
        self.role = Some(role);
    }

    /// A number for questions that build on each other.
    pub(crate) fn new_series(&mut self) -> usize {
        self.n_series += 1;
        self.n_series - 1
    }

    /// Notes a question about the last formula.
    pub(crate) fn ask(
        &mut self,
        known: Vec<Literal>,
        any: Option<Vec<Literal>>,
        series: Option<Series>,
        answered: Answered,
    ) {
        if let (Some(stated), Some(role)) = (self.stated.len().checked_sub(1), self.role) {
            self.asked.push(Asked { stated, role, known, any, series, answered });
        }
    }

    /// Notes a deduction, if there is something that it is about.
    pub(crate) fn note(&mut self, row: &'static Deduction, n: usize, what: &'static str) {
        if n == 0 {
            return;
        }
        match self.used.iter_mut().find(|used| used.row.name == row.name && used.what == what) {
            Some(used) => used.n += n,
            None => self.used.push(Used { row, n, what }),
        }
    }

    /// All of it is about a slice.
    pub(crate) fn is_of_slice(&mut self, piece: &Piece, graph: &EventGraph) {
        self.stated.iter_mut().for_each(|stated| stated.part = Part::Slice(0));
        self.slices = vec![Slice {
            graph: graph.clone(),
            kept: piece.kept.clone(),
            centre: piece.centre,
            alike: piece.alike.clone(),
            asked: piece.asked.iter().copied().collect(),
            about: piece.about,
            places: piece
                .places
                .as_ref()
                .map(|places| (piece.kept.iter().map(|&event| places.of[event]).collect(), places.only)),
            obligations: piece.obligations.clone(),
            cuts: piece.cuts.clone(),
            finals: piece.finals.clone(),
        }];
    }

    /// Forgets formulas of which something was asked and nothing is refuted, and slices that have no other: where a slice goes
    /// wrong, a larger one is asked. The last formula of the whole stays, since it tells what bounds have excluded, and so does
    /// that of a slice where they leave nothing to ask.
    pub(crate) fn forget_unanswered(&mut self) {
        let mut stays: Vec<bool> = self.stated.iter().map(|stated| stated.part != Part::Whole).collect();
        self.asked.iter().for_each(|asked| stays[asked.stated] = false);
        for asked in &self.asked {
            // What is known from a question that builds on others rests on all of them.
            stays[asked.stated] |= asked.series.is_some() || matches!(asked.answered, Answered::Refuted(_));
        }
        if let Some(last) = self.stated.iter().rposition(|stated| stated.part == Part::Whole) {
            stays[last] = true;
        }
        let mut slices = vec![false; self.slices.len()];
        for (stated, _) in self.stated.iter().zip(&stays).filter(|(_, stays)| **stays) {
            if let Part::Slice(slice) = stated.part {
                slices[slice] = true;
            }
        }
        let places = |stays: &[bool]| -> Vec<usize> {
            let sums = stays.iter().scan(0, |sum, &stays| {
                *sum += usize::from(stays);
                Some(*sum - usize::from(stays))
            });
            sums.collect()
        };
        let (stated_at, slice_at) = (places(&stays), places(&slices));
        // Where bounds leave nothing to ask, that is what there is to know.
        for (number, stated) in self.stated.iter_mut().enumerate() {
            if stated.part != Part::Whole && self.asked.iter().all(|asked| asked.stated != number) {
                (stated.formula, stated.meanings, stated.certain) = Default::default();
            }
        }
        let mut of_stated = stays.iter();
        self.stated.retain(|_| of_stated.next() == Some(&true));
        for stated in &mut self.stated {
            if let Part::Slice(slice) = &mut stated.part {
                *slice = slice_at[*slice];
            }
        }
        let mut of_slices = slices.iter();
        self.slices.retain(|_| of_slices.next() == Some(&true));
        self.asked.retain(|asked| stays[asked.stated]);
        self.asked.iter_mut().for_each(|asked| asked.stated = stated_at[asked.stated]);
    }

    /// Adds what was kept elsewhere.
    pub(crate) fn add(&mut self, other: Self) {
        let (n_slices, n_stated, n_series) = (self.slices.len(), self.stated.len(), self.n_series);
        self.slices.extend(other.slices);
        self.stated.extend(other.stated.into_iter().map(|stated| match stated.part {
            Part::Whole => stated,
            Part::Slice(slice) => Stated { part: Part::Slice(slice + n_slices), ..stated },
        }));
        self.asked.extend(other.asked.into_iter().map(|asked| Asked {
            stated: asked.stated + n_stated,
            series: asked.series.map(|series| Series { number: series.number + n_series, ..series }),
            ..asked
        }));
        self.n_series += other.n_series;
        self.role = other.role.or(self.role);
        self.shown.extend(other.shown);
        other.used.into_iter().for_each(|used| self.note(used.row, used.n, used.what));
    }

    /// Notes what a graph shows of deductions that were made before it was there.
    pub(crate) fn note_graph(&mut self, graph: &EventGraph, treatment: Treatment) {
        let tries = graph.events.iter().filter(|event| matches!(event.role, crate::event::Role::Spin(_)));
        let waits = graph.blocked.iter().filter(|own| matches!(own.wait, Wait::Memory(_)));
        self.note(&facts::WAITS, tries.count(), "events of tries that failed");
        self.note(
            &facts::WRITING_WAITS,
            graph.writing_tries.len(),
            "tries that write back what they have read",
        );
        self.note(&facts::CTA_WAITS, graph.cta_rounds.len(), "events of rounds that CTAs make together");
        self.note(&facts::HANGS, waits.count(), "loops in which a thread may stay");
        self.note(&facts::BOUNDS, graph.cuts.len(), "places where unrolling stopped");
        if facts::PHASES.is_on(treatment) {
            self.note(&facts::PHASES, graph.mbarriers.len(), "mbarriers");
        }
        let never_full = graph.mbarriers.iter().filter(|own| own.is_never_full).count();
        self.note(&facts::NEVER_FULL, never_full, "mbarriers whose phases are never full");
        self.note(&facts::WARP_READS, graph.n_read_together, "reads that a lane shares with others");
        self.note(&facts::LEADERS, graph.n_unelected, "lanes for which others are elected");
        self.note(&facts::FORWARDING, graph.n_forwarded, "loads of what one store has written");
    }

    /// Notes what was deduced between a graph and its formula.
    pub(crate) fn note_prepared(&mut self, table: &RelationTable) {
        self.note(&facts::COUNTING, table.basis.counted_words().count(), "words that are counted");
        self.note(&facts::RESETS, table.basis.n_settled, "words that are set back");
        self.note(&facts::SYMMETRY, table.classes.len(), "classes of units that are alike");
    }
}

/// A launch, or one value of its parameters, with all that its verdict rests on.
#[derive(Clone, Debug)]
pub struct Evidence {
    /// The values of parameters that were checked alone.
    pub values: Vec<(String, u64)>,
    /// The lanes that are elected, where those that stand for others were checked alone.
    pub leaders: Leaders,
    /// The graph, with initial writes and all that was deduced about it before it became a formula.
    pub graph: EventGraph,
    /// What was kept.
    pub record: Record,
    /// The loop bound.
    pub unroll: u32,
}

/// What a graph says of all its executions, beside guards, values and conditions.
#[derive(Clone, Debug)]
pub struct Structure {
    /// Base sets, by the events that are in them.
    pub sets: Vec<(BaseSet, Vec<EventId>)>,
    /// Base relations of which each pair is there whenever both its events happen.
    pub relations: Vec<(BaseRelation, BitMatrix)>,
    /// Pairs that count under a condition.
    pub edges: Vec<(BaseRelation, Vec<Edge>)>,
    /// Bytes per cell, by location.
    pub grain_bytes: IndexVec<LocationId, u32>,
    /// Unknowns that say of a read that it is of last writes, and the writes that count there.
    pub last_reads: Vec<(UnknownId, EventId, Vec<EventId>)>,
}

impl Structure {
    /// That of a graph with initial writes.
    pub fn of(graph: &EventGraph) -> Self {
        let rmw = BitMatrix::from_pairs(graph.events.len(), graph.rmw.clone());
        let places = base::place_pairs(graph).into_iter().chain(base::life_pairs(graph));
        let relations = places.chain(dependencies(graph)).chain([(BaseRelation::ReadModifyWrite, rmw)]);
        let members = |set: BaseSet| {
            let events = graph.events.iter_enumerated();
            events.filter(|(_, event)| base::in_set(graph, event, set)).map(|(id, _)| id).collect()
        };
        let unknowns = graph.terms.unknowns().iter_enumerated();
        let last_reads = unknowns.filter_map(|(id, unknown)| {
            let (read, counts) = base::last_writes(graph, &unknown.kind)?;
            let is_write = |&event: &EventId| matches!(graph.events[event].kind, EventKind::Write(_));
            Some((id, read, graph.events.ids().filter(is_write).filter(|&event| counts(event)).collect()))
        });
        Self {
            sets: BaseSet::ALL.iter().map(|&(set, _)| (set, members(set))).collect(),
            relations: relations.collect(),
            edges: Edges::relations().map(|base| (base, graph.edges.of(base).collect())).collect(),
            grain_bytes: grains(graph),
            last_reads: last_reads.collect(),
        }
    }
}
