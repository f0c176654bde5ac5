// Memory pool
//
// Each step of a job needs an array on the device for a moment. The program does the same steps with one array that it
// keeps, with cudaMalloc and cudaFree, and with cudaMallocAsync and cudaFreeAsync, which take the array from a pool and
// give it back in the order of a stream. Each way runs twice: once the host queues all steps and then waits, once it
// waits after each step. The program prints what a step takes, and how much memory the pool has after each way.
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
  explicit Job(int size) : count(size), in(size), sum(size), kept(size) {}

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
  unsigned* squares = nullptr;
  CUDA_CHECK(cudaMalloc(&squares, job.count * sizeof(unsigned)));
  job.queue_step(squares);
  CUDA_CHECK(cudaFree(squares));
}

void with_pool(Job& job) {
  unsigned* squares = nullptr;
  CUDA_CHECK(cudaMallocAsync(&squares, job.count * sizeof(unsigned), job.stream));
  job.queue_step(squares);
  CUDA_CHECK(cudaFreeAsync(squares, job.stream));
}

/// The shortest of five times for `steps` steps, in microseconds per step. Adds to `wrong` in how many of the five the
/// sum was wrong.
double microseconds(Job& job, int steps, bool waits, void (*step)(Job&), int& wrong) {
  std::vector<unsigned> expected = job.in.to_host();
  for (unsigned& number : expected) number *= number * steps;  // steps times the square, modulo 2^32
  double best = 1e9;
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
  return best * 1e6;
}

/// Prints a row of the table. Returns in how many of the ten times the sum was wrong.
int run(const char* way, Job& job, int steps, void (*step)(Job&)) {
  int wrong = 0;
  const double at_once = microseconds(job, steps, false, step, wrong);
  const double one_by_one = microseconds(job, steps, true, step, wrong);
  cookbook::println("{:<40}{:12.2f} us{:20.2f} us{:10} MiB", way, at_once, one_by_one, reserved_by_pool() >> 20);
  return wrong;
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
  for (int i = 0; i < count; ++i) numbers[i] = 2654435761U * i;  // any numbers
  job.in = gpu::DeviceArray<unsigned>(numbers);

  cookbook::println("{:<40}{:>15}{:>23}{:>14}", "the host waits", "after all steps", "after each step", "in the pool");
  int wrong = run("one array, kept for all steps", job, steps, with_one_array);
  wrong += run("cudaMalloc, cudaFree", job, steps, with_malloc);
  wrong += run("cudaMallocAsync, cudaFreeAsync", job, steps, with_pool);
  keep_in_pool(UINT64_MAX);
  wrong += run("the same, and the pool keeps its memory", job, steps, with_pool);

  cookbook::Checks checks;
  checks.equal("times with a wrong sum", wrong, 0);
  return checks.exit_code();
}
