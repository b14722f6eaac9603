//! From bounded relations to clauses: executions, communication, axioms and what is asked of them.
//!
//! After this pass there are no events, only literals, and the maps that lead back from an assignment to an execution.
//! Literals are spent on open pairs only; certain pairs are the conjunction of their ends' guards.

pub(crate) mod closure;
mod counting;
pub(crate) mod edge;
pub mod goal;
pub(crate) mod memory;
pub(crate) mod order;
pub(crate) mod value;

use crate::bits::BitMatrix;
use crate::cnf::{Direction, Formula, Literal};
use crate::event::cell::Cells;
use crate::event::{Edge, Edges, EventGraph, EventId, EventKind, TermPool, TermRef};
use crate::relation::RelationTable;
use crate::unroll::MbarrierEncoding;
use closure::ClosureTable;
use fencepost_dsl::IndexVec;
use fencepost_dsl::cat::memory_model::{AxiomKind, BaseRelation, MemoryModel, TermId, TermKind};
use fencepost_dsl::sorted::SortedMap;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use value::{BitBlaster, KnownValues};

/// Which optimisations are on. Each has a `Sound:` paragraph where it is implemented, and the suite runs without it too.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Treatment {
    /// Bounds that follow from axioms (`relation::tighten`).
    pub tighten: bool,
    /// One direction of gates where the solver wants a relation small or large (`edge`).
    pub polarity: bool,
    /// Transitive closure over frontiers instead of all triples (`closure`).
    pub frontier: bool,
    /// Constant bits of values read (`memory::known_values`), and writes that a read cannot take from since its value is
    /// compared (`relation::base`).
    pub known_values: bool,
    /// Failing tries of spin loops that cannot race are left out ([`mod@crate::check`]).
    pub prune_spins: bool,
    /// Whether anything completes is first tried by running the threads in turns (`witness::interleaving`).
    pub interleave: bool,
    /// Of all orders of interchangeable threads one is enough (`relation::symmetry`).
    pub symmetry: bool,
    /// What follows for words that only additions write (`relation::counting`).
    pub counting: bool,
    /// The order of what only additions and writes of constants write, found out round by round
    /// (`relation::counting::resets`).
    pub resets: bool,
    /// Launches with at least so many events are looked at in slices first, a few threads at a time.
    pub slices_from: usize,
    /// Slices are around places first, not only where they cannot be around threads (`slice::plan::places`).
    pub slices_by_place: bool,
    /// In launches with at least so many events, cells that are touched alike are one (`check::cells`).
    pub cells_from: usize,
    /// What goes wrong in a slice is shown of the whole by letting the others run along (`check::slices::whole`).
    pub completing: bool,
    /// Loops whose rounds may be without effect need no bound (`unroll::wait`).
    pub waits: bool,
    /// Rounds without effect that all threads of a CTA make together count as one (`unroll::cta_wait`).
    pub cta_waits: bool,
    /// Registers are read as what they are on the path that reads them (`event::term::path`).
    pub paths: bool,
    /// A question with several assertions in it that takes more steps is put as one about each of them, one after the other
    /// (`check::lemmas`).
    pub lemmas_from: u64,
    /// A launch of at least so many threads is checked for each value of its parameters, where those are few (`check::split`).
    pub split_from: u64,
    /// A launch in which few lanes stand for all that may be elected is checked for each of them (`check::leaders`).
    pub leaders: bool,
    /// Where threads drop out of mbarriers, or bytes are delivered, arrivals that cannot be one too many are not asked about
    /// (`synchronization::mbarrier::full`).
    pub never_full: bool,
    /// What the lanes of a warp name alike in an aligned matrix operation is read once (`unroll::asynchronous::together`).
    pub together: bool,
    /// In a launch of at least so many threads, a load of shared memory that can only return what one store has written is that
    /// value (`unroll::forward`).
    pub forward_from: u64,
    /// How the phases of mbarriers are found ([`crate::unroll::UnrollOptions::mbarrier_encoding`]).
    pub mbarrier_encoding: MbarrierEncoding,
}

impl Treatment {
    /// All on.
    pub const DEFAULT: Self = Self {
        tighten: true,
        polarity: true,
        frontier: true,
        known_values: true,
        prune_spins: true,
        interleave: true,
        symmetry: true,
        counting: true,
        resets: true,
        slices_from: 1_000,
        slices_by_place: false,
        cells_from: 2_000,
        completing: true,
        waits: true,
        cta_waits: true,
        paths: true,
        lemmas_from: 60_000_000,
        split_from: 16,
        leaders: true,
        never_full: true,
        together: true,
        forward_from: 16,
        mbarrier_encoding: MbarrierEncoding::Auto,
    };
    /// Every loop is unwound up to the bound, those that only wait, too; so hardly anything with a loop is proved without
    /// a bound, and it is none of [`Self::ONE_OFF`], which change no verdict.
    pub const UNWOUND: Self = Self { waits: false, ..Self::DEFAULT };
    /// Each round of a CTA counts; none of [`Self::ONE_OFF`], for the same reason.
    pub const CTA_ROUNDS: Self = Self { cta_waits: false, ..Self::DEFAULT };
    /// Launches are looked at as wholes only. None of [`Self::ONE_OFF`] either, since most launches are too small for slices; a
    /// suite of its own (`tests/slices.rs`) compares it with [`Self::SLICED`].
    pub const WHOLE: Self = Self { slices_from: usize::MAX, ..Self::DEFAULT };
    /// Launches of any size are looked at in slices first.
    pub const SLICED: Self = Self { slices_from: 0, ..Self::DEFAULT };
    /// The same, around places.
    pub const BY_PLACE: Self = Self { slices_by_place: true, ..Self::SLICED };
    /// What slices find is a hint only. None of [`Self::ONE_OFF`], as with [`Self::WHOLE`].
    pub const HINTED: Self = Self { completing: false, ..Self::DEFAULT };
    /// All cells are looked at; none of [`Self::ONE_OFF`], since most launches are too small to have them as one.
    pub const ALL_CELLS: Self = Self { cells_from: usize::MAX, ..Self::DEFAULT };
    /// Where threads drop out of mbarriers each arrival may be one too many; none of [`Self::ONE_OFF`], since few kernels have any.
    pub const MAYBE_FULL: Self = Self { never_full: false, ..Self::DEFAULT };
    /// Any lane may be elected in one formula; none of [`Self::ONE_OFF`], since few kernels elect any.
    pub const ANY_LEADER: Self = Self { leaders: false, ..Self::DEFAULT };
    /// Each lane reads the matrices that it names; none of [`Self::ONE_OFF`], since few kernels have any.
    pub const BY_LANES: Self = Self { together: false, ..Self::DEFAULT };
    /// Each load of shared memory is an unknown of its own; none of [`Self::ONE_OFF`], since most launches are too small to have
    /// it otherwise.
    pub const UNFORWARDED: Self = Self { forward_from: u64::MAX, ..Self::DEFAULT };
    /// In launches of any size, a load of shared memory that can only see one store returns what that has written.
    pub const FORWARDED: Self = Self { forward_from: 0, ..Self::DEFAULT };
    /// In launches of any size, cells that are touched alike are one.
    pub const FEW_CELLS: Self = Self { cells_from: 0, ..Self::DEFAULT };
    /// Launches of any size are checked for each value of their parameters.
    pub const SPLIT: Self = Self { split_from: 0, ..Self::DEFAULT };
    /// Assertions are only asked about together; none of [`Self::ONE_OFF`], since few questions are hard enough to make a
    /// difference.
    pub const TOGETHER: Self = Self { lemmas_from: u64::MAX, ..Self::DEFAULT };
    /// All on but one, by name, for the suite that compares them.
    pub const ONE_OFF: &'static [(&'static str, Self)] = &[
        ("no-tighten", Self { tighten: false, ..Self::DEFAULT }),
        ("no-polarity", Self { polarity: false, ..Self::DEFAULT }),
        ("no-frontier", Self { frontier: false, ..Self::DEFAULT }),
        ("no-known-values", Self { known_values: false, ..Self::DEFAULT }),
        ("no-prune-spins", Self { prune_spins: false, ..Self::DEFAULT }),
        ("no-interleave", Self { interleave: false, ..Self::DEFAULT }),
        ("no-symmetry", Self { symmetry: false, ..Self::DEFAULT }),
        ("no-counting", Self { counting: false, ..Self::DEFAULT }),
        ("all-forwarded", Self::FORWARDED),
        ("no-paths", Self { paths: false, ..Self::DEFAULT }),
        ("assertions-one-by-one", Self { lemmas_from: 0, ..Self::DEFAULT }),
        ("no-resets", Self { resets: false, ..Self::DEFAULT }),
        ("few-cells", Self::FEW_CELLS),
        ("no-split", Self { split_from: u64::MAX, ..Self::DEFAULT }),
        ("ordered-mbarriers", Self { mbarrier_encoding: MbarrierEncoding::Order, ..Self::DEFAULT }),
    ];

    /// The others that have a name, each for the reason that it has above.
    pub const OTHERS_OFF: &'static [(&'static str, Self)] = &[
        ("no-waits", Self::UNWOUND),
        ("no-cta-waits", Self::CTA_ROUNDS),
        ("no-slices", Self::WHOLE),
        ("no-completing", Self::HINTED),
        ("no-alike-cells", Self::ALL_CELLS),
        ("no-lemmas", Self::TOGETHER),
        ("no-never-full", Self::MAYBE_FULL),
        ("no-warp-reads", Self::BY_LANES),
        ("no-leaders", Self::ANY_LEADER),
        ("no-forwarding", Self::UNFORWARDED),
    ];

    /// Whether the order of words that are set back is found out: that takes bounds, and what values are compared with.
    pub fn counts_resets(self) -> bool {
        self.resets && self.counting && self.tighten && self.known_values
    }

    /// What is on in both.
    pub fn and(self, other: Self) -> Self {
        /// What one of the two sets.
        fn set<T: PartialEq>(own: T, other: T, usual: T) -> T {
            if own == usual { other } else { own }
        }
        Self {
            tighten: self.tighten && other.tighten,
            polarity: self.polarity && other.polarity,
            frontier: self.frontier && other.frontier,
            known_values: self.known_values && other.known_values,
            prune_spins: self.prune_spins && other.prune_spins,
            interleave: self.interleave && other.interleave,
            symmetry: self.symmetry && other.symmetry,
            counting: self.counting && other.counting,
            resets: self.resets && other.resets,
            slices_from: set(self.slices_from, other.slices_from, Self::DEFAULT.slices_from),
            slices_by_place: self.slices_by_place || other.slices_by_place,
            cells_from: set(self.cells_from, other.cells_from, Self::DEFAULT.cells_from),
            completing: self.completing && other.completing,
            waits: self.waits && other.waits,
            cta_waits: self.cta_waits && other.cta_waits,
            paths: self.paths && other.paths,
            lemmas_from: set(self.lemmas_from, other.lemmas_from, Self::DEFAULT.lemmas_from),
            leaders: self.leaders && other.leaders,
            split_from: set(self.split_from, other.split_from, Self::DEFAULT.split_from),
            never_full: self.never_full && other.never_full,
            together: self.together && other.together,
            forward_from: set(self.forward_from, other.forward_from, Self::DEFAULT.forward_from),
            mbarrier_encoding: set(
                self.mbarrier_encoding,
                other.mbarrier_encoding,
                Self::DEFAULT.mbarrier_encoding,
            ),
        }
    }
}

/// Why a graph could not be encoded.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum EncodeError {
    /// The formula grew past its limit.
    #[error("the formula has more than {limit} clauses")]
    TooManyClauses {
        /// The limit.
        limit: usize,
    },
    /// The allowance was used up while encoding.
    #[error("the allowance was used up while the formula was built")]
    Stopped,
    /// A `let rec` relation is needed as a lower bound, which the encoder does not do.
    #[error("a recursive relation is used where the encoder needs all of its pairs certain")]
    RecursionTooLarge {
        /// The relation.
        term: TermId,
    },
}

/// Asked now and then while a formula grows; `true` means stop.
pub type Stop<'a> = &'a dyn Fn() -> bool;

/// What the encoder works from.
#[derive(Clone, Copy)]
pub struct Problem<'a> {
    /// The events.
    pub graph: &'a EventGraph,
    /// Their cells.
    pub cells: &'a Cells,
    /// The axioms.
    pub model: &'a MemoryModel,
    /// Their bounds.
    pub table: &'a RelationTable,
}

/// A candidate source of one piece of a read.
#[derive(Clone, Copy, Debug)]
pub struct Source {
    /// The write.
    pub write: EventId,
    /// Which piece of the write.
    pub piece: u32,
    /// True iff the read takes this piece from there.
    pub literal: Literal,
}

/// Clauses, and how to read an assignment.
pub struct Encoding {
    /// The clauses: guards, communication, axioms.
    pub formula: Formula,
    /// Per event: whether it happens.
    pub executed: IndexVec<EventId, Literal>,
    /// Per read and piece: the candidates.
    pub sources: FxHashMap<EventId, Vec<Vec<Source>>>,
    /// Open pairs of coherence; certain ones follow from the table.
    pub coherence: FxHashMap<(EventId, EventId), Literal>,
    /// Open pairs of the Fence-SC order.
    pub fence_order: FxHashMap<(EventId, EventId), Literal>,
    /// Literals of unknowns.
    pub blaster: BitBlaster,
    /// What each goal's literal is.
    pub goals: Vec<goal::Goal>,
    /// Some thread wants to run past the loop bound.
    pub cut: Literal,
    /// Per loop cut of the graph: its thread wants to run past it.
    pub cuts: Vec<Literal>,
    /// Every thread ran to its end.
    pub complete: Literal,
    /// `reachable` statements and final conditions.
    pub reachable: Vec<goal::ReachableGoal>,
    /// What the litmus condition asks for.
    pub condition: Option<goal::ConditionGoal>,
}

/// The encoder's state.
pub struct Encoder<'a> {
    problem: Problem<'a>,
    treatment: Treatment,
    clauses_max: usize,
    stop: Stop<'a>,
    formula: Formula,
    /// The graph's terms, and address comparisons made on the way.
    terms: TermPool,
    known: KnownValues,
    blaster: BitBlaster,
    executed: IndexVec<EventId, Literal>,
    sources: FxHashMap<EventId, Vec<Vec<Source>>>,
    coherence: FxHashMap<(EventId, EventId), Literal>,
    fence_order: FxHashMap<(EventId, EventId), Literal>,
    edges: FxHashMap<(TermId, EventId, EventId, Direction), Literal>,
    /// Of the second parts of sequences, what may be in them, backwards.
    inverses: FxHashMap<TermId, BitMatrix>,
    closures: FxHashMap<TermId, ClosureTable>,
    pending: VecDeque<closure::Pending>,
    /// Condition of each barrier edge.
    edge_conditions: SortedMap<BaseRelation, FxHashMap<(EventId, EventId), TermRef>>,
}

/// States the whole problem: every assignment of the formula is an execution, and every execution is one of them.
///
/// # Errors
/// If the formula grows past `clauses_max`, or `stop` says so, or the model needs a kind of term the encoder lacks.
pub fn encode(
    problem: Problem<'_>,
    treatment: Treatment,
    clauses_max: usize,
    stop: Stop<'_>,
) -> Result<Encoding, EncodeError> {
    let known = memory::known_values(problem, treatment);
    let mut encoder = Encoder {
        problem,
        treatment,
        clauses_max,
        stop,
        formula: Formula::new(),
        terms: problem.graph.terms.clone(),
        known,
        blaster: BitBlaster::new(),
        executed: IndexVec::new(),
        sources: FxHashMap::default(),
        coherence: FxHashMap::default(),
        fence_order: FxHashMap::default(),
        edges: FxHashMap::default(),
        inverses: FxHashMap::default(),
        closures: FxHashMap::default(),
        pending: VecDeque::new(),
        edge_conditions: Edges::relations()
            .map(|base| (base, conditions(problem.graph.edges.single(base))))
            .collect(),
    };
    encoder.run()?;
    let (goals, cuts, complete, reachable, condition) = encoder.goals()?;
    let cut = encoder.formula.or(Direction::Both, &cuts);
    encoder.settle()?;
    Ok(Encoding {
        formula: encoder.formula,
        executed: encoder.executed,
        sources: encoder.sources,
        coherence: encoder.coherence,
        fence_order: encoder.fence_order,
        blaster: encoder.blaster,
        goals,
        cut,
        cuts,
        complete,
        reachable,
        condition,
    })
}

fn conditions(edges: &[Edge]) -> FxHashMap<(EventId, EventId), TermRef> {
    edges
        .iter()
        .filter(|edge| edge.condition != TermPool::TRUE)
        .map(|edge| ((edge.from, edge.to), edge.condition))
        .collect()
}

impl Encoder<'_> {
    fn run(&mut self) -> Result<(), EncodeError> {
        for event in self.problem.graph.events.iter() {
            let literal = self.truth(event.guard);
            self.executed.push(literal);
        }
        for constraint in &self.problem.graph.constraints {
            let literal = self.truth(constraint.term);
            self.formula.clause(&[literal]);
        }
        self.range_constraints();
        self.formula.comment("communication".to_owned());
        self.communication()?;
        self.break_symmetry();
        self.counted()?;
        self.final_values();
        self.last_reads()?;
        for axiom in &self.problem.model.axioms {
            self.formula.comment(format!("axiom {}", axiom.name));
            self.axiom(axiom.kind, axiom.term)?;
            self.settle()?;
        }
        self.formula.comment("what is asked".to_owned());
        Ok(())
    }

    /// Of executions that are alike, one (see [`crate::relation::symmetry`]). Which of two writes is coherence-before the other
    /// is left out of the bounds already, so only a remark tells of it.
    fn break_symmetry(&mut self) {
        if self.problem.table.classes.is_empty() {
            return;
        }
        for class in &self.problem.table.classes {
            let what = if class.is_permutable { "in this order" } else { "the first of them first" };
            let keys: Vec<String> = class.keys.iter().map(|key| format!("e{}", key.0)).collect();
            self.formula.comment(format!(
                "symmetry: {} {what}, in coherence and in happening at all",
                keys.join(" ")
            ));
        }
        for &term in &self.problem.graph.representative {
            let literal = self.truth(term);
            self.formula.clause(&[literal]);
        }
        self.formula.comment("end of symmetry".to_owned());
    }

    /// Parameters lie in their ranges. (Other unknowns' ranges follow from what defines them.)
    fn range_constraints(&mut self) {
        for (_, unknown) in self.problem.graph.parameters.clone() {
            let description = self.problem.graph.terms.unknown(unknown).clone();
            let bits = self.blaster.unknown(
                &mut self.formula,
                unknown,
                description.width,
                &self.known.unknowns[unknown],
            );
            let constant = |value: u128| -> Vec<Literal> {
                (0..description.width).map(|bit| Literal::constant(value >> bit & 1 == 1)).collect()
            };
            for (low, high) in [(constant(description.min), bits.clone()), (bits, constant(description.max))]
            {
                let ordered = value::at_most(&mut self.formula, &low, &high);
                self.formula.clause(&[ordered]);
            }
        }
    }

    /// The literal of a term of width 1.
    fn truth(&mut self, term: TermRef) -> Literal {
        self.blaster.bits(&mut self.formula, &self.terms, &self.known, term)[0]
    }

    /// The literals of any term.
    fn bits(&mut self, term: TermRef) -> Vec<Literal> {
        self.blaster.bits(&mut self.formula, &self.terms, &self.known, term)
    }

    /// Both events happen.
    fn both_executed(&mut self, a: EventId, b: EventId) -> Literal {
        let basis = &self.problem.table.basis;
        if basis.implies.contains(a, b) {
            return self.executed[a];
        }
        if basis.implies.contains(b, a) {
            return self.executed[b];
        }
        self.formula.and(Direction::Both, &[self.executed[a], self.executed[b]])
    }

    fn check_limits(&self) -> Result<(), EncodeError> {
        if self.formula.n_clauses() > self.clauses_max {
            return Err(EncodeError::TooManyClauses { limit: self.clauses_max });
        }
        if (self.stop)() { Err(EncodeError::Stopped) } else { Ok(()) }
    }

    fn axiom(&mut self, kind: AxiomKind, term: TermId) -> Result<(), EncodeError> {
        if let TermKind::Set(_) = self.problem.model.terms[term].kind {
            // `empty S`: no member may happen. The other checks have no meaning for sets; the resolver rejects them.
            let members: Vec<EventId> = self.problem.table.values.set(term).may.iter().collect();
            for member in members {
                let literal = self.member(term, member, Direction::Up)?;
                self.formula.clause(&[!literal]);
            }
            return Ok(());
        }
        match kind {
            AxiomKind::Empty => {
                let pairs: Vec<_> = self.problem.table.values.relation(term).may.pairs().collect();
                for (a, b) in pairs {
                    let literal = self.edge(term, a, b, Direction::Up)?;
                    self.formula.clause(&[!literal]);
                    self.check_limits()?;
                }
            }
            AxiomKind::Irreflexive => {
                for event in self.problem.graph.events.ids() {
                    let literal = self.edge(term, event, event, Direction::Up)?;
                    self.formula.clause(&[!literal]);
                    self.check_limits()?;
                }
            }
            AxiomKind::Acyclic => self.acyclic(term)?,
        }
        Ok(())
    }

    /// Whether the event is a memory access.
    fn is_read(&self, event: EventId) -> bool {
        matches!(self.problem.graph.events[event].kind, EventKind::Read(_))
    }
}
