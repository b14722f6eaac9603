//! The search of `relax`: what of a proved file is needed.
//!
//! A place is a fence, a barrier, a wait, of the host as well, or an instruction with a sem or scope. Each is weakened step
//! by step, alone, as long as all launches stay proved; the first steps that fail say why it is needed. Then the weakest
//! forms are put together, the most expensive places first, each kept only if everything is proved with it and those before.

use super::trial::{Answer, Failure, Setting, Trial};
use super::weaken::weaker;
use super::{cost, diff};
use crate::check::CheckError;
use crate::explain::repair::{Edit, EditKind, Instruction, NodeKind, Syntax, Texts};
use crate::report::failure::{Told, told_before};
use crate::verdict::{Outcome, Verdict};
use fencepost_dsl::sorted::SortedSet;
use fencepost_dsl::{SourceMap, Span};

/// Larger numbers of pending groups that are tried for a wait.
const GROUPS_MAX: u32 = 3;

/// What came of it.
pub enum Relax {
    /// The file is not proved as it is.
    Unproved(Vec<Failure>),
    /// What of it is needed.
    Done(Relaxed),
}

/// What of a file is needed.
pub struct Relaxed {
    /// In order of the text.
    pub places: Vec<PlaceReport>,
    /// The weakest texts that were found, all proved.
    pub after: Texts,
    /// Whether proofs are within the loop bound only.
    pub within_bound: bool,
    /// How many launches were checked.
    pub n_launches: usize,
    /// Texts tried.
    pub n_tried: usize,
    /// Whether the budget was used up before everything was tried.
    pub is_over: bool,
}

/// What a place is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum PlaceKind {
    /// Threads meet.
    Barrier,
    /// A thread waits, and accesses nothing by that; or the host, or a stream.
    Wait,
    /// A call of a function that orders or waits, and does nothing else.
    Call,
    /// An event of the host takes what a stream has been given.
    Record,
    /// A fence of any kind.
    Fence,
    /// An instruction with a sem or a scope.
    Access,
}

/// A place, and what it has to be.
pub struct PlaceReport {
    /// What it is.
    pub kind: PlaceKind,
    /// Where.
    pub span: Span,
    /// As it is written.
    pub text: String,
    /// In a function: the ways by which threads come to it, each as calls, outermost first.
    pub calls: Vec<Vec<Span>>,
    /// What is known of it.
    pub need: Need,
    /// What it is in the weakest texts; `None` if it is as it was. Empty if it is left out.
    pub together: Option<String>,
}

/// What is known of a place, all others being as they are.
pub enum Need {
    /// Everything is proved without it.
    Redundant,
    /// A weaker form is enough.
    Weaker {
        /// The weakest that was found.
        form: String,
        /// What each further step would allow.
        because: Vec<Because>,
    },
    /// It is needed as it is.
    Needed {
        /// What each step would allow.
        because: Vec<Because>,
    },
    /// The budget was used up before it was tried.
    Open,
}

/// Why a form is not enough.
pub struct Because {
    /// The form; empty for leaving it out.
    pub form: String,
    /// What it would allow; `None` where no answer came within the budget and the loop bound.
    pub finding: Option<Told>,
}

/// A form of a place, as a change of the text.
#[derive(Clone)]
struct Form {
    text: String,
    edit: Edit,
}

/// A place before it is tried.
struct Candidate {
    kind: PlaceKind,
    span: Span,
    text: String,
    /// Leaving it out.
    removal: Option<Edit>,
    steps: Steps,
}

/// How a place can be weakened without leaving it out.
enum Steps {
    /// Its opcode.
    Opcode(Span, String),
    /// Other texts for a part of it, one after the other, each weaker than the one before.
    Forms(Vec<Form>),
    /// Other texts for a part of it, one of them at most.
    Either(Vec<Form>),
}

impl Candidate {
    /// The forms one step below `form`, or below what is written.
    fn below(&self, sources: &SourceMap, form: Option<&Form>) -> Vec<Form> {
        match &self.steps {
            Steps::Opcode(span, opcode) => {
                let now = form.map_or(opcode, |form| &form.text);
                let of = |text: String| Form { edit: Edit::replace(sources, *span, text.clone()), text };
                weaker(now).into_iter().map(of).collect()
            }
            Steps::Forms(forms) => {
                let next = form.map_or(0, |form| {
                    forms.iter().position(|known| known.text == form.text).map_or(0, |at| at + 1)
                });
                forms.get(next).cloned().into_iter().collect()
            }
            Steps::Either(forms) => {
                if form.is_none() {
                    forms.clone()
                } else {
                    Vec::new()
                }
            }
        }
    }
}

/// Looks for what a proved file does not need.
///
/// # Errors
/// See [`CheckError`].
pub fn relax(texts: &Texts, setting: Setting<'_>) -> Result<Relax, CheckError> {
    let mut trial = Trial::new(setting);
    let (proved, failures) = trial.first(texts, crate::check::FINDINGS_MAX)?;
    if !failures.is_empty() {
        return Ok(Relax::Unproved(failures));
    }
    let ways = ways(&proved);
    let candidates = candidates(texts.sources(), &proved, &ways);
    let within_bound = proved.iter().any(|outcome| outcome.verdict == Verdict::ProvedUpToBound);
    let mut search = Search { trial, texts, within_bound };
    let mut needs = Vec::new();
    for candidate in &candidates {
        needs.push(search.need(candidate)?);
    }
    let (together, after) = search.together(&candidates, &needs)?;
    let is_over = search.trial.is_over() || needs.iter().any(|(need, _)| matches!(need, Need::Open));
    let reports = candidates.into_iter().zip(needs).zip(together);
    // Of what has no weaker form that is legal there is nothing to say.
    let has_answer = |need: &Need| !matches!(need, Need::Needed { because } if because.is_empty());
    let reports = reports.filter(|((_, (need, _)), _)| has_answer(need));
    let places = reports.map(|((candidate, (need, _)), together)| {
        let Candidate { kind, span, text, .. } = candidate;
        // A statement is come to as what stands in it is.
        let inside = ways.iter().filter(|(site, _)| span.holds(*site));
        let calls: SortedSet<&Vec<Span>> = inside.map(|(_, calls)| calls).collect();
        PlaceReport { kind, span, text, calls: calls.into_iter().cloned().collect(), need, together }
    });
    Ok(Relax::Done(Relaxed {
        places: places.collect(),
        after,
        within_bound,
        n_launches: proved.len(),
        n_tried: search.trial.n_tried,
        is_over,
    }))
}

/// The instructions in functions that some launch executes, with the calls by which it comes to them.
fn ways(proved: &[Outcome]) -> SortedSet<(Span, Vec<Span>)> {
    let events = proved.iter().flat_map(|outcome| {
        let sites = &outcome.graph.sites;
        outcome.graph.events.iter().filter_map(|event| Some((sites[event.site?].span, event.calls.clone())))
    });
    events.filter(|(_, calls)| !calls.is_empty()).collect()
}

struct Search<'a> {
    trial: Trial<'a>,
    texts: &'a Texts,
    /// Whether the file is proved within the loop bound only. If not, no text that is counts as good as it.
    within_bound: bool,
}

/// Leaving a place out (an empty text), and forms on the way there, the weakest first.
type Ways = Vec<Form>;

impl Search<'_> {
    fn need(&mut self, candidate: &Candidate) -> Result<(Need, Ways), CheckError> {
        if self.trial.is_over() {
            return Ok((Need::Open, Vec::new()));
        }
        let mut ways: Ways = Vec::new();
        let mut last = Vec::new();
        let removal = candidate.removal.iter().map(|edit| Form { text: String::new(), edit: edit.clone() });
        let removal: Vec<Form> = removal.collect();
        let mut is_redundant = false;
        for form in &removal {
            match self.fails(std::slice::from_ref(&form.edit))? {
                Fails::No => is_redundant = true,
                Fails::Illegal => {}
                Fails::Told(finding) => last.push(Because { form: String::new(), finding }),
            }
        }
        if is_redundant {
            // On the way there, for when it cannot go together with others.
            let mut at: Option<Form> = None;
            while let Some(less) = candidate.below(self.texts.sources(), at.as_ref()).into_iter().next() {
                ways.insert(0, less.clone());
                at = Some(less);
            }
            ways.splice(0..0, removal);
            return Ok((Need::Redundant, ways));
        }
        let (form, mut because) = self.weakest(candidate, &mut ways)?;
        if because.is_empty() {
            because = last;
        }
        Ok(match form {
            Some(form) => (Need::Weaker { form: form.text, because }, ways),
            // What was not answered says nothing about the place.
            None if !because.is_empty() && because.iter().all(|reason| reason.finding.is_none()) => {
                (Need::Open, Vec::new())
            }
            None => (Need::Needed { because }, ways),
        })
    }

    /// The weakest form by which the place can be replaced alone, and what each further step would allow. The forms on the
    /// way there are added to `ways`, the weakest first.
    fn weakest(
        &mut self,
        candidate: &Candidate,
        ways: &mut Ways,
    ) -> Result<(Option<Form>, Vec<Because>), CheckError> {
        let mut form: Option<Form> = None;
        loop {
            let mut because = Vec::new();
            let mut next = None;
            for less in candidate.below(self.texts.sources(), form.as_ref()) {
                match self.fails(std::slice::from_ref(&less.edit))? {
                    Fails::No => {
                        next = Some(less);
                        break;
                    }
                    Fails::Illegal => {}
                    Fails::Told(finding) => because.push(Because { form: less.text, finding }),
                }
            }
            let Some(less) = next else { return Ok((form, because)) };
            ways.insert(0, less.clone());
            form = Some(less);
        }
    }

    /// The weakest forms that go together, and the texts with them.
    fn together(
        &mut self,
        candidates: &[Candidate],
        needs: &[(Need, Ways)],
    ) -> Result<(Vec<Option<String>>, Texts), CheckError> {
        let mut chosen: Vec<Option<Form>> = vec![None; candidates.len()];
        let mut order: Vec<usize> = (0..candidates.len()).filter(|&i| !needs[i].1.is_empty()).collect();
        order.sort_by_key(|&i| {
            (candidates[i].kind, std::cmp::Reverse(cost::of_statement(&candidates[i].text)), i)
        });
        for i in order {
            for form in &needs[i].1 {
                let mut edits: Vec<Edit> = chosen.iter().flatten().map(|form| form.edit.clone()).collect();
                if edits.iter().any(|edit| edit.overlaps(&form.edit)) {
                    continue;
                }
                // Alone it was tried before.
                let is_first = edits.is_empty();
                edits.push(form.edit.clone());
                if is_first && !matches!(needs[i].0, Need::Open) && form.text == needs[i].1[0].text
                    || matches!(self.fails(&edits)?, Fails::No)
                {
                    chosen[i] = Some(form.clone());
                    break;
                }
            }
        }
        let edits: Vec<Edit> = chosen.iter().flatten().map(|form| form.edit.clone()).collect();
        let after = self.texts.changed(&edits).unwrap_or_else(|| self.texts.again());
        let after = diff::tidied(self.texts.sources(), &after);
        Ok((chosen.into_iter().map(|form| form.map(|form| form.text)).collect(), after))
    }

    fn fails(&mut self, edits: &[Edit]) -> Result<Fails, CheckError> {
        if self.trial.is_over() {
            return Ok(Fails::Told(None));
        }
        let Some(changed) = self.texts.changed(edits) else { return Ok(Fails::Illegal) };
        Ok(match self.trial.answer(&changed, 1, None)? {
            Answer::Holds { within_bound } if within_bound && !self.within_bound => Fails::Told(None),
            Answer::Holds { .. } => Fails::No,
            Answer::Fails(failure) => Fails::Told(told_before(&failure, self.texts.sources(), edits)),
            Answer::Open(failure) if failure.outcome.limit.is_none() => {
                Fails::Told(told_before(&failure, self.texts.sources(), edits))
            }
            Answer::Open(_) => Fails::Told(None),
            Answer::NoProgram => Fails::Illegal,
        })
    }
}

/// What a changed text is.
enum Fails {
    /// All is proved.
    No,
    /// It is no program.
    Illegal,
    /// It is not proved, for this reason; `None` where no answer came within the budget.
    Told(Option<Told>),
}

/// The places that some launch executes, in order of the text.
fn candidates(
    sources: &SourceMap,
    proved: &[Outcome],
    ways: &SortedSet<(Span, Vec<Span>)>,
) -> Vec<Candidate> {
    let syntax = Syntax::of_text(sources);
    let sites = proved.iter().flat_map(|outcome| outcome.graph.sites.iter());
    let executed: SortedSet<Span> = sites.map(|site| site.span).collect();
    let is_come_to = |node: usize| {
        ways.iter().any(|(_, calls)| calls.iter().any(|call| syntax.nodes[node].span.holds(*call)))
    };
    let mut found = Vec::new();
    for instruction in syntax.instructions.iter().filter(|instruction| executed.contains(&instruction.span)) {
        found.extend(of_instruction(sources, &syntax, instruction));
    }
    for (node, of) in syntax.nodes.iter().enumerate() {
        if of.kind == NodeKind::Declaration {
            found.extend(of_host(sources, of.span));
            continue;
        }
        if syntax.is_synchronizing_call(node) && is_come_to(node) {
            found.push(of_call(sources, of.span));
        }
        let mut inside = syntax.inside(node);
        if inside.any(|instruction| executed.contains(&instruction.span)) {
            found.extend(match of.kind {
                NodeKind::Plain => of_await(sources, &syntax, node),
                NodeKind::Loop => of_loop(sources, &syntax, node),
                _ => None,
            });
        }
    }
    found.extend(cluster_barriers(sources, &syntax, &executed));
    found.sort_by_key(|candidate| (candidate.span, candidate.kind));
    found
}

/// The kind of an instruction that accesses no data.
fn kind_of(opcode: &str) -> Option<PlaceKind> {
    let starts = |words: &[&str]| words.iter().any(|word| opcode.starts_with(word));
    if starts(&["bar.", "barrier.", "BAR."]) {
        Some(PlaceKind::Barrier)
    } else if starts(&["fence.", "membar.", "tcgen05.fence", "wgmma.fence", "MEMBAR", "CCTL"]) {
        Some(PlaceKind::Fence)
    } else if starts(&[
        "cp.async.wait",
        "cp.async.bulk.wait",
        "wgmma.wait",
        "tcgen05.wait",
        "griddepcontrol.wait",
    ]) {
        Some(PlaceKind::Wait)
    } else {
        None
    }
}

fn of_instruction(sources: &SourceMap, syntax: &Syntax, instruction: &Instruction) -> Option<Candidate> {
    let statement = syntax.nodes[instruction.node].span;
    let is_alone =
        sources.text(statement).trim_end_matches(';').trim() == sources.text(instruction.span).trim();
    let opcode = instruction.opcode.as_str();
    let (kind, removal) = match kind_of(opcode) {
        Some(kind) if is_alone => (kind, Some(Edit::removed(sources, statement))),
        Some(_) => return None,
        None => (PlaceKind::Access, None),
    };
    let groups = instruction.operands.first().filter(|_| opcode.contains("wait_group"));
    let steps = match groups.and_then(|&span| Some((span, sources.text(span).trim().parse::<u32>().ok()?))) {
        Some((span, now)) => Steps::Forms(
            (now + 1..=now + GROUPS_MAX)
                .map(|n| Form {
                    text: format!("{opcode} {n}"),
                    edit: Edit::replace(sources, span, n.to_string()),
                })
                .collect(),
        ),
        None => Steps::Opcode(instruction.opcode_span, opcode.to_owned()),
    };
    let text = sources.text(instruction.span).to_owned();
    let candidate = Candidate { kind, span: instruction.span, text, removal, steps };
    let can_be_less = candidate.removal.is_some() || !candidate.below(sources, None).is_empty();
    can_be_less.then_some(candidate)
}

/// A wait for a condition, unless it writes: then it is more than a wait.
fn of_await(sources: &SourceMap, syntax: &Syntax, node: usize) -> Option<Candidate> {
    let span = syntax.nodes[node].span;
    let text = sources.text(span);
    let condition = text.strip_prefix("await ")?.trim_end_matches(';').trim();
    let writes = |instruction: &Instruction| {
        ["atom", "red", "multimem", "ATOM", "RED"].iter().any(|word| instruction.opcode.starts_with(word))
    };
    if syntax.inside(node).any(writes) {
        return None;
    }
    let removal = Some(Edit::removed(sources, span));
    let all = conjuncts(condition);
    let start = span.start as usize + text.find(condition)?;
    let whole = Span::new(span.file, start, start + condition.len());
    let steps = if all.len() > 1 {
        let without = |i: usize| {
            let rest: Vec<&str> = (0..all.len()).filter(|&other| other != i).map(|i| all[i]).collect();
            let rest = rest.join(" && ");
            Form { text: format!("await {rest}"), edit: Edit::replace(sources, whole, rest) }
        };
        (0..all.len()).map(without).collect()
    } else {
        Vec::new()
    };
    Some(Candidate {
        kind: PlaceKind::Wait,
        span,
        text: text.to_owned(),
        removal,
        steps: Steps::Either(steps),
    })
}

/// A call that is left out whole; what its function does is weakened there, for all calls together.
fn of_call(sources: &SourceMap, span: Span) -> Candidate {
    let text = sources.text(span).trim_end_matches(';').trim().to_owned();
    let steps = Steps::Forms(Vec::new());
    Candidate { kind: PlaceKind::Call, span, text, removal: Some(Edit::removed(sources, span)), steps }
}

/// A wait of the host, or of a stream for an event; or what records the event, which is of no use where nothing waits for it.
fn of_host(sources: &SourceMap, span: Span) -> Option<Candidate> {
    let text = sources.text(span).trim_end_matches(';').trim();
    let kind = match text.split_whitespace().next()? {
        "synchronize" | "wait" => PlaceKind::Wait,
        "record" => PlaceKind::Record,
        _ => return None,
    };
    let removal = Some(Edit::removed(sources, span));
    Some(Candidate { kind, span, text: text.to_owned(), removal, steps: Steps::Forms(Vec::new()) })
}

/// A loop that only looks, until something is so, and leaves nothing behind: a wait as well.
fn of_loop(sources: &SourceMap, syntax: &Syntax, node: usize) -> Option<Candidate> {
    let span = syntax.nodes[node].span;
    let text = sources.text(span);
    let ends = text.starts_with("while ") || text.starts_with("loop ") && text.contains("break;");
    let is_wait =
        ends && !syntax.leaves_something(node) && syntax.acts(node).into_iter().all(Instruction::only_looks);
    if !is_wait {
        return None;
    }
    Some(Candidate {
        kind: PlaceKind::Wait,
        span,
        text: text.split_whitespace().collect::<Vec<_>>().join(" "),
        removal: Some(Edit::removed(sources, span)),
        steps: Steps::Either(Vec::new()),
    })
}

/// The parts of a condition that all have to be true.
fn conjuncts(condition: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut from) = (Vec::new(), 0, 0);
    let bytes = condition.as_bytes();
    for at in 0..bytes.len() {
        match bytes[at] {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth -= 1,
            b'&' if depth == 0 && bytes.get(at + 1) == Some(&b'&') => {
                parts.push(condition[from..at].trim());
                from = at + 2;
            }
            // Of a disjunction no part alone has to be true.
            b'|' if depth == 0 && bytes.get(at + 1) == Some(&b'|') => return vec![condition],
            b'?' if depth == 0 => return vec![condition],
            _ => {}
        }
    }
    parts.push(condition[from..].trim());
    parts
}

/// Both halves of a barrier of a cluster, where one follows the other: neither can go alone.
fn cluster_barriers(sources: &SourceMap, syntax: &Syntax, executed: &SortedSet<Span>) -> Vec<Candidate> {
    let mut found = Vec::new();
    let halves = |word: &'static str| {
        let of = syntax.instructions.iter().filter(move |instruction| instruction.opcode.starts_with(word));
        of.filter(|instruction| executed.contains(&instruction.span))
    };
    for arrive in halves("barrier.cluster.arrive") {
        let (siblings, at) = syntax.siblings(arrive.node);
        let Some(&next) = siblings.get(at + 1) else { continue };
        if !halves("barrier.cluster.wait").any(|wait| wait.node == next) {
            continue;
        }
        let (first, second) = (syntax.nodes[arrive.node].span, syntax.nodes[next].span);
        let (one, other) = (Edit::removed(sources, first), Edit::removed(sources, second));
        let span = first.to(second);
        let before = sources.text(span).to_owned();
        let removal = Edit {
            kind: EditKind::Replace { span, before, after: String::new() },
            pieces: [one.pieces, other.pieces].concat(),
        };
        let text = format!("{} {}", sources.text(first), sources.text(second));
        let steps = Steps::Forms(Vec::new());
        found.push(Candidate { kind: PlaceKind::Barrier, span, text, removal: Some(removal), steps });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{NodeKind, SourceMap, Syntax, conjuncts, of_loop};

    #[test]
    fn a_loop_that_keeps_something_is_no_wait() {
        for (text, expected) in [
            ("loop { let s = ld.acquire.gpu.u32 [x]; if s == 0 || s >= now { break; } }", false),
            ("while ld.acquire.gpu [x] < 4 { nanosleep.u32 20; }", false),
            ("loop { seen = ld.relaxed.gpu [x]; if seen != 0 { break; } }", true),
            ("loop { n += 1; if ld.relaxed.gpu [x] == n { break; } }", true),
            ("loop { look(x); if ld.relaxed.gpu [x] == 1 { break; } }", true),
            ("loop { if take(x) == ld.relaxed.gpu [x] { break; } }", true),
            ("loop { if ld.relaxed.gpu [x] == 1 { break; } reachable true; }", true),
        ] {
            let file =
                format!("fn take(a: &u32) -> u32 {{ return atom.exch.b32 [a], 1; }} kernel k {{ {text} }}");
            let mut sources = SourceMap::default();
            sources.add("k.fence", file);
            let syntax = Syntax::of_text(&sources);
            let node = (0..syntax.nodes.len()).find(|&node| syntax.nodes[node].kind == NodeKind::Loop);
            let found = node.and_then(|node| of_loop(&sources, &syntax, node));
            assert_eq!(found.is_none(), expected, "{text}");
        }
    }

    #[test]
    fn what_has_to_be_true_together_is_taken_apart() {
        assert_eq!(conjuncts("a == 1 && (b && c) && d"), ["a == 1", "(b && c)", "d"]);
        assert_eq!(conjuncts("a && b || c"), ["a && b || c"]);
        assert_eq!(conjuncts("a == 1"), ["a == 1"]);
    }
}
