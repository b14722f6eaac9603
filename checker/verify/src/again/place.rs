//! Where threads and memory are.

use super::Text;
use crate::graph::Graph;
use fencepost_dsl::kernel::program::{Coordinate, InitialBytes, Launch, Object};
use fencepost_dsl::vocabulary::{Replication, Scope, Space};

/// Where a thread is: device, cluster of the device, CTA of the cluster, warp, lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Thread {
    pub index: u32,
    pub gpu: u32,
    pub cluster: u32,
    pub rank: u32,
    pub warp: u32,
    pub lane: u32,
}

/// The threads of a launch, in their order.
pub fn threads(launch: &Launch) -> Vec<Thread> {
    let mut all = Vec::new();
    let mut push = |gpu, cluster, rank, warp, lane| {
        let index = u32::try_from(all.len()).unwrap_or(u32::MAX);
        all.push(Thread { index, gpu, cluster, rank, warp, lane });
    };
    if let Some(placement) = &launch.placement {
        // Each thread is alone in its warp; how the warps of a CTA are counted nobody can tell.
        placement.iter().for_each(|own| push(own.gpu, own.cta, 0, 0, 0));
        return all;
    }
    for gpu in 0..launch.gpus {
        for cta in 0..launch.ctas {
            for warp in 0..launch.warps {
                (0..launch.lanes)
                    .for_each(|lane| push(gpu, cta / launch.cluster, cta % launch.cluster, warp, lane));
            }
        }
    }
    all
}

impl Thread {
    /// Whether another thread is in a scope of this one.
    pub fn sees(self, scope: Scope, other: Self) -> bool {
        let same_cluster = self.gpu == other.gpu && self.cluster == other.cluster;
        match scope {
            Scope::Cta => same_cluster && self.rank == other.rank,
            Scope::Cluster => same_cluster,
            Scope::Gpu => self.gpu == other.gpu,
            Scope::Sys => true,
        }
    }

    pub fn coordinate(self, which: Coordinate, launch: &Launch) -> Result<u32, String> {
        Ok(match which {
            Coordinate::Tid => self.warp * launch.lanes + self.lane,
            Coordinate::Along(register, axis) => {
                let tid = self.warp * launch.lanes + self.lane;
                launch.along(register, axis, tid, launch.ctaid(self.cluster, self.rank))
            }
            Coordinate::Ntid => launch.warps * launch.lanes,
            Coordinate::Laneid => self.lane,
            Coordinate::Warpid => self.warp,
            Coordinate::Nwarpid => launch.warps,
            Coordinate::Ctaid => launch.ctaid(self.cluster, self.rank),
            Coordinate::Nctaid => launch.ctas,
            Coordinate::Clusterid => self.cluster,
            Coordinate::Nclusterid => launch.ctas / launch.cluster,
            Coordinate::ClusterCtarank => self.rank,
            Coordinate::ClusterNctarank => launch.cluster,
            Coordinate::Gpuid => self.gpu,
            Coordinate::Ngpuid => launch.gpus,
            Coordinate::Thread => self.index,
            Coordinate::Client => return Err("clients of an SPA machine".to_owned()),
        })
    }
}

/// The location of a graph that an object is in, as some thread sees it, `rank` being that of the CTA whose memory it is.
pub fn location(
    text: &Text<'_>,
    graph: &Graph,
    object: &Object,
    (thread, rank): (Thread, u32),
) -> Result<usize, String> {
    let name = &object.name;
    if object.replication != Replication::Single {
        return Err(format!("`{name}`, which each device has"));
    }
    let same = text.kernel.objects.iter().find(|own| own.storage == object.storage);
    let stem = same.map_or(name.as_str(), |own| own.name.as_str());
    let instance = match object.space {
        Space::Global | Space::Param => String::new(),
        Space::Shared => {
            let launch = text.launch;
            let cta = thread.cluster * launch.cluster + rank;
            let of_gpu = if launch.gpus > 1 { format!(" on gpu {}", thread.gpu) } else { String::new() };
            if launch.ctas > 1 || launch.gpus > 1 { format!(" of cta {cta}{of_gpu}") } else { String::new() }
        }
        _ => return Err(format!("`{name}`, which is neither in global nor in shared memory")),
    };
    let wanted = format!("{stem}{instance}");
    let found = graph.locations.iter().position(|own| *own == wanted);
    found.ok_or_else(|| format!("`{wanted}`, of which the graph has no location"))
}

/// The bytes that a storage starts with, if they are known.
pub fn initial<'a>(text: &Text<'a>, location: &str) -> Option<&'a [u8]> {
    let object = text.kernel.objects.iter().find(|own| {
        let rest = location.strip_prefix(own.name.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(" of ") || rest.starts_with(" on "))
    })?;
    match &text.kernel.storages[object.storage].initial {
        InitialBytes::Known(bytes) => Some(bytes),
        InitialBytes::Unknown => None,
    }
}
