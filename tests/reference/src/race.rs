//! What is asked of an execution: its data races, and what memory holds at its end.

use super::model::Model;
use super::relation::Relation;

/// Pairs in a data race (MM-19): overlapping, one of them a write, not causally ordered, not morally strong;
/// some editions count only pairs of different threads.
pub fn races(model: &Model<'_>, cause: &Relation) -> Vec<(usize, usize)> {
    let events = &model.combination.events;
    let mut pairs = Vec::new();
    for a in model.combination.n_initial..events.len() {
        for b in a + 1..events.len() {
            let conflict = events[a].overlaps(&events[b]) && (events[a].is_write() || events[b].is_write());
            let between_threads = events[a].thread != events[b].thread;
            let counts = conflict && (between_threads || model.edition.races_inside_threads);
            // An atomic is one operation (MM-42): what comes after its write comes after its read.
            let before = |a: usize, b: usize| {
                cause.contains(a, b) || model.write_part(a).is_some_and(|write| cause.contains(write, b))
            };
            let ordered = before(a, b) || before(b, a);
            if counts && !ordered && !model.ms.contains(a, b) {
                pairs.push((a, b));
            }
        }
    }
    pairs
}

/// The values that coherence-last writes leave in a granule.
pub fn final_values(model: &Model<'_>, co: &Relation, granule: usize) -> Vec<u64> {
    let events = &model.combination.events;
    let writes: Vec<(usize, u64)> = (0..events.len())
        .filter(|&event| events[event].is_write())
        .filter_map(|event| {
            let at = events[event].granules.iter().position(|&g| g == granule)?;
            Some((event, events[event].values[at]))
        })
        .collect();
    let is_last = |write: usize| writes.iter().all(|&(other, _)| !co.contains(write, other));
    let mut values: Vec<u64> =
        writes.iter().filter(|&&(write, _)| is_last(write)).map(|&(_, value)| value).collect();
    values.sort_unstable();
    values.dedup();
    values
}
