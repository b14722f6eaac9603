//! Syntax trees to a [`Program`]: names become ids, expressions get widths, instructions are checked and completed.
//!
//! Order of work: constants, function signatures, common memory, function bodies, kernels, programs, then what needs the
//! whole call graph ([`calls`]). An error never stops the pass: what failed is marked as known bad and not complained about twice.

use super::ast::{self, ItemKind};
use super::program::{
    ElementKind, Function, FunctionId, Loop, LoopId, Object, ObjectId, Program, Storage, StorageId, Width,
};
use super::target::Target;
use crate::diagnostic::Diagnostic;
use crate::index::IndexVec;
use crate::ptx::Module;
use crate::sorted::{SortedMap, SortedSet};
use crate::span::Span;
pub(in crate::kernel) use body::Body;
use body::Scope;
use host::Parts;
use indexmap::IndexMap;

mod asynchronous;
pub(in crate::kernel) mod body;
pub(in crate::kernel) mod calls;
mod cluster;
mod constant;
pub(in crate::kernel) mod expression;
mod host;
pub(in crate::kernel) mod instruction;
mod kernel;
mod launch;
mod memory;
mod multimem;
mod operands;
mod proxy;
mod sign;
mod spa;
mod statement;

/// An error that has been reported already.
#[derive(Clone, Copy, Debug)]
pub struct Reported;

/// A value, or an error that has been reported already.
pub type Resolved<T> = Result<T, Reported>;

/// PTX modules by where they are imported, at their path in quotes.
pub(in crate::kernel) type Modules = SortedMap<Span, Module>;

/// Resolves the files of a program; the last one is the file that was asked for, and its kernels are the program's.
/// `start` is where that file starts, for errors that have no place of their own.
pub fn resolve(
    files: &[ast::File],
    modules: &Modules,
    defines: &[(String, u64)],
    target: Target,
    start: Span,
) -> Result<Program, Vec<Diagnostic>> {
    let mut checker = Checker::new(target);
    checker.declare(files, defines, start);
    checker.resolve_common(files);
    let functions = checker.resolve_functions(files);
    let mut kernels = Vec::new();
    let mut parts = Parts { known: Vec::new(), names: IndexMap::new(), kernels: IndexVec::new() };
    if let Some(main) = files.last() {
        let launched = host::launched_names(main);
        for item in files.iter().flat_map(|file| &file.items) {
            let name = match &item.kind {
                ItemKind::Kernel(kernel) => &kernel.name.text,
                ItemKind::Import(import) => &import.name.text,
                _ => continue,
            };
            parts.known.push(name.clone());
            if !launched.contains(name) {
                continue;
            }
            let kernel = match &item.kind {
                ItemKind::Kernel(kernel) => Some(checker.resolve_kernel(kernel)),
                ItemKind::Import(import) => checker.resolve_part(import, modules),
                _ => None,
            };
            if let Some(kernel) = kernel {
                let part = parts.kernels.push(kernel);
                parts.names.entry(name.clone()).or_insert(part);
            }
        }
        for item in &main.items {
            match &item.kind {
                ItemKind::Kernel(kernel) if !launched.contains(&kernel.name.text) => {
                    kernels.push(checker.resolve_kernel(kernel));
                }
                ItemKind::Program(program) => kernels.push(checker.resolve_program(program, &parts)),
                ItemKind::Import(import) if !launched.contains(&import.name.text) => {
                    kernels.extend(checker.resolve_import(import, modules));
                }
                _ => {}
            }
        }
    }
    checker.check_calls(&functions);
    if checker.diagnostics.is_empty() {
        let (parts, n_common) = (parts.kernels, checker.common.storages.len());
        return Ok(Program {
            kernels,
            parts,
            n_common,
            functions,
            loops: checker.loops,
            assumed_target: target.assumed(),
        });
    }
    Err(checker.diagnostics)
}

/// What a function looks like from outside.
#[derive(Clone, Debug)]
struct Signature {
    name: String,
    span: Span,
    parameters: Vec<ParameterKind>,
    /// `None` for a function without result.
    result: Option<Width>,
}

/// Value or reference, with its width.
#[derive(Clone, Copy, Debug)]
enum ParameterKind {
    Value(Width),
    Reference(Width, ElementKind),
}

/// State shared by all bodies of a program.
pub(in crate::kernel) struct Checker {
    target: Target,
    diagnostics: Vec<Diagnostic>,
    /// `None` where the constant's definition is wrong (and reported).
    constants: SortedMap<String, Option<u64>>,
    /// Values that `-D` gives parameters.
    fixed: SortedMap<String, u64>,
    functions: IndexMap<String, FunctionId>,
    signatures: IndexVec<FunctionId, Signature>,
    loops: IndexVec<LoopId, Loop>,
    calls: calls::CallGraph,
    common: Common,
    /// Names of items that others had before, where they are declared.
    redeclared: SortedSet<Span>,
}

/// Memory that all kernels of a program have in common: the first objects and storages of each.
#[derive(Default)]
struct Common {
    scope: Scope,
    objects: IndexVec<ObjectId, Object>,
    storages: IndexVec<StorageId, Storage>,
    /// Virtual mappings of each storage so far, over all kernels: two of one storage never have the same number.
    n_aliases: SortedMap<StorageId, u32>,
}

impl Checker {
    fn new(target: Target) -> Self {
        Self {
            target,
            diagnostics: Vec::new(),
            constants: SortedMap::new(),
            fixed: SortedMap::new(),
            functions: IndexMap::new(),
            signatures: IndexVec::new(),
            loops: IndexVec::new(),
            calls: calls::CallGraph::default(),
            common: Common::default(),
            redeclared: SortedSet::new(),
        }
    }

    pub(in crate::kernel) fn report(&mut self, diagnostic: Diagnostic) -> Reported {
        self.diagnostics.push(diagnostic);
        Reported
    }

    /// Resolves what follows for the target of a PTX module; returns the one before.
    pub(in crate::kernel) fn import_target(&mut self, module: &Module, path: Span) -> Resolved<Target> {
        let outer = self.target;
        let mut target = Target { ptx: module.version, ..Target::default() };
        let name = module.target.first();
        if name.is_none_or(|name| !target.set_sm(&name.text)) {
            let span = name.map_or(path, |name| name.span);
            let message = "the module names no architecture that is known here";
            let error = Diagnostic::new("syntax::target", message, span, "no known `.target`");
            return Err(self.report(error.with_help("for example `.target sm_90`")));
        }
        if target.sm < 70 {
            let span = name.map_or(path, |name| name.span);
            let message = format!("PTX has a memory model from sm_70 on; the module is for sm_{}", target.sm);
            let error = Diagnostic::new("validate::target", message, span, "an older one");
            return Err(self.report(error.with_help("compile for `sm_70` or later").with_rule("MM-1")));
        }
        self.target = target;
        Ok(outer)
    }

    /// How many storages all kernels have in common.
    pub(in crate::kernel) fn n_common(&self) -> usize {
        self.common.storages.len()
    }

    /// Goes back to a target.
    pub(in crate::kernel) fn set_target(&mut self, target: Target) {
        self.target = target;
    }

    /// Enters all names of the files; a name may be declared once.
    fn declare(&mut self, files: &[ast::File], defines: &[(String, u64)], start: Span) {
        let mut declared: SortedMap<&str, Span> = SortedMap::new();
        let mut constants = SortedMap::new();
        let mut parameters: SortedSet<&str> = SortedSet::new();
        for item in files.iter().flat_map(|file| &file.items) {
            let name = match &item.kind {
                ItemKind::Constant { name, .. } => name,
                ItemKind::Function(function) => &function.name,
                ItemKind::Kernel(kernel) | ItemKind::Program(kernel) => &kernel.name,
                ItemKind::Object(object) => &object.name,
                ItemKind::View(view) => &view.name,
                ItemKind::Import(import) => &import.name,
                ItemKind::Use(_) | ItemKind::Error => continue,
            };
            let span = name.place.0;
            if self.check_reserved(name).is_err() {
                continue;
            }
            if let Some(&first) = declared.get(name.text.as_str()) {
                self.report(body::duplicate_name(&name.text, span, first));
                self.redeclared.insert(span);
                continue;
            }
            declared.insert(&name.text, span);
            match &item.kind {
                ItemKind::Constant { value, .. } => {
                    constants.insert(name.text.as_str(), value);
                }
                ItemKind::Function(function) => self.declare_function(function),
                ItemKind::Kernel(kernel) | ItemKind::Program(kernel) => {
                    parameters.extend(kernel.parameters.iter().map(|own| own.name.text.as_str()));
                }
                _ => {}
            }
        }
        let (of_parameters, defines): (Vec<_>, Vec<_>) = defines.iter().cloned().partition(|(name, _)| {
            parameters.contains(name.as_str()) && !constants.contains_key(name.as_str())
        });
        self.fixed = of_parameters.into_iter().collect();
        self.evaluate_constants(&constants, &defines, start);
    }

    fn declare_function(&mut self, function: &ast::Function) {
        let mut parameters = Vec::new();
        for parameter in &function.parameters {
            // A wrong type has been reported; 32 bits keep the rest going.
            parameters.push(if parameter.reference {
                let (width, element) = self.parse_element(&parameter.ty).unwrap_or((32, ElementKind::Data));
                ParameterKind::Reference(width, element)
            } else {
                ParameterKind::Value(self.parse_type(&parameter.ty, false).unwrap_or(32))
            });
        }
        let result = function.result.as_ref().map(|ty| self.parse_type(ty, false).unwrap_or(32));
        let name = function.name.text.clone();
        let id = self.signatures.push(Signature {
            name: name.clone(),
            span: function.name.place.0,
            parameters,
            result,
        });
        self.functions.insert(name, id);
    }

    fn resolve_functions(&mut self, files: &[ast::File]) -> IndexVec<FunctionId, Function> {
        let mut functions = IndexVec::new();
        for item in files.iter().flat_map(|file| &file.items) {
            let ItemKind::Function(function) = &item.kind else { continue };
            // A second function of a name was reported and has no id.
            let id: FunctionId = functions.next_id();
            let is_declared = self.functions.get(&function.name.text) == Some(&id)
                && self.signatures.get(id).is_some_and(|signature| signature.span == function.name.place.0);
            if is_declared {
                let resolved = self.resolve_function(id, function);
                functions.push(resolved);
            }
        }
        functions
    }

    /// The width of a memory type's name, and what its elements are.
    fn parse_element(&mut self, ty: &ast::Name) -> Resolved<(Width, ElementKind)> {
        match ty.text.as_str() {
            "mbarrier" => Ok((64, ElementKind::Mbarrier)),
            "tensormap" => Ok((64, ElementKind::Tensormap)),
            _ => Ok((self.parse_type(ty, true)?, ElementKind::Data)),
        }
    }

    /// The width of a type's name; `memory` allows the types that only memory has.
    fn parse_type(&mut self, ty: &ast::Name, memory: bool) -> Resolved<Width> {
        let width = match ty.text.as_str() {
            "u8" => 8,
            "u16" => 16,
            "u32" => 32,
            "u64" => 64,
            "b128" => 128,
            "pred" if !memory => 1,
            other => {
                let span = ty.place.0;
                let error = if other == "mbarrier" {
                    let message = "an mbarrier is memory, not a value";
                    Diagnostic::new("resolve::unknown-type", message, span, "not a type of values").with_help(
                        "declare `shared bar: mbarrier;`; a parameter takes its address: `bar: &mbarrier`",
                    )
                } else if other == "tensormap" {
                    let message = "a tensor map is memory, not a value";
                    Diagnostic::new("resolve::unknown-type", message, span, "not a type of values").with_help(
                        "declare `param map: tensormap of src[4];`; a parameter takes its address: `map: &tensormap`",
                    )
                } else if other == "pred" {
                    let message = "conditions are neither converted to nor stored";
                    Diagnostic::new("resolve::unknown-type", message, span, "not a type of numbers")
                        .with_help("compare, for instance with `!= 0`; in memory a flag is a `u32`")
                } else {
                    let message = format!("there is no type `{other}`");
                    Diagnostic::new("resolve::unknown-type", message, span, "unknown type")
                        .with_help("types are `u8`, `u16`, `u32`, `u64` and `b128`, and of memory `mbarrier` and `tensormap`")
                };
                return Err(self.report(error));
            }
        };
        Ok(width)
    }
}
