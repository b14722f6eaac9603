//! A solver for `--solver-command 'plain_solver {cnf} {proof}'`: the small search of `fencepost verify --thorough`, as a process.
//!
//! What it learns is its proof. It is there to show what a solver has to do, and for tests; it is not fast.

#![expect(clippy::print_stdout, reason = "its answer goes to standard output")]

use fencepost_verify::cnf::Formula;
use fencepost_verify::thorough::sat::{Found, Sat};
use std::process::ExitCode;
use std::{env, fs};

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let [cnf, proof] = &words[..] else {
        println!("c name a formula and where the proof goes");
        return ExitCode::from(2);
    };
    let text = fs::read_to_string(cnf).unwrap_or_default();
    let Ok(formula) = Formula::parse(&text) else {
        println!("c this is no formula");
        return ExitCode::from(2);
    };
    let mut sat = Sat::new();
    formula.clauses.iter().for_each(|clause| sat.add(clause));
    match sat.search(&[], usize::MAX) {
        Found::Assignment(values) => {
            let literal = |(variable, &is_true): (usize, &bool)| {
                if is_true { format!("{variable}") } else { format!("-{variable}") }
            };
            let literals: Vec<String> = values.iter().enumerate().skip(1).map(literal).collect();
            println!("s SATISFIABLE\nv {} 0", literals.join(" "));
            ExitCode::from(10)
        }
        Found::None => {
            let lines = sat.learnt.iter().map(|clause| {
                let literals: String = clause.iter().map(|literal| format!("{literal} ")).collect();
                literals + "0\n"
            });
            if fs::write(proof, lines.collect::<String>()).is_err() {
                return ExitCode::from(2);
            }
            println!("s UNSATISFIABLE");
            ExitCode::from(20)
        }
        Found::TooLong => ExitCode::from(0),
    }
}
