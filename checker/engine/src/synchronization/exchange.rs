//! What the lanes of a warp get from one another, once all threads' executions are known.
//!
//! That they meet is a matter of barriers ([`super::barrier`]); here it is said what comes out. A lane that has exited brings
//! nothing to a vote, and who asks for its value gets any.

use super::log::{BarrierLog, Generation, Group};
use crate::event::{AgentId, GraphBuilder, SiteId, TermPool, TermRef, UnknownKind};
use fencepost_dsl::kernel::program::{BinaryOp, ExchangeKind, LaneReduction, Shuffle, Vote};
use fencepost_dsl::sorted::{SortedMap, SortedSet};

/// Guards of ways that exclude one another, and the value on each.
pub type Ways = Vec<(TermRef, TermRef)>;

/// A result: of a generation of a group, and of a thread unless all get the same.
pub type ResultKey = (Group, u32, Option<AgentId>);

/// What lanes have brought and got.
#[derive(Default)]
pub struct ExchangeLog {
    /// Per group the executions by index, with the values they bring.
    pub brought: SortedMap<Group, Vec<(usize, TermRef)>>,
    /// Per generation that is the same on every path, what a thread brings.
    pub ways: SortedMap<(Group, u32, AgentId), Ways>,
    /// Threads with an execution whose generation is a term.
    pub dynamic: SortedSet<(Group, AgentId)>,
    /// Executions whose result is an unknown.
    pub asked: Vec<(Exchanged, TermRef)>,
    /// The unknowns of generations that are the same on every path.
    pub results: SortedMap<ResultKey, TermRef>,
    /// Results that are numbers, found out when the kernel was unrolled before.
    pub known: SortedMap<ResultKey, u128>,
}

/// One execution, by a lane that gets something.
#[derive(Clone, Copy, Debug)]
pub struct Exchanged {
    /// Its index in the log.
    pub execution: usize,
    /// The lane.
    pub lane: u32,
    /// Of a shuffle: the lane whose value is asked for, 32 bits.
    pub source: Option<TermRef>,
}

/// What a lane brings.
#[derive(Clone, Copy, Debug)]
struct Contribution {
    /// Which lane.
    lane: u32,
    /// When it takes part, given that the others get through.
    takes_part: TermRef,
    /// Its value, if it does.
    value: TermRef,
}

/// How wide what comes out of an exchange is.
pub fn result_width(kind: ExchangeKind) -> u8 {
    match kind {
        ExchangeKind::Vote(Vote::All | Vote::Any | Vote::Uniform) => 1,
        _ => 32,
    }
}

/// The lane whose value a shuffle gives, and whether that is in range; else it is the lane's own.
pub fn source_lane(
    terms: &mut TermPool,
    (mode, lane): (Shuffle, u32),
    operand: TermRef,
    clamp: TermRef,
) -> (TermRef, TermRef) {
    let own = terms.constant(u128::from(lane), 32);
    let (five_bits, eight) = (terms.constant(31, 32), terms.constant(8, 32));
    let distance = terms.binary(BinaryOp::And, operand, five_bits);
    let bound = terms.binary(BinaryOp::And, clamp, five_bits);
    let segments = terms.binary(BinaryOp::ShiftRight, clamp, eight);
    let segments = terms.binary(BinaryOp::And, segments, five_bits);
    let inside = terms.binary(BinaryOp::Xor, segments, five_bits);
    let first = terms.binary(BinaryOp::And, own, segments);
    let last = terms.binary(BinaryOp::And, bound, inside);
    let last = terms.binary(BinaryOp::Or, first, last);
    let lane = match mode {
        Shuffle::Up => terms.binary(BinaryOp::Subtract, own, distance),
        Shuffle::Down => terms.binary(BinaryOp::Add, own, distance),
        Shuffle::Butterfly => terms.binary(BinaryOp::Xor, own, distance),
        Shuffle::Index => {
            let within = terms.binary(BinaryOp::And, distance, inside);
            terms.binary(BinaryOp::Or, first, within)
        }
    };
    let is_outside = match mode {
        Shuffle::Up => {
            // As numbers with a sign: both are moved up by what a distance can be at most.
            let most = terms.constant(32, 32);
            let (lane, last) =
                (terms.binary(BinaryOp::Add, lane, most), terms.binary(BinaryOp::Add, last, most));
            terms.less(lane, last)
        }
        Shuffle::Down | Shuffle::Butterfly | Shuffle::Index => terms.less(last, lane),
    };
    let source = terms.if_then_else(is_outside, own, lane);
    (source, terms.not(is_outside))
}

/// The value on whichever way is taken.
pub fn combined(terms: &mut TermPool, ways: &Ways) -> TermRef {
    let Some((&(_, last), others)) = ways.split_last() else { return TermPool::FALSE };
    others.iter().fold(last, |rest, &(guard, value)| terms.if_then_else(guard, value, rest))
}

/// What each lane of a group's mask brings to a generation.
fn contributions(
    graph: &mut GraphBuilder,
    log: &BarrierLog,
    (group, generation): (Group, Generation),
) -> Vec<Contribution> {
    let mut ways: SortedMap<AgentId, Ways> = SortedMap::new();
    for &(index, value) in log.exchanges.brought.get(&group).map_or(&[][..], Vec::as_slice) {
        let execution = log.executions[index];
        let same = execution.generation.same_where(generation, execution.guard, &mut graph.terms);
        if same != TermPool::FALSE {
            let guard = graph.terms.and(execution.guard, same);
            ways.entry(execution.agent).or_default().push((guard, value));
        }
    }
    let mut contributions = Vec::with_capacity(ways.len());
    for (agent, ways) in ways {
        let arrives = graph.terms.or_all(ways.iter().map(|&(guard, _)| guard));
        // Whoever gets through has met all that did not exit instead.
        let completed = graph.completed[agent];
        let takes_part = if graph.terms.entails(completed, arrives) { TermPool::TRUE } else { arrives };
        let value = combined(&mut graph.terms, &ways);
        contributions.push(Contribution { lane: graph.hierarchy.threads[agent].lane, takes_part, value });
    }
    contributions
}

/// Each unknown result with what it is.
pub fn results(graph: &mut GraphBuilder, log: &BarrierLog) -> Vec<(Exchanged, TermRef, TermRef)> {
    let mut known: SortedMap<(Group, u32), Vec<Contribution>> = SortedMap::new();
    let mut results = Vec::with_capacity(log.exchanges.asked.len());
    for &(exchanged, result) in &log.exchanges.asked {
        let execution = log.executions[exchanged.execution];
        let Group::Exchange(.., kind) = execution.group else { continue };
        let of = (execution.group, execution.generation);
        let new;
        let contributions = match execution.generation {
            Generation::Static(k) => {
                &*known.entry((execution.group, k)).or_insert_with(|| contributions(graph, log, of))
            }
            Generation::Dynamic(_) => {
                new = contributions(graph, log, of);
                &new
            }
        };
        let value = result_of(&mut graph.terms, kind, &exchanged, contributions);
        results.push((exchanged, result, value));
    }
    results
}

/// What a lane gets.
fn result_of(
    terms: &mut TermPool,
    kind: ExchangeKind,
    exchanged: &Exchanged,
    contributions: &[Contribution],
) -> TermRef {
    let own = contributions.iter().find(|one| one.lane == exchanged.lane).map(|one| one.value);
    match kind {
        ExchangeKind::Shuffle(_) => {
            let source = exchanged.source.unwrap_or(TermPool::FALSE);
            let fixed = terms.constant_value(source);
            let candidates: Vec<&Contribution> = contributions
                .iter()
                .filter(|one| fixed.is_none_or(|lane| lane == u128::from(one.lane)))
                .collect();
            let mut value = match candidates.as_slice() {
                [one] if fixed.is_some() && one.takes_part == TermPool::TRUE => return one.value,
                _ => terms.fresh(32, UnknownKind::Uncomputed(SiteId(0))).1,
            };
            for one in candidates {
                let lane = terms.constant(u128::from(one.lane), 32);
                let is_asked = terms.equal(source, lane);
                let is_asked = terms.and(is_asked, one.takes_part);
                value = terms.if_then_else(is_asked, one.value, value);
            }
            value
        }
        ExchangeKind::Vote(vote) => {
            let holding: Vec<TermRef> =
                contributions.iter().map(|one| terms.and(one.takes_part, one.value)).collect();
            let mut always = |holds: bool| {
                let all: Vec<TermRef> = contributions
                    .iter()
                    .map(|one| {
                        let value = if holds { one.value } else { terms.not(one.value) };
                        terms.implies(one.takes_part, value)
                    })
                    .collect();
                terms.and_all(all)
            };
            match vote {
                Vote::All => always(true),
                Vote::Any => terms.or_all(holding),
                Vote::Uniform => {
                    let (all, none) = (always(true), always(false));
                    terms.or(all, none)
                }
                Vote::Ballot => ballot(terms, contributions, &holding),
            }
        }
        ExchangeKind::Match { all: false, .. } => {
            let equal: Vec<TermRef> = contributions
                .iter()
                .map(|one| {
                    let same = terms.equal(one.value, own.unwrap_or(one.value));
                    terms.and(one.takes_part, same)
                })
                .collect();
            ballot(terms, contributions, &equal)
        }
        ExchangeKind::Match { all: true, .. } => {
            let mut equal = Vec::new();
            for (index, one) in contributions.iter().enumerate() {
                for other in &contributions[..index] {
                    let same = terms.equal(one.value, other.value);
                    let both = terms.and(one.takes_part, other.takes_part);
                    equal.push(terms.implies(both, same));
                    // Where all take part, neighbours are enough.
                    if both == TermPool::TRUE {
                        break;
                    }
                }
            }
            let all_equal = terms.and_all(equal);
            let there: Vec<TermRef> = contributions.iter().map(|one| one.takes_part).collect();
            let (there, none) = (ballot(terms, contributions, &there), terms.constant(0, 32));
            terms.if_then_else(all_equal, there, none)
        }
        ExchangeKind::Reduce(reduction) => {
            let neutral = match reduction {
                LaneReduction::Add | LaneReduction::Max | LaneReduction::Or | LaneReduction::Xor => 0,
                LaneReduction::Min | LaneReduction::And => u128::from(u32::MAX),
                LaneReduction::SignedMin => 0x7fff_ffff,
                LaneReduction::SignedMax => 0x8000_0000,
            };
            let neutral = terms.constant(neutral, 32);
            let mut result = neutral;
            for one in contributions {
                let value = terms.if_then_else(one.takes_part, one.value, neutral);
                result = reduced(terms, reduction, result, value);
            }
            result
        }
    }
}

fn reduced(terms: &mut TermPool, reduction: LaneReduction, a: TermRef, b: TermRef) -> TermRef {
    let mut choose = |is_signed: bool, wants_less: bool| {
        let sign = terms.constant(if is_signed { 0x8000_0000 } else { 0 }, 32);
        let (x, y) = (terms.binary(BinaryOp::Xor, a, sign), terms.binary(BinaryOp::Xor, b, sign));
        let is_less = terms.less(x, y);
        if wants_less { terms.if_then_else(is_less, a, b) } else { terms.if_then_else(is_less, b, a) }
    };
    match reduction {
        LaneReduction::Min => choose(false, true),
        LaneReduction::SignedMin => choose(true, true),
        LaneReduction::Max => choose(false, false),
        LaneReduction::SignedMax => choose(true, false),
        LaneReduction::Add => terms.binary(BinaryOp::Add, a, b),
        LaneReduction::And => terms.binary(BinaryOp::And, a, b),
        LaneReduction::Or => terms.binary(BinaryOp::Or, a, b),
        LaneReduction::Xor => terms.binary(BinaryOp::Xor, a, b),
    }
}

/// A bit per lane.
fn ballot(terms: &mut TermPool, contributions: &[Contribution], bits: &[TermRef]) -> TermRef {
    let mut mask = terms.constant(0, 32);
    for (one, &bit) in contributions.iter().zip(bits) {
        let (bit, lane) = (terms.resize(bit, 32), terms.constant(u128::from(one.lane), 32));
        let bit = terms.binary(BinaryOp::ShiftLeft, bit, lane);
        mask = terms.binary(BinaryOp::Or, mask, bit);
    }
    mask
}

/// States of each unknown result what it is.
pub fn state_results(graph: &mut GraphBuilder, log: &BarrierLog) {
    for (exchanged, result, value) in results(graph, log) {
        let execution = log.executions[exchanged.execution];
        let Some((_, passed)) = execution.wait else { continue };
        let holds = graph.terms.equal(result, value);
        match execution.generation {
            Generation::Static(k) => {
                let passes = log.passes.get(&(execution.group, k)).copied().unwrap_or(passed);
                let constraint = graph.terms.implies(passes, holds);
                graph.terms.define(result, value, constraint);
                graph.constrain(constraint);
            }
            Generation::Dynamic(_) => graph.imply(passed, holds),
        }
    }
}
