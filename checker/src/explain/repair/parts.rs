//! A kernel that was compiled: its labels and instructions in order, and the places between lines of its source.

use fencepost_dsl::kernel::isa::form_of;
use fencepost_dsl::ptx::module::{Function, Instruction, Item};
use fencepost_dsl::sorted::SortedMap;
use fencepost_dsl::{FileId, SourceMap, Span};
use std::ops::Range;

/// Lines of the source between what was found and where something is put in.
const REACH: usize = 6;

/// What makes a place unlikely.
mod rank {
    /// For each line between.
    pub(super) const LINE: u32 = 3;
    /// Within a line, where only the PTX can be changed.
    pub(super) const WITHIN: u32 = 8;
    /// For a line that is in several pieces: the source has no place between them.
    pub(super) const IN_PIECES: u32 = 4;
}

/// A kernel that was compiled: its labels and instructions, in order.
#[derive(Debug)]
pub struct Compiled {
    /// Its text.
    pub file: FileId,
    /// What it consists of.
    parts: Vec<Part>,
    /// The parts from one line of the source on to the next.
    runs: Vec<Range<usize>>,
    /// The parts from a label to a jump back to it.
    loops: Vec<Range<usize>>,
}

/// A label or an instruction.
#[derive(Debug)]
struct Part {
    /// With the semicolon.
    span: Span,
    /// Where the source has it.
    line: Option<(String, u32)>,
    /// Whether that is of a function that was put in where another line calls it.
    is_called: bool,
    /// Whether it jumps, under a condition or not.
    jumps: bool,
    /// Whether it acts whenever control gets there.
    always_acts: bool,
    /// The opcode of one that acts.
    opcode: Option<String>,
    kind: PartKind,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum PartKind {
    Label,
    /// What comes behind it is not run after it.
    Leaves,
    /// Computes with registers, or jumps under a condition.
    Computes,
    /// Anything else.
    Acts,
}

/// Where something is put in: beside an instruction, and on which side of it.
pub type Gap = (Span, bool);

impl Compiled {
    /// A kernel of a module; `each` is told of instructions that do more than compute, and whether a stretch begins there.
    pub fn of(
        sources: &SourceMap,
        file: FileId,
        entry: &Function,
        mut each: impl FnMut(Span, &Instruction, bool),
    ) -> Self {
        let text = &sources.file(file).text;
        let mut parts: Vec<Part> = Vec::new();
        let mut begins = true;
        for item in &entry.body {
            let part = |span: Span, kind: PartKind, opcode: Option<String>, (jumps, always_acts)| {
                let origin = sources.origin(span);
                let line = origin.map(|origin| (origin.name.clone(), origin.line));
                Part {
                    span,
                    line,
                    is_called: origin.is_some_and(|origin| origin.is_called),
                    jumps,
                    always_acts,
                    opcode,
                    kind,
                }
            };
            match item {
                Item::Label(name) => {
                    parts.push(part(name.span, PartKind::Label, None, (false, false)));
                    begins = true;
                }
                Item::Targets { .. } => {}
                Item::Instruction(own) => {
                    let rest = text.get(own.span.end as usize..).unwrap_or("");
                    let blanks = rest.len() - rest.trim_start().len();
                    let ends = if rest.trim_start().starts_with(';') { blanks + 1 } else { 0 };
                    let span = Span::new(file, own.span.start as usize, own.span.end as usize + ends);
                    let jumps = ["bra", "brx", "ret", "exit", "trap"].contains(&mnemonic(&own.opcode.text));
                    let acts = form_of(&own.opcode.text).is_some() && mnemonic(&own.opcode.text) != "mov";
                    let kind = match (jumps && own.guard.is_none(), acts) {
                        (true, _) => PartKind::Leaves,
                        (false, true) => PartKind::Acts,
                        (false, false) => PartKind::Computes,
                    };
                    if acts {
                        each(span, own, begins);
                    }
                    begins = jumps || begins && !acts;
                    let opcode = (kind == PartKind::Acts).then(|| own.opcode.text.clone());
                    parts.push(part(span, kind, opcode, (jumps, acts && own.guard.is_none())));
                }
            }
        }
        let runs = runs(&parts);
        let loops = loops(&parts, text);
        Self { file, parts, runs, loops }
    }

    /// Whether a place is in a loop that two others are not both in.
    pub fn is_in_other_rounds(&self, gap: usize, ends: [usize; 2]) -> bool {
        let is_in = |own: &&Range<usize>| own.start < gap && gap < own.end;
        self.loops.iter().filter(is_in).any(|own| !ends.iter().all(|end| own.contains(end)))
    }

    /// Where the part is that holds a place.
    pub fn part_at(&self, span: Span) -> Option<usize> {
        self.parts.iter().position(|part| part.span.holds(span))
    }

    /// The instructions that are run by whoever gets to a place: those between the labels and jumps around it that act.
    pub fn run_with(&self, (span, is_after): Gap) -> impl Iterator<Item = Span> + '_ {
        let at = self.part_at(span).map_or(0, |at| at + usize::from(is_after));
        let (before, behind) = self.parts.split_at(at.min(self.parts.len()));
        let is_edge = |part: &&Part| part.jumps || part.kind == PartKind::Label;
        let before = before.iter().rev().take_while(move |part| !is_edge(part));
        let behind = behind.iter().take_while(move |part| !is_edge(part));
        before.chain(behind).filter(|part| part.always_acts).map(|part| part.span)
    }

    fn line_of(&self, run: &Range<usize>) -> Option<&(String, u32)> {
        self.parts[run.clone()].iter().find_map(|part| part.line.as_ref())
    }

    /// The places between two runs: where each is put in beside, and whether the source has one there.
    fn gaps(&self, before: &Range<usize>, behind: &Range<usize>) -> Vec<Gap> {
        let is_label = |&at: &usize| self.parts[at].kind == PartKind::Label;
        let last = before.clone().rev().find(|at| !is_label(at));
        let first = behind.clone().find(|at| !is_label(at));
        let falls = last.filter(|&at| self.parts[at].kind != PartKind::Leaves);
        let has_label = match (last, first) {
            (Some(last), Some(first)) => last + 1 < first,
            _ => true,
        };
        let after = falls.map(|at| (self.parts[at].span, true));
        let ahead = first.map(|at| (self.parts[at].span, false));
        let is_called = |part: Option<usize>| part.is_some_and(|part| self.parts[part].is_called);
        match (ahead, after) {
            // Behind a label whoever comes there meets, before it only those who fall through.
            (Some(ahead), after) if has_label => std::iter::once(ahead).chain(after).collect(),
            // Rather beside a call than in the function.
            (Some(ahead), Some(_)) if is_called(last) && !is_called(first) => vec![ahead],
            (_, Some(after)) => vec![after],
            (ahead, None) => ahead.into_iter().collect(),
        }
    }

    /// The same place, or the nearest one at an edge of the line of the source.
    pub fn at_edge(&self, (span, is_after): Gap) -> Gap {
        let runs = &self.runs;
        let Some(part) = self.part_at(span) else { return (span, is_after) };
        let Some(at) = runs.iter().position(|run| run.contains(&part)) else { return (span, is_after) };
        let gaps = match (is_after, runs.get(at + 1), at.checked_sub(1)) {
            (true, Some(next), _) => self.gaps(&runs[at], next),
            (false, _, Some(before)) => self.gaps(&runs[before], &runs[at]),
            _ => Vec::new(),
        };
        gaps.iter()
            .copied()
            .find(|gap| gap.1 == is_after)
            .or(gaps.first().copied())
            .unwrap_or((span, is_after))
    }

    /// The parts of a run that act.
    fn acting(&self, run: &Range<usize>) -> impl Iterator<Item = &Part> {
        self.parts[run.clone()].iter().filter(|part| part.opcode.is_some())
    }

    /// Other runs in which the compiler has made the same of the same line: of a loop that it has unrolled, or a function that is
    /// called several times.
    fn copies(&self, own: &Range<usize>) -> impl Iterator<Item = &Range<usize>> {
        let made = |run: &Range<usize>| -> Vec<&str> {
            self.acting(run).filter_map(|part| part.opcode.as_deref()).collect()
        };
        let (line, of_it) = (self.line_of(own), made(own));
        let is_one = move |run: &&Range<usize>| {
            *run != own && line.is_some() && self.line_of(run) == line && made(run) == of_it
        };
        self.runs.iter().filter(is_one)
    }

    fn run_of(&self, span: Span) -> Option<usize> {
        let part = self.part_at(span)?;
        self.runs.iter().position(|run| run.contains(&part))
    }

    /// The same instruction in each other copy of its line.
    pub fn copies_of(&self, span: Span) -> Vec<Span> {
        let Some(own) = self.run_of(span).map(|at| &self.runs[at]) else { return Vec::new() };
        let at = self.acting(own).position(|part| part.span.holds(span));
        let copies = at.into_iter().flat_map(|at| self.copies(own).map(move |run| (at, run)));
        copies.filter_map(|(at, run)| Some(self.acting(run).nth(at)?.span)).collect()
    }

    /// The same place beside each other copy of the line that it is beside.
    pub fn copies_of_gap(&self, (span, is_after): Gap) -> Vec<Gap> {
        let own = self.run_of(span).map(|at| &self.runs[at]);
        let Some(own) = own.filter(|own| self.acting(own).next().is_some()) else { return Vec::new() };
        let is_label = |&at: &usize| self.parts[at].kind == PartKind::Label;
        let edge = |run: &Range<usize>| {
            let mut parts = run.clone().filter(|at| !is_label(at));
            let part = if is_after { parts.next_back() } else { parts.next() };
            part.map(|part| self.at_edge((self.parts[part].span, is_after)))
        };
        self.copies(own).filter_map(edge).collect()
    }

    /// Places near a part, with how unlikely each is.
    pub fn around(&self, part: usize) -> Vec<(u32, Gap)> {
        let runs = &self.runs;
        let Some(own) = runs.iter().position(|run| run.contains(&part)) else { return Vec::new() };
        let line = |run: usize| self.line_of(&runs[run]);
        let is_split = |run: usize| {
            line(run).is_some() && (0..runs.len()).any(|other| other != run && line(other) == line(run))
        };
        let span = self.parts[part].span;
        let mut found: Vec<(u32, Gap)> =
            [false, true].map(|is_after| (rank::WITHIN, (span, is_after))).to_vec();
        for distance in 0..REACH {
            // Between the run of this number and the next one.
            let edges = [own.checked_add(distance), own.checked_sub(distance + 1)];
            for first in edges.into_iter().flatten().filter(|first| first + 1 < runs.len()) {
                let far = u32::try_from(distance).unwrap_or(9) * rank::LINE;
                let split = if is_split(first) && is_split(first + 1) { rank::IN_PIECES } else { 0 };
                found.extend(
                    self.gaps(&runs[first], &runs[first + 1]).into_iter().map(|gap| (far + split, gap)),
                );
            }
        }
        found
    }
}

fn mnemonic(opcode: &str) -> &str {
    opcode.split('.').next().unwrap_or(opcode)
}

/// The parts from one line of the source on to the next; without lines, from one that acts to the next.
fn runs(parts: &[Part]) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    let mut line: Option<&(String, u32)> = None;
    for (at, part) in parts.iter().enumerate() {
        let is_new = match (&part.line, part.kind) {
            (_, PartKind::Label) => false,
            (Some(own), _) => line != Some(own),
            (None, kind) => kind == PartKind::Acts,
        };
        match runs.last_mut() {
            Some(last) if !is_new => last.end = at + 1,
            _ => runs.push(at..at + 1),
        }
        line = part.line.as_ref().or(line);
    }
    runs
}

/// The parts from each label to a jump back to it.
fn loops(parts: &[Part], text: &str) -> Vec<Range<usize>> {
    let text_of = |part: &Part| text.get(part.span.start as usize..part.span.end as usize).unwrap_or("");
    let mut labels: SortedMap<&str, usize> = SortedMap::new();
    let mut found = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        if part.kind == PartKind::Label {
            labels.insert(text_of(part), at);
        } else if part.jumps
            && let Some(&start) =
                text_of(part).trim_end_matches(';').split_whitespace().last().and_then(|to| labels.get(to))
        {
            found.push(start..at + 1);
        }
    }
    found
}
