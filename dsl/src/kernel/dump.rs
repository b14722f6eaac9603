//! A resolved program as text, for `emit program`: the debug form of its parts, without source positions.

use super::program::{
    Address, AddressBase, AsyncOp, BarrierKind, BulkCompletion, BulkCopy, BulkEnd, ElementKind, Elements,
    Expression, ExpressionKind, HostCall, Instruction, InstructionKind, Kernel, MbarrierOp, MbarrierPhase,
    MultimemOp, Object, Program, ProxyFenceKind, Register, RegisterId, SpaOp, Statement, StatementKind,
    TensorOp, Width,
};
use crate::index::IndexVec;
use crate::vocabulary::Proxy;
use std::fmt::Write as _;

/// The program in a stable, readable form.
pub fn dump(program: &Program) -> String {
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
    for kernel in program.parts.iter().chain(&program.kernels) {
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
            "  launch {} gpus {} ctas {} cluster {} warps {} lanes {}{}{}",
            launch.name,
            launch.gpus,
            launch.ctas,
            launch.cluster,
            launch.warps,
            launch.lanes,
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
        let _ = writeln!(
            out,
            "  task {} {}({}) launch {} after [{}]{overlaps}",
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

    fn instruction(&self, instruction: &Instruction) -> String {
        let result = |register: &Option<RegisterId>| self.result(*register);
        let operands = match &instruction.kind {
            InstructionKind::Load { destinations, address, .. }
            | InstructionKind::Multimem(MultimemOp::LoadReduce { destinations, address, .. }) => {
                let destinations: Vec<String> = destinations.iter().map(result).collect();
                format!("{} <- {}", destinations.join(", "), self.address(address))
            }
            InstructionKind::Store { values, address, .. }
            | InstructionKind::Multimem(MultimemOp::Store { values, address, .. }) => {
                format!("{} <- {}", self.address(address), self.list(values))
            }
            InstructionKind::Atomic { destination, operands, address, .. } => {
                format!("{} <- {}, {}", result(destination), self.address(address), self.list(operands))
            }
            InstructionKind::Reduction { operand, address, .. } => {
                format!("{}, {}", self.address(address), self.expression(operand))
            }
            InstructionKind::Multimem(MultimemOp::Reduction { operands, address, .. }) => {
                format!("{}, {}", self.address(address), self.list(operands))
            }
            InstructionKind::Fence { .. }
            | InstructionKind::MbarrierInitFence
            | InstructionKind::AliasFence
            | InstructionKind::ClusterArrive { .. }
            | InstructionKind::ClusterWait { .. }
            | InstructionKind::ProxyFence(
                ProxyFenceKind::Async { .. }
                | ProxyFenceKind::AsyncGeneric { .. }
                | ProxyFenceKind::TensormapRelease { .. }
                | ProxyFenceKind::AliasHalf { .. }
                | ProxyFenceKind::Formal { .. },
            )
            | InstructionKind::GridDependency(_)
            | InstructionKind::Spa(SpaOp::Membar { .. } | SpaOp::InvalidateAll(_)) => String::new(),
            InstructionKind::ProxyFence(ProxyFenceKind::TensormapAcquire { address, .. })
            | InstructionKind::Spa(SpaOp::InvalidateLine(address)) => self.address(address),
            InstructionKind::TensormapCopyFence { destination, source, .. } => {
                format!("{} <- {}", self.address(destination), self.address(source))
            }
            InstructionKind::ElectSync { leader, predicate, mask } => {
                format!("{}, {} <- {}", result(leader), result(predicate), self.expression(mask))
            }
            InstructionKind::GetCtaRank { destination, address } => {
                format!("{} <- {}", result(destination), self.address(address))
            }
            InstructionKind::Mbarrier(op) => self.mbarrier(op),
            InstructionKind::Barrier { kind, id, count, instance, .. } => {
                let mut text = self.expression(id);
                if let Some(instance) = instance {
                    text = format!("instance {instance}, {text}");
                }
                if let Some(count) = count {
                    text += &format!(", {}", self.expression(count));
                }
                if let BarrierKind::Reduce { destination, predicate, .. } = kind {
                    text =
                        format!("{} <- {text}, {}", self.register(*destination), self.expression(predicate));
                }
                text
            }
            InstructionKind::WarpSync { mask } => self.expression(mask),
            InstructionKind::Async(op) => self.asynchronous(op),
            InstructionKind::SetMaxRegisters { count, .. } => count.to_string(),
            InstructionKind::Hint { destination, address } => {
                let address = address.as_ref().map_or_else(String::new, |address| self.address(address));
                match destination {
                    Some(destination) => format!("{} <- {address}", self.register(*destination)),
                    None => address,
                }
            }
        };
        format!("{} {operands}", instruction.text).trim_end().to_owned()
    }

    fn mbarrier(&self, op: &MbarrierOp) -> String {
        let result = |register: &Option<RegisterId>| self.result(*register);
        match op {
            MbarrierOp::Init { address, count } => {
                format!("{}, {}", self.address(address), self.expression(count))
            }
            MbarrierOp::Inval { address } => self.address(address),
            MbarrierOp::ExpectTx { address, tx, .. } | MbarrierOp::CompleteTx { address, tx, .. } => {
                format!("{}, {}", self.address(address), self.expression(tx))
            }
            MbarrierOp::Arrive(arrive) => {
                let operand = arrive.expect_tx.as_ref().unwrap_or(&arrive.count);
                let address = self.address(&arrive.address);
                format!("{} <- {address}, {}", result(&arrive.destination), self.expression(operand))
            }
            MbarrierOp::Wait(wait) => {
                let (MbarrierPhase::State(phase) | MbarrierPhase::Parity(phase)) = &wait.phase;
                let address = self.address(&wait.address);
                format!("{} <- {address}, {}", result(&wait.destination), self.expression(phase))
            }
            MbarrierOp::PendingCount { destination, state } => {
                format!("{} <- {}", result(destination), self.expression(state))
            }
        }
    }

    fn asynchronous(&self, op: &AsyncOp) -> String {
        match op {
            AsyncOp::Copy(copy) => {
                let (destination, source) = (self.address(&copy.destination), self.address(&copy.source));
                let mut text = format!("{destination} <- {source}, {} bytes", copy.bytes);
                for (name, value) in [("read", &copy.source_bytes), ("ignore", &copy.ignore_source)] {
                    if let Some(value) = value {
                        text += &format!(", {name} {}", self.expression(value));
                    }
                }
                text
            }
            AsyncOp::CopyArrive { mbarrier, .. } => self.address(mbarrier),
            AsyncOp::Bulk(copy) => self.bulk_copy(copy),
            AsyncOp::Prefetch { source } => self.bulk_end(source),
            AsyncOp::Commit(_) | AsyncOp::MatrixFence => String::new(),
            AsyncOp::Wait { pending, .. } => pending.to_string(),
            AsyncOp::Store(store) => {
                let mut text = format!("{} <- {}", self.address(&store.address), self.list(&store.values));
                if let Some(op) = store.reduction {
                    text += &format!(" by {op:?}");
                }
                if let Some(mbarrier) = &store.mbarrier {
                    text += &format!(", signal {}", self.address(mbarrier));
                }
                text
            }
            AsyncOp::TryCancel { response, mbarrier, .. } => {
                format!("{}, signal {}", self.address(response), self.address(mbarrier))
            }
            AsyncOp::QueryCancel { destination, response, .. } => {
                format!("{} <- {}", self.result(*destination), self.expression(response))
            }
            AsyncOp::TensormapReplace { map } => self.address(map),
            AsyncOp::Matrix(matrix) => {
                let sign = if matrix.accumulates { "+=" } else { "=" };
                let (a, b) = (self.address(&matrix.a), self.address(&matrix.b));
                format!("{} {sign} {a} * {b}", self.address(&matrix.accumulator))
            }
            AsyncOp::Tensor(op) => self.tensor_memory(op),
        }
    }

    fn tensor_memory(&self, op: &TensorOp) -> String {
        let many = |elements: &Elements| match elements.count {
            1 => self.address(&elements.address),
            n => format!("{} x {n}", self.address(&elements.address)),
        };
        match op {
            TensorOp::Multiply(product) => {
                let (a, b) = (many(&product.a), many(&product.b));
                let accumulates = product
                    .accumulates
                    .as_ref()
                    .map_or_else(String::new, |v| format!(" if {}", self.expression(v)));
                format!("{} += {a} * {b}{accumulates}", many(&product.accumulator))
            }
            TensorOp::Copy { destination, source } => format!("{} <- {}", many(destination), many(source)),
            TensorOp::Load { destination, source } => {
                format!("{} <- {}", self.address(destination), self.address(source))
            }
            TensorOp::Store { destination, value } => {
                format!("{} <- {}", self.address(destination), self.expression(value))
            }
            TensorOp::Commit { mbarrier, multicast } => {
                let to = multicast
                    .as_ref()
                    .map_or_else(String::new, |mask| format!(", to {}", self.expression(mask)));
                format!("{}{to}", self.address(mbarrier))
            }
            TensorOp::Allocate { slot, columns } => format!("{} <- {columns} columns", self.address(slot)),
            TensorOp::Free { object, columns } => format!("{}, {columns} columns", many(object)),
            TensorOp::Wait { .. } | TensorOp::Fence { .. } | TensorOp::Relinquish => String::new(),
        }
    }

    fn bulk_copy(&self, copy: &BulkCopy) -> String {
        let mut text = format!("{} <- {}", self.bulk_end(&copy.destination), self.bulk_end(&copy.source));
        if let Some(bytes) = &copy.bytes {
            text += &format!(", bytes {}", self.expression(bytes));
        }
        if let Some(op) = copy.reduction {
            text += &format!(" by {op:?}.{}.{}", copy.sem, copy.scope);
        }
        if let BulkCompletion::Mbarrier(mbarrier) = &copy.completion {
            text += &format!(", signal {}", self.address(mbarrier));
        }
        if let Some(mask) = &copy.multicast {
            text += &format!(", to {}", self.expression(mask));
        }
        text
    }

    fn bulk_end(&self, end: &BulkEnd) -> String {
        match end {
            BulkEnd::Memory(address) => self.address(address),
            BulkEnd::Tensor(tensor) => {
                format!("{} {{{}}}", self.address(&tensor.map), self.list(&tensor.coordinates))
            }
        }
    }

    fn address(&self, address: &Address) -> String {
        let base = match address.base {
            AddressBase::Object(object) => {
                self.objects.and_then(|objects| objects.get(object)).map(|object| object.name.clone())
            }
            AddressBase::Reference(reference) => {
                self.function.and_then(|function| function.references.get(reference)).map(|r| r.name.clone())
            }
        };
        let indices: String =
            address.indices.iter().map(|index| format!("[{}]", self.expression(index))).collect();
        let place = format!("{}{indices}", base.unwrap_or_else(|| "?".to_owned()));
        match (&address.rank, &address.device) {
            (Some(rank), _) => format!("[mapa({place}, {})]", self.expression(rank)),
            (None, Some(device)) => format!("[peer({place}, {})]", self.expression(device)),
            (None, None) => format!("[{place}]"),
        }
    }

    fn expression(&self, expression: &Expression) -> String {
        let width = expression.width;
        match &expression.kind {
            ExpressionKind::Constant(value) => format!("{value}:{width}"),
            ExpressionKind::Register(register) => self.register(*register),
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
            ExpressionKind::FinalRegister(thread, register) => {
                format!("final P{thread}:{}", self.registers[*register].name)
            }
            ExpressionKind::FinalValue(address) => format!("final {}", self.address(address)),
        }
    }
}
