//! Words for broken rules: those of the row, with the facts in their places.

use super::wording::{Words, filled};
use crate::event::{Fact, Misuse};
use fencepost_dsl::kernel::program::Coordinate;

impl Words<'_> {
    /// What a thread does that breaks a rule, to follow its name.
    pub(super) fn misused(&self, misuse: &Misuse) -> String {
        filled(misuse.kind.what, |place| {
            let fact = misuse.facts.iter().find(|(own, _)| *own == place);
            fact.map_or_else(|| format!("{{{place}}}"), |(_, fact)| self.fact(fact))
        })
    }

    fn fact(&self, fact: &Fact) -> String {
        let number = |agent| self.graph().hierarchy.coordinate(agent, Coordinate::Tid);
        match fact {
            Fact::Mbarrier(object) => self.graph().mbarriers[*object].name.to_string(),
            Fact::Number(number) => number.to_string(),
            Fact::Mask(mask) => format!("{mask:#x}"),
            Fact::Lanes(1, lane) => format!("tid {} of its warp goes past it", number(*lane)),
            Fact::Lanes(n, lane) => {
                format!("{n} lanes of its warp (such as tid {}) may go past it", number(*lane))
            }
            Fact::Name(name) => name.clone(),
        }
    }
}
