//! Tables for a terminal: cells are wrapped so that a row is no wider than it.

/// Narrower columns than this of instructions are no longer read.
pub(super) const COLUMN_MIN: usize = 18;
/// Between two columns.
const GAP: usize = 3;
/// Before the first.
const INDENT: usize = 2;

/// A table whose first row is its head, at most `width` columns wide; `None` if its columns would be narrower than
/// `column_min`.
pub(super) fn draw(table: &[Vec<String>], width: usize, column_min: usize) -> Option<String> {
    let widths = widths(table, width, column_min)?;
    let mut text = String::new();
    for (i, row) in table.iter().enumerate() {
        let cells: Vec<Vec<String>> =
            row.iter().zip(&widths).map(|(cell, &width)| broken(cell, width)).collect();
        let n_lines = cells.iter().map(Vec::len).max().unwrap_or(1);
        for line in 0..n_lines {
            let parts: Vec<String> = cells
                .iter()
                .zip(&widths)
                .map(|(cell, &width)| {
                    let part = cell.get(line).map_or("", String::as_str);
                    format!("{part:<width$}")
                })
                .collect();
            text += &format!("{}{}\n", " ".repeat(INDENT), parts.join(" │ ").trim_end());
        }
        if i == 0 {
            let rule: Vec<String> = widths.iter().map(|&width| "─".repeat(width)).collect();
            text += &format!("{}{}\n", " ".repeat(INDENT), rule.join("─┼─"));
        }
    }
    Some(text)
}

/// The width of each column: what it needs, or its share of what the others leave.
fn widths(table: &[Vec<String>], width: usize, column_min: usize) -> Option<Vec<usize>> {
    let n_columns = table.first().map_or(0, Vec::len);
    let needed: Vec<usize> = (0..n_columns)
        .map(|column| table.iter().map(|row| row[column].chars().count()).max().unwrap_or(0))
        .collect();
    let mut left = width.saturating_sub(INDENT + GAP * n_columns.saturating_sub(1));
    let mut widths = vec![0; n_columns];
    let mut open: Vec<usize> = (0..n_columns).collect();
    // Columns that need less than their share get what they need.
    while !open.is_empty() {
        let share = left / open.len();
        let (small, large): (Vec<usize>, Vec<usize>) =
            open.iter().copied().partition(|&column| needed[column] <= share);
        if small.is_empty() {
            if share < column_min {
                return None;
            }
            for column in large {
                widths[column] = share;
            }
            break;
        }
        for column in small {
            widths[column] = needed[column];
            left -= needed[column];
        }
        open = large;
    }
    Some(widths)
}

/// A cell in lines of a width; lines after the first are set in. What is longer than half a line is broken before its
/// dots where they come in time.
pub(super) fn broken(text: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let indent = if width >= COLUMN_MIN { "  " } else { "" };
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    let count = |text: &str| text.chars().count();
    for (glue, piece) in pieces(text, width) {
        let glue = if line.trim().is_empty() { "" } else { glue };
        if count(&line) + count(glue) + count(&piece) > width && !line.trim().is_empty() {
            lines.push(std::mem::replace(&mut line, indent.to_owned()));
        } else {
            line += glue;
        }
        for c in piece.chars() {
            if count(&line) == width {
                lines.push(std::mem::replace(&mut line, indent.to_owned()));
            }
            line.push(c);
        }
    }
    lines.push(line);
    lines
}

/// Words with what is between them and the word before; long ones in parts.
fn pieces(text: &str, width: usize) -> Vec<(&'static str, String)> {
    let mut pieces: Vec<(&'static str, String)> = Vec::new();
    for word in text.split(' ') {
        let mut part = String::new();
        let mut glue = " ";
        for c in word.chars() {
            let is_long = word.chars().count() > width / 2;
            if is_long && c == '.' && !part.is_empty() {
                pieces.push((glue, std::mem::take(&mut part)));
                glue = "";
            }
            part.push(c);
        }
        pieces.push((glue, part));
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::{broken, draw};

    #[test]
    fn cells_are_no_wider_than_their_column() {
        for width in 1..40 {
            let text = "12: mbarrier.try_wait.acquire.cta [full[0]] passes phase 0, iteration 2";
            let lines = broken(text, width);
            assert!(lines.iter().all(|line| line.chars().count() <= width), "{width}: {lines:?}");
            let joined: String = lines.concat().split_whitespace().collect();
            assert_eq!(joined, text.split_whitespace().collect::<String>(), "{width}");
        }
    }

    #[test]
    fn a_table_fits_or_there_is_none() {
        let row = |n: usize| (0..n).map(|i| format!("{i} some words of a cell that is long")).collect();
        let table: Vec<Vec<String>> = vec![row(3), row(3)];
        let text = draw(&table, 80, 18).expect("three columns fit");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let table: Vec<Vec<String>> = vec![row(9), row(9)];
        assert_eq!(draw(&table, 80, 18), None);
        assert!(draw(&table, 80, 5).is_some());
    }
}
