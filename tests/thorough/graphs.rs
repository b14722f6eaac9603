//! The event graph, which `verify --thorough` derives again from the kernel's text: what was changed in one is noticed.

use super::{Files, folder, looked_at, made, root, with};
use fencepost_verify::thorough::Limits;
use fencepost_verify::{Folder, verify, verify_thoroughly};
use serde_json::{Value, json};
use std::fs;

const GRAPH: &str = "part-0-graph.json.gz";

/// Two threads with a branch, an atomic, a fence, a barrier and an assertion.
const KERNEL: &str = "kernel k { launch { warps: 2 } shared s[2]: u32 = 3; shared n: u32 = 0;
 let t = atom.relaxed.cta.add.u32 [n], 2;
 if t == 0 { st.relaxed.cta [s[1]], t + 5; }
 fence.acq_rel.cta;
 bar.sync 0;
 assert ld.relaxed.cta [s[1]] == 5;
 final { assert [n] == 4; } }";

/// Examples, each with how much of it is derived again: all events of all threads.
const EXAMPLES: [&str; 8] = [
    "message-passing/release-acquire.fence",
    "message-passing/fence-too-early.fence",
    "cas-lock/acquire-release.fence",
    "cas-lock/weak-release.fence",
    "co-residency/tiles-by-counter.fence",
    "block-scope-across-ctas/gpu-scope.fence",
    "last-block-reduction/acq-rel-atomic.fence",
    "grid-sync/three-ctas.fence",
];

fn graph(files: &Files) -> Value {
    serde_json::from_slice(&folder(files).bytes(GRAPH).expect("it has a graph")).expect("it is JSON")
}

/// The event of a thread whose instruction starts so.
fn event(graph: &Value, agent: usize, kind: &str, text: &str) -> usize {
    let events = graph["events"].as_array().expect("a list");
    let is = |one: &&Value| {
        one["agent"] == json!(agent)
            && one["kind"] == kind
            && one["text"].as_str().is_some_and(|own| own.starts_with(text))
    };
    let found = events.iter().position(|one| is(&one));
    found.unwrap_or_else(|| panic!("thread {agent} has no {kind} of `{text}`"))
}

fn members<'a>(graph: &'a mut Value, set: &str) -> &'a mut Vec<Value> {
    graph["sets"][set].as_array_mut().expect("there are such events")
}

/// The pairs of a relation, and so back.
fn change_pairs(graph: &mut Value, name: &str, change: impl FnOnce(&mut Vec<(u64, u64)>)) {
    let mut pairs = Vec::new();
    for row in graph["relations"][name].as_array().expect("there is such a relation") {
        let row: Vec<u64> = row.as_array().expect("a row").iter().filter_map(Value::as_u64).collect();
        for run in row[1..].chunks(2) {
            pairs.extend((run[0]..run[0] + run[1]).map(|to| (row[0], to)));
        }
    }
    change(&mut pairs);
    pairs.sort_unstable();
    let rows: Vec<Value> = pairs.iter().map(|&(a, b)| json!([a, b, 1])).collect();
    graph["relations"][name] = Value::Array(rows);
}

/// A change, and what it does.
type Change = (&'static str, fn(&mut Value));

const CHANGES: [Change; 21] = [
    ("an event is left out", |graph| {
        let at = event(graph, 1, "fence", "fence");
        graph["events"][at]["guard"] = 0.into();
    }),
    ("an event happens always", |graph| {
        let at = event(graph, 0, "write", "st.relaxed");
        graph["events"][at]["guard"] = 1.into();
    }),
    ("an event happens on another condition", |graph| {
        let at = event(graph, 0, "write", "st.relaxed");
        let (n, guard) =
            (graph["terms"].as_array().expect("a list").len(), graph["events"][at]["guard"].clone());
        graph["terms"].as_array_mut().expect("a list").push(json!([1, "not", guard]));
        graph["events"][at]["guard"] = n.into();
    }),
    ("another address", |graph| {
        let (at, other) = (event(graph, 0, "write", "st.relaxed"), event(graph, 0, "read", "atom"));
        graph["events"][at]["access"]["offset"] = graph["events"][other]["access"]["offset"].clone();
    }),
    ("another location", |graph| {
        let (at, other) = (event(graph, 0, "write", "st.relaxed"), event(graph, 0, "read", "atom"));
        graph["events"][at]["access"]["location"] = graph["events"][other]["access"]["location"].clone();
        graph["events"][at]["access"]["offset"] = graph["events"][other]["access"]["offset"].clone();
    }),
    ("another value", |graph| {
        let (at, other) = (event(graph, 0, "write", "st.relaxed"), event(graph, 0, "read", "atom"));
        graph["events"][at]["access"]["value"] = graph["events"][other]["access"]["value"].clone();
    }),
    ("another mapping", |graph| {
        let at = event(graph, 0, "write", "st.relaxed");
        graph["events"][at]["access"]["mapping"] = 1.into();
    }),
    ("another initial value", |graph| {
        let events = graph["events"].as_array().expect("a list");
        let init = |value: &str| {
            events.iter().position(|one| {
                let term = one["access"]["value"].as_u64().unwrap_or(0) as usize;
                one["kind"] == "init" && graph["terms"][term][2] == value
            })
        };
        let (three, zero) = (init("3").expect("it is there"), init("0").expect("it is there"));
        graph["events"][three]["access"]["value"] = graph["events"][zero]["access"]["value"].clone();
    }),
    ("an assertion that always holds", |graph| graph["obligations"][0]["condition"] = 1.into()),
    ("an assertion that nobody comes to", |graph| graph["obligations"][0]["guard"] = 0.into()),
    ("an assertion less", |graph| _ = graph["obligations"].as_array_mut().expect("a list").remove(1)),
    ("a condition on final memory that always holds", |graph| graph["finals"][0]["condition"] = 1.into()),
    ("a thread that never ends", |graph| graph["agents"][0]["completed"] = 0.into()),
    ("a constraint that rules everything out", |graph| {
        graph["constraints"].as_array_mut().expect("a list").push(0.into());
    }),
    ("a fence that is none", |graph| {
        let at = event(graph, 0, "fence", "fence") as u64;
        members(graph, "ACQ_REL").retain(|one| *one != json!(at));
    }),
    ("a weak write that is a strong one", |graph| {
        let at = event(graph, 0, "write", "st.relaxed") as u64;
        members(graph, "RLX").retain(|one| *one != json!(at));
        members(graph, "STRONG").retain(|one| *one != json!(at));
    }),
    ("a wider scope", |graph| {
        let all = members(graph, "CTA").clone();
        graph["sets"]["CTA"] = json!([]);
        graph["sets"]["GPU"] = Value::Array(all);
    }),
    ("a pair in no program order", |graph| {
        let at = event(graph, 0, "fence", "fence") as u64;
        change_pairs(graph, "po", |pairs| pairs.retain(|pair| pair.0 != at));
    }),
    ("threads that do not see each other", |graph| {
        let at = event(graph, 0, "fence", "fence") as u64;
        change_pairs(graph, "sr", |pairs| pairs.retain(|pair| pair.0 != at && pair.1 != at));
    }),
    ("a dependency that is none", |graph| {
        let (from, to) = (event(graph, 0, "read", "ld"), event(graph, 0, "write", "st.relaxed"));
        change_pairs(graph, "data", |pairs| pairs.push((from as u64, to as u64)));
        let (from, to) = (event(graph, 1, "read", "ld"), event(graph, 0, "write", "st.relaxed"));
        change_pairs(graph, "data", |pairs| pairs.push((from as u64, to as u64)));
        let first = event(graph, 0, "write", "atom") as u64;
        change_pairs(graph, "data", |pairs| pairs.push((first + 1, first)));
        let own = event(graph, 0, "write", "st.relaxed") as u64;
        change_pairs(graph, "addr", |pairs| pairs.push((own, own)));
    }),
    ("an arrival that releases nobody", |graph| {
        _ = graph["edges"]["syncbar"].as_array_mut().expect("there are such pairs").pop();
    }),
];

#[test]
fn a_graph_that_is_not_what_the_text_says_is_noticed() {
    let (files, _) = made("k.fence", KERNEL);
    let report = looked_at(&files).expect("as it is it is confirmed");
    let [derived] = report.derived() else { panic!("it has one part") };
    let left = derived.left.as_ref().expect("it is derived again");
    assert!(derived.n_threads == 2 && derived.n_runs > 10, "{}", derived.to_text());
    let few = [
        "which branches on the way to an event decide it",
        "values that take many steps to come about",
        "which waits can be for ever",
    ];
    assert!(left.iter().all(|own| few.contains(&own.as_str())), "{left:?}");
    for (what, change) in CHANGES {
        let mut graph = graph(&files);
        change(&mut graph);
        match looked_at(&with(&files, GRAPH, &graph.to_string(), |_| ())) {
            Ok(_) => panic!("{what} is not noticed"),
            // Some of it makes another part of the certificate untrue before the graph is looked at.
            Err(refused) => assert!(
                refused.code == "graph::another"
                    || ["witness::", "coverage::"].iter().any(|start| refused.code.starts_with(start)),
                "{what}: {refused}"
            ),
        }
    }
}

/// The same where nothing else is claimed that a change could touch: all of them by the graph's own name.
#[test]
#[expect(clippy::print_stdout, reason = "the suite says how many")]
fn most_changes_are_noticed_by_the_graph_alone() {
    let (files, _) = made("k.fence", KERNEL);
    let (mut n_by_graph, mut n_only) = (0, 0);
    for (_, change) in CHANGES {
        let mut graph = graph(&files);
        change(&mut graph);
        let changed = with(&files, GRAPH, &graph.to_string(), |_| ());
        n_by_graph += usize::from(looked_at(&changed).is_err_and(|own| own.code == "graph::another"));
        n_only += usize::from(verify(&folder(&changed)).is_ok());
    }
    println!("{n_by_graph} of {} by the graph, {n_only} of which nothing else notices", CHANGES.len());
    assert!(n_by_graph >= 12 && n_only >= 8, "{n_by_graph} by the graph, {n_only} by nothing else");
}

#[test]
fn graphs_of_examples_are_derived_again() {
    let mut n_derived = 0;
    for path in EXAMPLES {
        let text = fs::read_to_string(root().join("examples").join(path)).expect("it is there");
        let (files, _) = made(path, &text);
        // Their executions are not asked for here.
        let limits = Limits { events_max: 0, ..Limits::default() };
        let report = verify_thoroughly(&folder(&files), limits);
        let report = report.unwrap_or_else(|refused| panic!("{path}: {refused}"));
        for derived in report.derived() {
            n_derived += usize::from(derived.left.is_ok());
        }
    }
    assert!(n_derived >= 4, "{n_derived}");
}

/// What is not followed is said by its name, and the graph stays on trust.
#[test]
fn what_is_not_followed_is_named() {
    let text = "kernel k { launch { ctas: 1, warps: 2 } shared x: u32 = 0;
        if warpid == 0 { st [x], 1; } bar.sync 0, 64; assert ld [x] == 1; }";
    let (files, _) = made("k.fence", text);
    let report = looked_at(&files).expect("it is confirmed");
    let why = report.derived()[0].left.clone().expect_err("counts are not followed");
    assert!(why.contains("bar.sync"), "{why}");
    let trusted = report.trusted().iter().find(|own| own.name == "graph").expect("it is trusted");
    assert!(trusted.what.starts_with("the event graph is what"), "{}", trusted.what);
    // Without a closer look nothing is derived.
    let plain = verify(&Folder::of_files(files).expect("it is whole")).expect("it is confirmed");
    assert!(plain.derived().is_empty());
}
