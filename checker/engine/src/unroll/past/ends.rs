//! Whether a loop ends by its registers, whatever its reads return: a poll of at most N tries does.
//!
//! Its rounds are run one after the other on ranges of values; what is read may be anything. Where no path of a round goes
//! round again, the loop has ended; where a round starts as one before it did, it may go on for ever.

use super::super::State;
use super::super::Unroller;
use super::super::expression::Frame;
use super::super::live::registers_of;
use super::super::loops::Shape;
use crate::event::term::mask;
use crate::work::{self, Work};
use fencepost_dsl::kernel::program::{
    BinaryOp, Expression, ExpressionKind, LoopId, RegisterId, Statement, StatementKind, UnaryOp, Width,
};
use fencepost_dsl::sorted::{SortedMap, SortedSet};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Rounds after which a loop counts as one that may go on for ever.
const ROUNDS_MAX: u32 = 1 << 16;

/// How far apart the values are that a register may have, where the loop does not set it and may count up to it.
const BOUND_MAX: u128 = 64;

type Range = (u128, u128);
/// What registers may be; one that is absent may be anything.
type Ranges = SortedMap<RegisterId, Range>;

/// What is known of loops.
#[derive(Default)]
pub struct Memo {
    /// Whether one ends, with the same registers at its head.
    known: FxHashMap<(LoopId, Vec<(RegisterId, Range)>), bool>,
    loops: FxHashMap<LoopId, Arc<Registers>>,
}

/// The registers of a loop.
struct Registers {
    /// Those that it sets.
    assigned: SortedSet<RegisterId>,
    /// Those on which it depends where a round goes. Others may change for ever, as the time that a poll sleeps does.
    relevant: SortedSet<RegisterId>,
}

impl Registers {
    fn of(shape: &Shape<'_>) -> Self {
        let mut assigned = SortedSet::new();
        note_assigned(shape.prelude, &mut assigned);
        note_assigned(shape.body, &mut assigned);
        Self { assigned, relevant: relevant(shape) }
    }
}

pub fn ends(unroller: &mut Unroller<'_>, state: &State, frame: &Frame<'_>, shape: &Shape<'_>) -> bool {
    let own = unroller.ending.loops.entry(shape.id).or_insert_with(|| Arc::new(Registers::of(shape))).clone();
    let Registers { assigned, relevant } = &*own;
    if !assigned.iter().any(|&register| unroller.is_carried(shape, register)) {
        return false;
    }
    let mut ranges = Ranges::new();
    for register in frame.registers.ids() {
        if let Some(value) = state.env.get(register)
            && relevant.contains(&register)
            && unroller.is_carried(shape, register)
        {
            let (min, max) = unroller.graph.terms.range(value);
            // A count that ends at a small bound ends at any: a bound that was read, or is a parameter, is taken for a small one.
            let is_bound = !assigned.contains(&register) && max - min > BOUND_MAX;
            let bound = min + BOUND_MAX;
            ranges.insert(register, if is_bound { (bound, bound) } else { (min, max) });
        }
    }
    let key = (shape.id, ranges.iter().map(|(&register, &range)| (register, range)).collect::<Vec<_>>());
    if let Some(&known) = unroller.ending.known.get(&key) {
        return known;
    }
    let mut rounds = Rounds { unroller, relevant, uses_place: false };
    let ended = rounds.run_out(ranges, shape);
    if !rounds.uses_place {
        unroller.ending.known.insert(key, ended);
    }
    ended
}

struct Rounds<'a, 'u> {
    unroller: &'a Unroller<'u>,
    relevant: &'a SortedSet<RegisterId>,
    /// Whether it depends on which thread it is.
    uses_place: bool,
}

impl Rounds<'_, '_> {
    fn run_out(&mut self, mut ranges: Ranges, shape: &Shape<'_>) -> bool {
        // The state after as many rounds as the last power of two.
        let mut earlier = ranges.clone();
        for round in 1..=ROUNDS_MAX {
            work::count(Work::Statement, 1 + shape.body.len() / 4);
            let mut state = Some(ranges);
            if shape.tests_last {
                self.statements(&mut state, &shape.body[shape.turn..]);
                self.statements(&mut state, &shape.body[..shape.turn]);
            }
            self.statements(&mut state, shape.prelude);
            if let Some(ranges) = &state
                && !self.may(ranges, shape.condition, shape.stays_if)
            {
                state = None;
            }
            if !shape.tests_last {
                self.statements(&mut state, shape.body);
            }
            let Some(mut after) = state else { return true };
            after.retain(|&register, _| self.unroller.is_carried(shape, register));
            if after == earlier {
                return false;
            }
            if round.is_power_of_two() {
                earlier.clone_from(&after);
            }
            ranges = after;
        }
        false
    }

    fn statements(&mut self, state: &mut Option<Ranges>, statements: &[Statement]) {
        for statement in statements {
            if let Some(ranges) = state.take() {
                *state = self.statement(ranges, statement);
            }
        }
    }

    /// What registers may be behind a statement; `None` if nothing comes to what is behind it.
    fn statement(&mut self, mut ranges: Ranges, statement: &Statement) -> Option<Ranges> {
        match &statement.kind {
            StatementKind::Assign { register, .. } if !self.relevant.contains(register) => Some(ranges),
            StatementKind::Assign { register, value } => {
                let range = self.range(&ranges, value);
                ranges.insert(*register, range);
                Some(ranges)
            }
            StatementKind::If { condition, then, otherwise } => {
                let mut taken = self.may(&ranges, condition, true).then(|| ranges.clone());
                let mut other = self.may(&ranges, condition, false).then_some(ranges);
                self.statements(&mut taken, then);
                self.statements(&mut other, otherwise);
                match (taken, other) {
                    (Some(a), Some(b)) => Some(joined(&a, &b)),
                    (one, other) => one.or(other),
                }
            }
            StatementKind::Assume(condition) => self.may(&ranges, condition, true).then_some(ranges),
            StatementKind::Break | StatementKind::Exit | StatementKind::Unsupported(_) => None,
            StatementKind::Instruction(instruction) => {
                for register in instruction.results.iter().flatten() {
                    ranges.remove(register);
                }
                Some(ranges)
            }
            StatementKind::Call { result, .. } => {
                if let Some(register) = result {
                    ranges.remove(register);
                }
                Some(ranges)
            }
            // However often it goes round.
            StatementKind::For { .. } | StatementKind::While { .. } | StatementKind::Await { .. } => {
                let mut assigned = SortedSet::new();
                note_assigned(std::slice::from_ref(statement), &mut assigned);
                ranges.retain(|register, _| !assigned.contains(register));
                Some(ranges)
            }
            StatementKind::Assert(_) | StatementKind::Reachable(_) | StatementKind::Host(_) => Some(ranges),
        }
    }

    /// Whether a condition may have a value.
    fn may(&mut self, ranges: &Ranges, condition: &Expression, value: bool) -> bool {
        let (min, max) = self.range(ranges, condition);
        (min..=max).contains(&u128::from(value))
    }

    fn range(&mut self, ranges: &Ranges, expression: &Expression) -> Range {
        let all = (0, mask(expression.width));
        match &expression.kind {
            ExpressionKind::Constant(value) => (*value, *value),
            ExpressionKind::Register(register) => ranges.get(register).copied().unwrap_or(all),
            ExpressionKind::Coordinate(coordinate) => {
                self.uses_place = true;
                let unroller = self.unroller;
                let value = u128::from(unroller.graph.hierarchy.coordinate(unroller.agent, *coordinate));
                (value, value)
            }
            ExpressionKind::Unary(op, operand) => match self.range(ranges, operand) {
                (min, max) if min == max => {
                    let value = match op {
                        UnaryOp::Not => !min,
                        UnaryOp::Negate => min.wrapping_neg(),
                    };
                    (value & all.1, value & all.1)
                }
                _ => all,
            },
            ExpressionKind::Convert(operand) => {
                let range = self.range(ranges, operand);
                if range.1 <= all.1 { range } else { all }
            }
            ExpressionKind::Binary(op, left, right) => {
                let (left, right) = (self.range(ranges, left), self.range(ranges, right));
                binary(*op, left, right, expression.width)
            }
            ExpressionKind::Select(condition, then, otherwise) => {
                let arms = [(true, then), (false, otherwise)];
                let mut found: Option<Range> = None;
                for (value, arm) in arms {
                    if self.may(ranges, condition, value) {
                        let arm = self.range(ranges, arm);
                        found = Some(found.map_or(arm, |other| hull(other, arm)));
                    }
                }
                found.unwrap_or(all)
            }
            ExpressionKind::Uncomputed { .. }
            | ExpressionKind::FinalValue(_)
            | ExpressionKind::FinalRegister(..) => all,
        }
    }
}

fn hull(a: Range, b: Range) -> Range {
    (a.0.min(b.0), a.1.max(b.1))
}

fn joined(a: &Ranges, b: &Ranges) -> Ranges {
    a.iter().filter_map(|(register, &range)| Some((*register, hull(range, *b.get(register)?)))).collect()
}

/// The range of what an operator makes of two ranges.
fn binary(op: BinaryOp, (a, a_max): Range, (b, b_max): Range, width: Width) -> Range {
    let all = (0, mask(width));
    let is_known = a == a_max && b == b_max;
    let truth = |surely: bool, surely_not: bool| (u128::from(surely), u128::from(!surely_not));
    match op {
        BinaryOp::Equal => truth(is_known && a == b, a_max < b || b_max < a),
        BinaryOp::NotEqual => truth(a_max < b || b_max < a, is_known && a == b),
        BinaryOp::Less => truth(a_max < b, a >= b_max),
        BinaryOp::GreaterEqual => truth(a >= b_max, a_max < b),
        BinaryOp::LessEqual => truth(a_max <= b, a > b_max),
        BinaryOp::Greater => truth(a > b_max, a_max <= b),
        BinaryOp::And if width == 1 => (a & b, a_max & b_max),
        BinaryOp::Or if width == 1 => (a | b, a_max | b_max),
        BinaryOp::Add => match a_max.checked_add(b_max) {
            Some(max) if max <= all.1 => (a + b, max),
            _ if is_known => known(a.wrapping_add(b), width),
            _ => all,
        },
        BinaryOp::Subtract if a >= b_max => (a - b_max, a_max - b),
        BinaryOp::Subtract if is_known => known(a.wrapping_sub(b), width),
        BinaryOp::Remainder if !is_known && b == b_max && b > 0 => (0, a_max.min(b - 1)),
        BinaryOp::And if !is_known => (0, a_max.min(b_max)),
        _ if !is_known => all,
        BinaryOp::Multiply => known(a.wrapping_mul(b), width),
        BinaryOp::Divide => known(a.checked_div(b).unwrap_or(u128::MAX), width),
        BinaryOp::Remainder => known(a.checked_rem(b).unwrap_or(a), width),
        BinaryOp::And => known(a & b, width),
        BinaryOp::Or => known(a | b, width),
        BinaryOp::Xor => known(a ^ b, width),
        BinaryOp::ShiftLeft => known(shift(a, b, width, u128::checked_shl), width),
        BinaryOp::ShiftRight => known(shift(a, b, width, u128::checked_shr), width),
        BinaryOp::Subtract => all,
    }
}

fn known(value: u128, width: Width) -> Range {
    (value & mask(width), value & mask(width))
}

fn shift(a: u128, by: u128, width: Width, shifted: fn(u128, u32) -> Option<u128>) -> u128 {
    match u32::try_from(by) {
        Ok(by) if by < u32::from(width) => shifted(a, by).unwrap_or(0),
        _ => 0,
    }
}

/// The registers of which conditions are made, and those of which these are.
fn relevant(shape: &Shape<'_>) -> SortedSet<RegisterId> {
    let mut found = registers_of(shape.condition);
    let mut assigned: Vec<(RegisterId, SortedSet<RegisterId>)> = Vec::new();
    for statements in [shape.prelude, shape.body] {
        note_conditions(statements, &mut found, &mut assigned);
    }
    loop {
        let n_before = found.len();
        for (register, of) in &assigned {
            if found.contains(register) {
                found.extend(of.iter().copied());
            }
        }
        if found.len() == n_before {
            return found;
        }
    }
}

/// The registers of conditions, and what each register that is set there is made of. Loops in it are not run, so that nothing
/// is known behind them of what they set.
fn note_conditions(
    statements: &[Statement],
    conditions: &mut SortedSet<RegisterId>,
    assigned: &mut Vec<(RegisterId, SortedSet<RegisterId>)>,
) {
    for statement in statements {
        match &statement.kind {
            StatementKind::Assign { register, value } => assigned.push((*register, registers_of(value))),
            StatementKind::If { condition, then, otherwise } => {
                conditions.extend(registers_of(condition).iter().copied());
                note_conditions(then, conditions, assigned);
                note_conditions(otherwise, conditions, assigned);
            }
            StatementKind::Assume(condition) => conditions.extend(registers_of(condition).iter().copied()),
            _ => {}
        }
    }
}

/// The registers that statements may set.
fn note_assigned(statements: &[Statement], assigned: &mut SortedSet<RegisterId>) {
    for statement in statements {
        match &statement.kind {
            StatementKind::Assign { register, .. } => {
                assigned.insert(*register);
            }
            StatementKind::Instruction(instruction) => assigned.extend(instruction.results.iter().flatten()),
            StatementKind::Call { result, .. } => assigned.extend(*result),
            StatementKind::If { then, otherwise, .. } => {
                note_assigned(then, assigned);
                note_assigned(otherwise, assigned);
            }
            StatementKind::For { register, body, .. } => {
                assigned.insert(*register);
                note_assigned(body, assigned);
            }
            StatementKind::While { prelude, body, .. } => {
                note_assigned(prelude, assigned);
                note_assigned(body, assigned);
            }
            StatementKind::Await { prelude, .. } => note_assigned(prelude, assigned),
            StatementKind::Assert(_)
            | StatementKind::Assume(_)
            | StatementKind::Reachable(_)
            | StatementKind::Host(_)
            | StatementKind::Unsupported(_)
            | StatementKind::Break
            | StatementKind::Exit => {}
        }
    }
}
