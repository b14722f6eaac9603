//! Tokens to [`File`]: recursive descent, with one error per file (after the first, columns can no longer be trusted).

mod condition;

use super::ast::{Column, Declaration, File, Initial, Line, Name, Operand, OperandKind};
use super::token::{Spanned, Token, tokenize};
use crate::diagnostic::Diagnostic;
use crate::span::{FileId, Span};

/// Most columns of a file.
const THREADS_MAX: usize = 4096;

/// Parses a whole file.
///
/// # Errors
/// The first thing that is not as the format wants it.
pub fn parse(text: &str, file: FileId) -> Result<File, Diagnostic> {
    let at = |start, end| Span::new(file, start, end);
    if !text.starts_with("PTX") {
        let end = text.char_indices().nth(3).map_or(text.len(), |(end, _)| end);
        let message = "a PTX litmus file starts with the letters `PTX`";
        return Err(Diagnostic::new("syntax::litmus-header", message, at(0, end), "expected `PTX` here"));
    }
    let Some(brace) = text.find('{') else {
        let message = "a litmus file has an initial state in braces after its name";
        return Err(Diagnostic::new("syntax::litmus-header", message, at(0, 3), "no `{` after this"));
    };
    let title = &text[3..brace];
    let word = title.split_whitespace().next().unwrap_or("litmus");
    let start = 3 + title.find(word).unwrap_or(0);
    let name = Name { text: word.to_owned(), span: at(start, (start + word.len()).min(brace)) };
    let tokens = tokenize(text, brace, file);
    if let Some(opened) = unclosed_comment(text, &tokens) {
        let message = "this comment is not closed";
        return Err(Diagnostic::new("syntax::unterminated-comment", message, opened, "opened here")
            .with_help("close it with `*)`"));
    }
    let mut parser = Parser { tokens, next: 0, end: Span::new(file, text.len(), text.len()), depth: 0 };
    parser.file(name)
}

/// A `(*` that was not read as a comment; nothing else in the format looks like one.
fn unclosed_comment(text: &str, tokens: &[Spanned<'_>]) -> Option<Span> {
    tokens.windows(2).find_map(|pair| {
        let ((bracket, open), (_, star)) = (pair[0], pair[1]);
        let is_opened = bracket == Token::ParenthesisOpen
            && open.end == star.start
            && text.as_bytes().get(star.start as usize) == Some(&b'*');
        is_opened.then(|| Span { end: star.start + 1, ..open })
    })
}

struct Parser<'t> {
    tokens: Vec<Spanned<'t>>,
    next: usize,
    /// Where the text ends.
    end: Span,
    /// Of nested formulas.
    depth: usize,
}

impl<'t> Parser<'t> {
    fn file(&mut self, name: Name) -> Result<File, Diagnostic> {
        let declarations = self.declarations()?;
        let mut columns = self.header()?;
        self.rows(&mut columns)?;
        if self.is_word("locations") {
            while !matches!(self.peek(), None | Some(Token::BracketClose)) {
                self.next += 1;
            }
            self.expect(Token::BracketClose, "`]` after the locations")?;
        }
        let condition = self.condition()?;
        match self.peek() {
            None => Ok(File { name, declarations, columns, condition }),
            Some(_) => Err(self.unexpected("the end of the file")),
        }
    }

    fn peek(&self) -> Option<Token<'t>> {
        self.tokens.get(self.next).map(|&(token, _)| token)
    }

    fn span(&self) -> Span {
        self.tokens.get(self.next).map_or(self.end, |&(_, span)| span)
    }

    /// The place of the token before the next.
    fn last_span(&self) -> Span {
        self.next.checked_sub(1).and_then(|last| self.tokens.get(last)).map_or(self.end, |&(_, span)| span)
    }

    fn is_word(&self, word: &str) -> bool {
        self.peek() == Some(Token::Word(word))
    }

    fn eat(&mut self, token: Token<'_>) -> bool {
        let is_next = self.peek() == Some(token);
        self.next += usize::from(is_next);
        is_next
    }

    fn expect(&mut self, token: Token<'_>, what: &str) -> Result<(), Diagnostic> {
        if self.eat(token) { Ok(()) } else { Err(self.unexpected(what)) }
    }

    fn unexpected(&self, expected: &str) -> Diagnostic {
        let message = match self.peek() {
            None => format!("the file ends where {expected} should be"),
            Some(Token::Bad) => format!("these bytes mean nothing here; expected {expected}"),
            Some(_) => format!("expected {expected}"),
        };
        Diagnostic::new("syntax::litmus", message, self.span(), format!("expected {expected}"))
    }

    fn word(&mut self, what: &str) -> Result<Name, Diagnostic> {
        match self.peek() {
            Some(Token::Word(text)) => {
                let span = self.span();
                self.next += 1;
                Ok(Name { text: text.to_owned(), span })
            }
            _ => Err(self.unexpected(what)),
        }
    }

    fn number(&mut self, what: &str) -> Result<u64, Diagnostic> {
        let Some(Token::Number(text)) = self.peek() else { return Err(self.unexpected(what)) };
        let (is_negative, digits) = match text.strip_prefix('-') {
            Some(digits) => (true, digits),
            None => (false, text),
        };
        let value = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
            Some(digits) => u64::from_str_radix(digits, 16),
            None => digits.parse(),
        };
        let value = value.map_err(|_| {
            let message = format!("`{text}` is no number of 64 bits");
            Diagnostic::new("syntax::litmus-number", message, self.span(), "this number")
        })?;
        self.next += 1;
        Ok(if is_negative { value.wrapping_neg() } else { value })
    }

    fn small(&mut self, what: &str) -> Result<u32, Diagnostic> {
        let span = self.span();
        u32::try_from(self.number(what)?).map_err(|_| {
            Diagnostic::new("syntax::litmus-number", format!("{what} is too large"), span, "this number")
        })
    }

    fn declarations(&mut self) -> Result<Vec<Declaration>, Diagnostic> {
        self.expect(Token::BraceOpen, "`{` and the initial state")?;
        let mut declarations = Vec::new();
        loop {
            match self.peek() {
                Some(Token::BraceClose) => {
                    self.next += 1;
                    return Ok(declarations);
                }
                Some(Token::Semicolon) => self.next += 1,
                _ => {
                    declarations.push(self.declaration()?);
                    if self.peek() != Some(Token::BraceClose) {
                        self.expect(Token::Semicolon, "`;` or `}` after an initial value")?;
                    }
                }
            }
        }
    }

    fn declaration(&mut self) -> Result<Declaration, Diagnostic> {
        if let Some(thread) = self.thread_prefix() {
            let name = self.word("a register such as `r1`")?;
            self.expect(Token::Equal, "`=` and the register's initial value")?;
            return Ok(Declaration::Register { thread, name, value: self.initial()? });
        }
        let is_bracketed = self.eat(Token::BracketOpen);
        let name = self.word("a location, a register such as `P0:r1`, or `}`")?;
        if is_bracketed {
            self.expect(Token::BracketClose, "`]`")?;
        }
        if self.eat(Token::At) {
            let proxy = self.word("a proxy: `generic`, `texture`, `surface` or `constant`")?;
            if !self.is_word("aliases") {
                return Err(self.unexpected("`aliases`"));
            }
            self.next += 1;
            let of = self.word("the location it is another name of")?;
            return Ok(Declaration::Alias { name, proxy, of });
        }
        let value = if self.eat(Token::Equal) { self.initial()? } else { Initial::Number(0) };
        Ok(Declaration::Location { name, value })
    }

    fn initial(&mut self) -> Result<Initial, Diagnostic> {
        if let Some(Token::Number(_)) = self.peek() {
            return Ok(Initial::Number(self.number("a number")?));
        }
        self.eat(Token::Ampersand);
        Ok(Initial::Location(self.word("a number or a location")?))
    }

    /// `P0:` or `0:`, if that comes next.
    fn thread_prefix(&mut self) -> Option<u32> {
        let thread = match self.peek()? {
            Token::Word(word) => word.strip_prefix('P')?.parse().ok()?,
            Token::Number(number) => number.parse().ok()?,
            _ => return None,
        };
        if self.tokens.get(self.next + 1).map(|&(token, _)| token) != Some(Token::Colon) {
            return None;
        }
        self.next += 2;
        Some(thread)
    }

    fn header(&mut self) -> Result<Vec<Column>, Diagnostic> {
        let mut columns = Vec::new();
        loop {
            let name = self.word("a thread such as `P0@cta 0,gpu 0`")?;
            if name.text != format!("P{}", columns.len()) {
                let message = format!("threads are numbered in order: this one is `P{}`", columns.len());
                return Err(Diagnostic::new("syntax::litmus-thread", message, name.span, "not in order"));
            }
            self.expect(Token::At, "`@` and the thread's place, as in `P0@cta 0,gpu 0`")?;
            let mut place = [None, None];
            for (slot, what) in place.iter_mut().zip(["cta", "gpu"]) {
                if what == "gpu" {
                    self.expect(Token::Comma, "`,` and the thread's gpu")?;
                }
                if !self.is_word(what) {
                    return Err(self.unexpected(&format!("`{what}` and its number")));
                }
                self.next += 1;
                *slot = Some(self.small(&format!("the number of the {what}"))?);
            }
            let span = name.span.to(self.last_span());
            let [cta, gpu] = place.map(Option::unwrap_or_default);
            columns.push(Column { span, cta, gpu, lines: Vec::new() });
            if columns.len() > THREADS_MAX {
                let message = format!("a litmus test has at most {THREADS_MAX} threads");
                return Err(Diagnostic::new("limit::launch", message, span, "one thread too many"));
            }
            if self.eat(Token::Semicolon) {
                return Ok(columns);
            }
            self.expect(Token::Bar, "`|` and another thread, or `;`")?;
        }
    }

    fn rows(&mut self, columns: &mut [Column]) -> Result<(), Diagnostic> {
        while !self.is_past_rows() {
            let start = self.span();
            let mut column = 0;
            loop {
                let line = self.cell()?;
                match (columns.get_mut(column), line) {
                    (Some(column), Some(line)) => column.lines.push(line),
                    (Some(_), None) => {}
                    (None, _) => return Err(ragged(start.to(self.last_span()), columns.len())),
                }
                column += 1;
                if self.eat(Token::Semicolon) {
                    break;
                }
                self.expect(Token::Bar, "`|` and the next thread's instruction, or `;`")?;
            }
            if column != columns.len() {
                return Err(ragged(start.to(self.last_span()), columns.len()));
            }
        }
        Ok(())
    }

    fn is_past_rows(&self) -> bool {
        match self.peek() {
            None | Some(Token::Not) => true,
            Some(Token::Word(word)) => {
                matches!(word, "exists" | "forall" | "not" | "filter" | "locations")
            }
            Some(_) => false,
        }
    }

    /// One instruction or label, or nothing.
    fn cell(&mut self) -> Result<Option<Line>, Diagnostic> {
        if matches!(self.peek(), Some(Token::Bar | Token::Semicolon)) {
            return Ok(None);
        }
        let opcode = self.word("an instruction, `|` or `;`")?;
        if self.eat(Token::Colon) {
            return Ok(Some(Line::Label(opcode)));
        }
        let mut operands = Vec::new();
        while !matches!(self.peek(), None | Some(Token::Bar | Token::Semicolon)) {
            if !operands.is_empty() {
                self.expect(Token::Comma, "`,` and another operand, `|` or `;`")?;
            }
            operands.push(self.operand()?);
        }
        let span = opcode.span.to(self.last_span());
        Ok(Some(Line::Instruction { opcode, operands, span }))
    }

    fn operand(&mut self) -> Result<Operand, Diagnostic> {
        let start = self.span();
        if let Some(Token::Number(_)) = self.peek() {
            let kind = OperandKind::Number(self.number("a number")?);
            return Ok(Operand { kind, span: start });
        }
        let is_bracketed = self.eat(Token::BracketOpen);
        let name = self.word("a register, a location or a number")?;
        if is_bracketed {
            self.expect(Token::BracketClose, "`]`")?;
        }
        Ok(Operand { kind: OperandKind::Name(name.text), span: start.to(self.last_span()) })
    }
}

fn ragged(span: Span, n_columns: usize) -> Diagnostic {
    let message = format!("each row has a column per thread, {n_columns} of them, with `|` in between");
    Diagnostic::new("syntax::litmus-columns", message, span, "this row")
        .with_help("leave the cell of a thread that does nothing in this row empty")
}
