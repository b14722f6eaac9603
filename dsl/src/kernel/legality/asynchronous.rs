//! Asynchronous operations (§5): which modifiers each takes, with which defaults.
//!
//! Hints that steer caches (`.L2::cache_hint`, `.L2::128B`) are accepted and mean nothing to the memory model. What
//! changes which bytes are copied, and is not modelled (`im2col`, `gather4`, `.cp_mask`, …), is refused.

use super::{
    AtomicOp, Diagnostic, Modifier, Opcode, Operation, PtxType, Rmw, Scope, Sem, Space, Span, Target, Window,
    check_operation_type, check_scope_floor, floor, is_float, parse_space, set_once, unknown_modifier,
    unsupported_modifier,
};
use crate::kernel::program::AsyncGroup;

pub use bulk::{BulkOpcode, CopySpace, PrefetchOpcode, check_reduction_type};
pub use store::StoreOpcode;
pub use tensor_memory::TensorOpcode;
pub use tensormap::{ReplaceOpcode, TensorField};

mod bulk;
mod matrix;
mod store;
mod tensor_memory;
mod tensormap;

pub(super) use matrix::{check_matrix, check_move};
pub(super) use store::check as check_store;
pub(super) use tensor_memory::check_tensor;
pub(super) use tensormap::check as check_replace;

/// The word by which an operation says that it completes on an mbarrier.
const ON_MBARRIER: &str = "mbarrier::complete_tx::bytes";

/// What the opcode of an asynchronous operation says.
#[derive(Clone, Debug)]
pub enum AsyncOpcode {
    /// `cp.async`
    Copy {
        /// `.cg` rather than `.ca`.
        is_cg: bool,
        /// A cache policy may follow the operands.
        has_hint: bool,
    },
    /// `cp.async.mbarrier.arrive`
    CopyArrive {
        /// Without `.noinc`.
        increments: bool,
    },
    /// `commit_group`
    Commit(AsyncGroup),
    /// `wait_group`
    Wait {
        /// Which groups.
        group: AsyncGroup,
        /// `.read`
        reads_only: bool,
    },
    /// `cp.async.wait_all`
    WaitAll,
    /// `cp.async.bulk`, `cp.reduce.async.bulk`
    Bulk(BulkOpcode),
    /// `cp.async.bulk.prefetch`
    Prefetch(PrefetchOpcode),
    /// `st.async`, `red.async`
    Store(StoreOpcode),
    /// `wgmma.mma_async`
    Matrix {
        /// Full spelling.
        text: String,
    },
    /// `tcgen05`
    Tensor {
        /// Which instruction.
        opcode: TensorOpcode,
        /// Full spelling.
        text: String,
    },
    /// `wgmma.fence`
    MatrixFence,
    /// `tensormap.replace`
    Replace(ReplaceOpcode),
}

/// `cp.async…`, `cp.reduce.async.bulk…`.
pub(super) fn check_copy(opcode: &Opcode<'_>, target: Target) -> Result<Operation, Diagnostic> {
    let words: Vec<&str> = opcode.modifiers.iter().map(|modifier| modifier.text).collect();
    let operation = match words.as_slice() {
        ["async", "bulk", "commit_group", ..] => {
            check_group(opcode, 3, AsyncOpcode::Commit(AsyncGroup::Bulk))?
        }
        ["async", "bulk", "wait_group", "read", ..] => {
            check_group(opcode, 4, AsyncOpcode::Wait { group: AsyncGroup::Bulk, reads_only: true })?
        }
        ["async", "bulk", "wait_group", ..] => {
            check_group(opcode, 3, AsyncOpcode::Wait { group: AsyncGroup::Bulk, reads_only: false })?
        }
        ["async", "bulk", "prefetch", ..] => bulk::check_prefetch(opcode, target)?,
        ["async", "bulk", ..] | ["reduce", "async", "bulk", ..] => bulk::check(opcode, target)?,
        ["async", "commit_group", ..] => check_group(opcode, 2, AsyncOpcode::Commit(AsyncGroup::Copy))?,
        ["async", "wait_group", ..] => {
            check_group(opcode, 2, AsyncOpcode::Wait { group: AsyncGroup::Copy, reads_only: false })?
        }
        ["async", "wait_all", ..] => check_group(opcode, 2, AsyncOpcode::WaitAll)?,
        ["async", "mbarrier", "arrive", rest @ ..] => {
            check_arrive(opcode, &opcode.modifiers[3..], rest.len())?
        }
        ["async", ..] => check_element_copy(opcode, target)?,
        _ => {
            let message = format!("`{}` is not a form of `cp`", opcode.text);
            return Err(Diagnostic::new("validate::copy-form", message, opcode.span, "which copy?")
                .with_help("write `cp.async…`, `cp.async.bulk…` or `cp.reduce.async.bulk…`"));
        }
    };
    let (ptx, sm) = if words.contains(&"bulk") { ((8, 0), 90) } else { ((7, 0), 80) };
    let name = if words.contains(&"bulk") { "cp.async.bulk" } else { "cp.async" };
    floor(target, name, ptx, sm, opcode.span)?;
    Ok(Operation::Async(operation))
}

/// A commit or a wait, which take nothing behind their `n` words.
fn check_group(opcode: &Opcode<'_>, n: usize, found: AsyncOpcode) -> Result<AsyncOpcode, Diagnostic> {
    let Some(&extra) = opcode.modifiers.get(n) else { return Ok(found) };
    if extra.text == "read" {
        let message = "`.read` belongs to `cp.async.bulk.wait_group`";
        return Err(Diagnostic::new("validate::copy-form", message, extra.span, "not allowed here")
            .with_help("leave it out: the copies of `cp.async` have no wait for their reads only")
            .with_rule("AS-20"));
    }
    Err(match misplaced_noinc(extra) {
        Some(error) => error,
        None => unknown_modifier(opcode, extra, &["read"]),
    })
}

/// The error for `.noinc` anywhere but on `cp.async.mbarrier.arrive`.
fn misplaced_noinc(modifier: Modifier<'_>) -> Option<Diagnostic> {
    let message = "`.noinc` belongs to `cp.async.mbarrier.arrive`";
    (modifier.text == "noinc").then(|| {
        Diagnostic::new("validate::copy-noinc", message, modifier.span, "not allowed here")
            .with_help("leave it out")
            .with_rule("AS-11")
    })
}

fn check_arrive(opcode: &Opcode<'_>, rest: &[Modifier<'_>], n: usize) -> Result<AsyncOpcode, Diagnostic> {
    let (mut noinc, mut window, mut ty) = (None, None, None);
    for &modifier in &rest[..n] {
        match modifier.text {
            "noinc" => set_once(&mut noinc, (), modifier)?,
            "shared" | "shared::cta" => set_once(&mut window, (), modifier)?,
            "b64" => set_once(&mut ty, (), modifier)?,
            text if parse_space(text).is_some() => {
                let message = "`cp.async.mbarrier.arrive` works on an mbarrier of the own CTA only";
                return Err(Diagnostic::new(
                    "validate::mbarrier-peer",
                    message,
                    modifier.span,
                    "not `.shared::cta`",
                )
                .with_help("write `.shared::cta`, or leave the state space out")
                .with_rule("MB-2"));
            }
            _ => return Err(unknown_modifier(opcode, modifier, &["noinc", "shared::cta", "b64"])),
        }
    }
    Ok(AsyncOpcode::CopyArrive { increments: noinc.is_none() })
}

/// `cp.async.{ca,cg}.shared{::cta}.global`
fn check_element_copy(opcode: &Opcode<'_>, target: Target) -> Result<AsyncOpcode, Diagnostic> {
    let (mut level, mut has_hint) = (None, false);
    let mut spaces = Vec::new();
    for &modifier in &opcode.modifiers[1..] {
        match modifier.text {
            "ca" => set_once(&mut level, false, modifier)?,
            "cg" => set_once(&mut level, true, modifier)?,
            "L2::cache_hint" => has_hint = true,
            text if text.starts_with("L2::") => {}
            text if parse_space(text).is_some() => spaces.push(modifier),
            text if text == ON_MBARRIER || text == "bulk_group" => {
                let message = format!("`cp.async` has no `.{text}`");
                return Err(Diagnostic::new(
                    "validate::copy-completion",
                    message,
                    modifier.span,
                    "not allowed here",
                )
                .with_help(
                    "wait with `cp.async.wait_group`, or signal an mbarrier with `cp.async.mbarrier.arrive`",
                )
                .with_rule("AS-3"));
            }
            _ => {
                return Err(misplaced_noinc(modifier).unwrap_or_else(|| {
                    unknown_modifier(opcode, modifier, &["ca", "cg", "shared::cta", "global", "bulk"])
                }));
            }
        }
    }
    check_element_spaces(opcode, &spaces)?;
    let Some((is_cg, _)) = level else {
        let message = "`cp.async` needs `.ca` or `.cg`";
        return Err(Diagnostic::new("validate::copy-cache", message, opcode.span, "which caches?")
            .with_help(
                "write `cp.async.ca.shared::cta.global`; it changes nothing here but the sizes allowed",
            )
            .with_rule("AS-9"));
    };
    floor(target, "cp.async", (7, 0), 80, opcode.span)?;
    Ok(AsyncOpcode::Copy { is_cg, has_hint })
}

fn check_element_spaces(opcode: &Opcode<'_>, spaces: &[Modifier<'_>]) -> Result<(), Diagnostic> {
    let texts: Vec<&str> = spaces.iter().map(|modifier| modifier.text).collect();
    if matches!(texts.as_slice(), ["shared" | "shared::cta", "global"]) {
        return Ok(());
    }
    let span = spaces.first().map_or(opcode.span, |modifier| modifier.span);
    let message = "`cp.async` copies from global memory to the own CTA's shared memory";
    Err(Diagnostic::new("validate::copy-direction", message, span, "another direction, or none")
        .with_help("write `cp.async.ca.shared::cta.global`; `cp.async.bulk` has more directions")
        .with_rule("AS-8"))
}
