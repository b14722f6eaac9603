//! Whether with a change every access still meets other threads that met them before.
//!
//! Where a value says which element is accessed, another one may give each thread an element of its own: nothing is wrong any
//! more, and nothing is handed over either. So a read of what others write is still one, and a write of what others read.
//! Cannot: tell sharing that was meant from sharing that is the mistake; where each thread should have had its own element, a
//! change that says so is refused, too.

use super::text::{Edit, EditKind};
use crate::event::{AgentId, EventGraph, EventKind, LocationId};
use fencepost_dsl::Span;
use fencepost_dsl::sorted::SortedMap;

/// An access: where it stands, whose it is, and whether it reads.
type Access = (Span, AgentId, bool);

/// Whom an access meets at its element.
#[derive(Clone, Copy, Default)]
struct Met {
    /// It reads what others write, or writes what others read.
    others: bool,
    /// It reads what its own thread writes, and nobody else.
    itself: bool,
}

/// The accesses, as far as their elements are known, and whom they meet.
fn accesses(graph: &EventGraph) -> SortedMap<Access, Met> {
    let mut by_byte: SortedMap<(LocationId, u128), Vec<Access>> = SortedMap::new();
    for event in graph.events.iter() {
        let is_read = matches!(event.kind, EventKind::Read(_));
        if !is_read && !matches!(event.kind, EventKind::Write(_)) {
            continue;
        }
        let (Some(agent), Some(site), Some(access)) = (event.agent, event.site, event.kind.access()) else {
            continue;
        };
        let Some(offset) = graph.terms.constant_value(access.offset) else { continue };
        let own = (graph.sites[site].span, graph.hierarchy.issuer(agent), is_read);
        for byte in offset..offset + u128::from(access.width_bytes) {
            by_byte.entry((access.location, byte)).or_default().push(own);
        }
    }
    let mut found = SortedMap::new();
    for all in by_byte.values() {
        for &(span, agent, is_read) in all {
            let meets =
                |own: bool| all.iter().any(|&(_, by, reads)| (by == agent) == own && reads != is_read);
            let met: &mut Met = found.entry((span, agent, is_read)).or_default();
            met.others |= meets(false);
            met.itself |= is_read && meets(true) && !meets(false);
        }
    }
    found
}

/// Whether some access that is left shares nothing any more, or one that is changed only looks at what its thread wrote itself.
pub fn parts(before: &EventGraph, after: &EventGraph, edits: &[Edit]) -> bool {
    let (old, left) = (accesses(before), accesses(after));
    let now = |&(span, agent, is_read): &Access| {
        let place = moved(span, edits);
        let is_it = move |&(at, by, reads): &Access| by == agent && reads == is_read && place.holds(at);
        left.iter().filter(move |(access, _)| is_it(access)).map(|(_, met)| *met)
    };
    let is_alone = |access: &Access| now(access).next().is_some() && !now(access).any(|met| met.others);
    let changed = edits.iter().map(Edit::span);
    let places: Vec<Span> = changed.map(|span| moved(span, edits)).collect();
    old.iter().any(|(access, met)| met.others && is_alone(access))
        || left.iter().any(|((at, ..), met)| met.itself && places.iter().any(|place| at.holds(*place)))
}

/// Whether edits put values in place of others, and do nothing else.
pub fn are_values(edits: &[Edit]) -> bool {
    let is_opcode = |text: &str| text.contains('.') && !text.contains(['[', ' ', ';']);
    edits.iter().all(|edit| match &edit.kind {
        EditKind::Replace { before, after, .. } => !is_opcode(before) && !after.is_empty(),
        _ => false,
    })
}

/// Where something is once the edits are made.
fn moved(span: Span, edits: &[Edit]) -> Span {
    let place = |place: u32| {
        let pieces = edits.iter().flat_map(|edit| &edit.pieces);
        let before = pieces.filter(|piece| piece.span.file == span.file && piece.span.end <= place);
        let (grown, shrunk) = before.fold((0, 0), |(grown, shrunk), piece| {
            (grown + piece.text.len(), shrunk + (piece.span.end - piece.span.start) as usize)
        });
        (place as usize + grown).saturating_sub(shrunk)
    };
    let all = edits.iter().flat_map(|edit| &edit.pieces);
    let around = all.filter(|piece| piece.span.holds(span)).fold(span, |span, piece| span.to(piece.span));
    Span::new(span.file, place(around.start), place(around.end))
}
