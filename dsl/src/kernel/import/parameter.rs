//! What a kernel is given: numbers, addresses, tensor maps, and structures, of which each field has its place in bytes.

use super::bits::At;
use super::harness::{Given, MAP_HELP};
use super::lower::Lower;
use super::memory::TENSORMAP_BYTES;
use super::resized;
use super::value::{Read, written};
use crate::diagnostic::Diagnostic;
use crate::kernel::program::flat::PARAM_WINDOW;
use crate::kernel::program::{BinaryOp, Expression, Width};
use crate::ptx::module::Instruction;
use crate::span::Span;

/// Where the first parameter is whose fields have addresses, behind tensor maps that are parameters by themselves, and how far
/// the next one is: no kernel has more bytes of parameters.
const FIRST: u64 = PARAM_WINDOW + (1 << 24);
const STEP: u64 = 1 << 16;

/// Bytes of an address.
const ADDRESS_BYTES: u64 = 8;

/// The generic address of a parameter that has fields.
pub(super) fn start_of(number: usize) -> u64 {
    FIRST + number as u64 * STEP
}

impl Lower<'_, '_> {
    /// What is said of a parameter, by place in bytes.
    fn fields(&self, number: usize) -> impl Iterator<Item = (u64, &Given)> {
        let all = self.harness.parameters.range((number, 0)..=(number, u64::MAX));
        all.map(|(&(_, offset), given)| (offset, given))
    }

    /// `ld.param`: what the harness says of a parameter.
    pub(super) fn load_parameter(&mut self, instruction: &Instruction, words: &[&str]) -> Read<()> {
        let [destination, source] = Self::two_operands(instruction)?;
        let ty = super::access::type_of(words);
        let known = source.place().and_then(|(name, offset)| Some((*self.parameters.get(name)?, offset)));
        let bytes = u64::from(ty.width / 8);
        for (index, element) in Self::elements(destination).iter().enumerate() {
            let value = match known {
                Some((number, offset)) => {
                    let offset = offset + index as i128 * i128::from(bytes);
                    self.parameter_bytes((number, offset), bytes, source.span)?
                }
                None => {
                    let address = self.address(source, words)?;
                    let at = At(source.span);
                    let address = at.add(address, at.constant(index as u128 * u128::from(bytes), 64));
                    self.field_at(address, ty.width, source.span)?
                }
            };
            self.assign(element, resized(value, ty.width), ty.kind == 's')?;
        }
        Ok(())
    }

    /// Some bytes of a parameter.
    fn parameter_bytes(&self, (number, offset): (usize, i128), bytes: u64, span: Span) -> Read<Expression> {
        let parameter = &self.entry.parameters[number];
        let end = offset + i128::from(bytes);
        if offset < 0 || end > i128::from(parameter.bytes) {
            let message = format!("parameter {number} has {} bytes", parameter.bytes);
            let error = Diagnostic::new("validate::import-setting", message, span, "read past its end");
            return Err(Box::new(error.with_label(parameter.name.span, "declared here")));
        }
        let at = At(span);
        let first = u64::try_from(offset).unwrap_or(0);
        let last = first + bytes;
        let mut value: Option<Expression> = None;
        let mut next = first;
        while next < last {
            let before = self.fields(number).take_while(|(start, _)| *start <= next).last();
            let Some((start, given)) = before else { return Err(self.not_said(number, next, span)) };
            if given.is_map {
                let message = format!("parameter {number} is a tensor map here, whose bytes are not told");
                return Err(Box::new(Diagnostic::new("unsupported::ptx-parameter", message, span, "here")));
            }
            // A number fills what is read where it is; an address and a parameter that is no structure are known as a whole.
            let is_whole = given.is_address || !parameter.is_array;
            if next >= start + ADDRESS_BYTES || next > start && !is_whole {
                return Err(self.not_said(number, next, span));
            }
            let behind = self.fields(number).map(|(start, _)| start).find(|&other| other > start);
            let until = last.min(start + ADDRESS_BYTES).min(behind.unwrap_or(u64::MAX));
            let amount = |bytes: u64| at.constant(u128::from(bytes) * 8, 64);
            let mut part = given.value.clone();
            if next > start {
                part = at.binary(BinaryOp::ShiftRight, part, amount(next - start));
            }
            if value.is_some() || until < last {
                let width = Width::try_from((until - next) * 8).unwrap_or(64);
                part = resized(resized(part, width), 64);
            }
            value = Some(match value {
                None => part,
                Some(lower) => {
                    at.binary(BinaryOp::Or, lower, at.binary(BinaryOp::ShiftLeft, part, amount(next - first)))
                }
            });
            next = until;
        }
        Ok(value.unwrap_or_else(|| at.constant(0, 64)))
    }

    /// The value of the field at an address that is computed; of none, it is unknown.
    fn field_at(&self, address: Expression, width: Width, span: Span) -> Read<Expression> {
        let at = At(span);
        let mut value = Self::unknown("parameter", width, vec![address.clone()], span);
        for (&(number, offset), given) in self.harness.parameters.iter() {
            let parameter = &self.entry.parameters[number];
            let fits = offset + u64::from(width / 8) <= parameter.bytes;
            if !fits || given.is_map || parameter.bytes <= ADDRESS_BYTES {
                continue;
            }
            let own = self.parameter_bytes((number, i128::from(offset)), u64::from(width / 8), span)?;
            let place = at.constant(u128::from(start_of(number) + offset), 64);
            let is_here = at.binary(BinaryOp::Equal, address.clone(), place);
            value = at.select(is_here, resized(own, width), value);
        }
        Ok(value)
    }

    fn not_said(&self, number: usize, offset: u64, span: Span) -> Box<Diagnostic> {
        let parameter = &self.entry.parameters[number];
        let name = written(&self.entry.name.text);
        let (what, which) = if parameter.is_array {
            (
                format!("what parameter {number} of `{name}` holds at byte {offset}"),
                format!("{number}[{offset}]"),
            )
        } else {
            (format!("what parameter {number} of `{name}` is"), number.to_string())
        };
        let message = format!("nothing says {what}");
        let error = Diagnostic::new("validate::import-setting", message, span, "read here")
            .with_label(parameter.name.span, "declared here");
        Box::new(error.with_help(format!(
            "write `param {which} = …;` in the `import`: a number, `&x` for the address of an object, or `in 0..=3`"
        )))
    }

    /// The address of a parameter, in its own state space, which `cvta.param` leaves: of a tensor map, or of a structure.
    pub(super) fn parameter_address(
        &mut self,
        (name, number): (&str, usize),
        span: Span,
    ) -> Read<Expression> {
        let parameter = &self.entry.parameters[number];
        let is_map = parameter.bytes == TENSORMAP_BYTES;
        let place = |at: u128| Ok(At(span).constant(at.wrapping_sub(u128::from(PARAM_WINDOW)), 64));
        match self.harness.parameters.get(&(number, 0)) {
            Some(given) if is_map && given.is_map => place(given.address().unwrap_or(0)),
            None if is_map && self.fields(number).next().is_none() => {
                let message = format!("nothing says which tensor map parameter {number} is");
                let error =
                    Diagnostic::new("validate::import-setting", message, span, "its address is taken")
                        .with_label(parameter.name.span, "declared here");
                Err(Box::new(error.with_help(MAP_HELP)))
            }
            _ if parameter.is_array => {
                self.taken.insert(number);
                place(u128::from(start_of(number)))
            }
            _ => {
                let message = format!("the address of the parameter `{name}` is not checked by this version");
                Err(Box::new(Diagnostic::new("unsupported::ptx-parameter", message, span, "taken here")))
            }
        }
    }
}
