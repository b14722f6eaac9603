//! The layout of the formatter is final: laid out again, no text changes, whatever it was before. And nothing is lost: the
//! tree with its comments is the same before and after, but for the order of modifiers, which is PTX's after it.

#[path = "kernel/random.rs"]
mod random;

use fencepost_dsl::kernel::ast::{Name, Place};
use fencepost_dsl::kernel::pretty::pretty;
use fencepost_dsl::kernel::{isa, parse};
use fencepost_dsl::{FileId, Span};
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

/// What an opcode looks like with its modifiers in order.
fn ordered(opcode: &str) -> String {
    isa::ordered(&Name { text: opcode.to_owned(), place: Place(Span::new(FileId(0), 0, opcode.len())) })
}

/// Pieces of a text that are comments, texts, words with dots in them, or a character of anything else.
fn pieces(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let behind =
            |from: usize, end: &str| rest[from..].find(end).map_or(rest.len(), |at| from + at + end.len());
        let is_of_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | ':');
        let length = match first {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => behind(2, "*/"),
            '"' => behind(1, "\""),
            _ if first.is_ascii_alphabetic() => rest.find(|c| !is_of_word(c)).unwrap_or(rest.len()),
            _ => first.len_utf8(),
        };
        let (piece, after) = rest.split_at(length);
        found.push(piece);
        rest = after;
    }
    found
}

/// A text with the modifiers of each opcode in order.
fn in_order(text: &str) -> String {
    pieces(text)
        .into_iter()
        .map(|piece| if piece.contains('.') { ordered(piece) } else { piece.to_owned() })
        .collect()
}

/// The opcode with its modifiers anyhow.
fn shuffled(opcode: &str, random: &mut Random) -> String {
    let mut words: Vec<&str> = opcode.split('.').collect();
    for at in 1..words.len() {
        let other = 1 + random.below(words.len() - 1);
        words.swap(at, other);
    }
    words.join(".")
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
    let tree = match in_order(text) {
        ordered if ordered == text => tree,
        ordered => parse(&ordered, FileId(0)).0,
    };
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
    match random.below(7) {
        // Modifiers of an opcode stand anyhow.
        6 => {
            let mut all: Vec<String> = pieces(text).into_iter().map(str::to_owned).collect();
            let dotted: Vec<usize> =
                (0..all.len()).filter(|&at| all[at].contains('.') && !all[at].starts_with('/')).collect();
            if let Some(&at) = dotted.get(random.below(dotted.len().max(1))) {
                all[at] = shuffled(&all[at], random);
            }
            all.concat()
        }
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

/// Opcodes of a text of PTX: what a line begins with, or what is behind a guard.
fn opcodes(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.lines().map(str::trim_start).filter(|line| !line.starts_with(['.', '/', '$', '%']));
    lines.filter_map(|line| {
        let line =
            if line.starts_with('@') { line.split_once(char::is_whitespace)?.1.trim_start() } else { line };
        line.split([' ', '\t', ';']).next()
    })
}

#[test]
fn opcodes_that_a_compiler_wrote_stay_as_they_are() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/ptx");
    let mut n = 0;
    for entry in fs::read_dir(folder).expect("it is there").flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|extension| extension == "ptx") {
            let text = fs::read_to_string(&path).expect("it is text");
            // What stands in `asm` a person has written.
            let parts = text.split("// begin inline asm");
            let own: String = parts
                .map(|part| part.split_once("// end inline asm").map_or(part, |(_, behind)| behind))
                .collect();
            for opcode in opcodes(&own).filter(|opcode| opcode.contains('.')) {
                assert_eq!(ordered(opcode), opcode, "{}", path.display());
                n += 1;
            }
        }
    }
    assert!(n > 300, "{n} opcodes");
}

#[test]
fn modifiers_come_into_the_order_of_ptx() {
    for (written, wanted) in [
        ("st.global.u32.weak", "st.weak.global.u32"),
        ("ld.gpu.u32.acquire.global", "ld.acquire.gpu.global.u32"),
        ("atom.u32.cas.global.gpu.acq_rel", "atom.acq_rel.gpu.global.cas.u32"),
        ("fence.gpu.acq_rel", "fence.acq_rel.gpu"),
        ("atom.add.u32.gpu.relaxed", "atom.add.relaxed.gpu.u32"),
        // Two of a kind, one that is none, and what is no opcode: errors, which stay as they were written.
        ("st.u32.u64", "st.u32.u64"),
        ("st.u32.weka", "st.u32.weka"),
        ("foo.b.a", "foo.b.a"),
    ] {
        assert_eq!(ordered(written), wanted);
    }
}

/// Whoever writes the modifiers anyhow gets the file that they are in order in.
#[test]
fn shuffled_modifiers_come_into_one_order() {
    let mut random = Random(20_261_127);
    let (mut n, mut n_changed) = (0, 0);
    for (name, text) in texts().into_iter().filter(|(name, _)| name.contains("/examples/")) {
        for opcode in pieces(&text).into_iter().filter(|piece| piece.contains('.')) {
            // Only what is in order to begin with is an opcode of a row, and words of its name do not move.
            let once = ordered(&shuffled(opcode, &mut random));
            assert_eq!(ordered(&once), once, "{name}: {opcode}");
            n += 1;
            n_changed += usize::from(once != *opcode);
        }
    }
    assert!(n > 5_000 && n_changed * 2 < n, "{n} opcodes, {n_changed} of them not as before");
}
