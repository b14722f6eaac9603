//! Where the threads of an SPA machine are: on SMs, on virtual channels, or nowhere on the device (SPA-2).

use super::Hierarchy;
use crate::event::AgentId;
use fencepost_dsl::index::Id;
use fencepost_dsl::kernel::program::{Channel, Coordinate, Launch};
use fencepost_dsl::vocabulary::{Client, MembarLevel};

/// Who takes part besides the threads of the grid, in order.
pub(super) fn clients(launch: &Launch) -> Vec<Client> {
    let takes_part = |client: &Client| launch.spa.is_some_and(|spa| spa.has(*client));
    Client::ALL.into_iter().filter(takes_part).collect()
}

impl Hierarchy {
    /// The client that a thread is; `None` for a thread of an SM.
    pub fn client(&self, agent: AgentId) -> Option<Client> {
        let first = self.n_threads - self.clients.len();
        self.clients.get(agent.index().checked_sub(first)?).copied()
    }

    /// The SM of a thread, counted over the whole launch; `None` for a client.
    pub fn sm_of(&self, agent: AgentId) -> Option<u32> {
        let spa = self.launch.spa.filter(|_| self.client(agent).is_none())?;
        let thread = self.threads[agent];
        let cta = self.coordinate(agent, Coordinate::Ctaid);
        Some(thread.gpu * spa.sms + cta % spa.sms)
    }

    /// Whether two threads share their L1 caches.
    pub fn is_same_sm(&self, a: AgentId, b: AgentId) -> bool {
        self.sm_of(a).is_some_and(|sm| self.sm_of(b) == Some(sm))
    }

    /// The lowest level of `MEMBAR` in whose pool both are. Pools are nested, and each is the same seen from all in it.
    pub fn membar_distance(&self, a: AgentId, b: AgentId) -> MembarLevel {
        let device = |agent| (self.client(agent) != Some(Client::Host)).then(|| self.threads[agent].gpu);
        let channel = |agent| match self.client(agent) {
            None => device(agent),
            Some(Client::CopyEngine) => {
                let is_same = self.launch.spa.is_some_and(|spa| spa.copy_engine == Some(Channel::Same));
                device(agent).filter(|_| is_same)
            }
            Some(Client::Host) => None,
        };
        if self.cta_of(a) == self.cta_of(b) {
            MembarLevel::Cta
        } else if channel(a).is_some() && channel(a) == channel(b) {
            MembarLevel::Channel
        } else if device(a).is_some() && device(a) == device(b) {
            MembarLevel::Global
        } else {
            MembarLevel::System
        }
    }
}
