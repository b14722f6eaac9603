//! Certificates of examples are confirmed by a crate that has nothing of the checker; whatever is changed in one is refused by its
//! name; and each kind of question and of deduction is in some certificate.

use fencepost::check::{Config, check};
use fencepost::dsl::SourceMap;
use fencepost::dsl::kernel::program::Program;
use fencepost::dsl::kernel::{LoadOptions, load};
use fencepost::dsl::litmus;
use fencepost::encode::Treatment;
use fencepost::facts::DEDUCTIONS;
use fencepost::findings;
use fencepost::library;
use fencepost::models::{self, Model};
use fencepost::parallel;
use fencepost::report::Case;
use fencepost::report::certificate::{Missing, Told, certificate, hash};
use fencepost::verdict::{Property, Verdict};
use fencepost_verify::export::export;
use fencepost_verify::proof::Checker;
use fencepost_verify::{Folder, Refused, Report, verify};
use serde_json::Value;
use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

type Files = HashMap<String, Vec<u8>>;

/// A kernel that is proved, with each kind of file in its certificate.
const LOCK: &str = "examples/cas-lock/acquire-release.fence";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// A text that was read, and what it is checked with.
struct Kernel {
    sources: SourceMap,
    program: Program,
    model: Model,
    name: String,
}

impl Kernel {
    fn of(name: &str, text: &str) -> Self {
        let mut sources = SourceMap::default();
        let mut reader = |wanted: &str| match library::read(wanted) {
            Some(text) => text,
            None if wanted == name => Ok(text.to_owned()),
            None => fs::read_to_string(root().join(wanted)).map_err(|error| error.to_string()),
        };
        let program = if name.ends_with(".litmus") {
            litmus::load(&mut sources, name, &mut reader)
        } else {
            load(&mut sources, name, &mut reader, &LoadOptions::default())
        };
        let program = program.unwrap_or_else(|errors| panic!("{name}: {errors:?}"));
        let model = Model::shipped(models::usual(&program), &[]).expect("it comes along");
        Self { sources, program, model, name: name.to_owned() }
    }

    /// The certificate of a launch, by number, and what is claimed; `None` if nothing is.
    fn certificate(
        &self,
        kernel: usize,
        launch: usize,
        with: impl FnOnce(Config) -> Config,
    ) -> Option<(Files, Verdict)> {
        let own = &self.program.kernels[kernel];
        let config = with(Config { record: true, ..Config::usual(own) });
        let outcome = check(&self.program, own, &own.launches[launch], &self.model.resolved, &config).ok()?;
        let case = Case {
            sources: &self.sources,
            file: &self.name,
            program: &self.program,
            kernel: own,
            model: &self.model.name,
            variants: &[],
            outcome: &outcome,
            explanations: &[],
            standing: Default::default(),
        };
        match certificate(&case, &self.model, &config, &Told::default()) {
            Ok(files) => {
                let files = files.into_iter().map(|file| (file.name, file.bytes)).collect();
                Some((files, outcome.verdict))
            }
            Err(Missing::NoClaim(_)) => None,
            Err(other) => panic!("{}: {other}", self.name),
        }
    }
}

fn of_text(text: &str, with: impl FnOnce(Config) -> Config) -> (Files, Verdict) {
    let made = Kernel::of("k.fence", text).certificate(0, 0, with);
    made.unwrap_or_else(|| panic!("nothing is claimed of {text}"))
}

fn of_file(path: &str) -> Files {
    let kernel = Kernel::of(path, &read(path));
    kernel.certificate(0, 0, |config| config).unwrap_or_else(|| panic!("nothing is claimed of {path}")).0
}

fn checked(files: &Files) -> Result<Report, Refused> {
    verify(&Folder::of_files(files.clone())?)
}

fn json(files: &Files) -> Value {
    serde_json::from_slice(&files["certificate.json"]).expect("it is JSON")
}

/// Puts new hashes over what was changed, as a forger would.
fn sealed(mut files: Files, root: Option<Value>) -> Files {
    let mut root = root.unwrap_or_else(|| json(&files));
    let listed: Vec<Value> = root["files"]
        .as_array()
        .expect("it is a list")
        .iter()
        .filter_map(|one| {
            let name = one["name"].as_str()?;
            let bytes = files.get(name)?;
            Some(serde_json::json!({ "name": name, "bytes": bytes.len(), "sha256": hash(bytes) }))
        })
        .collect();
    root["files"] = Value::Array(listed);
    let text = serde_json::to_vec(&root).expect("it is written to memory");
    files.insert("seal".to_owned(), format!("{}  certificate.json\n", hash(&text)).into_bytes());
    files.insert("certificate.json".to_owned(), text);
    files
}

/// All examples, in an order in which each part of them is mixed.
fn examples() -> Vec<String> {
    let (mut found, mut folders) = (Vec::new(), vec![root().join("examples")]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("the folder is there").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "fence" || ending == "litmus") {
                let below = path.strip_prefix(root()).expect("it is below the root");
                found.push(below.to_string_lossy().replace('\\', "/"));
            }
        }
    }
    found.sort();
    found
}

/// The steps that a launch of the sample may take.
const STEPS: u64 = 3_000_000;
/// Of all examples, one in so many.
const ONE_IN: usize = 7;

#[test]
fn certificates_of_examples_are_confirmed() {
    let examples: Vec<String> = examples().into_iter().step_by(ONE_IN).collect();
    let work = |path: &String| -> (usize, usize) {
        let kernel = Kernel::of(path, &read(path));
        let (mut n_proved, mut n_violated) = (0, 0);
        for (number, own) in kernel.program.kernels.iter().enumerate() {
            for launch in 0..own.launches.len() {
                let made = kernel.certificate(number, launch, |config| Config {
                    budget: STEPS,
                    unroll_max: 2,
                    ..config
                });
                let Some((files, verdict)) = made else { continue };
                let report = checked(&files).unwrap_or_else(|refused| panic!("{path}: {refused}"));
                assert_eq!(report.verdict(), verdict.name(), "{path}");
                n_proved += usize::from(verdict.is_proof());
                n_violated += usize::from(verdict == Verdict::Violated);
            }
        }
        (n_proved, n_violated)
    };
    let (mut n_proved, mut n_violated) = (0, 0);
    parallel::in_order(parallel::available(), &examples, work, |_, (proved, violated)| {
        n_proved += proved;
        n_violated += violated;
    });
    assert!(n_proved > 15 && n_violated > 15, "{n_proved} proved and {n_violated} violated");
}

/// A change of a certificate, and the name by which it is refused.
type Change = (&'static str, fn(&mut Files), &'static str);

#[test]
fn what_was_changed_afterwards_is_refused() {
    let changes: [Change; 12] = [
        ("not ours", |files| _ = files.remove("certificate.json"), "certificate::none"),
        ("interrupted", |files| _ = files.remove("seal"), "certificate::unfinished"),
        ("another seal", |files| _ = files.insert("seal".into(), b"00".to_vec()), "certificate::seal"),
        (
            "a verdict changed",
            |files| {
                let text = String::from_utf8(files["certificate.json"].clone()).expect("text");
                let text = text.replacen("\"proved\"", "\"vacuous\"", 1);
                files.insert("certificate.json".into(), text.into_bytes());
            },
            "certificate::seal",
        ),
        (
            "a kernel changed",
            |files| files.get_mut("kernel-0.txt").expect("it is there").push(b' '),
            "certificate::changed-file",
        ),
        (
            "a model changed",
            |files| files.get_mut("model-0.cat").expect("it is there").push(b' '),
            "certificate::changed-file",
        ),
        (
            "a truncated proof",
            |files| files.get_mut("part-0-query-0.lrat.gz").expect("it is there").truncate(100),
            "certificate::changed-file",
        ),
        (
            "an empty proof",
            |files| files.get_mut("part-0-query-0.lrat.gz").expect("it is there").clear(),
            "certificate::changed-file",
        ),
        (
            "swapped proofs",
            |files| {
                let first = files["part-0-query-0.lrat.gz"].clone();
                let second = files.insert("part-0-query-1.lrat.gz".into(), first).expect("it is there");
                files.insert("part-0-query-0.lrat.gz".into(), second);
            },
            "certificate::changed-file",
        ),
        (
            "a formula changed",
            |files| files.get_mut("part-0-formula-0.cnf.gz").expect("it is there")[50] ^= 1,
            "certificate::changed-file",
        ),
        ("a file lost", |files| _ = files.remove("part-0-graph.json.gz"), "certificate::missing-file"),
        ("a file more", |files| _ = files.insert("more".into(), Vec::new()), "certificate::more-files"),
    ];
    let whole = of_file(LOCK);
    checked(&whole).expect("as it is it is confirmed");
    for (what, change, code) in changes {
        let mut files = whole.clone();
        change(&mut files);
        match checked(&files) {
            Err(refused) => assert_eq!(refused.code, code, "{what}: {refused}"),
            Ok(_) => panic!("{what} is not noticed"),
        }
    }
    // Each bit of each file counts.
    let mut names: Vec<&String> = whole.keys().collect();
    names.sort();
    for name in names {
        for at in [0, whole[name].len() / 2, whole[name].len() - 1] {
            let mut files = whole.clone();
            files.get_mut(name).expect("it is there")[at] ^= 4;
            let is_space = name == "seal" && at > 64;
            assert!(checked(&files).is_err() || is_space, "byte {at} of {name}");
        }
    }
}

fn unpacked(files: &Files, name: &str) -> Vec<u8> {
    let folder = Folder::of_files(files.clone()).expect("it is a certificate");
    folder.bytes(name).expect("it is there")
}

/// What is not packed is read as it is; a name says which it is.
fn put(files: &mut Files, root: &mut Value, name: &str, bytes: Vec<u8>) {
    let plain = name.trim_end_matches(".gz").to_owned();
    files.remove(name);
    let text = root.to_string().replace(&format!("\"{name}\""), &format!("\"{plain}\""));
    *root = serde_json::from_str(&text).expect("it is JSON still");
    files.insert(plain, bytes);
}

/// A forgery, sealed anew, and the names by which it may be refused.
type Forgery = (&'static str, fn(&mut Files, &mut Value), &'static [&'static str]);

#[test]
fn what_was_sealed_anew_is_refused_for_what_it_lacks() {
    let forgeries: [Forgery; 15] = [
        (
            "swapped proofs",
            |_, root| {
                let queries = &mut root["parts"][0]["queries"];
                let first = queries[0]["proof"].clone();
                queries[0]["proof"] = queries[1]["proof"].clone();
                queries[1]["proof"] = first;
            },
            &["proof::step"],
        ),
        (
            "a proof that is cut",
            |files, root| {
                let mut proof = unpacked(files, "part-0-query-0.lrat.gz");
                proof.pop();
                put(files, root, "part-0-query-0.lrat.gz", proof);
            },
            &["proof::truncated"],
        ),
        (
            "an empty proof",
            |files, root| put(files, root, "part-0-query-0.lrat.gz", Vec::new()),
            &["proof::no-end"],
        ),
        (
            "a proof that does not end in the empty clause",
            |files, root| {
                let proof = unpacked(files, "part-0-query-0.lrat.gz");
                // The last step is the empty clause: a number, no literal, what it cites.
                let last = (0..proof.len() - 4).rev().find(|&at| {
                    let mut id = at + 1;
                    while id < proof.len() && proof[id] & 0x80 != 0 {
                        id += 1;
                    }
                    proof[at] == b'a' && proof.get(id + 1) == Some(&0)
                });
                let last = last.expect("it has an end");
                put(files, root, "part-0-query-0.lrat.gz", proof[..last].to_vec());
            },
            &["proof::no-end", "proof::truncated"],
        ),
        (
            "what is no proof",
            |files, root| put(files, root, "part-0-query-0.lrat.gz", b"no proof".to_vec()),
            &["proof::form"],
        ),
        (
            "a formula with a clause too many",
            |files, root| {
                let mut text = unpacked(files, "part-0-formula-0.cnf.gz");
                text.extend_from_slice(b"2 0\n");
                put(files, root, "part-0-formula-0.cnf.gz", text);
            },
            &["formula::clauses"],
        ),
        (
            "a formula with a clause too few",
            |files, root| {
                let text = String::from_utf8(unpacked(files, "part-0-formula-0.cnf.gz")).expect("text");
                let lines: Vec<&str> = text.lines().collect();
                put(files, root, "part-0-formula-0.cnf.gz", lines[..lines.len() - 1].join("\n").into_bytes());
            },
            &["formula::clauses"],
        ),
        (
            "the formula of another kernel",
            |files, root| {
                let other = of_file("examples/message-passing/release-acquire.fence");
                put(files, root, "part-0-formula-0.cnf.gz", unpacked(&other, "part-0-formula-0.cnf.gz"));
            },
            &["proof::step", "proof::form"],
        ),
        (
            "a question left out",
            |_, root| _ = root["parts"][0]["queries"].as_array_mut().expect("a list").remove(0),
            &["coverage::goal"],
        ),
        (
            "a goal left out",
            |_, root| {
                let any = root["parts"][0]["queries"][0]["any"].as_array_mut().expect("a list");
                any.truncate(1);
            },
            &["proof::step", "coverage::goal"],
        ),
        (
            "an order taken for granted",
            |_, root| root["parts"][0]["queries"][0]["known"] = serde_json::json!([5]),
            &["query::unfounded"],
        ),
        ("no execution", |_, root| root["parts"][0]["witnesses"] = serde_json::json!([]), &["coverage::end"]),
        (
            "an execution of which an event is left out",
            |files, root| {
                let text = unpacked(files, "part-0-witness-0.json.gz");
                let mut one: Value = serde_json::from_slice(&text).expect("JSON");
                one["executed"].as_array_mut().expect("a list").remove(0);
                put(files, root, "part-0-witness-0.json.gz", one.to_string().into_bytes());
            },
            &["witness::not-allowed"],
        ),
        (
            "another kernel",
            |files, _| {
                let text = String::from_utf8(files["kernel-0.txt"].clone()).expect("text");
                files.insert("kernel-0.txt".into(), text.replace("cas_lock", "other").into_bytes());
            },
            &["kernel::another"],
        ),
        (
            "a form of the future",
            |_, root| root["schema"] = "fencepost-certificate/9".into(),
            &["certificate::schema"],
        ),
    ];
    let whole = of_file(LOCK);
    checked(&sealed(whole.clone(), None)).expect("sealed anew it is confirmed still");
    for (what, forge, codes) in forgeries {
        let (mut files, mut root) = (whole.clone(), json(&whole));
        forge(&mut files, &mut root);
        // What was put in place of a packed file has another name.
        if let Some(listed) = root["files"].as_array_mut() {
            let mut names: Vec<&String> = files.keys().collect();
            names.sort();
            *listed = names
                .into_iter()
                .filter(|name| *name != "seal" && *name != "certificate.json")
                .map(|name| serde_json::json!({ "name": name }))
                .collect();
        }
        match checked(&sealed(files, Some(root))) {
            Err(refused) => assert!(codes.contains(&refused.code), "{what}: {refused}"),
            Ok(_) => panic!("{what} is not noticed"),
        }
    }
}

#[test]
fn a_violation_is_not_made_a_proof() {
    let racy = "kernel k { launch { ctas: 2 } global n: u32 = 0; st [n], 1; }";
    let (files, verdict) = of_text(racy, |config| config);
    assert_eq!(verdict, Verdict::Violated);
    assert_eq!(checked(&files).expect("it is confirmed").verdict(), "violated");
    let claim = |root: &mut Value| {
        root["verdict"] = "proved".into();
        root["properties"]
            .as_array_mut()
            .expect("a list")
            .iter_mut()
            .for_each(|one| one["verdict"] = "proved".into());
    };
    let mut root = json(&files);
    claim(&mut root);
    assert_eq!(checked(&sealed(files.clone(), Some(root))).expect_err("it is none").code, "coverage::goal");
    let mut root = json(&files);
    root["parts"][0]["witnesses"] = serde_json::json!([]);
    let refused = checked(&sealed(files.clone(), Some(root))).expect_err("it is none");
    assert!(["coverage::end", "coverage::violation"].contains(&refused.code), "{refused}");
    let mut root = json(&files);
    root["verdict"] = "proved".into();
    assert_eq!(checked(&sealed(files, Some(root))).expect_err("it is none").code, "claim::verdict");
}

/// Each value of parameters that were checked one by one has to be there, once.
#[test]
fn a_value_in_no_part_is_missed() {
    let text = "kernel k(N in 0..=2, M in 1..=2) { launch { warps: 2 } shared x[2]: u32 = 0;
        for i in 0..N { st [x[tid]], M; bar.sync 0; } }";
    let (files, verdict) = of_text(text, |config| Config { treatment: Treatment::SPLIT, ..config });
    assert_eq!((verdict, json(&files)["parts"].as_array().map(Vec::len)), (Verdict::Proved, Some(6)));
    let report = checked(&files).expect("it is confirmed");
    assert!(report.to_text().contains("6 values of the parameters"), "{}", report.to_text());
    let refused = |change: &dyn Fn(&mut Vec<Value>)| {
        let mut root = json(&files);
        change(root["parts"].as_array_mut().expect("a list"));
        // Files of a part that is gone are nobody's.
        let mut kept = files.clone();
        let said = root["parts"].to_string();
        kept.retain(|name, _| !name.starts_with("part-") || said.contains(&format!("\"{name}\"")));
        checked(&sealed(kept, Some(root))).expect_err("a value is missing").code
    };
    assert_eq!(refused(&|parts| _ = parts.pop()), "coverage::value");
    assert_eq!(refused(&|parts| parts[0]["values"] = parts[1]["values"].clone()), "coverage::value");
    assert_eq!(refused(&|parts| parts[0]["values"][0][1] = 3.into()), "coverage::value");
    assert_eq!(refused(&|parts| parts[0]["values"][0][0] = "K".into()), "coverage::value");
    assert_eq!(refused(&|parts| parts[0]["values"] = serde_json::json!([])), "coverage::value");
}

/// A part for each leader that stands for others; that they do so is trusted, and said.
#[test]
fn a_leader_in_two_parts_is_refused() {
    let text = "kernel k { launch { warps: 1, lanes: 16 } shared x[2]: u32 = 0;
        if tid == 0 { st [x[1]], 1; } let e = elect.sync 0xffff; if e { st [x[0]], 1; } }";
    let (files, verdict) = of_text(text, |config| config);
    assert_eq!((verdict, json(&files)["parts"].as_array().map(Vec::len)), (Verdict::Proved, Some(2)));
    let report = checked(&files).expect("it is confirmed").to_text();
    assert!(report.contains("2 parts, each with other lanes elected"), "{report}");
    assert!(report.contains("leaders: "), "{report}");
    let refused = |leaders: Value| {
        let mut root = json(&files);
        root["parts"][0]["leaders"] = leaders;
        checked(&sealed(files.clone(), Some(root))).expect_err("it says the same twice").code
    };
    assert_eq!(refused(json(&files)["parts"][1]["leaders"].clone()), "coverage::value");
    assert_eq!(refused(serde_json::json!([])), "coverage::leader");
    assert_eq!(refused(serde_json::json!([[1, 65535, 0]])), "coverage::leader");
}

/// A ring of threads, each of which waits for its neighbour: alike but for their numbers.
const RING: &str = "kernel k { launch { warps: 2, lanes: 32 } shared d[64]: u32 = 0; shared f[64]: u32 = 0;
    st [d[tid]], 1; st.release.cta [f[tid]], 1;
    if ld.acquire.cta [f[(tid + 1) % 64]] == 1 { assert ld [d[(tid + 1) % 64]] == 1; } }";

#[test]
fn a_thread_in_no_slice_is_missed() {
    let (files, verdict) = of_text(RING, |config| Config { treatment: Treatment::SLICED, ..config });
    assert_eq!(verdict, Verdict::Proved);
    checked(&files).expect("it is confirmed");
    let mut root = json(&files);
    let slices = root["parts"][0]["slices"].as_array_mut().expect("a list");
    let alike = slices.iter_mut().find_map(|slice| {
        let alike = slice["alike"].as_array_mut()?;
        (!alike.is_empty()).then_some(alike)
    });
    alike.expect("threads are alike").pop();
    assert_eq!(checked(&sealed(files, Some(root))).expect_err("one is missing").code, "coverage::thread");
}

/// Slices around places ask about accesses, not about threads, and each of the threads has one of its own.
#[test]
fn slices_around_places_stand_for_no_thread() {
    let text = "kernel k { launch { warps: 2, lanes: 8 } shared t[16][16]: u32 = 0;
        for i in 0..16 { st [t[tid][i]], i; }
        bar.sync 0;
        var sum: u32 = 0;
        for i in 0..16 { sum += ld [t[i][tid]]; }
        bar.sync 0;
        st [t[tid][0]], sum; }";
    let (files, verdict) = of_text(text, |config| Config { treatment: Treatment::BY_PLACE, ..config });
    assert_eq!(verdict, Verdict::Proved);
    checked(&files).expect("it is confirmed");
    let slices = |root: &mut Value| root["parts"][0]["slices"].as_array_mut().expect("a list").clone();
    let is_of_place = |slice: &Value| slice["places"]["only"].is_u64();
    assert!(slices(&mut json(&files)).iter().any(is_of_place));
    let mut root = json(&files);
    for slice in root["parts"][0]["slices"].as_array_mut().expect("a list") {
        if !is_of_place(slice) {
            // As if it were about a place that it has nothing at.
            slice["places"]["only"] = Value::from(1_000_000);
        }
    }
    assert_eq!(checked(&sealed(files, Some(root))).expect_err("no thread has one").code, "coverage::thread");
}

/// A tile that every thread writes its part of, and one that all of it is copied from.
const TILE: &str = "kernel k { launch { warps: 2, lanes: 32 } shared t[256]: u32 = 0; global out[256]: u32;
    for i in 0..4 { st [t[tid * 4 + i]], tid; }
    fence.proxy.async; bar.sync 0;
    if tid == 0 {
        cp.async.bulk.global.shared::cta.bulk_group [out[0]], [t[0]], 1024;
        cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
    } }";

/// What a question can be for.
const ROLES: [&str; 11] = [
    "goal",
    "lemma",
    "unasked",
    "cut",
    "completion",
    "reachable",
    "exists",
    "round",
    "slice",
    "condition",
    "filter",
];

/// Half of the threads drop out of an mbarrier, the others go on.
const DROPS: &str = "kernel k { launch { warps: 2, lanes: 32 } shared b: mbarrier;
    if tid == 0 { mbarrier.init [b], 64; fence.mbarrier_init.release.cluster; }
    bar.sync 0;
    if tid >= 32 { mbarrier.arrive_drop _, [b]; }
    else { for phase in 0..2 { mbarrier.arrive _, [b]; await mbarrier.try_wait.parity [b], phase & 1; } } }";

/// A warp multiplies matrices that it reads once.
const PRODUCT: &str = "//! target sm_90a
kernel k {
    launch { lanes: 4 }
    shared tile[4]: u32 = 1;
    register acc: u32;
    wgmma.fence.sync.aligned;
    wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 acc, [tile], [tile], 0;
    wgmma.commit_group.sync.aligned;
    wgmma.wait_group.sync.aligned 0;
}
";

/// Kernels, each with what a certificate of it has.
fn kinds() -> Vec<(&'static str, String, Treatment, Vec<Property>)> {
    let turns = |more: &str| {
        let turns = "atom.relaxed.cta.inc.u32 _, [c], 100; ".repeat(2);
        format!("kernel k {{ launch {{ warps: 3 }} global c: u32 = 0; {turns} {more} }}")
    };
    let all = Property::ALL.to_vec();
    let of = |property: Property| vec![property];
    vec![
        ("lock", read(LOCK), Treatment::DEFAULT, all.clone()),
        ("goals", turns("final { assert [c] == 6; }"), Treatment::DEFAULT, all.clone()),
        (
            "lemmas",
            turns("assert ld.relaxed.cta [c] <= 6; assert ld.relaxed.cta [c] >= 2;"),
            Treatment { lemmas_from: 0, ..Treatment::DEFAULT },
            all.clone(),
        ),
        ("rounds", read("checker/cli/benches/families/sense-barrier.fence"), Treatment::DEFAULT, all.clone()),
        ("slices", RING.to_owned(), Treatment::SLICED, all.clone()),
        (
            "a leader",
            "kernel k { launch { warps: 1, lanes: 16 } shared x: u32 = 0;
             let e = elect.sync 0xffff; if e { st [x], 1; } }"
                .to_owned(),
            Treatment::DEFAULT,
            all.clone(),
        ),
        (
            "nobody asked",
            "kernel k { launch { ctas: 2 } global x: u32 = 0; global d[4]: u32 = 0;
             if ctaid == 0 { st.relaxed.gpu [x], 5; }
             else { let v = ld.relaxed.gpu [x]; if v != 5 { st.relaxed.gpu [d[v]], 1; } assert v == 0 || v == 5; } }"
                .to_owned(),
            Treatment::DEFAULT,
            of(Property::Assert),
        ),
        (
            "a bound",
            "kernel k(n in 0..=100) { launch { warps: 2 } shared c: u32 = 0;
             for i in 0..n { atom.relaxed.cta.add.u32 _, [c], 1; } }"
                .to_owned(),
            Treatment::DEFAULT,
            all.clone(),
        ),
        (
            "something to reach",
            "kernel k { launch { ctas: 2 } global f: u32 = 0; if ctaid == 0 { st.relaxed.gpu [f], 1; }
             else { let v = ld.relaxed.gpu [f]; reachable v == 1; reachable v == 0; } }"
                .to_owned(),
            Treatment { interleave: false, ..Treatment::DEFAULT },
            all.clone(),
        ),
        (
            "nothing to reach",
            "kernel k { launch { ctas: 2 } global f: u32 = 0; atom.relaxed.gpu.add.u32 _, [f], 1;
             let v = ld.relaxed.gpu [f]; reachable v == 3; }"
                .to_owned(),
            Treatment::DEFAULT,
            all.clone(),
        ),
        (
            "no end",
            "kernel k { launch { ctas: 2 } global f: u32 = 0; let v = ld.relaxed.gpu [f]; assume v == 1;
             final { assert [f] == 0; } }"
                .to_owned(),
            Treatment::DEFAULT,
            of(Property::Assert),
        ),
        (
            "mbarriers",
            read("examples/generic-pipeline/elected-producer.fence"),
            Treatment::DEFAULT,
            all.clone(),
        ),
        (
            "tries that write",
            read("checker/cli/benches/families/ttas-exch-lock.fence"),
            Treatment::DEFAULT,
            all.clone(),
        ),
        (
            "a vote in each round",
            read("examples/split-k-semaphore/vote-loop.fence"),
            Treatment::DEFAULT,
            of(Property::Race),
        ),
        (
            "what all are told",
            "kernel k { launch { lanes: 16 } global x: u32 = 0; global y: u32 = 0; shared w: u32;
             if tid == 0 { let r = atom.relaxed.gpu.add.u32 [x], 1; st.weak.shared [w], r; } bar.sync 0;
             let v = ld.weak.shared [w]; if v != 0 { st.weak [y], tid; } }"
                .to_owned(),
            Treatment::DEFAULT,
            of(Property::Race),
        ),
        ("drops", DROPS.to_owned(), Treatment::DEFAULT, all.clone()),
        ("products", PRODUCT.to_owned(), Treatment::DEFAULT, all.clone()),
        ("cells that are alike", TILE.to_owned(), Treatment::FEW_CELLS, all),
    ]
}

#[test]
fn each_kind_of_question_and_of_deduction_has_a_certificate() {
    let (mut roles, mut deductions, mut n_without) = (BTreeSet::new(), BTreeSet::new(), 0);
    let mut note = |what: &str, files: &Files, verdict: Verdict| {
        let report = checked(files).unwrap_or_else(|refused| panic!("{what}: {refused}"));
        assert_eq!(report.verdict(), verdict.name(), "{what}");
        for part in json(files)["parts"].as_array().expect("a list") {
            for query in part["queries"].as_array().expect("a list") {
                roles.insert(query["role"].as_str().expect("text").to_owned());
            }
            for deduction in part["deductions"].as_array().expect("a list") {
                deductions.insert(deduction["name"].as_str().expect("text").to_owned());
            }
        }
    };
    for (what, text, treatment, properties) in kinds() {
        let with = |treatment: Treatment| {
            let properties = properties.clone();
            Kernel::of("k.fence", &text).certificate(0, 0, |config| Config {
                treatment,
                properties,
                ..config
            })
        };
        let (files, verdict) = with(treatment).unwrap_or_else(|| panic!("{what}: nothing is claimed"));
        note(what, &files, verdict);
        // Without a deduction that it rests on there is a certificate that does not rest on it, or nothing is claimed.
        for row in DEDUCTIONS.iter().filter(|row| rests_on(&files, row.name)) {
            let Some(off) = row.off else { continue };
            let Some((without, verdict)) = with(off.and(treatment)) else { continue };
            n_without += 1;
            note(&format!("{what}, without {}", row.name), &without, verdict);
            assert!(!rests_on(&without, row.name), "{what}: {}", row.name);
        }
    }
    for name in ["tests/litmus/format/filtered.litmus", "tests/litmus/message-passing/mp-relaxed.litmus"] {
        let made = Kernel::of(name, &read(name)).certificate(0, 0, |config| config);
        let (files, verdict) = made.unwrap_or_else(|| panic!("nothing is claimed of {name}"));
        note(name, &files, verdict);
    }
    assert!(n_without > 10, "{n_without} certificates do without a deduction");
    let missing = |all: &[&'static str], found: &BTreeSet<String>| -> Vec<&'static str> {
        all.iter().copied().filter(|own| !found.contains(*own)).collect()
    };
    assert!(missing(&ROLES, &roles).is_empty(), "{roles:?}");
    let all: Vec<&'static str> = DEDUCTIONS.iter().map(|row| row.name).collect();
    assert!(missing(&all, &deductions).is_empty(), "{:?} of {deductions:?}", missing(&all, &deductions));
}

/// Whether a certificate lists a deduction.
fn rests_on(files: &Files, name: &str) -> bool {
    let root = json(files);
    let parts = root["parts"].as_array().expect("a list").iter();
    let all = parts.flat_map(|part| part["deductions"].as_array().expect("a list"));
    all.into_iter().any(|own| own["name"] == name)
}

/// The book says of each deduction what does without it, and of each role what it asks.
#[test]
fn the_book_lists_roles_and_deductions() {
    let book = read("book/src/how-to/certificates.md");
    let rows: Vec<&str> = book.lines().filter(|line| line.starts_with("| `")).collect();
    let is_listed = |name: &str| {
        let first =
            |row: &&str| row.split(" | ").next().is_some_and(|cell| cell.contains(&format!("`{name}`")));
        rows.iter().any(first)
    };
    for role in ROLES {
        assert!(is_listed(role), "the book has no role `{role}`");
    }
    for row in DEDUCTIONS {
        assert!(is_listed(row.name), "the book has no deduction `{}`", row.name);
        let line = rows.iter().find(|line| line.contains(&format!("`{}`", row.name))).expect("it is listed");
        assert_eq!(line.contains("--without"), row.off.is_some(), "{line}");
    }
}

/// The verifier knows of flags only by their names.
#[test]
fn flags_break_the_same_properties_for_both() {
    for name in models::names() {
        let model = Model::shipped(name, &[]).expect("it comes along");
        for flag in model.resolved.flags.iter().filter(|flag| !flag.name.contains('.')) {
            let own = fencepost_verify::property_of_flag(&flag.name);
            assert_eq!(own, findings::flag(&flag.name).property().name(), "{}", flag.name);
        }
    }
}

#[test]
fn each_question_is_exported_for_other_checkers() {
    for (what, text, treatment, properties) in kinds().into_iter().filter(|kind| kind.0 != "mbarriers") {
        let with = |config: Config| Config { treatment, properties: properties.clone(), ..config };
        let (files, _) = of_text(&text, with);
        let exported = export(&Folder::of_files(files).expect("it is whole")).expect("it is exported");
        assert!(!exported.is_empty() && exported.len().is_multiple_of(3), "{what}");
        for files in exported.chunks(3) {
            let clauses: Vec<Vec<i32>> = files[0]
                .text
                .lines()
                .filter(|line| !line.starts_with(['c', 'p']))
                .map(|line| {
                    line.split(' ')
                        .map(|word| word.parse().expect("a number"))
                        .filter(|&it| it != 0)
                        .collect()
                })
                .collect();
            let n_clauses = files[0].text.lines().next().and_then(|head| head.rsplit(' ').next());
            assert_eq!(n_clauses, Some(clauses.len().to_string().as_str()), "{what}: {}", files[0].name);
            // Text LRAT is followed by what it cites, DRAT without.
            for proof in &files[1..] {
                if proof.text.len() > 20_000 && proof.name.ends_with("drat") {
                    continue;
                }
                let mut checker = Checker::new();
                checker.give_all(clauses.iter().map(Vec::as_slice));
                checker
                    .follow_text(&proof.text)
                    .unwrap_or_else(|refused| panic!("{what}: {}: {refused}", proof.name));
                assert!(checker.ends_in(&[]), "{what}: {}", proof.name);
            }
        }
    }
}

#[test]
fn the_same_run_writes_the_same_bytes() {
    assert_eq!(of_file(LOCK), of_file(LOCK));
}
