//! The cheat sheet as data: what others call a thing, and what it is here. `sheet.txt` says how its rows are written.

use crate::origin::Origin;
use std::sync::LazyLock;

/// What stands in `sheet.txt` for nothing.
const NONE: &str = "-";

/// Rows about one thing, as the book's page has them below a heading.
#[derive(Debug)]
pub struct Section {
    /// The heading.
    pub title: &'static str,
    /// In order of the page.
    pub rows: Vec<Row>,
}

/// One thing, with all its names.
#[derive(Debug)]
pub struct Row {
    /// What compilers make of it; `None` for what the page does not show.
    pub ptx: Option<&'static str>,
    /// What to write. Where it begins with a line to write, that comes first, in backticks.
    pub help: &'static str,
    /// Where the book has more, as a link.
    pub more: Option<&'static str>,
    /// Who calls it what.
    pub names: Vec<Name>,
}

/// A name of a thing.
#[derive(Debug)]
pub struct Name {
    /// Who calls it so.
    pub origin: Origin,
    /// What it looks like in a text; `None` where that is worked out of the line.
    pub key: Option<&'static str>,
    /// How the page shows it, in Markdown.
    pub shown: Option<&'static str>,
}

static SECTIONS: LazyLock<Vec<Section>> = LazyLock::new(|| {
    let mut sections: Vec<Section> = Vec::new();
    for line in include_str!("sheet.txt").lines().filter(|line| is_data(line)) {
        if let Some(title) = line.strip_prefix("## ") {
            sections.push(Section { title, rows: Vec::new() });
            continue;
        }
        let Some(Section { rows, .. }) = sections.last_mut() else { continue };
        if !line.starts_with(' ') {
            rows.extend(Row::new(line));
        } else if let Some(row) = rows.last_mut() {
            row.names.extend(Name::new(line.trim_start()));
        }
    }
    sections
});

fn is_data(line: &str) -> bool {
    !line.is_empty() && (line.starts_with("## ") || !line.starts_with('#'))
}

fn some(field: &'static str) -> Option<&'static str> {
    (field != NONE).then_some(field)
}

/// All sections, in the order of the page.
pub fn sections() -> &'static [Section] {
    &SECTIONS
}

/// All rows.
pub fn rows() -> impl Iterator<Item = &'static Row> {
    SECTIONS.iter().flat_map(|section| &section.rows)
}

impl Row {
    fn new(line: &'static str) -> Option<Self> {
        let mut fields = line.split(" | ");
        let (ptx, help, more) = (fields.next()?, fields.next()?, fields.next());
        Some(Self { ptx: some(ptx), help: some(help).unwrap_or_default(), more, names: Vec::new() })
    }

    /// The lines to write with which the help begins, without what it says of them.
    pub fn lines(&self) -> impl Iterator<Item = &'static str> {
        let mut rest = self.help;
        std::iter::from_fn(move || {
            let (line, behind) = rest.strip_prefix('`')?.split_once('`')?;
            rest = behind.trim_start_matches(' ');
            Some(line)
        })
    }
}

impl Name {
    fn new(line: &'static str) -> Option<Self> {
        let (origin, rest) = line.split_once(' ')?;
        let (key, shown) = match rest.trim_start().split_once(" | ") {
            Some((key, shown)) => (key, Some(shown)),
            None => (rest.trim(), None),
        };
        Some(Self { origin: Origin::named(origin)?, key: some(key), shown })
    }

    /// The names that one types for it, as far as they are words: `__syncthreads`, `cuda::memcpy_async`, `tl.load`.
    pub fn typed(&self) -> Vec<&'static str> {
        let is_path = |name: &&str| {
            let is_part = |c: char| c.is_ascii_alphanumeric() || "_.:".contains(c);
            name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && name.chars().all(is_part)
        };
        let head = |code: &'static str| code.split(['(', '<', ' ', '=', '*']).next().unwrap_or_default();
        let key = self.key.map(head).unwrap_or_default();
        // A member has an object in front, which nobody else calls so.
        if key.starts_with('.') {
            return Vec::new();
        }
        // On the page other words may stand in front, and what is worked out of a line may be no more than those.
        let first = key.split([':', '.']).next().unwrap_or_default();
        let is_it = |name: &&str| match self.key {
            Some(_) => name.contains(first),
            None => name.contains("::") || name.starts_with("tl."),
        };
        let shown = self.shown.unwrap_or_default().split('`').skip(1).step_by(2).map(head);
        let mut typed: Vec<&str> = shown.filter(is_path).filter(is_it).collect();
        if typed.is_empty() && self.key.is_some_and(|key| !key.ends_with('*')) && is_path(&key) {
            typed.push(key);
        }
        typed
    }
}

#[cfg(test)]
mod tests {
    use super::{is_data, rows, sections};
    use std::collections::BTreeSet;

    #[test]
    fn every_line_of_the_sheet_is_read() {
        let lines: Vec<&str> = include_str!("sheet.txt").lines().filter(|line| is_data(line)).collect();
        let n_names = rows().map(|row| row.names.len()).sum::<usize>();
        assert_eq!(sections().len() + rows().count() + n_names, lines.len());
        assert!(n_names > 450, "{n_names} names were found");
        for row in rows() {
            assert!(!row.names.is_empty(), "{row:?}");
            assert!(!row.help.ends_with('.') && row.help.matches('`').count() % 2 == 0, "{row:?}");
            let is_shown = row.names.iter().any(|name| name.shown.is_some());
            assert_eq!(is_shown, row.ptx.is_some(), "{row:?}");
            for name in &row.names {
                assert!(name.key.is_some() || name.shown.is_some(), "{row:?}");
                assert!(name.shown.is_none_or(|shown| shown.contains('`')), "{row:?}");
            }
        }
    }

    #[test]
    fn each_key_stands_in_one_row() {
        let mut known = BTreeSet::new();
        for key in rows().flat_map(|row| &row.names).filter_map(|name| name.key) {
            assert!(known.insert(key), "{key} stands twice");
        }
    }

    #[test]
    fn names_are_typed_as_they_are_written() {
        let typed: BTreeSet<&str> = rows().flat_map(|row| &row.names).flat_map(super::Name::typed).collect();
        for name in [
            "__syncthreads",
            "__grid_constant__",
            "__restrict__",
            "cuda::atomic_thread_fence",
            "cuda::memcpy_async",
            "tl.atomic_add",
            "tl.load",
            "atomicAdd",
            "cg::this_grid",
            "int",
        ] {
            assert!(typed.contains(name), "{name}");
        }
        for name in ["const", "v", "x", "for", "while", "bar.arrive", "fence.proxy.alias", "__shfl"] {
            assert!(!typed.contains(name), "{name}");
        }
        let row = rows().find(|row| row.help.starts_with("`let t = mbarrier.arrive [bar];` `await"));
        let lines: Vec<&str> = row.expect("there is one").lines().collect();
        assert_eq!(lines, ["let t = mbarrier.arrive [bar];", "await mbarrier.try_wait [bar], t;"]);
    }
}
