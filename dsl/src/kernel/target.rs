//! The PTX ISA version and architecture a kernel is written for, and what they are too old for.
//!
//! Floors are those of the version table of the PTX documentation; `ptxas` itself is known not to enforce all of them.

use super::ast::Comment;
use super::isa::{Floor, Only};
use crate::diagnostic::Diagnostic;
use crate::span::Span;

/// The machine that is programmed below PTX.
pub const SPA: &str = "spa_50";

/// Numbers of the architectures that there are.
const ARCHITECTURES: &[u16] = &[
    20, 21, 30, 32, 35, 37, 50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 88, 89, 90, 100, 101, 103, 107,
    110, 120, 121,
];
/// The last minor version of each major version of the PTX ISA, from 1 on.
const LAST_VERSIONS: &[u16] = &[5, 3, 2, 3, 1, 5, 8, 8, 5];

/// What a kernel is compiled for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Target {
    /// PTX ISA version, major and minor.
    pub ptx: (u16, u16),
    /// The number in `sm_90`.
    pub sm: u16,
    /// What stands behind it.
    pub suffix: Suffix,
    /// Whether instructions are accepted that only the published formal model of PTX 7.5 has.
    pub formal: bool,
    /// Whether it is no PTX but the machine code of SPA 5.0; then the rest means nothing.
    pub spa: bool,
}

/// What stands behind the number of an architecture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Suffix {
    /// Nothing: what all later architectures have as well.
    None,
    /// `a`: everything that this one has.
    Architecture,
    /// `f`: what its family has.
    Family,
    /// Nothing is said of a target: as `a` where something needs it.
    Unsaid,
}

impl Default for Target {
    fn default() -> Self {
        Self { ptx: (9, 4), sm: 90, suffix: Suffix::Unsaid, formal: false, spa: false }
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
    /// Sets the architecture from `sm_90`, `sm_90a` or `sm_100f`; `false` if there is none like that.
    pub fn set_sm(&mut self, text: &str) -> bool {
        let Some(rest) = text.strip_prefix("sm_") else { return false };
        let digits = rest.trim_end_matches(['a', 'f']);
        let (suffix, first) = match &rest[digits.len()..] {
            "" => (Suffix::None, 0),
            "a" => (Suffix::Architecture, 90),
            "f" => (Suffix::Family, 100),
            _ => return false,
        };
        match digits.parse() {
            Ok(sm) if ARCHITECTURES.contains(&sm) && sm >= first => {
                (self.sm, self.suffix) = (sm, suffix);
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
        self.check_floor(feature, Floor { ptx, sm, only: &[] }, span).err()
    }

    /// An error if this target does not have what `feature` needs.
    pub fn check_floor(self, feature: &str, floor: Floor, span: Span) -> Result<(), Diagnostic> {
        let Floor { ptx, sm, only } = floor;
        let is_new_enough = self.ptx >= ptx && self.sm >= sm;
        if is_new_enough && (only.is_empty() || only.iter().any(|&only| self.is_among(only))) {
            return Ok(());
        }
        let suffix = if only.is_empty() { "" } else { "a" };
        let own = only.iter().find(|only| only.covers(self.sm)).map(|_| self.sm);
        let least = own.or(only.first().map(|only| only.first())).unwrap_or(sm.max(self.sm));
        let needed = match only.split_last() {
            None => format!("sm_{sm}"),
            Some((last, [])) => last.to_string(),
            Some((last, others)) => {
                let others: Vec<String> = others.iter().map(Only::to_string).collect();
                format!("{} or {last}", others.join(", "))
            }
        };
        let version = ptx.max(self.ptx);
        let message = format!(
            "`{feature}` needs PTX ISA {}.{} and {}; the target is PTX ISA {}.{} and {self}",
            ptx.0, ptx.1, needed, self.ptx.0, self.ptx.1,
        );
        let verb = if is_new_enough { "name" } else { "raise" };
        let help =
            format!("{verb} the target: `//! target sm_{least}{suffix} ptx {}.{}`", version.0, version.1);
        Err(Diagnostic::new("validate::target", message, span, "not in this target").with_help(help))
    }

    /// What is taken where none is named.
    pub fn assumed(self) -> Option<String> {
        (self.suffix == Suffix::Unsaid && !self.spa).then(|| format!("sm_{}a", self.sm))
    }

    /// Whether it has what belongs to these architectures.
    fn is_among(self, only: Only) -> bool {
        match (self.suffix, only) {
            (Suffix::None, _) => false,
            (Suffix::Family, Only::Architecture(_)) => false,
            (Suffix::Family, Only::Family(_)) => self.ptx >= (8, 8) && only.covers(self.sm),
            (Suffix::Architecture | Suffix::Unsaid, _) => only.covers(self.sm),
        }
    }
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let suffix = match self.suffix {
            Suffix::None | Suffix::Unsaid => "",
            Suffix::Architecture => "a",
            Suffix::Family => "f",
        };
        write!(f, "sm_{}{suffix}", self.sm)
    }
}

impl Only {
    /// The number of its first architecture.
    fn first(self) -> u16 {
        match self {
            Self::Architecture(sm) | Self::Family(sm) => sm,
        }
    }
    /// Whether an architecture with a suffix is one of them.
    fn covers(self, sm: u16) -> bool {
        match self {
            Self::Architecture(only) => sm == only,
            // `sm_101` is the former name of `sm_110`.
            Self::Family(110) => matches!(sm, 101 | 110),
            Self::Family(first) => sm >= first && sm / 10 == first / 10 && sm != 101,
        }
    }
}

impl std::fmt::Display for Only {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Architecture(sm) | Self::Family(sm) => write!(f, "sm_{sm}a"),
        }
    }
}
