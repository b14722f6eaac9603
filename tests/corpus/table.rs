//! What a shape of the corpus is expected to do: a text for people, with one table that the suite fills and compares.
//!
//! ```text
//! Message passing through a released flag; the reader looks at the data in any case.
//! why: the release on `flag` is observed by the acquire (MM-36), so `1 0` is forbidden (AX-6).
//!
//! P1:r1 P1:r2 | ptx | ptx-7.5 | ptx-6.0
//!     0     0 |  +  |    +    |    +
//!
//! races                             | ptx | ptx-7.5 | ptx-6.0
//! P0 st.weak data, P1 ld.weak data  |  +  |    +    |    +
//!
//! hangs         | ptx | ptx-7.5 | ptx-6.0
//! some fair run |  +  |    +    |    +
//! ```
//!
//! A line with `why:` must be there. What stands above the table is kept when it is rewritten. The last table is there
//! for shapes that wait; without a row, no thread waits for ever.

use std::collections::BTreeSet;

/// The models, in order of their columns.
pub const MODELS: [&str; 3] = ["ptx", "ptx-7.5", "ptx-6.0"];

/// Heading and row of the table about waiting for ever.
const HANGS: (&str, &str) = ("hangs", "some fair run");

/// What a table is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum About {
    States,
    Races,
    Hangs,
}

/// A final state: the values of the observed registers and locations, in order.
pub type State = Vec<i64>;

/// What one model says of a shape.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Behaviour {
    /// The final states that some execution ends in.
    pub states: BTreeSet<State>,
    /// The pairs of instructions that race in some execution.
    pub races: BTreeSet<String>,
    /// Whether threads wait for ever in some fair execution; `None` where nobody asked.
    pub hangs: Option<bool>,
}

/// An expectation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Expectation {
    /// The lines above the table.
    pub prose: Vec<String>,
    /// What is observed: registers (`P1:r2`) and locations.
    pub observed: Vec<String>,
    /// Per model of [`MODELS`].
    pub behaviours: [Behaviour; 3],
}

impl Expectation {
    /// Reads one; the message says what is wrong.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut lines = text.lines();
        let mut prose: Vec<String> = Vec::new();
        let heading = loop {
            let line = lines.next().ok_or("there is no table")?;
            if line.contains('|') {
                break line;
            }
            prose.push(line.to_owned());
        };
        if !prose.iter().any(|line| line.starts_with("why: ")) {
            return Err("no line says `why: …`".into());
        }
        let observed = heading.split('|').next().unwrap_or_default();
        let observed: Vec<String> = observed.split_whitespace().map(str::to_owned).collect();
        let mut behaviours: [Behaviour; 3] = Default::default();
        let mut about = About::States;
        for line in lines.filter(|line| !line.trim().is_empty()) {
            let mut cells = line.split('|').map(str::trim);
            let row = cells.next().unwrap_or_default();
            match row {
                "races" => about = About::Races,
                row if row == HANGS.0 => {
                    about = About::Hangs;
                    behaviours.iter_mut().for_each(|behaviour| behaviour.hangs = Some(false));
                }
                _ => {}
            }
            if ["races", HANGS.0].contains(&row) {
                continue;
            }
            if about == About::Hangs && row != HANGS.1 {
                return Err(format!("the only row about that is `{}`: {line}", HANGS.1));
            }
            let marks: Vec<&str> = cells.collect();
            if marks.len() != MODELS.len() || marks.iter().any(|mark| !["+", ""].contains(mark)) {
                return Err(format!("one `+` or nothing per model: {line}"));
            }
            for (behaviour, _) in behaviours.iter_mut().zip(&marks).filter(|(_, mark)| **mark == "+") {
                match about {
                    About::Races => {
                        behaviour.races.insert(row.to_owned());
                    }
                    About::Hangs => behaviour.hangs = Some(true),
                    About::States => {
                        let values: Result<State, _> = row.split_whitespace().map(str::parse).collect();
                        behaviour.states.insert(values.map_err(|error| format!("{error}: {line}"))?);
                    }
                }
            }
        }
        Ok(Self { prose, observed, behaviours })
    }

    /// The text that [`Self::parse`] reads; there is one for each expectation.
    pub fn render(&self) -> String {
        let mut text = self.prose.join("\n").trim_end().to_owned() + "\n\n";
        let widths: Vec<usize> = self.observed.iter().map(|name| name.len().max(2)).collect();
        let row = |cells: &[String]| {
            let cells = cells.iter().zip(&widths).map(|(cell, &width)| format!("{cell:>width$}"));
            cells.collect::<Vec<_>>().join(" ")
        };
        let states: BTreeSet<&State> = self.behaviours.iter().flat_map(|one| &one.states).collect();
        let rows = states.into_iter().map(|state| {
            let values: Vec<String> = state.iter().map(i64::to_string).collect();
            (row(&values), self.behaviours.each_ref().map(|one| one.states.contains(state)))
        });
        text += &table(&row(&self.observed), &rows.collect::<Rows>());
        let races: BTreeSet<&String> = self.behaviours.iter().flat_map(|one| &one.races).collect();
        let rows = races
            .into_iter()
            .map(|race| (race.clone(), self.behaviours.each_ref().map(|one| one.races.contains(race))));
        text += "\n";
        text += &table("races", &rows.collect::<Rows>());
        if self.asks_about_hangs() {
            let marks = self.behaviours.each_ref().map(|one| one.hangs == Some(true));
            let rows: Rows =
                if marks.contains(&true) { vec![(HANGS.1.to_owned(), marks)] } else { Vec::new() };
            text += "\n";
            text += &table(HANGS.0, &rows);
        }
        text
    }

    /// Whether it says which models let threads wait for ever.
    pub fn asks_about_hangs(&self) -> bool {
        self.behaviours.iter().any(|one| one.hangs.is_some())
    }

    /// Whether some model differs from another.
    pub fn separates_models(&self) -> bool {
        self.behaviours.iter().any(|one| *one != self.behaviours[0])
    }
}

/// Rows in order, each with its marks.
type Rows = Vec<(String, [bool; 3])>;

fn table(heading: &str, rows: &[(String, [bool; 3])]) -> String {
    let width = rows.iter().map(|(row, _)| row.len()).chain([heading.len()]).max().unwrap_or_default();
    let line = |first: &str, cells: [String; 3]| {
        format!("{first:<width$} | {}", cells.join(" | ")).trim_end().to_owned() + "\n"
    };
    let mut text = line(heading, MODELS.map(str::to_owned));
    for (row, marks) in rows {
        let mut at = 0;
        let cells = marks.map(|is_set| {
            at += 1;
            format!("{:^width$}", if is_set { "+" } else { "" }, width = MODELS[at - 1].len())
        });
        text += &line(row, cells);
    }
    text
}

/// Where two behaviours differ, one line each; `ours` is what was found.
pub fn differences(expected: &Behaviour, ours: &Behaviour) -> String {
    let states = |some: &BTreeSet<State>, others: &BTreeSet<State>, what: &str| -> String {
        some.difference(others).map(|state| format!("  {what} state {state:?}\n")).collect()
    };
    let races = |some: &BTreeSet<String>, others: &BTreeSet<String>, what: &str| -> String {
        some.difference(others).map(|race| format!("  {what} race {race}\n")).collect()
    };
    states(&ours.states, &expected.states, "unexpected")
        + &states(&expected.states, &ours.states, "missing")
        + &races(&ours.races, &expected.races, "unexpected")
        + &races(&expected.races, &ours.races, "missing")
        + &match (expected.hangs, ours.hangs) {
            (expected, ours) if expected == ours => String::new(),
            (_, Some(true)) => "  unexpected hang\n".to_owned(),
            (_, Some(false)) => "  missing hang\n".to_owned(),
            (_, None) => "  nobody asked about hangs\n".to_owned(),
        }
}
