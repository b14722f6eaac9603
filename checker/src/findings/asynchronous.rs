//! Broken rules about asynchronous operations and registers.

use super::{Asked, FlagKind, Property, Story, When};

kinds! {
    TENSOR_MEMORY_KEPT {
        code: "async::tensor-memory-kept",
        page: "async-tensor-memory-kept",
        summary: "a CTA ends with tensor memory that it has not deallocated",
        property: Some(Property::Barrier),
        rules: [],
    }
    BAD_SIZE {
        code: "async::bad-size",
        page: "async-bad-size",
        summary: "a copy has a size that PTX does not allow",
        property: Some(Property::Barrier),
        rules: [],
    }
    MISALIGNED {
        code: "async::misaligned",
        page: "async-misaligned",
        summary: "a bulk copy starts at an address that is not 16-byte aligned",
        property: Some(Property::Barrier),
        rules: [],
    }
    MBARRIER_ELSEWHERE {
        code: "async::mbarrier-elsewhere",
        page: "async-mbarrier-elsewhere",
        summary: "an asynchronous operation signals an mbarrier in another CTA than it writes",
        property: Some(Property::Barrier),
        rules: [],
    }
    BAD_MULTICAST {
        code: "async::bad-multicast",
        page: "async-bad-multicast",
        summary: "a multicast names a CTA that the cluster does not have",
        property: Some(Property::Barrier),
        rules: [],
    }
    OWN_CTA {
        code: "async::own-cta",
        page: "async-own-cta",
        summary: "an operation for the memory of other CTAs names that of the own",
        property: Some(Property::Barrier),
        rules: [],
    }
    SINGLE_CTA {
        code: "async::single-cta",
        page: "async-single-cta",
        summary: "`st.async` or `red.async` in a cluster of a single CTA",
        property: Some(Property::Barrier),
        rules: [],
    }
    NO_MATRIX_FENCE {
        code: "async::no-matrix-fence",
        page: "async-no-matrix-fence",
        summary: "a matrix operation is started without a `wgmma.fence` before it",
        property: Some(Property::Barrier),
        rules: [],
    }
    CANCEL_FAILED {
        code: "async::cancel-failed",
        page: "async-cancel-failed",
        summary: "a response that cancelled nothing is asked for a CTA",
        property: Some(Property::Barrier),
        rules: [],
    }
    CANCEL_AFTER_FAILURE {
        code: "async::cancel-after-failure",
        page: "async-cancel-after-failure",
        summary: "`try_cancel` is issued after its CTA may have seen an earlier one fail",
        property: Some(Property::Barrier),
        rules: ["UB-A10", "AS-39"],
        advice: "issue the next `try_cancel` only when every thread of the CTA that looks at the answer before has seen it \
                 succeed: after the branch on `query_cancel.is_canceled`, or before anybody can look",
    }
    WRONG_DIRECTION {
        code: "registers::wrong-direction",
        page: "registers-wrong-direction",
        summary: "`setmaxnreg.dec` to more registers than there are, or `.inc` to fewer",
        property: Some(Property::Barrier),
        rules: [],
    }
    NOT_SYNCHRONIZED {
        code: "registers::not-synchronized",
        page: "registers-not-synchronized",
        summary: "`setmaxnreg` is executed again without a barrier since the last one",
        property: Some(Property::Barrier),
        rules: [],
    }
}

/// Flags.
pub(super) static FLAGS: &[&FlagKind] = &[&FlagKind {
    name: "cancel-after-failure",
    kind: &CANCEL_AFTER_FAILURE,
    asked: Asked::Always,
    story: Story::Pair,
    headline: &[
        (When::OneThread, "{first} tries to cancel a cluster again after it has seen that this failed"),
        (When::Always, "{first} may try to cancel a cluster after {second} has seen that this failed"),
    ],
    comes_first: false,
}];
