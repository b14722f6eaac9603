//! `fencepost lsp`: the language server protocol over what the checker knows.
//!
//! What an editor types is read by the front end alone, in well under a millisecond; a check runs when a file is saved, on
//! a thread of its own, and what it finds is shown only as long as the text is the one that was checked.

mod answers;
mod check;
mod documents;
mod elsewhere;
mod foreign;
mod front;
mod names;
mod project;
mod server;

use lsp_server::Connection;

/// Serves an editor over standard input and output.
///
/// # Errors
/// The editor does not keep to the protocol, or is gone without having said so.
pub fn serve() -> Result<(), String> {
    let (connection, threads) = Connection::stdio();
    let ended = server::run(&connection);
    // They end with the process: to wait for them would be to wait for a check that nobody asks for any more.
    std::mem::forget(threads);
    ended
}
