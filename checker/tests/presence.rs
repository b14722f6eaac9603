//! Who is there when: CTAs that have started and not ended (lifetime), clusters that run at the same time (residency), and
//! the lanes that meet at `elect.sync`. Each rule fires, and each has a near miss that does not.

use fencepost::check::{Config, check};
use fencepost::encode::Treatment;
use fencepost::explain::explain;
use fencepost::report::{Case, Style, diagnostic, json, summary};
use fencepost::verdict::{Outcome, Verdict};
use fencepost_dsl::kernel::{LoadOptions, load};
use fencepost_dsl::{SourceMap, cat};

/// What is said of the only launch of a kernel.
struct Reports {
    outcome: Outcome,
    codes: Vec<&'static str>,
    pretty: String,
    json: String,
}

fn reports_under(text: &str, treatment: Treatment) -> Reports {
    let model_text = include_str!("../engine/models/ptx.cat");
    let mut read = |_: &str| Ok(model_text.to_owned());
    let model = cat::load(&mut SourceMap::default(), "ptx.cat", &mut read, &[]).expect("the model is fine");
    let mut sources = SourceMap::default();
    let program = load(&mut sources, "k.fence", &mut |_| Ok(text.to_owned()), &LoadOptions::default())
        .unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
    let (kernel, config) = (&program.kernels[0], Config::without_deadline(treatment));
    let outcome = check(&program, kernel, &kernel.launches[0], &model, &config)
        .unwrap_or_else(|error| panic!("{error}\n{text}"));
    let explanations: Vec<_> =
        outcome.findings.iter().map(|finding| explain(&outcome.graph, &model, finding)).collect();
    let case = Case {
        sources: &sources,
        file: "k.fence",
        program: &program,
        kernel,
        model: "ptx",
        variants: &[],
        outcome: &outcome,
        explanations: &explanations,
        standing: Default::default(),
    };
    let mut pretty = summary::summary(&case, Style::PLAIN);
    pretty += &diagnostic::findings(&case, false, Style::PLAIN);
    let json = json::report(&case);
    let mut codes: Vec<&'static str> = explanations.iter().map(|explanation| explanation.code).collect();
    codes.sort_unstable();
    codes.dedup();
    Reports { codes, pretty, json, outcome }
}

fn reports(text: &str) -> Reports {
    reports_under(text, Treatment::DEFAULT)
}

/// The codes of the findings, which no optimisation changes.
#[track_caller]
fn expect(text: &str, codes: &[&str]) {
    let found = reports(text);
    assert_eq!(found.codes, codes, "{}\n{text}", found.pretty);
    let verdict = found.outcome.verdict;
    assert_eq!(verdict == Verdict::Proved, codes.is_empty(), "{verdict:?}\n{}\n{text}", found.pretty);
    for &(name, treatment) in Treatment::ONE_OFF {
        let other = reports_under(text, treatment);
        assert_eq!(other.codes, codes, "{name}: {}\n{text}", other.pretty);
        assert_eq!(other.outcome.verdict, verdict, "{name}\n{text}");
    }
}

const NOT_STARTED: &str = "lifetime::peer-not-started";
const MAY_HAVE_EXITED: &str = "lifetime::peer-may-have-exited";
const NOT_CO_RESIDENT: &str = "deadlock::not-co-resident";
const MEET: &str = "barrier.cluster.arrive; barrier.cluster.wait;";
const MEET_RELAXED: &str = "barrier.cluster.arrive.relaxed; barrier.cluster.wait;";

/// CTA 1 reaches into the memory of CTA 0 between what both do before and after.
fn reach(before: &str, access: &str, after: &str) -> String {
    format!(
        "kernel reach {{
    launch {{ ctas: 2, cluster: 2 }}
    shared x: u32 = 0;
    global flag: u32 = 0;
    {before}
    if cluster_ctarank == 1 {{ {access} }}
    {after}
}}
"
    )
}

const STORE: &str = "st.relaxed.cluster [mapa(x, 0)], 1;";

#[test]
fn a_peer_is_known_to_have_started() {
    expect(&reach("", STORE, MEET), &[NOT_STARTED]);
    expect(&reach(MEET, STORE, MEET), &[]);
    // Relaxed arrivals order no memory, but whoever passes knows that the others are there.
    expect(&reach(MEET_RELAXED, STORE, MEET), &[]);
    // To have arrived oneself says nothing of others.
    expect(
        &reach("barrier.cluster.arrive;", &format!("{STORE} barrier.cluster.wait;"), ""),
        &[MAY_HAVE_EXITED, NOT_STARTED],
    );
}

#[test]
fn a_signal_tells_of_a_start() {
    let send = "if cluster_ctarank == 0 { st.relaxed.cluster [flag], 1; }";
    expect(&reach(send, &format!("await ld.relaxed.cluster [flag] == 1; {STORE}"), MEET), &[]);
    // A value that decides about the access tells, too; one that was only looked at does not.
    expect(&reach(send, &format!("if ld.relaxed.cluster [flag] == 1 {{ {STORE} }}"), MEET), &[]);
    expect(&reach(send, &format!("let seen = ld.relaxed.cluster [flag]; {STORE}"), MEET), &[NOT_STARTED]);
}

#[test]
fn a_peer_ends_after_the_access() {
    for access in [
        STORE,
        "let v = ld.relaxed.cluster [mapa(x, 0)];",
        "let v = atom.relaxed.cluster.add.u32 [mapa(x, 0)], 1;",
        "red.relaxed.cluster.add.u32 [mapa(x, 0)], 1;",
    ] {
        expect(&reach(MEET, access, ""), &[MAY_HAVE_EXITED]);
        expect(&reach(MEET, access, MEET), &[]);
    }
    // The arrival must release: a relaxed one may come before the access is over.
    expect(&reach(MEET, STORE, MEET_RELAXED), &[MAY_HAVE_EXITED]);
    let fenced = "fence.acq_rel.cluster; barrier.cluster.arrive.relaxed; barrier.cluster.wait;";
    expect(&reach(MEET, STORE, fenced), &[]);
}

#[test]
fn the_owner_may_wait_for_a_signal_instead() {
    let signal = format!("{STORE} st.release.cluster [flag], 1;");
    let wait = "if cluster_ctarank == 0 { await ld.acquire.cluster [flag] == 1; }";
    expect(&reach(MEET, &signal, wait), &[]);
    // Without the release the flag says nothing of the store.
    let relaxed = format!("{STORE} st.relaxed.cluster [flag], 1;");
    expect(&reach(MEET, &relaxed, wait), &[MAY_HAVE_EXITED]);
    // Who sees the stored value itself knows that the store is over.
    let look = "if cluster_ctarank == 0 { await ld.relaxed.cluster [x] == 1; }";
    expect(&reach(MEET, STORE, look), &[]);
}

#[test]
fn one_thread_of_the_owner_is_enough() {
    let text = |wait: &str| {
        format!(
            "kernel last {{
    launch {{ ctas: 2, cluster: 2, warps: 2 }}
    shared x: u32 = 0;
    global flag: u32 = 0;
    {MEET}
    if cluster_ctarank == 1 {{
        if warpid == 0 {{ st.relaxed.cluster [mapa(x, 0)], 1; st.release.cluster [flag], 1; }}
    }} else {{
        if warpid == 1 {{ {wait} }}
    }}
}}
"
        )
    };
    expect(&text("await ld.acquire.cluster [flag] == 1;"), &[]);
    expect(&text("let seen = ld.acquire.cluster [flag];"), &[MAY_HAVE_EXITED]);
}

#[test]
fn who_exits_before_the_last_barrier_keeps_nothing_alive() {
    let leave = |who: &str| {
        format!(
            "kernel leave {{
    launch {{ ctas: 2, cluster: 2, warps: 2 }}
    shared x: u32 = 0;
    {MEET}
    if cluster_ctarank == 0 && {who} {{ exit; }}
    if cluster_ctarank == 1 && warpid == 0 {{ st.relaxed.cluster [mapa(x, 0)], 1; }}
    {MEET}
}}
"
        )
    };
    expect(&leave("warpid == 0"), &[]);
    expect(&leave("true"), &[MAY_HAVE_EXITED]);
}

#[test]
fn an_arrival_at_a_peers_mbarrier_is_an_access_of_its_memory() {
    let text = |wait: &str| {
        format!(
            "kernel remote {{
    launch {{ ctas: 2, cluster: 2 }}
    shared full: mbarrier;
    if cluster_ctarank == 0 {{ mbarrier.init.shared::cta.b64 [full], 1; }}
    {MEET}
    if cluster_ctarank == 1 {{
        mbarrier.arrive.release.cluster.shared::cluster.b64 _, [mapa(full, 0)];
    }} else {{
        {wait}
    }}
}}
"
        )
    };
    expect(&text("await mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 [full], 0;"), &[]);
    expect(&text(""), &[MAY_HAVE_EXITED]);
}

#[test]
fn the_own_rank_is_no_peer() {
    let text = "kernel own {
    launch { ctas: 2, cluster: 2 }
    shared x: u32 = 0;
    st.relaxed.cluster [mapa(x, cluster_ctarank)], 1;
}
";
    expect(text, &[]);
    assert!(reports(text).outcome.graph.peer_accesses.is_empty());
}

#[test]
fn lifetime_reports() {
    insta::assert_snapshot!("peer_not_started", reports(&reach("", STORE, MEET)).pretty);
    insta::assert_snapshot!("peer_may_have_exited", reports(&reach(MEET, STORE, "")).pretty);
    let json = reports(&reach(MEET, STORE, "")).json;
    for part in [
        "\"property\":\"lifetime\"",
        "\"code\":\"lifetime::peer-may-have-exited\"",
        "\"help\":\"let every thread",
    ] {
        assert!(json.contains(part), "{part}\n{json}");
    }
}

/// All CTAs wait until all have counted themselves.
fn grid_barrier(launch: &str) -> String {
    format!(
        "kernel meet {{
    launch {{ {launch} }}
    global count: u32 = 0;
    red.release.sys.add [count], 1;
    await ld.acquire.sys [count] == 2;
}}
"
    )
}

#[test]
fn a_grid_barrier_needs_every_cluster() {
    expect(&grid_barrier("ctas: 2"), &[NOT_CO_RESIDENT]);
    expect(&grid_barrier("gpus: 2"), &[NOT_CO_RESIDENT]);
    expect(&grid_barrier("ctas: 2, cooperative: true"), &[]);
    expect(&grid_barrier("ctas: 2, cluster: 2"), &[]);
    expect(&grid_barrier("warps: 2"), &[]);
}

#[test]
fn a_lock_is_held_by_one_who_has_started() {
    let text = "kernel lock {
    launch { ctas: 2 }
    global lock: u32 = 0;
    await (atom.acquire.gpu.cas.b32 [lock], 0, 1) == 0;
    st.release.gpu [lock], 0;
}
";
    expect(text, &[]);
    assert_eq!(reports(text).outcome.graph.starts.len(), 2, "a CTA waits for the other");
}

#[test]
fn tiles_are_numbered_as_they_start() {
    let text = |number: &str| {
        format!(
            "kernel chain {{
    launch {{ ctas: 2 }}
    global next: u32 = 0;
    global done[2]: u32 = 0;
    let tile = {number};
    if tile == 1 {{ await ld.acquire.gpu [done[0]] == 1; }}
    if tile < 2 {{ st.release.gpu [done[tile]], 1; }}
}}
"
        )
    };
    expect(&text("ctaid"), &[NOT_CO_RESIDENT]);
    expect(&text("atom.relaxed.gpu.add.u32 [next], 1"), &[]);
}

#[test]
fn a_hang_with_every_cluster_running_is_no_matter_of_residency() {
    let text = "kernel stuck {
    launch { ctas: 2 }
    global flag: u32 = 0;
    if ctaid == 0 { st.release.gpu [flag], 1; }
    else          { await ld.acquire.gpu [flag] == 2; }
}
";
    expect(text, &["deadlock::spin-never-ends"]);
}

#[test]
fn waits_inside_a_cluster_cost_nothing() {
    let text = format!(
        "kernel inside {{
    launch {{ ctas: 4, cluster: 2, warps: 2 }}
    global total: u32 = 0;
    {MEET}
    bar.sync 0;
    red.relaxed.gpu.add [total], 1;
    {MEET}
}}
"
    );
    let found = reports(&text);
    assert_eq!(found.codes, Vec::<&str>::new(), "{}", found.pretty);
    assert!(found.outcome.graph.starts.is_empty(), "which clusters have started is no question");
}

#[test]
fn who_waits_for_the_waiting_is_told_of() {
    let text = "kernel pair {
    launch { ctas: 4, cluster: 2, warps: 2 }
    global flag: u32 = 0;
    if clusterid == 1 {
        if tid == 0 && cluster_ctarank == 0 { st.release.gpu [flag], 1; }
    } else {
        if tid == 0 { await ld.acquire.gpu [flag] == 1; }
        bar.sync 0;
    }
}
";
    expect(text, &[NOT_CO_RESIDENT]);
    insta::assert_snapshot!("not_co_resident_folded", reports(text).pretty);
}

#[test]
fn residency_report() {
    let found = reports(&grid_barrier("ctas: 2"));
    insta::assert_snapshot!("not_co_resident", found.pretty);
    assert!(
        found.json.contains("\"help\":\"if the grid is launched with `cudaLaunchCooperativeKernel`"),
        "{}",
        found.json
    );
}

/// Lanes of a warp that elect one of them.
fn elect(lanes: u32, body: &str) -> String {
    format!(
        "kernel elect {{
    launch {{ lanes: {lanes} }}
    global n: u32 = 0;
    global x: u32 = 0;
    {body}
}}
"
    )
}

#[test]
fn one_lane_is_elected() {
    let count = "let p = elect.sync 0xffffffff;
    if p { red.relaxed.cta.add [n], 1; }
    final { assert [n] == 1; }";
    expect(&elect(1, count), &[]);
    expect(&elect(4, count), &[]);
    // The same one every time, and the one that every lane is told of.
    let again = "let p = elect.sync 7;
    let {leader, q} = elect.sync 7;
    assert p == q;
    assert p == (leader == laneid);
    assert leader < 3;";
    expect(&elect(3, again), &[]);
    // Which one is not specified.
    expect(&elect(2, "let {leader, p} = elect.sync 3; assert leader == 0;"), &["assert::violated"]);
    expect(&elect(2, "let {leader, p} = elect.sync 3; assert leader == 1;"), &["assert::violated"]);
}

#[test]
fn every_lane_of_the_mask_is_waited_for() {
    let text = |mask: &str| format!("if laneid == 0 {{ let p = elect.sync {mask}; }}");
    expect(&elect(2, &text("3")), &["deadlock::barrier-never-completes"]);
    expect(&elect(2, &text("1")), &[]);
    expect(&elect(2, &text("2")), &["barrier::lane-not-in-mask"]);
    // A lane that waits for another's next step does not pass.
    let circle = "if laneid == 0 { let p = elect.sync 3; st.relaxed.cta [x], 1; }
    else { await ld.relaxed.cta [x] == 1; let p = elect.sync 3; }";
    let found = reports(&elect(2, circle));
    assert_eq!(found.codes.len(), 1, "{}", found.pretty);
    assert!(found.codes[0].starts_with("deadlock::"), "{}", found.pretty);
}

#[test]
fn an_election_orders_no_memory() {
    let text = |meet: &str| {
        format!("if laneid == 0 {{ st.weak [x], 1; }} {meet} if laneid == 1 {{ let v = ld.weak [x]; }}")
    };
    expect(&elect(2, &text("let p = elect.sync 3;")), &["race::uniform"]);
    expect(&elect(2, &text("bar.warp.sync 3;")), &[]);
}

#[test]
fn the_rank_of_an_address_is_that_of_its_cta() {
    let text = "kernel rank {
    launch { ctas: 4, cluster: 2 }
    shared x: u32 = 0;
    let own = getctarank.shared::cluster.u32 [x];
    let peer = getctarank.shared::cluster.u32 [mapa(x, 1 - cluster_ctarank)];
    assert own == cluster_ctarank;
    assert own + peer == 1;
}
";
    expect(text, &[]);
    expect(&text.replace("own + peer == 1", "peer == 0"), &["assert::violated"]);
}

/// That another CTA was cancelled ends nobody's wait and starts none: who hangs then hangs for a count of its own.
#[test]
fn a_cancelled_cta_is_not_waited_for() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/repairs/cancelled-cta.fence");
    let text = std::fs::read_to_string(path).expect("it is there");
    expect(&text, &["deadlock::phase-never-completes"]);
    expect(&text.replace("mbarrier.init [free], 2;", "mbarrier.init [free], 1;"), &[]);
}
