// Memory pool, measured
//
// What each call costs the host when the device has nothing else to do. A run makes every call of its row's way 100
// times, and adds up the times of one of them.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon -Ichapters/06_gpu chapters/06_gpu/cuda_memory_pool/cuda_memory_pool_bench.cu common/cookbook/*.cpp -lfmt -o cuda_memory_pool_bench
// Run:     cuda_memory_pool_bench [--bytes N] [--rounds N]

#include <cstdint>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/options.hpp"
#include "pool.hpp"
#include "stream.hpp"

namespace {

constexpr int calls = 100;

enum Call { allocate, release, wait };

/// What the calls of each kind have taken together.
struct Times {
  double seconds[3] = {};

  template <typename Step>
  void take(Call call, Step step) {
    const cookbook::Stopwatch watch;
    step();
    seconds[call] += watch.seconds();
  }
};

Times by_malloc(std::size_t bytes, cudaStream_t) {
  Times times;
  for (int i = 0; i < calls; ++i) {
    void* block = nullptr;
    times.take(allocate, [&] { CUDA_CHECK(cudaMalloc(&block, bytes)); });
    times.take(release, [&] { CUDA_CHECK(cudaFree(block)); });
  }
  return times;
}

Times by_pool(std::size_t bytes, cudaStream_t stream, bool waits) {
  Times times;
  for (int i = 0; i < calls; ++i) {
    void* block = nullptr;
    times.take(allocate, [&] { CUDA_CHECK(cudaMallocAsync(&block, bytes, stream)); });
    times.take(release, [&] { CUDA_CHECK(cudaFreeAsync(block, stream)); });
    if (waits) times.take(wait, [&] { CUDA_CHECK(cudaStreamSynchronize(stream)); });
  }
  CUDA_CHECK(cudaStreamSynchronize(stream));
  return times;
}

/// Whether a block of the pool holds what is written to it.
bool holds(std::size_t bytes, cudaStream_t stream) {
  char* block = nullptr;
  CUDA_CHECK(cudaMallocAsync(&block, bytes, stream));
  CUDA_CHECK(cudaMemsetAsync(block, 77, bytes, stream));
  std::vector<char> seen(bytes);
  CUDA_CHECK(cudaMemcpyAsync(seen.data(), block, bytes, cudaMemcpyDeviceToHost, stream));
  CUDA_CHECK(cudaFreeAsync(block, stream));
  CUDA_CHECK(cudaStreamSynchronize(stream));
  return seen == std::vector<char>(bytes, 77);
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t bytes = 4 << 20;
  int rounds = 15;
  cookbook::Options options("What allocating and freeing costs the host");
  options.add("bytes", bytes, "size of each block", 1, std::size_t{1} << 30);
  options.add("rounds", rounds, "measured runs of each way", 1, 1'000);
  options.parse(argc, argv);
  if (!gpu::device_found() || !pools_supported()) return gpu::skipped;

  Stream stream;
  cookbook::Checks checks;
  checks.that("a block of the pool holds what was written", holds(bytes, stream));
  const auto row = [&](const std::string& name, std::uint64_t threshold, Call call, auto way) {
    return cookbook::Benchmark(name, calls, [&, threshold, call, way] {
      keep_in_pool(threshold);
      CUDA_CHECK(cudaDeviceSynchronize());
      way();  // so that a pool that keeps its memory has it
      return way().seconds[call];
    });
  };
  const auto with_malloc = [&] { return by_malloc(bytes, stream); };
  const auto with_pool = [&] { return by_pool(bytes, stream, false); };
  const auto with_waits = [&] { return by_pool(bytes, stream, true); };
  cookbook::Figures figures(fmt::format("blocks of {} bytes, per call", bytes), cookbook::cost("us", 1e-6),
                            fmt::format("{}; {}", gpu::device(), cookbook::machine()));
  figures.measure(
      {row("no wait, cudaMalloc", 0, allocate, with_malloc), row("no wait, cudaFree", 0, release, with_malloc),
       row("no wait, cudaMallocAsync", 0, allocate, with_pool), row("no wait, cudaFreeAsync", 0, release, with_pool),
       row("a wait after each, cudaMallocAsync", 0, allocate, with_waits),
       row("a wait, cudaFreeAsync", 0, release, with_waits),
       row("a wait after each, cudaStreamSynchronize", 0, wait, with_waits),
       row("a wait after each; the pool keeps, cudaMallocAsync", UINT64_MAX, allocate, with_waits),
       row("a wait after each; the pool keeps, cudaFreeAsync", UINT64_MAX, release, with_waits),
       row("a wait after each; the pool keeps, cudaStreamSynchronize", UINT64_MAX, wait, with_waits)},
      rounds);
  figures.print(checks);
  return checks.exit_code();
}
