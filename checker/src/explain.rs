//! From a witness to facts about it: which rule family is broken, by which events, and what almost ordered them.
//!
//! Facts only, in ids of the event graph; words are the business of [`crate::report`].
//! Cannot: say which of several repairs the author had in mind.

pub(crate) mod cause;
pub(crate) mod deadlock;
pub mod elsewhere;
pub(crate) mod lifetime;
pub(crate) mod misuse;
pub(crate) mod near;
pub(crate) mod pair;
pub(crate) mod race;
pub(crate) mod reading;
pub(crate) mod reason;
pub mod repair;
pub(crate) mod search;
pub(crate) mod uncomputed;
pub(crate) mod value;

use crate::bits::EventSet;
use crate::encode::goal::GoalKind;
use crate::event::{
    AgentId, CtaId, EventGraph, EventId, EventKind, Misuse, ObligationKind, SiteId, TermKind, TermRef,
    UnknownKind,
};
use crate::findings::{self, FindingKind, FlagKind, Story};
use crate::verdict::Finding;
use crate::witness::Witness;
use fencepost_dsl::Span;
use fencepost_dsl::cat::memory_model::{BaseRelation, MemoryModel};
use fencepost_dsl::index::Id;
use fencepost_dsl::sorted::SortedSet;
use search::Search;

pub use elsewhere::Elsewhere;
pub use near::membars::{SpaReason, Useless};
pub use reading::{Reading, Says};
pub use reason::{Nearby, Reason, Released};
pub use repair::Repair;
pub use search::{Chain, Step, StepKind};

/// Everything a report says about one finding.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// What it is.
    pub kind: &'static FindingKind,
    /// Its page: `family::kebab-name`.
    pub code: &'static str,
    /// Rules it rests on, most specific first.
    pub rules: Vec<&'static str>,
    /// What is wrong.
    pub subject: Subject,
    /// Why; most important first.
    pub reasons: Vec<Reason>,
    /// What almost orders a racing pair.
    pub chain: Option<Chain>,
    /// Questions PTX leaves open with whose other answer it would not be there.
    pub readings: Vec<Reading>,
    /// A change after which it was checked to be gone.
    pub repair: Option<Repair>,
    /// What changes of the launch's program were tried to find one.
    pub tries: repair::Tries,
    /// The finding before it, by its place in the list, whose cause it has in common.
    pub cause: Option<usize>,
    /// The parameters of the execution.
    pub parameters: Vec<(String, u128)>,
    /// The reads that a violated condition depends on.
    pub reads: Vec<ReadFact>,
    /// Published editions of the model that forbid the execution, or under which the race is none.
    pub elsewhere: Vec<Elsewhere>,
    /// Instructions on whose results the execution rests although nobody computes them.
    pub uncomputed: Vec<SiteId>,
    /// What happened before a rule about barriers was broken.
    pub facts: Option<misuse::Facts>,
}

/// What a finding is about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Subject {
    /// Two unordered accesses, the one that comes first in the story first.
    Race {
        /// (1)
        earlier: EventId,
        /// (2)
        later: EventId,
    },
    /// Another flag of the model.
    Flag {
        /// What it means.
        kind: &'static FlagKind,
        /// Its name.
        name: String,
        /// Its members; the same event twice for a set.
        pair: (EventId, EventId),
    },
    /// An `assert` that fails.
    Assertion {
        /// Whose.
        agent: AgentId,
        /// The statement.
        span: Span,
        /// Of the enclosing loops.
        iterations: Vec<u32>,
    },
    /// Threads that wait for ever.
    Deadlock {
        /// Who, and for what.
        roles: Vec<deadlock::Role>,
        /// Clusters that have not started.
        absent: Vec<u32>,
    },
    /// An access of a peer's shared memory while that CTA may not be there.
    Lifetime {
        /// The access.
        access: EventId,
        /// Whose memory it is.
        owner: CtaId,
        /// Whether the owner may have ended; else it may not have started.
        ended: bool,
        /// The last instruction of the owner, if it has ended and has one.
        last: Option<EventId>,
    },
    /// A broken rule about barriers or mbarriers.
    Misuse {
        /// Whose.
        agent: AgentId,
        /// Where.
        span: Span,
        /// Of the enclosing loops.
        iterations: Vec<u32>,
        /// What the thread does.
        misuse: Misuse,
    },
    /// A condition on final memory that fails.
    Final {
        /// The condition.
        span: Span,
    },
    /// Nothing wrong: an execution in which every thread finished.
    Completion,
    /// An index outside its object.
    Bounds {
        /// Whose.
        agent: AgentId,
        /// The memory operand.
        span: Span,
        /// Of the enclosing loops.
        iterations: Vec<u32>,
        /// The object.
        object: String,
        /// Its size.
        n_elements: u64,
        /// The index.
        index: u128,
    },
}

/// A read, what it returned, and where that came from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReadFact {
    /// The read.
    pub read: EventId,
    /// Its value.
    pub value: u128,
    /// The write of its first byte.
    pub source: Option<EventId>,
    /// A later write of another thread that also happens, and is not ordered before the read.
    pub missed: Option<EventId>,
}

/// Reads shown that only say how a thread got to a failed condition.
const CONTEXT_MAX: usize = 3;

/// The facts of a finding, without a repair (see [`repair::find()`]).
pub fn explain(graph: &EventGraph, model: &MemoryModel, finding: &Finding) -> Explanation {
    let witness = &*finding.witness;
    let mut search = Search::new(graph, model, witness);
    let mut explanation = match &witness.claim {
        GoalKind::Flag { flag, pair } => {
            let name = model.flags[*flag].name.as_str();
            let kind = findings::flag(name);
            let bare_pair = || bare(kind.kind, Subject::Flag { kind, name: name.to_owned(), pair: *pair });
            match kind.story {
                Story::Lifetime => lifetime::explain(graph, witness, *pair).unwrap_or_else(bare_pair),
                Story::OutOfOrder => out_of_order(&search, bare_pair().subject, *pair),
                Story::Pair => {
                    let mut explanation = bare_pair();
                    pair::explain(&search, *pair, &mut explanation);
                    if explanation.code == findings::mbarrier::PHASE_NOT_WAITED_FOR.code {
                        explanation.facts = misuse::completed_before(graph, witness, pair.0);
                    }
                    explanation
                }
                Story::Chain | Story::TensorMemory | Story::Tensormap | Story::Grids | Story::Proxies => {
                    race::explain(&mut search, *pair)
                }
            }
        }
        GoalKind::Obligation(index) => obligation(&search, *index),
        GoalKind::Deadlock | GoalKind::NotResident => deadlock::explain(graph, witness),
        GoalKind::Condition => condition(graph, witness),
        GoalKind::Completion => bare(&findings::remark::NOTHING_COMPLETES, Subject::Completion),
        GoalKind::Final(index) => {
            let goal = &graph.finals[*index];
            let subject = Subject::Final { span: goal.span };
            let mut explanation = bare(&findings::assertion::FINAL_VIOLATED, subject);
            explanation.reads = final_reads(graph, witness, goal.condition);
            value::explain(&search, &[], &mut explanation);
            explanation
        }
    };
    explanation.parameters = parameters(graph, witness);
    explanation.uncomputed = uncomputed::rests_on(graph, witness);
    explanation
}

/// The example or counter-example of a litmus condition, with everything that was read, as context for a trace.
pub fn condition(graph: &EventGraph, witness: &Witness) -> Explanation {
    let mut explanation = bare(&findings::remark::NOTHING_COMPLETES, Subject::Completion);
    let reads =
        witness.execution.executed.iter().filter(|event| witness.execution.sources.contains_key(event));
    explanation.reads = reads.filter_map(|event| read_fact(graph, witness, event)).collect();
    explanation
}

fn bare(kind: &'static FindingKind, subject: Subject) -> Explanation {
    Explanation {
        kind,
        code: kind.code,
        rules: kind.rules.to_vec(),
        subject,
        reasons: Vec::new(),
        chain: None,
        readings: Vec::new(),
        elsewhere: Vec::new(),
        repair: None,
        tries: repair::Tries::default(),
        cause: None,
        parameters: Vec::new(),
        reads: Vec::new(),
        uncomputed: Vec::new(),
        facts: None,
    }
}

/// What kind of disorder it is on an SPA machine says the link that is missing.
fn out_of_order(search: &Search<'_>, subject: Subject, pair: (EventId, EventId)) -> Explanation {
    // The load comes second.
    let found = search.forth(pair, &[near::membars::near]);
    let reasons = found.map_or_else(Vec::new, |found| found.reasons);
    let mut explanation = bare(SpaReason::kind_of(&reasons), subject);
    explanation.add_rules(reasons.iter().flat_map(Reason::rules));
    explanation.reasons = reasons;
    explanation
}

fn obligation(search: &Search<'_>, index: usize) -> Explanation {
    let (graph, witness) = (search.graph, search.witness);
    let obligation = &graph.obligations[index];
    let (agent, span, iterations) = (obligation.agent, obligation.span, obligation.iterations.clone());
    let mut explanation = match &obligation.kind {
        ObligationKind::Assertion => {
            bare(&findings::assertion::VIOLATED, Subject::Assertion { agent, span, iterations })
        }
        ObligationKind::Discipline(misuse) => {
            assert!(misuse.is_complete(), "{misuse:?}");
            let subject = Subject::Misuse { agent, span, iterations, misuse: misuse.clone() };
            let facts = misuse::explain(graph, witness, obligation, misuse);
            Explanation { rules: vec![misuse.kind.rule], facts, ..bare(misuse.kind.kind, subject) }
        }
        ObligationKind::Bounds { object, n_elements, index } => {
            let subject = Subject::Bounds {
                agent,
                span,
                iterations,
                object: object.clone(),
                n_elements: *n_elements,
                index: witness.values[*index],
            };
            bare(&findings::bounds::OUT_OF_BOUNDS, subject)
        }
    };
    explanation.reads = reads_of(graph, witness, obligation.condition);
    // What let the thread get here, as context.
    let own = |fact: &ReadFact| graph.events[fact.read].agent == Some(agent);
    let mut context: Vec<ReadFact> =
        reads_of(graph, witness, obligation.guard).into_iter().filter(own).collect();
    context.retain(|fact| explanation.reads.iter().all(|known| known.read != fact.read));
    value::explain(search, &context, &mut explanation);
    let n_dropped = context.len().saturating_sub(CONTEXT_MAX);
    explanation
        .reads
        .extend(context.into_iter().skip(n_dropped).map(|fact| ReadFact { missed: None, ..fact }));
    explanation.reads.sort_by_key(|fact| fact.read);
    explanation
}

/// The parameters' values in an execution.
pub fn parameters(graph: &EventGraph, witness: &Witness) -> Vec<(String, u128)> {
    graph
        .parameters
        .iter()
        .map(|(name, unknown)| (name.clone(), witness.execution.unknowns[*unknown]))
        .collect()
}

/// A read that happened, with its value and source.
pub fn read_fact(graph: &EventGraph, witness: &Witness, read: EventId) -> Option<ReadFact> {
    let access = graph.events[read].kind.access()?;
    let source =
        witness.execution.sources.get(&read).and_then(|pieces| pieces.first()).map(|&(write, _)| write);
    let from_reads = &witness.basis.relations[&BaseRelation::FromReads];
    let agent = graph.events[read].agent;
    let missed = from_reads.successors(read).find(|&write| graph.events[write].agent != agent);
    Some(ReadFact { read, value: witness.values[access.value], source, missed })
}

/// The reads whose values some terms depend on.
fn reads_in(graph: &EventGraph, terms: impl IntoIterator<Item = TermRef>) -> impl Iterator<Item = EventId> {
    support(graph, terms).into_iter().filter_map(|kind| match kind {
        UnknownKind::Read(read) => Some(read),
        _ => None,
    })
}

/// The executed reads whose values a term depends on.
fn reads_of(graph: &EventGraph, witness: &Witness, term: TermRef) -> Vec<ReadFact> {
    let executed = |event: &EventId| witness.execution.executed.contains(*event);
    let reads: SortedSet<EventId> = reads_in(graph, [term]).collect();
    reads.into_iter().filter(executed).filter_map(|read| read_fact(graph, witness, read)).collect()
}

/// The last writes (in coherence order) of the bytes that a final condition reads, as if they were read.
fn final_reads(graph: &EventGraph, witness: &Witness, term: TermRef) -> Vec<ReadFact> {
    let mut facts = Vec::new();
    for kind in support(graph, [term]) {
        let UnknownKind::FinalValue { location, offset_bytes, .. } = kind else { continue };
        let writes: Vec<EventId> = witness
            .execution
            .executed
            .iter()
            .filter(|&event| {
                graph.events[event].kind.access().is_some_and(|access| {
                    let first = witness.values[access.offset];
                    access.location == location
                        && !matches!(graph.events[event].kind, EventKind::Read(_))
                        && (first..first + u128::from(access.width_bytes)).contains(&u128::from(offset_bytes))
                })
            })
            .collect();
        let last = writes
            .iter()
            .copied()
            .find(|&write| !writes.iter().any(|&later| witness.execution.coherence.contains(write, later)));
        if let Some(write) = last
            && let Some(access) = graph.events[write].kind.access()
        {
            facts.push(ReadFact {
                read: write,
                value: witness.values[access.value],
                source: Some(write),
                missed: None,
            });
        }
    }
    facts
}

/// What the unknowns under some terms stand for, in order of the unknowns.
fn support(graph: &EventGraph, terms: impl IntoIterator<Item = TermRef>) -> Vec<UnknownKind> {
    let mut seen: SortedSet<TermRef> = SortedSet::new();
    let mut unknowns = SortedSet::new();
    let mut stack: Vec<TermRef> = terms.into_iter().collect();
    while let Some(top) = stack.pop() {
        if !seen.insert(top) {
            continue;
        }
        if let TermKind::Unknown(unknown) = *graph.terms.kind(top) {
            unknowns.insert(unknown);
        }
        stack.extend(graph.terms.operands(top));
    }
    unknowns.into_iter().map(|unknown| graph.terms.unknown(unknown).kind.clone()).collect()
}

impl Explanation {
    /// Adds rules that it does not have yet.
    fn add_rules<'a>(&mut self, rules: impl IntoIterator<Item = &'a &'static str>) {
        for rule in rules {
            if !self.rules.contains(rule) {
                self.rules.push(rule);
            }
        }
    }

    /// The events the story is about: both ends, the links of the chain, the reads of a condition.
    pub fn events(&self, n_events: usize) -> EventSet {
        let mut set = EventSet::empty(n_events);
        match &self.subject {
            Subject::Race { earlier, later } | Subject::Flag { pair: (earlier, later), .. } => {
                set.insert(*earlier);
                set.insert(*later);
            }
            Subject::Lifetime { access, .. } => set.insert(*access),
            Subject::Assertion { .. }
            | Subject::Deadlock { .. }
            | Subject::Misuse { .. }
            | Subject::Final { .. }
            | Subject::Bounds { .. }
            | Subject::Completion => {}
        }
        for step in self.chain.iter().flat_map(|chain| &chain.steps) {
            set.insert(step.from);
            set.insert(step.to);
        }
        for event in self.reasons.iter().flat_map(Reason::events) {
            set.insert(event);
        }
        for event in self.facts.iter().flat_map(misuse::Facts::events) {
            set.insert(event);
        }
        for fact in &self.reads {
            set.insert(fact.read);
            for write in fact.source.into_iter().chain(fact.missed) {
                set.insert(write);
            }
        }
        assert!(set.iter().all(|event| event.index() < n_events));
        set
    }
}
