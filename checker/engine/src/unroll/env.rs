//! The register environment: which term each register holds on a path. The only place that names the persistent map.
//!
//! Paths are copied at every branch and compared at every join; a persistent map makes both cost what changed.

use crate::event::TermRef;
use fencepost_dsl::kernel::program::RegisterId;
use im::OrdMap;
use im::ordmap::DiffItem;

/// Registers and their values; a register that is absent has not been assigned on this path.
#[derive(Clone, Debug, Default)]
pub struct Env {
    values: OrdMap<RegisterId, TermRef>,
}

impl Env {
    /// The value of a register, if it has one.
    pub fn get(&self, register: RegisterId) -> Option<TermRef> {
        self.values.get(&register).copied()
    }

    /// Assigns a register.
    pub fn set(&mut self, register: RegisterId, value: TermRef) {
        self.values.insert(register, value);
    }

    /// Forgets a register.
    pub fn remove(&mut self, register: RegisterId) {
        self.values.remove(&register);
    }

    /// Registers that have a value in `self` and another one, or none, in `later`.
    pub fn changed(&self, later: &Self) -> Vec<RegisterId> {
        self.values
            .diff(&later.values)
            .filter_map(|item| match item {
                DiffItem::Add(..) => None,
                DiffItem::Update { old: (register, _), .. } | DiffItem::Remove(register, _) => {
                    Some(*register)
                }
            })
            .collect()
    }

    /// Forgets the registers that have no value in `entry`: those declared inside the loop whose entry that was.
    pub fn restrict_to(&mut self, entry: &Self) {
        let inner: Vec<RegisterId> = entry
            .values
            .diff(&self.values)
            .filter_map(|item| match item {
                DiffItem::Add(register, _) => Some(*register),
                DiffItem::Update { .. } | DiffItem::Remove(..) => None,
            })
            .collect();
        for register in inner {
            self.values.remove(&register);
        }
    }

    /// The environment after two paths met; `choose` gives the value of a register on which they differ.
    ///
    /// A register assigned on one path only cannot be read after the join, and is forgotten.
    pub fn join(&self, other: &Self, mut choose: impl FnMut(TermRef, TermRef) -> TermRef) -> Self {
        let mut joined = self.clone();
        for item in self.values.diff(&other.values) {
            match item {
                DiffItem::Add(..) => {}
                DiffItem::Update { old: (register, &a), new: (_, &b) } => {
                    joined.values.insert(*register, choose(a, b));
                }
                DiffItem::Remove(register, _) => {
                    joined.values.remove(register);
                }
            }
        }
        joined
    }
}
