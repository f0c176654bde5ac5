// Pitfall: a wrong row length
//
// The kernel takes the rows of a 5 x 5 matrix to be four elements long. So row 1 begins where column 4 of row 0 stands:
// some elements get two threads, and the last ones get none. No call fails. The kernel counts the threads per element.
// (To double them would show less: what two threads at once do to one number is not defined.)
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon chapters/06_gpu/cuda_double_matrix/cuda_double_matrix_row_length.cu common/cookbook/*.cpp -lfmt -o cuda_double_matrix_row_length
// Run:     cuda_double_matrix_row_length
// Symptom: exit 1, prints "no thread has element 21 22 23 24"

#include <vector>

#include "cookbook/cuda.hpp"
#include "cookbook/print.hpp"

__global__ void count_threads(int* threads) {
  const int i = threadIdx.y * 4 + threadIdx.x;  // wrong: the rows have 5 elements
  atomicAdd(&threads[i], 1);
}

int main() {
  if (!gpu::device_found()) return gpu::skipped;
  gpu::DeviceArray<int> device_threads(25);
  device_threads.zero();
  count_threads<<<1, dim3(5, 5)>>>(device_threads.data());
  CUDA_CHECK(cudaGetLastError());

  const std::vector<int> threads = device_threads.to_host();
  const auto elements_with = [&](int number) {
    std::vector<int> elements;
    for (int i = 0; i < 25; ++i) {
      if (threads[i] == number) elements.push_back(i);
    }
    return elements;
  };
  cookbook::println("two threads have element {}", fmt::join(elements_with(2), " "));
  cookbook::println("no thread has element {}", fmt::join(elements_with(0), " "));
  return elements_with(0).empty() ? 0 : 1;
}
