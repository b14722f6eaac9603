//! Examples that are proved need the scopes they write: with `.cluster` in place of one `.gpu` they are violated.
//!
//! Each occurrence in each example of several clusters is narrowed on its own. Those for which it makes no difference are
//! listed, with the reason; the list holds no others.

use fencepost::check::check;
use fencepost::encode::Treatment;
use fencepost::verdict::Verdict;
use fencepost_dsl::SourceMap;
use fencepost_dsl::kernel::program::Program;
use fencepost_dsl::kernel::{self, LoadOptions};
use fencepost_tests::run::{config, model};
use std::fs;
use std::path::{Path, PathBuf};

/// Where `.cluster` does as well: file, the line as it stands, and why.
const SURVIVORS: &[(&str, &str, &str)] = &[
    (
        "device-semaphore/take-only-if-there.fence",
        "let n = atom.relaxed.gpu.global.add.u32 [inside], 1;",
        "there is one place, and the semaphore orders all that is done in it",
    ),
    (
        "device-semaphore/take-only-if-there.fence",
        "red.relaxed.gpu.global.add.u32 [inside], 0xffffffff;",
        "the same",
    ),
    (
        "device-to-device-signal/one-poller.fence",
        "red.relaxed.gpu.add.u32 [taken], 1;",
        "one thread of each device polls, and counts in its own",
    ),
    (
        "epoch-in-device-memory/block-0-waits.fence",
        "let e = ld.relaxed.gpu.global.u32 [epoch];",
        "block 0 writes the epoch when it has acquired that all have read it",
    ),
    ("epoch-in-device-memory/block-0-waits.fence", "st.relaxed.gpu.global.u32 [epoch], e + 1;", "the same"),
    (
        "epoch-in-device-memory/epoch-per-block.fence",
        "let e = ld.relaxed.gpu.global.u32 [epoch[ctaid]];",
        "the block's own epoch: nobody else accesses it",
    ),
    (
        "epoch-in-device-memory/epoch-per-block.fence",
        "st.relaxed.gpu.global.u32 [epoch[ctaid]], e + 1;",
        "the same",
    ),
    (
        "mpmc-ring/one-try.fence",
        "let before = atom.relaxed.gpu.global.add.u32 [ran[task - 1]], 1;",
        "one thread takes a task, so that no other one counts it",
    ),
    ("mpmc-ring/queue.fence", "let before = atom.relaxed.gpu.global.add.u32 [ran[task - 1]], 1;", "the same"),
    (
        "work-stealing/deque.fence",
        "let b = ld.relaxed.gpu.u32 [bottom];",
        "only the owner writes `bottom`: it pushes",
    ),
    ("work-stealing/deque.fence", "let b = ld.relaxed.gpu.u32 [bottom];", "and pops"),
    (
        "work-stealing/deque.fence",
        "task = ld.relaxed.gpu.u32 [slot[(b - 1) % SLOTS]];",
        "only the owner writes the slots, and this is the owner",
    ),
    (
        "work-stealing/deque.fence",
        "red.relaxed.gpu.add.u32 [done[task]], 1;",
        "one thread takes a task, so that no other one counts it: the owner",
    ),
    ("work-stealing/deque.fence", "red.relaxed.gpu.add.u32 [done[task]], 1;", "or a thief"),
];

/// The proved examples, with their texts.
fn proved() -> Vec<(String, PathBuf, String)> {
    // Without dots, so that the loader asks for a file by the path that it is given.
    let root = fs::canonicalize(Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples"));
    let root = root.expect("the examples are there");
    let mut found = Vec::new();
    for story in children(&root) {
        for path in children(&story) {
            let Ok(text) = fs::read_to_string(&path) else { continue };
            let is_kernel = path.extension().is_some_and(|extension| extension == "fence");
            if is_kernel && text.contains("//@ expect: proved") && text.contains(".gpu") {
                let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
                let name = [name(&story), name(&path)].into_iter().flatten().collect::<Vec<_>>().join("/");
                found.push((name, path, text));
            }
        }
    }
    found
}

fn children(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// The program of an example whose text is replaced.
fn load(path: &Path, text: &str) -> Program {
    let path = path.to_string_lossy().into_owned();
    let mut read = |wanted: &str| {
        if wanted == path {
            Ok(text.to_owned())
        } else {
            fs::read_to_string(wanted).map_err(|e| e.to_string())
        }
    };
    kernel::load(&mut SourceMap::default(), &path, &mut read, &LoadOptions::default())
        .unwrap_or_else(|errors| panic!("{path} is rejected: {errors:#?}\n{text}"))
}

/// Whether some launch has CTAs in different clusters.
fn has_clusters(program: &Program) -> bool {
    let tasks = program.kernels.iter().flat_map(|kernel| kernel.tasks.iter().map(|task| &task.launch));
    let launches = program.kernels.iter().flat_map(|kernel| &kernel.launches);
    launches.chain(tasks).any(|launch| launch.n_clusters() * launch.gpus > 1)
}

/// The text with `.cluster` for one `.gpu`, and the line that this is on; for each that is no comment.
fn narrowed(text: &str) -> Vec<(String, String)> {
    let mut mutants = Vec::new();
    for (at, _) in text.match_indices(".gpu") {
        let start = text[..at].rfind('\n').map_or(0, |feed| feed + 1);
        let line = text[start..].lines().next().unwrap_or_default();
        let is_comment = text[start..at].contains("//");
        let is_scope = !text[at + 4..].starts_with(|next: char| next.is_alphanumeric() || next == '_');
        if !is_comment && is_scope {
            let mutant = format!("{}.cluster{}", &text[..at], &text[at + 4..]);
            mutants.push((mutant, line.trim().to_owned()));
        }
    }
    mutants
}

#[test]
fn narrowing_a_scope_to_the_cluster_is_noticed() {
    let model = model(&[]);
    let mut config = config(Treatment::DEFAULT);
    config.limits.findings_max = 1;
    let mut survivors = Vec::new();
    let mut n_mutants = 0;
    for (name, path, text) in proved() {
        if !has_clusters(&load(&path, &text)) {
            continue;
        }
        for (mutant, line) in narrowed(&text) {
            let program = load(&path, &mutant);
            let checked = program.kernels.iter().flat_map(|kernel| {
                kernel.launches.iter().map(|launch| check(&program, kernel, launch, &model, &config))
            });
            let verdicts = checked.map(|outcome| outcome.map(|outcome| outcome.verdict));
            let worst =
                verdicts.map(|verdict| verdict.unwrap_or_else(|error| panic!("{name}: {error}"))).max();
            n_mutants += 1;
            if worst != Some(Verdict::Violated) {
                survivors.push((name.clone(), line));
            }
        }
    }
    let listed: Vec<(String, String)> =
        SURVIVORS.iter().map(|&(name, line, _)| (name.to_owned(), line.to_owned())).collect();
    assert_eq!(survivors, listed, "of {n_mutants}");
    assert!(n_mutants > 50, "{n_mutants}");
}
