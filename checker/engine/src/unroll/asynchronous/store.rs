//! `st.async`, `red.async` and the arrival of `cp.async.mbarrier.arrive`: in the generic proxy.

use super::super::access::Strength;
use super::super::expression::Place;
use super::super::{Step, UnrollError, Unroller};
use super::transfer::Piece;
use super::{AsyncGroup, WRITES};
use crate::event::{AtomicClass, EventId, Misuse, OperationSort};
use crate::findings;
use fencepost_dsl::kernel::program::{Address, AsyncStore};
use fencepost_dsl::vocabulary::{Proxy, Replication, Scope, Sem};

impl Unroller<'_> {
    pub(super) fn async_store(&mut self, step: &mut Step<'_>, store: &AsyncStore) -> Result<(), UnrollError> {
        let Some(to) = self.resolve(step, &store.address, store.values.len())? else { return Ok(()) };
        let mut signal = None;
        if let Some(mbarrier) = &store.mbarrier {
            let Some(place) = self.resolve(step, mbarrier, 1)? else { return Ok(()) };
            let own = self.graph.hierarchy.threads[self.agent].rank;
            if place.rank.unwrap_or(own) != to.rank.unwrap_or(own) {
                let misuse = Misuse::new(&findings::asynchronous::STORE_SIGNALS_ELSEWHERE);
                self.never(step.state, misuse, mbarrier.span);
                return Ok(());
            }
            signal = Some((place, mbarrier.span));
        }
        if store.values.len() > 1 {
            let bytes = self.element_bytes(to.object) * u32::try_from(store.values.len()).unwrap_or(u32::MAX);
            self.require_alignment(step.state, to, bytes, store.address.span);
        }
        let own = self.graph.hierarchy.threads[self.agent].rank;
        if store.reduction.is_some() && signal.is_some() && to.rank.unwrap_or(own) == own {
            let misuse = Misuse::new(&findings::asynchronous::REDUCTION_OF_OWN);
            self.never(step.state, misuse, store.address.span);
            return Ok(());
        }
        if let Some((_, span)) = signal
            && self.graph.hierarchy.launch_of(self.agent).cluster == 1
        {
            let misuse = Misuse::new(&findings::asynchronous::STORE_IN_SINGLE_CTA);
            self.never(step.state, misuse, span);
            return Ok(());
        }
        self.perform_store(step, store, (to, signal))
    }

    fn perform_store(
        &mut self,
        step: &mut Step<'_>,
        store: &AsyncStore,
        (to, signal): (Place, Option<(Place, fencepost_dsl::Span)>),
    ) -> Result<(), UnrollError> {
        let width_bytes = self.element_bytes(to.object);
        let issue_sem = if store.sem == Sem::Release { Sem::Release } else { Sem::Weak };
        let instances = self.denoted_places(to);
        let is_multimem = self.kernel.objects[to.object].replication == Replication::Multimem;
        let sort = match (store.reduction.is_some(), is_multimem) {
            (false, false) => OperationSort::Store,
            (true, false) => OperationSort::Reduction,
            (false, true) => OperationSort::MultimemStore,
            (true, true) => OperationSort::MultimemReduction,
        };
        let issue = self.issue(step, issue_sem, store.scope)?;
        let operation = self.operation_of(issue, step.state.live, sort);
        let class = if store.reduction.is_some() { AtomicClass::Reduction } else { AtomicClass::None };
        let strength = Strength::new(store.sem, store.scope, class);
        let how = (Proxy::Generic, strength);
        let piece_bytes = self.piece_bytes(to, to, strength);
        for (number, value) in (0u32..).zip(&store.values) {
            let value = self.evaluate(step.state, step.frame, value)?;
            let value = self.graph.terms.resize(value, self.kernel.objects[to.object].width);
            for at in (0..width_bytes).step_by(piece_bytes as usize) {
                let offset_bytes = number * width_bytes + at;
                let value = self.extract_bytes(value, at, piece_bytes);
                for &run in &instances {
                    let piece = Piece { run, offset_bytes, width_bytes: piece_bytes };
                    match store.reduction {
                        None => {
                            self.write_in(operation, operation.guard, WRITES, piece, value, how)?;
                        }
                        Some(op) => {
                            self.update_in(operation, piece, op, value, how)?;
                        }
                    }
                }
            }
        }
        if let Some((place, span)) = signal {
            let object = self.mbarrier_at(place, span)?;
            let n = u32::try_from(store.values.len()).unwrap_or(u32::MAX);
            self.complete_tx(operation, object, n * width_bytes)?;
        }
        Ok(())
    }

    /// An arrival once all earlier `cp.async` of the thread are done; it releases them and nothing else (MM-29, MB-24).
    pub(super) fn copy_arrive(
        &mut self,
        step: &mut Step<'_>,
        mbarrier: &Address,
        increments: bool,
    ) -> Result<(), UnrollError> {
        let Some(place) = self.resolve(step, mbarrier, 1)? else { return Ok(()) };
        let object = self.mbarrier_at(place, mbarrier.span)?;
        if increments {
            self.log_raise(step, object)?;
        }
        let operation = self.start(step, OperationSort::CopyArrival)?;
        let tracked = self.asynchronous.started.iter().filter(|started| started.group == AsyncGroup::Copy);
        let copied: Vec<EventId> =
            tracked.flat_map(|started| &started.events).map(|&(event, _)| event).collect();
        self.arrive_after(operation, object, Scope::Cta, &copied)
    }
}
