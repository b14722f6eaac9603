//! Kernels in files, each with what must be found of it: the one form in which suites of single verdicts are written.
//!
//! What is claimed of a kernel or program stands in the lines before it that begin with `//@`. The first one says what it is:
//! `//@ rule …` in `tests/rules`, whose suite has words of its own, or `//@ row NAME` in the tables. Under `row` a line for
//! each claim follows:
//!
//! * `proved`: everything is;
//! * `finds CODE`, `finds no CODE`: whether it is among the findings; `race` stands for all codes that begin with `race::`;
//! * `race violated`, `assert proved`, …: the verdict of one property;
//! * `reached`, `unreached`: whether every `reachable` can be reached, or some cannot;
//! * `refused CODE`, `accepted`: whether it is checked at all.
//!
//! `under NAME: …` says what is so with a variant of the model. Kernels without such lines are there for programs to launch.

use crate::run::{codes_of, config, is_reached, load, model, model_for, spa_model, verdict};
use fencepost::check::{CheckError, check};
use fencepost::encode::Treatment;
use fencepost::verdict::{Outcome, Property, Verdict};
use fencepost_dsl::cat::memory_model::MemoryModel;
use fencepost_dsl::kernel::program::{Kernel, Launch, Program};
use libtest_mimic::{Arguments, Failed, Trial};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

/// What the lines before a kernel say.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Claim {
    /// The kernel or program.
    pub kernel: String,
    /// What it is: the first line.
    pub head: String,
    /// What is found of it.
    pub expected: Vec<Expected>,
}

/// One thing that is claimed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Expected {
    /// Variants of the model.
    pub variants: Vec<String>,
    /// What is so under them.
    pub says: Says,
}

/// What is found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Says {
    /// Everything is proved.
    Proved,
    /// Something is violated.
    Violated,
    /// This code, or family of codes, is among the findings, or it is not.
    Finds(String, bool),
    /// The verdict of a property.
    Of(Property, Verdict),
    /// Whether every `reachable` is reached.
    Reached(bool),
    /// It is not checked, for this reason.
    Refused(String),
    /// It is checked.
    Accepted,
}

impl Says {
    /// With the default model.
    pub fn usually(self) -> Expected {
        Expected { variants: Vec::new(), says: self }
    }

    fn parse(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split_whitespace().collect();
        Some(match words[..] {
            ["proved"] => Self::Proved,
            ["finds", "no", code] => Self::Finds(code.to_owned(), false),
            ["finds", code] => Self::Finds(code.to_owned(), true),
            ["reached"] => Self::Reached(true),
            ["unreached"] => Self::Reached(false),
            ["refused", code] => Self::Refused(code.to_owned()),
            ["accepted"] => Self::Accepted,
            [property, verdict] => {
                let property = Property::ALL.into_iter().find(|known| known.name() == property)?;
                let verdicts =
                    [Verdict::Proved, Verdict::ProvedUpToBound, Verdict::Vacuous, Verdict::Violated];
                Self::Of(property, verdicts.into_iter().find(|known| known.name() == verdict)?)
            }
            _ => return None,
        })
    }

    /// Whether it is so.
    fn is_true_of(&self, found: &Result<Outcome, &'static str>, model: &MemoryModel) -> bool {
        let outcome = match (found, self) {
            (Err(code), Self::Refused(expected)) => return code == expected,
            (Err(_), _) => return false,
            (Ok(outcome), _) => outcome,
        };
        match self {
            Self::Proved => outcome.verdict == Verdict::Proved,
            Self::Violated => outcome.verdict == Verdict::Violated,
            Self::Finds(code, is_there) => {
                let is_it = |found: &&str| {
                    found
                        .strip_prefix(code.as_str())
                        .is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
                };
                codes_of(outcome, model).iter().any(is_it) == *is_there
            }
            Self::Of(property, expected) => verdict(outcome, *property) == *expected,
            Self::Reached(expected) => is_reached(outcome) == *expected,
            Self::Refused(_) => false,
            Self::Accepted => true,
        }
    }
}

/// The models that files are checked under.
pub struct Models {
    ptx: MemoryModel,
    spa: MemoryModel,
}

impl Models {
    /// Those that come with Fencepost.
    pub fn new() -> Self {
        Self { ptx: model(&[]), spa: spa_model(&[]) }
    }
}

impl Default for Models {
    fn default() -> Self {
        Self::new()
    }
}

/// A file, with what it claims of its kernels.
pub struct Claims {
    /// Its name, without extension.
    pub name: String,
    /// In the order of the kernels.
    pub claims: Vec<Claim>,
    program: Program,
}

impl Claims {
    /// The files of a folder of this package, in order.
    ///
    /// # Panics
    /// If there is none, or one of them cannot be read, is rejected or claims nothing.
    pub fn of_folder(folder: &str) -> Vec<Self> {
        let files = files(folder);
        assert!(!files.is_empty(), "{folder} has no kernels");
        files.iter().map(|path| Self::of_file(path)).collect()
    }

    fn of_file(path: &Path) -> Self {
        let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let claims = parse(&text).unwrap_or_else(|line| panic!("{}: cannot read `{line}`", path.display()));
        let program = load(path);
        let known: BTreeSet<&str> = claims.iter().map(|claim| claim.kernel.as_str()).collect();
        assert!(!claims.is_empty() && known.len() == claims.len(), "{name}: each kernel has its lines, once");
        let launched = launched(&text);
        for kernel in &program.kernels {
            let is_looked_at =
                known.contains(kernel.name.as_str()) || launched.contains(kernel.name.as_str());
            assert!(is_looked_at, "{name}: nobody says what is found of `{}`, nor launches it", kernel.name);
        }
        Self { name, claims, program }
    }

    /// What is claimed and not so, a line each.
    pub fn wrong(&self, models: &Models, treatment: Treatment) -> Vec<String> {
        let of_claim = |claim: &Claim| {
            let kernel = self.program.kernels.iter().find(|kernel| kernel.name == claim.kernel);
            let wrong = match kernel {
                Some(kernel) => holds(claim, (&self.program, kernel), models, treatment).err()?,
                None => "there is no such kernel".to_owned(),
            };
            Some(format!("{}: {} ({}): {wrong}", self.name, claim.kernel, claim.head))
        };
        self.claims.iter().filter_map(of_claim).collect()
    }
}

/// Whether every launch of the kernel does what the claim says.
fn holds(
    claim: &Claim,
    (program, kernel): (&Program, &Kernel),
    models: &Models,
    treatment: Treatment,
) -> Result<(), String> {
    let usual = model_for(program, &models.ptx, &models.spa);
    for launch in &kernel.launches {
        let mut found = None;
        for expected in &claim.expected {
            let varied;
            let (outcome, model) = if expected.variants.is_empty() {
                if found.is_none() {
                    found = Some(ask((program, kernel, launch), usual, treatment)?);
                }
                (found.as_ref().expect("just asked"), usual)
            } else {
                let variants: Vec<&str> = expected.variants.iter().map(String::as_str).collect();
                let model = model(&variants);
                varied = (ask((program, kernel, launch), &model, treatment)?, model);
                (&varied.0, &varied.1)
            };
            if !expected.says.is_true_of(outcome, model) {
                return Err(format!("not {expected:?}, but {}", shown(outcome, model)));
            }
        }
    }
    Ok(())
}

fn shown(found: &Result<Outcome, &'static str>, model: &MemoryModel) -> String {
    match found {
        Ok(outcome) => format!("{} with {:?}", outcome.verdict.name(), codes_of(outcome, model)),
        Err(code) => format!("refused: {code}"),
    }
}

/// The outcome, or the code of why there is none.
fn ask(
    (program, kernel, launch): (&Program, &Kernel, &Launch),
    model: &MemoryModel,
    treatment: Treatment,
) -> Result<Result<Outcome, &'static str>, String> {
    match check(program, kernel, launch, model, &config(treatment)) {
        Ok(outcome) => Ok(Ok(outcome)),
        Err(CheckError::Unsupported(diagnostic)) => Ok(Err(diagnostic.code)),
        Err(error @ CheckError::SelfCheck { .. }) => Err(error.to_string()),
    }
}

/// The claims of a text, or the line that is none.
fn parse(text: &str) -> Result<Vec<Claim>, String> {
    let mut claims = Vec::new();
    let mut open: Option<(String, Vec<Expected>)> = None;
    for line in text.lines() {
        let kernel = line.strip_prefix("kernel ").or_else(|| line.strip_prefix("program "));
        if let Some(said) = line.strip_prefix("//@ ") {
            match &mut open {
                None => open = Some((said.to_owned(), Vec::new())),
                Some((_, expected)) => expected.push(expectation(said).ok_or_else(|| line.to_owned())?),
            }
        } else if let (Some(rest), Some((head, expected))) = (kernel, open.take_if(|_| kernel.is_some())) {
            let name = rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
            if head.starts_with("row ") == expected.is_empty() {
                return Err(head);
            }
            claims.push(Claim { kernel: name.to_owned(), head, expected });
        }
    }
    open.map_or(Ok(claims), |(head, _)| Err(head))
}

fn expectation(said: &str) -> Option<Expected> {
    let (variants, said) = match said.strip_prefix("under ") {
        Some(rest) => rest.split_once(": ")?,
        None => ("", said),
    };
    let variants = variants.split(", ").filter(|name| !name.is_empty()).map(str::to_owned).collect();
    Some(Expected { variants, says: Says::parse(said)? })
}

/// The kernels that some program launches.
fn launched(text: &str) -> BTreeSet<&str> {
    let behind = text.split("launch ").skip(1);
    behind.filter_map(|rest| rest.split(|c: char| !c.is_alphanumeric() && c != '_').next()).collect()
}

fn files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.expect("a readable folder").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "fence"))
        .collect();
    files.sort();
    files
}

/// Runs the files of a folder as tests of their own, by their names; with `each_treatment`, again with each optimisation
/// off.
pub fn main(folder: &str, each_treatment: bool) -> ExitCode {
    let models = Arc::new(Models::new());
    let off = Treatment::ONE_OFF.iter().filter(|_| each_treatment).copied();
    let treatments: Vec<(&str, Treatment)> = std::iter::once(("", Treatment::DEFAULT)).chain(off).collect();
    let mut trials = Vec::new();
    for claims in Claims::of_folder(folder) {
        let claims = Arc::new(claims);
        for &(without, treatment) in &treatments {
            let name = match without {
                "" => format!("{} ({} rows)", claims.name, claims.claims.len()),
                without => format!("{}, {without}", claims.name),
            };
            let (claims, models) = (Arc::clone(&claims), Arc::clone(&models));
            trials.push(Trial::test(name, move || {
                let wrong = claims.wrong(&models, treatment);
                if wrong.is_empty() { Ok(()) } else { Err(Failed::from(wrong.join("\n"))) }
            }));
        }
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
