//! Every axiom of the three models earns its place: without it, some shape of the corpus does something else. Those that
//! cannot are listed, each with the reason, and then no shape may do anything else.

use crate::ask::ask;
use crate::table::{Behaviour, MODELS};
use crate::{Shape, models, on_all, shapes};
use fencepost_dsl::cat::memory_model::MemoryModel;

/// What the corpus cannot show.
const NO_MBARRIERS: &str = "about the phases of mbarriers, of which the corpus has none";

/// What the corpus cannot show; a fixed shape of `oracle_tensor` does.
const NO_TENSOR_MEMORY: &str = "about tensor memory, of which the corpus has none";

/// What the corpus cannot show.
const GENERATIONS_BY_COUNT: &str = "about barriers at which a thread arrives without waiting, or whose count leaves open \
    who meets; the corpus has none";

/// Why dropping an axiom changes nothing.
const FIRST_BY_CONSTRUCTION: &str = "the base relation `co` starts with the initial write (MM-10); \
    the axiom says so for readers, and for tools that have it otherwise";
const ORDER_BY_CONSTRUCTION: &str = "the base relation `sync_fence` is an acyclic order that relates every pair of \
    `fence.sc` in each other's scope (MM-32); the axiom says so for readers, and for tools that have it otherwise";
const TWO_STEP_CYCLE: &str = "reading from a write and from before it is a cycle of two morally strong steps, \
    which SC per location forbids";
/// The steps of a cycle are between operations of the same bytes, and a step to or from a read stands for one between
/// writes. What a thread reads and then overwrites (or another thread's write, read before the own one) is in coherence
/// before the own write, by an observation (MM-42, AX-1). What is left is a write, the own read of something older than
/// another thread's write, and that write: against causality order (AX-6) as soon as coherence leads from the latter back
/// to the former, and it does where both are in each other's scope (MM-43). Scopes are nested, so in a cycle some two
/// neighbours are, and the cycle can be shortened.
const THROUGH_OBSERVATION: &str = "between operations that overlap completely, a cycle of program order and morally \
    strong communication contradicts coherence or causality order, since an observation orders what follows it";
/// Let an execution satisfy all other axioms, with base causality `bc`, and let `bc0` be `bc` without Fence-SC edges.
/// `bc0` has no cycle: one of program order and barriers is a circular justification; one through a release pattern
/// has a path from the read back to the write it observes (of one location and mapping), against causality. So each set
/// of fences that are on a cycle of `bc` can be put in an order that agrees with `bc0`. That order is a Fence-SC order
/// again, all its edges are in `bc`, and with it nothing on the list of what must not be gets larger. Hence the same
/// values are there in an execution that satisfies this axiom; races can only become more.
const CAN_BE_REORDERED: &str = "a Fence-SC order against causality can be replaced by one along it: it relates less, \
    so the same values are reached, with the same races or more";

/// Model, axiom, and the shape that notices or the reason why none does.
const AXIOMS: &[(&str, &str, Place)] = &[
    ("ptx", "coherence", Notices("two-writes/ww-release-acquire")),
    ("ptx", "coherence-of-strong-writes", Notices("coherence/corr-two-writers-two-readers")),
    ("ptx", "fence-sc-order", Implied(ORDER_BY_CONSTRUCTION)),
    ("ptx", "fence-sc", Implied(CAN_BE_REORDERED)),
    ("ptx", "single-copy-atomicity", Implied(TWO_STEP_CYCLE)),
    ("ptx", "atomicity", Notices("atomics/two-adds")),
    ("ptx", "no-thin-air", Notices("load-buffering/lb-data-late-writer")),
    ("ptx", "sc-per-location", Implied(THROUGH_OBSERVATION)),
    ("ptx", "causality-order", Notices("message-passing/mp-guarded")),
    ("ptx", "tensor-memory-order", Implied(NO_TENSOR_MEMORY)),
    ("ptx", "barriers-in-causality", Implied(GENERATIONS_BY_COUNT)),
    ("ptx", "barriers-in-order", Implied(GENERATIONS_BY_COUNT)),
    ("ptx", "phases-in-order", Implied(NO_MBARRIERS)),
    ("ptx-7.5", "initial-write-first", Implied(FIRST_BY_CONSTRUCTION)),
    ("ptx-7.5", "coherence", Notices("two-writes/ww-release-acquire")),
    ("ptx-7.5", "coherence-of-strong-writes", Notices("coherence/corr-two-writers-two-readers")),
    ("ptx-7.5", "fence-sc-order", Implied(ORDER_BY_CONSTRUCTION)),
    ("ptx-7.5", "fence-sc", Implied(ORDER_BY_CONSTRUCTION)),
    ("ptx-7.5", "single-copy-atomicity", Notices("mixed-size/torn-read")),
    ("ptx-7.5", "atomicity", Notices("atomics/two-adds")),
    ("ptx-7.5", "no-thin-air", Notices("load-buffering/lb-data-late-writer")),
    ("ptx-7.5", "causality-order", Notices("message-passing/mp-guarded")),
    ("ptx-7.5", "no-circular-justification", Notices("barriers/barriers-crossed")),
    ("ptx-6.0", "initial-write-first", Implied(FIRST_BY_CONSTRUCTION)),
    ("ptx-6.0", "coherence", Notices("two-writes/ww-release-acquire")),
    ("ptx-6.0", "coherence-of-strong-writes", Notices("coherence/corr-two-writers-two-readers")),
    ("ptx-6.0", "fence-sc-order", Implied(ORDER_BY_CONSTRUCTION)),
    ("ptx-6.0", "fence-sc", Implied(CAN_BE_REORDERED)),
    ("ptx-6.0", "single-copy-atomicity", Implied(TWO_STEP_CYCLE)),
    ("ptx-6.0", "atomicity", Notices("atomics/two-adds")),
    ("ptx-6.0", "no-thin-air", Notices("load-buffering/lb-data-late-writer")),
    ("ptx-6.0", "sc-per-location", Notices("coherence/cowr")),
    ("ptx-6.0", "causality-order", Notices("message-passing/mp-guarded")),
    ("ptx-6.0", "no-circular-justification", Notices("barriers/barriers-crossed")),
];

#[derive(Clone, Copy, Debug)]
enum Place {
    /// This shape does something else without the axiom.
    Notices(&'static str),
    /// No shape does, for this reason.
    Implied(&'static str),
}
use Place::{Implied, Notices};

/// What a shape does under the model without an axiom, and with it.
fn without(shape: &Shape, at: usize, model: &MemoryModel, axiom: &str) -> Result<[Behaviour; 2], String> {
    let mut model = model.clone();
    let before = model.axioms.len();
    model.axioms.retain(|own| own.name != axiom);
    assert_eq!(model.axioms.len() + 1, before, "{} has one axiom {axiom}", MODELS[at]);
    let expected = shape.expectation()?;
    let (_, program) = shape.programs()?.remove(0);
    let answer = ask(&program, &model, &expected.observed, &expected.behaviours[at])?;
    Ok([answer.behaviour, expected.behaviours[at].clone()])
}

#[test]
fn every_axiom_is_listed() {
    for (name, model) in MODELS.into_iter().zip(models()) {
        let listed = AXIOMS.iter().filter(|(of, ..)| *of == name).map(|&(_, axiom, _)| axiom);
        let own = model.axioms.iter().map(|axiom| axiom.name.as_str());
        assert!(own.eq(listed), "{name}: the list has other axioms");
    }
}

#[test]
fn every_axiom_earns_its_place() {
    let (shapes, models) = (shapes(), models());
    for &(name, axiom, place) in AXIOMS {
        let Notices(shape) = place else { continue };
        let at = MODELS.iter().position(|own| *own == name).expect("a model of ours");
        let shape = shapes.iter().find(|own| own.name == shape).unwrap_or_else(|| panic!("no shape {shape}"));
        match without(shape, at, &models[at], axiom) {
            Ok([found, expected]) => {
                assert_ne!(found.states, expected.states, "{name}: {} does not need {axiom}", shape.name);
            }
            // Values that justify themselves may be any.
            Err(message) => {
                assert!(message.starts_with("no end of final states"), "{name}: {message}");
                assert_eq!(axiom, "no-thin-air", "{name}: {} has any value without {axiom}", shape.name);
            }
        }
    }
}

#[test]
fn implied_axioms_change_nothing() {
    let (shapes, models) = (shapes(), models());
    for &(name, axiom, place) in AXIOMS {
        let Implied(reason) = place else { continue };
        let at = MODELS.iter().position(|own| *own == name).expect("a model of ours");
        let complaints = on_all(&shapes, |shape| match without(shape, at, &models[at], axiom)? {
            [found, expected] if found == expected => Ok(()),
            [found, expected] => Err(format!("{found:?}, and with it {expected:?}")),
        });
        assert!(complaints.is_empty(), "{name}, {axiom}: {reason}, and yet\n{}", complaints.join("\n"));
    }
}
