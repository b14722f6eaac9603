//! Words for threads that wait for ever.

use super::wording::{Words, number};
use crate::event::AgentId;
use crate::explain::roles::{Contributor, LookFact, MissingWrite, Role, Standing, WaitFact};
use fencepost_dsl::index::Id;
use indexmap::IndexSet;

/// Characters of a condition that is told.
const CONDITION_MAX: usize = 80;

/// Writes that are missing: where their threads are instead, and whether they have happened before; whose; and their lines.
type Missing = ((Standing, bool), Vec<AgentId>, Vec<String>);

/// Threads named one by one; more are folded.
const NAMED_MAX: usize = 3;

impl Words<'_> {
    /// The first line: `deadlock: tid 1 of cta 0 waits for ever at barrier 0 of cta 0`.
    ///
    /// With clusters that have not started, if that is why.
    pub fn deadlock(&self, roles: &[Role], absent: &[u32]) -> String {
        let Some(first) = roles.first() else { return "deadlock".to_owned() };
        let what = match &first.wait {
            WaitFact::Memory(looks, _) => match headline(looks) {
                Some(look) => format!("for `{}` to see another value", self.looks_at(first, look)),
                None => "in a loop that nothing ends".to_owned(),
            },
            WaitFact::Phase { object, .. } => format!("for the next phase of {object}"),
            WaitFact::Barrier { name, .. } => format!("at {name}"),
            WaitFact::Grids { names, .. } => format!("for {} to end", list(names)),
            WaitFact::Registers { .. } => "for registers".to_owned(),
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
        let hierarchy = &self.case.outcome.graph.hierarchy;
        let launch = hierarchy.launch();
        let together = if hierarchy.host().is_some() {
            "only the CTAs of one cluster or of a cooperative launch"
        } else if launch.cluster > 1 {
            "only the CTAs of one cluster"
        } else {
            "no two CTAs of this launch"
        };
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

    /// What a role waits for, as its last step.
    pub(super) fn stays(&self, role: &Role) -> String {
        match &role.wait {
            WaitFact::Memory(looks, _) => match headline(looks) {
                Some(look) => format!("waits for ever: it reads {}", number(look.value)),
                None => "goes round for ever".to_owned(),
            },
            WaitFact::Phase { object, completed, .. } => {
                format!("waits for ever for phase {completed} of {object}")
            }
            WaitFact::Barrier { name, .. } => format!("waits for ever at {name}"),
            WaitFact::Grids { names, is_start: true, .. } => {
                format!("has not started: {} must end before", list(names))
            }
            WaitFact::Grids { names, .. } => format!("waits for ever for {} to end", list(names)),
            WaitFact::Registers { asked, .. } => format!("waits for ever for {asked} registers"),
        }
    }

    /// The label at a role's place.
    pub fn waits_here(&self, role: &Role) -> String {
        let at = Self::iterations(&role.iterations);
        match &role.wait {
            WaitFact::Memory(..) => format!("{} here{at}", self.wait_for_ever(&role.agents)),
            WaitFact::Phase { object, .. } => {
                format!("{} here for {object}{at}", self.wait_for_ever(&role.agents))
            }
            WaitFact::Barrier { name, .. } => {
                format!("{} here: {name}{at}", self.wait_for_ever(&role.agents))
            }
            WaitFact::Grids { is_start: true, .. } => {
                let verb = if role.agents.len() == 1 { "starts" } else { "start" };
                format!("launched here, {} never {verb}", self.agents(&role.agents))
            }
            WaitFact::Grids { names, .. } => {
                format!("{} here for {} to end{at}", self.wait_for_ever(&role.agents), list(names))
            }
            WaitFact::Registers { asked, .. } => {
                format!("{} here for {asked} registers{at}", self.wait_for_ever(&role.agents))
            }
        }
    }

    /// Why a role waits, as a sentence.
    ///
    /// `absent` if some clusters have not started.
    pub fn blocked(&self, role: &Role, absent: bool) -> String {
        let who = self.agents(&role.agents);
        match &role.wait {
            WaitFact::Memory(looks, _) if looks.is_empty() => {
                format!("the loop at {} reads nothing that could end it", self.line(role.span))
            }
            WaitFact::Memory(looks, writes) => {
                // What it reads may have been changed long ago.
                let may_be_old = looks.iter().any(|look| look.is_weak || look.unpromised.is_some());
                let looks: Vec<String> = looks.iter().map(|look| self.look(role, look)).collect();
                let statement = self.case.sources.text(role.span);
                let awaited =
                    statement.strip_prefix("await ").map(|text| (text.trim_end_matches(';'), "false"));
                let repeated = || {
                    let (condition, _) = statement.strip_prefix("while ")?.split_once('{')?;
                    Some((condition, "true"))
                };
                let condition = awaited.or_else(repeated).map(|(text, is)| (text.trim(), is));
                let condition = condition.filter(|(text, _)| !may_be_old && text.len() <= CONDITION_MAX);
                let is_false =
                    condition.map_or_else(String::new, |(text, is)| format!(", so `{text}` is {is}"));
                let others = match (may_be_old, absent) {
                    (true, _) => "",
                    (false, true) => "; no thread of those that have started is left that could change it",
                    (false, false) => "; no thread is left that could change it",
                };
                format!(
                    "{who} would go round once more: {}{is_false}{others}{}",
                    looks.join(", "),
                    self.missing_writes(writes)
                )
            }
            WaitFact::Phase { object, text, completed, contributors, overtaken: Some(late), .. } => {
                let by = if late.by.is_empty() {
                    String::new()
                } else {
                    format!(", completed by {}", self.list_of(&late.by))
                };
                let Some(meant) = late.meant else {
                    return format!(
                        "`{text}` of {who} never returns true: a wait for this parity passes until phase 0 of {object} is \
                         complete, and that is over before it looks{by}; from then on the parity is that of phase \
                         {completed}, and {}",
                        self.contributors(contributors)
                    );
                };
                let waits = if role.agents.len() == 1 { "it waits" } else { "they wait" };
                format!(
                    "`{text}` of {who} never returns true: {waits} for phase {meant} of {object}, counted from 0, \
                     which is complete, but so is phase {}{by}; a wait by parity cannot tell it from one that is to come, \
                     {completed} phases are complete in all",
                    meant + 1,
                )
            }
            WaitFact::Phase { object, text, parity, completed, arrivals, bytes, contributors, .. } => {
                let asks = match parity {
                    Some(parity) => format!("it asks for parity {parity}, and "),
                    None => String::new(),
                };
                let (arrived, expected) = arrivals;
                // Where bytes are all that is missing, arrivals are not worth a word.
                let only_bytes = *bytes != 0 && *expected == Some(*arrived);
                let contributors =
                    if only_bytes { String::new() } else { format!("; {}", self.contributors(contributors)) };
                let expected = match expected {
                    Some(expected) => format!("{arrived} of the {expected} arrivals it expects"),
                    None => format!("{arrived} arrivals"),
                };
                let bytes = match bytes {
                    0 => String::new(),
                    1.. => format!(", and {bytes} of the announced bytes have not come"),
                    _ => format!(", and {} more bytes have come than were announced", -bytes),
                };
                format!(
                    "`{text}` of {who} never returns true: {asks}phase {completed} of {object} is not complete: it has {expected}{bytes}{contributors}"
                )
            }
            WaitFact::Grids { names, missing, is_start } => {
                let groups = fold(missing.iter().map(|&(agent, standing)| (standing, agent)));
                let parts: Vec<String> = groups
                    .into_iter()
                    .map(|(standing, agents)| {
                        format!(
                            "{}, which {}",
                            self.agents(&agents),
                            self.standing(standing, agents.len() == 1)
                        )
                    })
                    .collect();
                let what = if *is_start { "comes after" } else { "waits for the end of" };
                format!("{who} {what} {}, which still needs {}", list(names), parts.join("; and "))
            }
            WaitFact::Registers { asked, needed, free, held } => {
                self.registers(role, (*asked, *needed, *free), held)
            }
            WaitFact::Barrier { name, missing, any_of: None, .. } if missing.is_empty() => {
                format!("{name} waits for more threads than use it")
            }
            WaitFact::Barrier { name, arrived: (n_done, n), missing, any_of } => {
                let groups = fold(missing.iter().map(|&(agent, standing)| (standing, agent)));
                let parts: Vec<String> = groups
                    .into_iter()
                    .map(|(standing, agents)| {
                        let is_one = agents.len() == 1;
                        let instead = match standing {
                            Standing::Finished => " without it",
                            Standing::Waits(_) | Standing::Loops(_) => " instead",
                            Standing::NotStarted => "",
                        };
                        format!(
                            "{}, which {}{instead}",
                            self.agents(&agents),
                            self.standing(standing, is_one)
                        )
                    })
                    .collect();
                match any_of {
                    Some(needed) if parts.is_empty() => {
                        format!("{name} waits for {needed} warps, and fewer use it")
                    }
                    Some(needed) => format!(
                        "a generation of {name} needs {needed} warps, and not so many have come to this one: of those that use it, there are also {}",
                        parts.join("; and ")
                    ),
                    None => format!(
                        "{name} has {n_done} of the {n} threads it waits for, and still needs {}",
                        parts.join("; and ")
                    ),
                }
            }
        }
    }

    /// Who holds the registers that a warp waits for.
    fn registers(
        &self,
        role: &Role,
        (asked, needed, free): (u32, u128, u128),
        held: &[(AgentId, u128, Standing)],
    ) -> String {
        let parts: Vec<String> =
            fold(held.iter().map(|&(agent, number, standing)| ((number, standing), agent)))
                .into_iter()
                .map(|((number, standing), agents)| {
                    let (is_one, who) = (agents.len() == 1, self.agents(&agents));
                    let standing = self.standing(standing, is_one);
                    if is_one {
                        format!("the warp of {who} holds {number} and {standing}")
                    } else {
                        format!("the warps of {who} hold {number} each and {standing}")
                    }
                })
                .collect();
        let total = held.iter().map(|&(_, number, _)| number).sum::<u128>() + free;
        let s = if held.len() == 1 { "" } else { "s" };
        let hierarchy = &self.case.outcome.graph.hierarchy;
        let first = role.agents.first().map(|&agent| hierarchy.launch_of(agent));
        let at_launch = first.and_then(|launch| launch.registers).unwrap_or(0);
        let needs = if role.agents.len() == 1 { "needs" } else { "need, each in its warp," };
        let left = if free == 0 { "none".to_owned() } else { free.to_string() };
        format!(
            "to have {asked} registers per thread, {} {needs} {needed} more, and of the {total} of the CTA ({} warp{s} of \
             {at_launch}) {left} {} left: {}; only `setmaxnreg.dec` gives registers back, the end of a warp does not",
            self.agents(&role.agents),
            held.len(),
            if free == 1 { "is" } else { "are" },
            parts.join("; ")
        )
    }

    /// Who could still arrive in a phase, and why they do not.
    fn contributors(&self, contributors: &[Contributor]) -> String {
        if contributors.is_empty() {
            return "nothing in the kernel arrives there".to_owned();
        }
        let open: Vec<&Contributor> = contributors.iter().filter(|one| !one.is_in_phase).collect();
        let (lead, shown) = match open.as_slice() {
            [] => ("all that arrive there have arrived in this phase: ", contributors.iter().collect()),
            open if open.iter().all(|one| one.standing == Standing::Finished) => {
                ("nobody arrives any more: ", open.to_vec())
            }
            _ => ("still to arrive: ", open),
        };
        let parts: Vec<String> =
            fold(shown.into_iter().map(|one| ((one.standing, one.n_made, one.n_possible), one.agent)))
                .into_iter()
                .map(|((standing, made, possible), agents)| {
                    let is_one = agents.len() == 1;
                    let times = match made {
                        0 if is_one => "has never arrived".to_owned(),
                        0 => "have never arrived".to_owned(),
                        made => {
                            let has = if is_one { "has" } else { "have each" };
                            let s = if possible == 1 { "" } else { "s" };
                            format!("{has} arrived {made} of at most {possible} time{s}")
                        }
                    };
                    format!("{}, which {} and {times}", self.agents(&agents), self.standing(standing, is_one))
                })
                .collect();
        format!("{lead}{}", parts.join("; and "))
    }

    /// Who would write what is waited for, and why they do not.
    fn missing_writes(&self, writes: &[MissingWrite]) -> String {
        let by_write = fold(writes.iter().map(|one| ((one.span, (one.standing, one.is_again)), one.agent)));
        let mut groups: Vec<Missing> = Vec::new();
        for ((span, standing), agents) in by_write {
            let line = self.line(span);
            match groups.iter_mut().find(|(of, who, _)| *of == standing && *who == agents) {
                Some((_, _, lines)) => lines.push(line),
                None => groups.push((standing, agents, vec![line])),
            }
        }
        let sentence = |((standing, is_again), agents, lines): Missing| {
            let (s, is) = if lines.len() == 1 { ("", "is") } else { ("s", "are") };
            let again = if is_again { " again" } else { "" };
            format!(
                "; the write{s} on {} {is} not reached{again} by {}, which {}",
                list(&lines),
                self.agents(&agents),
                self.standing(standing, agents.len() == 1)
            )
        };
        groups.into_iter().map(sentence).collect()
    }

    /// Why each role waits, a sentence for all that wait for the same at one place.
    pub(super) fn all_blocked(&self, roles: &[Role], absent: bool) -> Vec<String> {
        let mut whole: Vec<Role> = Vec::new();
        for role in roles {
            match whole.iter_mut().find(|known| known.span == role.span && known.wait == role.wait) {
                Some(known) => known.agents.extend(&role.agents),
                None => whole.push(role.clone()),
            }
        }
        let looks = |role: &Role| matches!(&role.wait, WaitFact::Memory(looks, _) if !looks.is_empty());
        let sentence = |role: &Role| {
            let leading = whole.iter().filter(|other| other.span == role.span && looks(other));
            let leading: Vec<AgentId> = leading.flat_map(|other| other.agents.iter().copied()).collect();
            if leading.is_empty() || looks(role) || !matches!(role.wait, WaitFact::Memory(..)) {
                return self.blocked(role, absent);
            }
            let (goes, them) = if role.agents.len() == 1 { ("goes", "it") } else { ("go", "them") };
            let reads = if leading.len() == 1 { "reads" } else { "read" };
            format!(
                "{} {goes} round with {}, which {reads} for {them}: they meet in each round",
                self.agents(&role.agents),
                self.agents(&leading),
            )
        };
        whole.iter().map(sentence).collect()
    }

    /// `waits at line 7`, to follow `which`.
    fn standing(&self, standing: Standing, is_one: bool) -> String {
        let s = if is_one { "s" } else { "" };
        let has = if is_one { "has" } else { "have" };
        match standing {
            Standing::Finished => format!("{has} finished"),
            Standing::NotStarted => format!("{has} not started"),
            Standing::Waits(span) => format!("wait{s} at {}", self.line(span)),
            Standing::Loops(span) if is_one => format!("goes round at {}", self.line(span)),
            Standing::Loops(span) => format!("go round at {}", self.line(span)),
        }
    }

    /// An instruction of the last try, with the element that it reads.
    fn looks_at(&self, role: &Role, look: &LookFact) -> String {
        let hierarchy = &self.graph().hierarchy;
        let grid = role.agents.first().map(|&agent| hierarchy.grid_of(hierarchy.issuer(agent)));
        let part = grid.and_then(|grid| hierarchy.grids()[grid].part);
        let element = look
            .access
            .as_ref()
            .and_then(|(access, offset)| Some(self.element(access, u64::try_from(*offset).ok()?, part)));
        match element {
            Some(element) => format!("{} [{element}]", look.opcode),
            None => format!("{} {}", look.opcode, look.operand).trim_end().to_owned(),
        }
    }

    fn look(&self, role: &Role, look: &LookFact) -> String {
        let value = number(look.value);
        let text = self.looks_at(role, look);
        if look.is_weak && self.graph().hierarchy.launch().spa.is_some() {
            format!(
                "`{}` ({}) goes through an L1 that nothing invalidates: it may find {value} there for ever, whatever others \
                 write; write `LD.CV`, or invalidate the line in the loop (`CCTL.IV`)",
                text,
                self.line(look.span)
            )
        } else if look.is_weak {
            format!(
                "`{}` ({}) is weak: it may return {value} for ever, whatever others write",
                text,
                self.line(look.span)
            )
        } else if let Some((_, write)) = look.unpromised {
            format!(
                "`{text}` ({}) may return {value} for ever, since nothing promises that it sees {}",
                self.line(look.span),
                self.quoted(write)
            )
        } else {
            format!("`{text}` ({}) returns {value} in the end", self.line(look.span))
        }
    }

    fn wait_for_ever(&self, agents: &[AgentId]) -> String {
        format!("{} {} for ever", self.agents(agents), if agents.len() == 1 { "waits" } else { "wait" })
    }

    /// `tid 0`, `tid 0 and tid 1`, `32 threads (tid 0 to tid 31)`; each name once, since the asynchronous operations of
    /// one thread have one name.
    pub fn agents(&self, agents: &[AgentId]) -> String {
        let names: IndexSet<String> = agents.iter().map(|&agent| self.agent(agent)).collect();
        let names: Vec<String> = names.into_iter().collect();
        match names.as_slice() {
            [] => "nobody".to_owned(),
            [only] => only.clone(),
            [first, .., last] if names.len() > NAMED_MAX => {
                let is_run = agents.windows(2).all(|pair| pair[0].index() + 1 == pair[1].index());
                let link = if is_run { "to" } else { "…" };
                let what = if agents.iter().all(|&agent| self.is_thread(agent)) {
                    "threads"
                } else {
                    "threads and operations"
                };
                format!("{} {what} ({first} {link} {last})", names.len())
            }
            [init @ .., last] => format!("{} and {last}", init.join(", ")),
        }
    }
}

/// What a wait is about most likely: a read that may never see anything new, or else what is read last, since what is
/// read before mostly says where.
fn headline(looks: &[LookFact]) -> Option<&LookFact> {
    let may_be_old = |look: &&LookFact| look.is_weak || look.unpromised.is_some();
    looks.iter().find(may_be_old).or_else(|| looks.last())
}

/// `produce`, `produce and clear`.
fn list(names: &[String]) -> String {
    match names {
        [] => "the host".to_owned(),
        [only] => only.clone(),
        [init @ .., last] => format!("{} and {last}", init.join(", ")),
    }
}

/// Agents by what is said of them, in the order in which it is first said.
fn fold<K: PartialEq>(facts: impl Iterator<Item = (K, AgentId)>) -> Vec<(K, Vec<AgentId>)> {
    let mut groups: Vec<(K, Vec<AgentId>)> = Vec::new();
    for (key, agent) in facts {
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, agents)) => agents.push(agent),
            None => groups.push((key, vec![agent])),
        }
    }
    groups
}
