//! Operands of PTX as expressions: registers, numbers, special registers, addresses of variables.

use super::bits::{At, mask};
use super::compute::computes;
use super::lower::Lower;
use super::resized;
use crate::diagnostic::Diagnostic;
use crate::kernel::program::flat::{LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW};
use crate::kernel::program::{
    Axis, BinaryOp, Coordinate, Expression, ExpressionKind, RegisterId, VectorRegister, Width,
};
use crate::ptx::module::{Operand, OperandKind};
use crate::span::Span;

/// How special registers begin that PTX has and of which nothing is known here.
const OTHER_SPECIAL: &[&str] = &[
    "%pm",
    "%total_smem_size",
    "%aggr_smem_size",
    "%reserved_smem",
    "%current_graph_exec",
    "%is_explicit_cluster",
];

/// An error, which is one of the text, or says what is not checked.
pub type Read<T> = Result<T, Box<Diagnostic>>;

impl Lower<'_, '_> {
    /// A register's value.
    pub(super) fn register_value(&self, register: RegisterId, span: Span) -> Expression {
        let width = self.body.registers[register].width;
        Expression { span, width, kind: ExpressionKind::Register(register) }
    }

    /// An operand as it is: a register has the width that it was declared with, a number takes `width`.
    pub(super) fn natural(&mut self, operand: &Operand, width: Width) -> Read<Expression> {
        let at = At(operand.span);
        match &operand.kind {
            OperandKind::Integer(value) => Ok(at.constant(value.cast_unsigned(), width)),
            OperandKind::Float(bits, own) => Ok(at.constant(float_bits((*bits, *own), width), width)),
            OperandKind::Name(name) => self.name_value(name, operand.span, width),
            OperandKind::Sum(name, offset) => {
                let base = self.name_value(name, operand.span, width)?;
                let width = base.width;
                Ok(at.add(base, at.constant(offset.cast_unsigned(), width)))
            }
            OperandKind::Not(inner) => {
                let inner = self.natural(inner, width)?;
                Ok(at.not(inner))
            }
            OperandKind::Vector(parts) => {
                let n = Width::try_from(parts.len().max(1)).unwrap_or(Width::MAX);
                let each: Read<Vec<Expression>> =
                    parts.iter().map(|part| self.value(part, (width / n).max(8))).collect();
                Ok(at.joined(&each?))
            }
            OperandKind::Memory(_) | OperandKind::Group(_) | OperandKind::Pair(..) => {
                let message = "a value is needed here";
                Err(Box::new(Diagnostic::new("syntax::ptx", message, operand.span, "not a value")))
            }
        }
    }

    /// An operand at a width: truncated, or extended with zeros.
    pub(super) fn value(&mut self, operand: &Operand, width: Width) -> Read<Expression> {
        Ok(resized(self.natural(operand, width)?, width))
    }

    /// An operand at a width, which a wider one must have; extended with its sign if it is narrower.
    fn name_value(&mut self, name: &str, span: Span, width: Width) -> Read<Expression> {
        if let Some(register) = self.register(name) {
            return Ok(self.register_value(register, span));
        }
        if let Some(&(number, own)) = self.variables.get(name) {
            return Ok(At(span).constant(u128::from(number), own));
        }
        if name.starts_with('%') {
            return self.special(name, span);
        }
        if let Some(&number) = self.parameters.get(name) {
            return self.parameter_address((name, number), span);
        }
        if name == "WARP_SZ" {
            return Ok(At(span).constant(32, width));
        }
        let message = format!("`{}` is not declared", written(name));
        Err(Box::new(Diagnostic::new("resolve::unknown-name", message, span, "unknown name")))
    }

    /// A value of which nothing is known but what it is made of.
    pub(super) fn unknown(by: &str, width: Width, of: Vec<Expression>, span: Span) -> Expression {
        Expression {
            span,
            width,
            kind: ExpressionKind::Uncomputed {
                by: by.to_owned(),
                of,
                is_function: computes(by.split('.').next().unwrap_or_default()),
            },
        }
    }

    fn coordinate(coordinate: Coordinate, span: Span) -> Expression {
        Expression { span, width: 32, kind: ExpressionKind::Coordinate(coordinate) }
    }

    /// A special register.
    fn special(&mut self, name: &str, span: Span) -> Read<Expression> {
        let at = At(span);
        let (base, axis) = match name.split_once('.') {
            Some((base, "x")) => (base, Axis::X),
            Some((base, "y")) => (base, Axis::Y),
            Some((base, "z")) => (base, Axis::Z),
            _ => (name, Axis::X),
        };
        let lane = || Self::coordinate(Coordinate::Laneid, span);
        let one_bit = || at.binary(BinaryOp::ShiftLeft, at.constant(1, 32), lane());
        let below = || at.binary(BinaryOp::Subtract, one_bit(), at.constant(1, 32));
        let along = |register| Self::coordinate(Coordinate::Along(register, axis), span);
        Ok(match base {
            "%tid" => along(VectorRegister::Tid),
            "%ntid" => along(VectorRegister::Ntid),
            "%ctaid" => along(VectorRegister::Ctaid),
            "%nctaid" => along(VectorRegister::Nctaid),
            "%laneid" => lane(),
            "%warpid" => Self::coordinate(Coordinate::Warpid, span),
            "%nwarpid" => Self::coordinate(Coordinate::Nwarpid, span),
            "%clusterid" => along(VectorRegister::Clusterid),
            "%nclusterid" => along(VectorRegister::Nclusterid),
            "%cluster_ctaid" => along(VectorRegister::ClusterCtaid),
            "%cluster_nctaid" => along(VectorRegister::ClusterNctaid),
            "%cluster_ctarank" => Self::coordinate(Coordinate::ClusterCtarank, span),
            "%cluster_nctarank" => Self::coordinate(Coordinate::ClusterNctarank, span),
            "%lanemask_eq" => one_bit(),
            "%lanemask_lt" => below(),
            "%lanemask_le" => at.binary(BinaryOp::Or, below(), one_bit()),
            "%lanemask_ge" => at.not(below()),
            "%lanemask_gt" => at.not(at.binary(BinaryOp::Or, below(), one_bit())),
            "%dynamic_smem_size" => at.constant(u128::from(self.harness.dynamic_bytes.unwrap_or(0)), 32),
            "%clock64" | "%globaltimer" | "%gridid" => Self::unknown(name, 64, Vec::new(), span),
            "%clock" | "%clock_hi" | "%globaltimer_lo" | "%globaltimer_hi" | "%smid" | "%nsmid" => {
                Self::unknown(name, 32, Vec::new(), span)
            }
            _ => {
                if let Some(number) = base.strip_prefix("%envreg").and_then(|number| number.parse().ok()) {
                    return self.environment(number, span);
                }
                if !OTHER_SPECIAL.iter().any(|known| base.starts_with(known)) {
                    let message = format!("`{}` is not declared", written(name));
                    return Err(Box::new(Diagnostic::new(
                        "resolve::unknown-name",
                        message,
                        span,
                        "unknown name",
                    )));
                }
                let message = format!("`{name}` is not checked by this version");
                return Err(Box::new(Diagnostic::new(
                    "unsupported::ptx-register",
                    message,
                    span,
                    "read here",
                )));
            }
        })
    }

    /// An environment register, which the driver sets.
    fn environment(&mut self, number: u32, span: Span) -> Read<Expression> {
        match self.harness.environment.iter().find(|(known, _)| *known == number) {
            Some(&(_, value)) => Ok(At(span).constant(u128::from(value), 32)),
            None => {
                let message = format!("nothing says what `%envreg{number}` holds");
                let error = Diagnostic::new("validate::import-setting", message, span, "read here");
                Err(Box::new(error.with_help(
                    "the driver sets it: of a cooperative launch, 1 and 2 are the halves of the address of the grid's \
                     workspace; declare `global workspace[8]: u32 = 0;` and write `envreg 1..2 = &workspace;`",
                )))
            }
        }
    }

    /// The generic address that an operand in brackets names, by the state space of the opcode.
    pub(super) fn address(&mut self, operand: &Operand, words: &[&str]) -> Read<Expression> {
        self.address_in(operand, window_of(words))
    }

    /// The same, by where its state space starts.
    pub(super) fn address_in(&mut self, operand: &Operand, window: Option<u64>) -> Read<Expression> {
        let at = At(operand.span);
        let inner = match &operand.kind {
            OperandKind::Memory(parts) if parts.len() == 1 => &parts[0],
            _ => {
                let message = "an address in brackets is needed here";
                return Err(Box::new(Diagnostic::new(
                    "syntax::ptx",
                    message,
                    operand.span,
                    "not an address",
                )));
            }
        };
        let number = self.natural(inner, 64)?;
        // Of a variable, the address in its own space is what its name stands for; without a space, in the generic one.
        Ok(match window {
            Some(window) if window == SHARED_WINDOW => {
                let offset = resized(resized(number, 32), 64);
                at.add(offset, at.constant(u128::from(window), 64))
            }
            Some(window) => at.add(resized(number, 64), at.constant(u128::from(window), 64)),
            None => resized(number, 64),
        })
    }
}

/// Where the state space of an opcode starts, unless its addresses are the generic ones.
pub(super) fn window_of(words: &[&str]) -> Option<u64> {
    words.iter().find_map(|word| match *word {
        "shared" | "shared::cta" | "shared::cluster" => Some(SHARED_WINDOW),
        "local" => Some(LOCAL_WINDOW),
        "param" | "param::entry" | "param::func" => Some(PARAM_WINDOW),
        _ => None,
    })
}

/// The bits of a floating-point number at a width.
fn float_bits((bits, own): (u64, u8), width: Width) -> u128 {
    match (own, width) {
        #[expect(clippy::cast_possible_truncation, reason = "a number that is written with 64 bits, at 32")]
        (64, 32) => u128::from((f64::from_bits(bits) as f32).to_bits()),
        _ => u128::from(bits) & mask(width),
    }
}

/// A name without the number of its scope.
pub(super) fn written(name: &str) -> &str {
    name.split('@').next().unwrap_or(name)
}
