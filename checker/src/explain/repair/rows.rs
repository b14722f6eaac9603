//! Proposals that the rows of instructions say: another word in an opcode, fewer groups left pending, and statements that order
//! or complete, near what was found, the nearest first.
//!
//! What words there are and which order more, which operand says how many groups are left, and what is put in is said by the
//! rows; what each statement is for by [`uses`](super::uses). That none of it hides what was found is in its nature: no access,
//! wait or branch is left out or made weaker, and no race of data is made strong.
//! Cannot: change who does what, or in which order.

use super::super::reason::Reason;
use super::super::subject::Subject;
use super::edit::Edit;
use super::ground::{Ground, Proposal};
use super::opcode::usual;
use super::parts::{Compiled, Gap};
use super::sites::Sites;
use super::syntax::Instruction;
use super::uses::{INIT, USES};
use crate::event::EventId;
use fencepost_dsl::Span;
use fencepost_dsl::kernel::isa::strength::{inserted, stronger};
use fencepost_dsl::kernel::isa::{Form, form_of};
use fencepost_dsl::vocabulary::{Proxy, Scope};

/// Instructions near a finding that are given stronger words.
const NEAR_MAX: usize = 12;
/// … of which so many two together.
const TOGETHER_MAX: usize = 4;
/// Places for one statement.
const PLACES_MAX: usize = 24;

/// What makes a change likely, the lower the more.
mod rank {
    /// One stronger word, for each instruction between.
    pub(super) const WORD: u32 = 4;
    /// Two of them.
    pub(super) const WORDS: u32 = 34;
    /// Fewer groups left pending.
    pub(super) const PENDING: u32 = 6;
    /// What a rule asks for that was broken.
    pub(super) const TOLD: u32 = 2;
    /// What the reason names.
    pub(super) const ASKED: u32 = 8;
    /// What else may be missing.
    pub(super) const MISSING: u32 = 20;
    /// Not between the two accesses, in the order of the text.
    pub(super) const ASIDE: u32 = 10;
    /// In a loop that only one of the two accesses is in.
    pub(super) const ROUNDS: u32 = 4;
    /// In a kernel that a person has written: behind what has an idea of what is wrong.
    pub(super) const WRITTEN: u32 = 29;
}

/// Proposals of all kinds.
pub fn propose(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    let near = near(ground);
    let mut own: Vec<Proposal> = Vec::new();
    words(ground, &near, &mut own);
    for compiled in &ground.syntax.compiled {
        pending(ground, compiled, &near, &mut own);
        missing(ground, Sites::Compiled(compiled), &near, &mut own);
    }
    if ground.syntax.compiled.is_empty() {
        missing(ground, Sites::Written(ground), &near, &mut own);
        own.iter_mut().for_each(|own| own.rank += rank::WRITTEN);
    }
    found.append(&mut own);
}

/// The instructions that a finding is about, and those that almost put them in order, the nearest first.
fn near<'g>(ground: &'g Ground<'_>) -> Vec<&'g Instruction> {
    let explanation = ground.explanation;
    let chain = explanation.chain.as_ref();
    let broken = chain.and_then(|chain| chain.broken).into_iter().flat_map(|(write, read)| [write, read]);
    let heads =
        chain.into_iter().flat_map(|chain| chain.release_heads.iter().chain(&chain.acquire_tails).copied());
    let pairs = ground.pairs().into_iter().flat_map(|(a, b)| [a, b]);
    let reasons = explanation.reasons.iter().flat_map(Reason::events);
    let events: Vec<EventId> = broken.chain(reasons).chain(heads).chain(pairs).collect();
    let mut found: Vec<&Instruction> = Vec::new();
    let of_events = events.into_iter().filter_map(|event| ground.instruction(ground.started_by(event)));
    let nodes = ground.nodes();
    let of_nodes = nodes.into_iter().flat_map(|node| ground.syntax.inside(node));
    for own in of_events.chain(of_nodes) {
        if found.iter().all(|known| known.span != own.span) {
            found.push(own);
        }
    }
    found.truncate(NEAR_MAX);
    found
}

/// A stronger word on one instruction, and on two together.
fn words(ground: &Ground<'_>, near: &[&Instruction], found: &mut Vec<Proposal>) {
    let sources = ground.texts.sources();
    let changed = |own: &Instruction| -> Vec<Edit> {
        let stronger = stronger(&own.opcode).into_iter();
        stronger.map(|after| Edit::replace(sources, own.opcode_span, after)).collect()
    };
    let each: Vec<Vec<Edit>> =
        near.iter().map(|own| changed(own)).filter(|edits| !edits.is_empty()).collect();
    // A rule that is broken is seldom one about words.
    let is_rule = matches!(ground.explanation.subject, Subject::Misuse { .. });
    let first = rank::WORD + if is_rule { rank::MISSING } else { 0 };
    for (rank, edits) in (first..).zip(&each) {
        for (step, edit) in (0..).zip(edits) {
            found.push(Proposal { rank: rank + step, edits: vec![edit.clone()] });
        }
    }
    for (at, first) in each.iter().enumerate().take(TOGETHER_MAX) {
        for second in each.iter().take(TOGETHER_MAX).skip(at + 1) {
            for (i, one) in (0..).zip(first) {
                for (j, other) in (0..).zip(second) {
                    found.push(Proposal {
                        rank: rank::WORDS + i + j,
                        edits: vec![one.clone(), other.clone()],
                    });
                }
            }
        }
    }
}

/// Fewer groups left pending, where a wait leaves some.
fn pending(ground: &Ground<'_>, compiled: &Compiled, near: &[&Instruction], found: &mut Vec<Proposal>) {
    let sources = ground.texts.sources();
    let places: Vec<usize> = near.iter().filter_map(|own| compiled.part_at(own.span)).collect();
    let waits = ground.syntax.instructions.iter().filter(|own| {
        own.span.file == compiled.file && form_of(&own.opcode).is_some_and(|form| form.leaves_pending)
    });
    for own in waits {
        let Some(&operand) = own.operands.last() else { continue };
        let Ok(now) = sources.text(operand).trim().parse::<u32>() else { continue };
        let part = compiled.part_at(own.span).unwrap_or(0);
        let distance = places.iter().map(|place| place.abs_diff(part)).min().unwrap_or(0);
        let far = u32::try_from(distance / 16).unwrap_or(9).min(9);
        for (step, fewer) in (0..).zip((0..now).rev()).take(4) {
            let edit = Edit::replace(sources, operand, fewer.to_string());
            found.push(Proposal { rank: rank::PENDING + step + far, edits: vec![edit] });
        }
        let of_words = stronger(&own.opcode).into_iter();
        for after in of_words {
            let edit = Edit::replace(sources, own.opcode_span, after);
            found.push(Proposal { rank: rank::PENDING + far, edits: vec![edit] });
        }
    }
}

/// Statements that order or complete, put in near what was found.
fn missing(ground: &Ground<'_>, sites: Sites<'_>, near: &[&Instruction], found: &mut Vec<Proposal>) {
    let sources = ground.texts.sources();
    let near: Vec<Span> = near.iter().map(|own| own.span).filter(|&span| sites.at(span).is_some()).collect();
    let span_of = |event: EventId| Some(ground.instruction(ground.started_by(event))?.span);
    let pairs: Vec<(Span, Span)> =
        ground.pairs().into_iter().filter_map(|(a, b)| Some((span_of(a)?, span_of(b)?))).collect();
    let is_between = |gap: Gap| pairs.is_empty() || pairs.iter().any(|&pair| sites.is_between(gap, pair));
    let mut places: Vec<(u32, Gap)> = Vec::new();
    for (number, &span) in (0..).zip(&near) {
        for (rank, gap) in sites.around(span) {
            let aside = if is_between(gap) { 0 } else { rank::ASIDE };
            let is_again = pairs.iter().all(|&pair| sites.is_in_other_rounds(gap, pair)) && !pairs.is_empty();
            let rounds = if is_again { rank::ROUNDS } else { 0 };
            let rank = rank + number / 2 + aside + rounds;
            match places.iter_mut().find(|(_, known)| *known == gap) {
                Some((known, _)) => *known = (*known).min(rank),
                None => places.push((rank, gap)),
            }
        }
    }
    places.sort_by_key(|(rank, _)| *rank);
    places.truncate(PLACES_MAX);
    let first = near.iter().min_by_key(|span| sites.at(**span));
    let early = first.map(|&span| sites.around(span)).unwrap_or_default();
    for (form, statement) in inserted() {
        let Some(base) = base(ground, form, statement) else { continue };
        // What is to be known by all before it is used belongs behind the first of what was found.
        let is_early = base < rank::ASKED && ground.explanation.code.starts_with(INIT);
        for &(rank, gap) in places.iter().filter(|(_, gap)| sites.is_met(*gap, awaits(form))) {
            let own = early.iter().find(|(_, own)| *own == gap).map(|(rank, _)| *rank);
            let rank = if is_early { own.unwrap_or(rank::ASIDE) } else { rank };
            let edit = Edit::insert(sources, gap.0, gap.1, statement);
            found.push(Proposal { rank: base + rank, edits: vec![edit] });
        }
    }
}

/// The names that tell those apart who wait for one another at a statement.
fn awaits(form: &Form) -> &'static [&'static str] {
    match form.name {
        "bar.warp.sync" => &["tid", "laneid"],
        name if name.starts_with("barrier.cluster") => {
            &["tid", "laneid", "warpid", "ctaid", "cluster_ctarank"]
        }
        name if name.starts_with("bar.") || name.starts_with("barrier.") => &["tid", "laneid", "warpid"],
        _ => &[],
    }
}

/// Whether two instructions touch one place from different warps.
fn is_among_warps(ground: &Ground<'_>, (a, b): (EventId, EventId)) -> bool {
    let graph = ground.graph();
    let constant = |term| graph.terms.constant_value(term);
    let of_site = |event: EventId| {
        let own = graph.events.iter().filter(move |own| own.site == graph.events[event].site);
        let places = own.filter_map(|own| Some((graph.hierarchy.warp_of(own.agent?), own.kind.access()?)));
        places.collect::<Vec<_>>()
    };
    let (first, second) = (of_site(a), of_site(b));
    first.iter().any(|(warp, one)| {
        let touches = |(of, other): &(u32, &crate::event::Access)| {
            let overlaps = match (constant(one.offset), constant(other.offset)) {
                (Some(x), Some(y)) => {
                    x < y + u128::from(other.width_bytes) && y < x + u128::from(one.width_bytes)
                }
                _ => one.offset == other.offset,
            };
            of != warp && one.location == other.location && overlaps
        };
        second.iter().any(touches)
    })
}

/// How unlikely a statement is what is missing; `None` if it cannot be.
fn base(ground: &Ground<'_>, form: &Form, statement: &str) -> Option<u32> {
    let graph = ground.graph();
    let own = USES.iter().find(|own| form.name.starts_with(own.statement));
    if own.is_some_and(|own| !ground.syntax.instructions.iter().any(|known| own.is_with(known))) {
        return None;
    }
    let launch = graph.hierarchy.launch();
    let scope = statement.trim_end_matches(';').rsplit('.').next().and_then(Scope::from_name);
    let of_cluster = ["barrier.cluster", "fence.mbarrier_init"];
    let cluster = scope == Some(Scope::Cluster) || of_cluster.iter().any(|name| form.name.starts_with(name));
    if cluster && launch.cluster <= 1 {
        return None;
    }
    // A fence of the narrowest scope that holds both threads, and none for others.
    let pairs = ground.pairs();
    let threads = |event: EventId| ground.thread(event);
    let common =
        pairs.iter().filter_map(|&(a, b)| Some(graph.hierarchy.common_scope(threads(a)?, threads(b)?))).max();
    if form.name == "fence"
        && scope.is_some_and(|scope| common.is_some_and(|common| usual(graph, common) != scope))
    {
        return None;
    }
    if form.name.starts_with("bar.") && common.is_some_and(|common| common > Scope::Cta) {
        return None;
    }
    let same_warp = pairs.iter().all(|&(a, b)| match (threads(a), threads(b)) {
        (Some(a), Some(b)) => graph.hierarchy.warp_of(a) == graph.hierarchy.warp_of(b),
        _ => true,
    });
    if form.name == "bar.warp.sync" && (!same_warp || launch.lanes <= 1) {
        return None;
    }
    let is_async = graph
        .events
        .iter()
        .any(|event| event.kind.access().is_some_and(|access| access.proxy == Proxy::Async));
    if form.name == "fence.proxy.async" && !is_async {
        return None;
    }
    let code = ground.explanation.code;
    let is_told = own.is_some_and(|own| own.finding.iter().any(|finding| code.starts_with(finding)));
    let is_asked = own.is_some_and(|own| ground.has(|reason| own.is_asked(ground, reason)));
    let is_hang = matches!(ground.explanation.subject, Subject::Deadlock { .. });
    // Where nothing is handed over, or nobody comes, what orders has nothing to put in order.
    let is_alone =
        is_hang || pairs.is_empty() || ground.has(|own| matches!(own, Reason::NothingObserved { .. }));
    if ground.syntax.compiled.is_empty() && is_alone && !is_told && !is_asked {
        return None;
    }
    // Who starts the kernel with more warps means all of them; of several warps, those that need not meet need not wait.
    let extra = match form.name {
        "bar.sync" if launch.warps == 1 => 0,
        "bar.warp.sync" if launch.warps == 1 => 3,
        // What goes wrong between the warps as well a warp's barrier does not mend.
        "bar.warp.sync" if pairs.iter().any(|&pair| is_among_warps(ground, pair)) => 6,
        "bar.sync" if same_warp => 4,
        // That what was stored from may be used again is mostly all that is asked.
        _ if statement.starts_with("cp.async.bulk.wait_group ") => 4,
        _ => 3,
    };
    if is_told {
        return Some(rank::TOLD + extra);
    }
    Some(match (is_asked, is_hang) {
        (true, _) => rank::ASKED + extra,
        (false, true) => rank::MISSING + 20,
        (false, false) if own.is_some_and(|own| !own.with.is_empty()) => rank::MISSING + 8,
        (false, false) if form.name == "fence" => {
            rank::MISSING + 4 + u32::from(statement.starts_with("fence.sc"))
        }
        (false, false) => rank::MISSING + extra - 3,
    })
}
