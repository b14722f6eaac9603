//! What §1.17 adds for asynchronous operations: issue and completion edges, the async proxy and its fences.

use super::Model;
use crate::event::{Event, Kind};
use crate::execution::ReadsFrom;
use crate::relation::Relation;
use fencepost_dsl::kernel::program::AsyncSpace;
use fencepost_dsl::vocabulary::{Proxy, SyncRestrict};

impl Model<'_> {
    /// BC of §1.17. An edge into an operation only ends a path, one out of it only starts one (MM-30).
    pub(super) fn with_operations(&self, bc: &Relation) -> Relation {
        let n = self.combination.events.len();
        let (mut issued, mut inside) = (Relation::new(n), Relation::new(n));
        for event in self.all() {
            let Some(issue) = self.event(event).operation else { continue };
            // a matrix operation comes after what its thread's last fence for them comes after.
            let start = self.event(event).since.unwrap_or(issue);
            issued.insert(start, event);
            for before in self.all().filter(|&before| bc.contains(before, start)) {
                issued.insert(before, event);
            }
            for &earlier in &self.event(event).follows {
                inside.insert(earlier, event);
            }
        }
        let observed = self.observed_completions();
        let mut completed = observed.then(bc);
        completed.add(&observed);
        let mut all = completed.then(&issued);
        for part in [bc, &issued, &completed, &inside] {
            all.add(part);
        }
        all
    }

    /// From what an operation did to where a thread knows of it: its wait for groups, or the last operation of an acquire
    /// pattern on the mbarrier whose phase the operation's signal was in (MB-24).
    fn observed_completions(&self) -> Relation {
        let mut observed = Relation::new(self.combination.events.len());
        for wait in self.all().filter(|&wait| self.event(wait).kind == Kind::AsyncWait) {
            for &done in &self.event(wait).follows {
                observed.insert(done, wait);
            }
        }
        for signal in self.all() {
            for wait in self.all().filter(|&wait| self.combination.async_signals.contains(signal, wait)) {
                if !self.ms.contains(signal, wait) {
                    continue;
                }
                for last in self.acquired_at(wait).filter(|&last| self.ms.contains(signal, last)) {
                    observed.insert(signal, last);
                    for &done in &self.event(signal).follows {
                        observed.insert(done, last);
                    }
                }
            }
        }
        observed
    }

    /// Cluster of a CTA, counted over the launch.
    fn cluster(&self, cta: Option<u32>) -> Option<u32> {
        cta.map(|cta| cta / self.cluster_size)
    }

    /// Whose CTA an access is of: the owner of shared memory, else the one that asked for it.
    fn home(&self, access: usize) -> Option<u32> {
        let event = self.event(access);
        if event.is_shared { Some(event.location.1) } else { self.cta(access) }
    }

    /// Whether base causality from `a` to `b`, of which one at least is of the async proxy, comes through the fences it
    /// needs. Whatever leads from an operation starts with its completion, which is a fence (AS-19, A-31); so only what
    /// leads to one needs another.
    pub(super) fn passes_async_proxy(&self, bc: &Relation, a: usize, b: usize) -> bool {
        let (ea, eb) = (self.event(a), self.event(b));
        if ea.proxy == Proxy::Tensormap {
            return bc.contains(a, b);
        }
        if eb.proxy == Proxy::Tensormap {
            return false;
        }
        assert!(
            [ea, eb].iter().all(|e| matches!(e.proxy, Proxy::Generic | Proxy::Async)),
            "further proxies next to the async one are unsupported by the twin"
        );
        assert_eq!(ea.mapping, eb.mapping, "aliases next to the async proxy are unsupported by the twin");
        if eb.proxy == Proxy::Generic {
            return bc.contains(a, b);
        }
        let same_domain =
            self.home(a) == self.home(b) || self.cluster(self.cta(a)) == self.cluster(self.cta(b));
        if ea.proxy == Proxy::Async && same_domain {
            return bc.contains(a, b);
        }
        self.all().any(|fence| {
            let Kind::AsyncFence(space) = self.event(fence).kind else { return false };
            self.cta(fence) == self.home(b)
                && self.is_in(space, fence, eb)
                && bc.contains(a, fence)
                && bc.contains(fence, b)
        })
    }

    /// Whether a fence in that thread with that space is about an access (FN-12).
    fn is_in(&self, space: AsyncSpace, fence: usize, access: &Event) -> bool {
        match space {
            AsyncSpace::All => true,
            AsyncSpace::Global => !access.is_shared,
            AsyncSpace::SharedCta => access.is_shared && self.cta(fence) == Some(access.location.1),
            AsyncSpace::SharedCluster => {
                access.is_shared && self.cluster(self.cta(fence)) == self.cluster(Some(access.location.1))
            }
        }
    }

    /// FN-15 … FN-17, FN-26: a generic access before the release half, an async one after the acquire half, and the halves
    /// around a strong write that was read, or ordered anyhow (AS-36). What is known of a completed operation counts as
    /// generic, since completion is a fence: else the ISA's own loop of `try_cancel` would race with itself (§11).
    /// Likewise from generic accesses to reads of tensor maps (FN-13, FN-14).
    pub(super) fn across_halves(&self, obs: &Relation, bc: &Relation) -> Relation {
        let mut across = Relation::new(self.combination.events.len());
        let is_half =
            |event: &usize| matches!(self.event(*event).kind, Kind::AsyncHalf(_) | Kind::MapHalf(_));
        let halves = || self.all().filter(is_half);
        for release in halves().filter(|&half| self.event(half).release) {
            for acquire in halves().filter(|&half| self.event(half).acquire) {
                // Each has a scope, which must hold the other's thread however they are ordered.
                let is_ordered = bc.contains(release, acquire) || self.meet(release, acquire, obs);
                if !is_ordered || !self.ms.contains(release, acquire) {
                    continue;
                }
                for a in self.all().filter(|&a| self.is_released(a, release, bc)) {
                    for b in self.all().filter(|&b| self.is_acquired(b, acquire, bc)) {
                        let fits = match self.event(release).kind {
                            Kind::MapHalf(_) => self.event(b).proxy == Proxy::Tensormap,
                            _ => self.event(b).proxy == Proxy::Async,
                        };
                        if fits && self.event(a).overlaps(self.event(b)) {
                            across.insert(a, b);
                        }
                    }
                }
            }
        }
        across
    }

    /// Whether an access comes after an acquire half that is about it.
    fn is_acquired(&self, access: usize, half: usize, bc: &Relation) -> bool {
        let event = self.event(access);
        let is_about = match self.event(half).kind {
            Kind::AsyncHalf(_) => {
                event.proxy == Proxy::Async && self.is_in(AsyncSpace::SharedCluster, half, event)
            }
            Kind::MapHalf(Some(map)) => event.proxy == Proxy::Tensormap && event.granules.contains(&map),
            _ => false,
        };
        event.is_memory() && is_about && bc.contains(half, access)
    }

    /// AS-37: reads of tensor maps that the thread that asked for them has not acquired before.
    pub fn unacquired_maps(&self) -> Vec<usize> {
        let is_unacquired = |read: &usize| {
            let event = self.event(*read);
            let Some(issue) = event.operation.filter(|_| event.proxy == Proxy::Tensormap) else {
                return false;
            };
            !self.all().any(|half| match self.event(half).kind {
                Kind::MapHalf(Some(map)) => event.granules.contains(&map) && self.po(half, issue),
                _ => false,
            })
        };
        self.all().filter(is_unacquired).collect()
    }

    /// AS-35: reads of tensor maps that found what was there before anybody wrote the map.
    pub fn unwritten_maps(&self, rf: &ReadsFrom) -> Vec<usize> {
        let is_map =
            |read: &usize| self.event(*read).proxy == Proxy::Tensormap && self.event(*read).is_read();
        let found_nothing = |read: &usize| {
            rf.get(read).is_some_and(|found| found.iter().any(|&write| self.is_initial(write)))
        };
        self.all().filter(is_map).filter(found_nothing).collect()
    }

    fn is_released(&self, access: usize, half: usize, bc: &Relation) -> bool {
        let event = self.event(access);
        if !event.is_memory() {
            return false;
        }
        let restrict = match self.event(half).kind {
            Kind::MapHalf(_) => return event.proxy == Proxy::Generic && bc.contains(access, half),
            Kind::AsyncHalf(restrict) => restrict,
            _ => return false,
        };
        match restrict {
            SyncRestrict::SharedCta => {
                self.is_in(AsyncSpace::SharedCta, half, event) && bc.contains(access, half)
            }
            SyncRestrict::SharedClusterRead => {
                event.proxy == Proxy::Generic
                    && event.is_read()
                    && self.is_in(AsyncSpace::SharedCluster, half, event)
                    && self.po(access, half)
            }
            SyncRestrict::SharedCluster => false,
        }
    }

    /// Whether a strong write after the release half has been read before the acquire half (§1.8, 3, with the halves in
    /// the place of the fences); arrivals at barriers count as such.
    fn meet(&self, release: usize, acquire: usize, obs: &Relation) -> bool {
        let is_write = |event: &Event| event.is_write() && event.strong;
        let is_read = |read: usize| {
            let event = self.event(read);
            event.is_read() && event.strong && self.may_acquire(read)
        };
        self.all().filter(|&write| self.po(release, write)).any(|write| {
            self.all().filter(|&read| self.po(read, acquire)).any(|read| {
                let signals = self.combination.signals.contains(write, read) && self.ms.contains(write, read);
                signals || (is_write(self.event(write)) && is_read(read) && obs.contains(write, read))
            })
        })
    }
}
