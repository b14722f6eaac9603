//! What can be found, each in one row: its code and page, the property it breaks, the rules it rests on and what usually
//! helps; and, for what a memory model flags, the flag's name, where it is asked for, what tells its story, and its headline.
//!
//! Rows are by family of codes. A name of a flag stands here and in the model files only: who asks what a flag means gets
//! its row from [`flag`].
//!
//! The sentences of a row stand beside what they are about, so that one more finding is one more row. They are data here: the
//! crate `fencepost` tells them, and of the engine nobody reads more than the names of facts in braces. Sentences that need
//! facts besides the two events are in its `report`.

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident {
        code: $code:literal,
        page: $page:literal,
        summary: $summary:literal,
        property: $property:expr,
        rules: [$($rule:literal),*],
        $(advice: $advice:literal,)?
    })*) => {
        $(
            #[doc = $summary]
            $(#[$doc])*
            pub static $name: crate::findings::FindingKind = crate::findings::FindingKind {
                code: $code,
                summary: $summary,
                page: include_str!(concat!("../codes/", $page, ".md")),
                property: $property,
                rules: &[$($rule),*],
                advice: kinds!(@advice $($advice)?),
            };
        )*
        /// All of the family.
        pub(super) static KINDS: &[&crate::findings::FindingKind] = &[$(&$name),*];
    };
    (@advice) => { None };
    (@advice $advice:literal) => { Some($advice) };
}

macro_rules! misuses {
    ($($name:ident: $kind:ident, $rule:literal {
        what: $what:literal,
        why: $story:ident $(($why:literal))?,
        help: $help:literal,
    })*) => {
        $(
            #[doc = $what]
            pub static $name: crate::findings::MisuseKind = crate::findings::MisuseKind {
                kind: &$kind,
                rule: $rule,
                what: $what,
                why: crate::findings::Why::$story $(($why))?,
                help: $help,
            };
        )*
    };
}

pub mod assertion;
pub mod asynchronous;
pub mod barrier;
pub mod bounds;
pub mod deadlock;
pub mod lifetime;
pub mod mbarrier;
pub mod race;
pub mod remark;
pub mod warning;

use std::fmt;

/// A property that is checked.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Property {
    /// No data race (the `race` flag of the model).
    Race,
    /// `assert` statements and final conditions.
    Assert,
    /// No execution in which threads wait for ever.
    Deadlock,
    /// The rules about barriers and mbarriers are kept.
    Barrier,
    /// Shared memory of a peer CTA is accessed only while that CTA is there.
    Lifetime,
    /// Indices stay inside their objects.
    Bounds,
    /// `reachable` statements are reached, and some execution completes.
    Reachable,
    /// The condition of a litmus test holds.
    Condition,
}

impl Property {
    /// All of them, in the order of reports.
    pub const ALL: [Self; 8] = [
        Self::Race,
        Self::Assert,
        Self::Deadlock,
        Self::Barrier,
        Self::Lifetime,
        Self::Bounds,
        Self::Reachable,
        Self::Condition,
    ];

    /// Its name on the command line and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Race => "race",
            Self::Assert => "assert",
            Self::Deadlock => "deadlock",
            Self::Barrier => "barrier",
            Self::Lifetime => "lifetime",
            Self::Bounds => "bounds",
            Self::Reachable => "reachable",
            Self::Condition => "condition",
        }
    }
}

impl fmt::Display for Property {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a finding is.
#[derive(PartialEq, Eq, Debug)]
pub struct FindingKind {
    /// `family::kebab-name`.
    pub code: &'static str,
    /// One line.
    pub summary: &'static str,
    /// What `fencepost explain` prints below the line.
    pub page: &'static str,
    /// The property it breaks; `None` if it breaks none, but says that a proof is bounded or about nothing.
    pub property: Option<Property>,
    /// The rules it always rests on, most specific first.
    pub rules: &'static [&'static str],
    /// What usually helps, whatever the facts are.
    pub advice: Option<&'static str>,
}

/// A way to break a rule about barriers, mbarriers, asynchronous operations or alignment.
#[derive(PartialEq, Eq, Debug)]
pub struct MisuseKind {
    /// What it is reported as.
    pub kind: &'static FindingKind,
    /// The rule.
    pub rule: &'static str,
    /// What a thread does, to follow its name. `{places}` are facts that the misuse has under these names.
    pub what: &'static str,
    /// What tells why it is wrong in an execution.
    pub why: Why,
    /// What to do.
    pub help: &'static str,
}

/// What a broken rule about barriers is explained by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why {
    /// The values of the instruction alone: a sentence with the places of `what`.
    Values(&'static str),
    /// The arrivals of a phase of an mbarrier, and how many it expects.
    Phase,
    /// The bytes that are counted in a phase.
    Bytes,
    /// Who initialises an mbarrier, and who does not come to it.
    Initialisation,
    /// Who drops out of an mbarrier.
    Drops,
    /// The arrive that returned a state.
    State,
    /// The phases that were complete at a wait.
    Overtaking,
    /// The last arrival of the thread, and who else arrives in its generation.
    Generation,
    /// The thread's arrivals and waits at the cluster barrier before.
    ClusterWait,
    /// Others that come to the same barrier in another form.
    OtherForm,
    /// Where lanes go instead.
    Lanes,
    /// What the CTA allocates and deallocates.
    Columns,
    /// The last `setmaxnreg` of the thread, or the launch.
    Registers,
    /// Fences of the thread that come too late or are not come to.
    MatrixFence,
}

/// What a flag of a memory model means.
#[derive(PartialEq, Eq, Debug)]
pub struct FlagKind {
    /// Its name in the model file; that of a refinement has the name of what it refines before a dot.
    pub name: &'static str,
    /// What it is reported as. Its story may find something more particular.
    pub kind: &'static FindingKind,
    /// Where it is looked for.
    pub asked: Asked,
    /// What tells why it holds.
    pub story: Story,
    /// The first line of a report: of these the first that applies. Empty where the story has a line of its own.
    ///
    /// `{first}` and `{second}` are threads, `{instruction}` is the first event, `{object}` what the second is about (of
    /// operations on an mbarrier, that), and `{flag}` the flag's name.
    pub headline: &'static [(When, &'static str)],
    /// Whether it is the likely cause of what else there is, and comes first in a report.
    pub comes_first: bool,
}

/// Where a flag is looked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Asked {
    /// In every launch.
    Always,
    /// Only where shared memory of a peer is accessed: there is nothing to say elsewhere.
    OfPeers,
    /// Only where there is tensor memory.
    OfTensorMemory,
    /// Of executions that were found only, to say more about the pair: a refinement.
    OfFindings,
}

/// What tells why a flag holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Story {
    /// Nothing: the two events are all.
    Pair,
    /// What almost ordered two accesses.
    Chain,
    /// Which link of the row that orders accesses of tensor memory is missing.
    TensorMemory,
    /// Which fence of a tensor map is missing.
    Tensormap,
    /// Why two grids overlap.
    Grids,
    /// Which proxy fence is missing.
    Proxies,
    /// When the CTA whose memory is accessed starts or ends.
    Lifetime,
    /// Which `MEMBAR` is missing, or which L1 is stale.
    OutOfOrder,
}

/// When a headline applies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum When {
    /// Where none before it does.
    Always,
    /// Both events are one: the flag is a set.
    OneEvent,
    /// Both have the same name for a reader.
    OneThread,
    /// The first reads.
    FirstReads,
    /// The second reads.
    SecondReads,
}

/// All kinds, in the order in which they are listed.
pub fn all() -> impl Iterator<Item = &'static FindingKind> {
    [
        race::KINDS,
        assertion::KINDS,
        deadlock::KINDS,
        barrier::KINDS,
        mbarrier::KINDS,
        bounds::KINDS,
        lifetime::KINDS,
        asynchronous::KINDS,
        remark::KINDS,
    ]
    .into_iter()
    .flatten()
    .copied()
}

/// All warnings, in the order in which they are listed.
pub fn warnings() -> impl Iterator<Item = &'static FindingKind> {
    warning::KINDS.iter().copied()
}

/// The flags that have rows.
fn flags() -> impl Iterator<Item = &'static FlagKind> {
    let families = [race::REFINEMENTS, race::FLAGS, mbarrier::FLAGS, lifetime::FLAGS, asynchronous::FLAGS];
    std::iter::once(&race::RACE).chain(families.into_iter().flatten().copied())
}

/// What the flag of that name means; one that is not known here is of a model of the user's own.
pub fn flag(name: &str) -> &'static FlagKind {
    let own = if name.contains('.') { &remark::OWN_REFINEMENT } else { &remark::OWN_FLAG };
    flags().find(|kind| kind.name == name).unwrap_or(own)
}

/// Whether a flag is looked for in executions that have another one, to say more about the pair.
pub fn refines(name: &str, refined: &str) -> bool {
    name.strip_prefix(refined).is_some_and(|rest| rest.starts_with('.'))
}

impl FlagKind {
    /// The property that it breaks.
    pub fn property(&self) -> Property {
        self.kind.property.unwrap_or(Property::Race)
    }
}

#[cfg(test)]
mod tests {
    use super::{Asked, When, all, flag, flags, refines};
    use fencepost_dsl::sorted::SortedSet;

    #[test]
    fn rows_are_consistent() {
        let codes: SortedSet<&str> = all().map(|kind| kind.code).collect();
        assert_eq!(codes.len(), all().count());
        let names: SortedSet<&str> = flags().map(|kind| kind.name).collect();
        assert_eq!(names.len(), flags().count());
        for kind in flags() {
            assert!(codes.contains(kind.kind.code) && kind.kind.property.is_some(), "{}", kind.name);
            assert_eq!(kind.asked == Asked::OfFindings, kind.name.contains('.'), "{}", kind.name);
            let is_total = kind.headline.last().is_none_or(|&(when, _)| when == When::Always);
            assert!(is_total, "{}", kind.name);
            assert_eq!(flag(kind.name).name, kind.name);
        }
    }

    #[test]
    fn every_flag_is_one_of_a_shipped_model() {
        let models = [
            include_str!("../models/ptx.cat"),
            include_str!("../models/ptx-7.5.cat"),
            include_str!("../models/ptx-6.0.cat"),
            include_str!("../models/spa-5.0.cat"),
        ];
        let flagged: SortedSet<&str> = models
            .iter()
            .flat_map(|text| text.lines())
            .filter(|line| line.starts_with("flag "))
            .filter_map(|line| line.rsplit_once(" as ").map(|(_, name)| name.trim()))
            .collect();
        assert_eq!(flagged, flags().map(|kind| kind.name).collect());
    }

    #[test]
    fn a_refinement_has_a_dot_behind_what_it_refines() {
        assert!(refines("race.alias", "race"));
        assert!(!refines("race", "race") && !refines("raceway.x", "race"));
        assert_eq!(flag("stale-read.seen").asked, Asked::OfFindings);
        assert_eq!(flag("stale-read").asked, Asked::Always);
    }
}
