//! What people write who know CUDA or PTX and are new here: for an error in a line with such a word, what to write instead.
//!
//! Nothing is accepted because of it. Only lines with an error are looked at, so a kernel may use any of these as a name.

use crate::diagnostic::Diagnostic;
use crate::source::SourceMap;
use crate::span::{FileId, Span};
use std::collections::BTreeSet;

/// Words of other languages, and what says the same here. A word that ends in `*` stands for all that begin so; the first
/// that a line has is taken.
const WORDS: &[(&str, &str)] = &[
    ("__syncthreads_count", "`let n = bar.red.popc.u32 0, condition;`"),
    ("__syncthreads_and", "`let all = bar.red.and.pred 0, condition;`"),
    ("__syncthreads_or", "`let any = bar.red.or.pred 0, condition;`"),
    ("__syncthreads", "the barrier of a CTA is `bar.sync 0;`"),
    (
        "__syncwarp",
        "the barrier of a warp is `bar.warp.sync 0xffffffff;`, with a mask of the lanes that take part",
    ),
    (
        "__threadfence_block",
        "`fence.sc.cta;`; for a release or acquire pattern `fence.acq_rel.cta;` is enough",
    ),
    (
        "__threadfence_system",
        "`fence.sc.sys;`; for a release or acquire pattern `fence.acq_rel.sys;` is enough",
    ),
    ("__threadfence", "`fence.sc.gpu;`; for a release or acquire pattern `fence.acq_rel.gpu;` is enough"),
    (
        "atomicAdd_system",
        "`let old = atom.add.relaxed.sys.u32 [x], 1;`, or `red.add.relaxed.sys.u32 [x], 1;` without the old value",
    ),
    (
        "atomicAdd_block",
        "`let old = atom.add.relaxed.cta.u32 [x], 1;`, or `red.add.relaxed.cta.u32 [x], 1;` without the old value",
    ),
    (
        "atomicAdd*",
        "`let old = atom.add.relaxed.gpu.u32 [x], 1;`, or `red.add.relaxed.gpu.u32 [x], 1;` without the old value",
    ),
    ("atomicSub*", "add the negative: `let old = atom.add.relaxed.gpu.u32 [x], -1;`"),
    ("atomicCAS*", "`let old = atom.cas.relaxed.gpu.b32 [x], expected, desired;`"),
    ("atomicExch*", "`let old = atom.exch.relaxed.gpu.b32 [x], 1;`"),
    ("atomicMin*", "`let old = atom.min.relaxed.gpu.u32 [x], 1;`"),
    ("atomicMax*", "`let old = atom.max.relaxed.gpu.u32 [x], 1;`"),
    ("atomicAnd*", "`let old = atom.and.relaxed.gpu.b32 [x], 1;`"),
    ("atomicOr*", "`let old = atom.or.relaxed.gpu.b32 [x], 1;`"),
    ("atomicXor*", "`let old = atom.xor.relaxed.gpu.b32 [x], 1;`"),
    ("atomicInc*", "`let old = atom.inc.relaxed.gpu.u32 [x], last;`"),
    ("atomicDec*", "`let old = atom.dec.relaxed.gpu.u32 [x], last;`"),
    ("__nanosleep", "`nanosleep.u32 20;`, or nothing: time does not count here"),
    ("__ldg", "`let v = ld.global.nc.u32 [x];`"),
    ("blockIdx", "the number of a thread's CTA is `ctaid`: launches have one dimension"),
    ("threadIdx", "the number of a thread in its CTA is `tid`: launches have one dimension"),
    ("blockDim", "the number of threads of a CTA is `ntid`"),
    ("gridDim", "the number of CTAs is `nctaid`"),
    ("warpSize", "the size of a warp is what `launch { lanes: … }` says: name it in a `const`"),
    ("%ctaid*", "special registers have no `%` and one dimension: `ctaid`"),
    ("%tid*", "special registers have no `%` and one dimension: `tid`"),
    ("%laneid", "special registers have no `%`: `laneid`"),
    ("%warpid", "special registers have no `%`: `warpid`"),
    ("%clusterid*", "special registers have no `%` and one dimension: `clusterid`"),
    ("%cluster_ctarank", "special registers have no `%`: `cluster_ctarank`"),
    ("%cluster_ctaid*", "special registers have no `%` and one dimension: `cluster_ctarank`"),
    ("%ntid*", "special registers have no `%` and one dimension: `ntid`"),
    ("%nctaid*", "special registers have no `%` and one dimension: `nctaid`"),
    ("%r*", "registers are names: `let v = ld.u32 [x];`"),
    ("%p*", "predicates are conditions: `if v == 1 { … }`"),
    (
        "__shfl*",
        "lanes exchange no values here: write the value to shared memory, with `bar.warp.sync` in between, or leave it out",
    ),
    (
        "shfl",
        "lanes exchange no values here: write the value to shared memory, with `bar.warp.sync` in between, or leave it out",
    ),
    ("__ballot*", "lanes exchange no values here: say in the launch and in conditions what each lane does"),
    ("vote", "lanes exchange no values here: say in the launch and in conditions what each lane does"),
    (
        "return",
        "a thread ends with `exit;`, a loop with `break;`; `return v;` is the last statement of an `fn`",
    ),
    ("__global__", "`kernel name { launch { ctas: 2 } … }`, with memory declared inside"),
    ("__device__", "`fn name(parameters) { … }`"),
    ("__shared__", "`shared name[4]: u32 = 0;` inside the kernel"),
    ("volatile", "the access is what is volatile: `ld.volatile [x]`, `st.volatile [x], 1;`"),
    ("asm", "write the instruction itself: `fence.acq_rel.gpu;`"),
    ("do", "`loop { …; if done { break; } }`"),
    ("switch", "`if … { } else if … { } else { }`"),
    ("goto", "`loop`, `while`, `if` and `break`: there are no labels"),
    ("bra", "`loop`, `while`, `if` and `break`: there are no labels"),
    ("setp", "predicates are conditions: `if v == 1 { … }`"),
    (
        "printf",
        "`assert` and `reachable` ask what values there can be; `fencepost check --trace` shows an execution",
    ),
    (
        "cuda",
        "operations of libcu++ are in the library: `use \"lib/atomic_ref.fence\";`, `cuda_barrier`, `cuda_pipeline`",
    ),
    ("cooperative_groups", "barriers of groups are in the library: `use \"lib/group_barrier.fence\";`"),
    ("cg", "barriers of groups are in the library: `use \"lib/group_barrier.fence\";`"),
    ("int", "`let v = 3;`, or `var v: u32 = 3;` if it changes"),
    ("unsigned", "`let v = 3;`, or `var v: u32 = 3;` if it changes"),
    ("uint32_t", "`let v = 3;`, or `var v: u32 = 3;` if it changes"),
    ("uint64_t", "`let v = 3;`, or `var v: u64 = 3;` if it changes"),
    ("auto", "`let v = …;`, or `var v: u32 = …;` if it changes"),
    ("bool", "`let v = …;`: a condition is 1 or 0"),
    ("float", "floating-point values are bits: `var v: u32 = 0x3f800000;`"),
];

/// Scopes in the words of others.
const SCOPES: &[(&str, &str)] = &[
    ("block", "cta"),
    ("thread_block", "cta"),
    ("device", "gpu"),
    ("gl", "gpu"),
    ("grid", "gpu"),
    ("agent", "gpu"),
    ("system", "sys"),
    ("workgroup", "cta"),
    ("seq_cst", "sc"),
];

/// Codes of errors that say no more than that something is not of the language.
const VAGUE: &[&str] = &[
    "resolve::unknown-function",
    "resolve::unknown-name",
    "resolve::unknown-instruction",
    "resolve::misplaced-statement",
    "validate::unknown-modifier",
    "validate::operand-count",
    "unsupported::instruction",
];

/// Says what to write where a line with an error has a word of CUDA or PTX that is none here. What else the parser has
/// stumbled over in such a line goes. They are in order of place.
pub fn advise(sources: &SourceMap, diagnostics: &mut Vec<Diagnostic>) {
    let mut advised = BTreeSet::new();
    diagnostics.retain_mut(|diagnostic| {
        let line = (diagnostic.span().file.0, sources.line_column(diagnostic.span()).line);
        if advised.contains(&line) && diagnostic.code.starts_with("syntax::") {
            return false;
        }
        if is_advised(sources, diagnostic) {
            advised.insert(line);
        }
        true
    });
}

/// Whether there was something to say of it, which is then said.
fn is_advised(sources: &SourceMap, diagnostic: &mut Diagnostic) -> bool {
    let is_syntax = diagnostic.code.starts_with("syntax::");
    if !is_syntax && !VAGUE.contains(&diagnostic.code) {
        return false;
    }
    let span = diagnostic.span();
    if diagnostic.code == "syntax::unexpected-end" {
        if let Some(open) = unclosed(sources, span.file) {
            *diagnostic = diagnostic.clone().with_label(open, "this `{` has no `}`");
            diagnostic.help = Some("close it with `}`".to_owned());
        }
        return false;
    }
    let (line, at) = line_of(sources, span);
    let width = span.end.saturating_sub(span.start) as usize;
    // The parser stumbles behind what it did not understand, the others say where it is.
    let by_word = || by_word(line, at, width, is_syntax);
    let found = match diagnostic.code {
        "validate::unknown-modifier" => line.get(at..).and_then(scope),
        "validate::operand-count" => by_word().or_else(|| by_shape(line, at)),
        _ if is_syntax => by_word().or_else(|| by_shape(line, at)),
        _ => by_word(),
    };
    let is_known = found.is_some();
    diagnostic.help = found.or(diagnostic.help.take());
    is_known
}

/// The line in which a span begins, and where it begins there.
fn line_of(sources: &SourceMap, span: Span) -> (&str, usize) {
    let text: &str = &sources.file(span.file).text;
    let start = (span.start as usize).min(text.len());
    let from = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let to = text[start..].find('\n').map_or(text.len(), |at| start + at);
    let line = text[from..to].split("//").next().unwrap_or_default();
    (line, start - from)
}

/// Names and what looks like one, with where they begin: `blockIdx`, `%ctaid`.
fn words(line: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '%';
    let mut rest = 0;
    std::iter::from_fn(move || {
        let start = rest + line[rest..].find(is_part)?;
        let end = line[start..].find(|c| !is_part(c)).map_or(line.len(), |n| start + n);
        rest = end;
        Some((start, &line[start..end]))
    })
}

fn by_word(line: &str, at: usize, width: usize, looks_back: bool) -> Option<String> {
    let is = |pattern: &str, word: &str| match pattern.strip_suffix('*') {
        Some(prefix) => word.starts_with(prefix),
        None => word == pattern,
    };
    let known = |word: &str| WORDS.iter().find(|(pattern, _)| is(pattern, word));
    // The parser stumbles behind what it does not understand.
    let is_near =
        |start: usize, word: &str| start < at + width.max(1) && (looks_back || at < start + word.len());
    let found = words(line).filter(|&(start, word)| is_near(start, word)).find_map(|(_, word)| known(word));
    found.map(|(_, help)| (*help).to_owned())
}

/// A scope or sem in other words.
fn scope(here: &str) -> Option<String> {
    let (_, own) = words(here).next()?;
    let (_, known) = SCOPES.iter().find(|(word, _)| *word == own)?;
    Some(format!("write `.{known}`"))
}

fn by_shape(line: &str, at: usize) -> Option<String> {
    let text = line.trim_start();
    let here = line.get(at..).unwrap_or_default();
    if text.starts_with("for") && (text.contains('(') || text.contains(';')) {
        return Some("a loop over numbers is `for i in 0..4 { … }`".to_owned());
    }
    if here.starts_with("++") || text.contains("++") {
        return Some("`i += 1;`".to_owned());
    }
    if text.contains("--") {
        return Some("`i -= 1;`".to_owned());
    }
    let reads = text.starts_with("ld") || text.starts_with("mbarrier.t");
    if reads && ["==", "!=", ">=", "<=", "<", ">"].iter().any(|compare| text.contains(compare)) {
        return Some(format!("to wait until it is so, write `await {}`", text.trim_end()));
    }
    if text.starts_with("ld") && text.contains(',') {
        return Some("a result is named in front: `let v = ld.u32 [x];`".to_owned());
    }
    if here.starts_with('&') || text.contains("(&") {
        return Some("memory is named in brackets: `[x]`, `[a[1]]`".to_owned());
    }
    if text.contains("->") || here.starts_with('*') {
        return Some("memory is named in brackets: `[x]`, `[a[1]]`".to_owned());
    }
    let name = text.strip_prefix("let ").or_else(|| text.strip_prefix("var "));
    let name = name.and_then(|rest| words(rest).next()).map(|(_, word)| word);
    if let Some(name) = name
        && here.starts_with(name)
    {
        return Some(format!("`{name}` is a word of the language: take another name"));
    }
    None
}

/// The brace that is likely to lack its other half: one whose other half stands further left than its line begins, or else
/// the last that is open in the end.
fn unclosed(sources: &SourceMap, file: FileId) -> Option<Span> {
    let text: &str = &sources.file(file).text;
    let indent_at = |at: usize| {
        let from = text[..at].rfind('\n').map_or(0, |at| at + 1);
        text[from..].len() - text[from..].trim_start_matches([' ', '\t']).len()
    };
    let mut open: Vec<usize> = Vec::new();
    let mut suspect = None;
    let mut is_comment = false;
    let mut previous = ' ';
    for (at, c) in text.char_indices() {
        match c {
            '\n' => is_comment = false,
            '/' if previous == '/' => is_comment = true,
            '{' if !is_comment => open.push(at),
            '}' if !is_comment => {
                if let Some(start) = open.pop()
                    && !text[start..at].lines().nth(1).is_none_or(str::is_empty)
                    && indent_at(at) < indent_at(start)
                {
                    suspect.get_or_insert(start);
                }
            }
            _ => {}
        }
        previous = c;
    }
    let at = suspect.or_else(|| open.last().copied())?;
    Some(Span::new(file, at, at + 1))
}
