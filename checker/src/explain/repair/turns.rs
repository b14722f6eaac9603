//! Proposals for who has a turn and gives it on, where threads wait for ever: the first turn at a named barrier that
//! nobody gives, flags that are put before they are taken or never taken, code of a role that nobody has, arrivals at the
//! mbarrier of the wrong CTA, and a number that is waited for and missed by one.
//!
//! A wait for a number stays one for a single number; what only makes it pass is refused where it is tried.

use super::super::roles::{Role, WaitFact};
use super::super::subject::Subject;
use super::edit::Edit;
use super::ground::{Ground, Proposal};
use super::places::insert;
use super::syntax::{Instruction, NodeKind};
use crate::event::LocationId;
use fencepost_dsl::Span;
use fencepost_dsl::sorted::SortedSet;

/// Threads, of those with one name, that are tried for a role.
const ROLES_MAX: u32 = 8;
/// The rank of another number that is waited for, and how much later it is tried to wait for a smaller one.
const NUMBER: u32 = 21;
/// See `NUMBER`.
const FEWER: u32 = 27;

/// First turns, puts and takes, roles, ranks and numbers.
pub fn propose(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    signal_roles(ground, found);
    let Subject::Deadlock { roles, .. } = &ground.explanation.subject else { return };
    first_turns(ground, roles, found);
    puts_and_takes(ground, found);
    empty_roles(ground, found);
    ranks(ground, found);
    numbers(ground, roles, found);
}

/// An arrival before the loop in which threads wait in turn at named barriers, by a warp whose arrival one of them waits
/// for.
fn first_turns(ground: &Ground<'_>, roles: &[Role], found: &mut Vec<Proposal>) {
    let (syntax, sources) = (ground.syntax, ground.texts.sources());
    let hierarchy = &ground.graph().hierarchy;
    let arrives =
        |own: &&Instruction| own.opcode.starts_with("bar.arrive") || own.opcode.starts_with("barrier.arrive");
    let Some(arrival) = syntax.instructions.iter().find(arrives) else { return };
    for role in roles {
        let WaitFact::Barrier { name, missing, .. } = &role.wait else { continue };
        let number = name.strip_prefix("barrier ").and_then(|rest| rest.split(' ').next());
        let Some(number) = number.filter(|number| number.parse::<u32>().is_ok()) else { continue };
        let Some(node) = syntax.node_around(role.span) else { continue };
        let around = syntax.ancestors(node);
        let is_loop = |&&node: &&usize| syntax.nodes[node].kind == NodeKind::Loop;
        let Some(&outer) = around.iter().rev().find(is_loop).filter(|&&node| ground.can_change(node)) else {
            continue;
        };
        let wait = syntax.inside(node).find(|own| own.span.holds(role.span) || role.span.holds(own.span));
        let Some(&count) = wait.and_then(|wait| wait.operands.get(1)) else { continue };
        let first_warp = role.agents.first().map_or(0, |&agent| hierarchy.threads[agent].warp);
        let warps: SortedSet<u32> = missing.iter().map(|&(agent, _)| hierarchy.threads[agent].warp).collect();
        for warp in warps {
            let text = format!(
                "if warpid == {warp} {{ {} {number}, {}; }}",
                arrival.opcode,
                sources.text(count).trim()
            );
            // Rather the turn of the first warp.
            found.push(Proposal {
                rank: 14 + first_warp.min(1),
                edits: vec![insert(ground, (outer, false), &text)],
            });
        }
    }
}

/// A flag that one side takes by `cas` is put when it is free, and one that is put by `cas` is taken.
fn puts_and_takes(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    let (syntax, sources) = (ground.syntax, ground.texts.sources());
    let texts = |own: &Instruction| -> Vec<String> {
        own.operands.iter().map(|&operand| sources.text(operand).trim().to_owned()).collect()
    };
    let location_of = |own: &Instruction| -> SortedSet<LocationId> {
        let graph = ground.graph();
        let events = graph
            .events
            .iter()
            .filter(|event| event.site.is_some_and(|site| graph.sites[site].span == own.span));
        events.filter_map(|event| event.kind.access().map(|access| access.location)).collect()
    };
    let swaps = syntax.instructions.iter().filter(|own| own.is("atom") && own.opcode.contains(".cas"));
    for swap in swaps {
        let [_, from, to] = texts(swap).try_into().unwrap_or_default();
        let there = location_of(swap);
        let Some(bits) = swap.opcode.rsplit('.').next().filter(|word| word.starts_with('b')) else {
            continue;
        };
        let alike = |own: &&Instruction| {
            ground.can_change(own.node) && location_of(own).intersection(&there).next().is_some()
        };
        let words = |own: &Instruction| -> Option<String> {
            let mut words = own.opcode.split('.').skip(1);
            let sem = words.clone().find(|word| ["release", "acquire", "relaxed"].contains(word))?;
            let scope = words.find(|word| ["cta", "cluster", "gpu", "sys"].contains(word))?;
            Some(format!("{sem}.{scope}"))
        };
        for store in syntax.instructions.iter().filter(|own| own.is("st")).filter(alike) {
            let (all, Some(words)) = (texts(store), words(store)) else { continue };
            let [place, value] = all.as_slice() else { continue };
            // It puts what the other side takes.
            if *value == from && value != &to && is_alone(ground, store) {
                let text = format!("await (atom.cas.{words}.{bits} {place}, {to}, {value}) == {to};");
                let span = syntax.nodes[store.node].span;
                found.push(Proposal { rank: 8, edits: vec![Edit::replace(sources, span, text)] });
            }
        }
        for load in syntax.instructions.iter().filter(|own| own.is("ld")).filter(alike) {
            let (all, Some(words)) = (texts(load), words(load)) else { continue };
            let [place] = all.as_slice() else { continue };
            // It waits for what the other side puts.
            let statement = sources.text(syntax.nodes[load.node].span);
            let waits = format!("await {} == {to};", sources.text(load.span));
            if statement == waits && from != to {
                let text = format!("(atom.cas.{words}.{bits} {place}, {to}, {from})");
                found.push(Proposal { rank: 8, edits: vec![Edit::replace(sources, load.span, text)] });
            }
        }
    }
}

/// Whether a statement is an instruction and no more.
fn is_alone(ground: &Ground<'_>, own: &Instruction) -> bool {
    let sources = ground.texts.sources();
    let statement = sources.text(ground.syntax.nodes[own.node].span);
    statement.trim_end_matches(';').trim() == sources.text(own.span).trim()
}

/// The name and the number of a condition `name == number`, with how many threads differ in that name.
fn role_of<'a>(ground: &Ground<'a>, condition: Span) -> Option<(&'a str, u32, u32)> {
    let (name, number) = ground.texts.sources().text(condition).split_once(" == ")?;
    let launch = ground.graph().hierarchy.launch();
    let n = match name.trim() {
        "tid" => launch.warps.saturating_mul(launch.lanes),
        "warpid" => launch.warps,
        "laneid" => launch.lanes,
        "ctaid" => launch.ctas,
        "cluster_ctarank" => launch.cluster,
        "gpuid" => launch.gpus,
        _ => return None,
    };
    Some((name.trim(), number.trim().parse().ok()?, n.min(ROLES_MAX)))
}

/// Another thread for the part of a branch that no thread comes to, if others wait for what is in it.
fn empty_roles(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    let (syntax, graph) = (ground.syntax, ground.graph());
    let executed: SortedSet<Span> = graph.sites.iter().map(|site| site.span).collect();
    // Behind another name of the same number.
    other_threads(ground, found, 20, |node| {
        let mut children = (0..syntax.nodes.len()).filter(|&inner| syntax.nodes[inner].parent == Some(node));
        let Some(first) = children.next() else { return false };
        let acts: Vec<&Instruction> =
            syntax.siblings(first).0.iter().flat_map(|&inner| syntax.acts(inner)).collect();
        let signals = acts.iter().any(|act| act.gives_signal());
        signals && !acts.iter().any(|act| executed.contains(&act.span))
    });
}

/// Another thread for a branch with nothing but signals in it.
fn signal_roles(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    let is_about = matches!(ground.explanation.subject, Subject::Deadlock { .. })
        || ground.explanation.code == "barrier::reuse-before-reset";
    if is_about {
        other_threads(ground, found, 19, |node| {
            let acts = ground.syntax.acts(node);
            !acts.is_empty() && acts.iter().all(|act| act.gives_signal())
        });
    }
}

/// Another number in the condition of each branch of one thread that is meant.
fn other_threads(
    ground: &Ground<'_>,
    found: &mut Vec<Proposal>,
    rank: u32,
    is_meant: impl Fn(usize) -> bool,
) {
    for (node, of) in ground.syntax.nodes.iter().enumerate() {
        let NodeKind::Branch { condition } = of.kind else { continue };
        let Some((name, number, n)) = role_of(ground, condition).filter(|_| ground.can_change(node)) else {
            continue;
        };
        if is_meant(node) {
            for other in (0..n).filter(|&other| other != number) {
                let text = format!("{name} == {other}");
                let edits = vec![Edit::replace(ground.texts.sources(), condition, text)];
                found.push(Proposal { rank, edits });
            }
        }
    }
}

/// Arrivals at the mbarrier of another CTA of the cluster than the one that is named by its number.
fn ranks(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    let cluster = ground.graph().hierarchy.launch().cluster;
    let sources = ground.texts.sources();
    for own in ground.syntax.instructions.iter().filter(|own| own.gives_signal()) {
        let rank = own.memory.last().and_then(|memory| memory.rank);
        let Some(rank) = rank.filter(|_| ground.can_change(own.node)) else { continue };
        let Ok(now) = sources.text(rank).trim().parse::<u32>() else { continue };
        for other in (0..cluster.min(ROLES_MAX)).filter(|&other| other != now) {
            found.push(Proposal { rank: 12, edits: vec![Edit::replace(sources, rank, other.to_string())] });
        }
    }
}

/// The number that is reached in the end, where threads wait for the one beside it and for no other.
fn numbers(ground: &Ground<'_>, roles: &[Role], found: &mut Vec<Proposal>) {
    let (syntax, sources) = (ground.syntax, ground.texts.sources());
    for role in roles {
        let WaitFact::Memory(looks, missing) = &role.wait else { continue };
        let [look] = looks.as_slice() else { continue };
        let Some(node) = syntax.node_around(role.span).filter(|&node| ground.can_change(node)) else {
            continue;
        };
        let span = syntax.nodes[node].span;
        let statement = sources.text(span);
        let Some((left, right)) = statement.strip_suffix(';').and_then(|text| text.split_once(" == ")) else {
            continue;
        };
        let is_plain = left.starts_with("await ld.") && !right.contains("==") && !right.contains('[');
        if look.is_weak || !is_plain {
            continue;
        }
        // Fewer only where one more is written out, and nobody is still to write: else it is an arrival that is missing.
        let plus_one = right.strip_suffix(" + 1").filter(|_| missing.is_empty());
        let more = match right.trim().parse::<u128>() {
            Ok(number) => (number.checked_add(1) == Some(look.value)).then(|| look.value.to_string()),
            Err(_) => match right.strip_suffix(" - 1") {
                Some(base) => Some(base.to_owned()),
                None => plus_one.is_none().then(|| format!("{right} + 1")),
            },
        };
        let after = more.map(|text| (false, text)).into_iter();
        let after = after.chain(plus_one.map(|base| (true, base.to_owned())));
        let start = span.start as usize + left.len() + " == ".len();
        let place = Span::new(span.file, start, start + right.len());
        for (is_less, text) in after {
            // Rather the arrival that is missing than to wait for fewer.
            let rank = if is_less { NUMBER + FEWER } else { NUMBER };
            found.push(Proposal { rank, edits: vec![Edit::replace(sources, place, text)] });
        }
    }
}
