//! The roles of a launch: threads that do the same operations in the same order, up to which of several like objects.
//!
//! The event graph is asked rather than the text: there every address is a place in an object, loops are rounds however a
//! compiler has unrolled them, and a wait is a wait whether it is one poll or a chain of them.

use super::condition::Conditions;
use super::operation::{self, Aspect, Cell, Operation, Value};
use super::side::Side;
use crate::event::{AgentId, Event, EventGraph, EventId, EventKind, MbarrierRole, Role as Part, SiteId};
use crate::unroll::{UnrollError, UnrollOptions, unroll};
use crate::work::Allowance;
use fencepost_dsl::Span;
use fencepost_dsl::kernel::program::{ElementKind, InstructionKind, MbarrierOp};
use fencepost_dsl::sorted::{SortedMap, SortedSet};
use fencepost_dsl::vocabulary::Space;
use rustc_hash::FxHashMap;

/// Most members of a role whose objects are remembered.
const MEMBERS_MAX: usize = 64;

/// Threads that do the same.
#[derive(Clone, Debug)]
pub struct Role {
    /// What they do, as the first of them does it.
    pub operations: Vec<Operation>,
    /// What each operation is about, for each of them that has other objects than those before it.
    pub cells: Vec<Vec<Option<Cell>>>,
    /// The first of them.
    pub first: String,
    /// How many there are.
    pub n_threads: usize,
}

impl Role {
    /// The role as one of its threads plays it: the numbered one with other objects than those before it.
    pub fn of_member(&self, number: usize) -> Self {
        let mut role = self.clone();
        if let Some(cells) = self.cells.get(number).or(self.cells.first()) {
            role.operations.iter_mut().zip(cells).for_each(|(operation, cell)| operation.cell = *cell);
        }
        role
    }
}

/// What a launch does.
pub struct Roles {
    /// In order of their first threads.
    pub roles: Vec<Role>,
    graph: EventGraph,
}

/// Operations of a thread, with what tells a role from another.
struct Sequence {
    agent: AgentId,
    operations: Vec<Operation>,
    signature: Vec<String>,
}

impl Roles {
    /// Those of a launch. `by_warp`: lanes that do no more than a part of what another lane of their warp does are left out.
    pub fn of(side: &Side<'_>, by_warp: bool, allowance: Allowance) -> Result<Self, UnrollError> {
        let options = UnrollOptions {
            bound: side.unroll,
            max_events: side.max_events,
            allowance,
            // Threads that are told what one of them has seen go the same way.
            forwarding: true,
            ..UnrollOptions::default()
        };
        let graph = unroll(side.program, side.kernel, side.launch, &options)?;
        let known = Known::new(side, &graph);
        let mut events: FxHashMap<AgentId, Vec<(EventId, &Event)>> = FxHashMap::default();
        for (id, event) in graph.events.iter_enumerated() {
            if let Some(agent) = event.agent.filter(|&agent| !graph.hierarchy.is_operation(agent)) {
                events.entry(agent).or_default().push((id, event));
            }
        }
        let mut sequences = Vec::new();
        for agent in graph.hierarchy.agents() {
            let operations = known.operations(agent, events.get(&agent).map_or(&[], Vec::as_slice));
            if !operations.is_empty() {
                let signature = signature(&operations);
                sequences.push(Sequence { agent, operations, signature });
            }
        }
        if by_warp {
            leaders(&graph, &mut sequences);
        }
        let mut roles: Vec<Role> = Vec::new();
        let mut found: FxHashMap<Vec<String>, usize> = FxHashMap::default();
        for sequence in sequences {
            let cells: Vec<Option<Cell>> =
                sequence.operations.iter().map(|operation| operation.cell).collect();
            let role = *found.entry(sequence.signature).or_insert_with(|| {
                let first = graph.hierarchy.describe(sequence.agent);
                roles.push(Role { operations: sequence.operations, cells: Vec::new(), first, n_threads: 0 });
                roles.len() - 1
            });
            let role = &mut roles[role];
            role.n_threads += 1;
            if role.cells.len() < MEMBERS_MAX && !role.cells.contains(&cells) {
                role.cells.push(cells);
            }
        }
        Ok(Self { roles, graph })
    }

    /// What a reader calls a cell: `full[1]`, and the name of the whole object.
    pub fn name(&self, side: &Side<'_>, cell: Cell) -> (String, String) {
        let name = |name: &str| local_name(name).unwrap_or(name).to_owned();
        let peer = if cell.is_peer { " of a peer" } else { "" };
        let of_storage = || side.kernel.objects.iter().filter(|object| object.storage.0 == cell.storage);
        let whole = self.graph.locations.iter().find(|location| location.storage.0 == cell.storage);
        let whole = name(whole.map_or("?", |location| location.name.stem()));
        let Some(offset) = cell.offset else { return (format!("{whole}[…]{peer}"), whole) };
        // An mbarrier goes by its own name, where several views of the bytes have one.
        let is_mbarrier = self.graph.mbarriers.iter().any(|mbarrier| {
            self.graph.locations[mbarrier.location].storage.0 == cell.storage
                && u64::from(mbarrier.offset_bytes) == offset
        });
        let mut covering: Vec<_> = of_storage()
            .filter(|object| {
                let start = u64::from(object.offset_bytes);
                (start..start + object.n_elements() * u64::from(object.width) / 8).contains(&offset)
            })
            .collect();
        covering.sort_by_key(|object| (object.element == ElementKind::Mbarrier) != is_mbarrier);
        let Some(object) = covering.first() else { return (format!("{whole}+{offset}{peer}"), whole) };
        let from_start = offset - u64::from(object.offset_bytes);
        if side.kernel.flat.is_some() && object.space == Space::Shared {
            // Shared memory of compiled code is bytes: what is at which of them is what counts.
            let whole = name(&object.name);
            let part = if from_start == 0 { whole.clone() } else { format!("{whole}+{from_start}") };
            let class = if is_mbarrier { part.clone() } else { whole };
            return (format!("{part}{peer}"), class);
        }
        let mut index = from_start * 8 / u64::from(object.width);
        let mut indices = String::new();
        for &dimension in object.dimensions.iter().rev() {
            indices = format!("[{}]{indices}", index % u64::from(dimension.max(1)));
            index /= u64::from(dimension.max(1));
        }
        (format!("{}{indices}{peer}", object.name), object.name.clone())
    }
}

/// The name that a variable of a function has in its source: `full` of `_ZZ4ringPiE4full`.
fn local_name(mangled: &str) -> Option<&str> {
    let inner = mangled.strip_prefix("_ZZ")?;
    let (_, last) = inner.rsplit_once('E')?;
    let digits = last.len() - last.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let length: usize = last[..digits].parse().ok()?;
    last.get(digits..digits.checked_add(length)?)
}

/// An instruction with its name and aspects.
type Static<'a> = (&'a InstructionKind, String, Vec<(Aspect, Value)>);

/// A dynamic instance of an instruction.
type Instance<'g> = (AgentId, SiteId, &'g [u32]);

/// What is known of a launch before its threads are looked at one by one.
struct Known<'a, 'g> {
    graph: &'g EventGraph,
    /// By site: what its instruction is.
    operations: FxHashMap<SiteId, Static<'a>>,
    /// The mbarrier that an asynchronous operation signals, by what started it.
    signalled: FxHashMap<Instance<'g>, Cell>,
    /// Write parts of atomics.
    second: SortedSet<EventId>,
    threads_of_cta: u128,
    /// The lanes of each warp that do anything: others exit at once, or are not there.
    lanes: FxHashMap<u32, u128>,
    conditions: Conditions,
}

impl<'a, 'g> Known<'a, 'g> {
    fn new(side: &Side<'a>, graph: &'g EventGraph) -> Self {
        let mut by_place = FxHashMap::default();
        for (span, instruction) in side.program.instructions(side.kernel) {
            by_place.insert((span, instruction.text.as_str()), instruction);
        }
        let mut operations = FxHashMap::default();
        for (id, site) in graph.sites.iter_enumerated() {
            if let Some(&instruction) = by_place.get(&(site.span, site.text.as_str()))
                && let Some((name, aspects)) = operation::of(instruction)
            {
                operations.insert(id, (&instruction.kind, name, aspects));
            }
        }
        let mut this = Self {
            graph,
            operations,
            signalled: FxHashMap::default(),
            second: graph.rmw.iter().map(|&(_, write)| write).collect(),
            threads_of_cta: u128::from(side.launch.warps) * 32,
            lanes: FxHashMap::default(),
            conditions: Conditions::new(graph),
        };
        for event in graph.events.iter() {
            let (Some(agent), Some(site)) = (event.agent, event.site) else { continue };
            if !graph.hierarchy.is_operation(agent) {
                let lane = graph.hierarchy.threads[agent].lane;
                *this.lanes.entry(graph.hierarchy.warp_of(agent)).or_default() |= 1 << lane;
            }
            let is_signal =
                matches!(&event.kind, EventKind::Mbarrier(of) if of.role == MbarrierRole::Complete);
            if is_signal && let Some(operation) = graph.hierarchy.operation(agent) {
                let cell = this.cell(operation.issuer, &event.kind);
                let key = (operation.issuer, site, event.iterations.as_slice());
                if let Some(cell) = cell {
                    this.signalled.entry(key).or_insert(cell);
                }
            }
        }
        this
    }

    /// What an event is about.
    fn cell(&self, agent: AgentId, kind: &EventKind) -> Option<Cell> {
        let location = self.graph.location_of(kind)?;
        let offset = match kind {
            EventKind::Mbarrier(of) => Some(u64::from(self.graph.mbarriers[of.object].offset_bytes)),
            kind => kind.access().and_then(|access| {
                self.graph.terms.constant_value(access.offset).and_then(|offset| u64::try_from(offset).ok())
            }),
        };
        let location = &self.graph.locations[location];
        let is_peer = location.cta.is_some_and(|cta| cta != self.graph.hierarchy.cta_of(agent));
        Some(Cell { storage: location.storage.0, offset, is_peer })
    }

    fn operations(&self, agent: AgentId, events: &[(EventId, &'g Event)]) -> Vec<Operation> {
        let mut found: Vec<Operation> = Vec::new();
        let mut last: Option<(SiteId, &[u32], &[Span])> = None;
        for &(id, event) in events {
            if self.second.contains(&id) {
                continue;
            }
            let Some(site) = event.site else { continue };
            if matches!(event.role, Part::Spin(_)) {
                continue;
            }
            let Some((kind, name, aspects)) = self.operations.get(&site) else { continue };
            // All events of one instruction are one operation.
            let instance = (site, event.iterations.as_slice(), event.calls.as_slice());
            if last.replace(instance) == Some(instance) {
                continue;
            }
            let completed = self.graph.completed[agent];
            let cell = match event.kind {
                EventKind::Issue { .. } => {
                    self.signalled.get(&(agent, site, event.iterations.as_slice())).copied()
                }
                _ => self.cell(agent, &event.kind),
            };
            let text = &self.graph.sites[site];
            let text = format!("{} {}", text.text, text.operand).trim_end().to_owned();
            let operation = Operation {
                name: name.clone(),
                aspects: self.completed(id, kind, aspects),
                cell,
                is_wait: event.role == Part::Await,
                is_sometimes: self.conditions.is_decided_by_data(completed, event.guard),
                repeats: false,
                starts_loop: false,
                span: self.graph.sites[site].span,
                place: event.calls.iter().copied().chain([self.graph.sites[site].span]).collect(),
                text,
            };
            absorb(&mut found, operation);
        }
        found
    }

    /// The aspects of an instruction, with what only its execution tells.
    fn completed(
        &self,
        id: EventId,
        kind: &InstructionKind,
        aspects: &[(Aspect, Value)],
    ) -> Vec<(Aspect, Value)> {
        let mut aspects = aspects.to_vec();
        let mut set = |aspect: Aspect, value: Value| {
            aspects.retain(|(known, _)| *known != aspect);
            aspects.push((aspect, value));
        };
        let meeting = || self.graph.meetings.get(&id).map(|meeting| Value::Word(meeting.name.to_string()));
        match (kind, &self.graph.events[id].kind) {
            (InstructionKind::Barrier { count, .. }, _) => {
                if let Some(name) = meeting() {
                    set(Aspect::Number, name);
                }
                if count.is_none() {
                    set(Aspect::Count, Value::Number(self.threads_of_cta));
                }
            }
            (InstructionKind::WarpSync { mask }, _) => {
                if let Some(mask) = operation::constant(mask) {
                    let agent = self.graph.events[id].agent;
                    let warp = agent.map(|agent| self.graph.hierarchy.warp_of(agent));
                    let lanes = warp.and_then(|warp| self.lanes.get(&warp)).copied().unwrap_or_default();
                    let rest = lanes & !mask;
                    let lanes = if rest == 0 { "all lanes".to_owned() } else { format!("{mask:#x}") };
                    set(Aspect::Mask, Value::Word(lanes));
                }
            }
            (InstructionKind::Mbarrier(MbarrierOp::Init { .. }), EventKind::Mbarrier(of)) => {
                if let Some(phase) = self.graph.mbarriers[of.object].phases.first()
                    && let Some(expected) = self.graph.terms.constant_value(phase.expected)
                {
                    set(Aspect::Count, Value::Number(expected));
                }
            }
            _ => {}
        }
        aspects.sort();
        aspects
    }
}

/// Adds an operation. Polls of one thing, one behind another, are one wait however a compiler has unrolled them.
fn absorb(found: &mut Vec<Operation>, mut operation: Operation) {
    if operation.is_wait
        && let Some(before) = found.last()
        && (&before.name, &before.aspects, before.cell)
            == (&operation.name, &operation.aspects, operation.cell)
    {
        operation.is_sometimes &= before.is_sometimes;
        found.pop();
        return absorb(found, operation);
    }
    found.push(operation);
}

/// What a role is known by: its operations, and cells of each object numbered as they come.
fn signature(operations: &[Operation]) -> Vec<String> {
    let mut seen: SortedMap<u32, Vec<Cell>> = SortedMap::new();
    let mut lines = Vec::new();
    for operation in operations {
        let cell = operation.cell.map(|cell| {
            let known = seen.entry(cell.storage).or_default();
            let number = known.iter().position(|&other| other == cell).unwrap_or_else(|| {
                known.push(cell);
                known.len() - 1
            });
            (cell.storage, number, cell.is_peer, cell.offset.is_some())
        });
        let flags = (operation.is_wait, operation.is_sometimes);
        lines.push(format!("{} {:?} {cell:?} {flags:?}", operation.name, operation.aspects));
    }
    lines
}

/// Leaves out lanes that do a part of what another lane of their warp does.
fn leaders(graph: &EventGraph, sequences: &mut Vec<Sequence>) {
    let bare = |sequence: &Sequence| -> Vec<String> {
        let of = |operation: &Operation| format!("{} {:?}", operation.name, operation.aspects);
        sequence.operations.iter().map(of).collect()
    };
    let lines: Vec<(u32, Vec<String>)> =
        sequences.iter().map(|sequence| (graph.hierarchy.warp_of(sequence.agent), bare(sequence))).collect();
    let is_part = |part: &[String], whole: &[String]| {
        let mut rest = whole.iter();
        part.iter().all(|line| rest.any(|other| other == line))
    };
    let is_led = |number: usize| {
        let (warp, own) = &lines[number];
        lines.iter().enumerate().any(|(other, (of, line))| {
            of == warp && other != number && is_part(own, line) && (line.len() > own.len() || other < number)
        })
    };
    let mut numbers = 0..sequences.len();
    sequences.retain(|_| !numbers.next().is_some_and(is_led));
}
