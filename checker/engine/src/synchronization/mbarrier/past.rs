//! What a thread has surely passed on its way to a place, by the guard of the place.
//!
//! Paths that are joined leave a disjunction in the guard of what comes behind: a wait that was looked for and then waited
//! for has passed on either of two paths. Of the members one holds, so what is known under each of them is known.
//!
//! Sound: members are taken to hold one after the other, each where those before it fail.
//!
//! Needs: nothing. It is about guards alone.
//! Cannot: see what disjunctions have in common, or look into more than so many cases.

use crate::event::{TermKind, TermPool, TermRef};
use fencepost_dsl::sorted::SortedSet;

/// Cases that are looked into, those inside others included.
const CASES_MAX: usize = 256;

/// Points of a thread, by index, that were passed on the way to a place.
#[derive(Default)]
pub struct Past {
    /// Surely.
    pub surely: Vec<usize>,
    /// Per disjunction, and per member of it: those passed besides if that member holds.
    pub either: Vec<Vec<Self>>,
}

impl Past {
    /// Of a place with a guard, from the earlier points of its thread and their guards.
    pub fn new(terms: &TermPool, guard: TermRef, earlier: &[(usize, TermRef)]) -> Self {
        let mut facts = Facts::default();
        let disjunctions = facts.assume(terms, guard);
        let mut cases_left = CASES_MAX;
        Self::under(terms, &facts, &disjunctions, earlier, &mut cases_left)
    }

    fn under(
        terms: &TermPool,
        facts: &Facts,
        disjunctions: &[TermRef],
        earlier: &[(usize, TermRef)],
        cases_left: &mut usize,
    ) -> Self {
        let (surely, left): (Vec<_>, Vec<_>) =
            earlier.iter().copied().partition(|&(_, guard)| facts.imply(terms, guard));
        let mut past =
            Self { surely: surely.into_iter().map(|(point, _)| point).collect(), either: Vec::new() };
        if left.is_empty() {
            return past;
        }
        for &disjunction in disjunctions {
            let cases = cases(terms, disjunction);
            if cases.len() > *cases_left {
                break;
            }
            *cases_left -= cases.len();
            let mut ways = Vec::new();
            for case in &cases {
                let mut facts = facts.clone();
                facts.fail.extend(&case.fail);
                let inner: Vec<TermRef> =
                    case.hold.iter().flat_map(|&term| facts.assume(terms, term)).collect();
                let way = Self::under(terms, &facts, &inner, &left, cases_left);
                if way.is_empty() {
                    break;
                }
                ways.push(way);
            }
            // Where one way passes nothing, nothing is common to all.
            if ways.len() == cases.len() {
                past.either.push(ways);
            }
        }
        past
    }

    fn is_empty(&self) -> bool {
        self.surely.is_empty() && self.either.is_empty()
    }
}

/// The cases of a disjunction or choice, of which one is so.
fn cases(terms: &TermPool, term: TermRef) -> Vec<Facts> {
    let facts = |hold: &[TermRef], fail: &[TermRef]| Facts {
        hold: hold.iter().copied().collect(),
        fail: fail.iter().copied().collect(),
    };
    match terms.kind(term) {
        TermKind::Or(members) => {
            members.iter().enumerate().map(|(at, &member)| facts(&[member], &members[..at])).collect()
        }
        &TermKind::IfThenElse(condition, then, otherwise) => {
            vec![facts(&[condition, then], &[]), facts(&[otherwise], &[condition])]
        }
        // One, of which nothing more is known.
        _ => vec![Facts::default()],
    }
}

/// Terms known to be 1 and to be 0.
#[derive(Clone, Default)]
struct Facts {
    hold: SortedSet<TermRef>,
    fail: SortedSet<TermRef>,
}

impl Facts {
    /// Takes a term to hold; the disjunctions and choices that it consists of.
    fn assume(&mut self, terms: &TermPool, term: TermRef) -> Vec<TermRef> {
        let conjuncts = terms.conjuncts(term);
        self.hold.extend(conjuncts);
        let has_cases = |kind: &TermKind| matches!(kind, TermKind::Or(_) | TermKind::IfThenElse(..));
        conjuncts.iter().copied().filter(|&conjunct| has_cases(terms.kind(conjunct))).collect()
    }

    fn imply(&self, terms: &TermPool, term: TermRef) -> bool {
        terms.conjuncts(term).iter().all(|&conjunct| {
            self.hold.contains(&conjunct)
                || match terms.kind(conjunct) {
                    TermKind::Not(inner) => self.fail.contains(inner),
                    _ => false,
                }
        })
    }
}
