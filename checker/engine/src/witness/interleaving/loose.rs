//! Barriers at which whoever comes first meets (`synchronization::barrier::loose`) while the threads run in turns: a warp has
//! come when the last of its lanes has, and a generation is of those that come until it is full. Where they do not agree on
//! how many they are, nobody gets through.

use super::Machine;
use crate::event::{EventGraph, EventId, LooseArrival, TermRef};
use fencepost_dsl::sorted::SortedMap;
use rustc_hash::FxHashMap;

/// What an event is of such a barrier: by index, the barrier and the arrival.
type Place = (usize, usize);

/// A barrier so far.
#[derive(Clone, Default)]
struct Count {
    /// Whether each generation that is full lets those through who wait for it.
    full: Vec<bool>,
    /// Warps that the next one is made of, once somebody has come, and whether all say so.
    needed: Option<(u128, bool)>,
    n_arrived: u128,
    /// Per warp: the generation that it was in last; none any more once it has come too early.
    last: SortedMap<u32, Option<usize>>,
    /// Per arrival: lanes that have come, and then its generation.
    lanes: Vec<usize>,
    generations: Vec<Option<usize>>,
}

/// What all of them have counted.
pub(super) struct Loose {
    counts: Vec<Count>,
    arrivals: FxHashMap<EventId, (Place, u32)>,
    waits: FxHashMap<EventId, Place>,
}

impl Loose {
    pub(super) fn new(graph: &EventGraph) -> Self {
        let (mut arrivals, mut waits) = (FxHashMap::default(), FxHashMap::default());
        let mut counts = Vec::new();
        for (barrier, own) in graph.loose.iter().enumerate() {
            for (at, arrival) in own.arrivals.iter().enumerate() {
                let place = (barrier, at);
                arrivals.extend(arrival.lanes.iter().map(|&(event, lane)| (event, (place, lane))));
                waits.extend(arrival.waits.iter().map(|&wait| (wait, place)));
            }
            let n = own.arrivals.len();
            counts.push(Count { lanes: vec![0; n], generations: vec![None; n], ..Count::default() });
        }
        Self { counts, arrivals, waits }
    }
}

impl Machine<'_> {
    /// Whether an event waits at such a barrier for others to come.
    pub(super) fn waits_for_warps(&self, event: EventId) -> bool {
        self.loose.waits.get(&event).is_some_and(|&(barrier, arrival)| {
            let count = &self.loose.counts[barrier];
            let lets_through = |generation: usize| count.full.get(generation) == Some(&true);
            !count.generations[arrival].is_some_and(lets_through)
        })
    }

    /// Notes that a lane has come, if an event is that.
    pub(super) fn comes(&mut self, event: EventId) -> Option<()> {
        let Some(&((barrier, at), lane)) = self.loose.arrivals.get(&event) else { return Some(()) };
        let graph = self.graph;
        let LooseArrival { warp, n_lanes, early, generation, last, warps, .. } =
            graph.loose[barrier].arrivals[at];
        let count = &mut self.loose.counts[barrier];
        count.lanes[at] += 1;
        if count.lanes[at] < n_lanes {
            return Some(());
        }
        if let Some(last) = last {
            self.decide(last, lane.into())?;
        }
        let count = &mut self.loose.counts[barrier];
        let now = count.full.len();
        let before = count.last.insert(warp, Some(now));
        if before.is_some_and(|before| before.is_none_or(|before| before == now)) {
            // Neither this nor any later one counts.
            count.last.insert(warp, None);
            return if before == Some(None) { Some(()) } else { self.decide(early?, 1) };
        }
        count.generations[at] = Some(now);
        self.decide(generation, now as u128)?;
        let warps = self.value(warps)?;
        let count = &mut self.loose.counts[barrier];
        let is_first = count.needed.is_none();
        let (needed, agree) = count.needed.get_or_insert((warps, true));
        *agree &= *needed == warps;
        count.n_arrived += 1;
        if count.n_arrived == *needed {
            count.full.push(*agree);
            (count.n_arrived, count.needed) = (0, None);
        }
        // Where all give one count it is a constant.
        if is_first
            && let Some(&needed) = graph.loose[barrier].needed.get(now)
            && self.unknown_of(needed).is_some()
        {
            self.decide(needed, warps)?;
        }
        Some(())
    }

    fn decide(&mut self, term: TermRef, value: u128) -> Option<()> {
        let unknown = self.unknown_of(term)?;
        self.unknowns[unknown] = Some(value);
        Some(())
    }

    /// What was left open: generations that nobody comes to are made by as many as anybody says.
    pub(super) fn settle_loose(&mut self) {
        for barrier in &self.graph.loose {
            let any = barrier.arrivals.first().and_then(|arrival| self.value(arrival.warps));
            let needed = barrier.needed.iter().map(|&needed| (needed, any.unwrap_or(0)));
            let of_arrivals = |arrival: &LooseArrival| [Some(arrival.generation), arrival.last];
            let terms = barrier.arrivals.iter().flat_map(of_arrivals).flatten().map(|term| (term, 0));
            for (term, value) in needed.chain(terms) {
                if let Some(unknown) = self.unknown_of(term) {
                    self.unknowns[unknown].get_or_insert(value);
                }
            }
        }
    }
}
