//! Proposals about asynchronous operations: a smaller number of groups that may be pending, and waits that are missing.

use super::super::reason::Reason;
use super::super::subject::Subject;
use super::edit::Edit;
use super::ground::{Ground, Proposal};
use super::places::{gaps, insert};
use super::syntax::NodeKind;
use crate::event::{EventId, EventKind};

/// Waits that leave fewer groups pending, and new ones.
pub fn propose(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    let graph = ground.graph();
    let pairs = ground.pairs();
    let ends = pairs.iter().flat_map(|&(a, b)| [a, b]);
    let mut operations: Vec<(EventId, EventId)> = Vec::new();
    for &(a, b) in &pairs {
        operations.extend([(a, b), (b, a)].into_iter().filter(|&(event, _)| graph.is_of_operation(event)));
    }
    if let Subject::Lifetime { access, .. } = ground.explanation.subject
        && graph.is_of_operation(access)
    {
        operations.push((access, access));
    }
    if operations.is_empty() && !ends.into_iter().any(|event| is_tensor(ground, event)) {
        // Of an assertion, it may be a value that was not waited for.
        if matches!(ground.explanation.subject, Subject::Race { .. }) {
            return;
        }
    }
    counts(ground, found);
    for (event, other) in operations {
        waits(ground, (event, other), found);
    }
    tensor_links(ground, found);
}

/// `wait_group 1` into `wait_group 0`, and the end of reading into the end of writing.
fn counts(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    let sources = ground.texts.sources();
    for instruction in &ground.syntax.instructions {
        if !instruction.opcode.contains(".wait_group") {
            continue;
        }
        if let Some(&count) = instruction.operands.first()
            && let Ok(now) = sources.text(count).trim().parse::<u32>()
        {
            for (rank, fewer) in (18..).zip((0..now).rev()) {
                let edits = vec![Edit::replace(sources, count, fewer.to_string())];
                found.push(Proposal { rank, edits });
            }
        }
        if instruction.opcode.ends_with(".read") {
            let after = instruction.opcode.trim_end_matches(".read");
            let edits = vec![Edit::replace(sources, instruction.opcode_span, after)];
            found.push(Proposal { rank: 19, edits });
        }
    }
}

/// A wait for an operation, behind what starts it or before the other access.
fn waits(ground: &Ground<'_>, (event, other): (EventId, EventId), found: &mut Vec<Proposal>) {
    let start = ground.started_by(event);
    let Some(instruction) = ground.instruction(start) else { return };
    let opcode = instruction.opcode.as_str();
    let commits = |word: &str| ground.syntax.instructions.iter().any(|other| other.opcode.starts_with(word));
    let wait = if opcode.starts_with("wgmma.mma") {
        "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;"
    } else if opcode.contains("bulk") && (opcode.contains("bulk_group") || commits("cp.async.bulk.commit")) {
        if commits("cp.async.bulk.commit") {
            "cp.async.bulk.wait_group 0;"
        } else {
            "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"
        }
    } else if opcode.starts_with("cp.async.") && !opcode.contains("bulk") {
        "cp.async.wait_all;"
    } else if opcode.starts_with("tcgen05.ld") {
        "tcgen05.wait::ld.sync.aligned;"
    } else if opcode.starts_with("tcgen05.st") {
        "tcgen05.wait::st.sync.aligned;"
    } else {
        return;
    };
    let wait = if commits("wgmma.commit") && wait.starts_with("wgmma") {
        "wgmma.wait_group.sync.aligned 0;"
    } else {
        wait
    };
    let is_pending = event == other;
    committed(ground, instruction.node, wait, found);
    committed_late(ground, instruction.node, wait, found);
    // The wait that is there, to right behind what it is for.
    let (siblings, at) = ground.syntax.siblings(instruction.node);
    let is_it = |&&node: &&usize| {
        ground.syntax.is_synchronization(node)
            && ground.syntax.inside(node).any(|i| wait.starts_with(&i.opcode) && i.opcode.contains("wait"))
    };
    if let Some(&late) = siblings.get(at + 2..).and_then(|rest| rest.iter().find(is_it)) {
        let spans = (ground.syntax.nodes[late].span, ground.syntax.nodes[instruction.node].span);
        let moved = Edit::moved(ground.texts.sources(), spans.0, spans.1, true);
        found.push(Proposal { rank: 12, edits: vec![moved] });
    }
    for (rank, gap) in gaps(ground, event, other) {
        found.push(Proposal { rank: 22 + rank, edits: vec![insert(ground, gap, wait)] });
    }
    // Behind what follows it in its block, where the group is committed.
    for (rank, &node) in (22..).zip(siblings.iter().skip(at + 1).take(3)) {
        found.push(Proposal { rank, edits: vec![insert(ground, (node, true), wait)] });
    }
    if is_pending {
        // Behind the loop that starts it again and again, where it need only have read what goes away.
        let around = ground.syntax.ancestors(instruction.node);
        let is_loop = |&&around: &&usize| ground.syntax.nodes[around].kind == NodeKind::Loop;
        let reads = matches!(ground.graph().events[event].kind, EventKind::Read(_));
        if let Some(&outermost) = around.iter().rev().find(is_loop) {
            if reads && wait == "cp.async.bulk.wait_group 0;" {
                let wait = "cp.async.bulk.wait_group.read 0;";
                found.push(Proposal { rank: 18, edits: vec![insert(ground, (outermost, true), wait)] });
            }
            found.push(Proposal { rank: 19, edits: vec![insert(ground, (outermost, true), wait)] });
        }
        for around in ground.syntax.ancestors(instruction.node).into_iter().skip(1) {
            found.push(Proposal { rank: 21, edits: vec![insert(ground, (around, true), wait)] });
            if let Some(&last) = ground.syntax.siblings(around).0.last() {
                found.push(Proposal { rank: 22, edits: vec![insert(ground, (last, true), wait)] });
            }
        }
        if let Some(&last) = siblings.last() {
            found.push(Proposal { rank: 20, edits: vec![insert(ground, (last, true), wait)] });
        }
    }
}

/// A commit that stands behind the wait of its round, to right before it: that waits for the groups before it only.
fn committed_late(ground: &Ground<'_>, node: usize, wait: &str, found: &mut Vec<Proposal>) {
    let family =
        ["wgmma.", "cp.async.bulk.", "cp.async."].into_iter().find(|family| wait.starts_with(family));
    let Some(family) = family else { return };
    let is = |node: usize, what: &str| {
        let of_family = |opcode: &str| opcode.strip_prefix(family).is_some_and(|rest| rest.starts_with(what));
        ground.syntax.inside(node).any(|own| of_family(&own.opcode))
    };
    for around in ground.syntax.ancestors(node) {
        let (siblings, at) = ground.syntax.siblings(around);
        let rest = siblings[at..].iter().copied();
        let own = rest.filter(|&node| is(node, "wait") || is(node, "commit")).take(2);
        if let [late, commit] = *own.collect::<Vec<usize>>()
            && is(late, "wait")
            && is(commit, "commit")
        {
            let spans = (ground.syntax.nodes[commit].span, ground.syntax.nodes[late].span);
            let moved = Edit::moved(ground.texts.sources(), spans.0, spans.1, false);
            found.push(Proposal { rank: 12, edits: vec![moved] });
        }
    }
}

/// A group of its own for a bulk operation, right behind its start, and a wait for it.
fn committed(ground: &Ground<'_>, node: usize, wait: &str, found: &mut Vec<Proposal>) {
    if !wait.starts_with("cp.async.bulk") {
        return;
    }
    let commit = "cp.async.bulk.commit_group;";
    let waits = ["", " cp.async.bulk.wait_group.read 0;", " cp.async.bulk.wait_group 0;"];
    for (rank, wait) in (20..).zip(waits) {
        let text = format!("{commit}{wait}");
        found.push(Proposal { rank, edits: vec![insert(ground, (node, true), &text)] });
    }
}

fn is_tensor(ground: &Ground<'_>, event: EventId) -> bool {
    ground.instruction(ground.started_by(event)).is_some_and(|i| i.opcode.starts_with("tcgen05"))
}

/// The fences of tensor memory, on either side of what passes the execution on.
fn tensor_links(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    for reason in &ground.explanation.reasons {
        let Reason::TensorOrder { earlier, later, known, .. } = reason else { continue };
        let before = "tcgen05.fence::before_thread_sync;";
        let after = "tcgen05.fence::after_thread_sync;";
        let mut push = |rank: u32, event: EventId, is_after: bool, text: &str| {
            let Some(instruction) = ground.instruction(ground.started_by(event)) else { return };
            for (level, around) in (0..).zip(ground.syntax.ancestors(instruction.node)).take(2) {
                let edit = insert(ground, (around, is_after), text);
                found.push(Proposal { rank: rank + level, edits: vec![edit] });
            }
        };
        push(8, *later, false, after);
        push(9, known.unwrap_or(*earlier), true, before);
        push(10, *earlier, true, before);
        let opcode = ground.instruction(ground.started_by(*earlier)).map_or("", |i| i.opcode.as_str());
        let Some(kind) = ["ld", "st"].into_iter().find(|kind| opcode.starts_with(&format!("tcgen05.{kind}")))
        else {
            continue;
        };
        let wait = format!("tcgen05.wait::{kind}.sync.aligned;");
        push(8, *earlier, true, &wait);
        push(9, *earlier, true, &format!("{wait} {before}"));
    }
}
