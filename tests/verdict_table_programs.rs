//! Verdicts of programs: what streams, events, synchronization and programmatic launches order (MM-38, MM-39, AS-40), and
//! what they do not. In `tests/tables/programs`, next to each bad row stands the nearest good one.

use std::process::ExitCode;

fn main() -> ExitCode {
    fencepost_tests::claims::main("tables/programs", false)
}
