//! Sizes of the problems Fencepost states, as snapshots: a change in the encoding shows here before it shows in time.
//!
//! `sizes/expected.txt` lists events, open goals, variables, clauses and solver calls of every kernel of `sizes/`; `BLESS=1 cargo test
//! --test sizes` rewrites it.

use fencepost::encode::Treatment;
use fencepost_tests::run::{config, model, outcomes};
use std::fmt::Write;
use std::path::Path;

#[test]
fn sizes() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("sizes");
    let mut files: Vec<_> = std::fs::read_dir(&folder)
        .expect("the folder is part of the package")
        .map(|entry| entry.expect("readable").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "fence"))
        .collect();
    files.sort();
    let (model, config) = (model(&[]), config(Treatment::DEFAULT));
    let mut found =
        String::from("kernel                    verdict    events  goals  variables  clauses  calls\n");
    for path in files {
        let text = std::fs::read_to_string(&path).expect("readable");
        let name = path.file_stem().expect("a file has a name").to_string_lossy().into_owned();
        for outcome in outcomes(&text, &model, &config) {
            let sizes = &outcome.statistics;
            writeln!(
                found,
                "{name:<25} {:<10} {:>6} {:>6} {:>10} {:>8} {:>6}",
                outcome.verdict.name(),
                sizes.events,
                sizes.open_goals,
                sizes.variables,
                sizes.clauses,
                sizes.solver_calls
            )
            .expect("writing to a string cannot fail");
        }
    }
    let expected = folder.join("expected.txt");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&expected, &found).expect("writable");
    }
    let known = std::fs::read_to_string(&expected).unwrap_or_default();
    assert_eq!(found, known, "sizes changed; if that is meant, run with BLESS=1");
}
