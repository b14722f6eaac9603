//! Where the memory of an imported kernel is: what the file declares, and the variables of the module.

use super::harness::Harness;
use super::value::written;
use crate::diagnostic::Diagnostic;
use crate::index::Id as _;
use crate::kernel::program::flat::{GLOBAL_WINDOW, LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW, WINDOW_BYTES};
use crate::kernel::program::{
    ElementKind, FlatObject, InitialBytes, Object, ObjectId, Private, Register, Storage, StorageId, View,
    Width,
};
use crate::kernel::resolve::body::Binding;
use crate::kernel::resolve::{Body, Resolved};
use crate::ptx::Module;
use crate::ptx::module::{Function, Operand, OperandKind, Variable, demangled};
use crate::span::{FileId, Span};
use crate::vocabulary::{Proxy, Space};
use rustc_hash::{FxHashMap, FxHashSet};

/// Most bytes of local memory of a thread: each is a register.
const LOCAL_BYTES_MAX: u64 = 4096;
/// Most bytes of shared memory of a CTA.
const SHARED_BYTES_MAX: u64 = 227 << 10;
/// Most bytes of a variable of global memory.
const GLOBAL_BYTES_MAX: u64 = 1 << 20;
/// What lies between one tensor map and the next.
pub(super) const TENSORMAP_BYTES: u64 = 128;
/// The bytes that stand for a tensor map.
const TENSORMAP_WORD: u32 = 8;
/// Where the first variable in shared memory is, so that none is at address 0.
const SHARED_START: u64 = 1024;

/// Where objects are.
#[derive(Default)]
pub(super) struct Memory {
    pub objects: Vec<FlatObject>,
    /// The storage of each.
    storages: Vec<StorageId>,
    pub private: Vec<Private>,
    /// What variables are called in reports, where that is not the name that the module has for them.
    shown: FxHashMap<String, String>,
}

impl Memory {
    fn shown(&self, variable: &Variable) -> String {
        let name = written(&variable.name.text);
        self.shown.get(name).map_or(name, String::as_str).to_owned()
    }

    /// Memory that the file declares.
    pub(super) fn place_common(&mut self, body: &Body<'_>) {
        for (id, storage) in body.storages.iter_enumerated() {
            let Some(object) = body.objects.iter().find(|object| object.storage == id) else { continue };
            match storage.space {
                Space::Global if !storage.is_symmetric && object.element != ElementKind::Tensormap => {
                    let start = GLOBAL_WINDOW + id.index() as u64 * WINDOW_BYTES;
                    self.push(object.name.clone(), start, storage.size_bytes, id);
                }
                // A tensor map that the kernel is given: what it holds is nothing that could be read, so it has an address,
                // and nothing else has one inside of it.
                Space::Param if object.dimensions.is_empty() => {
                    let start = PARAM_WINDOW + id.index() as u64 * TENSORMAP_BYTES;
                    self.push(object.name.clone(), start, TENSORMAP_WORD, id);
                }
                _ => {}
            }
        }
    }

    /// Gives a tensor map that is a field of a parameter an address there.
    pub(super) fn place_map(&mut self, storage: StorageId, start: u64) {
        let Some(index) = self.storages.iter().position(|&known| known == storage) else { return };
        self.push(self.objects[index].name.clone(), start, TENSORMAP_WORD, storage);
    }

    fn push(&mut self, name: String, start: u64, bytes: u32, storage: StorageId) {
        self.objects.push(FlatObject { name, start, bytes, views: Vec::new() });
        self.storages.push(storage);
    }

    /// The address of a storage.
    pub(super) fn start_of(&self, storage: StorageId) -> Option<u64> {
        let index = self.storages.iter().position(|&known| known == storage)?;
        Some(self.objects[index].start)
    }

    /// An object of each width at which anything is accessed, for all memory.
    pub(super) fn add_views(&mut self, body: &mut Body<'_>) {
        let accessed = body.accessed();
        for (object, &storage) in self.objects.iter_mut().zip(&self.storages) {
            for &(width, element) in &accessed {
                let n_elements = object.bytes / u32::from(width / 8);
                let is_map = body.storages[storage].space == Space::Param;
                let is_seen = match element {
                    ElementKind::Data => !is_map,
                    ElementKind::Mbarrier => object.is_shared(),
                    ElementKind::Tensormap => is_map,
                };
                if n_elements == 0 || !is_seen {
                    continue;
                }
                let id = view_of(body, object, storage, (width, element));
                object.views.push(View { width, element, object: id });
            }
        }
    }
}

/// The object that shows a storage in elements of a width: the declared one, or a new one.
fn view_of(
    body: &mut Body<'_>,
    flat: &FlatObject,
    storage: StorageId,
    (width, element): (Width, ElementKind),
) -> ObjectId {
    let whole = |object: &&Object| {
        object.storage == storage
            && object.width == width
            && object.element == element
            && object.proxy == Proxy::Generic
            && object.mapping == 0
            && object.offset_bytes == 0
            && object.n_elements() * u64::from(width / 8) == u64::from(flat.bytes)
            && object.dimensions.len() < 2
    };
    if let Some(index) = body.objects.iter().position(|object| whole(&object)) {
        return ObjectId::from_index(index);
    }
    let declared = body.objects.iter().find(|object| object.storage == storage);
    let (span, space) =
        declared.map_or((Span::new(FileId(0), 0, 0), Space::Global), |object| (object.span, object.space));
    let n_elements = flat.bytes / u32::from(width / 8);
    let dimensions = if n_elements == 1 { Vec::new() } else { vec![n_elements] };
    let plain = Object::plain(flat.name.clone(), (space, storage), (width, dimensions), span);
    body.objects.push(Object { element, ..plain })
}

impl Body<'_> {
    /// Gives the variables of the module addresses; what their names stand for.
    pub(super) fn place_variables(
        &mut self,
        module: &Module,
        entry: &Function,
        harness: &Harness,
        memory: &mut Memory,
    ) -> Resolved<FxHashMap<String, (u64, Width)>> {
        let (used, passed) = (used_names(entry), passed_names(entry));
        let mut found = FxHashMap::default();
        let (mut shared, mut local) = (SHARED_START, 0_u64);
        let mut dynamic: Option<u64> = None;
        let own = entry.variables.iter().chain(&module.variables);
        let mut sorted: Vec<&Variable> =
            own.filter(|variable| used.contains(variable.name.text.as_str())).collect();
        // Dynamic shared memory comes after all other.
        sorted.sort_by_key(|variable| variable.is_extern);
        memory.shown = shown(&sorted);
        for variable in sorted {
            let name = &variable.name.text;
            if found.contains_key(name) {
                continue;
            }
            let align = variable.align.max(1);
            match variable.space.as_str() {
                "shared" if variable.is_extern || variable.bytes == 0 => {
                    let Some(bytes) = harness.dynamic_bytes else {
                        let message = format!("nothing says how large `{name}` is");
                        let span = variable.name.span;
                        let error = Diagnostic::new(
                            "validate::import-setting",
                            message,
                            span,
                            "dynamic shared memory",
                        );
                        return Err(
                            self.report(error.with_help("write `shared dynamic 1024;` in the `import`"))
                        );
                    };
                    let start = match dynamic {
                        Some(start) => start,
                        None => {
                            let start = shared.next_multiple_of(align.max(16));
                            shared = self.place_shared(variable, start, bytes, memory)?;
                            *dynamic.insert(start)
                        }
                    };
                    found.insert(name.clone(), (start, 32));
                }
                "shared" => {
                    let start = shared.next_multiple_of(align);
                    shared = self.place_shared(variable, start, variable.bytes, memory)?;
                    found.insert(name.clone(), (start, 32));
                }
                "global" | "const" => {
                    let start = self.place_global(variable, memory)?;
                    found.insert(name.clone(), (start, 64));
                }
                // What is passed to a function, if it looks at it.
                "param" if !passed.contains(name.as_str()) => {}
                "local" | "param" => {
                    let start = local.next_multiple_of(align);
                    local = start.saturating_add(variable.bytes);
                    if local > LOCAL_BYTES_MAX {
                        let message =
                            format!("local memory of more than {LOCAL_BYTES_MAX} bytes is not checked");
                        let span = variable.name.span;
                        return Err(self.report(Diagnostic::new(
                            "limit::object-size",
                            message,
                            span,
                            "too large",
                        )));
                    }
                    self.place_local(variable, LOCAL_WINDOW + start, memory);
                    found.insert(name.clone(), (start, 64));
                }
                _ => {}
            }
        }
        Ok(found)
    }

    fn place_local(&mut self, variable: &Variable, start: u64, memory: &mut Memory) {
        let name = variable.name.text.clone();
        let first = self.registers.next_id();
        let bytes = u32::try_from(variable.bytes).unwrap_or(0);
        for byte in 0..bytes {
            self.registers.push(Register { name: format!("%{name}+{byte}"), width: 8 });
        }
        memory.private.push(Private { name, start, bytes, first });
    }

    /// The bytes of a parameter whose address is taken, but for its tensor maps: of what is read there by a generic address
    /// nothing is known.
    pub(super) fn place_parameter(
        &mut self,
        (number, parameter): (usize, &Variable),
        harness: &Harness,
        memory: &mut Memory,
    ) {
        let given = harness.parameters.range((number, 0)..=(number, u64::MAX));
        let maps = given.filter(|(_, given)| given.is_map).map(|(&(_, offset), _)| offset);
        let mut start = 0;
        for map in maps.chain([parameter.bytes]) {
            if map > start {
                let bytes = map - start;
                let name = format!("parameter {number}");
                let of = (parameter, name.clone());
                let storage = self.new_object(of, Space::Global, bytes, InitialBytes::Unknown);
                let at = super::parameter::start_of(number) + start;
                memory.push(name, at, u32::try_from(bytes).unwrap_or(u32::MAX), storage);
            }
            start = map + TENSORMAP_BYTES;
        }
    }

    fn place_shared(
        &mut self,
        variable: &Variable,
        start: u64,
        bytes: u64,
        memory: &mut Memory,
    ) -> Resolved<u64> {
        let end = start.saturating_add(bytes);
        if end > SHARED_START + SHARED_BYTES_MAX {
            let message = format!("a CTA has at most {SHARED_BYTES_MAX} bytes of shared memory");
            let span = variable.name.span;
            return Err(self.report(Diagnostic::new(
                "limit::object-size",
                message,
                span,
                "too much with this one",
            )));
        }
        let storage =
            self.new_object((variable, memory.shown(variable)), Space::Shared, bytes, InitialBytes::Unknown);
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        memory.push(memory.shown(variable), SHARED_WINDOW + start, bytes, storage);
        Ok(end)
    }

    /// A variable of the module in global memory; one of the same name that the file declares takes its place.
    fn place_global(&mut self, variable: &Variable, memory: &mut Memory) -> Resolved<u64> {
        let span = variable.name.span;
        if let Some((Binding::Object(id), _)) = self.find(&variable.name.text)
            && let Some(start) = memory.start_of(self.objects[id].storage)
        {
            return Ok(start + u64::from(self.objects[id].offset_bytes));
        }
        if variable.bytes > GLOBAL_BYTES_MAX || variable.is_extern || variable.bytes == 0 {
            let message = format!("`{}` has no size that can be checked", variable.name.text);
            let error = Diagnostic::new("validate::import-setting", message, span, "declared here");
            let help = format!(
                "declare `global {}[64]: u32;` outside of the `import`: it takes its place",
                variable.name.text
            );
            return Err(self.report(error.with_help(help)));
        }
        let mut initial = Vec::new();
        for value in &variable.initial {
            let width = usize::from(variable.ty.width / 8).max(1);
            let bits = match value.kind {
                OperandKind::Integer(value) => value.cast_unsigned(),
                OperandKind::Float(bits, _) => u128::from(bits),
                _ => {
                    let message = "an initial value that is an address is not checked by this version";
                    let error =
                        Diagnostic::new("unsupported::ptx-declaration", message, value.span, "no number");
                    return Err(self.report(error));
                }
            };
            initial.extend_from_slice(&bits.to_le_bytes()[..width.min(16)]);
        }
        initial.resize(usize::try_from(variable.bytes).unwrap_or(0), 0);
        // What the module does not say of constant memory, the host does.
        let is_set = variable.space == "const" && variable.initial.is_empty();
        let initial = if is_set { InitialBytes::Unknown } else { InitialBytes::Known(initial) };
        let storage =
            self.new_object((variable, memory.shown(variable)), Space::Global, variable.bytes, initial);
        let start = GLOBAL_WINDOW + storage.index() as u64 * WINDOW_BYTES;
        memory.push(memory.shown(variable), start, u32::try_from(variable.bytes).unwrap_or(0), storage);
        Ok(start)
    }

    fn new_object(
        &mut self,
        (variable, name): (&Variable, String),
        space: Space,
        bytes: u64,
        initial: InitialBytes,
    ) -> StorageId {
        let size_bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        let storage = self.storages.push(Storage { space, is_symmetric: false, size_bytes, initial });
        let width = if variable.ty.width < 8 { 8 } else { variable.ty.width };
        let n_elements = size_bytes / u32::from(width / 8);
        let dimensions = if variable.is_array { vec![n_elements] } else { Vec::new() };
        let object = Object::plain(name.clone(), (space, storage), (width, dimensions), variable.name.span);
        let object = self.objects.push(object);
        // So that a `final` block can name it; a name that the file declares goes first.
        for name in [&variable.name.text, &name] {
            if self.find(name).is_none()
                && let Some(scope) = self.scopes.last_mut()
            {
                scope.insert(name.clone(), (Binding::Object(object), variable.name.span));
            }
        }
        storage
    }
}

/// What mangled variables call themselves, where no other of them does.
fn shown(variables: &[&Variable]) -> FxHashMap<String, String> {
    let mut n_of: FxHashMap<&str, usize> = FxHashMap::default();
    let own = |variable: &Variable| {
        let name = written(&variable.name.text).to_owned();
        let short = demangled(&name)?.to_owned();
        Some((name, short))
    };
    let all: Vec<(String, String)> = variables.iter().filter_map(|variable| own(variable)).collect();
    let plain = variables.iter().map(|variable| written(&variable.name.text));
    for name in all.iter().map(|(_, short)| short.as_str()).chain(plain) {
        *n_of.entry(name).or_default() += 1;
    }
    all.iter().filter(|(_, short)| n_of.get(short.as_str()) == Some(&1)).cloned().collect()
}

/// Names of `.param` space that something is loaded from, as results of functions are that are not looked at themselves.
fn passed_names(entry: &Function) -> FxHashSet<&str> {
    let loads = entry.instructions().filter(|own| own.opcode.text.starts_with("ld.param"));
    loads.flat_map(|own| &own.operands).filter_map(Operand::place).map(|(name, _)| name).collect()
}

/// All names in the operands of a kernel.
fn used_names(entry: &Function) -> FxHashSet<&str> {
    let mut names = FxHashSet::default();
    let operands = entry.instructions().flat_map(|instruction| &instruction.operands);
    operands.for_each(|operand| operand.each_name(&mut |name| _ = names.insert(name)));
    names
}
