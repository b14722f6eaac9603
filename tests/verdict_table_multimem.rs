//! Verdicts of `multimem` (MM-7, MM-14): what is ordered through the multimem address, and what between it and the own
//! address of a device's instance, under both readings of whether those are aliases (MM-6, A-2), with every optimisation on
//! and with each one off. The kernels are in `tests/tables/multimem`.

use std::process::ExitCode;

fn main() -> ExitCode {
    fencepost_tests::claims::main("tables/multimem", true)
}
