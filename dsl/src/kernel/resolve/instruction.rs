//! Instructions with their operands: counts, kinds, widths, state spaces, alignment, and the full spelling.

use super::super::ast::{Name, Operand};
use super::super::isa::access::{self, Access};
use super::super::isa::{self, Built};
use super::super::opcode::Opcode;
use super::super::program::{
    Address, AddressBase, Expression, Instruction, InstructionKind, Register, RegisterId, ResolvedOperand,
    Width,
};
use super::body::Body;
use super::expression::constant_value;
use super::multimem::Purpose;
use super::{Reported, Resolved};
use crate::diagnostic::Diagnostic;
use crate::span::Span;
use crate::vocabulary::{Sem, Space};

/// What is done with an instruction's results; a missing name is `_`.
#[derive(Clone, Copy, Debug)]
pub(in crate::kernel) enum Results<'a> {
    /// A plain statement.
    Nothing,
    /// One value.
    One(Option<&'a str>),
    /// `{a, b}`
    Vector(&'a [Option<String>]),
}

/// The name for a result that only the front end reads.
const GENERATED: &str = "";

/// An instruction's opcode and operands while they are looked at.
#[derive(Clone)]
pub(in crate::kernel) struct Site<'a> {
    pub(in crate::kernel) opcode: Opcode<'a>,
    pub(in crate::kernel) span: Span,
    pub(in crate::kernel) operands: &'a [Operand],
    pub(in crate::kernel) results: Results<'a>,
}

impl Body<'_> {
    /// An instruction inside an expression: its value goes to a generated register.
    pub(in crate::kernel) fn resolve_instruction_value(
        &mut self,
        opcode: &Name,
        operands: &[Operand],
        span: Span,
    ) -> Resolved<RegisterId> {
        let registers = self.resolve_instruction(opcode, operands, span, Results::One(Some(GENERATED)))?;
        registers.first().copied().flatten().ok_or(Reported)
    }

    /// An instruction; returns the registers of its results.
    pub(in crate::kernel) fn resolve_instruction(
        &mut self,
        opcode: &Name,
        operands: &[Operand],
        span: Span,
        results: Results<'_>,
    ) -> Resolved<Vec<Option<RegisterId>>> {
        let opcode = Opcode::new(opcode);
        let site = Site { opcode, span, operands, results };
        let mut words = match isa::read(&site.opcode, self.checker.target) {
            Ok(words) => words,
            Err(error) => return Err(self.report(error)),
        };
        let outer = self.taken.replace(Vec::new());
        let built = (words.form().build)(self, &site, &mut words);
        let mut taken = std::mem::replace(&mut self.taken, outer).unwrap_or_default();
        taken.sort_by_key(ResolvedOperand::span);
        let (kind, results) = built?;
        self.check_extreme_sign(&words, operands, &taken)?;
        let opcode = (words.text(), site.opcode.span);
        self.push(span, Instruction::statement(opcode, words.form(), kind, (results.clone(), taken)));
        Ok(results)
    }

    /// An instruction without operands and result.
    pub(in crate::kernel) fn plain(&mut self, site: &Site<'_>, kind: InstructionKind) -> Resolved<Built> {
        self.expect_no_result(site)?;
        self.expect_operands(site, 0, 0, "no operands")?;
        Ok((kind, Vec::new()))
    }

    /// A mask of lanes, of which there is one.
    pub(in crate::kernel) fn lanes_operand(
        &mut self,
        site: &Site<'_>,
        operand: &Operand,
        rule: &'static str,
    ) -> Resolved<Expression> {
        let mask = self.value_operand(site, operand, 32)?;
        if constant_value(&mask) == Some(0) {
            let message = "the mask names no lane, so the executing lane is not in it";
            let error = Diagnostic::new("validate::warp-mask", message, mask.span, "no lane");
            return Err(self.report(error.with_help("write `0xffffffff` for all lanes").with_rule(rule)));
        }
        Ok(mask)
    }

    pub(in crate::kernel) fn expect_operands(
        &mut self,
        site: &Site<'_>,
        min: usize,
        max: usize,
        form: &str,
    ) -> Resolved<()> {
        let n = site.operands.len();
        if (min..=max).contains(&n) {
            return Ok(());
        }
        let message = format!("`{}` takes {form}; {n} given", site.opcode.text);
        Err(self.report(Diagnostic::new(
            "validate::operand-count",
            message,
            site.span,
            "wrong number of operands",
        )))
    }

    pub(in crate::kernel) fn expect_no_result(&mut self, site: &Site<'_>) -> Resolved<()> {
        if matches!(site.results, Results::Nothing) {
            return Ok(());
        }
        let message = format!("`{}` has no result", site.opcode.text);
        let error = Diagnostic::new("validate::no-result", message, site.span, "used as a value");
        Err(self.report(error.with_help(format!("write it as a statement: `{} …;`", site.opcode.text))))
    }

    pub(in crate::kernel) fn wrong_operand(
        &mut self,
        site: &Site<'_>,
        span: Span,
        expected: &str,
    ) -> Reported {
        let message = format!("`{}` takes {expected} here", site.opcode.text);
        self.report(Diagnostic::new("validate::operand-kind", message, span, format!("expected {expected}")))
    }

    pub(in crate::kernel) fn memory_operand(
        &mut self,
        site: &Site<'_>,
        operand: &Operand,
        access: &Access,
    ) -> Resolved<(Address, Width)> {
        let Operand::Memory(memory) = operand else {
            return Err(self.wrong_operand(
                site,
                operand_span(operand, site.span),
                "an address in brackets, `[x]`,",
            ));
        };
        let is_multimem = site.opcode.mnemonic == "multimem";
        let purpose = if is_multimem { Purpose::Multimem } else { Purpose::Access };
        let (address, width) = self.resolve_address_for(memory, purpose)?;
        self.reject_map(&address, site.opcode.text)?;
        self.check_proxy(&site.opcode, &address, access, &memory.name)?;
        self.check_space(&address, access, &memory.name)?;
        if let (Some(window), Some((_, span))) = (access.window, access.space) {
            self.check_window(&address, Some((window, span)))?;
        }
        if let Some((ty, span)) = access.ty
            && ty.width != width
        {
            let name = &memory.name.text;
            if self.checker.target.spa {
                return Err(self.spa_width(site, name, (&address, width), (ty, span)));
            }
            let message = format!("`{name}` has elements of {width} bits, `.{ty}` accesses {}", ty.width);
            let error =
                Diagnostic::new("validate::type-mismatch", message, span, format!("{} bits", ty.width))
                    .with_label(address.span, format!("{width} bits"))
                    .with_help(format!(
                        "leave the type out, or declare a view: `view … : u{} of {name};`",
                        ty.width
                    ));
            return Err(self.report(error));
        }
        Ok((address, width))
    }

    fn check_space(&mut self, address: &Address, access: &Access, name: &Name) -> Resolved<()> {
        match (address.base, access.space) {
            (AddressBase::Reference(reference), Some((space, span))) => {
                self.note_space(reference, space, span)
            }
            (AddressBase::Reference(reference), None) if access.sem == Sem::Mmio => {
                self.note_space(reference, Space::Global, access.vector_span);
            }
            (AddressBase::Object(object), written) => {
                let space = self.objects[object].space;
                if space == Space::Register {
                    let message = format!("`{}` is registers, not memory", name.text);
                    let error =
                        Diagnostic::new("validate::register-access", message, address.span, "not memory");
                    let help = format!("write `mov.b32 {0}, x;` or `let x = mov.b32 {0};`", name.text);
                    return Err(self.report(error.with_help(help).with_rule("AS-26")));
                }
                if space == Space::Tensor {
                    let message = format!("`{}` is tensor memory", name.text);
                    let error = Diagnostic::new(
                        "validate::tensor-access",
                        message,
                        address.span,
                        "not for this instruction",
                    );
                    let help = "only `tcgen05` instructions access it: `tcgen05.ld`, `tcgen05.st`, `tcgen05.cp`, `tcgen05.mma`";
                    return Err(self.report(error.with_help(help).with_rule("AS-29")));
                }
                if let Some((written, span)) = written
                    && written != space
                {
                    let message = format!("`{}` is in {space} memory, not {written}", name.text);
                    let declared = self.objects[object].span;
                    let error = Diagnostic::new(
                        "validate::space-mismatch",
                        message,
                        span,
                        format!("not `.{written}`"),
                    )
                    .with_label(declared, "declared here")
                    .with_help(format!("write `.{space}`, or leave the state space out"));
                    return Err(self.report(error));
                }
                if access.sem == Sem::Mmio && space == Space::Shared {
                    return Err(self.report(access::mmio_space(address.span)));
                }
            }
            _ => {}
        }
        Ok(())
    }

    pub(in crate::kernel) fn value_operand(
        &mut self,
        site: &Site<'_>,
        operand: &Operand,
        width: Width,
    ) -> Resolved<Expression> {
        match operand {
            Operand::Expr(expr) => self.resolve_exact(expr, width),
            _ => Err(self.wrong_operand(site, operand_span(operand, site.span), "a value")),
        }
    }

    pub(in crate::kernel) fn result_register(
        &mut self,
        name: Option<&str>,
        width: Width,
    ) -> Option<RegisterId> {
        match name? {
            GENERATED => Some(self.generate(width)),
            name => Some(self.registers.push(Register { name: name.to_owned(), width })),
        }
    }

    /// Splits off a `_` before the address, which stands for a result that is not wanted.
    pub(in crate::kernel) fn without_sink<'a>(site: &Site<'a>) -> (bool, &'a [Operand]) {
        match site.operands {
            [Operand::Sink(_), rest @ ..] => (true, rest),
            operands => (false, operands),
        }
    }

    pub(in crate::kernel) fn unbound_result(&mut self, site: &Site<'_>) -> Reported {
        let message = format!("the result of `{}` is not bound", site.opcode.text);
        let error = Diagnostic::new("validate::unbound-result", message, site.span, "a result is lost");
        self.report(
            error.with_help(format!(
                "write `let x = {} …;`, or the sink `_` as first operand",
                site.opcode.text
            )),
        )
    }

    pub(in crate::kernel) fn vector_count(&mut self, site: &Site<'_>, n: u8) -> Reported {
        let message = format!("`{}` moves {n} element{}", site.opcode.text, if n == 1 { "" } else { "s" });
        let error = Diagnostic::new("validate::vector-count", message, site.span, "a different number here");
        self.report(error.with_help(match n {
            1 => "write `.v2` or `.v4` for a vector, or one name".to_owned(),
            _ => format!("write {n} names or values in braces: `{{a, b, …}}`"),
        }))
    }
}

pub(in crate::kernel) fn operand_span(operand: &Operand, fallback: Span) -> Span {
    match operand {
        Operand::Memory(memory) => memory.place.0,
        Operand::Vector(elements) => elements.first().map_or(fallback, |element| element.place.0),
        Operand::Tensor(tensor) => tensor.place.0,
        Operand::Sink(place) => place.0,
        Operand::Expr(expr) => expr.place.0,
    }
}
