//! What an arrive returns: the phase it found, and what the rules about states need to know.
//!
//! A state is opaque to the program. Here its low bits are the phase, and above them stand the object, whether the arrive
//! said `.noComplete`, and the pending count that it found then. A value that is no state of an arrive has no object.

use super::super::{State, Unroller};
use crate::event::{MbarrierId, Misuse, ObligationKind, TermPool, TermRef};
use crate::findings;
use crate::synchronization::log::PENDING_WIDTH;
use fencepost_dsl::Span;
use fencepost_dsl::index::Id;
use fencepost_dsl::kernel::program::BinaryOp;

const WIDTH: u8 = 64;
/// Where the number of the object stands, one more than its index.
const OBJECT_AT: u8 = 8;
const OBJECT_WIDTH: u8 = 16;
const NO_COMPLETE_AT: u8 = 24;
const PENDING_AT: u8 = 32;

/// What is in a state.
#[derive(Clone, Copy)]
pub struct Token {
    /// Of which object.
    pub object: MbarrierId,
    /// The phase, 8 bits.
    pub phase: TermRef,
    /// The pending count, if the arrive said `.noComplete`.
    pub pending: Option<TermRef>,
}

impl Unroller<'_> {
    /// The value of a state.
    pub(super) fn token(&mut self, token: Token) -> TermRef {
        let number = token.object.index() as u128 + 1;
        let flag = u128::from(token.pending.is_some());
        let terms = &mut self.graph.terms;
        let mut value = terms.resize(token.phase, WIDTH);
        if let Some(pending) = token.pending {
            let pending = terms.resize(pending, WIDTH);
            let at = terms.constant(PENDING_AT.into(), WIDTH);
            let pending = terms.binary(BinaryOp::ShiftLeft, pending, at);
            value = terms.binary(BinaryOp::Or, value, pending);
        }
        let rest = terms.constant(number << OBJECT_AT | flag << NO_COMPLETE_AT, WIDTH);
        terms.binary(BinaryOp::Or, value, rest)
    }

    /// A wait takes the states of its own object only (UB-M11); the path ends where it is another's.
    pub(super) fn check_token(&mut self, state: &mut State, token: TermRef, object: MbarrierId, span: Span) {
        if self.last_try.is_some() {
            return;
        }
        let terms = &mut self.graph.terms;
        let of = terms.extract(token, OBJECT_AT, OBJECT_WIDTH);
        let own = terms.constant(object.index() as u128 + 1, OBJECT_WIDTH);
        let fine = terms.equal(of, own);
        let misuse = Misuse::new(&findings::mbarrier::STATE_OF_ANOTHER).with("object", object);
        self.demand(state, misuse, fine, span);
    }

    /// The pending count in a state (MB-15); the path ends where there is none.
    pub(super) fn pending_count(&mut self, state: &mut State, token: TermRef, span: Span) -> TermRef {
        let terms = &mut self.graph.terms;
        let fine = terms.extract(token, NO_COMPLETE_AT, 1);
        let pending = terms.extract(token, PENDING_AT, PENDING_WIDTH);
        let misuse = Misuse::new(&findings::mbarrier::COUNT_NOT_HELD);
        if self.last_try.is_none() {
            self.demand(state, misuse, fine, span);
        }
        pending
    }

    /// A rule that must hold here; the path ends where it does not.
    fn demand(&mut self, state: &mut State, misuse: Misuse, fine: TermRef, span: Span) {
        if fine == TermPool::TRUE {
            return;
        }
        self.oblige(ObligationKind::Discipline(misuse), state.live, fine, span);
        state.live = self.graph.terms.and(state.live, fine);
    }
}
