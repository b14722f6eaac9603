//! Words for accesses of shared memory whose CTA may not be there.

use super::wording::Words;
use crate::event::{CtaId, EventId, EventKind, MbarrierRole};

impl Words<'_> {
    /// The first line: ``tid 0 of cta 1 reads `tile` of cta 0, which may have ended before``.
    pub fn outside_life(&self, access: EventId, owner: CtaId, ended: bool) -> String {
        let when = if ended { "which may have ended before" } else { "which may not have started yet" };
        format!("{} {} of {}, {when}", self.thread(access), self.does_to(access), self.cta(owner))
    }

    /// Why nothing keeps the CTA there.
    pub fn why_outside(&self, access: EventId, owner: CtaId, ended: bool) -> String {
        let owner = self.cta(owner);
        if ended {
            format!(
                "{owner} runs to its end here, and no thread of it waits until {} of {} is over; shared memory ends with \
                 its CTA",
                self.quoted(access),
                self.thread(access)
            )
        } else {
            format!(
                "nothing tells {} that {owner} has started: no cluster barrier that it has arrived at, no signal and no \
                 value from it comes before {}",
                self.thread(access),
                self.quoted(access)
            )
        }
    }

    /// `cta 1`, with its device where there are several.
    pub fn cta(&self, cta: CtaId) -> String {
        self.case.outcome.graph.hierarchy.describe_cta(cta)
    }

    /// ``reads `tile` ``, ``arrives at `full[0]` ``.
    fn does_to(&self, access: EventId) -> String {
        let graph = &self.case.outcome.graph;
        let EventKind::Mbarrier(operation) = &graph.events[access].kind else {
            return format!("{} `{}`", self.verb(access), self.object(access).unwrap_or_default());
        };
        let verb = match operation.role {
            MbarrierRole::Init => "initialises",
            MbarrierRole::Inval => "invalidates",
            MbarrierRole::Transaction | MbarrierRole::Complete => "counts bytes of",
            MbarrierRole::Arrive => "arrives at",
            MbarrierRole::Test | MbarrierRole::Wait => "waits for",
        };
        let name = &graph.mbarriers[operation.object].name;
        format!("{verb} `{}`", name.stem())
    }
}
