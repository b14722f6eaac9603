//! Expressions over integers that PTX has and the kernel language has not: signs, halves of products, fields of bits.

use super::resized;
use crate::kernel::program::{BinaryOp, Expression, ExpressionKind, UnaryOp, Width};
use crate::span::Span;

/// All bits of a width.
pub fn mask(width: Width) -> u128 {
    if width >= 128 { u128::MAX } else { (1 << width) - 1 }
}

/// Makes expressions at one place of the text.
#[derive(Clone, Copy)]
pub struct At(pub Span);

impl At {
    pub fn constant(self, value: u128, width: Width) -> Expression {
        Expression { span: self.0, width, kind: ExpressionKind::Constant(value & mask(width)) }
    }

    pub fn binary(self, op: BinaryOp, left: Expression, right: Expression) -> Expression {
        let width = match op {
            BinaryOp::Equal
            | BinaryOp::NotEqual
            | BinaryOp::Less
            | BinaryOp::LessEqual
            | BinaryOp::Greater
            | BinaryOp::GreaterEqual => 1,
            _ => left.width,
        };
        Expression { span: self.0, width, kind: ExpressionKind::Binary(op, Box::new(left), Box::new(right)) }
    }

    pub fn add(self, left: Expression, right: Expression) -> Expression {
        self.binary(BinaryOp::Add, left, right)
    }

    pub fn not(self, operand: Expression) -> Expression {
        Expression {
            span: self.0,
            width: operand.width,
            kind: ExpressionKind::Unary(UnaryOp::Not, Box::new(operand)),
        }
    }

    pub fn negate(self, operand: Expression) -> Expression {
        Expression {
            span: self.0,
            width: operand.width,
            kind: ExpressionKind::Unary(UnaryOp::Negate, Box::new(operand)),
        }
    }

    pub fn select(self, condition: Expression, then: Expression, otherwise: Expression) -> Expression {
        let width = then.width;
        let kind = ExpressionKind::Select(Box::new(condition), Box::new(then), Box::new(otherwise));
        Expression { span: self.0, width, kind }
    }

    fn sign_bit(self, width: Width) -> Expression {
        self.constant(1 << (width - 1), width)
    }

    /// Turns the order of numbers with sign into that of numbers without.
    pub fn flipped(self, value: Expression) -> Expression {
        let sign = self.sign_bit(value.width);
        self.binary(BinaryOp::Xor, value, sign)
    }

    /// Truncated, or extended with its sign.
    pub fn sign_extended(self, value: Expression, width: Width) -> Expression {
        if value.width >= width {
            return resized(value, width);
        }
        if let ExpressionKind::Constant(constant) = value.kind {
            let shift = 128 - u32::from(value.width);
            return self
                .constant((constant << shift).cast_signed().wrapping_shr(shift).cast_unsigned(), width);
        }
        let sign = self.constant(1 << (value.width - 1), width);
        let flipped = self.flipped(value);
        self.binary(BinaryOp::Subtract, resized(flipped, width), sign)
    }

    /// Extended as a number of this sort.
    pub fn extended(self, value: Expression, width: Width, is_signed: bool) -> Expression {
        if is_signed { self.sign_extended(value, width) } else { resized(value, width) }
    }

    pub fn is_negative(self, value: Expression) -> Expression {
        let sign = self.sign_bit(value.width);
        self.binary(BinaryOp::GreaterEqual, value, sign)
    }

    pub fn absolute(self, value: Expression) -> Expression {
        let negated = self.negate(value.clone());
        self.select(self.is_negative(value.clone()), negated, value)
    }

    /// Whether one is below the other.
    pub fn less(self, left: Expression, right: Expression, is_signed: bool) -> Expression {
        if is_signed {
            return self.binary(BinaryOp::Less, self.flipped(left), self.flipped(right));
        }
        self.binary(BinaryOp::Less, left, right)
    }

    /// All bits of a product, at twice the width.
    pub fn product(self, left: Expression, right: Expression, is_signed: bool) -> Expression {
        let width = left.width * 2;
        let (left, right) = (self.extended(left, width, is_signed), self.extended(right, width, is_signed));
        self.binary(BinaryOp::Multiply, left, right)
    }

    /// The upper half of a product.
    pub fn high_product(self, left: Expression, right: Expression, is_signed: bool) -> Expression {
        let width = left.width;
        let product = self.product(left, right, is_signed);
        let amount = self.constant(u128::from(width), width * 2);
        resized(self.binary(BinaryOp::ShiftRight, product, amount), width)
    }

    /// Quotient or remainder of numbers with sign: the quotient is cut off towards zero, the remainder has the dividend's sign.
    pub fn signed_division(self, left: Expression, right: Expression, is_remainder: bool) -> Expression {
        let (a, b) = (self.absolute(left.clone()), self.absolute(right.clone()));
        let op = if is_remainder { BinaryOp::Remainder } else { BinaryOp::Divide };
        let result = self.binary(op, a, b);
        let negative = if is_remainder {
            self.is_negative(left)
        } else {
            self.binary(BinaryOp::Xor, self.is_negative(left), self.is_negative(right))
        };
        self.select(negative, self.negate(result.clone()), result)
    }

    /// Shifts by an amount of 32 bits, which counts as the width at most.
    pub fn shift(self, op: BinaryOp, value: Expression, amount: Expression, is_signed: bool) -> Expression {
        let width = value.width;
        let wide = width.max(32);
        let value = self.extended(value, wide, is_signed);
        let amount = resized(amount, wide);
        if !is_signed {
            return resized(self.binary(op, value, amount), width);
        }
        let last = self.constant(u128::from(wide) - 1, wide);
        let is_inside = self.binary(BinaryOp::Less, amount.clone(), last.clone());
        let amount = self.select(is_inside, amount, last);
        // Of a number made positive, and what that added is taken away again.
        let shifted = self.binary(BinaryOp::ShiftRight, self.flipped(value), amount.clone());
        let added = self.binary(BinaryOp::ShiftRight, self.sign_bit(wide), amount);
        resized(self.binary(BinaryOp::Subtract, shifted, added), width)
    }

    /// The lowest bits, as many as `length` says; all from the width on.
    fn low_bits(self, length: Expression, width: Width) -> Expression {
        let one = self.constant(1, width);
        let limit = self.binary(BinaryOp::ShiftLeft, one.clone(), length);
        self.binary(BinaryOp::Subtract, limit, one)
    }

    /// The lowest byte of an operand that says where a field is.
    fn byte_of(self, value: Expression, width: Width) -> Expression {
        self.binary(BinaryOp::And, resized(value, width), self.constant(0xff, width))
    }

    /// `bfe`
    pub fn extract(
        self,
        value: Expression,
        start: Expression,
        length: Expression,
        is_signed: bool,
    ) -> Expression {
        let width = value.width;
        let (start, length) = (self.byte_of(start, width), self.byte_of(length, width));
        let bits = self.low_bits(length.clone(), width);
        let shifted = self.shift(BinaryOp::ShiftRight, value.clone(), resized(start.clone(), 32), is_signed);
        let field = self.binary(BinaryOp::And, shifted, bits.clone());
        if !is_signed {
            return field;
        }
        // Its sign is the last bit of the field, or of the number where the field goes past it.
        let one = self.constant(1, width);
        let end = self.binary(BinaryOp::Subtract, self.add(start, length.clone()), one.clone());
        let last = self.constant(u128::from(width) - 1, width);
        let end = self.select(self.binary(BinaryOp::Less, end.clone(), last.clone()), end, last);
        let sign = self.binary(BinaryOp::And, self.binary(BinaryOp::ShiftRight, value, end), one.clone());
        let is_negative = self.binary(BinaryOp::Equal, sign, one);
        let filled = self.binary(BinaryOp::Or, field.clone(), self.not(bits));
        let signed = self.select(is_negative, filled, field);
        let zero = self.constant(0, width);
        self.select(self.binary(BinaryOp::Equal, length, zero.clone()), zero, signed)
    }

    /// `bfi`
    pub fn insert(
        self,
        field: Expression,
        into: Expression,
        start: Expression,
        length: Expression,
    ) -> Expression {
        let width = into.width;
        let (start, length) = (self.byte_of(start, width), self.byte_of(length, width));
        let bits = self.binary(BinaryOp::ShiftLeft, self.low_bits(length, width), start.clone());
        let field = self.binary(BinaryOp::And, self.binary(BinaryOp::ShiftLeft, field, start), bits.clone());
        let rest = self.binary(BinaryOp::And, into, self.not(bits));
        self.binary(BinaryOp::Or, rest, field)
    }

    /// `lop3`: bit by bit what a table says of three.
    pub fn table(self, inputs: [Expression; 3], table: u8) -> Expression {
        let width = inputs[0].width;
        let mut result = self.constant(0, width);
        for row in (0..8_u8).filter(|row| table >> row & 1 == 1) {
            let mut all = self.constant(mask(width), width);
            for (place, input) in inputs.iter().enumerate() {
                let is_one = row >> (2 - place) & 1 == 1;
                let part = if is_one { input.clone() } else { self.not(input.clone()) };
                all = self.binary(BinaryOp::And, all, part);
            }
            result = self.binary(BinaryOp::Or, result, all);
        }
        result
    }

    /// `shf`: 64 bits shifted, of which 32 are taken.
    pub fn funnel(
        self,
        low: Expression,
        high: Expression,
        amount: Expression,
        is_left: bool,
        wraps: bool,
    ) -> Expression {
        let limit = self.constant(31, 32);
        let amount = if wraps {
            self.binary(BinaryOp::And, amount, limit)
        } else {
            let most = self.constant(32, 32);
            self.select(self.binary(BinaryOp::Less, amount.clone(), most.clone()), amount, most)
        };
        let both = self.joined(&[low, high]);
        let amount = resized(amount, 64);
        if is_left {
            let shifted = self.binary(BinaryOp::ShiftLeft, both, amount);
            resized(self.binary(BinaryOp::ShiftRight, shifted, self.constant(32, 64)), 32)
        } else {
            resized(self.binary(BinaryOp::ShiftRight, both, amount), 32)
        }
    }

    /// Parts of equal width put together, the lowest first.
    pub fn joined(self, parts: &[Expression]) -> Expression {
        let part_width = parts.first().map_or(32, |part| part.width);
        let width = Width::try_from(usize::from(part_width) * parts.len()).unwrap_or(128);
        let mut whole = self.constant(0, width);
        for (number, part) in parts.iter().enumerate() {
            let amount = self.constant(number as u128 * u128::from(part_width), width);
            let shifted = self.binary(BinaryOp::ShiftLeft, resized(part.clone(), width), amount);
            whole = if number == 0 { shifted } else { self.binary(BinaryOp::Or, whole, shifted) };
        }
        whole
    }

    /// A part of a value.
    pub fn part(self, value: Expression, number: usize, width: Width) -> Expression {
        let amount = self.constant(number as u128 * u128::from(width), value.width);
        resized(self.binary(BinaryOp::ShiftRight, value, amount), width)
    }

    /// `prmt` with a constant selector.
    pub fn permuted(self, low: Expression, high: Expression, selector: u128) -> Expression {
        let both = self.joined(&[low, high]);
        let bytes: Vec<Expression> = (0..4)
            .map(|byte| {
                let which = selector >> (4 * byte) & 15;
                let taken = self.part(both.clone(), (which & 7) as usize, 8);
                if which & 8 == 0 {
                    return taken;
                }
                let (ones, zeros) = (self.constant(0xff, 8), self.constant(0, 8));
                self.select(self.is_negative(taken), ones, zeros)
            })
            .collect();
        self.joined(&bytes)
    }
}
