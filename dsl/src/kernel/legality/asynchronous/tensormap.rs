//! `tensormap.replace`: which field of a tensor map is written (AS-35).

use super::{
    AsyncOpcode, Diagnostic, Opcode, Operation, Space, Span, Target, floor, set_once, unknown_modifier,
};

/// The opcode of a `tensormap.replace`.
#[derive(Clone, Copy, Debug)]
pub struct ReplaceOpcode {
    /// Which field.
    pub field: TensorField,
    /// As PTX spells it.
    pub name: &'static str,
    /// State space, if written.
    pub space: Option<(Space, Span)>,
}

/// Fields of a tensor map, by what they mean here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TensorField {
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

impl TensorField {
    /// Whether an operand before the value names a dimension.
    pub fn has_dimension(self) -> bool {
        matches!(self, Self::BoxDim | Self::GlobalDim | Self::ElementStride | Self::GlobalStride)
    }
    /// Bits of the value.
    pub fn width(self) -> u8 {
        if matches!(self, Self::GlobalAddress | Self::GlobalStride) { 64 } else { 32 }
    }
}

const FIELDS: [(&str, TensorField); 11] = [
    ("global_address", TensorField::GlobalAddress),
    ("rank", TensorField::Rank),
    ("box_dim", TensorField::BoxDim),
    ("global_dim", TensorField::GlobalDim),
    ("global_stride", TensorField::GlobalStride),
    ("element_stride", TensorField::ElementStride),
    ("elemtype", TensorField::Layout),
    ("interleave_layout", TensorField::Layout),
    ("swizzle_mode", TensorField::Layout),
    ("swizzle_atomicity", TensorField::Layout),
    ("fill_mode", TensorField::Layout),
];

impl ReplaceOpcode {
    /// The full spelling, for a map in `space` (unknown for a reference).
    pub fn text(&self, space: Option<Space>) -> String {
        let space = match space {
            Some(Space::Shared) => ".shared::cta",
            Some(Space::Global | Space::Param | Space::Register | Space::Tensor) => ".global",
            None => "",
        };
        format!("tensormap.replace.tile.{}{space}.b1024.b{}", self.name, self.field.width())
    }
}

pub(in crate::kernel::legality) fn check(
    opcode: &Opcode<'_>,
    target: Target,
) -> Result<Operation, Diagnostic> {
    let (mut field, mut space, mut ty) = (None, None, None);
    for &modifier in &opcode.modifiers[1..] {
        match modifier.text {
            "tile" | "b1024" => {}
            "global" => set_once(&mut space, Space::Global, modifier)?,
            "shared" | "shared::cta" => set_once(&mut space, Space::Shared, modifier)?,
            "b32" => set_once(&mut ty, 32, modifier)?,
            "b64" => set_once(&mut ty, 64, modifier)?,
            text => match FIELDS.iter().find(|(name, _)| *name == text) {
                Some(&(name, found)) => set_once(&mut field, (name, found), modifier)?,
                None => {
                    let known: Vec<&str> =
                        FIELDS.iter().map(|(name, _)| *name).chain(["tile", "b1024"]).collect();
                    return Err(unknown_modifier(opcode, modifier, &known));
                }
            },
        }
    }
    let Some(((name, field), _)) = field else {
        let message = format!("`{}` names no field of a tensor map", opcode.text);
        return Err(Diagnostic::new("validate::tensormap-field", message, opcode.span, "which field?")
            .with_help("for example `tensormap.replace.tile.global_address.global.b1024.b64 [map], src`")
            .with_rule("AS-35"));
    };
    if let Some((width, span)) = ty
        && width != field.width()
    {
        let message = format!("`.{name}` has {} bits, not {width}", field.width());
        return Err(Diagnostic::new("validate::tensormap-field", message, span, "another width")
            .with_help(format!("write `.b{}`", field.width()))
            .with_rule("AS-35"));
    }
    floor(target, "tensormap.replace", (8, 3), 90, opcode.span)?;
    Ok(Operation::Async(AsyncOpcode::Replace(ReplaceOpcode { field, name, space })))
}
