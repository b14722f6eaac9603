//! `--cache DIR`: what the check of a file came to, kept for the next run.
//!
//! An entry is found by a hash of everything that it depends on: the texts of the file and of all that it imports, the memory
//! model, the options, and the program that runs, byte for byte; so an entry of another build is never taken for one of this.
//! With a clock, or where somebody has ended the run, nothing is kept. An entry that is damaged is a warning, and the file is
//! checked.

use super::check::Ended;
use fencepost_dsl::SourceMap;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Form of the entries.
const SCHEMA: &str = "fencepost-cache/1";

/// The hash of this program.
static PROGRAM: LazyLock<io::Result<String>> = LazyLock::new(|| {
    let mut file = fs::File::open(std::env::current_exe()?)?;
    let (mut hash, mut part) = (Sha256::new(), vec![0; 1 << 16]);
    loop {
        match file.read(&mut part)? {
            0 => return Ok(hexadecimal(hash)),
            n => hash.update(&part[..n]),
        }
    }
});

/// A folder of entries.
pub struct Cache {
    folder: PathBuf,
}

/// What an entry is found by.
pub struct Key(String);

/// What is read.
#[derive(Deserialize)]
struct Entry {
    schema: String,
    /// Of the text of what follows.
    sha256: String,
    /// A document of its own.
    ended: String,
}

/// What is written.
#[derive(Serialize)]
struct Written<'a> {
    schema: &'a str,
    sha256: String,
    ended: &'a str,
}

/// What a key is made of; each part is told apart from the next one by its length.
#[derive(Default)]
pub struct Parts {
    hash: Sha256,
}

impl Parts {
    /// Adds a text.
    pub fn text(&mut self, text: &str) {
        self.hash.update((text.len() as u64).to_le_bytes());
        self.hash.update(text.as_bytes());
    }

    /// Adds all texts, and what they are called.
    pub fn sources(&mut self, sources: &SourceMap) {
        for id in sources.ids() {
            let file = sources.file(id);
            self.text(&file.name);
            self.text(&file.text);
        }
    }

    /// What identifies them.
    pub fn digest(self) -> String {
        hexadecimal(self.hash)
    }
}

fn hexadecimal(hash: Sha256) -> String {
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Cache {
    /// In this folder, which is made if it is not there.
    ///
    /// # Errors
    /// Why there can be none.
    pub fn at(folder: &Path) -> Result<Self, String> {
        let failed = |error: &io::Error| format!("{}: {error}", folder.display());
        if let Err(error) = &*PROGRAM {
            return Err(format!("this program cannot be read, which entries are found by: {error}"));
        }
        fs::create_dir_all(folder).map_err(|error| failed(&error))?;
        Ok(Self { folder: folder.to_owned() })
    }

    /// What an entry is found by.
    pub fn key(mut parts: Parts) -> Key {
        if let Ok(program) = &*PROGRAM {
            parts.text(program);
        }
        parts.text(SCHEMA);
        Key(parts.digest())
    }

    fn path(&self, key: &Key) -> PathBuf {
        self.folder.join(format!("{}.json", key.0))
    }

    /// What was kept.
    ///
    /// # Errors
    /// If there is something that cannot be used, and why.
    pub fn find(&self, key: &Key) -> Result<Option<Ended>, String> {
        let path = self.path(key);
        let wrong = |why: &str| format!("{}: {why}", path.display());
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(wrong(&error.to_string())),
        };
        let entry: Entry = serde_json::from_str(&text).map_err(|_| wrong("this is no entry"))?;
        let mut parts = Parts::default();
        parts.text(&entry.ended);
        if entry.schema != SCHEMA || parts.digest() != entry.sha256 {
            return Err(wrong("its text does not have the hash that it names"));
        }
        serde_json::from_str(&entry.ended).map(Some).map_err(|_| wrong("this is no entry"))
    }

    /// Keeps it.
    ///
    /// # Errors
    /// Why it is not kept.
    pub fn keep(&self, key: &Key, ended: &Ended) -> Result<(), String> {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let path = self.path(key);
        let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let text = serde_json::to_string(ended).map_err(|error| failed(&error))?;
        let mut parts = Parts::default();
        parts.text(&text);
        let entry = Written { schema: SCHEMA, sha256: parts.digest(), ended: &text };
        let entry = serde_json::to_string(&entry).map_err(|error| failed(&error))?;
        // Whoever reads at the same time sees all of it or nothing.
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let own = self.folder.join(format!("{}.{}.{number}.new", key.0, process::id()));
        fs::write(&own, entry).and_then(|()| fs::rename(&own, &path)).map_err(|error| {
            // What is left of a full disk.
            let _ = fs::remove_file(&own);
            failed(&error)
        })
    }
}
