//! The names of one body (a function's or a kernel's): scopes, registers, objects.

use super::super::ast::{self, Name};
use super::super::import::Given;
use super::super::program::{
    Axis, Coordinate, Expression, ExpressionKind, Function, FunctionId, Loop, LoopId, Object, ObjectId,
    Reference, ReferenceId, Register, RegisterId, ResolvedOperand, Statement, StatementKind, Storage,
    StorageId, VectorRegister, Width,
};
use super::super::suggest::suggest;
use super::super::target::Target;
use super::{Checker, ParameterKind, Reported, Resolved};
use crate::diagnostic::Diagnostic;
use crate::index::IndexVec;
use crate::sorted::SortedMap;
use crate::span::Span;

/// What a name stands for.
#[derive(Clone, Copy, Debug)]
pub(in crate::kernel) enum Binding {
    /// A constant.
    Constant(u64),
    /// A register.
    Register(RegisterId, Mutability),
    /// An object.
    Object(ObjectId),
    /// A reference parameter.
    Reference(ReferenceId),
    /// A special register.
    Coordinate(Coordinate),
    /// Its declaration is wrong, and that was reported.
    Bad,
}

/// How a register came about, which says whether it may be assigned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::kernel) enum Mutability {
    Let,
    Var,
    LoopVariable,
    Parameter,
}

/// What the names of a scope stand for, and where they are declared.
pub(in crate::kernel) type Scope = SortedMap<String, (Binding, Span)>;

/// One body being resolved.
pub(in crate::kernel) struct Body<'c> {
    pub(in crate::kernel) checker: &'c mut Checker,
    /// The function this is the body of.
    pub(in crate::kernel) owner: Option<FunctionId>,
    pub(in crate::kernel) scopes: Vec<Scope>,
    pub(in crate::kernel) registers: IndexVec<RegisterId, Register>,
    pub(in crate::kernel) objects: IndexVec<ObjectId, Object>,
    pub(in crate::kernel) storages: IndexVec<StorageId, Storage>,
    pub(in crate::kernel) references: IndexVec<ReferenceId, Reference>,
    /// Statements resolved so far, in the innermost list.
    pub(in crate::kernel) out: Vec<Statement>,
    pub(in crate::kernel) loop_depth: u32,
    pub(in crate::kernel) in_final: bool,
    /// Whether the host runs it.
    pub(in crate::kernel) in_program: bool,
    /// Registers that keep a constant, by what it is as a number with sign.
    pub(in crate::kernel) signed_constants: SortedMap<RegisterId, i128>,
    /// What the instruction that is being resolved has taken for its operands so far; `None` inside one of them.
    pub(in crate::kernel) taken: Option<Vec<ResolvedOperand>>,
    /// What the operands of the instruction of imported PTX that is being resolved are.
    pub(in crate::kernel) given: Given,
    n_generated: u32,
}

impl<'c> Body<'c> {
    pub(in crate::kernel) fn new(checker: &'c mut Checker, owner: Option<FunctionId>) -> Self {
        let common = &checker.common;
        let (objects, storages) = (common.objects.clone(), common.storages.clone());
        Self {
            scopes: vec![common.scope.clone(), Scope::new()],
            checker,
            owner,
            registers: IndexVec::new(),
            objects,
            storages,
            references: IndexVec::new(),
            out: Vec::new(),
            loop_depth: 0,
            in_final: false,
            in_program: false,
            signed_constants: SortedMap::new(),
            taken: None,
            given: Given::default(),
            n_generated: 0,
        }
    }

    /// Resolves an operand, and remembers it with the instruction that it is one of.
    pub(in crate::kernel) fn operand<T>(
        &mut self,
        resolve: impl FnOnce(&mut Self) -> Resolved<T>,
        operand: impl FnOnce(&T) -> ResolvedOperand,
    ) -> Resolved<T> {
        let outer = self.taken.take();
        let resolved = resolve(self);
        self.taken = outer;
        if let (Some(taken), Ok(resolved)) = (&mut self.taken, &resolved) {
            taken.push(operand(resolved));
        }
        resolved
    }

    /// The static loops of the program.
    pub(in crate::kernel) fn loops(&mut self) -> &mut IndexVec<LoopId, Loop> {
        &mut self.checker.loops
    }

    /// How many errors were reported so far.
    pub(in crate::kernel) fn n_errors(&self) -> usize {
        self.checker.diagnostics.len()
    }

    /// Takes back the errors that were reported since.
    pub(in crate::kernel) fn errors_since(&mut self, n_before: usize) -> Vec<Diagnostic> {
        self.checker.diagnostics.split_off(n_before.min(self.checker.diagnostics.len()))
    }

    /// What the kernel is compiled for.
    pub(in crate::kernel) fn target(&self) -> Target {
        self.checker.target
    }

    pub(in crate::kernel) fn report(&mut self, diagnostic: Diagnostic) -> Reported {
        self.checker.report(diagnostic)
    }

    /// Resolves into a list of its own.
    pub(in crate::kernel) fn collect<T>(
        &mut self,
        resolve: impl FnOnce(&mut Self) -> T,
    ) -> (Vec<Statement>, T) {
        let outer = std::mem::take(&mut self.out);
        let value = resolve(self);
        (std::mem::replace(&mut self.out, outer), value)
    }

    /// Resolves inside a scope of its own.
    pub(in crate::kernel) fn scoped<T>(&mut self, resolve: impl FnOnce(&mut Self) -> T) -> T {
        self.scopes.push(SortedMap::new());
        let value = resolve(self);
        self.scopes.pop();
        value
    }

    pub(in crate::kernel) fn push(&mut self, span: Span, kind: StatementKind) {
        self.out.push(Statement { span, kind });
    }

    /// A register without a name of its own.
    pub(in crate::kernel) fn generate(&mut self, width: Width) -> RegisterId {
        let name = format!("%{}", self.n_generated);
        self.n_generated += 1;
        self.registers.push(Register { name, width })
    }

    /// Declares `name` in the innermost scope.
    pub(in crate::kernel) fn bind(&mut self, name: &Name, binding: Binding) {
        let span = name.place.0;
        if self.checker.check_reserved(name).is_err() {
            return;
        }
        if let Some(&(_, first)) = self.scopes.last().and_then(|scope| scope.get(&name.text)) {
            self.report(duplicate_name(&name.text, span, first));
            return;
        }
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name.text.clone(), (binding, span));
        }
    }

    /// Declares `name` as a register.
    pub(in crate::kernel) fn bind_register(
        &mut self,
        name: &Name,
        width: Width,
        mutability: Mutability,
    ) -> RegisterId {
        let register = self.registers.push(Register { name: name.text.clone(), width });
        self.bind(name, Binding::Register(register, mutability));
        register
    }

    pub(in crate::kernel) fn find(&self, name: &str) -> Option<(Binding, Option<Span>)> {
        if let Some(&(binding, span)) = self.scopes.iter().rev().find_map(|scope| scope.get(name)) {
            return Some((binding, Some(span)));
        }
        match self.checker.constants.get(name) {
            Some(Some(value)) => return Some((Binding::Constant(*value), None)),
            Some(None) => return Some((Binding::Bad, None)),
            None => {}
        }
        coordinate(name).map(|coordinate| (Binding::Coordinate(coordinate), None))
    }

    /// What `name` stands for; `Bad` names count as reported.
    pub(in crate::kernel) fn look_up(&mut self, name: &str, span: Span) -> Resolved<Binding> {
        match self.find(name) {
            Some((Binding::Bad, _)) => Err(Reported),
            Some((binding, _)) => Ok(binding),
            None => Err(self.unknown_name(name, span)),
        }
    }

    fn unknown_name(&mut self, name: &str, span: Span) -> Reported {
        let message = format!("`{name}` is not declared");
        let mut error = Diagnostic::new("resolve::unknown-name", message, span, "unknown name");
        let known = self.scopes.iter().rev().flat_map(SortedMap::keys).map(String::as_str);
        let constants = self.checker.constants.keys().map(String::as_str);
        let near = suggest(name, known.chain(constants).chain(COORDINATES.iter().map(|&(text, _)| text)));
        if self.checker.functions.contains_key(name) {
            error = error.with_help(format!("`{name}` is a function; call it: `{name}(…)`"));
        } else if let Some(near) = near {
            error = error.with_help(format!("did you mean `{near}`?"));
        }
        self.report(error)
    }
}

/// The special registers by name.
const COORDINATES: &[(&str, Coordinate)] = &[
    ("tid", Coordinate::Tid),
    ("ntid", Coordinate::Ntid),
    ("tid.x", Coordinate::Along(VectorRegister::Tid, Axis::X)),
    ("tid.y", Coordinate::Along(VectorRegister::Tid, Axis::Y)),
    ("tid.z", Coordinate::Along(VectorRegister::Tid, Axis::Z)),
    ("ntid.x", Coordinate::Along(VectorRegister::Ntid, Axis::X)),
    ("ntid.y", Coordinate::Along(VectorRegister::Ntid, Axis::Y)),
    ("ntid.z", Coordinate::Along(VectorRegister::Ntid, Axis::Z)),
    ("ctaid.x", Coordinate::Along(VectorRegister::Ctaid, Axis::X)),
    ("ctaid.y", Coordinate::Along(VectorRegister::Ctaid, Axis::Y)),
    ("ctaid.z", Coordinate::Along(VectorRegister::Ctaid, Axis::Z)),
    ("nctaid.x", Coordinate::Along(VectorRegister::Nctaid, Axis::X)),
    ("nctaid.y", Coordinate::Along(VectorRegister::Nctaid, Axis::Y)),
    ("nctaid.z", Coordinate::Along(VectorRegister::Nctaid, Axis::Z)),
    ("cluster_ctaid.x", Coordinate::Along(VectorRegister::ClusterCtaid, Axis::X)),
    ("cluster_ctaid.y", Coordinate::Along(VectorRegister::ClusterCtaid, Axis::Y)),
    ("cluster_ctaid.z", Coordinate::Along(VectorRegister::ClusterCtaid, Axis::Z)),
    ("cluster_nctaid.x", Coordinate::Along(VectorRegister::ClusterNctaid, Axis::X)),
    ("cluster_nctaid.y", Coordinate::Along(VectorRegister::ClusterNctaid, Axis::Y)),
    ("cluster_nctaid.z", Coordinate::Along(VectorRegister::ClusterNctaid, Axis::Z)),
    ("clusterid.x", Coordinate::Along(VectorRegister::Clusterid, Axis::X)),
    ("clusterid.y", Coordinate::Along(VectorRegister::Clusterid, Axis::Y)),
    ("clusterid.z", Coordinate::Along(VectorRegister::Clusterid, Axis::Z)),
    ("nclusterid.x", Coordinate::Along(VectorRegister::Nclusterid, Axis::X)),
    ("nclusterid.y", Coordinate::Along(VectorRegister::Nclusterid, Axis::Y)),
    ("nclusterid.z", Coordinate::Along(VectorRegister::Nclusterid, Axis::Z)),
    ("laneid", Coordinate::Laneid),
    ("warpid", Coordinate::Warpid),
    ("nwarpid", Coordinate::Nwarpid),
    ("ctaid", Coordinate::Ctaid),
    ("nctaid", Coordinate::Nctaid),
    ("clusterid", Coordinate::Clusterid),
    ("nclusterid", Coordinate::Nclusterid),
    ("cluster_ctarank", Coordinate::ClusterCtarank),
    ("cluster_nctarank", Coordinate::ClusterNctarank),
    ("gpuid", Coordinate::Gpuid),
    ("ngpuid", Coordinate::Ngpuid),
];

fn coordinate(name: &str) -> Option<Coordinate> {
    COORDINATES.iter().find(|(text, _)| *text == name).map(|&(_, coordinate)| coordinate)
}

/// The error for a second declaration of a name.
pub(in crate::kernel) fn duplicate_name(name: &str, span: Span, first: Span) -> Diagnostic {
    Diagnostic::new("resolve::duplicate-name", format!("`{name}` is declared twice"), span, "declared again")
        .with_label(first, "declared first")
        .with_help("rename one of them")
}

impl Checker {
    /// Special registers and `mapa` keep their names.
    pub(in crate::kernel) fn check_reserved(&mut self, name: &Name) -> Resolved<()> {
        let what = match name.text.as_str() {
            "mapa" => "an instruction of PTX",
            other if coordinate(other).is_some() => "a special register",
            _ => return Ok(()),
        };
        let message = format!("`{}` is {what} and cannot be declared", name.text);
        let error = Diagnostic::new("resolve::reserved-name", message, name.place.0, "reserved");
        Err(self.report(error.with_help("choose another name")))
    }

    /// Resolves a function's body.
    pub(in crate::kernel) fn resolve_function(
        &mut self,
        id: FunctionId,
        function: &ast::Function,
    ) -> Function {
        let signature = self.signatures[id].clone();
        let mut body = Body::new(self, Some(id));
        let mut values = Vec::new();
        for (parameter, &kind) in function.parameters.iter().zip(&signature.parameters) {
            match kind {
                ParameterKind::Value(width) => {
                    values.push(body.bind_register(&parameter.name, width, Mutability::Parameter));
                }
                ParameterKind::Reference(width, element) => {
                    let name = parameter.name.text.clone();
                    let reference = body.references.push(Reference { name, width, element });
                    body.bind(&parameter.name, Binding::Reference(reference));
                }
            }
        }
        let result = body.scoped(|body| body.resolve_function_block(&function.body, &signature));
        Function {
            name: signature.name,
            values,
            references: body.references,
            registers: body.registers,
            body: body.out,
            result,
            span: signature.span,
        }
    }
}

impl Body<'_> {
    fn resolve_function_block(
        &mut self,
        block: &ast::Block,
        signature: &super::Signature,
    ) -> Option<Expression> {
        let (last, statements) = match block.statements.split_last() {
            Some((last, rest)) if matches!(last.kind, ast::StatementKind::Return(_)) => (Some(last), rest),
            _ => (None, block.statements.as_slice()),
        };
        for statement in statements {
            self.resolve_statement(statement);
        }
        let returned = match last.map(|last| (&last.kind, last.place.0)) {
            Some((ast::StatementKind::Return(Some(value)), _)) => Some(value),
            _ => None,
        };
        match (returned, signature.result) {
            (None, None) => None,
            (Some(value), Some(width)) => self.resolve_exact(value, width).ok(),
            (Some(value), None) => {
                let message = format!("`{}` has no result type, so it cannot return a value", signature.name);
                let error = Diagnostic::new("resolve::return", message, value.place.0, "returned here")
                    .with_label(signature.span, "declared here")
                    .with_help(format!("declare a result: `fn {}(…) -> u32`", signature.name));
                self.report(error);
                None
            }
            (None, Some(_)) => {
                let message = format!("`{}` must end with `return …;`", signature.name);
                self.report(Diagnostic::new("resolve::return", message, signature.span, "returns a value"));
                None
            }
        }
    }

    /// A constant of the given width.
    pub(in crate::kernel) fn constant(span: Span, width: Width, value: u128) -> Expression {
        Expression { span, width, kind: ExpressionKind::Constant(value) }
    }
}
