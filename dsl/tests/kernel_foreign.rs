//! What people write who know CUDA or PTX and are new here: each mistake has one error, which says what to write.

use fencepost_dsl::SourceMap;
use fencepost_dsl::kernel::{LoadOptions, load};

/// Lines of a kernel.
const LINES: &[&str] = &[
    "__syncthreads();",
    "let n = __syncthreads_count(x);",
    "__syncwarp();",
    "__threadfence();",
    "__threadfence_block();",
    "__threadfence_system();",
    "atomicAdd(&x, 1);",
    "let old = atomicAdd(x, 1);",
    "let old = atomicCAS(&x, 0, 1);",
    "atomicExch(&x, 1);",
    "atomicMax(&x, 1);",
    "atomicAdd_system(&x, 1);",
    "__nanosleep(20);",
    "st [x], blockIdx.x;",
    "if (threadIdx.x == 0) { st [x], 1; }",
    "if blockIdx == 0 { st [x], 1; }",
    "let n = blockDim.x;",
    "let n = gridDim.x;",
    "let lane = tid % warpSize;",
    "if %ctaid.x == 0 { st [x], 1; }",
    "let t = %tid.x;",
    "let l = %laneid;",
    "for (int i = 0; i < 4; i++) { st [s[i]], 1; }",
    "for i = 0; i < 4; i += 1 { st [s[i]], 1; }",
    "ld.u32 v, [x];",
    "ld.acquire.gpu.u32 v, [x];",
    "ld.acquire.gpu [x] == 1;",
    "ld %r1, [x];",
    "let v = shfl.sync.down.b32 3, 1;",
    "let v = __shfl_sync(1, 2);",
    "let b = __ballot_sync(1, 2);",
    "if tid == 0 { return; }",
    "st.release.device [x], 1;",
    "st.release.block [x], 1;",
    "ld.acquire.system [x];",
    "fence.seq_cst.gpu;",
    "int v = 3;",
    "unsigned v = 3;",
    "uint32_t v = 3;",
    "float v = 3;",
    "volatile int v = 3;",
    "let if = 3;",
    "let kernel = 3;",
    "var i = 0; i++;",
    "do { st [x], 1; } while (1);",
    "let v = x ? 1 : 0;",
    "let v = *x;",
    "printf(1);",
    "asm volatile(1);",
    "goto done;",
    "cuda::atomic_ref a(x);",
    "cg::this_grid().sync();",
    "__shared__ int t[4];",
];

fn told(text: &str) -> Vec<(String, Option<String>)> {
    let mut sources = SourceMap::default();
    let result = load(&mut sources, "test.fence", &mut |_| Ok(text.to_owned()), &LoadOptions::default());
    let errors = result.err().unwrap_or_default();
    errors.into_iter().map(|error| (format!("{}: {}", error.code, error.message), error.help)).collect()
}

fn in_kernel(line: &str) -> String {
    format!(
        "kernel k {{\n    launch {{ ctas: 2 }}\n    global x: u32 = 0;\n    shared s[4]: u32 = 0;\n    {line}\n}}\n"
    )
}

#[test]
fn each_says_what_to_write() {
    let mut text = String::new();
    for line in LINES {
        let told = told(&in_kernel(line));
        let [(message, help)] = told.as_slice() else { panic!("{line}: {told:#?}") };
        let help = help.as_deref().unwrap_or_else(|| panic!("{line}: {message}: no help"));
        text += &format!("{line}\n    {message}\n    help: {help}\n");
    }
    insta::assert_snapshot!("foreign", text);
}

#[test]
fn an_open_brace_is_shown_where_it_is() {
    let mut sources = SourceMap::default();
    let text = "kernel k {\n    launch { warps: 2 }\n    global x: u32 = 0;\n    if tid == 0 {\n        st [x], 1;\n    let v = ld [x];\n}\n";
    let errors = load(&mut sources, "test.fence", &mut |_| Ok(text.to_owned()), &LoadOptions::default());
    let errors = errors.expect_err("a brace is open");
    let label = errors[0].labels.last().expect("there is a label");
    assert_eq!((sources.line_column(label.span).line, label.text.as_str()), (4, "this `{` has no `}`"));
}

#[test]
fn names_of_ones_own_are_not_corrected() {
    for line in ["let auto = 3; st [x], auto;", "var int: u32 = 0; int += 1;", "st [x], nowhere;"] {
        let told = told(&in_kernel(line));
        assert!(
            told.iter().all(|(_, help)| help.as_ref().is_none_or(|help| !help.contains("let v"))),
            "{told:?}"
        );
    }
}
