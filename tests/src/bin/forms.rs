//! Prints the table of agreement: the spellings of every row of the table of instructions that Fencepost takes, and, where
//! `FENCEPOST_PTXAS` names an assembler, whether that takes them too. Names behind the command keep to the rows that begin so.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "printing is what it is for")]

use fencepost_tests::forms::assembler::Assembler;
use fencepost_tests::forms::known::DIFFERENCES;
use fencepost_tests::forms::table::{NAMES, count};
use fencepost_tests::forms::{Compared, Ours, Spelling, compare, rows, spellings};
use std::process::ExitCode;

fn main() -> ExitCode {
    let names: Vec<String> = std::env::args().skip(1).collect();
    let is_meant =
        |name: &str| names.is_empty() || names.iter().any(|start| name.starts_with(start.as_str()));
    let assembler = Assembler::from_environment();
    match &assembler {
        Some(assembler) => match assembler.version() {
            Ok(version) => println!("compared with {version}\n"),
            Err(error) => {
                eprintln!("cannot run what FENCEPOST_PTXAS names: {error}");
                return ExitCode::FAILURE;
            }
        },
        None => println!("FENCEPOST_PTXAS is not set: no assembler to compare with\n"),
    }
    let mut all: Vec<Compared> = Vec::new();
    for form in rows().into_iter().filter(|form| is_meant(form.name)) {
        let tried = spellings(form);
        let n_taken = tried.iter().filter(|spelling| matches!(spelling.ours, Ours::Taken(_))).count();
        print!("{:<48} {n_taken:>5} of {:>5} spellings are taken", form.name, tried.len());
        if let Some(assembler) = &assembler {
            let compared = compare(assembler, tried);
            print!("{}", counts(&compared));
            all.extend(compared);
        } else {
            print!("{}", examples(&tried));
        }
        println!();
    }
    if assembler.is_some() {
        disagreements(&all);
    }
    ExitCode::SUCCESS
}

/// Some of the full spellings.
fn examples(tried: &[Spelling]) -> String {
    let mut full = tried.iter().filter_map(|spelling| match &spelling.ours {
        Ours::Taken(full) => Some(full.as_str()),
        Ours::Unsupported | Ours::Refused(_) => None,
    });
    full.next_back().map_or_else(String::new, |full| format!("; `{full}`"))
}

fn counts(compared: &[Compared]) -> String {
    let counts =
        NAMES.iter().map(|&(agreement, name)| (count(compared, agreement), name)).filter(|(n, _)| *n > 0);
    counts.map(|(n, name)| format!(", {name} {n}")).collect()
}

/// What one side takes and the other does not: by class, and one by one what is in none.
fn disagreements(all: &[Compared]) {
    println!("\nall {}{}", all.len(), counts(all));
    for class in DIFFERENCES {
        let of_class =
            || all.iter().filter(|one| one.class().is_some_and(|found| std::ptr::eq(found, class)));
        if let Some(first) = of_class().next() {
            println!("{} like `{}`: {}", of_class().count(), first.spelling.text, class.why);
        }
    }
    for one in all.iter().filter(|one| one.differs() && one.class().is_none()) {
        println!("in no class: {:?}: {}: {}", one.agreement, one.spelling.text, one.said_against());
    }
}
