//! Addresses that are numbers, as in PTX: which objects are where.
//!
//! Each state space has a window of generic addresses. Objects of global memory start at multiples of 2^32 of their own, so
//! that an address that leaves its object is in no other; the address of one in shared memory is its offset in the window,
//! and in that of a peer the peer's rank and one more stand above the offset.

use super::{ElementKind, Launch, ObjectId, RegisterId, Width};

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
    /// What its launches have to be like.
    pub required: Required,
}

/// What the launches of a kernel of a module have to be like.
#[derive(Clone, Debug, Default)]
pub struct Required {
    /// Threads per CTA along each axis, as `.reqntid` says.
    pub block: Option<[u32; 3]>,
    /// CTAs per cluster along each axis, as `.reqnctapercluster` says.
    pub cluster: Option<[u32; 3]>,
}

/// A launch that a module does not allow.
pub struct Unlike {
    /// The directive that says so, if it is one.
    pub directive: Option<&'static str>,
    /// What is wrong.
    pub message: String,
    /// What to write in an `import`.
    pub help: String,
}

impl Required {
    /// What about a launch is not as it has to be.
    pub fn unlike(&self, launch: &Launch) -> Option<Unlike> {
        let written = |sizes: [u32; 3]| {
            let axes = sizes.iter().rposition(|&size| size > 1).map_or(1, |last| last + 1);
            sizes[..axes].iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
        };
        if let Some(sizes) = self.cluster.filter(|&sizes| sizes != launch.cluster()) {
            let wanted = written(sizes);
            let message = format!("this kernel is launched in clusters of [{wanted}] CTAs, and no others");
            let help = if sizes == [sizes[0], 1, 1] {
                format!("write `cluster: {wanted}`, with that many CTAs along the first axis of the grid")
            } else {
                format!("write `cluster: [{wanted}]`, and a `grid` that it divides")
            };
            return Some(Unlike { directive: Some("reqnctapercluster"), message, help });
        }
        let sizes = self.block.filter(|&sizes| sizes != launch.block())?;
        let wanted = written(sizes);
        Some(Unlike {
            directive: Some("reqntid"),
            message: format!("this kernel is launched with [{wanted}] threads per CTA, and no others"),
            help: format!("write `block: [{wanted}]`"),
        })
    }
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
