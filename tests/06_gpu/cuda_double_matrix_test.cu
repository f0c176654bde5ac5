// The kernel in the process, with the book's matrix; the program seen from outside: what it prints is read back and
// doubled here. Catalogue: 6.C5, 6.2, 8.C5, 8.2.

#define main cuda_double_matrix_main  // the kernel stands in the program's file, and the test has a main() of its own
#include "06_gpu/cuda_double_matrix/cuda_double_matrix.cu"
#undef main

#include <algorithm>
#include <cuda/std/mdspan>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "06_gpu/compute_sanitizer.hpp"
#include "support/run.hpp"

namespace {

using test_support::Result;
using test_support::run;

constexpr int skipped = 77;

const Matrix book = {-0.59975582F, 1.93627465F,  0.65337795F,  0.13205571F,  -0.46468592F,  //
                     0.01441949F,  1.40946579F,  0.5343408F,   -0.46614054F, -0.31727529F,  //
                     -0.06868593F, 1.21149373F,  -0.6035406F,  -1.29117763F, 0.47762445F,   //
                     0.36176383F,  -1.443097F,   1.21592784F,  -1.04906416F, -1.18935871F,  //
                     -0.06960868F, -1.44647694F, -1.22041082F, 1.17092752F,  0.3686313F};

/// What one block of so many threads makes of the book's numbers, taken as the beginning of rows of that length.
Matrix after(int rows, int columns) {
  gpu::DeviceArray<float> device_matrix(book);
  double_elements<<<1, dim3(columns, rows)>>>(device_matrix.data(), rows, columns);
  CUDA_CHECK(cudaGetLastError());
  return device_matrix.to_host();
}

TEST(cuda_double_matrix, the_books_matrix_gives_the_second_editions_result) {
  if (!gpu::device_found()) GTEST_SKIP() << "no device";
  const std::vector<double> printed = {-1.19951165, 3.8725493,   1.3067559,   0.26411143,  -0.92937183,  //
                                       0.02883899,  2.81893158,  1.0686816,   -0.93228108, -0.63455057,  //
                                       -0.13737187, 2.42298746,  -1.2070812,  -2.58235526, 0.95524889,   //
                                       0.72352767,  -2.886194,   2.43185568,  -2.09812832, -2.37871742,  //
                                       -0.13921736, -2.89295388, -2.44082164, 2.34185504,  0.73726263};
  const Matrix doubled = after(5, 5);
  for (int i = 0; i < 25; ++i) {
    EXPECT_EQ(doubled[i], 2 * book[i]);
    EXPECT_NEAR(doubled[i], printed[i], 1e-6);
  }
}

TEST(cuda_double_matrix, a_block_of_4_x_4_and_rows_of_4_give_the_first_editions_result) {
  if (!gpu::device_found()) GTEST_SKIP() << "no device";
  const Matrix result = after(4, 4);
  for (int i = 0; i < 25; ++i) EXPECT_EQ(result[i], i < 16 ? 2 * book[i] : book[i]) << i;
}

/// The kernel as the page has it with mdspan.
__global__ void double_by_mdspan(cuda::std::mdspan<float, cuda::std::dextents<int, 2>> matrix) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row < matrix.extent(0) && column < matrix.extent(1)) matrix(row, column) *= 2;
}

TEST(cuda_double_matrix, an_mdspan_works_out_the_same_index) {
  if (!gpu::device_found()) GTEST_SKIP() << "no device";
  std::vector<float> numbers(17 * 35), expected(17 * 35);
  for (int i = 0; i < 17 * 35; ++i) expected[i] = 2 * (numbers[i] = static_cast<float>(i));
  gpu::DeviceArray<float> matrix(numbers);
  double_by_mdspan<<<dim3(3, 2), dim3(16, 16)>>>(
      cuda::std::mdspan<float, cuda::std::dextents<int, 2>>(matrix.data(), 17, 35));
  CUDA_CHECK(cudaGetLastError());
  EXPECT_EQ(matrix.to_host(), expected);
  EXPECT_EQ(doubled_on_device(numbers, 17, 35), expected);
}

static_assert(!std::is_copy_constructible_v<gpu::DeviceArray<float>>);  // "It can be moved, but not copied"

/// The numbers of the lines between a heading and the first check.
std::vector<double> numbers_after(const Result& result, const std::string& heading) {
  std::vector<double> numbers;
  auto line = std::find(result.out.begin(), result.out.end(), heading);
  if (line == result.out.end()) return numbers;
  for (++line; line != result.out.end(); ++line) {
    std::istringstream text(*line);
    double number = 0;
    if (!(text >> number)) break;
    do numbers.push_back(number);
    while (text >> number);
  }
  return numbers;
}

void expect_doubled(int rows, int columns) {
  const auto result = run("cuda_double_matrix", {"--rows", std::to_string(rows), "--columns", std::to_string(columns)});
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  EXPECT_EQ(result.exit_code, 0) << result.text();
  const auto doubled = numbers_after(result, std::to_string(rows) + " rows of " + std::to_string(columns) +
                                                 " elements; each was its index, and is doubled");
  ASSERT_EQ(doubled.size(), static_cast<std::size_t>(rows * columns)) << result.text();
  for (std::size_t i = 0; i < doubled.size(); ++i) EXPECT_EQ(doubled[i], 2 * i);
  EXPECT_TRUE(result.has_line("ok    every element is exactly twice what it was: yes")) << result.text();
}

TEST(cuda_double_matrix, a_square_one_of_five_rows) { expect_doubled(5, 5); }

TEST(cuda_double_matrix, a_single_row) { expect_doubled(1, 2); }

TEST(cuda_double_matrix, more_columns_than_rows) { expect_doubled(3, 32); }

TEST(cuda_double_matrix, more_rows_than_columns) { expect_doubled(32, 3); }

TEST(cuda_double_matrix, exactly_whole_blocks) { expect_doubled(16, 48); }

TEST(cuda_double_matrix, one_more_than_whole_blocks) { expect_doubled(33, 17); }

TEST(cuda_double_matrix, a_hundred_rows_and_columns) { expect_doubled(100, 100); }

TEST(cuda_double_matrix, an_array_of_the_device_can_be_moved) {
  if (!gpu::device_found()) GTEST_SKIP() << "no device";
  const std::vector<float> numbers = {1, 2, 3};
  gpu::DeviceArray<float> first(numbers);
  gpu::DeviceArray<float> second(std::move(first));
  EXPECT_EQ(first.size(), 0U);
  EXPECT_EQ(first.data(), nullptr);
  EXPECT_EQ(second.to_host(), numbers);
  first = std::move(second);
  EXPECT_EQ(first.to_host(), numbers);
}

__global__ void write_zero(float* number) { *number = 0; }

TEST(cuda_double_matrix, a_write_behind_an_array_is_noticed_by_its_guard_bytes) {
  if (!gpu::device_found()) GTEST_SKIP() << "no device";
  testing::FLAGS_gtest_death_test_style = "threadsafe";  // a forked process cannot use its parent's device
  const auto write = [](std::size_t index) {
    setenv("COOKBOOK_GUARD", "1", 1);
    {
      gpu::DeviceArray<float> numbers(4);
      write_zero<<<1, 1>>>(numbers.data() + index);
      CUDA_CHECK(cudaGetLastError());
    }
    std::_Exit(0);
  };
  EXPECT_EXIT(write(3), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(write(4), testing::ExitedWithCode(1), "something was written behind an array of 4 values");
}

TEST(cuda_double_matrix, is_clean_under_compute_sanitizer) {
  cuda_test::expect_clean("cuda_double_matrix",
                          {{"--rows", "31", "--columns", "7"}, {"--rows", "32", "--columns", "32"}},
                          {"memcheck", "racecheck", "initcheck", "synccheck"});
}

TEST(cuda_double_matrix_row_length, leaves_out_the_end_and_meets_itself_at_the_ends_of_rows) {
  const auto result = run("cuda_double_matrix_row_length");
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  EXPECT_EQ(result.exit_code, 1) << result.text();
  EXPECT_TRUE(result.has_line("two threads have element 4 8 12 16")) << result.text();
  EXPECT_TRUE(result.has_line("no thread has element 21 22 23 24")) << result.text();
}

}  // namespace
