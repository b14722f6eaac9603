//! Rules of the specification's check index: each with a kernel that breaks it, one that just does not, and a page.
//!
//! The kernels are in `tests/rules`, a file per family. The line before a kernel names the rule and says what is expected:
//! `//@ rule UB-B1 fires barrier::no-such-barrier`, or `//@ rule UB-B1 near miss`, which must be proved. A second id in
//! parentheses is the one that reports and pages use. A kernel that fires must have the code among its findings, and the
//! code's page must name the rule. A rule listed in `COVERED` that lacks a firing kernel, a near miss or a page fails, and
//! so does a rule that has kernels and is not listed.

use fencepost::check::{CheckError, check};
use fencepost::codes;
use fencepost::encode::Treatment;
use fencepost::verdict::Verdict;
use fencepost_dsl::cat::MemoryModel;
use fencepost_dsl::kernel::program::{Kernel, Program};
use fencepost_tests::run::{codes_of, config, load, model, model_for, spa_model};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Rules that have kernels, by family.
const COVERED: &[(&str, &[&str])] = &[
    ("execution-barriers", &["UB-B1", "UB-B2", "UB-B3", "UB-B4", "UB-B5", "UB-B6", "BR-6", "A-22", "P-1"]),
    ("warp-barriers", &["UB-W1", "BR-8"]),
    ("cluster-barriers", &["UB-C1", "UB-C2", "UB-C3", "R-12", "BR-14", "P-1"]),
    ("lifetime-and-progress", &["L-1", "L-2", "P-2", "P-3"]),
    ("hangs", &["LT-5", "LT-7", "LT-8"]),
    ("mbarriers", &["UB-M1", "UB-M16", "UB-M5", "UB-M6", "UB-M8", "UB-M12", "UB-M17", "UB-M18"]),
    ("races", &["R-1", "R-2", "R-4", "R-5", "R-14"]),
    ("tensor-memory", &["R-11", "UB-A8"]),
    ("matrix-registers", &["R-10", "UB-A5", "UB-A6", "UB-A7"]),
    ("spa", &["SPA-R1", "SPA-R2", "SPA-R3", "SPA-R4"]),
    ("addresses", &["MM-8"]),
    ("registers", &["LT-10", "UB-A12", "UB-A13"]),
    ("non-coherent-loads", &["MM-2"]),
    ("floating-point", &["MM-24"]),
    (
        "asynchronous-operations",
        &[
            "R-3", "R-6", "R-7", "R-8", "R-9", "AS-35", "AS-37", "R-13", "UB-A2", "UB-A3", "UB-A9", "UB-A10",
            "UB-A11", "L-3", "L-4",
        ],
    ),
];

/// Pages of races and hangs are about more than one rule and do not name each.
const GENERAL: &[&str] =
    &["race::uniform", "deadlock::barrier-never-completes", "deadlock::phase-never-completes"];

/// What the line before a kernel says.
#[derive(Clone, Debug)]
struct Claim {
    kernel: String,
    rule: String,
    /// As pages call it.
    alias: String,
    /// The finding; none for a near miss.
    code: Option<String>,
}

#[test]
fn every_covered_rule_fires_has_a_near_miss_and_a_page() {
    let (ptx, spa) = (model(&[]), spa_model(&[]));
    let mut failures: Vec<String> = Vec::new();
    let mut families: BTreeSet<String> = BTreeSet::new();
    for path in files() {
        let family = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let claims = claims(&fs::read_to_string(&path).expect("a readable file"));
        failures.extend(gaps(&family, &claims));
        let program = load(&path);
        assert_eq!(program.kernels.len(), claims.len(), "{family}: every kernel has one line before it");
        let model = model_for(&program, &ptx, &spa);
        for (claim, kernel) in claims.iter().zip(&program.kernels) {
            assert_eq!(claim.kernel, kernel.name);
            if let Err(why) = holds(claim, &program, kernel, model) {
                failures.push(format!("{family}: {} ({}): {why}", claim.kernel, claim.rule));
            }
        }
        families.insert(family);
    }
    let listed: BTreeSet<String> = COVERED.iter().map(|&(family, _)| family.to_owned()).collect();
    assert_eq!(families, listed, "files and families");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// What the claims of a family lack.
fn gaps(family: &str, claims: &[Claim]) -> Vec<String> {
    let listed = COVERED.iter().find(|&&(name, _)| name == family).map_or(&[][..], |&(_, rules)| rules);
    let mut by_rule: BTreeMap<&str, [bool; 2]> = listed.iter().map(|&rule| (rule, [false; 2])).collect();
    let mut failures = Vec::new();
    for claim in claims {
        match by_rule.get_mut(claim.rule.as_str()) {
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

/// Whether every launch of the kernel does what the claim says.
fn holds(claim: &Claim, program: &Program, kernel: &Kernel, model: &MemoryModel) -> Result<(), String> {
    for launch in &kernel.launches {
        let outcome = match check(program, kernel, launch, model, &config(Treatment::DEFAULT)) {
            Ok(outcome) => outcome,
            Err(CheckError::Unsupported(diagnostic)) => return Err(format!("refused: {}", diagnostic.code)),
            Err(error @ CheckError::SelfCheck { .. }) => return Err(error.to_string()),
        };
        let found = codes_of(&outcome, model);
        let is_right = match &claim.code {
            Some(code) => outcome.verdict == Verdict::Violated && found.contains(code.as_str()),
            None => outcome.verdict == Verdict::Proved,
        };
        if !is_right {
            return Err(format!("{} with {found:?}", outcome.verdict.name()));
        }
    }
    Ok(())
}

/// The lines of a file that begin with `//@`, each with the kernel after it.
fn claims(text: &str) -> Vec<Claim> {
    let mut claims = Vec::new();
    let mut open: Option<(String, String, Option<String>)> = None;
    for line in text.lines() {
        if let Some(claim) = line.strip_prefix("//@ rule ") {
            let words: Vec<&str> = claim.split_whitespace().collect();
            let (rule, rest) = words.split_first().expect("a rule");
            let (alias, rest) = match rest {
                [alias, rest @ ..] if alias.starts_with('(') => (alias.trim_matches(['(', ')']), rest),
                _ => (*rule, rest),
            };
            let code = match rest {
                ["fires", code] => Some((*code).to_owned()),
                ["near", "miss"] => None,
                _ => panic!("cannot read `{line}`"),
            };
            open = Some(((*rule).to_owned(), alias.to_owned(), code));
        } else if let Some(rest) = line.strip_prefix("kernel ") {
            let kernel = rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
            let (rule, alias, code) = open.take().unwrap_or_else(|| panic!("no line before kernel {kernel}"));
            claims.push(Claim { kernel: kernel.to_owned(), rule, alias, code });
        }
    }
    claims
}

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("rules");
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .expect("the rules are there")
        .map(|entry| entry.expect("a readable folder").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "fence"))
        .collect();
    files.sort();
    files
}
