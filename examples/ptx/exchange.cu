// Two blocks exchange what they have: each writes to the memory of the other, and tells it.
#include <cassert>
#include <cuda/atomic>

// The memory of each rank, as a kernel of a library gets it: a structure of pointers, from which the rank chooses.
struct Peers {
  int *data[2];
  unsigned *flag[2];
};

using Flag = cuda::atomic_ref<unsigned, cuda::thread_scope_device>;

__device__ __noinline__ void tell(unsigned *flag, unsigned round) {
  Flag(*flag).store(round, cuda::memory_order_release);
}

__device__ __noinline__ void wait_for(unsigned *flag, unsigned round) {
  while (Flag(*flag).load(cuda::memory_order_acquire) != round) {
  }
}

__global__ void exchange(const Peers peers, int *out) {
  unsigned rank = blockIdx.x, peer = rank ^ 1;
  peers.data[peer][threadIdx.x] = 100 * rank + threadIdx.x;
  __syncthreads();
  if (threadIdx.x == 0) {
    tell(peers.flag[peer], 1);
    wait_for(peers.flag[rank], 1);
  }
  __syncthreads();
  int got = peers.data[rank][threadIdx.x];
  assert(got == 100 * peer + threadIdx.x);
  out[rank * blockDim.x + threadIdx.x] = got;
}
