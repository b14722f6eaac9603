//! What proposals are made from, and what one is.

use super::super::explanation::Explanation;
use super::super::reason::Reason;
use super::super::subject::Subject;
use super::edit::Edit;
use super::syntax::{Instruction, Syntax};
use super::text::Texts;
use crate::event::{AgentId, EventGraph, EventId};
use crate::verdict::Outcome;
use fencepost_dsl::Span;
use fencepost_dsl::kernel::program::Program;
use fencepost_dsl::sorted::SortedSet;

/// The rank of what makes both ends of a race strong: all there is to do only where nothing else is violated then.
const STRONG_ENDS: u32 = 16;
/// … of two threads that meet elsewhere: more likely they should have met once more.
const STRONG_ENDS_OF_MEETING: u32 = 43;
/// … of an access that alone is weak among all that its object has, where threads do signal: behind what would put it in order.
pub const STRONG_ODD_ONE: u32 = 40;

/// How unlikely it is that the ends of a race should be strong.
pub fn rank_of_strong_ends(ground: &Ground<'_>) -> u32 {
    let meet =
        |reason: &Reason| matches!(reason, Reason::NothingObserved { met, .. } if *met != (None, None));
    if ground.has(meet) { STRONG_ENDS_OF_MEETING } else { STRONG_ENDS }
}

/// Whether a rank is that of such a change where the two should rather have met: it is cheaper than that, and orders nothing.
pub fn is_instead_of_meeting(rank: u32) -> bool {
    rank == STRONG_ENDS_OF_MEETING
}

/// Whether a rank is that of a change that makes ends strong.
pub fn is_of_strong_ends(rank: u32) -> bool {
    matches!(rank, STRONG_ENDS | STRONG_ODD_ONE | STRONG_ENDS_OF_MEETING)
}

/// Something to try. Those of lower rank come first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Proposal {
    /// Whether it is likely to be meant.
    pub rank: u32,
    /// The change.
    pub edits: Vec<Edit>,
}

/// What proposals are made from.
#[derive(Clone, Copy)]
pub struct Ground<'a> {
    /// The texts.
    pub texts: &'a Texts,
    /// Their statements.
    pub syntax: &'a Syntax,
    /// The launch.
    pub outcome: &'a Outcome,
    /// The finding.
    pub explanation: &'a Explanation,
    /// Names of one bit.
    pub truths: &'a SortedSet<&'a str>,
}

/// The names of a program that are of one bit wherever they stand.
pub fn truths(program: &Program) -> SortedSet<&str> {
    let kernels = program.kernels.iter().flat_map(|kernel| kernel.registers.iter());
    let all = kernels.chain(program.functions.iter().flat_map(|function| function.registers.iter()));
    let (bits, numbers): (Vec<_>, Vec<_>) = all.partition(|register| register.width == 1);
    let numbers: SortedSet<&str> = numbers.into_iter().map(|register| register.name.as_str()).collect();
    bits.into_iter().map(|register| register.name.as_str()).filter(|name| !numbers.contains(name)).collect()
}

impl Ground<'_> {
    /// The events.
    pub fn graph(&self) -> &EventGraph {
        &self.outcome.graph
    }

    /// The instruction of an event.
    pub fn instruction(&self, event: EventId) -> Option<&Instruction> {
        let site = self.graph().events[event].site?;
        self.syntax.instruction(self.graph().sites[site].span)
    }

    /// The statement to change for an event: its own, or the call by which a kernel comes to it, if it is the library's.
    pub fn place(&self, event: EventId) -> Option<usize> {
        let node = self.instruction(self.started_by(event))?.node;
        if self.can_change(node) {
            Some(node)
        } else {
            self.syntax.calls_of(node).find(|&at| self.can_change(at))
        }
    }

    /// Whether a statement is the reader's to change.
    pub fn can_change(&self, node: usize) -> bool {
        !self.texts.is_library(self.syntax.nodes[node].span.file)
    }

    /// For an event of an asynchronous operation, what started it.
    pub fn started_by(&self, event: EventId) -> EventId {
        use crate::event::BaseRelation;
        let mut issue = self.graph().edges.of(BaseRelation::Issue);
        let start = issue.find(|edge| edge.to == event).map(|edge| edge.from);
        start.filter(|_| self.graph().is_of_operation(event)).unwrap_or(event)
    }

    /// The thread of an event, or that which started it.
    pub fn thread(&self, event: EventId) -> Option<AgentId> {
        self.graph().events[event].agent.map(|agent| self.graph().hierarchy.issuer(agent))
    }

    /// The two events that are in no order, if the finding is about such.
    pub fn pairs(&self) -> Vec<(EventId, EventId)> {
        match &self.explanation.subject {
            Subject::Race { earlier, later } => vec![(*earlier, *later)],
            Subject::Flag { pair, .. } => vec![*pair],
            _ => {
                let reads = &self.explanation.reads;
                let missed = reads.iter().filter_map(|fact| Some((fact.missed?, fact.read)));
                let early = reads.iter().filter_map(|fact| {
                    let source = fact.source?;
                    let is_other = self.graph().events[source].agent.is_some()
                        && self.thread(source) != self.thread(fact.read);
                    is_other.then_some((fact.read, source))
                });
                missed.chain(early).collect()
            }
        }
    }

    /// The statements that the finding is about.
    pub fn nodes(&self) -> Vec<usize> {
        let mut spans: Vec<Span> = Vec::new();
        let events = self.pairs().into_iter().flat_map(|(a, b)| [a, b]);
        for event in events.map(|event| self.started_by(event)) {
            spans.extend(self.instruction(event).map(|instruction| instruction.span));
        }
        match &self.explanation.subject {
            Subject::Assertion { span, .. } | Subject::Misuse { span, .. } | Subject::Bounds { span, .. } => {
                spans.push(*span);
            }
            Subject::Deadlock { roles, .. } => spans.extend(roles.iter().map(|role| role.span)),
            Subject::Lifetime { access, last, .. } => {
                let events = [Some(self.started_by(*access)), *last];
                let known = events.into_iter().flatten().filter_map(|event| self.instruction(event));
                spans.extend(known.map(|instruction| instruction.span));
            }
            _ => {}
        }
        let mut nodes = Vec::new();
        for node in spans.into_iter().filter_map(|span| self.syntax.node_around(span)) {
            if !nodes.contains(&node) {
                nodes.push(node);
            }
        }
        nodes
    }

    /// Whether the finding has a reason like this one.
    pub fn has(&self, wanted: impl Fn(&Reason) -> bool) -> bool {
        self.explanation.reasons.iter().any(wanted)
    }
}
