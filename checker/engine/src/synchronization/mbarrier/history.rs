//! What surely came before a place in a thread, by program order and barriers.

use crate::event::{AgentId, TermPool, TermRef};
use crate::synchronization::barrier::{Arrival, PassedBarrier};
use crate::synchronization::log::Operation;
use fencepost_dsl::Span;
use fencepost_dsl::index::Id as _;
use fencepost_dsl::sorted::SortedMap;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Rounds at most to find what surely came before; what is known after any number of them is so.
const ROUNDS_MAX: usize = 100;

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
            of_thread.push((passage.position, passage.guard, Past::default()));
        }
        for _ in 0..ROUNDS_MAX {
            let mut changed = false;
            let mut next: SortedMap<AgentId, usize> = SortedMap::new();
            // All who pass a barrier know the same of those who came to it.
            let mut of_arrivals: FxHashMap<*const [Vec<Arrival>], Past> = FxHashMap::default();
            for passage in passed {
                let key = Arc::as_ptr(&passage.arrivals);
                let brought = of_arrivals.entry(key).or_insert_with(|| history.brought(&passage.arrivals));
                let mut past = history.past(passage.agent, passage.position, passage.guard);
                past.merge(brought);
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

    /// What those who come to a barrier bring with them: of each group, what each of its members would.
    fn brought(&self, arrivals: &[Vec<Arrival>]) -> Past {
        let mut all = Past::default();
        for places in arrivals {
            let mut least: Option<Past> = None;
            for &Arrival { agent, position, guard, .. } in places {
                let mut there = self.past(agent, position, guard);
                there.note(agent, position);
                match &mut least {
                    None => least = Some(there),
                    Some(least) => least.meet(&there),
                }
            }
            all.merge(&least.unwrap_or_default());
        }
        all
    }

    /// What surely came before a place.
    fn past(&self, agent: AgentId, position: u32, guard: TermRef) -> Past {
        let mut past = Past::default();
        for (at, passed, known) in self.passages.get(&agent).into_iter().flatten() {
            if *at < position && self.terms.implies_syntactically(guard, *passed) {
                past.merge(known);
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
        self.past(agent, position, b.guard).has_reached(a.agent, a.position)
    }
}

/// Per thread, by its number: it surely has got to this position, counted from 1; 0 where nothing is known.
#[derive(Clone, PartialEq, Eq, Default)]
struct Past(Vec<u32>);

impl Past {
    fn note(&mut self, agent: AgentId, position: u32) {
        let at = agent.index();
        if self.0.len() <= at {
            self.0.resize(at + 1, 0);
        }
        self.0[at] = self.0[at].max(position + 1);
    }

    fn has_reached(&self, agent: AgentId, position: u32) -> bool {
        self.0.get(agent.index()).is_some_and(|&known| position < known)
    }

    fn merge(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (own, &theirs) in self.0.iter_mut().zip(&other.0) {
            *own = (*own).max(theirs);
        }
    }

    fn meet(&mut self, other: &Self) {
        self.0.truncate(other.0.len());
        for (own, &theirs) in self.0.iter_mut().zip(&other.0) {
            *own = (*own).min(theirs);
        }
    }
}

/// Barriers at which threads meet, by who passes them.
pub struct Meetings<'a> {
    terms: &'a TermPool,
    passages: FxHashMap<AgentId, Vec<&'a PassedBarrier>>,
}

impl<'a> Meetings<'a> {
    /// From what passing each barrier needs.
    pub fn new(terms: &'a TermPool, passed: &'a [PassedBarrier]) -> Self {
        let mut passages: FxHashMap<AgentId, Vec<&PassedBarrier>> = FxHashMap::default();
        for passage in passed {
            passages.entry(passage.agent).or_default().push(passage);
        }
        Self { terms, passages }
    }

    /// Whether, if the later operation happens, its thread has met that of the earlier one at a barrier that orders memory,
    /// before it started the operation and after the other had happened.
    pub fn have_met(&self, earlier: &Operation, later: &Operation) -> bool {
        let (agent, position) = later.issued.unwrap_or((later.agent, later.position));
        let has_happened = |arrival: &Arrival| {
            arrival.agent == earlier.agent
                && arrival.releases
                && earlier.issued.is_none()
                && earlier.position < arrival.position
                && self.terms.implies_syntactically(arrival.guard, earlier.guard)
        };
        self.passages.get(&agent).into_iter().flatten().any(|passage| {
            passage.position < position
                && self.terms.implies_syntactically(later.guard, passage.guard)
                && passage.arrivals.iter().any(|places| !places.is_empty() && places.iter().all(has_happened))
        })
    }
}
