//! Instructions of the launch: `clusterlaunchcontrol`, `griddepcontrol` and `setmaxnreg`.

use super::{
    AsyncOpcode, CancelQuery, Diagnostic, ON_MBARRIER, Opcode, Operation, Target, floor, parse_space,
    set_once, unknown_modifier, unsupported_modifier,
};
use crate::kernel::program::GridDependency;

/// `clusterlaunchcontrol.try_cancel`, `clusterlaunchcontrol.query_cancel` (AS-39).
pub(in crate::kernel::legality) fn check_launch_control(
    opcode: &Opcode<'_>,
    target: Target,
) -> Result<Operation, Diagnostic> {
    let operation = match opcode.modifiers.first().map(|modifier| modifier.text) {
        Some("try_cancel") => check_try(opcode)?,
        Some("query_cancel") => check_query(opcode)?,
        _ => {
            let message = format!("`{}` is not a form of `clusterlaunchcontrol`", opcode.text);
            return Err(Diagnostic::new(
                "validate::launch-control-form",
                message,
                opcode.span,
                "which operation?",
            )
            .with_help("write `clusterlaunchcontrol.try_cancel.async` or `clusterlaunchcontrol.query_cancel`")
            .with_rule("AS-39"));
        }
    };
    floor(target, "clusterlaunchcontrol", (8, 6), 100, opcode.span)?;
    Ok(Operation::Async(operation))
}

fn check_try(opcode: &Opcode<'_>) -> Result<AsyncOpcode, Diagnostic> {
    let (mut is_async, mut space, mut completion, mut multicast, mut ty) = (None, None, None, None, None);
    for &modifier in &opcode.modifiers[1..] {
        match modifier.text {
            "async" => set_once(&mut is_async, (), modifier)?,
            "shared" | "shared::cta" => set_once(&mut space, (), modifier)?,
            ON_MBARRIER => set_once(&mut completion, (), modifier)?,
            "multicast::cluster::all" => set_once(&mut multicast, (), modifier)?,
            "b128" => set_once(&mut ty, (), modifier)?,
            text if parse_space(text).is_some() => {
                let message =
                    "the response of `clusterlaunchcontrol.try_cancel` is in the own CTA's shared memory";
                return Err(Diagnostic::new(
                    "validate::async-space",
                    message,
                    modifier.span,
                    "not `.shared::cta`",
                )
                .with_help(
                    "write `.shared::cta`; `.multicast::cluster::all` writes to every CTA of the cluster",
                )
                .with_rule("AS-39"));
            }
            _ => {
                let known = ["async", "shared::cta", ON_MBARRIER, "multicast::cluster::all", "b128"];
                return Err(unknown_modifier(opcode, modifier, &known));
            }
        }
    }
    for (is_there, word) in [(is_async.is_some(), "async"), (completion.is_some(), ON_MBARRIER)] {
        if !is_there {
            let message = format!("`clusterlaunchcontrol.try_cancel` needs `.{word}`");
            return Err(Diagnostic::new("validate::launch-control-form", message, opcode.span, "missing")
                .with_help("write `clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128`")
                .with_rule("AS-39"));
        }
    }
    Ok(AsyncOpcode::TryCancel { multicast: multicast.is_some() })
}

fn check_query(opcode: &Opcode<'_>) -> Result<AsyncOpcode, Diagnostic> {
    const FORMS: [(&[&str], CancelQuery); 2] = [
        (&["is_canceled", "pred", "b128"], CancelQuery::IsCanceled),
        (&["get_first_ctaid::x", "b32", "b128"], CancelQuery::FirstCtaid),
    ];
    let rest = &opcode.modifiers[1..];
    if let Some(form) = rest.iter().find(|modifier| {
        matches!(modifier.text, "get_first_ctaid" | "get_first_ctaid::y" | "get_first_ctaid::z")
    }) {
        return Err(unsupported_modifier(opcode, *form)
            .with_help("grids have one dimension here: write `.get_first_ctaid::x.b32.b128`"));
    }
    for (words, query) in FORMS {
        if rest.first().is_some_and(|modifier| modifier.text == words[0]) {
            return match rest.iter().find(|modifier| !words.contains(&modifier.text)) {
                Some(&modifier) => Err(unknown_modifier(opcode, modifier, words)),
                None => Ok(AsyncOpcode::QueryCancel(query)),
            };
        }
    }
    let message = format!("`{}` asks nothing", opcode.text);
    Err(Diagnostic::new("validate::launch-control-form", message, opcode.span, "which question?")
        .with_help("write `.is_canceled.pred.b128` or `.get_first_ctaid::x.b32.b128`")
        .with_rule("AS-39"))
}

/// `setmaxnreg.{inc,dec}.sync.aligned.u32` (AS-41).
pub(in crate::kernel::legality) fn check_max_registers(
    opcode: &Opcode<'_>,
    target: Target,
) -> Result<Operation, Diagnostic> {
    let mut action = None;
    for &modifier in &opcode.modifiers {
        match modifier.text {
            "inc" => set_once(&mut action, true, modifier)?,
            "dec" => set_once(&mut action, false, modifier)?,
            "sync" | "aligned" | "u32" => {}
            _ => return Err(unknown_modifier(opcode, modifier, &["inc", "dec", "sync", "aligned", "u32"])),
        }
    }
    let is_whole = ["sync", "aligned", "u32"].iter().all(|word| opcode.has(word));
    match action {
        Some((increase, _)) if is_whole => {
            floor(target, "setmaxnreg", (8, 0), 90, opcode.span)?;
            Ok(Operation::SetMaxRegisters { increase })
        }
        _ => {
            let message = format!("`{}` is not a form of `setmaxnreg`", opcode.text);
            Err(Diagnostic::new("validate::max-registers", message, opcode.span, "not a form of it")
                .with_help(
                    "write `setmaxnreg.inc.sync.aligned.u32 232` or `setmaxnreg.dec.sync.aligned.u32 40`",
                )
                .with_rule("AS-41"))
        }
    }
}

/// `griddepcontrol.wait`, `griddepcontrol.launch_dependents` (AS-40).
pub(in crate::kernel::legality) fn check_grid_dependency(
    opcode: &Opcode<'_>,
    target: Target,
) -> Result<Operation, Diagnostic> {
    let action = match opcode.modifiers.as_slice() {
        [only] if only.text == "wait" => GridDependency::Wait,
        [only] if only.text == "launch_dependents" => GridDependency::LaunchDependents,
        _ => {
            let message = format!("`{}` is not a form of `griddepcontrol`", opcode.text);
            return Err(Diagnostic::new(
                "validate::grid-dependency",
                message,
                opcode.span,
                "not a form of it",
            )
            .with_help("write `griddepcontrol.launch_dependents` or `griddepcontrol.wait`")
            .with_rule("AS-40"));
        }
    };
    floor(target, "griddepcontrol", (7, 8), 90, opcode.span)?;
    Ok(Operation::GridDependency(action))
}
