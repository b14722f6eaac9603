//! Verdicts that the PTX ISA and the formal models of it fix: each shape's outcome is allowed or forbidden, and it races or
//! not, with every optimisation on and with each one off. Where a claim comes from stands in brackets behind its name.
//!
//! The kernels are in `tests/tables/published`. Memory starts at 0; results go to words of their own, and `reachable` asks for
//! the outcome.

use std::process::ExitCode;

fn main() -> ExitCode {
    fencepost_tests::claims::main("tables/published", true)
}
