// Many small products, measured: a thread per pair of matrices, or per element of the results
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon chapters/06_gpu/cuda_generalised_product/cuda_generalised_product_bench.cu common/cookbook/*.cpp -lcublas -lfmt -o cuda_generalised_product_bench
// Run:     cuda_generalised_product_bench [--pairs N] [--rounds N]

#include <cublas_v2.h>

#include <algorithm>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/cuda.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/options.hpp"
#include "pairs.cuh"

namespace {

void compare(cookbook::Checks& checks, std::size_t pairs, int rounds) {
  const Shape shape_a = {pairs, 4, 10}, shape_b = {pairs, 10, 10}, shape_c = {pairs, 4, 10};
  const Numbers a = random_numbers(shape_a, 1), b = random_numbers(shape_b, 2);
  const gpu::DeviceArray<long long> device_a(a.values), device_b(b.values);
  const gpu::DeviceArray<long long> interleaved_a(transposed(a.values, pairs));
  const gpu::DeviceArray<long long> interleaved_b(transposed(b.values, pairs));
  gpu::DeviceArray<long long> by_pair(pairs * 40), by_interleaved_pair(pairs * 40), by_element(pairs * 40);
  // cuBLAS has no products of 64-bit integers. In doubles these sums are exact, too.
  const gpu::DeviceArray<double> double_a(std::vector<double>(a.values.begin(), a.values.end()));
  const gpu::DeviceArray<double> double_b(std::vector<double>(b.values.begin(), b.values.end()));
  gpu::DeviceArray<double> double_by_element(pairs * 40), by_cublas(pairs * 40);
  by_pair.poison();
  by_interleaved_pair.poison();
  by_element.poison();
  double_by_element.poison();
  by_cublas.poison();
  Numbers on_host;

  const auto blocks = [](std::size_t threads) { return static_cast<unsigned>((threads + 127) / 128); };
  const auto per_pair = [&](cudaStream_t stream) {
    multiply_pairs<<<blocks(pairs), 128, 0, stream>>>(batch(device_a.data(), shape_a), batch(device_b.data(), shape_b),
                                                      batch(by_pair.data(), shape_c));
    CUDA_CHECK(cudaGetLastError());
  };
  const auto per_interleaved_pair = [&](cudaStream_t stream) {
    multiply_pairs<<<blocks(pairs), 128, 0, stream>>>(interleaved(batch(interleaved_a.data(), shape_a)),
                                                      interleaved(batch(interleaved_b.data(), shape_b)),
                                                      interleaved(batch(by_interleaved_pair.data(), shape_c)));
    CUDA_CHECK(cudaGetLastError());
  };
  const auto per_element = [&](cudaStream_t stream) {
    multiply_elements<<<blocks(40 * pairs), 128, 0, stream>>>(
        batch(device_a.data(), shape_a), batch(device_b.data(), shape_b), batch(by_element.data(), shape_c));
    CUDA_CHECK(cudaGetLastError());
  };
  const auto doubles_per_element = [&](cudaStream_t stream) {
    multiply_elements<<<blocks(40 * pairs), 128, 0, stream>>>(
        batch(double_a.data(), shape_a), batch(double_b.data(), shape_b), batch(double_by_element.data(), shape_c));
    CUDA_CHECK(cudaGetLastError());
  };
  // cuBLAS counts column by column, so it gets the factors in reverse order: the recipe cuda_blas.
  cublasHandle_t cublas;
  CUBLAS_CHECK(cublasCreate(&cublas));
  gpu::DeviceArray<char> workspace(std::size_t{32} << 20);  // it must not allocate any while a graph is recorded
  const auto cublas_batch = [&](cudaStream_t stream) {
    const double one = 1, zero = 0;
    CUBLAS_CHECK(cublasSetStream(cublas, stream));
    CUBLAS_CHECK(cublasSetWorkspace(cublas, workspace.data(), workspace.size()));
    CUBLAS_CHECK(cublasDgemmStridedBatched(cublas, CUBLAS_OP_N, CUBLAS_OP_N, 10, 4, 10, &one, double_b.data(), 10, 100,
                                           double_a.data(), 10, 40, &zero, by_cublas.data(), 10, 40,
                                           static_cast<int>(pairs)));
  };

  // For comparison: a copy that reads and writes as many bytes as the job needs, 40 + 100 + 40 numbers of 8 bytes per
  // pair.
  gpu::DeviceArray<char> from(pairs * 90 * 8), to(pairs * 90 * 8);
  from.poison();
  const auto copy = [&](cudaStream_t stream) {
    CUDA_CHECK(cudaMemcpyAsync(to.data(), from.data(), from.size(), cudaMemcpyDeviceToDevice, stream));
  };

  const auto amount = static_cast<double>(pairs);
  cookbook::Figures figures(fmt::format("{} products of (4,10) and (10,10), data in place", pairs),
                            cookbook::rate("M products/s", 1e6), gpu::device() + "; " + cookbook::machine());
  figures.measure({{"host, one core, a loop", amount, [&] { on_host = multiply_on_host(a, b); }},
                   gpu::graph_row("copy of as many bytes", amount, copy),
                   gpu::graph_row("device, a thread per pair", amount, per_pair),
                   gpu::graph_row("the same, interleaved", amount, per_interleaved_pair),
                   gpu::graph_row("device, a thread per element", amount, per_element),
                   gpu::graph_row("a thread per element, of doubles", amount, doubles_per_element),
                   gpu::graph_row("cuBLAS, a batch of doubles", amount, cublas_batch)},
                  rounds);
  figures.percent_of("copy of as many bytes", "copy");
  figures.speedup_over("cuBLAS, a batch of doubles", "cuBLAS");
  const std::vector<double> expected(on_host.values.begin(), on_host.values.end());
  checks.that("a thread per pair has the host's products", by_pair.to_host() == on_host.values);
  checks.that("with interleaved matrices, too", transposed(by_interleaved_pair.to_host(), 40) == on_host.values);
  checks.that("a thread per element, too", by_element.to_host() == on_host.values);
  checks.that("a thread per element with doubles, too", double_by_element.to_host() == expected);
  checks.that("cuBLAS, too", by_cublas.to_host() == expected);
  figures.print(checks);
  CUBLAS_CHECK(cublasDestroy(cublas));
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t pairs = 100'000;
  int rounds = 7;
  cookbook::Options options("Many small products: a thread per pair, or per element of the results");
  options.add("pairs", pairs, "the larger number of pairs", 1, 1'000'000);
  options.add("rounds", rounds, "measured runs of each way", 1, 1'000);
  options.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;

  cookbook::Checks checks;
  compare(checks, std::min<std::size_t>(pairs, 1'000), rounds);
  if (pairs > 1'000) compare(checks, pairs, rounds);
  return checks.exit_code();
}
