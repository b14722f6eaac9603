//! The library alone says what the command line says: verdicts, assumptions, explanations and repairs.

use fencepost::check::Config;
use fencepost::examine::examine;
use fencepost::explain::repair::Texts;
use fencepost::models::{self, Model};
use fencepost::report::{Case, json};
use fencepost_dsl::kernel::{LoadOptions, load};
use fencepost_dsl::{SourceMap, litmus};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Files of the repository, and a word of what is said of each that takes more than a check.
const FILES: &[(&str, &str)] = &[
    ("examples/message-passing/relaxed.fence", "checked: with these changes nothing is violated"),
    ("examples/lsa-barrier/multimem-own-copy.fence", "with `--variant multimem-is-no-alias`"),
    ("examples/proxy-fence-halves/fence-of-the-filler.fence", "with `--variant proxy-fence-anywhere`"),
    ("examples/spa-handshake/no-membar.fence", "with `--variant control-orders-reads`"),
    ("examples/spa-handshake/one-sm.fence", "this rests on an assumption (A-51)"),
    ("tests/litmus/atomics/add-and-store.litmus", "\"quantifier\""),
];

/// The lines of a file's launches, by way of the library; times are zero.
fn by_library(root: &Path, file: &str) -> Vec<Value> {
    let mut read = |path: &str| std::fs::read_to_string(root.join(path)).map_err(|error| error.to_string());
    let mut sources = SourceMap::default();
    let program = if file.ends_with(".litmus") {
        litmus::load(&mut sources, file, &mut read)
    } else {
        load(&mut sources, file, &mut read, &LoadOptions::default())
    };
    let program = program.unwrap_or_else(|errors| panic!("{file}: {errors:?}"));
    let model = Model::shipped(models::usual(&program), &[]).expect("the model comes along");
    let texts = Texts::new(&sources, LoadOptions::default());
    let mut lines = Vec::new();
    for kernel in &program.kernels {
        for launch in &kernel.launches {
            let found = examine(&texts, &program, kernel, launch, &model, &Config::usual(kernel))
                .unwrap_or_else(|error| panic!("{file}: {error}"));
            let case = Case {
                sources: &sources,
                file,
                program: &program,
                kernel,
                model: &model.name,
                variants: &[],
                outcome: &found.outcome,
                explanations: &found.explanations,
            };
            lines.push(without_times(&json::report(&case)));
        }
    }
    lines
}

fn by_command(root: &Path, file: &str) -> Vec<Value> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fencepost"));
    let output =
        command.args(["check", "--format", "json", "--no-warnings", file]).current_dir(root).output();
    let text = String::from_utf8(output.expect("the command runs").stdout).expect("JSON is UTF-8");
    text.lines().map(without_times).collect()
}

fn without_times(line: &str) -> Value {
    let mut value: Value = serde_json::from_str(line).expect("a line is an object");
    value["stats"]["milliseconds"] = Value::Null;
    value
}

#[test]
fn the_library_alone_says_what_the_command_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for (file, word) in FILES {
        let lines = by_library(&root, file);
        assert!(lines.iter().any(|line| line.to_string().contains(word)), "{file}: {lines:?}");
        assert_eq!(lines, by_command(&root, file), "{file}");
    }
}

#[test]
fn a_model_with_a_variant_is_taken_at_its_word() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let file = "examples/spa-handshake/one-sm.fence";
    let mut read = |path: &str| std::fs::read_to_string(root.join(path)).map_err(|error| error.to_string());
    let mut sources = SourceMap::default();
    let program = load(&mut sources, file, &mut read, &LoadOptions::default());
    let program = program.unwrap_or_else(|errors| panic!("{errors:?}"));
    let kernel = &program.kernels[0];
    let texts = Texts::new(&sources, LoadOptions::default());
    let assumptions = |variants: &[String]| {
        let model = Model::shipped(models::SPA, variants).expect("it has the variant");
        let launch = &kernel.launches[0];
        let found = examine(&texts, &program, kernel, launch, &model, &Config::usual(kernel));
        found.expect("it can be checked").outcome.assumptions.len()
    };
    assert_eq!((assumptions(&[]), assumptions(&["cumulative".to_owned()])), (1, 0));
}
