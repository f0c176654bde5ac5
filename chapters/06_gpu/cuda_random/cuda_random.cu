// Random numbers on a GPU
//
// A kernel needs random numbers. cuRAND, NVIDIA's library for them, can fill an array by one call, which the kernel
// then reads; or each thread of the kernel makes those that it needs. The program does both with two generators, Philox
// and XORWOW, for an estimate of pi: two numbers are a point, and pi follows from how many points lie within a circle.
// For each way it prints how much memory is read and written, how often the kernel calls curand_init to set up a
// generator, and the time. The kernels are in darts.cuh: read use_philox and use_kept_xorwow there.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon -Ichapters/06_gpu chapters/06_gpu/cuda_random/cuda_random.cu common/cookbook/*.cpp -lcurand -lfmt -o cuda_random
// Run:     cuda_random [--count N] [--seed N] [--blocks N]

#include <cmath>
#include <string_view>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "darts.cuh"
#include "fastest.hpp"
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

  Generator philox(CURAND_RNG_PSEUDO_PHILOX4_32_10, seed), xorwow(CURAND_RNG_PSEUDO_XORWOW, seed);
  gpu::DeviceArray<float> numbers(std::size_t{4} * fours);
  gpu::DeviceArray<curandStateXORWOW_t> states(std::size_t{threads} * blocks);
  gpu::DeviceArray<unsigned long long> hits(1);
  const auto* stored = reinterpret_cast<const float4*>(numbers.data());
  // Both are read and written once.
  const std::size_t array_bytes = 2 * sizeof(float) * numbers.size();
  const std::size_t state_bytes = 2 * sizeof(curandStateXORWOW_t) * states.size();

  int near_pi = 0;
  // Prints a way's row, with its time, and returns its hits.
  const auto row = [&](std::string_view way, std::size_t bytes, int set_up, const auto& work) {
    const auto checked = [&] {
      work();
      CUDA_CHECK(cudaGetLastError());
    };
    const double seconds = fastest(checked);
    hits.zero();
    checked();
    const auto found = static_cast<long long>(hits.to_host().front());
    const double points = 2.0 * fours, pi = 4 * static_cast<double>(found) / points;
    near_pi += std::abs(pi - 3.14159265) < 8 / std::sqrt(points);  // chance alone gives 1.64 / sqrt(points)
    cookbook::println("{:<36}{:7.0f} MB{:>18} times{:9.0f} us", way, bytes * 1e-6, set_up, seconds * 1e6);
    return found;
  };
  cookbook::println("{:<36}{:>10}{:>24}{:>12}", fmt::format("{} numbers for pi", 4LL * fours), "memory",
                    "curand_init per launch", "time");
  row("Philox, stored in an array and read", array_bytes, 0, [&] {
    philox.fill(numbers);
    use_stored<<<blocks, threads>>>(stored, fours, hits.data());
  });
  const long long hits_of_many =
      row("Philox, made in the kernel", 0, fours, [&] { use_philox<<<blocks, threads>>>(seed, fours, hits.data()); });
  row("XORWOW, stored in an array and read", array_bytes, 0, [&] {
    xorwow.fill(numbers);
    use_stored<<<blocks, threads>>>(stored, fours, hits.data());
  });
  row("XORWOW, made in the kernel", 0, threads * blocks,
      [&] { use_xorwow<<<blocks, threads>>>(seed, fours, hits.data()); });
  set_up_xorwow<<<blocks, threads>>>(seed, states.data());
  CUDA_CHECK(cudaGetLastError());
  row("XORWOW, set up before", state_bytes, 0,
      [&] { use_kept_xorwow<<<blocks, threads>>>(states.data(), fours, hits.data()); });

  hits.zero();
  use_philox<<<1, threads>>>(seed, fours, hits.data());
  CUDA_CHECK(cudaGetLastError());

  cookbook::Checks checks;
  checks.equal("estimates near pi", near_pi, 5);
  checks.equal("difference of Philox's hits with many blocks and with one",
               hits_of_many - static_cast<long long>(hits.to_host().front()), 0LL);
  return checks.exit_code();
}
