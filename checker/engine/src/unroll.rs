//! Unrolling: a kernel, a launch and a loop bound become an event graph.
//!
//! Every thread is executed symbolically on its own. A path is a guard (a conjunction of everything that was decided on
//! the way) and an environment of register values; branches run both sides and join. Reads return fresh unknowns: which
//! write feeds them is the business of later passes. Whether a thread gets past a blocking instruction is an unknown, too;
//! what it needs for that is stated by `synchronization`, from the logs of all threads.
//!
//! Cannot: loops without end are cut at the bound (and say so); recursion does not occur.

mod access;
mod asynchronous;
mod barrier;
mod checkpoint;
mod claims;
mod cta_wait;
mod dump;
mod env;
mod expression;
mod flat;
mod forward;
mod hang;
mod host;
mod live;
mod loops;
mod mbarrier;
mod multimem;
mod options;
mod past;
mod same_store;
mod spa;
mod statement;
mod told;
mod wait;

pub use crate::synchronization::mbarrier::MbarrierEncoding;
pub use dump::dump;
pub use hang::unpromised;
pub use live::registers_of;
pub use options::UnrollOptions;

use crate::event::{
    AgentId, CtaId, Event, EventGraph, EventId, EventKind, GraphBuilder, GraphError, Hierarchy, InstanceName,
    Location, LocationId, MbarrierId, Role, Site, SiteId, TermPool, TermRef, UnknownKind,
};
use crate::synchronization::barrier::loose_barriers;
use crate::synchronization::exchange::ResultKey;
use crate::synchronization::log::{Group, MbarrierLog};
use crate::synchronization::{self, Logs, lifetime};
use crate::work::{self, Work};
use asynchronous::AsyncLog;
use barrier::{ActiveLog, Alignment, BarrierRecorder, Doing, Doings, OpenGroup, OpenMasks, contains_aligned};
pub use barrier::{Election, Leaders, elects, representatives};
use cta_wait::CtaWaits;
use env::Env;
use expression::Frame;
use fencepost_dsl::index::Id as _;
use fencepost_dsl::kernel::program::{
    AccessOp, Instruction, InstructionKind, Kernel, Launch, ObjectId, PartId, Program, RegisterId, StorageId,
};
use fencepost_dsl::sorted::{SortedMap, SortedSet};
use fencepost_dsl::vocabulary::{Replication, Space};
use fencepost_dsl::{IndexVec, Span};
use forward::Forwarding;
use hang::LastTry;
use host::HostLog;
use indexmap::IndexMap;
use live::Live;
use past::Decision;
use rustc_hash::FxHashMap;
use wait::Effect;

/// Why a kernel has not been unrolled.
pub type UnrollError = GraphError;

/// Most threads of a launch.
pub const MAX_THREADS: u64 = 65_536;

/// Unrolls `kernel` for `launch`.
pub fn unroll(
    program: &Program,
    kernel: &Kernel,
    launch: &Launch,
    options: &UnrollOptions,
) -> Result<EventGraph, UnrollError> {
    let n_threads = host::launched(program, kernel, launch)
        .into_iter()
        .fold(0u64, |sum, (_, launch)| sum.saturating_add(n_threads(launch)));
    if n_threads > MAX_THREADS {
        return Err(UnrollError::TooLarge { limit: "threads", value: MAX_THREADS, span: launch.span });
    }
    let (mut never_forwarded, mut may_be_full) = (SortedSet::new(), SortedSet::new());
    let off = UnrollOptions { forwarding: false, ..options.clone() };
    let mut n_runs = 0;
    loop {
        let options = if n_runs < RUNS_MAX { options } else { &off };
        let known = || Known {
            never_forwarded: never_forwarded.clone(),
            may_be_full: may_be_full.clone(),
            ..Known::default()
        };
        let (mut unroller, parameters) = learnt((program, kernel, launch), options, known)?;
        let wrong = unroller.misforwarded();
        if wrong.is_empty() {
            unroller.check_open_masks()?;
            unroller.settle_cta_waits();
            let learnt = unroller.finish()?;
            if !learnt.is_empty() {
                may_be_full.extend(learnt);
                continue;
            }
            unroller.evaluate_finals(&parameters)?;
            unroller.evaluate_condition(&parameters)?;
            unroller.graph.n_forwarded = unroller.forwarding.n_forwarded();
            return Ok(unroller.graph.finish());
        }
        n_runs += 1;
        never_forwarded.extend(wrong);
    }
}

/// Runs all threads until nothing more is learnt from it.
fn learnt<'a>(
    (program, kernel, launch): (&'a Program, &'a Kernel, &Launch),
    options: &'a UnrollOptions,
    known: impl Fn() -> Known,
) -> Result<(Unroller<'a>, Env), UnrollError> {
    let (mut unroller, mut parameters) = run(program, kernel, launch, options, known())?;
    for _ in 0..RUNS_MAX {
        let (exchanged, masks) = (unroller.exchanged_numbers(), &unroller.open_masks);
        if exchanged.len() == unroller.barriers.log.exchanges.known.len() && masks.found == masks.known {
            break;
        }
        let known = Known { exchanged, open: masks.found.clone(), ..known() };
        (unroller, parameters) = run(program, kernel, launch, options, known)?;
    }
    let loose = loose_barriers(&unroller.graph.hierarchy, &unroller.barriers.log);
    let exchanged = unroller.barriers.log.exchanges.known.clone();
    let open = unroller.open_masks.known.clone();
    let writers = spa::writers(&unroller.graph);
    let known = Known { loose, writers, exchanged, open, ..known() };
    let has_learnt = unroller.barriers.log.loose != known.loose;
    if has_learnt || known.writers.is_some() {
        (unroller, parameters) = run(program, kernel, launch, options, known)?;
    }
    Ok((unroller, parameters))
}

/// Most runs to learn something: what lanes get from one another, or which loads are not what a store has written. Of what is
/// made of that, each run shows one step.
const RUNS_MAX: usize = 8;

/// How many threads a launch has.
pub fn n_threads(launch: &Launch) -> u64 {
    match &launch.placement {
        Some(placement) => placement.len() as u64,
        None => [launch.gpus, launch.ctas, launch.warps, launch.lanes]
            .iter()
            .fold(1u64, |product, &n| product.saturating_mul(u64::from(n))),
    }
}

/// What a first run finds out for a second one.
#[derive(Default)]
struct Known {
    /// Barriers at which who meets is not a matter of counting.
    loose: SortedSet<Group>,
    /// Who writes what, if that matters.
    writers: Option<spa::Writers>,
    /// What lanes get from one another, where that is a number.
    exchanged: SortedMap<ResultKey, u128>,
    /// Mbarriers at which an arrival may be one too many.
    may_be_full: SortedSet<(LocationId, u32)>,
    /// Where lanes meet whose masks are no numbers.
    open: SortedSet<OpenGroup>,
    /// Loads of shared memory that are not known to return what one store has written.
    never_forwarded: SortedSet<forward::Reader>,
}

/// Runs all threads.
fn run<'a>(
    program: &'a Program,
    kernel: &'a Kernel,
    launch: &Launch,
    options: &'a UnrollOptions,
    known: Known,
) -> Result<(Unroller<'a>, Env), UnrollError> {
    let mut unroller = Unroller::new(program, kernel, launch, options);
    unroller.barriers = BarrierRecorder::new(known.loose);
    unroller.barriers.log.exchanges.known = known.exchanged;
    unroller.open_masks.known = known.open;
    unroller.writers = known.writers;
    unroller.may_be_full = known.may_be_full;
    unroller.forwarding = Forwarding::new(known.never_forwarded);
    let may_cancel = host::launched(program, kernel, launch)
        .into_iter()
        .any(|(kernel, launch)| asynchronous::may_cancel(program, kernel) && !launch.is_co_resident());
    if options.starts || may_cancel {
        let host = &unroller.host;
        lifetime::declare_starts(&mut unroller.graph, |grid| host.first_of_launch(grid));
    }
    let parameters = unroller.declare_parameters();
    if kernel.is_program {
        unroller.run_program(&parameters)?;
        return Ok((unroller, parameters));
    }
    for agent in unroller.graph.hierarchy.agents() {
        unroller.run_thread(agent, &parameters, TermPool::TRUE)?;
    }
    Ok((unroller, parameters))
}

/// One path through a thread.
#[derive(Clone, Debug)]
struct State {
    /// 1 iff the thread is on this path; `FALSE` once nothing can be.
    live: TermRef,
    /// Register values.
    env: Env,
}

/// An instruction that is being run.
struct Step<'s> {
    /// The path that gets to it.
    state: &'s mut State,
    /// What its operands stand for.
    frame: &'s Frame<'s>,
    /// Its place.
    site: SiteId,
}

impl Step<'_> {
    /// The same on another path.
    fn on<'t>(&'t self, state: &'t mut State) -> Step<'t> {
        Step { state, frame: self.frame, site: self.site }
    }
}

struct Unroller<'a> {
    program: &'a Program,
    /// What is checked: a kernel or a program.
    entry: &'a Kernel,
    /// What the current thread runs: `entry`, or a part of that program.
    kernel: &'a Kernel,
    part: Option<PartId>,
    options: &'a UnrollOptions,
    graph: GraphBuilder,
    host: HostLog,
    location_of: SortedMap<(Option<PartId>, StorageId, u32), LocationId>,
    site_of: FxHashMap<usize, SiteId>,
    /// Which registers matter where.
    live: Live,
    sites: IndexMap<Site, ()>,
    barriers: BarrierRecorder,
    /// What threads do, where somebody asks which lanes do the same.
    doings: Doings,
    /// Which lanes execute `activemask` together.
    active: ActiveLog,
    /// Where lanes meet whose masks are no numbers.
    open_masks: OpenMasks,
    aligned: Alignment,
    mbarriers: MbarrierLog,
    mbarrier_of: SortedMap<(LocationId, u32), MbarrierId>,
    asynchronous: AsyncLog,
    /// Mbarriers at which an arrival may be one too many, since an earlier run has not shown that none is.
    may_be_full: SortedSet<(LocationId, u32)>,
    final_values: SortedMap<(LocationId, u32, u32), TermRef>,
    /// The registers of each thread at its end, where it gets there without `exit`.
    last_envs: Vec<Env>,
    steps: u64,
    // The thread being run.
    agent: AgentId,
    position: u32,
    iterations: Vec<u32>,
    /// The calls that it is in, outermost first.
    calls: Vec<Span>,
    role: Role,
    /// Whether the spin loop being run does nothing but one mbarrier wait.
    is_pure_wait: bool,
    /// What values that nobody computes are made of.
    applications: same_store::Applications,
    /// Set while a spin loop's try is run on final memory: it leaves no event.
    last_try: Option<LastTry>,
    /// What holds of a path because it is past a wait, or since it has kept a rule: nothing that lanes part ways by.
    past_waits: Vec<TermRef>,
    /// What the address of the instruction being run is the address of, where that was chosen.
    target: Option<flat::Target>,
    /// Path conditions of `exit`.
    exits: Vec<TermRef>,
    /// Per enclosing loop, the paths that broke out of it.
    breaks: Vec<Vec<State>>,
    /// What the thread does only because of what it has read, until all its events are known.
    decisions: Vec<Decision>,
    /// How often the thread has come past what may have kept it for ever.
    n_blocking: usize,
    /// Which loops their registers end.
    ending: past::Memo,
    /// Where the thread does something that has an effect besides memory and registers.
    effects: Vec<Effect>,
    /// Loops that threads of a CTA go round together.
    cta_waits: CtaWaits,
    /// Whether only paths to the end of what is run are looked at, so that it does not matter where others end.
    completes: bool,
    /// Who writes what, once that is known and matters (see [`spa`]).
    writers: Option<spa::Writers>,
    /// Which loads of shared memory return what.
    forwarding: Forwarding,
    /// A register without value that was read: only in a loop that turns out not to be a wait.
    missing_register: Option<RegisterId>,
}

impl<'a> Unroller<'a> {
    fn new(program: &'a Program, kernel: &'a Kernel, launch: &Launch, options: &'a UnrollOptions) -> Self {
        let (host, grids) = HostLog::new(kernel);
        let hierarchy =
            if kernel.is_program { Hierarchy::of_program(launch, grids) } else { Hierarchy::new(launch) };
        let completed = IndexVec::repeat(TermPool::FALSE, hierarchy.n_threads());
        let graph = EventGraph { completed, ..EventGraph::of(hierarchy) };
        let aligned = host::launched(program, kernel, launch)
            .into_iter()
            .any(|(kernel, launch)| launch.lanes > 1 && contains_aligned(program, kernel));
        let mut unroller = Self {
            program,
            entry: kernel,
            kernel,
            part: None,
            options,
            graph: GraphBuilder::new(graph, options.max_events, options.allowance.clone(), kernel.span),
            host,
            location_of: SortedMap::new(),
            site_of: FxHashMap::default(),
            live: Live::new(program, kernel),
            sites: IndexMap::new(),
            barriers: BarrierRecorder::default(),
            doings: Doings { is_on: options.notes_doings, ..Doings::default() },
            active: ActiveLog::default(),
            open_masks: OpenMasks::default(),
            aligned: Alignment::new(aligned),
            mbarriers: MbarrierLog::default(),
            mbarrier_of: SortedMap::new(),
            asynchronous: AsyncLog::default(),
            may_be_full: SortedSet::new(),
            final_values: SortedMap::new(),
            last_envs: Vec::new(),
            steps: 0,
            agent: AgentId(0),
            position: 0,
            iterations: Vec::new(),
            calls: Vec::new(),
            role: Role::Plain,
            is_pure_wait: false,
            applications: same_store::Applications::default(),
            last_try: None,
            past_waits: Vec::new(),
            target: None,
            exits: Vec::new(),
            breaks: Vec::new(),
            decisions: Vec::new(),
            n_blocking: 0,
            ending: past::Memo::default(),
            completes: false,
            effects: Vec::new(),
            cta_waits: CtaWaits::default(),
            writers: None,
            forwarding: Forwarding::default(),
            missing_register: None,
        };
        unroller.declare_locations();
        unroller
    }

    /// One location per global storage (per device, if it is symmetric), one per CTA and shared storage; in a program, of
    /// each kernel that it launches.
    fn declare_locations(&mut self) {
        let n_common = self.program.n_common;
        if !self.entry.is_program {
            let (ctas, threads) = (
                0..self.graph.hierarchy.n_ctas(),
                0..u32::try_from(self.graph.hierarchy.n_threads()).unwrap_or(0),
            );
            self.declare_storages(None, self.entry, 0, &(ctas.collect(), threads.collect()));
            return;
        }
        self.declare_storages(None, self.entry, 0, &(Vec::new(), Vec::new()));
        for (part, kernel) in self.program.parts.iter_enumerated() {
            let hierarchy = &self.graph.hierarchy;
            let mut instances = (Vec::new(), Vec::new());
            for grid in hierarchy.grids().ids().filter(|&grid| self.part_of(grid) == Some(part)) {
                instances.0.extend(hierarchy.ctas_of_grid(grid).map(|cta| cta.0));
                instances.1.extend(hierarchy.threads_of_grid(grid).map(|agent| agent.0));
            }
            self.declare_storages(Some(part), kernel, n_common, &instances);
        }
    }

    /// The locations of a kernel's storages from some of them on, which `ctas` and `threads` have instances of.
    fn declare_storages(
        &mut self,
        part: Option<PartId>,
        kernel: &Kernel,
        from: usize,
        (ctas, threads): &(Vec<u32>, Vec<u32>),
    ) {
        let devices: Vec<u32> = (0..self.graph.hierarchy.n_gpus()).collect();
        for (id, storage) in kernel.storages.iter_enumerated().skip(from) {
            let object = kernel.objects.iter().find(|object| object.storage == id);
            let name = object.map_or_else(|| format!("storage {}", id.0), |object| object.name.clone());
            let instances: &[u32] = match storage.space {
                Space::Shared | Space::Tensor => ctas,
                Space::Register => threads,
                Space::Global if storage.is_symmetric => &devices,
                Space::Global | Space::Param => &[0],
            };
            let multimem = self.multimem_mappings(kernel, id);
            let mut of_kernel = String::new();
            if part.is_some() && matches!(storage.space, Space::Global | Space::Param) {
                of_kernel = format!(" of {}", kernel.name);
            }
            for &instance in instances {
                let which = match storage.space {
                    Space::Global if instances.len() > 1 => format!("{of_kernel} of gpu {instance}"),
                    Space::Register if instances.len() > 1 => {
                        format!("{of_kernel} of {}", self.graph.hierarchy.describe(AgentId(instance)))
                    }
                    Space::Shared | Space::Tensor if instances.len() > 1 || part.is_some() => {
                        format!("{of_kernel} of {}", self.cta_name(CtaId(instance)))
                    }
                    _ => of_kernel.clone(),
                };
                let name = InstanceName::new(&name, &which);
                let location = self.graph.locations.push(Location {
                    storage: id,
                    name,
                    is_register: storage.space == Space::Register,
                    multimem: multimem.clone(),
                    is_tensor: storage.space == Space::Tensor,
                    size_bytes: storage.size_bytes,
                    initial: storage.initial.clone(),
                    cta: (storage.space == Space::Shared).then_some(CtaId(instance)),
                });
                self.location_of.insert((part, id, instance), location);
            }
        }
    }

    /// The virtual mappings of a storage of a kernel that are multimem addresses; of memory that kernels have in common, in
    /// any of them.
    fn multimem_mappings(&self, kernel: &Kernel, storage: StorageId) -> Vec<u32> {
        let is_common = storage.index() < self.program.n_common;
        let others = self.program.parts.iter().filter(|_| is_common);
        let objects = others.chain([kernel]).flat_map(|kernel| kernel.objects.iter());
        let mappings: SortedSet<u32> = objects
            .filter(|object| object.storage == storage && object.replication == Replication::Multimem)
            .map(|object| object.mapping)
            .collect();
        mappings.into_iter().collect()
    }

    /// An instance of the storage of an object of the current kernel.
    fn instance(&self, object: ObjectId, instance: u32) -> LocationId {
        let storage = self.kernel.objects[object].storage;
        let part = self.part.filter(|_| storage.index() >= self.program.n_common);
        self.location_of[&(part, storage, instance)]
    }

    fn cta_name(&self, cta: CtaId) -> String {
        self.graph.hierarchy.describe_cta(cta)
    }

    /// The parameters as unknowns, in the environment every thread starts with.
    fn declare_parameters(&mut self) -> Env {
        let mut env = Env::default();
        for parameter in &self.kernel.parameters {
            let range = (u128::from(parameter.min), u128::from(parameter.max));
            let width = self.kernel.registers[parameter.register].width;
            let (unknown, value) = self.graph.fresh_in_range(width, range, UnknownKind::Parameter);
            self.graph.parameters.push((parameter.name.clone(), unknown));
            env.set(parameter.register, value);
        }
        env
    }

    /// Runs a thread that is there iff `present`, and its cluster has started.
    fn run_thread(&mut self, agent: AgentId, parameters: &Env, present: TermRef) -> Result<(), UnrollError> {
        self.agent = agent;
        self.position = 0;
        self.iterations.clear();
        self.calls.clear();
        self.role = Role::Plain;
        self.exits.clear();
        self.breaks.clear();
        self.effects.clear();
        self.collect_arrivals();
        self.barriers.start_thread();
        self.asynchronous.start_thread();
        let first = self.graph.events.next_id();
        let frame = Frame::of_kernel(self.kernel);
        let started = self.graph.started(agent);
        let live = self.graph.terms.and(started, present);
        let mut state = State { live, env: parameters.clone() };
        self.fill_registers(&mut state);
        self.run(&mut state, &frame, &self.kernel.body)?;
        self.reach_end(&state);
        self.finish_decisions(first);
        self.check_registers(self.kernel.span)?;
        // From the last end backwards, so that neighbours differ in their last decision only and cancel.
        let exits = std::mem::take(&mut self.exits);
        let completed =
            exits.into_iter().rev().fold(state.live, |ended, exit| self.graph.terms.or(exit, ended));
        self.graph.completed[agent] = completed;
        if self.kernel.condition.is_some() {
            self.last_envs.push(state.env);
        }
        Ok(())
    }

    /// States what the threads do together.
    /// States what the threads do together; or says at which mbarriers an arrival may be one too many, which is to be known before
    /// they are run.
    fn finish(&mut self) -> Result<SortedSet<(LocationId, u32)>, UnrollError> {
        self.state_active_masks();
        self.state_open_masks();
        let logs = Logs {
            barriers: &self.barriers.log,
            aligned: &self.aligned.log,
            mbarriers: &mut self.mbarriers,
            allocations: self.asynchronous.allocations(),
            grids: self.host.started(),
        };
        let &UnrollOptions { hangs, mbarrier_encoding, phase_choices_max, never_full, .. } = self.options;
        let options = synchronization::Options { hangs, mbarrier_encoding, phase_choices_max, never_full };
        let learnt = synchronization::finish(&mut self.graph, logs, options)?;
        self.relate_same_stores();
        Ok(learnt)
    }

    /// The front end promises that every register is assigned before it is read; a broken promise must not become a
    /// verdict.
    fn check_registers(&self, span: Span) -> Result<(), UnrollError> {
        if self.missing_register.is_none() {
            return Ok(());
        }
        let message = format!("kernel `{}` reads a register that was not assigned", self.kernel.name);
        Err(UnrollError::unsupported("unsupported::unassigned-register", message, span, "in this kernel"))
    }

    /// Counts one executed statement.
    fn step(&mut self, span: Span) -> Result<(), UnrollError> {
        self.steps += 1;
        work::count(Work::Statement, 1);
        if self.steps.is_multiple_of(64)
            && let Some(what) = self.options.allowance.used_up()
        {
            return Err(UnrollError::Stopped(what));
        }
        if self.steps > self.options.max_steps {
            return Err(UnrollError::TooLarge { limit: "steps", value: self.options.max_steps, span });
        }
        Ok(())
    }

    fn next_position(&mut self) -> u32 {
        let position = self.position;
        self.position += 1;
        position
    }

    /// An event of the current thread, after all before it.
    fn emit_next(&mut self, guard: TermRef, kind: EventKind, site: SiteId) -> Result<EventId, UnrollError> {
        let position = self.next_position();
        self.emit(guard, position, kind, site)
    }

    fn emit(
        &mut self,
        guard: TermRef,
        position: u32,
        kind: EventKind,
        site: SiteId,
    ) -> Result<EventId, UnrollError> {
        self.emit_for(self.agent, guard, position, kind, site)
    }

    /// An event of the current thread or of an operation that it started.
    fn emit_for(
        &mut self,
        agent: AgentId,
        guard: TermRef,
        position: u32,
        kind: EventKind,
        site: SiteId,
    ) -> Result<EventId, UnrollError> {
        let event = self.graph.emit(Event {
            agent: Some(agent),
            guard,
            position,
            kind,
            site: Some(site),
            iterations: self.iterations.clone(),
            calls: self.calls.clone(),
            role: self.role,
            decides: false,
        })?;
        self.doings.note(self.agent, Doing::Event(event));
        Ok(event)
    }

    /// Whether the code that runs is compiled.
    fn is_compiled(&self) -> bool {
        self.kernel.flat.is_some()
    }

    fn site(&mut self, span: Span, instruction: &Instruction, frame: &Frame<'_>) -> SiteId {
        let key = std::ptr::from_ref(instruction) as usize;
        if let Some(&site) = self.site_of.get(&key) {
            return site;
        }
        let operand = self.operand_text(instruction, frame);
        let is_compiled = self.is_compiled();
        let is_unread = is_compiled
            && instruction.results.iter().all(Option::is_none)
            && matches!(instruction.kind, InstructionKind::Access(AccessOp::Load { .. }));
        let text = instruction.text.clone();
        let id = self.intern_site(Site { span, text, operand, is_compiled, is_unread });
        self.site_of.insert(key, id);
        id
    }

    /// The same site for the same place and text.
    fn intern_site(&mut self, site: Site) -> SiteId {
        let (index, _) = self.sites.insert_full(site.clone(), ());
        if index == self.graph.sites.len() {
            self.graph.sites.push(site)
        } else {
            SiteId(u32::try_from(index).unwrap_or(u32::MAX))
        }
    }

    /// Splits a path on a condition; a side that cannot be taken is `FALSE` and the other keeps the guard as it is.
    fn split(&mut self, live: TermRef, condition: TermRef) -> (TermRef, TermRef) {
        let terms = &mut self.graph.terms;
        let yes = terms.and(live, condition);
        if yes == TermPool::FALSE {
            return (yes, live);
        }
        let not = terms.not(condition);
        let no = terms.and(live, not);
        if no == TermPool::FALSE { (live, no) } else { (yes, no) }
    }

    /// Joins two paths that exclude each other.
    fn join(&mut self, a: State, b: State) -> State {
        if a.live == TermPool::FALSE {
            return b;
        }
        if b.live == TermPool::FALSE {
            return a;
        }
        let terms = &mut self.graph.terms;
        // What `a` demands beyond `b` is false whenever `b` holds, or both would hold: it tells the two apart.
        let theirs = terms.conjuncts(b.live).to_vec();
        let own: Vec<TermRef> =
            terms.conjuncts(a.live).iter().copied().filter(|c| theirs.binary_search(c).is_err()).collect();
        let complement = own.iter().copied().find(|&c| {
            let not = terms.not(c);
            theirs.binary_search(&not).is_ok()
        });
        let apart = match complement.or_else(|| terms.split_by(a.live, b.live)) {
            Some(condition) => condition,
            None => terms.and_all(own),
        };
        let live = terms.or(a.live, b.live);
        let env = a.env.join(&b.env, |x, y| {
            if !self.options.paths {
                return terms.if_then_else(apart, x, y);
            }
            let (x, y) = (terms.known_where(a.live, x), terms.known_where(b.live, y));
            terms.if_then_else(apart, x, y)
        });
        State { live, env }
    }

    /// Joins paths that exclude each other, given in the order in which they split off; without any, the result is not
    /// live. From the last backwards, so that neighbours differ in their last decision only and the guard folds.
    fn join_all(&mut self, states: Vec<State>) -> State {
        let dead = State { live: TermPool::FALSE, env: Env::default() };
        states.into_iter().rev().fold(dead, |joined, state| self.join(joined, state))
    }
}
