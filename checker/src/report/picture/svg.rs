//! A picture as SVG: one file, light or dark as the reader's system is.

use super::layout::{Label, Layout, Route, StepBox};
use super::sizes::{FONT_SIZE, Role};
use crate::report::markup::escaped;
use crate::report::story::{LinkKind, Step, Story};

/// A picture of its own.
pub fn svg(story: &Story) -> String {
    let layout = Layout::new(story);
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    text += &element(story, &layout, true);
    text
}

/// The element, with its style if it is a file of its own.
pub(super) fn element(story: &Story, layout: &Layout, is_alone: bool) -> String {
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"execution\" width=\"{0}\" height=\"{1}\" \
         viewBox=\"0 0 {0} {1}\" role=\"img\" aria-label=\"{2}\">\n",
        layout.width,
        layout.height,
        escaped(&story.headline)
    );
    if is_alone {
        text += &format!("<title>{}</title>\n<style>\n{}</style>\n", escaped(&story.headline), style());
    }
    text += MARKERS;
    text += &format!(
        "<rect class=\"page\" x=\"0\" y=\"0\" width=\"{}\" height=\"{}\"/>\n",
        layout.width, layout.height
    );
    for ((x, from), (_, to)) in &layout.order {
        text += &format!("<path class=\"po\" d=\"M{x} {from}V{to}\"/>\n");
    }
    for lane in &layout.lanes {
        text += &format!(
            "<rect class=\"lane\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"3\"/>\n",
            lane.x, lane.y, lane.width, lane.height
        );
    }
    for ((x, y), kind, is_broken) in &layout.samples {
        text += &line(*kind, *is_broken, &format!("M{x} {y}H{}", x + 44), "");
    }
    layout.texts.iter().for_each(|label| text += &label_text(label, ""));
    layout.boxes.iter().for_each(|step| text += &step_box(story, step));
    layout.routes.iter().for_each(|route| text += &link(story, route));
    text + "</svg>\n"
}

fn step_box(story: &Story, own: &StepBox) -> String {
    let step = &story.steps[own.step];
    let mark = if step.mark.is_empty() { "" } else { " marked" };
    let mut text = format!(
        "<g class=\"step{mark}\" data-step=\"{}\" data-lane=\"{}\" data-row=\"{}\"{}>\n<title>{}</title>\n",
        own.step,
        step.lane,
        step.row,
        step.place.as_ref().map_or_else(String::new, |place| {
            let file = place.span.file.0;
            format!(" data-line=\"{file}-{}\"", place.line)
        }),
        escaped(&tooltip(step))
    );
    text += &format!(
        "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"3\"/>\n",
        own.at.x, own.at.y, own.at.width, own.at.height
    );
    own.labels.iter().for_each(|label| text += &label_text(label, ""));
    text + "</g>\n"
}

/// All of a step, with its opcode in full and its rules.
pub(super) fn tooltip(step: &Step) -> String {
    let rules = if step.rules.is_empty() { String::new() } else { format!("\n{}", step.rules.join(", ")) };
    format!("{} {}{rules}", step.opcode, step.outcome())
}

fn link(story: &Story, route: &Route) -> String {
    let link = &story.links[route.link];
    let mut path = String::new();
    for (i, (x, y)) in route.points.iter().enumerate() {
        path += &format!("{}{x} {y}", if i == 0 { "M" } else { "L" });
    }
    let rules = if link.rules.is_empty() { String::new() } else { format!(" ({})", link.rules.join(", ")) };
    let meaning = if link.is_broken { "the link that does not order the two" } else { route.kind.meaning() };
    let title = format!("<title>{}</title>", escaped(&format!("{meaning}{rules}")));
    let mut text = format!("<g data-from=\"{}\" data-to=\"{}\">\n", link.from, link.to);
    text += &line(route.kind, route.is_broken, &path, &title);
    text += &label_text(&route.label, if route.is_broken { " broken" } else { "" });
    text + "</g>\n"
}

fn line(kind: LinkKind, is_broken: bool, path: &str, inside: &str) -> String {
    let class = if is_broken { "broken" } else { class(kind) };
    let marker = if is_broken { "broken" } else { "plain" };
    format!("<path class=\"link {class}\" marker-end=\"url(#arrow-{marker})\" d=\"{path}\">{inside}</path>\n")
}

fn class(kind: LinkKind) -> &'static str {
    match kind {
        LinkKind::ReadsFrom => "rf",
        LinkKind::Coherence => "co",
        LinkKind::FromReads => "fr",
        LinkKind::Synchronizes => "sync",
        LinkKind::Starts => "start",
        LinkKind::Completes => "done",
        LinkKind::Proxy => "proxy",
        LinkKind::Unordered => "unordered",
    }
}

fn label_text(label: &Label, more: &str) -> String {
    let class = match label.role {
        Role::Title => "title",
        Role::Lane => "name",
        Role::Head => "head",
        Role::Opcode => "opcode",
        Role::Outcome => "outcome",
        Role::Link => "kind",
        Role::Note => "note",
    };
    format!(
        "<text class=\"{class}{more}\" x=\"{}\" y=\"{}\">{}</text>\n",
        label.x,
        label.y + 11,
        escaped(&label.text)
    )
}

const MARKERS: &str = "<defs>
<marker id=\"arrow-plain\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" \
markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path class=\"head-plain\" d=\"M0 0L8 4L0 8z\"/></marker>
<marker id=\"arrow-broken\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"10\" markerHeight=\"10\" \
markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path class=\"head-broken\" d=\"M1 1L9 5L1 9\"/></marker>
</defs>
";

/// Colours and strokes; strokes differ also where colours do not show.
pub(super) fn style() -> String {
    format!(
        "svg.execution {{ --page: #ffffff; --text: #1b1f24; --dim: #57606a; --box: #f6f8fa; --edge: #8c959f; --mark: #fff4d6;
  --marked: #9a6700; --link: #0550ae; --sync: #1a7f37; --bad: #cf222e; }}
@media (prefers-color-scheme: dark) {{
  svg.execution {{ --page: #0d1117; --text: #e6edf3; --dim: #9198a1; --box: #161b22; --edge: #656c76; --mark: #3a2d10;
  --marked: #e3b341; --link: #79b8ff; --sync: #56d364; --bad: #ff7b72; }}
}}
svg.execution text {{ font: {}.{}px \"DejaVu Sans Mono\", Menlo, Consolas, monospace; fill: var(--text); white-space: pre; }}
svg.execution .page {{ fill: var(--page); }}
svg.execution .title, svg.execution .name, svg.execution .opcode {{ font-weight: bold; }}
svg.execution .head, svg.execution .note {{ fill: var(--dim); }}
svg.execution .marked .head {{ fill: var(--marked); font-weight: bold; }}
svg.execution .lane {{ fill: none; stroke: var(--edge); }}
svg.execution .step rect {{ fill: var(--box); stroke: var(--edge); }}
svg.execution .marked rect {{ fill: var(--mark); stroke: var(--marked); stroke-width: 2; }}
svg.execution .po {{ stroke: var(--edge); stroke-width: 1; fill: none; }}
svg.execution .link {{ fill: none; stroke: var(--link); stroke-width: 1.3; }}
svg.execution .sync {{ stroke: var(--sync); stroke-width: 2.6; }}
svg.execution .co {{ stroke-dasharray: 1.5 3; stroke-width: 2; }}
svg.execution .fr {{ stroke-dasharray: 7 3 1.5 3; }}
svg.execution .start, svg.execution .done {{ stroke: var(--dim); stroke-width: 1; }}
svg.execution .done {{ stroke-dasharray: 4 2; }}
svg.execution .broken {{ stroke: var(--bad); stroke-width: 2.2; stroke-dasharray: 9 6; }}
svg.execution .head-plain {{ fill: var(--dim); stroke: none; }}
svg.execution .head-broken {{ fill: none; stroke: var(--bad); stroke-width: 2; }}
svg.execution text.kind {{ fill: var(--dim); }}
svg.execution text.broken {{ fill: var(--bad); stroke: none; font-weight: bold; }}
",
        FONT_SIZE / 10,
        FONT_SIZE % 10
    )
}
