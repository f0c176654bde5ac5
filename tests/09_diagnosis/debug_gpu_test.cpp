// What each tool says of each faulty kernel: the line, the thread and the block; and what none of them sees.

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "06_gpu/compute_sanitizer.hpp"
#include "06_gpu/without_device.hpp"
#include "support/run.hpp"

namespace {

using cuda_test::run_under;
using cuda_test::skipped;
using test_support::run;

const std::string no_wrong_numbers = "ok    wrong numbers: 0";

/// Each fault of debug_gpu, and the tool that finds it.
const std::pair<std::string, std::string> faults[] = {
    {"store", "memcheck"}, {"unwritten", "initcheck"}, {"race", "racecheck"}, {"barrier", "synccheck"}};

/// The line of debug_gpu.cu that the first finding names after `words`, white space before and after it aside.
std::string source_line(const test_support::Result& result, const std::string& words) {
  std::smatch match;
  const std::string text = result.text();
  if (!std::regex_search(text, match, std::regex(words + "[^\\n]*debug_gpu.cu:([0-9]+)"))) return "none: " + text;
  const auto root = std::filesystem::weakly_canonical(std::filesystem::path(test_support::bin()).parent_path() /
                                                      __FILE__ / "../../..");
  std::ifstream source(root / "chapters/09_diagnosis/debug_gpu/debug_gpu.cu");
  std::string line;
  for (int number = std::stoi(match.str(1)); number > 0; --number) std::getline(source, line);
  return line.substr(std::min(line.find_first_not_of(' '), line.size()));
}

TEST(debug_gpu, without_a_device_it_is_skipped_with_a_reason) {
  for (const std::string program : {"debug_gpu", "debug_gpu_one_allocation"}) {
    const auto result = run(program, {}, {.environment = {{"CUDA_VISIBLE_DEVICES", ""}}});
    EXPECT_EQ(result.exit_code, skipped) << result.text();
    EXPECT_TRUE(result.out.empty()) << result.text();
    ASSERT_EQ(result.err.size(), 1U) << result.text();
    EXPECT_THAT(result.err[0], testing::HasSubstr("skipped, no CUDA device: "));
  }
}

TEST(debug_gpu, every_number_that_no_kernel_has_written_is_wrong) {
  if (!cuda_test::can_run_without_device) GTEST_SKIP() << "not in a sanitizer's build";
  // No kernel runs. The memory holds sevens: sums and squares are never seven here, and one number is (1 x 7).
  const std::pair<std::string, std::string> wrong_of[] = {
      {"store", "1000"}, {"unwritten", "999"}, {"race", "256"}, {"barrier", "256"}};
  for (const auto& [fault, wrong] : wrong_of) {
    const auto result =
        cuda_test::run_without_device("debug_gpu", {"--fault", fault}, {{"COOKBOOK_CUDA_POISON", "7"}}).result;
    EXPECT_EQ(result.exit_code, 1) << result.text();
    EXPECT_THAT(result.out, testing::ElementsAre("FAIL  wrong numbers: " + wrong + ", expected 0")) << result.text();
  }
}

TEST(debug_gpu, a_refused_launch_ends_the_program) {
  if (!cuda_test::can_run_without_device) GTEST_SKIP() << "not in a sanitizer's build";
  for (const auto& [fault, tool] : faults) {
    const auto result =
        cuda_test::run_without_device("debug_gpu", {"--fault", fault}, {{"COOKBOOK_CUDA_REFUSED", "1"}}).result;
    EXPECT_EQ(result.exit_code, 3) << fault << result.text();
  }
}

TEST(debug_gpu, a_fault_that_it_does_not_know_is_refused) {
  const auto result = run("debug_gpu", {"--fault", "another one"});
  EXPECT_EQ(result.exit_code, 2) << result.text();
  EXPECT_EQ(result.err.size(), 1U) << result.text();
}

/// The kernel that stores behind its array, whose end is that of an allocation here: 1024 numbers have 4096 bytes, and
/// the next array begins directly behind them.
const std::vector<std::string> side_by_side = {"--fault", "store", "--numbers", "1024"};

TEST(debug_gpu, without_a_tool_a_store_changes_only_an_array_that_begins_there) {
  const auto behind_nothing = run("debug_gpu");
  if (behind_nothing.exit_code == skipped) GTEST_SKIP() << behind_nothing.err[0];
  EXPECT_EQ(behind_nothing.exit_code, 0) << behind_nothing.text();
  EXPECT_THAT(behind_nothing.out, testing::ElementsAre(no_wrong_numbers));
  const auto into_another = run("debug_gpu", side_by_side);
  EXPECT_EQ(into_another.exit_code, 1) << into_another.text();
  EXPECT_THAT(into_another.out, testing::ElementsAre("FAIL  wrong numbers: 1, expected 0"));
  const auto barrier = run("debug_gpu", {"--fault", "barrier"});
  EXPECT_THAT(barrier.out, testing::ElementsAre(no_wrong_numbers));
}

TEST(debug_gpu, memcheck_needs_padding_between_arrays_that_lie_side_by_side) {
  const auto [result, not_run] = run_under("memcheck", "debug_gpu", side_by_side);
  if (!not_run.empty()) GTEST_SKIP() << not_run;
  EXPECT_EQ(result.exit_code, 1) << result.text();  // the program's own
  EXPECT_TRUE(result.has_line("========= ERROR SUMMARY: 0 errors")) << result.text();
  const auto padded = run_under("memcheck", "debug_gpu", side_by_side, {"--padding", "32"}).result;
  EXPECT_EQ(padded.exit_code, 9) << padded.text();
  EXPECT_THAT(padded.text(), testing::HasSubstr("by thread (0,0,0) in block (4,0,0)"));  // 4 x 256 is 1024
}

TEST(debug_gpu, each_fault_is_found_by_one_tool_alone) {
  for (const auto& [fault, its_tool] : faults) {
    for (const auto& [other, tool] : faults) {
      const auto [result, not_run] = run_under(tool, "debug_gpu", {"--fault", fault});
      if (!not_run.empty()) GTEST_SKIP() << not_run;
      if (tool == its_tool) {
        EXPECT_EQ(result.exit_code, 9) << fault << " under " << tool << '\n' << result.text();
      } else {
        // The race may have spoiled a number, but no tool has found it.
        EXPECT_LE(result.exit_code, fault == "race" ? 1 : 0) << fault << " under " << tool << '\n' << result.text();
      }
    }
  }
}

TEST(debug_gpu, memcheck_names_line_thread_and_block_of_the_store) {
  const auto [result, not_run] = run_under("memcheck", "debug_gpu", {"--fault", "store"});
  if (!not_run.empty()) GTEST_SKIP() << not_run;
  EXPECT_THAT(result.text(), testing::HasSubstr("Invalid __global__ write of size 4 bytes"));
  EXPECT_THAT(result.text(), testing::HasSubstr("by thread (232,0,0) in block (3,0,0)"));  // 3 x 256 + 232
  EXPECT_THAT(source_line(result, " at set_squares"), testing::HasSubstr("squares[i] = i * i;"));
}

TEST(debug_gpu, initcheck_names_the_line_that_reads_what_nobody_has_written) {
  const auto [result, not_run] = run_under("initcheck", "debug_gpu", {"--fault", "unwritten"});
  if (!not_run.empty()) GTEST_SKIP() << not_run;
  EXPECT_THAT(result.text(), testing::HasSubstr("Uninitialized __global__ memory read of size 4 bytes"));
  EXPECT_THAT(source_line(result, " at add_to_totals"), testing::HasSubstr("totals[i] += numbers[i];"));
}

TEST(debug_gpu, racecheck_names_both_lines_of_the_race) {
  const auto [result, not_run] = run_under("racecheck", "debug_gpu", {"--fault", "race"});
  if (!not_run.empty()) GTEST_SKIP() << not_run;
  EXPECT_EQ(source_line(result, "Read access at "), "sum += numbers[i] - first;");
  EXPECT_EQ(source_line(result, "Write access at "), "if (threadIdx.x == 0) first = numbers[i];");
}

TEST(debug_gpu, synccheck_names_the_barrier) {
  const auto [result, not_run] = run_under("synccheck", "debug_gpu", {"--fault", "barrier"});
  if (!not_run.empty()) GTEST_SKIP() << not_run;
  EXPECT_THAT(result.text(), testing::HasSubstr("Divergent thread(s)"));
  EXPECT_THAT(source_line(result, " at sum_any_above_first"), testing::StartsWith("__syncthreads();"));
}

TEST(debug_gpu, a_barrier_that_a_part_of_a_warp_leaves_out_hangs) {
  if (const auto right = run("debug_gpu"); right.exit_code == skipped) GTEST_SKIP() << right.err[0];
  const auto result = run("debug_gpu", {"--fault", "barrier", "--numbers", "1000"},
                          {.limit = std::chrono::seconds(5), .may_leave_something = true});
  EXPECT_TRUE(result.timed_out) << result.text();
  EXPECT_TRUE(result.out.empty()) << result.text();
}

TEST(debug_gpu_one_allocation, no_tool_sees_anything_wrong) {
  const auto alone = run("debug_gpu_one_allocation");
  if (alone.exit_code == skipped) GTEST_SKIP() << alone.err[0];
  EXPECT_EQ(alone.exit_code, 1) << alone.text();
  EXPECT_TRUE(alone.has_line("wrong squares: 0, wrong numbers of the other array: 1")) << alone.text();
  for (const auto& [fault, tool] : faults) {
    const auto [result, not_run] = run_under(tool, "debug_gpu_one_allocation");
    if (!not_run.empty()) GTEST_SKIP() << not_run;
    EXPECT_EQ(result.exit_code, 1) << tool << '\n' << result.text();  // the program's own
  }
}

}  // namespace
