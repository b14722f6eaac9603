//! What a racing read should go on to see: the write that it races with, where nothing else ever writes there.
//!
//! Such a race can be taken away by putting the read before the write, for good: then nothing is handed over any more. Asked
//! with another number in place of what is written: where no read of it is left, the change has turned the hand-over round.
//! Cannot: ask it of reads whose result has no name, of vectors, and of asynchronous operations.

use super::super::Subject;
use super::propose::Ground;
use super::signal::{decides, is_waited_for};
use super::syntax::{NodeKind, Syntax};
use super::text::{Edit, Texts};
use crate::event::{AtomicClass, EventId, EventKind};

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
}

impl Handed {
    /// Of the accesses of a race, if they are such.
    pub fn of(ground: &Ground<'_>) -> Option<Self> {
        let Subject::Race { earlier, later } = ground.explanation.subject else { return None };
        let (graph, syntax, sources) = (ground.graph(), ground.syntax, ground.texts.sources());
        let is_read = |event: EventId| matches!(graph.events[event].kind, EventKind::Read(_));
        let (write, read) = match (is_read(earlier), is_read(later)) {
            (false, true) => (earlier, later),
            (true, false) => (later, earlier),
            _ => return None,
        };
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
        let found = Self { write: text(store.node), read: text(load.node), name: binding.name.clone(), mark };
        found.asked(ground.texts, syntax).map(|_| found)
    }

    /// The text with another number written, and the claim that nobody reads that.
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
        let claim = format!("assert {} != {};", self.name, self.mark);
        texts.changed(&[
            Edit::replace(sources, value, self.mark),
            Edit::insert(sources, syntax.nodes[read].span, true, &claim),
        ])
    }
}
