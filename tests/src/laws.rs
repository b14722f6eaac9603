//! Metamorphic laws over random small programs: what a change of the text may do to the answers, whatever they are.
//!
//! * Renaming objects and registers, permuting the threads' blocks and mirroring the launch change nothing.
//! * A thread of another CTA that touches only its own object changes nothing.
//! * Strengthening the `sem` of one instruction or widening its scope adds no final state and no race.
//!
//! The laws need no expected answers; the reference interpreter only says which final states are worth asking for. One
//! `assert` per program stands for all the others. Exceptions that the models themselves have:
//!
//! * MM-20: after a mixed-size race nothing is promised about values, so strengthening is then judged by races alone.
//! * MM-24, A-7: the read of a `red` never acquires, nor does that of an `atom` whose result is dropped and that says nothing
//!   of an acquire. Hence `atom` to `red` is no strengthening, whatever the sems; the suite has an example where it matters.
//! * §8.8: acquire and release are incomparable, so that neither counts as stronger than the other.
//! * MM-12: `.volatile` is `.relaxed.sys`, hence the step from `.relaxed` to it is one only as far as the scope widens.

pub mod variants;

use crate::generate::Sketch;
use crate::litmus::shipped_model;
use crate::outcomes::final_block;
use crate::random::{self, Counts, Plan, Suite};
use crate::run::{self, load_text};
use fencepost::check::{Config, Limits};
use fencepost::encode::Treatment;
use fencepost::verdict::{Property, Vacuity, Verdict};
use fencepost_dsl::cat::memory_model::MemoryModel;
use fencepost_reference::edition::Edition;
use fencepost_reference::{Effort, Reference, decide_under};
use std::collections::BTreeSet;

/// More final states than this, and only the first ones are asked for one by one.
const REACHABLE_MAX: usize = 24;

/// The laws under one model.
pub struct Laws {
    /// The model, for the checker.
    pub model: MemoryModel,
    /// The twin's reading.
    pub edition: Edition,
}

impl Laws {
    /// Under the shipped model of that name.
    ///
    /// # Panics
    /// If it is missing.
    pub fn new(name: &str) -> Self {
        let model = shipped_model(name).expect("the model comes with Fencepost");
        Self { model, edition: random::edition(name) }
    }

    /// The committed random programs of this model.
    pub fn plan(&self) -> Plan {
        let (n_programs, first_seed) = match self.edition.name {
            "ptx" => (3_000, 0),
            "ptx-7.5" => (1_000, 1_000),
            _ => (1_000, 2_000),
        };
        Plan { n_programs, first_seed, salt: 0x1a, n_memory_max: 6, progress: false }
    }

    /// The suite of this model, and what its programs must show.
    pub fn suite(&self) -> Suite {
        let some = vec!["racy", "no race", "strengthened", "tightened", "not tightened"];
        Suite { some, ..Suite::new("laws", self.plan(), &[], &[]) }
    }

    /// Holds random programs against the laws: how many were `compared`, are `racy`, `too large`, how many `strengthened`
    /// programs there were, and how many of them were `tightened`: have fewer final states or no race any more.
    ///
    /// # Errors
    /// What breaks a law, shrunk.
    pub fn hold_random(&self, plan: Plan) -> Result<Counts, Vec<String>> {
        random::run(plan, |sketch, choice, counts| hold(self, sketch, choice, counts))
    }
}

/// Holds one program against all laws; `choice` picks among the variants.
fn hold(laws: &Laws, sketch: &Sketch, choice: u64, counts: &mut Counts) -> Result<(), String> {
    let model = &laws.model;
    let text = sketch.text();
    let Some(reference) = enumerate(laws.edition, &text) else {
        counts.add("too large", true);
        return Ok(());
    };
    let states = final_block(&reference.outcomes, REACHABLE_MAX);
    let base = ask(model, &text, &states);
    counts.add("compared", true);
    counts.add("racy", base.race == Verdict::Violated);
    counts.add("no race", base.race != Verdict::Violated);

    let renamed = variants::renamed(&variants::permuted(&text, choice));
    let mirrored = variants::mirrored(sketch.placement, sketch.threads.len(), &text);
    let accompanied = variants::accompanied(sketch.placement, sketch.threads.len(), &text, choice);
    for (law, variant, states) in [
        ("renaming and permuting", renamed, variants::renamed(&states)),
        ("mirroring the launch", mirrored, states.clone()),
        ("an unrelated thread", accompanied, states.clone()),
    ] {
        let answer = ask(model, &variant, &states);
        if answer != base {
            return Err(format!("{law} changed {base:?}\nto {answer:?}\n{text}{states}}}\n{variant}}}"));
        }
    }

    for strong in variants::strengthened(sketch, choice) {
        let strong_text = strong.text();
        let answer = ask(model, &strong_text, &states);
        let additions = answer.beyond(&base, !reference.mixed_size_races);
        if !additions.is_empty() {
            return Err(format!(
                "strengthening adds: {}\n{text}{states}}}\n{strong_text}}}",
                additions.join(", ")
            ));
        }
        counts.add("strengthened", true);
        counts.add("tightened", answer != base);
        counts.add("not tightened", answer == base);
    }
    Ok(())
}

/// What the checker says to one program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    /// The verdict on races.
    pub race: Verdict,
    /// Whether there is no final state but those asked for.
    pub no_other: Verdict,
    /// Which of those asked for, by number, are not there.
    unreachable: BTreeSet<usize>,
    nothing_completes: bool,
}

impl Answer {
    /// What of this answer must not be there if `base` is the answer to a weaker program.
    fn beyond(&self, base: &Self, outcomes_count: bool) -> Vec<String> {
        let mut additions = Vec::new();
        if base.race == Verdict::Proved && self.race != Verdict::Proved {
            additions.push(format!("a race is new: {:?}", self.race));
        }
        if !outcomes_count {
            return additions;
        }
        if base.no_other == Verdict::Proved && self.no_other != Verdict::Proved {
            additions.push(format!("a final state is new: {:?}", self.no_other));
        }
        for number in base.unreachable.difference(&self.unreachable) {
            additions.push(format!("final state {number} was unreachable"));
        }
        if base.nothing_completes && !self.nothing_completes {
            additions.push("nothing completed before".into());
        }
        additions
    }
}

/// Asks the checker about a text without closing brace, and about the states of a `final` block.
///
/// # Panics
/// If the text is rejected.
pub fn ask(model: &MemoryModel, open_text: &str, final_block: &str) -> Answer {
    let text = format!("{open_text}{final_block}}}\n");
    let config = Config {
        properties: vec![Property::Race, Property::Assert, Property::Reachable],
        unroll_max: 2,
        limits: Limits { findings_max: 1_000, ..Limits::default() },
        ..run::config(Treatment::DEFAULT)
    };
    let outcome = run::outcomes(&text, model, &config).pop().expect("there is one launch");
    let number_of = |start: u32| text[..start as usize].matches("reachable").count();
    let unreachable = outcome.vacuity.iter().filter_map(|vacuity| match vacuity {
        // The span starts at or behind its keyword, hence the count up to the end of its line is taken.
        Vacuity::Unreachable(span) => {
            let line_end = text[span.start as usize..].find('\n').unwrap_or_default();
            Some(number_of(span.start + u32::try_from(line_end).expect("texts are short")))
        }
        Vacuity::NothingCompletes | Vacuity::FilteredOut(_) => None,
    });
    Answer {
        race: run::verdict_of_the_rest(&outcome, Property::Race),
        no_other: run::verdict_of_the_rest(&outcome, Property::Assert),
        unreachable: unreachable.collect(),
        nothing_completes: outcome.vacuity.contains(&Vacuity::NothingCompletes),
    }
}

/// Final states and races of a text without closing brace, unless there is too much to enumerate.
fn enumerate(edition: Edition, open_text: &str) -> Option<Reference> {
    let text = format!("{open_text}}}\n");
    let program = load_text(&text);
    let kernel = &program.kernels[0];
    let effort = Effort { candidates_max: 20_000, combinations_max: 200_000, ..Effort::default() };
    decide_under(edition, kernel, &kernel.launches[0], effort).ok()
}
