// The kernel in the process, with the book's matrix; the program seen from outside: what it prints is read back and
// doubled here. Catalogue: 6.C5, 6.2, 8.C5, 8.2.

#define main cuda_double_matrix_main  // the kernel stands in the program's file, and the test has a main() of its own
#include "06_gpu/cuda_double_matrix/cuda_double_matrix.cu"
#undef main

#include <algorithm>
#include <sstream>
#include <string>
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

/// What the kernel makes of the book's matrix if it runs in such a block and takes the rows to be `row_length` long.
Matrix after(dim3 block, int row_length) {
  gpu::DeviceArray<float> device_matrix(book);
  double_elements<<<1, block>>>(device_matrix.data(), row_length);
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
  const Matrix doubled = after(dim3(5, 5), 5);
  for (int i = 0; i < 25; ++i) {
    EXPECT_EQ(doubled[i], 2 * book[i]);
    EXPECT_NEAR(doubled[i], printed[i], 1e-6);
  }
}

TEST(cuda_double_matrix, a_block_of_4_x_4_and_rows_of_4_give_the_first_editions_result) {
  if (!gpu::device_found()) GTEST_SKIP() << "no device";
  const Matrix result = after(dim3(4, 4), 4);
  for (int i = 0; i < 25; ++i) EXPECT_EQ(result[i], i < 16 ? 2 * book[i] : book[i]) << i;
}

TEST(cuda_double_matrix, the_books_kernel_leaves_out_the_last_four) {
  if (!gpu::device_found()) GTEST_SKIP() << "no device";
  const Matrix result = after(dim3(5, 5), 4);
  for (int i = 0; i < 25; ++i) {
    const bool by_two_threads = i == 4 || i == 8 || i == 12 || i == 16;
    if (!by_two_threads) EXPECT_EQ(result[i], i <= 20 ? 2 * book[i] : book[i]) << i;
  }
}

/// The numbers of the lines between two headings, or to the first check.
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
  const auto matrix = numbers_after(result, "matrix"), doubled = numbers_after(result, "doubled on the device");
  ASSERT_EQ(matrix.size(), static_cast<std::size_t>(rows * columns)) << result.text();
  ASSERT_EQ(doubled.size(), matrix.size()) << result.text();
  for (std::size_t i = 0; i < matrix.size(); ++i) EXPECT_NEAR(doubled[i], 2 * matrix[i], 2e-4) << i;  // as printed
  EXPECT_TRUE(result.has_line("ok    every element is exactly twice what it was: yes")) << result.text();
}

TEST(cuda_double_matrix, a_square_one_of_five_rows) { expect_doubled(5, 5); }

TEST(cuda_double_matrix, a_single_element) { expect_doubled(1, 1); }

TEST(cuda_double_matrix, more_columns_than_rows) { expect_doubled(3, 32); }

TEST(cuda_double_matrix, more_rows_than_columns) { expect_doubled(32, 3); }

TEST(cuda_double_matrix, the_largest_block) { expect_doubled(32, 32); }

TEST(cuda_double_matrix, a_block_beyond_1024_threads_is_refused) {
  const auto result = run("cuda_double_matrix");
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  EXPECT_TRUE(result.has_line("32 x 32 threads: started")) << result.text();
  EXPECT_TRUE(result.has_line("ok    elements doubled by 32 x 32 threads: 1024")) << result.text();
  EXPECT_TRUE(result.has_line("33 x 33 threads: refused")) << result.text();
  EXPECT_TRUE(result.has_line("ok    elements doubled by 33 x 33 threads: 0")) << result.text();
}

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
  // The program asks for a launch that is refused, which memcheck would report as an error of the program.
  cuda_test::expect_clean("cuda_double_matrix",
                          {{"--rows", "31", "--columns", "7"}, {"--rows", "32", "--columns", "32"}},
                          {"memcheck", "racecheck", "initcheck", "synccheck"}, {"--report-api-errors", "no"});
}

TEST(cuda_double_matrix_row_length, leaves_out_the_end_and_meets_itself_at_the_ends_of_rows) {
  const auto result = run("cuda_double_matrix_row_length");
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  EXPECT_EQ(result.exit_code, 1) << result.text();
  EXPECT_TRUE(result.has_line("two threads have element 4 8 12 16")) << result.text();
  EXPECT_TRUE(result.has_line("no thread has element 21 22 23 24")) << result.text();
}

}  // namespace
