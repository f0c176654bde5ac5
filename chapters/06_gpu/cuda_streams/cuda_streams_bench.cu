// Streams, measured
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon -Ichapters/06_gpu chapters/06_gpu/cuda_streams/cuda_streams_bench.cu common/cookbook/*.cpp -lfmt -o cuda_streams_bench
// Run:     cuda_streams_bench [--count N] [--chunks N] [--steps N] [--rounds N]

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/cuda.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "overlap.cuh"
#include "stream.hpp"

int main(int argc, char** argv) {
  std::size_t count = 1 << 26;
  int chunks = 32, stream_count = 4, steps = 3500, rounds = 21;
  cookbook::Options options("Measure copies and kernels on streams");
  options.add("count", count, "numbers to compute with", 1000, 1 << 28);
  options.add("chunks", chunks, "chunks", 1, 256);
  options.add("streams", stream_count, "streams among which the chunks are dealt out", 1, 32);
  options.add("steps", steps, "steps that the kernel takes with each number", 0, 100'000);
  options.add("rounds", rounds, "measurements of each row", 1, 1001);
  options.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;
  stream_count = std::min(stream_count, chunks);

  PinnedArray<std::uint32_t> in(count), out(count);
  gpu::DeviceArray<std::uint32_t> device(count), other(count);
  const Buffers buffers{in.begin(), device.data(), out.begin(), count};
  const std::size_t bytes = count * sizeof(std::uint32_t);
  std::vector<cudaEvent_t> marks(4 * chunks + 1);
  for (cudaEvent_t& mark : marks) CUDA_CHECK(cudaEventCreateWithFlags(&mark, cudaEventDisableTiming));
  std::mt19937 random;
  std::generate(in.begin(), in.end(), random);
  std::vector<Stream> streams(std::max(2, stream_count));
  const std::vector<cudaStream_t> one{streams[0]}, many(streams.begin(), streams.begin() + stream_count);

  gpu::RecordedWork recorded(streams[0], [&] { queue_chunks(many, buffers, chunks, steps, marks); });

  const auto copy_in = [&](cudaStream_t stream, std::uint32_t* to) {
    CUDA_CHECK(cudaMemcpyAsync(to, in.begin(), bytes, cudaMemcpyHostToDevice, stream));
  };
  const auto copy_out = [&](cudaStream_t stream) {
    CUDA_CHECK(cudaMemcpyAsync(out.begin(), device.data(), bytes, cudaMemcpyDeviceToHost, stream));
  };
  const auto both_ways = [&] {
    CUDA_CHECK(cudaEventRecord(marks[0], streams[0]));
    CUDA_CHECK(cudaStreamWaitEvent(streams[1], marks[0]));
    copy_in(streams[0], other.data());
    copy_out(streams[1]);
    CUDA_CHECK(cudaEventRecord(marks[1], streams[1]));
    CUDA_CHECK(cudaStreamWaitEvent(streams[0], marks[1]));
  };
  const auto compute = [&] {
    advance<<<static_cast<unsigned>((count + 255) / 256), 256, 0, streams[0]>>>(device.data(), count, steps);
    CUDA_CHECK(cudaGetLastError());
  };
  const auto whole = [&] { queue_chunks(one, buffers, 1, steps, marks); };
  const auto overlapped = [&] { queue_chunks(many, buffers, chunks, steps, marks); };
  const auto by_graph = [&] { recorded.launch(streams[0]); };

  std::uint32_t a = 1, c = 0;
  for (int step = 0; step < steps; ++step) a *= 1664525, c = c * 1664525 + 1013904223;
  cookbook::Checks checks;
  const auto check = [&](const std::string& what, auto work) {
    std::fill(out.begin(), out.end(), 0);
    device.poison();
    CUDA_CHECK(cudaDeviceSynchronize());
    work();
    streams[0].synchronize();
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < count; ++i) wrong += out.begin()[i] != in.begin()[i] * a + c;
    checks.equal(what + ", wrong results", wrong, 0);
  };
  check("one stream", whole);
  check("several streams", overlapped);
  check("graph", by_graph);

  gpu::EventTimer timer;
  const auto timed = [&](const std::string& name, auto work) {
    return cookbook::Benchmark(name, 1, [&timer, &streams, work] {
      timer.start(streams[0]);
      work();
      return timer.stop(streams[0]);
    });
  };
  const std::vector<cookbook::Benchmark> rows = {
      timed("copy in alone", [&] { copy_in(streams[0], device.data()); }),
      timed("copy out alone", [&] { copy_out(streams[0]); }),
      timed("copies both ways at once", both_ways),
      timed("kernel alone", compute),
      timed("one stream", whole),
      timed(fmt::format("{} chunks on {} streams", chunks, stream_count), overlapped),
      timed("the same as a graph", by_graph)};
  const std::vector<cookbook::Timing> timings = cookbook::run_interleaved(rows, rounds);
  const auto longest = std::max_element(timings.begin(), timings.begin() + 4,
                                        [](const auto& left, const auto& right) { return left.median < right.median; });

  cookbook::Figures figures(fmt::format("{} numbers, {} steps each", count, steps), cookbook::cost("ms", 1e-3),
                            gpu::device());
  for (std::size_t i = 0; i < rows.size(); ++i) figures.add(rows[i].name, timings[i], rows[i].items_per_run);
  figures.percent_of(rows[longest - timings.begin()].name, "longest part");
  figures.speedup_over("one stream");
  figures.print(checks);

  for (const cudaEvent_t mark : marks) CUDA_CHECK(cudaEventDestroy(mark));
  return checks.exit_code();
}
