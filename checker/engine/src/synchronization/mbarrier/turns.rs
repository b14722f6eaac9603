//! In which phases operations on mbarriers happen in one execution: that in which each thread runs as far as it gets, one after
//! the other, again and again.
//!
//! For launches in which the phases of so many operations are open that all executions are too many to state. What is found so
//! is shown by an execution in which threads run in turns (`witness::interleaving`), and by nothing else: a graph with these
//! phases has no others than that one and those that agree with it.
//!
//! Needs: nothing. It is asked of no proof.
//! Cannot: waits whose parity is no number, `.noComplete`, what is found pending, and `cp.async.mbarrier.arrive` that raises
//! what a phase expects; nor does it see threads wait for memory.

use super::count::Count;
use super::phase::Interval;
use crate::event::{AgentId, MbarrierId, TermPool, TermRef};
use crate::synchronization::barrier::{Arrival, PassedBarrier};
use crate::synchronization::log::{Operation, OperationKind};
use fencepost_dsl::sorted::SortedMap;
use rustc_hash::FxHashMap;

/// Something a thread comes to.
enum What<'a> {
    /// By index.
    Operation(usize),
    Barrier(&'a PassedBarrier),
}

/// What an agent has before it, in program order.
struct Agent<'a> {
    points: Vec<(u32, What<'a>)>,
    at: usize,
    /// Of an asynchronous operation, where it is started.
    issued: Option<(AgentId, u32)>,
}

impl Agent<'_> {
    /// The place that it has not got past.
    fn position(&self) -> u32 {
        self.points.get(self.at).map_or(u32::MAX, |&(position, _)| position)
    }
}

/// What comes of a step.
enum Step {
    Done,
    /// Others have to run first.
    Blocked,
    /// It is something that is not followed.
    Unknown,
}

struct Turns<'a> {
    terms: &'a TermPool,
    operations: &'a [Operation],
    agents: SortedMap<AgentId, Agent<'a>>,
    counts: FxHashMap<MbarrierId, Count>,
    /// Of operations that have happened.
    phases: Vec<Option<u32>>,
    /// The operation whose phase a term is.
    of_phase: FxHashMap<TermRef, usize>,
}

/// The phases in which operations happen; those behind a wait that no phase lets through do not. `None` if that is not known.
pub fn in_turns(
    terms: &TermPool,
    operations: &[Operation],
    passed: &[PassedBarrier],
) -> Option<Vec<Interval>> {
    let mut turns = Turns::new(terms, operations, passed);
    turns.run()?;
    let only = |phase: u32| Interval { first: phase, last: phase };
    Some(turns.phases.into_iter().map(|phase| phase.map_or(Interval::NEVER, only)).collect())
}

impl<'a> Turns<'a> {
    fn new(terms: &'a TermPool, operations: &'a [Operation], passed: &'a [PassedBarrier]) -> Self {
        let mut agents: SortedMap<AgentId, Agent<'a>> = SortedMap::new();
        let new = || Agent { points: Vec::new(), at: 0, issued: None };
        for (index, operation) in operations.iter().enumerate() {
            let agent = agents.entry(operation.agent).or_insert_with(new);
            agent.points.push((operation.position, What::Operation(index)));
            agent.issued = agent.issued.or(operation.issued);
        }
        for barrier in passed {
            let agent = agents.entry(barrier.agent).or_insert_with(new);
            agent.points.push((barrier.position, What::Barrier(barrier)));
        }
        for agent in agents.values_mut() {
            agent.points.sort_by_key(|&(position, _)| position);
        }
        Self {
            terms,
            operations,
            agents,
            counts: FxHashMap::default(),
            phases: vec![None; operations.len()],
            // Of several the first, as where phases are narrowed.
            of_phase: operations.iter().enumerate().rev().map(|(index, own)| (own.phase, index)).collect(),
        }
    }

    fn run(&mut self) -> Option<()> {
        let ids: Vec<AgentId> = self.agents.keys().copied().collect();
        loop {
            let mut goes_on = false;
            for &id in &ids {
                while let Some(step) = self.step(id) {
                    match step {
                        Step::Done => goes_on = true,
                        Step::Blocked => break,
                        Step::Unknown => return None,
                    }
                    self.agents.get_mut(&id)?.at += 1;
                }
            }
            if !goes_on {
                return Some(());
            }
        }
    }

    /// What an agent does next; `None` if there is nothing.
    fn step(&mut self, id: AgentId) -> Option<Step> {
        let agent = &self.agents[&id];
        let (_, what) = agent.points.get(agent.at)?;
        if let Some((issuer, position)) = agent.issued
            && self.position(issuer) <= position
        {
            return Some(Step::Blocked);
        }
        Some(match what {
            What::Barrier(barrier) => {
                let has_come = |places: &Vec<Arrival>| {
                    places.iter().any(|place| self.position(place.agent) >= place.position)
                };
                let all = barrier.guard == TermPool::FALSE || barrier.arrivals.iter().all(has_come);
                if all { Step::Done } else { Step::Blocked }
            }
            What::Operation(index) => self.operate(*index),
        })
    }

    /// The place that a thread has not got past; one without mbarriers and barriers waits for nobody.
    fn position(&self, agent: AgentId) -> u32 {
        self.agents.get(&agent).map_or(u32::MAX, Agent::position)
    }

    fn operate(&mut self, index: usize) -> Step {
        let operation = &self.operations[index];
        if operation.guard == TermPool::FALSE {
            return Step::Done;
        }
        if operation.kind.is_life() {
            if let OperationKind::Init { count } = operation.kind {
                self.counts.insert(operation.object, Count::of_initial(count));
            }
            self.phases[index] = Some(0);
            return Step::Done;
        }
        let Some(count) = self.counts.get_mut(&operation.object) else { return Step::Unknown };
        let phase = count.completed;
        let lets_through = match operation.kind {
            OperationKind::WaitParity { parity } => {
                self.terms.constant_value(parity).map(|parity| u128::from(phase % 2) != parity)
            }
            OperationKind::WaitState { state } => {
                self.of_phase.get(&state).and_then(|&own| self.phases[own]).map(|own| phase > own)
            }
            OperationKind::Arrive { no_complete: false, pending: None, count: n, expects, drops, excess } => {
                (count.add(n, drops, expects.into()) || excess.is_some()).then_some(true)
            }
            OperationKind::Expect { .. } | OperationKind::Complete { .. } => {
                count.add(0, false, operation.kind.bytes()).then_some(true)
            }
            _ => None,
        };
        match lets_through {
            Some(true) => {
                self.phases[index] = Some(phase);
                Step::Done
            }
            Some(false) => Step::Blocked,
            None => Step::Unknown,
        }
    }
}
