//! A resolved program as text, for `emit program`: the debug form of its parts, without source positions.

use super::program::{
    Address, AddressBase, Coordinate, ElementKind, Expression, ExpressionKind, HostCall, Instruction, Kernel,
    Object, Program, Register, RegisterId, ResolvedOperand, Statement, StatementKind, Width,
};
use crate::index::IndexVec;
use crate::vocabulary::Proxy;
use std::fmt::Write as _;

/// The program in a stable, readable form.
pub fn dump(program: &Program) -> String {
    with_kernels(program, &program.kernels)
}

/// One of its kernels, with all that it may call or launch: the same for the same text, wherever that stands.
pub fn dump_of(program: &Program, kernel: &Kernel) -> String {
    with_kernels(program, std::slice::from_ref(kernel))
}

fn with_kernels(program: &Program, kernels: &[Kernel]) -> String {
    let mut out = String::new();
    for function in program.functions.iter() {
        let names =
            Names { program, registers: &function.registers, objects: None, function: Some(function) };
        let values: Vec<String> = function.values.iter().map(|&value| names.typed(value)).collect();
        let references =
            function.references.iter().map(|r| format!("{}: &{}", r.name, type_name(r.element, r.width)));
        let parameters: Vec<String> = references.chain(values).collect();
        let _ = writeln!(out, "fn {}({})", function.name, parameters.join(", "));
        names.block(&mut out, &function.body, 1);
        if let Some(result) = &function.result {
            let _ = writeln!(out, "  return {}", names.expression(result));
        }
    }
    for kernel in program.parts.iter().chain(kernels) {
        dump_kernel(&mut out, program, kernel);
    }
    out
}

fn type_name(element: ElementKind, width: Width) -> String {
    match element {
        ElementKind::Data => width.to_string(),
        ElementKind::Mbarrier => "mbarrier".to_owned(),
        ElementKind::Tensormap => "tensormap".to_owned(),
    }
}

fn dump_kernel(out: &mut String, program: &Program, kernel: &Kernel) {
    let names =
        Names { program, registers: &kernel.registers, objects: Some(&kernel.objects), function: None };
    let _ = writeln!(out, "{} {}", if kernel.is_program { "program" } else { "kernel" }, kernel.name);
    for parameter in &kernel.parameters {
        let _ = writeln!(out, "  parameter {} in {}..={}", parameter.name, parameter.min, parameter.max);
    }
    for launch in &kernel.launches {
        let _ = writeln!(
            out,
            "  launch {} gpus {} ctas {} cluster {} warps {} lanes {}{}{}{}{}",
            launch.name,
            launch.gpus,
            launch.ctas,
            launch.cluster_axes.map_or_else(|| launch.cluster.to_string(), |sizes| format!("{sizes:?}")),
            launch.warps,
            launch.lanes,
            launch.block.map_or_else(String::new, |sizes| format!(" block {sizes:?}")),
            launch.grid.map_or_else(String::new, |sizes| format!(" grid {sizes:?}")),
            if launch.cooperative { " cooperative" } else { "" },
            launch.registers.map_or_else(String::new, |registers| format!(" registers {registers}"))
        );
    }
    for (launch, spa) in kernel.launches.iter().filter_map(|launch| Some((launch, launch.spa?))) {
        let _ = writeln!(out, "  machine of {} {spa:?}", launch.name);
    }
    for placement in kernel.launches.iter().filter_map(|launch| launch.placement.as_ref()).flatten() {
        let _ = writeln!(out, "    thread gpu {} cta {}", placement.gpu, placement.cta);
    }
    for object in kernel.objects.iter() {
        let dimensions: String = object.dimensions.iter().map(|n| format!("[{n}]")).collect();
        let proxy = match object.proxy {
            Proxy::Generic => String::new(),
            proxy => format!(" {proxy}"),
        };
        let tensor = object.tensor.as_ref().map_or(String::new(), |tensor| {
            format!(" of {}{:?}", kernel.objects[tensor.object].name, tensor.box_dimensions)
        });
        let _ = writeln!(
            out,
            "  {} {}{dimensions}: {}{tensor} storage {} byte {} mapping {}{proxy}",
            object.replication.keyword().map_or_else(|| object.space.to_string(), str::to_owned),
            object.name,
            type_name(object.element, object.width),
            object.storage.0,
            object.offset_bytes,
            object.mapping
        );
    }
    for (id, storage) in kernel.storages.iter_enumerated() {
        let _ = writeln!(out, "  storage {} {} bytes {:?}", id.0, storage.size_bytes, storage.initial);
    }
    for (id, task) in kernel.tasks.iter_enumerated() {
        let after: Vec<String> = task.after.iter().map(|before| before.0.to_string()).collect();
        let overlaps = task.prerequisite.map_or(String::new(), |task| format!(" overlaps {}", task.0));
        let when = task.when.as_ref().map_or(String::new(), |when| format!(" if {}", names.expression(when)));
        let _ = writeln!(
            out,
            "  task {} {}({}) launch {} after [{}]{overlaps}{when}",
            id.0,
            task.name,
            names.list(&task.arguments),
            task.launch.name,
            after.join(", ")
        );
    }
    names.block(out, &kernel.body, 1);
    for condition in &kernel.finals {
        let _ = writeln!(out, "  final {:?} {}", condition.kind, names.expression(&condition.condition));
    }
    if let Some(condition) = &kernel.condition {
        let claim = names.expression(&condition.condition);
        let _ = writeln!(out, "  {} {claim}", condition.quantifier.name());
        if let Some(filter) = &condition.filter {
            let _ = writeln!(out, "  filter {}", names.expression(filter));
        }
    }
}

/// What ids are called in one body.
struct Names<'a> {
    program: &'a Program,
    registers: &'a IndexVec<RegisterId, Register>,
    objects: Option<&'a IndexVec<super::program::ObjectId, Object>>,
    function: Option<&'a super::program::Function>,
}

impl Names<'_> {
    fn register(&self, register: RegisterId) -> String {
        match self.registers.get(register) {
            Some(declared) if declared.name.starts_with('%') => declared.name.clone(),
            Some(declared) => format!("{}#{}", declared.name, register.0),
            None => format!("?{}", register.0),
        }
    }

    /// What gets a result, which may be nothing.
    fn result(&self, register: Option<RegisterId>) -> String {
        register.map_or("_".to_owned(), |register| self.register(register))
    }

    fn list(&self, values: &[Expression]) -> String {
        values.iter().map(|value| self.expression(value)).collect::<Vec<_>>().join(", ")
    }

    fn typed(&self, register: RegisterId) -> String {
        format!("{}: {}", self.register(register), self.registers[register].width)
    }

    fn block(&self, out: &mut String, statements: &[Statement], depth: usize) {
        for statement in statements {
            self.statement(out, statement, depth);
        }
    }

    fn statement(&self, out: &mut String, statement: &Statement, depth: usize) {
        let mut nested: Vec<(&str, &[Statement])> = Vec::new();
        let text = match &statement.kind {
            StatementKind::Assign { register, value } => {
                format!("{} = {}", self.typed(*register), self.expression(value))
            }
            StatementKind::Instruction(instruction) => self.instruction(instruction),
            StatementKind::If { condition, then, otherwise } => {
                nested.extend([("then", then.as_slice()), ("else", otherwise.as_slice())]);
                format!("if {}", self.expression(condition))
            }
            StatementKind::For { id, register, start, end, body } => {
                nested.push(("do", body));
                let (start, end) = (self.expression(start), self.expression(end));
                format!("for loop {} {} in {start}..{end}", id.0, self.register(*register))
            }
            StatementKind::While { id, prelude, condition, body } => {
                nested.extend([("prelude", prelude.as_slice()), ("do", body.as_slice())]);
                format!("while loop {} {}", id.0, self.expression(condition))
            }
            StatementKind::Await { id, prelude, condition } => {
                nested.push(("prelude", prelude));
                format!("await loop {} {}", id.0, self.expression(condition))
            }
            StatementKind::Break => "break".to_owned(),
            StatementKind::Exit => "exit".to_owned(),
            StatementKind::Call { function, values, references, result } => {
                let references = references.iter().map(|address| self.address(address));
                let arguments: Vec<String> =
                    references.chain(values.iter().map(|value| self.expression(value))).collect();
                let result = result.map_or(String::new(), |result| format!("{} = ", self.typed(result)));
                format!("{result}call {}({})", self.program.functions[*function].name, arguments.join(", "))
            }
            StatementKind::Unsupported(why) => format!("unsupported: {}", why.message),
            StatementKind::Assert(condition) => format!("assert {}", self.expression(condition)),
            StatementKind::Assume(condition) => format!("assume {}", self.expression(condition)),
            StatementKind::Reachable(condition) => format!("reachable {}", self.expression(condition)),
            StatementKind::Host(HostCall::Launch(task)) => format!("launch task {}", task.0),
            StatementKind::Host(HostCall::Synchronize(tasks)) => {
                let tasks: Vec<String> = tasks.iter().map(|task| task.0.to_string()).collect();
                format!("synchronize tasks [{}]", tasks.join(", "))
            }
        };
        let _ = writeln!(out, "{:width$}{text}", "", width = 2 * depth);
        for (name, statements) in nested {
            if !statements.is_empty() {
                let _ = writeln!(out, "{:width$}{name}:", "", width = 2 * depth);
                self.block(out, statements, depth + 1);
            }
        }
    }

    /// Results, the full spelling, and the operands as they stand there.
    fn instruction(&self, instruction: &Instruction) -> String {
        let operands = instruction.operands.iter().map(|operand| match operand {
            ResolvedOperand::Memory(address) => self.address(address),
            ResolvedOperand::Registers(address) => self.place(address),
            ResolvedOperand::Value(value) => self.expression(value),
        });
        let operands: Vec<String> = operands.collect();
        let results: Vec<String> = instruction.results.iter().map(|&result| self.result(result)).collect();
        let equals = if results.is_empty() { "" } else { " = " };
        let text = format!("{}{equals}{} {}", results.join(", "), instruction.text, operands.join(", "));
        text.trim_end().to_owned()
    }

    fn address(&self, address: &Address) -> String {
        let place = self.place(address);
        match (&address.rank, &address.device) {
            (Some(rank), _) => format!("[mapa({place}, {})]", self.expression(rank)),
            (None, Some(device)) => format!("[peer({place}, {})]", self.expression(device)),
            (None, None) => format!("[{place}]"),
        }
    }

    fn place(&self, address: &Address) -> String {
        let base = match address.base {
            AddressBase::Object(object) => {
                self.objects.and_then(|objects| objects.get(object)).map(|object| object.name.clone())
            }
            AddressBase::Reference(reference) => {
                self.function.and_then(|function| function.references.get(reference)).map(|r| r.name.clone())
            }
            AddressBase::Flat { space, .. } => Some(space.name().to_owned()),
        };
        let indices: String =
            address.indices.iter().map(|index| format!("[{}]", self.expression(index))).collect();
        format!("{}{indices}", base.unwrap_or_else(|| "?".to_owned()))
    }

    fn expression(&self, expression: &Expression) -> String {
        let width = expression.width;
        match &expression.kind {
            ExpressionKind::Constant(value) => format!("{value}:{width}"),
            ExpressionKind::Register(register) => self.register(*register),
            ExpressionKind::Coordinate(Coordinate::Along(register, axis)) => {
                format!("{register:?}.{axis:?}").to_lowercase()
            }
            ExpressionKind::Coordinate(coordinate) => format!("{coordinate:?}").to_lowercase(),
            ExpressionKind::Unary(op, operand) => format!("{op:?}({})", self.expression(operand)),
            ExpressionKind::Binary(op, left, right) => {
                format!("{op:?}({}, {})", self.expression(left), self.expression(right))
            }
            ExpressionKind::Select(condition, then, otherwise) => format!(
                "Select({}, {}, {})",
                self.expression(condition),
                self.expression(then),
                self.expression(otherwise)
            ),
            ExpressionKind::Convert(operand) => format!("Convert({}):{width}", self.expression(operand)),
            ExpressionKind::Uncomputed { by, of, .. } => format!("{by}({}):{width}", self.list(of)),
            ExpressionKind::FinalRegister(thread, register) => {
                format!("final P{thread}:{}", self.registers[*register].name)
            }
            ExpressionKind::FinalValue(address) => format!("final {}", self.address(address)),
        }
    }
}
