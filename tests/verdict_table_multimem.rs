//! Verdicts of `multimem` (MM-7, MM-14): what is ordered through the multimem address, and what between it and the own
//! address of a device's instance, under both readings of whether those are aliases (MM-6, A-2).
//!
//! Two devices; each row says what the first does and what the second does.

use fencepost::encode::Treatment;
use fencepost::verdict::{Property, Verdict};
use fencepost_dsl::cat::MemoryModel;
use fencepost_tests::run::{config, model, outcomes, verdict};

/// What a row claims of `race`, of `assert`, or that nobody waits for ever.
const RACE: Property = Property::Race;
const ASSERT: Property = Property::Assert;
const DEADLOCK: Property = Property::Deadlock;

struct Row {
    name: &'static str,
    threads: [&'static str; 2],
    property: Property,
    /// If a multimem address is an alias, and if it is not.
    expect: [Verdict; 2],
}

const P: Verdict = Verdict::Proved;
const V: Verdict = Verdict::Violated;

const ROWS: &[Row] = &[
    Row {
        name: "release and acquire through the multimem address",
        threads: [
            "st [data], 1; multimem.st.release.sys.u32 [mc], 1;",
            "await (multimem.ld_reduce.acquire.sys.min.u32 [mc]) == 1; let v = ld [data]; assert v == 1;",
        ],
        property: RACE,
        expect: [P, P],
    },
    Row {
        name: "the value of one instance is enough to acquire",
        threads: [
            "st [data], 1; multimem.st.release.sys.u32 [mc], 1;",
            "await (multimem.ld_reduce.acquire.sys.max.u32 [mc]) == 1; let v = ld [data]; assert v == 1;",
        ],
        property: RACE,
        expect: [P, P],
    },
    Row {
        name: "a relaxed store does not release",
        threads: [
            "st [data], 1; multimem.st.relaxed.sys.u32 [mc], 1;",
            "await (multimem.ld_reduce.acquire.sys.min.u32 [mc]) == 1; let v = ld [data]; assert v == 1;",
        ],
        property: RACE,
        expect: [V, V],
    },
    Row {
        name: "a fence before it does",
        threads: [
            "st [data], 1; fence.acq_rel.sys; multimem.st.relaxed.sys.u32 [mc], 1;",
            "await (multimem.ld_reduce.relaxed.sys.min.u32 [mc]) == 1; fence.acq_rel.sys; let v = ld [data];",
        ],
        property: RACE,
        expect: [P, P],
    },
    Row {
        name: "a release of scope .gpu is of the own device",
        threads: [
            "st [data], 1; multimem.st.release.gpu.u32 [mc], 1;",
            "await (multimem.ld_reduce.acquire.sys.min.u32 [mc]) == 1; let v = ld [data];",
        ],
        property: RACE,
        expect: [V, V],
    },
    Row {
        name: "multimem.red is .relaxed.sys if nothing is said",
        threads: ["multimem.red.add.u32 [mc], 1;", "multimem.red.relaxed.sys.add.u32 [mc], 1;"],
        property: RACE,
        expect: [P, P],
    },
    Row {
        name: "two multimem.red of scope .gpu are not atomic to each other",
        threads: ["multimem.red.relaxed.gpu.add.u32 [mc], 1;", "multimem.red.relaxed.gpu.add.u32 [mc], 1;"],
        property: RACE,
        expect: [V, V],
    },
    Row {
        name: "weak is the default of multimem.st",
        threads: ["multimem.st.u32 [mc], 1;", "multimem.st.relaxed.sys.u32 [mc], 2;"],
        property: RACE,
        expect: [V, V],
    },
    Row {
        name: "each instance counts both additions",
        threads: [
            "multimem.red.release.sys.add.u32 [mc], 1; await (multimem.ld_reduce.acquire.sys.add.u32 [mc]) == 4;",
            "multimem.red.release.sys.add.u32 [mc], 1; await (multimem.ld_reduce.acquire.sys.add.u32 [mc]) == 4;",
        ],
        property: DEADLOCK,
        expect: [P, P],
    },
    Row {
        name: "the instances are written in no order: a sum of one store",
        threads: [
            "multimem.st.relaxed.sys.u32 [mc], 1;",
            "let v = multimem.ld_reduce.relaxed.sys.add.u32 [mc]; assert v != 1;",
        ],
        property: ASSERT,
        expect: [V, V],
    },
    Row {
        name: "and no more than every instance once",
        threads: [
            "multimem.st.relaxed.sys.u32 [mc], 1;",
            "let v = multimem.ld_reduce.relaxed.sys.add.u32 [mc]; assert v <= 2;",
        ],
        property: ASSERT,
        expect: [P, P],
    },
    Row {
        name: "Q5: multimem.red and a poll of the own instance",
        threads: [
            "multimem.red.release.sys.add.u32 [mc], 1;",
            "await ld.acquire.sys [c] == 1; let v = ld [data];",
        ],
        property: RACE,
        expect: [V, P],
    },
    Row {
        name: "Q5: with an alias fence between the own two",
        threads: [
            "multimem.red.release.sys.add.u32 [mc], 1; fence.proxy.alias; await ld.acquire.sys [c] == 2;",
            "multimem.red.release.sys.add.u32 [mc], 1; fence.proxy.alias; await ld.acquire.sys [c] == 2;",
        ],
        property: RACE,
        expect: [V, P],
    },
    Row {
        name: "Q5: without one",
        threads: [
            "multimem.red.release.sys.add.u32 [mc], 1; await ld.acquire.sys [c] == 2;",
            "multimem.red.release.sys.add.u32 [mc], 1; await ld.acquire.sys [c] == 2;",
        ],
        property: RACE,
        expect: [V, P],
    },
    Row {
        name: "the alias fence orders what something else orders",
        threads: [
            "multimem.st.weak.u32 [mc], 1; st.release.sys [flag], 1;",
            "await ld.acquire.sys [flag] == 1; fence.proxy.alias; let v = ld [c]; assert v == 1;",
        ],
        property: RACE,
        expect: [P, P],
    },
    Row {
        name: "without it that is not enough",
        threads: [
            "multimem.st.weak.u32 [mc], 1; st.release.sys [flag], 1;",
            "await ld.acquire.sys [flag] == 1; let v = ld [c]; assert v == 1;",
        ],
        property: RACE,
        expect: [V, P],
    },
    Row {
        name: "the halves of an alias fence will do",
        threads: [
            "multimem.st.weak.u32 [mc], 1; fence.proxy.alias.release.sys; st.relaxed.sys [flag], 1;",
            "await ld.relaxed.sys [flag] == 1; fence.proxy.alias.acquire.sys; let v = ld [c]; assert v == 1;",
        ],
        property: RACE,
        expect: [P, V],
    },
    Row {
        name: "from the own address to the multimem address",
        threads: [
            "st [c], 1; fence.proxy.alias; st.release.sys [flag], 1;",
            "await ld.acquire.sys [flag] == 1; let v = multimem.ld_reduce.weak.max.u32 [mc]; assert v == 1;",
        ],
        property: RACE,
        expect: [P, P],
    },
    Row {
        name: "the instances are apart",
        threads: ["st [c], 1;", "st [c], 2;"],
        property: RACE,
        expect: [P, P],
    },
    Row {
        name: "and each has one address",
        threads: ["st [peer(c, 1)], 1;", "st [c], 2;"],
        property: RACE,
        expect: [V, V],
    },
    Row {
        name: "release to another device's instance",
        threads: [
            "st [data], 1; st.release.sys [peer(c, 1)], 1;",
            "await ld.acquire.sys [c] == 1; let v = ld [data]; assert v == 1;",
        ],
        property: ASSERT,
        expect: [P, P],
    },
    Row {
        name: "one instance may be done while another is not read yet",
        threads: [
            "multimem.red.release.sys.add.u32 [mc], 2;",
            "await ld.acquire.sys [c] == 2; multimem.st.relaxed.sys.u32 [mc], 2; let v = ld.relaxed.sys [peer(c, 0)]; \
             assert v != 4;",
        ],
        property: ASSERT,
        expect: [V, V],
    },
    Row {
        name: "an asynchronous store releases what came before it",
        threads: [
            "st [data], 1; multimem.st.async.release.sys.u32 [mc], 1;",
            "await (multimem.ld_reduce.acquire.sys.min.u32 [mc]) == 1; let v = ld [data]; assert v == 1;",
        ],
        property: RACE,
        expect: [P, P],
    },
    Row {
        name: "so does an asynchronous reduction, but not what comes after it",
        threads: [
            "multimem.red.async.release.sys.add.u32 [mc], 1; st [data], 1;",
            "await (multimem.ld_reduce.acquire.sys.min.u32 [mc]) == 1; let v = ld [data];",
        ],
        property: RACE,
        expect: [V, V],
    },
    Row {
        name: "a poll of the own instance of what an asynchronous reduction adds to",
        threads: [
            "st [data], 1; multimem.red.async.release.sys.add.u32 [mc], 1;",
            "await ld.acquire.sys [c] == 1; let v = ld [data];",
        ],
        property: RACE,
        expect: [V, P],
    },
    Row {
        name: "MM-24: the reads of multimem.red acquire nothing",
        threads: [
            "st [data], 1; multimem.red.release.sys.add.u32 [mc], 1;",
            "await (multimem.ld_reduce.relaxed.sys.min.u32 [mc]) == 1; multimem.red.relaxed.sys.add.u32 [mc], 1; \
             fence.acq_rel.cta; let v = ld [data];",
        ],
        property: RACE,
        expect: [V, V],
    },
];

/// The verdict of a kernel in which device `i` runs the `i`-th text.
fn found(row: &Row, model: &MemoryModel, treatment: Treatment) -> Verdict {
    let mut text = "//! target sm_100 ptx 9.4\nkernel k {\n  launch { gpus: 2, cooperative: true }\n  symmetric c: u32 = 0;\n  \
        multimem mc: u32 alias c;\n  global data: u32 = 0;\n  global flag: u32 = 0;\n"
        .to_owned();
    for (index, thread) in row.threads.iter().enumerate() {
        text += &format!("  if gpuid == {index} {{ {thread} }}\n");
    }
    text += "}\n";
    let found = outcomes(&text, model, &config(treatment));
    verdict(&found[0], row.property)
}

#[test]
fn verdicts() {
    let models = [model(&[]), model(&["multimem-is-no-alias"])];
    let mut wrong = Vec::new();
    for row in ROWS {
        for (model, wanted) in models.iter().zip(row.expect) {
            for (treatment_name, treatment) in
                std::iter::once(&("default", Treatment::DEFAULT)).chain(Treatment::ONE_OFF)
            {
                let got = found(row, model, *treatment);
                if got != wanted {
                    wrong.push(format!(
                        "{}, variants {:?}, treatment {treatment_name}: {got:?}, not {wanted:?}",
                        row.name, model.variants
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
