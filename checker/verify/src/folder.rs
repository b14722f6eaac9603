//! The files of a certificate, each held to its hash, and that to the seal.

use crate::Refused;
use crate::graph::Reading;
use flate2::read::MultiGzDecoder;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::fs;
use std::io::Read;
use std::path::Path;

/// A file that unpacks to more than this is refused: it may have been made to fill the memory.
const UNPACKED_MAX: u64 = 4 << 30;

/// The form that is read.
pub const SCHEMA: &str = "fencepost-certificate/1";

/// A certificate whose files are what its seal says.
#[derive(Debug)]
pub struct Folder {
    files: HashMap<String, Vec<u8>>,
    root: Value,
    /// The hash of `certificate.json`, which stands for all of it.
    pub hash: String,
}

fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Folder {
    /// Reads a folder.
    ///
    /// # Errors
    /// If it is no certificate, or not all of one, or something in it is not what it was.
    pub fn open(path: &Path) -> Result<Self, Refused> {
        let mut files = HashMap::new();
        if path.is_dir() && !path.join("certificate.json").exists() {
            return Self::of_files(files);
        }
        let unreadable = |error: std::io::Error| Refused::new("certificate::unreadable", error.to_string());
        for entry in fs::read_dir(path).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if entry.file_type().map_err(unreadable)?.is_file() {
                files.insert(name, fs::read(entry.path()).map_err(unreadable)?);
            } else {
                let why = format!("there is `{name}` in it, which is no file of a certificate");
                return Err(Refused::new("certificate::more-files", why));
            }
        }
        Self::of_files(files)
    }

    /// The same of files that were read already.
    ///
    /// # Errors
    /// See [`Self::open`].
    pub fn of_files(mut files: HashMap<String, Vec<u8>>) -> Result<Self, Refused> {
        let Some(text) = files.remove("certificate.json") else {
            let why = "there is no `certificate.json` in it".to_owned();
            return Err(Refused::new("certificate::none", why));
        };
        let Some(seal) = files.remove("seal") else {
            let why = "it has no `seal`, so the run that wrote it did not end".to_owned();
            return Err(Refused::new("certificate::unfinished", why));
        };
        let own = hash(&text);
        if String::from_utf8_lossy(&seal).split_whitespace().next() != Some(own.as_str()) {
            let why = "`certificate.json` is not what the seal says; it was changed afterwards".to_owned();
            return Err(Refused::new("certificate::seal", why));
        }
        let root: Value = serde_json::from_slice(&text)
            .map_err(|error| Refused::new("certificate::form", format!("`certificate.json`: {error}")))?;
        let schema = root.get("schema").and_then(Value::as_str).unwrap_or_default();
        if schema != SCHEMA {
            let why = format!("its form is `{schema}`, and `{SCHEMA}` is what this version reads");
            return Err(Refused::new("certificate::schema", why));
        }
        let this = Self { files, root, hash: own };
        this.check()?;
        Ok(this)
    }

    /// Holds each file to its hash.
    fn check(&self) -> Result<(), Refused> {
        let mut listed = Vec::new();
        for one in self.root().get("files")?.list()? {
            let name = one.get("name")?.text()?;
            let Some(bytes) = self.files.get(name) else {
                return Err(Refused::new("certificate::missing-file", format!("there is no `{name}` in it")));
            };
            if hash(bytes) != one.get("sha256")?.text()? {
                let n = one.get("bytes")?.number()?;
                let what = match bytes.len() {
                    0 => "it is empty".to_owned(),
                    own if own < n => format!("it was cut to {own} of {n} bytes"),
                    _ => "it was changed afterwards".to_owned(),
                };
                return Err(Refused::new("certificate::changed-file", what).of(name));
            }
            listed.push(name);
        }
        let mut more: Vec<&String> =
            self.files.keys().filter(|name| !listed.contains(&name.as_str())).collect();
        more.sort();
        match more.first() {
            Some(name) => {
                let why = format!("there is `{name}` in it, of which it says nothing");
                Err(Refused::new("certificate::more-files", why))
            }
            None => Ok(()),
        }
    }

    /// What `certificate.json` says.
    pub(crate) fn root(&self) -> Reading<'_> {
        Reading { file: "certificate.json", value: &self.root }
    }

    /// The bytes of a file; unpacked, if it is packed.
    ///
    /// # Errors
    /// If it is not there, or not packed as its name says.
    pub fn bytes(&self, name: &str) -> Result<Vec<u8>, Refused> {
        let Some(bytes) = self.files.get(name) else {
            return Err(Refused::new("certificate::missing-file", format!("there is no `{name}` in it")));
        };
        if !name.ends_with(".gz") {
            return Ok(bytes.clone());
        }
        let mut unpacked = Vec::new();
        let read = MultiGzDecoder::new(&bytes[..]).take(UNPACKED_MAX).read_to_end(&mut unpacked);
        read.map_err(|error| Refused::new("certificate::packing", error.to_string()).of(name))?;
        Ok(unpacked)
    }

    /// A file as text.
    ///
    /// # Errors
    /// See [`Self::bytes`].
    pub fn text(&self, name: &str) -> Result<String, Refused> {
        String::from_utf8(self.bytes(name)?)
            .map_err(|_| Refused::new("certificate::form", "it is no text".to_owned()).of(name))
    }

    /// A file as JSON.
    ///
    /// # Errors
    /// See [`Self::bytes`].
    pub(crate) fn json(&self, name: &str) -> Result<Value, Refused> {
        serde_json::from_slice(&self.bytes(name)?)
            .map_err(|error| Refused::new("certificate::form", error.to_string()).of(name))
    }
}
