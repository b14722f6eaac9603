//! A file and everything it uses, as one program.

use super::ast::{File, ItemKind, Name};
use super::parse::parse;
use super::program::Program;
use super::resolve::resolve;
use super::target::Target;
use crate::diagnostic::Diagnostic;
use crate::source::SourceMap;
use crate::span::{FileId, Span};
use std::collections::BTreeSet;

/// Errors shown in one run.
const MAX_DIAGNOSTICS: usize = 20;
/// How deep files may use files.
const MAX_USE_DEPTH: usize = 64;

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
/// `read` gives a file's text, or why it cannot. Paths in `use` are relative to the using file.
pub fn load(
    sources: &mut SourceMap,
    path: &str,
    read: &mut dyn FnMut(&str) -> Result<String, String>,
    options: &LoadOptions,
) -> Result<Program, Vec<Diagnostic>> {
    let mut loader = Loader {
        sources,
        read,
        done: BTreeSet::new(),
        stack: Vec::new(),
        files: Vec::new(),
        diagnostics: Vec::new(),
    };
    let main = loader.load(&normalise(path), None);
    let Loader { files, diagnostics, .. } = loader;
    if !diagnostics.is_empty() {
        return Err(cap(diagnostics));
    }
    let start = Span::new(main.unwrap_or(FileId(0)), 0, 0);
    let target = choose_target(files.last(), options, start).map_err(|error| vec![error])?;
    resolve(&files, &options.defines, target, start).map_err(cap)
}

fn choose_target(main: Option<&File>, options: &LoadOptions, start: Span) -> Result<Target, Diagnostic> {
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

/// In order of place, and not more than a screen of them.
fn cap(mut diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
    diagnostics.sort_by_key(Diagnostic::span);
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
    done: BTreeSet<String>,
    /// Paths of the files being loaded, outermost first.
    stack: Vec<String>,
    /// Used files before the files that use them.
    files: Vec<File>,
    diagnostics: Vec<Diagnostic>,
}

impl Loader<'_> {
    fn load(&mut self, path: &str, used_at: Option<Span>) -> Option<FileId> {
        let text = match (self.read)(path) {
            Ok(text) => text,
            Err(reason) => {
                let file = used_at.unwrap_or_else(|| Span::new(self.sources.add(path, ""), 0, 0));
                let message = format!("`{path}` cannot be read: {reason}");
                self.diagnostics.push(Diagnostic::new(
                    "resolve::unreadable-file",
                    message,
                    file,
                    "needed here",
                ));
                return None;
            }
        };
        let id = self.sources.add(path, text.as_str());
        let (file, errors) = parse(&text, id);
        self.diagnostics.extend(errors);
        self.done.insert(path.to_owned());
        self.stack.push(path.to_owned());
        for item in &file.items {
            if let ItemKind::Use(used) = &item.kind {
                self.follow(path, used);
            }
        }
        self.stack.pop();
        self.files.push(file);
        Some(id)
    }

    fn follow(&mut self, path: &str, used: &Name) {
        let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
        let target = match used.text.strip_prefix('/') {
            Some(_) => normalise(&used.text),
            None if directory.is_empty() && !path.starts_with('/') => normalise(&used.text),
            None => normalise(&format!("{directory}/{}", used.text)),
        };
        let span = used.place.0;
        if let Some(start) = self.stack.iter().position(|open| *open == target) {
            let chain: Vec<String> =
                self.stack[start..].iter().chain([&target]).map(|path| format!("`{path}`")).collect();
            let message = format!("files use one another in a circle: {}", chain.join(" uses "));
            let error = Diagnostic::new("resolve::cyclic-use", message, span, "closes the circle");
            self.diagnostics.push(error.with_help("move what both need into a third file"));
        } else if self.stack.len() >= MAX_USE_DEPTH {
            let message = format!("files use one another more than {MAX_USE_DEPTH} deep");
            self.diagnostics.push(Diagnostic::new("limit::nesting", message, span, "too deep"));
        } else if !self.done.contains(&target) {
            self.load(&target, Some(span));
        }
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
