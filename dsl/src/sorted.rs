//! Maps and sets in ascending order of their keys, each kept in one sorted vector.
//!
//! They stand where `BTreeMap` and `BTreeSet` would: what iterates over them is deterministic, and their methods have the
//! same names. A pass keeps dozens of such tables, most of them small, each of its own type; and the compiler makes the
//! whole of a B-tree anew for each type of key and value, which is most of what such a table costs.
//!
//! Looking up is O(log n). Inserting and removing are O(1) at the end and O(n) elsewhere, so what is filled out of order with
//! tens of thousands of entries belongs in a `HashMap` or a `BTreeMap`.

mod map;
mod set;

pub use map::{Entry, Iter, OccupiedEntry, SortedMap, VacantEntry};
pub use set::{SortedSet, Union};

use std::borrow::Borrow;
use std::ops::{Bound, Range, RangeBounds};

/// Where `key` is in a slice sorted by `key_of`, or where it would be.
///
/// # Errors
/// The index at which it would be inserted.
fn find<T, K: Borrow<Q>, Q: Ord + ?Sized>(
    items: &[T],
    key: &Q,
    key_of: impl Fn(&T) -> &K,
) -> Result<usize, usize> {
    items.binary_search_by(|item| key_of(item).borrow().cmp(key))
}

/// Like [`find`], for a key that is likely to go to the end.
///
/// # Errors
/// The index at which it is to be inserted.
fn find_to_insert<T, K: Ord>(items: &[T], key: &K, key_of: impl Fn(&T) -> &K) -> Result<usize, usize> {
    match items.last() {
        Some(last) if key_of(last) >= key => find(items, key, key_of),
        _ => Err(items.len()),
    }
}

/// The indices of a slice sorted by `key_of` whose keys are in `bounds`.
///
/// # Panics
/// If the bounds are crossed and there are items, as a `BTreeMap` does: an empty range would hide the caller's mistake.
fn find_range<T, K: Borrow<Q>, Q: Ord + ?Sized>(
    items: &[T],
    bounds: &impl RangeBounds<Q>,
    key_of: impl Fn(&T) -> &K,
) -> Range<usize> {
    use Bound::{Excluded, Included};
    let is_crossed = match (bounds.start_bound(), bounds.end_bound()) {
        (Excluded(from), Excluded(to)) => from >= to,
        (Included(from) | Excluded(from), Included(to) | Excluded(to)) => from > to,
        _ => false,
    };
    assert!(items.is_empty() || !is_crossed, "the bounds of a range are crossed");
    let at_or_after = |key: &Q| items.partition_point(|item| key_of(item).borrow() < key);
    let after = |key: &Q| items.partition_point(|item| key_of(item).borrow() <= key);
    let start = match bounds.start_bound() {
        Included(key) => at_or_after(key),
        Excluded(key) => after(key),
        Bound::Unbounded => 0,
    };
    let end = match bounds.end_bound() {
        Included(key) => after(key),
        Excluded(key) => at_or_after(key),
        Bound::Unbounded => items.len(),
    };
    start..end
}
