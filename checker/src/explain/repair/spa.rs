//! Proposals for an SPA machine: a higher level, an invalidation, a load past the L1, a `MEMBAR`.

use super::super::near::membars::through_l1;
use super::super::reason::Reason;
use super::super::spa::SpaReason;
use super::super::subject::Subject;
use super::edit::Edit;
use super::ground::{Ground, Proposal};
use crate::event::{EventId, EventKind, SpaEvent};
use fencepost_dsl::sorted::SortedMap;
use fencepost_dsl::vocabulary::{Invalidation, MembarLevel, Proxy};

/// What makes a stale load fresh: another load, or an invalidation with a `MEMBAR` that is there.
type Freshness = (Option<Edit>, Option<(EventId, Invalidation)>);

/// The links that are missing, all of them together.
pub fn propose(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    let graph = ground.graph();
    let mut membars: SortedMap<EventId, (MembarLevel, Invalidation)> = SortedMap::new();
    let membar = |event: EventId| match graph.events[event].kind {
        EventKind::Spa(SpaEvent::Membar { level, invalidation }) => (level, invalidation),
        _ => (MembarLevel::Cta, Invalidation::default()),
    };
    let mut edits = Vec::new();
    let mut fresh: Vec<Freshness> = Vec::new();
    for reason in &ground.explanation.reasons {
        let Reason::Spa(reason) = reason else { continue };
        match *reason {
            SpaReason::LevelTooLow { membar: event, needed, .. } => {
                let (level, invalidation) = membars.get(&event).copied().unwrap_or_else(|| membar(event));
                membars.insert(event, (level.max(needed), invalidation));
            }
            SpaReason::NoMembar { before, needed, .. } => {
                let Some(instruction) = ground.instruction(before) else { continue };
                let anchor = ground.syntax.nodes[instruction.node].span;
                let text = format!("MEMBAR.{needed};");
                edits.push(Edit::insert(ground.texts.sources(), anchor, false, &text));
            }
            SpaReason::Stale { read, membar, .. } => {
                let is_texture = through_l1(graph, read) == Some(Proxy::Texture);
                let invalidation = Invalidation { data: !is_texture, texture: is_texture };
                let past = ground.instruction(read).filter(|_| !is_texture).map(|instruction| {
                    let text = instruction.opcode.replacen("LD", "LD.CV", 1);
                    Edit::replace(ground.texts.sources(), instruction.opcode_span, text)
                });
                fresh.extend(past.map(|edit| (Some(edit), None)));
                // Where no `MEMBAR` could do it as well, an instruction of its own.
                let alone = ground.instruction(read).filter(|_| membar.is_none()).map(|instruction| {
                    let text = if is_texture { "CCTLT.IVALL;" } else { "CCTL.D.IVALL;" };
                    let anchor = ground.syntax.nodes[instruction.node].span;
                    Edit::insert(ground.texts.sources(), anchor, false, text)
                });
                fresh.extend(alone.map(|edit| (Some(edit), None)));
                fresh.extend(membar.map(|membar| (None, Some((membar, invalidation)))));
            }
        }
    }
    // A loop that looks through the L1, where nothing invalidates.
    if let Subject::Deadlock { roles, .. } = &ground.explanation.subject {
        for instruction in &ground.syntax.instructions {
            let is_looked = roles.iter().any(|role| role.span.holds(instruction.span));
            let is_cached = instruction.opcode.starts_with("LD") && !instruction.opcode.contains(".CV");
            if is_looked && is_cached {
                let text = instruction.opcode.replacen("LD", "LD.CV", 1);
                let edit = Edit::replace(ground.texts.sources(), instruction.opcode_span, text);
                found.push(Proposal { rank: 10, edits: vec![edit] });
            }
        }
    }
    if fresh.is_empty() {
        fresh.push((None, None));
    }
    for (rank, (past, fused)) in (10..).zip(fresh) {
        let mut membars = membars.clone();
        if let Some((event, more)) = fused {
            let (level, own) = membars.get(&event).copied().unwrap_or_else(|| membar(event));
            let both = Invalidation { data: own.data | more.data, texture: own.texture | more.texture };
            membars.insert(event, (level, both));
        }
        let mut all: Vec<Edit> = edits.clone();
        for (event, (level, invalidation)) in membars {
            let Some(instruction) = ground.instruction(event) else { continue };
            let suffix = invalidation.suffix().map_or_else(String::new, |suffix| format!(".{suffix}"));
            let text = format!("MEMBAR.{level}{suffix}");
            let edit = Edit::replace(ground.texts.sources(), instruction.opcode_span, text);
            if !all.contains(&edit) {
                all.push(edit);
            }
        }
        all.extend(past);
        found.push(Proposal { rank, edits: all });
    }
}
