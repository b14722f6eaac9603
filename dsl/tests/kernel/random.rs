//! Numbers that look random and are the same in each run, so that failures can be repeated.

/// A state, which is the seed at first.
pub struct Random(pub u64);

impl Random {
    /// An index below a limit.
    pub fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % n
    }
}
