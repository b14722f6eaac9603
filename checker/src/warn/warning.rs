//! What a warning is.

use crate::findings::FindingKind;
use fencepost_dsl::Span;

/// A warning.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Warning {
    /// Its row.
    pub kind: &'static FindingKind,
    /// Where.
    pub span: Span,
    /// One sentence, without its end.
    pub message: String,
    /// What to do.
    pub help: &'static str,
}
