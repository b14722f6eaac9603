//! `fencepost new`: a kernel file to begin with.

pub mod harness;
mod parameters;
mod tensors;

use super::Status;
use super::arguments::NewOptions;
use super::output::Output;
use super::templates::{self, Template};
use fencepost::library;
use fencepost::parallel::on_large_stack;
use fencepost::paths::shown;
use fencepost_dsl::SourceMap;
use fencepost_dsl::kernel::{LoadOptions, load};
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

/// How kernel files end.
const ENDING: &str = "fence";

/// Writes the file, or lists the templates.
pub fn run(options: &NewOptions, output: &mut Output) -> Status {
    if let Some(module) = &options.from {
        // Beside who calls, as with a name: a module may lie where nothing should be written.
        let own = module.file_stem().map(PathBuf::from).unwrap_or_default();
        let name = options.name.as_ref().unwrap_or(&own);
        return match import(name, module, options.entry.as_deref()) {
            Ok(path) => {
                let path = of_path(&path);
                output.print(&format!(
                    "{path} is written; comments say what to look at\n  next: fencepost check {path}\n  then: state what \
                     should hold at the end, in `final`\n"
                ));
                Status::Fine
            }
            Err(reason) => {
                output.complain(&format!("error: {reason}\n"));
                Status::Rejected
            }
        };
    }
    let Some(name) = options.name.as_deref().filter(|_| !options.list) else {
        output.print(&list());
        return Status::Fine;
    };
    let done = templates::find(&options.template)
        .ok_or_else(|| {
            let name = shown(&options.template);
            format!("there is no template `{name}`\n  fencepost new --list shows them all")
        })
        .and_then(|template| write(name, template).map(|path| (template, path)));
    match done {
        Ok((template, path)) => {
            output.print(&next_steps(template, &path));
            Status::Fine
        }
        Err(reason) => {
            output.complain(&format!("error: {reason}\n"));
            Status::Rejected
        }
    }
}

/// All templates, with what they are.
fn list() -> String {
    let width = templates::ALL.iter().map(|template| template.name.len()).max().unwrap_or_default();
    let mut text = String::from("Templates (fencepost new NAME --template TEMPLATE)\n\n");
    for template in templates::ALL {
        text += &format!("  {:width$}  {}\n", template.name, template.summary());
    }
    text
}

fn next_steps(template: &Template, path: &Path) -> String {
    let path = of_path(path);
    format!(
        "{path} is written, from the template `{}`\n  next: fencepost check {path}\n  then: the head of the file says what to change first\n",
        template.name
    )
}

/// A path as a terminal can show it.
fn of_path(path: &Path) -> String {
    shown(&path.to_string_lossy())
}

/// Writes a new file that imports the kernels of a module; its path, or why there is none.
fn import(name: &Path, module: &Path, entry: Option<&str>) -> Result<PathBuf, String> {
    let path = with_ending(name);
    let text = std::fs::read_to_string(module).map_err(|error| format!("{}: {error}", of_path(module)))?;
    // A path in a kernel file is from its own folder.
    let folder = path.parent().unwrap_or(Path::new(""));
    let named = match module.strip_prefix(folder) {
        Ok(inner) => inner.to_path_buf(),
        Err(_) if folder.as_os_str().is_empty() || module.is_absolute() => module.to_owned(),
        Err(_) => std::path::absolute(module).map_err(|error| format!("{}: {error}", of_path(module)))?,
    };
    let named = named.to_string_lossy();
    let made = harness::of_module(&harness::Source { path: &named, text: &text }, entry)?;
    put(&path, &made)?;
    Ok(path)
}

fn with_ending(name: &Path) -> PathBuf {
    if name.extension().is_some_and(|ending| ending == ENDING) {
        return name.to_owned();
    }
    let mut whole = name.as_os_str().to_owned();
    whole.push(format!(".{ENDING}"));
    PathBuf::from(whole)
}

/// Writes a new file for the kernel `name`, which may have folders before it; its path, or why there is none.
fn write(name: &Path, template: &Template) -> Result<PathBuf, String> {
    let path = with_ending(name);
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let text = template.named(&kernel_name(&stem)?);
    is_accepted(&stem, &text)?;
    put(&path, &text)?;
    Ok(path)
}

/// Writes a file that is not there yet.
fn put(path: &Path, text: &str) -> Result<(), String> {
    let failed = |error: std::io::Error| match error.kind() {
        ErrorKind::AlreadyExists => {
            format!(
                "{} is there already, and stays as it is\n  choose another name, or remove it first",
                of_path(path)
            )
        }
        ErrorKind::NotFound => format!("{}: the folder is not there\n  make it first", of_path(path)),
        _ => format!("{}: {error}", of_path(path)),
    };
    // Not a look and then a write: what somebody else makes in between is not overwritten either.
    let mut file = OpenOptions::new().write(true).create_new(true).open(path).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)
}

/// What the kernel of a file with this stem is called.
fn kernel_name(stem: &str) -> Result<String, String> {
    let mut letters = stem.chars();
    let is_first = letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_');
    if is_first && letters.all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-')) {
        return Ok(stem.replace('-', "_"));
    }
    Err(format!(
        "`{}` cannot be the name of a kernel\n  a name begins with a letter or `_`; then come letters, digits, `_` and `-`, such as in `fencepost new my-ring`",
        shown(stem)
    ))
}

/// Whether the template is a program with this name in it: it may be a word of the language, or taken.
fn is_accepted(stem: &str, text: &str) -> Result<(), String> {
    let path = format!("{stem}.{ENDING}");
    let loaded = on_large_stack(|| {
        let beside =
            |asked: &str| if asked == path { Ok(text.to_owned()) } else { Err("it is not there".to_owned()) };
        let mut read = library::with(beside);
        load(&mut SourceMap::default(), &path, &mut read, &LoadOptions::default())
            .map_err(|errors| errors.first().map_or_else(String::new, |error| error.message.clone()))
    });
    match loaded {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(reason)) | Err(reason) => {
            Err(format!("`{stem}` cannot be the name of this kernel: {reason}\n  choose another name"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{is_accepted, kernel_name};
    use crate::templates;

    #[test]
    fn names_are_those_of_kernels() {
        assert_eq!(kernel_name("my-ring_2").as_deref(), Ok("my_ring_2"));
        for bad in ["", "2x", "a.b", "a b", "-a", "ä"] {
            assert!(kernel_name(bad).is_err(), "{bad}");
        }
        assert!(
            kernel_name("\u{1b}[31m").is_err_and(|reason| !reason.contains('\u{1b}')),
            "it drives a terminal"
        );
    }

    #[test]
    fn words_of_the_language_and_names_that_are_taken_are_refused() {
        let of = |template: &str, name: &str| {
            let template = templates::find(template).expect("it is there");
            is_accepted(name, &template.named(name))
        };
        assert_eq!(of("message", "mine"), Ok(()));
        assert_eq!(of("tma-ring", "mine"), Ok(()), "what it uses is the library's");
        assert!(of("message", "while").is_err_and(|reason| reason.starts_with("`while` cannot be the name")));
        assert!(of("cluster", "meet").is_err_and(|reason| reason.contains("`meet`")));
    }
}
