//! `wgmma.mma_async` and `mov` with their operands: registers are objects, too, one instance per thread.

use super::super::super::ast::Operand;
use super::super::super::program::{Address, AsyncOp, InstructionKind, MatrixOp, Width};
use super::super::Resolved;
use super::super::body::Body;
use super::super::expression::constant_value;
use super::super::instruction::{Parts, Results, Site, operand_span};
use crate::diagnostic::Diagnostic;
use crate::vocabulary::{Scope, Sem, Space};

impl Body<'_> {
    /// `acc, [a] or a, [b]{, scale-d{, immediates}}`
    pub(super) fn resolve_matrix(&mut self, site: &Site<'_>, text: String) -> Resolved<(String, AsyncOp)> {
        let form = "an accumulator, A, B, and maybe whether the accumulator is added to and scales";
        self.expect_operands(site, 3, 8, form)?;
        let (accumulator, _) = self.register_operand(site, &site.operands[0])?;
        let a = match &site.operands[1] {
            Operand::Memory(_) => self.data_operand(site, &site.operands[1], Space::Shared, "AS-24")?.0,
            operand => self.register_operand(site, operand)?.0,
        };
        let (b, _) = self.data_operand(site, &site.operands[2], Space::Shared, "AS-24")?;
        for address in [&a, &b] {
            if self.space_of(address) != Some(Space::Register) {
                self.expect_own_cta(site, address, "AS-24", "read by `wgmma`")?;
            }
        }
        let mut accumulates = true;
        for (number, operand) in site.operands[3..].iter().enumerate() {
            let Operand::Expr(expr) = operand else {
                return Err(self.wrong_operand(site, operand_span(operand, site.span), "a scale"));
            };
            let value = self.resolve_expression(expr, None)?;
            if number == 0 {
                accumulates = constant_value(&value) != Some(0);
            }
        }
        Ok((text, AsyncOp::Matrix(MatrixOp { accumulator, accumulates, a, b })))
    }

    /// `let v = mov acc;` reads registers that are an object, `mov acc, v;` writes them.
    pub(in super::super) fn resolve_move(&mut self, site: &Site<'_>) -> Resolved<Parts> {
        let (sem, scope) = (Sem::Weak, Scope::Cta);
        if let Results::One(name) = site.results {
            self.expect_operands(site, 1, 1, "a register object")?;
            let (address, width) = self.register_operand(site, &site.operands[0])?;
            let destination = self.result_register(name, width);
            let kind = InstructionKind::Load {
                destinations: vec![destination],
                address,
                sem,
                scope,
                non_coherent: false,
            };
            return Ok((format!("mov.b{width}"), kind, vec![destination]));
        }
        self.expect_no_result(site)?;
        self.expect_operands(site, 2, 2, "a register object and a value")?;
        let (address, width) = self.register_operand(site, &site.operands[0])?;
        let value = self.value_operand(site, &site.operands[1], width)?;
        let kind = InstructionKind::Store { values: vec![value], address, sem, scope };
        Ok((format!("mov.b{width}"), kind, Vec::new()))
    }

    /// A register object, by its name: `acc`, `acc[1]`.
    pub(super) fn register_operand(
        &mut self,
        site: &Site<'_>,
        operand: &Operand,
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
        let (address, width) = self.resolve_address(&memory)?;
        if self.space_of(&address) == Some(Space::Register) {
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
