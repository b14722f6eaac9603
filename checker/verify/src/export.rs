//! Each question as files that checkers of proofs read: a plain formula, with DRAT and text LRAT.
//!
//! What earlier questions have shown, what is asked and what is assumed are clauses of the formula, so that each file stands by
//! itself; a comment says which question a clause comes from. Of questions that build on each other, a proof has the steps of
//! those before it.

use crate::cnf::Formula;
use crate::graph::Reading;
use crate::proof::Reader;
use crate::{Folder, Refused};
use std::collections::{HashMap, HashSet};
use std::fmt::Write;

/// A file to be written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct File {
    /// Its name.
    pub name: String,
    /// What is in it.
    pub text: String,
}

/// A step of a proof.
struct Step {
    id: u64,
    clause: Vec<i32>,
    cited: Vec<u64>,
}

fn steps(bytes: &[u8]) -> Result<Vec<Step>, Refused> {
    let mut reader = Reader { bytes, at: 0 };
    let mut steps = Vec::new();
    while let Some(kind) = reader.byte() {
        match kind {
            b'a' => {
                let id = reader.number()? / 2;
                steps.push(Step { id, clause: reader.literals()?, cited: reader.numbers()? });
            }
            b'd' => _ = reader.numbers()?,
            _ => return Err(Refused::new("proof::form", format!("byte {} begins no step", reader.at - 1))),
        }
    }
    Ok(steps)
}

/// A clause that is no part of the formula, with its number in the proof and where it comes from.
struct More {
    id: u64,
    clause: Vec<i32>,
    from: String,
}

/// Questions that build on each other, so far.
#[derive(Default)]
struct Series {
    more: Vec<More>,
    steps: Vec<Step>,
    next: u64,
}

/// The files of all questions that are refuted.
///
/// # Errors
/// If the certificate cannot be read.
pub fn export(folder: &Folder) -> Result<Vec<File>, Refused> {
    let mut files = Vec::new();
    for (part_number, part) in folder.root().get("parts")?.list()?.iter().enumerate() {
        let mut formulas = Vec::new();
        for one in part.get("formulas")?.list()? {
            formulas.push(Formula::parse(&folder.text(one.get("file")?.text()?)?)?);
        }
        let mut all_series: HashMap<usize, Series> = HashMap::new();
        for (number, query) in part.get("queries")?.list()?.iter().enumerate() {
            let at = query.get("formula")?.number()?;
            let formula = formulas.get(at).ok_or_else(|| query.wrong("formula of that number"))?;
            let role = query.get("role")?.text()?;
            let name = format!("part-{part_number}-query-{number}-{role}");
            let (proof, any) = (query.get("proof")?, query.get("any")?);
            let any = if any.is_null() { None } else { Some(any.literals()?) };
            let known = query.get("known")?.literals()?;
            let series = query.get("series")?;
            if series.is_null() {
                if proof.is_null() {
                    continue;
                }
                let mut own = Series { next: formula.clauses.len() as u64 + 1, ..Series::default() };
                known
                    .iter()
                    .for_each(|&literal| own.give(vec![-literal], "known from an earlier query".to_owned()));
                if let Some(any) = any {
                    own.give(any, "what is asked".to_owned());
                }
                own.steps = steps(&folder.bytes(proof.text()?)?)?;
                files.extend(own.files(&name, formula, None));
                continue;
            }
            let variable = literal(&series.get("variable")?)?;
            let own = all_series.entry(series.get("number")?.number()?).or_default();
            if own.next == 0 {
                own.next = formula.clauses.len() as u64 + 1;
                known
                    .iter()
                    .for_each(|&literal| own.give(vec![-literal], "known from an earlier query".to_owned()));
                own.give(series.get("among")?.literals()?, "what all queries are among".to_owned());
            }
            let any = any.unwrap_or_default();
            own.give(any.iter().copied().chain([-variable]).collect(), format!("what query {number} asks"));
            if proof.is_null() {
                continue;
            }
            let steps = steps(&folder.bytes(proof.text()?)?)?;
            own.next = steps.last().map_or(own.next, |step| step.id + 1);
            own.steps.extend(steps);
            files.extend(own.files(&name, formula, Some(variable)));
            any.iter().for_each(|&literal| own.give(vec![-literal], format!("shown by query {number}")));
        }
    }
    Ok(files)
}

fn literal(one: &Reading<'_>) -> Result<i32, Refused> {
    one.value.as_i64().and_then(|number| i32::try_from(number).ok()).ok_or_else(|| one.wrong("literal"))
}

/// A clause with each of its literals once: `cake_lpr` takes a literal that is there twice for two.
fn once(clause: &[i32]) -> Vec<i32> {
    let mut seen = HashSet::new();
    clause.iter().copied().filter(|&literal| seen.insert(literal)).collect()
}

impl Series {
    fn give(&mut self, clause: Vec<i32>, from: String) {
        self.more.push(More { id: self.next, clause, from });
        self.next += 1;
    }

    /// Formula and proofs of the last question. Clauses are numbered anew: those of the file first, then the steps.
    fn files(&self, name: &str, formula: &Formula, assumed: Option<i32>) -> [File; 3] {
        let n_clauses = formula.clauses.len() + self.more.len() + usize::from(assumed.is_some());
        let highest = self.more.iter().flat_map(|more| &more.clause).map(|literal| literal.abs()).max();
        let n_variables = formula.n_variables.max(highest.unwrap_or(0));
        // Writing to a string does not fail.
        let mut cnf = format!("p cnf {n_variables} {n_clauses}\n");
        let put = |cnf: &mut String, clause: &[i32]| {
            once(clause).iter().for_each(|literal| _ = write!(cnf, "{literal} "));
            cnf.push_str("0\n");
        };
        formula.clauses.iter().for_each(|clause| put(&mut cnf, clause));
        let mut numbers: HashMap<u64, u64> = HashMap::new();
        let mut next = formula.clauses.len() as u64;
        let mut number = |id: u64| {
            next += 1;
            numbers.insert(id, next);
        };
        for more in &self.more {
            let _ = writeln!(cnf, "c {}", more.from);
            put(&mut cnf, &more.clause);
            number(more.id);
        }
        if let Some(variable) = assumed {
            let _ = write!(cnf, "c what is assumed\n{variable} 0\n");
            number(0);
        }
        let (mut lrat, mut drat) = (String::new(), String::new());
        let mut add = |id: u64, clause: &[i32], cited: &[u64]| {
            let of = |cited: &u64| numbers.get(cited).copied().unwrap_or(*cited);
            let cited: Vec<String> = cited.iter().map(|cited| of(cited).to_string()).collect();
            let clause: String = once(clause).iter().map(|literal| format!("{literal} ")).collect();
            next += 1;
            let _ = writeln!(lrat, "{next} {clause}0 {} 0", cited.join(" "));
            let _ = writeln!(drat, "{clause}0");
            numbers.insert(id, next);
        };
        for step in &self.steps {
            add(step.id, &step.clause, &step.cited);
        }
        // That the assumption is false contradicts the clause that states it.
        if let (Some(_), Some(last)) = (assumed, self.steps.last())
            && !last.clause.is_empty()
        {
            add(u64::MAX, &[], &[0, last.id]);
        }
        let file = |ending: &str, text: String| File { name: format!("{name}.{ending}"), text };
        [file("cnf", cnf), file("lrat", lrat), file("drat", drat)]
    }
}
