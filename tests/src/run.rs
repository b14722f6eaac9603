//! One kernel text through the whole pipeline, in one call.

use crate::random::Counts;
use fencepost::check::{CheckError, Config, check};
use fencepost::encode::Treatment;
use fencepost::examine::{Examination, examine};
use fencepost::explain::explain;
use fencepost::explain::repair::Texts;
use fencepost::library;
use fencepost::models::Model;
use fencepost::verdict::{Outcome, Property, Vacuity, Verdict};
use fencepost_dsl::cat::memory_model::MemoryModel;
use fencepost_dsl::kernel::LoadOptions;
use fencepost_dsl::kernel::program::Program;
use fencepost_dsl::{SourceMap, cat, kernel};
use std::collections::BTreeSet;
use std::path::Path;

/// The text of the default model.
pub const PTX: &str = include_str!("../../checker/engine/models/ptx.cat");

/// The default model, with variants.
///
/// # Panics
/// If it does not load.
pub fn model(variants: &[&str]) -> MemoryModel {
    let mut sources = SourceMap::default();
    let variants: Vec<String> = variants.iter().map(|&name| name.into()).collect();
    cat::load(&mut sources, "ptx.cat", &mut |_| Ok(PTX.into()), &variants).expect("the shipped model loads")
}

/// The model of SPA 5.0 machines, with variants.
///
/// # Panics
/// If it does not load.
pub fn spa_model(variants: &[&str]) -> MemoryModel {
    let text = include_str!("../../checker/engine/models/spa-5.0.cat");
    let variants: Vec<String> = variants.iter().map(|&name| name.into()).collect();
    let mut sources = SourceMap::default();
    cat::load(&mut sources, "spa-5.0.cat", &mut |_| Ok(text.into()), &variants)
        .expect("the shipped model loads")
}

/// The model of SPA 5.0 machines without one of its axioms.
///
/// # Panics
/// If it has no such axiom, or does not load.
pub fn spa_model_without(axiom: &str) -> MemoryModel {
    let text = include_str!("../../checker/engine/models/spa-5.0.cat");
    let end = format!(" as {axiom}");
    let kept: Vec<&str> = text.lines().filter(|line| !line.ends_with(&end)).collect();
    assert_eq!(kept.len() + 1, text.lines().count(), "{axiom} is stated on a line of its own");
    let text = kept.join("\n");
    let mut sources = SourceMap::default();
    cat::load(&mut sources, "spa-5.0.cat", &mut |_| Ok(text.clone()), &[]).expect("the rest loads")
}

/// Of the two, the model of the machine that a program is written for.
pub fn model_for<'a>(program: &Program, ptx: &'a MemoryModel, spa: &'a MemoryModel) -> &'a MemoryModel {
    let mut launches = program.kernels.iter().flat_map(|kernel| &kernel.launches);
    if launches.any(|launch| launch.spa.is_some()) { spa } else { ptx }
}

/// Everything on, no deadline: the suites depend on no clock. What the solver says is unsatisfiable is followed.
pub fn config(treatment: Treatment) -> Config {
    Config { follow: true, ..Config::without_deadline(treatment) }
}

/// The outcome of each kernel and launch of a text, in order.
///
/// # Panics
/// If the text is rejected or an internal check fails.
pub fn outcomes(text: &str, model: &MemoryModel, config: &Config) -> Vec<Outcome> {
    outcomes_of(&load_text(text), model, config)
}

/// The program of a text.
///
/// # Panics
/// If the text is rejected.
pub fn load_text(text: &str) -> Program {
    let mut read = |_: &str| Ok(text.to_owned());
    kernel::load(&mut SourceMap::default(), "test.fence", &mut read, &LoadOptions::default())
        .unwrap_or_else(|errors| panic!("the text is rejected: {errors:#?}\n{text}"))
}

/// The program of a file.
///
/// # Panics
/// If the file cannot be read or is rejected.
pub fn load(path: &Path) -> Program {
    let mut read = library::with(|path| std::fs::read_to_string(path).map_err(|error| error.to_string()));
    kernel::load(&mut SourceMap::default(), &path.to_string_lossy(), &mut read, &LoadOptions::default())
        .unwrap_or_else(|errors| panic!("{} is rejected: {errors:#?}", path.display()))
}

/// Two outcomes that are to be compared, unless a program was refused or a limit stopped a run; counts what became of them.
pub fn both(pair: [Result<Outcome, CheckError>; 2], counts: &mut Counts) -> Option<[Outcome; 2]> {
    let [Ok(one), Ok(other)] = pair else {
        counts.add("refused", true);
        return None;
    };
    if one.limit.is_some() || other.limit.is_some() {
        counts.add("over budget", true);
        return None;
    }
    counts.add("compared", true);
    Some([one, other])
}

/// The outcome of each kernel and launch of a program, in order.
///
/// # Panics
/// If an internal check fails or something is not supported.
pub fn outcomes_of(program: &Program, model: &MemoryModel, config: &Config) -> Vec<Outcome> {
    let mut outcomes = Vec::new();
    for kernel in &program.kernels {
        for launch in &kernel.launches {
            let outcome = check(program, kernel, launch, model, config);
            outcomes.push(outcome.unwrap_or_else(|error| panic!("{}: {error}", kernel.name)));
        }
    }
    outcomes
}

/// What is claimed of all executions and was proved.
pub fn proved(outcome: &Outcome) -> BTreeSet<Property> {
    let is_proved = |&&(_, verdict): &&(Property, Verdict)| verdict == Verdict::Proved;
    let properties = outcome.properties.iter().filter(is_proved).map(|&(property, _)| property);
    // What `reachable` asks is no claim about all executions.
    properties.filter(|&property| property != Property::Reachable).collect()
}

const UNWOUND: &[(&str, Treatment)] = &[("unwound", Treatment::UNWOUND)];

/// Asks again what was proved of the first launch of a program's first kernel, with each optimisation off, and with each loop
/// unwound.
///
/// # Errors
/// What is violated then.
pub fn stays_proved(
    program: &Program,
    model: &MemoryModel,
    config: &Config,
    outcome: &Outcome,
) -> Result<(), String> {
    stays_proved_in(program, model, config, outcome, Treatment::ONE_OFF.iter().chain(UNWOUND))
}

fn stays_proved_in<'a>(
    program: &Program,
    model: &MemoryModel,
    config: &Config,
    outcome: &Outcome,
    ways: impl Iterator<Item = &'a (&'a str, Treatment)>,
) -> Result<(), String> {
    let (kernel, proved) = (&program.kernels[0], proved(outcome));
    if proved.is_empty() {
        return Ok(());
    }
    for &(name, treatment) in ways {
        let config = Config { treatment, ..config.clone() };
        let again = check(program, kernel, &kernel.launches[0], model, &config);
        let again = again.map_err(|error| format!("with {name}: {error}"))?;
        if let Some(wrong) = proved.iter().find(|&&own| verdict(&again, own) == Verdict::Violated) {
            return Err(format!("{} is proved, and violated with {name}", wrong.name()));
        }
    }
    Ok(())
}

/// The outcome of the first launch of the first kernel of a text. What is proved with everything on must stay so with an
/// optimisation off, or with each loop unwound: which, is another one for each text. `FENCEPOST_EACH_WAY=1` asks in all these
/// ways, which takes eight times as long. And a few threads at a time nothing is proved that is violated.
///
/// # Errors
/// As the check.
///
/// # Panics
/// If something does not stay proved.
pub fn check_each_way(
    (program, text): (&Program, &str),
    model: &MemoryModel,
    config: &Config,
) -> Result<Outcome, CheckError> {
    let kernel = &program.kernels[0];
    let outcome = check(program, kernel, &kernel.launches[0], model, config)?;
    if config.treatment != Treatment::DEFAULT {
        return Ok(outcome);
    }
    let (skipped, n_asked) = match std::env::var_os("FENCEPOST_EACH_WAY") {
        Some(_) => (0, usize::MAX),
        None => {
            let sum: usize = text.bytes().map(usize::from).sum();
            (sum % (Treatment::ONE_OFF.len() + UNWOUND.len()), 1)
        }
    };
    let ways = Treatment::ONE_OFF.iter().chain(UNWOUND).skip(skipped).take(n_asked);
    stays_proved_in(program, model, config, &outcome, ways)
        .unwrap_or_else(|complaint| panic!("{complaint}\n{text}"));
    let sliced = Config { treatment: Treatment::SLICED, ..config.clone() };
    let sliced = check(program, kernel, &kernel.launches[0], model, &sliced)?;
    for &(property, told) in &outcome.properties {
        let is_wrong = [told, verdict(&sliced, property)].contains(&Verdict::Violated)
            && [told, verdict(&sliced, property)].contains(&Verdict::Proved);
        assert!(!is_wrong, "{} is {told:?}, and not so in slices\n{text}", property.name());
    }
    Ok(outcome)
}

/// The codes of everything found.
pub fn codes_of(outcome: &Outcome, model: &MemoryModel) -> BTreeSet<&'static str> {
    outcome.findings.iter().map(|finding| explain(&outcome.graph, model, finding).code).collect()
}

/// Whether the `reachable` conditions of an outcome are all reached.
pub fn is_reached(outcome: &Outcome) -> bool {
    !outcome.vacuity.iter().any(|vacuity| matches!(vacuity, Vacuity::Unreachable(_)))
}

/// The verdict of one property.
///
/// # Panics
/// If the property was not asked for.
pub fn verdict(outcome: &Outcome, property: Property) -> Verdict {
    outcome
        .properties
        .iter()
        .find(|(own, _)| *own == property)
        .map(|&(_, verdict)| verdict)
        .expect("the property was asked for")
}

/// The same of the executions that break no rule behind which threads are not followed: what nothing but such a rule leaves
/// open is *proved* of those, within the bound if a loop is cut.
///
/// # Panics
/// If the property was not asked for.
pub fn verdict_of_the_rest(outcome: &Outcome, property: Property) -> Verdict {
    let ends = || outcome.findings.iter().any(|finding| finding.ends_thread(&outcome.graph));
    match verdict(outcome, property) {
        Verdict::Inconclusive if outcome.limit.is_none() && (outcome.unasked.is_some() || ends()) => {
            if outcome.open_loops.is_empty() {
                Verdict::Proved
            } else {
                Verdict::ProvedUpToBound
            }
        }
        known => known,
    }
}

/// What the command says of the first kernel of a text with its first launch, every answer of the solver followed.
///
/// # Panics
/// If it is no kernel, or not supported.
pub fn examined(text: &str) -> Examination {
    let mut sources = SourceMap::default();
    let mut read = |_: &str| Ok(text.to_owned());
    let program = kernel::load(&mut sources, "k.fence", &mut read, &LoadOptions::default())
        .unwrap_or_else(|errors| panic!("{errors:#?}"));
    let texts = Texts::new(&sources, LoadOptions::default());
    let model = Model::shipped("ptx", &[]).expect("the model comes along");
    let kernel = &program.kernels[0];
    let config = Config { follow: true, ..Config::usual(kernel) };
    examine(&texts, &program, kernel, &kernel.launches[0], &model, &config)
        .unwrap_or_else(|error| panic!("{error}"))
}
