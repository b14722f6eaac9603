//! A picture of what a terminal shows, from text with its colours.

use std::fmt::Write;

/// Columns; longer lines go on below, indented.
const COLUMNS: usize = 110;
const INDENT: usize = 6;

/// Of a cell and around it, in pixels. Runs are stretched to the width of their cells, whatever font there is.
const CELL: usize = 8;
const LINE: usize = 18;
const MARGIN: usize = 16;

/// Whatever a reader has in which all columns are as wide.
const FONTS: &str = "ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace";
const BACKGROUND: &str = "#16181d";
const FOREGROUND: &str = "#d7dae0";

/// How text looks.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Look {
    /// The last digit of a colour's code; 0 for none.
    color: u8,
    is_bold: bool,
    is_dim: bool,
    is_underlined: bool,
}

impl Look {
    /// After one more code.
    fn with(self, code: &str) -> Self {
        match code {
            "" | "0" => Self::default(),
            "1" => Self { is_bold: true, ..self },
            "2" => Self { is_dim: true, ..self },
            "4" => Self { is_underlined: true, ..self },
            _ => {
                let color = code.strip_prefix('3').and_then(|digit| digit.parse().ok());
                Self { color: color.unwrap_or_else(|| panic!("the code {code} is not drawn")), ..self }
            }
        }
    }

    fn attributes(self) -> String {
        let color = match self.color {
            0 => FOREGROUND,
            1 => "#ff6b6b",
            2 => "#7ecf8a",
            3 => "#e5c07b",
            4 => "#6cb1ff",
            5 => "#d791e8",
            6 => "#62c8d4",
            other => panic!("the colour {other} is not drawn"),
        };
        let mut text = format!(" fill=\"{color}\"");
        for (is_so, attribute) in [
            (self.is_bold, " font-weight=\"bold\""),
            (self.is_dim, " fill-opacity=\"0.6\""),
            (self.is_underlined, " text-decoration=\"underline\""),
        ] {
            text += if is_so { attribute } else { "" };
        }
        text
    }
}

/// Each character with its look, line by line.
fn cells(text: &str) -> Vec<Vec<(char, Look)>> {
    let mut lines = Vec::new();
    let mut look = Look::default();
    for line in text.lines() {
        let mut cells = Vec::new();
        let mut rest = line;
        while let Some(c) = rest.chars().next() {
            if let Some(codes) = rest.strip_prefix("\u{1b}[") {
                let (codes, after) = codes.split_once('m').expect("only looks are changed");
                look = codes.split(';').fold(look, Look::with);
                rest = after;
            } else {
                cells.push((c, look));
                rest = &rest[c.len_utf8()..];
            }
        }
        lines.push(cells);
    }
    lines
}

/// A line in pieces that fit, broken at blanks.
fn wrapped(line: &[(char, Look)]) -> Vec<Vec<(char, Look)>> {
    let mut pieces = Vec::new();
    let mut rest = line.to_vec();
    while rest.len() > COLUMNS {
        let at = rest[..COLUMNS].iter().rposition(|&(c, _)| c == ' ').expect("words are shorter than a line");
        let after = rest.split_off(at + 1);
        pieces.push(rest);
        rest = vec![(' ', Look::default()); INDENT];
        rest.extend(after);
    }
    pieces.push(rest);
    pieces
}

/// The picture.
pub fn svg(text: &str) -> String {
    let lines: Vec<Vec<(char, Look)>> = cells(text).iter().flat_map(|line| wrapped(line)).collect();
    let (width, height) = (COLUMNS * CELL + 2 * MARGIN, lines.len() * LINE + 2 * MARGIN);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" font-family=\"{FONTS}\" font-size=\"13\">\n<rect width=\"{width}\" height=\"{height}\" rx=\"8\" fill=\"{BACKGROUND}\"/>\n"
    );
    for (row, line) in lines.iter().enumerate() {
        let y = MARGIN + row * LINE + LINE * 3 / 4;
        let mut start = 0;
        for run in line.chunk_by(|a, b| a.1 == b.1) {
            let text: String = run.iter().map(|&(c, _)| c).collect();
            // Blanks at the ends are left out, as not every viewer keeps them; each run has its own place anyway.
            let before = run.len() - text.trim_start().chars().count();
            let text = text.trim();
            let (x, length) = (MARGIN + (start + before) * CELL, text.chars().count() * CELL);
            if !text.is_empty() {
                let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
                writeln!(
                    svg,
                    "<text x=\"{x}\" y=\"{y}\" textLength=\"{length}\" lengthAdjust=\"spacingAndGlyphs\" xml:space=\"preserve\"{}>{text}</text>",
                    run[0].1.attributes()
                )
                .expect("a string takes everything");
            }
            start += run.len();
        }
    }
    svg + "</svg>\n"
}

#[test]
fn looks_places_and_breaks_are_drawn() {
    let text = format!("a \u{1b}[1;31mred\u{1b}[0m <b\n{} end", "word ".repeat(COLUMNS / 5 + 1));
    let svg = svg(&text);
    assert!(
        svg.contains("x=\"32\" y=\"29\" textLength=\"24\"")
            && svg.contains("font-weight=\"bold\">red</text>"),
        "{svg}"
    );
    assert!(svg.contains(">&lt;b</text>"), "{svg}");
    let indented = format!("x=\"{}\" y=\"65\"", MARGIN + INDENT * CELL);
    assert!(svg.contains(&indented) && svg.contains(">word  end</text>"), "{svg}");
}
