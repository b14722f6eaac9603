//! Proposals for programs: the host waits for a stream before it goes on, or before it starts what comes on another one.

use super::barrier::insert;
use super::propose::{Ground, Proposal};
use super::syntax::NodeKind;
use crate::explain::{Reason, Subject};

/// Places tried, and streams at each.
const EACH_MAX: usize = 4;

/// `synchronize` for each stream, before what the finding is about and before each launch but the first.
pub fn propose(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    let (syntax, sources) = (ground.syntax, ground.texts.sources());
    let is_order = matches!(
        ground.explanation.subject,
        Subject::Race { .. } | Subject::Assertion { .. } | Subject::Final { .. } | Subject::Flag { .. }
    );
    let text = |node: usize| sources.text(syntax.nodes[node].span);
    let declared =
        |node: usize| text(node).strip_prefix("stream ").map(|names| names.trim_end_matches(';').split(','));
    let nodes = 0..syntax.nodes.len();
    let streams: Vec<&str> =
        nodes.clone().filter_map(declared).flatten().map(str::trim).take(EACH_MAX).collect();
    // Grids that overlap are meant to: what they lack is a wait of their own.
    let overlaps = ground.has(|reason| matches!(reason, Reason::Overlapping { .. }));
    if streams.is_empty() || !is_order || overlaps {
        return;
    }
    let is_start = |&node: &usize| {
        syntax.nodes[node].kind == NodeKind::Declaration
            && text(node).starts_with("launch ")
            && text(node).contains(" on ")
    };
    let starts: Vec<usize> = nodes.filter(is_start).collect();
    // What the host does itself stands beside the launches.
    let is_host = |&node: &usize| starts.iter().any(|start| syntax.siblings(node).0.contains(start));
    let own = ground.nodes().into_iter().flat_map(|node| syntax.ancestors(node)).filter(is_host);
    let mut places: Vec<usize> = own.collect();
    places.extend(starts.iter().skip(1));
    places.retain(|&node| ground.can_change(node));
    for (far, &place) in (0..).zip(places.iter().take(EACH_MAX)) {
        for stream in &streams {
            let edit = insert(ground, (place, false), &format!("synchronize {stream};"));
            found.push(Proposal { rank: 18 + far, edits: vec![edit] });
        }
    }
}
