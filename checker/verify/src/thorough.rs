//! A closer look at what is small: all executions of a graph are made one after the other, without bounds, symmetry or counting,
//! and each is evaluated on the model's text.
//!
//! Which executions there are is stated plainly (`state`) and searched for (`sat`); one that the model forbids is explained
//! (`explain`), and with it all that have the same choices; one that it allows must do nothing that is claimed to be done by
//! none. So what is confirmed here rests on no formula of the engine. Besides, the formula must have each of these executions
//! among its assignments: one that has not is too strong, whatever was proved of it.
//!
//! What has too many executions for that is proved once more, from clauses of this crate's own (`prove`).

mod explain;
mod plain;
pub mod prove;
pub mod sat;
mod state;

use crate::claims::Claims;
use crate::cnf::{Formula, Goal, Meaning};
use crate::execution::{Allowed, Execution, Shows};
use crate::graph::Graph;
use crate::model::evaluate;
use crate::part::{Part, told};
use crate::{Folder, Refused, property_of_flag};
use explain::Explaining;
use fencepost_dsl::cat::MemoryModel;
use sat::{Found, Sat};
use state::State;
use std::collections::BTreeSet;

/// How far it goes before it gives up.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Events of a graph.
    pub events_max: usize,
    /// Executions, allowed or not.
    pub executions_max: usize,
    /// Contradictions of one search.
    pub conflicts_max: usize,
    /// Events of a graph that is stated plainly.
    pub plain_events_max: usize,
    /// Clauses of what is stated plainly, all together.
    pub clauses_max: usize,
    /// Contradictions of one search among these.
    pub plain_conflicts_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            events_max: 80,
            executions_max: 1_500,
            conflicts_max: 100_000,
            plain_events_max: 3_000,
            clauses_max: 3_000_000,
            plain_conflicts_max: 20_000,
        }
    }
}

/// What a closer look came to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Looked {
    /// Executions that the model allows, each different in what it does.
    pub n_allowed: usize,
    /// Executions that it forbids, each of which stands for many.
    pub n_forbidden: usize,
    /// Whether they are all that there are; if not, why it was given up.
    pub given_up: Option<String>,
    /// How many the formula was asked about, all of which it has; if it was not, why not.
    pub accepted: Result<usize, String>,
}

impl Looked {
    fn given_up(why: String) -> Self {
        Self {
            n_allowed: 0,
            n_forbidden: 0,
            given_up: Some(why),
            accepted: Err("there is nothing to ask".to_owned()),
        }
    }

    /// In a line.
    pub fn to_text(&self) -> String {
        let all = match &self.given_up {
            Some(why) if self.n_allowed + self.n_forbidden == 0 => return format!("not taken, since {why}"),
            None => "all executions".to_owned(),
            Some(why) => format!("not all executions, since {why}"),
        };
        let accepted = match &self.accepted {
            Ok(n) => format!("the formula has {n} of them, as many as it was asked about"),
            Err(why) => format!("the formula was not asked, since {why}"),
        };
        format!(
            "{all}: {} allowed, {} forbidden and all that are like them; {accepted}",
            self.n_allowed, self.n_forbidden
        )
    }
}

/// Looks at a part.
///
/// # Errors
/// If an execution does what is claimed to be done by none, or a formula leaves one out.
pub fn look(
    folder: &Folder,
    model: &MemoryModel,
    claims: &Claims,
    part: &Part,
    formula: Option<&str>,
    limits: Limits,
) -> Result<Looked, Refused> {
    let graph = &part.graph;
    if !part.slices.is_empty() {
        return Ok(Looked::given_up("the launch is looked at in slices".to_owned()));
    }
    if graph.events.len() > limits.events_max {
        let why = format!("there are {} events, and {} is the limit", graph.events.len(), limits.events_max);
        return Ok(Looked::given_up(why));
    }
    let mut state = match State::new(graph, Sat::new()) {
        Ok(state) => state,
        Err(why) => return Ok(Looked::given_up(why)),
    };
    let choices = choices(&state);
    let mut looked = Looked { n_allowed: 0, n_forbidden: 0, given_up: None, accepted: Ok(0) };
    let mut asking = match formula {
        Some(name) if part.deductions.iter().all(|own| own.name != "symmetry") => {
            Asking::new(Formula::parse(&folder.text(name)?).map_err(|refused| refused.of(name))?)
        }
        _ => {
            looked.accepted = Err("of threads that are alike it has only one order".to_owned());
            None
        }
    };
    loop {
        if looked.n_allowed + looked.n_forbidden >= limits.executions_max {
            looked.given_up = Some(format!("there are more than {}", limits.executions_max));
            return Ok(looked);
        }
        let (execution, assignment) = match state.search(limits.conflicts_max) {
            None => return Ok(looked),
            Some(Err(())) => {
                looked.given_up = Some("the search takes too long".to_owned());
                return Ok(looked);
            }
            Some(Ok(found)) => found,
        };
        let candidate = Allowed::candidate(graph, model, &execution)
            .map_err(|refused| Refused::new("thorough::disagreement", refused.why))?;
        let roots: Vec<_> = model.axioms.iter().map(|axiom| axiom.term).collect();
        let values = evaluate(model, candidate.basis(), &roots);
        let is_broken = |axiom: &&fencepost_dsl::cat::memory_model::Axiom| {
            !values.get(&axiom.term).is_some_and(|value| crate::model::holds(axiom.kind, value))
        };
        // Of several the one with the fewest choices says most.
        let mut reasons: Vec<BTreeSet<i32>> = Vec::new();
        for axiom in model.axioms.iter().filter(is_broken) {
            let state = &state;
            let none = BTreeSet::new();
            let mut explaining =
                Explaining { model, state, values: &values, assignment: &assignment, choices: none };
            explaining.axiom(axiom.kind, axiom.term);
            reasons.push(explaining.choices);
        }
        reasons.sort_by_key(BTreeSet::len);
        if let Some(reason) = reasons.first() {
            looked.n_forbidden += 1;
            let clause: Vec<i32> = reason.iter().map(|&choice| -choice).collect();
            state.sat.add(&clause);
            continue;
        }
        looked.n_allowed += 1;
        if let Some(wrong) = claims.contradicted(graph, &candidate, part.main()) {
            let why = format!(
                "an execution that the model allows does {wrong}, which is claimed to be done by none"
            );
            return Err(Refused::new("thorough::violated", why));
        }
        if let Some(asking) = &mut asking {
            match asking.has(graph, &execution, limits.conflicts_max) {
                Some(true) => looked.accepted = looked.accepted.map(|n| n + 1),
                Some(false) => {
                    let why =
                        "an execution that the model allows is no assignment of it, so it is too strong"
                            .to_owned();
                    return Err(Refused::new("thorough::formula", why).of(formula.unwrap_or_default()));
                }
                None => looked.accepted = Err("that takes too long".to_owned()),
            }
        }
        let is = |literal: i32| assignment[literal.unsigned_abs() as usize] == (literal > 0);
        let clause: Vec<i32> =
            choices.iter().map(|&literal| if is(literal) { -literal } else { literal }).collect();
        state.sat.add(&clause);
    }
}

/// The literals by which executions differ that do different things.
fn choices(state: &State<'_>) -> Vec<i32> {
    let graph = state.graph;
    let mut terms: Vec<usize> =
        graph.agents.iter().flat_map(|agent| [agent.completed, agent.started]).collect();
    terms.extend(graph.obligations.iter().flat_map(|own| [own.guard, own.condition]));
    terms.extend(graph.cuts.iter().map(|own| own.1).chain(graph.blocked.iter().map(|own| own.stuck)));
    terms.extend(graph.reachable.iter().chain(&graph.finals).map(|own| own.condition));
    terms.extend(graph.condition.iter().flat_map(|own| [own.condition, own.filter]));
    terms.extend(graph.edges.values().flatten().map(|edge| edge.2));
    let mut literals: BTreeSet<i32> = terms.into_iter().map(|term| state.truth(term)).collect();
    for event in 0..graph.events.len() {
        literals.insert(state.happens(event));
        literals.extend(state.address(event));
    }
    literals.extend(state.sources.values().flatten().map(|own| own.2));
    literals.extend(state.coherence.values().chain(state.fence_order.values()));
    literals.into_iter().collect()
}

/// A formula that is asked whether it has an execution.
struct Asking {
    formula: Formula,
    sat: Sat,
}

impl Asking {
    fn new(formula: Formula) -> Option<Self> {
        let mut sat = Sat::new();
        formula.clauses.iter().for_each(|clause| sat.add(clause));
        Some(Self { formula, sat })
    }

    /// Whether some assignment is that execution, whatever values nobody looks at have; `None` if that takes too long.
    fn has(&mut self, graph: &Graph, execution: &Execution, conflicts_max: usize) -> Option<bool> {
        let mut assumed = Vec::new();
        let mut told = BTreeSet::new();
        for &(literal, meaning) in &self.formula.meanings {
            let is = match meaning {
                Meaning::Happens(event) => execution.executed.has(event),
                Meaning::Reads(read, piece, write, from) => {
                    let sources = execution.sources.get(&read).map_or(&[][..], Vec::as_slice);
                    sources.get(piece as usize) == Some(&(write, u128::from(from)))
                }
                Meaning::Coherence(a, b) => {
                    told.insert((false, a, b));
                    execution.coherence.has(a, b)
                }
                Meaning::FenceOrder(a, b) => {
                    told.insert((true, a, b));
                    execution.fence_order.has(a, b)
                }
                Meaning::Bit(..) => continue,
            };
            assumed.push(if is { literal } else { -literal });
        }
        let both = |a: usize, b: usize| execution.executed.has(a) && execution.executed.has(b);
        for &certain in &self.formula.certain {
            let (is_fence, a, b) = match certain {
                Meaning::FenceOrder(a, b) => (true, a, b),
                Meaning::Coherence(a, b) => (false, a, b),
                _ => continue,
            };
            told.insert((is_fence, a, b));
            let order = if is_fence { &execution.fence_order } else { &execution.coherence };
            if both(a, b) && !order.has(a, b) {
                return Some(false);
            }
        }
        // A pair of which it says nothing is one that it takes to be impossible.
        let is_told = |is_fence: bool, (a, b): (usize, usize)| told.contains(&(is_fence, a, b));
        let is_known = execution.coherence.pairs().all(|pair| is_told(false, pair))
            && execution.fence_order.pairs().all(|pair| is_told(true, pair))
            && execution.sources.iter().all(|(&read, sources)| {
                (0_u32..).zip(sources).all(|(piece, &(write, from))| {
                    let from = u32::try_from(from).unwrap_or(u32::MAX);
                    self.formula.meanings.iter().any(|own| own.1 == Meaning::Reads(read, piece, write, from))
                })
            });
        if !is_known || graph.events.is_empty() {
            return Some(is_known);
        }
        match self.sat.search(&assumed, conflicts_max) {
            Found::Assignment(_) => Some(true),
            Found::None => Some(false),
            Found::TooLong => None,
        }
    }
}

impl Claims {
    /// What an allowed execution does that is claimed to be done by none.
    fn contradicted(
        &self,
        graph: &Graph,
        execution: &Allowed<'_>,
        main: Option<&crate::part::Stated>,
    ) -> Option<String> {
        for (name, pairs) in execution.flagged() {
            if self.needs(property_of_flag(&name))
                && let Some(&(a, b)) = pairs.first()
            {
                return Some(told(&Shows::Wrong(Goal::Flag(name, a, b))));
            }
        }
        self.denied(graph, main).into_iter().find(|shows| execution.shows(shows)).map(|shows| told(&shows))
    }

    /// What is claimed to be done by no execution, besides flags.
    fn denied(&self, graph: &Graph, main: Option<&crate::part::Stated>) -> Vec<Shows> {
        let mut denied: Vec<Shows> = Vec::new();
        for (index, own) in graph.obligations.iter().enumerate() {
            if self.is_proved(&own.property)
                || own.property != "assert" && self.claims_all() && !self.is_violated(&own.property)
            {
                denied.push(Shows::Wrong(Goal::Obligation(index)));
            }
        }
        if self.is_proved("assert") {
            let finals = graph.finals.iter().enumerate().filter(|(_, own)| !own.is_reachable);
            denied.extend(finals.map(|(index, _)| Shows::Wrong(Goal::Final(index))));
        }
        if self.is_proved("deadlock") {
            denied.extend([Shows::Wrong(Goal::Deadlock), Shows::Wrong(Goal::NotResident)]);
        }
        if self.is_complete && self.claims_all() {
            denied.extend((0..graph.cuts.len()).map(Shows::Cut));
        }
        if self.is_universal() {
            denied.push(Shows::Condition);
        }
        let formula = main.map(|stated| &stated.formula);
        if main.zip(formula.and_then(|it| it.complete)).is_some_and(|(main, literal)| main.is_false(literal))
        {
            denied.push(Shows::Complete);
        }
        for (place, literal) in formula.map_or(&[][..], |formula| &formula.reachable) {
            if main.is_some_and(|main| main.is_false(*literal)) {
                denied.push(Shows::Reachable(*place));
            }
        }
        denied
    }
}
