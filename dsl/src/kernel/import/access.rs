//! Instructions that act on memory or threads: by the rows of the kernel language, which say what their words mean and which
//! operands they take. What belongs to a thread alone, local memory and parameters, is no memory to the model.

use super::Role;
use super::lower::Lower;
use super::value::{Read, written};
use crate::diagnostic::Diagnostic;
use crate::kernel::ast::{self, Expr, ExprKind, Place};
use crate::kernel::isa;
use crate::kernel::program::flat::{FlatSpace, LOCAL_WINDOW, SHARED_WINDOW};
use crate::kernel::program::{
    AccessOp, Address, AddressBase, ElementKind, Expression, Instruction as Resolved, RegisterId,
    ResolvedOperand, Width,
};
use crate::kernel::resolve::instruction::Results;
use crate::ptx::module::{Instruction, Operand, OperandKind, Type};
use crate::span::Span;
use crate::vocabulary::{Scope, Sem};

impl Lower<'_, '_> {
    /// Resolves an instruction that does not only compute.
    pub(super) fn act(&mut self, instruction: &Instruction, words: &[&str]) -> Read<()> {
        let is_param = words.iter().any(|word| word.split(':').next() == Some("param"));
        match words[0] {
            "ld" | "st" if words.contains(&"local") => self.private(instruction, words),
            "ld" | "st" if is_param && self.is_of_call(instruction) => self.private(instruction, words),
            // What nobody loads: of a function that has no body here.
            "st" if is_param && instruction.operands.iter().any(|operand| operand.place().is_some()) => {
                Ok(())
            }
            "ld" if is_param => self.load_parameter(instruction, words),
            // Nobody writes it while a kernel runs.
            "ld" if words.contains(&"const") => {
                let mut of_global = instruction.clone();
                of_global.opcode.text = instruction.opcode.text.replace(".const", ".global");
                let words: Vec<&str> = of_global.opcode.text.split('.').collect();
                self.by_row(&of_global, &words)
            }
            "tcgen05" if !matches!(words.get(1), Some(&("fence" | "commit_group" | "wait_group"))) => {
                let help = "its operands are numbers that name matrices; write the synchronization as a kernel, with the tiles as objects";
                Err(not_checked(instruction, help))
            }
            // Which numbers are added up, the host says where it encodes the map.
            "cp" if words.contains(&"reduce") && words.contains(&"tensor") => {
                let help = "what the elements are is said by the tensor map alone; write the synchronization as a kernel, with the tensor as an object";
                Err(not_checked(instruction, help))
            }
            _ => self.by_row(instruction, words),
        }
    }

    /// The elements of a vector, or one.
    pub(super) fn elements(operand: &Operand) -> &[Operand] {
        match &operand.kind {
            OperandKind::Vector(elements) => elements,
            _ => std::slice::from_ref(operand),
        }
    }

    /// Both operands of a load or a store.
    pub(super) fn two_operands(instruction: &Instruction) -> Read<[&Operand; 2]> {
        match instruction.operands.as_slice() {
            [first, second] => Ok([first, second]),
            _ => {
                let message = format!("`{}` takes two operands", instruction.opcode.text);
                Err(Box::new(Diagnostic::new(
                    "syntax::ptx",
                    message,
                    instruction.span,
                    "its operands are others",
                )))
            }
        }
    }

    /// Whether a parameter is one that is passed to a function: a variable of the thread.
    fn is_of_call(&self, instruction: &Instruction) -> bool {
        let mut places = instruction.operands.iter().filter_map(Operand::place);
        places.any(|(name, _)| self.variables.contains_key(name))
    }

    /// `ld.local`, `st.local`, and what is passed to functions: bytes of the thread, which no model speaks of.
    fn private(&mut self, instruction: &Instruction, words: &[&str]) -> Read<()> {
        let [first, second] = Self::two_operands(instruction)?;
        let ty = type_of(words);
        let is_load = words[0] == "ld";
        let (memory, values) = if is_load { (second, first) } else { (first, second) };
        let index = self.address_in(memory, Some(LOCAL_WINDOW))?;
        let (element, space) = (ElementKind::Data, FlatSpace::Private);
        let base = AddressBase::Flat { width: ty.width, element, space };
        let address = Address { span: memory.span, base, indices: vec![index], rank: None, device: None };
        let operands = vec![ResolvedOperand::Memory(address.clone())];
        let (sem, scope) = (Sem::Weak, Scope::Cta);
        if is_load {
            let elements = Self::elements(values);
            let registers: Vec<Option<RegisterId>> =
                elements.iter().map(|_| Some(self.body.generate(ty.width))).collect();
            let destinations = registers.clone();
            let kind = AccessOp::Load { destinations, address, sem, scope, non_coherent: false };
            self.push_access(instruction, kind, (registers.clone(), operands));
            for (element, register) in elements.iter().zip(registers) {
                let register = register.unwrap_or(RegisterId(0));
                self.assign(element, self.register_value(register, element.span), ty.kind == 's')?;
            }
            return Ok(());
        }
        let values: Read<Vec<Expression>> =
            Self::elements(values).iter().map(|value| self.value(value, ty.width)).collect();
        let values = values?;
        let operands =
            operands.into_iter().chain(values.iter().cloned().map(ResolvedOperand::Value)).collect();
        self.push_access(
            instruction,
            AccessOp::Store { values, address, sem, scope },
            (Vec::new(), operands),
        );
        Ok(())
    }

    pub(super) fn push_access(
        &mut self,
        instruction: &Instruction,
        operation: AccessOp,
        taken: (Vec<Option<RegisterId>>, Vec<ResolvedOperand>),
    ) {
        let kind = operation.into();
        let form = isa::litmus_form(&kind);
        let opcode = (instruction.opcode.text.clone(), instruction.opcode.span);
        let kind = Resolved::statement(opcode, form, kind, taken);
        self.body.push(instruction.span, kind);
    }

    /// An instruction that a row says everything of.
    fn by_row(&mut self, instruction: &Instruction, words: &[&str]) -> Read<()> {
        let opcode =
            ast::Name { text: instruction.opcode.text.clone(), place: Place(instruction.opcode.span) };
        let has_result = self.body.has_result(&opcode)?;
        // The number of a policy is a fraction, whatever the policy is.
        let ty = match words[0] {
            "createpolicy" => Type { kind: 'f', width: 32 },
            _ => type_of(words),
        };
        self.body.given.operands.clear();
        let mut operands = instruction.operands.as_slice();
        let mut destinations: Vec<&Operand> = Vec::new();
        let mut is_vector = false;
        if has_result
            && let [first, rest @ ..] = operands
            && !matches!(first.kind, OperandKind::Memory(_))
        {
            operands = rest;
            match &first.kind {
                OperandKind::Pair(one, other) => {
                    destinations.extend([&**one, &**other]);
                    is_vector = true;
                }
                OperandKind::Vector(elements) => {
                    destinations.extend(elements);
                    is_vector = true;
                }
                _ => destinations.push(first),
            }
        }
        let operands: Read<Vec<ast::Operand>> = operands
            .iter()
            .zip(roles(operands, words, ty))
            .map(|(operand, role)| self.row_operand(operand, role, ty))
            .collect();
        let operands = operands?;
        // What no instruction reads is not named: such a load is no part of a race.
        let is_load = words[0] == "ld";
        let name = |operand: &Operand| match &operand.kind {
            OperandKind::Name(name) => written(name) != "_" && (!is_load || self.read.contains(name)),
            _ => true,
        };
        let names: Vec<Option<String>> =
            destinations.iter().map(|operand| name(operand).then(String::new)).collect();
        let results = match names.as_slice() {
            [] => Results::Nothing,
            // One element in braces is a scalar to the opcode.
            [one] if !is_vector || !words.iter().any(|word| matches!(*word, "v2" | "v4" | "v8")) => {
                Results::One(one.as_deref())
            }
            all => Results::Vector(all),
        };
        let registers = self.body.resolve_given(&opcode, &operands, instruction.span, results)?;
        for (destination, register) in destinations.into_iter().zip(registers) {
            if let Some(register) = register {
                let value = self.register_value(register, destination.span);
                self.assign(destination, value, ty.kind == 's')?;
            }
        }
        Ok(())
    }

    /// An operand, for a row to take.
    fn row_operand(&mut self, operand: &Operand, role: Option<Role>, ty: Type) -> Read<ast::Operand> {
        let place = Place(operand.span);
        Ok(match &operand.kind {
            OperandKind::Memory(parts) if parts.len() == 1 => {
                let space = role.map_or(FlatSpace::Generic, |role| role.space);
                let window = match space {
                    FlatSpace::Shared | FlatSpace::Cluster => Some(SHARED_WINDOW),
                    FlatSpace::Generic | FlatSpace::Global | FlatSpace::Private => None,
                };
                let address = self.address_in(operand, window)?;
                let index = self.give((address, role), operand.span);
                let name = ast::Name { text: "address".to_owned(), place };
                ast::Operand::Memory(ast::Memory {
                    place,
                    name,
                    indices: vec![index],
                    rank: None,
                    device: None,
                })
            }
            // A box of a tensor.
            OperandKind::Memory(parts)
                if is_box(parts) && role.is_some_and(|role| role.element == ElementKind::Tensormap) =>
            {
                let map = Operand { span: operand.span, kind: OperandKind::Memory(vec![parts[0].clone()]) };
                let ast::Operand::Memory(map) = self.row_operand(&map, role, ty)? else {
                    return Err(unsupported("unsupported::ptx-operand", NO_SHAPE.to_owned(), operand.span));
                };
                let mut coordinates = Vec::new();
                for coordinate in Self::elements(&parts[1]) {
                    let value = self.value(coordinate, 32)?;
                    coordinates.push(self.give((value, None), coordinate.span));
                }
                ast::Operand::Tensor(ast::TensorOperand { place, map, coordinates })
            }
            OperandKind::Memory(_) | OperandKind::Group(_) | OperandKind::Pair(..) => {
                let message = NO_SHAPE;
                return Err(unsupported("unsupported::ptx-operand", message.to_owned(), operand.span));
            }
            OperandKind::Vector(elements) if elements.len() == 1 => {
                let value = self.natural(&elements[0], ty.width)?;
                ast::Operand::Expr(self.give((value, None), elements[0].span))
            }
            OperandKind::Vector(elements) => {
                let mut given = Vec::new();
                for element in elements {
                    let value = self.natural(element, ty.width)?;
                    given.push(self.give((value, None), element.span));
                }
                ast::Operand::Vector(given)
            }
            OperandKind::Name(name) if written(name) == "_" => ast::Operand::Sink(place),
            _ => {
                let value = self.natural(operand, ty.width.max(32))?;
                ast::Operand::Expr(self.give((value, None), operand.span))
            }
        })
    }

    fn give(&mut self, given: (Expression, Option<Role>), span: Span) -> Expr {
        self.body.given.operands.push(given);
        Expr::new(Place(span), ExprKind::Given(self.body.given.operands.len() - 1))
    }
}

/// Said of operands that no row takes.
const NO_SHAPE: &str = "an operand of this shape is not checked by this version";

/// `[map, {x, y}]`
fn is_box(parts: &[Operand]) -> bool {
    matches!(parts, [_, Operand { kind: OperandKind::Vector(_), .. }])
}

fn not_checked(instruction: &Instruction, help: &str) -> Box<Diagnostic> {
    let message =
        format!("`{}` of a compiled kernel is not checked by this version", instruction.opcode.text);
    let error = Diagnostic::new("unsupported::instruction", message, instruction.span, "a thread comes here");
    Box::new(error.with_help(help))
}

fn unsupported(code: &'static str, message: String, span: Span) -> Box<Diagnostic> {
    Box::new(Diagnostic::new(code, message, span, "here"))
}

/// The type that an access has; bytes if its opcode names none.
pub(super) fn type_of(words: &[&str]) -> Type {
    let last = words.iter().rev().find_map(|word| Type::parse(word));
    last.unwrap_or(Type { kind: 'b', width: 8 as Width })
}

/// What the addresses of an instruction are the addresses of: those of asynchronous copies in the order in which the opcode
/// names their state spaces, and then an mbarrier.
fn roles(operands: &[Operand], words: &[&str], ty: Type) -> Vec<Option<Role>> {
    let spaces: Vec<FlatSpace> = words
        .iter()
        .filter_map(|word| match *word {
            "global" => Some(FlatSpace::Global),
            "shared" | "shared::cta" => Some(FlatSpace::Shared),
            "shared::cluster" => Some(FlatSpace::Cluster),
            _ => None,
        })
        .collect();
    let space = |number: usize| spaces.get(number).copied().unwrap_or(FlatSpace::Generic);
    let is_copy = matches!(words, ["cp", "async" | "reduce", ..]);
    let mbarrier = |space: FlatSpace| Role { width: 64, element: ElementKind::Mbarrier, space };
    // Bytes that are copied are looked at by words, which all sizes of copies are multiples of; boxes are multiples of 16.
    let is_tensor = is_copy && words.contains(&"tensor");
    let width = match (is_copy, is_tensor) {
        (_, true) => 64,
        (true, _) => 32,
        _ => ty.width,
    };
    let map = Role { width: 64, element: ElementKind::Tensormap, space: FlatSpace::Generic };
    let data = |space: FlatSpace| Role { width, element: ElementKind::Data, space };
    let mut number = 0;
    let of_memory = |number: usize| match words {
        ["mbarrier", ..] | ["cp", "async", "mbarrier", ..] => mbarrier(space(0)),
        ["clusterlaunchcontrol", ..] if number == 1 => mbarrier(space(0)),
        // The mbarrier of a copy is in the shared memory that is written.
        ["cp", ..] if number == 2 => mbarrier(space(0)),
        ["st" | "red", "async", ..] if number == 1 => mbarrier(FlatSpace::Cluster),
        ["st" | "red", "async", ..] => data(FlatSpace::Cluster),
        ["cp", ..] => data(space(number)),
        _ => data(space(0)),
    };
    let mut of_operand = |operand: &Operand| match &operand.kind {
        OperandKind::Memory(parts) => {
            number += 1;
            Some(if is_tensor && is_box(parts) { map } else { of_memory(number - 1) })
        }
        _ => None,
    };
    operands.iter().map(&mut of_operand).collect()
}
