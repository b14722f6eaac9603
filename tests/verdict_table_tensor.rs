//! Verdicts of operations on tensor memory (R-11, UB-A8), derived from the PTX ISA's section on `tcgen05`: what is found in each
//! kernel of `tests/tables/tensor-memory`, if anything; next to each bad one stands the nearest good one.

use std::process::ExitCode;

fn main() -> ExitCode {
    fencepost_tests::claims::main("tables/tensor-memory", false)
}
