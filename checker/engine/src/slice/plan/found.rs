//! Which slices there are so far, one of each kind.

use super::{KEY_MAX, Plan};
use crate::slice::piece::Piece;
use crate::work::{self, Allowance, Work};
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;

/// Slices that differ, so far.
pub(super) struct Found<'p> {
    plan: &'p Plan<'p>,
    allowance: &'p Allowance,
    /// The number of each, or none if it is known.
    seen: FxHashMap<Vec<u32>, Option<usize>>,
    pub(super) pieces: Vec<Piece>,
}

impl<'p> Found<'p> {
    /// None yet.
    pub(super) fn new(plan: &'p Plan<'p>, allowance: &'p Allowance) -> Self {
        Self { plan, allowance, seen: FxHashMap::default(), pieces: Vec::new() }
    }

    /// Those that are alike to it need not be added.
    pub(super) fn know(&mut self, piece: &Piece) {
        self.seen.insert(piece.key(self.plan.graph, self.plan.doings()), None);
    }

    /// Adds one, unless it is alike to one that is there; `None` if it is no smaller than the whole, or nothing more may be spent.
    pub(super) fn add(&mut self, mut piece: Piece) -> Option<()> {
        let graph = self.plan.graph;
        work::count(Work::Sliced, piece.kept.len());
        if self.allowance.used_up().is_some() || piece.kept.len() * 2 > graph.events.len() {
            return None;
        }
        // Where others' names are all over, slices are not alike, and large.
        let key = piece.key(graph, self.plan.doings());
        if key.len() > KEY_MAX {
            return None;
        }
        match self.seen.entry(key) {
            Entry::Vacant(new) => {
                new.insert(Some(self.pieces.len()));
                self.pieces.push(piece);
            }
            Entry::Occupied(known) => {
                let Some(known) = known.get().map(|alike| &mut self.pieces[alike]) else { return Some(()) };
                // Of places nobody asks whose they are.
                if piece.asked.contains(&piece.centre) {
                    known.alike.push(piece.centre);
                }
                known.cores.append(&mut piece.cores);
            }
        }
        Some(())
    }
}
