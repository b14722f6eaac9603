//! Checks certificates, which `fencepost check --certificate` writes, and says what is proved, by what, and what is not.
//!
//! ```text
//!  folder ──seal, hashes──> texts ──fencepost-dsl──> program, model
//!                           graph ──model──> goals, one by one
//!                           formulas, proofs ──followed──> goals that no execution of the formula reaches
//!                           executions ──evaluated on the model text──> what is reached
//!  goals, less those refuted, less what bounds exclude ──> nothing is left, or it is refused
//! ```
//!
//! It has the languages in common with the checker, and nothing else: proofs are followed, models evaluated and goals listed
//! by code of its own. What it cannot know it does not claim: the report lists what is taken on trust, by name.
//!
//! Modules, from the bottom up:

pub mod bits;

pub mod graph;

pub mod cnf;

pub mod proof;

pub mod model;

pub mod execution;

pub mod folder;

pub mod part;

pub mod claims;

pub mod report;

pub mod export;

pub mod thorough;

pub mod again;

pub use folder::Folder;
pub use report::Report;

use claims::{Claims, check_values};
use fencepost_dsl::cat::MemoryModel;
use fencepost_dsl::cat::memory_model::Flag;
use fencepost_dsl::kernel::program::Program;
use fencepost_dsl::kernel::{LoadOptions, load as load_kernel};
use fencepost_dsl::{Diagnostic, SourceMap, cat, litmus};
use graph::Reading;
use part::Part;

/// Why a certificate is refused.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{code}: {why}")]
pub struct Refused {
    /// What is wrong, by name.
    pub code: &'static str,
    /// Where, and why.
    pub why: String,
}

impl Refused {
    /// A reason.
    pub fn new(code: &'static str, why: String) -> Self {
        Self { code, why }
    }

    /// The same of some file.
    #[must_use]
    pub fn of(self, file: &str) -> Self {
        Self { why: format!("`{file}`: {}", self.why), ..self }
    }
}

/// The texts that a certificate is about, by the names that they had.
struct Texts {
    by_name: Vec<(String, String)>,
}

impl Texts {
    fn read(folder: &Folder, listed: &Reading<'_>) -> Result<Self, Refused> {
        let mut by_name = Vec::new();
        for one in listed.list()? {
            by_name.push((one.get("name")?.text()?.to_owned(), folder.text(one.get("file")?.text()?)?));
        }
        Ok(Self { by_name })
    }

    fn first(&self) -> Result<&str, Refused> {
        let none = || Refused::new("certificate::form", "it has no text".to_owned());
        self.by_name.first().map(|(name, _)| name.as_str()).ok_or_else(none)
    }

    fn get(&self, wanted: &str) -> Result<String, String> {
        let found = self.by_name.iter().find(|(name, _)| name == wanted);
        found.map(|(_, text)| text.clone()).ok_or_else(|| format!("`{wanted}` is not in the certificate"))
    }
}

/// What does not load, said in a line.
fn not_loaded(code: &'static str, errors: &[Diagnostic]) -> Refused {
    let first = errors.first().map_or(String::new(), |error| error.message.clone());
    Refused::new(code, format!("the text in it does not load: {first}"))
}

/// Checks a certificate.
///
/// # Errors
/// At the first thing that is wrong with it.
pub fn verify(folder: &Folder) -> Result<Report, Refused> {
    checked(folder, None)
}

/// The same with a closer look at what is small enough.
///
/// # Errors
/// At the first thing that is wrong with it.
pub fn verify_thoroughly(folder: &Folder, limits: thorough::Limits) -> Result<Report, Refused> {
    checked(folder, Some(limits))
}

fn checked(folder: &Folder, thorough: Option<thorough::Limits>) -> Result<Report, Refused> {
    let root = folder.root();
    let model_of = root.get("model")?;
    let model_texts = Texts::read(folder, &model_of.get("texts")?)?;
    let variants: Result<Vec<String>, Refused> =
        model_of.get("variants")?.list()?.iter().map(|one| one.text().map(str::to_owned)).collect();
    let variants = variants?;
    let path = model_texts.first()?;
    let model = cat::load(&mut SourceMap::default(), path, &mut |wanted| model_texts.get(wanted), &variants)
        .map_err(|errors| not_loaded("model::unreadable", &errors))?;
    let texts = Texts::read(folder, &root.get("texts")?)?;
    let (sources, program) = program(&texts, &root)?;
    let kernel = root.get("kernel")?.text()?;
    let Some(kernel) = program.kernels.iter().find(|own| own.name == kernel) else {
        let why = format!("its text has no kernel `{kernel}`");
        return Err(Refused::new("kernel::another", why));
    };
    let launch = root.get("launch")?.text()?;
    let launch = kernel.launches.iter().find(|own| own.name == launch);
    let mut parts = Vec::new();
    for part in root.get("parts")?.list()? {
        parts.push(Part::read(folder, &model, &part)?);
    }
    if parts.is_empty() {
        return Err(Refused::new("certificate::form", "it has no part".to_owned()));
    }
    let claims = Claims::read(&root)?;
    if claims.claims_all() {
        check_values(kernel, &parts)?;
    }
    let covered = claims.check(&model, &parts)?;
    let (mut looked, mut derived, mut proved) = (Vec::new(), Vec::new(), Vec::new());
    if let Some(limits) = thorough {
        for (part, listed) in parts.iter().zip(root.get("parts")?.list()?) {
            derived.push(match launch {
                Some(launch) => {
                    let text = again::Text { sources: &sources, program: &program, kernel, launch };
                    again::compare(&text, part, again::Effort::default())?
                }
                None => again::Again::given_up("its launch is not in the text".to_owned()),
            });
            let formula =
                part.main_number().map(|number| listed.get("formulas")?.at(number)?.get("file")?.text());
            let seen = thorough::look(folder, &model, &claims, part, formula.transpose()?, limits)?;
            // Where all executions were looked at, there is nothing left to prove.
            proved.push(match seen.given_up {
                None => None,
                Some(_) => Some(thorough::prove::prove(&model, &claims, part, limits)?),
            });
            looked.push(seen);
        }
    }
    let report = Report::new(&root, &claims, &parts, covered, launch.is_some())?;
    Ok(report.with_hash(folder.hash.clone()).with_looked(looked, proved).with_derived(derived))
}

fn program(texts: &Texts, root: &Reading<'_>) -> Result<(SourceMap, Program), Refused> {
    let mut sources = SourceMap::default();
    let path = texts.first()?;
    let mut read = |wanted: &str| texts.get(wanted);
    let loaded = if path.ends_with(".litmus") {
        litmus::load(&mut sources, path, &mut read)
    } else {
        let options = root.get("options")?;
        let mut defines = Vec::new();
        for one in options.get("defines")?.list()? {
            defines.push((one.at(0)?.text()?.to_owned(), one.at(1)?.number()? as u64));
        }
        let target = options.get("target")?;
        let target = if target.is_null() { None } else { Some(target.text()?.to_owned()) };
        load_kernel(&mut sources, path, &mut read, &LoadOptions { defines, target })
    };
    let program = loaded.map_err(|errors| not_loaded("kernel::unreadable", &errors))?;
    Ok((sources, program))
}

/// The property that a flag of that name breaks.
pub fn property_of_flag(name: &str) -> &'static str {
    let starts = |family: &str| name.starts_with(family);
    if starts("mbarrier-") || starts("cancel-") {
        "barrier"
    } else if starts("lifetime-") {
        "lifetime"
    } else {
        "race"
    }
}

/// Which flags a goal can be about: refinements only say more of what another flag has found.
fn flags(model: &MemoryModel) -> impl Iterator<Item = &Flag> {
    model.flags.iter().filter(|flag| !flag.name.contains('.'))
}
