//! Memory operands and reference arguments.

use super::super::ast::{Expr, ExprKind, Memory, Name};
use super::super::program::{
    Address, AddressBase, ElementKind, Expression, FlatSpace, ReferenceId, ResolvedOperand, Width,
};
use super::super::program::{FunctionId, RegisterId, StatementKind};
use super::asynchronous::described;
use super::body::{Binding, Body};
use super::calls::{Argument, CallSite};
use super::multimem::Purpose;
use super::{ParameterKind, Reported, Resolved};
use crate::diagnostic::Diagnostic;
use crate::index::Id as _;
use crate::span::Span;
use crate::vocabulary::Space;

/// Functions that are listed where one is not known.
const FUNCTIONS_MAX: usize = 24;

impl Body<'_> {
    /// A memory operand, and the width of the element it names.
    pub(in crate::kernel) fn resolve_address(&mut self, memory: &Memory) -> Resolved<(Address, Width)> {
        self.resolve_place(memory, false, Purpose::Access)
    }

    /// The same where a multimem address may be meant.
    pub(in crate::kernel) fn resolve_address_for(
        &mut self,
        memory: &Memory,
        purpose: Purpose,
    ) -> Resolved<(Address, Width)> {
        self.resolve_place(memory, false, purpose)
    }

    /// Several elements, or none in particular: trailing indices may be left out.
    pub(in crate::kernel) fn resolve_run(&mut self, memory: &Memory) -> Resolved<(Address, Width)> {
        self.resolve_place(memory, true, Purpose::Access)
    }

    /// As [`resolve_address`](Self::resolve_address); a run may leave out trailing indices.
    fn resolve_place(
        &mut self,
        memory: &Memory,
        is_run: bool,
        purpose: Purpose,
    ) -> Resolved<(Address, Width)> {
        let place = |body: &mut Self| body.resolve_inner_place(memory, is_run, purpose);
        self.operand(place, |(address, _)| ResolvedOperand::Memory(address.clone()))
    }

    fn resolve_inner_place(
        &mut self,
        memory: &Memory,
        is_run: bool,
        purpose: Purpose,
    ) -> Resolved<(Address, Width)> {
        if let [Expr { kind: ExprKind::Given(number), .. }] = memory.indices[..] {
            return Ok(self.given_address(number, memory.place.0));
        }
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
        self.check_purpose(base, purpose, memory)?;
        let given = memory.indices.len();
        if given > dimensions || (given < dimensions && !is_run) {
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
        let rank = memory.rank.as_deref().map(|rank| self.resolve_rank(memory, base, rank)).transpose()?;
        let device =
            memory.device.as_deref().map(|device| self.resolve_device(memory, base, device)).transpose()?;
        let (rank, device) = (rank.map(Box::new), device.map(Box::new));
        Ok((Address { span: memory.place.0, base, indices, rank, device }, width))
    }

    /// The CTA of a `mapa`.
    fn resolve_rank(&mut self, memory: &Memory, base: AddressBase, rank: &Expr) -> Resolved<Expression> {
        let span = memory.place.0;
        if let Some(error) = self.checker.target.check("mapa", (7, 8), 90, span) {
            return Err(self.report(error));
        }
        if self.in_final {
            let message = "a `final` condition looks at no single CTA's memory";
            let error = Diagnostic::new("validate::mapa", message, span, "of a peer CTA");
            return Err(self.report(error.with_help("copy it to global memory and test that")));
        }
        match base {
            AddressBase::Object(object) if self.objects[object].space == Space::Global => {
                let message = format!("`{}` is in global memory, which all CTAs share", memory.name.text);
                let error = Diagnostic::new("validate::mapa", message, span, "not shared memory")
                    .with_label(self.objects[object].span, "declared here")
                    .with_help(format!("write `[{}]`", memory.name.text));
                return Err(self.report(error.with_rule("AS-43")));
            }
            AddressBase::Object(_) | AddressBase::Flat { .. } => {}
            AddressBase::Reference(reference) => self.note_space(reference, Space::Shared, span),
        }
        self.resolve_exact(rank, 32)
    }

    /// The state space of a memory operand; `None` where the caller decides.
    pub(in crate::kernel) fn space_of(&self, address: &Address) -> Option<Space> {
        match address.base {
            AddressBase::Object(object) => Some(self.objects[object].space),
            AddressBase::Reference(_) if address.rank.is_some() => Some(Space::Shared),
            AddressBase::Reference(_) if address.device.is_some() => Some(Space::Global),
            AddressBase::Reference(_) => None,
            AddressBase::Flat { space: FlatSpace::Global, .. } => Some(Space::Global),
            AddressBase::Flat { space: FlatSpace::Shared | FlatSpace::Cluster, .. } => Some(Space::Shared),
            AddressBase::Flat { .. } => None,
        }
    }

    /// What the elements of a memory operand are.
    pub(in crate::kernel) fn element_of(&self, base: AddressBase) -> ElementKind {
        match base {
            AddressBase::Object(object) => self.objects[object].element,
            AddressBase::Reference(reference) => self.references[reference].element,
            AddressBase::Flat { element, .. } => element,
        }
    }

    /// A call; `wants_result` says that its value is used.
    pub(in crate::kernel) fn resolve_call(
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
                ParameterKind::Reference(width, element) => {
                    match self.resolve_reference(argument, (width, element), &function.text) {
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
        let arguments = references.iter().map(|address| Argument {
            base: address.base,
            space: self.space_of(address),
            is_peer: address.rank.is_some(),
            replication: self.replication_of(address.base),
            rank: self.tensor_of(address).map(|tensor| tensor.box_dimensions.len()),
            span: address.span,
        });
        let references = arguments.collect();
        self.checker.calls.sites.push(CallSite { owner: self.owner, callee, span, references });
    }

    fn unknown_function(&mut self, function: &Name) -> Reported {
        let name = &function.text;
        if name == "mapa" || name == "peer" {
            let message = format!("`{name}` gives an address, which is not a value");
            let whose = if name == "mapa" { "rank" } else { "gpu" };
            let error =
                Diagnostic::new("validate::address-value", message, function.place.0, "used as a value");
            return self.report(
                error
                    .with_help(format!(
                        "write it where the address is used: `[{name}(x, {whose})]`, or `f({name}(x, {whose}))`"
                    ))
                    .with_rule(if name == "mapa" { "AS-43" } else { "MM-7" }),
            );
        }
        let message = format!("there is no function `{name}`");
        let mut error =
            Diagnostic::new("resolve::unknown-function", message, function.place.0, "unknown function");
        let near = super::super::suggest::suggest(name, self.checker.functions.keys().map(String::as_str));
        error.help = near.map(|near| format!("did you mean `{near}`?")).or_else(|| {
            let known: Vec<String> =
                self.checker.functions.keys().take(FUNCTIONS_MAX).map(|name| format!("`{name}`")).collect();
            let more = if self.checker.functions.len() > FUNCTIONS_MAX { " and more" } else { "" };
            (!known.is_empty()).then(|| format!("the functions here are {}{more}", known.join(", ")))
        });
        self.report(error)
    }

    /// An expression that names memory, as arguments do: `x`, `a[i]`, `&a[i]`, `mapa(a[i], rank)`.
    pub(in crate::kernel) fn as_memory(expr: &Expr) -> Option<Memory> {
        match &expr.kind {
            ExprKind::Reference(memory) | ExprKind::Element(memory) => Some(memory.clone()),
            ExprKind::Name(name) => Some(Memory {
                place: expr.place,
                name: Name { text: name.clone(), place: expr.place },
                indices: Vec::new(),
                rank: None,
                device: None,
            }),
            ExprKind::Call { function, arguments } if matches!(function.text.as_str(), "mapa" | "peer") => {
                let [of, whose] = arguments.as_slice() else { return None };
                let of = Self::as_memory(of).filter(|of| of.rank.is_none() && of.device.is_none())?;
                let whose = Some(Box::new(whose.clone()));
                let (rank, device) = if function.text == "mapa" { (whose, None) } else { (None, whose) };
                Some(Memory { place: expr.place, rank, device, ..of })
            }
            _ => None,
        }
    }

    fn resolve_reference(
        &mut self,
        argument: &Expr,
        (width, element): (Width, ElementKind),
        function: &str,
    ) -> Resolved<Address> {
        let memory = match Self::as_memory(argument) {
            Some(memory) => memory,
            None if matches!(argument.kind, ExprKind::Error) => return Err(Reported),
            None => {
                let message = format!("`{function}` takes an address here");
                let span = argument.place.0;
                let error = Diagnostic::new("resolve::argument-kind", message, span, "a value");
                return Err(self.report(error.with_help(
                    "pass an object: `&x`, `&a[i]`, in a peer CTA `mapa(x, rank)`, or on another device \
                         `peer(x, gpu)`",
                )));
            }
        };
        let (address, found) = self.resolve_place(&memory, true, Purpose::Argument)?;
        let holds = self.element_of(address.base);
        if holds != element {
            let message = format!(
                "`{function}` takes the address of {}; `{}` holds {}",
                described(element),
                memory.name.text,
                described(holds)
            );
            let error = Diagnostic::new("resolve::argument-kind", message, address.span, described(holds));
            if element == ElementKind::Tensormap || holds == ElementKind::Tensormap {
                let help =
                    "a tensor map is declared as one and passed as one: `param map: tensormap of src[4];`";
                return Err(self.report(error.with_help(help).with_rule("AS-35")));
            }
            let ty =
                if element == ElementKind::Mbarrier { "mbarrier".to_owned() } else { format!("u{width}") };
            return Err(self.report(
                error.with_help(format!("declare a view: `view … : {ty} of {};`", memory.name.text)),
            ));
        }
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
        if self.space_of(&address) == Some(Space::Tensor) {
            let message =
                format!("`{}` is tensor memory, which is not passed to functions here", memory.name.text);
            let error =
                Diagnostic::new("unsupported::tensor-reference", message, address.span, "tensor memory");
            return Err(
                self.report(error.with_help("access it in the kernel, or declare no function for it"))
            );
        }
        if let AddressBase::Object(object) = address.base {
            let object = self.objects[object].clone();
            self.check_reference_proxy(&object, address.span)?;
        }
        Ok(address)
    }

    /// Remembers that a reference parameter is used as memory of one state space.
    pub(in crate::kernel) fn note_space(&mut self, reference: ReferenceId, space: Space, span: Span) {
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
