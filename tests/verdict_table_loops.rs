//! Verdicts of loops that wait: what comes behind them depends on them, and which of them hang (LT-8), whatever they
//! keep in registers. They are in `tests/tables/loops`.

use std::process::ExitCode;

fn main() -> ExitCode {
    fencepost_tests::claims::main("tables/loops", false)
}
