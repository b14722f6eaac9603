//! Random kernels with an optimisation on and off: what does not depend on which execution was found stays the same.

use crate::random::{Numbers, Suite, run_over};
use crate::run::{config, model, outcomes};
use fencepost::check::{Config, Limits};
use fencepost::encode::Treatment;
use fencepost::verdict::{Outcome, Property, Vacuity, Verdict};
use proptest::prelude::any;
use std::collections::BTreeSet;

/// Steps of a check. Of the slices' kernels one in sixteen takes more, and would go on for most of the suite's time to be
/// compared no more.
const STEPS_MAX: u64 = 200_000_000;

/// What does not depend on which execution was found.
type Judgement = (Vec<(Property, Verdict)>, BTreeSet<String>, BTreeSet<Property>);

fn judgement(outcome: &Outcome) -> Judgement {
    let vacuity = outcome.vacuity.iter().map(|vacuity| match vacuity {
        Vacuity::Unreachable(span) => format!("unreachable {}", span.start),
        other => format!("{other:?}"),
    });
    let elsewhere = outcome.split.iter().flat_map(|split| &split.elsewhere).map(|&(property, _)| property);
    let others = outcome.other_leaders.iter().map(|&(property, _)| property);
    let broken = outcome.findings.iter().map(|finding| finding.property).chain(elsewhere).chain(others);
    (outcome.properties.clone(), vacuity.collect(), broken.collect())
}

/// What one optimisation makes of a suite's kernels.
#[derive(Clone, Copy, Debug)]
pub struct Switched {
    /// Makes a kernel.
    pub kernel: fn(&mut Numbers) -> String,
    /// With the optimisation on.
    pub on: Treatment,
    /// With it off.
    pub off: Treatment,
    /// What it is called where it did something.
    pub used: &'static str,
    /// Whether it did something, from the outcomes with it on and off.
    pub is_used: fn(&Outcome, &Outcome) -> bool,
}

impl Switched {
    /// Compares a suite's kernels; one in three at least has something for the optimisation to do.
    ///
    /// # Panics
    /// If they differ, as [`Suite::run`].
    pub fn agree(&self, suite: &Suite, features: &[(&'static str, &str)]) {
        let model = model(&[]);
        let with = |treatment| Config { unroll_max: 2, budget: STEPS_MAX, ..config(treatment) };
        let (_, counts) = suite.run("", |plan| {
            run_over(plan, any::<u64>, |&number, _, counts| {
                let text = (self.kernel)(&mut Numbers(number));
                let found = outcomes(&text, &model, &with(self.on)).remove(0);
                // What is too much with it on is not run with it off.
                let expected =
                    found.limit.is_none().then(|| outcomes(&text, &model, &with(self.off)).remove(0));
                let Some(expected) = expected.filter(|outcome| outcome.limit.is_none()) else {
                    counts.add("over budget", true);
                    return Ok(());
                };
                counts.add("compared", true);
                counts.add_features(&text, features);
                counts.add(self.used, (self.is_used)(&found, &expected));
                counts.add("violated", found.verdict == Verdict::Violated);
                counts.add("proved", found.findings.is_empty());
                let (found, expected) = (judgement(&found), judgement(&expected));
                if found == expected {
                    return Ok(());
                }
                Err(format!("with it on {found:?}\nwith it off {expected:?}\n{text}"))
            })
        });
        assert!(
            counts.of(self.used) * 3 >= counts.of("compared"),
            "many kernels have something for it to do"
        );
    }
}

/// Whether what goes wrong in the one execution in which all threads run in turns, where nothing else of mbarriers is looked at,
/// does so in some execution of a suite's kernels.
///
/// # Panics
/// If it does not, as [`Suite::run`].
pub fn shown_in_turns(kernel: fn(&mut Numbers) -> String, suite: &Suite, features: &[(&'static str, &str)]) {
    let model = model(&[]);
    let all = Config { budget: STEPS_MAX, ..config(Treatment::DEFAULT) };
    let one = Config { limits: Limits { phase_choices_max: 0, ..all.limits }, ..all.clone() };
    let violated =
        |of: &Outcome| -> BTreeSet<Property> { of.findings.iter().map(|finding| finding.property).collect() };
    suite.run(" in turns", |plan| {
        run_over(plan, any::<u64>, |&number, _, counts| {
            let text = kernel(&mut Numbers(number));
            let expected = outcomes(&text, &model, &all).remove(0);
            if expected.limit.is_some() {
                counts.add("over budget", true);
                return Ok(());
            }
            let found = outcomes(&text, &model, &one).remove(0);
            counts.add("compared", true);
            counts.add_features(&text, features);
            counts.add("in turns", found.limit.is_some());
            counts.add("violated in turns", found.limit.is_some() && !found.findings.is_empty());
            let (found, expected) = (violated(&found), violated(&expected));
            if found.is_subset(&expected) {
                return Ok(());
            }
            Err(format!("in turns {found:?}\nat all {expected:?}\n{text}"))
        })
    });
}
