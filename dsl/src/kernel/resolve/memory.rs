//! Memory operands and reference arguments.

use super::super::ast::{Expr, ExprKind, Memory, Name};
use super::super::program::{Address, AddressBase, Expression, ReferenceId, Width};
use super::super::program::{FunctionId, RegisterId, StatementKind};
use super::body::{Binding, Body};
use super::calls::CallSite;
use super::{ParameterKind, Reported, Resolved};
use crate::diagnostic::Diagnostic;
use crate::index::Id as _;
use crate::span::Span;
use crate::vocabulary::Space;

impl Body<'_> {
    /// A memory operand, and the width of the element it names.
    pub(super) fn resolve_address(&mut self, memory: &Memory) -> Resolved<(Address, Width)> {
        self.resolve_place(memory, false)
    }

    /// As [`resolve_address`](Self::resolve_address); an argument may leave out trailing indices, which are then 0.
    fn resolve_place(&mut self, memory: &Memory, is_argument: bool) -> Resolved<(Address, Width)> {
        let name = &memory.name;
        let (base, width, dimensions) = match self.look_up(&name.text, name.place.0)? {
            Binding::Object(object) => {
                let declared = &self.objects[object];
                (AddressBase::Object(object), declared.width, declared.dimensions.len())
            }
            Binding::Reference(reference) => (
                AddressBase::Reference(reference),
                self.references[reference].width,
                memory.indices.len().min(1),
            ),
            _ => {
                let message = format!("`{}` is a value, not memory", name.text);
                let error = Diagnostic::new("resolve::not-memory", message, name.place.0, "not an object");
                return Err(self.report(error.with_help("declare it with `global` or `shared`")));
            }
        };
        let given = memory.indices.len();
        if given > dimensions || (given < dimensions && !is_argument) {
            let message =
                format!("`{}` has {}; {given} given", name.text, count(dimensions, "index", "indices"));
            let help = format!("write `{}{}`", name.text, "[…]".repeat(dimensions));
            let error = Diagnostic::new(
                "resolve::dimension-count",
                message,
                memory.place.0,
                "wrong number of indices",
            );
            return Err(self.report(error.with_help(help)));
        }
        let mut indices: Vec<Expression> = Vec::new();
        for index in &memory.indices {
            indices.push(self.resolve_exact(index, 32)?);
        }
        indices.resize_with(dimensions, || Self::constant(memory.place.0, 32, 0));
        Ok((Address { span: memory.place.0, base, indices }, width))
    }

    /// The state space of a memory operand; `None` where the caller decides.
    pub(super) fn space_of(&self, base: AddressBase) -> Option<Space> {
        match base {
            AddressBase::Object(object) => Some(self.objects[object].space),
            AddressBase::Reference(_) => None,
        }
    }

    /// A call; `wants_result` says that its value is used.
    pub(super) fn resolve_call(
        &mut self,
        function: &Name,
        arguments: &[Expr],
        span: Span,
        wants_result: bool,
    ) -> Resolved<Option<RegisterId>> {
        let Some(&callee) = self.checker.functions.get(&function.text) else {
            return Err(self.unknown_function(function));
        };
        let signature = self.checker.signatures[callee].clone();
        if self.in_final {
            let message = "a `final` condition cannot call functions";
            return Err(self.report(Diagnostic::new(
                "resolve::misplaced-statement",
                message,
                span,
                "called here",
            )));
        }
        if arguments.len() != signature.parameters.len() {
            let message = format!(
                "`{}` takes {}; {} given",
                function.text,
                count(signature.parameters.len(), "argument", "arguments"),
                arguments.len()
            );
            let error = Diagnostic::new("resolve::argument-count", message, span, "called here");
            return Err(self.report(error.with_label(signature.span, "declared here")));
        }
        let (mut values, mut references) = (Vec::new(), Vec::new());
        let mut failed = false;
        for (argument, &kind) in arguments.iter().zip(&signature.parameters) {
            match kind {
                ParameterKind::Value(width) => match self.resolve_exact(argument, width) {
                    Ok(value) => values.push(value),
                    Err(Reported) => failed = true,
                },
                ParameterKind::Reference(width) => {
                    match self.resolve_reference(argument, width, &function.text) {
                        Ok(address) => references.push(address),
                        Err(Reported) => failed = true,
                    }
                }
            }
        }
        if failed {
            return Err(Reported);
        }
        let result = match signature.result {
            None if wants_result => {
                let message = format!("`{}` returns nothing", function.text);
                let error = Diagnostic::new("resolve::no-result", message, span, "used as a value");
                return Err(self.report(error.with_label(signature.span, "declared here")));
            }
            Some(width) if wants_result => Some(self.generate(width)),
            _ => None,
        };
        self.note_call(callee, &references, span);
        self.push(span, StatementKind::Call { function: callee, values, references, result });
        Ok(result)
    }

    fn note_call(&mut self, callee: FunctionId, references: &[Address], span: Span) {
        let bases =
            references.iter().map(|address| (address.base, self.space_of(address.base), address.span));
        let references = bases.collect();
        self.checker.calls.sites.push(CallSite { owner: self.owner, callee, span, references });
    }

    fn unknown_function(&mut self, function: &Name) -> Reported {
        let name = &function.text;
        let message = format!("there is no function `{name}`");
        let mut error =
            Diagnostic::new("resolve::unknown-function", message, function.place.0, "unknown function");
        let near = super::super::suggest::suggest(name, self.checker.functions.keys().map(String::as_str));
        error.help = near.map(|near| format!("did you mean `{near}`?"));
        self.report(error)
    }

    fn resolve_reference(&mut self, argument: &Expr, width: Width, function: &str) -> Resolved<Address> {
        let whole;
        let memory = match &argument.kind {
            ExprKind::Reference(memory) | ExprKind::Element(memory) => memory,
            ExprKind::Name(name) => {
                whole = Memory {
                    place: argument.place,
                    name: Name { text: name.clone(), place: argument.place },
                    indices: Vec::new(),
                };
                &whole
            }
            ExprKind::Error => return Err(Reported),
            _ => {
                let message = format!("`{function}` takes an address here");
                let span = argument.place.0;
                let error = Diagnostic::new("resolve::argument-kind", message, span, "a value");
                return Err(self.report(error.with_help("pass an object: `&x` or `&a[i]`")));
            }
        };
        let (address, found) = self.resolve_place(memory, true)?;
        if found != width {
            let name = &memory.name.text;
            let message =
                format!("`{function}` takes the address of {width} bits; `{name}` has elements of {found}");
            let error =
                Diagnostic::new("resolve::argument-kind", message, address.span, format!("{found} bits"));
            return Err(
                self.report(error.with_help(format!("declare a view: `view … : u{width} of {name};`")))
            );
        }
        Ok(address)
    }

    /// Remembers that a reference parameter is used as memory of one state space.
    pub(super) fn note_space(&mut self, reference: ReferenceId, space: Space, span: Span) {
        if let Some(function) = self.owner {
            self.checker.calls.spaces.insert((function.index(), reference.index()), (space, span));
        }
    }
}

fn count(n: usize, one: &str, many: &str) -> String {
    match n {
        0 => format!("no {many}"),
        1 => format!("1 {one}"),
        _ => format!("{n} {many}"),
    }
}
