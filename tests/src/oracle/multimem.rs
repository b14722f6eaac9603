//! The checker against its dull twin on `multimem`, under both readings of what a multimem address is.

use super::{Comparison, Pair};
use crate::generate::multimem::multimem_sketches;
use crate::litmus::shipped_variant;
use crate::random::{self, Counts, Plan, Suite};
use fencepost::encode::Treatment;
use fencepost_reference::edition::Edition;

/// The programs of the quick mode.
const PLAN: Plan = Plan { n_programs: 1_000, first_seed: 0, salt: 7, n_memory_max: 12, progress: false };

/// What programs are looked through for, and the text that shows it.
const FEATURES: &[(&str, &str)] = &[
    ("ld_reduce", "multimem.ld_reduce"),
    ("wait for ld_reduce", "await (multimem"),
    ("multimem.st", "multimem.st"),
    ("multimem.red", "multimem.red"),
    ("another device's instance", "peer("),
    ("the own instance", "[c]"),
    ("alias fence", "fence.proxy.alias;"),
    ("thread fence", "fence.sc"),
];

/// The two readings: a multimem address is an alias, or it is not.
///
/// # Panics
/// If the model is missing.
pub fn pairs() -> [Pair; 2] {
    let variants = ["multimem-is-no-alias".to_owned()];
    let model = shipped_variant("ptx", &variants).expect("the model comes with Fencepost");
    let edition =
        Edition { multimem_is_no_alias: true, name: "ptx without multimem aliases", ..Edition::PTX };
    [Pair::new("ptx"), Pair { model, edition }]
}

/// Compares random programs: how many agree (`compared`), and what is in them and was found of them.
///
/// # Errors
/// The disagreements, shrunk.
pub fn compare_random(pairs: &[Pair; 2], plan: Plan) -> Result<Counts, Vec<String>> {
    random::run_over(
        plan,
        || multimem_sketches(plan.n_memory_max),
        |sketch, _, counts| {
            let text = sketch.text();
            let mut raced = Vec::new();
            for pair in pairs {
                match pair.compare(&text, Treatment::DEFAULT)? {
                    Comparison::Agreed { races, .. } => raced.push(races),
                    Comparison::TooLarge => {
                        counts.add("too large", true);
                        return Ok(());
                    }
                }
            }
            counts.add("compared", true);
            counts.add("a race", raced[0]);
            counts.add("no race", !raced[0]);
            counts.add("a race in one reading only", raced[0] && !raced[1]);
            counts.add_features(&text, FEATURES);
            Ok(())
        },
    )
}

/// What comparisons were of, besides features.
const RESULTS: &[&str] = &["a race", "no race", "a race in one reading only"];

/// Which programs are compared, and what they must show.
pub fn suite() -> Suite {
    Suite { one_in: 50, ..Suite::new("oracle_multimem", PLAN, FEATURES, RESULTS) }
}
