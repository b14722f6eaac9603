//! Which values anybody asks for, and which accesses nobody asks for the values of.

use super::{
    Access, AtomicClass, Edges, EventGraph, EventId, EventKind, LocationId, ObligationKind, Role, TermKind,
    TermRef, UnknownKind, Wait,
};
use fencepost_dsl::sorted::SortedMap;
use fencepost_dsl::vocabulary::Sem;
use rustc_hash::FxHashSet;

/// Which values anybody asks for.
pub struct Values {
    /// Reads whose value decides something, is claimed something of, or is stored by a strong write.
    wanted: FxHashSet<EventId>,
    /// All that is wanted for these.
    pub terms: FxHashSet<TermRef>,
    /// Bytes whose final value is.
    claimed: Vec<(LocationId, u64, u64)>,
    of_updates: FxHashSet<EventId>,
}

impl Values {
    /// Of a graph.
    pub fn new(graph: &EventGraph) -> Self {
        let mut this = Self {
            wanted: FxHashSet::default(),
            terms: FxHashSet::default(),
            claimed: Vec::new(),
            of_updates: graph.rmw.iter().flat_map(|&(read, write)| [read, write]).collect(),
        };
        let mut writes: SortedMap<LocationId, Vec<(Option<u64>, u64, TermRef)>> = SortedMap::new();
        for event in graph.events.iter() {
            if let EventKind::Write(access) = &event.kind {
                let start = graph.terms.constant_value(access.offset).and_then(|start| start.try_into().ok());
                let write = (start, u64::from(access.width_bytes), access.value);
                writes.entry(access.location).or_default().push(write);
            }
        }
        let mut pending = this.roots(graph);
        while let Some(term) = pending.pop() {
            if !this.terms.insert(term) {
                continue;
            }
            pending.extend(graph.terms.operands(term));
            let TermKind::Unknown(unknown) = *graph.terms.kind(term) else { continue };
            pending.extend(graph.terms.definition(unknown));
            // Whoever may have written what is wanted has stored what is wanted.
            let place = match graph.terms.unknown(unknown).kind {
                UnknownKind::Read(read) | UnknownKind::ReadsLast(read) | UnknownKind::ReadsPromised(read) => {
                    if !this.wanted.insert(read) {
                        continue;
                    }
                    let Some(access) = graph.events[read].kind.access() else { continue };
                    let start = graph.terms.constant_value(access.offset);
                    let start = start.and_then(|start| u64::try_from(start).ok());
                    (access.location, start, u64::from(access.width_bytes))
                }
                UnknownKind::FinalValue { location, offset_bytes, width_bytes } => {
                    let (start, width) = (u64::from(offset_bytes), u64::from(width_bytes));
                    this.claimed.push((location, start, start + width));
                    (location, Some(start), width)
                }
                _ => continue,
            };
            let (location, start, width) = place;
            for &(other, other_width, value) in writes.get(&location).map_or(&[][..], Vec::as_slice) {
                let overlaps = match (start, other) {
                    (Some(a), Some(b)) => a < b + other_width && b < a + width,
                    _ => true,
                };
                pending.extend(overlaps.then_some(value));
            }
        }
        this
    }

    /// Terms whose values matter.
    fn roots(&mut self, graph: &EventGraph) -> Vec<TermRef> {
        let mut roots: Vec<TermRef> = graph.completed.iter().copied().collect();
        for event in graph.events.iter() {
            roots.push(event.guard);
            let Some(access) = event.kind.access() else { continue };
            roots.push(access.offset);
            if access.is_strong() || access.atomic != AtomicClass::None {
                roots.push(access.value);
            }
        }
        let constraints = graph.constraints.iter().map(|constraint| constraint.term);
        roots.extend(constraints.filter(|&term| !graph.terms.is_definition(term)));
        for obligation in &graph.obligations {
            roots.extend([obligation.guard, obligation.condition]);
            if let ObligationKind::Bounds { index, .. } = obligation.kind {
                roots.push(index);
            }
        }
        roots.extend(graph.cuts.iter().map(|cut| cut.guard));
        roots.extend(graph.reachables.iter().map(|reachable| reachable.condition));
        roots.extend(graph.finals.iter().map(|goal| goal.condition));
        roots.extend(graph.starts.iter().copied());
        for blocked in &graph.blocked {
            roots.push(blocked.stuck);
            if let Wait::Memory(looks) = &blocked.wait {
                for look in looks {
                    roots.extend([look.guard, look.value, look.access.offset]);
                    self.claim(graph, &look.access);
                }
            }
        }
        for mbarrier in graph.mbarriers.iter() {
            roots.extend(mbarrier.phases.iter().flat_map(|phase| [phase.expected, phase.complete]));
            roots.extend(mbarrier.operations.iter().map(|operation| operation.phase));
        }
        for relation in Edges::relations() {
            roots.extend(graph.edges.single(relation).iter().map(|edge| edge.condition));
        }
        roots
    }

    fn claim(&mut self, graph: &EventGraph, access: &Access) {
        let start = graph.terms.constant_value(access.offset).and_then(|start| u64::try_from(start).ok());
        let size = u64::from(graph.locations[access.location].size_bytes);
        self.claimed.push(match start {
            Some(start) => (access.location, start, start + u64::from(access.width_bytes)),
            None => (access.location, 0, size),
        });
    }

    /// Whether some byte is one whose final value is asked for.
    pub fn is_claimed(&self, location: LocationId, first: u64, last: u64) -> bool {
        self.claimed.iter().any(|&(of, start, end)| of == location && start < last && first < end)
    }

    /// Whether an access is one that others like it may stand for.
    pub fn is_free(&self, graph: &EventGraph, id: EventId) -> bool {
        let event = &graph.events[id];
        let (EventKind::Read(access) | EventKind::Write(access)) = &event.kind else { return false };
        event.agent.is_some()
            && event.role == Role::Plain
            && !event.decides
            && access.sem == Sem::Weak
            && access.atomic == AtomicClass::None
            && !self.of_updates.contains(&id)
            && !self.wanted.contains(&id)
    }
}
