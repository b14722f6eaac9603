//! `examples/README.md` has every kernel of the folder: what it shows, its launches, its verdict and how long that takes.
//!
//! `BLESS=1 cargo test -p fencepost-tests --test examples_page` writes the page; not in CI. Times are of another kind than the
//! rest: they are kept as they were, unless `FENCEPOST` names an optimised binary, which then takes all of them anew.
//! What they are is never compared.

use fencepost::library;
use fencepost_dsl::SourceMap;
use fencepost_dsl::kernel::program::Launch;
use fencepost_dsl::kernel::{self, LIBRARY_ROOT, LoadOptions};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where the stories that prove the library are.
const LIBRARY: &str = "lib";

/// What is shown for a kernel whose time was not taken.
const NO_TIME: &str = "–";

/// Times are rounded up to one of these, in milliseconds: more would only be true of one machine.
const STEPS: [u64; 12] = [10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000];

/// The sections of the page with their stories; those of the library come by themselves.
const SECTIONS: &[(&str, &[&str])] = &[
    (
        "Messages, fences and scopes",
        &[
            "message-passing",
            "fence-and-barrier",
            "elected-lane-release",
            "thread-zero-publishes",
            "fence-in-thread-zero",
            "restricted-fences",
            "block-scope-across-ctas",
        ],
    ),
    (
        "Locks, semaphores and look-back",
        &[
            "cas-lock",
            "ttas-lock",
            "ticket-lock",
            "lock-without-fences",
            "hash-chain",
            "seqlock",
            "device-semaphore",
            "split-k-semaphore",
            "wait-eq-reset",
            "stream-k-barrier",
            "two-stage-reduction",
            "last-block-reduction",
            "decoupled-look-back",
            "look-back-two-words",
            "work-stealing",
            "mpmc-ring",
            "epoch-reclamation",
        ],
    ),
    (
        "Barriers of warps and CTAs",
        &[
            "warp-reduction",
            "histogram",
            "arrive-instead-of-sync",
            "divergent-barrier",
            "tile-skipped-by-all",
            "aligned-in-two-places",
            "shared-barrier-number",
            "warp-scheduler",
            "credit-exchange",
        ],
    ),
    (
        "Grids",
        &["co-residency", "grid-sync", "rotating-counters", "flag-per-block", "epoch-in-device-memory"],
    ),
    (
        "mbarriers",
        &[
            "mbarrier-init-race",
            "mbarrier-storage-reused",
            "ring-parity",
            "arrival-count",
            "transaction-bytes",
            "signalled-per-part",
            "one-barrier-two-slots",
            "announce-without-consumed",
            "read-after-release",
            "tile-ring",
            "generic-pipeline",
            "ordered-sequence",
        ],
    ),
    (
        "Clusters",
        &[
            "cluster-barrier-examples",
            "cluster-handshake",
            "dsmem-exchange",
            "peer-memory-lifetime",
            "peer-exits-early",
            "peer-not-started",
            "mbarrier-init-in-cluster",
            "tile-ring-multicast",
            "cancel-pipeline",
            "cancel-loop",
            "response-slot",
        ],
    ),
    (
        "Asynchronous copies and TMA",
        &[
            "tma-ring",
            "tma-ring-multicast",
            "tma-store-pipeline",
            "cp-async-producer",
            "copied-bytes",
            "wrong-group-count",
            "copy-in-flight-at-zero-trips",
            "store-not-drained",
            "stored-is-not-read",
            "fence-before-the-store",
            "empty-sequence",
            "refill-without-fence",
            "fence-in-one-specialization",
            "proxy-fence-halves",
            "output-over-values",
            "tensormap-rewritten",
        ],
    ),
    (
        "Several GPUs",
        &[
            "device-to-device-signal",
            "all-reduce-flags",
            "reset-and-next-barrier",
            "narrower-scope",
            "nvlink-barrier",
            "lsa-barrier",
            "signal-pad",
            "data-with-flag",
            "lamport-buffers",
        ],
    ),
    (
        "Matrix units, tensor memory and registers",
        &[
            "matrix-release",
            "tensor-memory-fences",
            "softmax-to-product",
            "accumulator-pipeline",
            "tensor-memory-freed",
            "register-reallocation",
        ],
    ),
    (
        "Several kernels",
        &["dependent-launch", "roles-and-dependent-launch", "chained-launches", "replayed-workspace"],
    ),
    ("Compiled kernels (PTX)", &["ptx"]),
    (
        "Machine code with `MEMBAR` (SPA 5.0)",
        &["spa-handshake", "spa-levels", "spa-texture-path", "spa-thread-zero-signals"],
    ),
];

const LIBRARY_SECTION: &str = "The library";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The paths of what is in a folder, sorted.
fn children(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder is there");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("readable").path()).collect();
    paths.sort();
    paths
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The sections with the paths of their stories from `examples`.
fn sections() -> Vec<(&'static str, Vec<String>)> {
    let mut sections: Vec<(&str, Vec<String>)> = SECTIONS
        .iter()
        .map(|&(title, stories)| (title, stories.iter().map(|&story| story.to_owned()).collect()))
        .collect();
    let folders =
        |folder: &Path| children(folder).into_iter().filter(|path| path.is_dir()).map(|path| name(&path));
    let own = folders(&root().join(LIBRARY)).map(|story| format!("{LIBRARY}/{story}")).collect();
    sections.push((LIBRARY_SECTION, own));
    let listed: Vec<&String> = sections.iter().flat_map(|(_, stories)| stories).collect();
    let there: BTreeSet<String> = folders(&root()).filter(|story| story != LIBRARY).collect();
    for story in &there {
        let n = listed.iter().filter(|&&listed| listed == story).count();
        assert_eq!(n, 1, "`{story}` is in {n} sections of tests/examples_page.rs instead of one");
    }
    for (title, stories) in &sections {
        for story in stories {
            assert!(root().join(story).is_dir(), "{title}: there is no story `{story}`");
        }
    }
    sections
}

/// A kernel file.
struct Row {
    /// From `examples`, with `/`.
    path: String,
    shows: String,
    launches: String,
    verdict: String,
}

/// The cell of a table that has this text in it.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

fn row(story: &str, path: &Path) -> Row {
    let file = name(path);
    let text = read(path);
    let head = text.lines().map_while(|line| line.strip_prefix("//! "));
    let shows: Vec<&str> = head.take_while(|line| !line.starts_with("target ")).map(str::trim).collect();
    assert!(!shows.is_empty(), "{story}/{file} does not begin with what it shows");
    let claim = text.lines().find_map(|line| line.strip_prefix("//@ expect: "));
    let claim = claim.unwrap_or_else(|| panic!("{story}/{file} does not say its verdict"));
    let verdict = match claim.trim().split_once(' ') {
        Some((verdict, code)) => format!("{verdict} `{code}`"),
        None => claim.trim().replace('_', " "),
    };
    Row { path: format!("{story}/{file}"), shows: cell(&shows.join(" ")), launches: launches(path), verdict }
}

/// The shapes that a file is checked for, each once.
fn launches(path: &Path) -> String {
    let mut sources = SourceMap::default();
    let mut reader = library::with(|path| fs::read_to_string(path).map_err(|error| error.to_string()));
    let path = path.to_str().expect("paths of examples are UTF-8");
    let program = kernel::load(&mut sources, path, &mut reader, &LoadOptions::default())
        .unwrap_or_else(|errors| panic!("{path}: {errors:?}"));
    let mut shapes: Vec<String> = Vec::new();
    for kernel in &program.kernels {
        for launch in &kernel.launches {
            let shape = if kernel.is_program { "program".to_owned() } else { shape(launch) };
            if !shapes.contains(&shape) {
                shapes.push(shape);
            }
        }
    }
    shapes.join("; ")
}

/// `2 CTAs of 2 warps`; what there is one of is left out.
fn shape(launch: &Launch) -> String {
    let counted = |n: u32, what: &str| (n > 1).then(|| format!("{n} {what}s"));
    let sizes = [
        counted(launch.gpus, "GPU"),
        counted(launch.ctas, "CTA"),
        counted(launch.warps, "warp"),
        counted(launch.lanes, "lane"),
    ];
    let sizes: Vec<String> = sizes.into_iter().flatten().collect();
    let mut text = if sizes.is_empty() { "1 thread".to_owned() } else { sizes.join(" of ") };
    match launch.cluster {
        1 => {}
        size if size == launch.ctas => text += ", a cluster",
        size => text += &format!(", clusters of {size}"),
    }
    if launch.cooperative {
        text += ", cooperative";
    }
    text
}

/// The paragraph of a story that says where it is from.
fn source(story: &str) -> String {
    let words = |lines: Vec<&str>| lines.into_iter().map(str::trim).collect::<Vec<_>>().join(" ");
    if let Some(name) = story.strip_prefix("lib/") {
        let path = format!("{LIBRARY_ROOT}{LIBRARY}/{}.fence", name.replace('-', "_"));
        let text = library::read(&path).expect("the library has it").expect("the library has it");
        let lines = text.lines().map(|line| line.trim_start_matches("//!").trim());
        let from: Vec<&str> = lines
            .skip_while(|line| !line.starts_with("Source: "))
            .take_while(|line| !line.starts_with("Rules: "))
            .collect();
        return words(from).replacen("Source: ", "", 1);
    }
    let text = read(&root().join(story).join("README.md"));
    let (_, rest) =
        text.split_once("**Source.**").unwrap_or_else(|| panic!("{story}/README.md names no source"));
    let paragraph = rest.split("\n\n").next().unwrap_or_default();
    words(paragraph.lines().collect()).trim().replace("](../", "](")
}

fn title(story: &str) -> String {
    let text = read(&root().join(story).join("README.md"));
    text.lines().next().unwrap_or_default().trim_start_matches("# ").to_owned()
}

/// How a heading is linked to.
fn anchor(title: &str) -> String {
    let title = title.to_lowercase().replace(' ', "-");
    title.chars().filter(|c| c.is_alphanumeric() || matches!(c, '-' | '_')).collect()
}

const HEAD: &str = "# Examples

Real synchronization protocols and real bugs, one folder per story: kernels that are right beside kernels that differ
in one place and are not. The suite checks each against the verdict that its `//@ expect:` line says; the README of a
story names the source and the rule (such as MM-36) that decides.

Run one story with `fencepost check examples/message-passing`, all with `fencepost check examples`.
The harnesses and mutants in [`lib`](lib/README.md) are about the library, which `use \"lib/…\"` finds from anywhere.

Times are milliseconds of one core for `fencepost check` of the file, all its launches and the search for a repair
included, rounded up to 10, 20, 50, 100, …: a hint whether to wait, and no promise.
This page is written by a test (`tests/examples_page.rs`).
";

/// The page, with a time for each file.
fn page(times: &BTreeMap<String, String>) -> String {
    let sections = sections();
    let mut body = String::new();
    let (mut n_kernels, mut index) = (0, String::new());
    for (section, stories) in &sections {
        index += &format!("* [{section}](#{})\n", anchor(section));
        body += &format!("\n## {section}\n");
        for story in stories {
            body += &format!("\n### [{}]({story}/README.md)\n\nSource: {}\n\n", title(story), source(story));
            body += "| kernel | what it shows | launches | verdict | ms |\n|---|---|---|---|--:|\n";
            let is_kernel = |path: &PathBuf| {
                path.extension() == Some(OsStr::new("fence")) && !name(path).starts_with('_')
            };
            let kernels = children(&root().join(story)).into_iter().filter(is_kernel);
            let mut rows: Vec<Row> = kernels.map(|path| row(story, &path)).collect();
            // What is right comes first, and what differs from it below.
            rows.sort_by_key(|row| row.verdict != "proved");
            n_kernels += rows.len();
            for row in rows {
                let (path, shows, launches, verdict) = (&row.path, &row.shows, &row.launches, &row.verdict);
                let file = path.rsplit('/').next().unwrap_or_default().trim_end_matches(".fence");
                let time = times.get(path).map_or(NO_TIME, String::as_str);
                body += &format!("| [`{file}`]({path}) | {shows} | {launches} | {verdict} | {time} |\n");
            }
        }
    }
    let n_stories: usize = sections.iter().map(|(_, stories)| stories.len()).sum();
    format!("{HEAD}\n{n_kernels} kernels in {n_stories} stories:\n\n{index}{body}")
}

/// The times on a page, by file.
fn times(page: &str) -> BTreeMap<String, String> {
    let rows = page.lines().filter(|line| line.starts_with("| [`"));
    rows.filter_map(|row| {
        let path = row.split_once("](")?.1.split_once(".fence) |")?.0;
        let time = row.trim_end_matches(" |").rsplit(" | ").next()?;
        Some((format!("{path}.fence"), time.to_owned()))
    })
    .collect()
}

/// The time of a check with an optimised binary.
fn measured(binary: &OsStr, path: &str) -> String {
    let before = children_milliseconds();
    let output = Command::new(binary)
        .args(["check", "--jobs", "1", "--format", "brief"])
        .arg(root().join(path))
        .output()
        .expect("the binary that FENCEPOST names can be run");
    // A line for each launch: what was rejected, or has failed, has taken another time.
    assert!(
        !output.stdout.is_empty() && output.stderr.is_empty(),
        "{path}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let taken = children_milliseconds() - before;
    STEPS.iter().find(|&&step| taken <= step).map_or_else(|| "more".to_owned(), u64::to_string)
}

/// Processor time of all processes that this one has waited for: other than the clock, it knows nothing of what else the
/// machine does. Linux says it, in hundredths of seconds.
fn children_milliseconds() -> u64 {
    let text = fs::read_to_string("/proc/self/stat").expect("times are taken on Linux");
    // The name of the process, in parentheses, may have blanks.
    let fields: Vec<&str> = text.rsplit(") ").next().unwrap_or_default().split(' ').collect();
    let hundredths = |at: usize| fields[at].parse::<u64>().expect("it is a number");
    (hundredths(13) + hundredths(14)) * 10
}

#[test]
fn the_page_of_examples_has_them_all() {
    let path = root().join("README.md");
    let found = fs::read_to_string(&path).unwrap_or_default();
    let mut known = times(&found);
    if std::env::var_os("BLESS").is_some() {
        assert!(std::env::var_os("CI").is_none(), "the page is not rewritten in CI");
        if let Some(binary) = std::env::var_os("FENCEPOST") {
            let all = times(&page(&BTreeMap::new()));
            known = all.into_keys().map(|file| (file.clone(), measured(&binary, &file))).collect();
        }
        fs::write(&path, page(&known)).expect("the page is writable");
        return;
    }
    let is_time =
        |time: &str| time == NO_TIME || time == "more" || STEPS.iter().any(|step| step.to_string() == time);
    let odd: Vec<_> = known.iter().filter(|(_, time)| !is_time(time)).collect();
    assert!(odd.is_empty(), "times of another kind: {odd:?}");
    // Line by line, since a page of this size is of no use in a message.
    let wanted = page(&known);
    let wrong = wanted.lines().zip(found.lines()).find(|(wanted, found)| wanted != found);
    let what =
        wrong.map_or_else(String::new, |(wanted, found)| format!("\n  says: {found}\n  is:   {wanted}"));
    assert!(wanted == found, "examples/README.md is not what the folder has: BLESS=1 writes it anew{what}");
}

#[test]
fn times_are_read_from_the_rows_they_are_in() {
    let rows = "| kernel | ms |\n| [`a`](s/a.fence) | shows \\| that | 2 CTAs | proved | 20 |\n| [`b`](s/b.fence) | x | y | z | – |\n";
    let expected =
        [("s/a.fence", "20"), ("s/b.fence", "–")].map(|(path, time)| (path.to_owned(), time.to_owned()));
    assert_eq!(times(rows), BTreeMap::from(expected));
}
