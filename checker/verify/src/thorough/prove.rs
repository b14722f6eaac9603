//! A verdict proved once more, from clauses of this crate's own: graph and model are stated plainly (`plain`), that something
//! goes wrong is asked of them, and what refutes it is followed like any other proof.
//!
//! So what is proved so rests on no formula of the checker, on none of its bounds, and on nothing that it leaves out: all
//! threads are told apart, every round and every sum is searched. That takes more clauses than the checker's own formulas do,
//! and where it takes too many, that is said.

use super::Limits;
use super::plain::Plain;
use super::sat::Sat;
use super::state::State;
use crate::claims::Claims;
use crate::cnf::Goal;
use crate::execution::{Allowed, Shows};
use crate::graph::Graph;
use crate::part::{Part, Slice, Stated, told};
use crate::{Refused, flags};
use fencepost_dsl::cat::MemoryModel;
use fencepost_dsl::cat::memory_model::TermId;

/// What came of it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Proved {
    /// Graphs that were looked at: the launch, or its slices.
    pub n_graphs: usize,
    /// Why it was slices that were looked at, and not the whole.
    pub whole: Option<String>,
    /// Events of the largest.
    pub n_events: usize,
    /// Clauses that were made, all together.
    pub n_clauses: usize,
    /// What was asked of them.
    pub n_goals: usize,
    /// Steps of the proofs, each of which was followed.
    pub n_steps: usize,
    /// Why it was given up, and of which graph.
    pub given_up: Option<String>,
}

impl Proved {
    /// In a line.
    pub fn to_text(&self) -> String {
        if let Some(why) = &self.given_up {
            return format!("not made, since {why}");
        }
        if self.n_goals == 0 {
            return "not needed: plain bounds exclude all that is claimed to be done by none".to_owned();
        }
        let of = match &self.whole {
            Some(why) => {
                format!("{} slices of up to {} events (of the whole, {why})", self.n_graphs, self.n_events)
            }
            None => format!("{} events", self.n_events),
        };
        format!(
            "{} goals in {of} are refuted by {} steps on {} clauses made here; all threads are told apart, nothing is counted",
            self.n_goals, self.n_steps, self.n_clauses
        )
    }
}

/// What is asked of a graph: pairs of flags that are listed once it is stated, and other things.
struct Asked<'a> {
    graph: &'a Graph,
    flags: Vec<(TermId, String)>,
    others: Vec<Shows>,
    /// Which of them count.
    is_asked: Box<dyn Fn(&Shows) -> bool + 'a>,
}

/// Proves a part once more: the launch as a whole, or, where that is too large, its slices.
///
/// # Errors
/// If an execution does what is claimed to be done by none.
pub fn prove(model: &MemoryModel, claims: &Claims, part: &Part, limits: Limits) -> Result<Proved, Refused> {
    let whole = Asked {
        graph: &part.graph,
        flags: claimed_flags(model, claims),
        others: claims.denied(&part.graph, part.main()),
        is_asked: Box::new(|_| true),
    };
    let mut proved = Proved::default();
    let why = prove_one(model, &whole, limits, &mut proved)?.err();
    if why.is_none() || part.slices.is_empty() {
        return Ok(Proved { given_up: why, ..proved });
    }
    let mut proved = Proved { whole: why, ..Proved::default() };
    for stated in &part.stated {
        let Some(slice) = stated.slice.map(|slice| &part.slices[slice]) else { continue };
        let asked = of_slice(model, claims, slice, stated);
        if let Err(why) = prove_one(model, &asked, limits, &mut proved)? {
            proved.given_up = Some(format!("of a slice of {} events, {why}", slice.graph.events.len()));
            break;
        }
    }
    Ok(proved)
}

fn claimed_flags(model: &MemoryModel, claims: &Claims) -> Vec<(TermId, String)> {
    let of_claims = flags(model).filter(|flag| claims.needs(crate::property_of_flag(&flag.name)));
    of_claims.map(|flag| (flag.term, flag.name.clone())).collect()
}

/// What a slice's formula refutes, or leaves to bounds.
fn of_slice<'a>(model: &MemoryModel, claims: &Claims, slice: &'a Slice, stated: &'a Stated) -> Asked<'a> {
    let graph = &slice.graph;
    let mut others = Vec::new();
    let is_about = |what: &str| slice.about == what;
    if is_about("threads") {
        let denied = claims.denied(graph, None);
        let own = |shows: &Shows| matches!(shows, Shows::Wrong(Goal::Obligation(_)) | Shows::Cut(_));
        others.extend(denied.into_iter().filter(own));
    }
    if is_about("waits") && claims.is_proved("deadlock") {
        others.extend([Shows::Wrong(Goal::Deadlock), Shows::Wrong(Goal::NotResident)]);
    }
    if is_about("finals") && claims.is_proved("assert") {
        others.extend((0..graph.finals.len()).map(|index| Shows::Wrong(Goal::Final(index))));
    }
    Asked {
        graph,
        flags: if is_about("threads") { claimed_flags(model, claims) } else { Vec::new() },
        others,
        // What a slice leaves open, a larger one was asked in its place.
        is_asked: Box::new(move |shows| match shows {
            Shows::Wrong(goal) => {
                let is_own = !matches!(goal, Goal::Flag(_, a, b) if !slice.asks(*a, *b));
                is_own && stated.refutes(goal) != Some(false)
            }
            Shows::Cut(number) => stated.refutes_cut(*number),
            _ => true,
        }),
    }
}

/// Asks one graph for all that is denied, at once; the inner error is why it was given up.
fn prove_one(
    model: &MemoryModel,
    asked: &Asked<'_>,
    limits: Limits,
    proved: &mut Proved,
) -> Result<Result<(), String>, Refused> {
    let graph = asked.graph;
    let n_events = graph.events.len();
    if n_events > limits.plain_events_max {
        return Ok(Err(format!("there are {n_events} events, and {} is the limit", limits.plain_events_max)));
    }
    let Some(clauses_max) = limits.clauses_max.checked_sub(proved.n_clauses) else {
        return Ok(Err(format!("it takes more than {} clauses", limits.clauses_max)));
    };
    let state = match State::new(graph, Sat::keeping()) {
        Ok(state) => state,
        Err(why) => return Ok(Err(why)),
    };
    let terms: Vec<TermId> = asked.flags.iter().map(|own| own.0).collect();
    let mut plain = match Plain::new(model, state, &terms, clauses_max) {
        Ok(plain) => plain,
        Err(why) => return Ok(Err(why)),
    };
    let mut denied: Vec<Shows> = asked.flags.iter().flat_map(|(_, name)| plain.flagged(name)).collect();
    denied.extend(asked.others.iter().cloned());
    denied.retain(|shows| (asked.is_asked)(shows));
    let mut some = Vec::new();
    for shows in &denied {
        match plain.shows(shows) {
            Ok(literal) => some.push(literal),
            Err(why) => return Ok(Err(why)),
        }
    }
    plain.state.sat.add(&some);
    match plain.state.search(limits.plain_conflicts_max) {
        Some(Err(())) => Ok(Err("the search takes too long".to_owned())),
        Some(Ok((execution, _))) => {
            let disagreement = |refused: Refused| Refused::new("thorough::disagreement", refused.why);
            let allowed = Allowed::new(graph, model, &execution).map_err(disagreement)?;
            let wrong = denied.iter().find(|shows| allowed.shows(shows));
            let what = wrong.map_or_else(|| "something".to_owned(), told);
            let why = format!(
                "an execution that the model allows does {what}, which is claimed to be done by none"
            );
            Err(Refused::new("thorough::violated", why))
        }
        None => {
            let checker = plain.state.sat.followed()?;
            if !checker.ends_in(&[]) {
                let why = "a proof made here does not end".to_owned();
                return Err(Refused::new("thorough::disagreement", why));
            }
            proved.n_graphs += 1;
            proved.n_events = proved.n_events.max(n_events);
            proved.n_clauses += plain.state.sat.n_given;
            proved.n_goals += denied.len();
            proved.n_steps += checker.n_steps;
            Ok(Ok(()))
        }
    }
}
