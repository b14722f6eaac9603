//! Whether a change mends what was found, or only keeps it from being seen.
//!
//! A finding is gone as well where a wait was made to pass at once, or where what fails is reached no more. Both are asked
//! of the program with the change: without a wait that the change touches, more has to be wrong than with it, or the wait
//! waits for nothing; the same without the arrivals at an mbarrier that is initialised otherwise; and what was run before has
//! to be run still: each branch, for a change of a number, and each access, where a hang stays or a branch depends on
//! something else.
//! Cannot: ask this of waits whose result is used, which cannot be left out, and of branches in functions of the library.

use super::edit::Edit;
use super::handed::{HANDED_MAX, Handed, Sees};
use super::key::Key;
use super::places::names;
use super::shares;
use super::syntax::{Binding, Instruction, NodeKind, Syntax};
use super::taken_back;
use super::text::Texts;
use super::written;
use crate::check::CheckError;
use crate::event::EventGraph;
use crate::verdict::{Property, Verdict};
use fencepost_dsl::kernel::isa::strength::is_sem;
use fencepost_dsl::sorted::SortedSet;
use fencepost_dsl::vocabulary::Scope;
use fencepost_dsl::{SourceMap, Span};

/// Waits that a change touches, and branches and accesses, of which that is asked.
const ASKED_MAX: usize = 8;

/// What a branch holds that should never be run.
const NEVER: &str = "assert false;";

/// What is wrong with a text, as far as it is settled.
pub struct Wrong {
    /// The worst.
    pub verdict: Verdict,
    /// All that was found.
    pub keys: SortedSet<Key>,
}

/// Of which launches something is asked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Where {
    /// Of that in which something was found.
    Here,
    /// Of all that the change was checked for.
    Everywhere,
}

/// Says what is wrong with a text.
pub type Check<'a> = &'a mut dyn FnMut(&Texts, Where) -> Result<Option<Wrong>, CheckError>;

/// A text, and what was found in it.
pub type Found<'a> = (&'a Texts, &'a SortedSet<Key>);

/// The events of a launch, in two texts.
pub type Events = (EventGraph, EventGraph);

/// Whether a change of `before` to `after`, with which less is wrong, only hides what was found, takes away what should be
/// handed over, or keeps threads from meeting where they met, as far as their `events` are known. `check` says what is wrong
/// with a text, or nothing if it is none or not all is told.
///
/// # Errors
/// Those of `check`.
pub fn only_hides(
    ((before, found), (after, left)): (Found<'_>, Found<'_>),
    events: Option<&Events>,
    handed: &[Handed],
    kernel: Option<&str>,
    check: Check<'_>,
) -> Result<bool, CheckError> {
    let mut wrong = |texts: Option<Texts>, place| match texts {
        Some(texts) => check(&texts, place),
        None => Ok(None),
    };
    let is_settled = |verdict: Verdict| verdict.is_proof() || verdict == Verdict::Violated;
    let old = Side { texts: before, syntax: Syntax::new(before.sources(), kernel) };
    let new = Side { texts: after, syntax: Syntax::new(after.sources(), kernel) };
    if let Some((of_old, of_new)) = events
        && shares::parts((old.sources(), &old.syntax, of_old), (new.sources(), &new.syntax, of_new))
    {
        return Ok(true);
    }
    if events
        .is_some_and(|(of_old, of_new)| taken_back::less(of_old, of_new) || written::less(of_old, of_new))
    {
        return Ok(true);
    }
    let (waited, waits) = (old.waited_for(), new.waited_for());
    // What is waited for by a name may be any element.
    let is_named = |object: &str| waits.iter().any(|(name, number)| *name == object && number.is_none());
    if waited.iter().any(|element| !waits.contains(element) && !is_named(element.0)) {
        return Ok(true);
    }
    for span in new.touched_waits(&old) {
        let without = after.changed(&[Edit::removed(after.sources(), span)]);
        let without = wrong(without, Where::Everywhere)?;
        if without.is_some_and(|without| is_settled(without.verdict) && without.keys.is_subset(left)) {
            return Ok(true);
        }
    }
    for arrivals in new.arrivals_counted_otherwise(&old) {
        let edits: Vec<Edit> = arrivals.iter().map(|&span| Edit::removed(after.sources(), span)).collect();
        let without = wrong(after.changed(&edits), Where::Here)?;
        if without.is_some_and(|without| is_settled(without.verdict) && without.keys.is_subset(left)) {
            return Ok(true);
        }
    }
    for handed in handed.iter().take(HANDED_MAX) {
        let fails = |wrong: Option<Wrong>, known: &SortedSet<Key>| {
            let wrong = wrong.filter(|wrong| is_settled(wrong.verdict))?;
            Some(wrong.keys.difference(known).any(|key| key.0 == Property::Assert))
        };
        let now = fails(wrong(handed.asked(after, &new.syntax), Where::Here)?, left);
        let is_lost = match handed.sees {
            Sees::Always | Sees::InTurn(_) => now == Some(true),
            Sees::Sometimes => {
                now == Some(false)
                    && fails(wrong(handed.asked(before, &old.syntax), Where::Here)?, found) == Some(true)
            }
        };
        if is_lost {
            return Ok(true);
        }
    }
    let mut places: Vec<(Span, Span)> = Vec::new();
    // Threads that hang earlier than before race no more, nor do those that leave where they went on.
    if left.iter().any(|key| key.0 == Property::Deadlock) || new.has_other_conditions(&old) {
        places.extend(new.accesses_in(&old));
    }
    if new.has_other_numbers(&old) {
        let (heads, old_heads) = (new.branches(), old.branches());
        if heads.len() == old_heads.len() {
            places.extend(heads.into_iter().zip(old_heads));
        }
    }
    if places.is_empty() {
        return Ok(false);
    }
    if left.is_empty() {
        // One check tells of all of them that they are run, as they mostly are.
        let reached =
            wrong(new.with_each(places.iter().map(|(own, _)| own), "reachable true;"), Where::Here)?;
        if reached.is_none_or(|reached| reached.verdict != Verdict::Vacuous) {
            return Ok(false);
        }
    }
    for (own, other) in &places {
        let mut is_run = |side: &Side<'_>, place: &Span, known: &SortedSet<Key>| {
            let wrong = wrong(side.with_each([place], NEVER), Where::Here)?;
            let fails = |wrong: &Wrong| wrong.keys.difference(known).any(|key| key.0 == Property::Assert);
            Ok(wrong.filter(|wrong| is_settled(wrong.verdict)).map(|wrong| fails(&wrong)))
        };
        let now = is_run(&new, own, left)?;
        // What decides who goes where has to be seen to let them get there.
        let is_lost =
            now == Some(false) || now.is_none() && !left.is_empty() && new.has_other_conditions(&old);
        // A launch in which more goes wrong than is looked for says nothing of what it runs.
        if is_lost && is_run(&old, other, found)?.unwrap_or(!left.is_empty()) {
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
        let orders = |token: &&str| is_sem(token) || Scope::from_name(token).is_some();
        let tokens = instruction.opcode.split('.').filter(|token| !orders(token));
        let operands = instruction.operands.iter().map(|&operand| self.sources().text(operand));
        (tokens.collect::<Vec<_>>().join("."), operands.collect())
    }

    fn has_like(&self, shape: &(String, Vec<&str>)) -> bool {
        self.syntax.instructions.iter().any(|own| self.shape(own) == *shape)
    }

    /// The names whose values the other side does not have.
    fn other_names(&self, old: &Side<'_>) -> Vec<&str> {
        let value = |side: &Side<'_>, of: &Binding| side.sources().text(of.value).to_owned();
        let is_known = |known: &[Binding], own: &Binding| {
            known.iter().any(|of| of.name == own.name && value(old, of) == value(self, own))
        };
        let (own, before) = (&self.syntax, &old.syntax);
        let new = own.bindings.iter().filter(|own| !is_known(&before.bindings, own));
        let assigned = own.assigned.iter().filter(|own| !is_known(&before.assigned, own));
        new.chain(assigned).map(|own| own.name.as_str()).collect()
    }

    /// The statements that wait, and that the other side has otherwise or not at all.
    fn touched_waits(&self, old: &Side<'_>) -> Vec<Span> {
        let others = self.other_names(old);
        let is_touched = |node: usize| {
            let of = self.syntax.nodes[node].span;
            let mut inside = self.syntax.inside(node);
            names(self.sources().text(of), &others)
                || inside.any(|instruction| !old.has_like(&self.shape(instruction)))
                || {
                    let own = self.compared(node);
                    !(0..old.syntax.nodes.len()).any(|other| old.compared(other) == own)
                }
        };
        // Of functions that wait and do nothing else, the calls.
        let is_call = |node: &usize| {
            let acts = self.syntax.acts(*node);
            let text = self.sources().text(self.syntax.nodes[*node].span);
            let has_same = |other: &super::syntax::Node| old.sources().text(other.span) == text;
            self.syntax.is_handover(*node)
                && acts.iter().all(|act| act.only_looks())
                && !old.syntax.nodes.iter().any(has_same)
        };
        let is_wait = |node: &usize| {
            let of = &self.syntax.nodes[*node];
            let is_library = self.texts.is_library(of.span.file);
            let text = self.sources().text(of.span);
            let repeats =
                text.starts_with("await ") || of.kind == NodeKind::Loop && text.starts_with("while ");
            let mut inside = self.syntax.inside(*node).peekable();
            !is_library && repeats && inside.peek().is_some() && inside.all(Instruction::only_looks)
        };
        let nodes = 0..self.syntax.nodes.len();
        let waits = nodes.filter(|node| is_call(node) || is_wait(node) && is_touched(*node));
        waits.take(ASKED_MAX).map(|node| self.syntax.nodes[node].span).collect()
    }

    /// The arrivals at each mbarrier that is waited for and initialised otherwise than on the other side.
    fn arrivals_counted_otherwise(&self, old: &Side<'_>) -> Vec<Vec<Span>> {
        let syntax = &self.syntax;
        let at = |own: &Instruction, object: &str| own.objects.iter().any(|named| named == object);
        let is_other =
            |own: &&Instruction| own.opcode.starts_with("mbarrier.init") && !old.has_like(&self.shape(own));
        let objects: SortedSet<&str> = syntax
            .instructions
            .iter()
            .filter(is_other)
            .flat_map(|own| own.objects.iter().map(String::as_str))
            .collect();
        let arrivals = |object: &&str| {
            let own = syntax.instructions.iter().filter(|own| at(own, object));
            let own = own.filter(|own| own.opcode.starts_with("mbarrier.arrive"));
            let nodes: SortedSet<usize> = own.map(|own| own.node).collect();
            nodes.into_iter().map(|node| syntax.nodes[node].span).collect::<Vec<Span>>()
        };
        let is_waited_for = |object: &&str| {
            syntax.instructions.iter().any(|own| own.opcode.contains("_wait") && at(own, object))
        };
        let of_each = objects.into_iter().filter(is_waited_for).map(|object| arrivals(&object));
        of_each.filter(|arrivals| !arrivals.is_empty()).take(ASKED_MAX).collect()
    }

    /// A statement without its instructions: what is asked of their values.
    fn compared(&self, node: usize) -> String {
        let span = self.syntax.nodes[node].span;
        let (text, start) = (self.sources().text(span), span.start as usize);
        let mut inside: Vec<Span> = self.syntax.inside(node).map(|own| own.span).collect();
        inside.sort_unstable();
        let (mut rest, mut from) = (String::new(), 0);
        for own in inside {
            let (first, last) = (own.start as usize - start, own.end as usize - start);
            rest.push_str(text.get(from..first).unwrap_or_default());
            from = last.max(from);
        }
        rest + text.get(from..).unwrap_or_default()
    }

    /// The elements of mbarriers and groups that are waited for, by their numbers if they are named by such.
    fn waited_for(&self) -> SortedSet<(&str, Option<u32>)> {
        let is_wait =
            |own: &&Instruction| own.opcode.contains("_wait") && !self.texts.is_library(own.span.file);
        let waits = self.syntax.instructions.iter().filter(is_wait);
        let elements = waits.flat_map(|own| &own.memory).filter_map(|memory| {
            let index = self.sources().text(*memory.indices.last()?).trim();
            Some((memory.name.as_str(), index.parse::<u32>().ok()))
        });
        elements.collect()
    }

    /// What branches depend on.
    fn conditions(&self) -> SortedSet<&str> {
        let of = |kind: NodeKind| match kind {
            NodeKind::Branch { condition } => Some(self.sources().text(condition)),
            _ => None,
        };
        self.syntax.nodes.iter().filter_map(|node| of(node.kind)).collect()
    }

    /// Whether something that is no synchronization has other operands, or does another operation, or who does it depends on
    /// something else.
    fn has_other_numbers(&self, old: &Side<'_>) -> bool {
        let mut data = self.syntax.instructions.iter().filter(|own| !own.synchronizes());
        !self.other_names(old).is_empty()
            || data.any(|own| !old.has_like(&self.shape(own)))
            || self.has_other_conditions(old)
    }

    /// Whether some branch depends on something that none did.
    fn has_other_conditions(&self, old: &Side<'_>) -> bool {
        let known = old.conditions();
        self.conditions().iter().any(|condition| !known.contains(condition))
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

    /// Statements that access memory and do nothing else, which the other side has as well, and where there; whatever orders
    /// them here.
    fn accesses_in(&self, old: &Side<'_>) -> Vec<(Span, Span)> {
        let plain = |own: &Instruction| !own.synchronizes();
        let (own, mut others) = (self.accesses(|_| true), old.accesses(plain));
        let with_other = |node: usize| {
            let shapes = self.shapes(node);
            let at = others.iter().position(|&other| old.shapes(other) == shapes)?;
            Some((self.syntax.nodes[node].span, old.syntax.nodes[others.remove(at)].span))
        };
        own.into_iter().filter_map(with_other).take(ASKED_MAX).collect()
    }

    /// A statement without what orders its instructions.
    fn shapes(&self, node: usize) -> (String, Vec<(String, Vec<&str>)>) {
        (self.compared(node), self.syntax.inside(node).map(|own| self.shape(own)).collect())
    }

    fn accesses(&self, is_meant: impl Fn(&Instruction) -> bool) -> Vec<usize> {
        let is_access = |&node: &usize| {
            let of = &self.syntax.nodes[node];
            let mut inside = self.syntax.inside(node).peekable();
            of.kind == NodeKind::Plain
                && !self.texts.is_library(of.span.file)
                && !self.sources().text(of.span).starts_with("await ")
                && inside.peek().is_some()
                && inside.all(|own| is_meant(own) && !own.memory.is_empty())
        };
        (0..self.syntax.nodes.len()).filter(is_access).collect()
    }

    /// The text with a statement before each of these.
    fn with_each<'s>(&self, heads: impl IntoIterator<Item = &'s Span>, text: &str) -> Option<Texts> {
        let edits = heads.into_iter().map(|&head| Edit::insert(self.sources(), head, false, text));
        self.texts.changed(&edits.collect::<Vec<_>>())
    }
}
