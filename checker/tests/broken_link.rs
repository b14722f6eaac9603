//! The broken link of a hand-over is found wherever it is on the way, also between threads of which neither accesses what
//! the race is on.

use fencepost::{Options, Style, check};

/// The report of a kernel with a launch, with the lines of a paragraph joined.
fn report(launch: &str, body: &str) -> String {
    let text = format!("kernel k {{\n    launch {{ {launch} }}\n{body}\n}}\n");
    let report = check(text.as_str(), &Options::default()).expect("the kernel is one");
    let words: Vec<String> = report.to_text(Style::PLAIN).split_whitespace().map(str::to_owned).collect();
    words.join(" ")
}

/// What races on, between threads of which one hands on what it has waited for.
const HANDED_ON: &str = "
    if warpid == 3 {
        await ld.acquire.cta.shared.u32 [ready] == 1;
        let v = ld.weak.shared.u32 [x];
    }";

#[test]
fn a_phase_that_others_complete_before_it_is_handed_on() {
    let text = report(
        "warps: 4",
        &format!(
            "
    shared x: u32 = 0;
    shared full: mbarrier;
    shared ready: u32 = 0;
    if tid == 0 {{
        mbarrier.init.shared::cta.b64 [full], 1;
    }}
    bar.sync 0;
    if warpid == 0 {{
        st.weak.shared.u32 [x], 7;
        mbarrier.arrive.release.cta.shared::cta.b64 _, [full];
    }}
    if warpid == 1 {{
        await mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 [full], 0;
        st.release.cta.shared.u32 [ready], 1;
    }}
    if warpid == 2 {{
        mbarrier.arrive.release.cta.shared::cta.b64 _, [full];
    }}{HANDED_ON}"
        ),
    );
    assert!(text.contains("data race on `x` between tid 0 and tid 3"), "{text}");
    assert!(text.contains("passes phase 0 of full, counted from 0, which was completed by tid 2"), "{text}");
}

#[test]
fn a_generation_that_others_make_up_before_it_is_handed_on() {
    let text = report(
        "warps: 4",
        &format!(
            "
    shared x: u32 = 0;
    shared ready: u32 = 0;
    if warpid == 0 {{
        st.weak.shared.u32 [x], 7;
        bar.arrive 1, 64;
    }}
    if warpid == 1 {{
        bar.sync 1, 64;
        st.release.cta.shared.u32 [ready], 1;
        bar.sync 1, 64;
    }}
    if warpid == 2 {{
        bar.arrive 1, 64;
    }}{HANDED_ON}"
        ),
    );
    assert!(text.contains("data race on `x` between tid 0 and tid 3"), "{text}");
    assert!(text.contains("made up by"), "{text}");
}

#[test]
fn a_signal_before_the_write_that_is_handed_on() {
    let text = report(
        "warps: 4",
        &format!(
            "
    shared x: u32 = 0;
    shared full: mbarrier;
    shared ready: u32 = 0;
    if tid == 0 {{
        mbarrier.init.shared::cta.b64 [full], 1;
    }}
    bar.sync 0;
    if warpid == 0 {{
        mbarrier.arrive.release.cta.shared::cta.b64 _, [full];
        st.weak.shared.u32 [x], 7;
    }}
    if warpid == 1 {{
        await mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 [full], 0;
        st.release.cta.shared.u32 [ready], 1;
    }}{HANDED_ON}"
        ),
    );
    assert!(text.contains("tid 3 sees a signal of tid 0 before"), "{text}");
    assert!(text.contains("`mbarrier.arrive.release.cta.shared::cta.b64 [full]`"), "{text}");
}

#[test]
fn an_assertion_that_no_race_is_beside_names_the_store_that_releases_nothing() {
    let text = report(
        "ctas: 2, cooperative: true",
        "
    global data: u32 = 0;
    global flag: u32 = 0;
    if ctaid == 0 {
        st.relaxed.gpu.global.u32 [data], 1;
        st.relaxed.gpu.global.u32 [flag], 1;
    } else {
        await ld.acquire.gpu.global.u32 [flag] == 1;
        let v = ld.relaxed.gpu.global.u32 [data];
        assert v == 1;
    }",
    );
    assert!(text.contains("`st.relaxed.gpu.global.u32 [flag]` (line 8) passes the signal on"), "{text}");
    assert!(text.contains("nothing before it releases"), "{text}");
}
