// Memory pool
//
// Each step of a job needs an array on the device for a moment. The program does the same steps with one array that it
// keeps, with cudaMalloc and cudaFree, and with cudaMallocAsync and cudaFreeAsync, which take the array from a pool and
// give it back in the order of a stream. It prints what a step takes, and how much memory the pool has after the last
// wait. At the end it shows which of two streams gets the memory of a block that was freed in one of them.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon -Ichapters/06_gpu chapters/06_gpu/cuda_memory_pool/cuda_memory_pool.cu common/cookbook/*.cpp -lfmt -o cuda_memory_pool
// Run:     cuda_memory_pool [--count N] [--steps N]

#include <algorithm>
#include <cstdint>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "pool.hpp"
#include "stream.hpp"

namespace {

__global__ void square(const unsigned* in, unsigned* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = in[i] * in[i];
}

__global__ void add(const unsigned* in, unsigned* sum, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) sum[i] += in[i];
}

struct Job {
  explicit Job(int count_) : count(count_), in(count_), sum(count_), kept(count_) {}

  /// sum += in * in, with an array of `count` numbers for the squares.
  void queue_step(unsigned* squares) {
    const unsigned blocks = (count + 255) / 256;
    square<<<blocks, 256, 0, stream>>>(in.data(), squares, count);
    CUDA_CHECK(cudaGetLastError());
    add<<<blocks, 256, 0, stream>>>(squares, sum.data(), count);
    CUDA_CHECK(cudaGetLastError());
  }

  int count;
  gpu::DeviceArray<unsigned> in, sum, kept;
  Stream stream;
};

void with_one_array(Job& job) { job.queue_step(job.kept.data()); }

void with_malloc(Job& job) {
  unsigned* squares;
  CUDA_CHECK(cudaMalloc(&squares, job.count * sizeof(unsigned)));
  job.queue_step(squares);
  CUDA_CHECK(cudaFree(squares));
}

void with_pool(Job& job) {
  unsigned* squares;
  CUDA_CHECK(cudaMallocAsync(&squares, job.count * sizeof(unsigned), job.stream));
  job.queue_step(squares);
  CUDA_CHECK(cudaFreeAsync(squares, job.stream));
}

/// The fastest of five times for `steps` steps, printed per step. Returns in how many of the five the sum was wrong.
int run(const char* way, Job& job, int steps, bool waits, void (*step)(Job&)) {
  std::vector<unsigned> expected = job.in.to_host();
  for (unsigned& number : expected) number *= number * steps;
  double best = 1e9;
  int wrong = 0;
  for (int repeat = 0; repeat < 5; ++repeat) {
    job.sum.zero();
    CUDA_CHECK(cudaDeviceSynchronize());
    const cookbook::Stopwatch watch;
    for (int i = 0; i < steps; ++i) {
      step(job);
      if (waits) CUDA_CHECK(cudaStreamSynchronize(job.stream));
    }
    CUDA_CHECK(cudaStreamSynchronize(job.stream));
    best = std::min(best, watch.seconds() / steps);
    wrong += job.sum.to_host() != expected;
  }
  cookbook::println("{:<54}{:8.2f} us  {:4} MiB", way, best * 1e6, reserved_by_pool() >> 20);
  return wrong;
}

/// Which memory does a stream get, when a block of the same size was freed in `first`, whose kernel still runs?
bool show_reuse() {
  constexpr std::size_t bytes = 64 << 20;
  Stream first, second;
  char *freed, *same, *other, *after;
  CUDA_CHECK(cudaMallocAsync(&freed, bytes, first));
  spin<<<1, 1, 0, first>>>(50'000'000);
  CUDA_CHECK(cudaGetLastError());
  CUDA_CHECK(cudaFreeAsync(freed, first));

  CUDA_CHECK(cudaMallocAsync(&same, bytes, first));
  CUDA_CHECK(cudaFreeAsync(same, first));
  CUDA_CHECK(cudaMallocAsync(&other, bytes, second));
  Event freed_in_first;
  CUDA_CHECK(cudaEventRecord(freed_in_first, first));
  CUDA_CHECK(cudaStreamWaitEvent(second, freed_in_first));
  CUDA_CHECK(cudaMallocAsync(&after, bytes, second));

  const auto text = [&](const char* block) { return block == freed ? "the same memory" : "other memory"; };
  cookbook::println("a block is freed while a kernel before it still runs; the next allocation gets");
  cookbook::println("  in the same stream:                          {}", text(same));
  cookbook::println("  in a second stream:                          {}", text(other));
  cookbook::println("  in the second, which now waits for the first: {}", text(after));
  CUDA_CHECK(cudaFreeAsync(other, second));
  CUDA_CHECK(cudaFreeAsync(after, second));
  return same == freed;
}

}  // namespace

int main(int argc, char** argv) {
  int count = 1 << 20, steps = 100;
  cookbook::Options options("Allocate memory of the device in a stream's order");
  options.add("count", count, "numbers in the array that a step needs", 1, 1 << 26);
  options.add("steps", steps, "steps of the job", 1, 10'000);
  options.parse(argc, argv);
  if (!gpu::device_found() || !pools_supported()) return gpu::skipped;

  Job job(count);
  std::vector<unsigned> numbers(count);
  for (int i = 0; i < count; ++i) numbers[i] = 2654435761U * i;
  job.in = gpu::DeviceArray<unsigned>(numbers);

  cookbook::println("{:<54}{:>11}  {:>8}", "", "per step", "in pool");
  int wrong = run("one array, kept", job, steps, false, with_one_array);
  wrong += run("cudaMalloc, cudaFree, which waits", job, steps, false, with_malloc);
  wrong += run("cudaMallocAsync, cudaFreeAsync", job, steps, false, with_pool);
  wrong += run("  the host waits after each step", job, steps, true, with_pool);
  keep_in_pool(UINT64_MAX);
  wrong += run("  the host waits, and the pool keeps its memory", job, steps, true, with_pool);
  wrong += run("one array, kept; the host waits after each step", job, steps, true, with_one_array);

  cookbook::Checks checks;
  checks.equal("times with a wrong sum", wrong, 0);
  checks.that("a block is used again within its stream", show_reuse());
  return checks.exit_code();
}
