//! The body of a PTX kernel as statements.

use super::bits::At;
use super::compute::computes;
use super::harness::Harness;
use super::idle;
use super::product::{Tuples, is_product};
use super::resized;
use super::value::{Read, written};
use crate::diagnostic::Diagnostic;
use crate::flow::{self, Label};
use crate::kernel::program::{Expression, Register, RegisterId, Statement, StatementKind, Width};
use crate::kernel::resolve::Body;
use crate::ptx::module::{Function, Instruction, Item, Module, Name, Operand, OperandKind, Type};
use crate::sorted::SortedSet;
use crate::span::Span;
use rustc_hash::{FxHashMap, FxHashSet};

/// A body being lowered.
pub(super) struct Lower<'l, 'c> {
    pub(super) body: &'l mut Body<'c>,
    pub(super) entry: &'l Function,
    pub(super) harness: &'l Harness,
    /// Registers that were named so far.
    registers: FxHashMap<String, RegisterId>,
    /// Registers without number, and beginnings of those with one, with the scope that declares them.
    declared: FxHashMap<(String, u32), (Type, Option<u32>)>,
    /// What the name of a variable stands for, and how many bits that has: its address in its own state space.
    pub(super) variables: FxHashMap<String, (u64, Width)>,
    /// Parameters of the kernel by name.
    pub(super) parameters: FxHashMap<String, usize>,
    /// Names that some instruction reads, as operand, in an address or as its guard.
    pub(super) read: FxHashSet<String>,
    /// Registers of matrix operations.
    pub(super) tuples: Tuples,
    pub(super) module: &'l Module,
    /// The labels of `.branchtargets`, by the name of the list.
    pub(super) targets: FxHashMap<&'l str, &'l [Name]>,
    /// Parameters that have fields, whose addresses are taken.
    pub(super) taken: SortedSet<usize>,
}

impl<'l, 'c> Lower<'l, 'c> {
    pub(super) fn new(
        body: &'l mut Body<'c>,
        module: &'l Module,
        entry: &'l Function,
        harness: &'l Harness,
        variables: FxHashMap<String, (u64, Width)>,
    ) -> Self {
        let declared = entry
            .registers
            .iter()
            .map(|registers| {
                ((registers.name.text.clone(), registers.scope), (registers.ty, registers.count))
            })
            .collect();
        let parameters = entry.parameters.iter().enumerate();
        let parameters =
            parameters.map(|(number, parameter)| (parameter.name.text.clone(), number)).collect();
        let registers = FxHashMap::default();
        let (read, tuples) = (read_names(entry), Tuples::of_entry(entry));
        let lists = entry.body.iter().filter_map(|item| match item {
            Item::Targets { label, names, .. } => Some((label.text.as_str(), names.as_slice())),
            Item::Label(_) | Item::Instruction(_) => None,
        });
        let (targets, taken) = (lists.collect(), SortedSet::new());
        Self {
            body,
            entry,
            harness,
            registers,
            declared,
            variables,
            parameters,
            read,
            tuples,
            module,
            targets,
            taken,
        }
    }

    /// The type that a register is declared with.
    fn declared(&self, name: &str) -> Option<Type> {
        let (own, scope) = name.split_once('@').unwrap_or((name, "0"));
        let scope = scope.parse().ok()?;
        if let Some((ty, None)) = self.declared.get(&(own.to_owned(), scope)) {
            return Some(*ty);
        }
        let prefix = own.trim_end_matches(|c: char| c.is_ascii_digit());
        let number: u32 = own[prefix.len()..].parse().ok()?;
        match self.declared.get(&(prefix.to_owned(), scope)) {
            Some((ty, Some(count))) if number < *count => Some(*ty),
            _ => None,
        }
    }

    /// The register of a name, if it is one.
    pub(super) fn register(&mut self, name: &str) -> Option<RegisterId> {
        if let Some(&register) = self.registers.get(name) {
            return Some(register);
        }
        let ty = self.declared(name)?;
        let register = self.body.registers.push(Register { name: written(name).to_owned(), width: ty.width });
        self.registers.insert(name.to_owned(), register);
        Some(register)
    }

    /// All registers of the text that were named.
    pub(super) fn named(&self) -> Vec<RegisterId> {
        let mut named: Vec<RegisterId> = self.registers.values().copied().collect();
        named.sort_unstable();
        named
    }

    /// How wide an operand is that takes a result.
    pub(super) fn width_of(&mut self, operand: &Operand) -> Width {
        match &operand.kind {
            OperandKind::Name(name) => {
                self.register(name).map_or(32, |register| self.body.registers[register].width)
            }
            OperandKind::Pair(first, _) => self.width_of(first),
            _ => 32,
        }
    }

    pub(super) fn push_assign(&mut self, register: RegisterId, value: Expression, span: Span) {
        let value = resized(value, self.body.registers[register].width);
        self.body.push(span, StatementKind::Assign { register, value });
    }

    /// Gives a register a value, extended or truncated to its width.
    pub(super) fn assign(&mut self, destination: &Operand, value: Expression, is_signed: bool) -> Read<()> {
        let OperandKind::Name(name) = &destination.kind else {
            let message = "a result goes into a register";
            return Err(Box::new(Diagnostic::new(
                "syntax::ptx",
                message,
                destination.span,
                "not a register",
            )));
        };
        if written(name) == "_" {
            return Ok(());
        }
        let Some(register) = self.register(name) else {
            let message = format!("`{}` is not declared", written(name));
            return Err(Box::new(Diagnostic::new(
                "resolve::unknown-name",
                message,
                destination.span,
                "unknown name",
            )));
        };
        let width = self.body.registers[register].width;
        let value = At(destination.span).extended(value, width, is_signed);
        self.push_assign(register, value, destination.span);
        Ok(())
    }

    /// The statements of the whole body.
    pub(super) fn run(&mut self) -> Vec<Statement> {
        let mut items = Vec::new();
        let entry = self.entry;
        for item in &idle::without(&entry.body, entry.end) {
            match item {
                Item::Label(name) => {
                    self.tuples.forget();
                    items.push(flow::Item::Label(label(name)));
                }
                Item::Targets { .. } => {}
                Item::Instruction(instruction) => self.instruction(instruction, &mut items),
            }
        }
        let next = self.body.registers.push(Register { name: "%next".to_owned(), width: 32 });
        match flow::structure(items, entry.end, next, self.body.loops()) {
            Ok(statements) => statements,
            Err(error) => {
                self.body.report(error);
                Vec::new()
            }
        }
    }

    fn instruction(&mut self, instruction: &Instruction, items: &mut Vec<flow::Item>) {
        let guard = match &instruction.guard {
            None => None,
            Some((name, is_negated)) => match self.guard(name, *is_negated) {
                Ok(guard) => Some(guard),
                Err(error) => {
                    self.body.report(*error);
                    return;
                }
            },
        };
        let words: Vec<&str> = instruction.opcode.text.split('.').collect();
        let span = instruction.span;
        // The grid ends in an error, so what its threads would do then is nothing that is asked; they go on, as behind an
        // `assert`, and a loop does not look as if it could be left here.
        if let ("trap", Some(condition)) = (words[0], &guard) {
            let kind = StatementKind::Assert(At(span).not(condition.clone()));
            items.push(flow::Item::Plain(Box::new(Statement { span, kind })));
            return;
        }
        match words[0] {
            "bra" => match instruction.operands.as_slice() {
                [Operand { kind: OperandKind::Name(text), span }] => {
                    let label = Label { text: text.clone(), span: *span };
                    items.push(flow::Item::Jump { label, condition: guard });
                }
                _ => {
                    let message = "`bra` takes one label";
                    self.body.report(Diagnostic::new(
                        "syntax::ptx",
                        message,
                        span,
                        "its operands are others",
                    ));
                }
            },
            "brx" => {
                if let Err(error) = self.branch(instruction, guard, items) {
                    self.body.report(*error);
                }
            }
            "ret" | "exit" if guard.is_none() => items.push(flow::Item::End(span)),
            _ => {
                let is_trap = words[0] == "trap";
                let body = self.body.collect(|_| ()).0;
                debug_assert!(body.is_empty(), "nothing is left over");
                let (mut statements, result) = self.collect(|this| {
                    this.touch(instruction);
                    this.plain(instruction, &words)
                });
                if !instruction.calls.is_empty() {
                    statements.iter_mut().for_each(|statement| note_calls(statement, &instruction.calls));
                }
                let statements = match result {
                    Ok(()) => statements,
                    Err(error) if error.code.starts_with("unsupported::") => {
                        vec![Statement { span, kind: StatementKind::Unsupported(error) }]
                    }
                    Err(error) => {
                        self.body.report(*error);
                        return;
                    }
                };
                match guard {
                    None => items.extend(
                        statements.into_iter().map(|statement| flow::Item::Plain(Box::new(statement))),
                    ),
                    Some(condition) => {
                        let kind = StatementKind::If { condition, then: statements, otherwise: Vec::new() };
                        items.push(flow::Item::Plain(Box::new(Statement { span, kind })));
                    }
                }
                if is_trap {
                    items.push(flow::Item::End(span));
                }
            }
        }
    }

    pub(super) fn collect<T>(&mut self, resolve: impl FnOnce(&mut Self) -> T) -> (Vec<Statement>, T) {
        let outer = std::mem::take(&mut self.body.out);
        let value = resolve(self);
        (std::mem::replace(&mut self.body.out, outer), value)
    }

    fn guard(&mut self, name: &Name, is_negated: bool) -> Read<Expression> {
        let operand = Operand { span: name.span, kind: OperandKind::Name(name.text.clone()) };
        let value = self.value(&operand, 1)?;
        Ok(if is_negated { At(name.span).not(value) } else { value })
    }

    /// An instruction that goes on to the next one.
    fn plain(&mut self, instruction: &Instruction, words: &[&str]) -> Read<()> {
        let span = instruction.span;
        match words[0] {
            "trap" => {
                // The kernel ends in an error here.
                let never = At(span).constant(0, 1);
                self.body.push(span, StatementKind::Assert(never));
                self.body.push(span, StatementKind::Exit);
                Ok(())
            }
            "ret" | "exit" => {
                self.body.push(span, StatementKind::Exit);
                Ok(())
            }
            "brkpt" => Ok(()),
            "call" => self.call(instruction),
            mnemonic if computes(mnemonic) => self.compute(instruction, words),
            _ if Self::is_matrix(words) => self.matrix(instruction, words),
            _ if is_product(&instruction.opcode.text) => self.product(instruction, words),
            _ => self.act(instruction, words),
        }
    }
}

/// Notes which calls lead to a statement.
fn note_calls(statement: &mut Statement, calls: &[Span]) {
    match &mut statement.kind {
        StatementKind::Instruction(instruction) => instruction.calls = calls.to_vec(),
        StatementKind::If { then, otherwise, .. } => {
            then.iter_mut().chain(otherwise).for_each(|inner| note_calls(inner, calls));
        }
        _ => {}
    }
}

fn label(name: &Name) -> Label {
    Label { text: name.text.clone(), span: name.span }
}

/// The names that instructions read. Whoever is not known to write its first operand counts as reading it.
fn read_names(entry: &Function) -> FxHashSet<String> {
    let mut read = FxHashSet::default();
    for instruction in entry.instructions() {
        if let Some((name, _)) = &instruction.guard {
            read.insert(name.text.clone());
        }
        let mnemonic = instruction.mnemonic();
        let writes_first = computes(mnemonic) || matches!(mnemonic, "ld" | "ldu" | "atom" | "ldmatrix");
        let operands = instruction.operands.iter().skip(usize::from(writes_first));
        operands.for_each(|operand| operand.each_name(&mut |name| _ = read.insert(name.to_owned())));
    }
    read
}
