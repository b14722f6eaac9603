//! What a long run is at: one line on the terminal, written over again and again.
//!
//! It is for the eye only. Where standard error is no terminal there is none, and nothing is decided by what it says.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

/// Who waits for less is not told.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often the line is written.
const TICK: Duration = Duration::from_millis(200);
/// Moves to the start of the line and clears it.
const CLEAR: &str = "\r\u{1b}[K";

/// What a run is at.
pub struct Progress {
    began: Instant,
    n_files: usize,
    n_done: AtomicUsize,
    /// The launches that are being checked, those that began first before the others.
    launches: Mutex<Vec<Weak<Of>>>,
    /// Whether the line is on the terminal. Who holds it writes.
    is_shown: Mutex<bool>,
}

/// What one launch is at.
pub struct Of {
    title: String,
    stage: Mutex<&'static str>,
    steps: AtomicU64,
    budget: u64,
}

impl Progress {
    /// Of a run over so many files, if standard error is a terminal.
    pub fn of_run(n_files: usize) -> Option<Arc<Self>> {
        io::stderr().is_terminal().then(|| {
            let progress = Arc::new(Self::new(n_files));
            let own = Arc::downgrade(&progress);
            thread::spawn(move || {
                while let Some(progress) = own.upgrade() {
                    progress.tick();
                    drop(progress);
                    thread::sleep(TICK);
                }
            });
            progress
        })
    }

    fn new(n_files: usize) -> Self {
        Self {
            began: Instant::now(),
            n_files,
            n_done: AtomicUsize::new(0),
            launches: Mutex::default(),
            is_shown: Mutex::default(),
        }
    }

    /// A launch begins.
    pub fn begin(&self, title: String, budget: u64) -> Arc<Of> {
        let of = Of { title, stage: Mutex::new("unroll"), steps: AtomicU64::new(0), budget };
        let of = Arc::new(of);
        self.launches.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(&of));
        of
    }

    /// A file is done.
    pub fn file_done(&self) {
        self.n_done.fetch_add(1, Ordering::Relaxed);
    }

    /// What to show, if there is anything to say.
    fn line(&self) -> Option<String> {
        let mut launches = self.launches.lock().unwrap_or_else(PoisonError::into_inner);
        launches.retain(|launch| launch.strong_count() > 0);
        let running: Vec<Arc<Of>> = launches.iter().filter_map(Weak::upgrade).collect();
        drop(launches);
        let first = running.first()?;
        let others = match running.len() - 1 {
            0 => String::new(),
            n => format!(" (and {n} more)"),
        };
        let files = match (self.n_done.load(Ordering::Relaxed), self.n_files) {
            (_, 0 | 1) => String::new(),
            (done, all) => format!("{done} of {all} files done; "),
        };
        let stage = *first.stage.lock().unwrap_or_else(PoisonError::into_inner);
        let percent = first.steps.load(Ordering::Relaxed).saturating_mul(100) / first.budget.max(1);
        let percent = percent.min(100);
        Some(format!("{files}{stage}, {percent}% of the budget: {}{others}", first.title))
    }

    fn tick(&self) {
        if self.began.elapsed() < PATIENCE {
            return;
        }
        let Some(line) = self.line() else { return };
        let width = terminal_size::terminal_size().map_or(80, |(width, _)| usize::from(width.0));
        let cut: String = line.chars().take(width.saturating_sub(1)).collect();
        let mut is_shown = self.is_shown.lock().unwrap_or_else(PoisonError::into_inner);
        *is_shown = true;
        // Nobody misses a line that could not be written.
        let _ = write!(io::stderr(), "{CLEAR}{cut}").and_then(|()| io::stderr().flush());
    }

    /// Writes something else, where the line was.
    pub fn aside<T>(&self, write: impl FnOnce() -> T) -> T {
        let mut is_shown = self.is_shown.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::take(&mut *is_shown) {
            let _ = io::stderr().write_all(CLEAR.as_bytes());
        }
        write()
    }
}

impl Of {
    /// A stage begins.
    pub fn begins(&self, stage: &'static str) {
        *self.stage.lock().unwrap_or_else(PoisonError::into_inner) = stage;
    }

    /// So many steps were done.
    pub fn has_done(&self, steps: u64) {
        self.steps.store(steps, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::Progress;

    #[test]
    fn the_line_names_launch_stage_and_how_far_it_is() {
        let progress = Progress::new(3);
        assert_eq!(progress.line(), None);
        let ring = progress.begin("ring.fence: ring".to_owned(), 200);
        ring.begins("solve");
        ring.has_done(86);
        progress.file_done();
        assert_eq!(
            progress.line().as_deref(),
            Some("1 of 3 files done; solve, 43% of the budget: ring.fence: ring")
        );
        let lock = progress.begin("lock.fence: lock (four)".to_owned(), 200);
        assert!(progress.line().is_some_and(|line| line.ends_with("ring (and 1 more)")));
        drop(ring);
        assert!(
            progress
                .line()
                .is_some_and(|line| line.ends_with("unroll, 0% of the budget: lock.fence: lock (four)"))
        );
        drop(lock);
        assert_eq!(progress.line(), None);
        let alone = Progress::new(1);
        let of = alone.begin("a: a".to_owned(), 0);
        of.has_done(7);
        assert_eq!(alone.line().as_deref(), Some("unroll, 100% of the budget: a: a"));
    }
}
