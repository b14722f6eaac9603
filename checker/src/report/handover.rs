//! Words for a hand-over that does not happen: phases that others complete, a way back that nobody gives, lost updates.

use super::wording::{Words, number};
use crate::event::{EventId, EventKind};
use crate::explain::crossing::{Side, is_total};
use crate::explain::{Explanation, Reason};

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
            Reason::NotSeen { access, other, signal, look, is_there } => {
                let (from, to) = (self.thread(*access), self.thread(*other));
                let looks = if *is_there {
                    format!("last looks there before that, at {}", self.numbered(*look))
                } else {
                    format!("looks at another element only, at {}", self.numbered(*look))
                };
                format!(
                    "nothing leads from one to the other: after {} {from} signals at {}, but before {} {to} {looks}",
                    self.end(*access, explanation),
                    self.numbered(*signal),
                    self.end(*other, explanation),
                )
            }
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
            Reason::WaitsAlone { access, wait } => format!(
                "{} waits at {}, but {} does not, and passes no barrier after that wait before {}",
                self.thread(*wait),
                self.quoted(*wait),
                self.thread(*access),
                self.end(*access, explanation)
            ),
            Reason::LostUpdate { write, read, lost } => format!(
                "{} of {} is made from what {} read before, and overwrites {} by {}: that update is lost",
                self.numbered(*write),
                self.thread(*write),
                self.numbered(*read),
                self.numbered(*lost),
                self.thread(*lost)
            ),
            Reason::NeitherSees { sides } => self.neither_sees(sides),
            _ => String::new(),
        }
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
