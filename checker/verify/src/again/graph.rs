//! All runs of a thread, as a graph tells them: where what it says depends on what nobody has chosen yet, each way is followed.

use super::{Done, Effort, End, MARKS, Marks, Told, Touched, Values, Work};
use crate::graph::{Graph, Operator, UnknownKind, mask};
use std::collections::BTreeSet;

/// A run of a thread.
#[derive(Clone, Debug)]
pub struct Run {
    /// The events that happen, in their order.
    pub events: Vec<usize>,
    pub told: Told,
    /// What was chosen.
    pub unknowns: Vec<Option<u128>>,
}

/// The runs of a thread, and the constraints that were decided on the way.
#[derive(Default)]
pub struct Unfolded {
    pub runs: Vec<Run>,
    pub decided: BTreeSet<usize>,
}

/// The sets of a graph, by event.
pub fn marks(graph: &Graph) -> Vec<Marks> {
    let mut marks = vec![Marks::default(); graph.events.len()];
    for name in MARKS {
        for &event in graph.sets.get(name).map_or(&[][..], Vec::as_slice) {
            marks[event].add(name);
        }
    }
    marks
}

/// By term, the unknowns that it depends on.
pub fn supports(graph: &Graph) -> Vec<BTreeSet<usize>> {
    let mut supports: Vec<BTreeSet<usize>> = Vec::new();
    for term in &graph.terms {
        let mut own: BTreeSet<usize> =
            term.operands.iter().flat_map(|&operand| supports[operand].iter().copied()).collect();
        if let Operator::Unknown(unknown) = term.operator {
            own.insert(unknown);
        }
        supports.push(own);
    }
    supports
}

/// Values of terms as far as they are known, and what was chosen for that.
#[derive(Clone)]
struct Known {
    unknowns: Vec<Option<u128>>,
    terms: Vec<Option<u128>>,
}

/// Where an unfolding is.
#[derive(Clone)]
struct At {
    next: usize,
    known: Known,
    events: Vec<usize>,
    done: Vec<Done>,
}

/// A graph whose threads are unfolded.
pub struct Unfolding<'a> {
    graph: &'a Graph,
    marks: Vec<Marks>,
    supports: Vec<BTreeSet<usize>>,
    values: &'a Values,
    effort: Effort,
    work: &'a Work,
}

/// The one of a thread.
struct OfThread<'a> {
    of: &'a Unfolding<'a>,
    agent: usize,
    /// In their order.
    events: Vec<usize>,
    /// The terms that say something of it, in ascending order, and of the constraints those.
    terms: Vec<usize>,
    constraints: Vec<usize>,
    n_steps: usize,
    all: Unfolded,
}

impl<'a> Unfolding<'a> {
    pub fn new(graph: &'a Graph, values: &'a Values, (effort, work): (Effort, &'a Work)) -> Self {
        Self { graph, marks: marks(graph), supports: supports(graph), values, effort, work }
    }

    /// All runs of a thread.
    ///
    /// # Errors
    /// What is not followed here.
    pub fn runs(&self, agent: usize) -> Result<Unfolded, String> {
        let graph = self.graph;
        let own = graph.events.iter().enumerate().filter(|(_, event)| event.agent == Some(agent));
        let mut events: Vec<usize> = own.map(|own| own.0).collect();
        events.sort_by_key(|&event| graph.events[event].position);
        let mut roots: Vec<usize> = vec![graph.agents[agent].completed, graph.agents[agent].started];
        for &event in &events {
            roots.push(graph.events[event].guard);
            roots.extend(graph.events[event].access.iter().flat_map(|own| [own.offset, own.value]));
        }
        let obligations = graph.obligations.iter().filter(|own| own.agent == agent);
        roots.extend(obligations.flat_map(|own| [own.guard, own.condition]));
        roots.extend(graph.cuts.iter().filter(|own| own.0 == agent).map(|own| own.1));
        let unknowns: BTreeSet<usize> =
            roots.iter().flat_map(|&term| self.supports[term].iter().copied()).collect();
        roots.extend(graph.blocked.iter().filter(|own| own.agent == agent).map(|own| own.stuck));
        let is_own = |term: usize| self.supports[term].is_subset(&unknowns);
        roots.extend(graph.reachable.iter().map(|own| own.condition).filter(|&term| is_own(term)));
        let concerns =
            |term: usize| self.supports[term].is_empty() || !self.supports[term].is_disjoint(&unknowns);
        let constraints: Vec<usize> =
            graph.constraints.iter().copied().filter(|&term| concerns(term)).collect();
        roots.extend(&constraints);
        let mut terms = BTreeSet::new();
        while let Some(term) = roots.pop() {
            if terms.insert(term) {
                roots.extend(&graph.terms[term].operands);
            }
        }
        let terms: Vec<usize> = terms.into_iter().collect();
        let all = Unfolded::default();
        let mut this = OfThread { of: self, agent, events, terms, constraints, n_steps: 0, all };
        let nothing =
            Known { unknowns: vec![None; graph.unknowns.len()], terms: vec![None; graph.terms.len()] };
        let known = this.filled(nothing);
        this.parameters(At { next: 0, known, events: Vec::new(), done: Vec::new() }, 0)?;
        Ok(this.all)
    }
}

impl OfThread<'_> {
    /// With all terms whose values follow.
    fn filled(&self, mut known: Known) -> Known {
        let graph = self.of.graph;
        for &at in &self.terms {
            if known.terms[at].is_some() {
                continue;
            }
            let term = &graph.terms[at];
            let of = |place: usize| term.operands.get(place).and_then(|&own| known.terms[own]);
            let any = |value: u128| term.operands.iter().any(|&own| known.terms[own] == Some(value));
            let value = match term.operator {
                Operator::Constant(value) => Some(value),
                Operator::Unknown(own) => known.unknowns[own],
                Operator::And | Operator::Multiply | Operator::BitAnd if any(0) => Some(0),
                Operator::Or if any(1) => Some(1),
                Operator::If => match of(0) {
                    Some(1) => of(1),
                    Some(_) => of(2),
                    None => None,
                },
                _ if term.operands.iter().all(|&own| known.terms[own].is_some()) => {
                    Some(graph.apply(term, |own| known.terms[own].unwrap_or(0), |_| 0))
                }
                _ => None,
            };
            known.terms[at] = value.map(|value| value & mask(term.width));
        }
        known
    }

    fn with(&self, at: &At, unknown: usize, value: u128) -> At {
        let mut known = at.known.clone();
        known.unknowns[unknown] = Some(value);
        At { known: self.filled(known), ..at.clone() }
    }

    fn parameters(&mut self, at: At, number: usize) -> Result<(), String> {
        let graph = self.of.graph;
        let values = self.of.values;
        let Some(options) = values.parameters.get(number) else { return self.go_on(at) };
        let Some((_, unknown)) = graph.parameters.get(number) else {
            return Err("a parameter that the graph does not have".to_owned());
        };
        for &value in options {
            let at = self.with(&at, *unknown, value);
            self.parameters(at, number + 1)?;
        }
        Ok(())
    }

    /// Whether a constraint is known not to hold.
    fn is_impossible(&self, known: &Known) -> bool {
        self.constraints.iter().any(|&term| known.terms[term] == Some(0))
    }

    /// The first unknown that is open in a term.
    fn open(&self, known: &Known, term: usize) -> Option<usize> {
        let (mut stack, mut seen, mut open) = (vec![term], BTreeSet::new(), BTreeSet::new());
        while let Some(term) = stack.pop() {
            if known.terms[term].is_some() || !seen.insert(term) {
                continue;
            }
            if let Operator::Unknown(own) = self.of.graph.terms[term].operator {
                open.insert(own);
            }
            stack.extend(&self.of.graph.terms[term].operands);
        }
        open.first().copied()
    }

    /// Goes on with each value of an unknown in a term.
    fn split(&mut self, at: &At, term: usize) -> Result<(), String> {
        let graph = self.of.graph;
        let Some(unknown) = self.open(&at.known, term) else {
            return Err("a term of the graph that comes to nothing".to_owned());
        };
        let own = &graph.unknowns[unknown];
        let is_own_read = |read: usize| graph.events[read].agent == Some(self.agent);
        match own.kind {
            // A read that does not happen returns anything.
            UnknownKind::Read(read) if is_own_read(read) => {}
            UnknownKind::Chosen if own.width == 1 => {}
            UnknownKind::Chosen => return Err("values that nobody computes".to_owned()),
            UnknownKind::Read(_) => return Err("what depends on what other threads have read".to_owned()),
            UnknownKind::Final(..) => return Err("what depends on what memory ends with".to_owned()),
            UnknownKind::Parameter => return Err("a parameter that the kernel does not have".to_owned()),
        }
        for value in [0, 1] {
            let at = self.with(at, unknown, value);
            self.go_on(at)?;
        }
        Ok(())
    }

    fn go_on(&mut self, mut at: At) -> Result<(), String> {
        let graph = self.of.graph;
        self.n_steps += 1;
        self.of.work.spend(self.terms.len())?;
        if self.n_steps > 40 * self.of.effort.runs_max || self.all.runs.len() > self.of.effort.runs_max {
            return Err(format!("a thread has more than {} runs", self.of.effort.runs_max));
        }
        while let Some(&event) = self.events.get(at.next) {
            if self.is_impossible(&at.known) {
                return Ok(());
            }
            let own = &graph.events[event];
            match at.known.terms[own.guard] {
                None => return self.split(&at, own.guard),
                Some(0) => {
                    at.next += 1;
                    continue;
                }
                Some(_) => {}
            }
            let mut touched = None;
            if let Some(access) = own.access {
                let Some(offset) = at.known.terms[access.offset] else {
                    return self.split(&at, access.offset);
                };
                let Some(value) = at.known.terms[access.value] else {
                    let place = (access.location, offset, access.width);
                    return match graph.terms[access.value].operator {
                        Operator::Unknown(unknown) if matches!(graph.unknowns[unknown].kind, UnknownKind::Read(of) if of == event) =>
                        {
                            let options = self.of.values.of.get(&place);
                            let options: Vec<u128> = options.into_iter().flatten().copied().collect();
                            for value in options {
                                let at = self.with(&at, unknown, value);
                                self.go_on(at)?;
                            }
                            Ok(())
                        }
                        _ => self.split(&at, access.value),
                    };
                };
                let Some(_) = graph.cell_bytes.get(access.location) else {
                    return Err("a location that is not there".to_owned());
                };
                touched = Some(Touched {
                    location: access.location,
                    mapping: access.mapping,
                    offset,
                    bytes: access.width,
                    value,
                });
            }
            let before = at.events.last().map(|&before| graph.events[before].position);
            at.done.push(Done {
                kind: own.kind.clone(),
                text: own.text.clone(),
                marks: self.of.marks[event],
                touched,
                is_joined: before == Some(own.position),
            });
            at.events.push(event);
            at.next += 1;
        }
        self.ends(at)
    }

    fn ends(&mut self, at: At) -> Result<(), String> {
        let graph = self.of.graph;
        let (agent, known) = (self.agent, &at.known);
        let completed = graph.agents[agent].completed;
        let mut asked = vec![completed, graph.agents[agent].started];
        asked.extend(graph.cuts.iter().filter(|own| own.0 == agent).map(|own| own.1));
        let is_counted = |property: &str| property == "assert" || property == "bounds";
        let obligations: Vec<_> =
            graph.obligations.iter().filter(|own| own.agent == agent && is_counted(&own.property)).collect();
        for own in &obligations {
            asked.push(own.guard);
            if known.terms[own.guard] == Some(1) {
                asked.push(own.condition);
            }
        }
        // What other threads' reads or memory decide is left to the constraints.
        if let Some(term) = asked.into_iter().find(|&term| known.terms[term].is_none()) {
            return self.split(&at, term);
        }
        if self.is_impossible(known) {
            return Ok(());
        }
        for &term in &self.constraints {
            if known.terms[term].is_some() {
                self.all.decided.insert(term);
            }
        }
        let is = |term: usize| known.terms[term] == Some(1);
        let fails = |property: &str| {
            let of = obligations.iter().filter(move |own| own.property == property);
            of.filter(|own| is(own.guard) && !is(own.condition))
                .map(|own| own.line)
                .collect::<BTreeSet<u64>>()
        };
        let end = if !fails("bounds").is_empty() {
            End::Broken
        } else if graph.cuts.iter().any(|own| own.0 == agent && is(own.1)) {
            End::Cut
        } else if is(completed) {
            End::Finished
        } else {
            End::Stands
        };
        let reached = graph.reachable.iter().filter(|own| is(own.condition)).map(|own| own.place).collect();
        let stays_on = if end == End::Stands { self.stays_on(known) } else { None };
        let parameters: Vec<u128> = graph
            .parameters
            .iter()
            .zip(&self.of.values.parameters)
            .map(|((_, unknown), _)| known.unknowns[*unknown].unwrap_or(0))
            .collect();
        let told = Told { done: at.done, end, failed: fails("assert"), reached, stays_on, parameters };
        self.all.runs.push(Run { events: at.events, told, unknowns: at.known.unknowns });
        Ok(())
    }

    /// The values of a word on which the thread would stay where it stands, if it is one word that decides that.
    fn stays_on(&self, known: &Known) -> Option<BTreeSet<u128>> {
        let graph = self.of.graph;
        let own = graph.blocked.iter().filter(|own| own.agent == self.agent);
        let open: Vec<usize> =
            own.map(|own| own.stuck).filter(|&term| known.terms[term] != Some(0)).collect();
        let [stuck] = open[..] else { return None };
        let unknowns: Vec<usize> = self.of.supports[stuck]
            .iter()
            .copied()
            .filter(|&unknown| known.unknowns[unknown].is_none())
            .collect();
        let [word] = unknowns[..] else { return None };
        let UnknownKind::Final(location, offset, bytes) = graph.unknowns[word].kind else { return None };
        let mut stays = BTreeSet::new();
        for &value in self.of.values.of.get(&(location, offset, bytes))? {
            let mut with = known.clone();
            with.unknowns[word] = Some(value);
            if self.filled(with).terms[stuck]? == 1 {
                stays.insert(value);
            }
        }
        Some(stays)
    }
}
