//! Final states as text: how the random suites ask the checker about them.

use fencepost_reference::ANYTHING;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// A `final` block that asks for each of the first `reachable_max` states, one a line, and claims that there are no
/// states but `outcomes`; of what may be [`ANYTHING`], nothing is said. The kernel must declare `x`.
///
/// # Panics
/// Never: writing to a string cannot fail.
pub fn final_block(outcomes: &BTreeSet<BTreeMap<String, u64>>, reachable_max: usize) -> String {
    let condition = |outcome: &BTreeMap<String, u64>| {
        let known = outcome.iter().filter(|(_, value)| **value != ANYTHING);
        let parts: Vec<String> = known.map(|(name, value)| format!("[{name}] == {value}")).collect();
        if parts.is_empty() { "([x] == [x])".to_owned() } else { format!("({})", parts.join(" && ")) }
    };
    let mut text = "    final {\n".to_owned();
    for outcome in outcomes.iter().take(reachable_max) {
        writeln!(text, "        reachable {};", condition(outcome)).expect("writing to a string cannot fail");
    }
    let all: Vec<String> = outcomes.iter().map(condition).collect();
    let all = if all.is_empty() { "[x] != [x]".to_owned() } else { any_of(&all) };
    writeln!(text, "        assert {all};\n    }}").expect("writing to a string cannot fail");
    text
}

/// A disjunction as a balanced tree: the parser limits how deep expressions nest.
fn any_of(conditions: &[String]) -> String {
    match conditions {
        [only] => only.clone(),
        several => {
            let (left, right) = several.split_at(several.len() / 2);
            format!("({} ||\n            {})", any_of(left), any_of(right))
        }
    }
}
