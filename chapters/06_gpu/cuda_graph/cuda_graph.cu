// CUDA graph
//
// A job consists of hundreds of kernels, each so short that the host cannot launch them as fast as the device runs
// them. Launched one by one, they cost the host a call each. Recorded as a graph, all of them are started by one call,
// and the graph can be launched again with other numbers in the same memory. The program shows what each launch takes,
// and what the recording costs before the first.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon -Ichapters/06_gpu chapters/06_gpu/cuda_graph/cuda_graph.cu common/cookbook/*.cpp -lfmt -o cuda_graph
// Run:     cuda_graph [--count N] [--kernels N]

#include <algorithm>
#include <cstdint>
#include <optional>
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
#include "stream.hpp"

int main(int argc, char** argv) {
  int count = 4096, kernels = 500;
  cookbook::Options options("Start many short kernels with one call");
  options.add("count", count, "numbers that each kernel works on", 1, 1 << 24);
  options.add("kernels", kernels, "kernels, one after another", 1, 10'000);
  options.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;

  Stream stream;
  gpu::DeviceArray<std::uint32_t> numbers(count);
  std::vector<std::uint32_t> input(count);
  std::mt19937 random;
  const auto new_input = [&] {
    std::generate(input.begin(), input.end(), random);
    CUDA_CHECK(cudaMemcpyAsync(numbers.data(), input.data(), count * sizeof(input[0]), cudaMemcpyHostToDevice, stream));
    stream.synchronize();
  };
  cookbook::println("{:<30}{:>11}{:>15}{:>13}", fmt::format("{} kernels", kernels), "in all", "host busy",
                    "per kernel");
  const auto timed = [&](const std::string& title, auto work) {
    const cookbook::Stopwatch watch;
    work();
    const double calls = watch.seconds();
    stream.synchronize();
    const double all = watch.seconds();
    cookbook::println("{:<30}{:8.0f} us{:12.0f} us{:10.2f} us", title, all * 1e6, calls * 1e6, all * 1e6 / kernels);
  };
  const AllSteps all_steps(kernels);
  int wrong = 0;
  const auto count_wrong_numbers = [&] {
    const std::vector<std::uint32_t> result = numbers.to_host();  // timed() has waited for the stream
    for (int i = 0; i < count; ++i) wrong += result[i] != all_steps.of(input[i]);
  };

  const auto job = [&] { queue_steps(stream, numbers.data(), count, kernels); };
  // The first launch of a kernel also loads its code, and the first graph of a program takes longer than the next one.
  const auto warm_up = [&] {
    new_input();
    Graph(stream, job).launch(stream);
  };
  warm_up();

  for (const char* title : {"launched one by one", "one by one, once more"}) {
    new_input();
    timed(title, job);
    count_wrong_numbers();
  }

  new_input();
  std::optional<Graph> graph;
  timed("recorded as a graph", [&] { graph.emplace(stream, job); });
  const bool unchanged = numbers.to_host() == input;
  timed("the graph, first launch", [&] { graph->launch(stream); });
  count_wrong_numbers();

  new_input();  // the graph has the address of the numbers, not the numbers
  timed("the graph, second launch", [&] { graph->launch(stream); });
  count_wrong_numbers();

  cookbook::Checks checks;
  checks.equal("wrong numbers after the four runs", wrong, 0);
  checks.equal("kernels in the graph", graph->operations(), static_cast<std::size_t>(kernels));
  checks.that("the recording has changed no number", unchanged);
  return checks.exit_code();
}
