//! What slices say is so of the whole: kernels of a dozen or two of threads with every part of them left out in turn, random
//! ones, and the repository's own.
//!
//! `FENCEPOST_SLICES_PROGRAMS=N` runs N random kernels, `FENCEPOST_SLICES_SEED=S` others.

use fencepost::check::apart::are_apart;
use fencepost::check::{CheckError, Config, check};
use fencepost::encode::Treatment;
use fencepost::verdict::{Limit, Outcome, Property, Verdict};
use fencepost_dsl::kernel::LoadOptions;
use fencepost_dsl::kernel::program::Program;
use fencepost_dsl::{SourceMap, kernel};
use fencepost_tests::random::{Numbers, Plan, Suite};
use fencepost_tests::run::{config, load, load_text, model, outcomes_of, proved};
use fencepost_tests::switched::Switched;
use std::path::{Path, PathBuf};

fn has_pass(outcome: &Outcome, name: &str) -> bool {
    outcome.statistics.microseconds.iter().any(|&(pass, _)| pass == name)
}

/// Whether there were slices.
fn is_cut(outcome: &Outcome) -> bool {
    has_pass(outcome, "slices")
}

/// Whether they gave the verdict.
fn is_sliced(outcome: &Outcome) -> bool {
    is_cut(outcome) && !has_pass(outcome, "bound")
}

/// What a launch came to, whether it was cut, and whether slices gave the verdict.
type Judgement = (Vec<(Property, Verdict)>, [bool; 2]);

/// What a run of all launches came to, if nothing in it is unsupported or too large.
fn judged(program: &Program, treatment: Treatment) -> Option<Vec<Judgement>> {
    let (model, config) = (model(&[]), Config { budget: 4_000_000_000, ..config(treatment) });
    let mut judged = Vec::new();
    for kernel in &program.kernels {
        for launch in &kernel.launches {
            let outcome = match check(program, kernel, launch, &model, &config) {
                Ok(outcome) => outcome,
                Err(CheckError::Unsupported(_)) => return None,
                Err(error) => panic!("{}: {error}", kernel.name),
            };
            if outcome.limit.is_some() {
                return None;
            }
            judged.push((outcome.properties.clone(), [is_cut(&outcome), is_sliced(&outcome)]));
        }
    }
    Some(judged)
}

#[derive(Default, Debug)]
struct Tally {
    compared: usize,
    cut: usize,
    proved_by_slices: usize,
    violated_by_slices: usize,
    cut_and_violated: usize,
    proved_by_places: usize,
    violated_by_places: usize,
}

/// Compares a program with slices, with those around places, and without.
fn compare(program: &Program, name: &str, tally: &mut Tally) {
    let (Some(with), Some(without)) = (judged(program, Treatment::SLICED), judged(program, Treatment::WHOLE))
    else {
        return;
    };
    let by_place = judged(program, Treatment::BY_PLACE).unwrap_or_default();
    for ((found, [_, is_sliced]), (expected, _)) in by_place.into_iter().zip(&without) {
        let is_violated = expected.iter().any(|&(_, verdict)| verdict == Verdict::Violated);
        tally.proved_by_places += usize::from(is_sliced && !is_violated);
        tally.violated_by_places += usize::from(is_sliced && is_violated);
        assert_eq!(found, *expected, "{name}, with slices around places and without");
    }
    for ((found, [is_cut, is_sliced]), (expected, _)) in with.into_iter().zip(without) {
        tally.compared += 1;
        let is_violated = expected.iter().any(|&(_, verdict)| verdict == Verdict::Violated);
        tally.cut += usize::from(is_cut);
        tally.proved_by_slices += usize::from(is_sliced && !is_violated);
        tally.violated_by_slices += usize::from(is_sliced && is_violated);
        tally.cut_and_violated += usize::from(is_cut && is_violated);
        assert_eq!(found, expected, "{name}, with slices and without");
    }
}

/// The kernels that grow, a dozen threads large: one that has to do with all others, and neighbours.
const FAMILIES: &[(&str, &[(&str, i64)])] = &[
    ("bar-sync", &[("WARPS", 1), ("LANES", 16), ("ROUNDS", 2)]),
    ("mbarrier-pipeline", &[("WARPS", 2), ("LANES", 8), ("TILES", 3)]),
    ("tma-ring", &[("LANES", 10), ("TILES", 2), ("STAGES", 1)]),
    ("cluster-reduction", &[("N", 2), ("LANES", 10)]),
    ("seqlock", &[("N", 4)]),
    ("flag-chain", &[("N", 12)]),
    ("independent", &[("N", 8)]),
    ("dissemination-barrier", &[("N", 8), ("STEPS", 3)]),
];

/// Two groups of warps that meet by themselves and take turns at a tile.
const TURNS: &str = "\
const LANES = 4;
kernel turns {
    launch { warps: 4, lanes: LANES }
    shared x[2 * LANES]: u32 = 0;
    shared y[4 * LANES]: u32 = 0;
    let group = warpid / 2;
    let own = tid % (2 * LANES);
    if group == 1 {
        bar.arrive 1, 128;
    }
    for round in 0..2 {
        bar.sync group + 1, 128;
        let v = ld.weak.shared.u32 [x[own]];
        assert v == 2 * round + group;
        st.weak.shared.u32 [x[own]], v + 1;
        if round + group < 2 {
            bar.arrive 2 - group, 128;
        }
        st.weak.shared.u32 [y[tid]], round;
        bar.sync group + 3, 64;
        let w = ld.weak.shared.u32 [y[group * 2 * LANES + (own + 1) % (2 * LANES)]];
        assert w == round;
        bar.sync group + 3, 64;
    }
}
";

fn parsed(text: &str, definitions: &[(&str, i64)]) -> Option<Program> {
    let mut text = text.to_owned();
    for (name, value) in definitions {
        let start = text.find(&format!("const {name} = "))?;
        let end = start + text[start..].find(';')?;
        text.replace_range(start..end, &format!("const {name} = {value}"));
    }
    let mut read = |_: &str| Ok(text.clone());
    kernel::load(&mut SourceMap::default(), "test.fence", &mut read, &LoadOptions::default()).ok()
}

/// CTAs that wait for each other by one thread each, at a counter that grows.
const GRID: &str = "\
const C = 3;
const LANES = 8;
kernel grid {
    launch { ctas: C, lanes: LANES, cooperative: true }
    global counter: u32 = 0;
    global data[C][LANES]: u32 = 0;
    for round in 0..2 {
        st.weak.global.u32 [data[ctaid][tid]], round + 1;
        bar.sync 0;
        if tid == 0 {
            red.add.release.gpu.u32 [counter], 1;
            await ld.acquire.gpu.u32 [counter] >= C * (2 * round + 1);
        }
        bar.sync 0;
        let v = ld.weak.global.u32 [data[(ctaid + 1) % C][tid]];
        assert v == round + 1;
        bar.sync 0;
        if tid == 0 {
            red.add.release.gpu.u32 [counter], 1;
            await ld.acquire.gpu.u32 [counter] >= C * (2 * round + 2);
        }
        bar.sync 0;
    }
}
";

/// CTAs that take a lock by one thread each, and need not all be there.
const LOCK: &str = "\
const C = 3;
const LANES = 12;
kernel lock {
    launch { ctas: C, lanes: LANES }
    global lock: u32 = 0;
    global x[LANES]: u32 = 0;
    if tid == 0 {
        await (atom.cas.acquire.gpu.b32 [lock], 0, 1) == 0;
    }
    bar.sync 0;
    let v = ld.weak.global.u32 [x[tid]];
    st.weak.global.u32 [x[tid]], v + 1;
    bar.sync 0;
    if tid == 0 {
        st.release.gpu.global.u32 [lock], 0;
    }
    final { assert [x[0]] == C; assert [x[5]] == C; }
}
";

/// CTAs of which the last to count itself reads what all have written; the first one waits for a word of its own.
const LAST: &str = "\
const C = 3;
const LANES = 8;
kernel last {
    launch { ctas: C, lanes: LANES }
    global part[C][LANES]: u32 = 0;
    global count: u32 = 0;
    global done: u32 = 0;
    shared is_last: u32;
    st.weak.global.u32 [part[ctaid][tid]], ctaid + 1;
    bar.sync 0;
    if tid == 0 {
        let before = atom.acq_rel.gpu.global.add.u32 [count], 1;
        st.weak.shared.u32 [is_last], before == C - 1 ? 1 : 0;
    }
    bar.sync 0;
    let last = ld.weak.shared.u32 [is_last];
    if last == 1 {
        var sum: u32 = 0;
        for i in 0..C {
            sum += ld.weak.global.u32 [part[i][tid]];
        }
        assert sum == C * (C + 1) / 2;
        if tid == 1 {
            st.release.gpu.global.u32 [done], 1;
        }
    }
    final { assert [count] == C; assert [done] == 1; }
}
";

/// The same with fences of all threads; what those who have to do with many do to each other, nobody else has to do with.
const HUBS: &str = "\
const LANES = 12;
kernel hubs {
    launch { ctas: 2, lanes: LANES }
    global part[2][LANES]: u32 = 0;
    global count: u32 = 0;
    global out[LANES]: u32 = 0;
    global by_first: u32 = 0;
    shared is_last: u32;
    st.weak.global.u32 [part[ctaid][tid]], 1;
    fence.sc.gpu;
    bar.sync 0;
    if tid == 0 {
        let before = atom.relaxed.gpu.global.add.u32 [count], 1;
        st.weak.shared.u32 [is_last], before;
    }
    bar.sync 0;
    let last = ld.weak.shared.u32 [is_last];
    if last == 1 {
        fence.sc.gpu;
        let mine = ld.weak.global.u32 [part[0][tid]];
        let other = ld.weak.global.u32 [part[1][tid]];
        assert mine + other == 2;
        st.weak.global.u32 [out[tid]], mine + other;
        if tid == 0 {
            st.weak.global.u32 [by_first], ctaid;
        }
    }
}
";

/// CTAs of which all threads wait for each other's word between fences, one round of it each; a thread sets the word.
const FENCED: &str = "\
const LANES = 8;
kernel fenced {
    launch { ctas: 2, lanes: LANES, cooperative: true }
    global data[2][LANES]: u32 = 0;
    global flag[2]: u32 = 0;
    st.weak.global.u32 [data[ctaid][tid]], tid + 1;
    fence.sc.gpu;
    bar.sync 0;
    if tid == 0 {
        st.relaxed.gpu.global.u32 [flag[ctaid]], 1;
    }
    for i in 0..2 {
        await ld.relaxed.gpu.global.u32 [flag[i]] == 1;
        fence.sc.gpu;
        let v = ld.weak.global.u32 [data[i][tid]];
        assert v == tid + 1;
    }
}
";

/// CTAs that take turns by a vote on what their first thread has read.
const VOTE: &str = "\
const C = 2;
const LANES = 12;
kernel vote {
    launch { ctas: C, lanes: LANES, cooperative: true }
    global lock: u32 = 0;
    global x[LANES]: u32 = 0;
    var state: u32 = 9;
    if tid == 0 {
        state = ld.acquire.gpu.global.u32 [lock];
    }
    loop {
        let waits = bar.red.and.pred 1, state != ctaid;
        if !waits {
            break;
        }
        if tid == 0 {
            state = ld.acquire.gpu.global.u32 [lock];
        }
    }
    bar.sync 0;
    let v = ld.weak.global.u32 [x[tid]];
    st.weak.global.u32 [x[tid]], v + 1;
    bar.sync 0;
    if tid == 0 {
        st.release.gpu.global.u32 [lock], ctaid + 1;
    }
    final { assert [x[5]] == C; }
}
";

/// What is claimed at the end goes through the hands of others: of a neighbour's word, and of a word that two hand on.
const HANDED: &str = "\
const C = 2;
const LANES = 12;
kernel handed {
    launch { ctas: C, lanes: LANES }
    global src[C][LANES]: u32;
    global out[C][LANES]: u32 = 0;
    shared x[LANES]: u32;
    shared y[LANES]: u32;
    let mine = ld.weak.global.u32 [src[ctaid][tid]];
    st.weak.shared.u32 [x[tid]], mine;
    bar.sync 0;
    let next = ld.weak.shared.u32 [x[(tid + 1) % LANES]];
    st.weak.shared.u32 [y[tid]], next + 1;
    bar.sync 0;
    let last = ld.weak.shared.u32 [y[(tid + 1) % LANES]];
    st.weak.global.u32 [out[ctaid][tid]], last;
    final { assert [out[1][3]] == [src[1][5]] + 1; assert [out[0][0]] == [src[0][2]] + 1; }
}
";

/// A tile that all write and all read, as a transpose does it: at each word few threads meet, and each thread meets all.
const TILE: &str = "\
const N = 16;
const LANES = 8;
kernel tile {
    launch { warps: 2, lanes: LANES }
    shared tile[N][N]: u32 = 0;
    shared out[N]: u32 = 0;
    shared full: mbarrier;
    if tid == 0 {
        mbarrier.init.shared::cta.b64 [full], N - 1;
    }
    bar.sync 0;
    for i in 0..N {
        st.weak.shared.u32 [tile[tid][i]], i;
    }
    bar.sync 0;
    var sum: u32 = 0;
    for i in 0..N {
        sum += ld.weak.shared.u32 [tile[i][tid]];
    }
    bar.sync 0;
    st.weak.shared.u32 [tile[tid][0]], sum;
    if tid > 0 {
        mbarrier.arrive.release.cta.shared::cta.b64 _, [full];
    } else {
        await mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 [full], 0;
        let v = ld.weak.shared.u32 [tile[3][0]];
        st.weak.shared.u32 [out[0]], v;
    }
}
";

/// The text with one statement left out, a sem or scope weaker, or a number off by one, each in turn.
fn edits(text: &str) -> Vec<String> {
    let mut edited = vec![text.to_owned()];
    let lines: Vec<&str> = text.lines().collect();
    for at in 0..lines.len() {
        let line = lines[at].trim();
        if line.ends_with(';') && !line.starts_with("const") && !line.starts_with("let") {
            let kept = lines.iter().enumerate().filter(|&(other, _)| other != at).map(|(_, line)| *line);
            edited.push(kept.collect::<Vec<_>>().join("\n"));
        }
    }
    for (from, to) in [
        (".release.", ".relaxed."),
        (".acquire.", ".relaxed."),
        (".gpu", ".cta"),
        ("^ 1", "^ 0"),
        ("% 2", "% 2 ^ 1"),
        ("HALF;", "HALF - 1;"),
        ("READERS;", "READERS - 1;"),
        ("+ 1) %", "+ 2) %"),
        ("bar.sync 0;", "bar.warp.sync 0xf;"),
        ("if tid == 0", "if tid < 2"),
        ("assert v ==", "assert v !="),
        ("cooperative: true", "cooperative: false"),
        (">= C *", ">= C + C *"),
        (">= C *", ">= C - 1 + 0 *"),
        ("], 0, 1)", "], 0, 0)"),
        ("], 1;", "], 2;"),
        ("await (", "let w = ("),
        ("tid == 0 {", "tid == 0 && ctaid != 1 {"),
        ("bar.sync 0;", "if ctaid != 1 { bar.sync 0; }"),
        ("[x[5]] == C", "[x[5]] < C"),
        ("[data[ctaid][tid]]", "[data[ctaid][tid == 5 ? 4 : tid]]"),
        ("bar.arrive 1, 128;", "if tid != 9 { bar.arrive 1, 128; }"),
        ("bar.sync group + 3, 64;", "if warpid != 3 { bar.sync group + 3, 64; }"),
        ("[y[tid]]", "[y[tid == 5 ? 4 : tid]]"),
        ("[x[tid]], mine", "[x[tid == 5 ? 4 : tid]], mine"),
        ("[y[tid]], next", "[y[tid]], next + tid / 5"),
        ("[src[1][5]]", "[src[1][4]]"),
        ("[x[own]]", "[x[tid == 5 ? 4 : own]]"),
    ] {
        let places: Vec<usize> = text.match_indices(from).map(|(at, _)| at).collect();
        edited
            .extend(places.into_iter().map(|at| format!("{}{to}{}", &text[..at], &text[at + from.len()..])));
    }
    edited
}

#[test]
#[expect(clippy::print_stdout, reason = "the suite says how much it compared")]
fn families_agree_whatever_is_left_out() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../checker/cli/benches/families");
    let mut tally = Tally::default();
    for &(name, definitions) in FAMILIES {
        let text = std::fs::read_to_string(folder.join(format!("{name}.fence"))).expect("a family");
        assert!(parsed(&text, definitions).is_some(), "{name} has these constants");
        for edited in edits(&text) {
            if let Some(program) = parsed(&edited, definitions) {
                compare(&program, &format!("{name}:\n{edited}"), &mut tally);
            }
        }
    }
    println!("slices: {tally:?}");
    assert!(tally.proved_by_slices > 5 && tally.violated_by_slices > 10, "{tally:?}");
}

/// Compares a kernel whatever is left out of it.
#[expect(clippy::print_stdout, reason = "the suite says how much it compared")]
fn compared_edits(text: &str) -> Tally {
    let mut tally = Tally::default();
    for edited in edits(text) {
        if let Some(program) = parsed(&edited, &[]) {
            compare(&program, &edited, &mut tally);
        }
    }
    println!("slices: {tally:?}");
    tally
}

/// The same, of one that slices around threads decide.
fn compare_edits(text: &str) {
    let tally = compared_edits(text);
    assert!(tally.proved_by_slices > 0 && tally.violated_by_slices > 2, "{tally:?}");
}

#[test]
fn named_barriers_agree_whatever_is_left_out() {
    compare_edits(TURNS);
}

#[test]
fn tiles_that_all_write_and_read_agree_whatever_is_left_out() {
    let tally = compared_edits(TILE);
    assert!(tally.proved_by_places > 0 && tally.violated_by_places > 2, "{tally:?}");
}

#[test]
fn ctas_that_wait_for_each_other_agree_whatever_is_left_out() {
    compare_edits(GRID);
}

#[test]
fn ctas_that_need_not_all_be_there_agree_whatever_is_left_out() {
    compare_edits(LOCK);
}

#[test]
fn ctas_of_which_the_last_reads_all_agree_whatever_is_left_out() {
    compare_edits(LAST);
}

#[test]
fn threads_that_have_to_do_with_many_agree_whatever_is_left_out() {
    compare_edits(HUBS);
}

#[test]
fn ctas_that_vote_on_whose_turn_it_is_agree_whatever_is_left_out() {
    compare_edits(VOTE);
}

#[test]
fn claims_of_words_that_were_handed_on_agree_whatever_is_left_out() {
    compare_edits(HANDED);
}

#[test]
fn ctas_that_all_wait_between_fences_agree_whatever_is_left_out() {
    compare_edits(FENCED);
}

/// What goes wrong in launches of which the whole is too large; the same is proved as it was.
#[test]
fn what_slices_find_is_found_in_launches_that_are_too_large() {
    let model = model(&[]);
    let mut large = Config { budget: 4_000_000_000, ..config(Treatment::SLICED) };
    large.limits.events_max = 300;
    let checked = |text: &str, config: &Config| {
        let program = parsed(text, &[("LANES", 32)]).expect("it is a kernel");
        check(&program, &program.kernels[0], &program.kernels[0].launches[0], &model, config)
            .expect("checked")
    };
    assert_eq!(checked(LOCK, &large).verdict, Verdict::Proved);
    assert_eq!(checked(FENCED, &large).verdict, Verdict::Proved);
    for (text, from, to, property) in [
        (GRID, "red.add.release.gpu", "red.add.relaxed.gpu", Property::Race),
        (GRID, "ld.acquire.gpu", "ld.relaxed.gpu", Property::Race),
        // Whoever is left out fences as late as those who are there let them: else they order what is found.
        (FENCED, "fence.sc.gpu;", "", Property::Race),
        (LOCK, "cas.acquire", "cas.relaxed", Property::Assert),
        (LOCK, "release.gpu.global", "release.cta.global", Property::Race),
        (LOCK, "st.release.gpu.global.u32 [lock], 0;", "", Property::Deadlock),
    ] {
        let edited = text.replacen(from, to, 1);
        let found = checked(&edited, &large);
        let is_violated = |own: &(Property, Verdict)| *own == (property, Verdict::Violated);
        assert!(found.properties.iter().any(is_violated), "{:?}\n{edited}", found.properties);
        let hinted =
            Config { treatment: Treatment { completing: false, ..large.treatment }, ..large.clone() };
        assert_eq!(checked(&edited, &hinted).verdict, Verdict::Inconclusive, "{edited}");
        let whole = Config { budget: 4_000_000_000, ..config(Treatment::WHOLE) };
        let program = parsed(&edited, &[("LANES", 8)]).expect("it is a kernel");
        let whole = check(&program, &program.kernels[0], &program.kernels[0].launches[0], &model, &whole);
        assert!(whole.expect("checked").properties.iter().any(is_violated), "{edited}");
    }
}

/// What goes wrong in turns is found before slices are asked: with a scope that is too narrow, nothing is known of the order of
/// arrivals any more, and whether anybody waits for ever takes long to answer.
#[test]
fn a_scope_that_is_too_narrow_is_found_before_the_orders_of_all_arrivals_are_tried() {
    let (model, small) = (model(&[]), Config { budget: 50_000_000, ..config(Treatment::SLICED) });
    let text = GRID.replace("0..2", "0..3").replacen("red.add.release.gpu", "red.add.release.cta", 1);
    let program = parsed(&text, &[("C", 4), ("LANES", 32)]).expect("it is a kernel");
    let outcome = check(&program, &program.kernels[0], &program.kernels[0].launches[0], &model, &small);
    let outcome = outcome.expect("checked");
    assert!(outcome.properties.contains(&(Property::Race, Verdict::Violated)), "{:?}", outcome.properties);
}

/// Each thread reads what another one has written, with something in between.
fn exchange(distance: u32, between: &str) -> Program {
    load_text(&format!(
        "kernel exchange {{
            launch {{ warps: 4, lanes: 32 }}
            shared x[128]: u32 = 0;
            global out[128]: u32 = 0;
            st.weak.shared.u32 [x[tid]], tid;
            {between}
            let v = ld.weak.shared.u32 [x[(tid + {distance}) % 128]];
            st.weak.global.u32 [out[tid]], v;
        }}"
    ))
}

/// Whether what is put in keeps apart the two that were found to race without it; and whether nobody races then.
fn keeps_apart(distance: u32, between: &str) -> (bool, bool) {
    let (model, config) = (model(&[]), config(Treatment::DEFAULT));
    let found = &outcomes_of(&exchange(distance, ""), &model, &config)[0];
    let changed = exchange(distance, between);
    let kernel = &changed.kernels[0];
    let of = (&changed, kernel, &kernel.launches[0]);
    let race = found.findings.iter().find(|finding| finding.property == Property::Race).expect("they race");
    let apart = are_apart(of, &model, &config, (&found.graph, &race.witness)).expect("it is followed");
    let outcome = &outcomes_of(&changed, &model, &config)[0];
    (apart, proved(outcome).contains(&Property::Race))
}

#[test]
fn a_change_keeps_two_apart_if_it_keeps_others_of_other_warps_apart_and_lets_them_come_there() {
    for distance in [1, 33] {
        assert_eq!(keeps_apart(distance, "bar.sync 0;"), (true, true), "{distance}");
        for other in ["bar.warp.sync 0xffffffff;", "fence.acq_rel.cta;", "fence.sc.cta;"] {
            assert_eq!(keeps_apart(distance, other), (false, false), "{distance}: {other}");
        }
        // Nobody comes behind it.
        let (apart, _) = keeps_apart(distance, "bar.sync 0, 256;");
        assert!(!apart, "{distance}");
    }
}

/// Where the work for slices was too much, that is what is said, and not that the whole is too large for anything.
#[test]
fn slices_that_are_not_done_name_the_budget() {
    let model = model(&[]);
    let limit = |budget: u64| {
        let mut large = Config { budget, ..config(Treatment::SLICED) };
        large.limits.events_max = 300;
        let program = parsed(LOCK, &[("LANES", 32)]).expect("it is a kernel");
        let outcome = check(&program, &program.kernels[0], &program.kernels[0].launches[0], &model, &large);
        let outcome = outcome.expect("checked");
        (outcome.limit, outcome.statistics.steps)
    };
    let (none, steps) = limit(4_000_000_000);
    assert_eq!(none, None);
    for budget in [steps * 9 / 10, steps * 3 / 4] {
        assert_eq!(limit(budget).0, Some(Limit::Budget { limit: budget }));
    }
}

/// Counts that are wrong leave open who meets and which phase an operation is of, and every slice has all of that: what goes wrong
/// where the threads run in turns is found before, whoever waits for ever.
#[test]
fn wrong_counts_are_found_while_all_run_in_turns() {
    let model = model(&[]);
    // BR-3: whoever comes, comes once; half of them may drop out of an mbarrier in its second phase (MB-13).
    let drops = "kernel k {
        launch { warps: 2, lanes: 32 }
        shared m: mbarrier;
        shared value[3][64]: u32;
        if tid == 0 { mbarrier.init [m], 64; }
        bar.sync 0;
        for r in 0..3 {
            if tid < 32 || r == 0 {
                st [value[r][tid]], r + 1;
                let state = mbarrier.arrive [m];
                await mbarrier.try_wait [m], state;
                let other = ld [value[r][(tid + 1) % 32]];
                assert other == r + 1;
            } else if r == 1 {
                mbarrier.arrive_drop _, [m];
            }
        }
    }";
    let asked = |text: &str, treatment: Treatment| {
        let mut small = Config { budget: 4_000_000_000, ..config(treatment) };
        small.limits.clauses_max = 20_000;
        let program = parsed(text, &[]).expect("it is a kernel");
        check(&program, &program.kernels[0], &program.kernels[0].launches[0], &model, &small)
            .expect("checked")
    };
    let mut n_only = 0;
    for (text, from, to, property) in [
        (drops, "[m], 64", "[m], 63", Property::Barrier),
        (drops, "[m], 64", "[m], 65", Property::Deadlock),
        (TURNS, "bar.arrive 2 - group, 128", "bar.arrive 2 - group, 96", Property::Barrier),
        (TURNS, "bar.sync group + 1, 128", "bar.sync group + 1, 96", Property::Barrier),
        (TURNS, "bar.arrive 1, 128;", "", Property::Deadlock),
        (TURNS, "bar.arrive 1, 128;", "bar.arrive 1, 128; bar.arrive 1, 128;", Property::Barrier),
    ] {
        assert_ne!(asked(text, Treatment::SLICED).verdict, Verdict::Violated, "{text}");
        let edited = text.replacen(from, to, 1);
        let found = asked(&edited, Treatment::SLICED);
        assert!(
            found.properties.contains(&(property, Verdict::Violated)),
            "{:?}\n{edited}",
            found.properties
        );
        let hinted = Treatment { completing: false, ..Treatment::SLICED };
        n_only += usize::from(asked(&edited, hinted).verdict == Verdict::Inconclusive);
    }
    assert!(n_only >= 3, "{n_only} are found by nothing else");
}

/// What a launch does where its threads run in turns is shown where a limit stops all else, and nothing is proved by it.
#[test]
fn what_goes_wrong_in_turns_is_found_where_a_limit_stops_the_rest() {
    let model = model(&[]);
    let text = |second: &str| {
        format!(
            "kernel finalize {{
                launch {{ ctas: 2, warps: 1, lanes: 32 }}
                global status: u8 = 1;
                global x[64]: u32 = 0;
                let row = ctaid * ntid + tid;
                let s = ld.relaxed.gpu [status];
                if (s & 1) == 1 {{
                    st [x[row]], 1;
                    st.relaxed.gpu [status], {second};
                }}
                final {{ assert [x[0]] == 1 && [x[63]] == 1; }}
            }}"
        )
    };
    let verdict = |text: &str, treatment: Treatment| {
        let mut small = Config { budget: 4_000_000_000, ..config(treatment) };
        small.limits.clauses_max = 50_000;
        let program = parsed(text, &[]).expect("it is a kernel");
        let outcome = check(&program, &program.kernels[0], &program.kernels[0].launches[0], &model, &small);
        let outcome = outcome.expect("checked");
        (outcome.verdict, outcome.limit.is_some(), outcome.findings.len())
    };
    assert_eq!(verdict(&text("2"), Treatment::DEFAULT), (Verdict::Violated, true, 1));
    assert_eq!(verdict(&text("1"), Treatment::DEFAULT), (Verdict::Inconclusive, true, 0));
    let hinted = Treatment { completing: false, ..Treatment::DEFAULT };
    assert_eq!(verdict(&text("2"), hinted), (Verdict::Inconclusive, true, 0));
    // Two threads of one word that do not know of each other: a race in whatever order they run.
    let racing = text("1").replace("st [x[row]], 1;", "st [x[row / 2]], 1;");
    assert_eq!(verdict(&racing, Treatment::DEFAULT).0, Verdict::Violated);
}

fn files(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder of the repository") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            // What proves the library says the same as the stories, and takes minutes.
            if path.file_name().is_none_or(|name| name != "lib") {
                files(&path, into);
            }
        } else if path.extension().is_some_and(|extension| extension == "fence")
            && !path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('_'))
        {
            into.push(path);
        }
    }
}

#[test]
#[expect(clippy::print_stdout, reason = "the suite says how much it compared")]
fn the_repository_s_kernels_agree() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut found = Vec::new();
    files(&root.join("examples"), &mut found);
    files(&root.join("tests/rules"), &mut found);
    found.sort();
    let mut tally = Tally::default();
    for path in found {
        let program = load(&path);
        // Slices of fewer threads are most of the whole, which then is looked at at once.
        let mut launches = program.kernels.iter().flat_map(|kernel| &kernel.launches);
        if launches.any(|launch| launch.ctas * launch.warps * launch.lanes >= 8) {
            compare(&program, &path.display().to_string(), &mut tally);
        }
    }
    println!("slices: {tally:?}");
    assert!(tally.proved_by_slices > 0 && tally.compared > 50, "{tally:?}");
}

/// Statements of a body; THERE is a neighbour's number, PHASE a parity.
const STATEMENTS: &[&str] = &[
    "st.weak.shared.u32 [x[tid]], ROUND;",
    "st.weak.shared.u32 [x[THERE]], ROUND;",
    "let rID = ld.weak.shared.u32 [x[tid]];",
    "let rID = ld.weak.shared.u32 [x[THERE]];",
    "let rID = ld.weak.shared.u32 [x[THERE]]; assert rID <= ROUND;",
    "let rID = ld.weak.shared.u32 [x[THERE]]; assert rID == ROUND;",
    "bar.sync 0;",
    "bar.sync 0;",
    "bar.sync 1, 32 * W;",
    "if warpid == 0 { bar.arrive 2, 32 * W; } else { bar.sync 2, 32 * W; }",
    "bar.sync warpid + 3, 32;",
    "fence.acq_rel.cta;",
    "st.relaxed.cta.shared.u32 [y[tid]], ROUND;",
    "st.release.cta.shared.u32 [y[tid]], ROUND;",
    "let rID = ld.acquire.cta.shared.u32 [y[THERE]]; if rID == ROUND { let sID = ld.weak.shared.u32 [x[THERE]]; }",
    "await ld.acquire.cta.shared.u32 [y[THERE]] == ROUND;",
    "mbarrier.arrive.release.cta.shared::cta.b64 _, [m];",
    "mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [m];",
    "await mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 [m], PHASE;",
    "await mbarrier.try_wait.parity.relaxed.cta.shared::cta.b64 [m], PHASE;",
    "if tid == 0 { st.weak.shared.u32 [x[0]], ROUND; }",
    "if tid != 3 { st.weak.shared.u32 [x[tid]], ROUND + 1; }",
    "let rID = atom.add.relaxed.cta.shared.u32 [y[tid]], 1;",
];

/// A kernel of 16 or 18 threads, of which the first initialises an mbarrier for all.
fn random_kernel(numbers: &mut Numbers) -> String {
    let n = 16 + 2 * numbers.below(2);
    let there =
        numbers.of(&["(tid + 1) % N", "(tid + 1) % N", "tid ^ 1", "tid / 2 * 2", "(tid + N - 1) % N"]);
    let mut body = String::new();
    for at in 0..3 + numbers.below(5) {
        let statement = numbers.of(STATEMENTS).replace("THERE", there).replace("ID", &at.to_string());
        let round = (1 + numbers.below(2)).to_string();
        body += &format!(
            "    {}\n",
            statement.replace("ROUND", &round).replace("PHASE", numbers.of(&["0", "0", "1"]))
        );
    }
    let all_bodies =
        if numbers.below(3) == 0 { format!("    for i in 0..2 {{\n{body}    }}\n") } else { body };
    let n_warps = 1 + numbers.below(2);
    format!(
        "const N = {n};\nconst W = {n_warps};\nkernel k {{\n    launch {{ warps: W, lanes: N / W }}\n    shared x[N]: u32 = 0;\n    shared y[N]: u32 = 0;\n    \
         shared m: mbarrier;\n    if tid == 0 {{\n        mbarrier.init.shared::cta.b64 [m], {};\n    }}\n    {}\n{all_bodies}}}\n",
        numbers.of(&["N", "N", "N", "N - 1"]),
        numbers.of(&["bar.sync 0;", "bar.sync 0;", "bar.sync 0;", ""]),
    )
}

/// What one writes, the next reads behind a meeting of all; in two places nothing, or not enough, may be in between.
const MEETING: &str = "st.weak.global.u32 [z[ID][ctaid][tid]], ROUND; SYNC \
                       if tid == 0 { red.add.RELEASE.gpu.u32 [meet[ID]], 1; await ld.ACQUIRE.SCOPE.u32 [meet[ID]] >= C; } \
                       bar.sync 0; let rID = ld.weak.global.u32 [z[ID][THERE][tid]]; assert rID == ROUND;";
/// One CTA after the other has it to itself.
const TURN: &str = "if tid == 0 { await (atom.cas.ACQUIRE.gpu.b32 [lock], 0, 1) == 0; } bar.sync 0; \
                    let rID = ld.weak.global.u32 [y[tid]]; st.weak.global.u32 [y[tid]], rID + 1; SYNC \
                    if tid == 0 { st.RELEASE.SCOPE.global.u32 [lock], 0; }";
/// The last one reads what all have written.
const COUNT: &str = "st.weak.global.u32 [z[ID][ctaid][tid]], ROUND; SYNC if tid == 0 { \
                     let bID = atom.acq_rel.SCOPE.global.add.u32 [meet[ID]], 1; \
                     st.weak.shared.u32 [last[ID]], bID == C - 1 ? 1 : 0; } bar.sync 0; \
                     let lID = ld.weak.shared.u32 [last[ID]]; \
                     if lID == 1 { let rID = ld.weak.global.u32 [z[ID][THERE][tid]]; assert rID == ROUND; }";

/// Statements of CTAs; THERE is another CTA.
const OF_CTAS: &[&str] = &[
    "st.weak.global.u32 [x[ctaid][tid]], ROUND;",
    "let rID = ld.weak.global.u32 [x[ctaid][tid]];",
    "let rID = ld.weak.global.u32 [x[THERE][tid]];",
    "let rID = ld.weak.global.u32 [x[THERE][tid]]; assert rID == ROUND;",
    "let rID = ld.relaxed.gpu.global.u32 [x[THERE][(tid + 1) % N]]; assert rID <= ROUND;",
    "bar.sync 0;",
    "bar.sync 0;",
    "if tid == 0 { red.add.release.gpu.u32 [counter], 1; }",
    "if tid == 0 { red.add.release.gpu.u32 [counter], 1; await ld.acquire.gpu.u32 [counter] >= C * ROUND; }",
    "if tid == 0 { await ld.acquire.gpu.u32 [counter] >= C; }",
    "if tid == 3 { red.add.release.gpu.u32 [counter], 1; }",
    "if tid == 0 { await (atom.cas.acquire.gpu.b32 [lock], 0, 1) == 0; }",
    "if tid == 0 { st.release.gpu.global.u32 [lock], 0; }",
    "if tid == 0 { st.release.gpu.global.u32 [flag[ctaid]], ROUND; }",
    "if tid == 0 { await ld.acquire.gpu.u32 [flag[THERE]] == ROUND; }",
    "if tid == 1 { await ld.relaxed.gpu.u32 [flag[THERE]] == ROUND; }",
    "let rID = ld.acquire.gpu.u32 [flag[THERE]]; if rID == ROUND { let sID = ld.weak.global.u32 [x[THERE][tid]]; }",
    "if ctaid == 0 { st.weak.global.u32 [x[ctaid][tid]], ROUND; }",
    MEETING,
    MEETING,
    MEETING,
    MEETING,
    MEETING,
    MEETING,
    TURN,
    TURN,
    TURN,
    TURN,
    COUNT,
    COUNT,
    COUNT,
    COUNT,
];

/// CTAs that meet by some of their threads, in a launch that is cooperative or not.
fn random_ctas(numbers: &mut Numbers) -> String {
    let n = 14 + 2 * numbers.below(2);
    let c = 2 + numbers.below(2);
    let there = numbers.of(&["(ctaid + 1) % C", "(ctaid + 1) % C", "(ctaid + C - 1) % C", "0"]);
    let mut body = String::new();
    for at in 0..1 + numbers.below(4) {
        let statement = numbers.of(OF_CTAS).replace("THERE", there).replace("ID", &at.to_string());
        let mut of = |word: &str, usual: &'static str, weaker: &'static str, statement: String| {
            statement.replace(word, if numbers.below(12) == 0 { weaker } else { usual })
        };
        let statement = of("SYNC", "bar.sync 0;", "", statement);
        let statement = of("RELEASE", "release", "relaxed", statement);
        let statement = of("ACQUIRE", "acquire", "relaxed", statement);
        let statement = of("SCOPE", "gpu", "cta", statement);
        body += &format!("    {}\n", statement.replace("ROUND", numbers.of(&["1", "1", "2"])));
    }
    let all_bodies =
        if numbers.below(6) == 0 { format!("    for i in 0..2 {{\n{body}    }}\n") } else { body };
    let end = numbers.of(&[
        "",
        "",
        "    final { assert [counter] == C; }\n",
        "    final { assert [y[1]] == C; }\n",
    ]);
    let is_cooperative = numbers.below(2) == 0;
    format!(
        "const N = {n};\nconst C = {c};\nkernel k {{\n    launch {{ ctas: C, lanes: N, cooperative: {is_cooperative} }}\n    \
         global x[C][N]: u32 = 0;\n    global y[N]: u32 = 0;\n    global z[4][C][N]: u32 = 0;\n    \
         global meet[4]: u32 = 0;\n    shared last[4]: u32 = 0;\n    global counter: u32 = 0;\n    global lock: u32 = 0;\n    global flag[C]: u32 = 0;\n\
         {all_bodies}{end}}}\n"
    )
}

/// What is worth knowing of the kernels, by what shows it.
const FEATURES: &[(&str, &str)] = &[
    ("waits at an mbarrier", "await mbarrier"),
    ("waits for memory", "await ld"),
    ("assertions", "assert"),
    ("a loop", "for i"),
    ("a barrier of all by a number", "bar.sync 1"),
    ("a barrier of each warp", "bar.sync warpid"),
    ("branches on a value read", "let s"),
];

#[test]
fn random_kernels_agree() {
    let plan = Plan { n_programs: 200, first_seed: 0, salt: 23, n_memory_max: 0, progress: false };
    let used = "cut into slices";
    let results = [used, "violated", "proved"];
    let suite = Suite { set_aside_max: 30, one_in: 100, ..Suite::new("slices", plan, FEATURES, &results) };
    let is_used = |found: &Outcome, _: &Outcome| is_cut(found);
    let (on, off) = (Treatment::SLICED, Treatment::WHOLE);
    Switched { kernel: random_kernel, on, off, used, is_used }.agree(&suite, FEATURES);
}

const FEATURES_OF_CTAS: &[(&str, &str)] = &[
    ("waits for a count", ">= C"),
    ("waits for a flag", "[flag[ctaid]], 1"),
    ("locks", "atom.cas"),
    ("a meeting", "[meet[0]] >= C"),
    ("counts who comes last", "== C - 1"),
    ("claims of the end", "final"),
    ("clusters that need not be there", "cooperative: false"),
];

#[test]
fn random_ctas_agree() {
    let plan = Plan { n_programs: 300, first_seed: 0, salt: 29, n_memory_max: 0, progress: false };
    let used = "cut into slices";
    let results = [used, "violated", "proved"];
    let suite =
        Suite { set_aside_max: 90, one_in: 100, ..Suite::new("slices", plan, FEATURES_OF_CTAS, &results) };
    let is_used = |found: &Outcome, _: &Outcome| is_cut(found);
    let (on, off) = (Treatment::SLICED, Treatment::WHOLE);
    Switched { kernel: random_ctas, on, off, used, is_used }.agree(&suite, FEATURES_OF_CTAS);
}
