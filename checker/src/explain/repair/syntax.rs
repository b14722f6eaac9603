//! A program's statements and instructions with their places, as changes of the text need them.

use super::parts::Compiled;
use super::values;
use super::values::Value;
use fencepost_dsl::kernel::ast::{
    self, Block, Else, Expr, ExprKind, ItemKind, Object, Operand, Pattern, Statement, StatementKind,
};
use fencepost_dsl::kernel::{beside, parse};
use fencepost_dsl::sorted::SortedSet;
use fencepost_dsl::vocabulary::Replication;
use fencepost_dsl::{FileId, SourceMap, Span};

/// Statements around calls that are looked at.
const OUTWARDS_MAX: usize = 6;

/// All statements and instructions of the files, in order of the text.
#[derive(Debug, Default)]
pub struct Syntax {
    /// Statements, outer ones before those inside.
    pub nodes: Vec<Node>,
    /// Instructions.
    pub instructions: Vec<Instruction>,
    /// The statements of each block.
    blocks: Vec<Vec<usize>>,
    /// Functions.
    functions: Vec<Function>,
    /// Calls.
    pub calls: Vec<Call>,
    /// Names of the constants of the files.
    pub constants: Vec<(String, Span)>,
    /// Names of values that never change.
    pub bindings: Vec<Binding>,
    /// What variables are given later on.
    pub assigned: Vec<Binding>,
    /// Loops that count.
    pub counted: Vec<Counted>,
    /// Objects, whether a kernel's own or of the whole file.
    pub objects: Vec<Declared>,
    /// Values that may be changed.
    pub values: Vec<Value>,
    /// Kernels that were compiled, whose instructions are statements each.
    pub compiled: Vec<Compiled>,
}

/// A function.
#[derive(Debug)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// All of it.
    span: Span,
    /// The names of its parameters.
    pub parameters: Vec<String>,
}

/// A call.
#[derive(Debug)]
pub struct Call {
    /// The name of the function.
    pub function: String,
    /// The statement that it is in.
    pub node: usize,
    /// Where its arguments are.
    pub arguments: Vec<Span>,
}

/// `let name = value;`
#[derive(Debug)]
pub struct Binding {
    /// The name.
    pub name: String,
    /// Where its value is.
    pub value: Span,
    /// The statement.
    pub node: usize,
}

/// `for name in 0..end`
#[derive(Debug)]
pub struct Counted {
    /// The variable.
    pub variable: String,
    /// Where the end of the range is.
    pub end: Span,
    /// Whether that is its last value.
    pub inclusive: bool,
    /// The statement.
    pub node: usize,
}

/// What is known of an object from its declaration.
#[derive(Debug)]
pub struct Declared {
    /// Its name.
    pub name: String,
    /// Where its dimensions are, outermost first.
    pub dimensions: Vec<Span>,
    /// The type of its elements.
    pub ty: String,
    /// The object all of whose copies a multimem object stands for.
    pub copies_of: Option<String>,
}

/// A memory operand.
#[derive(Debug)]
pub struct Memory {
    /// The object or reference.
    pub name: String,
    /// With its brackets.
    pub span: Span,
    /// Where its indices are, outermost first.
    pub indices: Vec<Span>,
    /// Where the rank of the CTA is whose memory it is, if that is said.
    pub rank: Option<Span>,
}

impl Memory {
    /// An element of another object at the same place.
    pub fn element_of(&self, name: &str, sources: &SourceMap) -> String {
        let indices = self.indices.iter().map(|&index| format!("[{}]", sources.text(index)));
        format!("{name}{}", indices.collect::<String>())
    }
}

/// A statement.
#[derive(Debug)]
pub struct Node {
    /// Where.
    pub span: Span,
    /// The statement around it.
    pub parent: Option<usize>,
    /// The block it stands in, and where there.
    block: (usize, usize),
    /// What matters of it.
    pub kind: NodeKind,
    /// Whether it gives a variable another value, claims something, ends its thread, or is a call.
    leaves: bool,
    /// Whether it ends its thread.
    pub exits: bool,
    /// Whether it is a call, and does nothing with what that gives.
    calls: bool,
    /// Whether it waits, or repeats while something holds.
    waits: bool,
}

impl Node {
    /// Whether its block begins with it.
    pub fn is_first(&self) -> bool {
        self.block.1 == 0
    }
}

/// What matters of a statement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NodeKind {
    /// Nothing.
    Plain,
    /// It runs one of several parts.
    Branch {
        /// Which one depends on this.
        condition: Span,
    },
    /// It repeats its part.
    Loop,
    /// It declares something, or is no part of what threads do.
    Declaration,
}

/// An instruction.
#[derive(Debug)]
pub struct Instruction {
    /// As written.
    pub opcode: String,
    /// Where that is.
    pub opcode_span: Span,
    /// With its operands.
    pub span: Span,
    /// Where the operands are.
    pub operands: Vec<Span>,
    /// The objects that it names.
    pub objects: Vec<String>,
    /// Its memory operands.
    pub memory: Vec<Memory>,
    /// The statement.
    pub node: usize,
}

impl Instruction {
    /// Whether it orders or signals, and accesses no data.
    pub fn synchronizes(&self) -> bool {
        const WORDS: &[&str] = &[
            "bar.",
            "barrier.",
            "fence.",
            "membar.",
            "mbarrier.",
            "cp.async.commit",
            "cp.async.wait",
            "cp.async.mbarrier",
            "cp.async.bulk.commit",
            "cp.async.bulk.wait",
            "wgmma.fence",
            "wgmma.commit",
            "wgmma.wait",
            "tcgen05.fence",
            "tcgen05.wait",
            "tcgen05.commit",
            "griddepcontrol.",
            "MEMBAR",
            "CCTL",
        ];
        WORDS.iter().any(|word| self.opcode.starts_with(word)) && !self.opcode.starts_with("mbarrier.init")
    }

    /// Whether it is a strong write, which may be a signal.
    pub fn signals(&self) -> bool {
        let is_write = ["st.", "red.", "atom.", "multimem.st.", "multimem.red."]
            .iter()
            .any(|word| self.opcode.starts_with(word));
        is_write && ["release", "relaxed", "acq_rel"].iter().any(|sem| self.opcode.contains(sem))
    }

    /// Whether it gives a signal: an arrival, or a strong write.
    pub fn gives_signal(&self) -> bool {
        let arrives = ["bar.arrive", "barrier.arrive", "barrier.cta.arrive", "mbarrier.arrive"];
        arrives.iter().any(|word| self.opcode.starts_with(word)) || self.signals()
    }

    /// Whether it is of an instruction, however much of its opcode is left out.
    pub fn is(&self, instruction: &str) -> bool {
        self.opcode.split('.').next() == Some(instruction)
    }

    /// Whether it tells what others did, and does nothing itself that they could see.
    pub fn only_looks(&self) -> bool {
        let waits = ["mbarrier.test_wait", "mbarrier.try_wait"];
        self.is("ld") || self.is("nanosleep") || waits.iter().any(|word| self.opcode.starts_with(word))
    }

    /// Whether it accesses memory as a part of no data: with a sem that is not weak.
    pub fn is_strong(&self) -> bool {
        let sems = ["relaxed", "acquire", "release", "acq_rel", "volatile"];
        self.opcode.split('.').any(|token| sems.contains(&token))
    }
}

impl Syntax {
    /// That of all files; of kernels, only the one of that name, if there is one.
    pub fn new(sources: &SourceMap, only: Option<&str>) -> Self {
        Self::of(sources, only, true)
    }

    /// The same, without kernels that a compiler has written.
    pub fn of_text(sources: &SourceMap) -> Self {
        Self::of(sources, None, false)
    }

    fn of(sources: &SourceMap, only: Option<&str>, with_compiled: bool) -> Self {
        let mut syntax = Self::default();
        let mut used: Vec<String> = Vec::new();
        for (number, file) in sources.ids().enumerate() {
            let path = &sources.file(file).name;
            // What an import names is no text of this language, nor what that was compiled of.
            if number > 0 && !used.iter().any(|used| path.ends_with(used.as_str())) {
                continue;
            }
            let (parsed, _) = parse(&sources.file(file).text, file);
            for item in &parsed.items {
                match &item.kind {
                    ItemKind::Use(name) => used.push(beside("", &name.text)),
                    ItemKind::Import(import)
                        if with_compiled && only.is_none_or(|only| import.name.text == only) =>
                    {
                        let module = beside(path, &import.path.text);
                        let module = sources.ids().find(|&id| sources.file(id).name == module);
                        if let Some(module) = module {
                            syntax.import(sources, module, &import.entry.text);
                        }
                    }
                    ItemKind::Object(object) => syntax.object(object),
                    ItemKind::Constant { name, value } => {
                        syntax.constants.push((name.text.clone(), value.place.0))
                    }
                    ItemKind::Function(function) => {
                        let names = function.parameters.iter().map(|parameter| parameter.name.text.clone());
                        syntax.functions.push(Function {
                            name: function.name.text.clone(),
                            span: item.place.0,
                            parameters: names.collect(),
                        });
                        syntax.block(&function.body, None);
                    }
                    ItemKind::Kernel(kernel) | ItemKind::Program(kernel)
                        if only.is_none_or(|only| kernel.name.text == only) =>
                    {
                        syntax.block(&kernel.body, None);
                    }
                    _ => {}
                }
            }
        }
        syntax
    }

    /// The instruction at that place.
    pub fn instruction(&self, span: Span) -> Option<&Instruction> {
        self.instructions.iter().find(|instruction| instruction.span == span)
    }

    /// The innermost statement around a place.
    pub fn node_around(&self, span: Span) -> Option<usize> {
        self.nodes.iter().rposition(|node| node.span.holds(span))
    }

    /// The statement at a place, and nothing around it: the outer one where several have it.
    pub fn node_at(&self, span: Span) -> Option<usize> {
        self.nodes.iter().position(|node| node.span == span)
    }

    /// The function that a place is in.
    fn function_around(&self, span: Span) -> Option<&Function> {
        self.functions.iter().find(|function| function.span.holds(span))
    }

    /// The function of that name.
    pub fn function(&self, name: &str) -> impl Iterator<Item = &Function> {
        self.functions.iter().filter(move |function| function.name == name)
    }

    /// Where it is written what an operand is, and which object one is that is named beside it: there itself, or, for
    /// parameters of a function, in its calls.
    pub fn written(&self, sources: &SourceMap, operand: Span, object: &str) -> Vec<(Span, String)> {
        let mut found = Vec::new();
        let mut open = vec![(operand, object.to_owned())];
        while let Some((span, object)) = open.pop() {
            let text = sources.text(span).trim();
            let function = self.function_around(span);
            let place = |name: &str| function?.parameters.iter().position(|own| own == name);
            let (Some(function), Some(own)) = (function, place(text)) else {
                found.push((span, object));
                continue;
            };
            for call in self.calls.iter().filter(|call| call.function == function.name) {
                let Some(&argument) = call.arguments.get(own) else { continue };
                let beside = place(&object).and_then(|at| call.arguments.get(at));
                let named = beside.and_then(|&at| object_in(sources.text(at)));
                open.push((argument, named.map_or_else(|| object.clone(), str::to_owned)));
            }
        }
        found
    }

    /// The statements from which the function is called that a statement stands in, those that call it themselves first.
    pub fn calls_of(&self, node: usize) -> impl Iterator<Item = usize> {
        let mut found: Vec<usize> = Vec::new();
        let mut at = vec![node];
        while let Some(node) = at.pop() {
            let span = self.nodes[node].span;
            let name = self.function_around(span).map(|function| &function.name);
            let calls = self.calls.iter().filter(|call| Some(&call.function) == name).map(|call| call.node);
            let new: Vec<usize> = calls.filter(|call| !found.contains(call)).collect();
            found.extend(&new);
            at.extend(new);
        }
        found.into_iter()
    }

    /// A statement and those around it, innermost first.
    pub fn ancestors(&self, node: usize) -> Vec<usize> {
        std::iter::successors(Some(node), |&node| self.nodes[node].parent).collect()
    }

    /// The same, and then those around the calls by which threads come there.
    pub fn outwards(&self, node: usize) -> Vec<usize> {
        let mut found = self.ancestors(node);
        for call in self.calls_of(node) {
            let around = self.ancestors(call).into_iter().filter(|at| !found.contains(at));
            let around: Vec<usize> = around.collect();
            found.extend(around);
        }
        found.truncate(self.ancestors(node).len() + OUTWARDS_MAX);
        found
    }

    /// The statements of its block, and its place there.
    pub fn siblings(&self, node: usize) -> (&[usize], usize) {
        let (block, at) = self.nodes[node].block;
        (&self.blocks[block], at)
    }

    /// The instructions of a statement, those inside it included.
    pub fn inside(&self, node: usize) -> impl Iterator<Item = &Instruction> {
        let outer = self.nodes[node].span;
        self.instructions.iter().filter(move |instruction| outer.holds(instruction.span))
    }

    /// The functions that a statement calls, at once or by others.
    fn entered(&self, node: usize) -> Vec<Span> {
        let mut entered: Vec<Span> = Vec::new();
        let mut at = vec![self.nodes[node].span];
        while let Some(outer) = at.pop() {
            let called = self.calls.iter().filter(|call| outer.holds(self.nodes[call.node].span));
            let bodies = called.flat_map(|call| self.function(&call.function)).map(|function| function.span);
            let new: SortedSet<Span> = bodies.filter(|body| !entered.contains(body)).collect();
            entered.extend(&new);
            at.extend(new);
        }
        entered
    }

    /// The instructions of a statement, and of the functions that it calls, at once or by others.
    pub fn acts(&self, node: usize) -> Vec<&Instruction> {
        let mut found: Vec<&Instruction> = self.inside(node).collect();
        for body in self.entered(node) {
            found.extend(self.instructions.iter().filter(|own| body.holds(own.span)));
        }
        found
    }

    /// Whether a statement is nothing but a call of a function that orders or waits, and leaves nothing else behind; one that
    /// signals waits as well.
    pub fn is_synchronizing_call(&self, node: usize) -> bool {
        let acts = self.acts(node);
        let bodies = self.entered(node);
        let gives_signal = || acts.iter().any(|own| own.gives_signal());
        let leaves = |of: &Node| of.leaves && !of.calls && bodies.iter().any(|body| body.holds(of.span));
        self.nodes[node].calls
            && self.inside(node).next().is_none()
            && acts.iter().any(|own| own.only_looks() || own.synchronizes() && !gives_signal())
            && acts.iter().all(|own| own.synchronizes() || own.is_strong() || own.only_looks())
            && !self.nodes.iter().any(leaves)
    }

    /// Whether a statement is nothing but a call of a function that only orders, waits, and gives one signal at most.
    pub fn is_handover(&self, node: usize) -> bool {
        let of = &self.nodes[node];
        let acts = self.acts(node);
        let waits = |own: &Instruction| {
            let around = self.ancestors(own.node);
            own.only_looks() && own.is_strong() && around.iter().any(|&at| self.nodes[at].waits)
        };
        let n_signals = acts.iter().filter(|own| own.signals()).count();
        of.calls
            && !acts.is_empty()
            && n_signals <= 1
            && acts.iter().all(|own| {
                let is_of_phases = own.opcode.starts_with("mbarrier.") && !own.opcode.contains(".init");
                own.synchronizes() || own.signals() || is_of_phases || waits(own)
            })
    }

    /// Whether a statement, or one inside, does more than instructions do: what is so when it is left out is another thing.
    pub fn leaves_something(&self, node: usize) -> bool {
        let outer = self.nodes[node].span;
        self.nodes.iter().any(|inner| inner.leaves && outer.holds(inner.span))
    }

    /// Whether there is a call of a function in a statement without parts of its own.
    pub fn is_call(&self, span: Span) -> bool {
        self.calls
            .iter()
            .any(|call| self.nodes[call.node].span == span && self.nodes[call.node].kind == NodeKind::Plain)
    }

    /// The innermost loop with a counter around a statement.
    pub fn counted_around(&self, node: usize) -> Option<&Counted> {
        let around = self.ancestors(node);
        around.iter().find_map(|at| self.counted.iter().find(|counted| counted.node == *at))
    }

    /// Whether the statement is nothing but one instruction that synchronizes, or waits for one.
    pub fn is_synchronization(&self, node: usize) -> bool {
        let mut inside = self.inside(node);
        let only =
            self.nodes[node].kind == NodeKind::Plain && inside.next().is_some_and(Instruction::synchronizes);
        only && inside.next().is_none()
    }

    /// Whether what comes right before a statement only synchronizes.
    pub fn is_behind_synchronization(&self, node: usize) -> bool {
        let (siblings, at) = self.siblings(node);
        at.checked_sub(1).is_some_and(|before| self.is_synchronization(siblings[before]))
    }

    /// The statements of a kernel of a PTX module.
    fn import(&mut self, sources: &SourceMap, file: FileId, entry: &str) {
        let text = &sources.file(file).text;
        let Ok(module) = fencepost_dsl::ptx::parse(text, file) else { return };
        let Some(entry) = module.entry(entry) else { return };
        let compiled = Compiled::of(sources, file, entry, |span, own, begins| {
            let instruction = Instruction {
                opcode: own.opcode.text.clone(),
                opcode_span: own.opcode.span,
                span: own.span,
                operands: own.operands.iter().map(|operand| operand.span).collect(),
                objects: Vec::new(),
                memory: Vec::new(),
                node: 0,
            };
            self.compiled_statement(span, instruction, begins);
        });
        self.compiled.push(compiled);
    }

    /// A statement that is one instruction, in a block of its own if one begins with it.
    fn compiled_statement(&mut self, span: Span, instruction: Instruction, begins: bool) {
        if begins || self.blocks.is_empty() {
            self.blocks.push(Vec::new());
        }
        let (node, id) = (self.nodes.len(), self.blocks.len() - 1);
        let block = (id, self.blocks[id].len());
        self.blocks[id].push(node);
        let kind = NodeKind::Plain;
        self.nodes.push(Node {
            span,
            parent: None,
            block,
            kind,
            leaves: false,
            exits: false,
            calls: false,
            waits: false,
        });
        self.instructions.push(Instruction { node, ..instruction });
    }

    fn block(&mut self, block: &Block, parent: Option<usize>) {
        let id = self.blocks.len();
        self.blocks.push(Vec::new());
        for (at, statement) in block.statements.iter().enumerate() {
            let node = self.nodes.len();
            self.blocks[id].push(node);
            self.statement(statement, parent, (id, at));
        }
    }

    fn statement(&mut self, statement: &Statement, parent: Option<usize>, block: (usize, usize)) {
        let node = self.nodes.len();
        let kind = match &statement.kind {
            StatementKind::If { condition, .. } => NodeKind::Branch { condition: condition.place.0 },
            StatementKind::For { .. } | StatementKind::While { .. } | StatementKind::Loop(_) => {
                NodeKind::Loop
            }
            StatementKind::Launch { .. }
            | StatementKind::Object(_)
            | StatementKind::View(_)
            | StatementKind::Final(_)
            | StatementKind::Client { .. }
            | StatementKind::Host(_)
            | StatementKind::Setting(_)
            | StatementKind::Error => NodeKind::Declaration,
            _ => NodeKind::Plain,
        };
        let leaves = match &statement.kind {
            StatementKind::Assign { .. }
            | StatementKind::Assert(_)
            | StatementKind::Assume(_)
            | StatementKind::Reachable(_)
            | StatementKind::Exit
            | StatementKind::Return(_) => true,
            StatementKind::Expr(expr) => matches!(expr.kind, ExprKind::Call { .. }),
            _ => false,
        };
        let waits = matches!(&statement.kind, StatementKind::Await(_) | StatementKind::While { .. });
        let calls = matches!(&statement.kind, StatementKind::Expr(expr) if matches!(expr.kind, ExprKind::Call { .. }));
        let exits = matches!(&statement.kind, StatementKind::Exit);
        self.nodes.push(Node { span: statement.place.0, parent, block, kind, leaves, exits, calls, waits });
        self.named(statement, node);
        values::of_statement(statement, node, &mut self.values);
        match &statement.kind {
            StatementKind::Let { value, pattern: Pattern::One(_) | Pattern::Vector(_), .. }
            | StatementKind::Var { value, .. }
            | StatementKind::Assign { value, .. } => self.expr(value, node),
            StatementKind::Expr(expr)
            | StatementKind::Await(expr)
            | StatementKind::Assert(expr)
            | StatementKind::Assume(expr)
            | StatementKind::Return(Some(expr)) => self.expr(expr, node),
            StatementKind::If { condition, then, otherwise } => {
                self.expr(condition, node);
                self.block(then, Some(node));
                match otherwise {
                    Some(Else::Block(block)) => self.block(block, Some(node)),
                    Some(Else::If(inner)) => {
                        let id = self.blocks.len();
                        self.blocks.push(vec![self.nodes.len()]);
                        self.statement(inner, Some(node), (id, 0));
                    }
                    None => {}
                }
            }
            StatementKind::While { condition, body } => {
                self.expr(condition, node);
                self.block(body, Some(node));
            }
            StatementKind::For { body, .. } | StatementKind::Loop(body) => self.block(body, Some(node)),
            StatementKind::Client { body, .. } => self.block(body, Some(node)),
            _ => {}
        }
    }

    /// What a statement gives a name to.
    fn named(&mut self, statement: &Statement, node: usize) {
        match &statement.kind {
            StatementKind::Let { value, pattern: Pattern::One(Some(name)), .. } => {
                self.bindings.push(Binding { name: name.text.clone(), value: value.place.0, node });
            }
            StatementKind::Assign { name, value, .. } => {
                self.assigned.push(Binding { name: name.text.clone(), value: value.place.0, node });
            }
            StatementKind::For { name, range, .. } => self.counted.push(Counted {
                variable: name.text.clone(),
                end: range.end.place.0,
                inclusive: range.inclusive,
                node,
            }),
            StatementKind::Object(object) => self.object(object),
            _ => {}
        }
    }

    fn object(&mut self, object: &Object) {
        let is_multimem = object.replication == Replication::Multimem;
        self.objects.push(Declared {
            name: object.name.text.clone(),
            dimensions: object.dimensions.iter().map(|size| size.place.0).collect(),
            ty: object.ty.text.clone(),
            copies_of: object.alias.as_ref().filter(|_| is_multimem).map(|name| name.text.clone()),
        });
    }

    fn expr(&mut self, expr: &Expr, node: usize) {
        match &expr.kind {
            ExprKind::Instruction { opcode, operands } => {
                let mut objects = Vec::new();
                let mut addresses = Vec::new();
                for operand in operands {
                    match operand {
                        Operand::Memory(memory) => {
                            objects.push(memory.name.text.clone());
                            addresses.push(Memory {
                                name: memory.name.text.clone(),
                                span: memory.place.0,
                                indices: memory.indices.iter().map(|index| index.place.0).collect(),
                                rank: memory.rank.as_ref().map(|rank| rank.place.0),
                            });
                        }
                        Operand::Tensor(tensor) => objects.push(tensor.map.name.text.clone()),
                        Operand::Expr(expr) => self.expr(expr, node),
                        Operand::Vector(elements) => elements.iter().for_each(|expr| self.expr(expr, node)),
                        Operand::Sink(_) => {}
                    }
                }
                self.instructions.push(Instruction {
                    opcode: opcode.text.clone(),
                    opcode_span: opcode.place.0,
                    span: expr.place.0,
                    operands: operands.iter().filter_map(place).collect(),
                    objects,
                    memory: addresses,
                    node,
                });
            }
            ExprKind::Call { function, arguments } => {
                let arguments = arguments.as_slice();
                self.calls.push(Call {
                    function: function.text.clone(),
                    node,
                    arguments: arguments.iter().map(|expr| expr.place.0).collect(),
                });
                arguments.iter().for_each(|expr| self.expr(expr, node));
            }
            ExprKind::Unary(_, inner) | ExprKind::Cast(inner, _) => self.expr(inner, node),
            ExprKind::Binary(_, left, right) => {
                [left, right].into_iter().for_each(|expr| self.expr(expr, node))
            }
            ExprKind::Select(condition, then, otherwise) => {
                [condition, then, otherwise].into_iter().for_each(|expr| self.expr(expr, node));
            }
            _ => {}
        }
    }
}

/// The object that a reference argument names.
fn object_in(argument: &str) -> Option<&str> {
    let inner = argument.trim_start_matches('&');
    let inner = inner.strip_prefix("mapa(").or(inner.strip_prefix("peer(")).unwrap_or(inner);
    inner.trim_start_matches('&').split(|c: char| !c.is_alphanumeric() && c != '_').next()
}

fn place(operand: &Operand) -> Option<Span> {
    match operand {
        Operand::Memory(ast::Memory { place, .. }) | Operand::Sink(place) => Some(place.0),
        Operand::Tensor(tensor) => Some(tensor.place.0),
        Operand::Expr(expr) => Some(expr.place.0),
        Operand::Vector(elements) => Some(elements.first()?.place.0.to(elements.last()?.place.0)),
    }
}
