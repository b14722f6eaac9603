//! Proposals for a second handshake, where a loop has one and comes back too early: what threads do to meet, once more at
//! the end of each round.

use super::super::subject::Subject;
use super::ground::{Ground, Proposal};
use super::places::{insert, last_of};
use super::syntax::NodeKind;
/// Statements of a handshake, at most.
const STATEMENTS_MAX: usize = 6;

/// Each run of statements that signal and wait, repeated at the end of the loop that it is in.
pub fn propose(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    if matches!(ground.explanation.subject, Subject::Deadlock { .. } | Subject::Bounds { .. }) {
        return;
    }
    let syntax = ground.syntax;
    for (around, of) in syntax.nodes.iter().enumerate() {
        let Some(last) = last_of(syntax, around).filter(|_| of.kind == NodeKind::Loop) else { continue };
        if !ground.can_change(around) {
            continue;
        }
        let (siblings, _) = syntax.siblings(last);
        for run in siblings.split(|&node| !meets(ground, node)) {
            let signals = run.iter().any(|&node| syntax.acts(node).iter().any(|act| act.signals()));
            let waits = run.iter().any(|&node| syntax.acts(node).iter().any(|act| reads(&act.opcode)));
            if !signals || !waits || run.len() > STATEMENTS_MAX || run.last() == Some(&last) {
                continue;
            }
            let sources = ground.texts.sources();
            let texts: Vec<&str> = run.iter().map(|&node| sources.text(syntax.nodes[node].span)).collect();
            let edits = vec![insert(ground, (last, true), &texts.join(" "))];
            found.push(Proposal { rank: 18, edits });
        }
    }
}

fn reads(opcode: &str) -> bool {
    ["ld.", "atom."].iter().any(|word| opcode.starts_with(word))
}

/// Whether a statement does nothing but synchronize, signal and wait, and names nothing.
fn meets(ground: &Ground<'_>, node: usize) -> bool {
    let syntax = ground.syntax;
    let acts = syntax.acts(node);
    let text = ground.texts.sources().text(syntax.nodes[node].span);
    let is_named = ["let ", "var ", "assert "].iter().any(|word| text.starts_with(word));
    let is_plain = syntax.nodes[node].kind == NodeKind::Plain && !is_named;
    is_plain && !acts.is_empty() && acts.iter().all(|act| act.synchronizes() || act.is_strong())
}
