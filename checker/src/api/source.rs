//! Where the text of a kernel comes from.

use crate::library;
use crate::paths;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a text is called that nobody gave a name.
const UNNAMED: &str = "<text>";

/// A kernel file, or a litmus test: a file on disk, or a text in memory.
///
/// A `&str` or `String` is a text, a `&Path` or `PathBuf` a file. One whose name ends in `.litmus` is a litmus test.
#[derive(Clone, Debug)]
pub struct Source {
    /// What reports call it.
    pub(super) name: String,
    store: Store,
}

/// Gives the text of a name, or why there is none.
type Reader = dyn Fn(&str) -> Result<String, String> + Send + Sync;

#[derive(Clone)]
enum Store {
    /// Files; relative paths start in this folder.
    Folder(PathBuf),
    /// Texts by name.
    Texts(BTreeMap<String, String>),
    /// Whatever gives texts.
    Reader(Arc<Reader>),
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Folder(_) => "Folder",
            Self::Texts(_) => "Texts",
            Self::Reader(_) => "Reader",
        })
    }
}

impl Source {
    /// A text, and the name that reports have for it.
    pub fn text(name: impl Into<String>, text: impl Into<String>) -> Self {
        let name = paths::shown(&name.into());
        let texts = BTreeMap::from([(plain(&name).to_owned(), text.into())]);
        Self { name, store: Store::Texts(texts) }
    }

    /// A file. What it uses is looked for beside it, then in the library.
    pub fn file(path: impl AsRef<Path>) -> Self {
        Self::file_in("", path)
    }

    /// A file whose path, if it is relative, starts in `folder`; reports show the path as it is given here.
    pub fn file_in(folder: impl Into<PathBuf>, path: impl AsRef<Path>) -> Self {
        let name = paths::shown(&path.as_ref().to_string_lossy());
        Self { name, store: Store::Folder(folder.into()) }
    }

    /// A text that `read` gives, as it does what that one uses, by names relative to this one's: for editors, whose texts are
    /// not those on disk. The library need not be among them.
    pub fn reader(
        name: impl Into<String>,
        read: impl Fn(&str) -> Result<String, String> + Send + Sync + 'static,
    ) -> Self {
        Self { name: name.into(), store: Store::Reader(Arc::new(read)) }
    }

    /// With a further text, which the first one can name in `use "NAME";`. Nothing is added to a file on disk, which finds
    /// what it uses beside it.
    #[must_use]
    pub fn with(mut self, name: impl AsRef<str>, text: impl Into<String>) -> Self {
        if let Store::Texts(texts) = &mut self.store {
            texts.entry(plain(name.as_ref()).to_owned()).or_insert_with(|| text.into());
        }
        self
    }

    pub(super) fn is_litmus(&self) -> bool {
        Path::new(&self.name).extension().is_some_and(|ending| ending == "litmus")
    }

    /// The text of the file itself, or of one that it uses.
    pub(super) fn read(&self, wanted: &str) -> Result<String, String> {
        if let Some(text) = library::read(wanted) {
            return text;
        }
        let text = match &self.store {
            Store::Folder(folder) => paths::read(&folder.join(wanted))?,
            Store::Texts(texts) => texts
                .get(plain(wanted))
                .cloned()
                .ok_or_else(|| "no text of that name was given".to_owned())?,
            // Places in it are shown by whoever has it.
            Store::Reader(read) => return read(wanted),
        };
        Ok(paths::shown(&text))
    }
}

/// A name without what says only that it starts here.
fn plain(name: &str) -> &str {
    name.trim_start_matches("./")
}

impl From<&str> for Source {
    fn from(text: &str) -> Self {
        Self::text(UNNAMED, text)
    }
}

impl From<String> for Source {
    fn from(text: String) -> Self {
        Self::text(UNNAMED, text)
    }
}

impl From<&String> for Source {
    fn from(text: &String) -> Self {
        Self::text(UNNAMED, text.as_str())
    }
}

impl From<&Path> for Source {
    fn from(path: &Path) -> Self {
        Self::file(path)
    }
}

impl From<PathBuf> for Source {
    fn from(path: PathBuf) -> Self {
        Self::file(path)
    }
}
