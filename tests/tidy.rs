//! The house keeps to its own rules: which room may name what, how long lines and files get, and that rules cited exist.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// A file above this length wants to be two.
const LINES_MAX: usize = 750;
/// Comments are wrapped; code is by the formatter.
const COMMENT_MAX: usize = 132;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The Rust files below a folder, by their path from the root, with their text.
fn sources(folder: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("the folder is there").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).expect("it is text");
                let name =
                    path.strip_prefix(root()).expect("it is below the root").to_string_lossy().into_owned();
                found.push((name.replace('\\', "/"), text));
            }
        }
    }
    assert!(found.len() > 10, "{folder} has {} files", found.len());
    found.sort();
    found
}

/// The files of a folder with a line of code that has one of these words, apart from those whose path begins so.
fn naming(folder: &str, words: &[&str], but: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for (name, text) in sources(folder) {
        if but.iter().any(|allowed| name.starts_with(allowed)) {
            continue;
        }
        for (number, line) in text.lines().enumerate() {
            if line.contains("#[cfg(test)]") {
                break;
            }
            let is_comment = line.trim_start().starts_with("//");
            if !is_comment && words.iter().any(|word| line.contains(word)) {
                found.push(format!("{name}:{}: {}", number + 1, line.trim()));
            }
        }
    }
    found
}

/// Nothing found, or what it was.
fn none(found: Vec<String>, what: &str) {
    assert!(found.is_empty(), "{what}:\n{}", found.join("\n"));
}

#[test]
fn only_one_room_names_the_solver() {
    none(naming("checker/src", &["varisat"], &["checker/src/solve.rs"]), "names the solver");
    none(naming("dsl/src", &["varisat", "fencepost::"], &[]), "the front end names what stands on it");
}

#[test]
fn only_the_command_line_reads_files_and_the_clock() {
    let command_line = ["checker/src/cli", "checker/src/main.rs", "checker/src/bin"];
    let files = ["std::fs", "fs::read", "File::open"];
    none(naming("checker/src", &files, &command_line), "reads files");
    none(naming("dsl/src", &files, &[]), "reads files");
    let clocks = ["Instant::", "SystemTime", "std::time"];
    none(naming("checker/src", &clocks, &command_line), "reads the clock");
    none(naming("dsl/src", &clocks, &[]), "reads the clock");
    none(naming("checker/src", &["println!", "eprintln!"], &command_line), "prints");
}

/// Rooms from the ground up: none names one above it.
const FLOORS: &[(&str, &[&str])] = &[
    (
        "event",
        &[
            "synchronization",
            "unroll",
            "relation",
            "encode",
            "solve",
            "witness",
            "check",
            "explain",
            "report",
            "cli",
        ],
    ),
    (
        "synchronization",
        &["unroll", "relation", "encode", "solve", "witness", "check", "explain", "report", "cli"],
    ),
    ("unroll", &["relation", "encode", "solve", "witness", "check", "explain", "report", "cli"]),
    ("relation", &["slice", "encode", "solve", "witness", "check", "explain", "report", "cli"]),
    ("slice", &["solve", "witness", "check", "explain", "report", "cli"]),
    ("encode", &["witness", "check", "explain", "report", "cli"]),
    ("witness", &["check", "explain", "report", "cli"]),
    ("explain", &["report", "cli"]),
    ("report", &["cli"]),
    ("check", &["report", "cli"]),
];

#[test]
fn rooms_name_only_what_is_below_them() {
    let mut found = Vec::new();
    for (room, above) in FLOORS {
        for (name, text) in sources("checker/src") {
            let is_in =
                name == format!("checker/src/{room}.rs") || name.starts_with(&format!("checker/src/{room}/"));
            if !is_in {
                continue;
            }
            for (number, line) in text.lines().enumerate() {
                let import = line.trim_start().strip_prefix("use crate::");
                if let Some(import) = import
                    && above.iter().any(|room| {
                        import.strip_prefix(room).is_some_and(|rest| rest.starts_with([':', ';', '{']))
                    })
                {
                    found.push(format!("{name}:{}: {line}", number + 1));
                }
            }
        }
    }
    none(found, "names what stands on it");
}

#[test]
fn files_and_comments_are_not_too_long() {
    let mut found = Vec::new();
    for folder in ["dsl/src", "checker/src", "tests/src"] {
        for (name, text) in sources(folder) {
            let n_lines = text.lines().count();
            if n_lines > LINES_MAX {
                found.push(format!("{name} has {n_lines} lines"));
            }
            for (number, line) in text.lines().enumerate() {
                if line.trim_start().starts_with("//") && line.chars().count() > COMMENT_MAX {
                    found.push(format!("{name}:{}: {} characters", number + 1, line.chars().count()));
                }
            }
        }
    }
    none(found, "too long");
}

/// Ids of rules in a text: `MM-18`, `UB-M3`, `SPA-R1`.
fn rules(text: &str) -> BTreeSet<String> {
    let families = ["MM", "FN", "MB", "BR", "AS", "LT", "UB", "SPA", "A", "L", "R", "P"];
    let mut found = BTreeSet::new();
    for word in text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-')) {
        let Some((family, rest)) = word.split_once('-') else { continue };
        let letters = rest.trim_end_matches(|c: char| c.is_ascii_digit());
        let is_number = letters.len() < rest.len() && letters.len() <= 1;
        let is_upper = letters.chars().all(|c| c.is_ascii_uppercase());
        let has_letter = matches!(family, "UB") == (letters.len() == 1) || family == "SPA";
        if families.contains(&family) && is_number && is_upper && has_letter {
            found.insert(word.to_owned());
        }
    }
    found
}

#[test]
#[expect(clippy::print_stdout, reason = "the suite says what it could not look at")]
fn every_rule_that_is_cited_exists() {
    let Ok(specification) = fs::read_to_string(root().join("../shared/spec/ptx-semantics.md")) else {
        println!("../shared is not there: cited rules are not looked up");
        return;
    };
    let known = rules(&specification);
    let mut found = Vec::new();
    for folder in ["dsl/src", "checker/src"] {
        for (name, text) in sources(folder) {
            let missing: Vec<String> = rules(&text).difference(&known).cloned().collect();
            if !missing.is_empty() {
                found.push(format!("{name}: {}", missing.join(", ")));
            }
        }
    }
    none(found, "cites a rule that is not there");
}

/// Markdown files below a folder, hidden ones included, without what was built.
fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the folder is there").flatten() {
        let path = entry.path();
        let is_built = ["target", ".git", "book"].iter().any(|name| path.ends_with(name));
        if path.is_dir() && !is_built {
            pages(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
}

/// The book's own pages are looked at by its test; these are the others.
#[test]
fn links_of_pages_beside_the_book_lead_somewhere() {
    let mut files = Vec::new();
    pages(&root(), &mut files);
    assert!(files.len() > 100, "{} pages were found", files.len());
    let mut found = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).expect("pages are text");
        let folder = file.parent().expect("a file is in a folder");
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let path = target.split('#').next().unwrap_or_default();
            if !path.is_empty() && !path.contains("://") && !folder.join(path).exists() {
                found.push(format!("{}: there is no {target}", file.display()));
            }
        }
    }
    none(found, "leads nowhere");
}
