//! The checker against a plain machine on random programs of barriers: every interleaving is played.
//!
//! Threads, each a warp or a CTA of its own, run straight-line programs of `bar.sync` and `bar.arrive` (with counts that
//! may or may not be those of the warps that come), cluster barriers, flags and early ends. The machine keeps per barrier
//! who has arrived, and with which count; it shares no code with the checker. Compared are whether some run comes back to
//! a barrier too early (UB-B4, UB-C1) or with another count than those it meets there (UB-B3) and, if none does, whether
//! some run hangs. `FENCEPOST_BARRIER_GAMES=N` plays N programs of each kind.

#![expect(clippy::print_stdout, reason = "the suite says how much it compared")]

use fencepost::check::check;
use fencepost::encode::Treatment;
use fencepost_dsl::cat::MemoryModel;
use fencepost_tests::random::Numbers;
use fencepost_tests::run::{codes_of, config, load_text, model};
use std::collections::BTreeSet;
use std::fmt::Write;

/// A step of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    /// `bar.sync`, with a number of warps or for all that have not left.
    Sync(usize, Option<usize>),
    /// `bar.arrive` with a number of warps.
    Arrive(usize, usize),
    ClusterArrive,
    ClusterWait,
    Set(usize),
    Await(usize),
}

/// Numbered barriers that programs use; number 0 without a count.
const N_BARRIERS: usize = 3;
const N_FLAGS: usize = 2;

/// A state of the machine: everything that what comes next depends on.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct State {
    /// Per thread: the next step, and whether it has arrived there and waits.
    at: Vec<(usize, bool)>,
    /// Per barrier: who has arrived in the present generation.
    arrived: Vec<BTreeSet<usize>>,
    /// Per barrier: what the first to arrive in the present generation says of how many make it.
    demanded: Vec<Option<usize>>,
    /// The same of the cluster barrier.
    in_cluster: BTreeSet<usize>,
    /// Per thread: whether the phase it arrived in last is complete.
    may_pass: Vec<bool>,
    flags: [bool; N_FLAGS],
}

/// What some run does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Fate {
    comes_back_early: bool,
    counts_differ: bool,
    hangs: bool,
}

impl Fate {
    /// Whether something is undefined.
    fn breaks_a_rule(self) -> bool {
        self.comes_back_early || self.counts_differ
    }
}

fn play(programs: &[Vec<Step>]) -> Fate {
    let n = programs.len();
    let start = State {
        at: vec![(0, false); n],
        arrived: vec![BTreeSet::new(); N_BARRIERS],
        demanded: vec![None; N_BARRIERS],
        in_cluster: BTreeSet::new(),
        may_pass: vec![false; n],
        flags: [false; N_FLAGS],
    };
    let mut fate = Fate::default();
    let mut seen = BTreeSet::from([start.clone()]);
    let mut open = vec![start];
    while let Some(state) = open.pop() {
        let mut moved = false;
        for thread in 0..n {
            match advance(&state, thread, programs) {
                Move::To(mut next) => {
                    settle(&mut next, programs);
                    moved = true;
                    if seen.insert(next.clone()) {
                        open.push(next);
                    }
                }
                Move::TooEarly => {
                    moved = true;
                    fate.comes_back_early = true;
                }
                Move::AnotherCount => {
                    moved = true;
                    fate.counts_differ = true;
                }
                Move::None => {}
            }
        }
        let is_over = (0..n).all(|thread| has_left(&state, thread, programs));
        fate.hangs |= !moved && !is_over;
    }
    fate
}

/// To leave is a step of its own.
fn has_left(state: &State, thread: usize, programs: &[Vec<Step>]) -> bool {
    state.at[thread].0 > programs[thread].len()
}

enum Move {
    To(State),
    TooEarly,
    AnotherCount,
    None,
}

fn advance(state: &State, thread: usize, programs: &[Vec<Step>]) -> Move {
    let (position, waits) = state.at[thread];
    let mut next = state.clone();
    let Some(&step) = programs[thread].get(position) else {
        if has_left(state, thread, programs) {
            return Move::None;
        }
        next.at[thread] = (position + 1, false);
        return Move::To(next);
    };
    match step {
        _ if waits => return Move::None,
        Step::Sync(id, _) | Step::Arrive(id, _) => {
            let count = match step {
                Step::Sync(_, count) => count,
                Step::Arrive(_, count) => Some(count),
                _ => None,
            };
            let of_warps = |count: Option<usize>| count.unwrap_or(programs.len());
            if !next.arrived[id].insert(thread) {
                return Move::TooEarly;
            }
            if next.arrived[id].len() == 1 {
                next.demanded[id] = count;
            } else if of_warps(next.demanded[id]) != of_warps(count) {
                return Move::AnotherCount;
            } else if count.is_some() {
                // An exited warp is waited for where somebody names a count.
                next.demanded[id] = count;
            }
            if matches!(step, Step::Sync(..)) {
                next.at[thread] = (position, true);
                return Move::To(next);
            }
        }
        Step::ClusterArrive => {
            if !next.in_cluster.insert(thread) {
                return Move::TooEarly;
            }
            next.may_pass[thread] = false;
        }
        Step::ClusterWait if !state.may_pass[thread] => return Move::None,
        Step::ClusterWait => {}
        Step::Set(flag) => next.flags[flag] = true,
        Step::Await(flag) if !state.flags[flag] => return Move::None,
        Step::Await(_) => {}
    }
    next.at[thread] = (position + 1, false);
    Move::To(next)
}

/// Completes what is complete.
fn settle(state: &mut State, programs: &[Vec<Step>]) {
    let left = |state: &State, thread: usize| has_left(state, thread, programs);
    for id in 0..N_BARRIERS {
        let is_full = match state.demanded[id] {
            Some(count) => state.arrived[id].len() == count,
            None => {
                (0..programs.len()).all(|thread| state.arrived[id].contains(&thread) || left(state, thread))
            }
        };
        if !is_full || state.arrived[id].is_empty() {
            continue;
        }
        for thread in std::mem::take(&mut state.arrived[id]) {
            // One that waits, waits here; one that has only arrived is anywhere.
            if let (position, true) = state.at[thread]
                && matches!(programs[thread][position], Step::Sync(own, _) if own == id)
            {
                state.at[thread] = (position + 1, false);
            }
        }
        // A thread that has left now may complete another.
        return settle(state, programs);
    }
    let all_in = (0..programs.len()).all(|thread| state.in_cluster.contains(&thread) || left(state, thread));
    if all_in && !state.in_cluster.is_empty() {
        for thread in std::mem::take(&mut state.in_cluster) {
            state.may_pass[thread] = true;
        }
    }
}

/// One count for each barrier.
fn warps(seed: u64) -> Vec<Vec<Step>> {
    let mut numbers = Numbers(seed);
    let n = 2 + numbers.index(3);
    let counts: Vec<usize> = (0..N_BARRIERS).map(|_| 2 + numbers.index(n - 1)).collect();
    (0..n)
        .map(|_| {
            (0..numbers.index(5))
                .map(|_| match numbers.index(12) {
                    0 => Step::Sync(0, None),
                    1..=4 => Step::Sync(1, Some(counts[1])),
                    5 => Step::Sync(2, Some(counts[2])),
                    6 | 7 => Step::Arrive(1, counts[1]),
                    8 => Step::Arrive(2, counts[2]),
                    9 => Step::Set(numbers.index(N_FLAGS)),
                    _ => Step::Await(numbers.index(N_FLAGS)),
                })
                .collect()
        })
        .collect()
}

/// Barriers that are used with several counts: rarely, so that something else than UB-B3 comes of it, too.
fn mixed_warps(seed: u64) -> Vec<Vec<Step>> {
    let mut numbers = Numbers(seed);
    let n = 2 + numbers.index(3);
    let shared: Vec<Step> = (0..numbers.index(3)).map(|_| any_sync(&mut numbers, n)).collect();
    let tail: Vec<Step> = (0..numbers.index(3)).map(|_| any_sync(&mut numbers, n)).collect();
    (0..n)
        .map(|_| {
            let own = (0..numbers.index(4)).map(|_| match numbers.index(9) {
                0..=2 => any_sync(&mut numbers, n),
                3 => Step::Arrive(1, 2 + numbers.index(n - 1)),
                4 | 5 => Step::Set(numbers.index(N_FLAGS)),
                _ => Step::Await(numbers.index(N_FLAGS)),
            });
            let own: Vec<Step> = own.collect();
            let stays = numbers.index(4) > 0;
            let tail = if stays { &tail[..] } else { &[] };
            [&shared, &own[..], tail].concat()
        })
        .collect()
}

fn any_sync(numbers: &mut Numbers, n: usize) -> Step {
    let id = numbers.index(2);
    let count = 1 + numbers.index(n);
    Step::Sync(id, (numbers.index(3) > 0).then_some(count))
}

fn ctas(seed: u64) -> Vec<Vec<Step>> {
    let mut numbers = Numbers(seed);
    let n = 2 + numbers.index(2);
    (0..n)
        .map(|_| {
            let mut has_arrived = false;
            (0..numbers.index(6))
                .map(|_| match numbers.index(8) {
                    0..=2 if has_arrived => {
                        has_arrived = false;
                        Step::ClusterWait
                    }
                    0..=4 => {
                        has_arrived = true;
                        Step::ClusterArrive
                    }
                    5 => Step::Set(numbers.index(N_FLAGS)),
                    _ => Step::Await(numbers.index(N_FLAGS)),
                })
                .collect()
        })
        .collect()
}

fn text(programs: &[Vec<Step>], dimension: &str, coordinate: &str) -> String {
    let n = programs.len();
    let launch =
        if dimension == "ctas" { format!("ctas: {n}, cluster: {n}") } else { format!("{dimension}: {n}") };
    let mut text = format!("kernel k {{\n    launch {{ {launch} }}\n");
    for flag in 0..N_FLAGS {
        let _ = writeln!(text, "    global f{flag}: u32 = 0;");
    }
    for (thread, steps) in programs.iter().enumerate() {
        let _ = writeln!(text, "    if {coordinate} == {thread} {{");
        for step in steps {
            let line = match step {
                Step::Sync(id, None) => format!("bar.sync {id};"),
                Step::Sync(id, Some(count)) => format!("bar.sync {id}, {};", 32 * count),
                Step::Arrive(id, count) => format!("bar.arrive {id}, {};", 32 * count),
                Step::ClusterArrive => "barrier.cluster.arrive;".to_owned(),
                Step::ClusterWait => "barrier.cluster.wait;".to_owned(),
                Step::Set(flag) => format!("st.relaxed.gpu [f{flag}], 1;"),
                Step::Await(flag) => format!("await (ld.relaxed.gpu [f{flag}]) == 1;"),
            };
            let _ = writeln!(text, "        {line}");
        }
        text.push_str("    }\n");
    }
    text + "}\n"
}

/// What the checker finds.
fn find(text: &str, model: &MemoryModel) -> Fate {
    let program = load_text(text);
    let kernel = &program.kernels[0];
    let outcome = check(&program, kernel, &kernel.launches[0], model, &config(Treatment::DEFAULT))
        .unwrap_or_else(|error| panic!("{text}\n{error}"));
    assert_eq!(outcome.limit, None, "{text}");
    let mut fate = Fate::default();
    for code in codes_of(&outcome, model) {
        match code {
            "barrier::reuse-before-reset" | "barrier::second-arrival" => fate.comes_back_early = true,
            "barrier::count-mismatch" => fate.counts_differ = true,
            code if code.starts_with("deadlock::") => fate.hangs = true,
            code => panic!("{code} in\n{text}"),
        }
    }
    fate
}

/// `n_default`: how many programs are played unless the environment says another number.
///
/// `counts_differ`: whether the programs are to break UB-B3, or are to leave it alone.
fn compare(
    dimension: &str,
    coordinate: &str,
    n_default: u64,
    generate: fn(u64) -> Vec<Vec<Step>>,
    counts_differ: bool,
) {
    let n_programs =
        std::env::var("FENCEPOST_BARRIER_GAMES").ok().and_then(|n| n.parse().ok()).unwrap_or(n_default);
    let model = model(&[]);
    let (mut n_early, mut n_differing, mut n_hanging, mut n_fine) = (0, 0, 0, 0);
    let mut complaints = Vec::new();
    for seed in 0..n_programs {
        let programs = generate(seed);
        let text = text(&programs, dimension, coordinate);
        let (played, found) = (play(&programs), find(&text, &model));
        let agrees = match (played.breaks_a_rule(), found.breaks_a_rule()) {
            (false, false) => played.hangs == found.hangs,
            (played, found) => played == found,
        };
        if !agrees {
            complaints.push(format!("the machine {played:?}, the checker {found:?}\n{text}"));
        }
        match played {
            Fate { comes_back_early: true, .. } => n_early += 1,
            Fate { counts_differ: true, .. } => n_differing += 1,
            Fate { hangs: true, .. } => n_hanging += 1,
            Fate { .. } => n_fine += 1,
        }
    }
    println!(
        "barrier_games, {dimension}: {n_early} come back early, {n_differing} give different counts, {n_hanging} hang, {n_fine} do none of these"
    );
    complaints.sort_by_key(String::len);
    assert!(
        complaints.is_empty(),
        "{} disagree\n{}",
        complaints.len(),
        complaints[..complaints.len().min(4)].join("\n")
    );
    for (what, n) in [("comes back early", n_early), ("hangs", n_hanging), ("does none", n_fine)] {
        assert!(n * 50 >= n_programs, "{n} of {n_programs}: {what}");
    }
    assert_eq!(
        n_differing * 50 >= n_programs,
        counts_differ,
        "{n_differing} of {n_programs}: different counts"
    );
}

#[test]
fn warps_at_numbered_barriers() {
    compare("warps", "warpid", 600, warps, false);
}

#[test]
fn warps_at_barriers_of_several_counts() {
    compare("warps", "warpid", 300, mixed_warps, true);
}

#[test]
fn ctas_at_the_cluster_barrier() {
    compare("ctas", "ctaid", 600, ctas, false);
}
