//! The checker against its dull twin: the same final states, the same race and deadlock verdicts, under each edition.
//!
//! Final states are compared in one run of the checker: each state the twin finds is demanded as `reachable`, and one
//! `assert` says that there is no other. After a mixed-size race (MM-20) only the race itself is compared.

pub mod asynchronous;
pub mod hangs;
pub mod matrix;
pub mod multimem;
pub mod programs;
pub mod shapes;
pub mod spa;
pub mod synchronization;
pub mod tensor_memory;

use crate::litmus::shipped_model;
use crate::outcomes::final_block;
use crate::random::{self, Counts, Plan, Suite};
use crate::run::{check_each_way, load_text};
use fencepost::check::{Config, Limits};
use fencepost::encode::Treatment;
use fencepost::verdict::{Property, Vacuity, Verdict};
use fencepost_dsl::cat::memory_model::MemoryModel;
use fencepost_dsl::kernel::program::Program;
use fencepost_reference::edition::Edition;
use fencepost_reference::{Effort, Reference, decide_under};
use std::fmt::Write;

/// More final states than this, and only the first ones are demanded.
const REACHABLE_MAX: usize = 48;

/// A comparison that took place, or why not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Comparison {
    /// Both say the same.
    Agreed {
        /// Whether there is a race.
        races: bool,
        /// Whether final states were compared, too.
        states: bool,
    },
    /// The twin has too much to enumerate.
    TooLarge,
}

/// One side of the comparison with its twin.
pub struct Pair {
    /// The model, for the checker.
    pub model: MemoryModel,
    /// The twin's reading.
    pub edition: Edition,
}

impl Pair {
    /// The shipped model of that name and the twin's edition of it.
    ///
    /// # Panics
    /// If one is missing.
    pub fn new(name: &str) -> Self {
        let model = shipped_model(name).expect("the model comes with Fencepost");
        Self { model, edition: random::edition(name) }
    }

    /// Compares both on a text without closing brace.
    ///
    /// # Errors
    /// How they differ, with the text.
    pub fn compare(&self, open_text: &str, treatment: Treatment) -> Result<Comparison, String> {
        self.compare_texts(open_text, open_text, treatment)
    }

    /// Compares what the twin says of one text with what the checker says of another one; both without closing brace.
    ///
    /// # Errors
    /// How they differ, with the checker's text.
    pub fn compare_texts(
        &self,
        twin_text: &str,
        open_text: &str,
        treatment: Treatment,
    ) -> Result<Comparison, String> {
        self.compare_with_all(&[twin_text.to_owned()], open_text, treatment)
    }

    /// Compares what the twin says of any of some texts with what the checker says of another one; all without closing
    /// brace.
    ///
    /// # Errors
    /// How they differ, with the checker's text.
    pub fn compare_with_all(
        &self,
        twin_texts: &[String],
        open_text: &str,
        treatment: Treatment,
    ) -> Result<Comparison, String> {
        let mut reference = Reference::default();
        for twin_text in twin_texts {
            let bare = program(&format!("{twin_text}}}\n"));
            let kernel = &bare.kernels[0];
            let decided = decide_under(self.edition, kernel, &kernel.launches[0], Effort::default());
            let Ok(decided) = decided else { return Ok(Comparison::TooLarge) };
            reference.races |= decided.races;
            reference.mixed_size_races |= decided.mixed_size_races;
            reference.deadlocks |= decided.deadlocks;
            reference.outcomes.extend(decided.outcomes);
        }
        let text = format!("{open_text}{}}}\n", final_block(&reference.outcomes, REACHABLE_MAX));
        let answer = ask(&self.model, &text, treatment).map_err(|error| format!("{error}\n{text}"))?;
        let mut complaints = String::new();
        let expected = if reference.races { Verdict::Violated } else { Verdict::Proved };
        if answer.race != expected {
            let _ = writeln!(complaints, "race: checker {:?}, twin {expected:?}", answer.race);
        }
        let states = !reference.mixed_size_races;
        if states {
            if answer.is_stuck != reference.outcomes.is_empty() {
                let twin = !answer.is_stuck;
                let _ = writeln!(complaints, "nothing completes: checker {}, twin {twin}", answer.is_stuck);
            }
            if answer.no_other != Verdict::Proved {
                let _ = writeln!(complaints, "a final state only the checker has: {:?}", answer.no_other);
            }
            let expected = if reference.deadlocks { Verdict::Violated } else { Verdict::Proved };
            if answer.deadlock != expected {
                let _ = writeln!(complaints, "deadlock: checker {:?}, twin {expected:?}", answer.deadlock);
            }
            for start in answer.unreachable {
                let line = text[start as usize..].lines().next().unwrap_or_default();
                let _ = writeln!(complaints, "a final state only the twin has: {line}");
            }
        }
        if complaints.is_empty() {
            return Ok(Comparison::Agreed { races: reference.races, states });
        }
        let n_states = reference.outcomes.len();
        let name = self.edition.name;
        Err(format!("{name}: {complaints}{open_text}}}\nthe twin has {n_states} final states"))
    }

    /// The committed random programs of this model.
    pub fn plan(&self) -> Plan {
        let (n_programs, first_seed) = match self.edition.name {
            "ptx" => (20_000, 0),
            "ptx-7.5" => (6_000, 1_000),
            _ => (6_000, 2_000),
        };
        Plan { n_programs, first_seed, salt: 0, n_memory_max: 7, progress: false }
    }

    /// The suite of this model, and what its programs must show.
    pub fn suite(&self) -> Suite {
        let common = random::features().collect();
        Suite { common, some: vec!["racy", "no race"], ..Suite::new("oracle", self.plan(), &[], &[]) }
    }

    /// Compares random programs: how many agree (`compared`), have a race (`racy`), had final states compared (`states`),
    /// are `too large`, and what the compared ones have in them.
    ///
    /// # Errors
    /// The disagreements, shrunk.
    pub fn compare_random(&self, plan: Plan) -> Result<Counts, Vec<String>> {
        random::run(plan, |sketch, _, counts| {
            let text = sketch.text();
            match self.compare(&text, Treatment::DEFAULT)? {
                Comparison::Agreed { races, states } => {
                    counts.add("compared", true);
                    counts.add("racy", races);
                    counts.add("no race", !races);
                    counts.add("states", states);
                    random::take_census(&text, counts);
                }
                Comparison::TooLarge => counts.add("too large", true),
            }
            Ok(())
        })
    }

    /// Compares the hand-written shapes: how many, and what is wrong.
    pub fn compare_shapes(&self) -> (usize, Vec<String>) {
        let (mut n_compared, mut complaints) = (0, Vec::new());
        for (name, text) in shapes::all() {
            match self.compare(&text, Treatment::DEFAULT) {
                Ok(Comparison::Agreed { .. }) => n_compared += 1,
                Ok(Comparison::TooLarge) => complaints.push(format!("{name} is too large")),
                Err(error) => complaints.push(format!("{name}: {error}")),
            }
        }
        (n_compared, complaints)
    }
}

/// What the checker says to a text.
struct Answer {
    race: Verdict,
    deadlock: Verdict,
    /// Whether there is no final state but those asked for.
    no_other: Verdict,
    /// Places of those asked for that are not there.
    unreachable: Vec<u32>,
    /// Nothing completes.
    is_stuck: bool,
}

/// The program of a text, all of whose clusters run: the twin knows no others.
fn program(text: &str) -> Program {
    let mut program = load_text(text);
    for launch in program.kernels.iter_mut().flat_map(|kernel| &mut kernel.launches) {
        launch.cooperative = true;
    }
    program
}

fn ask(model: &MemoryModel, text: &str, treatment: Treatment) -> Result<Answer, String> {
    let program = program(text);
    let limits = Limits { findings_max: 1_000, ..Limits::default() };
    let properties =
        vec![Property::Race, Property::Assert, Property::Deadlock, Property::Bounds, Property::Reachable];
    let config = Config { properties, unroll_max: 2, limits, ..crate::run::config(treatment) };
    let outcome = check_each_way((&program, text), model, &config).map_err(|error| error.to_string())?;
    let unreachable = outcome.vacuity.iter().filter_map(|vacuity| match vacuity {
        Vacuity::Unreachable(span) => Some(span.start),
        Vacuity::NothingCompletes | Vacuity::FilteredOut(_) => None,
    });
    Ok(Answer {
        race: crate::run::verdict_of_the_rest(&outcome, Property::Race),
        deadlock: crate::run::verdict_of_the_rest(&outcome, Property::Deadlock),
        no_other: crate::run::verdict_of_the_rest(&outcome, Property::Assert),
        unreachable: unreachable.collect(),
        is_stuck: outcome.vacuity.contains(&Vacuity::NothingCompletes),
    })
}
