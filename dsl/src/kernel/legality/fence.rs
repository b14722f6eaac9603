//! `fence` and `membar` (FN-1 … FN-20, and the list of illegal syntax next to them).

use super::{
    Diagnostic, FenceSem, Modifier, Opcode, Operation, Scope, Target, check_scope_floor, floor, parse_scope,
    set_once, unknown_modifier, unsupported,
};

pub(super) fn check(opcode: &Opcode<'_>, target: Target) -> Result<Operation, Diagnostic> {
    if opcode.has("proxy") {
        return check_proxy(opcode, target);
    }
    if opcode.mnemonic == "membar" {
        return check_membar(opcode, target);
    }
    check_thread_fence(opcode, target)
}

fn check_thread_fence(opcode: &Opcode<'_>, target: Target) -> Result<Operation, Diagnostic> {
    let mut sem = None;
    let mut scope = None;
    for &modifier in &opcode.modifiers {
        let text = modifier.text;
        if let Some(found) = parse_scope(text) {
            set_once(&mut scope, found, modifier)?;
        } else if let Some(found) = parse_sem(text) {
            set_once(&mut sem, found, modifier)?;
        } else if text.starts_with("sync_restrict") || text.ends_with("_init") || text == "op_restrict" {
            check_restriction(opcode, modifier)?;
            return Err(unsupported(opcode));
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
    Ok(Operation::Fence { text: format!("fence.{sem}.{scope}"), sem, scope })
}

fn parse_sem(text: &str) -> Option<FenceSem> {
    match text {
        "sc" => Some(FenceSem::Sc),
        "acq_rel" => Some(FenceSem::AcqRel),
        "acquire" => Some(FenceSem::Acquire),
        "release" => Some(FenceSem::Release),
        _ => None,
    }
}

/// The legality of restricted fences, which are not checked themselves yet (FN-7, FN-8, FN-9).
fn check_restriction(opcode: &Opcode<'_>, modifier: Modifier<'_>) -> Result<(), Diagnostic> {
    let needed = match modifier.text {
        "mbarrier_init" => "release",
        "sync_restrict::shared::cta" => "release",
        "sync_restrict::shared::cluster" => "acquire",
        "sync_restrict::shared::cluster::read" if opcode.has("proxy") => "release",
        _ => {
            let known = ["mbarrier_init", "sync_restrict::shared::cta", "sync_restrict::shared::cluster"];
            return Err(unknown_modifier(opcode, modifier, &known));
        }
    };
    if opcode.has(needed) && opcode.has("cluster") {
        return Ok(());
    }
    let message = format!("`.{}` needs `.{needed}` and the scope `.cluster`", modifier.text);
    Err(Diagnostic::new("validate::restricted-fence", message, modifier.span, "restriction")
        .with_help(format!("use `.{needed}` and `.cluster`, or a fence without restriction"))
        .with_rule(match modifier.text {
            "mbarrier_init" => "FN-9",
            "sync_restrict::shared::cta" => "FN-8",
            _ => "FN-7",
        }))
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
            Ok(Operation::Fence { text: format!("membar.{}", level.text), sem: FenceSem::Sc, scope })
        }
        [] => Err(error(None, "`membar` needs a level".to_owned())),
        [_, second, ..] => Err(error(Some(second), format!("`membar` takes no `.{}`", second.text))),
    }
}

fn check_proxy(opcode: &Opcode<'_>, target: Target) -> Result<Operation, Diagnostic> {
    let rest: Vec<Modifier<'_>> = opcode.modifiers.iter().copied().filter(|m| m.text != "proxy").collect();
    let illegal = |modifier: Modifier<'_>, message: String, help: &str, rule: &'static str| {
        Err(Diagnostic::new("validate::proxy-fence", message, modifier.span, "not allowed here")
            .with_help(help)
            .with_rule(rule))
    };
    let qualifier = |text: &str| parse_scope(text).is_some() || parse_sem(text).is_some();
    let Some(&kind) = rest.iter().find(|modifier| !qualifier(modifier.text)) else {
        let message = format!("`{}` needs a proxy", opcode.text);
        return Err(Diagnostic::new("validate::proxy-fence", message, opcode.span, "no proxy")
            .with_help("for example `fence.proxy.alias`")
            .with_rule("FN-11"));
    };
    let sem = rest.iter().copied().find(|modifier| parse_sem(modifier.text).is_some());
    let scope = rest.iter().copied().find(|modifier| parse_scope(modifier.text).is_some());
    match kind.text {
        "alias" => match (sem, scope) {
            (None, None) if rest.len() == 1 => {
                let (ptx, sm) = if opcode.mnemonic == "membar" { ((7, 5), 60) } else { ((7, 5), 70) };
                floor(target, opcode.text, ptx, sm, opcode.span)?;
                Ok(Operation::AliasFence)
            }
            (None, None) => Err(unknown_modifier(opcode, rest[1], &["alias"])),
            (Some(sem), Some(scope)) if matches!(sem.text, "acquire" | "release") && scope.text == "sys" => {
                floor(target, opcode.text, (9, 4), 90, opcode.span)?;
                Err(unsupported(opcode))
            }
            (Some(odd), _) | (None, Some(odd)) => illegal(
                odd,
                "`fence.proxy.alias` takes neither sem nor scope, or `.acquire.sys` or `.release.sys`"
                    .to_owned(),
                "write `fence.proxy.alias`",
                "FN-18",
            ),
        },
        "async" | "async.global" => match sem.or(scope) {
            Some(odd) => illegal(
                odd,
                "`fence.proxy.async` acts inside one thread and has neither sem nor scope".to_owned(),
                "leave it out",
                "FN-25",
            ),
            None => Err(unsupported(opcode)),
        },
        "generic::tensormap" => illegal(
            kind,
            "a proxy pair reads to::from; this direction does not exist".to_owned(),
            "write `tensormap::generic`",
            "FN-24",
        ),
        "tensormap::generic" if sem.is_none() || scope.is_none() => illegal(
            kind,
            "`fence.proxy.tensormap::generic` needs a sem and a scope".to_owned(),
            "write `fence.proxy.tensormap::generic.release.gpu` or `.acquire.gpu`",
            "FN-13",
        ),
        "tensormap::generic" => Err(unsupported(opcode)),
        "async::generic" => {
            if let Some(&restriction) = rest.iter().find(|m| m.text.starts_with("sync_restrict")) {
                check_restriction(opcode, restriction)?;
            }
            Err(unsupported(opcode))
        }
        text if text.contains("fabric") => Err(unsupported(opcode)),
        _ => Err(unknown_modifier(opcode, kind, &["alias", "async", "tensormap::generic", "async::generic"])),
    }
}
