//! Instructions that only compute: integers are computed, everything else is a value made of its operands that is not known.

use super::bits::At;
use super::lower::Lower;
use super::resized;
use super::value::{Read, window_of};
use crate::diagnostic::Diagnostic;
use crate::kernel::program::flat::{GLOBAL_WINDOW, RANK_SHIFT, SHARED_WINDOW, WINDOW_BYTES};
use crate::kernel::program::{BinaryOp, Coordinate, Expression, ExpressionKind, Width};
use crate::ptx::module::{Instruction, Operand, OperandKind, Type};

/// First words of the instructions that do nothing but compute a value.
const COMPUTES: &[&str] = &[
    "abs",
    "add",
    "addc",
    "and",
    "bfe",
    "bfi",
    "bfind",
    "bmsk",
    "brev",
    "clmad",
    "clz",
    "cnot",
    "copysign",
    "cos",
    "cvt",
    "cvta",
    "div",
    "dp2a",
    "dp4a",
    "ex2",
    "fma",
    "fns",
    "getctarank",
    "isspacep",
    "lg2",
    "lop3",
    "mad",
    "mad24",
    "madc",
    "mapa",
    "max",
    "min",
    "mov",
    "mul",
    "mul24",
    "neg",
    "not",
    "or",
    "popc",
    "prmt",
    "rcp",
    "rem",
    "rsqrt",
    "sad",
    "selp",
    "set",
    "setp",
    "shf",
    "shl",
    "shr",
    "sin",
    "slct",
    "sqrt",
    "sub",
    "subc",
    "szext",
    "tanh",
    "testp",
    "xor",
];

/// Words besides types whose meaning is known here. Any other says that something else is computed: saturated, carried on,
/// for each half of a word, or what a newer edition has.
const WORDS: &[&str] = &[
    "and",
    "clamp",
    "const",
    "eq",
    "ge",
    "global",
    "gt",
    "hi",
    "hs",
    "l",
    "le",
    "lo",
    "local",
    "ls",
    "lt",
    "ne",
    "or",
    "param",
    "param::entry",
    "r",
    "shared",
    "shared::cluster",
    "shared::cta",
    "shiftamt",
    "to",
    "wide",
    "wrap",
    "xor",
];

/// Whether an instruction only computes.
pub(super) fn computes(mnemonic: &str) -> bool {
    COMPUTES.contains(&mnemonic)
}

/// An instruction that computes, taken apart.
struct Parts<'a> {
    words: &'a [&'a str],
    /// The types in the opcode, in order.
    types: Vec<Type>,
    instruction: &'a Instruction,
    at: At,
}

impl Parts<'_> {
    fn has(&self, word: &str) -> bool {
        self.words.contains(&word)
    }

    /// The type of the operands.
    fn ty(&self) -> Type {
        self.types.last().copied().unwrap_or(Type { kind: 'b', width: 32 })
    }

    /// Whether all of its words are known.
    fn is_understood(&self) -> bool {
        self.words[1..].iter().all(|word| WORDS.contains(word) || Type::parse(word).is_some())
    }

    fn is_signed(&self) -> bool {
        self.ty().kind == 's'
    }

    fn operand(&self, number: usize) -> Read<&Operand> {
        self.instruction.operands.get(number).ok_or_else(|| {
            let opcode = &self.instruction.opcode;
            let message = format!("`{}` has too few operands", opcode.text);
            Box::new(Diagnostic::new("syntax::ptx", message, self.instruction.span, "an operand is missing"))
        })
    }
}

impl Lower<'_, '_> {
    /// Resolves an instruction that only computes.
    pub(super) fn compute(&mut self, instruction: &Instruction, words: &[&str]) -> Read<()> {
        let types = words.iter().filter_map(|word| Type::parse(word)).collect();
        let parts = Parts { words, types, instruction, at: At(instruction.span) };
        if words[0] == "setp" {
            return self.set_predicates(&parts);
        }
        if words[0] == "mov"
            && let Some(Operand { kind: OperandKind::Vector(elements), .. }) = instruction.operands.first()
        {
            return self.unpack(&parts, elements);
        }
        let destination = parts.operand(0)?;
        let value = match self.computed(&parts)? {
            Some(value) => value,
            None => {
                let width = self.width_of(destination);
                self.uncomputed(&parts, width)?
            }
        };
        // What is narrower than its register is extended by its own type.
        let is_signed = parts.types.first().is_some_and(|ty| ty.kind == 's');
        self.assign(destination, value, is_signed)
    }

    /// A value that is made of the operands.
    fn uncomputed(&mut self, parts: &Parts<'_>, width: Width) -> Read<Expression> {
        let mut of = Vec::new();
        for operand in parts.instruction.operands.iter().skip(1) {
            if !matches!(operand.kind, OperandKind::Integer(_) | OperandKind::Float(..)) {
                of.push(self.natural(operand, width)?);
            }
        }
        Ok(Self::unknown(&parts.instruction.opcode.text, width, of, parts.instruction.span))
    }

    /// `mov.b64 {a, b}, c`
    fn unpack(&mut self, parts: &Parts<'_>, elements: &[Operand]) -> Read<()> {
        let width = parts.ty().width;
        let n = Width::try_from(elements.len()).unwrap_or(Width::MAX);
        let each = (width / n.max(1)).max(8);
        let value = self.value(parts.operand(1)?, width)?;
        // The source may be one of the results.
        let whole = self.body.generate(width);
        self.push_assign(whole, value, parts.instruction.span);
        for (number, element) in elements.iter().enumerate() {
            let value = parts.at.part(self.register_value(whole, element.span), number, each);
            self.assign(element, value, false)?;
        }
        Ok(())
    }

    fn set_predicates(&mut self, parts: &Parts<'_>) -> Read<()> {
        let at = parts.at;
        let result = match self.comparison(parts, 1)? {
            Some(result) => result,
            None => self.uncomputed(parts, 1)?,
        };
        let other = at.not(result.clone());
        let combined = |this: &mut Self, result: Expression| -> Read<Expression> {
            let op = ["and", "or", "xor"].into_iter().find(|word| parts.has(word));
            let (Some(op), Some(predicate)) = (op, parts.instruction.operands.get(3)) else {
                return Ok(result);
            };
            let predicate = this.value(predicate, 1)?;
            let op = match op {
                "and" => BinaryOp::And,
                "or" => BinaryOp::Or,
                _ => BinaryOp::Xor,
            };
            Ok(at.binary(op, result, predicate))
        };
        let destination = parts.operand(0)?;
        let OperandKind::Pair(first, second) = &destination.kind else {
            let result = combined(self, result)?;
            return self.assign(destination, result, false);
        };
        // Both are of the operands as they were.
        let (result, other) = (combined(self, result)?, combined(self, other)?);
        let (kept, kept_other) = (self.body.generate(1), self.body.generate(1));
        self.push_assign(kept, result, parts.instruction.span);
        self.push_assign(kept_other, other, parts.instruction.span);
        self.assign(first, self.register_value(kept, first.span), false)?;
        self.assign(second, self.register_value(kept_other, second.span), false)
    }

    /// What `setp` and `set` compare; `None` if it is not computed.
    fn comparison(&mut self, parts: &Parts<'_>, first: usize) -> Read<Option<Expression>> {
        let ty = parts.ty();
        if matches!(ty.kind, 'f' | 't') || !parts.is_understood() {
            return Ok(None);
        }
        let (a, b) =
            (self.value(parts.operand(first)?, ty.width)?, self.value(parts.operand(first + 1)?, ty.width)?);
        let (at, is_signed) = (parts.at, ty.kind == 's');
        let word = parts.words[1..].iter().find(|word| {
            matches!(**word, "eq" | "ne" | "lt" | "le" | "gt" | "ge" | "lo" | "ls" | "hi" | "hs")
        });
        Ok(Some(match word.copied() {
            Some("eq") => at.binary(BinaryOp::Equal, a, b),
            Some("ne") => at.binary(BinaryOp::NotEqual, a, b),
            Some("lt") => at.less(a, b, is_signed),
            Some("gt") => at.less(b, a, is_signed),
            Some("le") => at.not(at.less(b, a, is_signed)),
            Some("ge") => at.not(at.less(a, b, is_signed)),
            Some("lo") => at.less(a, b, false),
            Some("hi") => at.less(b, a, false),
            Some("ls") => at.not(at.less(b, a, false)),
            Some("hs") => at.not(at.less(a, b, false)),
            _ => return Ok(None),
        }))
    }

    /// What an instruction computes; `None` if that is not computed here.
    fn computed(&mut self, parts: &Parts<'_>) -> Read<Option<Expression>> {
        let (at, ty, is_signed) = (parts.at, parts.ty(), parts.is_signed());
        let mnemonic = parts.words[0];
        let moves_bits = matches!(mnemonic, "mov" | "selp" | "slct");
        let is_float = parts.types.iter().any(|ty| matches!(ty.kind, 'f' | 't'));
        if (is_float && !moves_bits) || !parts.is_understood() {
            return Ok(None);
        }
        let width = ty.width;
        let mut operand = |number: usize| -> Read<Expression> { self.value(parts.operand(number)?, width) };
        let value = match mnemonic {
            "mov" => operand(1)?,
            "add" => at.add(operand(1)?, operand(2)?),
            "sub" => at.binary(BinaryOp::Subtract, operand(1)?, operand(2)?),
            "and" => at.binary(BinaryOp::And, operand(1)?, operand(2)?),
            "or" => at.binary(BinaryOp::Or, operand(1)?, operand(2)?),
            "xor" => at.binary(BinaryOp::Xor, operand(1)?, operand(2)?),
            "not" => at.not(operand(1)?),
            "cnot" => {
                let is_zero = at.binary(BinaryOp::Equal, operand(1)?, at.constant(0, width));
                resized(is_zero, width)
            }
            "neg" => at.negate(operand(1)?),
            "abs" => at.absolute(operand(1)?),
            "min" | "max" => {
                let (a, b) = (operand(1)?, operand(2)?);
                let less = at.less(a.clone(), b.clone(), is_signed);
                if mnemonic == "min" { at.select(less, a, b) } else { at.select(less, b, a) }
            }
            "mul" | "mad" => {
                let (a, b) = (operand(1)?, operand(2)?);
                let product = if parts.has("wide") {
                    at.product(a, b, is_signed)
                } else if parts.has("hi") {
                    at.high_product(a, b, is_signed)
                } else {
                    at.binary(BinaryOp::Multiply, a, b)
                };
                if mnemonic == "mul" {
                    product
                } else {
                    let wide = product.width;
                    at.add(product, self.value(parts.operand(3)?, wide)?)
                }
            }
            "mul24" | "mad24" => {
                let low = |value: Expression| {
                    let upper = at.constant(8, 32);
                    let shifted = at.binary(BinaryOp::ShiftLeft, value, upper.clone());
                    at.shift(BinaryOp::ShiftRight, shifted, upper, is_signed)
                };
                let product = at.product(low(operand(1)?), low(operand(2)?), is_signed);
                let amount = at.constant(if parts.has("hi") { 16 } else { 0 }, 64);
                let product = resized(at.binary(BinaryOp::ShiftRight, product, amount), 32);
                if mnemonic == "mul24" { product } else { at.add(product, operand(3)?) }
            }
            "div" | "rem" => {
                let (a, b) = (operand(1)?, operand(2)?);
                match (is_signed, mnemonic) {
                    (true, _) => at.signed_division(a, b, mnemonic == "rem"),
                    (false, "div") => at.binary(BinaryOp::Divide, a, b),
                    (false, _) => at.binary(BinaryOp::Remainder, a, b),
                }
            }
            "sad" => {
                let (a, b) = (operand(1)?, operand(2)?);
                let less = at.less(a.clone(), b.clone(), is_signed);
                let (up, down) = (
                    at.binary(BinaryOp::Subtract, b.clone(), a.clone()),
                    at.binary(BinaryOp::Subtract, a, b),
                );
                at.add(at.select(less, up, down), operand(3)?)
            }
            "shl" | "shr" => {
                let value = operand(1)?;
                let amount = self.value(parts.operand(2)?, 32)?;
                let op = if mnemonic == "shl" { BinaryOp::ShiftLeft } else { BinaryOp::ShiftRight };
                at.shift(op, value, amount, is_signed && mnemonic == "shr")
            }
            "shf" => {
                let (low, high, amount) = (operand(1)?, operand(2)?, operand(3)?);
                at.funnel(low, high, amount, parts.has("l"), parts.has("wrap"))
            }
            "bfe" => at.extract(operand(1)?, operand(2)?, operand(3)?, is_signed),
            "bfi" => at.insert(operand(1)?, operand(2)?, operand(3)?, operand(4)?),
            "lop3" => match self.constant_operand(parts, 4)? {
                Some(table) if parts.types.len() == 1 && !matches!(parts.words[1], "and" | "or") => {
                    let [a, b, c] = [1, 2, 3].map(|number| self.value(parts.operand(number)?, width));
                    at.table([a?, b?, c?], (table & 0xff) as u8)
                }
                _ => return Ok(None),
            },
            "prmt" => match self.constant_operand(parts, 3)? {
                Some(selector) => {
                    let (low, high) =
                        (self.value(parts.operand(1)?, 32)?, self.value(parts.operand(2)?, 32)?);
                    at.permuted(low, high, selector)
                }
                _ => return Ok(None),
            },
            "popc" | "clz" | "brev" | "bfind" => return self.counted(parts).map(Some),
            "selp" => {
                let (then, otherwise) = (operand(1)?, operand(2)?);
                let condition = self.value(parts.operand(3)?, 1)?;
                at.select(condition, then, otherwise)
            }
            "slct" => {
                if ty.kind == 'f' {
                    return Ok(None);
                }
                let width = parts.types.first().map_or(32, |ty| ty.width);
                let (then, otherwise) =
                    (self.value(parts.operand(1)?, width)?, self.value(parts.operand(2)?, width)?);
                let sign = self.value(parts.operand(3)?, 32)?;
                at.select(at.is_negative(sign), otherwise, then)
            }
            "set" => {
                let Some(result) = self.comparison(parts, 1)? else { return Ok(None) };
                if parts.has("and") || parts.has("or") || parts.has("xor") {
                    return Ok(None);
                }
                at.select(result, at.constant(u128::MAX, 32), at.constant(0, 32))
            }
            "cvt" => {
                let [to, from] = parts.types[..] else { return Ok(None) };
                let value = self.value(parts.operand(1)?, from.width)?;
                at.extended(value, to.width, from.kind == 's')
            }
            "cvta" => {
                let value = self.value(parts.operand(1)?, width)?;
                let value = resized(value, 64);
                match window_of(parts.words) {
                    None => value,
                    Some(window) => {
                        let window = at.constant(u128::from(window), 64);
                        let op = if parts.has("to") { BinaryOp::Subtract } else { BinaryOp::Add };
                        at.binary(op, value, window)
                    }
                }
            }
            "isspacep" => return self.is_in_space(parts).map(Some),
            "mapa" => {
                let address = self.value(parts.operand(1)?, width)?;
                let rank = resized(self.value(parts.operand(2)?, 32)?, width);
                let shift = at.constant(u128::from(RANK_SHIFT), width);
                let above = at.binary(BinaryOp::ShiftLeft, at.add(rank, at.constant(1, width)), shift);
                // Of a generic address, the window stays as well.
                let kept = u128::from(SHARED_WINDOW) | ((1 << RANK_SHIFT) - 1);
                at.binary(BinaryOp::Or, at.binary(BinaryOp::And, address, at.constant(kept, width)), above)
            }
            "getctarank" => {
                let address = resized(self.value(parts.operand(1)?, width)?, 32);
                let above = at.binary(BinaryOp::ShiftRight, address, at.constant(u128::from(RANK_SHIFT), 32));
                let own = Expression {
                    span: at.0,
                    width: 32,
                    kind: ExpressionKind::Coordinate(Coordinate::ClusterCtarank),
                };
                let is_own = at.binary(BinaryOp::Equal, above.clone(), at.constant(0, 32));
                at.select(is_own, own, at.binary(BinaryOp::Subtract, above, at.constant(1, 32)))
            }
            _ => return Ok(None),
        };
        Ok(Some(value))
    }

    /// The value of an operand, if it is a number.
    fn constant_operand(&mut self, parts: &Parts<'_>, number: usize) -> Read<Option<u128>> {
        let value = self.value(parts.operand(number)?, 32)?;
        Ok(match value.kind {
            ExpressionKind::Constant(constant) => Some(constant),
            _ => None,
        })
    }

    fn is_in_space(&mut self, parts: &Parts<'_>) -> Read<Expression> {
        let at = parts.at;
        let address = resized(self.natural(parts.operand(1)?, 64)?, 64);
        let window = |start: u64, bytes: u64| {
            let offset = at.binary(BinaryOp::Subtract, address.clone(), at.constant(u128::from(start), 64));
            at.binary(BinaryOp::Less, offset, at.constant(u128::from(bytes), 64))
        };
        if parts.has("global") {
            return Ok(window(GLOBAL_WINDOW, u64::MAX - GLOBAL_WINDOW));
        }
        match window_of(parts.words) {
            Some(start) if start == SHARED_WINDOW && !parts.has("shared::cluster") => {
                // Those of peers have a rank in them.
                Ok(window(start, 1 << RANK_SHIFT))
            }
            Some(start) => Ok(window(start, WINDOW_BYTES)),
            None => Ok(at.constant(0, 1)),
        }
    }

    /// Keeps a value that is used more than once.
    fn keep(&mut self, value: Expression) -> Expression {
        let (span, width) = (value.span, value.width);
        let register = self.body.generate(width);
        self.push_assign(register, value, span);
        self.register_value(register, span)
    }

    /// `popc`, `clz`, `brev`, `bfind`: by halves.
    fn counted(&mut self, parts: &Parts<'_>) -> Read<Expression> {
        let (at, width) = (parts.at, parts.ty().width);
        let value = self.value(parts.operand(1)?, width)?;
        let c = |value: u128| at.constant(value, width);
        let mnemonic = parts.words[0];
        // Each group of so many bits has these of a word of groups of twice as many.
        let halves = |bits: Width| {
            (0..128 / (2 * u32::from(bits)))
                .fold(0_u128, |all, group| all | (((1_u128 << bits) - 1) << (group * 2 * u32::from(bits))))
        };
        let steps: Vec<Width> = [1, 2, 4, 8, 16, 32].into_iter().filter(|&step| step < width).collect();
        match mnemonic {
            "popc" | "brev" => {
                let mut value = self.keep(value);
                for &step in &steps {
                    let (low, amount) = (c(halves(step)), c(u128::from(step)));
                    let kept = at.binary(BinaryOp::And, value.clone(), low.clone());
                    let upper = at.binary(BinaryOp::ShiftRight, value.clone(), amount.clone());
                    let upper = at.binary(BinaryOp::And, upper, low);
                    value = self.keep(if mnemonic == "popc" {
                        at.add(kept, upper)
                    } else {
                        at.binary(BinaryOp::Or, at.binary(BinaryOp::ShiftLeft, kept, amount), upper)
                    });
                }
                Ok(if mnemonic == "popc" { resized(value, 32) } else { value })
            }
            _ => {
                // Numbers with sign are looked at without their copies of it.
                let value = if parts.is_signed() {
                    at.select(at.is_negative(value.clone()), at.not(value.clone()), value)
                } else {
                    value
                };
                let mut value = self.keep(value);
                let mut count = at.constant(0, 32);
                for &step in steps.iter().rev() {
                    let limit = c(1 << (width - step));
                    let is_small = self.keep(at.binary(BinaryOp::Less, value.clone(), limit));
                    let more = at.add(count.clone(), at.constant(u128::from(step), 32));
                    count = self.keep(at.select(is_small.clone(), more, count));
                    let shifted = at.binary(BinaryOp::ShiftLeft, value.clone(), c(u128::from(step)));
                    value = self.keep(at.select(is_small, shifted, value));
                }
                let is_zero = self.keep(at.binary(BinaryOp::Equal, value, c(0)));
                let all = at.constant(u128::from(width), 32);
                if mnemonic == "clz" {
                    return Ok(at.select(is_zero, all, count));
                }
                let last = at.constant(u128::from(width) - 1, 32);
                let found =
                    if parts.has("shiftamt") { count } else { at.binary(BinaryOp::Subtract, last, count) };
                Ok(at.select(is_zero, at.constant(u128::MAX, 32), found))
            }
        }
    }
}
