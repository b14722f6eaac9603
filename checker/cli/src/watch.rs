//! The clock: what the engine's stages take, and when a run is given up.

use fencepost::listener::Listener;
use std::cell::Cell;
use std::time::{Duration, Instant};

thread_local! {
    /// When the stage began that this thread is in.
    static BEGAN: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Measures stages, and gives up when its time is over.
pub struct Watch {
    deadline: Option<Instant>,
}

impl Watch {
    /// One that gives up after this time from now on, if it ever does.
    pub fn new(timeout: Option<Duration>) -> Self {
        Self { deadline: timeout.and_then(|timeout| Instant::now().checked_add(timeout)) }
    }
}

impl Listener for Watch {
    fn begins(&self, _stage: &'static str) {
        BEGAN.set(Some(Instant::now()));
    }

    fn ends(&self, _stage: &'static str) -> u64 {
        let took = BEGAN.take().map_or(Duration::ZERO, |began| began.elapsed());
        u64::try_from(took.as_micros()).unwrap_or(u64::MAX)
    }

    fn gives_up(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() > deadline)
    }
}
