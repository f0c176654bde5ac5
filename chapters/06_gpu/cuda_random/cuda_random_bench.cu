// Random numbers on a GPU, measured: stored in memory, or used where they are made
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon chapters/06_gpu/cuda_random/cuda_random_bench.cu common/cookbook/*.cpp -lcurand -lfmt -o cuda_random_bench
// Run:     cuda_random_bench [--count N] [--rounds N]

#include <curand_kernel.h>

#include <cmath>
#include <string>

#include "cookbook/checks.hpp"
#include "cookbook/cuda.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/options.hpp"
#include "darts.cuh"
#include "uniform.hpp"

namespace {

constexpr int threads = 256;

/// The limit for numbers that are stored: writes as many of them, all the same.
__global__ void write_only(float4* numbers, std::size_t fours) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < fours) __stcs(numbers + i, make_float4(0.25F, 0.5F, 0.75F, 1));
}

/// Each thread has four loads under way before it uses the first, and goes on by four strides of the whole grid.
__global__ void use_stored_fast(const float4* numbers, std::size_t fours, unsigned long long* hits) {
  unsigned mine = 0;
  const std::size_t all_threads = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t first = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; first < fours;
       first += 4 * all_threads) {
    float4 u[4];
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const std::size_t i = first + j * all_threads;
      u[j] = i < fours ? __ldcs(numbers + i) : make_float4(1, 1, 1, 1);  // (1, 1) is outside
    }
#pragma unroll
    for (int j = 0; j < 4; ++j) mine += hits_of(u[j]);
  }
  add_to(hits, mine);
}

/// Each thread has a sequence of its own, and takes four numbers of it at a time.
__global__ void use_sequences(unsigned seed, std::size_t fours, unsigned long long* hits) {
  const unsigned me = blockIdx.x * blockDim.x + threadIdx.x, all_threads = gridDim.x * blockDim.x;
  curandStatePhilox4_32_10_t state;
  curand_init(seed, me, 0, &state);
  unsigned mine = 0;
  for (std::size_t i = me; i < fours; i += all_threads) mine += hits_of(curand_uniform4(&state));
  add_to(hits, mine);
}

unsigned blocks_for(std::size_t items, std::size_t per_block) {
  return static_cast<unsigned>((items + per_block - 1) / per_block);
}

}  // namespace

int main(int argc, char** argv) {
  int count = 1 << 28, rounds = 21;
  cookbook::Options options("What random numbers cost on a GPU");
  options.add("count", count, "floats to make, rounded up to a multiple of 1024", 1'000'000, 1 << 30);
  options.add("rounds", rounds, "measured runs of each way", 1, 1'000);
  options.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;

  const std::size_t fours = (count + 1'023) / 1'024 * std::size_t{256};
  gpu::DeviceArray<float> numbers(fours * 4);
  gpu::DeviceArray<unsigned long long> hits(1);
  auto* as_fours = reinterpret_cast<float4*>(numbers.data());
  const int blocks = gpu::resident_blocks(use_sequences, threads);
  Generator philox(CURAND_RNG_PSEUDO_PHILOX4_32_10, 1), xorwow(CURAND_RNG_PSEUDO_XORWOW, 1),
      dynamic(CURAND_RNG_PSEUDO_XORWOW, 1);
  dynamic.set_order(CURAND_ORDERING_PSEUDO_DYNAMIC);

  const auto write = [&] {
    write_only<<<blocks_for(fours, threads), threads>>>(as_fours, fours);
    CUDA_CHECK(cudaGetLastError());
  };
  const auto count_stored = [&] {
    use_stored_fast<<<blocks, threads>>>(as_fours, fours, hits.data());
    CUDA_CHECK(cudaGetLastError());
  };
  const auto store_then_use = [&] {
    philox.fill(numbers);
    count_stored();
  };
  const auto in_place = [&] {
    use_sequences<<<blocks, threads>>>(1, fours, hits.data());
    CUDA_CHECK(cudaGetLastError());
  };

  const auto as_in_lesson = [&] {
    use_philox<<<gpu::resident_blocks(use_philox, threads), threads>>>(1, static_cast<int>(fours), hits.data());
    CUDA_CHECK(cudaGetLastError());
  };

  // 4 * hits / points has to be near pi, whichever way the numbers are made.
  cookbook::Checks checks;
  const double points = 2.0 * static_cast<double>(fours);
  const auto check = [&](const std::string& way, const auto& work) {
    numbers.poison();
    hits.zero();
    work();
    const double pi = 4 * static_cast<double>(hits.to_host().front()) / points;
    checks.that(way + ": 4 * hits / points is near pi", std::abs(pi - 3.14159265) < 9 / std::sqrt(points));
  };
  check("XORWOW, stored", [&] {
    xorwow.fill(numbers);
    count_stored();
  });
  check("XORWOW in the order DYNAMIC, stored", [&] {
    dynamic.fill(numbers);
    count_stored();
  });
  check("Philox, stored", store_then_use);
  check("Philox, in place, as in the lesson", as_in_lesson);
  check("Philox, in place, a sequence per thread", in_place);

  const double amount = 4.0 * static_cast<double>(fours);
  cookbook::Figures figures(fmt::format("{} random floats", fours * 4), cookbook::rate("G/s", 1e9), gpu::device());
  figures.measure({gpu::timed_row("write only, nothing random", amount, write),
                   gpu::timed_row("cuRAND host, XORWOW, stored", amount, [&] { xorwow.fill(numbers); }),
                   gpu::timed_row("the same in the order DYNAMIC", amount, [&] { dynamic.fill(numbers); }),
                   gpu::timed_row("cuRAND host, Philox, stored", amount, [&] { philox.fill(numbers); }),
                   gpu::timed_row("Philox, stored and then used", amount, store_then_use),
                   gpu::timed_row("Philox, in place, as in the lesson", amount, as_in_lesson),
                   gpu::timed_row("Philox, in place, a sequence per thread", amount, in_place)},
                  rounds);
  figures.percent_of("write only, nothing random", "write only");
  figures.speedup_over("Philox, stored and then used", "stored");
  figures.print(checks);
  return checks.exit_code();
}
