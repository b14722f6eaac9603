//! The diagrams of the book: who does what after whom, drawn from the tables below.
//!
//! `BLESS=1 cargo test -p fencepost --test diagrams` writes `book/src/diagrams`; not in CI. What an execution looks like is drawn by
//! the command itself; these are about ideas and have no kernel behind them.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// A box in a lane.
struct Step {
    lane: usize,
    row: usize,
    text: &'static str,
}

/// How an arrow is drawn.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Line {
    /// This is ordered.
    Solid,
    /// This is not, though one may think so.
    Dashed,
}

/// From one box to another, by their places in the list of steps.
struct Arrow {
    from: usize,
    to: usize,
    label: &'static str,
    line: Line,
}

struct Diagram {
    name: &'static str,
    /// What it shows, for those who do not see it.
    title: &'static str,
    lanes: &'static [&'static str],
    steps: &'static [Step],
    arrows: &'static [Arrow],
}

const fn step(lane: usize, row: usize, text: &'static str) -> Step {
    Step { lane, row, text }
}

const fn arrow(from: usize, to: usize, label: &'static str) -> Arrow {
    Arrow { from, to, label, line: Line::Solid }
}

const fn missing(from: usize, to: usize, label: &'static str) -> Arrow {
    Arrow { from, to, label, line: Line::Dashed }
}

const DIAGRAMS: &[Diagram] = &[
    Diagram {
        name: "barrier-then-fence",
        title: "A store of thread 1 reaches another CTA through the barrier, thread 0's fence and its flag",
        lanes: &["thread 1", "thread 0", "other CTA"],
        steps: &[
            step(0, 0, "st [out]"),
            step(0, 1, "bar.sync"),
            step(1, 1, "bar.sync"),
            step(1, 2, "fence"),
            step(1, 3, "red.relaxed [flag]"),
            step(2, 3, "ld.acquire [flag]"),
            step(2, 4, "ld [out]"),
        ],
        arrows: &[
            arrow(0, 1, ""),
            arrow(1, 2, "barrier"),
            arrow(2, 3, ""),
            arrow(3, 4, "release pattern"),
            arrow(4, 5, "observed"),
            arrow(5, 6, ""),
        ],
    },
    Diagram {
        name: "fence-then-barrier",
        title: "With the fence in thread 1, nothing in thread 0 releases: the flag is seen and carries nothing",
        lanes: &["thread 1", "thread 0", "other CTA"],
        steps: &[
            step(0, 0, "st [out]"),
            step(0, 1, "fence"),
            step(0, 2, "bar.sync"),
            step(1, 2, "bar.sync"),
            step(1, 3, "red.relaxed [flag]"),
            step(2, 3, "ld.acquire [flag]"),
            step(2, 4, "ld [out]"),
        ],
        arrows: &[
            arrow(0, 1, ""),
            arrow(1, 2, ""),
            arrow(2, 3, "barrier"),
            arrow(3, 4, "no fence here"),
            missing(4, 5, "no release"),
            arrow(5, 6, ""),
        ],
    },
    Diagram {
        name: "ring",
        title: "One slot of a ring: full and empty hand it to and fro, and each wait names the parity of its phase",
        lanes: &["producer", "mbarriers", "consumer"],
        steps: &[
            step(0, 0, "wait empty, parity 1"),
            step(0, 1, "fill, arrive full"),
            step(1, 1, "full: phase 0 done"),
            step(2, 1, "wait full, parity 0"),
            step(2, 2, "read, arrive empty"),
            step(1, 2, "empty: phase 0 done"),
            step(0, 2, "wait empty, parity 0"),
            step(0, 3, "fill, arrive full"),
            step(1, 3, "full: phase 1 done"),
            step(2, 3, "wait full, parity 1"),
        ],
        arrows: &[
            arrow(0, 1, "passes at once"),
            arrow(1, 2, ""),
            arrow(2, 3, ""),
            arrow(3, 4, ""),
            arrow(4, 5, ""),
            arrow(5, 6, ""),
            arrow(6, 7, ""),
            arrow(7, 8, ""),
            arrow(8, 9, ""),
        ],
    },
    Diagram {
        name: "completion",
        title: "Who waits for a copy knows what the copy did, and not what its thread did before",
        lanes: &["the copy", "thread 0", "thread 1"],
        steps: &[
            step(1, 0, "st [header]"),
            step(1, 1, "cp.async.bulk"),
            step(0, 1, "writes the tile"),
            step(0, 2, "complete-tx"),
            step(2, 2, "wait full"),
            step(2, 3, "ld [tile]"),
            step(2, 4, "ld [header]"),
        ],
        arrows: &[
            arrow(0, 1, ""),
            arrow(1, 2, "starts"),
            arrow(2, 3, ""),
            arrow(3, 4, "observed"),
            arrow(4, 5, "ordered"),
            arrow(5, 6, ""),
            missing(0, 6, "not carried"),
        ],
    },
    Diagram {
        name: "cluster-life",
        title: "A peer's memory is there between its start and its end: a cluster barrier before the first access, one behind the last",
        lanes: &["CTA 0 (owner)", "CTA 1 (reads it)"],
        steps: &[
            step(0, 0, "starts, writes"),
            step(1, 0, "starts"),
            step(0, 1, "cluster barrier"),
            step(1, 1, "cluster barrier"),
            step(1, 2, "ld of CTA 0's word"),
            step(1, 3, "cluster barrier: arrive"),
            step(0, 3, "cluster barrier: wait"),
            step(0, 4, "ends"),
        ],
        arrows: &[
            arrow(0, 2, ""),
            arrow(1, 3, ""),
            arrow(2, 3, "published"),
            arrow(3, 4, ""),
            arrow(4, 5, "over"),
            arrow(5, 6, "may go now"),
            arrow(6, 7, ""),
        ],
    },
    Diagram {
        name: "patterns",
        title: "A fence and a strong write release, a strong read and a fence acquire: both halves of one thread each",
        lanes: &["writer", "reader"],
        steps: &[
            step(0, 0, "st [data]"),
            step(0, 1, "fence.acq_rel"),
            step(0, 2, "st.relaxed [flag]"),
            step(1, 2, "ld.relaxed [flag]"),
            step(1, 3, "fence.acq_rel"),
            step(1, 4, "ld [data]"),
        ],
        arrows: &[
            arrow(0, 1, ""),
            arrow(1, 2, "release pattern"),
            arrow(2, 3, "observed"),
            arrow(3, 4, "acquire pattern"),
            arrow(4, 5, ""),
        ],
    },
    Diagram {
        name: "observation",
        title: "The last atomic of a chain observes the first, past one in between that is relaxed",
        lanes: &["CTA 0", "CTA 1", "CTA 2"],
        steps: &[
            step(0, 0, "st [part]"),
            step(0, 1, "red.release [n]"),
            step(1, 1, "atom.relaxed [n]"),
            step(2, 1, "atom.acquire [n]"),
            step(2, 2, "ld [part]"),
        ],
        arrows: &[arrow(0, 1, ""), arrow(1, 2, "rf"), arrow(2, 3, "rf"), arrow(3, 4, "")],
    },
    Diagram {
        name: "proxies",
        title: "What a thread stored reaches a copy of another one: a proxy fence and then a barrier on the way",
        lanes: &["thread 1", "thread 0", "its copy"],
        steps: &[
            step(0, 0, "st [tile]"),
            step(0, 1, "fence.proxy.async"),
            step(0, 2, "bar.sync"),
            step(1, 2, "bar.sync"),
            step(1, 3, "cp.async.bulk"),
            step(2, 3, "reads the tile"),
        ],
        arrows: &[
            arrow(0, 1, "generic proxy"),
            arrow(1, 2, "async proxy, too"),
            arrow(2, 3, "barrier"),
            arrow(3, 4, ""),
            arrow(4, 5, "starts"),
        ],
    },
    Diagram {
        name: "fence-order",
        title: "Of two fence.sc one comes first: who comes second sees what stood before the first",
        lanes: &["CTA 0", "CTA 1"],
        steps: &[
            step(0, 0, "st.relaxed [x], 1"),
            step(0, 1, "fence.sc"),
            step(0, 2, "ld.relaxed [y]: 0"),
            step(1, 0, "st.relaxed [y], 1"),
            step(1, 1, "fence.sc"),
            step(1, 2, "ld.relaxed [x]: 1"),
        ],
        arrows: &[
            arrow(0, 1, ""),
            arrow(1, 2, ""),
            arrow(3, 4, ""),
            arrow(4, 5, "never 0"),
            arrow(1, 4, "sync_fence"),
        ],
    },
    Diagram {
        name: "overwritten",
        title: "No read returns what causality knows to be overwritten",
        lanes: &["writer", "reader"],
        steps: &[
            step(0, 0, "data = 0, initially"),
            step(0, 1, "st [data], 1"),
            step(0, 2, "st.release [flag]"),
            step(1, 2, "ld.acquire [flag]"),
            step(1, 3, "ld [data]: 1"),
        ],
        arrows: &[
            arrow(0, 1, "co"),
            arrow(1, 2, "released"),
            arrow(2, 3, ""),
            arrow(3, 4, "acquired"),
            missing(0, 4, "not from here"),
        ],
    },
    Diagram {
        name: "unordered",
        title: "A race: the flag is seen, but its store releases nothing, so nothing orders the two accesses of the data",
        lanes: &["writer", "reader"],
        steps: &[
            step(0, 0, "st [data]"),
            step(0, 1, "st.relaxed [flag]"),
            step(1, 1, "ld.acquire [flag]"),
            step(1, 2, "ld [data]"),
        ],
        arrows: &[
            arrow(0, 1, "no release"),
            arrow(1, 2, ""),
            arrow(2, 3, "acquires nothing"),
            missing(0, 3, "race"),
        ],
    },
];

const LANE: usize = 290;
const ROW: usize = 74;
const BOX: (usize, usize) = (178, 34);
const TOP: usize = 48;

const STYLE: &str = "<style>text{font:13px 'DejaVu Sans','Segoe UI',Helvetica,Arial,sans-serif;fill:#1b1f24}.h{font-weight:bold}\
.l{font-size:12px}.b{fill:#eef3fa;stroke:#5b7ba6}.g{fill:#ffffff}.p{stroke:#2f4b70;fill:none;stroke-width:1.6}\
.m{stroke:#b3261e;fill:none;stroke-width:1.8;stroke-dasharray:6 4}.ml{fill:#b3261e;font-weight:bold}.a{fill:#2f4b70}.ma{fill:#b3261e}\
@media(prefers-color-scheme:dark){text{fill:#dfe3ea}.b{fill:#26303d;stroke:#7f9cc4}.g{fill:#171a1f}.p{stroke:#a9bfdf}\
.m{stroke:#ff8a80}.ml{fill:#ff8a80}.a{fill:#a9bfdf}.ma{fill:#ff8a80}}</style>";

/// The left upper corner of a box.
fn corner(step: &Step) -> (usize, usize) {
    (step.lane * LANE + (LANE - BOX.0) / 2, TOP + step.row * ROW)
}

/// Where an arrow leaves the one box and gets to the other: sideways between lanes, down within one.
fn ends(from: &Step, to: &Step) -> ((usize, usize), (usize, usize)) {
    let ((fx, fy), (tx, ty)) = (corner(from), corner(to));
    let middle = BOX.1 / 2;
    if from.lane == to.lane {
        ((fx + BOX.0 / 2, fy + BOX.1), (tx + BOX.0 / 2, ty))
    } else if from.lane < to.lane {
        ((fx + BOX.0, fy + middle), (tx, ty + middle))
    } else {
        ((fx, fy + middle), (tx + BOX.0, ty + middle))
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn draw(diagram: &Diagram) -> String {
    let width = diagram.lanes.len() * LANE;
    let rows = diagram.steps.iter().map(|step| step.row + 1).max().unwrap_or(0);
    let height = TOP + rows * ROW - (ROW - BOX.1) + 18;
    // Writing to a string does not fail.
    let mut svg = String::new();
    let _ = writeln!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" role=\"img\">"
    );
    let _ = writeln!(svg, "<title>{}</title>\n{STYLE}", escaped(diagram.title));
    for (name, class) in [("a", "a"), ("x", "ma")] {
        let _ = writeln!(
            svg,
            "<marker id=\"{name}\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" \
             orient=\"auto\"><path class=\"{class}\" d=\"M0 0L8 4L0 8z\"/></marker>"
        );
    }
    let _ = writeln!(svg, "<rect class=\"g\" width=\"{width}\" height=\"{height}\" rx=\"6\"/>");
    for (lane, name) in diagram.lanes.iter().enumerate() {
        let x = lane * LANE + LANE / 2;
        let _ = writeln!(
            svg,
            "<text class=\"h\" x=\"{x}\" y=\"26\" text-anchor=\"middle\">{}</text>",
            escaped(name)
        );
    }
    for arrow in diagram.arrows {
        draw_arrow(&mut svg, diagram, arrow);
    }
    for step in diagram.steps {
        let (x, y) = corner(step);
        let (w, h) = BOX;
        let _ =
            writeln!(svg, "<rect class=\"b\" x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" rx=\"5\"/>");
        let (x, y) = (x + w / 2, y + 22);
        let _ =
            writeln!(svg, "<text x=\"{x}\" y=\"{y}\" text-anchor=\"middle\">{}</text>", escaped(step.text));
    }
    svg + "</svg>\n"
}

fn draw_arrow(svg: &mut String, diagram: &Diagram, arrow: &Arrow) {
    let (from, to) = (&diagram.steps[arrow.from], &diagram.steps[arrow.to]);
    let ((x, y), (u, v)) = ends(from, to);
    let (class, marker, text) = match arrow.line {
        Line::Solid => ("p", "a", "l"),
        Line::Dashed => ("m", "x", "l ml"),
    };
    let _ = writeln!(svg, "<path class=\"{class}\" marker-end=\"url(#{marker})\" d=\"M{x} {y}L{u} {v}\"/>");
    if !arrow.label.is_empty() {
        let (mx, my) = (usize::midpoint(x, u), usize::midpoint(y, v));
        let (x, y, anchor) = if from.lane == to.lane {
            (mx + 8, my + 4, "start")
        } else if y == v {
            (mx, my - 7, "middle")
        } else {
            // Beside a slanted line, near its start, where nothing crosses it yet.
            (usize::midpoint(x, mx) + 8, usize::midpoint(y, my), "start")
        };
        let label = escaped(arrow.label);
        let _ = writeln!(
            svg,
            "<text class=\"{text}\" x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\">{label}</text>"
        );
    }
}

fn file(diagram: &Diagram) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../book/src/diagrams/{}.svg", diagram.name))
}

#[test]
fn the_diagrams_are_those_of_the_tables_and_are_all_shown() {
    let is_bless = std::env::var_os("BLESS").is_some();
    assert!(!(is_bless && std::env::var_os("CI").is_some()), "the book is not rewritten in CI");
    let pages: String = ["tutorial", "explanation"]
        .into_iter()
        .flat_map(|part| {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../book/src").join(part);
            fs::read_dir(folder).expect("there are pages")
        })
        .flatten()
        .map(|entry| fs::read_to_string(entry.path()).expect("pages are UTF-8"))
        .collect();
    for diagram in DIAGRAMS {
        let svg = draw(diagram);
        if is_bless {
            fs::write(file(diagram), &svg).expect("the book is writable");
        }
        let shown = fs::read_to_string(file(diagram)).unwrap_or_default();
        assert!(
            shown == svg,
            "book/src/diagrams/{}.svg is not what the table says: BLESS=1 writes it",
            diagram.name
        );
        assert!(
            pages.contains(&format!("../diagrams/{}.svg)", diagram.name)),
            "no page shows {}",
            diagram.name
        );
    }
}

/// Labels fit their boxes, boxes do not share a place, and what is ordered goes down or sideways.
#[test]
fn nothing_in_a_diagram_lies_over_something_else() {
    for diagram in DIAGRAMS {
        for (index, step) in diagram.steps.iter().enumerate() {
            assert!(step.lane < diagram.lanes.len(), "{}: {}", diagram.name, step.text);
            // Eight to nine pixels a character is more than the font takes.
            assert!(step.text.len() * 8 <= BOX.0 + 8, "{}: `{}` is too long", diagram.name, step.text);
            let place = (step.lane, step.row);
            let others = diagram.steps.iter().skip(index + 1);
            assert!(others.map(|other| (other.lane, other.row)).all(|other| other != place), "{}", step.text);
        }
        for arrow in diagram.arrows {
            let (from, to) = (&diagram.steps[arrow.from], &diagram.steps[arrow.to]);
            assert!(from.row <= to.row, "{}: {} to {}", diagram.name, from.text, to.text);
        }
    }
}
