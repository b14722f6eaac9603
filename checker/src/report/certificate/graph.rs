//! The event graph and executions of it, as JSON.

use crate::bits::BitMatrix;
use crate::event::{
    Blocked, Event, EventGraph, EventId, EventKind, ObligationKind, Role, TermKind, TermRef, UnknownId,
    UnknownKind,
};
use fencepost_dsl::kernel::program::{FinalKind, Quantifier};
use fencepost_dsl::{SourceMap, Span};
use fencepost_engine::evidence::Structure;
use fencepost_engine::witness::Execution;
use serde_json::{Map, Value, json};

/// Where things are in the texts.
#[derive(Clone, Copy)]
pub(super) struct Places<'a> {
    pub(super) sources: &'a SourceMap,
}

impl Places<'_> {
    /// File, first byte and the one after the last.
    pub(super) fn place(self, span: Span) -> Value {
        json!([span.file.0, span.start, span.end])
    }

    fn line(self, span: Span) -> Value {
        json!(self.sources.line_column(span).line)
    }
}

fn kind_name(kind: &EventKind) -> &'static str {
    match kind {
        EventKind::Init(_) => "init",
        EventKind::Read(_) => "read",
        EventKind::Write(_) => "write",
        EventKind::Fence { .. } => "fence",
        EventKind::ProxyFence(_) => "proxy-fence",
        EventKind::AsyncFence(_) => "async-fence",
        EventKind::RestrictedFence(_) => "restricted-fence",
        EventKind::Issue { .. } => "issue",
        EventKind::MatrixFence => "matrix-fence",
        EventKind::Tensor(_) => "tensor",
        EventKind::Cancel(_) => "cancel",
        EventKind::AsyncWait => "async-wait",
        EventKind::BarrierArrive => "barrier-arrive",
        EventKind::BarrierWait => "barrier-wait",
        EventKind::ClusterArrive { .. } => "cluster-arrive",
        EventKind::ClusterWait => "cluster-wait",
        EventKind::Mbarrier(_) => "mbarrier",
        EventKind::Spa(_) => "spa",
        EventKind::CtaStart(_) => "cta-start",
        EventKind::CtaExit(_) => "cta-exit",
        EventKind::Grid(_) => "grid",
    }
}

/// A graph; with the pairs of its relations, if somebody is to evaluate a model on it.
pub(super) fn graph(places: Places<'_>, graph: &EventGraph, has_relations: bool) -> Value {
    let structure = Structure::of(graph);
    let terms: Vec<Value> = graph.terms.all().map(|term| of_term(graph, term)).collect();
    let unknowns: Vec<Value> = graph
        .terms
        .unknowns()
        .iter()
        .map(|unknown| {
            let (min, max) = (unknown.min.to_string(), unknown.max.to_string());
            json!([unknown.width, min, max, of_unknown(&unknown.kind)])
        })
        .collect();
    let sets: Map<String, Value> = structure
        .sets
        .iter()
        .filter(|(_, events)| !events.is_empty())
        .map(|(set, events)| (set.name().to_owned(), numbers(events)))
        .collect();
    let relations: Value = if has_relations {
        let of = structure.relations.iter().map(|(base, pairs)| (base.name().to_owned(), runs(pairs)));
        Value::Object(of.collect())
    } else {
        Value::Null
    };
    let edges: Value = if has_relations {
        let of = structure.edges.iter().filter(|(_, edges)| !edges.is_empty()).map(|(base, edges)| {
            let edges: Vec<Value> =
                edges.iter().map(|edge| json!([edge.from.0, edge.to.0, edge.condition.0])).collect();
            (base.name().to_owned(), Value::Array(edges))
        });
        Value::Object(of.collect())
    } else {
        Value::Null
    };
    json!({
        "terms": terms,
        "unknowns": unknowns,
        "agents": (0..).zip(graph.completed.iter()).map(|(agent, completed): (u32, _)| {
            let agent = crate::event::AgentId(agent);
            json!({
                "name": graph.hierarchy.describe(agent),
                "completed": completed.0,
                "started": graph.started(agent).0,
            })
        }).collect::<Vec<_>>(),
        "operations": operations(graph),
        "has_starts": !graph.starts.is_empty(),
        "locations": graph.locations.iter_enumerated().map(|(id, location)| {
            json!({ "name": location.name.to_string(), "cell_bytes": structure.grain_bytes[id] })
        }).collect::<Vec<_>>(),
        "events": graph.events.iter().map(|event| of_event(places, graph, event)).collect::<Vec<_>>(),
        "sets": sets,
        "relations": relations,
        "edges": edges,
        "constraints": graph.constraints.iter().map(|constraint| constraint.term.0).collect::<Vec<_>>(),
        "representative": graph.representative.iter().map(|term| term.0).collect::<Vec<_>>(),
        "parameters": graph.parameters.iter().map(|(name, unknown)| json!([name, unknown.0])).collect::<Vec<_>>(),
        "last_reads": structure.last_reads.iter().map(|(unknown, read, counts)| {
            json!([unknown.0, read.0, numbers(counts)])
        }).collect::<Vec<_>>(),
        "obligations": graph.obligations.iter().map(|own| {
            let (property, code) = match &own.kind {
                ObligationKind::Assertion => ("assert", "assert::violated"),
                ObligationKind::Bounds { .. } => ("bounds", "bounds::out-of-bounds"),
                ObligationKind::Discipline(misuse) => {
                    (misuse.kind.kind.property.map_or("barrier", |property| property.name()), misuse.code())
                }
            };
            json!({
                "property": property, "code": code, "agent": own.agent.0, "guard": own.guard.0,
                "condition": own.condition.0, "line": places.line(own.span),
            })
        }).collect::<Vec<_>>(),
        "cuts": graph.cuts.iter().map(|cut| {
            json!({ "agent": cut.agent.0, "guard": cut.guard.0, "line": places.line(cut.span) })
        }).collect::<Vec<_>>(),
        "blocked": graph.blocked.iter().map(|blocked| of_blocked(places, graph, blocked)).collect::<Vec<_>>(),
        "reachable": graph.reachables.iter().map(|own| {
            json!({ "place": places.place(own.span), "condition": own.condition.0 })
        }).collect::<Vec<_>>(),
        "finals": graph.finals.iter().map(|own| {
            let kind = match own.kind {
                FinalKind::Assert => "assert",
                FinalKind::Reachable => "reachable",
            };
            json!({ "kind": kind, "place": places.place(own.span), "condition": own.condition.0 })
        }).collect::<Vec<_>>(),
        "condition": graph.condition.as_ref().map(|own| {
            let quantifier = match own.quantifier {
                Quantifier::Exists => "exists",
                Quantifier::NotExists => "not-exists",
                Quantifier::Forall => "forall",
            };
            json!({ "quantifier": quantifier, "condition": own.condition.0, "filter": own.filter.0 })
        }),
    })
}

/// Asynchronous operations, by the number behind that of the last thread: who started each.
fn operations(graph: &EventGraph) -> Vec<u32> {
    let n_threads = graph.completed.len();
    let agents = graph.events.iter().filter_map(|event| event.agent);
    let last = agents.map(|agent| agent.0 as usize + 1).max().unwrap_or(0).max(n_threads);
    (n_threads..last)
        .map(|agent| graph.hierarchy.issuer(crate::event::AgentId(u32::try_from(agent).unwrap_or(0))).0)
        .collect()
}

fn numbers(events: &[EventId]) -> Value {
    json!(events.iter().map(|event| event.0).collect::<Vec<_>>())
}

/// Row by row: the event, and runs of those that it is related to, each its first and how many.
fn runs(pairs: &BitMatrix) -> Value {
    let mut rows: Vec<Vec<u32>> = Vec::new();
    for (a, b) in pairs.pairs() {
        if rows.last().is_none_or(|row| row[0] != a.0) {
            rows.push(vec![a.0]);
        }
        let Some(row) = rows.last_mut() else { continue };
        match row[1..] {
            [.., first, n] if first + n == b.0 => {
                if let Some(n) = row.last_mut() {
                    *n += 1;
                }
            }
            _ => row.extend([b.0, 1]),
        }
    }
    json!(rows)
}

fn of_blocked(places: Places<'_>, graph: &EventGraph, blocked: &Blocked) -> Value {
    json!({
        "agent": blocked.agent.0,
        "stuck": blocked.stuck.0,
        "resident": blocked.is_resident(&graph.hierarchy),
        "line": places.line(blocked.span),
    })
}

fn of_event(places: Places<'_>, graph: &EventGraph, event: &Event) -> Value {
    let access = event.kind.access().map(|access| {
        json!({
            "location": access.location.0, "mapping": access.mapping, "offset": access.offset.0,
            "width": access.width_bytes, "value": access.value.0,
        })
    });
    let spin = match event.role {
        Role::Spin(unknown) => Some(unknown.0),
        Role::Plain | Role::Await => None,
    };
    let site = event.site.map(|site| &graph.sites[site]);
    json!({
        "kind": kind_name(&event.kind),
        "agent": event.agent.map(|agent| agent.0),
        "guard": event.guard.0,
        "position": event.position,
        "access": access,
        "try": spin,
        "text": site.map(|site| site.text.as_str()),
        "line": site.map(|site| places.line(site.span)),
    })
}

fn of_term(graph: &EventGraph, term: TermRef) -> Value {
    let width = graph.terms.width(term);
    let one = |name: &str, a: TermRef| json!([width, name, a.0]);
    let two = |name: &str, a: TermRef, b: TermRef| json!([width, name, a.0, b.0]);
    let all = |name: &str, members: &[TermRef]| {
        let mut value = vec![json!(width), json!(name)];
        value.extend(members.iter().map(|member| json!(member.0)));
        Value::Array(value)
    };
    match graph.terms.kind(term) {
        TermKind::Constant(value) => json!([width, "constant", value.to_string()]),
        TermKind::Unknown(unknown) => json!([width, "unknown", unknown.0]),
        TermKind::Not(a) => one("not", *a),
        TermKind::And(members) => all("and", members),
        TermKind::Or(members) => all("or", members),
        TermKind::BitAnd(a, b) => two("bit-and", *a, *b),
        TermKind::BitOr(a, b) => two("bit-or", *a, *b),
        TermKind::BitXor(a, b) => two("bit-xor", *a, *b),
        TermKind::Add(a, b) => two("add", *a, *b),
        TermKind::Subtract(a, b) => two("subtract", *a, *b),
        TermKind::Multiply(a, b) => two("multiply", *a, *b),
        TermKind::Divide(a, b) => two("divide", *a, *b),
        TermKind::Remainder(a, b) => two("remainder", *a, *b),
        TermKind::ShiftLeft(a, b) => two("shift-left", *a, *b),
        TermKind::ShiftRight(a, b) => two("shift-right", *a, *b),
        TermKind::Equal(a, b) => two("equal", *a, *b),
        TermKind::Less(a, b) => two("less", *a, *b),
        TermKind::SignedLess(a, b) => two("signed-less", *a, *b),
        TermKind::IfThenElse(c, a, b) => json!([width, "if", c.0, a.0, b.0]),
        TermKind::Resize(a) => one("resize", *a),
        TermKind::Extract(a, low) => json!([width, "extract", a.0, low]),
    }
}

fn of_unknown(kind: &UnknownKind) -> Value {
    match kind {
        UnknownKind::Parameter => json!(["parameter"]),
        UnknownKind::Read(event) => json!(["read", event.0]),
        UnknownKind::Initial { location, offset_bytes } => json!(["initial", location.0, offset_bytes]),
        UnknownKind::FinalValue { location, offset_bytes, width_bytes } => {
            json!(["final", location.0, offset_bytes, width_bytes])
        }
        UnknownKind::ReadsLast(event) => json!(["reads-last", event.0]),
        UnknownKind::ReadsPromised(event) => json!(["reads-promised", event.0]),
        _ => json!(["chosen"]),
    }
}

/// An execution.
pub(super) fn execution(execution: &Execution) -> Value {
    let unknowns: Vec<String> = (0..execution.unknowns.len())
        .map(|at| execution.unknowns[UnknownId(u32::try_from(at).unwrap_or(u32::MAX))].to_string())
        .collect();
    let sources: Vec<Value> = execution
        .sources
        .iter()
        .map(|(read, sources)| {
            let sources: Vec<Value> = sources.iter().map(|(write, piece)| json!([write.0, piece])).collect();
            json!([read.0, sources])
        })
        .collect();
    json!({
        "executed": numbers(&execution.executed.iter().collect::<Vec<_>>()),
        "unknowns": unknowns,
        "sources": sources,
        "coherence": runs(&execution.coherence),
        "fence_order": runs(&execution.fence_order),
    })
}
