//! What only the whole call graph shows: recursion, state spaces of reference arguments, calls inside `await`.

use super::super::program::{AddressBase, Function, FunctionId, ReferenceId, Statement, StatementKind};
use super::Checker;
use crate::diagnostic::Diagnostic;
use crate::index::{Id as _, IndexVec};
use crate::sorted::{Entry, SortedMap};
use crate::span::Span;
use crate::vocabulary::{Replication, Space};

/// The longest chain of calls; every call is inlined.
const MAX_CALL_DEPTH: usize = 64;

/// All calls of a program, and what functions demand of their reference parameters.
#[derive(Default)]
pub(in crate::kernel) struct CallGraph {
    pub(in crate::kernel) sites: Vec<CallSite>,
    /// (function, reference parameter) to the state space its uses demand, and such a use.
    pub(in crate::kernel) spaces: SortedMap<(usize, usize), (Space, Span)>,
    /// (function, reference parameter, what it must stand for) to a use that needs it.
    demands: SortedMap<(usize, usize, Demand), Locality>,
    /// Calls inside an `await`.
    pub(in crate::kernel) awaited: Vec<(FunctionId, Span)>,
}

/// A call.
pub(in crate::kernel) struct CallSite {
    pub(in crate::kernel) owner: Option<FunctionId>,
    pub(in crate::kernel) callee: FunctionId,
    pub(in crate::kernel) span: Span,
    pub(in crate::kernel) references: Vec<Argument>,
}

/// A reference argument.
pub(in crate::kernel) struct Argument {
    pub(in crate::kernel) base: AddressBase,
    /// `None` for a reference parameter of the caller.
    pub(in crate::kernel) space: Option<Space>,
    /// Whether `mapa` gives it.
    pub(in crate::kernel) is_peer: bool,
    /// How it is spread over devices; `None` for a reference parameter of the caller.
    pub(in crate::kernel) replication: Option<Replication>,
    /// Dimensions of the tensor that a tensor map describes.
    pub(in crate::kernel) rank: Option<usize>,
    pub(in crate::kernel) span: Span,
}

/// What a reference parameter must stand for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::kernel) enum Demand {
    /// Memory of the own CTA.
    OwnCta,
    /// A tensor map that may be used: not one in shared memory.
    NotShared,
    /// A tensor map that may be written.
    NotParam,
    /// No multimem address.
    Unicast,
    /// A multimem address.
    Multimem,
    /// Memory with an instance per device.
    Symmetric,
    /// A tensor map of so many dimensions.
    Rank(u8),
}

/// A use of a reference parameter that demands something of it.
#[derive(Clone, Copy)]
pub(in crate::kernel) struct Locality {
    pub(in crate::kernel) span: Span,
    pub(in crate::kernel) rule: &'static str,
    /// In a few words.
    pub(in crate::kernel) why: &'static str,
}

impl CallGraph {
    /// Remembers the first such use of a parameter.
    pub(in crate::kernel) fn note(
        &mut self,
        function: FunctionId,
        reference: ReferenceId,
        demand: Demand,
        use_of: Locality,
    ) {
        self.demands.entry((function.index(), reference.index(), demand)).or_insert(use_of);
    }

    /// What the callee of a site demands of one of its references.
    fn demands_of(&self, site: &CallSite, position: usize) -> Vec<(Demand, Locality)> {
        let function = site.callee.index();
        let first = (function, position, Demand::OwnCta);
        let last = (function, position, Demand::Rank(u8::MAX));
        self.demands.range(first..=last).map(|(&(_, _, demand), &use_of)| (demand, use_of)).collect()
    }
}

impl Checker {
    /// Checks what needs all bodies.
    pub(in crate::kernel) fn check_calls(&mut self, functions: &IndexVec<FunctionId, Function>) {
        if self.check_recursion(functions.len()) {
            self.check_spaces();
            self.check_demands();
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

    /// What a use of a parameter demands holds for the arguments, through however many calls.
    fn check_demands(&mut self) {
        loop {
            let mut found = Vec::new();
            for site in &self.calls.sites {
                for (position, argument) in site.references.iter().enumerate().filter(|(_, a)| !a.is_peer) {
                    if let (AddressBase::Reference(reference), Some(owner)) = (argument.base, site.owner) {
                        let demands = self.calls.demands_of(site, position).into_iter();
                        found.extend(demands.map(|(demand, use_of)| (owner, reference, demand, use_of)));
                    }
                }
            }
            let before = self.calls.demands.len();
            for (owner, reference, demand, use_of) in found {
                self.calls.note(owner, reference, demand, use_of);
            }
            if self.calls.demands.len() == before {
                break;
            }
        }
        let mut errors = Vec::new();
        for site in &self.calls.sites {
            for (position, argument) in site.references.iter().enumerate() {
                for (demand, use_of) in self.calls.demands_of(site, position) {
                    errors.extend(unmet(&self.signatures[site.callee].name, argument, demand, use_of));
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

/// The error for an argument that is not what its function demands.
fn unmet(function: &str, argument: &Argument, demand: Demand, use_of: Locality) -> Option<Diagnostic> {
    let (code, message, label, help) = match demand {
        Demand::OwnCta if argument.is_peer => (
            "validate::peer-address",
            format!("`{function}` needs an address in the own CTA; this one is in a peer"),
            "in a peer CTA".to_owned(),
            "let a thread of the peer CTA do it, on its own memory",
        ),
        Demand::NotShared if argument.space == Some(Space::Shared) => (
            "validate::tensormap-space",
            format!("`{function}` uses this tensor map, which is in shared memory"),
            "in shared memory".to_owned(),
            "copy it to a global tensor map with `tensormap.cp_fenceproxy`, and use that one",
        ),
        Demand::NotParam if argument.space == Some(Space::Param) => (
            "validate::tensormap-space",
            format!("`{function}` writes this tensor map, which is a parameter of the kernel"),
            "read-only".to_owned(),
            "declare it `global`",
        ),
        Demand::Rank(n) if argument.rank.is_some_and(|rank| rank != usize::from(n)) => (
            "validate::tensor-rank",
            format!("`{function}` uses this tensor map with {n} coordinates"),
            format!("its tensor has {}", argument.rank.unwrap_or_default()),
            "give it as many coordinates as the tensor has dimensions",
        ),
        Demand::Unicast if argument.replication == Some(Replication::Multimem) => (
            "validate::multimem-address",
            format!("`{function}` accesses this multimem address with another instruction than `multimem`"),
            "a multimem address".to_owned(),
            "pass the symmetric object that it is an alias of",
        ),
        Demand::Multimem if argument.replication.is_some_and(|own| own != Replication::Multimem) => (
            "validate::multimem-address",
            format!("`{function}` needs a multimem address here"),
            "not a multimem address".to_owned(),
            "pass an object that is declared `multimem x: … alias …;`",
        ),
        // Of a multimem address, `Unicast` says it.
        Demand::Symmetric if argument.replication == Some(Replication::Single) => (
            "validate::peer-device",
            format!("`{function}` accesses the instance of another device"),
            "not symmetric memory".to_owned(),
            "pass an object that is declared `symmetric`",
        ),
        Demand::Unicast | Demand::Multimem | Demand::Symmetric => return None,
        Demand::OwnCta | Demand::NotShared | Demand::NotParam | Demand::Rank(_) => return None,
    };
    let error = Diagnostic::new(code, message, argument.span, label);
    Some(error.with_label(use_of.span, use_of.why).with_help(help).with_rule(use_of.rule))
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
pub(in crate::kernel) fn loud_statement(statements: &[Statement]) -> Option<&Statement> {
    statements.iter().find_map(|statement| match &statement.kind {
        StatementKind::Assign { .. } | StatementKind::Call { .. } => None,
        StatementKind::Instruction(instruction) => (!instruction.form.traits.quiet).then_some(statement),
        StatementKind::If { then, otherwise, .. } => {
            loud_statement(then).or_else(|| loud_statement(otherwise))
        }
        _ => Some(statement),
    })
}

/// All functions called in statements that [`loud_statement`] accepts.
pub(in crate::kernel) fn called(statements: &[Statement]) -> Vec<FunctionId> {
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
