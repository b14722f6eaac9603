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
        let is_spin = self.is_spin(shape.prelude, shape.condition, shape.body);
        let blocks = is_spin || self.may_never_pass(shape.prelude) || self.may_never_pass(shape.body);
        let around_recent = std::mem::take(&mut self.recent);
        let decisive = source::registers_read(&[shape.prelude, shape.body], Some(shape.condition));
        // The heads since the last trace, with the position of what came next.
        let mut heads: Vec<(Values, usize)> = Vec::new();
        let mut n_rounds = 0;
        loop {
            let (before, start) = (self.values(&outside), self.events.len());
            self.recent.clear();
            heads.push((before.clone(), start));
            let result = self.round(shape);
            if matches!(result, Ok(false) | Err(Stop::Break | Stop::Exit)) {
                let left_by = self.recent.clone();
                self.leave_by(&left_by, blocks);
                for &read in left_by.iter().filter(|&&read| is_spin && read >= first) {
                    self.events[read].unblocks = true;
                }
                for event in &mut self.events[start..] {
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
            let only = |values: &Values, registers: &BTreeSet<usize>| -> Values {
                let read = values.iter().filter(|(register, _)| registers.contains(register));
                read.map(|(&register, &value)| (register, value)).collect()
            };
            let counts = |values: &Values| only(values, &decisive);
            let read_in = self.read_in.clone();
            let matter = |values: &Values| only(values, &read_in);
            let came_back = heads.iter().find(|(values, _)| counts(values) == counts(&after));
            match (effect, came_back.map(|&(_, first)| first)) {
                (Effect::None, Some(first)) => {
                    // What is read of a register behind the loop only may be another each time: such rounds are not alike.
                    let alike =
                        heads.iter().any(|(values, at)| *at == first && matter(values) == matter(&after));
                    let may_go_on = !alike || self.kept.is_none_or(|kept| kept >= first);
                    let goes_on = may_go_on && self.choose(2)? == 1;
                    if !goes_on {
                        return Err(self.repeat(first, start));
                    }
                    if alike {
                        self.kept = Some(first);
                        heads.clear();
                        continue;
                    }
                }
                (Effect::Writes, Some(first)) if first == start && self.choose(2)? == 0 => {
                    return Err(self.repeat(start, start));
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
        let left_by = std::mem::replace(&mut self.recent, around_recent);
        if blocks {
            self.recent.extend(left_by);
        }
        // what comes after the loop does not depend on what led out of it.
        self.branches.truncate(n_branches);
        Ok(())
    }

    /// One round of a loop, and whether another one follows.
    fn round(&mut self, shape: &Shape<'_>) -> Result<bool, Stop> {
        self.statements(shape.prelude)?;
        let condition = evaluate(shape.condition, &self.registers, self.thread);
        self.deciding.extend(&condition.reads);
        self.recent.extend(&condition.reads);
        if (condition.value == 1) != shape.stays_if {
            let before = self.registers.clone();
            self.choose_registers([&[], shape.body], &before, &condition.reads);
            return Ok(false);
        }
        if !condition.reads.is_empty() {
            self.branches.push(Branch { reads: condition.reads.clone(), elsewhere: Vec::new() });
        }
        let before = self.registers.clone();
        let result = self.statements(shape.body);
        self.choose_registers([shape.body, &[]], &before, &condition.reads);
        result?;
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

    /// The run ends here: what it did from `first` on is what it would go on to do. `start` is where its last round began.
    fn repeat(&mut self, first: usize, start: usize) -> Stop {
        let rounds = &mut self.events[first..];
        rounds.iter_mut().for_each(|event: &mut Event| event.is_repeated = true);
        let is_still = first == start || rounds.iter().all(|event| !event.is_read() || event.strong);
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
        let blocks = self.may_never_pass(body);
        let around_recent = std::mem::take(&mut self.recent);
        let n_branches = self.branches.len();
        for (n_rounds, value) in (start.value..end.value).enumerate() {
            if n_rounds > 2 * self.rounds_max {
                return Err(Stop::Blocked(End::Cut));
            }
            self.registers.insert(register.index(), Datum { value, reads: reads.clone() });
            self.recent.clear();
            let result = self.statements(body);
            self.registers.retain(|register, _| outside.contains(register));
            match result {
                Ok(()) => self.recent.clear(),
                Err(Stop::Break) => break,
                Err(stop) => return Err(stop),
            }
        }
        let mut left_by = std::mem::replace(&mut self.recent, around_recent);
        if blocks {
            left_by.extend(&reads);
            self.depend_on(&left_by);
            self.recent.extend(left_by);
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
                source::registers_read(&[&function.body], function.result.as_ref()),
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
