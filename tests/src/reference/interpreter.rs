//! All runs of one thread, by replay: run the body with a script of choices, and where the script ends, try every option.

mod asynchronous;
mod multimem;
mod synchronization;

use super::TooLarge;
use super::event::{BarrierKey, Event, Kind, Location, Misuse};
use super::expression::{Datum, Registers, evaluate, is_known, truncate};
use super::memory::Memory;
use asynchronous::Groups;
use fencepost_dsl::Span;
use fencepost_dsl::index::Id;
use fencepost_dsl::kernel::program::{
    Address, AddressBase, AtomicOp, BarrierKind, Instruction, InstructionKind, Kernel, Launch, Object,
    ProxyFenceKind, Statement, StatementKind,
};
use fencepost_dsl::vocabulary::{FenceSem, ProxyFence, Replication, Scope, Sem, Space};
use std::collections::{BTreeMap, BTreeSet};

/// A run of one thread, to its end or to an instruction where it blocks for good.
#[derive(Clone, Debug)]
pub struct Run {
    /// In program order.
    pub events: Vec<Event>,
    /// How it ends.
    pub end: End,
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
        self.whole_cluster() * self.launch.ctas + rank
    }
    /// The cluster, counted over the whole launch.
    pub fn whole_cluster(&self) -> u32 {
        self.gpu * self.launch.clusters + self.cluster
    }
}

/// All threads of a launch.
pub fn threads(launch: &Launch) -> Vec<Thread> {
    let mut threads = Vec::new();
    for gpu in 0..launch.gpus {
        for cluster in 0..launch.clusters {
            for rank in 0..launch.ctas {
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
    kernel: &Kernel,
    thread: &Thread,
    memory: &Memory,
    values: &[BTreeMap<u64, usize>],
    control: Control,
    runs_max: usize,
) -> Result<Vec<Run>, TooLarge> {
    let mut scripts: Vec<Vec<usize>> = vec![Vec::new()];
    let mut runs = Vec::new();
    let mut n_replays = 0;
    while let Some(script) = scripts.pop() {
        n_replays += 1;
        if n_replays > 20 * runs_max || runs.len() > runs_max {
            return Err(TooLarge);
        }
        let mut interpreter = Interpreter {
            kernel,
            thread,
            memory,
            values,
            control,
            script: &script,
            position: 0,
            registers: Registers::new(),
            events: Vec::new(),
            arrivals: BTreeMap::new(),
            deciding: BTreeSet::new(),
            branches: Vec::new(),
            may_block_later: false,
            has_arrived: false,
            statement: None,
            operation: None,
            multimem: None,
            groups: Groups::default(),
        };
        match interpreter.statements(&kernel.body) {
            Err(Stop::Need { n_options }) => {
                for option in 0..n_options {
                    let mut longer = script.clone();
                    longer.push(option);
                    scripts.push(longer);
                }
            }
            Err(Stop::Impossible) => {}
            Err(Stop::Blocked(end)) => runs.push(Run { events: interpreter.events, end }),
            Ok(()) | Err(Stop::Exit) => {
                interpreter.push(Event::new(Kind::Exit, Some(thread.index)));
                runs.push(Run { events: interpreter.events, end: End::Finished });
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
        StatementKind::Await { .. } => true,
        _ => false,
    }
}

fn may_exit(statement: &Statement) -> bool {
    match &statement.kind {
        StatementKind::If { then, otherwise, .. } => then.iter().chain(otherwise).any(may_exit),
        StatementKind::Exit => true,
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
    kernel: &'a Kernel,
    thread: &'a Thread,
    memory: &'a Memory,
    values: &'a [BTreeMap<u64, usize>],
    control: Control,
    script: &'a [usize],
    position: usize,
    registers: Registers,
    events: Vec<Event>,
    arrivals: BTreeMap<BarrierKey, u32>,
    /// Reads whose values decided that the thread is where it is.
    deciding: BTreeSet<usize>,
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
                let around = self.deciding.clone();
                self.deciding.extend(&condition.reads);
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
                self.statements(taken)?;
                if goes_on_anyway {
                    self.deciding = around;
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
            StatementKind::Await { prelude, condition, .. } => {
                // Stop, get through, fail and stop, fail and get through: more failing tries add nothing but order.
                let choice = self.choose(4)?;
                let tries: &[bool] = [&[][..], &[true][..], &[false][..], &[false, true][..]][choice];
                for &success in tries {
                    let start = self.events.len();
                    self.statements(prelude)?;
                    let condition = evaluate(condition, &self.registers, self.thread);
                    let holds = condition.value == 1;
                    self.deciding.extend(&condition.reads);
                    if holds != success && self.control == Control::Obeyed {
                        return Err(Stop::Impossible);
                    }
                    for event in &mut self.events[start..] {
                        event.unblocks = success && event.is_read();
                        event.last_try = choice == 2;
                    }
                }
                if choice % 2 == 1 { Ok(()) } else { Err(Stop::Blocked(End::AtAwait { tried: choice == 2 })) }
            }
            StatementKind::Exit => Err(Stop::Exit),
            other => panic!("unsupported by the twin: {other:?}"),
        }
    }

    /// The stores of constants that statements begin an arm with or come to in any case.
    fn certain_stores(&self, statements: &[Statement]) -> Vec<Event> {
        let mut stores = Vec::new();
        for statement in statements {
            let StatementKind::Instruction(instruction) = &statement.kind else { continue };
            let InstructionKind::Store { values, address, sem, scope } = &instruction.kind else { continue };
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
            InstructionKind::Load { destinations, address, sem, scope } => {
                let [destination] = destinations[..] else { panic!("vectors are unsupported by the twin") };
                let datum = self.read(address, (*sem, *scope), false)?;
                if let Some(register) = destination {
                    self.registers.insert(register.index(), datum);
                }
            }
            InstructionKind::Store { values, address, sem, scope } => {
                let [value] = &values[..] else { panic!("vectors are unsupported by the twin") };
                let datum = evaluate(value, &self.registers, self.thread);
                self.write(address, (*sem, *scope), datum, false, BTreeSet::new());
            }
            InstructionKind::Atomic { destination, op, operands, address, sem, scope } => {
                let operands: Vec<Datum> =
                    operands.iter().map(|o| evaluate(o, &self.registers, self.thread)).collect();
                let old = self.atomic(*op, &operands, address, (*sem, *scope), destination.is_none())?;
                if let Some(register) = destination {
                    self.registers.insert(register.index(), old);
                }
            }
            InstructionKind::Reduction { op, operand, address, sem, scope } => {
                let operand = evaluate(operand, &self.registers, self.thread);
                self.atomic(*op, &[operand], address, (*sem, *scope), true)?;
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
                let read = self.read(source, (Sem::Weak, Scope::Cta), false)?;
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

    /// The object an operand names, and where it is.
    fn place(&self, address: &Address) -> (&Object, Location) {
        let AddressBase::Object(object) = address.base else {
            panic!("functions are unsupported by the twin")
        };
        let object = &self.kernel.objects[object];
        let mut element = 0;
        for (index, n) in address.indices.iter().zip(&object.dimensions) {
            let index = evaluate(index, &self.registers, self.thread);
            assert!(index.value < u64::from(*n), "indices out of bounds are unsupported by the twin");
            assert!(index.reads.is_empty(), "indices that were read are unsupported by the twin");
            element = element * n + u32::try_from(index.value).expect("below a dimension");
        }
        let size = u32::from(object.width) / 8;
        let offset = object.offset_bytes + element * size;
        let instance = match (&address.rank, object.space) {
            (_, Space::Global) if object.replication != Replication::Single => self.device(address),
            (_, Space::Global | Space::Param) => 0,
            (_, Space::Register) => u32::try_from(self.thread.index).expect("a few threads"),
            (None, Space::Shared) | (_, Space::Tensor) => self.thread.cta(),
            (Some(rank), Space::Shared) => {
                let rank = evaluate(rank, &self.registers, self.thread).value;
                assert!(
                    rank < u64::from(self.thread.launch.ctas),
                    "ranks out of bounds are unsupported by the twin"
                );
                self.thread.peer_cta(u32::try_from(rank).expect("below a dimension"))
            }
        };
        (object, (object.storage.0, instance, offset, size))
    }

    /// An access without its values.
    fn access(&self, kind: Kind, address: &Address, sem: Sem, scope: Scope) -> Event {
        let (object, location) = self.place(address);
        let (storage, instance, offset, size) = location;
        let mut event = Event::new(kind, Some(self.thread.index));
        event.location = location;
        event.is_shared = object.space == Space::Shared;
        event.is_tensor = object.space == Space::Tensor;
        event.source = Some(address.span);
        event.mapping = object.mapping;
        event.is_multimem = object.replication == Replication::Multimem;
        event.proxy = object.proxy;
        event.granules = self.memory.covered(storage, instance, offset, size);
        event.strong = sem != Sem::Weak;
        // MM-12, MM-13: volatile and mmio are relaxed at system scope.
        event.scope = if matches!(sem, Sem::Volatile | Sem::Mmio) { Scope::Sys } else { scope };
        event
    }

    fn read(
        &mut self,
        address: &Address,
        (sem, scope): (Sem, Scope),
        never_acquires: bool,
    ) -> Result<Datum, Stop> {
        let mut event = self.access(Kind::Read, address, sem, scope);
        event.acquire = matches!(sem, Sem::Acquire | Sem::AcqRel);
        event.never_acquires = never_acquires;
        self.read_event(event)
    }

    /// A read with all values it may return.
    fn read_event(&mut self, mut event: Event) -> Result<Datum, Stop> {
        for granule in event.granules.clone() {
            let options = &self.values[granule];
            let choice = self.choose(options.len())?;
            event.values.push(*options.keys().nth(choice).expect("chosen among the options"));
        }
        let value = self.memory.join(event.location.0, &event.values);
        let position = self.push(event);
        Ok(Datum { value, reads: BTreeSet::from([position]) })
    }

    fn write(
        &mut self,
        address: &Address,
        (sem, scope): (Sem, Scope),
        datum: Datum,
        of_atomic: bool,
        decided_by: BTreeSet<usize>,
    ) {
        let mut event = self.access(Kind::Write, address, sem, scope);
        event.decided.clone_from(&decided_by);
        event.control = decided_by;
        event.release = matches!(sem, Sem::Release | Sem::AcqRel);
        event.of_atomic = of_atomic;
        event.values = self.memory.split(event.location.0, datum.value, event.granules.len());
        event.dependencies = datum.reads;
        self.push(event);
    }

    /// Read part and write part; a failed compare-and-swap has no write.
    fn atomic(
        &mut self,
        op: AtomicOp,
        operands: &[Datum],
        address: &Address,
        sem: (Sem, Scope),
        sink: bool,
    ) -> Result<Datum, Stop> {
        let AddressBase::Object(object) = address.base else {
            panic!("functions are unsupported by the twin")
        };
        let width = self.kernel.objects[object].width;
        let old = self.read(address, sem, sink)?;
        let operand = &operands[0];
        let (a, b) = (old.value, operand.value);
        let computed = |value: u64| {
            let reads = old.reads.union(&operand.reads).copied().collect();
            Some(Datum { value: truncate(value, width), reads })
        };
        // Whether a compare-and-swap writes is decided by what it read.
        let is_conditional = op == AtomicOp::CompareAndSwap;
        let decided_by = if is_conditional { &old.reads | &operand.reads } else { BTreeSet::new() };
        let new = match op {
            AtomicOp::Exchange => Some(operand.clone()),
            AtomicOp::CompareAndSwap => {
                let swaps = if self.control == Control::Ignored { self.choose(2)? == 1 } else { a == b };
                swaps.then(|| operands[1].clone())
            }
            _ => computed(updated(op, a, b, width)),
        };
        if let Some(new) = new {
            self.write(address, sem, new, true, decided_by);
        }
        Ok(old)
    }
}

/// What an atomic other than a compare-and-swap writes to `a`, given `b`.
fn updated(op: AtomicOp, a: u64, b: u64, width: u8) -> u64 {
    let signed = |value: u64| ((value << (64 - u32::from(width))) as i64) >> (64 - u32::from(width));
    match op {
        AtomicOp::Add => a.wrapping_add(b),
        AtomicOp::Inc => {
            if a >= b {
                0
            } else {
                a + 1
            }
        }
        AtomicOp::Dec => {
            if a == 0 || a > b {
                b
            } else {
                a - 1
            }
        }
        AtomicOp::Min => a.min(b),
        AtomicOp::Max => a.max(b),
        AtomicOp::SignedMin if signed(a) < signed(b) => a,
        AtomicOp::SignedMin => b,
        AtomicOp::SignedMax if signed(a) > signed(b) => a,
        AtomicOp::SignedMax => b,
        AtomicOp::And => a & b,
        AtomicOp::Or => a | b,
        AtomicOp::Xor => a ^ b,
        AtomicOp::Exchange => b,
        AtomicOp::CompareAndSwap => unreachable!("a compare-and-swap has two operands"),
    }
}
