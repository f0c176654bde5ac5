// The program seen from outside; what the first steps read and write, from inside.

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "06_gpu/compute_sanitizer.hpp"
#include "06_gpu/cuda_tiled_product/step1_naive.cuh"
#include "06_gpu/cuda_tiled_product/step2_shared_tile.cuh"
#include "support/run.hpp"

namespace {

using test_support::run;

/// Exit code of a recipe that found no device.
constexpr int skipped = 77;

const std::string steps[] = {"1 one thread per element", "2 tiles of 16 x 16",     "2 tiles of 32 x 32",
                             "3 8 x 16 sums per thread", "4 four floats per load", "5 asynchronous copies"};

/// After the name of a step: loads, at most, reached, of cuBLAS.
const std::string row = " +[0-9.]+ +[0-9.]+ TFLOP/s +[0-9.]+ TFLOP/s +[0-9]+ %$";

TEST(cuda_tiled_product, without_a_device_it_is_skipped_with_a_reason) {
  for (const std::string program : {"cuda_tiled_product", "cuda_tiled_product_race"}) {
    const auto result = run(program, {}, {.environment = {{"CUDA_VISIBLE_DEVICES", ""}}});
    EXPECT_EQ(result.exit_code, skipped) << result.text();
    EXPECT_TRUE(result.out.empty()) << result.text();
    ASSERT_EQ(result.err.size(), 1U) << result.text();
    EXPECT_THAT(result.err[0], testing::HasSubstr(program + ": skipped, no CUDA device: "));
  }
}

TEST(cuda_tiled_product, every_step_has_the_bits_of_the_processor_at_every_size) {
  // 5 is the book's size. Multiples of the tiles, one more, one less, smaller than any tile.
  for (const int size : {1, 5, 7, 31, 33, 64, 129, 256, 257, 385}) {
    const auto result = run("cuda_tiled_product", {"--size", std::to_string(size)});
    if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
    EXPECT_EQ(result.exit_code, 0) << result.text();
    ASSERT_EQ(result.out.size(), std::size(steps) + 4) << result.text();
    for (const std::string& step : steps) {
      EXPECT_EQ(result.lines_with("^" + step + row).size(), 1U) << result.text();
    }
    EXPECT_TRUE(result.has_line("ok    elements whose bits differ from the processor's, of 1000 per step: 0"))
        << result.text();
    EXPECT_TRUE(result.has_line("ok    steps with an element whose bits are not those of step 1: 0")) << result.text();
  }
}

/// A matrix with NaNs around it instead of zeros.
Matrix among_nans(int n, const std::vector<float>& host) {
  Matrix matrix(n);
  matrix.poison();
  const std::size_t row_bytes = n * sizeof(float);
  CUDA_CHECK(cudaMemcpy2D(matrix.data(), matrix.stride() * sizeof(float), host.data(), row_bytes, row_bytes, n,
                          cudaMemcpyHostToDevice));
  return matrix;
}

/// How many numbers are in the matrix and around it, in the filled up rows and columns.
std::size_t numbers_in(const Matrix& matrix) {
  std::vector<float> all(std::size_t(matrix.stride()) * matrix.stride());
  CUDA_CHECK(cudaMemcpy(all.data(), matrix.data(), all.size() * sizeof(float), cudaMemcpyDeviceToHost));
  std::size_t count = 0;
  for (const float value : all) count += !std::isnan(value);
  return count;
}

TEST(cuda_tiled_product, steps_1_and_2_check_the_bounds) {
  if (!gpu::device_found()) GTEST_SKIP() << "no CUDA device";
  for (const int n : {1, 5, 16, 31, 32, 33, 100, 256}) {
    const std::size_t count = std::size_t(n) * n;
    const std::vector<float> a = gpu::random_numbers(1, count), b = gpu::random_numbers(2, count);
    const Matrix zeros_a(n, a), zeros_b(n, b), nans_a = among_nans(n, a), nans_b = among_nans(n, b);
    for (void (*step)(const Matrix&, const Matrix&, Matrix&) : {naive, shared_tile<16>, shared_tile<32>}) {
      Matrix expected(n), c(n);
      expected.poison();
      c.poison();
      step(zeros_a, zeros_b, expected);
      step(nans_a, nans_b, c);
      EXPECT_EQ(c.to_host(), expected.to_host()) << n;
      EXPECT_EQ(numbers_in(c), count) << n;
    }
  }
}

TEST(cuda_tiled_product, at_most_follows_from_loads_clock_and_multiprocessors) {
  const auto result = run("cuda_tiled_product", {"--size", "256"});
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  const auto loads = result.captures(" ([0-9.]+) +[0-9.]+ TFLOP/s +[0-9.]+ TFLOP/s +[0-9]+ %$");
  EXPECT_EQ(loads, (std::vector<std::string>{"2.00", "1.25", "1.25", "0.19", "0.05", "0.05"})) << result.text();
  int khz = 0;
  CUDA_CHECK(cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, 0));
  // Operations per cycle: of 32 threads, two each, per multiply-add; 128 of these in so many cycles.
  const double cycles[] = {256, 160, 160, 38, 33.5, 33.5};
  const auto at_most = result.captures(" ([0-9.]+) TFLOP/s +[0-9.]+ TFLOP/s +[0-9]+ %$");
  ASSERT_EQ(at_most.size(), std::size(steps)) << result.text();
  for (std::size_t i = 0; i < std::size(steps); ++i) {
    const double expected = 128 * 64 / cycles[i] * khz * 1e-9 * gpu::multiprocessors();
    EXPECT_NEAR(std::stod(at_most[i]), expected, 0.051) << result.text();
  }
}

TEST(cuda_tiled_product_timing, every_step_is_faster_than_the_one_before_and_the_last_nearly_as_fast_as_cublas) {
  const auto result = run("cuda_tiled_product");
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  const auto at_most = result.captures(" ([0-9.]+) TFLOP/s +[0-9.]+ TFLOP/s +[0-9]+ %$");
  const auto reached = result.captures("TFLOP/s +([0-9.]+) TFLOP/s +[0-9]+ %$");
  const auto shares = result.captures("TFLOP/s +[0-9.]+ TFLOP/s +([0-9]+) %$");
  const auto library = result.captures("^cuBLAS +([0-9.]+) TFLOP/s +100 %$");
  ASSERT_EQ(reached.size(), std::size(steps)) << result.text();
  ASSERT_EQ(library.size(), 1U) << result.text();
  for (std::size_t i = 0; i < reached.size(); ++i) {
    const double speed = std::stod(reached[i]);
    if (i > 0) {
      EXPECT_GT(speed, std::stod(reached[i - 1])) << result.text();
    }
    EXPECT_LT(speed, std::stod(at_most[i])) << result.text();
    EXPECT_NEAR(std::stod(shares[i]), 100 * speed / std::stod(library[0]), 1) << result.text();
  }
  EXPECT_GT(std::stod(shares.back()), 90) << result.text();
}

TEST(cuda_tiled_product, whole_numbers_are_exact_at_the_size_of_the_article) {
  if (!std::filesystem::exists(test_support::bin() + "/cuda_tiled_product_bench"))
    GTEST_SKIP() << "no cuBLAS, no bench";
  const auto result = run("cuda_tiled_product_bench", {"--largest", "1600", "--rounds", "1"});
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  EXPECT_EQ(result.exit_code, 0) << result.text();
  EXPECT_TRUE(result.has_line("ok    n = 1600, whole numbers, cuBLAS, elements of 1000 that are not right: 0"));
  EXPECT_TRUE(result.has_line("ok    n = 1600, whole numbers, 2 tiles of 32 x 32, elements that are not cuBLAS's: 0"));
}

TEST(cuda_tiled_product, is_clean_under_compute_sanitizer) {
  cuda_test::expect_clean("cuda_tiled_product", {{"--size", "271"}, {"--size", "256"}},
                          {"memcheck", "racecheck", "initcheck", "synccheck"}, {"--kernel-regex", "kns=product"});
}

TEST(cuda_tiled_product, a_missing_barrier_is_found_by_racecheck) {
  const auto [result, not_run] = cuda_test::run_under("racecheck", "cuda_tiled_product_race");
  if (!not_run.empty()) GTEST_SKIP() << not_run;
  EXPECT_EQ(result.exit_code, 9) << result.text();
  EXPECT_GE(result.lines_with("Race reported between (Read|Write) access").size(), 1U) << result.text();
}

}  // namespace
