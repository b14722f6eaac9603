//! The PTX ISA version and architecture a kernel is written for, and what they are too old for.
//!
//! Floors are those of the version table of the PTX documentation; `ptxas` itself is known not to enforce all of them.

use super::ast::Comment;
use crate::diagnostic::Diagnostic;
use crate::span::Span;

/// The machine that is programmed below PTX.
pub const SPA: &str = "spa_50";

/// What a kernel is compiled for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Target {
    /// PTX ISA version, major and minor.
    pub ptx: (u16, u16),
    /// The number in `sm_90`.
    pub sm: u16,
    /// Whether instructions are accepted that only the published formal model of PTX 7.5 has.
    pub formal: bool,
    /// Whether it is no PTX but the machine code of SPA 5.0; then the rest means nothing.
    pub spa: bool,
}

impl Default for Target {
    fn default() -> Self {
        Self { ptx: (9, 4), sm: 90, formal: false, spa: false }
    }
}

impl Target {
    /// The target that a file's `//! target sm_90 ptx 8.0` line names, if there is one.
    pub fn from_header(comments: &[Comment]) -> Result<Option<Self>, Diagnostic> {
        for comment in comments {
            let Some(text) = comment.text.strip_prefix("//!") else { continue };
            let mut words = text.split_whitespace();
            if words.next() != Some("target") {
                continue;
            }
            let mut target = Self::default();
            let mut words: Vec<&str> = words.collect();
            if words.last() == Some(&"formal") {
                target.formal = true;
                words.pop();
            }
            let understood = match *words {
                [] => target.formal,
                [SPA] => {
                    target.spa = true;
                    !target.formal
                }
                [sm] => target.set_sm(sm),
                [sm, "ptx", version] => target.set_sm(sm) && target.set_ptx(version),
                ["ptx", version] => target.set_ptx(version),
                _ => false,
            };
            if understood {
                return Ok(Some(target));
            }
            let message = "this target line is not understood";
            return Err(Diagnostic::new("syntax::target", message, comment.place.0, "target line")
                .with_help("write it like `//! target sm_90 ptx 8.0`, or `//! target spa_50`"));
        }
        Ok(None)
    }
    /// Sets what `--target` names, `sm_90` or `spa_50`; `false` if it is neither.
    pub fn set(&mut self, text: &str) -> bool {
        self.spa = text == SPA;
        self.spa || self.set_sm(text)
    }
    /// Sets the architecture from `sm_90` (a trailing `a` or `f` is ignored); `false` if it is not one.
    pub fn set_sm(&mut self, text: &str) -> bool {
        let digits = text.strip_prefix("sm_").map(|rest| rest.trim_end_matches(['a', 'f']));
        match digits.and_then(|digits| digits.parse().ok()) {
            Some(sm) => {
                self.sm = sm;
                true
            }
            None => false,
        }
    }
    fn set_ptx(&mut self, text: &str) -> bool {
        let version = text
            .split_once('.')
            .and_then(|(major, minor)| Some((major.parse::<u16>().ok()?, minor.parse::<u16>().ok()?)));
        match version {
            Some(ptx) => {
                self.ptx = ptx;
                true
            }
            None => false,
        }
    }
    /// The error if this target is older than `ptx` and `sm`, which `feature` needs.
    pub fn check(self, feature: &str, ptx: (u16, u16), sm: u16, span: Span) -> Option<Diagnostic> {
        if self.ptx >= ptx && self.sm >= sm {
            return None;
        }
        let message = format!(
            "`{feature}` needs PTX ISA {}.{} and sm_{sm}; the target is PTX ISA {}.{} and sm_{}",
            ptx.0, ptx.1, self.ptx.0, self.ptx.1, self.sm
        );
        let help = format!(
            "raise the target: `//! target sm_{} ptx {}.{}`",
            sm.max(self.sm),
            ptx.max(self.ptx).0,
            ptx.max(self.ptx).1
        );
        Some(Diagnostic::new("validate::target", message, span, "not in this target").with_help(help))
    }
}
