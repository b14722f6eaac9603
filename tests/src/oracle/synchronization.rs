//! The checker against its dull twin on mbarriers and cluster barriers: races, final states, deadlocks, broken rules.
//!
//! Once a rule is broken, what an execution does afterwards means nothing, and the two leave it at different places; then
//! only the broken rules are compared. After a mixed-size race (MM-20), only the race is.

use super::{REACHABLE_MAX, program};
use crate::generate::synchronization::sync_sketches;
use crate::outcomes::final_block;
use crate::random::{self, Counts, Plan, Suite};
use fencepost::check::{CheckError, Config, Limits};
use fencepost::encode::Treatment;
use fencepost::encode::goal::GoalKind;
use fencepost::explain::explain;
use fencepost::verdict::{Outcome, Property, Vacuity, Verdict};
use fencepost_dsl::Span;
use fencepost_dsl::cat::memory_model::MemoryModel;
use fencepost_reference::edition::Edition;
use fencepost_reference::{Effort, Misuse, Reference, decide_under};
use proptest::strategy::Strategy;
use std::collections::BTreeSet;
use std::fmt::Write;

/// What became of a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Comparison {
    /// Both say the same: the codes of broken rules, and whether there are races and deadlocks, and final states.
    Agreed {
        /// Broken rules.
        broken: BTreeSet<&'static str>,
        /// Broken rules of lifetime.
        lifetime: BTreeSet<&'static str>,
        /// Whether there is a race.
        races: bool,
        /// Whether threads can wait for ever.
        deadlocks: bool,
        /// Whether all threads can finish.
        completes: bool,
    },
    /// The twin has too much to enumerate.
    TooLarge,
    /// The checker does not take it.
    Refused(&'static str),
}

impl Comparison {
    /// Counts what became of a program, and what is in it. What it does counts only where it is compared: not after a
    /// broken rule that takes its meaning.
    ///
    /// `proved_with`: names of what programs have that are proved but for rules of lifetime, and the texts that show it, all
    /// of them.
    pub fn count(
        &self,
        text: &str,
        features: &[(&'static str, &str)],
        proved_with: &[(&'static str, &[&str])],
        counts: &mut Counts,
    ) {
        match self {
            Self::Agreed { broken, lifetime, races, deadlocks, completes } => {
                counts.add("compared", true);
                counts.add("no broken rule", broken.is_empty());
                counts.add("no broken rule of lifetime", lifetime.is_empty());
                for rule in broken.union(lifetime) {
                    counts.add(rule, true);
                }
                let is_good = *completes && !races && !deadlocks;
                if broken.iter().all(|&code| code == UNSEEN) {
                    counts.add("a race", *races);
                    counts.add("no race", !races);
                    counts.add("a deadlock", *deadlocks);
                    counts.add("no deadlock", !deadlocks);
                    counts.add("completes", *completes);
                    counts.add("completes without race or deadlock", is_good);
                }
                counts.add_features(text, features);
                let is_proved = is_good && broken.is_empty();
                for &(name, marks) in proved_with {
                    counts.add(name, is_proved && marks.iter().all(|mark| text.contains(mark)));
                }
            }
            Self::TooLarge => counts.add("too large", true),
            Self::Refused(code) => {
                counts.add("refused", true);
                counts.add(code, true);
            }
        }
    }
}

/// The programs of the quick mode.
const PLAN: Plan = Plan { n_programs: 3_000, first_seed: 0, salt: 4, n_memory_max: 6, progress: false };

/// The checker's code for what the twin found.
fn code(misuse: Misuse) -> &'static str {
    match misuse {
        Misuse::SecondArrival | Misuse::HarmlessSecondArrival => "barrier::second-arrival",
        Misuse::WaitWithoutArrival => "barrier::wait-without-arrival",
        Misuse::TooManyArrivals => "mbarrier::too-many-arrivals",
        Misuse::NobodyExpected => "mbarrier::nobody-expected",
        Misuse::NotInitialised | Misuse::NotInitialisedWhenWaiting => "mbarrier::not-initialised",
        Misuse::PhaseNotWaitedFor => UNSEEN,
        Misuse::UsedAfterInval | Misuse::UsedAfterInvalWithoutMeaning => "mbarrier::use-after-inval",
        Misuse::NoCompleteCompletes => "mbarrier::no-complete-completes",
        Misuse::InitOfLiveObject => "mbarrier::init-of-live-object",
        Misuse::StaleState => "mbarrier::stale-state",
        Misuse::NoPendingCount => "mbarrier::no-pending-count",
        Misuse::TensorMemoryFreed => "lifetime::tensor-memory-freed",
        Misuse::TensorMemoryKept => "async::tensor-memory-kept",
        Misuse::AllocationAfterRelinquish => "lifetime::alloc-after-relinquish",
        Misuse::OperationPending | Misuse::PeerMayHaveExited => LIFETIME[0],
        Misuse::PeerNotStarted => LIFETIME[1],
    }
}

/// UB-M12: what comes after it still has its meaning.
const UNSEEN: &str = "mbarrier::phase-not-waited-for";

/// Rules about when CTAs start and end: what comes after them still has its meaning. They are compared if no other rule is
/// broken.
const LIFETIME: [&str; 2] = ["lifetime::operation-pending", "lifetime::peer-not-started"];

fn of_lifetime(codes: &BTreeSet<&'static str>) -> BTreeSet<&'static str> {
    codes.iter().copied().filter(|code| LIFETIME.contains(code)).collect()
}

fn others(codes: &BTreeSet<&'static str>) -> BTreeSet<&'static str> {
    codes - &of_lifetime(codes)
}

/// Compares both on a text without closing brace.
///
/// # Errors
/// How they differ, with the text.
pub fn compare(model: &MemoryModel, open_text: &str, treatment: Treatment) -> Result<Comparison, String> {
    compare_under(model, Edition::PTX, open_text, treatment)
}

/// The same with another reading of the twin's, which the model should be of, too.
///
/// # Errors
/// As [`compare`].
pub fn compare_under(
    model: &MemoryModel,
    edition: Edition,
    open_text: &str,
    treatment: Treatment,
) -> Result<Comparison, String> {
    let bare = program(&format!("{open_text}}}\n"));
    let kernel = &bare.kernels[0];
    let Ok(twin) = decide_under(edition, kernel, &kernel.launches[0], Effort::default()) else {
        return Ok(Comparison::TooLarge);
    };
    let text = format!("{open_text}{}}}\n", final_block(&twin.outcomes, REACHABLE_MAX));
    let outcome = match ask(model, &text, treatment) {
        Ok(outcome) => outcome,
        Err(CheckError::Unsupported(diagnostic)) => return Ok(Comparison::Refused(diagnostic.code)),
        Err(error) => return Err(format!("{error}\n{text}")),
    };
    let found = broken_rules(model, &outcome);
    let harmless = |misuse: &Misuse| {
        matches!(misuse, Misuse::HarmlessSecondArrival | Misuse::UsedAfterInvalWithoutMeaning)
    };
    let demanded: BTreeSet<&'static str> =
        twin.misuses.iter().copied().filter(|misuse| !harmless(misuse)).map(code).collect();
    let mut allowed: BTreeSet<&'static str> = twin.misuses.iter().copied().map(code).collect();
    if twin.misuses.contains(&Misuse::TooManyArrivals) {
        // The checker orders an arrival too many and the rest of its phase as if they were in two phases. One that drops out
        // as well has done so before it arrives; the twin stops at the arrival.
        allowed.extend([UNSEEN, code(Misuse::NobodyExpected)]);
    }
    if twin.misuses.contains(&Misuse::SecondArrival) {
        // The twin stops at an arrival that may come too early; the checker goes on where it happens to come late enough.
        allowed.extend(&found);
    }
    let mut complaints = Complaints::default();
    let mut compare_rules = |found: &BTreeSet<_>, demanded: &BTreeSet<_>, allowed: &BTreeSet<_>| {
        if !found.is_superset(demanded) {
            complaints.missed(format!("broken rules: checker {found:?}, twin {:?}", twin.misuses));
        }
        if !found.is_subset(allowed) {
            complaints.invented(format!("broken rules: checker {found:?}, twin {:?}", twin.misuses));
        }
    };
    compare_rules(&others(&found), &others(&demanded), &others(&allowed));
    if others(&allowed).union(&others(&found)).all(|&code| code == UNSEEN) {
        compare_rules(&of_lifetime(&found), &of_lifetime(&demanded), &of_lifetime(&allowed));
        compare_results(&text, &outcome, &twin, &mut complaints);
    }
    if !complaints.missed.is_empty() || !complaints.invented.is_empty() {
        let (missed, invented) = (complaints.missed, complaints.invented);
        let n = twin.outcomes.len();
        return Err(format!("{missed}{invented}{open_text}}}\nthe twin has {n} final states"));
    }
    Ok(Comparison::Agreed {
        races: twin.races,
        deadlocks: twin.deadlocks,
        completes: !twin.outcomes.is_empty(),
        broken: others(&found),
        lifetime: of_lifetime(&found),
    })
}

/// What the checker found of rules.
fn broken_rules(model: &MemoryModel, outcome: &Outcome) -> BTreeSet<&'static str> {
    let about = [Property::Barrier, Property::Lifetime];
    let codes = outcome.findings.iter().filter(|finding| about.contains(&finding.property));
    codes
        .map(|finding| match explain(&outcome.graph, model, finding).code {
            // The twin does not tell them apart.
            "mbarrier::init-not-ordered" => "mbarrier::not-initialised",
            // What is said of a multicast to its own CTA and to others depends on which was looked at first.
            "lifetime::peer-may-have-exited" => LIFETIME[0],
            code => code,
        })
        // Which phase a wait by parity means, the twin does not say.
        .filter(|&code| code != "mbarrier::phase-run-ahead")
        .collect()
}

/// How the two differ.
#[derive(Default)]
struct Complaints {
    missed: String,
    invented: String,
}

impl Complaints {
    fn missed(&mut self, what: impl AsRef<str>) {
        let _ = writeln!(self.missed, "the checker misses: {}", what.as_ref());
    }
    fn invented(&mut self, what: impl AsRef<str>) {
        let _ = writeln!(self.invented, "the checker invents: {}", what.as_ref());
    }
    fn verdict(&mut self, name: &str, found: bool, happens: bool) {
        match (found, happens) {
            (false, true) => self.missed(name),
            (true, false) => self.invented(name),
            _ => {}
        }
    }
}

fn compare_results(text: &str, outcome: &Outcome, twin: &Reference, complaints: &mut Complaints) {
    let is_violated = |property| match crate::run::verdict_of_the_rest(outcome, property) {
        Verdict::Violated => Some(true),
        Verdict::Proved => Some(false),
        _ => None,
    };
    let (race, deadlock, other_states) =
        (is_violated(Property::Race), is_violated(Property::Deadlock), is_violated(Property::Assert));
    let (Some(race), Some(deadlock), Some(other_states)) = (race, deadlock, other_states) else {
        complaints.missed(format!("no verdict: {:?}", outcome.properties));
        return;
    };
    complaints.verdict("a race", race, twin.races);
    compare_racing_statements(text, outcome, twin, complaints);
    if twin.mixed_size_races {
        return;
    }
    complaints.verdict("a deadlock", deadlock, twin.deadlocks);
    let completes = !outcome.vacuity.contains(&Vacuity::NothingCompletes);
    complaints.verdict("completion", completes, !twin.outcomes.is_empty());
    complaints.verdict("a final state", other_states, false);
    for vacuity in &outcome.vacuity {
        if let Vacuity::Unreachable(span) = vacuity {
            complaints.missed(text[span.start as usize..].lines().next().unwrap_or_default());
        }
    }
}

/// Each race by the statements it is between.
fn compare_racing_statements(text: &str, outcome: &Outcome, twin: &Reference, complaints: &mut Complaints) {
    let graph = &outcome.graph;
    let statement = |event| graph.events[event].site.map(|site| graph.sites[site].span);
    let mut found = BTreeSet::new();
    for finding in outcome.findings.iter().filter(|finding| finding.property == Property::Race) {
        let GoalKind::Flag { pair: (a, b), .. } = finding.witness.claim else { continue };
        if let (Some(a), Some(b)) = (statement(a), statement(b)) {
            found.insert([a.min(b), a.max(b)]);
        }
    }
    let show = |pair: &[Span; 2]| {
        let line = |span: &Span| text[span.start as usize..span.end as usize].to_owned();
        format!("race between `{}` and `{}`", line(&pair[0]), line(&pair[1]))
    };
    for pair in twin.racing_statements.difference(&found) {
        complaints.missed(show(pair));
    }
    for pair in found.difference(&twin.racing_statements) {
        complaints.invented(show(pair));
    }
}

fn ask(model: &MemoryModel, text: &str, treatment: Treatment) -> Result<Outcome, CheckError> {
    let program = program(text);
    let limits = Limits { findings_max: 1_000, ..Limits::default() };
    let config = Config { unroll_max: 2, limits, ..crate::run::config(treatment) };
    crate::run::check_each_way((&program, text), model, &config)
}

/// Compares random programs: how many agree (`compared`), and what is in them and was found of them.
///
/// # Errors
/// The disagreements, shrunk.
pub fn compare_random(model: &MemoryModel, plan: Plan, treatment: Treatment) -> Result<Counts, Vec<String>> {
    let compare = |text: &str| compare(model, text, treatment);
    compare_texts(plan, || sync_sketches(plan.n_memory_max), |sketch| sketch.text(), compare, (FEATURES, &[]))
}

/// What programs are looked through for, and what proved ones must have, too: all of some texts.
pub type Census<'a> = (&'a [(&'static str, &'static str)], &'a [(&'static str, &'static [&'static str])]);

/// The same with programs of other kinds.
///
/// # Errors
/// As [`compare_random`].
pub fn compare_texts<S: Strategy>(
    plan: Plan,
    sketches: impl Fn() -> S + Sync,
    text: impl Fn(&S::Value) -> String + Sync,
    compare: impl Fn(&str) -> Result<Comparison, String> + Sync,
    (features, proved_with): Census<'_>,
) -> Result<Counts, Vec<String>> {
    random::run_over(plan, sketches, |sketch, _, counts| {
        let text = text(sketch);
        compare(&text)?.count(&text, features, proved_with, counts);
        Ok(())
    })
}

/// Random programs of one kind, and what they must show; what is compared is the same for all kinds.
pub struct Family {
    /// The suite's name.
    pub name: &'static str,
    /// The programs of the quick mode.
    pub plan: Plan,
    /// What programs are looked through for, and the text that shows it.
    pub features: &'static [(&'static str, &'static str)],
    /// What comparisons were of, besides features.
    pub results: &'static [&'static str],
    /// What proved programs must have, too: all of some texts.
    pub proved_with: &'static [(&'static str, &'static [&'static str])],
}

impl Family {
    /// Compares random programs: how many agree (`compared`), and what is in them and was found of them.
    ///
    /// # Errors
    /// The disagreements, shrunk.
    pub fn compare<S: Strategy>(
        &self,
        model: &MemoryModel,
        plan: Plan,
        sketches: fn(usize) -> S,
        text: impl Fn(&S::Value) -> String + Sync,
    ) -> Result<Counts, Vec<String>> {
        let compare = |text: &str| compare(model, text, Treatment::DEFAULT);
        let census = (self.features, self.proved_with);
        compare_texts(plan, || sketches(plan.n_memory_max), text, compare, census)
    }

    /// Which programs are compared, and what they must show.
    pub fn suite(&self) -> Suite {
        let some = self.proved_with.iter().map(|&(name, _)| name).collect();
        Suite { some, ..Suite::new(self.name, self.plan, self.features, self.results) }
    }
}

/// Which programs are compared, and what they must show.
pub fn suite() -> Suite {
    Suite { some: RULES.to_vec(), ..Suite::new("oracle_sync", PLAN, FEATURES, RESULTS) }
}

/// What programs are looked through for, and the text that shows it.
const FEATURES: &[(&str, &str)] = &[
    ("mbarrier arrive", "mbarrier.arrive."),
    ("arrive on a peer's mbarrier", "_, [mapa(m"),
    ("arrive with expect_tx", "arrive.expect_tx"),
    ("complete_tx", "complete_tx"),
    ("arrive_drop", "arrive_drop"),
    ("relaxed arrive", "arrive.relaxed.c"),
    ("wait by parity", "await mbarrier.try_wait.parity"),
    ("relaxed wait", "parity.relaxed"),
    ("wait by state", "await mbarrier.test_wait"),
    ("test without loop", "= mbarrier.test_wait.parity"),
    ("two mbarriers", "[m1]"),
    ("expect_tx alone", "mbarrier.expect_tx"),
    ("arrive with noComplete", "arrive.noComplete"),
    ("pending_count", "pending_count"),
    ("inval", "mbarrier.inval"),
    ("cluster barrier", "barrier.cluster.wait"),
    ("relaxed cluster arrive", "cluster.arrive.relaxed"),
    ("memory of a peer CTA", "[mapa(z"),
    ("fence", "fence."),
    ("spin on memory", "await (ld"),
    ("one CTA", "{ warps"),
    ("two CTAs", "{ ctas: 2, cluster: 2 }"),
    ("two threads in each of two CTAs", "{ ctas: 2, cluster: 2, warps: 2 }"),
];

/// What comparisons were of, besides features and broken rules.
const RESULTS: &[&str] = &[
    "no broken rule",
    "a race",
    "no race",
    "a deadlock",
    "no deadlock",
    "completes",
    "completes without race or deadlock",
    "lifetime::operation-pending",
    "lifetime::peer-not-started",
    "no broken rule of lifetime",
];

/// The rules whose breaking the programs show.
const RULES: &[&str] = &[
    "barrier::second-arrival",
    "barrier::wait-without-arrival",
    "mbarrier::phase-not-waited-for",
    "mbarrier::too-many-arrivals",
    "mbarrier::not-initialised",
    "mbarrier::use-after-inval",
    "mbarrier::no-complete-completes",
    "mbarrier::stale-state",
    "mbarrier::init-of-live-object",
];
