//! How much the twin has enumerated, in steps that are the same on every machine.

use super::TooLarge;
use std::cell::Cell;

/// Steps that are left. A step is about what an event of an execution costs.
pub struct Meter(Cell<u64>);

impl Meter {
    /// So many steps.
    pub fn new(steps_max: u64) -> Self {
        Self(Cell::new(steps_max))
    }

    /// Takes steps away.
    pub fn spend(&self, n_steps: usize) -> Result<(), TooLarge> {
        self.0.set(self.0.get().checked_sub(n_steps as u64).ok_or(TooLarge)?);
        Ok(())
    }
}
