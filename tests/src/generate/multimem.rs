//! Small random kernels of two devices, as text: `multimem` instructions, and accesses of the instances one by one.
//!
//! Every value read is stored to a result word at the end of its thread.

use proptest::collection::vec;
use proptest::prelude::{BoxedStrategy, Just, Strategy, prop_oneof};
use std::fmt::Write;

/// A kernel to be: one thread on each device.
#[derive(Clone, Debug)]
pub struct MultimemSketch {
    /// What the threads do.
    pub threads: Vec<Vec<MultimemStep>>,
}

/// A step of a thread; `word` chooses one of two symmetric words.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "fields are what the instruction takes")]
pub enum MultimemStep {
    LoadReduce { word: usize, sem: usize, op: usize },
    StoreAll { word: usize, sem: usize, value: u8 },
    ReduceAll { word: usize, sem: usize, op: usize },
    Load { word: usize, at: usize, sem: usize },
    Store { word: usize, at: usize, sem: usize, value: u8 },
    Reduce { word: usize, at: usize },
    AwaitAll { word: usize, is_relaxed: bool },
    Await { word: usize },
    Fence { sem: usize, scope: usize },
    AliasFence,
    Release { value: u8 },
    Acquire { value: u8 },
}

const WORDS: [&str; 2] = ["c", "d"];
const OPERATIONS: [&str; 4] = ["add.u32", "add.u32", "max.u32", "or.b32"];
const FENCES: [&str; 3] = ["acq_rel", "sc", "release"];
const SCOPES: [&str; 3] = ["sys", "sys", "gpu"];

impl MultimemSketch {
    /// The kernel without its closing brace.
    ///
    /// # Panics
    /// Never: writing to a string cannot fail.
    pub fn text(&self) -> String {
        let (mut body, mut results) = (String::new(), 0);
        for (thread, steps) in self.threads.iter().enumerate() {
            let _ = writeln!(body, "    if gpuid == {thread} {{");
            let mut reads = Vec::new();
            for step in steps {
                let (line, is_read) = step.text(results + reads.len());
                let _ = writeln!(body, "        {line}");
                reads.extend(is_read.then_some(results + reads.len()));
            }
            for result in &reads {
                let _ = writeln!(body, "        st.weak.u32 [out_{result}], r{result};");
            }
            results += reads.len();
            body.push_str("    }\n");
        }
        let mut text = "kernel k {\n    launch { gpus: 2 }\n    global x: u32 = 0;\n".to_owned();
        for (word, initial) in [("c", 0), ("d", 1)] {
            if body.contains(&format!("[{word}]"))
                || body.contains(&format!("({word},"))
                || body.contains(&format!("[m{word}]"))
            {
                let _ = writeln!(text, "    symmetric {word}: u32 = {initial};");
                let _ = writeln!(text, "    multimem m{word}: u32 alias {word};");
            }
        }
        for result in 0..results {
            let _ = writeln!(text, "    global out_{result}: u32 = 0;");
        }
        text + &body
    }
}

impl MultimemStep {
    /// The instruction, and whether it gives register `r{result}`.
    fn text(self, result: usize) -> (String, bool) {
        match self {
            Self::LoadReduce { word, sem, op } => {
                let (sem, word) = (strength(sem, "acquire"), WORDS[word]);
                (format!("let r{result} = multimem.ld_reduce{sem}.{} [m{word}];", OPERATIONS[op]), true)
            }
            Self::StoreAll { word, sem, value } => {
                (format!("multimem.st{}.u32 [m{}], {value};", strength(sem, "release"), WORDS[word]), false)
            }
            Self::ReduceAll { word, sem, op } => {
                let sem = if sem == 0 { "relaxed" } else { "release" };
                (format!("multimem.red.{sem}.sys.{} [m{}], 2;", OPERATIONS[op], WORDS[word]), false)
            }
            Self::Load { word, at, sem } => {
                (format!("let r{result} = ld{}.u32 {};", strength(sem, "acquire"), place(word, at)), true)
            }
            Self::Store { word, at, sem, value } => {
                (format!("st{}.u32 {}, {value};", strength(sem, "release"), place(word, at)), false)
            }
            Self::Reduce { word, at } => (format!("red.relaxed.sys.add.u32 {}, 1;", place(word, at)), false),
            Self::AwaitAll { word, is_relaxed } => {
                let sem = if is_relaxed { "relaxed" } else { "acquire" };
                (format!("await (multimem.ld_reduce.{sem}.sys.min.u32 [m{}]) >= 2;", WORDS[word]), false)
            }
            Self::Await { word } => (format!("await ld.acquire.sys.u32 [{}] >= 2;", WORDS[word]), false),
            Self::Fence { sem, scope } => (format!("fence.{}.{};", FENCES[sem], SCOPES[scope]), false),
            Self::AliasFence => ("fence.proxy.alias;".into(), false),

            Self::Release { value } => (format!("st.release.sys.u32 [x], {value};"), false),
            Self::Acquire { value } => (format!("await ld.acquire.sys.u32 [x] == {value};"), false),
        }
    }

    /// Reads and writes.
    fn n_accesses(self) -> usize {
        match self {
            Self::ReduceAll { .. } => 4,
            Self::LoadReduce { .. } | Self::StoreAll { .. } | Self::Reduce { .. } => 2,
            Self::AwaitAll { .. } => 4,
            Self::Fence { .. } | Self::AliasFence => 0,
            _ => 1,
        }
    }
}

fn strength(sem: usize, ordered: &str) -> String {
    match sem {
        0 | 1 => ".weak".into(),
        2 => ".relaxed.sys".into(),
        3 => format!(".{ordered}.sys"),
        _ => format!(".{ordered}.gpu"),
    }
}

fn place(word: usize, at: usize) -> String {
    match at {
        0 => format!("[{}]", WORDS[word]),
        _ => format!("[peer({}, {})]", WORDS[word], at - 1),
    }
}

/// One to three steps that belong together.
fn phrase() -> BoxedStrategy<Vec<MultimemStep>> {
    use MultimemStep::*;
    let word = || 0usize..2;
    let sem = || 0usize..5;
    let store_all = || (word(), sem(), 2u8..4).prop_map(|(word, sem, value)| StoreAll { word, sem, value });
    let reduce_all =
        || (word(), 0usize..2, 0usize..4).prop_map(|(word, sem, op)| ReduceAll { word, sem, op });
    let load_all = || (word(), sem(), 0usize..4).prop_map(|(word, sem, op)| LoadReduce { word, sem, op });
    let load = || (word(), 0usize..3, sem()).prop_map(|(word, at, sem)| Load { word, at, sem });
    let store = || {
        (word(), 0usize..3, sem(), 2u8..4).prop_map(|(word, at, sem, value)| Store { word, at, sem, value })
    };
    let fence = || {
        prop_oneof![
            3 => Just(AliasFence),
            1 => (0usize..3, 0usize..3).prop_map(|(sem, scope)| Fence { sem, scope }),
        ]
    };
    let write_all = || prop_oneof![store_all(), reduce_all()];
    prop_oneof![
        4 => write_all().prop_map(|a| vec![a]),
        3 => load_all().prop_map(|a| vec![a]),
        2 => load().prop_map(|a| vec![a]),
        1 => store().prop_map(|a| vec![a]),
        1 => (word(), 0usize..3).prop_map(|(word, at)| vec![Reduce { word, at }]),
        2 => (write_all(), fence(), load()).prop_map(|(a, b, c)| vec![a, b, c]),
        1 => (store(), fence(), load_all()).prop_map(|(a, b, c)| vec![a, b, c]),
        3 => (write_all(), fence()).prop_map(|(a, b)| vec![a, b, Release { value: 1 }]),
        2 => write_all().prop_map(|a| vec![a, Release { value: 1 }]),
        3 => (fence(), load()).prop_map(|(b, c)| vec![Acquire { value: 1 }, b, c]),
        2 => load_all().prop_map(|a| vec![Acquire { value: 1 }, a]),
        2 => (word(), load_all()).prop_map(|(word, a)| vec![AwaitAll { word, is_relaxed: false }, a]),
        2 => (word(), load()).prop_map(|(word, a)| vec![AwaitAll { word, is_relaxed: false }, a]),
        1 => (word(), fence(), load()).prop_map(|(word, b, c)| vec![AwaitAll { word, is_relaxed: true }, b, c]),
        2 => (word(), load()).prop_map(|(word, a)| vec![Await { word }, a]),
        1 => (word(), word()).prop_map(|(word, other)| {
            vec![Store { word, at: 0, sem: 0, value: 3 }, ReduceAll { word: other, sem: 1, op: 0 }]
        }),
    ]
    .boxed()
}

/// Kernels of two threads, of at most `n_accesses_max` accesses.
pub fn multimem_sketches(n_accesses_max: usize) -> impl Strategy<Value = MultimemSketch> {
    vec(vec(phrase(), 1..=2), 2).prop_filter_map("small programs with multimem only", move |threads| {
        let threads: Vec<Vec<MultimemStep>> = threads.into_iter().map(|phrases| phrases.concat()).collect();
        let steps = || threads.iter().flatten();
        let n_accesses: usize = steps().map(|step| step.n_accesses()).sum();
        let has_multimem = steps().any(|step| {
            matches!(
                step,
                MultimemStep::LoadReduce { .. }
                    | MultimemStep::StoreAll { .. }
                    | MultimemStep::ReduceAll { .. }
            )
        });
        (has_multimem && n_accesses <= n_accesses_max).then_some(MultimemSketch { threads })
    })
}
