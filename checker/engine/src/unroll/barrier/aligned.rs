//! `.aligned` instructions: by which way each lane comes to them, and where else it gets.
//!
//! What that means for the lanes of a warp is stated once all have run.

use super::super::{State, Unroller};
use crate::event::{EventId, Role, TermPool, TermRef};
use crate::synchronization::log::{AlignedLog, CodePath};
use fencepost_dsl::kernel::program::{Kernel, Program, Statement, StatementKind};

/// Later than every place in the code.
const END: (u32, u32) = (u32::MAX, u32::MAX);

/// Who executes which aligned instruction, and where the current thread is.
#[derive(Default)]
pub struct Alignment {
    /// What all threads have done.
    pub log: AlignedLog,
    /// Whether some warp could be divided at an aligned instruction.
    is_needed: bool,
    /// Where the current thread is.
    path: CodePath,
}

impl Alignment {
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
    pub(in super::super) fn enter(&mut self, statement: &Statement, live: TermRef) {
        if !self.aligned.is_needed {
            return;
        }
        let iteration = self.iterations.last().copied().unwrap_or(0);
        self.aligned.path.push((iteration, statement.span.start));
        // A lane of compiled code for which nothing is left but registers and the jump to its `ret` has left, as one that executes
        // `exit` where it stands: which of the two is written is the compiler's choice.
        let is_of_registers = matches!(
            statement.kind,
            StatementKind::Assign { .. } | StatementKind::If { .. } | StatementKind::Exit
        );
        if self.is_compiled() && is_of_registers {
            return;
        }
        // Tries of a spin are taken back if it is none; where a spin stands is known from its statement.
        if self.role == Role::Plain && self.last_try.is_none() {
            let places = self.aligned.log.places.entry(self.agent).or_default();
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
        self.aligned.path.clear();
        if self.aligned.is_needed && !self.is_compiled() {
            self.aligned.log.places.entry(self.agent).or_default().push((state.live, vec![END]));
        }
    }

    /// Where in the kernel the thread is: the same for all who are in one instance of an aligned instruction.
    pub(in super::super) fn aligned_path(&self) -> Vec<(u32, u32)> {
        self.aligned.path.clone()
    }

    /// Notes the execution of an aligned instruction.
    pub(in super::super) fn log_aligned(&mut self, guard: TermRef, event: EventId) {
        if !self.aligned.is_needed {
            return;
        }
        let key = (self.graph.hierarchy.warp_of(self.agent), self.aligned.path.clone());
        let lanes = self.aligned.log.instances.entry(key).or_default();
        let known = lanes.entry(self.agent).or_insert((TermPool::FALSE, event));
        known.0 = self.graph.terms.or(known.0, guard);
    }
}

/// Whether a kernel, or a function it may call, contains an instruction that is always or here aligned.
pub fn contains_aligned(program: &Program, kernel: &Kernel) -> bool {
    program.any_instruction(kernel, |instruction| instruction.aligned().is_some())
}
