//! Whether data decide that an operation is executed: not parameters, nor whether somebody is waited for in vain.

use crate::event::{EventGraph, TermKind, TermPool, TermRef, UnknownKind};
use std::cell::RefCell;

/// The guards of a graph.
pub struct Conditions {
    /// A copy of the graph's, since to ask makes terms.
    terms: RefCell<TermPool>,
    /// What is known of terms so far, by number: whether data are in them, whether anything but parameters is.
    known: RefCell<Vec<Option<Made>>>,
}

/// What a term is made of.
#[derive(Clone, Copy, Default)]
struct Made {
    of_data: bool,
    of_others: bool,
}

/// How deep branches in branches are followed.
const DEPTH_MAX: u32 = 16;

impl Conditions {
    pub fn new(graph: &EventGraph) -> Self {
        Self { terms: RefCell::new(graph.terms.clone()), known: RefCell::new(Vec::new()) }
    }

    /// Whether a thread that runs to its end may have left out what has this guard, because of what it has read.
    pub fn is_decided_by_data(&self, completed: TermRef, guard: TermRef) -> bool {
        let mut terms = self.terms.borrow_mut();
        if terms.entails(completed, guard) {
            return false;
        }
        let conjuncts = terms.conjuncts(guard).to_vec();
        let chosen: Vec<TermRef> =
            conjuncts.iter().copied().filter(|&term| !self.made(&terms, term).of_others).collect();
        let chosen = terms.and_all(chosen);
        conjuncts
            .into_iter()
            .any(|term| self.made(&terms, term).of_data && !covers(&mut terms, completed, term, chosen, 0))
    }

    fn made(&self, terms: &TermPool, term: TermRef) -> Made {
        let mut known = self.known.borrow_mut();
        let mut open = vec![term];
        while let Some(&next) = open.last() {
            let at = next.0 as usize;
            if known.len() <= at {
                known.resize(at + 1, None);
            }
            if known[at].is_some() {
                open.pop();
                continue;
            }
            if let TermKind::Unknown(unknown) = terms.kind(next) {
                let kind = &terms.unknown(*unknown).kind;
                known[at] = Some(match kind {
                    UnknownKind::Parameter => Made::default(),
                    UnknownKind::Read(_) | UnknownKind::Initial { .. } | UnknownKind::Uncomputed(_) => {
                        Made { of_data: true, of_others: true }
                    }
                    _ => Made { of_data: false, of_others: true },
                });
                continue;
            }
            let operands = terms.operands(next);
            let mut whole = Made::default();
            let before = open.len();
            for operand in operands {
                match known.get(operand.0 as usize).copied().flatten() {
                    Some(part) => {
                        whole.of_data |= part.of_data;
                        whole.of_others |= part.of_others;
                    }
                    None => open.push(operand),
                }
            }
            if open.len() == before {
                known[at] = Some(whole);
            }
        }
        known.get(term.0 as usize).copied().flatten().unwrap_or_default()
    }
}

/// Whether a term visibly implies another where `chosen` holds.
fn covers(terms: &mut TermPool, term: TermRef, other: TermRef, chosen: TermRef, depth: u32) -> bool {
    if terms.entails(term, other) {
        return true;
    }
    if depth > DEPTH_MAX {
        return false;
    }
    match terms.kind(term).clone() {
        TermKind::Or(members) => members.iter().all(|&member| {
            terms.excludes_syntactically(member, chosen) || covers(terms, member, other, chosen, depth + 1)
        }),
        TermKind::And(members) => {
            members.iter().any(|&member| covers(terms, member, other, chosen, depth + 1))
        }
        _ => false,
    }
}
