//! What is said of a place in a text: what stands there, where it is declared, and what could come next.

use crate::documents::{Documents, is_of_library, name_of, offset, range, uri_of};
use crate::foreign;
use crate::front::Front;
use crate::names::{Declaration, Index, Kind};
use fencepost::{codes, instructions, library};
use fencepost_dsl::SourceMap;
use fencepost_dsl::kernel::isa::{self, Need};
use fencepost_dsl::kernel::{LIBRARY_ROOT, parse, pretty::pretty};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::Range;

/// Words that a statement or an item may begin with.
const WORDS: &[&str] = &[
    "assert",
    "assume",
    "await",
    "break",
    "const",
    "else",
    "exit",
    "final",
    "fn",
    "for",
    "global",
    "if",
    "import",
    "kernel",
    "launch",
    "let",
    "loop",
    "multimem",
    "param",
    "program",
    "reachable",
    "return",
    "shared",
    "symmetric",
    "tmem",
    "use",
    "var",
    "view",
    "while",
];

/// Words that are no names, beside those.
const OTHER_WORDS: &[&str] =
    &["_", "alias", "as", "constant", "false", "in", "of", "register", "surface", "texture", "true"];

/// A name and where it is declared.
struct Symbol {
    /// The file that declares it.
    home: String,
    name: String,
    /// Its number there.
    number: usize,
    /// Whether other files see it.
    is_shared: bool,
}

/// Places of a name, by the name of their file.
type Places = BTreeMap<String, Vec<Range<usize>>>;

/// What a request is about: an open text, and a byte of it.
pub struct Spot<'d> {
    documents: &'d Documents,
    uri: &'d str,
    text: &'d str,
    at: usize,
}

impl<'d> Spot<'d> {
    /// The place that a request names, if its text is open.
    pub fn of(documents: &'d Documents, parameters: &'d Value) -> Option<Self> {
        let uri = parameters.pointer("/textDocument/uri")?.as_str()?;
        let text = documents.get(uri)?.text.as_str();
        let at = parameters.get("position").map_or(0, |position| offset(text, position));
        Some(Self { documents, uri, text, at })
    }

    /// The word here, with its dots and colons, and where it is.
    fn word(&self) -> (&'d str, Range<usize>) {
        let is_part = |c: char| c.is_ascii_alphanumeric() || "_.:".contains(c);
        let start = self.text[..self.at]
            .rfind(|c| !is_part(c))
            .map_or(0, |at| at + self.text[at..].chars().next().map_or(1, char::len_utf8));
        let end = self.text[self.at..].find(|c| !is_part(c)).map_or(self.text.len(), |n| self.at + n);
        // `label:` and `1..4` are more than one word.
        let word = self.text[start..end].trim_end_matches([':', '.']);
        (word, start..start + word.len())
    }

    /// Whether this is in a comment.
    fn in_comment(&self) -> bool {
        let line = self.text[..self.at].rsplit('\n').next().unwrap_or_default();
        line.contains("//")
    }

    /// What is known of what stands here.
    pub fn hover(&self) -> Option<Value> {
        let (word, bytes) = self.word();
        if word.is_empty() {
            return None;
        }
        let told = |text: String| {
            Some(json!({
                "contents": { "kind": "markdown", "value": text },
                "range": range(self.text, &bytes),
            }))
        };
        if let Some(code) = codes::find(word) {
            return told(format!("```text\n{}\n```", codes::page(code).trim_end()));
        }
        let is_name = Index::new(self.text).at(self.at).is_some_and(|word| word.declaration.is_some());
        if !is_name
            && !self.in_comment()
            && let Some(page) = instructions::page(word)
        {
            let spellings = Front::of(self.documents, self.uri).spellings;
            let full = spellings.get(&(bytes.start, bytes.end));
            let full = full.map(|full| format!("Here it is `{full}`.\n\n")).unwrap_or_default();
            return told(format!("{full}```text\n{}\n```", page.trim_end()));
        }
        let symbol = self.symbol()?;
        let text = self.documents.read(&symbol.home).ok()?;
        let index = Index::new(&text);
        told(declaration_text(&text, index.declarations.get(symbol.number)?, &symbol.home))
    }

    /// The name here, and its declaration in this file or one that it uses.
    fn symbol(&self) -> Option<Symbol> {
        let index = Index::new(self.text);
        let word = index.at(self.at)?;
        let name = self.text.get(word.bytes.clone())?.to_owned();
        if let Some(number) = word.declaration {
            let is_shared = index.declarations[number].scope.start == 0;
            return Some(Symbol { home: name_of(self.uri), name, number, is_shared });
        }
        used_files(self.documents, &name_of(self.uri), &index).into_iter().find_map(|(home, index)| {
            let number =
                index.declarations.iter().position(|own| own.name == name && own.scope.start == 0)?;
            Some(Symbol { home, name: name.clone(), number, is_shared: true })
        })
    }

    /// Where it is declared; for a path, the file.
    pub fn definition(&self) -> Option<Value> {
        let line_start = self.text[..self.at].rfind('\n').map_or(0, |at| at + 1);
        let line = self.text[line_start..].lines().next().unwrap_or_default();
        if line.trim_start().starts_with("use ")
            && let Some(path) = line.split('"').nth(1)
        {
            let home = resolved(self.documents, &name_of(self.uri), path)?;
            return location(self.documents, &home, &(0..0));
        }
        let symbol = self.symbol()?;
        let text = self.documents.read(&symbol.home).ok()?;
        let bytes = Index::new(&text).declarations.get(symbol.number)?.bytes.clone();
        location(self.documents, &symbol.home, &bytes)
    }

    /// Each place of the name here, by the name of its file: in its own file, and in open ones that use that.
    fn places(&self) -> Option<(Symbol, Places)> {
        let symbol = self.symbol()?;
        let mut files = BTreeMap::new();
        let text = self.documents.read(&symbol.home).ok()?;
        let own: Vec<_> = Index::new(&text).places(symbol.number).map(|word| word.bytes.clone()).collect();
        files.insert(symbol.home.clone(), own);
        let others =
            self.documents.uris().map(name_of).filter(|name| symbol.is_shared && *name != symbol.home);
        for name in others.collect::<Vec<_>>() {
            let Ok(text) = self.documents.read(&name) else { continue };
            let index = Index::new(&text);
            if used_files(self.documents, &name, &index).iter().any(|(used, _)| *used == symbol.home) {
                let is_it = |bytes: &Range<usize>| text.get(bytes.clone()) == Some(symbol.name.as_str());
                let free = index.uses.iter().filter(|word| word.declaration.is_none());
                files.insert(name, free.map(|word| word.bytes.clone()).filter(is_it).collect());
            }
        }
        Some((symbol, files))
    }

    /// Each place of the name here.
    pub fn references(&self) -> Option<Value> {
        let (_, files) = self.places()?;
        let all = files.iter().flat_map(|(name, places)| places.iter().map(move |bytes| (name, bytes)));
        Some(all.filter_map(|(name, bytes)| location(self.documents, name, bytes)).collect())
    }

    /// What would be renamed here.
    pub fn renamed(&self) -> Option<Value> {
        let symbol = self.symbol().filter(|symbol| !is_of_library(&symbol.home))?;
        let bytes = Index::new(self.text).at(self.at)?.bytes.clone();
        Some(json!({ "range": range(self.text, &bytes), "placeholder": symbol.name }))
    }

    /// The edits that give it another name, or why there are none.
    pub fn rename(&self, name: &str) -> Result<Value, String> {
        let is_word = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !is_word || WORDS.contains(&name) || OTHER_WORDS.contains(&name) {
            return Err(format!(
                "`{name}` cannot be a name: it is no word of letters, digits and `_`, or one of the language"
            ));
        }
        let (symbol, files) = self.places().ok_or("there is no name here that is declared")?;
        if is_of_library(&symbol.home) {
            return Err(format!("`{}` is declared in the library, which stays as it is", symbol.name));
        }
        let mut changes = BTreeMap::new();
        for (file, places) in files {
            let text = self.documents.read(&file)?;
            if Index::new(&text).declarations.iter().any(|own| own.name == name) {
                return Err(format!("`{name}` is declared in `{file}` already"));
            }
            let edits = places.iter().map(|bytes| json!({ "range": range(&text, bytes), "newText": name }));
            changes.insert(self.documents.uri_of(&file), edits.collect::<Vec<_>>());
        }
        Ok(json!({ "changes": changes }))
    }

    /// What could come next.
    pub fn completion(&self) -> Value {
        let line = self.text[..self.at].rsplit('\n').next().unwrap_or_default();
        if line.trim_start().starts_with("use ") {
            let paths =
                library::names().map(|name| item(&format!("lib/{name}.fence"), 17, "a file of the library"));
            return paths.collect();
        }
        if line.trim_start().starts_with("//!") {
            return codes::all().map(|code| item(code.name, 20, code.summary)).collect();
        }
        if self.in_comment() {
            return json!([]);
        }
        let is_part = |c: char| c.is_ascii_alphanumeric() || "_.:".contains(c);
        let start = line
            .rfind(|c| !is_part(c))
            .map_or(0, |at| at + line[at..].chars().next().map_or(1, char::len_utf8));
        let word = &line[start..];
        let mut items = match word.rfind('.') {
            Some(dot) => modifiers(&word[..dot]).iter().map(|(word, what)| item(word, 12, what)).collect(),
            None => self.names(),
        };
        items.extend(foreign::offered(word, &range(self.text, &(self.at - word.len()..self.at))));
        items.into()
    }

    fn names(&self) -> Vec<Value> {
        let index = Index::new(self.text);
        let mut items: BTreeMap<String, Value> = BTreeMap::new();
        let mut add = |name: &str, kind: u8, what: &str| {
            items.entry(name.to_owned()).or_insert_with(|| item(name, kind, what));
        };
        for own in index.visible(self.at) {
            add(&own.name, symbol_kind(own.kind).1, kind_words(own.kind));
        }
        for (file, used) in used_files(self.documents, &name_of(self.uri), &index) {
            for own in used.declarations.iter().filter(|own| own.scope.start == 0 && own.kind != Kind::Kernel)
            {
                add(
                    &own.name,
                    symbol_kind(own.kind).1,
                    &format!("of {}", file.trim_start_matches(LIBRARY_ROOT)),
                );
            }
        }
        for word in WORDS {
            add(word, 14, "");
        }
        for register in
            ["tid", "ctaid", "ntid", "nctaid", "laneid", "warpid", "clusterid", "cluster_ctarank", "gpuid"]
        {
            add(register, 6, "a special register");
        }
        for form in isa::families().flat_map(|family| family.forms) {
            add(form.name, 3, form.operands);
        }
        items.into_values().collect()
    }

    /// The edit that lays the text out, if it parses and is not laid out yet.
    pub fn format(&self) -> Value {
        let mut sources = SourceMap::default();
        let id = sources.add(name_of(self.uri), self.text);
        let (tree, errors) = parse(self.text, id);
        let laid_out = if errors.is_empty() { pretty(&tree) } else { None };
        match laid_out {
            None => Value::Null,
            Some(laid_out) if laid_out == self.text => json!([]),
            Some(laid_out) => {
                json!([{ "range": range(self.text, &(0..self.text.len())), "newText": laid_out }])
            }
        }
    }

    /// What instructions mean beyond what is written.
    pub fn hints(&self, asked: &Value) -> Value {
        let part =
            |key: &str, other: usize| asked.get(key).map_or(other, |position| offset(self.text, position));
        let (from, to) = (part("start", 0), part("end", self.text.len()));
        let spellings = Front::of(self.documents, self.uri).spellings;
        let shown = spellings.iter().filter(|((start, end), _)| from <= *start && *end <= to);
        let hint = |((start, end), full): (&(usize, usize), &String)| {
            let written: BTreeSet<&str> = self.text[*start..*end].split('.').collect();
            let missing: Vec<&str> = full.split('.').filter(|word| !written.contains(word)).collect();
            (!missing.is_empty()).then(|| {
                json!({
                    "position": crate::documents::position(self.text, *end),
                    "label": format!(".{}", missing.join(".")),
                    "tooltip": format!("in full: {full}"),
                })
            })
        };
        shown.filter_map(hint).collect()
    }

    /// Kernels, functions and what else the whole file sees.
    pub fn symbols(&self) -> Value {
        let index = Index::new(self.text);
        let shared = index.declarations.iter().filter(|own| own.scope.start == 0);
        let told = shared.map(|own| {
            let place = range(self.text, &own.bytes);
            json!({ "name": own.name, "kind": symbol_kind(own.kind).0, "range": place, "selectionRange": place })
        });
        told.collect()
    }
}

/// The protocol's numbers for what a name stands for: as a symbol, and as a completion.
fn symbol_kind(kind: Kind) -> (u8, u8) {
    match kind {
        Kind::Function => (12, 3),
        Kind::Kernel => (5, 7),
        Kind::Constant => (14, 21),
        Kind::Object | Kind::Value => (13, 6),
    }
}

fn kind_words(kind: Kind) -> &'static str {
    match kind {
        Kind::Function => "a function",
        Kind::Kernel => "a kernel",
        Kind::Constant => "a constant",
        Kind::Object => "memory",
        Kind::Value => "a value",
    }
}

fn item(label: &str, kind: u8, detail: &str) -> Value {
    json!({ "label": label, "kind": kind, "detail": detail })
}

/// The words that can follow what is written of an opcode, with what they are there.
fn modifiers(written: &str) -> Vec<(String, String)> {
    let own: Vec<&str> = written.split('.').collect();
    let mut words = BTreeMap::new();
    for form in isa::families().flat_map(|family| family.forms) {
        let name: Vec<&str> = form.name.split('.').collect();
        let n_common = name.iter().zip(&own).take_while(|(one, other)| one == other).count();
        if n_common < own.len().min(name.len()) {
            continue;
        }
        if n_common < name.len() {
            words.entry(name[n_common].to_owned()).or_insert_with(|| format!("of {}", form.name));
            continue;
        }
        let is_free = |slot: &&isa::Slot| {
            let is_legal = matches!(slot.need, Need::Must(_) | Need::May | Need::Default(_) | Need::Hint);
            is_legal && !slot.words.iter().any(|word| own.contains(word))
        };
        for slot in form.slots.iter().filter(is_free) {
            for word in slot.words.iter().filter(|word| !word.is_empty()) {
                let is_default = matches!(slot.need, Need::Default(default) if default == *word);
                let what = if is_default { " of, and meant where none is written" } else { " of" };
                words
                    .entry((*word).to_owned())
                    .or_insert_with(|| format!("{:?}{what} {}", slot.key, form.name));
            }
        }
    }
    words.into_iter().collect()
}

/// The file that a path in `use` means.
fn resolved(documents: &Documents, user: &str, path: &str) -> Option<String> {
    let folder = user.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut parts: Vec<&str> = Vec::new();
    let joined = if folder.is_empty() { path.to_owned() } else { format!("{folder}/{path}") };
    for part in joined.split('/') {
        match part {
            "." => {}
            ".." if parts.last().is_some_and(|last| !last.is_empty() && *last != "..") => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    let beside = parts.join("/");
    let library = format!("{LIBRARY_ROOT}{path}");
    [beside, library].into_iter().find(|name| documents.read(name).is_ok())
}

/// All files that one uses, with what those use.
fn used_files(documents: &Documents, user: &str, index: &Index) -> Vec<(String, Index)> {
    const MOST: usize = 64;
    let mut open: Vec<(String, Vec<String>)> = vec![(user.to_owned(), index.used.clone())];
    let mut found: Vec<(String, Index)> = Vec::new();
    while let Some((user, paths)) = open.pop() {
        // A file of the library names others of it beside itself.
        for name in paths.iter().filter_map(|path| resolved(documents, &user, path)) {
            if found.len() < MOST
                && found.iter().all(|(known, _)| *known != name)
                && let Ok(text) = documents.read(&name)
            {
                let index = Index::new(&text);
                open.push((name.clone(), index.used.clone()));
                found.push((name, index));
            }
        }
    }
    found
}

/// A place in a file. Files of the library are on no disk: a copy is, for the editor to show.
fn location(documents: &Documents, name: &str, bytes: &Range<usize>) -> Option<Value> {
    let text = documents.read(name).ok()?;
    let uri = if is_of_library(name) {
        let folder = std::env::temp_dir().join(concat!("fencepost-", env!("CARGO_PKG_VERSION"))).join("lib");
        let path = folder.join(name.rsplit('/').next()?);
        if fs::read_to_string(&path).ok().as_deref() != Some(text.as_str()) {
            fs::create_dir_all(&folder).and_then(|()| fs::write(&path, &text)).ok()?;
        }
        uri_of(&path.to_string_lossy())
    } else {
        documents.uri_of(name)
    };
    Some(json!({ "uri": uri, "range": range(&text, bytes) }))
}

/// The line of a declaration with the comment above it.
fn declaration_text(text: &str, own: &Declaration, file: &str) -> String {
    let start = text[..own.bytes.start].rfind('\n').map_or(0, |at| at + 1);
    let line = text[start..].lines().next().unwrap_or_default().trim();
    let above = text[..start].lines().rev().take_while(|line| line.trim_start().starts_with("///"));
    let mut comment: Vec<&str> = above.map(|line| line.trim_start().trim_start_matches('/').trim()).collect();
    comment.reverse();
    let of = if is_of_library(file) {
        format!("\n\nof `{}`", file.trim_start_matches(LIBRARY_ROOT))
    } else {
        String::new()
    };
    format!("```fence\n{}\n```\n{}{of}", line.trim_end_matches('{').trim_end(), comment.join("\n"))
        .trim_end()
        .to_owned()
}
