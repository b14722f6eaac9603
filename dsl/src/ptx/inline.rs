//! Calls of a module's own functions, in place: the callee's body stands where it is called, under names of its own.
//!
//! ```text
//!  .func (.param .b32 ret) f (.param .b32 a)     .entry k
//!    ld.param.b32 %r1, [a];                        st.param.b32 [p@1], 7;
//!    @%p1 ret;                             ──>     ld.param.b32 %r1@2, [p@1];
//!    st.param.b32 [ret], %r1;                      @%p1@2 bra %return@2;
//!    ret;                                          st.param.b32 [r@1], %r1@2;
//!                                                %return@2:
//! ```
//! Arguments and results are the caller's variables of `.param` space; those that are registers go through one. Variables of a
//! function in shared or global memory are there once, however often it is called. A call that stays is one of a function that
//! has no body here, through a pointer, of a function within itself, or one with which the kernel would be too long.

use super::module::{
    Function, Instruction, Item, Module, Name, Operand, OperandKind, Registers, Variable, labels_of,
};
use crate::span::Span;
use rustc_hash::{FxHashMap, FxHashSet};

/// Most items of a kernel with all that it calls.
const ITEMS_MAX: usize = 200_000;

/// Most items of everything that is called, each function with all that it calls.
const ALL_MAX: usize = 1_000_000;

/// Deepest nesting of calls.
const CALLS_MAX: usize = 64;

/// From here on, scopes are those of functions whose variables are there once.
const ONCE: u32 = 1 << 30;

/// Puts what is called in the place of calls, in all kernels.
pub(super) fn calls(module: &mut Module) {
    let calls = |function: &Function| function.body.iter().any(|item| called(item).is_some());
    if !module.functions.iter().any(|function| function.is_entry && calls(function)) {
        return;
    }
    let mut inliner =
        Inliner { functions: FxHashMap::default(), done: FxHashMap::default(), open: Vec::new(), n_items: 0 };
    for (number, function) in module.functions.iter().enumerate() {
        if function.has_body {
            inliner.functions.insert(&function.name.text, (number, function));
        }
    }
    let mut entries = Vec::new();
    for (number, function) in module.functions.iter().enumerate() {
        if function.is_entry && calls(function) {
            entries.push((number, inliner.expand(function)));
        }
    }
    for (number, expanded) in entries {
        let function = &mut module.functions[number];
        let Expanded { body, registers, variables, .. } = expanded;
        (function.body, function.registers, function.variables) = (body, registers, variables);
    }
}

/// The name of what an item calls.
fn called(item: &Item) -> Option<&str> {
    let Item::Instruction(instruction) = item else { return None };
    Call::of(instruction).map(|call| call.name)
}

/// The parts of a `call`.
pub struct Call<'i> {
    /// Where results go.
    pub results: &'i [Operand],
    /// What is called: a function, or a register that holds one.
    pub name: &'i str,
    /// What it is given.
    pub arguments: &'i [Operand],
    /// Whether what may be called is listed behind it: a call through a pointer.
    pub has_targets: bool,
}

impl<'i> Call<'i> {
    /// Of an instruction that is one.
    pub fn of(instruction: &'i Instruction) -> Option<Self> {
        if instruction.mnemonic() != "call" {
            return None;
        }
        let group = |operand: &'i Operand| match &operand.kind {
            OperandKind::Group(parts) => Some(parts.as_slice()),
            _ => None,
        };
        let (results, rest) = match instruction.operands.as_slice() {
            [first, rest @ ..] if group(first).is_some() => (group(first).unwrap_or_default(), rest),
            all => (&[][..], all),
        };
        let [Operand { kind: OperandKind::Name(name), .. }, rest @ ..] = rest else { return None };
        let (arguments, rest) = match rest {
            [first, rest @ ..] if group(first).is_some() => (group(first).unwrap_or_default(), rest),
            all => (&[][..], all),
        };
        Some(Self { results, name, arguments, has_targets: !rest.is_empty() })
    }
}

/// A body in which nothing is called any more that could stand there.
#[derive(Clone)]
struct Expanded {
    body: Vec<Item>,
    registers: Vec<Registers>,
    variables: Vec<Variable>,
    /// The first number that no scope has.
    next_scope: u32,
}

struct Inliner<'m> {
    /// Those with a body, and which they are.
    functions: FxHashMap<&'m str, (usize, &'m Function)>,
    done: FxHashMap<&'m str, Expanded>,
    /// Those whose bodies are being put together.
    open: Vec<&'m str>,
    n_items: usize,
}

impl<'m> Inliner<'m> {
    fn expand(&mut self, function: &'m Function) -> Expanded {
        let name = function.name.text.as_str();
        if let Some(done) = self.done.get(name) {
            return done.clone();
        }
        self.open.push(name);
        let mut to = Expanded {
            body: Vec::with_capacity(function.body.len()),
            registers: function.registers.clone(),
            variables: function.variables.clone(),
            next_scope: 1 + last_scope(function),
        };
        for item in &function.body {
            let call = match item {
                Item::Instruction(instruction) => Call::of(instruction)
                    .map(|call| (instruction, call))
                    .filter(|(_, call)| !call.has_targets),
                _ => None,
            };
            let callee = call.as_ref().and_then(|(_, call)| self.functions.get(call.name).copied());
            let (Some((instruction, call)), Some((number, callee))) = (call, callee) else {
                to.body.push(item.clone());
                continue;
            };
            let fits = call.arguments.len() == callee.parameters.len()
                && call.results.len() == callee.results.len()
                && !callee.is_entry;
            let is_open = self.open.contains(&call.name) || self.open.len() > CALLS_MAX;
            let expanded = (fits && !is_open).then(|| self.expand(callee));
            let n_items = self.n_items;
            let is_short = |expanded: &Expanded| {
                to.body.len() + expanded.body.len() <= ITEMS_MAX && n_items + expanded.body.len() <= ALL_MAX
            };
            match expanded.filter(is_short) {
                Some(expanded) => {
                    self.n_items += expanded.body.len();
                    put(&mut to, (instruction, &call), (number, callee), expanded);
                }
                None => to.body.push(item.clone()),
            }
        }
        self.open.pop();
        if !function.is_entry {
            self.done.insert(name, to.clone());
        }
        to
    }
}

/// The largest number of a scope.
fn last_scope(function: &Function) -> u32 {
    let of_name = |text: &str| text.split_once('@').and_then(|(_, scope)| scope.parse().ok()).unwrap_or(0);
    let registers = function.registers.iter().map(|registers| registers.scope);
    let variables = function.variables.iter().map(|variable| of_name(&variable.name.text));
    let labels = labels_of(&function.body).map(|label| of_name(&label.text));
    registers.chain(variables).chain(labels).max().unwrap_or(0)
}

/// What the names of a callee become in its caller.
struct Renaming {
    /// What parameters and results are called by the caller, and variables that are there once.
    names: FxHashMap<String, String>,
    /// Names without a scope that the callee declares.
    own: FxHashSet<String>,
    /// Beginnings of numbered registers without a scope, and how many they are.
    ranges: FxHashMap<String, u32>,
    /// The number of its own scope; those of nested ones follow.
    base: u32,
}

impl Renaming {
    fn text(&self, text: &mut String) {
        if let Some(name) = self.names.get(text.as_str()) {
            text.clone_from(name);
            return;
        }
        if let Some((name, scope)) = text.split_once('@') {
            if let Some(scope) = scope.parse::<u32>().ok().filter(|&scope| scope < ONCE) {
                *text = format!("{name}@{}", self.base + scope);
            }
            return;
        }
        let prefix = text.trim_end_matches(|c: char| c.is_ascii_digit());
        let is_numbered = self
            .ranges
            .get(prefix)
            .is_some_and(|&count| text[prefix.len()..].parse::<u32>().is_ok_and(|number| number < count));
        if is_numbered || self.own.contains(text.as_str()) {
            *text = format!("{text}@{}", self.base);
        }
    }
}

/// Adds a callee's body to its caller's.
fn put(
    to: &mut Expanded,
    (instruction, call): (&Instruction, &Call<'_>),
    (number, callee): (usize, &Function),
    expanded: Expanded,
) {
    let base = to.next_scope;
    to.next_scope = base + expanded.next_scope;
    let mut renaming = Renaming {
        names: FxHashMap::default(),
        own: labels_of(&expanded.body).map(|label| label.text.clone()).collect(),
        ranges: FxHashMap::default(),
        base,
    };
    for registers in &expanded.registers {
        match registers.count {
            Some(count) if registers.scope == 0 => {
                renaming.ranges.insert(registers.name.text.clone(), count);
            }
            None if registers.scope == 0 => {
                renaming.own.insert(registers.name.text.clone());
            }
            _ => {}
        }
    }
    let is_own = |variable: &Variable| matches!(variable.space.as_str(), "local" | "param" | "reg");
    let once = ONCE + u32::try_from(number).unwrap_or(0);
    for variable in &expanded.variables {
        let name = &variable.name.text;
        if is_own(variable) {
            renaming.own.insert(name.clone());
        } else if !is_once(name) {
            let own = name.replace('@', ".");
            renaming.names.insert(name.clone(), format!("{own}@{once}"));
        }
    }
    let span = instruction.span;
    let here = |text: String| Name { text, span };
    let back = format!("%return@{base}");
    let jump = |guard: Option<(Name, bool)>, span: Span| {
        let opcode = Name { text: "bra".to_owned(), span };
        let target = Operand { span, kind: OperandKind::Name(back.clone()) };
        Item::Instruction(Instruction { span, guard, opcode, operands: vec![target], calls: Vec::new() })
    };
    if let Some((guard, is_negated)) = &instruction.guard {
        to.body.push(jump(Some((guard.clone(), !is_negated)), span));
    }
    let mut behind = Vec::new();
    for (parameter, argument) in callee.parameters.iter().zip(call.arguments) {
        pass(to, parameter, argument, &mut renaming).into_iter().for_each(|item| to.body.push(item));
    }
    for (parameter, result) in callee.results.iter().zip(call.results) {
        let given = pass(to, parameter, result, &mut renaming);
        behind.extend(given.map(|item| turned(item, &instruction.guard)));
    }
    let Expanded { body, registers, variables, .. } = expanded;
    to.registers.extend(registers.into_iter().map(|registers| {
        let scope = registers.scope + base;
        Registers { scope, ..registers }
    }));
    for mut variable in variables {
        renaming.text(&mut variable.name.text);
        if is_own(&variable) || !to.variables.iter().any(|known| known.name.text == variable.name.text) {
            to.variables.push(variable);
        }
    }
    let last = body.len();
    for (at, mut item) in body.into_iter().enumerate() {
        item.each_name_mut(&mut |text| renaming.text(text));
        if let Item::Instruction(own) = &mut item {
            if own.mnemonic() == "ret" {
                if at + 1 < last || own.guard.is_some() {
                    to.body.push(jump(own.guard.take(), own.span));
                }
                continue;
            }
            own.calls.insert(0, span);
        }
        to.body.push(item);
    }
    to.body.push(Item::Label(here(back.clone())));
    to.body.extend(behind);
}

/// Whether a name is of a variable that is there once.
fn is_once(name: &str) -> bool {
    let scope = name.split_once('@').and_then(|(_, scope)| scope.parse::<u32>().ok());
    scope.is_some_and(|scope| scope >= ONCE)
}

/// Makes a parameter the caller's variable, or one of its own into which what is given goes by the instruction returned.
fn pass(to: &mut Expanded, parameter: &Variable, given: &Operand, renaming: &mut Renaming) -> Option<Item> {
    let name = &parameter.name.text;
    let given_name = match &given.kind {
        OperandKind::Name(text) => Some(text),
        _ => None,
    };
    let is_variable = given_name.is_some_and(|text| {
        to.variables.iter().any(|variable| variable.space == "param" && variable.name.text == *text)
    });
    let is_register = parameter.space == "reg";
    if let (true, false, Some(text)) = (is_variable, is_register, given_name) {
        renaming.names.insert(name.clone(), text.clone());
        return None;
    }
    let own = format!("{name}@{}", renaming.base);
    renaming.names.insert(name.clone(), own.clone());
    let span = given.span;
    let ty = match parameter.ty.kind {
        'p' => "pred".to_owned(),
        _ => format!("b{}", parameter.ty.width),
    };
    let operand = |kind: OperandKind| Operand { span, kind };
    let memory = |text: String| operand(OperandKind::Memory(vec![operand(OperandKind::Name(text))]));
    if is_register {
        let declared = Name { text: name.clone(), span: parameter.name.span };
        to.registers.push(Registers { name: declared, count: None, ty: parameter.ty, scope: renaming.base });
    } else {
        let declared = Name { text: own.clone(), span: parameter.name.span };
        to.variables.push(Variable { name: declared, ..parameter.clone() });
    }
    let (opcode, operands) = match (is_register, is_variable) {
        (true, false) => (format!("mov.{ty}"), vec![operand(OperandKind::Name(own)), given.clone()]),
        (true, true) => {
            let text = given_name.cloned().unwrap_or_default();
            (format!("ld.param.{ty}"), vec![operand(OperandKind::Name(own)), memory(text)])
        }
        (false, _) => (format!("st.param.{ty}"), vec![memory(own), given.clone()]),
    };
    let opcode = Name { text: opcode, span };
    Some(Item::Instruction(Instruction { span, guard: None, opcode, operands, calls: Vec::new() }))
}

/// What passes an argument, as what passes a result: the other way round, where the call is made.
fn turned(item: Item, guard: &Option<(Name, bool)>) -> Item {
    let Item::Instruction(mut own) = item else { return item };
    own.guard.clone_from(guard);
    own.operands.reverse();
    let turned = match own.opcode.text.split_once(".param") {
        Some(("ld", ty)) => Some(format!("st.param{ty}")),
        Some((_, ty)) => Some(format!("ld.param{ty}")),
        None => None,
    };
    if let Some(text) = turned {
        own.opcode.text = text;
    }
    Item::Instruction(own)
}
