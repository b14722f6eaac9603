//! Words that count (`relation::counting`): what is read of them and what they hold in the end, as sums.
//!
//! Of words that are set back (`relation::counting::resets`), what has been found out of their order.
//!
//! Everything here follows from coherence, the axioms and the values of the updates; without it the solver would find it
//! out order by order.

use super::{EncodeError, Encoder, value};
use crate::cnf::{Direction, Literal};
use crate::event::{EventId, LocationId};
use crate::relation::counting::Counter;
use fencepost_dsl::cat::memory_model::BaseRelation;

impl Encoder<'_> {
    /// What has happened if a sum was read, and which sum is read.
    pub(super) fn counted(&mut self) -> Result<(), EncodeError> {
        let basis = &self.problem.table.basis;
        let counted = &basis.counted;
        let is_ordered = !counted.before.is_empty() || !counted.after_one.is_empty();
        if !is_ordered && !basis.counted_words().any(|_| true) {
            return Ok(());
        }
        self.formula.comment("counting".to_owned());
        for &(reader, update) in &counted.follows {
            let (read, happens) = (self.executed[reader], self.executed[update]);
            self.formula.imply(read, happens);
        }
        for &[if_happens, first, second] in &counted.before {
            let before = self.base_edge(BaseRelation::Coherence, first, second)?;
            self.formula.imply(self.executed[if_happens], before);
        }
        for (update, resets) in &counted.after_one {
            let mut clause = vec![!self.executed[*update]];
            for &reset in resets {
                clause.push(self.base_edge(BaseRelation::Coherence, reset, *update)?);
            }
            self.formula.clause(&clause);
        }
        for counter in basis.counted_words() {
            let Some(step) = step(counter) else { continue };
            for reader in counter.readers() {
                self.sum_read(counter, step, reader)?;
                self.check_limits()?;
            }
        }
        Ok(())
    }

    /// A read returns what the updates that it has in it add up to, where all of them add the same.
    fn sum_read(&mut self, counter: &Counter, step: u128, reader: EventId) -> Result<(), EncodeError> {
        let (mut certain, mut open) = (0, Vec::new());
        for (update, amount) in counter.updates().filter(|&(_, amount)| amount > 0) {
            assert_eq!(amount, step);
            match self.counted_edge(update, reader)? {
                Literal::FALSE => {}
                seen if seen == self.executed[reader] || seen == Literal::TRUE => certain += 1,
                seen => open.push(seen),
            }
        }
        let Some(access) = self.problem.graph.events[reader].kind.access() else { return Ok(()) };
        let bits = self.bits(access.value);
        let happens = self.executed[reader];
        let unary = self.unary(&open);
        for n in 0..=unary.len() {
            let sum = counter.start() + step * (certain + n as u128);
            // At least n, and not one more.
            let least = n.checked_sub(1).map_or(Literal::TRUE, |at| unary[at]);
            let more = unary.get(n).copied().unwrap_or(Literal::FALSE);
            for (at, &bit) in bits.iter().enumerate() {
                let bit = if sum >> at & 1 == 1 { bit } else { !bit };
                self.formula.clause(&[!happens, !least, more, bit]);
            }
        }
        Ok(())
    }

    /// How many of some literals are true: the n-th is true if more than n are.
    fn unary(&mut self, literals: &[Literal]) -> Vec<Literal> {
        if literals.len() < 2 {
            return literals.to_vec();
        }
        let (a, b) = literals.split_at(literals.len() / 2);
        let (a, b) = (self.unary(a), self.unary(b));
        let sum: Vec<Literal> = literals.iter().map(|_| self.formula.fresh()).collect();
        let at = |list: &[Literal], n: usize| {
            n.checked_sub(1).map_or(Literal::TRUE, |at| list.get(at).copied().unwrap_or(Literal::FALSE))
        };
        for i in 0..=a.len() {
            for j in 0..=b.len() {
                self.formula.clause(&[!at(&a, i), !at(&b, j), at(&sum, i + j)]);
                self.formula.clause(&[at(&a, i + 1), at(&b, j + 1), !at(&sum, i + j + 1)]);
            }
        }
        sum
    }

    /// Whether a read of a word that counts has an update in what it reads: then it is not before it, since all writes of the
    /// word are in one order.
    pub(super) fn counted_edge(&mut self, update: EventId, reader: EventId) -> Result<Literal, EncodeError> {
        if let Some(&write) = self.problem.table.basis.counted.writes.get(&reader) {
            return self.base_edge(BaseRelation::Coherence, update, write);
        }
        let before = self.base_edge(BaseRelation::FromReads, reader, update)?;
        let both = self.both_executed(update, reader);
        Ok(self.formula.and(Direction::Both, &[both, !before]))
    }

    /// The literals of what a word that counts holds in the end; `None` for other cells.
    pub(super) fn final_sum(
        &mut self,
        location: LocationId,
        offset_bytes: u32,
        width: usize,
    ) -> Option<Vec<Literal>> {
        let counter = self.problem.table.basis.counted_words().find(|counter| {
            let init = self.problem.graph.events[counter.init()].kind.access();
            init.is_some_and(|init| {
                init.location == location
                    && self.terms.constant_value(init.offset) == Some(u128::from(offset_bytes))
            })
        })?;
        let bits = |value: u128| -> Vec<Literal> {
            (0..width).map(|bit| Literal::constant(value >> bit & 1 == 1)).collect()
        };
        let mut sum = bits(counter.start());
        for (update, amount) in counter.updates() {
            let happens = self.executed[update];
            let added = bits(amount);
            let added: Vec<Literal> =
                added.iter().map(|&bit| self.formula.and(Direction::Both, &[bit, happens])).collect();
            sum = value::add(&mut self.formula, &sum, &added, Literal::FALSE).0;
        }
        Some(sum)
    }
}

/// What each of a word's updates adds that adds anything, if that is the same.
fn step(counter: &Counter) -> Option<u128> {
    let mut amounts = counter.updates().map(|(_, amount)| amount).filter(|&amount| amount > 0);
    let first = amounts.next()?;
    amounts.all(|amount| amount == first).then_some(first)
}
