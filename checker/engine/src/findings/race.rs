//! What is not ordered: rows of races, and of what SPA machines do out of order.

use super::{Asked, FindingKind, FlagKind, Property, Story, When};

kinds! {
    UNIFORM {
        code: "race::uniform",
        page: "race-uniform",
        summary: "two accesses of the same bytes are not ordered",
        property: Some(Property::Race),
        rules: ["MM-19"],
    }
    SCOPE_TOO_NARROW {
        code: "race::scope-too-narrow",
        page: "race-scope-too-narrow",
        summary: "the synchronization is right, but its scope is too narrow",
        property: Some(Property::Race),
        rules: ["MM-18"],
    }
    STALE_L1_READ {
        code: "race::stale-l1-read",
        page: "race-stale-l1-read",
        summary: "a load finds in an L1 what other SMs have replaced (SPA 5.0)",
        property: Some(Property::Race),
        rules: ["SPA-R1"],
    }
    MEMBAR_LEVEL_TOO_SMALL {
        code: "race::membar-level-too-small",
        page: "race-membar-level-too-small",
        summary: "a `MEMBAR` does not reach the other thread or client (SPA 5.0)",
        property: Some(Property::Race),
        rules: ["SPA-R2"],
    }
    MISSING_MEMBAR {
        code: "race::missing-membar",
        page: "race-missing-membar",
        summary: "accesses that a handshake relies on may happen in either order (SPA 5.0)",
        property: Some(Property::Race),
        rules: ["SPA-R3"],
    }
    MIXED_SIZE {
        code: "race::mixed-size",
        page: "race-mixed-size",
        summary: "unordered accesses of different size share bytes",
        property: Some(Property::Race),
        rules: ["MM-20"],
    }
    ALIAS {
        code: "race::alias",
        page: "race-alias",
        summary: "ordered accesses go through different virtual addresses without an alias fence",
        property: Some(Property::Race),
        rules: ["MM-41"],
    }
    CROSS_PROXY {
        code: "race::cross-proxy",
        page: "race-cross-proxy",
        summary: "ordered accesses go through different proxies without the proxy's fence",
        property: Some(Property::Race),
        rules: [],
    }
    NON_COHERENT {
        code: "race::non-coherent",
        page: "race-non-coherent",
        summary: "`ld.global.nc` reads memory that is written while the kernel runs",
        property: Some(Property::Race),
        rules: ["MM-2"],
        advice: "leave out `.nc`: it is for memory that nobody writes while the kernel runs",
    }
    ASYNC_SOURCE {
        code: "race::async-source",
        page: "race-async-source",
        summary: "memory is written while an asynchronous operation may still read it",
        property: Some(Property::Race),
        rules: ["AS-2"],
    }
    ASYNC_DESTINATION {
        code: "race::async-destination",
        page: "race-async-destination",
        summary: "memory is accessed while an asynchronous operation may still write it",
        property: Some(Property::Race),
        rules: ["AS-2"],
    }
    MATRIX_REGISTER {
        code: "race::matrix-register",
        page: "race-matrix-register",
        summary: "registers of a matrix operation are accessed while it may still use them",
        property: Some(Property::Race),
        rules: ["AS-26"],
    }
    TENSOR_MEMORY {
        code: "race::tensor-memory",
        page: "race-tensor-memory",
        summary: "two operations on tensor memory are not ordered by what counts for it",
        property: Some(Property::Race),
        rules: ["AS-29", "AS-31", "AS-32", "MM-19"],
    }
    ASYNC_WRITES {
        code: "race::async-writes",
        page: "race-async-writes",
        summary: "two asynchronous operations write the same bytes",
        property: Some(Property::Race),
        rules: ["AS-2"],
    }
    NOT_CARRIED {
        code: "race::not-carried",
        page: "race-not-carried",
        summary: "the completion of an asynchronous operation is taken for that of what its thread did before",
        property: Some(Property::Race),
        rules: ["MM-30"],
    }
    GRID_DEPENDENCY {
        code: "race::grid-dependency",
        page: "race-grid-dependency",
        summary: "a grid that may start before the one it depends on has ended does not wait for that",
        property: Some(Property::Race),
        rules: ["AS-40", "MM-39", "MM-19"],
    }
    TENSORMAP {
        code: "race::tensormap",
        page: "race-tensormap",
        summary: "a tensor map is written while a tensor copy may read it, or without the fences of its proxy",
        property: Some(Property::Race),
        rules: ["FN-13", "FN-14", "AS-36", "AS-38"],
    }
    TENSORMAP_NOT_ACQUIRED {
        code: "race::tensormap-not-acquired",
        page: "race-tensormap-not-acquired",
        summary: "a tensor map in global memory is used without having been acquired",
        property: Some(Property::Race),
        rules: ["FN-14", "AS-37"],
    }
    TENSORMAP_UNWRITTEN {
        code: "race::tensormap-unwritten",
        page: "race-tensormap-unwritten",
        summary: "a tensor map in global memory is used although nobody has written it",
        property: Some(Property::Race),
        rules: ["AS-35", "AS-36"],
    }
}

/// Two accesses that no order keeps apart.
pub static RACE: FlagKind = FlagKind {
    name: "race",
    kind: &UNIFORM,
    asked: Asked::Always,
    story: Story::Chain,
    headline: &[],
    comes_first: false,
};

/// A row of [`REFINEMENTS`].
const fn refinement(name: &'static str, kind: &'static FindingKind, story: Story) -> FlagKind {
    FlagKind { name, kind, asked: Asked::OfFindings, story, headline: &[], comes_first: false }
}

/// … that have different sizes.
pub static OF_MIXED_SIZE: FlagKind = refinement("race.mixed-size", &MIXED_SIZE, Story::Chain);
/// … that would be ordered if both accesses went through one proxy.
pub static OF_TWO_PROXIES: FlagKind = refinement("race.cross-proxy", &CROSS_PROXY, Story::Proxies);
/// … of which one is a read that is not kept coherent.
pub static OF_NON_COHERENT: FlagKind = refinement("race.non-coherent", &NON_COHERENT, Story::Chain);
/// … that completion would order if it carried what came before it.
pub static OF_NOT_CARRIED: FlagKind = refinement("race.not-carried", &NOT_CARRIED, Story::Chain);
/// … of registers of a matrix operation.
pub static OF_REGISTERS: FlagKind = refinement("race.register", &MATRIX_REGISTER, Story::Chain);

/// What more may be said of a race. The first that holds names it; but overlapping grids do not, where sizes differ.
pub static REFINEMENTS: &[&FlagKind] = &[
    &refinement("race.tensor-memory", &TENSOR_MEMORY, Story::TensorMemory),
    &refinement("race.tensormap", &TENSORMAP, Story::Tensormap),
    &refinement("race.grid-dependency", &GRID_DEPENDENCY, Story::Grids),
    &OF_NON_COHERENT,
    &OF_TWO_PROXIES,
    &OF_MIXED_SIZE,
    &refinement("race.alias", &ALIAS, Story::Chain),
    // Synchronization that is right but too narrow is the likely cause of what else there is.
    &FlagKind { comes_first: true, ..refinement("race.scope-too-narrow", &SCOPE_TOO_NARROW, Story::Chain) },
    &OF_NOT_CARRIED,
    &OF_REGISTERS,
    &refinement("race.async-writes", &ASYNC_WRITES, Story::Chain),
    &refinement("race.async-source", &ASYNC_SOURCE, Story::Chain),
    &refinement("race.async-destination", &ASYNC_DESTINATION, Story::Chain),
];

/// Flags of their own.
pub(super) static FLAGS: &[&FlagKind] = &[
    &FlagKind {
        name: "out-of-order",
        kind: &MISSING_MEMBAR,
        asked: Asked::Always,
        story: Story::OutOfOrder,
        headline: &[
            (
                When::SecondReads,
                "{second} may read {object} as it was before {first} wrote it, although it was handed what comes after",
            ),
            (
                When::FirstReads,
                "{first} may read in {object} what {second} writes only after it was handed what comes after that read",
            ),
            (
                When::Always,
                "{second} may write {object} ahead of {first}, although it was handed what comes after that write",
            ),
        ],
        comes_first: false,
    },
    &FlagKind {
        name: "tensormap-not-acquired",
        kind: &TENSORMAP_NOT_ACQUIRED,
        asked: Asked::Always,
        story: Story::Pair,
        headline: &[(When::Always, "{first} uses {object} without having acquired it")],
        comes_first: false,
    },
    &FlagKind {
        name: "tensormap-unwritten",
        kind: &TENSORMAP_UNWRITTEN,
        asked: Asked::Always,
        story: Story::Pair,
        headline: &[(When::Always, "{first} uses {object}, which nobody has written before")],
        comes_first: false,
    },
];
