//! Where something is put in near a statement: in a compiled kernel between lines of its source, in another one between the
//! statements of its block and of those around it.

use super::ground::Ground;
use super::parts::{Compiled, Gap};
use super::places::{diverges, is_in_other_rounds};
use super::syntax::NodeKind;
use fencepost_dsl::Span;

/// Statements between what was found and where something is put in.
const REACH: usize = 4;
/// Blocks around it that are looked at.
const LEVELS: usize = 6;
/// What makes a place unlikely: each statement between.
const STATEMENT: u32 = 3;
/// … and each block between.
const BLOCK: u32 = 2;

/// The statements of a kernel.
#[derive(Clone, Copy)]
pub enum Sites<'g> {
    /// As a compiler has written them.
    Compiled(&'g Compiled),
    /// As a person has.
    Written(&'g Ground<'g>),
}

impl Sites<'_> {
    /// Where a statement is, for comparison with others.
    pub fn at(&self, span: Span) -> Option<usize> {
        match self {
            Self::Compiled(compiled) => compiled.part_at(span),
            Self::Written(_) => Some(span.start as usize),
        }
    }

    /// Where a place is: what is at it or further on comes behind.
    fn gap_at(&self, (span, is_after): Gap) -> Option<usize> {
        match self {
            Self::Compiled(compiled) => Some(compiled.part_at(span)? + usize::from(is_after)),
            Self::Written(_) => Some(if is_after { span.end as usize } else { span.start as usize }),
        }
    }

    /// Whether a place is between two statements, in the order of the text; or anywhere in a loop around both.
    pub fn is_between(&self, gap: Gap, (a, b): (Span, Span)) -> bool {
        let (Some(first), Some(second), Some(at)) = (self.at(a), self.at(b), self.gap_at(gap)) else {
            return false;
        };
        let is_round = || match self {
            Self::Compiled(_) => false,
            Self::Written(ground) => {
                let mut loops = ground.syntax.nodes.iter().filter(|node| node.kind == NodeKind::Loop);
                loops.any(|node| {
                    let inside = |span: Span| node.span.holds(span) && node.span != span;
                    inside(a) && inside(b) && inside(gap.0)
                })
            }
        };
        first.min(second) < at && at <= first.max(second) || is_round()
    }

    /// Whether a place is in a loop that two statements are not both in: what stands there is run again and again.
    pub fn is_in_other_rounds(&self, gap: Gap, (a, b): (Span, Span)) -> bool {
        match self {
            Self::Compiled(compiled) => match (self.gap_at(gap), self.at(a), self.at(b)) {
                (Some(at), Some(a), Some(b)) => compiled.is_in_other_rounds(at, [a, b]),
                _ => false,
            },
            Self::Written(ground) => {
                let syntax = ground.syntax;
                match (syntax.node_at(gap.0), syntax.node_around(a), syntax.node_around(b)) {
                    (Some(node), Some(a), Some(b)) => is_in_other_rounds(syntax, node, [a, b]),
                    _ => false,
                }
            }
        }
    }

    /// Places near a statement, with how unlikely each is.
    pub fn around(&self, span: Span) -> Vec<(u32, Gap)> {
        match self {
            Self::Compiled(compiled) => {
                compiled.part_at(span).map(|part| compiled.around(part)).unwrap_or_default()
            }
            Self::Written(ground) => around(ground, span),
        }
    }

    /// Whether all threads come to a place, but for those that the names tell apart.
    pub fn is_met(&self, (span, _): Gap, names: &[&str]) -> bool {
        match self {
            Self::Compiled(_) => true,
            Self::Written(ground) => {
                ground.syntax.node_at(span).is_none_or(|node| !diverges(ground, node, names))
            }
        }
    }
}

fn around(ground: &Ground<'_>, span: Span) -> Vec<(u32, Gap)> {
    let syntax = ground.syntax;
    let Some(node) = syntax.node_around(span) else { return Vec::new() };
    let mut found: Vec<(u32, Gap)> = Vec::new();
    for (level, around) in (0..).zip(syntax.outwards(node).into_iter().take(LEVELS)) {
        let (siblings, at) = syntax.siblings(around);
        for gap in at.saturating_sub(REACH)..=(at + 1 + REACH).min(siblings.len()) {
            let between = if gap <= at { at - gap } else { gap - at - 1 };
            let rank = u32::try_from(between).unwrap_or(9) * STATEMENT + level * BLOCK;
            // The statement before it names a place, or the one behind it where there is none.
            let (beside, is_after) = match gap.checked_sub(1) {
                Some(before) => (siblings[before], true),
                None => (siblings[gap], false),
            };
            let place = (syntax.nodes[beside].span, is_after);
            if ground.can_change(beside) && found.iter().all(|(_, known)| *known != place) {
                found.push((rank, place));
            }
        }
    }
    found
}
