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
    MISALIGNED {
        code: "bounds::misaligned",
        page: "bounds-misaligned",
        summary: "an address is no multiple of what is accessed there",
        property: Some(Property::Bounds),
        rules: [],
    }
    NO_OBJECT {
        code: "bounds::no-object",
        page: "bounds-no-object",
        summary: "an address is that of no object",
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
    MISALIGNED_NUMBER: MISALIGNED, "MM-8" {
        what: "accesses {bytes} bytes at an address that is no multiple of {bytes}",
        why: Values("what is accessed at once starts at a multiple of its size"),
        help: "look at the types of the pointers that this address is made of: one was cast to another that is wider",
    }
    NOWHERE: NO_OBJECT, "MM-8" {
        what: "accesses {bytes} bytes of {space} memory at an address that may be that of no object",
        why: Values("an access is one of an object, and this address can be outside of all that the kernel was given"),
        help: "limit the index that the address is made of, or declare the object as large as the buffer is that the \
               kernel gets",
    }
    NOWHERE_AT: NO_OBJECT, "MM-8" {
        what: "accesses {bytes} bytes of {space} memory at {address}, which is the address of no object",
        why: Values("an access is one of an object, and nothing that the kernel was given is there"),
        help: "limit the index that the address is made of, or declare the object as large as the buffer is that the \
               kernel gets",
    }
    BEHIND: NO_OBJECT, "MM-8" {
        what: "accesses {bytes} bytes of {space} memory {distance} of `{object}`, where no object is",
        why: Values("an access is one of an object, and nothing that the kernel was given is there"),
        help: "limit the index that the address is made of, or declare the object as large as the buffer is that the \
               kernel gets",
    }
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
