//! Loops that go on from one word to the next and stay at one until it is there: a round that leaves registers as they were is
//! without effect, one that goes on is not. Random ones, taken for waits and unwound.
//!
//! And loops that poll while registers hand values to one another: what a round leaves in one may be read behind the loop in
//! another.
//!
//! And arrivals that make up for one more that is pending (`cp.async.mbarrier.arrive`): phases that are counted, and the order of
//! all operations.
//!
//! `FENCEPOST_WALKS_PROGRAMS=N`, `FENCEPOST_CHAINS_PROGRAMS=N` and `FENCEPOST_RAISED_PROGRAMS=N` run N kernels, `…_SEED=S` others.

use fencepost::check::{Config, check};
use fencepost::encode::Treatment;
use fencepost::unroll::MbarrierEncoding;
use fencepost::verdict::{Outcome, Property, Verdict};
use fencepost_tests::random::{Counts, Numbers, Plan, Suite, run_over};
use fencepost_tests::run::{both, config, load_text, model};
use fencepost_tests::switched::Switched;
use proptest::prelude::any;

/// One thread publishes words one after the other, another walks over them: up or down, with what it has gathered in a register.
fn walk(numbers: &mut Numbers) -> String {
    let n = 1 + numbers.below(2);
    let store = numbers.of(&["st.release.gpu", "st.release.gpu", "st.relaxed.gpu"]);
    let load = numbers.of(&["ld.acquire.gpu", "ld.acquire.gpu", "ld.relaxed.gpu"]);
    let mut publish = String::new();
    for at in 0..=n {
        // Some are never there, and some come to be another value.
        if numbers.below(8) == 0 {
            continue;
        }
        let value = numbers.of(&[1, 1, 2]);
        publish +=
            &format!("        st.weak.u32 [data[{at}]], 7;\n        {store}.u32 [flag[{at}]], {value};\n");
    }
    let next = numbers.of(&["at = at + 1;", "at = at + 1;", "at = at + v;"]);
    let more = numbers.of(&["", "", "sum = sum + v;", "if v == 2 { break; }", "turns = turns + 1;"]);
    let idle = numbers.of(&["", "", "", "turns = turns + 1;", "st.relaxed.gpu.u32 [seen], 1;"]);
    let behind = numbers.of(&["", "assert sum <= 3;", "assert turns < 3;", "st.weak.u32 [data[0]], 9;"]);
    let first_test = numbers.below(2) == 0;
    let (head, end) = if first_test {
        (format!("while at <= {n} {{"), String::new())
    } else {
        ("loop {".to_owned(), format!("            if at > {n} {{ break; }}\n"))
    };
    format!(
        "kernel k {{
    launch {{ ctas: 2, lanes: 1, cooperative: true }}
    global flag[4]: u32 = 0;
    global data[4]: u32 = 0;
    global seen: u32 = 0;
    if ctaid == 0 {{
{publish}    }} else {{
        var at: u32 = 0;
        var sum: u32 = 0;
        var turns: u32 = 0;
        {head}
            let v = {load}.u32 [flag[at & 3]];
            if v != 0 {{
                let d = ld.weak.u32 [data[at & 3]];
                {more}
                {next}
            }} else {{
                {idle}
            }}
{end}        }}
        {behind}
    }}
}}
"
    )
}

fn outcome(text: &str, treatment: Treatment) -> Result<Outcome, fencepost::check::CheckError> {
    let program = load_text(text);
    let kernel = &program.kernels[0];
    let with = Config { unroll_max: 8, budget: 400_000_000, ..config(treatment) };
    check(&program, kernel, &kernel.launches[0], &model(&[]), &with)
}

/// A poll whose rounds hand on values from register to register.
fn chain(numbers: &mut Numbers) -> String {
    let mut lines: Vec<&str> = Vec::new();
    for _ in 0..1 + numbers.below(4) {
        lines.push(numbers.of(&[
            "x = y;",
            "z = x;",
            "z = y;",
            "y = x;",
            "x = x + 1;",
            "y = y + 1;",
            "y = 5;",
            "y = ld.relaxed.gpu.u32 [other];",
            "if v == 0 { x = y; }",
            "if x == 1 { z = 3; }",
        ]));
    }
    let load = numbers.of(&["ld.acquire.gpu", "ld.acquire.gpu", "ld.relaxed.gpu"]);
    let (head, test) = if numbers.below(3) == 0 {
        (format!("while ({load}.u32 [flag]) == 0 {{"), None)
    } else {
        ("loop {".to_owned(), Some(numbers.below(lines.len() as u64 + 1)))
    };
    let mut round = format!("            v = {load}.u32 [flag];\n");
    for (at, line) in (0..).zip(lines.iter().copied().chain([""])) {
        if test == Some(at) {
            round += "            if v == 1 { break; }\n";
        }
        round += &format!("            {line}\n");
    }
    let behind = numbers.of(&[
        "assert x < 2;",
        "assert z == 0;",
        "assert y < 2;",
        "if z == 1 { st.weak.u32 [data], 9; }",
        "st.weak.u32 [cell[x & 3]], 1;",
        "if y < 2 { let d = ld.weak.u32 [data]; }",
        "let d = ld.weak.u32 [data]; assert d == 7;",
    ]);
    format!(
        "kernel k {{
    launch {{ ctas: 2, lanes: 1, cooperative: true }}
    global flag: u32 = 0;
    global other: u32 = 0;
    global data: u32 = 0;
    global cell[4]: u32 = 0;
    if ctaid == 0 {{
        st.weak.u32 [data], 7;
        st.relaxed.gpu.u32 [other], 7;
        st.release.gpu.u32 [flag], 1;
    }} else {{
        var v: u32 = 0;
        var x: u32 = 0;
        var y: u32 = 0;
        var z: u32 = 0;
        {head}
{round}        }}
        {behind}
    }}
    final {{ assert [cell[0]] + [cell[1]] < 2; }}
}}
"
    )
}

/// As compilers write it: what is read behind the loop is another register than the one that goes round.
#[test]
fn a_count_of_polls_is_read_where_it_is_handed_on() {
    for (round, claim) in [
        ("n = n + 1; m = n; if ld.acquire.gpu.u32 [flag] == 1 { break; }", "m == 1"),
        ("m = n; n = 5; if ld.acquire.gpu.u32 [flag] == 1 { break; }", "m == 0"),
        ("m = n; if ld.acquire.gpu.u32 [flag] == 1 { break; } n = 1;", "m == 0"),
        ("m = n; n = ld.relaxed.gpu.u32 [other]; if ld.acquire.gpu.u32 [flag] == 1 { break; }", "m == 0"),
    ] {
        let text = format!(
            "kernel k {{
    launch {{ ctas: 2, lanes: 1, cooperative: true }}
    global flag: u32 = 0;
    global other: u32 = 0;
    if ctaid == 0 {{
        st.relaxed.gpu.u32 [other], 7;
        st.release.gpu.u32 [flag], 1;
    }} else {{
        var n: u32 = 0;
        var m: u32 = 0;
        loop {{ {round} }}
        assert {claim};
    }}
}}
"
        );
        let found = outcome(&text, Treatment::DEFAULT).expect("it is checked");
        assert_eq!(found.verdict, Verdict::Violated, "{text}");
    }
}

#[test]
fn registers_that_hand_on_values_agree() {
    let features = [("a chain", "x = y;"), ("a count", "y + 1"), ("a test first", "while (")];
    let results = ["violated", "proved", "bounded when unwound", "violated, and unwound"];
    let plan = Plan { n_programs: 200, first_seed: 0, salt: 79, n_memory_max: 0, progress: false };
    let suite = Suite { set_aside_max: 10, ..Suite::new("chains", plan, &features, &results) };
    suite.run("", |plan| {
        run_over(plan, any::<u64>, |&number, _, counts: &mut Counts| {
            let text = chain(&mut Numbers(number));
            let pair = [Treatment::DEFAULT, Treatment::UNWOUND].map(|treatment| outcome(&text, treatment));
            let Some([waited, unwound]) = both(pair, counts) else { return Ok(()) };
            counts.add_features(&text, &features);
            counts.add("violated", waited.verdict == Verdict::Violated);
            counts.add("proved", waited.verdict == Verdict::Proved);
            counts
                .add("bounded when unwound", waited.open_loops.is_empty() && !unwound.open_loops.is_empty());
            for (&(property, waited), &(_, unwound)) in waited.properties.iter().zip(&unwound.properties) {
                let is_hidden = waited == Verdict::Proved && unwound == Verdict::Violated;
                if property != Property::Reachable && is_hidden {
                    return Err(format!("{}: {waited:?}, unwound {unwound:?}\n{text}", property.name()));
                }
                counts.add(
                    "violated, and unwound",
                    waited == Verdict::Violated && unwound == Verdict::Violated,
                );
            }
            Ok(())
        })
    });
}

#[test]
fn loops_that_go_on_agree() {
    let features = [("a test first", "while at"), ("a break", "break;"), ("a count", "turns + 1")];
    let results = ["violated", "proved", "bounded when unwound", "violated, and unwound"];
    let plan = Plan { n_programs: 120, first_seed: 0, salt: 77, n_memory_max: 0, progress: false };
    let suite = Suite { set_aside_max: 10, ..Suite::new("walks", plan, &features, &results) };
    let (_, counts) = suite.run("", |plan| {
        run_over(plan, any::<u64>, |&number, _, counts: &mut Counts| {
            let text = walk(&mut Numbers(number));
            let pair = [Treatment::DEFAULT, Treatment::UNWOUND].map(|treatment| outcome(&text, treatment));
            let Some([waited, unwound]) = both(pair, counts) else { return Ok(()) };
            counts.add_features(&text, &features);
            counts.add("violated", waited.verdict == Verdict::Violated);
            counts.add("proved", waited.verdict == Verdict::Proved);
            counts
                .add("bounded when unwound", waited.open_loops.is_empty() && !unwound.open_loops.is_empty());
            for (&(property, waited), &(_, unwound)) in waited.properties.iter().zip(&unwound.properties) {
                // Rounds are counted differently, so what holds up to a bound is another claim.
                let is_hidden = waited == Verdict::Proved && unwound == Verdict::Violated;
                if property != Property::Reachable && is_hidden {
                    return Err(format!("{}: {waited:?}, unwound {unwound:?}\n{text}", property.name()));
                }
                counts.add(
                    "violated, and unwound",
                    waited == Verdict::Violated && unwound == Verdict::Violated,
                );
                let is_beyond = property != Property::Reachable
                    && waited == Verdict::Violated
                    && unwound != Verdict::Violated;
                counts.add("beyond the bound", is_beyond);
            }
            Ok(())
        })
    });
    let (found, beyond) = (counts.of("violated, and unwound"), counts.of("beyond the bound"));
    assert!(beyond * 5 <= found, "{beyond} violations need more rounds, {found} do not");
}

/// Threads copy, let the copies arrive with one more pending, arrive themselves, and wait: in one or two phases, some of them less.
fn tracked(numbers: &mut Numbers) -> String {
    let n_threads = 2 + numbers.below(2);
    let count = if numbers.below(6) == 0 { 1 + numbers.below(4) } else { n_threads };
    let n_rounds = 1 + numbers.below(2);
    let mut rounds = String::new();
    for round in 0..n_rounds {
        let who = numbers.of(&["tid < 9", "tid < 9", "tid < 9", "tid == 0", "tid != 0"]);
        let form = numbers.of(&["", "", "", "", ".noinc"]);
        let track = format!(
            "    if {who} {{\n        cp.async.ca.shared::cta.global [tile[tid]], [src[tid]], 8;\n        \
             cp.async.mbarrier.arrive{form}.shared::cta.b64 [full];\n    }}\n"
        );
        let arrives = numbers.of(&["tid < 9", "tid < 9", "tid < 9", "tid < 9", "tid == 0"]);
        let arrive =
            format!("    if {arrives} {{ mbarrier.arrive.release.cta.shared::cta.b64 _, [full]; }}\n");
        let parity = if numbers.below(10) == 0 { 1 - round % 2 } else { round % 2 };
        let wait =
            format!("    await mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 [full], {parity};\n");
        let turned = numbers.below(6) == 0;
        rounds += &if turned { arrive + &track } else { track + &arrive };
        if numbers.below(8) != 0 {
            rounds += &wait;
        }
        rounds += numbers.of(&[
            "",
            "    if tid < 9 { let v = ld.weak.u64 [tile[tid]]; }\n",
            "    if tid < 9 { let v = ld.weak.u64 [tile[0]]; }\n",
        ]);
    }
    format!(
        "kernel k {{
    launch {{ warps: 1, lanes: {n_threads} }}
    global src[4]: u64 = 5;
    shared tile[4]: u64 = 0;
    shared full: mbarrier;
    if tid == 0 {{ mbarrier.init.shared::cta.b64 [full], {count}; }}
    bar.sync 0;
{rounds}    cp.async.wait_all;
}}
"
    )
}

#[test]
fn arrivals_that_were_added_agree() {
    const FEATURES: &[(&str, &str)] =
        &[("three threads", "lanes: 3"), ("the second phase", "[full], 1;"), ("without", "noinc")];
    let plan = Plan { n_programs: 100, first_seed: 0, salt: 78, n_memory_max: 0, progress: false };
    let results = ["counted", "violated", "proved"];
    let suite = Suite { set_aside_max: 20, ..Suite::new("raised", plan, FEATURES, &results) };
    let off = Treatment { mbarrier_encoding: MbarrierEncoding::Order, ..Treatment::DEFAULT };
    let is_used = |found: &Outcome, other: &Outcome| {
        found.graph.terms.unknowns().len() < other.graph.terms.unknowns().len()
    };
    Switched { kernel: tracked, on: Treatment::DEFAULT, off, used: "counted", is_used }
        .agree(&suite, FEATURES);
}

/// A register that changes for ever, and on which it does not depend where a round goes, is not run through round by round.
#[test]
fn what_decides_nothing_is_not_followed() {
    let text = |condition: &str| {
        format!(
            "kernel k {{
    launch {{ ctas: 2, lanes: 8, cooperative: true }}
    global flag[4]: u32 = 0;
    global spent[8]: u32 = 0;
    if ctaid == 0 {{
        for i in 0..4 {{
            if laneid == 0 {{ st.release.gpu [flag[i]], 1; }}
        }}
    }} else {{
        var at = laneid;
        loop {{
            let v = ld.acquire.gpu [flag[at % 4]];
            at = at + 5;
            if {condition} {{ break; }}
        }}
        st.weak [spent[laneid]], at;
    }}
}}
"
        )
    };
    let checked = |condition: &str| outcome(&text(condition), Treatment::DEFAULT).expect("it is well-formed");
    let walk = checked("v == 1");
    assert_eq!(walk.verdict, Verdict::ProvedUpToBound);
    assert!(walk.statistics.steps < 5_000_000, "{} steps", walk.statistics.steps);
    // A count that a condition is made of is followed to its end: so many tries, and no more.
    assert_eq!(checked("v == 1 || at >= laneid + 15").verdict, Verdict::Proved);
}
