//! Whether a change mends what was found, or only keeps it from being seen.
//!
//! Nothing is violated either where a wait was made to pass at once, or where what fails is reached no more. Both are
//! asked of the program with the change: without a wait that the change touches, something has to be violated, or the
//! wait waits for nothing; and each branch that was run before has to be run still, for a change of a number.
//! Cannot: ask this of waits whose result is used, which cannot be left out, and of branches in functions of the library.

use super::syntax::{Binding, Instruction, NodeKind, Syntax};
use super::text::{Edit, Texts};
use crate::check::CheckError;
use crate::verdict::Verdict;
use fencepost_dsl::{SourceMap, Span};

/// Waits that a change touches, and branches, of which that is asked.
const ASKED_MAX: usize = 8;

/// What a branch holds that should never be run.
const NEVER: &str = "assert false;";

/// Whether a change of `before` to `after`, with which nothing is violated, only hides what was found. `check` gives the
/// verdict on a text, or `None` if there is none.
///
/// # Errors
/// Those of `check`.
pub fn only_hides(
    (before, after): (&Texts, &Texts),
    kernel: Option<&str>,
    check: &mut dyn FnMut(&Texts) -> Result<Option<Verdict>, CheckError>,
) -> Result<bool, CheckError> {
    let old = Side { texts: before, syntax: Syntax::new(before.sources(), kernel) };
    let new = Side { texts: after, syntax: Syntax::new(after.sources(), kernel) };
    for span in new.touched_waits(&old) {
        let without = after.changed(&[Edit::removed(after.sources(), span)]);
        let verdict = without.map(|texts| check(&texts)).transpose()?.flatten();
        if matches!(verdict, Some(Verdict::Proved | Verdict::ProvedUpToBound)) {
            return Ok(true);
        }
    }
    if !new.has_other_numbers(&old) {
        return Ok(false);
    }
    let (heads, old_heads) = (new.branches(), old.branches());
    if heads.is_empty() || heads.len() != old_heads.len() {
        return Ok(false);
    }
    let reached = new.with_each(heads.iter(), "reachable true;");
    if reached.map(|texts| check(&texts)).transpose()?.flatten() != Some(Verdict::Vacuous) {
        return Ok(false);
    }
    for (head, old_head) in heads.iter().zip(&old_heads) {
        let mut is_run = |side: &Side<'_>, head: &Span| {
            let texts = side.with_each([head], NEVER);
            Ok(match texts.map(|texts| check(&texts)).transpose()?.flatten() {
                Some(Verdict::Violated) => Some(true),
                Some(Verdict::Proved | Verdict::ProvedUpToBound) => Some(false),
                _ => None,
            })
        };
        if is_run(&new, head)? == Some(false) && is_run(&old, old_head)? == Some(true) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A text and its statements.
struct Side<'a> {
    texts: &'a Texts,
    syntax: Syntax,
}

impl Side<'_> {
    fn sources(&self) -> &SourceMap {
        self.texts.sources()
    }

    /// An instruction without what orders it, and its operands.
    fn shape(&self, instruction: &Instruction) -> (String, Vec<&str>) {
        const ORDER: &[&str] = &[
            "weak", "volatile", "relaxed", "acquire", "release", "acq_rel", "sc", "cta", "cluster", "gpu",
            "sys",
        ];
        let tokens = instruction.opcode.split('.').filter(|token| !ORDER.contains(token));
        let operands = instruction.operands.iter().map(|&operand| self.sources().text(operand));
        (tokens.collect::<Vec<_>>().join("."), operands.collect())
    }

    fn has_like(&self, shape: &(String, Vec<&str>)) -> bool {
        self.syntax.instructions.iter().any(|own| self.shape(own) == *shape)
    }

    /// The names whose values the other side does not have.
    fn other_names(&self, old: &Side<'_>) -> Vec<&str> {
        let value = |side: &Side<'_>, of: &Binding| side.sources().text(of.value).to_owned();
        let is_known = |own: &&Binding| {
            old.syntax.bindings.iter().any(|of| of.name == own.name && value(old, of) == value(self, own))
        };
        let new = self.syntax.bindings.iter().filter(|own| !is_known(own));
        new.map(|own| own.name.as_str()).collect()
    }

    /// The statements that wait, and that the other side has otherwise or not at all.
    fn touched_waits(&self, old: &Side<'_>) -> Vec<Span> {
        let names = self.other_names(old);
        let is_touched = |node: usize| {
            let of = self.syntax.nodes[node].span;
            let mut inside = self.syntax.inside(node);
            super::barrier::names(self.sources().text(of), &names)
                || inside.any(|instruction| !old.has_like(&self.shape(instruction)))
        };
        let is_wait = |node: &usize| {
            let of = &self.syntax.nodes[*node];
            let is_library = self.texts.is_library(of.span.file);
            let text = self.sources().text(of.span);
            let repeats =
                text.starts_with("await ") || of.kind == NodeKind::Loop && text.starts_with("while ");
            let mut inside = self.syntax.inside(*node).peekable();
            !is_library && repeats && inside.peek().is_some() && inside.all(only_looks)
        };
        let waits = (0..self.syntax.nodes.len()).filter(is_wait).filter(|&node| is_touched(node));
        waits.take(ASKED_MAX).map(|node| self.syntax.nodes[node].span).collect()
    }

    /// Whether something that is no synchronization has other operands, or does another operation.
    fn has_other_numbers(&self, old: &Side<'_>) -> bool {
        let mut data = self.syntax.instructions.iter().filter(|own| !own.synchronizes());
        !self.other_names(old).is_empty() || data.any(|own| !old.has_like(&self.shape(own)))
    }

    /// The first statement of each part of each branch, but of those that are to be run never.
    fn branches(&self) -> Vec<Span> {
        let nodes = self.syntax.nodes.iter();
        let firsts = nodes.filter(|node| {
            let around = node.parent.map(|parent| &self.syntax.nodes[parent]);
            let is_part = around.is_some_and(|around| matches!(around.kind, NodeKind::Branch { .. }));
            let before = &self.sources().file(node.span.file).text[..node.span.start as usize];
            is_part && node.is_first() && !before.trim_end().ends_with("else")
        });
        let of_branch = |span: Span| {
            let node = self.syntax.node_around(span)?;
            let (siblings, _) = self.syntax.siblings(node);
            Some(
                siblings
                    .iter()
                    .map(|&at| self.sources().text(self.syntax.nodes[at].span))
                    .collect::<String>(),
            )
        };
        let spans = firsts.map(|node| node.span).filter(|span| !self.texts.is_library(span.file));
        spans
            .filter(|&span| of_branch(span).is_some_and(|text| !text.contains(NEVER)))
            .take(ASKED_MAX)
            .collect()
    }

    /// The text with a statement before each of these.
    fn with_each<'s>(&self, heads: impl IntoIterator<Item = &'s Span>, text: &str) -> Option<Texts> {
        let edits = heads.into_iter().map(|&head| Edit::insert(self.sources(), head, false, text));
        self.texts.changed(&edits.collect::<Vec<_>>())
    }
}

/// Whether an instruction tells what others did, and does nothing itself that they could see.
fn only_looks(instruction: &Instruction) -> bool {
    let opcode = instruction.opcode.as_str();
    opcode.starts_with("ld.") || opcode.starts_with("mbarrier.") && opcode.contains("_wait")
}
