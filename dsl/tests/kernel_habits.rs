//! What people type out of the habit of another language, and what they are told: a table with snapshots.

use fencepost_dsl::SourceMap;
use fencepost_dsl::kernel::{LoadOptions, load};

#[test]
fn habits_are_answered() {
    let mut answers = String::new();
    let mut n_without = Vec::new();
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
        answers += &format!("{input}\n");
        for error in &errors {
            let help = error.help.as_deref().unwrap_or("-");
            answers += &format!("    {}: {}\n        {help}\n", error.code, error.message);
        }
        if !errors
            .first()
            .is_some_and(|error| error.help.is_some() || error.code.starts_with("unsupported::"))
        {
            n_without.push(input);
        }
    }
    insta::assert_snapshot!("habits", answers);
    assert!(n_without.is_empty(), "no help for {n_without:#?}");
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
