//! PTX's memory model over one combination of runs, in the words of the specification's §1, as an edition reads them.
//!
//! Readings where `edition` does not say otherwise: A-1 (overlap per byte), A-2 (an alias is another proxy), A-4, A-5,
//! A-16 (the owner's CTA; none between async accesses of a cluster), A-17 (a
//! proxy fence is in the CTA of the access whose proxy it is of), A-19, A-20 (cumulative), A-22, A-27 (the signal is of the
//! issuing CTA), A-31 (reads as well), A-37, A-38 (branches that decide about a store), A-45, A-46.

mod asynchronous;
mod lifetime;
mod tensor_memory;

use super::edition::{ControlDependencies, Edition, FenceSc, ScPerLocation};
use super::event::{Event, Kind};
use super::execution::{Combination, ReadsFrom};
use super::interpreter::Thread;
use super::relation::Relation;
use fencepost_dsl::vocabulary::{Proxy, ProxyFence};
pub use tensor_memory::TensorOrder;

/// A combination with everything that does not depend on who reads from whom.
pub struct Model<'a> {
    /// The events.
    pub combination: &'a Combination,
    /// The reading.
    pub edition: Edition,
    /// Morally strong pairs (MM-18).
    pub ms: Relation,
    /// The CTA of each thread.
    ctas: Vec<u32>,
    /// CTAs of a cluster.
    cluster_size: u32,
    /// Release patterns: first operation, and the strong write (§1.8).
    release_patterns: Vec<(usize, usize)>,
    /// Acquire patterns: the strong read, and last operation (§1.8).
    acquire_patterns: Vec<(usize, usize)>,
}

/// What follows from a choice of reads-from and Fence-SC order.
pub struct Causality {
    /// Causality order (MM-42), initial writes first (MM-10).
    pub cause: Relation,
    /// Base causality (MM-40).
    pub base: Relation,
    /// Tensor memory, if anybody uses it.
    pub tensor: Option<TensorOrder>,
}

impl<'a> Model<'a> {
    /// Prepares a combination.
    pub fn new(combination: &'a Combination, threads: &[Thread], edition: Edition) -> Self {
        let n = combination.events.len();
        let mut model = Self {
            combination,
            edition,
            ms: Relation::new(n),
            ctas: threads.iter().map(Thread::cta).collect(),
            cluster_size: threads.first().map_or(1, |thread| thread.launch.cluster),
            release_patterns: Vec::new(),
            acquire_patterns: Vec::new(),
        };
        for a in combination.n_initial..n {
            for b in combination.n_initial..n {
                if a != b && model.is_morally_strong(threads, a, b) {
                    model.ms.insert(a, b);
                }
            }
        }
        model.release_patterns = model.find_release_patterns();
        model.acquire_patterns = model.find_acquire_patterns();
        model
    }

    fn event(&self, event: usize) -> &'a Event {
        &self.combination.events[event]
    }

    fn po(&self, a: usize, b: usize) -> bool {
        self.combination.po.contains(a, b)
    }

    fn all(&self) -> std::ops::Range<usize> {
        0..self.combination.events.len()
    }

    /// MM-5: both cover the same bytes.
    pub fn overlaps_completely(&self, a: usize, b: usize) -> bool {
        self.event(a).granules == self.event(b).granules
    }

    /// Through one virtual address, as far as the edition tells addresses of a location apart.
    fn same_address(&self, a: usize, b: usize) -> bool {
        !self.edition.tells_aliases_apart || self.is_one_mapping(a, b)
    }

    /// MM-6; a multimem address counts as the own one of each of its locations if the edition says so.
    fn is_one_mapping(&self, a: usize, b: usize) -> bool {
        let (ea, eb) = (self.event(a), self.event(b));
        ea.mapping == eb.mapping || (self.edition.multimem_is_no_alias && (ea.is_multimem || eb.is_multimem))
    }

    fn same_proxy(&self, a: usize, b: usize) -> bool {
        !self.edition.tells_proxies_apart || self.event(a).proxy == self.event(b).proxy
    }

    /// MM-24, A-7, A-40.
    fn may_acquire(&self, read: usize) -> bool {
        let event = self.event(read);
        let of_its_own = event.acquire && self.edition.sinks_acquire;
        self.edition.reductions_acquire || !event.never_acquires && (!event.is_dropped || of_its_own)
    }

    fn is_initial(&self, event: usize) -> bool {
        event < self.combination.n_initial
    }

    /// MM-18.
    fn is_morally_strong(&self, threads: &[Thread], a: usize, b: usize) -> bool {
        let (ea, eb) = (self.event(a), self.event(b));
        let (Some(ta), Some(tb)) = (ea.thread, eb.thread) else { return false };
        let mutual = ea.strong
            && eb.strong
            && Combination::in_scope(threads, ta, ea.scope, tb)
            && Combination::in_scope(threads, tb, eb.scope, ta);
        if !(self.po(a, b) || self.po(b, a) || mutual) {
            return false;
        }
        if !self.same_proxy(a, b) {
            return false;
        }
        if ea.is_memory() && eb.is_memory() {
            return self.same_address(a, b) && self.overlaps_completely(a, b);
        }
        true
    }

    fn pattern_address(&self, a: usize, b: usize) -> bool {
        !self.edition.patterns_by_address || self.same_address(a, b)
    }

    /// §1.8. "On M" is a location: the same bytes, whatever the address unless the edition says so.
    fn find_release_patterns(&self) -> Vec<(usize, usize)> {
        let mut patterns = Vec::new();
        for write in self.all().filter(|&e| !self.is_initial(e) && self.event(e).is_write()) {
            let w = self.event(write);
            if !w.strong {
                continue;
            }
            if w.release {
                patterns.push((write, write));
            }
            if let Some(issue) = w.operation {
                // §1.8, 4 and 5: the fence, or the release operation, comes before what is started.
                patterns.extend(self.event(issue).release.then_some((issue, write)));
                let fences = self.all().filter(|&first| self.po(first, issue));
                let fences =
                    fences.filter(|&first| self.event(first).release && self.event(first).is_fence());
                patterns.extend(fences.map(|first| (first, write)));
            }
            for first in self.all().filter(|&first| self.po(first, write)) {
                let f = self.event(first);
                let on_m = f.is_write() && f.location == w.location && self.pattern_address(first, write);
                if f.release && (self.event(first).is_fence() || on_m) {
                    patterns.push((first, write));
                }
            }
        }
        patterns
    }

    fn find_acquire_patterns(&self) -> Vec<(usize, usize)> {
        let mut patterns = Vec::new();
        for read in self.all().filter(|&e| self.event(e).is_read()) {
            let r = self.event(read);
            if !r.strong || !self.may_acquire(read) {
                continue;
            }
            if r.acquire {
                patterns.push((read, read));
            }
            for last in self.all().filter(|&last| self.po(read, last)) {
                let l = self.event(last);
                let on_m = l.is_read() && self.may_acquire(last) && l.location == r.location;
                let on_m = on_m && self.pattern_address(read, last);
                if l.acquire && (self.event(last).is_fence() || on_m) {
                    patterns.push((read, last));
                }
            }
        }
        patterns
    }

    fn reads_any_byte(&self, rf: &ReadsFrom, write: usize, read: usize) -> bool {
        rf.get(&read).is_some_and(|sources| sources.contains(&write))
    }

    fn rf_relation(&self, rf: &ReadsFrom) -> Relation {
        let mut relation = Relation::new(self.combination.events.len());
        for (&read, sources) in rf {
            for &write in sources {
                relation.insert(write, read);
            }
        }
        relation
    }

    /// The write part of the atomic whose read part this is.
    pub fn write_part(&self, read: usize) -> Option<usize> {
        let next = self.combination.events.get(read + 1)?;
        (self.event(read).is_read() && next.of_atomic).then_some(read + 1)
    }

    /// AX-4 with A-38: values do not justify themselves.
    pub fn no_thin_air(&self, rf: &ReadsFrom) -> bool {
        let mut flow = self.rf_relation(rf);
        for write in self.all() {
            for &read in &self.event(write).dependencies {
                flow.insert(read, write);
            }
        }
        for event in self.all() {
            let deciding = match self.edition.control_dependencies {
                ControlDependencies::OfStores => &self.event(event).decided,
                ControlDependencies::All => &self.event(event).control,
            };
            for &read in deciding {
                flow.insert(read, event);
            }
        }
        if self.edition.past_joins {
            self.add_what_is_brought_about(&mut flow);
        }
        flow.is_acyclic()
    }

    /// What others bring about, what comes after it, and what depends on how its thread came past other places.
    fn add_what_is_brought_about(&self, flow: &mut Relation) {
        flow.add(&self.combination.releases_wait);
        for (event, own) in self.all().map(|event| (event, self.event(event))) {
            for &earlier in own.past.iter().chain(&own.operation) {
                flow.insert(earlier, event);
            }
            // What an operation has read says nothing of when it is over; that it was started does.
            for &over in &own.follows {
                let cause =
                    if self.event(over).is_memory() { self.event(over).operation } else { Some(over) };
                cause.into_iter().for_each(|cause| flow.insert(cause, event));
            }
            if !own.is_memory() {
                self.all().filter(|&later| self.po(event, later)).for_each(|later| flow.insert(event, later));
            }
            if own.decides {
                let exits =
                    self.all().filter(|&exit| self.event(exit).kind == Kind::Exit && self.po(event, exit));
                exits.for_each(|exit| flow.insert(event, exit));
            }
        }
    }

    /// What lets a blocked thread go on has happened, by an order over program order and unblocking, which must be
    /// well-founded: this is its closure.
    pub fn justification(&self, rf: &ReadsFrom) -> Relation {
        let mut order = self.combination.happening();
        order.add(&self.combination.releases_wait);
        for (&read, sources) in rf {
            if self.event(read).unblocks {
                for &write in sources {
                    order.insert(write, read);
                }
            }
        }
        // An exit that lets somebody through has happened, hence also the writes that decided that it would.
        for (&read, sources) in rf.iter().filter(|(read, _)| self.event(**read).decides) {
            for exit in self.all().filter(|&exit| self.event(exit).kind == Kind::Exit && self.po(read, exit))
            {
                for wait in self.all().filter(|&wait| self.combination.releases_wait.contains(exit, wait)) {
                    for &write in sources {
                        order.insert(write, wait);
                    }
                }
            }
        }
        order.closure()
    }

    /// MB-20: the operations on each mbarrier are one after the other, as they found it, in an order that agrees with base
    /// causality, and if the edition wants it with what waits have seen.
    pub fn phases_have_order(&self, rf: &ReadsFrom, justified: &Relation, causality: &Causality) -> bool {
        let mut before = causality.base.clone();
        if self.edition.waits_decide {
            before.add(&self.decided_by_waits(rf, justified));
        }
        self.combination.phases.have_order(&self.combination.events, &before.closure())
    }

    /// From each wait that has passed to the operations on its mbarrier that would not have been made if it had not.
    fn decided_by_waits(&self, rf: &ReadsFrom, justified: &Relation) -> Relation {
        let mut onward = justified.clone();
        for (&read, sources) in rf {
            let decided = self.all().filter(|&event| {
                let event = self.event(event);
                event.control.contains(&read) || event.dependencies.contains(&read)
            });
            let decided: Vec<usize> = decided.collect();
            for &write in sources.iter().filter(|&&write| self.ms.contains(write, read)) {
                decided.iter().for_each(|&event| onward.insert(write, event));
            }
        }
        let (onward, mut pairs) = (onward.closure(), Relation::new(self.combination.events.len()));
        let operation = |event: usize| match self.event(event).kind {
            Kind::Mbarrier(operation) => Some(operation),
            _ => None,
        };
        for (wait, seen) in self.all().filter_map(|event| Some((event, operation(event)?))) {
            let others = self.all().filter(|&other| {
                operation(other).is_some_and(|other| other.object == seen.object)
                    && onward.contains(wait, other)
            });
            if seen.action.passes() {
                others.for_each(|other| pairs.insert(wait, other));
            }
        }
        pairs
    }

    /// Morally strong pairs of `fence.sc` (MM-32).
    pub fn fence_pairs(&self) -> Vec<(usize, usize)> {
        let mut pairs = Vec::new();
        for a in self.all() {
            for b in a + 1..self.all().end {
                if self.event(a).is_fence_sc() && self.event(b).is_fence_sc() && self.ms.contains(a, b) {
                    pairs.push((a, b));
                }
            }
        }
        pairs
    }

    /// What a morally strong read takes from a write: one step of observation.
    fn direct_observation(&self, rf: &ReadsFrom) -> Relation {
        let mut obs = Relation::new(self.combination.events.len());
        for (&read, sources) in rf {
            for &write in sources {
                if self.ms.contains(write, read) {
                    obs.insert(write, read);
                }
            }
        }
        obs
    }

    /// Observation order (MM-31).
    fn observation(&self, rf: &ReadsFrom) -> Relation {
        let mut obs = self.direct_observation(rf);
        loop {
            let mut grown = obs.clone();
            for read in self.all() {
                let Some(part) = self.write_part(read) else { continue };
                for write in self.all().filter(|&write| obs.contains(write, read)) {
                    for last in self.all().filter(|&last| obs.contains(part, last)) {
                        grown.insert(write, last);
                    }
                }
            }
            if grown == obs {
                return obs;
            }
            obs = grown;
        }
    }

    /// MM-36 as MB-22, BR-12 and BR-14 read it: an arrival stands for a strong write that each wait it lets through has read,
    /// so both must be in each other's scope, and so must be the ends of the patterns around them.
    fn add_signals(&self, sw: &mut Relation) {
        for arrival in self.all().filter(|&arrival| self.event(arrival).operation.is_none()) {
            for wait in self.all() {
                if !self.combination.signals.contains(arrival, wait) || !self.ms.contains(arrival, wait) {
                    continue;
                }
                let first = self.all().filter(|&first| {
                    (first == arrival && self.event(arrival).release)
                        || (self.po(first, arrival)
                            && self.event(first).release
                            && self.event(first).is_fence())
                });
                for first in first {
                    for last in self.acquired_at(wait) {
                        if self.ms.contains(first, last) {
                            sw.insert(first, last);
                        }
                    }
                }
            }
        }
    }

    /// Last operations of the acquire patterns that start with a wait.
    fn acquired_at(&self, wait: usize) -> impl Iterator<Item = usize> + '_ {
        let is_last = move |last: usize| {
            (last == wait && self.event(wait).acquire)
                || (self.po(wait, last) && self.event(last).acquire && self.event(last).is_fence())
        };
        self.all().filter(move |&last| is_last(last))
    }

    /// MM-33 to MM-42; `None` where the Fence-SC axiom fails (AX-2 with A-12), or where an operation on tensor memory would
    /// come before itself.
    pub fn causality(&self, rf: &ReadsFrom, sc: &Relation) -> Option<Causality> {
        let n = self.combination.events.len();
        let obs = self.observation(rf);
        let mut sw = self.combination.barrier_sw.clone();
        if self.edition.exits_order {
            sw.add(&self.combination.exit_sw);
        }
        sw.add(sc);
        for &(first, write) in &self.release_patterns {
            for &(read, last) in &self.acquire_patterns {
                if obs.contains(write, read) && self.ms.contains(first, last) {
                    sw.insert(first, last);
                }
            }
        }
        self.add_signals(&mut sw);
        let bc = self.with_operations(&self.base_causality(&sw));
        let mut cause = if self.edition.causality_by_location {
            let ppbc = self.proxy_preserved(&bc);
            let mut cause = if self.edition.causality_through_atomics {
                obs.then(&ppbc)
            } else {
                self.direct_observation(rf).then(&ppbc)
            };
            cause.add(&ppbc);
            cause.add(&self.across_halves(&obs, &bc));
            cause
        } else {
            let mut after = bc.clone();
            after.add(&self.program_order_by_location());
            let mut cause = obs.then(&after);
            cause.add(&bc);
            cause
        };
        let tensor = self.tensor_order(rf, sc);
        if !self.add_tensor_order(tensor.as_ref(), &mut cause) {
            return None;
        }
        let forbidden = match self.edition.fence_sc {
            FenceSc::AgainstBaseCausality => {
                let mut before = bc.clone();
                before.add(&obs.then(&bc));
                sc.then(&before)
            }
            FenceSc::AgainstCausality => sc.then(&cause),
            FenceSc::OrderOnly => sc.closure(),
        };
        if !forbidden.is_irreflexive() {
            return None;
        }
        for initial in 0..self.combination.n_initial {
            for event in self.combination.n_initial..n {
                if self.event(event).is_memory() {
                    cause.insert(initial, event);
                }
            }
        }
        Some(Causality { cause, base: bc, tensor })
    }

    fn cta(&self, event: usize) -> Option<u32> {
        self.event(event).thread.map(|thread| self.ctas[thread])
    }

    /// MM-41 and §1.17: the fences, in this order, that a path between accesses of one location has to come through; for
    /// the fence of a proxy also the CTA it has to be in.
    fn proxy_fences_needed(&self, a: usize, b: usize) -> Vec<(ProxyFence, Option<u32>)> {
        let (ea, eb) = (self.event(a), self.event(b));
        let is_same_address = self.is_one_mapping(a, b);
        if is_same_address && ea.proxy == eb.proxy && self.cta(a) == self.cta(b) {
            return Vec::new();
        }
        let mut stops = Vec::new();
        if ea.proxy != Proxy::Generic {
            stops.push((ProxyFence::With(ea.proxy), self.cta(a)));
        }
        if !is_same_address {
            stops.push((ProxyFence::Alias, None));
        }
        if eb.proxy != Proxy::Generic {
            stops.push((ProxyFence::With(eb.proxy), self.cta(b)));
        }
        stops
    }

    /// Whether base causality leads from `from` to `to` through all the stops in turn.
    fn path_has(&self, bc: &Relation, from: usize, stops: &[(ProxyFence, Option<u32>)], to: usize) -> bool {
        let Some((&(fence, cta), rest)) = stops.split_first() else { return bc.contains(from, to) };
        self.all().any(|stop| {
            let is_in_place = cta.is_none() || self.cta(stop) == cta;
            self.event(stop).kind == Kind::ProxyFence(fence)
                && is_in_place
                && bc.contains(from, stop)
                && self.path_has(bc, stop, rest, to)
        })
    }

    /// MM-40, with or without paths of nothing but program order.
    fn base_causality(&self, sw: &Relation) -> Relation {
        let mut steps = self.combination.po.clone();
        steps.add(sw);
        let reaches = steps.closure();
        if self.edition.plain_program_order {
            return reaches;
        }
        let mut bc = Relation::new(self.combination.events.len());
        for from in self.all() {
            for to in self.all() {
                let passes = |a: usize, b: usize| {
                    sw.contains(a, b)
                        && (from == a || reaches.contains(from, a))
                        && (b == to || reaches.contains(b, to))
                };
                if reaches.contains(from, to) && self.all().any(|a| self.all().any(|b| passes(a, b))) {
                    bc.insert(from, to);
                }
            }
        }
        bc
    }

    fn program_order_by_location(&self) -> Relation {
        self.overlapping(&self.combination.po)
    }

    /// MM-41
    fn proxy_preserved(&self, bc: &Relation) -> Relation {
        let mut ppbc = Relation::new(self.combination.events.len());
        for a in self.all() {
            for b in self.all() {
                let (ea, eb) = (self.event(a), self.event(b));
                // AS-29: tensor memory is in no proxy.
                if !bc.contains(a, b) || !ea.overlaps(eb) || ea.is_tensor {
                    continue;
                }
                if [ea, eb].iter().any(|e| matches!(e.proxy, Proxy::Async | Proxy::Tensormap)) {
                    if self.passes_async_proxy(bc, a, b) {
                        ppbc.insert(a, b);
                    }
                    continue;
                }
                let stops = self.proxy_fences_needed(a, b);
                if self.path_has(bc, a, &stops, b) {
                    ppbc.insert(a, b);
                }
            }
        }
        ppbc
    }

    fn overlapping_writes(&self, a: usize, b: usize) -> bool {
        let (ea, eb) = (self.event(a), self.event(b));
        a != b && ea.is_write() && eb.is_write() && ea.overlaps(eb)
    }

    /// Coherence that follows from causality (AX-1).
    pub fn forced_coherence(&self, causality: &Causality) -> Relation {
        let mut co = Relation::new(self.combination.events.len());
        for a in self.all() {
            for b in self.all() {
                if self.overlapping_writes(a, b) && causality.cause.contains(a, b) {
                    co.insert(a, b);
                }
            }
        }
        co
    }

    /// Morally strong pairs of overlapping writes that causality leaves open (MM-43).
    pub fn write_pairs(&self, causality: &Causality) -> Vec<(usize, usize)> {
        let mut pairs = Vec::new();
        for a in self.all() {
            for b in a + 1..self.all().end {
                let open = !causality.cause.contains(a, b) && !causality.cause.contains(b, a);
                if self.overlapping_writes(a, b) && self.ms.contains(a, b) && open {
                    pairs.push((a, b));
                }
            }
        }
        pairs
    }

    /// AX-3, AX-5 and AX-6, for every read and write.
    pub fn allows(&self, rf: &ReadsFrom, causality: &Causality, co: &Relation) -> bool {
        let mut per_location = Relation::new(self.combination.events.len());
        for a in self.all() {
            for b in self.all() {
                let (ea, eb) = (self.event(a), self.event(b));
                let communicates = (self.overlapping_writes(a, b) && co.contains(a, b))
                    || self.reads_any_byte(rf, a, b)
                    || self.reads_before(rf, co, a, b);
                // AX-5: program order, and morally strong communication.
                let precedes = self.po(a, b) && ea.overlaps(eb) && self.program_order_counts(a, b);
                if precedes || (self.ms.contains(a, b) && communicates) {
                    per_location.insert(a, b);
                }
                if ea.is_read()
                    && eb.is_write()
                    && ea.overlaps(eb)
                    && !self.read_allows(rf, causality, co, a, b)
                {
                    return false;
                }
            }
        }
        self.edition.sc_per_location == ScPerLocation::Absent || per_location.is_acyclic()
    }

    /// A-13, for operations that overlap.
    fn program_order_counts(&self, a: usize, b: usize) -> bool {
        match self.edition.sc_per_location {
            ScPerLocation::MorallyStrong => self.ms.contains(a, b),
            ScPerLocation::Overlapping => true,
            ScPerLocation::Absent => false,
        }
    }

    /// Communication from a read to a write that overwrites a byte it read (§1.15).
    fn reads_before(&self, rf: &ReadsFrom, co: &Relation, read: usize, write: usize) -> bool {
        let (r, w) = (self.event(read), self.event(write));
        let Some(sources) = rf.get(&read) else { return false };
        w.is_write()
            && r.granules.iter().zip(sources).any(|(granule, &source)| {
                w.granules.contains(granule) && source != write && co.contains(source, write)
            })
    }

    fn read_allows(
        &self,
        rf: &ReadsFrom,
        causality: &Causality,
        co: &Relation,
        read: usize,
        write: usize,
    ) -> bool {
        let reads_it = self.reads_any_byte(rf, write, read);
        let reads_older = self.reads_before(rf, co, read, write);
        let is_ms = self.ms.contains(read, write);
        // AX-3 (i): no part of it and a part of something older on their common bytes.
        if is_ms && reads_it && reads_older {
            return false;
        }
        // AX-3 (ii): nothing morally strong between an atomic's read and its write.
        if let Some(part) = self.write_part(read)
            && part != write
            && is_ms
            && reads_older
            && co.contains(write, part)
        {
            return false;
        }
        // AX-6.
        let reads_later = causality.cause.contains(read, write) && reads_it;
        let reads_overwritten = causality.cause.contains(write, read) && reads_older;
        !reads_later && !reads_overwritten
    }
}
