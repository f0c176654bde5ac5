// Histogram
//
// Counts how often each of the 256 values of a byte occurs. Many threads may meet the same value at the same time, so
// they count by atomic additions. The program compares where the counters are: in the device's memory, one set for all
// threads; in shared memory, one set per block; there again, 32 sets per block. Each way counts random bytes, and bytes
// that are all equal. For shared memory the program also works out how many turns an addition of 32 threads takes, and
// how many bytes per second can then be counted at most.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon chapters/06_gpu/cuda_histogram/cuda_histogram.cu common/cookbook/*.cpp -lfmt -o cuda_histogram
// Run:     cuda_histogram [--count N]

#include <algorithm>
#include <array>
#include <cub/device/device_histogram.cuh>
#include <set>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "histogram.cuh"

namespace {

__global__ void fill(Sample* samples, std::size_t count, bool random) {
  const std::size_t i = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) samples[i] = random ? static_cast<Sample>((gpu::random_number(1, i) + 1) * 128) : 77;
}

/// Samples on the device and on the host, and how often each value occurs, counted by the processor.
struct Data {
  Data(std::size_t count, bool random) : samples(count), expected(bins) {
    fill<<<static_cast<unsigned>((count + 255) / 256), 256>>>(samples.data(), count, random);
    CUDA_CHECK(cudaGetLastError());
    on_host = samples.to_host();
    for (const Sample sample : on_host) ++expected[sample];
  }

  gpu::DeviceArray<Sample> samples;
  std::vector<Sample> on_host;
  std::vector<unsigned> expected;
  double read_per_second = 0;  // bytes, when nothing is counted
};

/// How many turns the 32 banks of shared memory need for one addition by a warp, on average over the first additions
/// of count_in_shared<sets>. The counters in a bank take one turn each, however many threads add to the same one.
double turns(const std::vector<Sample>& samples, int sets) {
  constexpr std::size_t per_thread = 16;  // samples of a load
  const std::size_t warps = std::min<std::size_t>(samples.size() / (32 * per_thread), 2'000);
  std::size_t all = 0;
  for (std::size_t addition = 0; addition < warps * per_thread; ++addition) {
    const Sample* first = &samples[addition / per_thread * 32 * per_thread + addition % per_thread];
    std::array<std::set<int>, 32> banks;
    for (int thread = 0; thread < 32; ++thread) {
      const int counter = first[thread * per_thread] * sets + thread % sets;
      banks[counter % 32].insert(counter);
    }
    all += std::ranges::max(banks, {}, &std::set<int>::size).size();
  }
  return static_cast<double>(all) / static_cast<double>(warps * per_thread);
}

/// How many bytes per second can be counted in shared memory at most, if each addition by a warp, which counts 32
/// bytes, takes one turn, and a turn one cycle of the multiprocessor's highest clock.
double limit_with_one_turn() { return 32 * gpu::multiprocessors() * gpu::highest_clock(); }

std::string gigabytes(double per_second) { return fmt::format("{:.1f} GB/s", per_second * 1e-9); }

/// The fastest of ten runs in seconds, or -1 if a count is not as expected. The counts are 0 when `work` starts.
template <typename Work>
double fastest_of_ten(const Data& data, const std::vector<unsigned>& expected, Work work) {
  gpu::DeviceArray<unsigned> counts(bins);
  gpu::EventTimer timer;
  double seconds = 1e9;
  for (int run = 0; run < 10; ++run) {
    counts.zero();
    timer.start();
    work(data.samples, counts.data());
    seconds = std::min(seconds, timer.stop());
    if (counts.to_host() != expected) return -1;
  }
  return seconds;
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t count = std::size_t{1} << 28;
  cookbook::Options options("Count how often each byte occurs, on a GPU");
  options.add("count", count, "bytes to count", 1, std::size_t{1} << 30);
  options.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;

  Data uniform(count, true), equal(count, false);
  const double one_turn = limit_with_one_turn();
  int right = 0;
  /// One row; `sets` is how many there are in shared memory, or 0 if there are none.
  const auto show = [&](const char* what, const auto& work, int sets = 0, bool counts = true) {
    std::string row = fmt::format("{:<25}", what);
    for (Data* data : {&uniform, &equal}) {
      const double seconds = fastest_of_ten(*data, counts ? data->expected : std::vector<unsigned>(bins), work);
      if (!counts) data->read_per_second = count / seconds;
      if (sets > 0 && count >= 512) {
        const double taken = turns(data->on_host, sets);
        row += fmt::format("{:8.2f}{:>14}", taken, gigabytes(std::min(data->read_per_second, one_turn / taken)));
      } else {
        row += std::string(22, ' ');
      }
      row += fmt::format("{:>14}", seconds < 0 ? "wrong" : gigabytes(count / seconds));
      right += seconds >= 0;
    }
    cookbook::println("{}", row);
  };
  const auto by = [](auto kernel) {  // as many blocks as the device runs at once
    return [kernel, blocks = gpu::resident_blocks(kernel, threads)](const auto& samples, unsigned* counts) {
      kernel<<<blocks, threads>>>(samples.data(), samples.size(), counts);
      CUDA_CHECK(cudaGetLastError());
    };
  };

  const std::string columns = fmt::format("{:>8}{:>14}{:>14}", "turns", "at most", "measured");
  cookbook::println("{:<25}{:>36}{:>36}", "", "random bytes", "all bytes equal");
  cookbook::println("{:<25}{}{}", "counters", columns, columns);
  show("none, only reading", by(only_read), 0, false);
  show("in the device's memory", by(count_in_global));
  show("in shared memory", by(count_in_shared<1>), 1);
  show("in shared memory, 32 sets", by(count_in_shared<32>), 32);

  std::size_t scratch_bytes = 0;
  CUDA_CHECK(cub::DeviceHistogram::HistogramEven(nullptr, scratch_bytes, uniform.samples.data(),
                                                 static_cast<unsigned*>(nullptr), bins + 1, 0, bins,
                                                 static_cast<int>(count)));
  gpu::DeviceArray<char> scratch(scratch_bytes);
  show("cub::DeviceHistogram", [&](const auto& samples, unsigned* counts) {
    CUDA_CHECK(cub::DeviceHistogram::HistogramEven(scratch.data(), scratch_bytes, samples.data(), counts, bins + 1, 0,
                                                   bins, static_cast<int>(count)));
  });

  cookbook::Checks checks;
  checks.equal("measurements with the right counts", right, 10);
  return checks.exit_code();
}
