//! Verdicts of the same kernels in a plain grid, in a cooperative one and as a cluster: how far `.cluster` reaches (MM-18),
//! and who may wait for whom (LT-5, LT-6); alone, and launched by a program. They are in `tests/tables/launches`.

use std::process::ExitCode;

fn main() -> ExitCode {
    fencepost_tests::claims::main("tables/launches", false)
}
