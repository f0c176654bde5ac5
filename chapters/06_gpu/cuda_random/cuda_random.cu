// Random numbers on a GPU
//
// cuRAND, NVIDIA's library for random numbers, has two interfaces. The host interface fills an array on the device by
// one call. The device interface is called inside a kernel: each thread makes the numbers that it needs, uses them, and
// stores none. The program prints how many numbers per second each makes with two generators, XORWOW and Philox. What
// uses the numbers is an estimate of pi: pairs of them are points, and those within a quarter of a circle are the hits.
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
  int count = 1 << 26, blocks = 0;
  unsigned seed = 1;
  cookbook::Options options("Make random numbers on a GPU with cuRAND");
  options.add("count", count, "random numbers, rounded up to a multiple of 4", 10'000, 1 << 28);
  options.add("seed", seed, "seed of the generators", 0, 1'000'000'000);
  options.add("blocks", blocks, "blocks of the kernels; 0: as many as the device runs at once", 0, 65'535);
  options.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;
  constexpr int threads = 256;
  const int fours = (count + 3) / 4;
  if (blocks == 0) blocks = gpu::resident_blocks(use_philox, threads);

  gpu::DeviceArray<float> numbers(std::size_t{4} * fours);
  gpu::DeviceArray<unsigned long long> hits(1);
  const auto* stored = reinterpret_cast<const float4*>(numbers.data());
  int near_pi = 0;
  unsigned long long last_hits = 0;
  // The fastest of ten runs; for work that counts hits also the estimate.
  const auto show = [&](const char* what, bool estimates, const auto& work) {
    gpu::EventTimer timer;
    double seconds = 1e9;
    for (int run = 0; run < 10; ++run) {
      hits.zero();
      timer.start();
      work();
      CUDA_CHECK(cudaGetLastError());
      seconds = std::min(seconds, timer.stop());
    }
    last_hits = hits.to_host().front();
    const double pi = 4.0 * static_cast<double>(last_hits) / (2.0 * fours);
    // Chance alone gives a standard deviation of 1.64 / sqrt(points).
    near_pi += estimates && std::abs(pi - 3.14159265) < 8 / std::sqrt(2.0 * fours);
    cookbook::println("{:<34}{:6.0f} G numbers/s{}", what, 4.0 * fours / seconds * 1e-9,
                      estimates ? fmt::format("   pi is about {:.4f}", pi) : "");
  };

  Generator xorwow(CURAND_RNG_PSEUDO_XORWOW, seed), philox(CURAND_RNG_PSEUDO_PHILOX4_32_10, seed);
  show("XORWOW, stored", false, [&] { xorwow.fill(numbers); });
  show("Philox, stored", false, [&] { philox.fill(numbers); });
  show("Philox, stored and then used", true, [&] {
    philox.fill(numbers);
    use_stored<<<blocks, threads>>>(stored, fours, hits.data());
  });
  show("XORWOW, used where it is made", true, [&] { use_xorwow<<<blocks, threads>>>(seed, fours, hits.data()); });
  show("Philox, used where it is made", true, [&] { use_philox<<<blocks, threads>>>(seed, fours, hits.data()); });
  const unsigned long long hits_of_many = last_hits;
  hits.zero();
  use_philox<<<1, threads>>>(seed, fours, hits.data());
  CUDA_CHECK(cudaGetLastError());

  const std::vector<double> first = uniform_numbers(seed, 100'000);
  const double error = 1 / std::sqrt(first.size()), mean = std::accumulate(first.begin(), first.end(), 0.0) / 1e5;
  double variance = 0;
  for (const double number : first) variance += (number - mean) * (number - mean) / 1e5;
  const auto [least, greatest] = std::minmax_element(first.begin(), first.end());
  cookbook::Checks checks;
  // The bounds are about 5 standard deviations for the mean, and 8 for the variance.
  checks.that("100,000 numbers in (0, 1], mean and variance near 1/2 and 1/12",
              0 < *least && *greatest <= 1 && std::abs(mean - 1. / 2) < 1.6 * error &&
                  std::abs(variance - 1. / 12) < 0.63 * error);
  checks.that("the same seed gives the same numbers, another seed others",
              first == uniform_numbers(seed, 100'000) && first != uniform_numbers(seed + 1, 100'000));
  checks.equal("estimates near pi", near_pi, 3);
  const long long of_one = hits.to_host().front(), of_many = hits_of_many;
  checks.equal("difference of Philox's hits with many blocks and with one", of_many - of_one, 0LL);
  return checks.exit_code();
}
