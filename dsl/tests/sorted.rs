//! Sorted vectors do what the standard library's trees do, whatever is done to them.

use fencepost_dsl::sorted::{SortedMap, SortedSet};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

/// Keys are few, so that they meet.
fn key() -> impl Strategy<Value = u8> {
    0..24_u8
}

fn bound() -> impl Strategy<Value = Bound<u8>> {
    prop_oneof![key().prop_map(Bound::Included), key().prop_map(Bound::Excluded), Just(Bound::Unbounded)]
}

/// The bounds for which neither panics, whatever is in it.
fn are_ordered(from: Bound<u8>, to: Bound<u8>) -> bool {
    match (from, to) {
        (Bound::Excluded(from), Bound::Excluded(to)) => from < to,
        (Bound::Included(from) | Bound::Excluded(from), Bound::Included(to) | Bound::Excluded(to)) => {
            from <= to
        }
        _ => true,
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(7),
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_map_is_a_tree(steps in prop::collection::vec((0..6_u8, key(), any::<u16>()), 0..60), from in bound(), to in bound()) {
        let (mut map, mut tree) = (SortedMap::new(), BTreeMap::new());
        for (step, key, value) in steps {
            match step {
                0..3 => prop_assert_eq!(map.insert(key, value), tree.insert(key, value)),
                3 => prop_assert_eq!(map.remove(&key), tree.remove(&key)),
                4 => {
                    *map.entry(key).and_modify(|old| *old ^= 1).or_default() ^= value;
                    *tree.entry(key).and_modify(|old| *old ^= 1).or_default() ^= value;
                }
                _ => {
                    map.retain(|&key, value| *value % 3 != 0 || key > 12);
                    tree.retain(|&key, value| *value % 3 != 0 || key > 12);
                }
            }
            prop_assert!(map.iter().eq(tree.iter()), "{map:?} {tree:?}");
            prop_assert_eq!((map.get(&key), map.len()), (tree.get(&key), tree.len()));
        }
        prop_assert!(map.iter().rev().eq(tree.iter().rev()));
        if are_ordered(from, to) {
            prop_assert!(map.range((from, to)).eq(tree.range((from, to))));
        } else {
            let of_map = std::panic::catch_unwind(|| map.range((from, to)).count());
            let of_tree = std::panic::catch_unwind(|| tree.range((from, to)).count());
            prop_assert_eq!((of_map.is_err(), of_tree.is_err()), (!map.is_empty(), !tree.is_empty()));
        }
        prop_assert!(map.into_iter().eq(tree));
    }

    #[test]
    fn a_set_is_a_tree(
        left in prop::collection::vec(key(), 0..20),
        right in prop::collection::vec(key(), 0..20),
        gone in key(),
        from in bound(),
        to in bound(),
    ) {
        let (mut a, mut tree_a): (SortedSet<u8>, BTreeSet<u8>) = (left.iter().copied().collect(), left.iter().copied().collect());
        let (b, tree_b): (SortedSet<u8>, BTreeSet<u8>) = (right.iter().copied().collect(), right.iter().copied().collect());
        prop_assert!(a.union(&b).eq(tree_a.union(&tree_b)));
        prop_assert!(a.intersection(&b).eq(tree_a.intersection(&tree_b)));
        prop_assert!(a.difference(&b).eq(tree_a.difference(&tree_b)));
        prop_assert_eq!(a.is_subset(&b), tree_a.is_subset(&tree_b));
        prop_assert_eq!(a.is_disjoint(&b), tree_a.is_disjoint(&tree_b));
        prop_assert_eq!(a.cmp(&b), tree_a.cmp(&tree_b));
        if are_ordered(from, to) {
            prop_assert!(a.range((from, to)).eq(tree_a.range((from, to))));
        }
        prop_assert_eq!(a.remove(&gone), tree_a.remove(&gone));
        prop_assert_eq!(a.insert(gone), tree_a.insert(gone));
        prop_assert_eq!((a.first(), a.contains(&gone)), (tree_a.first(), true));
        prop_assert_eq!(a.pop_last(), tree_a.pop_last());
        prop_assert!(a.into_iter().eq(tree_a));
    }
}
