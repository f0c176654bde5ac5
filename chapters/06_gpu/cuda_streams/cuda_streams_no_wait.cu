// Pitfall: the host reads a result before it has waited for it
//
// A kernel that takes a while writes 42, and the result is copied to the host, all in one stream. Both calls return at
// once, as they should with page-locked memory. The host reads the result right away, and finds what was there before.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon -Ichapters/06_gpu chapters/06_gpu/cuda_streams/cuda_streams_no_wait.cu common/cookbook/*.cpp -lfmt -o cuda_streams_no_wait
// Run:     cuda_streams_no_wait
// Symptom: exit 1, prints "the host read 0, the device computed 42"

#include "cookbook/cuda.hpp"
#include "cookbook/print.hpp"
#include "stream.hpp"

__global__ void compute_for_long(int* result) {
  const long long start = clock64();
  while (clock64() - start < 400'000'000) {  // about 0.2 s
  }
  *result = 42;
}

int main() {
  if (!gpu::device_found()) return gpu::skipped;
  gpu::DeviceArray<int> device(1);
  PinnedArray<int> result(1);
  *result.begin() = 0;
  Stream stream;

  compute_for_long<<<1, 1, 0, stream>>>(device.data());
  CUDA_CHECK(cudaGetLastError());
  CUDA_CHECK(cudaMemcpyAsync(result.begin(), device.data(), sizeof(int), cudaMemcpyDeviceToHost, stream));
  // Missing: stream.synchronize();
  const int read = *static_cast<volatile int*>(result.begin());  // volatile: so that it is read here

  stream.synchronize();
  cookbook::println("the host read {}, the device computed {}", read, *result.begin());
  return read == *result.begin() ? 0 : 1;
}
