// What each tool says of each faulty kernel: the line, the thread and the block; and what none of them sees.

#include "09_diagnosis/debug_gpu/sanitizer_report.hpp"

#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "06_gpu/compute_sanitizer.hpp"
#include "06_gpu/without_device.hpp"
#include "support/run.hpp"

namespace {

using cuda_test::skipped;
using debug_gpu::first_finding;
using test_support::run;

/// All that a program has printed, a line each.
std::string printed(const test_support::Result& result) {
  std::string text;
  for (const auto& lines : {result.out, result.err}) {
    for (const std::string& line : lines) text += line + '\n';
  }
  return text;
}

std::string joined(const std::vector<std::string>& lines) {
  return std::accumulate(lines.begin(), lines.end(), std::string(),
                         [](const std::string& all, const std::string& line) { return all + line + '\n'; });
}

/// The line of debug_gpu.cu that `finding` names after `word`, white space before and after it aside.
std::string source_line(const std::vector<std::string>& finding, const std::string& word) {
  std::smatch match;
  const std::string text = joined(finding);
  if (!std::regex_search(text, match, std::regex(word + ".*in debug_gpu.cu:([0-9]+)"))) return "none: " + text;
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
  // No kernel runs. The memory holds sevens, which are neither a square nor a sum here.
  const std::pair<std::string, std::string> faults[] = {{"store", "1000"}, {"race", "256"}, {"barrier", "256"}};
  for (const auto& [fault, wrong] : faults) {
    const auto result =
        cuda_test::run_without_device("debug_gpu", {"--fault", fault}, {{"COOKBOOK_CUDA_POISON", "7"}}).result;
    EXPECT_THAT(result.out, testing::ElementsAre("wrong numbers: " + wrong)) << result.text();
  }
}

TEST(debug_gpu, a_fault_that_it_does_not_know_is_refused) {
  const auto result = run("debug_gpu", {"--fault", "another one"});
  EXPECT_EQ(result.exit_code, 2) << result.text();
  EXPECT_EQ(result.err.size(), 1U) << result.text();
}

TEST(debug_gpu_report, the_first_finding_is_without_addresses_and_folders) {
  EXPECT_THAT(
      first_finding("========= COMPUTE-SANITIZER\n"
                    "========= Invalid __global__ write of size 4 bytes\n"
                    "=========     at set_squares(int *)+0x90 in /home/me/a b.d/debug_gpu.cu:28\n"
                    "=========     by thread (0,0,0) in block (4,0,0)\n"
                    "=========     Access to 0x7f5d2c001000 is out of bounds\n"
                    "=========     and is 1 bytes after the nearest allocation at 0x7f5d2c000000 of size 4096 bytes\n"
                    "=========     Saved host backtrace up to driver entry point at kernel launch time\n"
                    "=========         at main in debug_gpu.cu:99\n"
                    "=========\n"
                    "========= Invalid __global__ write of size 8 bytes\n"),
      testing::ElementsAre("Invalid __global__ write of size 4 bytes", "at set_squares(int *) in debug_gpu.cu:28",
                           "by thread (0,0,0) in block (4,0,0)",
                           "and is 1 bytes after the nearest allocation of size 4096 bytes"));
}

TEST(debug_gpu_report, without_a_finding_it_is_empty) {
  EXPECT_TRUE(first_finding("").empty());
  EXPECT_TRUE(
      first_finding("========= COMPUTE-SANITIZER\nwrong numbers: 0\n========= ERROR SUMMARY: 0 errors").empty());
  EXPECT_TRUE(first_finding("Invalid number\n=========     at main in a.cu:1\n").empty());
}

/// The kernel that stores behind its array, whose end is that of an allocation here: 1024 numbers have 4096 bytes, and
/// the next array begins directly behind them.
const std::vector<std::string> side_by_side = {"--fault", "store", "--numbers", "1024"};

TEST(debug_gpu, without_a_tool_a_store_changes_only_an_array_that_begins_there) {
  const auto behind_nothing = run("debug_gpu", {"--fault", "store"});
  if (behind_nothing.exit_code == skipped) GTEST_SKIP() << behind_nothing.err[0];
  EXPECT_EQ(behind_nothing.exit_code, 0) << behind_nothing.text();
  EXPECT_THAT(behind_nothing.out, testing::ElementsAre("wrong numbers: 0"));
  const auto into_another = run("debug_gpu", side_by_side);
  EXPECT_EQ(into_another.exit_code, 0) << into_another.text();
  EXPECT_THAT(into_another.out, testing::ElementsAre("wrong numbers: 1"));
  const auto race = run("debug_gpu", {"--fault", "race"});
  EXPECT_EQ(race.exit_code, 0) << race.text();
  EXPECT_EQ(race.lines_with("^wrong numbers: \\d+$").size(), 1U) << race.text();  // none on an H200
}

TEST(debug_gpu, memcheck_needs_padding_between_arrays_that_lie_side_by_side) {
  const auto [result, not_run] = cuda_test::run_under("memcheck", "debug_gpu", side_by_side);
  if (!not_run.empty()) GTEST_SKIP() << not_run;
  EXPECT_EQ(result.exit_code, 0) << result.text();
  EXPECT_TRUE(first_finding(printed(result)).empty()) << result.text();
  const auto padded = cuda_test::run_under("memcheck", "debug_gpu", side_by_side, {"--padding", "32"}).result;
  EXPECT_EQ(padded.exit_code, 9) << padded.text();
  EXPECT_THAT(first_finding(printed(padded)), testing::Contains("by thread (0,0,0) in block (4,0,0)"))
      << padded.text();  // 4 x 256 is 1024
}

TEST(debug_gpu, each_fault_is_found_by_the_tool_made_for_it) {
  const std::pair<std::string, std::string> faults[] = {
      {"store", "memcheck"}, {"race", "racecheck"}, {"barrier", "synccheck"}};
  for (const auto& [fault, tool] : faults) {
    const auto [result, not_run] = cuda_test::run_under(tool, "debug_gpu", {"--fault", fault});
    if (!not_run.empty()) GTEST_SKIP() << not_run;
    EXPECT_EQ(result.exit_code, 9) << tool << '\n' << result.text();
    EXPECT_FALSE(first_finding(printed(result)).empty()) << tool << '\n' << result.text();
  }
}

TEST(debug_gpu, memcheck_names_line_thread_and_block_of_the_store) {
  const auto [result, not_run] = cuda_test::run_under("memcheck", "debug_gpu", {"--fault", "store"});
  if (!not_run.empty()) GTEST_SKIP() << not_run;
  const auto finding = first_finding(printed(result));
  EXPECT_THAT(finding, testing::Contains("Invalid __global__ write of size 4 bytes")) << result.text();
  EXPECT_THAT(finding, testing::Contains("by thread (232,0,0) in block (3,0,0)")) << result.text();  // 3 x 256 + 232
  EXPECT_THAT(source_line(finding, "at "), testing::HasSubstr("squares[i] = i * i;")) << result.text();
}

TEST(debug_gpu, racecheck_names_both_lines_of_the_race) {
  const auto [result, not_run] = cuda_test::run_under("racecheck", "debug_gpu", {"--fault", "race"});
  if (!not_run.empty()) GTEST_SKIP() << not_run;
  const auto finding = first_finding(printed(result));
  EXPECT_EQ(source_line(finding, "Read access at "), "sum += numbers[i] - first;") << result.text();
  EXPECT_EQ(source_line(finding, "Write access at "), "if (threadIdx.x == 0) first = numbers[i];") << result.text();
}

TEST(debug_gpu, synccheck_names_the_barrier) {
  const auto [result, not_run] = cuda_test::run_under("synccheck", "debug_gpu", {"--fault", "barrier"});
  if (!not_run.empty()) GTEST_SKIP() << not_run;
  const auto finding = first_finding(printed(result));
  EXPECT_THAT(joined(finding), testing::HasSubstr("Divergent thread(s)")) << result.text();
  EXPECT_THAT(source_line(finding, "at "), testing::StartsWith("__syncthreads();")) << result.text();
}

TEST(debug_gpu, the_program_prints_a_row_per_fault_and_the_findings) {
  // It starts the tools itself, which load a library of theirs (compute_sanitizer.hpp).
  const auto result = run("debug_gpu", {}, {.probed = false});
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  EXPECT_EQ(result.exit_code, 0) << result.text();
  EXPECT_EQ(result.lines_with("^a store behind the end of an array +wrong numbers: 0 +found +- +-$").size(), 1U)
      << result.text();
  EXPECT_EQ(result.lines_with("^no barrier before the next store +wrong numbers: \\d+ +- +found +-$").size(), 1U)
      << result.text();
  EXPECT_EQ(result.lines_with("^a barrier that some threads leave out .* - +- +found$").size(), 1U) << result.text();
  for (const std::string tool : {"memcheck:", "racecheck:", "synccheck:"}) {
    EXPECT_TRUE(result.has_line(tool)) << result.text();
  }
  EXPECT_TRUE(result.has_line("by thread (232,0,0) in block (3,0,0)")) << result.text();
  EXPECT_TRUE(result.has_line("ok    faults that the tool made for them has found: 3")) << result.text();
  EXPECT_TRUE(result.has_line("ok    faults that another tool has found: 0")) << result.text();
}

TEST(debug_gpu_one_allocation, the_tool_sees_nothing_wrong) {
  const auto alone = run("debug_gpu_one_allocation");
  if (alone.exit_code == skipped) GTEST_SKIP() << alone.err[0];
  EXPECT_EQ(alone.exit_code, 1) << alone.text();
  EXPECT_TRUE(alone.has_line("wrong squares: 0, wrong numbers of the other array: 1")) << alone.text();
  for (const std::string tool : {"memcheck", "racecheck", "synccheck"}) {
    const auto [result, not_run] = cuda_test::run_under(tool, "debug_gpu_one_allocation");
    if (!not_run.empty()) GTEST_SKIP() << not_run;
    EXPECT_EQ(result.exit_code, 1) << tool << '\n' << result.text();  // the program's own
    EXPECT_TRUE(first_finding(printed(result)).empty()) << tool << '\n' << result.text();
  }
}

}  // namespace
