//! Objects that are initialised more than once, and memory that is not only an mbarrier.
//!
//! Between `init` and `inval` an object lives; what comes after a later `init` is another object in the same bytes. Which
//! life an operation belongs to is taken from program order and barriers alone: it must surely come after an
//! initialisation of its life and surely before those of later ones. An initialisation without `inval` before it is an
//! error (UB-M2), and so is an ordinary access to the bytes of an object that lives (UB-M3).
//!
//! An asynchronous operation signals the object that its instruction has named, so it belongs to the life in which it was
//! started. If its signal may come later than the `inval` of that life, it is to an object that is no more (UB-M17), whatever
//! lies in the same bytes by then.
//!
//! Cannot: operations that only mbarriers, flags or cluster-wide luck order with a second initialisation; the kernel is
//! refused then.

use super::history::{History, Moment};
use crate::event::{
    Access, AgentId, BaseRelation, EventGraph, EventId, EventKind, GraphBuilder, GraphError, InstanceName,
    MbarrierId, MbarrierRole, Misuse, TermPool, TermRef, Wait,
};
use crate::findings;
use crate::synchronization::barrier::PassedBarrier;
use crate::synchronization::log::{MbarrierLog, Operation, OperationKind};
use fencepost_dsl::kernel::program::BinaryOp;
use fencepost_dsl::sorted::{SortedMap, SortedSet};
use fencepost_dsl::{Diagnostic, IndexVec, Span};
use rustc_hash::FxHashMap;

/// Bytes of an object.
const OBJECT_BYTES: u32 = 8;

/// Who belongs to a life other than the first.
#[derive(Default)]
struct Changes {
    /// Operations by index.
    operations: Vec<(usize, u32)>,
    tests: Vec<(EventId, u32)>,
    /// By index.
    last_tries: Vec<(usize, u32)>,
    /// Second initialisations without `inval`: event, when, and when it is none.
    unended: Vec<(EventId, TermRef, Vec<TermRef>)>,
}

/// Makes an object of each life of an object.
pub fn separate_lives(
    graph: &mut GraphBuilder,
    log: &mut MbarrierLog,
    passed: &[PassedBarrier],
) -> Result<(), GraphError> {
    Lives { graph, log, passed }.separate()
}

/// What the lives of objects are found from, and where it is noted.
struct Lives<'a> {
    graph: &'a mut GraphBuilder,
    log: &'a mut MbarrierLog,
    passed: &'a [PassedBarrier],
}

/// An initialisation and the number of the life it begins.
type Birth = (usize, Moment, u32);

impl Lives<'_> {
    fn separate(&mut self) -> Result<(), GraphError> {
        let objects: Vec<MbarrierId> = self.graph.mbarriers.ids().collect();
        let has_accesses = self.touched_objects();
        let repeated: Vec<MbarrierId> =
            objects.into_iter().filter(|&object| self.births(object).len() > 1).collect();
        if repeated.is_empty() && has_accesses.is_empty() {
            return Ok(());
        }
        let mut found = Vec::new();
        {
            let mut excluded = SortedSet::new();
            for &object in &repeated {
                self.note_exclusive(object, &mut excluded);
            }
            let history = History::new(&self.graph.terms, self.passed);
            for &object in &repeated {
                found.push((object, self.changes(object, &history, &excluded)?));
            }
        }
        let accesses = self.accesses_of_live_objects(&has_accesses)?;
        for (object, changes) in found {
            self.apply(object, changes)?;
        }
        for (event, misuse, guard) in accesses {
            self.graph.oblige_at(event, misuse, guard, TermPool::FALSE);
        }
        Ok(())
    }

    fn of_object(&self, object: MbarrierId) -> impl Iterator<Item = (usize, &Operation)> {
        let operations = self.log.operations.iter().enumerate();
        operations.filter(move |(_, operation)| operation.object == object)
    }

    fn births(&self, object: MbarrierId) -> Vec<(usize, Moment)> {
        let inits = self.of_object(object).filter(|(_, o)| matches!(o.kind, OperationKind::Init { .. }));
        inits.map(|(index, operation)| (index, Moment::of(operation))).collect()
    }

    /// Notes which guards of an object's operations exclude those of its initialisations.
    fn note_exclusive(&mut self, object: MbarrierId, excluded: &mut SortedSet<(TermRef, TermRef)>) {
        let births = self.births(object);
        let mut guards: SortedSet<TermRef> = self.of_object(object).map(|(_, o)| o.guard).collect();
        guards.extend(self.tests_of(object).into_iter().map(|(_, moment)| moment.guard));
        guards.extend(self.log.final_phases.iter().map(|last| last.guard));
        for (_, birth) in births {
            for &guard in &guards {
                if self.graph.terms.excludes_syntactically(birth.guard, guard) {
                    excluded.insert((birth.guard, guard));
                }
            }
        }
    }

    fn tests_of(&self, object: MbarrierId) -> Vec<(EventId, Moment)> {
        let tests = self.graph.events.iter_enumerated().filter_map(|(id, event)| {
            let EventKind::Mbarrier(test) = &event.kind else { return None };
            let (agent, site) = (event.agent?, event.site?);
            let span = self.graph.sites[site].span;
            let moment = Moment { agent, position: event.position, guard: event.guard, span, issued: None };
            (test.object == object && test.role == MbarrierRole::Test).then_some((id, moment))
        });
        tests.collect()
    }

    /// To which life each operation belongs.
    fn changes(
        &self,
        object: MbarrierId,
        history: &History<'_>,
        excluded: &SortedSet<(TermRef, TermRef)>,
    ) -> Result<Changes, GraphError> {
        let births = self.births(object);
        let excludes = |a: Moment, b: Moment| excluded.contains(&(a.guard, b.guard));
        let ends: Vec<Moment> = self
            .of_object(object)
            .filter(|(_, o)| matches!(o.kind, OperationKind::Inval))
            .map(|(_, o)| Moment::of(o))
            .collect();
        let mut changes = Changes::default();
        for (at, &(a_index, a)) in births.iter().enumerate() {
            for &(b_index, b) in &births[at + 1..] {
                if excludes(a, b) {
                    continue;
                }
                let (first, second, event) = if history.is_before(a, b) {
                    (a, b, b_index)
                } else if history.is_before(b, a) {
                    (b, a, a_index)
                } else if ends.is_empty() {
                    (a, b, b_index)
                } else {
                    return Err(self.unordered(object, a.span, b.span));
                };
                let mut between = Vec::new();
                for &end in &ends {
                    if history.is_before(first, end) && history.is_before(end, second) {
                        between.push(end.guard);
                    } else if !history.is_before(end, first) && !history.is_before(second, end) {
                        return Err(self.unordered(object, second.span, end.span));
                    }
                }
                let event = self.log.operations[event].event;
                changes.unended.push((event, first.guard, between));
            }
        }
        let mut numbered: Vec<Birth> = births.iter().map(|&(index, moment)| (index, moment, 0)).collect();
        for _ in 0..numbered.len() {
            for at in 0..numbered.len() {
                let later = numbered[at].1;
                let earlier = numbered
                    .iter()
                    .filter(|(_, birth, _)| !excludes(*birth, later) && history.is_before(*birth, later));
                let life = earlier.map(|(_, _, life)| life + 1).max().unwrap_or(0);
                numbered[at].2 = life;
            }
        }
        let life_of = |moment: Moment| -> Result<u32, GraphError> {
            let mut life = 0;
            let relevant = || numbered.iter().filter(|(_, birth, _)| !excludes(*birth, moment));
            for &(_, birth, number) in relevant() {
                if history.is_before(birth, moment) {
                    life = life.max(number);
                }
            }
            for &(_, birth, number) in relevant() {
                if number > life && !history.is_before(moment, birth) {
                    return Err(self.unordered(object, moment.span, birth.span));
                }
            }
            Ok(life)
        };
        for (index, operation) in self.of_object(object) {
            let born = numbered.iter().find(|(birth, _, _)| *birth == index);
            let life = match born {
                Some(&(_, _, life)) => life,
                None => life_of(Moment::of(operation).started())?,
            };
            changes.operations.push((index, life));
        }
        for (event, moment) in self.tests_of(object) {
            changes.tests.push((event, life_of(moment)?));
        }
        for (index, last) in self.log.final_phases.iter().enumerate() {
            if last.object == object {
                let (agent, position, guard, span) = (last.agent, last.position, last.guard, last.span);
                changes
                    .last_tries
                    .push((index, life_of(Moment { agent, position, guard, span, issued: None })?));
            }
        }
        Ok(changes)
    }

    fn unordered(&self, object: MbarrierId, place: Span, other: Span) -> GraphError {
        let name = &self.graph.mbarriers[object].name;
        let diagnostic = Diagnostic::new(
            "unsupported::mbarrier-reuse",
            format!("{name} is initialised again, and no barrier says whether this comes before or after it"),
            place,
            "this use",
        );
        let help = "put a barrier between the last use of the old mbarrier, `mbarrier.inval`, `mbarrier.init` and the \
                    first use of the new one; if there is one and it stands in a loop whose number of rounds is a parameter, \
                    make that number a `const`, and check its values one by one with -D; or use two objects";
        GraphError::Unsupported(diagnostic.with_label(other, "and this").with_help(help).with_rule("UB-M4"))
    }

    fn apply(&mut self, object: MbarrierId, changes: Changes) -> Result<(), GraphError> {
        for (event, guard, ends) in changes.unended {
            let ended = self.graph.terms.or_all(ends);
            let own = self.graph.events[event].guard;
            let both = self.graph.terms.and(own, guard);
            let misuse = Misuse::new(&findings::mbarrier::INIT_AGAIN).with("object", object);
            self.graph.oblige_at(event, misuse, both, ended);
        }
        let mut lives: SortedMap<u32, MbarrierId> = SortedMap::from([(0, object)]);
        for &(index, life) in &changes.operations {
            let of_life = self.nth_life(object, life, &mut lives);
            let operation = &mut self.log.operations[index];
            operation.object = of_life;
            let event = operation.event;
            self.belong(event, of_life);
        }
        for &(event, life) in &changes.tests {
            let of_life = self.nth_life(object, life, &mut lives);
            self.belong(event, of_life);
        }
        for &(index, life) in &changes.last_tries {
            let of_life = self.nth_life(object, life, &mut lives);
            let last = &mut self.log.final_phases[index];
            last.object = of_life;
            let asked = last.completed;
            for blocked in &mut self.graph.blocked {
                if let Wait::Phase { object, completed, .. } = &mut blocked.wait
                    && *completed == asked
                {
                    *object = of_life;
                }
            }
        }
        self.check_states_of_lives(&changes.operations)
    }

    /// A state of one life means nothing in another (UB-M11).
    fn check_states_of_lives(&mut self, operations: &[(usize, u32)]) -> Result<(), GraphError> {
        for &(index, _) in operations {
            let wait = self.log.operations[index].clone();
            let OperationKind::WaitState { state } = wait.kind else { continue };
            let Some(arrival) = self.log.operations.iter().find(|other| other.phase == state) else {
                let message =
                    "which arrive returned this state must be plain where an mbarrier is initialised again";
                return Err(GraphError::unsupported(
                    "unsupported::mbarrier-reuse",
                    message,
                    wait.span,
                    "waits with a state of several arrives",
                ));
            };
            if arrival.object == wait.object {
                continue;
            }
            let misuse = Misuse::new(&findings::mbarrier::STATE_OF_EARLIER_LIFE).with("object", wait.object);
            self.graph.oblige_at(wait.event, misuse, wait.guard, TermPool::FALSE);
        }
        Ok(())
    }

    fn nth_life(
        &mut self,
        object: MbarrierId,
        life: u32,
        lives: &mut SortedMap<u32, MbarrierId>,
    ) -> MbarrierId {
        if let Some(&known) = lives.get(&life) {
            return known;
        }
        let mut mbarrier = self.graph.mbarriers[object].clone();
        let instance = format!("{} (initialised {} times)", mbarrier.name.instance(), life + 1);
        mbarrier.name = InstanceName::new(mbarrier.name.stem(), &instance);
        let id = self.graph.mbarriers.push(mbarrier);
        lives.insert(life, id);
        id
    }

    fn belong(&mut self, event: EventId, to: MbarrierId) {
        if let EventKind::Mbarrier(operation) = &mut self.graph.events[event].kind {
            operation.object = to;
        }
    }

    /// Ordinary accesses that may touch the bytes of an mbarrier, with the condition that they do.
    fn touched_objects(&mut self) -> Vec<(EventId, MbarrierId, TermRef)> {
        let mut by_location: IndexVec<_, Vec<(MbarrierId, u32)>> =
            IndexVec::repeat(Vec::new(), self.graph.locations.len());
        for (id, mbarrier) in self.graph.mbarriers.iter_enumerated() {
            by_location[mbarrier.location].push((id, mbarrier.offset_bytes));
        }
        let mut touched = Vec::new();
        let EventGraph { events, terms, .. } = &mut **self.graph;
        for (event, of_event) in events.iter_enumerated() {
            let Some(access) = of_event.kind.access() else { continue };
            if of_event.agent.is_none() {
                continue;
            }
            for &(object, first) in &by_location[access.location] {
                let overlaps = overlap(terms, access, first);
                if overlaps != TermPool::FALSE {
                    touched.push((event, object, overlaps));
                }
            }
        }
        touched
    }

    /// UB-M3: of these accesses, those that come while the object lives.
    fn accesses_of_live_objects(
        &mut self,
        touched: &[(EventId, MbarrierId, TermRef)],
    ) -> Result<Vec<(EventId, Misuse, TermRef)>, GraphError> {
        let mut found = Vec::new();
        let started = self.starts();
        for &(event, object, overlaps) in touched {
            let of_event = &self.graph.events[event];
            let (Some(agent), Some(site)) = (of_event.agent, of_event.site) else { continue };
            let span = self.graph.sites[site].span;
            let (position, guard) = (of_event.position, of_event.guard);
            let issued = started.get(&event).copied();
            let access = Moment { agent, position, guard, span, issued };
            let births = self.births(object);
            let ends: Vec<Moment> = self
                .of_object(object)
                .filter(|(_, o)| matches!(o.kind, OperationKind::Inval))
                .map(|(_, o)| Moment::of(o))
                .collect();
            let history = History::new(&self.graph.terms, self.passed);
            let mut alive = Vec::new();
            for (_, birth) in births {
                if history.is_before(access, birth) {
                    continue;
                }
                if !history.is_before(birth, access) {
                    return Err(self.unordered_access(object, span, birth.span));
                }
                let ended = ends
                    .iter()
                    .filter(|&&end| history.is_before(birth, end) && history.is_before(end, access));
                let ended: Vec<TermRef> = ended.map(|end| end.guard).collect();
                if let Some(end) = ends
                    .iter()
                    .find(|&&end| !history.is_before(end, access) && !history.is_before(access, end))
                {
                    return Err(self.unordered_access(object, span, end.span));
                }
                alive.push((birth.guard, ended));
            }
            for (born, ended) in alive {
                let terms = &mut self.graph.terms;
                let ended = terms.or_all(ended);
                let lives = terms.not(ended);
                let guard = terms.and_all([access.guard, born, overlaps, lives]);
                let misuse = Misuse::new(&findings::mbarrier::ACCESS_OF_BYTES).with("object", object);
                if guard != TermPool::FALSE {
                    found.push((event, misuse, guard));
                }
            }
        }
        Ok(found)
    }

    /// Where in its thread what an asynchronous operation does was started: all that comes before is over by then.
    fn starts(&self) -> FxHashMap<EventId, (AgentId, u32)> {
        let mut started: FxHashMap<EventId, (AgentId, u32)> = FxHashMap::default();
        for edge in self.graph.edges.of(BaseRelation::Start) {
            let (from, to) = (&self.graph.events[edge.from], &self.graph.events[edge.to]);
            let (Some(thread), Some(operation)) = (from.agent, to.agent) else { continue };
            if self.graph.hierarchy.issuer(operation) == thread {
                let at = started.entry(edge.to).or_insert((thread, from.position));
                at.1 = at.1.min(from.position);
            }
        }
        started
    }

    fn unordered_access(&self, object: MbarrierId, place: Span, other: Span) -> GraphError {
        let name = &self.graph.mbarriers[object].name;
        let diagnostic = Diagnostic::new(
            "unsupported::mbarrier-reuse",
            format!("no barrier says whether {name} is an mbarrier when its bytes are accessed"),
            place,
            "accessed here",
        );
        let help = "put a barrier between the two, or use other memory";
        GraphError::Unsupported(
            diagnostic.with_label(other, "its life begins or ends here").with_help(help).with_rule("UB-M3"),
        )
    }
}

/// Whether an access touches the object that begins at `first`.
fn overlap(terms: &mut TermPool, access: &Access, first: u32) -> TermRef {
    let width = terms.width(access.offset);
    let end = terms.constant(u128::from(first + OBJECT_BYTES), width);
    let starts_before_end = terms.less(access.offset, end);
    let size = terms.constant(u128::from(access.width_bytes), width);
    let access_end = terms.binary(BinaryOp::Add, access.offset, size);
    let start = terms.constant(u128::from(first), width);
    let ends_after_start = terms.less(start, access_end);
    terms.and(starts_before_end, ends_after_start)
}
