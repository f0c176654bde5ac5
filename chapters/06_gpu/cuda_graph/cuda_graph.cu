// CUDA graph
//
// A job consists of hundreds of kernels, each so short that the host cannot launch them as fast as the device runs
// them. Launched one by one, they cost the host a call each. Recorded as a graph, all of them are started by one call,
// and the graph can be launched again with other numbers in the same memory.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon chapters/06_gpu/cuda_graph/cuda_graph.cu common/cookbook/*.cpp -lfmt -o cuda_graph
// Run:     cuda_graph [--count N] [--kernels N]

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/cuda.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "graph.hpp"
#include "steps.cuh"

int main(int argc, char** argv) {
  int count = 4096, kernels = 500;
  cookbook::Options options("Start many short kernels with one call");
  options.add("count", count, "numbers that each kernel works on", 1, 1 << 24);
  options.add("kernels", kernels, "kernels, one after another", 1, 10'000);
  options.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;

  cudaStream_t stream;
  CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  gpu::DeviceArray<std::uint32_t> numbers(count);
  std::vector<std::uint32_t> input(count);
  std::mt19937 random;
  const auto new_input = [&] {
    std::generate(input.begin(), input.end(), random);
    CUDA_CHECK(cudaMemcpyAsync(numbers.data(), input.data(), count * sizeof(input[0]), cudaMemcpyHostToDevice, stream));
    CUDA_CHECK(cudaStreamSynchronize(stream));
  };
  const auto run = [&](const std::string& title, auto queue) {
    const cookbook::Stopwatch watch;
    queue();
    const double queuing = watch.seconds();
    CUDA_CHECK(cudaStreamSynchronize(stream));
    cookbook::println("{}: {:.0f} us, {:.0f} us of them in the host's calls", title, watch.seconds() * 1e6,
                      queuing * 1e6);
  };
  const AllSteps all_steps(kernels);
  const auto wrong_numbers = [&] {
    const std::vector<std::uint32_t> result = numbers.to_host();
    int wrong = 0;
    for (int i = 0; i < count; ++i) wrong += result[i] != all_steps.of(input[i]);
    return wrong;
  };

  take_step<<<1, 1, 0, stream>>>(numbers.data(), 0, 0);  // the first launch of a kernel also loads its code
  CUDA_CHECK(cudaGetLastError());

  cookbook::Checks checks;
  new_input();
  run("kernels one by one", [&] { queue_steps(stream, numbers.data(), count, kernels); });
  checks.equal("wrong numbers", wrong_numbers(), 0);

  new_input();
  Graph graph(stream, [&] { queue_steps(stream, numbers.data(), count, kernels); });
  checks.equal("kernels in the graph", graph.operations(), static_cast<std::size_t>(kernels));
  checks.that("the recording has changed no number", numbers.to_host() == input);
  run("first launch of the graph", [&] { graph.launch(stream); });
  checks.equal("wrong numbers", wrong_numbers(), 0);

  new_input();  // the graph has the address of the numbers, not the numbers
  run("second launch of the graph", [&] { graph.launch(stream); });
  checks.equal("wrong numbers, with new input", wrong_numbers(), 0);

  CUDA_CHECK(cudaStreamDestroy(stream));
  return checks.exit_code();
}
