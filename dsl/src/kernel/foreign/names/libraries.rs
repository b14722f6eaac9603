//! Names of libraries over CUDA, and of Triton.

use super::*;

pub const CUTLASS: &[(&str, &str)] = &[
    ("NamedBarrier::sync", "`bar.sync 1, 64;`"),
    ("NamedBarrier::arrive_and_wait", "`bar.sync 1, 64;`"),
    ("NamedBarrier::arrive", "`bar.arrive 1, 64;`"),
    ("NamedBarrier*", "`bar.sync 1, 64;`, or `bar.arrive 1, 64;`"),
    (
        "arrive_and_wait(",
        "`bar.sync 1, 64;`; of an mbarrier `let t = mbarrier.arrive [bar];` `await mbarrier.try_wait \
                          [bar], t;`",
    ),
    ("elect_one_sync", "`let one = elect.sync 0xffffffff;`"),
    ("elect_one*", "`let one = elect.sync 0xffffffff;`"),
    ("fence_barrier_init", "`fence.mbarrier_init.release.cluster;`"),
    ("fence_view_async_shared", FENCE_ASYNC),
    ("tma_store_fence", FENCE_ASYNC),
    ("tma_descriptor_fence_release", "`fence.proxy.tensormap::generic.release.gpu;`"),
    (
        "tma_descriptor_fence_acquire",
        "`fence.proxy.tensormap::generic.acquire.gpu [map], 128;`, for a map in global memory",
    ),
    ("red_release", "`fence.acq_rel.gpu;` `red.relaxed.gpu.add.u32 [x], 1;`"),
    ("ClusterBarrier::init", "`mbarrier.init [bar], 4;`"),
    ("ClusterBarrier::arrive", ARRIVE),
    (
        "ClusterBarrier::arrive(*",
        "`mbarrier.arrive.shared::cluster _, [mapa(bar, rank)];`; across CTAs it should be \
         `mbarrier.arrive.release.cluster.shared::cluster _, [mapa(bar, rank)];`",
    ),
    (
        "ClusterBarrier::wait",
        "`await mbarrier.try_wait.parity [bar], phase;`; where a peer arrives or multicasts, `await \
         mbarrier.try_wait.parity.acquire.cluster [bar], phase;`",
    ),
    ("ClusterBarrier::try_wait", "`let ok = mbarrier.try_wait.parity [bar], phase;`"),
    ("ClusterBarrier*", "`shared bar: mbarrier;`"),
    ("ClusterTransactionBarrier*", "`shared bar: mbarrier;`"),
    (".init(", "`mbarrier.init [bar], 4;`, with how many arrive"),
    ("try_wait(", "`let ok = mbarrier.try_wait.parity [bar], phase;`"),
    ("arrive_and_expect_tx", EXPECT),
    ("expect_transaction", "`mbarrier.expect_tx.relaxed.cta [bar], 16;`"),
    (
        ".producer_tail(",
        "`await mbarrier.try_wait.parity [empty], phase;` for each stage; or `use \
                         \"lib/pipeline_tma.fence\";`",
    ),
    (".producer_acquire(*", ROLES_ACQUIRE),
    (
        ".producer_commit(*",
        "nothing where TMA copies, which complete the mbarrier; else `mbarrier.arrive _, [full];`",
    ),
    (".consumer_wait(*", ROLES_FULL),
    (".consumer_release(*", ROLES_EMPTY),
    (
        ".producer_get_barrier(",
        "take it out: copies name the stage's mbarrier *full* themselves, `[full[stage]]`",
    ),
    (".producer_try_acquire(", "`let ok = mbarrier.try_wait.parity [empty], phase;`"),
    (".consumer_try_wait(", "`let ok = mbarrier.try_wait.parity [full], phase;`"),
    (
        "PipelineState",
        "`pipeline_index(count, 2)` and `pipeline_phase(count, 2)` of `use \"lib/pipeline_state.fence\";`: a count of tiles \
         says all of it",
    ),
    (
        "make_producer_start_state",
        "`pipeline_producer_phase(count, 2)` of `use \"lib/pipeline_state.fence\";`",
    ),
    (
        "PipelineTma*",
        "`shared full[2]: mbarrier;`, `empty`, and the functions of `use \"lib/pipeline_tma.fence\";`",
    ),
    ("PipelineTmaStore*", "the functions of `use \"lib/tma_store.fence\";`, such as `tma_store_commit();`"),
    (
        "PipelineAsync*",
        "`shared full[2]: mbarrier;`, `empty`, and the functions of `use \"lib/pipeline_async.fence\";`",
    ),
    ("PipelineUmma*", "the functions of `use \"lib/tensor_memory.fence\";`"),
    ("OrderedSequenceBarrier*", "the functions of `use \"lib/ordered_sequence.fence\";`"),
    ("cutlass::Semaphore", "`turn_acquire(x, 0);` `turn_release(x, 1);` of `use \"lib/semaphore.fence\";`"),
    (
        "GenericBarrier::arrive_inc",
        "`bar.sync 0;`, and in thread 0 `fence.acq_rel.gpu;` `red.relaxed.gpu.add.u32 [x], 1;`",
    ),
    ("GenericBarrier::wait_*", "in thread 0 `await ld.acquire.gpu [x] == 1;`, and then `bar.sync 0;`"),
    ("cute::copy", COPIES),
    ("initialize_barrier(", "`mbarrier.init [bar], 4;`, with how many arrive"),
    ("wait_barrier(", WAIT_PARITY),
    ("arrive_barrier(", ARRIVE),
    ("set_barrier_transaction_bytes(", EXPECT),
    ("canonical_warp_idx*", "`warpid`"),
    ("canonical_warp_group_idx*", "`warpid / 4`: a warpgroup is four warps"),
    ("canonical_lane_idx*", "`laneid`"),
    ("block_rank_in_cluster", "`cluster_ctarank`"),
    ("block_id_in_cluster", "`cluster_ctarank`: launches have one dimension"),
    ("cluster_id_in_grid", "`clusterid`: launches have one dimension"),
    ("cluster_shape", "`cluster_nctarank`: launches have one dimension"),
    ("cast_smem_ptr_to_uint", NO_POINTERS),
    ("cp_async", COPY),
    ("cp_async_fence", "`cp.async.commit_group;`"),
    ("cp_async_wait", "`cp.async.wait_group 1;`, with the number of groups that may be left"),
    ("cp_async_wait<0", "`cp.async.wait_all;`"),
    ("cpasync_barrier_arrive_noinc", "`cp.async.mbarrier.arrive.noinc [bar];`"),
    ("cpasync_barrier_arrive", "`cp.async.mbarrier.arrive [bar];`"),
    ("SM90_TMA_LOAD*", TENSOR_LOAD),
    (
        "SM90_TMA_LOAD_MULTICAST*",
        "`cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [tile[0]], [src[0]], 32, \
         [bar], 3;`",
    ),
    ("SM90_TMA_STORE*", TENSOR_STORE),
    (
        "SM90_TMA_REDUCE_ADD*",
        "`cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [dst[0]], [tile[0]], 32;`",
    ),
    ("tma_store_arrive", "`cp.async.bulk.commit_group;`"),
    ("tma_store_wait", "`cp.async.bulk.wait_group.read 0;`, with the number of groups that may be left"),
    ("cluster_sync", CLUSTER_SYNC),
    ("cluster_arrive", "`barrier.cluster.arrive;`"),
    ("cluster_arrive_relaxed", "`barrier.cluster.arrive.relaxed;`"),
    ("cluster_wait", CLUSTER_WAIT),
    ("set_block_rank", "`let v = ld.shared::cluster [mapa(s, rank)];`"),
    ("wait_on_dependent_grids", GDC_WAIT),
    ("launch_dependent_grids", GDC_LAUNCH),
    ("issue_clc_query", TRY_CANCEL),
    ("cute", BECOMES),
    ("cutlass", BECOMES),
];

pub const MATRICES: &[(&str, &str)] = &[
    ("warpgroup_arrive", "`wgmma.fence.sync.aligned;`"),
    ("warpgroup_fence_operand", "`wgmma.fence.sync.aligned;`"),
    ("cute::gemm", PRODUCTS),
    ("warpgroup_commit_batch", "`wgmma.commit_group.sync.aligned;`"),
    ("warpgroup_wait", "`wgmma.wait_group.sync.aligned 1;`, with the number of groups that may be left"),
    ("warpgroup_reg_dealloc", "`setmaxnreg.dec.sync.aligned.u32 40;`"),
    ("warpgroup_reg_alloc", "`setmaxnreg.inc.sync.aligned.u32 232;`"),
    ("umma_arrive*", COMMIT_MMA),
    ("fence_view_async_tmem_load", "`tcgen05.wait::ld.sync.aligned;`"),
    ("fence_view_async_tmem_store", "`tcgen05.wait::st.sync.aligned;`"),
    ("tcgen05_before_thread_sync", "`tcgen05.fence::before_thread_sync;`"),
    ("tcgen05_after_thread_sync", "`tcgen05.fence::after_thread_sync;`"),
];

pub const TRITON: &[(&str, &str)] = &[
    ("debug_barrier", CTA_SYNC),
    (
        "cache_modifier",
        "`let v = ld.global.cg [x];`, `let v = ld.global.cv [x];`: the operator is part of the opcode",
    ),
    ("async_copy_global_to_local", COPY),
    ("desc.load", TENSOR_LOAD),
    ("desc.store", TENSOR_STORE),
    ("gdc_wait", GDC_WAIT),
    ("gdc_launch_dependents", GDC_LAUNCH),
    ("warpgroup_mma", PRODUCTS),
    ("tl.load(", "`let v = ld [x];`"),
    ("tl.store(", "`st [x], 1;`"),
    ("tl.program_id", "`ctaid`: launches have one dimension"),
    ("tl.num_programs", "`nctaid`: launches have one dimension"),
    ("tl", BECOMES),
];

pub const GLUON: &[(&str, &str)] = &[
    ("fence_async_shared", FENCE_ASYNC),
    ("mbarrier.init(", "`mbarrier.init [bar], 4;`"),
    ("mbarrier.arrive(", ARRIVE),
    ("mbarrier.wait(", WAIT_PARITY),
    ("mbarrier.expect(", EXPECT),
    ("mbarrier.invalidate", "`mbarrier.inval [bar];`"),
    ("async_copy_global_to_shared", TENSOR_LOAD),
    ("async_copy_shared_to_global", TENSOR_STORE),
    ("tma.store_wait", "`cp.async.bulk.wait_group.read 0;`, with the number of groups that may be left"),
    ("warpgroup_mma_wait", "`wgmma.wait_group.sync.aligned 1;`, with the number of groups that may be left"),
    ("tcgen05_commit", COMMIT_MMA),
    ("warp_specialize(", "a role is a branch: `if warpid == 0 { … } else { … }`"),
    ("gl", BECOMES),
    ("ttgl", BECOMES),
];

pub const NVSHMEM: &[(&str, &str)] = &[
    ("nvshmem_ptr", PEER),
    ("nvshmem_malloc", SYMMETRIC),
    ("nvshmem_align", SYMMETRIC),
    ("nvshmem_calloc", SYMMETRIC),
    ("nvshmem_my_pe", "`gpuid`"),
    ("nvshmem_n_pes", "the number that `launch { gpus: 2 }` says"),
    ("nvshmem_barrier*", ALL_GPUS),
    ("nvshmem_sync*", ALL_GPUS),
    ("nvshmemx_barrier*", ALL_GPUS),
    ("nvshmemx_sync*", ALL_GPUS),
    ("nvshmem_fence", "`fence.sc.sys;`, where peers are reached by loads and stores"),
    ("nvshmem_quiet", "`fence.sc.sys;`, where peers are reached by loads and stores"),
    ("nvshmem_signal_wait_until", WAIT_SIGNAL),
    ("nvshmem_signal_fetch", "`let v = ld.acquire.sys [x];`"),
    ("nvshmemx_signal_op", SET_SIGNAL),
    ("nvshmem_putmem_signal*", PUT_SIGNAL),
    ("nvshmemx_putmem_signal*", PUT_SIGNAL),
    ("nvshmem_put*", PUT),
    ("nvshmemx_put*", PUT),
    ("nvshmem_get*", "`let v = ld [peer(remote, 0)];`, where `remote` is `symmetric remote: u32 = 0;`"),
    (
        "nvshmem*",
        "memory of every GPU is `symmetric remote: u32 = 0;`, that of GPU 0 `[peer(remote, 0)]`; signals and waits are in \
         `use \"lib/signal.fence\";`",
    ),
];

pub const NCCL: &[(&str, &str)] = &[
    ("ncclGetPeerPointer", PEER),
    ("ncclGetLsaPointer", PEER),
    ("ncclGetLocalPointer", SYMMETRIC),
    ("ncclMemAlloc", SYMMETRIC),
    ("ncclLsaBarrier*", ALL_GPUS),
    (
        "nccl*",
        "its protocols Simple, LL and LL128 are in `use \"lib/nccl.fence\";`; memory of every GPU is `symmetric remote: \
         u32 = 0;`",
    ),
];
