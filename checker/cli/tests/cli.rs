//! The command as a process: exit codes, bad input, limits, determinism.

#[path = "cli/support.rs"]
#[expect(dead_code, reason = "other suites use the rest")]
mod support;

use std::path::Path;
use std::process::Command;
use support::{Folder, all_text, check, code};

const PROVED: &str = "kernel k { global x: u32 = 0; st [x], 1; }";
const RACY: &str = "kernel k { launch { ctas: 2 } global x: u32 = 0; st [x], ctaid; }";
const UNBOUNDED: &str = "kernel k(N in 0..=1000) { global x: u32 = 0; for i in 0..N { st [x], i; } }";
const STUCK: &str = "kernel k { global x: u32 = 0; await ld.relaxed.gpu [x] == 1; }";

const NEVER_ENDS: &str =
    "kernel k { global x: u32 = 0; await ld.relaxed.gpu [x] == 1; final { assert [x] == 7; } }";

#[test]
fn exit_codes_tell_verdicts_apart() {
    let folder = Folder::new("codes");
    let cases: &[(&str, &str, &[&str], i32)] = &[
        ("proved", PROVED, &[], 0),
        ("racy", RACY, &[], 1),
        ("unbounded", UNBOUNDED, &[], 3),
        ("unbounded", UNBOUNDED, &["--allow-bounded"], 0),
        ("stuck", STUCK, &[], 1),
        ("stuck", STUCK, &["--property", "race,reachable"], 3),
        // What is claimed of the end is about nothing where nothing ends; what is claimed on the way is not.
        ("never-ends", NEVER_ENDS, &["--property", "assert"], 3),
        ("stuck", STUCK, &["--property", "assert"], 0),
        ("syntax", "kernel {", &[], 2),
        ("events", "kernel k { global x: u32 = 0; for i in 0..90000 { st [x], i; } }", &[], 3),
        ("proved", PROVED, &["--property", "deadlock"], 0),
        ("proved", PROVED, &["--property", "liveness"], 2),
        ("proved", PROVED, &["--property", "nonsense"], 2),
        ("proved", PROVED, &["--model", "nonsense"], 2),
        ("proved", PROVED, &["--launch", "nonsense"], 2),
        ("proved", PROVED, &["-D", "NONSENSE=1"], 2),
        ("clusters-made-up", RACY, &["--launch", "ctas=4,cluster=2,cooperative=true"], 1),
        ("clusters-uneven", PROVED, &["--launch", "ctas=3,cluster=2"], 2),
        ("clusters-of-old", PROVED, &["--launch", "clusters=2"], 2),
        ("resident-of-old", PROVED, &["--launch", "ctas=2,resident=true"], 2),
        ("twice", PROVED, &["--launch", "ctas=2,ctas=4"], 2),
        ("shaped", SHAPED, &["--launch", "block=4x2,grid=2x3"], 0),
        ("shaped", SHAPED, &["--launch", "block=8,grid=6"], 1),
        ("shaped", SHAPED, &["--launch", "block=4x2,grid=2x3,lanes=8"], 2),
        ("shaped", SHAPED, &["--launch", "block=11x3"], 2),
        ("shaped", SHAPED, &["--launch", "block=4x2x1x1"], 2),
        ("shaped", SHAPED, &["--launch", "block=4x0"], 2),
        ("shaped", SHAPED, &["--launch", "grid=3x2,cluster=2"], 2),
        ("program", "kernel k { } program p { launch k; }", &[], 0),
        ("program", "kernel k { } program p { launch k; }", &["--launch", "default"], 0),
        ("program", "kernel k { } program p { launch k; }", &["--launch", "ctas=2"], 2),
    ];
    for (name, text, arguments, expected) in cases {
        let path = folder.write(&format!("{name}.fence"), text);
        let output = check(&path, arguments);
        assert_eq!(code(&output), *expected, "{name} {arguments:?}: {}", all_text(&output));
    }
    assert_eq!(code(&check(&folder.0.join("absent.fence"), &[])), 2);
}

const SHAPED: &str = "kernel k { assert ntid.x == 4 && ntid.y == 2 && nctaid.y == 3 && nctaid == 6; }";

/// What a module says of its launches holds for those that are made up, too.
#[test]
fn a_launch_that_is_made_up_is_one_that_the_module_allows() {
    let folder = Folder::new("launch-of-a-module");
    let module = ".version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 k_param_0)
.reqntid 32, 2, 1
{
    .reg .b32 %r<5>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [k_param_0];
    mov.u32 %r1, %clusterid.x;
    mov.u32 %r2, %tid.y;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r4, %r2, 32, %r3;
    mad.lo.u32 %r4, %r1, 64, %r4;
    mul.wide.u32 %rd2, %r4, 4;
    add.s64 %rd3, %rd1, %rd2;
    st.global.u32 [%rd3], %r1;
    ret;
}
";
    folder.write("k.ptx", module);
    let path = folder.write(
        "k.fence",
        "global out[256]: u32;
import \"k.ptx\" entry k as k {
    launch { block: [32, 2] }
    param 0 = &out;
}
",
    );
    let cases: &[(&str, i32, &str)] = &[
        ("block=32x2,ctas=4", 0, "proved"),
        ("block=64,ctas=4", 2, "with [32, 2] threads per CTA, and no others"),
        ("warps=1,lanes=32", 2, "with [32, 2] threads per CTA, and no others"),
        // Of two axes, so that two blocks each are at one place of the first one.
        ("block=32x2,grid=2x2", 1, "data race on `out[0]` between tid 0 of cta 0 and tid 0 of cta 2"),
        (
            "block=32x2,grid=4x1,cluster=2",
            1,
            "data race on `out[0]` between tid 0 of cta 0 (cluster 0, rank 0)",
        ),
        ("block=32x2,grid=3x4,cluster=2x2", 2, "a row of 3 CTAs does not divide into clusters of 2"),
    ];
    for (launch, expected, says) in cases {
        let output = check(&path, &["--launch", launch]);
        let all = all_text(&output).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(code(&output) == *expected && all.contains(says), "{launch}: {all}");
    }
}

const LOCKED: &str = "use \"lib/lock.fence\";
kernel counter {
    launch { ctas: 2 }
    global word: u32 = 0;
    global count: u32 = 0;
    cas_lock(word);
    let v = ld.weak.global.u32 [count];
    st.weak.global.u32 [count], v + 1;
    cas_unlock(word);
}";

#[test]
fn the_library_is_found_from_any_folder() {
    let folder = Folder::new("library");
    let output = check(&folder.write("locked.fence", LOCKED), &[]);
    assert_eq!(code(&output), 0, "{}", all_text(&output));

    let kept = LOCKED.replace("    cas_unlock(word);\n", "");
    let text = all_text(&check(&folder.write("kept.fence", &kept), &[]));
    assert!(text.contains("[<fencepost>/lib/lock.fence:"), "{text}");

    let output = check(&folder.write("absent.fence", LOCKED.replace("lock.fence", "locks.fence")), &[]);
    assert_eq!(code(&output), 2);
    let text = all_text(&output);
    assert!(text.contains("resolve::unreadable-file"), "{text}");
    assert!(text.contains("`lib/lock.fence`"), "what there is: {text}");

    std::fs::create_dir(folder.0.join("lib")).expect("a new folder");
    folder.write("lib/lock.fence", "fn cas_lock(word: &u32) { } fn cas_unlock(word: &u32) { }");
    let output = check(&folder.0.join("locked.fence"), &[]);
    assert_eq!(code(&output), 1, "what is beside the file comes first: {}", all_text(&output));
}

#[test]
fn no_help_changes_the_library() {
    let folder = Folder::new("library-help");
    // A store in the library that released would mend it, too.
    let text = "use \"lib/atomic_ref.fence\";
kernel k {
    launch { ctas: 2, cooperative: true }
    global data: u32 = 0;
    global flag: u32 = 0;
    if ctaid == 0 {
        st.weak.global.u32 [data], 7;
        atomic_store_relaxed(flag, 1);
    } else {
        atomic_wait_acquire(flag, 0);
        let v = ld.weak.global.u32 [data];
    }
}";
    let output = check(&folder.write("k.fence", text), &["--format", "json"]);
    assert_eq!(code(&output), 1);
    let line: serde_json::Value = serde_json::from_slice(&output.stdout).expect("one object");
    let finding = &line["findings"][0];
    assert_eq!(finding["code"], "race::uniform");
    assert!(!finding["help"].to_string().contains("<fencepost>"), "{line:#}");
    assert!(finding["secondary"].to_string().contains("<fencepost>/lib/atomic_ref.fence"), "{line:#}");
}

#[test]
fn the_package_has_the_library() {
    let output = Command::new(env!("CARGO"))
        .args(["package", "--list", "--allow-dirty", "--offline", "-p", "fencepost"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo is there");
    let text = String::from_utf8_lossy(&output.stdout).replace('\\', "/");
    let listed: Vec<&str> = text.lines().filter(|line| line.starts_with("lib/")).collect();
    let names: Vec<String> = fencepost::library::names().map(|name| format!("lib/{name}.fence")).collect();
    assert_eq!(listed, names, "{}", all_text(&output));
}

#[test]
fn the_worst_of_several_files_wins() {
    let folder = Folder::new("several");
    folder.write("a.fence", PROVED);
    folder.write("b.fence", UNBOUNDED);
    assert_eq!(code(&check(&folder.0, &[])), 3);
    folder.write("c.fence", RACY);
    assert_eq!(code(&check(&folder.0, &[])), 1);
    folder.write("d.fence", "kernel {");
    let output = check(&folder.0, &[]);
    assert_eq!(code(&output), 2);
    assert!(all_text(&output).contains("data race on `x`"), "the other files are checked all the same");
}

#[test]
fn bad_input_gets_a_named_error_and_never_a_panic() {
    let folder = Folder::new("bad");
    let garbage: Vec<u8> = (0..4096u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let deep = format!("kernel k {{ let a = {}1{}; }}", "(".repeat(10_000), ")".repeat(10_000));
    let chain = format!("kernel k {{ let a = 1{}; }}", "+1".repeat(100_000));
    let cases: &[(&str, &[u8], &str)] = &[
        ("garbage", &garbage, "unreadable-file"),
        ("control", b"kernel \x00\x01\x02 k {}", "syntax::"),
        ("deep", deep.as_bytes(), "limit::nesting"),
        ("chain", chain.as_bytes(), "limit::"),
        (
            "loop",
            b"kernel k { global x: u32 = 0; for i in 0..1000000 { st [x], i; } }",
            "limit::loop-iterations",
        ),
        ("array", b"kernel k { global x[4000000000]: u64 = 0; st [x[0]], 1; }", "limit::object-size"),
        ("recursion", b"fn f() { g(); } fn g() { f(); } kernel k { f(); }", "resolve::recursive-function"),
        ("cycle", b"use \"cycle.fence\"; kernel k { }", "resolve::cyclic-use"),
        ("unknown", b"kernel k { global x: u32; lod.weak [x]; }", "resolve::unknown-instruction"),
        ("fence", b"kernel k { fence; }", "validate::missing-scope"),
        ("illegal", b"kernel k { global x: u32; st.acquire.gpu [x], 1; }", "validate::illegal-sem"),
        ("later", b"kernel k { setmaxnreg.dec.sync.aligned.u32 40; }", "unsupported::"),
        ("zero", b"kernel k { launch { ctas: 0 } }", "validate::launch-dimension"),
        ("billion", b"kernel k { launch { gpus: 1000000000 } }", "limit::launch"),
        ("empty", b"", "no kernel"),
    ];
    for (name, bytes, expected) in cases {
        let path = folder.write(&format!("{name}.fence"), bytes);
        let output = check(&path, &[]);
        let text = all_text(&output);
        assert_eq!(code(&output), 2, "{name}: {text}");
        assert!(text.contains(expected), "{name} should say {expected}: {text}");
        assert!(!text.contains("panicked"), "{name}: {text}");
    }
}

#[test]
fn a_limit_is_named_with_its_knob() {
    let folder = Folder::new("limits");
    // However its threads run, nothing goes wrong.
    let text = "kernel k { launch { ctas: 2 } global x: u32 = 0; st.relaxed.gpu [x], ctaid; \
                let v = ld.relaxed.gpu [x]; assert v < 2; }";
    let path = folder.write("k.fence", text);
    for (arguments, knob) in
        [(["--max-events", "1"], "--max-events"), (["--max-clauses", "1"], "--max-clauses")]
    {
        let output = check(&path, &arguments);
        assert_eq!(code(&output), 3, "{arguments:?}: {}", all_text(&output));
        assert!(all_text(&output).contains(knob), "{arguments:?}: {}", all_text(&output));
    }
}

#[test]
fn what_happens_in_turns_is_found_beyond_every_limit() {
    let folder = Folder::new("turns");
    let path = folder.write("k.fence", RACY);
    for arguments in [["--max-events", "1"], ["--max-clauses", "1"]] {
        let output = check(&path, &arguments);
        assert_eq!(code(&output), 1, "{arguments:?}: {}", all_text(&output));
        assert!(all_text(&output).contains(arguments[0]), "{arguments:?}: {}", all_text(&output));
    }
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    let folder = Folder::new("bytes");
    let path = folder.write("k.fence", RACY);
    for arguments in [&["--trace"][..], &[]] {
        assert_eq!(check(&path, arguments).stdout, check(&path, arguments).stdout, "{arguments:?}");
    }
}

#[test]
fn files_at_a_time_say_what_they_say_one_by_one() {
    let folder = Folder::new("jobs");
    for (number, text) in [RACY, PROVED, "kernel k {", RACY, PROVED, RACY].iter().enumerate() {
        folder.write(&format!("{number}.fence"), text);
    }
    // What a variant makes of a model is found out on the way.
    for more in [&[][..], &["--format", "brief"], &["--variant", "nope", "--format", "json"]] {
        let with = |jobs: &str| {
            let output = check(&folder.0, &[&["--jobs", jobs], more].concat());
            (code(&output), output.stdout, output.stderr)
        };
        let one_by_one = with("1");
        assert!(one_by_one.0 > 0);
        for _ in 0..5 {
            assert_eq!(with("4"), one_by_one, "{more:?}");
        }
    }
}

#[test]
fn launches_at_a_time_say_what_they_say_one_by_one() {
    let folder = Folder::new("launches");
    // What mends one launch is tried for the next one.
    let text = "kernel k {
        launch a { ctas: 2 } launch b { ctas: 3 } launch c { ctas: 1, warps: 2 } launch d { ctas: 2, warps: 2 }
        global x: u32 = 0;
        global f: u32 = 0;
        if ctaid == 0 && tid == 0 { st.weak [x], 1; st.relaxed.gpu [f], 1; }
        else if ld.acquire.gpu [f] == 1 { let v = ld.weak [x]; assert v == 1; }
    }";
    let path = folder.write("k.fence", text);
    for more in [&[][..], &["--format", "brief"], &["--trace", "--format", "sarif"]] {
        let with = |jobs: &str| {
            let output = check(&path, &[&["--jobs", jobs], more].concat());
            (code(&output), output.stdout)
        };
        let one_by_one = with("1");
        assert_eq!(one_by_one.0, 1);
        for _ in 0..5 {
            assert_eq!(with("4"), one_by_one, "{more:?}");
        }
    }
}

#[test]
fn values_at_a_time_say_what_they_say_one_by_one() {
    let folder = Folder::new("values");
    let text = "kernel k(N in 0..=4) { launch { warps: 16 } shared x: u32 = 0; shared y[4]: u32 = 0;
        for i in 0..N { if tid == 0 { st [x], i; } bar.sync 0; let v = ld [x]; assert v == i; }
        if N == 4 { if tid == 3 { st [y[N]], 1; } } }";
    let path = folder.write("k.fence", text);
    for more in [&[][..], &["--format", "brief"], &["--format", "sarif"], &["--budget", "1"]] {
        let with = |jobs: &str| {
            let output = check(&path, &[&["--jobs", jobs], more].concat());
            (code(&output), output.stdout)
        };
        let one_by_one = with("1");
        assert_eq!(one_by_one.0, 1);
        for jobs in ["2", "4", "7"] {
            assert_eq!(with(jobs), one_by_one, "{more:?}");
        }
    }
    let output = check(&path, &[]);
    let text = all_text(&output).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("k (16 threads, N in 0..=4, each value): violated"), "{text}");
    assert!(text.contains("with: N = 2"), "{text}");
    assert!(
        text.contains("what is shown is for N = 2; violated, too: `bounds` with N = 4 (-D N=4)"),
        "{text}"
    );
    let one = check(&path, &["-D", "N=4"]);
    assert!(all_text(&one).contains("bounds::out-of-bounds"), "{}", all_text(&one));
}

#[test]
fn a_limit_says_which_parameter_to_fix() {
    let folder = Folder::new("fix");
    let text = "kernel k(N in 0..=99, M in 0..=3) { launch { warps: 16 } shared x: u32 = 0;
        for i in 0..N { if tid == M { st [x], i; } bar.sync 1; let v = ld [x]; bar.sync 1; } }";
    let path = folder.write("k.fence", text);
    let output = check(&path, &["--max-clauses", "10"]);
    let text = all_text(&output).split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(code(&output), 3, "{text}");
    assert!(
        text.contains("or fix `N`, which may be anything here: -D N=0, or a range of at most 16 values"),
        "{text}"
    );
}

#[test]
fn a_rejected_file_is_one_line_of_the_brief_form() {
    let folder = Folder::new("brief-rejected");
    let path = folder.write("k.fence", "kernel k {\n    __syncthreads();\n    bar.snyc 0;\n}\n");
    let output = check(&path, &["--format", "brief"]);
    let line = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(code(&output), 2);
    assert!(line.contains(
        "k.fence: rejected: syntax::foreign: line 2: `__syncthreads()` is CUDA, not `.fence` (1 more)"
    ));
    assert_eq!(line.lines().count(), 1, "{line}");
    let empty = check(&folder.write("empty.fence", ""), &["--format", "brief"]);
    assert!(
        String::from_utf8_lossy(&empty.stdout)
            .ends_with("rejected: input::no-kernel: there is no kernel to check\n")
    );
}

#[test]
fn json_is_one_line_per_kernel_and_launch() {
    let folder = Folder::new("json");
    let text = format!("{PROVED}\nkernel two {{ launch a {{ ctas: 1 }} launch b {{ ctas: 2 }} }}");
    let output = check(&folder.write("k.fence", text), &["--format", "json", "--no-warnings"]);
    let lines: Vec<serde_json::Value> = String::from_utf8_lossy(&output.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).expect("each line is a JSON object"))
        .collect();
    let names: Vec<_> = lines.iter().map(|line| (line["kernel"].as_str(), line["launch"].as_str())).collect();
    assert_eq!(names, [(Some("k"), Some("default")), (Some("two"), Some("a")), (Some("two"), Some("b"))]);
    for line in &lines {
        assert_eq!(
            (line["schema"].as_str(), line["verdict"].as_str()),
            (Some("fencepost/1"), Some("proved"))
        );
    }
}

const LITMUS: &str = "PTX mp\n{ x = 0; y = 0; }\n P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;\n \
    st.weak x, 1 | ld.acquire.gpu r1, y ;\n st.release.gpu y, 1 | ld.weak r2, x ;\n";

#[test]
fn a_litmus_test_answers_its_condition_first() {
    let folder = Folder::new("litmus");
    let stale = "(P1:r1 == 1 /\\ P1:r2 == 0)";
    let never = folder.write("never.litmus", format!("{LITMUS}~exists {stale}"));
    let output = check(&never, &[]);
    assert_eq!(code(&output), 0, "{}", all_text(&output));
    assert!(all_text(&output).starts_with("mp: condition `~exists"), "{}", all_text(&output));
    // Races are decided where they are asked for, and the condition stays what it is.
    let output = check(&never, &["--property", "condition,race", "--format", "json"]);
    assert_eq!(code(&output), 1);
    assert!(all_text(&output).contains(r#""condition":{"quantifier":"~exists","holds":true}"#));
    let reached = folder.write("reached.litmus", format!("{LITMUS}~exists (P1:r2 == 1)"));
    let output = check(&reached, &["--trace"]);
    assert_eq!(code(&output), 1);
    let text = all_text(&output);
    for part in ["does not hold", "final state: P1:r2 = 1", "st.weak [x] = 1"] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    let other = folder.write("other.litmus", format!("{LITMUS}exists (P1:r1 == 1 /\\ tld)"));
    assert_eq!(code(&check(&other, &[])), 2);
}

#[test]
fn a_condition_that_holds_of_nothing_says_so() {
    let folder = Folder::new("litmus-vacuous");
    let text = "PTX alone\n{ x = 0; }\n P0@cta 0,gpu 0 ;\n bar.cta.sync 0, 1, 2 ;\n ld r1, 1 ;\n";
    for condition in ["forall (P0:r1 == 2)", "~exists (P0:r1 == 1)"] {
        let stuck = folder.write("stuck.litmus", format!("{text}{condition}"));
        // The community's reading stays: it holds.
        let output = check(&stuck, &["--property", "condition"]);
        assert_eq!(code(&output), 0, "{}", all_text(&output));
        let first = format!("alone: condition `{condition}` holds: no execution completes at all\n");
        assert!(all_text(&output).starts_with(&first), "{}", all_text(&output));
        let output = check(&stuck, &["--property", "condition", "--format", "json"]);
        for part in [r#""holds":true"#, r#""vacuity":[{"code":"vacuity::nothing-completes","at":null}]"#] {
            assert!(all_text(&output).contains(part), "{part} is not in\n{}", all_text(&output));
        }
    }
    let ends =
        folder.write("ends.litmus", format!("{text}forall (P0:r1 == 1)").replace("0, 1, 2", "0, 1, 1"));
    assert!(!all_text(&check(&ends, &["--property", "condition", "--format", "json"])).contains("vacuity"));
}

#[test]
fn a_limit_on_the_way_to_a_larger_bound_is_named() {
    let folder = Folder::new("litmus-raise");
    // Each round changes memory, so this is no spin; no bound is enough.
    let text = "PTX endless\n{ x = 0; }\n P0@cta 0,gpu 0 ;\n LC00: ;\n atom.relaxed.gpu.add r1, x, 1 ;\n \
        add r2, r2, r1 ;\n bne r1, -1, LC00 ;\nforall (P0:r1 == -1)";
    let endless = folder.write("endless.litmus", text);
    let with = |more: &[&str]| {
        let output = check(&endless, &[&["--property", "condition", "--allow-bounded"], more].concat());
        assert_eq!(code(&output), 0, "{}", all_text(&output));
        all_text(&output)
    };
    assert!(!with(&[]).contains("a larger one stopped"), "{}", with(&[]));
    let text = with(&["--max-events", "10"]);
    let expected = "the answer is that of bound 4; a larger one stopped: the launch has more than 10 events; raise --max-events";
    assert!(text.replace("\n  ", " ").contains(expected), "{text}");
    let json = with(&["--max-events", "10", "--format", "json"]);
    assert!(json.contains(r#""raise_limit":{"name":"max-events","#), "{json}");
}

#[test]
fn folders_are_searched_for_litmus_tests_too() {
    let folder = Folder::new("litmus-folder");
    folder.write("a.litmus", format!("{LITMUS}exists (P1:r2 == 1)"));
    folder.write("b.fence", PROVED);
    let output = check(&folder.0, &[]);
    assert_eq!(code(&output), 0, "{}", all_text(&output));
    assert!(all_text(&output).contains("2 launches checked: 2 proved"));
    // A kernel has no condition to decide.
    assert_eq!(code(&check(&folder.0, &["--property", "condition"])), 2);
}

#[test]
fn fmt_passes_over_the_litmus_tests_of_a_folder() {
    let folder = Folder::new("fmt-folder");
    folder.write("k.fence", "kernel k { global x: u32 = 0; st [x], 1; }");
    let litmus = folder.write("k.litmus", "PTX k { x = 0; } P0@cta 0,gpu 0 ; st.weak x, 1 ; exists (x == 1)");
    let fmt = |path: &Path| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fencepost"));
        code(&command.arg("fmt").arg(path).output().expect("the command starts"))
    };
    assert_eq!(fmt(&folder.0), 0);
    assert_eq!(fmt(&litmus), 2, "a litmus test that is named has no layout");
}

#[test]
fn pictures_are_written_where_they_were_asked_for() {
    let folder = Folder::new("graph");
    let racy = folder.write("racy.fence", RACY);
    let two = RACY.replace("launch { ctas: 2 }", "launch small { ctas: 2 } launch large { ctas: 3 }");
    let two = folder.write("two.fence", two);
    let path = |name: &str| folder.0.join(name);
    let graph = |input: &Path, name: &str| {
        let file = path(name).to_string_lossy().into_owned();
        let output = check(input, &["--graph", &file]);
        (code(&output), all_text(&output))
    };
    let text = |name: &str| std::fs::read_to_string(path(name)).unwrap_or_default();

    assert_eq!(graph(&racy, "one.svg").0, 1);
    assert!(text("one.svg").contains("<svg ") && text("one.svg").ends_with("</svg>\n"));
    let first = text("one.svg");
    assert_eq!(graph(&racy, "one.svg").0, 1);
    assert_eq!(text("one.svg"), first, "the same input gives the same bytes");
    assert_eq!(graph(&racy, "one.dot").0, 1);
    assert!(text("one.dot").starts_with("digraph "));

    // Of several launches, a file each; or one page.
    assert_eq!(graph(&two, "two.svg").0, 1);
    assert!(text("two-k-small.svg").contains("<svg ") && text("two-k-large.svg").contains("<svg "));
    assert!(!path("two.svg").exists());
    assert_eq!(graph(&two, "two.html").0, 1);
    assert_eq!(text("two.html").matches("<section ").count(), 2);
    assert!(text("two.html").contains("global x: u32 = 0;"), "the source is beside the picture");

    // Nothing to draw, a form that there is not, a place that there is not.
    let proved = folder.write("proved.fence", PROVED);
    let (status, said) = graph(&proved, "none.svg");
    assert!(status == 0 && said.contains("nothing was found") && !path("none.svg").exists(), "{said}");
    assert_eq!(graph(&racy, "one.png").0, 2);
    let (status, said) = graph(&racy, "absent/one.svg");
    assert!(status == 74 && said.contains("could not be written"), "{said}");
}
