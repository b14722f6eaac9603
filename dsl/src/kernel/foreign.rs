//! What people write who know CUDA or PTX and are new here. The crate `fencepost-foreign` knows what to write instead; here it is
//! handed texts, tokens and errors, and what it says becomes errors.
//!
//! Nothing is accepted because of it. Only files that did not load are looked at, so a kernel may use any of these as a name.

use super::ast::{Comment, File, ItemKind};
use super::isa;
use super::load::{LoadOptions, choose_target};
use super::parse::{parse_tokens, split};
use super::resolve::{Modules, resolve};
use super::silent::silent;
use super::token::{Spanned, Token};
use crate::diagnostic::{Diagnostic, Label};
use crate::sorted::SortedSet;
use crate::source::SourceMap;
use crate::span::{FileId, Span};
use fencepost_foreign::{self as foreign, Language, Other, Piece, Stumble};
use std::collections::BTreeSet;
use std::ops::Range;

/// Says what to write where a line with an error has a word or the shape of another language. What else the parser has
/// stumbled over in such a line goes. They are in order of place.
pub fn advise(sources: &SourceMap, diagnostics: &mut Vec<Diagnostic>) {
    let mut advised = SortedSet::new();
    diagnostics.retain_mut(|diagnostic| {
        if diagnostic.code == "syntax::foreign" {
            return true;
        }
        let span = diagnostic.span();
        let line = (span.file.0, sources.line_column(span).line);
        if advised.contains(&line) && diagnostic.code.starts_with("syntax::") {
            return false;
        }
        let help = foreign::advice(&Stumble {
            text: &sources.file(span.file).text,
            marked: span.start as usize..span.end as usize,
            code: diagnostic.code,
            message: &diagnostic.message,
            has_help: diagnostic.help.is_some(),
        });
        if help.is_some() {
            diagnostic.help = help;
            advised.insert(line);
        }
        true
    });
}

/// A file without what is of another language, and what that was.
struct Taken<'t> {
    id: FileId,
    tokens: Vec<Spanned<'t>>,
    comments: Vec<Comment>,
    pasted: foreign::Pasted,
}

impl Taken<'_> {
    /// Whether an error is due to what was taken out.
    fn explains(&self, error: &Diagnostic, sources: &SourceMap) -> bool {
        let span = error.span();
        self.pasted.explains(&Other {
            code: error.code,
            message: &error.message,
            marked: sources.text(span),
            start: (span.file == self.id).then_some(span.start as usize),
        })
    }
}

/// The errors of files that did not load, with what is of another language taken out, and an error for each such name in its
/// place; `None` if there is no such name. `errors` are those that are not about their text.
pub fn without_foreign(
    sources: &SourceMap,
    ids: &[FileId],
    (files, modules): (&[File], &Modules),
    mut errors: Vec<Diagnostic>,
    options: &LoadOptions,
    start: Span,
) -> Option<Vec<Diagnostic>> {
    let items = files.iter().flat_map(|file| &file.items);
    let functions: BTreeSet<String> = items
        .filter_map(|item| match &item.kind {
            ItemKind::Function(function) => Some(function.name.text.clone()),
            _ => None,
        })
        .collect();
    let mut taken = Vec::new();
    for &id in ids {
        let text = &sources.file(id).text;
        match split(text, id) {
            Ok((tokens, comments)) => {
                errors.extend(silent(&tokens, &comments, id));
                let (tokens, pasted) = take_out(text, &tokens, &functions);
                taken.push(Taken { id, tokens, comments, pasted });
            }
            Err(error) => errors.push(error),
        }
    }
    if taken.iter().all(|file| file.pasted.found.is_empty()) {
        return None;
    }
    let mut left = Vec::new();
    for file in &mut taken {
        let (tokens, comments) = (std::mem::take(&mut file.tokens), std::mem::take(&mut file.comments));
        let (tree, syntax) = parse_tokens(tokens, comments, file.id);
        left.push(tree);
        errors.extend(syntax);
    }
    if errors.is_empty()
        && let Ok(target) = choose_target(left.last(), options, start)
    {
        errors = resolve(&left, modules, &options.defines, target, start).err().unwrap_or_default();
    }
    errors.retain(|error| !taken.iter().any(|file| file.explains(error, sources)));
    let found = taken.into_iter().flat_map(|file| {
        file.pasted.found.into_iter().map(move |found| error(file.id, found)).collect::<Vec<_>>()
    });
    Some(found.chain(errors).collect())
}

/// The error for a name of another language.
fn error(file: FileId, found: foreign::Found) -> Diagnostic {
    let mut places = found.places.into_iter().map(|Range { start, end }| Span::new(file, start, end));
    let first = places.next().unwrap_or_else(|| Span::new(file, 0, 0));
    let error = Diagnostic::new("syntax::foreign", found.message, first, found.origin.to_string());
    let mut error = error.with_help(found.help);
    error.labels.extend(places.map(|span| Label { span, text: "and here".to_owned() }));
    error
}

/// The tokens without what is of another language, and what that was.
fn take_out<'t>(
    text: &'t str,
    tokens: &[Spanned<'t>],
    functions: &BTreeSet<String>,
) -> (Vec<Spanned<'t>>, foreign::Pasted) {
    let theirs: Vec<foreign::Placed<'t>> = tokens.iter().map(|placed| theirs(text, *placed)).collect();
    let language = Language { is_mnemonic: isa::is_mnemonic, functions };
    let (pieces, pasted) = foreign::take_out(text, &theirs, language);
    let ours = |(Range { start, end }, piece): foreign::PlacedPiece<'t>| {
        let token = match piece {
            Piece::Own(number) => return tokens[number],
            Piece::Foreign => Token::Foreign,
            Piece::Semicolon => Token::Semicolon,
            Piece::Kernel => Token::Kernel,
            Piece::Function => Token::Fn,
            Piece::Loop => Token::Loop,
            Piece::Name(name) => Token::Identifier(name),
            Piece::Open => Token::ParenOpen,
            Piece::Close => Token::ParenClose,
        };
        (start, token, end)
    };
    (pieces.into_iter().map(ours).collect(), pasted)
}

/// A token as the crate sees it: what kind of word it is, or how it is spelled.
fn theirs<'t>(text: &'t str, (start, token, end): Spanned<'t>) -> foreign::Placed<'t> {
    let spelling = &text[start..end];
    let token = match token {
        Token::Bad => foreign::Token::Bad,
        Token::Identifier(name) => foreign::Token::Name(name),
        Token::Opcode(opcode) => foreign::Token::Opcode(opcode),
        Token::Number(number) => foreign::Token::Number(number),
        Token::Text(text) => foreign::Token::Text(text),
        _ if spelling.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') => {
            foreign::Token::Word(spelling)
        }
        _ => foreign::Token::Sign(spelling),
    };
    (start, token, end)
}
