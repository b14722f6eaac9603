//! Proposals for arguments of calls that order, signal or wait: what other calls give for the same parameter, one number more
//! or less, and all where all but one is said.
//!
//! Cannot: tell which of several parameters of one name mean the same thing.

use super::super::Subject;
use super::barrier::names;
use super::numbers::literals;
use super::order::awaited;
use super::propose::{Ground, Proposal};
use super::syntax::Call;
use super::text::Edit;
use fencepost_dsl::Span;

/// Other arguments that are tried.
const TRIED_MAX: usize = 16;
/// Calls inside each other through which a parameter is followed.
const DEPTH_MAX: usize = 4;

/// Other arguments, those first that more of the calls have.
pub fn propose(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    let (syntax, sources) = (ground.syntax, ground.texts.sources());
    let text = |span: Span| sources.text(span).trim();
    let mut proposals: Vec<Proposal> = Vec::new();
    // Where no access is to blame, what orders more comes first.
    let far = |rank: u32| match ground.explanation.subject {
        Subject::Final { .. } => rank + 20,
        Subject::Assertion { .. } if rank >= 20 => rank + 20,
        _ => rank,
    };
    let calls: Vec<&Call> = syntax.calls.iter().filter(|call| hands_over(ground, call)).collect();
    for call in calls.iter().filter(|call| ground.can_change(call.node)) {
        for (at, name) in parameters(ground, call) {
            if !is_about_order(ground, &call.function, name, DEPTH_MAX) {
                continue;
            }
            let now = text(at);
            let mut push = |rank: u32, span: Span, after: &str| {
                let edits = vec![Edit::replace(sources, span, after)];
                proposals.push(Proposal { rank: far(rank), edits });
            };
            let alike = calls.iter().flat_map(|other| parameters(ground, other));
            let alike: Vec<&str> = alike.filter(|(_, own)| *own == name).map(|(at, _)| text(at)).collect();
            let n_like = |text: &str| alike.iter().filter(|own| **own == text).count();
            // What this call has more of than others have: `n + 1` where they have `n`.
            let is_reference = now.starts_with('&') || syntax.objects.iter().any(|own| own.name == now);
            let mut others: Vec<&str> = alike.iter().copied().filter(|&own| own != now).collect();
            others.sort_unstable();
            others.dedup();
            for other in others.into_iter().filter(|_| !is_reference) {
                let is_near = names(now, &[other]) || now.parse::<u32>().is_ok();
                match n_like(other) > n_like(now) {
                    true if is_near => push(9, at, other),
                    true => push(18, at, other),
                    false => push(24, at, other),
                }
            }
            if let Some(all) = now.strip_suffix("- 1") {
                push(8, at, all.trim_end());
            }
            if let Some(own) = now.strip_suffix("+ 1") {
                push(20, at, own.trim_end());
            }
            for (span, number) in literals(now, at) {
                for near in [number.checked_sub(1), number.checked_add(1)].into_iter().flatten() {
                    push(25, span, &near.to_string());
                }
            }
        }
    }
    proposals.sort_by_key(|proposal| proposal.rank);
    proposals.truncate(TRIED_MAX);
    found.append(&mut proposals);
}

/// Whether a call does something about order.
fn hands_over(ground: &Ground<'_>, call: &Call) -> bool {
    let acts = ground.syntax.acts(call.node);
    acts.iter().any(|act| act.synchronizes() || act.is_strong() || act.opcode.starts_with("mbarrier."))
}

/// Whether a parameter says when something is waited for or signalled, where, or how often; not what is handed over.
fn is_about_order(ground: &Ground<'_>, function: &str, name: &str, depth: usize) -> bool {
    let (syntax, sources) = (ground.syntax, ground.texts.sources());
    let is_named = |span: Span| names(sources.text(span), &[name]);
    let awaited = awaited(ground);
    syntax.function(function).any(|function| {
        let in_waits = syntax.nodes.iter().any(|node| {
            let text = sources.text(node.span);
            let waits = ["await ", "while "].iter().any(|word| text.starts_with(word));
            waits && function.holds(node.span) && is_named(node.span)
        });
        let own = syntax.instructions.iter().filter(|own| function.holds(own.span));
        let in_signals = own.clone().any(|own| {
            let is_signal = own.objects.iter().any(|object| awaited.contains(&object.as_str()));
            let orders =
                own.synchronizes() || own.opcode.starts_with("mbarrier.") || own.signals() && is_signal;
            orders && own.operands.iter().any(|&operand| is_named(operand))
        });
        let mut inner = syntax.calls.iter().filter(|call| function.holds(syntax.nodes[call.node].span));
        let is_passed_on = inner.any(|call| {
            let mut passed = parameters(ground, call).filter(|&(at, _)| is_named(at));
            depth > 0 && passed.any(|(_, name)| is_about_order(ground, &call.function, name, depth - 1))
        });
        in_waits || in_signals || is_passed_on
    })
}

/// The arguments of a call, each with the name of its parameter.
fn parameters<'a>(ground: &Ground<'a>, call: &'a Call) -> impl Iterator<Item = (Span, &'a str)> {
    let function = ground.syntax.function(&call.function).next();
    let names = function.map_or(&[][..], |function| function.parameters.as_slice());
    call.arguments.iter().copied().zip(names.iter().map(String::as_str))
}
