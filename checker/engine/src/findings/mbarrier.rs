//! Broken rules about mbarriers.

use super::{Asked, FlagKind, Property, Story, When};

kinds! {
    NOT_INITIALISED {
        code: "mbarrier::not-initialised",
        page: "mbarrier-not-initialised",
        summary: "an mbarrier is used on a path on which nobody initialises it",
        property: Some(Property::Barrier),
        rules: [],
    }
    INIT_NOT_ORDERED {
        code: "mbarrier::init-not-ordered",
        page: "mbarrier-init-not-ordered",
        summary: "an mbarrier is used before its initialisation is known to be over",
        property: Some(Property::Barrier),
        rules: ["UB-M16"],
    }
    USE_AFTER_INVAL {
        code: "mbarrier::use-after-inval",
        page: "mbarrier-use-after-inval",
        summary: "an mbarrier may still be used when it is invalidated",
        property: Some(Property::Barrier),
        rules: ["UB-M1"],
    }
    PHASE_NOT_WAITED_FOR {
        code: "mbarrier::phase-not-waited-for",
        page: "mbarrier-phase-not-waited-for",
        summary: "an arrival in a phase before which nobody waited",
        property: Some(Property::Barrier),
        rules: ["UB-M12"],
    }
    NOBODY_EXPECTED {
        code: "mbarrier::nobody-expected",
        page: "mbarrier-nobody-expected",
        summary: "everybody drops out of an mbarrier",
        property: Some(Property::Barrier),
        rules: [],
    }
    COUNT_OUT_OF_RANGE {
        code: "mbarrier::count-out-of-range",
        page: "mbarrier-count-out-of-range",
        summary: "an mbarrier is initialised with a count that it cannot hold",
        property: Some(Property::Barrier),
        rules: [],
    }
    NO_COMPLETE_COMPLETES {
        code: "mbarrier::no-complete-completes",
        page: "mbarrier-no-complete-completes",
        summary: "an arrival with `.noComplete` completes its phase",
        property: Some(Property::Barrier),
        rules: [],
    }
    NO_PENDING_COUNT {
        code: "mbarrier::no-pending-count",
        page: "mbarrier-no-pending-count",
        summary: "the pending count of a state that does not hold it",
        property: Some(Property::Barrier),
        rules: [],
    }
    STALE_STATE {
        code: "mbarrier::stale-state",
        page: "mbarrier-stale-state",
        summary: "a wait with a state that is two phases old",
        property: Some(Property::Barrier),
        rules: [],
    }
    FOREIGN_STATE {
        code: "mbarrier::foreign-state",
        page: "mbarrier-foreign-state",
        summary: "a wait with a state of another mbarrier",
        property: Some(Property::Barrier),
        rules: [],
    }
    PHASE_RUN_AHEAD {
        code: "mbarrier::phase-run-ahead",
        page: "mbarrier-phase-run-ahead",
        summary: "a wait by parity is let through by a later phase than it waits for",
        property: Some(Property::Barrier),
        rules: [],
    }
    TX_OUT_OF_RANGE {
        code: "mbarrier::tx-out-of-range",
        page: "mbarrier-tx-out-of-range",
        summary: "more bytes than a tx-count can hold",
        property: Some(Property::Barrier),
        rules: [],
    }
    INIT_OF_LIVE_OBJECT {
        code: "mbarrier::init-of-live-object",
        page: "mbarrier-init-of-live-object",
        summary: "an mbarrier is initialised again without having been invalidated",
        property: Some(Property::Barrier),
        rules: [],
    }
    PLAIN_ACCESS {
        code: "mbarrier::plain-access",
        page: "mbarrier-plain-access",
        summary: "an ordinary access to the bytes of an mbarrier",
        property: Some(Property::Barrier),
        rules: [],
    }
    TOO_MANY_ARRIVALS {
        code: "mbarrier::too-many-arrivals",
        page: "mbarrier-too-many-arrivals",
        summary: "an arrival finds its phase full",
        property: Some(Property::Barrier),
        rules: [],
    }
}

misuses! {
    USE_UNINITIALISED: NOT_INITIALISED, "UB-M1" {
        what: "uses {object}, which nobody has initialised on this path",
        why: Initialisation,
        help: "let one thread execute `mbarrier.init`, and the others wait for it (`bar.sync`, or a cluster \
               barrier)",
    }
    INIT_AGAIN: INIT_OF_LIVE_OBJECT, "UB-M2" {
        what: "initialises {object}, which has been initialised and not invalidated",
        why: Initialisation,
        help: "let one thread initialise it, once; to use the memory again, end the old mbarrier with \
               `mbarrier.inval` after a barrier",
    }
    ACCESS_OF_BYTES: PLAIN_ACCESS, "UB-M3" {
        what: "accesses the bytes of {object} while it is an mbarrier",
        why: Initialisation,
        help: "use other memory, or end the mbarrier with `mbarrier.inval` first",
    }
    INIT_COUNT: COUNT_OUT_OF_RANGE, "UB-M5" {
        what: "initialises {object} with {count} arrivals",
        why: Values(
            "the count is {count} here; an mbarrier holds 1 to 1048575, and a phase that expects \
             none could not complete"
        ),
        help: "a count lies between 1 and 1048575",
    }
    ARRIVE_COUNT: COUNT_OUT_OF_RANGE, "UB-M6" {
        what: "arrives {count} times at {object}",
        why: Values(
            "the count is {count} here; one arrive counts 1 to 1048575 times, and no more often \
             than the phase still expects"
        ),
        help: "a count lies between 1 and what is pending",
    }
    ARRIVAL_IN_FULL_PHASE: TOO_MANY_ARRIVALS, "UB-M6" {
        what: "arrives at {object} although its phase already has all the arrivals it expects",
        why: Phase,
        help: "let every participant wait for the phase before it arrives again, or raise the count in \
               `mbarrier.init`",
    }
    BYTES_OF_OPERATION: TX_OUT_OF_RANGE, "UB-M7" {
        what: "counts {bytes} bytes at {object}",
        why: Values("a tx-count has a sign and 20 bits: {bytes} bytes at once do not fit"),
        help: "a tx-count lies between -1048575 and 1048575: split the transfer",
    }
    BYTES_OF_PHASE: TX_OUT_OF_RANGE, "UB-M7" {
        what: "takes the tx-count of {object} out of its range, ±1048575 bytes",
        why: Bytes,
        help: "announce fewer bytes per phase, or split the transfer over two mbarriers",
    }
    LAST_DROPS_OUT: NOBODY_EXPECTED, "UB-M8" {
        what: "drops out of {object}, of which nobody is left then",
        why: Drops,
        help: "let the last participant arrive without dropping out, or invalidate the mbarrier",
    }
    COMPLETING_NO_COMPLETE: NO_COMPLETE_COMPLETES, "UB-M9" {
        what: "completes the phase of {object} with an arrival that says `.noComplete`",
        why: Phase,
        help: "leave out `.noComplete`, or let another arrival of the phase come surely later",
    }
    COUNT_NOT_HELD: NO_PENDING_COUNT, "MB-15" {
        what: "asks for the pending count of a state that no arrive with `.noComplete` returned",
        why: State,
        help: "take the state from `mbarrier.arrive.noComplete`; other states do not hold the count",
    }
    STATE_OF_ANOTHER: FOREIGN_STATE, "UB-M11" {
        what: "waits on {object} with a state that no arrive on it returned",
        why: State,
        help: "wait with the state that the thread's last arrive on this mbarrier returned, or by parity",
    }
    STATE_OF_EARLIER_LIFE: FOREIGN_STATE, "UB-M11" {
        what: "waits on {object} with a state from before it was initialised again",
        why: State,
        help: "arrive on the new mbarrier, and wait with the state that this returns",
    }
    STATE_TOO_OLD: STALE_STATE, "UB-M11" {
        what: "waits on {object} with a state whose phase has been over for a whole phase",
        why: State,
        help: "wait with each state before the next phase can complete, at the latest before arriving again",
    }
    PARITY_OF_LATER_PHASE: PHASE_RUN_AHEAD, "UB-M11" {
        what: "waits for phase {phase} of {object} by its parity, and is let through by a later phase of that \
               parity",
        why: Overtaking,
        help: "let nobody arrive for the next phase but one before every waiter has seen this one: have waiters \
               arrive on a second mbarrier (an empty barrier), or count them in this one",
    }
}

/// Flags.
pub(super) static FLAGS: &[&FlagKind] = &[
    &FlagKind {
        name: "mbarrier-init",
        kind: &INIT_NOT_ORDERED,
        asked: Asked::Always,
        story: Story::Pair,
        headline: &[(When::Always, "{second} may use {object} before its initialisation by {first} is over")],
        comes_first: false,
    },
    &FlagKind {
        name: "mbarrier-inval",
        kind: &USE_AFTER_INVAL,
        asked: Asked::Always,
        story: Story::Pair,
        headline: &[(When::Always, "{first} may still use {object} when {second} invalidates it")],
        comes_first: false,
    },
    &FlagKind {
        name: "mbarrier-unseen",
        kind: &PHASE_NOT_WAITED_FOR,
        asked: Asked::Always,
        story: Story::Pair,
        headline: &[(When::Always, "{first} arrives at {object} and nobody has waited for the phase before")],
        comes_first: false,
    },
];
