//! The PTX ISA version and architecture a kernel is written for, and what they are too old for.
//!
//! Floors are those of the version table of the PTX documentation; `ptxas` itself is known not to enforce all of them.

use super::ast::Comment;
use crate::diagnostic::Diagnostic;
use crate::span::Span;

/// The machine that is programmed below PTX.
pub const SPA: &str = "spa_50";

/// Numbers of the architectures that there are.
const ARCHITECTURES: &[u16] = &[
    20, 21, 30, 32, 35, 37, 50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 88, 89, 90, 100, 101, 103, 110,
    120, 121,
];
/// The last minor version of each major version of the PTX ISA, from 1 on.
const LAST_VERSIONS: &[u16] = &[5, 3, 2, 3, 1, 5, 8, 8, 4];

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
            let message = "this target line is not understood, or names a version that there is not";
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
    /// Sets the architecture from `sm_90` (a final `a` or `f` is ignored); `false` if there is none like that.
    pub fn set_sm(&mut self, text: &str) -> bool {
        let digits = text.strip_prefix("sm_").map(|rest| rest.strip_suffix(['a', 'f']).unwrap_or(rest));
        match digits.and_then(|digits| digits.parse().ok()) {
            Some(sm) if ARCHITECTURES.contains(&sm) => {
                self.sm = sm;
                true
            }
            _ => false,
        }
    }
    fn set_ptx(&mut self, text: &str) -> bool {
        let version = text
            .split_once('.')
            .and_then(|(major, minor)| Some((major.parse::<u16>().ok()?, minor.parse::<u16>().ok()?)));
        let exists = |(major, minor): (u16, u16)| {
            let last = usize::from(major).checked_sub(1).and_then(|index| LAST_VERSIONS.get(index));
            last.is_some_and(|&last| minor <= last)
        };
        match version {
            Some(ptx) if exists(ptx) => {
                self.ptx = ptx;
                true
            }
            _ => false,
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
