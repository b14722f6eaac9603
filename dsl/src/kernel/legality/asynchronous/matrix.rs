//! `wgmma`, and the `mov` by which a thread accesses registers that matrix operations use (§5.7).
//!
//! Shapes and types of elements are checked for their form and mean nothing else here.

use super::{
    AsyncOpcode, Diagnostic, Opcode, Operation, Target, floor, unknown_modifier, unsupported_modifier,
};
use crate::kernel::program::AsyncGroup;

/// Types of the elements of a matrix.
const ELEMENT_TYPES: [&str; 12] =
    ["f16", "bf16", "tf32", "e4m3", "e5m2", "s8", "u8", "b1", "f32", "s32", "u32", "f64"];

fn form(opcode: &Opcode<'_>, message: String, help: &str) -> Diagnostic {
    Diagnostic::new("validate::matrix-form", message, opcode.span, "not a form of it")
        .with_help(help)
        .with_rule("AS-24")
}

/// `wgmma.fence`, `wgmma.mma_async`, `wgmma.commit_group`, `wgmma.wait_group`.
pub(in crate::kernel::legality) fn check_matrix(
    opcode: &Opcode<'_>,
    target: Target,
) -> Result<Operation, Diagnostic> {
    let found = match opcode.modifiers.first().map(|modifier| modifier.text) {
        Some("fence") => AsyncOpcode::MatrixFence,
        Some("commit_group") => AsyncOpcode::Commit(AsyncGroup::Matrix),
        Some("wait_group") => AsyncOpcode::Wait { group: AsyncGroup::Matrix, reads_only: false },
        Some("mma_async") => AsyncOpcode::Matrix { text: opcode.text.to_owned() },
        _ => {
            let message = format!("`{}` is not an operation of `wgmma`", opcode.text);
            let help = "write `wgmma.fence`, `wgmma.mma_async`, `wgmma.commit_group` or `wgmma.wait_group`";
            return Err(form(opcode, message, help));
        }
    };
    let is_multiply = matches!(found, AsyncOpcode::Matrix { .. });
    let mut rest = opcode.modifiers[1..].iter().copied();
    for word in ["sync", "aligned"] {
        let next = rest.next();
        if let Some(sparse) = next.filter(|modifier| modifier.text == "sp") {
            return Err(unsupported_modifier(opcode, sparse));
        }
        if next.is_none_or(|modifier| modifier.text != word) {
            let message = format!("`{}` needs `.sync.aligned`", opcode.text);
            return Err(form(opcode, message, "all threads of the warpgroup execute it together"));
        }
    }
    let mut n_types = 0;
    let mut has_shape = false;
    for modifier in rest {
        if is_multiply && is_shape(modifier.text) && !has_shape {
            has_shape = true;
        } else if is_multiply && has_shape && ELEMENT_TYPES.contains(&modifier.text) && n_types < 3 {
            n_types += 1;
        } else if is_multiply && matches!(modifier.text, "satfinite" | "and" | "popc") {
            // What the numbers become is not looked at.
        } else {
            return Err(unknown_modifier(opcode, modifier, &["sync", "aligned", "m64n8k16", "f16"]));
        }
    }
    if is_multiply && (!has_shape || n_types < 3) {
        let message = format!("`{}` needs a shape and the types of D, A and B", opcode.text);
        return Err(form(
            opcode,
            message,
            "for example `wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16`",
        ));
    }
    floor(target, "wgmma", (8, 0), 90, opcode.span)?;
    Ok(Operation::Async(found))
}

/// `m64n8k16`: m is 64, n a multiple of 8 up to 256.
fn is_shape(text: &str) -> bool {
    let Some((n, k)) = text.strip_prefix("m64n").and_then(|rest| rest.split_once('k')) else { return false };
    let number = |text: &str| text.parse::<u32>().ok();
    number(n).is_some_and(|n| n > 0 && n <= 256 && n % 8 == 0)
        && number(k).is_some_and(|k| matches!(k, 8 | 16 | 32 | 256))
}

/// `mov`, on registers that are declared as objects only.
pub(in crate::kernel::legality) fn check_move(opcode: &Opcode<'_>) -> Result<Operation, Diagnostic> {
    for &modifier in &opcode.modifiers {
        if crate::kernel::opcode::PtxType::parse(modifier.text).is_none() {
            return Err(unknown_modifier(opcode, modifier, &["b32", "u32", "b64", "u64"]));
        }
    }
    Ok(Operation::Move)
}
