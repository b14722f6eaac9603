//! Lines out of the habit of another language, as shapes with what to write for each: a table, and the little that reads it.
//!
//! In a shape `*` stands for any text (`\*` for itself), `@` for one word, `~` for one that is no number, and a blank for
//! blanks or none; what they stood for is `{1}`, `{2}` and so on in the answer. The first shape that a statement has is
//! taken, else the first that its whole line has.

mod rust_and_python;
mod texts;

use crate::words::plain;
use rust_and_python::LINES;
use texts::{INSTRUCTIONS, ITEMS, OUTSIDE, PTX, VALUES};

/// Shapes with what to write.
pub type Habits = &'static [(&'static str, &'static str)];

/// In the order in which they are tried.
const ALL: &[Habits] = &[ITEMS, LINES, VALUES, INSTRUCTIONS, PTX];

/// Codes of errors that are not vague, and of which the shape of the line says more all the same.
pub const PRECISE: &[&str] = &[
    "resolve::condition-width",
    "resolve::memory-as-value",
    "validate::illegal-sem",
    "validate::missing-scope",
];

/// What to write for a statement or its line; `is_outside` if it stands between kernels.
pub fn answer(statement: &str, line: &str, is_outside: bool) -> Option<String> {
    let outside: &[Habits] = if is_outside { &[OUTSIDE] } else { &[] };
    let find = |text: &str| {
        let shapes = outside.iter().chain(ALL).copied().flatten();
        shapes.filter_map(|(shape, help)| Some(filled(help, &parts_of(shape, text)?))).next()
    };
    find(statement).or_else(|| find(line.trim()))
}

/// Whether a line has a character that is not ASCII, which is then named, with what it looks like.
pub fn look_alike(line: &str, at: usize) -> Option<String> {
    // The lexer stumbles over the character itself, the parser maybe behind it.
    let strange = |(from, c): &(usize, char)| (!c.is_ascii()).then_some((*from, *c));
    let all: Vec<(usize, char)> = line.char_indices().filter_map(|found| strange(&found)).collect();
    let (_, c) = all.iter().copied().min_by_key(|(from, _)| from.abs_diff(at))?;
    let code = format!("U+{:04X}", u32::from(c));
    if let Some(plain) = plain(c) {
        return Some(match plain {
            "nothing" => format!("an invisible character, {code}, stands here: delete it"),
            " " => format!("this blank is {code}: type a plain space"),
            _ => format!("`{c}` ({code}) only looks like it: type `{plain}`"),
        });
    }
    c.is_alphanumeric().then(|| {
        format!("names are of ASCII letters, digits and `_`, as in PTX: `{c}` ({code}) is none of them")
    })
}

/// What stands for the `*` and `@` of a shape in a text that has it.
fn parts_of<'t>(shape: &str, text: &'t str) -> Option<Vec<&'t str>> {
    let mut parts = Vec::new();
    // A pasted megabyte in one line is no habit.
    (text.len() <= 400 && fits(shape, text, &mut parts)).then_some(parts)
}

fn fits<'t>(shape: &str, text: &'t str, parts: &mut Vec<&'t str>) -> bool {
    let Some(first) = shape.chars().next() else { return text.trim().is_empty() };
    let rest = &shape[first.len_utf8()..];
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '%' | '$');
    match first {
        ' ' => fits(rest, text.trim_start(), parts),
        '@' | '~' => {
            let end = text.find(|c| !is_word(c)).unwrap_or(text.len());
            if end == 0 || first == '~' && text.starts_with(|c: char| c.is_ascii_digit()) {
                return false;
            }
            parts.push(&text[..end]);
            fits(rest, &text[end..], parts) || {
                parts.pop();
                false
            }
        }
        // A star that is meant.
        '\\' => match rest.strip_prefix('*') {
            Some(rest) => text.strip_prefix('*').is_some_and(|text| fits(rest, text, parts)),
            None => false,
        },
        '*' => text.char_indices().map(|(at, _)| at).chain([text.len()]).any(|end| {
            let n_parts = parts.len();
            parts.push(text[..end].trim());
            fits(rest, &text[end..], parts) || {
                parts.truncate(n_parts);
                false
            }
        }),
        _ => text.strip_prefix(first).is_some_and(|text| fits(rest, text, parts)),
    }
}

/// An answer with what stood in the text.
fn filled(help: &str, parts: &[&str]) -> String {
    let numbered = parts.iter().enumerate();
    numbered.fold(help.to_owned(), |text, (i, part)| text.replace(&format!("{{{}}}", i + 1), part))
}

#[cfg(test)]
mod tests {
    use super::{ALL, answer, look_alike, parts_of};

    #[test]
    fn a_shape_takes_words_and_rests() {
        assert_eq!(parts_of("let mut @ = *;", "let mut v = a + 1;"), Some(vec!["v", "a + 1"]));
        assert_eq!(parts_of("while (1)*", "while(1) { }"), Some(vec!["{ }"]));
        assert_eq!(parts_of("let mut @ = *;", "let v = 1;"), None);
        assert_eq!(parts_of("*@(*);", "f(x);"), Some(vec!["", "f", "x"]));
    }

    #[test]
    fn each_answer_has_only_parts_that_its_shape_has() {
        for (shape, help) in ALL.iter().copied().flatten() {
            let n = shape.replace("\\*", "").matches(['*', '@', '~']).count();
            for i in n + 1..=9 {
                assert!(!help.contains(&format!("{{{i}}}")), "{shape}: {help}");
            }
            assert!(!help.is_empty() && !help.ends_with('.'), "{shape}: {help}");
        }
    }

    #[test]
    fn no_shape_is_behind_one_that_it_has() {
        let all: Vec<&str> = ALL.iter().copied().flatten().map(|(shape, _)| *shape).collect();
        for (i, shape) in all.iter().enumerate() {
            let text = shape.replace("\\*", "#").replace(['@', '~', '*'], "w").replace('#', "*");
            let earlier = all[..i].iter().find(|earlier| parts_of(earlier, &text).is_some());
            assert_eq!(earlier, None, "hides {shape}");
        }
    }

    #[test]
    fn a_line_without_habit_has_no_answer() {
        for line in ["st [x], 1;", "let v = ld [x];", "if tid == 0 {", "", "bar.sync 0;", "assert v == 1;"] {
            assert_eq!(answer(line, line, false), None, "{line}");
        }
        assert_eq!(look_alike("st [x], 1;", 3), None);
    }

    #[test]
    fn a_line_of_stars_is_read_in_time() {
        let line = "(".repeat(390);
        assert_eq!(answer(&line, &line, true), None);
    }
}
