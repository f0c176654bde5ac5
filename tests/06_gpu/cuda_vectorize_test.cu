// The program's output; vectorize() from inside.

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <thread>
#include <vector>

#include "06_gpu/compute_sanitizer.hpp"
#include "06_gpu/cuda_vectorize/vectorize.cuh"
#include "06_gpu/without_device.hpp"
#include "support/eventually.hpp"
#include "support/run.hpp"

namespace {

using cuda_test::skipped;
using test_support::run;

struct Add {
  __host__ __device__ float operator()(float a, float b) const { return a + b; }
};

/// Not symmetric, and not 0 where both are.
struct Quotient {
  __host__ __device__ float operator()(float a, float b) const { return (a + 1) / (b + 3); }
};

/// What a plain loop computes.
template <typename Function>
std::vector<float> expected(Function function, const std::vector<float>& a, const std::vector<float>& b) {
  std::vector<float> result(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) result[i] = function(a[i], b[i]);
  return result;
}

TEST(cuda_vectorize, the_processor_works_on_vectors_of_every_length) {
  for (const std::size_t count : {0U, 1U, 255U, 256U, 257U, 1'000'003U}) {
    const auto a = gpu::random_numbers(3, count), b = gpu::random_numbers(4, count);
    EXPECT_EQ(vectorize(Add{}, Target::cpu)(a, b), expected(Add{}, a, b)) << count;
    EXPECT_EQ(vectorize(Quotient{}, Target::cpu)(a, b), expected(Quotient{}, a, b)) << count;
  }
}

std::atomic<int> threads_that_added = 0;

/// On the host, every thread that comes here counts itself once.
struct AddAndCount {
  __host__ __device__ float operator()(float a, float b) const {
#ifndef __CUDA_ARCH__
    thread_local bool counted = false;
    if (!counted) ++threads_that_added;
    counted = true;
#endif
    return a + b;
  }
};

TEST(cuda_vectorize, several_threads_work_on_the_processor) {
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "one core: the library takes no further thread";
  const auto a = gpu::random_numbers(3, 1'000'003), b = gpu::random_numbers(4, 1'000'003);
  const auto add = vectorize(AddAndCount{}, Target::cpu);
  EXPECT_TRUE(test_support::eventually([&] {
    EXPECT_EQ(add(a, b), expected(Add{}, a, b));
    return threads_that_added >= 2;
  })) << "only one thread has added";
}

TEST(cuda_vectorize, the_gpu_works_on_vectors_of_every_length) {
  if (!gpu::device_found()) GTEST_SKIP() << "no CUDA device";
  for (const std::size_t count : {0U, 1U, 255U, 256U, 257U, 5'003U}) {
    const auto a = gpu::random_numbers(3, count), b = gpu::random_numbers(4, count);
    EXPECT_EQ(vectorize(Add{}, Target::gpu)(a, b), expected(Add{}, a, b)) << count;
    EXPECT_EQ(vectorize(Quotient{}, Target::gpu)(a, b), expected(Quotient{}, a, b)) << count;
  }
}

TEST(cuda_vectorize, vectors_of_different_lengths_are_refused) {
  for (const Target target : {Target::cpu, Target::gpu}) {
    const auto add = vectorize(Add{}, target);
    EXPECT_THROW(add(std::vector<float>(3), std::vector<float>(4)), std::invalid_argument);
    EXPECT_THROW(add(std::vector<float>(4), std::vector<float>(3)), std::invalid_argument);
  }
}

const std::string rows[] = {"a \\+ b", "10 divisions", "30 divisions", "100 divisions", "300 divisions"};

/// What Target::gpu does besides its kernel.
const std::string parts[] = {"make the vector of the results", "allocate and free three arrays on the device",
                             "three copies, from and to vectors", "the same, from and to page-locked memory"};

TEST(cuda_vectorize, all_results_have_the_same_bits) {
  for (const std::string count : {"1", "257", "100003"}) {
    const auto result = run("cuda_vectorize", {"--count", count});
    const bool device = result.exit_code != skipped;
    EXPECT_EQ(result.exit_code, device ? 0 : skipped) << result.text();
    for (const std::string& row : rows) {
      EXPECT_EQ(result.lines_with("^" + row + (device ? "( +[0-9.]+ ms){3}$" : " +[0-9.]+ ms$")).size(), 1U)
          << result.text();
    }
    for (const std::string& part : parts) {
      EXPECT_EQ(result.lines_with("^" + part + " +[0-9.]+ ms$").size(), device ? 1U : 0U) << result.text();
    }
    EXPECT_TRUE(result.has_line("ok    results with other bits than a loop's: 0")) << result.text();
  }
}

TEST(cuda_vectorize, the_processor_needs_no_device) {
  const auto result = run("cuda_vectorize", {"--count", "1000"}, {.environment = {{"CUDA_VISIBLE_DEVICES", ""}}});
  EXPECT_EQ(result.exit_code, skipped) << result.text();
  EXPECT_EQ(result.lines_with("^per pair of numbers +Target::cpu$").size(), 1U) << result.text();
  for (const std::string& row : rows) {
    EXPECT_EQ(result.lines_with("^" + row + " +[0-9.]+ ms$").size(), 1U) << result.text();
  }
  EXPECT_TRUE(result.has_line("ok    results with other bits than a loop's: 0")) << result.text();
}

/// The times in this row of the output, in ms: the processor's, the GPU's, and its kernel's.
std::array<double, 3> times_of(const test_support::Result& result, const std::string& row) {
  std::array<double, 3> times;
  const std::string time = " +([0-9.]+) ms", other = " +[0-9.]+ ms";
  const std::string columns[] = {time + other + other, other + time + other, other + other + time};
  for (std::size_t i = 0; i < times.size(); ++i) {
    const auto found = result.captures("^" + row + columns[i] + "$");
    EXPECT_EQ(found.size(), 1U) << result.text();
    times[i] = found.size() == 1 ? std::stod(found[0]) : std::nan("");
  }
  return times;
}

TEST(cuda_vectorize_timing, the_gpu_loses_for_a_sum_and_wins_for_many_terms) {
  const auto result = run("cuda_vectorize");
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  const auto sum = times_of(result, "a \\+ b"), series = times_of(result, "300 divisions");
  EXPECT_LT(sum[0], sum[1]) << result.text();
  EXPECT_GT(series[0], series[1]) << result.text();
  for (const auto& times : {sum, series}) EXPECT_LT(times[2], times[1]) << result.text();
  // The parts explain most of the rest of a call, which is the same in all rows (74 to 103 % of the shortest in six
  // runs: in a call they take longer than alone), and page-locked memory would save a part of it.
  double rest = std::numeric_limits<double>::infinity();
  for (const std::string& row : rows) {
    const auto times = times_of(result, row);
    rest = std::min(rest, times[1] - times[2]);
  }
  double explained = 0;
  std::vector<double> part_times;
  for (const std::string& part : parts) {
    const auto found = result.captures("^" + part + " +([0-9.]+) ms$");
    ASSERT_EQ(found.size(), 1U) << result.text();
    part_times.push_back(std::stod(found[0]));
  }
  for (std::size_t i = 0; i < 3; ++i) explained += part_times[i];
  EXPECT_GT(explained / rest, 0.5) << result.text();
  EXPECT_LT(explained / rest, 1.3) << result.text();
  EXPECT_LT(part_times[3], part_times[2]) << result.text();
}

TEST(cuda_vectorize, target_gpu_leaves_the_work_to_the_device) {
  if (!cuda_test::can_run_without_device) GTEST_SKIP() << "not in a sanitizer's build";
  const auto result = cuda_test::run_without_device("cuda_vectorize", {"--count", "1000"}).result;
  // No kernel is run, so both results of each row that the GPU should compute are wrong, and Target::cpu's are right.
  EXPECT_TRUE(result.has_line("FAIL  results with other bits than a loop's: 10000, expected 0")) << result.text();
}

TEST(cuda_vectorize, is_clean_under_compute_sanitizer) {
  const std::vector<std::vector<std::string>> sizes = {{"--count", "1001"}, {"--count", "1024"}};
  cuda_test::expect_clean("cuda_vectorize", sizes, {"racecheck"});
  cuda_test::expect_clean("cuda_vectorize", sizes, {"memcheck"}, {"--leak-check", "full"});
}

}  // namespace
