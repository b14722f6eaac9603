//! Proxy fences: `fence.proxy` and `membar.proxy` (FN-11 … FN-20, FN-24, FN-25).

use super::fence::check_restriction;
use super::{
    AsyncSpace, Diagnostic, Modifier, Opcode, Operation, ProxyFenceOpcode, Scope, Sem, Span, Target,
    check_scope_floor, floor, set_once, unknown_modifier, unsupported,
};
use crate::vocabulary::{FenceSem, Proxy};

/// The modifiers behind `.proxy` by kind.
struct Parts<'a> {
    kind: Modifier<'a>,
    sem: Option<(Modifier<'a>, Span)>,
    scope: Option<(Scope, Span)>,
    restriction: Option<(Modifier<'a>, Span)>,
    /// A second word that is none of these.
    rest: Option<Modifier<'a>>,
}

const KINDS: &[&str] = &["alias", "async", "tensormap::generic", "async::generic"];

fn illegal(span: Span, message: impl Into<String>, help: &str, rule: &'static str) -> Diagnostic {
    Diagnostic::new("validate::proxy-fence", message, span, "not allowed here")
        .with_help(help)
        .with_rule(rule)
}

fn split<'a>(opcode: &Opcode<'a>) -> Result<Parts<'a>, Diagnostic> {
    let (mut kind, mut sem, mut scope, mut restriction, mut rest) = (None, None, None, None, None);
    for &modifier in opcode.modifiers.iter().filter(|modifier| modifier.text != "proxy") {
        if let Some(found) = Scope::from_name(modifier.text) {
            set_once(&mut scope, found, modifier)?;
        } else if FenceSem::from_name(modifier.text).is_some() {
            set_once(&mut sem, modifier, modifier)?;
        } else if modifier.text.starts_with("sync_restrict") {
            set_once(&mut restriction, modifier, modifier)?;
        } else if kind.is_none() {
            kind = Some(modifier);
        } else if rest.is_none() {
            rest = Some(modifier);
        } else {
            return Err(unknown_modifier(opcode, modifier, KINDS));
        }
    }
    match kind {
        Some(kind) => Ok(Parts { kind, sem, scope, restriction, rest }),
        None => {
            let message = format!("`{}` needs a proxy", opcode.text);
            Err(Diagnostic::new("validate::proxy-fence", message, opcode.span, "no proxy")
                .with_help("for example `fence.proxy.alias` or `fence.proxy.async`")
                .with_rule("FN-11"))
        }
    }
}

pub(super) fn check(opcode: &Opcode<'_>, target: Target) -> Result<Operation, Diagnostic> {
    let parts = split(opcode)?;
    if let (Some((restriction, span)), true) = (parts.restriction, parts.kind.text != "async::generic") {
        let message = format!("`.{}` belongs to `fence.proxy.async::generic`", restriction.text);
        return Err(illegal(span, message, "leave it out, or fence `async::generic`", "FN-15"));
    }
    let is_pair = parts.kind.text.contains("::");
    if opcode.mnemonic == "membar" && (is_pair || (parts.kind.text == "alias" && parts.sem.is_some())) {
        let message = "`membar.proxy` has the bi-directional forms only";
        return Err(illegal(parts.kind.span, message, "write `fence` for `membar`", "FN-20"));
    }
    let kind = match parts.kind.text {
        "alias" => check_alias(opcode, &parts, target)?,
        "generic" | "texture" | "surface" | "constant" => check_formal(opcode, &parts, target)?,
        "async" => check_async(opcode, &parts, target)?,
        "tensormap::generic" => check_tensormap_generic(opcode, &parts, target)?,
        "async::generic" => check_async_generic(opcode, &parts, target)?,
        "generic::tensormap" | "generic::async" => {
            let proxy = parts.kind.text.trim_start_matches("generic::");
            let help = if proxy == "async" {
                "completion of an async operation carries this order; else use `fence.proxy.async`"
            } else {
                "write `tensormap::generic`"
            };
            let message = "a proxy pair reads to::from, and this direction does not exist";
            return Err(illegal(parts.kind.span, message, help, "FN-24"));
        }
        text if text.contains("fabric") => return Err(unsupported(opcode)),
        _ => return Err(unknown_modifier(opcode, parts.kind, KINDS)),
    };
    Ok(Operation::ProxyFence { text: spelling(opcode.mnemonic, kind), kind })
}

fn spelling(mnemonic: &str, kind: ProxyFenceOpcode) -> String {
    let kind = match kind {
        ProxyFenceOpcode::Alias => "alias".to_owned(),
        ProxyFenceOpcode::Formal(proxy) => proxy.to_string(),
        ProxyFenceOpcode::AliasHalf(sem) => format!("alias.{sem}.sys"),
        ProxyFenceOpcode::Async(space) => format!("async{}", space.suffix()),
        ProxyFenceOpcode::AsyncGeneric(sem, restrict) => {
            format!("async::generic.{sem}.sync_restrict::{restrict}.cluster")
        }
        ProxyFenceOpcode::TensormapRelease(scope) => format!("tensormap::generic.release.{scope}"),
        ProxyFenceOpcode::TensormapAcquire(scope) => format!("tensormap::generic.acquire.{scope}"),
    };
    format!("{mnemonic}.proxy.{kind}")
}

/// The fences of the formal model of PTX 7.5 (MM-2).
fn check_formal(
    opcode: &Opcode<'_>,
    parts: &Parts<'_>,
    target: Target,
) -> Result<ProxyFenceOpcode, Diagnostic> {
    let text = parts.kind.text;
    let Some(proxy) = Proxy::from_name(text) else { return Err(unknown_modifier(opcode, parts.kind, KINDS)) };
    if let Some(rest) = parts.rest {
        return Err(unknown_modifier(opcode, rest, KINDS));
    }
    if let Some(span) = parts.sem.map(|(_, span)| span).or(parts.scope.map(|(_, span)| span)) {
        let message = format!("`fence.proxy.{text}` acts inside one thread and has neither sem nor scope");
        return Err(illegal(span, message, "leave it out", "FN-25"));
    }
    if target.formal {
        return Ok(ProxyFenceOpcode::Formal(proxy));
    }
    let message = format!("PTX has no `fence.proxy.{text}`; only the formal model of PTX 7.5 has");
    let help = "no fence of PTX lets a texture, surface or constant access see what was written in the same kernel: \
                use `ld` and `st`; to check against the formal model, say `//! target formal`";
    Err(illegal(parts.kind.span, message, help, "MM-2"))
}

/// The sem of a half; `None` if it is neither acquire nor release.
fn half(modifier: Modifier<'_>) -> Option<Sem> {
    match modifier.text {
        "acquire" => Some(Sem::Acquire),
        "release" => Some(Sem::Release),
        _ => None,
    }
}

fn check_alias(
    opcode: &Opcode<'_>,
    parts: &Parts<'_>,
    target: Target,
) -> Result<ProxyFenceOpcode, Diagnostic> {
    if let Some(rest) = parts.rest {
        return Err(unknown_modifier(opcode, rest, &["alias"]));
    }
    match (parts.sem, parts.scope) {
        (None, None) => {
            let sm = if opcode.mnemonic == "membar" { 60 } else { 70 };
            floor(target, opcode.text, (7, 5), sm, opcode.span)?;
            Ok(ProxyFenceOpcode::Alias)
        }
        (Some((sem, _)), Some((Scope::Sys, _))) if half(sem).is_some() => {
            floor(target, opcode.text, (9, 4), 90, opcode.span)?;
            Ok(ProxyFenceOpcode::AliasHalf(half(sem).unwrap_or(Sem::Release)))
        }
        (sem, scope) => {
            let span = scope.map(|(_, span)| span).or(sem.map(|(_, span)| span));
            let message =
                "`fence.proxy.alias` takes neither sem nor scope, or `.acquire.sys` or `.release.sys`";
            Err(illegal(span.unwrap_or(opcode.span), message, "write `fence.proxy.alias`", "FN-18"))
        }
    }
}

fn check_async(
    opcode: &Opcode<'_>,
    parts: &Parts<'_>,
    target: Target,
) -> Result<ProxyFenceOpcode, Diagnostic> {
    if let Some(span) = parts.sem.map(|(_, span)| span).or(parts.scope.map(|(_, span)| span)) {
        let message = "`fence.proxy.async` acts inside one thread and has neither sem nor scope";
        return Err(illegal(span, message, "leave it out", "FN-25"));
    }
    let space = match parts.rest.map(|modifier| (modifier, modifier.text)) {
        None => AsyncSpace::All,
        Some((_, "global")) => AsyncSpace::Global,
        Some((_, "shared::cta")) => AsyncSpace::SharedCta,
        Some((_, "shared::cluster")) => AsyncSpace::SharedCluster,
        Some((modifier, "shared")) => {
            let message = "`fence.proxy.async.shared` does not say which shared memory";
            return Err(illegal(
                modifier.span,
                message,
                "write `.shared::cta` or `.shared::cluster`",
                "FN-12",
            ));
        }
        Some((modifier, _)) => {
            let known = ["global", "shared::cta", "shared::cluster"];
            return Err(unknown_modifier(opcode, modifier, &known));
        }
    };
    floor(target, opcode.text, (8, 0), 90, opcode.span)?;
    Ok(ProxyFenceOpcode::Async(space))
}

fn check_tensormap_generic(
    opcode: &Opcode<'_>,
    parts: &Parts<'_>,
    target: Target,
) -> Result<ProxyFenceOpcode, Diagnostic> {
    if let Some(rest) = parts.rest {
        return Err(unknown_modifier(opcode, rest, KINDS));
    }
    let example = "write `fence.proxy.tensormap::generic.release.gpu` or `.acquire.gpu [map], 128`";
    let (Some((sem, sem_span)), Some((scope, scope_span))) = (parts.sem, parts.scope) else {
        let message = "`fence.proxy.tensormap::generic` needs a sem and a scope";
        return Err(illegal(parts.kind.span, message, example, "FN-13"));
    };
    let Some(sem) = half(sem) else {
        let message = format!("`fence.proxy.tensormap::generic` cannot be `.{}`", sem.text);
        return Err(illegal(sem_span, message, example, "FN-13"));
    };
    floor(target, "fence.proxy.tensormap::generic", (8, 3), 90, opcode.span)?;
    check_scope_floor(target, scope, scope_span)?;
    Ok(match sem {
        Sem::Acquire => ProxyFenceOpcode::TensormapAcquire(scope),
        _ => ProxyFenceOpcode::TensormapRelease(scope),
    })
}

fn check_async_generic(
    opcode: &Opcode<'_>,
    parts: &Parts<'_>,
    target: Target,
) -> Result<ProxyFenceOpcode, Diagnostic> {
    if let Some(rest) = parts.rest {
        return Err(unknown_modifier(opcode, rest, KINDS));
    }
    let Some((restriction, span)) = parts.restriction else {
        let message = "`fence.proxy.async::generic` needs a restriction";
        let help = "write `.release.sync_restrict::shared::cta.cluster` or \
                    `.acquire.sync_restrict::shared::cluster.cluster`";
        return Err(illegal(parts.kind.span, message, help, "FN-15"));
    };
    let (restrict, sem) = check_restriction(opcode, restriction)?;
    let ptx = if restrict == crate::vocabulary::SyncRestrict::SharedClusterRead { (9, 4) } else { (8, 6) };
    floor(target, &format!(".{}", restriction.text), ptx, 90, span)?;
    Ok(ProxyFenceOpcode::AsyncGeneric(sem, restrict))
}
