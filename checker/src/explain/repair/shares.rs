//! Whether with a change every access still meets other threads that met them before.
//!
//! Where a value says which element is accessed, another one may give each thread an element of its own: nothing is wrong any
//! more, and nothing is handed over either. So a read of what others write is still one, and a write of what others read.
//! Cannot: tell sharing that was meant from sharing that is the mistake; where each thread should have had its own element, a
//! change that says so is refused, too.

use super::syntax::{Instruction, Syntax};
use crate::event::{AgentId, EventGraph, EventKind, LocationId};
use fencepost_dsl::SourceMap;
use fencepost_dsl::index::Id;
use fencepost_dsl::sorted::SortedMap;

/// A text: its words, its statements and its events.
pub type Text<'a> = (&'a SourceMap, &'a Syntax, &'a EventGraph);

/// An access: which instruction of the text it is, whose, and whether it reads.
type Access = (usize, AgentId, bool);

/// Whom an access meets at its element.
#[derive(Clone, Copy, Default)]
struct Met {
    /// It reads what others write, or writes what others read.
    others: bool,
    /// It reads what its own thread writes, in this launch or another one of the kernel, and nobody else.
    itself: bool,
    /// It meets another thread, whichever the launch.
    elsewhere: bool,
}

/// A thread, by its place in its grid: the same one in each launch of a kernel.
type Place<'g> = (Option<&'g str>, usize);

fn place(graph: &EventGraph, agent: AgentId) -> Place<'_> {
    let hierarchy = &graph.hierarchy;
    let grid = hierarchy.grid_of(agent);
    match hierarchy.grids()[grid].name.as_deref() {
        // `consume #2`
        Some(name) => {
            let kernel = name.split(" #").next();
            (kernel, hierarchy.threads_of_grid(grid).take_while(|&other| other != agent).count())
        }
        None => (None, agent.index()),
    }
}

/// The accesses, as far as their elements are known, and whom they meet.
fn accesses((_, syntax, graph): Text<'_>) -> SortedMap<Access, Met> {
    let mut by_byte: SortedMap<(LocationId, u128), Vec<Access>> = SortedMap::new();
    let mut places: SortedMap<AgentId, Place<'_>> = SortedMap::new();
    for event in graph.events.iter() {
        let is_read = matches!(event.kind, EventKind::Read(_));
        if !is_read && !matches!(event.kind, EventKind::Write(_)) {
            continue;
        }
        let (Some(agent), Some(site), Some(access)) = (event.agent, event.site, event.kind.access()) else {
            continue;
        };
        let Some(offset) = graph.terms.constant_value(access.offset) else { continue };
        let span = graph.sites[site].span;
        let Some(number) = syntax.instructions.iter().position(|own| own.span == span) else { continue };
        let issuer = graph.hierarchy.issuer(agent);
        places.entry(issuer).or_insert_with(|| place(graph, issuer));
        let own = (number, issuer, is_read);
        for byte in offset..offset + u128::from(access.width_bytes) {
            by_byte.entry((access.location, byte)).or_default().push(own);
        }
    }
    let mut found = SortedMap::new();
    for all in by_byte.values() {
        for &(number, agent, is_read) in all {
            let mut meets =
                all.iter().filter(|&&(.., reads)| reads != is_read).map(|&(_, by, _)| by).peekable();
            let met: &mut Met = found.entry((number, agent, is_read)).or_default();
            let any = meets.peek().is_some();
            let (mut others, mut elsewhere) = (false, false);
            for by in meets {
                others |= by != agent;
                elsewhere |= places[&by] != places[&agent];
            }
            met.others |= others;
            met.itself |= is_read && any && !elsewhere;
            met.elsewhere |= elsewhere;
        }
    }
    found
}

/// Whether two texts differ in values only, and some access that is left in the second one shares nothing any more, or one
/// that is changed, or has looked at what others write, only looks at what its thread wrote itself.
pub fn parts(before: Text<'_>, after: Text<'_>) -> bool {
    let ((old_sources, old, _), (new_sources, new, _)) = (before, after);
    // Words that order an access do not say whom it meets.
    let operations = |syntax: &Syntax| -> Vec<String> {
        let operation = |own: &Instruction| own.opcode.split('.').next().unwrap_or_default().to_owned();
        syntax.instructions.iter().map(operation).collect()
    };
    // What only stands elsewhere is another statement at its number.
    let sorted = |sources: &SourceMap, syntax: &Syntax| -> Vec<String> {
        let mut texts: Vec<String> =
            syntax.instructions.iter().map(|own| sources.text(own.span).to_owned()).collect();
        texts.sort_unstable();
        texts
    };
    if operations(old) != operations(new) || sorted(old_sources, old) == sorted(new_sources, new) {
        return false;
    }
    let operands = |sources: &SourceMap, own: &Instruction| -> Vec<String> {
        own.operands.iter().map(|&operand| sources.text(operand).to_owned()).collect()
    };
    let is_changed = |number: usize| {
        operands(old_sources, &old.instructions[number]) != operands(new_sources, &new.instructions[number])
    };
    let (met, left) = (accesses(before), accesses(after));
    let is_alone = |access: &Access| left.get(access).is_some_and(|now| !now.others);
    let met_another = |access: &Access| met.get(access).is_some_and(|met| met.elsewhere && !met.itself);
    met.iter().any(|(access, met)| met.others && is_alone(access))
        || left.iter().any(|(access, now)| now.itself && (is_changed(access.0) || met_another(access)))
}
