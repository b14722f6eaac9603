//! Warnings about what the launches of a file do: branches that none takes, assertions that cannot fail, mbarriers nobody
//! waits for, and kernels whose launches put nothing to the test.

use super::warning::Warning;
use crate::event::{
    AgentId, AtomicClass, EventGraph, EventKind, LocationId, MbarrierRole, Obligation, ObligationKind,
    TermKind, TermRef, UnknownKind, Wait,
};
use crate::findings::warning;
use crate::verdict::{Outcome, Verdict};
use fencepost_dsl::index::Id;
use fencepost_dsl::kernel::ast::{
    Block, Else, Expr, ExprKind, ItemKind, Kernel as KernelText, Operand, Statement, StatementKind,
};
use fencepost_dsl::kernel::parse;
use fencepost_dsl::kernel::program::Program;
use fencepost_dsl::sorted::{SortedMap, SortedSet};
use fencepost_dsl::{SourceMap, Span};

/// What the launches of a file do.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// Instructions that some thread of some launch executes.
    executed: SortedSet<Span>,
    /// Assertions and final conditions that depend on more than constants and parameters, or that fail.
    open_assertions: SortedSet<Span>,
    /// By object of a kernel: a first arrival, and whether somebody waits.
    mbarriers: SortedMap<(String, String), (Option<Span>, bool)>,
    /// By kernel.
    kernels: SortedMap<String, Kernel>,
    /// Whether a limit, a loop bound or a choice of launches left something out.
    is_partial: bool,
}

/// What the launches of a kernel do.
#[derive(Clone, Debug)]
struct Kernel {
    /// Whether all launches are proved.
    is_proved: bool,
    /// Whether there is data that two threads access, one of them writing.
    shares: bool,
    /// Whether some of that is accessed weakly, so that it could race.
    shares_weakly: bool,
    /// Whether there is an assertion, or something to wait for.
    claims: bool,
    /// Whether something is claimed of values.
    asserts: bool,
    /// Whether a compiler wrote it.
    is_compiled: bool,
    /// Whether there is a fence, or a strong access.
    synchronizes: bool,
    /// Whether each launch has a single CTA.
    is_one_cta: bool,
    /// An access or a fence that orders others, and whose text has a scope that is wider than a CTA.
    wide: Option<Span>,
}

impl Seen {
    /// Adds a launch.
    pub fn add(&mut self, program: &Program, sources: &SourceMap, kernel: usize, outcome: &Outcome) {
        self.is_partial |=
            outcome.limit.is_some() || !outcome.open_loops.is_empty() || outcome.raise_limit.is_some();
        let kernel = &program.kernels[kernel];
        self.is_partial |= kernel.condition.is_some();
        let fails = !matches!(outcome.verdict, Verdict::Proved | Verdict::ProvedUpToBound);
        let known = self.kernels.entry(kernel.name.clone()).or_insert(Kernel {
            is_proved: true,
            shares: false,
            shares_weakly: false,
            claims: false,
            asserts: false,
            is_compiled: kernel.flat.is_some(),
            synchronizes: false,
            is_one_cta: true,
            wide: None,
        });
        let launch = &outcome.launch;
        let is_grid = !kernel.is_program && launch.placement.is_none() && launch.spa.is_none();
        known.is_one_cta &= is_grid && launch.gpus * launch.ctas == 1;
        known.is_proved &= !fails;
        known.claims |= kernel.is_program;
        for graph in outcome.graphs() {
            self.graph(sources, &kernel.name, graph, fails);
        }
    }

    /// Adds what is in a graph, of all values of parameters or of one.
    fn graph(&mut self, sources: &SourceMap, kernel: &str, graph: &EventGraph, fails: bool) {
        self.executed.extend(graph.sites.iter().map(|site| site.span));
        self.assertions(graph, fails);
        self.mbarriers(kernel, graph);
        let Some(known) = self.kernels.get_mut(kernel) else { return };
        known.claims |= claims(graph);
        let (shares, weakly) = shares(graph);
        known.shares |= shares;
        known.shares_weakly |= weakly;
        let is_assertion = |obligation: &Obligation| obligation.kind == ObligationKind::Assertion;
        known.asserts |= !graph.finals.is_empty()
            || !graph.reachables.is_empty()
            || graph.obligations.iter().any(is_assertion);
        known.synchronizes |=
            graph.events.iter().any(|event| event.agent.is_some() && event.kind.scope().is_some());
        let wide = graph.events.iter().filter(|event| {
            matches!(event.kind, EventKind::Fence { .. } | EventKind::Read(_) | EventKind::Write(_))
        });
        let spans = wide.filter_map(|event| event.site).map(|site| graph.sites[site].span);
        let has_wide = |span: &Span| {
            let opcode = sources.text(*span).split_whitespace().next().unwrap_or("");
            let orders = |word: &str| ["acquire", "release", "acq_rel", "sc"].contains(&word);
            opcode.split('.').any(orders) && opcode.split('.').any(|word| word == "gpu" || word == "sys")
        };
        known.wide = known.wide.into_iter().chain(spans.filter(has_wide)).min();
    }

    /// Says that not all launches were looked at.
    pub fn leave_out(&mut self) {
        self.is_partial = true;
    }

    fn assertions(&mut self, graph: &EventGraph, fails: bool) {
        let known = known_terms(graph);
        for obligation in &graph.obligations {
            let is_open = !known[obligation.condition.index()] || !known[obligation.guard.index()] || fails;
            if obligation.kind == ObligationKind::Assertion && is_open {
                self.open_assertions.insert(obligation.span);
            }
        }
        for goal in &graph.finals {
            if !known[goal.condition.index()] || fails {
                self.open_assertions.insert(goal.span);
            }
        }
    }

    fn mbarriers(&mut self, kernel: &str, graph: &EventGraph) {
        // A wait that never ends is one, and has no event.
        let blocked = graph.blocked.iter().filter_map(|blocked| match blocked.wait {
            Wait::Phase { object, .. } => Some(object),
            _ => None,
        });
        let blocked: SortedSet<_> = blocked.collect();
        for (id, mbarrier) in graph.mbarriers.iter_enumerated() {
            let stem = mbarrier.name.stem();
            let object = stem.split('[').next().unwrap_or(stem).to_owned();
            let (arrival, is_waited) = self.mbarriers.entry((kernel.to_owned(), object)).or_default();
            *is_waited |= blocked.contains(&id);
            for operation in &mbarrier.operations {
                let event = &graph.events[operation.event];
                let EventKind::Mbarrier(kind) = &event.kind else { continue };
                *is_waited |= matches!(kind.role, MbarrierRole::Wait | MbarrierRole::Test);
                if kind.role == MbarrierRole::Arrive
                    && let Some(site) = event.site
                {
                    let span = graph.sites[site].span;
                    *arrival = Some(arrival.map_or(span, |known| known.min(span)));
                }
            }
        }
    }
}

/// Of each term, whether it is made of constants and parameters alone.
fn known_terms(graph: &EventGraph) -> Vec<bool> {
    let mut known: Vec<bool> = Vec::with_capacity(graph.terms.n_terms());
    for term in (0..graph.terms.n_terms()).map(TermRef::from_index) {
        let is_known = match graph.terms.kind(term) {
            TermKind::Unknown(unknown) => graph.terms.unknowns()[*unknown].kind == UnknownKind::Parameter,
            // Operands precede their users.
            _ => graph
                .terms
                .operands(term)
                .iter()
                .all(|operand| known.get(operand.index()).copied().unwrap_or(false)),
        };
        known.push(is_known);
    }
    known
}

/// Whether something is claimed or waited for, or done to memory in another way than by loads and stores.
fn claims(graph: &EventGraph) -> bool {
    let is_plain = |kind: &EventKind| {
        matches!(
            kind,
            EventKind::Init(_)
                | EventKind::Read(_)
                | EventKind::Write(_)
                | EventKind::Fence { .. }
                | EventKind::CtaStart(_)
                | EventKind::CtaExit(_)
        )
    };
    !graph.obligations.is_empty()
        || !graph.finals.is_empty()
        || !graph.reachables.is_empty()
        || !graph.blocked.is_empty()
        || graph.events.iter().any(|event| !is_plain(&event.kind))
}

/// Whether two threads or operations access the same memory, one of them writing; and whether some such memory is accessed
/// weakly.
fn shares(graph: &EventGraph) -> (bool, bool) {
    let mut users: SortedMap<LocationId, (SortedSet<AgentId>, bool, bool)> = SortedMap::new();
    for event in graph.events.iter() {
        if let (Some(access), Some(agent)) = (event.kind.access(), event.agent) {
            let (agents, is_written, is_weak) = users.entry(access.location).or_default();
            agents.insert(agent);
            *is_written |= matches!(event.kind, EventKind::Write(_));
            *is_weak |= !access.is_strong() && access.atomic == AtomicClass::None;
        }
    }
    let shared = || users.values().filter(|(agents, is_written, _)| agents.len() > 1 && *is_written);
    (shared().next().is_some(), shared().any(|(.., is_weak)| *is_weak))
}

/// The warnings.
pub fn warnings(sources: &SourceMap, program: &Program, seen: &Seen) -> Vec<Warning> {
    let mut found = Vec::new();
    for kernel in &program.kernels {
        let unrecorded = kernel.unrecorded.iter().map(|wait| Warning {
            kind: &warning::UNRECORDED_EVENT,
            span: wait.span,
            message: format!("nothing records `{}`, so this waits for nothing", wait.event),
            help: "record it where what is to be waited for has been launched, `record EVENT on STREAM;`, or take the wait out",
        });
        found.extend(unrecorded);
        let Some(known) = seen.kernels.get(&kernel.name) else { continue };
        if known.is_proved && known.synchronizes && !known.claims && !known.shares && !seen.is_partial {
            let message = format!(
                "`{}` has fences or strong accesses, but no data that two threads access with one of them writing, no \
                 assertion, and nothing to wait for",
                kernel.name
            );
            let help = "its proof says little: state what should hold, or launch more threads";
            found.push(Warning { kind: &warning::NOTHING_TO_PROTECT, span: kernel.span, message, help });
        }
        if known.is_compiled
            && known.is_proved
            && known.shares
            && !known.shares_weakly
            && !known.asserts
            && !seen.is_partial
        {
            let message = format!(
                "all memory that threads of `{}` share is accessed by volatile or strong instructions, so nothing can race, \
                 and nothing is claimed of what it holds: the proof says that the kernel ends, and no more",
                kernel.name
            );
            let help = "state what should hold: `final { assert [x] == …; }` in the `import`";
            found.push(Warning { kind: &warning::NOTHING_TO_PROTECT, span: kernel.span, message, help });
        }
        if let Some(wide) = known.wide.filter(|_| known.is_one_cta && known.is_proved && known.shares) {
            let opcode = sources.text(wide).split_whitespace().next().unwrap_or("");
            let message = format!(
                "every launch of `{}` is a single CTA, so whether the scope of `{opcode}` is wide enough was not put to the \
                 test: `.cta` would do as well",
                kernel.name
            );
            let help = "add a launch with several CTAs, or write `.cta`";
            found.push(Warning { kind: &warning::SCOPES_MOOT, span: wide, message, help });
        }
    }
    if seen.is_partial {
        return found;
    }
    for ((kernel, object), (arrival, is_waited)) in &seen.mbarriers {
        // Where there is no data, arrivals are what the kernel is about.
        let shares = seen.kernels.get(kernel).is_some_and(|kernel| kernel.shares);
        if let (Some(span), false, true) = (arrival, is_waited, shares) {
            let message = format!("threads arrive at `{object}`, and none ever waits for it");
            let help =
                "an arrival orders nothing for those who do not wait: add the wait, or take the arrival out";
            found.push(Warning { kind: &warning::ARRIVAL_WITHOUT_WAIT, span: *span, message, help });
        }
    }
    let Some(main) = sources.ids().next() else { return found };
    let (file, _) = parse(&sources.file(main).text, main);
    let constants = file.items.iter().filter_map(|item| match &item.kind {
        ItemKind::Constant { name, .. } => Some(name.text.clone()),
        _ => None,
    });
    let mut walk = Walk { seen, found, is_proved: false, constants: constants.collect() };
    for item in &file.items {
        match &item.kind {
            ItemKind::Function(function) if walk.executes(function.body.place.0) => {
                walk.is_proved = seen.kernels.values().all(|kernel| kernel.is_proved);
                walk.block(&function.body);
            }
            ItemKind::Kernel(KernelText { name, body, .. })
            | ItemKind::Program(KernelText { name, body, .. })
                if seen.kernels.contains_key(&name.text) =>
            {
                walk.is_proved = seen.kernels.get(&name.text).is_some_and(|kernel| kernel.is_proved);
                walk.block(body);
            }
            _ => {}
        }
    }
    walk.found
}

/// Goes through the statements that are executed.
struct Walk<'a> {
    seen: &'a Seen,
    /// Whether what the statements are part of is proved; else an assertion may hold because nothing gets there.
    is_proved: bool,
    /// The names of the file's constants.
    constants: SortedSet<String>,
    found: Vec<Warning>,
}

impl Walk<'_> {
    /// Whether some instruction inside is executed.
    fn executes(&self, outer: Span) -> bool {
        let from = Span { end: outer.start, ..outer };
        let inside = |span: &&Span| span.file == outer.file && span.start < outer.end;
        self.seen.executed.range(from..).take_while(inside).next().is_some()
    }

    fn block(&mut self, block: &Block) {
        block.statements.iter().for_each(|statement| self.statement(statement));
    }

    fn statement(&mut self, statement: &Statement) {
        match &statement.kind {
            StatementKind::If { condition, then, otherwise } => {
                // One that `-D` chooses is for another run.
                let is_chosen = self.is_constant(condition);
                if is_chosen {
                    self.block(then);
                } else {
                    self.arm(then, "the branch");
                }
                match otherwise {
                    Some(Else::Block(block)) if is_chosen => self.block(block),
                    Some(Else::Block(block)) => self.arm(block, "the branch behind `else`"),
                    Some(Else::If(inner)) => self.statement(inner),
                    None => {}
                }
            }
            StatementKind::For { body, .. }
            | StatementKind::While { body, .. }
            | StatementKind::Loop(body)
            | StatementKind::Client { body, .. }
            | StatementKind::Final(body) => self.block(body),
            StatementKind::Assert(condition) => self.assertion(statement, condition),
            _ => {}
        }
    }

    /// Whether a condition is made of constants, with one that has a name among them.
    fn is_constant(&self, condition: &Expr) -> bool {
        self.constants_in(condition).is_some_and(|n_names| n_names > 0)
    }

    /// How many constants an expression names; nothing if it is made of anything else.
    fn constants_in(&self, expr: &Expr) -> Option<usize> {
        match &expr.kind {
            ExprKind::Literal(_) | ExprKind::Bool(_) => Some(0),
            ExprKind::Name(name) => self.constants.contains(name).then_some(1),
            ExprKind::Unary(_, of) | ExprKind::Cast(of, _) => self.constants_in(of),
            ExprKind::Binary(_, a, b) => Some(self.constants_in(a)? + self.constants_in(b)?),
            ExprKind::Select(a, b, c) => {
                Some(self.constants_in(a)? + self.constants_in(b)? + self.constants_in(c)?)
            }
            _ => None,
        }
    }

    fn arm(&mut self, block: &Block, what: &str) {
        if !acts(block) || self.executes(block.place.0) {
            return self.block(block);
        }
        let message = format!("no thread of any launch takes {what}");
        let help = "correct the condition, or add a launch in which some thread takes it; what is in it is not checked";
        self.found.push(Warning { kind: &warning::BRANCH_NEVER_TAKEN, span: block.place.0, message, help });
    }

    fn assertion(&mut self, statement: &Statement, condition: &Expr) {
        let is_open = self.seen.open_assertions.iter().any(|&span| statement.place.0.holds(span));
        // `assert false` says that a place is never reached.
        if is_open || !self.is_proved || matches!(condition.kind, ExprKind::Bool(false)) {
            return;
        }
        let message =
            "this assertion holds whatever is read: constants, parameters and thread numbers decide it"
                .to_owned();
        let help = "assert something about a value that was read, or take it out";
        self.found.push(Warning {
            kind: &warning::CONSTANT_ASSERTION,
            span: statement.place.0,
            message,
            help,
        });
    }
}

/// Whether a block has an instruction of its own that leaves a trace when it is executed, and calls nothing: what a
/// function does is found at the function.
fn acts(block: &Block) -> bool {
    let mut acts = false;
    let mut calls = false;
    for statement in &block.statements {
        look(statement, &mut acts, &mut calls);
    }
    acts && !calls
}

fn look(statement: &Statement, acts: &mut bool, calls: &mut bool) {
    match &statement.kind {
        StatementKind::Let { value, .. }
        | StatementKind::Var { value, .. }
        | StatementKind::Assign { value, .. }
        | StatementKind::Expr(value)
        | StatementKind::Await(value)
        | StatementKind::Assert(value)
        | StatementKind::Assume(value)
        | StatementKind::Return(Some(value)) => look_at(value, acts, calls),
        StatementKind::If { condition, then, otherwise } => {
            look_at(condition, acts, calls);
            then.statements.iter().for_each(|statement| look(statement, acts, calls));
            match otherwise {
                Some(Else::Block(block)) => {
                    block.statements.iter().for_each(|statement| look(statement, acts, calls));
                }
                Some(Else::If(inner)) => look(inner, acts, calls),
                None => {}
            }
        }
        StatementKind::For { body, .. } | StatementKind::While { body, .. } | StatementKind::Loop(body) => {
            body.statements.iter().for_each(|statement| look(statement, acts, calls));
        }
        // What the host does has no instructions.
        StatementKind::Host(_) => *calls = true,
        _ => {}
    }
}

fn look_at(expr: &Expr, acts: &mut bool, calls: &mut bool) {
    match &expr.kind {
        ExprKind::Instruction { opcode, operands } => {
            const ACTS: &[&str] = &["ld", "st", "atom", "red", "bar", "barrier", "fence", "mbarrier"];
            *acts |= opcode.text.split('.').next().is_some_and(|word| ACTS.contains(&word));
            for operand in operands {
                if let Operand::Expr(expr) = operand {
                    look_at(expr, acts, calls);
                }
            }
        }
        ExprKind::Call { .. } => *calls = true,
        ExprKind::Unary(_, inner) | ExprKind::Cast(inner, _) => look_at(inner, acts, calls),
        ExprKind::Binary(_, left, right) => {
            [left, right].into_iter().for_each(|expr| look_at(expr, acts, calls))
        }
        ExprKind::Select(condition, then, otherwise) => {
            [condition, then, otherwise].into_iter().for_each(|expr| look_at(expr, acts, calls));
        }
        _ => {}
    }
}
