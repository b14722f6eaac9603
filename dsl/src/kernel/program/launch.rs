//! Launches, and where a thread is in one.

use super::SpaLaunch;
use crate::span::Span;

/// The shape of a launch. Each dimension is at least 1.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Launch {
    /// `default` if the source gives none.
    pub name: String,
    /// Devices.
    pub gpus: u32,
    /// CTAs per device.
    pub ctas: u32,
    /// CTAs per cluster; divides `ctas`.
    pub cluster: u32,
    /// The CTAs of a cluster along each axis of the grid, where they do not all lie along its first axis that has more than one.
    pub cluster_axes: Option<[u32; 3]>,
    /// Warps per CTA.
    pub warps: u32,
    /// Threads per warp, at most 32.
    pub lanes: u32,
    /// The threads of a CTA along each axis, where they are not all along the first one: as many as in its warps.
    pub block: Option<[u32; 3]>,
    /// The CTAs of a device along each axis, where they are not all along the first one.
    pub grid: Option<[u32; 3]>,
    /// Whether it is a cooperative launch, all of whose CTAs run at the same time, on all devices (LT-5).
    pub cooperative: bool,
    /// Registers of each thread at the start, for `setmaxnreg` (AS-41); a warp stands for its warpgroup.
    pub registers: Option<u32>,
    /// Where it is declared; the kernel's name where it is not.
    pub span: Span,
    /// The threads one by one, where they form no grid (litmus tests); the dimensions then count nothing.
    pub placement: Option<Vec<Placement>>,
    /// Of a kernel for an SPA machine, where its CTAs run and who takes part besides; such a kernel is no PTX.
    pub spa: Option<SpaLaunch>,
}

impl Launch {
    /// A launch of a single thread.
    pub fn single(name: impl Into<String>, span: Span) -> Self {
        Self {
            name: name.into(),
            gpus: 1,
            ctas: 1,
            cluster: 1,
            cluster_axes: None,
            warps: 1,
            lanes: 1,
            block: None,
            grid: None,
            cooperative: false,
            registers: None,
            span,
            placement: None,
            spa: None,
        }
    }

    /// The threads of a CTA along each axis.
    pub fn block(&self) -> [u32; 3] {
        self.block.unwrap_or([self.warps * self.lanes, 1, 1])
    }

    /// The CTAs of a device along each axis.
    pub fn grid(&self) -> [u32; 3] {
        self.grid.unwrap_or([self.ctas, 1, 1])
    }

    /// The CTAs of a cluster along each axis.
    pub fn cluster(&self) -> [u32; 3] {
        self.cluster_axes.unwrap_or_else(|| {
            let mut sizes = [1; 3];
            let first = self.grid().iter().position(|&size| size > 1).unwrap_or(0);
            sizes[first] = self.cluster;
            sizes
        })
    }

    /// The clusters of a device along each axis.
    pub fn clusters(&self) -> [u32; 3] {
        let (grid, cluster) = (self.grid(), self.cluster());
        std::array::from_fn(|axis| grid[axis] / cluster[axis].max(1))
    }

    /// The index through all axes of a grid of the CTA of this rank in this cluster. Clusters are counted through the axes as
    /// CTAs are, and so are the CTAs of one.
    pub fn ctaid(&self, cluster: u32, rank: u32) -> u32 {
        if self.cluster_axes.is_none() {
            // One lies behind the other.
            return cluster * self.cluster + rank;
        }
        let (grid, sizes, clusters) = (self.grid(), self.cluster(), self.clusters());
        let (mut ctaid, mut step, mut cluster, mut rank) = (0, 1, cluster, rank);
        for axis in 0..3 {
            ctaid += (cluster % clusters[axis] * sizes[axis] + rank % sizes[axis]) * step;
            step *= grid[axis];
            (cluster, rank) = (cluster / clusters[axis], rank / sizes[axis]);
        }
        ctaid
    }

    /// A special register along one axis, for a thread whose indices through all axes are `tid` and `ctaid`: the first axis
    /// is counted fastest.
    pub fn along(&self, register: VectorRegister, axis: Axis, tid: u32, ctaid: u32) -> u32 {
        let axis = axis as usize;
        let at = |index: u32, sizes: [u32; 3]| {
            let step: u32 = sizes[..axis].iter().product();
            index / step % sizes[axis]
        };
        match register {
            VectorRegister::Tid => at(tid, self.block()),
            VectorRegister::Ntid => self.block()[axis],
            VectorRegister::Ctaid => at(ctaid, self.grid()),
            VectorRegister::Nctaid => self.grid()[axis],
            VectorRegister::ClusterCtaid => at(ctaid, self.grid()) % self.cluster()[axis],
            VectorRegister::ClusterNctaid => self.cluster()[axis],
            VectorRegister::Clusterid => at(ctaid, self.grid()) / self.cluster()[axis],
            VectorRegister::Nclusterid => self.clusters()[axis],
        }
    }

    /// Sizes along the axes, if they are not all along the first one.
    pub fn in_axes(sizes: [u32; 3]) -> Option<[u32; 3]> {
        (sizes[1] > 1 || sizes[2] > 1).then_some(sizes)
    }

    /// The lanes of each warp of a CTA with so many threads; `None` if one would not be full.
    pub fn lanes_of(threads: u64) -> Option<u32> {
        let lanes = u32::try_from(threads.min(32)).ok()?;
        threads.is_multiple_of(lanes.into()).then_some(lanes)
    }

    /// How many CTAs there are along an axis of the grid, and how many of a cluster, if they do not divide into clusters.
    pub fn uneven_row(&self) -> Option<(u32, u32)> {
        let along = self.grid().into_iter().zip(self.cluster());
        along.into_iter().find(|(ctas, of_cluster)| !ctas.is_multiple_of(*of_cluster))
    }

    /// Clusters per device.
    pub fn n_clusters(&self) -> u32 {
        self.ctas / self.cluster.max(1)
    }

    /// Whether all CTAs are known to run at the same time; those of one cluster always do (LT-5).
    ///
    /// Who waits for whom is not what litmus tests and kernels of SPA machines are checked for: all of them run.
    pub fn is_co_resident(&self) -> bool {
        self.cooperative || self.placement.is_some() || self.spa.is_some()
    }
}

/// Where one thread of a litmus test lives: alone in its warp, its CTA alone in its cluster.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Placement {
    /// Device.
    pub gpu: u32,
    /// CTA on its device.
    pub cta: u32,
}

/// A direction in which threads and CTAs are counted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[expect(missing_docs, reason = "PTX's names")]
pub enum Axis {
    X,
    Y,
    Z,
}

/// Special registers that are vectors, one element for each axis.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum VectorRegister {
    /// Thread index in the CTA.
    Tid,
    /// Threads per CTA.
    Ntid,
    /// CTA index in the grid of its device.
    Ctaid,
    /// CTAs in the grid of one device.
    Nctaid,
    /// CTA index in its cluster.
    ClusterCtaid,
    /// CTAs per cluster.
    ClusterNctaid,
    /// Cluster index in the grid of its device.
    Clusterid,
    /// Clusters in the grid of one device.
    Nclusterid,
}

impl VectorRegister {
    /// Whether it is a size, the same for all threads of a launch.
    pub fn is_size(self) -> bool {
        matches!(self, Self::Ntid | Self::Nctaid | Self::ClusterNctaid | Self::Nclusterid)
    }
}

/// PTX special registers (without `%`). Those that are vectors are there along each axis, and counted through all axes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Coordinate {
    /// Thread index in the CTA.
    Tid,
    /// Threads per CTA.
    Ntid,
    /// One element of a vector: `tid.y`.
    Along(VectorRegister, Axis),
    /// Thread index in the warp.
    Laneid,
    /// Warp index in the CTA.
    Warpid,
    /// Warps per CTA.
    Nwarpid,
    /// CTA index in the grid of its device.
    Ctaid,
    /// CTAs in the grid of one device.
    Nctaid,
    /// Cluster index on its device.
    Clusterid,
    /// Clusters per device.
    Nclusterid,
    /// CTA index in its cluster.
    ClusterCtarank,
    /// CTAs per cluster.
    ClusterNctarank,
    /// Device index.
    Gpuid,
    /// Number of devices.
    Ngpuid,
    /// 0 for a thread of an SM, else which client it is. No PTX register: `client` blocks of SPA kernels are chosen by it.
    Client,
    /// Thread index in the launch. No PTX register: litmus tests choose each thread's code by it.
    Thread,
}

impl Coordinate {
    /// Whether it is a dimension of the launch, the same for all its threads.
    pub fn is_dimension(self) -> bool {
        match self {
            Self::Along(register, _) => register.is_size(),
            Self::Ntid
            | Self::Nwarpid
            | Self::Nctaid
            | Self::Nclusterid
            | Self::ClusterNctarank
            | Self::Ngpuid => true,
            Self::Tid
            | Self::Laneid
            | Self::Warpid
            | Self::Ctaid
            | Self::Clusterid
            | Self::ClusterCtarank
            | Self::Gpuid
            | Self::Client
            | Self::Thread => false,
        }
    }
}
