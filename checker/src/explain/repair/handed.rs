//! What a read should see once it is mended: the write of another thread, where nothing else ever writes there.
//!
//! A race can be taken away by putting the read before the write, for good: then nothing is handed over any more. Asked
//! with another number in place of what is written: where no read of it is left, the change has turned the hand-over round.
//! A hang can be ended by giving the first signal to the wrong side, which then reads what is not there yet. Asked in the
//! same way: where a read sees anything else, it is too early.
//! Cannot: ask it of reads whose result has no name, of vectors, and of asynchronous operations.

use super::super::subject::Subject;
use super::edit::Edit;
use super::ground::Ground;
use super::signal::{decides, is_waited_for};
use super::syntax::{NodeKind, Syntax};
use super::text::Texts;
use crate::event::{AtomicClass, EventGraph, EventId, EventKind, LocationId, Mbarrier, MbarrierRole};
use fencepost_dsl::SourceMap;
use fencepost_dsl::sorted::SortedSet;
use rustc_hash::FxHashMap;

/// A number that nobody writes, in 16 bits and more, and in 8.
const MARKS: [&str; 2] = ["0x5eed", "0x5e"];

/// A write and the read of it, by their statements, so that they are found in a changed text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Handed {
    write: String,
    read: String,
    /// The name of what is read.
    name: String,
    mark: &'static str,
    /// How often it should.
    pub sees: Sees,
}

/// Which reads should see the write.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Sees {
    /// Some.
    Sometimes,
    /// Each.
    Always,
    /// Each that of the same round: the name of the rounds, in loops that begin with the same words.
    InTurn(String),
}

/// Pairs of which it is asked whether the read still sees the write.
pub const HANDED_MAX: usize = 2;

impl Handed {
    /// Of the accesses of a race, if they are such, or of what a hang keeps from being handed over.
    pub fn of(ground: &Ground<'_>) -> Vec<Self> {
        let graph = ground.graph();
        let is_awaited =
            |write: EventId, read: EventId| is_awaited(graph, write, read) && !updates(graph, read);
        match ground.explanation.subject {
            Subject::Race { earlier, later } => {
                let is_read = |event: EventId| matches!(graph.events[event].kind, EventKind::Read(_));
                let own = match (is_read(earlier), is_read(later)) {
                    (false, true) => Self::of_pair(ground, earlier, later, Sees::Sometimes),
                    (true, false) => Self::of_pair(ground, later, earlier, Sees::Sometimes),
                    _ => None,
                };
                Self::of_all(ground, is_awaited).into_iter().chain(own).collect()
            }
            Subject::Misuse { .. } => Self::of_all(ground, is_awaited),
            Subject::Deadlock { .. } => Self::of_all(ground, |_, read| !updates(graph, read)),
            _ => Vec::new(),
        }
    }

    /// What a change had better keep, too, if one does: each read sees a write, and that of its round.
    pub fn better(ground: &Ground<'_>) -> Vec<Self> {
        let graph = ground.graph();
        let all = Self::of_all(ground, |_, read| !updates(graph, read));
        let in_turn = all.iter().filter_map(|handed| {
            let turn = handed.turn(ground.texts.sources(), ground.syntax)?;
            Some(Self { sees: Sees::InTurn(turn), ..handed.clone() })
        });
        let in_turn: Vec<Self> = in_turn.collect();
        in_turn.into_iter().chain(all).collect()
    }

    /// The pairs of a write and a read of it by another thread, where the program claims nothing: its own claims say
    /// what should be read, and do not hold of another number.
    fn of_all(ground: &Ground<'_>, is_meant: impl Fn(EventId, EventId) -> bool) -> Vec<Self> {
        let (graph, sources) = (ground.graph(), ground.texts.sources());
        let is_claim =
            |text: &str| ["assert", "final", "reachable"].iter().any(|word| text.starts_with(word));
        if ground.syntax.nodes.iter().any(|node| is_claim(sources.text(node.span))) {
            return Vec::new();
        }
        let mut writes: FxHashMap<LocationId, Vec<EventId>> = FxHashMap::default();
        for (id, event) in graph.events.iter_enumerated() {
            if let EventKind::Write(access) = &event.kind {
                writes.entry(access.location).or_default().push(id);
            }
        }
        let mut asked = SortedSet::new();
        let pairs = graph.events.iter_enumerated().filter_map(|(read, event)| {
            let EventKind::Read(access) = &event.kind else { return None };
            let mut of_location = writes.get(&access.location)?.iter();
            let write = *of_location.find(|&&write| graph.events[write].agent != event.agent)?;
            (is_meant(write, read) && asked.insert((graph.events[write].site, event.site)))
                .then_some((write, read))
        });
        pairs
            .filter_map(|(write, read)| Self::of_pair(ground, write, read, Sees::Always))
            .take(HANDED_MAX)
            .collect()
    }

    fn of_pair(ground: &Ground<'_>, write: EventId, read: EventId, sees: Sees) -> Option<Self> {
        let (graph, syntax, sources) = (ground.graph(), ground.syntax, ground.texts.sources());
        let EventKind::Write(access) = &graph.events[write].kind else { return None };
        let is_plain = |event: EventId| {
            let of = graph.events[event].kind.access();
            of.is_some_and(|access| access.atomic == AtomicClass::None) && !graph.is_of_operation(event)
        };
        let location = access.location;
        // What was there before may be what is meant to be read, unless it is nothing.
        let mut others = graph
            .events
            .iter()
            .filter(|event| event.kind.access().is_some_and(|access| access.location == location));
        let is_only_one = others.all(|event| match &event.kind {
            EventKind::Write(_) => event.site == graph.events[write].site,
            EventKind::Init(access) => {
                graph.terms.constant_value(access.value).is_none_or(|value| value == 0)
            }
            _ => true,
        });
        let is_data = !is_waited_for(graph, location) && !decides(graph, location);
        if !is_plain(write) || !is_plain(read) || !is_only_one || !is_data {
            return None;
        }
        let (store, load) = (ground.instruction(write)?, ground.instruction(read)?);
        let binding = syntax.bindings.iter().find(|binding| binding.value == load.span)?;
        let text = |node: usize| sources.text(syntax.nodes[node].span).to_owned();
        let mark = MARKS[usize::from(access.width_bytes < 2)];
        let (write, read) = (text(store.node), text(load.node));
        let found = Self { write, read, name: binding.name.clone(), mark, sees };
        found.asked(ground.texts, syntax).map(|_| found)
    }

    /// The text with another number written, and the claim that nobody reads that, or nobody anything else.
    pub fn asked(&self, texts: &Texts, syntax: &Syntax) -> Option<Texts> {
        let sources = texts.sources();
        let only = |text: &str| {
            let mut found =
                (0..syntax.nodes.len()).filter(|&node| sources.text(syntax.nodes[node].span) == text);
            found.next().filter(|_| found.next().is_none())
        };
        let (write, read) = (only(&self.write)?, only(&self.read)?);
        let mut stores = syntax.inside(write);
        let (store, others) = (stores.next()?, stores.next());
        let &value = store.operands.last()?;
        let is_number = !sources.text(value).contains(['{', '.']);
        let is_simple = store.is("st") && is_number && others.is_none();
        if !is_simple || syntax.nodes[write].kind != NodeKind::Plain {
            return None;
        }
        let (relation, mark) = match &self.sees {
            Sees::Sometimes => ("!=", self.mark.to_owned()),
            Sees::Always => ("==", self.mark.to_owned()),
            Sees::InTurn(turn) => ("==", format!("{} + {turn}", self.mark)),
        };
        let claim = format!("assert {} {relation} {mark};", self.name);
        texts.changed(&[
            Edit::replace(sources, value, &mark),
            Edit::insert(sources, syntax.nodes[read].span, true, &claim),
        ])
    }
    /// The name of the rounds of the loops around both, where they begin with the same words.
    fn turn(&self, sources: &SourceMap, syntax: &Syntax) -> Option<String> {
        let head = |text: &str| {
            let node = (0..syntax.nodes.len()).find(|&node| sources.text(syntax.nodes[node].span) == text)?;
            let around = syntax.ancestors(node);
            let around = around.into_iter().find(|&around| syntax.nodes[around].kind == NodeKind::Loop)?;
            let text = sources.text(syntax.nodes[around].span);
            Some(text.split('{').next()?.trim())
        };
        let (writes, reads) = (head(&self.write)?, head(&self.read)?);
        let name = writes.strip_prefix("for ")?.split_whitespace().next()?;
        (writes == reads && self.mark == MARKS[0]).then(|| name.to_owned())
    }
}

/// Whether a thread writes what it reads: it may be the first that does.
fn updates(graph: &EventGraph, read: EventId) -> bool {
    let location = |event: &EventKind| event.access().map(|access| access.location);
    let of = &graph.events[read];
    let mut own = graph.events.iter().filter(|own| own.agent == of.agent);
    own.any(|own| matches!(own.kind, EventKind::Write(_)) && location(&own.kind) == location(&of.kind))
}

/// Whether the thread that reads waits at an mbarrier for the one that writes.
fn is_awaited(graph: &EventGraph, write: EventId, read: EventId) -> bool {
    let agent = |event: EventId| graph.events[event].agent;
    let does = |object: &Mbarrier, by: EventId, wanted: fn(MbarrierRole) -> bool| {
        let mut operations = object.operations.iter().map(|operation| operation.event);
        operations.any(|event| {
            let EventKind::Mbarrier(operation) = &graph.events[event].kind else { return false };
            agent(event) == agent(by) && wanted(operation.role)
        })
    };
    let waits = |role| matches!(role, MbarrierRole::Wait | MbarrierRole::Test);
    let arrives = |role| matches!(role, MbarrierRole::Arrive);
    graph.mbarriers.iter().any(|object| does(object, read, waits) && does(object, write, arrives))
}
