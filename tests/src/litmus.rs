//! Litmus tests through the whole pipeline.

use crate::run::config;
use fencepost::check::{CheckError, Config, check};
use fencepost::encode::Treatment;
use fencepost::verdict::{Outcome, Property, Verdict};
use fencepost_dsl::cat::memory_model::MemoryModel;
use fencepost_dsl::{SourceMap, cat, litmus};
use std::path::{Path, PathBuf};

/// What a litmus test's two properties came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Answers {
    /// Whether the condition holds; `None` if that is open.
    pub condition: Option<bool>,
    /// The verdict of property `race`.
    pub race: Verdict,
}

impl Answers {
    /// The answer to `condition` or `race`, as tables of expectations spell it.
    pub fn of(self, property: &str) -> &'static str {
        let passes = match property {
            "condition" => self.condition,
            _ => match self.race {
                Verdict::Proved | Verdict::ProvedUpToBound => Some(true),
                Verdict::Violated => Some(false),
                Verdict::Vacuous | Verdict::Inconclusive => None,
            },
        };
        match passes {
            Some(true) => "pass",
            Some(false) => "fail",
            None => "open",
        }
    }
}

/// A model that comes with Fencepost, if there is one of that name.
///
/// # Panics
/// If it is there and does not load.
pub fn shipped_model(name: &str) -> Option<MemoryModel> {
    shipped_variant(name, &[])
}

/// The same under variants.
///
/// # Panics
/// If it is there and does not load.
pub fn shipped_variant(name: &str, variants: &[String]) -> Option<MemoryModel> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../checker/engine/models");
    let path = folder.join(format!("{name}.cat"));
    let mut read = |path: &str| {
        let file = path.rsplit('/').next().unwrap_or(path);
        std::fs::read_to_string(folder.join(file)).map_err(|error| error.to_string())
    };
    path.exists().then(|| {
        cat::load(&mut SourceMap::default(), &format!("{name}.cat"), &mut read, variants)
            .unwrap_or_else(|errors| panic!("{name} is rejected: {errors:#?}"))
    })
}

/// The properties that tables of expectations have.
pub fn both_properties() -> Config {
    Config { properties: vec![Property::Race, Property::Condition], ..config(Treatment::DEFAULT) }
}

/// The outcome of a litmus file, or the code of the first error if it uses something that is not checked.
///
/// # Panics
/// If it cannot be read, is wrong, or an internal check fails.
pub fn outcome(path: &Path, model: &MemoryModel, config: &Config) -> Result<Outcome, &'static str> {
    let mut read = |path: &str| std::fs::read_to_string(path).map_err(|error| error.to_string());
    let program = match litmus::load(&mut SourceMap::default(), &path.to_string_lossy(), &mut read) {
        Ok(program) => program,
        Err(errors) if errors.iter().all(|error| error.code.starts_with("unsupported::")) => {
            return Err(errors[0].code);
        }
        Err(errors) => panic!("{} is rejected: {errors:#?}", path.display()),
    };
    let kernel = &program.kernels[0];
    match check(&program, kernel, &kernel.launches[0], model, config) {
        Ok(outcome) => Ok(outcome),
        Err(CheckError::Unsupported(error)) => Err(error.code),
        Err(error @ CheckError::SelfCheck { .. }) => panic!("{}: {error}", path.display()),
    }
}

/// The answers to both properties, or the code of what is not checked.
///
/// # Panics
/// As [`outcome`].
pub fn answers(path: &Path, model: &MemoryModel) -> Result<Answers, &'static str> {
    let outcome = outcome(path, model, &both_properties())?;
    let race = crate::run::verdict(&outcome, Property::Race);
    let condition = outcome.condition.as_ref().and_then(|result| result.holds);
    Ok(Answers { condition, race })
}

/// The litmus files under a folder, in order of their names.
///
/// # Panics
/// If the folder cannot be read.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    files_with(folder, "litmus")
}

/// The files with an extension under a folder, in order of their names.
///
/// # Panics
/// If the folder cannot be read.
pub fn files_with(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("the folder can be read").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|own| own == extension) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}
