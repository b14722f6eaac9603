//! What a read should see once it is mended: the write of another thread, where nothing else ever writes there.
//!
//! A race can be taken away by putting the read before the write, for good: then nothing is handed over any more. Asked
//! with another number in place of what is written: where no read of it is left, the change has turned the hand-over round.
//! A hang can be ended by giving the first signal to the wrong side, which then reads what is not there yet. Asked in the
//! same way: where a read sees anything else, it is too early.
//! Cannot: ask it of reads whose result has no name, of vectors, and of asynchronous operations.

use super::super::Subject;
use super::propose::Ground;
use super::signal::{decides, is_waited_for};
use super::syntax::{NodeKind, Syntax};
use super::text::{Edit, Texts};
use crate::event::{AtomicClass, EventId, EventKind, LocationId};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

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
    /// Whether each read should see it, not only some.
    pub always: bool,
}

/// Pairs of which it is asked whether the read still sees the write.
pub const HANDED_MAX: usize = 2;

impl Handed {
    /// Of the accesses of a race, if they are such, or of what a hang keeps from being handed over.
    pub fn of(ground: &Ground<'_>) -> Vec<Self> {
        let graph = ground.graph();
        match ground.explanation.subject {
            Subject::Race { earlier, later } => {
                let is_read = |event: EventId| matches!(graph.events[event].kind, EventKind::Read(_));
                match (is_read(earlier), is_read(later)) {
                    (false, true) => Self::of_pair(ground, earlier, later, false).into_iter().collect(),
                    (true, false) => Self::of_pair(ground, later, earlier, false).into_iter().collect(),
                    _ => Vec::new(),
                }
            }
            Subject::Deadlock { .. } => Self::of_all(ground),
            _ => Vec::new(),
        }
    }

    /// The pairs of a write and a read of it by another thread, where the program claims nothing: its own claims say
    /// what should be read, and do not hold of another number.
    fn of_all(ground: &Ground<'_>) -> Vec<Self> {
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
        let mut asked = BTreeSet::new();
        let pairs = graph.events.iter_enumerated().filter_map(|(read, event)| {
            let EventKind::Read(access) = &event.kind else { return None };
            let mut of_location = writes.get(&access.location)?.iter();
            let write = *of_location.find(|&&write| graph.events[write].agent != event.agent)?;
            asked.insert((graph.events[write].site, event.site)).then_some((write, read))
        });
        pairs.filter_map(|(write, read)| Self::of_pair(ground, write, read, true)).take(HANDED_MAX).collect()
    }

    fn of_pair(ground: &Ground<'_>, write: EventId, read: EventId, always: bool) -> Option<Self> {
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
        let found = Self { write, read, name: binding.name.clone(), mark, always };
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
        let is_simple = store.opcode.starts_with("st.") && is_number && others.is_none();
        if !is_simple || syntax.nodes[write].kind != NodeKind::Plain {
            return None;
        }
        let relation = if self.always { "==" } else { "!=" };
        let claim = format!("assert {} {relation} {};", self.name, self.mark);
        texts.changed(&[
            Edit::replace(sources, value, self.mark),
            Edit::insert(sources, syntax.nodes[read].span, true, &claim),
        ])
    }
}
