//! Where a thread can stop for good.
//!
//! A thread at a spin loop or `await` hangs if, with memory as it is in the end, another try would fail again: a strong
//! read that is repeated for ever eventually sees the last write (LT-8). So the loop's try is run once more, on final
//! memory and without leaving events; the paths on which it goes round again are those on which the thread hangs.
//! Nothing is promised for weak reads (LT-7): in that try they are events of their own, which may read whatever the
//! model lets them.
//!
//! Sound: a read by a thread that does nothing afterwards may always return the coherence-last write, since no axiom
//! orders anything after it. And what a spinning thread's earlier tries read has no effect on others.
//!
//! Cannot: loops that are no spins are unrolled to the bound, and a thread that runs past it does not count as hanging.

use super::access::{Part, Strength};
use super::expression::{Frame, Place};
use super::loops::Shape;
use super::spa::Invalidated;
use super::{State, UnrollError, Unroller};
use crate::event::{Blocked, FinalLook, Role, SiteId, TermPool, TermRef, UnknownId, UnknownKind, Wait};
use fencepost_dsl::vocabulary::{Replication, Sem};

/// What is known of a try on final memory.
#[derive(Default)]
pub struct LastTry {
    /// Whether the weak reads of the try happen, if it has any.
    choice: Option<(UnknownId, TermRef)>,
    looks: Vec<FinalLook>,
    /// The last mbarrier wait of the try.
    phase: Option<Wait>,
    /// What the try has invalidated in L1 caches so far.
    invalidated: Invalidated,
    /// Paths on which a loop inside the try never ends.
    stuck: Vec<TermRef>,
}

impl LastTry {
    /// What the try has invalidated in L1 caches so far.
    pub fn invalidated(&mut self) -> &mut Invalidated {
        &mut self.invalidated
    }
    /// Remembers an mbarrier wait of the try.
    pub fn note_phase(&mut self, wait: Wait) {
        self.phase = Some(wait);
    }
}

impl Unroller<'_> {
    /// Records the path on which the thread stands at a spin loop for ever.
    pub(super) fn stand(
        &mut self,
        state: State,
        frame: &Frame<'_>,
        shape: &Shape<'_>,
    ) -> Result<(), UnrollError> {
        if state.live == TermPool::FALSE {
            return Ok(());
        }
        let n_exits = self.exits.len();
        self.last_try = Some(LastTry::default());
        let round = self.round(state, frame, shape, false);
        let last = self.last_try.take().unwrap_or_default();
        self.exits.truncate(n_exits);
        let mut stuck = last.stuck;
        stuck.push(round?.again.live);
        let mut stuck = self.graph.terms.or_all(stuck);
        if let Some((_, happens)) = last.choice {
            stuck = self.graph.terms.and(stuck, happens);
        }
        if stuck != TermPool::FALSE {
            self.graph.blocked.push(Blocked {
                agent: self.agent,
                span: self.program.loops[shape.id].span,
                iterations: self.iterations.clone(),
                stuck,
                wait: match last.phase {
                    Some(phase) if last.looks.is_empty() => phase,
                    _ => Wait::Memory(last.looks),
                },
            });
        }
        Ok(())
    }

    /// Runs a loop inside a try on final memory: an iteration that changes no register would go on for ever.
    pub(super) fn last_loop(
        &mut self,
        state: &mut State,
        frame: &Frame<'_>,
        shape: &Shape<'_>,
    ) -> Result<(), UnrollError> {
        let entry = state.env.clone();
        let mut left = Vec::new();
        for _ in 0..=self.options.bound {
            if state.live == TermPool::FALSE {
                break;
            }
            let before = state.env.clone();
            let mut round = self.round(state.clone(), frame, shape, false)?;
            left.append(&mut round.leaves);
            *state = round.again;
            state.env.restrict_to(&entry);
            if state.live != TermPool::FALSE && before.changed(&state.env).is_empty() {
                if let Some(last) = &mut self.last_try {
                    last.stuck.push(state.live);
                }
                break;
            }
        }
        *state = self.join_all(left);
        Ok(())
    }

    /// What a read of a try on final memory returns.
    pub(super) fn last_look(
        &mut self,
        guard: TermRef,
        site: SiteId,
        position: u32,
        element: (Place, usize),
        part: Part,
        strength: Strength,
    ) -> Result<TermRef, UnrollError> {
        let is_weak = strength.sem == Sem::Weak && !self.is_fresh_at_last(element, part, strength);
        let is_multimem = self.kernel.objects[element.0.object].replication == Replication::Multimem;
        let instance = is_multimem.then(|| self.location(element.0));
        let value = if is_weak {
            let (choice, happens) = self.last_choice();
            let guard = self.graph.terms.and(guard, happens);
            let role = std::mem::replace(&mut self.role, Role::Spin(choice));
            let read = self.read_event(guard, site, position, element, part, strength);
            self.role = role;
            read?.1
        } else {
            self.final_element(element, part, strength)
        };
        if let Some(last) = &mut self.last_try {
            last.looks.push(FinalLook { site, instance, guard, value, is_weak });
        }
        Ok(value)
    }

    fn last_choice(&mut self) -> (UnknownId, TermRef) {
        if let Some(choice) = self.last_try.as_ref().and_then(|last| last.choice) {
            return choice;
        }
        let choice = self.graph.terms.fresh(1, UnknownKind::Spins(self.agent));
        if let Some(last) = &mut self.last_try {
            last.choice = Some(choice);
        }
        choice
    }

    /// Final memory where an access goes, whatever its index.
    fn final_element(&mut self, element: (Place, usize), part: Part, strength: Strength) -> TermRef {
        let object = &self.kernel.objects[element.0.object];
        let nothing = self.graph.terms.constant(0, part.width);
        let access = self.scalar_access(element, part, nothing, strength);
        if let Some(offset) = self.graph.terms.constant_value(access.offset) {
            let offset = u32::try_from(offset).unwrap_or(u32::MAX);
            return self.final_bytes(access.location, offset, part.width);
        }
        let first = u64::from(object.offset_bytes) + u64::from(part.low_bit / 8);
        let step = u64::from(object.width / 8);
        let (least, most) = self.graph.terms.range(access.offset);
        let mut value = nothing;
        for offset in (0..object.n_elements()).map(|index| first + index * step) {
            if !(least..=most).contains(&u128::from(offset)) {
                continue;
            }
            let bytes =
                self.final_bytes(access.location, u32::try_from(offset).unwrap_or(u32::MAX), part.width);
            let terms = &mut self.graph.terms;
            let here = terms.constant(u128::from(offset), 32);
            let here = terms.equal(access.offset, here);
            value = terms.if_then_else(here, bytes, value);
        }
        value
    }

    /// Drops what was said of final memory by terms that have been taken back.
    pub(super) fn forget_final_values(&mut self) {
        let terms = &self.graph.terms;
        self.final_values.retain(|_, value| terms.contains(*value));
    }
}
