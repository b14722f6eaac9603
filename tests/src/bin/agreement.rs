//! Prints the page of the book about agreement, everything run again; `--bless` writes it instead.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "printing is what it is for")]

use fencepost_tests::agreement::{Shared, page, page_path};
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let is_blessed = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => std::env::var_os("BLESS").is_some(),
        ["--bless"] => true,
        _ => {
            eprintln!("usage: agreement [--bless]");
            return ExitCode::from(2);
        }
    };
    let shared = Shared::run();
    if shared.is_none() {
        eprintln!("there is no ../shared/litmus: the part about published tests stays as committed");
    }
    let page = page(shared.as_ref());
    if !is_blessed {
        print!("{page}");
    } else if let Err(error) = std::fs::write(page_path(), page) {
        eprintln!("cannot write {}: {error}", page_path().display());
        return ExitCode::FAILURE;
    }
    let complaints = shared.map(|shared| shared.complaints()).unwrap_or_default();
    for complaint in &complaints {
        eprintln!("{complaint}");
    }
    if complaints.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
