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
      EXPECT_EQ(result.lines_with("^" + kernel + " +[0-9]+ GB/s +[0-9]+ of [0-9]+ threads per multiprocessor$").size(),
                1U)
          << result.text();
    }
  }
}

TEST(cuda_profiling, shared_memory_alone_lowers_the_occupancy) {
  const auto result = run("cuda_profiling", {"--count", "1000"});
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  const auto held = result.captures(" (\\d+) of \\d+ threads per multiprocessor$");
  const auto all = result.captures(" \\d+ of (\\d+) threads per multiprocessor$");
  ASSERT_EQ(held.size(), 4U) << result.text();
  EXPECT_EQ(held[0], all[0]) << result.text();
  EXPECT_EQ(held[1], all[1]) << result.text();
  EXPECT_EQ(held[2], "256") << result.text();  // one block
}

TEST(cuda_profiling_timing, the_first_kernel_is_at_least_twice_as_fast_as_each_other) {
  const auto result = run("cuda_profiling");
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  const auto rates = result.captures(" ([0-9]+) GB/s ");
  ASSERT_EQ(rates.size(), 4U) << result.text();
  for (int i = 1; i < 4; ++i) EXPECT_GT(std::stod(rates[0]), 2 * std::stod(rates[i])) << result.text();
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
