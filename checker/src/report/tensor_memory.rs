//! Words for tensor memory: which link between two of its operations is missing.

use super::wording::Words;
use crate::event::EventId;
use crate::explain::reason::TensorLink;

impl Words<'_> {
    /// Which link between two operations on tensor memory is missing.
    pub(super) fn tensor_order(
        &self,
        earlier: EventId,
        later: EventId,
        missing: TensorLink,
        known: Option<EventId>,
    ) -> String {
        let known = known
            .map_or_else(String::new, |event| format!("{} of {}", self.quoted(event), self.thread(event)));
        let issuer = |event: EventId| {
            let agent = self.graph().events[event].agent;
            agent.map_or_else(String::new, |agent| self.agent(self.graph().hierarchy.issuer(agent)))
        };
        let (first, second) = (issuer(earlier), issuer(later));
        match missing {
            TensorLink::End => {
                let opcode = self.quoted(earlier);
                let end =
                    ["ld", "st"].into_iter().find(|kind| opcode.starts_with(&format!("`tcgen05.{kind}")));
                let end = end.map_or_else(
                    || "a `tcgen05.commit` of it, and a wait for its mbarrier".to_owned(),
                    |kind| format!("`tcgen05.wait::{kind}` of {first}"),
                );
                format!(
                    "operations on tensor memory are not in the order in which they are started, and nothing says that (1) \
                     is over before {second} starts (2): {end} would"
                )
            }
            TensorLink::EndUnused => {
                format!(
                    "{known} knows that (1) is over, but nothing leads from there to the start of (2) by {second}"
                )
            }
            TensorLink::EndLate => {
                format!(
                    "operations on tensor memory are not in the order in which they are started, but for products on one \
                     accumulator; the commit that says that (1) is over stands behind (2): a `tcgen05.commit` before it, and \
                     a wait for its mbarrier by {second}, would order them"
                )
            }
            TensorLink::FenceBefore => format!(
                "{first} goes on to {second} without `tcgen05.fence::before_thread_sync` after (1): neither program order \
                 nor release and acquire order tensor memory"
            ),
            TensorLink::Execution => format!(
                "the end of (1) is known and fenced in {first}, but nothing leads from there to the start of (2) by {second}"
            ),
            TensorLink::FenceAfter => format!(
                "{second} starts (2) without `tcgen05.fence::after_thread_sync` after it has learnt that (1) is over: \
                 neither program order nor release and acquire order tensor memory"
            ),
        }
    }
}
