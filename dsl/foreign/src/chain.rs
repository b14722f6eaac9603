//! Names of C++ and Python as they stand in a text: qualified, instantiated, called, one member behind the other.

use crate::operands;
use crate::origin::Origin;
use crate::sheet;
use crate::token::{Placed, Token};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// The longest chain of names that is looked at.
const MAX_PARTS: usize = 8;
/// The longest list of template arguments that is looked at, in tokens.
const MAX_TEMPLATE: usize = 48;
/// How much of a call's arguments is looked at, in bytes.
const MAX_ARGUMENTS: usize = 200;

/// One name of a chain.
#[derive(Debug)]
struct Part<'t> {
    name: &'t str,
    /// Whether it stands behind a `.` or `->`.
    is_member: bool,
    template: Option<&'t str>,
    arguments: Option<&'t str>,
}

/// Names that belong together, such as `cuda::atomic_ref<int>(x).load()`.
pub struct Chain<'t> {
    parts: Vec<Part<'t>>,
    /// The tokens that it takes.
    pub n_tokens: usize,
    /// All of it.
    pub text: &'t str,
}

/// What a chain is here.
pub struct Answer {
    pub origin: Origin,
    /// What to write.
    pub help: &'static str,
    /// Whether the last of its names says so.
    pub is_last: bool,
}

/// A text in tokens, with the other half of each bracket.
pub struct Tokens<'a, 't> {
    pub text: &'t str,
    pub all: &'a [Placed<'t>],
    partners: Vec<usize>,
}

impl<'a, 't> Tokens<'a, 't> {
    pub fn new(text: &'t str, all: &'a [Placed<'t>]) -> Self {
        let mut partners: Vec<usize> = vec![0; all.len()];
        let mut open = Vec::new();
        for (i, &(_, token, _)) in all.iter().enumerate() {
            match token {
                Token::Sign("(" | "[" | "{") => open.push((i, token)),
                Token::Sign(")" | "]" | "}") => {
                    let is_other = |of: Token<'_>| {
                        matches!(
                            (of, token),
                            (Token::Sign("("), Token::Sign(")"))
                                | (Token::Sign("["), Token::Sign("]"))
                                | (Token::Sign("{"), Token::Sign("}"))
                        )
                    };
                    if open.last().is_some_and(|&(_, of)| is_other(of)) {
                        let (start, _) = open.pop().unwrap_or((0, Token::Bad));
                        partners[start] = i;
                        partners[i] = start;
                    }
                }
                _ => {}
            }
        }
        Self { text, all, partners }
    }

    pub fn token(&self, i: usize) -> Option<Token<'t>> {
        self.all.get(i).map(|&(_, token, _)| token)
    }

    /// The characters of a token.
    pub fn spelling(&self, i: usize) -> &'t str {
        self.all.get(i).map_or("", |&(start, _, end)| &self.text[start..end])
    }

    /// The text of the tokens `from..to`.
    pub fn between(&self, from: usize, to: usize) -> &'t str {
        match (self.all.get(from), to.checked_sub(1).and_then(|last| self.all.get(last))) {
            (Some(&(start, ..)), Some(&(.., end))) if start <= end => &self.text[start..end],
            _ => "",
        }
    }

    /// The other half of the bracket at `i`, where it has one further on.
    pub fn partner(&self, i: usize) -> Option<usize> {
        self.partners.get(i).copied().filter(|&other| other > i)
    }

    /// Whether a line ends between the token before `i` and that at `i`.
    pub fn begins_line(&self, i: usize) -> bool {
        match (i.checked_sub(1).and_then(|before| self.all.get(before)), self.all.get(i)) {
            (Some(&(.., end)), Some(&(start, ..))) => self.text[end..start].contains('\n'),
            _ => true,
        }
    }

    fn is_adjacent(&self, i: usize) -> bool {
        match (i.checked_sub(1).and_then(|before| self.all.get(before)), self.all.get(i)) {
            (Some(&(.., end)), Some(&(start, ..))) => end == start,
            _ => false,
        }
    }

    /// The chain that begins at token `i`.
    pub fn chain(&self, i: usize) -> Option<Chain<'t>> {
        let mut parts: Vec<Part<'t>> = Vec::new();
        let (mut at, mut is_member) = (i, false);
        let mut end = i;
        while parts.len() < MAX_PARTS {
            let tilde = usize::from(self.token(at) == Some(Token::Sign("~")) && is_member);
            let word = match self.token(at + tilde)? {
                Token::Name(word) => word,
                Token::Opcode(word) if tilde == 0 => word,
                // A `register`, `shared` or `launch` of theirs is a word of the language here.
                _ if !parts.is_empty() && is_name(self.spelling(at)) => self.spelling(at),
                _ if parts.is_empty() => return None,
                _ => break,
            };
            let names = word.split('.').flat_map(|part| part.split("::"));
            for (number, name) in names.enumerate() {
                let (is_member, template, arguments) = (is_member || number > 0, None, None);
                parts.push(Part { name, is_member, template, arguments });
            }
            if tilde == 1
                && let Some(last) = parts.last_mut()
            {
                last.name = self.between(at, at + 2);
            }
            at += 1 + tilde;
            let last = parts.last_mut()?;
            if let Some(close) = self.template(at) {
                last.template = Some(self.between(at, close + 1));
                at = close + 1;
            }
            // In braces are arguments only of what is then used: `r{x}.load()`.
            if let Some(close) = self.partner(at) {
                let is_call = match self.token(at) {
                    Some(Token::Sign("(")) => true,
                    Some(Token::Sign("{")) => last.template.is_some() && self.spelling(close + 1) == ".",
                    _ => false,
                };
                if is_call {
                    last.arguments = Some(self.between(at + 1, close));
                    at = close + 1;
                }
            }
            end = at;
            while self.token(at) == Some(Token::Sign("["))
                && let Some(close) = self.partner(at)
            {
                at = close + 1;
            }
            (at, is_member) = match self.token(at) {
                Some(Token::Sign(":")) if self.token(at + 1) == Some(Token::Sign(":")) => (at + 2, false),
                Some(Token::Bad) if self.spelling(at) == "." => (at + 1, true),
                Some(Token::Sign("->")) => (at + 1, true),
                _ => break,
            };
        }
        let n_tokens = end - i;
        (n_tokens > 0).then(|| Chain { parts, n_tokens, text: self.between(i, end) })
    }

    /// The end of the template arguments that begin at `i`, if there are any: something must be made of what is instantiated.
    fn template(&self, i: usize) -> Option<usize> {
        if self.token(i)? != Token::Sign("<") {
            return None;
        }
        let mut depth = 0_usize;
        for at in i..i + MAX_TEMPLATE {
            match self.token(at)? {
                Token::Sign("<") => depth += 1,
                Token::Sign(">") => depth -= 1,
                Token::Sign(">>") if depth >= 2 => depth -= 2,
                Token::Name(_) | Token::Opcode(_) | Token::Number(_) | Token::Sign(":" | ",") => {}
                Token::Sign("*" | "&" | "(" | ")") | Token::Bad => {}
                _ => return None,
            }
            if depth == 0 {
                let goes_on = matches!(
                    self.token(at + 1),
                    Some(Token::Sign("(" | "{" | ":") | Token::Name(_) | Token::Sign(";" | "*" | "&"))
                );
                return goes_on.then_some(at);
            }
        }
        None
    }

    /// Whether it is an instruction, whatever its name looks like: one with operands behind it.
    pub fn is_instruction(&self, i: usize, is_mnemonic: impl Fn(&str) -> bool) -> bool {
        let Some(Token::Opcode(word)) = self.token(i) else { return false };
        let first = word.split('.').next().unwrap_or_default();
        if !is_mnemonic(first) && first != "warp" {
            return false;
        }
        if self.token(i + 1) != Some(Token::Sign("(")) || !self.is_adjacent(i + 1) {
            return true;
        }
        // An operand may stand in parentheses, and others behind it.
        let close = self.partner(i + 1);
        word.ends_with(".sync") || close.is_some_and(|close| self.token(close + 1) == Some(Token::Sign(",")))
    }
}

impl Chain<'_> {
    /// What the table says of it.
    pub fn answer(&self) -> Option<Answer> {
        // What stands further behind says more than what qualifies it.
        let mut best: Option<((usize, Rank), Answer)> = None;
        for (from, part) in self.parts.iter().enumerate() {
            for key in KEYS.of(part.name) {
                if !key.fits(&self.parts[from..]) {
                    continue;
                }
                let end = from + key.names.len();
                let is_last = end == self.parts.len();
                let rank = (end, key.rank);
                if best.as_ref().is_none_or(|(other, _)| rank > *other) {
                    best = Some((rank, Answer { origin: key.origin, help: key.help, is_last }));
                }
            }
        }
        best.map(|(_, answer)| answer)
    }

    /// Whether nothing qualifies it and nothing is called.
    pub fn is_bare(&self) -> bool {
        matches!(self.parts.as_slice(), [only] if only.arguments.is_none() && only.template.is_none())
    }

    /// Whether nothing qualifies it.
    pub fn is_single(&self) -> bool {
        self.parts.len() == 1
    }

    /// Whether something is called at its end.
    pub fn is_call(&self) -> bool {
        self.parts.last().is_some_and(|last| last.arguments.is_some())
    }

    /// The answer with the numbers and operands that the call has.
    pub fn exactly(&self, answer: Option<&Answer>) -> Option<(Origin, String)> {
        let last = self.parts.last()?;
        if self.parts.len() == 1
            && let Some(help) = operands::atomic_of_cuda(self.text)
        {
            return Some((Origin::Cuda, help));
        }
        if let Some(help) = operands::named_barrier(self.text) {
            return Some((Origin::Cutlass, help));
        }
        let answer = answer?;
        let help = operands::groups_left(answer.help, last.template, last.arguments)
            .or_else(|| operands::counted(answer.help, last.arguments))?;
        Some((answer.origin, help))
    }

    /// Its first name.
    pub fn root(&self) -> &str {
        self.parts.first().map_or("", |part| part.name)
    }

    /// As a headline calls it: without arguments where it is long.
    pub fn title(&self) -> String {
        const LONG: usize = 44;
        let whole = self.text.split_whitespace().collect::<Vec<_>>().join(" ");
        if whole.chars().count() <= LONG {
            return whole;
        }
        let mut text = String::new();
        for (number, part) in self.parts.iter().enumerate() {
            text += match (number, part.is_member) {
                (0, _) => "",
                (_, true) => ".",
                (_, false) => "::",
            };
            text += part.name;
            let elided = |of: Option<&str>, empty: &'static str, full: &'static str| match of {
                None => "",
                Some(of) if of.trim().is_empty() => empty,
                Some(_) => full,
            };
            text += elided(part.template, "", "<…>");
            text += elided(part.arguments, "()", "(…)");
        }
        text
    }
}

/// How well a key fits: the more parts, conditions and letters, the better.
type Rank = (usize, usize, usize);

/// A key of the table, taken apart.
struct Key {
    names: Vec<&'static str>,
    is_member: bool,
    condition: &'static str,
    rank: Rank,
    origin: Origin,
    help: &'static str,
}

/// All keys, by their first name; those whose first name ends in `*` apart.
struct Keys {
    exact: BTreeMap<&'static str, Vec<Key>>,
    open: Vec<Key>,
}

static KEYS: LazyLock<Keys> = LazyLock::new(|| {
    let mut keys = Keys { exact: BTreeMap::new(), open: Vec::new() };
    for row in sheet::rows() {
        for name in &row.names {
            let Some(text) = name.key else { continue };
            let key = Key::new(text, name.origin, row.help);
            match key.names.first() {
                Some(first) if !first.ends_with('*') => keys.exact.entry(first).or_default().push(key),
                _ => keys.open.push(key),
            }
        }
    }
    keys
});

impl Keys {
    /// Those whose first name may be this one.
    fn of(&self, name: &str) -> impl Iterator<Item = &Key> {
        self.exact.get(name).into_iter().flatten().chain(&self.open)
    }
}

impl Key {
    fn new(text: &'static str, origin: Origin, help: &'static str) -> Self {
        let (names, condition) = match text.find(['(', '<']) {
            Some(at) => text.split_at(at),
            None => (text, ""),
        };
        let is_member = names.starts_with('.');
        let names = names.trim_start_matches('.').split("::").flat_map(|part| part.split('.'));
        let names: Vec<&str> = names.collect();
        let rank = (names.len(), usize::from(condition.len() > 1), text.trim_end_matches('*').len());
        Self { names, is_member, condition, rank, origin, help }
    }

    /// Whether the chain goes on like this.
    fn fits(&self, own: &[Part<'_>]) -> bool {
        let Some(own) = own.get(..self.names.len()) else { return false };
        let is_named = |(wanted, own): (&&str, &Part<'_>)| match wanted.strip_suffix('*') {
            Some(start) => own.name.starts_with(start),
            None => own.name == *wanted,
        };
        let (Some(first), Some(last)) = (own.first(), own.last()) else { return false };
        (!self.is_member || first.is_member)
            && self.names.iter().zip(own).all(is_named)
            && last.meets(self.condition)
    }
}

impl Part<'_> {
    fn meets(&self, condition: &str) -> bool {
        let is_in = |of: Option<&str>, wanted: &str| {
            let Some(of) = of else { return false };
            let of = of.get(..MAX_ARGUMENTS).unwrap_or(of);
            let mut words =
                of.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
            match wanted.strip_prefix('*') {
                _ if wanted.is_empty() => true,
                Some("") => !of.trim().is_empty(),
                Some(end) => {
                    words.any(|word| word.ends_with(end) && word.starts_with(|c: char| c.is_ascii_digit()))
                }
                None => match wanted.strip_prefix('=') {
                    Some(first) => words.next() == Some(first),
                    None => words.any(|word| word == wanted),
                },
            }
        };
        match condition.split_at_checked(1) {
            Some(("(", wanted)) => is_in(self.arguments, wanted),
            Some((_, wanted)) => is_in(self.template, wanted),
            None => true,
        }
    }
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
