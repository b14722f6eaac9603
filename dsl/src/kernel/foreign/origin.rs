//! Where a name comes from.

use std::fmt;

/// Who calls things so.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    Cuda,
    Groups,
    Libcu,
    Cutlass,
    Triton,
    Gluon,
    Nvshmem,
    Nccl,
    Cpp,
    Python,
    Rust,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cuda => "CUDA",
            Self::Groups => "cooperative groups",
            Self::Libcu => "libcu++",
            Self::Cutlass => "CUTLASS",
            Self::Triton => "Triton",
            Self::Gluon => "Gluon",
            Self::Nvshmem => "NVSHMEM",
            Self::Nccl => "NCCL",
            Self::Cpp => "C++",
            Self::Python => "Python",
            Self::Rust => "Rust",
        })
    }
}
