//! What is no violation of a property of ours: proofs that are bounded or about nothing, and flags of a user's own model.

use super::{Asked, FlagKind, Property, Story, When};

kinds! {
    NOTHING_COMPLETES {
        code: "vacuity::nothing-completes",
        page: "vacuity-nothing-completes",
        summary: "no execution runs every thread to its end",
        property: None,
        rules: [],
    }
    FILTERED_OUT {
        code: "vacuity::filtered-out",
        page: "vacuity-filtered-out",
        summary: "no execution that completes passes the `filter` of a litmus condition",
        property: None,
        rules: [],
    }
    UNREACHABLE {
        code: "vacuity::unreachable",
        page: "vacuity-unreachable",
        summary: "no execution reaches a `reachable` statement",
        property: None,
        rules: [],
    }
    LOOP_CUT {
        code: "bound::loop-cut",
        page: "bound-loop-cut",
        summary: "some loop can run longer than was checked",
        property: None,
        rules: [],
    }
    FLAG {
        code: "model::flag",
        page: "model-flag",
        summary: "a flag of a memory model of your own holds in some execution",
        property: Some(Property::Race),
        rules: [],
    }
}

/// A flag of a user's own.
pub static OWN_FLAG: FlagKind = FlagKind {
    name: "",
    kind: &FLAG,
    asked: Asked::Always,
    story: Story::Pair,
    headline: &[
        (When::OneEvent, "`{flag}` is flagged for {first}"),
        (When::Always, "`{flag}` is flagged between {first} and {second}"),
    ],
    comes_first: false,
};

/// … that says more about what another one has found.
pub static OWN_REFINEMENT: FlagKind = FlagKind {
    name: "",
    kind: &FLAG,
    asked: Asked::OfFindings,
    story: Story::Pair,
    headline: &[],
    comes_first: false,
};
