//! An order of the instructions of an execution that respects what it rests on, and which of them share a row.

use crate::bits::{BitMatrix, EventSet};
use crate::event::{AgentId, EventGraph, EventId};
use crate::witness::Witness;
use fencepost_dsl::cat::memory_model::BaseRelation;
use fencepost_dsl::sorted::{SortedMap, SortedSet};

/// What the order of an execution follows: all that must happen before something else can, without values read.
pub(super) fn hard(witness: &Witness) -> BitMatrix {
    let relations = &witness.basis.relations;
    [BaseRelation::PhaseOrder, BaseRelation::InPhaseOrder]
        .iter()
        .fold(firm(witness), |all, base| all.union(&relations[base]))
}

/// What goes down in any case. Not the phases in which arrivals happen: those of one thread at two mbarriers may come to
/// them the other way round, so that no order of instructions follows both their phases and the program.
pub(super) fn firm(witness: &Witness) -> BitMatrix {
    let relations = &witness.basis.relations;
    let between_grids =
        relations[&BaseRelation::ApiSynchronization].union(&relations[&BaseRelation::Triggers]);
    [
        BaseRelation::BarrierSynchronization,
        BaseRelation::Signals,
        BaseRelation::Issue,
        BaseRelation::Completion,
        BaseRelation::BarrierOrder,
    ]
    .iter()
    .fold(relations[&BaseRelation::ProgramOrder].union(&between_grids.transitive_closure()), |all, base| {
        all.union(&relations[base])
    })
}

/// What an event rests on, values read and the order of `fence.sc` included.
pub(super) fn flow(witness: &Witness, hard: &BitMatrix) -> BitMatrix {
    let relations = &witness.basis.relations;
    hard.union(&relations[&BaseRelation::ReadsFrom]).union(&relations[&BaseRelation::FenceSc])
}

/// How many relations an order tries to follow, each with less in it than the one before.
const TIERS: usize = 3;

/// What comes after a group, and how many before it are left, by each of the relations.
#[derive(Clone, Default)]
struct Node {
    successors: [SortedSet<usize>; TIERS],
    n_before: [usize; TIERS],
}

/// Groups of events in an order that follows the first relation, where that has a circle the next one, and so on, staying
/// with an agent while possible. Numbers of groups ascend in program order within an agent.
pub(super) fn ordered(
    graph: &EventGraph,
    groups: &[(AgentId, Vec<EventId>)],
    tiers: [&BitMatrix; TIERS],
) -> Vec<usize> {
    let mut group_of: SortedMap<EventId, usize> = SortedMap::new();
    for (number, (_, events)) in groups.iter().enumerate() {
        group_of.extend(events.iter().map(|&event| (event, number)));
    }
    let mut nodes = vec![Node::default(); groups.len()];
    let known = EventSet::from_iter(graph.events.len(), group_of.keys().copied());
    for (tier, relation) in tiers.into_iter().enumerate() {
        for (&event, &from) in &group_of {
            for to in relation.successors_in(event, &known).map(|next| group_of[&next]) {
                if to != from && nodes[from].successors[tier].insert(to) {
                    nodes[to].n_before[tier] += 1;
                }
            }
        }
    }
    schedule(groups, nodes)
}

fn schedule(groups: &[(AgentId, Vec<EventId>)], mut nodes: Vec<Node>) -> Vec<usize> {
    type Keys = SortedSet<(AgentId, usize)>;
    let key = |number: usize| (groups[number].0, number);
    let mut ready: [Keys; TIERS] = std::array::from_fn(|tier| {
        (0..groups.len()).filter(|&number| nodes[number].n_before[tier] == 0).map(key).collect()
    });
    let mut waiting: Keys = (0..groups.len()).map(key).collect();
    let mut order = Vec::with_capacity(groups.len());
    let mut current: Option<AgentId> = None;
    while let Some(&any) = waiting.first() {
        let same = current
            .and_then(|agent| ready[0].range((agent, 0)..).next().copied().filter(|&(own, _)| own == agent));
        let next = same.or_else(|| ready.iter().find_map(|keys| keys.first().copied())).unwrap_or(any);
        ready.iter_mut().for_each(|keys| {
            keys.remove(&next);
        });
        waiting.remove(&next);
        current = Some(next.0);
        order.push(next.1);
        let node = std::mem::take(&mut nodes[next.1]);
        for (tier, successors) in node.successors.into_iter().enumerate() {
            for to in successors {
                let left = &mut nodes[to].n_before[tier];
                *left = left.saturating_sub(1);
                if *left == 0 && waiting.contains(&key(to)) {
                    ready[tier].insert(key(to));
                }
            }
        }
    }
    order
}

/// A step to be put into a row.
pub(super) struct Placed<'a> {
    /// Its column.
    pub lane: usize,
    /// Steps that it comes after, by their place in the list.
    pub after: Vec<usize>,
    /// Steps of equal keys may share a row; one without a key has its own.
    pub key: Option<&'a str>,
}

/// The keys of rows, and the lanes that have a step in each.
type Taken<'a> = Vec<(Option<&'a str>, SortedSet<usize>)>;

/// A row for each step, given in an order; rows follow it, and steps of one key and different lanes share one where
/// nothing lies between.
pub(super) fn rows(steps: &[Placed<'_>]) -> Vec<usize> {
    let mut rows: Vec<usize> = Vec::with_capacity(steps.len());
    let mut taken: Taken<'_> = Vec::new();
    // Within a lane rows ascend.
    let mut last: SortedMap<usize, usize> = SortedMap::new();
    for step in steps {
        let after = step.after.iter().filter_map(|&before| rows.get(before)).map(|row| row + 1).max();
        let first = after.unwrap_or(0).max(last.get(&step.lane).map_or(0, |row| row + 1));
        let row = (first..taken.len()).find(|&row| is_free(&taken[row], step)).unwrap_or_else(|| {
            taken.push((step.key, SortedSet::new()));
            taken.len() - 1
        });
        taken[row].1.insert(step.lane);
        last.insert(step.lane, row);
        rows.push(row);
    }
    sink(steps, &mut rows, &mut taken);
    // Rows that nobody is left in close up.
    let used: SortedSet<usize> = rows.iter().copied().collect();
    rows.iter().map(|row| used.range(..row).count()).collect()
}

fn is_free((key, lanes): &(Option<&str>, SortedSet<usize>), step: &Placed<'_>) -> bool {
    step.key.is_some() && *key == step.key && !lanes.contains(&step.lane)
}

/// Moves steps down to others of their key, as far as what comes after them allows.
fn sink(steps: &[Placed<'_>], rows: &mut [usize], taken: &mut Taken<'_>) {
    let mut limit = vec![taken.len(); steps.len()];
    let mut next: SortedMap<usize, usize> = SortedMap::new();
    for (at, step) in steps.iter().enumerate().rev() {
        let end = limit[at].min(next.get(&step.lane).copied().unwrap_or(taken.len()));
        if let Some(row) = (rows[at] + 1..end).rev().find(|&row| is_free(&taken[row], step)) {
            taken[rows[at]].1.remove(&step.lane);
            taken[row].1.insert(step.lane);
            rows[at] = row;
        }
        next.insert(step.lane, rows[at]);
        for &before in step.after.iter().filter(|&&before| before < at) {
            limit[before] = limit[before].min(rows[at]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Placed, rows};

    #[test]
    fn equal_steps_of_different_lanes_share_a_row() {
        let step = |lane, after: &[usize], key| Placed { lane, after: after.to_vec(), key };
        let steps = [
            step(0, &[], Some("arrive")),
            step(1, &[], None),
            step(1, &[1], Some("arrive")),
            step(0, &[0, 2], Some("pass")),
            step(1, &[0, 2], Some("pass")),
        ];
        assert_eq!(rows(&steps), [1, 0, 1, 2, 2]);
        let steps = [step(1, &[], None), step(1, &[0], Some("arrive")), step(0, &[], Some("arrive"))];
        assert_eq!(rows(&steps), [0, 1, 1]);
        let steps = [step(0, &[], Some("a")), step(0, &[0], None), step(1, &[1], Some("a"))];
        assert_eq!(rows(&steps), [0, 1, 2], "a step does not sink below what follows it");
    }
}
