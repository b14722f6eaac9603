//! Sentences about what a thread of an SPA machine sees out of order.

use super::wording::Words;
use crate::event::EventId;
use crate::explain::near::membars::through_l1;
use crate::explain::{SpaReason, Useless};
use fencepost_dsl::vocabulary::{MembarLevel, Proxy};

impl Words<'_> {
    /// Why.
    pub(super) fn spa_reason(&self, reason: SpaReason) -> String {
        match reason {
            SpaReason::NoMembar { after, before, needed, elsewhere } => {
                let thread = self.thread(after);
                let elsewhere = elsewhere.map_or_else(String::new, |membar| {
                    format!(
                        "; {} of {} is about the accesses of that thread, not about those it was told of",
                        self.quoted(membar),
                        self.thread(membar)
                    )
                });
                format!(
                    "no `MEMBAR` lies between {} and {} in {thread}, so they may happen in either order; \
                     `MEMBAR.{needed}` there is enough ({}){elsewhere}",
                    self.quoted(after),
                    self.quoted(before),
                    cost(needed)
                )
            }
            SpaReason::LevelTooLow { membar, other, needed } => format!(
                "{} of {} does not reach {}: {}; `MEMBAR.{needed}` does ({})",
                self.quoted(membar),
                self.thread(membar),
                self.thread(other),
                pool(needed),
                cost(needed)
            ),
            SpaReason::Stale { read, nearby, .. } => self.stale(read, nearby),
        }
    }

    fn stale(&self, read: EventId, nearby: Option<(EventId, Useless)>) -> String {
        let is_texture = through_l1(self.graph(), read) == Some(Proxy::Texture);
        let (cache, whose, remedy) = if is_texture {
            (
                "texture L1",
                "no store reaches",
                "add `.IVALLT` to the `MEMBAR` between the signal and the load, or `CCTLT.IVALL` after that `MEMBAR`",
            )
        } else {
            (
                "L1",
                "no other SM's stores reach",
                "write `LD.CV`, or add `.IVALLD` to the `MEMBAR` between the signal and the load, or `CCTL.IV` after that \
                 `MEMBAR`",
            )
        };
        let thread = self.thread(read);
        let nearby = nearby.map_or_else(String::new, |(event, useless)| {
            let what = self.quoted(event);
            match useless {
                Useless::OtherSm => {
                    format!("; {what} of {} is about the L1 of another SM", self.thread(event))
                }
                Useless::OtherCache => format!("; {what} is about the other L1"),
                Useless::TooEarly => {
                    format!("; {what} comes before the signal is known, or in no order with it")
                }
                Useless::TooLate => format!("; {what} comes after the load"),
            }
        });
        format!(
            "{} reads through the {cache} of the SM of {thread}, which {whose}: it may find there what it \
             was filled with before; {remedy}{nearby}",
            self.quoted(read)
        )
    }
}

/// Who is beyond all lower levels.
fn pool(level: MembarLevel) -> &'static str {
    match level {
        MembarLevel::Cta => "they are of one CTA",
        MembarLevel::Channel => "they are of different CTAs",
        MembarLevel::Global => "it is a client on another virtual channel of the GPU",
        MembarLevel::System => "it is not on this GPU",
    }
}

/// What a level costs, beside the others (SPA-2).
fn cost(level: MembarLevel) -> &'static str {
    match level {
        MembarLevel::Cta => "the cheapest level",
        MembarLevel::Channel => "dearer than `.CTA`, cheaper than `.GL`",
        MembarLevel::Global => "dearer than `.VC`, much cheaper than `.SYS`",
        MembarLevel::System => "by far the dearest level",
    }
}
