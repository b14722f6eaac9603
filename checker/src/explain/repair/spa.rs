//! Changes that might put an SPA machine's accesses in order: a higher level, an invalidation, a load past the L1, a `MEMBAR`.
//!
//! Sound: as for other repairs, the changed graph is that of the changed kernel.

use super::super::{Explanation, Reason, SpaReason};
use super::insert::{Added, Insertion};
use super::{Candidate, Change};
use crate::event::{EventGraph, EventKind, SiteId, SpaEvent};
use crate::explain::spa::through_l1;
use fencepost_dsl::vocabulary::{Invalidation, MembarLevel, Proxy, Sem};
use std::collections::BTreeMap;

/// How to change an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SpaEdit {
    /// At least this level.
    Raise(SiteId, MembarLevel),
    /// Also this invalidation.
    Invalidate(SiteId, Invalidation),
    /// `LD.CV`.
    PastL1(SiteId),
}

/// What to try.
pub(super) fn candidates(graph: &EventGraph, explanation: &Explanation) -> Vec<Candidate> {
    let reasons: Vec<SpaReason> = explanation
        .reasons
        .iter()
        .filter_map(|reason| match reason {
            Reason::Spa(reason) => Some(*reason),
            _ => None,
        })
        .collect();
    let site = |event| graph.events[event].site;
    let mut edits = Vec::new();
    let mut insertions = Vec::new();
    // For a stale load: an invalidation with the `MEMBAR` that is there, and a load past the L1.
    let mut fresh: Vec<SpaEdit> = Vec::new();
    for reason in reasons {
        match reason {
            SpaReason::LevelTooLow { membar, needed, .. } => {
                edits.extend(site(membar).map(|site| SpaEdit::Raise(site, needed)));
            }
            SpaReason::NoMembar { before, needed, .. } => {
                insertions.extend(site(before).map(|site| Insertion {
                    site,
                    is_after: false,
                    text: format!("MEMBAR.{needed}"),
                    what: Added::Membar(needed),
                }));
            }
            SpaReason::Stale { read, membar, .. } => {
                let is_texture = through_l1(graph, read) == Some(Proxy::Texture);
                let invalidation = Invalidation { data: !is_texture, texture: is_texture };
                let fused = membar.and_then(site).map(|site| SpaEdit::Invalidate(site, invalidation));
                let past = site(read).filter(|_| !is_texture).map(SpaEdit::PastL1);
                fresh.extend(past.into_iter().chain(fused));
            }
        }
    }
    if insertions.len() > 1 {
        return Vec::new();
    }
    let insertion = insertions.pop();
    let with = |more: Option<SpaEdit>| Candidate {
        spa: edits.iter().copied().chain(more).collect(),
        insertion: insertion.clone(),
        ..Candidate::default()
    };
    if fresh.is_empty() { vec![with(None)] } else { fresh.into_iter().map(|edit| with(Some(edit))).collect() }
}

/// Makes the edits, on all events of their sites; what changed, by site.
pub(super) fn apply(graph: &mut EventGraph, edits: &[SpaEdit]) -> Vec<Change> {
    let mut changes: BTreeMap<SiteId, Change> = BTreeMap::new();
    for &edit in edits {
        let site = match edit {
            SpaEdit::Raise(site, _) | SpaEdit::Invalidate(site, _) | SpaEdit::PastL1(site) => site,
        };
        let mut after = None;
        for event in
            graph.events.ids().filter(|&event| graph.events[event].site == Some(site)).collect::<Vec<_>>()
        {
            match (&mut graph.events[event].kind, edit) {
                (EventKind::Spa(SpaEvent::Membar { level, invalidation }), _) => {
                    match edit {
                        SpaEdit::Raise(_, needed) => *level = (*level).max(needed),
                        SpaEdit::Invalidate(_, more) => {
                            invalidation.data |= more.data;
                            invalidation.texture |= more.texture;
                        }
                        SpaEdit::PastL1(_) => {}
                    }
                    let suffix =
                        invalidation.suffix().map_or_else(String::new, |suffix| format!(".{suffix}"));
                    after = Some(format!("MEMBAR.{level}{suffix}"));
                }
                (EventKind::Read(access), SpaEdit::PastL1(_)) => {
                    access.sem = Sem::Volatile;
                    after = Some(graph.sites[site].text.replacen("LD", "LD.CV", 1));
                }
                _ => {}
            }
        }
        if let Some(after) = after {
            let before = graph.sites[site].text.clone();
            changes.entry(site).and_modify(|change| change.after = after.clone()).or_insert(Change {
                site,
                before,
                after,
            });
        }
    }
    changes.into_values().collect()
}
