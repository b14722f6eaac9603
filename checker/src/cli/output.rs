//! Where text goes. A reader that hangs up (`fencepost check … | head`) ends the output, not the run.

use super::arguments::Color;
use crate::report::Style;
use std::io::{IsTerminal, Stdout, Write};

/// Standard output and standard error, with their styles.
pub struct Output {
    stdout: std::io::BufWriter<Stdout>,
    /// For findings.
    pub style: Style,
    /// For errors.
    pub error_style: Style,
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
            style: style(std::io::stdout().is_terminal()),
            error_style: style(std::io::stderr().is_terminal()),
            stdout: std::io::BufWriter::new(std::io::stdout()),
        }
    }

    /// Text on stdout.
    pub fn print(&mut self, text: &str) {
        // A closed pipe is no error of the run; its verdict stays the exit code.
        let _ = self.stdout.write_all(text.as_bytes());
    }

    /// Text on stderr, after what is on its way to stdout.
    pub fn complain(&mut self, text: &str) {
        self.flush();
        let _ = std::io::stderr().write_all(text.as_bytes());
    }

    /// Sends off what is buffered.
    pub fn flush(&mut self) {
        let _ = self.stdout.flush();
    }
}
