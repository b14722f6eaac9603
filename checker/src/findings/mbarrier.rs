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
