//! The operands of bulk copies, reductions and prefetches: sizes, alignment, and whose CTA each end is in.
//!
//! What depends on values (a size, an index, a rank) is left to the checker; constants are checked here.

use super::super::reduction;
use super::super::words::Words;
use super::super::{Built, Key};
use super::{WITHIN_CLUSTER, direction, on_mbarrier};
use crate::diagnostic::Diagnostic;
use crate::kernel::ast::Operand;
use crate::kernel::isa::access::Rmw;
use crate::kernel::opcode::PtxType;
use crate::kernel::program::{
    Address, AddressBase, AsyncOp, AtomicOp, BulkCompletion, BulkCopy, BulkEnd, Expression, TensorBox, Width,
};
use crate::kernel::resolve::expression::constant_value;
use crate::kernel::resolve::instruction::Site;
use crate::kernel::resolve::{Body, Resolved};
use crate::span::Span;
use crate::vocabulary::{Scope, Sem, Space};

/// The unit of sizes and addresses of bulk copies, in bytes.
const UNIT: u128 = 16;

/// `[dst], [src], bytes{, [mbar]}{, mask}{, policy}`
pub(super) fn build_copy(body: &mut Body<'_>, site: &Site<'_>, words: &mut Words<'_>) -> Resolved<Built> {
    let form = match (on_mbarrier(words), words.written(Key::Multicast).is_some()) {
        (true, false) => "a destination, a source, their bytes and an mbarrier",
        (true, true) => "a destination, a source, their bytes, an mbarrier and a mask of CTAs",
        (false, _) => "a destination, a source and their bytes",
    };
    expect_operands(body, site, words, 3, form)?;
    let (to, from) = direction(words);
    let (destination, to_width) =
        end_operand(body, site, &site.operands[0], to, "written by a copy to `.shared::cta`")?;
    let (source, from_width) = end_operand(body, site, &site.operands[1], from, "read as `.shared::cta`")?;
    if (to, from) == WITHIN_CLUSTER
        && matches!(destination.base, AddressBase::Object(_))
        && destination.rank.is_none()
    {
        let message = "a copy from `.shared::cta` to `.shared::cluster` goes to another CTA";
        let error = Diagnostic::new("validate::own-cta", message, destination.span, "in the own CTA")
            .with_help("write `[mapa(…, rank)]`, with the rank of a peer");
        return Err(body.report(error.with_rule("AS-13")));
    }
    let bytes = bytes_operand(body, site, &site.operands[2])?;
    let mut reduction = None;
    if let Some(rmw) = reduction::operation(words) {
        let ends = [(&destination, to_width), (&source, from_width)];
        let (op, ty) = reduction_at(body, words, rmw, ends)?;
        words.set(Key::Type, &ty.to_string());
        reduction = Some(op);
    }
    let (sem, scope) = strength(words);
    let (completion, multicast) = signal_operands(body, site, words, 3, Some(&destination))?;
    let copy = BulkCopy {
        destination: BulkEnd::Memory(destination),
        source: BulkEnd::Memory(source),
        bytes: Some(bytes),
        completion,
        multicast,
        reduction,
        sem,
        scope,
    };
    Ok((AsyncOp::Bulk(copy).into(), Vec::new()))
}

/// The same without bytes, and with a box for one end.
pub(super) fn build_tensor(body: &mut Body<'_>, site: &Site<'_>, words: &mut Words<'_>) -> Resolved<Built> {
    let form = match (on_mbarrier(words), words.written(Key::Multicast).is_some()) {
        (true, false) => "a destination, a box of a tensor and an mbarrier",
        (true, true) => "a destination, a box of a tensor, an mbarrier and a mask of CTAs",
        (false, _) => "a box of a tensor and a source",
    };
    expect_operands(body, site, words, 2, form)?;
    let (to, from) = direction(words);
    let mut reduction = None;
    let (destination, source);
    if to == "global" {
        let tensor = body.tensor_operand(site, &site.operands[0], rank(words))?;
        let (memory, width) = end_operand(body, site, &site.operands[1], from, "read as `.shared::cta`")?;
        if let Some(rmw) = reduction::operation(words) {
            reduction = Some(tensor_reduction(body, words, rmw, &tensor, (&memory, width))?);
        }
        (destination, source) = (BulkEnd::Tensor(tensor), BulkEnd::Memory(memory));
    } else {
        let why = "written by a copy to `.shared::cta`";
        let (memory, width) = end_operand(body, site, &site.operands[0], to, why)?;
        let tensor = body.tensor_operand(site, &site.operands[1], rank(words))?;
        if let Some(bytes) = body.box_bytes(&tensor.map) {
            body.expect_whole_elements(&memory, width, bytes, tensor.map.span, "AS-12")?;
        }
        (destination, source) = (BulkEnd::Memory(memory), BulkEnd::Tensor(tensor));
    }
    let memory = match &destination {
        BulkEnd::Memory(memory) => Some(memory),
        BulkEnd::Tensor(_) => None,
    };
    let (completion, multicast) = signal_operands(body, site, words, 2, memory)?;
    // Tensor forms stay at the scope that older reductions have.
    let sem = if reduction.is_some() { Sem::Relaxed } else { Sem::Weak };
    let scope = if reduction.is_some() { Scope::Gpu } else { Scope::Cta };
    let copy = BulkCopy { destination, source, bytes: None, completion, multicast, reduction, sem, scope };
    Ok((AsyncOp::Bulk(copy).into(), Vec::new()))
}

/// `[src], bytes`, or a box of a tensor.
pub(super) fn build_prefetch(body: &mut Body<'_>, site: &Site<'_>, words: &mut Words<'_>) -> Resolved<Built> {
    body.expect_no_result(site)?;
    let is_tensor = words.written(Key::Rank).is_some();
    let n = if is_tensor { 1 } else { 2 };
    let form = if is_tensor { "a box of a tensor" } else { "a source and its bytes" };
    let n_policies = usize::from(words.written(Key::Policy).is_some());
    body.expect_operands(site, n + n_policies, n + n_policies, &with_policy(form, n_policies))?;
    body.policy_operand(site, site.operands.get(n))?;
    if is_tensor {
        let tensor = body.tensor_operand(site, &site.operands[0], rank(words))?;
        return Ok((AsyncOp::Prefetch { source: BulkEnd::Tensor(tensor) }.into(), Vec::new()));
    }
    let (source, width) = body.data_operand(site, &site.operands[0], Space::Global, "AS-13")?;
    body.expect_alignment(&source, width, UNIT, "UB-A2")?;
    // How much is fetched changes nothing.
    bytes_operand(body, site, &site.operands[1])?;
    Ok((AsyncOp::Prefetch { source: BulkEnd::Memory(source) }.into(), Vec::new()))
}

/// `.2d`, and its place.
fn rank(words: &Words<'_>) -> (u8, Span) {
    let digit = words.of(Key::Rank).bytes().next().unwrap_or(b'1');
    (digit.saturating_sub(b'0'), words.span(Key::Rank))
}

fn with_policy(form: &str, n_policies: usize) -> String {
    if n_policies == 0 { form.to_owned() } else { format!("{form}, and a cache policy") }
}

/// `n` operands for the ends, and what the words ask for.
fn expect_operands(
    body: &mut Body<'_>,
    site: &Site<'_>,
    words: &Words<'_>,
    n: usize,
    form: &str,
) -> Resolved<()> {
    body.expect_no_result(site)?;
    let is_multicast = words.written(Key::Multicast).is_some();
    let n_policies = usize::from(words.written(Key::Policy).is_some());
    let needed = n + usize::from(on_mbarrier(words)) + usize::from(is_multicast) + n_policies;
    if is_multicast && site.operands.len() + 1 == needed {
        let message = format!("`{}` needs a mask of CTAs", site.opcode.text);
        let error = Diagnostic::new("validate::copy-multicast", message, site.span, "no mask")
            .with_help("add it behind the mbarrier: 16 bits, one for each CTA of the cluster by rank");
        return Err(body.report(error.with_rule("AS-14")));
    }
    body.expect_operands(site, needed, needed, &with_policy(form, n_policies))
}

/// The mbarrier, mask and policy behind the first `n` operands.
fn signal_operands(
    body: &mut Body<'_>,
    site: &Site<'_>,
    words: &Words<'_>,
    n: usize,
    destination: Option<&Address>,
) -> Resolved<(BulkCompletion, Option<Expression>)> {
    let is_multicast = words.written(Key::Multicast).is_some();
    let mut operands = site.operands[n..].iter();
    let mut completion = BulkCompletion::Group;
    if on_mbarrier(words)
        && let Some(operand) = operands.next()
    {
        let mbarrier = if direction(words).0 == "shared::cta" {
            body.own_mbarrier(site, operand, "UB-A3")?
        } else {
            body.any_mbarrier(site, operand, "AS-14")?
        };
        if let Some(destination) = destination.filter(|_| !is_multicast) {
            body.expect_same_cta(destination, &mbarrier, "UB-A3")?;
        }
        completion = BulkCompletion::Mbarrier(mbarrier);
    }
    let mask = if is_multicast { operands.next() } else { None };
    let multicast = match mask {
        Some(operand) => Some(mask_operand(body, site, operand)?),
        None => None,
    };
    body.policy_operand(site, operands.next())?;
    Ok((completion, multicast))
}

/// Sem and scope. By default a copy is weak, and the elements of a reduction are relaxed at a scope that PTX ISA 9.3
/// widened. From then on the full spelling says so.
fn strength(words: &mut Words<'_>) -> (Sem, Scope) {
    let says_so = words.target.ptx >= (9, 3);
    if words.has("relaxed") {
        return (Sem::Relaxed, words.scope().unwrap_or(Scope::Sys));
    }
    if words.written(Key::Operation).is_none() {
        if says_so {
            words.set(Key::Sem, "weak");
        }
        return (Sem::Weak, Scope::Cta);
    }
    // Within a cluster the default has no spelling: `.sys` cannot be written there.
    if says_so && direction(words) != WITHIN_CLUSTER {
        words.set(Key::Sem, "relaxed");
        words.set(Key::Scope, "sys");
    }
    (Sem::Relaxed, if says_so { Scope::Sys } else { Scope::Gpu })
}

fn end_operand(
    body: &mut Body<'_>,
    site: &Site<'_>,
    operand: &Operand,
    space: &str,
    why: &'static str,
) -> Resolved<(Address, Width)> {
    let of = if space == "global" { Space::Global } else { Space::Shared };
    let (address, width) = body.data_operand(site, operand, of, "AS-13")?;
    if space == "shared::cta" {
        body.expect_own_cta(site, &address, "UB-A3", why)?;
    }
    body.expect_alignment(&address, width, UNIT, "UB-A2")?;
    Ok((address, width))
}

fn bytes_operand(body: &mut Body<'_>, site: &Site<'_>, operand: &Operand) -> Resolved<Expression> {
    let bytes = body.value_operand(site, operand, 32)?;
    match constant_value(&bytes) {
        Some(value) if !value.is_multiple_of(UNIT) => {
            let message = format!("a bulk copy moves multiples of {UNIT} bytes, not {value}");
            let error = Diagnostic::new("validate::copy-size", message, bytes.span, "not a multiple of 16");
            Err(body
                .report(error.with_help("copy the rest with `cp.async` or `ld` and `st`").with_rule("UB-A2")))
        }
        _ => Ok(bytes),
    }
}

fn mask_operand(body: &mut Body<'_>, site: &Site<'_>, operand: &Operand) -> Resolved<Expression> {
    let mask = body.value_operand(site, operand, 16)?;
    if constant_value(&mask) == Some(0) {
        let message = "the mask names no CTA";
        let error = Diagnostic::new("validate::copy-multicast", message, mask.span, "no CTA");
        let help = "write `3` for the CTAs of rank 0 and 1, or leave `.multicast::cluster` out";
        return Err(body.report(error.with_help(help).with_rule("AS-14")));
    }
    Ok(mask)
}

fn tensor_reduction(
    body: &mut Body<'_>,
    words: &Words<'_>,
    rmw: Rmw,
    tensor: &TensorBox,
    (source, width): (&Address, Width),
) -> Resolved<AtomicOp> {
    let element = body.tensor_width(&tensor.map).unwrap_or(width);
    if element != width {
        let message = format!("the tensor has elements of {element} bits, the source of {width}");
        let error = Diagnostic::new("validate::type-mismatch", message, source.span, format!("{width} bits"))
            .with_label(tensor.map.span, format!("{element} bits"));
        return Err(body.report(error.with_help("a reduction takes elements of the same width")));
    }
    Ok(reduction_at(body, words, rmw, [(source, width); 2])?.0)
}

/// The operation of a reduction, by the type of the elements at its ends.
fn reduction_at(
    body: &mut Body<'_>,
    words: &Words<'_>,
    rmw: Rmw,
    ends: [(&Address, Width); 2],
) -> Resolved<(AtomicOp, PtxType)> {
    let width = ends[0].1;
    let kind = if width == 128 { 'b' } else { reduction::default_kind(rmw.op) };
    let (ty, span) = match words.ty() {
        Some(ty) => (ty, words.span(Key::Type)),
        None => (PtxType::new(kind, width), rmw.span),
    };
    for (address, width) in ends {
        if width != ty.width {
            let message = format!("`.{ty}` reduces elements of {} bits; these have {width}", ty.width);
            let error =
                Diagnostic::new("validate::type-mismatch", message, span, format!("{} bits", ty.width))
                    .with_label(address.span, format!("{width} bits"));
            let help = format!("declare a view: `view … : u{} of …;`", ty.width);
            return Err(body.report(error.with_help(help)));
        }
    }
    match reduction::check_type(rmw, ty, direction(words).0 == "global", span) {
        Ok(()) => Ok((reduction::at_type(rmw.op, ty), ty)),
        Err(error) => Err(body.report(error)),
    }
}
