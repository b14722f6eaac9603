//! The one definition of "same location": physical bytes, with the virtual mapping beside it.
//!
//! Bounds, encoder, re-check and reports all ask here. Source: MM-5, A-1, A-2 — PTX ISA 9.4 §8.2.

use crate::event::cell::possible_offsets;
use crate::event::{Access, EventGraph, TermPool, TermRef};
use fencepost_dsl::kernel::program::BinaryOp;

/// How two accesses can meet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Overlap {
    /// No common byte in any execution.
    Never,
    /// A common byte whenever both happen.
    Always,
    /// It depends on symbolic addresses.
    Sometimes,
}

/// Whether two accesses have a common byte.
pub fn overlap(graph: &EventGraph, a: &Access, b: &Access) -> Overlap {
    if a.location != b.location {
        return Overlap::Never;
    }
    let terms = &graph.terms;
    if let (Some(a_start), Some(b_start)) = (terms.constant_value(a.offset), terms.constant_value(b.offset)) {
        let meets =
            a_start < b_start + u128::from(b.width_bytes) && b_start < a_start + u128::from(a.width_bytes);
        return if meets { Overlap::Always } else { Overlap::Never };
    }
    if a.offset == b.offset {
        return Overlap::Always;
    }
    if terms.low_bits(a.offset).are_apart(a.width_bytes, terms.low_bits(b.offset), b.width_bytes) {
        return Overlap::Never;
    }
    let size = graph.locations[a.location].size_bytes;
    let (a_range, b_range) = (possible_offsets(terms, a, size), possible_offsets(terms, b, size));
    let apart = a_range.end() + a.width_bytes <= *b_range.start()
        || b_range.end() + b.width_bytes <= *a_range.start();
    if apart { Overlap::Never } else { Overlap::Sometimes }
}

/// Whether two accesses cover exactly the same bytes.
pub fn complete_overlap(graph: &EventGraph, a: &Access, b: &Access) -> Overlap {
    if a.width_bytes == b.width_bytes { overlap(graph, a, b) } else { Overlap::Never }
}

/// The condition for a common byte, given that both accesses happen (and hence are naturally aligned).
pub fn overlap_term(terms: &mut TermPool, a: &Access, b: &Access) -> TermRef {
    if a.location != b.location {
        return TermPool::FALSE;
    }
    let (small, large) = if a.width_bytes <= b.width_bytes { (a, b) } else { (b, a) };
    if small.width_bytes == large.width_bytes {
        return terms.equal(a.offset, b.offset);
    }
    let alignment = terms.constant(!u128::from(large.width_bytes - 1), 32);
    let aligned = terms.binary(BinaryOp::And, small.offset, alignment);
    terms.equal(aligned, large.offset)
}
