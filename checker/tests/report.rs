//! Reports of small kernels, pinned; and the example of every page, checked.

use fencepost::check::{Config, Limits, check};
use fencepost::codes;
use fencepost::encode::Treatment;
use fencepost::examine::{Examination, examine};
use fencepost::explain::repair::Texts;
use fencepost::listener::Silent;
use fencepost::models::{self, Model};
use fencepost::report::picture::svg;
use fencepost::report::story::Story;
use fencepost::report::{Case, Style, diagnostic, json, summary, trace};
use fencepost::verdict::{Limit, Property, Verdict};
use fencepost_dsl::SourceMap;
use fencepost_dsl::kernel::{LoadOptions, load};
use fencepost_dsl::sorted::SortedMap;
use std::sync::Arc;

/// What is said of all launches of a kernel file.
struct Reports {
    pretty: String,
    traces: String,
    json: String,
    /// As SVG, one for each finding.
    pictures: Vec<String>,
}

impl Reports {
    /// Without line breaks, to look for sentences in.
    fn flat(&self) -> String {
        self.pretty.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

fn reports(text: &str) -> Reports {
    let mut sources = SourceMap::default();
    let program = load(&mut sources, "k.fence", &mut |_| Ok(text.to_owned()), &LoadOptions::default())
        .unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
    let config = Config {
        properties: Property::ALL.to_vec(),
        is_asked_by_name: false,
        unroll: 2,
        unroll_max: 4,
        limits: Limits { events_max: 5_000, clauses_max: 1_000_000, findings_max: 16, ..Limits::DEFAULT },
        treatment: Treatment::DEFAULT,
        leaders: SortedMap::new(),
        listener: Arc::new(Silent),
        follow: false,
        record: false,
        outside: None,
        budget: u64::MAX,
    };
    let model = Model::shipped(models::usual(&program), &[]).expect("it comes along");
    let texts = Texts::new(&sources, LoadOptions::default());
    let mut reports =
        Reports { pretty: String::new(), traces: String::new(), json: String::new(), pictures: Vec::new() };
    for kernel in &program.kernels {
        for launch in &kernel.launches {
            let mut found = examine(&texts, &program, kernel, launch, &model, &config)
                .expect("the kernel can be checked");
            // They change with every change of a pass.
            found.outcome.statistics.steps = 0;
            let Examination { outcome, explanations } = found;
            let (variants, file) = (&[][..], "k.fence");
            let case = Case {
                sources: &sources,
                file,
                program: &program,
                kernel,
                model: &model.name,
                variants,
                outcome: &outcome,
                explanations: &explanations,
                standing: Default::default(),
            };
            reports.pretty += &summary::summary(&case, Style::PLAIN);
            reports.pretty += &diagnostic::findings(&case, false, Style::PLAIN);
            for (finding, explanation) in outcome.findings.iter().zip(&explanations) {
                let story = Story::new(&case, &finding.witness, explanation);
                reports.traces += &trace::table(&story, Style::PLAIN.width);
                reports.pictures.push(svg::svg(&story));
            }
            reports.json += &format!("{}\n", json::report(&case));
        }
    }
    reports
}

/// A writer and a reader in different CTAs, and how they pass the flag.
fn message(store: &str, load: &str) -> String {
    format!(
        "kernel message {{
    launch {{ ctas: 2, cooperative: true }}
    global data: u32 = 0;
    global flag: u32 = 0;
    if ctaid == 0 {{
        st.weak [data], 42;
        {store}
    }} else {{
        {load}
        let v = ld.weak [data];
    }}
}}
"
    )
}

const ACQUIRE: &str = "await ld.acquire.gpu [flag] == 1;";
const RELEASE: &str = "st.release.gpu [flag], 1;";

#[test]
fn proved() {
    insta::assert_snapshot!(reports(&message(RELEASE, ACQUIRE)).pretty);
}

#[test]
fn pictures_are_the_same_bytes_every_time() {
    let race = reports(&message("st.relaxed.gpu [flag], 1;", ACQUIRE));
    insta::assert_snapshot!("picture_of_a_store_without_release", race.pictures[0]);
    let hang = reports(
        "kernel hang { launch { warps: 2 } global flag: u32 = 0; if tid == 0 { await ld.relaxed.gpu [flag] == 1; } \
         bar.sync 0; }",
    );
    insta::assert_snapshot!("picture_of_a_hang", hang.pictures[0]);
}

#[test]
fn a_finding_that_the_editions_do_not_have_says_so() {
    let agreed = reports(&message("st.relaxed.gpu [flag], 1;", ACQUIRE));
    assert!(!agreed.json.contains("\"editions\"") && !agreed.flat().contains("note:"), "{}", agreed.pretty);
    // in the editions the read of a reduction acquires with a fence behind it.
    let update =
        "red.add.relaxed.gpu.u32 [flag], 1; fence.acq_rel.gpu; let f = ld.relaxed.gpu [flag]; assume f == 2;";
    let reports = reports(&message(RELEASE, update));
    assert!(reports.json.contains("\"editions\":[{\"model\":\"ptx-7.5\""), "{}", reports.json);
    assert!(reports.flat().contains("rests on how `ptx` reads the text"), "{}", reports.pretty);
}

#[test]
fn the_summary_says_the_shape() {
    for (launch, shape) in [
        ("", "1 thread"),
        ("warps: 2, lanes: 4", "8 threads"),
        ("ctas: 2", "grid of 2 CTAs of 1 thread"),
        ("ctas: 2, cluster: 2", "grid of 2 CTAs in one cluster, of 1 thread"),
        ("ctas: 4, cluster: 2, warps: 2, lanes: 32", "grid of 4 CTAs in clusters of 2, of 64 threads"),
        ("ctas: 3, cooperative: true", "cooperative grid of 3 CTAs of 1 thread"),
        ("ctas: 1, cooperative: true", "1 thread"),
        ("gpus: 2, warps: 2", "grid of 1 CTA of 2 threads on each of 2 GPUs"),
        ("gpus: 2, ctas: 2, cooperative: true", "cooperative grid of 2 CTAs of 1 thread on each of 2 GPUs"),
    ] {
        let found = reports(&format!("kernel k {{ launch {{ {launch} }} }}"));
        assert!(found.pretty.contains(&format!("k ({shape}): ")), "{launch}: {}", found.pretty);
    }
}

#[test]
fn what_rests_on_a_value_that_nobody_computes_says_so() {
    let rests = "this execution rests on a value that Fencepost does not compute: the result of \
                 `red.relaxed.gpu.global.add.f32 [x]` (line 2)";
    let of = |then: &str| {
        reports(&format!(
            "kernel k {{ launch {{ warps: 2, lanes: 1 }} global x: u32 = 0; global y: u32 = 0;\n\
             red.relaxed.gpu.add.f32 [x], 1; bar.sync 0; let v = ld.relaxed.gpu [x]; {then} }}"
        ))
    };
    for then in [
        "assert v == 1;",
        "if v == 1 { st [y], 1; }",
        "final { assert [x] == 1; }",
        "await ld.relaxed.gpu [x] == 1;",
    ] {
        let found = of(then);
        assert!(found.flat().contains(rests), "{}", found.pretty);
        assert!(found.json.contains("\"uncomputed\":[{\"file\":\"k.fence\",\"line\":2,"), "{}", found.json);
    }
    for then in ["st [y], 1;", "assert tid == 0;", "if tid == 0 && v == 1 || tid < 2 { st [y], 1; }"] {
        let found = of(then);
        assert!(found.pretty.contains("violated") && !found.flat().contains("rests on"), "{}", found.pretty);
        assert!(!found.json.contains("uncomputed"), "{}", found.json);
    }
    let possible = of("reachable v == 1;");
    assert!(possible.flat().contains("is not computed: what is `reachable`"), "{}", possible.pretty);
}

#[test]
fn help_for_grids_of_one_launch_speaks_of_no_stream() {
    let kernel = "kernel meet { launch { gpus: 2 } global n: u32 = 0;
        red.release.sys.add [n], 1; await ld.acquire.sys [n] == 2; }";
    let program = format!("{kernel}\nprogram p {{ stream a; launch meet on a; }}");
    for text in [kernel, &program] {
        let found = reports(text);
        let help = found.flat();
        let help = help.split("help: ").nth(1).unwrap_or_default();
        assert!(help.contains("cudaLaunchCooperativeKernelMultiDevice"), "{}", found.pretty);
        assert!(!help.contains("stream"), "{}", found.pretty);
        let together = text.replace("gpus: 2", "gpus: 2, cooperative: true");
        assert!(reports(&together).pretty.contains("proved"), "{together}");
    }
}

#[test]
fn a_wait_for_groups_says_why_it_is_none() {
    let why = |wait: &str, behind: &str| {
        let text = format!(
            "kernel k {{ shared t[4]: u32; global out[4]: u32 = 0; st.weak [t[0]], 1; fence.proxy.async.shared::cta; \
             cp.async.bulk.global.shared::cta.bulk_group [out[0]], [t[0]], 16; cp.async.bulk.commit_group; {wait} {behind} }}"
        );
        reports(&text).flat()
    };
    let (count, read) = ("but for as many of the last ones as it names", "what a wait without `.read` says");
    // The source is overwritten: `.read` would do, and the number is wrong.
    let of_source = why("cp.async.bulk.wait_group.read 1;", "st.weak [t[0]], 2;");
    assert!(of_source.contains(count) && !of_source.contains(read), "{of_source}");
    // What was written is read: the number is right, and `.read` is wrong.
    let of_destination = why("cp.async.bulk.wait_group.read 0;", "let v = ld.weak [out[0]];");
    assert!(of_destination.contains(read) && !of_destination.contains(count), "{of_destination}");
}

#[test]
fn store_without_release() {
    let reports = reports(&message("st.relaxed.gpu [flag], 1;", ACQUIRE));
    insta::assert_snapshot!(reports.pretty + "\n" + &reports.traces);
}

#[test]
fn load_without_acquire() {
    insta::assert_snapshot!(reports(&message(RELEASE, "await ld.relaxed.gpu [flag] == 1;")).pretty);
}

#[test]
fn fence_too_late() {
    let reports = reports(&message("st.relaxed.gpu [flag], 1; fence.acq_rel.gpu;", ACQUIRE));
    assert!(
        reports.flat().contains("`fence.acq_rel.gpu` (line 7) comes after that write"),
        "{}",
        reports.pretty
    );
}

#[test]
fn scope_too_narrow() {
    insta::assert_snapshot!(reports(&message("st.release.cta [flag], 1;", ACQUIRE)).pretty);
}

#[test]
fn narrow_fence() {
    let reports = reports(&message("fence.acq_rel.cta; st.relaxed.gpu [flag], 1;", ACQUIRE));
    for sentence in [
        "race::scope-too-narrow",
        "`fence.acq_rel.cta` (line 7): tid 0 of cta 1 is not in its scope",
        "into `fence.acq_rel.gpu` (checked:",
    ] {
        assert!(reports.flat().contains(sentence), "{sentence}\n{}", reports.pretty);
    }
}

/// A release pattern is made by one thread: a fence of another does not cover the store of the flag.
#[test]
fn fence_of_another_thread() {
    let text = "kernel publish {
    launch { ctas: 2, warps: 2, cooperative: true }
    global data: u32 = 0;
    global flag: u32 = 0;
    if ctaid == 0 {
        if warpid == 1 { st.weak [data], 42; fence.acq_rel.gpu; }
        bar.sync 0;
        if warpid == 0 { st.relaxed.gpu [flag], 1; }
    } else {
        if warpid == 0 {
            await ld.acquire.gpu [flag] == 1;
            let v = ld.weak [data];
        }
    }
}
";
    let reports = reports(text);
    assert!(reports.flat().contains("covers only later writes of its own thread"), "{}", reports.pretty);
    insta::assert_snapshot!(reports.pretty + "\n" + &reports.traces);
}

#[test]
fn counter_without_acquire() {
    let text = "kernel arrive {
    launch { ctas: 2, cooperative: true }
    global data: u32 = 0;
    global count: u32 = 0;
    if ctaid == 0 {
        st.weak [data], 42;
        atom.release.gpu.add.u32 _, [count], 1;
    } else {
        let old = atom.relaxed.gpu.add.u32 [count], 1;
        if old == 1 { let v = ld.weak [data]; }
    }
}
";
    let reports = reports(text);
    for sentence in ["but nothing acquires between it and (2)", "into `atom.acquire.gpu.add.u32` (checked:"] {
        assert!(reports.flat().contains(sentence), "{sentence}\n{}", reports.pretty);
    }
}

#[test]
fn same_place_in_two_threads() {
    let text = "kernel lost {
    launch { ctas: 2, cooperative: true }
    global n: u32 = 0;
    st.weak [n], 1 + ctaid;
}
";
    insta::assert_snapshot!(reports(text).pretty);
}

/// MM-8, A-3: what looks like one store is two, and a strong `.b128` is one.
#[test]
fn elements_of_a_vector_access_are_in_no_order() {
    let pair = "kernel k {
    launch { warps: 2 }
    global t[2]: u64 = 0;
    if warpid == 0 {
        st.release.cta.v2.u64 [t[0]], {7, 7};
    } else {
        await ld.acquire.cta.u64 [t[1]] == 7;
        let a = ld.relaxed.cta.u64 [t[0]];
        assert a == 7;
    }
}";
    let flat = reports(pair).flat();
    assert!(
        flat.contains("is 2 accesses in no order, one for each element: tid 1 has seen element 1"),
        "{flat}"
    );
    // Two stores in order are no vector access.
    let apart = pair.replace(
        "st.release.cta.v2.u64 [t[0]], {7, 7};",
        "st.relaxed.cta.u64 [t[1]], 7; st.relaxed.cta.u64 [t[0]], 7;",
    );
    let flat = reports(&apart).flat();
    assert!(flat.contains("fails for tid 1") && !flat.contains("in no order"), "{flat}");
}

#[test]
fn bounds_and_parameters() {
    let text = "kernel ring(N in 0..=4) {
    global slot[2][2]: u32 = 0;
    for i in 0..N {
        st.weak [slot[i][i % 2]], 1;
    }
    assert N != 1;
}
";
    insta::assert_snapshot!(reports(text).pretty);
}

/// Nobody measures here: every time is 0.
#[test]
fn an_open_loop_says_what_makes_it_more_than_a_wait() {
    let of = |body: &str| {
        let text = format!("kernel k {{ launch {{ warps: 2 }} global f: u32; global n: u32 = 0; {body} }}");
        reports(&text).flat()
    };
    let carried = of("var i: u32 = 0; loop { if ld.relaxed.cta [f] == i { break; } i += 1; }");
    assert!(
        carried.contains("can run more than 4 times: `i` goes from one round into the next"),
        "{carried}"
    );
    let written = of("loop { red.relaxed.cta.add.u32 [n], 1; if ld.relaxed.cta [f] == 1 { break; } }");
    assert!(written.contains("a round that does not leave can write at k.fence:1"), "{written}");
    let met = of("loop { bar.sync 1, 64; if ld.relaxed.cta [f] == 1 { break; } }");
    assert!(met.contains("each round executes what is at k.fence:1"), "{met}");
    let waits = of("loop { if ld.relaxed.cta [f] == 1 { break; } }");
    assert!(!waits.contains("can run more than"), "{waits}");
}

#[test]
fn json_lines() {
    insta::assert_snapshot!(reports(&message("st.release.cta [flag], 1;", ACQUIRE)).json);
}

#[test]
fn reports_are_deterministic() {
    let text = message("st.relaxed.gpu [flag], 1;", ACQUIRE);
    let (first, second) = (reports(&text), reports(&text));
    assert_eq!((first.json, first.traces, first.pretty), (second.json, second.traces, second.pretty));
}

#[test]
fn the_example_of_every_page_shows_what_it_is_about() {
    let mut n_examples = 0;
    // Warnings are said of a file; the examples of their pages are run with the book.
    for code in codes::all().filter(|code| !code.name.starts_with("warning::")) {
        let page = codes::page(code);
        let Some((_, example)) = page.split_once("\nExample\n") else { continue };
        let example = example.split("\nHow to fix\n").next().unwrap_or(example);
        let kernel: Vec<&str> = example.lines().filter_map(|line| line.strip_prefix("    ")).collect();
        if kernel.iter().any(|line| line.starts_with("kernel ")) {
            n_examples += 1;
            let report = reports(&kernel.join("\n")).pretty;
            assert!(report.contains(code.name), "{}:\n{report}", code.name);
        }
    }
    assert!(n_examples >= 10, "only {n_examples} pages have a kernel");
}

#[test]
fn proxy_fence_missing_or_misplaced() {
    let kernel = |writer: &str, reader: &str| {
        format!(
            "//! target formal
kernel image {{
    launch {{ ctas: 2, cooperative: true }}
    global x: u32 = 0;
    global flag: u32 = 0;
    texture t: u32 alias x;
    surface s: u32 alias x;
    if ctaid == 0 {{
        {writer}
        st.release.gpu [flag], 1;
    }} else {{
        {ACQUIRE}
        {reader}
    }}
}}
"
        )
    };
    let cases = [
        (
            kernel("st [x], 1;", "let v = tex.1d.u32 [t];"),
            "but (2) goes through the texture proxy, and no `fence.proxy.texture` lies between them in the CTA of (2)",
        ),
        (
            kernel("sust.b.1d.b32 [s], 1;", "fence.proxy.surface; let v = ld [x];"),
            "in the CTA of (1), and `fence.proxy.surface` (line 13) of tid 0 of cta 1 is in another one",
        ),
        (
            kernel(
                "sust.b.1d.b32 [s], 1; fence.proxy.texture; fence.proxy.surface;",
                "let v = tex.1d.u32 [t];",
            ),
            "and `fence.proxy.texture` (line 9) of tid 0 of cta 0 is in another one",
        ),
        (
            "//! target formal
kernel order { global x: u32 = 0; texture t: u32 alias x; surface s: u32 alias x;
    sust.b.1d.b32 [s], 1; fence.proxy.texture; fence.proxy.surface; let v = tex.1d.u32 [t]; }"
                .to_owned(),
            "the fence of the proxy of (1) must come first",
        ),
        (
            "kernel sums { launch { ctas: 2 } global x: u32 = 0; surface s: u32 alias x;
    if ctaid == 0 { sured.b.add.1d.u32 [s], 1; } else { red.relaxed.gpu.add.u32 [x], 1; } }"
                .to_owned(),
            "proxy: accesses synchronize with and exclude each other only within one proxy",
        ),
    ];
    for (text, sentence) in cases {
        let reports = reports(&text);
        assert!(reports.pretty.contains("race::cross-proxy"), "{text}\n{}", reports.pretty);
        assert!(reports.flat().contains(sentence), "{sentence}\n{}", reports.pretty);
        assert!(reports.flat().contains("note: PTX's memory model does not cover"), "{}", reports.pretty);
        assert!(reports.json.contains("\"notes\":[\"PTX's memory model"), "{}", reports.json);
    }
}

/// A ring whose consumer forgets to say that the stage is empty again.
const FORGETFUL_RING: &str = "kernel ring {
    launch { warps: 2 }
    shared tile: u32;
    shared full: mbarrier;
    shared empty: mbarrier;
    if tid == 0 {
        mbarrier.init.shared::cta.b64 [full], 1;
        mbarrier.init.shared::cta.b64 [empty], 1;
    }
    bar.sync 0;
    if warpid == 0 {
        for i in 0..2 {
            await mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 [empty], (i & 1) ^ 1;
            st [tile], i;
            mbarrier.arrive.release.cta.shared::cta.b64 _, [full];
        }
    } else {
        for i in 0..2 {
            await mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 [full], i & 1;
            let v = ld [tile];
        }
    }
}";

#[test]
fn a_hang_at_an_mbarrier_with_its_phases() {
    let reports = reports(FORGETFUL_RING);
    insta::assert_snapshot!(format!("{}\n{}", reports.pretty, reports.traces));
}

/// Kernels that programs launch, with `@` for the program.
const GRIDS: &str = "//! target sm_90 ptx 8.0
global x: u32 = 0;
global ready: u32 = 0;
kernel produce { st.weak.global.u32 [x], 1; griddepcontrol.launch_dependents; }
kernel consume { let v = ld.weak.global.u32 [x]; }
kernel late { let v = ld.weak.global.u32 [x]; griddepcontrol.wait; }
kernel other { launch { warps: 2 } if warpid == 0 { griddepcontrol.wait; } else { let v = ld.weak.global.u32 [x]; } }
kernel waiting { griddepcontrol.wait; let v = ld.weak.global.u32 [x]; }
kernel idle { griddepcontrol.launch_dependents; }
kernel fenced { launch { warps: 2 } if warpid == 1 { st.weak.global.u32 [x], 1; } fence.sc.gpu; bar.sync 0; griddepcontrol.launch_dependents; }
kernel narrow { st.weak.global.u32 [x], 1; fence.acq_rel.cta; griddepcontrol.launch_dependents; }
kernel early { griddepcontrol.launch_dependents; st.weak.global.u32 [x], 1; }
kernel relay { griddepcontrol.wait; griddepcontrol.launch_dependents; }
kernel spin { await ld.acquire.gpu.global.u32 [ready] == 1; }
kernel raise { st.release.gpu.global.u32 [ready], 1; }
kernel own { launch { warps: 2 } shared s[4]: u32; st.weak.shared.u32 [s[2]], 1; }
program p { stream a, b; @ }
";

/// Of a program, with the kernels that it launches.
fn program(body: &str) -> Reports {
    let is_launched = |line: &&str| {
        let name = line.strip_prefix("kernel ").and_then(|rest| rest.split(' ').next());
        name.is_none_or(|name| body.contains(&format!("launch {name} ")))
    };
    let lines: Vec<&str> = GRIDS.lines().filter(is_launched).collect();
    reports(&lines.join("\n").replace('@', &body.replace("PDL", "with programmatic_serialization")))
}

#[test]
fn a_program_and_its_grids() {
    insta::assert_snapshot!(
        "grid_dependency",
        program("launch produce on a; launch consume on a PDL;").pretty
    );
    insta::assert_snapshot!("grid_never_starts", {
        let reports = program("launch spin on a; launch raise on a; synchronize a;");
        format!("{}\n{}", reports.pretty, reports.traces)
    });
    insta::assert_snapshot!("grids_of_two_streams", program("launch spin on a; launch raise on b;").pretty);
    insta::assert_snapshot!("host_and_grid", {
        let reports = program("launch consume on a; st.weak.global.u32 [x], 2;");
        format!("{}\n{}", reports.pretty, reports.json)
    });
}

#[test]
fn overlapping_grids_say_who_does_not_wait() {
    let cases = [
        (
            "launch produce on a; launch consume on a PDL;",
            "may start once every CTA of produce has executed `griddepcontrol.launch_dependents` (line 4), which \
             releases nothing",
        ),
        (
            "launch fenced on a; launch consume on a PDL;",
            "tid 0 of fenced does so first in its CTA, and its fence, `fence.sc.gpu` (line 5), comes before anything \
             that tells it of (1)",
        ),
        (
            "launch narrow on a; launch consume on a PDL;",
            "and the fence of tid 0 of narrow before it, `fence.acq_rel.cta` (line 5), does not reach another grid",
        ),
        ("launch early on a; launch consume on a PDL;", "which tid 0 of early does before (1)"),
        ("launch produce on a; launch late on a PDL;", "that of tid 0 of late comes only after (2)"),
        (
            "launch produce on a; launch other on a PDL;",
            "tid 1 of other executes none before (2): that of tid 0 of other is known only to threads that \
             synchronize with it",
        ),
        (
            "launch produce on a; launch idle on a PDL; launch waiting on a PDL;",
            "that idle has ended says nothing of produce",
        ),
        (
            "launch produce on a; launch relay on a PDL; launch idle on a PDL; launch waiting on a PDL;",
            "idle is launched with programmatic serialization after relay, which waits for produce, and does not wait \
             for it, so that idle has ended says nothing of produce",
        ),
        (
            "launch produce on a; launch consume on b;",
            "nor do launches, events or `synchronize` put the one after",
        ),
        ("launch own on a;", "data race on `s[2]` of own between tid 0 of own and tid 1 of own"),
    ];
    for (body, sentence) in cases {
        let reports = program(body);
        assert!(reports.flat().contains(sentence), "{sentence}\n{}", reports.pretty);
    }
}

/// The help of all findings of a kernel, in order, without line breaks.
fn helps(text: &str) -> Vec<String> {
    let flat = reports(text).flat();
    let of = |part: &str| {
        part.split(" also: ").next().and_then(|part| part.split(" more: ").next()).map(str::to_owned)
    };
    flat.split(" help: ").skip(1).filter_map(of).collect()
}

#[test]
fn a_missing_barrier_is_added_where_threads_meet() {
    let between = "kernel swap {
    launch { warps: 2 }
    shared cell[2]: u32 = 0;
    st.shared.u32 [cell[tid]], 5 + tid;
    let other = ld.shared.u32 [cell[1 - tid]];
    assert other == 6 - tid;
}
";
    insta::assert_snapshot!(reports(between).pretty);
    let carried = "kernel rounds {
    launch { warps: 2 }
    shared cell[2]: u32 = 0;
    global sum[2]: u32 = 0;
    for i in 0..2 {
        st.shared.u32 [cell[tid]], i;
        bar.sync 0;
        let v = ld.shared.u32 [cell[1 - tid]];
        st.global.u32 [sum[tid]], v;
    }
}
";
    let helps = helps(carried);
    assert_eq!(helps.len(), 1, "{helps:?}");
    assert!(
        helps[0].contains("`bar.sync 0;` right after `st.global.u32 [sum[tid]], v;` on line 9"),
        "{helps:?}"
    );
    assert!(helps[0].contains("checked: with this change nothing is violated"), "{helps:?}");
}

#[test]
fn strong_accesses_are_no_help_where_their_order_is_missing() {
    let text = "kernel apart {
    launch { ctas: 2, cooperative: true }
    global word: u32 = 0;
    if ctaid == 0 { st.weak [word], 1; } else { let v = ld.weak [word]; }
}
";
    let found = reports(text);
    assert!(!found.pretty.contains("relaxed") && helps(text).is_empty(), "{}", found.pretty);
    let counter = "kernel count {
    launch { ctas: 2, cooperative: true }
    global n: u32 = 0;
    let old = ld.weak [n];
    st.weak [n], old + 1;
}
";
    let helps = helps(counter);
    assert!(!helps.is_empty() && helps.iter().all(|help| help.contains("into `atom.add.")), "{helps:?}");
}

#[test]
fn a_volatile_flag_becomes_an_acquire() {
    let help = helps(&message(RELEASE, "await ld.volatile [flag] == 1;"));
    assert_eq!(help.len(), 1);
    assert!(help[0].contains("change `ld.volatile` on line 9 into `ld.acquire.sys`"), "{help:?}");
}

#[test]
fn two_bugs_get_two_repairs_each_checked_with_the_other_in_place() {
    let text = "kernel there_and_back {
    launch { ctas: 2, cooperative: true }
    global word: u32 = 0;
    global there: u32 = 0;
    global back: u32 = 0;
    if ctaid == 0 {
        st.weak [word], 1;
        st.release.gpu [there], 1;
        await ld.relaxed.gpu [back] == 1;
        st.weak [word], 2;
    } else {
        await ld.relaxed.gpu [there] == 1;
        let v = ld.weak [word];
        st.release.gpu [back], 1;
    }
}
";
    let found = helps(text);
    assert_eq!(found.len(), 2, "{found:?}");
    for (own, other) in [(9, 12), (12, 9)] {
        let own = format!("change `ld.relaxed.gpu` on line {own} into `ld.acquire.gpu`");
        let help =
            found.iter().find(|help| help.contains(&own)).unwrap_or_else(|| panic!("{own}: {found:?}"));
        assert!(help.contains(&format!("and that to line {other}, nothing is violated")), "{help}");
    }
    insta::assert_snapshot!(reports(text).json.lines().map(edits_of).collect::<Vec<_>>().join("\n"));
}

/// The repairs of a JSON line, as edits.
fn edits_of(line: &str) -> String {
    let value: serde_json::Value = serde_json::from_str(line).expect("a line is an object");
    let findings = value["findings"].as_array().cloned().unwrap_or_default();
    findings.iter().map(|finding| finding["repair"].to_string()).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_value_that_came_too_early_names_the_signal_that_releases_nothing() {
    let text = "kernel cell {
    launch { ctas: 2, cooperative: true }
    global word: u32 = 0;
    global given: u32 = 0;
    global taken: u32 = 0;
    if ctaid == 0 {
        st.relaxed.gpu [word], 5;
        st.release.gpu [given], 1;
        await ld.acquire.gpu [taken] == 1;
        st.relaxed.gpu [word], 6;
    } else {
        await ld.acquire.gpu [given] == 1;
        let v = ld.relaxed.gpu [word];
        assert v == 5;
        st.relaxed.gpu [taken], 1;
    }
}
";
    insta::assert_snapshot!(reports(text).pretty);
}

#[test]
fn a_reader_that_never_signals_back() {
    let text = "kernel slot {
    launch { warps: 2 }
    shared given: mbarrier;
    shared word: u32 = 0;
    if tid == 0 { mbarrier.init.shared::cta.b64 [given], 1; }
    bar.sync 0;
    for i in 0..2 {
        if tid == 0 {
            st.shared.u32 [word], i;
            mbarrier.arrive.shared::cta.b64 _, [given];
        } else {
            await mbarrier.try_wait.parity.shared::cta.b64 [given], i % 2;
            let v = ld.shared.u32 [word];
        }
    }
}
";
    let found = reports(text);
    assert!(found.flat().contains("signals nothing afterwards that tid 0 waits for"), "{}", found.pretty);
}

#[test]
fn a_neighbour_that_signals_for_others() {
    let text = "kernel staged {
    launch { warps: 2, lanes: 2 }
    shared full: mbarrier;
    shared tile[2]: u32 = 0;
    if tid == 0 { mbarrier.init [full], 1; }
    bar.sync 0;
    if warpid == 0 {
        st.shared.u32 [tile[laneid]], 7;
        if laneid == 0 { mbarrier.arrive _, [full]; }
    } else {
        await mbarrier.try_wait.parity [full], 0;
        let v = ld.shared.u32 [tile[1]];
    }
}
";
    let found = reports(text);
    let flat = found.flat();
    assert!(
        flat.contains("comes before (2), but nothing leads from tid 1 after (1) to it"),
        "{}",
        found.pretty
    );
    assert!(flat.contains("help: add `bar.warp.sync 0xffffffff;`"), "{}", found.pretty);
}

#[test]
fn a_neighbour_that_waits_alone() {
    let text = "kernel waits {
    launch { ctas: 2, warps: 2, cooperative: true }
    global flag: u32 = 0;
    global word: u32 = 0;
    if ctaid == 0 {
        if tid == 0 { st.weak [word], 7; st.release.gpu [flag], 1; }
    } else {
        if tid == 0 { await ld.acquire.gpu [flag] == 1; }
        if tid == 1 { let v = ld.weak [word]; }
    }
}
";
    let found = reports(text);
    let flat = found.flat();
    let is_told = [
        "waits at `ld.acquire.gpu.global.u32 [flag]` (line 8), but",
        "comes after (1), but nothing leads from it",
    ];
    assert!(is_told.iter().any(|words| flat.contains(words)), "{}", found.pretty);
    assert!(flat.contains("help: add `bar.sync 0;`"), "{}", found.pretty);
}

#[test]
fn a_wait_before_the_first_phase() {
    let text = "kernel first {
    launch { warps: 2 }
    shared full: mbarrier;
    shared word: u32 = 0;
    if tid == 0 { mbarrier.init [full], 1; }
    bar.sync 0;
    if tid == 0 {
        st.shared.u32 [word], 7;
        mbarrier.arrive _, [full];
    } else {
        await mbarrier.try_wait.parity [full], 1;
        let v = ld.shared.u32 [word];
    }
}
";
    let found = reports(text);
    let flat = found.flat();
    assert!(flat.contains("does not wait: full has completed no phase yet"), "{}", found.pretty);
    assert!(flat.contains("help: change `1` into `0`"), "{}", found.pretty);
}

#[test]
fn scopes_of_several_places_are_widened_together() {
    let text = "kernel lock {
    launch { ctas: 2, cooperative: true }
    global lock: u32 = 0;
    global n: u32 = 0;
    await (atom.acquire.cta.cas.b32 [lock], 0, 1) == 0;
    let v = ld.weak [n];
    st.weak [n], v + 1;
    st.release.cta [lock], 0;
}
";
    let found = reports(text);
    let flat = found.flat();
    // Which end of the race comes first is a matter of the execution that was found.
    let (take, give) = (
        "`atom.acquire.cta.cas.b32` on line 5 into `atom.acquire.gpu.cas.b32`",
        "`st.release.cta` on line 8 into `st.release.gpu`",
    );
    let both = [(take, give), (give, take)].map(|(one, other)| format!("change {one} and {other} (checked"));
    let says_both = both.iter().any(|both| flat.contains(both));
    assert!(says_both && flat.contains("nothing is violated"), "{}", found.pretty);
}

#[test]
fn an_update_that_is_lost() {
    let text = "kernel count {
    launch { ctas: 2, cooperative: true }
    global n: u32 = 0;
    let v = ld.relaxed.gpu [n];
    st.relaxed.gpu [n], v + 1;
    final { assert [n] == 2; }
}
";
    let found = reports(text);
    assert!(found.flat().contains("that update is lost"), "{}", found.pretty);
}

#[test]
fn a_phase_that_others_complete() {
    let text = "kernel join {
    launch { warps: 3 }
    shared done: mbarrier;
    shared word: u32 = 0;
    if tid == 0 { mbarrier.init.shared::cta.b64 [done], 1; }
    bar.sync 0;
    if tid == 0 {
        await mbarrier.try_wait.parity.shared::cta.b64 [done], 0;
        let v = ld.shared.u32 [word];
    } else {
        if tid == 1 { st.shared.u32 [word], 7; }
        mbarrier.arrive.shared::cta.b64 _, [done];
    }
}
";
    let found = reports(text);
    assert!(found.flat().contains("which was completed by tid 2"), "{}", found.pretty);
    assert!(found.flat().contains("help: change `1` into `2`"), "{}", found.pretty);
}

#[test]
fn a_parity_that_is_asked_for_twice_is_one_report() {
    let text = "kernel ring {
    launch { warps: 2 }
    shared full: mbarrier;
    shared empty: mbarrier;
    shared word: u32 = 0;
    if tid == 0 {
        mbarrier.init.shared::cta.b64 [full], 1;
        mbarrier.init.shared::cta.b64 [empty], 1;
    }
    bar.sync 0;
    for i in 0..2 {
        if tid == 0 {
            await mbarrier.try_wait.parity.shared::cta.b64 [empty], (i % 2) ^ 1;
            st.shared.u32 [word], 10 + i;
            mbarrier.arrive.shared::cta.b64 _, [full];
        } else {
            await mbarrier.try_wait.parity.shared::cta.b64 [full], 0;
            let v = ld.shared.u32 [word];
            assert v == 10 + i;
            mbarrier.arrive.shared::cta.b64 _, [empty];
        }
    }
}
";
    insta::assert_snapshot!(reports(text).pretty);
}

#[test]
fn a_budget_that_ends_while_an_answer_is_followed_decides_nothing() {
    // Three threads take turns at a word whose additions are no plain ones, so that the solver has to search.
    let turns = "atom.relaxed.cta.inc.u32 _, [c], 100; ".repeat(2);
    let text = format!(
        "kernel k {{ launch {{ warps: 3 }} global c: u32 = 0; {turns} final {{ assert [c] == 6; }} }}"
    );
    let mut sources = SourceMap::default();
    let program = load(&mut sources, "k.fence", &mut |_| Ok(text.clone()), &LoadOptions::default())
        .unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
    let model = Model::shipped(models::PTX, &[]).expect("it comes along");
    let kernel = &program.kernels[0];
    let with = |follow, budget| {
        let config = Config { follow, budget, ..Config::usual(kernel) };
        check(&program, kernel, &kernel.launches[0], &model.resolved, &config).expect("it can be checked")
    };
    let (plain, followed) = (with(false, u64::MAX), with(true, u64::MAX));
    assert_eq!((plain.verdict, followed.verdict), (Verdict::Proved, Verdict::Proved));
    assert!(followed.statistics.followed.is_some_and(|n| n > 0) && plain.statistics.followed.is_none());
    let (least, most) = (plain.statistics.steps, followed.statistics.steps);
    assert!(least + 100 < most, "{least} {most}");
    // Enough for the search, and not for what comes after it.
    let budget = least + (most - least) / 2;
    assert_eq!(with(false, budget).verdict, Verdict::Proved);
    let short = with(true, budget);
    assert_eq!(
        (short.verdict, &short.limit),
        (Verdict::Inconclusive, &Some(Limit::Budget { limit: budget }))
    );
    assert_eq!(short.statistics.steps, with(true, budget).statistics.steps);
    let case = Case {
        sources: &sources,
        file: "k.fence",
        program: &program,
        kernel,
        model: "ptx",
        variants: &[],
        outcome: &short,
        explanations: &[],
        standing: Default::default(),
    };
    let told = summary::summary(&case, Style::PLAIN);
    let flat = told.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        flat.contains("of the solver had been followed when the budget ended; that takes steps"),
        "{told}"
    );
    assert!(flat.contains("is used up; raise --budget"), "{told}");
}

#[test]
fn a_look_of_another_thread_and_a_signal_seen_before_are_told() {
    let of_another = "kernel k {
    launch { ctas: 2, warps: 2, cooperative: true }
    global flag[2]: u32 = 0;
    global d: u32 = 0;
    if ctaid == 1 { if tid == 0 { st [d], 1; st.release.gpu [flag[1]], 1; } }
    else {
        if tid == 0 { st.release.gpu [flag[0]], 1; }
        await ld.acquire.gpu [flag[tid]] != 7;
        bar.sync 0;
        if tid == 0 { let v = ld [d]; }
    }
}
";
    let flat = reports(of_another).flat();
    assert!(
        flat.contains("tid 1 of cta 0, by whom tid 0 of cta 0 gets there, last looks before that"),
        "{flat}"
    );
    let seen_before = "kernel k {
    launch { ctas: 2, cooperative: true }
    global flag: u32 = 0;
    global d[2]: u32 = 0;
    if ctaid == 0 {
        st [d[0]], 1;
        st.release.gpu [flag], 1;
        st [d[1]], 1;
        st.release.gpu [flag], 1;
    } else {
        await ld.acquire.gpu [flag] == 1;
        let a = ld [d[0]];
        await ld.acquire.gpu [flag] == 1;
        let b = ld [d[1]];
    }
}
";
    let flat = reports(seen_before).flat();
    assert!(
        flat.contains("tid 0 of cta 0 gave before (1), at `st.release.gpu.global.u32 [flag]` (line 7)"),
        "{flat}"
    );
    assert!(
        flat.contains("had seen that one already, at `ld.acquire.gpu.global.u32 [flag]` (line 11)"),
        "{flat}"
    );
}

#[test]
fn an_arrival_that_is_wiped_out_is_named() {
    let flat = reports(
        "kernel k {
    launch { ctas: 2, cooperative: true }
    global count: u32 = 0;
    global flag: u32 = 0;
    var sense = 0;
    for r in 0..2 {
        sense ^= 1;
        if (atom.add.relaxed.gpu.u32 [count], 1) == 1 {
            st.relaxed.gpu [flag], sense;
            st.relaxed.gpu [count], 0;
        }
        await ld.relaxed.gpu [flag] == sense;
    }
}
",
    )
    .flat();
    assert!(
        flat.contains(
            "that wipes out what tid 0 of cta 1 has put there at `atom.relaxed.gpu.global.add.u32 [count]`"
        ),
        "{flat}"
    );
}

#[test]
fn a_phase_before_the_first_that_is_missed_is_told() {
    let flat = reports(
        "kernel late {
    launch { warps: 2 }
    shared empty: mbarrier;
    if tid == 0 { mbarrier.init [empty], 1; }
    bar.sync 0;
    if warpid == 0 { mbarrier.arrive _, [empty]; }
    else { await mbarrier.try_wait.parity [empty], 1; }
}
",
    )
    .flat();
    let sentence = "a wait for this parity passes until phase 0 of empty is complete, and that is over before it looks, \
                    completed by tid 0 (line 6)";
    assert!(flat.contains(sentence) && !flat.contains("into `2`"), "{flat}");
}

/// Who goes on behind a wait that others of its role have still to make is named, and its role meets before it does.
#[test]
fn who_goes_ahead_of_the_others_is_named() {
    let found = reports(
        "kernel ring {
            launch { warps: 3, lanes: 32 }
            shared full: mbarrier;
            shared free: mbarrier;
            if tid == 0 { mbarrier.init [full], 1; mbarrier.init [free], 1; }
            bar.sync 0;
            for i in 0..3 {
                if warpid == 2 {
                    await mbarrier.try_wait.parity [free], (i % 2) ^ 1;
                    bar.warp.sync 0xffffffff;
                    if laneid == 0 { mbarrier.arrive _, [full]; }
                } else {
                    bar.sync 1, 64;
                    await mbarrier.try_wait.parity [full], i % 2;
                    if tid == 0 { mbarrier.arrive _, [free]; }
                }
            }
        }",
    )
    .flat();
    let says =
        "tid 0 is through the same wait and goes on to `mbarrier.arrive.release.cta.shared::cta.b64 [free]`";
    assert!(found.contains(says), "{found}");
    assert!(found.contains("has looked: nothing has the two meet in between"), "{found}");
    assert!(found.contains("help: move `bar.sync 1, 64;`"), "{found}");
}

/// A thread that waits at the same place for another mbarrier was through another wait.
#[test]
fn who_waits_for_something_else_has_not_gone_ahead() {
    let found = reports(
        "kernel own {
            launch { warps: 3 }
            shared full[2]: mbarrier;
            shared free: mbarrier;
            if tid == 0 {
                for i in 0..2 { mbarrier.init [full[i]], 1; }
                mbarrier.init [free], 1;
            }
            bar.sync 0;
            if warpid == 2 {
                for i in 0..2 { mbarrier.arrive _, [full[i]]; }
                await mbarrier.try_wait.parity [free], 0;
                mbarrier.arrive _, [full[1]];
            } else {
                await mbarrier.try_wait.parity [full[warpid]], 0;
                if warpid == 0 { mbarrier.arrive _, [free]; }
            }
        }",
    )
    .json;
    assert!(found.contains("deadlock::phase-never-completes"), "{found}");
    assert!(!found.contains("is through the same wait"), "{found}");
}

#[test]
fn what_a_repair_does_not_need_is_left_out() {
    let helps = helps(
        "kernel k {
    launch { ctas: 2, cluster: 2 }
    shared own: mbarrier;
    shared full: mbarrier;
    shared slot: u32 = 0;
    mbarrier.init [own], 1;
    mbarrier.init [full], 2;
    fence.mbarrier_init.release.cluster;
    barrier.cluster.arrive;
    barrier.cluster.wait;
    mbarrier.arrive _, [own];
    await mbarrier.try_wait.parity [own], 0;
    st.shared::cluster [mapa(slot, 1 - cluster_ctarank)], 7;
    mbarrier.arrive.shared::cluster _, [mapa(full, 0)];
    mbarrier.arrive.shared::cluster _, [mapa(full, 1)];
    await mbarrier.try_wait.parity.acquire.cluster [full], 0;
    let v = ld [slot];
    assert v == 7;
}
",
    );
    let [help] = helps.as_slice() else { panic!("{helps:#?}") };
    assert_eq!(help.matches("mbarrier.arrive.release.cluster").count(), 2, "{help}");
    assert!(!help.contains("try_wait"), "{help}");
}
