//! Words for broken rules: those of the row, with the facts in their places; and why a rule is broken, by what
//! happened.

use super::wording::{Words, filled};
use crate::event::{AgentId, EventId, Fact, MbarrierId, Misuse};
use crate::explain::misuse::Facts;
use crate::findings::Why;
use fencepost_dsl::Span;
use fencepost_dsl::kernel::program::Coordinate;

/// More places than these are counted, not listed.
const LISTED_MAX: usize = 5;

impl Words<'_> {
    /// What a thread does that breaks a rule, to follow its name.
    pub(super) fn misused(&self, misuse: &Misuse) -> String {
        self.with_facts(misuse.kind.what, misuse)
    }

    fn with_facts(&self, text: &str, misuse: &Misuse) -> String {
        filled(text, |place| {
            let fact = misuse.facts.iter().find(|(own, _)| *own == place);
            fact.map_or_else(|| format!("{{{place}}}"), |(_, fact)| self.fact(fact))
        })
    }

    fn fact(&self, fact: &Fact) -> String {
        let number = |agent| self.graph().hierarchy.coordinate(agent, Coordinate::Tid);
        match fact {
            Fact::Mbarrier(object) => self.mbarrier(*object),
            Fact::Number(number) => number.to_string(),
            Fact::Mask(mask) => format!("{mask:#x}"),
            Fact::Lanes(1, lane) => format!("tid {} of its warp goes past it", number(*lane)),
            Fact::Lanes(n, lane) => {
                format!("{n} lanes of its warp (such as tid {}) may go past it", number(*lane))
            }
            Fact::Name(name) => name.clone(),
        }
    }

    /// Why it breaks a rule: what happened before, or what the values of the instruction say.
    pub(super) fn why_misused(&self, agent: AgentId, misuse: &Misuse, facts: Option<&Facts>) -> String {
        let who = self.agent(agent);
        match (misuse.kind.why, facts) {
            (Why::Values(text), _) => self.with_facts(text, misuse),
            (_, None) => format!("{who} comes to it in this execution"),
            (_, Some(facts)) => match facts {
                Facts::Phase { object, init, number, expected, others, own } => {
                    let completes = misuse.kind == &crate::findings::mbarrier::COMPLETING_NO_COMPLETE;
                    self.in_phase((*object, *init), (*number, *expected), (others, *own), completes)
                }
                Facts::Completed { .. } => self.completed_before(facts).unwrap_or_default(),
                Facts::Bytes { object, number, counted } => self.bytes(*object, *number, counted),
                Facts::NotInitialised { object, skipped } => self.not_initialised(*object, skipped),
                Facts::Initialised { object, init, inval } => self.initialised(*object, *init, *inval),
                Facts::Drops { object, init, expected, drops } => {
                    let n_drops: u32 = drops.iter().map(|(_, count)| count).sum();
                    let events: Vec<EventId> = drops.iter().map(|(event, _)| *event).collect();
                    format!(
                        "{}, and each `arrive_drop` lowers that for all phases after its own: {n_drops} {} dropped \
                         out here, {}, so the next phase expects nobody and could never complete",
                        self.expects(*object, *init, *expected),
                        if n_drops == 1 { "has" } else { "have" },
                        self.list_of(&events),
                    )
                }
                Facts::State { arrive, of, is_none, phases } => {
                    self.state(&who, *arrive, *of, (*is_none, *phases))
                }
                Facts::Overtaken { object, complete } => self.overtaken(*object, complete),
                Facts::Generation { name, before, number, others, missing } => {
                    self.generation(&who, (name, *before, *number), others, missing)
                }
                Facts::ClusterWait { arrival, wait, skipped, others } => {
                    self.cluster_wait(&who, (*arrival, *wait), *skipped, others)
                }
                Facts::OtherForm { other, name } => format!(
                    "{} comes to {name} with {}; all that meet there make up one generation",
                    self.thread(*other),
                    self.written(*other)
                ),
                Facts::Lanes { common, lane, next } => self.lanes(&who, *common, *lane, *next),
                Facts::Columns { allocated, freed, skipped } => self.columns(allocated, freed, *skipped),
                Facts::Registers { last, at_launch } => match (last, at_launch) {
                    (Some(last), _) if misuse.kind == &crate::findings::asynchronous::REGISTERS_AGAIN => {
                        format!(
                            "{who} has executed {} before, and has got through no barrier of its warpgroup since",
                            self.written(*last)
                        )
                    }
                    (Some(last), _) => format!("{who} has executed {} before", self.written(*last)),
                    (None, Some(count)) => {
                        format!("the launch gives each thread {count} registers (`registers: {count}`)")
                    }
                    (None, None) => format!("{who} has executed no `setmaxnreg` before"),
                },
                Facts::MatrixFence { before, other } => self.matrix_fence(&who, *before, *other),
            },
        }
    }

    /// `` `bar.sync 1, 64` (line 7) ``: as it is written, with what it names.
    fn written(&self, event: EventId) -> String {
        let Some(span) = self.span(event) else { return self.quoted(event) };
        let text = self.case.sources.text(span).split_whitespace().collect::<Vec<_>>().join(" ");
        if text.is_empty() || text.chars().count() > 60 {
            self.quoted(event)
        } else {
            format!("`{text}` ({})", self.line(span))
        }
    }

    /// `` `full[0]` of cta 1 ``.
    pub(super) fn mbarrier(&self, object: MbarrierId) -> String {
        let name = &self.graph().mbarriers[object].name;
        format!("`{}`{}", name.stem(), name.instance())
    }

    /// `tid 0 and tid 1 (line 7) and tid 2 (line 9, iteration 1)`.
    pub(super) fn list_of(&self, events: &[EventId]) -> String {
        let mut groups: Vec<(Span, &[u32], Vec<AgentId>)> = Vec::new();
        for &event in events {
            let of = &self.graph().events[event];
            let (Some(agent), Some(span)) = (of.agent, self.span(event)) else { continue };
            match groups.iter_mut().find(|(at, rounds, _)| *at == span && *rounds == of.iterations) {
                Some((_, _, agents)) => agents.push(agent),
                None => groups.push((span, &of.iterations, vec![agent])),
            }
        }
        let n_more = groups.len().saturating_sub(LISTED_MAX);
        let mut parts: Vec<String> = groups
            .iter()
            .take(LISTED_MAX)
            .map(|(span, rounds, agents)| {
                let round = Self::round(rounds).map_or_else(String::new, |round| format!(", {round}"));
                format!("{} ({}{round})", self.agents(agents), self.line(*span))
            })
            .collect();
        if n_more > 0 {
            parts.push(format!("{n_more} more place{}", if n_more == 1 { "" } else { "s" }));
        }
        match parts.as_slice() {
            [init @ .., last] if !init.is_empty() => format!("{} and {last}", init.join(", ")),
            all => all.concat(),
        }
    }

    /// `` `bar` expects 2 arrivals per phase (`mbarrier.init`, line 9) ``.
    fn expects(&self, object: MbarrierId, init: Option<EventId>, expected: u128) -> String {
        let s = if expected == 1 { "" } else { "s" };
        let place = init.and_then(|init| self.span(init));
        let place = place.map_or_else(String::new, |span| format!(" (`mbarrier.init`, {})", self.line(span)));
        format!("{} expects {expected} arrival{s} per phase{place}", self.mbarrier(object))
    }

    fn in_phase(
        &self,
        (object, init): (MbarrierId, Option<EventId>),
        (number, expected): (u128, u128),
        (others, own): (&[(EventId, u32)], u32),
        completes: bool,
    ) -> String {
        let n_others: u32 = others.iter().map(|(_, count)| count).sum();
        let events: Vec<EventId> = others.iter().map(|(event, _)| *event).collect();
        let expects = self.expects(object, init, expected);
        let has = match n_others {
            0 => format!("in phase {number}, counted from 0, nobody else has arrived"),
            n => format!("phase {number}, counted from 0, already has {n}: {}", self.list_of(&events)),
        };
        let total = u128::from(n_others) + u128::from(own);
        let times = if own == 1 { String::new() } else { format!(", which counts {own} times,") };
        let end = if completes {
            format!("this one{times} completes it, and `.noComplete` promises that it does not")
        } else if own == 1 {
            format!("this is number {total}")
        } else {
            format!("with this one{times} it would have {total}")
        };
        format!("{expects}; {has}; {end}")
    }

    /// Who completed the phase before that of an arrival.
    pub(super) fn completed_before(&self, facts: &Facts) -> Option<String> {
        let Facts::Completed { object, init, number, expected, by } = facts else { return None };
        Some(format!(
            "{}; phase {number}, counted from 0, was completed by {}, so this one counts for phase {}",
            self.expects(*object, *init, *expected),
            self.list_of(by),
            number + 1
        ))
    }

    fn bytes(&self, object: MbarrierId, number: u128, counted: &[(EventId, i64)]) -> String {
        let parts: Vec<String> = counted
            .iter()
            .take(LISTED_MAX)
            .map(|(event, bytes)| {
                let what = if *bytes < 0 { "delivered" } else { "announced" };
                format!("{} {what} by {}", bytes.unsigned_abs(), self.list_of(&[*event]))
            })
            .collect();
        format!(
            "in phase {number} of {}, counted from 0, bytes are {}",
            self.mbarrier(object),
            parts.join(", ")
        )
    }

    fn not_initialised(&self, object: MbarrierId, skipped: &[EventId]) -> String {
        let name = self.mbarrier(object);
        if skipped.is_empty() {
            return format!("no thread comes to an `mbarrier.init` of {name}");
        }
        let of_init = if skipped.len() == 1 { "the only one" } else { "each one" };
        format!(
            "nobody executes an `mbarrier.init` of {name} here: {of_init} is skipped, by {}",
            self.list_of(skipped)
        )
    }

    fn initialised(&self, object: MbarrierId, init: EventId, inval: Option<EventId>) -> String {
        let done = format!("{} has been initialised by {}", self.mbarrier(object), self.list_of(&[init]));
        match inval {
            None => format!("{done}, and no `mbarrier.inval` ends it"),
            Some(inval) => format!(
                "{done}, and the `mbarrier.inval` by {} does not end it before this",
                self.list_of(&[inval])
            ),
        }
    }

    fn state(
        &self,
        who: &str,
        arrive: Option<EventId>,
        of: Option<MbarrierId>,
        (is_none, phases): (bool, Option<(u128, u128)>),
    ) -> String {
        match (arrive, of, phases) {
            (Some(arrive), _, Some((at, now))) => format!(
                "{who} arrived in phase {at}, counted from 0 ({}), and phase {now} is under way when it waits: a state \
                 tells the last phase from the present one, no more",
                self.span(arrive).map_or_else(String::new, |span| self.line(span)),
            ),
            (_, _, _) if is_none => {
                "the state is 0, which no arrive returns: the variable still has what it was set to"
                    .to_owned()
            }
            (Some(arrive), Some(of), None) => {
                format!("the state is one of {}, returned by {}", self.mbarrier(of), self.written(arrive))
            }
            (None, Some(of), None) => format!("the state is one of {}", self.mbarrier(of)),
            (Some(arrive), None, None) => {
                format!("the last arrive of {who} before is {}", self.written(arrive))
            }
            (None, ..) => format!("{who} has not arrived before"),
        }
    }

    fn overtaken(&self, object: MbarrierId, complete: &[(u128, Vec<EventId>)]) -> String {
        let parts: Vec<String> = complete
            .iter()
            .take(LISTED_MAX)
            .map(|(number, arrivals)| format!("phase {number} by {}", self.list_of(arrivals)))
            .collect();
        let n_more = complete.len().saturating_sub(LISTED_MAX);
        let more = if n_more == 0 { String::new() } else { format!(", and {n_more} more") };
        format!(
            "when it is let through, {} phases of {} from that one on are complete, counted from 0: {}{more}; a parity only \
             tells odd phases from even ones",
            complete.len(),
            self.mbarrier(object),
            parts.join(", ")
        )
    }

    fn generation(
        &self,
        who: &str,
        (name, before, number): (&str, EventId, u128),
        others: &[EventId],
        missing: &[AgentId],
    ) -> String {
        let place = self.span(before).map_or_else(String::new, |span| self.line(span));
        let round = Self::round(&self.graph().events[before].iterations);
        let round = round.map_or_else(String::new, |round| format!(", {round}"));
        let first = format!("{who} has arrived at {name} before ({place}{round}) and has not waited since");
        let rest = match (others, missing) {
            ([], []) => format!("nobody else has arrived in that generation, number {number} counted from 0"),
            ([], missing) => format!("{} need not have arrived", self.agents(missing)),
            (others, _) => format!(
                "that generation also takes the arrivals of {}, and nothing that {who} gets through in between says that \
                 they are there",
                self.list_of(others)
            ),
        };
        format!("{first}; {rest}")
    }

    fn cluster_wait(
        &self,
        who: &str,
        (arrival, wait): (Option<EventId>, Option<EventId>),
        skipped: Option<EventId>,
        others: &[EventId],
    ) -> String {
        let line = |event: EventId| self.span(event).map_or_else(String::new, |span| self.line(span));
        let skips = skipped.map_or_else(String::new, |event| {
            format!("; it does not come to the `barrier.cluster.arrive` on {}", line(event))
        });
        match (arrival, wait) {
            (Some(arrival), Some(wait)) => format!(
                "an arrival counts for one wait: that of {who} on {} was for its wait on {}{skips}",
                line(arrival),
                line(wait)
            ),
            _ if skips.is_empty() && others.is_empty() => {
                format!("{who} executes no `barrier.cluster.arrive` before it")
            }
            _ if skips.is_empty() => format!(
                "{who} executes no `barrier.cluster.arrive` before it, as {} does",
                self.list_of(others)
            ),
            _ => format!("{who} has not arrived{skips}"),
        }
    }

    fn lanes(&self, who: &str, common: Option<EventId>, lane: AgentId, next: Option<EventId>) -> String {
        let other = self.agent(lane);
        let from = match common {
            Some(common) => format!("after {}, which both execute, {who} comes to it", self.written(common)),
            None => format!("{who} and {other} part at a branch before anything that both execute"),
        };
        match next {
            Some(next) => format!("{from}, and {other} goes on to {}", self.written(next)),
            None => format!("{from}, and nothing is left for {other} to execute"),
        }
    }

    fn columns(&self, allocated: &[EventId], freed: &[EventId], skipped: Option<EventId>) -> String {
        let skips = skipped.map_or_else(String::new, |event| {
            format!("; the `tcgen05.dealloc` by {} is not come to", self.list_of(&[event]))
        });
        let given = if freed.is_empty() {
            "nothing is deallocated".to_owned()
        } else {
            format!("deallocated by {}", self.list_of(freed))
        };
        format!(
            "until every thread of the CTA has ended, columns are allocated by {}, and {given}{skips}",
            self.list_of(allocated)
        )
    }

    fn matrix_fence(&self, who: &str, before: Option<EventId>, other: Option<EventId>) -> String {
        let place = |event: EventId| self.written(event);
        match (before, other) {
            (Some(before), _) => {
                format!("the last `wgmma.fence` of {who}, {}, comes before both", place(before))
            }
            (None, Some(other)) => {
                format!("the `wgmma.fence` of {who}, {}, comes later or is not come to", place(other))
            }
            (None, None) => format!("{who} executes no `wgmma.fence` at all"),
        }
    }
}
