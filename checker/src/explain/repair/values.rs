//! The values that statements are written with: numbers, names, and what is computed of them. Claims, launches and
//! declarations have none, since no change is made there.

use fencepost_dsl::Span;
use fencepost_dsl::kernel::ast::{
    BinaryOp, Expr, ExprKind, Memory, Operand, Pattern, Statement, StatementKind,
};

/// A value as written.
#[derive(Debug)]
pub struct Value {
    /// Where, without brackets around it.
    pub span: Span,
    /// What it is.
    pub kind: ValueKind,
    /// What it is for.
    pub role: Role,
    /// The statement.
    pub node: usize,
    /// Of an index, the operand with its brackets, where several of one instruction may read alike.
    pub whole: Option<Span>,
    /// How tightly the operator binds that it is an operand of; 0 if it is none.
    pub tightness: u8,
}

/// What a value is.
#[derive(Debug)]
pub enum ValueKind {
    /// A number.
    Number(u64),
    /// A name.
    Name,
    /// Something computed.
    Operation {
        /// How.
        op: BinaryOp,
        /// The first operand.
        left: Span,
        /// The second one.
        right: Span,
    },
}

/// What a value is for.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Role {
    /// It says which element of an object, in one of its dimensions.
    Index {
        /// The object.
        object: String,
        /// Which dimension, from the outermost.
        dimension: usize,
    },
    /// It says whose memory.
    Rank,
    /// It is another operand of an instruction: of which one, by opcode, and where there.
    Operand {
        /// As written.
        opcode: String,
        /// From the first.
        at: usize,
    },
    /// A wait depends on it.
    Awaited,
    /// Which way is taken depends on it.
    Condition,
    /// Which of two values is meant depends on it.
    Choice,
    /// A function is given it: which one, and where there.
    Argument {
        /// Its name.
        function: String,
        /// From the first.
        at: usize,
    },
    /// A loop counts from it, or up to it.
    Range,
    /// A name stands for it.
    Named(String),
}

/// Puts the values of a statement, but not of those inside it, behind `found`.
pub fn of_statement(statement: &Statement, node: usize, found: &mut Vec<Value>) {
    let mut values = Values { node, whole: None, found };
    match &statement.kind {
        StatementKind::Let { value, pattern, .. } => {
            let name = match pattern {
                Pattern::One(Some(name)) => name.text.clone(),
                _ => String::new(),
            };
            values.expr(value, &Role::Named(name), 0);
        }
        StatementKind::Var { name, value, .. } | StatementKind::Assign { name, value, .. } => {
            values.expr(value, &Role::Named(name.text.clone()), 0);
        }
        StatementKind::Expr(expr) => values.expr(expr, &Role::Condition, 0),
        StatementKind::Return(Some(expr)) => values.expr(expr, &Role::Named(String::new()), 0),
        StatementKind::Await(expr) => values.expr(expr, &Role::Awaited, 0),
        StatementKind::While { condition, body } => {
            let role = if body.statements.is_empty() { Role::Awaited } else { Role::Condition };
            values.expr(condition, &role, 0);
        }
        StatementKind::If { condition, then, .. } => {
            let leaves = matches!(then.statements.as_slice(), [only] if only.kind == StatementKind::Break);
            let role = if leaves { Role::Awaited } else { Role::Condition };
            values.expr(condition, &role, 0);
        }
        StatementKind::For { range, .. } => {
            values.expr(&range.start, &Role::Range, 0);
            values.expr(&range.end, &Role::Range, 0);
        }
        _ => {}
    }
}

struct Values<'a> {
    node: usize,
    whole: Option<Span>,
    found: &'a mut Vec<Value>,
}

impl Values<'_> {
    fn expr(&mut self, expr: &Expr, role: &Role, tightness: u8) {
        let mut push = |kind| {
            let (span, role, node, whole) = (expr.place.0, role.clone(), self.node, self.whole);
            self.found.push(Value { span, kind, role, node, whole, tightness });
        };
        match &expr.kind {
            ExprKind::Literal(text) => {
                let plain = text.trim_end_matches("u32").trim_end_matches("u64");
                plain.parse().into_iter().for_each(|number| push(ValueKind::Number(number)));
            }
            ExprKind::Name(_) => push(ValueKind::Name),
            ExprKind::Binary(op, left, right) => {
                push(ValueKind::Operation { op: *op, left: left.place.0, right: right.place.0 });
                self.expr(left, role, op.precedence());
                self.expr(right, role, op.precedence() + 1);
            }
            ExprKind::Unary(_, inner) | ExprKind::Cast(inner, _) => self.expr(inner, role, u8::MAX),
            ExprKind::Select(condition, then, otherwise) => {
                self.expr(condition, &Role::Choice, 1);
                self.expr(then, role, 1);
                self.expr(otherwise, role, 1);
            }
            ExprKind::Call { function, arguments } => {
                for (at, argument) in arguments.iter().enumerate() {
                    self.expr(argument, &Role::Argument { function: function.text.clone(), at }, 0);
                }
            }
            ExprKind::Element(memory) | ExprKind::Reference(memory) => self.memory(memory, false),
            ExprKind::Instruction { opcode, operands } => {
                let is_memory = |operand: &&Operand| matches!(operand, Operand::Memory(_));
                let is_one_of_several = operands.iter().filter(is_memory).count() > 1;
                for (at, operand) in operands.iter().enumerate() {
                    let role = Role::Operand { opcode: opcode.text.clone(), at };
                    match operand {
                        Operand::Memory(memory) => self.memory(memory, is_one_of_several),
                        Operand::Tensor(tensor) => {
                            self.memory(&tensor.map, false);
                            tensor.coordinates.iter().for_each(|expr| self.expr(expr, &role, 0));
                        }
                        Operand::Vector(elements) => {
                            elements.iter().for_each(|expr| self.expr(expr, &role, 0));
                        }
                        Operand::Expr(expr) => self.expr(expr, &role, 0),
                        Operand::Sink(_) => {}
                    }
                }
            }
            ExprKind::List(_)
            | ExprKind::Bool(_)
            | ExprKind::Final(_)
            | ExprKind::Given(_)
            | ExprKind::Error => {}
        }
    }

    fn memory(&mut self, memory: &Memory, is_one_of_several: bool) {
        for (dimension, index) in memory.indices.iter().enumerate() {
            self.whole = is_one_of_several.then_some(memory.place.0);
            self.expr(index, &Role::Index { object: memory.name.text.clone(), dimension }, 0);
        }
        self.whole = None;
        for rank in [&memory.rank, &memory.device].into_iter().flatten() {
            self.expr(rank, &Role::Rank, 0);
        }
    }
}
