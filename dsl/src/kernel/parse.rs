//! Text to syntax tree, and the parser's errors in words.
//!
//! Nesting is limited while the tree is built, so no text can overflow the stack of a later pass.

use super::ast::{
    BinaryOp, Comment, Expr, ExprKind, File, MAX_DEPTH, Memory, Name, Operand, Place, Statement,
    StatementKind,
};
use super::grammar::FileParser;
use super::silent::silent;
use super::token::{Spanned, Token, Tokens, tokenize};
use crate::diagnostic::Diagnostic;
use crate::span::{FileId, Span};
use lalrpop_util::{ErrorRecovery, ParseError};

/// The largest file that is read, in bytes.
const MAX_FILE_BYTES: usize = 4 << 20;
/// Errors after which the parser gives up on a file.
const MAX_SYNTAX_ERRORS: usize = 40;

/// Parses a file. What did not parse is reported and left out of the tree.
pub fn parse(text: &str, file: FileId) -> (File, Vec<Diagnostic>) {
    match split(text, file) {
        Ok((tokens, comments)) => {
            let silent = silent(&tokens, &comments, file);
            let (tree, mut errors) = parse_tokens(tokens, comments, file);
            errors.splice(0..0, silent);
            (tree, errors)
        }
        Err(error) => (File { items: Vec::new(), comments: Vec::new() }, vec![error]),
    }
}

/// A file's tokens and comments, unless it is none to be parsed.
pub fn split(text: &str, file: FileId) -> Result<(Vec<Spanned<'_>>, Vec<Comment>), Diagnostic> {
    if text.len() > MAX_FILE_BYTES {
        return Err(Diagnostic::new(
            "limit::file-size",
            format!("this file has {} bytes; the limit is {MAX_FILE_BYTES}", text.len()),
            Span::new(file, 0, 0),
            "too large",
        ));
    }
    let Tokens { tokens, comments, unclosed } = tokenize(text, file);
    if let Some(start) = unclosed {
        let span = Span::new(file, start, start + 2);
        let message = "this comment is not closed";
        let error = Diagnostic::new("syntax::unterminated-comment", message, span, "opened here");
        return Err(error.with_help("close it with `*/`"));
    }
    check_nesting(&tokens, file).map_or(Ok((tokens, comments)), Err)
}

/// Parses what [`split`] gave.
pub fn parse_tokens(
    tokens: Vec<Spanned<'_>>,
    comments: Vec<Comment>,
    file: FileId,
) -> (File, Vec<Diagnostic>) {
    let mut cx = Context { file, diagnostics: Vec::new(), n_recovered: 0, too_deep: false };
    let words: Vec<_> = tokens.into_iter().map(Ok).collect();
    match FileParser::new().parse(&mut cx, words) {
        Ok(items) => (File { items, comments }, cx.diagnostics),
        Err(error) => {
            if cx.diagnostics.is_empty() {
                cx.diagnostics.extend(describe(&error, file));
            }
            (File { items: Vec::new(), comments }, cx.diagnostics)
        }
    }
}

/// Brackets nest at most [`MAX_DEPTH`] deep.
fn check_nesting(tokens: &[(usize, Token<'_>, usize)], file: FileId) -> Option<Diagnostic> {
    let mut depth = 0_u32;
    for &(start, token, end) in tokens {
        match token {
            Token::ParenOpen | Token::BracketOpen | Token::BraceOpen => depth += 1,
            Token::ParenClose | Token::BracketClose | Token::BraceClose => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_DEPTH {
            return Some(too_deep(Span::new(file, start, end)));
        }
    }
    None
}

fn too_deep(span: Span) -> Diagnostic {
    Diagnostic::new(
        "limit::nesting",
        format!("this nests deeper than {MAX_DEPTH} levels"),
        span,
        "too deep from here on",
    )
    .with_help("split it with `let` or a function")
}

/// The parser gave up after too many errors; all are reported already.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooManyErrors;

/// What the grammar's actions share.
pub struct Context {
    file: FileId,
    diagnostics: Vec<Diagnostic>,
    n_recovered: usize,
    too_deep: bool,
}

impl Context {
    /// The place of the bytes `start..end`.
    pub fn place(&self, start: usize, end: usize) -> Place {
        Place(Span::new(self.file, start, end))
    }
    /// A name at its place.
    pub fn name(&self, start: usize, text: &str, end: usize) -> Name {
        Name { text: text.to_owned(), place: self.place(start, end) }
    }
    /// An expression, unless it nests too deeply.
    pub fn expr(&mut self, start: usize, kind: ExprKind, end: usize) -> Expr {
        let place = self.place(start, end);
        let expr = Expr::new(place, kind);
        if expr.depth <= MAX_DEPTH {
            return expr;
        }
        self.report_depth(place);
        Expr::new(place, ExprKind::Error)
    }
    /// An infix expression.
    pub fn binary(&mut self, start: usize, op: BinaryOp, left: Expr, right: Expr, end: usize) -> Expr {
        self.expr(start, ExprKind::Binary(op, Box::new(left), Box::new(right)), end)
    }
    /// An instruction.
    pub fn instruction(&mut self, start: usize, opcode: Name, operands: Vec<Operand>, end: usize) -> Expr {
        self.expr(start, ExprKind::Instruction { opcode, operands }, end)
    }
    /// A memory operand.
    pub fn memory(&mut self, start: usize, name: Name, indices: Vec<Expr>, end: usize) -> Memory {
        Memory { place: self.place(start, end), name, indices, rank: None, device: None }
    }
    /// A memory operand of a peer CTA or device; `map` is to be `mapa` or `peer`.
    pub fn peer_memory(
        &mut self,
        start: usize,
        map: Name,
        name: Name,
        indices: Vec<Expr>,
        of: Expr,
        end: usize,
    ) -> Memory {
        let of = Some(Box::new(of));
        let (rank, device) = if map.text == "peer" { (None, of) } else { (of, None) };
        if !matches!(map.text.as_str(), "mapa" | "peer") {
            let message = format!("`{}` gives no address", map.text);
            let error = Diagnostic::new("syntax::address", message, map.place.0, "neither `mapa` nor `peer`");
            self.diagnostics.push(error.with_help(format!(
                "an address is `[{0}]`, or `[mapa({0}, rank)]` in the CTA of this rank of the cluster, or \
                 `[peer({0}, gpu)]` on this device",
                name.text
            )));
        }
        Memory { place: self.place(start, end), name, indices, rank, device }
    }
    /// A statement, unless it nests too deeply.
    pub fn statement(&mut self, start: usize, kind: StatementKind, end: usize) -> Statement {
        let place = self.place(start, end);
        let statement = Statement::new(place, kind);
        if statement.depth <= MAX_DEPTH {
            return statement;
        }
        self.report_depth(place);
        Statement::new(place, StatementKind::Error)
    }
    /// `first` before `rest`.
    pub fn prepend(&self, first: Operand, rest: Vec<Operand>) -> Vec<Operand> {
        let mut operands = vec![first];
        operands.extend(rest);
        operands
    }
    /// Reports a syntax error behind which the parser goes on.
    pub fn recover<'t>(
        &mut self,
        recovery: ErrorRecovery<usize, Token<'t>, TooManyErrors>,
    ) -> Result<(), ParseError<usize, Token<'t>, TooManyErrors>> {
        self.diagnostics.extend(describe(&recovery.error, self.file));
        self.count_recovery()
    }
    /// As [`recover`](Self::recover), between items: behind another error this is most likely its echo, so it is
    /// reported only if it comes first.
    pub fn recover_item<'t>(
        &mut self,
        recovery: ErrorRecovery<usize, Token<'t>, TooManyErrors>,
    ) -> Result<(), ParseError<usize, Token<'t>, TooManyErrors>> {
        if self.diagnostics.is_empty() {
            self.diagnostics.extend(describe(&recovery.error, self.file));
        }
        self.count_recovery()
    }
    fn count_recovery<'t>(&mut self) -> Result<(), ParseError<usize, Token<'t>, TooManyErrors>> {
        self.n_recovered += 1;
        if self.n_recovered >= MAX_SYNTAX_ERRORS {
            return Err(ParseError::User { error: TooManyErrors });
        }
        Ok(())
    }
    fn report_depth(&mut self, place: Place) {
        if !self.too_deep {
            self.too_deep = true;
            self.diagnostics.push(too_deep(place.0));
        }
    }
}

/// A syntax error in words.
fn describe(error: &ParseError<usize, Token<'_>, TooManyErrors>, file: FileId) -> Option<Diagnostic> {
    match error {
        ParseError::User { .. } => None,
        ParseError::InvalidToken { location } => Some(Diagnostic::new(
            "syntax::unexpected-token",
            "this is not a token of the kernel language",
            Span::new(file, *location, location + 1),
            "not a token",
        )),
        ParseError::ExtraToken { token: (start, token, end) } => Some(Diagnostic::new(
            "syntax::unexpected-token",
            format!("expected the end of the file, found {}", describe_token(*token)),
            Span::new(file, *start, *end),
            "unexpected",
        )),
        ParseError::UnrecognizedEof { location, expected } => Some(Diagnostic::new(
            "syntax::unexpected-end",
            format!("expected {}, found the end of the file", describe_expected(expected)),
            Span::new(file, *location, *location),
            "the file ends here",
        )),
        ParseError::UnrecognizedToken { token: (start, token, end), expected } => {
            let span = Span::new(file, *start, *end);
            let help = repair(*token, expected);
            let expected = describe_expected(expected);
            let mut error = if *token == Token::Bad {
                Diagnostic::new(
                    "syntax::bad-token",
                    format!("these characters are not part of the kernel language; expected {expected}"),
                    span,
                    "not a token",
                )
            } else {
                let message = format!("expected {expected}, found {}", describe_token(*token));
                Diagnostic::new("syntax::unexpected-token", message, span, format!("expected {expected}"))
            };
            error.help = help.map(str::to_owned);
            Some(error)
        }
    }
}

/// What to do about a slip that many make.
fn repair(found: Token<'_>, expected: &[String]) -> Option<&'static str> {
    let has = |word: &str| expected.iter().any(|other| other.trim_matches('"') == word);
    match found {
        Token::Assign if has("==") => Some("compare with `==`"),
        Token::Less | Token::LessEqual | Token::Greater | Token::GreaterEqual if has("==") => {
            Some("join two comparisons with `&&`")
        }
        Token::Identifier(_) | Token::Number(_) if has("+=") => Some(
            "a statement is `x = …;`, `f(…);` or an instruction with its memory operand in brackets: `st [x], 1;`",
        ),
        _ if has(";") && !matches!(found, Token::Semicolon) => Some("a statement ends with `;`"),
        _ => None,
    }
}

fn describe_token(token: Token<'_>) -> String {
    match token {
        Token::Bad => "an unknown character".to_owned(),
        Token::Comment => "a comment".to_owned(),
        Token::Foreign => "a word of another language".to_owned(),
        Token::Identifier(text) => format!("the name `{text}`"),
        Token::Opcode(text) => format!("the instruction `{text}`"),
        Token::Number(text) => format!("the number `{text}`"),
        Token::Text(text) => format!("the text {text}"),
        _ => TOKEN_SPELLINGS
            .iter()
            .find(|(candidate, _)| *candidate == token)
            .map_or_else(|| "a keyword".to_owned(), |(_, spelling)| format!("`{spelling}`")),
    }
}

/// What could stand here, in at most six alternatives: operators, values and statements are named as groups.
fn describe_expected(expected: &[String]) -> String {
    let words: Vec<&str> = expected.iter().map(|word| word.trim_matches('"')).collect();
    let has = |word: &str| words.contains(&word);
    let mut names: Vec<String> = Vec::new();
    let mut covered: Vec<&str> = vec!["bad", "comment", "foreign"];
    if has("let") && has("while") {
        names.push("a statement".to_owned());
        covered.extend([
            "launch",
            "global",
            "shared",
            "param",
            "register",
            "tmem",
            "symmetric",
            "multimem",
            "texture",
            "surface",
            "constant",
            "client",
            "view",
            "final",
            "let",
            "var",
            "if",
            "for",
            "while",
            "loop",
            "break",
            "await",
            "assert",
            "assume",
            "reachable",
            "exit",
            "return",
            "identifier",
            "opcode",
        ]);
    } else if has("number") && has("identifier") {
        names.push("a value".to_owned());
        covered.extend(["number", "identifier", "opcode", "true", "false", "(", "!", "~", "-"]);
    } else if has("const") && has("kernel") {
        names.push("`const`, `fn`, `global`, `kernel`, `program` or `use`".to_owned());
        covered.extend([
            "const", "fn", "kernel", "program", "use", "import", "global", "shared", "param", "register",
        ]);
        covered.extend(["tmem", "texture", "surface", "constant", "symmetric", "multimem", "view"]);
    }
    if has("*") && has("+") {
        covered.extend([
            "*", "/", "%", "+", "-", "<<", ">>", "<", "<=", ">", ">=", "==", "!=", "&", "^", "|", "&&", "||",
            "?", "as", "(", "[",
        ]);
    }
    if has("+=") {
        names.push("an assignment".to_owned());
        covered.extend(["=", "+=", "-=", "*=", "&=", "|=", "^=", "<<=", ">>="]);
    }
    for word in &words {
        if !covered.contains(word) {
            names.push(match *word {
                "identifier" => "a name".to_owned(),
                "opcode" => "an instruction".to_owned(),
                "number" => "a number".to_owned(),
                "text" => "a path in quotes".to_owned(),
                word => format!("`{word}`"),
            });
        }
    }
    if has("*") && has("+") {
        names.push("an operator".to_owned());
    }
    let more = names.len() > 6;
    names.truncate(6);
    match names.as_slice() {
        [] => "something else".to_owned(),
        [one] => one.clone(),
        [all @ .., _] if more => format!("{} or another token", all.join(", ")),
        [all @ .., last] => format!("{} or {last}", all.join(", ")),
    }
}

const TOKEN_SPELLINGS: &[(Token<'static>, &str)] = &[
    (Token::Underscore, "_"),
    (Token::Const, "const"),
    (Token::Fn, "fn"),
    (Token::Kernel, "kernel"),
    (Token::Program, "program"),
    (Token::Use, "use"),
    (Token::Import, "import"),
    (Token::Launch, "launch"),
    (Token::Client, "client"),
    (Token::Global, "global"),
    (Token::Shared, "shared"),
    (Token::Param, "param"),
    (Token::Register, "register"),
    (Token::TensorMemory, "tmem"),
    (Token::Symmetric, "symmetric"),
    (Token::Multimem, "multimem"),
    (Token::Texture, "texture"),
    (Token::Surface, "surface"),
    (Token::Constant, "constant"),
    (Token::View, "view"),
    (Token::Alias, "alias"),
    (Token::Of, "of"),
    (Token::Final, "final"),
    (Token::Let, "let"),
    (Token::Var, "var"),
    (Token::If, "if"),
    (Token::Else, "else"),
    (Token::For, "for"),
    (Token::In, "in"),
    (Token::While, "while"),
    (Token::Loop, "loop"),
    (Token::Break, "break"),
    (Token::Await, "await"),
    (Token::Assert, "assert"),
    (Token::Assume, "assume"),
    (Token::Reachable, "reachable"),
    (Token::Exit, "exit"),
    (Token::Return, "return"),
    (Token::As, "as"),
    (Token::True, "true"),
    (Token::False, "false"),
    (Token::ParenOpen, "("),
    (Token::ParenClose, ")"),
    (Token::BracketOpen, "["),
    (Token::BracketClose, "]"),
    (Token::BraceOpen, "{"),
    (Token::BraceClose, "}"),
    (Token::Comma, ","),
    (Token::Semicolon, ";"),
    (Token::Colon, ":"),
    (Token::Arrow, "->"),
    (Token::DotDot, ".."),
    (Token::DotDotEqual, "..="),
    (Token::Question, "?"),
    (Token::Assign, "="),
    (Token::AddAssign, "+="),
    (Token::SubtractAssign, "-="),
    (Token::MultiplyAssign, "*="),
    (Token::AndAssign, "&="),
    (Token::OrAssign, "|="),
    (Token::XorAssign, "^="),
    (Token::ShiftLeftAssign, "<<="),
    (Token::ShiftRightAssign, ">>="),
    (Token::OrOr, "||"),
    (Token::AndAnd, "&&"),
    (Token::Or, "|"),
    (Token::Xor, "^"),
    (Token::And, "&"),
    (Token::Equal, "=="),
    (Token::NotEqual, "!="),
    (Token::Less, "<"),
    (Token::LessEqual, "<="),
    (Token::Greater, ">"),
    (Token::GreaterEqual, ">="),
    (Token::ShiftLeft, "<<"),
    (Token::ShiftRight, ">>"),
    (Token::Plus, "+"),
    (Token::Minus, "-"),
    (Token::Star, "*"),
    (Token::Slash, "/"),
    (Token::Percent, "%"),
    (Token::Not, "!"),
    (Token::Tilde, "~"),
];
