//! What statements that order or complete are for: with which instructions, and why something is found that each is meant for.

use super::super::reason::Reason;
use super::ground::Ground;
use super::syntax::Instruction;

/// When a statement is worth being put in.
pub struct Use {
    /// How its name begins.
    pub statement: &'static str,
    /// How an opcode of the kernel begins without which it is not.
    pub with: &'static [&'static str],
    /// … and a word that it has.
    pub word: &'static str,
    /// Why something is found that it is meant for.
    pub reason: fn(&Reason) -> bool,
    /// … and how the name of a finding begins that needs no reason.
    pub finding: &'static [&'static str],
}

impl Use {
    /// Whether it has to do with an instruction.
    pub fn is_with(&self, own: &Instruction) -> bool {
        let begins = self.with.is_empty() || self.with.iter().any(|with| own.opcode.starts_with(with));
        begins && own.opcode.contains(self.word)
    }

    /// Whether the reason is one that it is meant for: that nobody waits is about the operation that it waits for.
    pub fn is_asked(&self, ground: &Ground<'_>, reason: &Reason) -> bool {
        let is_own = match reason {
            Reason::NotCompleted { event, known: None, .. } => {
                ground.instruction(ground.started_by(*event)).is_none_or(|own| self.is_with(own))
            }
            _ => true,
        };
        is_own && (self.reason)(reason)
    }
}

/// Nobody waits for an operation.
fn is_open(reason: &Reason) -> bool {
    matches!(reason, Reason::NotCompleted { known: None, .. })
}

/// Threads have not met.
fn is_apart(reason: &Reason) -> bool {
    use Reason::{NobodyHasWaited, NotCompleted, NotPassedOn, NothingObserved, WaitsAlone};
    matches!(
        reason,
        NothingObserved { .. }
            | NotPassedOn { .. }
            | WaitsAlone { .. }
            | NobodyHasWaited { .. }
            | NotCompleted { known: Some(_), .. }
    )
}

const BULK: &[&str] = &["cp.async.bulk", "cp.reduce.async.bulk"];

/// How the names of findings begin that are about mbarriers that others use before they are initialised.
pub const INIT: &str = "mbarrier::init";

/// What each statement is for. Those that are not named here are for anything.
pub const USES: &[Use] = &[
    Use {
        statement: "fence.proxy.async",
        with: &["cp.async.bulk", "cp.reduce.async.bulk", "wgmma", "tcgen05"],
        word: "",
        reason: |reason| {
            matches!(reason, Reason::MissingProxyFence { .. } | Reason::ProxyFencesOutOfOrder { .. })
        },
        finding: &[],
    },
    Use {
        statement: "fence.mbarrier_init",
        with: &["mbarrier.init"],
        word: "",
        reason: |_| false,
        finding: &[INIT],
    },
    Use {
        statement: "cp.async.wait_all",
        with: &["cp.async.ca", "cp.async.cg"],
        word: "",
        reason: is_open,
        finding: &["lifetime::operation"],
    },
    Use {
        statement: "cp.async.bulk.wait_group",
        with: BULK,
        word: ".bulk_group",
        reason: is_open,
        finding: &["lifetime::operation"],
    },
    Use {
        statement: "wgmma.fence",
        with: &["wgmma"],
        word: "",
        reason: |reason| matches!(reason, Reason::MatrixFenceTooEarly { .. }),
        finding: &["async::no-matrix-fence"],
    },
    Use {
        statement: "wgmma.wait_group",
        with: &["wgmma"],
        word: "",
        reason: is_open,
        finding: &["async::registers"],
    },
    Use {
        statement: "tcgen05",
        with: &["tcgen05"],
        word: "",
        reason: |reason| matches!(reason, Reason::TensorOrder { .. }),
        finding: &["async::"],
    },
    Use {
        statement: "griddepcontrol.wait",
        with: &["griddepcontrol"],
        word: "",
        reason: |reason| matches!(reason, Reason::Overlapping { .. }),
        finding: &[],
    },
    Use {
        statement: "barrier.cluster",
        with: &["mapa", "barrier.cluster", "cp.async.bulk"],
        word: "",
        reason: is_apart,
        finding: &["lifetime::peer"],
    },
    Use { statement: "bar.", with: &[], word: "", reason: is_apart, finding: &[INIT] },
];
