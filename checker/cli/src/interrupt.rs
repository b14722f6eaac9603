//! Ctrl-C: a check is told to stop, and what is decided is said.

use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Whether somebody wants this run to end.
static IS_WANTED: AtomicBool = AtomicBool::new(false);

/// How often whoever waits for a check looks whether it is still wanted.
pub const LOOK: Duration = Duration::from_millis(100);

/// As of a process that the signal has ended.
const EXIT_CODE: i32 = 130;

/// From now on the first Ctrl-C is a wish; the second ends the process.
pub fn listen() {
    // Without it the signal ends the process at once, as it does with all other commands.
    let _ = ctrlc::set_handler(|| {
        if IS_WANTED.swap(true, Ordering::Relaxed) {
            process::exit(EXIT_CODE);
        }
    });
}

/// Whether there was one.
pub fn is_wanted() -> bool {
    IS_WANTED.load(Ordering::Relaxed)
}

/// How long a check that is not wanted any more may take to notice it.
#[derive(Default)]
pub struct Patience {
    since: Option<Instant>,
}

impl Patience {
    /// Whether it has taken longer.
    pub fn is_over(&mut self, grace: Duration) -> bool {
        is_wanted() && self.since.get_or_insert_with(Instant::now).elapsed() > grace
    }
}
