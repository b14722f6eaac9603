//! The instructions of an execution, one step each: the parts of an atomic, the elements of a vector and the pieces of a copy
//! together, with what is read, written, counted or passed.

use super::super::wording::{Words, number};
use crate::event::{
    AgentId, EventId, EventKind, GridEvent, LocationId, MbarrierRole, PhasedOperation, Role, SiteId, Turn,
};
use fencepost_dsl::sorted::SortedMap;

/// What kind of step it is; steps of one instruction that differ in this are different steps.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Action {
    Read,
    Write,
    Update,
    /// Arrivals, passages, fences and the like.
    Other,
}

/// The events of one instruction of one thread, or of one operation.
pub(super) struct Group {
    pub agent: AgentId,
    pub site: Option<SiteId>,
    pub iterations: Vec<u32>,
    pub action: Action,
    /// A try of a wait that failed.
    pub is_try: bool,
    pub events: Vec<EventId>,
}

/// What the events of one group have in common: the last is where they stand in the thread, if that tells them apart.
type Same = (AgentId, SiteId, Vec<u32>, Action, bool, Option<u32>);

/// All that happens, instruction by instruction.
pub(super) fn groups(words: &Words<'_>) -> Vec<Group> {
    let graph = words.graph();
    let in_atomic: SortedMap<EventId, EventId> =
        graph.rmw.iter().flat_map(|&(read, write)| [(read, read), (write, read)]).collect();
    let mut groups: Vec<Group> = Vec::new();
    let mut known: SortedMap<Same, usize> = SortedMap::new();
    for event in words.witness.execution.executed.iter() {
        let of = &graph.events[event];
        let Some(agent) = of.agent else { continue };
        let action = match of.kind {
            EventKind::Read(_) | EventKind::Write(_) if in_atomic.contains_key(&event) => Action::Update,
            EventKind::Read(_) => Action::Read,
            EventKind::Write(_) => Action::Write,
            _ => Action::Other,
        };
        let is_try = matches!(of.role, Role::Spin(_));
        let mut group = || {
            groups.push(Group {
                agent,
                site: of.site,
                iterations: of.iterations.clone(),
                action,
                is_try,
                events: vec![event],
            });
            groups.len() - 1
        };
        match of.site {
            Some(site) if action != Action::Other => {
                // Two calls of a function have the same instructions in the same rounds.
                let first = in_atomic.get(&event).copied().unwrap_or(event);
                let call = (!graph.hierarchy.is_operation(agent)).then_some(graph.events[first].position);
                let key = (agent, site, of.iterations.clone(), action, is_try, call);
                match known.get(&key) {
                    Some(&at) => groups[at].events.push(event),
                    None => {
                        let at = group();
                        known.insert(key, at);
                    }
                }
            }
            _ => {
                group();
            }
        }
    }
    groups
}

impl Group {
    /// What an instruction works on, as the source would write it: `[tile[0][1]]`, or nothing.
    pub fn object(&self, words: &Words<'_>) -> String {
        let graph = words.graph();
        if let [event] = self.events[..]
            && let EventKind::Mbarrier(operation) = &graph.events[event].kind
        {
            let mbarrier = &graph.mbarriers[operation.object];
            return bracketed(mbarrier.name.stem(), self.instance(words, mbarrier.location));
        }
        let accessed = |event: EventId| {
            let access = graph.events[event].kind.access()?;
            Some((access.location, words.object(event)?))
        };
        let mut names: Vec<(LocationId, String)> = Vec::new();
        for (location, name) in self.in_memory_order(words).into_iter().filter_map(accessed) {
            if names.iter().all(|(_, known)| *known != name) {
                names.push((location, name));
            }
        }
        match names.as_slice() {
            [] => String::new(),
            [(location, name)] => bracketed(name, self.instance(words, *location)),
            [(location, first), .., (other, last)] if location == other => {
                bracketed(&format!("{first} … {last}"), self.instance(words, *location))
            }
            several => {
                let all: Vec<String> = several
                    .iter()
                    .map(|(location, name)| bracketed(name, self.instance(words, *location)))
                    .collect();
                all.join(", ")
            }
        }
    }

    /// ` of cta 1` where it is not the thread's own.
    fn instance<'a>(&self, words: &Words<'a>, location: LocationId) -> &'a str {
        let graph = &words.case.outcome.graph;
        let at = &graph.locations[location];
        let is_own = at.cta == Some(graph.hierarchy.cta_of(self.agent));
        if is_own { "" } else { at.name.instance() }
    }

    fn in_memory_order(&self, words: &Words<'_>) -> Vec<EventId> {
        let mut events = self.events.clone();
        events.sort_by_key(|&event| {
            let access = words.graph().events[event].kind.access();
            access.map(|access| (access.location, words.witness.values[access.offset], event))
        });
        events
    }

    /// The values of its reads, or of its writes.
    fn values(&self, words: &Words<'_>, reads: bool) -> Option<String> {
        let graph = words.graph();
        let is_wanted = |event: &EventId| matches!(graph.events[*event].kind, EventKind::Read(_)) == reads;
        let is_whole = self
            .site
            .is_some_and(|site| graph.sites[site].has_word("b128") || self.is_of_wide_elements(words));
        let mut values: Vec<u128> = Vec::new();
        let mut lower: Option<(LocationId, u128)> = None;
        for event in self.in_memory_order(words).into_iter().filter(is_wanted) {
            let access = graph.events[event].kind.access()?;
            let (value, offset) = (words.witness.values[access.value], words.witness.values[access.offset]);
            // Weak accesses of 16 bytes are made of two.
            let is_upper = offset % 16 == 8 && lower == Some((access.location, offset - 8));
            match values.last_mut() {
                Some(last) if is_whole && is_upper => *last |= value << 64,
                _ => values.push(value),
            }
            lower = (access.width_bytes == 8 && offset % 16 == 0).then_some((access.location, offset));
        }
        listed(&values)
    }

    /// Whether what is copied are elements of 16 bytes.
    fn is_of_wide_elements(&self, words: &Words<'_>) -> bool {
        let graph = words.graph();
        graph.hierarchy.is_operation(self.agent)
            && self.events.iter().all(|&event| {
                let access = graph.events[event].kind.access();
                access.is_some_and(|access| {
                    let storage = graph.locations[access.location].storage;
                    let objects = words.case.kernel.objects.iter();
                    objects.filter(|object| object.storage == storage).any(|object| object.width == 128)
                })
            })
    }

    /// What comes of it: `→ 1`, `= 42`, `arrives, phase 0`.
    pub fn what(&self, words: &Words<'_>) -> String {
        let read = || self.values(words, true).map(|values| format!("→ {values}"));
        let written = || self.values(words, false).map(|values| format!("= {values}"));
        match self.action {
            Action::Read => read().unwrap_or_default(),
            Action::Write => written().unwrap_or_default(),
            Action::Update => read().or_else(written).unwrap_or_default(),
            Action::Other => self.events.first().map_or_else(String::new, |&event| other(words, event)),
        }
    }

    /// What an atomic writes after its read.
    pub fn then(&self, words: &Words<'_>) -> String {
        let is_both = self.action == Action::Update && self.values(words, true).is_some();
        let written = self.values(words, false).filter(|_| is_both);
        written.map_or_else(String::new, |values| format!("then = {values}"))
    }

    /// Whether others may be shown in one row with it: nobody reads from it.
    pub fn may_share(&self) -> bool {
        matches!(self.action, Action::Read | Action::Other)
    }
}

fn bracketed(name: &str, instance: &str) -> String {
    format!("[{name}]{instance}")
}

/// `42`, `{1, 2}`, `{0, 1, … 8 values}`.
fn listed(values: &[u128]) -> Option<String> {
    const SHOWN: usize = 4;
    let texts: Vec<String> = values.iter().take(SHOWN).map(|&value| number(value)).collect();
    match values {
        [] => None,
        [only] => Some(number(*only)),
        [first, ..] if values.len() > SHOWN && values.iter().all(|value| value == first) => {
            Some(format!("{} × {}", values.len(), number(*first)))
        }
        _ if values.len() > SHOWN => {
            Some(format!("{{{}, … {} values}}", texts[..SHOWN - 1].join(", "), values.len()))
        }
        _ => Some(format!("{{{}}}", texts.join(", "))),
    }
}

/// What a thread does that is no access.
fn other(words: &Words<'_>, event: EventId) -> String {
    let graph = words.graph();
    let at_barrier = |what: &str| match graph.meetings.get(&event) {
        Some(meeting) => {
            let generation = match meeting.generation {
                Turn::Known(number) => u128::from(number),
                Turn::Term(term) => words.witness.values[term],
            };
            format!("{what} {}, generation {generation}", meeting.name)
        }
        None => what.to_owned(),
    };
    match &graph.events[event].kind {
        EventKind::BarrierArrive | EventKind::ClusterArrive { .. } => at_barrier("arrives at"),
        EventKind::BarrierWait | EventKind::ClusterWait => at_barrier("passes"),
        EventKind::AsyncWait => "passes".to_owned(),
        EventKind::Grid(grid) => match grid {
            GridEvent::Synchronize | GridEvent::Wait => "passes".to_owned(),
            GridEvent::Enqueue => "launches".to_owned(),
            GridEvent::LaunchDependents => "lets dependents start".to_owned(),
            GridEvent::Start(_) | GridEvent::End(_) => String::new(),
        },
        EventKind::Issue { .. } => "starts".to_owned(),
        EventKind::Mbarrier(_) => at_mbarrier(words, event),
        EventKind::Init(_)
        | EventKind::Read(_)
        | EventKind::Write(_)
        | EventKind::Fence { .. }
        | EventKind::ProxyFence(_)
        | EventKind::AsyncFence(_)
        | EventKind::MatrixFence
        | EventKind::Spa(_)
        | EventKind::Cancel(_)
        | EventKind::Tensor(_)
        | EventKind::RestrictedFence(_)
        | EventKind::CtaStart(_)
        | EventKind::CtaExit(_) => String::new(),
    }
}

/// An operation on an mbarrier, with its phase, and how many arrivals and bytes it counts.
fn at_mbarrier(words: &Words<'_>, event: EventId) -> String {
    let graph = words.graph();
    let EventKind::Mbarrier(operation) = &graph.events[event].kind else { return String::new() };
    let mbarrier = &graph.mbarriers[operation.object];
    let counted: Option<&PhasedOperation> = mbarrier.operations.iter().find(|counted| counted.event == event);
    let phase = counted.map(|counted| words.witness.values[counted.phase]);
    let at = phase.map_or_else(String::new, |phase| format!(", phase {phase}"));
    let bytes = counted.map_or(0, |counted| counted.bytes);
    let n_arrivals = counted.map_or(1, |counted| counted.arrivals);
    let announces = |bytes: i64| match bytes {
        0 => String::new(),
        bytes if bytes > 0 => format!(", announces {bytes} bytes"),
        bytes => format!(", delivers {} bytes", -bytes),
    };
    match operation.role {
        MbarrierRole::Init => {
            let expected = mbarrier.phases.first().map(|phase| words.witness.values[phase.expected]);
            expected.map_or_else(String::new, |expected| format!("expects {expected} per phase"))
        }
        MbarrierRole::Inval => "invalidates".to_owned(),
        MbarrierRole::Transaction | MbarrierRole::Complete => {
            let what = announces(bytes);
            format!("{}{at}", what.trim_start_matches(", "))
        }
        MbarrierRole::Arrive => {
            let times = if n_arrivals == 1 { String::new() } else { format!(" {n_arrivals} times") };
            format!("arrives{times}{at}{}", announces(bytes))
        }
        MbarrierRole::Test => format!("not complete{at}"),
        // It sees the phase after the one that it passes.
        MbarrierRole::Wait => match phase.and_then(|phase| phase.checked_sub(1)) {
            Some(passed) => format!("passes phase {passed}"),
            None => "passes, before any phase".to_owned(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::listed;

    #[test]
    fn values_are_listed_as_far_as_anybody_reads() {
        assert_eq!(listed(&[]), None);
        assert_eq!(listed(&[7]).as_deref(), Some("7"));
        assert_eq!(listed(&[1, 2]).as_deref(), Some("{1, 2}"));
        assert_eq!(listed(&[0; 8]).as_deref(), Some("8 × 0"));
        assert_eq!(listed(&[0, 1, 2, 3, 4]).as_deref(), Some("{0, 1, 2, … 5 values}"));
    }
}
