//! Threads and the nested groups they live in: gpu, cluster, CTA, warp, lane.
//!
//! An asynchronous operation is an agent of its own (MM-27, AS-5): nothing it does is in its issuer's program order. It
//! lives where its issuer does.
//!
//! A kernel's threads form a grid; those of a litmus test live where it says, each in a warp of its own and each CTA in a
//! cluster of its own.

mod spa;

use super::{AgentId, CtaId};
use fencepost_dsl::IndexVec;
use fencepost_dsl::index::Id;
use fencepost_dsl::kernel::program::{Coordinate, Launch};
use fencepost_dsl::vocabulary::{Client, Scope};
use std::collections::BTreeMap;
use std::fmt;

/// Where a thread lives. All counts start at 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Thread {
    /// Device.
    pub gpu: u32,
    /// Cluster on its device.
    pub cluster: u32,
    /// CTA rank in its cluster.
    pub cta: u32,
    /// Warp in its CTA.
    pub warp: u32,
    /// Lane in its warp.
    pub lane: u32,
}

/// All threads of a launch, in order of (gpu, cluster, cta, warp, lane), and then its asynchronous operations.
#[derive(Clone, Debug)]
pub struct Hierarchy {
    /// The shape.
    pub launch: Launch,
    /// Where each agent lives.
    pub threads: IndexVec<AgentId, Thread>,
    n_threads: usize,
    /// Of each asynchronous operation, in order.
    operations: Vec<Operation>,
    /// The threads of each CTA, ascending.
    ctas: IndexVec<CtaId, Vec<AgentId>>,
    cta_of: IndexVec<AgentId, CtaId>,
    /// The last threads, if clients of an SPA machine take part: each in a CTA of its own, of no SM.
    clients: Vec<Client>,
}

/// An asynchronous operation.
#[derive(Clone, Debug)]
pub struct Operation {
    /// The thread that started it.
    pub issuer: AgentId,
    /// As people call it: `bulk copy`.
    pub name: String,
}

impl Hierarchy {
    /// The threads of `launch`.
    pub fn new(launch: &Launch) -> Self {
        let mut threads = IndexVec::new();
        if let Some(placement) = &launch.placement {
            let mut n_warps: BTreeMap<(u32, u32), u32> = BTreeMap::new();
            for place in placement {
                let warp = n_warps.entry((place.gpu, place.cta)).or_default();
                threads.push(Thread { gpu: place.gpu, cluster: place.cta, cta: 0, warp: *warp, lane: 0 });
                *warp += 1;
            }
            return Self::of_threads(launch, threads);
        }
        for gpu in 0..launch.gpus {
            for cluster in 0..launch.clusters {
                for cta in 0..launch.ctas {
                    for warp in 0..launch.warps {
                        for lane in 0..launch.lanes {
                            threads.push(Thread { gpu, cluster, cta, warp, lane });
                        }
                    }
                }
            }
        }
        let clients = spa::clients(launch);
        for (number, _) in (0_u32..).zip(&clients) {
            // Behind the last cluster: in no other thread's CTA.
            threads.push(Thread { gpu: 0, cluster: launch.clusters + number, cta: 0, warp: 0, lane: 0 });
        }
        Self { clients, ..Self::of_threads(launch, threads) }
    }

    fn of_threads(launch: &Launch, threads: IndexVec<AgentId, Thread>) -> Self {
        let mut numbers: BTreeMap<(u32, u32, u32), CtaId> = BTreeMap::new();
        let mut ctas: IndexVec<CtaId, Vec<AgentId>> = IndexVec::new();
        let mut cta_of = IndexVec::new();
        for (agent, thread) in threads.iter_enumerated() {
            let place = (thread.gpu, thread.cluster, thread.cta);
            let cta = *numbers.entry(place).or_insert_with(|| ctas.push(Vec::new()));
            ctas[cta].push(agent);
            cta_of.push(cta);
        }
        let n_threads = threads.len();
        let (launch, operations, clients) = (launch.clone(), Vec::new(), Vec::new());
        Self { launch, threads, n_threads, operations, ctas, cta_of, clients }
    }

    /// A new agent for an operation that a thread starts.
    pub fn add_operation(&mut self, issuer: AgentId, name: impl Into<String>) -> AgentId {
        let (place, cta) = (self.threads[issuer], self.cta_of[issuer]);
        self.operations.push(Operation { issuer, name: name.into() });
        self.cta_of.push(cta);
        self.threads.push(place)
    }

    /// The asynchronous operation that an agent is; `None` for a thread.
    pub fn operation(&self, agent: AgentId) -> Option<&Operation> {
        self.operations.get(agent.index().checked_sub(self.n_threads)?)
    }

    /// Whether an agent is an asynchronous operation and no thread.
    pub fn is_operation(&self, agent: AgentId) -> bool {
        self.operation(agent).is_some()
    }

    /// The thread that an agent is, or that started it.
    pub fn issuer(&self, agent: AgentId) -> AgentId {
        self.operation(agent).map_or(agent, |operation| operation.issuer)
    }

    /// The thread's CTA, counted over the whole launch.
    pub fn cta_of(&self, agent: AgentId) -> CtaId {
        self.cta_of[agent]
    }

    /// The CTA of a rank in the thread's cluster.
    pub fn peer(&self, agent: AgentId, rank: u32) -> CtaId {
        let own = self.cta_of(agent);
        CtaId(own.0 - self.threads[agent].cta + rank)
    }

    /// The thread's cluster, counted over the whole launch.
    pub fn cluster_of(&self, agent: AgentId) -> u32 {
        let own = self.cta_of(agent).0;
        if self.launch.placement.is_some() { own } else { own / self.launch.ctas }
    }

    /// Number of clusters of the launch.
    pub fn n_clusters(&self) -> u32 {
        self.agents().map(|agent| self.cluster_of(agent) + 1).max().unwrap_or(0)
    }

    /// How people call a CTA of the launch.
    pub fn describe_cta(&self, cta: CtaId) -> String {
        self.numbered("cta", cta.0, self.launch.clusters * self.launch.ctas)
    }

    /// How people call a cluster of the launch: by its CTA, if it has only one.
    pub fn describe_cluster(&self, cluster: u32) -> String {
        let what = if self.launch.ctas == 1 { "cta" } else { "cluster" };
        self.numbered(what, cluster, self.launch.clusters)
    }

    fn numbered(&self, what: &str, number: u32, per_gpu: u32) -> String {
        let name = format!("{what} {}", number % per_gpu);
        if self.launch.gpus > 1 { format!("{name} on gpu {}", number / per_gpu) } else { name }
    }

    /// The threads of a cluster.
    pub fn threads_of_cluster(&self, cluster: u32) -> impl Iterator<Item = AgentId> + use<'_> {
        self.agents().filter(move |&agent| self.cluster_of(agent) == cluster)
    }

    /// Number of CTAs of the launch.
    pub fn n_ctas(&self) -> u32 {
        self.ctas.next_id().0
    }

    /// The threads of a CTA.
    pub fn threads_of_cta(&self, cta: CtaId) -> impl Iterator<Item = AgentId> + use<'_> {
        self.ctas[cta].iter().copied()
    }

    /// The warp's number, counted over the whole launch.
    pub fn warp_of(&self, agent: AgentId) -> u32 {
        // In a litmus test each thread is a warp.
        if self.launch.placement.is_some() { agent.0 } else { agent.0 / self.launch.lanes }
    }

    /// Whether `b` is in scope `scope` as seen from `a`.
    ///
    /// Source: PTX ISA 9.4 §8.5.
    pub fn in_scope(&self, a: AgentId, b: AgentId, scope: Scope) -> bool {
        let (a, b) = (self.threads[a], self.threads[b]);
        match scope {
            Scope::Cta => (a.gpu, a.cluster, a.cta) == (b.gpu, b.cluster, b.cta),
            Scope::Cluster => (a.gpu, a.cluster) == (b.gpu, b.cluster),
            Scope::Gpu => a.gpu == b.gpu,
            Scope::Sys => true,
        }
    }

    /// The narrowest scope in which the two threads see each other.
    pub fn common_scope(&self, a: AgentId, b: AgentId) -> Scope {
        Scope::ALL.into_iter().find(|&scope| self.in_scope(a, b, scope)).unwrap_or(Scope::Sys)
    }

    /// The value of a special register for a thread.
    pub fn coordinate(&self, agent: AgentId, coordinate: Coordinate) -> u32 {
        let thread = self.threads[agent];
        let launch = &self.launch;
        match coordinate {
            Coordinate::Tid => thread.warp * launch.lanes + thread.lane,
            Coordinate::Ntid => launch.warps * launch.lanes,
            Coordinate::Laneid => thread.lane,
            Coordinate::Warpid => thread.warp,
            Coordinate::Nwarpid => launch.warps,
            Coordinate::Ctaid => thread.cluster * launch.ctas + thread.cta,
            Coordinate::Nctaid => launch.clusters * launch.ctas,
            Coordinate::Clusterid => thread.cluster,
            Coordinate::Nclusterid => launch.clusters,
            Coordinate::ClusterCtarank => thread.cta,
            Coordinate::ClusterNctarank => launch.ctas,
            Coordinate::Gpuid => thread.gpu,
            Coordinate::Ngpuid => launch.gpus,
            Coordinate::Client => self.client(agent).map_or(0, Client::number),
            Coordinate::Thread => agent.0,
        }
    }

    /// How people say which thread: only the coordinates that the launch has more than one of.
    pub fn describe(&self, agent: AgentId) -> String {
        if let Some(operation) = self.operation(agent) {
            return format!("a {} of {}", operation.name, self.describe(operation.issuer));
        }
        if let Some(client) = self.client(agent) {
            return client.title().to_owned();
        }
        let thread = self.threads[agent];
        let launch = &self.launch;
        if launch.placement.is_some() {
            return format!("P{}", agent.0);
        }
        let mut text = format!("tid {}", self.coordinate(agent, Coordinate::Tid));
        if launch.ctas * launch.clusters > 1 {
            text += &format!(" of cta {}", self.coordinate(agent, Coordinate::Ctaid));
        }
        if launch.clusters > 1 && launch.ctas > 1 {
            text += &format!(" (cluster {}, rank {})", thread.cluster, thread.cta);
        }
        if launch.gpus > 1 {
            text += &format!(" on gpu {}", thread.gpu);
        }
        text
    }

    /// Number of threads.
    pub fn n_threads(&self) -> usize {
        self.n_threads
    }

    /// All threads.
    pub fn agents(&self) -> impl Iterator<Item = AgentId> + use<> {
        (0..self.n_threads).map(AgentId::from_index)
    }
}

impl fmt::Display for Thread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "gpu {} cluster {} cta {} warp {} lane {}",
            self.gpu, self.cluster, self.cta, self.warp, self.lane
        )
    }
}
