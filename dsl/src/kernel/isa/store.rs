//! `st.async` and `red.async`: in the cluster's shared memory with an mbarrier, or in global memory without one (AS-23).
//!
//! The ISA has `.release` and `.add` only in global memory. Assemblers take `.relaxed` reductions and all operations of the
//! other form there, too; they are what their words say, an atomic of that operation (MM-24).

use super::reduction::{self, FLOATS, OPERATIONS, TYPES};
use super::words::Words;
use super::{
    Built, Family, Key, Lack, Refusal, Slot, Traits, form, may, must_or, refused, since, unsupported,
};
use crate::diagnostic::Diagnostic;
use crate::kernel::isa::access::{Access, Rmw};
use crate::kernel::opcode::{PtxType, Window};
use crate::kernel::program::{Address, AddressBase, AsyncOp, AsyncStore, Width};
use crate::kernel::resolve::instruction::Site;
use crate::kernel::resolve::{Body, Resolved};
use crate::span::Span;
use crate::vocabulary::{Proxy, Scope, Sem, Space};

const MMIO: Slot = may(Key::Mmio, &["mmio"]);
/// Those that are not legal are looked at together with the state space.
const SEM: Slot = may(Key::Sem, &["weak", "relaxed", "release", "acquire", "acq_rel", "volatile"]);
const SCOPE: Slot = may(Key::Scope, &["cta", "cluster", "gpu", "sys"]);
const COMPLETION: Slot = may(Key::Completion, &["mbarrier::complete_tx::bytes"]);
const NO_GROUP: Slot = refused(
    &["bulk_group"],
    &Refusal {
        code: "validate::copy-completion",
        message: "an asynchronous store completes on an mbarrier, not by {}",
        label: "another mechanism",
        help: "write `.mbarrier::complete_tx::bytes`",
        rule: "AS-3",
    },
);
/// Types of stores; floating-point numbers are bits.
const STORED: &[&str] =
    &["b8", "b16", "b32", "b64", "b128", "u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64", "f32", "f64"];
const NOT_CHECKED: Slot = unsupported(&["v8", "report_mechanism"]);

/// The families of this file.
pub(super) static FAMILIES: &[&Family] = &[&REDUCE, &STORE];

pub(super) static STORE: Family = Family {
    name: "st.async",
    code: "validate::async-type",
    help: "write `st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32`, or `st.async.release.gpu.global.u32`",
    rule: "AS-23",
    others: &[],
    forms: &[form(
        "st.async",
        &[
            MMIO,
            SEM,
            SCOPE,
            may(Key::Space, &["shared::cluster", "shared::cta", "global", "shared"]),
            COMPLETION,
            may(Key::Vector, &["v2", "v4"]),
            may(Key::Type, STORED),
            NO_GROUP,
            NOT_CHECKED,
        ],
        since(8, 1, 90),
        build,
    )
    .floors(&[
        ("release", since(8, 7, 100)),
        ("global", since(8, 7, 100)),
        ("shared::cta", since(9, 3, 90)),
        ("shared", since(9, 3, 90)),
        ("b128", since(9, 2, 90)),
    ])
    .operands("[a], value{, [bar]}")
    .check(check)
    .traits(Traits::ACTS)
    .rule("AS-23")],
};

pub(super) static REDUCE: Family = Family {
    name: "red.async",
    code: "validate::async-type",
    help: "write `red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32`, or \
           `red.async.release.gpu.global.add.u32`",
    rule: "AS-23",
    others: &[],
    forms: &[form(
        "red.async",
        &[
            MMIO,
            SEM,
            SCOPE,
            may(Key::Space, &["shared::cluster", "global"]),
            COMPLETION,
            must_or(
                Key::Operation,
                OPERATIONS,
                &Lack {
                    code: "validate::missing-operation",
                    what: "an operation",
                    help: "for example `red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32`",
                    rule: "AS-23",
                },
            ),
            may(Key::Type, TYPES),
            refused(
                &["exch", "cas"],
                &Refusal {
                    code: "validate::illegal-operation",
                    message: "`red.async` has no {}",
                    label: "not an operation of it",
                    help: "use a generic `atom`",
                    rule: "AS-23",
                },
            ),
            refused(
                &["shared", "shared::cta"],
                &Refusal {
                    code: "validate::async-space",
                    message: "`red.async` cannot write {}",
                    label: "not allowed here",
                    help: "write `.shared::cluster`, or `.release.gpu.global`",
                    rule: "AS-23",
                },
            ),
            NO_GROUP,
            FLOATS,
            NOT_CHECKED,
        ],
        since(8, 1, 90),
        build,
    )
    .floors(&[
        ("release", since(8, 7, 100)),
        ("global", since(8, 7, 100)),
        ("gpu", since(8, 7, 100)),
        ("sys", since(8, 7, 100)),
    ])
    .operands("[a], value{, [bar]}")
    .check(check)
    .traits(Traits::ACTS)
    .rule("AS-23")],
};

fn is_reduction(words: &Words<'_>) -> bool {
    words.opcode().mnemonic == "red"
}

/// Whether it writes global memory (and completes on nothing) rather than shared memory.
fn is_global(words: &Words<'_>) -> bool {
    let is_wide = is_reduction(words) && matches!(words.get(Key::Scope), Some("gpu" | "sys"));
    words.get(Key::Space).map_or(words.has("release") || is_wide, |space| space == "global")
}

/// What only the words together tell: sem, scope and completion go with the state space.
fn check(words: &Words<'_>) -> Result<(), Diagnostic> {
    let name = words.form().name;
    if !is_global(words) {
        return check_shared_sem(words);
    }
    check_global_sem(words)?;
    let error = |code, message: String, span, label: &str, help: &str| {
        Err(Diagnostic::new(code, message, span, label).with_help(help).with_rule("AS-23"))
    };
    if let Some((_, span)) = words.written(Key::Completion) {
        let message = format!("`{name}` to global memory completes on no mbarrier");
        let help = "leave it out: whoever is to know of it reads what it writes";
        return error("validate::copy-completion", message, span, "not allowed here", help);
    }
    if let Some((_, span)) = words.written(Key::Vector) {
        let message = format!("`{name}` to global memory has no vectors");
        return error("validate::async-type", message, span, "a vector", "write several of them");
    }
    Ok(())
}

fn illegal(span: Span, message: String, help: &str) -> Diagnostic {
    Diagnostic::new("validate::async-sem", message, span, "not allowed here")
        .with_help(help)
        .with_rule("AS-23")
}

/// In shared memory: `st.async` is weak, `red.async` is `.relaxed.cluster`.
fn check_shared_sem(words: &Words<'_>) -> Result<(), Diagnostic> {
    let help = if is_reduction(words) {
        "write `red.async.relaxed.cluster`, or `.release.gpu.global` for global memory"
    } else {
        "leave it out, or write `.release.gpu.global` for global memory"
    };
    if let Some((_, span)) = words.written(Key::Mmio) {
        return Err(illegal(span, "`.mmio` is for global memory only".to_owned(), help));
    }
    match (is_reduction(words), words.get(Key::Sem), words.get(Key::Scope)) {
        (false, None | Some("weak"), None)
        | (true, Some("relaxed"), Some("cluster"))
        | (true, None, None) => Ok(()),
        (is_reduction, ..) => {
            let span = words.written(Key::Sem).or(words.written(Key::Scope)).map(|(_, span)| span);
            let what = if is_reduction { "`.relaxed.cluster`" } else { "`.weak`, without a scope" };
            let message = format!("`{}` to shared memory is {what}", words.form().name);
            Err(illegal(span.unwrap_or(words.opcode().span), message, help))
        }
    }
}

/// In global memory: `.release.gpu` or `.release.sys`, and the latter with `.mmio`; a reduction may be `.relaxed`, too.
fn check_global_sem(words: &Words<'_>) -> Result<(), Diagnostic> {
    let name = words.form().name;
    let is_reduction = is_reduction(words);
    match (words.get(Key::Sem), words.written(Key::Scope)) {
        (Some("relaxed"), Some(("gpu" | "sys", _))) if is_reduction && !words.has("mmio") => Ok(()),
        (Some("release"), Some(("gpu", span))) if words.has("mmio") => {
            let message = format!("`{name}.mmio` is `.release.sys`");
            Err(illegal(span, message, "write `.sys`, or leave `.mmio` out"))
        }
        (Some("release"), Some(("gpu" | "sys", _))) => Ok(()),
        (sem, scope) => {
            let span = match sem {
                Some("release") => scope.map(|(_, span)| span),
                _ => words.written(Key::Sem).map(|(_, span)| span),
            };
            let (message, help) = if words.has("mmio") {
                (format!("`{name}.mmio` is `.release.sys`"), "write `.release.sys.global`")
            } else if is_reduction {
                let what = "`.release` or `.relaxed`, of scope `.gpu` or `.sys`";
                (format!("`{name}` to global memory is {what}"), "write `.release.gpu.global`")
            } else {
                let what = "`.release.gpu` or `.release.sys`";
                (format!("`{name}` to global memory is {what}"), "write `.release.gpu.global`")
            };
            Err(illegal(span.unwrap_or(words.opcode().span), message, help))
        }
    }
}

/// `[a], value, [mbar]`, without the mbarrier for global memory.
fn build(body: &mut Body<'_>, site: &Site<'_>, words: &mut Words<'_>) -> Resolved<Built> {
    body.expect_no_result(site)?;
    let is_global = is_global(words);
    let (n, form) = match is_global {
        true => (2, "an address and a value"),
        false => (3, "an address, a value and an mbarrier"),
    };
    body.expect_operands(site, n, n, form)?;
    complete(words);
    let address = address_operand(body, site, words)?;
    let (address, width) = address;
    let rmw = reduction::operation(words);
    let ty = store_type(body, words, rmw, &address, width)?;
    words.set(Key::Type, &ty.to_string());
    let elements = match words.get(Key::Vector) {
        Some("v2") => 2,
        Some(_) => 4,
        None => 1,
    };
    let (sem, scope) = match words.sem() {
        None | Some(Sem::Weak) => (Sem::Weak, Scope::Cta),
        Some(sem) => (sem, words.scope().unwrap_or(Scope::Sys)),
    };
    let vector_span = words.span(Key::Vector);
    let space = if is_global { Space::Global } else { Space::Shared };
    let access = Access {
        sem,
        scope,
        space: Some((space, vector_span)),
        window: (!is_global).then_some(Window::Cluster),
        ty: None,
        elements,
        vector_span,
        proxy: Proxy::Generic,
    };
    body.check_vector(&address, width, &access)?;
    let values = body.values(site, &site.operands[1], elements, width)?;
    let mbarrier = match site.operands.get(2) {
        Some(operand) if words.has("shared::cta") => Some(body.own_mbarrier(site, operand, "UB-A4")?),
        Some(operand) => {
            let mbarrier = body.any_mbarrier(site, operand, "UB-A4")?;
            body.expect_same_cta(&address, &mbarrier, "UB-A4")?;
            Some(mbarrier)
        }
        None => None,
    };
    let reduction = rmw.map(|rmw| reduction::at_type(rmw.op, ty));
    let store = AsyncStore { address, values, reduction, mbarrier, sem, scope };
    Ok((AsyncOp::Store(store).into(), Vec::new()))
}

/// What is meant where it is left out.
fn complete(words: &mut Words<'_>) {
    if is_global(words) {
        words.set(Key::Space, "global");
        return;
    }
    if is_reduction(words) {
        words.set(Key::Sem, "relaxed");
        words.set(Key::Scope, "cluster");
    } else {
        words.set(Key::Sem, "weak");
    }
    match words.get(Key::Space) {
        Some("shared") => words.set(Key::Space, "shared::cta"),
        None => words.set(Key::Space, "shared::cluster"),
        Some(_) => {}
    }
    words.set(Key::Completion, "mbarrier::complete_tx::bytes");
}

fn address_operand(body: &mut Body<'_>, site: &Site<'_>, words: &Words<'_>) -> Resolved<(Address, Width)> {
    let space = if is_global(words) { Space::Global } else { Space::Shared };
    let (address, width) = body.element_operand(site, &site.operands[0], space, "AS-23")?;
    if words.has("shared::cta") {
        body.expect_own_cta(site, &address, "UB-A4", "written as `.shared::cta`")?;
    }
    // A `red.async`, or any before PTX ISA 9.3 (UB-A4).
    let needs_peer = space == Space::Shared && (is_reduction(words) || words.target.ptx < (9, 3));
    if needs_peer && matches!(address.base, AddressBase::Object(_)) && address.rank.is_none() {
        let message = format!("`{}` goes to another CTA", site.opcode.text);
        let error = Diagnostic::new("validate::own-cta", message, address.span, "in the own CTA")
            .with_help("write `[mapa(…, rank)]`, with the rank of a peer");
        return Err(body.report(error.with_rule("UB-A4")));
    }
    Ok((address, width))
}

/// The type, that of the object if none is written.
fn store_type(
    body: &mut Body<'_>,
    words: &Words<'_>,
    rmw: Option<Rmw>,
    address: &Address,
    width: Width,
) -> Resolved<PtxType> {
    let kind = rmw.map_or('b', |rmw| reduction::default_kind(rmw.op));
    let (ty, span) = match words.ty() {
        Some(ty) => (ty, words.span(Key::Type)),
        None => (PtxType::new(kind, width), address.span),
    };
    if ty.width != width {
        let message = format!("`.{ty}` writes {} bits; these elements have {width}", ty.width);
        let error = Diagnostic::new("validate::type-mismatch", message, span, format!("{} bits", ty.width))
            .with_label(address.span, format!("{width} bits"));
        return Err(body.report(error.with_help("leave the type out, or declare a view")));
    }
    if let Some(rmw) = rmw {
        return match reduction::check_type(rmw, ty, false, span) {
            Ok(()) => Ok(ty),
            Err(error) => Err(body.report(error)),
        };
    }
    let illegal = |message: String, label, help| {
        let error = Diagnostic::new("validate::async-type", message, span, label);
        error.with_help(help).with_rule("AS-23")
    };
    if is_global(words) && matches!(width, 8 | 128) {
        let message = format!("`st.async` to global memory writes 16, 32 or 64 bits, not {width}");
        let help = "declare a view of elements of such a size";
        return Err(body.report(illegal(message, "another width", help)));
    }
    if !is_global(words) && width < 32 {
        let message = format!("`st.async` to shared memory writes at least 32 bits, not {width}");
        return Err(body.report(illegal(message, "too narrow", "declare a view of 32-bit elements")));
    }
    if width == 128
        && let Some(error) = words.target.check("st.async.b128", (9, 2), 90, span)
    {
        return Err(body.report(error));
    }
    Ok(ty)
}
