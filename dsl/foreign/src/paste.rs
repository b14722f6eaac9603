//! Lines of CUDA, C++ and Python in a text that did not load: found among its tokens, reported, and taken out, so that the
//! rest of the text can be read as if they were right.
//!
//! An expression becomes one token that stands for a known error, a declaration or statement such a statement, the head of a
//! function one of ours.

use crate::chain::{Answer, Chain, Tokens};
use crate::origin::Origin;
use crate::shape::PREPROCESSOR;
use crate::token::{Piece, Placed, PlacedPiece, Token};
use crate::{index, inline};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// What to write for a word that is an mbarrier.
const MBARRIER: &str = "`shared bar: mbarrier;`, and one thread runs `mbarrier.init [bar], 1;`";

/// How many places of one name are shown.
const MAX_PLACES: usize = 4;

/// What the language knows that a text is written in.
#[derive(Clone, Copy)]
pub struct Language<'a> {
    /// Whether instructions begin with a word.
    pub is_mnemonic: fn(&str) -> bool,
    /// The functions of all files that are read together.
    pub functions: &'a BTreeSet<String>,
}

/// A name of another language in a text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Found {
    /// Who calls it so.
    pub origin: Origin,
    /// One sentence: what is wrong.
    pub message: String,
    /// What to write.
    pub help: String,
    /// The bytes of the first, and of a few more of the same name.
    pub places: Vec<Range<usize>>,
}

/// What was found in a file.
#[derive(Default, Debug)]
pub struct Pasted {
    /// One for each name, in order of place.
    pub found: Vec<Found>,
    /// The statements that they stand in; whatever else is wrong there is an echo.
    statements: Vec<Range<usize>>,
    /// Bodies of functions whose parameters are not known.
    bodies: Vec<Range<usize>>,
    /// Names in what was taken out, which may be their declarations.
    names: BTreeSet<String>,
}

/// Another error of the files that were read together.
#[derive(Clone, Copy, Debug)]
pub struct Other<'a> {
    /// `family::kebab-name`.
    pub code: &'a str,
    /// One sentence: what is wrong.
    pub message: &'a str,
    /// The text that it marks.
    pub marked: &'a str,
    /// Where it begins in the file that was looked at; `None` in another.
    pub start: Option<usize>,
}

impl Pasted {
    /// Whether an error is due to what was taken out.
    pub fn explains(&self, error: &Other<'_>) -> bool {
        let starts_in =
            |of: &Range<usize>| error.start.is_some_and(|start| of.start <= start && start <= of.end);
        let is_syntax = error.code.starts_with("syntax::");
        let is_unknown = error.code.strip_prefix("resolve::").is_some_and(|kind| kind.starts_with("unknown"));
        // A program may have launched its kernels in what was taken out.
        let is_about_launches = error.code == "resolve::host-call"
            && error.message.contains("launches no kernel")
            && error.start.is_some();
        let mut words = error.marked.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        self.statements.iter().any(|of| starts_in(of) || is_about_launches)
            || !is_syntax && self.bodies.iter().any(starts_in)
            || is_unknown && words.any(|word| self.names.contains(word))
    }
}

/// The tokens without what is of another language, and what that was.
pub fn take_out<'t>(
    text: &'t str,
    tokens: &[Placed<'t>],
    language: Language<'_>,
) -> (Vec<PlacedPiece<'t>>, Pasted) {
    let tokens = Tokens::new(text, tokens);
    let declared = declared(&tokens);
    let mut search = Search {
        tokens: &tokens,
        language,
        declared,
        out: Vec::new(),
        ends_of_do: BTreeSet::new(),
        depth: 0,
        titles: BTreeMap::new(),
        found: Pasted::default(),
    };
    search.run();
    let Search { out, found, .. } = search;
    (out, found)
}

/// Names that the text declares, which mean what it says.
fn declared<'t>(tokens: &Tokens<'_, 't>) -> BTreeSet<&'t str> {
    let mut names = BTreeSet::new();
    for i in 0..tokens.all.len() {
        let (next, behind) = (tokens.token(i + 1), tokens.token(i + 2));
        match (tokens.token(i), next) {
            (Some(Token::Word("let" | "var")), Some(Token::Sign("{"))) => {
                let end = tokens.partner(i + 1).unwrap_or(i + 1);
                names.extend((i + 2..end).map(|at| tokens.spelling(at)));
            }
            (Some(token), Some(Token::Name(name)))
                if is_declaring(token)
                    && !matches!(behind, Some(Token::Name(_) | Token::Sign(";" | "*"))) =>
            {
                names.insert(name);
            }
            (Some(Token::Name(name)), Some(Token::Word("in"))) => {
                names.insert(name);
            }
            (Some(Token::Name(name)), Some(Token::Sign(":"))) if behind != Some(Token::Sign(":")) => {
                names.insert(name);
            }
            _ => {}
        }
    }
    names
}

fn is_declaring(token: Token<'_>) -> bool {
    matches!(
        token,
        Token::Word(
            "let"
                | "var"
                | "const"
                | "fn"
                | "kernel"
                | "program"
                | "global"
                | "shared"
                | "param"
                | "register"
                | "tmem"
                | "symmetric"
                | "multimem"
                | "texture"
                | "surface"
                | "constant"
                | "view"
                | "for"
        )
    )
}

/// Whether a statement begins with it and nothing else has it inside.
fn begins_statement(token: Token<'_>) -> bool {
    is_declaring(token)
        || matches!(token, Token::Word("if" | "while" | "loop" | "await" | "assert" | "exit" | "launch"))
}

struct Search<'a, 't> {
    tokens: &'a Tokens<'a, 't>,
    language: Language<'a>,
    declared: BTreeSet<&'t str>,
    out: Vec<PlacedPiece<'t>>,
    /// Braces that close the body of a `do`.
    ends_of_do: BTreeSet<usize>,
    depth: usize,
    /// Where the error with a headline is.
    titles: BTreeMap<String, usize>,
    found: Pasted,
}

impl<'t> Search<'_, 't> {
    fn run(&mut self) {
        let mut i = 0;
        while let Some(&(start, token, end)) = self.tokens.all.get(i) {
            let is_start = self.out.last().is_none_or(|(_, last)| match last {
                Piece::Own(last) => matches!(self.tokens.token(*last), Some(Token::Sign(";" | "{" | "}"))),
                last => *last == Piece::Semicolon,
            });
            let next = self.directive(i);
            let next = next.or_else(|| is_start.then(|| self.statement(i)).flatten());
            if let Some(next) = next.or_else(|| if is_start { None } else { self.expression(i) }) {
                i = next.max(i + 1);
                continue;
            }
            self.out.push((start..end, Piece::Own(i)));
            match token {
                Token::Sign("{") => self.depth += 1,
                Token::Sign("}") => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
            i += 1;
            if self.ends_of_do.contains(&(i - 1)) {
                i = self.end_of_do(i);
            }
        }
    }

    fn span(&self, from: usize, to: usize) -> Range<usize> {
        let start = self.tokens.all.get(from).map_or(0, |&(start, ..)| start);
        let end =
            to.checked_sub(1).and_then(|last| self.tokens.all.get(last)).map_or(start, |&(.., end)| end);
        start..end.max(start)
    }

    /// Reports `title` at the tokens `from..to`; where it was reported already, this place is added.
    fn report(&mut self, origin: Origin, title: &str, help: &str, (from, to): (usize, usize)) {
        let message = format!("`{title}` is {origin}, not `.fence`");
        let span = self.span(from, to);
        if let Some(&earlier) = self.titles.get(&message) {
            let places = &mut self.found.found[earlier].places;
            if places.len() < MAX_PLACES {
                places.push(span);
            }
            return;
        }
        self.titles.insert(message.clone(), self.found.found.len());
        let help = if help.starts_with('`') { format!("write {help}") } else { help.to_owned() };
        self.found.found.push(Found { origin, message, help, places: vec![span] });
    }

    /// What a name of the text is here, unless it is the text's own.
    fn look_up(&self, i: usize) -> Option<(Chain<'t>, Answer, Option<String>)> {
        if self.tokens.is_instruction(i, self.language.is_mnemonic) {
            return None;
        }
        let chain = self.tokens.chain(i)?;
        let is_own = chain.is_single()
            && (self.declared.contains(chain.root()) || self.language.functions.contains(chain.root()));
        if is_own {
            return None;
        }
        let answer = chain.answer();
        if let Some((origin, help)) = chain.exactly(answer.as_ref()) {
            return Some((chain, Answer { origin, help: "", is_last: true }, Some(help)));
        }
        // What qualifies an atomic says less than its order.
        if answer.as_ref().is_none_or(|answer| !answer.is_last || answer.origin == Origin::Cpp)
            && let Some((origin, help)) = inline::atomic(&chain)
        {
            return Some((chain, Answer { origin, help: "", is_last: true }, Some(help)));
        }
        answer.map(|answer| (chain, answer, None))
    }

    /// A line for the preprocessor or a decorator.
    fn directive(&mut self, i: usize) -> Option<usize> {
        let text = self.tokens.spelling(i);
        let is_start = matches!(self.tokens.token(i)?, Token::Bad) && self.tokens.begins_line(i);
        if !is_start || !text.starts_with(['#', '@']) {
            return None;
        }
        let end = self.end_of_line(i);
        let line = self.tokens.between(i, end);
        let first = line.get(1..)?.trim_start().split(|c: char| !c.is_ascii_alphanumeric()).next()?;
        let (origin, help) = match (text.as_bytes()[0], first) {
            (b'#', "include") => {
                (Origin::Cpp, "`use \"lib/lock.fence\";`, before the kernel, for functions of another file")
            }
            (b'#', "define") => (Origin::Cpp, "`const N = 4;`, before the kernel"),
            (b'#', "pragma") => (Origin::Cpp, "take it out: loops are unrolled anyway"),
            (b'#', other) if !PREPROCESSOR.contains(&other) => return None,
            (b'#', _) => (
                Origin::Cpp,
                "`const FLAG = 1;` before the kernel, which -D replaces, and `if FLAG == 1 { … }`",
            ),
            (_, "triton" | "gluon" | "cute" | "jit") => {
                (Origin::Python, "`kernel name { launch { ctas: 2 } … }` for what is launched")
            }
            _ => return None,
        };
        let title = format!("{}{first}", &text[..1]);
        self.report(origin, &title, help, (i, end));
        self.take_statement(i, end);
        Some(end)
    }

    /// The first token of the next line.
    fn end_of_line(&self, i: usize) -> usize {
        let continues = |at: usize| self.tokens.spelling(at - 1).ends_with('\\');
        (i + 1..self.tokens.all.len())
            .find(|&at| self.tokens.begins_line(at) && !continues(at))
            .unwrap_or(self.tokens.all.len())
    }

    /// Puts a statement that is known bad in place of the tokens `from..to`.
    fn take_statement(&mut self, from: usize, to: usize) {
        let span = self.span(from, to);
        self.found.statements.push(span.clone());
        for at in from..to {
            if let Some(Token::Name(name)) = self.tokens.token(at) {
                self.found.names.insert(name.to_owned());
            }
        }
        let end = span.end;
        self.out.push((span, Piece::Foreign));
        self.out.push((end..end, Piece::Semicolon));
    }

    fn statement(&mut self, i: usize) -> Option<usize> {
        let next = self.tokens.token(i + 1);
        match self.tokens.token(i)? {
            Token::Word("for") if next == Some(Token::Sign("(")) => self.loop_over_numbers(i),
            Token::Word("while") if next == Some(Token::Sign("(")) => self.spin(i),
            Token::Name("do") if next == Some(Token::Sign("{")) => {
                let help = "`loop { … if !again { break; } }`";
                self.report(Origin::Cpp, "do { … } while (…)", help, (i, i + 1));
                self.found.statements.push(self.span(i, i + 1));
                self.ends_of_do.extend(self.tokens.partner(i + 1));
                self.replace(i, i + 1, Piece::Loop);
                Some(i + 1)
            }
            Token::Name(_) if next == Some(Token::Sign("<<")) => {
                let end = self.end(i, i + 1, false);
                let is_launch = self.tokens.token(i + 2) == Some(Token::Sign("<"));
                is_launch.then(|| {
                    let title = format!("{}<<<…>>>", self.tokens.spelling(i));
                    let help =
                        "`launch k on s;` in a `program`; the shape is in the kernel, `launch { ctas: 2 }`";
                    self.report(Origin::Cuda, &title, help, (i, end));
                    self.take_statement(i, end);
                    end
                })
            }
            Token::Word("let" | "var") => {
                let behind = self.tokens.token(i + 2);
                let is_typed = matches!(next, Some(Token::Name(_))) && matches!(behind, Some(Token::Name(_)));
                let (origin, title, help, from, to) = if is_typed { self.told(i + 1)? } else { return None };
                let end = self.end(i, i + 1, false);
                self.report(origin, &title, &help, (from, to));
                self.take_statement(i, end);
                Some(end)
            }
            Token::Word("const") if matches!(next, Some(Token::Name(_))) => {
                // Of a constant with a type the parser says what it is.
                let end = self.end(i, i + 1, false);
                let told = (i + 1..end).find_map(|at| self.told(at).filter(|told| told.0 != Origin::Cpp));
                told.map(|(origin, title, help, from, to)| {
                    let help = index::declared(self.tokens, i, end).unwrap_or(help);
                    self.report(origin, &title, &help, (from, to));
                    self.take_statement(i, end);
                    end
                })
            }
            Token::Sign("*" | "&" | "(") => {
                let end = self.end(i, i + 1, false);
                let told = (i..end).find_map(|at| self.cast(at).or_else(|| self.told(at)));
                told.map(|(origin, title, help, from, to)| {
                    self.report(origin, &title, &help, (from, to));
                    self.take_statement(i, end);
                    end
                })
            }
            Token::Name(_) | Token::Opcode(_) => self.declaration(i),
            _ => None,
        }
    }

    /// What is said of the chain at `i`, and where it is.
    fn told(&self, i: usize) -> Option<(Origin, String, String, usize, usize)> {
        if i > 0 && matches!(self.tokens.token(i - 1), Some(Token::Name(_) | Token::Opcode(_))) {
            let is_same_line = !self.tokens.begins_line(i);
            let before = self.tokens.spelling(i - 1);
            if is_same_line
                && self.tokens.is_instruction(i - 1, self.language.is_mnemonic)
                && before.contains('.')
            {
                return None;
            }
        }
        let (chain, answer, help) = self.look_up(i)?;
        let help = help.unwrap_or_else(|| answer.help.to_owned());
        Some((answer.origin, chain.title(), help, i, i + chain.n_tokens))
    }

    /// A statement or declaration that begins with a name of theirs.
    fn declaration(&mut self, i: usize) -> Option<usize> {
        let (chain, answer, help) = self.look_up(i)?;
        let behind = i + chain.n_tokens;
        let is_line = answer.origin == Origin::Python;
        // A name alone may be anybody's, if it is neither at the end of its statement nor before what it declares.
        if is_line && chain.is_bare() {
            let end = self.end_of_line(i);
            self.report(answer.origin, chain.root(), answer.help, (i, behind));
            self.take_statement(i, end);
            return Some(end);
        }
        let end = self.end(i, behind, chain.is_call());
        if ["asm", "__asm__"].contains(&chain.root()) {
            let strings = (i..end).filter_map(|at| match self.tokens.token(at) {
                Some(Token::Text(text)) => Some(text),
                _ => None,
            });
            let help = inline::assembly(strings);
            let title = inline::assembly_title(self.tokens.between(i, end));
            self.report(Origin::Cuda, &title, &help, (i, end));
            self.take_statement(i, end);
            return Some(end);
        }
        let is_weak = |origin: Origin, root: &str| {
            origin == Origin::Cpp
                && !["volatile", "reinterpret_cast", "std", "continue", "namespace"].contains(&root)
        };
        // What kind of object it is says more than that it is shared.
        let is_shared = chain.root() == "__shared__";
        let inner = || {
            (behind..end).find_map(|at| {
                let told = self.told(at)?;
                let is_type = matches!(told.0, Origin::Libcu | Origin::Cutlass);
                (if is_shared { is_type } else { !is_weak(told.0, self.tokens.spelling(at)) }).then_some(told)
            })
        };
        let own = || {
            let help = help.clone().unwrap_or_else(|| answer.help.to_owned());
            // A word of 64 bits in shared memory that is called so is what an mbarrier is in CUDA.
            let is_mbarrier = is_shared
                && (i..end).any(|at| ["uint64_t", "b64", "mbarrier"].contains(&self.tokens.spelling(at)))
                && (i..end).any(|at| self.tokens.spelling(at).to_lowercase().contains("bar"));
            let help = if is_mbarrier { MBARRIER.to_owned() } else { help };
            (answer.origin, chain.title(), help, i, behind)
        };
        let is_asked = is_shared || is_weak(answer.origin, chain.root());
        let inner = if is_asked { inner() } else { None };
        let (origin, title, help, from, to) = inner.unwrap_or_else(own);
        let help = index::declared(self.tokens, i, end).unwrap_or(help);
        self.report(origin, &title, &help, (from, to));
        match self.head(i, end) {
            Some(name) if self.depth == 0 => {
                let is_kernel = (i..end).any(|at| self.tokens.spelling(at) == "__global__");
                self.define(name, is_kernel, (i, end));
                Some(end)
            }
            Some(_) => {
                let close = self.tokens.partner(end).map_or(end, |close| close + 1);
                self.take_statement(i, close);
                Some(close)
            }
            None => {
                self.take_statement(i, end);
                Some(end)
            }
        }
    }

    /// Where the statement that begins at `i` ends, of which the tokens up to `from` are known: behind its `;`, before the
    /// brace that opens a body or closes what it stands in, or before a line that begins another one.
    fn end(&self, i: usize, from: usize, is_call: bool) -> usize {
        let mut at = from;
        let mut has_call = false;
        while let Some(token) = self.tokens.token(at) {
            if at > i && self.tokens.begins_line(at) && (begins_statement(token) || is_call && at == from) {
                return at;
            }
            match token {
                Token::Sign(";") => return at + 1,
                Token::Sign("}") => return at,
                Token::Sign("{") if has_call => return at,
                Token::Sign("{") => match self.tokens.partner(at) {
                    Some(close) if self.tokens.begins_line(close + 1) => return close + 1,
                    Some(close) => at = close,
                    None => return at,
                },
                Token::Sign("(" | "[") => {
                    has_call |= token == Token::Sign("(");
                    at = self.tokens.partner(at).unwrap_or(at);
                }
                // Behind `=` braces are values.
                Token::Sign("=") => has_call = false,
                _ => {}
            }
            at += 1;
        }
        at
    }

    /// The name of the function whose head the tokens `i..end` are.
    fn head(&self, i: usize, end: usize) -> Option<usize> {
        if self.tokens.token(end)? != Token::Sign("{") {
            return None;
        }
        let is_name = |at: &usize| {
            let word = self.tokens.spelling(*at);
            matches!(self.tokens.token(*at), Some(Token::Name(_)))
                && self.tokens.token(at + 1) == Some(Token::Sign("("))
                && !["__launch_bounds__", "__cluster_dims__", "__align__"].contains(&word)
        };
        (i..end).find(is_name)
    }

    /// A function of ours in place of the head of one of theirs.
    fn define(&mut self, name: usize, is_kernel: bool, (from, to): (usize, usize)) {
        for at in from..to {
            if let Some(Token::Name(name)) = self.tokens.token(at) {
                self.found.names.insert(name.to_owned());
            }
        }
        self.found.statements.push(self.span(from, to));
        let Range { start, end } = self.span(name, name + 1);
        let keyword = if is_kernel { Piece::Kernel } else { Piece::Function };
        self.out.push((start..start, keyword));
        self.out.push((start..end, Piece::Name(self.tokens.spelling(name))));
        if !is_kernel {
            self.out.push((end..end, Piece::Open));
            self.out.push((end..end, Piece::Close));
        }
        let close = self.tokens.partner(to).unwrap_or(to);
        self.found.bodies.push(self.span(to, close + 1));
    }

    fn replace(&mut self, from: usize, to: usize, piece: Piece<'t>) {
        self.out.push((self.span(from, to), piece));
    }

    /// `for (…; …; …)`
    fn loop_over_numbers(&mut self, i: usize) -> Option<usize> {
        let close = self.tokens.partner(i + 1)?;
        let head = self.tokens.between(i + 2, close);
        let help = if head.split(';').all(|part| part.trim().is_empty()) {
            "`loop { … }`, left by `break`"
        } else if head.contains("blockIdx") && head.contains("gridDim") {
            "`for t in 0..7 { if t % nctaid == ctaid { … } }`"
        } else if head.contains("threadIdx") && head.contains("blockDim") {
            "`for i in 0..4 { if i % ntid == tid { … } }`"
        } else {
            "`for i in 0..4 { … }`"
        };
        let title = if head.len() > 30 { "for (…)".to_owned() } else { format!("for ({head})") };
        self.report(Origin::Cpp, &title, help, (i, close + 1));
        if self.tokens.token(close + 1) == Some(Token::Sign("{")) {
            for at in i + 2..close {
                if let Some(Token::Name(name)) = self.tokens.token(at) {
                    self.found.names.insert(name.to_owned());
                }
            }
            self.found.statements.push(self.span(i, close + 1));
            self.replace(i, i + 1, Piece::Loop);
        } else {
            self.take_statement(i, close + 1);
        }
        Some(close + 1)
    }

    /// `while (x.load() == 0);`, or with one statement in it.
    fn spin(&mut self, i: usize) -> Option<usize> {
        let close = self.tokens.partner(i + 1)?;
        let is_empty = self.tokens.partner(close + 1) == Some(close + 2);
        let end = match self.tokens.token(close + 1)? {
            Token::Sign(";") => close + 2,
            Token::Sign("{") if is_empty => close + 3,
            // Who sleeps between two looks waits, too.
            Token::Sign("{") if self.tokens.spelling(close + 2) == "__nanosleep" => {
                let body = self.tokens.partner(close + 1)?;
                if self.end(close + 2, close + 3, false) != body {
                    return None;
                }
                body + 1
            }
            Token::Sign("{") => return None,
            _ => self.end(i, close + 1, false),
        };
        let (origin, title, help, from, to) = (i + 2..close).find_map(|at| self.told(at))?;
        let is_negated = self.tokens.between(i + 2, from).trim_start().starts_with('!');
        let wait = inline::wait(&help, self.tokens.between(to, close), is_negated);
        self.report(origin, &title, &wait.unwrap_or(help), (from, to));
        self.take_statement(i, end);
        Some(end)
    }

    /// Behind the body of a `do`.
    fn end_of_do(&mut self, i: usize) -> usize {
        if self.tokens.token(i) != Some(Token::Word("while"))
            || self.tokens.token(i + 1) != Some(Token::Sign("("))
        {
            return i;
        }
        let end = self.tokens.partner(i + 1).map_or(i, |close| close + 1);
        if self.tokens.token(end) == Some(Token::Sign(";")) { end + 1 } else { end }
    }

    /// A type in parentheses before a value, what to say of it, and where it is.
    fn cast(&self, i: usize) -> Option<(Origin, String, String, usize, usize)> {
        if self.tokens.token(i)? != Token::Sign("(") {
            return None;
        }
        let close = self.tokens.partner(i)?;
        let words: Vec<&str> = (i + 1..close).map(|at| self.tokens.spelling(at)).collect();
        let is_type = |word: &str| inline::TYPES.contains(&word) || ["const", "volatile"].contains(&word);
        let n_types = words.iter().filter(|word| is_type(word)).count();
        let is_cast = n_types > 0 && words.iter().all(|word| is_type(word) || ["*", "&"].contains(word));
        let is_value =
            |token| matches!(token, Token::Name(_) | Token::Number(_) | Token::Sign("(" | "&" | "-"));
        if !is_cast || !self.tokens.token(close + 1).is_some_and(is_value) {
            return None;
        }
        let operand = self.tokens.partner(close + 1).map_or(close + 2, |end| end + 1);
        let compared = (self.tokens.token(operand), self.tokens.token(operand + 1));
        let of = self.tokens.between(close + 1, operand);
        let inner = of.trim_start_matches('(').trim_end_matches(')');
        let help = match compared {
            _ if words.contains(&"volatile") => {
                "`let v = ld.volatile [x];` `st.volatile [x], 1;`: the access is what is volatile".to_owned()
            }
            (Some(Token::Sign("<")), Some(Token::Number("0"))) => format!("`{inner} >= 0x80000000`"),
            (Some(Token::Sign(">=")), Some(Token::Number("0"))) => format!("`{inner} < 0x80000000`"),
            _ => "`v as u32`: a conversion stands behind, and values have no sign".to_owned(),
        };
        Some((Origin::Cpp, self.tokens.between(i, close + 1).to_owned(), help, i, close + 1))
    }

    /// A name of theirs inside of a statement.
    fn expression(&mut self, i: usize) -> Option<usize> {
        let before = i.checked_sub(1).and_then(|before| self.tokens.token(before));
        if let Some((origin, title, help, from, to)) = self.cast(i)
            && !matches!(before, Some(Token::Name(_) | Token::Sign(")" | "]")))
        {
            self.report(origin, &title, &help, (from, to));
            self.found.statements.push(self.around(from, to));
            if self.tokens.token(to) == Some(Token::Sign("&")) {
                let n = self.tokens.chain(to + 1).map_or(0, |chain| chain.n_tokens);
                self.take_value(from, to + 1 + n);
                return Some(to + 1 + n);
            }
            return Some(to);
        }
        if !matches!(self.tokens.token(i)?, Token::Name(_) | Token::Opcode(_))
            || before.is_some_and(is_declaring)
        {
            return None;
        }
        let (origin, title, help, from, to) = self.told(i)?;
        let is_of_type = matches!(before, Some(Token::Word("as") | Token::Sign(":" | "->")));
        let is_word = to == from + 1 && matches!(origin, Origin::Cpp | Origin::Python);
        if is_word && (is_of_type || before != Some(Token::Sign("="))) {
            return None;
        }
        self.report(origin, &title, &help, (from, to));
        self.found.statements.push(self.around(from, to));
        self.take_value(from, to);
        Some(to)
    }

    /// Puts a value that is known bad in place of the tokens `from..to`, and of a `*` or `&` before them.
    fn take_value(&mut self, from: usize, to: usize) {
        let own = |(_, piece): &PlacedPiece<'t>| match piece {
            Piece::Own(at) => self.tokens.token(*at),
            _ => None,
        };
        let is_prefix = |placed| matches!(own(placed), Some(Token::Sign("*" | "&")));
        let is_value = |placed: &PlacedPiece<'t>| match placed.1 {
            Piece::Foreign | Piece::Name(_) | Piece::Close => true,
            _ => matches!(own(placed), Some(Token::Name(_) | Token::Number(_) | Token::Sign(")" | "]"))),
        };
        if let [.., before, last] = self.out.as_slice()
            && is_prefix(last)
            && !is_value(before)
        {
            self.out.pop();
        }
        self.replace(from, to, Piece::Foreign);
    }

    /// The statement around the tokens `from..to`.
    fn around(&self, from: usize, to: usize) -> Range<usize> {
        let is_end = |token: Token<'_>| matches!(token, Token::Sign(";" | "{" | "}"));
        let start =
            (0..from).rev().find(|&at| self.tokens.token(at).is_some_and(is_end)).map_or(0, |at| at + 1);
        let end = (to..self.tokens.all.len())
            .find(|&at| {
                let token = self.tokens.token(at);
                token.is_some_and(|token| {
                    is_end(token) || self.tokens.begins_line(at) && begins_statement(token)
                })
            })
            .map_or(self.tokens.all.len(), |at| if self.tokens.begins_line(at) { at } else { at + 1 });
        self.span(start, end)
    }
}
