//! Memory, and CTAs, that are not there.

use super::{Asked, FlagKind, Property, Story, When};

kinds! {
    NOT_CO_RESIDENT {
        code: "deadlock::not-co-resident",
        page: "deadlock-not-co-resident",
        summary: "a thread waits for a CTA that need not have started",
        property: Some(Property::Deadlock),
        rules: ["LT-5", "LT-6"],
    }
    PEER_NOT_STARTED {
        code: "lifetime::peer-not-started",
        page: "lifetime-peer-not-started",
        summary: "shared memory of a peer is accessed before that CTA is known to have started",
        property: Some(Property::Lifetime),
        rules: ["LT-1"],
        advice: "let every thread of the cluster pass a cluster barrier before the first access of a peer's memory: \
                 `barrier.cluster.arrive; barrier.cluster.wait;` at the start of the kernel",
    }
    PEER_MAY_HAVE_EXITED {
        code: "lifetime::peer-may-have-exited",
        page: "lifetime-peer-may-have-exited",
        summary: "shared memory of a peer is accessed when that CTA may have ended",
        property: Some(Property::Lifetime),
        rules: ["LT-1"],
        advice: "let every thread of the cluster pass a cluster barrier after the last access of a peer's memory: \
                 `barrier.cluster.arrive; barrier.cluster.wait;` before the kernel ends",
    }
    OPERATION_PENDING {
        code: "lifetime::operation-pending",
        page: "lifetime-operation-pending",
        summary: "a CTA may end while an asynchronous operation still uses its shared memory",
        property: Some(Property::Lifetime),
        rules: ["LT-2", "LT-3"],
    }
    TENSOR_MEMORY_FREED {
        code: "lifetime::tensor-memory-freed",
        page: "lifetime-tensor-memory-freed",
        summary: "tensor memory is deallocated while an operation may still use it",
        property: Some(Property::Lifetime),
        rules: ["AS-34", "UB-A8"],
    }
    ALLOC_AFTER_RELINQUISH {
        code: "lifetime::alloc-after-relinquish",
        page: "lifetime-alloc-after-relinquish",
        summary: "tensor memory may be allocated after its CTA has relinquished the permit",
        property: Some(Property::Lifetime),
        rules: ["AS-34", "UB-A8"],
    }
}

/// Flags.
pub(super) static FLAGS: &[&FlagKind] = &[
    &FlagKind {
        name: "lifetime-start",
        kind: &PEER_NOT_STARTED,
        asked: Asked::OfPeers,
        story: Story::Lifetime,
        headline: &[],
        comes_first: false,
    },
    &FlagKind {
        name: "lifetime-exit",
        kind: &PEER_MAY_HAVE_EXITED,
        asked: Asked::OfPeers,
        story: Story::Lifetime,
        headline: &[],
        comes_first: false,
    },
    &FlagKind {
        name: "lifetime-tensor-freed",
        kind: &TENSOR_MEMORY_FREED,
        asked: Asked::OfTensorMemory,
        story: Story::Pair,
        headline: &[(
            When::Always,
            "{instruction} of {first} may not be over when {second} deallocates {object}",
        )],
        comes_first: false,
    },
    &FlagKind {
        name: "lifetime-tensor-relinquished",
        kind: &ALLOC_AFTER_RELINQUISH,
        asked: Asked::OfTensorMemory,
        story: Story::Pair,
        headline: &[(
            When::Always,
            "{first} may allocate tensor memory after {second} has relinquished the permit",
        )],
        comes_first: false,
    },
];
