//! Proposals about mbarriers: other counts and parities, and waits and arrivals like those that are there.

use super::super::reason::Reason;
use super::super::roles::WaitFact;
use super::super::subject::Subject;
use super::edit::Edit;
use super::ground::{Ground, Proposal};
use super::places::insert;
use super::syntax::Instruction;
use fencepost_dsl::Span;
use fencepost_dsl::sorted::SortedSet;

/// How much later it is tried to expect fewer arrivals.
const FEWER: u32 = 37;

/// Changes of counts and parities, then copies of waits and arrivals, then fences of initialisations.
pub fn propose(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    let inits: Vec<&Instruction> = of(ground, "mbarrier.init").collect();
    if inits.is_empty() {
        never_initialised(ground, found);
        return;
    }
    initialised(ground, &inits, found);
    arrivers(ground, &inits, found);
    rounds(ground, found);
    delivered(ground, found);
    multicast(ground, found);
    awaited_operations(ground, &inits, found);
    counts(ground, &inits, found);
    parities(ground, found);
    announced(ground, found);
    announced_as_written(ground, found);
    copies(ground, &inits, found);
}

fn of<'a>(ground: &Ground<'a>, word: &'static str) -> impl Iterator<Item = &'a Instruction> {
    ground.syntax.instructions.iter().filter(move |instruction| instruction.opcode.starts_with(word))
}

/// An initialisation of an object that threads wait for and nobody initialises, before all that they do.
fn never_initialised(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    let mut objects = waited_objects(ground);
    objects.dedup();
    let is_element = |object: &&String| {
        ground.syntax.objects.iter().any(|own| own.name == **object && !own.dimensions.is_empty())
    };
    let (Some(object), None) = (objects.first(), objects.iter().find(is_element)) else { return };
    let top = ground.syntax.nodes.iter().position(|node| {
        node.parent.is_none()
            && node.kind != super::syntax::NodeKind::Declaration
            && ground.texts.is_main(node.span)
    });
    let Some(top) = top.filter(|_| ground.graph().hierarchy.launch().cluster < 2) else { return };
    for count in ["1", "2", "ntid", "nwarpid", "ntid - 1"] {
        let text =
            format!("if tid == 0 {{ mbarrier.init.shared::cta.b64 [{object}], {count}; }} bar.sync 0;");
        found.push(Proposal { rank: 12, edits: vec![insert(ground, (top, false), &text)] });
    }
}

/// A barrier behind the initialisations, with the fence that a cluster needs.
fn initialised(ground: &Ground<'_>, inits: &[&Instruction], found: &mut Vec<Proposal>) {
    if ground.explanation.code != "mbarrier::init-not-ordered"
        && ground.explanation.code != "mbarrier::not-initialised"
    {
        return;
    }
    let hierarchy = &ground.graph().hierarchy;
    let Some(last) = inits.last() else { return };
    let ancestors = ground.syntax.ancestors(last.node);
    let Some(&outermost) = ancestors.last() else { return };
    let cluster = "barrier.cluster.arrive; barrier.cluster.wait;";
    let is_cluster = hierarchy.launch().cluster > 1;
    let fence = "fence.mbarrier_init.release.cluster;";
    let (fenced, barrier) = (
        insert(ground, (last.node, true), fence),
        insert(ground, (outermost, true), if is_cluster { cluster } else { "bar.sync 0;" }),
    );
    found.push(Proposal { rank: 6, edits: vec![fenced.clone()] });
    found.push(Proposal { rank: 7, edits: vec![barrier.clone()] });
    found.push(Proposal { rank: 8, edits: vec![fenced, barrier] });
    let proxy = insert(ground, (last.node, true), "fence.proxy.async.shared::cta;");
    found.push(Proposal { rank: 9, edits: vec![proxy] });
}

/// As many arrivals as there are threads that arrive, or instructions of theirs that do.
fn arrivers(ground: &Ground<'_>, inits: &[&Instruction], found: &mut Vec<Proposal>) {
    if !is_about_counts(ground) {
        return;
    }
    let (graph, sources) = (ground.graph(), ground.texts.sources());
    let settings = inits.iter().filter_map(|init| Some((*init.operands.get(1)?, init.objects.first()?)));
    for (count, object) in settings.flat_map(|(count, object)| ground.syntax.written(sources, count, object))
    {
        let now = sources.text(count).trim();
        let is_it = |name: &str| name == object.as_str() || name.starts_with(&format!("{object}["));
        let mut most = (0, 0);
        for (_, mbarrier) in graph.mbarriers.iter_enumerated() {
            if !is_it(mbarrier.name.to_string().split(' ').next().unwrap_or("")) {
                continue;
            }
            let made = mbarrier.operations.iter().filter(|operation| operation.arrivals > 0);
            let made = made.map(|operation| &graph.events[operation.event]);
            let of = made.filter_map(|event| Some((graph.hierarchy.issuer(event.agent?), event.site)));
            let pairs: SortedSet<_> = of.collect();
            let agents: SortedSet<_> = pairs.iter().map(|(agent, _)| *agent).collect();
            most = (most.0.max(agents.len()), most.1.max(pairs.len()));
        }
        for (rank, n) in [(10, most.0), (11, most.1)] {
            if n > 0 && now != n.to_string() {
                // Rather the arrival that is missing than to expect fewer.
                let is_fewer = now.parse::<usize>().is_ok_and(|now| n < now);
                let rank = if is_fewer { rank + FEWER } else { rank };
                found.push(Proposal { rank, edits: vec![Edit::replace(sources, count, n.to_string())] });
            }
        }
    }
}

/// A parity that changes with each round: in all waits that have another one now, and in each that has the same in all rounds.
fn rounds(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    if !is_about_counts(ground) {
        return;
    }
    let sources = ground.texts.sources();
    let waits = of(ground, "mbarrier.").filter(|wait| wait.opcode.contains(".parity"));
    let mut edits = Vec::new();
    for wait in waits {
        let Some(&parity) = wait.operands.last() else { continue };
        let Some(round) = round_of(ground, wait.node) else { continue };
        let now = sources.text(parity).trim();
        let after = if now.ends_with("^ 1") { format!("({round} % 2) ^ 1") } else { format!("{round} % 2") };
        if now != after {
            let edit = Edit::replace(sources, parity, after);
            if now.parse::<u32>().is_ok() {
                found.push(Proposal { rank: 11, edits: vec![edit.clone()] });
            }
            edits.push(edit);
        }
    }
    if edits.len() > 1 {
        found.push(Proposal { rank: 13, edits });
    }
}

/// The variable of the innermost `for` around a statement.
fn round_of<'a>(ground: &Ground<'a>, node: usize) -> Option<&'a str> {
    let (syntax, sources) = (ground.syntax, ground.texts.sources());
    let around = syntax.ancestors(node);
    let mut heads = around.iter().map(|&node| sources.text(syntax.nodes[node].span));
    heads.find_map(|text| text.strip_prefix("for ")?.split_whitespace().next())
}

/// As many bytes as the copies to an mbarrier deliver together, where each stands once in the text.
fn delivered(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    let sources = ground.texts.sources();
    let number = |span: &Span| sources.text(*span).trim().parse::<u32>().ok();
    for arrive in of(ground, "mbarrier.").filter(|arrive| arrive.opcode.contains("expect_tx")) {
        let (Some(&operand), Some(object)) = (arrive.operands.last(), arrive.objects.first()) else {
            continue;
        };
        for (operand, object) in ground.syntax.written(sources, operand, object) {
            let copies =
                ground.syntax.instructions.iter().filter(|copy| {
                    copy.opcode.starts_with("cp.async.bulk.") && copy.objects.contains(&object)
                });
            let bytes: Vec<u32> = copies.filter_map(|copy| copy.operands.iter().find_map(number)).collect();
            let sum = bytes.iter().try_fold(0u32, |sum, &own| sum.checked_add(own)).unwrap_or(0);
            if sum > 0 && number(&operand).is_some_and(|now| now != sum) {
                let edits = vec![Edit::replace(sources, operand, sum.to_string())];
                found.push(Proposal { rank: 10, edits });
            }
        }
    }
}

/// As many bytes as all CTAs together send, where copies go to several.
fn multicast(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    let cluster = ground.graph().hierarchy.launch().cluster;
    let sends = ground.syntax.instructions.iter().any(|i| i.opcode.contains(".multicast::cluster"));
    if cluster < 2 || !sends {
        return;
    }
    let sources = ground.texts.sources();
    for arrive in of(ground, "mbarrier.").filter(|arrive| arrive.opcode.contains("expect_tx")) {
        let (Some(&operand), Some(object)) = (arrive.operands.last(), arrive.objects.first()) else {
            continue;
        };
        for (operand, _) in ground.syntax.written(sources, operand, object) {
            let now = sources.text(operand).trim().parse::<u32>().ok();
            let Some(sent) = now.and_then(|now| now.checked_mul(cluster)) else { continue };
            let edits = vec![Edit::replace(sources, operand, sent.to_string())];
            found.push(Proposal { rank: 11, edits });
        }
    }
}

/// A wait for the phase that an asynchronous operation completes, before what it is in no order with.
fn awaited_operations(ground: &Ground<'_>, inits: &[&Instruction], found: &mut Vec<Proposal>) {
    let sources = ground.texts.sources();
    for (a, b) in ground.pairs() {
        for (operation, other) in [(a, b), (b, a)] {
            if !ground.graph().is_of_operation(operation) || ground.graph().is_of_operation(other) {
                continue;
            }
            let Some(start) = ground.instruction(ground.started_by(operation)) else { continue };
            let is_object = |text: &str| {
                let name = text.trim_start_matches('[').split(['[', ']']).next().unwrap_or("");
                inits.iter().flat_map(|init| &init.objects).any(|object| object == name)
            };
            let texts = start.operands.iter().map(|&operand| sources.text(operand));
            let is_waited = |text: &str| {
                of(ground, "mbarrier.")
                    .filter(|wait| wait.opcode.contains("_wait"))
                    .any(|wait| wait.operands.first().is_some_and(|&operand| sources.text(operand) == text))
            };
            let (Some(object), Some(node)) = (texts.rev().find(|text| is_object(text)), ground.place(other))
            else {
                continue;
            };
            if is_waited(object) {
                continue;
            }
            let parity =
                round_of(ground, node).map_or_else(|| "0".to_owned(), |round| format!("{round} % 2"));
            let scope = if ground.graph().hierarchy.launch().cluster > 1 { "cluster" } else { "cta" };
            let text =
                format!("await mbarrier.try_wait.parity.acquire.{scope}.shared::cta.b64 {object}, {parity};");
            found.push(Proposal { rank: 14, edits: vec![insert(ground, (node, false), &text)] });
        }
    }
}

/// Other numbers of arrivals: those of other objects, of all threads and warps, one more, one less.
fn counts(ground: &Ground<'_>, inits: &[&Instruction], found: &mut Vec<Proposal>) {
    let sources = ground.texts.sources();
    let settings = inits.iter().filter_map(|init| Some((*init.operands.get(1)?, init.objects.first()?)));
    let settings = settings.flat_map(|(count, named)| {
        let written = ground.syntax.written(sources, count, named);
        written.into_iter().map(move |(count, object)| (count, object, named))
    });
    let settings: Vec<(Span, String, &String)> = settings.collect();
    let own = settings.iter().filter(|(count, ..)| !ground.texts.is_library(count.file));
    let texts: Vec<&str> = own.map(|(count, ..)| sources.text(*count).trim()).collect();
    let mut waited = waited_objects(ground);
    if waited.is_empty() {
        let nodes = ground.nodes().into_iter();
        waited =
            nodes.flat_map(|node| ground.syntax.inside(node)).flat_map(|own| own.objects.clone()).collect();
    }
    for (count, object, named) in &settings {
        let count = *count;
        let now = sources.text(count).trim();
        let is_waited = waited.is_empty() || waited.contains(object) || waited.contains(named);
        let base = if is_about_counts(ground) { 12 } else { 30 } + if is_waited { 0 } else { 3 };
        let mut others: Vec<(u32, String)> = Vec::new();
        others.extend(all_that_arrive(ground, object).map(|text| (0, text)));
        match now.parse::<u32>() {
            Ok(number) => {
                let near =
                    [number.saturating_add(1), number.saturating_sub(1)].into_iter().filter(|&n| n > 0);
                others.extend(near.map(|n| (0, n.to_string())));
                others.extend((number != 2).then(|| (1, number.saturating_mul(2).to_string())));
            }
            Err(_) => {
                let now = if is_name(now) { now.to_owned() } else { format!("({now})") };
                others.extend([(2, format!("{now} + 1")), (1, format!("{now} - 1")), (1, "1".to_owned())])
            }
        }
        others.extend(texts.iter().filter(|text| **text != now).map(|text| (0, (*text).to_owned())));
        others.extend(["ntid", "nwarpid", "ntid - 1", "nwarpid - 1"].map(|text| (1, text.to_owned())));
        for (rank, text) in others {
            let edits = vec![Edit::replace(sources, count, text)];
            found.push(Proposal { rank: base + rank, edits });
        }
    }
}

/// How many arrivals a phase of an object has got that waits for more, where nobody is left to arrive.
fn all_that_arrive(ground: &Ground<'_>, object: &str) -> Option<String> {
    let Subject::Deadlock { roles, .. } = &ground.explanation.subject else { return None };
    roles.iter().filter(|role| role.is_left_alone()).find_map(|role| match &role.wait {
        WaitFact::Phase { object: name, arrivals: (arrived @ 1.., Some(_)), .. } => {
            (name.split(['[', ' ']).next() == Some(object)).then(|| arrived.to_string())
        }
        _ => None,
    })
}

/// Whether the finding speaks of phases that are completed too early, too late or by others.
fn is_about_counts(ground: &Ground<'_>) -> bool {
    let code = ground.explanation.code;
    let codes =
        ["mbarrier::phase-not-waited-for", "mbarrier::too-many-arrivals", "mbarrier::phase-run-ahead"];
    let waits =
        matches!(ground.explanation.subject, Subject::Deadlock { .. }) && !waited_objects(ground).is_empty();
    waits
        || codes.contains(&code)
        || ground.has(|reason| {
            matches!(
                reason,
                Reason::CompletedByOthers { .. }
                    | Reason::SamePhaseAgain { .. }
                    | Reason::PassedAtOnce { .. }
            )
        })
}

/// Objects that the finding waits for.
fn waited_objects(ground: &Ground<'_>) -> Vec<String> {
    let Subject::Deadlock { roles, .. } = &ground.explanation.subject else { return Vec::new() };
    let waits = roles.iter().filter(|role| matches!(role.wait, WaitFact::Phase { .. }));
    let nodes = waits.filter_map(|role| ground.syntax.node_around(role.span));
    nodes.flat_map(|node| ground.syntax.inside(node)).flat_map(|i| i.objects.clone()).collect()
}

/// The other parity, that of another wait, and one that changes with each round of the loop.
fn parities(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    let sources = ground.texts.sources();
    let waited = waited_objects(ground);
    let waits: Vec<&Instruction> =
        of(ground, "mbarrier.").filter(|wait| wait.opcode.contains(".parity")).collect();
    let known: Vec<&str> =
        waits.iter().filter_map(|wait| Some(sources.text(*wait.operands.last()?).trim())).collect();
    for wait in &waits {
        let Some(&parity) = wait.operands.last() else { continue };
        let now = sources.text(parity).trim();
        let base = if is_about_counts(ground) { 12 } else { 30 };
        let far = if waited.is_empty() || wait.objects.iter().any(|object| waited.contains(object)) {
            0
        } else {
            3
        };
        let mut push = |rank: u32, text: String| {
            let edits = vec![Edit::replace(sources, parity, text)];
            found.push(Proposal { rank: base + far + rank, edits });
        };
        push(0, flipped(now));
        for &other in known.iter().filter(|&&other| other != now) {
            push(1, other.to_owned());
            push(2, flipped(other));
        }
        if let Some(round) = round_of(ground, wait.node) {
            push(2, format!("{round} % 2"));
            push(2, format!("(({round} % 2) ^ 1)"));
        }
        // What the operand is a name of.
        let value = |node: &super::syntax::Node| {
            let text = sources.text(node.span);
            let rest = text.strip_prefix(&format!("let {now} = "))?;
            let end = rest.find(';')?;
            let start = node.span.start as usize + text.len() - rest.len();
            Some(Span::new(node.span.file, start, start + end))
        };
        for value in ground.syntax.nodes.iter().filter_map(value) {
            let edits = vec![Edit::replace(sources, value, flipped(sources.text(value)))];
            found.push(Proposal { rank: base + far + 2, edits });
        }
    }
}

pub fn flipped(parity: &str) -> String {
    match parity {
        "0" => "1".to_owned(),
        "1" => "0".to_owned(),
        name if is_name(name) => format!("{name} ^ 1"),
        other => match other.strip_suffix(" ^ 1") {
            Some(rest) => rest.to_owned(),
            None => format!("({other}) ^ 1"),
        },
    }
}

fn is_name(text: &str) -> bool {
    text.chars().all(|c| c.is_alphanumeric() || c == '_')
}

/// The bytes that came, in place of those announced.
fn announced(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    let Subject::Deadlock { roles, .. } = &ground.explanation.subject else { return };
    let sources = ground.texts.sources();
    for role in roles {
        let WaitFact::Phase { bytes, .. } = &role.wait else { continue };
        for arrive in of(ground, "mbarrier.").filter(|arrive| arrive.opcode.contains("expect_tx")) {
            let (Some(&operand), Some(object)) = (arrive.operands.last(), arrive.objects.first()) else {
                continue;
            };
            for (operand, _) in ground.syntax.written(sources, operand, object) {
                let now = sources.text(operand).trim().parse::<i64>().ok();
                if let Some(right) = now.map(|now| now - bytes).filter(|&right| right >= 0 && *bytes != 0) {
                    let edits = vec![Edit::replace(sources, operand, right.to_string())];
                    found.push(Proposal { rank: 12, edits });
                }
            }
        }
    }
}

/// The bytes that are signalled, as they are written there, in place of those announced.
fn announced_as_written(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    if !matches!(ground.explanation.subject, Subject::Deadlock { .. }) {
        return;
    }
    let sources = ground.texts.sources();
    for arrive in of(ground, "mbarrier.").filter(|arrive| arrive.opcode.contains("expect_tx")) {
        let Some(&operand) = arrive.operands.last() else { continue };
        for signal in of(ground, "mbarrier.complete_tx").filter(|signal| signal.objects == arrive.objects) {
            let Some(&bytes) = signal.operands.last() else { continue };
            if sources.text(bytes) != sources.text(operand) {
                let edits = vec![Edit::replace(sources, operand, sources.text(bytes))];
                found.push(Proposal { rank: 10, edits });
            }
        }
    }
}

/// A wait or an arrival like one that is there, at another object.
fn copies(ground: &Ground<'_>, inits: &[&Instruction], found: &mut Vec<Proposal>) {
    let sources = ground.texts.sources();
    let mut objects: Vec<&str> = inits.iter().flat_map(|init| &init.objects).map(String::as_str).collect();
    objects.sort_unstable();
    objects.dedup();
    let nodes = ground.nodes();
    let mut texts: Vec<(u32, String)> = Vec::new();
    for like in of(ground, "mbarrier.") {
        let is_wait = like.opcode.contains("_wait");
        let is_arrival = like.opcode.starts_with("mbarrier.arrive") && !like.opcode.contains("expect_tx");
        if !is_wait && !is_arrival {
            continue;
        }
        let text = sources.text(ground.syntax.nodes[like.node].span);
        let Some(own) = like.objects.first() else { continue };
        for &object in &objects {
            let uses = |kind: &str| {
                of(ground, "mbarrier.")
                    .any(|i| i.opcode.contains(kind) && i.objects.iter().any(|o| o == object))
            };
            let is_unused = if is_wait { !uses("_wait") } else { !uses("arrive") };
            let copy = text.replace(&format!("[{own}"), &format!("[{object}"));
            let rank = if is_unused { 26 } else { 46 };
            if is_wait && let Some(&parity) = like.operands.last() {
                let now = sources.text(parity);
                let other = copy.rsplit_once(now).map(|(head, tail)| format!("{head}{}{tail}", flipped(now)));
                texts.extend(other.map(|other| (rank, other)));
            }
            texts.push((rank, copy));
        }
    }
    texts.sort();
    texts.dedup();
    for (rank, text) in &texts {
        let is_wait = text.contains("_wait");
        for &node in &nodes {
            for (level, around) in (0..).zip(ground.syntax.ancestors(node)).take(2) {
                let edits = vec![insert(ground, (around, !is_wait), text)];
                found.push(Proposal { rank: rank + 2 * level, edits });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::flipped;

    #[test]
    fn a_parity_is_flipped_and_back() {
        for (now, then) in
            [("0", "1"), ("phase", "phase ^ 1"), ("i % 2", "(i % 2) ^ 1"), ("(i % 2) ^ 1", "(i % 2)")]
        {
            assert_eq!(flipped(now), then);
        }
    }
}
