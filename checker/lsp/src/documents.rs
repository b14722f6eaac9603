//! Texts that an editor has open, where things are in them, and what they are called.

use fencepost::{library, paths};
use fencepost_dsl::kernel::LIBRARY_ROOT;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

/// A text that is open.
#[derive(Clone, Debug)]
pub struct Document {
    /// As the editor has it.
    pub text: String,
    /// The editor's number for it.
    pub version: i64,
}

/// All texts that are open, by URI.
#[derive(Clone, Debug, Default)]
pub struct Documents(BTreeMap<String, Document>);

impl Documents {
    /// The text of this URI, if it is open.
    pub fn get(&self, uri: &str) -> Option<&Document> {
        self.0.get(uri)
    }

    /// Opens a text, or has another one in its place.
    pub fn set(&mut self, uri: &str, text: String, version: i64) {
        self.0.insert(uri.to_owned(), Document { text, version });
    }

    /// Closes a text; whether it was open.
    pub fn close(&mut self, uri: &str) -> bool {
        self.0.remove(uri).is_some()
    }

    /// What is open.
    pub fn uris(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// What the editor calls a file, or else would.
    pub fn uri_of(&self, name: &str) -> String {
        let own = self.uris().find(|uri| name_of(uri) == name);
        own.map_or_else(|| uri_of(name), str::to_owned)
    }

    /// A text as the editor has it, else the library's, else that of the file.
    pub fn read(&self, name: &str) -> Result<String, String> {
        if let Some(text) = library::read(name) {
            return text;
        }
        match self.0.get(&self.uri_of(name)) {
            Some(document) => Ok(document.text.clone()),
            None => paths::read(Path::new(name)),
        }
    }
}

/// The path of a file's URI; what is no file keeps its URI as name.
pub fn name_of(uri: &str) -> String {
    let Some(rest) = uri.strip_prefix("file://") else { return uri.to_owned() };
    let path = decoded(&rest[rest.find('/').unwrap_or(rest.len())..]);
    // `/C:/k.fence`
    let is_drive = path.as_bytes().get(2) == Some(&b':') && path.as_bytes()[1].is_ascii_alphabetic();
    if is_drive { path[1..].to_owned() } else { path }
}

/// The URI of a file.
pub fn uri_of(name: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte);
    let root = if name.starts_with('/') { "file://" } else { "file:///" };
    name.bytes().fold(root.to_owned(), |uri, byte| {
        if is_plain(byte) { uri + &char::from(byte).to_string() } else { format!("{uri}%{byte:02X}") }
    })
}

/// Whether a name is that of a file of the library, which is on no disk.
pub fn is_of_library(name: &str) -> bool {
    name.starts_with(LIBRARY_ROOT)
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        let code = behind.get(..2).filter(|_| first == b'%');
        let code = code.and_then(|code| u8::from_str_radix(std::str::from_utf8(code).ok()?, 16).ok());
        bytes.push(code.unwrap_or(first));
        rest = if code.is_some() { &behind[2..] } else { behind };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Where a byte is, as the protocol counts: lines from 0, and in the line units of UTF-16.
pub fn position(text: &str, at: usize) -> Value {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    let before = &text[..at];
    let start = before.rfind('\n').map_or(0, |end| end + 1);
    json!({ "line": before.matches('\n').count(), "character": before[start..].encode_utf16().count() })
}

/// The range of some bytes, as the protocol has it.
pub fn range(text: &str, bytes: &Range<usize>) -> Value {
    json!({ "start": position(text, bytes.start), "end": position(text, bytes.end) })
}

/// The byte at a position of the protocol; past the end of a line that end, past the last line the end of the text.
pub fn offset(text: &str, position: &Value) -> usize {
    let number = |key: &str| position.get(key).and_then(Value::as_u64).unwrap_or(0);
    let (line, character) = (number("line"), number("character"));
    let mut start = 0;
    for _ in 0..line {
        match text[start..].find('\n') {
            Some(end) => start += end + 1,
            None => return text.len(),
        }
    }
    let mut units = 0;
    for (at, c) in text[start..].char_indices() {
        if units >= character || c == '\n' {
            return start + at;
        }
        units += c.len_utf16() as u64;
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::{name_of, offset, position, uri_of};
    use serde_json::json;

    #[test]
    fn columns_count_units_of_utf_16() {
        let text = "// \u{1f980}x\né y\n";
        let x = text.find('x').expect("it is there");
        assert_eq!(position(text, x), json!({ "line": 0, "character": 5 }));
        assert_eq!(offset(text, &json!({ "line": 0, "character": 5 })), x);
        assert_eq!(
            position(text, text.find('y').expect("it is there")),
            json!({ "line": 1, "character": 2 })
        );
        assert_eq!(
            offset(text, &json!({ "line": 0, "character": 99 })),
            text.find('\n').expect("it is there")
        );
        assert_eq!(offset(text, &json!({ "line": 99, "character": 0 })), text.len());
        // In the middle of a pair, and of bytes.
        assert_eq!(offset(text, &json!({ "line": 0, "character": 4 })), x);
        assert_eq!(position(text, x - 1), json!({ "line": 0, "character": 3 }));
    }

    #[test]
    fn a_uri_is_a_path_and_back() {
        let cases =
            [("/a/b c.fence", "file:///a/b%20c.fence"), ("/ü", "file:///%C3%BC"), ("C:/k", "file:///C%3A/k")];
        for (path, uri) in cases {
            assert_eq!(uri_of(path), uri);
            assert_eq!(name_of(uri), path);
        }
        assert_eq!(name_of("untitled:1"), "untitled:1");
        assert_eq!(name_of("file:///a%zz%"), "/a%zz%");
    }
}
