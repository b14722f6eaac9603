//! Candidate executions: one run per thread, then every reads-from, Fence-SC order and coherence order.

use super::deadlock::{self, Standstill};
use super::edition::Edition;
use super::event::{BarrierKey, Event, Kind, Misuse};
use super::interpreter::{End, Run, Thread};
use super::mbarrier::{self, Phases};
use super::memory::Memory;
use super::meter::Meter;
use super::model::{Causality, Model};
use super::relation::Relation;
use super::{Effort, Reference, TooLarge, race};
use fencepost_dsl::Span;
use fencepost_dsl::kernel::program::{ElementKind, Kernel, Object};
use fencepost_dsl::vocabulary::{Scope, Space};
use std::collections::{BTreeMap, BTreeSet};

/// One run of every thread, and the initial writes.
#[derive(Clone)]
pub struct Combination {
    /// Initial writes first, then each thread's events in program order.
    pub events: Vec<Event>,
    /// Initial writes, one per granule.
    pub n_initial: usize,
    /// Program order.
    pub po: Relation,
    /// How each thread's run ends.
    pub ends: Vec<End>,
    /// From what lets a thread through a barrier or a phase to its getting through: arrivals, and exits.
    pub releases_wait: Relation,
    /// The part of it that synchronizes (MM-34, MM-37).
    pub barrier_sw: Relation,
    /// From an exit to the barriers that are passed because of it.
    pub exit_sw: Relation,
    /// The part of it that may be the middle of a release and an acquire pattern (MB-22, BR-14).
    pub signals: Relation,
    /// From signals of asynchronous operations to the waits that their phase lets through (MB-24).
    pub async_signals: Relation,
    /// How operations on mbarriers find them.
    pub phases: Phases,
    /// Assertions that do not hold.
    pub failed: BTreeSet<Span>,
}

impl Combination {
    /// Whether `b`'s thread is in `scope` as seen from `a`'s thread.
    pub fn in_scope(threads: &[Thread], a: usize, scope: Scope, b: usize) -> bool {
        let (a, b) = (&threads[a], &threads[b]);
        match scope {
            Scope::Cta => a.cta() == b.cta(),
            Scope::Cluster => a.gpu == b.gpu && a.cluster == b.cluster,
            Scope::Gpu => a.gpu == b.gpu,
            Scope::Sys => true,
        }
    }

    /// Whether every thread finished.
    pub fn is_complete(&self) -> bool {
        self.ends.iter().all(|end| *end == End::Finished)
    }

    /// Program order, and that an operation comes after its start and what it follows.
    pub fn happening(&self) -> Relation {
        let mut order = self.po.clone();
        for (position, event) in self.events.iter().enumerate() {
            for &earlier in event.operation.iter().chain(&event.follows) {
                order.insert(earlier, position);
            }
        }
        order
    }

    /// The combination with a choice of phases.
    fn with_phases(&self, phases: Phases) -> Self {
        let mut combination = Self { phases, ..self.clone() };
        combination.signals.add(&combination.phases.signals(&self.events));
        combination.async_signals = combination.phases.async_signals(&self.events);
        combination.releases_wait.add(&combination.phases.completions(&self.events));
        combination
    }

    /// Puts runs together; `None` where somebody got through a barrier at which somebody else never arrives.
    fn new(memory: &Memory, threads: &[Thread], runs: &[&Run]) -> Option<Self> {
        let mut events = Vec::new();
        for (granule, &value) in memory.initial.iter().enumerate() {
            let mut event = Event::new(Kind::Write, None);
            event.granules = vec![granule];
            event.values = vec![value];
            events.push(event);
        }
        let n_initial = events.len();
        for run in runs {
            let base = events.len();
            for event in &run.events {
                let mut event = event.clone();
                event.dependencies = event.dependencies.iter().map(|&read| base + read).collect();
                event.control = event.control.iter().map(|&read| base + read).collect();
                event.decided = event.decided.iter().map(|&read| base + read).collect();
                event.past = event.past.iter().map(|&read| base + read).collect();
                event.follows = event.follows.iter().map(|&done| base + done).collect();
                event.operation = event.operation.map(|issue| base + issue);
                event.since = event.since.map(|fence| base + fence);
                events.push(event);
            }
        }
        let n = events.len();
        let mut po = Relation::new(n);
        for a in n_initial..n {
            for b in a + 1..n {
                let is_async = events[a].operation.is_some() || events[b].operation.is_some();
                // Accesses by one `multimem` instruction: only the halves of an atomic are in order.
                let is_apart = events[a].group.is_some()
                    && events[a].group == events[b].group
                    && !(b == a + 1 && events[b].of_atomic);
                if events[a].thread == events[b].thread && !is_async && !is_apart {
                    po.insert(a, b);
                }
            }
        }
        let ends = runs.iter().map(|run| run.end).collect();
        let Barriers { releases_wait, barrier_sw, exit_sw, signals } = Barriers::new(threads, &events)?;
        let phases = Phases::default();
        let async_signals = Relation::new(n);
        let failed = runs.iter().flat_map(|run| &run.failed).copied().collect();
        Some(Self {
            events,
            n_initial,
            po,
            ends,
            releases_wait,
            barrier_sw,
            exit_sw,
            signals,
            async_signals,
            phases,
            failed,
        })
    }
}

/// What lets threads through barriers, and which of it synchronizes.
struct Barriers {
    releases_wait: Relation,
    barrier_sw: Relation,
    exit_sw: Relation,
    signals: Relation,
}

impl Barriers {
    fn new(threads: &[Thread], events: &[Event]) -> Option<Self> {
        let empty = || Relation::new(events.len());
        let mut barriers =
            Self { releases_wait: empty(), barrier_sw: empty(), exit_sw: empty(), signals: empty() };
        for (wait, event) in events.iter().enumerate() {
            let Kind::Wait(key, generation) = event.kind else { continue };
            let released_by = deadlock::released_by(threads, events, key, generation)?;
            for releasing in released_by {
                barriers.releases_wait.insert(releasing, wait);
                match (events[releasing].kind, key) {
                    (Kind::Exit, _) => barriers.exit_sw.insert(releasing, wait),
                    (_, BarrierKey::Cluster { .. }) => barriers.signals.insert(releasing, wait),
                    _ => barriers.barrier_sw.insert(releasing, wait),
                }
            }
        }
        Some(barriers)
    }
}

/// Where each read gets each of its granules: a write, by event and position in [`Event::granules`].
pub type ReadsFrom = BTreeMap<usize, Vec<usize>>;

/// Enumerates all executions.
pub fn enumerate(
    kernel: &Kernel,
    memory: &Memory,
    threads: &[Thread],
    runs: &[Vec<Run>],
    (edition, effort, meter): (Edition, Effort, &Meter),
) -> Result<Reference, TooLarge> {
    let n_combinations = runs.iter().try_fold(1usize, |n, runs| n.checked_mul(runs.len()));
    if n_combinations.is_none_or(|n| n > effort.combinations_max) {
        return Err(TooLarge);
    }
    let budget = effort.candidates_max;
    let reference = Reference::default();
    let mut search = Search { kernel, memory, threads, edition, budget, meter, reference };
    let values = Values::new(memory, runs).ok_or(TooLarge)?;
    search.combine(runs, &values, &mut Vec::new())?;
    Ok(search.reference)
}

/// Which values the runs read and write, as sets of a granule and a value each, by thread and run.
struct Values {
    read: Vec<Vec<u128>>,
    written: Vec<Vec<u128>>,
    /// By thread: what it and the threads after it write in some run.
    written_from: Vec<u128>,
}

impl Values {
    /// Nothing if there are too many values.
    fn new(memory: &Memory, runs: &[Vec<Run>]) -> Option<Self> {
        let mut numbers = BTreeMap::new();
        let mut set = |run: &Run, is_wanted: fn(&Event) -> bool| {
            let mut set = 0u128;
            for event in run.events.iter().filter(|event| is_wanted(event)) {
                for (&granule, &value) in event.granules.iter().zip(&event.values) {
                    let next = numbers.len();
                    let number = *numbers.entry((granule, value)).or_insert(next);
                    let is_there = memory.initial[granule] == value;
                    set |= if is_there { 0 } else { 1u128.checked_shl(number as u32)? };
                }
            }
            Some(set)
        };
        let mut of_all = |is_wanted| -> Option<Vec<Vec<u128>>> {
            runs.iter().map(|runs| runs.iter().map(|run| set(run, is_wanted)).collect()).collect()
        };
        let (read, written) = (of_all(Event::is_read)?, of_all(Event::is_write)?);
        let of_thread = |runs: &Vec<u128>| runs.iter().fold(0, |all, set| all | set);
        let mut written_from: Vec<u128> = written.iter().map(of_thread).collect();
        for thread in (1..written_from.len()).rev() {
            written_from[thread - 1] |= written_from[thread];
        }
        written_from.push(0);
        Some(Self { read, written, written_from })
    }

    /// Whether each value that these runs of the first threads read is initial, or written by one of them or in some run
    /// of another thread.
    fn may_all_be_written(&self, chosen: &[(usize, &Run)]) -> bool {
        let of_chosen = |sets: &[Vec<u128>]| {
            chosen.iter().enumerate().fold(0, |all, (thread, &(run, _))| all | sets[thread][run])
        };
        of_chosen(&self.read) & !(of_chosen(&self.written) | self.written_from[chosen.len()]) == 0
    }
}

struct Search<'a> {
    kernel: &'a Kernel,
    edition: Edition,
    memory: &'a Memory,
    threads: &'a [Thread],
    budget: usize,
    meter: &'a Meter,
    reference: Reference,
}

impl Search<'_> {
    fn combine<'r>(
        &mut self,
        runs: &'r [Vec<Run>],
        values: &Values,
        chosen: &mut Vec<(usize, &'r Run)>,
    ) -> Result<(), TooLarge> {
        self.meter.spend(1)?;
        if !values.may_all_be_written(chosen) {
            return Ok(());
        }
        if chosen.len() < runs.len() {
            for run in runs[chosen.len()].iter().enumerate() {
                chosen.push(run);
                self.combine(runs, values, chosen)?;
                chosen.pop();
            }
            return Ok(());
        }
        let chosen: Vec<&Run> = chosen.iter().map(|&(_, run)| run).collect();
        if chosen.iter().map(|run| run.events.len()).sum::<usize>() + self.memory.initial.len() > 64 {
            return Err(TooLarge);
        }
        let Some(combination) = Combination::new(self.memory, self.threads, &chosen) else { return Ok(()) };
        self.meter.spend(combination.events.len())?;
        let happening = combination.happening().closure();
        for phases in mbarrier::choices(&combination.events, &happening, self.meter)? {
            self.meter.spend(combination.events.len())?;
            let combination = combination.with_phases(phases);
            let model = Model::new(&combination, self.threads, self.edition);
            self.choose_reads_from(&model, &mut ReadsFrom::new())?;
        }
        Ok(())
    }

    fn choose_reads_from(&mut self, model: &Model<'_>, rf: &mut ReadsFrom) -> Result<(), TooLarge> {
        let events = &model.combination.events;
        self.meter.spend(1)?;
        let open = |read: &usize| {
            events[*read].is_read() && rf.get(read).is_none_or(|s| s.len() < events[*read].granules.len())
        };
        let Some(read) = (0..events.len()).find(open) else { return self.choose_fence_order(model, rf) };
        let position = rf.get(&read).map_or(0, Vec::len);
        let (granule, value) = (events[read].granules[position], events[read].values[position]);
        for (write, event) in events.iter().enumerate() {
            let at = event.granules.iter().position(|&g| g == granule).filter(|_| event.is_write());
            if at.is_some_and(|at| event.values[at] == value) {
                rf.entry(read).or_default().push(write);
                self.choose_reads_from(model, rf)?;
                rf.get_mut(&read).expect("just used").pop();
            }
        }
        Ok(())
    }

    fn choose_fence_order(&mut self, model: &Model<'_>, rf: &ReadsFrom) -> Result<(), TooLarge> {
        self.meter.spend(model.combination.events.len())?;
        let justified = model.justification(rf);
        if !model.no_thin_air(rf) || !(model.edition.past_joins || justified.is_irreflexive()) {
            return self.spend();
        }
        let no_order = Relation::new(model.combination.events.len());
        for sc in choices(&model.fence_pairs(), &no_order, self.meter)? {
            self.spend()?;
            let Some(causality) = model.causality(rf, &sc) else { continue };
            if !model.phases_have_order(rf, &justified, &causality) {
                continue;
            }
            let (pairs, forced) = (model.write_pairs(&causality), model.forced_coherence(&causality));
            for co in choices(&pairs, &forced, self.meter)? {
                self.spend()?;
                if model.allows(rf, &causality, &co) {
                    self.record(model, rf, &justified, &causality, &co);
                }
            }
        }
        Ok(())
    }

    fn spend(&mut self) -> Result<(), TooLarge> {
        self.budget = self.budget.checked_sub(1).ok_or(TooLarge)?;
        self.meter.spend(1)
    }

    fn record(
        &mut self,
        model: &Model<'_>,
        rf: &ReadsFrom,
        justified: &Relation,
        causality: &Causality,
        co: &Relation,
    ) {
        let combination = model.combination;
        let mut before = justified.clone();
        before.add(&causality.base);
        let Some(misuses) = deadlock::misuses(self.threads, combination, &before.closure()) else { return };
        self.reference.n_executions += 1;
        if let Some(tensor) = &causality.tensor {
            self.reference.misuses.extend(model.tensor_misuses(tensor));
        }
        self.reference.misuses.extend(mbarrier::misuses(
            &combination.events,
            &causality.base,
            &combination.phases,
        ));
        if combination.phases.has_undefined() {
            return;
        }
        self.reference.misuses.extend(misuses);
        self.reference.misuses.extend(model.lifetime_misuses(rf, justified, causality));
        // A-44, or because the arrival could not have happened otherwise.
        let mut surely_before = justified.closure();
        surely_before.add(&causality.base);
        if !combination.phases.are_waited_for(&combination.events, &surely_before) {
            self.reference.misuses.insert(Misuse::PhaseNotWaitedFor);
        }
        self.reference.misuses.extend(combination.phases.broken());
        if combination.phases.has_stale_state(&combination.events) {
            self.reference.misuses.insert(Misuse::StaleState);
        }
        match deadlock::standstill(self.threads, combination, rf, co) {
            Standstill::None => {}
            Standstill::Moving => self.reference.endless = true,
            Standstill::Hang => self.reference.deadlocks = true,
        }
        self.reference.cut |= combination.ends.contains(&End::Cut);
        self.reference.failed_assertions.extend(&combination.failed);
        let races = race::races(model, &causality.cause);
        self.reference.races |= !races.is_empty();
        self.reference.racing_places.extend(races.iter().filter_map(|&(a, b)| {
            let place = |event: usize| {
                let event = &model.combination.events[event];
                Some((event.thread?, event.source?))
            };
            Some([place(a)?, place(b)?])
        }));
        self.reference.racing_statements.extend(races.iter().filter_map(|&(a, b)| {
            let statement = |event: usize| model.combination.events[event].statement;
            let (a, b) = (statement(a)?, statement(b)?);
            Some([a.min(b), a.max(b)])
        }));
        for read in model.unacquired_maps().into_iter().chain(model.unwritten_maps(rf)) {
            self.reference.races = true;
            self.reference.racing_statements.extend(combination.events[read].statement.map(|s| [s, s]));
        }
        self.reference.mixed_size_races |= races.iter().any(|&(a, b)| !model.overlaps_completely(a, b));
        if combination.is_complete() {
            self.record_outcomes(model, co);
        }
    }

    /// One value for each granule of global memory, then what each element makes of them.
    fn record_outcomes(&mut self, model: &Model<'_>, co: &Relation) {
        let globals = || {
            let is_data =
                |object: &&Object| object.space == Space::Global && object.element != ElementKind::Tensormap;
            let objects = self.kernel.objects.iter().filter(is_data);
            objects.flat_map(|object| self.memory.elements(object))
        };
        let granules: BTreeSet<usize> = globals().flat_map(|(.., granules)| granules).collect();
        let mut memories: Vec<BTreeMap<usize, u64>> = vec![BTreeMap::new()];
        for granule in granules {
            let mut longer = Vec::new();
            for memory in &memories {
                for value in race::final_values(model, co, granule) {
                    let mut memory = memory.clone();
                    memory.insert(granule, value);
                    longer.push(memory);
                }
            }
            memories = longer;
        }
        for memory in memories {
            let value_of = |(name, storage, granules): (String, u32, Vec<usize>)| {
                let parts: Vec<u64> = granules.iter().map(|g| memory[g]).collect();
                (name, self.memory.join(storage, &parts))
            };
            self.reference.outcomes.insert(globals().map(value_of).collect());
        }
    }
}

/// All transitive orders around `forced` in which each of `pairs` is related one way or the other.
fn choices(pairs: &[(usize, usize)], forced: &Relation, meter: &Meter) -> Result<Vec<Relation>, TooLarge> {
    meter.spend(1)?;
    let closed = forced.closure();
    if !closed.is_irreflexive() {
        return Ok(Vec::new());
    }
    let Some((&(a, b), rest)) = pairs.split_first() else { return Ok(vec![closed]) };
    let mut result = Vec::new();
    for (from, to) in [(a, b), (b, a)] {
        let mut with = closed.clone();
        with.insert(from, to);
        result.extend(choices(rest, &with, meter)?);
    }
    Ok(result)
}
