//! Who is taken along with a thread that a slice is around.

/// How far the surroundings of a thread go.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Reach {
    /// A thread that has to do with more others than this is looked at with each of them.
    pub partners_max: usize,
    /// Such threads at most.
    pub hubs_max: usize,
    /// Threads of a slice at most.
    pub threads_max: usize,
    /// Whether those are taken along who speak with other CTAs for one that has a thread in the slice.
    pub has_delegates: bool,
}

/// Enough where threads have to do with few others, and know of each other through them.
pub const NEAR: Reach = Reach { partners_max: 8, hubs_max: 8, threads_max: 32, has_delegates: false };
/// Where whole CTAs wait for each other.
pub const FAR: Reach = Reach { partners_max: 32, hubs_max: 32, threads_max: 64, has_delegates: true };
