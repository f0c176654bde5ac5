// Pitfall: going on with the next job after a kernel's fault
//
// The third of six jobs stores far behind the end of an array. The program notes that it has failed, and goes on with
// the fourth. But the error stays: each of the jobs that follow is refused, although nothing is wrong with it, and so
// is every copy of what the first two have counted.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon chapters/06_gpu/cuda_errors/cuda_errors_next_job.cu common/cookbook/*.cpp -lfmt -o cuda_errors_next_job
// Run:     cuda_errors_next_job
// Symptom: exit 1, prints "6 jobs, one of them faulty: 2 done, 4 failed"

#include "cookbook/cuda.hpp"
#include "cookbook/print.hpp"

constexpr long size = 1000;

__global__ void count_one(int* counts, long index) { counts[index] += 1; }

int main() {
  if (!gpu::device_found()) return gpu::skipped;
  int* counts = nullptr;
  CUDA_CHECK(cudaMalloc(&counts, size * sizeof(int)));
  CUDA_CHECK(cudaMemset(counts, 0, size * sizeof(int)));

  const long jobs[] = {5, 17, 1'000'000'000'000, 3, 999, 0};  // what users have sent
  int done = 0, failed = 0;
  for (const long index : jobs) {
    count_one<<<1, 1>>>(counts, index);  // wrong: nobody has looked at the index
    const cudaError_t error = cudaDeviceSynchronize();
    if (error == cudaSuccess) {
      ++done;
    } else {
      ++failed;
      cookbook::println("job {}: {}", index, cudaGetErrorString(error));
    }
  }
  cookbook::println("6 jobs, one of them faulty: {} done, {} failed", done, failed);
  cudaFree(counts);  // its error is that of the job
  return failed == 1 ? 0 : 1;
}
