//! From a witness to facts about it: which rule family is broken, by which events, and what almost ordered them.
//!
//! Facts only, in ids of the event graph; words are the business of [`crate::report`].
//! Cannot: say which of several repairs the author had in mind.

pub(crate) mod cause;
pub(crate) mod deadlock;
pub mod elsewhere;
pub(crate) mod explanation;
pub(crate) mod lifetime;
pub(crate) mod misuse;
pub(crate) mod near;
pub(crate) mod pair;
pub(crate) mod race;
pub(crate) mod reading;
pub(crate) mod reads;
pub(crate) mod reason;
pub mod repair;
pub(crate) mod roles;
pub(crate) mod search;
pub(crate) mod spa;
pub(crate) mod subject;
pub(crate) mod uncomputed;
pub(crate) mod value;

use self::explanation::bare;
use self::reads::{final_reads, reads_of};
use crate::encode::goal::GoalKind;
use crate::event::{EventGraph, EventId, ObligationKind};
use crate::findings::{self, Story};
use crate::verdict::Finding;
use crate::witness::Witness;
use fencepost_dsl::cat::memory_model::MemoryModel;
use search::Search;

pub use elsewhere::Elsewhere;
pub use explanation::Explanation;
pub use reading::{Reading, Says};
pub use reads::{ReadFact, parameters, read_fact};
pub use reason::{Nearby, Reason, Released};
pub use repair::edit::Repair;
pub use search::{Chain, Step, StepKind};
pub use spa::{SpaReason, Useless};
pub use subject::Subject;

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

/// What kind of disorder it is on an SPA machine says the link that is missing.
fn out_of_order(search: &Search<'_>, subject: Subject, pair: (EventId, EventId)) -> Explanation {
    // The load comes second.
    let found = search.forth(pair, &[near::membars::near]);
    let reasons = found.map_or_else(Vec::new, |found| found.reasons);
    let mut explanation = bare(near::membars::kind_of(&reasons), subject);
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
