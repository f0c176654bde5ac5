// CUDA graph, measured
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon chapters/06_gpu/cuda_graph/cuda_graph_bench.cu common/cookbook/*.cpp -lfmt -o cuda_graph_bench
// Run:     cuda_graph_bench [--count N] [--kernels N] [--rounds N]

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/cuda.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "graph.hpp"
#include "steps.cuh"

namespace {

/// Keeps a stream busy for about 20 ms, so that the host has queued everything before the device begins with it.
__global__ void hold() {
  const long long start = clock64();
  while (clock64() - start < 40'000'000) {
  }
}

__global__ void nothing() {}

/// All steps in one kernel: what the same arithmetic costs with one launch, and one load and store per number.
__global__ void take_all_steps(std::uint32_t* numbers, int count, int kernels) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  std::uint32_t number = numbers[i];
  for (int step = 1; step <= kernels; ++step) number = number * 1664525 + step;
  numbers[i] = number;
}

}  // namespace

int main(int argc, char** argv) {
  int count = 4096, kernels = 500, rounds = 51;
  cookbook::Options options("Measure launches one by one and as a graph");
  options.add("count", count, "numbers that each kernel works on", 1, 1 << 24);
  options.add("kernels", kernels, "kernels, one after another; more do not fit into the queue", 1, 900);
  options.add("rounds", rounds, "measurements of each row", 1, 1001);
  options.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;

  cudaStream_t stream;
  CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  std::mt19937 random;
  std::vector<std::uint32_t> input(count);
  for (std::uint32_t& number : input) number = static_cast<std::uint32_t>(random());
  gpu::DeviceArray<std::uint32_t> numbers(count);

  const auto one_by_one = [&] { queue_steps(stream, numbers.data(), count, kernels); };
  Graph graph(stream, one_by_one);
  const auto by_graph = [&] { graph.launch(stream); };
  Graph empty(stream, [&] {
    for (int i = 0; i < kernels; ++i) {
      nothing<<<(count + 255) / 256, 256, 0, stream>>>();
      CUDA_CHECK(cudaGetLastError());
    }
  });
  const auto by_empty_graph = [&] { empty.launch(stream); };
  const auto in_one_kernel = [&] {
    take_all_steps<<<(count + 255) / 256, 256, 0, stream>>>(numbers.data(), count, kernels);
    CUDA_CHECK(cudaGetLastError());
  };

  cookbook::Checks checks;
  const AllSteps all_steps(kernels);
  const auto check = [&](const std::string& what, auto queue) {
    CUDA_CHECK(cudaMemcpyAsync(numbers.data(), input.data(), count * sizeof(input[0]), cudaMemcpyDefault, stream));
    queue();
    CUDA_CHECK(cudaStreamSynchronize(stream));
    const std::vector<std::uint32_t> result = numbers.to_host();
    int wrong = 0;
    for (int i = 0; i < count; ++i) wrong += result[i] != all_steps.of(input[i]);
    checks.equal(what + ", wrong numbers", wrong, 0);
  };
  check("one by one", one_by_one);
  check("as a graph", by_graph);
  check("in one kernel", in_one_kernel);

  gpu::EventTimer timer;
  const auto on_device = [&](const std::string& name, auto queue) {
    return cookbook::Benchmark(name, kernels, [&timer, stream, queue] {
      timer.start(stream);
      queue();
      return timer.stop(stream);
    });
  };
  const auto on_host = [&](const std::string& name, auto queue) {
    return cookbook::Benchmark(name, kernels, [stream, queue] {
      const cookbook::Stopwatch watch;
      queue();
      const double seconds = watch.seconds();
      CUDA_CHECK(cudaStreamSynchronize(stream));
      return seconds;
    });
  };
  const cookbook::Benchmark queued_before("one by one, queued before", kernels, [&] {
    hold<<<1, 1, 0, stream>>>();
    CUDA_CHECK(cudaGetLastError());
    timer.start(stream);
    one_by_one();
    return timer.stop(stream);
  });

  cookbook::Figures figures(fmt::format("{} kernels of {} numbers, per kernel", kernels, count),
                            cookbook::cost("us", 1e-6), fmt::format("{}; {}", gpu::device(), cookbook::machine()));
  figures.measure(
      {on_device("one by one", one_by_one), queued_before, on_device("as a graph", by_graph),
       on_device("as a graph, empty kernels", by_empty_graph), on_device("all steps in one kernel", in_one_kernel),
       on_host("the host's calls, one by one", one_by_one), on_host("the host's call of the graph", by_graph)},
      rounds);
  figures.speedup_over("one by one");
  figures.print(checks);

  // What it takes to get a graph, on the host's clock: each row makes a new one, and times one part of its life.
  enum Part { record, instantiate, upload, first_launch, first_launch_uploaded, second_launch };
  const auto part = [&](const std::string& name, Part timed) {
    return cookbook::Benchmark(name, 1, [&, timed] {
      cudaGraph_t recorded = nullptr;
      cudaGraphExec_t executable = nullptr;
      double seconds = 0;
      const auto take = [&](Part now, auto step) {
        const cookbook::Stopwatch watch;
        step();
        if (now == timed) seconds = watch.seconds();
      };
      const auto launch_and_wait = [&] {
        CUDA_CHECK(cudaGraphLaunch(executable, stream));
        CUDA_CHECK(cudaStreamSynchronize(stream));
      };
      take(record, [&] {
        CUDA_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        one_by_one();
        CUDA_CHECK(cudaStreamEndCapture(stream, &recorded));
      });
      take(instantiate, [&] { CUDA_CHECK(cudaGraphInstantiate(&executable, recorded, 0)); });
      if (timed == upload || timed == first_launch_uploaded) {
        take(upload, [&] {
          CUDA_CHECK(cudaGraphUpload(executable, stream));
          CUDA_CHECK(cudaStreamSynchronize(stream));
        });
        take(first_launch_uploaded, launch_and_wait);
      } else {
        take(first_launch, launch_and_wait);
      }
      take(second_launch, launch_and_wait);
      CUDA_CHECK(cudaGraphExecDestroy(executable));
      CUDA_CHECK(cudaGraphDestroy(recorded));
      return seconds;
    });
  };
  cookbook::Figures life(fmt::format("one graph of {} kernels, by the host's clock", kernels),
                         cookbook::cost("us", 1e-6), fmt::format("{}; {}", gpu::device(), cookbook::machine()));
  life.measure({part("record", record), part("instantiate", instantiate), part("upload", upload),
                part("first launch, after an upload", first_launch_uploaded),
                part("first launch, without one", first_launch), part("second launch", second_launch)},
               rounds);
  life.print(checks);

  CUDA_CHECK(cudaStreamDestroy(stream));
  return checks.exit_code();
}
