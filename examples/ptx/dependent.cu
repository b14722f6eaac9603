// Two kernels in one stream: the second one may start before the first has ended, and waits for it where it reads.
__global__ void produce(int *tile) {
  tile[threadIdx.x] = threadIdx.x + 1;
  cudaTriggerProgrammaticLaunchCompletion();
}

__global__ void consume(const int *tile, int *out) {
  int own = 2 * threadIdx.x;
  cudaGridDependencySynchronize();
  out[threadIdx.x] = own + tile[threadIdx.x];
}
