//! What makes a finding in one text the same one in another.

use super::super::explanation::Explanation;
use super::super::subject::Subject;
use super::edit::{Edit, Repair};
use crate::event::EventGraph;
use crate::findings::lifetime::NOT_CO_RESIDENT;
use crate::verdict::Property;
use fencepost_dsl::sorted::SortedSet;
use fencepost_dsl::{SourceMap, Span};

/// In place of operands, for a wait that only the launch can end.
pub(super) const RESIDENCE: &str = "residence";

/// What makes a finding the same one in a changed program: its property and the operands it is about.
pub type Key = (Property, SortedSet<String>);

/// What makes a finding in these texts the same one in others.
pub fn key(sources: &SourceMap, graph: &EventGraph, property: Property, explanation: &Explanation) -> Key {
    let text = |span: Span| {
        let text = sources.text(span);
        // Without the guard that compilers write before it.
        let of_guard = text.strip_prefix('@').and_then(|rest| rest.split_once(char::is_whitespace));
        let text = of_guard.map_or(text, |(_, rest)| rest.trim_start());
        // Without the opcode, which a repair may change; and which one of those that read alike.
        let operands = text.split_once(char::is_whitespace).map_or(text, |(_, rest)| rest);
        let before = &sources.file(span.file).text[..span.start as usize];
        format!("{operands} {}", before.matches(operands).count())
    };
    let site = |event| {
        let site: crate::event::SiteId = graph.events[event].site?;
        Some(text(graph.sites[site].span))
    };
    let places = match &explanation.subject {
        Subject::Race { earlier, later } | Subject::Flag { pair: (earlier, later), .. } => {
            [*earlier, *later].into_iter().filter_map(site).collect()
        }
        Subject::Assertion { span, .. }
        | Subject::Misuse { span, .. }
        | Subject::Bounds { span, .. }
        | Subject::Final { span } => SortedSet::from([text(*span)]),
        Subject::Lifetime { access, .. } => site(*access).into_iter().collect(),
        Subject::Deadlock { .. } if explanation.code == NOT_CO_RESIDENT.code => {
            SortedSet::from([RESIDENCE.to_owned()])
        }
        Subject::Deadlock { .. } | Subject::Completion => SortedSet::new(),
    };
    (property, places)
}

/// A change, and the findings that are left with it and those before it.
pub type Part = (Vec<Edit>, Vec<Key>);

/// Each finding with the change after which it was gone, of changes that were checked for some values of the parameters, or all.
pub fn assigned(
    keys: &[Key],
    parts: &[Part],
    (values, within_bound): (&[(String, u64)], bool),
) -> Vec<Option<Repair>> {
    let Some((_, left)) = parts.last() else { return vec![None; keys.len()] };
    let mut stays: Vec<Property> = left.iter().map(|(property, _)| *property).collect();
    stays.sort_unstable();
    stays.dedup();
    let mends = |key: &Key| parts.iter().position(|(_, left)| !left.contains(key));
    let of = |key: &Key| {
        let own = mends(key)?;
        let others = parts.iter().enumerate().filter(|(i, _)| *i != own).flat_map(|(_, (edits, _))| edits);
        Some(Repair {
            others: others.cloned().collect(),
            stays: stays.clone(),
            within_bound,
            values: values.to_vec(),
            ..Repair::of_launch(parts[own].0.clone())
        })
    };
    keys.iter().map(of).collect()
}
