//! A set in one sorted vector.

use super::{find, find_range, find_to_insert};
use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::ops::RangeBounds;
use std::slice;
use std::vec;

/// A set in ascending order.
///
/// Invariant: `items` ascend, and no two are equal.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SortedSet<T> {
    items: Vec<T>,
}

impl<T> SortedSet<T> {
    /// A set without elements.
    pub const fn new() -> Self {
        Self { items: Vec::new() }
    }
    /// The number of elements.
    pub fn len(&self) -> usize {
        self.items.len()
    }
    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
    /// Removes all elements.
    pub fn clear(&mut self) {
        self.items.clear();
    }
    /// The elements, ascending.
    pub fn iter(&self) -> slice::Iter<'_, T> {
        self.items.iter()
    }
    /// The least element.
    pub fn first(&self) -> Option<&T> {
        self.items.first()
    }
    /// Takes the greatest element out.
    pub fn pop_last(&mut self) -> Option<T> {
        self.items.pop()
    }
    /// Keeps the elements for which `keep` holds.
    pub fn retain(&mut self, keep: impl FnMut(&T) -> bool) {
        self.items.retain(keep);
    }
}

impl<T: Ord> SortedSet<T> {
    fn find<Q: Ord + ?Sized>(&self, item: &Q) -> Result<usize, usize>
    where
        T: Borrow<Q>,
    {
        find(&self.items, item, |item| item)
    }
    /// Whether `item` is an element.
    pub fn contains<Q: Ord + ?Sized>(&self, item: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        self.find(item).is_ok()
    }
    /// Makes `item` an element, and returns whether it was none.
    pub fn insert(&mut self, item: T) -> bool {
        let place = find_to_insert(&self.items, &item, |item| item);
        if let Err(index) = place {
            self.items.insert(index, item);
        }
        place.is_err()
    }
    /// Takes `item` out, and returns whether it was an element.
    pub fn remove<Q: Ord + ?Sized>(&mut self, item: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        self.find(item).map(|index| self.items.remove(index)).is_ok()
    }
    /// The elements in `bounds`, ascending.
    ///
    /// # Panics
    /// If the bounds are crossed and there are elements.
    pub fn range<Q: Ord + ?Sized>(&self, bounds: impl RangeBounds<Q>) -> slice::Iter<'_, T>
    where
        T: Borrow<Q>,
    {
        let range = find_range(&self.items, &bounds, |item| item);
        self.items[range].iter()
    }
    /// The elements of either, ascending.
    pub fn union<'a>(&'a self, other: &'a Self) -> Union<'a, T> {
        Union { left: &self.items, right: &other.items }
    }
    /// The elements of both, ascending.
    pub fn intersection<'a>(&'a self, other: &'a Self) -> impl DoubleEndedIterator<Item = &'a T> + Clone {
        self.iter().filter(|&item| other.contains(item))
    }
    /// The elements that the other has not, ascending.
    pub fn difference<'a>(&'a self, other: &'a Self) -> impl DoubleEndedIterator<Item = &'a T> + Clone {
        self.iter().filter(|&item| !other.contains(item))
    }
    /// Whether all elements are the other's, too.
    pub fn is_subset(&self, other: &Self) -> bool {
        self.len() <= other.len() && self.iter().all(|item| other.contains(item))
    }
    /// Whether no element is in both.
    pub fn is_disjoint(&self, other: &Self) -> bool {
        !self.iter().any(|item| other.contains(item))
    }
}

/// The elements of two sets, ascending.
#[derive(Clone, Debug)]
pub struct Union<'a, T> {
    left: &'a [T],
    right: &'a [T],
}

impl<'a, T: Ord> Iterator for Union<'a, T> {
    type Item = &'a T;
    fn next(&mut self) -> Option<&'a T> {
        let order = match (self.left.first(), self.right.first()) {
            (Some(left), Some(right)) => left.cmp(right),
            (Some(_), None) => Ordering::Less,
            (None, _) => Ordering::Greater,
        };
        if order.is_eq() {
            self.right = &self.right[1..];
        }
        let side = if order.is_le() { &mut self.left } else { &mut self.right };
        let (item, rest) = side.split_first()?;
        *side = rest;
        Some(item)
    }
}

impl<T> Default for SortedSet<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: fmt::Debug> fmt::Debug for SortedSet<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

impl<T: Ord> Extend<T> for SortedSet<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, items: I) {
        for item in items {
            self.insert(item);
        }
    }
}

impl<'a, T: Ord + Copy + 'a> Extend<&'a T> for SortedSet<T> {
    fn extend<I: IntoIterator<Item = &'a T>>(&mut self, items: I) {
        for &item in items {
            self.insert(item);
        }
    }
}

impl<T: Ord> FromIterator<T> for SortedSet<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let mut items: Vec<T> = items.into_iter().collect();
        // One by one, each would move those after it.
        items.sort();
        items.dedup();
        Self { items }
    }
}

impl<T: Ord, const N: usize> From<[T; N]> for SortedSet<T> {
    fn from(items: [T; N]) -> Self {
        items.into_iter().collect()
    }
}

impl<T> IntoIterator for SortedSet<T> {
    type Item = T;
    type IntoIter = vec::IntoIter<T>;
    fn into_iter(self) -> Self::IntoIter {
        self.items.into_iter()
    }
}

impl<'a, T> IntoIterator for &'a SortedSet<T> {
    type Item = &'a T;
    type IntoIter = slice::Iter<'a, T>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
