//! Verdicts of restricted fences (FN-7 … FN-9, FN-18, FN-27): what each covers, and what next to it it does not, with every
//! optimisation on and with each one off.
//!
//! In the kernels of `tests/tables/restricted-fences` one CTA of a cluster does something and signals it, and another one has
//! seen the signal; whether `race` or an initialisation that is not ordered is found.

use std::process::ExitCode;

fn main() -> ExitCode {
    fencepost_tests::claims::main("tables/restricted-fences", true)
}
