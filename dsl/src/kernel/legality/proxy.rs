//! `tensormap.cp_fenceproxy` (FN-21).

use super::{
    Diagnostic, Opcode, Operation, Scope, Span, Target, check_scope_floor, floor, set_once, unknown_modifier,
    unsupported,
};

fn illegal(span: Span, message: impl Into<String>, help: &str, rule: &'static str) -> Diagnostic {
    Diagnostic::new("validate::proxy-fence", message, span, "not allowed here")
        .with_help(help)
        .with_rule(rule)
}

/// `tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.scope.sync.aligned`.
pub(super) fn check_tensormap(opcode: &Opcode<'_>, target: Target) -> Result<Operation, Diagnostic> {
    const NEEDED: [&str; 7] =
        ["cp_fenceproxy", "global", "shared::cta", "tensormap::generic", "release", "sync", "aligned"];
    if !opcode.has("cp_fenceproxy") {
        return Err(unsupported(opcode));
    }
    let help =
        "write `tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned`";
    let mut scope = None;
    for &modifier in &opcode.modifiers {
        if let Some(found) = Scope::from_name(modifier.text) {
            set_once(&mut scope, found, modifier)?;
        } else if !NEEDED.contains(&modifier.text) {
            return Err(unknown_modifier(opcode, modifier, &NEEDED));
        }
    }
    if let Some(missing) = NEEDED.iter().find(|word| !opcode.has(word)) {
        let message = format!("`tensormap.cp_fenceproxy` needs `.{missing}`");
        return Err(illegal(opcode.span, message, help, "FN-21"));
    }
    let Some((scope, span)) = scope else {
        return Err(illegal(opcode.span, "`tensormap.cp_fenceproxy` needs a scope", help, "FN-21"));
    };
    floor(target, "tensormap.cp_fenceproxy", (8, 3), 90, opcode.span)?;
    check_scope_floor(target, scope, span)?;
    Ok(Operation::TensormapCopy(scope))
}
