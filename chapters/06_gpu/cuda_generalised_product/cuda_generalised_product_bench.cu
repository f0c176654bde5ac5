// Many small products, measured: a thread per pair of matrices, or per number of the results
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon chapters/06_gpu/cuda_generalised_product/cuda_generalised_product_bench.cu common/cookbook/*.cpp -lfmt -o cuda_generalised_product_bench
// Run:     cuda_generalised_product_bench [--pairs N] [--rounds N]

#include <algorithm>

#include "cookbook/checks.hpp"
#include "cookbook/cuda.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/options.hpp"
#include "pairs.cuh"

namespace {

/// Each thread computes one number: neighbouring threads write neighbouring numbers.
__global__ void multiply_numbers(Batch<const long long> a, Batch<const long long> b, Batch<long long> c) {
  const std::size_t number = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const std::size_t columns = c.base.columns, i = number / (c.base.rows * columns);
  if (i >= c.count) return;
  const std::size_t row = number / columns % c.base.rows, column = number % columns;
  const Matrix<const long long> left = a[i], right = b[i];
  long long sum = 0;
  for (std::size_t k = 0; k < left.columns; ++k) sum += left(row, k) * right(k, column);
  c[i](row, column) = sum;
}

void compare(cookbook::Checks& checks, std::size_t pairs, int rounds) {
  const Numbers a = random_numbers({pairs, 4, 10}, 1), b = random_numbers({pairs, 10, 10}, 2);
  const gpu::DeviceArray<long long> device_a(a.values), device_b(b.values);
  gpu::DeviceArray<long long> by_pair(pairs * 40), by_number(pairs * 40);
  by_pair.poison();
  by_number.poison();
  Numbers on_host;

  const auto launch = [&](auto kernel, std::size_t threads, gpu::DeviceArray<long long>& c, cudaStream_t stream) {
    const auto blocks = static_cast<unsigned>((threads + 127) / 128);
    kernel<<<blocks, 128, 0, stream>>>(batch(device_a.data(), a.shape), batch(device_b.data(), b.shape),
                                       batch(c.data(), {pairs, 4, 10}));
    CUDA_CHECK(cudaGetLastError());
  };
  const auto amount = static_cast<double>(pairs);
  cookbook::Figures figures(fmt::format("{} products of (4,10) and (10,10), data in place", pairs),
                            cookbook::rate("M products/s", 1e6), gpu::device() + "; " + cookbook::machine());
  figures.measure(
      {{"host, one core, a loop", amount, [&] { on_host = multiply_on_host(a, b); }},
       gpu::graph_row("device, a thread per pair", amount,
                      [&](cudaStream_t stream) { launch(multiply_pairs, pairs, by_pair, stream); }),
       gpu::graph_row("device, a thread per number", amount,
                      [&](cudaStream_t stream) { launch(multiply_numbers, 40 * pairs, by_number, stream); })},
      rounds);
  figures.speedup_over("host, one core, a loop", "host");
  checks.that("a thread per pair has the host's products", by_pair.to_host() == on_host.values);
  checks.that("a thread per number, too", by_number.to_host() == on_host.values);
  figures.print(checks);
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t pairs = 100'000;
  int rounds = 7;
  cookbook::Options options("Many small products: a thread per pair, or per number of the results");
  options.add("pairs", pairs, "the larger number of pairs", 1, 1'000'000);
  options.add("rounds", rounds, "measured runs of each way", 1, 1'000);
  options.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;

  cookbook::Checks checks;
  compare(checks, std::min<std::size_t>(pairs, 1'000), rounds);
  if (pairs > 1'000) compare(checks, pairs, rounds);
  return checks.exit_code();
}
