//! The rules about mbarriers (UB-M…): for each a kernel that breaks it where that is easily missed, and one that just does
//! not. The examples of the explain pages break them in the plainest way.

use fencepost::check::{CheckError, check};
use fencepost::encode::Treatment;
use fencepost::unroll::MbarrierEncoding;
use fencepost::verdict::{Outcome, Verdict};
use fencepost_tests::litmus::shipped_model;
use fencepost_tests::run::{codes_of, config, load_text};
use std::collections::BTreeSet;

/// A kernel of two warps of one lane with an mbarrier `m` of so many arrivals.
fn kernel(count: &str, head: &str, first: &str, second: &str) -> String {
    format!(
        "kernel k{head} {{
            launch {{ warps: 2 }}
            shared m: mbarrier;
            shared n[2]: mbarrier;
            global out: u32 = 0;
            if tid == 0 {{ mbarrier.init.shared::cta.b64 [m], {count}; }}
            bar.sync 0;
            if tid == 0 {{ {first} }} else {{ {second} }}
        }}"
    )
}

fn outcome(text: &str, encoding: MbarrierEncoding) -> Result<Outcome, &'static str> {
    let program = load_text(text);
    let model = shipped_model("ptx").expect("the model comes with Fencepost");
    let kernel = &program.kernels[0];
    let treatment = Treatment { mbarrier_encoding: encoding, ..Treatment::DEFAULT };
    match check(&program, kernel, &kernel.launches[0], &model, &config(treatment)) {
        Ok(outcome) => {
            assert_eq!(outcome.limit, None, "{text}");
            Ok(outcome)
        }
        Err(CheckError::Unsupported(diagnostic)) => Err(diagnostic.code),
        Err(error @ CheckError::SelfCheck { .. }) => panic!("{text}\n{error}"),
    }
}

/// The codes of what a kernel does wrong, or the code of why it is refused; the same with ordered mbarriers.
fn codes(text: &str) -> BTreeSet<&'static str> {
    let [usual, ordered] = [MbarrierEncoding::Auto, MbarrierEncoding::Order].map(|encoding| {
        let model = shipped_model("ptx").expect("the model comes with Fencepost");
        match outcome(text, encoding) {
            Ok(outcome) => codes_of(&outcome, &model),
            Err(code) => BTreeSet::from([code]),
        }
    });
    assert_eq!(usual, ordered, "{text}");
    usual
}

/// `broken` has `code`, and `fine`, which differs from it as little as can be, has nothing.
fn separates(code: &str, broken: &str, fine: &str) {
    let (found, rest) = (codes(broken), codes(fine));
    assert!(found.contains(code), "{code} is not found in\n{broken}: {found:?}");
    assert!(rest.is_empty(), "found in\n{fine}: {rest:?}");
}

const ARRIVE: &str = "mbarrier.arrive.release.cta.shared::cta.b64 _, [m];";
const NO_COMPLETE: &str = "let s = mbarrier.arrive.noComplete.release.cta.shared::cta.b64 [m], 1;";

fn wait(parity: u32) -> String {
    format!("await mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 [m], {parity};")
}

/// UB-M9: with another arrival that is surely later, the promise is kept; with one in the other thread it may not be.
#[test]
fn no_complete_completes() {
    let fine = kernel("2", "", &format!("{NO_COMPLETE} {ARRIVE}"), &wait(0));
    let broken = kernel("2", "", NO_COMPLETE, ARRIVE);
    separates("mbarrier::no-complete-completes", &broken, &fine);
}

/// MB-15: the count found is the one before the arrive.
#[test]
fn pending_counts() {
    let ask = |arrive: &str| {
        let first =
            format!("{arrive} let n = mbarrier.pending_count.b64 s; assert n == 3; {ARRIVE} {ARRIVE}");
        kernel("3", "", &first, &wait(0))
    };
    let other = "let s = mbarrier.arrive.release.cta.shared::cta.b64 [m];";
    separates("mbarrier::no-pending-count", &ask(other), &ask(NO_COMPLETE));
    let second = format!("{NO_COMPLETE} let n = mbarrier.pending_count.b64 s; assert n == 2;");
    let shared = kernel("3", "", &second, &format!("{ARRIVE} {}", wait(0)));
    assert!(codes(&shared).contains("assert::violated"), "the other arrival may come later");
}

/// bytes announced when all have arrived complete a phase whose bytes came before.
#[test]
fn a_late_announcement_completes() {
    let late = |bytes: u32| {
        let first = format!(
            "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [m], 16; {ARRIVE}
             mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [m], {bytes};"
        );
        kernel("1", "", &first, &wait(0))
    };
    separates("deadlock::phase-never-completes", &late(8), &late(16));
}

/// UB-M7: the sum leaves the range only if one announcement comes before the other's bytes.
#[test]
fn bytes_out_of_range() {
    let half = "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [m], 600000;";
    let done = "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [m], 600000;";
    let fine = kernel("1", "", &format!("{half} {done} {half} {done} {ARRIVE}"), &wait(0));
    let broken = kernel("2", "", &format!("{half} {done} {ARRIVE}"), &format!("{half} {done} {ARRIVE}"));
    separates("mbarrier::tx-out-of-range", &broken, &fine);
    // Below, where more is delivered than was announced, and nobody waits.
    let few = "mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [m], 16;";
    let fine = kernel("1", "", &format!("{few} {done}"), "");
    let broken = kernel("1", "", &format!("{few} {done} {done}"), "");
    separates("mbarrier::tx-out-of-range", &broken, &fine);
}

/// UB-M11: a state is good for one phase more.
#[test]
fn stale_and_foreign_states() {
    let take = "let s = mbarrier.arrive.release.cta.shared::cta.b64 [m];";
    let look = |object: &str| format!("await mbarrier.try_wait.acquire.cta.shared::cta.b64 [{object}], s;");
    let fine = kernel("1", "", &format!("{take} {} {ARRIVE}", look("m")), "");
    let broken = kernel("1", "", &format!("{take} {ARRIVE} {}", look("m")), "");
    separates("mbarrier::stale-state", &broken, &fine);
    let init =
        "mbarrier.init.shared::cta.b64 [n[0]], 1; mbarrier.arrive.release.cta.shared::cta.b64 _, [n[0]];";
    let foreign = kernel("1", "", &format!("{init} {take} {}", look("n[0]")), "");
    assert!(codes(&foreign).contains("mbarrier::foreign-state"));
}

/// UB-M11 by parity: a second mbarrier keeps the arriving thread from running ahead.
#[test]
fn parities_that_a_later_phase_meets() {
    let ring = |credit: &str, give: &str| {
        let init = "mbarrier.init.shared::cta.b64 [n[0]], 1; bar.sync 1;";
        let rounds: String = (0..3)
            .map(|k| format!("{ARRIVE} {} {credit}", wait(k % 2)).replace('K', &(k % 2).to_string()))
            .collect();
        let waits: String = (0..3).map(|k| format!("{} {give}", wait(k % 2))).collect();
        kernel("1", "", &format!("{init} {rounds}"), &format!("bar.sync 1; {waits}"))
    };
    let fine = ring(
        "await mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 [n[0]], K;",
        "mbarrier.arrive.release.cta.shared::cta.b64 _, [n[0]];",
    );
    let broken = ring("", "");
    separates("mbarrier::phase-run-ahead", &broken, &fine);
    assert!(codes(&broken).contains("deadlock::phase-never-completes"));
}

/// UB-M2, UB-M4: each life is an object of its own if barriers say which.
#[test]
fn lives() {
    let again = |inval: &str, barrier: &str| {
        format!(
            "kernel k {{
                launch {{ warps: 2 }}
                shared m: mbarrier;
                if tid == 0 {{ mbarrier.init.shared::cta.b64 [m], 2; }}
                bar.sync 0;
                mbarrier.arrive.release.cta.shared::cta.b64 _, [m];
                await mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 [m], 0;
                {barrier}
                if tid == 0 {{ {inval} mbarrier.init.shared::cta.b64 [m], 2; }}
                bar.sync 0;
                mbarrier.arrive.release.cta.shared::cta.b64 _, [m];
                await mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 [m], 0;
            }}"
        )
    };
    let inval = "mbarrier.inval.shared::cta.b64 [m];";
    separates("mbarrier::init-of-live-object", &again("", "bar.sync 0;"), &again(inval, "bar.sync 0;"));
    assert_eq!(codes(&again(inval, "")), BTreeSet::from(["unsupported::mbarrier-reuse"]));
}

/// UB-M2: every thread initialises what one should.
#[test]
fn everybody_initialises() {
    let kernel = |who: &str| {
        format!(
            "kernel k {{
                launch {{ warps: 2 }}
                shared m: mbarrier;
                if {who} {{ mbarrier.init.shared::cta.b64 [m], 2; }}
                bar.sync 0;
                mbarrier.arrive.release.cta.shared::cta.b64 _, [m];
            }}"
        )
    };
    separates("mbarrier::init-of-live-object", &kernel("tid < 2"), &kernel("tid < 1"));
}

/// UB-M3: the bytes are memory again after `inval`.
#[test]
fn plain_accesses() {
    let kernel = |inval: &str| {
        format!(
            "kernel k {{
                launch {{ warps: 1 }}
                shared m: mbarrier;
                shared word: u64 alias m;
                mbarrier.init.shared::cta.b64 [m], 1;
                {inval}
                st.weak.shared.u64 [word], 0;
            }}"
        )
    };
    separates("mbarrier::plain-access", &kernel(""), &kernel("mbarrier.inval.shared::cta.b64 [m];"));
}

/// Which object, how many arrivals and how many bytes may depend on parameters.
#[test]
fn operands_that_parameters_decide() {
    let kernel = |waited: &str, bytes: &str| {
        format!(
            "kernel k(P in 0..=1) {{
                launch {{ warps: 2 }}
                shared n[2]: mbarrier;
                if tid == 0 {{ mbarrier.init.shared::cta.b64 [n[0]], 1; mbarrier.init.shared::cta.b64 [n[1]], 1; }}
                bar.sync 0;
                if tid == 0 {{
                    mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [n[P]], 16 + 16 * P;
                    mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [n[P]], {bytes};
                }} else {{
                    await mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 [n[{waited}]], 0;
                }}
            }}"
        )
    };
    let fine = kernel("P", "16 * (1 + P)");
    separates("deadlock::phase-never-completes", &kernel("1 - P", "16 * (1 + P)"), &fine);
    separates("deadlock::phase-never-completes", &kernel("P", "16"), &fine);
    assert_eq!(outcome(&fine, MbarrierEncoding::Auto).map(|outcome| outcome.verdict), Ok(Verdict::Proved));
}
