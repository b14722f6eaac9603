//! Proposals about who signals and waits, and when: branches around nothing but signals, and waits in branches.

use super::super::subject::Subject;
use super::edit::Edit;
use super::ground::{Ground, Proposal};
use super::places::{insert, names};
use super::syntax::{Instruction, NodeKind};
use fencepost_dsl::Span;

/// Names of threads that are easily taken for one another.
const ALIKE: &[(&str, &str)] = &[
    ("tid", "laneid"),
    ("tid", "warpid"),
    ("laneid", "tid"),
    ("warpid", "tid"),
    ("ctaid", "cluster_ctarank"),
];
/// Waits in branches that are tried outside.
const WAITS_MAX: usize = 4;

/// Other conditions for signals, signals without one, and waits without one.
pub fn propose(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    let base = if matches!(ground.explanation.subject, Subject::Deadlock { .. }) { 18 } else { 19 };
    for node in 0..ground.syntax.nodes.len() {
        let NodeKind::Branch { condition } = ground.syntax.nodes[node].kind else { continue };
        if !ground.can_change(node) {
            continue;
        }
        let acts = ground.syntax.acts(node);
        if !acts.is_empty() && acts.iter().all(|act| act.gives_signal()) {
            conditions(ground, (node, condition), base, found);
            signals_outside(ground, node, base, found);
            joined(ground, (node, condition), found);
        }
    }
    if base == 19 {
        waits_outside(ground, found);
    }
    leaves_later(ground, found);
}

/// Threads that leave early, with all others.
fn leaves_later(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    let (syntax, sources) = (ground.syntax, ground.texts.sources());
    for node in (0..syntax.nodes.len()).filter(|&node| ground.can_change(node)) {
        if !matches!(syntax.nodes[node].kind, NodeKind::Branch { .. }) {
            continue;
        }
        let mut inner = syntax.nodes.iter().filter(|inner| inner.parent == Some(node));
        if let (Some(only), None) = (inner.next(), inner.next())
            && only.exits
        {
            found.push(Proposal { rank: 16, edits: vec![Edit::removed(sources, syntax.nodes[node].span)] });
        }
    }
}

/// The same condition of another name, and the last round in place of another one.
fn conditions(ground: &Ground<'_>, (node, condition): (usize, Span), base: u32, found: &mut Vec<Proposal>) {
    let sources = ground.texts.sources();
    let text = sources.text(condition);
    let Some((left, right)) = text.split_once(" == ") else { return };
    let mut push = |rank: u32, text: String| {
        found.push(Proposal { rank, edits: vec![Edit::replace(sources, condition, text)] });
    };
    for (_, other) in ALIKE.iter().filter(|(own, _)| *own == left) {
        push(base, format!("{other} == {right}"));
    }
    let counted = ground.syntax.counted_around(node).filter(|counted| counted.variable == left);
    if let Some(counted) = counted {
        let end = sources.text(counted.end);
        let last = if counted.inclusive { end.to_owned() } else { format!("{end} - 1") };
        if last != right {
            push(base, format!("{left} == {last}"));
        }
    }
}

/// A signal, behind the branch that it is in.
fn signals_outside(ground: &Ground<'_>, branch: usize, base: u32, found: &mut Vec<Proposal>) {
    let (syntax, sources) = (ground.syntax, ground.texts.sources());
    let inner: Vec<usize> =
        (0..syntax.nodes.len()).filter(|&inner| syntax.nodes[inner].parent == Some(branch)).collect();
    let [signal] = inner.as_slice() else { return };
    // Not what is only counted, for the end.
    let looked_at = super::order::looked_at(ground);
    let is_looked_at = |own: &Instruction| {
        own.synchronizes() || own.objects.iter().any(|object| looked_at.contains(&object.as_str()))
    };
    if !syntax.inside(*signal).any(is_looked_at) {
        return;
    }
    let (span, anchor) = (syntax.nodes[*signal].span, syntax.nodes[branch].span);
    let edits = vec![Edit::moved(sources, span, anchor, true)];
    found.push(Proposal { rank: base + 1, edits });
}

/// A barrier of those for whom the signal is given, before it.
fn joined(ground: &Ground<'_>, (node, condition): (usize, Span), found: &mut Vec<Proposal>) {
    let text = ground.texts.sources().text(condition);
    let barrier = match names(text, &["laneid"]) {
        true => "bar.warp.sync 0xffffffff;",
        false if names(text, &["tid", "warpid"]) => "bar.sync 0;",
        false => return,
    };
    if !ground.syntax.is_behind_synchronization(node) {
        found.push(Proposal { rank: 17, edits: vec![insert(ground, (node, false), barrier)] });
    }
}

/// A wait, before the branch that it is in, so that it is never left out.
fn waits_outside(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    let (syntax, sources) = (ground.syntax, ground.texts.sources());
    let threads = ["tid", "laneid", "warpid", "ctaid", "gpuid", "cluster_ctarank"];
    let mut n_tried = 0;
    for (node, of) in syntax.nodes.iter().enumerate() {
        let Some(branch) = of.parent.filter(|_| ground.can_change(node)) else { continue };
        let NodeKind::Branch { condition } = syntax.nodes[branch].kind else { continue };
        let waits = |act: &Instruction| act.opcode.contains("wait");
        let is_wait = syntax.is_synchronization(node) && syntax.inside(node).any(waits);
        if !is_wait || names(sources.text(condition), &threads) || n_tried == WAITS_MAX {
            continue;
        }
        n_tried += 1;
        let edits = vec![Edit::moved(sources, of.span, syntax.nodes[branch].span, false)];
        found.push(Proposal { rank: 19, edits });
    }
}
