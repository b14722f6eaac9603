//! Conditions of the program that fail.

use super::Property;

kinds! {
    VIOLATED {
        code: "assert::violated",
        page: "assert-violated",
        summary: "an `assert` fails in some execution",
        property: Some(Property::Assert),
        rules: [],
    }
    FINAL_VIOLATED {
        code: "assert::final-violated",
        page: "assert-final-violated",
        summary: "a condition on final memory fails in some execution",
        property: Some(Property::Assert),
        rules: [],
    }
}
