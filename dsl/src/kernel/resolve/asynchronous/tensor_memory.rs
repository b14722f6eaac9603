//! `tcgen05` with its operands. An operand that leaves out trailing indices names all elements of those dimensions.

use super::super::super::ast::Operand;
use super::super::super::legality::TensorOpcode;
use super::super::super::program::{
    Address, AddressBase, AsyncOp, Elements, Expression, TensorOp, TensorProduct, Width,
};
use super::super::Resolved;
use super::super::body::Body;
use super::super::expression::constant_value;
use super::super::instruction::{Site, operand_span};
use crate::diagnostic::Diagnostic;
use crate::vocabulary::Space;

impl Body<'_> {
    pub(super) fn resolve_tensor_memory(
        &mut self,
        site: &Site<'_>,
        opcode: TensorOpcode,
        text: String,
    ) -> Resolved<(String, AsyncOp)> {
        let op = match opcode {
            TensorOpcode::Multiply { kind } => self.resolve_product(site, kind)?,
            TensorOpcode::Copy => self.resolve_tensor_copy(site)?,
            TensorOpcode::Load => {
                self.expect_operands(site, 2, 2, "registers and tensor memory")?;
                let (destination, to) = self.register_operand(site, &site.operands[0])?;
                let (source, from) = self.tensor_element(site, &site.operands[1])?;
                self.expect_same_width(&source, (to, from))?;
                TensorOp::Load { destination, source }
            }
            TensorOpcode::Store => {
                self.expect_operands(site, 2, 2, "tensor memory and a value")?;
                let (destination, width) = self.tensor_element(site, &site.operands[0])?;
                let value = self.value_operand(site, &site.operands[1], width)?;
                TensorOp::Store { destination, value }
            }
            TensorOpcode::Commit { multicast } => {
                let n = 1 + usize::from(multicast);
                self.expect_operands(site, n, n, "an mbarrier, and with `.multicast::cluster` a mask")?;
                let mbarrier = self.any_mbarrier(site, &site.operands[0], "AS-30")?;
                let multicast = match site.operands.get(1) {
                    Some(mask) => Some(self.value_operand(site, mask, 16)?),
                    None => None,
                };
                if let (Some(_), Some(rank)) = (&multicast, &mbarrier.rank) {
                    let message = "a multicast commit names the mbarrier of the own CTA";
                    let error =
                        Diagnostic::new("validate::peer-address", message, rank.span, "in a peer CTA");
                    return Err(self.report(error.with_help("leave the `mapa` out").with_rule("AS-30")));
                }
                TensorOp::Commit { mbarrier, multicast }
            }
            TensorOpcode::Wait { stores } => {
                self.expect_operands(site, 0, 0, "no operands")?;
                TensorOp::Wait { stores }
            }
            TensorOpcode::Fence { before } => {
                self.expect_operands(site, 0, 0, "no operands")?;
                TensorOp::Fence { before }
            }
            TensorOpcode::Allocate => {
                self.expect_operands(site, 2, 2, "where the address is stored, and how many columns")?;
                let (slot, width) = self.data_operand(site, &site.operands[0], Space::Shared, "AS-34")?;
                self.expect_own_cta(site, &slot, "AS-34", "written by `tcgen05.alloc`")?;
                self.expect_same_width(&slot, (32, width))?;
                let columns = self.columns_operand(site, &site.operands[1])?;
                TensorOp::Allocate { slot, columns }
            }
            TensorOpcode::Free => {
                self.expect_operands(site, 2, 2, "tensor memory, and how many columns")?;
                let object = self.tensor_memory_operand(site, &site.operands[0])?;
                let columns = self.columns_operand(site, &site.operands[1])?;
                TensorOp::Free { object, columns }
            }
            TensorOpcode::Relinquish => {
                self.expect_operands(site, 0, 0, "no operands")?;
                TensorOp::Relinquish
            }
        };
        Ok((text, AsyncOp::Tensor(op)))
    }

    /// `[d], [a], [b]{, whether d is added to}`
    fn resolve_product(&mut self, site: &Site<'_>, kind: String) -> Resolved<TensorOp> {
        let form = "an accumulator, A, B, and maybe whether the accumulator is added to";
        self.expect_operands(site, 3, 4, form)?;
        let accumulator = self.tensor_memory_operand(site, &site.operands[0])?;
        let a = self.operand_elements(site, &site.operands[1], None)?;
        if self.space_of(&a.address) != Some(Space::Tensor) {
            self.expect_space(site, &a.address, Space::Shared, "AS-33")?;
            self.expect_own_cta(site, &a.address, "AS-33", "read by `tcgen05.mma`")?;
        }
        let b = self.operand_elements(site, &site.operands[2], Some(Space::Shared))?;
        self.expect_own_cta(site, &b.address, "AS-33", "read by `tcgen05.mma`")?;
        let accumulates = match site.operands.get(3) {
            Some(Operand::Expr(expr)) => Some(self.resolve_expression(expr, None)?),
            Some(operand) => {
                return Err(self.wrong_operand(
                    site,
                    operand_span(operand, site.span),
                    "whether the accumulator is added to",
                ));
            }
            None => None,
        };
        Ok(TensorOp::Multiply(TensorProduct { accumulator, accumulates, a, b, kind }))
    }

    /// `[t], [s]`
    fn resolve_tensor_copy(&mut self, site: &Site<'_>) -> Resolved<TensorOp> {
        self.expect_operands(site, 2, 2, "tensor memory and shared memory")?;
        let destination = self.tensor_memory_operand(site, &site.operands[0])?;
        let source = self.operand_elements(site, &site.operands[1], Some(Space::Shared))?;
        self.expect_own_cta(site, &source.address, "AS-33", "read by `tcgen05.cp`")?;
        let width = |elements: &Elements| match elements.address.base {
            AddressBase::Object(object) => self.objects[object].width,
            AddressBase::Reference(reference) => self.references[reference].width,
        };
        let (to, from) = (width(&destination), width(&source));
        if (to, destination.count) == (from, source.count) {
            return Ok(TensorOp::Copy { destination, source });
        }
        let described = |count: u32, width: Width| format!("{count} × {width} bits");
        let message = "both ends of `tcgen05.cp` have as many elements of one size here";
        let error = Diagnostic::new(
            "validate::copy-elements",
            message,
            source.address.span,
            described(source.count, from),
        )
        .with_label(destination.address.span, described(destination.count, to))
        .with_help("declare both alike, and index them alike");
        Err(self.report(error.with_rule("AS-33")))
    }

    /// Tensor memory, all elements that the operand names.
    fn tensor_memory_operand(&mut self, site: &Site<'_>, operand: &Operand) -> Resolved<Elements> {
        self.operand_elements(site, operand, Some(Space::Tensor))
    }

    /// One element of tensor memory.
    fn tensor_element(&mut self, site: &Site<'_>, operand: &Operand) -> Resolved<(Address, Width)> {
        let elements = self.tensor_memory_operand(site, operand)?;
        let span = elements.address.span;
        if elements.count != 1 {
            let message = format!("`{}` accesses one element here", site.opcode.text);
            let error = Diagnostic::new(
                "resolve::dimension-count",
                message,
                span,
                format!("{} elements", elements.count),
            );
            return Err(self.report(error.with_help("write all indices")));
        }
        let width = match elements.address.base {
            AddressBase::Object(object) => self.objects[object].width,
            AddressBase::Reference(reference) => self.references[reference].width,
        };
        Ok((elements.address, width))
    }

    fn operand_elements(
        &mut self,
        site: &Site<'_>,
        operand: &Operand,
        space: Option<Space>,
    ) -> Resolved<Elements> {
        let n_given = match operand {
            Operand::Memory(memory) => memory.indices.len(),
            _ => 0,
        };
        let (address, _) = match space {
            Some(space) => self.data_operand(site, operand, space, "AS-29")?,
            None => self.any_data_operand(site, operand)?,
        };
        if self.space_of(&address) == Some(Space::Tensor) {
            self.expect_own_cta(site, &address, "AS-29", "accessed by `tcgen05`")?;
        }
        let count = match address.base {
            AddressBase::Object(object) => self.objects[object].dimensions[n_given..].iter().product(),
            AddressBase::Reference(_) => 1,
        };
        Ok(Elements { address, count })
    }

    fn expect_same_width(&mut self, address: &Address, (wanted, found): (Width, Width)) -> Resolved<()> {
        if wanted == found {
            return Ok(());
        }
        let message = format!("an element of {wanted} bits is needed here");
        let error =
            Diagnostic::new("validate::type-mismatch", message, address.span, format!("{found} bits"));
        Err(self.report(error.with_help(format!("declare it with {wanted} bits"))))
    }

    fn columns_operand(&mut self, site: &Site<'_>, operand: &Operand) -> Resolved<u32> {
        let columns: Expression = self.value_operand(site, operand, 32)?;
        let is_legal = |n: &u128| n.is_power_of_two() && (32..=512).contains(n);
        match constant_value(&columns).filter(is_legal).and_then(|n| u32::try_from(n).ok()) {
            Some(n) => Ok(n),
            None => {
                let message = "tensor memory is allocated in a constant number of columns";
                let error =
                    Diagnostic::new("validate::tensor-columns", message, columns.span, "not such a number");
                Err(self.report(error.with_help("write 32, 64, 128, 256 or 512").with_rule("UB-A8")))
            }
        }
    }
}
