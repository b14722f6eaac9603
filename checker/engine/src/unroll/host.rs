//! Programs: the host, its launches, and when a grid starts and has ended (MM-38, MM-39, AS-40).
//!
//! The host's statements are run in order; at a launch the threads of the grid are run, since everything that a grid can
//! wait for has been launched before. A grid starts iff those that it follows have ended: its threads' guards say so, and
//! where that need not be, its threads count as waiting. A grid launched with programmatic serialization starts once each
//! CTA of the one before it has executed `griddepcontrol.launch_dependents` or ended.
//!
//! A grid has an event for its start and one for its end, and every event of its threads lies between them. It ends with
//! the asynchronous operations that its threads have started.
//!
//! On several devices a launch has a grid on each, which follows grids on its own device only: a stream belongs to one. The
//! grids of a cooperative launch are launched together: none starts before all can, though what comes before the one is in
//! no order with the other.
//!
//! Cannot: launches from devices, memory sync domains (MM-39: all grids of a device are taken to be in one), and host code
//! that does more than access memory.

use super::env::Env;
use super::expression::Frame;
use super::{State, Step, UnrollError, Unroller};
use crate::event::{
    AgentId, BaseRelation, Blocked, CtaId, Edge, EventId, EventKind, Grid, GridEvent, GridId, Site, SiteId,
    TermPool, TermRef, UnknownKind, Wait,
};
use fencepost_dsl::IndexVec;
use fencepost_dsl::Span;
use fencepost_dsl::kernel::program::{
    GridDependency, HostCall, Instruction, InstructionKind, Kernel, Launch, PartId, Program, TaskId,
};
use fencepost_dsl::sorted::{SortedMap, SortedSet};
use std::sync::Arc;

/// What is known of the grids of a program.
#[derive(Default)]
pub struct HostLog {
    /// Of each task: its grids, by device.
    grids: IndexVec<TaskId, Vec<GridId>>,
    task_of: IndexVec<GridId, TaskId>,
    /// 1 iff the host takes a way on which it does not make the launch.
    absent: IndexVec<TaskId, TermRef>,
    /// 1 iff the grid has started; of those that were launched.
    started: SortedMap<GridId, TermRef>,
    enqueued: SortedMap<TaskId, EventId>,
    /// `griddepcontrol.launch_dependents`, in program order for each thread.
    triggers: SortedMap<CtaId, Vec<Trigger>>,
    /// `griddepcontrol.wait`, and calls of the host that wait.
    waits: Vec<(EventId, Vec<GridId>)>,
}

#[derive(Clone, Copy)]
struct Trigger {
    event: EventId,
    agent: AgentId,
    guard: TermRef,
}

impl HostLog {
    /// The grids of a program, those of one launch after those of the one before.
    pub fn new(kernel: &Kernel) -> (Self, Vec<Grid>) {
        let mut log = Self::default();
        let mut grids = Vec::new();
        for (id, task) in kernel.tasks.iter_enumerated() {
            let mut own = Vec::new();
            for gpu in 0..task.launch.gpus {
                grids.push(Grid {
                    name: Some(task.name.clone()),
                    launch: task.launch.clone(),
                    gpu: Some(gpu),
                    part: Some(task.kernel),
                });
                own.push(log.task_of.push(id));
            }
            log.grids.push(own);
        }
        (log, grids)
    }

    /// 1 iff the grid has started; of those that were launched.
    pub fn started(&self) -> &SortedMap<GridId, TermRef> {
        &self.started
    }

    /// The first of the grids that one launch starts, on several devices.
    pub fn first_of_launch(&self, grid: GridId) -> GridId {
        let task = self.task_of.get(grid).copied();
        task.and_then(|task| self.grids[task].first().copied()).unwrap_or(grid)
    }
}

/// Every kernel that a check runs, with the shapes in which it is launched.
pub fn launched<'a>(
    program: &'a Program,
    kernel: &'a Kernel,
    launch: &'a Launch,
) -> Vec<(&'a Kernel, &'a Launch)> {
    if !kernel.is_program {
        return vec![(kernel, launch)];
    }
    kernel.tasks.iter().map(|task| (&program.parts[task.kernel], &task.launch)).collect()
}

impl<'a> Unroller<'a> {
    /// The part that a grid runs.
    pub(super) fn part_of(&self, grid: GridId) -> Option<PartId> {
        self.graph.hierarchy.grids()[grid].part
    }

    /// Runs a program: its host, and with it all grids.
    pub(super) fn run_program(&mut self, parameters: &Env) -> Result<(), UnrollError> {
        let hierarchy = &self.graph.hierarchy;
        let Some(host) = hierarchy.host().and_then(|grid| hierarchy.threads_of_grid(grid).next()) else {
            return Ok(());
        };
        let entry = self.entry;
        let (state, frame) =
            (State { live: TermPool::TRUE, env: parameters.clone() }, Frame::of_kernel(entry));
        for task in entry.tasks.iter() {
            let launched = match &task.when {
                Some(when) => self.evaluate(&state, &frame, when)?,
                None => TermPool::TRUE,
            };
            let absent = self.graph.terms.not(launched);
            self.host.absent.push(absent);
        }
        self.run_thread(host, parameters, TermPool::TRUE)?;
        self.abandon_rest();
        self.finish_grids()
    }

    /// Threads of grids that are not launched have nothing left to do.
    fn end_absent(&mut self, task: TaskId, grid: GridId) {
        let absent = self.host.absent[task];
        for agent in self.graph.hierarchy.threads_of_grid(grid).collect::<Vec<_>>() {
            let completed = self.graph.completed[agent];
            self.graph.completed[agent] = self.graph.terms.or(completed, absent);
        }
    }

    pub(super) fn host_call(
        &mut self,
        state: &mut State,
        frame: &Frame<'_>,
        call: &HostCall,
        span: Span,
    ) -> Result<(), UnrollError> {
        match call {
            HostCall::Launch(task) => self.launch_task(state, frame, *task),
            HostCall::Synchronize(tasks) => {
                let site = self.host_site(span, "synchronize".to_owned());
                let grids: Vec<GridId> =
                    tasks.iter().flat_map(|&task| self.host.grids[task].clone()).collect();
                self.wait_for_grids(&mut Step { state, frame, site }, grids, GridEvent::Synchronize)
            }
        }
    }

    fn host_site(&mut self, span: Span, text: String) -> SiteId {
        self.intern_site(Site::of_text(span, text))
    }

    /// Enqueues a task and runs its grids.
    fn launch_task(&mut self, state: &mut State, frame: &Frame<'_>, task: TaskId) -> Result<(), UnrollError> {
        let entry = self.entry;
        let what = &entry.tasks[task];
        let kernel = &self.program.parts[what.kernel];
        let site = self.host_site(what.span, format!("launch {}", what.name));
        let enqueue = self.emit_next(state.live, EventKind::Grid(GridEvent::Enqueue), site)?;
        self.host.enqueued.insert(task, enqueue);
        let mut env = Env::default();
        for (parameter, argument) in kernel.parameters.iter().zip(&what.arguments) {
            let value = self.evaluate(state, frame, argument)?;
            env.set(parameter.register, value);
        }
        let calls = std::mem::take(&mut self.calls);
        let host = (self.agent, self.position, std::mem::take(&mut self.iterations), self.kernel);
        let path = self.aligned.replace_path(Vec::new());
        self.part = Some(what.kernel);
        self.kernel = kernel;
        for grid in self.host.grids[task].clone() {
            let ready = if what.launch.cooperative {
                let all: Vec<TermRef> =
                    self.host.grids[task].clone().into_iter().map(|grid| self.ready(task, grid)).collect();
                self.graph.terms.and_all(all)
            } else {
                self.ready(task, grid)
            };
            let started = self.graph.terms.and(state.live, ready);
            self.host.started.insert(grid, started);
            let names = self.names(what.after.iter().chain(&what.prerequisite));
            let grids = if what.launch.cooperative { &self.host.grids[task][..] } else { &[grid] };
            let followed: Vec<GridId> = grids.iter().flat_map(|&grid| self.followed(task, grid)).collect();
            let awaited = self.ends(&followed);
            let settled = self.graph.terms.or(started, self.host.absent[task]);
            let never = self.graph.terms.not(settled);
            self.block_start(grid, what.span, never, &Wait::Grids { names, awaited, is_start: true });
            for agent in self.graph.hierarchy.threads_of_grid(grid).collect::<Vec<_>>() {
                self.run_thread(agent, &env, started)?;
            }
            self.end_absent(task, grid);
        }
        (self.agent, self.position, self.iterations, self.kernel) = host;
        self.calls = calls;
        self.aligned.replace_path(path);
        self.part = None;
        Ok(())
    }

    /// The threads of a grid that need not start wait, if that is looked for.
    fn block_start(&mut self, grid: GridId, span: Span, stuck: TermRef, wait: &Wait) {
        if stuck == TermPool::FALSE || !self.options.hangs {
            return;
        }
        let threads: Vec<AgentId> = self.graph.hierarchy.threads_of_grid(grid).collect();
        self.graph.blocked.extend(threads.into_iter().map(|agent| Blocked {
            agent,
            span,
            iterations: Vec::new(),
            calls: Vec::new(),
            stuck,
            wait: wait.clone(),
        }));
    }

    /// Grids of the same device that a task follows; also the one that it may overlap with.
    fn followed(&self, task: TaskId, grid: GridId) -> Vec<GridId> {
        let task = &self.entry.tasks[task];
        task.after
            .iter()
            .chain(&task.prerequisite)
            .filter_map(|&before| self.on_device_of(grid, before))
            .collect()
    }

    /// The grid of a task on the device of another grid.
    fn on_device_of(&self, grid: GridId, task: TaskId) -> Option<GridId> {
        let gpu = self.graph.hierarchy.grids()[grid].gpu;
        self.host.grids[task].iter().copied().find(|&other| self.graph.hierarchy.grids()[other].gpu == gpu)
    }

    /// Whether what a grid follows has ended, as far as it must before the grid starts.
    fn ready(&mut self, task: TaskId, grid: GridId) -> TermRef {
        let task = &self.entry.tasks[task];
        let mut parts = Vec::new();
        for &before in &task.after {
            if let Some(before) = self.on_device_of(grid, before) {
                parts.push(self.ended(before));
            }
        }
        if let Some(before) = task.prerequisite.and_then(|before| self.on_device_of(grid, before)) {
            for cta in self.graph.hierarchy.ctas_of_grid(before).collect::<Vec<_>>() {
                let triggered = self.triggered(cta);
                let ended = self.cta_ended(cta);
                parts.push(self.graph.terms.or(triggered, ended));
            }
        }
        self.graph.terms.and_all(parts)
    }

    fn ended(&mut self, grid: GridId) -> TermRef {
        let ends: Vec<TermRef> =
            self.graph.hierarchy.threads_of_grid(grid).map(|agent| self.graph.completed[agent]).collect();
        self.graph.terms.and_all(ends)
    }

    fn cta_ended(&mut self, cta: CtaId) -> TermRef {
        let ends: Vec<TermRef> =
            self.graph.hierarchy.threads_of_cta(cta).map(|agent| self.graph.completed[agent]).collect();
        self.graph.terms.and_all(ends)
    }

    fn triggered(&mut self, cta: CtaId) -> TermRef {
        let guards = self.host.triggers.get(&cta).into_iter().flatten().map(|trigger| trigger.guard);
        let guards: Vec<TermRef> = guards.collect();
        self.graph.terms.or_all(guards)
    }

    fn names<'t>(&self, tasks: impl Iterator<Item = &'t TaskId>) -> Vec<String> {
        tasks.map(|&task| self.entry.tasks[task].name.clone()).collect()
    }

    fn ends(&self, grids: &[GridId]) -> Arc<[(AgentId, TermRef)]> {
        let threads = grids.iter().flat_map(|&grid| self.graph.hierarchy.threads_of_grid(grid));
        threads.map(|agent| (agent, self.graph.completed[agent])).collect()
    }

    pub(super) fn grid_dependency(
        &mut self,
        step: &mut Step<'_>,
        action: GridDependency,
    ) -> Result<(), UnrollError> {
        // Without a program nothing depends on this grid, nor does it on anything.
        let grid = self.graph.hierarchy.grid_of(self.agent);
        let Some(&task) = self.host.task_of.get(grid) else { return Ok(()) };
        match action {
            GridDependency::LaunchDependents => {
                let kind = EventKind::Grid(GridEvent::LaunchDependents);
                let event = self.emit_next(step.state.live, kind, step.site)?;
                let trigger = Trigger { event, agent: self.agent, guard: step.state.live };
                let cta = self.graph.hierarchy.cta_of(self.agent);
                self.host.triggers.entry(cta).or_default().push(trigger);
                Ok(())
            }
            GridDependency::Wait => {
                let before = self.entry.tasks[task].prerequisite;
                let grids = before.and_then(|before| self.on_device_of(grid, before)).into_iter().collect();
                self.wait_for_grids(step, grids, GridEvent::Wait)
            }
        }
    }

    /// Passes only once grids have ended.
    fn wait_for_grids(
        &mut self,
        step: &mut Step<'_>,
        grids: Vec<GridId>,
        kind: GridEvent,
    ) -> Result<(), UnrollError> {
        let ends: Vec<TermRef> = grids.iter().map(|&grid| self.ended(grid)).collect();
        let ended = self.graph.terms.and_all(ends);
        let not = self.graph.terms.not(ended);
        let stuck = self.graph.terms.and(step.state.live, not);
        if stuck != TermPool::FALSE && self.options.hangs {
            let tasks: SortedSet<TaskId> = grids.iter().map(|&grid| self.host.task_of[grid]).collect();
            let (names, awaited) = (self.names(tasks.iter()), self.ends(&grids));
            let (agent, iterations, calls) = (self.agent, self.iterations.clone(), self.calls.clone());
            let span = self.graph.sites[step.site].span;
            let wait = Wait::Grids { names, awaited, is_start: false };
            self.graph.blocked.push(Blocked { agent, span, iterations, calls, stuck, wait });
        }
        step.state.live = self.graph.terms.and(step.state.live, ended);
        let event = self.emit_next(step.state.live, EventKind::Grid(kind), step.site)?;
        self.host.waits.push((event, grids));
        Ok(())
    }

    /// Whether the host can do what an instruction does.
    pub(super) fn check_host(&self, instruction: &Instruction, span: Span) -> Result<(), UnrollError> {
        let is_known = instruction.form.traits.host
            && !matches!(
                instruction.kind,
                InstructionKind::Fence { restrict: Some(_), .. } | InstructionKind::ProxyFence(_)
            );
        if is_known || !self.graph.hierarchy.is_host(self.agent) {
            return Ok(());
        }
        Err(UnrollError::unsupported(
            "unsupported::host-instruction",
            format!("the host does not execute `{}`", instruction.text),
            span,
            "in a program; it has loads, stores, atomics and fences",
        ))
    }

    /// Starts and ends of grids, and what comes before and after them.
    fn finish_grids(&mut self) -> Result<(), UnrollError> {
        let mut lives: SortedMap<GridId, (EventId, EventId)> = SortedMap::new();
        let mut edges: Vec<(EventId, EventId)> = Vec::new();
        for (grid, started) in self.host.started.clone() {
            let ended = self.ended(grid);
            let launched = self.graph.terms.not(self.host.absent[self.host.task_of[grid]]);
            let ended = self.graph.terms.and(ended, launched);
            let start = self.graph.emit_unowned(started, EventKind::Grid(GridEvent::Start(grid)))?;
            let end = self.graph.emit_unowned(ended, EventKind::Grid(GridEvent::End(grid)))?;
            edges.push((start, end));
            lives.insert(grid, (start, end));
        }
        for (id, event) in self.graph.events.iter_enumerated() {
            let Some(agent) = event.agent else { continue };
            let Some(&(start, end)) = lives.get(&self.graph.hierarchy.grid_of(agent)) else { continue };
            if !self.graph.hierarchy.is_operation(agent) {
                edges.push((start, id));
            }
            edges.push((id, end));
        }
        for (&grid, &(start, _)) in &lives {
            let task = self.host.task_of[grid];
            edges.push((self.host.enqueued[&task], start));
            for &before in &self.entry.tasks[task].after {
                if let Some(before) = self.on_device_of(grid, before) {
                    edges.push((lives[&before].1, start));
                }
            }
        }
        for (wait, grids) in &self.host.waits {
            edges.extend(grids.iter().map(|grid| (lives[grid].1, *wait)));
        }
        let edges = edges.into_iter();
        *self.graph.edges.single_mut(BaseRelation::ApiSynchronization) =
            edges.map(|(from, wait)| Edge { from, to: wait, condition: TermPool::TRUE }).collect();
        for (&grid, &(start, _)) in &lives {
            let before = self.entry.tasks[self.host.task_of[grid]].prerequisite;
            if let Some(before) = before.and_then(|before| self.on_device_of(grid, before)) {
                let (from, condition) = (lives[&before].1, TermPool::TRUE);
                self.graph.edges.add(BaseRelation::Overlapping, Edge { from, to: start, condition });
                self.trigger_from(before, start);
            }
        }
        Ok(())
    }

    /// Tasks that the host surely never gets to: their threads wait for what it waits for.
    fn abandon_rest(&mut self) {
        let last = self.host.waits.last().map(|(_, grids)| grids.clone()).unwrap_or_default();
        let tasks: SortedSet<TaskId> = last.iter().map(|&grid| self.host.task_of[grid]).collect();
        let (names, awaited) = (self.names(tasks.iter()), self.ends(&last));
        let wait = Wait::Grids { names, awaited, is_start: true };
        for (id, task) in self.entry.tasks.iter_enumerated() {
            if self.host.enqueued.contains_key(&id) {
                continue;
            }
            let launched = self.graph.terms.not(self.host.absent[id]);
            for grid in self.host.grids[id].clone() {
                self.block_start(grid, task.span, launched, &wait);
                self.end_absent(id, grid);
            }
        }
    }

    /// What each CTA of a grid does before a dependent one may start: its first `launch_dependents`, or its end.
    fn trigger_from(&mut self, grid: GridId, start: EventId) {
        for cta in self.graph.hierarchy.ctas_of_grid(grid).collect::<Vec<_>>() {
            let firsts = self.first_triggers(cta);
            self.graph.edges.add_all(
                BaseRelation::Triggers,
                firsts.into_iter().map(|(from, condition)| Edge { from, to: start, condition }),
            );
            let triggered = self.triggered(cta);
            let condition = self.graph.terms.not(triggered);
            if condition == TermPool::FALSE {
                continue;
            }
            let is_trigger = |kind: &EventKind| matches!(kind, EventKind::Grid(GridEvent::LaunchDependents));
            let own = self.graph.events.iter_enumerated().filter(|(_, event)| {
                !is_trigger(&event.kind)
                    && event.agent.is_some_and(|agent| self.graph.hierarchy.cta_of(agent) == cta)
            });
            let own: Vec<EventId> = own.map(|(id, _)| id).collect();
            let edges = own.into_iter().map(|from| Edge { from, to: start, condition });
            self.graph.edges.add_all(BaseRelation::Triggers, edges);
        }
    }

    /// The instances of `launch_dependents` in a CTA, each with the condition under which it is the first: further ones
    /// have no effect (AS-40). Which thread is the first is a choice, and one of order (`bar-order`).
    fn first_triggers(&mut self, cta: CtaId) -> Vec<(EventId, TermRef)> {
        let all = self.host.triggers.get(&cta).cloned().unwrap_or_default();
        let mut by_thread: SortedMap<AgentId, Vec<(EventId, TermRef)>> = SortedMap::new();
        let mut done: SortedMap<AgentId, TermRef> = SortedMap::new();
        for trigger in all {
            let before = done.entry(trigger.agent).or_insert(TermPool::FALSE);
            let terms = &mut self.graph.terms;
            let none_before = terms.not(*before);
            let is_first = terms.and(trigger.guard, none_before);
            *before = terms.or(*before, trigger.guard);
            if is_first != TermPool::FALSE {
                by_thread.entry(trigger.agent).or_default().push((trigger.event, is_first));
            }
        }
        if by_thread.len() <= 1 {
            return by_thread.into_values().flatten().collect();
        }
        let chosen: Vec<(AgentId, TermRef)> = by_thread
            .keys()
            .map(|&agent| (agent, self.graph.terms.fresh(1, UnknownKind::Triggers(agent)).1))
            .collect();
        let any = self.triggered(cta);
        let mut one = Vec::new();
        for (at, &(agent, this)) in chosen.iter().enumerate() {
            let terms = &mut self.graph.terms;
            one.push(this);
            let term = terms.implies(this, done[&agent]);
            self.graph.constrain(term);
            for &(_, other) in &chosen[at + 1..] {
                let both = self.graph.terms.and(this, other);
                let term = self.graph.terms.not(both);
                self.graph.constrain(term);
            }
        }
        let some = self.graph.terms.or_all(one);
        let term = self.graph.terms.implies(any, some);
        self.graph.constrain(term);
        let mut firsts = Vec::new();
        for &(agent, this) in &chosen {
            for &(event, is_first) in &by_thread[&agent] {
                let condition = self.graph.terms.and(this, is_first);
                firsts.push((event, condition));
                let others = by_thread.iter().filter(|&(&other, _)| other != agent);
                let later = others.flat_map(|(_, instances)| instances);
                self.graph.edges.add_all(
                    BaseRelation::BarrierOrder,
                    later.map(|&(wait, _)| Edge { from: event, to: wait, condition }),
                );
            }
        }
        firsts
    }
}
