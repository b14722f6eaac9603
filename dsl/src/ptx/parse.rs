//! Tokens to a module: the whole grammar, none of the opcodes.

mod declare;
mod number;
mod operand;
mod scope;

use super::module::{Function, Instruction, Item, Line, Location, Module, Name};
use super::token::{Kind, Token, split};
use crate::diagnostic::Diagnostic;
use crate::span::{FileId, Span};
use scope::Scopes;

/// Largest file, so that nothing below runs long.
const BYTES_MAX: usize = 64 << 20;

/// Deepest nesting of scopes and operands.
const DEPTH_MAX: usize = 64;
/// Places before one that may be copies of it, and lines up to the instruction of one.
const COPIES_MAX: usize = 256;
/// See [`COPIES_MAX`].
const LINES_MAX: usize = 24;

/// The last version of the ISA that is known here.
const VERSION_MAX: (u16, u16) = (9, 5);

/// Directives at the outermost level that say nothing of memory, up to their semicolon.
const SKIPPED: &[&str] = &["pragma", "alias", "language"];

/// Reads a module.
///
/// # Errors
/// At the first thing that is no PTX.
pub fn parse(text: &str, file: FileId) -> Result<Module, Diagnostic> {
    if text.len() > BYTES_MAX {
        let message = format!("a PTX file has at most {BYTES_MAX} bytes");
        return Err(Diagnostic::new("limit::file-size", message, Span::new(file, 0, 0), "this file"));
    }
    let tokens = split(text, file)?;
    let mut parser =
        Parser { text, file, tokens, at: 0, locations: Vec::new(), first_location: 0, files: Vec::new() };
    let mut module = parser.module()?;
    super::inline::calls(&mut module);
    Ok(module)
}

struct Parser<'t> {
    text: &'t str,
    file: FileId,
    tokens: Vec<Token>,
    at: usize,
    locations: Vec<Location>,
    /// The first one of the function that is read.
    first_location: usize,
    files: Vec<(u32, String)>,
}

/// The opcode of the first instruction in a text, and the bases of the addresses that it names; a `.loc` comes before it.
fn instruction_behind(text: &str) -> (&str, Vec<&str>) {
    let is_instruction = |line: &&str| !line.is_empty() && !line.starts_with(['.', '/', '{', '}', '$']);
    let line = text.lines().skip(1).take(LINES_MAX).map(str::trim).find(is_instruction).unwrap_or("");
    let addresses = line.split('[').skip(1).filter_map(|rest| rest.split([']', '+', '-']).next());
    (line.split_whitespace().next().unwrap_or(""), addresses.collect())
}

/// Whether another block begins in a text.
fn has_label(text: &str) -> bool {
    text.lines().any(|line| line.trim_end().ends_with(':') && !line.trim_start().starts_with('/'))
}

/// A value, or the first error.
type Parsed<T> = Result<T, Diagnostic>;

impl<'t> Parser<'t> {
    fn peek(&self) -> Option<Token> {
        self.tokens.get(self.at).copied()
    }

    fn text_of(&self, token: Token) -> &'t str {
        &self.text[token.start as usize..token.end as usize]
    }

    fn span_of(&self, token: Token) -> Span {
        Span { file: self.file, start: token.start, end: token.end }
    }

    /// The place of the next token, or the end of the text.
    fn here(&self) -> Span {
        match self.peek() {
            Some(token) => self.span_of(token),
            None => Span::new(self.file, self.text.len(), self.text.len()),
        }
    }

    /// From a place to the token before the next one.
    fn since(&self, start: Span) -> Span {
        match self.at.checked_sub(1).map(|last| self.tokens[last]) {
            Some(last) => start.to(self.span_of(last)),
            None => start,
        }
    }

    fn is(&self, punctuation: u8) -> bool {
        self.peek().is_some_and(|token| token.kind == Kind::Punctuation(punctuation))
    }

    fn eat(&mut self, punctuation: u8) -> bool {
        let is = self.is(punctuation);
        self.at += usize::from(is);
        is
    }

    fn is_directive(&self, name: &str) -> bool {
        self.directive().is_some_and(|directive| directive == name)
    }

    /// The next token without its dot, if it is a directive.
    fn directive(&self) -> Option<&'t str> {
        let token = self.peek().filter(|token| token.kind == Kind::Directive)?;
        Some(&self.text_of(token)[1..])
    }

    fn eat_directive(&mut self, name: &str) -> bool {
        let is = self.is_directive(name);
        self.at += usize::from(is);
        is
    }

    /// The error for what is next.
    fn unexpected(&self, expected: &str) -> Diagnostic {
        let message = match self.peek() {
            Some(token) => format!("expected {expected}, found `{}`", self.text_of(token)),
            None => format!("expected {expected}, found the end of the file"),
        };
        let label = if self.peek().is_some() { "not this" } else { "the file ends here" };
        let error = Diagnostic::new("syntax::ptx", message, self.here(), label);
        match self.peek() {
            None => error.with_help("is the file whole? a module ends behind the last function's `}`"),
            Some(_) => error,
        }
    }

    fn expect(&mut self, punctuation: u8) -> Parsed<Span> {
        let span = self.here();
        if self.eat(punctuation) {
            return Ok(span);
        }
        Err(self.unexpected(&format!("`{}`", char::from(punctuation))))
    }

    /// A word that is a name: opcodes have dots, names have none.
    fn name(&mut self, what: &str) -> Parsed<Name> {
        match self.peek() {
            Some(token) if token.kind == Kind::Word => {
                self.at += 1;
                Ok(Name { text: self.text_of(token).to_owned(), span: self.span_of(token) })
            }
            _ => Err(self.unexpected(what)),
        }
    }

    /// Skips to the first token of another line.
    fn skip_line(&mut self) {
        while self.peek().is_some_and(|token| !token.is_first) {
            self.at += 1;
        }
    }

    /// Skips to behind a semicolon outside of braces.
    fn skip_statement(&mut self) -> Parsed<()> {
        let mut depth = 0_usize;
        while let Some(token) = self.peek() {
            self.at += 1;
            match token.kind {
                Kind::Punctuation(b'{') => depth += 1,
                Kind::Punctuation(b'}') => depth = depth.saturating_sub(1),
                Kind::Punctuation(b';') if depth == 0 => return Ok(()),
                _ => {}
            }
        }
        Err(self.unexpected("`;`"))
    }

    fn module(&mut self) -> Parsed<Module> {
        let start = self.here();
        if !self.eat_directive("version") {
            let message = "a PTX module starts with `.version`";
            let error = Diagnostic::new("syntax::ptx", message, start, "another beginning");
            return Err(error.with_help(
                "name a text that a compiler made, for instance with `nvcc -ptx -lineinfo`; a cubin, and SASS, are \
                 something else",
            ));
        }
        let version = self.version()?;
        let mut module = Module {
            file: self.file,
            version,
            target: Vec::new(),
            files: Vec::new(),
            variables: Vec::new(),
            functions: Vec::new(),
            locations: Vec::new(),
        };
        while self.peek().is_some() {
            self.top(&mut module)?;
        }
        module.files = std::mem::take(&mut self.files);
        module.locations = std::mem::take(&mut self.locations);
        Ok(module)
    }

    fn version(&mut self) -> Parsed<(u16, u16)> {
        let span = self.here();
        let text = self.peek().map_or("", |token| self.text_of(token));
        let version =
            text.split_once('.').and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
        let Some(version) = version else { return Err(self.unexpected("a version, such as `9.0`")) };
        self.at += 1;
        if version > VERSION_MAX {
            let (major, minor) = VERSION_MAX;
            let message = format!("PTX ISA {text} is not known here; {major}.{minor} is the last");
            let error = Diagnostic::new("unsupported::ptx-version", message, span, "a later version");
            return Err(
                error.with_help("compile with an earlier version of the toolkit, or update Fencepost")
            );
        }
        Ok(version)
    }

    fn top(&mut self, module: &mut Module) -> Parsed<()> {
        let Some(directive) = self.directive() else {
            if self.eat(b';') {
                return Ok(());
            }
            // A line of `.branchtargets` and the like at the outermost level has a label of its own.
            return Err(self.unexpected("a directive, such as `.entry` or `.global`"));
        };
        match directive {
            "target" => {
                self.at += 1;
                module.target = self.words()?;
                Ok(())
            }
            "address_size" => self.address_size(),
            "file" | "loc" | "section" => self.debugging(),
            "entry" | "func" => self.function(module),
            "visible" | "extern" | "weak" | "common" => {
                let links = self.at;
                while matches!(self.directive(), Some("visible" | "extern" | "weak" | "common")) {
                    self.at += 1;
                }
                if matches!(self.directive(), Some("entry" | "func")) {
                    return self.function(module);
                }
                self.at = links;
                let mut unscoped = Scopes::new();
                self.variables(&mut module.variables, &mut unscoped)
            }
            _ if SKIPPED.contains(&directive) => self.skip_statement(),
            _ if declare::is_space(directive) => {
                let mut unscoped = Scopes::new();
                self.variables(&mut module.variables, &mut unscoped)
            }
            _ => {
                let message = format!("`.{directive}` is no directive that a module has");
                Err(Diagnostic::new("syntax::ptx", message, self.here(), "unknown here"))
            }
        }
    }

    fn words(&mut self) -> Parsed<Vec<Name>> {
        let mut words = vec![self.name("an architecture, such as `sm_90`")?];
        while self.eat(b',') {
            words.push(self.name("a word")?);
        }
        Ok(words)
    }

    fn address_size(&mut self) -> Parsed<()> {
        self.at += 1;
        let span = self.here();
        match self.peek().map(|token| self.text_of(token)) {
            Some("64") => {
                self.at += 1;
                Ok(())
            }
            Some("32") => {
                let message = "addresses of 32 bits are not checked by this version";
                let error = Diagnostic::new("unsupported::address-size", message, span, "32 bits");
                Err(error.with_help("compile for 64 bits: `nvcc -m64`, which is the default"))
            }
            _ => Err(self.unexpected("`64`")),
        }
    }

    /// `.loc`, `.file` and `.section`, which end with their line or their block.
    fn debugging(&mut self) -> Parsed<()> {
        let start = self.here();
        let directive = self.directive().unwrap_or_default();
        self.at += 1;
        match directive {
            "loc" => {
                let mut chain = vec![self.line()?];
                while self.peek().is_some_and(|token| !token.is_first) && self.eat(b',') {
                    match self.peek().map(|token| self.text_of(token)) {
                        Some("inlined_at") => {
                            self.at += 1;
                            chain.push(self.line()?);
                        }
                        Some("function_name") => {
                            self.at += 2;
                            if self.eat(b'+') {
                                self.at += 1;
                            }
                        }
                        _ => return Err(self.unexpected("`inlined_at`")),
                    }
                }
                self.note_location(start.start, chain);
                self.skip_line();
            }
            "file" => {
                let number = self.small()?;
                match self.peek() {
                    Some(token) if token.kind == Kind::Text => {
                        self.files.push((number, self.text_of(token).trim_matches('"').to_owned()));
                        self.at += 1;
                    }
                    _ => return Err(self.unexpected("a file's name in quotes")),
                }
                self.skip_line();
            }
            // Its name, then a block of data, of which nothing is read.
            _ => {
                while self.peek().is_some() && !self.is(b'{') {
                    self.at += 1;
                }
                self.expect(b'{')?;
                while self.peek().is_some() && !self.is(b'}') {
                    self.at += 1;
                }
                self.expect(b'}')?;
            }
        }
        Ok(())
    }

    fn small(&mut self) -> Parsed<u32> {
        let token = self.peek().filter(|token| token.kind == Kind::Number);
        match token.and_then(|token| self.text_of(token).parse().ok()) {
            Some(number) => {
                self.at += 1;
                Ok(number)
            }
            None => Err(self.unexpected("a number")),
        }
    }

    fn line(&mut self) -> Parsed<Line> {
        Ok(Line { file: self.small()?, line: self.small()?, column: self.small()? })
    }

    /// A place that was inlined says so with the place that it was inlined at, whose `.loc` stands before it in the function: what
    /// that one was inlined at belongs to its chain as well. Where an unrolled loop, or a block behind a branch, has another copy
    /// of it, that is not said again.
    fn note_location(&mut self, offset: u32, mut chain: Vec<Line>) {
        if let [own, outer] = chain[..] {
            let own_function = &self.locations[self.first_location..];
            let around = self.around(own_function, (own, outer), offset);
            chain.extend(around);
        }
        self.locations.push(Location { offset, chain });
    }

    /// What the place is in that a place was inlined at, which the places before them in the function tell.
    fn around(&self, before: &[Location], (own, outer): (Line, Line), offset: u32) -> Vec<Line> {
        let from = before.len().saturating_sub(COPIES_MAX);
        let before = &before[from..];
        let told = before.iter().rposition(|place| place.chain[0] == outer);
        let is_inside = |told: usize| {
            let of_it =
                |place: &Location| place.chain.ends_with(&before[told].chain) && place.chain[0] != own;
            before[told + 1..].iter().all(of_it)
        };
        if let Some(told) = told.filter(|&told| is_inside(told)) {
            return before[told].chain[1..].to_vec();
        }
        // As in the copy before with the same instruction, which mostly names the same address.
        let next = |offset: u32| instruction_behind(&self.text[offset as usize..]);
        let is_copy =
            |place: &&Location| place.chain.starts_with(&[own, outer]) && next(place.offset) == next(offset);
        if let Some(copy) = before.iter().rev().find(is_copy) {
            return copy.chain[2..].to_vec();
        }
        let (Some(told), Some(last)) = (told.map(|told| &before[told]), before.last()) else {
            return Vec::new();
        };
        // In another block, what comes right before it says what it is in, if that is in the same function.
        let has_label = |from: u32, to: u32| has_label(&self.text[from as usize..to as usize]);
        let (line, rest) = (last.chain[0], &last.chain[1..]);
        let at = told.chain.len().checked_sub(rest.len() + 1).filter(|&at| at > 0);
        match at {
            Some(at)
                if told.chain[at].file == line.file
                    && told.chain[at + 1..] == *rest
                    && has_label(told.offset, last.offset)
                    && !has_label(last.offset, offset) =>
            {
                told.chain[1..at].iter().chain(&last.chain).copied().collect()
            }
            _ => told.chain[1..].to_vec(),
        }
    }

    fn function(&mut self, module: &mut Module) -> Parsed<()> {
        self.first_location = self.locations.len();
        let is_entry = self.is_directive("entry");
        self.at += 1;
        let mut scopes = Scopes::new();
        let mut results = Vec::new();
        while matches!(self.directive(), Some("noreturn" | "unique" | "attribute")) {
            self.at += 1;
            if self.is(b'(') {
                self.skip_group()?;
            }
        }
        if !is_entry && self.is(b'(') {
            self.parameters(&mut results, &mut scopes)?;
        }
        let name = self.name("the function's name")?;
        let mut function = Function {
            end: name.span,
            name,
            is_entry,
            has_body: false,
            parameters: Vec::new(),
            directives: Vec::new(),
            registers: Vec::new(),
            results,
            variables: Vec::new(),
            body: Vec::new(),
        };
        if self.is(b'(') {
            self.parameters(&mut function.parameters, &mut scopes)?;
        }
        while let Some(directive) = self.directive() {
            let name = Name { text: directive.to_owned(), span: self.here() };
            self.at += 1;
            let mut numbers = Vec::new();
            while let Some(token) = self.peek().filter(|token| !token.is_first || !numbers.is_empty()) {
                match token.kind {
                    Kind::Number => numbers.push(number::integer(self.text_of(token)).unwrap_or(0)),
                    Kind::Punctuation(b',') | Kind::Text => {}
                    _ => break,
                }
                self.at += 1;
            }
            // `.pragma` has a semicolon; so has the end of a prototype, behind which no body stands.
            if name.text == "pragma" {
                self.expect(b';')?;
            }
            function.directives.push((name, numbers));
        }
        if !self.eat(b';') {
            self.body(&mut function, &mut scopes)?;
        }
        module.functions.push(function);
        Ok(())
    }

    /// What stands in parentheses.
    fn skip_group(&mut self) -> Parsed<()> {
        self.expect(b'(')?;
        while self.peek().is_some() && !self.is(b')') {
            self.at += 1;
        }
        self.expect(b')')?;
        Ok(())
    }

    fn body(&mut self, function: &mut Function, scopes: &mut Scopes) -> Parsed<()> {
        self.expect(b'{')?;
        function.has_body = true;
        loop {
            let span = self.here();
            if self.eat(b'{') {
                if scopes.depth() >= DEPTH_MAX {
                    let message = format!("scopes are nested more than {DEPTH_MAX} deep");
                    return Err(Diagnostic::new("limit::nesting", message, span, "too deep"));
                }
                scopes.open();
            } else if self.eat(b'}') {
                if !scopes.close() {
                    function.end = span;
                    scopes.rename(function);
                    return Ok(());
                }
            } else if self.eat(b';') {
            } else {
                self.statement(function, scopes)?;
            }
        }
    }

    fn statement(&mut self, function: &mut Function, scopes: &mut Scopes) -> Parsed<()> {
        if let Some(directive) = self.directive() {
            return match directive {
                "reg" => self.registers(&mut function.registers, scopes),
                "loc" | "file" | "section" => self.debugging(),
                "pragma" => self.skip_statement(),
                _ if declare::is_space(directive)
                    || matches!(directive, "extern" | "weak" | "common" | "visible") =>
                {
                    let n_before = function.variables.len();
                    self.variables(&mut function.variables, scopes)?;
                    for variable in &mut function.variables[n_before..] {
                        scopes.rename_declared(&mut variable.name);
                    }
                    Ok(())
                }
                _ => {
                    let message = format!("`.{directive}` is no directive that a body has");
                    Err(Diagnostic::new("syntax::ptx", message, self.here(), "unknown here"))
                }
            };
        }
        let start = self.here();
        let guard = if self.eat(b'@') {
            let is_negated = self.eat(b'!');
            Some((self.name("a predicate")?, is_negated))
        } else {
            None
        };
        let name = self.name("an instruction or a label")?;
        if guard.is_none() && self.eat(b':') {
            scopes.declare(&name.text);
            let item = match self.directive() {
                Some(word @ ("branchtargets" | "calltargets" | "callprototype")) => {
                    let directive = Name { text: word.to_owned(), span: self.here() };
                    self.at += 1;
                    let mut names = Vec::new();
                    while self.peek().is_some() && !self.is(b';') {
                        if let Some(token) = self.peek().filter(|token| token.kind == Kind::Word) {
                            names.push(Name {
                                text: self.text_of(token).to_owned(),
                                span: self.span_of(token),
                            });
                        }
                        self.at += 1;
                    }
                    self.expect(b';')?;
                    Item::Targets { label: name, directive, names }
                }
                _ => Item::Label(name),
            };
            function.body.push(item);
            scopes.note();
            return Ok(());
        }
        let operands = self.operands(b';', 0)?;
        let span = self.since(start);
        self.expect(b';')?;
        function.body.push(Item::Instruction(Instruction {
            span,
            guard,
            opcode: name,
            operands,
            calls: Vec::new(),
        }));
        scopes.note();
        Ok(())
    }
}
