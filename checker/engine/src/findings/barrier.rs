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

misuses! {
    WAIT_BEFORE_ARRIVAL: WAIT_WITHOUT_ARRIVAL, "UB-C3" {
        what: "waits at the cluster barrier without having arrived",
        why: ClusterWait,
        help: "let every thread that waits execute `barrier.cluster.arrive` first",
    }
    WAIT_AGAIN_BEFORE_ARRIVAL: WAIT_WITHOUT_ARRIVAL, "UB-C3" {
        what: "waits at the cluster barrier again without having arrived since its last wait",
        why: ClusterWait,
        help: "let every thread that waits execute `barrier.cluster.arrive` first",
    }
    ARRIVAL_AGAIN: SECOND_ARRIVAL, "UB-C1" {
        what: "arrives at the cluster barrier again before the phase of its last arrival is complete",
        why: Generation,
        help: "put `barrier.cluster.wait` between two arrivals of a thread",
    }
    RETURN_BEFORE_RESET: REUSE_BEFORE_RESET, "UB-B4" {
        what: "comes back to {barrier} before the generation of its last `arrive` there is complete",
        why: Generation,
        help: "let it wait in between for something that comes after the others' arrivals, such as a second \
               barrier, or use `sync`",
    }
    COUNT_OF_NO_WARPS: BAD_COUNT, "UB-B2" {
        what: "names {count} threads at a barrier: a count is a multiple of 32, and this CTA has {threads}",
        why: Values(
            "a barrier counts whole warps, 32 threads for each however few lanes are launched, and \
             this CTA has {threads} in all"
        ),
        help: "count whole warps (32 each), and no more than the launch has",
    }
    NUMBER_ABOVE_15: NO_SUCH_BARRIER, "UB-B1" {
        what: "uses barrier {number}: a CTA has barriers 0 to 15",
        why: Values("the number is computed, and is {number} here"),
        help: "compute a number below 16, or use an mbarrier",
    }
    WARP_BARRIER_WITHOUT_OWN_LANE: LANE_NOT_IN_MASK, "UB-W1" {
        what: "executes `bar.warp.sync` with mask {mask}, which leaves out its lane {lane}",
        why: Values(
            "the bits of a mask name the lanes that take part, and bit {lane} of {mask} is not set"
        ),
        help: "let exactly the lanes of the mask execute it; compute the mask before the branch that divides them",
    }
    ELECTION_WITHOUT_OWN_LANE: LANE_NOT_IN_MASK, "UB-A14" {
        what: "executes `elect.sync` with mask {mask}, which leaves out its lane {lane}",
        why: Values(
            "the bits of a mask name the lanes that take part, and bit {lane} of {mask} is not set"
        ),
        help: "let exactly the lanes of the mask execute it; compute the mask before the branch that divides them",
    }
    EXCHANGE_WITHOUT_OWN_LANE: LANE_NOT_IN_MASK, "MM-37" {
        what: "tells other lanes a value with mask {mask}, which leaves out its lane {lane}",
        why: Values(
            "the bits of a mask name the lanes that take part, and bit {lane} of {mask} is not set"
        ),
        help: "let exactly the lanes of the mask execute it; compute the mask before the branch that divides them",
    }
    REDUCTION_ON_ONE_SIDE: MIXED_REDUCTION, "UB-B5" {
        what: "uses {barrier} in another form than other threads: `red` on one side only",
        why: OtherForm,
        help: "give the reduction a barrier number of its own",
    }
    ANOTHER_COUNT: COUNT_MISMATCH, "UB-B3" {
        what: "uses {barrier} with {own} threads, others with {others}",
        why: OtherForm,
        help: "let all threads that meet at a barrier name the same thread count",
    }
    ALIGNED_BARRIER: ALIGNED_DIVERGENT, "UB-B6" {
        what: "executes `{instruction}`, which is aligned, while {lanes}",
        why: Lanes,
        help: "let all lanes of the warp come to it in the same way, or use `barrier` without `.aligned`",
    }
    ALIGNED_CLUSTER_BARRIER: ALIGNED_DIVERGENT, "UB-C2" {
        what: "executes `{instruction}`, which is aligned, while {lanes}",
        why: Lanes,
        help: "let all lanes of the warp come to it in the same way, or leave `.aligned` out",
    }
    ALIGNED_TENSOR_MEMORY: ALIGNED_DIVERGENT, "AS-34" {
        what: "executes `{instruction}`, which is aligned, while {lanes}",
        why: Lanes,
        help: "let all lanes of the warp come to it in the same way",
    }
    ALIGNED_MATRIX: ALIGNED_DIVERGENT, "UB-A7" {
        what: "executes `{instruction}`, which is aligned, while {lanes}",
        why: Lanes,
        help: "let all lanes of the warpgroup come to it in the same way",
    }
    ALIGNED_REGISTERS: ALIGNED_DIVERGENT, "UB-A12" {
        what: "executes `{instruction}`, which is aligned, while {lanes}",
        why: Lanes,
        help: "let all lanes of the warpgroup come to it in the same way",
    }
    ALIGNED_TENSORMAP: ALIGNED_DIVERGENT, "UB-F2" {
        what: "executes `{instruction}`, which is aligned, while {lanes}",
        why: Lanes,
        help: "let all lanes of the warp come to it in the same way",
    }
}
