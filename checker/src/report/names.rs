//! What a finding names, for whoever has to know it again: objects and instructions, no lines and no threads.

use super::json::FindingReport;
use sha2::{Digest, Sha256};

/// The objects of its headline and the instructions of its places, in an order that does not depend on who was first.
pub(crate) fn of(finding: &FindingReport) -> Vec<String> {
    let places = finding.primary.iter().chain(&finding.secondary);
    named(&finding.message, places.map(|place| place.text.as_str()))
}

/// The same of a sentence and of the texts of places.
pub(crate) fn named<'a>(message: &str, places: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut names = quoted(message);
    let mut texts: Vec<String> = places.map(one_line).collect();
    texts.sort();
    for text in texts {
        if !names.contains(&text) {
            names.push(text);
        }
    }
    names
}

/// What a sentence names, without indices: of the elements of an array an execution shows one or another.
pub(crate) fn quoted(text: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for quoted in text.split('`').skip(1).step_by(2) {
        let name =
            one_line(quoted.split('[').next().filter(|name| !name.trim().is_empty()).unwrap_or(quoted));
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What identifies a finding from run to run; `nth` counts those that are alike, from 0.
pub(crate) fn fingerprint(parts: &[&str], names: &[String], nth: usize) -> String {
    let mut hash = Sha256::new();
    let names = names.iter().map(String::as_str);
    for part in parts.iter().copied().chain(names) {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    }
    hash.update((nth as u64).to_le_bytes());
    hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn names_have_no_indices() {
        assert_eq!(quoted("race on `data[3]` by `st [x], 1` and `data[4]`"), ["data", "st"]);
    }
}
