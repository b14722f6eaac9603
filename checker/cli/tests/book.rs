//! The book is true: every kernel in it has the verdict it says, and every console block prints what it shows.
//!
//! Fenced blocks are of nine kinds; any other kind is an error, so that nothing is shown unchecked.
//!
//! * `fence,expect=proved`, `fence,expect=violated:CODE`, `fence,expect=rejected:CODE`, …: a whole file and its verdict.
//!   `file=NAME.fence` writes it where later console blocks of the page run. `example=PATH` says that it is the kernel of
//!   that file of `examples`, but for the lines above it that say what it shows.
//! * `diff,from=PATH,to=PATH`: how the kernels of two examples differ, with whatever lines around; ` …` leaves some out.
//! * `fence,fragment`: statements, to be accepted inside [`FRAME`].
//! * `cat,file=NAME.cat`, `cat,fragment`, `cat,excerpt`: a memory model; statements on top of `ptx.cat`; statements of it.
//! * `console`: lines `$ fencepost …`, each with its output (standard output, then standard error), run in a folder of
//!   the page's own; `$ echo $?` shows the exit code. Times and steps in JSON are shown as 0.
//! * `source,of=PATH`: lines of a file of `examples`, in their order, ` …` for others between them; the file, and those that it
//!   imports, are where later console blocks of the page run.
//! * `diff,of=FILE,file=NEW`: changes of a file that a block before has put there, which make another.
//! * `rust,from=PATH`: lines of a file of this repository that other tests run, one after the other.
//! * `toml,file=NAME`: settings, where later console blocks of the page run.
//! * `text`: pictures and grammar, not checked.
//!
//! Pictures of a page are files that its commands draw with `--graph`, and are held to that.
//!
//! `BLESS=1 cargo test -p fencepost-cli --test book` writes real output into the console blocks; not in CI.

#[path = "book/source.rs"]
mod source;
#[path = "book/terminal.rs"]
mod terminal;

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a fragment of a kernel stands in.
const FRAME: (&str, &str) = (
    "kernel fragment {
    launch { warps: 2 }
    global x: u32 = 0;  global y: u64 = 0;  global a[8]: u32 = 0;  shared s[8]: u32 = 0;  global cell: b128;
",
    "}\n",
);

fn source_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../book/src")
}

/// One page.
struct Page {
    /// Relative to the source folder.
    name: String,
    text: String,
    blocks: Vec<Block>,
}

/// A fenced block.
struct Block {
    /// Line of its first fence, from 1.
    line: usize,
    /// Byte offsets of its body in the page.
    body: std::ops::Range<usize>,
    /// The first word behind the fence.
    language: String,
    /// The other words, which are separated by commas.
    words: Vec<String>,
}

impl Block {
    /// The value of a word `key=value`.
    fn value(&self, key: &str) -> Option<&str> {
        self.words.iter().find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
    }

    fn has(&self, word: &str) -> bool {
        self.words.iter().any(|own| own == word)
    }
}

fn pages() -> Vec<Page> {
    let root = source_folder();
    let mut files = Vec::new();
    collect(&root, &mut files);
    files.sort();
    let read = |path: &PathBuf| {
        let name = path.strip_prefix(&root).expect("it was found below").to_string_lossy().replace('\\', "/");
        let text = fs::read_to_string(path).expect("pages are UTF-8");
        let blocks = blocks(&name, &text);
        Page { name, text, blocks }
    };
    files.iter().map(read).collect()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the book has a source folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            files.push(path);
        }
    }
}

fn blocks(page: &str, text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    let mut at = 0;
    for (index, line) in text.split_inclusive('\n').enumerate() {
        if let Some(info) = line.trim_end().strip_prefix("```") {
            match open.take() {
                Some(block) => blocks.push(Block { body: block.body.start..at, ..block }),
                None => {
                    let mut words = info.split(',').map(|word| word.trim().to_owned());
                    let language = words.next().unwrap_or_default();
                    let start = at + line.len();
                    open =
                        Some(Block { line: index + 1, body: start..start, language, words: words.collect() });
                }
            }
        }
        at += line.len();
    }
    assert!(open.is_none(), "{page}: a fenced block is not closed");
    blocks
}

/// A folder for the files of one page.
fn folder(test: &str, page: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("book").join(test).join(page.replace('/', "-"));
    if folder.exists() {
        fs::remove_dir_all(&folder).expect("left over from an earlier run");
    }
    fs::create_dir_all(&folder).expect("the target folder is writable");
    folder
}

/// Standard output, standard error, exit code.
struct Run {
    stdout: String,
    stderr: String,
    code: i32,
}

fn fencepost(folder: &Path, arguments: &[&str]) -> Run {
    let output = Command::new(env!("CARGO_BIN_EXE_fencepost"))
        .args(arguments)
        .current_dir(folder)
        .env("NO_COLOR", "1")
        .output()
        .expect("the binary was built with this test");
    Run {
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        code: output.status.code().unwrap_or(-1),
    }
}

/// The verdict that `fencepost check` gives for a file, as the book writes it: the worst of all launches.
fn verdicts(folder: &Path, file: &str) -> Vec<String> {
    let run = fencepost(folder, &["check", "--format", "json", file]);
    let mut all = Vec::new();
    for line in run.stdout.lines() {
        let report: Value = serde_json::from_str(line).expect("every line is a JSON object");
        if report.get("warning").is_some() {
            continue;
        }
        let verdict = report["verdict"].as_str().unwrap_or("no verdict").to_owned();
        let key = match verdict.as_str() {
            "rejected" => "errors",
            "vacuous" => "vacuity",
            _ => "findings",
        };
        let codes = report[key].as_array().cloned().unwrap_or_default();
        all.extend(codes.iter().filter_map(|entry| Some(format!("{verdict}:{}", entry["code"].as_str()?))));
        if codes.is_empty() {
            all.push(verdict);
        }
    }
    if all.is_empty() {
        all.push(format!("nothing but exit code {}: {}", run.code, run.stderr));
    }
    all
}

/// What is wrong with the verdict of a file, if anything.
fn check_verdict(folder: &Path, file: &str, expect: &str) -> Result<(), String> {
    let found = verdicts(folder, file);
    // A file of several launches may have some that are proved; the others must be as the book says.
    let others: Vec<&String> = found.iter().filter(|verdict| *verdict != "proved").collect();
    let holds = match expect {
        "proved" => others.is_empty(),
        expect => {
            others.iter().any(|verdict| *verdict == expect)
                && others.iter().all(|verdict| verdict.split(':').next() == expect.split(':').next())
        }
    };
    if holds { Ok(()) } else { Err(format!("expected {expect}, found {}", found.join(", "))) }
}

/// The lines of an example without what is said of it above the kernel; its target stays.
fn example(path: &str) -> Result<Vec<String>, String> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(path);
    let text = fs::read_to_string(file).map_err(|error| format!("there is no example {path}: {error}"))?;
    let is_said =
        |line: &str| line.starts_with("//@") || (line.starts_with("//!") && !line.starts_with("//! target"));
    let lines = text.lines().filter(|line| !is_said(line));
    Ok(lines.skip_while(|line| line.is_empty()).map(str::to_owned).collect())
}

/// Whether the lines that a block takes away and adds make the one example into the other.
fn check_diff_block(body: &str, block: &Block) -> Result<(), String> {
    let (Some(from), Some(to)) = (block.value("from"), block.value("to")) else {
        return Err("a diff says `from=…` and `to=…`".to_owned());
    };
    let (mut lines, mut wanted) = (example(from)?, example(to)?);
    for line in body.lines() {
        if let Some(gone) = line.strip_prefix('-') {
            let at = lines.iter().position(|line| line == gone);
            lines.remove(at.ok_or_else(|| format!("{from} has no line `{gone}`"))?);
        } else if let Some(kept) = line.strip_prefix(' ')
            && kept != "…"
            && !lines.iter().any(|line| line == kept)
        {
            return Err(format!("{from} has no line `{kept}`"));
        }
    }
    lines.extend(body.lines().filter_map(|line| Some(line.strip_prefix('+')?.to_owned())));
    lines.sort_unstable();
    wanted.sort_unstable();
    if lines == wanted { Ok(()) } else { Err(format!("this does not make {from} into {to}")) }
}

fn check_rust_block(body: &str, block: &Block) -> Result<(), String> {
    let from = block.value("from").ok_or("a block of Rust says `from=…`")?;
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(from);
    let text = fs::read_to_string(&path).map_err(|error| format!("{from}: {error}"))?;
    if text.contains(body) && !body.trim().is_empty() {
        Ok(())
    } else {
        Err(format!("{from} has other lines"))
    }
}

fn check_fence_block(page: &Page, block: &Block, folder: &Path, index: usize) -> Result<(), String> {
    let body = &page.text[block.body.clone()];
    let file = block.value("file").map_or_else(|| format!("block-{index}.fence"), str::to_owned);
    if block.has("fragment") {
        fs::write(folder.join(&file), format!("{}{body}{}", FRAME.0, FRAME.1)).expect("writable");
        let run = fencepost(folder, &["emit", "events", &file]);
        return if run.code == 0 { Ok(()) } else { Err(format!("a fragment is rejected:\n{}", run.stderr)) };
    }
    if let Some(path) = block.value("example")
        && !body.lines().eq(example(path)?)
    {
        return Err(format!("this is not the kernel of examples/{path}"));
    }
    let path = folder.join(&file);
    fs::create_dir_all(path.parent().unwrap_or(folder)).expect("writable");
    fs::write(path, body).expect("writable");
    match block.value("expect") {
        Some(expect) => check_verdict(folder, &file, expect),
        None => Err("a kernel needs `expect=…`, or is a `fragment`".to_owned()),
    }
}

fn check_cat_block(page: &Page, block: &Block, folder: &Path, index: usize) -> Result<(), String> {
    let body = &page.text[block.body.clone()];
    if block.has("excerpt") {
        return check_excerpt(body);
    }
    let file = block.value("file").map_or_else(|| format!("block-{index}.cat"), str::to_owned);
    let text = if block.has("fragment") { format!("include \"ptx.cat\"\n{body}") } else { body.to_owned() };
    fs::write(folder.join(&file), text).expect("writable");
    let run = fencepost(folder, &["emit", "model", &file]);
    if run.code == 0 { Ok(()) } else { Err(format!("a model is rejected:\n{}", run.stderr)) }
}

/// Whether every statement of a block is one of `ptx.cat`, line by line.
fn check_excerpt(body: &str) -> Result<(), String> {
    let model = include_str!("../../engine/models/ptx.cat");
    let mut rest = body;
    while !rest.is_empty() {
        // A statement goes on as long as lines are indented.
        let mut next = rest.match_indices('\n').map(|(at, _)| at + 1);
        let end = next.find(|&at| !rest[at..].starts_with(' ')).unwrap_or(rest.len());
        let (statement, others) = rest.split_at(end);
        if !model.contains(&format!("\n{statement}")) {
            return Err(format!("ptx.cat does not say\n{statement}"));
        }
        rest = others;
    }
    Ok(())
}

/// The block as it should be: its commands with their real output.
fn transcript(body: &str, folder: &Path) -> Result<String, String> {
    let mut text = String::new();
    let mut code = 0;
    let mut is_first = true;
    for line in body.lines() {
        let Some(command) = line.strip_prefix("$ ") else {
            if is_first {
                return Err("a console block starts with `$ fencepost …`".to_owned());
            }
            continue;
        };
        is_first = false;
        text += &format!("{line}\n");
        let words: Vec<&str> = command.split_whitespace().collect();
        match words.as_slice() {
            ["echo", "$?"] => text += &format!("{code}\n"),
            ["fencepost", arguments @ ..] => {
                let run = fencepost(folder, arguments);
                code = run.code;
                let output = without_times(&(run.stdout + &run.stderr));
                // Trailing blanks would be lost to the next editor.
                text.extend(output.lines().map(|line| format!("{}\n", line.trim_end())));
            }
            _ => return Err(format!("only `fencepost …` and `echo $?` can be run, not `{command}`")),
        }
    }
    Ok(text)
}

/// JSON reports with all times 0, and the steps, which change with every change of a pass.
fn without_times(text: &str) -> String {
    let mut result = String::new();
    let text = without_seconds(&without_steps(text));
    let mut rest = text.as_str();
    while let Some((before, after)) = rest.split_once("\"milliseconds\":{") {
        let (times, after) = after.split_once('}').unwrap_or((after, ""));
        let names = times.split(',').filter_map(|time| time.split(':').next());
        let zeros: Vec<String> = names.map(|name| format!("{name}:0")).collect();
        result += &format!("{before}\"milliseconds\":{{{}}}", zeros.join(","));
        rest = after;
    }
    result + rest
}

/// JUnit documents with all times 0.
fn without_seconds(text: &str) -> String {
    let mut parts = text.split(" time=\"");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        text + " time=\"" + "0.0" + part.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.')
    })
}

fn without_steps(text: &str) -> String {
    let mut parts = text.split("\"steps\":");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        text + "\"steps\":0" + part.trim_start_matches(|c: char| c.is_ascii_digit())
    })
}

/// The pictures that a page shows are those that its commands have drawn.
fn check_pictures(page: &Page, folder: &Path, bless: bool) -> Result<(), String> {
    for name in page.text.split("](../pictures/").skip(1).filter_map(|rest| rest.split(')').next()) {
        let drawn = fs::read_to_string(folder.join(name))
            .map_err(|_| format!("book/src/{}: no command draws {name}", page.name))?;
        let shown = source_folder().join("pictures").join(name);
        if bless {
            fs::write(&shown, drawn).expect("the book is writable");
        } else if fs::read_to_string(&shown).ok() != Some(drawn) {
            return Err(format!(
                "book/src/pictures/{name} is not what {} draws; BLESS=1 writes it",
                page.name
            ));
        }
    }
    Ok(())
}

#[test]
fn every_block_says_what_is_true() {
    let bless = std::env::var_os("BLESS").is_some();
    assert!(!(bless && std::env::var_os("CI").is_some()), "the book is not rewritten in CI");
    let (mut failures, mut n_blocks) = (Vec::new(), 0);
    let pages = pages();
    for page in &pages {
        let folder = folder("blocks", &page.name);
        let mut text = String::new();
        let mut copied = 0;
        for (index, block) in page.blocks.iter().enumerate() {
            n_blocks += 1;
            let body = &page.text[block.body.clone()];
            let result = match block.language.as_str() {
                "fence" => check_fence_block(page, block, &folder, index),
                "cat" => check_cat_block(page, block, &folder, index),
                "source" => source::check(body, block, &folder),
                "diff" if block.value("of").is_some() => source::change(body, block, &folder),
                "diff" => check_diff_block(body, block),
                "rust" => check_rust_block(body, block),
                "toml" => match block.value("file") {
                    Some(file) => {
                        fs::write(folder.join(file), body).expect("writable");
                        Ok(())
                    }
                    None => Err("settings say `file=…`".to_owned()),
                },
                "text" => Ok(()),
                "console" => match transcript(body, &folder) {
                    Ok(real) if bless => {
                        text += &page.text[copied..block.body.start];
                        text += &real;
                        copied = block.body.end;
                        Ok(())
                    }
                    Ok(real) if real == body => Ok(()),
                    Ok(real) => Err(format!("the output is different:\n{real}")),
                    Err(reason) => Err(reason),
                },
                other => Err(format!(
                    "blocks are `fence`, `cat`, `console`, `diff`, `source`, `rust` or `text`, not `{other}`"
                )),
            };
            if let Err(reason) = result {
                failures.push(format!("book/src/{}:{}: {reason}", page.name, block.line));
            }
        }
        if let Err(reason) = check_pictures(page, &folder, bless) {
            failures.push(reason);
        }
        text += &page.text[copied..];
        if bless && text != page.text {
            fs::write(source_folder().join(&page.name), text).expect("the book is writable");
        }
    }
    assert!(pages.len() >= 10 && n_blocks >= 40, "{} pages with {n_blocks} blocks were found", pages.len());
    assert!(failures.is_empty(), "{} of {n_blocks} blocks:\n\n{}", failures.len(), failures.join("\n\n"));
}

#[test]
fn the_readme_is_true() {
    let text = include_str!("../../../README.md");
    let blocks = blocks("README.md", text);
    let of = |language: &str| -> Vec<&str> {
        let own = blocks.iter().filter(|block| block.language == language);
        own.map(|block| &text[block.body.clone()]).collect()
    };
    // The package of `toml` and `rust` is a member of the workspace, which `library.rs` holds to be the same.
    let known = ["fence", "console", "sh", "toml", "rust"];
    let odd = blocks.iter().find(|block| !known.contains(&block.language.as_str()));
    assert!(odd.is_none(), "README.md:{}: blocks are one of {known:?}", odd.map_or(0, |block| block.line));
    let folder = folder("readme", "README.md");
    let kernel = of("fence")[0];
    fs::write(folder.join("mp.fence"), kernel).expect("writable");
    assert_eq!(of("console").len(), 1, "the README shows one run");
    for body in of("console") {
        assert_eq!(transcript(body, &folder).as_deref(), Ok(body), "the README's output");
    }
    // What the README says of the narrowed scope, and the picture that it shows of it.
    fs::write(folder.join("mp.fence"), kernel.replace("st.release.gpu", "st.release.cta")).expect("writable");
    check_verdict(&folder, "mp.fence", "violated:race::scope-too-narrow")
        .expect("the narrowed scope is found");
    let report = fencepost(&folder, &["check", "--color", "always", "mp.fence"]).stdout;
    assert!(report.contains("tid 0 of cta 1 is not in its scope"), "{report}");
    assert!(report.contains("(checked: "), "{report}");
    check_report_picture(text, &report);
}

/// The picture of a report, which the README shows.
fn check_report_picture(readme: &str, report: &str) {
    const PICTURE: &str = "book/src/pictures/report.svg";
    assert!(readme.contains(&format!("]({PICTURE})")), "the README does not show {PICTURE}");
    let path = source_folder().join("../..").join(PICTURE);
    let drawn = terminal::svg(report);
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, drawn).expect("the picture is writable");
    } else {
        let shown = fs::read_to_string(&path).unwrap_or_default();
        assert!(shown == drawn, "{PICTURE} is not what the README's kernel gives: BLESS=1 writes it anew");
    }
}

/// The commands that the README begins with: those of cargo are run in CI, those of ours here.
#[test]
fn the_commands_of_the_readme_can_be_run() {
    let text = include_str!("../../../README.md");
    let run_in_ci = include_str!("../../../.ci/run");
    let root = source_folder().join("../..");
    let mut n_commands = 0;
    for block in blocks("README.md", text).iter().filter(|block| block.language == "sh") {
        for line in text[block.body.clone()].lines() {
            let command = line.split(" #").next().unwrap_or_default().trim();
            n_commands += 1;
            match command.split_whitespace().collect::<Vec<_>>().as_slice() {
                ["cargo", ..] => {
                    assert!(run_in_ci.contains(command), "README.md: .ci/run does not run `{command}`")
                }
                ["fencepost", arguments @ ..] => {
                    let run = fencepost(&root, arguments);
                    assert!(matches!(run.code, 0 | 1), "README.md: `{command}`: {}", run.stderr);
                }
                _ => panic!("README.md: only `cargo …` and `fencepost …` can be run, not `{command}`"),
            }
        }
    }
    assert!(n_commands >= 3, "{n_commands} commands were found");
}

#[test]
fn every_page_is_in_the_summary_and_every_link_leads_somewhere() {
    let pages = pages();
    let mut missing = Vec::new();
    let summary = pages.iter().find(|page| page.name == "SUMMARY.md").expect("an mdBook has a summary");
    for page in pages.iter().filter(|page| page.name != "SUMMARY.md") {
        if !summary.text.contains(&format!("]({})", page.name)) {
            missing.push(format!("SUMMARY.md does not name {}", page.name));
        }
    }
    for page in &pages {
        let folder = source_folder().join(&page.name);
        let folder = folder.parent().expect("a page is in a folder");
        for target in page.text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
            let linked = if path.is_empty() { source_folder().join(&page.name) } else { folder.join(path) };
            match fs::read_to_string(&linked) {
                _ if path.contains("://") => {}
                Err(_) => missing.push(format!("{}: there is no {target}", page.name)),
                Ok(text) if !anchor.is_empty() && !anchors(&text).contains(&anchor.to_owned()) => {
                    missing.push(format!("{}: no heading for {target}", page.name));
                }
                Ok(_) => {}
            }
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

/// The anchors mdBook gives to the headings of a page.
fn anchors(text: &str) -> Vec<String> {
    let headings = text.lines().filter_map(|line| line.strip_prefix('#'));
    headings
        .map(|heading| {
            let heading = heading.trim_start_matches('#').trim().to_lowercase().replace(' ', "-");
            heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, '-' | '_')).collect()
        })
        .collect()
}

/// The statements of a cell, those together that stand side by side. What it declares the kernel has already.
fn runs(cell: &str) -> Vec<Vec<&str>> {
    let mut runs: Vec<Vec<&str>> = Vec::new();
    for (number, part) in cell.split('`').enumerate() {
        let is_declared = ["shared ", "global ", "symmetric ", "param ", "const "];
        if number % 2 == 0 {
            runs.extend((part != " ").then(Vec::new));
        } else if part.ends_with(';') && !is_declared.iter().any(|kind| part.starts_with(kind)) {
            runs.last_mut().expect("text comes first").push(part);
        }
    }
    runs.retain(|run| !run.is_empty());
    runs
}

/// The lines of the cheat sheet are statements of its kernel, on one of the machines that have matrix units.
#[test]
fn every_line_of_the_cheat_sheet_is_accepted() {
    let folder = folder("cheat-sheet", "cheat-sheet");
    let pages = pages();
    let page = pages.iter().find(|page| page.name == "reference/cuda.md").expect("it has a page");
    let frame = &page.text[page.blocks[0].body.clone()];
    let (before, after) = frame.split_once("// the line").expect("its kernel has a place for them");
    let (mut failures, mut n_lines) = (Vec::new(), 0);
    for row in page.text.lines().filter(|line| line.starts_with("| ")) {
        let cell = row.trim_end_matches([' ', '|']).rsplit(" | ").next().unwrap_or_default();
        // A cell with words in front says something else than what to write. Others need a file of the library, a program, or
        // another map than the kernel has.
        let elsewhere = ["`use \"lib/", "in a `program`", "for a map in global memory"];
        if !cell.starts_with('`') || elsewhere.iter().any(|words| cell.contains(words)) {
            continue;
        }
        for statements in runs(cell) {
            n_lines += 1;
            let errors = ["sm_90a", "sm_100a"].map(|target| {
                let text = format!("//! target {target}\n{before}{}{after}", statements.join(" "));
                fs::write(folder.join("line.fence"), text).expect("writable");
                let run = fencepost(&folder, &["emit", "events", "line.fence"]);
                (run.code != 0).then_some(run.stderr)
            });
            if let [Some(first), Some(_)] = &errors {
                failures.push(format!("{cell}\n{first}"));
            }
        }
    }
    assert!(n_lines >= 130, "{n_lines} lines were found");
    assert!(failures.is_empty(), "{} of {n_lines} lines:\n\n{}", failures.len(), failures.join("\n"));
}

/// What the pages of codes show, all together. Where a page is, the library says to whoever links to one.
fn text_of_codes() -> String {
    let pages = pages();
    let own = pages.iter().filter(|page| page.name.starts_with("reference/codes/"));
    let text: Vec<String> = own
        .map(|page| {
            for heading in page.text.lines().filter_map(|line| line.strip_prefix("## `")) {
                let code = heading.trim_end_matches('`');
                let (address, anchor) = (fencepost::codes::address(code), code.replace("::", ""));
                assert_eq!(address, format!("{}#{anchor}", page.name.replace(".md", ".html")));
            }
            page.text.clone()
        })
        .collect();
    assert!(text.len() > 10, "{} pages of codes were found", text.len());
    text.concat()
}

/// The pages of codes that a finding can have: each is shown, and its example has that code.
#[test]
fn the_example_of_every_finding_has_it() {
    let folder = folder("codes", "codes");
    let list = fencepost(&folder, &["explain"]).stdout;
    let findings = list.split("\n\n").nth(1).expect("findings come first, below a title");
    let shown = text_of_codes();
    let (mut failures, mut n_examples) = (Vec::new(), 0);
    for code in findings.lines().filter_map(|line| line.split_whitespace().next()) {
        if !shown.contains(&format!("$ fencepost explain {code}\n")) {
            failures.push(format!("reference/codes does not show {code}"));
        }
        let text = fencepost(&folder, &["explain", code]).stdout;
        let (_, example) = text.split_once("\nExample\n").expect("every finding has an example");
        let (example, _) =
            example.split_once("\nHow to fix\n").expect("an example is followed by the repair");
        // Text between indented parts belongs to none of them.
        let part = |example: &str| -> (String, String) {
            let is_indented = |line: &&str| line.starts_with("    ") || line.is_empty();
            let lines: Vec<&str> = example.lines().skip_while(|line| !line.starts_with("    ")).collect();
            let n = lines.iter().take_while(|line| is_indented(line)).count();
            let own = lines[..n].iter().map(|line| format!("{}\n", line.trim_start_matches("    ")));
            (own.collect(), lines[n..].join("\n"))
        };
        let (kernel, rest) = part(example);
        // The module that it imports is the part behind it.
        if let Some((module, _)) = kernel.split_once("import \"").and_then(|(_, rest)| rest.split_once('"')) {
            fs::write(folder.join(module), part(&rest).0).expect("writable");
        }
        if code == "model::flag" {
            // The model file is the example there.
            continue;
        }
        n_examples += 1;
        let family = code.split("::").next().unwrap_or(code);
        let expect = match family {
            "vacuity" => format!("vacuous:{code}"),
            "bound" => "proved_up_to_bound".to_owned(),
            _ => format!("violated:{code}"),
        };
        let extension = if kernel.starts_with("PTX ") { "litmus" } else { "fence" };
        let file = format!("{}.{extension}", code.replace("::", "-"));
        fs::write(folder.join(&file), kernel).expect("writable");
        if let Err(reason) = check_verdict(&folder, &file, &expect) {
            failures.push(format!("fencepost explain {code}: the example: {reason}"));
        }
    }
    assert!(n_examples >= 10, "{n_examples} examples were found in:\n{list}");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// The pages of warnings: each is shown, and its example is warned about, and is proved all the same.
#[test]
fn the_example_of_every_warning_has_it() {
    let folder = folder("warnings", "warnings");
    let list = fencepost(&folder, &["explain"]).stdout;
    let warnings = list.split("\n\n").nth(3).expect("warnings come after findings, below a title");
    let shown = text_of_codes();
    let mut failures = Vec::new();
    for code in warnings.lines().filter_map(|line| line.split_whitespace().next()) {
        assert!(code.starts_with("warning::"), "{code}");
        if !shown.contains(&format!("$ fencepost explain {code}\n")) {
            failures.push(format!("reference/codes does not show {code}"));
        }
        let text = fencepost(&folder, &["explain", code]).stdout;
        let (_, example) = text.split_once("\nExample\n").expect("every warning has an example");
        let (example, _) = example.split_once("\nHow to fix\n").expect("it is followed by the repair");
        let kernel: String =
            example.lines().map(|line| format!("{}\n", line.strip_prefix("    ").unwrap_or(line))).collect();
        let file = format!("{}.fence", code.replace("::", "-"));
        fs::write(folder.join(&file), kernel).expect("writable");
        let run = fencepost(&folder, &["check", &file, "--format", "github"]);
        let title = format!("title={}::", code.replace(':', "%3A"));
        if run.code != 0 || !run.stdout.contains(&title) || run.stdout.lines().count() != 1 {
            failures.push(format!("{code}: the example has exit code {}:\n{}", run.code, run.stdout));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Every subcommand's help is on the page of the command line.
#[test]
fn every_subcommand_is_on_the_page_of_the_command_line() {
    let folder = folder("help", "help");
    let help = fencepost(&folder, &["--help"]).stdout;
    let (_, rest) = help.split_once("Commands:\n").expect("the help lists the subcommands");
    let names =
        rest.lines().take_while(|line| !line.is_empty()).filter_map(|line| line.split_whitespace().next());
    let pages = pages();
    let page = pages.iter().find(|page| page.name == "reference/command-line.md").expect("it has a page");
    let missing: Vec<&str> = names
        .filter(|name| *name != "help" && !page.text.contains(&format!("$ fencepost {name} --help\n")))
        .collect();
    assert!(missing.is_empty(), "book/src/reference/command-line.md does not show the help of {missing:?}");
}

/// Codes are spelled in the book as the program spells them.
#[test]
fn every_code_in_the_book_exists() {
    const FAMILIES: [&str; 11] = [
        "syntax",
        "resolve",
        "validate",
        "limit",
        "unsupported",
        "cat",
        "race",
        "assert",
        "bounds",
        "vacuity",
        "bound",
    ];
    let folder = folder("mentions", "mentions");
    let list = fencepost(&folder, &["explain"]).stdout;
    let known: Vec<&str> = list.lines().filter_map(|line| line.split_whitespace().next()).collect();
    let (mut unknown, mut n_mentions) = (Vec::new(), 0);
    for page in pages() {
        for word in page.text.split(|c: char| !(c.is_alphanumeric() || matches!(c, ':' | '-' | '_' | '…')))
        {
            let Some((family, name)) = word.split_once("::") else { continue };
            // `race::…` stands for a family.
            if FAMILIES.contains(&family) && !name.ends_with('…') {
                n_mentions += 1;
                let code = word.trim_end_matches(':');
                if !known.contains(&code) {
                    unknown.push(format!("{}: there is no code `{code}`", page.name));
                }
            }
        }
    }
    assert!(n_mentions > 100, "{n_mentions} codes are mentioned");
    assert!(unknown.is_empty(), "{}", unknown.join("\n"));
}

/// The page of limits gives the same defaults as the help.
#[test]
fn the_defaults_of_limits_are_those_of_the_command_line() {
    let folder = folder("limits", "limits");
    let help = fencepost(&folder, &["check", "--help"]).stdout;
    let pages = pages();
    let page = pages.iter().find(|page| page.name == "explanation/limits.md").expect("limits have a page");
    let mut n_knobs = 0;
    for row in page.text.lines().filter(|line| line.starts_with('|')) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let Some(knob) = cells.get(3).and_then(|cell| cell.strip_prefix('`')?.strip_suffix('`')) else {
            continue;
        };
        n_knobs += 1;
        let stated: String = cells[2].chars().filter(char::is_ascii_digit).collect();
        let (_, rest) = help.split_once(&format!("{knob} <")).expect("a knob is an option of `check`");
        let (_, rest) = rest.split_once("[default: ").expect("a knob has a default");
        let default = rest.split(']').next().unwrap_or_default();
        assert_eq!(stated, default, "the default of {knob}, in book/src/{}", page.name);
    }
    assert!(n_knobs >= 5, "{n_knobs} knobs were found");
}
