//! The checker against its dull twin on loops that wait: hangs, races by statement, assertions, final states.
//!
//! The twin goes round a loop a few times only. Where some execution goes round more often it knows less than everything,
//! and where the checker says *up to bound* so does that. What is demanded then: the checker finds what happens within one
//! changing round of each loop, and the twin, asked for twice as many rounds, what the checker finds.

use super::{REACHABLE_MAX, program};
use crate::generate::loops::loop_sketches;
use crate::outcomes::final_block;
use crate::random::{self, Counts, Plan, Suite};
use fencepost::check::{CheckError, Config, Limits};
use fencepost::encode::Treatment;
use fencepost::encode::goal::GoalKind;
use fencepost::verdict::{Outcome, Property, Vacuity, Verdict};
use fencepost_dsl::Span;
use fencepost_dsl::cat::memory_model::MemoryModel;
use fencepost_reference::edition::Edition;
use fencepost_reference::{Effort, Misuse, Reference, TooLarge, decide_with};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::fmt::Write;

/// What became of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Comparison {
    /// Both say the same.
    Agreed(Agreed),
    /// The twin has too much to enumerate.
    TooLarge,
    /// It breaks a rule about mbarriers that takes its meaning.
    Meaningless,
    /// The checker does not take it.
    Refused(&'static str),
    /// The checker's budget is used up.
    OverBudget,
}

/// What both say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Agreed {
    /// Some execution hangs.
    pub hangs: bool,
    /// Some execution has a race.
    pub races: bool,
    /// An assertion can fail.
    pub fails: bool,
    /// Some execution ends.
    pub completes: bool,
    /// The twin has left executions out.
    pub is_cut: bool,
    /// Threads can go on for ever without standing still.
    pub is_endless: bool,
    /// The checker's verdict about deadlocks.
    pub deadlock: Verdict,
    /// Something that only one side has stands, since the twin has too much to enumerate with more rounds.
    pub is_open: bool,
}

/// The programs of the quick mode.
const PLAN: Plan = Plan { n_programs: 400, first_seed: 0, salt: 12, n_memory_max: 15, progress: false };

/// What is enumerated: few enough combinations that a program takes a moment.
pub const EFFORT: Effort = Effort {
    runs_max: 3_000,
    combinations_max: 200_000,
    candidates_max: 15_000,
    rounds_max: 3,
    steps_max: 20_000_000,
};

/// What the checker may do, in its steps: programs of this size take a few millions.
const BUDGET: u64 = 1_000_000_000;

/// What the twin says of a text with closing brace.
///
/// # Errors
/// If there is too much to enumerate.
pub fn ask_twin(edition: Edition, text: &str, effort: Effort) -> Result<Reference, TooLarge> {
    let program = program(text);
    let kernel = &program.kernels[0];
    decide_with(edition, (kernel, &program.functions), &kernel.launches[0], effort)
}

/// Compares both on a text without closing brace.
///
/// # Errors
/// How they differ, with the text.
pub fn compare(model: &MemoryModel, open_text: &str, treatment: Treatment) -> Result<Comparison, String> {
    let bare = format!("{open_text}}}\n");
    let Ok(twin) = ask_twin(Edition::PTX, &bare, EFFORT) else { return Ok(Comparison::TooLarge) };
    if twin.misuses.iter().any(|&misuse| misuse != Misuse::PhaseNotWaitedFor) {
        return Ok(Comparison::Meaningless);
    }
    let text = match twin.cut {
        true => bare.clone(),
        false => format!("{open_text}{}}}\n", final_block(&twin.outcomes, REACHABLE_MAX)),
    };
    let outcome = match ask_checker(model, &text, treatment) {
        Ok(outcome) => outcome,
        Err(CheckError::Unsupported(diagnostic)) => return Ok(Comparison::Refused(diagnostic.code)),
        Err(error) => return Err(format!("{error}\n{text}")),
    };
    if outcome.limit.is_some() {
        return Ok(Comparison::OverBudget);
    }
    let is_open = Cell::new(false);
    let sides = Sides { bare: &bare, text: &text, outcome: &outcome, twin: &twin, is_open: &is_open };
    let complaints = sides.complaints();
    if !complaints.is_empty() {
        return Err(format!("{complaints}{bare}the twin has {} final states", twin.outcomes.len()));
    }
    Ok(Comparison::Agreed(Agreed {
        hangs: twin.deadlocks,
        races: twin.races,
        fails: !twin.failed_assertions.is_empty(),
        completes: !twin.outcomes.is_empty(),
        is_cut: twin.cut,
        is_endless: twin.endless,
        deadlock: crate::run::verdict_of_the_rest(&outcome, Property::Deadlock),
        is_open: is_open.get(),
    }))
}

fn ask_checker(model: &MemoryModel, text: &str, treatment: Treatment) -> Result<Outcome, CheckError> {
    let program = program(text);
    let limits = Limits { findings_max: 1_000, ..Limits::default() };
    let properties = vec![Property::Race, Property::Assert, Property::Deadlock, Property::Reachable];
    let usual = crate::run::config(treatment);
    let config = Config { properties, unroll_max: 4, limits, budget: BUDGET, ..usual };
    crate::run::check_each_way((&program, text), model, &config)
}

/// What both say of one program.
struct Sides<'a> {
    bare: &'a str,
    /// As the checker was asked about it.
    text: &'a str,
    outcome: &'a Outcome,
    twin: &'a Reference,
    is_open: &'a Cell<bool>,
}

impl Sides<'_> {
    fn complaints(&self) -> String {
        let mut complaints = String::new();
        let mut complain = |what: &str| writeln!(complaints, "{what}").expect("a string takes everything");
        self.compare("a hang", Property::Deadlock, |twin| twin.deadlocks, &mut complain);
        self.compare("a race", Property::Race, |twin| twin.races, &mut complain);
        self.compare(
            "a failing assertion",
            Property::Assert,
            |twin| !twin.failed_assertions.is_empty(),
            &mut complain,
        );
        if self.verdict(Property::Deadlock) == Verdict::Proved {
            if self.twin.endless {
                complain("proved to end, but threads may go round a loop for ever");
            } else if self.twin.cut && self.with_rounds(2 * EFFORT.rounds_max).is_some_and(|twin| twin.cut) {
                complain("proved to end, but some loop changes memory without end");
            }
        }
        self.compare_races(&mut complain);
        if !self.twin.cut {
            self.compare_states(&mut complain);
        }
        complaints
    }

    fn verdict(&self, property: Property) -> Verdict {
        crate::run::verdict_of_the_rest(self.outcome, property)
    }

    /// The twin with another number of rounds; nothing if that is too much.
    fn with_rounds(&self, rounds_max: usize) -> Option<Reference> {
        let factor = if rounds_max > EFFORT.rounds_max { 10 } else { 1 };
        let effort = Effort {
            runs_max: factor * EFFORT.runs_max,
            combinations_max: factor * EFFORT.combinations_max,
            candidates_max: factor * EFFORT.candidates_max,
            rounds_max,
            steps_max: EFFORT.steps_max,
        };
        let twin = ask_twin(Edition::PTX, self.bare, effort).ok();
        if twin.is_none() {
            self.is_open.set(true);
        }
        twin
    }

    fn compare(
        &self,
        name: &str,
        property: Property,
        of: impl Fn(&Reference) -> bool,
        complain: &mut impl FnMut(&str),
    ) {
        match (self.verdict(property), of(self.twin)) {
            (Verdict::Proved, true) => complain(&format!("the checker misses {name}")),
            (Verdict::ProvedUpToBound, true) if self.with_rounds(1).is_some_and(|twin| of(&twin)) => {
                complain(&format!("the checker misses {name} within its bound"));
            }
            (Verdict::Violated, false) if !self.may_have_missed(&of) => {
                complain(&format!("the checker invents {name}"));
            }
            _ => {}
        }
    }

    /// Whether the twin may not have looked far enough.
    fn may_have_missed(&self, of: impl Fn(&Reference) -> bool) -> bool {
        (self.twin.cut || self.twin.endless)
            && self
                .with_rounds(2 * EFFORT.rounds_max)
                .is_none_or(|twin| of(&twin) || twin.cut || twin.endless)
    }

    /// Each race by the statements it is between.
    fn compare_races(&self, complain: &mut impl FnMut(&str)) {
        let graph = &self.outcome.graph;
        let statement = |event| graph.events[event].site.map(|site| graph.sites[site].span);
        let mut found = BTreeSet::new();
        for finding in self.outcome.findings.iter().filter(|finding| finding.property == Property::Race) {
            let GoalKind::Flag { pair: (a, b), .. } = finding.witness.claim else { continue };
            if let (Some(a), Some(b)) = (statement(a), statement(b)) {
                found.insert([a.min(b), a.max(b)]);
            }
        }
        let show = |pair: &[Span; 2]| {
            let line = |span: &Span| &self.text[span.start as usize..span.end as usize];
            format!("a race between `{}` and `{}`", line(&pair[0]), line(&pair[1]))
        };
        let certain = match self.outcome.open_loops.is_empty() && !self.twin.cut {
            true => Some(self.twin.racing_statements.clone()),
            false => self.with_rounds(1).map(|twin| twin.racing_statements),
        };
        if self.verdict(Property::Race) == Verdict::Violated {
            for pair in certain.unwrap_or_default().difference(&found) {
                complain(&format!("the checker misses {}", show(pair)));
            }
        }
        for pair in &found {
            let has = |twin: &Reference| twin.racing_statements.contains(pair);
            if !has(self.twin) && !self.may_have_missed(has) {
                complain(&format!("the checker invents {}", show(pair)));
            }
        }
    }

    fn compare_states(&self, complain: &mut impl FnMut(&str)) {
        if self.twin.failed_assertions.is_empty() && self.verdict(Property::Assert) == Verdict::Violated {
            complain("a final state only the checker has");
        }
        if !self.outcome.open_loops.is_empty() {
            return;
        }
        for vacuity in &self.outcome.vacuity {
            match vacuity {
                Vacuity::Unreachable(span) => {
                    let line = self.text[span.start as usize..].lines().next().unwrap_or_default();
                    complain(&format!("a final state only the twin has: {line}"));
                }
                Vacuity::NothingCompletes if !self.twin.outcomes.is_empty() => {
                    complain("nothing completes, says the checker");
                }
                Vacuity::NothingCompletes | Vacuity::FilteredOut(_) => {}
            }
        }
    }
}

/// Compares random programs: how many agree (`compared`), and what is in them and was found of them.
///
/// # Errors
/// The disagreements, shrunk.
pub fn compare_random(model: &MemoryModel, plan: Plan, treatment: Treatment) -> Result<Counts, Vec<String>> {
    random::run_over(
        plan,
        || loop_sketches(plan.n_memory_max),
        |sketch, _, counts| {
            let text = sketch.text();
            let comparison = compare(model, &text, treatment)?;
            count(comparison, &text, counts);
            Ok(())
        },
    )
}

fn count(comparison: Comparison, text: &str, counts: &mut Counts) {
    match comparison {
        Comparison::Agreed(agreed) => {
            counts.add("compared", true);
            counts.add("a hang", agreed.hangs);
            counts.add("no hang", !agreed.hangs);
            counts.add("a race", agreed.races);
            counts.add("no race", !agreed.races);
            counts.add("a failing assertion", agreed.fails);
            counts.add("completes", agreed.completes);
            counts.add("completes without race or hang", agreed.completes && !agreed.races && !agreed.hangs);
            counts.add("loops that change memory again and again", agreed.is_cut);
            counts.add("loops that never stand still", agreed.is_endless);
            counts.add("proved", agreed.deadlock == Verdict::Proved);
            counts.add("bounded", agreed.deadlock == Verdict::ProvedUpToBound);
            counts.add("open", agreed.is_open);
            counts.add_features(text, FEATURES);
        }
        Comparison::TooLarge => counts.add("too large", true),
        Comparison::Meaningless => counts.add("without meaning", true),
        Comparison::OverBudget => counts.add("over budget", true),
        Comparison::Refused(code) => {
            counts.add("refused", true);
            counts.add(code, true);
        }
    }
}

/// Which programs are compared, and what they must show.
pub fn suite() -> Suite {
    Suite { set_aside_max: 10, ..Suite::new("oracle_hangs", PLAN, FEATURES, RESULTS) }
}

/// What programs are looked through for, and the text that shows it.
const FEATURES: &[(&str, &str)] = &[
    ("await", "await ("),
    ("while", "while (ld"),
    ("loop", "loop {"),
    ("scan by for", "for r"),
    ("scan by while", "while r"),
    ("wait for a register", "< 1 {"),
    ("break", "break;"),
    ("exit", "exit;"),
    ("compare-and-swap", "atom.cas"),
    ("exchange lock in an await", "await (atom.exch"),
    ("exchange lock in a loop", "while (atom.exch"),
    ("wait for an mbarrier", "await mbarrier"),
    ("loop around an mbarrier's test", "= mbarrier.try_wait"),
    ("barrier", "bar.sync 1"),
    ("function", "wait("),
    ("assertion", "assert "),
    ("weak read", "ld.weak"),
    ("relaxed read", "ld.relaxed"),
    ("acquire", "ld.acquire"),
    ("fence", "fence."),
    ("register inverted", "^= 1"),
    ("await in a block in a block", "            await"),
    ("loop in a block in a block", "            loop"),
    ("two threads", "warps: 2"),
    ("three threads", "warps: 3"),
];

/// What comparisons were of, besides features.
const RESULTS: &[&str] = &[
    "a hang",
    "no hang",
    "a race",
    "no race",
    "a failing assertion",
    "completes",
    "completes without race or hang",
    "proved",
];
