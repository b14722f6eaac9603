//! Rules about barriers, mbarriers and what they order: for each a kernel that breaks it and one that just does not.
//!
//! The examples of the explain pages break each rule in the plainest way; these do it where it is easily missed, mostly
//! on one of several paths.

use fencepost::check::{CheckError, check};
use fencepost::encode::Treatment;
use fencepost_tests::litmus::shipped_model;
use fencepost_tests::run::{codes_of, config, load_text};
use std::collections::BTreeSet;

/// The codes of what a kernel does wrong under a model, or the code of why it is refused.
fn codes(text: &str, model: &str) -> BTreeSet<&'static str> {
    let program = load_text(text);
    let model = shipped_model(model).expect("the model comes with Fencepost");
    let kernel = &program.kernels[0];
    match check(&program, kernel, &kernel.launches[0], &model, &config(Treatment::DEFAULT)) {
        Ok(outcome) => {
            assert_eq!(outcome.limit, None, "{text}");
            codes_of(&outcome, &model)
        }
        Err(CheckError::Unsupported(diagnostic)) => BTreeSet::from([diagnostic.code]),
        Err(error @ CheckError::SelfCheck { .. }) => panic!("{text}\n{error}"),
    }
}

/// `broken` has `code`, and `fine`, which differs from it as little as can be, has nothing.
fn separates(code: &str, broken: &str, fine: &str) {
    assert!(
        codes(broken, "ptx").contains(code),
        "{code} is not found in\n{broken}: {:?}",
        codes(broken, "ptx")
    );
    assert!(codes(fine, "ptx").is_empty(), "found in\n{fine}: {:?}", codes(fine, "ptx"));
}

/// A hand-over through an mbarrier of CTA 1, with a release fence, an arrival and a wait.
fn hand_over(fence: &str, arrive: &str, wait: &str) -> String {
    format!(
        "kernel k {{
            launch {{ ctas: 2, cluster: 2 }}
            shared x: u32;
            shared m: mbarrier;
            if ctaid == 1 {{ mbarrier.init.shared::cta.b64 [m], 1; }}
            barrier.cluster.arrive;
            barrier.cluster.wait;
            if ctaid == 0 {{
                st.weak.shared [x], 1;
                {fence}
                mbarrier.arrive.{arrive}.shared::cluster.b64 _, [mapa(m, 1)];
            }} else {{
                {wait}
                let v = ld.weak.shared::cluster [mapa(x, 0)];
            }}
            barrier.cluster.arrive;
            barrier.cluster.wait;
        }}"
    )
}

const ACQUIRING: &str = "await mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 [m], 0;";

/// MM-31, MB-23: an arrival that is not in the waiter's scope is counted and orders nothing, whatever fence is before it.
#[test]
fn a_fence_does_not_widen_the_arrival() {
    for fence in ["fence.acq_rel.cluster;", "fence.release.sync_restrict::shared::cta.cluster;"] {
        let narrow = hand_over(fence, "relaxed.cta", ACQUIRING);
        separates("race::scope-too-narrow", &narrow, &hand_over(fence, "relaxed.cluster", ACQUIRING));
    }
    let restricted = "await mbarrier.try_wait.parity.relaxed.SCOPE.shared::cta.b64 [m], 0;
        fence.acquire.sync_restrict::shared::cluster.cluster;";
    let [narrow, wide] =
        ["cta", "cluster"].map(|scope| hand_over("", "release.cluster", &restricted.replace("SCOPE", scope)));
    separates("race::scope-too-narrow", &narrow, &wide);
}

/// UB-B3, UB-B5: which threads meet differently depends on a parameter, and the first two in order never do.
#[test]
fn threads_that_meet_differently_on_some_path() {
    let kernel = |first: &str, second: &str| {
        format!(
            "kernel k(P in 0..=1) {{
                launch {{ warps: 3 }}
                if warpid == 0 {{
                    if P == 0 {{ {first} }}
                }} else {{
                    if (P == 1) == (warpid == 1) {{ {second} }}
                }}
            }}"
        )
    };
    let (reduce, sync) = ("let n = barrier.red.popc.u32 1, true;", "barrier.sync 1;");
    separates("barrier::mixed-reduction", &kernel(reduce, sync), &kernel(sync, sync));
    separates("barrier::mixed-reduction", &kernel(sync, reduce), &kernel(reduce, reduce));
}

/// UB-M8: only one of two threads drops out, and it is not always the same.
#[test]
fn whoever_drops_out_last() {
    let kernel = |count: u32| {
        format!(
            "kernel k(P in 0..=1) {{
                launch {{ warps: 2 }}
                shared m: mbarrier;
                if tid == 0 {{ mbarrier.init.shared::cta.b64 [m], {count}; }}
                bar.sync 0;
                if tid == 0 {{
                    if P == 0 {{ mbarrier.arrive_drop.release.cta.shared::cta.b64 _, [m]; }}
                }} else {{
                    assume P == 0;
                    if P == 1 {{ mbarrier.arrive_drop.release.cta.shared::cta.b64 _, [m]; }}
                }}
            }}"
        )
    };
    separates("mbarrier::nobody-expected", &kernel(1), &kernel(2));
}

/// MB-13: what each phase expects follows from who has dropped out before it, also where that are half of many threads. Whole
/// warps meet with states; a phase in which who drops out is still expected has its arrival.
#[test]
fn half_of_sixty_four_threads_drop_out() {
    let kernel = |count: u32, arrives: &str, drops: &str| {
        format!(
            "kernel k {{
                launch {{ warps: 2, lanes: 32 }}
                shared m: mbarrier;
                shared value[3][64]: u32;
                if tid == 0 {{ mbarrier.init [m], {count}; }}
                bar.sync 0;
                for r in 0..3 {{
                    if tid < 32 || r == 0 {{
                        st [value[r][tid]], r + 1;
                        let state = mbarrier.arrive{arrives} [m];
                        await mbarrier.try_wait [m], state;
                        let other = ld [value[r][(tid + 1) % 32]];
                        assert other == r + 1;
                    }} else if r == 1 {{
                        {drops}
                    }}
                }}
            }}"
        )
    };
    let drops = "mbarrier.arrive_drop _, [m];";
    let fine = kernel(64, "", drops);
    separates("race::uniform", &kernel(64, ".relaxed.cta", drops), &fine);
    separates("deadlock::phase-never-completes", &kernel(65, "", drops), &fine);
    separates("deadlock::phase-never-completes", &kernel(64, "", "mbarrier.arrive _, [m];"), &fine);
    let all_but_one = format!("if tid != 63 {{ {drops} }}");
    separates("deadlock::phase-never-completes", &kernel(64, "", &all_but_one), &fine);
}

/// One of two initialisations happens; the phase expects what that one said.
#[test]
fn the_count_is_that_of_the_initialisation_that_happened() {
    let kernel = |other: u32| {
        format!(
            "kernel k(P in 0..=1) {{
                launch {{ warps: 2 }}
                shared m: mbarrier;
                if tid == 0 {{
                    if P == 0 {{ mbarrier.init.shared::cta.b64 [m], 1; }}
                    else {{ mbarrier.init.shared::cta.b64 [m], {other}; }}
                }}
                bar.sync 0;
                if tid == 0 {{ mbarrier.arrive.release.cta.shared::cta.b64 _, [m]; }}
                else {{ await mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 [m], 0; }}
            }}"
        )
    };
    separates("deadlock::phase-never-completes", &kernel(2), &kernel(1));
}

/// UB-M1: a test that says no uses the object as well.
#[test]
fn a_test_needs_an_initialised_object() {
    let kernel = |init: &str| {
        format!(
            "kernel k {{
                launch {{ warps: 2 }}
                shared m: mbarrier;
                {init}
                bar.sync 0;
                let done = mbarrier.test_wait.parity.acquire.cta.shared::cta.b64 [m], 0;
            }}"
        )
    };
    let init = "if tid == 0 { mbarrier.init.shared::cta.b64 [m], 1; }";
    separates("mbarrier::not-initialised", &kernel(""), &kernel(init));
}

/// A model that does not speak of an instruction proves nothing about it.
#[test]
fn models_without_mbarriers_refuse_them() {
    for model in ["ptx-7.5", "ptx-6.0"] {
        for text in [
            hand_over("", "release.cluster", ACQUIRING),
            "kernel k { launch { ctas: 2, cluster: 2 } barrier.cluster.arrive; barrier.cluster.wait; }"
                .to_owned(),
            "kernel k { fence.release.sync_restrict::shared::cta.cluster; }".to_owned(),
        ] {
            assert_eq!(codes(&text, model), BTreeSet::from(["unsupported::model"]), "{model}: {text}");
        }
        assert!(codes("kernel k { launch { warps: 2 } bar.sync 0; }", model).is_empty());
    }
}
