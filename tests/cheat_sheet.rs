//! The book's cheat sheet is the table that answers are taken from, and each name on its left, pasted into the sheet's kernel, is an
//! error that names it and says what stands on the right.
//!
//! `BLESS=1 cargo test --workspace --test cheat_sheet` writes the tables of the page; what stands around them is written by hand.

use fencepost_dsl::kernel::{LoadOptions, load};
use fencepost_dsl::{Diagnostic, SourceMap};
use fencepost_foreign::Origin;
use fencepost_foreign::sheet::{Name, Row as Entry, Section, sections};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Names that mean what they say here, or that are answered as a slip of this language: a helping line is all they need.
const OWN: &[&str] =
    &["v = x", "x = 1", "return", "assert(c)", "while (true) { … }", "fence.proxy.alias", "st.async"];

/// A row of the sheet: the names, and the lines to write.
struct Row {
    names: Vec<String>,
    lines: Vec<String>,
}

/// What stands between backticks.
fn spans(cell: &str) -> Vec<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../book/src/reference/cuda.md")
}

fn sheet() -> (String, Vec<Row>) {
    let text = fs::read_to_string(path()).expect("the sheet is there");
    let kernel = text.split("```").nth(1).expect("it has a kernel");
    let (_, kernel) = kernel.split_once('\n').expect("with a line that says how to check it");
    let rows =
        text.lines().filter(|line| line.starts_with("| `") || line.starts_with("| ") && line.contains('`'));
    let rows = rows.filter(|line| !line.starts_with("| you write"));
    let rows = rows.map(|row| {
        let cells: Vec<&str> = row.trim_matches(['|', ' ']).split(" | ").collect();
        Row { names: spans(cells[0]), lines: spans(cells[2]) }
    });
    (kernel.to_owned(), rows.collect())
}

/// A name as it stands in a program: with an object, arguments and a semicolon, where the sheet leaves them out.
fn pasted(name: &str) -> String {
    let name = match name.strip_prefix('…') {
        Some(rest) => format!("r{rest}"),
        None => name.replace("(…load", "(r.load"),
    };
    let name = match name.chars().next() {
        Some('.') => format!("r{name}"),
        Some('(') if name.contains("thread_scope") => format!("cuda::atomic_thread_fence{name}"),
        Some('(') => format!("let v = {name}"),
        _ => name,
    };
    let name = name.replace(" … ", " ").replace('…', "1");
    if name.ends_with([';', '}']) { name } else { format!("{name};") }
}

fn errors(text: &str) -> (SourceMap, Vec<Diagnostic>) {
    let mut sources = SourceMap::default();
    let result = load(&mut sources, "names.fence", &mut |_| Ok(text.to_owned()), &LoadOptions::default());
    (sources, result.err().unwrap_or_default())
}

/// What a line's instruction begins with.
fn mnemonic(line: &str) -> &str {
    let line = line.split_once("= ").map_or(line, |(_, value)| value);
    let line = line.trim_start_matches("await ").trim_start_matches('(');
    line.split(['.', ' ', ';']).next().unwrap_or(line)
}

/// What is missing in the answer to a name of a row.
fn wrong(kernel: &str, row: &Row, number: usize) -> Option<String> {
    let name = &row.names[number];
    let line = pasted(name);
    let (sources, errors) = errors(&kernel.replace("// the line", &line));
    if OWN.contains(&name.as_str()) {
        return errors.iter().any(|error| error.help.is_none()).then(|| format!("{name}: no help"));
    }
    let [error] = errors.as_slice() else { return Some(format!("{name}: {errors:#?}")) };
    let title = error.message.split('`').nth(1).unwrap_or_default();
    let word = title.split(['(', '<', ' ']).find(|part| !part.is_empty()).unwrap_or_default();
    let help = error.help.as_deref().unwrap_or_default();
    let marked = sources.text(error.span());
    // The first name of a row has its lines; others may have one of the same instruction.
    let has = |wanted: &String| {
        // Operands that have a name are taken over.
        let opcode = wanted.split(' ').rfind(|word| word.contains('.')).unwrap_or(wanted);
        help.contains(wanted.as_str()) || name.contains("(e, ") && help.contains(opcode)
    };
    let is_told = row.lines.is_empty()
        || row.lines.iter().all(has)
        || row.lines.iter().any(|wanted| number > 0 && help.contains(mnemonic(wanted)))
        || row.lines.first().is_some_and(|wanted| !wanted.ends_with(';') && help.contains(mnemonic(wanted)));
    let is_right = error.code == "syntax::foreign"
        && error.message.ends_with(", not `.fence`")
        && !word.is_empty()
        && line.contains(word)
        && !marked.is_empty()
        && line.contains(marked)
        && !help.is_empty()
        && is_told;
    (!is_right)
        .then(|| format!("{line}\n    {} ({marked})\n    {help}\n    wanted: {:?}", error.message, row.lines))
}

#[test]
fn each_name_of_the_sheet_is_answered_with_its_line() {
    let (kernel, rows) = sheet();
    let mut failures = Vec::new();
    let mut names = BTreeSet::new();
    for row in &rows {
        for number in 0..row.names.len() {
            names.insert(row.names[number].clone());
            failures.extend(wrong(&kernel, row, number));
        }
    }
    assert!(names.len() > 150, "{} names were found", names.len());
    assert!(failures.is_empty(), "{} of {}:\n{}", failures.len(), names.len(), failures.join("\n"));
}

/// What the page says of another page in place of its title or path.
const LINKS: &[(&str, &str)] = &[
    ("\"Model a multi-GPU collective\" of the book", "[a multi-GPU collective](../how-to/multi-gpu.md)"),
    ("\"Matrix operations\" of the book", "[matrix operations](language.md#matrix-operations)"),
];

/// Where the search finds what begins with underscores.
const PLAIN_NAMES: &str = "So these are the names of this page that begin with underscores, without them: ";

/// Who is named in front of a name: of the others it says so itself.
fn maker(name: &Name) -> Option<String> {
    let is_said = matches!(name.origin, Origin::Cutlass | Origin::Triton | Origin::Gluon);
    is_said.then(|| name.origin.to_string())
}

fn names_of(row: &Entry) -> String {
    let mut shown: Vec<&Name> = row.names.iter().filter(|name| name.shown.is_some()).collect();
    shown.sort_by_key(|name| maker(name));
    let mut last = None;
    let cells = shown.into_iter().map(|name| {
        let maker = maker(name);
        let front = maker.clone().filter(|_| maker != last);
        last = maker;
        let front = front.map(|maker| format!("{maker} ")).unwrap_or_default();
        format!("{front}{}", name.shown.unwrap_or_default())
    });
    cells.collect::<Vec<_>>().join(", ")
}

/// What to write, with links where the book has more.
fn help_of(row: &Entry) -> String {
    let mut text = LINKS.iter().fold(row.help.to_owned(), |text, (from, to)| text.replace(from, to));
    let mut linked = String::new();
    while let Some((before, rest)) = text.split_once("`use \"lib/") {
        let (file, after) = rest.split_once("\";`").expect("a path ends");
        linked += &format!("{before}[`use \"lib/{file}\";`](library.md)");
        text = after.to_owned();
    }
    linked += &text;
    row.more.map_or(linked.clone(), |more| format!("{linked} ({more})"))
}

/// The page's table of a section; `None` if it shows no row of it.
fn table(section: &Section) -> Option<String> {
    let rows = section.rows.iter().filter_map(|row| Some((row, row.ptx?)));
    let lines: Vec<String> =
        rows.map(|(row, ptx)| format!("| {} | {ptx} | {} |\n", names_of(row), help_of(row))).collect();
    (!lines.is_empty()).then(|| format!("| you write | PTX | `.fence` |\n|---|---|---|\n{}", lines.concat()))
}

/// The page with its tables as they should be.
fn written(page: &str) -> String {
    let (head, rest) = page.split_once("\n## ").expect("it has sections");
    let mut text = head.to_owned();
    for part in rest.split("\n## ") {
        let (title, body) = part.split_once('\n').expect("a section has lines");
        text += &format!("\n## {title}\n");
        let Some(table) = sections().iter().find(|own| own.title == title).and_then(table) else {
            text += body;
            continue;
        };
        let (before, rest) = body.split_once("| you write ").expect("it has a table");
        let after =
            rest.split_inclusive('\n').skip_while(|line| line.starts_with(['|', 'P']) && line.contains('|'));
        text += &format!("{before}{table}{}", after.collect::<String>());
    }
    let (before, _) = text.split_once(PLAIN_NAMES).expect("it names them");
    let shown = sections().iter().flat_map(|section| &section.rows).flat_map(|row| &row.names);
    let plain = shown.filter(|name| name.shown.is_some()).flat_map(Name::typed);
    let plain: BTreeSet<&str> = plain.filter_map(|name| name.strip_prefix("__")).collect();
    let plain = plain.into_iter().collect::<Vec<_>>().join(", ");
    format!("{before}{PLAIN_NAMES}{plain}.\n")
}

#[test]
fn the_page_is_the_table() {
    let page = fs::read_to_string(path()).expect("the sheet is there");
    let headings: BTreeSet<&str> = page.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    for section in sections() {
        assert!(table(section).is_none() || headings.contains(section.title), "no heading {}", section.title);
    }
    let wanted = written(&page);
    if std::env::var_os("BLESS").is_some() {
        fs::write(path(), wanted).expect("writable");
    } else {
        assert!(page == wanted, "BLESS=1 writes the page from `dsl/foreign/src/sheet.txt`");
    }
}
