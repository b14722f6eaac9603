//! What people type out of the habit of another language, and what they are told: a table with snapshots, each row judged.

#![cfg(feature = "foreign")]

use fencepost_dsl::kernel::{LoadOptions, load};
use fencepost_dsl::{Diagnostic, SourceMap};
use std::collections::BTreeMap;

#[test]
fn habits_are_answered() {
    let mut answers = String::new();
    let mut poor = Vec::new();
    let mut n_of: BTreeMap<&str, usize> = BTreeMap::new();
    for input in include_str!("kernel/habits.txt").lines() {
        if input.is_empty()
            || input.starts_with("## ")
            || input.starts_with("# What")
            || input.starts_with("# `~`")
        {
            continue;
        }
        let text = in_kernel(input);
        let mut sources = SourceMap::default();
        let errors = load(&mut sources, "k.fence", &mut |_| Ok(text.clone()), &LoadOptions::default());
        let errors = errors.err().unwrap_or_default();
        let judged = judgement(&errors);
        *n_of.entry(judged).or_default() += 1;
        answers += &format!("{input}   [{judged}]\n");
        for error in &errors {
            let help = error.help.as_deref().unwrap_or("-");
            answers += &format!("    {}: {}\n        {help}\n", error.code, error.message);
        }
        if judged == "poor" {
            poor.push(input);
        }
    }
    answers += &format!("\nall: {n_of:?}\n");
    insta::assert_snapshot!("habits", answers);
    assert!(poor.is_empty(), "no help for {poor:#?}");
}

/// How well someone is helped: *good* is one error that says what to write or to take out, or that names what is not modelled;
/// *usable* is such an error first, and others behind it, or one that says what is wrong without a line to write; all else is
/// *poor*.
fn judgement(errors: &[Diagnostic]) -> &'static str {
    let Some((first, others)) = errors.split_first() else { return "poor" };
    let help = first.help.as_deref().unwrap_or_default();
    let has_line = help.contains('`') || ["take it out", "delete it"].iter().any(|word| help.contains(word));
    match (has_line || first.code.starts_with("unsupported::"), others) {
        (true, []) => "good",
        (true, _) => "usable",
        (false, _) if !help.is_empty() => "usable",
        (false, _) => "poor",
    }
}

/// The file that an input of the table stands for.
fn in_kernel(input: &str) -> String {
    let launch = if input.starts_with("launch") { "" } else { "launch { ctas: 2, warps: 2 }" };
    let (before, line) = match input.split_at(1) {
        ("^", item) => (item, "st [x], 1;"),
        ("~", file) => return file.replace("\\n", "\n"),
        _ => ("", input),
    };
    format!(
        "{before}\nfn f(o: &u32) {{ st [o], 1; }}\nkernel k {{\n{launch}\nglobal x: u32 = 0;\nglobal a[4]: u32 = 0;\n\
         shared s[4]: u32;\nshared m: mbarrier;\nvar v: u32 = 0;\n{line}\n}}\n"
    )
}
