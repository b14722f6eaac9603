//! Kernels as PTX, and back: what is written is read again with the same verdict and the same synchronization, an assembler takes
//! it, and the program for a GPU is C++.

#![expect(clippy::print_stderr, reason = "what is not tested is said")]

use fencepost::check::{Config, check as check_launch};
use fencepost::compare::{Side, compare};
use fencepost::encode::Treatment;
use fencepost::models::Model;
use fencepost::stress::Stress;
use fencepost::work::Allowance;
use fencepost::{Options, Source, Verdict, check, library};
use fencepost_dsl::kernel::program::{Kernel, Launch, Program};
use fencepost_dsl::kernel::{Assembled, LoadOptions, Purpose, assemble, load};
use fencepost_dsl::{Diagnostic, SourceMap, Span};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

struct File {
    sources: SourceMap,
    program: Program,
}

impl File {
    fn read(path: &str, texts: &[(&str, &str)]) -> Result<Self, Vec<Diagnostic>> {
        let mut sources = SourceMap::default();
        let mut read = library::with(|asked: &str| match texts.iter().find(|(name, _)| *name == asked) {
            Some((_, text)) => Ok((*text).to_owned()),
            None => fs::read_to_string(root().join(asked)).map_err(|error| error.to_string()),
        });
        let program = load(&mut sources, path, &mut read, &LoadOptions::default())?;
        Ok(Self { sources, program })
    }

    fn kernel(&self) -> &Kernel {
        &self.program.kernels[0]
    }

    fn assembled(&self, purpose: Purpose) -> Result<Assembled, Vec<Diagnostic>> {
        let line = |span: Span| {
            Some((self.sources.file(span.file).name.clone(), self.sources.line_column(span).line))
        };
        let kernel = self.kernel();
        assemble(&self.program, kernel, &kernel.launches[0], (purpose, &line))
    }
}

fn verdict(path: &str, texts: &[(&str, &str)]) -> (Verdict, BTreeSet<&'static str>) {
    let text = texts.iter().find(|(name, _)| *name == path).map(|(_, text)| (*text).to_owned());
    let text = text.unwrap_or_else(|| fs::read_to_string(root().join(path)).expect("it is there"));
    let mut source = Source::text(path, text);
    for (name, text) in texts.iter().filter(|(name, _)| *name != path) {
        source = source.with(*name, *text);
    }
    let report = check(source, &Options::default()).unwrap_or_else(|error| panic!("{path}: {error}"));
    (report.verdict(), report.findings().map(|finding| finding.code).collect())
}

/// The kernel file that reads a module again.
fn harness(made: &Assembled) -> String {
    made.harness.replace("MODULE", "k.ptx")
}

#[test]
fn what_is_written_is_read_again_with_the_same_verdict() {
    let mut verdicts = BTreeSet::new();
    for path in [
        "tests/compare/spin_lock.fence",
        "tests/compare/message.fence",
        "tests/compare/fences.fence",
        "tests/compare/dekker.fence",
        "tests/compare/grid_sync.fence",
        "tests/compare/dsmem.fence",
        "tests/compare/cp_async.fence",
        "tests/compare/barrier_pc.fence",
        "tests/compare/ws_ring.fence",
        "tests/compare/row_sum.fence",
        "examples/cas-lock/acquire-release.fence",
        "examples/cas-lock/relaxed-release.fence",
        "examples/cas-lock/relaxed-acquire.fence",
        "examples/cas-lock/cta-scope.fence",
        "examples/ticket-lock/relaxed-acquire.fence",
        "examples/message-passing/release-acquire.fence",
        "examples/message-passing/cta-scope.fence",
        "examples/message-passing/no-acquire.fence",
        "examples/cp-async-producer/arrive-before-copy.fence",
        "examples/cp-async-producer/noinc.fence",
        "examples/grid-sync/bit-31.fence",
        "examples/grid-sync/no-barrier-after.fence",
        "examples/lock-without-fences/no-closing-fence.fence",
    ] {
        let file = File::read(path, &[]).unwrap_or_else(|errors| panic!("{path}: {}", errors[0].message));
        let made = file.assembled(Purpose::Kernel);
        let made = made.unwrap_or_else(|errors| panic!("{path}: {}", errors[0].message));
        let whole = harness(&made);
        let texts = [("k.fence", whole.as_str()), ("k.ptx", made.text.as_str())];
        let (first, again) = (verdict(path, &[]), verdict("k.fence", &texts));
        assert_eq!(first, again, "{path}:\n{}\n{}", made.text, whole);
        verdicts.insert(format!("{:?}", first.0));
        let read = File::read("k.fence", &texts).unwrap_or_else(|errors| panic!("{}", errors[0].message));
        let (ours, theirs) = (&file.kernel().launches[0], &read.kernel().launches[0]);
        let found = compare(&side(&file, ours), &side(&read, theirs), &Allowance::unlimited());
        let found = found.unwrap_or_else(|refusal| panic!("{path}: {refusal:?}"));
        assert!(found.agrees(), "{path}: {:#?}", found.roles);
    }
    assert!(verdicts.len() >= 2, "{verdicts:?}");
}

fn side<'a>(file: &'a File, launch: &'a Launch) -> Side<'a> {
    Side { program: &file.program, kernel: file.kernel(), launch, unroll: 2, max_events: 1_000_000 }
}

/// A kernel has a verdict, and so has what is written of it.
fn is_what_is_written(text: &str, expected: Verdict) {
    let texts = [("k.fence", text)];
    let file = File::read("k.fence", &texts).unwrap_or_else(|errors| panic!("{}", errors[0].message));
    let made = file.assembled(Purpose::Kernel).unwrap_or_else(|errors| panic!("{}", errors[0].message));
    let whole = harness(&made);
    let again = verdict("k.fence", &[("k.fence", whole.as_str()), ("k.ptx", made.text.as_str())]);
    assert_eq!((verdict("k.fence", &texts).0, again.0), (expected, expected), "{}", made.text);
}

/// What is written is launched along one axis; where a thread is along several is computed, also behind a branch.
#[test]
fn axes_are_computed_from_the_one_that_is_launched() {
    let ours = |second: u32| {
        format!(
            "global out[64]: u32 = 0;
            kernel k {{
                launch {{ block: [8, 4, 2], grid: [1, 2, 1] }}
                if ctaid.y == 1 {{
                    if tid.z == 1 {{ st.weak [out[32 + tid.y * ntid.x + tid.x]], tid.y * 10 + tid.x; }}
                    else {{ st.weak [out[tid.y * 8 + tid.x]], tid.y * 10 + tid.x; }}
                }}
                final {{ assert [out[9]] == 11 && [out[63]] == {second} && nctaid.y == 2; }}
            }}"
        )
    };
    for (second, expected) in [(37, Verdict::Proved), (38, Verdict::Violated)] {
        let text = ours(second);
        is_what_is_written(&text, expected);
    }
}

/// Clusters that lie along two axes are launched along one, and say themselves where each CTA is.
#[test]
fn clusters_of_two_axes_are_launched_along_one() {
    let ours = |third: u32| {
        format!(
            "//! target sm_90
            global out[8]: u32 = 0;
            kernel k {{
                launch {{ grid: [4, 2], cluster: [2, 2] }}
                shared box: u32;
                barrier.cluster.arrive; barrier.cluster.wait;
                st.weak.shared::cluster.u32 [mapa(box, cluster_ctarank ^ 2)], ctaid.x * 10 + ctaid.y;
                barrier.cluster.arrive; barrier.cluster.wait;
                let v = ld.weak.shared::cta.u32 [box];
                st.weak [out[ctaid]], v + 100 * clusterid.x + 1000 * cluster_ctaid.y;
                final {{ assert [out[0]] == 1 && [out[3]] == {third} && [out[6]] == 1120; }}
            }}"
        )
    };
    for (third, expected) in [(131, Verdict::Proved), (130, Verdict::Violated)] {
        let text = ours(third);
        is_what_is_written(&text, expected);
    }
}

/// A harness says which conditions it has not.
#[test]
fn a_condition_that_a_harness_cannot_say_is_named() {
    let text = "global x: u32 = 0;
kernel k {
    launch { block: 2 }
    shared s: u32 = 0;
    st.relaxed.cta [x], 1;
    st.relaxed.cta [s], 1;
    final { assert [x] == ntid - 1; }
    final { assert [s] == 1; }
}";
    let file =
        File::read("k.fence", &[("k.fence", text)]).unwrap_or_else(|errors| panic!("{}", errors[0].message));
    let made = file.assembled(Purpose::Kernel).unwrap_or_else(|errors| panic!("{}", errors[0].message));
    assert!(made.harness.contains("    final { assert ([x] == (2 - 1)); }\n"), "{}", made.harness);
    assert!(made.harness.contains("    // left out: the `assert` of line 8, which"), "{}", made.harness);
}

/// What is a loop with a counter is one of jumps to whoever reads it again; with a wait in it, its end is not always seen.
#[test]
fn what_is_proved_stays_proved_up_to_a_bound_at_least() {
    for path in ["tests/compare/ticket_lock.fence", "tests/compare/seqlock.fence"] {
        let file = File::read(path, &[]).unwrap_or_else(|errors| panic!("{path}: {}", errors[0].message));
        let made = file.assembled(Purpose::Kernel).unwrap_or_else(|errors| panic!("{}", errors[0].message));
        let whole = harness(&made);
        let again = verdict("k.fence", &[("k.fence", whole.as_str()), ("k.ptx", made.text.as_str())]);
        assert!(matches!(again.0, Verdict::Proved | Verdict::ProvedUpToBound), "{path}: {again:?}");
    }
}

/// All kernel files of a folder, by their paths from the root.
fn kernel_files(folder: &str) -> Vec<String> {
    let (files, bad) = fencepost::paths::kernel_files(&[root().join(folder)]);
    assert!(bad.is_empty(), "{bad:?}");
    let root = root();
    let name = |path: &Path| path.strip_prefix(&root).expect("it is below").to_string_lossy().into_owned();
    files.iter().filter(|file| !file.is_litmus()).map(|file| name(&file.path)).collect()
}

#[test]
fn every_example_is_written_or_refused_with_a_place() {
    let (mut n_written, mut refused) = (0, BTreeSet::new());
    for path in kernel_files("examples") {
        let file = File::read(&path, &[]).unwrap_or_else(|errors| panic!("{path}: {}", errors[0].message));
        if file.program.kernels.is_empty() {
            continue;
        }
        for purpose in [Purpose::Kernel, Purpose::Stress] {
            match file.assembled(purpose) {
                Ok(made) => {
                    n_written += 1;
                    assert!(made.text.contains(".visible .entry"), "{path}");
                }
                Err(errors) => {
                    for error in &errors {
                        assert!(error.code.starts_with("unsupported::"), "{path}: {}", error.code);
                        assert!(!file.sources.text(error.span()).is_empty(), "{path}: {}", error.message);
                    }
                    refused.insert(path.clone());
                }
            }
        }
    }
    assert!(n_written > 900, "{n_written}");
    assert!(refused.len() < 310, "{}", refused.len());
}

#[test]
fn an_assembler_takes_what_is_written() {
    let Some(assembler) = std::env::var_os("FENCEPOST_PTXAS") else {
        eprintln!("FENCEPOST_PTXAS is not set: no assembler to ask");
        return;
    };
    let folder = std::env::temp_dir().join(format!("fencepost-assemble-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("the temporary folder is writable");
    let (mut refused, mut n) = (Vec::new(), 0);
    for path in kernel_files("examples").into_iter().chain(kernel_files("tests/compare")) {
        let file = File::read(&path, &[]).unwrap_or_else(|errors| panic!("{path}: {}", errors[0].message));
        if file.program.kernels.is_empty() {
            continue;
        }
        for purpose in [Purpose::Kernel, Purpose::Stress] {
            let Ok(made) = file.assembled(purpose) else { continue };
            let module = folder.join("k.ptx");
            fs::write(&module, &made.text).expect("the temporary folder is writable");
            let target =
                made.text.lines().find_map(|line| line.strip_prefix(".target ")).expect("it has one");
            // The oldest that assemblers of today know.
            let target = if target == "sm_70" { "sm_75" } else { target };
            let output = Command::new(&assembler)
                .args(["-O0", "-arch", target, "-o", "/dev/null"])
                .arg(&module)
                .output()
                .unwrap_or_else(|error| panic!("{}: {error}", assembler.display()));
            n += 1;
            if !output.status.success() {
                let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
                refused.push(format!("{path} ({purpose:?}): {}", said.lines().next().unwrap_or_default()));
            }
        }
    }
    fs::remove_dir_all(&folder).expect("it was written here");
    assert!(n > 900, "{n}");
    assert!(refused.is_empty(), "{} of {n}:\n{}", refused.len(), refused.join("\n"));
}

#[test]
fn what_ptx_cannot_say_is_unsupported() {
    for (text, says) in [
        ("kernel k { assume tid == 0; }", "an `assume`"),
        ("kernel k { launch { gpus: 2 } global x: u32; st [x], 1; }", "a launch on several devices"),
        ("kernel k { global x: u32; global y: u32 alias x; st [y], 1; }", "`y`"),
        ("global x: u32 = 0; kernel a { st [x], 1; } program p { stream s; launch a on s; }", "a program"),
        ("kernel k { launch { ctas: 2, cluster: 2 } shared x: u32 = 1; st [x], 2; }", "in a cluster"),
        ("kernel k { register acc: u32; mov.b32 acc, 1; }", "`acc`"),
    ] {
        let file = match File::read("k.fence", &[("k.fence", text)]) {
            Ok(file) => file,
            Err(errors) => panic!("{text}: {}", errors[0].message),
        };
        let errors = file.assembled(Purpose::Kernel).expect_err(text);
        assert!(errors.iter().any(|error| error.message.contains(says)), "{text}: {}", errors[0].message);
        assert_eq!(errors[0].code, "unsupported::emit", "{text}");
    }
}

/// The program for a GPU, of the first kernel of a file.
fn stress(path: &str, text: &str) -> String {
    let file = File::read(path, &[(path, text)]).unwrap_or_else(|errors| panic!("{}", errors[0].message));
    let module = file.assembled(Purpose::Stress).unwrap_or_else(|errors| panic!("{}", errors[0].message));
    let model = Model::load(&mut SourceMap::default(), "ptx", &[], &mut |_| Err("no files".to_owned()));
    let model = model.unwrap_or_else(|errors| panic!("{}", errors[0].message));
    let (kernel, config) = (file.kernel(), Config::without_deadline(Treatment::DEFAULT));
    let outcome = check_launch(&file.program, kernel, &kernel.launches[0], &model.resolved, &config);
    let outcome = outcome.unwrap_or_else(|error| panic!("{error}"));
    let launch = &kernel.launches[0];
    Stress { module: &module, kernel, launch, outcome: Some(&outcome), sources: &file.sources, file: path }
        .text()
}

const MESSAGE: &str = "\
kernel message(N in 1..=2) {
    launch { ctas: 2 }
    global data: u32 = 0;
    global flag: u32 = 0;
    if ctaid == 0 {
        st.weak [data], 7 + N;
        st.relaxed.gpu [flag], 1;
    } else {
        let seen = ld.acquire.gpu [flag];
        if seen == 1 {
            let v = ld.weak [data];
            assert v == 7 + N;
        }
    }
    final { assert [data] == 7 + N || [flag] <= 1; }
}
";

/// A GPU is not at hand, but its module can be read: one instance with the memory that the program gives it.
#[test]
fn the_module_of_a_stress_test_does_what_the_kernel_does() {
    for (text, is_proved) in
        [(MESSAGE.to_owned(), false), (MESSAGE.replace("st.relaxed.gpu", "st.release.gpu"), true)]
    {
        let file = File::read("message.fence", &[("message.fence", &text)]);
        let file = file.unwrap_or_else(|errors| panic!("{}", errors[0].message));
        let made = file.assembled(Purpose::Stress).unwrap_or_else(|errors| panic!("{}", errors[0].message));
        let n_values = 2 * made.observed.values.len();
        let whole = format!(
            "global data[64]: u32 = 0;\nglobal flag[64]: u32 = 0;\nglobal failed: u32 = 0;\nglobal values[{n_values}]: u64 = 0;\n\
             import \"k.ptx\" entry message as message {{\n    launch {{ ctas: 2, block: 1 }}\n    param 0 = &data;\n    \
             param 1 = &flag;\n    param 2 = &failed;\n    param 3 = &values;\n    param 4 = 7;\n    param 5 = 1023;\n    \
             param 6 in 1..=2;\n    final {{ assert [failed] == 0 && [values[0]] == 0 && [values[{}]] <= 2; }}\n}}\n",
            n_values / 2
        );
        let found = verdict("k.fence", &[("k.fence", whole.as_str()), ("k.ptx", made.text.as_str())]);
        let expected = if is_proved { Verdict::Proved } else { Verdict::Violated };
        assert_eq!(found.0, expected, "{found:?}\n{}\n{whole}", made.text);
        assert_eq!(found.1.contains("assert::final-violated"), !is_proved, "{found:?}");
    }
}

#[test]
fn the_program_for_a_gpu_is_the_same_text_each_time() {
    let text = stress("message.fence", MESSAGE);
    assert_eq!(text, stress("message.fence", MESSAGE));
    insta::assert_snapshot!("stress", text);
}

#[test]
fn the_program_for_a_gpu_is_cxx() {
    let Ok(version) = Command::new("c++").arg("--version").output() else {
        eprintln!("there is no `c++`: nobody to ask");
        return;
    };
    assert!(version.status.success(), "c++ says what it is");
    let folder = std::env::temp_dir().join(format!("fencepost-stress-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("the temporary folder is writable");
    fs::write(folder.join("cuda.h"), include_str!("assemble/cuda.h")).expect("writable");
    let ring = fs::read_to_string(root().join("examples/tma-ring/no-fence.fence")).expect("it is there");
    let lock =
        fs::read_to_string(root().join("examples/cas-lock/relaxed-release.fence")).expect("it is there");
    for (name, text) in [("message", MESSAGE), ("ring", &ring), ("lock", &lock)] {
        let program = folder.join(format!("{name}.cpp"));
        fs::write(&program, stress(&format!("{name}.fence"), text)).expect("writable");
        let output = Command::new("c++")
            .args(["-std=c++17", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-I"])
            .arg(&folder)
            .arg(&program)
            .output()
            .expect("it ran before");
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    }
    fs::remove_dir_all(&folder).expect("it was written here");
}
