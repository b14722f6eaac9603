//! What only the whole call graph shows: recursion, state spaces of reference arguments, calls inside `await`.

use super::super::program::{
    AddressBase, Function, FunctionId, InstructionKind, MbarrierOp, ReferenceId, Statement, StatementKind,
};
use super::Checker;
use crate::diagnostic::Diagnostic;
use crate::index::{Id as _, IndexVec};
use crate::span::Span;
use crate::vocabulary::Space;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// The longest chain of calls; every call is inlined.
const MAX_CALL_DEPTH: usize = 64;

/// All calls of a program, and what functions demand of their reference parameters.
#[derive(Default)]
pub(super) struct CallGraph {
    pub(super) sites: Vec<CallSite>,
    /// (function, reference parameter) to the state space its uses demand, and such a use.
    pub(super) spaces: BTreeMap<(usize, usize), (Space, Span)>,
    /// (function, reference parameter) to a use that needs memory of the own CTA.
    locals: BTreeMap<(usize, usize), Locality>,
    /// Calls inside an `await`.
    pub(super) awaited: Vec<(FunctionId, Span)>,
}

/// A call.
pub(super) struct CallSite {
    pub(super) owner: Option<FunctionId>,
    pub(super) callee: FunctionId,
    pub(super) span: Span,
    pub(super) references: Vec<Argument>,
}

/// A reference argument.
pub(super) struct Argument {
    pub(super) base: AddressBase,
    /// `None` for a reference parameter of the caller.
    pub(super) space: Option<Space>,
    /// Whether `mapa` gives it.
    pub(super) is_peer: bool,
    pub(super) span: Span,
}

/// A use of a reference parameter that needs memory of the own CTA.
#[derive(Clone, Copy)]
pub(super) struct Locality {
    pub(super) span: Span,
    pub(super) rule: &'static str,
    /// In a few words.
    pub(super) why: &'static str,
}

impl CallGraph {
    /// Remembers the first such use of a parameter.
    pub(super) fn note_local(&mut self, function: FunctionId, reference: ReferenceId, locality: Locality) {
        self.locals.entry((function.index(), reference.index())).or_insert(locality);
    }
}

impl Checker {
    /// Checks what needs all bodies.
    pub(super) fn check_calls(&mut self, functions: &IndexVec<FunctionId, Function>) {
        if self.check_recursion(functions.len()) {
            self.check_spaces();
            self.check_peers();
            self.check_awaited(functions);
        }
    }

    /// Depth-first over the call graph with an explicit stack; `false` if it is not a DAG of bounded depth.
    fn check_recursion(&mut self, n_functions: usize) -> bool {
        let mut callees: Vec<Vec<(usize, Span)>> = vec![Vec::new(); n_functions];
        for site in &self.calls.sites {
            if let Some(owner) = site.owner {
                callees[owner.index()].push((site.callee.index(), site.span));
            }
        }
        let mut height: Vec<Option<usize>> = vec![None; n_functions];
        for root in 0..n_functions {
            // Each entry: a function, and how many of its callees are done.
            let mut path: Vec<(usize, usize)> = vec![(root, 0)];
            while let Some(&(function, n_done)) = path.last() {
                let next = callees[function].get(n_done).copied();
                if height[function].is_some() || next.is_none() {
                    let below = callees[function].iter().filter_map(|&(callee, _)| height[callee]).max();
                    height[function].get_or_insert(below.map_or(0, |below| below + 1));
                    path.pop();
                    continue;
                }
                let Some((callee, span)) = next else { continue };
                if let Some(last) = path.last_mut() {
                    last.1 += 1;
                }
                if let Some(start) = path.iter().position(|&(other, _)| other == callee) {
                    let error = self.recursion(&path[start..], callee, span);
                    self.report(error);
                    return false;
                }
                path.push((callee, 0));
            }
            if height[root] >= Some(MAX_CALL_DEPTH) {
                let span = self.signatures[FunctionId::from_index(root)].span;
                let message = format!("functions call one another more than {MAX_CALL_DEPTH} deep");
                self.report(Diagnostic::new("limit::nesting", message, span, "from here on"));
                return false;
            }
        }
        true
    }

    fn recursion(&self, cycle: &[(usize, usize)], back_to: usize, span: Span) -> Diagnostic {
        let name = |function: usize| format!("`{}`", self.signatures[FunctionId::from_index(function)].name);
        let chain: Vec<String> =
            cycle.iter().map(|&(function, _)| name(function)).chain([name(back_to)]).collect();
        let message = format!("functions are inlined and cannot call themselves: {}", chain.join(" calls "));
        Diagnostic::new("resolve::recursive-function", message, span, "this call closes the circle")
            .with_label(self.signatures[FunctionId::from_index(back_to)].span, "declared here")
            .with_help("use a loop")
    }

    /// A demand travels from callee to caller until it meets an object.
    fn check_spaces(&mut self) {
        loop {
            let mut grew = false;
            for site in &self.calls.sites {
                for (position, &Argument { base, .. }) in site.references.iter().enumerate() {
                    let demand = self.calls.spaces.get(&(site.callee.index(), position)).copied();
                    if let (Some(demand), AddressBase::Reference(reference), Some(owner)) =
                        (demand, base, site.owner)
                    {
                        let key = (owner.index(), reference.index());
                        if let Entry::Vacant(free) = self.calls.spaces.entry(key) {
                            free.insert(demand);
                            grew = true;
                        }
                    }
                }
            }
            if !grew {
                break;
            }
        }
        let mut errors = Vec::new();
        for site in &self.calls.sites {
            for (position, &Argument { space, span, .. }) in site.references.iter().enumerate() {
                let demand = self.calls.spaces.get(&(site.callee.index(), position));
                if let (Some(&(demanded, use_span)), Some(space)) = (demand, space)
                    && demanded != space
                {
                    let message = format!(
                        "`{}` uses this address as {demanded} memory; the object is in {space} memory",
                        self.signatures[site.callee].name
                    );
                    let error =
                        Diagnostic::new("validate::space-mismatch", message, span, format!("{space} memory"));
                    errors.push(
                        error
                            .with_label(use_span, format!("used as {demanded} memory"))
                            .with_help("leave the state space out in the function"),
                    );
                }
            }
        }
        self.diagnostics.extend(errors);
    }

    /// A parameter that must be in the own CTA gets no address of a peer, through however many calls.
    fn check_peers(&mut self) {
        loop {
            let mut grew = false;
            for site in &self.calls.sites {
                for (position, argument) in site.references.iter().enumerate() {
                    let demand = self.calls.locals.get(&(site.callee.index(), position)).copied();
                    if let (Some(demand), AddressBase::Reference(reference), Some(owner), false) =
                        (demand, argument.base, site.owner, argument.is_peer)
                        && let Entry::Vacant(free) =
                            self.calls.locals.entry((owner.index(), reference.index()))
                    {
                        free.insert(demand);
                        grew = true;
                    }
                }
            }
            if !grew {
                break;
            }
        }
        let mut errors = Vec::new();
        for site in &self.calls.sites {
            for (position, argument) in site.references.iter().enumerate().filter(|(_, a)| a.is_peer) {
                if let Some(demand) = self.calls.locals.get(&(site.callee.index(), position)) {
                    let name = &self.signatures[site.callee].name;
                    let message = format!("`{name}` needs an address in the own CTA; this one is in a peer");
                    errors.push(
                        Diagnostic::new("validate::peer-address", message, argument.span, "in a peer CTA")
                            .with_label(demand.span, demand.why)
                            .with_help("let a thread of the peer CTA do it, on its own memory")
                            .with_rule(demand.rule),
                    );
                }
            }
        }
        self.diagnostics.extend(errors);
    }

    /// Functions called in an `await` may read and do atomics, nothing else.
    fn check_awaited(&mut self, functions: &IndexVec<FunctionId, Function>) {
        let mut quiet: Vec<Option<bool>> = vec![None; functions.len()];
        let awaited = std::mem::take(&mut self.calls.awaited);
        for (function, span) in awaited {
            if !is_quiet(functions, function, &mut quiet) {
                let message =
                    format!("`{}` does more than read, so it cannot be awaited", functions[function].name);
                let error = Diagnostic::new("validate::await-side-effect", message, span, "called here")
                    .with_label(functions[function].span, "declared here")
                    .with_help("use `loop { … if c { break; } }`");
                self.report(error);
            }
        }
    }
}

/// Whether a function only reads and does atomics. Recursion was ruled out before.
fn is_quiet(functions: &IndexVec<FunctionId, Function>, id: FunctionId, known: &mut [Option<bool>]) -> bool {
    if let Some(answer) = known[id.index()] {
        return answer;
    }
    let answer = loud_statement(&functions[id].body).is_none()
        && called(&functions[id].body).into_iter().all(|callee| is_quiet(functions, callee, known));
    known[id.index()] = Some(answer);
    answer
}

/// The first statement that an `await` cannot repeat.
pub(super) fn loud_statement(statements: &[Statement]) -> Option<&Statement> {
    statements.iter().find_map(|statement| match &statement.kind {
        StatementKind::Assign { .. } | StatementKind::Call { .. } => None,
        StatementKind::Instruction(instruction) => match instruction.kind {
            InstructionKind::Load { .. }
            | InstructionKind::Atomic { .. }
            | InstructionKind::GetCtaRank { .. }
            | InstructionKind::Mbarrier(MbarrierOp::Wait(_) | MbarrierOp::PendingCount { .. }) => None,
            _ => Some(statement),
        },
        StatementKind::If { then, otherwise, .. } => {
            loud_statement(then).or_else(|| loud_statement(otherwise))
        }
        _ => Some(statement),
    })
}

/// All functions called in statements that [`loud_statement`] accepts.
pub(super) fn called(statements: &[Statement]) -> Vec<FunctionId> {
    let mut functions = Vec::new();
    for statement in statements {
        match &statement.kind {
            StatementKind::Call { function, .. } => functions.push(*function),
            StatementKind::If { then, otherwise, .. } => {
                functions.extend(called(then));
                functions.extend(called(otherwise));
            }
            _ => {}
        }
    }
    functions
}
