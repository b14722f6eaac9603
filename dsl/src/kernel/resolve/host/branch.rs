//! Branches around calls: what constants, loop variables and parameters decide about them.

use super::*;

impl<'a> Host<'_, 'a> {
    /// Remembers what the `let` has named that was resolved last, if it is a value.
    pub(super) fn note_let(&mut self) {
        let Some(Statement { kind: StatementKind::Assign { register, value }, .. }) = self.body.out.last()
        else {
            return;
        };
        let is_let = |(binding, _): &(Binding, Span)| matches!(binding, Binding::Register(own, Mutability::Let) if own == register);
        if self.body.scopes.last().is_some_and(|scope| scope.values().any(is_let)) {
            self.lets.insert(*register, value.clone());
        }
    }

    /// A branch with calls in it. If parameters decide about it, both ways are run to the end of the program.
    pub(super) fn branch(
        &mut self,
        condition: &'a Expr,
        statement: &'a ast::Statement,
        work: &mut Vec<Work<'a>>,
    ) -> Resolved<()> {
        let (prelude, resolved) = self.body.collect(|body| body.resolve_condition(condition));
        let resolved = resolved?;
        let place = condition.place.0;
        if prelude.is_empty() {
            self.take_values_of(&resolved, place)?;
        }
        let mut ways: [Vec<Values>; 2] = [Vec::new(), Vec::new()];
        for values in &self.values {
            let taken = if prelude.is_empty() { self.value(&resolved, values) } else { None };
            let Some(taken) = taken else {
                let message = "whether the host makes these calls is not known before it runs";
                let error = Diagnostic::new(
                    "unsupported::host-branch",
                    message,
                    place,
                    "not of constants, loop variables and parameters only",
                );
                let error = error.with_help(
                    "launches, events and waits may depend on constants, loop variables and parameters: let a \
                     parameter of the program decide, `program p(TAKEN in 0..=1) { if TAKEN == 1 { … } }`",
                );
                return Err(self.body.report(error));
            };
            ways[usize::from(taken == 0)].push(values.clone());
        }
        let [then, otherwise] = ways;
        let arms = blocks(statement);
        let arm = |taken: bool| if taken { arms.first() } else { arms.get(1) }.copied();
        if then.is_empty() || otherwise.is_empty() {
            if let Some(block) = arm(otherwise.is_empty()) {
                self.open(work, block);
            }
            return Ok(());
        }
        let (now, when) = (self.moment(), self.when.clone());
        let outer = std::mem::take(&mut self.body.out);
        let rest = std::mem::take(work);
        let is_taken = self.over_parameters(&resolved);
        let kind = ExpressionKind::Unary(UnaryOp::Not, Box::new(is_taken.clone()));
        let not = Expression { span: place, width: 1, kind };
        let way = |host: &mut Self, values: Vec<Values>, is_so: Expression, taken: bool| {
            host.values = values;
            host.when = Some(match &when {
                Some(before) => {
                    let kind =
                        ExpressionKind::Binary(BinaryOp::And, Box::new(before.clone()), Box::new(is_so));
                    Expression { span: place, width: 1, kind }
                }
                None => is_so,
            });
            let mut work = rest.clone();
            if let Some(block) = arm(taken) {
                host.open(&mut work, block);
            }
            host.run(work);
            std::mem::take(&mut host.body.out)
        };
        let taken = way(self, then, is_taken, true);
        self.go_back(now);
        let not_taken = way(self, otherwise, not, false);
        self.body.out = outer;
        let kind = StatementKind::If { condition: resolved, then: taken, otherwise: not_taken };
        self.body.push(statement.place.0, kind);
        Ok(())
    }

    pub(super) fn moment(&self) -> Moment {
        Moment {
            scopes: self.body.scopes.clone(),
            streams: self.streams.clone(),
            events: self.events.clone(),
            default_stream: self.default_stream.clone(),
            launched: self.launched.clone(),
            lets: self.lets.clone(),
        }
    }

    pub(super) fn go_back(&mut self, to: Moment) {
        self.body.scopes = to.scopes;
        self.streams = to.streams;
        self.events = to.events;
        self.default_stream = to.default_stream;
        self.launched = to.launched;
        self.lets = to.lets;
    }

    /// Tells the values apart of each parameter that an expression depends on.
    pub(super) fn take_values_of(&mut self, expression: &Expression, span: Span) -> Resolved<()> {
        let mut registers = SortedSet::new();
        self.registers_of(expression, &mut registers);
        for parameter in self.parameters {
            let is_known = self.values.iter().any(|values| values.contains_key(&parameter.register));
            if !registers.contains(&parameter.register) || is_known {
                continue;
            }
            let n =
                (parameter.max - parameter.min).saturating_add(1).saturating_mul(self.values.len() as u64);
            if n > MAX_VALUES {
                let message =
                    format!("what the host calls depends on more than {MAX_VALUES} values of parameters");
                let error = Diagnostic::new("limit::host-values", message, span, "too many")
                    .with_label(parameter.span, "one of them");
                return Err(self.body.report(error.with_help("narrow the range of the parameter")));
            }
            let range = parameter.min..=parameter.max;
            let each = self.values.iter().flat_map(|values| {
                range.clone().map(|value| {
                    let mut values = values.clone();
                    values.insert(parameter.register, u128::from(value));
                    values
                })
            });
            self.values = each.collect();
        }
        Ok(())
    }

    pub(super) fn registers_of(&self, expression: &Expression, registers: &mut SortedSet<RegisterId>) {
        match &expression.kind {
            ExpressionKind::Register(register) => {
                if registers.insert(*register)
                    && let Some(value) = self.lets.get(register)
                {
                    self.registers_of(value, registers);
                }
            }
            ExpressionKind::Unary(_, operand) | ExpressionKind::Convert(operand) => {
                self.registers_of(operand, registers);
            }
            ExpressionKind::Binary(_, left, right) => {
                self.registers_of(left, registers);
                self.registers_of(right, registers);
            }
            ExpressionKind::Select(condition, then, otherwise) => {
                for part in [condition, then, otherwise] {
                    self.registers_of(part, registers);
                }
            }
            ExpressionKind::Uncomputed { of, .. } => {
                of.iter().for_each(|part| self.registers_of(part, registers));
            }
            ExpressionKind::Constant(_)
            | ExpressionKind::Coordinate(_)
            | ExpressionKind::FinalValue(_)
            | ExpressionKind::FinalRegister(..) => {}
        }
    }

    /// An expression with what `let` has named in place of its names.
    pub(super) fn over_parameters(&self, expression: &Expression) -> Expression {
        let mut expression = expression.clone();
        match &mut expression.kind {
            ExpressionKind::Register(register) => match self.lets.get(register) {
                Some(value) => return self.over_parameters(value),
                None => return expression,
            },
            ExpressionKind::Unary(_, operand) | ExpressionKind::Convert(operand) => {
                **operand = self.over_parameters(operand);
            }
            ExpressionKind::Binary(_, left, right) => {
                **left = self.over_parameters(left);
                **right = self.over_parameters(right);
            }
            ExpressionKind::Select(condition, then, otherwise) => {
                for part in [condition, then, otherwise] {
                    **part = self.over_parameters(part);
                }
            }
            ExpressionKind::Uncomputed { of, .. } => {
                of.iter_mut().for_each(|part| *part = self.over_parameters(part));
            }
            ExpressionKind::Constant(_)
            | ExpressionKind::Coordinate(_)
            | ExpressionKind::FinalValue(_)
            | ExpressionKind::FinalRegister(..) => {}
        }
        expression
    }

    /// The value of an expression over parameters; `None` if it depends on anything else.
    pub(super) fn value(&self, expression: &Expression, values: &Values) -> Option<u128> {
        let mask = |width: u8| if width >= 128 { u128::MAX } else { (1 << width) - 1 };
        let value = match &expression.kind {
            ExpressionKind::Constant(value) => *value,
            ExpressionKind::Register(register) => match values.get(register) {
                Some(value) => *value,
                None => self.value(self.lets.get(register)?, values)?,
            },
            ExpressionKind::Convert(operand) => self.value(operand, values)?,
            ExpressionKind::Unary(UnaryOp::Not, operand) => !self.value(operand, values)?,
            ExpressionKind::Unary(UnaryOp::Negate, operand) => self.value(operand, values)?.wrapping_neg(),
            ExpressionKind::Select(condition, then, otherwise) => {
                let taken = if self.value(condition, values)? == 1 { then } else { otherwise };
                self.value(taken, values)?
            }
            ExpressionKind::Binary(op, left, right) => {
                let width = left.width;
                let (left, right) = (self.value(left, values)?, self.value(right, values)?);
                op.apply(left, right, width)
            }
            ExpressionKind::Coordinate(_)
            | ExpressionKind::Uncomputed { .. }
            | ExpressionKind::FinalValue(_)
            | ExpressionKind::FinalRegister(..) => return None,
        };
        Some(value & mask(expression.width))
    }
}
