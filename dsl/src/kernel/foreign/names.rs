//! Names of CUDA and of the libraries over it, with what is written for each here: the cheat sheet of the book as data. A
//! test pastes each name of the sheet into a kernel and demands this answer.
//!
//! A key is a name, or several joined by `::` or `.` as they stand side by side (`this_grid.sync`, whatever is called or
//! A key is a name, or several joined by `::` or `.` as they stand side by side (`this_grid.sync`, whatever is called or
//! instantiated in between). At its end `*` stands for any letters, `(` demands a call, `(*` one with arguments, `(word` one
//! with this word in its arguments, `(=word` one whose first word it is, where `(*word` is the end of a number or name, and
//! `<word` a template argument. A `.` in front demands an object. Of the keys that fit that counts which reaches furthest,
//! then that with most parts and letters.
mod libraries;

use super::origin::Origin::{
    self, Cpp, Cuda, Cutlass, Gluon, Groups, Libcu, Nccl, Nvshmem, Python, Rust, Triton,
};

use libraries::{CUTLASS, GLUON, MATRICES, NCCL, NVSHMEM, TRITON};

/// Names of one origin, each with what to write. Helps that begin with a line to write get a `write` in front.
type Names = (Origin, &'static [(&'static str, &'static str)]);

/// All names that are known.
pub const NAMES: &[Names] = &[
    (Cuda, BARRIERS),
    (Cuda, FENCES),
    (Cuda, ACCESSES),
    (Cuda, ATOMICS),
    (Cuda, PIPELINES),
    (Cuda, LAUNCHES),
    (Cuda, QUALIFIERS),
    (Cuda, REGISTERS),
    (Groups, GROUPS),
    (Libcu, LIBCU),
    (Libcu, INSTRUCTIONS),
    (Cutlass, CUTLASS),
    (Cutlass, MATRICES),
    (Triton, TRITON),
    (Gluon, GLUON),
    (Nvshmem, NVSHMEM),
    (Nccl, NCCL),
    (Cpp, CPP),
    (Python, PYTHON),
    (Rust, RUST),
];

const PEER: &str = "`st.release.sys [peer(remote, 0)], 1;`, where `remote` is `symmetric remote: u32 = 0;`";
const PUT: &str = "`st [peer(remote, 0)], 1;`, where `remote` is `symmetric remote: u32 = 0;`";
const WAIT_SIGNAL: &str =
    "`signal_wait_at_least(x, 1);` of `use \"lib/signal.fence\";`, with `symmetric x: u64 = 0;`";
const SET_SIGNAL: &str = "`signal_set(peer(x, 0), 1);` or `signal_add(peer(x, 0), 1);` of `use \"lib/signal.fence\";`, with \
                          `symmetric x: u64 = 0;`";
const PUT_SIGNAL: &str =
    "`st [peer(remote, 0)], 1;` and then `signal_set(peer(x, 0), 1);` of `use \"lib/signal.fence\";`";
const BECOMES: &str =
    "write the instruction that it becomes: \"From CUDA to `.fence`\" in the book has a line for each";
const SYMMETRIC: &str =
    "`symmetric remote: u32 = 0;`: `[remote]` is the own one, `[peer(remote, 0)]` that of GPU 0";
const ALL_GPUS: &str =
    "`dissemination_step` of `use \"lib/signal.fence\";`, or \"Model a multi-GPU collective\" of the book";
const SHUFFLE: &str = "`let v = shfl.sync.idx.b32 3, 0, 31, 0xffffffff;` (`__shfl_xor_sync` is `.bfly`; of `.up` the third \
     operand is 0); leave it out where the value decides nothing: it orders no memory";
const BALLOT: &str = "`let lanes = vote.sync.ballot.b32 leader, 0xffffffff;`";
const ANY: &str = "`let p = vote.sync.any.pred leader, 0xffffffff;`";
const ALL_LANES: &str = "`let p = vote.sync.all.pred leader, 0xffffffff;`";
const MATCH: &str = "`let lanes = match.any.sync.b32 3, 0xffffffff;`, or `match.all.sync.b32`";
const REDUCE_LANES: &str = "`let sum = redux.sync.add.u32 3, 0xffffffff;`";
const VALUE: &str = "`let v = 3;`, or `var v: u32 = 3;` if it changes";
const WIDE: &str = "`let v = 3;`, or `var v: u64 = 3;` if it changes";
const VECTOR: &str = "`st.v2 [dst[0]], {1, 2};`, `let {a, b} = ld.v2 [src[0]];`: values are bits";
const GRID_SYNC: &str = "`grid_sync(x);` of `use \"lib/group_barrier.fence\";`, in a cooperative launch";
const HANDLE_OF_GRID: &str = "take it out: `grid.sync()` is `grid_sync(x);` of `use \"lib/group_barrier.fence\";`, in a cooperative launch";
const HANDLE_OF_CLUSTER: &str = "take it out: `cluster.sync()` is `barrier.cluster.arrive;` `barrier.cluster.wait;`, \
                                 `cluster.block_rank()` is `cluster_ctarank`";
const HANDLE_OF_TILE: &str =
    "take it out: `tile.sync()` is `bar.warp.sync 0xffffffff;`, `tile.thread_rank()` is `laneid`";
const CLUSTER_SYNC: &str = "`barrier.cluster.arrive;` `barrier.cluster.wait;`";
const CLUSTER_WAIT: &str =
    "`barrier.cluster.arrive;` `barrier.cluster.wait;`, or the wait alone behind an arrival";
const CTA_SYNC: &str = "`bar.sync 0;`";
const WARP_SYNC: &str = "`bar.warp.sync 0xffffffff;`";
const SOME_LANES: &str = "`bar.warp.sync 0x1;`, with the mask of the lanes that meet";
const ARRIVE: &str = "`mbarrier.arrive _, [bar];`, or `let t = mbarrier.arrive [bar];` to wait for";
const ARRIVE_WAIT: &str = "`let t = mbarrier.arrive [bar];` `await mbarrier.try_wait [bar], t;`";
const WAIT_STATE: &str = "`await mbarrier.try_wait [bar], t;`, with what the arrival gave";
const WAIT_PARITY: &str = "`await mbarrier.try_wait.parity [bar], phase;`";
const WAIT_VALUE: &str =
    "`await ld.acquire.gpu [x] != 0;`, of an mbarrier `await mbarrier.try_wait.parity [bar], 0;`";
const EXPECT: &str = "`mbarrier.arrive.expect_tx _, [bar], 16;`";
const COPY: &str = "`cp.async.cg.shared::cta.global [tile[0]], [src[0]], 16;`";
const BULK: &str =
    "`cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [tile[0]], [src[0]], 32, [bar];`";
const BULK_STORE: &str = "`cp.async.bulk.global.shared::cta.bulk_group [dst[0]], [tile[0]], 32;`";
const TENSOR_LOAD: &str =
    "`cp.async.bulk.tensor.1d.shared::cta.global.mbarrier::complete_tx::bytes [tile[0]], [map, {0}], [bar];`";
const TENSOR_STORE: &str = "`cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [map, {0}], [tile[0]];`";
const GDC_WAIT: &str = "`griddepcontrol.wait;`";
const GDC_LAUNCH: &str = "`griddepcontrol.launch_dependents;`";
const TRY_CANCEL: &str =
    "`clusterlaunchcontrol.try_cancel.async.mbarrier::complete_tx::bytes [answer], [bar];`";
const COMMIT_MMA: &str = "`tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [bar];`";
const PRODUCTS: &str =
    "`wgmma.mma_async…` between `wgmma.fence` and `wgmma.commit_group`: \"Matrix operations\" of the book";
const FENCE_ASYNC: &str = "`fence.proxy.async.shared::cta;`";
const COPIES: &str = "what its atom is: of TMA `cp.async.bulk.tensor…` with an mbarrier or `.bulk_group`, of `cp.async` \
                      that, of none `ld` and `st`";
const SHARED: &str = "`shared x: u32 = 0;`, an array `shared t[4]: u32 = 0;`";
const GLOBAL: &str = "`global x: u32 = 0;`; a function is `fn f(a: &u32, n: u32) { … }`";
const KERNEL: &str = "`kernel name { launch { ctas: 2 } … }`, with its memory declared inside";
const FUNCTION: &str =
    "`fn name(a: &u32, n: u32) { … }`, or `kernel name { launch { ctas: 2 } … }` for what is launched";
const NO_POINTERS: &str = "take it out: memory is named where it is used, `[x]`, `[tile[1]]`, `f(x)`";
const MOVES: &str = "a kernel of one thread that loads and stores, launched in the stream";
const SEMAPHORE: &str = "`semaphore_acquire(x);` `semaphore_release(x, 1);` of `use \"lib/semaphore.fence\";`, with \
                         `global x: u32 = 1;`";
const SWAP: &str = "`let old = atom.exch.b32 [x], 1;`";
const ROLES_FULL: &str =
    "`await mbarrier.try_wait.parity [full], phase;`: waits for *full*; or `use \"lib/pipeline_tma.fence\";`";
const ROLES_EMPTY: &str =
    "`mbarrier.arrive _, [empty];`: arrives at *empty*; or `use \"lib/pipeline_tma.fence\";`";
const ROLES_ACQUIRE: &str = "`await mbarrier.try_wait.parity [empty], phase;` `mbarrier.arrive.expect_tx _, [full], 16;`; or \
                             `use \"lib/pipeline_tma.fence\";`";

const BARRIERS: &[(&str, &str)] = &[
    ("__syncthreads", CTA_SYNC),
    ("__syncthreads_count", "`let n = bar.red.popc.u32 0, leader;`, with the condition in place of `leader`"),
    ("__syncthreads_and", "`let all = bar.red.and.pred 0, leader;`, with the condition in place of `leader`"),
    ("__syncthreads_or", "`let any = bar.red.or.pred 0, leader;`, with the condition in place of `leader`"),
    ("__syncwarp", WARP_SYNC),
    ("__syncwarp(*", SOME_LANES),
    ("__shfl*", SHUFFLE),
    ("__ballot*", BALLOT),
    ("__match*", MATCH),
    ("__any*", ANY),
    ("__all*", ALL_LANES),
    ("__reduce_*", REDUCE_LANES),
    ("__activemask", "`let mask = activemask.b32;`, which orders nothing"),
    ("__nanosleep", "`nanosleep.u32 20;`, or nothing: time does not count here"),
    ("__trap", "`assert leader;`, with what must hold there"),
    ("__builtin_assume", "`assume leader;`, with what may be taken for granted"),
    ("__builtin_unreachable", "`assume false;`"),
    ("__assert_fail", "`assert leader;`, with what must hold there"),
    ("syncthreads(", CTA_SYNC),
    ("syncwarp(", WARP_SYNC),
    (
        "printf",
        "ask with `assert` and `reachable` what values there can be; `check --trace` shows an execution",
    ),
];

const FENCES: &[(&str, &str)] = &[
    (
        "__threadfence_block",
        "`fence.sc.cta;`; for a release or acquire pattern `fence.acq_rel.cta;` is enough",
    ),
    ("__threadfence", "`fence.sc.gpu;`; for a release or acquire pattern `fence.acq_rel.gpu;` is enough"),
    (
        "__threadfence_system",
        "`fence.sc.sys;`; for a release or acquire pattern `fence.acq_rel.sys;` is enough",
    ),
    ("threadfence(", "`fence.sc.gpu;`; for a release or acquire pattern `fence.acq_rel.gpu;` is enough"),
    (
        "threadfence_block(",
        "`fence.sc.cta;`; for a release or acquire pattern `fence.acq_rel.cta;` is enough",
    ),
];

const ACCESSES: &[(&str, &str)] = &[
    ("__ldg", "`let v = ld.global.nc [x];`"),
    ("__restrict__", "`let v = ld.global.nc [x];` where the compiler makes it one, else `let v = ld [x];`"),
    ("__ldcg", "`let v = ld.global.cg [x];`"),
    ("__ldca", "`let v = ld.global.ca [x];`"),
    ("__ldcs", "`let v = ld.global.cs [x];`"),
    ("__ldlu", "`let v = ld.global.lu [x];`"),
    ("__ldcv", "`let v = ld.global.cv [x];`, which is weak"),
    ("__stcg", "`st.global.cg [x], 1;`"),
    ("__stcs", "`st.global.cs [x], 1;`"),
    ("__stwb", "`st.global.wb [x], 1;`"),
    ("__stwt", "`st.global.wt [x], 1;`; it orders as little as `st.global.cg [x], 1;`"),
    ("float4", VECTOR),
    ("float2", VECTOR),
    ("int2", VECTOR),
    ("int4", VECTOR),
    ("uint2", VECTOR),
    ("uint4", VECTOR),
    ("ulonglong2", VECTOR),
];

const ATOMICS: &[(&str, &str)] = &[
    ("atomicAdd", "`let old = atom.add.u32 [x], 1;`, or `red.add.u32 [x], 1;` if the old value is unused"),
    ("atomicAdd(*ull", "`red.add.u64 [y], 1;`, or `let old = atom.add.u64 [y], 1;` if the old value is used"),
    ("atomicAdd(*f", "`red.add.f32 [x], 0x3f800000;`: values are bits, and the sum is not computed"),
    ("atomicAdd_block", "`red.relaxed.cta.add.u32 [x], 1;`, or `let old = atom.add.relaxed.cta.u32 [x], 1;`"),
    (
        "atomicAdd_system",
        "`red.relaxed.sys.add.u32 [x], 1;`, or `let old = atom.add.relaxed.sys.u32 [x], 1;`",
    ),
    ("atomicSub*", "`let old = atom.add.u32 [x], -1;`"),
    ("atomicCAS", "`let old = atom.cas.b32 [x], 0, 1;`"),
    ("atomicCAS_block", "`let old = atom.cas.relaxed.cta.b32 [x], 0, 1;`"),
    ("atomicCAS_system", "`let old = atom.cas.relaxed.sys.b32 [x], 0, 1;`"),
    ("atomicExch", SWAP),
    ("atomicExch_block", "`let old = atom.exch.relaxed.cta.b32 [x], 1;`"),
    ("atomicExch_system", "`let old = atom.exch.relaxed.sys.b32 [x], 1;`"),
    ("atomicMin*", "`red.min.u32 [x], 3;`, or `let old = atom.min.u32 [x], 3;`"),
    ("atomicMax*", "`red.max.u32 [x], 3;`, or `let old = atom.max.u32 [x], 3;`"),
    ("atomicAnd*", "`red.and.b32 [x], 3;`, or `let old = atom.and.b32 [x], 3;`"),
    ("atomicOr*", "`red.or.b32 [x], 3;`, or `let old = atom.or.b32 [x], 3;`"),
    ("atomicXor*", "`red.xor.b32 [x], 3;`, or `let old = atom.xor.b32 [x], 3;`"),
    ("atomicInc*", "`let old = atom.inc.u32 [x], 7;`"),
    ("atomicDec*", "`let old = atom.dec.u32 [x], 7;`"),
];

const PIPELINES: &[(&str, &str)] = &[
    ("__pipeline_memcpy_async", COPY),
    ("__pipeline_commit", "`cp.async.commit_group;`"),
    ("__pipeline_wait_prior", "`cp.async.wait_group 1;`, with the number of groups that may be left"),
    ("__pipeline_arrive_on", "`cp.async.mbarrier.arrive [bar];`"),
    ("__mbarrier_init", "`mbarrier.init [bar], 4;`"),
    ("__mbarrier_inval", "`mbarrier.inval [bar];`"),
    ("__mbarrier_arrive", ARRIVE),
    ("__mbarrier_arrive_and_drop", "`mbarrier.arrive_drop _, [bar];`"),
    ("__mbarrier_test_wait", "`let ok = mbarrier.test_wait [bar], t;`"),
    ("__mbarrier_test_wait_parity", "`let ok = mbarrier.test_wait.parity [bar], phase;`"),
    ("__mbarrier_try_wait", WAIT_STATE),
    ("__mbarrier_try_wait_parity", WAIT_PARITY),
];

const LAUNCHES: &[(&str, &str)] = &[
    ("__cluster_dims__", "`launch { ctas: 4, cluster: 2 }` in the kernel"),
    ("cudaLaunchAttributeClusterDimension", "`launch { ctas: 4, cluster: 2 }` in the kernel"),
    ("cudaLaunchCooperativeKernel", "`launch { ctas: 2, cooperative: true }` in the kernel"),
    (
        "cudaLaunchKernel*",
        "`launch k on s;` in a `program`; the shape is in the kernel, `launch { ctas: 2 }`",
    ),
    ("cudaGridDependencySynchronize", GDC_WAIT),
    ("cudaTriggerProgrammaticLaunchCompletion", GDC_LAUNCH),
    ("cudaEventRecord", "`record e on s;` in a `program`"),
    ("cudaStreamWaitEvent", "`wait e on s;` in a `program`"),
    ("cudaDeviceSynchronize", "`synchronize;` in a `program`"),
    ("cudaStreamSynchronize", "`synchronize s;` in a `program`"),
    ("cudaStream_t", "`stream s;` in a `program`"),
    ("cudaStreamCreate*", "`stream s;` in a `program`"),
    ("cudaEvent_t", "`event e;` in a `program`"),
    ("cudaEventCreate*", "`event e;` in a `program`"),
    ("cudaGraph*", "`launch k on s;` for each kernel of the graph, in a `program`"),
    ("cudaFree*", "take it out: memory is there as long as the program"),
    ("synchronize(", "`synchronize;` in a `program`"),
    ("cudaMemset*", "a kernel of one thread that stores, launched in the stream"),
    ("cudaMemcpy*", MOVES),
    ("cudaMalloc*", GLOBAL),
    ("CUtensorMap", "`param map: tensormap of src[8];`"),
];

/// What stands in front of a definition or declaration.
const QUALIFIERS: &[(&str, &str)] = &[
    ("__shared__", SHARED),
    ("__global__", KERNEL),
    ("__device__", GLOBAL),
    ("__constant__", "`global x: u32 = 0;`, or `const N = 4;` before the kernel"),
    ("__managed__", GLOBAL),
    ("__host__", "what the host does is a `program`"),
    ("__forceinline__", FUNCTION),
    ("__launch_bounds__", "`launch { warps: 4, registers: 128 }` in the kernel"),
    ("__grid_constant__", "`param map: tensormap of src[8];`"),
    ("__align__", "take it out; for 16 bytes declare a `b128`"),
    ("asm", ""),
    ("__asm__", ""),
];

const REGISTERS: &[(&str, &str)] = &[
    ("blockIdx", "`ctaid`: launches have one dimension"),
    ("threadIdx", "`tid`: launches have one dimension"),
    ("blockDim", "`ntid`: launches have one dimension"),
    ("gridDim", "`nctaid`: launches have one dimension"),
    ("warpSize", "`32`, or what `launch { lanes: … }` says"),
    ("__laneid", "`laneid`"),
    ("clusterIdx", "`clusterid`: launches have one dimension"),
    ("clusterDim", "`cluster_nctarank`: launches have one dimension"),
    ("__clusterIdx", "`clusterid`: launches have one dimension"),
    ("__clusterDim", "`cluster_nctarank`: launches have one dimension"),
    ("__clusterRelativeBlockIdx", "`cluster_ctarank`: launches have one dimension"),
    ("__clusterRelativeBlockRank", "`cluster_ctarank`"),
    ("__clusterSizeInBlocks", "`cluster_nctarank`"),
    ("__cluster_barrier_arrive", "`barrier.cluster.arrive;`"),
    ("__cluster_barrier_arrive_relaxed", "`barrier.cluster.arrive.relaxed;`"),
    ("__cluster_barrier_wait", CLUSTER_WAIT),
    ("__cluster_map_shared_rank", "`let v = ld.shared::cluster [mapa(s, rank)];`"),
    ("__cvta_*", NO_POINTERS),
];

const GROUPS: &[(&str, &str)] = &[
    ("this_thread_block.sync", CTA_SYNC),
    ("block.sync(", CTA_SYNC),
    ("cta.sync(", CTA_SYNC),
    ("tiled_partition.sync", WARP_SYNC),
    ("tile.sync(", WARP_SYNC),
    ("tile32.sync(", WARP_SYNC),
    ("warp.sync(", WARP_SYNC),
    ("coalesced_threads.sync", SOME_LANES),
    ("active.sync(", SOME_LANES),
    ("this_cluster.sync", CLUSTER_SYNC),
    ("cluster.sync(", CLUSTER_SYNC),
    ("this_grid.sync", GRID_SYNC),
    ("grid.sync(", GRID_SYNC),
    ("cg::sync(", "`bar.sync 0;` of a CTA, `bar.warp.sync 0xffffffff;` of a warp"),
    (
        ".sync(",
        "`bar.sync 0;` of a CTA, `bar.warp.sync 0xffffffff;` of a warp, `barrier.cluster.arrive;` \
         `barrier.cluster.wait;` of a cluster",
    ),
    ("grid.barrier_arrive(", "`grid_arrive` of `use \"lib/group_barrier.fence\";`"),
    ("grid.barrier_wait(", "`grid_wait` of `use \"lib/group_barrier.fence\";`"),
    (".barrier_arrive(", "`barrier.cluster.arrive;`"),
    (".barrier_wait(", CLUSTER_WAIT),
    (".map_shared_rank(", "`let v = ld.shared::cluster [mapa(s, rank)];`"),
    (".block_rank(", "`let r = cluster_ctarank;`"),
    (".num_blocks(", "`let n = cluster_nctarank;`; the own rank is `let r = cluster_ctarank;`"),
    (".thread_rank(", "`tid` in a CTA, `laneid` in a warp"),
    ("cg::wait(", "`cp.async.wait_all;` `bar.sync 0;`"),
    ("wait_prior", "`cp.async.wait_group 1;` `bar.sync 0;`, with the number of groups that may be left"),
    ("this_thread_block", "take it out: `block.sync()` is `bar.sync 0;`, `block.thread_rank()` is `tid`"),
    ("thread_block", "take it out: `block.sync()` is `bar.sync 0;`, `block.thread_rank()` is `tid`"),
    ("this_cluster", HANDLE_OF_CLUSTER),
    ("cluster_group", HANDLE_OF_CLUSTER),
    ("this_grid", HANDLE_OF_GRID),
    ("grid_group", HANDLE_OF_GRID),
    ("tiled_partition", HANDLE_OF_TILE),
    ("thread_block_tile", HANDLE_OF_TILE),
    ("cg::memcpy_async", COPY),
    ("cooperative_groups", "barriers of groups are in the library: `use \"lib/group_barrier.fence\";`"),
    ("cg", "barriers of groups are in the library: `use \"lib/group_barrier.fence\";`"),
];

const LIBCU: &[(&str, &str)] = &[
    (".wait(0", WAIT_VALUE),
    (
        ".wait(1",
        "`await ld.acquire.gpu [x] != 1;`, of an mbarrier `await mbarrier.try_wait.parity [bar], 1;`",
    ),
    (".notify_one(", "nothing: who waits looks again by itself"),
    (".notify_all(", "nothing: who waits looks again by itself"),
    ("init(", "`mbarrier.init [bar], 4;`, with how many arrive"),
    (".arrive(", ARRIVE),
    (
        ".wait(",
        "`let t = mbarrier.arrive [bar];` `await mbarrier.try_wait [bar], t;`, by parity `await \
                mbarrier.try_wait.parity [bar], phase;`",
    ),
    (".wait_parity(", WAIT_PARITY),
    (".try_wait(", "`let ok = mbarrier.try_wait.parity [bar], phase;`"),
    (".try_wait_parity(", "`let ok = mbarrier.try_wait.parity [bar], phase;`"),
    (".arrive_and_wait(", ARRIVE_WAIT),
    (".arrive_and_drop(", "`mbarrier.arrive_drop _, [bar];`"),
    (".~barrier", "`mbarrier.inval [bar];`"),
    ("barrier_arrive_tx", EXPECT),
    ("barrier_expect_tx", "`mbarrier.expect_tx.relaxed.cta [bar], 16;`"),
    ("cuda::barrier", "`shared bar: mbarrier;`, and one thread runs `mbarrier.init [bar], 4;`"),
    ("barrier<thread_scope_block", "`shared bar: mbarrier;`, and one thread runs `mbarrier.init [bar], 4;`"),
    ("arrival_token", "`let t = mbarrier.arrive [bar];`: what an arrival gives has no type of its own"),
    ("memcpy_async", COPY),
    ("memcpy_async_tx", BULK),
    ("memcpy_async(bar", BULK),
    ("memcpy_async(barrier", BULK),
    (
        ".producer_acquire(",
        "nothing where its scope is a thread; of a block `pipeline_producer_acquire` of `use \"lib/cuda_pipeline.fence\";`",
    ),
    (".producer_commit(", "`cp.async.commit_group;`"),
    (
        ".consumer_wait(",
        "`cp.async.wait_group 0;` where its scope is a thread; of a block `pipeline_consumer_wait` of `use \"lib/cuda_pipeline.fence\";`",
    ),
    (
        ".consumer_release(",
        "nothing where its scope is a thread; of a block `pipeline_consumer_release` of `use \"lib/cuda_pipeline.fence\";`",
    ),
    ("pipeline_consumer_wait_prior", "`cp.async.wait_group 1;`, with the number of groups that may be left"),
    (
        "cuda::pipeline",
        "groups of copies, `cp.async.commit_group;` `cp.async.wait_group 1;`; or `use \
                        \"lib/cuda_pipeline.fence\";`",
    ),
    ("counting_semaphore", SEMAPHORE),
    ("binary_semaphore", SEMAPHORE),
    (".acquire(", "`semaphore_acquire(x);` of `use \"lib/semaphore.fence\";`"),
    (".release(", "`semaphore_release(x, 1);` of `use \"lib/semaphore.fence\";`"),
    ("latch", "a word that counts down: `red.release.gpu.add.u32 [x], -1;` `await ld.acquire.gpu [x] == 0;`"),
    ("call_once", "a word that one thread takes: `let old = atom.cas.acquire.gpu.b32 [x], 0, 1;`"),
    (
        "atomic_ref",
        "the order and scope stand at each access: `ld.acquire.gpu [x]`, `st.release.gpu [x], 1;`",
    ),
    ("cuda::atomic", "`global x: u32 = 0;`; the order and scope stand at each access: `ld.acquire.gpu [x]`"),
    (
        "thread_scope_*",
        "the scope stands in the instruction, `.cta`, `.cluster`, `.gpu` or `.sys`: `st.release.sys [x], 1;`",
    ),
    (
        "thread_scope",
        "the scope stands in the instruction, `.cta`, `.cluster`, `.gpu` or `.sys`: `st.release.sys [x], 1;`",
    ),
    ("memory_order*", "the order stands in the instruction: `ld.acquire.gpu [x]`, `st.release.gpu [x], 1;`"),
    (
        "cuda",
        "operations of libcu++ are in the library: `use \"lib/atomic_ref.fence\";`, `cuda_barrier`, `cuda_pipeline`",
    ),
];

/// `cuda::ptx`, whose functions are instructions.
const INSTRUCTIONS: &[(&str, &str)] = &[
    ("elect_sync", "`let one = elect.sync 0xffffffff;`"),
    ("fence_mbarrier_init", "`fence.mbarrier_init.release.cluster;`"),
    ("fence_proxy_async", "`fence.proxy.async;`"),
    ("fence_proxy_async(space_shared", FENCE_ASYNC),
    ("cp_async_bulk", BULK),
    ("cp_async_bulk(=space_global", BULK_STORE),
    ("cp_async_bulk_tensor", TENSOR_LOAD),
    ("cp_async_bulk_tensor(=space_global", TENSOR_STORE),
    ("cp_async_bulk_commit_group", "`cp.async.bulk.commit_group;`"),
    ("cp_async_bulk_wait_group", "`cp.async.bulk.wait_group 0;`, with the number of groups that may be left"),
    (
        "cp_async_bulk_wait_group_read",
        "`cp.async.bulk.wait_group.read 0;`, with the number of groups that may be left",
    ),
    ("mbarrier_try_wait", WAIT_STATE),
    ("mbarrier_test_wait", "`let ok = mbarrier.test_wait [bar], t;`"),
    ("mbarrier_test_wait_parity", "`let ok = mbarrier.test_wait.parity [bar], phase;`"),
    ("mbarrier_expect_tx", "`mbarrier.expect_tx.relaxed.cta [bar], 16;`"),
    ("mbarrier_inval", "`mbarrier.inval [bar];`"),
    ("cp_async_mbarrier_arrive", "`cp.async.mbarrier.arrive [bar];`"),
    ("cp_async_mbarrier_arrive_noinc", "`cp.async.mbarrier.arrive.noinc [bar];`"),
    (
        "cp_reduce_async_bulk",
        "`cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [dst[0]], [tile[0]], 32;`",
    ),
    ("cp_async_bulk_global_to_shared", BULK),
    ("cp_async_bulk_shared_to_global", BULK_STORE),
    ("cp_async_bulk_tensor_*", TENSOR_LOAD),
    ("cp_async_bulk_tensor_1d_shared_to_global", TENSOR_STORE),
    ("cp_async_bulk_tensor_2d_shared_to_global", TENSOR_STORE),
    ("cp_async_bulk_tensor_3d_shared_to_global", TENSOR_STORE),
    ("ptx::fence", "`fence.acq_rel.gpu;`, with its own sem and scope"),
    ("ptx::red_async", "`red.async.add.u32 [mapa(s, rank)], 1, [mapa(bar, rank)];`"),
    ("ptx::griddepcontrol_wait", GDC_WAIT),
    ("ptx::griddepcontrol_launch_dependents", GDC_LAUNCH),
    ("ptx::tcgen05_commit", COMMIT_MMA),
    ("ptx::tcgen05_wait_ld", "`tcgen05.wait::ld.sync.aligned;`"),
    ("ptx::tcgen05_wait_st", "`tcgen05.wait::st.sync.aligned;`"),
    ("ptx::tcgen05_fence_before_thread_sync", "`tcgen05.fence::before_thread_sync;`"),
    ("ptx::tcgen05_fence_after_thread_sync", "`tcgen05.fence::after_thread_sync;`"),
    ("ptx::get_sreg_*", "the special register by its name, with one dimension: `ctaid`, `laneid`"),
    ("ptx", "the instruction itself, with dots: `ptx::fence_acq_rel` is `fence.acq_rel.gpu;`"),
    ("st_async", "`st.async.u32 [mapa(s, rank)], 1, [mapa(bar, rank)];`"),
    ("mbarrier_arrive_expect_tx", EXPECT),
    ("mbarrier_try_wait_parity", WAIT_PARITY),
    ("mbarrier_arrive", ARRIVE),
    ("mbarrier_init", "`mbarrier.init [bar], 4;`"),
    ("barrier_cluster_arrive", "`barrier.cluster.arrive;`"),
    ("barrier_cluster_wait", CLUSTER_WAIT),
    ("clusterlaunchcontrol_try_cancel", TRY_CANCEL),
    ("cuda::ptx", "the instruction itself, with dots: `cuda::ptx::fence_acq_rel` is `fence.acq_rel.gpu;`"),
];

const CPP: &[(&str, &str)] = &[
    ("static_assert", "take it out, or `assert N == 4;` inside of the kernel"),
    (
        "reinterpret_cast",
        "`st.v2 [dst[0]], {1, 2};` for several words at once, `view` for other types of the same memory",
    ),
    ("static_cast", "`v as u32`: a conversion stands behind"),
    ("mutex", "`cas_lock(x);` and `cas_unlock(x);` of `use \"lib/lock.fence\";`, with `global x: u32 = 0;`"),
    (
        "lock_guard",
        "`cas_lock(x);` and `cas_unlock(x);` of `use \"lib/lock.fence\";`, with `global x: u32 = 0;`",
    ),
    (
        "std::atomic*",
        "the order and scope stand at each access: `ld.acquire.gpu [x]`, `st.release.gpu [x], 1;`",
    ),
    ("std", BECOMES),
    ("continue", "an `if` around the rest of the round"),
    ("struct", "an array for each member: `global seq[2]: u32 = 0;` `global data[2]: u32 = 0;`"),
    ("class", "an array for each member: `global seq[2]: u32 = 0;` `global data[2]: u32 = 0;`"),
    ("typedef", "types are `u8`, `u16`, `u32`, `u64` and `b128`"),
    ("enum", "`const BUSY = 1;` for each, before the kernel"),
    (
        "template",
        "a template parameter is a `const N = 4;`, which -D replaces, or one of the kernel: `kernel k(N in 0..=3) { … }`",
    ),
    ("using", "functions of another file: `use \"lib/lock.fence\";`, before the kernel"),
    ("namespace", "take it out: names are those of the file and of what it uses"),
    ("extern", "`shared name[4]: u32;` inside the kernel, with a size"),
    ("static", "`global x: u32 = 0;`, or a function `fn f(n: u32) { … }`"),
    ("inline", FUNCTION),
    ("void", FUNCTION),
    ("constexpr", "`const N = 4;`, before the kernel, without a type"),
    ("switch", "`if … { } else if … { } else { }`"),
    ("goto", "`loop`, `while`, `if` and `break`: there are no labels"),
    ("volatile", "`let v = ld.volatile [x];` `st.volatile [x], 1;`: the access is what is volatile"),
    ("int", VALUE),
    ("unsigned", VALUE),
    ("uint32_t", VALUE),
    ("int32_t", VALUE),
    ("uint", VALUE),
    ("char", VALUE),
    ("uint8_t", VALUE),
    ("uint64_t", WIDE),
    ("int64_t", WIDE),
    ("size_t", WIDE),
    ("long", WIDE),
    ("auto", "`let v = …;`, or `var v: u32 = …;` if it changes"),
    ("bool", "`let v = …;`: a condition is true or false, and memory has `u32`"),
    ("double", "`var v: u64 = 0;`: floating-point values are bits"),
    ("float", "`var v: u32 = 0x3f800000;`: floating-point values are bits"),
];

/// What is written with its path.
const RUST: &[(&str, &str)] = &[
    ("hint::spin_loop", "nothing: a wait is `await ld.acquire.gpu [x] == 1;`"),
    ("spin_loop(", "nothing: a wait is `await ld.acquire.gpu [x] == 1;`"),
    ("thread::yield_now", "nothing: a thread may be overtaken at any step anyway"),
    ("this_thread::yield", "nothing: a thread may be overtaken at any step anyway"),
    ("atomic::fence(SeqCst", "`fence.sc.gpu;`"),
    ("atomic::fence", "`fence.acq_rel.gpu;`"),
    (
        "AtomicU32::new",
        "`global x: u32 = 0;`: any word can be accessed atomically, and each access says whether it is",
    ),
    (
        "AtomicU64::new",
        "`global x: u64 = 0;`: any word can be accessed atomically, and each access says whether it is",
    ),
];

const PYTHON: &[(&str, &str)] = &[(
    "def",
    "`kernel name { launch { ctas: 2 } … }` for what is launched, `fn name(a: &u32, n: u32) { … }` for a function",
)];
