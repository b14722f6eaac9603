//! `--trace`: the execution of a finding as a table, one column per thread, one step per row.
//!
//! Where there are more threads than columns fit, who does a step is a column of its own.

use super::case::{Case, Style, wrap};
use super::story::Story;
use super::table::{COLUMN_MIN, draw};
use crate::explain::Explanation;
use crate::witness::Witness;

/// Of the table of phases.
const PHASE_MIN: usize = 5;

/// The table, as wide as the style says.
pub fn trace(case: &Case<'_>, witness: &Witness, explanation: &Explanation, style: Style) -> String {
    table(&Story::new(case, witness, explanation), style.width)
}

/// A story as a table of at most `width` columns.
pub fn table(story: &Story, width: usize) -> String {
    let mut text = draw(&by_lane(story), width, COLUMN_MIN)
        .or_else(|| draw(&by_step(story), width, COLUMN_MIN))
        .unwrap_or_else(|| list(story));
    text += &phases(story, width);
    text += &legend(story, width);
    for note in &story.notes {
        for line in wrap(note, width.saturating_sub(4).max(20)) {
            text += &format!("  {line}\n");
        }
    }
    text
}

fn lane_name(story: &Story, lane: usize) -> String {
    let lane = &story.lanes[lane];
    match lane.others.as_slice() {
        [] => lane.name.clone(),
        [only] => format!("{} and {only}", lane.name),
        [.., last] => format!("{} and {} like it, up to {last}", lane.name, lane.others.len()),
    }
}

/// A column for each lane.
fn by_lane(story: &Story) -> Vec<Vec<String>> {
    let mut head = vec!["step".to_owned()];
    head.extend((0..story.lanes.len()).map(|lane| lane_name(story, lane)));
    let mut table = vec![head];
    for row in 0..story.n_rows {
        let mut cells = vec![String::new(); story.lanes.len() + 1];
        cells[0] = (row + 1).to_string();
        for step in story.steps.iter().filter(|step| step.row == row) {
            cells[step.lane + 1] = step.line();
        }
        table.push(cells);
    }
    table
}

/// A row for each step, and who does it.
fn by_step(story: &Story) -> Vec<Vec<String>> {
    let mut table = vec![["step", "thread", "what it does"].map(str::to_owned).to_vec()];
    for row in 0..story.n_rows {
        let steps: Vec<_> = story.steps.iter().filter(|step| step.row == row).collect();
        let Some(first) = steps.first() else { continue };
        let mut names: Vec<String> = steps.iter().map(|step| lane_name(story, step.lane)).collect();
        names.dedup();
        table.push(vec![(row + 1).to_string(), names.join(", "), first.line()]);
    }
    table
}

/// What fits any width.
fn list(story: &Story) -> String {
    let line = |row: &Vec<String>| format!("  {}\n", row.join(" "));
    by_step(story).iter().skip(1).map(line).collect()
}

/// The phases of mbarriers.
fn phases(story: &Story, width: usize) -> String {
    if story.phases.is_empty() {
        return String::new();
    }
    let head = ["mbarrier", "phase", "arrivals", "bytes open", "arrived", "passed"];
    let mut table = vec![head.map(str::to_owned).to_vec()];
    let mut last = "";
    for phase in &story.phases {
        let name = if phase.name == last { "" } else { phase.name.as_str() };
        last = &phase.name;
        let state = if phase.is_complete { "complete" } else { "open" };
        table.push(vec![
            name.to_owned(),
            format!("{} {state}", phase.number),
            format!("{} of {}", phase.arrivals.0, phase.arrivals.1),
            phase.bytes.to_string(),
            phase.arrived.clone(),
            phase.passed.clone(),
        ]);
    }
    let drawn = draw(&table, width, PHASE_MIN)
        .unwrap_or_else(|| table.iter().skip(1).map(|row| format!("  {}\n", row.join(" "))).collect());
    format!("\n{drawn}")
}

/// What abbreviated opcodes stand for.
fn legend(story: &Story, width: usize) -> String {
    let mut text = String::new();
    for (i, (short, full)) in story.opcodes.iter().enumerate() {
        if i == 0 {
            text += "\n  in full:\n";
        }
        let line = format!("{short} = {full}");
        for (i, part) in super::table::broken(&line, width.saturating_sub(4).max(20)).iter().enumerate() {
            text += &format!("  {}{part}\n", if i == 0 { "" } else { "  " });
        }
    }
    text
}
