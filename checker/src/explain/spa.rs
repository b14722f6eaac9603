//! Why a stretch of program order on an SPA machine is no order.

use crate::event::EventId;
use fencepost_dsl::vocabulary::MembarLevel;

/// Why a stretch of program order, or the load at its end, is not in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SpaReason {
    /// No `MEMBAR` between two events of a thread.
    NoMembar {
        /// What it should come after.
        after: EventId,
        /// What it should come before.
        before: EventId,
        /// The level that is needed.
        needed: MembarLevel,
        /// One of another thread on the way, which is about the accesses of that thread only.
        elsewhere: Option<EventId>,
    },
    /// There is one, and it does not reach another thread.
    LevelTooLow {
        /// The one that comes nearest.
        membar: EventId,
        /// Who is not in its pool.
        other: EventId,
        /// The level that is needed.
        needed: MembarLevel,
    },
    /// A load may find what an L1 was filled with before.
    Stale {
        /// The load.
        read: EventId,
        /// The `MEMBAR` to which an invalidation could be added.
        membar: Option<EventId>,
        /// An invalidation that does not help, and why.
        nearby: Option<(EventId, Useless)>,
    },
}

/// Why an invalidation does not help a load.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Useless {
    /// It is executed on another SM, whose L1 it is about.
    OtherSm,
    /// It is about the other L1.
    OtherCache,
    /// It comes before the load that sees the signal, or nothing orders it after that.
    TooEarly,
    /// It comes after the load.
    TooLate,
}

impl SpaReason {
    /// The events it names.
    pub fn events(self) -> Vec<EventId> {
        match self {
            Self::NoMembar { after, before, elsewhere, .. } => {
                [after, before].into_iter().chain(elsewhere).collect()
            }
            Self::LevelTooLow { membar, other, .. } => vec![membar, other],
            Self::Stale { read, nearby, .. } => {
                std::iter::once(read).chain(nearby.map(|(event, _)| event)).collect()
            }
        }
    }

    /// The rules it rests on.
    pub fn rules(self) -> &'static [&'static str] {
        match self {
            Self::NoMembar { elsewhere: Some(_), .. } => &["SPA-1", "A-36"],
            Self::NoMembar { elsewhere: None, .. } => &["SPA-1"],
            Self::LevelTooLow { .. } => &["SPA-2"],
            Self::Stale { .. } => &["SPA-4", "SPA-5"],
        }
    }
}
