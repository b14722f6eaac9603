//! Who is told of a check while it runs.

/// Why a check is given up before it is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Halt {
    /// Its time is over.
    Deadline,
    /// Whoever wanted it does not want it any more.
    Interrupt,
}

/// Whoever calls the engine, which has no clock: how long a stage takes is measured, and when a run is given up is decided, out
/// there. What a listener says changes when a check ends, and never what it finds out.
///
/// One listener may be asked by several checks at a time; each of them runs on one thread, with its stages one after the other.
pub trait Listener: Send + Sync {
    /// A stage of a check begins.
    fn begins(&self, _stage: &'static str) {}

    /// The stage that began last on this thread has ended: how many microseconds it took. 0 for whoever does not measure.
    fn ends(&self, _stage: &'static str) -> u64 {
        0
    }

    /// Whether a check that is not done shall stop, and why. It is asked often, on the thread of the check.
    fn gives_up(&self) -> Option<Halt> {
        None
    }
}

/// Measures nothing and has all the time there is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Silent;

impl Listener for Silent {}

#[cfg(test)]
pub(crate) mod tests {
    use super::{Halt, Listener};

    /// Gives up at once.
    pub struct Impatient;

    impl Listener for Impatient {
        fn gives_up(&self) -> Option<Halt> {
            Some(Halt::Deadline)
        }
    }
}
