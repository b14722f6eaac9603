//! Where everything of a picture is, in whole pixels.

use super::routes::{PORT_PITCH, Routes};
use super::sizes::{CHAR_WIDTH, LINE_HEIGHT, Role, Sizes, link_label, size};
use crate::report::case::wrap;
use crate::report::story::{LinkKind, Step, Story};
use crate::report::table::broken;
use fencepost_dsl::sorted::SortedMap;

/// Around the page.
const MARGIN: i32 = 16;
/// Inside a box.
const PADDING: i32 = 6;
/// A page is at least this wide, for the text above and below.
const PAGE_WIDTH_MIN: i32 = 560;

/// A line of text and the box that it needs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Label {
    /// Left.
    pub x: i32,
    /// Top.
    pub y: i32,
    /// What it says.
    pub text: String,
    /// What it is.
    pub role: Role,
}

impl Label {
    /// Its width.
    pub fn width(&self) -> i32 {
        text_width(&self.text)
    }
    /// Its height.
    pub fn height(&self) -> i32 {
        if self.role == Role::Link { LINE_HEIGHT - 2 } else { LINE_HEIGHT }
    }
}

/// A box.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rectangle {
    /// Left.
    pub x: i32,
    /// Top.
    pub y: i32,
    /// Width.
    pub width: i32,
    /// Height.
    pub height: i32,
}

/// A step's box and its texts.
#[derive(Clone, Debug)]
pub struct StepBox {
    /// Which step of the story.
    pub step: usize,
    /// Where.
    pub at: Rectangle,
    /// What is in it.
    pub labels: Vec<Label>,
}

/// A link's line, from the earlier step to the later one.
#[derive(Clone, Debug)]
pub struct Route {
    /// What it is.
    pub kind: LinkKind,
    /// Whether it is the one that is missing.
    pub is_broken: bool,
    /// Its corners.
    pub points: Vec<(i32, i32)>,
    /// Its label, at its end.
    pub label: Label,
    /// Which link of the story.
    pub link: usize,
}

/// Where everything of a picture is.
#[derive(Clone, Debug)]
pub struct Layout {
    /// Of the page.
    pub width: i32,
    /// Of the page.
    pub height: i32,
    /// Texts that belong to no step.
    pub texts: Vec<Label>,
    /// Heads of lanes.
    pub lanes: Vec<Rectangle>,
    /// Steps.
    pub boxes: Vec<StepBox>,
    /// From a step to the next one of its thread.
    pub order: Vec<((i32, i32), (i32, i32))>,
    /// Links.
    pub routes: Vec<Route>,
    /// Samples of links in the legend: where, and what.
    pub samples: Vec<((i32, i32), LinkKind, bool)>,
}

impl Layout {
    /// All texts.
    pub fn labels(&self) -> impl Iterator<Item = &Label> {
        let steps = self.boxes.iter().flat_map(|step| &step.labels);
        self.texts.iter().chain(steps).chain(self.routes.iter().map(|route| &route.label))
    }
}

/// The width of a text.
fn text_width(text: &str) -> i32 {
    size(text.chars().count()) * CHAR_WIDTH
}

/// The lines of a step: number and place, opcode, outcome.
fn lines(step: &Step, n_chars: usize) -> Vec<(Role, String)> {
    let mut head = format!("{}", step.row + 1);
    if let Some(place) = &step.place {
        head += &match &place.file {
            Some(file) => format!(" · {file}:{}", place.line),
            None => format!(" · line {}", place.line),
        };
    }
    for detail in &step.details {
        head += &format!(" · {detail}");
    }
    if !step.mark.is_empty() {
        head += &format!(" {}", step.mark);
    }
    let parts = [(Role::Head, head), (Role::Opcode, step.short.clone()), (Role::Outcome, step.outcome())];
    let filled = parts.into_iter().filter(|(_, text)| !text.is_empty());
    filled.flat_map(|(role, text)| broken(&text, n_chars).into_iter().map(move |line| (role, line))).collect()
}

/// Characters in a line of a step.
fn chars_of(n_lanes: usize) -> usize {
    match n_lanes {
        0..=3 => 34,
        4..=6 => 28,
        _ => 24,
    }
}

impl Layout {
    /// Where everything of a story is.
    pub fn new(story: &Story) -> Self {
        let routes = Routes::new(story);
        let n_chars = chars_of(story.lanes.len());
        let widest = sizes_of_lanes(story, &routes, n_chars);
        let width = (widest.end.0 + MARGIN).max(PAGE_WIDTH_MIN);
        let mut layout = Self {
            width,
            height: 0,
            texts: Vec::new(),
            lanes: Vec::new(),
            boxes: Vec::new(),
            order: Vec::new(),
            routes: Vec::new(),
            samples: Vec::new(),
        };
        let mut y = MARGIN;
        layout.paragraph(&mut y, &story.headline, Role::Title);
        let rules =
            if story.rules.is_empty() { String::new() } else { format!("  {}", story.rules.join(", ")) };
        if !story.code.is_empty() {
            layout.paragraph(&mut y, &format!("{}{rules}", story.code), Role::Note);
        }
        let sizes = sizes_of_rows(story, &routes, widest, y + 8);
        layout.add_lanes(&sizes, y + 8);
        layout.add_steps(story, &sizes);
        layout.add_order(story, &sizes);
        layout.add_links(story, &sizes, &routes);
        let mut y = sizes.end.1 + 12;
        layout.legend(&mut y, story);
        layout.below(&mut y, story);
        layout.height = y + MARGIN;
        layout
    }

    /// Text over the whole width.
    fn paragraph(&mut self, y: &mut i32, text: &str, role: Role) {
        let n_chars = usize::try_from((self.width - 2 * MARGIN) / CHAR_WIDTH).unwrap_or(40);
        for line in wrap(text, n_chars).iter().flat_map(|line| broken(line, n_chars)) {
            self.texts.push(Label { x: MARGIN, y: *y, text: line, role });
            *y += LINE_HEIGHT;
        }
    }

    fn add_lanes(&mut self, sizes: &Sizes, top: i32) {
        for (lane, head) in sizes.heads.iter().enumerate() {
            let (x, width) = (sizes.lane_x[lane], sizes.lane_width[lane]);
            self.lanes.push(Rectangle { x, y: top, width, height: sizes.head_height });
            let mut y = top + 4;
            for line in head {
                let text = Label { x: x + PADDING, y, text: line.clone(), role: Role::Lane };
                self.texts.push(text);
                y += LINE_HEIGHT;
            }
        }
    }

    fn add_steps(&mut self, story: &Story, sizes: &Sizes) {
        for (number, step) in story.steps.iter().enumerate() {
            let at = Rectangle {
                x: sizes.lane_x[step.lane],
                y: sizes.row_y[step.row],
                width: sizes.lane_width[step.lane],
                height: sizes.box_height[number],
            };
            let lines = sizes.lines[number].iter().enumerate();
            let labels = lines.map(|(i, (role, text))| Label {
                x: at.x + PADDING,
                y: at.y + 4 + size(i) * LINE_HEIGHT,
                text: text.clone(),
                role: *role,
            });
            self.boxes.push(StepBox { step: number, at, labels: labels.collect() });
        }
    }

    /// Program order: from each box to the next of its lane, if it is a thread's.
    fn add_order(&mut self, story: &Story, sizes: &Sizes) {
        for (lane, head) in self.lanes.iter().enumerate() {
            if story.lanes[lane].is_of_operations {
                continue;
            }
            let x = sizes.lane_x[lane] + sizes.lane_width[lane] / 2;
            let mut own: Vec<&StepBox> =
                self.boxes.iter().filter(|step| story.steps[step.step].lane == lane).collect();
            own.sort_by_key(|step| step.at.y);
            let mut from = head.y + head.height;
            for step in own {
                self.order.push(((x, from), (x, step.at.y)));
                from = step.at.y + step.at.height;
            }
        }
    }

    fn add_links(&mut self, story: &Story, sizes: &Sizes, routes: &Routes) {
        for (number, link) in story.links.iter().enumerate() {
            let points = routes.points(number, sizes, &story.steps);
            let (&(before, _), &(x, y)) = match points.as_slice() {
                [.., before, last] => (before, last),
                _ => continue,
            };
            let text = link_label(link);
            // Above the last piece, beside the arrow head.
            let x = if before < x { x - 10 - text_width(&text) } else { x + 10 };
            let label = Label { x, y: y - LINE_HEIGHT, text, role: Role::Link };
            self.routes.push(Route {
                kind: link.kind,
                is_broken: link.is_broken,
                points,
                label,
                link: number,
            });
        }
    }

    fn legend(&mut self, y: &mut i32, story: &Story) {
        const SAMPLE: i32 = 48;
        let mut text = |y: &mut i32, text: String| {
            self.texts.push(Label { x: MARGIN + SAMPLE + 8, y: *y, text, role: Role::Note });
            *y += LINE_HEIGHT;
        };
        let mut samples = Vec::new();
        for kind in LinkKind::ALL {
            if story.links.iter().any(|link| link.kind == kind && !link.is_broken) {
                samples.push(((MARGIN, *y + LINE_HEIGHT / 2), kind, false));
                text(y, format!("{}: {}", kind.label(), kind.meaning()));
            }
        }
        if let Some(link) = story.links.iter().find(|link| link.is_broken) {
            samples.push(((MARGIN, *y + LINE_HEIGHT / 2), link.kind, true));
            text(y, format!("{}: the link that does not order the two", link_label(link)));
        }
        self.samples = samples;
        *y += 4;
    }

    /// Why, and what else there is to say.
    fn below(&mut self, y: &mut i32, story: &Story) {
        for sentence in &story.why {
            self.paragraph(y, &format!("why: {sentence}"), Role::Note);
        }
        for note in &story.notes {
            self.paragraph(y, note, Role::Note);
        }
        for (short, full) in &story.opcodes {
            self.paragraph(y, &format!("{short} = {full}"), Role::Note);
        }
    }
}

/// The columns.
fn sizes_of_lanes(story: &Story, routes: &Routes, n_chars: usize) -> Sizes {
    let lines: Vec<Vec<(Role, String)>> = story.steps.iter().map(|step| lines(step, n_chars)).collect();
    let heads: Vec<Vec<String>> = story
        .lanes
        .iter()
        .map(|lane| {
            let mut head = broken(&lane.name, n_chars);
            match lane.others.as_slice() {
                [] => {}
                [only] => head.extend(broken(&format!("and {only}"), n_chars)),
                [.., last] => {
                    let text = format!("and {} like it, up to {last}", lane.others.len());
                    head.extend(broken(&text, n_chars));
                }
            }
            head
        })
        .collect();
    let mut lane_width: Vec<i32> = vec![0; story.lanes.len()];
    let mut widen = |lane: usize, text: &str| {
        lane_width[lane] = lane_width[lane].max(text_width(text) + 2 * PADDING);
    };
    for (step, lines) in story.steps.iter().zip(&lines) {
        lines.iter().for_each(|(_, text)| widen(step.lane, text));
    }
    for (lane, head) in heads.iter().enumerate() {
        head.iter().for_each(|text| widen(lane, text));
    }
    let mut x = MARGIN + routes.before_first();
    let mut lane_x = Vec::new();
    for (lane, width) in lane_width.iter().enumerate() {
        lane_x.push(x);
        x += width + routes.gutter(lane);
    }
    let head_lines = heads.iter().map(Vec::len).max().unwrap_or(1);
    Sizes {
        lines,
        heads,
        lane_width,
        lane_x,
        head_height: size(head_lines) * LINE_HEIGHT + 8,
        row_y: Vec::new(),
        box_height: Vec::new(),
        end: (x, 0),
    }
}

/// The rows, below `top`.
fn sizes_of_rows(story: &Story, routes: &Routes, sizes: Sizes, top: i32) -> Sizes {
    let box_height: Vec<i32> = (0..story.steps.len())
        .map(|step| {
            let text = size(sizes.lines[step].len()) * LINE_HEIGHT + 8;
            text.max(size(routes.n_ports(step)) * PORT_PITCH + 8)
        })
        .collect();
    let mut height: SortedMap<usize, i32> = SortedMap::new();
    for (step, &own) in story.steps.iter().zip(&box_height) {
        let row = height.entry(step.row).or_default();
        *row = (*row).max(own);
    }
    let mut y = top + sizes.head_height;
    let mut row_y = Vec::new();
    for row in 0..story.n_rows {
        y += routes.gap(row);
        row_y.push(y);
        y += height.get(&row).copied().unwrap_or(0);
    }
    Sizes { box_height, row_y, end: (sizes.end.0, y), ..sizes }
}
