//! A map in one vector of entries, sorted by key.

use super::{find, find_range, find_to_insert};
use std::borrow::Borrow;
use std::fmt;
use std::iter::FusedIterator;
use std::ops::{Index, RangeBounds};
use std::slice;
use std::vec;

/// A map in ascending order of its keys.
///
/// Invariant: the keys of `entries` ascend, and no two are equal.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SortedMap<K, V> {
    entries: Vec<(K, V)>,
}

impl<K, V> SortedMap<K, V> {
    /// A map without entries.
    pub const fn new() -> Self {
        Self { entries: Vec::new() }
    }
    /// The number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }
    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
    /// Removes all entries.
    pub fn clear(&mut self) {
        self.entries.clear();
    }
    /// The entries, by ascending key.
    pub fn iter(&self) -> Iter<'_, K, V> {
        Iter(self.entries.iter())
    }
    /// The keys, ascending.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &K> + ExactSizeIterator + Clone {
        self.entries.iter().map(|(key, _)| key)
    }
    /// The values, by ascending key.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &V> + ExactSizeIterator + Clone {
        self.entries.iter().map(|(_, value)| value)
    }
    /// The values, by ascending key, which may change.
    pub fn values_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut V> + ExactSizeIterator {
        self.entries.iter_mut().map(|(_, value)| value)
    }
    /// The values, by ascending key.
    pub fn into_values(self) -> impl DoubleEndedIterator<Item = V> + ExactSizeIterator {
        self.entries.into_iter().map(|(_, value)| value)
    }
    /// Keeps the first so many entries.
    pub fn truncate(&mut self, n: usize) {
        self.entries.truncate(n);
    }
    /// Keeps the entries for which `keep` holds.
    pub fn retain(&mut self, mut keep: impl FnMut(&K, &mut V) -> bool) {
        self.entries.retain_mut(|(key, value)| keep(key, value));
    }
}

impl<K: Ord, V> SortedMap<K, V> {
    fn find<Q: Ord + ?Sized>(&self, key: &Q) -> Result<usize, usize>
    where
        K: Borrow<Q>,
    {
        find(&self.entries, key, |(key, _)| key)
    }
    fn find_to_insert(&self, key: &K) -> Result<usize, usize> {
        find_to_insert(&self.entries, key, |(key, _)| key)
    }
    /// The value of `key`.
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        let index = self.find(key).ok()?;
        Some(&self.entries[index].1)
    }
    /// The value of `key`, which may change.
    pub fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        let index = self.find(key).ok()?;
        Some(&mut self.entries[index].1)
    }
    /// The entry of `key`.
    pub fn get_key_value<Q: Ord + ?Sized>(&self, key: &Q) -> Option<(&K, &V)>
    where
        K: Borrow<Q>,
    {
        let (key, value) = &self.entries[self.find(key).ok()?];
        Some((key, value))
    }
    /// Whether `key` has a value.
    pub fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.find(key).is_ok()
    }
    /// Gives `key` a value, and returns the one that it had. The key that was there stays.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self.find_to_insert(&key) {
            Ok(index) => Some(std::mem::replace(&mut self.entries[index].1, value)),
            Err(index) => {
                self.entries.insert(index, (key, value));
                None
            }
        }
    }
    /// Takes the value of `key` out.
    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let index = self.find(key).ok()?;
        Some(self.entries.remove(index).1)
    }
    /// The place of `key`, whether it has a value or not.
    pub fn entry(&mut self, key: K) -> Entry<'_, K, V> {
        match self.find_to_insert(&key) {
            Ok(index) => Entry::Occupied(OccupiedEntry { map: self, index }),
            Err(index) => Entry::Vacant(VacantEntry { map: self, index, key }),
        }
    }
    /// The entries whose keys are in `bounds`, by ascending key.
    ///
    /// # Panics
    /// If the bounds are crossed and there are entries.
    pub fn range<Q: Ord + ?Sized>(&self, bounds: impl RangeBounds<Q>) -> Iter<'_, K, V>
    where
        K: Borrow<Q>,
    {
        let range = find_range(&self.entries, &bounds, |(key, _)| key);
        Iter(self.entries[range].iter())
    }
}

/// The place of a key in a map.
#[derive(Debug)]
pub enum Entry<'a, K, V> {
    /// It has a value.
    Occupied(OccupiedEntry<'a, K, V>),
    /// It has none.
    Vacant(VacantEntry<'a, K, V>),
}

/// The place of a key that has a value.
#[derive(Debug)]
pub struct OccupiedEntry<'a, K, V> {
    map: &'a mut SortedMap<K, V>,
    index: usize,
}

/// The place of a key that has no value.
#[derive(Debug)]
pub struct VacantEntry<'a, K, V> {
    map: &'a mut SortedMap<K, V>,
    index: usize,
    key: K,
}

impl<'a, K, V> Entry<'a, K, V> {
    /// The value, after `value` was put where none was.
    pub fn or_insert(self, value: V) -> &'a mut V {
        self.or_insert_with(|| value)
    }
    /// The value, after what `value` returns was put where none was.
    pub fn or_insert_with(self, value: impl FnOnce() -> V) -> &'a mut V {
        match self {
            Self::Occupied(entry) => entry.into_mut(),
            Self::Vacant(entry) => entry.insert(value()),
        }
    }
    /// The value, after the default was put where none was.
    pub fn or_default(self) -> &'a mut V
    where
        V: Default,
    {
        self.or_insert_with(V::default)
    }
    /// Changes the value where there is one.
    pub fn and_modify(mut self, change: impl FnOnce(&mut V)) -> Self {
        if let Self::Occupied(entry) = &mut self {
            change(entry.get_mut());
        }
        self
    }
}

impl<'a, K, V> OccupiedEntry<'a, K, V> {
    /// The value, which may change.
    pub fn get_mut(&mut self) -> &mut V {
        &mut self.map.entries[self.index].1
    }
    /// The value, for as long as the map is borrowed.
    pub fn into_mut(self) -> &'a mut V {
        &mut self.map.entries[self.index].1
    }
}

impl<'a, K, V> VacantEntry<'a, K, V> {
    /// Puts a value there.
    pub fn insert(self, value: V) -> &'a mut V {
        self.map.entries.insert(self.index, (self.key, value));
        &mut self.map.entries[self.index].1
    }
}

impl<K, V> Default for SortedMap<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for SortedMap<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<K: Ord + Borrow<Q>, Q: Ord + ?Sized, V> Index<&Q> for SortedMap<K, V> {
    type Output = V;
    /// # Panics
    /// If `key` has no value.
    fn index(&self, key: &Q) -> &V {
        self.get(key).expect("the key has a value")
    }
}

impl<K: Ord, V> Extend<(K, V)> for SortedMap<K, V> {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, entries: I) {
        for (key, value) in entries {
            self.insert(key, value);
        }
    }
}

impl<K: Ord, V> FromIterator<(K, V)> for SortedMap<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut map = Self::new();
        map.extend(entries);
        map
    }
}

impl<K: Ord, V, const N: usize> From<[(K, V); N]> for SortedMap<K, V> {
    fn from(entries: [(K, V); N]) -> Self {
        entries.into_iter().collect()
    }
}

/// The entries of a map, by ascending key.
#[derive(Debug)]
pub struct Iter<'a, K, V>(slice::Iter<'a, (K, V)>);

impl<K, V> Clone for Iter<'_, K, V> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<'a, K, V> Iterator for Iter<'a, K, V> {
    type Item = (&'a K, &'a V);
    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|(key, value)| (key, value))
    }
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<K, V> DoubleEndedIterator for Iter<'_, K, V> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.0.next_back().map(|(key, value)| (key, value))
    }
}

impl<K, V> ExactSizeIterator for Iter<'_, K, V> {}
impl<K, V> FusedIterator for Iter<'_, K, V> {}

impl<K, V> IntoIterator for SortedMap<K, V> {
    type Item = (K, V);
    type IntoIter = vec::IntoIter<(K, V)>;
    fn into_iter(self) -> Self::IntoIter {
        self.entries.into_iter()
    }
}

impl<'a, K, V> IntoIterator for &'a SortedMap<K, V> {
    type Item = (&'a K, &'a V);
    type IntoIter = Iter<'a, K, V>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
