//! Programs of others on what is exported, and another solver in place of ours: `drat-trim`, `lrat-check`, `cake_lpr` and
//! `cadical`, each where it is installed; where it is not, the suite says so.

#[path = "cli/support.rs"]
#[expect(dead_code, reason = "other suites use the rest")]
mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use support::{Folder, all_text, check, code};

/// Kernels whose certificates have goals, loops, several questions of one formula, and a barrier.
const KERNELS: [(&str, &str); 4] = [
    (
        "message",
        "kernel k { launch { ctas: 2 } global d: u32 = 0; global f: u32 = 0;
         if ctaid == 0 { st.relaxed.gpu [d], 1; st.release.gpu [f], 1; }
         else { let v = ld.acquire.gpu [f]; let w = ld.relaxed.gpu [d]; assert v == 0 || w == 1; } }",
    ),
    (
        "lock",
        "kernel k { launch { ctas: 3 } global lock: u32 = 0; global n: u32 = 0;
         await (atom.acquire.gpu.cas.b32 [lock], 0, 1) == 0;
         let v = ld [n]; st [n], v + 1; st.release.gpu [lock], 0; final { assert [n] == 3; } }",
    ),
    (
        "counter",
        "kernel k { launch { warps: 3 } global c: u32 = 0;
         let v = atom.relaxed.cta.inc.u32 [c], 100; assert v <= 2; final { assert [c] == 3; } }",
    ),
    (
        "rounds",
        "kernel k(N in 1..=2) { launch { warps: 2 } shared s[2]: u32 = 0;
         for i in 0..N { st [s[warpid]], i; bar.sync 0; assert ld [s[1 - warpid]] == i; bar.sync 0; } }",
    ),
];

/// Where a program is, if it is installed.
fn installed(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// The exported questions of a kernel: formula, DRAT and LRAT of each.
fn exported(folder: &Folder, name: &str, kernel: &str) -> Vec<[PathBuf; 3]> {
    let text = |path: &Path| path.to_str().expect("it is text").to_owned();
    let file = folder.write(&format!("{name}.fence"), kernel);
    let (proofs, plain) = (text(&folder.0.join(format!("{name}-proofs"))), folder.0.join(name));
    let output = check(&file, &["--certificate", &proofs]);
    assert_eq!(code(&output), 0, "{name}: {}", all_text(&output));
    let output = Command::new(env!("CARGO_BIN_EXE_fencepost"))
        .args(["verify", &proofs, "--export", &text(&plain)])
        .output()
        .expect("the command starts");
    assert_eq!(code(&output), 0, "{name}: {}", all_text(&output));
    let mut formulas = Vec::new();
    for inside in fs::read_dir(&plain).expect("it is there").flatten() {
        for file in fs::read_dir(inside.path()).expect("it is there").flatten() {
            let path = file.path();
            if path.extension().is_some_and(|ending| ending == "cnf") {
                formulas.push([path.clone(), path.with_extension("drat"), path.with_extension("lrat")]);
            }
        }
    }
    formulas.sort();
    formulas
}

#[test]
#[expect(clippy::print_stdout, reason = "the suite says what it could not look at, and how many")]
fn other_checkers_accept_what_is_exported() {
    // A program, which of the files it reads, and what it says at the end.
    let checkers =
        [("drat-trim", 1, "s VERIFIED"), ("lrat-check", 2, "VERIFIED"), ("cake_lpr", 2, "s VERIFIED UNSAT")];
    let folder = Folder::new("outside-checkers");
    let questions: Vec<[PathBuf; 3]> =
        KERNELS.iter().flat_map(|(name, kernel)| exported(&folder, name, kernel)).collect();
    assert!(questions.len() >= KERNELS.len(), "{questions:?}");
    // No clause has a literal twice, which some take for two.
    for file in questions.iter().flatten() {
        for line in fs::read_to_string(file).expect("it was written").lines() {
            let is_lrat = file.extension().is_some_and(|ending| ending == "lrat");
            let words = line.split(' ').skip(usize::from(is_lrat)).take_while(|word| *word != "0");
            let mut literals: Vec<&str> = words.collect();
            let n = literals.len();
            literals.sort_unstable();
            literals.dedup();
            assert!(literals.len() == n || line.starts_with(['c', 'p']), "{}: {line}", file.display());
        }
    }
    for (name, proof, says) in checkers {
        let Some(program) = installed(name) else {
            println!("`{name}` is not installed: it was not asked");
            continue;
        };
        for files in &questions {
            // What is more than these megabytes is not there on every machine.
            let output = Command::new(&program)
                .args([&files[0], &files[proof]])
                .envs([("CML_HEAP_SIZE", "500"), ("CML_STACK_SIZE", "200")])
                .output()
                .expect("the command starts");
            assert!(
                all_text(&output).contains(says),
                "{name}: {}: {}",
                files[0].display(),
                all_text(&output)
            );
        }
        println!("`{name}` accepts {} proofs", questions.len());
    }
}

#[test]
#[expect(clippy::print_stdout, reason = "the suite says what it could not look at")]
fn cadical_decides_with_proofs_that_are_followed() {
    if installed("cadical").is_none() {
        println!("`cadical` is not installed: it was not asked");
        return;
    }
    let folder = Folder::new("cadical");
    for (name, kernel) in KERNELS {
        let file = folder.write(&format!("{name}.fence"), kernel);
        let output = check(&file, &["--solver-command", "cadical -q --no-binary {cnf} {proof}"]);
        assert_eq!(code(&output), 0, "{name}: {}", all_text(&output));
        assert!(all_text(&output).contains("proved"), "{name}: {}", all_text(&output));
    }
    let racy = folder.write("racy.fence", "kernel k { launch { warps: 2 } shared x: u32 = 0; st [x], tid; }");
    let output = check(&racy, &["--solver-command", "cadical -q --no-binary {cnf} {proof}"]);
    assert_eq!(code(&output), 1, "{}", all_text(&output));
}
