//! Where text goes. A reader that hangs up (`fencepost check … | head`) ends the output, not the run;
//! output that cannot be written for another reason (a full disk) is an error of its own.

use super::arguments::Color;
use super::progress::Progress;
use fencepost::report::Style;
use serde::{Deserialize, Serialize};
use std::io::{self, ErrorKind, IsTerminal, Stdout, Write};
use std::sync::Arc;

/// Columns of reports on a terminal, however narrow or wide it is.
const WIDTH_MIN: usize = 60;
/// See above.
const WIDTH_MAX: usize = 200;

/// Where text goes in the end.
enum To {
    /// To the process's streams.
    Streams(io::BufWriter<Stdout>),
    /// Nowhere yet: pieces in their order.
    Later(Vec<Piece>),
}

/// Some text on its way.
#[derive(Serialize, Deserialize)]
pub struct Piece {
    is_error: bool,
    text: String,
}

impl Piece {
    /// Text for stdout.
    pub fn printed(text: String) -> Self {
        Self { is_error: false, text }
    }

    /// What tells it apart from others.
    pub fn parts(&self) -> [&str; 2] {
        [if self.is_error { "error" } else { "" }, &self.text]
    }
}

/// Standard output and standard error, with their styles.
pub struct Output {
    to: To,
    /// For findings.
    pub style: Style,
    /// For errors.
    pub error_style: Style,
    /// Why nothing more reaches stdout.
    failed: Option<io::Error>,
    /// The line that says what the run is at, which gives way to everything else.
    progress: Option<Arc<Progress>>,
}

impl Output {
    /// Colours as asked for.
    pub fn new(color: Color) -> Self {
        let allowed = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        // As wide as the terminal, within what can be read; elsewhere the same for everybody.
        let width = |is_terminal: bool| {
            let size = if is_terminal { terminal_size::terminal_size() } else { None };
            size.map_or(Style::PLAIN.width, |(width, _)| usize::from(width.0).clamp(WIDTH_MIN, WIDTH_MAX))
        };
        let style = |is_terminal: bool| Style {
            color: match color {
                Color::Auto => is_terminal && allowed,
                Color::Always => true,
                Color::Never => false,
            },
            width: width(is_terminal),
        };
        Self {
            style: style(io::stdout().is_terminal()),
            error_style: style(io::stderr().is_terminal()),
            to: To::Streams(io::BufWriter::new(io::stdout())),
            failed: None,
            progress: None,
        }
    }

    /// From now on there may be a line that says what the run is at.
    pub fn with_progress(&mut self, progress: Option<Arc<Progress>>) {
        self.progress = progress;
    }

    /// Writes, where that line was if it is shown.
    fn aside<T>(progress: Option<&Arc<Progress>>, write: impl FnOnce() -> T) -> T {
        match progress {
            Some(progress) => progress.aside(write),
            None => write(),
        }
    }

    /// One that keeps what it is given until it is [handed over](Self::hand_over), with the same styles.
    pub fn later(&self) -> Self {
        Self {
            to: To::Later(Vec::new()),
            style: self.style,
            error_style: self.error_style,
            failed: None,
            progress: None,
        }
    }

    /// What was kept.
    pub fn into_pieces(self) -> Vec<Piece> {
        match self.to {
            To::Streams(_) => Vec::new(),
            To::Later(pieces) => pieces,
        }
    }

    /// Writes what another one has kept.
    pub fn hand_over(&mut self, pieces: Vec<Piece>) {
        for Piece { is_error, text } in pieces {
            if is_error { self.complain(&text) } else { self.print(&text) }
        }
    }

    /// Text on stdout.
    pub fn print(&mut self, text: &str) {
        match &mut self.to {
            To::Streams(stdout) if self.failed.is_none() => {
                let write = || stdout.write_all(text.as_bytes()).err();
                self.failed = Self::aside(self.progress.as_ref(), write);
            }
            To::Streams(_) => {}
            To::Later(pieces) => pieces.push(Piece { is_error: false, text: text.to_owned() }),
        }
    }

    /// Text on stderr, after what is on its way to stdout.
    pub fn complain(&mut self, text: &str) {
        if let To::Later(pieces) = &mut self.to {
            return pieces.push(Piece { is_error: true, text: text.to_owned() });
        }
        self.flush();
        // There is nowhere left to say that this failed.
        let _ = Self::aside(self.progress.as_ref(), || io::stderr().write_all(text.as_bytes()));
    }

    /// Sends off what is buffered.
    pub fn flush(&mut self) {
        if let (To::Streams(stdout), None) = (&mut self.to, &self.failed) {
            self.failed = Self::aside(self.progress.as_ref(), || stdout.flush().err());
        }
    }

    /// Why not everything was written, unless it was the reader who left.
    pub fn failure(&self) -> Option<&io::Error> {
        self.failed.as_ref().filter(|error| error.kind() != ErrorKind::BrokenPipe)
    }
}
