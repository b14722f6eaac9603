//! Broken rules about barriers.

use super::Property;

kinds! {
    COUNT_MISMATCH {
        code: "barrier::count-mismatch",
        page: "barrier-count-mismatch",
        summary: "threads that meet at a barrier name different thread counts",
        property: Some(Property::Barrier),
        rules: [],
    }
    MIXED_REDUCTION {
        code: "barrier::mixed-reduction",
        page: "barrier-mixed-reduction",
        summary: "`bar.red` meets `bar.sync` or `bar.arrive` at one barrier",
        property: Some(Property::Barrier),
        rules: [],
    }
    NO_SUCH_BARRIER {
        code: "barrier::no-such-barrier",
        page: "barrier-no-such-barrier",
        summary: "a barrier number above 15",
        property: Some(Property::Barrier),
        rules: [],
    }
    BAD_COUNT {
        code: "barrier::bad-count",
        page: "barrier-bad-count",
        summary: "a barrier's thread count that no warps can make up",
        property: Some(Property::Barrier),
        rules: [],
    }
    LANE_NOT_IN_MASK {
        code: "barrier::lane-not-in-mask",
        page: "barrier-lane-not-in-mask",
        summary: "a lane executes `bar.warp.sync` with a mask that leaves it out",
        property: Some(Property::Barrier),
        rules: [],
    }
    ALIGNED_DIVERGENT {
        code: "barrier::aligned-divergent",
        page: "barrier-aligned-divergent",
        summary: "an `.aligned` barrier instruction is executed by a part of a warp",
        property: Some(Property::Barrier),
        rules: [],
    }
    REUSE_BEFORE_RESET {
        code: "barrier::reuse-before-reset",
        page: "barrier-reuse-before-reset",
        summary: "a warp comes back to a barrier before its last arrival there is complete",
        property: Some(Property::Barrier),
        rules: [],
    }
    SECOND_ARRIVAL {
        code: "barrier::second-arrival",
        page: "barrier-second-arrival",
        summary: "a thread arrives twice at a cluster barrier in one phase",
        property: Some(Property::Barrier),
        rules: [],
    }
    WAIT_WITHOUT_ARRIVAL {
        code: "barrier::wait-without-arrival",
        page: "barrier-wait-without-arrival",
        summary: "a thread waits at a cluster barrier without having arrived",
        property: Some(Property::Barrier),
        rules: [],
    }
}
