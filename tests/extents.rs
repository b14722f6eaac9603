//! What operands cover, as the book's table has it: an element is covered if touching it meanwhile is a race, or is wrong
//! otherwise.

use fencepost::encode::Treatment;
use fencepost_dsl::cat::memory_model::MemoryModel;
use fencepost_dsl::kernel::{self, LoadOptions};
use fencepost_dsl::{SourceMap, kernel::program::Program};
use fencepost_tests::run::{codes_of, config, model, outcomes_of};
use std::fmt::Write as _;

const BOOK: &str = include_str!("../book/src/reference/language.md");

/// The objects of the table, with values where something reads them.
const OBJECTS: &str = "shared x[2][2]: u64 = 1; shared w[2][2]: u32 = 1; global g[2][2]: u64 = 1; tmem t[2][2]: u32; \
    register r[2][2]: u32;";

const ELEMENTS: [&str; 4] = ["[0][0]", "[0][1]", "[1][0]", "[1][1]"];

/// The instruction of a row, and what is said that its operand is.
fn rows() -> Vec<(&'static str, &'static str)> {
    let (_, section) = BOOK.split_once("#### What an operand covers").expect("the section is there");
    let rows = section.lines().skip_while(|line| !line.starts_with("|---")).skip(1);
    rows.take_while(|line| line.starts_with('|'))
        .map(|line| {
            let cells: Vec<&str> = line.split('|').map(str::trim).collect();
            let [.., example, covered, ""] = cells[..] else { panic!("{line}") };
            (example.trim_matches('`'), covered)
        })
        .collect()
}

/// A warp executes an instruction; then it touches a register, or another warp some memory.
fn text(instruction: &str, touched: Option<&str>) -> String {
    let is_wgmma = instruction.starts_with("wgmma");
    let target = if is_wgmma { "sm_90a" } else { "sm_100a" };
    let fence = if is_wgmma { "wgmma.fence.sync.aligned;" } else { "" };
    let (mut own, mut other) = (String::new(), String::new());
    if let Some(place) = touched {
        match &place[..1] {
            "r" => write!(own, "mov.b32 {place}, 0;"),
            // A store right behind a load in its own thread is no race, so the other thread makes them all.
            "t" => write!(
                other,
                "tcgen05.st.sync.aligned.32x32b.x1.b32 [{place}], 5; tcgen05.wait::st.sync.aligned;"
            ),
            _ => write!(other, "st [{place}], 5;"),
        }
        .expect("strings take everything");
    }
    format!(
        "//! target {target} ptx 9.4\nkernel k {{ launch {{ warps: 2 }} {OBJECTS}\n    if warpid == 0 {{ {fence} {instruction} \
         {own} }} else {{ {other} }} }}"
    )
}

fn load(text: &str) -> Result<Program, Vec<&'static str>> {
    let mut read = |_: &str| Ok(text.to_owned());
    kernel::load(&mut SourceMap::default(), "row.fence", &mut read, &LoadOptions::default())
        .map_err(|errors| errors.iter().map(|error| error.code).collect())
}

/// Whether there is a race, or memory is given back that is in use.
fn clashes(text: &str, model: &MemoryModel) -> bool {
    let program = load(text).unwrap_or_else(|codes| panic!("{codes:?}\n{text}"));
    let outcomes = outcomes_of(&program, model, &config(Treatment::DEFAULT));
    let mut codes = outcomes.iter().flat_map(|outcome| codes_of(outcome, model));
    codes.any(|code| code.starts_with("race::") || code == "lifetime::tensor-memory-freed")
}

#[test]
fn operands_cover_what_the_table_says() {
    let model = model(&[]);
    let rows = rows();
    assert!(rows.len() > 20, "the table has been found");
    for (instruction, covered) in rows {
        if covered == "refused" {
            let found = load(&text(instruction, None)).err().unwrap_or_default();
            assert_eq!(found.len(), 1, "{instruction}: {found:?}");
            continue;
        }
        assert!(!clashes(&text(instruction, None), &model), "{instruction}: by itself");
        let named: Vec<&str> = covered.split(' ').map(|place| place.trim_matches('`')).collect();
        let object = if covered == "nothing" { "g" } else { &named[0][..1] };
        for element in ELEMENTS {
            let place = format!("{object}{element}");
            // Registers are the thread's own: what `mov` writes is in order with the next `mov`.
            if instruction.starts_with("mov") && named.contains(&place.as_str()) {
                continue;
            }
            let clashes = clashes(&text(instruction, Some(&place)), &model);
            assert_eq!(clashes, named.contains(&place.as_str()), "{instruction}: {place}");
        }
    }
}
