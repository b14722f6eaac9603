//! Barriers: what a thread does at `bar`, `barrier` and `bar.warp.sync`.
//!
//! Which executions belong together is found by counting: the generation of an execution is the number of arrivals the
//! thread has made on that barrier before. Usually it is the same on every path and known here; all threads then share
//! one unknown per generation that says whether it completes. Otherwise the generation is a term, and each wait has an
//! unknown of its own. What completion means is stated once all threads are there, in [`crate::synchronization`].

mod active;
mod aligned;
mod cluster;
mod collective;
mod elect;
mod exchange;
mod leaders;
mod masks;
mod registers;

pub use active::ActiveLog;
pub use aligned::{Alignment, contains_aligned};
pub use elect::ElectionResult;
pub use leaders::{Doing, Doings, Election, Leaders, elects, representatives};
pub use masks::{OpenGroup, OpenMasks};

use super::wait::Effect;
use super::{Step, UnrollError, Unroller};
use crate::event::{EventKind, Fact, Misuse, TermPool, TermRef, UnknownKind};
use crate::findings;
use crate::findings::MisuseKind;
use crate::synchronization::log::{BarrierLog, Execution, Form, Generation, Group};
use fencepost_dsl::kernel::program::{BarrierKind, BarrierReduction, BinaryOp, Expression};
use fencepost_dsl::sorted::{SortedMap, SortedSet};
use masks::Mask;

/// Barriers of a CTA (BR-1).
const N_BARRIERS: u128 = 16;

/// All barrier executions, and what is known of them while threads run.
#[derive(Default)]
pub struct BarrierRecorder {
    /// What all threads have done.
    pub log: BarrierLog,
    /// Per group, generation and operation: the combined predicate.
    results: SortedMap<(Group, Generation, u8), TermRef>,
    /// Of the current thread, per group and static generation: the disjunction of its arrivals' guards.
    own: SortedMap<Group, Arrivals>,
    /// Of the current thread, per group: how it gets through generations.
    own_passages: SortedMap<Group, Vec<Passage>>,
    /// Groups on which the current thread has executions of dynamic generation.
    own_dynamic: SortedSet<Group>,
    /// Per warp and mask of `elect.sync`: when each lane is the leader.
    leaders: SortedMap<(u32, u32), Vec<(u32, TermRef)>>,
    /// Indices of the current thread's first execution, and of its first `setmaxnreg`.
    own_first: usize,
    own_first_set: usize,
    /// Of loose barriers, per warp and arrival: whether it gets through.
    loose_passes: SortedMap<(Group, u32, u32), TermRef>,
}

/// A way through a barrier.
#[derive(Clone, Copy, Debug)]
pub struct Passage {
    pub generation: Generation,
    /// The path behind it.
    pub past: TermRef,
    /// Explicit thread count.
    pub count: Option<u32>,
}

/// When the current thread has arrived at each generation of a barrier.
#[derive(Default)]
struct Arrivals {
    unions: Vec<TermRef>,
    /// Of so many from the first on, each visibly implies the one before.
    n_chained: usize,
}

impl Arrivals {
    /// How many generations from the first on a path has arrived at for sure.
    fn n_made(&self, terms: &TermPool, guard: TermRef) -> usize {
        let is_made = |&&union: &&TermRef| terms.entails(guard, union);
        let chained = self.unions[..self.n_chained].last().filter(is_made).map_or(0, |_| self.n_chained);
        chained + self.unions[chained..].iter().take_while(is_made).count()
    }

    fn add(&mut self, terms: &mut TermPool, k: usize, guard: TermRef) {
        match self.unions.get_mut(k) {
            Some(union) => *union = terms.or(*union, guard),
            None => self.unions.push(guard),
        }
        let place = k.min(self.unions.len() - 1);
        if place <= self.n_chained {
            let is_chained = place == 0 || terms.entails(self.unions[place], self.unions[place - 1]);
            self.n_chained = if is_chained { self.n_chained.max(place + 1) } else { place };
        }
    }
}

impl BarrierRecorder {
    /// An empty log that knows which barriers are loose.
    pub fn new(loose: SortedSet<Group>) -> Self {
        Self { log: BarrierLog { loose, ..BarrierLog::default() }, ..Self::default() }
    }
    /// The first generation of a barrier at which the current thread has not arrived on any path; `None` if that is no number.
    pub fn first_missing(&self, group: Group) -> Option<u32> {
        let n_arrived = self.own.get(&group).map_or(0, |arrivals| arrivals.unions.len());
        if self.own_dynamic.contains(&group) { None } else { u32::try_from(n_arrived).ok() }
    }
    /// Barriers that the current thread has come to, and how it may have got through.
    pub fn own_passages(&self) -> impl Iterator<Item = (Group, &[Passage])> {
        self.own_passages.iter().map(|(&group, passages)| (group, passages.as_slice()))
    }
    /// Forgets what is known of the previous thread.
    pub fn start_thread(&mut self) {
        self.own.clear();
        self.own_passages.clear();
        self.own_dynamic.clear();
        self.own_first = self.log.executions.len();
        self.own_first_set = self.log.register_sets.len();
    }
}

impl Unroller<'_> {
    /// Runs `bar` or `barrier`.
    pub(super) fn barrier(
        &mut self,
        step: &mut Step<'_>,
        (kind, id, count): (&BarrierKind, &Expression, Option<&Expression>),
        (aligned, instance): (bool, Option<u32>),
    ) -> Result<(), UnrollError> {
        let cta = self.graph.hierarchy.cta_of(self.agent);
        let (group, id) = match instance {
            Some(instance) => {
                let id = self.evaluate(step.state, step.frame, id)?;
                let number =
                    self.graph.terms.constant_value(id).map(|id| u32::try_from(id).unwrap_or(u32::MAX));
                (Group::Instance(cta, instance, number), id)
            }
            None => match self.numbered(step, id)? {
                Some(known) => known,
                None => return Ok(()),
            },
        };
        let count = match count {
            Some(operand) => {
                let value = self.constant_operand(step, operand, "thread count")?;
                let count = u32::try_from(value).unwrap_or(u32::MAX);
                let of_cta = self.graph.hierarchy.launch_of(self.agent).warps.saturating_mul(32);
                if instance.is_none() && (count % 32 != 0 || count == 0 || count > of_cta) {
                    let misuse = Misuse::new(&findings::barrier::COUNT_OF_NO_WARPS)
                        .with("count", count)
                        .with("threads", of_cta);
                    self.never(step.state, misuse, operand.span);
                    return Ok(());
                }
                Some(count)
            }
            None => None,
        };
        let generation = self.generation(group, step.state.live);
        let form = match kind {
            BarrierKind::Sync => Form::Sync,
            BarrierKind::Arrive => Form::Arrive,
            BarrierKind::Reduce { destination, op, predicate } => {
                let predicate = self.evaluate(step.state, step.frame, predicate)?;
                let result = self.barrier_result(group, generation, *op);
                let value = self.graph.terms.resize(result, step.frame.width(*destination));
                step.state.env.set(*destination, value);
                Form::Reduce { op: *op, predicate, result }
            }
        };
        self.execute(step, (group, generation), form, (id, count))?;
        if aligned && let Some(&Execution { guard, arrive, .. }) = self.barriers.log.executions.last() {
            self.log_aligned(guard, arrive);
        }
        Ok(())
    }

    /// The barrier that a number names.
    fn numbered(
        &mut self,
        step: &mut Step<'_>,
        id: &Expression,
    ) -> Result<Option<(Group, TermRef)>, UnrollError> {
        let cta = self.graph.hierarchy.cta_of(self.agent);
        let id_value = self.constant_operand(step, id, "barrier number")?;
        if id_value >= N_BARRIERS {
            let misuse = Misuse::new(&findings::barrier::NUMBER_ABOVE_15).with("number", id_value);
            self.never(step.state, misuse, id.span);
            return Ok(None);
        }
        let number = u32::try_from(id_value).unwrap_or(u32::MAX);
        Ok(Some((Group::Cta(cta, number), self.graph.terms.constant(id_value, 32))))
    }

    /// Runs `bar.warp.sync`.
    pub(super) fn warp_sync(&mut self, step: &mut Step<'_>, mask: &Expression) -> Result<(), UnrollError> {
        let misuse = &findings::barrier::WARP_BARRIER_WITHOUT_OWN_LANE;
        let value = match self.mask_of(step, (mask, None), misuse)? {
            Some(Mask::Known(value)) => value,
            Some(Mask::Open(mask)) => {
                // Who meets is not counted there.
                let span = self.graph.sites[step.site].span;
                self.effects.push(Effect { guard: step.state.live, span, is_meeting: false });
                self.meet(step, (mask, None), (TermPool::FALSE, None))?;
                return Ok(());
            }
            None => return Ok(()),
        };
        let group = Group::Warp(self.graph.hierarchy.warp_of(self.agent), value);
        let generation = self.generation(group, step.state.live);
        self.execute(step, (group, generation), Form::Sync, (TermPool::FALSE, None))
    }

    /// A mask that has the executing lane in it; `None` if it has not, which ends the path.
    fn own_mask(
        &mut self,
        step: &mut Step<'_>,
        mask: &Expression,
        misuse: &'static MisuseKind,
    ) -> Result<Option<u32>, UnrollError> {
        let value = self.constant_operand(step, mask, "lane mask")?;
        let value = u32::try_from(value).unwrap_or(u32::MAX);
        let lane = self.graph.hierarchy.threads[self.agent].lane;
        if value >> lane & 1 == 1 {
            return Ok(Some(value));
        }
        let misuse = Misuse::new(misuse).with("mask", Fact::Mask(value)).with("lane", lane);
        self.never(step.state, misuse, mask.span);
        Ok(None)
    }

    fn constant_operand(
        &mut self,
        step: &Step<'_>,
        operand: &Expression,
        what: &str,
    ) -> Result<u128, UnrollError> {
        let value = self.evaluate(step.state, step.frame, operand)?;
        self.graph.terms.constant_value(value).ok_or_else(|| {
            let message = format!("the {what} of a barrier instruction must be known before the kernel runs");
            UnrollError::unsupported(
                "unsupported::barrier-operand",
                message,
                operand.span,
                "not a constant here",
            )
        })
    }

    fn execute(
        &mut self,
        step: &mut Step<'_>,
        instance: (Group, Generation),
        form: Form,
        operands: (TermRef, Option<u32>),
    ) -> Result<(), UnrollError> {
        self.run_barrier(step, instance, form, operands, EventKind::BarrierArrive)
    }

    /// Logs an arrival that does not wait.
    fn log_arrival(
        &mut self,
        step: &mut Step<'_>,
        instance: (Group, Generation),
        form: Form,
        kind: EventKind,
    ) -> Result<(), UnrollError> {
        self.run_barrier(step, instance, form, (TermPool::FALSE, None), kind)
    }

    fn run_barrier(
        &mut self,
        step: &mut Step<'_>,
        (group, generation): (Group, Generation),
        form: Form,
        (id, count): (TermRef, Option<u32>),
        kind: EventKind,
    ) -> Result<(), UnrollError> {
        let guard = step.state.live;
        let span = self.graph.sites[step.site].span;
        let position = self.next_position();
        let arrive = self.emit(guard, position, kind, step.site)?;
        let wait = if matches!(form, Form::Arrive) {
            None
        } else {
            let passes = self.passes(group, generation);
            step.state.live = self.graph.terms.and(guard, passes);
            let wait = self.emit_next(step.state.live, EventKind::BarrierWait, step.site)?;
            Some((wait, step.state.live))
        };
        let agent = self.agent;
        let execution =
            Execution { group, agent, guard, generation, form, count, id, arrive, wait, position, span };
        self.barriers.log.executions.push(execution);
        match generation {
            Generation::Static(k) => {
                let own = self.barriers.own.entry(group).or_default();
                own.add(&mut self.graph.terms, k as usize, guard);
            }
            Generation::Dynamic(_) => {
                self.barriers.own_dynamic.insert(group);
            }
        }
        let passages = self.barriers.own_passages.entry(group).or_default();
        passages.extend(wait.map(|(_, past)| Passage { generation, past, count }));
        Ok(())
    }

    /// The number of arrivals the current thread has made on the group when it gets here.
    fn generation(&mut self, group: Group, guard: TermRef) -> Generation {
        let terms = &mut self.graph.terms;
        if !self.barriers.own_dynamic.contains(&group) {
            let earlier = self.barriers.own.get(&group);
            let n_made = earlier.map_or(0, |earlier| earlier.n_made(terms, guard));
            let earlier = earlier.map_or(&[][..], |earlier| &earlier.unions);
            if earlier[n_made..].iter().all(|&union| terms.excludes_syntactically(guard, union)) {
                return Generation::Static(u32::try_from(n_made).unwrap_or(u32::MAX));
            }
        }
        let mut total = terms.constant(0, 32);
        let one = terms.constant(1, 32);
        for earlier in &self.barriers.log.executions[self.barriers.own_first..] {
            if earlier.group == group && !terms.excludes_syntactically(guard, earlier.guard) {
                // One number for each way, which a path that knows its way knows.
                let more = terms.binary(BinaryOp::Add, total, one);
                total = terms.if_then_else(earlier.guard, more, total);
            }
        }
        Generation::Dynamic(total)
    }

    fn passes(&mut self, group: Group, generation: Generation) -> TermRef {
        let warp = self.graph.hierarchy.warp_of(self.agent);
        let terms = &mut self.graph.terms;
        match generation {
            Generation::Static(k) if self.barriers.log.loose.contains(&group) => *self
                .barriers
                .loose_passes
                .entry((group, warp, k))
                .or_insert_with(|| terms.fresh(1, UnknownKind::Passes).1),
            // Which threads of an instance meet is not known yet.
            Generation::Static(_) if matches!(group, Group::Instance(..)) => {
                terms.fresh(1, UnknownKind::Passes).1
            }
            Generation::Static(k) => *self
                .barriers
                .log
                .passes
                .entry((group, k))
                .or_insert_with(|| terms.fresh(1, UnknownKind::Passes).1),
            // Which threads of an instance meet is not known yet.
            Generation::Dynamic(_) if matches!(group, Group::Instance(..)) => {
                terms.fresh(1, UnknownKind::Passes).1
            }
            Generation::Dynamic(generation) => *self
                .barriers
                .log
                .dynamic_passes
                .entry((group, generation))
                .or_insert_with(|| terms.fresh(1, UnknownKind::Passes).1),
        }
    }

    fn barrier_result(&mut self, group: Group, generation: Generation, op: BarrierReduction) -> TermRef {
        let terms = &mut self.graph.terms;
        let width = if op == BarrierReduction::Popc { 32 } else { 1 };
        *self
            .barriers
            .results
            .entry((group, generation, op as u8))
            .or_insert_with(|| terms.fresh(width, UnknownKind::BarrierResult).1)
    }
}
