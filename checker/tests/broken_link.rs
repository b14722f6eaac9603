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

/// The report of a kernel in which thread 3 reads `x` once thread 1 has handed on what it waits for at `full`.
fn of_mbarrier(threads: &str) -> String {
    let start = "
    shared full: mbarrier;
    if tid == 0 {
        mbarrier.init.shared::cta.b64 [full], 1;
    }
    bar.sync 0;
    if warpid == 1 {
        await mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 [full], 0;
        st.release.cta.shared.u32 [ready], 1;
    }";
    handed_on(&format!("{start}{threads}"))
}

/// The report of a kernel in which thread 3 reads `x` once it has seen `ready`.
fn handed_on(threads: &str) -> String {
    let body = format!(
        "    shared x: u32 = 0;
    shared ready: u32 = 0;{threads}
    if warpid == 3 {{
        await ld.acquire.cta.shared.u32 [ready] == 1;
        let v = ld.weak.shared.u32 [x];
    }}"
    );
    report("warps: 4", &body)
}

#[test]
fn a_phase_that_others_complete_before_it_is_handed_on() {
    let text = of_mbarrier(
        "
    if warpid == 0 {
        st.weak.shared.u32 [x], 7;
        mbarrier.arrive.release.cta.shared::cta.b64 _, [full];
    }
    if warpid == 2 {
        mbarrier.arrive.release.cta.shared::cta.b64 _, [full];
    }",
    );
    assert!(text.contains("data race on `x` between tid 0 and tid 3"), "{text}");
    assert!(text.contains("passes phase 0 of full, counted from 0, which was completed by tid 2"), "{text}");
}

#[test]
fn a_generation_that_others_make_up_before_it_is_handed_on() {
    let text = handed_on(
        "
    if warpid == 0 {
        st.weak.shared.u32 [x], 7;
        bar.arrive 1, 64;
    }
    if warpid == 1 {
        bar.sync 1, 64;
        st.release.cta.shared.u32 [ready], 1;
        bar.sync 1, 64;
    }
    if warpid == 2 {
        bar.arrive 1, 64;
    }",
    );
    assert!(text.contains("data race on `x` between tid 0 and tid 3"), "{text}");
    assert!(text.contains("made up by"), "{text}");
}

#[test]
fn a_signal_before_the_write_that_is_handed_on() {
    let text = of_mbarrier(
        "
    if warpid == 0 {
        mbarrier.arrive.release.cta.shared::cta.b64 _, [full];
        st.weak.shared.u32 [x], 7;
    }",
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

#[test]
fn an_update_is_lost_to_what_is_made_of_a_read_to_a_reset_or_to_another_value() {
    let lost = |first: &str, second: &str, at_the_end: &str| {
        let body = format!(
            "    global word: u32 = 0;
    if ctaid == 0 {{
        let v = ld.relaxed.gpu.global.u32 [word];
        {first}
    }} else {{
        {second}
    }}
    final {{ assert [word] {at_the_end}; }}"
        );
        report("ctas: 2, cooperative: true", &body)
    };
    let other = "red.relaxed.gpu.global.add.u32 [word], 1;";
    let made = lost("st.relaxed.gpu.global.u32 [word], v + 9;", other, "!= 9");
    assert!(made.contains("is made from what it loaded before"), "{made}");
    let decided = "if v == 0 { st.relaxed.gpu.global.u32 [word], 9; }";
    let decided = lost(decided, "st.relaxed.gpu.global.u32 [word], 1;", "!= 9");
    let words = "tid 0 of cta 0 stores into `word` at `st.relaxed.gpu.global.u32 [word]` (line 6), storing 9, and \
                 erases what tid 0 of cta 1 has put there since it last looked";
    assert!(decided.contains(words), "{decided}");
    assert!(decided.contains("storing 1, is lost; look and store with one atomic"), "{decided}");
    assert!(!decided.contains("sets `word` back"), "{decided}");
    let reset = lost("st.relaxed.gpu.global.u32 [word], 0;", other, "== 1");
    assert!(reset.contains("tid 0 of cta 0 sets `word` back"), "{reset}");
}
