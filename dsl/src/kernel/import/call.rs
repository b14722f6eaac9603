//! Calls of functions that have no body in the module, and branches to one of several labels.

use super::bits::At;
use super::lower::Lower;
use super::value::{Read, written};
use crate::diagnostic::Diagnostic;
use crate::flow::{self, Label};
use crate::kernel::program::flat::{FlatSpace, LOCAL_WINDOW};
use crate::kernel::program::{
    AccessOp, Address, AddressBase, BinaryOp, ElementKind, Expression, Statement, StatementKind,
};
use crate::ptx::inline::Call;
use crate::ptx::module::{Instruction, Name, Operand, OperandKind, demangled};
use crate::span::Span;
use crate::vocabulary::{Scope, Sem};

/// What a function of the run-time system does that a thread calls.
#[derive(Clone, Copy)]
enum Effect {
    /// Nothing that the other threads see; its result is not known.
    Nothing,
    /// It ends the kernel in an error.
    Fails,
}

/// Functions whose bodies are in no module.
const KNOWN: &[(&str, Effect)] = &[("vprintf", Effect::Nothing), ("__assertfail", Effect::Fails)];

/// How the names of mathematical functions begin that are linked later: a result from arguments.
const MATHEMATICS: &str = "__nv_";
/// … but for those that begin so behind it, which write a second result where a pointer says.
const BY_POINTER: [&str; 4] = ["sincos", "frexp", "modf", "remquo"];

impl Lower<'_, '_> {
    /// A call that was not put in place.
    pub(super) fn call(&mut self, instruction: &Instruction) -> Read<()> {
        let span = instruction.span;
        let call = Call::of(instruction).filter(|call| !call.has_targets && !call.name.starts_with('%'));
        let Some(call) = call else {
            return Err(not_checked("a call through a pointer", span, "call the function by its name"));
        };
        let known = KNOWN.iter().find(|(name, _)| *name == call.name).map(|(_, effect)| *effect);
        let only_computes = call
            .name
            .strip_prefix(MATHEMATICS)
            .is_some_and(|name| !BY_POINTER.iter().any(|beginning| name.starts_with(beginning)));
        let effect = known.or_else(|| only_computes.then_some(Effect::Nothing));
        match effect {
            Some(Effect::Nothing) => call.results.iter().try_for_each(|result| self.returned(&call, result)),
            // As where a thread traps: the kernel ends in an error, so what comes behind it is nothing that is asked.
            Some(Effect::Fails) => {
                self.body.push(span, StatementKind::Assert(At(span).constant(0, 1)));
                Ok(())
            }
            None if self.module.functions.iter().any(|own| own.has_body && own.name.text == call.name) => {
                let what = format!(
                    "`{}`, which calls itself or is too long with all that it calls,",
                    shown(call.name)
                );
                Err(not_checked(&what, span, "write the recursion as a loop"))
            }
            None => {
                let what = format!("`{}`, which has no body in this module,", shown(call.name));
                let help = "compile it into the same module, or let the compiler inline it: `__forceinline__`, or \
                     link-time optimisation";
                Err(not_checked(&what, span, help))
            }
        }
    }

    /// A result of which nothing is known.
    fn returned(&mut self, call: &Call<'_>, result: &Operand) -> Read<()> {
        let OperandKind::Name(name) = &result.kind else { return Ok(()) };
        let span = result.span;
        if self.register(name).is_some() {
            let width = self.width_of(result);
            return self.assign(result, Self::unknown(call.name, width, Vec::new(), span), false);
        }
        let Some(&(start, _)) = self.variables.get(name) else { return Ok(()) };
        let variable = self.entry.variables.iter().find(|variable| variable.name.text == *name);
        let Some(variable) = variable.filter(|variable| !variable.is_array) else { return Ok(()) };
        let width = variable.ty.width;
        let (element, space) = (ElementKind::Data, FlatSpace::Private);
        let index = At(span).constant(u128::from(LOCAL_WINDOW + start), 64);
        let base = AddressBase::Flat { width, element, space };
        let address = Address { span, base, indices: vec![index], rank: None, device: None };
        let values = vec![Self::unknown(call.name, width, Vec::new(), span)];
        let (sem, scope) = (Sem::Weak, Scope::Cta);
        let opcode = Name { text: format!("st.param.b{width}"), span };
        let store = Instruction { span, guard: None, opcode, operands: Vec::new(), calls: Vec::new() };
        self.push_access(&store, AccessOp::Store { values, address, sem, scope }, (Vec::new(), Vec::new()));
        Ok(())
    }

    /// `brx.idx`: a jump for each label of its list, the last one without a condition, since a number beyond the list is one of
    /// which PTX says nothing.
    pub(super) fn branch(
        &mut self,
        instruction: &Instruction,
        guard: Option<Expression>,
        items: &mut Vec<flow::Item>,
    ) -> Read<()> {
        let span = instruction.span;
        let [index, Operand { kind: OperandKind::Name(list), span: of_list }] =
            instruction.operands.as_slice()
        else {
            let message = "`brx.idx` takes a number and a list of labels";
            return Err(Box::new(Diagnostic::new("syntax::ptx", message, span, "its operands are others")));
        };
        let Some(labels) = self.targets.get(list.as_str()).copied().filter(|labels| !labels.is_empty())
        else {
            let message = format!("`{}` is no list of labels", written(list));
            return Err(Box::new(Diagnostic::new(
                "resolve::unknown-name",
                message,
                *of_list,
                "unknown list",
            )));
        };
        let at = At(span);
        let index = self.value(index, 32)?;
        let is = |number: usize| at.binary(BinaryOp::Equal, index.clone(), at.constant(number as u128, 32));
        let also = |condition: Expression| match &guard {
            Some(guard) => at.binary(BinaryOp::And, guard.clone(), condition),
            None => condition,
        };
        let inside = at.binary(BinaryOp::Less, index.clone(), at.constant(labels.len() as u128, 32));
        let outside = also(at.not(inside));
        let kind = StatementKind::Assert(at.not(outside));
        items.push(flow::Item::Plain(Box::new(Statement { span, kind })));
        let mut jumps: Vec<(&Name, Option<Expression>)> = Vec::new();
        for (number, label) in labels.iter().enumerate() {
            let condition = is(number);
            match jumps.iter_mut().find(|(known, _)| known.text == label.text) {
                Some((_, before)) => {
                    let earlier = before.take().unwrap_or_else(|| at.constant(0, 1));
                    *before = Some(at.binary(BinaryOp::Or, earlier, condition));
                }
                None => jumps.push((label, Some(condition))),
            }
        }
        let last = jumps.len() - 1;
        for (number, (label, condition)) in jumps.into_iter().enumerate() {
            let condition = condition.filter(|_| number < last);
            let label = Label { text: label.text.clone(), span: label.span };
            let condition = condition.map(&also).or_else(|| guard.clone());
            items.push(flow::Item::Jump { label, condition });
        }
        Ok(())
    }
}

/// What a function calls itself.
fn shown(name: &str) -> &str {
    demangled(name).unwrap_or(name)
}

fn not_checked(what: &str, span: Span, help: &str) -> Box<Diagnostic> {
    let message = format!("{what} is not checked by this version");
    let error = Diagnostic::new("unsupported::instruction", message, span, "a thread comes here");
    Box::new(error.with_help(help.to_owned()))
}
