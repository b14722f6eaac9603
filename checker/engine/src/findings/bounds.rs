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

misuses! {
    VECTOR_AT: MISALIGNED_VECTOR, "MM-8" {
        what: "accesses a vector of {bytes} bytes of `{object}` at byte {start}, which is no multiple of {bytes}",
        why: Values(
            "the elements of a vector are accessed at once, so its address is a multiple of their \
             size together"
        ),
        help: "make the index of the first element a multiple of the vector's length, or use scalar accesses",
    }
    VECTOR_SOMEWHERE: MISALIGNED_VECTOR, "MM-8" {
        what: "accesses a vector of {bytes} bytes of `{object}` at an address that may be no multiple of {bytes}",
        why: Values(
            "the elements of a vector are accessed at once, so its address is a multiple of their \
             size together"
        ),
        help: "make the index of the first element a multiple of the vector's length, or use scalar accesses",
    }
}
