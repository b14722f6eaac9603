//! `multimem`: loads, stores and reductions of all instances of symmetric memory at once (MM-7, MM-14).
//!
//! `multimem.st.async` and `multimem.red.async` release, and complete on nothing, like `st.async` to global memory (AS-23).
//!
//! Floating-point numbers are bits, and what is made of them is not computed. They alone have vectors, each element of which
//! is an access of its own (MM-8).
//!
//! Cannot: `multimem.cp.async.bulk`.

use super::access::{self, Access, INTEGER, Rmw, SCOPE};
use super::words::Words;
use super::{
    Built, Family, Floor, Key, Lack, Need, Only, Refusal, Slot, Traits, default, form, may, must_or, only,
    refused, since,
};
use crate::diagnostic::Diagnostic;
use crate::kernel::ast::Operand;
use crate::kernel::opcode::PtxType;
use crate::kernel::program::{AsyncOp, AsyncStore, AtomicOp, InstructionKind, MultimemOp, Width};
use crate::kernel::resolve::instruction::{Results, Site};
use crate::kernel::resolve::{Body, Reported, Resolved};
use crate::span::Span;
use crate::vocabulary::{Scope, Sem};

const GLOBAL: Slot = default(Key::Space, &["global"]);
/// Integers and bits, and floating-point numbers.
const NUMBER: Slot = may(
    Key::Type,
    &[
        "b8", "b16", "b32", "b64", "b128", "u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64", "f16",
        "bf16", "f16x2", "bf16x2", "f32", "f64", "e4m3", "e5m2", "e4m3x2", "e5m2x2", "e4m3x4", "e5m2x4",
    ],
);
/// … of asynchronous stores, which have no short ones.
const STORED: Slot = may(
    Key::Type,
    &["b8", "b16", "b32", "b64", "b128", "u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64", "f32", "f64"],
);
const VECTOR: Slot = may(Key::Vector, &["v2", "v4", "v8"]);
/// The precision of sums; it means nothing to the model.
const PRECISION: Slot = may(Key::Plain, &["acc::f32", "acc::f16"]);
/// Numbers of 8 bits came with Blackwell.
const QUARTERS: Floor = only(
    8,
    6,
    100,
    &[Only::Family(100), Only::Family(110), Only::Architecture(120), Only::Architecture(121)],
);
const FLOORS: &[(&str, Floor)] = &[
    ("acc::f32", since(8, 2, 90)),
    ("e4m3", QUARTERS),
    ("e5m2", QUARTERS),
    ("e4m3x2", QUARTERS),
    ("e5m2x2", QUARTERS),
    ("e4m3x4", QUARTERS),
    ("e5m2x4", QUARTERS),
];
const NOT_GLOBAL: Slot = refused(
    &["shared", "shared::cta", "shared::cluster"],
    &Refusal {
        code: "validate::multimem-space",
        message: "a multimem address is in global memory, not {}",
        label: "not `.global`",
        help: "write `.global`, or leave the state space out",
        rule: "MM-7",
    },
);
const NO_OPERATION: Slot = refused(
    &["add", "inc", "dec", "min", "max", "and", "or", "xor", "exch", "cas"],
    &Refusal {
        code: "validate::illegal-operation",
        message: "`multimem.st` has no operation, so {} cannot stand here",
        label: "not on a store",
        help: "write `multimem.red` to change every instance, or leave the operation out",
        rule: "",
    },
);
const REDUCTIONS: Slot = must_or(
    Key::Operation,
    &["add", "min", "max", "and", "or", "xor"],
    &Lack { code: "validate::missing-operation", what: "an operation", help: "for example `.add`", rule: "" },
);
const NOT_A_REDUCTION: Slot = refused(
    &["inc", "dec", "exch", "cas"],
    &Refusal {
        code: "validate::illegal-operation",
        message: "`multimem` has no {}",
        label: "not an operation of it",
        help: "it has `.add`, `.min`, `.max`, `.and`, `.or` and `.xor`",
        rule: "",
    },
);
const NOT_AN_ADD: Slot = refused(
    &["inc", "dec", "min", "max", "and", "or", "xor", "exch", "cas"],
    &Refusal {
        code: "validate::illegal-operation",
        message: "`multimem.red.async` has no {}",
        label: "not an operation of it",
        help: "it has `.add` only",
        rule: "",
    },
);
const fn no_sem(message: &'static str, help: &'static str) -> Refusal {
    Refusal { code: "validate::illegal-sem", message, label: "not a sem of it", help, rule: "MM-14" }
}
const NOT_OF_LOAD: Slot = refused(
    &["release", "acq_rel", "volatile", "mmio", "sc"],
    &no_sem("`multimem.ld_reduce` cannot be {}", "use `.weak`, `.relaxed` or `.acquire`"),
);
const NOT_OF_STORE: Slot = refused(
    &["acquire", "acq_rel", "volatile", "mmio", "sc"],
    &no_sem("`multimem.st` cannot be {}", "use `.weak`, `.relaxed` or `.release`"),
);
const NOT_OF_RED: Slot = refused(
    &["weak", "acquire", "acq_rel", "volatile", "mmio", "sc"],
    &no_sem("`multimem.red` cannot be {}", "use `.relaxed` or `.release`"),
);
/// Asynchronous ones are `.release.gpu` or `.release.sys`; what else is written is refused by [`check_async`].
const ASYNC_SEM: Slot = may(Key::Sem, &["release", "weak", "relaxed", "acquire", "acq_rel", "volatile"]);

const HELP: &str = "write `multimem.ld_reduce`, `multimem.st` or `multimem.red`";

/// The families of this file.
pub(super) static FAMILIES: &[&Family] = &[&LOAD_REDUCE, &MULTIMEM, &REDUCTION, &STORE];

pub(super) static MULTIMEM: Family = Family {
    name: "multimem",
    code: "validate::unknown-modifier",
    help: HELP,
    rule: "MM-7",
    others: &[(
        "multimem.cp",
        Need::Refused(&Refusal {
            code: "unsupported::instruction",
            message: "`multimem.cp` is not checked by this version",
            label: "known to PTX, not checked here",
            help: HELP,
            rule: "",
        }),
    )],
    forms: &[],
};

pub(super) static LOAD_REDUCE: Family = Family {
    name: "multimem.ld_reduce",
    code: "validate::missing-operation",
    help: "for example `multimem.ld_reduce.relaxed.sys.global.add.u32 [x]`",
    rule: "MM-7",
    others: &[],
    forms: &[form(
        "multimem.ld_reduce",
        &[
            default(Key::Sem, &["weak", "relaxed", "acquire"]),
            SCOPE,
            GLOBAL,
            REDUCTIONS,
            PRECISION,
            VECTOR,
            NUMBER,
            NOT_OF_LOAD,
            NOT_A_REDUCTION,
            NOT_GLOBAL,
        ],
        since(8, 1, 90),
        build_load_reduce,
    )
    .floors(FLOORS)
    .check(check)
    .operands("r = … [x]")
    .traits(Traits::QUIET)
    .rule("MM-7")],
};

pub(super) static STORE: Family = Family {
    name: "multimem.st",
    code: "validate::async-sem",
    help: "for example `multimem.st.relaxed.sys.global.u32 [x], v`",
    rule: "MM-7",
    others: &[],
    forms: &[
        form(
            "multimem.st",
            &[
                default(Key::Sem, &["weak", "relaxed", "release"]),
                SCOPE,
                GLOBAL,
                VECTOR,
                NUMBER,
                NO_OPERATION,
                NOT_OF_STORE,
                NOT_GLOBAL,
            ],
            since(8, 1, 90),
            build_store,
        )
        .floors(FLOORS)
        .check(check)
        .operands("[x], v")
        .rule("MM-7"),
        form(
            "multimem.st.async",
            &[ASYNC_SEM, SCOPE, GLOBAL, STORED, NO_OPERATION, NOT_GLOBAL],
            since(9, 3, 100),
            build_async,
        )
        .check(check_async)
        .operands("[x], v")
        .traits(Traits::ACTS)
        .rule("AS-23"),
    ],
};

pub(super) static REDUCTION: Family = Family {
    name: "multimem.red",
    code: "validate::missing-operation",
    help: "for example `multimem.red.relaxed.sys.global.add.u32 [x], v`",
    rule: "MM-7",
    others: &[],
    forms: &[
        form(
            "multimem.red",
            &[
                default(Key::Sem, &["relaxed", "release"]),
                default(Key::Scope, &["sys", "cta", "cluster", "gpu"]),
                GLOBAL,
                REDUCTIONS,
                VECTOR,
                NUMBER,
                NOT_OF_RED,
                NOT_A_REDUCTION,
                NOT_GLOBAL,
            ],
            since(8, 1, 90),
            build_reduction,
        )
        .floors(FLOORS)
        .check(check)
        .operands("[x], v")
        .rule("MM-7"),
        form(
            "multimem.red.async",
            &[
                ASYNC_SEM,
                SCOPE,
                GLOBAL,
                must_or(Key::Operation, &["add"], &ADD),
                INTEGER,
                NOT_AN_ADD,
                NOT_GLOBAL,
            ],
            since(9, 3, 100),
            build_async,
        )
        .check(check_async)
        .operands("[x], v")
        .traits(Traits::ACTS)
        .rule("AS-23"),
    ],
};

const ADD: Lack =
    Lack { code: "validate::missing-operation", what: "an operation", help: "it has `.add` only", rule: "" };

/// Weak accesses have no scope; sem and scope of a reduction come together; the type goes with the operation.
fn check(words: &Words<'_>) -> Result<(), Diagnostic> {
    let name = words.form().name;
    let opcode = words.opcode();
    let sem = words.sem().unwrap_or(Sem::Weak);
    let error = |code, message: String, span, label: &str, help: String| {
        Err(Diagnostic::new(code, message, span, label).with_help(help).with_rule("MM-14"))
    };
    match (words.written(Key::Sem), words.written(Key::Scope)) {
        (_, Some((scope, span))) if sem == Sem::Weak => {
            let message = format!("a weak access has no scope, so `.{scope}` cannot stand here");
            let help = format!("write `{name}.relaxed.{scope}`, or leave the scope out");
            return error("validate::unexpected-scope", message, span, "no scope here", help);
        }
        (Some(_), None) if sem != Sem::Weak => {
            let message = format!("`{name}.{sem}` needs a scope");
            let help = format!(
                "write `{name}.{sem}.sys` (or `.cta`, `.cluster`, `.gpu`): the threads it synchronizes with"
            );
            return error("validate::missing-scope", message, opcode.span, "no scope", help);
        }
        (None, Some((scope, span))) => {
            let message = format!("`.{scope}` on `{name}` needs a sem");
            let help = format!("write `{name}.relaxed.{scope}`, or leave both out");
            return error("validate::missing-sem", message, span, "no sem", help);
        }
        _ => {}
    }
    let Some((ty, span)) = access::access(words).ty else { return check_bare(words) };
    if ty.kind == 'f' {
        return check_float(words, ty, span);
    }
    check_bare(words)?;
    check_width(ty.width, span)?;
    match access::rmw(words) {
        Some(rmw) => access::check_operation_type(rmw, ty, span),
        None => Ok(()),
    }
}

/// Integers, written or meant, have no vectors and no precision.
fn check_bare(words: &Words<'_>) -> Result<(), Diagnostic> {
    let Some((word, span)) = words.written(Key::Vector).or_else(|| words.written(Key::Plain)) else {
        return Ok(());
    };
    let name = words.form().name;
    let message = format!("`.{word}` on `{name}` needs a floating-point type");
    Err(Diagnostic::new("validate::multimem-type", message, span, "not with integers or bits")
        .with_help("write the type, for example `.f32`, or leave it out"))
}

/// Which operations there are on numbers of a format, in which numbers, and with which precision.
fn check_float(words: &Words<'_>, ty: PtxType, span: Span) -> Result<(), Diagnostic> {
    let error = |message: String, span, label: &str, help: String| {
        Err(Diagnostic::new("validate::multimem-type", message, span, label).with_help(help))
    };
    let is_reduction = words.form().name == "multimem.red";
    let n = access::access(words).elements;
    let bits = u32::from(n) * u32::from(ty.width);
    if !matches!(bits, 32 | 64 | 128) || (n > 1 && ty.width == 64) {
        let message = format!("`{}` has no access of {n} of `.{ty}`", words.form().name);
        let help = match ty.width {
            64 => "leave the vector out".to_owned(),
            width => format!(
                "write a vector of 32, 64 or 128 bits: {}",
                [2, 4, 8]
                    .iter()
                    .filter(|n| matches!(*n * u32::from(width), 32 | 64 | 128))
                    .map(|n| format!("`.v{n}`"))
                    .collect::<Vec<_>>()
                    .join(", ")
            ),
        };
        return error(message, words.span(Key::Vector), "another size", help);
    }
    if is_reduction && ty.is_quarter() {
        let message = format!("`multimem.red` has no type `.{ty}`");
        return error(message, span, "8 bits", "reduce it in another format".to_owned());
    }
    let operation = words.written(Key::Operation);
    if let Some((name, span)) = operation {
        let has = match name {
            "add" => true,
            // Two numbers in a word are compared where they are part of a vector.
            "min" | "max" => ty.is_half() && !(is_reduction && n == 1),
            _ => false,
        };
        if !has {
            let types = if is_reduction { "vectors of" } else { "types with" };
            let help =
                format!("there are `.add`, and for {types} numbers of less than 32 bits `.min` and `.max`");
            let message = format!("`.{name}` has no type `.{ty}`");
            return Err(Diagnostic::new(
                "validate::illegal-operation-type",
                message,
                span,
                "not of this type",
            )
            .with_help(help));
        }
    }
    let Some((precision, span)) = words.written(Key::Plain) else { return Ok(()) };
    let wanted = if ty.is_quarter() { "acc::f16" } else { "acc::f32" };
    if operation.is_some_and(|(name, _)| name == "add") && ty.is_half() && precision == wanted {
        return Ok(());
    }
    let message = format!("`.{precision}` cannot stand on `.{}.{ty}`", words.of(Key::Operation));
    let help =
        "leave it out: `.acc::f32` is for `.add` of 16 bits, `.acc::f16` for `.add` of 8 bits".to_owned();
    error(message, span, "the precision of a sum", help)
}

/// There are 32 and 64 bits; whether the operation has the type is checked with the object's.
fn check_width(width: u8, span: Span) -> Result<(), Diagnostic> {
    if matches!(width, 32 | 64) {
        return Ok(());
    }
    let message = format!("`multimem` accesses 32 or 64 bits, not {width}");
    Err(Diagnostic::new("validate::multimem-type", message, span, format!("{width} bits"))
        .with_help("declare the object with elements of `u32` or `u64`"))
}

fn check_async(words: &Words<'_>) -> Result<(), Diagnostic> {
    let name = words.form().name;
    if (words.sem(), words.scope()) != (Some(Sem::Release), Some(Scope::Gpu))
        && (words.sem(), words.scope()) != (Some(Sem::Release), Some(Scope::Sys))
    {
        let key = if words.sem() == Some(Sem::Release) { Key::Scope } else { Key::Sem };
        let message = format!("`{name}` is `.release.gpu` or `.release.sys`");
        return Err(Diagnostic::new("validate::async-sem", message, words.span(key), "not allowed here")
            .with_help(format!("write `{name}.release.sys`"))
            .with_rule("AS-23"));
    }
    match (access::rmw(words), access::access(words).ty) {
        (Some(rmw), Some((ty, span))) => access::check_operation_type(rmw, ty, span),
        _ => Ok(()),
    }
}

fn build_load_reduce(body: &mut Body<'_>, site: &Site<'_>, words: &mut Words<'_>) -> Resolved<Built> {
    let (is_sink, operands) = Body::without_sink(site);
    let [memory] = operands else {
        return Err(body.operand_count(site, "a multimem address", operands.len()));
    };
    let (access, rmw) = (access::access(words), access::rmw(words).ok_or(Reported)?);
    let (address, width) = body.memory_operand(site, memory, &access)?;
    body.check_vector(&address, width, &access)?;
    let (op, kind) = operation(body, &access, rmw, width)?;
    let destinations = body.results(site, is_sink, access.elements, width)?;
    body.spell(words, &access, &address, (width, kind));
    let (sem, scope) = (access.sem, access.scope);
    let registers = destinations.clone();
    let operation = MultimemOp::LoadReduce { destinations, op, address, sem, scope };
    Ok((InstructionKind::Multimem(operation), registers))
}

/// The operation, which is not computed if it is one on floating-point numbers, and the type that is meant.
fn operation(body: &mut Body<'_>, access: &Access, rmw: Rmw, width: Width) -> Resolved<(AtomicOp, char)> {
    match access.ty {
        Some((ty, _)) if ty.kind == 'f' => Ok((AtomicOp::Float, 'f')),
        _ => body.operation_at(access, rmw, width),
    }
}

fn build_store(body: &mut Body<'_>, site: &Site<'_>, words: &mut Words<'_>) -> Resolved<Built> {
    let access = access::access(words);
    let (memory, value) = two_operands(body, site)?;
    let (address, width) = body.memory_operand(site, memory, &access)?;
    if access.ty.is_none() {
        check_width(width, address.span).map_err(|error| body.report(error))?;
    }
    body.check_vector(&address, width, &access)?;
    let values = body.values(site, value, access.elements, width)?;
    body.spell(words, &access, &address, (width, 'u'));
    let (sem, scope) = (access.sem, access.scope);
    Ok((InstructionKind::Multimem(MultimemOp::Store { values, address, sem, scope }), Vec::new()))
}

fn build_reduction(body: &mut Body<'_>, site: &Site<'_>, words: &mut Words<'_>) -> Resolved<Built> {
    let (access, rmw) = (access::access(words), access::rmw(words).ok_or(Reported)?);
    let (memory, value) = two_operands(body, site)?;
    let (address, width) = body.memory_operand(site, memory, &access)?;
    body.check_vector(&address, width, &access)?;
    let (op, kind) = operation(body, &access, rmw, width)?;
    let operands = body.values(site, value, access.elements, width)?;
    body.spell(words, &access, &address, (width, kind));
    let (sem, scope) = (access.sem, access.scope);
    let operation = MultimemOp::Reduction { op, operands, address, sem, scope };
    Ok((InstructionKind::Multimem(operation), Vec::new()))
}

/// `multimem.st.async`, `multimem.red.async`
fn build_async(body: &mut Body<'_>, site: &Site<'_>, words: &mut Words<'_>) -> Resolved<Built> {
    let access = access::access(words);
    let (memory, value) = two_operands(body, site)?;
    let (address, width) = body.memory_operand(site, memory, &access)?;
    if width == 128 {
        let message = "`multimem.st.async` writes at most 64 bits";
        let error = Diagnostic::new("validate::multimem-type", message, address.span, "128 bits");
        return Err(body.report(error.with_help("declare the object with elements of `u32` or `u64`")));
    }
    let (reduction, kind) = match access::rmw(words) {
        Some(rmw) => {
            let (op, kind) = body.operation_at(&access, rmw, width)?;
            (Some(op), kind)
        }
        None => (None, 'u'),
    };
    let operand = body.value_operand(site, value, width)?;
    body.spell(words, &access, &address, (width, kind));
    let (sem, scope) = (access.sem, access.scope);
    let store = AsyncStore { address, values: vec![operand], reduction, mbarrier: None, sem, scope };
    Ok((AsyncOp::Store(store).into(), Vec::new()))
}

/// What an instruction without a result takes.
fn two_operands<'a>(body: &mut Body<'_>, site: &Site<'a>) -> Resolved<(&'a Operand, &'a Operand)> {
    if !matches!(site.results, Results::Nothing) {
        body.expect_no_result(site)?;
    }
    match site.operands {
        [memory, value] => Ok((memory, value)),
        operands => Err(body.operand_count(site, "a multimem address and a value", operands.len())),
    }
}
