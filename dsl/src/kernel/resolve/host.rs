//! Programs: what the host launches in which stream, and what therefore comes after what (MM-38).
//!
//! Streams, events and the loops around launches are run here, in the host's program order; what is left are tasks, each
//! with those that it follows. Cannot: launches that depend on values read, or on parameters.

use super::super::ast::{self, Expr, HostCall as Call, StatementKind as Ast};
use super::super::program::{
    Expression, ExpressionKind, HostCall, Kernel, Launch, Parameter, PartId, StatementKind, Task, TaskId,
};
use super::super::suggest::suggest;
use super::body::{Binding, Body, duplicate_name};
use super::expression::constant_value;
use super::{Checker, Resolved};
use crate::diagnostic::Diagnostic;
use crate::index::IndexVec;
use crate::sorted::{SortedMap, SortedSet};
use crate::span::Span;
use indexmap::IndexMap;

/// Launches of one program.
const MAX_TASKS: usize = 64;
/// Iterations of the loops around them.
const MAX_ITERATIONS: u64 = 1_000;
const PROGRAMMATIC: &str = "programmatic_serialization";
const NON_BLOCKING: &str = "non_blocking";

/// The kernels that programs launch, by name.
pub(super) struct Parts {
    /// All kernels of the files, launched or not.
    pub(super) known: Vec<String>,
    pub(super) names: IndexMap<String, PartId>,
    pub(super) kernels: IndexVec<PartId, Kernel>,
}

impl Checker {
    /// Resolves a program.
    pub(super) fn resolve_program(&mut self, program: &ast::Kernel, parts: &Parts) -> Kernel {
        if self.target.spa {
            let message = format!("`{}` is a program, and this file is for SPA 5.0", program.name.text);
            let error =
                Diagnostic::new("unsupported::spa-program", message, program.name.place.0, "not a kernel");
            let help =
                "write a kernel with `client host { … }`; several kernels in a row are not checked there";
            self.report(error.with_help(help));
        }
        let mut body = Body::new(self, None);
        body.in_program = true;
        let mut parameters = Vec::new();
        for parameter in &program.parameters {
            if let Ok(parameter) = body.resolve_parameter(parameter) {
                parameters.push(parameter);
            }
        }
        body.scopes.push(SortedMap::new());
        let mut host = Host {
            body,
            parts,
            parameters: &parameters,
            streams: IndexMap::new(),
            events: IndexMap::new(),
            default_stream: SortedSet::new(),
            tasks: IndexVec::new(),
            n_iterations: 0,
            finals: Vec::new(),
        };
        for statement in &program.body.statements {
            // Its errors have been reported.
            let _: Resolved<()> = host.statement(statement);
        }
        let Host { body, tasks, finals, .. } = host;
        let span = program.name.place.0;
        if tasks.is_empty() && body.checker.diagnostics.is_empty() {
            let message = format!("program `{}` launches no kernel", program.name.text);
            let error = Diagnostic::new("resolve::host-call", message, span, "nothing to check");
            body.checker.report(error.with_help("write `launch NAME;`, or `stream s; launch NAME on s;`"));
        }
        Kernel {
            name: program.name.text.clone(),
            is_program: true,
            span,
            parameters,
            launches: vec![Launch::single("default", span)],
            objects: body.objects,
            storages: body.storages,
            registers: body.registers,
            body: body.out,
            tasks,
            finals,
            condition: None,
        }
    }
}

/// Kernels that the programs of a file launch.
pub(super) fn launched_names(file: &ast::File) -> SortedSet<String> {
    fn collect(statements: &[ast::Statement], names: &mut SortedSet<String>) {
        for statement in statements {
            match &statement.kind {
                Ast::Host(call) if call.verb.text == "launch" => {
                    names.extend(call.operands.iter().map(|name| name.text.clone()));
                }
                Ast::For { body, .. } => collect(&body.statements, names),
                _ => {}
            }
        }
    }
    let mut names = SortedSet::new();
    for item in &file.items {
        if let ast::ItemKind::Program(program) = &item.kind {
            collect(&program.body.statements, &mut names);
        }
    }
    names
}

/// A stream at some point of the host's program.
struct Stream {
    span: Span,
    is_blocking: bool,
    /// All that comes before the next task.
    before: SortedSet<TaskId>,
    /// The last task, if nothing but it has been enqueued since.
    last: Option<TaskId>,
}

struct Event {
    span: Span,
    /// What it stands for; `None` before it is recorded.
    tasks: Option<SortedSet<TaskId>>,
}

struct Host<'c, 'p> {
    body: Body<'c>,
    parts: &'p Parts,
    parameters: &'p [Parameter],
    streams: IndexMap<String, Stream>,
    events: IndexMap<String, Event>,
    /// All that comes before the next task of the legacy default stream, but what is in blocking streams.
    default_stream: SortedSet<TaskId>,
    tasks: IndexVec<TaskId, Task>,
    n_iterations: u64,
    finals: Vec<super::super::program::FinalCondition>,
}

impl Host<'_, '_> {
    fn statement(&mut self, statement: &ast::Statement) -> Resolved<()> {
        let span = statement.place.0;
        match &statement.kind {
            Ast::Host(call) => self.call(call, span),
            Ast::For { name, range, body } if has_calls(&body.statements) => {
                self.for_loop(name, range, body, span)
            }
            Ast::Final(block) => {
                self.body.resolve_final(block, &mut self.finals);
                Ok(())
            }
            Ast::Launch { .. } => {
                let message = "a program has no shape of its own; its kernels have";
                let error = Diagnostic::new("resolve::misplaced-statement", message, span, "not here")
                    .with_help("declare the shape in the kernel, and write `launch NAME shape SHAPE;` here");
                Err(self.body.report(error))
            }
            Ast::Object(_) | Ast::View(_) => {
                let message =
                    "memory that kernels have in common is declared outside of programs and kernels";
                let error = Diagnostic::new("resolve::misplaced-statement", message, span, "not here");
                Err(self.body.report(error.with_help("move the declaration to the top of the file")))
            }
            _ => {
                self.body.resolve_statement(statement);
                Ok(())
            }
        }
    }

    /// A loop around launches, which is run here.
    fn for_loop(
        &mut self,
        name: &ast::Name,
        range: &ast::Range,
        block: &ast::Block,
        span: Span,
    ) -> Resolved<()> {
        let start = self.bound(&range.start)?;
        let end = self.bound(&range.end)?.saturating_add(u64::from(range.inclusive));
        for value in start..end {
            self.n_iterations += 1;
            if self.n_iterations > MAX_ITERATIONS {
                let message = format!("the loops around launches run more than {MAX_ITERATIONS} times");
                let error = Diagnostic::new("limit::host-loop", message, span, "too often");
                return Err(self.body.report(error.with_help("two or three launches show what any more do")));
            }
            self.body.scopes.push(SortedMap::new());
            self.body.bind(name, Binding::Constant(value));
            let done: Resolved<Vec<()>> =
                block.statements.iter().map(|statement| self.statement(statement)).collect();
            self.body.scopes.pop();
            done?;
        }
        Ok(())
    }

    fn bound(&mut self, expr: &Expr) -> Resolved<u64> {
        let value = self.body.resolve_exact(expr, 32)?;
        self.body.check_bound_sign((expr, &value))?;
        let Some(value) = constant_value(&value) else {
            let message = "how often a program launches kernels must be known before it runs";
            let error = Diagnostic::new("resolve::not-constant", message, expr.place.0, "not a constant");
            return Err(self.body.report(error));
        };
        Ok(u64::try_from(value).unwrap_or(u64::MAX))
    }

    fn call(&mut self, call: &Call, span: Span) -> Resolved<()> {
        match (call.verb.text.as_str(), call.operands.as_slice()) {
            ("launch", [kernel]) => self.launch(call, kernel, span),
            ("stream", [_, ..]) => self.declare_streams(call),
            ("event", [_, ..]) => self.declare_events(call),
            ("record", [event]) => {
                let stream = self.stream_of(call)?;
                let before = self.streams[stream].before.clone();
                let event = self.event(event)?;
                self.events[event].tasks = Some(before);
                Ok(())
            }
            ("wait", [event]) => {
                let stream = self.stream_of(call)?;
                let tasks = self.recorded(event)?;
                let stream = &mut self.streams[stream];
                stream.before.extend(tasks);
                stream.last = None;
                Ok(())
            }
            ("synchronize", []) => {
                let all = self.tasks.ids().collect();
                self.synchronize(&all, call, span)
            }
            ("synchronize", [name]) => {
                let tasks = if self.events.contains_key(&name.text) {
                    self.recorded(name)?
                } else {
                    let stream = self.stream(name)?;
                    self.streams[stream].before.clone()
                };
                self.synchronize(&tasks, call, span)
            }
            _ => Err(self.unknown_call(call, span)),
        }
    }

    fn unknown_call(&mut self, call: &Call, span: Span) -> super::Reported {
        const FORMS: [(&str, &str); 6] = [
            ("launch", "`launch KERNEL(…) on STREAM;`"),
            ("stream", "`stream a, b;`"),
            ("event", "`event e;`"),
            ("record", "`record EVENT on STREAM;`"),
            ("wait", "`wait EVENT on STREAM;`"),
            ("synchronize", "`synchronize STREAM;`, `synchronize EVENT;` or `synchronize;`"),
        ];
        let verb = call.verb.text.as_str();
        let error =
            |message: String, label: &str| Diagnostic::new("resolve::host-call", message, span, label);
        self.body.report(match FORMS.iter().find(|(known, _)| *known == verb) {
            Some((_, form)) => {
                let message = format!("`{verb}` is not used like this");
                error(message, "not a form of it").with_help(format!("write {form}"))
            }
            None => {
                let error = error(format!("the host has no call `{verb}`"), "unknown call");
                match suggest(verb, FORMS.iter().map(|&(known, _)| known)) {
                    Some(near) => error.with_help(format!("did you mean `{near}`?")),
                    None => {
                        error.with_help("it has `launch`, `stream`, `event`, `record`, `wait`, `synchronize`")
                    }
                }
            }
        })
    }

    /// The names behind the words of a call.
    fn clauses<'a, const N: usize>(
        &mut self,
        call: &'a Call,
        words: [&str; N],
    ) -> Resolved<[Option<&'a ast::Name>; N]> {
        let mut found = [None; N];
        for (word, name) in &call.clauses {
            let position = words.iter().position(|known| *known == word.text);
            let Some(slot) = position.map(|position| &mut found[position]).filter(|slot| slot.is_none())
            else {
                let place = word.place.0;
                let message =
                    format!("`{} … {}` is not a form of `{}`", call.verb.text, word.text, call.verb.text);
                let error = Diagnostic::new("resolve::host-call", message, place, "not here");
                let known: Vec<String> = words.iter().map(|word| format!("`{word} …`")).collect();
                return Err(self.body.report(if known.is_empty() {
                    error
                } else {
                    error.with_help(format!("it can have {}, once each", known.join(", ")))
                }));
            };
            *slot = Some(name);
        }
        Ok(found)
    }

    /// The stream of a call that is about one.
    fn stream_of(&mut self, call: &Call) -> Resolved<usize> {
        let [stream] = self.clauses(call, ["on"])?;
        match stream {
            Some(stream) => self.stream(stream),
            None => {
                let message = format!("`{}` needs to say `on STREAM`", call.verb.text);
                let place = call.verb.place.0;
                let error = Diagnostic::new("resolve::host-call", message, place, "on which stream?");
                let help = format!("write `{} e on s;`, where `s` is a `stream s;`", call.verb.text);
                Err(self.body.report(error.with_help(help)))
            }
        }
    }

    fn declare_streams(&mut self, call: &Call) -> Resolved<()> {
        let [kind] = self.clauses(call, ["with"])?;
        if let Some(kind) = kind
            && kind.text != NON_BLOCKING
        {
            let message = format!("a stream is not `{}`", kind.text);
            let error = Diagnostic::new("resolve::host-call", message, kind.place.0, "unknown");
            // Declared all the same, so that its uses are not wrong, too.
            self.body.report(error.with_help(format!("write `with {NON_BLOCKING}`")));
        }
        for name in &call.operands {
            self.check_new(name)?;
            let is_blocking = kind.is_none();
            let before = if is_blocking { self.default_stream.clone() } else { SortedSet::new() };
            let stream = Stream { span: name.place.0, is_blocking, before, last: None };
            self.streams.insert(name.text.clone(), stream);
        }
        Ok(())
    }

    fn declare_events(&mut self, call: &Call) -> Resolved<()> {
        let [] = self.clauses(call, [])?;
        for name in &call.operands {
            self.check_new(name)?;
            self.events.insert(name.text.clone(), Event { span: name.place.0, tasks: None });
        }
        Ok(())
    }

    fn check_new(&mut self, name: &ast::Name) -> Resolved<()> {
        let stream = self.streams.get(&name.text).map(|stream| stream.span);
        let event = self.events.get(&name.text).map(|event| event.span);
        match stream.or(event) {
            Some(first) => Err(self.body.report(duplicate_name(&name.text, name.place.0, first))),
            None => Ok(()),
        }
    }

    fn stream(&mut self, name: &ast::Name) -> Resolved<usize> {
        self.streams.get_index_of(&name.text).ok_or_else(|| {
            let known: Vec<String> = self.streams.keys().cloned().collect();
            self.unknown(name, "stream", &known)
        })
    }

    fn event(&mut self, name: &ast::Name) -> Resolved<usize> {
        self.events.get_index_of(&name.text).ok_or_else(|| {
            let known: Vec<String> = self.events.keys().cloned().collect();
            self.unknown(name, "event", &known)
        })
    }

    fn unknown(&mut self, name: &ast::Name, what: &str, known: &[String]) -> super::Reported {
        let message = format!("there is no {what} `{}`", name.text);
        let error = Diagnostic::new("resolve::unknown-name", message, name.place.0, "not declared");
        self.body.report(match suggest(&name.text, known.iter().map(String::as_str)) {
            Some(near) => error.with_help(format!("did you mean `{near}`?")),
            None => error.with_help(format!("declare it: `{what} {};`", name.text)),
        })
    }

    /// What an event stands for: an event that was never recorded would let everyone through.
    fn recorded(&mut self, name: &ast::Name) -> Resolved<SortedSet<TaskId>> {
        let event = self.event(name)?;
        self.events[event].tasks.clone().ok_or_else(|| {
            let message = format!("`{}` is waited for before it is recorded", name.text);
            let error =
                Diagnostic::new("validate::unrecorded-event", message, name.place.0, "waits for nothing")
                    .with_help(format!("write `record {} on STREAM;` before", name.text));
            self.body.report(error.with_rule("MM-38"))
        })
    }

    fn synchronize(&mut self, tasks: &SortedSet<TaskId>, call: &Call, span: Span) -> Resolved<()> {
        let [] = self.clauses(call, [])?;
        let tasks = self.latest(tasks);
        self.body.push(span, StatementKind::Host(HostCall::Synchronize(tasks)));
        Ok(())
    }

    /// Tasks without those that others of them follow, on every device that they are on.
    fn latest(&self, tasks: &SortedSet<TaskId>) -> Vec<TaskId> {
        let gpus = |task: TaskId| self.tasks[task].launch.gpus;
        // A task, and the devices on which some of the given ones follow it.
        let mut followed: SortedMap<TaskId, u32> = SortedMap::new();
        let mut stack: Vec<(TaskId, u32)> = tasks.iter().map(|&task| (task, gpus(task))).collect();
        while let Some((task, devices)) = stack.pop() {
            for &before in &self.tasks[task].after {
                let devices = devices.min(gpus(before));
                let known = followed.entry(before).or_insert(0);
                if devices > *known {
                    *known = devices;
                    stack.push((before, devices));
                }
            }
        }
        let is_covered = |task: &TaskId| followed.get(task).is_some_and(|&devices| devices == gpus(*task));
        tasks.iter().filter(|task| !is_covered(task)).copied().collect()
    }

    fn launch(&mut self, call: &Call, kernel: &ast::Name, span: Span) -> Resolved<()> {
        let [stream, shape, with] = self.clauses(call, ["on", "shape", "with"])?;
        let Some(&part) = self.parts.names.get(&kernel.text) else {
            let message = format!("there is no kernel `{}`", kernel.text);
            let error = Diagnostic::new("resolve::unknown-name", message, kernel.place.0, "not declared");
            let known = self.parts.known.iter().map(String::as_str);
            return Err(self.body.report(match suggest(&kernel.text, known) {
                Some(near) => error.with_help(format!("did you mean `{near}`?")),
                None => {
                    error.with_help("it stands before the program: `kernel name { launch { ctas: 2 } … }`")
                }
            }));
        };
        let launch = self.shape(part, kernel, shape)?;
        let arguments = self.arguments(part, &call.arguments, kernel)?;
        if self.tasks.len() >= MAX_TASKS {
            let message = format!("a program launches at most {MAX_TASKS} kernels");
            let error = Diagnostic::new("limit::host-loop", message, span, "one more");
            return Err(self.body.report(error.with_help("two or three launches show what any more do")));
        }
        let (after, prerequisite) = self.enqueue(stream, with, launch.gpus)?;
        let n_before = self.tasks.iter().filter(|task| task.kernel == part).count();
        let name = match n_before {
            0 => kernel.text.clone(),
            n => format!("{} #{}", kernel.text, n + 1),
        };
        let task = Task { name, kernel: part, launch, arguments, after, prerequisite, span };
        let task = self.tasks.push(task);
        self.note(task, stream);
        self.body.push(span, StatementKind::Host(HostCall::Launch(task)));
        Ok(())
    }

    fn shape(&mut self, part: PartId, kernel: &ast::Name, shape: Option<&ast::Name>) -> Resolved<Launch> {
        let launches = &self.parts.kernels[part].launches;
        let error = match (shape, launches.as_slice()) {
            (None, [only]) => return Ok(only.clone()),
            (None, _) => {
                let message = format!("`{}` can be launched in several shapes", kernel.text);
                Diagnostic::new("resolve::host-call", message, kernel.place.0, "which shape?")
            }
            (Some(name), all) => match all.iter().find(|launch| launch.name == name.text) {
                Some(launch) => return Ok(launch.clone()),
                None => {
                    let message = format!("`{}` has no launch `{}`", kernel.text, name.text);
                    Diagnostic::new("resolve::unknown-name", message, name.place.0, "no such shape")
                }
            },
        };
        let names: Vec<String> = launches.iter().map(|launch| format!("`{}`", launch.name)).collect();
        let help = format!("write `launch {} shape …`, with one of {}", kernel.text, names.join(", "));
        Err(self.body.report(error.with_help(help)))
    }

    /// The values of a kernel's parameters: constants, or parameters of the program, within the declared ranges.
    fn arguments(&mut self, part: PartId, given: &[Expr], kernel: &ast::Name) -> Resolved<Vec<Expression>> {
        let parts = self.parts;
        let wanted = &parts.kernels[part].parameters;
        if wanted.len() != given.len() {
            let (n, s) = (wanted.len(), if wanted.len() == 1 { "" } else { "s" });
            let message = format!("`{}` takes {n} argument{s}, and {} are given", kernel.text, given.len());
            let error =
                Diagnostic::new("validate::launch-argument", message, kernel.place.0, "launched here");
            let error = match wanted.first() {
                Some(first) => error.with_label(first.span, "its parameters"),
                None => error,
            };
            let help = "numbers are given for parameters, `kernel k(N in 0..=3)`; memory has a name, `global x: u32 = 0;`";
            return Err(self.body.report(error.with_help(help)));
        }
        let mut arguments = Vec::with_capacity(given.len());
        for (expr, parameter) in given.iter().zip(wanted) {
            let value = self.body.resolve_exact(expr, 32)?;
            let range = match (constant_value(&value), &value.kind) {
                (Some(value), _) => u64::try_from(value).ok().map(|value| (value, value)),
                (None, ExpressionKind::Register(register)) => {
                    let own = self.parameters.iter().find(|own| own.register == *register);
                    own.map(|own| (own.min, own.max))
                }
                _ => None,
            };
            let place = expr.place.0;
            let error = match range {
                Some((min, max)) if min >= parameter.min && max <= parameter.max => {
                    arguments.push(value);
                    continue;
                }
                Some(_) => {
                    let (name, min, max) = (&parameter.name, parameter.min, parameter.max);
                    let message = format!("`{name}` of `{}` is in {min}..={max}", kernel.text);
                    Diagnostic::new("validate::launch-argument", message, place, "outside of this range")
                        .with_label(parameter.span, "declared here")
                }
                None => {
                    let message = "an argument of a launch is a constant or a parameter of the program";
                    Diagnostic::new("validate::launch-argument", message, place, "neither")
                        .with_help("let the program write the value to global memory and the kernel read it")
                }
            };
            return Err(self.body.report(error));
        }
        Ok(arguments)
    }

    /// What the next task of a stream follows.
    fn enqueue(
        &mut self,
        stream: Option<&ast::Name>,
        with: Option<&ast::Name>,
        gpus: u32,
    ) -> Resolved<(Vec<TaskId>, Option<TaskId>)> {
        if let Some(with) = with
            && with.text != PROGRAMMATIC
        {
            let message = format!("a launch has no attribute `{}`", with.text);
            let error = Diagnostic::new("resolve::host-call", message, with.place.0, "unknown attribute");
            return Err(self.body.report(error.with_help(format!("write `with {PROGRAMMATIC}`"))));
        }
        let Some(name) = stream else {
            if let Some(with) = with {
                let message = format!("`{PROGRAMMATIC}` needs a stream");
                let error = Diagnostic::new("resolve::host-call", message, with.place.0, "in which stream?");
                return Err(self.body.report(error.with_help("declare one, and write `on` before `with`")));
            }
            // The legacy default stream waits for all blocking streams, and they for it.
            let blocking = self.streams.values().filter(|stream| stream.is_blocking);
            let before = blocking.flat_map(|stream| stream.before.iter().copied());
            let before: SortedSet<TaskId> = before.chain(self.default_stream.iter().copied()).collect();
            return Ok((self.latest(&before), None));
        };
        let stream = self.stream(name)?;
        let stream = &self.streams[stream];
        // On a device that the one before is not on, there is nothing to overlap with.
        let is_wide = |last: &TaskId| self.tasks[*last].launch.gpus >= gpus;
        match stream.last.filter(|_| with.is_some()).filter(is_wide) {
            Some(last) => {
                // What was complete when the task before started is complete now.
                Ok((self.tasks[last].after.clone(), Some(last)))
            }
            None => Ok((self.latest(&stream.before), None)),
        }
    }

    /// Makes a task the last of its stream.
    fn note(&mut self, task: TaskId, stream: Option<&ast::Name>) {
        match stream.and_then(|name| self.streams.get_mut(&name.text)) {
            Some(stream) => {
                stream.before.insert(task);
                stream.last = Some(task);
            }
            None => {
                self.default_stream.insert(task);
                for stream in self.streams.values_mut().filter(|stream| stream.is_blocking) {
                    stream.before.insert(task);
                    stream.last = None;
                }
            }
        }
    }
}

fn has_calls(statements: &[ast::Statement]) -> bool {
    statements.iter().any(|statement| match &statement.kind {
        Ast::Host(_) => true,
        Ast::For { body, .. } => has_calls(&body.statements),
        _ => false,
    })
}
