//! `fix` and `relax`: what they find, that it is proved, what they never touch, and their limits.

#[path = "cli/support.rs"]
#[expect(dead_code, reason = "other suites use the rest")]
mod support;

use fencepost::check::Config;
use fencepost::explain::repair::Texts;
use fencepost::mend::relax::{Relax, relax};
use fencepost::mend::{Progress, Setting};
use fencepost::models::{self, Model};
use fencepost_dsl::SourceMap;
use fencepost_dsl::kernel::{LoadOptions, load};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Mutex;
use support::{Folder, all_text, check, code};

fn fencepost(command: &str, path: &Path, arguments: &[&str]) -> Output {
    let mut run = Command::new(env!("CARGO_BIN_EXE_fencepost"));
    run.arg(command).arg(path).args(arguments).env("NO_COLOR", "1").output().expect("the command starts")
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).expect("one object")
}

/// A hand-over between two CTAs.
fn message(store: &str, load: &str) -> String {
    format!(
        "kernel message {{
    launch {{ ctas: 2, cooperative: true }}
    global data: u32 = 0;
    global flag: u32 = 0;

    if ctaid == 0 {{
        st.weak.global.u32 [data], 42;
        {store}
    }} else {{
        {load}
        let v = ld.weak.global.u32 [data];
        assert v == 42;
    }}
}}
"
    )
}

const RELEASE: &str = "st.release.gpu.global.u32 [flag], 1;";
const ACQUIRE: &str = "await ld.acquire.gpu.global.u32 [flag] == 1;";

/// The text that `fix --write` leaves, which is proved.
fn fixed(name: &str, text: &str) -> String {
    let folder = Folder::new(&format!("fix-{name}"));
    let path = folder.write("k.fence", text);
    let output = fencepost("fix", &path, &[]);
    assert_eq!(code(&output), 0, "{}", all_text(&output));
    assert_eq!(
        std::fs::read_to_string(&path).expect("it is there"),
        text,
        "nothing is written without --write"
    );
    assert_eq!(code(&fencepost("fix", &path, &["--write"])), 0);
    let checked = check(&path, &[]);
    assert_eq!(code(&checked), 0, "{}", all_text(&checked));
    std::fs::read_to_string(&path).expect("it is there")
}

#[test]
fn the_fewest_and_cheapest_changes_are_found() {
    let relaxed = message("st.relaxed.gpu.global.u32 [flag], 1;", ACQUIRE);
    assert_eq!(fixed("release", &relaxed), message(RELEASE, ACQUIRE));
    let both =
        message("st.relaxed.gpu.global.u32 [flag], 1;", "await ld.relaxed.gpu.global.u32 [flag] == 1;");
    assert_eq!(fixed("both", &both), message(RELEASE, ACQUIRE));
    // A scope that is wide enough, and no wider.
    let narrow = message(&RELEASE.replace("gpu", "cta"), &ACQUIRE.replace("gpu", "cta"));
    assert_eq!(fixed("scope", &narrow), message(RELEASE, ACQUIRE));
    let cluster = |text: String| text.replace("ctas: 2, cooperative: true", "ctas: 2, cluster: 2");
    let found = fixed("cluster", &cluster(narrow));
    assert_eq!(
        found,
        cluster(message(&RELEASE.replace("gpu", "cluster"), &ACQUIRE.replace("gpu", "cluster")))
    );
}

#[test]
fn several_bugs_of_several_kernels_are_mended_together() {
    let relaxed = message("st.relaxed.gpu.global.u32 [flag], 1;", ACQUIRE);
    let acquire = message(RELEASE, "await ld.relaxed.gpu.global.u32 [flag] == 1;");
    let barrier = "kernel tile {
    launch { warps: 2 }
    shared tile: u32 = 0;

    if warpid == 0 {
        st.weak.shared.u32 [tile], 1;
    }
    let v = ld.weak.shared.u32 [tile];
    assert v == 1;
}
";
    let text = format!("{relaxed}\n{}\n{barrier}", acquire.replace("kernel message", "kernel other"));
    let found = fixed("several", &text);
    let whole = message(RELEASE, ACQUIRE);
    assert!(found.starts_with(&whole), "{found}");
    assert!(found.contains(&whole.replace("kernel message", "kernel other")), "{found}");
    assert!(found.contains("bar.sync 0;"), "{found}");
}

#[test]
fn an_element_of_another_thread_stays_one() {
    let exchange = |index: &str| {
        format!(
            "kernel exchange {{
    launch {{ warps: 2 }}
    shared product[2]: u32 = 0;
    st.weak.shared.u32 [product[warpid]], 7;
    bar.sync 0;
    let v = ld.weak.shared.u32 [product[{index}]];
    assert v == 7;
}}
"
        )
    };
    // Everything would be proved with `product[warpid]`, too, and nothing handed over any more.
    assert_eq!(fixed("element", &exchange("2 - warpid")), exchange("1 - warpid"));
}

/// A count that is loaded and stored again: half of what mends it takes the count away, or counts twice.
#[test]
fn a_lost_update_is_mended_by_one_atomic_in_place_of_both() {
    let text = "kernel last {
    launch { ctas: 3 }
    global part[3]: u32 = 0;
    global done: u32 = 0;

    st.weak.global.u32 [part[ctaid]], 1;
    let before = ld.acquire.gpu.global.u32 [done];
    st.release.gpu.global.u32 [done], before + 1;
    if before == 2 {
        for c in 0..3 {
            let v = ld.weak.global.u32 [part[c]];
            assert v == 1;
        }
        st.weak.global.u32 [done], 0;
    }

    final { assert [done] == 0; }
}
";
    let after = fixed("lost-update", text);
    assert!(after.contains("let before = atom.add."), "{after}");
    assert!(!after.contains("before + 1"), "{after}");
    let text = "kernel work {
    launch { ctas: 2 }
    global next: u32 = 0;
    global owner[2]: u32 = 0;
    let mine = ld.relaxed.gpu.global.u32 [next];
    st.relaxed.gpu.global.u32 [next], mine + 1;
    st.weak.global.u32 [owner[mine]], ctaid + 1;
}
";
    let after = fixed("work", text);
    assert!(after.contains("let mine = atom.add."), "{after}");
    assert!(!after.contains("mine + 1"), "{after}");
}

/// A strong read would cost less than the barrier, and what others add would be lost.
#[test]
fn a_barrier_comes_before_a_strong_read_of_what_others_add_to() {
    let text = "kernel bins {
    launch { block: 64 }
    global keys[64]: u32;
    global total[4]: u32 = 0;
    shared bins[4]: u32;

    if tid < 4 {
        st.weak.shared.u32 [bins[tid]], 0;
    }
    bar.sync 0;
    let key = ld.weak.global.u32 [keys[tid]];
    red.relaxed.cta.shared.add.u32 [bins[key % 4]], 1;
    if tid < 4 {
        let count = ld.weak.shared.u32 [bins[tid]];
        if count != 0 {
            red.relaxed.gpu.global.add.u32 [total[tid]], count;
        }
    }
}
";
    let after = fixed("bins", text);
    assert!(after.contains("1;\n    bar.sync 0;"), "{after}");
    assert!(after.contains("ld.weak.shared.u32 [bins[tid]]"), "{after}");
}

#[test]
fn what_is_proved_stays_as_it_is() {
    let folder = Folder::new("fix-proved");
    let path = folder.write("k.fence", message(RELEASE, ACQUIRE));
    let output = fencepost("fix", &path, &["--write", "--format", "json"]);
    let found = json(&output);
    assert_eq!(
        (code(&output), found["verdict"].as_str(), found["changes"].as_u64()),
        (0, Some("proved"), Some(0))
    );
    assert_eq!(std::fs::read_to_string(&path).expect("it is there"), message(RELEASE, ACQUIRE));
}

#[test]
fn claims_accesses_and_launches_are_no_way_to_a_proof() {
    let folder = Folder::new("fix-none");
    for (name, text) in [
        ("claim", "kernel k { global x: u32 = 0; st [x], 1; final { assert [x] == 2; } }"),
        (
            "launch",
            "kernel k { launch { ctas: 2 } global x: u32 = 0; if ctaid == 0 { await ld.acquire.gpu [x] == 1; } \
                    else { st.release.gpu [x], 1; } }",
        ),
    ] {
        let path = folder.write(&format!("{name}.fence"), text);
        let output = fencepost("fix", &path, &["--write"]);
        assert_eq!(code(&output), 1, "{}", all_text(&output));
        assert!(all_text(&output).contains("no set of changes was found"), "{}", all_text(&output));
        assert!(all_text(&output).contains("stays: "), "{}", all_text(&output));
        assert_eq!(std::fs::read_to_string(&path).expect("it is there"), text);
    }
    let path = folder.write("open.fence", "kernel k { global x: u32 = 0; for i in 0..9000 { st [x], i; } }");
    let output = fencepost("fix", &path, &["--max-events", "100"]);
    assert_eq!(code(&output), 3, "{}", all_text(&output));
    assert!(all_text(&output).contains("not decided"), "{}", all_text(&output));
}

#[test]
fn a_search_ends_with_its_budget_and_says_so() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/ticket-lock/cta-scope.fence");
    let run = |budget: &str| fencepost("fix", &path, &["--budget", budget, "--format", "json"]);
    let output = run("1");
    let found = json(&output);
    // What `check` offers may be found; whether less would do is not.
    assert_eq!(found["stopped"], true, "{found}");
    assert_eq!(found, json(&run("1")), "what is tried does not depend on the machine");
}

#[test]
fn relax_says_what_is_needed_and_why() {
    let folder = Folder::new("relax-needed");
    let path = folder.write("k.fence", message(RELEASE, ACQUIRE));
    let output = fencepost("relax", &path, &["--format", "json"]);
    assert_eq!(code(&output), 0, "{}", all_text(&output));
    let found = json(&output);
    let places = found["places"].as_array().expect("a list");
    let of = |place: &Value| (place["kind"].clone(), place["line"].clone(), place["need"].clone());
    let got: Vec<_> = places.iter().map(of).collect();
    let expected: Vec<(Value, Value, Value)> = [("access", 8), ("wait", 10), ("access", 10)]
        .map(|(kind, line)| (kind.into(), line.into(), "needed".into()))
        .into();
    assert_eq!(got, expected);
    let because = &places[0]["because"];
    assert_eq!(because[0]["form"], "st.release.cluster.global.u32");
    assert_eq!(because[0]["finding"]["code"], "race::scope-too-narrow");
    assert_eq!(because[1]["form"], "st.relaxed.gpu.global.u32");
    assert_eq!(because[1]["finding"]["code"], "race::uniform");
    assert_eq!(found["edits"].as_array().map(Vec::len), Some(0));
}

/// The places that a file does not need, with their kinds.
fn redundant(path: &Path) -> Vec<(String, String)> {
    let output = fencepost("relax", path, &["--format", "json"]);
    assert_eq!(code(&output), 0, "{}", all_text(&output));
    let found = json(&output);
    let places = found["places"].as_array().expect("a list");
    let of = |place: &Value, key: &str| place[key].as_str().unwrap_or_default().to_owned();
    let open = places.iter().filter(|place| place["need"] == "redundant");
    open.map(|place| (of(place, "kind"), of(place, "text"))).collect()
}

#[test]
fn relax_looks_at_what_the_host_waits_for() {
    let text = "global x: u32 = 0;
global y: u32 = 0;
kernel produce { st [x], 1; }
kernel other { st [y], 1; }
kernel consume { let v = ld [x]; assert v == 1; }
program p {
    stream a, b with non_blocking;
    event e, f;
    launch produce on a;
    record e on a;
    record f on b;
    launch other on b;
    wait e on b;
    wait f on a;
    launch consume on b;
    synchronize;
    let v = ld [y];
    assert v == 1;
    synchronize a;
}
";
    let folder = Folder::new("relax-host");
    let path = folder.write("k.fence", text);
    let expected = [("record", "record f on b"), ("wait", "wait f on a"), ("wait", "synchronize a")];
    assert_eq!(redundant(&path), expected.map(|(kind, text)| (kind.to_owned(), text.to_owned())));
    // What records goes with the wait for it.
    assert_eq!(code(&fencepost("relax", &path, &["--write"])), 0);
    let written = std::fs::read_to_string(&path).expect("it is there");
    let without =
        |line: &&str| !["record f", "wait f", "synchronize a"].iter().any(|word| line.contains(word));
    let left: Vec<&str> = text.lines().filter(without).collect();
    assert_eq!(written.lines().collect::<Vec<_>>(), left);
    assert_eq!(code(&check(&path, &[])), 0);
}

#[test]
fn relax_looks_at_calls_one_by_one() {
    let text = "fn meet() { bar.sync 0; }
fn publish(flag: &u32) { st.release.gpu.u32 [flag], 1; }
fn count(flag: &u32) { meet(); assert true; }
kernel k {
    launch { warps: 2 }
    global flag: u32 = 0;
    shared d: u32 = 0;
    meet();
    if warpid == 0 { st [d], 1; }
    meet();
    let v = ld [d];
    assert v == 1;
    count(flag);
    publish(flag);
}
";
    let folder = Folder::new("relax-calls");
    let path = folder.write("k.fence", text);
    // What only signals may be meant for somebody else, and what claims something is more than a barrier.
    let meet = || ("call".to_owned(), "meet()".to_owned());
    assert_eq!(redundant(&path), [meet(), meet()], "the one in `count`, and the first of the kernel");
}

#[test]
fn relax_writes_the_weakest_file_it_found() {
    let folder = Folder::new("relax-weaker");
    let strong = message(
        "fence.sc.sys;\n        st.release.sys.global.u32 [flag], 1;",
        &ACQUIRE.replace("gpu", "sys"),
    );
    let path = folder.write("k.fence", &strong);
    let output = fencepost("relax", &path, &["--write"]);
    assert_eq!(code(&output), 0, "{}", all_text(&output));
    assert!(
        all_text(&output).contains("not needed: everything is proved without it"),
        "{}",
        all_text(&output)
    );
    let written = std::fs::read_to_string(&path).expect("it is there");
    // Fences go first; then the store has to release, and no scope has to be wider than the device.
    assert_eq!(written, message(RELEASE, ACQUIRE));
    assert_eq!(code(&check(&path, &[])), 0);
    let again = fencepost("relax", &path, &[]);
    assert!(
        all_text(&again).contains("everything that was looked at is needed as it is"),
        "{}",
        all_text(&again)
    );
}

#[test]
fn of_two_that_do_the_same_only_one_can_go() {
    let text = "kernel tile {
    launch { warps: 2 }
    shared tile: u32 = 0;

    if warpid == 0 {
        st.weak.shared.u32 [tile], 1;
    }
    bar.sync 0;
    bar.sync 1;
    let v = ld.weak.shared.u32 [tile];
    assert v == 1;
}
";
    let folder = Folder::new("relax-two");
    let path = folder.write("k.fence", text);
    let found = json(&fencepost("relax", &path, &["--format", "json"]));
    let needs: Vec<_> =
        found["places"].as_array().expect("a list").iter().map(|p| p["need"].as_str()).collect();
    assert_eq!(needs, [Some("redundant"), Some("redundant")]);
    let together: Vec<_> =
        found["places"].as_array().expect("a list").iter().map(|p| p["together"].is_string()).collect();
    assert_eq!(together, [true, false]);
    let output = fencepost("relax", &path, &["--write"]);
    assert!(all_text(&output).contains("1 of these 2 changes"), "{}", all_text(&output));
    let written = std::fs::read_to_string(&path).expect("it is there");
    assert_eq!(written, text.replace("    bar.sync 0;\n", ""));
}

#[test]
fn each_part_of_a_condition_is_a_place_to_be_weaker() {
    let text = message(RELEASE, ACQUIRE)
        .replace(ACQUIRE, "await tid == 0 && ld.acquire.gpu.global.u32 [flag] == 1;");
    let folder = Folder::new("relax-parts");
    let path = folder.write("k.fence", &text);
    let found = json(&fencepost("relax", &path, &["--format", "json"]));
    let waits: Vec<&Value> =
        found["places"].as_array().expect("a list").iter().filter(|place| place["kind"] == "wait").collect();
    assert_eq!(waits.len(), 1, "{found}");
    assert_eq!(waits[0]["need"], "weaker");
    assert_eq!(waits[0]["form"], "await ld.acquire.gpu.global.u32 [flag] == 1");
}

#[test]
fn relax_refuses_what_is_not_proved() {
    let folder = Folder::new("relax-unproved");
    let path = folder.write("k.fence", message("st.relaxed.gpu.global.u32 [flag], 1;", ACQUIRE));
    let output = fencepost("relax", &path, &[]);
    assert_eq!(code(&output), 1, "{}", all_text(&output));
    assert!(all_text(&output).contains("not proved as it is"), "{}", all_text(&output));
    assert!(all_text(&output).contains("race::uniform"), "{}", all_text(&output));
    assert_eq!(code(&fencepost("relax", &path, &["--max-events", "1"])), 3);
    let litmus = folder.write("k.litmus", "PTX k { x = 0; } P0@cta 0,gpu 0 ; st.weak x, 1 ; exists (x == 1)");
    assert_eq!(code(&fencepost("relax", &litmus, &[])), 2);
}

#[test]
fn warnings_change_the_exit_code_only_if_they_are_denied() {
    let folder = Folder::new("warnings");
    let path = folder.write("k.fence", "kernel k { global x: u32 = 0; global y: u32 = 0; st [x], 1; }");
    let plain = check(&path, &[]);
    assert_eq!(code(&plain), 0);
    assert!(all_text(&plain).contains("warning::unused-object"), "{}", all_text(&plain));
    assert!(all_text(&plain).ends_with("1 proved; 1 warning\n"), "{}", all_text(&plain));
    assert_eq!(code(&check(&path, &["--deny", "warnings"])), 1);
    let silent = check(&path, &["--no-warnings"]);
    assert!(code(&silent) == 0 && !all_text(&silent).contains("warning"), "{}", all_text(&silent));
    assert_eq!(code(&check(&path, &["--no-warnings", "--deny", "warnings"])), 2);
    let json = check(&path, &["--format", "json"]);
    let line =
        String::from_utf8_lossy(&json.stdout).lines().nth(1).map(str::to_owned).expect("a second line");
    let line: Value = serde_json::from_str(&line).expect("an object");
    assert_eq!(
        (line["warning"].as_str(), line["at"]["column"].as_u64()),
        (Some("warning::unused-object"), Some(38))
    );
}

#[test]
fn progress_begins_with_the_launches_as_they_are() {
    let mut sources = SourceMap::default();
    let text = message(RELEASE, ACQUIRE)
        .replace("    launch", "    launch more { ctas: 3, cooperative: true }\n    launch");
    let program = load(&mut sources, "k.fence", &mut |_| Ok(text.clone()), &LoadOptions::default());
    let program = program.unwrap_or_else(|errors| panic!("{errors:?}"));
    let model = Model::shipped(models::PTX, &[]).expect("the model comes along");
    let told = Mutex::new(Vec::new());
    let progress = |next: Progress| told.lock().expect("nobody panics").push(next);
    let config = Config::usual(&program.kernels[0]);
    let setting = Setting { model: &model, config: &config, progress: Some(&progress) };
    let texts = Texts::new(&sources, LoadOptions::default());
    assert!(matches!(relax(&texts, setting), Ok(Relax::Done(_))), "it is proved, and can be relaxed");
    let told = told.lock().expect("nobody panics");
    let first = |launch| Progress::First { launch, n_launches: 2 };
    assert_eq!(told[..2], [first(1), first(2)]);
    let tries = told[2..].iter().map(|next| match next {
        Progress::Try { n_tried, .. } => *n_tried,
        Progress::First { .. } => 0,
    });
    assert!(told.len() > 3 && tries.eq(1..=told.len() - 2), "{told:?}");
}

/// What `fencepost check` offers for a function that is called from several places, `fix` finds, too: another argument of
/// one call.
#[test]
fn fix_changes_the_argument_of_a_call() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/repairs");
    let path = root.join("another-stage-in-a-call.fence");
    let output = fencepost("fix", &path, &[]);
    let found = all_text(&output);
    assert_eq!(code(&output), 0, "{found}");
    let changed = |sign: char| -> Vec<&str> {
        found.lines().filter(|line| line.starts_with(sign) && !line[1..].starts_with(sign)).collect()
    };
    let (taken, added) = (changed('-'), changed('+'));
    assert!(taken.len() == 1 && added.len() == 1, "{found}");
    let name = |line: &str| line[1..].split('(').next().map(str::to_owned);
    assert!(name(taken[0]) == name(added[0]) && taken != added, "{found}");
}

#[test]
fn fix_moves_past_a_call() {
    let text = "fn post(f: &u32) {
    st.release.gpu.u32 [f], 1;
}
kernel hand {
    launch { ctas: 2, cooperative: true }
    global x: u32 = 0;
    global flag: u32 = 0;
    if ctaid == 0 {
        post(&flag);
        st.weak.u32 [x], 1;
    } else {
        await ld.acquire.gpu.u32 [flag] == 1;
        let v = ld.weak.u32 [x];
        assert v == 1;
    }
}
";
    let posted_last = text.replace(
        "        post(&flag);\n        st.weak.u32 [x], 1;\n",
        "        st.weak.u32 [x], 1;\n        post(&flag);\n",
    );
    assert_eq!(fixed("past-a-call", text), posted_last);
}

/// That the read comes first mends the race as well, and has nobody read what is written.
#[test]
fn fix_keeps_that_a_read_sees_what_is_written() {
    let text = "kernel hand {
    launch { warps: 2 }
    shared x: u32 = 0;
    if warpid == 0 {
        st.weak.shared.u32 [x], 7;
        bar.sync 0;
    } else {
        let v = ld.weak.shared.u32 [x];
        bar.sync 0;
    }
}
";
    let read_last = text.replace(
        "        let v = ld.weak.shared.u32 [x];\n        bar.sync 0;\n",
        "        bar.sync 0;\n        let v = ld.weak.shared.u32 [x];\n",
    );
    assert_eq!(fixed("read-last", text), read_last);
}

#[test]
fn relax_says_by_which_calls_a_place_is_reached() {
    let folder = Folder::new("relax-calls");
    let text = "fn give(f: &u32) {
    st.release.gpu.global.u32 [f], 1;
}
fn give_it(f: &u32) {
    give(f);
}
kernel two {
    launch { ctas: 3, cooperative: true }
    global x: u32 = 0;
    global a: u32 = 0;
    global b: u32 = 0;
    if ctaid == 0 {
        st.weak.global.u32 [x], 1;
        give(&a);
    } else {
        if ctaid == 1 {
            give_it(&b);
        } else {
            await ld.acquire.gpu.global.u32 [a] == 1;
            await ld.relaxed.gpu.global.u32 [b] == 1;
            let v = ld.weak.global.u32 [x];
            assert v == 1;
        }
    }
}
";
    let path = folder.write("k.fence", text);
    let output = fencepost("relax", &path, &[]);
    let found = all_text(&output).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(found.contains("reached by 2 calls: "), "{found}");
    assert!(found.contains("k.fence:14, ") && found.contains("k.fence:5 from "), "{found}");
    let report = json(&fencepost("relax", &path, &["--format", "json"]));
    let places = report["places"].as_array().expect("a list");
    let of_line = |line: u64| places.iter().find(|place| place["line"] == line);
    let store = of_line(2).expect("the store is a place");
    let lines = |way: &Value| -> Vec<u64> {
        way.as_array().expect("calls").iter().filter_map(|call| call["line"].as_u64()).collect()
    };
    let ways: Vec<Vec<u64>> = store["calls"].as_array().expect("ways").iter().map(lines).collect();
    assert_eq!(ways, [vec![14], vec![17, 5]], "{report:#}");
    // What stands in the kernel itself is reached by no call.
    let load = places.iter().find(|place| place["line"] == 19).expect("the load is a place");
    assert!(load.get("calls").is_none(), "{report:#}");
}

/// What a compiler has written is not changed: its source is.
#[test]
fn compiled_kernels_are_mended_in_their_source() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/ptx");
    let read = |name: &str| std::fs::read_to_string(examples.join(name)).expect("it is there");
    let folder = Folder::new("fix-compiled");
    let path = folder.write("spin_lock.fence", read("spin_lock.fence"));
    let module = folder.write("spin_lock.ptx", read("spin_lock.ptx").replacen("st.release", "st.relaxed", 1));
    folder.write("spin_lock.cu", read("spin_lock.cu"));
    let before = std::fs::read_to_string(&module).expect("it is there");
    let output = fencepost("fix", &path, &[]);
    let told = all_text(&output);
    assert_eq!(code(&output), 0, "{told}");
    assert!(told.contains("spin_lock.cu:9") && told.contains("cuda::memory_order_release"), "{told}");
    assert!(
        told.contains("a compiler has written the PTX") && told.contains("+\tst.release.gpu.b32"),
        "{told}"
    );
    let edits = json(&fencepost("fix", &path, &["--format", "json"]))["edits"].clone();
    let file = edits[0]["file"].as_str().expect("a path");
    assert!(file.ends_with("spin_lock.ptx"), "{edits}");
    let written = fencepost("fix", &path, &["--write"]);
    assert_ne!(code(&written), 0, "{}", all_text(&written));
    assert!(all_text(&written).contains("not written"), "{}", all_text(&written));
    assert_eq!(std::fs::read_to_string(&module).expect("it is there"), before);
    folder.write("spin_lock.ptx", read("spin_lock.ptx"));
    let relaxed = fencepost("relax", &path, &[]);
    assert!(all_text(&relaxed).contains("imported PTX was not looked at"), "{}", all_text(&relaxed));
}
