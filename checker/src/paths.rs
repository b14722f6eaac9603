//! Which files a path stands for, and their text.

use crate::library;
use fencepost_dsl::kernel::parse;
use fencepost_dsl::sorted::SortedSet;
use fencepost_dsl::span::FileId;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Most bytes that are read of a file; no kind of input may be larger.
const BYTES_MAX: u64 = 4 << 20;
/// The path that stands for standard input, and what that is called in reports.
const STDIN: (&str, &str) = ("-", "<stdin>");

/// Why a path is no input.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadPath {
    /// The path, for people.
    pub path: String,
    /// What is wrong with it.
    pub reason: String,
}

/// A file to work on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Input {
    /// Where it is.
    pub path: PathBuf,
    /// What it is called in reports: all of it can be shown.
    pub name: String,
    /// Whether the command line names it, rather than a folder that it is in.
    pub is_named: bool,
}

impl Input {
    /// A file that was named.
    pub fn named(path: &Path) -> Self {
        let name = if is_stdin(path) { STDIN.1.to_owned() } else { shown(&path.to_string_lossy()) };
        Self { path: path.to_owned(), name, is_named: true }
    }

    /// Whether it is standard input.
    pub fn is_stdin(&self) -> bool {
        is_stdin(&self.path)
    }

    /// Whether it is a litmus test.
    pub fn is_litmus(&self) -> bool {
        self.path.extension().is_some_and(|extension| extension == "litmus")
    }

    /// The text of the file itself, or of one that it uses, which is named relative to it or is the library's.
    pub fn read(&self, wanted: &str) -> Result<String, String> {
        if let Some(text) = library::read(wanted) {
            return text;
        }
        read(&self.resolve(wanted)).map(|text| shown(&text))
    }

    /// The file behind a name that was put together from this one's.
    pub fn resolve(&self, wanted: &str) -> PathBuf {
        let same = |name: &str| name.trim_start_matches("./") == wanted;
        if wanted == self.name || same(&self.name) {
            return self.path.clone();
        }
        let folder = self.path.parent().filter(|folder| folder.to_str().is_none());
        let beside = folder.and_then(|folder| {
            let rest = wanted.strip_prefix(&shown(&folder.to_string_lossy()))?;
            Some(folder.join(rest.trim_start_matches('/')))
        });
        beside.unwrap_or_else(|| PathBuf::from(wanted))
    }
}

/// Text that a terminal only shows: control characters, and those that turn the direction of writing, are replaced.
///
/// Done to every text that comes in, so that whatever quotes it can be printed.
pub fn shown(text: &str) -> String {
    let is_shown = |c: char| {
        let turns = matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        matches!(c, '\n' | '\t' | '\r' | '\u{c}') || !(c.is_control() || turns)
    };
    if text.chars().all(is_shown) {
        return text.to_owned();
    }
    let picture = |c: char| match u32::from(c) {
        code @ 0..0x20 => char::from_u32(0x2400 + code),
        0x7f => Some('\u{2421}'),
        _ => None,
    };
    text.chars()
        .map(|c| if is_shown(c) { c } else { picture(c).unwrap_or(char::REPLACEMENT_CHARACTER) })
        .collect()
}

/// A path in a line of text.
pub fn shown_path(path: &Path) -> String {
    path.to_string_lossy()
        .chars()
        .map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c })
        .collect()
}

fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == STDIN.0
}

/// Standard input, which can be read once only.
fn stdin() -> Result<String, String> {
    static TEXT: OnceLock<Result<String, String>> = OnceLock::new();
    TEXT.get_or_init(|| text_of(io::stdin().lock())).clone()
}

/// A file's text, or why there is none. Only regular files: another might never end, or never begin.
pub fn read(path: &Path) -> Result<String, String> {
    if is_stdin(path) {
        return stdin();
    }
    let kind = fs::metadata(path).map_err(|error| error.to_string())?.file_type();
    if kind.is_dir() {
        return Err("it is a folder".to_owned());
    }
    if !kind.is_file() {
        return Err("it is no regular file; write what it gives into one".to_owned());
    }
    text_of(fs::File::open(path).map_err(|error| error.to_string())?)
}

fn text_of(source: impl Read) -> Result<String, String> {
    let mut bytes = Vec::new();
    source.take(BYTES_MAX + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > BYTES_MAX {
        return Err(format!("it has more than {BYTES_MAX} bytes, the limit for a file (limit::file-size)"));
    }
    let text = String::from_utf8(bytes)
        .map_err(|error| format!("byte {} is not UTF-8 text", error.utf8_error().valid_up_to()))?;
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

/// Whether nothing is declared in a kernel file; one that others use declares functions or constants.
pub fn is_blank(text: &str) -> bool {
    parse(text, FileId(0)).0.items.is_empty()
}

/// The kernel files of `paths`: files as they are named, folders searched for `.fence` and `.litmus`,
/// sorted by name.
pub fn kernel_files(paths: &[PathBuf]) -> (Vec<Input>, Vec<BadPath>) {
    let (mut files, mut bad) = (Vec::new(), Vec::new());
    for path in paths {
        let name = || shown(&path.to_string_lossy());
        match fs::metadata(path) {
            _ if is_stdin(path) => files.push(Input::named(path)),
            Err(error) => bad.push(BadPath { path: name(), reason: error.to_string() }),
            Ok(metadata) if metadata.is_dir() => {
                let before = files.len();
                search(path, &mut files, &mut bad);
                if files.len() == before {
                    let reason = "the folder has no `.fence` and no `.litmus` file".to_owned();
                    bad.push(BadPath { path: name(), reason });
                }
            }
            Ok(_) => files.push(Input::named(path)),
        }
    }
    let mut seen = SortedSet::new();
    files.retain(|file| seen.insert(file.path.clone()));
    (files, bad)
}

fn search(folder: &Path, files: &mut Vec<Input>, bad: &mut Vec<BadPath>) {
    let unreadable =
        |error: io::Error| BadPath { path: shown(&folder.to_string_lossy()), reason: error.to_string() };
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) => return bad.push(unreadable(error)),
    };
    let mut paths = Vec::new();
    for entry in entries {
        match entry {
            // `file_type` does not follow links, so a link back up cannot send the search round in circles.
            Ok(entry) => paths.push((entry.path(), entry.file_type().is_ok_and(|kind| kind.is_dir()))),
            Err(error) => bad.push(unreadable(error)),
        }
    }
    paths.sort();
    for (path, is_folder) in paths {
        if is_folder {
            search(&path, files, bad);
        } else if path.extension().is_some_and(|extension| extension == "fence" || extension == "litmus") {
            let path = path.strip_prefix("./").map(Path::to_owned).unwrap_or(path);
            files.push(Input { is_named: false, ..Input::named(&path) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn what_is_shown_cannot_drive_a_terminal() {
        assert_eq!(shown("a\tb\r\nü"), "a\tb\r\nü");
        assert_eq!(shown("\u{1b}[31m\u{7f}\u{9b}\u{202e}"), "␛[31m␡\u{fffd}\u{fffd}");
    }
}
