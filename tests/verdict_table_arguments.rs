//! What arguments that spare the solver work must not take for granted: each kernel fails only in executions that such an
//! argument once left out, and beside it stands one that is proved by it. With every optimisation on and with each one off.
//!
//! The kernels are in `tests/tables/arguments`.

use std::process::ExitCode;

fn main() -> ExitCode {
    fencepost_tests::claims::main("tables/arguments", true)
}
