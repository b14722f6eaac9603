//! `assert_proved!`: a kernel file that is checked by a test.

use super::check::check;
use super::options::Options;
use super::source::Source;
use crate::report::Style;
use crate::verdict::Verdict;
use std::path::Path;

/// Checks a kernel file, and panics with the report unless everything in it is proved.
///
/// The path starts in the folder of the `Cargo.toml` of the package whose test this is. [`Options`](crate::Options) may
/// follow; with `allow_bounded(true)`, what is proved up to the loop bound is good enough.
///
/// In a function with `#[test]`:
///
/// ```
/// use fencepost::{Options, assert_proved};
///
/// assert_proved!("../examples/cas-lock/acquire-release.fence");
/// assert_proved!("../examples/cas-lock/acquire-release.fence", Options::default().model("ptx-7.5"));
/// ```
#[macro_export]
macro_rules! assert_proved {
    ($path:expr $(,)?) => {
        $crate::assert_proved!($path, $crate::Options::default())
    };
    ($path:expr, $options:expr $(,)?) => {
        $crate::api::assert_proved_in(::core::env!("CARGO_MANIFEST_DIR"), $path, &$options)
    };
}

/// What [`assert_proved!`](crate::assert_proved) calls: `folder` is where the path starts.
///
/// # Panics
/// Unless everything is proved.
#[track_caller]
pub fn assert_proved_in(folder: impl AsRef<Path>, path: impl AsRef<Path>, options: &Options) {
    let path = path.as_ref();
    match check(Source::file_in(folder.as_ref(), path), options) {
        Ok(report) if report.passes() => {}
        Ok(report) => {
            let verdict = match report.verdict() {
                Verdict::ProvedUpToBound => "proved up to a bound only",
                Verdict::Vacuous => "vacuous",
                Verdict::Inconclusive => "inconclusive",
                Verdict::Proved | Verdict::Violated => "violated",
            };
            panic!("`{}` is not proved: it is {verdict}\n\n{}", path.display(), report.to_text(Style::PLAIN));
        }
        Err(error) => panic!("`{}` is not proved: the input was rejected\n\n{error}", path.display()),
    }
}
