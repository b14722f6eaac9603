//! Whether both sides tell the same runs.

use super::graph::{Run as Unfolded, Unfolding};
use super::pairs::Pairs;
use super::place::{Thread, initial, location, threads};
use super::text::{Run, runs};
use super::{Again, Effort, End, Text, Told, Values, Work};
use crate::Refused;
use crate::graph::{Graph, Operator, UnknownKind, mask};
use crate::part::Part;
use fencepost_dsl::kernel::program::{ElementKind, Object, Statement, StatementKind, any_statement};
use fencepost_dsl::vocabulary::{Replication, Space};
use std::collections::{BTreeMap, BTreeSet};

/// Elements of an object beyond which it is not looked at.
const ELEMENTS_MAX: u64 = 4_096;
/// Values of a parameter up to which all are looked at.
const PARAMETER_MAX: u64 = 8;
/// The kinds of events that are followed here.
const KINDS: [&str; 6] = ["init", "read", "write", "fence", "barrier-arrive", "barrier-wait"];

/// A run as the text has it, and the same one as the graph has it.
pub type Same<'a> = (&'a Run, &'a Unfolded);

/// Derives a graph again.
///
/// # Errors
/// If it is not what the text says.
pub fn compare(text: &Text<'_>, part: &Part, effort: Effort) -> Result<Again, Refused> {
    match derive(text, part, effort) {
        Ok(again) => Ok(again),
        Err(Failed::Wrong(refused)) => Err(refused),
        Err(Failed::Left(why)) => Ok(Again::given_up(why)),
    }
}

/// Why there is no comparison.
pub(super) enum Failed {
    /// What is not followed.
    Left(String),
    /// The graph is another one.
    Wrong(Refused),
}

impl From<String> for Failed {
    fn from(why: String) -> Self {
        Self::Left(why)
    }
}

impl Failed {
    pub(super) fn wrong(why: String) -> Self {
        Self::Wrong(Refused::new("graph::another", why))
    }
}

fn derive(text: &Text<'_>, part: &Part, effort: Effort) -> Result<Again, Failed> {
    let graph = &part.graph;
    if graph.events.len() > effort.events_max {
        return Err(Failed::Left(format!("there are more than {} events", effort.events_max)));
    }
    let threads = threads(text.launch);
    let kind = graph.events.iter().map(|event| event.kind.as_str()).find(|kind| !KINDS.contains(kind));
    let mut left = BTreeSet::new();
    let work = Work::new(effort);
    let mut values = first_values(text, part, &threads, &mut left)?;
    let all = grown(text, part, &threads, &mut values, (effort, &work), &mut left)?;
    if let Some(kind) = kind {
        return Err(Failed::Left(format!("it has events that are not followed here: {kind}")));
    }
    check_loops(text, graph)?;
    if threads.len() != graph.agents.len() {
        let why = format!("{} threads are in it, and the launch has {}", graph.agents.len(), threads.len());
        return Err(Failed::wrong(why));
    }
    let unfolding = Unfolding::new(graph, &values, (effort, &work));
    let (mut n_runs, mut decided, mut unfolded) = (0, BTreeSet::new(), Vec::new());
    for agent in 0..graph.agents.len() {
        let own = unfolding.runs(agent)?;
        decided.extend(own.decided);
        unfolded.push(own.runs);
    }
    let mut same: Vec<Vec<Same<'_>>> = Vec::new();
    for (agent, (runs, unfolded)) in all.iter().zip(&unfolded).enumerate() {
        let may_not_start = graph.constant(graph.agents[agent].started) != Some(1);
        let own = Comparing { name: &graph.agents[agent].name, runs, unfolded, may_not_start };
        same.push(own.same()?);
        n_runs += runs.len();
    }
    let open = graph.constraints.iter().filter(|term| !decided.contains(term)).count();
    if open > 0 {
        left.insert(format!("{open} constraints on several threads or on memory in the end"));
    }
    let waits = |own: &Told| own.end == End::Stands && own.stays_on.is_none();
    let of_text = all.iter().flatten().map(|run| &run.told);
    if of_text.chain(unfolded.iter().flatten().map(|run| &run.told)).any(waits) {
        left.insert("which waits can be for ever".to_owned());
    }
    if graph.obligations.iter().any(|own| own.property != "assert" && own.property != "bounds") {
        left.insert("the rules of barriers".to_owned());
    }
    Pairs { text, graph, threads: &threads, same: &same, values: &values }.check(&mut left)?;
    Ok(Again { n_threads: threads.len(), n_runs, left: Ok(left) })
}

/// The values that everything has at first.
fn first_values(
    text: &Text<'_>,
    part: &Part,
    threads: &[Thread],
    left: &mut BTreeSet<String>,
) -> Result<Values, String> {
    let mut values = Values::default();
    for own in &text.kernel.parameters {
        let chosen = part.values.iter().find(|(name, _)| *name == own.name);
        values.parameters.push(match chosen {
            Some(&(_, value)) => vec![value as u128],
            None if own.max - own.min < PARAMETER_MAX => (own.min..=own.max).map(u128::from).collect(),
            None => {
                left.insert(format!("most values of `{}`", own.name));
                vec![u128::from(own.min), u128::from(own.min) + 1, u128::from(own.max)]
            }
        });
    }
    if text.kernel.flat.is_some() {
        return Err("its addresses are numbers".to_owned());
    }
    let is_plain = |own: &&Object| {
        own.element == ElementKind::Data
            && own.replication == Replication::Single
            && matches!(own.space, Space::Global | Space::Shared | Space::Param)
    };
    for object in text.kernel.objects.iter().filter(is_plain) {
        if object.n_elements() > ELEMENTS_MAX {
            return Err(format!("`{}` has more than {ELEMENTS_MAX} elements", object.name));
        }
        for thread in threads {
            // What no thread touches has no location.
            let Ok(at) = location(text, &part.graph, object, (*thread, thread.rank)) else { continue };
            let bytes = u128::from(object.width) / 8;
            let start = initial(text, &part.graph.locations[at]);
            for element in 0..u128::from(object.n_elements()) {
                let offset = u128::from(object.offset_bytes) + element * bytes;
                let own = values.of.entry((at, offset, bytes)).or_default();
                match start {
                    Some(start) => _ = own.insert(number(start, offset, bytes)),
                    None => own.extend([0, 1]),
                }
            }
            if start.is_none() {
                left.insert(format!("most values that `{}` can have at first", object.name));
            }
        }
    }
    Ok(values)
}

/// The number that some bytes are, the lowest first.
pub(super) fn number(bytes: &[u8], offset: u128, width: u128) -> u128 {
    let byte = |at: u128| {
        let at = usize::try_from(offset + at).unwrap_or(usize::MAX);
        u128::from(bytes.get(at).copied().unwrap_or(0))
    };
    (0..width).rev().fold(0, |value, at| value << 8 | byte(at))
}

/// All runs of all threads, once the values that they write are among those that are read.
fn grown(
    text: &Text<'_>,
    part: &Part,
    threads: &[Thread],
    values: &mut Values,
    (effort, work): (Effort, &Work),
    left: &mut BTreeSet<String>,
) -> Result<Vec<Vec<Run>>, String> {
    let all_runs = |values: &Values| -> Result<Vec<Vec<Run>>, String> {
        threads
            .iter()
            .map(|&thread| runs(text, &part.graph, thread, values, (part.unroll, effort, work)))
            .collect()
    };
    let mut all = all_runs(values)?;
    let mut is_open = true;
    for _ in 0..effort.rounds_max {
        let mut more = values.clone();
        let mut is_full = false;
        for step in all.iter().flatten().flat_map(|run| &run.steps).filter(|step| step.done.marks.has("W")) {
            let Some(touched) = step.done.touched else { continue };
            let own = more.of.entry((touched.location, touched.offset, touched.bytes)).or_default();
            if own.len() < effort.values_max {
                own.insert(touched.value);
            } else {
                is_full |= !own.contains(&touched.value);
            }
        }
        if more == *values {
            is_open = is_full;
            break;
        }
        match all_runs(&more) {
            Ok(own) => (all, *values) = (own, more),
            Err(_) => break,
        }
    }
    if is_open {
        left.insert("values that take many steps to come about".to_owned());
    }
    check_sizes(part, &all)?;
    // Values next to those that it compares with tell conditions apart.
    let mut more = values.clone();
    add_compared(&part.graph, &mut more);
    if let Ok(own) = all_runs(&more) {
        (all, *values) = (own, more);
    }
    Ok(all)
}

/// A loop whose rounds stand for more than themselves is not followed: one that is taken for a wait, or in which a thread may
/// stay for ever.
fn check_loops(text: &Text<'_>, graph: &Graph) -> Result<(), String> {
    let (mut waits, mut loops) = (BTreeSet::new(), BTreeSet::new());
    let line = |statement: &Statement| text.sources.line_column(statement.span).line as u64;
    let bodies = text.program.functions.iter().map(|own| &own.body).chain([&text.kernel.body]);
    for body in bodies {
        any_statement(body, &mut |statement| {
            let (lines, inside) = match &statement.kind {
                StatementKind::Await { prelude, .. } => (&mut waits, [prelude.as_slice(), &[]]),
                StatementKind::While { prelude, body, .. } => (&mut loops, [prelude.as_slice(), body]),
                _ => return false,
            };
            lines.insert(line(statement));
            for part in inside {
                any_statement(part, &mut |own| {
                    lines.insert(line(own));
                    false
                });
            }
            false
        });
    }
    let tries = graph.events.iter().filter(|event| event.is_try).map(|event| event.line);
    let stays = graph.blocked.iter().map(|own| own.line);
    match tries.chain(stays).find(|line| loops.contains(line) && !waits.contains(line)) {
        Some(line) => Err(format!("a round of the loop in line {line} stands for others")),
        None => Ok(()),
    }
}

/// Accesses of one place that are of different sizes are not followed.
fn check_sizes(part: &Part, all: &[Vec<Run>]) -> Result<(), String> {
    let mut places: BTreeMap<(usize, u128), u128> = BTreeMap::new();
    for step in all.iter().flatten().flat_map(|run| &run.steps) {
        let Some(own) = step.done.touched else { continue };
        for byte in 0..own.bytes {
            let first = own.offset << 8 | own.bytes;
            if *places.entry((own.location, own.offset + byte)).or_insert(first) != first {
                return Err(format!("`{}` is accessed in several sizes", part.graph.locations[own.location]));
            }
        }
    }
    Ok(())
}

fn add_compared(graph: &Graph, values: &mut Values) {
    let supports = super::graph::supports(graph);
    for term in &graph.terms {
        if !matches!(term.operator, Operator::Equal | Operator::Less | Operator::SignedLess) {
            continue;
        }
        let (a, b) = (term.operands[0], term.operands[1]);
        for (constant, other) in [(a, b), (b, a)] {
            let Some(value) = graph.constant(constant) else { continue };
            for &unknown in &supports[other] {
                let UnknownKind::Read(read) = graph.unknowns[unknown].kind else { continue };
                let Some(access) = graph.events[read].access else { continue };
                let Some(offset) = graph.constant(access.offset) else { continue };
                let Some(own) = values.of.get_mut(&(access.location, offset, access.width)) else { continue };
                let bits = mask(u32::try_from(access.width * 8).unwrap_or(128));
                own.extend([value & bits, value.wrapping_add(1) & bits, value.wrapping_sub(1) & bits]);
            }
        }
    }
}

struct Comparing<'a> {
    name: &'a str,
    runs: &'a [Run],
    unfolded: &'a [Unfolded],
    may_not_start: bool,
}

/// Without what only one side may know.
fn key(told: &Told) -> Told {
    Told { stays_on: None, ..told.clone() }
}

fn begins(whole: &Told, part: &Told) -> bool {
    whole.done.starts_with(&part.done) && whole.parameters == part.parameters
}

impl<'a> Comparing<'a> {
    fn same(&self) -> Result<Vec<Same<'a>>, Failed> {
        let of_text: BTreeMap<Told, &Run> = self.runs.iter().map(|run| (key(&run.told), run)).collect();
        let of_graph: BTreeMap<Told, &Unfolded> =
            self.unfolded.iter().map(|run| (key(&run.told), run)).collect();
        let ends = |end: End| move |told: &&Told| told.end == end;
        let (text, graph) = (of_text.keys(), of_graph.keys());
        let cut: Vec<&Told> = graph.clone().filter(ends(End::Cut)).collect();
        let text_cut: Vec<&Told> = text.clone().filter(ends(End::Cut)).collect();
        let broken: Vec<&Told> = graph.clone().filter(ends(End::Broken)).collect();
        let text_broken: Vec<&Told> = text.clone().filter(ends(End::Broken)).collect();
        let mut same = Vec::new();
        for (told, run) in &of_text {
            if let Some(unfolded) = of_graph.get(told) {
                if let (Some(a), Some(b)) = (&run.told.stays_on, &unfolded.told.stays_on)
                    && a != b
                {
                    return Err(self.differs("waits on other values", told, &[]));
                }
                same.push((*run, *unfolded));
                continue;
            }
            // Tries that a graph leaves out are what `waits` and `prune-spins` say.
            let is_try = told.done.iter().any(|own| own.marks.has("SPIN"));
            let at_barrier = told.done.last().is_some_and(|own| own.marks.has("BAR-ARRIVE"));
            let is_known = match told.end {
                // Whether anybody else comes to a barrier is not seen from here.
                End::Stands if at_barrier => true,
                // A wait that goes on whatever is there.
                End::Stands if run.told.stays_on.as_ref().is_some_and(BTreeSet::is_empty) => true,
                End::Broken => broken.iter().any(|own| begins(own, told)),
                _ => cut.iter().any(|own| begins(told, own)),
            };
            if !is_known && !is_try {
                return Err(self.differs("is not in the graph", told, &of_graph.keys().collect::<Vec<_>>()));
            }
        }
        for told in of_graph.keys().filter(|told| !of_text.contains_key(told)) {
            let is_known = match told.end {
                End::Broken => text_broken.iter().any(|own| begins(told, own)),
                End::Cut => of_text.keys().any(|own| begins(own, told)),
                End::Stands if told.done.is_empty() && self.may_not_start => true,
                End::Stands if text_broken.iter().any(|own| begins(told, own)) => true,
                _ => text_cut.iter().any(|own| begins(told, own)),
            };
            if !is_known {
                return Err(self.differs("is not in the text", told, &of_text.keys().collect::<Vec<_>>()));
            }
        }
        Ok(same)
    }

    /// What a run does that none of the others does.
    fn differs(&self, how: &str, told: &Told, others: &[&Told]) -> Failed {
        let common =
            |other: &&Told| told.done.iter().zip(&other.done).take_while(|(own, other)| own == other).count();
        let nearest = others.iter().copied().max_by_key(|other| common(other));
        let n = nearest.map_or(0, |other| common(&other));
        let step = |told: &Told| match told.done.get(n) {
            Some(done) => done.told(),
            None => match told.end {
                End::Finished => "comes to its end".to_owned(),
                End::Stands => "stands for good".to_owned(),
                End::Cut => "is cut in a loop".to_owned(),
                End::Broken => "breaks a rule".to_owned(),
            },
        };
        let fails = match &told.failed {
            failed if failed.is_empty() => String::new(),
            failed => format!(", with the assertions of lines {failed:?} failing"),
        };
        let nearest = nearest.map_or(String::new(), |other| format!("; the nearest has {}", step(other)));
        Failed::wrong(format!(
            "a run of {} {how}: after {n} steps it has {}{fails}{nearest}",
            self.name,
            step(told)
        ))
    }
}
