//! Accesses that are no accesses of their object.

use super::Property;

kinds! {
    MISALIGNED_VECTOR {
        code: "bounds::misaligned-vector",
        page: "bounds-misaligned-vector",
        summary: "a vector access does not start at a multiple of its size",
        property: Some(Property::Bounds),
        rules: [],
    }
    OUT_OF_BOUNDS {
        code: "bounds::out-of-bounds",
        page: "bounds-out-of-bounds",
        summary: "an index lies outside its object",
        property: Some(Property::Bounds),
        rules: [],
    }
}
