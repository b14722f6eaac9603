//! Where text goes. A reader that hangs up (`fencepost check … | head`) ends the output, not the run;
//! output that cannot be written for another reason (a full disk) is an error of its own.

use super::arguments::Color;
use crate::report::Style;
use std::io::{self, ErrorKind, IsTerminal, Stdout, Write};

/// Standard output and standard error, with their styles.
pub struct Output {
    stdout: io::BufWriter<Stdout>,
    /// For findings.
    pub style: Style,
    /// For errors.
    pub error_style: Style,
    /// Why nothing more reaches stdout.
    failed: Option<io::Error>,
}

impl Output {
    /// Colours as asked for.
    pub fn new(color: Color) -> Self {
        let allowed = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let style = |is_terminal: bool| Style {
            color: match color {
                Color::Auto => is_terminal && allowed,
                Color::Always => true,
                Color::Never => false,
            },
            ..Style::PLAIN
        };
        Self {
            style: style(io::stdout().is_terminal()),
            error_style: style(io::stderr().is_terminal()),
            stdout: io::BufWriter::new(io::stdout()),
            failed: None,
        }
    }

    /// Text on stdout.
    pub fn print(&mut self, text: &str) {
        if self.failed.is_none() {
            self.failed = self.stdout.write_all(text.as_bytes()).err();
        }
    }

    /// Text on stderr, after what is on its way to stdout.
    pub fn complain(&mut self, text: &str) {
        self.flush();
        // There is nowhere left to say that this failed.
        let _ = io::stderr().write_all(text.as_bytes());
    }

    /// Sends off what is buffered.
    pub fn flush(&mut self) {
        if self.failed.is_none() {
            self.failed = self.stdout.flush().err();
        }
    }

    /// Why not everything was written, unless it was the reader who left.
    pub fn failure(&self) -> Option<&io::Error> {
        self.failed.as_ref().filter(|error| error.kind() != ErrorKind::BrokenPipe)
    }
}
