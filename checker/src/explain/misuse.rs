//! Why a rule about barriers is broken in an execution: what others have done to the barrier, and what the thread
//! itself did there before.
//!
//! Facts are looked up in the execution, not in how the rule was stated: whatever is found here happened (or is said
//! not to have). Cannot: say which of several arrivals is the one too many in the author's mind.

use crate::event::{
    AgentId, EventGraph, EventId, EventKind, Fact, MbarrierId, MbarrierRole, Misuse, Obligation,
    ObligationKind, PhasedOperation, TensorEvent, TermKind, Turn,
};
use crate::findings::Why;
use crate::witness::Witness;
use fencepost_dsl::sorted::SortedSet;

/// What happened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Facts {
    /// Arrivals in the phase of an arrival.
    Phase {
        /// The mbarrier.
        object: MbarrierId,
        /// How it was initialised.
        init: Option<EventId>,
        /// The phase, counted from 0.
        number: u128,
        /// Arrivals it expects.
        expected: u128,
        /// Other arrivals in it, and how often each counts.
        others: Vec<(EventId, u32)>,
        /// How often this one counts.
        own: u32,
    },
    /// The phase before that of an arrival, which nobody waited for.
    Completed {
        /// The mbarrier.
        object: MbarrierId,
        /// How it was initialised.
        init: Option<EventId>,
        /// The phase, counted from 0.
        number: u128,
        /// Arrivals it expects.
        expected: u128,
        /// Those that completed it.
        by: Vec<EventId>,
    },
    /// Operations of a phase that count bytes.
    Bytes {
        /// The mbarrier.
        object: MbarrierId,
        /// The phase, counted from 0.
        number: u128,
        /// Each with the bytes it announces, or completes if there are fewer than none.
        counted: Vec<(EventId, i64)>,
    },
    /// Nobody has initialised an mbarrier.
    NotInitialised {
        /// It.
        object: MbarrierId,
        /// Initialisations that threads do not come to.
        skipped: Vec<EventId>,
    },
    /// An mbarrier has been initialised before.
    Initialised {
        /// It.
        object: MbarrierId,
        /// How.
        init: EventId,
        /// How it is invalidated, if it is, at some time.
        inval: Option<EventId>,
    },
    /// Who drops out of an mbarrier.
    Drops {
        /// It.
        object: MbarrierId,
        /// How it was initialised.
        init: Option<EventId>,
        /// Arrivals it expects at first.
        expected: u128,
        /// Who drops out, and how often each counts.
        drops: Vec<(EventId, u32)>,
    },
    /// A state, and what returned it.
    State {
        /// The thread's last arrive that it can be of.
        arrive: Option<EventId>,
        /// The mbarrier it is of, if another than is waited for.
        of: Option<MbarrierId>,
        /// Whether no arrive returned it.
        is_none: bool,
        /// The phase of the arrive, and that under way at the wait.
        phases: Option<(u128, u128)>,
    },
    /// Phases that were complete when a wait was let through.
    Overtaken {
        /// The mbarrier.
        object: MbarrierId,
        /// The number of each, and who arrived in it.
        complete: Vec<(u128, Vec<EventId>)>,
    },
    /// A thread's arrival that is not known to be complete.
    Generation {
        /// The barrier, as one knows it who knows where the thread is.
        name: String,
        /// The arrival.
        before: EventId,
        /// Its generation, counted from 0.
        number: u128,
        /// Arrivals of others in it.
        others: Vec<EventId>,
        /// Those of the cluster that have not arrived in it.
        missing: Vec<AgentId>,
    },
    /// What a thread did at the cluster barrier before.
    ClusterWait {
        /// Its last arrival.
        arrival: Option<EventId>,
        /// The wait that used it up.
        wait: Option<EventId>,
        /// An arrival that it does not come to.
        skipped: Option<EventId>,
        /// Arrivals of others of the cluster.
        others: Vec<EventId>,
    },
    /// Somebody who comes to a barrier in another form.
    OtherForm {
        /// How.
        other: EventId,
        /// The barrier, as one knows it who knows where the thread is.
        name: String,
    },
    /// Where lanes of the warp go instead.
    Lanes {
        /// The last instruction that both execute.
        common: Option<EventId>,
        /// A lane that goes past.
        lane: AgentId,
        /// What it does next; nothing, if it does nothing any more.
        next: Option<EventId>,
    },
    /// What a CTA allocates and deallocates.
    Columns {
        /// Allocations.
        allocated: Vec<EventId>,
        /// Deallocations.
        freed: Vec<EventId>,
        /// A deallocation that its thread does not come to.
        skipped: Option<EventId>,
    },
    /// Where a thread has its number of registers from.
    Registers {
        /// Its last `setmaxnreg`.
        last: Option<EventId>,
        /// What the launch gives it.
        at_launch: Option<u32>,
    },
    /// Fences of a thread for matrix operations.
    MatrixFence {
        /// The last one before.
        before: Option<EventId>,
        /// One that it does not come to, or later.
        other: Option<EventId>,
    },
}

/// What happened before a rule was broken; nothing where the values of the instruction say all.
pub(super) fn explain(
    graph: &EventGraph,
    witness: &Witness,
    obligation: &Obligation,
    misuse: &Misuse,
) -> Option<Facts> {
    let scene = Scene { graph, witness, obligation, misuse };
    match misuse.kind.why {
        Why::Values(_) => None,
        Why::Phase => scene.phase(),
        Why::Bytes => scene.bytes(),
        Why::Initialisation => scene.initialisation(),
        Why::Drops => scene.drops(),
        Why::State => Some(scene.state()),
        Why::Overtaking => scene.overtaking(),
        Why::Generation => scene.generation(),
        Why::ClusterWait => Some(scene.cluster_wait()),
        Why::OtherForm => scene.other_form(),
        Why::Lanes => scene.lanes(),
        Why::Columns => Some(scene.columns()),
        Why::Registers => Some(scene.registers()),
        Why::MatrixFence => Some(scene.matrix_fence()),
    }
}

/// Who completed the phase before that of an arrival.
pub(super) fn completed_before(graph: &EventGraph, witness: &Witness, arrival: EventId) -> Option<Facts> {
    let EventKind::Mbarrier(of) = graph.events[arrival].kind else { return None };
    let object = of.object;
    let history = History { graph, witness, object };
    let number = history.phase_of(arrival)?.checked_sub(1)?;
    let by = history.arrivals(number).into_iter().map(|(event, _)| event).collect();
    Some(Facts::Completed { object, init: history.init(), number, expected: history.expected(number)?, by })
}

/// What happened to an mbarrier.
struct History<'a> {
    graph: &'a EventGraph,
    witness: &'a Witness,
    object: MbarrierId,
}

impl History<'_> {
    fn happened(&self, event: EventId) -> bool {
        self.witness.execution.executed.contains(event)
    }

    fn init(&self) -> Option<EventId> {
        let is_init = |event: &EventId| {
            matches!(self.graph.events[*event].kind, EventKind::Mbarrier(of)
                if of.object == self.object && of.role == MbarrierRole::Init)
        };
        self.witness.execution.executed.iter().find(is_init)
    }

    /// The phase in which an operation on it happens.
    fn phase_of(&self, event: EventId) -> Option<u128> {
        let operations = &self.graph.mbarriers[self.object].operations;
        let own = operations.iter().find(|operation| operation.event == event)?;
        Some(self.witness.values[own.phase])
    }

    /// Operations in a phase.
    fn operations(&self, number: u128) -> impl Iterator<Item = &PhasedOperation> {
        let operations = self.graph.mbarriers[self.object].operations.iter();
        operations.filter(move |operation| {
            self.happened(operation.event) && self.witness.values[operation.phase] == number
        })
    }

    /// Arrivals in a phase, and how often each counts.
    fn arrivals(&self, number: u128) -> Vec<(EventId, u32)> {
        let arrivals = self.operations(number).filter(|operation| operation.arrivals > 0);
        arrivals.map(|operation| (operation.event, operation.arrivals)).collect()
    }

    fn expected(&self, number: u128) -> Option<u128> {
        let phase = self.graph.mbarriers[self.object].phases.get(usize::try_from(number).ok()?)?;
        Some(self.witness.values[phase.expected])
    }
}

struct Scene<'a> {
    graph: &'a EventGraph,
    witness: &'a Witness,
    obligation: &'a Obligation,
    misuse: &'a Misuse,
}

impl Scene<'_> {
    fn happened(&self, event: EventId) -> bool {
        self.witness.execution.executed.contains(event)
    }

    fn executed(&self) -> impl Iterator<Item = EventId> + '_ {
        self.witness.execution.executed.iter()
    }

    fn kind(&self, event: EventId) -> &EventKind {
        &self.graph.events[event].kind
    }

    fn position(&self, event: EventId) -> u32 {
        self.graph.events[event].position
    }

    fn role(&self, event: EventId) -> Option<(MbarrierId, MbarrierRole)> {
        match self.kind(event) {
            EventKind::Mbarrier(of) => Some((of.object, of.role)),
            _ => None,
        }
    }

    /// The thread itself, or an operation that it started.
    fn is_own(&self, event: EventId) -> bool {
        let agent = self.graph.events[event].agent;
        agent.is_some_and(|agent| self.graph.hierarchy.issuer(agent) == self.obligation.agent)
    }

    /// The event that breaks the rule; none where the path ends before it.
    fn own(&self) -> Option<EventId> {
        let obligation = self.obligation;
        let is_it = |&event: &EventId| {
            let of = &self.graph.events[event];
            let span = of.site.map(|site| self.graph.sites[site].span);
            let holds = span.is_some_and(|span| span.holds(obligation.span));
            self.is_own(event)
                && holds
                && of.iterations == obligation.iterations
                && of.position >= obligation.position
        };
        self.executed().filter(is_it).min_by_key(|&event| self.position(event))
    }

    /// What the thread itself has done before, the last first.
    fn before(&self) -> Vec<EventId> {
        let end = self.own().map_or(self.obligation.position.saturating_add(1), |own| self.position(own));
        let mut own: Vec<EventId> = self
            .executed()
            .filter(|&event| self.graph.events[event].agent == Some(self.obligation.agent))
            .filter(|&event| self.position(event) < end)
            .collect();
        own.sort_by_key(|&event| std::cmp::Reverse(self.position(event)));
        own
    }

    fn fact(&self) -> Option<MbarrierId> {
        self.misuse.facts.iter().find_map(|(_, fact)| match fact {
            Fact::Mbarrier(object) => Some(*object),
            _ => None,
        })
    }

    /// The mbarrier: as its event has it, which knows how often it was initialised.
    fn object(&self) -> Option<MbarrierId> {
        self.own().and_then(|own| self.role(own)).map(|(object, _)| object).or_else(|| self.fact())
    }

    fn history(&self, object: MbarrierId) -> History<'_> {
        History { graph: self.graph, witness: self.witness, object }
    }

    fn phase(&self) -> Option<Facts> {
        let own = self.own()?;
        let object = self.object()?;
        let history = self.history(object);
        let number = history.phase_of(own)?;
        let all = history.arrivals(number);
        Some(Facts::Phase {
            object,
            init: history.init(),
            number,
            expected: history.expected(number)?,
            own: all.iter().find(|(event, _)| *event == own)?.1,
            others: all.into_iter().filter(|(event, _)| *event != own && !self.breaks_it(*event)).collect(),
        })
    }

    /// Whether another event breaks the same rule: it counts for nothing.
    fn breaks_it(&self, event: EventId) -> bool {
        let of = &self.graph.events[event];
        let Some(span) = of.site.map(|site| self.graph.sites[site].span) else { return false };
        let value = |term| self.witness.values[term];
        self.graph.obligations.iter().any(|other| {
            matches!(&other.kind, ObligationKind::Discipline(misuse) if misuse.kind == self.misuse.kind)
                && of.agent.is_some_and(|agent| self.graph.hierarchy.issuer(agent) == other.agent)
                && span.holds(other.span)
                && other.iterations == of.iterations
                && other.calls == of.calls
                && value(other.guard) == 1
                && value(other.condition) == 0
        })
    }

    fn bytes(&self) -> Option<Facts> {
        let object = self.object()?;
        let history = self.history(object);
        let number = history.phase_of(self.own()?)?;
        let counted = history.operations(number).filter(|operation| operation.bytes != 0);
        let counted = counted.map(|operation| (operation.event, operation.bytes)).collect();
        Some(Facts::Bytes { object, number, counted })
    }

    fn initialisation(&self) -> Option<Facts> {
        let object = self.object()?;
        let of = &self.graph.mbarriers[object];
        // Each initialisation of the same bytes makes another mbarrier.
        let is_there = |event: EventId, wanted: MbarrierRole| {
            self.role(event).is_some_and(|(object, role)| {
                let other = &self.graph.mbarriers[object];
                role == wanted && other.location == of.location && other.offset_bytes == of.offset_bytes
            })
        };
        let own = self.own();
        let mut done: Vec<EventId> = self
            .executed()
            .filter(|&event| is_there(event, MbarrierRole::Init) && Some(event) != own)
            .collect();
        // What the thread itself did last is nearest.
        done.sort_by_key(|&event| (!self.is_own(event), std::cmp::Reverse(self.position(event))));
        let Some(&init) = done.first() else {
            let all = self.graph.events.ids().filter(|&event| is_there(event, MbarrierRole::Init));
            return Some(Facts::NotInitialised {
                object,
                skipped: all.filter(|&e| !self.happened(e)).collect(),
            });
        };
        let object = self.role(init).map_or(object, |(object, _)| object);
        let inval = self.executed().find(|&event| is_there(event, MbarrierRole::Inval));
        Some(Facts::Initialised { object, init, inval })
    }

    fn drops(&self) -> Option<Facts> {
        let object = self.object()?;
        let drops = self.graph.mbarriers[object].operations.iter();
        let is_drop = |event: EventId| {
            let site = self.graph.events[event].site;
            site.is_some_and(|site| self.graph.sites[site].has_word("arrive_drop"))
        };
        let drops = drops.filter(|operation| self.happened(operation.event) && is_drop(operation.event));
        Some(Facts::Drops {
            object,
            init: self.history(object).init(),
            expected: self.history(object).expected(0)?,
            drops: drops.map(|operation| (operation.event, operation.arrivals)).collect(),
        })
    }

    fn state(&self) -> Facts {
        let object = self.object();
        let before = self.before();
        let is_arrive = |event: EventId| matches!(self.role(event), Some((_, MbarrierRole::Arrive)));
        let under_way = self.own().zip(object).and_then(|(own, object)| self.history(object).phase_of(own));
        let phase = |event: EventId| object.and_then(|object| self.history(object).phase_of(event));
        // A state that is too old is one of a phase that ended before the last one did.
        let old = before.iter().copied().filter(|&event| is_arrive(event)).find(|&event| {
            let (at, now) = (phase(event), under_way);
            at.zip(now).is_some_and(|(at, now)| at + 2 <= now)
        });
        if let Some(arrive) = old {
            let phases = phase(arrive).zip(under_way);
            return Facts::State { arrive: Some(arrive), of: None, is_none: false, phases };
        }
        let number = self.number_in_state();
        let of = number.and_then(|number| usize::try_from(number).ok()?.checked_sub(1));
        let of = of.and_then(|index| self.graph.mbarriers.ids().nth(index)).filter(|of| Some(*of) != object);
        let of_it = |event: EventId| of.is_none() || self.role(event).map(|(object, _)| object) == of;
        let arrive = before.into_iter().find(|&event| is_arrive(event) && of_it(event));
        Facts::State { arrive, of, is_none: number == Some(0), phases: None }
    }

    /// The number of its mbarrier in a state, from 1, which the rule compares; 0 in what is no state.
    fn number_in_state(&self) -> Option<u128> {
        let is_constant = |term| matches!(self.graph.terms.kind(term), TermKind::Constant(_));
        match *self.graph.terms.kind(self.obligation.condition) {
            TermKind::Equal(a, b) if is_constant(a) => Some(self.witness.values[b]),
            TermKind::Equal(a, b) if is_constant(b) => Some(self.witness.values[a]),
            _ => None,
        }
    }

    fn overtaking(&self) -> Option<Facts> {
        let object = self.object()?;
        let meant = self.misuse.facts.iter().find_map(|(place, fact)| match fact {
            Fact::Number(number) if *place == "phase" => Some(*number),
            _ => None,
        })?;
        let history = self.history(object);
        let under_way = history.phase_of(self.own()?)?;
        let arrivals = |number| history.arrivals(number).into_iter().map(|(event, _)| event).collect();
        let complete = (meant..under_way).map(|number| (number, arrivals(number))).collect();
        Some(Facts::Overtaken { object, complete })
    }

    fn is_arrival(&self, event: EventId) -> bool {
        matches!(self.kind(event), EventKind::BarrierArrive | EventKind::ClusterArrive { .. })
    }

    /// In which generation, for the thread, a barrier event is.
    fn turn(&self, event: EventId) -> Option<u128> {
        match self.graph.meetings.get(&event)?.generation {
            Turn::Known(number) => Some(number.into()),
            Turn::Term(term) => Some(self.witness.values[term]),
        }
    }

    fn name(&self, event: EventId) -> Option<&str> {
        self.graph.meetings.get(&event).map(|meeting| &*meeting.name)
    }

    /// Arrivals of others at the barrier of an event.
    fn others_at(&self, event: EventId) -> Vec<EventId> {
        let hierarchy = &self.graph.hierarchy;
        let own = self.obligation.agent;
        let of_cluster = matches!(self.kind(event), EventKind::ClusterArrive { .. });
        let is_near = |agent: AgentId| {
            if of_cluster {
                agent != own && hierarchy.cluster_of(agent) == hierarchy.cluster_of(own)
            } else {
                hierarchy.cta_of(agent) == hierarchy.cta_of(own)
                    && hierarchy.warp_of(agent) != hierarchy.warp_of(own)
            }
        };
        let is_other = |&other: &EventId| {
            self.is_arrival(other)
                && self.name(other).is_some()
                && self.name(other) == self.name(event)
                && self.graph.events[other].agent.is_some_and(is_near)
        };
        self.executed().filter(is_other).collect()
    }

    fn generation(&self) -> Option<Facts> {
        let own = self.own()?;
        let name = self.name(own)?;
        let before = self.before();
        let before =
            before.into_iter().find(|&event| self.is_arrival(event) && self.name(event) == Some(name))?;
        let number = self.turn(before)?;
        let mut others = self.others_at(before);
        others.retain(|&other| self.turn(other) == Some(number));
        let arrived: SortedSet<AgentId> =
            others.iter().filter_map(|&event| self.graph.events[event].agent).collect();
        let hierarchy = &self.graph.hierarchy;
        let cluster = hierarchy.threads_of_cluster(hierarchy.cluster_of(self.obligation.agent));
        let missing = if matches!(self.kind(before), EventKind::ClusterArrive { .. }) {
            cluster.filter(|agent| *agent != self.obligation.agent && !arrived.contains(agent)).collect()
        } else {
            Vec::new()
        };
        Some(Facts::Generation { name: name.to_owned(), before, number, others, missing })
    }

    fn cluster_wait(&self) -> Facts {
        let before = self.before();
        let is_arrival = |event: EventId| matches!(self.kind(event), EventKind::ClusterArrive { .. });
        let is_wait = |event: EventId| matches!(self.kind(event), EventKind::ClusterWait);
        let skipped = self.graph.events.ids().find(|&event| {
            self.graph.events[event].agent == Some(self.obligation.agent)
                && is_arrival(event)
                && !self.happened(event)
        });
        let others = self.executed().filter(|&event| is_arrival(event) && !self.is_own(event));
        let hierarchy = &self.graph.hierarchy;
        let cluster = hierarchy.cluster_of(self.obligation.agent);
        let is_near = |event: EventId| {
            self.graph.events[event].agent.is_some_and(|agent| hierarchy.cluster_of(agent) == cluster)
        };
        Facts::ClusterWait {
            others: others.filter(|&event| is_near(event)).collect(),
            arrival: before.iter().copied().find(|&event| is_arrival(event)),
            wait: before.iter().copied().find(|&event| is_wait(event)),
            skipped,
        }
    }

    fn other_form(&self) -> Option<Facts> {
        let own = self.own()?;
        let site = |event: EventId| self.graph.events[event].site;
        let reduces = |event: EventId| site(event).is_some_and(|site| self.graph.sites[site].has_word("red"));
        let mut others = self.others_at(own);
        // The form differs by what is written, or else by what is computed at the same place.
        others.sort_by_key(|&other| {
            (
                reduces(other) == reduces(own),
                site(other) == site(own),
                self.turn(other) != self.turn(own),
                other,
            )
        });
        Some(Facts::OtherForm { other: *others.first()?, name: self.name(own)?.to_owned() })
    }

    fn lanes(&self) -> Option<Facts> {
        let lane = self.misuse.facts.iter().find_map(|(_, fact)| match fact {
            Fact::Lanes(_, lane) => Some(*lane),
            _ => None,
        })?;
        let of = |agent: AgentId| -> Vec<EventId> {
            let own = self.executed().filter(|&event| self.graph.events[event].agent == Some(agent));
            let mut own: Vec<EventId> = own.collect();
            own.sort_by_key(|&event| (self.position(event), event));
            own
        };
        let (mine, other) = (of(self.obligation.agent), of(lane));
        let end =
            self.own().and_then(|own| mine.iter().position(|&event| event == own)).unwrap_or(mine.len());
        let place = |event: EventId| (self.graph.events[event].site, &self.graph.events[event].iterations);
        let same = |event: EventId| other.iter().rposition(|&other| place(other) == place(event));
        let common = mine[..end].iter().rev().find_map(|&event| same(event));
        let next = other.get(common.map_or(0, |at| at + 1)).copied();
        Some(Facts::Lanes { common: common.map(|at| other[at]), lane, next })
    }

    fn columns(&self) -> Facts {
        let cta = self.graph.hierarchy.cta_of(self.obligation.agent);
        let is_near = |event: EventId| {
            self.graph.events[event].agent.is_some_and(|agent| self.graph.hierarchy.cta_of(agent) == cta)
        };
        let is = |event: EventId, kind: TensorEvent| {
            *self.kind(event) == EventKind::Tensor(kind) && is_near(event)
        };
        let done = |kind: TensorEvent| self.executed().filter(move |&event| is(event, kind)).collect();
        let skipped = self.graph.events.ids().filter(|&event| !self.happened(event));
        Facts::Columns {
            allocated: done(TensorEvent::Allocate),
            freed: done(TensorEvent::Free),
            skipped: skipped.into_iter().find(|&event| is(event, TensorEvent::Free)),
        }
    }

    fn registers(&self) -> Facts {
        let is_set = |event: EventId| {
            let site = self.graph.events[event].site;
            site.is_some_and(|site| self.graph.sites[site].has_word("setmaxnreg"))
        };
        Facts::Registers {
            last: self.before().into_iter().find(|&event| is_set(event)),
            at_launch: self.graph.hierarchy.launch_of(self.obligation.agent).registers,
        }
    }

    fn matrix_fence(&self) -> Facts {
        let before = self.before();
        let is_fence = |event: EventId| matches!(self.kind(event), EventKind::MatrixFence);
        let other = self.graph.events.ids().find(|&event| {
            self.graph.events[event].agent == Some(self.obligation.agent)
                && is_fence(event)
                && !before.contains(&event)
        });
        Facts::MatrixFence { before: before.iter().copied().find(|&event| is_fence(event)), other }
    }
}

impl Facts {
    /// The events that it is about.
    pub fn events(&self) -> Vec<EventId> {
        let of = |counted: &[(EventId, u32)]| counted.iter().map(|&(event, _)| event).collect::<Vec<_>>();
        match self {
            Self::Phase { init, others, .. } => init.iter().copied().chain(of(others)).collect(),
            Self::Completed { init, by, .. } => init.iter().chain(by).copied().collect(),
            Self::Drops { init, drops, .. } => init.iter().copied().chain(of(drops)).collect(),
            Self::Bytes { counted, .. } => counted.iter().map(|&(event, _)| event).collect(),
            // What does not happen has no place in an execution.
            Self::NotInitialised { .. } => Vec::new(),
            Self::Initialised { init, inval, .. } => [Some(*init), *inval].into_iter().flatten().collect(),
            Self::State { arrive, .. } => arrive.iter().copied().collect(),
            Self::Overtaken { complete, .. } => {
                complete.iter().flat_map(|(_, arrivals)| arrivals.iter().copied()).collect()
            }
            Self::Generation { before, others, .. } => {
                std::iter::once(*before).chain(others.iter().copied()).collect()
            }
            Self::ClusterWait { arrival, wait, .. } => arrival.iter().chain(wait).copied().collect(),
            Self::OtherForm { other, .. } => vec![*other],
            Self::Lanes { next, .. } => next.iter().copied().collect(),
            Self::Columns { freed, .. } => freed.clone(),
            Self::Registers { last, .. } => last.iter().copied().collect(),
            Self::MatrixFence { .. } => Vec::new(),
        }
    }
}
