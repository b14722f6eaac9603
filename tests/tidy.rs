//! The house keeps to its own rules: which room may name what, how long lines and files get, and that rules cited exist.

use std::collections::{BTreeMap, BTreeSet};
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
    assert!(found.len() > 5, "{folder} has {} files", found.len());
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
    none(naming("checker/engine/src", &["varisat"], &["checker/engine/src/solve"]), "names the solver");
}

/// What the manifest of a package says it uses, tests aside.
fn imports(package: &str) -> BTreeSet<String> {
    let text = fs::read_to_string(root().join(package).join("Cargo.toml")).expect("a package has a manifest");
    let (_, rest) = text.split_once("[dependencies]\n").expect("it uses something");
    let section = rest.split("\n[").next().unwrap_or_default();
    section
        .lines()
        .filter_map(|line| line.split([' ', '.', '=']).next())
        .filter(|name| !name.is_empty() && !name.starts_with('#'))
        .map(str::to_owned)
        .collect()
}

/// The compiler holds who may name whom: it is in the manifests. This holds the manifests.
#[test]
fn packages_use_only_what_is_below_them() {
    let floors: [(&str, &[&str]); 6] = [
        ("dsl", &["fencepost-engine", "fencepost", "fencepost-cli", "varisat", "miette", "clap", "serde"]),
        (
            "checker/engine",
            &["fencepost", "fencepost-cli", "miette", "clap", "serde", "serde_json", "terminal_size"],
        ),
        (
            "checker",
            &["fencepost-cli", "varisat", "im", "clap", "clap_complete", "clap_mangen", "terminal_size"],
        ),
        ("checker/lsp", &["fencepost-cli", "fencepost-engine", "varisat", "miette", "clap", "terminal_size"]),
        ("checker/cli", &["fencepost-engine", "varisat", "miette", "lsp-server"]),
        // It has to be believed by who does not believe the checker.
        (
            "checker/verify",
            &["fencepost", "fencepost-engine", "fencepost-cli", "varisat", "miette", "clap", "serde"],
        ),
    ];
    for (package, above) in floors {
        let imports = imports(package);
        assert!(imports.len() >= 4, "{package} uses {imports:?}");
        let wrong: Vec<&&str> = above.iter().filter(|name| imports.contains(**name)).collect();
        assert!(wrong.is_empty(), "{package} uses {wrong:?}");
    }
    // What others call a thing is data, and the language can do without it.
    let foreign =
        fs::read_to_string(root().join("dsl/foreign/Cargo.toml")).expect("a package has a manifest");
    assert!(!foreign.contains("dependencies]"), "what is known of other languages depends on something");
    for (package, line) in [
        ("dsl", "fencepost-foreign = { workspace = true, optional = true }"),
        ("dsl", "foreign = [\"dep:fencepost-foreign\"]"),
        ("checker", "foreign = [\"fencepost-dsl/foreign\"]"),
    ] {
        let text =
            fs::read_to_string(root().join(package).join("Cargo.toml")).expect("a package has a manifest");
        assert!(text.lines().any(|own| own == line), "{package} has no `{line}`");
    }
}

#[test]
fn only_the_command_line_has_a_clock_and_prints_and_the_engine_has_no_files_and_no_threads() {
    let files = ["std::fs", "fs::read", "File::open"];
    for folder in ["dsl/src", "dsl/foreign/src", "checker/engine/src"] {
        none(naming(folder, &files, &[]), "reads files");
        none(
            naming(folder, &["std::thread", "thread::spawn", "std::env"], &[]),
            "starts threads or asks the environment",
        );
    }
    none(naming("checker/src", &files, &["checker/src/paths.rs"]), "reads files");
    let clocks = ["Instant", "SystemTime", "std::time"];
    for folder in ["dsl/src", "dsl/foreign/src", "checker/engine/src", "checker/src"] {
        none(naming(folder, &clocks, &[]), "reads the clock");
        none(naming(folder, &["println!", "eprintln!"], &[]), "prints");
    }
}

/// The rows of findings hold sentences, so that a finding is one row; that is all the engine has to do with them.
#[test]
fn the_engine_reads_no_sentence_of_a_finding() {
    let words = [".headline", ".summary", ".page", ".advice", "kind.help"];
    let rows = ["checker/engine/src/findings"];
    none(naming("checker/engine/src", &words, &rows), "reads what is for people");
}

/// Rooms from the ground up: none names one above it.
const FLOORS: &[(&str, &[&str])] = &[
    ("engine/src/event", &["synchronization", "unroll", "relation", "encode", "solve", "witness", "check"]),
    ("engine/src/synchronization", &["unroll", "relation", "encode", "solve", "witness", "check"]),
    ("engine/src/unroll", &["relation", "encode", "solve", "witness", "check"]),
    ("engine/src/relation", &["slice", "encode", "solve", "witness", "check"]),
    ("engine/src/slice", &["solve", "witness", "check"]),
    ("engine/src/encode", &["witness", "check"]),
    ("engine/src/witness", &["check"]),
    ("src/explain", &["report"]),
    ("src/report", &["api"]),
];

#[test]
fn rooms_name_only_what_is_below_them() {
    let mut found = Vec::new();
    for (room, above) in FLOORS {
        let (package, _) = room.split_once("src/").expect("a room is in a package");
        let mut n_files = 0;
        for (name, text) in sources(&format!("checker/{package}src")) {
            let is_in = name == format!("checker/{room}.rs") || name.starts_with(&format!("checker/{room}/"));
            if !is_in {
                continue;
            }
            n_files += 1;
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
        assert!(n_files > 0, "{room} is not there");
    }
    none(found, "names what stands on it");
}

#[test]
fn files_and_comments_are_not_too_long() {
    let mut found = Vec::new();
    for folder in [
        "dsl/src",
        "dsl/foreign/src",
        "checker/engine/src",
        "checker/src",
        "checker/lsp/src",
        "checker/cli/src",
        "checker/verify/src",
        "tests/src",
    ] {
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
    let mut known = rules(&specification);
    // Readings that are ours: the table of rules says what each means.
    let own = fs::read_to_string(root().join("checker/src/rules.txt")).expect("the table of rules");
    known.extend(rules(&own));
    let mut found = Vec::new();
    for folder in ["dsl/src", "checker/engine/src", "checker/src", "checker/cli/src"] {
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
        let is_built = ["target", ".git", "book", "node_modules"].iter().any(|name| path.ends_with(name));
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

/// A comment's lines, without what makes them a comment, and where the first of them is.
struct Comment {
    place: String,
    lines: Vec<String>,
}

/// The comments of some sources, each a run of lines that start alike.
fn comments(folder: &str) -> Vec<Comment> {
    let mut found: Vec<Comment> = Vec::new();
    for (name, text) in sources(folder) {
        let mut of_last = "";
        for (number, line) in text.lines().enumerate() {
            let line = line.trim_start();
            let mark =
                ["//!", "///", "//"].into_iter().find(|mark| line.starts_with(mark)).unwrap_or_default();
            if mark.is_empty() {
                of_last = mark;
                continue;
            }
            if mark != of_last {
                found.push(Comment { place: format!("{name}:{}", number + 1), lines: Vec::new() });
            }
            of_last = mark;
            let lines = &mut found.last_mut().expect("one was begun").lines;
            lines.push(line[mark.len()..].trim().to_owned());
        }
    }
    found
}

/// The needs that a text names, as in `Need::NoRace`.
fn needs_in(text: &str) -> BTreeSet<String> {
    let word = |rest: &str| rest.chars().take_while(char::is_ascii_alphanumeric).collect::<String>();
    text.split("Need::").skip(1).map(word).filter(|word| !word.is_empty()).collect()
}

/// Of each argument in some comments what it needs, or where it does not say so.
fn needs_of_arguments(comments: &[Comment]) -> Vec<Result<BTreeSet<String>, String>> {
    let mut found = Vec::new();
    for Comment { place, lines } in comments {
        let starts: Vec<usize> = (0..lines.len()).filter(|&at| lines[at].starts_with("Sound:")).collect();
        for (number, &start) in starts.iter().enumerate() {
            let end = starts.get(number + 1).copied().unwrap_or(lines.len());
            let Some(at) = (start..end).find(|&at| lines[at].starts_with("Needs:")) else {
                found.push(Err(format!("{place}: an argument without its needs")));
                continue;
            };
            let paragraph: Vec<&str> =
                lines[at..end].iter().map(String::as_str).take_while(|line| !line.is_empty()).collect();
            let text = paragraph.join(" ");
            let named = needs_in(&text);
            let says_nothing = text.starts_with("Needs: nothing.");
            let says_which = text.starts_with("Needs: [`Need::");
            found.push(if says_nothing == named.is_empty() && says_nothing != says_which {
                Ok(named)
            } else {
                Err(format!("{place}: neither nothing nor needs: {text}"))
            });
        }
    }
    found
}

#[test]
fn every_argument_names_its_needs() {
    let read = |path: &str| fs::read_to_string(root().join(path)).expect("it is there");
    let of_needs = read("checker/engine/src/facts/needs.rs");
    let (_, variants) = of_needs.split_once("pub enum Need {").expect("needs are an enum");
    let variants: BTreeSet<String> = variants
        .lines()
        .take_while(|line| *line != "}")
        .filter_map(|line| line.trim().strip_suffix(','))
        .map(str::to_owned)
        .collect();
    assert!(variants.len() > 8, "{variants:?}");
    let arguments: Vec<_> = ["checker/engine/src", "checker/src"]
        .into_iter()
        .flat_map(|folder| needs_of_arguments(&comments(folder)))
        .collect();
    assert!(arguments.len() > 30, "{} arguments were found", arguments.len());
    none(arguments.iter().filter_map(|argument| argument.clone().err()).collect(), "says not what it needs");
    let by_arguments: BTreeSet<String> = arguments.into_iter().flatten().flatten().collect();
    let by_rows = needs_in(&read("checker/engine/src/facts.rs"));
    let named: BTreeSet<&String> = by_arguments.iter().chain(&by_rows).collect();
    none(
        named.iter().filter(|need| !variants.contains(**need)).map(ToString::to_string).collect(),
        "is no variant of `Need`",
    );
    none(
        variants.iter().filter(|need| !named.contains(need)).cloned().collect(),
        "is needed by no argument and no row",
    );
}

#[test]
fn an_argument_that_names_no_needs_is_seen() {
    let needs_of = |text: &str| {
        let lines = text.lines().map(|line| line.trim().to_owned()).collect();
        needs_of_arguments(&[Comment { place: "here:1".to_owned(), lines }])
    };
    assert_eq!(needs_of("Sound: so it is.\n\nNeeds: nothing. It is plain."), [Ok(BTreeSet::new())]);
    let two = BTreeSet::from(["Monotone".to_owned(), "NoRace".to_owned()]);
    assert_eq!(
        needs_of("Sound: so it is.\nNeeds: [`Need::Monotone`], and of writes\n[`Need::NoRace`]."),
        [Ok(two)]
    );
    for wrong in [
        "Sound: so it is.",
        "Sound: so it is.\nNeeds: something.",
        "Sound: so it is.\nNeeds: nothing. But for [`Need::NoRace`].",
        "Needs: nothing.\nSound: so it is.",
        "Sound: the one.\nSound: the other.\nNeeds: nothing.",
    ] {
        assert!(needs_of(wrong).iter().any(Result::is_err), "{wrong}");
    }
    assert!(needs_of("An argument (a `Sound:` paragraph).").is_empty());
}

/// A module, by its path from the root of its package.
type Module = Vec<String>;

/// The paths that a tree of `use` names, or one path.
fn spread(tree: &str) -> Vec<String> {
    let Some((before, rest)) = tree.split_once('{') else {
        return vec![tree.split(" as ").next().unwrap_or_default().trim().to_owned()];
    };
    let inside = rest.rsplit_once('}').map_or(rest, |(inside, _)| inside);
    let (mut depth, mut parts) = (0, vec![String::new()]);
    for c in inside.chars() {
        depth += i32::from(c == '{') - i32::from(c == '}');
        match parts.last_mut() {
            Some(last) if c != ',' || depth > 0 => last.push(c),
            _ => parts.push(String::new()),
        }
    }
    let parts = parts.iter().filter(|part| !part.trim().is_empty());
    parts.flat_map(|part| spread(&format!("{}{}", before.trim(), part.trim()))).collect()
}

/// The modules that a file names, by `use` and by path; the root of the package is none, nor is what a macro names for others.
fn named(own: &Module, text: &str, modules: &BTreeMap<Module, String>) -> BTreeSet<Module> {
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    let code: String =
        code.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join(" ");
    let code = code.replace("$crate", "");
    let mut paths: Vec<String> = Vec::new();
    for statement in code.split("use ").skip(1) {
        paths.extend(spread(statement.split(';').next().unwrap_or_default()));
    }
    let is_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    paths.extend(
        code.split(|c| !is_path(c))
            .filter(|word| word.contains("::") && !word.ends_with("::"))
            .map(str::to_owned),
    );
    let resolved = paths.iter().filter_map(|path| {
        let mut parts = path.split("::").peekable();
        let mut at = own.clone();
        match *parts.peek()? {
            "crate" => at = Module::new(),
            "super" | "self" => {}
            child if modules.contains_key(&[own.as_slice(), &[child.to_owned()]].concat()) => {}
            _ => return None,
        }
        for part in parts {
            match part {
                "crate" | "self" => {}
                "super" => _ = at.pop(),
                _ if modules.contains_key(&[at.as_slice(), &[part.to_owned()]].concat()) => {
                    at.push(part.to_owned());
                }
                // What is declared there; a name that nothing follows may be the module's own.
                _ => break,
            }
        }
        (!at.is_empty() && at != *own).then_some(at)
    });
    resolved.collect()
}

#[test]
fn no_files_that_check_tell_and_mend_name_one_another_in_a_circle() {
    let package = "checker/src/";
    let modules: BTreeMap<Module, String> = sources(package)
        .into_iter()
        .map(|(name, text)| {
            let path = name.trim_start_matches(package).trim_end_matches(".rs");
            (path.split('/').map(str::to_owned).collect(), text)
        })
        .collect();
    let names: BTreeMap<&Module, BTreeSet<Module>> =
        modules.iter().map(|(own, text)| (own, named(own, text, &modules))).collect();
    let n_arrows: usize = names.values().map(BTreeSet::len).sum();
    assert!(n_arrows > 400, "{n_arrows} arrows");
    let circle = names.keys().find_map(|&start| {
        let (mut known, mut pending) = (BTreeSet::new(), vec![start]);
        while let Some(at) = pending.pop() {
            for next in &names[at] {
                if next == start {
                    return Some(format!("{} … {}", start.join("::"), at.join("::")));
                }
                if known.insert(next) {
                    pending.push(next);
                }
            }
        }
        None
    });
    assert!(circle.is_none(), "{circle:?}");
}
