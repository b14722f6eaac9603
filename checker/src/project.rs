//! `fencepost.toml`: how the kernels of a project are checked.
//!
//! It is looked for in the folder of the file that is checked, and in those above; the first that is there is the one. It
//! says what the command line would say every time, and what only a project can say: which bounds are good enough, and why.
//! It names no program to run and no place to write to, so a repository that is not trusted can be checked.

mod read;
mod settings;

pub use settings::{Accepted, Settings, Severities, Severity};

use crate::paths;
use fencepost_dsl::kernel::program::{Launch, Program};
use fencepost_dsl::{Diagnostic, SourceMap};
use std::path::{Path, PathBuf};

/// What the file is called.
pub const FILE: &str = "fencepost.toml";

/// A `fencepost.toml` that was read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Project {
    /// The file, as reports name it.
    pub name: String,
    /// The folder that it is in.
    pub folder: PathBuf,
    /// What it says.
    pub settings: Settings,
}

impl Project {
    /// The project of a file, or of the folder where a command runs: that of the nearest `fencepost.toml` above it.
    ///
    /// # Errors
    /// It is there and cannot be used; its text and what is wrong with it.
    pub fn of(path: &Path) -> Result<Option<Self>, Box<(SourceMap, Vec<Diagnostic>)>> {
        match candidates(path).into_iter().find(|candidate| candidate.is_file()) {
            Some(found) => Self::load(&found).map(Some),
            None => Ok(None),
        }
    }

    /// Reads this file.
    ///
    /// # Errors
    /// It cannot be read, or has something that is no setting; its text and what is wrong with it.
    pub fn load(file: &Path) -> Result<Self, Box<(SourceMap, Vec<Diagnostic>)>> {
        let name = paths::shown(&paths::from_here(file).to_string_lossy());
        let folder = file.parent().map(Path::to_owned).unwrap_or_default();
        let mut sources = SourceMap::default();
        let text = paths::read(file).map(|text| paths::shown(&text));
        let id = sources.add(name.clone(), text.as_deref().unwrap_or_default());
        let settings = text.map_or_else(
            |why| Err(vec![read::unreadable(id, &name, &why)]),
            |text| read::settings(&text, id, &name),
        );
        match settings {
            Ok(settings) => Ok(Self { name, folder, settings }),
            Err(errors) => Err(Box::new((sources, errors))),
        }
    }

    /// What is checked where nothing is named, as seen from the current folder.
    pub fn paths(&self) -> Vec<PathBuf> {
        let here = paths::from_here(&self.folder);
        let own = |path: &PathBuf| if here == Path::new(".") { path.clone() } else { here.join(path) };
        match self.settings.paths.as_slice() {
            [] => vec![here],
            paths => paths.iter().map(own).collect(),
        }
    }

    /// The file of known findings.
    pub fn baseline(&self) -> Option<PathBuf> {
        self.settings.baseline.as_ref().map(|path| paths::from_here(&self.folder.join(path)))
    }

    /// The memory model: a name, or where its file is.
    pub fn model(&self) -> Option<String> {
        let model = self.settings.model.as_ref()?;
        if !model.ends_with(".cat") {
            return Some(model.clone());
        }
        Some(paths::from_here(&self.folder.join(model)).to_string_lossy().into_owned())
    }

    /// Why a proof of this launch up to a bound is good enough, if it is.
    pub fn accepts(&self, file: &Path, kernel: &str, launch: &str, bound: u32) -> Option<&Accepted> {
        let file = paths::relative(file, &self.folder);
        self.settings.accepted.iter().find(|accepted| {
            accepted.kernel == kernel
                && accepted.launch.as_ref().is_none_or(|own| own == launch)
                && accepted.bound <= bound
                && accepted.file.as_ref().is_none_or(|own| *own == file)
        })
    }

    /// Of each kernel the launches that are named, if it has some of them, else all.
    pub fn select(&self, program: &Program, tasks: &mut Vec<(usize, Launch)>) {
        let is_named = |launch: &Launch| self.settings.launches.contains(&launch.name);
        tasks.retain(|(kernel, launch)| {
            is_named(launch) || !program.kernels[*kernel].launches.iter().any(is_named)
        });
    }
}

/// Where the project of a file could be, the nearest first.
pub fn candidates(path: &Path) -> Vec<PathBuf> {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    // A link is where it was made, not where it leads.
    let folder = if path.is_dir() { Some(path.as_path()) } else { path.parent() };
    let folders = folder.map(Path::ancestors).into_iter().flatten();
    folders.map(|folder| folder.join(FILE)).collect()
}
