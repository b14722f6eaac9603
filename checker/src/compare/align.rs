//! Two sequences of operations, side by side.

use super::operation::{Aspect, Operation, Value};
use fencepost_dsl::Span;
use fencepost_dsl::sorted::SortedSet;

/// A pair, or an operation that only one has.
pub type Pair = (Option<usize>, Option<usize>);

/// How much two operations are alike; 0 if one cannot stand for the other.
fn likeness(
    left: &Operation,
    right: &Operation,
    is_same_object: impl Fn(usize, usize) -> bool,
    at: (usize, usize),
) -> u32 {
    if left.name != right.name {
        return 0;
    }
    let has = |of: &Operation, aspect: Aspect| {
        of.aspects.iter().find(|(known, _)| *known == aspect).map(|(_, value)| value.clone())
    };
    let equal = left
        .aspects
        .iter()
        .filter(|(aspect, value)| has(right, *aspect).is_some_and(|other: Value| other == *value))
        .count();
    let object = if is_same_object(at.0, at.1) { 6 } else { 0 };
    10 + 2 * u32::try_from(equal).unwrap_or(0)
        + object
        + u32::from(left.is_wait == right.is_wait)
        + u32::from(left.is_sometimes == right.is_sometimes)
}

/// The alignment of two sequences that pairs most, and the most alike; and how much that is.
pub fn align(
    left: &[Operation],
    right: &[Operation],
    is_same_object: impl Fn(usize, usize) -> bool,
) -> (Vec<Pair>, u32) {
    let width = right.len() + 1;
    let mut best = vec![0_u32; (left.len() + 1) * width];
    let gain = |i: usize, j: usize| likeness(&left[i], &right[j], &is_same_object, (i, j));
    for i in (0..left.len()).rev() {
        for j in (0..right.len()).rev() {
            let without = best[(i + 1) * width + j].max(best[i * width + j + 1]);
            let paired = match gain(i, j) {
                0 => 0,
                gain => gain + best[(i + 1) * width + j + 1],
            };
            best[i * width + j] = without.max(paired);
        }
    }
    let (mut i, mut j, mut pairs) = (0, 0, Vec::new());
    while i < left.len() || j < right.len() {
        let here = best[i * width + j];
        let is_paired = i < left.len() && j < right.len() && {
            let gain = gain(i, j);
            gain > 0 && here == gain + best[(i + 1) * width + j + 1]
        };
        if is_paired {
            pairs.push((Some(i), Some(j)));
            (i, j) = (i + 1, j + 1);
        } else if i < left.len() && (j == right.len() || here == best[(i + 1) * width + j]) {
            pairs.push((Some(i), None));
            i += 1;
        } else {
            pairs.push((None, Some(j)));
            j += 1;
        }
    }
    (pairs, best[0])
}

/// The sequence with rounds that follow one another made one, but for those of loops that are to stay as they are run: each is
/// known by the place of its first operation. `key` is what an operation is to the next round.
pub fn fold(
    operations: &[Operation],
    key: impl Fn(&Operation) -> String,
    unrolled: &SortedSet<Vec<Span>>,
) -> Vec<Operation> {
    let mut operations: Vec<(String, Operation)> =
        operations.iter().map(|operation| (key(operation), operation.clone())).collect();
    let mut period = 1;
    while period * 2 <= operations.len() {
        let mut folded = false;
        let mut start = 0;
        while start + period * 2 <= operations.len() {
            let is_round = !unrolled.contains(&operations[start].1.place)
                && (0..period).all(|at| operations[start + at].0 == operations[start + period + at].0);
            if is_round {
                for (_, operation) in &mut operations[start..start + period] {
                    operation.repeats = true;
                }
                operations[start].1.starts_loop = true;
                operations.drain(start + period..start + period * 2);
                folded = true;
            } else {
                start += 1;
            }
        }
        // What is one now may make shorter rounds.
        period = if folded { 1 } else { period + 1 };
    }
    operations.into_iter().map(|(_, operation)| operation).collect()
}
