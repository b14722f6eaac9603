//! What surely came before a place in a thread, by program order and barriers.

use crate::event::{AgentId, TermPool, TermRef};
use crate::synchronization::barrier::{Arrival, PassedBarrier};
use crate::synchronization::log::Operation;
use fencepost_dsl::Span;
use fencepost_dsl::sorted::SortedMap;

/// Rounds at most to find what surely came before; what is known after any number of them is so.
const ROUNDS_MAX: usize = 100;

/// Per thread: it surely has got to this position.
type Past = SortedMap<AgentId, u32>;

/// A place at which a thread does something.
#[derive(Clone, Copy)]
pub struct Moment {
    /// Whose.
    pub agent: AgentId,
    /// In program order.
    pub position: u32,
    /// When.
    pub guard: TermRef,
    /// The statement.
    pub span: Span,
    /// Where it was started, if it is asynchronous.
    pub issued: Option<(AgentId, u32)>,
}

impl Moment {
    /// Where an operation happens.
    pub fn of(operation: &Operation) -> Self {
        let Operation { agent, position, guard, span, issued, .. } = *operation;
        Self { agent, position, guard, span, issued }
    }

    /// The place of the instruction that started it, if it is asynchronous.
    pub fn started(self) -> Self {
        let (agent, position) = self.issued.unwrap_or((self.agent, self.position));
        Self { agent, position, issued: None, ..self }
    }
}

/// What surely came before, by program order and barriers.
pub struct History<'a> {
    terms: &'a TermPool,
    /// By thread: passages through barriers, and what is known after each.
    passages: SortedMap<AgentId, Vec<(u32, TermRef, Past)>>,
}

impl<'a> History<'a> {
    /// From what passing each barrier needs.
    pub fn new(terms: &'a TermPool, passed: &[PassedBarrier]) -> Self {
        let mut history = Self { terms, passages: SortedMap::new() };
        for passage in passed {
            let of_thread = history.passages.entry(passage.agent).or_default();
            of_thread.push((passage.position, passage.guard, Past::new()));
        }
        for _ in 0..ROUNDS_MAX {
            let mut changed = false;
            let mut next: SortedMap<AgentId, usize> = SortedMap::new();
            for passage in passed {
                let mut past = history.past(passage.agent, passage.position, passage.guard);
                for places in passage.arrivals.iter() {
                    let mut least: Option<Past> = None;
                    for &Arrival { agent, position, guard, .. } in places {
                        let mut there = history.past(agent, position, guard);
                        let own = there.entry(agent).or_default();
                        *own = (*own).max(position);
                        least = Some(least.map_or_else(|| there.clone(), |known| meet(&known, &there)));
                    }
                    merge(&mut past, &least.unwrap_or_default());
                }
                let at = next.entry(passage.agent).or_default();
                let known = history.passages.get_mut(&passage.agent).map(|all| &mut all[*at].2);
                *at += 1;
                if let Some(known) = known
                    && *known != past
                {
                    *known = past;
                    changed = true;
                }
            }
            if !changed {
                break;
            }
        }
        history
    }

    /// What surely came before a place.
    fn past(&self, agent: AgentId, position: u32, guard: TermRef) -> Past {
        let mut past = Past::new();
        for (at, passed, known) in self.passages.get(&agent).into_iter().flatten() {
            if *at < position && self.terms.implies_syntactically(guard, *passed) {
                merge(&mut past, known);
            }
        }
        past
    }

    /// Whether one place surely comes before another.
    pub fn is_before(&self, a: Moment, b: Moment) -> bool {
        let (agent, position) = b.issued.unwrap_or((b.agent, b.position));
        if a.agent == agent {
            return a.position < position;
        }
        let past = self.past(agent, position, b.guard);
        past.get(&a.agent).is_some_and(|&position| a.position <= position)
    }
}

fn merge(into: &mut Past, other: &Past) {
    for (&agent, &position) in other {
        let known = into.entry(agent).or_default();
        *known = (*known).max(position);
    }
}

fn meet(a: &Past, b: &Past) -> Past {
    a.iter().filter_map(|(&agent, &position)| Some((agent, position.min(*b.get(&agent)?)))).collect()
}
