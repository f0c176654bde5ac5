// Pitfall: a graph keeps the arguments with which its kernels were recorded
//
// A kernel multiplies a number by a factor and is recorded with the factor 2. After a first launch the host sets the
// factor to 3 and launches the graph again. The kernel still multiplies by 2: its arguments were copied while it was
// recorded.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon chapters/06_gpu/cuda_graph/cuda_graph_old_argument.cu common/cookbook/*.cpp -lfmt -o cuda_graph_old_argument
// Run:     cuda_graph_old_argument
// Symptom: exit 1, prints "the factor is 3, the graph has multiplied by 2"

#include <vector>

#include "cookbook/cuda.hpp"
#include "cookbook/print.hpp"
#include "graph.hpp"

__global__ void multiply(int* number, int factor) { *number *= factor; }

int main() {
  if (!gpu::device_found()) return gpu::skipped;
  gpu::DeviceArray<int> number(std::vector<int>{1});
  cudaStream_t stream;
  CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CUDA_CHECK(cudaDeviceSynchronize());  // the array was filled in the default stream, for which ours does not wait

  int factor = 2;
  Graph graph(stream, [&] {
    multiply<<<1, 1, 0, stream>>>(number.data(), factor);
    CUDA_CHECK(cudaGetLastError());
  });
  graph.launch(stream);
  CUDA_CHECK(cudaStreamSynchronize(stream));
  const int before = number.to_host()[0];

  factor = 3;  // wrong: this variable is not read any more
  graph.launch(stream);
  CUDA_CHECK(cudaStreamSynchronize(stream));
  CUDA_CHECK(cudaStreamDestroy(stream));
  const int multiplied_by = number.to_host()[0] / before;
  cookbook::println("the factor is {}, the graph has multiplied by {}", factor, multiplied_by);
  return before == 2 && multiplied_by == factor ? 0 : 1;
}
