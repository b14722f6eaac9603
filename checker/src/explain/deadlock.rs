//! Who waits for ever, for what, and where those stand who could help.
//!
//! Threads that wait at the same place for the same thing make one role. For each: the state of what it waits for, and
//! who could still change it, which is whoever has an instruction for it in the text. Cannot: say which of the waits in a
//! circle the author meant to come first, or how often a thread would have arrived on another path.

use super::explanation::{Explanation, bare};
use super::near::phases::is_wait;
use super::near::{circle, updates};
use super::reads::{ReadFact, final_reads, support};
use super::reason::Reason;
use super::roles::{Contributor, LookFact, MissingWrite, Overtaken, Role, Standing, WaitFact};
use super::search::scope_gap;
use super::subject::Subject;
use crate::encode::goal::GoalKind;
use crate::event::{
    AgentId, Blocked, EventGraph, EventId, EventKind, FinalLook, LocationId, MbarrierId, MbarrierRole,
    PhasedOperation, SiteId, TermRef, UnknownKind, Wait,
};
use crate::findings::deadlock as kinds;
use crate::findings::lifetime::NOT_CO_RESIDENT;
use crate::witness::Witness;
use fencepost_dsl::sorted::SortedMap;
use std::cmp::Reverse;

/// The facts of a deadlock.
pub fn explain(graph: &EventGraph, witness: &Witness) -> Explanation {
    let standing: Vec<&Blocked> =
        graph.blocked.iter().filter(|blocked| witness.values[blocked.stuck] == 1).collect();
    let mut roles: Vec<Role> = Vec::new();
    for blocked in &standing {
        let wait = wait_fact(graph, witness, &standing, blocked);
        let same = roles.iter_mut().find(|role| {
            role.span == blocked.span && role.iterations == blocked.iterations && role.wait == wait
        });
        match same {
            Some(role) => role.agents.push(blocked.agent),
            None => roles.push(Role {
                agents: vec![blocked.agent],
                span: blocked.span,
                iterations: blocked.iterations.clone(),
                wait,
            }),
        }
    }
    // A spin is more likely the cause than the barrier at which others wait for the spinning thread.
    let likely = |role: &Role| match role.wait {
        WaitFact::Registers { .. } => 0,
        // Who only goes round with others reads nothing.
        WaitFact::Memory(ref looks, _) if looks.is_empty() => 2,
        WaitFact::Memory(..) | WaitFact::Phase { .. } => 1,
        WaitFact::Barrier { .. } => 2,
        WaitFact::Grids { is_start, .. } => 3 + i32::from(is_start),
    };
    roles.sort_by_key(|role| (likely(role), !role.is_left_alone()));
    let looks = || {
        roles.iter().flat_map(|role| match &role.wait {
            WaitFact::Memory(looks, _) => looks.as_slice(),
            WaitFact::Barrier { .. }
            | WaitFact::Phase { .. }
            | WaitFact::Registers { .. }
            | WaitFact::Grids { .. } => &[],
        })
    };
    let is_spin = roles.iter().any(|role| matches!(role.wait, WaitFact::Memory(..)));
    let absent: Vec<u32> = (0u32..)
        .zip(&graph.starts)
        .filter(|&(_, &started)| witness.values[started] == 0)
        .map(|(c, _)| c)
        // Not those of grids whose turn has not come.
        .filter(|&cluster| {
            let mut own = graph.hierarchy.threads_of_cluster(cluster);
            !own.any(|agent| standing.iter().any(|blocked| blocked.agent == agent))
        })
        // Nor those of which nobody waits for anything: they may as well have been cancelled.
        .filter(|&cluster| roles.iter().any(|role| waits_for(graph, role, cluster)))
        .collect();
    let kind = if witness.claim == GoalKind::NotResident && !absent.is_empty() {
        &NOT_CO_RESIDENT
    } else if looks().any(|look| look.is_weak) && graph.hierarchy.launch().spa.is_some() {
        &kinds::STALE_SPIN
    } else if roles.iter().any(|role| matches!(role.wait, WaitFact::Registers { .. })) {
        &kinds::REGISTERS_NEVER_FREE
    } else if looks().any(|look| look.is_weak) {
        &kinds::WEAK_SPIN
    } else if looks().any(|look| look.unpromised.is_some()) {
        &kinds::UNPROMISED_WRITE
    } else if is_spin {
        &kinds::SPIN_NEVER_ENDS
    } else if roles.iter().any(|role| matches!(role.wait, WaitFact::Phase { .. })) {
        &kinds::PHASE_NEVER_COMPLETES
    } else {
        &kinds::BARRIER_NEVER_COMPLETES
    };
    let unseen = looks().find_map(|look| look.unpromised);
    let runs_ahead = kind == &kinds::PHASE_NEVER_COMPLETES && roles.iter().any(is_overtaken);
    let mut reads = Vec::new();
    for blocked in &standing {
        if let Wait::Memory(looks) = &blocked.wait {
            for look in looks.iter().filter(|look| witness.values[look.guard] == 1) {
                for fact in final_reads(graph, witness, look.value) {
                    // Of several writes that none follows, only the one the try saw.
                    let is_seen = fact.value == witness.values[look.value];
                    if is_seen && graph.events[fact.read].agent.is_some() && !reads.contains(&fact) {
                        reads.push(fact);
                    }
                }
            }
        }
    }
    let mut explanation = bare(kind, Subject::Deadlock { roles, absent });
    if let Some((read, write)) = unseen {
        let weak = Reason::WeakEnd { event: write, other: read };
        let is_weak = graph.events[write].kind.scope().is_none();
        explanation.reasons.extend(if is_weak { Some(weak) } else { scope_gap(graph, write, read) });
    }
    if runs_ahead {
        explanation.rules = vec!["UB-M11"];
        let ahead = went_ahead(graph, witness, &explanation);
        explanation.reasons.extend(ahead);
    }
    let lost =
        reads.iter().filter_map(|fact| fact.source).find_map(|write| updates::lost(graph, witness, write));
    let lost =
        lost.or_else(|| updates::overwritten(graph, witness, &awaited_at(graph, &explanation, &reads)));
    if let Some(lost) = lost {
        explanation.add_rules(lost.rules());
        explanation.reasons.push(lost);
    }
    if let Some(circle) = circle::explain(graph, witness, &standing) {
        explanation.add_rules(circle.rules());
        explanation.reasons.push(circle);
    }
    explanation.reads = reads;
    explanation
}

/// Whether a cluster that has not started would do something that is waited for. Where nobody would, all that is known is that a
/// thread waits, so it counts as well.
fn waits_for(graph: &EventGraph, role: &Role, cluster: u32) -> bool {
    let is_of_it = |agent: AgentId| graph.hierarchy.cluster_of(agent) == cluster;
    match &role.wait {
        WaitFact::Memory(_, missing) => missing.is_empty() || missing.iter().any(|own| is_of_it(own.agent)),
        WaitFact::Phase { contributors, .. } => contributors.iter().any(|own| is_of_it(own.agent)),
        WaitFact::Barrier { missing, .. } => missing.iter().any(|&(agent, _)| is_of_it(agent)),
        WaitFact::Grids { .. } | WaitFact::Registers { .. } => true,
    }
}

/// Who was through the wait for a phase that came too late for others, and gave a signal behind it.
fn went_ahead(graph: &EventGraph, witness: &Witness, explanation: &Explanation) -> Option<Reason> {
    let Subject::Deadlock { roles, .. } = &explanation.subject else { return None };
    let is_executed = |id: EventId| witness.execution.executed.contains(id);
    let of_role = |role: &Role| {
        let waits = graph.events.iter_enumerated().filter_map(|(id, own)| {
            let is_there = own.site.is_some_and(|site| role.span.holds(graph.sites[site].span));
            (is_there && own.iterations == role.iterations).then_some((own.agent?, id))
        });
        let (late, others): (Vec<_>, Vec<_>) = waits.partition(|(agent, _)| role.agents.contains(agent));
        let object = late.iter().find_map(|&(_, id)| match graph.events[id].kind {
            EventKind::Mbarrier(of) if of.role == MbarrierRole::Wait => Some(of.object),
            _ => None,
        })?;
        let is_same = |id: EventId| is_wait(graph, object, id);
        let through: SortedMap<AgentId, EventId> =
            others.into_iter().filter(|&(_, id)| is_executed(id) && is_same(id)).collect();
        let signals = graph.events.iter_enumerated().filter_map(|(id, own)| {
            let wait = *through.get(&own.agent?)?;
            let is_behind = own.position > graph.events[wait].position && own.iterations == role.iterations;
            (is_behind && is_executed(id) && gives_signal(&own.kind)).then_some((wait, own.position, id))
        });
        let (passed, _, signal) = signals.min()?;
        // That one of another warp is late says more: their warp alone does not meet.
        let warp = |id: EventId| graph.events[id].agent.map(|agent| graph.hierarchy.threads[agent].warp);
        let late = late.into_iter().map(|(_, id)| id).filter(|&id| is_same(id));
        let wait = late.max_by_key(|&id| (warp(id) != warp(passed), Reverse(id)))?;
        Some(Reason::WentAhead { wait, signal })
    };
    roles.iter().filter(|role| is_overtaken(role)).find_map(of_role)
}

fn is_overtaken(role: &Role) -> bool {
    matches!(role.wait, WaitFact::Phase { overtaken: Some(_), .. })
}

/// Whether others may wait for it: an arrival, or a strong write.
fn gives_signal(kind: &EventKind) -> bool {
    match kind {
        EventKind::Mbarrier(own) => own.role == MbarrierRole::Arrive,
        EventKind::Write(_) => kind.scope().is_some(),
        _ => false,
    }
}

/// Where threads look that wait for ever, and what decides whether what they wait for is written.
fn awaited_at(graph: &EventGraph, explanation: &Explanation, reads: &[ReadFact]) -> Vec<LocationId> {
    let Subject::Deadlock { roles, .. } = &explanation.subject else { return Vec::new() };
    let writes = roles.iter().flat_map(|role| match &role.wait {
        WaitFact::Memory(_, writes) => writes.as_slice(),
        WaitFact::Phase { .. }
        | WaitFact::Grids { .. }
        | WaitFact::Barrier { .. }
        | WaitFact::Registers { .. } => &[],
    });
    let decides = support(graph, writes.map(|write| graph.events[write.event].guard)).into_iter();
    let decides = decides.filter_map(|kind| match kind {
        UnknownKind::Read(event) => Some(event),
        _ => None,
    });
    let events = decides.chain(reads.iter().map(|fact| fact.read));
    events.filter_map(|event| Some(graph.events[event].kind.access()?.location)).collect()
}

/// The last write that a strong read does not see.
fn unpromised_write(graph: &EventGraph, witness: &Witness, read: EventId) -> Option<EventId> {
    graph.events[read].kind.scope()?;
    let (execution, after) = (&witness.execution, &witness.execution.coherence);
    let sources = execution.sources.get(&read)?;
    let unseen = sources.iter().flat_map(|&(source, _)| after.successors(source));
    let unseen: Vec<EventId> = unseen.filter(|&write| execution.executed.contains(write)).collect();
    unseen.iter().copied().find(|&write| unseen.iter().all(|&other| !after.contains(write, other)))
}

fn wait_fact(graph: &EventGraph, witness: &Witness, standing: &[&Blocked], blocked: &Blocked) -> WaitFact {
    match &blocked.wait {
        Wait::Memory(looks) => {
            let mut facts: Vec<LookFact> = Vec::new();
            let made = || looks.iter().filter(|look| witness.values[look.guard] == 1);
            // What only some of them find decides whether it goes round again.
            let decides = support(graph, [blocked.stuck]);
            let matters =
                |look: &FinalLook| support(graph, [look.value]).iter().any(|kind| decides.contains(kind));
            let none_matters = !made().any(matters);
            for look in made().filter(|look| none_matters || matters(look)) {
                let site = &graph.sites[look.site];
                let instance = look.instance.map(|location| graph.locations[location].name.instance());
                let operand = match (site.operand.strip_suffix(']'), instance) {
                    (Some(operand), Some(instance)) => format!("{operand}{instance}]"),
                    _ => site.operand.clone(),
                };
                let access =
                    operand.contains('…').then(|| (look.access.clone(), witness.values[look.access.offset]));
                let value = witness.values[look.value];
                let (opcode, span, is_weak) = (site.text.clone(), site.span, look.is_weak);
                let unpromised =
                    look.event.and_then(|read| Some((read, unpromised_write(graph, witness, read)?)));
                facts.push(LookFact { span, opcode, operand, access, value, is_weak, unpromised });
            }
            WaitFact::Memory(facts, missing_writes(graph, witness, standing, looks))
        }
        Wait::Phase { site, object, completed, passes, .. } => {
            let completed = witness.values[*completed];
            let passes = passes.filter(|&passes| completed > u128::from(passes));
            let overtaken = passes.map(|passes| {
                let operations = graph.mbarriers[*object].operations.iter();
                let of_next = |operation: &&PhasedOperation| {
                    witness.execution.executed.contains(operation.event)
                        && witness.values[operation.phase] == u128::from(passes)
                        && operation.arrivals > 0
                };
                let by = operations.filter(of_next).map(|operation| operation.event).collect();
                Overtaken { meant: passes.checked_sub(1), by }
            });
            phase_fact(graph, witness, standing, (*site, *object, completed), overtaken)
        }
        Wait::Grids { names, awaited, is_start } => WaitFact::Grids {
            names: names.clone(),
            missing: missing(graph, witness, standing, awaited),
            is_start: *is_start,
        },
        Wait::Registers { asked, needed, free, held } => WaitFact::Registers {
            asked: *asked,
            needed: witness.values[*needed],
            free: witness.values[*free],
            held: held
                .iter()
                .map(|&(agent, number)| {
                    (agent, witness.values[number], standing_of(graph, witness, standing, agent))
                })
                .collect(),
        },
        Wait::Barrier { name, awaited, any_of, .. } => {
            let missing = missing(graph, witness, standing, awaited);
            let arrived = (awaited.len() - missing.len(), awaited.len());
            WaitFact::Barrier { name: name.clone(), arrived, missing, any_of: *any_of }
        }
    }
}

/// Who has not done their part, and where they are instead.
fn missing(
    graph: &EventGraph,
    witness: &Witness,
    standing: &[&Blocked],
    awaited: &[(AgentId, TermRef)],
) -> Vec<(AgentId, Standing)> {
    awaited
        .iter()
        .filter(|(_, done)| witness.values[*done] == 0)
        .map(|&(agent, _)| (agent, standing_of(graph, witness, standing, agent)))
        .collect()
}

fn phase_fact(
    graph: &EventGraph,
    witness: &Witness,
    standing: &[&Blocked],
    (site, object, completed): (SiteId, MbarrierId, u128),
    overtaken: Option<Overtaken>,
) -> WaitFact {
    let mbarrier = &graph.mbarriers[object];
    let site = &graph.sites[site];
    let happened = |event: EventId| witness.execution.executed.contains(event);
    let is_here = |operation: &&PhasedOperation| {
        happened(operation.event) && witness.values[operation.phase] == completed
    };
    let here = || mbarrier.operations.iter().filter(is_here);
    let expected = usize::try_from(completed).ok().and_then(|phase| mbarrier.phases.get(phase));
    let mut contributors: Vec<Contributor> = Vec::new();
    for (id, event) in graph.events.iter_enumerated() {
        let (EventKind::Mbarrier(operation), Some(agent)) = (&event.kind, event.agent) else { continue };
        // Of an asynchronous arrival, the thread that started it.
        let agent = graph.hierarchy.issuer(agent);
        if operation.object != object || operation.role != MbarrierRole::Arrive {
            continue;
        }
        if contributors.last().is_none_or(|last| last.agent != agent) {
            contributors.push(Contributor {
                agent,
                standing: standing_of(graph, witness, standing, agent),
                n_made: 0,
                n_possible: 0,
                is_in_phase: false,
            });
        }
        if let Some(last) = contributors.last_mut() {
            last.n_possible += 1;
            last.n_made += usize::from(happened(id));
            last.is_in_phase |= here().any(|operation| operation.event == id);
        }
    }
    WaitFact::Phase {
        object: mbarrier.name.to_string(),
        // In compiled code an operand is a number, and the object says more.
        text: if site.operand.is_empty() {
            format!("{} [{}]", site.text, mbarrier.name)
        } else {
            format!("{} {}", site.text, site.operand)
        },
        // The wait says no because its parity is that of the phase that is not complete.
        parity: site.text.contains(".parity").then_some(completed & 1),
        completed,
        overtaken,
        arrivals: (
            here().map(|operation| u128::from(operation.arrivals)).sum(),
            expected.map(|phase| witness.values[phase.expected]),
        ),
        bytes: here().map(|operation| operation.bytes).sum(),
        contributors,
    }
}

/// Writes to what a try reads that do not happen.
fn missing_writes(
    graph: &EventGraph,
    witness: &Witness,
    standing: &[&Blocked],
    looks: &[FinalLook],
) -> Vec<MissingWrite> {
    let mut bytes = Vec::new();
    for look in looks.iter().filter(|look| witness.values[look.guard] == 1) {
        for kind in support(graph, [look.value]) {
            if let UnknownKind::FinalValue { location, offset_bytes, width_bytes } = kind {
                bytes.push((location, u128::from(offset_bytes), u128::from(offset_bytes + width_bytes)));
            }
        }
    }
    let mut missing: Vec<MissingWrite> = Vec::new();
    for (id, event) in graph.events.iter_enumerated() {
        let (EventKind::Write(access), Some(agent), Some(site)) = (&event.kind, event.agent, event.site)
        else {
            continue;
        };
        let first = witness.values[access.offset];
        let last = first + u128::from(access.width_bytes);
        let is_there = bytes
            .iter()
            .any(|&(location, start, end)| location == access.location && first < end && start < last);
        let span = graph.sites[site].span;
        // That others do not take the lock either is no news.
        let is_attempt = looks.iter().any(|look| look.site == site) && graph.sites[site].has_word("cas");
        if is_there
            && !is_attempt
            && !witness.execution.executed.contains(id)
            && missing.iter().all(|known| (known.agent, known.span) != (agent, span))
        {
            let standing = standing_of(graph, witness, standing, agent);
            let is_again = witness.execution.executed.iter().any(|other| {
                let other = &graph.events[other];
                other.agent == Some(agent)
                    && other.site == Some(site)
                    && matches!(other.kind, EventKind::Write(_))
            });
            missing.push(MissingWrite { event: id, agent, span, standing, is_again });
        }
    }
    missing
}

fn standing_of(graph: &EventGraph, witness: &Witness, standing: &[&Blocked], agent: AgentId) -> Standing {
    match standing.iter().find(|blocked| blocked.agent == agent) {
        Some(blocked) if matches!(blocked.wait, Wait::Memory(_)) => Standing::Loops(blocked.span),
        Some(Blocked { wait: Wait::Grids { is_start: true, .. }, .. }) => Standing::NotStarted,
        Some(blocked) => Standing::Waits(blocked.span),
        None if witness.values[graph.started(agent)] == 0 => Standing::NotStarted,
        None => Standing::Finished,
    }
}
