//! What the packages depend on is what `.ci/deny.toml` allows: licences, sources, names. `cargo deny` looks at the same file
//! where it is installed; this looks always, since it needs nothing but cargo and what was downloaded for the build.

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// What is allowed, as far as this test reads it.
struct Policy {
    licences: Vec<String>,
    /// Names, and the licence that they alone may have.
    exceptions: Vec<(String, String)>,
    banned: Vec<String>,
    registries: Vec<String>,
}

/// The texts in quotation marks.
fn quoted(text: &str) -> Vec<String> {
    text.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

impl Policy {
    fn read() -> Self {
        let text = fs::read_to_string(root().join(".ci/deny.toml")).expect("the policy is there");
        let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
        let text = lines.join("\n");
        let section = |name: &str| {
            let (_, rest) = text.split_once(&format!("[{name}]\n")).expect("the policy has this section");
            rest.split("\n[").next().unwrap_or_default().to_owned()
        };
        let list = |text: &str, key: &str| {
            let (_, rest) = text.split_once(&format!("{key} = [")).expect("the section has this list");
            quoted(
                rest.split_once("\n]")
                    .map_or_else(|| rest.lines().next().unwrap_or_default(), |(list, _)| list),
            )
        };
        let exceptions = text.split("[[licenses.exceptions]]\n").skip(1).map(|entry| {
            let words = quoted(entry.split("\n[").next().unwrap_or_default());
            (words[0].clone(), words[1].clone())
        });
        let bans = section("bans");
        let banned = bans
            .lines()
            .filter_map(|line| line.split_once("{ name = "))
            .map(|(_, rest)| quoted(rest)[0].clone());
        Self {
            licences: list(&section("licenses"), "allow"),
            exceptions: exceptions.collect(),
            banned: banned.collect(),
            registries: list(&section("sources"), "allow-registry"),
        }
    }

    /// Whether a package may be used under one of the licences that its expression offers.
    fn allows(&self, name: &str, expression: &str) -> bool {
        let is_allowed = |licence: &str| {
            // With a plus: this version or a later one, so also this one.
            let licence = licence.strip_suffix('+').unwrap_or(licence);
            self.licences.iter().any(|allowed| allowed == licence)
                || self.exceptions.iter().any(|(of, allowed)| of == name && allowed == licence)
        };
        holds(expression, &is_allowed)
    }
}

/// An SPDX expression, or one of before, with `/` for `OR`: `AND` binds more tightly, parentheses more tightly still.
fn holds(expression: &str, is_allowed: &dyn Fn(&str) -> bool) -> bool {
    let expression = expression.replace('/', " OR ");
    apart(&expression, " OR ").iter().any(|option| {
        apart(option, " AND ").iter().all(|part| {
            let part = part.trim();
            match part.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
                Some(inner) => holds(inner, is_allowed),
                None => is_allowed(part),
            }
        })
    })
}

/// The parts between an operator that stands outside of parentheses.
fn apart<'a>(text: &'a str, operator: &str) -> Vec<&'a str> {
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0_u32);
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ if depth == 0 && at >= start && text[at..].starts_with(operator) => {
                parts.push(&text[start..at]);
                start = at + operator.len();
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

/// What cargo knows of all packages that a build on this machine uses.
fn metadata() -> Value {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = Command::new(rustc).arg("-vV").output().expect("the compiler starts").stdout;
    let version = String::from_utf8_lossy(&version).into_owned();
    let host =
        version.lines().find_map(|line| line.strip_prefix("host: ")).expect("it says what it builds for");
    // Offline: packages of other systems were never downloaded, and a test needs no network.
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked", "--offline", "--filter-platform", host])
        .current_dir(root())
        .output()
        .expect("cargo starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("cargo prints JSON")
}

#[test]
fn licences_sources_and_names_are_allowed() {
    let policy = Policy::read();
    let metadata = metadata();
    let packages = metadata["packages"].as_array().expect("there are packages");
    assert!(packages.len() > 100, "{} packages were found", packages.len());
    let mut wrong = Vec::new();
    for package in packages {
        let name = package["name"].as_str().unwrap_or_default();
        let expression = package["license"].as_str().unwrap_or_default();
        if !policy.allows(name, expression) {
            wrong.push(format!("{name}: the licence `{expression}` is not on the list"));
        }
        if policy.banned.iter().any(|banned| banned == name) {
            wrong.push(format!("{name} is banned"));
        }
        // A package without a source is a folder of this repository.
        if let Some(source) = package["source"].as_str()
            && !policy.registries.iter().any(|registry| source.strip_prefix("registry+") == Some(registry))
        {
            wrong.push(format!("{name} is from {source}"));
        }
    }
    wrong.sort();
    assert!(wrong.is_empty(), ".ci/deny.toml does not allow this:\n{}", wrong.join("\n"));
}

#[test]
fn the_policy_is_read_whole() {
    let policy = Policy::read();
    assert!(policy.licences.iter().any(|licence| licence == "MIT") && policy.licences.len() >= 4);
    assert!(policy.allows("imbl", "MPL-2.0+") && !policy.allows("other", "MPL-2.0+"));
    assert_eq!(policy.banned, ["im", "varisat"]);
    assert_eq!(policy.registries, ["https://github.com/rust-lang/crates.io-index"]);
}

#[test]
fn expressions_offer_and_demand() {
    let is_allowed = |licence: &str| matches!(licence, "MIT" | "Zlib");
    for (expression, expected) in [
        ("MIT", true),
        ("GPL-3.0", false),
        ("GPL-3.0 OR MIT", true),
        ("GPL-3.0/MIT", true),
        ("GPL-3.0 / MIT", true),
        ("GPL-3.0 AND MIT", false),
        ("(GPL-3.0 OR MIT) AND Zlib", true),
        ("(GPL-3.0 OR MIT) AND BSD", false),
        ("Zlib AND (MIT OR GPL-3.0)", true),
        ("MIT AND GPL-3.0 OR Zlib", true),
        ("", false),
    ] {
        assert_eq!(holds(expression, &is_allowed), expected, "{expression}");
    }
}
