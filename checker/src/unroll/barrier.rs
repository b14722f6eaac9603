//! Barriers: what a thread does at `bar`, `barrier` and `bar.warp.sync`.
//!
//! Which executions belong together is found by counting: the generation of an execution is the number of arrivals the
//! thread has made on that barrier before. Usually it is the same on every path and known here; all threads then share
//! one unknown per generation that says whether it completes. Otherwise the generation is a term, and each wait has an
//! unknown of its own. What completion means is stated once all threads are there (`completion`), and that counting
//! was right where `arrive` is used is checked then too (`reuse`).

mod aligned;
mod cluster;
mod completion;
mod elect;
mod loose;
mod misuse;
mod quorum;
mod registers;
mod reuse;

pub use aligned::{AlignedLog, contains_aligned};
pub use elect::ElectionResult;

use super::expression::Frame;
use super::{State, UnrollError, Unroller};
use crate::event::{
    AgentId, CtaId, EventId, EventKind, Misuse, SiteId, TermKind, TermPool, TermRef, UnknownKind,
};
use fencepost_dsl::Span;
use fencepost_dsl::kernel::program::{BarrierKind, BarrierReduction, BinaryOp, Expression};
use std::collections::{BTreeMap, BTreeSet};

/// Barriers of a CTA (BR-1).
const N_BARRIERS: u128 = 16;

/// What the executions that can meet have in common.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Group {
    /// A numbered barrier of a CTA.
    Cta(CtaId, u32),
    /// A named barrier instance of a litmus test; its executions meet if their ids are equal.
    ///
    /// With the id, where it is known: that is what the executions of a thread are counted by.
    Instance(CtaId, u32, Option<u32>),
    /// The barrier of a cluster.
    Cluster(u32),
    /// `bar.warp.sync` with one mask in one warp (of the launch).
    Warp(u32, u32),
    /// `elect.sync` with one mask in one warp.
    Election(u32, u32),
    /// `setmaxnreg` in one warp.
    Registers(u32),
}

/// How many arrivals on the group the thread has made before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Generation {
    Static(u32),
    /// 32 bits wide.
    Dynamic(TermRef),
}

/// Which form of the instruction.
#[derive(Clone, Copy, Debug)]
enum Form {
    Sync,
    Arrive,
    Reduce { op: BarrierReduction, predicate: TermRef, result: TermRef },
}

/// One dynamic instance of a barrier instruction.
#[derive(Clone, Copy, Debug)]
struct Execution {
    group: Group,
    agent: AgentId,
    guard: TermRef,
    generation: Generation,
    form: Form,
    /// Explicit thread count.
    count: Option<u32>,
    /// The id, 32 bits wide; known unless the barrier is an instance of a litmus test.
    id: TermRef,
    arrive: EventId,
    /// The passage and its guard.
    wait: Option<(EventId, TermRef)>,
    position: u32,
    span: Span,
}

/// All barrier executions, and what is known of the current thread's.
#[derive(Default)]
pub struct BarrierLog {
    executions: Vec<Execution>,
    /// Per group and static generation: whether it completes.
    passes: BTreeMap<(Group, u32), TermRef>,
    /// Per group, static generation and operation: the combined predicate.
    results: BTreeMap<(Group, u32, u8), TermRef>,
    /// Of the current thread, per group and static generation: the disjunction of its arrivals' guards.
    own: BTreeMap<Group, Vec<TermRef>>,
    /// Groups on which the current thread has executions of dynamic generation.
    own_dynamic: BTreeSet<Group>,
    /// Executions of `barrier.cluster.wait`.
    cluster_waits: Vec<cluster::ClusterWait>,
    registers: registers::RegisterLog,
    /// Per warp and mask of `elect.sync`: when each lane is the leader.
    leaders: BTreeMap<(u32, u32), Vec<(u32, TermRef)>>,
    /// Index of the current thread's first execution.
    own_first: usize,
    /// Arrivals that a choice puts before a thread's exit.
    before_exits: Vec<(EventId, AgentId, TermRef)>,
    /// Waits that a thread's exit lets through, and when.
    exit_releases: Vec<(AgentId, EventId, TermRef)>,
    /// Barriers of which counting does not say who meets, found out when the kernel was unrolled before.
    loose: BTreeSet<Group>,
    /// Of those, per warp and arrival: whether it gets through.
    loose_passes: BTreeMap<(Group, u32, u32), TermRef>,
}

impl BarrierLog {
    /// An empty log that knows which barriers are loose.
    pub fn new(loose: BTreeSet<Group>) -> Self {
        Self { loose, ..Self::default() }
    }
    /// Whether other barriers turned out to be loose.
    pub fn is_loose_like(&self, loose: &BTreeSet<Group>) -> bool {
        self.loose == *loose
    }
    /// Forgets what is known of the previous thread.
    pub fn start_thread(&mut self) {
        self.own.clear();
        self.own_dynamic.clear();
        self.own_first = self.executions.len();
        self.registers.start_thread();
    }
}

impl Unroller<'_> {
    /// Runs `bar` or `barrier`.
    pub(super) fn barrier(
        &mut self,
        state: &mut State,
        frame: &Frame<'_>,
        site: SiteId,
        (kind, id, count): (&BarrierKind, &Expression, Option<&Expression>),
        (aligned, instance): (bool, Option<u32>),
    ) -> Result<(), UnrollError> {
        let cta = self.graph.hierarchy.cta_of(self.agent);
        let (group, id) = match instance {
            Some(instance) => {
                let id = self.evaluate(&state.env, frame, id)?;
                let number =
                    self.graph.terms.constant_value(id).map(|id| u32::try_from(id).unwrap_or(u32::MAX));
                (Group::Instance(cta, instance, number), id)
            }
            None => match self.numbered(state, frame, id)? {
                Some(known) => known,
                None => return Ok(()),
            },
        };
        let count = match count {
            Some(operand) => {
                let value = self.constant_operand(state, frame, operand, "thread count")?;
                let count = u32::try_from(value).unwrap_or(u32::MAX);
                let of_cta = self.graph.hierarchy.launch_of(self.agent).warps.saturating_mul(32);
                if instance.is_none() && (count % 32 != 0 || count == 0 || count > of_cta) {
                    let misuse = Misuse {
                        code: "barrier::bad-count",
                        rule: "UB-B2",
                        what: format!(
                            "names {count} threads at a barrier: a count is a multiple of 32, and this CTA has {of_cta}"
                        ),
                        help: "count whole warps (32 each), and no more than the launch has",
                    };
                    self.never(state, misuse, operand.span);
                    return Ok(());
                }
                Some(count)
            }
            None => None,
        };
        let generation = self.generation(group, state.live);
        let form = match kind {
            BarrierKind::Sync => Form::Sync,
            BarrierKind::Arrive => Form::Arrive,
            BarrierKind::Reduce { destination, op, predicate } => {
                let predicate = self.evaluate(&state.env, frame, predicate)?;
                let result = self.barrier_result(group, generation, *op);
                let value = self.graph.terms.resize(result, frame.width(*destination));
                state.env.set(*destination, value);
                Form::Reduce { op: *op, predicate, result }
            }
        };
        self.execute(state, site, (group, generation), form, (id, count))?;
        if aligned && let Some(&Execution { guard, arrive, .. }) = self.barriers.executions.last() {
            self.log_aligned(guard, arrive);
        }
        Ok(())
    }

    /// The barrier that a number names.
    fn numbered(
        &mut self,
        state: &mut State,
        frame: &Frame<'_>,
        id: &Expression,
    ) -> Result<Option<(Group, TermRef)>, UnrollError> {
        let cta = self.graph.hierarchy.cta_of(self.agent);
        let id_value = self.constant_operand(state, frame, id, "barrier number")?;
        if id_value >= N_BARRIERS {
            let misuse = Misuse {
                code: "barrier::no-such-barrier",
                rule: "UB-B1",
                what: format!("uses barrier {id_value}: a CTA has barriers 0 to 15"),
                help: "compute a number below 16, or use an mbarrier",
            };
            self.never(state, misuse, id.span);
            return Ok(None);
        }
        let number = u32::try_from(id_value).unwrap_or(u32::MAX);
        Ok(Some((Group::Cta(cta, number), self.graph.terms.constant(id_value, 32))))
    }

    /// Runs `bar.warp.sync`.
    pub(super) fn warp_sync(
        &mut self,
        state: &mut State,
        frame: &Frame<'_>,
        site: SiteId,
        mask: &Expression,
    ) -> Result<(), UnrollError> {
        let Some(value) = self.own_mask(state, frame, mask, ("bar.warp.sync", "UB-W1"))? else {
            return Ok(());
        };
        let group = Group::Warp(self.graph.hierarchy.warp_of(self.agent), value);
        let generation = self.generation(group, state.live);
        self.execute(state, site, (group, generation), Form::Sync, (TermPool::FALSE, None))
    }

    /// A mask that has the executing lane in it; `None` if it has not, which ends the path.
    fn own_mask(
        &mut self,
        state: &mut State,
        frame: &Frame<'_>,
        mask: &Expression,
        (opcode, rule): (&str, &'static str),
    ) -> Result<Option<u32>, UnrollError> {
        let value = self.constant_operand(state, frame, mask, "lane mask")?;
        let value = u32::try_from(value).unwrap_or(u32::MAX);
        let lane = self.graph.hierarchy.threads[self.agent].lane;
        if value >> lane & 1 == 1 {
            return Ok(Some(value));
        }
        let misuse = Misuse {
            code: "barrier::lane-not-in-mask",
            rule,
            what: format!("executes `{opcode}` with mask {value:#x}, which leaves out its lane {lane}"),
            help: "let exactly the lanes of the mask execute it; compute the mask before the branch that divides them",
        };
        self.never(state, misuse, mask.span);
        Ok(None)
    }

    fn constant_operand(
        &mut self,
        state: &State,
        frame: &Frame<'_>,
        operand: &Expression,
        what: &str,
    ) -> Result<u128, UnrollError> {
        let value = self.evaluate(&state.env, frame, operand)?;
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
        state: &mut State,
        site: SiteId,
        instance: (Group, Generation),
        form: Form,
        operands: (TermRef, Option<u32>),
    ) -> Result<(), UnrollError> {
        self.run_barrier(state, site, instance, form, operands, EventKind::BarrierArrive)
    }

    /// Logs an arrival that does not wait.
    fn log_arrival(
        &mut self,
        state: &mut State,
        site: SiteId,
        instance: (Group, Generation),
        form: Form,
        kind: EventKind,
    ) -> Result<(), UnrollError> {
        self.run_barrier(state, site, instance, form, (TermPool::FALSE, None), kind)
    }

    fn run_barrier(
        &mut self,
        state: &mut State,
        site: SiteId,
        (group, generation): (Group, Generation),
        form: Form,
        (id, count): (TermRef, Option<u32>),
        kind: EventKind,
    ) -> Result<(), UnrollError> {
        let guard = state.live;
        let span = self.graph.sites[site].span;
        let position = self.next_position();
        let arrive = self.emit(guard, position, kind, site)?;
        let wait = if matches!(form, Form::Arrive) {
            None
        } else {
            let passes = self.passes(group, generation);
            state.live = self.graph.terms.and(guard, passes);
            let wait = self.emit_next(state.live, EventKind::BarrierWait, site)?;
            Some((wait, state.live))
        };
        let agent = self.agent;
        let execution =
            Execution { group, agent, guard, generation, form, count, id, arrive, wait, position, span };
        self.barriers.executions.push(execution);
        match generation {
            Generation::Static(k) => {
                let own = self.barriers.own.entry(group).or_default();
                match own.get_mut(k as usize) {
                    Some(union) => *union = self.graph.terms.or(*union, guard),
                    None => own.push(guard),
                }
            }
            Generation::Dynamic(_) => {
                self.barriers.own_dynamic.insert(group);
            }
        }
        Ok(())
    }

    /// The number of arrivals the current thread has made on the group when it gets here.
    fn generation(&mut self, group: Group, guard: TermRef) -> Generation {
        let terms = &mut self.graph.terms;
        if !self.barriers.own_dynamic.contains(&group) {
            let earlier = self.barriers.own.get(&group).map_or(&[][..], Vec::as_slice);
            let n_made = earlier.iter().take_while(|&&union| entails(terms, guard, union)).count();
            if earlier[n_made..].iter().all(|&union| terms.excludes_syntactically(guard, union)) {
                return Generation::Static(u32::try_from(n_made).unwrap_or(u32::MAX));
            }
        }
        let mut total = terms.constant(0, 32);
        let (zero, one) = (total, terms.constant(1, 32));
        for earlier in &self.barriers.executions[self.barriers.own_first..] {
            if earlier.group == group && !terms.excludes_syntactically(guard, earlier.guard) {
                let made = terms.if_then_else(earlier.guard, one, zero);
                total = terms.binary(BinaryOp::Add, total, made);
            }
        }
        Generation::Dynamic(total)
    }

    fn passes(&mut self, group: Group, generation: Generation) -> TermRef {
        let warp = self.graph.hierarchy.warp_of(self.agent);
        let terms = &mut self.graph.terms;
        match generation {
            Generation::Static(k) if self.barriers.loose.contains(&group) => *self
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
                .passes
                .entry((group, k))
                .or_insert_with(|| terms.fresh(1, UnknownKind::Passes).1),
            Generation::Dynamic(_) => terms.fresh(1, UnknownKind::Passes).1,
        }
    }

    fn barrier_result(&mut self, group: Group, generation: Generation, op: BarrierReduction) -> TermRef {
        let terms = &mut self.graph.terms;
        let width = if op == BarrierReduction::Popc { 32 } else { 1 };
        match generation {
            Generation::Static(k) => *self
                .barriers
                .results
                .entry((group, k, op as u8))
                .or_insert_with(|| terms.fresh(width, UnknownKind::BarrierResult).1),
            Generation::Dynamic(_) => terms.fresh(width, UnknownKind::BarrierResult).1,
        }
    }
}

/// A place at which a thread arrives: who, where in program order, and when.
pub type Arrival = (AgentId, u32, TermRef);

/// The arrivals of each thread.
type PerThread = BTreeMap<AgentId, Vec<Arrival>>;

/// A thread's way through a barrier, for those who ask what it knows afterwards.
pub struct PassedBarrier {
    pub agent: AgentId,
    pub position: u32,
    /// 1 iff the thread got through.
    pub guard: TermRef,
    /// Per thread that must have arrived: the places (thread, position, guard) at which it may have.
    pub arrivals: Vec<Vec<Arrival>>,
}

impl Unroller<'_> {
    /// All passages through barriers whose generation is known.
    pub(super) fn passed_barriers(&self) -> Vec<PassedBarrier> {
        let mut arrivals: BTreeMap<(Group, u32), PerThread> = BTreeMap::new();
        for execution in &self.barriers.executions {
            if let Generation::Static(k) = execution.generation {
                arrivals.entry((execution.group, k)).or_default().entry(execution.agent).or_default().push((
                    execution.agent,
                    execution.position,
                    execution.guard,
                ));
            }
        }
        // Whoever may exit instead of arriving brings nothing.
        let must_arrive = |places: &[Arrival]| {
            places
                .iter()
                .any(|&(agent, _, guard)| entails(&self.graph.terms, self.graph.completed[agent], guard))
        };
        let needed = |group: Group, k: u32| -> Vec<Vec<Arrival>> {
            let of_group = arrivals.get(&(group, k));
            of_group
                .into_iter()
                .flat_map(BTreeMap::values)
                .filter(|places| must_arrive(places))
                .cloned()
                .collect()
        };
        let mut passed = Vec::new();
        for execution in &self.barriers.executions {
            if let (Some((_, guard)), Generation::Static(k)) = (execution.wait, execution.generation)
                && !matches!(execution.group, Group::Instance(..) | Group::Election(..) | Group::Registers(_))
                && !self.barriers.loose.contains(&execution.group)
            {
                let (agent, position) = (execution.agent, execution.position);
                passed.push(PassedBarrier { agent, position, guard, arrivals: needed(execution.group, k) });
            }
        }
        for wait in &self.barriers.cluster_waits {
            passed.push(PassedBarrier {
                agent: wait.agent,
                position: wait.position,
                guard: wait.passed,
                arrivals: needed(Group::Cluster(wait.cluster), wait.generation),
            });
        }
        passed
    }
}

/// Whether `guard` visibly implies `union`: each of its conjuncts, or a member of a conjunct that is a disjunction.
fn entails(terms: &TermPool, guard: TermRef, union: TermRef) -> bool {
    terms.implies_syntactically(guard, union)
        || terms.conjuncts(union).iter().all(|&conjunct| match terms.kind(conjunct) {
            TermKind::Or(members) => {
                terms.implies_syntactically(guard, conjunct)
                    || members.iter().any(|&member| terms.implies_syntactically(guard, member))
            }
            _ => terms.implies_syntactically(guard, conjunct),
        })
}

fn with_rule(error: UnrollError, rule: &'static str) -> UnrollError {
    match error {
        UnrollError::Unsupported(diagnostic) => UnrollError::Unsupported(diagnostic.with_rule(rule)),
        other => other,
    }
}
