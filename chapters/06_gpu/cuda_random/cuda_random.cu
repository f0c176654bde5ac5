// Random numbers on a GPU
//
// cuRAND, NVIDIA's library for random numbers, has two interfaces. The host interface fills an array on the device by
// one call. The device interface is called inside a kernel: each thread makes the numbers that it needs, uses them, and
// stores none. The first is shown by 100,000 numbers and their statistics, the second by an estimate of pi.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon chapters/06_gpu/cuda_random/cuda_random.cu common/cookbook/*.cpp -lcurand -lfmt -o cuda_random
// Run:     cuda_random [--count N] [--seed N] [--blocks N]

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "darts.cuh"
#include "uniform.hpp"

int main(int argc, char** argv) {
  int count = 100'000, blocks = 256;
  unsigned seed = 1;
  cookbook::Options options("Make random numbers on a GPU with cuRAND");
  options.add("count", count, "numbers to fill an array with, and points to estimate pi from", 10'000, 100'000'000);
  options.add("seed", seed, "seed of both generators", 0, 1'000'000'000);
  options.add("blocks", blocks, "blocks of the kernel that estimates pi", 1, 65'535);
  options.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;
  cookbook::Checks checks;

  // The host interface: an array on the device, filled by one call.
  const std::vector<double> numbers = uniform_numbers(seed, count);
  cookbook::println("the first ten: {:.4f}", fmt::join(numbers.begin(), numbers.begin() + 10, " "));

  const auto [least, greatest] = std::minmax_element(numbers.begin(), numbers.end());
  const double mean = std::accumulate(numbers.begin(), numbers.end(), 0.0) / count;
  double variance = 0;
  for (const double number : numbers) variance += (number - mean) * (number - mean) / count;
  const double error = 1 / std::sqrt(count);  // differences that are due to chance shrink with it
  // The bounds are about 5 standard deviations for the mean, 8 for the variance and 5 for pi.
  checks.that("all numbers are above 0 and at most 1", 0 < *least && *greatest <= 1);
  checks.that("mean and variance are near 1/2 and 1/12",
              std::abs(mean - 1. / 2) < 1.6 * error && std::abs(variance - 1. / 12) < 0.63 * error);
  checks.that("the same seed gives the same numbers, another seed others",
              numbers == uniform_numbers(seed, count) && numbers != uniform_numbers(seed + 1, count));

  // The device interface: numbers that are used where they are made.
  const long hits = darts_in_circle(seed, count, blocks);
  cookbook::println("pi is about {:.3f}", 4.0 * hits / count);
  checks.that("4 * hits / points is near pi", std::abs(4.0 * hits / count - 3.14159265) < 8 * error);
  checks.equal("hits with one block minus hits with many", darts_in_circle(seed, count, 1) - hits, 0L);
  return checks.exit_code();
}
