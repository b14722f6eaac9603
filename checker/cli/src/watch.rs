//! The clock: what the engine's stages take, and when a run is given up.

use super::interrupt;
use super::progress::Of;
use fencepost::listener::{Halt, Listener};
use fencepost::work;
use std::cell::Cell;
use std::sync::Arc;
use std::time::{Duration, Instant};

thread_local! {
    /// When the stage began that this thread is in.
    static BEGAN: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Measures stages, tells what the run is at, and gives up when its time is over or nobody wants it any more.
#[derive(Default)]
pub struct Watch {
    deadline: Option<Instant>,
    shown: Option<Arc<Of>>,
}

impl Watch {
    /// One that gives up after this time from now on, if it ever does.
    pub fn new(timeout: Option<Duration>) -> Self {
        Self { deadline: timeout.and_then(|timeout| Instant::now().checked_add(timeout)), shown: None }
    }

    /// The same, which tells somebody what the run is at.
    pub fn shown(self, shown: Option<Arc<Of>>) -> Self {
        Self { shown, ..self }
    }
}

impl Listener for Watch {
    fn begins(&self, stage: &'static str) {
        BEGAN.set(Some(Instant::now()));
        if let Some(shown) = &self.shown {
            shown.begins(stage);
        }
    }

    fn ends(&self, _stage: &'static str) -> u64 {
        let took = BEGAN.take().map_or(Duration::ZERO, |began| began.elapsed());
        u64::try_from(took.as_micros()).unwrap_or(u64::MAX)
    }

    fn gives_up(&self) -> Option<Halt> {
        if let Some(shown) = &self.shown {
            // A check has its thread to itself.
            shown.has_done(work::done());
        }
        if interrupt::is_wanted() {
            return Some(Halt::Interrupt);
        }
        self.deadline.is_some_and(|deadline| Instant::now() > deadline).then_some(Halt::Deadline)
    }
}
