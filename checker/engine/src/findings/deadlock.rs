//! Threads that wait for ever.

use super::Property;

kinds! {
    BARRIER_NEVER_COMPLETES {
        code: "deadlock::barrier-never-completes",
        page: "deadlock-barrier-never-completes",
        summary: "threads wait for ever at a barrier",
        property: Some(Property::Deadlock),
        rules: ["BR-2", "BR-7"],
    }
    SPIN_NEVER_ENDS {
        code: "deadlock::spin-never-ends",
        page: "deadlock-spin-never-ends",
        summary: "a thread waits for ever for memory to change",
        property: Some(Property::Deadlock),
        rules: ["LT-8"],
    }
    STALE_SPIN {
        code: "deadlock::stale-spin",
        page: "deadlock-stale-spin",
        summary: "a spin loop reads through an L1 that nothing invalidates (SPA 5.0)",
        property: Some(Property::Deadlock),
        rules: ["SPA-R4", "SPA-4"],
    }
    WEAK_SPIN {
        code: "deadlock::weak-spin",
        page: "deadlock-weak-spin",
        summary: "a loop waits on weak reads, which need never see what others write",
        property: Some(Property::Deadlock),
        rules: ["LT-7"],
    }
    UNPROMISED_WRITE {
        code: "deadlock::unpromised-write",
        page: "deadlock-unpromised-write",
        summary: "a thread waits for a write that it need never see",
        property: Some(Property::Deadlock),
        rules: ["LT-8"],
    }
    PHASE_NEVER_COMPLETES {
        code: "deadlock::phase-never-completes",
        page: "deadlock-phase-never-completes",
        summary: "a thread waits for ever for an mbarrier's phase",
        property: Some(Property::Deadlock),
        rules: ["MB-4"],
    }
    REGISTERS_NEVER_FREE {
        code: "deadlock::registers-never-free",
        page: "deadlock-registers-never-free",
        summary: "a warp waits for ever for registers in `setmaxnreg.inc`",
        property: Some(Property::Deadlock),
        rules: ["AS-41", "LT-10"],
    }
}
