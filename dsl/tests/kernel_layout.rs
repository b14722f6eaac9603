//! The layout of the formatter is final: laid out again, no text changes, whatever it was before. And nothing is lost: the
//! tree with its comments is the same before and after.

#[path = "kernel/random.rs"]
mod random;

use fencepost_dsl::FileId;
use fencepost_dsl::kernel::parse;
use fencepost_dsl::kernel::pretty::pretty;
use random::Random;
use std::fs;
use std::path::{Path, PathBuf};

/// Mutated texts that are laid out.
const MUTATED: usize = 10_000;
/// A mutated text is one of those that are not longer: what matters is what stands beside what.
const BYTES_MAX: usize = 3_000;

/// The texts of all kernel files of the repository.
fn texts() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut folders: Vec<PathBuf> =
        ["examples", "checker", "tests", "dsl"].iter().map(|folder| root.join(folder)).collect();
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("the folder is there").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "fence") {
                // Some are not text, and that is what they are for.
                found.extend(fs::read_to_string(&path).ok().map(|text| (path.display().to_string(), text)));
            }
        }
    }
    found.sort();
    assert!(found.len() > 700, "{} files were found", found.len());
    found
}

/// Whether a text parses, and so has a layout; what is wrong with that is a failure.
fn is_laid_out(name: &str, text: &str) -> bool {
    let (tree, errors) = parse(text, FileId(0));
    if !errors.is_empty() {
        return false;
    }
    let Some(once) = pretty(&tree) else { panic!("{name}: no layout\n{text}") };
    let (again, errors) = parse(&once, FileId(0));
    assert!(errors.is_empty(), "{name}: the layout does not parse: {errors:?}\n{text}\n=>\n{once}");
    assert!(tree == again, "{name}: the layout is another program\n{text}\n=>\n{once}");
    let twice = pretty(&again).expect("it parses");
    assert!(once == twice, "{name}: laid out twice\n{text}\n=>\n{once}\n=>\n{twice}");
    true
}

#[test]
fn every_file_of_the_repository_is_laid_out_for_good() {
    let texts = texts();
    let settled =
        ["/examples/", "/checker/lib/", "/checker/cli/templates/", "/tests/tables/", "/tests/rules/"];
    for (name, text) in texts.iter().filter(|(name, _)| settled.iter().any(|folder| name.contains(folder))) {
        let laid_out = pretty(&parse(text, FileId(0)).0).unwrap_or_else(|| panic!("{name}: no layout"));
        assert!(laid_out == *text, "{name}: this is not its layout");
    }
    let n = texts.iter().filter(|(name, text)| is_laid_out(name, text)).count();
    assert!(n > 700 && n * 10 > texts.len() * 9, "{n} of {} parse", texts.len());
}

/// Pieces that are put in: what separates, what says something to a reader only, and what a statement is made of.
const PIECES: &[&str] = &[
    " ",
    "\n",
    "\n\n",
    "\n\n\n",
    "\t",
    "\r\n",
    "// c\n",
    "//c\n",
    "// é\n",
    "/* c */",
    "/* two\n   lines */",
    "/// d\n",
    "\n// c\n\n",
    "\n    // c\n",
    ";",
    "{}",
    "{ }",
    "( 1 )",
    "(",
    ")",
    "+ 1",
    "- -1",
    "! !",
    "as u32",
    "bar.sync 0;",
    "st [x], 1;",
    "exit;",
    "if tid == 0 { }",
    "else { }",
    "else if tid == 1 { }",
    "loop { break; }",
    "for i in 0..2 { }",
    "let q = ld [x];",
    "let q = tid ? 1 : 2;",
    "assert 1 == 1;",
    "await ld [x] == 1;",
    "launch { ctas: 2 }",
    "shared z[2]: u32 = { 1, 2 };",
    "const C = 1;",
    "final { assert [x] == 1; }",
];

/// One place of a text is changed, at the boundary of a character.
fn mutated(text: &str, random: &mut Random) -> String {
    let boundary = |random: &mut Random, text: &str| {
        let mut at = random.below(text.len() + 1);
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
    match random.below(6) {
        0 if lines.len() > 1 => {
            lines.remove(random.below(lines.len()));
            lines.concat()
        }
        1 if lines.len() > 1 => {
            let at = random.below(lines.len() - 1);
            lines.swap(at, at + 1);
            lines.concat()
        }
        2 if !lines.is_empty() => {
            let line = lines[random.below(lines.len())];
            lines.insert(random.below(lines.len() + 1), line);
            lines.concat()
        }
        // Lines are joined, or broken where there is a blank.
        3 => {
            let at = boundary(random, text);
            let (before, after) = text.split_at(at);
            match after.find([' ', '\n']) {
                Some(found) if after[found..].starts_with(' ') => {
                    format!("{before}{}\n{}", &after[..found], &after[found + 1..])
                }
                Some(found) => format!("{before}{} {}", &after[..found], &after[found + 1..]),
                None => text.to_owned(),
            }
        }
        _ => {
            let at = boundary(random, text);
            // Between two words more often than in the middle of one.
            let at = if random.below(4) > 0 {
                text[at..].find([' ', '\n', ';']).map_or(at, |found| at + found)
            } else {
                at
            };
            let (before, after) = text.split_at(at);
            format!("{before}{}{after}", PIECES[random.below(PIECES.len())])
        }
    }
}

#[test]
fn ten_thousand_mutated_files_are_laid_out_for_good() {
    let texts: Vec<(String, String)> =
        texts().into_iter().filter(|(_, text)| text.len() <= BYTES_MAX).collect();
    let mut random = Random(20_260_727);
    let (mut n_parsed, mut n_tried) = (0, 0);
    for _ in 0..MUTATED {
        let (name, text) = &texts[random.below(texts.len())];
        let mut text = text.clone();
        for _ in 0..=random.below(3) {
            text = mutated(&text, &mut random);
        }
        n_tried += 1;
        n_parsed += usize::from(is_laid_out(name, &text));
    }
    assert!(n_parsed * 3 > n_tried, "only {n_parsed} of {n_tried} parse");
}
