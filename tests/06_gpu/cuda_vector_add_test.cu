// Vector addition on a GPU: its kernel in the process, the program and its bench seen from outside. Catalogue: B3.C1,
// B3.1.

#define main cuda_vector_add_main  // the kernel stands in the program's file, and the test has a main() of its own
#include "06_gpu/cuda_vector_add/cuda_vector_add.cu"
#undef main

#include <stdexcept>
#include <string>
#include <vector>

#include "06_gpu/compute_sanitizer.hpp"
#include "cookbook/cuda.hpp"
#include "support/run.hpp"

namespace {

using test_support::run;

/// Exit code of a recipe that found no device.
constexpr int skipped = 77;

TEST(cuda_vector_add, without_a_device_is_skipped_with_a_reason) {
  for (const std::string program : {"cuda_vector_add", "cuda_vector_add_bench", "cuda_vector_add_no_guard"}) {
    if (cuda_test::left_out(program)) continue;
    const auto result = run(program, {}, {.environment = {{"CUDA_VISIBLE_DEVICES", ""}}});
    EXPECT_EQ(result.exit_code, skipped) << result.text();
    EXPECT_TRUE(result.out.empty()) << result.text();
    ASSERT_EQ(result.err.size(), 1U) << result.text();
    EXPECT_THAT(result.err[0], testing::HasSubstr(program + ": skipped, no CUDA device: "));
  }
}

TEST(cuda_vector_add, threads_without_an_element_write_nothing) {
  if (!gpu::device_found()) GTEST_SKIP() << "no device";
  for (const int count : {0, 1, 255, 256, 257, 1000}) {
    constexpr int allocated = 1024;  // as many elements as there are threads
    const gpu::DeviceArray<float> ones(std::vector<float>(allocated, 1));
    gpu::DeviceArray<float> sum(std::vector<float>(allocated, -1));
    add<<<4, 256>>>(ones.data(), ones.data(), sum.data(), count);
    CUDA_CHECK(cudaGetLastError());
    std::vector<float> expected(allocated, -1);
    std::fill_n(expected.begin(), count, 2.0F);
    EXPECT_EQ(sum.to_host(), expected) << count;
  }
}

TEST(cuda_vector_add, every_sum_is_right_at_every_remainder) {
  for (const std::string count : {"1", "255", "256", "257", "100000", "1048576", "1048577"}) {
    const auto result = run("cuda_vector_add", {"--count", count});
    if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
    EXPECT_EQ(result.exit_code, 0) << result.text();
    ASSERT_EQ(result.out.size(), 8U) << result.text();
    const std::string many = std::to_string(50 * std::stoi(count));
    EXPECT_EQ(result.lines_with("^two vectors of +" + count + " floats +" + many + " floats$").size(), 1U);
    EXPECT_EQ(result.lines_with(" +[0-9]+\\.[0-9] us +[0-9]+\\.[0-9] us$").size(), 5U) << result.text();
    EXPECT_TRUE(result.has_line("ok    wrong sums among the few: 0")) << result.text();
    EXPECT_TRUE(result.has_line("ok    wrong sums among the many: 0")) << result.text();
  }
}

/// The times of a column in us: the loop, the copies there, the kernel, the copy back, and these three together.
std::vector<double> times_of(const test_support::Result& result, const std::string& column) {
  std::vector<double> times;
  for (const std::string& time : result.captures(column)) times.push_back(std::stod(time));
  if (times.size() != 5) throw std::runtime_error("not five rows\n" + result.text());
  return times;
}
const std::string few = " +([0-9]+\\.[0-9]) us +[0-9]+\\.[0-9] us$", many = " +[0-9]+\\.[0-9] us +([0-9]+\\.[0-9]) us$";

TEST(cuda_vector_add, the_steps_add_up_to_all_three) {
  const auto result = run("cuda_vector_add", {"--count", "10000"});
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  for (const std::string& column : {few, many}) {
    const auto times = times_of(result, column);
    EXPECT_NEAR(times[1] + times[2] + times[3], times[4], 0.21) << result.text();  // each is rounded to 0.1
  }
}

TEST(cuda_vector_add_timing, the_kernel_is_faster_than_the_loop_and_than_the_copies) {
  const auto result = run("cuda_vector_add");
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  for (const std::string& column : {few, many}) {
    const auto times = times_of(result, column);
    for (const int i : {0, 1, 3}) EXPECT_LT(times[2], times[i]) << result.text();
    EXPECT_GT(times[1], times[3]) << result.text();  // two vectors there, one back
  }
}

TEST(cuda_vector_add_timing, the_time_of_the_kernel_is_not_that_of_its_launch) {
  const auto result = run("cuda_vector_add");
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  // 600 MB are loaded and stored, by an H200 at 4.4 TB/s. In 20 us these would be 30 TB/s.
  EXPECT_GT(times_of(result, many)[2], 20) << result.text();
}

TEST(cuda_vector_add, four_per_thread_and_the_library_are_right_at_every_remainder) {
  if (cuda_test::left_out("cuda_vector_add_bench")) GTEST_SKIP() << "not built: there is no GPU";
  for (const std::string count : {"1", "3", "4", "5", "3071", "3072", "3073", "1000002", "1000003"}) {
    const auto result = run("cuda_vector_add_bench", {"--count", count}, {.environment = {{"COOKBOOK_ROUNDS", "1"}}});
    if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
    EXPECT_EQ(result.exit_code, 0) << result.text();
    EXPECT_TRUE(result.has_line("ok    right sums, one element per thread: " + count)) << result.text();
    EXPECT_TRUE(result.has_line("ok    right sums, four elements per thread: " + count)) << result.text();
    EXPECT_EQ(result.lines_with("^ok    right sums, (cub|thrust)::.*: " + count + "$").size(), 1U) << result.text();
  }
}

TEST(cuda_vector_add, a_refused_call_names_itself_the_error_and_the_line) {
  if (cuda_test::left_out("cuda_vector_add_bench")) GTEST_SKIP() << "not built: there is no GPU";
  // Three arrays of 256 GiB.
  const auto result = run("cuda_vector_add_bench", {"--count", "68719476736"});
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  EXPECT_EQ(result.exit_code, 3) << result.text();
  ASSERT_EQ(result.err.size(), 1U) << result.text();
  EXPECT_THAT(result.err[0], testing::ContainsRegex("cudaMalloc.*out of memory \\(cuda_vector_add_bench.cu:[0-9]+\\)"));
}

TEST(cuda_vector_add, is_clean_under_compute_sanitizer) {
  cuda_test::expect_clean("cuda_vector_add", {{"--count", "10001"}, {"--count", "10240"}},
                          {"memcheck", "racecheck", "initcheck", "synccheck"});
}

TEST(cuda_vector_add, frees_what_it_allocates) {
  cuda_test::expect_clean("cuda_vector_add", {{"--count", "1000"}}, {"memcheck"}, {"--leak-check", "full"});
}

TEST(cuda_vector_add, the_bench_is_clean_under_memcheck) {
  cuda_test::expect_clean("cuda_vector_add_bench", {{"--count", "10003"}, {"--count", "10240"}}, {"memcheck"});
}

}  // namespace
