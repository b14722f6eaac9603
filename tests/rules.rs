//! Rules of the specification's check index: each with a kernel that breaks it, one that just does not, and a page.
//!
//! The kernels are in `tests/rules`, a file per family. The line before a kernel names the rule and says what is expected:
//! `//@ rule UB-B1 fires barrier::no-such-barrier`, or `//@ rule UB-B1 near miss`, which must be proved. A second id in
//! parentheses is the one that reports and pages use. `//@ rule LT-8 left open` says that whether it hangs is known up to
//! the bound only. A kernel that fires must have the code among its findings, and the code's page must name the rule. A rule listed in `COVERED` that lacks a firing kernel, a near miss or a page fails, and
//! so does a rule that has kernels and is not listed.

use fencepost::codes;
use fencepost::encode::Treatment;
use fencepost::verdict::{Property, Verdict};
use fencepost_tests::claims::{self, Claims, Models, Says};
use std::collections::{BTreeMap, BTreeSet};

/// Rules that have kernels, by family.
const COVERED: &[(&str, &[&str])] = &[
    (
        "execution-barriers",
        &["UB-B1", "UB-B2", "UB-B3", "UB-B4", "UB-B5", "UB-B6", "BR-3", "BR-6", "A-22", "P-1"],
    ),
    ("warp-barriers", &["UB-W1", "BR-8"]),
    ("cluster-barriers", &["UB-C1", "UB-C2", "UB-C3", "R-12", "BR-14", "P-1"]),
    ("lifetime-and-progress", &["L-1", "L-2", "P-2", "P-3"]),
    ("hangs", &["LT-5", "LT-7", "LT-8"]),
    (
        "mbarriers",
        &["UB-M1", "UB-M16", "UB-M5", "UB-M6", "UB-M8", "UB-M11", "UB-M12", "UB-M17", "UB-M18", "MB-20"],
    ),
    ("races", &["R-1", "R-2", "R-4", "R-5", "R-14"]),
    ("tensor-memory", &["R-11", "UB-A8"]),
    ("matrix-registers", &["R-10", "UB-A5", "UB-A6", "UB-A7"]),
    ("spa", &["SPA-R1", "SPA-R2", "SPA-R3", "SPA-R4"]),
    ("addresses", &["MM-8"]),
    ("bulk-fills", &["MM-8"]),
    ("registers", &["LT-10", "UB-A12", "UB-A13"]),
    ("non-coherent-loads", &["MM-2"]),
    ("floating-point", &["MM-24"]),
    ("multimem", &["MM-7", "MM-8", "MM-24"]),
    ("asynchronous-reductions", &["MM-23", "MM-24"]),
    (
        "asynchronous-operations",
        &[
            "R-3", "R-6", "R-7", "R-8", "R-9", "AS-35", "AS-37", "R-13", "UB-A2", "UB-A3", "UB-A9", "UB-A10",
            "UB-A11", "L-3", "L-4",
        ],
    ),
];

/// Pages of races, indices, assertions and hangs are about more than one rule and do not name each.
const GENERAL: &[&str] = &[
    "bounds::out-of-bounds",
    "race::uniform",
    "assert::violated",
    "deadlock::barrier-never-completes",
    "deadlock::phase-never-completes",
];

/// What the line before a kernel says.
#[derive(Clone, Debug)]
struct Claim {
    rule: String,
    /// As pages call it.
    alias: String,
    /// The finding; none for a near miss.
    code: Option<String>,
    /// Whether it is neither.
    is_left_open: bool,
}

#[test]
fn every_covered_rule_fires_has_a_near_miss_and_a_page() {
    let models = Models::new();
    let mut failures: Vec<String> = Vec::new();
    let mut families: BTreeSet<String> = BTreeSet::new();
    for mut family in Claims::of_folder("rules") {
        let claims: Vec<Claim> = family.claims.iter_mut().map(claim).collect();
        failures.extend(gaps(&family.name, &claims));
        failures.extend(family.wrong(&models, Treatment::DEFAULT));
        families.insert(family.name);
    }
    let listed: BTreeSet<String> = COVERED.iter().map(|&(family, _)| family.to_owned()).collect();
    assert_eq!(families, listed, "files and families");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Reads the line before a kernel; what is to be found goes where the runner looks for it.
fn claim(claim: &mut claims::Claim) -> Claim {
    let words: Vec<&str> = claim.head.split_whitespace().collect();
    let (rule, rest) = match words.as_slice() {
        ["rule", rule, rest @ ..] => (*rule, rest),
        _ => panic!("cannot read `{}`", claim.head),
    };
    let (alias, rest) = match rest {
        [alias, rest @ ..] if alias.starts_with('(') => (alias.trim_matches(['(', ')']), rest),
        _ => (rule, rest),
    };
    let (code, expected) = match rest {
        ["fires", code] => {
            (Some((*code).to_owned()), vec![Says::Violated, Says::Finds((*code).to_owned(), true)])
        }
        ["near", "miss"] => (None, vec![Says::Proved]),
        ["left", "open"] => (None, vec![Says::Of(Property::Deadlock, Verdict::ProvedUpToBound)]),
        _ => panic!("cannot read `{}`", claim.head),
    };
    let is_left_open = rest == ["left", "open"];
    let read = Claim { rule: rule.to_owned(), alias: alias.to_owned(), code, is_left_open };
    claim.expected = expected.into_iter().map(Says::usually).collect();
    read
}

/// What the claims of a family lack.
fn gaps(family: &str, claims: &[Claim]) -> Vec<String> {
    let listed = COVERED.iter().find(|&&(name, _)| name == family).map_or(&[][..], |&(_, rules)| rules);
    let mut by_rule: BTreeMap<&str, [bool; 2]> = listed.iter().map(|&rule| (rule, [false; 2])).collect();
    let mut failures = Vec::new();
    for claim in claims {
        match by_rule.get_mut(claim.rule.as_str()) {
            Some(_) if claim.is_left_open => {}
            Some(seen) => seen[usize::from(claim.code.is_none())] = true,
            None => failures.push(format!("{family}: {} is not in COVERED", claim.rule)),
        }
        if let Some(name) = &claim.code {
            let page = codes::find(name).map(codes::page).unwrap_or_default();
            let names_it = page.contains(&claim.rule) || page.contains(&claim.alias);
            if !page.contains("Example") || !(names_it || GENERAL.contains(&name.as_str())) {
                failures.push(format!("{family}: the page of {name} does not name {}", claim.rule));
            }
        }
    }
    for (rule, seen) in by_rule {
        for (seen, what) in seen.iter().zip(["a kernel that fires", "a near miss"]) {
            if !seen {
                failures.push(format!("{family}: {rule} has no {what}"));
            }
        }
    }
    failures
}
