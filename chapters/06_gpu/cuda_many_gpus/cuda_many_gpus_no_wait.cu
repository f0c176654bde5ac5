// Pitfall: a copy does not wait for the neighbour's stream
//
// Worker 0 fills its array, which takes a while; worker 1 copies it. Each has a stream of its own. The copy stands in
// the program after the kernel, but in another stream, so it does not wait for it. Worker 1 gets what was there before.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon chapters/06_gpu/cuda_many_gpus/cuda_many_gpus_no_wait.cu common/cookbook/*.cpp -lfmt -o cuda_many_gpus_no_wait
// Run:     cuda_many_gpus_no_wait
// Symptom: exit 1, prints "worker 1 received 0, worker 0 has 1"

#include "cookbook/print.hpp"
#include "ring.cuh"

__global__ void fill_slowly(float* data) {
  const long long start = clock64();
  while (clock64() - start < 400'000'000) {  // about 0.2 s
  }
  *data = 1;
}

int main() {
  if (!gpu::device_found()) return gpu::skipped;
  int devices = 0;
  CUDA_CHECK(cudaGetDeviceCount(&devices));
  Workers workers = make_workers(2, devices, 1);
  for (Worker& worker : workers) {
    use_device(worker.device);
    worker.data.zero();
    CUDA_CHECK(cudaDeviceSynchronize());
  }

  use_device(workers[0].device);
  fill_slowly<<<1, 1, 0, workers[0].stream>>>(workers[0].data.data());
  CUDA_CHECK(cudaGetLastError());
  CUDA_CHECK(cudaEventRecord(workers[0].step_done[0], workers[0].stream));
  use_device(workers[1].device);
  // Missing: CUDA_CHECK(cudaStreamWaitEvent(workers[1].stream, workers[0].step_done[0]));
  CUDA_CHECK(cudaMemcpyAsync(workers[1].received.data(), workers[0].data.data(), sizeof(float), cudaMemcpyDefault,
                             workers[1].stream));

  synchronize(workers);
  const float received = workers[1].received.to_host()[0], filled = workers[0].data.to_host()[0];
  cookbook::println("worker 1 received {}, worker 0 has {}", received, filled);
  return received == filled ? 0 : 1;
}
