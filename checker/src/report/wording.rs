//! Names and sentences for the facts of a finding.

use super::case::Case;
use super::short::short;
use crate::event::{
    Access, AgentId, CancelEvent, EventGraph, EventId, EventKind, GridEvent, MbarrierRole, SpaEvent,
    TensorEvent,
};
use crate::explain::{Explanation, Subject};
use crate::findings::{FlagKind, Property, When};
use crate::witness::Witness;
use fencepost_dsl::Span;
use fencepost_dsl::kernel::program::{Object, PartId};
use fencepost_dsl::vocabulary::Proxy;

/// Says things about one finding.
#[derive(Clone, Copy, Debug)]
pub struct Words<'a> {
    /// The launch.
    pub case: &'a Case<'a>,
    /// The execution.
    pub witness: &'a Witness,
}

impl Words<'_> {
    pub(super) fn graph(&self) -> &EventGraph {
        &self.case.outcome.graph
    }

    /// `tid 0 of cta 1`.
    pub fn agent(&self, agent: AgentId) -> String {
        self.graph().hierarchy.describe(agent)
    }

    /// Whether an agent is a thread and no asynchronous operation.
    pub fn is_thread(&self, agent: AgentId) -> bool {
        !self.graph().hierarchy.is_operation(agent)
    }

    /// The thread of an event.
    pub fn thread(&self, event: EventId) -> String {
        self.graph().events[event]
            .agent
            .map_or_else(|| "the initial state".to_owned(), |agent| self.agent(agent))
    }

    /// Opcode and operand, a long opcode abbreviated: for a place where the source stands beside it.
    pub fn brief(&self, event: EventId) -> String {
        let text = self.instruction(event);
        match text.split_once(' ') {
            Some((opcode, operand)) => format!("{} {operand}", short(opcode)),
            None => short(&text),
        }
    }

    /// Opcode with every default, and the operand: `st.release.gpu.global.u32 [flag]`.
    pub fn instruction(&self, event: EventId) -> String {
        let Some(site) = self.graph().events[event].site else { return "initial value".to_owned() };
        let site = &self.graph().sites[site];
        match self.object(event) {
            Some(object) if !site.operand.is_empty() => {
                format!("{} [{object}{}]", site.text, self.multimem_instance(event))
            }
            _ => match &self.graph().events[event].kind {
                EventKind::Mbarrier(operation) => {
                    format!("{} [{}]", site.text, self.graph().mbarriers[operation.object].name)
                }
                _ => site.text.clone(),
            },
        }
    }

    /// The statement's place.
    pub fn span(&self, event: EventId) -> Option<Span> {
        self.graph().events[event].site.map(|site| self.graph().sites[site].span)
    }

    /// `line 7`, with the file where it is not the kernel's.
    pub fn line(&self, span: Span) -> String {
        let line = self.case.sources.line_column(span).line;
        if let Some(origin) = self.case.sources.origin(span) {
            let name = &self.case.sources.file(span.file).name;
            return format!("{}:{}, line {line} of {name}", origin.name, origin.line);
        }
        if span.file == self.case.kernel.span.file {
            format!("line {line}")
        } else {
            format!("line {line} of {}", self.case.sources.file(span.file).name)
        }
    }

    /// `` `st.relaxed.gpu.global.u32 [flag]` (line 7) ``.
    pub fn quoted(&self, event: EventId) -> String {
        let place = self.span(event).map_or_else(String::new, |span| format!(" ({})", self.line(span)));
        format!("`{}`{place}", self.instruction(event))
    }

    /// The element an access goes to, as the source would write it: `flag`, `tile[3]`.
    pub fn object(&self, event: EventId) -> Option<String> {
        let access = self.graph().events[event].kind.access()?;
        let offset = u64::try_from(self.witness.values[access.offset]).ok()?;
        let part = self.grid(event).and_then(|grid| self.graph().hierarchy.grids()[grid].part);
        Some(self.element(access, offset, part))
    }

    /// The same, of an access that is no event's, in the kernel or a part of the program.
    pub(super) fn element(&self, access: &Access, offset: u64, part: Option<PartId>) -> String {
        let location = &self.graph().locations[access.location];
        let covers = |object: &&Object| {
            let first = u64::from(object.offset_bytes);
            object.storage == location.storage
                && object.mapping == access.mapping
                && (object.proxy == access.proxy
                    || matches!(access.proxy, Proxy::Async | Proxy::Tensormap | Proxy::Texture)
                        && object.proxy == Proxy::Generic)
                && (first..first + object.n_elements() * u64::from(object.width) / 8).contains(&offset)
        };
        let kernel = part.map_or(self.case.kernel, |part| &self.case.program.parts[part]);
        let objects = || kernel.objects.iter().filter(covers);
        let exact = objects().find(|object| u32::from(object.width) == access.width_bytes * 8);
        match exact.or_else(|| objects().next()) {
            Some(object) => element(object, offset - u64::from(object.offset_bytes)),
            None => location.name.to_string(),
        }
    }

    /// `flag`, or `tile[3] of cta 1` for one of several instances.
    pub fn object_instance(&self, event: EventId) -> Option<String> {
        let access = self.graph().events[event].kind.access()?;
        let instance = self.graph().locations[access.location].name.instance();
        Some(format!("`{}`{instance}", self.object(event)?))
    }

    /// ` in loop iteration 2`, or nothing.
    pub fn iterations(iterations: &[u32]) -> String {
        match iterations {
            [] => String::new(),
            [only] => format!(", loop iteration {only}"),
            many => {
                let numbers: Vec<String> = many.iter().map(ToString::to_string).collect();
                format!(", loop iterations {} (outermost first)", numbers.join(", "))
            }
        }
    }

    /// `iteration 2`, if a loop encloses it.
    pub(super) fn round(iterations: &[u32]) -> Option<String> {
        match iterations {
            [] => None,
            [only] => Some(format!("iteration {only}")),
            many => {
                let numbers: Vec<String> = many.iter().map(ToString::to_string).collect();
                Some(format!("iterations {}", numbers.join(".")))
            }
        }
    }

    /// `read`, `write`, `atomic`, `fence`.
    pub fn verb(&self, event: EventId) -> &'static str {
        match &self.graph().events[event].kind {
            EventKind::Init(_) => "initial value",
            EventKind::CtaStart(_) => "starts",
            EventKind::CtaExit(_) => "ends",
            EventKind::Grid(event) => match event {
                GridEvent::Start(_) => "starts",
                GridEvent::End(_) => "ends",
                GridEvent::Enqueue => "launches",
                GridEvent::Synchronize | GridEvent::Wait => "passes",
                GridEvent::LaunchDependents => "lets dependents start",
            },
            EventKind::Read(_) => "reads",
            EventKind::Write(_) => "writes",
            EventKind::Fence { .. }
            | EventKind::ProxyFence(_)
            | EventKind::AsyncFence(_)
            | EventKind::MatrixFence
            | EventKind::Tensor(TensorEvent::FenceBefore | TensorEvent::FenceAfter)
            | EventKind::RestrictedFence(_) => "fence",
            EventKind::Spa(SpaEvent::Membar { .. }) => "fence",
            EventKind::Spa(SpaEvent::InvalidateAll(_) | SpaEvent::InvalidateLine(_)) => "invalidates",
            EventKind::Cancel(CancelEvent::Try) => "tries to cancel a cluster",
            EventKind::Cancel(CancelEvent::Failed) => "sees that it has failed",
            EventKind::Tensor(TensorEvent::Allocate) => "allocates",
            EventKind::Tensor(TensorEvent::Free) => "deallocates",
            EventKind::Tensor(TensorEvent::Relinquish) => "relinquishes",
            EventKind::BarrierArrive | EventKind::ClusterArrive { .. } => "arrives",
            EventKind::BarrierWait | EventKind::ClusterWait | EventKind::AsyncWait => "passes",
            EventKind::Issue { .. } => "issues",
            EventKind::Mbarrier(operation) => match operation.role {
                MbarrierRole::Init => "initialises",
                MbarrierRole::Inval => "invalidates",
                MbarrierRole::Transaction | MbarrierRole::Complete => "counts bytes",
                MbarrierRole::Arrive => "arrives",
                MbarrierRole::Test => "tests",
                MbarrierRole::Wait => "passes",
            },
        }
    }

    /// The first line of a report.
    pub fn headline(&self, explanation: &Explanation) -> String {
        match &explanation.subject {
            Subject::Race { earlier, later } => {
                let object = self.object_instance(*earlier).unwrap_or_default();
                let (first, second) = (self.thread(*earlier), self.thread(*later));
                let agents = [*earlier, *later].map(|event| self.graph().events[event].agent);
                if agents[0] == agents[1] {
                    format!("data race on {object} within {first}")
                } else if first == second {
                    format!("data race on {object} between {first} and another one")
                } else {
                    format!("data race on {object} between {first} and {second}")
                }
            }
            Subject::Flag { kind, name, pair } => self.flagged(kind, name, *pair),
            Subject::Assertion { agent, span, .. } => {
                format!("{} fails for {}", self.condition(*span, "assertion"), self.agent(*agent))
            }
            Subject::Final { span } => {
                format!("{} fails after every thread has finished", self.condition(*span, "final condition"))
            }
            Subject::Bounds { agent, object, n_elements, index, .. } => {
                let s = if *n_elements == 1 { "" } else { "s" };
                format!(
                    "index {} is outside `{object}` ({n_elements} element{s}) for {}",
                    number(*index),
                    self.agent(*agent)
                )
            }
            Subject::Deadlock { roles, absent } => self.deadlock(roles, absent),
            Subject::Lifetime { access, owner, ended, .. } => self.outside_life(*access, *owner, *ended),
            Subject::Misuse { agent, misuse, .. } => {
                format!("{} {}", self.agent(*agent), self.misused(misuse))
            }
            Subject::Completion => "an execution in which every thread finishes".to_owned(),
        }
    }

    /// The first line for a flag.
    fn flagged(&self, kind: &FlagKind, name: &str, (a, b): (EventId, EventId)) -> String {
        let reads = |event: EventId| matches!(self.graph().events[event].kind, EventKind::Read(_));
        let applies = |when: When| match when {
            When::Always => true,
            When::OneEvent => a == b,
            When::OneThread => self.thread(a) == self.thread(b),
            When::FirstReads => reads(a),
            When::SecondReads => reads(b),
        };
        let headline = kind.headline.iter().find(|&&(when, _)| applies(when)).map_or("", |&(_, text)| text);
        filled(headline, |place| match place {
            "first" => self.thread(a),
            "second" => self.thread(b),
            "instruction" => self.quoted(a),
            "object" => match &self.graph().events[a].kind {
                EventKind::Mbarrier(operation) => self.mbarrier(operation.object),
                _ => self.object_instance(b).unwrap_or_default(),
            },
            "flag" => name.to_owned(),
            unknown => format!("{{{unknown}}}"),
        })
    }

    /// `` assertion `v == 1` ``; only its kind if the text is long.
    fn condition(&self, span: Span, what: &str) -> String {
        let text = self.case.sources.text(span).split_whitespace().collect::<Vec<_>>().join(" ");
        let text = text.trim_end_matches(';').trim_start_matches("assert ").trim();
        if text.is_empty() || text.chars().count() > 60 {
            what.to_owned()
        } else {
            format!("{what} `{text}`")
        }
    }

    /// `N = 2, M = 0`, or nothing.
    pub fn parameters(explanation: &Explanation) -> Option<String> {
        let all: Vec<String> = explanation
            .parameters
            .iter()
            .map(|(name, value)| format!("{name} = {}", number(*value)))
            .collect();
        if all.is_empty() { None } else { Some(all.join(", ")) }
    }
}

/// A text whose `{places}` are filled in.
pub(super) fn filled(text: &str, fill: impl Fn(&str) -> String) -> String {
    let mut parts = text.split('{');
    let mut filled = parts.next().unwrap_or("").to_owned();
    for part in parts {
        let (place, rest) = part.split_once('}').unwrap_or((part, ""));
        filled += &fill(place);
        filled += rest;
    }
    filled
}

/// An element of an object as the source would write it, from its byte offset in the object.
fn element(object: &Object, offset: u64) -> String {
    if object.dimensions.is_empty() {
        return object.name.clone();
    }
    let mut index = offset * 8 / u64::from(object.width);
    let mut indices = Vec::new();
    for &dimension in object.dimensions.iter().rev() {
        let dimension = u64::from(dimension.max(1));
        indices.push(index % dimension);
        index /= dimension;
    }
    indices.reverse();
    let indices: String = indices.iter().map(|index| format!("[{index}]")).collect();
    format!("{}{indices}", object.name)
}

/// Decimal, with the hexadecimal form for large numbers.
pub fn number(value: u128) -> String {
    if value < 1 << 16 { value.to_string() } else { format!("{value} ({value:#x})") }
}

/// `data races` and so on; SPA machines know no races, only what is seen out of order.
pub fn property(property: Property, is_spa: bool) -> &'static str {
    match property {
        Property::Race if is_spa => "order",
        Property::Race => "data races",
        Property::Assert => "assertions",
        Property::Deadlock => "deadlock",
        Property::Barrier => "barrier discipline",
        Property::Lifetime => "lifetime of shared memory",
        Property::Bounds => "array bounds",
        Property::Reachable => "reachability",
        Property::Condition => "condition",
    }
}

/// What a proof of the property says.
pub fn proved(property: Property, is_spa: bool) -> &'static str {
    match property {
        Property::Race if is_spa => "nothing seen out of order",
        Property::Race => "no data race",
        Property::Assert => "no failed assertion",
        Property::Deadlock => "no deadlock",
        Property::Barrier => "no barrier misuse",
        Property::Lifetime => "no access outside a CTA's lifetime",
        Property::Bounds => "no out-of-bounds access",
        Property::Reachable => "every thread can finish",
        Property::Condition => "the condition holds",
    }
}

#[cfg(test)]
mod tests {
    use super::{element, filled, number};
    use fencepost_dsl::kernel::program::{ElementKind, Object, StorageId};
    use fencepost_dsl::vocabulary::Space;
    use fencepost_dsl::{FileId, Span};

    #[test]
    fn elements_are_named_by_their_indices() {
        let object = Object {
            name: "a".into(),
            space: Space::Global,
            width: 32,
            element: ElementKind::Data,
            dimensions: vec![2, 4],
            storage: StorageId(0),
            offset_bytes: 0,
            mapping: 0,
            replication: fencepost_dsl::vocabulary::Replication::Single,
            proxy: fencepost_dsl::vocabulary::Proxy::Generic,
            tensor: None,
            span: Span::new(FileId(0), 0, 0),
        };
        assert_eq!(element(&object, 0), "a[0][0]");
        assert_eq!(element(&object, 24), "a[1][2]");
    }

    #[test]
    fn places_of_a_headline_are_filled_in() {
        let fill = |place: &str| place.to_uppercase();
        assert_eq!(filled("{first} uses {object}, twice", fill), "FIRST uses OBJECT, twice");
        assert_eq!(filled("nothing", fill), "nothing");
    }

    #[test]
    fn large_numbers_show_their_bits() {
        assert_eq!(number(12), "12");
        assert_eq!(number(0x1_0000), "65536 (0x10000)");
    }
}
