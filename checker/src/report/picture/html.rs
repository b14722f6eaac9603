//! Pictures as one page that needs nothing else: each with its source beside it, and every step told in full when it is
//! pointed at or walked to.

use super::layout::Layout;
use super::sizes::link_label;
use super::svg::{element, style};
use crate::report::markup::escaped;
use crate::report::story::{Link, Story};
use fencepost_dsl::SourceMap;
use fencepost_dsl::sorted::{SortedMap, SortedSet};
use fencepost_dsl::span::FileId;

/// Files of more lines are shown around the steps only.
const LINES_MAX: usize = 400;
/// Lines shown around those of steps then.
const AROUND: usize = 6;
/// Longer lines are cut.
const CHARS_MAX: usize = 240;

/// The part of a page about one finding.
pub fn section(sources: &SourceMap, title: &str, story: &Story) -> String {
    let layout = Layout::new(story);
    let details: String = (0..story.steps.len()).map(|step| detail(story, step)).collect();
    format!(
        "<section class=\"finding\">\n<h2>{}</h2>\n<p class=\"of\">{}</p>\n<div class=\"pair\">\n\
         <div class=\"left\">\n<div class=\"told\" aria-live=\"polite\"><p class=\"hint\">Point at a step, or press an arrow \
         key.</p></div>\n<div class=\"details\" hidden>\n{details}</div>\n<div class=\"sources\">\n{}</div>\n</div>\n\
         <div class=\"picture\" tabindex=\"0\" aria-label=\"execution: arrow keys walk its steps\">\n{}</div>\n</div>\n\
         </section>\n",
        escaped(&story.headline),
        escaped(title),
        source(sources, story),
        element(story, &layout, false)
    )
}

/// The page of some sections.
pub fn page(title: &str, sections: &[String]) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{0}</title>\n\
         <style>\n{1}{STYLE}</style>\n</head>\n<body>\n<h1>{0}</h1>\n{2}<script>\n{SCRIPT}</script>\n</body>\n</html>\n",
        escaped(title),
        style(),
        sections.concat()
    )
}

/// The lines of the files that steps are of.
fn source(sources: &SourceMap, story: &Story) -> String {
    let mut used: SortedMap<FileId, SortedSet<usize>> = SortedMap::new();
    for place in story.steps.iter().filter_map(|step| step.place.as_ref()) {
        used.entry(place.span.file).or_default().insert(place.line);
    }
    let mut text = String::new();
    for (file, lines) in used {
        let source = sources.file(file);
        text += &format!("<h3>{}</h3>\n<pre class=\"source\">", escaped(&source.name));
        let n_lines = source.text.lines().count();
        let is_near = |number: usize| {
            n_lines <= LINES_MAX
                || lines.range(number.saturating_sub(AROUND)..=number.saturating_add(AROUND)).next().is_some()
        };
        let mut is_cut = false;
        for (number, line) in (1..).zip(source.text.lines()) {
            if !is_near(number) {
                if !is_cut {
                    text += "<span class=\"cut\">⋮\n</span>";
                }
                is_cut = true;
                continue;
            }
            is_cut = false;
            let shown: String = line.chars().take(CHARS_MAX).collect();
            let more = if line.chars().count() > CHARS_MAX { "…" } else { "" };
            let used = if lines.contains(&number) { " used" } else { "" };
            text += &format!(
                "<span class=\"line{used}\" data-line=\"{}-{number}\"><b>{number:>4}</b> {}{more}\n</span>",
                file.0,
                escaped(&shown)
            );
        }
        text += "</pre>\n";
    }
    text
}

/// All that there is to say of a step.
fn detail(story: &Story, number: usize) -> String {
    let step = &story.steps[number];
    let mut rows: Vec<(&str, String)> = vec![("who", story.lanes[step.lane].name.clone())];
    if let Some(place) = &step.place {
        let file = place.file.as_ref().map_or_else(String::new, |file| format!("{file}, "));
        rows.push(("where", format!("{file}line {}", place.line)));
    }
    rows.push(("what", step.opcode.clone()));
    let outcome = step.outcome();
    if !outcome.is_empty() {
        rows.push(("value", outcome));
    }
    if !step.details.is_empty() {
        rows.push(("when", step.details.join(", ")));
    }
    let row = |step: usize| story.steps[step].row + 1;
    let rules = |link: &Link| {
        if link.rules.is_empty() { String::new() } else { format!(" ({})", link.rules.join(", ")) }
    };
    for link in story.links.iter().filter(|link| link.to == number) {
        rows.push(("from", format!("{} from step {}{}", link_label(link), row(link.from), rules(link))));
    }
    for link in story.links.iter().filter(|link| link.from == number) {
        rows.push(("to", format!("{} to step {}{}", link_label(link), row(link.to), rules(link))));
    }
    if !step.rules.is_empty() {
        rows.push(("rules", step.rules.join(", ")));
    }
    let rows: String =
        rows.iter().map(|(name, text)| format!("<dt>{name}</dt><dd>{}</dd>", escaped(text))).collect();
    let mark = if step.mark.is_empty() { String::new() } else { format!(" {}", step.mark) };
    format!("<div data-step=\"{number}\"><h4>step {}{mark}</h4><dl>{rows}</dl></div>\n", step.row + 1)
}

const STYLE: &str = "
:root { color-scheme: light dark; --back: #ffffff; --ink: #1b1f24; --faint: #57606a; --line: #d1d9e0; --lit: #fff1b8;
  --used: #f0f4f8; --focus: #0550ae; }
@media (prefers-color-scheme: dark) {
  :root { --back: #0d1117; --ink: #e6edf3; --faint: #9198a1; --line: #3d444d; --lit: #4b3a10; --used: #1c232c;
    --focus: #79b8ff; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; background: var(--back); color: var(--ink);
  font: 15px/1.45 system-ui, \"DejaVu Sans\", sans-serif; }
h1 { font-size: 1.15rem; margin: 0 0 .5rem; }
h2 { font-size: 1rem; margin: 1rem 0 .2rem; overflow-wrap: anywhere; }
h3, h4 { font-size: .85rem; margin: .4rem 0; overflow-wrap: anywhere; }
.of { color: var(--faint); margin: 0 0 .6rem; }
.pair { display: flex; gap: 1rem; align-items: flex-start; }
.left { flex: 1 1 26rem; min-width: 16rem; position: sticky; top: 0; max-height: 100vh; overflow: auto; }
.picture { flex: 3 1 40rem; min-width: 0; max-width: 100%; overflow-x: auto; border: 1px solid var(--line);
  border-radius: 4px; }
.picture svg { display: block; }
.source { margin: 0; padding: .4rem 0; overflow-x: auto; border: 1px solid var(--line); border-radius: 4px;
  font: 12px/1.5 \"DejaVu Sans Mono\", Menlo, Consolas, monospace; }
.source span { display: block; width: max-content; min-width: 100%; padding: 0 .5rem; }
.source b { color: var(--faint); font-weight: normal; user-select: none; }
.source .used { background: var(--used); }
.source .lit { background: var(--lit); outline: 1px solid var(--focus); outline-offset: -1px; }
.told { min-height: 11rem; padding: .4rem .6rem; border: 1px solid var(--line); border-radius: 4px; }
.told dl { display: grid; grid-template-columns: max-content 1fr; gap: 0 .8rem; margin: 0;
  font: 12px/1.5 \"DejaVu Sans Mono\", Menlo, Consolas, monospace; }
.told dt { color: var(--faint); }
.told dd { margin: 0; overflow-wrap: anywhere; }
.hint { color: var(--faint); }
.picture:focus-visible { outline: 2px solid var(--focus); }
svg.execution .step { cursor: pointer; }
svg.execution .step.lit > rect { stroke: var(--focus); stroke-width: 3; }
svg.execution g.near > path.link { stroke-width: 3.6; }
@media (max-width: 60rem) {
  .pair { flex-direction: column; align-items: stretch; }
  .left { display: contents; }
  .picture { flex: none; order: 1; }
  .sources { order: 2; }
  .told { min-height: 0; position: sticky; top: 0; z-index: 1; background: var(--back); max-height: 40vh; overflow: auto; }
}
";

/// Steps light up with their lines and links; arrow keys walk them: up and down in their order, left and right by lane.
const SCRIPT: &str = "'use strict';
for (const finding of document.querySelectorAll('.finding')) {
  const steps = [...finding.querySelectorAll('.step')];
  const rank = step => [Number(step.dataset.row), Number(step.dataset.lane)];
  steps.sort((a, b) => rank(a)[0] - rank(b)[0] || rank(a)[1] - rank(b)[1]);
  const told = finding.querySelector('.told');
  const picture = finding.querySelector('.picture');
  let current = null;
  const unlit = () => finding.querySelectorAll('.lit, .near').forEach(e => e.classList.remove('lit', 'near'));
  const light = (step, scroll) => {
    unlit();
    current = step;
    step.classList.add('lit');
    const number = step.dataset.step;
    const detail = finding.querySelector(`.details > [data-step=\"${number}\"]`);
    if (detail) told.replaceChildren(...detail.cloneNode(true).childNodes);
    for (const link of finding.querySelectorAll(`[data-from=\"${number}\"], [data-to=\"${number}\"]`)) {
      link.classList.add('near');
    }
    const line = finding.querySelector(`.source [data-line=\"${step.dataset.line}\"]`);
    if (line) line.classList.add('lit');
    if (scroll) {
      if (line) line.scrollIntoView({ block: 'nearest', inline: 'nearest' });
      step.scrollIntoView({ block: 'nearest', inline: 'nearest' });
    }
  };
  for (const step of steps) {
    step.addEventListener('mouseenter', () => light(step, false));
    step.addEventListener('click', () => { picture.focus({ preventScroll: true }); light(step, false); });
  }
  for (const line of finding.querySelectorAll('.source .used')) {
    line.addEventListener('mouseenter', () => {
      unlit();
      line.classList.add('lit');
      for (const step of steps) if (step.dataset.line === line.dataset.line) step.classList.add('lit');
    });
  }
  const beside = (by) => {
    const [row, lane] = rank(current);
    const lanes = [...new Set(steps.map(step => rank(step)[1]))].sort((a, b) => a - b);
    const wanted = lanes[lanes.indexOf(lane) + by];
    const there = steps.filter(step => rank(step)[1] === wanted);
    there.sort((a, b) => Math.abs(rank(a)[0] - row) - Math.abs(rank(b)[0] - row));
    return there[0];
  };
  picture.addEventListener('keydown', event => {
    const at = steps.indexOf(current);
    let next;
    if (event.key === 'ArrowDown') next = steps[at + 1];
    else if (event.key === 'ArrowUp') next = steps[Math.max(at - 1, 0)];
    else if (event.key === 'Home') next = steps[0];
    else if (event.key === 'End') next = steps[steps.length - 1];
    else if (event.key === 'ArrowRight') next = current ? beside(1) : steps[0];
    else if (event.key === 'ArrowLeft') next = current ? beside(-1) : steps[0];
    else return;
    event.preventDefault();
    if (next) light(next, true);
  });
}
";

#[cfg(test)]
mod tests {
    use super::{page, section};
    use crate::report::story::{Lane, Place, Step, Story};
    use fencepost_dsl::{SourceMap, Span};

    #[test]
    fn nothing_of_a_source_is_markup() {
        let mut sources = SourceMap::default();
        let text = "kernel k {\n  // </pre><script>alert(1)</script>\n  st [x], 1;\n}\n";
        let file = sources.add("<i>.fence", text);
        let place = Place { span: Span::new(file, 13, 20), file: Some("<i>.fence".into()), line: 2 };
        let step = Step {
            lane: 0,
            row: 0,
            place: Some(place),
            opcode: "st.weak<u>".into(),
            short: "st<u>".into(),
            object: "[x<u>]".into(),
            what: "= 1".into(),
            from: String::new(),
            then: String::new(),
            details: vec!["<u>".into()],
            mark: "(1)",
            rules: vec!["MM-19"],
        };
        let story = Story {
            headline: "<u>".into(),
            code: "race::uniform",
            rules: vec!["MM-19"],
            lanes: vec![Lane { name: "tid <u>".into(), others: vec!["<u>".into()], is_of_operations: false }],
            steps: vec![step],
            n_rows: 1,
            links: Vec::new(),
            phases: Vec::new(),
            opcodes: vec![("st<u>".into(), "st.weak<u>".into())],
            why: vec!["<u>".into()],
            notes: vec!["<u>".into()],
        };
        let text = page("<u>", &[section(&sources, "<u>", &story)]);
        for markup in ["<u>", "<i>", "<script>alert", "</pre><"] {
            assert!(!text.contains(markup), "{markup} in\n{text}");
        }
        assert!(text.contains("&lt;script&gt;alert(1)"), "{text}");
    }
}
