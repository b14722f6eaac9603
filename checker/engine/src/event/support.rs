//! Which reads a term's value depends on.

use super::{EventId, TermKind, TermPool, TermRef, UnknownKind};
use fencepost_dsl::sorted::SortedSet;
use rustc_hash::FxHashMap;

/// The reads whose unknowns occur in terms, memoised over one pool.
#[derive(Default)]
pub struct Supports {
    memo: FxHashMap<TermRef, SortedSet<EventId>>,
}

impl Supports {
    /// The reads that `term` depends on.
    pub fn reads(&mut self, terms: &TermPool, term: TermRef) -> &SortedSet<EventId> {
        let mut stack = vec![term];
        while let Some(&top) = stack.last() {
            if self.memo.contains_key(&top) {
                stack.pop();
                continue;
            }
            let operands = terms.operands(top);
            let missing: Vec<TermRef> =
                operands.iter().copied().filter(|o| !self.memo.contains_key(o)).collect();
            if !missing.is_empty() {
                stack.extend(missing);
                continue;
            }
            let mut reads: SortedSet<EventId> =
                operands.iter().flat_map(|o| self.memo[o].iter().copied()).collect();
            if let TermKind::Unknown(unknown) = terms.kind(top)
                && let UnknownKind::Read(event) = terms.unknown(*unknown).kind
            {
                reads.insert(event);
            }
            self.memo.insert(top, reads);
            stack.pop();
        }
        &self.memo[&term]
    }
}
