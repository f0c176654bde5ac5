// Prefix sums and compaction
//
// A prefix sum, or scan, makes out[i] = in[0] + ... + in[i]. Every result needs all values before it, and still all of
// them can be made at once. The program does it in four ways, prints how many bytes per second each handles, beside a
// copy, and checks every element. Then it uses the same means to put the odd numbers of an array side by side.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon -Ichapters/06_gpu chapters/06_gpu/cuda_scan/cuda_scan.cu common/cookbook/*.cpp -lfmt -o cuda_scan
// Run:     cuda_scan [--count N]

#include <algorithm>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>
#include <iterator>
#include <numeric>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "fastest.hpp"
#include "scan.cuh"

namespace {

/// One step of the simplest way: each value is added to the one `distance` places further on.
__global__ void add_at_distance(const unsigned* in, unsigned* out, std::size_t count, std::size_t distance) {
  const std::size_t i = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) out[i] = i < distance ? in[i] : in[i] + in[i - distance];
}

using Array = gpu::DeviceArray<unsigned>;

/// Distance 1, 2, 4 ...: after each step an element is the sum of twice as many. Returns where the last step has put
/// the sums.
const Array& scan_by_doubling(const Array& in, Array& out, Array& other) {
  const Array* from = &in;
  Array* to = &out;
  for (std::size_t distance = 1; distance < in.size() || from == &in; distance *= 2) {
    add_at_distance<<<(in.size() + 255) / 256, 256>>>(from->data(), to->data(), in.size(), distance);
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

void scan_in_three_launches(const Array& in, Array& out, Array& of_tile, TileMemory& memory) {
  sum_tiles<<<tiles_of(in.size()), threads>>>(in.data(), in.size(), of_tile.data());
  CUDA_CHECK(cudaGetLastError());
  scan_in_one_launch(of_tile, of_tile, memory);  // there are few tiles: how this is done matters little
  scan<<<tiles_of(in.size()), threads>>>(in.data(), out.data(), in.size(), KnownTiles{of_tile.data()});
  CUDA_CHECK(cudaGetLastError());
}

/// Runs the work ten times and prints the rate of the fastest run, for so many bytes read and written.
template <typename Work>
void show(const char* what, std::size_t bytes, Work work) {
  const double seconds = fastest_alone(work);
  cookbook::println("{:<40}{:6.0f} GB/s", what, static_cast<double>(bytes) / seconds * 1e-9);
}

}  // namespace

int main(int argc, char** argv) {
  int count = 1 << 26;
  cookbook::Options options("Prefix sums and compaction on a GPU");
  options.add("count", count, "numbers in the array", 1, 1 << 28);
  options.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;

  std::vector<unsigned> numbers(count), sums(count), odd_numbers;
  for (int i = 0; i < count; ++i) numbers[i] = (static_cast<unsigned>(i) * 2'654'435'761U) >> 16;
  std::inclusive_scan(numbers.begin(), numbers.end(), sums.begin());  // unsigned: sums are modulo 2^32
  std::copy_if(numbers.begin(), numbers.end(), std::back_inserter(odd_numbers), IsOdd{});

  const Array in(numbers);
  Array out(count), other(count), of_tile(tiles_of(count)), kept(1);
  TileMemory memory(tiles_of(count));
  std::size_t scratch_bytes = 0, needed = 0;
  CUDA_CHECK(cub::DeviceScan::InclusiveSum(nullptr, scratch_bytes, in.data(), out.data(), count));
  CUDA_CHECK(cub::DeviceSelect::If(nullptr, needed, in.data(), out.data(), kept.data(), count, IsOdd{}));
  scratch_bytes = std::max(scratch_bytes, needed);
  gpu::DeviceArray<char> scratch(scratch_bytes);

  const std::size_t bytes = numbers.size() * sizeof(unsigned);
  int wrong = 0;
  show("copy, for comparison", 2 * bytes, [&] {
    copy<<<tiles_of(count), threads>>>(in.data(), out.data(), count);
    CUDA_CHECK(cudaGetLastError());
  });
  wrong += out.to_host() != numbers;

  const Array* result = &out;
  const auto check_sums = [&] {
    wrong += result->to_host() != sums;
    out.poison();
    other.poison();
  };
  show("sums by doubling", 2 * bytes, [&] { result = &scan_by_doubling(in, out, other); });
  check_sums();
  result = &out;
  show("sums in three launches", 2 * bytes, [&] { scan_in_three_launches(in, out, of_tile, memory); });
  check_sums();
  show("sums in one launch", 2 * bytes, [&] { scan_in_one_launch(in, out, memory); });
  check_sums();
  show("sums by cub::DeviceScan", 2 * bytes,
       [&] { CUDA_CHECK(cub::DeviceScan::InclusiveSum(scratch.data(), scratch_bytes, in.data(), out.data(), count)); });
  check_sums();

  const auto check_odd = [&] {
    std::vector<unsigned> found = out.to_host();
    const unsigned many = kept.to_host()[0];
    found.resize(std::min<std::size_t>(many, found.size()));
    wrong += many != odd_numbers.size() || found != odd_numbers;
    out.poison();
    kept.poison();
  };
  const std::size_t moved = bytes + odd_numbers.size() * sizeof(unsigned);
  show("odd numbers in one launch", moved, [&] {
    compact<<<tiles_of(count), threads>>>(in.data(), out.data(), count, kept.data(), memory.cleared(nullptr));
    CUDA_CHECK(cudaGetLastError());
  });
  check_odd();
  show("odd numbers by cub::DeviceSelect", moved, [&] {
    CUDA_CHECK(
        cub::DeviceSelect::If(scratch.data(), scratch_bytes, in.data(), out.data(), kept.data(), count, IsOdd{}));
  });
  check_odd();

  cookbook::Checks checks;
  checks.equal("ways with a wrong number", wrong, 0);
  return checks.exit_code();
}
