//! Proposals for arrivals at the object of the wrong CTA, where CTAs of a cluster write each other's memory: an arrival at that
//! of the CTA that others reach, or at each CTA's object, which then expects as many times more.

use super::super::subject::Subject;
use super::edit::Edit;
use super::ground::{Ground, Proposal};
use super::places::{insert, names};
use super::syntax::Instruction;
use fencepost_dsl::sorted::SortedSet;

/// The rank of the own CTA.
const OWN_RANK: &str = "cluster_ctarank";

/// An arrival at the object of another CTA, then at that of each CTA, with and without another number of arrivals that it expects.
pub fn propose(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    let cluster = ground.graph().hierarchy.launch().cluster;
    let (syntax, sources) = (ground.syntax, ground.texts.sources());
    let reaches = |i: &Instruction| {
        i.opcode.contains(".multicast::cluster") || i.memory.iter().any(|memory| memory.rank.is_some())
    };
    if cluster < 2 || !syntax.instructions.iter().any(reaches) {
        return;
    }
    let is_waited_for = ground.explanation.code == "mbarrier::phase-not-waited-for";
    let is_hang = matches!(ground.explanation.subject, Subject::Deadlock { .. });
    let rank = if is_waited_for || is_hang { 9 } else { 17 };
    let arrivals = syntax.instructions.iter().filter(|arrival| {
        arrival.opcode.starts_with("mbarrier.arrive.") && !arrival.opcode.contains("expect_tx")
    });
    let named = syntax.instructions.iter().flat_map(|own| &own.memory).filter_map(|memory| memory.rank);
    let mut ranks: SortedSet<&str> = named.map(|rank| sources.text(rank)).collect();
    ranks.insert(OWN_RANK);
    for arrival in arrivals.filter(|arrival| ground.can_change(arrival.node)) {
        let [memory] = arrival.memory.as_slice() else { continue };
        let own_rank = memory.rank.map_or(OWN_RANK, |rank| sources.text(rank));
        for other in ranks.iter().filter(|&&other| other != own_rank) {
            let object = memory.element_of(&memory.name, sources);
            let opcode = "mbarrier.arrive.release.cluster.shared::cluster.b64";
            let text = format!("{opcode} _, [mapa({object}, {other})]");
            let edits = vec![Edit::replace(sources, arrival.span, text)];
            // Another number in place of one is less of a change.
            let rank = if is_hang { rank - 1 } else { rank + 1 } + if memory.rank.is_some() { 6 } else { 0 };
            found.push(Proposal { rank, edits });
        }
        let is_own = memory.rank.is_none_or(|rank| sources.text(rank) == OWN_RANK);
        let statement = sources.text(syntax.nodes[arrival.node].span);
        if !is_own
            || statement.trim_end_matches(';') != sources.text(arrival.span)
            || names(statement, &["peer_cta"])
        {
            continue;
        }
        let object = memory.element_of(&memory.name, sources);
        let text = format!(
            "for peer_cta in 0..{cluster} {{ mbarrier.arrive.release.cluster.shared::cluster.b64 _, [mapa({object}, peer_cta)]; }}"
        );
        let everywhere = Edit::replace(sources, syntax.nodes[arrival.node].span, text);
        found.push(Proposal { rank: if is_hang { rank } else { rank + 1 }, edits: vec![everywhere.clone()] });
        let counts = expected(ground, &memory.name, cluster);
        // All CTAs' objects must be there before the first arrival of another one.
        let fence = fence(ground);
        found.push(Proposal {
            rank: if is_hang { rank + 1 } else { rank },
            edits: [vec![everywhere], counts, fence].concat(),
        });
    }
}

/// So many times as many arrivals, wherever the object is initialised.
fn expected(ground: &Ground<'_>, object: &str, times: u32) -> Vec<Edit> {
    let sources = ground.texts.sources();
    let inits = ground.syntax.instructions.iter().filter(|init| {
        init.opcode.starts_with("mbarrier.init") && init.objects.iter().any(|own| own == object)
    });
    let more = inits.filter_map(|init| {
        let &count = init.operands.get(1)?;
        let now = sources.text(count).trim();
        let number = now.parse::<u32>().ok().and_then(|number| number.checked_mul(times));
        let after = number.map_or_else(|| format!("{times} * ({now})"), |number| number.to_string());
        Some(Edit::replace(sources, count, after))
    });
    more.collect()
}

/// The fence that makes initialisations known to the cluster, unless it stands there.
fn fence(ground: &Ground<'_>) -> Vec<Edit> {
    let instructions = &ground.syntax.instructions;
    let has = |word: &str| instructions.iter().any(|i| i.opcode.starts_with(word));
    if has("fence.mbarrier_init")
        || has("barrier.cluster.arrive.release")
        || has("barrier.cluster.arrive.aligned")
    {
        return Vec::new();
    }
    let last = instructions.iter().rfind(|i| i.opcode.starts_with("mbarrier.init"));
    let text = "fence.mbarrier_init.release.cluster;";
    last.map(|init| insert(ground, (init.node, true), text)).into_iter().collect()
}
