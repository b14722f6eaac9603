//! What a graph says of pairs of events, of memory at first and in the end: held to the places of threads and to their runs.

use super::compare::{Failed, Same, number};
use super::place::{Thread, initial, location};
use super::text::number::{Around, Ends, Number, Registers, evaluate};
use super::text::{Meeting, Step, place_of};
use super::{End, MARKS, Marks, Text, Values};
use crate::graph::{Graph, Operator, UnknownKind};
use fencepost_dsl::index::Id;
use fencepost_dsl::kernel::program::{Address, AddressBase, Expression, Quantifier, RegisterId};
use std::collections::{BTreeMap, BTreeSet};

/// How many choices of runs and final values conditions are evaluated on.
const SAMPLES: usize = 256;

pub struct Pairs<'a> {
    pub text: &'a Text<'a>,
    pub graph: &'a Graph,
    pub threads: &'a [Thread],
    pub same: &'a [Vec<Same<'a>>],
    pub values: &'a Values,
}

/// Relations of the graph that are pairs of events by where their threads are.
const DERIVED: [&str; 7] = ["id", "int", "ext", "po", "scta", "sr", "rmw"];
/// Dependencies, which are held to what values and ways come from.
const DEPENDENCIES: [&str; 4] = ["addr", "data", "ctrl", "ctrl-store"];

impl Pairs<'_> {
    /// Holds the graph to the runs, and adds what is not looked at.
    pub fn check(&self, left: &mut BTreeSet<String>) -> Result<(), Failed> {
        for (name, members) in sorted(&self.graph.sets) {
            if name != "_" && !members.is_empty() && !MARKS.contains(&name.as_str()) {
                left.insert(format!("the set `{name}`"));
            }
        }
        self.initial_writes()?;
        self.conditions(left)?;
        let steps = self.steps();
        if self.graph.relations.is_none() {
            left.insert("relations between events, which its slices have".to_owned());
            return Ok(());
        }
        for name in DERIVED {
            self.derived(name, &steps)?;
        }
        self.dependencies(left)?;
        self.barriers(&steps, left)?;
        for (name, pairs) in self.graph.relations.iter().flat_map(sorted) {
            let name = name.as_str();
            if !pairs.is_empty() && !DERIVED.contains(&name) && !DEPENDENCIES.contains(&name) {
                left.insert(format!("the relation `{name}`"));
            }
        }
        Ok(())
    }

    /// By event, the steps that it is.
    fn steps(&self) -> Vec<Vec<&Step>> {
        let mut steps: Vec<Vec<&Step>> = vec![Vec::new(); self.graph.events.len()];
        for (run, unfolded) in self.same.iter().flatten() {
            for (step, &event) in run.steps.iter().zip(&unfolded.events) {
                steps[event].push(step);
            }
        }
        steps
    }

    fn has(&self, name: &str, a: usize, b: usize) -> bool {
        self.graph.relations.as_ref().and_then(|of| of.get(name)).is_some_and(|own| own.has(a, b))
    }

    fn told(&self, event: usize) -> String {
        let own = &self.graph.events[event];
        let what = if own.text.is_empty() { own.kind.clone() } else { own.text.clone() };
        format!("event {event} (`{what}`, line {})", own.line)
    }

    fn derived(&self, name: &str, steps: &[Vec<&Step>]) -> Result<(), Failed> {
        let events = &self.graph.events;
        let halves: BTreeSet<(usize, usize)> = self
            .same
            .iter()
            .flatten()
            .flat_map(|(run, unfolded)| {
                let is_half = |at: &usize| run.steps[*at].is_half;
                (1..run.steps.len()).filter(is_half).map(|at| (unfolded.events[at - 1], unfolded.events[at]))
            })
            .collect();
        let happens = |event: usize| events[event].agent.is_none() || !steps[event].is_empty();
        let all: Vec<usize> = (0..events.len()).filter(|&event| happens(event)).collect();
        for &a in &all {
            for &b in &all {
                let (x, y) = (events[a].agent, events[b].agent);
                let same = x.is_some() && x == y;
                let threads = x.zip(y).map(|(x, y)| (self.threads[x], self.threads[y]));
                let scope = |event: usize| steps[event].first().and_then(|step| step.scope);
                let is = match name {
                    "id" => a == b,
                    "int" => same,
                    "ext" => !same && a != b,
                    "po" => same && events[a].position < events[b].position,
                    "scta" => threads.is_some_and(|(x, y)| x.sees(fencepost_dsl::vocabulary::Scope::Cta, y)),
                    "sr" => threads
                        .zip(scope(a))
                        .zip(scope(b))
                        .is_some_and(|(((x, y), of_x), of_y)| x.sees(of_x, y) && y.sees(of_y, x)),
                    _ => halves.contains(&(a, b)),
                };
                // Halves that never happen together are nobody's.
                let is_vacuous = name == "rmw" && !is && !self.meet(a, b);
                if is != self.has(name, a, b) && !is_vacuous {
                    let how = if is { "lacks" } else { "has" };
                    let (a, b) = (self.told(a), self.told(b));
                    return Err(Failed::wrong(format!("`{name}` {how} the pair of {a} and {b}")));
                }
            }
        }
        Ok(())
    }

    /// Whether two events happen in one run.
    fn meet(&self, a: usize, b: usize) -> bool {
        let both = |(_, unfolded): &Same<'_>| unfolded.events.contains(&a) && unfolded.events.contains(&b);
        self.same.iter().flatten().any(both)
    }

    fn dependencies(&self, left: &mut BTreeSet<String>) -> Result<(), Failed> {
        let mut pairs: Vec<(&str, usize, usize)> = Vec::new();
        for name in DEPENDENCIES {
            let own = self.graph.relations.as_ref().and_then(|of| of.get(name));
            pairs.extend(own.into_iter().flat_map(|own| own.pairs()).map(|(a, b)| (name, a, b)));
        }
        let past = self.graph.edges.get("ctrl-past").map_or(&[][..], Vec::as_slice);
        pairs.extend(past.iter().map(|&(a, b, _)| ("ctrl-past", a, b)));
        for (name, a, b) in pairs {
            let (mut meet, mut is_there) = (false, false);
            for (run, unfolded) in self.same.iter().flatten() {
                let place = |event: usize| unfolded.events.iter().position(|&own| own == event);
                let (Some(a), Some(b)) = (place(a), place(b)) else { continue };
                let step = &run.steps[b];
                meet = true;
                is_there |= step.of_way.contains(&a)
                    || (name != "data" && step.of_address.contains(&a))
                    || (name != "addr" && step.of_value.contains(&a));
            }
            if meet && !is_there {
                let (a, b) = (self.told(a), self.told(b));
                let why =
                    format!("`{name}` has the pair of {a} and {b}, and the second comes from no such read");
                return Err(Failed::wrong(why));
            }
            if name.starts_with("ctrl") {
                left.insert("which branches on the way to an event decide it".to_owned());
            }
        }
        Ok(())
    }

    fn barriers(&self, steps: &[Vec<&Step>], left: &mut BTreeSet<String>) -> Result<(), Failed> {
        for (name, edges) in &self.graph.edges {
            if !edges.is_empty() && name != "ctrl-past" && name != "syncbar" {
                left.insert(format!("the relation `{name}`"));
            }
        }
        let edges = self.graph.edges.get("syncbar").map_or(&[][..], Vec::as_slice);
        let of = |event: usize| -> BTreeSet<Meeting> {
            steps[event].iter().filter_map(|step| step.meeting).collect()
        };
        let meetings: Vec<BTreeSet<Meeting>> = (0..steps.len()).map(of).collect();
        let is_plain = meetings.iter().all(|own| own.len() <= 1)
            && edges.iter().all(|edge| self.graph.constant(edge.2) == Some(1));
        if !is_plain {
            left.insert("which arrivals are at which barrier (`syncbar`)".to_owned());
            return Ok(());
        }
        let there: BTreeSet<(usize, usize)> = edges.iter().map(|edge| (edge.0, edge.1)).collect();
        for (a, arrival) in meetings.iter().enumerate() {
            for (b, passage) in meetings.iter().enumerate() {
                let is = |event: usize, mark: &str| steps[event].iter().any(|own| own.done.marks.has(mark));
                let is_meant =
                    !arrival.is_empty() && arrival == passage && is(a, "BAR-ARRIVE") && is(b, "BAR-WAIT");
                let happen = !steps[a].is_empty() && !steps[b].is_empty();
                if happen && is_meant != there.contains(&(a, b)) {
                    let how = if is_meant { "lacks" } else { "has" };
                    let (a, b) = (self.told(a), self.told(b));
                    return Err(Failed::wrong(format!("`syncbar` {how} the pair of {a} and {b}")));
                }
            }
        }
        Ok(())
    }

    /// What is there at first.
    fn initial_writes(&self) -> Result<(), Failed> {
        let graph = self.graph;
        let marks = super::graph::marks(graph);
        let mut wanted = Marks::default();
        ["W", "M", "IW", "GEN"].iter().for_each(|own| wanted.add(own));
        let mut there: BTreeSet<(usize, u128)> = BTreeSet::new();
        for (event, own) in graph.events.iter().enumerate().filter(|(_, own)| own.kind == "init") {
            let wrong = |what: &str| Err(Failed::wrong(format!("{} {what}", self.told(event))));
            let Some(access) = own.access else { return wrong("writes nothing") };
            if own.agent.is_some() || graph.constant(own.guard) != Some(1) || marks[event] != wanted {
                return wrong("is no plain initial write");
            }
            let Some(offset) = graph.constant(access.offset) else { return wrong("is nowhere") };
            let start = initial(self.text, &graph.locations[access.location]);
            let is_fine = match (start, graph.constant(access.value)) {
                (Some(start), Some(value)) => value == number(start, offset, access.width),
                (Some(_), None) => false,
                (None, _) => matches!(graph.terms[access.value].operator, Operator::Unknown(_)),
            };
            if !is_fine {
                return wrong("writes what is not there at first");
            }
            for byte in 0..access.width {
                if !there.insert((access.location, offset + byte)) {
                    return wrong("writes what another one writes");
                }
            }
        }
        for step in self.same.iter().flatten().flat_map(|(run, _)| &run.steps) {
            let Some(own) = step.done.touched.filter(|_| step.done.marks.has("R")) else { continue };
            if !(0..own.bytes).all(|byte| there.contains(&(own.location, own.offset + byte))) {
                let why = format!("it lacks an initial write to `{}`", graph.locations[own.location]);
                return Err(Failed::wrong(why));
            }
        }
        Ok(())
    }

    /// Conditions on what there is in the end, on some choices of that.
    fn conditions(&self, left: &mut BTreeSet<String>) -> Result<(), Failed> {
        let kernel = self.text.kernel;
        let graph = self.graph;
        if kernel.finals.len() != graph.finals.len()
            || kernel.condition.is_some() != graph.condition.is_some()
        {
            return Err(Failed::wrong("it has other conditions on what there is in the end".to_owned()));
        }
        let mut asked: Vec<(&Expression, usize)> = Vec::new();
        for own in &kernel.finals {
            let place = place_of(own.span);
            let Some(found) = graph.finals.iter().find(|found| found.place == place) else {
                return Err(Failed::wrong("it lacks a condition of `final`".to_owned()));
            };
            asked.push((&own.condition, found.condition));
        }
        if let Some((own, found)) = kernel.condition.as_ref().zip(graph.condition.as_ref()) {
            let name = match own.quantifier {
                Quantifier::Exists => "exists",
                Quantifier::NotExists => "not-exists",
                Quantifier::Forall => "forall",
            };
            if found.quantifier != name {
                return Err(Failed::wrong("its litmus condition is another one".to_owned()));
            }
            asked.push((&own.condition, found.condition));
            asked.extend(own.filter.iter().map(|filter| (filter, found.filter)));
        }
        for sample in 0..SAMPLES {
            let Some(choice) = self.choice(sample) else { break };
            let terms = graph.evaluate(&choice.unknowns);
            for &(expression, term) in &asked {
                let thread = self.threads[0];
                let around = Around {
                    registers: &choice.parameters,
                    thread,
                    launch: self.text.launch,
                    ends: Some(&choice),
                };
                let value = match evaluate(expression, around) {
                    Ok(value) => value.value,
                    Err(why) => {
                        left.insert(format!("a condition with {why}"));
                        continue;
                    }
                };
                if value != terms[term] {
                    let why = "a condition on what there is in the end is another one".to_owned();
                    return Err(Failed::wrong(why));
                }
            }
        }
        Ok(())
    }

    /// Some run of each thread to its end, and some values of memory.
    fn choice(&self, sample: usize) -> Option<Choice<'_>> {
        let mut seed = sample as u64;
        let mut pick = |n: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) as usize % n.max(1)
        };
        let mut unknowns = vec![0; self.graph.unknowns.len()];
        let parameters: Vec<u128> = self.values.parameters.iter().map(|own| own[pick(own.len())]).collect();
        let mut registers = Vec::new();
        for same in self.same {
            let ended: Vec<&Same<'_>> = same
                .iter()
                .filter(|(run, _)| run.told.end == End::Finished && run.told.parameters == parameters)
                .collect();
            let (run, unfolded) = ended.get(pick(ended.len()))?;
            registers.push(&run.registers);
            for (unknown, value) in unfolded.unknowns.iter().enumerate() {
                if let Some(value) = value {
                    unknowns[unknown] = *value;
                }
            }
        }
        let mut memory = BTreeMap::new();
        for (&place, options) in &self.values.of {
            memory.insert(place, options.iter().copied().nth(pick(options.len())).unwrap_or(0));
        }
        for (at, unknown) in self.graph.unknowns.iter().enumerate() {
            if let UnknownKind::Final(location, offset, bytes) = unknown.kind {
                unknowns[at] = memory.get(&(location, offset, bytes)).copied().unwrap_or(0);
            }
        }
        for (own, value) in self.graph.parameters.iter().zip(&parameters) {
            unknowns[own.1] = *value;
        }
        let of_parameter = |(own, &value): (&fencepost_dsl::kernel::program::Parameter, &u128)| {
            (own.register.index(), Number::known(value))
        };
        let parameters = self.text.kernel.parameters.iter().zip(&parameters).map(of_parameter).collect();
        Some(Choice { of: self, unknowns, registers, memory, parameters })
    }
}

struct Choice<'a> {
    of: &'a Pairs<'a>,
    unknowns: Vec<u128>,
    registers: Vec<&'a BTreeMap<usize, u128>>,
    memory: BTreeMap<(usize, u128, u128), u128>,
    parameters: Registers,
}

impl Ends for Choice<'_> {
    fn memory(&self, address: &Address) -> Result<u128, String> {
        let (Pairs { text, graph, threads, .. }, AddressBase::Object(id)) = (self.of, address.base) else {
            return Err("an address that is a number".to_owned());
        };
        let object = &text.kernel.objects[id];
        if address.rank.is_some() || address.device.is_some() {
            return Err("memory elsewhere".to_owned());
        }
        let mut element = 0;
        for (index, &n) in address.indices.iter().zip(&object.dimensions) {
            let around =
                Around { registers: &self.parameters, thread: threads[0], launch: text.launch, ends: None };
            element = element * u128::from(n) + evaluate(index, around)?.value;
        }
        let at = location(text, graph, object, (threads[0], threads[0].rank))?;
        let bytes = u128::from(object.width) / 8;
        let place = (at, u128::from(object.offset_bytes) + element * bytes, bytes);
        self.memory.get(&place).copied().ok_or_else(|| "memory that nobody has touched".to_owned())
    }

    fn register(&self, thread: u32, register: RegisterId) -> Result<u128, String> {
        let own = self.registers.get(thread as usize).and_then(|own| own.get(&register.index()));
        own.copied().ok_or_else(|| "a register that nobody has set".to_owned())
    }
}

/// By name, so that messages do not depend on how a table is laid out.
fn sorted<T>(of: &std::collections::HashMap<String, T>) -> Vec<(&String, &T)> {
    let mut all: Vec<(&String, &T)> = of.iter().collect();
    all.sort_by_key(|own| own.0);
    all
}
