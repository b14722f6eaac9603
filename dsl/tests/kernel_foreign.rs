//! What people write who know CUDA or PTX and are new here: each mistake has one error, which says what to write.

#![cfg(feature = "foreign")]

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
    "st 1, [x];",
    "st [x] 1;",
    "st x, 1;",
    "st.u32 x, 1;",
    "let v = ld x;",
    "let v = ld.acquire.gpu x;",
    "let v = x;",
    "x = 1;",
    "x += 1;",
    "await x == 1;",
    "while !x {}",
    "while (!x);",
    "while (ld.acquire.gpu [x] == 0);",
    "while ld.acquire.gpu [x] == 0;",
    "while (atomicCAS(&x, 0, 1) != 0);",
    "if (tid == 0) st [x], 1;",
    "if tid == 0 st [x], 1;",
    "if tid == 0 { st [x], 1 }",
    "if tid = 0 { st [x], 1; }",
    "if x == 0 { st [x], 1; }",
    "elif tid == 1 { }",
    "let v = ld.acquire [x];",
    "let v = ld.release.gpu [x];",
    "st.acquire.gpu [x], 1;",
    "atom.add.acquire.gpu.u32 [x], 1;",
    "let v = atom.add [x];",
    "let v = atom.cas.b32 [x], 0;",
    "let v = atom.add.relaxed.gpu.global [x], 1, 2;",
    "red.add [x];",
    "let v = atom.add.u32 x, 1;",
    "fence.acquire;",
    "fence;",
    "fence.acq_rel;",
    "membar;",
    "membar.sc;",
    "fence.proxy.async.shared;",
    "fence.proxy.async.shared_cta;",
    "bar.sync;",
    "bar.sync 0, 2;",
    "bar.sync 16;",
    "barrier 0;",
    "__syncthreads()",
    "bar.arrive 1;",
    "mbarrier.init [m];",
    "mbarrier.init m, 1;",
    "mbarrier.arrive [m];",
    "mbarrier.arrive [m], 1;",
    "mbarrier.arrive.expect_tx [m], 16;",
    "mbarrier.wait [m], 0;",
    "mbarrier.try_wait [m], 0;",
    "mbarrier.try_wait.parity [m], 0;",
    "await mbarrier.try_wait.parity [m];",
    "await mbarrier.try_wait.parity m, 0;",
    "await mbarrier.try_wait.parity [m], 1u64;",
    "let ph: u8 = 0; await mbarrier.try_wait.parity [m], ph;",
    "mbarrier.wait.parity [m], 0;",
    "cp.async.bulk [s[0]], [x], 16, [m];",
    "cp.async.bulk.shared.global [s[0]], [x], 16, [m];",
    "cp.async [s[0]], [x], 16;",
    "cp.async.wait_group;",
    "cp.async.wait_group<0>;",
    "cp.async.commit;",
    "cp.async.bulk.wait_group.read;",
    "cp.async.bulk.tensor.2d [s[0]], [x];",
    "ld.shared.u32 %r1, [x];",
    "mov.u32 %r1, %tid.x;",
    "mov.u32 r1, tid;",
    "add.s32 r1, r1, 1;",
    "setp.eq.u32 p, r1, 0;",
    "@p bra done;",
    "@%p1 bra LOOP;",
    "LOOP:",
    "L1: st [x], 1;",
    "bra.uni LOOP;",
    "ret;",
    "exit",
    "asm volatile(\"fence.acq_rel.gpu;\" ::: \"memory\");",
    "asm volatile(\"bar.sync 0;\");",
    "#include <cuda/atomic>",
    "#define N 4",
    "#pragma unroll",
    "__shared__ int x[4];",
    "extern __shared__ float smem[];",
    "shared int t[4];",
    "shared t: int[4];",
    "shared u32 t[4];",
    "global t[4];",
    "global t: u32[4] = 0;",
    "shared bar2: mbarrier = 0;",
    "shared b: cuda::barrier;",
    "const int N = 4;",
    "constexpr int N = 4;",
    "#define FOO",
    "let int v = 3;",
    "let v: int = 3;",
    "let v = 3; v = 4;",
    "let v: u32 = 0, w: u32 = 0;",
    "i++;",
    "var i: u32 = 0; ++i;",
    "var i: u32 = 0; i--;",
    "for (i = 0; i < 4; ++i) { }",
    "for i in range(4) { }",
    "for i in 0...4 { }",
    "for i in 0..4 step 2 { }",
    "for i = 0..4 { }",
    "cuda::memory_order_acquire;",
    "flag.load(cuda::memory_order_acquire);",
    "x.store(1, cuda::std::memory_order_release);",
    "st.release.thread_scope_device [x], 1;",
    "st.cuda::memory_order_release [x], 1;",
    "let v = ld.memory_order_acquire.gpu [x];",
    "let v = ld.acq.gpu [x];",
    "st.rel.gpu [x], 1;",
    "st.release.gpu.u32 [&x], 1;",
    "st.release.gpu [x + 4], 1;",
    "st [s + 1], 1;",
    "st [s][1], 1;",
    "st s[1], 1;",
    "st [s], 1;",
    "st [s[0], 1];",
    "st [s(0)], 1;",
    "let v = NULL;",
    "let v = 1.0;",
    "let v = 0.5f;",
    "let v = 1u;",
    "let v = 1ull;",
    "let v = tid and 1;",
    "let v = tid == 0 and laneid == 0;",
    "let v = not tid;",
    "let v = -1 < tid;",
    "let v = threadIdx;",
    "if tid == 0: st [x], 1;",
    "if not tid { }",
    "return;",
    "sync;",
    "__syncthreads;",
    "barrier.cluster.sync;",
    "cluster.sync();",
    "barrier.cluster.wait.release;",
    "mapa [m], 1;",
    "let v = ld [mapa(x, 1)];",
    "griddepcontrol.launch;",
    "nanosleep 20;",
    "__nanosleep(20)",
    "assert(v == 1);",
    "assert x == 1;",
    "assert [x] == 1;",
    "await [x] == 1;",
    "if [x] == 1 { }",
    "let v = [x];",
    "[x] = 1;",
    "launch { ctas: 2 };",
    "launch (ctas: 2);",
    "launch { blocks: 2 }",
    "launch { ctas = 2 }",
    "final assert [x] == 1;",
    "final { [x] == 1; }",
    "kernel inner { }",
    "fn f() { }",
    "template <int N>",
    "let v = ld.u32 [x]",
    "st [x], 1;;",
    "{ st [x], 1; }",
    "wgmma.wait_group 0;",
    "elect.sync;",
    "let e = elect_one();",
    "loop { if tid == 0 { continue; } }",
    "while true { break }",
    "try_wait [m], 0;",
    "let v = ld [x;",
    "st [x, 1;",
    "st x], 1;",
    "mbarrier.try_wait.parity.shared::cta.b64 p, [m], 0;",
    "atom.add.u32 r, [x], 1;",
    "mbarrier.arrive.shared::cta.b64 t, [m];",
    "bar.red.popc.u32 n, 0, tid == 0;",
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [x], 16, m;",
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s[0]], [x], 16;",
    "cp.async.bulk.commit_group 0;",
    "wait_group.read 0;",
    "x.load();",
    "x.load(memory_order_acquire);",
    "m.arrive();",
    "m.wait(0);",
    "m.arrive_and_wait();",
    "grid.sync();",
    "x.fetch_add(1);",
    "let v = x.fetch_add(1, cuda::memory_order_relaxed);",
    "x.exchange(1, cuda::memory_order_acq_rel);",
    "cuda::atomic_thread_fence(cuda::memory_order_seq_cst, cuda::thread_scope_device);",
    "cutlass::arch::fence_barrier_init();",
    "cute::cluster_arrive_relaxed();",
    "cute::cluster_wait();",
    "fence_view_async_shared();",
    "cutlass::arch::NamedBarrier::sync(64, 1);",
    "tma_store_arrive();",
    "tma_store_wait<0>();",
    "s[1] = 2;",
    "atomicAdd(x, 1)",
    "fence.proxy.async::shared;",
    "fence.mbarrier_init;",
    "await mbarrier.try_wait.parity [m], 0 == 1;",
    "await !mbarrier.try_wait.parity [m], 0;",
    "let v = ld.global.acquire.gpu.v2.u32 [s[0]];",
    "let (a, b) = ld.v2 [s[0]];",
    "let a, b = ld.v2 [s[0]];",
    "if warpid == 0 && elect.sync { }",
    "let v = %warpid;",
    "let v = lane;",
    "let v = lane_id;",
    "let v = warp_id;",
    "let v = blockid;",
    "let v = smid;",
    "let v = rank;",
    "let v = cluster_rank;",
    "let v = max(tid, 1);",
    "let v = min(tid, 1);",
    "let v = sizeof(x);",
    "let v = (u32) tid;",
    "let v = tid as int;",
    "let v = 1 << tid",
    "wait;",
    "barrier.sync;",
    "bar 0;",
    "__syncwarp;",
    "__trap();",
    "assert v = 1;",
    "unroll for i in 0..4 { }",
    "cuda::atomic_ref<int, cuda::thread_scope_device> r(x);",
    "cuda::atomic_ref<unsigned, cuda::thread_scope_device>(x).fetch_add(1, cuda::memory_order_release);",
    "__shared__ cuda::barrier<cuda::thread_scope_block> bar;",
    "cute::cluster_arrive();",
    "pipe.producer_acquire();",
    "tl.debug_barrier();",
    "tl.atomic_xchg(p, 1, sem=\"release\");",
    "while (r.load(cuda::memory_order_acquire) == 0) __nanosleep(20);",
    "while (!r.load(cuda::memory_order_acquire)) { }",
    "int i = blockIdx.x * blockDim.x + threadIdx.x;",
    "int y = blockIdx.y * blockDim.y + threadIdx.y;",
    "int t = threadIdx.y * blockDim.x + threadIdx.x;",
    "if ((int)(now - then) < 0) { st [x], 1; }",
    "unsigned v = *(volatile unsigned*)&x;",
    "asm volatile(\"{\\n\\t.reg .pred p;\\n\\t\" \"mbarrier.try_wait.parity.b64 p, [%0], %1;\" :: \"r\"(m));",
    "asm volatile(\"\" ::: \"memory\");",
    "auto t = m.arrive();",
    "m.wait(std::move(t));",
    "bars[1].arrive_and_wait();",
    "const __grid_constant__ CUtensorMap map;",
    "struct Slot { unsigned seq, data; } slot[2];",
    "do { st [x], 1; } while (again());",
    "std::mutex lock;",
    "mbarrier.init(m, 4);",
    "clusterIdx.x;",
    "let c = clusterIdx.x;",
    "const int tid = threadIdx.x;",
    "const int warp_id = threadIdx.x / 32;",
    "unsigned lane = threadIdx.x & 31u;",
    "atomicExch(&x, 0u);",
    "atomicAdd(&s[2], 5);",
    "while (atomicAdd(&x, 0) == 0);",
    "atomicAdd(&x, 1ull);",
    "mov.u32 v, tid;",
    "mov.u32 %r1, %ctaid.x;",
    "st.release.gpu.u32 [x], %r1;",
    "st [x] = 1;",
    "let m2: mbarrier;",
    "let r: u32;",
    "var r;",
    "exit 0;",
    "break;",
    "for k in 0..K { st [x], 1; }",
    "elect.sync _|p, 0xffffffff;",
    "while (*flag == 0) {}",
    "while (*flag == 0);",
    "if mbarrier.test_wait.parity [m], 0 == 1 { }",
    "st.u32 [x], \"1\";",
    "st [x], 'a';",
    "let t = clock64();",
    "let t = %clock;",
    "uint32_t addr = static_cast<uint32_t>(__cvta_generic_to_shared(&s[0]));",
    "uint32_t addr = cute::cast_smem_ptr_to_uint(smem);",
    "__mbarrier_init(&m, 1);",
    "auto token = cuda::ptx::mbarrier_arrive(&m);",
    "while (!cuda::ptx::mbarrier_try_wait(&m, token));",
    "while (!ptx::mbarrier_try_wait(&m, token)) {}",
    "while (!ptx::mbarrier_try_wait_parity(&m, 0)) {}",
    "ptx::tcgen05_wait_ld();",
    "ptx::fence_proxy_async(ptx::space_shared);",
    "ptx::tcgen05_commit(ptx::cta_group_1, &m);",
    "ptx::fence(ptx::sem_acq_rel, ptx::scope_gpu);",
    "cutlass::PipelineState<4> state;",
    "using MainloopPipeline = cutlass::PipelineTmaAsync<4>;",
    "auto* tma_barrier = pipeline.producer_get_barrier(state);",
    "pipeline.producer_acquire(state);",
    "++state;",
    "cute::copy(tma.with(*bar, mask), src, dst);",
    "cutlass::arch::NamedBarrier::sync(128, 2);",
    "cutlass::arch::NamedBarrier::arrive(NumThreads, id);",
    "cute::warpgroup_wait<0>();",
    "cutlass::arch::cp_async_wait<2>();",
    "__pipeline_wait_prior(0);",
    "cg::wait_prior<1>(block);",
    "let w = canonical_warp_idx_sync();",
    "int warp_group = cutlass::canonical_warp_group_idx();",
    "cute::block_rank_in_cluster();",
    "auto block = cg::this_thread_block();",
    "auto tile = cg::tiled_partition<32>(block);",
    "cuda::counting_semaphore<cuda::thread_scope_device, 1> sem;",
    "sem.acquire();",
    "sem.release();",
    "cuda::latch<cuda::thread_scope_device> done(2);",
    "cuda::std::atomic_thread_fence(cuda::std::memory_order_acquire);",
    "cuda::atomic_ref<int>(x).store(1, cuda::memory_order_release);",
    "nvshmem_barrier_all();",
    "nvshmem_quiet();",
    "nvshmem_signal_wait_until(&x, NVSHMEM_CMP_EQ, 1);",
    "nvshmemx_signal_op(sig, 1, NVSHMEM_SIGNAL_SET, 1);",
    "ncclLsaBarrierSession<ncclCoopCta> bar;",
    "cuda.syncthreads()",
    "gl.warp_specialize(f);",
    "static_assert(N > 0);",
    "x++;",
    "flag = 1;",
    "let v = K + 1;",
    "for _ in 0..4 { st [x], 1; }",
    "init(&bar, 32);",
    "s[tid] += 1;",
    "barrier::arrival_token token;",
    "for (int i = threadIdx.x; i < 4; i += blockDim.x) { st [s[i]], 1; }",
    "while (atomicAdd(&x, 0) != 3) { __nanosleep(20); }",
    "atomicExch(&x, y + 1 == 4 ? 0 : y + 1);",
    "full.arrive_and_expect_tx(2048);",
];

/// Files.
const FILES: &[&str] = &[
    "__global__ void k(int* x) { }",
    "#include <cuda/atomic>",
    "using namespace cuda;",
    "namespace ptx = cuda::ptx;",
    "global int x;",
    "const int N = 4;",
    "const N: u32 = 4;",
    "const N 4;",
    "kernel k(int n) { }",
    "kernel k(n) { }",
    "kernel k(n: u32) { }",
    "kernel k(N = 3) { }",
    "void k() { }",
    "fn f(int* p) { }",
    "fn f(p: u32*) { }",
    "fn f(p: *u32) { }",
    "fn f(p) { }",
    "def f(): pass",
    "import triton",
    "struct S { }",
    "typedef int T;",
    "use lib/lock;",
    "use \"lock.fence\"",
    "use lock.fence;",
    "import \"lib.fence\";",
    "kernel k { launch { threads: 64 } }",
    "kernel k { launch { blocks: 2 } }",
    "kernel k { launch { ctas = 2 } }",
    "kernel k { launch { warps: 2, lanes: 64 } }",
    "kernel k { launch { ctas: 2, cluster: 3 } }",
    "kernel k { launch { gridDim: 2 } }",
    "kernel k { launch { ctas: 2, cooperative } }",
    "kernel k { launch ctas: 2; }",
    "kernel k { launch { ctas: 2 } launch { ctas: 3 } }",
    "kernel k { } program p { launch k<<<2, 32>>>; }",
    "kernel k { } program p { k<<<2, 32>>>(); }",
    "kernel k { } program p { launch k; cudaDeviceSynchronize(); }",
    "kernel k { } program p { stream s; launch k, s; }",
    "kernel k { } program p { launch k on s; }",
    "kernel k { } program p { cudaStream_t s; }",
    "kernel k { } program p { cudaStreamCreate(&s); launch k; }",
    "kernel k { } program p { cudaGraphLaunch(graph, s); launch k; }",
    "kernel k { } program p { launch k(1); }",
    "kernel k { } program p { stream s; event e; launch k on s; record e; }",
    "kernel k { } program p { launch k; synchronize(); }",
    "kernel k { } program p { launch nothing; }",
    "kernel k { program p { } }",
    "kernel k { global x: u32 = 0; global y: float = 0; }",
    "kernel k { global x: i32 = 0; }",
    "kernel k { global x: s32 = 0; }",
    "kernel k { global x: b32 = 0; }",
    "kernel k { global x; }",
    "kernel k { global x = 0; }",
    "kernel k { shared x[]: u32 = 0; }",
    "kernel k { shared x[N]: u32 = 0; }",
    "kernel k { global x: u32 = -1; }",
    "kernel k { shared m: mbarrier(2); }",
    "kernel k { shared m: barrier; }",
    "kernel k { global x: u32 = 0; final { assert x == 0; } }",
    "kernel k { global x: u32 = 0; assert [x] == 0; }",
    "kernel { }",
    "template <int N> __global__ void k(unsigned* x) { st [x], 1; }",
    "extern \"C\" __global__ void __launch_bounds__(128) k(unsigned* x, int n) { st [x], n; }",
    "__device__ unsigned f(int n) { return n; }",
    "__device__ unsigned counter;",
    "#pragma once\nkernel k { global x: u32 = 0; st [x], 1; }",
    "@triton.jit\nkernel k { }",
];

fn told(text: &str) -> Vec<(String, Option<String>)> {
    let mut sources = SourceMap::default();
    let result = load(&mut sources, "test.fence", &mut |_| Ok(text.to_owned()), &LoadOptions::default());
    let errors = result.err().unwrap_or_default();
    errors.into_iter().map(|error| (format!("{}: {}", error.code, error.message), error.help)).collect()
}

fn in_kernel(line: &str) -> String {
    format!(
        "kernel k {{\n    launch {{ ctas: 2 }}\n    global x: u32 = 0;\n    shared s[4]: u32 = 0;\n    shared m: mbarrier;\n    {line}\n}}\n"
    )
}

/// Each text has one error, which has a help.
fn helps(texts: &[&str], whole: impl Fn(&str) -> String) -> String {
    let mut lines = String::new();
    let mut wrong = Vec::new();
    for text in texts {
        let told = told(&whole(text));
        let [(message, Some(help))] = told.as_slice() else {
            wrong.push((text, told));
            continue;
        };
        lines += &format!("{text}\n    {message}\n    help: {help}\n");
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    lines
}

#[test]
fn each_says_what_to_write() {
    insta::assert_snapshot!("foreign", helps(LINES, in_kernel));
}

#[test]
fn items_and_launches_say_what_to_write() {
    insta::assert_snapshot!("foreign-files", helps(FILES, |text| format!("{text}\n")));
}

/// A file of CUDA in which each line is told once, whatever its neighbours are.
#[test]
fn lines_of_a_pasted_kernel_are_told_one_by_one() {
    let text = r#"#include <cuda/barrier>
template <int N>
__global__ void __launch_bounds__(128) k(unsigned* x, int n) {
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    extern __shared__ float smem[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0) { init(&bar, blockDim.x); }
    __syncthreads();
    for (int j = 0; j < n; ++j) {
        while (r.load(cuda::memory_order_acquire) == 0) __nanosleep(20);
        auto t = bar.arrive();
        smem[j] = x[j];
        __syncthreads()
        asm volatile("fence.proxy.async;" ::: "memory");
    }
    if (i == 0) atomicAdd(x, 1);
}
kernel good {
    launch { ctas: 2 }
    global y: u32 = 0;
    st [y], blockIdx.x;
    st.releese.gpu [y], 1;
}
"#;
    let lines = |told: Vec<(String, Option<String>)>| -> String {
        let line = |(message, help): (String, Option<String>)| {
            format!("{message}\n    help: {}\n", help.unwrap_or_default())
        };
        told.into_iter().map(line).collect()
    };
    insta::assert_snapshot!("pasted-kernel", lines(told(text)));
    // Without what the parser stumbles over, names and instructions are looked at, too.
    insta::assert_snapshot!(
        "pasted-lines",
        lines(told(
            &text.replace("        smem[j] = x[j];\n", "").replace("    if (i == 0) atomicAdd(x, 1);\n", "",)
        ))
    );
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

/// Of a file of another language one thing is said: what it is, and what to do with it.
#[test]
fn whole_files_of_other_languages_are_answered_once() {
    let ptx = "//\n// Generated by a compiler\n//\n.version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n ret;\n}\n";
    let cuda = "#include <cuda/atomic>\n__global__ void k(int *x) { atomicAdd(x, 1); __syncthreads(); }\n";
    let triton = "import triton\n\n@triton.jit\ndef k(x):\n    pass\n";
    for (name, text, what, help) in [
        ("build/k.ptx", ptx, "`k.ptx` is PTX", "`fencepost new --from build/k.ptx`"),
        ("k.fence", ptx, "`k.fence` is PTX", "`fencepost new --from k.fence`"),
        ("k.cu", cuda, "`k.cu` is C++", "`nvcc -ptx -lineinfo k.cu`"),
        ("k.py", triton, "`k.py` is Python", "Triton leaves the PTX in its cache"),
    ] {
        let mut sources = SourceMap::default();
        let errors = load(&mut sources, name, &mut |_| Ok(text.to_owned()), &LoadOptions::default());
        let errors = errors.expect_err("it is no kernel file");
        let [error] = &errors[..] else { panic!("{name}: {errors:?}") };
        assert_eq!(error.code, "syntax::foreign");
        assert!(error.message.starts_with(what), "{}", error.message);
        assert!(error.help.as_ref().is_some_and(|own| own.contains(help)), "{:?}", error.help);
    }
    let line = sources_line(ptx);
    assert_eq!(line, 4, "the first line that is no comment is shown");
}

fn sources_line(text: &str) -> usize {
    let mut sources = SourceMap::default();
    let errors = load(&mut sources, "k.ptx", &mut |_| Ok(text.to_owned()), &LoadOptions::default());
    let errors = errors.expect_err("it is no kernel file");
    sources.line_column(errors[0].span()).line as usize
}
