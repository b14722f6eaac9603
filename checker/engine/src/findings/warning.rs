//! What is likely a mistake and breaks no property: it is said after the findings and changes no verdict.

kinds! {
    UNUSED_OBJECT {
        code: "warning::unused-object",
        page: "warning-unused-object",
        summary: "memory that nothing names",
        property: None,
        rules: [],
    }
    UNUSED_PARAMETER {
        code: "warning::unused-parameter",
        page: "warning-unused-parameter",
        summary: "a parameter that nothing names",
        property: None,
        rules: [],
    }
    UNUSED_FUNCTION {
        code: "warning::unused-function",
        page: "warning-unused-function",
        summary: "a function that nothing calls",
        property: None,
        rules: [],
    }
    UNUSED_LET {
        code: "warning::unused-let",
        page: "warning-unused-let",
        summary: "a value that is computed and never used",
        property: None,
        rules: [],
    }
    CONSTANT_ASSERTION {
        code: "warning::constant-assertion",
        page: "warning-constant-assertion",
        summary: "an assertion that holds whatever is read",
        property: None,
        rules: [],
    }
    BRANCH_NEVER_TAKEN {
        code: "warning::branch-never-taken",
        page: "warning-branch-never-taken",
        summary: "a branch that no thread of any launch takes",
        property: None,
        rules: [],
    }
    DOUBLED_FENCE {
        code: "warning::doubled-fence",
        page: "warning-doubled-fence",
        summary: "a fence right beside one that orders as much",
        property: None,
        rules: [],
    }
    ARRIVAL_WITHOUT_WAIT {
        code: "warning::arrival-without-wait",
        page: "warning-arrival-without-wait",
        summary: "threads arrive where nobody waits",
        property: None,
        rules: [],
    }
    UNRECORDED_EVENT {
        code: "warning::unrecorded-event",
        page: "warning-unrecorded-event",
        summary: "a wait for an event that nothing records",
        property: None,
        rules: ["MM-38"],
    }
    NOTHING_TO_PROTECT {
        code: "warning::nothing-to-protect",
        page: "warning-nothing-to-protect",
        summary: "fences or strong accesses, and nothing that they could order",
        property: None,
        rules: [],
    }
    SCOPES_MOOT {
        code: "warning::scopes-moot",
        page: "warning-scopes-moot",
        summary: "no launch has threads that a narrower scope would leave out",
        property: None,
        rules: [],
    }
}
