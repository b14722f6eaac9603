//! What is asked: races and other flags of the model, obligations of the program, loop cuts, completion.

use super::{EncodeError, Encoder};
use crate::cnf::{Direction, Literal};
use crate::event::{AgentId, EventGraph, EventId, TermRef};
use crate::findings::{self, Asked};
use fencepost_dsl::cat::memory_model::Flag;
use fencepost_dsl::kernel::program::FinalKind;
use fencepost_dsl::{IndexVec, Span};

/// Something an execution can do wrong.
#[derive(Clone, Debug)]
pub struct Goal {
    /// True only in executions that do it.
    pub literal: Literal,
    /// What it is.
    pub kind: GoalKind,
}

/// What a goal is about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum GoalKind {
    /// A pair of events is in a flagged relation (or, twice the same, an event in a flagged set).
    Flag {
        /// Index into the model's flags.
        flag: usize,
        /// The pair; the smaller id first for symmetric relations.
        pair: (EventId, EventId),
    },
    /// An obligation of the graph, by index.
    Obligation(usize),
    /// A final condition of the graph, by index.
    Final(usize),
    /// Some thread has not finished, and every such thread stands where nothing lets it go on.
    Deadlock,
    /// Some cluster has not started, and of the others' threads some have not finished and wait for ever.
    NotResident,
    /// An execution that the graph's litmus condition asks for, as an example or a counter-example.
    Condition,
    /// Every thread runs to its end. Nothing wrong: asked so that a proof is not about nothing.
    Completion,
}

/// Something at least one execution must do.
#[derive(Clone, Debug)]
pub struct ReachableGoal {
    /// The statement.
    pub span: Span,
    /// True only in executions that do it.
    pub literal: Literal,
}

/// Whether a flag is looked for in a launch.
pub fn is_asked(flag: &Flag, graph: &EventGraph) -> bool {
    match findings::flag(&flag.name).asked {
        Asked::Always => true,
        Asked::OfPeers => !graph.peer_accesses.is_empty(),
        Asked::OfTensorMemory => {
            graph.locations.iter().any(|location| location.is_tensor)
                || graph.events.iter().any(|event| event.kind.tensor().is_some())
        }
        Asked::OfFindings => false,
    }
}

/// The literals of a litmus condition.
#[derive(Clone, Copy, Debug)]
pub struct ConditionGoal {
    /// Every thread ran to its end, in a state that the filter lets count.
    pub counts: Literal,
    /// The execution that is asked for ([`GoalKind::Condition`]).
    pub wanted: Literal,
}

/// Goals, "this thread runs past this loop cut", "every thread ran to its end", what must be reachable, and the
/// execution a litmus condition asks for.
pub(super) type Goals = (Vec<Goal>, Vec<Literal>, Literal, Vec<ReachableGoal>, Option<ConditionGoal>);

impl Encoder<'_> {
    pub(super) fn goals(&mut self) -> Result<Goals, EncodeError> {
        let graph = self.problem.graph;
        let mut goals = self.flag_goals()?;
        for (index, obligation) in graph.obligations.iter().enumerate() {
            let reached = self.truth(obligation.guard);
            let holds = self.truth(obligation.condition);
            self.add_goal(&mut goals, GoalKind::Obligation(index), &[reached, !holds]);
        }
        let completed = self.truths(graph.completed.iter().copied());
        let complete = self.formula.and(Direction::Both, &completed);
        self.deadlock_goal(&mut goals, complete);
        let mut reachable: Vec<ReachableGoal> = Vec::new();
        for goal in &graph.reachables {
            let literal = self.truth(goal.condition);
            match reachable.iter_mut().find(|known| known.span == goal.span) {
                Some(known) => known.literal = self.formula.or(Direction::Both, &[known.literal, literal]),
                None => reachable.push(ReachableGoal { span: goal.span, literal }),
            }
        }
        for (index, goal) in graph.finals.iter().enumerate() {
            let holds = self.truth(goal.condition);
            match goal.kind {
                FinalKind::Assert => self.add_goal(&mut goals, GoalKind::Final(index), &[complete, !holds]),
                FinalKind::Reachable => {
                    let literal = self.formula.and(Direction::Both, &[complete, holds]);
                    reachable.push(ReachableGoal { span: goal.span, literal });
                }
            }
        }
        let cuts = self.truths(graph.cuts.iter().map(|cut| cut.guard));
        let condition = graph.condition.as_ref().map(|goal| {
            let holds = self.truth(goal.condition);
            let counts = self.truth(goal.filter);
            let wanted = if goal.wanted() { holds } else { !holds };
            let counts = self.formula.and(Direction::Both, &[complete, counts]);
            ConditionGoal { counts, wanted: self.formula.and(Direction::Both, &[counts, wanted]) }
        });
        Ok((goals, cuts, complete, reachable, condition))
    }

    fn truths(&mut self, terms: impl Iterator<Item = TermRef>) -> Vec<Literal> {
        terms.map(|term| self.truth(term)).collect()
    }

    fn add_goal(&mut self, goals: &mut Vec<Goal>, kind: GoalKind, inputs: &[Literal]) {
        let literal = self.formula.and(Direction::Both, inputs);
        if literal != Literal::FALSE {
            goals.push(Goal { literal, kind });
        }
    }

    fn deadlock_goal(&mut self, goals: &mut Vec<Goal>, complete: Literal) {
        let graph = self.problem.graph;
        if graph.blocked.is_empty() {
            return;
        }
        let mut standing: IndexVec<AgentId, Vec<TermRef>> =
            IndexVec::repeat(Vec::new(), graph.completed.len());
        for blocked in &graph.blocked {
            standing[blocked.agent].push(blocked.stuck);
        }
        let mut settled = Vec::with_capacity(standing.len());
        for (agent, ways) in standing.iter_enumerated() {
            let ways = ways.iter().chain([&graph.completed[agent]]);
            let ways = self.truths(ways.copied());
            settled.push(self.formula.or(Direction::Both, &ways));
        }
        let starts = self.truths(graph.starts.iter().copied());
        let mut hangs = settled.clone();
        hangs.push(!complete);
        hangs.extend(&starts);
        self.add_goal(goals, GoalKind::Deadlock, &hangs);
        if starts.is_empty() {
            return;
        }
        let everywhere = self.formula.and(Direction::Both, &starts);
        let resident = graph.blocked.iter().filter(|blocked| blocked.is_resident(&graph.hierarchy));
        let stuck = self.truths(resident.map(|blocked| blocked.stuck));
        let mut waits = vec![!everywhere, self.formula.or(Direction::Both, &stuck)];
        for (agent, ends) in graph.hierarchy.agents().zip(settled) {
            let started = self.truth(graph.started(agent));
            waits.push(self.formula.or(Direction::Both, &[!started, ends]));
        }
        self.add_goal(goals, GoalKind::NotResident, &waits);
    }

    /// The flags that are asked for, pair by pair.
    fn flag_goals(&mut self) -> Result<Vec<Goal>, EncodeError> {
        let mut goals = Vec::new();
        for (index, flag) in self.problem.model.flags.iter().enumerate() {
            if !is_asked(flag, self.problem.graph) {
                continue;
            }
            if !self.is_relation(flag.term) {
                let members: Vec<EventId> = self.problem.table.values.set(flag.term).may.iter().collect();
                for event in members {
                    let literal = self.member(flag.term, event, Direction::Down)?;
                    let kind = GoalKind::Flag { flag: index, pair: (event, event) };
                    self.add_goal(&mut goals, kind, &[literal]);
                }
                continue;
            }
            let may = self.problem.table.values.relation(flag.term).may.clone();
            for (a, b) in may.pairs() {
                // A symmetric relation needs only one of the two pairs.
                if b < a && may.contains(b, a) && self.is_symmetric(flag.term) {
                    continue;
                }
                let literal = self.edge(flag.term, a, b, Direction::Down)?;
                let kind = GoalKind::Flag { flag: index, pair: (a, b) };
                self.add_goal(&mut goals, kind, &[literal]);
                self.check_limits()?;
            }
        }
        Ok(goals)
    }

    /// Whether the bounds of a relation are symmetric and its literals can be taken to be: `r | r^-1` in shape, or a
    /// conflict relation. Decided on the model's own terms by [`crate::relation::is_symmetric`].
    fn is_symmetric(&self, term: fencepost_dsl::cat::memory_model::TermId) -> bool {
        crate::relation::is_symmetric(self.problem.model, term)
    }
}
