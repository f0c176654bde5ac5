// Memory organisation: the program seen from outside. Catalogue: 1.C7 to 1.C11.

#include <sched.h>

#include <filesystem>
#include <sstream>

#include "support/files.hpp"
#include "support/run.hpp"

namespace {

using test_support::count;
using test_support::Folder;
using test_support::run;
using test_support::text_of;
namespace fs = std::filesystem;

test_support::Result run_quick(std::vector<std::string> arguments = {}) {
  arguments.insert(arguments.end(), {"--largest", "1"});
  return run("memory_organisation", arguments);
}

TEST(memory_organisation, one_cell_for_both_or_a_cell_each) {
  const auto result = run_quick();
  ASSERT_EQ(result.exit_code, 0) << result.text();
  EXPECT_TRUE(result.has_line("ok    load R0, i: shared memory: [11, 11]")) << result.text();
  EXPECT_TRUE(result.has_line("ok    load R0, i: private memories: [10, 11]")) << result.text();
  EXPECT_TRUE(result.has_line("ok    load R0, i: private memories and a message: [11, 11]")) << result.text();
  EXPECT_EQ(result.left_behind, 0);
}

TEST(memory_organisation, every_walk_is_one_ring_and_no_count_is_lost) {
  for (const std::string largest : {"1", "3", "24"}) {
    const auto result = run("memory_organisation", {"--largest", largest});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    EXPECT_TRUE(result.has_line("ok    walks that do not come by every line once: 0")) << result.text();
    EXPECT_TRUE(result.has_line("ok    ways to share that lose a count: 0")) << result.text();
  }
}

TEST(memory_organisation, the_ladder_has_a_row_an_octave) {
  const auto result = run_quick();
  EXPECT_EQ(result.captures("^ +(\\d+ [KM]iB)  +[0-9.]+ ns  +[0-9.]+ ns$"),
            (std::vector<std::string>{"4 KiB", "8 KiB", "16 KiB", "32 KiB", "64 KiB", "128 KiB", "256 KiB", "512 KiB",
                                      "1 MiB"}))
      << result.text();
}

TEST(memory_organisation, ways_to_share_have_a_row_each) {
  const auto result = run_quick();
  EXPECT_EQ(result.lines_with("^atomic add.* ns .* ns .* ns$").size(), 4U) << result.text();
  EXPECT_EQ(result.lines_with("^load and store.* ns .* ns .* ns$").size(), 2U) << result.text();
  EXPECT_EQ(result.lines_with("^two counters in one line: [0-9.]+ x").size(), 1U) << result.text();
}

TEST(memory_organisation, cache_sizes_are_those_that_the_c_library_knows) {
  const auto result = run_quick();
  ASSERT_EQ(result.exit_code, 0) << result.text();
  const std::vector<std::pair<int, std::string>> levels = {
      {_SC_LEVEL1_DCACHE_SIZE, "L1"}, {_SC_LEVEL2_CACHE_SIZE, "L2"}, {_SC_LEVEL3_CACHE_SIZE, "L3"}};
  bool known = false;
  for (const auto& [name, level] : levels) {
    const long bytes = sysconf(name);
    const auto reported = result.captures("^caches, as the system reports them: .*" + level + " (\\d+ [KM]?i?B)");
    if (bytes <= 0 || reported.empty()) continue;
    known = true;
    std::istringstream text(reported.front());
    long number = 0;
    std::string unit;
    text >> number >> unit;
    EXPECT_EQ(number << (unit == "MiB" ? 20 : unit == "KiB" ? 10 : 0), bytes) << level << "\n" << result.text();
  }
  if (!known) GTEST_SKIP() << "this system says nothing of its caches";
}

TEST(memory_organisation, draws_both_ladders_where_it_is_told_to) {
  const Folder folder;
  const fs::path file = folder.path / "ladder.svg";
  const auto result = run_quick({"--out", file.string()});
  ASSERT_EQ(result.exit_code, 0) << result.text();
  const std::string picture = text_of(file);
  EXPECT_EQ(picture.rfind("<svg xmlns=\"http://www.w3.org/2000/svg\"", 0), 0U) << picture;
  EXPECT_EQ(count(picture, "<polyline"), 2);
  EXPECT_EQ(count(picture, "<circle"), 34);  // 17 sizes from 4 KiB to 1 MiB, small and huge pages
  EXPECT_EQ(count(picture, "nan"), 0) << picture;
  EXPECT_EQ(count(picture, "</svg>"), 1);
}

TEST(memory_organisation, draws_nothing_unasked) {
  const Folder folder;
  const fs::path before = fs::current_path();
  fs::current_path(folder.path);
  const auto result = run_quick();
  fs::current_path(before);
  EXPECT_EQ(result.exit_code, 0) << result.text();
  EXPECT_TRUE(fs::is_empty(folder.path));
}

TEST(memory_organisation, a_picture_that_cannot_be_written_is_an_error) {
  const auto result = run_quick({"--out", "/no/such/folder/ladder.svg"});
  EXPECT_EQ(result.exit_code, 3) << result.text();
  ASSERT_EQ(result.err.size(), 1U) << result.text();
  EXPECT_THAT(result.err[0], testing::HasSubstr("/no/such/folder/ladder.svg"));
}

TEST(memory_organisation, under_json_every_rung_is_a_record) {
  const auto result = run_quick({"--json"});
  ASSERT_EQ(result.exit_code, 0) << result.text();
  EXPECT_EQ(result.lines_with("\"table\": \"time of a load\"").size(), 34U) << result.text();
  EXPECT_EQ(result.lines_with("^[^{]").size(), 0U) << result.text();
}

TEST(memory_organisation, runs_on_a_single_processor_too) {
  cpu_set_t all, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  CPU_ZERO(&one);
  for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
    if (CPU_ISSET(processor, &all)) {
      CPU_SET(processor, &one);
      break;
    }
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  const auto result = run_quick();
  sched_setaffinity(0, sizeof all, &all);
  ASSERT_EQ(result.exit_code, 0) << result.text();
  EXPECT_TRUE(result.has_line("ok    ways to share that lose a count: 0")) << result.text();
}

TEST(memory_organisation, ctrl_c_leaves_nothing_behind) {
  const auto result = run("memory_organisation", {"--largest", "2048"}, {.interrupt_after_ms = 100});
  EXPECT_EQ(result.exit_code, -2) << result.text();
  EXPECT_EQ(result.left_behind, 0);
}

}  // namespace
