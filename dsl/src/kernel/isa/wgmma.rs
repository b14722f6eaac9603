//! `wgmma` (AS-24 … AS-26), and the `mov` by which a thread accesses registers that matrix operations use (§5.7).
//!
//! Shapes and types of elements have to be those that there are; types mean nothing else here. The operands of a product are
//! all elements that they name: an object without indices is read or written whole.

use super::words::Words;
use super::{
    Aligned, Built, Family, Floor, Form, Key, Need, Only, Slot, Traits, form, may, must, only, since,
};
use crate::diagnostic::Diagnostic;
use crate::kernel::ast::Operand;
use crate::kernel::program::{AccessOp, AsyncGroup, AsyncOp, InstructionKind, MatrixOp};
use crate::kernel::resolve::expression::constant_value;
use crate::kernel::resolve::instruction::{Results, Site, operand_span};
use crate::kernel::resolve::{Body, Resolved};
use crate::vocabulary::{Scope, Sem, Space};

/// Its words `.m64n8k16` and so on: each `n` with each `k`.
macro_rules! shapes {
    ($($n:literal)*) => {
        &[$(
            concat!("m64n", $n, "k8"),
            concat!("m64n", $n, "k16"),
            concat!("m64n", $n, "k32"),
            concat!("m64n", $n, "k256"),
        )*]
    };
}

const SHAPES: &[&str] = shapes!(
    8 16 24 32 40 48 56 64 72 80 88 96 104 112 120 128
    136 144 152 160 168 176 184 192 200 208 216 224 232 240 248 256
);

/// Types of the elements of A and B.
const FACTORS: &[&str] = &["f16", "bf16", "tf32", "e4m3", "e5m2", "s8", "u8", "b1"];

/// The one architecture that has them.
const FLOOR: Floor = only(8, 0, 90, &[Only::Architecture(90)]);

const SYNC: Slot = must(Key::Plain, &["sync"]);
const ALIGNED: Slot = must(Key::Aligned, &["aligned"]);
const TRAITS: Traits = Traits::ACTS.aligned(Aligned::Always("UB-A7"));

/// What to write for instructions that the whole warpgroup executes.
const TOGETHER: &str = "add `.sync.aligned`: all threads of the warpgroup execute it together";

const PRODUCT: Form = form(
    "wgmma.mma_async",
    &[
        Slot { key: Key::Plain, words: &["sp"], need: Need::Unsupported(None) },
        SYNC,
        ALIGNED,
        must(Key::Shape, SHAPES),
        must(Key::Type, &["f16", "f32", "s32"]),
        must(Key::Type, FACTORS),
        must(Key::Type, FACTORS),
        may(Key::Operation, &["and"]),
        may(Key::Plain, &["popc"]),
        may(Key::Plain, &["satfinite"]),
    ],
    FLOOR,
    build_product,
)
.operands("acc, [a] or a, [b]{, scale-d{, …}}")
.help(
    "write `.sync.aligned`, a shape, and the types of D, A and B: \
       `wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16`",
)
.check(check_product)
.traits(TRAITS)
.rule("AS-24");

/// The families of this file.
pub(super) static FAMILIES: &[&Family] = &[&MOVE, &WGMMA];

pub(super) static WGMMA: Family = Family {
    name: "wgmma",
    code: "validate::matrix-form",
    help: "write `wgmma.fence`, `wgmma.mma_async`, `wgmma.commit_group` or `wgmma.wait_group`",
    rule: "AS-24",
    others: &[],
    forms: &[
        PRODUCT,
        form("wgmma.fence", &[SYNC, ALIGNED], FLOOR, |body, site, _| {
            body.plain(site, AsyncOp::MatrixFence.into())
        })
        .help(TOGETHER)
        .inserted(&["wgmma.fence.sync.aligned;"])
        .traits(TRAITS)
        .rule("AS-25"),
        form("wgmma.commit_group", &[SYNC, ALIGNED], FLOOR, |body, site, _| {
            body.plain(site, AsyncOp::Commit(AsyncGroup::Matrix).into())
        })
        .help(TOGETHER)
        .traits(TRAITS)
        .rule("AS-24"),
        form("wgmma.wait_group", &[SYNC, ALIGNED], FLOOR, |body, site, _| {
            body.build_wait(site, AsyncGroup::Matrix, false)
        })
        .operands("n")
        .inserted(&["wgmma.wait_group.sync.aligned 0;"])
        .leaves_pending()
        .help(TOGETHER)
        .traits(TRAITS)
        .rule("AS-24"),
    ],
};

/// `mov`, on registers that are declared as objects only.
pub(super) static MOVE: Family = Family {
    name: "mov",
    code: "validate::matrix-form",
    help: "write `let v = mov.b32 acc;` or `mov.b32 acc, v;`",
    rule: "AS-26",
    others: &[],
    forms: &[form(
        "mov",
        &[may(
            Key::Type,
            &["b8", "b16", "b32", "b64", "b128", "u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64"],
        )],
        since(1, 0, 20),
        build_move,
    )
    .operands("v = … acc, or … acc, v")
    .rule("AS-26")],
};

/// Types of D, A and B, the `k` that goes with them, and which `n` there are.
fn check_product(words: &Words<'_>) -> Result<(), Diagnostic> {
    let error = |span, message: String, help: String| {
        Err(Diagnostic::new("validate::matrix-form", message, span, "not a form of it")
            .with_help(help)
            .with_rule("AS-24"))
    };
    let types = words.all(Key::Type);
    let [(d, at), (a, _), (b, _)] = types[..] else { return Ok(()) };
    let is_float8 = |ty| matches!(ty, "e4m3" | "e5m2");
    let is_integer8 = |ty| matches!(ty, "s8" | "u8");
    let k = match (d, a, b) {
        _ if !words.in_order(Key::Type) => None,
        ("f16" | "f32", "f16", "f16") | ("f32", "bf16", "bf16") => Some(16),
        ("f32", "tf32", "tf32") => Some(8),
        ("f16" | "f32", a, b) if is_float8(a) && is_float8(b) => Some(32),
        ("s32", a, b) if is_integer8(a) && is_integer8(b) => Some(32),
        ("s32", "b1", "b1") => Some(256),
        _ => None,
    };
    let Some(k) = k else {
        return error(
            at,
            format!("`wgmma.mma_async` does not take `.{d}`, `.{a}` and `.{b}` for D, A and B"),
            "they are `.f32` or `.f16` with twice `.f16`, `.f32` with twice `.bf16` or `.tf32`, `.f32` or `.f16` \
             with `.e4m3` or `.e5m2`, and `.s32` with `.s8` or `.u8`, or twice `.b1`"
                .to_owned(),
        );
    };
    let shape = words.of(Key::Shape);
    let span = words.span(Key::Shape);
    if !shape.ends_with(&format!("k{k}")) {
        let n = shape.split('k').next().unwrap_or_default();
        return error(span, format!("with `.{a}` the shape ends in `k{k}`"), format!("write `.{n}k{k}`"));
    }
    let n = shape.trim_start_matches("m64n").split('k').next().and_then(|n| n.parse::<u32>().ok());
    if d == "s32" && n.is_some_and(|n| n > 24 && n % 16 != 0) {
        let message = format!("with `.{a}` there is no `.{shape}`");
        return error(span, message, "take an `n` of 8, 16, 24, or a multiple of 16".to_owned());
    }
    let is_binary = a == "b1";
    if is_binary != words.has("and") || is_binary != words.has("popc") {
        let message = "`.and.popc` goes with `.b1`, and `.b1` with it".to_owned();
        return error(words.opcode().span, message, "write `.m64n8k256.s32.b1.b1.and.popc`".to_owned());
    }
    if words.has("satfinite") && !is_integer8(a) {
        let message = format!("`.satfinite` goes with `.s8` and `.u8`, not with `.{a}`");
        return error(words.opcode().span, message, "leave it out".to_owned());
    }
    Ok(())
}

/// `acc, [a] or a, [b]{, scale-d{, immediates}}`
fn build_product(body: &mut Body<'_>, site: &Site<'_>, words: &mut Words<'_>) -> Resolved<Built> {
    body.expect_no_result(site)?;
    let form = "an accumulator, A, B, and maybe whether the accumulator is added to and scales";
    body.expect_operands(site, 3, 8, form)?;
    let (accumulator, _) = body.registers_operand(site, &site.operands[0])?;
    let a = match &site.operands[1] {
        Operand::Memory(_) => body.data_operand(site, &site.operands[1], Space::Shared, "AS-24")?.0,
        operand => body.registers_operand(site, operand)?.0,
    };
    let (b, _) = body.data_operand(site, &site.operands[2], Space::Shared, "AS-24")?;
    for address in [&a, &b] {
        if body.space_of(address) != Some(Space::Register) {
            body.expect_own_cta(site, address, "AS-24", "read by `wgmma`")?;
        }
    }
    let mut accumulates = true;
    for (number, operand) in site.operands[3..].iter().enumerate() {
        let Operand::Expr(expr) = operand else {
            return Err(body.wrong_operand(site, operand_span(operand, site.span), "a scale"));
        };
        let value = body.resolve_expression(expr, None)?;
        if number == 0 {
            accumulates = constant_value(&value) != Some(0);
        }
    }
    Ok((
        AsyncOp::Matrix(MatrixOp { shape: words.of(Key::Shape), accumulator, accumulates, a, b }).into(),
        Vec::new(),
    ))
}

/// `let v = mov acc;` reads registers that are an object, `mov acc, v;` writes them.
fn build_move(body: &mut Body<'_>, site: &Site<'_>, words: &mut Words<'_>) -> Resolved<Built> {
    let (sem, scope) = (Sem::Weak, Scope::Cta);
    let is_read = matches!(site.results, Results::One(_));
    if is_read {
        body.expect_operands(site, 1, 1, "a register object")?;
    } else {
        body.expect_no_result(site)?;
        body.expect_operands(site, 2, 2, "a register object and a value")?;
    }
    let (address, width) = body.register_operand(site, &site.operands[0])?;
    if let Some(ty) = words.ty()
        && ty.width != width
    {
        let message = format!("`.{ty}` moves {} bits; these registers have {width}", ty.width);
        let span = words.span(Key::Type);
        let error = Diagnostic::new("validate::type-mismatch", message, span, format!("{} bits", ty.width))
            .with_label(address.span, format!("{width} bits"));
        return Err(body.report(error.with_help(format!("write `mov.b{width}`, or leave the type out"))));
    }
    words.set(Key::Type, &format!("b{width}"));
    if let Results::One(name) = site.results {
        let destination = body.result_register(name, width);
        let kind = InstructionKind::Access(AccessOp::Load {
            destinations: vec![destination],
            address,
            sem,
            scope,
            non_coherent: false,
        });
        return Ok((kind, vec![destination]));
    }
    let value = body.value_operand(site, &site.operands[1], width)?;
    Ok((InstructionKind::Access(AccessOp::Store { values: vec![value], address, sem, scope }), Vec::new()))
}
