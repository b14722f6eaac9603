//! One cell of a column: an opcode and its operands.

use super::ast::{Comparison, Name, Operand, OperandKind};
use super::resolve::{Resolver, WIDTH, compare, is_register, number};
use crate::diagnostic::Diagnostic;
use crate::flow::{Item, Label};
use crate::kernel::isa;
use crate::kernel::program::{
    AccessOp, Address, AddressBase, AtomicOp, BarrierKind, BinaryOp, Expression, ExpressionKind, Instruction,
    InstructionKind, ObjectId, ProxyFenceKind, RegisterId, ResolvedOperand, Statement, StatementKind,
    UnaryOp,
};
use crate::span::Span;
use crate::vocabulary::{FenceSem, Proxy, Scope, Sem};

/// Stands for "no id": such barriers meet by their instance alone.
const NO_ID: u64 = u32::MAX as u64;

impl Resolver {
    /// What a cell does; `None` after an error, or if it does nothing.
    pub fn instruction(&mut self, opcode: &Name, operands: &[Operand], span: Span) -> Option<Item> {
        let parts: Vec<&str> = opcode.text.split('.').collect();
        if let Some(item) = self.control(&parts, opcode, operands, span) {
            return item;
        }
        self.taken = (Vec::new(), Vec::new());
        let mut kind = match parts.as_slice() {
            ["ld"] | ["add" | "sub" | "mul" | "div"] => self.arithmetic(&parts, opcode, operands)?,
            ["ld" | "tld" | "suld" | "cold", strength @ ..] => self.load(strength, opcode, operands)?,
            ["st" | "sust", strength @ ..] => self.store(strength, opcode, operands)?,
            ["atom" | "suatom", sem, scope, op] => self.atomic((sem, scope, op), opcode, operands)?,
            ["red" | "sured", sem, scope, op] => self.reduction((sem, scope, op), opcode, operands)?,
            ["fence", "proxy", kind] => {
                let kind = match (*kind, Proxy::from_name(kind)) {
                    ("alias", _) => InstructionKind::AliasFence,
                    (_, Some(proxy)) => InstructionKind::ProxyFence(ProxyFenceKind::Formal { proxy }),
                    _ => return self.unknown(opcode),
                };
                self.plain(opcode, operands, kind)?
            }
            ["fence", sem, scope] => {
                let Some(sem) = FenceSem::from_name(sem) else { return self.unknown(opcode) };
                let scope = self.scope(scope, opcode)?;
                self.plain(opcode, operands, InstructionKind::Fence { sem, scope, restrict: None })?
            }
            ["bar", "cta", form @ ("sync" | "arrive")] => self.barrier(form, opcode, operands)?,
            _ => return self.unknown(opcode),
        };
        if let StatementKind::Instruction(instruction) = &mut kind {
            (instruction.results, instruction.operands) = std::mem::take(&mut self.taken);
        }
        Some(Item::Plain(Box::new(Statement { span, kind })))
    }

    /// Jumps; the outer `None` says that it is none.
    fn control(
        &mut self,
        parts: &[&str],
        opcode: &Name,
        operands: &[Operand],
        span: Span,
    ) -> Option<Option<Item>> {
        let op = match parts {
            ["goto"] => {
                let [target] = operands else { return Some(self.wrong_operands(opcode, "a label")) };
                return Some(self.label(target).map(|label| Item::Jump { label, condition: None }));
            }
            ["beq"] => Comparison::Equal,
            ["bne"] => Comparison::NotEqual,
            ["bge"] => Comparison::GreaterEqual,
            ["ble"] => Comparison::LessEqual,
            ["bgt"] => Comparison::Greater,
            ["blt"] => Comparison::Less,
            _ => return None,
        };
        let [left, right, target] = operands else {
            return Some(self.wrong_operands(opcode, "two values and a label"));
        };
        let (left, right, label) = (self.value(left), self.value(right), self.label(target));
        Some(match (left, right, label) {
            (Some(left), Some(right), Some(label)) => {
                Some(Item::Jump { label, condition: Some(compare(op, left, right, span)) })
            }
            _ => None,
        })
    }

    fn arithmetic(&mut self, parts: &[&str], opcode: &Name, operands: &[Operand]) -> Option<StatementKind> {
        let op = match parts {
            ["ld"] => {
                let [target, value] = operands else {
                    return self.wrong_operands(opcode, "a register and a value");
                };
                let (register, value) = (self.target(target)?, self.value(value)?);
                return Some(StatementKind::Assign { register, value });
            }
            ["add"] => BinaryOp::Add,
            ["sub"] => BinaryOp::Subtract,
            ["mul"] => BinaryOp::Multiply,
            _ => {
                let message = format!("signed `{}` is not checked by this version", opcode.text);
                self.error("unsupported::instruction", message, opcode.span, "this instruction");
                return None;
            }
        };
        let [target, left, right] = operands else {
            return self.wrong_operands(opcode, "a register and two values");
        };
        let (register, left, right) = (self.target(target)?, self.value(left)?, self.value(right)?);
        let span = left.span.to(right.span);
        let kind = ExpressionKind::Binary(op, Box::new(left), Box::new(right));
        Some(StatementKind::Assign { register, value: Expression { span, width: WIDTH, kind } })
    }

    fn load(&mut self, strength: &[&str], opcode: &Name, operands: &[Operand]) -> Option<StatementKind> {
        let (sem, scope) =
            self.strength(strength, &[("relaxed", Sem::Relaxed), ("acquire", Sem::Acquire)], opcode)?;
        let [target, address] = operands else {
            return self.wrong_operands(opcode, "a register and a location");
        };
        let (register, address) = (self.target(target)?, self.address(address, opcode)?);
        let kind = InstructionKind::Access(AccessOp::Load {
            destinations: vec![Some(register)],
            address,
            sem,
            scope,
            non_coherent: false,
        });
        Some(instruction(opcode, kind))
    }

    fn store(&mut self, strength: &[&str], opcode: &Name, operands: &[Operand]) -> Option<StatementKind> {
        let (sem, scope) =
            self.strength(strength, &[("relaxed", Sem::Relaxed), ("release", Sem::Release)], opcode)?;
        let [address, value] = operands else {
            return self.wrong_operands(opcode, "a location and a value");
        };
        let (address, value) = (self.address(address, opcode)?, self.value(value)?);
        Some(instruction(
            opcode,
            InstructionKind::Access(AccessOp::Store { values: vec![value], address, sem, scope }),
        ))
    }

    fn atomic(
        &mut self,
        (sem, scope, op): (&str, &str, &str),
        opcode: &Name,
        operands: &[Operand],
    ) -> Option<StatementKind> {
        let (sem, scope) = (self.update_sem(sem, opcode)?, self.scope(scope, opcode)?);
        let (target, address, values) = match (op, operands) {
            ("cas", [target, address, expected, new]) => (target, address, vec![expected, new]),
            ("cas", _) => {
                return self.wrong_operands(opcode, "a register, a location, the expected and the new value");
            }
            (_, [target, address, value]) => (target, address, vec![value]),
            _ => return self.wrong_operands(opcode, "a register, a location and a value"),
        };
        let (register, address) = (self.target(target)?, self.address(address, opcode)?);
        let values: Option<Vec<Expression>> = values.into_iter().map(|value| self.value(value)).collect();
        let mut operands = values?;
        let op = match op {
            "cas" => AtomicOp::CompareAndSwap,
            "exch" => AtomicOp::Exchange,
            op => self.operation(op, opcode, &mut operands)?,
        };
        let kind = InstructionKind::Access(AccessOp::Atomic {
            destination: Some(register),
            op,
            operands,
            address,
            sem,
            scope,
        });
        Some(instruction(opcode, kind))
    }

    fn reduction(
        &mut self,
        (sem, scope, op): (&str, &str, &str),
        opcode: &Name,
        operands: &[Operand],
    ) -> Option<StatementKind> {
        let (sem, scope) = (self.update_sem(sem, opcode)?, self.scope(scope, opcode)?);
        let [address, value] = operands else {
            return self.wrong_operands(opcode, "a location and a value");
        };
        let address = self.address(address, opcode)?;
        let mut values = vec![self.value(value)?];
        let op = self.operation(op, opcode, &mut values)?;
        let operand = values.pop()?;
        Some(instruction(
            opcode,
            InstructionKind::Access(AccessOp::Reduction { op, operand, address, sem, scope }),
        ))
    }

    /// An operation that `atom` and `red` have; a subtraction adds the negated operand.
    fn operation(&mut self, op: &str, opcode: &Name, operands: &mut [Expression]) -> Option<AtomicOp> {
        Some(match op {
            "add" => AtomicOp::Add,
            "and" => AtomicOp::And,
            "or" => AtomicOp::Or,
            "xor" => AtomicOp::Xor,
            "sub" => {
                for operand in operands {
                    let kind = ExpressionKind::Unary(UnaryOp::Negate, Box::new(operand.clone()));
                    *operand = Expression { span: operand.span, width: WIDTH, kind };
                }
                AtomicOp::Add
            }
            "mul" | "div" => {
                let message = format!("`{}` is not checked by this version", opcode.text);
                self.error("unsupported::instruction", message, opcode.span, "no atomic of PTX does this");
                return None;
            }
            _ => return self.unknown(opcode),
        })
    }

    fn barrier(&mut self, form: &str, opcode: &Name, operands: &[Operand]) -> Option<StatementKind> {
        let [instance, rest @ ..] = operands else {
            return self.wrong_operands(opcode, "an instance, then perhaps an id and a thread count");
        };
        if rest.len() > 2 {
            return self.wrong_operands(opcode, "an instance, then perhaps an id and a thread count");
        }
        let name = match &instance.kind {
            OperandKind::Number(number) => number.to_string(),
            OperandKind::Name(name) => name.clone(),
        };
        let n_known = u32::try_from(self.instances.len()).unwrap_or(u32::MAX);
        let number_of_instance = *self.instances.entry(name).or_insert(n_known);
        let shown = number(u64::from(number_of_instance), instance.span);
        self.taken.1.push(ResolvedOperand::Value(shown));
        let id = match rest.first() {
            Some(id) => self.value(id)?,
            None => number(NO_ID, instance.span),
        };
        let count = match rest.get(1) {
            Some(count) => Some(narrow(self.value(count)?)),
            None => None,
        };
        let kind = if form == "sync" { BarrierKind::Sync } else { BarrierKind::Arrive };
        let instance = Some(number_of_instance);
        let kind = InstructionKind::Barrier { kind, id: narrow(id), count, aligned: false, instance };
        Some(instruction(opcode, kind))
    }

    /// What an instruction accesses by the name of `object`. An instruction goes through one proxy, and a location is reached
    /// through one; but another generic name is a virtual address before all, and an instruction of any proxy can go there.
    fn through_proxy(&mut self, name: &Name, object: ObjectId, opcode: &Name) -> Option<ObjectId> {
        let (own, needed) = (self.objects[object].proxy, proxy_of(&opcode.text));
        if own == needed {
            return Some(object);
        }
        if own == Proxy::Generic && self.objects[object].mapping != 0 {
            return Some(self.view(object, needed));
        }
        let message = format!(
            "`{}` accesses memory through the {needed} proxy; `{}` is reached through the {own} proxy",
            opcode.text, name.text
        );
        let with = match own {
            Proxy::Generic => "`ld`, `st`, `atom` and `red`",
            Proxy::Texture => "`tld`",
            Proxy::Surface => "`suld`, `sust`, `suatom` and `sured`",
            Proxy::Constant => "`cold`",
            // Litmus files have no instruction for them, so no object is declared so.
            Proxy::Async | Proxy::Tensormap => "nothing",
        };
        let (text, declared) = (&name.text, self.objects[object].span);
        let help = match needed {
            Proxy::Generic => format!("access `{text}` with {with}"),
            _ => format!(
                "access `{text}` with {with}, or declare another name for its bytes: `s @ {needed} aliases {text};`"
            ),
        };
        let error = Diagnostic::new("validate::proxy-mismatch", message, name.span, format!("{own} here"));
        let error = if declared == name.span { error } else { error.with_label(declared, "declared here") };
        self.diagnostics.push(error.with_help(help).with_rule("MM-15"));
        None
    }

    fn plain(&mut self, opcode: &Name, operands: &[Operand], kind: InstructionKind) -> Option<StatementKind> {
        if !operands.is_empty() {
            return self.wrong_operands(opcode, "no operand");
        }
        Some(instruction(opcode, kind))
    }

    fn strength(&mut self, parts: &[&str], strong: &[(&str, Sem)], opcode: &Name) -> Option<(Sem, Scope)> {
        match parts {
            // Weak accesses have no scope; the field means nothing then.
            ["weak"] => Some((Sem::Weak, Scope::Cta)),
            [sem, scope] => match strong.iter().find(|(name, _)| name == sem) {
                Some(&(_, sem)) => Some((sem, self.scope(scope, opcode)?)),
                None => self.unknown(opcode),
            },
            _ => self.unknown(opcode),
        }
    }

    fn update_sem(&mut self, sem: &str, opcode: &Name) -> Option<Sem> {
        match Sem::from_name(sem) {
            Some(sem @ (Sem::Relaxed | Sem::Acquire | Sem::Release | Sem::AcqRel)) => Some(sem),
            _ => self.unknown(opcode),
        }
    }

    fn scope(&mut self, scope: &str, opcode: &Name) -> Option<Scope> {
        match Scope::from_name(scope) {
            Some(scope) if scope != Scope::Cluster => Some(scope),
            _ => self.unknown(opcode),
        }
    }

    fn unknown<T>(&mut self, opcode: &Name) -> Option<T> {
        let message = format!("`{}` is no instruction of litmus files", opcode.text);
        self.error("resolve::unknown-instruction", message, opcode.span, "this instruction");
        None
    }

    fn wrong_operands<T>(&mut self, opcode: &Name, expected: &str) -> Option<T> {
        let message = format!("`{}` takes {expected}", opcode.text);
        self.error("resolve::litmus-operands", message, opcode.span, "its operands are others");
        None
    }

    fn label(&mut self, operand: &Operand) -> Option<Label> {
        match &operand.kind {
            OperandKind::Name(text) => Some(Label { text: text.clone(), span: operand.span }),
            OperandKind::Number(_) => {
                self.error("resolve::litmus-operands", "a jump goes to a label", operand.span, "not a label");
                None
            }
        }
    }

    fn target(&mut self, operand: &Operand) -> Option<RegisterId> {
        let register = self.inner_target(operand)?;
        self.taken.0.push(Some(register));
        Some(register)
    }

    fn inner_target(&mut self, operand: &Operand) -> Option<RegisterId> {
        match &operand.kind {
            OperandKind::Name(name) if is_register(name) => {
                let register = self.register(name);
                self.written.insert(register);
                Some(register)
            }
            OperandKind::Name(_) | OperandKind::Number(_) => {
                let message = "a result goes into a register, `r` and a number";
                self.error("resolve::litmus-operands", message, operand.span, "not a register");
                None
            }
        }
    }

    fn value(&mut self, operand: &Operand) -> Option<Expression> {
        let value = self.inner_value(operand)?;
        self.taken.1.push(ResolvedOperand::Value(value.clone()));
        Some(value)
    }

    fn inner_value(&mut self, operand: &Operand) -> Option<Expression> {
        match &operand.kind {
            OperandKind::Number(value) => Some(number(*value, operand.span)),
            OperandKind::Name(name) if is_register(name) => {
                let kind = ExpressionKind::Register(self.register(name));
                Some(Expression { span: operand.span, width: WIDTH, kind })
            }
            OperandKind::Name(name) => {
                let message = format!("the address of `{name}` as a value is not checked by this version");
                self.error("unsupported::litmus-address", message, operand.span, "a register or number here");
                None
            }
        }
    }

    /// A location, to be accessed through the proxy of the instruction.
    fn address(&mut self, operand: &Operand, opcode: &Name) -> Option<Address> {
        let address = self.inner_address(operand, opcode)?;
        self.taken.1.push(ResolvedOperand::Memory(address.clone()));
        Some(address)
    }

    fn inner_address(&mut self, operand: &Operand, opcode: &Name) -> Option<Address> {
        match &operand.kind {
            OperandKind::Name(name) if !is_register(name) => {
                let name = Name { text: name.clone(), span: operand.span };
                let object = self.location(&name);
                let base = AddressBase::Object(self.through_proxy(&name, object, opcode)?);
                Some(Address { span: operand.span, base, indices: Vec::new(), rank: None, device: None })
            }
            OperandKind::Name(_) => {
                let message = "an address in a register is not checked by this version";
                self.error("unsupported::litmus-address", message, operand.span, "a location here");
                None
            }
            OperandKind::Number(_) => {
                let message = "an access needs a location";
                self.error("resolve::litmus-operands", message, operand.span, "not a location");
                None
            }
        }
    }
}

/// The proxy through which an instruction accesses memory, and how one reads and writes through that proxy.
fn proxy_of(opcode: &str) -> Proxy {
    match opcode.split('.').next().unwrap_or("") {
        "tld" => Proxy::Texture,
        "suld" | "sust" | "suatom" | "sured" => Proxy::Surface,
        "cold" => Proxy::Constant,
        _ => Proxy::Generic,
    }
}

fn instruction(opcode: &Name, kind: InstructionKind) -> StatementKind {
    let form = isa::litmus_form(&kind);
    Instruction::statement((opcode.text.clone(), opcode.span), form, kind, (Vec::new(), Vec::new()))
}

/// The low 32 bits, as barrier operands are.
fn narrow(value: Expression) -> Expression {
    Expression { span: value.span, width: 32, kind: ExpressionKind::Convert(Box::new(value)) }
}
