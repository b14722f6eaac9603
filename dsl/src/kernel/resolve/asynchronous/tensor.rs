//! Tensor maps: their declarations, and boxes in operands (AS-35, AS-36).
//!
//! A map describes, for good, what its declaration says. A `tensormap.replace` that would make it describe something
//! else is refused.

use super::super::super::ast::{self, Operand};
use super::super::super::program::{Address, AddressBase, ElementKind, Object, Tensor, TensorBox, Width};
use super::super::Resolved;
use super::super::body::{Binding, Body};
use super::super::calls::Demand;
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
    pub(in crate::kernel) fn resolve_tensor(&mut self, object: &ast::Object) -> Resolved<Tensor> {
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
    pub(in crate::kernel) fn tensor_operand(
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
    pub(in crate::kernel) fn expect_map(
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
    pub(in crate::kernel) fn reject_map(&mut self, address: &Address, opcode: &str) -> Resolved<()> {
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
    pub(in crate::kernel) fn tensor_of(&self, map: &Address) -> Option<Tensor> {
        match map.base {
            AddressBase::Object(object) => self.objects[object].tensor.clone(),
            AddressBase::Reference(_) | AddressBase::Flat { .. } => None,
        }
    }

    /// The width of the elements that a map describes.
    pub(in crate::kernel) fn tensor_width(&self, map: &Address) -> Option<Width> {
        self.tensor_of(map).map(|tensor| self.objects[tensor.object].width)
    }

    /// The bytes of a box.
    pub(in crate::kernel) fn box_bytes(&self, map: &Address) -> Option<u128> {
        let tensor = self.tensor_of(map)?;
        let n: u128 = tensor.box_dimensions.iter().map(|&n| u128::from(n)).product();
        Some(n * u128::from(self.objects[tensor.object].width / 8))
    }
}

fn dimensions(n: usize) -> String {
    format!("{n} dimension{}", if n == 1 { "" } else { "s" })
}
