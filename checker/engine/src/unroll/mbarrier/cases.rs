//! Operands of mbarrier instructions that parameters decide: one case per value.
//!
//! Which object an instruction is on, how often it arrives and how many bytes it counts must be plain numbers to
//! `completion` and `order`. Where they depend on parameters, the path splits, one side per value they can have.
//!
//! Cannot: operands that depend on values read, and more than [`CASES_MAX`] combinations of parameters.

use super::super::{State, UnrollError, Unroller};
use crate::event::{TermKind, TermPool, TermRef, UnknownId};
use fencepost_dsl::sorted::SortedSet;
use fencepost_dsl::{Diagnostic, Span};
use rustc_hash::FxHashMap;

/// Most combinations of values of the unknowns in an operand.
const CASES_MAX: u128 = 64;

impl Unroller<'_> {
    /// The sides of a path on which a term has one value; `what` is the operand, for the message.
    pub(super) fn cases(
        &mut self,
        state: State,
        term: TermRef,
        (code, what, span): (&'static str, &str, Span),
    ) -> Result<Vec<(State, u32)>, UnrollError> {
        let Some(mut values) = possible_values(&self.graph.terms, term) else {
            let message = format!("{what} must not depend on what is read");
            let label = "this depends on values read, or on too many values of parameters";
            return Err(UnrollError::Unsupported(
                Diagnostic::new(code, message, span, label)
                    .with_help("use constants, or parameters with few values (`kernel k(P in 0..=3)`)"),
            ));
        };
        let as_number = |value: u128| u32::try_from(value).unwrap_or(u32::MAX);
        let Some(last) = values.pop_last() else { return Ok(Vec::new()) };
        let mut rest = state;
        let mut sides = Vec::new();
        for value in values {
            let width = self.graph.terms.width(term);
            let constant = self.graph.terms.constant(value, width);
            let here = self.graph.terms.equal(term, constant);
            let (live, others) = self.split(rest.live, here);
            if live != TermPool::FALSE {
                sides.push((State { live, env: rest.env.clone() }, as_number(value)));
            }
            rest.live = others;
        }
        if rest.live != TermPool::FALSE {
            sides.push((rest, as_number(last)));
        }
        Ok(sides)
    }
}

/// All values that a term can have; `None` if they are too many to try.
fn possible_values(terms: &TermPool, term: TermRef) -> Option<SortedSet<u128>> {
    let mut order = Vec::new();
    let mut unknowns: Vec<UnknownId> = Vec::new();
    let mut seen = SortedSet::new();
    let mut stack = vec![(term, false)];
    while let Some((top, is_expanded)) = stack.pop() {
        if is_expanded {
            order.push(top);
        } else if seen.insert(top) {
            if let TermKind::Unknown(unknown) = *terms.kind(top) {
                unknowns.push(unknown);
            }
            stack.push((top, true));
            stack.extend(terms.operands(top).into_iter().map(|operand| (operand, false)));
        }
    }
    let mut n_cases = 1u128;
    for &unknown in &unknowns {
        let description = terms.unknown(unknown);
        let n_values = description.max.checked_sub(description.min)?.checked_add(1)?;
        n_cases = n_cases.checked_mul(n_values)?;
    }
    if n_cases > CASES_MAX {
        return None;
    }
    let mut values = SortedSet::new();
    for case in 0..n_cases {
        let mut rest = case;
        let mut chosen: FxHashMap<UnknownId, u128> = FxHashMap::default();
        for &unknown in &unknowns {
            let description = terms.unknown(unknown);
            let n_values = description.max - description.min + 1;
            chosen.insert(unknown, description.min + rest % n_values);
            rest /= n_values;
        }
        let mut of_term: FxHashMap<TermRef, u128> = FxHashMap::default();
        for &inner in &order {
            let operands: Vec<u128> = terms.operands(inner).iter().map(|operand| of_term[operand]).collect();
            let value = terms.apply(inner, &operands, |unknown| chosen[&unknown]);
            of_term.insert(inner, value);
        }
        values.insert(of_term[&term]);
    }
    Some(values)
}
