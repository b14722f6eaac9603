//! Threads and the nested groups they live in: gpu, cluster, CTA, warp, lane.
//!
//! An asynchronous operation is an agent of its own (MM-27, AS-5): nothing it does is in its issuer's program order. It
//! lives where its issuer does.
//!
//! A kernel's threads form a grid; those of a litmus test live where it says, each in a warp of its own and each CTA in a
//! cluster of its own. A program has a grid for each launch and device, and the host, which is alone in a scope of its own.

mod spa;

use super::{AgentId, CtaId, GridId, Operation, OperationSort};
use fencepost_dsl::IndexVec;
use fencepost_dsl::index::Id;
use fencepost_dsl::kernel::program::{Coordinate, Launch, PartId};
use fencepost_dsl::sorted::SortedMap;
use fencepost_dsl::vocabulary::{Client, Scope};
use std::fmt;

/// Where a thread lives. All counts start at 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Thread {
    /// Device; of the host, one that there is not.
    pub gpu: u32,
    /// Cluster on its device.
    pub cluster: u32,
    /// CTA rank in its cluster.
    pub rank: u32,
    /// Warp in its CTA.
    pub warp: u32,
    /// Lane in its warp.
    pub lane: u32,
}

/// All threads of a launch, in order of (grid, gpu, cluster, cta, warp, lane), and then its asynchronous operations.
#[derive(Clone, Debug)]
pub struct Hierarchy {
    /// The shape; of a program, that of its host.
    launch: Launch,
    /// Where each agent lives.
    pub threads: IndexVec<AgentId, Thread>,
    n_threads: usize,
    /// Of each asynchronous operation, in order.
    operations: Vec<Operation>,
    grids: IndexVec<GridId, Grid>,
    /// The threads of each CTA, ascending.
    ctas: IndexVec<CtaId, Vec<AgentId>>,
    grid_of: IndexVec<CtaId, GridId>,
    /// Counted over the whole launch.
    cluster_of: IndexVec<CtaId, u32>,
    cta_of: IndexVec<AgentId, CtaId>,
    /// The last threads, if clients of an SPA machine take part: each in a CTA of its own, of no SM.
    clients: Vec<Client>,
    /// Counted over the whole launch.
    warp_of: IndexVec<AgentId, u32>,
}

/// Threads that one launch runs.
#[derive(Clone, Debug)]
pub struct Grid {
    /// As people call it, in a program: `consume`, `consume #2`, `the host`.
    pub name: Option<String>,
    /// Its shape.
    pub launch: Launch,
    /// The device that it is on, if it is a part of a program's launch.
    pub gpu: Option<u32>,
    /// What it runs, in a program; not the host.
    pub part: Option<PartId>,
}

/// The device of the host, which is none.
const HOST: u32 = u32::MAX;

impl Hierarchy {
    /// The threads of `launch`.
    pub fn new(launch: &Launch) -> Self {
        let grid = Grid { name: None, launch: launch.clone(), gpu: None, part: None };
        let mut this = Self::empty(launch);
        let Some(placement) = &launch.placement else {
            this.add_grid(grid);
            this.add_clients(launch);
            return this;
        };
        let grid = this.grids.push(grid);
        let mut numbers: SortedMap<(u32, u32), CtaId> = SortedMap::new();
        for place in placement {
            let cta = match numbers.get(&(place.gpu, place.cta)) {
                Some(&cta) => cta,
                None => {
                    let cta = this.add_cta(grid);
                    // Alone in its cluster.
                    this.cluster_of.push(cta.0);
                    numbers.insert((place.gpu, place.cta), cta);
                    cta
                }
            };
            let warp = u32::try_from(this.ctas[cta].len()).unwrap_or(u32::MAX);
            let thread = Thread { gpu: place.gpu, cluster: place.cta, rank: 0, warp, lane: 0 };
            let number = u32::try_from(this.threads.len()).unwrap_or(u32::MAX);
            this.add_thread(thread, cta, number);
        }
        this
    }

    /// The threads of a program: its grids, and the host as the last.
    pub fn of_program(launch: &Launch, grids: Vec<Grid>) -> Self {
        let mut this = Self::empty(launch);
        for grid in grids {
            this.add_grid(grid);
        }
        let host = Grid { name: Some("the host".to_owned()), launch: launch.clone(), gpu: None, part: None };
        let grid = this.grids.push(host);
        let cta = this.add_cta(grid);
        let (cluster, warp) = (this.n_clusters(), this.n_warps());
        this.cluster_of.push(cluster);
        this.add_thread(Thread { gpu: HOST, cluster: 0, rank: 0, warp: 0, lane: 0 }, cta, warp);
        this
    }

    fn empty(launch: &Launch) -> Self {
        Self {
            launch: launch.clone(),
            threads: IndexVec::new(),
            n_threads: 0,
            operations: Vec::new(),
            grids: IndexVec::new(),
            ctas: IndexVec::new(),
            grid_of: IndexVec::new(),
            cluster_of: IndexVec::new(),
            cta_of: IndexVec::new(),
            clients: Vec::new(),
            warp_of: IndexVec::new(),
        }
    }

    fn add_grid(&mut self, grid: Grid) {
        let launch = grid.launch.clone();
        let gpus = grid.gpu.map_or(0..launch.gpus, |gpu| gpu..gpu + 1);
        let grid = self.grids.push(grid);
        for gpu in gpus {
            for cluster in 0..launch.n_clusters() {
                let number = self.n_clusters();
                for rank in 0..launch.cluster {
                    let id = self.add_cta(grid);
                    self.cluster_of.push(number);
                    for warp in 0..launch.warps {
                        let number = self.n_warps();
                        for lane in 0..launch.lanes {
                            self.add_thread(Thread { gpu, cluster, rank, warp, lane }, id, number);
                        }
                    }
                }
            }
        }
    }

    /// Each in a CTA of its own, behind the last cluster.
    fn add_clients(&mut self, launch: &Launch) {
        self.clients = spa::clients(launch);
        let Some(grid) = self.grids.ids().last() else { return };
        for number in (0_u32..).take(self.clients.len()) {
            let (cta, cluster, warp) = (self.add_cta(grid), self.n_clusters(), self.n_warps());
            self.cluster_of.push(cluster);
            let thread = Thread { gpu: 0, cluster: launch.n_clusters() + number, rank: 0, warp: 0, lane: 0 };
            self.add_thread(thread, cta, warp);
        }
    }

    fn add_cta(&mut self, grid: GridId) -> CtaId {
        self.grid_of.push(grid);
        self.ctas.push(Vec::new())
    }

    fn add_thread(&mut self, thread: Thread, cta: CtaId, warp: u32) {
        let agent = self.threads.push(thread);
        self.ctas[cta].push(agent);
        self.cta_of.push(cta);
        self.warp_of.push(warp);
        self.n_threads += 1;
    }

    fn n_warps(&self) -> u32 {
        self.warp_of.iter().last().map_or(0, |last| last + 1)
    }

    /// A new agent for an operation that a thread starts.
    pub fn add_operation(&mut self, issuer: AgentId, sort: OperationSort) -> AgentId {
        let (place, cta) = (self.threads[issuer], self.cta_of[issuer]);
        self.operations.push(Operation { issuer, sort });
        self.cta_of.push(cta);
        self.warp_of.push(self.warp_of[issuer]);
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
        CtaId(own.0 - self.threads[agent].rank + rank)
    }

    /// What is checked; of a program, the shape of its host. The shape that a thread is in is [`Self::launch_of`] it.
    pub fn launch(&self) -> &Launch {
        &self.launch
    }

    /// The grid that the thread is of.
    pub fn grid_of(&self, agent: AgentId) -> GridId {
        self.grid_of[self.cta_of(agent)]
    }

    /// All grids; the host's is the last one of a program.
    pub fn grids(&self) -> &IndexVec<GridId, Grid> {
        &self.grids
    }

    /// The grid that the host is, in a program.
    pub fn host(&self) -> Option<GridId> {
        let last = self.grids.ids().last()?;
        (self.threads[self.threads_of_grid(last).next()?].gpu == HOST).then_some(last)
    }

    /// Number of devices.
    pub fn n_gpus(&self) -> u32 {
        self.grids.iter().map(|grid| grid.launch.gpus).max().unwrap_or(1)
    }

    /// Whether the agent is the host.
    pub fn is_host(&self, agent: AgentId) -> bool {
        self.threads[agent].gpu == HOST
    }

    /// The threads of a grid.
    pub fn threads_of_grid(&self, grid: GridId) -> impl Iterator<Item = AgentId> + use<'_> {
        self.agents().filter(move |&agent| self.grid_of(agent) == grid)
    }

    /// The CTAs of a grid.
    pub fn ctas_of_grid(&self, grid: GridId) -> impl Iterator<Item = CtaId> + use<'_> {
        self.grid_of.iter_enumerated().filter(move |&(_, &other)| other == grid).map(|(cta, _)| cta)
    }

    /// The shape of the grid that the thread is of.
    pub fn launch_of(&self, agent: AgentId) -> &Launch {
        &self.grids[self.grid_of(agent)].launch
    }

    /// The thread's cluster, counted over the whole launch.
    pub fn cluster_of(&self, agent: AgentId) -> u32 {
        self.cluster_of[self.cta_of(agent)]
    }

    /// Number of clusters of the launch.
    pub fn n_clusters(&self) -> u32 {
        self.cluster_of.iter().last().map_or(0, |last| last + 1)
    }

    /// How people call a CTA of the launch; in a program, the only one of a grid by the name of that.
    pub fn describe_cta(&self, cta: CtaId) -> String {
        let Some(&first) = self.ctas[cta].first() else { return String::new() };
        let grid = &self.grids[self.grid_of(first)];
        if let Some(name) = grid.name.as_ref().filter(|_| grid.launch.ctas == 1) {
            let gpus = grid.launch.gpus;
            return if gpus > 1 {
                format!("{name} on gpu {}", self.threads[first].gpu)
            } else {
                name.clone()
            };
        }
        self.numbered("cta", self.coordinate(first, Coordinate::Ctaid), first)
    }

    /// How people call a cluster of the launch: by its CTA, if it has only one.
    pub fn describe_cluster(&self, cluster: u32) -> String {
        let Some(first) = self.threads_of_cluster(cluster).next() else { return String::new() };
        let what = if self.launch_of(first).cluster == 1 { "cta" } else { "cluster" };
        self.numbered(what, self.threads[first].cluster, first)
    }

    /// How people call a warp of the launch: by its number in its CTA, and that if there are several.
    pub fn describe_warp(&self, warp: u32) -> String {
        let Some(first) = self.lanes_of(warp).next() else { return String::new() };
        let number = format!("warp {}", self.threads[first].warp);
        let launch = self.launch_of(first);
        if launch.ctas > 1 || launch.gpus > 1 || self.grids[self.grid_of(first)].name.is_some() {
            format!("{number} of {}", self.describe_cta(self.cta_of(first)))
        } else {
            number
        }
    }

    fn numbered(&self, what: &str, number: u32, member: AgentId) -> String {
        let grid = &self.grids[self.grid_of(member)];
        let mut text = format!("{what} {number}");
        if let Some(name) = &grid.name {
            text += &format!(" of {name}");
        }
        if grid.launch.gpus > 1 {
            text += &format!(" on gpu {}", self.threads[member].gpu);
        }
        text
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
        self.warp_of[agent]
    }

    /// The threads of a warp of the launch, in order of their lanes.
    pub fn lanes_of(&self, warp: u32) -> impl Iterator<Item = AgentId> + Clone + use<'_> {
        self.agents().filter(move |&agent| self.warp_of[agent] == warp)
    }

    /// Whether a read that is repeated for ever sees a write, or a later one, in the end (LT-8): both are strong, and each of
    /// the two is in the other's scope.
    pub fn promises(
        &self,
        (writer, of_write): (AgentId, Option<Scope>),
        (reader, of_read): (AgentId, Option<Scope>),
    ) -> bool {
        let (Some(of_write), Some(of_read)) = (of_write, of_read) else { return false };
        self.in_scope(writer, reader, of_write) && self.in_scope(reader, writer, of_read)
    }

    /// Whether `b` is in scope `scope` as seen from `a`.
    ///
    /// Source: PTX ISA 9.4 §8.5.
    pub fn in_scope(&self, a: AgentId, b: AgentId, scope: Scope) -> bool {
        match scope {
            Scope::Cta => self.cta_of(a) == self.cta_of(b),
            Scope::Cluster => self.cluster_of(a) == self.cluster_of(b),
            Scope::Gpu => self.threads[a].gpu == self.threads[b].gpu,
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
        let launch = self.launch_of(agent);
        match coordinate {
            Coordinate::Tid => thread.warp * launch.lanes + thread.lane,
            Coordinate::Along(register, axis) => {
                let tid = self.coordinate(agent, Coordinate::Tid);
                launch.along(register, axis, tid, self.coordinate(agent, Coordinate::Ctaid))
            }
            Coordinate::Ntid => launch.warps * launch.lanes,
            Coordinate::Laneid => thread.lane,
            Coordinate::Warpid => thread.warp,
            Coordinate::Nwarpid => launch.warps,
            Coordinate::Ctaid => launch.ctaid(thread.cluster, thread.rank),
            Coordinate::Nctaid => launch.ctas,
            Coordinate::Clusterid => thread.cluster,
            Coordinate::Nclusterid => launch.n_clusters(),
            Coordinate::ClusterCtarank => thread.rank,
            Coordinate::ClusterNctarank => launch.cluster,
            Coordinate::Gpuid => thread.gpu,
            Coordinate::Ngpuid => launch.gpus,
            Coordinate::Client => self.client(agent).map_or(0, Client::number),
            Coordinate::Thread => agent.0,
        }
    }

    /// How people say which thread: only the coordinates that the launch has more than one of.
    pub fn describe(&self, agent: AgentId) -> String {
        if let Some(operation) = self.operation(agent) {
            return format!("a {} of {}", operation.sort.name(), self.describe(operation.issuer));
        }
        if let Some(client) = self.client(agent) {
            return client.title().to_owned();
        }
        let thread = self.threads[agent];
        let grid = &self.grids[self.grid_of(agent)];
        let launch = &grid.launch;
        if launch.placement.is_some() {
            return format!("P{}", agent.0);
        }
        if let (true, Some(name)) = (self.is_host(agent), &grid.name) {
            return name.clone();
        }
        let mut text = format!("tid {}", self.coordinate(agent, Coordinate::Tid));
        if launch.ctas > 1 {
            text += &format!(" of cta {}", self.coordinate(agent, Coordinate::Ctaid));
        }
        if launch.n_clusters() > 1 && launch.cluster > 1 {
            text += &format!(" (cluster {}, rank {})", thread.cluster, thread.rank);
        }
        if let Some(name) = &grid.name {
            text += &format!(" of {name}");
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
    pub fn agents(&self) -> impl Iterator<Item = AgentId> + Clone + use<> {
        (0..self.n_threads).map(AgentId::from_index)
    }
}

impl fmt::Display for Thread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "gpu {} cluster {} rank {} warp {} lane {}",
            self.gpu, self.cluster, self.rank, self.warp, self.lane
        )
    }
}
