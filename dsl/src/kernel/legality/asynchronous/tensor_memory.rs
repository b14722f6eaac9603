//! `tcgen05`: matrix operations on tensor memory, its allocation, and what orders them (§5.8).
//!
//! Shapes, kinds and data layouts are checked for their form; of them only the kind of a product counts, since products
//! of different kinds do not follow each other. Pairs of CTAs (`.cta_group::2`) are refused.

use super::{
    AsyncOpcode, Diagnostic, Modifier, Opcode, Operation, Target, floor, unknown_modifier,
    unsupported_modifier,
};

/// What the opcode of a `tcgen05` instruction says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TensorOpcode {
    /// `mma`
    Multiply {
        /// `f16` and so on.
        kind: String,
    },
    /// `cp`
    Copy,
    /// `ld`
    Load,
    /// `st`
    Store,
    /// `commit`
    Commit {
        /// `.multicast::cluster`
        multicast: bool,
    },
    /// `wait::ld`, `wait::st`
    Wait {
        /// For stores rather than loads.
        stores: bool,
    },
    /// `fence::before_thread_sync`, `fence::after_thread_sync`
    Fence {
        /// The former.
        before: bool,
    },
    /// `alloc`
    Allocate,
    /// `dealloc`
    Free,
    /// `relinquish_alloc_permit`
    Relinquish,
}

/// Kinds of products without scale factors.
const KINDS: [&str; 4] = ["kind::f16", "kind::tf32", "kind::f8f6f4", "kind::i8"];
/// Shapes of loads, stores and copies.
const SHAPES: [&str; 10] = [
    "32x32b", "16x64b", "16x128b", "16x256b", "16x32bx2", "128x256b", "128x128b", "64x128b", "32x128b",
    "4x256b",
];
/// What is known to PTX and changes what is accessed.
const UNSUPPORTED: [&str; 9] = [
    "cta_group::2",
    "ws",
    "sp",
    "block_scale",
    "kind::mxf8f6f4",
    "kind::mxf4",
    "kind::mxf4nvf4",
    "red",
    "sync_restrict::shared::read::mma::a",
];
/// The word by which a commit says what it does.
const ARRIVES: &str = "mbarrier::arrive::one";

/// Checks a `tcgen05` instruction.
pub(in crate::kernel::legality) fn check_tensor(
    opcode: &Opcode<'_>,
    target: Target,
) -> Result<Operation, Diagnostic> {
    let Some(name) = opcode.modifiers.first() else { return Err(no_operation(opcode)) };
    let rest = &opcode.modifiers[1..];
    if let Some(&modifier) = rest.iter().find(|modifier| UNSUPPORTED.contains(&modifier.text)) {
        return Err(unsupported_modifier(opcode, modifier));
    }
    let has = |word: &str| opcode.has(word);
    // What it needs, and what it may have.
    let (found, needed, more): (TensorOpcode, &[&str], &[&str]) = match name.text {
        "mma" => {
            let kind = rest.iter().find(|modifier| KINDS.contains(&modifier.text));
            let Some(kind) = kind else {
                return Err(form(
                    opcode,
                    format!("`{}` needs its kind", opcode.text),
                    "write `tcgen05.mma.cta_group::1.kind::f16`",
                ));
            };
            let kind = kind.text.trim_start_matches("kind::").to_owned();
            (TensorOpcode::Multiply { kind }, &["cta_group::1"], &KINDS)
        }
        "cp" => (TensorOpcode::Copy, &["cta_group::1"], &SHAPES),
        "ld" => (TensorOpcode::Load, &["sync", "aligned", "b32"], &SHAPES),
        "st" => (TensorOpcode::Store, &["sync", "aligned", "b32"], &SHAPES),
        "commit" => {
            let multicast = has("multicast::cluster");
            let more = &["shared::cluster", "multicast::cluster", "b64"];
            (TensorOpcode::Commit { multicast }, &["cta_group::1", ARRIVES, "b64"], more)
        }
        "wait::ld" => (TensorOpcode::Wait { stores: false }, &["sync", "aligned"], &[]),
        "wait::st" => (TensorOpcode::Wait { stores: true }, &["sync", "aligned"], &[]),
        "fence::before_thread_sync" => (TensorOpcode::Fence { before: true }, &[], &[]),
        "fence::after_thread_sync" => (TensorOpcode::Fence { before: false }, &[], &[]),
        "alloc" => (TensorOpcode::Allocate, &["cta_group::1", "sync", "aligned", "b32"], &["shared::cta"]),
        "dealloc" => (TensorOpcode::Free, &["cta_group::1", "sync", "aligned", "b32"], &[]),
        "relinquish_alloc_permit" => (TensorOpcode::Relinquish, &["cta_group::1", "sync", "aligned"], &[]),
        "shift" => return Err(unsupported_modifier(opcode, *name)),
        _ => return Err(no_operation(opcode)),
    };
    for &modifier in rest {
        if !needed.contains(&modifier.text) && !more.contains(&modifier.text) && !is_layout(&found, modifier)
        {
            let known: Vec<&str> = needed.iter().chain(more).copied().collect();
            return Err(unknown_modifier(opcode, modifier, &known));
        }
    }
    if let Some(missing) = needed.iter().find(|word| !has(word)) {
        return Err(form(
            opcode,
            format!("`{}` needs `.{missing}`", opcode.text),
            "see PTX ISA 9.4 §9.7.18 for its form",
        ));
    }
    floor(target, "tcgen05", (8, 6), 100, opcode.span)?;
    Ok(Operation::Async(AsyncOpcode::Tensor { opcode: found, text: opcode.text.to_owned() }))
}

/// Modifiers that say how data is laid out or cached, which nothing here depends on.
fn is_layout(found: &TensorOpcode, modifier: Modifier<'_>) -> bool {
    let text = modifier.text;
    let is_count = || {
        text.strip_prefix('x')
            .is_some_and(|n| n.parse::<u32>().is_ok_and(|n| n.is_power_of_two() && n <= 128))
    };
    match found {
        TensorOpcode::Multiply { .. } => text.starts_with("collector::") || text == "ashift",
        TensorOpcode::Copy => text.starts_with("warpx") || text.starts_with('b'),
        TensorOpcode::Load => is_count() || text == "pack::16b",
        TensorOpcode::Store => is_count() || text == "unpack::16b",
        _ => false,
    }
}

fn no_operation(opcode: &Opcode<'_>) -> Diagnostic {
    let message = format!("`{}` is not an operation of `tcgen05`", opcode.text);
    form(
        opcode,
        message,
        "write `tcgen05.mma`, `cp`, `ld`, `st`, `commit`, `wait::ld`, `wait::st`, `fence::before_thread_sync`, `fence::after_thread_sync`, `alloc`, `dealloc` or `relinquish_alloc_permit`",
    )
}

fn form(opcode: &Opcode<'_>, message: String, help: &str) -> Diagnostic {
    Diagnostic::new("validate::tensor-form", message, opcode.span, "not a form of it")
        .with_help(help)
        .with_rule("AS-29")
}
