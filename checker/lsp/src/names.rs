//! Where the names of a text are declared and used: an index over its words, so that it is there while the text is broken.
//!
//! A declaration holds to the end of the braces that it stands in; a parameter, and what a `for` counts, holds in the braces
//! behind. This is how the language looks names up, which has no name declared twice where it can be seen.

use std::collections::BTreeMap;
use std::ops::Range;

/// What a name stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// `fn`
    Function,
    /// `kernel`, `program`
    Kernel,
    /// `const`
    Constant,
    /// Memory.
    Object,
    /// A value or a parameter.
    Value,
}

/// A word of a text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Use {
    /// Where.
    pub bytes: Range<usize>,
    /// The number of its declaration, if this text has one.
    pub declaration: Option<usize>,
}

/// A declaration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Declaration {
    /// The name.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// Where the name is.
    pub bytes: Range<usize>,
    /// Where it can be used; to the end for what stands outside of kernels.
    pub scope: Range<usize>,
}

/// All names of a text.
#[derive(Clone, Debug, Default)]
pub struct Index {
    /// In order of the text.
    pub declarations: Vec<Declaration>,
    /// In order of the text, declarations among them.
    pub uses: Vec<Use>,
    /// Paths of `use`.
    pub used: Vec<String>,
}

/// A word, a text in quotes or a sign.
struct Token<'t> {
    text: &'t str,
    start: usize,
}

impl Index {
    /// The names of a text.
    pub fn new(text: &str) -> Self {
        let tokens = tokens(text);
        let mut index = Self::default();
        // Open braces, each with the declarations that end with it.
        let mut open: Vec<Vec<usize>> = vec![Vec::new()];
        let mut pending: Vec<usize> = Vec::new();
        let mut parameters = 0_usize;
        let mut in_pattern = false;
        let mut words: Vec<(usize, Vec<usize>)> = Vec::new();
        let mut scopes: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (at, token) in tokens.iter().enumerate() {
            let before = |n: usize| at.checked_sub(n).map_or("", |at| tokens[at].text);
            let behind = tokens.get(at + 1).map_or("", |token| token.text);
            match token.text {
                // `let {a, b} =`
                "{" if ["let", "var"].contains(&before(1)) => in_pattern = true,
                "}" if in_pattern => in_pattern = false,
                "{" => open.push(std::mem::take(&mut pending)),
                "}" => {
                    for declaration in open.pop().unwrap_or_default() {
                        index.end(declaration, token.start, &mut scopes);
                    }
                    if open.is_empty() {
                        open.push(Vec::new());
                    }
                }
                "(" if parameters > 0 || ["fn", "kernel"].contains(&before(2)) => parameters += 1,
                ")" => parameters = parameters.saturating_sub(1),
                path if path.starts_with('"') && before(1) == "use" => {
                    index.used.push(path.trim_matches('"').to_owned());
                }
                name if is_word(name) => {
                    let own = if in_pattern { Some(Kind::Value) } else { None };
                    let kind = own.or_else(|| kind(before(1), behind, parameters > 0));
                    if let Some(kind) = kind {
                        let number = index.declarations.len();
                        let bytes = token.start..token.start + name.len();
                        let is_file_wide = matches!(kind, Kind::Function | Kind::Kernel)
                            || open.len() == 1 && parameters == 0;
                        let scope = if is_file_wide { 0..text.len() } else { token.start..text.len() };
                        index.declarations.push(Declaration { name: name.to_owned(), kind, bytes, scope });
                        scopes.entry(name).or_default().push(number);
                        if parameters > 0 || before(1) == "for" {
                            pending.push(number);
                        } else if open.len() > 1 {
                            open.last_mut().into_iter().for_each(|block| block.push(number));
                        }
                    }
                    words.push((at, scopes.get(name).cloned().unwrap_or_default()));
                }
                _ => {}
            }
        }
        for (at, seen) in words {
            let token = &tokens[at];
            let innermost = seen.last().copied();
            // Functions and what stands outside of kernels may be used before it is declared.
            let later = || {
                let is_it = |own: &Declaration| own.scope.start == 0 && own.name == token.text;
                index.declarations.iter().position(is_it)
            };
            let declaration = innermost.or_else(later);
            index.uses.push(Use { bytes: token.start..token.start + token.text.len(), declaration });
        }
        index
    }

    fn end(&mut self, number: usize, at: usize, scopes: &mut BTreeMap<&str, Vec<usize>>) {
        let declaration = &mut self.declarations[number];
        declaration.scope.end = at;
        if let Some(seen) = scopes.get_mut(declaration.name.as_str()) {
            seen.retain(|own| *own != number);
        }
    }

    /// The word at a byte.
    pub fn at(&self, byte: usize) -> Option<&Use> {
        self.uses.iter().find(|word| word.bytes.start <= byte && byte <= word.bytes.end)
    }

    /// All places of a declaration, its own among them.
    pub fn places(&self, declaration: usize) -> impl Iterator<Item = &Use> {
        self.uses.iter().filter(move |word| word.declaration == Some(declaration))
    }

    /// What can be named at a byte.
    pub fn visible(&self, byte: usize) -> impl Iterator<Item = &Declaration> {
        self.declarations
            .iter()
            .filter(move |own| own.scope.contains(&byte) && own.bytes.end <= byte || own.scope.start == 0)
    }
}

/// What a word declares that stands so.
fn kind(before: &str, behind: &str, in_parameters: bool) -> Option<Kind> {
    const MEMORY: &[&str] = &[
        "global",
        "shared",
        "symmetric",
        "param",
        "tmem",
        "register",
        "multimem",
        "texture",
        "surface",
        "constant",
        "view",
    ];
    match before {
        "fn" => Some(Kind::Function),
        "kernel" | "program" => Some(Kind::Kernel),
        "const" => Some(Kind::Constant),
        "let" | "var" | "for" => Some(Kind::Value),
        _ if MEMORY.contains(&before) => Some(Kind::Object),
        "(" | "," if in_parameters && [":", "in"].contains(&behind) => Some(Kind::Value),
        _ => None,
    }
}

fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && !text.contains('.') && text != "_"
}

/// The words and signs of a text; an opcode with its dots is one word.
fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let length = if rest.starts_with("//") {
            at += rest.find('\n').unwrap_or(rest.len());
            continue;
        } else if rest.starts_with("/*") {
            at += rest.find("*/").map_or(rest.len(), |end| end + 2);
            continue;
        } else if c == '"' {
            rest[1..].find(['"', '\n']).map_or(rest.len(), |end| end + 2).min(rest.len())
        } else if is_part(c) {
            // What is behind a dot belongs to an opcode, but for the two dots of a range.
            let mut end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
            while !c.is_ascii_digit()
                && (rest[end..].starts_with("::")
                    || rest[end..].starts_with('.') && !rest[end..].starts_with(".."))
            {
                let from = end + if rest[end..].starts_with("::") { 2 } else { 1 };
                end = rest[from..].find(|c| !is_part(c)).map_or(rest.len(), |n| from + n);
            }
            end
        } else {
            c.len_utf8()
        };
        if !c.is_whitespace() {
            tokens.push(Token { text: &rest[..length], start: at });
        }
        at += length;
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::{Index, Kind};

    const TEXT: &str = "use \"lib/lock.fence\";\nconst N = 2;\nfn f(a: &u32, n: u32) { st [a], n; g(n); }\nfn g(n: u32) { }\n\
                        kernel k(M in 0..=N) {\n    global x: u32 = 0;  // x\n    let {p, q} = ld.v2 [x];\n    if M == 0 { let v = p; }\n    \
                        for i in 0..N { let v = i; f(&x, v); }\n}\nkernel other { global x: u32 = 0; st [x], N; }\n";

    fn places(name: &str, nth: usize) -> usize {
        let index = Index::new(TEXT);
        let mut own = index.declarations.iter().enumerate().filter(|(_, own)| own.name == name);
        let (number, _) = own.nth(nth).expect("it is declared");
        index.places(number).count()
    }

    #[test]
    fn each_name_has_its_places() {
        assert_eq!(places("N", 0), 4);
        assert_eq!(places("n", 0), 3);
        assert_eq!(places("n", 1), 1);
        assert_eq!(places("g", 0), 2);
        assert_eq!(places("x", 0), 3);
        assert_eq!(places("x", 1), 2);
        assert_eq!(places("v", 0), 1);
        assert_eq!(places("v", 1), 2);
        assert_eq!(places("p", 0), 2);
        assert_eq!(places("q", 0), 1);
        assert_eq!(places("i", 0), 2);
        assert_eq!(Index::new(TEXT).used, ["lib/lock.fence"]);
    }

    #[test]
    fn what_can_be_named_is_what_is_declared_before() {
        let index = Index::new(TEXT);
        let at = TEXT.find("if M").expect("it is there");
        let names: Vec<&str> = index.visible(at).map(|own| own.name.as_str()).collect();
        for name in ["N", "f", "g", "k", "other", "M", "x", "p", "q"] {
            assert!(names.contains(&name), "{name}: {names:?}");
        }
        assert!(!names.contains(&"v") && !names.contains(&"n"), "{names:?}");
        assert!(index.declarations.iter().any(|own| own.name == "N" && own.kind == Kind::Constant));
    }

    #[test]
    fn no_text_is_too_broken() {
        for end in 0..TEXT.len() {
            if TEXT.is_char_boundary(end) {
                Index::new(&TEXT[..end]);
                Index::new(&TEXT[end..]);
            }
        }
        Index::new("}}} \" /* é \u{1f980} 1..2 a.b:: ..");
    }
}
