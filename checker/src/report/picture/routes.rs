//! Where links run: ports at the sides of boxes, tracks between lanes, channels between rows.

use super::sizes::{CHAR_WIDTH, LINE_HEIGHT, Sizes, link_label, size};
use crate::report::story::{Step, Story};
use fencepost_dsl::sorted::SortedMap;

/// From one port of a box to the next.
pub(super) const PORT_PITCH: i32 = LINE_HEIGHT + 2;
/// From one track to the next, and from one channel to the next.
const PITCH: i32 = 7;
/// Between two rows without a channel.
const GAP: i32 = 16;
/// Between a box and the first track, if no label is there.
const STUB: i32 = 12;

/// A side of a box.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Side {
    Left,
    Right,
}

/// How one link runs.
#[derive(Clone, Copy, Debug)]
struct Course {
    /// Step, side and port where it starts, and where it ends.
    ends: [(usize, Side, usize); 2],
    /// Gutter and track of its first piece down, and of its last if it crosses lanes.
    tracks: [(usize, usize); 2],
    /// Row above which it crosses, and the channel there.
    channel: Option<(usize, usize)>,
}

/// How all links run.
pub(super) struct Routes {
    courses: Vec<Course>,
    /// Tracks of each gutter: that with number n is right of lane n - 1.
    n_tracks: Vec<usize>,
    /// Characters of labels at its left and right side.
    n_chars: Vec<[usize; 2]>,
    n_channels: SortedMap<usize, usize>,
    /// By step.
    n_ports: Vec<usize>,
}

/// The gutter at a side of a lane.
fn gutter_of(lane: usize, side: Side) -> usize {
    match side {
        Side::Left => lane,
        Side::Right => lane + 1,
    }
}

impl Routes {
    /// The courses of a story's links.
    pub fn new(story: &Story) -> Self {
        let mut this = Self {
            courses: Vec::new(),
            n_tracks: vec![0; story.lanes.len() + 1],
            n_chars: vec![[0; 2]; story.lanes.len() + 1],
            n_channels: SortedMap::new(),
            n_ports: vec![0; story.steps.len()],
        };
        let sides = |link: &crate::report::story::Link| {
            let (from, to) = (story.steps[link.from].lane, story.steps[link.to].lane);
            if from <= to {
                (Side::Right, if from == to { Side::Right } else { Side::Left })
            } else {
                (Side::Left, Side::Right)
            }
        };
        let ports = this.ports(story, &sides);
        for (number, link) in story.links.iter().enumerate() {
            let (first, last) = sides(link);
            let gutters =
                [gutter_of(story.steps[link.from].lane, first), gutter_of(story.steps[link.to].lane, last)];
            let track = |this: &mut Self, gutter: usize| {
                this.n_tracks[gutter] += 1;
                (gutter, this.n_tracks[gutter] - 1)
            };
            let start = track(&mut this, gutters[0]);
            let (end, channel) = if gutters[0] == gutters[1] {
                (start, None)
            } else {
                let row = story.steps[link.to].row;
                let n = this.n_channels.entry(row).or_default();
                *n += 1;
                let channel = (row, *n - 1);
                (track(&mut this, gutters[1]), Some(channel))
            };
            // At the side where it ends: a right port has its label left in its gutter.
            let at = usize::from(last == Side::Left);
            let n_chars = &mut this.n_chars[gutters[1]][at];
            *n_chars = (*n_chars).max(link_label(link).chars().count());
            let port = |end: usize| ports.get(&(number, end)).copied().unwrap_or(0);
            this.courses.push(Course {
                ends: [(link.from, first, port(0)), (link.to, last, port(1))],
                tracks: [start, end],
                channel,
            });
        }
        this
    }

    /// The port of each end of each link; those from above come first.
    fn ports(
        &mut self,
        story: &Story,
        sides: &dyn Fn(&crate::report::story::Link) -> (Side, Side),
    ) -> SortedMap<(usize, usize), usize> {
        /// The row that it comes from or goes to, the link, and which of its ends it is.
        type End = (usize, usize, usize);
        let mut at: SortedMap<(usize, Side), Vec<End>> = SortedMap::new();
        for (number, link) in story.links.iter().enumerate() {
            let (first, last) = sides(link);
            let row = |step: usize| story.steps[step].row;
            at.entry((link.from, first)).or_default().push((row(link.to), number, 0));
            at.entry((link.to, last)).or_default().push((row(link.from), number, 1));
        }
        let mut ports = SortedMap::new();
        for ((step, _), mut ends) in at {
            ends.sort_unstable();
            self.n_ports[step] = self.n_ports[step].max(ends.len());
            for (port, (_, number, end)) in ends.into_iter().enumerate() {
                ports.insert((number, end), port);
            }
        }
        ports
    }

    /// Ports at the fuller side of a step.
    pub fn n_ports(&self, step: usize) -> usize {
        self.n_ports[step]
    }

    /// The room before the first lane.
    pub fn before_first(&self) -> i32 {
        self.room(0)
    }

    /// The room between a lane and the next.
    pub fn gutter(&self, lane: usize) -> i32 {
        self.room(lane + 1)
    }

    fn room(&self, gutter: usize) -> i32 {
        let [left, right] = self.n_chars[gutter].map(stub);
        let n_tracks = self.n_tracks[gutter];
        let is_outer = gutter == 0 || gutter + 1 == self.n_tracks.len();
        if n_tracks == 0 && is_outer { 0 } else { left + right + size(n_tracks) * PITCH + 8 }
    }

    /// The room above a row.
    pub fn gap(&self, row: usize) -> i32 {
        GAP + size(self.n_channels.get(&row).copied().unwrap_or(0)) * PITCH
    }

    /// The corners of a link.
    pub fn points(&self, link: usize, sizes: &Sizes, steps: &[Step]) -> Vec<(i32, i32)> {
        let Some(course) = self.courses.get(link) else { return Vec::new() };
        let [start, end] = course.ends.map(|(step, side, port)| {
            let lane = steps[step].lane;
            let x = match side {
                Side::Left => sizes.lane_x[lane],
                Side::Right => sizes.lane_x[lane] + sizes.lane_width[lane],
            };
            (x, sizes.row_y[steps[step].row] + 4 + LINE_HEIGHT - 2 + size(port) * PORT_PITCH)
        });
        let [first, last] = course.tracks.map(|(gutter, track)| self.track_x(sizes, gutter, track));
        let mut points = vec![start, (first, start.1)];
        if let Some((row, channel)) = course.channel {
            let y = sizes.row_y[row] - GAP / 2 - size(channel) * PITCH;
            points.extend([(first, y), (last, y)]);
        }
        points.extend([(last, end.1), end]);
        points
    }

    fn track_x(&self, sizes: &Sizes, gutter: usize, track: usize) -> i32 {
        let left = match gutter.checked_sub(1) {
            Some(lane) => sizes.lane_x[lane] + sizes.lane_width[lane],
            None => sizes.lane_x.first().copied().unwrap_or(0) - self.room(0),
        };
        left + stub(self.n_chars[gutter][0]) + 4 + size(track) * PITCH
    }
}

/// The room for labels of so many characters beside a box, with an arrow head.
fn stub(n_chars: usize) -> i32 {
    if n_chars == 0 { STUB } else { size(n_chars) * CHAR_WIDTH + 18 }
}
