//! What is asked once all threads have run: claims about final memory, and conditions of litmus tests.

use super::env::Env;
use super::expression::Frame;
use super::{State, UnrollError, Unroller};
use crate::event::{AgentId, ConditionGoal, FinalGoal, TermPool};
use fencepost_dsl::kernel::program::{AddressBase, Expression, ExpressionKind};

/// The registers and locations that a condition looks at, in order of the text.
fn final_operands(expression: &Expression) -> Vec<&Expression> {
    match &expression.kind {
        ExpressionKind::FinalRegister(..) | ExpressionKind::FinalValue(_) => vec![expression],
        ExpressionKind::Unary(_, operand) | ExpressionKind::Convert(operand) => final_operands(operand),
        ExpressionKind::Binary(_, left, right) => {
            [left, right].into_iter().flat_map(|operand| final_operands(operand)).collect()
        }
        ExpressionKind::Select(condition, then, otherwise) => {
            [condition, then, otherwise].into_iter().flat_map(|operand| final_operands(operand)).collect()
        }
        ExpressionKind::Uncomputed { of, .. } => of.iter().flat_map(final_operands).collect(),
        ExpressionKind::Constant(_) | ExpressionKind::Register(_) | ExpressionKind::Coordinate(_) => {
            Vec::new()
        }
    }
}

impl Unroller<'_> {
    /// What a litmus test asks of the values in the end.
    pub(super) fn evaluate_condition(&mut self, parameters: &Env) -> Result<(), UnrollError> {
        let Some(goal) = &self.kernel.condition else { return Ok(()) };
        let frame = Frame::of_kernel(self.kernel);
        let state = State { live: TermPool::TRUE, env: parameters.clone() };
        let condition = self.evaluate(&state, &frame, &goal.condition)?;
        let filter = match &goal.filter {
            Some(filter) => self.evaluate(&state, &frame, filter)?,
            None => TermPool::TRUE,
        };
        let mut values = Vec::new();
        for operand in
            [Some(&goal.condition), goal.filter.as_ref()].into_iter().flatten().flat_map(final_operands)
        {
            let name = match &operand.kind {
                ExpressionKind::FinalRegister(_, register) => self.kernel.registers[*register].name.clone(),
                ExpressionKind::FinalValue(address) => match address.base {
                    AddressBase::Object(object) => self.kernel.objects[object].name.clone(),
                    AddressBase::Reference(_) | AddressBase::Flat { .. } => continue,
                },
                _ => continue,
            };
            if values.iter().all(|(known, _)| *known != name) {
                let value = self.evaluate(&state, &frame, operand)?;
                values.push((name, value));
            }
        }
        let quantifier = goal.quantifier;
        self.graph.condition = Some(ConditionGoal { span: goal.span, quantifier, condition, filter, values });
        Ok(())
    }

    /// What is claimed of memory in the end.
    pub(super) fn evaluate_finals(&mut self, parameters: &Env) -> Result<(), UnrollError> {
        self.agent = AgentId(0);
        let frame = Frame::of_kernel(self.kernel);
        let state = State { live: TermPool::TRUE, env: parameters.clone() };
        for goal in &self.kernel.finals {
            let condition = self.evaluate(&state, &frame, &goal.condition)?;
            self.graph.finals.push(FinalGoal { span: goal.span, kind: goal.kind, condition });
        }
        self.check_registers(self.kernel.span)
    }
}
