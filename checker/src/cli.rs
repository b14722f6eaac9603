//! The command line: the only part that reads files, environment and clock, and that prints.

mod arguments;
mod check;
mod emit;
mod explain;
mod fmt;
mod formats;
mod graph;
pub(crate) mod load;
mod mend;
mod new;
mod output;
pub(crate) mod parallel;
pub(crate) mod paths;
mod shell;
mod templates;

use arguments::{Arguments, Command};
use clap::error::ErrorKind as Misuse;
use output::Output;
use std::io::{self, ErrorKind, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::OnceLock;
use std::thread;
use std::time::Instant;

/// How a run ended, the mildest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Status {
    /// Everything asked for was proved (or done).
    Fine,
    /// Something is neither proved nor violated.
    Undecided,
    /// Something is violated.
    Violated,
    /// Some input was rejected.
    Rejected,
    /// A bug of ours.
    Internal,
    /// The output could not be written, whatever it was.
    Unwritten,
}

impl Status {
    fn exit_code(self) -> u8 {
        match self {
            Self::Fine => 0,
            Self::Undecided => 3,
            Self::Violated => 1,
            Self::Rejected => 2,
            Self::Internal => 70,
            Self::Unwritten => 74,
        }
    }
}

/// Stack of the threads that parse, unroll and check; programs may be deeply nested.
const STACK_BYTES: usize = 256 << 20;

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    // The clock starts here.
    clock();
    let arguments = match Arguments::of_process() {
        Ok(arguments) => arguments,
        Err(error) if error.kind() == Misuse::DisplayHelpOnMissingArgumentOrSubcommand => {
            // As for anything else that is asked for wrongly: to stderr, and input rejected.
            let _ = io::stderr().write_all(shell::FIRST_STEPS.as_bytes());
            return ExitCode::from(Status::Rejected.exit_code());
        }
        Err(error) => {
            let printed = error.print().and_then(|()| io::stdout().flush());
            let is_help = error.exit_code() == 0;
            return match printed {
                Err(error) if is_help && error.kind() != ErrorKind::BrokenPipe => unwritten(&error),
                _ => ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2)),
            };
        }
    };
    let mut output = Output::new(arguments.color);
    let status = match arguments.command {
        Command::New(options) => new::run(&options, &mut output),
        Command::Check(options) => check::run(&options, &mut output),
        Command::Fix(options) => mend::run(mend::Task::Fix, &options, &mut output),
        Command::Relax(options) => mend::run(mend::Task::Relax, &options, &mut output),
        Command::Explain(options) => explain::run(&options, &mut output),
        Command::Fmt(options) => fmt::run(&options, &mut output),
        Command::Emit(options) => emit::run(&options, &mut output),
        Command::Completions(options) => shell::completions(&options, &mut output),
        Command::Man(options) => shell::man(&options, &mut output),
    };
    output.flush();
    match output.failure() {
        Some(error) => unwritten(error),
        None => ExitCode::from(status.exit_code()),
    }
}

fn unwritten(error: &io::Error) -> ExitCode {
    let _ = writeln!(io::stderr(), "error: the output could not be written: {error}");
    ExitCode::from(Status::Unwritten.exit_code())
}

/// Microseconds since the process started.
fn clock() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    u64::try_from(START.get_or_init(Instant::now).elapsed().as_micros()).unwrap_or(u64::MAX)
}

/// Runs `work` on a thread with a large stack; `Err` says that it panicked.
pub(crate) fn on_large_stack<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T, String> {
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

fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text =
        panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    format!("a pass panicked: {}", text.unwrap_or("without a message"))
}

#[cfg(test)]
mod tests {
    use super::Status;

    #[test]
    fn the_worst_status_wins() {
        let order = [
            Status::Unwritten,
            Status::Internal,
            Status::Rejected,
            Status::Violated,
            Status::Undecided,
            Status::Fine,
        ];
        assert!(order.windows(2).all(|pair| pair[0] > pair[1]));
        assert_eq!(order.map(Status::exit_code), [74, 70, 2, 1, 3, 0]);
    }
}
