//! Programs: what the host launches in which stream, and what therefore comes after what (MM-38).
//!
//! Streams, events and the loops and branches around launches are run here, in the host's program order; what is left are
//! tasks, each with those that it follows. Where parameters decide about a branch with calls in it, the rest of the program
//! is run once for each way. Cannot: calls that depend on values read.

mod branch;
mod launch;

use super::super::ast::{self, Expr, HostCall as Call, StatementKind as Ast};
use super::super::program::{
    BinaryOp, Expression, ExpressionKind, HostCall, Kernel, Launch, Parameter, PartId, RegisterId, Statement,
    StatementKind, Task, TaskId, UnaryOp, UnrecordedWait,
};
use super::super::suggest::suggest;
use super::body::{Binding, Body, Mutability, Scope, duplicate_name};
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
/// Values that the parameters which decide about calls can have together.
const MAX_VALUES: u64 = 1_024;
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
            launched: Vec::new(),
            tasks: IndexVec::new(),
            n_iterations: 0,
            values: vec![SortedMap::new()],
            lets: SortedMap::new(),
            when: None,
            unrecorded: SortedSet::new(),
            recorded: SortedSet::new(),
            finals: Vec::new(),
        };
        host.run(vec![Work::Statements(&program.body.statements)]);
        let unrecorded = host.unrecorded.iter().filter(|wait| !host.recorded.contains(&wait.event)).cloned();
        let unrecorded = unrecorded.collect();
        let Host { body, tasks, finals, .. } = host;
        // What follows a branch may have been resolved on both of its ways.
        let mut known: Vec<Diagnostic> = Vec::new();
        for diagnostic in std::mem::take(&mut body.checker.diagnostics) {
            if !known.contains(&diagnostic) {
                known.push(diagnostic);
            }
        }
        body.checker.diagnostics = known;
        let span = program.name.place.0;
        if tasks.is_empty() && body.checker.diagnostics.is_empty() {
            let message = format!("program `{}` launches no kernel", program.name.text);
            let error = Diagnostic::new("resolve::host-call", message, span, "nothing to check");
            body.checker.report(error.with_help("write `launch NAME;`, or `stream s; launch NAME on s;`"));
        }
        Kernel {
            flat: None,
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
            unrecorded,
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
                _ => {
                    for block in blocks(statement) {
                        collect(block, names);
                    }
                }
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

/// The blocks of a loop or branch of the host that may have calls in them.
fn blocks(statement: &ast::Statement) -> Vec<&[ast::Statement]> {
    match &statement.kind {
        Ast::For { body, .. } => vec![&body.statements],
        Ast::If { then, otherwise, .. } => {
            let otherwise = match otherwise {
                Some(ast::Else::Block(block)) => Some(block.statements.as_slice()),
                Some(ast::Else::If(statement)) => Some(std::slice::from_ref(&**statement)),
                None => None,
            };
            [Some(then.statements.as_slice()), otherwise].into_iter().flatten().collect()
        }
        _ => Vec::new(),
    }
}

/// A stream at some point of the host's program.
#[derive(Clone)]
struct Stream {
    span: Span,
    is_blocking: bool,
    /// All that comes before the next task.
    before: SortedSet<TaskId>,
    /// The last task, if nothing but it has been enqueued since.
    last: Option<TaskId>,
}

#[derive(Clone)]
struct Event {
    span: Span,
    /// What the latest record of it stands for; `None` before the first one.
    tasks: Option<SortedSet<TaskId>>,
}

/// Values of those parameters that decide about calls.
type Values = SortedMap<RegisterId, u128>;

/// What the host is still to do, the next thing last.
#[derive(Clone)]
enum Work<'a> {
    Statements(&'a [ast::Statement]),
    /// The rounds of a loop from `next` on.
    Rounds {
        name: &'a ast::Name,
        next: u64,
        end: u64,
        body: &'a [ast::Statement],
        span: Span,
    },
    /// The end of a block.
    Close,
}

/// What the host's statements change, without the tasks that they add.
#[derive(Clone)]
struct Moment {
    scopes: Vec<Scope>,
    streams: IndexMap<String, Stream>,
    events: IndexMap<String, Event>,
    default_stream: SortedSet<TaskId>,
    launched: Vec<TaskId>,
    lets: SortedMap<RegisterId, Expression>,
}

struct Host<'c, 'p> {
    body: Body<'c>,
    parts: &'p Parts,
    parameters: &'p [Parameter],
    streams: IndexMap<String, Stream>,
    events: IndexMap<String, Event>,
    /// All that comes before the next task of the legacy default stream, but what is in blocking streams.
    default_stream: SortedSet<TaskId>,
    /// The tasks of the way that is run.
    launched: Vec<TaskId>,
    /// Those of all ways.
    tasks: IndexVec<TaskId, Task>,
    n_iterations: u64,
    /// All values of the parameters that were asked for so far which lead here.
    values: Vec<Values>,
    /// What `let` of the host has named.
    lets: SortedMap<RegisterId, Expression>,
    /// What of the parameters leads here, if not all values do.
    when: Option<Expression>,
    /// Waits for events before they were recorded.
    unrecorded: SortedSet<UnrecordedWait>,
    /// Events that are recorded anywhere.
    recorded: SortedSet<String>,
    finals: Vec<super::super::program::FinalCondition>,
}

impl<'a> Host<'_, 'a> {
    /// Runs what is to do, to the end of the program. What is wrong has been reported, and ends the outermost block that it
    /// is in.
    fn run(&mut self, mut work: Vec<Work<'a>>) {
        while let Some(top) = work.pop() {
            let done = match top {
                Work::Statements([]) => Ok(()),
                Work::Statements([first, rest @ ..]) => {
                    work.push(Work::Statements(rest));
                    self.statement(first, &mut work)
                }
                Work::Rounds { next, end, .. } if next >= end => Ok(()),
                Work::Rounds { name, next, end, body, span } => {
                    work.push(Work::Rounds { name, next: next + 1, end, body, span });
                    self.n_iterations += 1;
                    if self.n_iterations > MAX_ITERATIONS {
                        let message =
                            format!("the loops around launches run more than {MAX_ITERATIONS} times");
                        let error = Diagnostic::new("limit::host-loop", message, span, "too often");
                        Err(self.body.report(error.with_help("two or three launches show what any more do")))
                    } else {
                        self.open(&mut work, body);
                        self.body.bind(name, Binding::Constant(next));
                        Ok(())
                    }
                }
                Work::Close => {
                    self.body.scopes.pop();
                    Ok(())
                }
            };
            if done.is_err() {
                for left in work.drain(1.min(work.len())..) {
                    if matches!(left, Work::Close) {
                        self.body.scopes.pop();
                    }
                }
            }
        }
    }

    /// Enters a block.
    fn open(&mut self, work: &mut Vec<Work<'a>>, block: &'a [ast::Statement]) {
        self.body.scopes.push(SortedMap::new());
        work.extend([Work::Close, Work::Statements(block)]);
    }

    fn statement(&mut self, statement: &'a ast::Statement, work: &mut Vec<Work<'a>>) -> Resolved<()> {
        let span = statement.place.0;
        match &statement.kind {
            Ast::Host(call) => self.call(call, span),
            Ast::For { name, range, body } if has_calls(&body.statements) => {
                let start = self.bound(&range.start)?;
                let end = self.bound(&range.end)?.saturating_add(u64::from(range.inclusive));
                work.push(Work::Rounds { name, next: start, end, body: &body.statements, span });
                Ok(())
            }
            Ast::If { condition, .. } if has_calls(std::slice::from_ref(statement)) => {
                self.branch(condition, statement, work)
            }
            Ast::Final(_) if work.len() > 1 => {
                let message = "this belongs to the program itself, not into a block or function";
                let error = Diagnostic::new("resolve::misplaced-statement", message, span, "not here");
                Err(self.body.report(error))
            }
            Ast::Final(block) => {
                // On another way here it has been resolved.
                if !self.finals.iter().any(|known| span.holds(known.span)) {
                    self.body.resolve_final(block, &mut self.finals);
                }
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
                if matches!(statement.kind, Ast::Let { .. }) {
                    self.note_let();
                }
                Ok(())
            }
        }
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
                self.recorded.insert(event.text.clone());
                let event = self.event(event)?;
                self.events[event].tasks = Some(before);
                Ok(())
            }
            ("wait", [event]) => {
                let stream = self.stream_of(call)?;
                let Some(tasks) = self.latest_record(event)? else { return Ok(()) };
                let stream = &mut self.streams[stream];
                stream.before.extend(tasks);
                stream.last = None;
                Ok(())
            }
            ("synchronize", []) => {
                let all = self.launched.iter().copied().collect();
                self.synchronize(&all, call, span)
            }
            ("synchronize", [name]) => {
                let tasks = if self.events.contains_key(&name.text) {
                    self.latest_record(name)?.unwrap_or_default()
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
    fn clauses<'n, const N: usize>(
        &mut self,
        call: &'n Call,
        words: [&str; N],
    ) -> Resolved<[Option<&'n ast::Name>; N]> {
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

    /// What an event stands for: the latest record of it so far (MM-38). Waiting for one that was not recorded yet is no
    /// wait, in CUDA as here.
    fn latest_record(&mut self, name: &ast::Name) -> Resolved<Option<SortedSet<TaskId>>> {
        let event = self.event(name)?;
        let tasks = self.events[event].tasks.clone();
        if tasks.is_none() {
            self.unrecorded.insert(UnrecordedWait { span: name.place.0, event: name.text.clone() });
        }
        Ok(tasks)
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
}

fn has_calls(statements: &[ast::Statement]) -> bool {
    statements.iter().any(|statement| match &statement.kind {
        Ast::Host(_) => true,
        _ => blocks(statement).into_iter().any(has_calls),
    })
}
