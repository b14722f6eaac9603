//! The command line: the only part that reads files, environment and clock, and that prints.

mod arguments;
mod cache;
mod certificate;
mod check;
mod compare;
mod emit;
mod explain;
mod fmt;
mod formats;
mod graph;
mod interrupt;
mod load;
mod mend;
mod new;
mod output;
mod outside;
mod progress;
mod run;
mod settings;
mod shell;
mod templates;
mod verify;
mod watch;

use arguments::{Arguments, Command};
use clap::error::ErrorKind as Misuse;
use output::Output;
use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

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
    /// All of them.
    const ALL: [Self; 6] =
        [Self::Fine, Self::Undecided, Self::Violated, Self::Rejected, Self::Internal, Self::Unwritten];

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

/// Runs the command line of this process.
fn main() -> ExitCode {
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
        Command::Run(options) => run::run(&options, &mut output),
        Command::Compare(options) => compare::run(&options, &mut output),
        Command::Explain(options) => explain::run(&options, &mut output),
        Command::Fmt(options) => fmt::run(&options, &mut output),
        Command::Emit(options) => emit::run(&options, &mut output),
        Command::Verify(options) => verify::run(&options, &mut output),
        Command::Lsp => return serve(),
        Command::Completions(options) => shell::completions(&options, &mut output),
        Command::Man(options) => shell::man(&options, &mut output),
    };
    output.flush();
    match output.failure() {
        Some(error) => unwritten(error),
        None => ExitCode::from(status.exit_code()),
    }
}

/// Serves an editor over standard input and output until it says that it is done, or is gone. Nothing is printed here: as long
/// as there is somebody to be answered, standard output belongs to the server.
fn serve() -> ExitCode {
    match fencepost_lsp::serve() {
        Ok(()) => ExitCode::from(Status::Fine.exit_code()),
        Err(why) => {
            let _ = writeln!(io::stderr(), "error: {why}");
            ExitCode::from(Status::Rejected.exit_code())
        }
    }
}

fn unwritten(error: &io::Error) -> ExitCode {
    let _ = writeln!(io::stderr(), "error: the output could not be written: {error}");
    ExitCode::from(Status::Unwritten.exit_code())
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
