//! Words for a hand-over that does not happen: phases that others complete, a way back that nobody gives, lost updates.

use super::wording::{Words, number};
use crate::event::{EventId, EventKind};
use crate::explain::near::crossing::is_total;
use crate::explain::reason::{Side, Stored};
use crate::explain::{Explanation, Reason, Subject};
use fencepost_dsl::vocabulary::Sem;

impl Words<'_> {
    /// Why threads that do hand over are in no order all the same.
    pub(super) fn handed_over(&self, reason: &Reason, explanation: &Explanation) -> String {
        match reason {
            Reason::NoWayBack { read, write, first, late } => {
                let (reader, writer) = (self.thread(*read), self.thread(*write));
                let back = match late {
                    Some((signal, look)) => format!(
                        "{reader} signals afterwards, at {}, but {writer} last looked before that, at {}",
                        self.numbered(*signal),
                        self.numbered(*look)
                    ),
                    None => format!("{reader} signals nothing afterwards that {writer} waits for"),
                };
                format!(
                    "{} reads what {writer} wrote before ({}), which was handed over; but nothing tells {writer} that it has \
                     been read before {}: {back}",
                    self.end(*read, explanation),
                    self.numbered(*first),
                    self.end(*write, explanation),
                )
            }
            Reason::NotSeen { access, other, signal, look, earlier: Some(earlier), .. } => format!(
                "{}: the one behind it, at {}, stores the same, so nothing tells one from the other",
                self.let_through((*access, *other), *look, &self.numbered(*earlier), explanation),
                self.in_round(*signal),
            ),
            Reason::NotSeen { access, other, signal, look, is_there, earlier: None } => {
                let (from, to, by) = (self.thread(*access), self.thread(*other), self.thread(*look));
                let looks = match *is_there {
                    true if by == to => {
                        format!("{to} last looks there before that, at {}", self.numbered(*look))
                    }
                    true => format!(
                        "{by}, by whom {to} gets there, last looks before that, at {}",
                        self.numbered(*look)
                    ),
                    false => format!("{to} looks at another element only, at {}", self.numbered(*look)),
                };
                format!(
                    "nothing leads from one to the other: after {} {from} signals at {}, but before {} {looks}",
                    self.end(*access, explanation),
                    self.numbered(*signal),
                    self.end(*other, explanation),
                )
            }
            Reason::TooSoon { access, other, signal, look, before: Some(before) } => format!(
                "{}: {} had seen that one already, at {}, and nothing tells the next one from it",
                self.let_through((*access, *other), *look, &self.in_round(*signal), explanation),
                self.thread(*other),
                self.in_round(*before),
            ),
            Reason::TooSoon { access, other, signal, look, before: None } => format!(
                "{to} sees a signal of {from} before {}, at {}, but that was given before {}, at {}: a signal hands over what \
                 comes before it, and nothing that comes after it",
                self.end(*other, explanation),
                self.in_round(*look),
                self.end(*access, explanation),
                self.in_round(*signal),
                from = self.thread(*access),
                to = self.thread(*other),
            ),
            Reason::BothTook { loads, stores } => self.both_took(*loads, *stores),
            Reason::NotPassedOn { access, relay, is_signal: true } => format!(
                "{} of {} comes before (2), but nothing leads from {} after (1) to it: a signal is for what its own thread \
                 did before it, and for what that thread has met before, at a barrier for instance",
                self.numbered(*relay),
                self.thread(*relay),
                self.thread(*access)
            ),
            Reason::NotPassedOn { access, relay, is_signal: false } => format!(
                "{} of {} comes after (1), but nothing leads from it to {} before (2): what one thread has waited for, \
                 others know only once they have met it, at a barrier for instance",
                self.numbered(*relay),
                self.thread(*relay),
                self.thread(*access)
            ),
            Reason::CompletedByOthers { object, wait, arrival, passed, went, by } => format!(
                "{} passes phase {passed} of {}, counted from 0, which was completed by {}; the arrival of {} that comes \
                 after what it should wait for, {}, went into phase {went}",
                self.numbered(*wait),
                self.graph().mbarriers[*object].name,
                self.agents(by),
                self.thread(*arrival),
                self.numbered(*arrival)
            ),
            Reason::OtherGeneration { access, other, arrival, wait, is_there, by } => self.other_generation(
                (self.end(*access, explanation), self.end(*other, explanation)),
                (*arrival, *wait),
                *is_there,
                by,
            ),
            Reason::Circle { taken } => {
                let each = taken.iter().map(|taken| {
                    let (who, by) = (self.agent(taken.waits), self.agent(taken.by));
                    let object = self.object_instance(taken.write).unwrap_or_default();
                    format!("{who} waits for {object}, which {by} took at {}", self.in_round(taken.write))
                });
                let each: Vec<String> = each.collect();
                format!(
                    "{}: nobody in this circle can go on; who needs several of them takes them in one order, the same in every \
                     thread",
                    each.join("; ")
                )
            }
            Reason::SamePhaseAgain { object, wait, before, passed } => format!(
                "{} does not wait: it passes phase {passed} of {}, counted from 0, which {} had waited for before, at {}; \
                 a parity must change with every phase that a thread waits for",
                self.numbered(*wait),
                self.graph().mbarriers[*object].name,
                self.thread(*wait),
                self.numbered(*before)
            ),
            Reason::PassedAtOnce { object, wait } => format!(
                "{} of {} does not wait: {} has completed no phase yet, and its parity is that of the phase before the \
                 first; the first phase has parity 0",
                self.numbered(*wait),
                self.thread(*wait),
                self.graph().mbarriers[*object].name
            ),
            Reason::NobodyHasWaited { object, phase, arrival, wait, is_done } => {
                let (name, from) = (&self.graph().mbarriers[*object].name, self.thread(*arrival));
                let next = phase + 1;
                match wait {
                    Some(wait) if *is_done => format!(
                        "{} waits for phase {phase} of {name}, counted from 0, at {}, but nothing tells {from} so before it \
                         arrives for phase {next}: who waits must signal back, at an `empty` mbarrier for instance",
                        self.thread(*wait),
                        self.in_round(*wait)
                    ),
                    Some(wait) => format!(
                        "when {from} arrives for phase {next} of {name}, counted from 0, nobody has come to a wait for phase \
                         {phase} yet, as there is one at {}; a wait by parity takes a phase that went by unseen for another \
                         one",
                        self.quoted(*wait)
                    ),
                    None => format!("no thread waits for {name} at all"),
                }
            }
            Reason::WaitsAlone { access, wait } => format!(
                "{} waits at {}, but {} does not, and passes no barrier after that wait before {}",
                self.thread(*wait),
                self.quoted(*wait),
                self.thread(*access),
                self.end(*access, explanation)
            ),
            Reason::WentAhead { wait, signal } => format!(
                "{} is through the same wait and goes on to {} before {} has looked: nothing has the two meet in between",
                self.thread(*signal),
                self.numbered(*signal),
                self.thread(*wait)
            ),
            Reason::LostUpdate { write, read, lost, stored } => {
                self.lost_update([*write, *read, *lost], *stored)
            }
            Reason::Overwritten { write, lost } => format!(
                "{} stores into {} at {}; that wipes out what {} has put there at {}, before anybody has read it",
                self.thread(*write),
                self.object_instance(*write).unwrap_or_default(),
                self.numbered(*write),
                self.thread(*lost),
                self.numbered(*lost)
            ),
            Reason::NeitherSees { sides } => self.neither_sees(sides),
            _ => String::new(),
        }
    }

    /// A write that overwrites what another thread has put there since its own thread last read there.
    fn lost_update(&self, [write, read, lost]: [EventId; 3], stored: Stored) -> String {
        let name = self.object_instance(write).unwrap_or_default();
        let (does, instead) = match stored {
            Stored::MadeOfRead => {
                return format!(
                    "what {} stores at {} is made from what it loaded before, at {}, and overwrites what {} stored in between \
                     at {}: that update is lost",
                    self.thread(write),
                    self.numbered(write),
                    self.in_round(read),
                    self.thread(lost),
                    self.numbered(lost)
                );
            }
            Stored::Initial => (
                format!("sets {name} back"),
                "set it back before anybody is let on, or take away what was seen with an atomic",
            ),
            Stored::Other => (format!("stores into {name}"), "look and store with one atomic"),
        };
        format!(
            "{} {does} at {}, and erases what {} has put there since it last looked, at {}: {}, is lost; {instead}",
            self.thread(write),
            self.numbered(write),
            self.thread(lost),
            self.in_round(read),
            self.numbered(lost)
        )
    }

    /// Two threads that took the same, in two steps each.
    fn both_took(&self, loads: [EventId; 2], stores: [EventId; 2]) -> String {
        let graph = self.graph();
        let loaded =
            graph.events[loads[0]].kind.access().map(|access| number(self.witness.values[access.value]));
        let loaded = loaded.unwrap_or_default();
        let is_same = |[a, b]: [EventId; 2]| self.quoted(a) == self.quoted(b);
        let who = loads.map(|load| self.thread(load));
        let what = if is_same(loads) && is_same(stores) {
            format!(
                "{} and {} both load {loaded} at {} and then store there at {}",
                who[0],
                who[1],
                self.quoted(loads[0]),
                self.quoted(stores[0])
            )
        } else {
            let each = |i: usize| {
                format!("{} at {} and then at {}", who[i], self.in_round(loads[i]), self.numbered(stores[i]))
            };
            format!("both threads load {loaded} and then store there, {}, {}", each(0), each(1))
        };
        format!(
            "{what}: a load and a store are two steps, and between them another thread can load the same value; where only one \
             thread may have it, load and store with one `atom`"
        )
    }

    /// What it means that the scope of one operation does not hold the thread of another one.
    pub(super) fn apart(&self, event: EventId, other: EventId, explanation: &Explanation) -> String {
        let is_race = matches!(explanation.subject, Subject::Race { earlier, later }
            if [(earlier, later), (later, earlier)].contains(&(event, other)));
        let is_relaxed = |event: EventId| {
            self.graph().events[event].kind.access().is_some_and(|access| access.sem == Sem::Relaxed)
        };
        if is_race && is_relaxed(event) && is_relaxed(other) {
            return "the two are not morally strong, and race as weak accesses would".to_owned();
        }
        format!("it does not synchronize with {}", self.named(other, explanation))
    }

    /// Store buffering, and what each side lacks.
    fn neither_sees(&self, sides: &[Side; 2]) -> String {
        let [first, second] = sides;
        let does = |side: &Side| {
            format!(
                "{} stores at {} and then loads at {}",
                self.thread(side.store),
                self.in_round(side.store),
                self.in_round(side.load)
            )
        };
        let lacks = |side: &Side, other: &Side| match side.fence {
            _ if side.is_fenced(self.graph(), other) => None,
            None => Some(format!("{} has no fence between the two", self.thread(side.store))),
            Some(fence) => {
                let flaw = if is_total(self.graph(), fence) {
                    format!("does not hold {} in its scope", self.thread(other.store))
                } else {
                    "is no `fence.sc`".to_owned()
                };
                Some(format!("{} of {} {flaw}", self.quoted(fence), self.thread(side.store)))
            }
        };
        let lacks: Vec<String> = [lacks(first, second), lacks(second, first)].into_iter().flatten().collect();
        format!(
            "{}; {}; neither load sees the other thread's store. Releases and acquires allow that; only a `fence.sc` between \
             store and load on both sides forbids it: {}",
            does(first),
            does(second),
            lacks.join(", and ")
        )
    }

    /// Where two threads meet, though not between what they do.
    pub(super) fn met(&self, met: (Option<EventId>, Option<EventId>)) -> String {
        match met {
            (None, None) => String::new(),
            (Some(before), None) => {
                format!("; they last meet at {}, before both, and not again", self.numbered(before))
            }
            (None, Some(after)) => {
                format!("; they first meet at {}, after both", self.numbered(after))
            }
            (Some(before), Some(after)) => format!(
                "; they meet at {}, before both, and at {}, after both, and not in between",
                self.numbered(before),
                self.numbered(after)
            ),
        }
    }

    /// An instruction with its line and the iteration it is of.
    fn other_generation(
        &self,
        (after, before): (String, String),
        (arrival, wait): (EventId, EventId),
        is_there: bool,
        by: &[u32],
    ) -> String {
        let graph = self.graph();
        let name = |event: EventId| graph.meetings.get(&event).map_or("a barrier", |meeting| &*meeting.name);
        let (from, to) = (self.thread(arrival), self.thread(wait));
        let by = match by {
            [only] => format!("warp {only} alone"),
            [init @ .., last] => {
                let init: Vec<String> = init.iter().map(u32::to_string).collect();
                format!("warps {} and {last}", init.join(", "))
            }
            [] => "nobody".to_owned(),
        };
        let (barrier, arrives) = (name(wait), self.in_round(arrival));
        let passes = self.in_round(wait);
        if is_there {
            format!(
                "the generation of {barrier} that {to} passes before {before}, at {passes}, was made up by {by}; the arrival \
                 of {from} after {after}, at {arrives}, went into another one"
            )
        } else {
            format!(
                "after {after} {from} goes to {}, at {arrives}, but before {before} {to} comes from {barrier}, at {passes}, \
                 whose generation {by} made up",
                name(arrival)
            )
        }
    }

    /// A wait before the second of two accesses, and the signal before the first one that ends it.
    fn let_through(
        &self,
        (access, other): (EventId, EventId),
        look: EventId,
        signal: &str,
        explanation: &Explanation,
    ) -> String {
        format!(
            "{to} waits for a signal of {from} before {}, at {}, and is let through by one that {from} gave before {}, at {signal}",
            self.end(other, explanation),
            self.in_round(look),
            self.end(access, explanation),
            from = self.thread(access),
            to = self.thread(look),
        )
    }

    fn in_round(&self, event: EventId) -> String {
        format!("{}{}", self.quoted(event), Self::iterations(&self.graph().events[event].iterations))
    }

    /// The same; of a write, with its value.
    fn numbered(&self, event: EventId) -> String {
        let value = match &self.graph().events[event].kind {
            EventKind::Write(access) => {
                format!(", storing {}", number(self.witness.values[access.value]))
            }
            _ => String::new(),
        };
        format!("{}{value}", self.in_round(event))
    }
}
