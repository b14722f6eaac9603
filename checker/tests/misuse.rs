//! Broken rules about barriers say why: by what others did, in which phase or generation, and how much was expected.

use fencepost::{Finding, Options, Source, Style, check, codes};

/// The findings of a text, without repairs. A compiled module may stand behind the kernel that imports it.
fn findings(text: &str) -> Vec<Finding> {
    let source = match text.find(".version") {
        Some(start) => {
            let (kernel, module) = text.split_at(start);
            let name = kernel.split('"').nth(1).expect("a module is imported by its name");
            Source::text("k.fence", kernel).with(name, module)
        }
        None => Source::text("k.fence", text),
    };
    let report = check(source, &Options::default().repairs(false))
        .unwrap_or_else(|error| panic!("{}\n{text}", error.to_text(Style::PLAIN)));
    report.findings().cloned().collect()
}

/// The report of a text, without repairs.
fn report(text: &str) -> String {
    let report = check(Source::text("k.fence", text), &Options::default().repairs(false));
    report.expect("the kernel is fine").to_text(Style::PLAIN)
}

#[test]
fn the_example_of_every_page_says_why() {
    let families = ["barrier::", "mbarrier::", "async::", "registers::"];
    let mut n_examples = 0;
    for code in codes::all().filter(|code| families.iter().any(|family| code.name.starts_with(family))) {
        let page = codes::page(code);
        let Some((_, example)) = page.split_once("\nExample\n") else { continue };
        let example = example.split("\nHow to fix\n").next().unwrap_or(example);
        let kernel: Vec<&str> = example.lines().filter_map(|line| line.strip_prefix("    ")).collect();
        // That a thread has itself seen before what it must not come after is in the first line.
        if code.name == "async::cancel-after-failure" || kernel.is_empty() {
            continue;
        }
        n_examples += 1;
        for finding in findings(&kernel.join("\n")) {
            let is_said = finding.why.iter().all(|why| !why.is_empty() && !why.contains(['{', '}']));
            assert!(is_said && !finding.why.is_empty(), "{}: {finding:#?}", code.name);
        }
    }
    assert!(n_examples > 25, "only {n_examples} pages have a kernel");
}

/// What a kernel is about, what it does, the code, and words of why.
type Case = (&'static str, &'static str, &'static str, &'static str);

const RING: &str = "launch { warps: 2 }
    shared bar: mbarrier;
    if tid == 0 { mbarrier.init.shared::cta.b64 [bar], 2; }
    bar.sync 0;
";

const CASES: &[Case] = &[
    (
        "the third arrival of two, by whom and where the others are",
        "if tid == 1 { mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [bar], 16; }
    mbarrier.arrive.release.cta.shared::cta.b64 _, [bar];
    if tid == 0 { mbarrier.arrive.release.cta.shared::cta.b64 _, [bar]; }",
        "mbarrier::too-many-arrivals",
        "`bar` expects 2 arrivals per phase (`mbarrier.init`, line 3); phase 0, counted from 0, already has 2: ",
    ),
    (
        "the first arrival of the next phase, by whom the one before was completed",
        "mbarrier.arrive.release.cta.shared::cta.b64 _, [bar];
    if tid == 1 { mbarrier.arrive.release.cta.shared::cta.b64 _, [bar]; }",
        "mbarrier::phase-not-waited-for",
        "phase 0, counted from 0, was completed by tid 0 and tid 1 (line 5), so this one counts for phase 1",
    ),
    (
        "who has dropped out",
        "mbarrier.arrive_drop.release.cta.shared::cta.b64 _, [bar];",
        "mbarrier::nobody-expected",
        "2 have dropped out here, tid 0 and tid 1 (line 5)",
    ),
    (
        "who has initialised it before",
        "if tid == 0 { mbarrier.init.shared::cta.b64 [bar], 1; }",
        "mbarrier::init-of-live-object",
        "`bar` has been initialised by tid 0 (line 3), and no `mbarrier.inval` ends it",
    ),
    (
        "the others' arrivals in the generation that is not complete",
        "if tid == 0 { bar.arrive 1, 64; bar.sync 1, 64; } else { bar.sync 1, 64; bar.sync 1, 64; }",
        "barrier::reuse-before-reset",
        "tid 0 has arrived at barrier 1 before (line 5) and has not waited since",
    ),
    (
        "who names another count",
        "if tid == 0 { barrier.sync 1, 64; } else { barrier.sync 1, 32; }",
        "barrier::count-mismatch",
        "tid 0 comes to barrier 1 with `barrier.sync 1, 64` (line 5)",
    ),
];

#[test]
fn why_names_who_else_and_where() {
    for &(what, body, code, words) in CASES {
        let text = format!("kernel k {{ {RING}    {body}\n}}\n");
        let found = findings(&text);
        let is_it = |finding: &&Finding| finding.code == code;
        assert!(found.iter().any(|finding| is_it(&finding)), "{what}: {found:#?}");
        let whys: Vec<&String> = found.iter().filter(is_it).flat_map(|finding| &finding.why).collect();
        assert!(whys.iter().any(|why| why.contains(words)), "{what}: {whys:#?}");
    }
}

/// Those that arrive with the one too many are places of the finding, too.
#[test]
fn what_happened_before_is_among_the_places() {
    let text = format!("kernel k {{ {RING}    {}\n}}\n", CASES[0].1);
    let found = findings(&text);
    let full = found.iter().find(|finding| finding.code == CASES[0].2).expect("an arrival is too many");
    let lines: Vec<usize> = full.others.iter().map(|place| place.region.start.line).collect();
    assert!(lines.contains(&3) && lines.contains(&6), "{full:#?}");
}

#[test]
fn an_arrival_too_many() {
    insta::assert_snapshot!(report(
        "kernel twice {
    launch { warps: 3 }
    shared full: mbarrier;
    if tid == 0 { mbarrier.init.shared::cta.b64 [full], 2; }
    bar.sync 0;
    if warpid != 2 {
        mbarrier.arrive.release.cta.shared::cta.b64 _, [full];
    } else {
        mbarrier.arrive.release.cta.shared::cta.b64 _, [full];
    }
    await mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 [full], 0;
}
"
    ));
}

#[test]
fn a_cluster_barrier_without_a_wait() {
    insta::assert_snapshot!(report(
        "kernel halves {
    launch { ctas: 2, cluster: 2 }
    for i in 0..2 {
        barrier.cluster.arrive.release;
    }
    barrier.cluster.wait.acquire;
}
"
    ));
}

#[test]
fn a_lane_that_goes_past() {
    insta::assert_snapshot!(report(
        "kernel past {
    launch { lanes: 2 }
    shared a: u32 = 0;
    let v = ld.relaxed.cta [a];
    if laneid == 0 {
        bar.sync 0;
    }
    st.relaxed.cta [a], 1;
}
"
    ));
}

#[test]
fn places_in_functions_have_their_calls() {
    let found = findings(
        "fn give(b: &mbarrier) {
    mbarrier.arrive.release.cta.shared::cta.b64 _, [b];
}
kernel twice {
    launch { warps: 2 }
    shared full: mbarrier;
    if tid == 0 { mbarrier.init.shared::cta.b64 [full], 1; }
    bar.sync 0;
    if tid == 0 {
        give(&full);
    } else {
        give(&full);
    }
    await mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 [full], 0;
}
",
    );
    let full = found.iter().find(|finding| finding.code == "mbarrier::phase-not-waited-for");
    let full = full.unwrap_or_else(|| panic!("{found:#?}"));
    let lines =
        |place: &fencepost::Place| -> Vec<usize> { place.calls.iter().map(|call| call.start.line).collect() };
    let own = full.place.as_ref().map(lines).expect("the arrival has a place");
    assert!(own == [10] || own == [12], "{full:#?}");
    let other = full.others.iter().filter(|place| place.region.start.line == 2).map(lines);
    let other: Vec<Vec<usize>> = other.collect();
    assert_eq!(other, [vec![22 - own[0]]], "{full:#?}");
    // What is in no function has none.
    assert!(
        full.others.iter().any(|place| place.region.start.line == 7 && place.calls.is_empty()),
        "{full:#?}"
    );
}
