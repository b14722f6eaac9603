//! The rules that reports, models and the book cite by id (`MM-36`): a sentence for each, and where it is said.
//!
//! The table is the text file `rules.txt` beside this one. Its form is fixed, and `checker/tests/rules.rs` holds that every id
//! cited anywhere is in it and that every entry is cited.

use crate::codes;
use crate::report::case::{Style, wrap};
use std::fmt::Write as _;

const TABLE: &str = include_str!("rules.txt");

/// A rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rule {
    /// `MM-36`.
    pub id: &'static str,
    /// The section of the PTX ISA, or what else says it.
    pub section: &'static str,
    /// What it says, in our words.
    pub sentence: String,
}

/// The rules of one subject.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Subject {
    /// As a heading.
    pub title: &'static str,
    /// In the order of the table.
    pub rules: Vec<Rule>,
}

/// All rules, by subject.
pub fn subjects() -> Vec<Subject> {
    let mut subjects: Vec<Subject> = Vec::new();
    for line in TABLE.lines() {
        if let Some(title) = line.strip_prefix("= ") {
            subjects.push(Subject { title, rules: Vec::new() });
        } else if let Some(subject) = subjects.last_mut() {
            add(subject, line);
        }
    }
    subjects
}

/// A line of a subject: the head of an entry, or a part of the last one's sentence.
fn add(subject: &mut Subject, line: &'static str) {
    if let Some(part) = line.strip_prefix("  ") {
        if let Some(rule) = subject.rules.last_mut() {
            let gap = if rule.sentence.is_empty() { "" } else { " " };
            rule.sentence.push_str(gap);
            rule.sentence.push_str(part);
        }
    } else if let Some((id, section)) = line.split_once(" [") {
        let section = section.trim_end_matches(']');
        subject.rules.push(Rule { id, section, sentence: String::new() });
    }
}

/// The rule with this id, in whatever case it is written.
pub fn find(id: &str) -> Option<Rule> {
    subjects().into_iter().flat_map(|subject| subject.rules).find(|rule| rule.id.eq_ignore_ascii_case(id))
}

/// What `fencepost explain MM-36` prints.
pub fn page(rule: &Rule) -> String {
    // Writing to a string does not fail.
    let mut text = lines(&format!("{}: {}", rule.id, rule.sentence));
    let _ = writeln!(text, "\nWhere: {}", place(rule));
    let codes: Vec<&str> =
        codes::all().filter(|code| cites(code.text(), rule.id)).map(|code| code.name).collect();
    if !codes.is_empty() {
        text += &lines(&format!("Findings whose page names it: {}", codes.join(", ")));
    }
    text
}

fn lines(text: &str) -> String {
    wrap(text, Style::PLAIN.width).iter().map(|line| format!("{line}\n")).collect()
}

/// Where a rule is said, for a reader who has not seen the table.
pub fn place(rule: &Rule) -> String {
    match rule.section.starts_with(|c: char| c.is_ascii_digit()) {
        true => format!("PTX ISA 9.4, {}", rule.section),
        false => rule.section.to_owned(),
    }
}

/// Whether a text names this rule and not just one whose id begins like it.
fn cites(text: &str, id: &str) -> bool {
    text.match_indices(id).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + id.len()..].chars().next();
        !before.is_some_and(|c| c.is_ascii_alphanumeric() || c == '-')
            && !after.is_some_and(|c| c.is_ascii_digit())
    })
}
