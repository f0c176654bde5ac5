// The program's output, and what the profiler measures: that each slow kernel is slow for its own reason.

#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "06_gpu/compute_sanitizer.hpp"
#include "support/run.hpp"

namespace {

using cuda_test::skipped;
using test_support::run;

const std::string kernels[] = {"one number per thread",  "8 neighbours per thread", "32 neighbours per thread",
                               "32, with __restrict__",  "too much shared memory",  "the same, 4 per thread",
                               "pow in double precision"};
constexpr std::size_t rows = std::size(kernels);
enum { one, eight, neighbours, with_restrict, shared, four, by_pow };

/// After the name of a launch: time, slower, threads held of so many, KiB touched, bytes used, squares alone, suspect.
const std::string row = " +[0-9]+ us +[0-9.]+ x +[0-9]+ of [0-9]+ +[0-9]+ KiB +[0-9]+ of 32 +[0-9]+ us   [a-z, -]+$";

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
  const auto held = result.captures(" x +(\\d+) of \\d+ "), all = result.captures(" x +\\d+ of (\\d+) ");
  const auto touched = result.captures(" (\\d+) KiB ");
  ASSERT_EQ(held.size(), rows) << result.text();
  ASSERT_EQ(touched.size(), rows) << result.text();
  for (const int i : {one, eight, neighbours, with_restrict, by_pow}) EXPECT_EQ(held[i], all[i]) << result.text();
  for (const int i : {shared, four}) EXPECT_EQ(held[i], "256") << result.text();  // one block
  const int per_thread[] = {1, 8, 32, 32, 1, 4, 1};
  for (std::size_t i = 0; i < rows; ++i) {  // 4 bytes read and 4 written for each number
    EXPECT_EQ(std::stoi(touched[i]), std::stoi(held[i]) * per_thread[i] * 8 / 1024) << result.text();
  }
  EXPECT_EQ(result.captures(" (\\d+) of 32 +\\d+ us "),
            (std::vector<std::string>{"32", "4", "4", "4", "32", "32", "32"}))
      << result.text();
}

TEST(cuda_profiling_timing, each_slow_launch_is_slow_for_its_reason_and_the_repairs_help) {
  const auto result = run("cuda_profiling");
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  const auto slower = result.captures(" ([0-9.]+) x ");
  std::vector<double> times, alone;
  for (const auto& text : result.captures(" (\\d+) us +[0-9.]+ x ")) times.push_back(std::stod(text));
  for (const auto& text : result.captures(" of 32 +(\\d+) us ")) alone.push_back(std::stod(text));
  ASSERT_EQ(times.size(), rows) << result.text();
  ASSERT_EQ(slower.size(), rows) << result.text();
  ASSERT_EQ(alone.size(), rows) << result.text();
  EXPECT_EQ(slower[one], "1.0") << result.text();
  for (std::size_t i = 0; i < rows; ++i) {
    EXPECT_NEAR(std::stod(slower[i]), times[i] / times[one], 0.15) << result.text();
    // On an H200 pow() took a little longer alone (267 us) than with loads and stores (256 us).
    EXPECT_LT(alone[i], 1.2 * times[i]) << result.text();
    if (i != by_pow) {
      EXPECT_LT(alone[i], 0.5 * times[i]) << result.text();
    }
  }
  for (const int i : {eight, neighbours, with_restrict, shared, by_pow}) {
    EXPECT_GT(times[i], 2 * times[one]) << result.text();
  }
  EXPECT_GT(times[neighbours], 2 * times[eight]) << result.text();
  EXPECT_GT(times[neighbours], 1.3 * times[with_restrict]) << result.text();
  EXPECT_GT(times[shared], 2 * times[four]) << result.text();
  EXPECT_GT(alone[by_pow], 0.8 * times[by_pow]) << result.text();
  const auto suspects = result.captures(" us   ([a-z, -]+)$"), touched = result.captures(" (\\d+) KiB ");
  ASSERT_EQ(suspects.size(), rows) << result.text();
  EXPECT_EQ(suspects[one], "-") << result.text();
  for (const int i : {eight, neighbours, with_restrict}) {  // 256 KiB: the first-level cache of an H200
    EXPECT_EQ(suspects[i], std::stoi(touched[i]) > 256 ? "bytes used, touched" : "bytes used") << result.text();
  }
  for (const int i : {shared, four}) EXPECT_EQ(suspects[i], "threads held") << result.text();
  EXPECT_EQ(suspects[by_pow], "squares alone") << result.text();
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

/// What ncu says of the first launch of a row, which it finds by its range.
test_support::Result profiled(const std::string& launch, std::vector<std::string> options) {
  options.insert(options.begin(),
                 {"--clock-control", "none", "--nvtx", "--nvtx-include", launch + "/", "--launch-count", "1"});
  options.push_back(test_support::bin() + "/cuda_profiling");
  return run(ncu(), options, {.limit = std::chrono::seconds(60)});
}

TEST(cuda_profiling, the_profiler_tells_the_reasons_apart) {
  if (ncu().empty()) GTEST_SKIP() << "no ncu";
  const std::string warps = "sm__warps_active.avg.pct_of_peak_sustained_active",
                    used = "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct",
                    doubles = "sm__inst_executed_pipe_fp64.avg.pct_of_peak_sustained_active",
                    hits = "l1tex__t_sector_hit_rate.pct";
  double hit_rates[rows] = {};
  for (const int i : {one, eight, neighbours, with_restrict, shared, by_pow}) {
    const auto result = profiled(kernels[i], {"--csv", "--metrics", warps + "," + used + "," + doubles + "," + hits});
    EXPECT_THAT(result.text(), testing::Not(testing::HasSubstr("No kernels were profiled")));
    const auto value = [&](const std::string& metric) {
      const auto found = result.captures("\"" + metric + "\",\"[^\"]*\",\"([0-9.]+)\"");
      return found.size() == 1 ? std::stod(found[0]) : -1;
    };
    if (value(warps) < 0) GTEST_SKIP() << "ncu cannot measure here";
    if (i == neighbours || i == with_restrict) {
      EXPECT_FALSE(result.lines_with("square_(neighbours|restrict)").empty()) << result.text();
    }
    EXPECT_EQ(value(warps) < 20, i == shared) << kernels[i] << '\n' << result.text();
    EXPECT_EQ(value(used) < 20, i == eight || i == neighbours || i == with_restrict) << result.text();
    EXPECT_EQ(value(doubles) > 20, i == by_pow) << kernels[i] << '\n' << result.text();
    hit_rates[i] = value(hits);
  }
  // With 512 KiB the sectors are driven out before the thread's next load, unless this follows at once.
  EXPECT_LT(hit_rates[neighbours], 0.5 * hit_rates[eight]);
  EXPECT_LT(hit_rates[neighbours], 0.5 * hit_rates[with_restrict]);
}

TEST(cuda_profiling, the_profiler_says_in_words_what_is_wrong_with_32_neighbours) {
  if (ncu().empty()) GTEST_SKIP() << "no ncu";
  const auto result = profiled(kernels[neighbours], {"--section", "SourceCounters", "--section", "WarpStateStats"});
  EXPECT_THAT(result.text(), testing::Not(testing::HasSubstr("No kernels were profiled")));
  if (result.lines_with("Warp State Statistics").empty()) GTEST_SKIP() << "ncu cannot measure here";
  EXPECT_THAT(result.text(), testing::HasSubstr("uncoalesced global accesses"));
  EXPECT_THAT(result.text(), testing::HasSubstr("scoreboard dependency"));
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
