//! The checker against its dull twin on small random programs of loops that wait; and the twin alone on shapes whose verdict
//! is plain. `fencepost_tests::random` says how to compare more.

use fencepost::encode::Treatment;
use fencepost::verdict::{Property, Verdict};
use fencepost_reference::Effort;
use fencepost_reference::edition::Edition;
use fencepost_tests::litmus::shipped_model;
use fencepost_tests::oracle::hangs::{EFFORT, ask_twin, compare_random, suite};
use fencepost_tests::run::{config, outcomes};

#[test]
fn random_programs_agree() {
    let model = shipped_model("ptx").expect("the model comes with Fencepost");
    suite().run("", |plan| compare_random(&model, plan, Treatment::DEFAULT));
}

/// What the twin says of a shape.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Says {
    /// Some execution hangs.
    Hang,
    /// None does, and nothing was left out.
    NoHang,
    /// No hang was found, but some loop goes on for ever: it changes registers only.
    Endless,
    /// No hang was found, but some loop changes memory again and again.
    Cut,
}

/// A kernel of two warps, what the twin says of its hangs, and whether there is a race.
#[track_caller]
fn shape(body: &str, says: Says, races: bool) {
    let (functions, body) = body.split_once("----").unwrap_or(("", body));
    let text = format!("{functions}kernel k {{\n    launch {{ warps: 2 }}\n{body}\n}}\n");
    let effort = Effort { candidates_max: 500_000, ..EFFORT };
    let twin = ask_twin(Edition::PTX, &text, effort).unwrap_or_else(|_| panic!("too large:\n{text}"));
    let found = match (twin.deadlocks, twin.endless, twin.cut) {
        (true, ..) => Says::Hang,
        (_, true, _) => Says::Endless,
        (_, _, true) => Says::Cut,
        _ => Says::NoHang,
    };
    assert_eq!((found, twin.races), (says, races), "{text}");
}

#[test]
fn a_scan_in_a_spin() {
    let kernel = |scan: &str, publishes: &str| {
        format!(
            "global a[3]: u32 = 0; global maybe: u32 = 0;
             if tid == 0 {{ {publishes} {{ for i in 0..3 {{ st.relaxed.gpu [a[i]], 1; }} }} }}
             else {{ st.relaxed.gpu [maybe], 1; loop {{ var all: u32 = 1; {scan} if all == 1 {{ break; }} }} }}"
        )
    };
    let by_while = "var i: u32 = 0; while i < 3 { if ld.relaxed.gpu [a[i]] == 0 { all = 0; } i += 1; }";
    let by_for = "for i in 0..3 { if ld.relaxed.gpu [a[i]] == 0 { all = 0; } }";
    for scan in [by_while, by_for] {
        shape(&kernel(scan, "if ld.relaxed.gpu [maybe] == 1"), Says::Hang, false);
        shape(&kernel(scan, "if 1 == 1"), Says::NoHang, false);
    }
}

#[test]
fn a_wait_in_a_polling_loop() {
    let kernel = |release: &str, wait: &str| {
        format!(
            "global a: u32 = 0; global b: u32 = 0; global c: u32 = 0;
             if tid == 0 {{ st.relaxed.gpu [a], 1; st.relaxed.gpu [a], 0; {release} st.relaxed.gpu [c], 1; }}
             else {{ loop {{ if ld.relaxed.gpu [a] == 1 {{ {wait} }} if ld.relaxed.gpu [c] == 1 {{ break; }} }} }}"
        )
    };
    let waits = [
        "await ld.relaxed.gpu [b] == 1;",
        "while ld.relaxed.gpu [b] == 0 {}",
        "loop { if ld.relaxed.gpu [b] == 1 { break; } }",
        "loop { if ld.relaxed.gpu [b] == 1 { exit; } }",
        "while (atom.cas.relaxed.gpu.b32 [b], 1, 2) == 0 {}",
    ];
    for wait in waits {
        shape(&kernel("", wait), Says::Hang, false);
        shape(&kernel("st.relaxed.gpu [b], 1;", wait), Says::NoHang, false);
    }
    let function = "fn wait(word: &u32) { while ld.relaxed.gpu [word] != 1 {} } ----";
    shape(&format!("{function}{}", kernel("", "wait(b);")), Says::Hang, false);
    shape(&format!("{function}{}", kernel("st.relaxed.gpu [b], 1;", "wait(b);")), Says::NoHang, false);
}

#[test]
fn an_mbarrier_wait_in_a_polling_loop() {
    let kernel = |arrive: &str, wait: &str| {
        format!(
            "global a: u32 = 0; global c: u32 = 0; shared m: mbarrier;
             if tid == 0 {{ mbarrier.init.shared::cta.b64 [m], 1; }}
             bar.sync 0;
             if tid == 0 {{ st.relaxed.gpu [a], 1; st.relaxed.gpu [a], 0; {arrive} st.relaxed.gpu [c], 1; }}
             else {{ loop {{ if ld.relaxed.gpu [a] == 1 {{ {wait} }} if ld.relaxed.gpu [c] == 1 {{ break; }} }} }}"
        )
    };
    let arrive = "mbarrier.arrive.release.cta.shared::cta.b64 _, [m];";
    let waits = [
        "await mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 [m], 0;",
        "loop { let ok = mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 [m], 0; if ok { break; } }",
    ];
    for wait in waits {
        shape(&kernel("", wait), Says::Hang, false);
        shape(&kernel(arrive, wait), Says::NoHang, false);
    }
    // The flag is declared outside: the first failing try may change it, the next ones do not.
    let outside = "var ok = mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 [m], 0;
                   loop { if ok { break; } ok = mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 [m], 0; }";
    shape(&kernel("", outside), Says::Hang, false);
    shape(&kernel(arrive, outside), Says::NoHang, false);
}

#[test]
fn a_weak_read_after_an_acquire_in_a_spin() {
    let kernel = |sem: &str, rest: &str| {
        format!(
            "global f: u32 = 0; global d: u32 = 0;
             if tid == 0 {{ st.weak [d], 1; st.release.gpu [f], 1; }}
             else {{ loop {{ if ld.{sem}.gpu [f] == 1 {{ let v = ld.weak [d]; {rest} }} }} }}"
        )
    };
    shape(&kernel("acquire", "break;"), Says::NoHang, false);
    shape(&kernel("acquire", "if v == 1 { break; }"), Says::NoHang, false);
    shape(&kernel("acquire", "if v == 2 { break; }"), Says::Hang, false);
    // Nothing is promised for a weak read that nothing orders (LT-7).
    shape(&kernel("relaxed", "if v == 1 { break; }"), Says::Hang, true);
}

#[test]
fn locks() {
    let kernel = |take: &str, give: &str| {
        format!(
            "global l: u32 = 0; global d: u32 = 0;
             {take}
             st.weak [d], tid;
             {give}"
        )
    };
    let takes = [
        "while atom.exch.acquire.gpu.b32 [l], 1 == 1 {}",
        "await atom.exch.acquire.gpu.b32 [l], 1 == 0;",
        "loop { if atom.exch.acquire.gpu.b32 [l], 1 == 0 { break; } }",
        "while atom.cas.acquire.gpu.b32 [l], 0, 1 != 0 {}",
        "loop { while ld.relaxed.gpu [l] != 0 {} if atom.cas.acquire.gpu.b32 [l], 0, 1 == 0 { break; } }",
    ];
    for take in takes {
        let take = take.replace("atom.exch.acquire.gpu.b32 [l], 1", "(atom.exch.acquire.gpu.b32 [l], 1)");
        let take = take.replace("atom.cas.acquire.gpu.b32 [l], 0, 1", "(atom.cas.acquire.gpu.b32 [l], 0, 1)");
        shape(&kernel(&take, "st.release.gpu [l], 0;"), Says::NoHang, false);
        shape(&kernel(&take, ""), Says::Hang, false);
        shape(&kernel(&take, "if tid == 0 { exit; } st.release.gpu [l], 0;"), Says::Hang, false);
    }
}

#[test]
fn rounds_that_write() {
    // What is there already, for ever.
    let kernel = |release: &str| {
        format!(
            "global x: u32 = 0; global y: u32 = 0;
             if tid == 0 {{ {release} }}
             else {{ loop {{ st.relaxed.gpu [x], 1; if ld.relaxed.gpu [y] == 1 {{ break; }} }} }}"
        )
    };
    shape(&kernel(""), Says::Hang, false);
    shape(&kernel("st.relaxed.gpu [y], 1;"), Says::Cut, false);
    // Something else each time.
    shape(
        "global x: u32 = 0; global y: u32 = 0;
         if tid == 0 { loop { red.relaxed.gpu.add.u32 [x], 1; if ld.relaxed.gpu [y] == 1 { break; } } }",
        Says::Cut,
        false,
    );
    // Two threads that contradict each other never come to rest.
    shape(
        "global x: u32 = 0; global y: u32 = 0;
         loop { st.relaxed.gpu [x], tid + 1; if ld.relaxed.gpu [y] == 1 { break; } }",
        Says::Cut,
        false,
    );
}

#[test]
fn rounds_that_change_registers() {
    let spin = |round: &str, after: &str| {
        format!(
            "global x: u32 = 0; global y: u32 = 0;
             if tid == 0 {{ var p: u32 = 0; loop {{ {round} if ld.relaxed.gpu [x] == 1 {{ break; }} }} {after} }}"
        )
    };
    shape(&spin("p ^= 1;", "st.relaxed.gpu [y], p;"), Says::Hang, false);
    shape(&spin("p ^= 1;", ""), Says::Hang, false);
    shape(&spin("p = 1;", "st.relaxed.gpu [y], p;"), Says::Hang, false);
    shape(&spin("let q = p ^ 1; st.relaxed.gpu [y], q;", ""), Says::Hang, false);
}

#[test]
fn values_that_live_on() {
    let kernel = |n: u32, want: u32| {
        format!(
            "global x: u32 = 0; global out: u32 = 0;
             if tid == 0 {{ for i in 0..{n} {{ st.relaxed.gpu [x], i + 1; }} }}
             else {{ var cache: u32 = 0; while cache < {want} {{ cache = ld.acquire.gpu [x]; }} st.relaxed.gpu [out], cache; }}"
        )
    };
    shape(&kernel(2, 2), Says::NoHang, false);
    shape(&kernel(2, 1), Says::NoHang, false);
    shape(&kernel(1, 2), Says::Hang, false);
}

#[test]
fn exits_and_barriers() {
    let spin = |rest: &str| {
        format!(
            "global x: u32 = 0;
             if tid == 0 {{ loop {{ if ld.relaxed.gpu [x] == 1 {{ exit; }} }} }}
             {rest}"
        )
    };
    shape(&spin("st.relaxed.gpu [x], 1;"), Says::NoHang, false);
    shape(&spin("bar.sync 0; st.relaxed.gpu [x], 1;"), Says::Hang, false);
    shape(&spin("st.relaxed.gpu [x], 1; bar.sync 0;"), Says::NoHang, false);
    // A register remembers what was read: the exit is decided by the store that only the exit lets happen, all the same.
    shape(
        "global x: u32 = 0;
         if tid == 0 { bar.sync 1; st.weak [x], 1; }
         if tid == 1 { loop { var found: u32 = 1; if ld.weak [x] == 0 { found = 0; } if found == 1 { break; } } }",
        Says::Hang,
        false,
    );
    // In the middle of a round, at a barrier that the other never comes to: it waits for the first one.
    shape(
        "global x: u32 = 0;
         if tid == 0 { loop { if ld.relaxed.gpu [x] == 0 { bar.sync 0; } else { break; } } }
         else { await ld.relaxed.gpu [x] == 1; }",
        Says::Hang,
        false,
    );
}

#[test]
fn a_round_that_reads_weakly_what_it_writes_is_left_to_the_bound() {
    // It cannot read the initial value for ever: its own store comes before. The stores race, which is another matter.
    let text = "kernel k { launch { warps: 2 } global a: u32 = 0;
        if tid == 0 { st.weak [a], 1; }
        if tid == 1 { loop { st.weak [a], 1; if (ld.weak [a]) == 1 { break; } } } }";
    let model = shipped_model("ptx").expect("the model comes with Fencepost");
    let outcome = outcomes(text, &model, &config(Treatment::DEFAULT)).remove(0);
    let of =
        |wanted| outcome.properties.iter().find(|(property, _)| *property == wanted).map(|found| found.1);
    assert_eq!(of(Property::Deadlock), Some(Verdict::ProvedUpToBound));
    assert_eq!(of(Property::Race), Some(Verdict::Violated));
}

/// A round that reads weakly what it has written the time before sees that, or what comes after it: never again what was
/// there at first.
#[test]
fn a_round_does_not_read_what_it_has_overwritten_the_time_before() {
    let beside = "global x: u32 = 0; if tid == 0 { st.weak [x], 1; }";
    shape(
        &format!("{beside} if tid == 1 {{ while (ld.weak [x]) != 1 {{ st.weak [x], 1; }} }}"),
        Says::NoHang,
        true,
    );
    let cached = "var r: u32 = 0; while r < 1 { r = ld.weak [x]; st.weak [x], 1; }";
    shape(&format!("{beside} if tid == 1 {{ {cached} }}"), Says::NoHang, true);
    // Without a write of its own it may see the old value for ever.
    shape(&format!("{beside} if tid == 1 {{ while (ld.weak [x]) != 1 {{ }} }}"), Says::Hang, true);
}
