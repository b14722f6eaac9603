//! What is concluded without asking the solver, and what each conclusion needs.
//!
//! An argument (a `Sound:` paragraph) names its needs, and they are evaluated: [`needs`] says of a model, or of a model and
//! the graph of a launch, whether each holds. Where one does not, what rests on it is off, and `--stats` says so.
//!
//! A deduction is a row of [`DEDUCTIONS`]: its name, which is that of its switch, and its needs. To add one, add its row,
//! and ask [`Facts`] before it is used.

pub mod needs;
mod rounds;
mod shipped;

use crate::check::Config;
use crate::encode::Treatment;
use crate::event::EventGraph;
use crate::unroll::{MbarrierEncoding, unpromised};
use fencepost_dsl::cat::memory_model::MemoryModel;
use fencepost_dsl::kernel::program::{Launch, StorageId};
use fencepost_dsl::sorted::SortedSet;
use needs::Need;

/// A conclusion that has needs.
#[derive(Debug)]
pub struct Deduction {
    /// As in `--without NAME`, if it has a switch.
    pub name: &'static str,
    /// All of which must hold.
    pub needs: &'static [Need],
    /// Everything on but it, if it has a switch.
    pub off: Option<Treatment>,
}

impl Deduction {
    /// The row of that name.
    pub fn named(name: &str) -> Option<&'static Self> {
        DEDUCTIONS.iter().find(|row| row.name == name)
    }

    /// Whether it is on where it may be.
    pub fn is_on(&self, treatment: Treatment) -> bool {
        self.off.is_none_or(|off| treatment.and(off) != treatment)
    }
}

/// Loops whose rounds may be without effect need no bound (`unroll::wait`).
pub const WAITS: Deduction =
    Deduction { name: "waits", needs: &[Need::Monotone, Need::OneRound], off: Some(Treatment::UNWOUND) };
/// Neither do those whose rounds write back what they have read (`unroll::wait`).
pub const WRITING_WAITS: Deduction = Deduction {
    name: "waits-that-write",
    needs: &[Need::Monotone, Need::OneRound, Need::NoRace, Need::ReadsThroughUpdates],
    off: Some(Treatment::UNWOUND),
};
/// Rounds without effect that all threads of a CTA make together count as one (`unroll::cta_wait`).
pub const CTA_WAITS: Deduction = Deduction {
    name: "cta-waits",
    needs: &[Need::Monotone, Need::OneRound],
    off: Some(Treatment::CTA_ROUNDS),
};
/// Tries that can be no end of a flagged pair are left out, too (`check::tries`); those that write back what they have
/// read only if nobody races for the word.
pub const PRUNE_SPINS: Deduction = Deduction {
    name: "prune-spins",
    needs: &[Need::Monotone, Need::NoTryBetween, Need::NoRace],
    off: Some(Treatment { prune_spins: false, ..Treatment::DEFAULT }),
};
/// A thread that goes round a loop for ever is found by one round on final memory (`unroll::hang`).
pub const HANGS: Deduction = Deduction { name: "hangs-in-loops", needs: &[Need::Monotone], off: None };
/// A loop that cannot be cut at the bound needs no larger one: executions are prefixes of longer ones.
pub const BOUNDS: Deduction = Deduction { name: "loop-bounds", needs: &[Need::Monotone], off: None };
/// What reads can return, from what can be written (`encode::memory::known_values`, `check::impossible`).
pub const KNOWN_VALUES: Deduction = Deduction {
    name: "known-values",
    needs: &[Need::NoThinAir],
    off: Some(Treatment { known_values: false, ..Treatment::DEFAULT }),
};
/// A launch is looked at a few threads at a time (`slice`).
pub const SLICES: Deduction =
    Deduction { name: "slices", needs: &[Need::Monotone, Need::MonotoneFlags], off: Some(Treatment::WHOLE) };
/// Of cells that the same weak accesses touch, one is looked at (`check::cells`).
pub const ALIKE_CELLS: Deduction = Deduction {
    name: "alike-cells",
    needs: &[Need::Monotone, Need::MonotoneFlags, Need::Alike],
    off: Some(Treatment::ALL_CELLS),
};
/// What follows for words that only additions write (`relation::counting`).
pub const COUNTING: Deduction = Deduction {
    name: "counting",
    needs: &[Need::TotalCoherence, Need::OneCell],
    off: Some(Treatment { counting: false, ..Treatment::DEFAULT }),
};
/// The order of rounds of words that are set back (`relation::counting::resets`, `check::rounds`).
pub const RESETS: Deduction = Deduction {
    name: "resets",
    needs: &[Need::TotalCoherence, Need::OneCell],
    off: Some(Treatment { resets: false, ..Treatment::DEFAULT }),
};
/// Of all orders of units that are alike one is enough (`relation::symmetry`).
pub const SYMMETRY: Deduction = Deduction {
    name: "symmetry",
    needs: &[Need::Alike],
    off: Some(Treatment { symmetry: false, ..Treatment::DEFAULT }),
};
/// Phases of mbarriers by what comes before what, without an order of all operations (`synchronization::mbarrier::phase`).
/// Where it is off, that order is part of the execution.
pub const PHASES: Deduction = Deduction {
    name: "ordered-mbarriers",
    needs: &[Need::PhasesInOrder],
    off: Some(Treatment { mbarrier_encoding: MbarrierEncoding::Order, ..Treatment::DEFAULT }),
};

/// Where threads drop out of an mbarrier, or bytes are delivered there, no arrival is one too many
/// (`synchronization::mbarrier::full`).
pub const NEVER_FULL: Deduction =
    Deduction { name: "never-full", needs: &[Need::PhasesInOrder], off: Some(Treatment::MAYBE_FULL) };
/// An aligned matrix operation reads once for its warp (A-56, `unroll::asynchronous::together`).
pub const WARP_READS: Deduction =
    Deduction { name: "warp-reads", needs: &[], off: Some(Treatment::BY_LANES) };
/// Of lanes that do the same it is enough to elect one (`unroll::barrier::leaders`, `check::leaders`).
pub const LEADERS: Deduction = Deduction { name: "leaders", needs: &[], off: Some(Treatment::ANY_LEADER) };
/// A load of shared memory that can only return what one store has written is that value (`unroll::forward`).
pub const FORWARDING: Deduction = Deduction {
    name: "forwarding",
    needs: &[Need::ReadsInBarrierOrder, Need::NoTensorMemory],
    off: Some(Treatment::UNFORWARDED),
};

/// The deductions whose needs are evaluated.
pub const DEDUCTIONS: &[Deduction] = &[
    WAITS,
    WRITING_WAITS,
    CTA_WAITS,
    PRUNE_SPINS,
    HANGS,
    BOUNDS,
    KNOWN_VALUES,
    SLICES,
    ALIKE_CELLS,
    COUNTING,
    RESETS,
    SYMMETRY,
    PHASES,
    NEVER_FULL,
    WARP_READS,
    LEADERS,
    FORWARDING,
];

/// A deduction that was off for a need.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Off {
    /// Its name.
    pub deduction: &'static str,
    /// What does not hold.
    pub need: Need,
    /// Where or why it does not.
    pub because: String,
}

/// What is known of the needs of a run, and what was off for one of them.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The axiom that is not monotone, if one is not.
    not_monotone: Option<String>,
    treatment: Treatment,
    /// Needs that the model alone says all about, where they have been evaluated.
    asked: Vec<Need>,
    off: Vec<Off>,
    /// Words with writes that whoever waits there is not promised to see (LT-8): rounds that read them are events.
    unpromised: SortedSet<StorageId>,
}

impl Facts {
    /// What the model alone says.
    pub fn of(model: &MemoryModel, launch: &Launch, treatment: Treatment) -> Self {
        let not_monotone = needs::not_monotone(model, launch);
        let mut this = Self {
            not_monotone,
            treatment,
            asked: Vec::new(),
            off: Vec::new(),
            unpromised: SortedSet::new(),
        };
        if let Some(axiom) = this.not_monotone.clone() {
            let because = format!("axiom `{axiom}` may forbid more where less happens");
            for row in DEDUCTIONS.iter().filter(|row| row.needs.contains(&Need::Monotone)) {
                this.withdraw(row, Need::Monotone, &because);
            }
        }
        if !needs::no_thin_air(model) {
            this.withdraw(&KNOWN_VALUES, Need::NoThinAir, "no axiom makes `rf | data` acyclic");
        }
        this
    }

    /// Asks what takes time only of a graph that it matters for. Whether that changes what the graph rests on: then it has to be
    /// made again.
    pub fn look_at(&mut self, graph: &EventGraph, model: &MemoryModel, config: &Config) -> bool {
        let n_off = self.off.len();
        if !graph.writing_tries.is_empty() {
            self.ask_once(&WRITING_WAITS, Need::ReadsThroughUpdates, || needs::foreign_reads(model));
        }
        if graph.n_forwarded > 0 {
            self.ask_once(&FORWARDING, Need::ReadsInBarrierOrder, || needs::out_of_barrier_order(model));
            if needs::has_tensor_memory(graph) {
                let because = "what depends on a value that was read comes after its write there (AS-31)";
                self.withdraw(&FORWARDING, Need::NoTensorMemory, because);
            }
        }
        if !graph.mbarriers.is_empty() {
            let because = || needs::out_of_phase_order(model);
            self.ask_once(&PHASES, Need::PhasesInOrder, because);
            // Phases say nothing there of who finds them full.
            let is_said = graph.mbarriers.iter().any(|own| own.is_never_full);
            if let Some(because) = because().filter(|_| is_said) {
                self.withdraw(&NEVER_FULL, Need::PhasesInOrder, &because);
            }
        }
        let n_unpromised = self.unpromised.len();
        self.unpromised.extend(unpromised(graph));
        if self.off.len() > n_off || self.unpromised.len() > n_unpromised {
            return true;
        }
        let Treatment { waits, prune_spins, .. } = config.treatment;
        if waits && let Some(flag) = needs::several_rounds(graph, model, &config.properties) {
            self.withdraw(
                &WAITS,
                Need::OneRound,
                &format!("flag `{flag}` may hold of several rounds of a loop"),
            );
        } else if prune_spins && let Some(flag) = needs::try_between(graph, model, &config.properties) {
            self.withdraw(
                &PRUNE_SPINS,
                Need::NoTryBetween,
                &format!("flag `{flag}` may hold for the sake of a try"),
            );
        }
        if let Some(flag) = needs::several_rounds_of_ctas(graph, model, &config.properties) {
            self.withdraw(
                &CTA_WAITS,
                Need::OneRound,
                &format!("flag `{flag}` may hold of several rounds of a CTA"),
            );
        }
        self.off.len() > n_off
    }

    fn ask_once(&mut self, row: &Deduction, need: Need, because: impl FnOnce() -> Option<String>) {
        if self.asked.contains(&need) {
            return;
        }
        self.asked.push(need);
        if let Some(because) = because() {
            self.withdraw(row, need, &because);
        }
    }

    /// Words with writes that whoever waits there is not promised to see.
    pub fn unpromised(&self) -> &SortedSet<StorageId> {
        &self.unpromised
    }

    /// Whether the axioms are monotone.
    pub fn is_monotone(&self) -> bool {
        self.not_monotone.is_none()
    }

    /// Notes that a deduction is off, unless nobody wanted it.
    pub fn withdraw(&mut self, row: &Deduction, need: Need, because: &str) {
        if row.is_on(self.treatment) && self.off.iter().all(|off| off.deduction != row.name) {
            self.off.push(Off { deduction: row.name, need, because: because.to_owned() });
        }
    }

    /// Whether a deduction is off for a need.
    pub fn is_off(&self, row: &Deduction) -> bool {
        self.off.iter().any(|off| off.deduction == row.name)
    }

    /// What was off.
    pub fn into_off(self) -> Vec<Off> {
        self.off
    }

    /// A run's options without what is off as a whole.
    pub fn allowed(&self, config: &Config) -> Config {
        let mut treatment = config.treatment;
        treatment.waits &= !self.is_off(&WAITS);
        treatment.cta_waits &= !self.is_off(&CTA_WAITS);
        treatment.prune_spins &= !self.is_off(&PRUNE_SPINS);
        treatment.never_full &= !self.is_off(&NEVER_FULL);
        if self.is_off(&PHASES) {
            treatment.mbarrier_encoding = MbarrierEncoding::Order;
        }
        if self.is_off(&ALIKE_CELLS) {
            treatment.cells_from = usize::MAX;
        }
        if self.is_off(&SLICES) {
            treatment.slices_from = usize::MAX;
        }
        Config { treatment, ..config.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::{DEDUCTIONS, Deduction};
    use crate::encode::Treatment;

    #[test]
    fn each_row_is_found_by_its_name_and_switched_off_by_its_switch() {
        for row in DEDUCTIONS {
            let found = Deduction::named(row.name).expect("it has a row");
            assert_eq!((found.needs, found.off), (row.needs, row.off));
            assert!(row.is_on(Treatment::DEFAULT), "{}", row.name);
            assert!(row.off.is_none_or(|off| !row.is_on(off)), "{}", row.name);
        }
    }
}
