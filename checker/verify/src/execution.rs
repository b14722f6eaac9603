//! An execution of a graph, evaluated: whether it is one, whether the model allows it, and what it does.

use crate::Refused;
use crate::bits::{Relation, Set};
use crate::cnf::Goal;
use crate::graph::{Access, Graph, Reading, UnknownKind, mask};
use crate::model::{Basis, Value, evaluate, holds};
use fencepost_dsl::cat::memory_model::{BaseRelation, BaseSet, MemoryModel};
use serde_json::Value as Json;
use std::collections::HashMap;

/// What an execution chooses.
#[derive(Clone, Debug)]
pub struct Execution {
    /// The events that happen.
    pub executed: Set,
    /// Values of unknowns.
    pub unknowns: Vec<u128>,
    /// By read, of which write each piece is, and which piece of that.
    pub sources: HashMap<usize, Vec<(usize, u128)>>,
    /// Coherence.
    pub coherence: Relation,
    /// The order of `fence.sc`.
    pub fence_order: Relation,
}

/// What an execution shows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Shows {
    /// Something goes wrong.
    Wrong(Goal),
    /// What a litmus condition wants.
    Condition,
    /// Every thread ends.
    Complete,
    /// A `reachable` at this place.
    Reachable([usize; 3]),
    /// A loop that runs on, by number.
    Cut(usize),
}

impl Execution {
    /// Reads one.
    ///
    /// # Errors
    /// If it is none of the graph.
    pub fn parse(file: &str, value: &Json, graph: &Graph) -> Result<Self, Refused> {
        let n = graph.events.len();
        let root = Reading { file, value };
        let mut executed = Set::empty(n);
        for event in root.get("executed")?.numbers()? {
            if event >= n {
                return Err(root.wrong("event of that number"));
            }
            executed.insert(event);
        }
        let unknowns: Result<Vec<u128>, Refused> =
            root.get("unknowns")?.list()?.iter().map(Reading::large).collect();
        let unknowns = unknowns?;
        let fits = |(value, unknown): (&u128, &crate::graph::Unknown)| *value & !mask(unknown.width) == 0;
        if unknowns.len() != graph.unknowns.len() || !unknowns.iter().zip(&graph.unknowns).all(fits) {
            return Err(root.wrong("value for each unknown"));
        }
        let mut sources = HashMap::new();
        for one in root.get("sources")?.list()? {
            let mut pieces = Vec::new();
            for piece in one.at(1)?.list()? {
                let (write, from) = (piece.at(0)?.number()?, piece.at(1)?.number()? as u128);
                if write >= n {
                    return Err(root.wrong("event of that number"));
                }
                pieces.push((write, from));
            }
            sources.insert(one.at(0)?.number()?, pieces);
        }
        let coherence = root.get("coherence")?.relation(n)?;
        let fence_order = root.get("fence_order")?.relation(n)?;
        Ok(Self { executed, unknowns, sources, coherence, fence_order })
    }
}

/// An execution that a model allows.
pub struct Allowed<'a> {
    graph: &'a Graph,
    model: &'a MemoryModel,
    /// The values of all terms.
    pub values: Vec<u128>,
    basis: Basis,
}

fn ensure(is: bool, why: impl FnOnce() -> String) -> Result<(), Refused> {
    if is { Ok(()) } else { Err(Refused::new("witness::not-allowed", why())) }
}

impl<'a> Allowed<'a> {
    /// Evaluates an execution.
    ///
    /// # Errors
    /// If it is none, or the model forbids it.
    pub fn new(graph: &'a Graph, model: &'a MemoryModel, execution: &Execution) -> Result<Self, Refused> {
        let this = Self::candidate(graph, model, execution)?;
        this.check_axioms()?;
        Ok(this)
    }

    /// The same, whether the model allows it or not.
    ///
    /// # Errors
    /// If it is no execution of the graph.
    pub(crate) fn candidate(
        graph: &'a Graph,
        model: &'a MemoryModel,
        execution: &Execution,
    ) -> Result<Self, Refused> {
        let values = graph.evaluate(&execution.unknowns);
        let this = Self { graph, model, basis: basis(graph, execution, &values)?, values };
        this.check_values(execution)?;
        this.check_reads(execution)?;
        this.check_orders(execution)?;
        this.check_ends(execution)?;
        Ok(this)
    }

    /// Its base sets and relations.
    pub(crate) fn basis(&self) -> &Basis {
        &self.basis
    }

    fn check_values(&self, execution: &Execution) -> Result<(), Refused> {
        for (at, event) in self.graph.events.iter().enumerate() {
            ensure((self.values[event.guard] == 1) == execution.executed.has(at), || {
                format!("whether event {at} happens is not what its guard says")
            })?;
        }
        for &term in &self.graph.constraints {
            ensure(self.values[term] == 1, || format!("constraint {term} does not hold"))?;
        }
        for (name, unknown) in &self.graph.parameters {
            let (value, range) = (execution.unknowns[*unknown], &self.graph.unknowns[*unknown]);
            ensure((range.min..=range.max).contains(&value), || {
                format!("parameter `{name}` is out of its range")
            })?;
        }
        Ok(())
    }

    fn bytes(&self, access: Access) -> (u128, u128) {
        let first = self.values[access.offset];
        (first, first + access.width)
    }

    /// A piece of what is read or written.
    fn piece(&self, access: Access, piece: u128) -> u128 {
        let cell = self.graph.cell_bytes[access.location];
        let shift = u32::try_from(piece * cell * 8).unwrap_or(u32::MAX);
        let bits = u32::try_from(cell * 8).unwrap_or(128);
        self.values[access.value].checked_shr(shift).unwrap_or(0) & mask(bits)
    }

    fn check_reads(&self, execution: &Execution) -> Result<(), Refused> {
        for (read, event) in self.graph.events.iter().enumerate() {
            if event.kind != "read" || !execution.executed.has(read) {
                continue;
            }
            let Some(own) = event.access else { continue };
            let cell = self.graph.cell_bytes[own.location];
            let sources = execution.sources.get(&read).map_or(&[][..], Vec::as_slice);
            ensure(sources.len() as u128 == own.width / cell, || {
                format!("read {read} has no source for each piece")
            })?;
            for (piece, &(write, from)) in (0_u128..).zip(sources) {
                let source = &self.graph.events[write];
                let is_write =
                    matches!(source.kind.as_str(), "write" | "init") && execution.executed.has(write);
                let Some(of) = source.access.filter(|_| is_write) else {
                    return ensure(false, || {
                        format!("read {read} is of event {write}, which does not write")
                    });
                };
                let is_there = of.location == own.location
                    && from < of.width / cell
                    && self.values[own.offset] + piece * cell == self.values[of.offset] + from * cell;
                ensure(is_there, || format!("read {read} is of other bytes of event {write}"))?;
                ensure(self.piece(own, piece) == self.piece(of, from), || {
                    format!("read {read} returns what write {write} has not written")
                })?;
            }
        }
        Ok(())
    }

    fn check_orders(&self, execution: &Execution) -> Result<(), Refused> {
        let is_write = |event: usize| matches!(self.graph.events[event].kind.as_str(), "write" | "init");
        for (a, b) in execution.coherence.pairs() {
            let both = execution.executed.has(a) && execution.executed.has(b);
            ensure(both && is_write(a) && is_write(b), || format!("coherence relates events {a} and {b}"))?;
        }
        let fences = self.set(BaseSet::Fence).with(&self.set(BaseSet::SequentiallyConsistent), |a, b| a & b);
        for (a, b) in execution.fence_order.pairs() {
            ensure(fences.has(a) && fences.has(b), || {
                format!("the order of fences relates events {a} and {b}")
            })?;
        }
        for (what, order) in
            [("coherence", &execution.coherence), ("the order of fences", &execution.fence_order)]
        {
            ensure(order.closure().circle().is_none(), || format!("{what} goes round in a circle"))?;
        }
        let mutual = &self.basis.relations[BaseRelation::SameScope.name()];
        for a in fences.members() {
            for b in fences.members().filter(|&b| a != b && mutual.has(a, b)) {
                let is_ordered = execution.fence_order.has(a, b) || execution.fence_order.has(b, a);
                ensure(is_ordered, || format!("fences {a} and {b} are in no order"))?;
            }
        }
        Ok(())
    }

    fn set(&self, base: BaseSet) -> Set {
        self.basis.sets[base.name()].clone()
    }

    /// Whether an event that happens writes a byte.
    fn writes(&self, execution: &Execution, event: usize, (location, byte): (usize, u128)) -> bool {
        let of = &self.graph.events[event];
        matches!(of.kind.as_str(), "write" | "init")
            && execution.executed.has(event)
            && of.access.is_some_and(|access| {
                let (first, end) = self.bytes(access);
                access.location == location && (first..end).contains(&byte)
            })
    }

    /// What memory ends with, and that reads are of last writes where that is said.
    fn check_ends(&self, execution: &Execution) -> Result<(), Refused> {
        let n = self.graph.events.len();
        let mut ends: HashMap<(usize, u128), u128> = HashMap::new();
        for (unknown, value) in self.graph.unknowns.iter().zip(&execution.unknowns) {
            let UnknownKind::Final(location, first, bytes) = unknown.kind else { continue };
            let cell = self.graph.cell_bytes[location];
            for piece in 0..bytes / cell {
                let byte = first + piece * cell;
                let bits = u32::try_from(cell * 8).unwrap_or(128);
                let expected = value >> (piece * cell * 8) & mask(bits);
                let known = *ends.entry((location, byte)).or_insert(expected);
                ensure(known == expected, || {
                    format!("byte {byte} of location {location} ends with two values")
                })?;
                let is_last = (0..n).any(|write| {
                    self.writes(execution, write, (location, byte))
                        && !execution
                            .coherence
                            .row(write)
                            .members()
                            .any(|later| self.writes(execution, later, (location, byte)))
                        && self.graph.events[write].access.is_some_and(|access| {
                            let shift = u32::try_from((byte - self.values[access.offset]) * 8).unwrap_or(0);
                            self.values[access.value].checked_shr(shift).unwrap_or(0) & mask(bits) == expected
                        })
                });
                ensure(is_last, || {
                    format!("no last write leaves what byte {byte} of location {location} ends with")
                })?;
            }
        }
        for (unknown, read, counts) in &self.graph.last_reads {
            let Some(own) = self.graph.events[*read].access.filter(|_| execution.unknowns[*unknown] == 1)
            else {
                continue;
            };
            let cell = self.graph.cell_bytes[own.location];
            let sources = execution.sources.get(read).map_or(&[][..], Vec::as_slice);
            for (piece, &(source, _)) in (0_u128..).zip(sources) {
                let byte = self.values[own.offset] + piece * cell;
                let is_later = |later: usize| {
                    counts.contains(&later) && self.writes(execution, later, (own.location, byte))
                };
                let is_last = !execution.coherence.row(source).members().any(is_later);
                ensure(is_last, || format!("read {read} is not of a last write"))?;
            }
        }
        Ok(())
    }

    fn check_axioms(&self) -> Result<(), Refused> {
        let roots: Vec<_> = self.model.axioms.iter().map(|axiom| axiom.term).collect();
        let values = evaluate(self.model, &self.basis, &roots);
        for axiom in &self.model.axioms {
            let is_held = values.get(&axiom.term).is_some_and(|value| holds(axiom.kind, value));
            ensure(is_held, || format!("axiom `{}` of the model does not hold of it", axiom.name))?;
        }
        Ok(())
    }

    /// What is flagged: of each flag that is no refinement, the pairs.
    pub fn flagged(&self) -> Vec<(String, Vec<(usize, usize)>)> {
        let flags = self.model.flags.iter().filter(|flag| !flag.name.contains('.'));
        let roots: Vec<_> = flags.clone().map(|flag| flag.term).collect();
        let values = evaluate(self.model, &self.basis, &roots);
        let pairs = |value: &Value| match value {
            Value::Set(set) => set.members().map(|event| (event, event)).collect(),
            Value::Relation(relation) => relation.pairs().collect(),
        };
        flags.map(|flag| (flag.name.clone(), values.get(&flag.term).map(pairs).unwrap_or_default())).collect()
    }

    /// Whether a term is 1.
    pub fn is(&self, term: usize) -> bool {
        self.values[term] == 1
    }

    /// Whether every thread has ended.
    pub fn is_complete(&self) -> bool {
        self.graph.agents.iter().all(|agent| self.is(agent.completed))
    }

    /// Whether threads wait for ever, with all clusters running or because some have not started.
    pub fn is_stuck(&self, everywhere: bool) -> bool {
        let graph = self.graph;
        let running: Vec<usize> =
            (0..graph.agents.len()).filter(|&agent| self.is(graph.agents[agent].started)).collect();
        if (running.len() == graph.agents.len()) != everywhere {
            return false;
        }
        let ended = |agent: usize| self.is(graph.agents[agent].completed);
        let own = |agent: usize| graph.blocked.iter().filter(move |blocked| blocked.agent == agent);
        let stands = |agent: usize| own(agent).any(|blocked| self.is(blocked.stuck));
        let holds_up = |agent: usize| everywhere || own(agent).any(|it| self.is(it.stuck) && it.resident);
        running.iter().all(|&agent| ended(agent) || stands(agent))
            && running.iter().any(|&agent| !ended(agent) && holds_up(agent))
    }

    /// Whether something is so in it.
    pub fn shows(&self, shows: &Shows) -> bool {
        let graph = self.graph;
        match shows {
            Shows::Wrong(Goal::Flag(name, a, b)) => {
                self.flagged().iter().any(|(flag, pairs)| flag == name && pairs.contains(&(*a, *b)))
            }
            Shows::Wrong(Goal::Obligation(index)) => {
                graph.obligations.get(*index).is_some_and(|own| self.is(own.guard) && !self.is(own.condition))
            }
            Shows::Wrong(Goal::Final(index)) => {
                self.is_complete() && graph.finals.get(*index).is_some_and(|own| !self.is(own.condition))
            }
            Shows::Wrong(Goal::Deadlock) => self.is_stuck(true),
            Shows::Wrong(Goal::NotResident) => self.is_stuck(false),
            Shows::Condition => graph.condition.as_ref().is_some_and(|own| {
                let is_wanted = self.is(own.condition) == (own.quantifier != "forall");
                self.is_complete() && self.is(own.filter) && is_wanted
            }),
            Shows::Complete => self.is_complete(),
            Shows::Reachable(place) => {
                graph.reachable.iter().any(|own| own.place == *place && self.is(own.condition))
                    || graph.finals.iter().any(|own| {
                        own.is_reachable
                            && own.place == *place
                            && self.is_complete()
                            && self.is(own.condition)
                    })
            }
            Shows::Cut(index) => graph.cuts.get(*index).is_some_and(|cut| self.is(cut.1)),
        }
    }
}

/// Base sets and relations of an execution.
fn basis(graph: &Graph, execution: &Execution, values: &[u128]) -> Result<Basis, Refused> {
    let n = graph.events.len();
    let executed = &execution.executed;
    let Some(given) = &graph.relations else {
        let why = "its graph has no relations to evaluate a model on".to_owned();
        return Err(Refused::new("witness::graph", why));
    };
    let both = Relation::product(executed, executed);
    let happening = |relation: Relation| relation.with(&both, |a, b| a & b);
    let mut sets = HashMap::new();
    for &(_, name) in BaseSet::ALL {
        let mut set = Set::empty(n);
        graph.sets.get(name).into_iter().flatten().for_each(|&event| set.insert(event));
        sets.insert(name, set.with(executed, |a, b| a & b));
    }
    let mut relations = HashMap::new();
    for &(_, name) in BaseRelation::ALL {
        let relation = given.get(name).cloned().unwrap_or_else(|| Relation::empty(n));
        relations.insert(name, happening(relation));
    }
    for (name, edges) in &graph.edges {
        let Some(base) = BaseRelation::from_name(name) else { continue };
        let counting = edges.iter().filter(|edge| values[edge.2] == 1).map(|edge| (edge.0, edge.1));
        relations.insert(base.name(), happening(Relation::of_pairs(n, counting)));
    }
    let bytes = |access: Access| (values[access.offset], values[access.offset] + access.width);
    let (mut common, mut virtually, mut complete) = (Vec::new(), Vec::new(), Vec::new());
    for a in executed.members() {
        for b in executed.members() {
            let (Some(x), Some(y)) = (graph.events[a].access, graph.events[b].access) else { continue };
            let ((first, end), (other, other_end)) = (bytes(x), bytes(y));
            if x.location == y.location && first < other_end && other < end {
                common.push((a, b));
                if x.mapping == y.mapping {
                    virtually.push((a, b));
                }
                if (first, end) == (other, other_end) {
                    complete.push((a, b));
                }
            }
        }
    }
    let (mut reads, mut from_reads) = (Vec::new(), Vec::new());
    for read in executed.members() {
        let (Some(own), Some(sources)) = (graph.events[read].access, execution.sources.get(&read)) else {
            continue;
        };
        let cell = graph.cell_bytes[own.location];
        for (piece, &(source, _)) in (0_u128..).zip(sources) {
            reads.push((source, read));
            let byte = values[own.offset] + piece * cell;
            for later in execution.coherence.row(source).members() {
                let covers = graph.events[later].access.is_some_and(|of| {
                    let (first, end) = bytes(of);
                    of.location == own.location && (first..end).contains(&byte)
                });
                if covers {
                    from_reads.push((read, later));
                }
            }
        }
    }
    for (base, pairs) in [
        (BaseRelation::SameLocation, common),
        (BaseRelation::SameVirtualLocation, virtually),
        (BaseRelation::CompleteOverlap, complete),
        (BaseRelation::ReadsFrom, reads),
        (BaseRelation::FromReads, from_reads),
    ] {
        relations.insert(base.name(), happening(Relation::of_pairs(n, pairs)));
    }
    relations.insert(BaseRelation::Coherence.name(), happening(execution.coherence.clone()));
    relations.insert(BaseRelation::FenceSc.name(), happening(execution.fence_order.clone()));
    Ok(Basis { executed: executed.clone(), sets, relations })
}
