//! What is said of a certificate that was checked: what is proved, by what, and what is taken on trust.

use crate::Refused;
use crate::again::{Again, told};
use crate::claims::{Claims, Counts, Covered};
use crate::graph::Reading;
use crate::part::{Deduction, Part};
use crate::thorough::Looked;
use crate::thorough::prove::Proved;
use serde_json::{Value, json};
use std::collections::{BTreeSet, HashSet};
use std::fmt::Write;

/// What is taken on trust, and why it has to be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trusted {
    /// Its name.
    pub name: String,
    /// What is trusted.
    pub what: String,
    /// What it rests on, as the checker has evaluated it.
    pub needs: Vec<String>,
}

/// What was found out.
#[derive(Clone, Debug)]
pub struct Report {
    file: String,
    kernel: String,
    launch: String,
    model: String,
    verdict: String,
    properties: Vec<(String, String)>,
    unroll: usize,
    is_complete: bool,
    n_parts: usize,
    /// Of how many values of the parameters they are.
    n_values: usize,
    n_events: usize,
    n_queries: usize,
    n_refuted: usize,
    n_clauses: usize,
    n_steps: usize,
    covered: Covered,
    trusted: Vec<Trusted>,
    hash: String,
    looked: Vec<Looked>,
    /// By part, if not all of its executions were looked at.
    proved: Vec<Option<Proved>>,
    derived: Vec<Again>,
}

/// What nothing rests on once all executions were looked at, or all is proved once more.
const SETTLED: [&str; 5] = ["formula", "bounds", "symmetry", "counting", "resets"];

/// What each deduction concludes.
fn concluded(name: &str) -> &'static str {
    match name {
        "waits" => "one try that failed stands for all tries of a wait, so waits need no bound",
        "waits-that-write" => "the same of waits whose tries write back what they have read",
        "cta-waits" => {
            "of the rounds that all threads of a CTA make together without effect, one stands for all"
        }
        "prune-spins" => "tries that can be no end of a flagged pair are left out",
        "hangs-in-loops" => "a thread that stays in a loop for ever is found by one round on final memory",
        "loop-bounds" => "a loop that cannot run past the bound needs no larger one",
        "known-values" => "what a read can return follows from what can be written",
        "slices" => {
            "what goes wrong in the launch goes wrong in a slice of it, and slices that are alike are one"
        }
        "alike-cells" => "of memory cells that the same accesses touch one is looked at",
        "counting" => "words that only additions write show how many came before",
        "resets" => "rounds of words that are set back come in their order",
        "symmetry" => "of executions in which threads that are alike change places one is looked at",
        "never-full" => {
            "where threads drop out of an mbarrier, or bytes are delivered there, no arrival is one too many"
        }
        "warp-reads" => "an aligned matrix operation reads its matrices once for the warp",
        "leaders" => "of the lanes of a warp that do the same it is enough to elect one",
        "forwarding" => "a load of shared memory that can only see one store returns what that has written",
        "ordered-mbarriers" => "phases of mbarriers follow from what comes before what",
        _ => "a deduction that this version has no name for",
    }
}

fn of_deduction(deduction: &Deduction) -> Trusted {
    let Deduction { name, needs, count, what } = deduction;
    Trusted {
        name: name.clone(),
        what: format!("{} ({count} {what})", concluded(name)),
        needs: needs.clone(),
    }
}

impl Report {
    pub(crate) fn new(
        root: &Reading<'_>,
        claims: &Claims,
        parts: &[Part],
        covered: Covered,
        is_known: bool,
    ) -> Result<Self, Refused> {
        let text = |name: &str| -> Result<String, Refused> { Ok(root.get(name)?.text()?.to_owned()) };
        let launch = text("launch")?;
        let trusted = |name: &str, what: String| Trusted { name: name.to_owned(), what, needs: Vec::new() };
        let mut all = vec![
            trusted(
                "graph",
                "the event graph is what the kernel does: threads, branches, barriers, base relations"
                    .to_owned(),
            ),
            trusted(
                "formula",
                "each formula states the graph and the model, and no clause too many".to_owned(),
            ),
        ];
        let n_bounds = covered.pairs.by_trusted_bounds + covered.others.by_trusted_bounds;
        if n_bounds > 0 {
            let what = format!("bounds of the engine exclude {n_bounds} goals that those here leave open");
            all.push(trusted("bounds", what));
        }
        if covered.n_unseen > 0 {
            let what = format!(
                "{} executions of a launch in slices, which are too large to be evaluated here",
                covered.n_unseen
            );
            all.push(trusted("witnesses", what));
        }
        if !is_known {
            all.push(trusted(
                "launch",
                format!("launch `{launch}` was named on the command line and is not in the text"),
            ));
        }
        for deduction in parts.iter().flat_map(|part| &part.deductions) {
            let own = of_deduction(deduction);
            if !all.contains(&own) {
                all.push(own);
            }
        }
        let queries = || parts.iter().flat_map(|part| &part.queries);
        Ok(Self {
            file: text("file")?,
            kernel: text("kernel")?,
            launch,
            model: root.get("model")?.get("name")?.text()?.to_owned(),
            verdict: claims.verdict.clone(),
            properties: claims.properties.clone(),
            unroll: root.get("bounds")?.get("unroll")?.number()?,
            is_complete: claims.is_complete,
            n_parts: parts.len(),
            n_values: parts.iter().map(|part| &part.values).collect::<HashSet<_>>().len(),
            n_events: parts.iter().map(|part| part.graph.events.len()).sum(),
            n_queries: queries().count(),
            n_refuted: queries().filter(|query| query.proof.is_some()).count(),
            n_clauses: parts.iter().flat_map(|part| &part.stated).map(|stated| stated.n_clauses).sum(),
            n_steps: queries().map(|query| query.n_steps).sum(),
            covered,
            trusted: all,
            hash: String::new(),
            looked: Vec::new(),
            proved: Vec::new(),
            derived: Vec::new(),
        })
    }

    pub(crate) fn with_hash(self, hash: String) -> Self {
        Self { hash, ..self }
    }

    /// Adds what a closer look has found, and what was proved once more. Where the one has seen all executions, or the other has
    /// come to its end, nothing rests on formulas any more.
    pub(crate) fn with_looked(self, looked: Vec<Looked>, proved: Vec<Option<Proved>>) -> Self {
        let is_settled = |(looked, proved): (&Looked, &Option<Proved>)| {
            looked.given_up.is_none() || proved.as_ref().is_some_and(|own| own.given_up.is_none())
        };
        let is_all = !looked.is_empty() && looked.iter().zip(&proved).all(is_settled);
        let is_whole = is_all && proved.iter().flatten().all(|own| own.whole.is_none());
        let mut names = Vec::new();
        names.extend(if is_all { &SETTLED[..] } else { &[] });
        names.extend(if is_whole { Some("slices") } else { None });
        Self { looked, proved, ..self.without_trust_in(&names) }
    }

    /// What was proved once more, part by part.
    pub fn proved(&self) -> &[Option<Proved>] {
        &self.proved
    }

    /// Adds what was derived again of the graphs. What of them was not stays on trust.
    pub(crate) fn with_derived(mut self, derived: Vec<Again>) -> Self {
        let mut left = BTreeSet::new();
        let is_all = !derived.is_empty()
            && derived
                .iter()
                .all(|own| own.left.as_ref().map(|own| left.extend(own.iter().cloned())).is_ok());
        if is_all {
            self.trusted.retain(|own| own.name != "graph" || !left.is_empty());
            let graph = self.trusted.iter_mut().find(|own| own.name == "graph");
            graph.into_iter().for_each(|own| own.what = format!("of the event graph: {}", told(&left)));
        }
        Self { derived, ..self }
    }

    /// What was derived again of the graphs, part by part.
    pub fn derived(&self) -> &[Again] {
        &self.derived
    }

    /// What a closer look came to, part by part.
    pub fn looked(&self) -> &[Looked] {
        &self.looked
    }

    /// The verdict that was confirmed.
    pub fn verdict(&self) -> &str {
        &self.verdict
    }

    /// How many steps of proofs were followed.
    pub fn n_steps(&self) -> usize {
        self.n_steps
    }

    /// Pairs of flags, and other goals.
    pub fn counts(&self) -> (Counts, Counts) {
        (self.covered.pairs, self.covered.others)
    }

    /// What is taken on trust.
    pub fn trusted(&self) -> &[Trusted] {
        &self.trusted
    }

    fn without_trust_in(mut self, names: &[&str]) -> Self {
        self.trusted.retain(|own| !names.contains(&own.name.as_str()));
        self
    }

    /// For people.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        let mut line = |args: std::fmt::Arguments<'_>| _ = writeln!(text, "{args}");
        let bound = if self.is_complete { String::new() } else { format!(", loops up to {}", self.unroll) };
        line(format_args!(
            "{} ({}) of {}: {} confirmed{bound}",
            self.kernel, self.launch, self.file, self.verdict
        ));
        line(format_args!("  certificate  {}", self.hash));
        line(format_args!("  model        {}", self.model));
        for (property, verdict) in &self.properties {
            line(format_args!("  {property:<12} {verdict}"));
        }
        line(format_args!("by"));
        if self.n_values > 1 {
            line(format_args!("  {} values of the parameters, each looked at alone", self.n_values));
        }
        if self.n_parts > self.n_values {
            line(format_args!("  {} parts, each with other lanes elected", self.n_parts));
        }
        line(format_args!(
            "  {} proofs of {} questions, {} steps on {} clauses, each followed",
            self.n_refuted, self.n_queries, self.n_steps, self.n_clauses
        ));
        let counted = |counts: Counts, what: &str| {
            format!(
                "  {} {what}: {} refuted by proofs, {} excluded by plain bounds, {} by bounds of the engine",
                counts.all, counts.by_proof, counts.by_own_bounds, counts.by_trusted_bounds
            )
        };
        line(format_args!("{}", counted(self.covered.pairs, "pairs of events and flags")));
        line(format_args!("{}", counted(self.covered.others, "other goals")));
        if let Some((all, own)) = self.covered.threads {
            line(format_args!("  {all} threads in slices, {own} of them looked at"));
        }
        let n_seen = self.covered.n_shown;
        line(format_args!("  {n_seen} things shown by executions that were evaluated on the model's text"));
        for looked in &self.looked {
            line(format_args!("  a closer look: {}", looked.to_text()));
        }
        for proved in self.proved.iter().flatten() {
            line(format_args!("  a proof of its own: {}", proved.to_text()));
        }
        for derived in &self.derived {
            line(format_args!("  a second reading: {}", derived.to_text()));
        }
        line(format_args!("taken on trust"));
        if self.trusted.is_empty() {
            line(format_args!("  nothing but this program, which reads the languages as the checker does"));
        }
        for trusted in &self.trusted {
            let needs = match &trusted.needs[..] {
                [] => String::new(),
                needs => format!("; needs {}", needs.join(", ")),
            };
            line(format_args!("  {}: {}{needs}", trusted.name, trusted.what));
        }
        text
    }

    /// For programs.
    pub fn to_json(&self) -> Value {
        let counts = |counts: Counts| {
            json!({
                "all": counts.all, "by_proof": counts.by_proof, "by_own_bounds": counts.by_own_bounds,
                "by_trusted_bounds": counts.by_trusted_bounds,
            })
        };
        json!({
            "schema": "fencepost-verify/1",
            "certificate": self.hash,
            "file": self.file,
            "kernel": self.kernel,
            "launch": self.launch,
            "model": self.model,
            "verdict": self.verdict,
            "properties": self.properties.iter().map(|(property, verdict)| {
                json!({ "property": property, "verdict": verdict })
            }).collect::<Vec<_>>(),
            "bounds": { "unroll": self.unroll, "complete": self.is_complete },
            "parts": self.n_parts,
            "events": self.n_events,
            "queries": self.n_queries,
            "refuted": self.n_refuted,
            "clauses": self.n_clauses,
            "steps": self.n_steps,
            "pairs": counts(self.covered.pairs),
            "goals": counts(self.covered.others),
            "threads": self.covered.threads.map(|(all, own)| json!({ "all": all, "looked_at": own })),
            "thorough": self.looked.iter().map(|own| {
                json!({
                    "allowed": own.n_allowed, "forbidden": own.n_forbidden, "given_up": own.given_up,
                    "accepted_by_formula": own.accepted.as_ref().ok(), "not_asked": own.accepted.as_ref().err(),
                })
            }).collect::<Vec<_>>(),
            "proved_again": self.proved.iter().map(|own| own.as_ref().map(|own| {
                json!({
                    "not_whole": own.whole, "graphs": own.n_graphs, "events": own.n_events,
                    "clauses": own.n_clauses, "goals": own.n_goals, "steps": own.n_steps, "given_up": own.given_up,
                })
            })).collect::<Vec<_>>(),
            "derived": self.derived.iter().map(|own| {
                json!({
                    "threads": own.n_threads, "runs": own.n_runs,
                    "left": own.left.as_ref().ok(), "given_up": own.left.as_ref().err(),
                })
            }).collect::<Vec<_>>(),
            "trusted": self.trusted.iter().map(|own| {
                json!({ "name": own.name, "what": own.what, "needs": own.needs })
            }).collect::<Vec<_>>(),
        })
    }
}

/// What is said of one that is refused.
pub fn refused(name: &str, refused: &Refused) -> String {
    let help = match refused.code.split("::").next().unwrap_or_default() {
        "certificate" | "witness" | "proof" | "formula" | "query" => {
            "it proves nothing; make it again with `fencepost check --certificate`"
        }
        "coverage" | "claim" => "it claims more than it has: whoever made it has to say why",
        _ => "it proves nothing of this kernel",
    };
    format!("error: {name} is refused: {}\n  {}\n  {help}\n", refused.code, refused.why)
}

/// The same for programs.
pub fn refused_json(name: &str, refused: &Refused) -> Value {
    json!({ "schema": "fencepost-verify/1", "certificate": name, "refused": refused.code, "why": refused.why })
}
