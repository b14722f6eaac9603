//! What the editions of PTX read differently, as switches that the twin's loops look at.
//!
//! Written from the specification's §1 and §8 (the ids beside the fields), not from the model files. What all three read
//! alike is no switch: overlap per byte, a failed compare-and-swap that writes nothing, fence.sc in patterns,
//! observation closed in patterns, generic fences,
//! rf and fr as the communication of the causality axiom, partial coherence (MM-43), and that no wait justifies
//! itself in a circle. MM-21 needs no switch either: atomics that overlap partially race in every edition, and after such
//! a race final states are not compared (MM-20).

/// What AX-2 says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FenceSc {
    /// No pair of the order against base causality, with an observation in front or not.
    AgainstBaseCausality,
    /// No pair of the order against causality, which relates fences in that edition.
    AgainstCausality,
    /// Only that it is an order: causality relates no fences (A-12, read literally).
    OrderOnly,
}

/// What AX-5 says of program order next to morally strong communication.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ScPerLocation {
    /// It counts between morally strong operations: those that overlap completely. So the ISA words it.
    MorallyStrong,
    /// It counts between all that overlap.
    Overlapping,
    /// There is no such axiom.
    Absent,
}

/// Which branches count against thin air.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ControlDependencies {
    /// Those that decide about a store: whether it happens, the same store in the other arm included.
    OfStores,
    /// Every branch on the way to an event.
    All,
}

/// A reading of the memory model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Edition {
    /// The model file it is the twin of.
    pub name: &'static str,
    /// the read of a `red`, and of an `atom` with sink, acquires like any other.
    pub reductions_acquire: bool,
    /// that of an `atom` with sink does at least if the instruction says so.
    pub sinks_acquire: bool,
    /// a barrier that is passed because of an exit orders what came before that.
    pub exits_order: bool,
    /// observation order passes through read-modify-writes also in front of causality, not in patterns only.
    pub causality_through_atomics: bool,
    /// an alias is another virtual address; otherwise it is the location itself.
    pub tells_aliases_apart: bool,
    /// A multimem address is no other address of a location than its own one.
    pub multimem_is_no_alias: bool,
    /// MM-15: an access through another proxy is another kind of access; otherwise all are generic.
    pub tells_proxies_apart: bool,
    /// Two accesses "on M" in a pattern use the same virtual address.
    pub patterns_by_address: bool,
    /// base causality contains program order by itself; otherwise each of its paths has a synchronization on it.
    pub plain_program_order: bool,
    /// causality is about accesses of one location, preserved by proxies; otherwise about all events.
    pub causality_by_location: bool,
    ///
    pub fence_sc: FenceSc,
    ///
    pub control_dependencies: ControlDependencies,
    ///
    pub sc_per_location: ScPerLocation,
    /// MM-19: two accesses of one thread may race (through two virtual addresses).
    pub races_inside_threads: bool,
    /// what a wait has seen of an mbarrier comes before whatever is done there because of it, by strong operations of
    /// any sem; otherwise the order of an mbarrier's operations agrees with base causality only (MB-20).
    pub waits_decide: bool,
    /// values, and what lets threads go on, justify nothing in a circle, also not by turns; and behind a way that need
    /// not lead on, everything depends on how it was taken.
    pub past_joins: bool,
    /// what a `tcgen05` operation has read in shared memory is in order also with what came before it there.
    pub operands_carry: bool,
}

impl Edition {
    /// PTX ISA 9.x as the default model reads it.
    pub const PTX: Self = Self {
        name: "ptx",
        reductions_acquire: false,
        sinks_acquire: true,
        exits_order: false,
        causality_through_atomics: true,
        tells_aliases_apart: true,
        multimem_is_no_alias: false,
        tells_proxies_apart: true,
        patterns_by_address: false,
        plain_program_order: true,
        causality_by_location: true,
        fence_sc: FenceSc::AgainstBaseCausality,
        control_dependencies: ControlDependencies::OfStores,
        sc_per_location: ScPerLocation::MorallyStrong,
        races_inside_threads: true,
        waits_decide: true,
        past_joins: true,
        operands_carry: true,
    };
    /// The published formal model of PTX ISA 7.5.
    pub const PTX_7_5: Self = Self {
        name: "ptx-7.5",
        reductions_acquire: true,
        sinks_acquire: true,
        exits_order: false,
        causality_through_atomics: false,
        tells_aliases_apart: true,
        multimem_is_no_alias: false,
        tells_proxies_apart: true,
        patterns_by_address: true,
        plain_program_order: true,
        causality_by_location: true,
        fence_sc: FenceSc::OrderOnly,
        control_dependencies: ControlDependencies::All,
        sc_per_location: ScPerLocation::Absent,
        races_inside_threads: false,
        waits_decide: false,
        past_joins: false,
        operands_carry: true,
    };
    /// The published formal model of PTX ISA 6.0.
    pub const PTX_6_0: Self = Self {
        name: "ptx-6.0",
        reductions_acquire: true,
        sinks_acquire: true,
        exits_order: false,
        causality_through_atomics: true,
        tells_aliases_apart: false,
        multimem_is_no_alias: false,
        tells_proxies_apart: false,
        patterns_by_address: false,
        plain_program_order: false,
        causality_by_location: false,
        fence_sc: FenceSc::AgainstCausality,
        control_dependencies: ControlDependencies::All,
        sc_per_location: ScPerLocation::Overlapping,
        races_inside_threads: false,
        waits_decide: false,
        past_joins: false,
        operands_carry: true,
    };
    /// All of them, the default first.
    pub const ALL: [Self; 3] = [Self::PTX, Self::PTX_7_5, Self::PTX_6_0];
}
