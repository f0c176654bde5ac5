// Streams
//
// Copies numbers to the device, computes with them there, and copies the results back. In one stream these three run
// one after the other. With a stream per chunk, one chunk is copied in while another is computed and a third is copied
// back. The program draws when each part has run (i copy in, k kernel, o copy out), and prints how long all took, and
// how long it would take if the chunks passed the three stages without hindering one another.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon -Ichapters/06_gpu chapters/06_gpu/cuda_streams/cuda_streams.cu common/cookbook/*.cpp -lfmt -o cuda_streams
// Run:     cuda_streams [--count N] [--chunks N] [--steps N]

#include <algorithm>
#include <random>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/cuda.hpp"
#include "cookbook/options.hpp"
#include "overlap.cuh"
#include "stream.hpp"
#include "time_line.hpp"

namespace {

/// Keeps a stream busy for about 50 ms (at 2 GHz), so that the host has queued everything before the device begins
/// with it.
__global__ void hold() {
  const long long start = clock64();
  while (clock64() - start < 100'000'000) {
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t count = 1 << 24;
  int chunks = 4, steps = 3500;
  cookbook::Options options("Overlap copies and kernels with streams");
  options.add("count", count, "numbers to compute with", 1000, 1 << 28);
  options.add("chunks", chunks, "chunks, each on a stream of its own", 1, 32);
  options.add("steps", steps, "steps that the kernel takes with each number", 0, 1'000'000);
  options.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;

  PinnedArray<std::uint32_t> in(count), out(count);
  gpu::DeviceArray<std::uint32_t> device(count);
  const Buffers buffers{in.data(), device.data(), out.data(), count};
  std::vector<cudaEvent_t> marks(4 * chunks + 1);
  for (cudaEvent_t& mark : marks) CUDA_CHECK(cudaEventCreate(&mark));
  std::mt19937 random;
  std::generate(in.begin(), in.end(), random);

  // All steps x -> 1664525 x + 1013904223 together are one step x -> a x + c; the loop finds a and c.
  std::uint32_t a = 1, c = 0;
  for (int step = 0; step < steps; ++step) a *= 1664525, c = c * 1664525 + 1013904223;
  const auto wrong_results = [&] {
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < count; ++i) wrong += out.begin()[i] != in.begin()[i] * a + c;
    return wrong;
  };

  advance<<<1, 1>>>(device.data(), 0, 0);  // the first launch of a kernel also loads its code
  CUDA_CHECK(cudaGetLastError());
  CUDA_CHECK(cudaDeviceSynchronize());

  cookbook::Checks checks;
  bool host_was_ahead = true;  // in both runs
  const auto run = [&](int number_of_streams) {
    std::vector<Stream> streams(number_of_streams);
    hold<<<1, 1, 0, streams[0]>>>();
    CUDA_CHECK(cudaGetLastError());
    // Each Stream converts to its handle.
    queue_chunks({streams.begin(), streams.end()}, buffers, chunks, steps, marks);
    host_was_ahead &= cudaEventQuery(marks[4 * chunks]) == cudaErrorNotReady;  // the start of all
    cudaGetLastError();  // "not ready" is an answer, not an error: forget it
  };                     // the destructors of the streams wait

  run(1);
  const TimeLine one(marks, chunks);
  const float copies_in = one.sum(0), kernels = one.sum(1), copies_out = one.sum(2);
  const float longest = std::max({copies_in, kernels, copies_out}), others = copies_in + kernels + copies_out - longest;
  cookbook::println("one stream: {:.2f} ms (copies in {:.2f} ms, kernels {:.2f} ms, copies out {:.2f} ms)", one.total(),
                    copies_in, kernels, copies_out);
  draw(one, one.total());
  checks.equal("wrong results with one stream", wrong_results(), 0);

  // Else a copy out that comes too early, or not at all, would leave the right results of the first run.
  device.poison();
  std::fill(out.begin(), out.end(), 0);
  CUDA_CHECK(cudaDeviceSynchronize());
  run(chunks);
  const TimeLine many(marks, chunks);
  cookbook::println("one stream per chunk: {:.2f} ms (calculated: {:.2f} ms + {:.2f} ms / {} = {:.2f} ms)",
                    many.total(), longest, others, chunks, longest + others / chunks);
  draw(many, one.total());
  checks.equal("wrong results with one stream per chunk", wrong_results(), 0);
  checks.that("the host had queued all of it before the device began", host_was_ahead);

  for (const cudaEvent_t mark : marks) CUDA_CHECK(cudaEventDestroy(mark));
  return checks.exit_code();
}
