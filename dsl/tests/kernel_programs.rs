//! Programs: the order of tasks that streams and events stand for, errors, layout.

#[path = "kernel/support.rs"]
#[expect(dead_code, reason = "shared with suites that use more of it")]
mod support;

use fencepost_dsl::FileId;
use fencepost_dsl::kernel::dump::dump;
use fencepost_dsl::kernel::parse;
use fencepost_dsl::kernel::pretty::pretty;
use fencepost_dsl::kernel::program::{HostCall, Kernel, StatementKind, TaskId};
use std::fmt::Write as _;
use support::{program, try_load};

const KERNELS: &str = "global x: u32 = 0; global buffer[4]: u32; view half[8]: u16 of buffer; kernel k { st [x], 1; } \
    kernel n(N in 0..=3) { st [x], N; } kernel shapes { launch big { ctas: 2 } launch small { } st [x], 1; }";

fn source(body: &str) -> String {
    format!("{KERNELS} program p(P in 1..=2) {{ {body} }}")
}

fn entry(body: &str) -> Kernel {
    program(&source(body)).kernels.pop().expect("the program is what is checked")
}

/// `after` and `prerequisite` of each task, as numbers.
fn order(body: &str) -> String {
    let text = |ids: &[TaskId]| ids.iter().map(|id| id.0.to_string()).collect::<Vec<_>>().join(",");
    let tasks = entry(body).tasks;
    let parts: Vec<String> = tasks
        .iter()
        .map(|task| {
            let overlaps = task.prerequisite.map_or(String::new(), |task| format!("~{}", task.0));
            format!("[{}]{overlaps}", text(&task.after))
        })
        .collect();
    parts.join(" ")
}

#[test]
fn streams_and_events_become_an_order_of_tasks() {
    let pdl = "with programmatic_serialization";
    let cases = [
        ("stream a; launch k on a; launch k on a; launch k on a;", "[] [0] [1]"),
        ("stream a, b; launch k on a; launch k on b; launch k on a;", "[] [] [0]"),
        ("stream a, b; event e; launch k on a; record e on a; wait e on b; launch k on b;", "[] [0]"),
        (
            "stream a, b; event e; launch k on a; record e on a; launch k on a; wait e on b; launch k on b;",
            "[] [0] [0]",
        ),
        ("launch k; launch k;", "[] [0]"),
        ("stream a; launch k on a; launch k; launch k on a;", "[] [0] [1]"),
        ("stream a with non_blocking; launch k on a; launch k; launch k on a;", "[] [] [0]"),
        ("launch k; stream a; launch k on a;", "[] [0]"),
        ("stream a; for i in 0..3 { launch k on a; }", "[] [0] [1]"),
        ("stream a; for i in 0..2 { for j in i..2 { launch n(j) on a; } }", "[] [0] [1]"),
        (&format!("stream a; launch k on a; launch k on a {pdl};"), "[] []~0"),
        (&format!("stream a; launch k on a {pdl};"), "[]"),
        (&format!("stream a; launch k on a; launch k on a; launch k on a {pdl};"), "[] [0] [0]~1"),
        (&format!("stream a; launch k on a; launch k on a {pdl}; launch k on a {pdl};"), "[] []~0 []~1"),
        (&format!("stream a; launch k on a; launch k on a {pdl}; launch k on a;"), "[] []~0 [0,1]"),
        (
            &format!("stream a, b; event e; record e on b; launch k on a; wait e on a; launch k on a {pdl};"),
            "[] [0]",
        ),
        // A wait is for the latest record before it, and before the first one it is none.
        ("stream a, b; event e; launch k on a; wait e on b; record e on a; launch k on b;", "[] []"),
        (
            "stream a, b, c; event e; launch k on a; launch k on b; record e on a; record e on b; wait e on c; launch k on c;",
            "[] [] [1]",
        ),
        (
            "stream a, b; event e; for i in 0..2 { wait e on b; launch k on b; launch k on a; record e on a; }",
            "[] [] [0,1] [1]",
        ),
        // What is no wait does not come between two grids that may overlap.
        (&format!("stream a; event e; launch k on a; wait e on a; launch k on a {pdl};"), "[] []~0"),
    ];
    for (body, expected) in cases {
        assert_eq!(order(body), expected, "{body}");
    }
}

#[test]
fn branches_around_calls_are_taken_where_they_are_known() {
    let cases = [
        ("stream a; for i in 0..3 { if i > 0 { launch k on a; } }", "[] [0]"),
        ("stream a; for i in 0..3 { if i == 1 { launch k on a; } else if i == 2 { synchronize; } }", "[]"),
        (
            "stream a, b; for i in 0..3 { if i % 2 == 0 { launch k on a; } else { launch k on b; } }",
            "[] [] [0]",
        ),
        ("stream a; for i in 0..2 { let last = i + 1; if last == 2 { launch k on a; } }", "[]"),
        ("stream a; if P > 0 { launch k on a; } else { launch k on a; launch k on a; }", "[]"),
        ("stream a; let far = P - 1; if far > 4 { launch k on a; } launch k on a;", "[]"),
        (
            "event e; stream a, b; launch k on a; record e on a; if P == 1 { wait e on b; } launch k on b;",
            "[] [0] []",
        ),
        (
            "stream a; if P == 1 { launch k on a; } if P == 2 { launch k on a; } launch k on a;",
            "[] [0] [] [2]",
        ),
        ("stream a; if P == 1 { if P == 2 { launch k on a; } } launch k on a;", "[] []"),
    ];
    for (body, expected) in cases {
        assert_eq!(order(body), expected, "{body}");
    }
}

#[test]
fn tasks_know_for_which_parameters_they_are_launched() {
    let body = "stream a; launch k on a; let q = P + 1; if q == 2 { launch k on a; } else { synchronize; } final { assert true; }";
    let entry = entry(body);
    let launched: Vec<bool> = entry.tasks.iter().map(|task| task.when.is_some()).collect();
    assert_eq!((launched, entry.finals.len()), (vec![false, true], 1));
    let ways: Vec<_> = entry.body.iter().filter(|one| matches!(one.kind, StatementKind::If { .. })).collect();
    assert_eq!(ways.len(), 1, "{ways:?}");
}

#[test]
fn waits_for_events_that_nothing_records_are_noted() {
    let noted =
        |body: &str| -> Vec<String> { entry(body).unrecorded.into_iter().map(|wait| wait.event).collect() };
    assert_eq!(noted("stream a; event e; wait e on a; launch k on a;"), ["e"]);
    assert_eq!(noted("event e; synchronize e; launch k;"), ["e"]);
    let looped =
        "stream a; event e, f; for i in 0..2 { wait e on a; wait f on a; launch k on a; record e on a; }";
    assert_eq!(noted(looped), ["f"]);
    let never =
        "stream a; event e; wait e on a; launch k on a; for i in 0..2 { if i > 5 { record e on a; } }";
    assert_eq!(noted(never), ["e"]);
}

#[test]
fn the_host_waits_for_the_latest_tasks() {
    let cases = [
        ("stream a; launch k on a; launch k on a; synchronize a;", vec![1]),
        ("stream a, b; launch k on a; launch k on b; synchronize;", vec![0, 1]),
        ("stream a, b; launch k on a; launch k on b; synchronize b;", vec![1]),
        ("stream a; event e; launch k on a; record e on a; launch k on a; synchronize e;", vec![0]),
        ("stream a; synchronize a; launch k on a;", vec![]),
    ];
    for (body, expected) in cases {
        let waits: Vec<u32> = entry(body)
            .body
            .iter()
            .filter_map(|statement| match &statement.kind {
                StatementKind::Host(HostCall::Synchronize(tasks)) => Some(tasks),
                _ => None,
            })
            .flatten()
            .map(|task| task.0)
            .collect();
        assert_eq!(waits, expected, "{body}");
    }
}

#[test]
fn launched_kernels_are_checked_in_the_program_only() {
    let all = program(&source("launch k; launch n(P); launch shapes shape big;"));
    let names: Vec<&str> = all.kernels.iter().map(|kernel| kernel.name.as_str()).collect();
    assert_eq!(names, ["p"]);
    let names: Vec<&str> = all.parts.iter().map(|kernel| kernel.name.as_str()).collect();
    assert_eq!(names, ["k", "n", "shapes"]);
    let alone = program(&source("launch k;"));
    let names: Vec<&str> = alone.kernels.iter().map(|kernel| kernel.name.as_str()).collect();
    assert_eq!(names, ["n", "shapes", "p"]);
}

const BROKEN: &[&str] = &[
    "",
    "launch nothing;",
    "launch kk;",
    "launch k on s;",
    "stream a; launch k on b;",
    "stream a, a; launch k on a;",
    "stream a; event a; launch k on a;",
    "stream a with priority; launch k on a;",
    "launch k on;",
    "launch k with programmatic_serialization;",
    "stream a; launch k on a with luck;",
    "stream a; launch k on a on a;",
    "stream a; launch k below a;",
    "launch shapes;",
    "launch shapes shape huge;",
    "launch n;",
    "launch n(4);",
    "launch n(1, 2);",
    "let v = ld [x]; launch n(v);",
    "launch k(1);",
    "stream a; event e; record e; launch k on a;",
    "synchronise; launch k;",
    "synchronize a b; launch k;",
    "graph g; launch k;",
    "for i in 0..P { launch k; }",
    "for i in 0..2000 { launch k; }",
    "launch small { ctas: 2 } launch k;",
    "global y: u32; launch k;",
    "if x == 1 { synchronize; } launch k;",
    "let v = ld [x]; if v == 1 { launch k; }",
    "if (ld [x]) == 1 { launch k; }",
    "var i = 0; i = 1; if i == 1 { launch k; }",
    "if P { launch k; }",
    "if P == 1 { launch nothing; } launch missing;",
    "while P == 1 { launch k; }",
    "if P == 1 { final { assert [x] == 1; } launch k; }",
    "launch k; exit;",
    "st [x], tid; launch k;",
    "launch k; final { assert [x] == ntid; }",
];

#[test]
fn errors_of_programs() {
    let mut text = String::new();
    for body in BROKEN {
        let _ = writeln!(text, "{body}");
        match try_load(&source(body)) {
            Ok(_) => panic!("{body} is accepted"),
            Err(errors) => {
                for error in errors {
                    let _ = writeln!(text, "    {}: {}", error.code, error.message);
                    if let Some(help) = &error.help {
                        let _ = writeln!(text, "        help: {help}");
                    }
                }
            }
        }
    }
    for source in [
        "shared s: u32; kernel k { } program p { launch k; }",
        "kernel k { } program p(P in 0..=5000) { if P > 2 { launch k; } }",
        "kernel k { stream a; }",
        "kernel k { synchronize; }",
        "global x: u32; global x: u32; kernel k { st [x], 1; }",
        "kernel k { } kernel p { } program p { launch k; }",
        "program p { launch p; }",
        "//! target sm_80 ptx 7.8\nkernel k { griddepcontrol.wait; }",
        "kernel k { griddepcontrol.wait.all; }",
        "kernel k { griddepcontrol.launch; }",
    ] {
        let _ = writeln!(text, "{source}");
        for error in try_load(source).err().unwrap_or_else(|| panic!("{source} is accepted")) {
            let _ = writeln!(text, "    {}: {}", error.code, error.message);
            if let Some(help) = &error.help {
                let _ = writeln!(text, "        help: {help}");
            }
        }
    }
    insta::assert_snapshot!("program_errors", text);
}

const LAYOUT: &str = "global x: u32 = 0;
global buffer[4]: u32;
view half[8]: u16 of buffer;
global other: u32 alias x;

kernel k(N in 0..=3) {
    launch big { ctas: 2 }
    launch small {}

    st [x], N;
    griddepcontrol.launch_dependents;
    griddepcontrol.wait;
}

// What the host does.
program p(P in 1..=2) {
    stream a, b;
    stream free with non_blocking;
    event done;

    for round in 0..2 {
        launch k(round + 1) shape big on a;
        record done on a;  // for the other stream
        wait done on b;
        launch k(P) shape small on b with programmatic_serialization;
    }
    synchronize done;
    synchronize b;
    synchronize;
    let v = ld.weak.global.u32 [x];
    final { assert [x] == 2; }
}
";

#[test]
fn the_layout_is_canonical_and_the_meaning_is_kept() {
    let (file, errors) = parse(LAYOUT, FileId(0));
    assert!(errors.is_empty(), "{errors:#?}");
    assert_eq!(pretty(&file).expect("a whole file"), LAYOUT);
    let squeezed = LAYOUT
        .replace("    ", " ")
        .replace("// What the host does.\n", "")
        .replace("  // for the other stream", "");
    let (file, errors) = parse(&squeezed, FileId(0));
    assert!(errors.is_empty(), "{errors:#?}");
    let spread = pretty(&file).expect("a whole file");
    assert_eq!(dump(&program(&spread)), dump(&program(LAYOUT)));
    insta::assert_snapshot!("program_dump", dump(&program(LAYOUT)));
}
