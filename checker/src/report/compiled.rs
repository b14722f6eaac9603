//! Changes of compiled kernels in the words of their source: what a compiler makes such an instruction of.
//!
//! Rows only: for a word, an instruction or a statement of PTX what CUDA C++ and Triton call it. Where the source says it in
//! an `asm` statement, or has no word for it, the PTX is named alone.

use crate::explain::repair::{Edit, EditKind};
use fencepost_dsl::{Origin, SourceMap, Span};

/// What a language calls something of PTX; empty, where it has no word for it.
struct Row {
    ptx: &'static str,
    cuda: &'static str,
    triton: &'static str,
}

const fn row(ptx: &'static str, cuda: &'static str, triton: &'static str) -> Row {
    Row { ptx, cuda, triton }
}

/// Words of an opcode.
const WORDS: &[Row] = &[
    row("relaxed", "cuda::memory_order_relaxed", "sem=\"relaxed\""),
    row("acquire", "cuda::memory_order_acquire", "sem=\"acquire\""),
    row("release", "cuda::memory_order_release", "sem=\"release\""),
    row("acq_rel", "cuda::memory_order_acq_rel", "sem=\"acq_rel\""),
    row("sc", "cuda::memory_order_seq_cst", ""),
    row("cta", "cuda::thread_scope_block", "scope=\"cta\""),
    row("gpu", "cuda::thread_scope_device", "scope=\"gpu\""),
    row("sys", "cuda::thread_scope_system", "scope=\"sys\""),
];

/// What the source has an instruction of.
const ACCESSES: &[Row] = &[
    row("ld", "load", "load"),
    row("st", "store", "store"),
    row("atom", "atomic operation", "atomic operation"),
    row("red", "atomic operation", "atomic operation"),
    row("fence", "fence", "fence"),
];

/// What a weak or a volatile access has to become first.
const ATOMIC: Row = row("", "an access through `cuda::atomic_ref` with ", "an atomic operation with ");

/// Statements. A fence takes what its words are called, a wait its number.
const STATEMENTS: &[Row] = &[
    row("bar.sync 0", "__syncthreads();", "tl.debug_barrier()"),
    row("bar.warp.sync 0xffffffff", "__syncwarp();", ""),
    row("barrier.cluster.arrive; barrier.cluster.wait", "cooperative_groups::this_cluster().sync();", ""),
    row("fence.proxy.async", "cuda::ptx::fence_proxy_async();", ""),
    row("fence.proxy.async.shared::cta", "cuda::ptx::fence_proxy_async(cuda::ptx::space_shared);", ""),
    row("fence.proxy.async.global", "cuda::ptx::fence_proxy_async(cuda::ptx::space_global);", ""),
    row(
        "fence.mbarrier_init.release.cluster",
        "cuda::ptx::fence_mbarrier_init(cuda::ptx::sem_release, cuda::ptx::scope_cluster);",
        "",
    ),
    row("cp.async.wait_all", "__pipeline_wait_prior(0);", ""),
    row("griddepcontrol.wait", "cudaGridDependencySynchronize();", "tl.extra.cuda.gdc_wait()"),
];

/// Waits that leave groups pending, by the beginning of their opcode; `#` is how many.
const WAITS: &[Row] = &[
    row("cp.async.wait_group", "__pipeline_wait_prior(#);", ""),
    row(
        "cp.async.bulk.wait_group.read",
        "cuda::ptx::cp_async_bulk_wait_group_read(cuda::ptx::n32_t<#>());",
        "",
    ),
    row("cp.async.bulk.wait_group", "cuda::ptx::cp_async_bulk_wait_group(cuda::ptx::n32_t<#>());", ""),
];

/// The source of a place.
struct Place<'a> {
    sources: &'a SourceMap,
    origin: &'a Origin,
}

impl Place<'_> {
    fn is_triton(&self) -> bool {
        self.origin.name.ends_with(".py")
    }

    fn word(&self, row: &Row) -> Option<&'static str> {
        let word = if self.is_triton() { row.triton } else { row.cuda };
        (!word.is_empty()).then_some(word)
    }

    fn of(&self, rows: &'static [Row], ptx: &str) -> Option<&'static str> {
        self.word(rows.iter().find(|row| row.ptx == ptx)?)
    }

    /// `spin_lock.cu:9`.
    fn shown(&self) -> String {
        format!("{}:{}", self.origin.name, self.origin.line)
    }

    /// Whether the source has the instruction in an `asm` statement.
    fn is_asm(&self) -> bool {
        self.origin.span.is_some_and(|line| self.sources.text(line).contains("asm"))
    }

    /// A statement in the language of the source.
    fn statement(&self, text: &str) -> Option<String> {
        let text = text.trim_end_matches(';');
        if let Some(known) = self.of(STATEMENTS, text) {
            return Some(known.to_owned());
        }
        let (opcode, number) = text.split_once(' ').unwrap_or((text, ""));
        let wait = WAITS.iter().find(|row| opcode.starts_with(row.ptx));
        if let Some(known) = wait.and_then(|row| self.word(row)).filter(|_| !number.is_empty()) {
            return Some(known.replace('#', number));
        }
        let words: Vec<&str> = opcode.split('.').skip(1).collect();
        if let ("fence", [sem, scope]) = (opcode.split('.').next()?, words.as_slice()) {
            let words = self.of(WORDS, sem).zip(self.of(WORDS, scope));
            if let Some((sem, scope)) = words.filter(|_| !self.is_triton()) {
                return Some(format!("cuda::atomic_thread_fence({sem}, {scope});"));
            }
        }
        (!self.is_triton()).then(|| format!("asm volatile(\"{text};\" ::: \"memory\");"))
    }
}

/// A change of a compiled kernel, told as one of its source; `None` where there is no source, or no word for it.
pub(super) fn told(sources: &SourceMap, edit: &Edit) -> Option<String> {
    let place = Place { sources, origin: sources.origin(edit.span())? };
    match &edit.kind {
        EditKind::Replace { span, before, after } => {
            replaced(&place, (*span, &line_and_copies(sources, *span, edit)), before, after)
        }
        EditKind::Insert { text, is_after, anchor } => {
            inserted(&place, (*anchor, &line_and_copies(sources, *anchor, edit)), *is_after, text)
        }
        EditKind::Move { .. } => None,
    }
}

/// Where in the PTX, with the copies.
fn line_and_copies(sources: &SourceMap, span: Span, edit: &Edit) -> String {
    format!("{}{}", line_of(sources, span), copies(edit))
}

/// How often the same is done to what the compiler has made of the line elsewhere.
pub(super) fn copies(edit: &Edit) -> String {
    match edit.pieces.len() {
        _ if matches!(edit.kind, EditKind::Move { .. }) => String::new(),
        0 | 1 => String::new(),
        2 => ", and in another copy of it".to_owned(),
        n => format!(", and in {} other copies of it", n - 1),
    }
}

fn replaced(place: &Place<'_>, (span, ptx): (Span, &str), before: &str, after: &str) -> Option<String> {
    let at = place.shown();
    let number = after.parse::<u32>().is_ok().then(|| statement_around(place.sources, span));
    let opcode = number.and_then(|whole| whole.split_whitespace().next());
    if let Some(opcode) = opcode.filter(|_| place.is_asm()) {
        return Some(format!(
            "in the `asm` at {at} change `{opcode} {before}` into `{opcode} {after}` (in the PTX: {ptx})"
        ));
    }
    if place.is_asm() {
        return Some(format!("in the `asm` at {at} change `{before}` into `{after}` (in the PTX: {ptx})"));
    }
    if let Some(opcode) = opcode {
        let wait = WAITS.iter().find(|row| opcode.starts_with(row.ptx)).and_then(|row| place.word(row))?;
        let wait = wait.replace('#', after);
        return Some(format!(
            "wait at {at} with `{wait}` (in the PTX: `{opcode} {after}` in place of `{before}` on {ptx})"
        ));
    }
    let old: Vec<&str> = before.split('.').collect();
    let new = after.split('.').filter(|word| !old.contains(word));
    let named: Option<Vec<&str>> = new.map(|word| place.of(WORDS, word)).collect();
    let named: Vec<String> = named?.into_iter().map(|word| format!("`{word}`")).collect();
    let what = place.of(ACCESSES, old[0])?;
    if named.is_empty() {
        return None;
    }
    let words = named.join(" and ");
    let is_plain = matches!(old[0], "ld" | "st")
        && !old.iter().any(|word| ["relaxed", "acquire", "release"].contains(word));
    let given = if is_plain {
        format!("make the {what} at {at} {}{words}", place.word(&ATOMIC)?)
    } else {
        format!("give the {what} at {at} {words}")
    };
    Some(format!("{given} (in the PTX: `{after}` in place of `{before}` on {ptx})"))
}

fn inserted(place: &Place<'_>, (anchor, ptx): (Span, &str), is_after: bool, text: &str) -> Option<String> {
    let line = place.origin.line;
    let file = &place.origin.name;
    let side = if is_after { "after" } else { "before" };
    if is_within(place, anchor, is_after) {
        let at = place.shown();
        return Some(format!("add `{text}` right {side} {ptx}, within what the compiler has made of {at}"));
    }
    let statement = place.statement(text)?;
    let whole = &place.sources.file(anchor.file).text;
    let around = if has_effect(statement_around(place.sources, anchor)) {
        Around::None
    } else {
        around(whole, if is_after { anchor.end } else { anchor.start } as usize)
    };
    let line_at = |at: usize| {
        let origin = place.sources.origin(Span::new(anchor.file, at, at))?;
        (origin.name == *file).then_some(origin.line)
    };
    let where_to = match around {
        Around::Behind(at) => line_at(at).map(|line| format!("after line {line}")),
        Around::Before(at) => line_at(at).map(|line| format!("before line {line}")),
        Around::Between(before, behind) => match (line_at(before), line_at(behind)) {
            (Some(before), Some(behind)) if before < behind => {
                Some(format!("between the lines {before} and {behind}"))
            }
            _ => None,
        },
        Around::None => None,
    };
    let where_to = where_to.unwrap_or_else(|| format!("{side} line {line}"));
    Some(format!("add `{statement}` {where_to} of {file} (in the PTX: `{text}` right {side} {ptx})"))
}

/// By what a place in PTX is found in the source: the compiler computes addresses and conditions long before they are needed, so
/// that what stands beside may be of any line; accesses and barriers stay where they are.
enum Around {
    /// It comes behind this one, in all cases.
    Behind(usize),
    /// It comes before this one, in all cases.
    Before(usize),
    /// One is in a branch or loop that is over, the other in one that is to come.
    Between(usize, usize),
    None,
}

/// The accesses or barriers that a place is between.
fn around(text: &str, at: usize) -> Around {
    let mut lines = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let inner = line.trim_start();
        lines.push((start + line.len() - inner.len(), inner.trim_end()));
        start += line.len();
    }
    let here = lines.partition_point(|&(start, _)| start < at);
    let ends = |line: &str| line.starts_with(".entry") || line.starts_with(".visible") || line == "}";
    let own = |range: &[(usize, &str)]| range.iter().any(|(_, line)| ends(line));
    let before = (0..here).rev().find(|&number| has_effect(lines[number].1));
    let before = before.filter(|&number| !own(&lines[number..here]));
    let behind = (here..lines.len()).find(|&number| has_effect(lines[number].1));
    let behind = behind.filter(|&number| !own(&lines[here..number]));
    let is_label = |line: &str| line.ends_with(':') && !line.starts_with('.');
    let target = |line: &str| {
        let (_, target) = line.split_once("bra")?;
        target.trim_end_matches(';').split_whitespace().last().map(str::to_owned)
    };
    let labels = |range: &[(usize, &str)]| -> Vec<String> {
        range
            .iter()
            .filter(|(_, line)| is_label(line))
            .map(|(_, line)| line.trim_end_matches(':').to_owned())
            .collect()
    };
    let targets = |range: &[(usize, &str)]| -> Vec<String> {
        range.iter().filter_map(|(_, line)| target(line)).collect()
    };
    // Over which a branch leads, or out of which one leads back.
    let is_over = |number: usize| {
        let (passed, known) = (labels(&lines[number..here]), targets(&lines[..number]));
        let (back, first) = (targets(&lines[number..here]), labels(&lines[..number]));
        lines[number].1.starts_with('@')
            || passed.iter().any(|label| known.contains(label))
            || back.iter().any(|label| first.contains(label))
    };
    let is_to_come = |number: usize| {
        lines[number].1.starts_with('@')
            || !labels(&lines[here..number]).is_empty()
            || !targets(&lines[here..number]).is_empty()
    };
    match (before, behind) {
        (Some(before), _) if !is_over(before) => Around::Behind(lines[before].0),
        (_, Some(behind)) if !is_to_come(behind) => Around::Before(lines[behind].0),
        (Some(before), Some(behind)) => Around::Between(lines[before].0, lines[behind].0),
        _ => Around::None,
    }
}

/// Whether a statement of PTX accesses memory, or orders or completes what does.
fn has_effect(statement: &str) -> bool {
    const OPCODES: &[&str] = &[
        "ld",
        "st",
        "atom",
        "red",
        "cp",
        "bar",
        "barrier",
        "fence",
        "membar",
        "mbarrier",
        "shfl",
        "vote",
        "match",
        "redux",
        "wgmma",
        "tcgen05",
        "ldmatrix",
        "stmatrix",
        "griddepcontrol",
    ];
    let statement = match statement.strip_prefix('@') {
        Some(guarded) => guarded.split_once(char::is_whitespace).map_or("", |(_, rest)| rest.trim_start()),
        None => statement,
    };
    let opcode = statement.split_whitespace().next().unwrap_or("");
    let (first, rest) = opcode.split_once('.').unwrap_or((opcode, ""));
    OPCODES.contains(&first) && !rest.starts_with("param")
}

/// Whether what stands on that side comes from the same line of the source.
fn is_within(place: &Place<'_>, anchor: Span, is_after: bool) -> bool {
    let text = &place.sources.file(anchor.file).text;
    let is_mark = |line: &str| {
        line.is_empty() || line == "}" || line == "{" || line.ends_with(':') || line.starts_with("//")
    };
    let beside = if is_after {
        // Behind comments, and the end of an `asm` statement.
        let mut at = anchor.end as usize;
        for line in text.get(at..).unwrap_or("").split_inclusive('\n') {
            if !is_mark(line.trim()) {
                at += line.len() - line.trim_start().len();
                break;
            }
            at += line.len();
        }
        at
    } else {
        // The end of what stands before, or of the `.loc` by which a line begins.
        let mut end = anchor.start as usize;
        for line in text.get(..end).unwrap_or("").rsplit('\n') {
            let line = line.trim();
            if line.starts_with(".loc") || line.ends_with(':') {
                return false;
            }
            if !is_mark(line) {
                break;
            }
            end = text[..end].rfind('\n').unwrap_or(0);
        }
        end.saturating_sub(1)
    };
    let other = place.sources.origin(Span::new(anchor.file, beside, beside));
    other.is_some_and(|other| other == place.origin)
}

/// `line 66 of spin_lock.ptx`.
fn line_of(sources: &SourceMap, span: Span) -> String {
    let line = sources.line_column(span).line;
    format!("line {line} of {}", sources.file(span.file).name)
}

/// The statement that a place is in.
fn statement_around(sources: &SourceMap, span: Span) -> &str {
    let text = &sources.file(span.file).text;
    let before = text.get(..span.start as usize).unwrap_or("");
    let start = before.rfind(['\n', ';', '{']).map_or(0, |at| at + 1);
    let end =
        text.get(span.end as usize..).unwrap_or("").find(';').map_or(text.len(), |at| span.end as usize + at);
    text.get(start..end).unwrap_or("").trim()
}

/// Whether some change is of a file that a compiler has written.
pub(super) fn is_of_compiled<'e>(sources: &SourceMap, edits: impl IntoIterator<Item = &'e Edit>) -> bool {
    edits.into_iter().any(|edit| sources.is_compiled(edit.span().file))
}

#[cfg(test)]
mod tests {
    use super::{Around, around};

    const TEXT: &str = "\
.visible .entry k()
{
	ld.param.u64 %rd1, [k_param_0];
	st.shared.u32 [%r4], %r15;
	cvta.to.global.u64 %rd2, %rd1;
	@%p1 bra $L_1;
	st.shared.u32 [%r5], %r15;
$L_1:
	setp.ne.s32 %p2, %r3, 0;
	@%p2 bra $L_2;
	ld.shared.u32 %r6, [%r7];
$L_2:
	setp.ne.s32 %p3, %r6, 0;
	bar.sync 0;
	ret;
}
";

    /// What is told of the place in front of a line: which side, and the lines there.
    fn told(before: &str) -> (&'static str, Vec<&'static str>) {
        let line_at = |at: usize| TEXT[at..].lines().next().expect("a line");
        match around(TEXT, TEXT.find(before).expect("it is there")) {
            Around::Behind(at) => ("behind", vec![line_at(at)]),
            Around::Before(at) => ("before", vec![line_at(at)]),
            Around::Between(a, b) => ("between", vec![line_at(a), line_at(b)]),
            Around::None => ("none", Vec::new()),
        }
    }

    #[test]
    fn a_place_is_told_by_what_is_done_around_it_and_not_by_what_is_computed_there() {
        assert_eq!(told("cvta"), ("behind", vec!["st.shared.u32 [%r4], %r15;"]));
        assert_eq!(
            told("setp.ne.s32 %p2"),
            ("between", vec!["st.shared.u32 [%r5], %r15;", "ld.shared.u32 %r6, [%r7];"])
        );
        assert_eq!(told("setp.ne.s32 %p3"), ("before", vec!["bar.sync 0;"]));
        assert_eq!(told("ld.param"), ("before", vec!["st.shared.u32 [%r4], %r15;"]));
    }
}
