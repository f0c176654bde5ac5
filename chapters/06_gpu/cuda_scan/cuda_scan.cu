// Prefix sums
//
// A prefix sum, or scan, makes out[i] = in[0] + ... + in[i]. Every result needs all values before it, and still all of
// them can be made at once. The program does it in four ways. For each it prints how many bytes per number go through
// the device's memory, how long that would take at the rate of a copy, and how long it takes.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon -Ichapters/06_gpu chapters/06_gpu/cuda_scan/cuda_scan.cu common/cookbook/*.cpp -lfmt -o cuda_scan
// Run:     cuda_scan [--count N]

#include <algorithm>
#include <bit>
#include <cub/device/device_scan.cuh>
#include <numeric>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "fastest.hpp"
#include "scan.cuh"

namespace {

using Array = gpu::DeviceArray<unsigned>;

/// One step of the simplest way: each value is added to the one `distance` places further on.
__global__ void add_at_distance(const unsigned* in, unsigned* out, std::size_t count, std::size_t distance) {
  const std::size_t i = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) out[i] = i < distance ? in[i] : in[i] + in[i - distance];
}

int steps_of_doubling(std::size_t count) { return std::max<int>(1, std::bit_width(count - 1)); }

/// Distance 1, 2, 4 ...: after each step an element is the sum of twice as many. Returns where the last step has put
/// the sums.
const Array& scan_by_doubling(const Array& in, Array& out, Array& other) {
  const Array* from = &in;
  Array* to = &out;
  for (int step = 0; step < steps_of_doubling(in.size()); ++step) {
    add_at_distance<<<(in.size() + 255) / 256, 256>>>(from->data(), to->data(), in.size(), std::size_t{1} << step);
    CUDA_CHECK(cudaGetLastError());
    from = to;
    to = from == &out ? &other : &out;
  }
  return *from;
}

void scan_in_one_launch(const Array& in, Array& out, TileMemory& memory) {
  scan<<<tiles_of(in.size()), threads>>>(in.data(), out.data(), in.size(), memory.cleared(nullptr));
  CUDA_CHECK(cudaGetLastError());
}

void scan_with_known_sums(const Array& in, Array& out, const Array& of_tiles) {
  scan<<<tiles_of(in.size()), threads>>>(in.data(), out.data(), in.size(), KnownTiles{of_tiles.data()});
  CUDA_CHECK(cudaGetLastError());
}

void scan_in_three_launches(const Array& in, Array& out, Array& of_tiles, TileMemory& memory) {
  sum_tiles<<<tiles_of(in.size()), threads>>>(in.data(), in.size(), of_tiles.data());
  CUDA_CHECK(cudaGetLastError());
  scan_in_one_launch(of_tiles, of_tiles, memory);  // there are few tiles: how this is done matters little
  scan_with_known_sums(in, out, of_tiles);
}

}  // namespace

int main(int argc, char** argv) {
  int count = 1 << 26;
  cookbook::Options options("Prefix sums on a GPU");
  options.add("count", count, "numbers in the array", 1, 1 << 28);
  options.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;

  std::vector<unsigned> numbers(count), sums(count);
  for (int i = 0; i < count; ++i) numbers[i] = (static_cast<unsigned>(i) * 2'654'435'761U) >> 16;
  std::inclusive_scan(numbers.begin(), numbers.end(), sums.begin());  // unsigned: sums are modulo 2^32

  const Array in(numbers);
  Array out(count), other(count), of_tiles(tiles_of(count));
  TileMemory memory(tiles_of(count));
  std::size_t scratch_bytes = 0;
  CUDA_CHECK(cub::DeviceScan::InclusiveSum(nullptr, scratch_bytes, in.data(), out.data(), count));
  gpu::DeviceArray<char> scratch(scratch_bytes);

  cookbook::println("{:<36}{:>16}{:>22}{:>14}", fmt::format("{} numbers", count), "bytes per number",
                    "at the copy's rate", "measured");
  const double copy_us = fastest_alone([&] {
                           copy<<<tiles_of(count), threads>>>(in.data(), out.data(), count);
                           CUDA_CHECK(cudaGetLastError());
                         }) *
                         1e6;
  cookbook::println("{:<36}{:16}{:22}{:11.1f} us", "copy, for comparison", 8, "", copy_us);
  int right = out.to_host() == numbers;

  /// The fastest of ten runs of `work`, by which so many bytes per number are loaded and stored at least.
  const Array* result = &out;
  const auto show = [&](const std::string& what, int bytes, auto work) {
    out.poison();
    other.poison();
    const double us = fastest_alone(work) * 1e6;
    cookbook::println("{:<36}{:16}{:19.1f} us{:11.1f} us", what, bytes, copy_us * bytes / 8, us);
    right += result->to_host() == sums;
  };
  const int steps = steps_of_doubling(count);
  show(fmt::format("sums by doubling, {} launches", steps), 8 * steps,
       [&] { result = &scan_by_doubling(in, out, other); });
  result = &out;
  show("sums in three launches", 12, [&] { scan_in_three_launches(in, out, of_tiles, memory); });
  show("sums, those before are known", 8, [&] { scan_with_known_sums(in, out, of_tiles); });
  show("sums in one launch", 8, [&] { scan_in_one_launch(in, out, memory); });
  show("sums by cub::DeviceScan", 8,
       [&] { CUDA_CHECK(cub::DeviceScan::InclusiveSum(scratch.data(), scratch_bytes, in.data(), out.data(), count)); });

  cookbook::Checks checks;
  checks.equal("rows with the right numbers", right, 6);
  return checks.exit_code();
}
