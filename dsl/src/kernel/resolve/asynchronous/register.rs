//! Registers as operands: those that matrix operations use are objects, one instance per thread.

use super::super::super::ast::{Memory, Operand};
use super::super::super::program::{Address, ResolvedOperand, Width};
use super::super::Resolved;
use super::super::body::Body;
use super::super::instruction::{Site, operand_span};
use crate::diagnostic::Diagnostic;
use crate::vocabulary::Space;

impl Body<'_> {
    /// One register of an object, by its name: `acc`, `acc[1]`.
    pub(in crate::kernel) fn register_operand(
        &mut self,
        site: &Site<'_>,
        operand: &Operand,
    ) -> Resolved<(Address, Width)> {
        self.registers(site, operand, Self::resolve_address)
    }

    /// All registers that a name stands for: of an array without index those of all its elements.
    pub(in crate::kernel) fn registers_operand(
        &mut self,
        site: &Site<'_>,
        operand: &Operand,
    ) -> Resolved<(Address, Width)> {
        self.registers(site, operand, Self::resolve_run)
    }

    fn registers(
        &mut self,
        site: &Site<'_>,
        operand: &Operand,
        resolve: fn(&mut Self, &Memory) -> Resolved<(Address, Width)>,
    ) -> Resolved<(Address, Width)> {
        let memory = match operand {
            Operand::Expr(expr) => Self::as_memory(expr),
            Operand::Memory(_) | Operand::Vector(_) | Operand::Sink(_) | Operand::Tensor(_) => None,
        };
        let Some(memory) = memory else {
            return Err(self.wrong_operand(
                site,
                operand_span(operand, site.span),
                "registers, declared as `register acc: u32;`,",
            ));
        };
        let (address, width) = resolve(self, &memory)?;
        if self.space_of(&address) == Some(Space::Register) {
            if let Some(taken) = self.taken.as_mut().and_then(|taken| taken.last_mut()) {
                *taken = ResolvedOperand::Registers(address.clone());
            }
            return Ok((address, width));
        }
        let message =
            format!("`{}` is memory, and `{}` takes registers here", memory.name.text, site.opcode.text);
        let error = Diagnostic::new("validate::register-operand", message, address.span, "not registers");
        let help = format!(
            "declare `register {}: u32;` for registers that a matrix operation uses; `let` and `var` are for others",
            memory.name.text
        );
        Err(self.report(error.with_help(help).with_rule("AS-26")))
    }
}
