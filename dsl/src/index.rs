//! Typed dense indices: an id is a `u32` of its own type, and a table of things is an [`IndexVec`] over that id.

use std::marker::PhantomData;

/// A dense index: `0, 1, 2, …` into one table.
pub trait Id: Copy + Eq + Ord {
    /// The id of the `index`-th element.
    fn from_index(index: usize) -> Self;
    /// The position this id stands for.
    fn index(self) -> usize;
}

/// Declares id types: `define_id! { /// doc  pub struct EventId; }`.
#[macro_export]
macro_rules! define_id {
    ($($(#[$meta:meta])* pub struct $name:ident;)*) => { $(
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub struct $name(pub u32);
        impl $crate::index::Id for $name {
            fn from_index(index: usize) -> Self {
                Self(u32::try_from(index).expect("tables stay far below 2^32 entries"))
            }
            fn index(self) -> usize {
                self.0 as usize
            }
        }
    )* };
}

/// A vector indexed by one id type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IndexVec<I, T> {
    items: Vec<T>,
    marker: PhantomData<fn(I)>,
}

impl<I: Id, T> IndexVec<I, T> {
    /// An empty table.
    pub fn new() -> Self {
        Self { items: Vec::new(), marker: PhantomData }
    }
    /// A table of `n` copies of `item`.
    pub fn repeat(item: T, n: usize) -> Self
    where
        T: Clone,
    {
        Self::from(vec![item; n])
    }
    /// Appends `item` and returns its id.
    pub fn push(&mut self, item: T) -> I {
        self.items.push(item);
        I::from_index(self.items.len() - 1)
    }
    /// Drops all entries from the `len`-th on.
    pub fn truncate(&mut self, len: usize) {
        self.items.truncate(len);
    }
    /// The id the next [`push`](Self::push) will return.
    pub fn next_id(&self) -> I {
        I::from_index(self.items.len())
    }
    /// Number of entries.
    pub fn len(&self) -> usize {
        self.items.len()
    }
    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
    /// All ids, ascending.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = I> + ExactSizeIterator + use<I, T> {
        (0..self.items.len()).map(I::from_index)
    }
    /// All entries, ascending by id.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.items.iter()
    }
    /// All entries with their ids, ascending.
    pub fn iter_enumerated(&self) -> impl DoubleEndedIterator<Item = (I, &T)> + ExactSizeIterator {
        self.items.iter().enumerate().map(|(index, item)| (I::from_index(index), item))
    }
    /// The entry of `id`, if there is one.
    pub fn get(&self, id: I) -> Option<&T> {
        self.items.get(id.index())
    }
}

impl<I: Id, T> Default for IndexVec<I, T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<I, T> From<Vec<T>> for IndexVec<I, T> {
    fn from(items: Vec<T>) -> Self {
        Self { items, marker: PhantomData }
    }
}

impl<I: Id, T> FromIterator<T> for IndexVec<I, T> {
    fn from_iter<A: IntoIterator<Item = T>>(items: A) -> Self {
        Self::from(items.into_iter().collect::<Vec<_>>())
    }
}

impl<I: Id, T> std::ops::Index<I> for IndexVec<I, T> {
    type Output = T;
    fn index(&self, id: I) -> &T {
        &self.items[id.index()]
    }
}

impl<I: Id, T> std::ops::IndexMut<I> for IndexVec<I, T> {
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.items[id.index()]
    }
}
