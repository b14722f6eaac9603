//! `.aligned` instructions: the lanes of a warp execute them together (UB-B6, UB-C2; per warp, A-23).
//!
//! An instruction's dynamic instance is named by the way to it in the code: the statements and iterations around it. Two
//! lanes execute the same instance if they come to the instruction in the same way, whatever branches they took before.
//! A lane misses an instance if it gets to a later place in the code, or to the end, without having executed it. A lane
//! that has left by `exit` at an earlier place gets to none of these and is not asked for; one that still waits before
//! the instruction may yet come.
//!
//! Sound and exact: guards say when a lane gets somewhere, so which lanes miss an instance is a term over what was read.

use super::super::{State, Unroller};
use super::entails;
use crate::event::{AgentId, EventId, Misuse, Role, TermPool, TermRef};
use fencepost_dsl::Span;
use fencepost_dsl::kernel::program::{AsyncOp, InstructionKind, Kernel, Program};
use std::collections::BTreeMap;

/// The way to a statement: per nested block the iteration of its loop and the statement's place in the text.
///
/// Ordered as the code runs.
pub type CodePath = Vec<(u32, u32)>;

/// Later than every place in the code.
const END: (u32, u32) = (u32::MAX, u32::MAX);

/// Who executes which instance, and where else each lane gets.
#[derive(Default)]
pub struct AlignedLog {
    /// Whether some warp could be divided at an aligned instruction.
    is_needed: bool,
    /// Where the current thread is.
    path: CodePath,
    /// Per warp and instance: the lanes' guards, and what they execute.
    instances: BTreeMap<(u32, CodePath), BTreeMap<AgentId, (TermRef, EventId)>>,
    /// Per lane: guards of places it gets to, with the last place that has each.
    places: BTreeMap<AgentId, Vec<(TermRef, CodePath)>>,
}

impl AlignedLog {
    /// An empty log; one that is not needed stays so.
    pub fn new(is_needed: bool) -> Self {
        Self { is_needed, ..Self::default() }
    }

    /// Puts another way in the place of the current thread's, which it returns.
    pub fn replace_path(&mut self, path: CodePath) -> CodePath {
        std::mem::replace(&mut self.path, path)
    }
}

impl Unroller<'_> {
    /// Notes that the thread gets to a statement, which it is in until [`Self::leave`].
    pub(in super::super) fn enter(&mut self, span: Span, live: TermRef) {
        if !self.aligned.is_needed {
            return;
        }
        let iteration = self.iterations.last().copied().unwrap_or(0);
        self.aligned.path.push((iteration, span.start));
        // Tries of a spin are taken back if it is none; where a spin stands is known from its statement.
        if self.role == Role::Plain && self.last_try.is_none() {
            let places = self.aligned.places.entry(self.agent).or_default();
            match places.last_mut() {
                Some((known, last)) if *known == live => last.clone_from(&self.aligned.path),
                _ => places.push((live, self.aligned.path.clone())),
            }
        }
    }

    /// Ends what [`Self::enter`] began.
    pub(in super::super) fn leave(&mut self) {
        if self.aligned.is_needed {
            self.aligned.path.pop();
        }
    }

    /// Notes that the thread gets to its end.
    pub(in super::super) fn reach_end(&mut self, state: &State) {
        if self.aligned.is_needed {
            self.aligned.path.clear();
            self.aligned.places.entry(self.agent).or_default().push((state.live, vec![END]));
        }
    }

    /// Notes the execution of an aligned instruction.
    pub(in super::super) fn log_aligned(&mut self, guard: TermRef, event: EventId) {
        if !self.aligned.is_needed {
            return;
        }
        let key = (self.graph.hierarchy.warp_of(self.agent), self.aligned.path.clone());
        let lanes = self.aligned.instances.entry(key).or_default();
        let known = lanes.entry(self.agent).or_insert((TermPool::FALSE, event));
        known.0 = self.graph.terms.or(known.0, guard);
    }

    /// States that no lane misses an instance that another lane of its warp executes.
    pub(super) fn state_alignment(&mut self) {
        let log = std::mem::take(&mut self.aligned);
        for ((warp, path), executed) in &log.instances {
            let lanes: Vec<AgentId> = self.graph.hierarchy.lanes_of(*warp).collect();
            let missed: Vec<(AgentId, TermRef)> = lanes
                .into_iter()
                .map(|lane| {
                    let own = executed.get(&lane).map_or(TermPool::FALSE, |&(guard, _)| guard);
                    let places = log.places.get(&lane).map_or(&[][..], Vec::as_slice);
                    (lane, self.misses(own, path, places))
                })
                .filter(|&(_, missed)| missed != TermPool::FALSE)
                .collect();
            self.state_together(executed, &missed);
        }
    }

    /// 1 iff a lane that executes an instance when `own` is 1 gets past it otherwise.
    fn misses(&mut self, own: TermRef, path: &CodePath, places: &[(TermRef, CodePath)]) -> TermRef {
        let not_own = self.graph.terms.not(own);
        let mut ways = Vec::new();
        for (live, last) in places.iter().rev().take_while(|(_, last)| last > path) {
            // A place inside the statement is not past it.
            if !last.starts_with(path) && !entails(&self.graph.terms, *live, own) {
                ways.push(self.graph.terms.and(*live, not_own));
            }
        }
        self.graph.terms.or_all(ways)
    }

    fn state_together(
        &mut self,
        executed: &BTreeMap<AgentId, (TermRef, EventId)>,
        missed: &[(AgentId, TermRef)],
    ) {
        let mut stated: Vec<TermRef> = Vec::new();
        for (&lane, &(guard, event)) in executed {
            if stated.contains(&guard) {
                continue;
            }
            stated.push(guard);
            let ways: Vec<(AgentId, TermRef)> = missed
                .iter()
                .filter(|&&(other, _)| other != lane)
                .map(|&(other, missed)| (other, self.graph.terms.and(guard, missed)))
                .filter(|&(_, both)| both != TermPool::FALSE)
                .collect();
            let Some(&(first, _)) = ways.first() else { continue };
            let some = self.graph.terms.or_all(ways.iter().map(|&(_, both)| both).collect::<Vec<_>>());
            let text = self.graph.events[event]
                .site
                .map(|site| self.graph.sites[site].text.clone())
                .unwrap_or_default();
            let others = match ways.len() {
                1 => format!("tid {} of its warp goes past it", self.thread_number(first)),
                n => format!(
                    "{n} lanes of its warp (such as tid {}) may go past it",
                    self.thread_number(first)
                ),
            };
            let (rule, help) = match text.split('.').next() {
                _ if text.starts_with("barrier.cluster") => {
                    ("UB-C2", "let all lanes of the warp come to it in the same way, or leave `.aligned` out")
                }
                Some("tcgen05") => ("AS-34", "let all lanes of the warp come to it in the same way"),
                Some("wgmma") => ("UB-A7", "let all lanes of the warpgroup come to it in the same way"),
                Some("setmaxnreg") => ("UB-A12", "let all lanes of the warpgroup come to it in the same way"),
                Some("tensormap") => ("UB-F2", "let all lanes of the warp come to it in the same way"),
                _ => (
                    "UB-B6",
                    "let all lanes of the warp come to it in the same way, or use `barrier` without `.aligned`",
                ),
            };
            let misuse = Misuse {
                code: "barrier::aligned-divergent",
                rule,
                what: format!("executes `{text}`, which is aligned, while {others}"),
                help,
            };
            let fine = self.graph.terms.not(some);
            self.graph.oblige_at(event, misuse, guard, fine);
        }
    }

    /// The thread's `tid`.
    fn thread_number(&self, agent: AgentId) -> u32 {
        let launch = self.graph.hierarchy.launch_of(agent);
        let thread = &self.graph.hierarchy.threads[agent];
        thread.warp * launch.lanes + thread.lane
    }
}

/// Whether a kernel, or a function it may call, contains an instruction that is always or here aligned.
pub fn contains_aligned(program: &Program, kernel: &Kernel) -> bool {
    program.any_instruction(kernel, |instruction| match instruction {
        InstructionKind::Barrier { aligned, .. }
        | InstructionKind::ClusterArrive { aligned, .. }
        | InstructionKind::ClusterWait { aligned } => *aligned,
        InstructionKind::TensormapCopyFence { .. } | InstructionKind::SetMaxRegisters { .. } => true,
        InstructionKind::Async(operation) => {
            matches!(**operation, AsyncOp::Matrix(_) | AsyncOp::MatrixFence | AsyncOp::Tensor(_))
        }
        _ => false,
    })
}
