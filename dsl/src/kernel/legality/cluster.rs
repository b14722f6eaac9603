//! `barrier.cluster` (BR-11), `elect.sync` and `getctarank`.

use super::{
    Diagnostic, Modifier, Opcode, Operation, Sem, Span, Target, Window, floor, parse_space, set_once,
    unknown_modifier,
};

/// `barrier.cluster.arrive{.release,.relaxed}{.aligned}` and `barrier.cluster.wait{.acquire}{.aligned}`.
pub(super) fn check_barrier(opcode: &Opcode<'_>, target: Target) -> Result<Operation, Diagnostic> {
    if opcode.mnemonic == "bar" {
        let message = "`bar` synchronizes a CTA; the barrier of a cluster is `barrier.cluster`";
        return Err(Diagnostic::new(
            "validate::barrier-form",
            message,
            opcode.span,
            "not a barrier instruction",
        )
        .with_help("write `barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;`")
        .with_rule("BR-9"));
    }
    let rest = || opcode.modifiers.iter().copied().filter(|modifier| modifier.text != "cluster");
    let is_arrive = match rest().next().map(|modifier| modifier.text) {
        Some("arrive") => true,
        Some("wait") => false,
        _ => {
            let message = format!("`{}` is not a form of `barrier.cluster`", opcode.text);
            return Err(Diagnostic::new(
                "validate::barrier-form",
                message,
                opcode.span,
                "neither arrive nor wait",
            )
            .with_help("write `barrier.cluster.arrive;`, and then `barrier.cluster.wait;`")
            .with_rule("BR-9"));
        }
    };
    let mut sem: Option<(Modifier<'_>, Span)> = None;
    let mut aligned = None;
    for modifier in rest().skip(1) {
        match modifier.text {
            "aligned" => set_once(&mut aligned, (), modifier)?,
            "release" | "relaxed" | "acquire" | "acq_rel" | "sc" => set_once(&mut sem, modifier, modifier)?,
            _ => {
                return Err(unknown_modifier(
                    opcode,
                    modifier,
                    &["release", "relaxed", "acquire", "aligned"],
                ));
            }
        }
    }
    floor(target, "barrier.cluster", (7, 8), 90, opcode.span)?;
    if let Some((modifier, span)) = sem {
        floor(target, &format!("barrier.cluster with `.{}`", modifier.text), (8, 0), 90, span)?;
    }
    let aligned = aligned.is_some();
    match (is_arrive, sem.map(|(modifier, _)| modifier)) {
        (true, None) => Ok(Operation::ClusterArrive { sem: Sem::Release, aligned }),
        (true, Some(modifier)) if modifier.text == "release" => {
            Ok(Operation::ClusterArrive { sem: Sem::Release, aligned })
        }
        (true, Some(modifier)) if modifier.text == "relaxed" => {
            Ok(Operation::ClusterArrive { sem: Sem::Relaxed, aligned })
        }
        (false, None) => Ok(Operation::ClusterWait { aligned }),
        (false, Some(modifier)) if modifier.text == "acquire" => Ok(Operation::ClusterWait { aligned }),
        (_, Some(modifier)) => Err(illegal_sem(is_arrive, modifier)),
    }
}

fn illegal_sem(is_arrive: bool, modifier: Modifier<'_>) -> Diagnostic {
    let (verb, help) = if is_arrive {
        ("arrive", "use `.release` (the default) or `.relaxed`")
    } else {
        ("wait", "leave it out: a wait is always `.acquire`")
    };
    let message = format!("`barrier.cluster.{verb}` cannot be `.{}`", modifier.text);
    Diagnostic::new("validate::illegal-sem", message, modifier.span, format!("not a sem of the {verb}"))
        .with_help(help)
        .with_rule("BR-11")
}

/// `elect.sync`.
pub(super) fn check_elect(opcode: &Opcode<'_>, target: Target) -> Result<Operation, Diagnostic> {
    match *opcode.modifiers.as_slice() {
        [sync] if sync.text == "sync" => {
            floor(target, "elect.sync", (8, 0), 90, opcode.span)?;
            Ok(Operation::ElectSync)
        }
        _ => {
            let message = format!("`{}` is not a form of `elect`", opcode.text);
            Err(Diagnostic::new("validate::elect-form", message, opcode.span, "not `elect.sync`")
                .with_help("write `let p = elect.sync 0xffffffff;`")
                .with_rule("AS-42"))
        }
    }
}

/// `getctarank{.shared::cluster}.u32`.
pub(super) fn check_rank(opcode: &Opcode<'_>, target: Target) -> Result<Operation, Diagnostic> {
    let mut ty = None;
    let mut space = None;
    for &modifier in &opcode.modifiers {
        match (modifier.text, parse_space(modifier.text)) {
            ("u32" | "u64", _) => set_once(&mut ty, (), modifier)?,
            (_, Some((_, Some(Window::Cluster)))) => set_once(&mut space, (), modifier)?,
            _ => return Err(unknown_modifier(opcode, modifier, &["shared::cluster", "u32", "u64"])),
        }
    }
    floor(target, "getctarank", (7, 8), 90, opcode.span)?;
    Ok(Operation::GetCtaRank { is_generic: space.is_none() })
}
