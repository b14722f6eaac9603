//! Tensor maps: their declarations, boxes in operands, and `tensormap.replace` (AS-35, AS-36).
//!
//! A map describes, for good, what its declaration says. A `tensormap.replace` that would make it describe something
//! else is refused.

use super::super::super::ast::{self, Operand};
use super::super::super::legality::{ReplaceOpcode, TensorField};
use super::super::super::program::{
    Address, AddressBase, AsyncOp, ElementKind, Object, ObjectId, Tensor, TensorBox, Width,
};
use super::super::Resolved;
use super::super::body::{Binding, Body};
use super::super::calls::Demand;
use super::super::expression::constant_value;
use super::super::instruction::{Site, operand_span};
use super::described;
use crate::diagnostic::Diagnostic;
use crate::span::Span;
use crate::vocabulary::{Proxy, Replication, Space};

/// Limits of PTX.
const MAX_DIMENSIONS: usize = 5;
const MAX_BOX: u64 = 256;

impl Body<'_> {
    /// What the declaration of a tensor map describes.
    pub(in crate::kernel::resolve) fn resolve_tensor(&mut self, object: &ast::Object) -> Resolved<Tensor> {
        let name = &object.name;
        let illegal = |span, message: String, label: &str, help: &str| {
            Diagnostic::new("validate::tensormap", message, span, label).with_help(help).with_rule("AS-35")
        };
        let Some(tensor) = &object.tensor else {
            let message = format!("`{}` does not say what it describes", name.text);
            let help = format!(
                "write `global {}: tensormap of src[4];`: an object, and the sizes of a box of it",
                name.text
            );
            return Err(self.report(illegal(name.place.0, message, "a tensor map of what?", &help)));
        };
        let Binding::Object(id) = self.look_up(&tensor.of.text, tensor.of.place.0)? else {
            let message = format!("`{}` is not an object", tensor.of.text);
            let error = Diagnostic::new("resolve::not-memory", message, tensor.of.place.0, "not an object");
            return Err(self.report(error));
        };
        let of = self.objects[id].clone();
        let span = tensor.of.place.0;
        if of.space != Space::Global
            || of.replication != Replication::Single
            || of.element != ElementKind::Data
            || of.proxy != Proxy::Generic
        {
            let message = format!("a tensor map describes data in global memory, which `{}` is not", of.name);
            let error = illegal(span, message, "not such an object", "describe a `global` object");
            return Err(self.report(error.with_label(of.span, "declared here")));
        }
        let rank = of.dimensions.len();
        if rank == 0 || rank > MAX_DIMENSIONS {
            let message = format!("a tensor has 1 to {MAX_DIMENSIONS} dimensions; `{}` has {rank}", of.name);
            let error = illegal(span, message, "not a tensor", "declare it as an array, or a view of it");
            return Err(self.report(error.with_label(of.span, "declared here")));
        }
        if tensor.box_dimensions.len() != rank {
            let message = format!(
                "`{}` has {rank} dimensions, and so has a box of it; {} given",
                of.name,
                tensor.box_dimensions.len()
            );
            let error =
                illegal(span, message, "another number of sizes", "give one size for each, outermost first");
            return Err(self.report(error.with_label(of.span, "declared here")));
        }
        let mut box_dimensions = Vec::new();
        for size in &tensor.box_dimensions {
            let found = self.checker.evaluate(size)?;
            if found == 0 || found > MAX_BOX {
                let message = format!("a box has 1 to {MAX_BOX} elements in each dimension, not {found}");
                return Err(self.report(illegal(
                    size.place.0,
                    message,
                    "out of range",
                    "choose a smaller box",
                )));
            }
            // At most 256.
            box_dimensions.push(u32::try_from(found).unwrap_or(1));
        }
        self.check_tensor_bytes(&of, &box_dimensions, span)?;
        Ok(Tensor { object: id, box_dimensions })
    }

    /// Rows of a box and of the tensor, and where it starts, are multiples of 16 bytes.
    fn check_tensor_bytes(&mut self, of: &Object, box_dimensions: &[u32], span: Span) -> Resolved<()> {
        let element = u64::from(of.width / 8);
        let row = |sizes: &[u32]| u64::from(sizes.last().copied().unwrap_or(1)) * element;
        let problem = if !row(box_dimensions).is_multiple_of(16) {
            Some(format!("the innermost dimension of the box has {} bytes", row(box_dimensions)))
        } else if of.dimensions.len() > 1 && !row(&of.dimensions).is_multiple_of(16) {
            Some(format!("the innermost dimension of `{}` has {} bytes", of.name, row(&of.dimensions)))
        } else if !of.offset_bytes.is_multiple_of(16) {
            Some(format!("`{}` starts at byte {}", of.name, of.offset_bytes))
        } else {
            None
        };
        match problem {
            None => Ok(()),
            Some(problem) => {
                let message = format!("{problem}, which is no multiple of 16");
                let error =
                    Diagnostic::new("validate::tensormap", message, span, "not a multiple of 16 bytes")
                        .with_label(of.span, "declared here")
                        .with_help(
                            "tensors are copied in units of 16 bytes: choose sizes that are multiples of it",
                        );
                Err(self.report(error.with_rule("AS-12")))
            }
        }
    }

    /// `[map, {c0, c1}]`
    pub(super) fn tensor_operand(
        &mut self,
        site: &Site<'_>,
        operand: &Operand,
        rank: (u8, Span),
    ) -> Resolved<TensorBox> {
        let Operand::Tensor(tensor) = operand else {
            let span = operand_span(operand, site.span);
            return Err(self.wrong_operand(site, span, "a tensor map and coordinates, `[map, {x, y}]`,"));
        };
        let (map, _) = self.resolve_address(&tensor.map)?;
        self.expect_map(site, &map, &tensor.map.name.text)?;
        if self.space_of(&map) == Some(Space::Shared) {
            let message =
                format!("`{}` reads its tensor map from a parameter or global memory", site.opcode.text);
            let error = Diagnostic::new("validate::tensormap-space", message, map.span, "in shared memory")
                .with_help("copy it to a global tensor map with `tensormap.cp_fenceproxy`, and use that one");
            return Err(self.report(error.with_rule("AS-35")));
        }
        self.note_demand(&map, Demand::NotShared, "AS-35", "read as a tensor map");
        let (n, rank_span) = rank;
        self.note_demand(&map, Demand::Rank(n), "AS-1", "used with this many coordinates");
        if let Some(described) = self.tensor_of(&map)
            && described.box_dimensions.len() != usize::from(n)
        {
            let message = format!("the tensor has {}, not {n}", dimensions(described.box_dimensions.len()));
            let declared = self.objects[described.object].span;
            let error =
                Diagnostic::new("validate::tensor-rank", message, rank_span, dimensions(usize::from(n)))
                    .with_label(map.span, "this tensor map")
                    .with_label(declared, "the tensor")
                    .with_help(format!("write `.{}d`", described.box_dimensions.len()));
            return Err(self.report(error.with_rule("AS-1")));
        }
        if tensor.coordinates.len() != usize::from(n) {
            let message = format!("`.{n}d` takes {n} coordinates; {} given", tensor.coordinates.len());
            let error =
                Diagnostic::new("validate::tensor-rank", message, tensor.place.0, "another number of them")
                    .with_help("give one for each dimension, innermost first: `[map, {x, y}]`");
            return Err(self.report(error.with_rule("AS-1")));
        }
        let mut coordinates = Vec::new();
        for coordinate in &tensor.coordinates {
            coordinates.push(self.resolve_exact(coordinate, 32)?);
        }
        Ok(TensorBox { map, coordinates })
    }

    /// Checks that an address is that of a tensor map.
    pub(in crate::kernel::resolve) fn expect_map(
        &mut self,
        site: &Site<'_>,
        map: &Address,
        name: &str,
    ) -> Resolved<()> {
        let holds = self.element_of(map.base);
        if holds == ElementKind::Tensormap {
            return Ok(());
        }
        let message =
            format!("`{}` needs a tensor map; `{name}` holds {}", site.opcode.text, described(holds));
        let error = Diagnostic::new("validate::not-tensormap", message, map.span, "not a tensor map")
            .with_help(format!("declare it as one: `param {name}: tensormap of src[4];`"));
        Err(self.report(error.with_rule("AS-35")))
    }

    /// A tensor map is opaque: its instructions read and write it.
    pub(in crate::kernel::resolve) fn reject_map(&mut self, address: &Address, opcode: &str) -> Resolved<()> {
        if self.element_of(address.base) != ElementKind::Tensormap {
            return Ok(());
        }
        let message = format!("`{opcode}` cannot access a tensor map");
        let error = Diagnostic::new("validate::tensormap-access", message, address.span, "128 opaque bytes");
        Err(self.report(
            error
                .with_help("write it with `tensormap.replace` or `tensormap.cp_fenceproxy`")
                .with_rule("AS-35"),
        ))
    }

    /// What a map describes; unknown for a reference.
    pub(in crate::kernel::resolve) fn tensor_of(&self, map: &Address) -> Option<Tensor> {
        match map.base {
            AddressBase::Object(object) => self.objects[object].tensor.clone(),
            AddressBase::Reference(_) => None,
        }
    }

    /// The width of the elements that a map describes.
    pub(super) fn tensor_width(&self, map: &Address) -> Option<Width> {
        self.tensor_of(map).map(|tensor| self.objects[tensor.object].width)
    }

    /// The bytes of a box.
    pub(super) fn box_bytes(&self, map: &Address) -> Option<u128> {
        let tensor = self.tensor_of(map)?;
        let n: u128 = tensor.box_dimensions.iter().map(|&n| u128::from(n)).product();
        Some(n * u128::from(self.objects[tensor.object].width / 8))
    }

    /// `[map]{, dimension}, value`
    pub(super) fn resolve_replace(
        &mut self,
        site: &Site<'_>,
        opcode: ReplaceOpcode,
    ) -> Resolved<(String, AsyncOp)> {
        let n = 2 + usize::from(opcode.field.has_dimension());
        let form = if n == 3 { "a tensor map, a dimension and a value" } else { "a tensor map and a value" };
        self.expect_operands(site, n, n, form)?;
        let Operand::Memory(memory) = &site.operands[0] else {
            let span = operand_span(&site.operands[0], site.span);
            return Err(self.wrong_operand(site, span, "a tensor map in brackets, `[map]`,"));
        };
        let (map, _) = self.resolve_address(memory)?;
        self.expect_map(site, &map, &memory.name.text)?;
        if self.space_of(&map) == Some(Space::Param) {
            let message = format!("`{}` is a parameter of the kernel and is only read", memory.name.text);
            let error = Diagnostic::new("validate::tensormap-space", message, map.span, "read-only")
                .with_help("declare it `global`, or write a copy in shared memory");
            return Err(self.report(error.with_rule("AS-35")));
        }
        self.expect_own_cta(site, &map, "AS-35", "written by `tensormap.replace`")?;
        self.note_demand(&map, Demand::NotParam, "AS-35", "written by `tensormap.replace`");
        if let Some((space, span)) = opcode.space {
            self.check_written_space(&map, space, span, &memory.name.text)?;
        }
        match opcode.field {
            TensorField::GlobalAddress => self.check_described(site, &map)?,
            TensorField::Layout => {
                self.value_operand(site, &site.operands[1], 32)?;
            }
            field => self.check_field(site, &opcode, &map, field)?,
        }
        let space = self.space_of(&map).or(opcode.space.map(|(space, _)| space));
        Ok((opcode.text(space), AsyncOp::TensormapReplace { map }))
    }

    fn check_written_space(&mut self, map: &Address, written: Space, span: Span, name: &str) -> Resolved<()> {
        match map.base {
            AddressBase::Reference(reference) => self.note_space(reference, written, span),
            AddressBase::Object(object) if self.objects[object].space != written => {
                let space = self.objects[object].space;
                let message = format!("`{name}` is in {space} memory, not {written}");
                let error =
                    Diagnostic::new("validate::space-mismatch", message, span, format!("not `.{written}`"))
                        .with_label(self.objects[object].span, "declared here");
                return Err(self.report(error.with_help("leave the state space out")));
            }
            AddressBase::Object(_) => {}
        }
        Ok(())
    }

    /// The new address of the tensor is that of the object which the map describes anyway.
    fn check_described(&mut self, site: &Site<'_>, map: &Address) -> Resolved<()> {
        let operand = &site.operands[1];
        let span = operand_span(operand, site.span);
        let named = match operand {
            Operand::Memory(memory) => Some(memory.clone()),
            Operand::Expr(expr) => Self::as_memory(expr),
            _ => None,
        };
        let Some(named) = named.filter(|memory| memory.rank.is_none()) else {
            return Err(self.wrong_operand(site, span, "the described object, `src` or `[src]`,"));
        };
        let found: Option<ObjectId> = match self.look_up(&named.name.text, named.name.place.0)? {
            Binding::Object(object) => Some(object),
            _ => None,
        };
        let mut at_start = true;
        for index in &named.indices {
            let index = self.resolve_exact(index, 32)?;
            at_start &= constant_value(&index) == Some(0);
        }
        let described = self.tensor_of(map);
        if at_start && found.is_some() && found == described.as_ref().map(|tensor| tensor.object) {
            return Ok(());
        }
        let message = "a tensor map describes one object for good in this version";
        let error = Diagnostic::new("unsupported::tensormap-address", message, span, "another address");
        Err(self.report(match described {
            Some(tensor) => {
                let of = &self.objects[tensor.object];
                let (name, declared) = (of.name.clone(), of.span);
                error
                    .with_label(declared, "described by the map")
                    .with_help(format!("write `[{name}]`, or declare a second map for the other object"))
            }
            None => error.with_help("write it where the map is named, not in a function"),
        }))
    }

    /// A field that says what the declaration says.
    fn check_field(
        &mut self,
        site: &Site<'_>,
        opcode: &ReplaceOpcode,
        map: &Address,
        field: TensorField,
    ) -> Resolved<()> {
        let mut dimension = None;
        if field.has_dimension() {
            let operand = self.value_operand(site, &site.operands[1], 32)?;
            dimension = constant_value(&operand);
            if dimension.is_none_or(|dimension| dimension >= MAX_DIMENSIONS as u128) {
                let message = "the dimension of a field is a constant of 0 to 4, 0 for the innermost";
                let error =
                    Diagnostic::new("validate::tensormap-field", message, operand.span, "not a dimension");
                return Err(self.report(error.with_rule("AS-35")));
            }
        }
        let last = &site.operands[site.operands.len() - 1];
        let value = self.value_operand(site, last, field.width())?;
        if field == TensorField::GlobalStride {
            return Ok(());
        }
        let described = self.tensor_of(map);
        let declared = described.as_ref().and_then(|tensor| {
            let sizes = match field {
                TensorField::Rank => return Some(tensor.box_dimensions.len() as u128 - 1),
                TensorField::BoxDim => &tensor.box_dimensions,
                TensorField::GlobalDim => &self.objects[tensor.object].dimensions,
                _ => return Some(1),
            };
            let at = sizes.len().checked_sub(1 + usize::try_from(dimension?).ok()?)?;
            sizes.get(at).map(|&size| u128::from(size))
        });
        if declared.is_some() && constant_value(&value) == declared {
            return Ok(());
        }
        let message = format!("`.{}` is what the tensor map's declaration says in this version", opcode.name);
        let error =
            Diagnostic::new("unsupported::tensormap-field", message, value.span, "may be something else");
        Err(self.report(match declared {
            Some(declared) => error.with_help(format!("write `{declared}`, or leave the instruction out")),
            None => error.with_help("leave the instruction out, or write it where the map is named"),
        }))
    }
}

fn dimensions(n: usize) -> String {
    format!("{n} dimension{}", if n == 1 { "" } else { "s" })
}
