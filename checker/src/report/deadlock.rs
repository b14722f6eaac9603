//! Words for threads that wait for ever.

use super::wording::{Words, number};
use crate::event::AgentId;
use crate::explain::deadlock::{LookFact, Role, Standing, WaitFact};
use fencepost_dsl::index::Id;

/// Threads named one by one; more are folded.
const NAMED_MAX: usize = 3;

impl Words<'_> {
    /// The first line: `deadlock: tid 1 of cta 0 waits for ever at barrier 0 of cta 0`.
    ///
    /// With clusters that have not started, if that is why.
    pub fn deadlock(&self, roles: &[Role], absent: &[u32]) -> String {
        let Some(first) = roles.first() else { return "deadlock".to_owned() };
        let what = match &first.wait {
            WaitFact::Memory(looks) => match looks.first() {
                Some(look) => format!("for `{}` to see another value", look.text),
                None => "in a loop that nothing ends".to_owned(),
            },
            WaitFact::Phase { object, .. } => format!("for the next phase of {object}"),
            WaitFact::Barrier { name, .. } => format!("at {name}"),
        };
        let n_others: usize = roles.iter().skip(1).map(|role| role.agents.len()).sum();
        let others = match n_others {
            0 => String::new(),
            1 => ", and another thread waits with it".to_owned(),
            n => format!(", and {n} other threads wait with it"),
        };
        let unless = match absent {
            [] => String::new(),
            [_] => format!(" if {} does not start", self.clusters(absent)),
            _ => format!(" if {} do not start", self.clusters(absent)),
        };
        format!("deadlock: {} {what}{unless}{others}", self.wait_for_ever(&first.agents))
    }

    /// Why clusters may be missing, as a sentence.
    pub fn absence(&self, absent: &[u32]) -> Option<String> {
        let has = match absent {
            [] => return None,
            [_] => "it has",
            _ => "they have",
        };
        let launch = &self.case.outcome.graph.hierarchy.launch;
        let together =
            if launch.ctas > 1 { "only the CTAs of one cluster" } else { "no two CTAs of this launch" };
        Some(format!(
            "{} need not start before the others have finished, and in this execution {has} not: {together} are \
             sure to run at the same time, and nothing says in which order they start",
            self.clusters(absent)
        ))
    }

    /// `cta 1`, `cluster 1 and cluster 2`.
    fn clusters(&self, clusters: &[u32]) -> String {
        let name = |cluster: &u32| self.case.outcome.graph.hierarchy.describe_cluster(*cluster);
        match clusters {
            [] => String::new(),
            [only] => name(only),
            [first, .., last] if clusters.len() > NAMED_MAX => {
                format!("{} clusters ({} … {})", clusters.len(), name(first), name(last))
            }
            [init @ .., last] => {
                let init: Vec<String> = init.iter().map(name).collect();
                format!("{} and {}", init.join(", "), name(last))
            }
        }
    }

    /// The label at a role's place.
    pub fn waits_here(&self, role: &Role) -> String {
        let at = Self::iterations(&role.iterations);
        match &role.wait {
            WaitFact::Memory(_) => format!("{} here{at}", self.wait_for_ever(&role.agents)),
            WaitFact::Phase { object, .. } => {
                format!("{} here for {object}{at}", self.wait_for_ever(&role.agents))
            }
            WaitFact::Barrier { name, .. } => {
                format!("{} here: {name}{at}", self.wait_for_ever(&role.agents))
            }
        }
    }

    /// Why a role waits, as a sentence.
    ///
    /// `absent` if some clusters have not started.
    pub fn blocked(&self, role: &Role, absent: bool) -> String {
        let who = self.agents(&role.agents);
        match &role.wait {
            WaitFact::Memory(looks) if looks.is_empty() => {
                format!("the loop at {} reads nothing that could end it", self.line(role.span))
            }
            WaitFact::Memory(looks) => {
                let looks: Vec<String> = looks.iter().map(|look| self.look(look)).collect();
                let others = if absent { "of those that have started is left" } else { "is left" };
                format!(
                    "{who} would go round once more: {}; no thread {others} that could change it",
                    looks.join(", ")
                )
            }
            WaitFact::Phase { object, text, completed, overtaken: Some(meant), .. } => format!(
                "`{text}` of {who} says no in the end: {who} waits for phase {meant} of {object}, counted from 0, which \
                 is complete, but so is phase {}; a wait by parity cannot tell it from one that is to come, {} phases \
                 are complete in all",
                meant + 1,
                completed
            ),
            WaitFact::Phase { object, text, completed, arrived, .. } => {
                let s = if *completed == 1 { "" } else { "s" };
                let mut by: Vec<AgentId> = arrived.iter().map(|&(agent, _)| agent).collect();
                by.dedup();
                let n_arrived = arrived.len();
                let arrivals = match n_arrived {
                    0 => "nobody ever arrives".to_owned(),
                    1 => format!("there is one arrival in all, by {}", self.agents(&by)),
                    n => format!("there are {n} arrivals in all, by {}", self.agents(&by)),
                };
                format!(
                    "`{text}` of {who} says no in the end: {object} has completed {completed} phase{s}, and {arrivals}"
                )
            }
            WaitFact::Barrier { name, missing } if missing.is_empty() => {
                format!("{name} waits for more threads than use it")
            }
            WaitFact::Barrier { name, missing } => {
                let mut groups: Vec<(Standing, Vec<AgentId>)> = Vec::new();
                for &(agent, standing) in missing {
                    match groups.iter_mut().find(|(known, _)| *known == standing) {
                        Some((_, agents)) => agents.push(agent),
                        None => groups.push((standing, vec![agent])),
                    }
                }
                let parts: Vec<String> = groups
                    .into_iter()
                    .map(|(standing, agents)| {
                        let is_one = agents.len() == 1;
                        let place = match standing {
                            Standing::Finished if is_one => "which has finished without it".to_owned(),
                            Standing::Finished => "which have finished without it".to_owned(),
                            Standing::Waits(span) => {
                                let verb = if is_one { "waits" } else { "wait" };
                                format!("which {verb} at {}", self.line(span))
                            }
                        };
                        format!("{}, {place}", self.agents(&agents))
                    })
                    .collect();
                format!("{name} still needs {}", parts.join("; and "))
            }
        }
    }

    fn look(&self, look: &LookFact) -> String {
        let value = number(look.value);
        if look.is_weak {
            format!(
                "`{}` ({}) is weak: it may return {value} for ever, whatever others write",
                look.text,
                self.line(look.span)
            )
        } else {
            format!("`{}` ({}) returns {value} in the end", look.text, self.line(look.span))
        }
    }

    fn wait_for_ever(&self, agents: &[AgentId]) -> String {
        format!("{} {} for ever", self.agents(agents), if agents.len() == 1 { "waits" } else { "wait" })
    }

    /// `tid 0`, `tid 0 and tid 1`, `32 threads (tid 0 to tid 31)`.
    pub fn agents(&self, agents: &[AgentId]) -> String {
        let names = || agents.iter().map(|&agent| self.agent(agent));
        match agents {
            [] => "nobody".to_owned(),
            [only] => self.agent(*only),
            [first, .., last] if agents.len() > NAMED_MAX => {
                let is_run = last.index() - first.index() + 1 == agents.len();
                let link = if is_run { "to" } else { "…" };
                format!("{} threads ({} {link} {})", agents.len(), self.agent(*first), self.agent(*last))
            }
            [init @ .., last] => {
                let init: Vec<String> = names().take(init.len()).collect();
                format!("{} and {}", init.join(", "), self.agent(*last))
            }
        }
    }
}
