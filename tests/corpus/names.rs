//! Names of instructions that a kernel file and a litmus test have in common, for races.

use fencepost::event::{AgentId, EventGraph, EventId, SiteId};
use fencepost_dsl::Span;
use std::collections::{BTreeMap, BTreeSet};

/// Opcodes of the kernel language, without space and type, that the litmus format spells in another way.
const SAME_IN_LITMUS: &[(&str, &str)] = &[
    ("tex.1d.s32", "tld.weak"),
    ("suld.b.1d", "suld.weak"),
    ("sust.b.1d", "sust.weak"),
    ("sured.b.add.1d", "sured.relaxed.gpu.add"),
    ("ld.weak.const", "cold.weak"),
];

/// Names of the accesses of an event graph: `P0 st.weak x`, or `P1 ld.weak x #2` for the second of two alike.
pub struct Names<'a> {
    graph: &'a EventGraph,
    /// Per agent with accesses: its number among them in order of their code. In a litmus test that is its own number.
    threads: BTreeMap<AgentId, usize>,
    /// Per agent: its accesses in order of the text.
    sites: BTreeMap<AgentId, BTreeSet<(u32, SiteId)>>,
}

impl<'a> Names<'a> {
    /// The names in a graph.
    pub fn new(graph: &'a EventGraph) -> Self {
        let mut sites: BTreeMap<AgentId, BTreeSet<(u32, SiteId)>> = BTreeMap::new();
        for event in graph.events.iter().filter(|event| event.kind.access().is_some()) {
            let (Some(agent), Some(site)) = (event.agent, event.site) else { continue };
            sites.entry(agent).or_default().insert((graph.sites[site].span.start, site));
        }
        let mut by_place: Vec<(u32, AgentId)> =
            sites.iter().filter_map(|(&agent, own)| own.first().map(|&(start, _)| (start, agent))).collect();
        by_place.sort_unstable();
        let is_litmus = graph.hierarchy.launch().placement.is_some();
        let number = |(at, (_, agent)): (usize, (u32, AgentId))| {
            (agent, if is_litmus { agent.0 as usize } else { at })
        };
        let threads = by_place.into_iter().enumerate().map(number).collect();
        Self { graph, threads, sites }
    }

    /// The instruction of an event.
    pub fn of(&self, event: EventId) -> Name {
        let event = &self.graph.events[event];
        let (agent, site) = event.agent.zip(event.site).expect("initial writes do not race");
        self.name(agent, site)
    }

    /// The instruction of a thread that has the memory operand at `operand`.
    pub fn at(&self, thread: usize, operand: Span) -> Option<Name> {
        let agent = AgentId(u32::try_from(thread).ok()?);
        let contains = |span: Span| span.start <= operand.start && operand.end <= span.end;
        let around =
            self.sites.get(&agent)?.iter().filter(|(_, site)| contains(self.graph.sites[*site].span));
        let &(_, site) = around.max_by_key(|(start, _)| *start)?;
        Some(self.name(agent, site))
    }

    /// The two ends of a race in one text.
    pub fn race(&self, a: Name, b: Name) -> String {
        let is_mixed = a.width_bytes != b.width_bytes;
        let mut ends = [a.text, b.text];
        ends.sort();
        ends.join(", ") + if is_mixed { " (mixed size)" } else { "" }
    }

    fn name(&self, agent: AgentId, site: SiteId) -> Name {
        let text = self.text(site);
        let alike: Vec<SiteId> = self.sites[&agent]
            .iter()
            .map(|&(_, other)| other)
            .filter(|&other| self.text(other) == text)
            .collect();
        let which = match alike.iter().position(|&other| other == site) {
            Some(at) if alike.len() > 1 => format!(" #{}", at + 1),
            _ => String::new(),
        };
        let accesses = self.graph.events.iter().filter(|event| event.site == Some(site));
        let width_bytes =
            accesses.filter_map(|event| event.kind.access()).map(|access| access.width_bytes).max();
        Name {
            text: format!("P{} {text}{which}", self.threads[&agent]),
            width_bytes: width_bytes.unwrap_or(0),
        }
    }

    /// The opcode without state space and type, and the location.
    fn text(&self, site: SiteId) -> String {
        let site = &self.graph.sites[site];
        let is_said_elsewhere =
            |part: &str| ["global", "shared", "u8", "u16", "u32", "u64", "b32", "b64"].contains(&part);
        let opcode: Vec<&str> = site.text.split('.').filter(|part| !is_said_elsewhere(part)).collect();
        let opcode = opcode.join(".");
        let opcode =
            SAME_IN_LITMUS.iter().find(|(own, _)| *own == opcode).map_or(&*opcode, |(_, other)| other);
        format!("{opcode} {}", site.operand.trim_matches(['[', ']']))
    }
}

/// An instruction of a thread.
pub struct Name {
    text: String,
    width_bytes: u32,
}
