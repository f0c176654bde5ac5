// Pitfall: a kernel that was never started
//
// This check launches a kernel, waits for the device, and says that all is well if the wait returns no error. But a
// block has at most 1024 threads, and the launch asks for 2048. It is refused, so there is nothing to wait for.
// cudaGetLastError() after the launch tells; and the result, if somebody looks at it, is what it was before.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon chapters/06_gpu/cuda_self_check/cuda_self_check_not_started.cu common/cookbook/*.cpp -lfmt -o cuda_self_check_not_started
// Run:     cuda_self_check_not_started
// Symptom: exit 1, prints "the kernel never ran: -1 instead of 42"

#include "cookbook/cuda.hpp"
#include "cookbook/print.hpp"

__global__ void answer(int* result) { *result = 42; }

int main() {
  if (!gpu::device_found()) return gpu::skipped;
  int result = -1;
  int* memory;
  CUDA_CHECK(cudaMalloc(&memory, sizeof(int)));
  CUDA_CHECK(cudaMemcpy(memory, &result, sizeof(int), cudaMemcpyHostToDevice));

  answer<<<1, 2048>>>(memory);  // missing: CUDA_CHECK(cudaGetLastError()) after it
  CUDA_CHECK(cudaDeviceSynchronize());
  cookbook::println("the wait for the device returned no error");

  CUDA_CHECK(cudaMemcpy(&result, memory, sizeof(int), cudaMemcpyDeviceToHost));
  CUDA_CHECK(cudaFree(memory));
  if (result == 42) return 0;
  cookbook::println("the kernel never ran: {} instead of 42", result);
  return 1;
}
