// A histogram: each block counts into bins of its own, and adds those to the bins of all.
__global__ void __launch_bounds__(256) histogram(const unsigned* keys, unsigned* total, int n) {
    __shared__ unsigned bins[256];
    bins[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&bins[keys[i] & 255], 1);
    __syncthreads();
    unsigned count = bins[threadIdx.x];
    if (count) atomicAdd(&total[threadIdx.x], count);
}
