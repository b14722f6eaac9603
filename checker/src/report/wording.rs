//! Names and sentences for the facts of a finding.

use super::Case;
use crate::encode::goal::MBARRIER;
use crate::event::{
    AgentId, CancelEvent, EventGraph, EventId, EventKind, GridEvent, GridId, MbarrierEvent, MbarrierRole,
    SpaEvent, TensorEvent, UnknownKind,
};
use crate::explain::{
    CANCEL, Explanation, Nearby, OUT_OF_ORDER, ReadFact, Reason, Repair, Subject, TENSOR_FREED,
    TENSOR_RELINQUISHED, TENSORMAP,
};
use crate::verdict::Property;
use crate::witness::Witness;
use fencepost_dsl::Span;
use fencepost_dsl::kernel::program::Object;
use fencepost_dsl::vocabulary::{Proxy, Sem};

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
        let location = &self.graph().locations[access.location];
        let covers = |object: &&Object| {
            let first = u64::from(object.offset_bytes);
            object.storage == location.storage
                && object.mapping == access.mapping
                && (object.proxy == access.proxy
                    || matches!(access.proxy, Proxy::Async | Proxy::Tensormap)
                        && object.proxy == Proxy::Generic)
                && (first..first + object.n_elements() * u64::from(object.width) / 8).contains(&offset)
        };
        let objects = || self.case.kernel.objects.iter().filter(covers);
        let exact = objects().find(|object| u32::from(object.width) == access.width_bytes * 8);
        match exact.or_else(|| objects().next()) {
            Some(object) => Some(element(object, offset - u64::from(object.offset_bytes))),
            None => Some(location.name.clone()),
        }
    }

    /// `flag`, or `tile[3] of cta 1` for one of several instances.
    pub fn object_instance(&self, event: EventId) -> Option<String> {
        let access = self.graph().events[event].kind.access()?;
        let name = &self.graph().locations[access.location].name;
        let instance = name.find(" of ").map_or("", |at| &name[at..]);
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
            Subject::Flag { name, pair: (a, b) } if name.starts_with(MBARRIER) => {
                self.mbarrier_flag(name, *a, *b)
            }
            Subject::Flag { name, pair: (read, _) } if name == TENSORMAP => format!(
                "{} uses {} without having acquired it",
                self.thread(*read),
                self.object_instance(*read).unwrap_or_default()
            ),
            Subject::Flag { name, pair: (a, b) } if name == TENSOR_FREED => format!(
                "{} of {} may not be over when {} deallocates {}",
                self.quoted(*a),
                self.thread(*a),
                self.thread(*b),
                self.object_instance(*b).unwrap_or_default()
            ),
            Subject::Flag { name, pair: (a, b) } if name == TENSOR_RELINQUISHED => format!(
                "{} may allocate tensor memory after {} has relinquished the permit",
                self.thread(*a),
                self.thread(*b)
            ),
            Subject::Flag { name, pair: (a, b) } if name == OUT_OF_ORDER => self.out_of_order(*a, *b),
            Subject::Flag { name, pair: (a, b) } if name == CANCEL => {
                let (first, second) = (self.thread(*a), self.thread(*b));
                if first == second {
                    format!("{first} tries to cancel a cluster again after it has seen that this failed")
                } else {
                    format!("{first} may try to cancel a cluster after {second} has seen that this failed")
                }
            }
            Subject::Flag { name, pair: (a, b) } if a == b => {
                format!("`{name}` is flagged for {}", self.thread(*a))
            }
            Subject::Flag { name, pair: (a, b) } => {
                format!("`{name}` is flagged between {} and {}", self.thread(*a), self.thread(*b))
            }
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
            Subject::Misuse { agent, what, .. } => format!("{} {what}", self.agent(*agent)),
            Subject::Completion => "an execution in which every thread finishes".to_owned(),
        }
    }

    /// What a flag about mbarriers means for the two operations.
    fn mbarrier_flag(&self, name: &str, a: EventId, b: EventId) -> String {
        let object = match &self.graph().events[a].kind {
            EventKind::Mbarrier(operation) => self.graph().mbarriers[operation.object].name.clone(),
            _ => "an mbarrier".to_owned(),
        };
        let (first, second) = (self.thread(a), self.thread(b));
        match name {
            "mbarrier-init" => {
                format!("{second} may use {object} before its initialisation by {first} is over")
            }
            "mbarrier-inval" => format!("{first} may still use {object} when {second} invalidates it"),
            _ => format!("{first} arrives at {object} and nobody has waited for the phase before"),
        }
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

    /// Why, one sentence per reason.
    pub fn reasons(&self, explanation: &Explanation) -> Vec<String> {
        let mut sentences = match &explanation.subject {
            Subject::Deadlock { roles, absent } => {
                let mut sentences: Vec<String> =
                    roles.iter().map(|role| self.blocked(role, !absent.is_empty())).collect();
                sentences.extend(self.absence(absent));
                sentences
            }
            Subject::Lifetime { access, owner, ended, .. } => vec![self.why_outside(*access, *owner, *ended)],
            _ => Vec::new(),
        };
        sentences.extend(explanation.reads.iter().map(|fact| self.read(fact)));
        sentences.extend(explanation.reasons.iter().map(|reason| self.reason(reason, explanation)));
        let who = if self.graph().hierarchy.launch().spa.is_some() { "the document" } else { "PTX" };
        sentences.extend(explanation.readings.iter().map(|reading| {
            format!(
                "{who} leaves it open ({}) whether {}; with `--variant {}`, under which it does, the two are ordered here",
                reading.rule, reading.what, reading.variant
            )
        }));
        let is_unexplained = matches!(explanation.subject, Subject::Race { .. }) && sentences.is_empty();
        if is_unexplained {
            sentences.push(self.unordered(explanation).to_owned());
        }
        sentences
    }

    /// When nothing more particular can be said.
    fn unordered(&self, explanation: &Explanation) -> &'static str {
        let Subject::Race { earlier, later } = explanation.subject else { return "" };
        let is_weak = |event: EventId| {
            self.graph().events[event].kind.access().is_some_and(|access| access.sem == Sem::Weak)
        };
        if is_weak(earlier) && is_weak(later) {
            "both accesses are weak: weak accesses never synchronize, and nothing else orders them"
        } else {
            "the model orders the two accesses in neither direction"
        }
    }

    fn read(&self, fact: &ReadFact) -> String {
        let value = number(fact.value);
        if fact.source == Some(fact.read) {
            return format!(
                "the last write of {} is {} by {}: {value}",
                self.object_instance(fact.read).unwrap_or_default(),
                self.quoted(fact.read),
                self.thread(fact.read)
            );
        }
        let from = match fact.source {
            Some(source) if self.graph().events[source].agent.is_none() => self.initial(source),
            Some(source) => format!("written by {} at {}", self.thread(source), self.quoted(source)),
            None => "of unknown origin".to_owned(),
        };
        let missed = fact.missed.map_or_else(String::new, |write| {
            format!(
                "; {} by {} also happens, but is not ordered before it",
                self.quoted(write),
                self.thread(write)
            )
        });
        let half = self.half(fact.read).map_or_else(String::new, |half| format!(" in the {half} 8 bytes"));
        format!(
            "{} of {} returns {value}{half}, {from}{missed}",
            self.quoted(fact.read),
            self.thread(fact.read)
        )
    }

    /// Which half of its 16 bytes a weak access is about: such accesses are made of two.
    fn half(&self, event: EventId) -> Option<&'static str> {
        let of = &self.graph().events[event];
        let access = of.kind.access().filter(|access| access.width_bytes == 8)?;
        let text = &self.graph().sites[of.site?].text;
        let is_half = text.split('.').any(|part| part == "b128");
        let offset = self.witness.values[access.offset];
        is_half.then_some(if offset.is_multiple_of(16) { "lower" } else { "upper" })
    }

    /// What an initial write gives.
    fn initial(&self, write: EventId) -> String {
        let is_unknown = self.graph().events[write].kind.access().is_some_and(|access| {
            matches!(self.graph().terms.kind(access.value), crate::event::TermKind::Unknown(unknown)
                if matches!(self.graph().terms.unknown(*unknown).kind, UnknownKind::Initial { .. }))
        });
        if is_unknown { "its initial value, which is unknown".into() } else { "its initial value".into() }
    }

    pub(super) fn end(&self, event: EventId, explanation: &Explanation) -> String {
        match explanation.subject {
            Subject::Race { earlier, .. } if event == earlier => "(1)".to_owned(),
            Subject::Race { later, .. } if event == later => "(2)".to_owned(),
            _ => self.quoted(event),
        }
    }

    fn reason(&self, reason: &Reason, explanation: &Explanation) -> String {
        match reason {
            Reason::WeakLink { event, other } => format!(
                "{} is weak: {} with {}, but a weak access never synchronizes",
                self.end(*event, explanation),
                if self.verb(*event) == "reads" { "it shares a value" } else { "its value is shared" },
                self.end(*other, explanation),
            ),
            Reason::OutOfScope { event, other, thread, needed } => {
                let scope = crate::explain::chain::scope_of(self.graph(), *event)
                    .map_or_else(String::new, |scope| format!(" `.{scope}`"));
                format!(
                    "{}: {} is not in its scope{scope}, so it does not synchronize with {}; `.{needed}` or wider holds both",
                    self.named(*event, explanation),
                    self.agent(*thread),
                    self.named(*other, explanation),
                )
            }
            Reason::PartialLink { write, read } => {
                let (first, second) = (self.end(*write, explanation), self.end(*read, explanation));
                match self.different_addresses((*write, &first), (*read, &second)) {
                    Some(addresses) => format!("{addresses}, so they do not synchronize"),
                    None => {
                        format!("{first} and {second} share bytes but not size and address, so they do not synchronize")
                    }
                }
            }
            Reason::NoRelease { write, after, nearby } => format!(
                "{} passes the signal on, but nothing before it releases {}: a release pattern is a release write, or a \
                 release fence and then a strong write, both in {}{}",
                self.end(*write, explanation),
                self.released(*after, explanation),
                self.thread(*write),
                nearby.map_or_else(String::new, |nearby| self.nearby(
                    nearby,
                    "that write",
                    "what it should release"
                )),
            ),
            Reason::NoAcquire { read, before, nearby } => format!(
                "{} sees the signal, but nothing acquires between it and {}: an acquire pattern is an acquire read, or a \
                 strong read and then an acquire fence, both in {}{}",
                self.end(*read, explanation),
                self.end(*before, explanation),
                self.thread(*read),
                nearby.map_or_else(String::new, |nearby| self.nearby(
                    nearby,
                    "what it should protect",
                    "that read"
                )),
            ),
            Reason::NotCovered { fence, access } => self.not_covered(*fence, *access, explanation),
            Reason::ReductionNeverAcquires { read } => format!(
                "{} is a reduction (its result is not used): it never acquires, not even with a fence after it",
                self.end(*read, explanation)
            ),
            Reason::NothingObserved { earlier, later } => {
                let (before, after) = (self.grid(*earlier), self.grid(*later));
                let launches = if before == after {
                    ""
                } else {
                    ", nor do launches, events or `synchronize` put the one after the other"
                };
                format!(
                    "no value read and no barrier passed leads from {} after (1) to {} before (2){launches}",
                    self.thread(*earlier),
                    self.thread(*later)
                )
            }
            Reason::WeakEnd { event, other } => format!(
                "{} is weak: only two strong accesses may meet without order, and {} alone being strong does not help",
                self.end(*event, explanation),
                self.end(*other, explanation)
            ),
            Reason::MixedSize { earlier, later } => format!(
                "the accesses have {} and {} bytes: accesses of different size are never atomic to each other, and the \
                 memory model promises nothing about a program that has such a race",
                self.width(*earlier),
                self.width(*later)
            ),
            Reason::MissingProxyFence { event, proxy, elsewhere, .. } => {
                let end = self.end(*event, explanation);
                let elsewhere = elsewhere.map_or_else(String::new, |fence| {
                    format!(", and {} of {} is in another one", self.quoted(fence), self.thread(fence))
                });
                format!(
                    "(1) comes before (2), but {end} goes through the {proxy} proxy, and no `fence.proxy.{proxy}` lies \
                     between them in the CTA of {end}{elsewhere}"
                )
            }
            Reason::Spa(reason) => self.spa_reason(*reason),
            Reason::TensorOrder { earlier, later, missing, known } => {
                self.tensor_order(*earlier, *later, *missing, *known)
            }
            Reason::NotCompleted { event, other, known } => self.not_completed(*event, *other, *known, explanation),
            Reason::MatrixFenceTooEarly { access, issue, fence, .. } => self.fence_too_early(*access, *issue, *fence),
            Reason::NotCarried { operation, access } => format!(
                "the only way between the two leads through {} (started by {}): whoever waits for it knows that its own \
                 accesses are over, and nothing of what {} did before it",
                self.thread(*operation),
                self.quoted(*operation),
                self.thread(*access),
            ),
            Reason::TensormapNotPublished { write, read, is_released, is_acquired } => {
                let missing = match (is_released, is_acquired) {
                    (false, false) => "neither is there",
                    (false, true) => "the release is missing",
                    (true, false) => "the acquire is missing",
                    (true, true) => "both are there, but nothing leads from the release to the acquire, or (1) comes later",
                };
                format!(
                    "{} reads the tensor map through a proxy of its own: {} must execute \
                     `fence.proxy.tensormap::generic.release` after (1), and then the thread that starts the copy \
                     `fence.proxy.tensormap::generic.acquire` before (2): {missing}; and the map must stay as it is until \
                     the copy is done",
                    self.thread(*read),
                    self.thread(*write),
                )
            }
            Reason::ProxyFencesOutOfOrder { .. } => {
                "(1) comes before (2), and the fences of both proxies lie between them, but the fence of the proxy of (1) \
                 must come first, then `fence.proxy.alias` if the addresses differ, then the fence of the proxy of (2)"
                    .to_owned()
            }
            Reason::Overlapping { .. } => self.overlapping(reason),
            Reason::DifferentProxies { earlier, later } => format!(
                "(1) goes through the {} proxy and (2) through the {} proxy: accesses synchronize with and exclude each \
                 other only within one proxy",
                self.proxy(*earlier),
                self.proxy(*later)
            ),
            Reason::StrongAliases { earlier, later } => format!(
                "both are strong, but {}: such accesses never synchronize with or exclude each other, and \
                 `fence.proxy.alias` only helps where something else orders them",
                self.aliases(*earlier, *later)
            ),
            Reason::AliasWithoutFence { earlier, later } => format!(
                "(1) comes before (2), but {}, and no `fence.proxy.alias` lies between them",
                self.aliases(*earlier, *later)
            ),
        }
    }

    /// Why nothing orders a grid with one that may overlap with it.
    fn overlapping(&self, reason: &Reason) -> String {
        let Reason::Overlapping { first, second, wait, trigger, through } = reason else {
            return String::new();
        };
        let name = |grid: Option<GridId>| {
            grid.and_then(|grid| self.graph().hierarchy.grids()[grid].name.clone()).unwrap_or_default()
        };
        let (before, after) = (name(self.grid(*first)), name(self.grid(*second)));
        if let Some(through) = through {
            let through = name(Some(*through));
            return format!(
                "{through} is launched with programmatic serialization after {before} and does not wait for it, so that \
                 {through} has ended says nothing of {before}: {after}, which comes after {through}, may run beside \
                 {before}; let {through} execute `griddepcontrol.wait`"
            );
        }
        let start = match trigger.and_then(|trigger| self.span(trigger)) {
            Some(span) => format!(
                "once every CTA of {before} has executed `griddepcontrol.launch_dependents` ({}), which releases nothing",
                self.line(span)
            ),
            None => format!("before the memory operations of {before} are known to be done"),
        };
        let missing = match wait {
            Some(wait) if self.thread(*wait) == self.thread(*second) => {
                format!("that of {} comes only after (2)", self.thread(*wait))
            }
            Some(wait) => format!(
                "{} executes none before (2): that of {} is known only to threads that synchronize with it",
                self.thread(*second),
                self.thread(*wait)
            ),
            None => format!("no thread of {after} executes it"),
        };
        format!(
            "{after} is launched with programmatic serialization after {before}, so it may start {start}; only \
             `griddepcontrol.wait` waits for the end of {before}, and {missing}"
        )
    }

    fn grid(&self, event: EventId) -> Option<GridId> {
        self.graph().events[event].agent.map(|agent| self.graph().hierarchy.grid_of(agent))
    }

    fn proxy(&self, event: EventId) -> Proxy {
        self.graph().events[event].kind.access().map_or(Proxy::Generic, |access| access.proxy)
    }

    /// What a release must cover: an access of the thread, or all that came to it through another thread.
    fn released(&self, event: EventId, explanation: &Explanation) -> String {
        match &self.graph().events[event].kind {
            EventKind::BarrierWait
            | EventKind::ClusterWait
            | EventKind::AsyncWait
            | EventKind::Grid(GridEvent::Wait | GridEvent::Synchronize)
            | EventKind::Mbarrier(MbarrierEvent { role: MbarrierRole::Wait, .. }) => {
                format!("what came to that thread through {}", self.quoted(event))
            }
            EventKind::Init(_)
            | EventKind::CtaStart(_)
            | EventKind::CtaExit(_)
            | EventKind::Grid(_)
            | EventKind::Read(_)
            | EventKind::Write(_)
            | EventKind::Fence { .. }
            | EventKind::ProxyFence(_)
            | EventKind::AsyncFence(_)
            | EventKind::MatrixFence
            | EventKind::Cancel(_)
            | EventKind::Tensor(_)
            | EventKind::Spa(_)
            | EventKind::Issue { .. }
            | EventKind::RestrictedFence(_)
            | EventKind::ClusterArrive { .. }
            | EventKind::Mbarrier(_)
            | EventKind::BarrierArrive => self.end(event, explanation),
        }
    }

    fn named(&self, event: EventId, explanation: &Explanation) -> String {
        match explanation.subject {
            Subject::Race { earlier, later } if event == earlier || event == later => {
                format!("{} `{}`", self.end(event, explanation), self.instruction(event))
            }
            _ => self.quoted(event),
        }
    }

    fn nearby(&self, nearby: Nearby, late: &str, early: &str) -> String {
        let fence = self.quoted(nearby.event());
        match nearby {
            Nearby::TooLate(_) => format!("; {fence} comes after {late}"),
            Nearby::TooEarly(_) => format!("; {fence} comes before {early}"),
            Nearby::OtherThread(event) => {
                format!(
                    "; {fence} is executed by {}, and a fence covers only later writes of its own thread",
                    self.thread(event)
                )
            }
        }
    }

    fn width(&self, event: EventId) -> u32 {
        self.graph().events[event].kind.access().map_or(0, |access| access.width_bytes)
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

    /// The help line of a repair that an earlier finding has told already.
    pub fn repair_again(&self, repair: &Repair) -> String {
        let sites = repair.changes.iter().map(|change| change.site);
        let sites = sites.chain(repair.insertion.iter().map(|insertion| insertion.site));
        let lines: Vec<String> = sites.map(|site| self.line(self.graph().sites[site].span)).collect();
        format!("the change to {} that is given above mends this too", lines.join(" and "))
    }

    /// The help line of a checked repair.
    pub fn repair(&self, repair: &Repair) -> String {
        let changes: Vec<String> = repair
            .changes
            .iter()
            .map(|change| {
                let span = self.graph().sites[change.site].span;
                format!("`{}` on {} into `{}`", change.before, self.line(span), change.after)
            })
            .collect();
        let added = repair.insertion.as_ref().map(|insertion| {
            let place = if insertion.is_after { "after" } else { "before" };
            let site = &self.graph().sites[insertion.site];
            format!("add `{}` right {place} `{}` on {}", insertion.text, site.text, self.line(site.span))
        });
        let todo = added.unwrap_or_else(|| format!("change {}", changes.join(" and ")));
        let assertions =
            if repair.checked.contains(&Property::Assert) { " and no failed assertion" } else { "" };
        let bound = if repair.within_bound { " within the loop bound" } else { "" };
        let caveat = if repair.only_strengthens_ends {
            "; it only makes these accesses strong: a read-modify-write needs `atom` or `red`"
        } else {
            ""
        };
        let race =
            if self.graph().hierarchy.launch().spa.is_some() { "nothing out of order" } else { "no race" };
        format!("{todo} (checked: with this change {race}{assertions} is left{bound}{caveat})")
    }
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
    use super::{element, number};
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
    fn large_numbers_show_their_bits() {
        assert_eq!(number(12), "12");
        assert_eq!(number(0x1_0000), "65536 (0x10000)");
    }
}
