// In each row of a cluster of two by two blocks, one of them copies a tile to both.
#include <cuda/ptx>

namespace ptx = cuda::ptx;

#define BYTES 512u

__global__ void __cluster_dims__(2, 2, 1) multicast(const int *tiles, int *out) {
  __shared__ alignas(128) int tile[BYTES / sizeof(int)];
  __shared__ alignas(8) uint64_t full;
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&full, 1);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
  }
  ptx::barrier_cluster_arrive();
  ptx::barrier_cluster_wait();
  if (threadIdx.x == 0) {
    // The copy of the block that is first in its row may come before this one expects it.
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full, BYTES);
    unsigned row = ptx::get_sreg_cluster_ctaid_y();
    if (ptx::get_sreg_cluster_ctaid_x() == 0)
      ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, tile, tiles + row * BYTES / sizeof(int), BYTES, &full,
                         uint16_t(3 << (2 * row)));
  }
  while (!ptx::mbarrier_try_wait_parity(ptx::sem_acquire, ptx::scope_cluster, &full, 0)) {
  }
  unsigned block = blockIdx.y * gridDim.x + blockIdx.x;
  out[block * blockDim.x + threadIdx.x] = tile[threadIdx.x];
  // Nobody leaves while a copy to it may be on its way.
  ptx::barrier_cluster_arrive();
  ptx::barrier_cluster_wait();
}
