//! PTX's words for how an operation synchronizes, shared by programs, events and memory models.

use std::fmt;

/// The set of threads with which a strong operation may synchronize, narrowest first.
///
/// Source: PTX ISA 9.4 §8.5. A warp is not a scope.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Scope {
    /// Threads of the same CTA.
    Cta,
    /// Threads of the same cluster.
    Cluster,
    /// Threads on the same device.
    Gpu,
    /// All threads, the host included.
    Sys,
}

impl Scope {
    /// All scopes, narrowest first.
    pub const ALL: [Self; 4] = [Self::Cta, Self::Cluster, Self::Gpu, Self::Sys];

    /// The one that PTX spells so.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "cta" => Some(Self::Cta),
            "cluster" => Some(Self::Cluster),
            "gpu" => Some(Self::Gpu),
            "sys" => Some(Self::Sys),
            _ => None,
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cta => "cta",
            Self::Cluster => "cluster",
            Self::Gpu => "gpu",
            Self::Sys => "sys",
        })
    }
}

/// How a memory operation orders others. `Volatile` and `Mmio` are `Relaxed` with scope `.sys` for the model.
///
/// Source: MM-12, MM-13, MM-14 — PTX ISA 9.4 §8.4.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Sem {
    /// Not strong: never synchronizes, may race.
    Weak,
    /// Strong, without order of its own.
    Relaxed,
    /// Strong; a read (or the read part) that acquires.
    Acquire,
    /// Strong; a write (or the write part) that releases.
    Release,
    /// Both, on an atomic.
    AcqRel,
    /// `.volatile`: `.relaxed.sys` to the model.
    Volatile,
    /// `.mmio`: strong, `.sys`, global memory only.
    Mmio,
}

impl Sem {
    /// The one that PTX spells so.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "weak" => Some(Self::Weak),
            "relaxed" => Some(Self::Relaxed),
            "acquire" => Some(Self::Acquire),
            "release" => Some(Self::Release),
            "acq_rel" => Some(Self::AcqRel),
            "volatile" => Some(Self::Volatile),
            "mmio" => Some(Self::Mmio),
            _ => None,
        }
    }
}

impl fmt::Display for Sem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Weak => "weak",
            Self::Relaxed => "relaxed",
            Self::Acquire => "acquire",
            Self::Release => "release",
            Self::AcqRel => "acq_rel",
            Self::Volatile => "volatile",
            Self::Mmio => "mmio",
        })
    }
}

/// The `.sem` of a thread fence.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum FenceSem {
    /// Release and acquire, and a member of the Fence-SC order (FN-4).
    Sc,
    /// Release and acquire (FN-5).
    AcqRel,
    /// Acquire only (FN-6).
    Acquire,
    /// Release only (FN-6).
    Release,
}

impl FenceSem {
    /// The one that PTX spells so.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "sc" => Some(Self::Sc),
            "acq_rel" => Some(Self::AcqRel),
            "acquire" => Some(Self::Acquire),
            "release" => Some(Self::Release),
            _ => None,
        }
    }
}

impl fmt::Display for FenceSem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sc => "sc",
            Self::AcqRel => "acq_rel",
            Self::Acquire => "acquire",
            Self::Release => "release",
        })
    }
}

/// The objects a restricted fence is about (`.sync_restrict::…`).
///
/// Source: FN-7, FN-8, FN-15 … FN-17.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum SyncRestrict {
    /// `shared::cta`: shared memory of the own CTA; on release fences.
    SharedCta,
    /// `shared::cluster`: shared memory of the cluster, the own CTA's included; on acquire fences.
    SharedCluster,
    /// `shared::cluster::read`: reads of shared memory of the cluster; on release proxy fences.
    SharedClusterRead,
}

impl fmt::Display for SyncRestrict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SharedCta => "shared::cta",
            Self::SharedCluster => "shared::cluster",
            Self::SharedClusterRead => "shared::cluster::read",
        })
    }
}

/// How far a `MEMBAR` reaches: the pool of those who see the accesses before it ahead of those after it, smallest first.
/// Each pool holds the one before it.
///
/// Source: SPA-2.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum MembarLevel {
    /// Threads of the same CTA.
    Cta,
    /// All SMs of the device, and other clients on the same virtual channel.
    Channel,
    /// All clients of the device.
    Global,
    /// Everybody, the host and peers included.
    System,
}

impl MembarLevel {
    /// All levels, cheapest first.
    pub const ALL: [Self; 4] = [Self::Cta, Self::Channel, Self::Global, Self::System];

    /// The one that an opcode spells `text`.
    pub fn from_name(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.name() == text)
    }

    /// As the opcode spells it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cta => "CTA",
            Self::Channel => "VC",
            Self::Global => "GL",
            Self::System => "SYS",
        }
    }
}

impl fmt::Display for MembarLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Which L1 caches are invalidated as a whole.
///
/// Source: SPA-5.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Invalidation {
    /// The data L1 (`CCTL.D.IVALL`).
    pub data: bool,
    /// The texture L1 (`CCTLT.IVALL`).
    pub texture: bool,
}

impl Invalidation {
    /// The suffix of `MEMBAR`, without dot; nothing if nothing is invalidated.
    pub fn suffix(self) -> Option<&'static str> {
        match (self.data, self.texture) {
            (false, false) => None,
            (true, false) => Some("IVALLD"),
            (false, true) => Some("IVALLT"),
            (true, true) => Some("IVALLTD"),
        }
    }
}

/// Who takes part in a launch of an SPA machine without being a thread of an SM.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Client {
    /// A copy engine of the first device.
    CopyEngine,
    /// The host.
    Host,
}

impl Client {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::CopyEngine, Self::Host];

    /// As a kernel file calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::CopyEngine => "copy_engine",
            Self::Host => "host",
        }
    }

    /// As a report calls it.
    pub fn title(self) -> &'static str {
        match self {
            Self::CopyEngine => "the copy engine",
            Self::Host => "the host",
        }
    }

    /// What `client` blocks compare with: 0 is an SM thread.
    pub fn number(self) -> u32 {
        match self {
            Self::CopyEngine => 1,
            Self::Host => 2,
        }
    }
}

/// A state space an object can live in.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Space {
    /// One instance for all threads.
    Global,
    /// One instance per CTA.
    Shared,
    /// One instance per thread: registers that asynchronous matrix operations access.
    Register,
    /// One instance per CTA: tensor memory, which only `tcgen05` instructions access.
    Tensor,
    /// Kernel parameters (`__grid_constant__`), read-only; tensor maps only.
    Param,
}

impl fmt::Display for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Global => "global",
            Self::Shared => "shared",
            Self::Register => "register",
            Self::Tensor => "tmem",
            Self::Param => "param",
        })
    }
}

/// How an object in global memory is spread over the devices of a launch.
///
/// Source: PTX ISA 9.4 §8.2.3 (MM-7).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Replication {
    /// One instance for all of them, or whatever its state space says.
    #[default]
    Single,
    /// One instance in the memory of each device; its name is the address of the own device's.
    Symmetric,
    /// The multimem address of a symmetric object: all instances at once.
    Multimem,
}

impl Replication {
    /// The keyword of its declarations, where the state space is not it.
    pub fn keyword(self) -> Option<&'static str> {
        match self {
            Self::Single => None,
            Self::Symmetric => Some("symmetric"),
            Self::Multimem => Some("multimem"),
        }
    }
}

/// A method of access (MM-15). Accesses of the same bytes by different methods see one another only across a proxy fence.
///
/// Source: PTX ISA 9.4 §8.6; texture, surface and constant as in NVIDIA's formal model of PTX 7.5 (MM-2).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Proxy {
    /// `ld`, `st`, `atom`, `red`.
    #[default]
    Generic,
    /// `tex`.
    Texture,
    /// `suld`, `sust`, `sured`.
    Surface,
    /// `ld.const`.
    Constant,
    /// Bulk copies and matrix units.
    Async,
    /// Reads of tensor maps by tensor copies.
    Tensormap,
}

impl Proxy {
    /// Those of the formal model of PTX 7.5, the generic one first.
    pub const FORMAL: [Self; 4] = [Self::Generic, Self::Texture, Self::Surface, Self::Constant];

    /// The one of the formal model that is called `name`.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::FORMAL.into_iter().find(|proxy| proxy.name() == name)
    }

    /// Its name, as litmus files and fences spell it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Generic => "generic",
            Self::Texture => "texture",
            Self::Surface => "surface",
            Self::Constant => "constant",
            Self::Async => "async",
            Self::Tensormap => "tensormap",
        }
    }
}

impl fmt::Display for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a bidirectional `fence.proxy` lies between (FN-11, FN-25).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ProxyFence {
    /// `fence.proxy.alias`: the virtual addresses of a location.
    Alias,
    /// `fence.proxy.texture` and so on: the generic proxy and this one. Only in the formal model of PTX 7.5.
    With(Proxy),
}

impl ProxyFence {
    /// The proxy whose accesses it makes known to the generic proxy, and the other way round; none for `.alias`.
    pub fn proxy(self) -> Option<Proxy> {
        match self {
            Self::Alias => None,
            Self::With(proxy) => Some(proxy),
        }
    }
}

impl fmt::Display for ProxyFence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Alias => "alias",
            Self::With(proxy) => proxy.name(),
        })
    }
}
