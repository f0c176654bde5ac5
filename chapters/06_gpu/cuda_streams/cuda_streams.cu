// Streams
//
// Copies numbers to the device, computes with them there, and copies the results back. In one stream these three run
// one after the other. Cut into chunks on several streams, one chunk is copied while another is computed. The program
// draws when each part has run (i copy in, k kernel, o copy out), to the same scale, and prints how long all took.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon -Ichapters/06_gpu chapters/06_gpu/cuda_streams/cuda_streams.cu common/cookbook/*.cpp -lfmt -o cuda_streams
// Run:     cuda_streams [--count N] [--chunks N] [--steps N]

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/cuda.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "overlap.cuh"
#include "stream.hpp"

namespace {

/// Keeps a stream busy for about 50 ms, so that the host has queued everything before the device begins with it.
__global__ void hold() {
  const long long start = clock64();
  while (clock64() - start < 100'000'000) {
  }
}

float milliseconds(cudaEvent_t from, cudaEvent_t to) {
  float time = 0;
  CUDA_CHECK(cudaEventElapsedTime(&time, from, to));
  return time;
}

/// Draws when each part of each chunk has run, 60 columns for `scale` milliseconds, and prints what the parts of all
/// chunks add up to. Returns the milliseconds from the start of the first to the end of the last.
float draw_time_line(const std::string& title, const std::vector<cudaEvent_t>& marks, int chunks, float scale) {
  const cudaEvent_t start = marks[4 * chunks];
  float total = 0, sums[3] = {}, unit_free[3] = {};
  for (int chunk = 0; chunk < chunks; ++chunk) total = std::max(total, milliseconds(start, marks[4 * chunk + 3]));
  if (scale == 0) scale = total;
  std::vector<std::string> lines;
  for (int chunk = 0; chunk < chunks; ++chunk) {
    std::string line(60, '.');
    for (int part = 0; part < 3; ++part) {
      // A copy whose stream is ready may still have to wait for the unit that copies: it takes one chunk after another.
      float from = milliseconds(start, marks[4 * chunk + part]);
      if (part != 1) from = std::max(from, unit_free[part]);
      const float to = unit_free[part] = std::max(from, milliseconds(start, marks[4 * chunk + part + 1]));
      sums[part] += to - from;
      const auto column = [&](float time) { return std::clamp(static_cast<int>(60 * time / scale), 0, 60); };
      std::fill(line.begin() + column(from), line.begin() + column(to), "iko"[part]);
    }
    lines.push_back(line);
  }
  cookbook::println("{}: {:.2f} ms (in {:.2f} ms, kernels {:.2f} ms, out {:.2f} ms)", title, total, sums[0], sums[1],
                    sums[2]);
  for (int chunk = 0; chunk < chunks; ++chunk) cookbook::println("  chunk {} {}", chunk + 1, lines[chunk]);
  return total;
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t count = 1 << 24;
  int chunks = 4, steps = 1000;
  cookbook::Options options("Overlap copies and kernels with streams");
  options.add("count", count, "numbers to compute with", 1000, 1 << 28);
  options.add("chunks", chunks, "chunks, each on a stream of its own", 1, 32);
  options.add("steps", steps, "steps that the kernel takes with each number", 0, 1'000'000);
  options.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;

  PinnedArray<std::uint32_t> in(count), out(count);
  gpu::DeviceArray<std::uint32_t> device(count);
  const Buffers buffers{in.begin(), device.data(), out.begin(), count};
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
    std::fill(out.begin(), out.end(), 0);
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
    host_was_ahead &= cudaStreamQuery(streams[0]) == cudaErrorNotReady;
    cudaGetLastError();  // "not ready" is an answer, not an error: forget it
  };                     // the destructors of the streams wait

  run(1);
  const float total = draw_time_line("one stream", marks, chunks, 0);
  checks.equal("wrong results with one stream", wrong_results(), 0);
  run(chunks);
  draw_time_line("one stream per chunk", marks, chunks, total);
  checks.equal("wrong results with one stream per chunk", wrong_results(), 0);
  checks.that("the host had queued all of it before the device was done", host_was_ahead);

  for (const cudaEvent_t mark : marks) CUDA_CHECK(cudaEventDestroy(mark));
  return checks.exit_code();
}
