//! Verdicts of asynchronous operations that this project derives from the PTX ISA: what is found in each kernel of
//! `tests/tables/asynchronous`, if anything; next to each bad one stands the nearest good one, and the other way round.
//!
//! Good kernels have no finding at all; what is asserted in them holds. Bad ones have the finding named, perhaps with others.

use std::process::ExitCode;

fn main() -> ExitCode {
    fencepost_tests::claims::main("tables/asynchronous", false)
}
