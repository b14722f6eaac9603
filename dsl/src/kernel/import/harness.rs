//! What a kernel file says of an imported kernel: how it is launched, what it is given, where its memory is.

use super::lower::Lower;
use super::memory::{Memory, TENSORMAP_BYTES};
use super::resized;
use crate::diagnostic::Diagnostic;
use crate::index::{Id as _, IndexVec};
use crate::kernel::ast::{self, SettingValue, StatementKind as Ast};
use crate::kernel::program::{
    ElementKind, Expression, ExpressionKind, FlatMemory, Kernel, Launch, Object, Parameter, Required,
};
use crate::kernel::resolve::body::Binding;
use crate::kernel::resolve::{Body, Checker, Modules, Reported, Resolved};
use crate::ptx::Module;
use crate::ptx::module::{Function, Variable, demangled};
use crate::sorted::SortedMap;
use crate::span::Span;
use crate::vocabulary::{Proxy, Space};

/// How a kernel is given a tensor map.
pub(super) const MAP_HELP: &str = "a tensor map is declared outside of the `import`, one by one: `global a[64][256]: u16;` and \
     `param map: tensormap of a[64, 64];`, and given as `param 0 = &map;`";

/// How a kernel is given a structure.
const FIELD_HELP: &str = "say what each of its fields is, by where it starts in bytes: `param 0[0] = &a;`, `param 0[8] = 16;`; \
     `fencepost new --from FILE.ptx` lists those that are read";

/// What an `import` says.
pub(super) struct Harness {
    /// What all launches have to be like.
    pub required: Required,
    /// What parameters hold, by number and place in bytes.
    pub parameters: SortedMap<(usize, u64), Given>,
    /// Values of environment registers.
    pub environment: Vec<(u32, u32)>,
    /// Size of dynamic shared memory.
    pub dynamic_bytes: Option<u64>,
}

/// What a parameter, or a field of one, is.
#[derive(Clone)]
pub(super) struct Given {
    /// Its value, of 64 bits.
    pub value: Expression,
    /// Whether it is an address.
    pub is_address: bool,
    /// Whether it is a tensor map, whose address the value is.
    pub is_map: bool,
}

impl Given {
    /// Its value, if it is a number.
    pub(super) fn address(&self) -> Option<u128> {
        match self.value.kind {
            ExpressionKind::Constant(value) => Some(value),
            _ => None,
        }
    }
}

impl Checker {
    /// Resolves an `import`; `None` after an error.
    pub(in crate::kernel) fn resolve_import(
        &mut self,
        import: &ast::Import,
        modules: &Modules,
    ) -> Option<Kernel> {
        if import.word.text != "entry" {
            let message = format!("expected `entry`, found `{}`", import.word.text);
            let error = Diagnostic::new(
                "syntax::unexpected-token",
                message,
                import.word.place.0,
                "not expected here",
            );
            self.report(error.with_help("write `import \"k.ptx\" entry NAME as k { … }`"));
            return None;
        }
        let module = modules.get(&import.path.place.0)?;
        let entry = self.find_entry(import, module)?;
        let outer = self.import_target(module, import.path.place.0).ok()?;
        let kernel = self.import_kernel(import, module, entry);
        self.set_target(outer);
        kernel.ok()
    }

    /// An `import` that programs launch; `None` after an error.
    ///
    /// What a module declares in global memory belongs to all its kernels, and each of these has its own: so the file has to
    /// declare it.
    pub(in crate::kernel) fn resolve_part(
        &mut self,
        import: &ast::Import,
        modules: &Modules,
    ) -> Option<Kernel> {
        let kernel = self.resolve_import(import, modules)?;
        let module = modules.get(&import.path.place.0)?;
        let n_common = self.n_common();
        let own = kernel.objects.iter().filter(|object| object.storage.index() >= n_common);
        // A report may call it by another name than the module does.
        let variable_of = |object: &Object| {
            let mut all =
                module.variables.iter().filter(|own| matches!(own.space.as_str(), "global" | "const"));
            all.find(|variable| variable.name.span == object.span)
        };
        let mut own = own
            .filter(|object| object.space == Space::Global)
            .filter_map(|object| Some((variable_of(object)?, &kernel.storages[object.storage])));
        if let Some((variable, storage)) = own.next() {
            let name = &variable.name;
            let message = format!("`{}` belongs to all kernels of its module", name.text);
            let error = Diagnostic::new("unsupported::ptx-declaration", message, name.span, "declared here")
                .with_label(import.name.place.0, "launched by a program");
            self.report(error.with_help(format!(
                "declare `global {}[{}]: u8 = 0;` outside of the `import`, with the type that it has: it takes its place in \
                 all kernels",
                name.text, storage.size_bytes
            )));
            return None;
        }
        Some(kernel)
    }

    fn find_entry<'m>(&mut self, import: &ast::Import, module: &'m Module) -> Option<&'m Function> {
        let name = &import.entry;
        if let Some(entry) = module.entry(&name.text) {
            return Some(entry);
        }
        let entries = module.functions.iter().filter(|function| function.is_entry && function.has_body);
        let all: Vec<&str> = entries.map(|entry| entry.name.text.as_str()).collect();
        let n_of = |wanted: &str| all.iter().filter(|full| demangled(full) == Some(wanted)).count();
        // What is the name of one only is enough; of several, each has to be written as the module has it.
        let names: Vec<String> = all
            .iter()
            .map(|full| match demangled(full) {
                Some(short) if n_of(short) == 1 => format!("`{short}`"),
                _ => format!("`{full}`"),
            })
            .collect();
        let (message, label) = match n_of(&name.text) {
            0 => (format!("`{}` has no entry `{}`", import.path.text, name.text), "no such kernel"),
            n => (
                format!("`{}` has {n} entries `{}`, of different types", import.path.text, name.text),
                "which of them?",
            ),
        };
        let error = Diagnostic::new("resolve::unknown-entry", message, name.place.0, label);
        self.report(if names.is_empty() {
            error.with_help("it has no kernel at all: a kernel is an `.entry` with a body")
        } else {
            error.with_help(format!("its kernels are {}", names.join(", ")))
        });
        None
    }

    fn import_kernel(&mut self, import: &ast::Import, module: &Module, entry: &Function) -> Resolved<Kernel> {
        let span = import.name.place.0;
        let mut body = Body::new(self, None);
        let mut memory = Memory::default();
        memory.place_common(&body);
        let mut given = Settings::default();
        let mut launches: Vec<Launch> = Vec::new();
        let mut failed = false;
        for statement in &import.body.statements {
            let place = statement.place.0;
            failed |= match &statement.kind {
                Ast::Launch { name, fields } => {
                    let launch = body.resolve_launch(name.as_ref(), fields, place, &launches);
                    launch.map(|launch| launches.push(launch)).is_err()
                }
                Ast::Setting(setting) => body.setting(setting, entry, &mut memory, &mut given).is_err(),
                _ => false,
            };
        }
        if failed {
            return Err(Reported);
        }
        let required = body.check_launches(&launches, entry, span)?;
        let Settings { parameters, values, environment, dynamic } = given;
        let harness = Harness {
            required,
            parameters: values,
            environment,
            dynamic_bytes: dynamic.map(|(bytes, _)| bytes),
        };
        let variables = body.place_variables(module, entry, &harness, &mut memory)?;
        for statement in &import.body.statements {
            if matches!(statement.kind, Ast::Assume(_)) {
                body.resolve_statement(statement);
            }
        }
        let mut statements = std::mem::take(&mut body.out);
        let mut lower = Lower::new(&mut body, module, entry, &harness, variables);
        statements.extend(lower.run());
        let (registers, taken) = (lower.named(), std::mem::take(&mut lower.taken));
        for number in taken {
            body.place_parameter((number, &entry.parameters[number]), &harness, &mut memory);
        }
        memory.add_views(&mut body);
        let mut finals = Vec::new();
        for statement in &import.body.statements {
            if let Ast::Final(block) = &statement.kind {
                body.resolve_final(block, &mut finals);
            }
        }
        let Memory { objects, private, .. } = memory;
        let flat = Some(Box::new(FlatMemory { objects, private, registers, required: harness.required }));
        let Body { objects, storages, registers, .. } = body;
        Ok(Kernel {
            name: import.name.text.clone(),
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
            finals,
            condition: None,
            flat,
        })
    }
}

/// What the settings say, while they are read.
#[derive(Default)]
struct Settings {
    parameters: Vec<Parameter>,
    values: SortedMap<(usize, u64), Given>,
    environment: Vec<(u32, u32)>,
    dynamic: Option<(u64, Span)>,
}

impl Body<'_> {
    /// What the module says of how the kernel is launched holds for all launches.
    fn check_launches(&mut self, launches: &[Launch], entry: &Function, span: Span) -> Resolved<Required> {
        let directive = |word: &str| entry.directives.iter().find(|(name, _)| name.text == word);
        let number = |&number: &u64| u32::try_from(number).unwrap_or(u32::MAX);
        let sizes = |word: &str| {
            directive(word).map(|(_, numbers)| {
                let mut sizes = [1; 3];
                sizes.iter_mut().zip(numbers).for_each(|(size, own)| *size = number(own));
                sizes
            })
        };
        let required = Required { block: sizes("reqntid"), cluster: sizes("reqnctapercluster") };
        if launches.is_empty() {
            let message = "nothing says how this kernel is launched";
            let error = Diagnostic::new("validate::import-setting", message, span, "no launch");
            return Err(
                self.report(error.with_help("write `launch { ctas: 2, block: [32, 1] }` in the `import`"))
            );
        }
        for launch in launches {
            let Some(unlike) = required.unlike(launch) else { continue };
            let error =
                Diagnostic::new("validate::import-setting", unlike.message, launch.span, "others here");
            let error = match unlike.directive.and_then(directive) {
                Some((name, _)) => error.with_label(name.span, "required here"),
                None => error,
            };
            return Err(self.report(error.with_help(unlike.help)));
        }
        Ok(required)
    }

    fn setting(
        &mut self,
        setting: &ast::Setting,
        entry: &Function,
        memory: &mut Memory,
        given: &mut Settings,
    ) -> Resolved<()> {
        let (what, which) = (&setting.what, &setting.which);
        let wrong = |message: String, span: Span, help: &str| {
            Diagnostic::new("validate::import-setting", message, span, "here").with_help(help.to_owned())
        };
        let help = "settings are `param 0 = …`, `envreg 1..2 = …` and `shared dynamic N`";
        if what.text == "shared" {
            let SettingValue::Number(value) = &setting.value else { return Err(Reported) };
            if which.text != "dynamic" {
                return Err(self.report(wrong(
                    format!("there is no setting `shared {}`", which.text),
                    which.place.0,
                    help,
                )));
            }
            let bytes = self.checker.evaluate(value)?;
            if let Some((_, first)) = given.dynamic {
                return Err(self.report(crate::kernel::resolve::body::duplicate_name(
                    "dynamic",
                    which.place.0,
                    first,
                )));
            }
            given.dynamic = Some((bytes, which.place.0));
            return Ok(());
        }
        let (Ok(first), Ok(last)) = (
            which.text.parse::<u32>(),
            setting.last.as_ref().map_or(Ok(None), |last| last.text.parse::<u32>().map(Some)),
        ) else {
            return Err(self.report(wrong(
                format!("`{}` is no small number", which.text),
                which.place.0,
                help,
            )));
        };
        match what.text.as_str() {
            "param" if last.is_none() => {
                let number = first as usize;
                let Some(parameter) = entry.parameters.get(number) else {
                    let n = entry.parameters.len();
                    let message = format!("`{}` has {n} parameters; they count from 0", entry.name.text);
                    return Err(self.report(wrong(message, which.place.0, "leave this one out")));
                };
                self.parameter(setting, (number, parameter), memory, given)
            }
            "envreg" if setting.offset.is_none() => {
                let value = self.setting_value(&setting.value, memory, None)?;
                let ExpressionKind::Constant(value) = value.kind else {
                    return Err(self.report(wrong(
                        "an environment register has one value".to_owned(),
                        what.place.0,
                        help,
                    )));
                };
                match last {
                    // The first one has the upper half.
                    Some(last) if last == first + 1 => {
                        given.environment.push((first, (value >> 32) as u32));
                        given.environment.push((last, value as u32));
                    }
                    None if value >> 32 == 0 => given.environment.push((first, value as u32)),
                    _ => {
                        let message = "an address has 64 bits, an environment register 32";
                        let help = "write it for two that follow each other: `envreg 1..2 = &workspace;`";
                        return Err(self.report(wrong(message.to_owned(), which.place.0, help)));
                    }
                }
                Ok(())
            }
            _ => Err(self.report(wrong(format!("there is no setting `{}`", what.text), what.place.0, help))),
        }
    }

    /// What a parameter is, or a field of one that is a structure.
    fn parameter(
        &mut self,
        setting: &ast::Setting,
        (number, parameter): (usize, &Variable),
        memory: &mut Memory,
        given: &mut Settings,
    ) -> Resolved<()> {
        let span = setting.which.place.0;
        let wrong = |message: String, span: Span, help: &str| {
            Diagnostic::new("validate::import-setting", message, span, "here").with_help(help.to_owned())
        };
        let offset = match &setting.offset {
            Some(offset) => self.checker.evaluate(offset)?,
            None => 0,
        };
        let what = match &setting.offset {
            Some(_) => format!("byte {offset} of parameter {number}"),
            None => format!("parameter {number}"),
        };
        if given.values.contains_key(&(number, offset)) {
            return Err(self.report(wrong(format!("{what} is given twice"), span, "keep one of them")));
        }
        let is_map = self.is_map(&setting.value);
        let is_field = setting.offset.is_some();
        let is_whole_map = is_map && parameter.bytes == TENSORMAP_BYTES && offset == 0;
        if parameter.bytes > 8 && !is_field && !is_whole_map {
            let message =
                format!("parameter {number} has {} bytes, of which one value says nothing", parameter.bytes);
            let error = Diagnostic::new("validate::import-setting", message, span, "a structure")
                .with_label(parameter.name.span, "declared here");
            return Err(self.report(error.with_help(if is_map { MAP_HELP } else { FIELD_HELP })));
        }
        let least = if is_map && is_field { TENSORMAP_BYTES } else { 1 };
        if offset.saturating_add(least) > parameter.bytes {
            let message = format!("parameter {number} has {} bytes", parameter.bytes);
            let error = wrong(message, span, "fields are named by where they start, in bytes from 0");
            return Err(self.report(error.with_label(parameter.name.span, "declared here")));
        }
        let name = match offset {
            0 => format!("param{number}"),
            _ => format!("param{number}_{offset}"),
        };
        let mut value = self.setting_value(&setting.value, memory, Some((name, given)))?;
        if is_map && is_field && !is_whole_map {
            let start = super::parameter::start_of(number) + offset;
            if let SettingValue::Address(of) = &setting.value
                && let Some((Binding::Object(id), _)) = self.find(&of.name.text)
            {
                memory.place_map(self.objects[id].storage, start);
            }
            value = Self::constant(span, 64, u128::from(start));
        }
        let is_address = matches!(setting.value, SettingValue::Address(_));
        given
            .values
            .insert((number, offset), Given { value, is_address, is_map: is_map && parameter.bytes > 8 });
        Ok(())
    }

    /// A value of 64 bits; a range belongs to a parameter.
    fn setting_value(
        &mut self,
        value: &SettingValue,
        memory: &Memory,
        parameter: Option<(String, &mut Settings)>,
    ) -> Resolved<Expression> {
        match value {
            SettingValue::Number(value) => {
                let number = self.checker.evaluate(value)?;
                Ok(Self::constant(value.place.0, 64, u128::from(number)))
            }
            SettingValue::Address(of) => self.address_of(of, memory),
            SettingValue::Range(range) => {
                let Some((text, given)) = parameter else {
                    let message = "only a parameter can be any number of a range";
                    let span = range.start.place.0;
                    return Err(self.report(Diagnostic::new(
                        "validate::import-setting",
                        message,
                        span,
                        "a range",
                    )));
                };
                let place = range.start.place;
                let name = ast::Name { text, place };
                let declared = ast::KernelParameter { name, range: range.clone() };
                let parameter = self.resolve_parameter(&declared)?;
                let register = parameter.register;
                given.parameters.push(parameter);
                let kind = ExpressionKind::Register(register);
                Ok(resized(Expression { span: place.0, width: 32, kind }, 64))
            }
        }
    }

    /// Whether a setting is the address of a tensor map.
    fn is_map(&self, value: &SettingValue) -> bool {
        let SettingValue::Address(of) = value else { return false };
        match self.find(&of.name.text) {
            Some((Binding::Object(id), _)) => self.objects[id].element == ElementKind::Tensormap,
            _ => false,
        }
    }

    fn address_of(&mut self, of: &ast::Memory, memory: &Memory) -> Resolved<Expression> {
        let span = of.place.0;
        let Binding::Object(id) = self.look_up(&of.name.text, span)? else {
            let message = format!("`{}` is a value, not memory", of.name.text);
            let error = Diagnostic::new("resolve::not-memory", message, span, "not an object");
            return Err(self.report(error.with_help("declare it with `global`, outside of the `import`")));
        };
        let object = self.objects[id].clone();
        let Some(start) = memory.start_of(object.storage).filter(|_| object.proxy == Proxy::Generic) else {
            let message =
                format!("`{}` is no plain global memory, whose address could be given", object.name);
            let error = Diagnostic::new("unsupported::ptx-parameter", message, span, "its address");
            return Err(self.report(if object.element == ElementKind::Tensormap {
                error.with_help(MAP_HELP)
            } else {
                error
            }));
        };
        let mut flat = 0_u64;
        for (dimension, &n) in object.dimensions.iter().enumerate() {
            let index = of.indices.get(dimension).map_or(Ok(0), |index| self.checker.evaluate(index))?;
            flat = flat.saturating_mul(u64::from(n)).saturating_add(index);
        }
        let offset =
            u64::from(object.offset_bytes).saturating_add(flat.saturating_mul(u64::from(object.width / 8)));
        Ok(Self::constant(span, 64, u128::from(start) + u128::from(offset)))
    }
}
