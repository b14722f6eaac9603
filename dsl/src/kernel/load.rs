//! A file and everything it uses, as one program.

use super::ast::{File, Import, ItemKind, Name};
use super::foreign::{advise, without_foreign};
use super::parse::parse;
use super::program::Program;
use super::resolve::{Modules, resolve};
use super::target::Target;
use super::unclosed;
use crate::diagnostic::Diagnostic;
use crate::ptx::Module;
use crate::sorted::{SortedMap, SortedSet};
use crate::source::{Origin, SourceMap};
use crate::span::{FileId, Span};

/// Errors shown in one run.
const MAX_DIAGNOSTICS: usize = 20;
/// How deep files may use files.
const MAX_USE_DEPTH: usize = 64;
/// Source files of one PTX module that are looked for beside it.
const MAX_SOURCES: usize = 32;
/// Files whose path begins so are asked for again below [`LIBRARY_ROOT`] where they are not beside the using file.
const LIBRARY_FOLDER: &str = "lib/";

/// The folder that `lib/` of the library is in, as readers of files are asked for it and as reports show it.
pub const LIBRARY_ROOT: &str = "<fencepost>/";

/// What the command line says about a kernel file.
#[derive(Clone, Debug, Default)]
pub struct LoadOptions {
    /// `-D NAME=VALUE`: values in place of constants' definitions; an undeclared name is an error.
    pub defines: Vec<(String, u64)>,
    /// An architecture such as `sm_90`, in place of the one the file names.
    pub target: Option<String>,
}

/// Loads the program of the file `path`: its kernels, and the constants and functions of all files it uses.
///
/// `read` gives a file's text, or why it cannot. Paths in `use` are relative to the using file; `lib/…` that is not there is
/// the library's, and asked for as `<fencepost>/lib/…`.
pub fn load(
    sources: &mut SourceMap,
    path: &str,
    read: &mut dyn FnMut(&str) -> Result<String, String>,
    options: &LoadOptions,
) -> Result<Program, Vec<Diagnostic>> {
    let mut loader = Loader {
        sources,
        read,
        done: SortedSet::new(),
        stack: Vec::new(),
        ids: Vec::new(),
        files: Vec::new(),
        modules: SortedMap::new(),
        syntax: Vec::new(),
        diagnostics: Vec::new(),
    };
    let main = loader.load(&normalise(path), None, None);
    let Loader { ids, files, modules, syntax, diagnostics, .. } = loader;
    let start = Span::new(main.unwrap_or(FileId(0)), 0, 0);
    let errors = if !syntax.is_empty() || !diagnostics.is_empty() {
        syntax.into_iter().chain(diagnostics.iter().cloned()).collect()
    } else {
        let target = choose_target(files.last(), options, start).map_err(|error| vec![error])?;
        match resolve(&files, &modules, &options.defines, target, start) {
            Ok(program) => return Ok(program),
            Err(errors) => errors,
        }
    };
    let context = (&files[..], &modules);
    let errors = without_foreign(sources, &ids, context, diagnostics, options, start).unwrap_or(errors);
    Err(told(sources, errors))
}

/// The machine that a file is for, or that is chosen in its place.
pub(super) fn choose_target(
    main: Option<&File>,
    options: &LoadOptions,
    start: Span,
) -> Result<Target, Diagnostic> {
    let header = main.map(|file| Target::from_header(&file.comments)).transpose()?.flatten();
    let mut target = header.unwrap_or_default();
    if let Some(text) = &options.target
        && !target.set(text)
    {
        let message = format!("there is no architecture `{text}`");
        return Err(Diagnostic::new("syntax::target", message, start, "for this file")
            .with_help("for example `sm_90` or `sm_100a`, or `spa_50`"));
    }
    if target.sm < 70 && !target.spa {
        let message = format!("PTX has a memory model from sm_70 on; the target is sm_{}", target.sm);
        return Err(Diagnostic::new("validate::target", message, start, "for this file")
            .with_help("choose `sm_70` or later")
            .with_rule("MM-1"));
    }
    Ok(target)
}

/// In order of place, with advice for words of other languages, and not more than a screen of them.
fn told(sources: &SourceMap, mut diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
    diagnostics.sort_by_key(Diagnostic::span);
    for diagnostic in &mut diagnostics {
        unclosed::show(sources, diagnostic);
    }
    advise(sources, &mut diagnostics);
    if diagnostics.len() > MAX_DIAGNOSTICS {
        let n_hidden = diagnostics.len() - MAX_DIAGNOSTICS;
        let span = diagnostics[MAX_DIAGNOSTICS].span();
        diagnostics.truncate(MAX_DIAGNOSTICS);
        let message = format!("{n_hidden} more errors are not shown");
        diagnostics.push(Diagnostic::new("limit::diagnostics", message, span, "the next one is here"));
    }
    diagnostics
}

struct Loader<'a> {
    sources: &'a mut SourceMap,
    read: &'a mut dyn FnMut(&str) -> Result<String, String>,
    done: SortedSet<String>,
    /// Paths of the files being loaded, outermost first.
    stack: Vec<String>,
    /// Used files before the files that use them.
    ids: Vec<FileId>,
    files: Vec<File>,
    /// PTX modules by where they are imported.
    modules: Modules,
    syntax: Vec<Diagnostic>,
    /// Errors about other things than the texts.
    diagnostics: Vec<Diagnostic>,
}

impl Loader<'_> {
    /// `library` is where the file is looked for if it is not at `path`.
    fn load(&mut self, path: &str, library: Option<&str>, used_at: Option<Span>) -> Option<FileId> {
        let (path, text) = self.text(path, library, used_at)?;
        let id = self.sources.add(path, text.as_str());
        if let Some(error) = another_language(path, &text, id) {
            self.syntax.push(error);
            return None;
        }
        let (file, errors) = parse(&text, id);
        self.syntax.extend(errors);
        self.done.insert(path.to_owned());
        self.stack.push(path.to_owned());
        for item in &file.items {
            match &item.kind {
                ItemKind::Use(used) => self.follow(path, used),
                ItemKind::Import(import) => self.import(path, import),
                _ => {}
            }
        }
        self.stack.pop();
        self.files.push(file);
        self.ids.push(id);
        Some(id)
    }

    /// The text at `path`, or else in the library; `None` if there is none, which is reported, or nothing to load.
    fn text<'a>(
        &mut self,
        path: &'a str,
        library: Option<&'a str>,
        used_at: Option<Span>,
    ) -> Option<(&'a str, String)> {
        let reason = match (self.read)(path) {
            Ok(text) => return Some((path, text)),
            Err(reason) => reason,
        };
        let help = match library.map(|library| (library, (self.read)(library))) {
            Some((library, Ok(text))) => {
                return (!self.is_open_or_done(library, used_at)).then_some((library, text));
            }
            Some((_, Err(help))) => Some(help),
            None => None,
        };
        self.unreadable(path, &reason, help, used_at);
        None
    }

    /// Reads the module of an `import`.
    fn import(&mut self, path: &str, import: &Import) {
        let (target, span) = (beside(path, &import.path.text), import.path.place.0);
        let text = match (self.read)(&target) {
            Ok(text) => text,
            Err(reason) => {
                let help =
                    "compilers write it: `nvcc -ptx -lineinfo k.cu`, and Triton leaves it in its cache";
                return self.unreadable(&target, &reason, Some(help.to_owned()), Some(span));
            }
        };
        // A module that is imported more than once is one text.
        let known = self.sources.ids().find(|&id| self.sources.file(id).name == target);
        let id = known.unwrap_or_else(|| self.sources.add(target.clone(), text.as_str()));
        match crate::ptx::parse(&text, id) {
            Ok(module) => {
                if known.is_none() {
                    self.set_origins(&target, &module);
                }
                self.modules.insert(span, module);
            }
            Err(error) => self.syntax.push(error),
        }
    }

    /// Says which lines of which source files a module was made of; those beside it are read.
    fn set_origins(&mut self, path: &str, module: &Module) {
        let mut read: Vec<(u32, Option<FileId>)> = Vec::new();
        let mut origins: Vec<(u32, Option<Origin>)> = Vec::new();
        for location in &module.locations {
            for line in &location.chain {
                let is_new = read.len() < MAX_SOURCES && read.iter().all(|(number, _)| *number != line.file);
                if is_new && let Some(name) = module.file_name(line.file) {
                    let near = beside(path, base_name(name));
                    let text = (self.read)(&near).ok();
                    read.push((line.file, text.map(|text| self.sources.add(near, text))));
                }
            }
            let file_of =
                |number: u32| read.iter().find(|(known, _)| *known == number).and_then(|(_, file)| *file);
            // The innermost line of the user's own files; without any at hand, the outermost.
            let lines = || location.chain.iter().filter(|line| line.line > 0);
            let line = lines().find(|line| file_of(line.file).is_some()).or_else(|| lines().next_back());
            let origin = line.and_then(|line| {
                let name = base_name(module.file_name(line.file)?).to_owned();
                let span = file_of(line.file).and_then(|file| self.sources.line_span(file, line.line));
                let own = lines().filter(|line| file_of(line.file).is_some()).count();
                Some(Origin { name, line: line.line, span, is_called: own > 1 })
            });
            // A place of no line belongs to the one before it.
            if origin.is_some() || origins.is_empty() {
                origins.push((location.offset, origin));
            }
        }
        // What a function says holds to its end.
        origins.extend(module.functions.iter().map(|function| (function.end.end, None)));
        origins.sort_by_key(|(start, _)| *start);
        self.sources.set_origins(module.file, origins);
    }

    fn follow(&mut self, path: &str, used: &Name) {
        let target = beside(path, &used.text);
        let span = used.place.0;
        if self.is_open_or_done(&target, Some(span)) {
            return;
        }
        if self.stack.len() >= MAX_USE_DEPTH {
            let message = format!("files use one another more than {MAX_USE_DEPTH} deep");
            self.diagnostics.push(Diagnostic::new("limit::nesting", message, span, "too deep"));
            return;
        }
        let library =
            used.text.starts_with(LIBRARY_FOLDER).then(|| normalise(&format!("{LIBRARY_ROOT}{}", used.text)));
        self.load(&target, library.as_deref(), Some(span));
    }

    /// Whether a file needs no loading: it is loaded, or using it again would close a circle, which is reported.
    fn is_open_or_done(&mut self, target: &str, used_at: Option<Span>) -> bool {
        let start = self.stack.iter().position(|open| open == target);
        if let (Some(start), Some(span)) = (start, used_at) {
            let open = self.stack[start..].iter().map(String::as_str);
            let chain: Vec<String> = open.chain([target]).map(|path| format!("`{path}`")).collect();
            let message = format!("files use one another in a circle: {}", chain.join(" uses "));
            let error = Diagnostic::new("resolve::cyclic-use", message, span, "closes the circle");
            self.diagnostics.push(error.with_help("move what both need into a third file"));
        }
        self.done.contains(target)
    }

    fn unreadable(&mut self, path: &str, reason: &str, help: Option<String>, used_at: Option<Span>) {
        let place = used_at.unwrap_or_else(|| Span::new(self.sources.add(path, ""), 0, 0));
        let message = format!("`{path}` cannot be read: {reason}");
        let error = Diagnostic::new("resolve::unreadable-file", message, place, "needed here");
        self.diagnostics.push(match help {
            Some(help) => error.with_help(help),
            None => error,
        });
    }
}

/// What is said of a whole file of another language, rather than of each word in it.
fn another_language(path: &str, text: &str, id: FileId) -> Option<Diagnostic> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let (stem, ending) = name.rsplit_once('.').unwrap_or((name, ""));
    let code = |line: &&str| {
        let line = line.trim();
        !line.is_empty() && !line.starts_with("//")
    };
    let first = text.lines().find(code).map_or("", str::trim);
    let is_module = first.starts_with(".version") && (text.contains(".entry ") || text.contains(".func "));
    let is_ptx = ending == "ptx" || is_module;
    let (language, help) = match ending {
        _ if is_ptx => (
            "PTX, which is checked through a file that says how it is launched",
            format!("`fencepost new --from {path}` writes that file, and checks it if nothing is missing"),
        ),
        "cu" | "cuh" | "cpp" | "cc" | "cxx" | "hpp" => (
            "C++; what is checked is the PTX that it becomes, or a skeleton of its synchronization",
            format!(
                "`nvcc -ptx -lineinfo {path}`, and then `fencepost new --from {stem}.ptx`; or write the skeleton, from \
                 `fencepost new`"
            ),
        ),
        "py" => (
            "Python; what is checked is the PTX that it becomes, or a skeleton of its synchronization",
            "Triton leaves the PTX in its cache: `fencepost new --from KERNEL.ptx`; or write the skeleton, from \
             `fencepost new`"
                .to_owned(),
        ),
        _ => return None,
    };
    let start = text.find(first).unwrap_or(0);
    let message = format!("`{name}` is {language}");
    let span = Span::new(id, start, start + first.len());
    Some(Diagnostic::new("syntax::foreign", message, span, "not a kernel file").with_help(help))
}

/// A path without its folders.
fn base_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// A path that a file names, which is relative to that file.
pub fn beside(path: &str, named: &str) -> String {
    let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
    match named.strip_prefix('/') {
        Some(_) => normalise(named),
        None if directory.is_empty() && !path.starts_with('/') => normalise(named),
        None => normalise(&format!("{directory}/{named}")),
    }
}

/// A path without `.` and without `..` that follows a name.
fn normalise(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "." | "" => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    let root = if path.starts_with('/') { "/" } else { "" };
    format!("{root}{}", parts.join("/"))
}
