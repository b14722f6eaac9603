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
    REGISTERS_IN_USE {
        code: "async::registers-in-flight",
        page: "async-registers-in-flight",
        summary: "registers of a matrix operation are accessed before the thread has waited for it",
        property: Some(Property::Barrier),
        rules: ["UB-A6", "AS-26"],
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

misuses! {
    SOURCE_TOO_LARGE: BAD_SIZE, "UB-A1" {
        what: "copies {copied} bytes of source into {bytes} bytes",
        why: Values(
            "the destination gets {bytes} bytes, those of the source and zeros for the rest: \
             {copied} do not fit"
        ),
        help: "src-size is at most cp-size",
    }
    COPY_OF_ODD_SIZE: BAD_SIZE, "UB-A2" {
        what: "copies {bytes} bytes, which is no multiple of {granule}",
        why: Values("a bulk copy moves whole units of {granule} bytes, and the size is {bytes} here"),
        help: "a bulk copy has a multiple of 16 bytes",
    }
    ADDRESS_OF_NO_MULTIPLE: MISALIGNED, "UB-A2" {
        what: "accesses an address that is no multiple of {bytes} bytes, as this operation needs",
        why: Values("the offset of this operand in its object is no multiple of {bytes} here"),
        help: "choose offsets that are multiples of the size: 16 bytes for a bulk copy",
    }
    COPY_SIGNALS_ELSEWHERE: MBARRIER_ELSEWHERE, "UB-A3" {
        what: "copies into cta rank {rank} and signals an mbarrier of rank {signalled}",
        why: Values(
            "the bytes arrive in the CTA of rank {rank}, and only an mbarrier there can count \
             them; this one is in that of rank {signalled}"
        ),
        help: "name an mbarrier in the CTA that the data goes to",
    }
    STORE_SIGNALS_ELSEWHERE: MBARRIER_ELSEWHERE, "UB-A4" {
        what: "stores into one CTA and signals an mbarrier of another",
        why: Values(
            "the bytes are counted where they arrive: an mbarrier of another CTA cannot count them"
        ),
        help: "name an mbarrier in the CTA that the data goes to",
    }
    COPY_WITHIN_OWN: OWN_CTA, "UB-A3" {
        what: "copies from its own shared memory into its own shared memory",
        why: Values(
            "source and destination are both in the CTA that executes it: `shared::cluster` names \
             its own memory here"
        ),
        help: "name the memory of another CTA of the cluster, or copy with `ld` and `st`",
    }
    REDUCTION_OF_OWN: OWN_CTA, "UB-A4" {
        what: "updates its own CTA's shared memory asynchronously",
        why: Values(
            "the address is in the CTA that executes it: `shared::cluster` names its own memory \
             here"
        ),
        help: "name the memory of another CTA of the cluster, or use `red`",
    }
    STORE_IN_SINGLE_CTA: SINGLE_CTA, "UB-A4" {
        what: "stores asynchronously in a cluster of a single CTA",
        why: Values("the launch has clusters of one CTA, so there is no other CTA to store into"),
        help: "launch clusters of several CTAs, or use `st`",
    }
    MATRIX_WITHOUT_FENCE: NO_MATRIX_FENCE, "UB-A5" {
        what: "starts a matrix operation without a `wgmma.fence` before it",
        why: MatrixFence,
        help: "execute `wgmma.fence.sync.aligned` before the first `wgmma.mma_async`, and after registers were \
               written",
    }
    SHAPES_WITHOUT_FENCE: NO_MATRIX_FENCE, "UB-A5" {
        what: "starts an operation of shape {shape} on an accumulator that one of shape {earlier} uses, without a \
               `wgmma.fence` between them",
        why: MatrixFence,
        help: "execute `wgmma.fence.sync.aligned` between the two; only operations of one shape are in order on their \
               accumulator without it",
    }
    REGISTERS_IN_FLIGHT: REGISTERS_IN_USE, "UB-A6" {
        what: "accesses registers that a matrix operation may still read or write",
        why: Values("the thread has started a matrix operation on these registers and not waited until it is done"),
        help: "execute `wgmma.commit_group.sync.aligned` behind the operation, and before this access \
               `wgmma.wait_group.sync.aligned` with as few groups pending as that its group is done",
    }
    TENSOR_MEMORY_LEFT: TENSOR_MEMORY_KEPT, "UB-A8" {
        what: "allocates tensor memory, and its CTA ends with other columns allocated than deallocated",
        why: Columns,
        help: "let one warp execute `tcgen05.dealloc` for what was allocated, with the same number of columns, once \
               nobody uses it any more",
    }
    TENSOR_MEMORY_COLUMNS_LEFT: TENSOR_MEMORY_KEPT, "UB-A8" {
        what: "allocates tensor memory, and its CTA ends with {taken} columns allocated in all and {given} deallocated",
        why: Columns,
        help: "let one warp execute `tcgen05.dealloc` for what was allocated, with the same number of columns, once \
               nobody uses it any more",
    }
    CTA_OF_FAILED_CANCEL: CANCEL_FAILED, "UB-A11" {
        what: "asks which CTA was cancelled by a response that says that none was",
        why: Values(
            "where nothing was cancelled the response holds no CTA, and what the query returns is \
             undefined"
        ),
        help: "ask `query_cancel.is_canceled` first, and go on only if it is true",
    }
    MULTICAST_TO_NOBODY: BAD_MULTICAST, "AS-14" {
        what: "multicasts to a CTA that its cluster of {ctas} does not have",
        why: Values("the cluster has the ranks below {ctas}, and the mask has a bit above them"),
        help: "set only bits of ranks below `cluster_nctarank`",
    }
    REGISTERS_AGAIN: NOT_SYNCHRONIZED, "UB-A12" {
        what: "executes `setmaxnreg` again without synchronizing with its warpgroup since the last one",
        why: Registers,
        help: "put a barrier of the warpgroup's four warps between the two, such as `bar.sync 1, 128`",
    }
    INCREASE_FROM: WRONG_DIRECTION, "UB-A13" {
        what: "asks `setmaxnreg.inc` for {count} registers while it has {number}",
        why: Registers,
        help: "give registers back with `setmaxnreg.dec`; `inc` takes at least as many as the thread has",
    }
    INCREASE_FROM_UNKNOWN: WRONG_DIRECTION, "UB-A13" {
        what: "asks `setmaxnreg.inc` for {count} registers while it may have more",
        why: Registers,
        help: "give registers back with `setmaxnreg.dec`; `inc` takes at least as many as the thread has",
    }
    DECREASE_FROM: WRONG_DIRECTION, "UB-A13" {
        what: "asks `setmaxnreg.dec` to leave it {count} registers while it has {number}",
        why: Registers,
        help: "take more registers with `setmaxnreg.inc`; `dec` leaves at most as many as the thread has",
    }
    DECREASE_FROM_UNKNOWN: WRONG_DIRECTION, "UB-A13" {
        what: "asks `setmaxnreg.dec` to leave it {count} registers while it may have fewer",
        why: Registers,
        help: "take more registers with `setmaxnreg.inc`; `dec` leaves at most as many as the thread has",
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
