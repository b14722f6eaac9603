//! Memory, parameters, and what is said of a kernel around its body; and the harness by which it is read again.

use super::value::Value;
use super::{Emit, FILLED_MAX, Frame, Purpose};
use crate::kernel::isa::{self, since};
use crate::kernel::program::{
    AddressBase, BinaryOp, ElementKind, Expression, ExpressionKind, FinalKind, InitialBytes, InstructionKind,
    StorageId, UnaryOp,
};
use crate::vocabulary::Space;
use std::fmt::Write as _;

/// Mnemonics that only compute, which cannot be names either.
const OTHER_WORDS: &[&str] = &[
    "abs", "add", "and", "bra", "brx", "call", "cvt", "cvta", "div", "exit", "fma", "mad", "max", "min",
    "mul", "neg", "not", "or", "rem", "ret", "selp", "set", "setp", "shl", "shr", "sub", "trap", "xor",
];

impl Emit<'_> {
    /// A name that PTX has no other use for.
    fn name(text: &str) -> String {
        let is_taken = isa::is_mnemonic(text) || OTHER_WORDS.contains(&text);
        if is_taken { format!("{text}_") } else { text.to_owned() }
    }

    pub(super) fn entry(&self) -> String {
        Self::name(&self.kernel.name)
    }

    /// Refuses launches that are none of one grid.
    pub(super) fn check_launch(&mut self) {
        let (kernel, launch) = (self.kernel, self.launch);
        if kernel.is_program {
            let help = "a module has kernels; the host's calls are not part of it. Name a kernel instead";
            self.unsupported("a program", kernel.span, help);
        }
        if launch.placement.is_some() {
            self.unsupported("a litmus test", kernel.span, "its threads form no grid");
        }
        if launch.spa.is_some() {
            self.unsupported("a kernel of an SPA machine", kernel.span, "");
        }
        if launch.gpus > 1 {
            self.unsupported("a launch on several devices", launch.span, "a module is of one device");
        }
        if launch.cluster > 1 {
            self.needs(since(7, 8, 90));
        }
    }

    pub(super) fn name_storages(&mut self) {
        for id in self.kernel.storages.ids() {
            let first = self.kernel.objects.iter().find(|object| object.storage == id);
            let mut name =
                first.map_or_else(|| format!("storage{}", id.0), |object| Self::name(&object.name));
            if name == self.entry() {
                name.push('_');
            }
            self.symbols.push(name);
        }
    }

    fn tensormaps(&self) -> impl Iterator<Item = StorageId> + use<'_> {
        self.kernel
            .storages
            .iter_enumerated()
            .filter(|(_, storage)| storage.space == Space::Param)
            .map(|(id, _)| id)
    }

    pub(super) fn parameters(&self) -> String {
        let numbers = self
            .kernel
            .parameters
            .iter()
            .map(|parameter| format!("\n\t.param .u32 {}", self.parameter(&parameter.name)));
        let maps = self.tensormaps().map(|id| format!("\n\t.param .align 64 .b8 {}[128]", self.symbols[id]));
        let before = match self.purpose {
            Purpose::Kernel => Vec::new(),
            Purpose::Stress => self.stress_parameters(),
        };
        let all: Vec<String> = before.into_iter().chain(numbers).chain(maps).collect();
        if all.is_empty() { String::new() } else { format!("{}\n", all.join(",")) }
    }

    fn parameter(&self, name: &str) -> String {
        format!("{}_param_{name}", self.entry())
    }

    pub(super) fn parameter_ranges(&self) -> Vec<Option<(u64, u64)>> {
        let numbers = self.kernel.parameters.iter().map(|parameter| Some((parameter.min, parameter.max)));
        numbers.chain(self.tensormaps().map(|_| None)).collect()
    }

    pub(super) fn load_parameters(&mut self, frame: &mut Frame) {
        for parameter in &self.kernel.parameters {
            let register = self.register(frame, parameter.register);
            let name = self.parameter(&parameter.name);
            self.line(format!("ld.param.u32 {register}, [{name}];"));
        }
        // Lanes that the launch does not have.
        if self.launch.lanes < 32 && self.launch.warps > 1 {
            let tid = self.special("tid.x");
            let (lane, is_none) = (self.fresh(32), self.fresh(1));
            self.line(format!("and.b32 {lane}, {tid}, 31;"));
            self.line(format!("setp.ge.u32 {is_none}, {lane}, {};", self.launch.lanes));
            self.line(format!("@{is_none} exit;"));
        }
    }

    /// Shared memory has no initial values in PTX: a thread stores them, and nobody goes on before.
    pub(super) fn fill_shared(&mut self) {
        let kernel = self.kernel;
        let filled = kernel.storages.iter_enumerated().filter_map(|(id, storage)| match &storage.initial {
            InitialBytes::Known(bytes) if storage.space == Space::Shared => Some((id, bytes)),
            _ => None,
        });
        let filled: Vec<(StorageId, &Vec<u8>)> = filled.collect();
        if filled.is_empty() {
            return;
        }
        if filled.iter().map(|(_, bytes)| bytes.len()).sum::<usize>() > FILLED_MAX {
            let help = "leave the value out, and let threads store it before a barrier";
            return self.unsupported("so large an initial value of shared memory", kernel.span, help);
        }
        if self.launch.cluster > 1 {
            let help = "a peer may look before a barrier of the CTA: leave the value out, and let threads store it before one of the cluster";
            return self.unsupported("an initial value of shared memory in a cluster", kernel.span, help);
        }
        let Some(barrier) = self.unused_barrier() else {
            let help = "leave the value out, and let threads store it before a barrier";
            return self.unsupported(
                "an initial value of shared memory beside 16 barriers",
                kernel.span,
                help,
            );
        };
        let tid = self.special("tid.x");
        let (is_other, skip) = (self.fresh(1), self.label());
        self.line("// initial values of shared memory");
        self.line(format!("setp.ne.u32 {is_other}, {tid}, 0;"));
        self.line(format!("@{is_other} bra {skip};"));
        for (id, bytes) in filled {
            let first = kernel.objects.iter().find(|object| object.storage == id);
            let width = first.map_or(8, |object| object.width.min(64));
            for (number, chunk) in bytes.chunks(usize::from(width / 8)).enumerate() {
                let value = chunk.iter().rev().fold(0_u128, |all, &byte| all << 8 | u128::from(byte));
                let value = self.in_register(&Value::Number(value, width));
                let symbol = self.symbols[id].clone();
                let offset = number * usize::from(width / 8);
                self.line(format!("st.shared.b{width} [{symbol}+{offset}], {value};"));
            }
        }
        if self.program.any_instruction(kernel, |of| matches!(of.kind, InstructionKind::Async(_))) {
            self.needs(since(8, 0, 90));
            self.line("fence.proxy.async;");
        }
        self.place_label(&skip);
        self.line(format!("bar.sync {barrier};"));
    }

    /// A barrier that the kernel does not name; where it computes numbers, there is none.
    fn unused_barrier(&self) -> Option<u32> {
        let is_used = |number: u32| {
            self.program.any_instruction(self.kernel, |of| match &of.kind {
                InstructionKind::Barrier { id, .. } => match id.kind {
                    ExpressionKind::Constant(id) => id == u128::from(number),
                    _ => true,
                },
                _ => false,
            })
        };
        (0..16).rev().find(|&number| !is_used(number))
    }

    /// Threads of a CTA: a warp that is not alone has all its lanes.
    pub(super) fn block_size(&self) -> u32 {
        if self.launch.warps == 1 { self.launch.lanes } else { self.launch.warps * 32 }
    }

    pub(super) fn directives(&self) -> String {
        let mut text = format!(".reqntid {}, 1, 1\n", self.block_size());
        if self.launch.cluster > 1 {
            let _ = writeln!(text, ".reqnctapercluster {}, 1, 1", self.launch.cluster);
        }
        if let Some(registers) = self.launch.registers {
            let _ = writeln!(text, ".maxnreg {registers}");
        }
        text
    }

    pub(super) fn globals(&self) -> String {
        let mut text = String::new();
        for (id, storage) in self.kernel.storages.iter_enumerated() {
            if storage.space == Space::Global {
                let bytes = match &storage.initial {
                    InitialBytes::Known(bytes) => Some(bytes.as_slice()),
                    InitialBytes::Unknown => None,
                };
                text += &self.declaration(id, ".visible .global", bytes);
            }
        }
        text
    }

    pub(super) fn shared(&self) -> String {
        let mut text = String::new();
        for (id, storage) in self.kernel.storages.iter_enumerated() {
            if storage.space == Space::Shared {
                text += &format!("\t{}", self.declaration(id, ".shared", None));
            }
        }
        text
    }

    fn declaration(&self, id: StorageId, space: &str, bytes: Option<&[u8]>) -> String {
        let storage = &self.kernel.storages[id];
        let first = self.kernel.objects.iter().find(|object| object.storage == id);
        let (width, is_map) = first.map_or((8, false), |object| {
            (if object.width > 64 { 8 } else { object.width }, object.element == ElementKind::Tensormap)
        });
        let size = if is_map { storage.size_bytes / 8 * 128 } else { storage.size_bytes };
        let (width, align) = if is_map { (8, 128) } else { (width, 16) };
        let element = usize::from(width / 8).max(1);
        let n = size / u32::from(width / 8).max(1);
        let list = bytes.filter(|_| !is_map).map(|bytes| {
            let numbers = bytes.chunks(element).map(|chunk| {
                chunk.iter().rev().fold(0_u64, |all, &byte| all << 8 | u64::from(byte)).to_string()
            });
            let all: Vec<String> = numbers.collect();
            // A scalar has no braces.
            if n == 1 { format!(" = {}", all.join("")) } else { format!(" = {{{}}}", all.join(", ")) }
        });
        let kind = if width == 8 { "b" } else { "u" };
        let brackets = if n == 1 { String::new() } else { format!("[{n}]") };
        let (name, list) = (&self.symbols[id], list.unwrap_or_default());
        format!("{space} .align {align} .{kind}{width} {name}{brackets}{list};\n")
    }

    pub(super) fn memory(&self) -> Vec<(String, u32, Option<Vec<u8>>)> {
        let of_global =
            self.kernel.storages.iter_enumerated().filter(|(_, storage)| storage.space == Space::Global);
        of_global
            .map(|(id, storage)| {
                let bytes = match &storage.initial {
                    InitialBytes::Known(bytes) => Some(bytes.clone()),
                    InitialBytes::Unknown => None,
                };
                (self.symbols[id].clone(), storage.size_bytes, bytes)
            })
            .collect()
    }

    pub(super) fn harness(&self) -> String {
        let entry = self.entry();
        let mut text = String::new();
        // What nobody knows is declared again: PTX would have it 0.
        for (id, storage) in self.kernel.storages.iter_enumerated() {
            let first = self.kernel.objects.iter().find(|object| object.storage == id);
            if let (Space::Global, InitialBytes::Unknown, Some(object)) =
                (storage.space, &storage.initial, first)
            {
                let width = object.width;
                let n = storage.size_bytes / u32::from(width / 8);
                let ty = if width == 128 { "b128".to_owned() } else { format!("u{width}") };
                let brackets = if object.dimensions.is_empty() { String::new() } else { format!("[{n}]") };
                let _ = writeln!(text, "global {}{brackets}: {ty};", self.symbols[id]);
            }
        }
        let _ = writeln!(text, "import \"MODULE\" entry {entry} as {entry} {{");
        let launch = self.launch;
        let mut fields = vec![format!("ctas: {}", launch.ctas)];
        if launch.cluster > 1 {
            fields.push(format!("cluster: {}", launch.cluster));
        }
        fields.push(format!("block: {}", self.block_size()));
        if launch.cooperative {
            fields.push("cooperative: true".to_owned());
        }
        let _ = writeln!(text, "    launch {{ {} }}", fields.join(", "));
        for (number, parameter) in self.kernel.parameters.iter().enumerate() {
            let _ = writeln!(text, "    param {number} in {}..={};", parameter.min, parameter.max);
        }
        for condition in &self.kernel.finals {
            let word = match condition.kind {
                FinalKind::Assert => "assert",
                FinalKind::Reachable => "reachable",
            };
            if let Some(said) = self.condition(&condition.condition) {
                let _ = writeln!(text, "    final {{ {word} {said}; }}");
            } else {
                let line = (self.lines)(condition.span)
                    .map_or_else(String::new, |(_, line)| format!(" of line {line}"));
                let _ = writeln!(
                    text,
                    "    // left out: the `{word}`{line}, which is about more than global memory"
                );
            }
        }
        text + "}\n"
    }

    /// A condition on final global memory and the size of the launch in the kernel language, if it is about nothing else.
    fn condition(&self, expression: &Expression) -> Option<String> {
        Some(match &expression.kind {
            ExpressionKind::Constant(value) if expression.width == 1 => (*value != 0).to_string(),
            ExpressionKind::Constant(value) => value.to_string(),
            ExpressionKind::Coordinate(coordinate) => self.dimension(*coordinate)?.to_string(),
            ExpressionKind::FinalValue(address) => {
                let AddressBase::Object(object) = address.base else { return None };
                let object = &self.kernel.objects[object];
                let is_first = self.kernel.objects.iter().find(|other| other.storage == object.storage)?.name
                    == object.name;
                if !is_first || object.width > 64 || object.space != Space::Global {
                    return None;
                }
                let mut index = 0;
                for (at, &size) in address.indices.iter().zip(&object.dimensions) {
                    let ExpressionKind::Constant(at) = at.kind else { return None };
                    index = index * u128::from(size) + at;
                }
                let symbol = &self.symbols[object.storage];
                if object.dimensions.is_empty() {
                    format!("[{symbol}]")
                } else {
                    format!("[{symbol}[{index}]]")
                }
            }
            ExpressionKind::Unary(op, operand) => {
                let sign = match op {
                    UnaryOp::Not if expression.width == 1 => "!",
                    UnaryOp::Not => "~",
                    UnaryOp::Negate => "-",
                };
                format!("{sign}({})", self.condition(operand)?)
            }
            ExpressionKind::Binary(op, left, right) => {
                let word = match op {
                    BinaryOp::And if left.width == 1 => "&&",
                    BinaryOp::Or if left.width == 1 => "||",
                    op => op.symbol(),
                };
                format!("({} {word} {})", self.condition(left)?, self.condition(right)?)
            }
            ExpressionKind::Convert(operand) if expression.width >= 8 => {
                format!("({} as u{})", self.condition(operand)?, expression.width)
            }
            _ => return None,
        })
    }
}
