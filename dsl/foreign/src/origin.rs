//! Where a name comes from.

use std::fmt;

/// Who calls things so.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// Built into CUDA, or of its runtime.
    Cuda,
    /// `cooperative_groups`.
    Groups,
    /// `cuda::` and `cuda::std::`.
    Libcu,
    /// CUTLASS and CuTe.
    Cutlass,
    /// `tl.`
    Triton,
    /// `gl.`
    Gluon,
    /// Shared memory of many GPUs.
    Nvshmem,
    /// Collectives.
    Nccl,
    /// The language.
    Cpp,
    /// The language.
    Python,
    /// The language.
    Rust,
}

/// Each with what it is called, here and in `sheet.txt`.
const NAMES: &[(Origin, &str, &str)] = &[
    (Origin::Cuda, "CUDA", "CUDA"),
    (Origin::Groups, "cooperative groups", "groups"),
    (Origin::Libcu, "libcu++", "libcu++"),
    (Origin::Cutlass, "CUTLASS", "CUTLASS"),
    (Origin::Triton, "Triton", "Triton"),
    (Origin::Gluon, "Gluon", "Gluon"),
    (Origin::Nvshmem, "NVSHMEM", "NVSHMEM"),
    (Origin::Nccl, "NCCL", "NCCL"),
    (Origin::Cpp, "C++", "C++"),
    (Origin::Python, "Python", "Python"),
    (Origin::Rust, "Rust", "Rust"),
];

impl Origin {
    /// The one that `sheet.txt` calls so.
    pub(crate) fn named(name: &str) -> Option<Self> {
        NAMES.iter().find(|(.., own)| *own == name).map(|(origin, ..)| *origin)
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = NAMES.iter().find(|(origin, ..)| origin == self).map(|(_, name, _)| *name);
        f.write_str(name.unwrap_or_default())
    }
}
