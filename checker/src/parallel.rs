//! Several tasks at a time, with their results in order; and a task on a thread with a large stack.

use fencepost_dsl::sorted::SortedMap;
#[cfg(not(target_family = "wasm"))]
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

/// How many tasks the machine can do at a time.
pub fn available() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Does all tasks, up to `jobs` at a time, and hands over their results in the order of the tasks.
pub fn in_order<T: Sync, R: Send>(
    jobs: usize,
    tasks: &[T],
    work: impl Fn(&T) -> R + Sync,
    mut then: impl FnMut(&T, R),
) {
    if jobs <= 1 || tasks.len() <= 1 {
        return tasks.iter().for_each(|task| then(task, work(task)));
    }
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..jobs.min(tasks.len()) {
            let (sender, next, work) = (sender.clone(), &next, &work);
            scope.spawn(move || {
                while let Some((number, task)) = {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    tasks.get(number).map(|task| (number, task))
                } {
                    // Nobody listens any more only if this process is on its way out.
                    let _ = sender.send((number, work(task)));
                }
            });
        }
        drop(sender);
        let mut early: SortedMap<usize, R> = SortedMap::new();
        let mut in_turn = 0;
        for (number, result) in receiver {
            early.insert(number, result);
            while let Some(result) = early.remove(&in_turn) {
                then(&tasks[in_turn], result);
                in_turn += 1;
            }
        }
    });
}

/// Stack of the threads that parse, unroll and check; programs may be deeply nested.
pub const STACK_BYTES: usize = 256 << 20;

/// Runs `work` on a thread with a large stack; `Err` says that it panicked.
#[cfg(not(target_family = "wasm"))]
pub fn on_large_stack<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T, String> {
    thread::scope(|scope| {
        let spawned = thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, || {
            catch_unwind(AssertUnwindSafe(work)).map_err(|panic| panic_message(&*panic))
        });
        match spawned {
            Ok(handle) => handle.join().unwrap_or_else(|panic| Err(panic_message(&*panic))),
            Err(error) => Err(format!("no thread could be started: {error}")),
        }
    })
}

/// Runs `work` where there are no threads: the stack is as large as the module was linked with, and who panics is gone.
#[cfg(target_family = "wasm")]
pub fn on_large_stack<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T, String> {
    Ok(work())
}

/// What a panic said, for a report of it.
pub fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text =
        panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    format!("a pass panicked: {}", text.unwrap_or("without a message"))
}

#[cfg(test)]
mod tests {
    use super::in_order;

    #[test]
    fn results_come_in_order() {
        for jobs in [1, 2, 7, 200] {
            let tasks: Vec<u64> = (0..100).collect();
            let mut seen = Vec::new();
            // The earlier ones take longer.
            let work = |&task: &u64| (0..(100 - task) * 1_000).fold(task, |sum, n| sum ^ n ^ n);
            in_order(jobs, &tasks, work, |&task, result| seen.push((task, result)));
            assert_eq!(seen, tasks.iter().map(|&task| (task, task)).collect::<Vec<_>>());
        }
    }
}
