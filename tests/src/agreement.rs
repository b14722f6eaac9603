//! How far Fencepost agrees with others, as a page of the book: published litmus tests against the expectations that come
//! with them, the repository's own corpus, and the random programs compared with the twin and held against the laws.
//!
//! `cargo run --release -p fencepost-tests --bin agreement` prints the page, `… -- --bless` writes it. The suites check
//! that the committed page has what they find, each its part, so that no part of it needs to be believed.
//!
//! The published tests are not part of the repository: a folder beside it, `../shared/litmus`, has them where it exists.

mod shared;

pub use shared::{Answer, DISAGREEMENTS, Disagreement, PROPERTIES, Shared, answer_of, judged, shared_folder};

use crate::laws::Laws;
use crate::litmus;
use crate::oracle::{Pair, shapes};
use crate::random::{Counts, agreed, features};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// The models of the page, in its order.
pub const MODELS: [&str; 3] = ["ptx-6.0", "ptx-7.5", "ptx"];

/// Ahead of the published tests.
const HEAD: &str = "\
# Agreement with others

How far Fencepost's answers agree with published ones, and with a second opinion of our own.
This page is the output of one command, which runs everything again (a minute or two):

```text
cargo run --release -p fencepost-tests --bin agreement              # prints this page
cargo run --release -p fencepost-tests --bin agreement -- --bless   # writes it
```

The tests of the repository check that the page is what they find.

";

/// Behind everything else.
const TAIL: &str = "\
## For hours of it

The random suites take more programs, and others, from the environment:

```text
FENCEPOST_ORACLE_PROGRAMS=1000000 FENCEPOST_ORACLE_SEED=100000 cargo test --release -p fencepost-tests --test oracle
FENCEPOST_LAWS_PROGRAMS=200000 FENCEPOST_LAWS_SEED=100000 cargo test --release -p fencepost-tests --test laws
FENCEPOST_TREATMENTS=all cargo test --release -p fencepost-tests --test treatments
```

The numbers are programs per model; a seed stands for 25 programs.
A disagreement is printed as the smallest program that shows it, and fails the test.

## Speed

All published tests, condition and race, in one run of the program; the limit is 3 s on two cores, and 15 ms for one file:

```text
cargo build --release -p fencepost-cli
time target/release/fencepost check --property condition,race --format json ../shared/litmus/ptx > /dev/null
time target/release/fencepost check --property condition,race ../shared/litmus/ptx/Manual/MP-gpu.litmus
cargo bench -p fencepost --bench pipeline -- litmus      # the same without starting a process
```
";

/// The committed page.
pub fn page_path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../book/src/reference/agreement.md")
}

/// The whole page, everything run again; `None` for the part about published tests keeps that of the committed page.
///
/// # Panics
/// If a suite finds a disagreement.
pub fn page(shared: Option<&Shared>) -> String {
    let committed = std::fs::read_to_string(page_path()).unwrap_or_default();
    let published = shared.map_or_else(|| published_part(&committed).to_owned(), Shared::to_markdown);
    format!("{HEAD}{published}{}{}{TAIL}", corpus(), random())
}

/// The part of a page about published tests.
fn published_part(page: &str) -> &str {
    let start = page.find("## Published litmus tests").unwrap_or(page.len());
    let rest = &page[start..];
    &rest[..rest.find(CORPUS_TITLE).unwrap_or(rest.len())]
}

/// Checks what does not take the random suites: the parts in between, and that they are all there is.
///
/// # Panics
/// If the committed page differs.
pub fn assert_page_without_random(shared: Option<&Shared>) {
    let page = std::fs::read_to_string(page_path()).expect("the page is part of the repository");
    let published = shared.map_or_else(|| published_part(&page).to_owned(), Shared::to_markdown);
    let expected = format!("{HEAD}{published}{}", corpus());
    let rest = page.strip_prefix(&expected).unwrap_or_else(|| {
        let at = page.lines().zip(expected.lines()).position(|(page, expected)| page != expected);
        panic!("book/src/reference/agreement.md differs from line {:?} on; {BLESS}", at.map(|at| at + 1))
    });
    assert!(rest.starts_with(RANDOM_TITLE) && rest.ends_with(TAIL), "the end of the page differs; {BLESS}");
}

/// Checks that a row of the random suites is on the page.
///
/// # Panics
/// If it is not.
pub fn assert_on_page(row: &str) {
    let page = std::fs::read_to_string(page_path()).expect("the page is part of the repository");
    assert!(page.contains(row), "book/src/reference/agreement.md does not have this row; {BLESS}\n{row}");
}

const BLESS: &str = "write it again with `cargo run --release -p fencepost-tests --bin agreement -- --bless`";

const CORPUS_TITLE: &str = "## Our own corpus\n";

/// The repository's own tests, by family: the folder, or the first word of the name where there is none.
fn corpus() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("litmus");
    let mut families: BTreeMap<String, [usize; 2]> = BTreeMap::new();
    for (kind, extension) in ["litmus", "fence"].into_iter().enumerate() {
        for path in litmus::files_with(&root, extension) {
            let inside = path.strip_prefix(&root).expect("it was found there");
            let folder = inside.parent().map(|parent| parent.to_string_lossy().replace('\\', "/"));
            let stem = inside.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
            let word = stem.split('-').next().unwrap_or_default().to_owned();
            let family = folder.filter(|folder| !folder.is_empty()).unwrap_or(word);
            families.entry(family).or_default()[kind] += 1;
        }
    }
    let mut text = format!(
        "{CORPUS_TITLE}\nThe files of `tests/litmus`; each states what is expected of it, and a test holds it to that.\n\n\
         | family | `.litmus` | `.fence` |\n|---|---:|---:|\n"
    );
    let mut all = [0, 0];
    for (family, [litmus, fence]) in &families {
        let _ = writeln!(text, "| {family} | {litmus} | {fence} |");
        all = [all[0] + litmus, all[1] + fence];
    }
    let _ = writeln!(text, "| all | {} | {} |\n", all[0], all[1]);
    text
}

const RANDOM_TITLE: &str = "## Random programs\n";

/// The random suites, run again.
fn random() -> String {
    let mut text = format!(
        "{RANDOM_TITLE}
Small random programs from committed seeds.
The *twin* (`tests/reference`) enumerates a program's executions by nested loops written from the text of the rules; it shares no code with the checker and reads no model file.
Compared are the race verdict and, unless a mixed-size race leaves them undefined (MM-20), the exact set of final states.

| model | compared | agree | with a race | with final states compared | too large for the twin | seeds |
|---|---:|---:|---:|---:|---:|---|
"
    );
    let mut censuses = Vec::new();
    for model in MODELS {
        let pair = Pair::new(model);
        let counts = agreed(pair.compare_random(pair.plan()));
        let (_, complaints) = pair.compare_shapes();
        assert!(complaints.is_empty(), "{}", complaints.join("\n\n"));
        text.push_str(&oracle_row(&pair, &counts));
        censuses.push(counts);
    }
    let n_shapes = shapes::all().len();
    let _ =
        writeln!(text, "\nBesides, {n_shapes} litmus shapes (each in many dresses) agree under each model.");
    text.push_str("\nWhat the compared programs have in them:\n\n| |");
    text.push_str(&MODELS.map(|model| format!(" {model} |")).concat());
    text.push_str("\n|---|---:|---:|---:|\n");
    for feature in features() {
        let row: String = censuses.iter().map(|counts| format!(" {} |", counts.of(feature))).collect();
        let _ = writeln!(text, "| {feature} |{row}");
    }
    text.push_str(
        "
The *laws* say what a change of a program may do to the answers: other names, another order of threads or an unrelated thread change nothing; a stronger `sem` or a wider scope adds no final state and no race.
`tests/src/laws.rs` lists the exceptions that the models themselves have.

| model | programs | with a race | too large | strengthened | of these with fewer states or races | seeds |
|---|---:|---:|---:|---:|---:|---|
",
    );
    for model in MODELS {
        let laws = Laws::new(model);
        let counts = agreed(laws.hold_random(laws.plan()));
        text.push_str(&laws_row(&laws, &counts));
    }
    text + "\n"
}

/// The row of the page for a run of the oracle that found no disagreement.
pub fn oracle_row(pair: &Pair, counts: &Counts) -> String {
    let compared = counts.of("compared");
    format!(
        "| {} | {compared} | {compared} | {} | {} | {} | {} |\n",
        pair.edition.name,
        counts.of("racy"),
        counts.of("states"),
        counts.of("too large"),
        pair.plan().seeds()
    )
}

/// The row of the page for a run of the laws that found nothing.
pub fn laws_row(laws: &Laws, counts: &Counts) -> String {
    let [compared, racy, too_large, strengthened, tightened] =
        ["compared", "racy", "too large", "strengthened", "tightened"].map(|name| counts.of(name));
    format!(
        "| {} | {compared} | {racy} | {too_large} | {strengthened} | {tightened} | {} |\n",
        laws.edition.name,
        laws.plan().seeds()
    )
}
