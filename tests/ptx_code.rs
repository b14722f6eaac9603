//! What compiled code has besides straight-line kernels: calls, branches by number, structures, constant memory, clusters of
//! several axes.

use fencepost::{Options, Report, Source, Verdict, check};

/// Checks a module of which `k` is the kernel.
fn report(module: &str, declarations: &str, import: &str) -> Report {
    let harness = format!("{declarations}\nimport \"k.ptx\" entry k as k {{ {import} }}");
    let module = format!(".version 9.0\n.target sm_90\n{module}");
    check(Source::text("k.fence", harness).with("k.ptx", module), &Options::default())
        .unwrap_or_else(|error| panic!("{error}"))
}

fn verdict(module: &str, declarations: &str, import: &str) -> (Verdict, Vec<&'static str>) {
    let report = report(module, declarations, import);
    (report.verdict(), report.findings().map(|finding| finding.code).collect())
}

fn refusal(module: &str, declarations: &str, import: &str) -> String {
    let harness = format!("{declarations}\nimport \"k.ptx\" entry k as k {{ {import} }}");
    let module = format!(".version 9.0\n.target sm_90\n{module}");
    let source = Source::text("k.fence", harness).with("k.ptx", module);
    match check(source, &Options::default()) {
        Ok(report) => {
            let refused: Vec<_> =
                report.launches().iter().filter_map(|own| own.unsupported.as_ref()).collect();
            refused.first().map_or_else(|| report.to_brief(), |why| why.message.clone())
        }
        Err(error) => error.to_string(),
    }
}

const PROVED: (Verdict, Vec<&str>) = (Verdict::Proved, Vec::new());

/// Arguments and results in `.param` space and in registers, functions that call functions, and a `ret` in the middle.
const FUNCTIONS: &str = "
.func (.param .b32 twice_ret) twice(.param .b32 twice_x) {
    .reg .b32 %r<4>;
    ld.param.b32 %r1, [twice_x];
    add.s32 %r2, %r1, %r1;
    st.param.b32 [twice_ret], %r2;
    ret;
}
.func (.reg .b32 %out) capped(.reg .b32 %in, .reg .b32 %most) {
    .reg .pred %p<2>;
    .reg .b32 %r<4>;
    mov.b32 %out, %in;
    setp.le.u32 %p1, %in, %most;
    @%p1 ret;
    mov.b32 %out, %most;
    ret;
}
.func (.param .b32 four_ret) four_times(.param .b32 four_x) {
    .reg .b32 %r<4>;
    ld.param.b32 %r1, [four_x+0];
    { .param .b32 a; .param .b32 r;
      st.param.b32 [a], %r1; call.uni (r), twice, (a); ld.param.b32 %r2, [r]; }
    { .param .b32 a; .param .b32 r;
      st.param.b32 [a], %r2; call.uni (r), twice, (a); ld.param.b32 %r3, [r]; }
    st.param.b32 [four_ret], %r3;
    ret;
}";

#[test]
fn what_is_called_is_computed() {
    let kernel = |call: &str| {
        format!(
            "{FUNCTIONS}
.visible .entry k(.param .u64 p, .param .u32 n) {{
    .reg .b32 %r<9>; .reg .b64 %rd<3>; .reg .pred %p<2>;
    ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [n];
    mov.u32 %r2, 100;
    setp.eq.u32 %p1, %r1, 3;
    {call}
    st.global.u32 [%rd1], %r2;
    ret;
}}"
        )
    };
    let four = "{ .param .b32 a; .param .b32 r; st.param.b32 [a], %r1; call.uni (r), four_times, (a); \
                ld.param.b32 %r2, [r]; }";
    let capped = "call (%r2), capped, (%r1, 5);";
    let guarded = "@%p1 call (%r2), capped, (%r1, 5);";
    for (call, n, value) in
        [(four, 5, 20), (capped, 3, 3), (capped, 9, 5), (guarded, 3, 3), (guarded, 9, 100)]
    {
        let import =
            format!("launch {{ ctas: 1 }} param 0 = &x; param 1 = {n}; final {{ assert [x] == {value}; }}");
        assert_eq!(verdict(&kernel(call), "global x: u32 = 0;", &import), PROVED, "{call} of {n}");
        let wrong = import.replace(&format!("== {value}"), &format!("== {}", value + 1));
        let found = verdict(&kernel(call), "global x: u32 = 0;", &wrong);
        assert_eq!(found, (Verdict::Violated, vec!["assert::final-violated"]), "{call} of {n}");
    }
}

/// A variable of a function in shared memory is there once, one in local memory for each call.
#[test]
fn variables_of_functions() {
    let kernel = |space: &str| {
        format!(
            "
.func (.reg .b32 %old) exchange(.reg .b32 %new) {{
    .{space} .align 4 .b32 kept;
    ld.{space}.b32 %old, [kept];
    st.{space}.b32 [kept], %new;
    ret;
}}
.visible .entry k(.param .u64 p) {{
    .reg .b32 %r<9>; .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [p];
    call (%r1), exchange, (7);
    call (%r2), exchange, (8);
    st.global.u32 [%rd1], %r2;
    ret;
}}"
        )
    };
    let import = "launch { ctas: 1 } param 0 = &x; final { assert [x] == 7; }";
    assert_eq!(verdict(&kernel("shared"), "global x: u32 = 0;", import), PROVED);
    let found = verdict(&kernel("local"), "global x: u32 = 0;", import);
    assert_eq!(found, (Verdict::Violated, vec!["assert::final-violated"]));
}

/// Lanes that store one value to one place do so with one instruction only if it is that of one call.
#[test]
fn two_calls_are_two_instructions() {
    let kernel = |calls: &str| {
        format!(
            "
.func put(.reg .b64 %at) {{
    .reg .b32 %r<2>;
    mov.u32 %r1, 1;
    st.global.u32 [%at], %r1;
    ret;
}}
.visible .entry k(.param .u64 p) {{
    .reg .b32 %r<9>; .reg .b64 %rd<3>; .reg .pred %p<2>;
    ld.param.u64 %rd1, [p];
    mov.u32 %r1, %tid.x;
    setp.eq.u32 %p1, %r1, 0;
    {calls}
    ret;
}}"
        )
    };
    let import = "launch { ctas: 1, block: 2 } param 0 = &x;";
    let both = kernel("call put, (%rd1);");
    assert_eq!(verdict(&both, "global x: u32 = 0;", import), PROVED);
    let apart = kernel("@%p1 call put, (%rd1); @!%p1 call put, (%rd1);");
    assert_eq!(verdict(&apart, "global x: u32 = 0;", import), (Verdict::Violated, vec!["race::uniform"]));
    // Its places say which call it was.
    let shown = report(&apart, "global x: u32 = 0;", import).to_text(fencepost::Style::PLAIN);
    assert!(shown.contains("@%p1 call put"), "{shown}");
}

#[test]
fn calls_that_are_not_put_in_place() {
    let kernel = |functions: &str, call: &str| {
        format!(
            "{functions}
.visible .entry k(.param .u64 p) {{
    .reg .b32 %r<9>; .reg .b64 %rd<3>; .reg .pred %p<2>;
    ld.param.u64 %rd1, [p];
    ld.global.u32 %r1, [%rd1];
    setp.eq.u32 %p1, %r1, 5;
    {call}
    st.global.u32 [%rd1], %r1;
    ret;
}}"
        )
    };
    let import = "launch { ctas: 1 } param 0 = &x;";
    let print = ".extern .func (.param .b32 ret) vprintf(.param .b64 a, .param .b64 b);";
    let fail = ".extern .func __assertfail(.param .b64 a);";
    let printed = "{ .param .b64 a; .param .b64 b; .param .b32 r; st.param.b64 [a], %rd1; \
                   st.param.b64 [b], %rd1; call.uni (r), vprintf, (a, b); ld.param.b32 %r2, [r]; }";
    assert_eq!(verdict(&kernel(print, printed), "global x: u32 = 0;", import), PROVED);
    let failed = "{ .param .b64 a; st.param.b64 [a], %rd1; @%p1 call.uni __assertfail, (a); }";
    assert_eq!(verdict(&kernel(fail, failed), "global x: u32 = 0;", import), PROVED);
    assert_eq!(
        verdict(&kernel(fail, failed), "global x: u32 = 5;", import),
        (Verdict::Violated, vec!["assert::violated"])
    );
    for (functions, call, why) in [
        (".func f();", "call f;", "`f`, which has no body in this module, is not checked"),
        // It writes one of its results where a pointer says.
        (
            ".extern .func __nv_sincosf(.reg .f32 x, .reg .b64 p, .reg .b64 q);",
            "call __nv_sincosf, (0f3f800000, %rd1, %rd1);",
            "`__nv_sincosf`, which has no body",
        ),
        (".func f() { call f; ret; }", "call f;", "`f`, which calls itself"),
        ("", "call %rd1, (), F;", "a call through a pointer"),
    ] {
        let found = refusal(&kernel(functions, call), "global x: u32 = 0;", import);
        assert!(found.contains(why), "{call}: {found}");
    }
    let root = ".extern .func (.reg .f32 y) __nv_sqrtf(.reg .f32 x);";
    let computed = ".reg .f32 %f1; call (%f1), __nv_sqrtf, (0f3f800000);";
    assert_eq!(verdict(&kernel(root, computed), "global x: u32 = 0;", import), PROVED);
    // What nobody comes to is nothing to refuse.
    let never = kernel(".func f();", "bra over; call f; over:");
    assert_eq!(verdict(&never, "global x: u32 = 0;", import), PROVED);
}

#[test]
fn a_branch_by_number_goes_to_its_label() {
    let module = "
.visible .entry k(.param .u64 p, .param .u32 n) {
    .reg .b32 %r<9>; .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [n];
ts: .branchtargets zero, one, zero, three;
    brx.idx %r1, ts;
zero: mov.u32 %r2, 10; bra.uni done;
one: mov.u32 %r2, 11; bra.uni done;
three: mov.u32 %r2, 13;
done: st.global.u32 [%rd1], %r2;
    ret;
}";
    let import = |n: &str, claim: &str| {
        format!("launch {{ ctas: 1 }} param 0 = &x; param 1 {n}; final {{ assert {claim}; }}")
    };
    for (n, value) in [(0, 10), (1, 11), (2, 10), (3, 13)] {
        let import = import(&format!("= {n}"), &format!("[x] == {value}"));
        assert_eq!(verdict(module, "global x: u32 = 0;", &import), PROVED, "{n}");
    }
    assert_eq!(verdict(module, "global x: u32 = 0;", &import("in 0..=3", "[x] >= 10")), PROVED);
    // Beyond the list PTX says nothing of what happens.
    let (found, codes) = verdict(module, "global x: u32 = 0;", &import("in 0..=4", "[x] >= 10"));
    assert_eq!((found, codes.contains(&"assert::violated")), (Verdict::Violated, true), "{codes:?}");
    let unknown = module.replace("%r1, ts;", "%r1, other;");
    assert!(refusal(&unknown, "global x: u32 = 0;", &import("= 1", "true")).contains("no list of labels"));
}

/// A kernel that gets a structure of two pointers, two numbers and a pointer.
const STRUCTURE: &str = "
.visible .entry k(.param .align 8 .b8 s[40]) {
    .reg .b32 %r<9>; .reg .b64 %rd<9>;
    ld.param.u64 %rd1, [s];
    ld.param.v2.u32 {%r1, %r2}, [s+16];
    add.s32 %r3, %r1, %r2;
    st.global.u32 [%rd1], %r3;
    mov.u64 %rd2, s;
    mul.wide.u32 %rd3, %r1, 8;
    add.s64 %rd4, %rd2, %rd3;
    ld.param.u64 %rd5, [%rd4];
    st.global.u32 [%rd5+4], %r2;
    ret;
}";

#[test]
fn a_structure_is_given_by_its_fields() {
    let declarations = "global x[2]: u32 = 0; global y[2]: u32 = 0; global z[2]: u32 = 0;";
    let import =
        |fields: &str, claim: &str| format!("launch {{ ctas: 1 }} {fields} final {{ assert {claim}; }}");
    let all = |which: u32| {
        format!("param 0[0] = &x; param 0[8] = &y; param 0[16] = {which}; param 0[20] = 6; param 0[32] = &z;")
    };
    for (which, claim) in [
        (0, "[x[0]] == 6 && [x[1]] == 6"),
        (1, "[x[0]] == 7 && [y[1]] == 6"),
        (4, "[x[0]] == 10 && [z[1]] == 6"),
    ] {
        assert_eq!(verdict(STRUCTURE, declarations, &import(&all(which), claim)), PROVED, "{which}");
    }
    // One field of 8 bytes is read as two of 4.
    let one = "param 0[0] = &x; param 0[8] = &y; param 0[16] = 0; param 0[32] = &z;";
    let found = refusal(STRUCTURE, declarations, &import(one, "true"));
    assert!(found.contains("nothing says what parameter 0 of `k` holds at byte 20"), "{found}");
    for (fields, why) in [
        ("param 0 = 7;".to_owned(), "parameter 0 has 40 bytes, of which one value says nothing"),
        (format!("{} param 0[8] = 1;", all(0)), "byte 8 of parameter 0 is given twice"),
        (format!("{} param 0[40] = 1;", all(0)), "parameter 0 has 40 bytes"),
        (format!("{} envreg 1[4] = 1;", all(0)), "there is no setting `envreg`"),
    ] {
        let found = refusal(STRUCTURE, declarations, &import(&fields, "true"));
        assert!(found.contains(why), "{fields}: {found}");
    }
    // A field may be any number of a range.
    let ranged = all(1).replace("= 6;", "in 6..=7;");
    assert_eq!(verdict(STRUCTURE, declarations, &import(&ranged, "[y[1]] >= 6 && [y[1]] <= 7")), PROVED);
    let found = verdict(STRUCTURE, declarations, &import(&ranged, "[y[1]] == 6"));
    assert_eq!(found, (Verdict::Violated, vec!["assert::final-violated"]));
}

#[test]
fn constant_memory_is_read() {
    let module = |initial: &str| {
        format!(
            ".const .align 4 .b32 table[4]{initial};
.visible .entry k(.param .u64 p) {{
    .reg .b32 %r<9>; .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [p];
    ld.const.u32 %r1, [table+8];
    ld.const.u32 %r2, [table+8];
    sub.u32 %r3, %r1, %r2;
    st.global.u32 [%rd1], %r1;
    st.global.u32 [%rd1+4], %r3;
    ret;
}}"
        )
    };
    let import = |claim: &str| format!("launch {{ ctas: 1 }} param 0 = &x; final {{ assert {claim}; }}");
    let x = "global x[2]: u32 = 0;";
    assert_eq!(verdict(&module(" = {1, 2, 3, 4}"), x, &import("[x[0]] == 3")), PROVED);
    // What the host puts there is not known, but the same each time.
    let found = verdict(&module(""), x, &import("[x[0]] == 0"));
    assert_eq!(found, (Verdict::Violated, vec!["assert::final-violated"]));
    assert_eq!(verdict(&module(""), x, &import("[x[1]] == 0")), PROVED);
    let declared = "global x[2]: u32 = 0; global table[4]: u32 = 9;";
    assert_eq!(verdict(&module(""), declared, &import("[x[0]] == 9")), PROVED);
}

/// Where each CTA of a grid of several axes is, in clusters of several axes.
#[test]
fn clusters_lie_along_the_axes_that_are_named() {
    let registers = [
        ("%ctaid.x", 0),
        ("%ctaid.y", 1),
        ("%cluster_ctaid.x", 2),
        ("%cluster_ctaid.y", 3),
        ("%clusterid.x", 4),
        ("%clusterid.y", 5),
        ("%cluster_ctarank", 6),
        ("%nclusterid.x", 7),
        ("%nclusterid.y", 8),
        ("%cluster_nctaid.y", 9),
    ];
    let reads: String = registers
        .iter()
        .map(|(register, at)| format!("mov.u32 %r1, {register}; st.global.u32 [%rd3+{}], %r1;\n", at * 4))
        .collect();
    let module = format!(
        "
.visible .entry k(.param .u64 p)
.explicitcluster
.reqnctapercluster 2, 2, 1
{{
    .reg .b32 %r<9>; .reg .b64 %rd<9>;
    ld.param.u64 %rd1, [p];
    mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ctaid.y; mov.u32 %r4, %nctaid.x;
    mad.lo.u32 %r5, %r3, %r4, %r2;
    mul.wide.u32 %rd2, %r5, 40;
    add.s64 %rd3, %rd1, %rd2;
    {reads}
    ret;
}}"
    );
    let import = "launch { grid: [4, 2], cluster: [2, 2] } param 0 = &x;";
    let mut claims = String::new();
    for (x, y) in (0..4).flat_map(|x| (0..2).map(move |y| (x, y))) {
        let (own_x, own_y) = (x % 2, y % 2);
        let expected = [x, y, own_x, own_y, x / 2, y / 2, own_y * 2 + own_x, 2, 1, 2];
        for (at, value) in expected.into_iter().enumerate() {
            claims += &format!("assert [x[{}]] == {value};\n", (y * 4 + x) * 10 + at);
        }
    }
    let declarations = "//! target sm_90\nglobal x[80]: u32 = 99;";
    assert_eq!(verdict(&module, declarations, &format!("{import} final {{ {claims} }}")), PROVED);
    for (launch, why) in [
        ("launch { grid: [4, 2], cluster: 4 }", "launched in clusters of [2, 2] CTAs"),
        ("launch { grid: [4, 1], cluster: [2, 2] }", "does not divide into clusters of 2"),
        ("launch { ctas: [4, 2], cluster: [2, 2] }", "`ctas` is one number"),
    ] {
        let found = refusal(&module, declarations, &format!("{launch} param 0 = &x;"));
        assert!(found.contains(why), "{launch}: {found}");
    }
}

/// Imports that a program launches: order comes from streams and events, and memory is that of the file.
#[test]
fn programs_launch_compiled_kernels() {
    let module = ".version 9.0
.target sm_90
DECLARED
.visible .entry put(.param .u64 p, .param .u32 n) {
    .reg .b32 %r<4>; .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [n];
    st.global.u32 [%rd1], %r1;
    ret;
}
.visible .entry add(.param .u64 p, .param .u64 q) {
    .reg .b32 %r<4>; .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [p]; ld.param.u64 %rd2, [q];
    ld.global.u32 %r1, [%rd1];
    USED
    add.s32 %r2, %r1, 1;
    st.global.u32 [%rd2], %r2;
    ret;
}
";
    let of = |(declared, used): (&str, &str), objects: &str, program: &str| {
        let module = module.replace("DECLARED", declared).replace("USED", used);
        let harness = format!(
            "{objects} global x: u32 = 0; global y: u32 = 0;
             import \"k.ptx\" entry put as put {{ launch {{ ctas: 1 }} param 0 = &x; param 1 in 0..=9; }}
             import \"k.ptx\" entry add as add {{ launch {{ ctas: 1 }} param 0 = &x; param 1 = &y; }}
             program both {{ {program} }}"
        );
        match check(Source::text("k.fence", harness).with("k.ptx", module), &Options::default()) {
            Ok(report) => {
                let codes: Vec<String> = report.findings().map(|own| own.code.to_owned()).collect();
                (Some(report.verdict()), codes)
            }
            Err(error) => (None, vec![error.to_string()]),
        }
    };
    let plain = ("", "");
    let proved =
        |program: &str| assert_eq!(of(plain, "", program), (Some(Verdict::Proved), vec![]), "{program}");
    proved("stream s; launch put(4) on s; launch add on s; final { assert [y] == 5; }");
    proved(
        "stream s; stream t; event e; launch put(4) on s; record e on s; wait e on t; launch add on t; \
         final { assert [y] == 5; }",
    );
    let apart = "stream s; stream t; launch put(4) on s; launch add on t;";
    assert_eq!(of(plain, "", apart), (Some(Verdict::Violated), vec!["race::uniform".to_owned()]));
    let (verdict, found) = of(plain, "", "launch put(10);");
    assert!(verdict.is_none() && found[0].contains("is in 0..=9"), "{found:?}");
    // What the module declares belongs to both kernels, so that the file has to say it.
    let shared = (".global .align 4 .u32 shared_by_all;", "ld.global.u32 %r1, [shared_by_all];");
    let program = "launch put(4); launch add; final { assert [y] == 1; }";
    let (verdict, found) = of(shared, "", program);
    assert!(verdict.is_none() && found[0].contains("belongs to all kernels of its module"), "{found:?}");
    let declared = "global shared_by_all: u32 = 0;";
    assert_eq!(of(shared, declared, program), (Some(Verdict::Proved), vec![]));
    // A report calls this one `count`.
    let mangled = (".global .align 4 .u32 _ZN3lib5countE;", "ld.global.u32 %r1, [_ZN3lib5countE];");
    let (verdict, found) = of(mangled, "", program);
    assert!(verdict.is_none() && found[0].contains("`_ZN3lib5countE` belongs to all kernels"), "{found:?}");
    let declared = "global _ZN3lib5countE: u32 = 0;";
    assert_eq!(of(mangled, declared, program), (Some(Verdict::Proved), vec![]));
}

/// Lanes for which only the jump to the `ret` is left have gone, whichever way the compiler spells that; those for which more is
/// left miss the barrier.
#[test]
fn lanes_that_return_early_are_not_waited_for() {
    let module = |leaves: &str, end: &str| {
        format!(
            ".visible .entry k(.param .u64 p) {{
    .reg .pred %p<2>;
    .reg .b32 %r<6>;
    .reg .b64 %rd<6>;
    .shared .align 4 .b8 s[256];
    ld.param.u64 %rd1, [p];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    mov.u64 %rd3, s;
    add.s64 %rd4, %rd3, %rd2;
    add.s64 %rd5, %rd1, %rd2;
    setp.gt.u32 %p1, %r1, 39;
    {leaves}
    st.shared.u32 [%rd4], %r1;
    bar.sync 0;
    xor.b32 %r2, %r1, 1;
    mul.wide.u32 %rd2, %r2, 4;
    add.s64 %rd4, %rd3, %rd2;
    ld.shared.u32 %r3, [%rd4];
    st.global.u32 [%rd5], %r3;
$end:
    {end}
    ret;
}}"
        )
    };
    let launch = "launch { block: 64 } param 0 = &out;";
    let of = |leaves: &str, end: &str| verdict(&module(leaves, end), "global out[64]: u32 = 0;", launch);
    assert_eq!(of("@%p1 ret;", ""), PROVED);
    assert_eq!(of("@%p1 bra $end;", ""), PROVED);
    // To compute something on the way there tells nobody anything.
    assert_eq!(of("@%p1 bra $end;", "add.u32 %r4, %r1, 1;"), PROVED);
    let acts = of("@%p1 bra $end;", "st.global.u32 [%rd5], %r1;");
    assert_eq!(acts, (Verdict::Violated, vec!["barrier::aligned-divergent"]));
    let waits = "ld.volatile.global.u32 %r4, [%rd1]; setp.eq.u32 %p1, %r4, 77; @%p1 bra $wait;";
    let waits = of("@%p1 bra $end;", &format!("$wait: {waits}"));
    assert!(waits.1.contains(&"barrier::aligned-divergent"), "{waits:?}");
    // Without the barrier there is a race all the same.
    let unmet = module("@%p1 bra $end;", "").replace("bar.sync 0;", "");
    let (found, codes) = verdict(&unmet, "global out[64]: u32 = 0;", launch);
    assert!(found == Verdict::Violated && codes == ["race::uniform"], "{codes:?}");
}
