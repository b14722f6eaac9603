//! The table of agreement, for the terminal and for the book.

use super::known::DIFFERENCES;
use super::{Agreement, Compared};
use std::fmt::Write as _;

/// How spellings may compare, and the name of that.
pub const NAMES: &[(Agreement, &str)] = &[
    (Agreement::Taken, "both"),
    (Agreement::Refused, "neither"),
    (Agreement::Sugar, "sugar"),
    (Agreement::Unsupported, "not checked"),
    (Agreement::OnlyOurs, "only Fencepost"),
    (Agreement::OnlyAssembler, "only the assembler"),
];

/// How many of some comparisons came out in this way.
pub fn count<'a>(compared: impl IntoIterator<Item = &'a Compared>, wanted: Agreement) -> usize {
    compared.into_iter().filter(|one| one.agreement == wanted).count()
}

/// The table as a page of the book has it, from its first line to the end of the page.
///
/// # Panics
/// Never: writing to a string cannot fail.
pub fn page(version: &str, compared: &[Compared]) -> String {
    let mut page =
        format!("Assembler: `{version}`, PTX ISA {}, {} spellings.\n\n", super::VERSION, compared.len());
    let heads: Vec<&str> = NAMES.iter().map(|(_, name)| *name).collect();
    let _ = writeln!(page, "| instruction | {} |", heads.join(" | "));
    let _ = writeln!(page, "|---|{}", "---:|".repeat(NAMES.len()));
    let line = |name: &str, of: &[&Compared]| {
        let counts = NAMES.iter().map(|(wanted, _)| count(of.iter().copied(), *wanted).to_string());
        format!("| {name} | {} |\n", counts.collect::<Vec<_>>().join(" | "))
    };
    for rows in compared.chunk_by(|a, b| a.spelling.form.name == b.spelling.form.name) {
        page += &line(&format!("`{}`", rows[0].spelling.form.name), &rows.iter().collect::<Vec<_>>());
    }
    page += &line("all", &compared.iter().collect::<Vec<_>>());
    page +=
        "\n## Why they differ\n\n| taken by | spellings | for example | why it stays |\n|---|---:|---|---|\n";
    for class in DIFFERENCES {
        let of_class =
            || compared.iter().filter(|one| one.class().is_some_and(|found| std::ptr::eq(found, class)));
        if let Some(first) = of_class().next() {
            let who = if class.agreement == Agreement::OnlyOurs { "Fencepost" } else { "the assembler" };
            let _ = writeln!(
                page,
                "| {who} | {} | `{}` | {} |",
                of_class().count(),
                first.spelling.text,
                class.why
            );
        }
    }
    page
}
