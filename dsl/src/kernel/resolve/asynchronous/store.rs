//! `st.async` and `red.async` (AS-23).

use super::super::super::ast::Operand;
use super::super::super::legality::{Access, StoreOpcode, check_operation_type};
use super::super::super::opcode::{PtxType, Window};
use super::super::super::program::{Address, AddressBase, AsyncOp, AsyncStore, AtomicOp, Expression, Width};
use super::super::Resolved;
use super::super::body::Body;
use super::super::instruction::Site;
use crate::diagnostic::Diagnostic;
use crate::vocabulary::{Proxy, Space};

impl Body<'_> {
    /// `[a], value, [mbar]`, without the mbarrier for global memory.
    pub(super) fn resolve_async_store(
        &mut self,
        site: &Site<'_>,
        opcode: StoreOpcode,
    ) -> Resolved<(String, AsyncOp)> {
        let (n, form) = match opcode.is_global {
            true => (2, "an address and a value"),
            false => (3, "an address, a value and an mbarrier"),
        };
        self.expect_operands(site, n, n, form)?;
        let space = if opcode.is_global { Space::Global } else { Space::Shared };
        let (address, width) = self.data_operand(site, &site.operands[0], space, "AS-23")?;
        if let Operand::Memory(memory) = &site.operands[0]
            && memory.indices.len() < address.indices.len()
        {
            return Err(self.wrong_operand(site, address.span, "one element, `[x[i]]`,"));
        }
        if opcode.needs_peer && matches!(address.base, AddressBase::Object(_)) && address.rank.is_none() {
            let message = format!("`{}` goes to another CTA", site.opcode.text);
            let error = Diagnostic::new("validate::own-cta", message, address.span, "in the own CTA")
                .with_help("write `[mapa(…, rank)]`, with the rank of a peer");
            return Err(self.report(error.with_rule("UB-A4")));
        }
        let ty = self.store_type(&opcode, &address, width)?;
        let access = Access {
            sem: opcode.sem,
            scope: opcode.scope,
            space: Some((space, opcode.vector_span)),
            window: (!opcode.is_global).then_some(Window::Cluster),
            ty: opcode.ty,
            elements: opcode.elements,
            vector_span: opcode.vector_span,
            proxy: Proxy::Generic,
        };
        self.check_vector(&address, width, &access)?;
        let values = self.async_values(site, &opcode, width)?;
        let mbarrier = match site.operands.get(2) {
            Some(operand) => {
                let mbarrier = self.any_mbarrier(site, operand, "UB-A4")?;
                self.expect_same_cta(&address, &mbarrier, "UB-A4")?;
                Some(mbarrier)
            }
            None => None,
        };
        let reduction = opcode.reduction.map(|rmw| match (rmw.op, ty.kind) {
            (AtomicOp::Min, 's') => AtomicOp::SignedMin,
            (AtomicOp::Max, 's') => AtomicOp::SignedMax,
            (op, _) => op,
        });
        if let (Some(op), [value]) = (reduction, values.as_slice()) {
            self.check_extreme_sign(op, &site.operands[1], value)?;
        }
        let (sem, scope) = (opcode.sem, opcode.scope);
        let store = AsyncStore { address, values, reduction, mbarrier, sem, scope };
        Ok((opcode.text(ty), AsyncOp::Store(store)))
    }

    fn async_values(
        &mut self,
        site: &Site<'_>,
        opcode: &StoreOpcode,
        width: Width,
    ) -> Resolved<Vec<Expression>> {
        match &site.operands[1] {
            Operand::Vector(elements) if elements.len() == usize::from(opcode.elements) => {
                elements.iter().map(|element| self.resolve_exact(element, width)).collect()
            }
            Operand::Vector(_) => Err(self.vector_count(site, opcode.elements)),
            operand if opcode.elements == 1 => Ok(vec![self.value_operand(site, operand, width)?]),
            _ => Err(self.vector_count(site, opcode.elements)),
        }
    }

    /// The type, that of the object if none is written.
    fn store_type(&mut self, opcode: &StoreOpcode, address: &Address, width: Width) -> Resolved<PtxType> {
        let kind = match opcode.reduction.map(|rmw| rmw.op) {
            Some(AtomicOp::And | AtomicOp::Or | AtomicOp::Xor) => 'b',
            None => 'b',
            Some(_) => 'u',
        };
        let (ty, span) = opcode.ty.unwrap_or((PtxType { kind, width }, address.span));
        if ty.width != width {
            let message = format!("`.{ty}` writes {} bits; these elements have {width}", ty.width);
            let error =
                Diagnostic::new("validate::type-mismatch", message, span, format!("{} bits", ty.width))
                    .with_label(address.span, format!("{width} bits"));
            return Err(self.report(error.with_help("leave the type out, or declare a view")));
        }
        if let Some(rmw) = opcode.reduction {
            if let Err(error) = check_operation_type(rmw, ty, span) {
                return Err(self.report(error));
            }
            if !opcode.is_global && width == 64 && rmw.op != AtomicOp::Add {
                let message = format!("`red.async.{}` has no type `.{ty}`", rmw.name);
                let error = Diagnostic::new("validate::illegal-operation-type", message, span, "64 bits");
                return Err(self.report(error.with_help("of 64 bits there is `.add.u64`")));
            }
            return Ok(ty);
        }
        if !opcode.is_global && width < 32 {
            let message = format!("`st.async` to shared memory writes at least 32 bits, not {width}");
            let error = Diagnostic::new("validate::async-type", message, span, "too narrow");
            return Err(self.report(error.with_help("declare a view of 32-bit elements").with_rule("AS-23")));
        }
        if width == 128
            && let Some(error) = self.checker.target.check("st.async.b128", (9, 2), 90, span)
        {
            return Err(self.report(error));
        }
        Ok(ty)
    }
}
