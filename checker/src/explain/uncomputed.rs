//! Whether an execution rests on a value that is not computed: what floating-point arithmetic gives, a cache policy.
//!
//! Such a value may be any. A proof holds whatever it is; but an execution that was found has a certain one, and whether the
//! machine ever gives that is not known. An execution rests on it if what happens in it, where, under which assumption, or
//! what is claimed of it would have to be looked at again with another value.
//!
//! Cannot: know that two values would do equally well. An execution that compares such a value in one thread rests on it,
//! even if the finding is about others.

use crate::encode::goal::GoalKind;
use crate::event::{
    Access, Edges, EventGraph, EventId, EventKind, SiteId, TermKind, TermRef, UnknownId, UnknownKind,
};
use crate::witness::Witness;
use fencepost_dsl::index::Id;
use fencepost_dsl::sorted::SortedSet;
use rustc_hash::FxHashMap;

/// The instructions that give a value.
type Sources = SortedSet<SiteId>;

/// The instructions on whose results an execution rests, and that do not say what they are.
pub fn rests_on(graph: &EventGraph, witness: &Witness) -> Vec<SiteId> {
    let mut flow = Flow { graph, witness, unknowns: FxHashMap::default(), terms: FxHashMap::default() };
    for (id, unknown) in graph.terms.unknowns().iter_enumerated() {
        if let UnknownKind::Uncomputed(site) = unknown.kind {
            flow.unknowns.insert(id, Sources::from([site]));
        }
    }
    if flow.unknowns.is_empty() {
        return Vec::new();
    }
    loop {
        flow.evaluate();
        if !flow.pass_on() {
            break;
        }
    }
    let sources: Sources =
        looked_at(graph, witness).iter().filter_map(|term| flow.terms.get(term)).flatten().copied().collect();
    sources.into_iter().collect()
}

/// What decides that this is an execution, and does what is claimed of it.
fn looked_at(graph: &EventGraph, witness: &Witness) -> Vec<TermRef> {
    let executed = &witness.execution.executed;
    let mut terms: Vec<TermRef> = graph.events.iter().map(|event| event.guard).collect();
    terms.extend(
        executed.iter().filter_map(|event| graph.events[event].kind.access()).map(|access| access.offset),
    );
    terms.extend(graph.constraints.iter().map(|constraint| constraint.term));
    terms.extend(Edges::relations().flat_map(|base| graph.edges.single(base)).map(|edge| edge.condition));
    match witness.claim {
        GoalKind::Obligation(index) => {
            let obligation = &graph.obligations[index];
            terms.extend([obligation.guard, obligation.condition]);
        }
        GoalKind::Deadlock | GoalKind::NotResident => {
            terms.extend(graph.blocked.iter().map(|blocked| blocked.stuck));
        }
        GoalKind::Final(index) => terms.push(graph.finals[index].condition),
        GoalKind::Condition => terms.extend(graph.condition.iter().map(|goal| goal.condition)),
        GoalKind::Flag { .. } | GoalKind::Completion => {}
    }
    terms
}

/// How values that are not computed flow through an execution.
struct Flow<'a> {
    graph: &'a EventGraph,
    witness: &'a Witness,
    /// Unknowns that have such a value in them.
    unknowns: FxHashMap<UnknownId, Sources>,
    /// Terms whose value would be open if such values were.
    terms: FxHashMap<TermRef, Sources>,
}

impl Flow<'_> {
    /// Goes through all terms; operands precede their users.
    fn evaluate(&mut self) {
        self.terms.clear();
        for term in (0..self.graph.terms.n_terms()).map(TermRef::from_index) {
            let sources = self.sources(term);
            if !sources.is_empty() {
                self.terms.insert(term, sources);
            }
        }
    }

    fn sources(&self, term: TermRef) -> Sources {
        let operands = self.graph.terms.operands(term);
        let of = |terms: &[TermRef]| -> Sources {
            terms.iter().filter_map(|term| self.terms.get(term)).flatten().copied().collect()
        };
        let is = |term: &TermRef, value: u128| {
            !self.terms.contains_key(term) && self.witness.values[*term] == value
        };
        match self.graph.terms.kind(term) {
            TermKind::Unknown(unknown) => self.unknowns.get(unknown).cloned().unwrap_or_default(),
            // One operand that is certain decides.
            TermKind::And(_) if operands.iter().any(|operand| is(operand, 0)) => Sources::new(),
            TermKind::Or(_) if operands.iter().any(|operand| is(operand, 1)) => Sources::new(),
            &TermKind::IfThenElse(condition, then, otherwise) if !self.terms.contains_key(&condition) => {
                of(&[if self.witness.values[condition] == 1 { then } else { otherwise }])
            }
            _ => of(&operands),
        }
    }

    /// From writes to what is read or left of them; whether that was something new.
    fn pass_on(&mut self) -> bool {
        let mut found: Vec<(UnknownId, Sources)> = Vec::new();
        for (id, unknown) in self.graph.terms.unknowns().iter_enumerated() {
            let writes: Vec<EventId> = match unknown.kind {
                UnknownKind::Read(read) => {
                    let pieces = self.witness.execution.sources.get(&read);
                    pieces.into_iter().flatten().map(|&(write, _)| write).collect()
                }
                UnknownKind::FinalValue { location, offset_bytes, width_bytes } => {
                    let bytes = u128::from(offset_bytes)..u128::from(offset_bytes + width_bytes);
                    self.last_writes(|access| {
                        let first = self.witness.values[access.offset];
                        let end = first + u128::from(access.width_bytes);
                        access.location == location && first < bytes.end && bytes.start < end
                    })
                }
                _ => continue,
            };
            let values = writes.into_iter().filter_map(|write| self.graph.events[write].kind.access());
            let sources: Sources =
                values.filter_map(|access| self.terms.get(&access.value)).flatten().copied().collect();
            if !sources.is_empty() && self.unknowns.get(&id) != Some(&sources) {
                found.push((id, sources));
            }
        }
        let is_new = !found.is_empty();
        self.unknowns.extend(found);
        is_new
    }

    /// The writes that no other one of them comes after.
    fn last_writes(&self, is_meant: impl Fn(&Access) -> bool) -> Vec<EventId> {
        let writes = |event: &EventId| match &self.graph.events[*event].kind {
            EventKind::Write(access) | EventKind::Init(access) => is_meant(access),
            _ => false,
        };
        let writes: Vec<EventId> = self.witness.execution.executed.iter().filter(writes).collect();
        let is_last = |write: &EventId| {
            !writes.iter().any(|&later| self.witness.execution.coherence.contains(*write, later))
        };
        writes.iter().copied().filter(is_last).collect()
    }
}
