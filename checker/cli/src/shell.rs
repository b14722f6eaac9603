//! What the shell and `man` know of the command: `fencepost completions` and `fencepost man`; and what stands in place of
//! a command line without a command.

use super::Status;
use super::arguments::{Arguments, CompletionsOptions, ManOptions};
use super::output::Output;
use clap::CommandFactory;
use fencepost::paths::shown;

/// The name of the command.
const NAME: &str = "fencepost";

/// What to do first, for who has said nothing.
pub const FIRST_STEPS: &str = "\
Fencepost checks GPU synchronization code: it proves that a kernel neither races nor hangs, or shows
the execution in which it does, and a change that mends it.

  fencepost new first              write a kernel to begin with, first.fence (new --list: other kinds)
  fencepost check first.fence      prove it, or see what is wrong with it
  fencepost explain race::uniform  what a finding means, with an example and its repair

fencepost --help has all commands. The book is in the source, from book/src/introduction.md on.
";

/// Prints the completions for a shell.
pub fn completions(options: &CompletionsOptions, output: &mut Output) -> Status {
    let mut text = Vec::new();
    clap_complete::generate(options.shell, &mut Arguments::command(), NAME, &mut text);
    output.print(&String::from_utf8_lossy(&text));
    Status::Fine
}

/// Prints the manual page of the command, or of one of its commands.
pub fn man(options: &ManOptions, output: &mut Output) -> Status {
    let mut command = Arguments::command();
    // Gives each command the whole of its name.
    command.build();
    let page = match &options.command {
        None => Some(command),
        Some(name) => command.find_subcommand(name).cloned(),
    };
    let Some(page) = page else {
        let name = shown(options.command.as_deref().unwrap_or_default());
        output.complain(&format!("error: there is no command `{name}`\n  fencepost --help lists them all\n"));
        return Status::Rejected;
    };
    let mut text = Vec::new();
    let source = format!("{NAME} {}", env!("CARGO_PKG_VERSION"));
    match clap_mangen::Man::new(page).source(source).manual("Fencepost").render(&mut text) {
        Ok(()) => {
            output.print(&String::from_utf8_lossy(&text));
            Status::Fine
        }
        Err(error) => {
            output.complain(&format!("error: the page could not be made: {error}\n"));
            Status::Internal
        }
    }
}
