//! How the twin's threads go round loops, and which runs are enough.
//!
//! A round that comes back to the loop's head with the registers as they were and without a trace in memory may be taken
//! out of an execution, and what is left is an execution with the same final states, in which nothing is ordered that was
//! not. So of such rounds a run needs one at most: the one that has an access that races, or an assertion that fails. It
//! may contain one of a nested loop. The same holds of several rounds that come back to where they started together.
//! Where the thread goes round for ever, the round at the end of its run stands for all of them.

use super::{Branch, Control, End, Interpreter, Stop};
use crate::event::{Event, Kind};
use crate::expression::{Datum, Registers, evaluate};
use crate::source;
use fencepost_dsl::index::Id;
use fencepost_dsl::kernel::program::{Address, Expression, FunctionId, RegisterId, Statement};
use std::collections::{BTreeMap, BTreeSet};

/// A `while`, `loop` or `await`.
pub(super) struct Shape<'s> {
    pub prelude: &'s [Statement],
    pub condition: &'s Expression,
    /// The value of the condition on which the loop goes on.
    pub stays_if: bool,
    pub body: &'s [Statement],
}

/// What rounds did to the world.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Effect {
    /// Nothing that anybody can tell by values.
    None,
    /// It has written, perhaps what was there already.
    Writes,
    /// It has arrived somewhere, or got through a barrier, or started something.
    Others,
}

/// Values of registers from outside of a loop.
type Values = BTreeMap<usize, u64>;

impl Interpreter<'_> {
    pub(super) fn go_round(&mut self, shape: &Shape<'_>) -> Result<(), Stop> {
        assert!(self.control == Control::Obeyed, "values next to loops are found from the text");
        let outside: BTreeSet<usize> = self.registers.keys().copied().collect();
        let around = std::mem::replace(&mut self.may_block_later, true);
        let (n_branches, first) = (self.branches.len(), self.events.len());
        // The heads since the last trace, with the position of what came next.
        let mut heads: Vec<(Values, usize)> = Vec::new();
        let mut n_rounds = 0;
        loop {
            let (before, start) = (self.values(&outside), self.events.len());
            heads.push((before.clone(), start));
            let result = self.round(shape, first);
            if matches!(result, Ok(false) | Err(Stop::Break | Stop::Exit)) {
                for event in &mut self.events[start..] {
                    event.leaves |= event.is_read();
                    // A wait counts as passed: what its own try read decides about none of its writes.
                    if shape.body.is_empty() {
                        event.decided.retain(|&read| read < start);
                    }
                }
            }
            match result {
                Ok(true) => {}
                Ok(false) | Err(Stop::Break) => break,
                Err(stop) => return Err(stop),
            }
            self.registers.retain(|register, _| outside.contains(register));
            let after = self.values(&outside);
            let effect = self.effect(start);
            let counts = |values: &Values| -> Values {
                let read = values.iter().filter(|(register, _)| self.read_in.contains(register));
                read.map(|(&register, &value)| (register, value)).collect()
            };
            let came_back = heads.iter().find(|(values, _)| counts(values) == counts(&after));
            match (effect, came_back.map(|&(_, first)| first)) {
                (Effect::None, Some(first)) => {
                    let is_still = first == start && before == after;
                    let goes_on = self.kept.is_none_or(|kept| kept >= first) && self.choose(2)? == 1;
                    if !goes_on {
                        return Err(self.repeat(first, is_still));
                    }
                    self.kept = Some(first);
                    heads.clear();
                    continue;
                }
                (Effect::Writes, Some(first)) if first == start && self.choose(2)? == 0 => {
                    return Err(self.repeat(start, before == after));
                }
                (Effect::None, _) => {}
                (Effect::Writes | Effect::Others, _) => heads.clear(),
            }
            n_rounds += 1;
            if n_rounds > self.rounds_max {
                return Err(Stop::Blocked(End::Cut));
            }
        }
        self.registers.retain(|register, _| outside.contains(register));
        self.may_block_later = around;
        // what comes after the loop does not depend on what led out of it.
        self.branches.truncate(n_branches);
        Ok(())
    }

    /// One round of a loop that began with event `first`, and whether another one follows.
    fn round(&mut self, shape: &Shape<'_>, first: usize) -> Result<bool, Stop> {
        self.statements(shape.prelude)?;
        let condition = evaluate(shape.condition, &self.registers, self.thread);
        self.deciding.extend(&condition.reads);
        if (condition.value == 1) != shape.stays_if {
            // The round before may have read what this test looks at.
            for &read in condition.reads.iter().filter(|&&read| read >= first) {
                self.events[read].leaves = true;
            }
            return Ok(false);
        }
        if !condition.reads.is_empty() {
            self.branches.push(Branch { reads: condition.reads, elsewhere: Vec::new() });
        }
        self.statements(shape.body)?;
        Ok(true)
    }

    fn values(&self, outside: &BTreeSet<usize>) -> Values {
        let own = self.registers.iter().filter(|(register, _)| outside.contains(register));
        own.map(|(&register, datum)| (register, datum.value)).collect()
    }

    fn effect(&self, start: usize) -> Effect {
        let mut effect = Effect::None;
        for (position, event) in self.events.iter().enumerate().skip(start) {
            match event.kind {
                Kind::Read | Kind::Fence { .. } | Kind::ProxyFence(_) => {}
                Kind::Mbarrier(operation) if operation.action.passes() || operation.action.fails() => {}
                // An exchange of 1 over 1.
                Kind::Write if event.of_atomic && self.events[position - 1].values == event.values => {}
                Kind::Write if event.operation.is_none() => effect = Effect::Writes,
                _ => return Effect::Others,
            }
        }
        effect
    }

    /// The run ends here: what it did from `first` on is what it would go on to do.
    fn repeat(&mut self, first: usize, is_still: bool) -> Stop {
        self.events[first..].iter_mut().for_each(|event: &mut Event| event.is_repeated = true);
        Stop::Blocked(End::Round { is_still })
    }

    pub(super) fn count_rounds(
        &mut self,
        register: RegisterId,
        (start, end): (&Expression, &Expression),
        body: &[Statement],
    ) -> Result<(), Stop> {
        assert!(self.control == Control::Obeyed, "values next to loops are found from the text");
        let outside: BTreeSet<usize> = self.registers.keys().copied().collect();
        let start = evaluate(start, &self.registers, self.thread);
        let end = evaluate(end, &self.registers, self.thread);
        let reads: BTreeSet<usize> = start.reads.union(&end.reads).copied().collect();
        let around = self.may_block_later;
        let n_branches = self.branches.len();
        for (n_rounds, value) in (start.value..end.value).enumerate() {
            if n_rounds > 2 * self.rounds_max {
                return Err(Stop::Blocked(End::Cut));
            }
            self.registers.insert(register.index(), Datum { value, reads: reads.clone() });
            let result = self.statements(body);
            self.registers.retain(|register, _| outside.contains(register));
            match result {
                Ok(()) => {}
                Err(Stop::Break) => break,
                Err(stop) => return Err(stop),
            }
        }
        self.may_block_later = around;
        self.branches.truncate(n_branches);
        Ok(())
    }

    pub(super) fn call(
        &mut self,
        function: FunctionId,
        values: &[Expression],
        references: &[Address],
        result: Option<RegisterId>,
    ) -> Result<(), Stop> {
        let source = self.source;
        let function = &source.functions[function];
        let values = values.iter().map(|value| evaluate(value, &self.registers, self.thread));
        let registers: Registers =
            function.values.iter().map(|register| register.index()).zip(values).collect();
        let references = references.iter().map(|address| self.target(address)).collect();
        let caller = (
            std::mem::replace(&mut self.registers, registers),
            std::mem::replace(&mut self.references, references),
            std::mem::replace(
                &mut self.read_in,
                source::registers_read(&function.body, function.result.as_ref()),
            ),
        );
        self.statements(&function.body)?;
        let value = function.result.as_ref().map(|value| evaluate(value, &self.registers, self.thread));
        (self.registers, self.references, self.read_in) = caller;
        if let (Some(register), Some(value)) = (result, value) {
            self.registers.insert(register.index(), value);
        }
        Ok(())
    }
}
