//! How the twin's threads run through mbarrier and cluster barrier instructions.
//!
//! What such an instruction answers depends on what the others do, so every answer is a run of its own; which answers fit
//! together is found out when runs are combined.

use super::{Control, End, Interpreter, Stop};
use crate::event::{BarrierKey, Event, Kind, Misuse};
use crate::expression::{Datum, evaluate};
use crate::mbarrier::{Action, Operation};
use fencepost_dsl::index::Id;
use fencepost_dsl::kernel::program::{
    Address, Expression, ExpressionKind, InstructionKind, MbarrierArrive, MbarrierOp, MbarrierPhase,
    MbarrierWait, RegisterId, Statement, StatementKind,
};
use fencepost_dsl::vocabulary::{Scope, Sem};
use std::collections::BTreeSet;

/// In a state: that it holds a pending count, and where. Below that is the phase.
const HAS_PENDING: u64 = 1 << 8;
const PENDING_AT: u32 = 16;

impl Interpreter<'_> {
    /// BR-9
    pub(super) fn cluster_arrive(&mut self, sem: Sem) -> Result<(), Stop> {
        let key = BarrierKey::Cluster { cluster: self.thread.whole_cluster() };
        let BarrierKey::Cluster { cluster } = key else { return Ok(()) };
        let n_arrivals = self.arrivals.get(&key).copied().unwrap_or(0);
        if self.has_arrived {
            let goes_on = self.choose(2)? == 1;
            let kind = Kind::SecondArrival { cluster, generation: n_arrivals - 1, goes_on };
            self.push(Event::new(kind, Some(self.thread.index)));
            if !goes_on {
                return Err(Stop::Blocked(End::Broken(Misuse::SecondArrival)));
            }
        }
        self.arrivals.insert(key, n_arrivals + 1);
        self.has_arrived = true;
        let mut event = Event::new(Kind::Arrive(key, n_arrivals), Some(self.thread.index));
        event.strong = true;
        event.scope = Scope::Cluster;
        event.release = sem == Sem::Release;
        self.push(event);
        Ok(())
    }

    /// BR-9, BR-11
    pub(super) fn cluster_wait(&mut self) -> Result<(), Stop> {
        let key = BarrierKey::Cluster { cluster: self.thread.whole_cluster() };
        if !self.has_arrived {
            return Err(Stop::Blocked(End::Broken(Misuse::WaitWithoutArrival)));
        }
        let generation = self.arrivals[&key] - 1;
        if self.choose(2)? == 0 {
            return Err(Stop::Blocked(End::AtBarrier(key, generation)));
        }
        self.has_arrived = false;
        let mut event = Event::new(Kind::Wait(key, generation), Some(self.thread.index));
        event.strong = true;
        event.scope = Scope::Cluster;
        event.acquire = true;
        self.push(event);
        Ok(())
    }

    /// §4.2
    pub(super) fn mbarrier(&mut self, operation: &MbarrierOp) -> Result<(), Stop> {
        match operation {
            MbarrierOp::Init { address, count } => {
                let action = Action::Init { count: self.number(count) };
                self.operate(address, action, (Sem::Weak, Scope::Cta));
            }
            MbarrierOp::Inval { address } => self.operate(address, Action::Inval, (Sem::Weak, Scope::Cta)),
            MbarrierOp::ExpectTx { address, tx, scope } => {
                let action = Action::Transact { change: self.number(tx) };
                self.operate(address, action, (Sem::Relaxed, *scope));
            }
            MbarrierOp::CompleteTx { address, tx, scope } => {
                let action = Action::Transact { change: -self.number(tx) };
                self.operate(address, action, (Sem::Relaxed, *scope));
            }
            MbarrierOp::Arrive(arrive) => self.mbarrier_arrive(arrive)?,
            MbarrierOp::Wait(wait) => self.mbarrier_wait(wait)?,
            MbarrierOp::PendingCount { destination, state } => {
                let state = self.number(state) as u64;
                if state & HAS_PENDING == 0 {
                    return Err(Stop::Blocked(End::Broken(Misuse::NoPendingCount)));
                }
                self.give(*destination, state >> PENDING_AT);
            }
        }
        Ok(())
    }

    fn mbarrier_arrive(&mut self, arrive: &MbarrierArrive) -> Result<(), Stop> {
        let count = self.number(&arrive.count);
        let expects = arrive.expect_tx.as_ref().map_or(0, |tx| self.number(tx));
        let strength = (arrive.sem, arrive.scope);
        // Only a phase that lacks bytes, or fewer arrivals than come at once, can be exceeded.
        if self.source.any(&may_exceed) && self.choose(2)? == 1 {
            self.operate(&arrive.address, Action::Exceed { count }, strength);
            return Err(Stop::Blocked(End::Broken(Misuse::TooManyArrivals)));
        }
        let state = match arrive.destination {
            // Each phase before it needs an arrival of another instruction: none is in a loop.
            Some(_) if self.source.has_loops() => panic!("states next to loops are unsupported by the twin"),
            Some(_) => Some(self.choose(sum(&self.kernel.body, &|operation| {
                usize::from(matches!(operation, MbarrierOp::Arrive(_)))
            }))? as u64),
            None => None,
        };
        let pending = match arrive.destination {
            Some(_) if arrive.no_complete => {
                let most = sum(&self.kernel.body, &pending_most);
                Some(self.choose(most)? as i64 + 1)
            }
            _ => None,
        };
        let (drops, no_complete) = (arrive.drop, arrive.no_complete);
        let action = Action::Arrive { count, expects, drops, no_complete, state, pending };
        self.operate(&arrive.address, action, strength);
        let held = pending.map_or(0, |pending| HAS_PENDING | (pending as u64) << PENDING_AT);
        self.give(arrive.destination, state.unwrap_or(0) | held);
        Ok(())
    }

    /// A wait may say no at any time (MB-6, A-47).
    fn mbarrier_wait(&mut self, wait: &MbarrierWait) -> Result<(), Stop> {
        let action = match &wait.phase {
            MbarrierPhase::Parity(parity) => Action::PassParity { parity: self.number(parity) as u64 & 1 },
            MbarrierPhase::State(state) => {
                Action::PassState { state: self.number(state) as u64 % HAS_PENDING }
            }
        };
        let passes = self.choose(2)? == 1;
        if passes {
            self.operate(&wait.address, action, (wait.sem, wait.scope));
        } else {
            let action = match action {
                Action::PassParity { parity } => Action::FailParity { parity },
                Action::PassState { state } => Action::FailState { state },
                other => other,
            };
            self.operate(&wait.address, action, (Sem::Weak, Scope::Cta));
        }
        self.give(wait.destination, u64::from(passes));
        Ok(())
    }

    /// An `await` whose tries only ask mbarriers: it stands, having failed, or gets through at once. More failing tries
    /// change nothing.
    pub(super) fn await_phase(&mut self, prelude: &[Statement], condition: &Expression) -> Result<(), Stop> {
        let start = self.events.len();
        self.statements(prelude)?;
        if evaluate(condition, &self.registers, self.thread).value == 1 {
            return Ok(());
        }
        for event in &mut self.events[start..] {
            event.is_repeated = true;
        }
        Err(Stop::Blocked(End::AtAwait { tried: true }))
    }

    fn operate(&mut self, address: &Address, action: Action, (sem, scope): (Sem, Scope)) {
        let (_, (storage, instance, offset, _)) = self.place(address);
        let kind = Kind::Mbarrier(Operation { object: (storage, instance, offset), action });
        let mut event = Event::new(kind, Some(self.thread.index));
        event.source = Some(address.span);
        event.strong = sem != Sem::Weak;
        event.scope = scope;
        event.release = sem == Sem::Release;
        event.acquire = sem == Sem::Acquire;
        self.push(event);
    }

    fn number(&self, operand: &Expression) -> i64 {
        let datum = evaluate(operand, &self.registers, self.thread);
        assert!(
            datum.reads.is_empty() || self.control == Control::Ignored,
            "mbarrier operands that were read are unsupported by the twin"
        );
        i64::try_from(datum.value).expect("a small number")
    }

    fn give(&mut self, destination: Option<RegisterId>, value: u64) {
        if let Some(register) = destination {
            self.registers.insert(register.index(), Datum { value, reads: BTreeSet::new() });
        }
    }
}

/// The sum of a number per mbarrier instruction of a kernel.
fn sum(statements: &[Statement], of: &dyn Fn(&MbarrierOp) -> usize) -> usize {
    let of_statement = |statement: &Statement| match &statement.kind {
        StatementKind::If { then, otherwise, .. } => sum(then, of) + sum(otherwise, of),
        StatementKind::Instruction(instruction) => match &instruction.kind {
            InstructionKind::Mbarrier(operation) => of(operation),
            _ => 0,
        },
        _ => 0,
    };
    statements.iter().map(of_statement).sum()
}

/// What an initialisation contributes to the most that can be pending.
fn pending_most(operation: &MbarrierOp) -> usize {
    match operation {
        MbarrierOp::Init { count, .. } => match count.kind {
            ExpressionKind::Constant(count) => usize::try_from(count).expect("a small number"),
            _ => 0,
        },
        _ => 0,
    }
}

/// Whether the tries of an `await` do nothing but ask mbarriers.
pub(super) fn only_asks_mbarriers(prelude: &[Statement]) -> bool {
    let asks = |statement: &Statement| match &statement.kind {
        StatementKind::Instruction(instruction) => {
            matches!(instruction.kind, InstructionKind::Mbarrier(MbarrierOp::Wait(_)))
        }
        StatementKind::Assign { .. } => true,
        _ => false,
    };
    prelude.iter().any(|statement| matches!(statement.kind, StatementKind::Instruction(_)))
        && prelude.iter().all(asks)
}

fn may_exceed(statement: &Statement) -> bool {
    match &statement.kind {
        StatementKind::Instruction(instruction) => match &instruction.kind {
            InstructionKind::Mbarrier(MbarrierOp::ExpectTx { .. } | MbarrierOp::CompleteTx { .. }) => true,
            InstructionKind::Mbarrier(MbarrierOp::Arrive(arrive)) => {
                let is_one = matches!(arrive.count.kind, ExpressionKind::Constant(1));
                arrive.expect_tx.is_some() || arrive.drop || !is_one
            }
            _ => false,
        },
        _ => false,
    }
}
