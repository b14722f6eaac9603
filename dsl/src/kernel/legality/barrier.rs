//! `bar`, `barrier` and `bar.warp.sync` (BR-1, BR-8).

use super::{BarrierForm, BarrierReduction, Diagnostic, Opcode, Operation, Target, floor, unknown_modifier};

pub(super) fn check(opcode: &Opcode<'_>, target: Target) -> Result<Operation, Diagnostic> {
    let words: Vec<&str> = opcode.modifiers.iter().map(|modifier| modifier.text).collect();
    if words.first() == Some(&"cluster") {
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
    if opcode.mnemonic == "bar" && words.first() == Some(&"warp") {
        if words != ["warp", "sync"] {
            return Err(malformed(opcode));
        }
        floor(target, "bar.warp.sync", (6, 0), 30, opcode.span)?;
        return Ok(Operation::WarpSync);
    }
    let known = ["cta", "sync", "arrive", "red", "popc", "and", "or", "aligned", "u32", "pred"];
    if let Some(&odd) = opcode.modifiers.iter().find(|modifier| !known.contains(&modifier.text)) {
        return Err(unknown_modifier(opcode, odd, &known));
    }
    let is_bar = opcode.mnemonic == "bar";
    let is_aligned = is_bar || words.contains(&"aligned");
    let mut words = words;
    words.retain(|word| !(*word == "cta" || (*word == "aligned" && !is_bar)));
    let form = match words.as_slice() {
        ["sync"] => BarrierForm::Sync,
        ["arrive"] => BarrierForm::Arrive,
        ["red", "popc", "u32"] | ["red", "popc"] => BarrierForm::Reduce(BarrierReduction::Popc),
        ["red", "and", "pred"] | ["red", "and"] => BarrierForm::Reduce(BarrierReduction::And),
        ["red", "or", "pred"] | ["red", "or"] => BarrierForm::Reduce(BarrierReduction::Or),
        _ => return Err(malformed(opcode)),
    };
    if is_bar {
        let ptx = if form == BarrierForm::Sync { (1, 0) } else { (2, 0) };
        floor(target, opcode.text, ptx, 0, opcode.span)?;
    } else {
        floor(target, "barrier", (6, 0), 30, opcode.span)?;
    }
    let (verb, suffix) = match form {
        BarrierForm::Sync => ("sync", ""),
        BarrierForm::Arrive => ("arrive", ""),
        BarrierForm::Reduce(BarrierReduction::Popc) => ("red.popc", ".u32"),
        BarrierForm::Reduce(BarrierReduction::And) => ("red.and", ".pred"),
        BarrierForm::Reduce(BarrierReduction::Or) => ("red.or", ".pred"),
    };
    let aligned = if is_aligned && !is_bar { ".aligned" } else { "" };
    let text = format!("{}.{verb}{aligned}{suffix}", opcode.mnemonic);
    Ok(Operation::Barrier { text, form, aligned: is_aligned })
}

fn malformed(opcode: &Opcode<'_>) -> Diagnostic {
    let message = format!("`{}` is not a form of `{}`", opcode.text, opcode.mnemonic);
    Diagnostic::new("validate::barrier-form", message, opcode.span, "not a barrier instruction")
        .with_help("forms are `bar.sync`, `bar.arrive`, `bar.red.popc.u32`, `bar.red.and.pred`, `bar.red.or.pred`, `bar.warp.sync` and `barrier.cluster.arrive`/`.wait`")
        .with_rule("BR-1")
}
