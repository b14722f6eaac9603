//! What slices prove is proved of the whole: kernels of a dozen or two of threads with every part of them left out in turn, random
//! ones, and the repository's own.
//!
//! `FENCEPOST_SLICES_PROGRAMS=N` runs N random kernels, `FENCEPOST_SLICES_SEED=S` others.

use fencepost::check::{CheckError, Config, check};
use fencepost::encode::Treatment;
use fencepost::verdict::{Outcome, Property, Verdict};
use fencepost_dsl::kernel::LoadOptions;
use fencepost_dsl::kernel::program::Program;
use fencepost_dsl::{SourceMap, kernel};
use fencepost_tests::random::{Numbers, Plan, Suite};
use fencepost_tests::run::{config, load, model};
use fencepost_tests::switched::Switched;
use std::path::{Path, PathBuf};

fn has_pass(outcome: &Outcome, name: &str) -> bool {
    outcome.statistics.microseconds.iter().any(|&(pass, _)| pass == name)
}

/// Whether there were slices.
fn is_cut(outcome: &Outcome) -> bool {
    has_pass(outcome, "slices")
}

/// Whether they gave the verdict.
fn is_sliced(outcome: &Outcome) -> bool {
    is_cut(outcome) && !has_pass(outcome, "bound")
}

/// What a launch came to, whether it was cut, and whether slices gave the verdict.
type Judgement = (Vec<(Property, Verdict)>, [bool; 2]);

/// What a run of all launches came to, if nothing in it is unsupported or too large.
fn judged(program: &Program, treatment: Treatment) -> Option<Vec<Judgement>> {
    let (model, config) = (model(&[]), Config { budget: 2_000_000_000, ..config(treatment) });
    let mut judged = Vec::new();
    for kernel in &program.kernels {
        for launch in &kernel.launches {
            let outcome = match check(program, kernel, launch, &model, &config) {
                Ok(outcome) => outcome,
                Err(CheckError::Unsupported(_)) => return None,
                Err(error) => panic!("{}: {error}", kernel.name),
            };
            if outcome.limit.is_some() {
                return None;
            }
            judged.push((outcome.properties.clone(), [is_cut(&outcome), is_sliced(&outcome)]));
        }
    }
    Some(judged)
}

#[derive(Default, Debug)]
struct Tally {
    compared: usize,
    cut: usize,
    proved_by_slices: usize,
    cut_and_violated: usize,
}

/// Compares a program with and without slices.
fn compare(program: &Program, name: &str, tally: &mut Tally) {
    let (Some(with), Some(without)) = (judged(program, Treatment::SLICED), judged(program, Treatment::WHOLE))
    else {
        return;
    };
    for ((found, [is_cut, is_sliced]), (expected, _)) in with.into_iter().zip(without) {
        tally.compared += 1;
        let is_violated = expected.iter().any(|&(_, verdict)| verdict == Verdict::Violated);
        tally.cut += usize::from(is_cut);
        tally.proved_by_slices += usize::from(is_sliced);
        tally.cut_and_violated += usize::from(is_cut && is_violated);
        assert_eq!(found, expected, "{name}, with slices and without");
    }
}

/// The kernels that grow, a dozen threads large: one that has to do with all others, and neighbours.
const FAMILIES: &[(&str, &[(&str, i64)])] = &[
    ("bar-sync", &[("WARPS", 1), ("LANES", 16), ("ROUNDS", 2)]),
    ("mbarrier-pipeline", &[("WARPS", 2), ("LANES", 8), ("TILES", 3)]),
    ("tma-ring", &[("LANES", 10), ("TILES", 2), ("STAGES", 1)]),
    ("cluster-reduction", &[("N", 2), ("LANES", 10)]),
    ("seqlock", &[("N", 4)]),
    ("flag-chain", &[("N", 12)]),
    ("independent", &[("N", 8)]),
    ("dissemination-barrier", &[("N", 8), ("STEPS", 3)]),
];

/// Two groups of warps that meet by themselves and take turns at a tile.
const TURNS: &str = "\
const LANES = 4;
kernel turns {
    launch { warps: 4, lanes: LANES }
    shared x[2 * LANES]: u32 = 0;
    shared y[4 * LANES]: u32 = 0;
    let group = warpid / 2;
    let own = tid % (2 * LANES);
    if group == 1 {
        bar.arrive 1, 128;
    }
    for round in 0..2 {
        bar.sync group + 1, 128;
        let v = ld.weak.shared.u32 [x[own]];
        assert v == 2 * round + group;
        st.weak.shared.u32 [x[own]], v + 1;
        if round + group < 2 {
            bar.arrive 2 - group, 128;
        }
        st.weak.shared.u32 [y[tid]], round;
        bar.sync group + 3, 64;
        let w = ld.weak.shared.u32 [y[group * 2 * LANES + (own + 1) % (2 * LANES)]];
        assert w == round;
        bar.sync group + 3, 64;
    }
}
";

fn parsed(text: &str, definitions: &[(&str, i64)]) -> Option<Program> {
    let mut text = text.to_owned();
    for (name, value) in definitions {
        let start = text.find(&format!("const {name} = "))?;
        let end = start + text[start..].find(';')?;
        text.replace_range(start..end, &format!("const {name} = {value}"));
    }
    let mut read = |_: &str| Ok(text.clone());
    kernel::load(&mut SourceMap::default(), "test.fence", &mut read, &LoadOptions::default()).ok()
}

/// The text with one statement left out, a sem or scope weaker, or a number off by one, each in turn.
fn edits(text: &str) -> Vec<String> {
    let mut edited = vec![text.to_owned()];
    let lines: Vec<&str> = text.lines().collect();
    for at in 0..lines.len() {
        let line = lines[at].trim();
        if line.ends_with(';') && !line.starts_with("const") && !line.starts_with("let") {
            let kept = lines.iter().enumerate().filter(|&(other, _)| other != at).map(|(_, line)| *line);
            edited.push(kept.collect::<Vec<_>>().join("\n"));
        }
    }
    for (from, to) in [
        (".release.", ".relaxed."),
        (".acquire.", ".relaxed."),
        (".gpu", ".cta"),
        ("^ 1", "^ 0"),
        ("% 2", "% 2 ^ 1"),
        ("HALF;", "HALF - 1;"),
        ("READERS;", "READERS - 1;"),
        ("+ 1) %", "+ 2) %"),
        ("bar.sync 0;", "bar.warp.sync 0xf;"),
        ("if tid == 0", "if tid < 2"),
        ("assert v ==", "assert v !="),
        ("bar.arrive 1, 128;", "if tid != 9 { bar.arrive 1, 128; }"),
        ("bar.sync group + 3, 64;", "if warpid != 3 { bar.sync group + 3, 64; }"),
        ("[y[tid]]", "[y[tid == 5 ? 4 : tid]]"),
        ("[x[own]]", "[x[tid == 5 ? 4 : own]]"),
    ] {
        let places: Vec<usize> = text.match_indices(from).map(|(at, _)| at).collect();
        edited
            .extend(places.into_iter().map(|at| format!("{}{to}{}", &text[..at], &text[at + from.len()..])));
    }
    edited
}

#[test]
#[expect(clippy::print_stdout, reason = "the suite says how much it compared")]
fn families_agree_whatever_is_left_out() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../checker/cli/benches/families");
    let mut tally = Tally::default();
    for &(name, definitions) in FAMILIES {
        let text = std::fs::read_to_string(folder.join(format!("{name}.fence"))).expect("a family");
        assert!(parsed(&text, definitions).is_some(), "{name} has these constants");
        for edited in edits(&text) {
            if let Some(program) = parsed(&edited, definitions) {
                compare(&program, &format!("{name}:\n{edited}"), &mut tally);
            }
        }
    }
    println!("slices: {tally:?}");
    assert!(tally.proved_by_slices > 5 && tally.cut_and_violated > 20, "{tally:?}");
}

#[test]
#[expect(clippy::print_stdout, reason = "the suite says how much it compared")]
fn named_barriers_agree_whatever_is_left_out() {
    let mut tally = Tally::default();
    for edited in edits(TURNS) {
        if let Some(program) = parsed(&edited, &[]) {
            compare(&program, &edited, &mut tally);
        }
    }
    println!("slices: {tally:?}");
    assert!(tally.proved_by_slices > 0 && tally.cut_and_violated > 5, "{tally:?}");
}

fn files(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder of the repository") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            // What proves the library says the same as the stories, and takes minutes.
            if path.file_name().is_none_or(|name| name != "lib") {
                files(&path, into);
            }
        } else if path.extension().is_some_and(|extension| extension == "fence")
            && !path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('_'))
        {
            into.push(path);
        }
    }
}

#[test]
#[expect(clippy::print_stdout, reason = "the suite says how much it compared")]
fn the_repository_s_kernels_agree() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut found = Vec::new();
    files(&root.join("examples"), &mut found);
    files(&root.join("tests/rules"), &mut found);
    found.sort();
    let mut tally = Tally::default();
    for path in found {
        let program = load(&path);
        // Slices of fewer threads are most of the whole, which then is looked at at once.
        let mut launches = program.kernels.iter().flat_map(|kernel| &kernel.launches);
        if launches.any(|launch| launch.ctas * launch.warps * launch.lanes >= 8) {
            compare(&program, &path.display().to_string(), &mut tally);
        }
    }
    println!("slices: {tally:?}");
    assert!(tally.proved_by_slices > 0 && tally.compared > 50, "{tally:?}");
}

/// Statements of a body; THERE is a neighbour's number, PHASE a parity.
const STATEMENTS: &[&str] = &[
    "st.weak.shared.u32 [x[tid]], ROUND;",
    "st.weak.shared.u32 [x[THERE]], ROUND;",
    "let rID = ld.weak.shared.u32 [x[tid]];",
    "let rID = ld.weak.shared.u32 [x[THERE]];",
    "let rID = ld.weak.shared.u32 [x[THERE]]; assert rID <= ROUND;",
    "let rID = ld.weak.shared.u32 [x[THERE]]; assert rID == ROUND;",
    "bar.sync 0;",
    "bar.sync 0;",
    "bar.sync 1, 32 * W;",
    "if warpid == 0 { bar.arrive 2, 32 * W; } else { bar.sync 2, 32 * W; }",
    "bar.sync warpid + 3, 32;",
    "fence.acq_rel.cta;",
    "st.relaxed.cta.shared.u32 [y[tid]], ROUND;",
    "st.release.cta.shared.u32 [y[tid]], ROUND;",
    "let rID = ld.acquire.cta.shared.u32 [y[THERE]]; if rID == ROUND { let sID = ld.weak.shared.u32 [x[THERE]]; }",
    "await ld.acquire.cta.shared.u32 [y[THERE]] == ROUND;",
    "mbarrier.arrive.release.cta.shared::cta.b64 _, [m];",
    "mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [m];",
    "await mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 [m], PHASE;",
    "await mbarrier.try_wait.parity.relaxed.cta.shared::cta.b64 [m], PHASE;",
    "if tid == 0 { st.weak.shared.u32 [x[0]], ROUND; }",
    "if tid != 3 { st.weak.shared.u32 [x[tid]], ROUND + 1; }",
    "let rID = atom.add.relaxed.cta.shared.u32 [y[tid]], 1;",
];

/// A kernel of 16 or 18 threads, of which the first initialises an mbarrier for all.
fn random_kernel(numbers: &mut Numbers) -> String {
    let n = 16 + 2 * numbers.below(2);
    let there =
        numbers.of(&["(tid + 1) % N", "(tid + 1) % N", "tid ^ 1", "tid / 2 * 2", "(tid + N - 1) % N"]);
    let mut body = String::new();
    for at in 0..3 + numbers.below(5) {
        let statement = numbers.of(STATEMENTS).replace("THERE", there).replace("ID", &at.to_string());
        let round = (1 + numbers.below(2)).to_string();
        body += &format!(
            "    {}\n",
            statement.replace("ROUND", &round).replace("PHASE", numbers.of(&["0", "0", "1"]))
        );
    }
    let all_bodies =
        if numbers.below(3) == 0 { format!("    for i in 0..2 {{\n{body}    }}\n") } else { body };
    let n_warps = 1 + numbers.below(2);
    format!(
        "const N = {n};\nconst W = {n_warps};\nkernel k {{\n    launch {{ warps: W, lanes: N / W }}\n    shared x[N]: u32 = 0;\n    shared y[N]: u32 = 0;\n    \
         shared m: mbarrier;\n    if tid == 0 {{\n        mbarrier.init.shared::cta.b64 [m], {};\n    }}\n    {}\n{all_bodies}}}\n",
        numbers.of(&["N", "N", "N", "N - 1"]),
        numbers.of(&["bar.sync 0;", "bar.sync 0;", "bar.sync 0;", ""]),
    )
}

/// What is worth knowing of the kernels, by what shows it.
const FEATURES: &[(&str, &str)] = &[
    ("waits at an mbarrier", "await mbarrier"),
    ("waits for memory", "await ld"),
    ("assertions", "assert"),
    ("a loop", "for i"),
    ("a barrier of all by a number", "bar.sync 1"),
    ("a barrier of each warp", "bar.sync warpid"),
    ("branches on a value read", "let s"),
];

#[test]
fn random_kernels_agree() {
    let plan = Plan { n_programs: 200, first_seed: 0, salt: 23, n_memory_max: 0, progress: false };
    let used = "cut into slices";
    let results = [used, "violated", "proved"];
    let suite = Suite { set_aside_max: 30, one_in: 100, ..Suite::new("slices", plan, FEATURES, &results) };
    let is_used = |found: &Outcome, _: &Outcome| is_cut(found);
    let (on, off) = (Treatment::SLICED, Treatment::WHOLE);
    Switched { kernel: random_kernel, on, off, used, is_used }.agree(&suite, FEATURES);
}
