//! Rows about execution barriers, and about threads that wait for each other.

use super::{Allowed, Forbidden, Races, Row, TWO, WARPS};

/// The rows.
pub const ROWS: &[Row] = &[
    Row {
        name: "SB with bar.sync on one barrier",
        source: "PTX ISA; MM-34",
        launch: WARPS,
        threads: &[
            "st [x], 1; bar.sync 0; let a = ld [y]; st [r0], a;",
            "st [y], 1; bar.sync 0; let a = ld [x]; st [r1], a;",
        ],
        outcome: "[r0] == 0 || [r1] == 0",
        expect: Forbidden,
        races: Races::No,
    },
    Row {
        name: "SB with bar.sync on different barriers",
        source: "PTX ISA; MM-34",
        launch: WARPS,
        threads: &[
            "st [x], 1; bar.sync 0, 32; let a = ld [y]; st [r0], a;",
            "st [y], 1; bar.sync 1, 32; let a = ld [x]; st [r1], a;",
        ],
        outcome: "[r0] == 0 && [r1] == 0",
        expect: Allowed,
        races: Races::Yes,
    },
    Row {
        name: "bar.arrive does not wait: what follows it may come first",
        source: "BR-4",
        launch: WARPS,
        threads: &[
            "bar.arrive 1, 64; st.relaxed.cta [x], 1; let a = ld.relaxed.cta [y]; st [r0], a;",
            "st.relaxed.cta [y], 1; let a = ld.relaxed.cta [x]; st [r1], a; bar.sync 1, 64;",
        ],
        outcome: "[r1] == 1",
        expect: Allowed,
        races: Races::No,
    },
    Row {
        name: "bar.arrive publishes to who syncs",
        source: "MM-34",
        launch: WARPS,
        threads: &[
            "st [x], 1; bar.arrive 1, 64; let a = ld.relaxed.cta [y]; st [r1], 1;",
            "bar.sync 1, 64; let a = ld [x]; st [r0], a; st.relaxed.cta [y], 1;",
        ],
        outcome: "[r0] == 0",
        expect: Forbidden,
        races: Races::No,
    },
    Row {
        name: "barriers of different threads in opposite order never complete",
        source: "no circular justification",
        launch: WARPS,
        threads: &["bar.sync 0; bar.sync 1; st [r0], 1;", "bar.sync 1; bar.sync 0; st [r1], 1;"],
        outcome: "true",
        expect: Forbidden,
        races: Races::No,
    },
    Row {
        name: "threads that await each other's next step never go on",
        source: "no circular justification",
        launch: TWO,
        threads: &[
            "await ld.relaxed.gpu [x] == 1; st.relaxed.gpu [y], 1;",
            "await ld.relaxed.gpu [y] == 1; st.relaxed.gpu [x], 1;",
        ],
        outcome: "true",
        expect: Forbidden,
        races: Races::No,
    },
    Row {
        name: "a thread that exits is not waited for",
        source: "BR-7",
        launch: WARPS,
        threads: &["if warpid == 0 { exit; }", "bar.sync 0; st [r0], 1;"],
        outcome: "[r0] == 1",
        expect: Allowed,
        races: Races::No,
    },
    Row {
        name: "an exit that awaits what comes after the barrier never happens",
        source: "BR-7; no circular justification",
        launch: WARPS,
        threads: &["await ld.relaxed.cta [x] == 1; exit;", "bar.sync 0; st.relaxed.cta [x], 1;"],
        outcome: "true",
        expect: Forbidden,
        races: Races::No,
    },
    Row {
        name: "an exit decided by what comes after the barrier never happens",
        source: "BR-7; no circular justification",
        launch: WARPS,
        threads: &[
            "let a = ld.relaxed.cta [x]; if a == 1 { exit; } bar.sync 0; st [r1], 1;",
            "bar.sync 0; st.relaxed.cta [x], 1; st [r0], 1;",
        ],
        outcome: "[r0] == 1 && [r1] == 0",
        expect: Forbidden,
        races: Races::No,
    },
    Row {
        name: "a barrier that one thread reaches on three paths",
        source: "MM-34",
        launch: WARPS,
        threads: &[
            "st [x], 1; let a = ld.relaxed.cta [y]; \
             if a == 0 { bar.sync 0; } else if a == 1 { bar.sync 0; } else { bar.sync 0; }",
            "st.relaxed.cta [y], 1; bar.sync 0; let b = ld [x]; st [r0], b; st [r1], 1;",
        ],
        outcome: "[r1] == 1 && [r0] == 0",
        expect: Forbidden,
        races: Races::No,
    },
];
