//! `tex`, `suld`, `sust` and `sured`: accesses through the texture and surface proxies (MM-2, MM-15).
//!
//! A skeleton of PTX's forms: one element of a one-dimensional texture or surface at a time, its coordinate an index of the
//! object. Such accesses are weak; `sured` is an atomic of scope `.gpu`.

use super::{
    Access, AtomicOp, Diagnostic, Modifier, Opcode, Operation, PtxType, Rmw, Target, floor, set_once,
    unknown_modifier, unsupported_modifier,
};
use crate::vocabulary::{Proxy, Scope, Sem};

const OPERATIONS: &[(&str, AtomicOp)] = &[
    ("add", AtomicOp::Add),
    ("min", AtomicOp::Min),
    ("max", AtomicOp::Max),
    ("and", AtomicOp::And),
    ("or", AtomicOp::Or),
];
const GEOMETRIES: &[&str] = &["2d", "3d", "a1d", "a2d", "cube", "acube", "2dms", "a2dms"];

pub(super) fn check(opcode: &Opcode<'_>, target: Target) -> Result<Operation, Diagnostic> {
    let is_texture = opcode.mnemonic == "tex";
    let (mut geometry, mut ty, mut coordinate) = (None, None, None);
    let (mut form, mut mode, mut op) = (None, None, None);
    for &modifier in &opcode.modifiers {
        let text = modifier.text;
        if text == "1d" {
            set_once(&mut geometry, (), modifier)?;
        } else if let Some(parsed) = PtxType::parse(text) {
            if is_texture && ty.is_some() {
                set_once(&mut coordinate, (), modifier)?;
                check_coordinate(opcode, parsed, modifier)?;
            } else {
                set_once(&mut ty, parsed, modifier)?;
            }
        } else if !is_texture && text == "b" {
            set_once(&mut form, (), modifier)?;
        } else if !is_texture && matches!(text, "trap" | "clamp" | "zero") {
            set_once(&mut mode, (), modifier)?;
        } else if let Some(&(name, found)) =
            OPERATIONS.iter().find(|(name, _)| opcode.mnemonic == "sured" && *name == text)
        {
            set_once(&mut op, Rmw { op: found, name, span: modifier.span }, modifier)?;
        } else if GEOMETRIES.contains(&text)
            || matches!(text, "v2" | "v4" | "p" | "f16x2" | "f32" | "base" | "level" | "grad" | "cg" | "cs")
        {
            return Err(unsupported_modifier(opcode, modifier));
        } else {
            let known = ["1d", "b", "trap", "clamp", "zero", "u32", "s32", "b32", "b64", "add", "min", "max"];
            return Err(unknown_modifier(opcode, modifier, &known));
        }
    }
    if geometry.is_none() {
        return Err(incomplete(opcode, "a geometry", "1d"));
    }
    if !is_texture && form.is_none() {
        return Err(incomplete(opcode, "`.b`, the form that moves bits as they are", "b"));
    }
    let (sem, scope) =
        if opcode.mnemonic == "sured" { (Sem::Relaxed, Scope::Gpu) } else { (Sem::Weak, Scope::Cta) };
    let proxy = if is_texture { Proxy::Texture } else { Proxy::Surface };
    floor(target, opcode.mnemonic, if is_texture { (1, 0) } else { (1, 5) }, 20, opcode.span)?;
    let access =
        Access { sem, scope, space: None, window: None, ty, elements: 1, vector_span: opcode.span, proxy };
    Ok(match (opcode.mnemonic, op) {
        ("sust", _) => Operation::Store(access),
        ("sured", None) => return Err(incomplete(opcode, "an operation", "add")),
        ("sured", Some((op, _))) => Operation::Reduction(access, op),
        _ => Operation::Load(access),
    })
}

/// The second type of `tex` is that of the coordinate.
fn check_coordinate(opcode: &Opcode<'_>, ty: PtxType, modifier: Modifier<'_>) -> Result<(), Diagnostic> {
    if (ty.kind, ty.width) == ('s', 32) {
        return Ok(());
    }
    let message = format!("`{}` takes a coordinate of type `.s32`", opcode.text);
    Err(Diagnostic::new("validate::duplicate-modifier", message, modifier.span, "the coordinate's type")
        .with_help("write the element's type, then `.s32` or nothing: `tex.1d.u32.s32`"))
}

fn incomplete(opcode: &Opcode<'_>, what: &str, example: &str) -> Diagnostic {
    let message = format!("`{}` needs {what}", opcode.text);
    Diagnostic::new("validate::missing-operation", message, opcode.span, "not said here")
        .with_help(format!("add `.{example}`, as in `{}`", usual(opcode.mnemonic)))
}

/// A complete opcode of each instruction.
fn usual(mnemonic: &str) -> &'static str {
    match mnemonic {
        "tex" => "tex.1d.u32 [t]",
        "suld" => "suld.b.1d.b32 [s]",
        "sust" => "sust.b.1d.b32 [s], v",
        _ => "sured.b.add.1d.u32 [s], v",
    }
}
