//! Expressions as integer instructions.

use super::{Emit, Frame, Reg};
use crate::kernel::isa::since;
use crate::kernel::program::{
    Axis, BinaryOp, Coordinate, Expression, ExpressionKind, UnaryOp, VectorRegister, Width,
};

/// A number, or what a register holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::kernel) enum Value {
    /// A number of so many bits.
    Number(u128, Width),
    /// A register.
    Reg(Reg),
}

impl Value {
    pub(super) fn width(self) -> Width {
        match self {
            Self::Number(_, width) => width,
            Self::Reg(register) => register.width,
        }
    }
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number, _) => write!(f, "{number}"),
            Self::Reg(register) => register.fmt(f),
        }
    }
}

/// The width of the registers in which so many bits are.
fn held(width: Width) -> Width {
    width.max(16)
}

fn mask(width: Width) -> u128 {
    if width >= 128 { u128::MAX } else { (1 << width) - 1 }
}

impl Emit<'_> {
    /// The value of an expression, a number where it is one.
    pub(super) fn value(&mut self, expression: &Expression, frame: &mut Frame) -> Value {
        let width = expression.width;
        match &expression.kind {
            ExpressionKind::Constant(value) => Value::Number(*value, width),
            ExpressionKind::Register(register) => Value::Reg(self.register(frame, *register)),
            ExpressionKind::Coordinate(coordinate) => self.coordinate(*coordinate, expression),
            ExpressionKind::Unary(op, operand) => {
                let operand = self.value(operand, frame);
                self.unary(*op, operand)
            }
            ExpressionKind::Binary(op, left, right) => {
                let (left, right) = (self.value(left, frame), self.value(right, frame));
                self.binary(*op, left, right)
            }
            ExpressionKind::Select(condition, then, otherwise) => {
                let condition = self.value(condition, frame);
                let (then, otherwise) = (self.value(then, frame), self.value(otherwise, frame));
                self.select(condition, then, otherwise)
            }
            ExpressionKind::Convert(operand) => {
                let operand = self.value(operand, frame);
                self.converted(operand, width)
            }
            ExpressionKind::FinalValue(_)
            | ExpressionKind::FinalRegister(..)
            | ExpressionKind::Uncomputed { .. } => {
                self.unsupported("a value that is not computed", expression.span, "");
                Value::Number(0, width)
            }
        }
    }

    /// What is the same number for each thread of the launch.
    pub(super) fn dimension(&self, coordinate: Coordinate) -> Option<u32> {
        let launch = self.launch;
        Some(match coordinate {
            Coordinate::Ntid => launch.warps * launch.lanes,
            Coordinate::Along(register, axis) if register.is_size() => launch.along(register, axis, 0, 0),
            Coordinate::Nwarpid => launch.warps,
            Coordinate::Nctaid => launch.ctas,
            Coordinate::Nclusterid => launch.n_clusters(),
            Coordinate::ClusterNctarank => launch.cluster,
            Coordinate::Ngpuid => launch.gpus,
            _ => return None,
        })
    }

    fn coordinate(&mut self, coordinate: Coordinate, expression: &Expression) -> Value {
        if let Some(&known) = self.coordinates.get(&coordinate) {
            return known;
        }
        let launch = self.launch;
        let number = |n: u32| Value::Number(u128::from(n), 32);
        if let Some(size) = self.dimension(coordinate) {
            return number(size);
        }
        let is_partial = launch.lanes < 32 && launch.warps > 1;
        let value = match coordinate {
            Coordinate::Along(register, axis) => self.along(register, axis, expression),
            Coordinate::Gpuid => number(0),
            Coordinate::ClusterCtarank if launch.cluster == 1 => number(0),
            Coordinate::Ctaid if launch.ctas == 1 => number(0),
            Coordinate::Clusterid if launch.n_clusters() == 1 => number(0),
            Coordinate::Clusterid if launch.cluster == 1 => self.special("ctaid.x"),
            Coordinate::Ctaid => match self.special("ctaid.x") {
                Value::Reg(own) => Value::Reg(self.ctaid_of(own)),
                own @ Value::Number(..) => own,
            },
            Coordinate::ClusterCtarank => {
                self.needs(since(7, 8, 90));
                self.special("cluster_ctarank")
            }
            Coordinate::Clusterid => {
                self.needs(since(7, 8, 90));
                self.special("clusterid.x")
            }
            Coordinate::Tid if !is_partial => self.special("tid.x"),
            Coordinate::Laneid if launch.warps == 1 => self.special("tid.x"),
            Coordinate::Warpid if launch.warps == 1 => number(0),
            Coordinate::Tid => {
                let warp = self.coordinate(Coordinate::Warpid, expression);
                let lane = self.coordinate(Coordinate::Laneid, expression);
                let tid = self.fresh(32);
                self.prologue.push(format!("\tmad.lo.u32 {tid}, {warp}, {}, {lane};", launch.lanes));
                Value::Reg(tid)
            }
            Coordinate::Laneid | Coordinate::Warpid => {
                let own = self.special("tid.x");
                let part = self.fresh(32);
                self.prologue.push(match coordinate {
                    Coordinate::Laneid => format!("\tand.b32 {part}, {own}, 31;"),
                    _ => format!("\tshr.u32 {part}, {own}, 5;"),
                });
                Value::Reg(part)
            }
            // Of what is no dimension, only clients are left.
            _ => {
                self.unsupported("which client a thread is", expression.span, "");
                number(0)
            }
        };
        self.coordinates.insert(coordinate, value);
        value
    }

    /// The index through all axes of the CTA that is the so-manieth of what is launched, whose clusters lie one behind the other.
    pub(super) fn ctaid_of(&mut self, own: Reg) -> Reg {
        let launch = self.launch;
        let Some(sizes) = launch.cluster_axes else { return own };
        let mut computed = |op: &str, left: Reg, right: String| {
            let part = self.fresh(32);
            self.prologue.push(format!("\t{op}.u32 {part}, {left}, {right};"));
            part
        };
        let mut cluster = computed("div", own, launch.cluster.to_string());
        let mut rank = computed("rem", own, launch.cluster.to_string());
        let (grid, clusters) = (launch.grid(), launch.clusters());
        let (mut ctaid, mut step) = (None, 1);
        for axis in 0..3 {
            let of_cluster = computed("rem", cluster, clusters[axis].to_string());
            let first = computed("mul.lo", of_cluster, sizes[axis].to_string());
            let in_cluster = computed("rem", rank, sizes[axis].to_string());
            let along = computed("add", first, in_cluster.to_string());
            let part = computed("mul.lo", along, step.to_string());
            ctaid = Some(match ctaid {
                Some(before) => computed("add", before, part.to_string()),
                None => part,
            });
            step *= grid[axis];
            cluster = computed("div", cluster, clusters[axis].to_string());
            rank = computed("div", rank, sizes[axis].to_string());
        }
        ctaid.unwrap_or(own)
    }

    /// One element of a register that is a vector. What is launched has one axis, so it is computed from the index along that.
    fn along(&mut self, register: VectorRegister, axis: Axis, expression: &Expression) -> Value {
        let of_thread = matches!(register, VectorRegister::Tid | VectorRegister::Ntid);
        let whole = if of_thread { Coordinate::Tid } else { Coordinate::Ctaid };
        let Value::Reg(mut at) = self.coordinate(whole, expression) else { return Value::Number(0, 32) };
        let sizes = if of_thread { self.launch.block() } else { self.launch.grid() };
        let (of_cluster, axis) = (self.launch.cluster(), axis as usize);
        let (step, rest): (u32, u32) = (sizes[..axis].iter().product(), sizes[axis..].iter().product());
        let mut steps = vec![("div", step, step > 1), ("rem", sizes[axis], sizes[axis] < rest)];
        match register {
            VectorRegister::ClusterCtaid => steps.push(("rem", of_cluster[axis], true)),
            VectorRegister::Clusterid => steps.push(("div", of_cluster[axis], of_cluster[axis] > 1)),
            _ => {}
        }
        for (op, number, is_needed) in steps {
            if is_needed {
                let part = self.fresh(32);
                self.prologue.push(format!("\t{op}.u32 {part}, {at}, {number};"));
                at = part;
            }
        }
        Value::Reg(at)
    }

    /// A special register, read before the body.
    pub(super) fn special(&mut self, name: &str) -> Value {
        if let Some((_, known)) = self.specials.iter().find(|(known, _)| known == name) {
            return Value::Reg(*known);
        }
        let register = self.fresh(32);
        self.prologue.push(format!("\tmov.u32 {register}, %{name};"));
        self.specials.push((name.to_owned(), register));
        Value::Reg(register)
    }

    /// The value in a register.
    pub(super) fn in_register(&mut self, value: &Value) -> Reg {
        let (number, width) = match *value {
            Value::Reg(register) => return register,
            Value::Number(number, width) => (number, width),
        };
        let register = self.fresh(width);
        self.set(register, Value::Number(number, width));
        register
    }

    /// Gives a register a value of its width.
    pub(super) fn set(&mut self, register: Reg, value: Value) {
        match (register.width, value) {
            (1, Value::Number(number, _)) => {
                let word = self.fresh(32);
                self.line(format!("mov.u32 {word}, {number};"));
                self.line(format!("setp.ne.u32 {register}, {word}, 0;"));
            }
            (1, Value::Reg(from)) => self.line(format!("mov.pred {register}, {from};")),
            (128, Value::Number(number, _)) => {
                let (low, high) = (self.fresh(64), self.fresh(64));
                self.line(format!("mov.u64 {low}, {:#x};", number & mask(64)));
                self.line(format!("mov.u64 {high}, {:#x};", number >> 64));
                self.line(format!("mov.b128 {register}, {{{low}, {high}}};"));
            }
            (width, value) => self.line(format!("mov.b{} {register}, {value};", held(width))),
        }
    }

    fn unary(&mut self, op: UnaryOp, operand: Value) -> Value {
        let width = operand.width();
        if let Value::Number(number, _) = operand {
            let all = match op {
                UnaryOp::Not => !number,
                UnaryOp::Negate => number.wrapping_neg(),
            };
            return Value::Number(all & mask(width), width);
        }
        let result = self.fresh(width);
        match (op, width) {
            (UnaryOp::Not, 1) => self.line(format!("not.pred {result}, {operand};")),
            (UnaryOp::Negate, 1) => return operand,
            (_, 128) => return self.arithmetic_of_cells(),
            (UnaryOp::Not, _) => {
                self.line(format!("not.b{} {result}, {operand};", held(width)));
                self.trim(result);
            }
            (UnaryOp::Negate, _) => {
                self.line(format!("neg.s{} {result}, {operand};", held(width)));
                self.trim(result);
            }
        }
        Value::Reg(result)
    }

    /// The upper half of a register of 16 bits that holds 8.
    fn trim(&mut self, register: Reg) {
        if register.width == 8 {
            self.line(format!("and.b16 {register}, {register}, 255;"));
        }
    }

    fn halves(&mut self, value: Value) -> (Value, Value) {
        if let Value::Number(number, _) = value {
            return (Value::Number(number & mask(64), 64), Value::Number(number >> 64, 64));
        }
        let (low, high) = (self.fresh(64), self.fresh(64));
        self.line(format!("mov.b128 {{{low}, {high}}}, {value};"));
        (Value::Reg(low), Value::Reg(high))
    }

    pub(super) fn binary(&mut self, op: BinaryOp, left: Value, right: Value) -> Value {
        let width = left.width();
        let is_comparison = compares(op).is_some();
        if let (Value::Number(a, _), Value::Number(b, _)) = (left, right) {
            let result = op.apply(a, b, width);
            return if is_comparison {
                Value::Number(result, 1)
            } else {
                Value::Number(result & mask(width), width)
            };
        }
        if width == 128 {
            return self.wide(op, left, right);
        }
        if width == 1 {
            return self.of_bits(op, left, right);
        }
        let held = held(width);
        let left = Value::Reg(self.in_register(&left));
        if let Some(name) = compares(op) {
            let result = self.fresh(1);
            self.line(format!("setp.{name}.u{held} {result}, {left}, {right};"));
            return Value::Reg(result);
        }
        let result = self.fresh(width);
        match op {
            BinaryOp::Add => self.line(format!("add.u{held} {result}, {left}, {right};")),
            BinaryOp::Subtract => self.line(format!("sub.u{held} {result}, {left}, {right};")),
            BinaryOp::Multiply => self.line(format!("mul.lo.u{held} {result}, {left}, {right};")),
            BinaryOp::And => self.line(format!("and.b{held} {result}, {left}, {right};")),
            BinaryOp::Or => self.line(format!("or.b{held} {result}, {left}, {right};")),
            BinaryOp::Xor => self.line(format!("xor.b{held} {result}, {left}, {right};")),
            BinaryOp::Divide | BinaryOp::Remainder => return self.divide(op, left, right, result),
            BinaryOp::ShiftLeft | BinaryOp::ShiftRight => {
                let amount = match right {
                    Value::Number(number, _) => Value::Number(number.min(128), 32),
                    Value::Reg(_) if width == 64 => {
                        let small = self.fresh(64);
                        self.line(format!("min.u64 {small}, {right}, 255;"));
                        self.converted(Value::Reg(small), 32)
                    }
                    Value::Reg(_) => self.converted(right, 32),
                };
                let name = if op == BinaryOp::ShiftLeft { "shl.b" } else { "shr.u" };
                self.line(format!("{name}{held} {result}, {left}, {amount};"));
            }
            _ => {}
        }
        self.trim(result);
        Value::Reg(result)
    }

    /// By zero, all ones, and the dividend remains: what PTX leaves open.
    fn divide(&mut self, op: BinaryOp, left: Value, right: Value, result: Reg) -> Value {
        let (width, held) = (result.width, held(result.width));
        let name = if op == BinaryOp::Divide { "div" } else { "rem" };
        match right {
            Value::Number(0, _) if op == BinaryOp::Divide => return Value::Number(mask(width), width),
            Value::Number(0, _) => return left,
            Value::Number(..) => self.line(format!("{name}.u{held} {result}, {left}, {right};")),
            Value::Reg(_) => {
                let (is_zero, found, divisor) = (self.fresh(1), self.fresh(width), self.fresh(width));
                self.line(format!("setp.eq.u{held} {is_zero}, {right}, 0;"));
                self.line(format!("selp.b{held} {divisor}, 1, {right}, {is_zero};"));
                self.line(format!("{name}.u{held} {found}, {left}, {divisor};"));
                let other = if op == BinaryOp::Divide { Value::Number(mask(width), width) } else { left };
                self.line(format!("selp.b{held} {result}, {other}, {found}, {is_zero};"));
            }
        }
        Value::Reg(result)
    }

    /// Of 128 bits: compared for equality, or bit by bit.
    fn wide(&mut self, op: BinaryOp, left: Value, right: Value) -> Value {
        let ((a, b), (c, d)) = (self.halves(left), self.halves(right));
        match op {
            BinaryOp::Equal | BinaryOp::NotEqual => {
                let (low, high) = (self.binary(BinaryOp::Equal, a, c), self.binary(BinaryOp::Equal, b, d));
                let both = self.of_bits(BinaryOp::And, low, high);
                if op == BinaryOp::Equal { both } else { self.unary(UnaryOp::Not, both) }
            }
            BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => {
                let (low, high) = (self.binary(op, a, c), self.binary(op, b, d));
                let (low, high) = (self.in_register(&low), self.in_register(&high));
                let result = self.fresh(128);
                self.line(format!("mov.b128 {result}, {{{low}, {high}}};"));
                Value::Reg(result)
            }
            _ => self.arithmetic_of_cells(),
        }
    }

    fn arithmetic_of_cells(&mut self) -> Value {
        self.unsupported("arithmetic with 128 bits", self.kernel.span, "");
        Value::Number(0, 128)
    }

    /// Of single bits.
    fn of_bits(&mut self, op: BinaryOp, left: Value, right: Value) -> Value {
        let name = match op {
            BinaryOp::And | BinaryOp::Multiply => "and",
            BinaryOp::Or => "or",
            BinaryOp::Xor | BinaryOp::NotEqual | BinaryOp::Add | BinaryOp::Subtract => "xor",
            BinaryOp::Equal => {
                let differ = self.of_bits(BinaryOp::Xor, left, right);
                return self.unary(UnaryOp::Not, differ);
            }
            _ => {
                let (left, right) = (self.converted(left, 32), self.converted(right, 32));
                let result = self.binary(op, left, right);
                return self.converted(result, 1);
            }
        };
        let (left, right) = (self.in_register(&left), self.in_register(&right));
        let result = self.fresh(1);
        self.line(format!("{name}.pred {result}, {left}, {right};"));
        Value::Reg(result)
    }

    fn select(&mut self, condition: Value, then: Value, otherwise: Value) -> Value {
        let width = then.width();
        match (condition, width) {
            (Value::Number(0, _), _) => otherwise,
            (Value::Number(..), _) => then,
            (Value::Reg(_), 1) => {
                let not = self.unary(UnaryOp::Not, condition);
                let (yes, no) = (
                    self.of_bits(BinaryOp::And, condition, then),
                    self.of_bits(BinaryOp::And, not, otherwise),
                );
                self.of_bits(BinaryOp::Or, yes, no)
            }
            (Value::Reg(_), 128) => {
                let ((a, b), (c, d)) = (self.halves(then), self.halves(otherwise));
                let (low, high) = (self.select(condition, a, c), self.select(condition, b, d));
                let (low, high) = (self.in_register(&low), self.in_register(&high));
                let result = self.fresh(128);
                self.line(format!("mov.b128 {result}, {{{low}, {high}}};"));
                Value::Reg(result)
            }
            (Value::Reg(_), _) => {
                let result = self.fresh(width);
                self.line(format!("selp.b{} {result}, {then}, {otherwise}, {condition};", held(width)));
                Value::Reg(result)
            }
        }
    }

    /// Zero-extended or truncated.
    pub(super) fn converted(&mut self, value: Value, width: Width) -> Value {
        let from = value.width();
        if from == width {
            return value;
        }
        if let Value::Number(number, _) = value {
            return Value::Number(number & mask(width), width);
        }
        match (from, width) {
            (128, _) => {
                let (low, _) = self.halves(value);
                self.converted(low, width)
            }
            (_, 128) => {
                let low = self.converted(value, 64);
                let (low, high) = (self.in_register(&low), self.in_register(&Value::Number(0, 64)));
                let result = self.fresh(128);
                self.line(format!("mov.b128 {result}, {{{low}, {high}}};"));
                Value::Reg(result)
            }
            (1, _) => {
                let result = self.fresh(width);
                self.line(format!("selp.b{} {result}, 1, 0, {value};", held(width)));
                Value::Reg(result)
            }
            (_, 1) => {
                let bit = self.binary(BinaryOp::And, value, Value::Number(1, from));
                self.binary(BinaryOp::NotEqual, bit, Value::Number(0, from))
            }
            (8, 16) | (16, 8) => {
                let result = self.fresh(width);
                self.line(format!("and.b16 {result}, {value}, 255;"));
                Value::Reg(result)
            }
            _ => {
                let result = self.fresh(width);
                self.line(format!("cvt.u{}.u{} {result}, {value};", held(width), held(from)));
                self.trim(result);
                Value::Reg(result)
            }
        }
    }
}

fn compares(op: BinaryOp) -> Option<&'static str> {
    Some(match op {
        BinaryOp::Equal => "eq",
        BinaryOp::NotEqual => "ne",
        BinaryOp::Less => "lt",
        BinaryOp::LessEqual => "le",
        BinaryOp::Greater => "gt",
        BinaryOp::GreaterEqual => "ge",
        _ => return None,
    })
}
