//! Proposals for what a thread signals behind an access and nobody waits for: a wait for it, before the access that comes too
//! early.
//!
//! A signal is a strong write, or an atomic that counts. The wait looks with the load that belongs to it, at the element that
//! is written or at the reader's own, for the value that is stored, or for as many as are counted in so many rounds. Where what
//! is missed is itself strong, the wait is for any value but the first.
//! Cannot: tell what is waited for where a value is exchanged or packed, or what a function signals in the words of its call.

use super::super::reads::ReadFact;
use super::super::reason::Reason;
use super::super::subject::Subject;
use super::ground::{Ground, Proposal};
use super::order::looked_at;
use super::places::{before, insert, names};
use super::syntax::{Instruction, Memory, NodeKind};
use crate::event::{Access, AgentId, AtomicClass, EventGraph, EventId, EventKind, LocationId};
use fencepost_dsl::Span;
use fencepost_dsl::kernel::isa::strength::is_sem;
use fencepost_dsl::sorted::{SortedMap, SortedSet};

/// Statements around an access before which the wait is tried.
const LEVELS_MAX: usize = 3;
/// Waits that are tried for a pair of accesses.
const WAITS_MAX: usize = 8;
/// What makes a wait unlikely: there is one for the object elsewhere, or a signal is seen.
const ELSEWHERE: u32 = 20;
/// … there is none, and what comes before the store that is waited for is wiped out by it.
const WIPED: u32 = 2;
/// What tells threads apart.
const OWN: &[&str] = &["gpuid", "ctaid", "cluster_ctarank", "warpid", "tid", "laneid"];

/// A wait for each signal that is given behind one of two accesses, before the other one.
pub fn propose(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    // Compiled kernels among others, whose statements name no objects.
    let signals = |own: &Instruction| own.memory.len() == 1 && look(own).is_some();
    if !ground.syntax.instructions.iter().any(signals) {
        return;
    }
    let known = looked_at(ground);
    // A signal that is seen lacks something else.
    let is_seen = ground.explanation.chain.as_ref().is_some_and(|chain| chain.broken.is_some());
    for (a, b) in ground.pairs() {
        for (first, second) in [(a, b), (b, a)] {
            let places = places(ground, second);
            if places.is_empty() {
                continue;
            }
            for (object, text) in waits(ground, first, second).into_iter().take(WAITS_MAX) {
                let more = if is_seen || known.contains(&object.as_str()) { ELSEWHERE } else { 0 };
                for &(rank, at) in &places {
                    let rank = rank + more;
                    found.push(Proposal { rank, edits: vec![insert(ground, (at, false), &text)] });
                }
            }
        }
    }
    for (more, fills, second) in filled(ground) {
        let Some(text) = until_filled(ground, fills, second) else { continue };
        for (rank, at) in places(ground, second) {
            found.push(Proposal { rank: rank + more, edits: vec![insert(ground, (at, false), &text)] });
        }
    }
}

/// Where a thread may wait before an event, the nearest first.
fn places(ground: &Ground<'_>, event: EventId) -> Vec<(u32, usize)> {
    let Some(node) = ground.place(event) else { return Vec::new() };
    let around = ground.syntax.ancestors(node).into_iter().take(LEVELS_MAX);
    let levels = (7..).zip(around);
    levels.flat_map(|(rank, at)| before(ground.syntax, at).map(move |at| (rank, at))).collect()
}

/// Who puts something into a place of memory, and who comes there before: an update that the other one wipes out, or a strong
/// read that finds what was there at first; with how unlikely it is that the second should have waited.
fn filled(ground: &Ground<'_>) -> Vec<(u32, EventId, EventId)> {
    let graph = ground.graph();
    let is_strong = |event: EventId| graph.events[event].kind.access().is_some_and(Access::is_strong);
    let wiped = ground.explanation.reasons.iter().filter_map(|reason| match *reason {
        Reason::Overwritten { write, lost } => Some((WIPED, write, lost)),
        _ => None,
    });
    let is_first = |fact: &&ReadFact| fact.source.is_none_or(|source| graph.events[source].agent.is_none());
    // What is read again and again has its wait, and what is claimed of its value is claimed of data, which may well be what was
    // there at first.
    let is_claimed = matches!(ground.explanation.subject, Subject::Assertion { .. });
    let is_loop = |&node: &usize| ground.syntax.nodes[node].kind == NodeKind::Loop;
    let is_again = |fact: &&ReadFact| {
        ground.place(fact.read).is_some_and(|node| ground.syntax.ancestors(node).iter().any(is_loop))
    };
    let early =
        ground.explanation.reads.iter().filter(|fact| !(is_claimed && is_again(fact))).filter(is_first);
    let early = early.filter_map(|fact| Some((ELSEWHERE, fact.missed?, fact.read)));
    wiped.chain(early).filter(|&(_, fills, second)| is_strong(fills) && is_strong(second)).collect()
}

/// A wait for any value but the one that is there at first, at the place of an access that another one should come before.
fn until_filled(ground: &Ground<'_>, fills: EventId, second: EventId) -> Option<String> {
    let graph = ground.graph();
    let (store, early) = (ground.instruction(fills)?, ground.instruction(second)?);
    let ([memory], Some(look)) = (early.memory.as_slice(), look(store)) else { return None };
    let place = place(graph, second)?;
    let first = graph.events.iter_enumerated().find_map(|(id, event)| match &event.kind {
        EventKind::Init(access) if self::place(graph, id) == Some(place) => {
            graph.terms.constant_value(access.value)
        }
        _ => None,
    })?;
    let is_own = store.is("st") && memory.rank.is_none() && place.1.is_some();
    is_own.then(|| {
        let element = memory.element_of(&memory.name, ground.texts.sources());
        format!("await {look} [{element}] != {first};")
    })
}

/// Waits for what the thread of an access signals behind it, and the other one does not look at; with the object of each.
fn waits(ground: &Ground<'_>, access: EventId, second: EventId) -> Vec<(String, String)> {
    let graph = ground.graph();
    let own = &graph.events[access];
    // A flag may stand beside the data, in one array.
    let data = place(graph, access);
    let is_data = |write: Place| data.is_some_and(|data| may_be(write, data));
    let looks = looks(graph, ground.thread(second));
    // One write of each instruction, and whether the other thread looks at what any of them gives it.
    let mut signals: SortedMap<Span, (EventId, bool)> = SortedMap::new();
    for (id, event) in graph.events.iter_enumerated() {
        let is_behind = event.agent == own.agent && event.position > own.position;
        if !is_behind || !matches!(event.kind, EventKind::Write(_)) {
            continue;
        }
        let Some(write) = place(graph, id).filter(|&write| !is_data(write)) else { continue };
        let Some(signal) = ground.instruction(id) else { continue };
        let is_known = looks.iter().any(|&look| may_be(write, look));
        signals.entry(signal.span).or_insert((id, false)).1 |= is_known;
    }
    let mut found = Vec::new();
    for (span, (id, is_known)) in signals {
        let Some(signal) = ground.syntax.instruction(span).filter(|_| !is_known) else { continue };
        let (Some(look), [memory]) = (look(signal), signal.memory.as_slice()) else { continue };
        // Who waits looks at its own copy.
        let look = if memory.rank.is_some() { look.replace("::cluster", "::cta") } else { look };
        for element in elements(ground, memory, id, second) {
            for wanted in wanted(ground, signal, id) {
                found.push((memory.name.clone(), format!("await {look} [{element}] {wanted};")));
            }
        }
    }
    found
}

/// An object and where in it, if that is a number.
type Place = (LocationId, Option<u128>);

/// Whether two are one, as far as the numbers tell.
fn may_be(a: Place, b: Place) -> bool {
    a.0 == b.0 && (a.1 == b.1 || a.1.is_none() || b.1.is_none())
}

fn place(graph: &EventGraph, event: EventId) -> Option<Place> {
    let access = graph.events[event].kind.access()?;
    Some((access.location, graph.terms.constant_value(access.offset)))
}

/// Where a thread looks; what an atomic reads it only counts on with.
fn looks(graph: &EventGraph, reader: Option<AgentId>) -> SortedSet<Place> {
    let own = graph.events.iter_enumerated().filter(|(_, event)| event.agent == reader);
    let reads = own.filter(|(_, event)| match &event.kind {
        EventKind::Read(access) => access.atomic == AtomicClass::None,
        _ => false,
    });
    reads.filter_map(|(id, _)| place(graph, id)).collect()
}

/// The load that sees what an instruction signals; `None` if it gives no signal.
fn look(signal: &Instruction) -> Option<String> {
    let words: Vec<&str> = signal.opcode.split('.').collect();
    let is_strong = signal.is_strong();
    let counts = |word: &str| matches!(word, "add" | "inc");
    match words[0] {
        "ST" => Some("LD.CV".to_owned()),
        "st" if is_strong => {
            let rest: Vec<&str> = words[1..].iter().map(|word| acquiring(word)).collect();
            Some(format!("ld.{}", rest.join(".")))
        }
        "red" | "atom" if is_strong && words.iter().any(|word| counts(word)) => {
            let rest = words[1..].iter().filter(|word| !counts(word));
            Some(format!("ld.{}", rest.map(|word| acquiring(word)).collect::<Vec<_>>().join(".")))
        }
        "multimem" if is_strong && words[1] == "red" => {
            let rest = words[2..].iter().map(|word| if counts(word) { "min" } else { acquiring(word) });
            Some(format!("multimem.ld_reduce.{}", rest.collect::<Vec<_>>().join(".")))
        }
        _ => None,
    }
}

/// A word of a signal in the load: what waits acquires. What is volatile stays so.
fn acquiring(word: &str) -> &str {
    if is_sem(word) && word != "volatile" { "acquire" } else { word }
}

/// The element as the signal names it, that of the thread which waits, and by its number.
fn elements(ground: &Ground<'_>, memory: &Memory, write: EventId, second: EventId) -> Vec<String> {
    let (graph, sources) = (ground.graph(), ground.texts.sources());
    let mut found = vec![memory.element_of(&memory.name, sources)];
    // In place of that of another thread, or of each of them.
    if let Some((&last, outer)) = memory.indices.split_last() {
        let text = sources.text(last);
        let is_counted = ground.syntax.counted.iter().any(|counted| counted.variable == text);
        let read = ground.instruction(ground.started_by(second)).map_or("", |own| sources.text(own.span));
        let of = if is_counted { read } else { text };
        let own = OWN.iter().filter(|own| text != **own && names(of, &[**own]));
        let outer: String = outer.iter().map(|&index| format!("[{}]", sources.text(index))).collect();
        found.extend(own.map(|own| format!("{}{outer}[{own}]", memory.name)));
    }
    let access = graph.events[write].kind.access();
    let number = access.and_then(|access| {
        let offset = graph.terms.constant_value(access.offset)?;
        Some(offset / u128::from(access.width_bytes.max(1)))
    });
    if let (Some(number), [_]) = (number, memory.indices.as_slice()) {
        found.push(format!("{}[{number}]", memory.name));
    }
    found
}

/// What is looked for: the value that is stored; of what is counted, all there is, in each round.
fn wanted(ground: &Ground<'_>, signal: &Instruction, write: EventId) -> Vec<String> {
    let (graph, sources) = (ground.graph(), ground.texts.sources());
    let Some(of) = graph.events[write].kind.access() else { return Vec::new() };
    let Some(&operand) = signal.operands.last() else { return Vec::new() };
    let operand = sources.text(operand);
    if signal.is("st") || signal.is("ST") {
        let number = graph.terms.constant_value(of.value).filter(|_| operand.parse::<u128>().is_err());
        let number = number.filter(|_| graph.events[write].iterations.is_empty());
        return [Some(operand.to_owned()), number.map(|number| number.to_string())]
            .into_iter()
            .flatten()
            .map(|value| format!("== {value}"))
            .collect();
    }
    // Who adds what it has found out sums up, and does not count who has come.
    let adds_number = |term| graph.terms.constant_value(term).is_some();
    if !adds_number(of.value) && !graph.terms.operands(of.value).into_iter().any(adds_number) {
        return Vec::new();
    }
    let step = operand.parse::<usize>().unwrap_or(1);
    let alike = graph.events.iter().filter(|event| {
        let access = event.kind.access().filter(|_| matches!(event.kind, EventKind::Write(_)));
        event.site == graph.events[write].site
            && access.is_some_and(|access| (access.location, access.offset) == (of.location, of.offset))
    });
    let rounds: Vec<Option<u32>> = alike.map(|event| event.iterations.first().copied()).collect();
    let total = rounds.len() * step;
    let outermost = ground.syntax.ancestors(signal.node).into_iter().rev();
    let counted = outermost.filter_map(|at| ground.syntax.counted.iter().find(|own| own.node == at)).next();
    let n_rounds = rounds.iter().collect::<SortedSet<_>>().len();
    let mut found = Vec::new();
    if let Some(counted) = counted.filter(|_| n_rounds > 1 && total.is_multiple_of(n_rounds)) {
        let each = match total / n_rounds {
            1 => String::new(),
            each => format!("{} * ", named(ground, each, Some(counted.end))),
        };
        found.push(format!(">= {each}({} + 1)", counted.variable));
        found.push(format!(">= {each}{}", counted.variable));
    } else {
        found.push(format!(">= {}", named(ground, total, None)));
    }
    found
}

/// A number by the name that it has in the text, if it has one that is not that of rounds.
fn named(ground: &Ground<'_>, number: usize, rounds: Option<Span>) -> String {
    let (syntax, sources) = (ground.syntax, ground.texts.sources());
    let is_it = |value: Span| sources.text(value).trim().parse() == Ok(number);
    let is_end = |name: &str| rounds.is_some_and(|end| sources.text(end) == name);
    let constant = syntax.constants.iter().find(|(name, value)| !is_end(name) && is_it(*value));
    constant.map_or_else(|| number.to_string(), |(name, _)| name.clone())
}
