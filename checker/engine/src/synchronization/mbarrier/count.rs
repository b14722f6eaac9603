//! What an mbarrier has counted, where its operations come one after the other.

/// What an object has counted.
#[derive(Clone)]
pub struct Count {
    /// Phases that are complete.
    pub completed: u32,
    /// Arrivals that the phase has expected, those of them that are still to come, and those that the next one will expect.
    needs: u32,
    pending: u32,
    expected: u32,
    bytes: i64,
}

impl Count {
    /// Of an object that is initialised with so many arrivals.
    pub fn of_initial(count: u32) -> Self {
        Self { completed: 0, needs: count, pending: count, expected: count, bytes: 0 }
    }

    /// Counts so many arrivals and bytes. `false` if the arrivals are too many, so that they count for nothing.
    pub fn add(&mut self, arrivals: u32, drops: bool, bytes: i64) -> bool {
        let Some(pending) = self.pending.checked_sub(arrivals) else { return false };
        self.pending = pending;
        self.bytes += bytes;
        if drops {
            self.expected = self.expected.saturating_sub(arrivals);
        }
        // Where everybody has dropped out nothing completes a phase (UB-M8).
        if self.pending == 0 && self.bytes == 0 && self.needs > 0 {
            self.completed += 1;
            (self.needs, self.pending) = (self.expected, self.expected);
        }
        true
    }
}
