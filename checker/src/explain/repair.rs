//! Changes that might take a race (or a failed assertion) away, each tried by a check of the changed graph; the first that
//! holds is kept.
//!
//! Changes are to whole instructions of the source (all events of a site), and only to `.sem`, `.scope` and `.nc`; what is
//! added is a proxy fence where only that is missing (`insert`). Moving instructions is beyond this pass.

pub(crate) mod insert;
mod spa;

use super::chain::Chain;
use super::{Explanation, Reason, Subject};
use crate::check::{CheckError, Config, recheck_graph};
use crate::event::{AtomicClass, EventGraph, EventId, EventKind, MbarrierRole, SiteId};
use crate::verdict::{Property, Verdict};
use fencepost_dsl::cat::memory_model::MemoryModel;
use fencepost_dsl::vocabulary::{Proxy, Scope, Sem};
use insert::Insertion;
use std::collections::BTreeMap;

/// Most changes tried per finding.
const CANDIDATES_MAX: usize = 7;

/// A changed instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Change {
    /// The instruction.
    pub site: SiteId,
    /// Its opcode now.
    pub before: String,
    /// Its opcode after the change.
    pub after: String,
}

/// A change after which the launch was checked to be free of races (and of failed assertions, if those are checked).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Repair {
    /// What to change.
    pub changes: Vec<Change>,
    /// What to add.
    pub insertion: Option<Insertion>,
    /// What was checked of the result.
    pub checked: Vec<Property>,
    /// Only for executions within the loop bound.
    pub within_bound: bool,
    /// It makes the racing accesses themselves strong, and orders nothing else.
    pub only_strengthens_ends: bool,
}

/// Something to try.
#[derive(Clone, Default)]
struct Candidate {
    edits: Vec<Edit>,
    spa: Vec<spa::SpaEdit>,
    insertion: Option<Insertion>,
}

/// How to change an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Edit {
    event: EventId,
    goal: Goal,
    scope: Scope,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Goal {
    /// Keep the sem, widen the scope.
    Widen,
    /// At least relaxed.
    Strong,
    /// A write that releases.
    Release,
    /// A read that acquires.
    Acquire,
    /// A read that is kept coherent: without `.nc`.
    Coherent,
}

/// The first change that makes the finding, and every other race, go away; `None` if none of those tried does.
///
/// Each try may take a share of the budget; tries stop when half of it is gone.
///
/// # Errors
/// See [`recheck_graph`].
pub fn find(
    graph: &EventGraph,
    model: &MemoryModel,
    explanation: &Explanation,
    config: &Config,
) -> Result<Option<Repair>, CheckError> {
    let ends = match explanation.subject {
        Subject::Race { earlier, later } => Some((earlier, later)),
        _ => None,
    };
    // Races are checked even if they were not asked for: a repair that leaves one is none.
    let mut properties = vec![Property::Race];
    properties.extend(config.properties.iter().filter(|&&property| property == Property::Assert));
    let allowance = config.allowance();
    let mut tried: Vec<(Vec<Change>, Option<Insertion>)> = Vec::new();
    for Candidate { edits, spa, insertion } in all_candidates(graph, explanation, ends) {
        let mut changed = graph.clone();
        let mut changes = apply(&mut changed, &edits);
        changes.extend(spa::apply(&mut changed, &spa));
        if let Some(insertion) = &insertion {
            insert::insert(&mut changed, insertion);
        }
        let attempt = (changes, insertion);
        if (attempt.0.is_empty() && attempt.1.is_none()) || tried.contains(&attempt) {
            continue;
        }
        if tried.len() == CANDIDATES_MAX || allowance.used() > config.budget / 2 {
            break;
        }
        let config = Config {
            properties: properties.clone(),
            is_asked_by_name: false,
            budget: config.budget / (2 * CANDIDATES_MAX as u64),
            ..config.clone()
        };
        let verdict = recheck_graph(changed, model, &config)?;
        if matches!(verdict, Verdict::Proved | Verdict::ProvedUpToBound) {
            let within_bound = verdict == Verdict::ProvedUpToBound;
            let (changes, insertion) = attempt;
            let only_strengthens_ends =
                insertion.is_none() && ends.is_some_and(|ends| only_strengthens(graph, &changes, ends));
            let checked = properties;
            return Ok(Some(Repair { changes, insertion, checked, within_bound, only_strengthens_ends }));
        }
        tried.push(attempt);
    }
    Ok(None)
}

/// Whether the changes only make weak accesses of the racing bytes relaxed, and no fence makes more of that.
fn only_strengthens(graph: &EventGraph, changes: &[Change], (earlier, _): (EventId, EventId)) -> bool {
    let location = |event: EventId| graph.events[event].kind.access().map(|access| access.location);
    let has_fence = graph.events.iter().any(|event| matches!(event.kind, EventKind::Fence { .. }));
    !has_fence
        && changes.iter().all(|change| {
            let racing = |event: EventId| {
                graph.events[event].site == Some(change.site) && location(event) == location(earlier)
            };
            change.after.contains(".relaxed.") && graph.events.ids().any(racing)
        })
}

/// What to try, in order.
fn all_candidates(
    graph: &EventGraph,
    explanation: &Explanation,
    ends: Option<(EventId, EventId)>,
) -> Vec<Candidate> {
    if graph.hierarchy.launch().spa.is_some() {
        return spa::candidates(graph, explanation);
    }
    let insertions = insert::candidates(graph, explanation)
        .into_iter()
        .map(|added| Candidate { insertion: Some(added), ..Candidate::default() });
    let edits = candidates(graph, explanation, ends)
        .into_iter()
        .map(|edits| Candidate { edits, ..Candidate::default() });
    insertions.chain(edits).collect()
}

/// Edits to try, the least invasive first.
fn candidates(
    graph: &EventGraph,
    explanation: &Explanation,
    ends: Option<(EventId, EventId)>,
) -> Vec<Vec<Edit>> {
    let mut candidates = Vec::new();
    let read = explanation.reasons.iter().find_map(|reason| match *reason {
        Reason::NonCoherent { read, .. } => Some(read),
        _ => None,
    });
    if let Some(event) = read {
        candidates.push(vec![Edit { event, goal: Goal::Coherent, scope: Scope::Cta }]);
    }
    if let Some(chain) = &explanation.chain {
        candidates.extend(link_candidates(graph, chain));
    }
    let named = explanation.reasons.iter().find_map(|reason| match *reason {
        Reason::OutOfScope { event, other, needed, .. } => Some((event, other, needed)),
        _ => None,
    });
    if let Some((event, other, needed)) = named {
        let scope = usual(graph, needed);
        candidates.push([event, other].map(|event| Edit { event, goal: Goal::Widen, scope }).to_vec());
    }
    let Some((earlier, later)) = ends else { return candidates };
    if let (Some(a), Some(b)) = (graph.events[earlier].agent, graph.events[later].agent) {
        let scope = usual(graph, graph.hierarchy.common_scope(a, b));
        let both = |first: Goal, second: Goal| {
            vec![Edit { event: earlier, goal: first, scope }, Edit { event: later, goal: second, scope }]
        };
        candidates.push(both(Goal::Strong, Goal::Strong));
        candidates.push(both(Goal::Release, Goal::Acquire));
    }
    candidates
}

/// `.cluster` only where the kernel uses clusters; else `.gpu`, which holds the same threads and more.
fn usual(graph: &EventGraph, scope: Scope) -> Scope {
    let uses_clusters = || graph.events.iter().any(|event| event.kind.scope() == Some(Scope::Cluster));
    if scope == Scope::Cluster && !uses_clusters() { Scope::Gpu } else { scope }
}

/// Edits of the operations that make up the broken link.
fn link_candidates(graph: &EventGraph, chain: &Chain) -> Vec<Vec<Edit>> {
    let Some((write, read)) = chain.broken else { return Vec::new() };
    let (Some(a), Some(b)) = (graph.events[write].agent, graph.events[read].agent) else { return Vec::new() };
    let scope = usual(graph, graph.hierarchy.common_scope(a, b));
    let edit = |event: EventId, goal: Goal| Edit { event, goal, scope };
    let widen: Vec<Edit> = [write, read]
        .iter()
        .chain(&chain.release_heads)
        .chain(&chain.acquire_tails)
        .map(|&event| edit(event, Goal::Widen))
        .collect();
    let (release, acquire) = (edit(write, Goal::Release), edit(read, Goal::Acquire));
    // The strong forms without order of their own: enough where fences do the rest.
    let relaxed = vec![edit(write, Goal::Strong), edit(read, Goal::Strong)];
    let with = |first: Edit| std::iter::once(first).chain(widen.iter().copied()).collect::<Vec<Edit>>();
    vec![widen.clone(), with(release), with(acquire), relaxed, vec![release, acquire]]
}

/// Makes the edits that apply, on all events of their sites; what changed, by site.
fn apply(graph: &mut EventGraph, edits: &[Edit]) -> Vec<Change> {
    let mut changes: BTreeMap<SiteId, Change> = BTreeMap::new();
    for edit in edits {
        let Some(site) = graph.events[edit.event].site else { continue };
        if graph.is_of_operation(edit.event) {
            // The sems of asynchronous operations are not the programmer's to choose.
            continue;
        }
        let before =
            changes.get(&site).map_or_else(|| graph.sites[site].text.clone(), |change| change.after.clone());
        let Some(after) = edited_text(graph, &before, edit) else { continue };
        if after == before {
            continue;
        }
        let events: Vec<EventId> =
            graph.events.ids().filter(|&event| graph.events[event].site == Some(site)).collect();
        for event in events {
            edit_event(&mut graph.events[event].kind, edit);
        }
        let original = graph.sites[site].text.clone();
        changes.entry(site).and_modify(|change| change.after = after.clone()).or_insert(Change {
            site,
            before: original,
            after,
        });
    }
    changes.into_values().collect()
}

/// The opcode after an edit; `None` if it cannot be made.
fn edited_text(graph: &EventGraph, text: &str, edit: &Edit) -> Option<String> {
    if edit.goal == Goal::Coherent {
        return Some(text.replace(".nc", ""));
    }
    if let Some(access) = graph.events[edit.event].kind.access() {
        if access.proxy != Proxy::Generic {
            return None;
        }
        let scalar = access.width_bytes <= 8
            && !text.contains(".v2")
            && !text.contains(".v4")
            && !text.contains(".v8");
        let settled = matches!(access.sem, Sem::Volatile | Sem::Mmio);
        if settled || (!scalar && edit.goal != Goal::Widen) {
            return None;
        }
        if edit.goal == Goal::Acquire && access.atomic == AtomicClass::Reduction {
            return None;
        }
    }
    let mut edit = *edit;
    match &graph.events[edit.event].kind {
        // It has no scope to be widened, and is a release or relaxed.
        EventKind::ClusterArrive { .. } => {
            return (edit.goal == Goal::Release).then(|| text.replace(".relaxed", ".release"));
        }
        EventKind::Mbarrier(operation) => {
            let fits = match edit.goal {
                Goal::Widen => operation.sem != Sem::Weak,
                Goal::Release => operation.role == MbarrierRole::Arrive,
                Goal::Acquire => operation.role == MbarrierRole::Wait,
                Goal::Strong | Goal::Coherent => false,
            };
            if !fits {
                return None;
            }
            // There is nothing wider for an mbarrier (MB-10).
            edit.scope = edit.scope.min(Scope::Cluster);
        }
        EventKind::Fence { .. } if edit.goal == Goal::Widen => {}
        EventKind::Read(_) | EventKind::Write(_) => {}
        _ => return None,
    }
    graph.events[edit.event].kind.scope().or((edit.goal != Goal::Widen).then_some(edit.scope))?;
    let mut tokens: Vec<String> = text.split('.').map(str::to_owned).collect();
    let sems = ["weak", "relaxed", "acquire", "release", "acq_rel", "sc"];
    let at = tokens.iter().position(|token| sems.contains(&token.as_str()))?;
    let sem = match (edit.goal, tokens[at].as_str()) {
        (Goal::Strong, "weak") => "relaxed",
        (Goal::Release, "weak" | "relaxed") => "release",
        (Goal::Acquire, "weak" | "relaxed") => "acquire",
        (Goal::Release, "acquire") | (Goal::Acquire, "release") => "acq_rel",
        (_, same) => same,
    };
    tokens[at] = sem.to_owned();
    let names: Vec<String> = Scope::ALL.iter().map(ToString::to_string).collect();
    match tokens.get(at + 1).and_then(|token| names.iter().position(|name| name == token)) {
        Some(known) => tokens[at + 1] = Scope::ALL[known].max(edit.scope).to_string(),
        None => tokens.insert(at + 1, edit.scope.to_string()),
    }
    Some(tokens.join("."))
}

fn edit_event(kind: &mut EventKind, edit: &Edit) {
    let is_read = matches!(kind, EventKind::Read(_));
    match kind {
        EventKind::Fence { scope, .. } => *scope = (*scope).max(edit.scope),
        EventKind::Read(access) if edit.goal == Goal::Coherent => access.proxy = Proxy::Generic,
        EventKind::Read(access) | EventKind::Write(access) => {
            let was_weak = access.sem == Sem::Weak;
            access.scope = if was_weak { edit.scope } else { access.scope.max(edit.scope) };
            access.sem = match (edit.goal, access.sem) {
                (Goal::Strong, Sem::Weak) => Sem::Relaxed,
                (Goal::Release, Sem::Weak | Sem::Relaxed) if !is_read => Sem::Release,
                (Goal::Acquire, Sem::Weak | Sem::Relaxed) if is_read => Sem::Acquire,
                (_, same) => same,
            };
        }
        EventKind::Mbarrier(operation) => {
            operation.scope = operation.scope.max(edit.scope).min(Scope::Cluster);
            operation.sem = match (edit.goal, operation.role) {
                (Goal::Release, MbarrierRole::Arrive) => Sem::Release,
                (Goal::Acquire, MbarrierRole::Wait) => Sem::Acquire,
                _ => operation.sem,
            };
        }
        EventKind::ClusterArrive { sem } if edit.goal == Goal::Release => *sem = Sem::Release,
        // Nothing else has a sem or a scope to be edited, see `edited_text`.
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::{Edit, Goal, edited_text};
    use crate::event::{
        Access, AtomicClass, Event, EventGraph, EventId, EventKind, LocationId, Role, TermPool,
    };
    use fencepost_dsl::kernel::program::Launch;
    use fencepost_dsl::vocabulary::{Proxy, Scope, Sem};
    use fencepost_dsl::{FileId, Span};

    fn edited(text: &str, sem: Sem, goal: Goal, scope: Scope) -> Option<String> {
        let launch = Launch { ctas: 2, cluster: 2, ..Launch::single("", Span::new(FileId(0), 0, 0)) };
        let mut graph = EventGraph::empty(&launch);
        let kind = EventKind::Write(Access {
            location: LocationId(0),
            mapping: 0,
            proxy: Proxy::Generic,
            offset: TermPool::FALSE,
            width_bytes: 4,
            value: TermPool::FALSE,
            sem,
            scope: Scope::Cta,
            atomic: AtomicClass::None,
        });
        let event = Event {
            agent: Some(crate::event::AgentId(0)),
            guard: TermPool::TRUE,
            position: 0,
            kind,
            site: None,
            iterations: Vec::new(),
            role: Role::Plain,
        };
        graph.events.push(event);
        edited_text(&graph, text, &Edit { event: EventId(0), goal, scope })
    }

    #[test]
    fn opcodes_are_edited_token_by_token() {
        let cases = [
            ("st.weak.global.u32", Sem::Weak, Goal::Release, Some("st.release.gpu.global.u32")),
            (
                "st.relaxed.cta.shared::cta.u32",
                Sem::Relaxed,
                Goal::Widen,
                Some("st.relaxed.gpu.shared::cta.u32"),
            ),
            (
                "atom.acquire.cta.global.cas.b32",
                Sem::Release,
                Goal::Release,
                Some("atom.acq_rel.gpu.global.cas.b32"),
            ),
            ("st.weak.global.u32", Sem::Weak, Goal::Widen, None),
            ("st.volatile.global.u32", Sem::Volatile, Goal::Release, None),
            ("st.weak.global.v2.u32", Sem::Weak, Goal::Strong, None),
            ("st.release.sys.global.u32", Sem::Release, Goal::Release, Some("st.release.sys.global.u32")),
        ];
        for (text, sem, goal, expected) in cases {
            assert_eq!(edited(text, sem, goal, Scope::Gpu).as_deref(), expected, "{text} {goal:?}");
        }
    }
}
