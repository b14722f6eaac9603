//! `shfl.sync`, `vote.sync`, `match.sync`, `redux.sync`: the lanes of a mask meet and tell one another values.
//!
//! Lanes that have not exited wait for one another, but no memory is ordered (MM-37): what a lane knows afterwards is that
//! the others have got there, so the edges are those of exits, as for `elect.sync`.
//!
//! What a lane gets is made of what others bring. Of lanes that have been run before it, that is known here; otherwise it is
//! an unknown, of which [`crate::synchronization`] says what it is. Where that turns out to be a number, as where lanes
//! find their number in the block, all threads are run once more with it, so that branches and addresses see it.

use super::super::{Step, UnrollError, Unroller};
use super::masks::Mask;
use crate::event::{AgentId, EventKind, TermPool, TermRef, UnknownKind};
use crate::findings;
use crate::synchronization::exchange::{self, Exchanged, ResultKey};
use crate::synchronization::log::{Form, Generation, Group};
use fencepost_dsl::kernel::program::{Exchange, ExchangeKind, RegisterId};
use fencepost_dsl::sorted::SortedMap;

impl Unroller<'_> {
    /// Runs an instruction by which lanes tell one another values.
    pub(in super::super) fn exchange(
        &mut self,
        step: &mut Step<'_>,
        exchange: &Exchange,
    ) -> Result<(), UnrollError> {
        let misuse = &findings::barrier::EXCHANGE_WITHOUT_OWN_LANE;
        let Some(mask) = self.mask_of(step, (&exchange.mask, Some(exchange.kind)), misuse)? else {
            return Ok(());
        };
        let value = self.evaluate(step.state, step.frame, &exchange.value)?;
        let lane = self.graph.hierarchy.threads[self.agent].lane;
        let source = match (&exchange.source, exchange.kind) {
            (Some([source, clamp]), ExchangeKind::Shuffle(mode)) => {
                let source = self.evaluate(step.state, step.frame, source)?;
                let clamp = self.evaluate(step.state, step.frame, clamp)?;
                Some(exchange::source_lane(&mut self.graph.terms, (mode, lane), source, clamp))
            }
            _ => None,
        };
        let result = match mask {
            Mask::Known(mask) => {
                self.exchange_at(step, (mask, exchange.kind), (value, source.map(|of| of.0)))?
            }
            Mask::Open(mask) => {
                self.meet(step, (mask, Some(exchange.kind)), (value, source.map(|of| of.0)))?
            }
        };
        self.set(step, exchange.destination, result);
        if exchange.predicate.is_some() {
            let holds = match source {
                Some((_, is_in_range)) => is_in_range,
                // All values are equal, or no lane is named.
                None => {
                    let none = self.graph.terms.constant(0, 32);
                    let differ = self.graph.terms.equal(result, none);
                    self.graph.terms.not(differ)
                }
            };
            self.set(step, exchange.predicate, holds);
        }
        Ok(())
    }

    /// With a mask that is a number; what the lane is told.
    fn exchange_at(
        &mut self,
        step: &mut Step<'_>,
        (mask, kind): (u32, ExchangeKind),
        (value, source): (TermRef, Option<TermRef>),
    ) -> Result<TermRef, UnrollError> {
        let lane = self.graph.hierarchy.threads[self.agent].lane;
        let group = Group::Exchange(self.graph.hierarchy.warp_of(self.agent), mask, kind);
        let generation = self.generation(group, step.state.live);
        let guard = step.state.live;
        let operands = (TermPool::FALSE, None);
        self.run_barrier(step, (group, generation), Form::Sync, operands, EventKind::BarrierArrive)?;
        let execution = self.barriers.log.executions.len() - 1;
        let exchanges = &mut self.barriers.log.exchanges;
        exchanges.brought.entry(group).or_default().push((execution, value));
        if let Generation::Static(k) = generation {
            exchanges.ways.entry((group, k, self.agent)).or_default().push((guard, value));
        } else {
            exchanges.dynamic.insert((group, self.agent));
        }
        let exchanged = Exchanged { execution, lane, source };
        Ok(self.result(exchanged, value, (group, generation)))
    }

    fn set(&mut self, step: &mut Step<'_>, register: Option<RegisterId>, value: TermRef) {
        if let Some(register) = register {
            let value = self.graph.terms.resize(value, step.frame.width(register));
            step.state.env.set(register, value);
        }
    }

    /// What an execution gets: from lanes that have been run already, or an unknown.
    fn result(
        &mut self,
        exchanged: Exchanged,
        own: TermRef,
        (group, generation): (Group, Generation),
    ) -> TermRef {
        let Group::Exchange(.., kind) = group else { return own };
        let width = exchange::result_width(kind);
        let key = match generation {
            Generation::Static(k) => Some((group, k, (!kind.is_uniform()).then_some(self.agent))),
            Generation::Dynamic(_) => None,
        };
        if let Some(key) = key {
            let exchanges = &self.barriers.log.exchanges;
            if let Some(&number) = exchanges.known.get(&key) {
                return self.graph.terms.constant(number, width);
            }
            if kind.is_uniform()
                && let Some(&same) = exchanges.results.get(&key)
            {
                return same;
            }
            if let Some(result) = self.of_earlier_lane(exchanged, own, key) {
                return result;
            }
        }
        let (_, result) = self.graph.terms.fresh(width, UnknownKind::Exchanged);
        let exchanges = &mut self.barriers.log.exchanges;
        exchanges.asked.push((exchanged, result));
        if let Some(key) = key {
            exchanges.results.insert(key, result);
        }
        result
    }

    /// The value of the lane that a shuffle names, if it is known which and that lane has been run.
    fn of_earlier_lane(
        &mut self,
        exchanged: Exchanged,
        own: TermRef,
        (group, k, _): ResultKey,
    ) -> Option<TermRef> {
        let Group::Exchange(warp, mask, ExchangeKind::Shuffle(_)) = group else { return None };
        let source = self.graph.terms.constant_value(exchanged.source?)?;
        let source = u32::try_from(source).ok()?;
        if source == exchanged.lane {
            return Some(own);
        }
        // Lanes of a warp have consecutive numbers.
        let agent = AgentId((self.agent.0 + source).checked_sub(exchanged.lane)?);
        let exchanges = &self.barriers.log.exchanges;
        if agent > self.agent
            || mask >> source & 1 == 0
            || self.graph.hierarchy.warp_of(agent) != warp
            || exchanges.dynamic.contains(&(group, agent))
        {
            return None;
        }
        let ways = exchanges.ways.get(&(group, k, agent))?;
        let arrives = self.graph.terms.or_all(ways.iter().map(|&(guard, _)| guard));
        // Of one that may have exited instead, nothing is known.
        let is_there = self.graph.terms.entails(self.graph.completed[agent], arrives);
        is_there.then(|| exchange::combined(&mut self.graph.terms, ways))
    }

    /// The results that turn out to be numbers, of executions that got an unknown; all of them with what was known before.
    pub(in super::super) fn exchanged_numbers(&mut self) -> SortedMap<ResultKey, u128> {
        let mut numbers = self.barriers.log.exchanges.known.clone();
        for (exchanged, _, value) in exchange::results(&mut self.graph, &self.barriers.log) {
            let execution = self.barriers.log.executions[exchanged.execution];
            if let (Generation::Static(k), Some(number)) =
                (execution.generation, self.graph.terms.constant_value(value))
                && let Group::Exchange(.., kind) = execution.group
            {
                let whose = (!kind.is_uniform()).then_some(execution.agent);
                numbers.insert((execution.group, k, whose), number);
            }
        }
        numbers
    }
}
