//! Each name on the left of the book's cheat sheet, pasted into the sheet's kernel: the error names it and says the line on
//! the right.

use fencepost_dsl::kernel::{LoadOptions, load};
use fencepost_dsl::{Diagnostic, SourceMap};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

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

fn sheet() -> (String, Vec<Row>) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../book/src/reference/cuda.md");
    let text = fs::read_to_string(path).expect("the sheet is there");
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
