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
        EditKind::Replace { span, before, after } => replaced(&place, *span, before, after),
        EditKind::Insert { text, is_after, anchor } => inserted(&place, *anchor, *is_after, text),
        EditKind::Move { .. } => None,
    }
}

fn replaced(place: &Place<'_>, span: Span, before: &str, after: &str) -> Option<String> {
    let at = place.shown();
    let ptx = line_of(place.sources, span);
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

fn inserted(place: &Place<'_>, anchor: Span, is_after: bool, text: &str) -> Option<String> {
    let line = place.origin.line;
    let file = &place.origin.name;
    let side = if is_after { "after" } else { "before" };
    let ptx = line_of(place.sources, anchor);
    if is_within(place, anchor, is_after) {
        let at = place.shown();
        return Some(format!("add `{text}` right {side} {ptx}, within what the compiler has made of {at}"));
    }
    let statement = place.statement(text)?;
    Some(format!("add `{statement}` {side} line {line} of {file} (in the PTX: `{text}` right {side} {ptx})"))
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
