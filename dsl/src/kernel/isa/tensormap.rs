//! Tensor maps: `tensormap.replace` (AS-35) and `tensormap.cp_fenceproxy` (FN-21).

use super::launch::SPECIFIC;
use super::words::Words;
use super::{
    Aligned, Built, Family, Key, Lack, Only, Refusal, Traits, form, may, must, must_or, only, refused, since,
};
use crate::diagnostic::Diagnostic;
use crate::kernel::ast::Operand;
use crate::kernel::program::{Address, AddressBase, AsyncOp, InstructionKind, ObjectId};
use crate::kernel::resolve::body::Binding;
use crate::kernel::resolve::calls::Demand;
use crate::kernel::resolve::expression::constant_value;
use crate::kernel::resolve::instruction::{Site, operand_span};
use crate::kernel::resolve::{Body, Resolved};
use crate::span::Span;
use crate::vocabulary::{Scope, Space};

/// A tensor has at most so many dimensions.
const MAX_DIMENSIONS: u128 = 5;

/// The architectures that know how 128-byte swizzles are made of smaller atoms.
const ATOMICITY: &[Only] = &[Only::Family(100), Only::Family(110), Only::Family(120)];

/// What a copy lacks.
const fn copy_lacks(what: &'static str) -> Lack {
    Lack {
        code: "validate::proxy-fence",
        what,
        help: "write `tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned`",
        rule: "FN-21",
    }
}

/// The families of this file.
pub(super) static FAMILIES: &[&Family] = &[&TENSORMAP];

pub(super) static TENSORMAP: Family = Family {
    name: "tensormap",
    code: "validate::tensormap-field",
    help: "for example `tensormap.replace.tile.global_address.global.b1024.b64 [map], src`",
    rule: "AS-35",
    others: &[],
    forms: &[
        form(
            "tensormap.replace",
            &[
                must(Key::Plain, &["tile"]),
                must_or(
                    Key::Operation,
                    &[
                        "global_address",
                        "rank",
                        "box_dim",
                        "global_dim",
                        "global_stride",
                        "element_stride",
                        "elemtype",
                        "interleave_layout",
                        "swizzle_mode",
                        "swizzle_atomicity",
                        "fill_mode",
                    ],
                    &Lack {
                        code: "validate::tensormap-field",
                        what: "a field of a tensor map",
                        help: "for example `tensormap.replace.tile.global_address.global.b1024.b64 [map], src`",
                        rule: "AS-35",
                    },
                ),
                may(Key::Space, &["global", "shared::cta"]),
                must(Key::Plain, &["b1024"]),
                may(Key::Type, &["b32", "b64"]),
                refused(
                    &["shared", "shared::cluster"],
                    &Refusal {
                        code: "validate::tensormap-space",
                        message: "`tensormap.replace` writes `.global` or `.shared::cta`, not {}",
                        label: "not `.shared::cta`",
                        help: "write `.shared::cta`, or leave the state space out",
                        rule: "AS-35",
                    },
                ),
            ],
            only(8, 3, 90, SPECIFIC),
            build_replace,
        )
        .floors(&[("swizzle_atomicity", only(8, 6, 100, ATOMICITY))])
        .operands("[map]{, dimension}, value")
        .check(check_width)
        .traits(Traits::ACTS)
        .rule("AS-35"),
        form(
            "tensormap.cp_fenceproxy",
            &[
                must_or(Key::Space, &["global"], &copy_lacks("`.global`")),
                must_or(Key::Space, &["shared::cta"], &copy_lacks("`.shared::cta`")),
                must_or(Key::Plain, &["tensormap::generic"], &copy_lacks("`.tensormap::generic`")),
                must_or(Key::Sem, &["release"], &copy_lacks("`.release`")),
                must_or(Key::Scope, &["cta", "cluster", "gpu", "sys"], &copy_lacks("a scope")),
                must_or(Key::Plain, &["sync"], &copy_lacks("`.sync`")),
                must_or(Key::Aligned, &["aligned"], &copy_lacks("`.aligned`")),
            ],
            since(8, 3, 90),
            build_copy,
        )
        .operands("[destination], [source], 128")
        .check(check_direction)
        .traits(Traits::ACTS.aligned(Aligned::Always("UB-F2")))
        .rule("FN-21"),
    ],
};

/// Fields of a tensor map, by what they mean here.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Field {
    /// Of the object, which a map names by its declaration.
    GlobalAddress,
    /// Dimensions less one.
    Rank,
    /// Of a box, one dimension.
    BoxDim,
    /// Of the object, one dimension.
    GlobalDim,
    /// Of one dimension; 1 here.
    ElementStride,
    /// In bytes, of one dimension; says nothing new here.
    GlobalStride,
    /// Element type, layout, fill: says nothing about synchronization.
    Layout,
}

impl Field {
    fn of(words: &Words<'_>) -> Self {
        match words.of(Key::Operation) {
            "global_address" => Self::GlobalAddress,
            "rank" => Self::Rank,
            "box_dim" => Self::BoxDim,
            "global_dim" => Self::GlobalDim,
            "global_stride" => Self::GlobalStride,
            "element_stride" => Self::ElementStride,
            _ => Self::Layout,
        }
    }
    /// Whether an operand before the value names a dimension.
    fn has_dimension(self) -> bool {
        matches!(self, Self::BoxDim | Self::GlobalDim | Self::ElementStride | Self::GlobalStride)
    }
    /// Bits of the value, and the type that says so.
    fn width(self) -> (u8, &'static str) {
        if matches!(self, Self::GlobalAddress | Self::GlobalStride) { (64, "b64") } else { (32, "b32") }
    }
}

fn check_width(words: &Words<'_>) -> Result<(), Diagnostic> {
    let (width, ty) = Field::of(words).width();
    match words.written(Key::Type) {
        Some((written, span)) if written != ty => {
            let bits = written.trim_start_matches('b');
            let message = format!("`.{}` has {width} bits, not {bits}", words.of(Key::Operation));
            Err(Diagnostic::new("validate::tensormap-field", message, span, "another width")
                .with_help(format!("write `.{ty}`"))
                .with_rule("AS-35"))
        }
        _ => Ok(()),
    }
}

fn check_direction(words: &Words<'_>) -> Result<(), Diagnostic> {
    if words.in_order(Key::Space) {
        return Ok(());
    }
    let message = "`tensormap.cp_fenceproxy` copies from `.shared::cta` to `.global`";
    let lack = copy_lacks("");
    Err(Diagnostic::new(lack.code, message, words.span(Key::Space), "destination, then source")
        .with_help(lack.help)
        .with_rule(lack.rule))
}

/// `[map]{, dimension}, value`
fn build_replace(body: &mut Body<'_>, site: &Site<'_>, words: &mut Words<'_>) -> Resolved<Built> {
    body.expect_no_result(site)?;
    let field = Field::of(words);
    let n = 2 + usize::from(field.has_dimension());
    let form = if n == 3 { "a tensor map, a dimension and a value" } else { "a tensor map and a value" };
    body.expect_operands(site, n, n, form)?;
    let Operand::Memory(memory) = &site.operands[0] else {
        let span = operand_span(&site.operands[0], site.span);
        return Err(body.wrong_operand(site, span, "a tensor map in brackets, `[map]`,"));
    };
    let (map, _) = body.resolve_address(memory)?;
    body.expect_map(site, &map, &memory.name.text)?;
    if body.space_of(&map) == Some(Space::Param) {
        let message = format!("`{}` is a parameter of the kernel and is only read", memory.name.text);
        let error = Diagnostic::new("validate::tensormap-space", message, map.span, "read-only")
            .with_help("declare it `global`, or write a copy in shared memory");
        return Err(body.report(error.with_rule("AS-35")));
    }
    body.expect_own_cta(site, &map, "AS-35", "written by `tensormap.replace`")?;
    body.note_demand(&map, Demand::NotParam, "AS-35", "written by `tensormap.replace`");
    let written = words.space().map(|(space, _)| space);
    if let Some(space) = written {
        check_written_space(body, &map, space, words.span(Key::Space), &memory.name.text)?;
    }
    match field {
        Field::GlobalAddress => check_described(body, site, &map)?,
        Field::Layout => check_layout(body, site, words)?,
        field => check_field(body, site, words, &map, field)?,
    }
    match body.space_of(&map) {
        Some(Space::Shared) => words.set(Key::Space, "shared::cta"),
        Some(_) => words.set(Key::Space, "global"),
        None => {}
    }
    words.set(Key::Type, field.width().1);
    Ok((AsyncOp::TensormapReplace { map }.into(), Vec::new()))
}

fn check_written_space(
    body: &mut Body<'_>,
    map: &Address,
    written: Space,
    span: Span,
    name: &str,
) -> Resolved<()> {
    match map.base {
        AddressBase::Reference(reference) => body.note_space(reference, written, span),
        AddressBase::Object(object) if body.objects[object].space != written => {
            let space = body.objects[object].space;
            let message = format!("`{name}` is in {space} memory, not {written}");
            let error =
                Diagnostic::new("validate::space-mismatch", message, span, format!("not `.{written}`"))
                    .with_label(body.objects[object].span, "declared here");
            return Err(body.report(error.with_help("leave the state space out")));
        }
        AddressBase::Object(_) | AddressBase::Flat { .. } => {}
    }
    Ok(())
}

/// The new address of the tensor is that of the object which the map describes anyway.
fn check_described(body: &mut Body<'_>, site: &Site<'_>, map: &Address) -> Resolved<()> {
    let operand = &site.operands[1];
    let span = operand_span(operand, site.span);
    let named = match operand {
        Operand::Memory(memory) => Some(memory.clone()),
        Operand::Expr(expr) => Body::as_memory(expr),
        _ => None,
    };
    let Some(named) = named.filter(|memory| memory.rank.is_none()) else {
        return Err(body.wrong_operand(site, span, "the described object, `src` or `[src]`,"));
    };
    let found: Option<ObjectId> = match body.look_up(&named.name.text, named.name.place.0)? {
        Binding::Object(object) => Some(object),
        _ => None,
    };
    let mut at_start = true;
    for index in &named.indices {
        let index = body.resolve_exact(index, 32)?;
        at_start &= constant_value(&index) == Some(0);
    }
    let described = body.tensor_of(map);
    if at_start && found.is_some() && found == described.as_ref().map(|tensor| tensor.object) {
        return Ok(());
    }
    let message = "a tensor map describes one object for good in this version";
    let error = Diagnostic::new("unsupported::tensormap-address", message, span, "another address");
    Err(body.report(match described {
        Some(tensor) => {
            let of = &body.objects[tensor.object];
            let (name, declared) = (of.name.clone(), of.span);
            error
                .with_label(declared, "described by the map")
                .with_help(format!("write `[{name}]`, or declare a second map for the other object"))
        }
        None => error.with_help("write it where the map is named, not in a function"),
    }))
}

/// Element type, layout and fill are numbers that the instruction holds.
fn check_layout(body: &mut Body<'_>, site: &Site<'_>, words: &Words<'_>) -> Resolved<()> {
    let value = body.value_operand(site, &site.operands[1], 32)?;
    if constant_value(&value).is_some() {
        return Ok(());
    }
    let message = format!("the new `.{}` is a constant", words.of(Key::Operation));
    let error = Diagnostic::new("validate::tensormap-field", message, value.span, "not a constant");
    Err(body.report(error.with_help("write the number; PTX takes no register here").with_rule("AS-35")))
}

/// A field that says what the declaration says.
fn check_field(
    body: &mut Body<'_>,
    site: &Site<'_>,
    words: &Words<'_>,
    map: &Address,
    field: Field,
) -> Resolved<()> {
    let mut dimension = None;
    if field.has_dimension() {
        let operand = body.value_operand(site, &site.operands[1], 32)?;
        dimension = constant_value(&operand);
        if dimension.is_none_or(|dimension| dimension >= MAX_DIMENSIONS) {
            let message = "the dimension of a field is a constant of 0 to 4, 0 for the innermost";
            let error =
                Diagnostic::new("validate::tensormap-field", message, operand.span, "not a dimension");
            return Err(body.report(error.with_rule("AS-35")));
        }
    }
    let last = &site.operands[site.operands.len() - 1];
    let value = body.value_operand(site, last, field.width().0)?;
    if field == Field::GlobalStride {
        return Ok(());
    }
    let described = body.tensor_of(map);
    let declared = described.as_ref().and_then(|tensor| {
        let sizes = match field {
            Field::Rank => return Some(tensor.box_dimensions.len() as u128 - 1),
            Field::BoxDim => &tensor.box_dimensions,
            Field::GlobalDim => &body.objects[tensor.object].dimensions,
            _ => return Some(1),
        };
        let at = sizes.len().checked_sub(1 + usize::try_from(dimension?).ok()?)?;
        sizes.get(at).map(|&size| u128::from(size))
    });
    if declared.is_some() && constant_value(&value) == declared {
        return Ok(());
    }
    let name = words.of(Key::Operation);
    let message = format!("`.{name}` is what the tensor map's declaration says in this version");
    let error = Diagnostic::new("unsupported::tensormap-field", message, value.span, "may be something else");
    Err(body.report(match declared {
        Some(declared) => error.with_help(format!("write `{declared}`, or leave the instruction out")),
        None => error.with_help("leave the instruction out, or write it where the map is named"),
    }))
}

/// `[destination], [source], 128`
fn build_copy(body: &mut Body<'_>, site: &Site<'_>, words: &mut Words<'_>) -> Resolved<Built> {
    body.expect_no_result(site)?;
    body.expect_operands(site, 3, 3, "a destination, a source and their size, 128")?;
    let destination = body.map_operand(site, &site.operands[0], Space::Global, "UB-F2")?;
    let source = body.map_operand(site, &site.operands[1], Space::Shared, "UB-F2")?;
    body.expect_map_size(site, &site.operands[2], "UB-F2")?;
    body.note_local(&source, "UB-F2", "copied from `.shared::cta`");
    body.check_map_copy(&destination, &source)?;
    let scope = words.scope().unwrap_or(Scope::Sys);
    Ok((InstructionKind::TensormapCopyFence { destination, source, scope }, Vec::new()))
}
