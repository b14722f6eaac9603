//! The picture of every violated example: no two of its texts overlap, none leaves the page, no link runs through a box or
//! a label; and the table beside it fits the terminal.
//!
//! Looked at in the layout, since the suite has no browser.

use fencepost::check::check;
use fencepost::encode::Treatment;
use fencepost::explain::explain;
use fencepost::library;
use fencepost::report::picture::{Layout, dot, html, svg};
use fencepost::report::story::Story;
use fencepost::report::{Case, trace};
use fencepost::verdict::Outcome;
use fencepost_dsl::SourceMap;
use fencepost_dsl::cat::MemoryModel;
use fencepost_dsl::kernel::program::{Kernel, Program};
use fencepost_dsl::kernel::{self, LoadOptions};
use fencepost_tests::run::{config, model, model_for, spa_model};
use libtest_mimic::{Arguments, Failed, Trial};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

/// The models of PTX and of SPA machines.
type Models = (MemoryModel, MemoryModel);

/// Widths of terminals that tables are drawn for.
const WIDTHS: [usize; 3] = [60, 100, 200];

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
    let models = Arc::new((model(&[]), spa_model(&[])));
    let mut trials = vec![Trial::test("what overlaps is found", what_overlaps_is_found)];
    for path in violated(&root) {
        let name = path.strip_prefix(&root).map_or_else(|_| String::new(), |path| path.display().to_string());
        let models = Arc::clone(&models);
        trials.push(Trial::test(name, move || on_a_large_stack(move || file(&path, &models))));
    }
    assert!(trials.len() > 100, "{} violated examples were found", trials.len());
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// The kernels that say that they are violated.
fn violated(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("the folder is there").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if fs::read_to_string(&path).is_ok_and(|text| text.contains("//@ expect: violated")) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Kernels are unrolled and encoded by recursion over their nesting.
fn on_a_large_stack(run: impl FnOnce() -> Result<(), Failed> + Send + 'static) -> Result<(), Failed> {
    let thread =
        std::thread::Builder::new().stack_size(256 << 20).spawn(run).map_err(|error| error.to_string())?;
    thread.join().unwrap_or_else(|_| Err("panicked".into()))
}

fn file(path: &Path, models: &Models) -> Result<(), Failed> {
    let mut sources = SourceMap::default();
    let name = path.to_str().ok_or("the path is not UTF-8")?;
    let mut read = library::with(|path| fs::read_to_string(path).map_err(|error| error.to_string()));
    let program = kernel::load(&mut sources, name, &mut read, &LoadOptions::default())
        .map_err(|errors| format!("{errors:?}"))?;
    let model = model_for(&program, &models.0, &models.1);
    let mut n_pictures = 0;
    for kernel in &program.kernels {
        for launch in &kernel.launches {
            let outcome = check(&program, kernel, launch, model, &config(Treatment::DEFAULT))
                .map_err(|error| format!("launch {}: {error:?}", launch.name))?;
            n_pictures += pictures((&sources, &program, kernel), model, &outcome)
                .map_err(|reason| format!("launch {}: {reason}", launch.name))?;
        }
    }
    if n_pictures == 0 { Err("there is nothing to draw".into()) } else { Ok(()) }
}

/// Looks at the pictures of all findings of a launch; how many there are.
fn pictures(
    (sources, program, kernel): (&SourceMap, &Program, &Kernel),
    model: &MemoryModel,
    outcome: &Outcome,
) -> Result<usize, String> {
    for finding in &outcome.findings {
        let explanation = explain(&outcome.graph, model, finding);
        let all = std::slice::from_ref(&explanation);
        let case = Case {
            sources,
            file: "k.fence",
            program,
            kernel,
            model: "ptx",
            variants: &[],
            outcome,
            explanations: all,
            standing: Default::default(),
        };
        let story = Story::new(&case, &finding.witness, &explanation);
        let place = |reason: String| format!("{}: {reason}", explanation.code);
        if story.steps.is_empty() {
            return Err(place("no step is shown".to_owned()));
        }
        follows_itself(&story).map_err(place)?;
        fits(&Layout::new(&story)).map_err(place)?;
        for width in WIDTHS {
            for line in trace::table(&story, width).lines() {
                if line.chars().count() > width {
                    return Err(place(format!("wider than {width}: {line}")));
                }
            }
        }
        let picture = svg::svg(&story);
        let page = html::page("k.fence", &[html::section(sources, "k", &story)]);
        for (name, text) in [("svg", &picture), ("html", &page)] {
            if text.matches("<g ").count() != text.matches("</g>").count() || text.contains("href") {
                return Err(place(format!("{name} is not balanced, or not on its own")));
            }
        }
        if dot::dot(&story).matches(" [label=").count() != story.steps.len() + story.links.len() {
            return Err(place("dot has other steps or links".to_owned()));
        }
    }
    Ok(outcome.findings.len())
}

/// Rows ascend in each lane, and what synchronizes goes down.
fn follows_itself(story: &Story) -> Result<(), String> {
    for (i, step) in story.steps.iter().enumerate() {
        if story.steps[..i].iter().any(|other| other.lane == step.lane && other.row >= step.row) {
            return Err(format!("step {i} is above an earlier one of its lane"));
        }
    }
    let is_order = |kind| {
        use fencepost::report::story::LinkKind::{Completes, Starts, Synchronizes};
        matches!(kind, Synchronizes | Starts | Completes)
    };
    for link in story.links.iter().filter(|link| is_order(link.kind) && !link.is_broken) {
        if story.steps[link.from].row >= story.steps[link.to].row {
            return Err(format!("{link:?} goes up"));
        }
    }
    Ok(())
}

/// Left, top, right and bottom.
type Edges = (i32, i32, i32, i32);

fn overlap(a: Edges, b: Edges) -> bool {
    a.0 < b.2 && b.0 < a.2 && a.1 < b.3 && b.1 < a.3
}

/// That nothing of a picture hides anything else of it.
fn fits(layout: &Layout) -> Result<(), String> {
    let labels: Vec<(Edges, &str)> = layout
        .labels()
        .map(|label| {
            let edges = (label.x, label.y, label.x + label.width(), label.y + label.height());
            (edges, label.text.as_str())
        })
        .collect();
    for (i, &(edges, text)) in labels.iter().enumerate() {
        if edges.0 < 0 || edges.1 < 0 || edges.2 > layout.width || edges.3 > layout.height {
            return Err(format!("`{text}` leaves the page"));
        }
        if let Some((_, other)) = labels[..i].iter().find(|&&(other, _)| overlap(edges, other)) {
            return Err(format!("`{text}` and `{other}` overlap"));
        }
    }
    let boxes: Vec<Edges> = layout
        .boxes
        .iter()
        .map(|step| (step.at.x, step.at.y, step.at.x + step.at.width, step.at.y + step.at.height))
        .collect();
    for (i, &a) in boxes.iter().enumerate() {
        if boxes[..i].iter().any(|&b| overlap(a, b)) {
            return Err(format!("step {i} is on top of another"));
        }
    }
    for step in &layout.boxes {
        let right = step.at.x + step.at.width;
        let bottom = step.at.y + step.at.height;
        if step
            .labels
            .iter()
            .any(|label| label.x + label.width() > right || label.y + label.height() > bottom)
        {
            return Err(format!("the text of step {} leaves its box", step.step));
        }
    }
    for route in &layout.routes {
        for pair in route.points.windows(2) {
            let ((x, y), (a, b)) = (pair[0], pair[1]);
            let line = (x.min(a), y.min(b), x.max(a), y.max(b));
            // Lines touch the boxes that they start and end at from outside.
            let thick = (line.0, line.1, line.2.max(line.0 + 1), line.3.max(line.1 + 1));
            if boxes.iter().any(|&step| overlap((thick.0 + 1, thick.1, thick.2 - 1, thick.3), step)) {
                return Err(format!("a link runs through a box at {line:?}"));
            }
            if let Some((_, text)) = labels.iter().find(|&&(label, _)| overlap(thick, label)) {
                return Err(format!("a link runs through `{text}`"));
            }
        }
    }
    Ok(())
}

fn what_overlaps_is_found() -> Result<(), Failed> {
    let apart = ((0, 0, 10, 10), (10, 0, 20, 10));
    let over = ((0, 0, 10, 10), (9, 9, 20, 20));
    if overlap(apart.0, apart.1) || !overlap(over.0, over.1) {
        return Err("boxes are compared wrongly".into());
    }
    Ok(())
}
