//! Why two accesses are not ordered, as facts: a row for each, with what is missing, its rules, and which events it is about.
//! The sentences are the report's.

use super::spa::SpaReason;
use crate::event::{AgentId, EventId, GridId, MbarrierId};
use fencepost_dsl::vocabulary::{Proxy, Scope};

/// A fence that looks as if it should do the job, and does not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Nearby {
    /// It comes before the accesses it should release (or before the read it should acquire from).
    TooEarly(EventId),
    /// It comes after the write it should precede (or after the access it should protect).
    TooLate(EventId),
    /// Another thread executes it.
    OtherThread(EventId),
}

impl Nearby {
    /// The fence.
    pub fn event(self) -> EventId {
        match self {
            Self::TooEarly(event) | Self::TooLate(event) | Self::OtherThread(event) => event,
        }
    }
}

/// What the thread that lets a grid start releases to it before (MM-39).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Released {
    /// Nothing: there is no release fence.
    Nothing,
    /// Nothing: the instruction comes before the access.
    Early,
    /// What this fence releases, which is executed before its thread knows of the access.
    Before(EventId),
    /// Too narrow a fence.
    Narrow(EventId),
    /// The access, by this fence.
    Access(EventId),
}

/// What is missing between two operations on tensor memory; later ones are nearer to an order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum TensorLink {
    /// Nothing says that the first has ended.
    End,
    /// Its thread knows, but nothing leads from there to the second.
    EndUnused,
    /// Its thread knows, but only after it has started the second.
    EndLate,
    /// Its thread knows, and does not fence.
    FenceBefore,
    /// Nothing leads on from the fence, or the commit.
    Execution,
    /// The thread of the second does not fence.
    FenceAfter,
}

/// A word that one thread waits for and another has taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Taken {
    /// Who waits.
    pub waits: AgentId,
    /// Who has it.
    pub by: AgentId,
    /// How that one took it.
    pub write: EventId,
}

/// What one of the two threads does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Side {
    /// It stores,
    pub store: EventId,
    /// and then loads what the other has stored by then, and does not see that.
    pub load: EventId,
    /// What is between the two: the fence that is nearest to one that would do.
    pub fence: Option<EventId>,
}

/// What a write stores that overwrites another thread's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stored {
    /// A value that its thread made of what it had read there.
    MadeOfRead,
    /// The initial value, whatever was there.
    Initial,
    /// Any other value, whatever was there.
    Other,
}

/// Reasons as rows: what is missing, the rules that it follows from, and the events that it is about, the first ones by name.
macro_rules! reasons {
    ($(
        $(#[$about:meta])*
        $name:ident { $( $(#[$of_field:meta])* $field:ident: $of:ty, )* }
        follows from [$($rule:literal),+] about [$($event:expr),*] $(and $more:expr)?,
    )*) => {
        /// Why a pair is not ordered.
        #[derive(Clone, PartialEq, Eq, Debug)]
        pub enum Reason {
            $( $(#[$about])* $name { $( $(#[$of_field])* $field: $of, )* }, )*
            /// Out of order on an SPA machine.
            Spa(SpaReason),
        }

        impl Reason {
            /// The rules it rests on.
            pub fn rules(&self) -> &'static [&'static str] {
                match self {
                    $( Self::$name { .. } => &[$($rule),+], )*
                    Self::Spa(reason) => reason.rules(),
                }
            }

            /// The events it names.
            #[expect(unused_variables, reason = "a row says of which of its fields they are")]
            pub fn events(&self) -> Vec<EventId> {
                match self.clone() {
                    $( Self::$name { $($field),* } => {
                        let own = Vec::<EventId>::from([$($event),*]);
                        own.into_iter()$(.chain($more))?.collect()
                    } )*
                    Self::Spa(reason) => reason.events(),
                }
            }
        }
    };
}

reasons! {
    /// An access that passes a value on is weak.
    WeakLink {
        /// The weak access.
        event: EventId,
        /// The other end of the link.
        other: EventId,
    }
    follows from ["MM-36", "MM-18"] about [event, other],
    /// An operation's scope does not hold the other's thread.
    OutOfScope {
        /// The operation.
        event: EventId,
        /// The other.
        other: EventId,
        /// The thread that is not in scope.
        thread: AgentId,
        /// The narrowest scope that would do.
        needed: Scope,
    }
    follows from ["MM-18"] about [event, other],
    /// Write and read of a link cover different bytes or go through different virtual addresses.
    PartialLink {
        /// The write.
        write: EventId,
        /// The read.
        read: EventId,
    }
    follows from ["MM-18"] about [write, read],
    /// Nothing releases what came before the write of a link.
    NoRelease {
        /// The write.
        write: EventId,
        /// What is to be released.
        after: EventId,
        /// A fence that does not help.
        nearby: Option<Nearby>,
    }
    follows from ["MM-36", "MM-23"] about [write, after] and nearby.map(Nearby::event),
    /// Nothing acquires between the read of a link and what comes after it.
    NoAcquire {
        /// The read.
        read: EventId,
        /// What is to be protected.
        before: EventId,
        /// A fence that does not help.
        nearby: Option<Nearby>,
    }
    follows from ["MM-36", "MM-23"] about [read, before] and nearby.map(Nearby::event),
    /// The fence of a link is restricted to operations of which the racing accesses are none.
    NotCovered {
        /// The fence.
        fence: EventId,
        /// What it would have to cover.
        access: EventId,
    }
    follows from ["FN-27"] about [fence, access],
    /// The read of a link is part of a reduction.
    ReductionNeverAcquires {
        /// The read.
        read: EventId,
    }
    follows from ["MM-24"] about [read],
    /// The read of a link is part of an `atom` that drops its result, which is a reduction.
    SinkNeverAcquires {
        /// The read.
        read: EventId,
    }
    follows from ["A-7", "MM-24"] about [read],
    /// No value and no barrier leads from one thread to the other.
    NothingObserved {
        /// (1)
        earlier: EventId,
        /// (2)
        later: EventId,
        /// Where the two threads meet before both accesses, and where after both.
        met: (Option<EventId>, Option<EventId>),
    }
    follows from ["MM-40"] about [earlier, later] and [met.0, met.1].into_iter().flatten(),
    /// The order ends, or begins, in another thread of the same cluster, which does not meet that of the access.
    NotPassedOn {
        /// The access whose thread is left out: (1) for a signal, else (2).
        access: EventId,
        /// What the other thread signals with, or how it has learnt of (1).
        relay: EventId,
        /// Whether it is a signal.
        is_signal: bool,
    }
    follows from ["MM-40"] about [access, relay],
    /// What was written was handed over and read, and nothing tells the writer of that before it writes again.
    NoWayBack {
        /// The read.
        read: EventId,
        /// The write that does not wait for it.
        write: EventId,
        /// The write before it, which was handed over.
        first: EventId,
        /// What the reading thread signals afterwards, and where the other one had looked for that before.
        late: Option<(EventId, EventId)>,
    }
    follows from ["MM-40"] about [read, write, first] and late.into_iter().flat_map(|(signal, look)| [signal, look]),
    /// After an access its thread signals, and the thread of the other one looks there too early, or at another element.
    NotSeen {
        /// The access.
        access: EventId,
        /// The other one.
        other: EventId,
        /// The signal.
        signal: EventId,
        /// Where the other thread last looks.
        look: EventId,
        /// Whether it looks at the place of the signal.
        is_there: bool,
        /// What lets it through there: the same value, which the thread of the access has stored before.
        earlier: Option<EventId>,
    }
    follows from ["MM-40"] about [access, other, signal, look] and earlier,
    /// A wait passed a phase of an mbarrier that others completed; the arrival that counts went into a later one.
    CompletedByOthers {
        /// The mbarrier.
        object: MbarrierId,
        /// The wait.
        wait: EventId,
        /// The arrival.
        arrival: EventId,
        /// The phase that the wait passed.
        passed: u128,
        /// That of the arrival.
        went: u128,
        /// Who completed the phase that was passed.
        by: Vec<AgentId>,
    }
    follows from ["MB-4"] about [wait, arrival],
    /// Threads that wait in a circle, each for what the next one has taken.
    Circle {
        /// Who waits for what.
        taken: Vec<Taken>,
    }
    follows from ["LT-8"] about [] and taken.iter().map(|taken| taken.write),
    /// A barrier was passed whose generation others made up; the arrival that counts is at another one, or elsewhere.
    OtherGeneration {
        /// The access before the arrival.
        access: EventId,
        /// That behind the wait.
        other: EventId,
        /// Where the first one's thread arrives.
        arrival: EventId,
        /// Where the other one's thread gets through.
        wait: EventId,
        /// Whether both are at one barrier.
        is_there: bool,
        /// Warps that made up the generation.
        by: Vec<u32>,
    }
    follows from ["BR-4"] about [access, other, arrival, wait],
    /// A wait passed a phase of an mbarrier that its thread had waited for before.
    SamePhaseAgain {
        /// The mbarrier.
        object: MbarrierId,
        /// The wait.
        wait: EventId,
        /// The one before it.
        before: EventId,
        /// The phase that both passed.
        passed: u128,
    }
    follows from ["MB-8"] about [wait, before],
    /// A wait by parity passed before any phase was complete.
    PassedAtOnce {
        /// The mbarrier.
        object: MbarrierId,
        /// The wait.
        wait: EventId,
    }
    follows from ["MB-8"] about [wait],
    /// An arrival in a phase that nobody is known to have waited for the phase before.
    NobodyHasWaited {
        /// The mbarrier.
        object: MbarrierId,
        /// The phase before.
        phase: u128,
        /// The arrival.
        arrival: EventId,
        /// A wait for the object: one that passes that phase, if there is one.
        wait: Option<EventId>,
        /// Whether it passes that phase.
        is_done: bool,
    }
    follows from ["A-44"] about [arrival] and wait.filter(|_| is_done),
    /// A thread beside that of an access waits before it, and that of the access does not.
    WaitsAlone {
        /// The access.
        access: EventId,
        /// The other thread's wait, which need not have happened in this execution.
        wait: EventId,
    }
    follows from ["MM-40"] about [access],
    /// A thread was let through a wait for a phase, and gave a signal on before another one had looked for the same phase.
    WentAhead {
        /// The wait of the other one, which never passes.
        wait: EventId,
        /// The signal.
        signal: EventId,
    }
    follows from ["UB-M11"] about [signal],
    /// A thread overwrote what another thread had written since it last read there.
    LostUpdate {
        /// The write.
        write: EventId,
        /// The read of its thread before it.
        read: EventId,
        /// The write that is lost.
        lost: EventId,
        /// What it stores instead.
        stored: Stored,
    }
    follows from ["MM-43"] about [write, read, lost],
    /// A thread stores over what another thread has put there, and nobody has read.
    Overwritten {
        /// The store.
        write: EventId,
        /// What is lost.
        lost: EventId,
    }
    follows from ["MM-43"] about [write, lost],
    /// Two threads each load the same value and store another one there, so that both have what one of them should have.
    BothTook {
        /// What each loads,
        loads: [EventId; 2],
        /// and what it stores there.
        stores: [EventId; 2],
    }
    follows from ["MM-43"] about [loads[0], loads[1], stores[0], stores[1]],
    /// The other thread has seen a signal, but that was given before the access.
    TooSoon {
        /// The access.
        access: EventId,
        /// The other one.
        other: EventId,
        /// The signal, which the thread of the access gives before it.
        signal: EventId,
        /// Where the other thread sees it.
        look: EventId,
        /// Where it had seen it before that.
        before: Option<EventId>,
    }
    follows from ["MM-40"] about [access, other, signal, look] and before,
    /// Two threads each store and then look at what the other stores, and neither sees the other.
    NeitherSees {
        /// What each does.
        sides: [Side; 2],
    }
    follows from ["AX-2", "MM-32"]
    about [] and sides.into_iter().flat_map(|side| [Some(side.store), side.fence, Some(side.load)]).flatten(),
    /// One of the racing accesses is weak, the other strong.
    WeakEnd {
        /// The weak one.
        event: EventId,
        /// The strong one.
        other: EventId,
    }
    follows from ["MM-18"] about [event, other],
    /// Elements of one vector access, of which one was seen before another.
    UnorderedElements {
        /// The write of the element that was not seen.
        missed: EventId,
        /// The read that did not see it.
        read: EventId,
        /// The write of the element that its thread has seen.
        seen: EventId,
        /// Which elements these are, in memory order: of the one seen and of the one missed.
        elements: (usize, usize),
        /// How many there are.
        n_elements: usize,
    }
    follows from ["MM-8", "A-3"] about [missed, read, seen],
    /// The racing accesses have different sizes.
    MixedSize {
        /// (1)
        earlier: EventId,
        /// (2)
        later: EventId,
    }
    follows from ["MM-20"] about [earlier, later],
    /// Ordered, but through different virtual addresses without an alias fence on the way.
    AliasWithoutFence {
        /// (1)
        earlier: EventId,
        /// (2)
        later: EventId,
    }
    follows from ["MM-41", "MM-6"] about [earlier, later],
    /// Both are strong, but go through different virtual addresses.
    StrongAliases {
        /// (1)
        earlier: EventId,
        /// (2)
        later: EventId,
    }
    follows from ["MM-18", "MM-6"] about [earlier, later],
    /// Ordered, but no fence of an access's proxy lies on the way in that access's CTA.
    MissingProxyFence {
        /// The access.
        event: EventId,
        /// The other one.
        other: EventId,
        /// Its proxy, not the generic one.
        proxy: Proxy,
        /// A fence of that proxy on the way, in another CTA.
        elsewhere: Option<EventId>,
    }
    follows from ["MM-41", "MM-16"] about [event, other] and elsewhere,
    /// Ordered, and the fences of both proxies are there, but not that of the first before that of the second.
    ProxyFencesOutOfOrder {
        /// (1)
        earlier: EventId,
        /// (2)
        later: EventId,
    }
    follows from ["MM-41", "MM-16"] about [earlier, later],
    /// An access of an asynchronous operation, and nothing tells whoever makes the other one that the operation is done.
    NotCompleted {
        /// The access of the operation.
        event: EventId,
        /// The other one.
        other: EventId,
        /// An instruction by which some thread knows that the operation is done.
        known: Option<EventId>,
    }
    follows from ["AS-2"] about [event, other] and known,
    /// A register access of the thread that starts a matrix operation, behind the last `wgmma.fence` before it.
    MatrixFenceTooEarly {
        /// The access of the thread.
        access: EventId,
        /// That of the operation.
        operation: EventId,
        /// The instruction that starts the operation.
        issue: EventId,
        /// The last fence.
        fence: EventId,
    }
    follows from ["AS-25"] about [access, operation, issue, fence],
    /// The only way from (1) to (2) leads through an asynchronous operation, which carries nothing but its own accesses.
    NotCarried {
        /// An access of the operation.
        operation: EventId,
        /// What it would have to carry.
        access: EventId,
    }
    follows from ["MM-30"] about [operation, access],
    /// A tensor map is written in the generic proxy and read by a tensor copy, and the halves of its fence do not meet.
    TensormapNotPublished {
        /// The write.
        write: EventId,
        /// The read.
        read: EventId,
        /// Whether the writing thread releases it afterwards.
        is_released: bool,
        /// Whether the copying thread acquires it before.
        is_acquired: bool,
    }
    follows from ["FN-13", "FN-14"] about [write, read],
    /// Accesses of tensor memory, and what is missing in the row of links that would order them.
    TensorOrder {
        /// (1)
        earlier: EventId,
        /// (2)
        later: EventId,
        /// The first missing link.
        missing: TensorLink,
        /// Where the end of the operation of (1) is known.
        known: Option<EventId>,
    }
    follows from ["AS-31", "AS-32"] about [earlier, later] and known,
    /// The grid of the one was launched to overlap with that of the other, and does not wait for its end.
    Overlapping {
        /// In the grid that was launched first.
        first: EventId,
        /// In the one that may overlap with it.
        second: EventId,
        /// A `griddepcontrol.wait` of the grid of the second that does not help.
        wait: Option<EventId>,
        /// The `griddepcontrol.launch_dependents` by which the CTA of the first lets it start.
        trigger: Option<(EventId, Released)>,
        /// A grid in between that was launched to overlap with the one before it, and does not wait for that one.
        through: Option<(GridId, GridId)>,
    }
    follows from ["AS-40", "MM-39"] about [first, second] and wait.into_iter().chain(trigger.map(|(trigger, _)| trigger)),
    /// `ld.global.nc`, and somebody writes what it reads.
    NonCoherent {
        /// The load.
        read: EventId,
        /// The other access.
        write: EventId,
    }
    follows from ["MM-2"] about [read, write],
    /// Strong, or synchronizing, if only both went through one proxy.
    DifferentProxies {
        /// (1)
        earlier: EventId,
        /// (2)
        later: EventId,
    }
    follows from ["MM-18", "MM-16"] about [earlier, later],
}
