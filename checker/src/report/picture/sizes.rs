//! Sizes of what is drawn, in pixels.

use crate::report::story::{Link, LinkKind};

/// What a text is, for how it is drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// The first line of the report.
    Title,
    /// The name of a lane.
    Lane,
    /// The first line of a step: its number, its line, its iteration.
    Head,
    /// An opcode.
    Opcode,
    /// Object, value, source.
    Outcome,
    /// At the end of a link.
    Link,
    /// Below the picture.
    Note,
}

/// Of one character, which no common monospace font exceeds at [`FONT_SIZE`].
pub(super) const CHAR_WIDTH: i32 = 7;

/// In tenths of a pixel.
pub(super) const FONT_SIZE: i32 = 115;

/// Of one line of text.
pub(super) const LINE_HEIGHT: i32 = 15;

/// A number of things as pixels.
pub(super) fn size(n: usize) -> i32 {
    i32::try_from(n).unwrap_or(i32::MAX / 64)
}

/// A label of a link, also in pictures without colours.
pub(super) fn link_label(link: &Link) -> String {
    if link.is_broken && link.kind != LinkKind::Unordered {
        format!("✗ {}", link.kind.label())
    } else {
        link.kind.label().to_owned()
    }
}

/// Sizes that the content asks for.
pub(super) struct Sizes {
    pub(super) lines: Vec<Vec<(Role, String)>>,
    pub(super) heads: Vec<Vec<String>>,
    pub(super) lane_width: Vec<i32>,
    pub(super) lane_x: Vec<i32>,
    pub(super) head_height: i32,
    pub(super) row_y: Vec<i32>,
    pub(super) box_height: Vec<i32>,
    /// Right end of the lanes, and bottom of the rows.
    pub(super) end: (i32, i32),
}
