//! A picture for graphviz: `dot -Tsvg`.

use super::sizes::link_label;
use crate::report::story::{LinkKind, Story};

/// The graph, a cluster for each lane.
pub fn dot(story: &Story) -> String {
    let mut text = String::from("digraph execution {\n");
    text += &format!("  label={}; labelloc=t; rankdir=TB; newrank=true;\n", quoted(&story.headline));
    text += "  node [shape=box, fontname=\"monospace\", fontsize=10];\n";
    text += "  edge [fontname=\"monospace\", fontsize=9];\n";
    for (lane, of) in story.lanes.iter().enumerate() {
        let more = match of.others.len() {
            0 => String::new(),
            n => format!(" and {n} like it"),
        };
        text +=
            &format!("  subgraph cluster_{lane} {{\n    label={};\n", quoted(&format!("{}{more}", of.name)));
        let mut own: Vec<usize> =
            (0..story.steps.len()).filter(|&step| story.steps[step].lane == lane).collect();
        own.sort_by_key(|&step| story.steps[step].row);
        for &number in &own {
            let step = &story.steps[number];
            let line = step.place.as_ref().map_or_else(String::new, |place| format!(" line {}", place.line));
            let head = format!("{}{line} {}", step.row + 1, step.mark);
            let label = format!("{}\n{}\n{}", head.trim_end(), step.short, step.outcome());
            let style = if step.mark.is_empty() { "" } else { ", penwidth=2.5" };
            text += &format!("    s{number} [label={}{style}];\n", quoted(&label));
        }
        let style = if of.is_of_operations { " [style=invis]" } else { "" };
        for pair in own.windows(2) {
            text += &format!("    s{} -> s{}{style};\n", pair[0], pair[1]);
        }
        text += "  }\n";
    }
    for link in &story.links {
        let style = match (link.is_broken, link.kind) {
            (true, _) => "style=dashed, penwidth=2.5, arrowhead=vee",
            (false, LinkKind::Synchronizes) => "penwidth=2.5",
            (false, LinkKind::Coherence) => "style=dotted, penwidth=1.5",
            (false, LinkKind::FromReads) => "style=dotted, arrowhead=empty",
            (false, LinkKind::Starts | LinkKind::Completes) => "arrowhead=open",
            (false, LinkKind::ReadsFrom | LinkKind::Proxy | LinkKind::Unordered) => "penwidth=1",
        };
        text += &format!(
            "  s{} -> s{} [label={}, constraint=false, {style}];\n",
            link.from,
            link.to,
            quoted(&link_label(link))
        );
    }
    text + "}\n"
}

fn quoted(text: &str) -> String {
    let safe: String =
        text.chars().map(|c| if c.is_control() && c != '\n' { '\u{fffd}' } else { c }).collect();
    format!("\"{}\"", safe.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn nothing_of_a_text_ends_its_string() {
        assert_eq!(quoted("a\"b\\c\nd"), r#""a\"b\\c\nd""#);
    }
}
