//! Proposals for programs: a stream waits for an event of another one, or the host waits for a stream before it goes on, or
//! before it starts what comes on another one.

use super::super::reason::Reason;
use super::super::subject::Subject;
use super::ground::{Ground, Proposal};
use super::places::insert;
use super::syntax::NodeKind;
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
    events(ground, &streams, &starts, found);
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

/// A `wait` for an event before one of the launches that the finding is about, or for one that is recorded again, or an event
/// of its own behind the other launch.
fn events(ground: &Ground<'_>, streams: &[&str], starts: &[usize], found: &mut Vec<Proposal>) {
    let (syntax, sources) = (ground.syntax, ground.texts.sources());
    let text = |node: usize| sources.text(syntax.nodes[node].span);
    let stream_of = |node: usize| {
        let (_, rest) = text(node).split_once(" on ")?;
        rest.split([' ', ';']).next()
    };
    let graph = ground.graph();
    let kernels = ground.pairs().into_iter().flat_map(|(a, b)| [a, b]).filter_map(|event| {
        let grid = graph.hierarchy.grid_of(ground.thread(event)?);
        let name = graph.hierarchy.grids()[grid].name.as_deref()?;
        Some(name.split(" #").next().unwrap_or(name))
    });
    let kernels: Vec<&str> = kernels.collect();
    let launches = |kernel: &str| {
        let of = |node: &&usize| {
            let rest = text(**node).strip_prefix("launch ").and_then(|rest| rest.strip_prefix(kernel));
            rest.is_some_and(|rest| rest.starts_with([' ', '(']))
        };
        starts.iter().filter(of).copied().collect::<Vec<usize>>()
    };
    let own: Vec<usize> = {
        let mut own: Vec<usize> = kernels.iter().flat_map(|kernel| launches(kernel)).collect();
        own.sort_unstable();
        own.dedup();
        own.into_iter().take(EACH_MAX).collect()
    };
    let nodes = || (0..syntax.nodes.len()).filter(|&node| ground.can_change(node));
    let declared = nodes().filter_map(|node| text(node).strip_prefix("event "));
    let declared = declared.flat_map(|names| names.trim_end_matches(';').split(',')).map(str::trim);
    let events: Vec<&str> = declared.take(EACH_MAX).collect();
    for &launch in own.iter().rev() {
        let Some(stream) = stream_of(launch) else { continue };
        for event in &events {
            let edit = insert(ground, (launch, false), &format!("wait {event} on {stream};"));
            found.push(Proposal { rank: 15, edits: vec![edit] });
        }
    }
    // An event that is recorded again forgets what it was recorded for.
    for record in nodes().filter(|&node| text(node).starts_with("record ")) {
        let Some(event) = text(record).split(' ').nth(1) else { continue };
        let is_wait = |node: &usize| text(*node).starts_with(&format!("wait {event} on "));
        let waiting: Option<Vec<&str>> = nodes().filter(is_wait).map(stream_of).collect();
        for stream in waiting.into_iter().flatten().take(EACH_MAX) {
            let edit = insert(ground, (record, true), &format!("wait {event} on {stream};"));
            found.push(Proposal { rank: 15, edits: vec![edit] });
        }
    }
    // Whatever comments say of it.
    let lines = || sources.ids().flat_map(|file| sources.file(file).text.lines());
    let mentions = |line: &str, name: &str| line.split("//").next().is_some_and(|code| code.contains(name));
    let is_free = |name: &&str| !lines().any(|line| mentions(line, name));
    let name = ["done", "finished", "recorded"].into_iter().find(is_free);
    let stands = nodes().find(|&node| text(node).starts_with("stream "));
    let (Some(name), Some(stands), true) = (name, stands, streams.len() > 1) else { return };
    for (&first, &second) in own.iter().flat_map(|a| own.iter().map(move |b| (a, b))) {
        let (Some(from), Some(to)) = (stream_of(first), stream_of(second)) else { continue };
        if first < second && from != to {
            let edits = vec![
                insert(ground, (stands, true), &format!("event {name};")),
                insert(ground, (first, true), &format!("record {name} on {from};")),
                insert(ground, (second, false), &format!("wait {name} on {to};")),
            ];
            found.push(Proposal { rank: 17, edits });
        }
    }
}
