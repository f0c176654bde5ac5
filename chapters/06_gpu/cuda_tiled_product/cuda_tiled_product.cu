// Tiled matrix product on a GPU
//
// C = A B for n x n floats, in five steps that each take away what held up the step before: a thread an element; tiles
// in shared memory, with two barriers each; 8 x 16 elements a thread, in registers; four floats a load; copies that run
// while the threads compute. Each step stands in a header of its own and is checked on the host, bit by bit. Then all
// are measured beside what the arithmetic units can do, and beside cuBLAS. Without a device only the host's part runs.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon -Ichapters/06_gpu chapters/06_gpu/cuda_tiled_product/cuda_tiled_product.cu common/cookbook/*.cpp -lfmt -lcublas -o cuda_tiled_product
// Run:     cuda_tiled_product [--size N] [--largest N]

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/options.hpp"
#include "cuda_check.hpp"
#include "cuda_timer.hpp"
#include "limits.cuh"
#include "step1_naive.cuh"
#include "step2_shared_tile.cuh"
#include "step3_register_block.cuh"
#include "step4_vector_loads.cuh"
#include "step5_async_copy.cuh"

namespace {

using Values = std::vector<float>;

/// The sequential form: for each element, row times column; the host's threads share the rows. With `fused`,
/// multiplication and addition are rounded once, as on a GPU, and in the same order: the GPU must get the same bits.
template <bool fused = true>
Values product_on_host(const Values& a, const Values& b, int n) {
  Values c(a.size());
  const int workers = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const auto work = [&](int worker) {
    for (int row = worker; row < n; row += workers) {
      float* sum = &c[std::size_t(row) * n];
      for (int k = 0; k < n; ++k) {
        for (int column = 0; column < n; ++column) {
          const float x = a[std::size_t(row) * n + k], y = b[std::size_t(k) * n + column];
          sum[column] = fused ? std::fma(x, y, sum[column]) : x * y + sum[column];
        }
      }
    }
  };
  std::vector<std::jthread> threads;
  for (int worker = 0; worker < workers; ++worker) threads.emplace_back(work, worker);
  return c;
}

struct Step {
  std::string name;
  std::function<void(const Matrix&, const Matrix&, Matrix&)> run;
};

const std::vector<Step> steps = {{"1 a thread an element", naive},
                                 {"2 shared tile", shared_tile<32>},
                                 {"3 register block", register_block},
                                 {"4 vector loads", vector_loads},
                                 {"5 asynchronous copies", async_copy}};

Values random_values(int n, unsigned seed) {
  Values values(std::size_t(n) * n);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = gpu::random_number(seed, static_cast<unsigned>(i));
  return values;
}

/// The host's product against double precision: the largest error, as a share of the sum of the products' magnitudes.
double largest_error(const Values& a, const Values& b, const Values& c, int n) {
  double largest = 0;
  for (int row = 0; row < n; ++row) {
    for (int column = 0; column < n; ++column) {
      double exact = 0, magnitude = 0;
      for (int k = 0; k < n; ++k) {
        const double term = double{a[std::size_t(row) * n + k]} * b[std::size_t(k) * n + column];
        exact += term;
        magnitude += std::abs(term);
      }
      largest = std::max(largest, std::abs(c[std::size_t(row) * n + column] - exact) / magnitude);
    }
  }
  return largest;
}

std::size_t different(const Values& actual, const Values& expected) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) count += !(actual[i] == expected[i]);
  return count;
}

/// How many elements of a step's product are not the expected ones.
std::size_t wrong_elements(const Step& step, const Values& a, const Values& b, const Values& expected, int n) {
  const Matrix device_a(n, a), device_b(n, b);
  Matrix device_c(n);
  device_c.poison();
  step.run(device_a, device_b, device_c);
  return different(device_c.to_host(), expected);
}

void check_steps(cookbook::Checks& checks, const Values& a, const Values& b, const Values& expected, int n) {
  Values identity(a.size());
  for (int i = 0; i < n; ++i) identity[std::size_t(i) * n + i] = 1;
  std::size_t of_identity = 0;
  for (const Step& step : steps) {
    checks.equal(fmt::format("{}, wrong elements of {}", step.name, expected.size()),
                 wrong_elements(step, a, b, expected, n), 0U);
    of_identity += wrong_elements(step, identity, a, a, n);
  }
  checks.equal("identity times A, wrong elements in all steps", of_identity, 0U);
  checks.equal("2 shared tile of 16 x 16, wrong elements", wrong_elements({"", shared_tile<16>}, a, b, expected, n),
               0U);
}

/// Small whole numbers, whose sums stay below 2^24, have an exact product in floats too.
void check_whole_numbers(cookbook::Checks& checks, int n) {
  Values a = random_values(n, 3), b = random_values(n, 4);
  for (float& value : a) value = std::round(8 * value);
  for (float& value : b) value = std::round(8 * value);
  const Values exact = product_on_host<false>(a, b, n);
  std::size_t wrong = 0;
  for (const Step& step : steps) wrong += wrong_elements(step, a, b, exact, n);
  checks.equal(fmt::format("whole numbers, size {}, wrong elements in all steps", n), wrong, 0U);
}

__global__ void fill(float* values, int n, int stride, unsigned seed) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  if (column < n) values[std::size_t(blockIdx.y) * stride + column] = gpu::random_number(seed, blockIdx.y * n + column);
}

/// A large product: a sample of 1000 elements in double precision, and every element against cuBLAS. Then all speeds.
void measure(cookbook::Checks& checks, int n) {
  Matrix a(n), b(n), c(n), library(n);
  fill<<<dim3((n + 255) / 256, n), 256>>>(a.data(), n, a.stride(), 1);
  CUDA_CHECK(cudaGetLastError());
  fill<<<dim3((n + 255) / 256, n), 256>>>(b.data(), n, b.stride(), 2);
  CUDA_CHECK(cudaGetLastError());
  Cublas cublas;
  c.poison();
  async_copy(a, b, c);
  cublas(a, b, library);
  const Values actual = c.to_host(), expected = library.to_host();

  int far = 0, apart = 0;
  for (unsigned sample = 0; sample < 1000; ++sample) {
    const unsigned row = sample * 7919U % n, column = sample * 104'729U % n;
    double exact = 0, magnitude = 0;
    for (int k = 0; k < n; ++k) {
      const double term = double{gpu::random_number(1, row * n + k)} * gpu::random_number(2, k * n + column);
      exact += term;
      magnitude += std::abs(term);
    }
    far += !(std::abs(actual[std::size_t(row) * n + column] - exact) <= 1e-5 * magnitude);
  }
  // The mean magnitude of a term is 1/4.
  for (std::size_t i = 0; i < actual.size(); ++i) apart += !(std::abs(actual[i] - expected[i]) <= 1e-5F * n / 4);
  checks.equal(fmt::format("size {}, elements of 1000 that are far from the exact ones", n), far, 0);
  checks.equal(fmt::format("size {}, elements that are far from those of cuBLAS", n), apart, 0);

  const double operations = 2.0 * n * n * n;
  const double fma_operations = start_fma_loop(c.data());
  std::vector<cookbook::Row> rows = {
      gpu::timed_row("multiply-add alone", fma_operations, [&] { start_fma_loop(c.data()); })};
  for (const Step& step : steps) rows.push_back(gpu::timed_row(step.name, operations, [&] { step.run(a, b, c); }));
  rows.push_back(gpu::timed_row("cublasSgemm", operations, [&] { cublas(a, b, library); }));
  cookbook::Figures figures(fmt::format("n = {}", n), cookbook::rate("TFLOP/s", 1e12), gpu::device());
  figures.measure(rows, n > 5000 ? 3 : 9);
  figures.percent_of("multiply-add alone", "multiply-add");
  figures.times("cublasSgemm", "cuBLAS");
  figures.print(checks);
}

}  // namespace

int main(int argc, char** argv) {
  int size = 203, largest = 4096;
  cookbook::Options options("Multiply matrices on a GPU, in five steps from simple to fast");
  options.add("size", size, "size at which every element is compared with the host's", 1, 2048);
  options.add("largest", largest, "which of the sizes 1600, 4096 and 8192 are measured: those up to this", 0, 8192);
  options.parse(argc, argv);

  cookbook::Checks checks;
  const Values a = random_values(size, 1), b = random_values(size, 2), c = product_on_host(a, b, size);
  checks.equal("host, 2 x 2", product_on_host({1, 2, 3, 4}, {5, 6, 7, 8}, 2), {19, 22, 43, 50});
  checks.that("host within 1e-5 of the sum of magnitudes, every element", largest_error(a, b, c, size) <= 1e-5);
  if (!gpu::device_found()) return gpu::without_device(checks);

  check_steps(checks, a, b, c, size);
  if (largest >= 1600) check_whole_numbers(checks, 1600);
  for (const int n : {1600, 4096, 8192}) {
    if (n <= largest) measure(checks, n);
  }
  return checks.exit_code();
}
