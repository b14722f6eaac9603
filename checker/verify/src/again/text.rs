//! All runs of a thread, from the text: run it with a list of choices, and where the list ends, try every option.

pub mod number;

use super::place::{Thread, location};
use super::{Done, Effort, End, Marks, Text, Told, Touched, Values, Work};
use crate::graph::Graph;
use fencepost_dsl::Span;
use fencepost_dsl::index::Id;
use fencepost_dsl::kernel::program::{
    AccessOp, Address, AddressBase, AtomicOp, BarrierKind, ElementKind, Expression, FunctionId, Instruction,
    InstructionKind, ObjectId, RegisterId, Statement, StatementKind,
};
use fencepost_dsl::vocabulary::{FenceSem, Proxy, Scope, Sem};
use number::{Number, Registers, updated};
use std::collections::{BTreeMap, BTreeSet};

/// Why a run does not go on.
enum Stop {
    /// The choices are used up, and one among so many is due.
    Need(usize),
    /// There is no such run.
    Impossible,
    /// It ends here.
    Ends(End),
    /// `exit`
    Exit,
    /// `break`
    Break,
    /// What is not followed here.
    Left(String),
}

impl From<String> for Stop {
    fn from(what: String) -> Self {
        Self::Left(what)
    }
}

/// Which barrier: a CTA, or a warp and a mask; and which time a thread comes to it.
pub type Meeting = (u64, u64, usize);

/// What a thread does in a step, and what it knew by then.
#[derive(Clone, Debug)]
pub struct Step {
    pub done: Done,
    /// By place in the run: reads that its value, its address, and its happening at all come from.
    pub of_value: BTreeSet<usize>,
    pub of_address: BTreeSet<usize>,
    pub of_way: BTreeSet<usize>,
    pub meeting: Option<Meeting>,
    /// Whether it is the write of an atomic whose read is just before.
    pub is_half: bool,
    pub scope: Option<Scope>,
}

/// A run of a thread.
#[derive(Clone, Debug)]
pub struct Run {
    pub steps: Vec<Step>,
    pub told: Told,
    /// What its registers hold at the end, where that is asked for.
    pub registers: BTreeMap<usize, u128>,
}

/// Tries of a wait that a graph tells at most.
const TRIES_MAX: usize = 2;

/// All runs of a thread in which each read returns one of the values for its place.
///
/// # Errors
/// What is not followed here, or that there are too many.
pub fn runs(
    text: &Text<'_>,
    graph: &Graph,
    thread: Thread,
    values: &Values,
    (unroll, effort, work): (usize, Effort, &Work),
) -> Result<Vec<Run>, String> {
    let mut scripts: Vec<Vec<usize>> = vec![Vec::new()];
    let mut runs = Vec::new();
    let mut n_replays = 0;
    while let Some(script) = scripts.pop() {
        n_replays += 1;
        if runs.len() > effort.runs_max || n_replays > 8 * effort.runs_max {
            return Err(format!("a thread has more than {} runs", effort.runs_max));
        }
        let mut this = Interpreter {
            text,
            graph,
            thread,
            values,
            unroll,
            script: &script,
            position: 0,
            frame: Frame::default(),
            way: BTreeSet::new(),
            steps: Vec::new(),
            failed: BTreeSet::new(),
            reached: BTreeSet::new(),
            stays_on: None,
            meetings: BTreeMap::new(),
            is_try: false,
            n_left: effort.steps_max,
            work,
        };
        let mut parameters = Vec::new();
        let result = this.parameters(&mut parameters).and_then(|()| this.statements(&text.kernel.body));
        let end = match result {
            Err(Stop::Need(n)) => {
                scripts.extend((0..n).map(|option| script.iter().copied().chain([option]).collect()));
                continue;
            }
            Err(Stop::Impossible) => continue,
            Err(Stop::Left(what)) => return Err(what),
            Err(Stop::Break) => return Err("a `break` outside of a loop".to_owned()),
            Err(Stop::Ends(end)) => end,
            Ok(()) | Err(Stop::Exit) => End::Finished,
        };
        let registers = this.frame.registers.iter().map(|(&at, own)| (at, own.value)).collect();
        let done = this.steps.iter().map(|step| step.done.clone()).collect();
        let (failed, reached, stays_on) = (this.failed, this.reached, this.stays_on);
        let told = Told { done, end, failed, reached, stays_on, parameters };
        runs.push(Run { steps: this.steps, told, registers });
    }
    Ok(runs)
}

/// What a reference stands for.
#[derive(Clone, Copy)]
struct Target {
    object: ObjectId,
    element: u128,
}

/// The registers and references of a body.
#[derive(Default)]
struct Frame {
    registers: Registers,
    references: Vec<Target>,
}

struct Interpreter<'a> {
    text: &'a Text<'a>,
    graph: &'a Graph,
    thread: Thread,
    values: &'a Values,
    unroll: usize,
    script: &'a [usize],
    position: usize,
    frame: Frame,
    /// The reads by which it came where it is.
    way: BTreeSet<usize>,
    steps: Vec<Step>,
    failed: BTreeSet<u64>,
    reached: BTreeSet<[usize; 3]>,
    stays_on: Option<BTreeSet<u128>>,
    /// How often it came to each barrier.
    meetings: BTreeMap<(u64, u64), usize>,
    /// Whether this is a try of a wait that fails.
    is_try: bool,
    n_left: usize,
    work: &'a Work,
}

/// An access that is about to be made.
struct Planned {
    touched: Touched,
    marks: Marks,
    of_address: BTreeSet<usize>,
    scope: Option<Scope>,
}

impl Interpreter<'_> {
    fn choose(&mut self, n: usize) -> Result<usize, Stop> {
        let choice = self.script.get(self.position).copied().ok_or(Stop::Need(n))?;
        self.position += 1;
        Ok(choice)
    }

    fn parameters(&mut self, chosen: &mut Vec<u128>) -> Result<(), Stop> {
        for (own, options) in self.text.kernel.parameters.iter().zip(&self.values.parameters) {
            let value = options[self.choose(options.len())?];
            chosen.push(value);
            self.frame.registers.insert(own.register.index(), Number::known(value));
        }
        Ok(())
    }

    fn evaluate(&self, expression: &Expression) -> Result<Number, String> {
        let (registers, thread, launch) = (&self.frame.registers, self.thread, self.text.launch);
        number::evaluate(expression, number::Around { registers, thread, launch, ends: None })
    }

    fn set(&mut self, register: RegisterId, value: Number) {
        self.frame.registers.insert(register.index(), value);
    }

    fn line(&self, span: Span) -> u64 {
        self.text.sources.line_column(span).line as u64
    }

    fn statements(&mut self, statements: &[Statement]) -> Result<(), Stop> {
        statements.iter().try_for_each(|statement| self.statement(statement))
    }

    fn statement(&mut self, statement: &Statement) -> Result<(), Stop> {
        self.n_left = self.n_left.checked_sub(1).ok_or_else(|| "a run has too many steps".to_owned())?;
        self.work.spend(8)?;
        match &statement.kind {
            StatementKind::Assign { register, value } => {
                let value = self.evaluate(value)?;
                self.set(*register, value);
            }
            StatementKind::Instruction(instruction) => self.instruction(instruction)?,
            StatementKind::If { condition, then, otherwise } => {
                let condition = self.evaluate(condition)?;
                self.way.extend(&condition.reads);
                self.statements(if condition.value == 1 { then } else { otherwise })?;
            }
            StatementKind::For { register, start, end, body, .. } => {
                let (start, end) = (self.evaluate(start)?, self.evaluate(end)?);
                let reads: BTreeSet<usize> = &start.reads | &end.reads;
                self.way.extend(&reads);
                let mut n_rounds = 0;
                let mut value = start.value;
                while value < end.value {
                    if !reads.is_empty() && n_rounds > self.unroll {
                        return Err(Stop::Ends(End::Cut));
                    }
                    self.set(*register, Number { value, reads: reads.clone() });
                    match self.statements(body) {
                        Err(Stop::Break) => break,
                        other => other?,
                    }
                    value += 1;
                    n_rounds += 1;
                }
            }
            StatementKind::While { prelude, condition, body, .. } => self.rounds(prelude, condition, body)?,
            StatementKind::Await { prelude, condition, .. } => self.wait(prelude, condition)?,
            StatementKind::Call { function, values, references, result } => {
                self.call(*function, values, references, *result)?
            }
            StatementKind::Break => return Err(Stop::Break),
            StatementKind::Exit => return Err(Stop::Exit),
            StatementKind::Assert(condition) => {
                if self.evaluate(condition)?.value == 0 {
                    self.failed.insert(self.line(statement.span));
                }
            }
            StatementKind::Assume(condition) => {
                if self.evaluate(condition)?.value == 0 {
                    return Err(Stop::Impossible);
                }
            }
            StatementKind::Reachable(condition) => {
                if self.evaluate(condition)?.value == 1 {
                    self.reached.insert(place_of(statement.span));
                }
            }
            StatementKind::Unsupported(_) | StatementKind::Host(_) => {
                return Err(Stop::Left("what programs of the host do".to_owned()));
            }
        }
        Ok(())
    }

    fn rounds(
        &mut self,
        prelude: &[Statement],
        condition: &Expression,
        body: &[Statement],
    ) -> Result<(), Stop> {
        let mut n_rounds = 0;
        loop {
            let n_before = self.steps.len();
            self.statements(prelude)?;
            let goes_on = self.evaluate(condition)?;
            self.way.extend(&goes_on.reads);
            if goes_on.value == 0 {
                return Ok(());
            }
            // One that reads nothing ends by its counter, or runs out of steps.
            if n_rounds > self.unroll && self.steps[n_before..].iter().any(|step| step.done.marks.has("R")) {
                return Err(Stop::Ends(End::Cut));
            }
            match self.statements(body) {
                Err(Stop::Break) => return Ok(()),
                other => other?,
            }
            let reads = self.steps[n_before..].iter().any(|step| step.done.marks.has("R"));
            n_rounds += usize::from(reads);
            if n_rounds > self.unroll + 1 {
                return Err(Stop::Ends(End::Cut));
            }
        }
    }

    /// Tries that failed are told or not, and stand for all of them; then the thread goes on, or stays.
    fn wait(&mut self, prelude: &[Statement], condition: &Expression) -> Result<(), Stop> {
        for _ in 0..self.choose(TRIES_MAX + 1)? {
            self.is_try = true;
            self.statements(prelude)?;
            self.is_try = false;
            if self.evaluate(condition)?.value == 1 {
                return Err(Stop::Impossible);
            }
        }
        if self.choose(2)? == 0 {
            self.stays_on = self.stays_on(prelude, condition)?;
            return Err(Stop::Ends(End::Stands));
        }
        self.statements(prelude)?;
        let condition = self.evaluate(condition)?;
        if condition.value == 0 {
            return Err(Stop::Impossible);
        }
        self.way.extend(&condition.reads);
        Ok(())
    }

    /// The values on which a wait does not go on, where each try reads one word.
    fn stays_on(
        &mut self,
        prelude: &[Statement],
        condition: &Expression,
    ) -> Result<Option<BTreeSet<u128>>, Stop> {
        let is_access = |own: &&Statement| matches!(own.kind, StatementKind::Instruction(_));
        let mut accesses = prelude.iter().filter(is_access);
        let (Some(access), None) = (accesses.next(), accesses.next()) else { return Ok(None) };
        let StatementKind::Instruction(instruction) = &access.kind else { return Ok(None) };
        let InstructionKind::Access(operation) = &instruction.kind else { return Ok(None) };
        let (address, destination) = match operation {
            AccessOp::Load { destinations, address, .. } => match destinations[..] {
                [destination] => (address, destination),
                _ => return Ok(None),
            },
            AccessOp::Atomic { destination, address, .. } => (address, *destination),
            _ => return Ok(None),
        };
        let Some(destination) = destination else { return Ok(None) };
        let touched = self.plan(address, Sem::Relaxed, Scope::Sys, 0)?.touched;
        let Some(options) = self.values.of.get(&(touched.location, touched.offset, touched.bytes)) else {
            return Ok(None);
        };
        let mut stays = BTreeSet::new();
        let before = self.frame.registers.clone();
        for &value in options {
            for statement in prelude {
                match &statement.kind {
                    StatementKind::Instruction(_) => self.set(destination, Number::known(value)),
                    StatementKind::Assign { register, value } => {
                        let value = self.evaluate(value)?;
                        self.set(*register, value);
                    }
                    _ => return Ok(None),
                }
            }
            if self.evaluate(condition)?.value == 0 {
                stays.insert(value);
            }
            self.frame.registers.clone_from(&before);
        }
        Ok(Some(stays))
    }

    fn call(
        &mut self,
        function: FunctionId,
        values: &[Expression],
        references: &[Address],
        result: Option<RegisterId>,
    ) -> Result<(), Stop> {
        let function = &self.text.program.functions[function];
        let mut frame = Frame::default();
        for (register, value) in function.values.iter().zip(values) {
            frame.registers.insert(register.index(), self.evaluate(value)?);
        }
        for reference in references {
            if reference.rank.is_some() || reference.device.is_some() {
                return Err(Stop::Left("references to memory elsewhere".to_owned()));
            }
            let (target, reads) = self.target(reference)?;
            if !reads.is_empty() {
                return Err(Stop::Left("references to elements whose index was read".to_owned()));
            }
            frame.references.push(target);
        }
        let caller = std::mem::replace(&mut self.frame, frame);
        let returned = self.statements(&function.body);
        let value = match (&returned, &function.result) {
            (Ok(()), Some(value)) => Some(self.evaluate(value)?),
            _ => None,
        };
        if !matches!(returned, Err(Stop::Ends(_))) {
            self.frame = caller;
        }
        returned?;
        if let (Some(register), Some(value)) = (result, value) {
            self.set(register, value);
        }
        Ok(())
    }

    /// Which element of what an address names, and the reads that its indices come from.
    fn target(&self, address: &Address) -> Result<(Target, BTreeSet<usize>), Stop> {
        let mut reads = BTreeSet::new();
        let mut indices = Vec::new();
        for index in &address.indices {
            let index = self.evaluate(index)?;
            reads.extend(index.reads);
            indices.push(index.value);
        }
        let target = match address.base {
            AddressBase::Object(object) => {
                let dimensions = &self.text.kernel.objects[object].dimensions;
                let mut element = 0;
                for (at, &n) in dimensions.iter().enumerate() {
                    let index = indices.get(at).copied().unwrap_or(0);
                    if index >= u128::from(n) {
                        return Err(Stop::Ends(End::Broken));
                    }
                    element = element * u128::from(n) + index;
                }
                Target { object, element }
            }
            AddressBase::Reference(reference) => {
                let target = self.frame.references[reference.index()];
                let element = target.element + indices.iter().sum::<u128>();
                if element >= u128::from(self.text.kernel.objects[target.object].n_elements()) {
                    return Err(Stop::Ends(End::Broken));
                }
                Target { element, ..target }
            }
            AddressBase::Flat { .. } => return Err(Stop::Left("addresses that are numbers".to_owned())),
        };
        Ok((target, reads))
    }

    fn plan(&self, address: &Address, sem: Sem, scope: Scope, further: u128) -> Result<Planned, Stop> {
        let (target, of_address) = self.target(address)?;
        let object = &self.text.kernel.objects[target.object];
        if object.proxy != Proxy::Generic || object.element != ElementKind::Data {
            return Err(Stop::Left(format!("`{}`, which is no plain memory", object.name)));
        }
        if address.device.is_some() {
            return Err(Stop::Left("memory of other devices".to_owned()));
        }
        let rank = match &address.rank {
            Some(rank) => {
                let rank = self.evaluate(rank)?;
                if !rank.reads.is_empty() || rank.value >= u128::from(self.text.launch.cluster) {
                    return Err(Stop::Left("ranks that were read, or are no ranks".to_owned()));
                }
                u32::try_from(rank.value).unwrap_or(0)
            }
            None => self.thread.rank,
        };
        let location = location(self.text, self.graph, object, (self.thread, rank))?;
        let bytes = u128::from(object.width) / 8;
        let element = target.element + further;
        if element >= u128::from(object.n_elements()) {
            return Err(Stop::Ends(End::Broken));
        }
        let offset = u128::from(object.offset_bytes) + element * bytes;
        let mapping = u64::from(object.mapping);
        let mut marks = Marks::default();
        ["M", "GEN"].iter().for_each(|own| marks.add(own));
        let scope = match sem {
            Sem::Weak => None,
            Sem::Volatile | Sem::Mmio => Some(Scope::Sys),
            _ => Some(scope),
        };
        mark_scope(&mut marks, scope);
        Ok(Planned {
            touched: Touched { location, mapping, offset, bytes, value: 0 },
            marks,
            of_address,
            scope,
        })
    }

    fn push(&mut self, text: &str, kind: &str, marks: Marks, touched: Option<Touched>) -> &mut Step {
        let done = Done { kind: kind.to_owned(), text: text.to_owned(), marks, touched, is_joined: false };
        self.steps.push(Step {
            done,
            of_value: BTreeSet::new(),
            of_address: BTreeSet::new(),
            of_way: self.way.clone(),
            meeting: None,
            is_half: false,
            scope: None,
        });
        let last = self.steps.len() - 1;
        &mut self.steps[last]
    }

    fn read(&mut self, text: &str, mut planned: Planned, sem: Sem, more: &[&str]) -> Result<Number, Stop> {
        let place = planned.touched;
        let options = self.values.of.get(&(place.location, place.offset, place.bytes));
        let options: Vec<u128> = options.into_iter().flatten().copied().collect();
        if options.is_empty() {
            // Nothing is known yet of what can be there: the values are found in rounds.
            return Err(Stop::Impossible);
        }
        let value = options[self.choose(options.len())?];
        planned.marks.add("R");
        match sem {
            Sem::Weak => planned.marks.add("WEAK"),
            Sem::Acquire | Sem::AcqRel => planned.marks.add("ACQ"),
            _ => planned.marks.add("RLX"),
        }
        more.iter().for_each(|own| planned.marks.add(own));
        if self.is_try {
            planned.marks.add("SPIN");
        }
        let touched = Some(Touched { value, ..place });
        let step = self.push(text, "read", planned.marks, touched);
        (step.of_address, step.scope) = (planned.of_address, planned.scope);
        Ok(Number { value, reads: BTreeSet::from([self.steps.len() - 1]) })
    }

    fn write(&mut self, text: &str, mut planned: Planned, sem: Sem, number: &Number, more: &[&str]) {
        planned.marks.add("W");
        match sem {
            Sem::Weak => planned.marks.add("WEAK"),
            Sem::Release | Sem::AcqRel => planned.marks.add("REL"),
            _ => planned.marks.add("RLX"),
        }
        more.iter().for_each(|own| planned.marks.add(own));
        let touched = Some(Touched { value: number.value, ..planned.touched });
        let step = self.push(text, "write", planned.marks, touched);
        (step.of_address, step.scope) = (planned.of_address, planned.scope);
        step.of_value.clone_from(&number.reads);
        step.is_half = !more.is_empty();
    }

    fn atomic(
        &mut self,
        text: &str,
        (op, operands): (AtomicOp, &[Expression]),
        (address, sem, scope): (&Address, Sem, Scope),
        more: &[&str],
    ) -> Result<Number, Stop> {
        let operands: Result<Vec<Number>, String> = operands.iter().map(|own| self.evaluate(own)).collect();
        let operands = operands?;
        let planned = self.plan(address, sem, scope, 0)?;
        let bits = u32::try_from(planned.touched.bytes * 8).unwrap_or(128);
        let old = self.read(text, planned, sem, more)?;
        let new = updated(op, &old, &operands, bits)?;
        if op == AtomicOp::CompareAndSwap && new.is_none() {
            return Ok(old);
        }
        if let Some(new) = new {
            let planned = self.plan(address, sem, scope, 0)?;
            self.write(text, planned, sem, &new, more);
            if op == AtomicOp::CompareAndSwap
                && let Some(step) = self.steps.last_mut()
            {
                step.of_way.extend(old.reads.iter().chain(&operands[0].reads));
            }
        }
        Ok(old)
    }

    fn instruction(&mut self, instruction: &Instruction) -> Result<(), Stop> {
        let text = instruction.text.as_str();
        match &instruction.kind {
            InstructionKind::Access(AccessOp::Load {
                destinations,
                address,
                sem,
                scope,
                non_coherent: false,
            }) => {
                for (further, destination) in (0_u128..).zip(destinations) {
                    let planned = self.plan(address, *sem, *scope, further)?;
                    let value = self.read(text, planned, *sem, &[])?;
                    self.join(further);
                    if let Some(register) = destination {
                        self.set(*register, value);
                    }
                }
            }
            InstructionKind::Access(AccessOp::Store { values, address, sem, scope }) => {
                for (further, value) in (0_u128..).zip(values) {
                    let (value, planned) =
                        (self.evaluate(value)?, self.plan(address, *sem, *scope, further)?);
                    self.write(text, planned, *sem, &value, &[]);
                    self.join(further);
                }
            }
            InstructionKind::Access(AccessOp::Atomic { destination, op, operands, address, sem, scope }) => {
                let more: &[&str] = if destination.is_some() { &["ATOM"] } else { &["ATOM", "SINK"] };
                let old = self.atomic(text, (*op, operands), (address, *sem, *scope), more)?;
                if let Some(register) = destination {
                    self.set(*register, old);
                }
            }
            InstructionKind::Access(AccessOp::Reduction { op, operand, address, sem, scope }) => {
                let operand = std::slice::from_ref(operand);
                self.atomic(text, (*op, operand), (address, *sem, *scope), &["RED"])?;
            }
            InstructionKind::Fence { sem, scope, restrict: None } => {
                let mut marks = Marks::default();
                ["F", "GEN"].iter().for_each(|own| marks.add(own));
                mark_scope(&mut marks, Some(*scope));
                marks.add(match sem {
                    FenceSem::Sc => "SC",
                    FenceSem::AcqRel => "ACQ_REL",
                    FenceSem::Acquire => "ACQ",
                    FenceSem::Release => "REL",
                });
                self.push(text, "fence", marks, None).scope = Some(*scope);
            }
            InstructionKind::Barrier { kind: BarrierKind::Sync, id, count: None, instance: None, .. } => {
                let id = self.evaluate(id)?;
                if !id.reads.is_empty() {
                    return Err(Stop::Left("barriers whose number was read".to_owned()));
                }
                let cta = u64::from(self.thread.gpu) << 32
                    | u64::from(self.thread.cluster * self.text.launch.cluster + self.thread.rank);
                self.meet(text, (cta, u64::try_from(id.value).unwrap_or(u64::MAX)))?;
            }
            InstructionKind::Hint { destination: None, .. } => {}
            _ => return Err(Stop::Left(format!("`{text}`"))),
        }
        Ok(())
    }

    /// The elements of a vector are in no order among themselves.
    fn join(&mut self, further: u128) {
        if let Some(step) = self.steps.last_mut() {
            step.done.is_joined = further > 0;
        }
    }

    fn meet(&mut self, text: &str, key: (u64, u64)) -> Result<(), Stop> {
        let time = self.meetings.entry(key).or_insert(0);
        let meeting = Some((key.0, key.1, *time));
        *time += 1;
        let mut marks = Marks::default();
        marks.add("BAR-ARRIVE");
        self.push(text, "barrier-arrive", marks, None).meeting = meeting;
        if self.choose(2)? == 0 {
            return Err(Stop::Ends(End::Stands));
        }
        let mut marks = Marks::default();
        marks.add("BAR-WAIT");
        self.push(text, "barrier-wait", marks, None).meeting = meeting;
        Ok(())
    }
}

/// A place in a text, as a graph has it.
pub fn place_of(span: Span) -> [usize; 3] {
    [span.file.index(), span.start as usize, span.end as usize]
}

fn mark_scope(marks: &mut Marks, scope: Option<Scope>) {
    if let Some(scope) = scope {
        marks.add("STRONG");
        marks.add(match scope {
            Scope::Cta => "CTA",
            Scope::Cluster => "CLUSTER",
            Scope::Gpu => "GPU",
            Scope::Sys => "SYS",
        });
    }
}
