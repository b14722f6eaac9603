//! What helps a finding for which no repair was checked: what its row says, unless the facts have something better.

use super::wording::Words;
use crate::event::{AgentId, CtaId, EventId, OperationSort};
use crate::explain::roles::Role;
use crate::explain::{Explanation, Subject};

impl Words<'_> {
    /// What usually helps, where no repair was checked.
    pub fn advice(&self, explanation: &Explanation) -> Option<&'static str> {
        match &explanation.subject {
            Subject::Misuse { misuse, .. } => Some(misuse.kind.help),
            Subject::Lifetime { access, owner, ended: true, .. }
                if self.is_own_operation(*access, *owner) =>
            {
                Some(self.wait_for_own(*access))
            }
            Subject::Lifetime { access, ended: true, .. } if self.operation(*access).is_some() => Some(
                "let a thread of the CTA whose memory it is wait for the operation (the phase of the mbarrier that it \
                 signals) before that CTA ends; a cluster barrier does not wait for asynchronous operations",
            ),
            Subject::Deadlock { roles, absent } if self.waits_for_another_grid(roles, absent) => Some(
                "nothing makes two kernels of a program run at the same time: launch the one that is waited for first \
                 and the waiting one behind it in the same stream, or let the host launch it when the other has ended",
            ),
            Subject::Deadlock { absent, .. } if !absent.is_empty() => {
                Some(if self.is_on_several_gpus(absent) {
                    "if the grids of all devices are launched together and each fits on its device, as \
                     `cudaLaunchCooperativeKernelMultiDevice` and NVSHMEM's collective launch have it, say so in the \
                     kernel's `launch`: `cooperative: true`; otherwise let no CTA wait for one that may not have started"
                } else {
                    "if the grid is launched with `cudaLaunchCooperativeKernel`, which fails unless it fits on the device, \
                     say so in the kernel's `launch`: `cooperative: true`; if CTAs that wait for one another are one \
                     cluster, say how many it has: `cluster: 2`; otherwise let no CTA wait for one that may not have \
                     started, for instance by numbering the CTAs with an atomic counter as they start"
                })
            }
            Subject::Race { earlier, later }
                if explanation.repair.is_none() && self.is_one_for_two_gpus(*earlier, *later) =>
            {
                Some(
                    "what is `global` is one object for all GPUs; if each GPU has its own in your code, as with a buffer \
                     that NCCL or NVSHMEM allocates on every GPU, say `symmetric` in place of `global`, and reach that of \
                     another GPU with `peer`",
                )
            }
            _ => explanation.kind.advice,
        }
    }

    /// Whether two GPUs access an object of which there is one.
    fn is_one_for_two_gpus(&self, a: EventId, b: EventId) -> bool {
        let graph = self.graph();
        let gpu = |event: EventId| {
            let agent = graph.hierarchy.issuer(graph.events[event].agent?);
            (!graph.hierarchy.is_host(agent)).then(|| graph.hierarchy.threads[agent].gpu)
        };
        let is_of_one = graph.events[a].kind.access().is_some_and(|access| {
            let location = &graph.locations[access.location];
            location.cta.is_none() && !location.is_register && !location.name.instance().contains(" of gpu ")
        });
        gpu(a).zip(gpu(b)).is_some_and(|(a, b)| a != b) && is_of_one
    }

    /// Whether clusters are of a launch on several devices.
    fn is_on_several_gpus(&self, clusters: &[u32]) -> bool {
        let hierarchy = &self.case.outcome.graph.hierarchy;
        let mut threads = clusters.iter().flat_map(|&cluster| hierarchy.threads_of_cluster(cluster));
        threads.next().is_some_and(|agent| hierarchy.launch_of(agent).gpus > 1)
    }

    /// Whether clusters that have not started are of another launch than the threads that wait for them.
    fn waits_for_another_grid(&self, roles: &[Role], absent: &[u32]) -> bool {
        let hierarchy = &self.case.outcome.graph.hierarchy;
        // The grids of one launch, one per device, have one name.
        let launch = |agent: AgentId| hierarchy.grids()[hierarchy.grid_of(agent)].name.as_ref();
        let waiting = roles.iter().flat_map(|role| &role.agents).map(|&agent| launch(agent)).next();
        let absent = absent.iter().flat_map(|&cluster| hierarchy.threads_of_cluster(cluster)).next();
        absent.is_some_and(|agent| Some(launch(agent)) != waiting)
    }

    /// What the operation of an access is, if it is one's.
    fn operation(&self, access: EventId) -> Option<OperationSort> {
        let graph = &self.case.outcome.graph;
        Some(graph.hierarchy.operation(graph.events[access].agent?)?.sort)
    }

    /// How a thread waits for an operation that it or its CTA has started.
    fn wait_for_own(&self, access: EventId) -> &'static str {
        match self.operation(access) {
            Some(OperationSort::Matrix) => {
                "wait for it before the thread ends: `wgmma.wait_group.sync.aligned 0`"
            }
            Some(OperationSort::Copy) => {
                "wait for it before the thread ends: `cp.async.wait_all`, or the phase of the mbarrier that \
                 `cp.async.mbarrier.arrive` arrives at"
            }
            Some(OperationSort::TensorMemoryCommit) => {
                "let a thread wait before it ends: for the phase of the mbarrier that this commit arrives at; that of \
                 another commit, also of a later one, says nothing of this one's arrival"
            }
            Some(
                OperationSort::TensorProduct
                | OperationSort::TensorMemoryCopy
                | OperationSort::TensorMemoryLoad
                | OperationSort::TensorMemoryStore,
            ) => {
                "let a thread wait before it ends: for the phase of an mbarrier that a `tcgen05.commit` behind the \
                 operation arrives at"
            }
            _ => {
                "wait for it before the last thread ends: `cp.async.bulk.wait_group.read 0` in the thread that started a \
                 copy from shared memory; for one into it, wait for the phase of its mbarrier"
            }
        }
    }

    /// Whether an access is made by an asynchronous operation that the CTA itself started.
    fn is_own_operation(&self, access: EventId, owner: CtaId) -> bool {
        let hierarchy = &self.case.outcome.graph.hierarchy;
        self.case.outcome.graph.events[access]
            .agent
            .is_some_and(|agent| hierarchy.is_operation(agent) && hierarchy.cta_of(agent) == owner)
    }
}
