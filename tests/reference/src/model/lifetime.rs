//! Whether shared memory is there when it is used (LT-1 … LT-3): by threads of other CTAs, and by asynchronous operations,
//! which may outlive the threads that started them.

use super::{Causality, Model};
use crate::event::{Kind, Misuse};
use crate::execution::ReadsFrom;
use crate::relation::Relation;
use std::collections::BTreeSet;

impl Model<'_> {
    /// `justified` is what let events happen, closed.
    pub fn lifetime_misuses(
        &self,
        rf: &ReadsFrom,
        justified: &Relation,
        causality: &Causality,
    ) -> BTreeSet<Misuse> {
        let mut misuses = BTreeSet::new();
        for access in self.all().filter(|&event| !self.is_initial(event)) {
            let Some(owner) = self.owner(access) else { continue };
            let is_peer = self.cta(access) != Some(owner);
            let is_operation = self.event(access).operation.is_some();
            if !is_peer && !is_operation {
                continue;
            }
            let of_owner = |event: &usize| {
                let is_thread = self.event(*event).operation.is_none();
                *event != access && is_thread && self.cta(*event) == Some(owner)
            };
            let own: Vec<usize> = self.all().filter(of_owner).collect();
            if is_peer
                && !own.iter().any(|&event| self.is_known_before(rf, justified, causality, event, access))
            {
                misuses.insert(Misuse::PeerNotStarted);
            }
            let is_over =
                || own.iter().any(|&event| self.is_known_over(rf, justified, causality, access, event));
            if self.has_ended(owner) && !is_over() {
                misuses.insert(if is_peer { Misuse::PeerMayHaveExited } else { Misuse::OperationPending });
            }
        }
        misuses
    }

    /// Whose shared memory, or mbarrier, it is.
    fn owner(&self, access: usize) -> Option<u32> {
        let event = self.event(access);
        match event.kind {
            Kind::Mbarrier(operation) => Some(operation.object.1),
            _ => event.is_shared.then_some(event.location.1),
        }
    }

    fn has_ended(&self, cta: u32) -> bool {
        let has_exited = |thread: usize| {
            self.all().any(|e| self.event(e).thread == Some(thread) && self.event(e).kind == Kind::Exit)
        };
        (0..self.ctas.len()).filter(|&thread| self.ctas[thread] == cta).all(has_exited)
    }

    /// Whether an access is only made once an event has happened: it is ordered, or let it happen, or a value that it
    /// wrote did.
    fn is_known_before(
        &self,
        rf: &ReadsFrom,
        justified: &Relation,
        causality: &Causality,
        event: usize,
        access: usize,
    ) -> bool {
        let decided = |read: usize| {
            self.reads_any_byte(rf, event, read)
                && self.all().any(|e| {
                    let needs =
                        self.event(e).control.contains(&read) || self.event(e).dependencies.contains(&read);
                    needs && (e == access || justified.contains(e, access))
                })
        };
        causality.base.contains(event, access) || justified.contains(event, access) || self.all().any(decided)
    }

    /// Whether an event shows that an access is over: it is ordered after it, has read what it wrote, or has found an
    /// mbarrier past the phase in which that signalled.
    fn is_known_over(
        &self,
        rf: &ReadsFrom,
        justified: &Relation,
        causality: &Causality,
        access: usize,
        event: usize,
    ) -> bool {
        let phases = &self.combination.phases;
        let writes = self.write_part(access).into_iter().chain([access]);
        let said = |signal: usize| {
            self.event(signal).follows.contains(&access)
                && self.all().any(|later| {
                    phases.is_earlier(&self.combination.events, signal, later)
                        && (later == event || justified.contains(later, event))
                })
        };
        causality.base.contains(access, event)
            || writes.into_iter().any(|write| self.reads_any_byte(rf, write, event))
            || phases.is_earlier(&self.combination.events, access, event)
            || self.all().any(said)
    }
}
