//! What a run says where an optimisation was off for something that it needs.

#[path = "cli/support.rs"]
#[expect(dead_code, reason = "other suites use the rest")]
mod support;

use std::path::{Path, PathBuf};
use support::{Folder, all_text, check, code};

const SPIN: &str = "kernel k {
    launch { ctas: 2, cooperative: true }
    global x: u32 = 0;
    if ctaid == 0 { st.release.gpu [x], 3; } else { await (atom.add.relaxed.gpu.u32 [x], 0) == 3; }
}";

/// The spin, and the default model with an axiom more.
fn written(folder: &Folder, axiom: &str) -> (PathBuf, String) {
    let kernel = folder.write("k.fence", SPIN);
    let model = folder.write("own.cat", format!("\"own\"\ninclude \"ptx.cat\"\n{axiom}\n"));
    (kernel, model.to_str().expect("the temporary folder has a plain name").to_owned())
}

/// What a check of its assertions with counts says, on one line.
fn stats_with(kernel: &Path, model: &str) -> String {
    let output = check(kernel, &["--property", "assert", "--allow-bounded", "--stats", "--model", model]);
    let text = all_text(&output).split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(code(&output), 0, "{text}");
    text
}

#[test]
fn a_round_that_writes_back_a_word_that_is_raced_for_counts() {
    let folder = Folder::new("writes-back");
    let racy = folder.write("k.fence", SPIN.replace("st.release.gpu", "st.weak"));
    let output = check(&racy, &["--property", "assert", "--allow-bounded", "--stats"]);
    let text = all_text(&output).split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(code(&output), 0, "{text}");
    for said in [
        "a round can write back at",
        "others may race for that word, so each round counts",
        "off: waits-that-write (needs no race for the word: others may race for the word of `atom",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
    let fine = folder.write("fine.fence", SPIN);
    let output = check(&fine, &["--property", "assert", "--stats"]);
    assert_eq!(code(&output), 0);
    assert!(!all_text(&output).contains("off:"), "{}", all_text(&output));
}

#[test]
fn what_is_off_for_a_need_is_said_in_every_form() {
    let folder = Folder::new("needs");
    let (kernel, model) = written(&folder, "empty ((W & REL) \\ domain(rf)) as every-release-is-read");
    let text = stats_with(&kernel, &model);
    for said in [
        "the model does not allow it (`--stats` says why)",
        "off: waits (needs monotone axioms: axiom `every-release-is-read` may forbid more where less happens)",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
    let output =
        check(&kernel, &["--property", "assert", "--allow-bounded", "--format", "json", "--model", &model]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("\"off\":[{\"deduction\":\"waits\",\"need\":\"monotone axioms\""), "{text}");
    let output = check(&kernel, &["--property", "assert", "--format", "json"]);
    assert!(
        !String::from_utf8_lossy(&output.stdout).contains("\"off\""),
        "nothing is off with the default model"
    );
}

#[test]
fn a_round_that_writes_back_counts_if_the_model_says_so() {
    let folder = Folder::new("reads");
    let (kernel, model) = written(&folder, "empty (rf & ((W & REL) * (R \\ ATOM))) as atomics-read-releases");
    let text = stats_with(&kernel, &model);
    for said in [
        "which the model does not allow to leave out (`--stats` says why), so each round counts",
        "off: waits-that-write (needs reads through updates: `atomics-read-releases` says something of its own about \
         who reads from whom)",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
    assert!(!text.contains("others may race for that word"), "{text}");
}
