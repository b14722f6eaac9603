//! `tcgen05`: matrix operations on tensor memory, its allocation, and what orders them (§5.8).
//!
//! Shapes, kinds and data layouts have to be those that there are; of them only the kind of a product counts, since products
//! of different kinds do not follow each other. Pairs of CTAs (`.cta_group::2`) are refused.
//! An operand that leaves out trailing indices names all elements of those dimensions: `tcgen05.ld` and `st` move as many
//! registers, however many the number behind `.x` says, since tiles here may be smaller than the hardware's.

use super::words::Words;
use super::{
    Aligned, Built, Family, Floor, Form, Key, Need, Only, Slot, Traits, form, may, must, only, unsupported,
};
use crate::diagnostic::Diagnostic;
use crate::kernel::ast::Operand;
use crate::kernel::program::{Address, AddressBase, AsyncOp, TensorOp, TensorProduct, Width};
use crate::kernel::resolve::expression::constant_value;
use crate::kernel::resolve::instruction::{Site, operand_span};
use crate::kernel::resolve::{Body, Reported, Resolved};
use crate::span::Span;
use crate::vocabulary::Space;

const FLOOR: Floor = only(8, 6, 100, &[Only::Family(100), Only::Family(110)]);
/// What `.kind::i8` is on.
const INTEGER: &[Only] = &[Only::Architecture(100), Only::Architecture(101), Only::Architecture(110)];

const GROUP: Slot = must(Key::Plain, &["cta_group::1"]);
const PAIR: Slot = unsupported(&["cta_group::2"]);
const EXCLUSIVE: Slot = unsupported(&["exclusive"]);
const SYNC: Slot = must(Key::Plain, &["sync"]);
const ALIGNED: Slot = must(Key::Aligned, &["aligned"]);
const TOGETHER: Traits = Traits::ACTS.aligned(Aligned::Always("AS-34"));
/// Nothing stands behind the name.
const NOTHING: Slot = may(Key::Plain, &[]);

const SHAPES: Slot = must(Key::Shape, &["16x64b", "16x128b", "16x256b", "32x32b", "16x32bx2"]);
const COUNTS: Slot = must(Key::Count, &["x1", "x2", "x4", "x8", "x16", "x32", "x64", "x128"]);

const MULTIPLY: Form = form(
    "tcgen05.mma",
    &[
        GROUP,
        must(Key::Operation, &["kind::f16", "kind::tf32", "kind::f8f6f4", "kind::i8"]),
        may(Key::Plain, &["ashift"]),
        may(
            Key::Collector,
            &["collector::a::fill", "collector::a::use", "collector::a::lastuse", "collector::a::discard"],
        ),
        unsupported(&["cta_group::2", "ws", "sp", "block_scale", "scale_vec", "kind::mxf", "sync_restrict"]),
    ],
    FLOOR,
    build_product,
)
.floors(&[("kind::i8", only(8, 6, 100, INTEGER))])
.operands("[d], [a], [b]{, whether d is added to}")
.help("write `tcgen05.mma.cta_group::1.kind::f16`")
.check(check_collector)
.traits(Traits::ACTS)
.rule("AS-29");

const COPY: Form = form(
    "tcgen05.cp",
    &[
        GROUP,
        must(Key::Shape, &["128x256b", "4x256b", "128x128b", "64x128b", "32x128b"]),
        may(Key::Multicast, &["warpx2::02_13", "warpx2::01_23", "warpx4"]),
        may(Key::Type, &["b8x16"]),
        may(Key::Type, &["b6x16_p32", "b4x16_p64"]),
        PAIR,
    ],
    FLOOR,
    build_copy,
)
.operands("[tensor memory], [shared memory]")
.help("write `tcgen05.cp.cta_group::1.128x256b`")
.check(check_copy)
.traits(Traits::ACTS)
.rule("AS-29");

const LOAD: Form = form(
    "tcgen05.ld",
    &[
        SYNC,
        ALIGNED,
        SHAPES,
        COUNTS,
        may(Key::Plain, &["pack::16b"]),
        must(Key::Type, &["b32"]),
        Slot { key: Key::Plain, words: &["red"], need: Need::Unsupported(None) },
    ],
    FLOOR,
    build_load,
)
.operands("r, [tensor memory]")
.help("write `tcgen05.ld.sync.aligned.32x32b.x1.b32`")
.check(check_count)
.traits(TOGETHER)
.rule("AS-29");

const STORE: Form = form(
    "tcgen05.st",
    &[SYNC, ALIGNED, SHAPES, COUNTS, may(Key::Plain, &["unpack::16b"]), must(Key::Type, &["b32"])],
    FLOOR,
    build_store,
)
.operands("[tensor memory], value")
.help("write `tcgen05.st.sync.aligned.32x32b.x1.b32`")
.check(check_count)
.traits(TOGETHER)
.rule("AS-29");

const COMMIT: Form = form(
    "tcgen05.commit",
    &[
        GROUP,
        must(Key::Completion, &["mbarrier::arrive::one"]),
        may(Key::Space, &["shared::cluster"]),
        may(Key::Multicast, &["multicast::cluster"]),
        must(Key::Type, &["b64"]),
        PAIR,
    ],
    FLOOR,
    build_commit,
)
.operands("[bar]{, mask}")
.help("write `tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64`")
.traits(Traits::ACTS)
.rule("AS-30");

/// The families of this file.
pub(super) static FAMILIES: &[&Family] = &[&TCGEN05];

pub(super) static TCGEN05: Family = Family {
    name: "tcgen05",
    code: "validate::tensor-form",
    help: "write `tcgen05.mma`, `cp`, `ld`, `st`, `commit`, `wait::ld`, `wait::st`, `fence::before_thread_sync`, \
           `fence::after_thread_sync`, `alloc`, `dealloc` or `relinquish_alloc_permit`",
    rule: "AS-29",
    others: &[("tcgen05.shift", Need::Unsupported(None))],
    forms: &[
        MULTIPLY,
        COPY,
        LOAD,
        STORE,
        COMMIT,
        form("tcgen05.wait::ld", &[SYNC, ALIGNED], FLOOR, |body, site, _| {
            body.plain(site, AsyncOp::Tensor(TensorOp::Wait { stores: false }).into())
        })
        .help("write `tcgen05.wait::ld.sync.aligned`")
        .inserted(&["tcgen05.wait::ld.sync.aligned;"])
        .traits(TOGETHER)
        .rule("AS-29"),
        form("tcgen05.wait::st", &[SYNC, ALIGNED], FLOOR, |body, site, _| {
            body.plain(site, AsyncOp::Tensor(TensorOp::Wait { stores: true }).into())
        })
        .help("write `tcgen05.wait::st.sync.aligned`")
        .inserted(&["tcgen05.wait::st.sync.aligned;"])
        .traits(TOGETHER)
        .rule("AS-29"),
        form("tcgen05.fence::before_thread_sync", &[NOTHING], FLOOR, |body, site, _| {
            body.plain(site, AsyncOp::Tensor(TensorOp::Fence { before: true }).into())
        })
        .inserted(&["tcgen05.fence::before_thread_sync;"])
        .traits(Traits::ACTS)
        .rule("AS-31"),
        form("tcgen05.fence::after_thread_sync", &[NOTHING], FLOOR, |body, site, _| {
            body.plain(site, AsyncOp::Tensor(TensorOp::Fence { before: false }).into())
        })
        .inserted(&["tcgen05.fence::after_thread_sync;"])
        .traits(Traits::ACTS)
        .rule("AS-31"),
        form(
            "tcgen05.alloc",
            &[
                GROUP,
                SYNC,
                ALIGNED,
                may(Key::Space, &["shared::cta"]),
                must(Key::Type, &["b32"]),
                PAIR,
                EXCLUSIVE,
            ],
            FLOOR,
            build_allocate,
        )
        .operands("[slot], columns")
        .help("write `tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32`")
        .traits(TOGETHER)
        .rule("AS-34"),
        form("tcgen05.dealloc", &[GROUP, SYNC, ALIGNED, must(Key::Type, &["b32"]), PAIR], FLOOR, build_free)
            .operands("[tensor memory], columns")
            .help("write `tcgen05.dealloc.cta_group::1.sync.aligned.b32`")
            .traits(TOGETHER)
            .rule("AS-34"),
        form("tcgen05.relinquish_alloc_permit", &[GROUP, SYNC, ALIGNED, PAIR], FLOOR, |body, site, _| {
            body.plain(site, AsyncOp::Tensor(TensorOp::Relinquish).into())
        })
        .help("write `tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned`")
        .traits(TOGETHER)
        .rule("AS-34"),
    ],
};

fn illegal(span: Span, message: String, help: &str) -> Diagnostic {
    Diagnostic::new("validate::tensor-form", message, span, "not a form of it")
        .with_help(help)
        .with_rule("AS-29")
}

/// A matrix that is shifted is not kept in the collector.
fn check_collector(words: &Words<'_>) -> Result<(), Diagnostic> {
    match words.written(Key::Collector) {
        Some((word @ ("collector::a::fill" | "collector::a::use"), span)) if words.has("ashift") => {
            let message = format!("`.{word}` does not go with `.ashift`");
            Err(illegal(span, message, "leave one of them out"))
        }
        _ => Ok(()),
    }
}

/// Two shapes are copied to several warps' parts of tensor memory, the others to none; formats come in pairs.
fn check_copy(words: &Words<'_>) -> Result<(), Diagnostic> {
    let (shape, written) = (words.of(Key::Shape), words.written(Key::Multicast));
    let needed = match shape {
        "64x128b" => "`.warpx2::02_13` or `.warpx2::01_23`",
        "32x128b" => "`.warpx4`",
        _ => "",
    };
    match written {
        Some((word, span)) if needed.is_empty() => {
            let message = format!("`.{word}` does not go with `.{shape}`");
            return Err(illegal(span, message, "leave it out"));
        }
        Some((word, span)) if !needed.contains(word) => {
            let message = format!("`.{word}` does not go with `.{shape}`");
            return Err(illegal(span, message, &format!("write {needed}")));
        }
        None if !needed.is_empty() => {
            let message = format!("`.{shape}` needs {needed}");
            return Err(illegal(words.span(Key::Shape), message, "add it behind the shape"));
        }
        _ => {}
    }
    let formats = words.all(Key::Type);
    match formats[..] {
        [(_, span)] => {
            let message = "a copy that converts names two formats".to_owned();
            Err(illegal(span, message, "write `.b8x16.b6x16_p32` or `.b8x16.b4x16_p64`, or neither"))
        }
        [(_, span), _] if !words.in_order(Key::Type) => {
            let message = "the format of the destination comes first".to_owned();
            Err(illegal(span, message, "write `.b8x16` before the format of the source"))
        }
        _ => Ok(()),
    }
}

/// Wide shapes are not repeated as often.
fn check_count(words: &Words<'_>) -> Result<(), Diagnostic> {
    let (shape, count) = (words.of(Key::Shape), words.of(Key::Count));
    let most = match shape {
        "16x128b" => 64,
        "16x256b" => 32,
        _ => 128,
    };
    if count.trim_start_matches('x').parse::<u32>().is_ok_and(|count| count <= most) {
        return Ok(());
    }
    let message = format!("`.{shape}` has no `.{count}`");
    Err(illegal(words.span(Key::Count), message, &format!("it has at most `.x{most}`")))
}

fn done(operation: TensorOp) -> Resolved<Built> {
    Ok((AsyncOp::Tensor(operation).into(), Vec::new()))
}

/// `[d], [a], [b]{, whether d is added to}`
fn build_product(body: &mut Body<'_>, site: &Site<'_>, words: &mut Words<'_>) -> Resolved<Built> {
    body.expect_no_result(site)?;
    let form = "an accumulator, A, B, and maybe whether the accumulator is added to";
    body.expect_operands(site, 3, 4, form)?;
    let accumulator = tensor_memory_operand(body, site, &site.operands[0])?;
    let a = matrix_operand(body, site, &site.operands[1], None)?;
    if body.space_of(&a) != Some(Space::Tensor) {
        body.expect_space(site, &a, Space::Shared, "AS-33")?;
        body.expect_own_cta(site, &a, "AS-33", "read by `tcgen05.mma`")?;
        if words.has("ashift") {
            let message = "`.ashift` shifts an A that is in tensor memory".to_owned();
            return Err(body.report(illegal(a.span, message, "leave it out")));
        }
    }
    let b = matrix_operand(body, site, &site.operands[2], Some(Space::Shared))?;
    body.expect_own_cta(site, &b, "AS-33", "read by `tcgen05.mma`")?;
    let accumulates = match site.operands.get(3) {
        Some(Operand::Expr(expr)) => Some(body.resolve_expression(expr, None)?),
        Some(operand) => {
            return Err(body.wrong_operand(
                site,
                operand_span(operand, site.span),
                "whether the accumulator is added to",
            ));
        }
        None => None,
    };
    let kind = words.of(Key::Operation).trim_start_matches("kind::").to_owned();
    done(TensorOp::Multiply(TensorProduct { accumulator, accumulates, a, b, kind }))
}

/// `[t], [s]`
fn build_copy(body: &mut Body<'_>, site: &Site<'_>, _: &mut Words<'_>) -> Resolved<Built> {
    body.expect_no_result(site)?;
    body.expect_operands(site, 2, 2, "tensor memory and shared memory")?;
    let destination = tensor_memory_operand(body, site, &site.operands[0])?;
    let source = matrix_operand(body, site, &site.operands[1], Some(Space::Shared))?;
    body.expect_own_cta(site, &source, "AS-33", "read by `tcgen05.cp`")?;
    expect_alike(body, &destination, &source, "AS-33", |_| {
        ("both ends of `tcgen05.cp` have as many elements of one size here", INDEX_ALIKE.to_owned())
    })?;
    done(TensorOp::Copy { destination, source })
}

/// `r, [t]`, with a constant behind it for the shape that is in two halves.
fn build_load(body: &mut Body<'_>, site: &Site<'_>, words: &mut Words<'_>) -> Resolved<Built> {
    body.expect_no_result(site)?;
    expect_accessed(body, site, words, "registers and tensor memory")?;
    let (destination, to) = body.registers_operand(site, &site.operands[0])?;
    let source = tensor_memory_operand(body, site, &site.operands[1])?;
    expect_width(body, &source, (to, width_of(body, &source)))?;
    expect_alike(body, &destination, &source, "AS-29", |n| {
        let help = match n {
            1 => "name one element of it, with all indices, or declare as many registers".to_owned(),
            n => format!("declare `register r[{n}]: u{to};`, or name another part"),
        };
        ("`tcgen05.ld` moves as many elements as there are registers", help)
    })?;
    check_half(body, site, site.operands.get(2))?;
    done(TensorOp::Load { destination, source })
}

/// `[t], value` or `[t], {values}`, with a constant between them for the shape that is in two halves.
fn build_store(body: &mut Body<'_>, site: &Site<'_>, words: &mut Words<'_>) -> Resolved<Built> {
    body.expect_no_result(site)?;
    expect_accessed(body, site, words, "tensor memory and a value for each element")?;
    let destination = tensor_memory_operand(body, site, &site.operands[0])?;
    let width = width_of(body, &destination);
    let (half, value) = match &site.operands[1..] {
        [half, value] => (Some(half), value),
        _ => (None, &site.operands[1]),
    };
    check_half(body, site, half)?;
    let values = match value {
        Operand::Vector(values) => {
            values.iter().map(|value| body.resolve_exact(value, width)).collect::<Resolved<Vec<_>>>()?
        }
        value => vec![body.value_operand(site, value, width)?],
    };
    let n = body.n_named(&destination);
    if n.is_some_and(|n| n as usize != values.len()) {
        return Err(wrong_count(body, site, &destination, value, values.len()));
    }
    done(TensorOp::Store { destination, values })
}

/// The error for a store of another number of values than there are elements.
fn wrong_count(
    body: &mut Body<'_>,
    site: &Site<'_>,
    destination: &Address,
    value: &Operand,
    n_values: usize,
) -> Reported {
    let n = body.n_named(destination).unwrap_or(1);
    let message = "`tcgen05.st` stores a value in each element that is named".to_owned();
    let span = operand_span(value, site.span);
    let label = format!("{n_values} value{}", if n_values == 1 { "" } else { "s" });
    let error = Diagnostic::new("validate::vector-count", message, span, label)
        .with_label(destination.span, format!("{n} element{}", if n == 1 { "" } else { "s" }));
    body.report(error.with_help(match n {
        1 => "write one value".to_owned(),
        n => format!("write {n} values in braces, `{{a, b, …}}`, or name one element, with all indices"),
    }))
}

fn expect_accessed(body: &mut Body<'_>, site: &Site<'_>, words: &Words<'_>, form: &str) -> Resolved<()> {
    if words.of(Key::Shape) == "16x32bx2" {
        return body.expect_operands(site, 3, 3, &format!("{form}, and how far the halves are apart"));
    }
    body.expect_operands(site, 2, 2, form)
}

/// How far the halves of a shape are apart means nothing here, but it is a constant.
fn check_half(body: &mut Body<'_>, site: &Site<'_>, operand: Option<&Operand>) -> Resolved<()> {
    let Some(operand) = operand else { return Ok(()) };
    let value = body.value_operand(site, operand, 64)?;
    if constant_value(&value).is_some() {
        return Ok(());
    }
    Err(body.wrong_operand(site, value.span, "a constant, how far the halves are apart,"))
}

/// `[bar]{, mask}`
fn build_commit(body: &mut Body<'_>, site: &Site<'_>, words: &mut Words<'_>) -> Resolved<Built> {
    body.expect_no_result(site)?;
    let n = 1 + usize::from(words.written(Key::Multicast).is_some());
    body.expect_operands(site, n, n, "an mbarrier, and with `.multicast::cluster` a mask")?;
    let mbarrier = body.any_mbarrier(site, &site.operands[0], "AS-30")?;
    let multicast = match site.operands.get(1) {
        Some(mask) => Some(body.value_operand(site, mask, 16)?),
        None => None,
    };
    if let (Some(_), Some(rank)) = (&multicast, &mbarrier.rank) {
        let message = "a multicast commit names the mbarrier of the own CTA";
        let error = Diagnostic::new("validate::peer-address", message, rank.span, "in a peer CTA");
        return Err(body.report(error.with_help("leave the `mapa` out").with_rule("AS-30")));
    }
    done(TensorOp::Commit { mbarrier, multicast })
}

/// `[slot], columns`
fn build_allocate(body: &mut Body<'_>, site: &Site<'_>, _: &mut Words<'_>) -> Resolved<Built> {
    body.expect_no_result(site)?;
    body.expect_operands(site, 2, 2, "where the address is stored, and how many columns")?;
    let (slot, width) = body.element_operand(site, &site.operands[0], Space::Shared, "AS-34")?;
    body.expect_own_cta(site, &slot, "AS-34", "written by `tcgen05.alloc`")?;
    expect_width(body, &slot, (32, width))?;
    let columns = columns_operand(body, site, &site.operands[1])?;
    done(TensorOp::Allocate { slot, columns })
}

/// `[t], columns`
fn build_free(body: &mut Body<'_>, site: &Site<'_>, _: &mut Words<'_>) -> Resolved<Built> {
    body.expect_no_result(site)?;
    body.expect_operands(site, 2, 2, "tensor memory, and how many columns")?;
    let object = tensor_memory_operand(body, site, &site.operands[0])?;
    let columns = columns_operand(body, site, &site.operands[1])?;
    done(TensorOp::Free { object, columns })
}

/// Tensor memory, all elements that the operand names.
fn tensor_memory_operand(body: &mut Body<'_>, site: &Site<'_>, operand: &Operand) -> Resolved<Address> {
    matrix_operand(body, site, operand, Some(Space::Tensor))
}

/// All elements that the operand names.
fn matrix_operand(
    body: &mut Body<'_>,
    site: &Site<'_>,
    operand: &Operand,
    space: Option<Space>,
) -> Resolved<Address> {
    let (address, _) = match space {
        Some(space) => body.data_operand(site, operand, space, "AS-29")?,
        None => body.any_data_operand(site, operand)?,
    };
    if body.space_of(&address) == Some(Space::Tensor) {
        body.expect_own_cta(site, &address, "AS-29", "accessed by `tcgen05`")?;
    }
    Ok(address)
}

/// How two ends are made to fit.
const INDEX_ALIKE: &str = "declare both alike, and index them alike";

/// Both ends have as many elements of one size; else the message and the help, of the number of those at the source.
fn expect_alike(
    body: &mut Body<'_>,
    destination: &Address,
    source: &Address,
    rule: &'static str,
    words: impl FnOnce(u32) -> (&'static str, String),
) -> Resolved<()> {
    let (to, from) = (width_of(body, destination), width_of(body, source));
    let (Some(n_to), Some(n_from)) = (body.n_named(destination), body.n_named(source)) else {
        return Ok(());
    };
    if (to, n_to) == (from, n_from) {
        return Ok(());
    }
    let described = |count: u32, width: Width| format!("{count} × {width} bits");
    let (message, help) = words(n_from);
    let error = Diagnostic::new("validate::copy-elements", message, source.span, described(n_from, from))
        .with_label(destination.span, described(n_to, to))
        .with_help(help);
    Err(body.report(error.with_rule(rule)))
}

fn width_of(body: &Body<'_>, address: &Address) -> Width {
    match address.base {
        AddressBase::Object(object) => body.objects[object].width,
        AddressBase::Reference(reference) => body.references[reference].width,
        AddressBase::Flat { width, .. } => width,
    }
}

fn expect_width(body: &mut Body<'_>, address: &Address, (wanted, found): (Width, Width)) -> Resolved<()> {
    if wanted == found {
        return Ok(());
    }
    let message = format!("an element of {wanted} bits is needed here");
    let error = Diagnostic::new("validate::type-mismatch", message, address.span, format!("{found} bits"));
    Err(body.report(error.with_help(format!("declare it with {wanted} bits"))))
}

fn columns_operand(body: &mut Body<'_>, site: &Site<'_>, operand: &Operand) -> Resolved<u32> {
    let columns = body.value_operand(site, operand, 32)?;
    let is_legal = |n: &u128| n.is_power_of_two() && (32..=512).contains(n);
    match constant_value(&columns).filter(is_legal).and_then(|n| u32::try_from(n).ok()) {
        Some(n) => Ok(n),
        None => {
            let message = "tensor memory is allocated in a constant number of columns";
            let error =
                Diagnostic::new("validate::tensor-columns", message, columns.span, "not such a number");
            Err(body.report(error.with_help("write 32, 64, 128, 256 or 512").with_rule("UB-A8")))
        }
    }
}
