//! What the litmus format means, on texts of a few lines; and the corpus of `litmus/` with every optimisation off in turn.
//! (What is expected of the corpus itself, `corpus.rs` checks.)

use fencepost::encode::Treatment;
use fencepost::verdict::{Property, Verdict};
use fencepost_dsl::{SourceMap, litmus};
use fencepost_tests::litmus::{answers, both_properties, files, outcome, shipped_model};
use std::path::{Path, PathBuf};

fn own_files() -> Vec<PathBuf> {
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("litmus"))
}

fn own_file(name: &str) -> PathBuf {
    own_files().into_iter().find(|path| path.ends_with(name)).expect("the file is there")
}

#[test]
fn no_optimisation_changes_an_answer() {
    let model = shipped_model("ptx").expect("the default model is there");
    let files = own_files();
    assert!(files.len() > 100, "only {} files", files.len());
    for file in files {
        let usual = answers(&file, &model).expect("the corpus is supported");
        for (name, treatment) in Treatment::ONE_OFF {
            let config = fencepost::check::Config { treatment: *treatment, ..both_properties() };
            let outcome = outcome(&file, &model, &config).expect("the corpus is supported");
            let holds = outcome.condition.as_ref().and_then(|result| result.holds);
            let race = fencepost_tests::run::verdict(&outcome, Property::Race);
            assert_eq!((holds, race), (usual.condition, usual.race), "{} with {name}", file.display());
        }
    }
}

#[test]
fn spin_loops_need_no_bound() {
    let model = shipped_model("ptx").expect("the default model is there");
    let outcome =
        outcome(&own_file("spin-lock.litmus"), &model, &both_properties()).expect("it is supported");
    assert_eq!(outcome.verdict, Verdict::Proved);
    assert!(outcome.open_loops.is_empty());
}

#[test]
fn the_state_found_satisfies_the_condition() {
    let model = shipped_model("ptx").expect("the default model is there");
    let outcome =
        outcome(&own_file("sb-relaxed.litmus"), &model, &both_properties()).expect("it is supported");
    let goal = outcome.graph.condition.as_ref().expect("a litmus test has a condition");
    let result = outcome.condition.as_ref().expect("it was asked for");
    let witness = result.witness.as_ref().expect("the state is reachable");
    let state: Vec<(&str, u128)> =
        goal.values.iter().map(|(name, term)| (name.as_str(), witness.values[*term])).collect();
    assert_eq!(state, [("P0:r1", 0), ("P1:r1", 0)]);
}

/// What `condition` came to for a text.
fn holds(text: &str) -> Option<bool> {
    let mut read = |_: &str| Ok(text.to_owned());
    let program = litmus::load(&mut SourceMap::default(), "test.litmus", &mut read)
        .unwrap_or_else(|errors| panic!("{errors:#?}\n{text}"));
    let model = shipped_model("ptx").expect("the default model is there");
    let kernel = &program.kernels[0];
    let outcome = fencepost::check::check(&program, kernel, &kernel.launches[0], &model, &both_properties())
        .unwrap_or_else(|error| panic!("{error}\n{text}"));
    outcome.condition.expect("it was asked for").holds
}

/// One thread, its rows, and a condition.
fn alone(rows: &[&str], condition: &str) -> Option<bool> {
    let rows: String = rows.iter().map(|row| format!("{row} ;\n")).collect();
    holds(&format!("PTX alone\n{{ x = 0; }}\nP0@cta 0,gpu 0 ;\n{rows}{condition}"))
}

#[test]
fn conditional_jumps_compare_signed() {
    let jumps = [
        ("beq", [false, true, false]),
        ("bne", [true, false, true]),
        ("blt", [true, false, false]),
        ("ble", [true, true, false]),
        ("bgt", [false, false, true]),
        ("bge", [false, true, true]),
    ];
    for (opcode, expected) in jumps {
        for (value, taken) in ["-3", "-2", "1"].into_iter().zip(expected) {
            let jump = format!("{opcode} r1, -2, LC00");
            let rows = [&format!("ld r1, {value}"), jump.as_str(), "ld r2, 1", "LC00:"];
            let condition = format!("forall (P0:r2 == {})", u8::from(!taken));
            assert_eq!(alone(&rows, &condition), Some(true), "{opcode} {value}");
        }
    }
}

#[test]
fn quantifiers_and_filters_mean_what_they_say() {
    let two = |condition: &str| {
        holds(&format!(
            "PTX two\n{{ x = 0; }}\nP0@cta 0,gpu 0 | P1@cta 0,gpu 0 ;\n\
             st.relaxed.cta x, 1 | ld.relaxed.cta r1, x ;\n{condition}"
        ))
    };
    assert_eq!(two("exists (P1:r1 == 1)"), Some(true));
    assert_eq!(two("exists (P1:r1 == 2)"), Some(false));
    assert_eq!(two("~exists (P1:r1 == 2)"), Some(true));
    assert_eq!(two("not exists (P1:r1 == 1)"), Some(false));
    assert_eq!(two("forall (P1:r1 == 1)"), Some(false));
    assert_eq!(two("forall (P1:r1 == 1 \\/ P1:r1 == 0 /\\ x == 1)"), Some(true));
    assert_eq!(two("filter (P1:r1 != 0) forall (1:r1 == x)"), Some(true));
    assert_eq!(two("filter (P1:r1 == 2) exists (0 == 0)"), Some(false));
}

#[test]
fn loops_beyond_the_bound_leave_exists_open_and_forall_bounded() {
    // Each round changes a register and memory, so this is no spin; other threads never end it.
    let endless = ["LC00:", "atom.relaxed.gpu.add r1, x, 1", "add r2, r2, r1", "bne r1, -1, LC00"];
    assert_eq!(alone(&endless, "exists (P0:r1 == -1)"), None);
    assert_eq!(alone(&endless, "forall (P0:r1 == -1)"), Some(true));
}

#[test]
fn a_count_of_more_threads_than_there_are_is_never_reached() {
    let rows = ["bar.cta.sync 0, 1, 2", "ld r1, 1"];
    assert_eq!(alone(&rows, "exists (0 == 0)"), Some(false));
    let rows = ["bar.cta.sync 0, 1, 1", "ld r1, 1"];
    assert_eq!(alone(&rows, "exists (P0:r1 == 1)"), Some(true));
}
