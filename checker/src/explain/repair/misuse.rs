//! Proposals for broken rules that one statement or another form of it mends.

use super::super::subject::Subject;
use super::barrier::count_of;
use super::edit::Edit;
use super::ground::{Ground, Proposal};
use super::places::insert;
use super::syntax::Instruction;
/// What the rule asks for, at the instruction that breaks it.
pub fn propose(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    cluster_barriers(ground, found);
    if !matches!(ground.explanation.subject, Subject::Misuse { .. } | Subject::Lifetime { .. }) {
        return;
    }
    let (syntax, sources) = (ground.syntax, ground.texts.sources());
    // Where the rule is broken; what was read on the way there comes after it.
    let broken = match &ground.explanation.subject {
        Subject::Misuse { span, .. } => syntax.node_around(*span),
        _ => None,
    };
    let mut nodes = broken.into_iter().chain(ground.nodes());
    let Some(node) = nodes.find(|&node| ground.can_change(node)) else { return };
    let own = || syntax.inside(node);
    let mut push = |rank: u32, edit: Edit| found.push(Proposal { rank, edits: vec![edit] });
    match ground.explanation.code {
        "async::no-matrix-fence" => push(5, insert(ground, (node, false), "wgmma.fence.sync.aligned;")),
        "barrier::aligned-divergent" => {
            for own in own() {
                let opcode = own.opcode.replace(".aligned", "");
                let opcode = opcode.strip_prefix("bar.").map_or(opcode.clone(), |rest| {
                    let of_cta = ["warp.", "cta."].iter().all(|word| !rest.starts_with(word));
                    if of_cta { format!("barrier.{rest}") } else { opcode.clone() }
                });
                if opcode != own.opcode {
                    push(5, Edit::replace(sources, own.opcode_span, opcode));
                }
            }
        }
        "barrier::count-mismatch" => {
            let counts: Vec<&str> =
                syntax.instructions.iter().filter_map(count_of).map(|at| sources.text(at)).collect();
            for span in own().filter_map(count_of) {
                let now = sources.text(span);
                let n_like = |text: &str| counts.iter().filter(|own| **own == text).count();
                for other in counts.iter().copied().filter(|&other| other != now) {
                    // Rather as more places have it.
                    let rank = if n_like(other) > n_like(now) { 5 } else { 6 };
                    push(rank, Edit::replace(sources, span, other));
                }
            }
        }
        "barrier::lane-not-in-mask" => {
            // That of a barrier stands alone, that of lanes that tell one another values comes last.
            for &mask in own().filter_map(|own| own.operands.last()) {
                push(9, Edit::replace(sources, mask, "0xffffffff"));
            }
        }
        "mbarrier::init-of-live-object" => {
            for memory in own().filter_map(|own| own.memory.first()) {
                let text = format!("mbarrier.inval.shared::cta.b64 {};", sources.text(memory.span));
                push(9, insert(ground, (node, false), &text));
            }
        }
        "mbarrier::no-complete-completes" => {
            for own in own().filter(|own| own.opcode.contains(".noComplete")) {
                push(9, Edit::replace(sources, own.opcode_span, own.opcode.replace(".noComplete", "")));
            }
        }
        "registers::wrong-direction" => {
            for own in own() {
                let other = match own.opcode.contains(".inc.") {
                    true => own.opcode.replace(".inc.", ".dec."),
                    false => own.opcode.replace(".dec.", ".inc."),
                };
                push(9, Edit::replace(sources, own.opcode_span, other));
            }
        }
        "lifetime::alloc-after-relinquish" => {
            let gives_up = |own: &&Instruction| own.opcode.starts_with("tcgen05.relinquish");
            for early in syntax.instructions.iter().filter(gives_up) {
                let (what, anchor) = (syntax.nodes[early.node].span, syntax.nodes[node].span);
                push(5, Edit::moved(sources, what, anchor, true));
            }
        }
        _ => {}
    }
}

/// The other half of a cluster barrier: a wait behind an arrival without one, an arrival before a wait without one.
fn cluster_barriers(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    let code = ground.explanation.code;
    let is_about = code == "barrier::second-arrival"
        || code == "barrier::wait-without-arrival"
        || code.starts_with("lifetime::peer-")
        || matches!(ground.explanation.subject, Subject::Race { .. });
    if !is_about {
        return;
    }
    let syntax = ground.syntax;
    let of = |word: &str| -> Vec<&Instruction> {
        let halves = syntax.instructions.iter().filter(|own| own.opcode.starts_with("barrier.cluster."));
        halves.filter(|own| own.opcode.contains(word) && ground.can_change(own.node)).collect()
    };
    let (arrivals, waits) = (of(".arrive"), of(".wait"));
    if arrivals.len() == waits.len() {
        return;
    }
    let aligned = |own: &Instruction| if own.opcode.contains(".aligned") { ".aligned" } else { "" };
    let mut push = |rank: u32, edit: Edit| found.push(Proposal { rank, edits: vec![edit] });
    if arrivals.len() > waits.len() {
        for own in arrivals {
            let text = format!("barrier.cluster.wait.acquire{};", aligned(own));
            push(4, insert(ground, (own.node, true), &text));
            // Later, so that something can be done between the two.
            let (siblings, at) = syntax.siblings(own.node);
            for &later in siblings.get(at + 1..).unwrap_or_default().iter().take(2) {
                push(6, insert(ground, (later, true), &text));
            }
        }
    } else {
        for own in waits {
            let text = format!("barrier.cluster.arrive.release{};", aligned(own));
            push(4, insert(ground, (own.node, false), &text));
            let (siblings, at) = syntax.siblings(own.node);
            for &earlier in siblings[..at].iter().rev().take(2) {
                push(6, insert(ground, (earlier, false), &text));
            }
        }
    }
}
