//! The litmus corpus of `litmus/`: each shape as a kernel file and as a litmus test, with its exact final states and its
//! exact races under each model, and for shapes that wait whether they may do so for ever (`litmus/README.md` explains
//! the files).
//!
//! The checker must find exactly what is written, for both files of a shape; the brute-force twin must, too, where it
//! knows the program. And no axiom of the three models is there for nothing: dropping it changes what some shape does,
//! or it is listed with the reason why it cannot.
//!
//! `BLESS=1 cargo test --test corpus` rewrites the tables below the prose; what it writes is to be reviewed.

#![expect(clippy::print_stdout, reason = "the suite says how much it compared")]

#[path = "corpus/ask.rs"]
mod ask;
#[path = "corpus/axioms.rs"]
mod axioms;
#[path = "corpus/names.rs"]
mod names;
#[path = "corpus/table.rs"]
mod table;

use ask::{ask, word};
use fencepost::unroll::{UnrollOptions, unroll};
use fencepost_dsl::cat::memory_model::MemoryModel;
use fencepost_dsl::kernel::program::Program;
use fencepost_dsl::litmus;
use fencepost_dsl::{SourceMap, Span};
use fencepost_reference::{Effort, decide};
use fencepost_tests::litmus::shipped_model;
use names::Names;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use table::{Behaviour, Expectation, MODELS, State, differences};

/// Shapes that the twin does not decide, and why.
const BEYOND_THE_TWIN: &[(&str, &str)] = &[
    ("barriers/barrier-arrive", "it has no bar.arrive"),
    ("barriers/barrier-different-ids", "it has no counts"),
    ("barriers/barrier-red", "it has no bar.red"),
    ("waiting/ticket-lock", "too many tickets that might be drawn"),
    ("waiting/ticket-lock-relaxed-wait", "too many tickets that might be drawn"),
];

/// The families whose shapes say whether some fair execution hangs.
const WAITING: [&str; 2] = ["barriers/", "waiting/"];

/// One shape of the corpus.
#[derive(Clone, Debug)]
pub struct Shape {
    /// Folder and name without extension.
    pub name: String,
    /// Where its files are, without extension.
    path: PathBuf,
}

impl Shape {
    fn file(&self, extension: &str) -> PathBuf {
        self.path.with_extension(extension)
    }

    /// What is expected of it.
    pub fn expectation(&self) -> Result<Expectation, String> {
        let text = std::fs::read_to_string(self.file("expect")).map_err(|error| error.to_string())?;
        Expectation::parse(&text)
    }

    /// Its one or two forms, with their extensions.
    pub fn programs(&self) -> Result<Vec<(&'static str, Program)>, String> {
        let mut programs = Vec::new();
        for extension in ["fence", "litmus"] {
            let path = self.file(extension);
            if !path.exists() {
                continue;
            }
            let program = match extension {
                "fence" => fencepost_tests::run::load(&path),
                _ => load_litmus(&path)?,
            };
            programs.push((extension, program));
        }
        Ok(programs)
    }
}

fn load_litmus(path: &Path) -> Result<Program, String> {
    let mut read = |path: &str| std::fs::read_to_string(path).map_err(|error| error.to_string());
    litmus::load(&mut SourceMap::default(), &path.to_string_lossy(), &mut read)
        .map_err(|errors| format!("{:#?}", errors.first()))
}

/// The three models, in order of the tables' columns.
pub fn models() -> [MemoryModel; 3] {
    MODELS.map(|name| shipped_model(name).expect("it comes along"))
}

/// All shapes in order of their names.
pub fn shapes() -> Vec<Shape> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("litmus");
    let mut shapes = Vec::new();
    for (name, path) in files(&root) {
        if let Some(name) = name.strip_suffix(".expect") {
            shapes.push(Shape { name: name.to_owned(), path: path.with_extension("") });
        }
    }
    shapes
}

/// The files below a folder, with their names relative to it.
fn files(root: &Path) -> Vec<(String, PathBuf)> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("the corpus is part of the package") {
            let path = entry.expect("readable").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(root).expect("it is below").to_string_lossy().replace('\\', "/");
                found.push((name, path));
            }
        }
    }
    found.sort();
    found
}

/// Does `work` on every shape, on two threads; the complaints in order.
fn on_all(shapes: &[Shape], work: impl Fn(&Shape) -> Result<(), String> + Sync) -> Vec<String> {
    let next = AtomicUsize::new(0);
    let worker = || {
        let mut complaints = Vec::new();
        while let Some(shape) = shapes.get(next.fetch_add(1, Ordering::Relaxed)) {
            if let Err(complaint) = work(shape) {
                complaints.push(format!("{}: {complaint}", shape.name));
            }
        }
        complaints
    };
    let mut complaints: Vec<String> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..2).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("workers do not panic")).collect()
    });
    complaints.sort();
    complaints
}

/// What the checker finds, for each model; the forms of a shape must agree with each other.
fn found(shape: &Shape, expected: &Expectation, models: &[MemoryModel; 3]) -> Result<[Behaviour; 3], String> {
    let mut found: [Option<Behaviour>; 3] = [None, None, None];
    for (extension, program) in shape.programs()? {
        for (at, model) in models.iter().enumerate() {
            let answer = ask(&program, model, &expected.observed, &expected.behaviours[at])
                .map_err(|error| format!(".{extension} under {}: {error}", MODELS[at]))?;
            if at == 0 && !answer.own_claims_hold {
                return Err(format!(
                    "what the .{extension} file itself claims is not so under {}",
                    MODELS[at]
                ));
            }
            match &found[at] {
                Some(other) if *other != answer.behaviour => {
                    let differences = differences(other, &answer.behaviour);
                    let model = MODELS[at];
                    return Err(format!(
                        "the two forms differ under {model}, seen from .fence:\n{differences}"
                    ));
                }
                _ => found[at] = Some(answer.behaviour),
            }
        }
    }
    let [Some(a), Some(b), Some(c)] = found else { return Err("there is no file of this shape".into()) };
    Ok([a, b, c])
}

#[test]
fn every_shape_does_what_is_written() {
    let (shapes, models) = (shapes(), models());
    let is_blessing = std::env::var_os("BLESS").is_some();
    let complaints = on_all(&shapes, |shape| {
        let mut expected = shape.expectation()?;
        let found = found(shape, &expected, &models)?;
        if is_blessing {
            expected.behaviours = found;
            return std::fs::write(shape.file("expect"), expected.render())
                .map_err(|error| error.to_string());
        }
        let mut complaint = String::new();
        for (at, (expected, found)) in expected.behaviours.iter().zip(&found).enumerate() {
            let differences = differences(expected, found);
            if !differences.is_empty() {
                complaint += &format!("under {}\n{differences}", MODELS[at]);
            }
        }
        if complaint.is_empty() { Ok(()) } else { Err(complaint) }
    });
    println!("corpus: {} shapes under {} models", shapes.len(), MODELS.len());
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
    assert!(shapes.len() >= 60, "only {} shapes", shapes.len());
}

#[test]
fn the_twin_says_the_same() {
    let shapes = shapes();
    let n_compared = AtomicUsize::new(0);
    let complaints = on_all(&shapes, |shape| {
        if !shape.file("fence").exists() || BEYOND_THE_TWIN.iter().any(|(name, _)| *name == shape.name) {
            return Ok(());
        }
        let program = fencepost_tests::run::load(&shape.file("fence"));
        let kernel = &program.kernels[0];
        let reference = decide(kernel, &kernel.launches[0], Effort::default())
            .map_err(|_| "too large for the twin".to_owned())?;
        let expected = shape.expectation()?;
        let behaviour = &expected.behaviours[0];
        let graph = unroll(&program, kernel, &kernel.launches[0], &UnrollOptions::default())
            .map_err(|error| format!("{error:?}"))?;
        let names = Names::new(&graph);
        let race = |&[(a, first), (b, second)]: &[(usize, Span); 2]| {
            Some(names.race(names.at(a, first)?, names.at(b, second)?))
        };
        let races: Option<BTreeSet<String>> = reference.racing_places.iter().map(race).collect();
        let races = races.ok_or("a race of the twin is nowhere in the event graph")?;
        let state = |outcome: &BTreeMap<String, u64>| -> State {
            expected.observed.iter().map(|name| outcome[&word(name)].cast_signed()).collect()
        };
        // MM-20: with a mixed-size race, the axioms say nothing about what is read.
        let states = match reference.mixed_size_races {
            true => behaviour.states.clone(),
            false => reference.outcomes.iter().map(state).collect(),
        };
        n_compared.fetch_add(1, Ordering::Relaxed);
        let differences = differences(behaviour, &Behaviour { states, races, hangs: behaviour.hangs });
        if differences.is_empty() { Ok(()) } else { Err(format!("the twin disagrees\n{differences}")) }
    });
    println!("corpus: {} shapes compared with the twin", n_compared.into_inner());
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

/// Every file belongs to a shape; every expectation is laid out as the suite writes it; a shape in one form says why.
#[test]
fn the_corpus_is_in_order() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("litmus");
    for (name, path) in files(&root) {
        let extension = path.extension().map(|extension| extension.to_string_lossy().into_owned());
        match extension.as_deref() {
            Some("expect") => {
                let text = std::fs::read_to_string(&path).expect("readable");
                let expectation = Expectation::parse(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
                assert_eq!(expectation.render(), text, "{name} is not laid out as `BLESS=1` does");
                let says = |what: &str| expectation.prose.iter().any(|line| line.starts_with(what));
                let has = |form: &str| path.with_extension(form).exists();
                assert_eq!(says("only as .fence: "), has("fence") && !has("litmus"), "{name}");
                assert_eq!(says("only as .litmus: "), !has("fence") && has("litmus"), "{name}");
                let waits = WAITING.iter().any(|folder| name.starts_with(folder));
                assert!(!waits || expectation.asks_about_hangs(), "{name} does not say whether it hangs");
            }
            Some("fence" | "litmus") => {
                assert!(path.with_extension("expect").exists(), "{name} has no expectation");
            }
            _ => assert_eq!(name, "README.md"),
        }
    }
}

/// The shapes at which the models differ are many: the tables tell the editions apart.
#[test]
fn the_corpus_separates_the_models() {
    let separating = shapes()
        .into_iter()
        .filter(|shape| shape.expectation().is_ok_and(|expectation| expectation.separates_models()));
    assert!(separating.count() >= 10);
}
