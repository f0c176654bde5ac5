// Reduction on a GPU
//
// A binary operation, such as a + b, makes one value of many. One after another, 8 values take 7 additions, each of
// which waits for the one before; as a tree they take 7 additions too, but on 3 levels. The kernel is such a tree:
// threads of a warp, warps of a block, blocks of the grid, in one launch, for any operation that is associative and
// commutative. It sums 1 to 10000, and then 2^28 floats as fast as the memory delivers them, with the same bits on
// every run, since no addition depends on who comes first. Without a device only the host's part runs.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon -Ichapters/06_gpu chapters/06_gpu/cuda_reduction/cuda_reduction.cu common/cookbook/*.cpp -lfmt -o cuda_reduction
// Run:     cuda_reduction [--count N] [--block N] [--large N] [--runs N]

#include <algorithm>
#include <bit>
#include <cmath>
#include <cub/device/device_reduce.cuh>
#include <numeric>
#include <set>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/options.hpp"
#include "cuda_check.hpp"
#include "cuda_memory.hpp"
#include "cuda_timer.hpp"
#include "reduce.cuh"

namespace {

/// The sequential form: each value is added to the sum of those before it. Returns all sums on the way.
template <typename T, typename Operation>
std::vector<T> chain(const std::vector<T>& values, Operation operation) {
  std::vector<T> sums = {values.front()};
  for (std::size_t i = 1; i < values.size(); ++i) sums.push_back(operation(sums.back(), values[i]));
  return sums;
}

/// The parallel form: neighbours are added in pairs, all pairs at once, until one value is left. Returns all levels.
template <typename T, typename Operation>
std::vector<std::vector<T>> tree(std::vector<T> values, Operation operation) {
  std::vector<std::vector<T>> levels;
  while (values.size() > 1) {
    std::vector<T> halved;
    for (std::size_t i = 0; i + 1 < values.size(); i += 2) halved.push_back(operation(values[i], values[i + 1]));
    if (values.size() % 2 == 1) halved.push_back(values.back());
    levels.push_back(values = halved);
  }
  return levels;
}

std::vector<long long> first_integers(long long count) {
  std::vector<long long> numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 1LL);
  return numbers;
}

void check_host(cookbook::Checks& checks) {
  const std::vector<long long> eight = first_integers(8);
  const auto sums = chain(eight, Sum{});
  const auto levels = tree(eight, Sum{});
  checks.equal("chain, sum after each addition", sums, {1, 3, 6, 10, 15, 21, 28, 36});
  checks.equal("chain, additions that wait for one another", sums.size() - 1, 7U);
  checks.equal("tree, sums on each level", levels, {{3, 7, 11, 15}, {10, 26}, {36}});
  checks.equal("tree, levels that wait for one another", levels.size(), 3U);
  checks.equal("host, sum of 1 to 10000", chain(first_integers(10'000), Sum{}).back(), 50'005'000LL);
}

/// The operation's result over `values` on the device.
template <typename Operation, typename T>
T reduced(const std::vector<T>& values, int block) {
  const gpu::DeviceArray<T> on_device(values);
  Reduction<T, Operation> reduction(block);
  reduction.start(on_device.data(), on_device.size());
  return reduction.result();
}

void check_integers(cookbook::Checks& checks, long long count, int block) {
  const auto numbers = first_integers(10'000);
  cookbook::println("vector to reduce = [{} {} {} ... {} {} {}]", numbers[0], numbers[1], numbers[2], numbers[9997],
                    numbers[9998], numbers[9999]);
  checks.equal("result, sum", reduced<Sum>(numbers, block), 50'005'000LL);
  checks.equal("result, maximum", reduced<Maximum>(numbers, block), 10'000LL);
  checks.equal("product of 1 to 20", reduced<Product>(first_integers(20), block), 2'432'902'008'176'640'000LL);
  checks.equal("sum of 1 to 8", reduced<Sum>(first_integers(8), block), 36LL);
  checks.equal("sum of one element", reduced<Sum>(std::vector{42LL}, block), 42LL);
  checks.equal("sum of none", reduced<Sum>(std::vector<long long>{}, block), 0LL);

  int same = 0;
  for (int threads = 32; threads <= 1024; threads += 32) same += reduced<Sum>(numbers, threads) == 50'005'000;
  checks.equal("block sizes of 32, 64, 96 ... 1024 threads with this sum", same, 32);

  std::vector<int> random(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < random.size(); ++i) {
    random[i] = static_cast<int>(1000 * gpu::random_number(3, static_cast<unsigned>(i)));
  }
  checks.equal("sum of random integers, device less host",
               reduced<Sum>(random, block) - std::accumulate(random.begin(), random.end(), 0), 0);
  checks.equal("maximum of random integers", reduced<Maximum>(random, block),
               *std::max_element(random.begin(), random.end()));
}

__global__ void fill(float* numbers, unsigned seed, std::size_t count) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) numbers[i] = gpu::random_number(seed, static_cast<unsigned>(i));
}

/// A large sum: near the exact one, and made of the same bits on every run.
void check_floats(cookbook::Checks& checks, const gpu::DeviceArray<float>& values, int block, int runs) {
  Reduction<float, Sum> sum(block);
  std::set<unsigned> bits;
  float result = 0;
  for (int run = 0; run < runs; ++run) {
    sum.start(values.data(), values.size());
    result = sum.result();
    bits.insert(std::bit_cast<unsigned>(result));
  }
  double exact = 0, magnitude = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double value = gpu::random_number(4, static_cast<unsigned>(i));
    exact += value;
    magnitude += std::abs(value);
  }
  // Rounding errors grow with the number of additions in a row, which is small in a tree: far below a chain's.
  checks.that("float sum within 1e-6 of the sum of magnitudes", std::abs(result - exact) <= 1e-6 * magnitude);
  checks.equal(fmt::format("different float sums in {} runs", runs), bits.size(), 1U);
}

/// The most that the memory delivers: a kernel that reads all values, in the same manner, and does next to nothing.
__global__ void read_only(const float4* values, std::size_t count, float* never) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x * 4 + threadIdx.x;
  float4 seen[4] = {};
#pragma unroll
  for (int u = 0; u < 4; ++u) {
    if (i + u * blockDim.x < count) seen[u] = __ldcs(values + i + u * blockDim.x);
  }
  float4& a = seen[0];
#pragma unroll
  for (int u = 1; u < 4; ++u) a = {a.x + seen[u].x, a.y + seen[u].y, a.z + seen[u].z, a.w + seen[u].w};
  if (a.x + a.y + a.z + a.w == 1e9F) *never = 1;  // cannot be, but the compiler does not know: it must load
}

/// Sums of `count` values, each over another part of `values`, so that none of them is found in a cache.
void measure(cookbook::Checks& checks, const gpu::DeviceArray<float>& values, std::size_t count, int block) {
  const std::size_t parts = std::min<std::size_t>(128, values.size() / count);
  Reduction<float, Sum> sum(block);
  gpu::DeviceArray<float> result(1);
  std::size_t bytes = 0;
  CUDA_CHECK(cub::DeviceReduce::Sum(nullptr, bytes, values.data(), result.data(), count));
  gpu::DeviceArray<char> scratch(bytes);
  const double amount = static_cast<double>(parts * count * sizeof(float));
  const auto row = [&](const std::string& name, auto start) {
    return gpu::timed_row(name, amount, [=, &values] {
      for (std::size_t part = 0; part < parts; ++part) start(values.data() + part * count);
    });
  };
  cookbook::Figures figures(fmt::format("sum of {} floats", count), cookbook::rate("GB/s", 1e9), gpu::device());
  figures.measure({row("read only",
                       [&](const float* from) {
                         const std::size_t fours = count / 4;
                         read_only<<<static_cast<unsigned>((fours + 4095) / 4096), 1024>>>(
                             reinterpret_cast<const float4*>(from), fours, result.data());
                         CUDA_CHECK(cudaGetLastError());
                       }),
                   row("one pass, fixed order", [&](const float* from) { sum.start(from, count); }),
                   row("cub::DeviceReduce",
                       [&](const float* from) {
                         CUDA_CHECK(cub::DeviceReduce::Sum(scratch.data(), bytes, from, result.data(), count));
                       })},
                  21);
  figures.percent_of("read only");
  figures.times("cub::DeviceReduce", "CUB");
  figures.print(checks);
}

}  // namespace

int main(int argc, char** argv) {
  long long count = 1'000'003;
  int block = 512, runs = 20;
  std::size_t large = std::size_t{1} << 28;
  cookbook::Options options("Make one value of many by a binary operation, on a GPU");
  options.add("count", count, "random integers to reduce", 1, 1 << 28);
  options.add("block", block, "threads in a block, rounded up to whole warps", 1, 1024);
  options.add("large", large, "random floats to reduce, 0 to leave them out", 0, 1LL << 31);
  options.add("runs", runs, "how often, to compare the bits", 1, 10'000);
  options.parse(argc, argv);

  cookbook::Checks checks;
  check_host(checks);
  if (!gpu::device_found()) return gpu::without_device(checks);

  check_integers(checks, count, block);
  if (large > 0) {
    gpu::DeviceArray<float> values(large);
    fill<<<static_cast<unsigned>((large + 255) / 256), 256>>>(values.data(), 4, large);
    CUDA_CHECK(cudaGetLastError());
    check_floats(checks, values, block, runs);
    constexpr std::size_t small = 1 << 20;  // below, the time is that of a launch
    if (large >= small) measure(checks, values, large, block);
    if (large > small) measure(checks, values, small, block);
  }
  return checks.exit_code();
}
