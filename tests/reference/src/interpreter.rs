//! All runs of one thread, by replay: run the body with a script of choices, and where the script ends, try every option.

mod access;
mod asynchronous;
mod loops;
mod multimem;
mod past;
mod synchronization;

use super::event::{BarrierKey, Event, Kind, Misuse};
use super::expression::{Datum, Registers, evaluate, is_known};
use super::memory::Memory;
use super::meter::Meter;
use super::source::{self, Source};
use super::{Effort, TooLarge};
use access::{Reader, updated};
use asynchronous::Groups;
use fencepost_dsl::Span;
use fencepost_dsl::index::Id;
use fencepost_dsl::kernel::program::{
    AccessOp, BarrierKind, ExpressionKind, Instruction, InstructionKind, Kernel, Launch, ObjectId,
    ProxyFenceKind, Statement, StatementKind,
};
use fencepost_dsl::vocabulary::{FenceSem, ProxyFence, Scope, Sem};
use std::collections::{BTreeMap, BTreeSet};

/// A run of one thread, to its end or to an instruction where it blocks for good.
#[derive(Clone, Debug)]
pub struct Run {
    /// In program order.
    pub events: Vec<Event>,
    /// How it ends.
    pub end: End,
    /// Assertions that do not hold where the run comes to them.
    pub failed: BTreeSet<Span>,
}

/// How a run of a thread ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// The thread finished.
    Finished,
    /// It stands at a barrier, in its n-th generation there.
    AtBarrier(BarrierKey, u32),
    /// It stands at an `await`; whether it has tried.
    AtAwait {
        /// Whether it has.
        tried: bool,
    },
    /// It has gone round a loop without changing anything, and may go on to do so. The events of the part that would be
    /// repeated are marked ([`Event::is_repeated`]).
    Round {
        /// Whether that part is one round that leaves all registers as they were. Otherwise it is several rounds, or only
        /// registers are different that nobody reads: such a thread goes on for ever without standing still.
        is_still: bool,
    },
    /// It has gone round a loop so often that it is not followed any further.
    Cut,
    /// It did what has no meaning.
    Broken(Misuse),
}

impl Run {
    /// Writes whose value comes from a read.
    pub fn n_computed_writes(&self) -> usize {
        self.events.iter().filter(|event| event.is_write() && !event.dependencies.is_empty()).count()
    }
}

/// A thread's place.
#[derive(Clone, Debug)]
pub struct Thread {
    /// Position in the list of threads.
    pub index: usize,
    /// Device.
    pub gpu: u32,
    /// Cluster on the device.
    pub cluster: u32,
    /// CTA in the cluster.
    pub rank: u32,
    /// Warp in the CTA.
    pub warp: u32,
    /// Lane in the warp.
    pub lane: u32,
    /// The launch.
    pub launch: Launch,
}

impl Thread {
    /// The CTA, counted over the whole launch.
    pub fn cta(&self) -> u32 {
        self.peer_cta(self.rank)
    }
    /// The CTA of a rank in the thread's cluster, counted over the whole launch.
    pub fn peer_cta(&self, rank: u32) -> u32 {
        self.whole_cluster() * self.launch.cluster + rank
    }
    /// The cluster, counted over the whole launch.
    pub fn whole_cluster(&self) -> u32 {
        self.gpu * (self.launch.ctas / self.launch.cluster) + self.cluster
    }
}

/// All threads of a launch.
pub fn threads(launch: &Launch) -> Vec<Thread> {
    let mut threads = Vec::new();
    for gpu in 0..launch.gpus {
        for cluster in 0..launch.ctas / launch.cluster {
            for rank in 0..launch.cluster {
                for warp in 0..launch.warps {
                    for lane in 0..launch.lanes {
                        let index = threads.len();
                        threads.push(Thread {
                            index,
                            gpu,
                            cluster,
                            rank,
                            warp,
                            lane,
                            launch: launch.clone(),
                        });
                    }
                }
            }
        }
    }
    threads
}

/// How far branches are believed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Control {
    /// A branch is taken when its condition holds.
    Obeyed,
    /// Every branch on a read value is taken both ways: to find all values that may be read, no read may rule out a write,
    /// since not every branch is a dependency.
    Ignored,
}

/// All runs of `thread` in which each granule is read with one of its `values`.
pub fn runs(
    source: Source<'_>,
    thread: &Thread,
    memory: &Memory,
    values: &[BTreeMap<u64, usize>],
    control: Control,
    (effort, meter): (Effort, &Meter),
) -> Result<Vec<Run>, TooLarge> {
    let Effort { runs_max, rounds_max, .. } = effort;
    let read_in = source::registers_read(&[&source.kernel.body], None);
    let mut scripts: Vec<Vec<usize>> = vec![Vec::new()];
    let mut runs = Vec::new();
    let mut n_replays = 0;
    while let Some(script) = scripts.pop() {
        n_replays += 1;
        if n_replays > 20 * runs_max || runs.len() > runs_max {
            return Err(TooLarge);
        }
        let mut interpreter = Interpreter {
            source,
            kernel: source.kernel,
            thread,
            memory,
            values,
            control,
            rounds_max,
            script: &script,
            position: 0,
            registers: Registers::new(),
            references: Vec::new(),
            read_in: read_in.clone(),
            events: Vec::new(),
            failed: BTreeSet::new(),
            kept: None,
            arrivals: BTreeMap::new(),
            deciding: BTreeSet::new(),
            recent: BTreeSet::new(),
            past: BTreeSet::new(),
            branches: Vec::new(),
            may_block_later: false,
            has_arrived: false,
            statement: None,
            operation: None,
            multimem: None,
            groups: Groups::default(),
        };
        let result = interpreter.statements(&source.kernel.body);
        let failed = std::mem::take(&mut interpreter.failed);
        meter.spend(interpreter.events.len() + 1)?;
        match result {
            Err(Stop::Need { n_options }) => {
                for option in 0..n_options {
                    let mut longer = script.clone();
                    longer.push(option);
                    scripts.push(longer);
                }
            }
            Err(Stop::Impossible) => {}
            Err(Stop::Blocked(end)) => runs.push(Run { events: interpreter.events, end, failed }),
            Err(Stop::Break) => panic!("`break` outside of a loop"),
            Ok(()) | Err(Stop::Exit) => {
                interpreter.push(Event::new(Kind::Exit, Some(thread.index)));
                runs.push(Run { events: interpreter.events, end: End::Finished, failed });
            }
        }
    }
    Ok(runs)
}

/// Whether the thread may stay in this statement for good.
fn may_block(statement: &Statement, thread: &Thread) -> bool {
    match &statement.kind {
        StatementKind::If { condition, then, otherwise } => {
            let is_taken =
                is_known(condition).then(|| evaluate(condition, &Registers::new(), thread).value == 1);
            let any = |statements: &[Statement]| statements.iter().any(|s| may_block(s, thread));
            (is_taken != Some(false) && any(then)) || (is_taken != Some(true) && any(otherwise))
        }
        StatementKind::Instruction(instruction) => {
            matches!(
                instruction.kind,
                InstructionKind::Barrier { .. }
                    | InstructionKind::WarpSync { .. }
                    | InstructionKind::ClusterWait { .. }
            )
        }
        StatementKind::Await { .. } | StatementKind::While { .. } | StatementKind::Call { .. } => true,
        StatementKind::For { body, .. } => body.iter().any(|s| may_block(s, thread)),
        _ => false,
    }
}

/// Whether the thread may not come to what follows the statement.
fn may_exit(statement: &Statement) -> bool {
    match &statement.kind {
        StatementKind::If { then, otherwise, .. } => then.iter().chain(otherwise).any(may_exit),
        StatementKind::For { body, .. } => body.iter().any(may_exit),
        StatementKind::Exit | StatementKind::Break => true,
        _ => false,
    }
}

/// Why interpretation does not go on.
enum Stop {
    /// The script is too short: a choice among so many options is due.
    Need { n_options: usize },
    /// The script contradicts itself.
    Impossible,
    /// The thread stays here for good.
    Blocked(End),
    /// `exit`.
    Exit,
    /// `break`, up to the loop that it leaves.
    Break,
}

/// What a reference parameter stands for.
#[derive(Clone, Copy)]
struct Target {
    object: ObjectId,
    element: u32,
    instance: u32,
}

/// A branch on values read, taken one way.
struct Branch {
    /// The reads.
    reads: BTreeSet<usize>,
    /// What the other way stores for certain.
    elsewhere: Vec<Event>,
}

impl Branch {
    fn decides(&self, store: &Event) -> bool {
        let is_same = |other: &Event| {
            let place = |event: &Event| (event.location, event.mapping, event.proxy);
            let strength = |event: &Event| (event.strong, event.scope, event.release, event.of_atomic);
            place(other) == place(store) && strength(other) == strength(store) && other.values == store.values
        };
        !self.elsewhere.iter().any(is_same)
    }
}

struct Interpreter<'a> {
    source: Source<'a>,
    kernel: &'a Kernel,
    thread: &'a Thread,
    memory: &'a Memory,
    values: &'a [BTreeMap<u64, usize>],
    control: Control,
    /// Rounds of a loop that change something, at most.
    rounds_max: usize,
    script: &'a [usize],
    position: usize,
    /// Of the body or function at hand, like the two that follow.
    registers: Registers,
    references: Vec<Target>,
    /// The registers whose values matter.
    read_in: BTreeSet<usize>,
    events: Vec<Event>,
    failed: BTreeSet<Span>,
    /// Where rounds that change nothing start that the run has gone through and gone on.
    kept: Option<usize>,
    arrivals: BTreeMap<BarrierKey, u32>,
    /// Reads whose values decided that the thread is where it is.
    deciding: BTreeSet<usize>,
    /// Those among them that did since the round of the innermost loop began.
    recent: BTreeSet<usize>,
    /// Reads on which all that the thread does from now on depends.
    past: BTreeSet<usize>,
    /// The branches that it is in, or that it did not exit by.
    branches: Vec<Branch>,
    /// Whether something behind the statement at hand may block: only then does an exit there change what the thread
    /// comes to, since otherwise it finishes in any case.
    may_block_later: bool,
    /// Whether it has arrived at the cluster barrier and not waited since.
    has_arrived: bool,
    /// The statement at hand.
    statement: Option<Span>,
    /// The operation that the next events belong to.
    operation: Option<usize>,
    /// The device that a `multimem` instruction is at, and the position of its first access.
    multimem: Option<(u32, usize)>,
    groups: Groups,
}

impl Interpreter<'_> {
    fn choose(&mut self, n_options: usize) -> Result<usize, Stop> {
        let choice = self.script.get(self.position).copied().ok_or(Stop::Need { n_options })?;
        self.position += 1;
        Ok(choice)
    }

    fn push(&mut self, mut event: Event) -> usize {
        event.control.extend(&self.deciding);
        event.past.extend(&self.past);
        if event.is_write() {
            let deciding = self.branches.iter().filter(|branch| branch.decides(&event));
            let reads: Vec<usize> = deciding.flat_map(|branch| branch.reads.iter().copied()).collect();
            event.decided.extend(reads);
        }
        event.statement = self.statement;
        event.operation = self.operation;
        event.group = self.multimem.map(|(_, first)| first);
        self.events.push(event);
        self.events.len() - 1
    }

    fn statements(&mut self, statements: &[Statement]) -> Result<(), Stop> {
        let around = self.may_block_later;
        for (position, statement) in statements.iter().enumerate() {
            self.may_block_later =
                around || statements[position + 1..].iter().any(|s| may_block(s, self.thread));
            self.statement(statement)?;
        }
        self.may_block_later = around;
        Ok(())
    }

    fn statement(&mut self, statement: &Statement) -> Result<(), Stop> {
        match &statement.kind {
            StatementKind::Assign { register, value } => {
                let datum = evaluate(value, &self.registers, self.thread);
                self.registers.insert(register.index(), datum);
                Ok(())
            }
            StatementKind::Instruction(instruction) => {
                self.statement = Some(statement.span);
                self.instruction(instruction)
            }
            StatementKind::If { condition, then, otherwise } => {
                let condition = evaluate(condition, &self.registers, self.thread);
                let (around, around_recent) = (self.deciding.clone(), self.recent.clone());
                self.deciding.extend(&condition.reads);
                self.recent.extend(&condition.reads);
                let branches = || then.iter().chain(otherwise);
                let blocks = branches().any(|s| may_block(s, self.thread));
                let goes_on_anyway = !blocks && !branches().any(may_exit);
                if blocks || (!goes_on_anyway && self.may_block_later) {
                    for &read in &condition.reads {
                        self.events[read].decides = true;
                    }
                }
                let taken = if self.control == Control::Ignored && !condition.reads.is_empty() {
                    self.choose(2)? == 1
                } else {
                    condition.value == 1
                };
                let (taken, other) = if taken { (then, otherwise) } else { (otherwise, then) };
                let n_branches = self.branches.len();
                if !condition.reads.is_empty() {
                    let elsewhere = self.certain_stores(other);
                    self.branches.push(Branch { reads: condition.reads.clone(), elsewhere });
                }
                let before = self.registers.clone();
                let result = self.statements(taken);
                self.choose_registers([taken, other], &before, &condition.reads);
                result?;
                if goes_on_anyway {
                    self.deciding = around;
                }
                if self.any_may_never_pass([taken, other]) {
                    self.depend_on(&condition.reads);
                } else if !branches().any(may_exit) {
                    self.recent = around_recent;
                }
                // What comes after both arms does not depend on which one it was, unless one of them ends the thread.
                if branches().any(may_exit) {
                    self.branches.iter_mut().skip(n_branches).for_each(|branch| branch.elsewhere.clear());
                } else {
                    self.branches.truncate(n_branches);
                }
                Ok(())
            }
            StatementKind::Await { prelude, condition, .. }
                if synchronization::only_asks_mbarriers(prelude) =>
            {
                self.await_phase(prelude, condition)
            }
            StatementKind::Await { prelude, condition, .. } if source::writes(prelude) => {
                self.go_round(&loops::Shape { prelude, condition, stays_if: false, body: &[] })
            }
            StatementKind::Await { prelude, condition: condition_of_loop, .. } => {
                // Stop, get through, fail and stop, fail and get through: more failing tries add nothing but order.
                let choice = self.choose(4)?;
                let tries: &[bool] = [&[][..], &[true][..], &[false][..], &[false, true][..]][choice];
                for &success in tries {
                    let start = self.events.len();
                    self.statements(prelude)?;
                    let condition = evaluate(condition_of_loop, &self.registers, self.thread);
                    let holds = condition.value == 1;
                    let is_spin = self.is_spin(prelude, condition_of_loop, &[]);
                    self.deciding.extend(&condition.reads);
                    self.recent.extend(&condition.reads);
                    if success {
                        self.leave_by(&condition.reads, is_spin);
                    }
                    if holds != success && self.control == Control::Obeyed {
                        return Err(Stop::Impossible);
                    }
                    for event in &mut self.events[start..] {
                        event.unblocks = success && is_spin && event.is_read();
                        event.is_repeated = choice == 2;
                        // A wait counts as passed: what its own try read decides about none of its writes.
                        event.decided.retain(|&read| read < start);
                    }
                }
                if choice % 2 == 1 { Ok(()) } else { Err(Stop::Blocked(End::AtAwait { tried: choice == 2 })) }
            }
            StatementKind::While { prelude, condition, body, .. } => {
                self.go_round(&loops::Shape { prelude, condition, stays_if: true, body })
            }
            StatementKind::For { register, start, end, body, .. } => {
                self.count_rounds(*register, (start, end), body)
            }
            StatementKind::Call { function, values, references, result } => {
                self.call(*function, values, references, *result)
            }
            StatementKind::Assert(condition) => {
                if evaluate(condition, &self.registers, self.thread).value != 1 {
                    self.failed.insert(statement.span);
                }
                Ok(())
            }
            StatementKind::Break => Err(Stop::Break),
            StatementKind::Exit => Err(Stop::Exit),
            other => panic!("unsupported by the twin: {other:?}"),
        }
    }

    /// The stores of constants that statements begin an arm with or come to in any case.
    fn certain_stores(&self, statements: &[Statement]) -> Vec<Event> {
        let mut stores = Vec::new();
        for statement in statements {
            let StatementKind::Instruction(instruction) = &statement.kind else { continue };
            let InstructionKind::Access(AccessOp::Store { values, address, sem, scope }) = &instruction.kind
            else {
                continue;
            };
            let ([value], true) = (&values[..], address.indices.iter().all(is_known)) else { continue };
            if is_known(value) {
                let mut event = self.access(Kind::Write, address, *sem, *scope);
                let value = evaluate(value, &self.registers, self.thread).value;
                event.release = matches!(sem, Sem::Release | Sem::AcqRel);
                event.values = self.memory.split(event.location.0, value, event.granules.len());
                stores.push(event);
            }
        }
        stores
    }

    fn instruction(&mut self, instruction: &Instruction) -> Result<(), Stop> {
        match &instruction.kind {
            InstructionKind::Access(AccessOp::Load {
                destinations,
                address,
                sem,
                scope,
                non_coherent: false,
            }) => {
                let [destination] = destinations[..] else { panic!("vectors are unsupported by the twin") };
                let datum = self.read(address, (*sem, *scope), Reader::Taken)?;
                if let Some(register) = destination {
                    self.registers.insert(register.index(), datum);
                }
            }
            InstructionKind::Access(AccessOp::Store { values, address, sem, scope }) => {
                let [value] = &values[..] else { panic!("vectors are unsupported by the twin") };
                let datum = evaluate(value, &self.registers, self.thread);
                self.write(address, (*sem, *scope), datum, false, BTreeSet::new());
            }
            InstructionKind::Access(AccessOp::Fill { address, bytes }) => {
                let object = self.place(address).0;
                assert!(object.dimensions.len() <= 1, "rows are unsupported by the twin");
                let n_elements = *bytes / u32::from(object.width / 8);
                for element in 0..n_elements {
                    let mut at = address.clone();
                    for index in &mut at.indices {
                        let first = evaluate(index, &self.registers, self.thread).value;
                        index.kind = ExpressionKind::Constant(u128::from(first) + u128::from(element));
                    }
                    self.write(&at, (Sem::Weak, Scope::Cta), Datum::default(), false, BTreeSet::new());
                }
            }
            InstructionKind::Access(AccessOp::Atomic { destination, op, operands, address, sem, scope }) => {
                let operands: Vec<Datum> =
                    operands.iter().map(|o| evaluate(o, &self.registers, self.thread)).collect();
                let of = if destination.is_none() { Reader::Dropped } else { Reader::Taken };
                let old = self.atomic(*op, &operands, address, (*sem, *scope), of)?;
                if let Some(register) = destination {
                    self.registers.insert(register.index(), old);
                }
            }
            InstructionKind::Access(AccessOp::Reduction { op, operand, address, sem, scope }) => {
                let operand = evaluate(operand, &self.registers, self.thread);
                self.atomic(*op, &[operand], address, (*sem, *scope), Reader::Reduction)?;
            }
            InstructionKind::Multimem(operation) => self.multimem(operation)?,
            InstructionKind::Fence { sem, scope, restrict: None } => {
                let mut event = Event::new(Kind::Fence { sc: *sem == FenceSem::Sc }, Some(self.thread.index));
                event.strong = true;
                event.scope = *scope;
                event.acquire = *sem != FenceSem::Release;
                event.release = *sem != FenceSem::Acquire;
                self.push(event);
            }
            InstructionKind::AliasFence => {
                self.push(Event::new(Kind::ProxyFence(ProxyFence::Alias), Some(self.thread.index)));
            }
            InstructionKind::ProxyFence(ProxyFenceKind::Formal { proxy }) => {
                let kind = Kind::ProxyFence(ProxyFence::With(*proxy));
                self.push(Event::new(kind, Some(self.thread.index)));
            }
            InstructionKind::ProxyFence(ProxyFenceKind::Async { space }) => {
                self.push(Event::new(Kind::AsyncFence(*space), Some(self.thread.index)));
            }
            InstructionKind::ProxyFence(ProxyFenceKind::AsyncGeneric { sem, restrict }) => {
                self.async_half(*sem, *restrict);
            }
            InstructionKind::ProxyFence(ProxyFenceKind::TensormapRelease { scope }) => {
                self.map_half(None, *scope);
            }
            InstructionKind::ProxyFence(ProxyFenceKind::TensormapAcquire { scope, address }) => {
                self.map_half(Some(address), *scope);
            }
            InstructionKind::TensormapCopyFence { destination, source, scope } => {
                let read = self.read(source, (Sem::Weak, Scope::Cta), Reader::Taken)?;
                self.write(destination, (Sem::Weak, Scope::Cta), read, false, BTreeSet::new());
                self.map_half(None, *scope);
            }
            InstructionKind::Async(operation) => self.asynchronous(operation)?,
            InstructionKind::Barrier { kind: BarrierKind::Sync, id, count: None, .. } => {
                let id = evaluate(id, &self.registers, self.thread).value;
                self.synchronize(BarrierKey::Cta { cta: self.thread.cta(), id })?;
            }
            InstructionKind::Barrier { kind, id, count: Some(count), .. } => {
                assert!(self.thread.launch.lanes == 1, "counts of threads are unsupported by the twin");
                let value = |operand| evaluate(operand, &self.registers, self.thread).value;
                let (cta, id, n_warps) = (self.thread.cta(), value(id), value(count) / 32);
                let key = BarrierKey::Counted { cta, id, n_warps };
                match kind {
                    BarrierKind::Sync => self.synchronize(key)?,
                    BarrierKind::Arrive => {
                        let generation = self.arrivals.entry(key).or_insert(0);
                        let arrival = Kind::Arrive(key, *generation);
                        *generation += 1;
                        self.push(Event::new(arrival, Some(self.thread.index)));
                    }
                    BarrierKind::Reduce { .. } => panic!("{}: unsupported by the twin", instruction.text),
                }
            }
            InstructionKind::WarpSync { mask } => {
                let mask = evaluate(mask, &self.registers, self.thread).value;
                self.synchronize(BarrierKey::Warp { cta: self.thread.cta(), warp: self.thread.warp, mask })?;
            }
            InstructionKind::ClusterArrive { sem, .. } => self.cluster_arrive(*sem)?,
            InstructionKind::ClusterWait { .. } => self.cluster_wait()?,
            InstructionKind::Mbarrier(operation) => self.mbarrier(operation)?,
            _ => panic!("{}: unsupported by the twin", instruction.text),
        }
        Ok(())
    }

    fn synchronize(&mut self, key: BarrierKey) -> Result<(), Stop> {
        let count = self.arrivals.entry(key).or_insert(0);
        let generation = *count;
        *count += 1;
        self.push(Event::new(Kind::Arrive(key, generation), Some(self.thread.index)));
        if self.choose(2)? == 0 {
            return Err(Stop::Blocked(End::AtBarrier(key, generation)));
        }
        self.push(Event::new(Kind::Wait(key, generation), Some(self.thread.index)));
        Ok(())
    }
}
