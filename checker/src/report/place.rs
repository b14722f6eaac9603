//! Places and threads, as programs read them.

use super::case::Case;
use crate::event::AgentId;
use fencepost_dsl::kernel::program::Coordinate;
use fencepost_dsl::{SourceMap, Span};
use serde::Serialize;
use std::ops::Range;

#[derive(Serialize)]
pub(crate) struct Place {
    #[serde(flatten)]
    pub(crate) at: Position,
    pub(crate) thread: Option<ThreadReport>,
    pub(crate) text: String,
    /// The calls by which the thread comes there, outermost first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) calls: Vec<Position>,
}

#[derive(Serialize)]
pub(crate) struct ThreadReport {
    /// As reports name it.
    pub(crate) name: String,
    /// In a program: the launch, or `the host`, which is on no device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) grid: Option<String>,
    pub(crate) gpu: u32,
    pub(crate) cluster: u32,
    pub(crate) cta: u32,
    pub(crate) warp: u32,
    pub(crate) lane: u32,
}

/// From one character to another, the latter not included.
#[derive(Serialize)]
pub(crate) struct Position {
    pub(crate) file: String,
    pub(crate) line: usize,
    pub(crate) column: usize,
    pub(crate) end_line: usize,
    pub(crate) end_column: usize,
    /// The line of a source that a compiler has made it of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) source: Option<LineReport>,
    /// The same in bytes of the text, for programs that have it as one.
    #[serde(skip)]
    pub(crate) bytes: Range<usize>,
}

/// A line of a file that need not be at hand.
#[derive(Serialize)]
pub(crate) struct LineReport {
    pub(crate) file: String,
    pub(crate) line: u32,
}

pub(crate) fn position(sources: &SourceMap, span: Span) -> Position {
    let start = sources.line_column(span);
    let end = sources.line_column(Span { start: span.end.max(span.start), ..span });
    Position {
        file: sources.file(span.file).name.clone(),
        line: start.line,
        column: start.column,
        end_line: end.line,
        end_column: end.column,
        source: sources
            .origin(span)
            .map(|origin| LineReport { file: origin.name.clone(), line: origin.line }),
        bytes: span.start as usize..span.end.max(span.start) as usize,
    }
}

/// Where calls stand.
pub(crate) fn calls(sources: &SourceMap, calls: &[Span]) -> Vec<Position> {
    calls.iter().map(|&call| position(sources, call)).collect()
}

pub(crate) fn thread(case: &Case<'_>, agent: AgentId) -> ThreadReport {
    let hierarchy = &case.outcome.graph.hierarchy;
    let thread = hierarchy.threads[agent];
    ThreadReport {
        name: hierarchy.describe(agent),
        grid: hierarchy.grids()[hierarchy.grid_of(agent)].name.clone(),
        gpu: if hierarchy.is_host(agent) { 0 } else { thread.gpu },
        cluster: thread.cluster,
        cta: hierarchy.coordinate(agent, Coordinate::Ctaid),
        warp: thread.warp,
        lane: thread.lane,
    }
}
