//! Words for accesses through different virtual addresses, of which one may be a multimem address.

use super::wording::Words;
use crate::event::{Access, EventId};

impl Words<'_> {
    /// ` of gpu 1`, for an access of one of the instances that a multimem address denotes.
    pub(super) fn multimem_instance(&self, event: EventId) -> &str {
        if !self.graph().is_through_multimem(event) {
            return "";
        }
        let Some(access) = self.graph().events[event].kind.access() else { return "" };
        self.graph().locations[access.location].name.instance()
    }

    /// How (1) and (2) come to be aliases.
    pub(super) fn aliases(&self, earlier: EventId, later: EventId) -> String {
        self.through_multimem((earlier, "(1)"), (later, "(2)"))
            .unwrap_or_else(|| "they go through different virtual addresses of the same bytes".to_owned())
    }

    /// That two accesses of the same bytes go through different virtual addresses; nothing if that is not all.
    pub(super) fn different_addresses(
        &self,
        (a, first): (EventId, &str),
        (b, second): (EventId, &str),
    ) -> Option<String> {
        let access = |event: EventId| self.graph().events[event].kind.access();
        let (one, other) = (access(a)?, access(b)?);
        let range = |access: &Access| (self.witness.values[access.offset], access.width_bytes);
        if one.mapping == other.mapping || range(one) != range(other) {
            return None;
        }
        Some(self.through_multimem((a, first), (b, second)).unwrap_or_else(|| {
            format!("{first} and {second} go through different virtual addresses of the same bytes")
        }))
    }

    fn through_multimem(&self, (a, first): (EventId, &str), (b, second): (EventId, &str)) -> Option<String> {
        let through = |event: EventId| self.graph().is_through_multimem(event);
        let (multimem, unicast) = match (through(a), through(b)) {
            (true, false) => (first, second),
            (false, true) => (second, first),
            _ => return None,
        };
        Some(format!(
            "{multimem} goes through the multimem address and {unicast} through the device's own address of the same bytes"
        ))
    }
}
