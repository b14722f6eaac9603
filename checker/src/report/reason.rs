//! Sentences that say why: one for each reason, value read and open question of a finding.

use super::wording::{Words, number};
use crate::event::{EventId, GridId, SiteId, UnknownKind};
use crate::explain::elsewhere::{Elsewhere, Judgement, Whole};
use crate::explain::roles::Role;
use crate::explain::{Explanation, Nearby, ReadFact, Reason, Released, Says, Subject};
use fencepost_dsl::cat::memory_model::Variant;
use fencepost_dsl::vocabulary::{Proxy, Sem};
use indexmap::IndexSet;

impl Words<'_> {
    /// Why, one sentence per reason.
    pub fn reasons(&self, explanation: &Explanation) -> Vec<String> {
        let circle = explanation.reasons.iter().find_map(|reason| match reason {
            Reason::Circle { taken } => Some(taken.as_slice()),
            _ => None,
        });
        let circle = circle.unwrap_or_default();
        let mut sentences = match &explanation.subject {
            Subject::Deadlock { roles, absent } => {
                // Of threads in a circle that is all there is to say.
                let is_told =
                    |role: &&Role| role.agents.iter().all(|agent| circle.iter().any(|t| t.waits == *agent));
                let roles: Vec<Role> = roles.iter().filter(|role| !is_told(role)).cloned().collect();
                let mut sentences = self.all_blocked(&roles, !absent.is_empty());
                sentences.extend(self.absence(absent));
                sentences
            }
            Subject::Lifetime { access, owner, ended, .. } => vec![self.why_outside(*access, *owner, *ended)],
            Subject::Misuse { agent, misuse, .. } => {
                vec![self.why_misused(*agent, misuse, explanation.facts.as_ref())]
            }
            Subject::Flag { .. } => {
                explanation.facts.iter().filter_map(|facts| self.completed_before(facts)).collect()
            }
            _ => Vec::new(),
        };
        let is_told = |fact: &&ReadFact| circle.iter().any(|taken| taken.write == fact.read);
        sentences.extend(explanation.reads.iter().filter(|fact| !is_told(fact)).map(|fact| self.read(fact)));
        sentences.extend(explanation.reasons.iter().map(|reason| self.reason(reason, explanation)));
        let who = if self.graph().hierarchy.launch().spa.is_some() { "the document" } else { "PTX" };
        sentences.extend(explanation.readings.iter().map(|reading| {
            let Variant { name, rule, what, .. } = &reading.variant;
            let says = match reading.says {
                Says::Ordered => "the two are ordered here",
                Says::Excluded => "this execution is none",
            };
            format!(
                "{who} leaves it open ({rule}) whether {what}; with `--variant {name}`, under which it does, {says}"
            )
        }));
        let of_uncomputed = explanation.uncomputed.iter().map(|&site| self.rests_on(site));
        let is_unexplained = matches!(explanation.subject, Subject::Race { .. }) && sentences.is_empty();
        if is_unexplained {
            sentences.push(self.unordered(explanation).to_owned());
        }
        sentences.extend(of_uncomputed);
        let mut known = IndexSet::new();
        sentences.retain(|sentence| known.insert(sentence.clone()));
        sentences
    }

    /// Which published editions do not agree that it is an execution, or that it has that race; one sentence for each way.
    pub(super) fn elsewhere(explanation: &Explanation) -> Vec<String> {
        let named = |judgement: Judgement, whole: Option<Whole>| {
            let is_it = |elsewhere: &&Elsewhere| elsewhere.judgement == judgement && elsewhere.whole == whole;
            let all = explanation.elsewhere.iter().filter(is_it);
            all.map(|elsewhere| format!("`{}`", elsewhere.model)).collect::<Vec<_>>()
        };
        let mut sentences = Vec::new();
        // It rests on no reading, then: that comes first.
        let violated = named(Judgement::Forbidden, Some(Whole::Violated));
        if !violated.is_empty() {
            let s = if violated.len() == 1 { "" } else { "s" };
            sentences.push(format!(
                "violated under the published edition{s} {} as well, by another execution; this one is forbidden there \
                 (see `--model`)",
                violated.join(" and ")
            ));
        }
        for (whole, says) in [
            (Whole::Holds, "no other execution is as bad there, so it rests on how `ptx` reads the text"),
            (
                Whole::NotAsked,
                "whether another one is as bad there was not asked, for it would take too long",
            ),
        ] {
            let forbidding = named(Judgement::Forbidden, Some(whole));
            if !forbidding.is_empty() {
                let (s, it) = if forbidding.len() == 1 { ("", "s") } else { ("s", "") };
                sentences.push(format!(
                    "the published edition{s} {} forbid{it} this execution: {says} (see `--model`)",
                    forbidding.join(" and ")
                ));
            }
        }
        let without = named(Judgement::NoRace, None);
        if !without.is_empty() {
            sentences.push(format!(
                "under {} the two accesses are no race in this execution: that they are one rests on how `ptx` reads the text",
                without.join(" and ")
            ));
        }
        sentences
    }

    /// That the execution rests on the result of an instruction that nobody computes.
    fn rests_on(&self, site: SiteId) -> String {
        let site = &self.graph().sites[site];
        let operand = if site.operand.is_empty() { String::new() } else { format!(" {}", site.operand) };
        format!(
            "this execution rests on a value that Fencepost does not compute: the result of `{}{operand}` ({}), which is \
             taken to be able to be any",
            site.text,
            self.line(site.span)
        )
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
            let object = self.object_instance(fact.read).unwrap_or_default();
            if self.graph().events[fact.read].agent.is_none() {
                return format!("nothing writes {object}: it keeps {}, {value}", self.initial(fact.read));
            }
            return format!(
                "the last write of {object} is {} by {}: {value}",
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
            Subject::Flag { pair: (first, second), .. } if first != second && event == first => {
                "(1)".to_owned()
            }
            Subject::Flag { pair: (first, second), .. } if first != second && event == second => {
                "(2)".to_owned()
            }
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
                let scope = self.graph().events[*event].kind.scope()
                    .map_or_else(String::new, |scope| format!(" `.{scope}`"));
                format!(
                    "{}: {} is not in its scope{scope}, so {}; `.{needed}` or wider holds both",
                    self.named(*event, explanation),
                    self.agent(*thread),
                    self.apart(*event, *other, explanation),
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
            Reason::SinkNeverAcquires { read } => format!(
                "{} counts as a reduction, since its result goes to `_`: no fence after it makes an acquire of it",
                self.end(*read, explanation)
            ),
            Reason::ReductionNeverAcquires { read } => format!(
                "{} is a reduction: it never acquires, not even with a fence after it",
                self.end(*read, explanation)
            ),
            Reason::NothingObserved { earlier, later, met } => {
                let (before, after) = (self.grid(*earlier), self.grid(*later));
                let launches = if before == after {
                    ""
                } else {
                    ", nor do launches, events or `synchronize` put the one after the other"
                };
                format!(
                    "no signal read and no barrier passed leads from {} after (1) to {} before (2), or back{launches}{}",
                    self.thread(*earlier),
                    self.thread(*later),
                    self.met(*met)
                )
            }
            Reason::NoWayBack { .. }
            | Reason::NotPassedOn { .. }
            | Reason::WaitsAlone { .. }
            | Reason::WentAhead { .. }
            | Reason::NotSeen { .. }
            | Reason::TooSoon { .. }
            | Reason::BothTook { .. }
            | Reason::PassedAtOnce { .. }
            | Reason::NobodyHasWaited { .. }
            | Reason::CompletedByOthers { .. }
            | Reason::OtherGeneration { .. }
            | Reason::Circle { .. }
            | Reason::SamePhaseAgain { .. }
            | Reason::NeitherSees { .. }
            | Reason::Overwritten { .. }
            | Reason::LostUpdate { .. } => self.handed_over(reason, explanation),
            Reason::WeakEnd { event, other } => format!(
                "{} is weak: only two strong accesses may meet without order, and {} alone being strong does not help",
                self.end(*event, explanation),
                self.end(*other, explanation)
            ),
            Reason::UnorderedElements { missed, read, elements: (seen, unseen), n_elements, .. } => format!(
                "{} is {n_elements} accesses in no order, one for each element: {} has seen element {seen} and not yet \
                 element {unseen}; only a strong `.b128` access of 16 bytes is one",
                self.quoted(*missed),
                self.thread(*read),
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
            Reason::NonCoherent { read, write } => format!(
                "{} is non-coherent: it reads through a cache that is not kept up to date with {}, whatever orders the two, \
                 and PTX has no fence for that cache",
                self.end(*read, explanation),
                self.end(*write, explanation)
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
        if let &Some((through, last)) = through {
            let (through, last) = (name(Some(through)), name(Some(last)));
            let since = if last == before { String::new() } else { format!(", which waits for {before},") };
            return format!(
                "{through} is launched with programmatic serialization after {last}{since} and does not wait for it, so \
                 that {through} has ended says nothing of {before}: {after}, which comes after {through}, may run beside \
                 {before}; let {through} execute `griddepcontrol.wait`"
            );
        }
        let start =
            match trigger.and_then(|(trigger, released)| Some((trigger, released, self.span(trigger)?))) {
                Some((trigger, released, span)) => format!(
                    "once every CTA of {before} has executed `griddepcontrol.launch_dependents` ({}){}",
                    self.line(span),
                    self.released_to_grid(trigger, released)
                ),
                None => format!("before the memory operations of {before} are known to be done"),
            };
        let issuer = |event: EventId| {
            self.graph().events[event].agent.map(|agent| self.graph().hierarchy.issuer(agent))
        };
        let is_operation = self.graph().is_of_operation(*second);
        let missing = match wait {
            Some(wait) if issuer(*wait) == issuer(*second) && is_operation => {
                format!("that of {} comes only after it has started the operation of (2)", self.thread(*wait))
            }
            Some(wait) if issuer(*wait) == issuer(*second) => {
                format!("that of {} comes only after (2)", self.thread(*wait))
            }
            Some(wait) => format!(
                "{} executes none before {}: that of {} is known only to threads that synchronize with it",
                issuer(*second).map_or_else(String::new, |agent| self.agent(agent)),
                if is_operation { "it starts the operation of (2)" } else { "(2)" },
                self.thread(*wait)
            ),
            None => format!("no thread of {after} executes it"),
        };
        format!(
            "{after} is launched with programmatic serialization after {before}, so it may start {start}; only \
             `griddepcontrol.wait` waits for the end of {before}, and {missing}"
        )
    }

    /// What the thread that lets a grid start has released to it.
    fn released_to_grid(&self, trigger: EventId, released: Released) -> String {
        let at = |fence: EventId| self.quoted(fence);
        let by = self.thread(trigger);
        match released {
            Released::Nothing => ", which releases nothing without a release fence before it".to_owned(),
            Released::Early => format!(", which {by} does before (1)"),
            Released::Narrow(fence) => {
                format!(
                    ", and the fence of {by} before it, {}, does not reach another grid: that takes `.gpu`",
                    at(fence)
                )
            }
            Released::Before(fence) => format!(
                "; {by} does so first in its CTA, and its fence, {}, comes before anything that tells it of (1)",
                at(fence)
            ),
            Released::Access(fence) => format!(", which {} of {by} before it makes a release", at(fence)),
        }
    }

    pub(super) fn grid(&self, event: EventId) -> Option<GridId> {
        self.graph().events[event].agent.map(|agent| self.graph().hierarchy.grid_of(agent))
    }

    fn proxy(&self, event: EventId) -> Proxy {
        self.graph().events[event].kind.access().map_or(Proxy::Generic, |access| access.proxy)
    }

    /// What a release must cover: an access of the thread, or all that came to it through another thread.
    fn released(&self, event: EventId, explanation: &Explanation) -> String {
        if self.graph().events[event].kind.is_passage() {
            format!("what came to that thread through {}", self.quoted(event))
        } else {
            self.end(event, explanation)
        }
    }

    pub(super) fn named(&self, event: EventId, explanation: &Explanation) -> String {
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
}
