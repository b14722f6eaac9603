//! Addresses that are numbers, as in PTX: which objects are where.
//!
//! Each state space has a window of generic addresses. Objects of global memory start at multiples of 2^32 of their own, so
//! that an address that leaves its object is in no other; the address of one in shared memory is its offset in the window,
//! and in that of a peer the peer's rank and one more stand above the offset.

use super::{ElementKind, ObjectId, RegisterId, Width};

/// Where shared memory starts in generic addresses.
pub const SHARED_WINDOW: u64 = 1 << 32;
/// Where a thread's local memory starts.
pub const LOCAL_WINDOW: u64 = 2 << 32;
/// Where the parameters start.
pub const PARAM_WINDOW: u64 = 3 << 32;
/// Where global memory starts.
pub const GLOBAL_WINDOW: u64 = 16 << 32;
/// Size of a window, and of what an object of global memory has to itself.
pub const WINDOW_BYTES: u64 = 1 << 32;
/// Bits of an address in shared memory that are the offset in a CTA's.
pub const RANK_SHIFT: u32 = 24;

/// The memory of a kernel whose addresses are numbers.
#[derive(Clone, Debug, Default)]
pub struct FlatMemory {
    /// What can be accessed, by address.
    pub objects: Vec<FlatObject>,
    /// Local memory and parameters: bytes that belong to each thread.
    pub private: Vec<Private>,
    /// The registers of the text, which hold anything before they are assigned.
    pub registers: Vec<RegisterId>,
}

/// Bytes of global or shared memory.
#[derive(Clone, Debug)]
pub struct FlatObject {
    /// Its name.
    pub name: String,
    /// Generic address of its first byte; in shared memory, as its own CTA has it.
    pub start: u64,
    /// Its size.
    pub bytes: u32,
    /// The object for each width at which it can be accessed.
    pub views: Vec<View>,
}

/// An object as seen by accesses of one width.
#[derive(Clone, Copy, Debug)]
pub struct View {
    /// Width of its elements.
    pub width: Width,
    /// What they are.
    pub element: ElementKind,
    /// The object, which starts where the bytes start.
    pub object: ObjectId,
}

/// Bytes of a thread, each a register of 8 bits.
#[derive(Clone, Debug)]
pub struct Private {
    /// Its name.
    pub name: String,
    /// Generic address of its first byte.
    pub start: u64,
    /// Its size.
    pub bytes: u32,
    /// The first byte; the others follow.
    pub first: RegisterId,
}

/// The state space that an instruction names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FlatSpace {
    /// None: a generic address.
    Generic,
    /// `.global`
    Global,
    /// `.shared`, of the own CTA.
    Shared,
    /// `.shared::cluster`
    Cluster,
    /// `.local` or `.param`
    Private,
}

impl FlatSpace {
    /// As messages name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Generic => "generic",
            Self::Global => "global",
            Self::Shared | Self::Cluster => "shared",
            Self::Private => "local",
        }
    }
}

impl FlatObject {
    /// Whether it is in shared memory.
    pub fn is_shared(&self) -> bool {
        self.start < LOCAL_WINDOW
    }
    /// The object for accesses of a width.
    pub fn view(&self, width: Width, element: ElementKind) -> Option<ObjectId> {
        self.views.iter().find(|view| view.width == width && view.element == element).map(|view| view.object)
    }
}
