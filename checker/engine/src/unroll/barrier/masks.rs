//! Lane masks that are no numbers: `shfl.sync` and the like, and `bar.warp.sync`, with a mask that lanes have been told or
//! computed.
//!
//! Where the mask is one of a few numbers, the instruction is run once for each, and the rest is counting, as for all barriers.
//! Otherwise a mask is a term. The lanes that meet are those whose masks are equal in an execution, each at its n-th execution
//! with that mask; whoever executes it waits for all lanes that its mask names, and a mask without the own lane is a finding.
//! A number that another lane has at the same kind of instruction is a term among them then, so what is known of a warp's masks
//! in one run decides how the next one takes them.

use super::super::{State, Step, UnrollError, Unroller};
use crate::event::support::Supports;
use crate::event::{
    AgentId, BaseRelation, Blocked, Edge, EventId, EventKind, Fact, Meeting, Misuse, TermKind, TermPool,
    TermRef, Turn, UnknownKind, Wait,
};
use crate::findings::MisuseKind;
use crate::synchronization::barrier::before_exit;
use crate::synchronization::exchange::{self, Exchanged};
use crate::synchronization::log::{BarrierLog, Execution, Form, Generation, Group};
use fencepost_dsl::Span;
use fencepost_dsl::kernel::program::{BinaryOp, ExchangeKind, Expression, Instruction, InstructionKind};
use fencepost_dsl::sorted::{SortedMap, SortedSet};
use std::sync::Arc;

/// The instructions of a warp that can meet, whatever their masks: what is told, or `bar.warp.sync`.
pub type OpenGroup = (u32, Option<ExchangeKind>);

/// Most numbers that a mask may be for the instruction to be run once for each.
const CHOICES_MAX: usize = 4;
/// Most executions of one group.
const EXECUTIONS_MAX: usize = 512;

/// An execution with a mask that is a term.
#[derive(Clone, Copy)]
struct Coming {
    execution: Execution,
    mask: TermRef,
    passed: TermRef,
    wait: EventId,
    /// What it tells, and of what it is told: the lane that is asked, and the result.
    value: TermRef,
    asked: Option<(Option<TermRef>, TermRef)>,
}

/// All of them.
#[derive(Default)]
pub struct OpenMasks {
    /// Groups that had a mask that is no number when the kernel was unrolled before.
    pub known: SortedSet<OpenGroup>,
    /// Groups that have one now.
    pub found: SortedSet<OpenGroup>,
    comings: SortedMap<OpenGroup, Vec<Coming>>,
    /// Whether an instruction is being run for one of the numbers that its mask may be.
    is_split: bool,
}

/// A mask of lanes.
#[derive(Clone, Copy)]
pub enum Mask {
    /// A number, and nobody of the warp has another thing than that.
    Known(u32),
    /// A term.
    Open(TermRef),
}

/// An execution's way to the others.
struct Together {
    /// Per lane that may be waited for: when it is, when it has come, and when it has exited instead.
    lanes: Vec<(AgentId, [TermRef; 3])>,
}

impl Unroller<'_> {
    /// Runs an instruction once for each number that its mask may be, if these are few; whether it did.
    pub(in super::super) fn split_by_mask(
        &mut self,
        state: &mut State,
        frame: &super::super::Frame<'_>,
        (span, instruction): (Span, &Instruction),
    ) -> Result<bool, UnrollError> {
        let mask = match &instruction.kind {
            InstructionKind::WarpSync { mask } | InstructionKind::ElectSync { mask, .. } => mask,
            InstructionKind::Exchange(exchange) => &exchange.mask,
            _ => return Ok(false),
        };
        if self.open_masks.is_split {
            return Ok(false);
        }
        let value = self.evaluate(state, frame, mask)?;
        let mut numbers = SortedSet::new();
        if self.graph.terms.constant_value(value).is_some() || !self.choices(value, &mut numbers) {
            return Ok(false);
        }
        let mut ways = Vec::new();
        let mut rest = State { live: state.live, env: state.env.clone() };
        for number in numbers {
            let number = self.graph.terms.constant(number, 32);
            let is = self.graph.terms.equal(value, number);
            let before = rest.live;
            let (yes, no) = self.split(before, is);
            rest.live = no;
            if yes == TermPool::FALSE {
                continue;
            }
            let mut taken = State { live: yes, env: state.env.clone() };
            self.open_masks.is_split = true;
            let run = self.instruction(&mut taken, frame, span, instruction);
            self.open_masks.is_split = false;
            run?;
            if no != TermPool::FALSE {
                self.decide_by_branch(before, is);
            }
            ways.push(taken);
        }
        *state = self.join_all(ways);
        Ok(true)
    }

    /// The numbers that a term may be, if they are few and nothing else.
    fn choices(&self, term: TermRef, numbers: &mut SortedSet<u128>) -> bool {
        match *self.graph.terms.kind(term) {
            TermKind::Constant(number) => {
                numbers.insert(number);
                numbers.len() <= CHOICES_MAX
            }
            TermKind::IfThenElse(_, then, otherwise) => {
                self.choices(then, numbers) && self.choices(otherwise, numbers)
            }
            _ => false,
        }
    }

    /// A mask, which has the executing lane in it from here on; `None` where it never has.
    pub(super) fn mask_of(
        &mut self,
        step: &mut Step<'_>,
        (mask, kind): (&Expression, Option<ExchangeKind>),
        misuse: &'static MisuseKind,
    ) -> Result<Option<Mask>, UnrollError> {
        let value = self.evaluate(step.state, step.frame, mask)?;
        let group = (self.graph.hierarchy.warp_of(self.agent), kind);
        if self.graph.terms.constant_value(value).is_some() {
            let known = self.own_mask(step, mask, misuse)?;
            let is_open = self.open_masks.known.contains(&group);
            return Ok(known.map(|known| if is_open { Mask::Open(value) } else { Mask::Known(known) }));
        }
        self.open_masks.found.insert(group);
        if self.active.part(value).is_none() {
            let lane = self.graph.hierarchy.threads[self.agent].lane;
            let has_own = self.bit(value, lane);
            let (yes, no) = self.split(step.state.live, has_own);
            if no != TermPool::FALSE {
                let which = Fact::Name("computed before".to_owned());
                let misuse = Misuse::new(misuse).with("mask", which).with("lane", lane);
                let mut wrong = State { live: no, env: step.state.env.clone() };
                self.never(&mut wrong, misuse, mask.span);
            }
            step.state.live = yes;
            if yes == TermPool::FALSE {
                return Ok(None);
            }
        }
        Ok(Some(Mask::Open(value)))
    }

    fn bit(&mut self, mask: TermRef, lane: u32) -> TermRef {
        let lane = u8::try_from(lane.min(31)).unwrap_or(31);
        self.graph.terms.extract(mask, lane, 1)
    }

    /// Runs an instruction at which the lanes with the same mask meet; what it is told.
    pub(super) fn meet(
        &mut self,
        step: &mut Step<'_>,
        (mask, kind): (TermRef, Option<ExchangeKind>),
        (value, source): (TermRef, Option<TermRef>),
    ) -> Result<TermRef, UnrollError> {
        let warp = self.graph.hierarchy.warp_of(self.agent);
        let span = self.graph.sites[step.site].span;
        if self.open_masks.comings.get(&(warp, kind)).is_some_and(|comings| comings.len() >= EXECUTIONS_MAX) {
            let value = EXECUTIONS_MAX as u64;
            return Err(UnrollError::TooLarge {
                limit: "executions by a warp with computed masks",
                value,
                span,
            });
        }
        let group = kind.map_or(Group::Warp(warp, u32::MAX), |kind| Group::Exchange(warp, u32::MAX, kind));
        let guard = step.state.live;
        let position = self.next_position();
        let arrive = self.emit(guard, position, EventKind::BarrierArrive, step.site)?;
        let (_, passes) = self.graph.terms.fresh(1, UnknownKind::Passes);
        step.state.live = self.graph.terms.and(guard, passes);
        let passed = step.state.live;
        let wait = self.emit_next(passed, EventKind::BarrierWait, step.site)?;
        let asked = kind.map(|kind| {
            let width = exchange::result_width(kind);
            (source, self.graph.terms.fresh(width, UnknownKind::Exchanged).1)
        });
        let execution = Execution {
            group,
            agent: self.agent,
            guard,
            // Which is known once all masks are.
            generation: Generation::Static(0),
            form: Form::Sync,
            count: None,
            id: TermPool::FALSE,
            arrive,
            wait: Some((wait, passed)),
            position,
            span,
        };
        let coming = Coming { execution, mask, passed, wait, value, asked };
        self.open_masks.comings.entry((warp, kind)).or_default().push(coming);
        Ok(asked.map_or(TermPool::FALSE, |(_, result)| result))
    }

    /// Refuses what was run with a mask taken for a number that others of the warp have not.
    pub(in super::super) fn check_open_masks(&self) -> Result<(), UnrollError> {
        let masks = &self.open_masks;
        let Some(group) = masks.found.iter().find(|group| !masks.known.contains(group)) else {
            return Ok(());
        };
        let span = masks.comings.get(group).map_or(self.kernel.span, |comings| comings[0].execution.span);
        let message = "what lanes tell one another decides over and over which masks are numbers";
        Err(UnrollError::unsupported("unsupported::barrier-operand", message, span, "this mask"))
    }

    /// States who meets, and what that means, once all threads are there.
    pub(in super::super) fn state_open_masks(&mut self) {
        let all = std::mem::take(&mut self.open_masks.comings);
        let mut supports = Supports::default();
        for (&group, comings) in &all {
            let log = self.open_log(comings);
            let name = match group.1 {
                Some(kind) => format!("`{}` with the mask that was computed", kind.name()),
                None => "the warp barrier of the mask that was computed".to_owned(),
            };
            for (index, coming) in comings.iter().enumerate() {
                let together = self.together(&log, index, coming.mask);
                self.state_passing(coming, &together, &name);
                self.link_met(&log, (index, coming), &together, &mut supports);
                for event in [coming.execution.arrive, coming.wait] {
                    self.name_meeting(event, &name, Some(log.executions[index].generation));
                }
            }
            for (exchanged, result, value) in exchange::results(&mut self.graph, &log) {
                let holds = self.graph.terms.equal(result, value);
                let constraint = self.graph.terms.implies(comings[exchanged.execution].passed, holds);
                self.graph.terms.define(result, value, constraint);
                self.graph.constrain(constraint);
            }
        }
        self.open_masks.comings = all;
    }

    /// What these executions have done, as a log of barriers whose generations say the mask as well.
    fn open_log(&mut self, comings: &[Coming]) -> BarrierLog {
        let mut log = BarrierLog::default();
        // Masks that were told at one place are equal where their parts are, which are fewer bits.
        let parts: Vec<_> = comings.iter().map(|coming| self.active.part(coming.mask)).collect();
        let places: SortedSet<_> =
            parts.iter().map(|part| part.map(|(warp, site, _)| (warp, site))).collect();
        let ids: Vec<TermRef> = match (places.len(), parts.first()) {
            (1, Some(Some(_))) => parts.iter().flatten().map(|part| part.2).collect(),
            _ => comings.iter().map(|coming| coming.mask).collect(),
        };
        for (index, coming) in comings.iter().enumerate() {
            let terms = &mut self.graph.terms;
            let mut turn = terms.constant(0, 32);
            let one = terms.constant(1, 32);
            for (before, &id) in comings[..index].iter().zip(&ids) {
                let guard = coming.execution.guard;
                if before.execution.agent == coming.execution.agent
                    && !terms.excludes_syntactically(guard, before.execution.guard)
                {
                    let same = terms.equal(id, ids[index]);
                    let counts = terms.and(before.execution.guard, same);
                    let more = terms.binary(BinaryOp::Add, turn, one);
                    turn = terms.if_then_else(counts, more, turn);
                }
            }
            let (id, wide) = (terms.resize(ids[index], 64), terms.constant(32, 64));
            let id = terms.binary(BinaryOp::ShiftLeft, id, wide);
            let turn = terms.resize(turn, 64);
            let generation = Generation::Dynamic(terms.binary(BinaryOp::Or, id, turn));
            log.executions.push(Execution { generation, ..coming.execution });
            if let Some((source, result)) = coming.asked {
                let lane = self.graph.hierarchy.threads[coming.execution.agent].lane;
                log.exchanges.asked.push((Exchanged { execution: index, lane, source }, result));
                let brought = log.exchanges.brought.entry(coming.execution.group).or_default();
                brought.push((index, coming.value));
            }
        }
        log
    }

    /// Whom an execution waits for.
    fn together(&mut self, log: &BarrierLog, index: usize, mask: TermRef) -> Together {
        let own = log.executions[index];
        let warp = self.graph.hierarchy.warp_of(own.agent);
        let others: Vec<AgentId> =
            self.graph.hierarchy.lanes_of(warp).filter(|&agent| agent != own.agent).collect();
        let mut lanes = Vec::with_capacity(others.len());
        for agent in others {
            let lane = self.graph.hierarchy.threads[agent].lane;
            let is_named = self.bit(mask, lane);
            let mut ways = Vec::new();
            for other in log.executions.iter().filter(|other| other.agent == agent) {
                let same = own.generation.same(other.generation, &mut self.graph.terms);
                ways.push(self.graph.terms.and(other.guard, same));
            }
            let terms = &mut self.graph.terms;
            let has_come = terms.or_all(ways);
            // Who has exited is waited for no more, but at `bar.warp.sync` (BR-8).
            let exited = match own.group {
                Group::Exchange(..) => {
                    let not = terms.not(has_come);
                    let completed = self.graph.completed[agent];
                    self.graph.terms.and(completed, not)
                }
                _ => TermPool::FALSE,
            };
            lanes.push((agent, [is_named, has_come, exited]));
        }
        Together { lanes }
    }

    /// States that whoever gets through has met all that its mask names, and where it waits for ever.
    fn state_passing(&mut self, coming: &Coming, together: &Together, name: &str) {
        let terms = &mut self.graph.terms;
        let awaited: Arc<[(AgentId, TermRef)]> = together
            .lanes
            .iter()
            .map(|&(agent, [is_named, has_come, exited])| {
                let is_there = terms.or(has_come, exited);
                (agent, terms.implies(is_named, is_there))
            })
            .chain([(coming.execution.agent, coming.execution.guard)])
            .collect();
        let complete = terms.and_all(awaited.iter().map(|&(_, enough)| enough));
        self.graph.imply(coming.passed, complete);
        if !self.options.hangs {
            return;
        }
        let incomplete = self.graph.terms.not(complete);
        let stuck = self.graph.terms.and(coming.execution.guard, incomplete);
        let event = &self.graph.events[coming.wait];
        let (Some(site), iterations, calls) = (event.site, event.iterations.clone(), event.calls.clone())
        else {
            return;
        };
        if stuck != TermPool::FALSE {
            let wait = Wait::Barrier { site, name: name.to_owned(), awaited, any_of: None };
            let (agent, span) = (coming.execution.agent, coming.execution.span);
            self.graph.blocked.push(Blocked { agent, span, iterations, calls, stuck, wait });
        }
    }

    /// Links the arrivals of those that meet to a passage, and what those did before that have exited instead.
    fn link_met(
        &mut self,
        log: &BarrierLog,
        (index, coming): (usize, &Coming),
        together: &Together,
        supports: &mut Supports,
    ) {
        let own = log.executions[index];
        let relation = match own.group {
            Group::Exchange(..) => BaseRelation::ExitRelease,
            _ => BaseRelation::BarrierSynchronization,
        };
        for other in log.executions.iter().filter(|other| other.agent != own.agent) {
            let condition = own.generation.same(other.generation, &mut self.graph.terms);
            if condition != TermPool::FALSE {
                self.graph.edges.add(relation, Edge { from: other.arrive, to: coming.wait, condition });
            }
        }
        for &(agent, [is_named, _, exited]) in &together.lanes {
            let condition = self.graph.terms.and(is_named, exited);
            let together = self.graph.terms.and(coming.passed, condition);
            if together == TermPool::FALSE {
                continue;
            }
            let before = before_exit(&self.graph, agent, exited, supports);
            let edges = before.into_iter().map(|from| Edge { from, to: coming.wait, condition });
            self.graph.edges.add_all(BaseRelation::ExitRelease, edges);
        }
    }

    /// Notes for reports where lanes meet.
    pub(super) fn name_meeting(&mut self, event: EventId, name: &str, generation: Option<Generation>) {
        let generation = match generation {
            Some(Generation::Dynamic(term)) => Turn::Term(self.graph.terms.resize(term, 32)),
            Some(Generation::Static(number)) => Turn::Known(number),
            None => Turn::Known(0),
        };
        self.graph.meetings.insert(event, Meeting { name: name.into(), generation, is_of_cta: false });
    }
}
