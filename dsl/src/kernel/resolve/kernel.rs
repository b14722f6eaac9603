//! Kernels: parameters, launches, objects, views, final conditions.

use super::super::ast::{self, Initial, ItemKind, StatementKind as Ast};
use super::super::program::{
    ElementKind, FinalCondition, FinalKind, InitialBytes, Kernel, Launch, Object, Parameter, SpaLaunch,
    Storage, Tensor, Width,
};
use super::body::{Binding, Body, Mutability};
use super::{Checker, Common, Reported, Resolved};
use crate::diagnostic::Diagnostic;
use crate::index::{Id as _, IndexVec};
use crate::sorted::SortedMap;
use crate::span::Span;
use crate::vocabulary::{Proxy, Replication, Space};

const MAX_OBJECT_BYTES: u64 = 1 << 20;
const MAX_KERNEL_BYTES: u64 = 4 << 20;

impl Checker {
    /// Resolves the memory that is declared outside of kernels.
    pub(super) fn resolve_common(&mut self, files: &[ast::File]) {
        let mut body = Body::new(self, None);
        let mut n_aliases = SortedMap::new();
        for item in files.iter().flat_map(|file| &file.items) {
            match &item.kind {
                ItemKind::Object(ast::Object { name, .. }) | ItemKind::View(ast::View { name, .. })
                    if body.checker.redeclared.contains(&name.place.0) => {}
                ItemKind::Object(object) => {
                    let span = item.place.0;
                    let is_bad = body.check_common(object).is_err()
                        || body.resolve_object(object, span, &mut n_aliases).is_err();
                    if is_bad {
                        body.bind(&object.name, Binding::Bad);
                    }
                }
                ItemKind::View(view) if body.resolve_view(view, item.place.0).is_err() => {
                    body.bind(&view.name, Binding::Bad);
                }
                _ => {}
            }
        }
        let Body { mut scopes, objects, storages, .. } = body;
        let scope = scopes.pop().unwrap_or_default();
        self.common = Common { scope, objects, storages, n_aliases };
    }

    /// Resolves a kernel.
    pub(super) fn resolve_kernel(&mut self, kernel: &ast::Kernel) -> Kernel {
        let mut n_aliases = self.common.n_aliases.clone();
        let mut body = Body::new(self, None);
        let mut parameters = Vec::new();
        for parameter in &kernel.parameters {
            if let Ok(parameter) = body.resolve_parameter(parameter) {
                parameters.push(parameter);
            }
        }
        let mut launches: Vec<Launch> = Vec::new();
        let mut finals = Vec::new();
        let mut clients = Vec::new();
        body.scopes.push(SortedMap::new());
        for statement in &kernel.body.statements {
            let span = statement.place.0;
            match &statement.kind {
                Ast::Launch { name, fields } => {
                    if let Ok(launch) = body.resolve_launch(name.as_ref(), fields, span, &launches) {
                        launches.push(launch);
                    }
                }
                Ast::Object(object) => {
                    if body.resolve_object(object, span, &mut n_aliases).is_err() {
                        body.bind(&object.name, Binding::Bad);
                    }
                }
                Ast::View(view) => {
                    if body.resolve_view(view, span).is_err() {
                        body.bind(&view.name, Binding::Bad);
                    }
                }
                Ast::Client { name, body: block } => {
                    clients.extend(body.resolve_client(name, block, span));
                }
                Ast::Final(block) => body.resolve_final(block, &mut finals),
                _ => body.resolve_statement(statement),
            }
        }
        let span = kernel.name.place.0;
        if launches.is_empty() {
            let spa = body.checker.target.spa.then(|| SpaLaunch::apart(1));
            launches.push(Launch { spa, ..Launch::single("default", span) });
        }
        let statements = std::mem::take(&mut body.out);
        let statements = body.divide_among_clients(statements, clients, &launches, span);
        let Body { objects, storages, registers, .. } = body;
        let n_common = self.common.storages.len();
        self.common.n_aliases.extend(n_aliases.into_iter().filter(|(storage, _)| storage.index() < n_common));
        Kernel {
            name: kernel.name.text.clone(),
            is_program: false,
            span,
            parameters,
            launches,
            objects,
            storages,
            registers,
            body: statements,
            tasks: IndexVec::new(),
            unrecorded: Vec::new(),
            flat: None,
            finals,
            condition: None,
        }
    }
}

impl Body<'_> {
    /// Shared memory, registers and tensor memory belong to CTAs and threads, and so into a kernel.
    fn check_common(&mut self, object: &ast::Object) -> Resolved<()> {
        if matches!(object.space, Space::Global | Space::Param) {
            return Ok(());
        }
        let name = &object.name;
        let what = match object.space {
            Space::Register => "registers",
            Space::Tensor => "tensor memory",
            _ => "shared memory",
        };
        let message = format!("`{}` is in {what}, which no two kernels have in common", name.text);
        let error = Diagnostic::new(
            "resolve::misplaced-statement",
            message,
            name.place.0,
            "declared outside of a kernel",
        );
        Err(self.report(error.with_help("declare it in the kernel that uses it")))
    }

    pub(in crate::kernel) fn resolve_parameter(
        &mut self,
        parameter: &ast::KernelParameter,
    ) -> Resolved<Parameter> {
        let span = parameter.name.place.0;
        let start = self.checker.evaluate(&parameter.range.start);
        let end = self.checker.evaluate(&parameter.range.end);
        let register = self.bind_register(&parameter.name, 32, Mutability::Parameter);
        let (min, end) = (start?, end?);
        let name = parameter.name.text.clone();
        let max = if parameter.range.inclusive { Some(end) } else { end.checked_sub(1) };
        let range = parameter.range.start.place.0.to(parameter.range.end.place.0);
        let fixed = self.checker.fixed.get(&name).copied();
        if let (Some(value), Some(max)) = (fixed, max.filter(|&max| max <= u64::from(u32::MAX))) {
            if (min..=max).contains(&value) {
                return Ok(Parameter { register, name, min: value, max: value, span });
            }
            let message = format!("`-D {name}={value}` is not in the range of `{name}`, {min}..={max}");
            let error = Diagnostic::new("validate::parameter-range", message, range, "its range");
            return Err(self.report(error.with_help("take a value of the range, or widen that")));
        }
        match max.filter(|&max| max >= min) {
            Some(max) if max <= u64::from(u32::MAX) => Ok(Parameter { register, name, min, max, span }),
            Some(_) => {
                let message = format!("`{name}` has 32 bits; its range does not fit");
                Err(self.report(Diagnostic::new("validate::parameter-range", message, range, "too large")))
            }
            None => {
                let message = format!("the range of `{name}` is empty");
                let error = Diagnostic::new("validate::parameter-range", message, range, "empty");
                Err(self.report(error.with_help("write `0..=3` for 0, 1, 2 and 3")))
            }
        }
    }

    /// Array dimensions, and the size of the whole array in bytes.
    fn resolve_dimensions(
        &mut self,
        name: &ast::Name,
        dimensions: &[ast::Expr],
        width: Width,
    ) -> Resolved<(Vec<u32>, u32)> {
        let mut sizes = Vec::new();
        let mut bytes = u64::from(width / 8);
        for dimension in dimensions {
            let size = self.checker.evaluate(dimension)?;
            if size == 0 {
                let message = format!("`{}` has no elements", name.text);
                let error = Diagnostic::new(
                    "validate::object-dimension",
                    message,
                    dimension.place.0,
                    "must be at least 1",
                );
                return Err(self.report(error));
            }
            bytes = bytes.saturating_mul(size);
            sizes.push(u32::try_from(size).unwrap_or(u32::MAX));
        }
        if bytes > MAX_OBJECT_BYTES {
            let message = format!("`{}` is larger than {MAX_OBJECT_BYTES} bytes", name.text);
            let error =
                Diagnostic::new("limit::object-size", message, name.place.0, format!("{bytes} bytes"));
            return Err(self.report(error.with_help("declare only the elements that the protocol touches")));
        }
        Ok((sizes, u32::try_from(bytes).unwrap_or(u32::MAX)))
    }

    fn resolve_object(
        &mut self,
        object: &ast::Object,
        span: Span,
        n_aliases: &mut SortedMap<super::super::program::StorageId, u32>,
    ) -> Resolved<()> {
        let space = object.space;
        self.check_spa_object(object)?;
        let (width, element) = self.checker.parse_element(&object.ty)?;
        if element == ElementKind::Mbarrier {
            self.check_mbarrier_object(object, space)?;
        }
        self.check_symmetric_object(object, element)?;
        let tensor = self.check_tensormap_object(object, element)?;
        if space == Space::Tensor {
            self.check_tensor_memory(object, element)?;
        }
        let (dimensions, bytes) = self.resolve_dimensions(&object.name, &object.dimensions, width)?;
        let name = object.name.text.clone();
        let (storage, offset_bytes, mapping) = match &object.alias {
            Some(of) => {
                let of = self.resolve_alias(of, (space, object.replication), bytes, &object.name)?;
                if object.proxy == Proxy::Generic {
                    let mapping = n_aliases.entry(of.storage).or_insert(0);
                    *mapping += 1;
                    (of.storage, of.offset_bytes, *mapping)
                } else {
                    (of.storage, of.offset_bytes, of.mapping)
                }
            }
            None => {
                let total: u64 = self.storages.iter().map(|storage| u64::from(storage.size_bytes)).sum();
                if total + u64::from(bytes) > MAX_KERNEL_BYTES {
                    let message =
                        format!("the objects of this kernel have more than {MAX_KERNEL_BYTES} bytes");
                    let error = Diagnostic::new(
                        "limit::object-size",
                        message,
                        object.name.place.0,
                        "too much with this one",
                    );
                    return Err(self.report(error));
                }
                let initial = match &object.initial {
                    // Initialised by the host; what it is, its declaration says.
                    None if space == Space::Param => InitialBytes::Known(vec![0; bytes as usize]),
                    None => InitialBytes::Unknown,
                    Some(initial) => InitialBytes::Known(self.resolve_initial(
                        initial,
                        &dimensions,
                        width,
                        bytes,
                        object.name.place.0,
                    )?),
                };
                let is_symmetric = object.replication == Replication::Symmetric;
                (self.storages.push(Storage { space, is_symmetric, size_bytes: bytes, initial }), 0, 0)
            }
        };
        let proxy = object.proxy;
        let resolved = Object {
            name,
            space,
            width,
            element,
            dimensions,
            storage,
            offset_bytes,
            mapping,
            replication: object.replication,
            proxy,
            tensor,
            span,
        };
        let id = self.objects.push(resolved);
        self.bind(&object.name, Binding::Object(id));
        Ok(())
    }

    /// An mbarrier is in shared memory and gets its value by `mbarrier.init`.
    fn check_mbarrier_object(&mut self, object: &ast::Object, space: Space) -> Resolved<()> {
        let name = &object.name;
        if space != Space::Shared {
            return Err(self.mbarrier_space(&name.text, space, object.ty.place.0));
        }
        if object.initial.is_some() {
            let message = format!("`{}` is an mbarrier and cannot be given a value", name.text);
            let error =
                Diagnostic::new("validate::mbarrier-initialiser", message, name.place.0, "initialised here");
            let help = format!("let one thread run `mbarrier.init.shared::cta.b64 [{}], 1;`", name.text);
            return Err(self.report(error.with_help(help).with_rule("MB-1")));
        }
        Ok(())
    }

    /// Tensor memory holds plain data of nobody knows which values, under one address.
    fn check_tensor_memory(&mut self, object: &ast::Object, element: ElementKind) -> Resolved<()> {
        let name = &object.name;
        let (message, label) = if object.initial.is_some() {
            (format!("`{}` is tensor memory, which is not initialised", name.text), "initialised here")
        } else if object.alias.is_some() {
            (format!("`{}` is tensor memory, which has no second address", name.text), "an alias")
        } else if element != ElementKind::Data {
            (format!("`{}` is tensor memory, which holds plain data", name.text), "declared here")
        } else {
            return Ok(());
        };
        let error = Diagnostic::new("validate::tensor-object", message, name.place.0, label);
        Err(self.report(
            error
                .with_help(format!("write `tmem {}: u32;`, and `view` for parts of it", name.text))
                .with_rule("AS-29"),
        ))
    }

    /// Only tensor maps are described, opaque, and kernel parameters.
    fn check_tensormap_object(
        &mut self,
        object: &ast::Object,
        element: ElementKind,
    ) -> Resolved<Option<Tensor>> {
        let name = &object.name;
        let illegal = |message: String, label: &str, help: String| {
            Diagnostic::new("validate::tensormap", message, name.place.0, label)
                .with_help(help)
                .with_rule("AS-35")
        };
        if element != ElementKind::Tensormap {
            let error = if object.tensor.is_some() {
                let message = format!("`{}` is no tensor map, so it describes nothing", name.text);
                illegal(
                    message,
                    "`of` here",
                    format!("write `{}: tensormap of …;`, or `view {}…`", name.text, name.text),
                )
            } else if object.space == Space::Param {
                let message =
                    format!("`{}` is a memory parameter, and only tensor maps can be one", name.text);
                illegal(
                    message,
                    "not a tensor map",
                    "declare it `global`, or as a parameter: `kernel k(N in 0..=3)`".to_owned(),
                )
            } else {
                return Ok(None);
            };
            return Err(self.report(error));
        }
        if object.initial.is_some() || object.alias.is_some() {
            let message = format!("`{}` is a tensor map: it has no initial value and is no alias", name.text);
            let help = format!("write `{}: tensormap of src[4];`", name.text);
            return Err(self.report(illegal(message, "declared here", help)));
        }
        self.resolve_tensor(object).map(Some)
    }

    fn mbarrier_space(&mut self, name: &str, space: Space, span: Span) -> Reported {
        let place = match space {
            Space::Global => "global memory",
            Space::Tensor => "tensor memory",
            Space::Register => "registers",
            Space::Param => "parameter memory",
            Space::Shared => "shared memory",
        };
        let message = format!("`{name}` is in {place}; an mbarrier lives in shared memory");
        let error = Diagnostic::new("validate::mbarrier-space", message, span, "not in shared memory");
        self.report(error.with_help(format!("write `shared {name}: mbarrier;`")).with_rule("UB-M15"))
    }

    fn find_object(&mut self, name: &ast::Name) -> Resolved<Object> {
        match self.look_up(&name.text, name.place.0)? {
            Binding::Object(object) => Ok(self.objects[object].clone()),
            _ => {
                let message = format!("`{}` is not an object", name.text);
                Err(self.report(Diagnostic::new(
                    "resolve::not-memory",
                    message,
                    name.place.0,
                    "not an object",
                )))
            }
        }
    }

    fn resolve_alias(
        &mut self,
        of: &ast::Name,
        (space, replication): (Space, Replication),
        bytes: u32,
        name: &ast::Name,
    ) -> Resolved<Object> {
        let object = self.find_object(of)?;
        self.reject_opaque(&object, of.place.0)?;
        self.check_replication(&object, replication, &name.text, of.place.0)?;
        let object_bytes = object.n_elements() * u64::from(object.width / 8);
        if object.space != space || object_bytes != u64::from(bytes) {
            let message = format!(
                "`{}` is an alias of `{}` and must have its state space and size: {}, {object_bytes} bytes",
                name.text, object.name, object.space
            );
            let error =
                Diagnostic::new("validate::alias", message, name.place.0, format!("{space}, {bytes} bytes"));
            return Err(self.report(error.with_label(object.span, "declared here")));
        }
        Ok(object)
    }

    /// The bytes of a tensor map have no other name.
    fn reject_opaque(&mut self, object: &Object, span: Span) -> Resolved<()> {
        if object.element != ElementKind::Tensormap {
            return Ok(());
        }
        let message = format!("`{}` is a tensor map; its bytes have no other name", object.name);
        let error = Diagnostic::new("validate::tensormap", message, span, "a tensor map")
            .with_label(object.span, "declared here")
            .with_help("declare a second tensor map");
        Err(self.report(error.with_rule("AS-35")))
    }

    fn resolve_view(&mut self, view: &ast::View, span: Span) -> Resolved<()> {
        let (width, element) = self.checker.parse_element(&view.ty)?;
        let (dimensions, bytes) = self.resolve_dimensions(&view.name, &view.dimensions, width)?;
        let object = self.find_object(&view.of)?;
        self.reject_opaque(&object, view.of.place.0)?;
        if element == ElementKind::Tensormap {
            let message = format!("`{}` cannot be a tensor map over other bytes", view.name.text);
            let error = Diagnostic::new("validate::tensormap", message, view.ty.place.0, "not in a view")
                .with_help(format!("write `global {}: tensormap of src[4];`", view.name.text));
            return Err(self.report(error.with_rule("AS-35")));
        }
        if element == ElementKind::Mbarrier && object.space != Space::Shared {
            return Err(self.mbarrier_space(&object.name, object.space, view.of.place.0));
        }
        let offset =
            view.offset.as_ref().map(|offset| self.checker.evaluate(offset)).transpose()?.unwrap_or(0);
        let object_bytes = object.n_elements() * u64::from(object.width / 8);
        let place = view.name.place.0;
        if offset.saturating_add(u64::from(bytes)) > object_bytes {
            let message = format!(
                "`{}` needs bytes {offset} to {} of `{}`, which has {object_bytes}",
                view.name.text,
                offset.saturating_add(u64::from(bytes)),
                object.name
            );
            let error = Diagnostic::new("validate::view", message, place, "reaches past the end");
            return Err(self.report(error.with_label(object.span, "declared here")));
        }
        // It fits into the object, so it fits 32 bits.
        let offset_bytes = object.offset_bytes + u32::try_from(offset).unwrap_or(0);
        let alignment = u32::from(width / 8);
        if offset_bytes % alignment != 0 {
            let message = format!(
                "elements of {alignment} bytes must be {alignment}-byte aligned; this is at byte {offset_bytes}"
            );
            let error = Diagnostic::new("validate::view", message, place, "not aligned");
            let error = if element == ElementKind::Mbarrier { error.with_rule("UB-M15") } else { error };
            return Err(
                self.report(error.with_help("choose an offset that is a multiple of the element size"))
            );
        }
        let id = self.objects.push(Object {
            name: view.name.text.clone(),
            space: object.space,
            width,
            element,
            dimensions,
            storage: object.storage,
            offset_bytes,
            mapping: object.mapping,
            replication: object.replication,
            proxy: object.proxy,
            tensor: None,
            span,
        });
        self.bind(&view.name, Binding::Object(id));
        Ok(())
    }

    /// The bytes of an initialiser: one value for all elements, or a (nested) list of all of them.
    fn resolve_initial(
        &mut self,
        initial: &Initial,
        dimensions: &[u32],
        width: Width,
        bytes: u32,
        object: Span,
    ) -> Resolved<Vec<u8>> {
        let element_bytes = usize::from(width / 8);
        match initial {
            Initial::Fill(value) => {
                let element = self.resolve_element(value, width)?;
                Ok(element[..element_bytes].repeat(bytes as usize / element_bytes))
            }
            Initial::List(parts) => {
                let (&n, inner) = dimensions.split_first().unwrap_or((&1, &[]));
                // A multi-dimensional array may also be given as one flat list.
                let is_flat = parts.iter().all(|part| matches!(part, Initial::Fill(_)));
                let expected = if is_flat { u64::from(bytes) / u64::from(width / 8) } else { u64::from(n) };
                if parts.len() as u64 != expected {
                    let message = format!("{expected} values are needed, {} given", parts.len());
                    let span = initial_span(initial).unwrap_or(object);
                    let error =
                        Diagnostic::new("validate::initialiser", message, span, "wrong number of values");
                    return Err(
                        self.report(error.with_help("give one value for all elements, or one for each"))
                    );
                }
                let part_bytes = if is_flat { u32::from(width / 8) } else { bytes / n };
                let mut all = Vec::with_capacity(bytes as usize);
                for part in parts {
                    all.extend(self.resolve_initial(
                        part,
                        if is_flat { &[] } else { inner },
                        width,
                        part_bytes,
                        object,
                    )?);
                }
                Ok(all)
            }
        }
    }

    fn resolve_element(&mut self, value: &ast::Expr, width: Width) -> Resolved<[u8; 16]> {
        let constant = self.checker.evaluate_wide(value)?;
        if width < 128 && constant >> width != 0 {
            let message = format!("{constant} does not fit {width} bits");
            let error = Diagnostic::new("resolve::literal-too-large", message, value.place.0, "too large");
            return Err(self.report(error));
        }
        Ok(constant.to_le_bytes())
    }

    pub(in crate::kernel) fn resolve_final(&mut self, block: &ast::Block, finals: &mut Vec<FinalCondition>) {
        self.in_final = true;
        for statement in &block.statements {
            let (kind, condition) = match &statement.kind {
                Ast::Assert(condition) => (FinalKind::Assert, condition),
                Ast::Reachable(condition) => (FinalKind::Reachable, condition),
                _ => continue,
            };
            let resolved: Result<_, Reported> = self.resolve_condition(condition);
            if let Ok(condition) = resolved {
                finals.push(FinalCondition { span: statement.place.0, kind, condition });
            }
        }
        self.in_final = false;
    }
}

fn initial_span(initial: &Initial) -> Option<Span> {
    match initial {
        Initial::Fill(value) => Some(value.place.0),
        Initial::List(parts) => parts.iter().find_map(initial_span),
    }
}
