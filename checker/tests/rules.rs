//! Every rule id that is cited anywhere in the repository has an entry, every entry is cited, and the book's page has them all.
//!
//! `BLESS=1 cargo test -p fencepost --test rules` writes the page; not in CI.

use fencepost::rules;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// What comes before the number in an id.
const FAMILIES: [&str; 13] = ["MM", "AX", "FN", "BR", "MB", "AS", "LT", "SPA", "A", "R", "L", "P", "UB"];

/// Where ids are cited. The table itself and its page cite nothing, nor do the ids that this file has for examples.
const FOLDERS: [&str; 5] = ["checker", "dsl", "tests", "examples", "book/src"];
const NOT_CITING: [&str; 4] =
    ["checker/src/rules.txt", "checker/src/rules.rs", "checker/tests/rules.rs", PAGE];

const PAGE: &str = "book/src/reference/rules.md";
const PAGE_HEAD: &str = "# Rules

Reports, models and these pages name rules by their ids: `MM-36`, `UB-M12`.
This is what each says, in our words, with the section of the PTX ISA 9.4 that has it; `fencepost explain` prints one of them, with the findings that rest on it:

```console
$ fencepost explain MM-36
```

The page is written by the tests from the table that `fencepost explain` reads. What the ISA means is in the ISA; where the two differ, the ISA is right and this is to be mended.
";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Text files below the folders, and those beside them, by their path from the root.
fn texts() -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut folders: Vec<PathBuf> = FOLDERS.iter().map(|folder| root().join(folder)).collect();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("the folder is there").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(text) = fs::read_to_string(&path) {
                let name = path.strip_prefix(root()).expect("it is below the root").to_string_lossy();
                found.insert(name.replace('\\', "/"), text);
            }
        }
    }
    assert!(found.len() > 300, "{} files were found", found.len());
    found
}

/// The ids in a text.
fn cited(text: &str) -> BTreeSet<&str> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '_'));
    words.filter(|word| is_id(word)).collect()
}

/// `MM-18`, `UB-M3`, `SPA-R1`, and not `A-minor` or `UTF-8`.
fn is_id(word: &str) -> bool {
    let Some((family, rest)) = word.split_once('-') else { return false };
    let letters = rest.trim_end_matches(|c: char| c.is_ascii_digit());
    let is_number = letters.len() < rest.len() && !rest[letters.len()..].starts_with('0');
    let has_letter = match family {
        "UB" => letters.len() == 1,
        "SPA" => matches!(letters, "" | "R"),
        _ => letters.is_empty(),
    };
    FAMILIES.contains(&family) && is_number && has_letter && letters.chars().all(|c| c.is_ascii_uppercase())
}

#[test]
fn ids_are_told_from_other_words() {
    let text = "MM-18 (AS-20), UB-M3; SPA-R1, A-4: UTF-8, B-1, A-b, MM-18x, AS-, R2D2, x-A-4, UB-3, MM-M3";
    assert_eq!(cited(text), BTreeSet::from(["MM-18", "AS-20", "UB-M3", "SPA-R1", "A-4"]));
}

#[test]
fn every_rule_that_is_cited_has_its_sentence_and_the_other_way_round() {
    let rules: Vec<_> = rules::subjects().into_iter().flat_map(|subject| subject.rules).collect();
    let known: BTreeSet<&str> = rules.iter().map(|rule| rule.id).collect();
    assert_eq!(known.len(), rules.len(), "an id has two entries");
    let mut wrong = Vec::new();
    for rule in &rules {
        if !is_id(rule.id) || rule.section.is_empty() || !rule.sentence.ends_with('.') {
            wrong.push(format!("{} is no full entry: [{}] {}", rule.id, rule.section, rule.sentence));
        }
    }
    let texts = texts();
    let mut unused = known.clone();
    for (name, text) in texts.iter().filter(|(name, _)| !NOT_CITING.contains(&name.as_str())) {
        for id in cited(text) {
            unused.remove(id);
            if !known.contains(id) {
                wrong.push(format!("{name} cites {id}, which is not in checker/src/rules.txt"));
            }
        }
    }
    wrong.extend(unused.iter().map(|id| format!("{id} is cited nowhere")));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_page_of_rules_has_them_all() {
    let path = root().join(PAGE);
    let found = fs::read_to_string(&path).unwrap_or_default();
    // The console block is the business of the book's own test.
    let console = found.split_once("```console\n").and_then(|(_, rest)| rest.split_once("```\n"));
    let (before, after) = PAGE_HEAD.split_once("$ fencepost explain MM-36\n").expect("it is shown");
    let shown = console.map_or("$ fencepost explain MM-36\n", |(shown, _)| shown);
    let mut page = format!("{before}{shown}{after}");
    for subject in rules::subjects() {
        page += &format!("\n## {}\n\n| rule | says | section |\n|---|---|---|\n", subject.title);
        for rule in subject.rules {
            let sentence = rule.sentence.replace('|', "\\|");
            page += &format!("| <a id=\"{0}\"></a>{0} | {sentence} | {1} |\n", rule.id, rule.section);
        }
    }
    if std::env::var_os("BLESS").is_some() {
        assert!(std::env::var_os("CI").is_none(), "the book is not rewritten in CI");
        fs::write(&path, &page).expect("the book is writable");
    } else {
        assert!(found == page, "{PAGE} is not what the table says: BLESS=1 writes it anew");
    }
}

#[test]
fn a_rule_is_found_in_any_case_and_names_its_findings() {
    let rule = rules::find("mm-36").expect("it is there");
    let page = rules::page(&rule);
    assert!(page.starts_with("MM-36: A release pattern synchronizes with"), "{page}");
    assert!(page.contains("Where: PTX ISA 9.4, 8.9.4\n") && page.contains("race::uniform"), "{page}");
    // MM-4 would be found in MM-41, and UB-M1 in UB-M12, by who does not look at what follows.
    assert!(rules::find("MM-4").is_none() && rules::find("MM-999").is_none());
    let first = rules::page(&rules::find("UB-M1").expect("it is there"));
    assert!(
        first.contains("mbarrier::not-initialised") && !first.contains("mbarrier::phase-not-waited-for"),
        "{first}"
    );
}
