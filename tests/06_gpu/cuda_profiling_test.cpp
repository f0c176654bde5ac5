// The program's output, and what the profiler measures: that each slow kernel is slow for its own reason.

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "06_gpu/compute_sanitizer.hpp"
#include "support/run.hpp"

namespace {

using cuda_test::skipped;
using test_support::run;

const std::string kernels[] = {"one number per thread", "32 neighbours per thread", "too much shared memory",
                               "pow in double precision"};

/// After the name of a launch: time, slower, threads held of so many, bytes used, arithmetic alone.
const std::string row = " +[0-9]+ us +[0-9.]+ x +[0-9]+ of [0-9]+ +[0-9]+ of 32 +[0-9]+ us$";

TEST(cuda_profiling, without_a_device_it_is_skipped_with_a_reason) {
  for (const std::string program : {"cuda_profiling", "cuda_profiling_other_launch"}) {
    const auto result = run(program, {}, {.environment = {{"CUDA_VISIBLE_DEVICES", ""}}});
    EXPECT_EQ(result.exit_code, skipped) << result.text();
    EXPECT_TRUE(result.out.empty()) << result.text();
    ASSERT_EQ(result.err.size(), 1U) << result.text();
    EXPECT_THAT(result.err[0], testing::HasSubstr("skipped, no CUDA device: "));
  }
}

TEST(cuda_profiling, every_kernel_squares_any_number_of_numbers) {
  for (const std::string count : {"1", "31", "32", "33", "256", "257", "8191", "8192", "8193", "1000003"}) {
    const auto result = run("cuda_profiling", {"--count", count});
    if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
    EXPECT_EQ(result.exit_code, 0) << result.text();
    for (const std::string& kernel : kernels) {
      EXPECT_EQ(result.lines_with("^" + kernel + row).size(), 1U) << result.text();
    }
  }
}

TEST(cuda_profiling, shared_memory_lowers_the_occupancy_and_neighbours_the_bytes_used) {
  const auto result = run("cuda_profiling", {"--count", "1000"});
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  const auto held = result.captures(" x +(\\d+) of \\d+ ");
  const auto all = result.captures(" x +\\d+ of (\\d+) ");
  ASSERT_EQ(held.size(), 4U) << result.text();
  for (const int i : {0, 1, 3}) EXPECT_EQ(held[i], all[i]) << result.text();
  EXPECT_EQ(held[2], "256") << result.text();  // one block
  EXPECT_EQ(result.captures(" (\\d+) of 32 +\\d+ us$"), (std::vector<std::string>{"32", "4", "32", "32"}))
      << result.text();
}

TEST(cuda_profiling_timing, each_slow_launch_is_at_least_twice_as_slow_and_only_pow_has_long_arithmetic) {
  const auto result = run("cuda_profiling");
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  const auto times = result.captures("^[a-z0-9 ]*?(\\d+) us +[0-9.]+ x "), slower = result.captures(" ([0-9.]+) x ");
  const auto arithmetic = result.captures(" (\\d+) us$");
  ASSERT_EQ(times.size(), 4U) << result.text();
  ASSERT_EQ(slower.size(), 4U) << result.text();
  ASSERT_EQ(arithmetic.size(), 4U) << result.text();
  EXPECT_EQ(slower[0], "1.0") << result.text();
  for (int i = 0; i < 4; ++i) {
    if (i > 0) {
      EXPECT_GT(std::stod(slower[i]), 2) << result.text();
    }
    EXPECT_NEAR(std::stod(slower[i]), std::stod(times[i]) / std::stod(times[0]), 0.15) << result.text();
    // On an H200 pow() took a little longer alone (267 us) than with loads and stores (256 us).
    EXPECT_LT(std::stod(arithmetic[i]), 1.2 * std::stod(times[i])) << result.text();
  }
  for (const int i : {0, 1, 2}) EXPECT_LT(std::stod(arithmetic[i]), 0.5 * std::stod(times[i])) << result.text();
  EXPECT_GT(std::stod(arithmetic[3]), 0.8 * std::stod(times[3])) << result.text();
}

/// The path of Nsight Compute's ncu, or nothing.
std::string ncu() {
  const char* path = std::getenv("PATH");
  std::istringstream folders(std::string(path != nullptr ? path : "") + ":/usr/local/cuda/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (std::filesystem::exists(folder + "/ncu")) return folder + "/ncu";
  }
  return "";
}

TEST(cuda_profiling, the_profiler_tells_the_reasons_apart) {
  if (ncu().empty()) GTEST_SKIP() << "no ncu";
  const std::string warps = "sm__warps_active.avg.pct_of_peak_sustained_active",
                    used = "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct",
                    doubles = "sm__inst_executed_pipe_fp64.avg.pct_of_peak_sustained_active";
  // The fourth launch of each kernel, and of the one that the program runs twice the fourth of the second time.
  const auto result = run(ncu(),
                          {"--clock-control", "none", "--csv", "--metrics", warps + "," + used + "," + doubles,
                           "--kernel-id", ":::4|14", test_support::bin() + "/cuda_profiling", "--count", "4194304"},
                          {.limit = std::chrono::seconds(60)});
  const auto values = [&](const std::string& metric) {
    std::vector<double> all;
    for (const std::string& text : result.captures("\"" + metric + "\",\"[^\"]*\",\"([0-9.]+)\"")) {
      all.push_back(std::stod(text));
    }
    return all;
  };
  if (values(warps).empty()) GTEST_SKIP() << "ncu cannot measure here";
  ASSERT_EQ(values(warps).size(), 4U) << result.text();
  ASSERT_EQ(values(used).size(), 4U) << result.text();
  ASSERT_EQ(values(doubles).size(), 4U) << result.text();
  EXPECT_LT(values(warps)[2], 20);
  EXPECT_LT(values(used)[1], 20);
  EXPECT_GT(values(doubles)[3], 20);
  for (const int i : {0, 1, 3}) EXPECT_GT(values(warps)[i], 40) << kernels[i];
  for (const int i : {0, 2, 3}) EXPECT_GT(values(used)[i], 95) << kernels[i];
  for (const int i : {0, 1, 2}) EXPECT_LT(values(doubles)[i], 1) << kernels[i];
}

TEST(cuda_profiling, a_range_tells_the_profiler_which_kernel_is_meant) {
  if (ncu().empty()) GTEST_SKIP() << "no ncu";
  const auto result = run(ncu(),
                          {"--clock-control", "none", "--metrics", "gpu__time_duration.sum", "--nvtx", "--nvtx-include",
                           "32 neighbours per thread/", "--launch-count", "1", test_support::bin() + "/cuda_profiling",
                           "--count", "4194304"},
                          {.limit = std::chrono::seconds(60)});
  EXPECT_THAT(result.text(), testing::Not(testing::HasSubstr("No kernels were profiled")));
  if (result.lines_with("gpu__time_duration").empty()) GTEST_SKIP() << "ncu cannot measure here";
  EXPECT_FALSE(result.lines_with("^ +.*square_neighbours\\(").empty()) << result.text();
}

TEST(cuda_profiling, is_clean_under_compute_sanitizer) {
  cuda_test::expect_clean("cuda_profiling", {{"--count", "8193"}, {"--count", "8192"}},
                          {"memcheck", "racecheck", "initcheck", "synccheck"});
}

TEST(cuda_profiling_other_launch, the_grid_is_refused) {
  const auto result = run("cuda_profiling_other_launch");
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  EXPECT_EQ(result.exit_code, 1) << result.text();
  EXPECT_EQ(result.lines_with("^\\d+ blocks per multiprocessor: too many blocks in cooperative launch$").size(), 1U)
      << result.text();
}

}  // namespace
