//! Who waits for ever, for what, and where those stand who could help.
//!
//! Threads that wait at the same place for the same thing make one role. Cannot: say which of the waits in a circle the
//! author meant to come first.

use super::{Explanation, Subject, bare, final_reads};
use crate::encode::goal::GoalKind;
use crate::event::{AgentId, Blocked, EventGraph, EventKind, MbarrierRole, Wait};
use crate::verdict::Property;
use crate::witness::Witness;
use fencepost_dsl::Span;

/// Threads that wait for ever at one place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Role {
    /// Who.
    pub agents: Vec<AgentId>,
    /// Where.
    pub span: Span,
    /// Iterations of the enclosing loops.
    pub iterations: Vec<u32>,
    /// For what.
    pub wait: WaitFact,
}

/// What a role waits for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WaitFact {
    /// For memory to change: instructions of the last try, and what they read.
    Memory(Vec<LookFact>),
    /// For a phase of an mbarrier.
    Phase {
        /// Its name.
        object: String,
        /// Opcode and operand.
        text: String,
        /// Phases completed in the end.
        completed: u128,
        /// Arrivals in the phase that is not complete: thread, instruction, how often.
        arrived: Vec<(AgentId, Span)>,
        /// The phase that a wait by parity waits for, if that one and the next are over.
        overtaken: Option<u32>,
    },
    /// For threads to arrive at a barrier.
    Barrier {
        /// As a reader knows it.
        name: String,
        /// Who has not arrived, and where they are instead.
        missing: Vec<(AgentId, Standing)>,
    },
}

/// A read of a try that fails for ever.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LookFact {
    /// Where it is.
    pub span: Span,
    /// Opcode and operand.
    pub text: String,
    /// What it reads.
    pub value: u128,
    /// Whether the read is weak.
    pub is_weak: bool,
}

/// Where a thread is when nothing happens any more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standing {
    /// It ran to its end.
    Finished,
    /// It waits there.
    Waits(Span),
}

/// The facts of a deadlock.
pub fn explain(graph: &EventGraph, witness: &Witness) -> Explanation {
    let standing: Vec<&Blocked> =
        graph.blocked.iter().filter(|blocked| witness.values[blocked.stuck] == 1).collect();
    let mut roles: Vec<Role> = Vec::new();
    for blocked in &standing {
        let wait = wait_fact(graph, witness, &standing, &blocked.wait);
        let same = roles.iter_mut().find(|role| {
            role.span == blocked.span && role.iterations == blocked.iterations && role.wait == wait
        });
        match same {
            Some(role) => role.agents.push(blocked.agent),
            None => roles.push(Role {
                agents: vec![blocked.agent],
                span: blocked.span,
                iterations: blocked.iterations.clone(),
                wait,
            }),
        }
    }
    // A spin is more likely the cause than the barrier at which others wait for the spinning thread.
    roles.sort_by_key(|role| matches!(role.wait, WaitFact::Barrier { .. }));
    let looks = || {
        roles.iter().flat_map(|role| match &role.wait {
            WaitFact::Memory(looks) => looks.as_slice(),
            WaitFact::Barrier { .. } | WaitFact::Phase { .. } => &[],
        })
    };
    let is_spin = roles.iter().any(|role| matches!(role.wait, WaitFact::Memory(_)));
    let absent: Vec<u32> = (0u32..)
        .zip(&graph.starts)
        .filter(|&(_, &started)| witness.values[started] == 0)
        .map(|(c, _)| c)
        .collect();
    let (code, rules) = if witness.claim == GoalKind::NotResident {
        ("deadlock::not-co-resident", vec!["LT-5", "LT-6"])
    } else if looks().any(|look| look.is_weak) {
        ("deadlock::weak-spin", vec!["LT-7"])
    } else if is_spin {
        ("deadlock::spin-never-ends", vec!["LT-8"])
    } else if roles.iter().any(|role| matches!(role.wait, WaitFact::Phase { .. })) {
        let is_overtaken = |role: &Role| matches!(role.wait, WaitFact::Phase { overtaken: Some(_), .. });
        let rule = if roles.iter().any(is_overtaken) { "UB-M11" } else { "MB-4" };
        ("deadlock::phase-never-completes", vec![rule])
    } else {
        ("deadlock::barrier-never-completes", vec!["BR-2", "BR-7"])
    };
    let mut reads = Vec::new();
    for blocked in &standing {
        if let Wait::Memory(looks) = &blocked.wait {
            for look in looks.iter().filter(|look| witness.values[look.guard] == 1) {
                for fact in final_reads(graph, witness, look.value) {
                    // Of several writes that none follows, only the one the try saw.
                    let is_seen = fact.value == witness.values[look.value];
                    if is_seen && graph.events[fact.read].agent.is_some() && !reads.contains(&fact) {
                        reads.push(fact);
                    }
                }
            }
        }
    }
    let mut explanation = bare(code, Property::Deadlock, rules, Subject::Deadlock { roles, absent });
    explanation.reads = reads;
    explanation
}

fn wait_fact(graph: &EventGraph, witness: &Witness, standing: &[&Blocked], wait: &Wait) -> WaitFact {
    match wait {
        Wait::Memory(looks) => {
            let mut facts: Vec<LookFact> = Vec::new();
            for look in looks.iter().filter(|look| witness.values[look.guard] == 1) {
                let site = &graph.sites[look.site];
                let text = if site.operand.is_empty() {
                    site.text.clone()
                } else {
                    format!("{} {}", site.text, site.operand)
                };
                let value = witness.values[look.value];
                facts.push(LookFact { span: site.span, text, value, is_weak: look.is_weak });
            }
            WaitFact::Memory(facts)
        }
        Wait::Phase { site, object, completed, meant, .. } => {
            let completed = witness.values[*completed];
            let overtaken = meant.filter(|&meant| completed > u128::from(meant) + 1);
            let arrived = graph
                .events
                .iter_enumerated()
                .filter(|(id, event)| {
                    witness.execution.executed.contains(*id)
                        && matches!(&event.kind, EventKind::Mbarrier(operation)
                            if operation.object == *object && operation.role == MbarrierRole::Arrive)
                })
                .filter_map(|(_, event)| Some((event.agent?, graph.sites[event.site?].span)))
                .collect();
            let site = &graph.sites[*site];
            WaitFact::Phase {
                object: graph.mbarriers[*object].name.clone(),
                text: format!("{} {}", site.text, site.operand),
                completed,
                arrived,
                overtaken,
            }
        }
        Wait::Barrier { name, awaited, .. } => {
            let missing = awaited
                .iter()
                .filter(|(_, done)| witness.values[*done] == 0)
                .map(|&(agent, _)| (agent, standing_of(standing, agent)))
                .collect();
            WaitFact::Barrier { name: name.clone(), missing }
        }
    }
}

fn standing_of(standing: &[&Blocked], agent: AgentId) -> Standing {
    standing
        .iter()
        .find(|blocked| blocked.agent == agent)
        .map_or(Standing::Finished, |blocked| Standing::Waits(blocked.span))
}
