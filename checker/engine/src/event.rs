//! The event graph: what one launch of a kernel can do, with all control flow turned into guards.
//!
//! After unrolling there are no loops and no branches, only events; each happens iff its guard, a term over unknowns,
//! is 1. A candidate execution is a value for every unknown plus a choice of reads-from, coherence and Fence-SC order.
//!
//! A thread may stop for good at an instruction that can block, so guards after such an instruction contain an unknown
//! that says it was passed, and executions range over all prefixes.

pub(crate) mod builder;
pub(crate) mod cell;
pub(crate) mod edges;
pub(crate) mod graph;
pub(crate) mod hierarchy;
pub(crate) mod kind;
mod multimem;
pub(crate) mod operation;
pub(crate) mod results;
pub(crate) mod spa;
pub(crate) mod support;
pub(crate) mod term;
pub(crate) mod values;

pub use fencepost_dsl::cat::memory_model::BaseRelation;

pub use builder::{GraphBuilder, GraphError};
pub use edges::{Bundle, Edge, Edges};
pub use graph::{
    Because, Blocked, ConditionGoal, Constraint, Event, EventGraph, Fact, FinalGoal, FinalLook, InstanceName,
    Location, LoopCut, LooseArrival, LooseBarrier, Mbarrier, Meeting, Misuse, Obligation, ObligationKind,
    PeerAccess, PhaseTerms, PhasedOperation, Reachable, Role, Site, Turn, Wait,
};
pub use hierarchy::{Grid, Hierarchy, Thread};
pub use kind::{
    Access, AtomicClass, CancelEvent, EventKind, GridEvent, MbarrierEvent, MbarrierRole, RestrictedFence,
    TensorEvent,
};
pub use operation::{Operation, OperationSort};
pub use spa::SpaEvent;
pub use term::{Restricted, TermKind, TermMark, TermPool, TermRef, Unknown, UnknownKind};

use fencepost_dsl::define_id;

define_id! {
    /// A thread of the launch, or an asynchronous operation that one started.
    pub struct AgentId;
    /// An event of the graph; ascending in program order within an agent; starts and ends of CTAs, then initial writes last.
    pub struct EventId;
    /// One instance of a storage: the kernel's (global) or one CTA's (shared).
    pub struct LocationId;
    /// An mbarrier object.
    pub struct MbarrierId;
    /// An unknown of the terms.
    pub struct UnknownId;
    /// A static instruction: a place in the source and its resolved opcode.
    pub struct SiteId;
    /// A CTA of the launch, counted over all clusters, devices and grids.
    pub struct CtaId;
    /// What one launch runs, in a program on one device.
    pub struct GridId;
}
