//! What `check --certificate` writes: a folder per launch, with which anybody can check the verdict.
//!
//! Its texts, graphs, formulas, derivations and executions are files of their own, named with their hashes in `certificate.json`;
//! `seal` has the hash of that, and is written last, so that what has no seal is no certificate.
//! The book's page on certificates has the form of each file.

mod formula;
mod graph;

use super::case::Case;
use crate::check::Config;
use crate::models::Model;
use crate::verdict::{Outcome, Verdict};
use fencepost_dsl::kernel::program::Quantifier;
use fencepost_engine::cnf::Literal;
use fencepost_engine::evidence::{About, Answered, Asked, Evidence, Part, Place, Series, Shown, Slice};
use fencepost_engine::witness::Execution;
use flate2::{Compression, GzBuilder};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::io::Write;

/// The form's name. Fields are only ever added within a number.
pub const SCHEMA: &str = "fencepost-certificate/1";

/// A file of a certificate.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct File {
    /// Its name in the folder.
    pub name: String,
    /// What is in it.
    pub bytes: Vec<u8>,
}

/// The hash of some bytes, in hexadecimal.
pub fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What the command line was told beside the file, for whoever wants to run it again.
#[derive(Clone, Debug, Default)]
pub struct Told {
    /// Constants that were set.
    pub defines: Vec<(String, u64)>,
    /// The architecture, if it was named.
    pub target: Option<String>,
    /// Optimisations that were left out.
    pub without: bool,
}

/// Why there is no certificate.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Missing {
    /// Nothing is claimed.
    #[error("the verdict is {0}, and only a verdict that claims something has a certificate")]
    NoClaim(&'static str),
    /// Nothing was kept.
    #[error("nothing was kept of what the verdict rests on")]
    NotKept,
    /// Nobody could check it.
    #[error("the launch has {0} events, and `fencepost verify` evaluates relations of up to {EVENTS_MAX}")]
    TooLarge(usize),
}

/// Events of the largest graph of which all relations are evaluated by who checks a certificate.
pub const EVENTS_MAX: usize = 4_000;

/// Events of the largest launch in slices of which relations are written, besides those of its slices.
const RELATED_MAX: usize = 3_000;

/// The files, the seal last.
///
/// # Errors
/// If there is nothing to certify.
pub fn certificate(
    case: &Case<'_>,
    model: &Model,
    config: &Config,
    told: &Told,
) -> Result<Vec<File>, Missing> {
    let outcome = case.outcome;
    if outcome.verdict == Verdict::Inconclusive {
        return Err(Missing::NoClaim(outcome.told(outcome.verdict).name()));
    }
    if outcome.evidence.is_empty() {
        return Err(Missing::NotKept);
    }
    let sizes = outcome.evidence.iter().map(|part| part.graph.events.len());
    if let Some(largest) = sizes.max().filter(|&size| size > EVENTS_MAX) {
        return Err(Missing::TooLarge(largest));
    }
    let flags = model.resolved.flags.iter().map(|flag| flag.name.clone()).collect();
    let mut folder = Folder { files: Vec::new(), flags };
    let kernel_texts: Vec<Value> = case
        .sources
        .ids()
        .map(|id| {
            let source = case.sources.file(id);
            let file = folder.plain(format!("kernel-{}.txt", id.0), source.text.as_bytes());
            json!({ "name": source.name, "file": file })
        })
        .collect();
    let model_texts: Vec<Value> = (0..)
        .zip(model.texts())
        .map(|(at, (name, text)): (usize, _)| {
            let file = folder.plain(format!("model-{at}.cat"), text.as_bytes());
            json!({ "name": name, "file": file })
        })
        .collect();
    let parts: Vec<Value> =
        outcome.evidence.iter().enumerate().map(|(at, part)| folder.part(case, at, part)).collect();
    let listed: Vec<Value> = folder
        .files
        .iter()
        .map(|file| json!({ "name": file.name, "bytes": file.bytes.len(), "sha256": hash(&file.bytes) }))
        .collect();
    let launch = &outcome.launch;
    let whole = json!({
        "schema": SCHEMA,
        "made_by": concat!("fencepost ", env!("CARGO_PKG_VERSION")),
        "file": case.file,
        "kernel": case.kernel.name,
        "launch": launch.name,
        "model": { "name": case.model, "variants": case.variants, "texts": model_texts },
        "texts": kernel_texts,
        "options": {
            "properties": config.properties.iter().map(|property| property.name()).collect::<Vec<_>>(),
            "defines": told.defines,
            "target": told.target,
            "unroll": config.unroll,
            "unroll_max": config.unroll_max,
            "optimisations_left_out": told.without,
        },
        "verdict": outcome.verdict.name(),
        "properties": outcome.properties.iter().map(|(property, verdict)| {
            json!({ "property": property.name(), "verdict": verdict.name() })
        }).collect::<Vec<_>>(),
        "condition": condition(outcome),
        "bounds": { "unroll": outcome.unroll, "complete": outcome.open_loops.is_empty() },
        "vacuity": outcome.vacuity.iter().map(|vacuity| vacuity.kind().code).collect::<Vec<_>>(),
        "parts": parts,
        "off": outcome.statistics.off.iter().map(|off| {
            json!({ "deduction": off.deduction, "need": off.need.name(), "because": off.because })
        }).collect::<Vec<_>>(),
        "files": listed,
    });
    let text = format!("{}\n", serde_json::to_string_pretty(&whole).unwrap_or_default());
    let seal = format!("{}  certificate.json\n", hash(text.as_bytes()));
    folder.plain("certificate.json".to_owned(), text.as_bytes());
    folder.plain("seal".to_owned(), seal.as_bytes());
    Ok(folder.files)
}

fn condition(outcome: &Outcome) -> Value {
    let Some(condition) = &outcome.condition else { return Value::Null };
    let quantifier = match condition.quantifier {
        Quantifier::Exists => "exists",
        Quantifier::NotExists => "not-exists",
        Quantifier::Forall => "forall",
    };
    json!({ "quantifier": quantifier, "holds": condition.holds })
}

/// The files so far.
struct Folder {
    files: Vec<File>,
    /// Of the model's flags, the names.
    flags: Vec<String>,
}

impl Folder {
    fn plain(&mut self, name: String, bytes: &[u8]) -> String {
        self.files.push(File { name: name.clone(), bytes: bytes.to_vec() });
        name
    }

    /// Compressed: the same bytes each time, without a date.
    fn packed(&mut self, name: String, bytes: &[u8]) -> String {
        let name = format!("{name}.gz");
        let mut packer = GzBuilder::new().mtime(0).write(Vec::new(), Compression::fast());
        // Writing to memory does not fail.
        let written = packer.write_all(bytes).and_then(|()| packer.finish());
        self.files.push(File { name: name.clone(), bytes: written.unwrap_or_default() });
        name
    }

    fn json(&mut self, name: String, value: &Value) -> String {
        self.packed(name, format!("{value}\n").as_bytes())
    }

    /// A launch, or one value of its parameters.
    fn part(&mut self, case: &Case<'_>, at: usize, part: &Evidence) -> Value {
        let places = graph::Places { sources: case.sources };
        let record = &part.record;
        // Where there are slices, formulas are about them, and relations between all events may be too many.
        let has_relations = record.slices.is_empty() || part.graph.events.len() <= RELATED_MAX;
        let graph = graph::graph(places, &part.graph, has_relations);
        let graph = self.json(format!("part-{at}-graph.json"), &graph);
        let slices: Vec<Value> = record
            .slices
            .iter()
            .enumerate()
            .map(|(number, slice)| {
                let graph = graph::graph(places, &slice.graph, true);
                let graph = self.json(format!("part-{at}-slice-{number}.json"), &graph);
                of_slice(slice, graph)
            })
            .collect();
        let mut formulas: Vec<Value> = Vec::new();
        for (number, stated) in record.stated.iter().enumerate() {
            let text = formula::dimacs(stated, &self.flags, part);
            let file = self.packed(format!("part-{at}-formula-{number}.cnf"), text.as_bytes());
            let slice = match stated.part {
                Part::Whole => Value::Null,
                Part::Slice(slice) => json!(slice),
            };
            formulas.push(json!({ "file": file, "slice": slice }));
        }
        let mut proofs = formula::Proofs::default();
        let mut queries: Vec<Value> = Vec::new();
        for (number, asked) in record.asked.iter().enumerate() {
            let proof = proofs.of(&record.stated, asked);
            let proof = proof.map(|bytes| self.packed(format!("part-{at}-query-{number}.lrat"), &bytes));
            queries.push(of_query(asked, proof));
        }
        let mut shown: Vec<(Value, &Execution)> = record
            .shown
            .iter()
            .map(|(shown, execution)| (shows(case, &self.flags, shown), execution))
            .collect();
        if case.outcome.evidence.len() == 1 {
            let condition = case.outcome.condition.as_ref().and_then(|condition| condition.witness.as_ref());
            let found = case.outcome.findings.iter().map(|finding| &finding.witness).chain(condition);
            for witness in found {
                let claim = Shown::Claim(witness.claim.clone());
                shown.push((shows(case, &self.flags, &claim), &witness.execution));
            }
        }
        let mut witnesses: Vec<Value> = Vec::new();
        for (number, (shows, execution)) in shown.into_iter().enumerate() {
            let file = self.json(format!("part-{at}-witness-{number}.json"), &graph::execution(execution));
            witnesses.push(json!({ "shows": shows, "file": file }));
        }
        let deductions: Vec<Value> = record
            .used
            .iter()
            .map(|used| {
                let needs: Vec<&str> = used.row.needs.iter().map(|need| need.name()).collect();
                json!({ "name": used.row.name, "needs": needs, "count": used.n, "what": used.what })
            })
            .collect();
        json!({
            "values": part.values,
            "leaders": part.leaders.iter().map(|(&(warp, mask), &lane)| [warp, mask, lane]).collect::<Vec<_>>(),
            "unroll": part.unroll,
            "graph": graph,
            "slices": slices,
            "formulas": formulas,
            "queries": queries,
            "witnesses": witnesses,
            "deductions": deductions,
        })
    }
}

fn of_slice(slice: &Slice, graph: String) -> Value {
    let about = match slice.about {
        About::Threads => "threads",
        About::Waits => "waits",
        About::Finals => "finals",
    };
    let place = |place: &Place| match place {
        Place::Nowhere => 0,
        Place::Everywhere => 1,
        Place::At(place) => 2 + place,
    };
    let places = slice.places.as_ref().map(|(of, only)| {
        json!({ "of": of.iter().map(place).collect::<Vec<_>>(), "only": only.map(|only| 2 + only) })
    });
    json!({
        "places": places,
        "graph": graph,
        "about": about,
        "centre": slice.centre.0,
        "alike": slice.alike.iter().map(|agent| agent.0).collect::<Vec<_>>(),
        "asked": slice.asked.iter().map(|agent| agent.0).collect::<Vec<_>>(),
        "events": slice.kept.iter().map(|event| event.0).collect::<Vec<_>>(),
        "obligations": slice.obligations,
        "cuts": slice.cuts,
        "finals": slice.finals,
    })
}

fn of_query(asked: &Asked, proof: Option<String>) -> Value {
    let numbers = |literals: &[Literal]| -> Vec<i64> { literals.iter().map(|it| it.to_dimacs()).collect() };
    let (answer, n_steps) = match &asked.answered {
        Answered::Refuted(steps) => ("refuted", Some(steps.len())),
        Answered::Found => ("found", None),
        Answered::Stopped => ("stopped", None),
    };
    let series = asked.series.as_ref().map(|Series { number, variable, among }| {
        json!({ "number": number, "variable": variable.to_dimacs(), "among": numbers(among) })
    });
    json!({
        "role": asked.role.name(),
        "formula": asked.stated,
        "known": numbers(&asked.known),
        "any": asked.any.as_deref().map(numbers),
        "series": series,
        "answer": answer,
        "steps": n_steps,
        "proof": proof,
    })
}

fn shows(case: &Case<'_>, flags: &[String], shown: &Shown) -> Value {
    let place = |span| graph::Places { sources: case.sources }.place(span);
    match shown {
        Shown::Claim(claim) => formula::claim(claim, flags),
        Shown::Reachable(span) => json!(["reachable", place(*span)]),
        Shown::Cut(number) => json!(["cut", number]),
    }
}
