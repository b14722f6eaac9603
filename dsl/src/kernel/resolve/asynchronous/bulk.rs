//! Bulk copies, reductions and prefetches (AS-12 … AS-18).

use super::super::super::ast::Operand;
use super::super::super::legality::{BulkOpcode, CopySpace, PrefetchOpcode, check_reduction_type};
use super::super::super::opcode::PtxType;
use super::super::super::program::{
    Address, AddressBase, AsyncOp, AtomicOp, BulkCompletion, BulkCopy, BulkEnd, Expression, TensorBox, Width,
};
use super::super::Resolved;
use super::super::body::Body;
use super::super::expression::constant_value;
use super::super::instruction::Site;
use crate::diagnostic::Diagnostic;
use crate::vocabulary::Space;

/// The unit of sizes and addresses of bulk copies, in bytes.
const UNIT: u128 = 16;

impl Body<'_> {
    /// `[dst], [src], bytes{, [mbar]}{, mask}{, policy}`; in tensor forms without bytes, and with a box for one end.
    pub(super) fn resolve_bulk(
        &mut self,
        site: &Site<'_>,
        opcode: BulkOpcode,
    ) -> Resolved<(String, AsyncOp)> {
        let n = if opcode.rank.is_some() { 2 } else { 3 };
        let needed = n + usize::from(opcode.on_mbarrier()) + usize::from(opcode.multicast);
        if opcode.multicast && site.operands.len() + 1 == needed {
            let message = format!("`{}` needs a mask of CTAs", site.opcode.text);
            let error = Diagnostic::new("validate::copy-multicast", message, site.span, "no mask")
                .with_help("add it as last operand: 16 bits, one for each CTA of the cluster by rank");
            return Err(self.report(error.with_rule("AS-14")));
        }
        let form = match (opcode.rank.is_some(), opcode.on_mbarrier(), opcode.multicast) {
            (false, true, false) => "a destination, a source, their bytes and an mbarrier",
            (false, true, true) => "a destination, a source, their bytes, an mbarrier and a mask of CTAs",
            (false, false, _) => "a destination, a source and their bytes",
            (true, true, false) => "a destination, a box of a tensor and an mbarrier",
            (true, true, true) => "a destination, a box of a tensor, an mbarrier and a mask of CTAs",
            (true, false, _) => "a box of a tensor and a source",
        };
        self.expect_operands(site, needed, needed + usize::from(opcode.has_hint), form)?;
        let ends = if opcode.rank.is_some() {
            self.tensor_ends(site, &opcode)?
        } else {
            self.memory_ends(site, &opcode)?
        };
        let mut operands = site.operands[n..].iter();
        let mut completion = BulkCompletion::Group;
        if opcode.on_mbarrier()
            && let Some(operand) = operands.next()
        {
            let mbarrier = if opcode.destination == CopySpace::Cta {
                self.own_mbarrier(site, operand, "UB-A3")?
            } else {
                self.any_mbarrier(site, operand, "AS-14")?
            };
            if !opcode.multicast
                && let BulkEnd::Memory(destination) = &ends.destination
            {
                self.expect_same_cta(destination, &mbarrier, "UB-A3")?;
            }
            completion = BulkCompletion::Mbarrier(mbarrier);
        }
        let multicast = match operands.next().filter(|_| opcode.multicast) {
            Some(operand) => Some(self.mask_operand(site, operand)?),
            None => None,
        };
        let policy = if opcode.has_hint { site.operands.get(needed) } else { None };
        self.policy_operand(site, policy)?;
        let copy = BulkCopy {
            destination: ends.destination,
            source: ends.source,
            bytes: ends.bytes,
            completion,
            multicast,
            reduction: ends.reduction,
            sem: opcode.sem,
            scope: opcode.scope,
        };
        Ok((opcode.text(ends.ty), AsyncOp::Bulk(copy)))
    }

    fn memory_ends(&mut self, site: &Site<'_>, opcode: &BulkOpcode) -> Resolved<Ends> {
        let (destination, destination_width) = self.bulk_operand(
            site,
            &site.operands[0],
            opcode.destination,
            "written by a copy to `.shared::cta`",
        )?;
        let (source, source_width) =
            self.bulk_operand(site, &site.operands[1], opcode.source, "read as `.shared::cta`")?;
        if (opcode.destination, opcode.source) == (CopySpace::Cluster, CopySpace::Cta)
            && matches!(destination.base, AddressBase::Object(_))
            && destination.rank.is_none()
        {
            let message = "a copy from `.shared::cta` to `.shared::cluster` goes to another CTA";
            let error = Diagnostic::new("validate::own-cta", message, destination.span, "in the own CTA")
                .with_help("write `[mapa(…, rank)]`, with the rank of a peer");
            return Err(self.report(error.with_rule("AS-13")));
        }
        let bytes = self.bytes_operand(site, &site.operands[2])?;
        let (mut reduction, mut ty) = (None, None);
        if opcode.reduction.is_some() {
            let found =
                self.reduction_at(opcode, (&destination, destination_width), (&source, source_width))?;
            (reduction, ty) = (Some(found.0), Some(found.1));
        }
        let (destination, source) = (BulkEnd::Memory(destination), BulkEnd::Memory(source));
        Ok(Ends { destination, source, bytes: Some(bytes), reduction, ty })
    }

    fn tensor_ends(&mut self, site: &Site<'_>, opcode: &BulkOpcode) -> Resolved<Ends> {
        let Some(rank) = opcode.rank else { return Err(super::Reported) };
        if opcode.destination == CopySpace::Global {
            let tensor = self.tensor_operand(site, &site.operands[0], rank)?;
            let (source, width) =
                self.bulk_operand(site, &site.operands[1], opcode.source, "read as `.shared::cta`")?;
            let mut reduction = None;
            if opcode.reduction.is_some() {
                let element = self.tensor_width(&tensor.map).unwrap_or(width);
                if element != width {
                    let message = format!("the tensor has elements of {element} bits, the source of {width}");
                    let error = Diagnostic::new(
                        "validate::type-mismatch",
                        message,
                        source.span,
                        format!("{width} bits"),
                    )
                    .with_label(tensor.map.span, format!("{element} bits"));
                    return Err(self.report(error.with_help("a reduction takes elements of the same width")));
                }
                let at = (&source, width);
                reduction = Some(self.reduction_at(opcode, at, at)?.0);
            }
            let (destination, source) = (BulkEnd::Tensor(tensor), BulkEnd::Memory(source));
            return Ok(Ends { destination, source, bytes: None, reduction, ty: None });
        }
        let (destination, width) = self.bulk_operand(
            site,
            &site.operands[0],
            opcode.destination,
            "written by a copy to `.shared::cta`",
        )?;
        let tensor = self.tensor_operand(site, &site.operands[1], rank)?;
        self.check_box_elements(&tensor, &destination, width)?;
        let (destination, source) = (BulkEnd::Memory(destination), BulkEnd::Tensor(tensor));
        Ok(Ends { destination, source, bytes: None, reduction: None, ty: None })
    }

    /// The bytes of a box are whole elements of the memory it goes to.
    fn check_box_elements(&mut self, tensor: &TensorBox, address: &Address, width: Width) -> Resolved<()> {
        match self.box_bytes(&tensor.map) {
            Some(bytes) => self.expect_whole_elements(address, width, bytes, tensor.map.span, "AS-12"),
            None => Ok(()),
        }
    }

    fn bulk_operand(
        &mut self,
        site: &Site<'_>,
        operand: &Operand,
        space: CopySpace,
        why: &'static str,
    ) -> Resolved<(Address, Width)> {
        let (address, width) = self.data_operand(site, operand, space.space(), "AS-13")?;
        if space == CopySpace::Cta {
            self.expect_own_cta(site, &address, "UB-A3", why)?;
        }
        self.expect_alignment(&address, width, UNIT, "UB-A2")?;
        Ok((address, width))
    }

    fn bytes_operand(&mut self, site: &Site<'_>, operand: &Operand) -> Resolved<Expression> {
        let bytes = self.value_operand(site, operand, 32)?;
        match constant_value(&bytes) {
            Some(value) if !value.is_multiple_of(UNIT) => {
                let message = format!("a bulk copy moves multiples of {UNIT} bytes, not {value}");
                let error =
                    Diagnostic::new("validate::copy-size", message, bytes.span, "not a multiple of 16");
                Err(self.report(
                    error.with_help("copy the rest with `cp.async` or `ld` and `st`").with_rule("UB-A2"),
                ))
            }
            _ => Ok(bytes),
        }
    }

    fn mask_operand(&mut self, site: &Site<'_>, operand: &Operand) -> Resolved<Expression> {
        let mask = self.value_operand(site, operand, 16)?;
        if constant_value(&mask) == Some(0) {
            let message = "the mask names no CTA";
            let error = Diagnostic::new("validate::copy-multicast", message, mask.span, "no CTA");
            return Err(self.report(
                error
                    .with_help("write `3` for the CTAs of rank 0 and 1, or leave `.multicast::cluster` out")
                    .with_rule("AS-14"),
            ));
        }
        Ok(mask)
    }

    /// The mbarrier is in the CTA of the destination, as far as constants tell.
    pub(in crate::kernel) fn expect_same_cta(
        &mut self,
        destination: &Address,
        mbarrier: &Address,
        rule: &'static str,
    ) -> Resolved<()> {
        let rank = |address: &Address| address.rank.as_deref().and_then(constant_value);
        match (rank(destination), rank(mbarrier)) {
            (Some(to), Some(signalled)) if to != signalled => {
                let message = "the mbarrier is in the CTA that is written";
                let error = Diagnostic::new(
                    "validate::mbarrier-cta",
                    message,
                    mbarrier.span,
                    format!("in CTA {signalled}"),
                )
                .with_label(destination.span, format!("in CTA {to}"));
                Err(self.report(error.with_help("give both the same rank").with_rule(rule)))
            }
            _ => Ok(()),
        }
    }

    /// The operation of a reduction, by the type of its elements.
    fn reduction_at(
        &mut self,
        opcode: &BulkOpcode,
        (destination, width): (&Address, Width),
        (source, source_width): (&Address, Width),
    ) -> Resolved<(AtomicOp, PtxType)> {
        let Some(rmw) = opcode.reduction else { return Err(super::Reported) };
        let kind = match rmw.op {
            AtomicOp::And | AtomicOp::Or | AtomicOp::Xor => 'b',
            _ if width == 128 => 'b',
            _ => 'u',
        };
        let (ty, span) = opcode.ty.unwrap_or((PtxType { kind, width }, rmw.span));
        for (address, width) in [(destination, width), (source, source_width)] {
            if width != ty.width {
                let message = format!("`.{ty}` reduces elements of {} bits; these have {width}", ty.width);
                let error =
                    Diagnostic::new("validate::type-mismatch", message, span, format!("{} bits", ty.width))
                        .with_label(address.span, format!("{width} bits"));
                return Err(
                    self.report(error.with_help(format!("declare a view: `view … : u{} of …;`", ty.width)))
                );
            }
        }
        if let Err(error) = check_reduction_type(rmw, ty, opcode.destination, span) {
            return Err(self.report(error));
        }
        let op = match (rmw.op, ty.kind) {
            (AtomicOp::Min, 's') => AtomicOp::SignedMin,
            (AtomicOp::Max, 's') => AtomicOp::SignedMax,
            (op, _) => op,
        };
        Ok((op, ty))
    }

    pub(super) fn resolve_prefetch(
        &mut self,
        site: &Site<'_>,
        opcode: PrefetchOpcode,
    ) -> Resolved<(String, AsyncOp)> {
        let n = if opcode.rank.is_some() { 1 } else { 2 };
        let form = if n == 1 { "a box of a tensor" } else { "a source and its bytes" };
        self.expect_operands(site, n, n + usize::from(opcode.has_hint), form)?;
        self.policy_operand(site, site.operands.get(n))?;
        if let Some(rank) = opcode.rank {
            let tensor = self.tensor_operand(site, &site.operands[0], rank)?;
            let text = format!("cp.async.bulk.prefetch.tensor.{}d.L2.global.tile", rank.0);
            return Ok((text, AsyncOp::Prefetch { source: BulkEnd::Tensor(tensor) }));
        }
        let (source, width) = self.data_operand(site, &site.operands[0], Space::Global, "AS-13")?;
        self.expect_alignment(&source, width, UNIT, "UB-A2")?;
        // How much is fetched changes nothing.
        self.bytes_operand(site, &site.operands[1])?;
        Ok((
            "cp.async.bulk.prefetch.L2.global".to_owned(),
            AsyncOp::Prefetch { source: BulkEnd::Memory(source) },
        ))
    }
}

/// What the first operands of a bulk copy say.
struct Ends {
    destination: BulkEnd,
    source: BulkEnd,
    bytes: Option<Expression>,
    reduction: Option<AtomicOp>,
    /// Of the elements of a reduction, in the forms that spell it.
    ty: Option<PtxType>,
}
