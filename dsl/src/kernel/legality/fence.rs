//! `fence` and `membar` without a proxy (FN-1 … FN-10, and the list of illegal syntax next to them).

use super::{
    Diagnostic, FenceSem, Modifier, Opcode, Operation, Scope, Sem, Span, SyncRestrict, Target,
    check_scope_floor, floor, proxy, set_once, unknown_modifier,
};

pub(super) fn check(opcode: &Opcode<'_>, target: Target) -> Result<Operation, Diagnostic> {
    if opcode.has("proxy") {
        return proxy::check(opcode, target);
    }
    if opcode.mnemonic == "membar" {
        return check_membar(opcode, target);
    }
    check_thread_fence(opcode, target)
}

fn check_thread_fence(opcode: &Opcode<'_>, target: Target) -> Result<Operation, Diagnostic> {
    let mut sem = None;
    let mut scope = None;
    let mut restriction: Option<(Modifier<'_>, Span)> = None;
    for &modifier in &opcode.modifiers {
        let text = modifier.text;
        if let Some(found) = Scope::from_name(text) {
            set_once(&mut scope, found, modifier)?;
        } else if let Some(found) = FenceSem::from_name(text) {
            set_once(&mut sem, found, modifier)?;
        } else if text.starts_with("sync_restrict") || text.ends_with("_init") {
            set_once(&mut restriction, modifier, modifier)?;
        } else if matches!(text, "weak" | "relaxed" | "volatile" | "mmio") {
            let message = format!("a fence cannot be `.{text}`");
            return Err(Diagnostic::new(
                "validate::illegal-sem",
                message,
                modifier.span,
                "not a sem of `fence`",
            )
            .with_help("use `.sc`, `.acq_rel` (the default), `.acquire` or `.release`")
            .with_rule("FN-1"));
        } else {
            let known = ["sc", "acq_rel", "acquire", "release", "cta", "cluster", "gpu", "sys", "proxy"];
            return Err(unknown_modifier(opcode, modifier, &known));
        }
    }
    if let Some((modifier, span)) = restriction {
        return check_restricted(opcode, modifier, span, target);
    }
    let sem_span = sem.map_or(opcode.span, |(_, span)| span);
    let sem = sem.map_or(FenceSem::AcqRel, |(sem, _)| sem);
    let Some((scope, scope_span)) = scope else {
        let message = format!("`{}` needs a scope", opcode.text);
        return Err(Diagnostic::new("validate::missing-scope", message, opcode.span, "no scope")
            .with_help(format!("write `fence.{sem}.gpu` (or `.cta`, `.cluster`, `.sys`)"))
            .with_rule("FN-1"));
    };
    floor(target, "fence", (6, 0), 70, opcode.span)?;
    if matches!(sem, FenceSem::Acquire | FenceSem::Release) {
        floor(target, &format!("fence.{sem}"), (8, 6), 90, sem_span)?;
    }
    check_scope_floor(target, scope, scope_span)?;
    Ok(Operation::Fence { text: format!("fence.{sem}.{scope}"), sem, scope, restrict: None })
}

/// A fence with `.sync_restrict` or `.mbarrier_init`.
fn check_restricted(
    opcode: &Opcode<'_>,
    restriction: Modifier<'_>,
    span: Span,
    target: Target,
) -> Result<Operation, Diagnostic> {
    if restriction.text == "mbarrier_init" {
        check_qualifiers(opcode, restriction, "release", "FN-9")?;
        floor(target, "fence.mbarrier_init", (8, 0), 90, span)?;
        return Ok(Operation::MbarrierInitFence);
    }
    let (restrict, sem) = check_restriction(opcode, restriction)?;
    floor(target, ".sync_restrict", (8, 6), 90, span)?;
    let sem = if sem == Sem::Acquire { FenceSem::Acquire } else { FenceSem::Release };
    let text = format!("fence.{sem}.sync_restrict::{restrict}.cluster");
    Ok(Operation::Fence { text, sem, scope: Scope::Cluster, restrict: Some(restrict) })
}

/// What a `.sync_restrict` restricts to, and the sem it needs (FN-7, FN-8, FN-15 … FN-17).
pub(super) fn check_restriction(
    opcode: &Opcode<'_>,
    modifier: Modifier<'_>,
) -> Result<(SyncRestrict, Sem), Diagnostic> {
    let is_proxy = opcode.has("proxy");
    let (restrict, sem, rule) = match modifier.text {
        "sync_restrict::shared::cta" => {
            (SyncRestrict::SharedCta, Sem::Release, if is_proxy { "FN-15" } else { "FN-8" })
        }
        "sync_restrict::shared::cluster" => {
            (SyncRestrict::SharedCluster, Sem::Acquire, if is_proxy { "FN-16" } else { "FN-7" })
        }
        "sync_restrict::shared::cluster::read" if is_proxy => {
            (SyncRestrict::SharedClusterRead, Sem::Release, "FN-17")
        }
        "sync_restrict::shared::cluster::read" => {
            let message =
                "`.sync_restrict::shared::cluster::read` exists on `fence.proxy.async::generic` only";
            return Err(Diagnostic::new(
                "validate::restricted-fence",
                message,
                modifier.span,
                "not on a thread fence",
            )
            .with_help("write `.sync_restrict::shared::cta`, or a proxy fence")
            .with_rule("FN-17"));
        }
        _ => {
            let known = ["mbarrier_init", "sync_restrict::shared::cta", "sync_restrict::shared::cluster"];
            return Err(unknown_modifier(opcode, modifier, &known));
        }
    };
    check_qualifiers(opcode, modifier, if sem == Sem::Acquire { "acquire" } else { "release" }, rule)?;
    Ok((restrict, sem))
}

fn check_qualifiers(
    opcode: &Opcode<'_>,
    modifier: Modifier<'_>,
    needed: &str,
    rule: &'static str,
) -> Result<(), Diagnostic> {
    if opcode.has(needed) && opcode.has("cluster") {
        return Ok(());
    }
    let message = format!("`.{}` needs `.{needed}` and the scope `.cluster`", modifier.text);
    Err(Diagnostic::new("validate::restricted-fence", message, modifier.span, "restriction")
        .with_help(format!("use `.{needed}` and `.cluster`, or a fence without restriction"))
        .with_rule(rule))
}

fn check_membar(opcode: &Opcode<'_>, target: Target) -> Result<Operation, Diagnostic> {
    let error = |modifier: Option<Modifier<'_>>, message: String| {
        let span = modifier.map_or(opcode.span, |modifier| modifier.span);
        Diagnostic::new("validate::membar-level", message, span, "membar level")
            .with_help("write `membar.cta`, `membar.gl` (which is `.gpu`) or `membar.sys`, or use `fence`")
            .with_rule("FN-10")
    };
    match *opcode.modifiers.as_slice() {
        [level] => {
            let scope = match level.text {
                "cta" => Scope::Cta,
                "gl" => Scope::Gpu,
                "sys" => Scope::Sys,
                other => return Err(error(Some(level), format!("`membar` has no level `.{other}`"))),
            };
            floor(target, "membar", (1, 4), 0, level.span)?;
            Ok(Operation::Fence {
                text: format!("membar.{}", level.text),
                sem: FenceSem::Sc,
                scope,
                restrict: None,
            })
        }
        [] => Err(error(None, "`membar` needs a level".to_owned())),
        [_, second, ..] => Err(error(Some(second), format!("`membar` takes no `.{}`", second.text))),
    }
}
