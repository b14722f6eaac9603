//! At which mbarriers an arrival may find its phase full, so that it is one too many (UB-M6): where bytes are delivered, several
//! arrivals made at once or threads drop out, unless counting says otherwise.
//!
//! Threads are run first as if there were none. Where that is not shown they are run again, and whether an arrival is one too
//! many is open there.
//!
//! Sound: up to its first arrival that is one too many, an execution is one of threads that make none, and that arrival is an
//! operation like any other, with phases that it can be in. So it is enough that no phase of those threads' operations can
//! be full when somebody arrives.
//!
//! Needs: [`Need::PhasesInOrder`](crate::facts::needs::Need::PhasesInOrder) where it is shown by phases, as these do. Where it does
//! not hold, operations are in an order that is a part of the execution, and phases are not asked. Else nothing: it is about
//! counts alone.

use super::drops::Drops;
use super::phase::Narrowed;
use crate::event::{GraphBuilder, LocationId, MbarrierId};
use crate::synchronization::log::{Operation, OperationKind};
use fencepost_dsl::IndexVec;
use fencepost_dsl::sorted::SortedSet;

/// What an object is used for.
#[derive(Clone, Copy, Default)]
struct Use {
    /// Whether anybody arrives, and as if it could be one too many.
    is_arrived_at: bool,
    is_open: bool,
    /// Whether something other than arrivals, made one at a time, keeps a phase open.
    is_kept_open: bool,
    has_drops: bool,
    /// The least count that it is ever given.
    least: Option<u32>,
}

/// Where the objects are of which it is not shown that no arrival is one too many, and which were taken to be such; notes those
/// of which it is. What is learnt from counts of drops and from phases is used only if `learns` says so.
pub fn may_be_full(
    graph: &mut GraphBuilder,
    operations: &[Operation],
    narrowed: &Narrowed,
    drops: &Drops,
    learns: bool,
) -> SortedSet<(LocationId, u32)> {
    let mut found = SortedSet::new();
    for (object, of) in uses(operations, graph.mbarriers.len()).iter_enumerated() {
        if !of.is_arrived_at || of.is_open || !of.is_kept_open && !of.has_drops {
            continue;
        }
        // Each phase expects somebody; and when the pending count comes to 0 it is over, or nobody comes any more.
        let somebody_stays = || drops.most(object, &|_| true) < of.least.unwrap_or(0);
        if learns && somebody_stays() && (!of.is_kept_open || narrowed.is_never_full[object]) {
            graph.mbarriers[object].is_never_full = true;
        } else {
            found.insert(graph.mbarriers[object].place());
        }
    }
    found
}

fn uses(operations: &[Operation], n_objects: usize) -> IndexVec<MbarrierId, Use> {
    let mut uses = IndexVec::repeat(Use::default(), n_objects);
    for operation in operations {
        let of: &mut Use = &mut uses[operation.object];
        match operation.kind {
            OperationKind::Init { count } => {
                of.least = Some(of.least.map_or(count, |least| least.min(count)))
            }
            OperationKind::Arrive { count, expects, drops, excess, no_complete, .. } => {
                of.is_arrived_at = true;
                of.is_open |= excess.is_some();
                of.has_drops |= drops;
                of.is_kept_open |= count != 1 || expects > 0 || no_complete;
            }
            OperationKind::Expect { .. } | OperationKind::Complete { .. } => of.is_kept_open = true,
            OperationKind::Inval
            | OperationKind::Raise
            | OperationKind::WaitParity { .. }
            | OperationKind::WaitState { .. } => {}
        }
    }
    uses
}
