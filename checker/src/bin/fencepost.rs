//! The `fencepost` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    fencepost::cli::main()
}
