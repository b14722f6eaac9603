//! A stable, readable listing of an event graph, for `emit events` and for snapshots.

use crate::event::{
    Access, AtomicClass, BaseRelation, CancelEvent, EventGraph, EventKind, GridEvent, MbarrierRole,
    ObligationKind, Role, SpaEvent, TensorEvent, TermKind, TermPool, TermRef,
};
use fencepost_dsl::vocabulary::{Proxy, Sem};
use std::fmt::Write;

/// Terms are shown down to this depth; below stands `…`.
const DEPTH: usize = 6;
/// Operands of a conjunction or disjunction beyond this number are counted, not shown.
const BREADTH: usize = 12;

/// Lists everything in the graph.
pub fn dump(graph: &EventGraph) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write_graph(&mut out, graph);
    out
}

fn write_graph(out: &mut String, graph: &EventGraph) -> std::fmt::Result {
    let show = |term: TermRef| render(&graph.terms, term, DEPTH);
    for (id, location) in graph.locations.iter_enumerated() {
        writeln!(out, "location l{} {} ({} bytes)", id.0, location.name, location.size_bytes)?;
    }
    for (name, unknown) in &graph.parameters {
        let range = graph.terms.unknown(*unknown);
        writeln!(out, "parameter {name} = u{} in {}..={}", unknown.0, range.min, range.max)?;
    }
    for (id, event) in graph.events.iter_enumerated() {
        let agent = match (event.agent, &event.kind) {
            (Some(agent), _) => format!("T{}", agent.0),
            (None, EventKind::CtaStart(cta) | EventKind::CtaExit(cta)) => format!("C{}", cta.0),
            (None, EventKind::Grid(GridEvent::Start(grid) | GridEvent::End(grid))) => format!("G{}", grid.0),
            (None, _) => "init".to_owned(),
        };
        let site = event.site.map(|site| &graph.sites[site]);
        let text = site.map_or_else(String::new, |site| format!("{} {}", site.text, site.operand));
        write!(out, "e{} {agent} p{} {}", id.0, event.position, kind_name(&event.kind))?;
        if !text.trim().is_empty() {
            write!(out, " {}", text.trim())?;
        }
        if let Some(access) = event.kind.access() {
            write!(out, " {}", access_text(graph, access))?;
        }
        if !event.iterations.is_empty() {
            let iterations: Vec<String> = event.iterations.iter().map(u32::to_string).collect();
            write!(out, " iteration {}", iterations.join("."))?;
        }
        match event.role {
            Role::Plain => {}
            Role::Spin(unknown) => write!(out, " spin u{}", unknown.0)?,
            Role::Await => write!(out, " await")?,
        }
        writeln!(out, " guard {}", show(event.guard))?;
    }
    for (read, write) in &graph.rmw {
        writeln!(out, "rmw e{} e{}", read.0, write.0)?;
    }
    for (agent, completed) in graph.completed.iter_enumerated() {
        writeln!(out, "completed T{} iff {}", agent.0, show(*completed))?;
    }
    for constraint in &graph.constraints {
        writeln!(out, "constraint {}", show(constraint.term))?;
    }
    for obligation in &graph.obligations {
        let kind = match &obligation.kind {
            ObligationKind::Assertion => "assert".to_owned(),
            ObligationKind::Bounds { object, n_elements, index } => {
                format!("bounds {object} index {} of {n_elements}", show(*index))
            }
            ObligationKind::Discipline(misuse) => misuse.code().to_owned(),
        };
        let (guard, condition) = (show(obligation.guard), show(obligation.condition));
        writeln!(
            out,
            "obligation T{} p{} {kind}: {guard} => {condition}",
            obligation.agent.0, obligation.position
        )?;
    }
    for cut in &graph.cuts {
        writeln!(out, "cut T{} loop {} guard {}", cut.agent.0, cut.id.0, show(cut.guard))?;
    }
    for reachable in &graph.reachables {
        writeln!(out, "reachable {}", show(reachable.condition))?;
    }
    for goal in &graph.finals {
        writeln!(out, "final {:?} {}", goal.kind, show(goal.condition))?;
    }
    if let Some(goal) = &graph.condition {
        let (condition, filter) = (show(goal.condition), show(goal.filter));
        writeln!(out, "{} {condition} filter {filter}", goal.quantifier.name())?;
    }
    write_edges(
        out,
        graph,
        &[("barrier", BaseRelation::BarrierSynchronization), ("signal", BaseRelation::Signals)],
    )?;
    for edge in graph.edges.of(BaseRelation::Issue) {
        writeln!(out, "issue e{} -> e{}", edge.from.0, edge.to.0)?;
    }
    write_edges(
        out,
        graph,
        &[
            ("completion", BaseRelation::Completion),
            ("pipelined", BaseRelation::Pipelined),
            ("phase", BaseRelation::PhaseOrder),
        ],
    )?;
    for peer in &graph.peer_accesses {
        writeln!(out, "peer e{} in memory of C{}", peer.access.0, peer.owner.0)?;
    }
    for (cluster, start) in graph.starts.iter().enumerate() {
        writeln!(out, "cluster {cluster} starts iff {}", show(*start))?;
    }
    write_edges(
        out,
        graph,
        &[
            ("moment", BaseRelation::InPhaseOrder),
            ("turn", BaseRelation::BarrierOrder),
            ("exit", BaseRelation::ExitRelease),
            ("exited", BaseRelation::ExitOrder),
            ("same-store", BaseRelation::SameStore),
        ],
    )?;
    Ok(())
}

/// Conditional edges, each with the name of its kind.
fn write_edges(out: &mut String, graph: &EventGraph, kinds: &[(&str, BaseRelation)]) -> std::fmt::Result {
    for &(name, relation) in kinds {
        for edge in graph.edges.of(relation) {
            let condition = render(&graph.terms, edge.condition, DEPTH);
            writeln!(out, "{name} e{} -> e{} if {condition}", edge.from.0, edge.to.0)?;
        }
    }
    Ok(())
}

fn kind_name(kind: &EventKind) -> &'static str {
    match kind {
        EventKind::Init(_) => "I",
        EventKind::Read(_) => "R",
        EventKind::Write(_) => "W",
        EventKind::Fence { .. }
        | EventKind::ProxyFence(_)
        | EventKind::AsyncFence(_)
        | EventKind::RestrictedFence(_) => "F",
        EventKind::Issue { .. } => "issue",
        EventKind::AsyncWait => "async-wait",
        EventKind::MatrixFence => "wgmma-fence",
        EventKind::Spa(SpaEvent::Membar { .. }) => "membar",
        EventKind::Spa(SpaEvent::InvalidateAll(_)) => "invalidate-all",
        EventKind::Spa(SpaEvent::InvalidateLine(_)) => "invalidate-line",
        EventKind::Cancel(CancelEvent::Try) => "try-cancel",
        EventKind::Cancel(CancelEvent::Failed) => "cancel-failed",
        EventKind::Tensor(TensorEvent::FenceBefore) => "tcgen05-before",
        EventKind::Tensor(TensorEvent::FenceAfter) => "tcgen05-after",
        EventKind::Tensor(TensorEvent::Allocate) => "tcgen05-alloc",
        EventKind::Tensor(TensorEvent::Free) => "tcgen05-dealloc",
        EventKind::Tensor(TensorEvent::Relinquish) => "tcgen05-relinquish",
        EventKind::BarrierArrive => "arrive",
        EventKind::BarrierWait => "wait",
        EventKind::ClusterArrive { .. } => "cluster-arrive",
        EventKind::ClusterWait => "cluster-wait",
        EventKind::CtaStart(_) => "cta-start",
        EventKind::CtaExit(_) => "cta-exit",
        EventKind::Grid(event) => match event {
            GridEvent::Start(_) => "grid-start",
            GridEvent::End(_) => "grid-end",
            GridEvent::Enqueue => "enqueue",
            GridEvent::Synchronize => "synchronize",
            GridEvent::LaunchDependents => "launch-dependents",
            GridEvent::Wait => "grid-wait",
        },
        EventKind::Mbarrier(operation) => match operation.role {
            MbarrierRole::Init => "mbarrier-init",
            MbarrierRole::Inval => "mbarrier-inval",
            MbarrierRole::Transaction => "mbarrier-tx",
            MbarrierRole::Complete => "mbarrier-complete-tx",
            MbarrierRole::Arrive => "mbarrier-arrive",
            MbarrierRole::Test => "mbarrier-test",
            MbarrierRole::Wait => "mbarrier-wait",
        },
    }
}

fn access_text(graph: &EventGraph, access: &Access) -> String {
    let mut text = format!(
        "loc {}+{} w{} {}",
        graph.locations[access.location].name,
        render(&graph.terms, access.offset, DEPTH),
        access.width_bytes,
        access.sem,
    );
    if access.sem != Sem::Weak {
        text += &format!(".{}", access.scope);
    }
    match access.atomic {
        AtomicClass::None => {}
        AtomicClass::Atom => text += " atom",
        AtomicClass::Sink => text += " atom _",
        AtomicClass::Reduction => text += " red",
    }
    if access.mapping != 0 {
        text += &format!(" mapping {}", access.mapping);
    }
    if access.proxy != Proxy::Generic {
        text += &format!(" {}", access.proxy);
    }
    text + &format!(" value {}", render(&graph.terms, access.value, DEPTH))
}

/// A term in infix notation, down to a depth.
fn render(terms: &TermPool, term: TermRef, depth: usize) -> String {
    let infix = |operator: &str, a: TermRef, b: TermRef| {
        format!("({} {operator} {})", render(terms, a, depth - 1), render(terms, b, depth - 1))
    };
    match *terms.kind(term) {
        TermKind::Constant(value) => value.to_string(),
        TermKind::Unknown(unknown) => format!("u{}", unknown.0),
        _ if depth == 0 => "…".to_owned(),
        TermKind::Not(a) => format!("!{}", render(terms, a, depth - 1)),
        TermKind::And(ref all) => join(terms, all, " & ", depth),
        TermKind::Or(ref all) => join(terms, all, " | ", depth),
        TermKind::BitAnd(a, b) => infix("&", a, b),
        TermKind::BitOr(a, b) => infix("|", a, b),
        TermKind::BitXor(a, b) => infix("^", a, b),
        TermKind::Add(a, b) => infix("+", a, b),
        TermKind::Subtract(a, b) => infix("-", a, b),
        TermKind::Multiply(a, b) => infix("*", a, b),
        TermKind::Divide(a, b) => infix("/", a, b),
        TermKind::Remainder(a, b) => infix("%", a, b),
        TermKind::ShiftLeft(a, b) => infix("<<", a, b),
        TermKind::ShiftRight(a, b) => infix(">>", a, b),
        TermKind::Equal(a, b) => infix("==", a, b),
        TermKind::Less(a, b) => infix("<", a, b),
        TermKind::SignedLess(a, b) => infix("<s", a, b),
        TermKind::IfThenElse(c, a, b) => {
            format!(
                "({} ? {} : {})",
                render(terms, c, depth - 1),
                render(terms, a, depth - 1),
                render(terms, b, depth - 1)
            )
        }
        TermKind::Resize(a) => format!("{}:{}", render(terms, a, depth - 1), terms.width(term)),
        TermKind::Extract(a, low) => {
            format!("{}[{low}..+{}]", render(terms, a, depth - 1), terms.width(term))
        }
    }
}

fn join(terms: &TermPool, all: &[TermRef], operator: &str, depth: usize) -> String {
    let mut shown: Vec<String> =
        all.iter().take(BREADTH).map(|&term| render(terms, term, depth - 1)).collect();
    if all.len() > BREADTH {
        shown.push(format!("… {} more", all.len() - BREADTH));
    }
    format!("({})", shown.join(operator))
}
