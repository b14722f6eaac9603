//! Formulas in DIMACS, with what their literals mean, and derivations in binary LRAT.

use crate::encode::goal::GoalKind;
use fencepost_dsl::sorted::SortedMap;
use fencepost_engine::cnf::Literal;
use fencepost_engine::evidence::{Answered, Asked, Certain, Evidence, Meaning, Reason, Stated, Step};
use serde_json::{Value, json};
use std::fmt::Write;

/// What goes wrong, as in a certificate.
pub(super) fn claim(claim: &GoalKind, flags: &[String]) -> Value {
    match claim {
        GoalKind::Flag { flag, pair: (a, b) } => json!(["flag", flags[*flag], a.0, b.0]),
        GoalKind::Obligation(index) => json!(["obligation", index]),
        GoalKind::Final(index) => json!(["final", index]),
        GoalKind::Deadlock => json!(["deadlock"]),
        GoalKind::NotResident => json!(["not-resident"]),
        GoalKind::Condition => json!(["condition"]),
        GoalKind::Completion => json!(["complete"]),
    }
}

/// A formula, with a comment for each literal that means something: its number, and what.
pub(super) fn dimacs(stated: &Stated, flags: &[String], part: &Evidence) -> String {
    let mut text = String::new();
    let mut say = |literal: Literal, what: std::fmt::Arguments<'_>| {
        // Writing to a string does not fail.
        let _ = writeln!(text, "c {} {what}", literal.to_dimacs());
    };
    for &(literal, meaning) in &stated.meanings {
        match meaning {
            Meaning::Executed(event) => say(literal, format_args!("happens e{}", event.0)),
            Meaning::Source { read, piece, write, from } => {
                say(literal, format_args!("reads e{}.{piece} e{}.{from}", read.0, write.0));
            }
            Meaning::Coherence(a, b) => say(literal, format_args!("coherence e{} e{}", a.0, b.0)),
            Meaning::FenceOrder(a, b) => say(literal, format_args!("fence-order e{} e{}", a.0, b.0)),
            Meaning::Bit(unknown, at) => say(literal, format_args!("bit u{}.{at}", unknown.0)),
        }
    }
    for goal in &stated.goals {
        match &goal.kind {
            GoalKind::Flag { flag, pair: (a, b) } => {
                let name = &flags[*flag];
                say(goal.literal, format_args!("goal flag {name} e{} e{}", a.0, b.0));
            }
            GoalKind::Obligation(index) => say(goal.literal, format_args!("goal obligation {index}")),
            GoalKind::Final(index) => say(goal.literal, format_args!("goal final {index}")),
            GoalKind::Deadlock => say(goal.literal, format_args!("goal deadlock")),
            GoalKind::NotResident => say(goal.literal, format_args!("goal not-resident")),
            GoalKind::Condition | GoalKind::Completion => {}
        }
    }
    for (at, &literal) in stated.cuts.0.iter().enumerate() {
        say(literal, format_args!("cut {at}"));
    }
    say(stated.cuts.1, format_args!("cuts"));
    say(stated.complete, format_args!("complete"));
    for &(span, literal) in &stated.reachable {
        say(literal, format_args!("reachable {} {} {}", span.file.0, span.start, span.end));
    }
    if let Some((wanted, counts)) = stated.condition {
        say(wanted, format_args!("condition"));
        say(counts, format_args!("counts"));
    }
    for certain in &stated.certain {
        let _ = match certain {
            Certain::Coherence(a, b) => writeln!(text, "c certain coherence e{} e{}", a.0, b.0),
            Certain::FenceOrder(a, b) => writeln!(text, "c certain fence-order e{} e{}", a.0, b.0),
        };
    }
    let _ = writeln!(text, "c unrolled {}", part.unroll);
    text += &stated.formula.to_dimacs();
    text
}

/// The derivations of some questions, of which those of one series share their clauses.
#[derive(Default)]
pub(super) struct Proofs {
    series: SortedMap<usize, Ids>,
}

/// Which number in a proof each clause has.
#[derive(Default)]
struct Ids {
    given: Vec<u64>,
    derived: SortedMap<usize, u64>,
    next: u64,
}

impl Ids {
    /// As many given clauses as there are by now.
    fn give(&mut self, n_given: usize) {
        while self.given.len() < n_given {
            self.given.push(self.next);
            self.next += 1;
        }
    }

    fn of(&self, reason: Reason) -> u64 {
        match reason {
            Reason::Given(place) => self.given.get(place).copied().unwrap_or(0),
            Reason::Derived(number) => self.derived.get(&number).copied().unwrap_or(0),
        }
    }

    fn write(&mut self, steps: &[Step]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for step in steps {
            let id = self.next;
            self.next += 1;
            bytes.push(b'a');
            number(&mut bytes, 2 * id);
            for literal in &step.clause {
                let dimacs = literal.to_dimacs();
                number(&mut bytes, 2 * dimacs.unsigned_abs() + u64::from(dimacs < 0));
            }
            bytes.push(0);
            for &reason in &step.reasons {
                number(&mut bytes, 2 * self.of(reason));
            }
            bytes.push(0);
            self.derived.insert(step.number, id);
        }
        bytes
    }
}

/// Seven bits a byte, the lowest first; all but the last have the eighth set.
fn number(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

impl Proofs {
    /// The derivation of a refuted question. Clauses are numbered from 1: those of the formula, what is known, what is asked, then
    /// what is derived. In a series the question is followed by what is derived, and that by what is known from it.
    pub(super) fn of(&mut self, stated: &[Stated], asked: &Asked) -> Option<Vec<u8>> {
        let n_clauses = stated[asked.stated].formula.n_clauses() + asked.known.len();
        let Some(series) = &asked.series else {
            let Answered::Refuted(steps) = &asked.answered else { return None };
            let mut ids = Ids { next: 1, ..Ids::default() };
            ids.give(n_clauses + usize::from(asked.any.is_some()));
            return Some(ids.write(steps));
        };
        let ids = self.series.entry(series.number).or_insert_with(|| {
            let mut ids = Ids { next: 1, ..Ids::default() };
            // What all questions are among is given, too.
            ids.give(n_clauses + 1);
            ids
        });
        ids.give(ids.given.len() + 1);
        let Answered::Refuted(steps) = &asked.answered else { return None };
        let bytes = ids.write(steps);
        ids.give(ids.given.len() + asked.any.as_ref().map_or(0, Vec::len));
        Some(bytes)
    }
}
