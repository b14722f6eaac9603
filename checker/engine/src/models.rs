//! Memory models by name: those that come with Fencepost, those in a user's files, and each of them again with a variant.

use fencepost_dsl::cat::memory_model::{MemoryModel, Variant};
use fencepost_dsl::kernel::program::{Kernel, Program};
use fencepost_dsl::sorted::SortedMap;
use fencepost_dsl::span::FileId;
use fencepost_dsl::{Diagnostic, SourceMap, Span, cat};

/// The models that come with Fencepost, by file name.
const SHIPPED: &[(&str, &str)] = &[
    ("ptx.cat", include_str!("../models/ptx.cat")),
    ("ptx-7.5.cat", include_str!("../models/ptx-7.5.cat")),
    ("ptx-6.0.cat", include_str!("../models/ptx-6.0.cat")),
    ("spa-5.0.cat", include_str!("../models/spa-5.0.cat")),
];

/// The model of PTX that is meant if nothing is said.
pub const PTX: &str = "ptx";
/// The model of SPA 5.0 machines.
pub const SPA: &str = "spa-5.0";

/// Names of the models that come with Fencepost.
pub fn names() -> impl Iterator<Item = &'static str> {
    SHIPPED.iter().map(|(file, _)| file.trim_end_matches(".cat"))
}

/// The text of one that comes with Fencepost, as in `models::text("ptx")`; other models can include it.
pub fn text(name: &str) -> Option<&'static str> {
    SHIPPED.iter().find(|(file, _)| file.strip_suffix(".cat") == Some(name)).map(|&(_, text)| text)
}

/// The model that a program is for, unless somebody says otherwise.
pub fn usual(program: &Program) -> &'static str {
    let is_spa = |kernel: &Kernel| kernel.launches.iter().any(|launch| launch.spa.is_some());
    if program.kernels.iter().any(is_spa) { SPA } else { PTX }
}

/// A memory model, and what it takes to read it again with a variant.
#[derive(Clone, Debug)]
pub struct Model {
    /// The name by which it was asked for.
    pub name: String,
    /// What it says.
    pub resolved: MemoryModel,
    /// The files that it was read from.
    texts: SortedMap<String, String>,
}

impl Model {
    /// The model called `name`: a file if it ends in `.cat`, else one that comes with Fencepost.
    ///
    /// What it includes is looked for with `read` first, if it is a file, then among the models that come with Fencepost.
    ///
    /// # Errors
    /// What is wrong with it, or that there is none; all files read are added to `sources`.
    pub fn load(
        sources: &mut SourceMap,
        name: &str,
        variants: &[String],
        read: &mut dyn FnMut(&str) -> Result<String, String>,
    ) -> Result<Self, Vec<Diagnostic>> {
        let is_file = name.ends_with(".cat");
        let path = if is_file { name.to_owned() } else { format!("{name}.cat") };
        let mut texts = SortedMap::new();
        let mut reader = |wanted: &str| {
            let from_outside = if is_file { read(wanted) } else { Err(unknown(name)) };
            // A file that was named is that file or none.
            let text = if is_file && wanted == path {
                from_outside?
            } else {
                from_outside.or_else(|reason| shipped(wanted).ok_or(reason))?
            };
            texts.insert(wanted.to_owned(), text.clone());
            Ok(text)
        };
        let resolved = cat::load(sources, &path, &mut reader, variants)?;
        if resolved.axioms.is_empty() && resolved.flags.is_empty() {
            return Err(vec![states_nothing(name)]);
        }
        Ok(Self { name: name.to_owned(), resolved, texts })
    }

    /// One of those that come with Fencepost.
    ///
    /// # Errors
    /// As [`Model::load`].
    pub fn shipped(name: &str, variants: &[String]) -> Result<Self, Vec<Diagnostic>> {
        let mut read = |_: &str| Err(unknown(name));
        Self::load(&mut SourceMap::default(), name, variants, &mut read)
    }

    /// Whether it is one of those that come with Fencepost; a file is not, whatever is in it.
    pub fn comes_along(&self) -> bool {
        !self.name.ends_with(".cat")
    }

    /// The files that it was read from, by the names by which they were asked for; the first is the model's own.
    pub fn texts(&self) -> Vec<(&str, &str)> {
        let own = self.path();
        let mut all: Vec<(&str, &str)> =
            self.texts.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        all.sort_by_key(|(name, _)| (*name != own, *name));
        all
    }

    fn path(&self) -> String {
        if self.name.ends_with(".cat") { self.name.clone() } else { format!("{}.cat", self.name) }
    }

    /// The model with this variant and no other.
    pub fn with(&self, variant: &Variant) -> Option<MemoryModel> {
        let path = self.path();
        let mut read = |wanted: &str| self.texts.get(wanted).cloned().ok_or_else(|| unknown(wanted));
        cat::load(&mut SourceMap::default(), &path, &mut read, std::slice::from_ref(&variant.name)).ok()
    }
}

fn shipped(path: &str) -> Option<String> {
    let file = path.rsplit('/').next().unwrap_or(path);
    SHIPPED.iter().find(|(known, _)| *known == file).map(|(_, text)| (*text).to_owned())
}

fn unknown(name: &str) -> String {
    let known: Vec<String> = names().map(|name| format!("`{name}`")).collect();
    format!("there is no model `{name}`; there are {}, and files that end in `.cat`", known.join(", "))
}

fn states_nothing(name: &str) -> Diagnostic {
    let message = format!("the memory model `{name}` states nothing: it has no axioms and no flags");
    Diagnostic::new("cat::states-nothing", message, Span::new(FileId(0), 0, 0), "").with_help(
        "state what executions satisfy (`acyclic r`) and what is reported (`flag ~empty r as name`)",
    )
}

#[cfg(test)]
mod tests {
    use super::{Model, SHIPPED, names, text};
    use fencepost_dsl::SourceMap;
    use fencepost_dsl::sorted::SortedSet;

    #[test]
    fn every_model_that_comes_along_loads_with_each_of_its_variants() {
        for name in names() {
            let model = Model::shipped(name, &[]).unwrap_or_else(|errors| panic!("{name}: {errors:?}"));
            for variant in &model.resolved.described {
                assert!(model.with(variant).is_some(), "{name}: {}", variant.name);
            }
        }
    }

    #[test]
    fn texts_are_found_by_the_names() {
        assert!(names().all(|name| text(name).is_some_and(|text| text.contains("flag"))));
        assert_eq!(text("ptx.cat"), None);
    }

    #[test]
    fn every_variant_is_described_where_it_is() {
        for (file, text) in SHIPPED {
            let asked: SortedSet<&str> =
                text.split("if \"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
            let model = Model::shipped(file.trim_end_matches(".cat"), &[]).expect("it loads");
            let described: SortedSet<&str> =
                model.resolved.described.iter().map(|variant| variant.name.as_str()).collect();
            assert_eq!(asked, described, "{file}");
        }
    }

    #[test]
    fn an_unknown_model_is_named_with_the_known_ones() {
        let errors = Model::shipped("tso", &[]).expect_err("there is no such model");
        assert!(errors[0].message.contains("no model `tso`") && errors[0].message.contains("`ptx`"));
    }

    #[test]
    fn a_file_is_read_again_with_a_variant_of_what_it_includes() {
        let mut read = |path: &str| match path {
            "own.cat" => Ok("include \"ptx.cat\"\nflag ~empty (fr & ext) as stale".to_owned()),
            _ => Err("no such file".to_owned()),
        };
        let model = Model::load(&mut SourceMap::default(), "own.cat", &[], &mut read).expect("it loads");
        let variant = &model.resolved.described[0];
        assert_eq!(model.with(variant).map(|with| with.variants), Some(vec![variant.name.clone()]));
        assert!(!model.comes_along() && Model::shipped("ptx", &[]).is_ok_and(|model| model.comes_along()));
    }
}
