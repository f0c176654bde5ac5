// Memory organisation: the program seen from outside, and its headers from inside. Catalogue: 1.C7 to 1.C11.

#include "01_getting_started/memory_organisation/ladder.hpp"
#include "01_getting_started/memory_organisation/pages.hpp"
#include "01_getting_started/memory_organisation/sharing.hpp"

#include <sched.h>

#include <algorithm>
#include <sstream>

#include "support/run.hpp"

namespace {

using test_support::run;

constexpr std::size_t kib = 1 << 10, mib = 1 << 20;

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
  for (const std::string largest : {"1", "3", "9"}) {
    const auto result = run("memory_organisation", {"--largest", largest});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    EXPECT_TRUE(result.has_line("ok    walks that do not come by every line once: 0")) << result.text();
    EXPECT_TRUE(result.has_line("ok    counts that two threads lose, shared in whatever way: 0")) << result.text();
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
  // Not the third one: some virtual machines give a program its share and the C library the whole, or the reverse.
  const std::vector<std::pair<int, std::string>> levels = {{_SC_LEVEL1_DCACHE_SIZE, "L1"},
                                                           {_SC_LEVEL2_CACHE_SIZE, "L2"}};
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

/// A ladder whose loads take so many nanoseconds, from 4 KiB on.
Ladder ladder_of(const std::vector<double>& nanoseconds) {
  Ladder ladder;
  const std::vector<std::size_t> sizes = sizes_up_to(1024 * mib);
  for (std::size_t i = 0; i < nanoseconds.size(); ++i) {
    ladder.push_back({sizes[i], cookbook::timing_of({nanoseconds[i] * 1e-9 * loads})});
  }
  return ladder;
}

TEST(ladder, two_sizes_per_octave) {
  EXPECT_EQ(sizes_up_to(16 * kib), (std::vector<std::size_t>{4 * kib, 6 * kib, 8 * kib, 12 * kib, 16 * kib}));
  EXPECT_EQ(sizes_up_to(13 * kib), (std::vector<std::size_t>{4 * kib, 6 * kib, 8 * kib, 12 * kib}));
}

TEST(ladder, steps_are_where_it_rises) {
  EXPECT_TRUE(steps_of(ladder_of({1, 1, 1, 1, 1.2, 1.1, 1})).empty());
  EXPECT_EQ(steps_of(ladder_of({1, 1, 1, 4, 4, 4})), std::vector{8 * kib});
  // A rise over several sizes is one step, at its steepest; after a level part comes another one.
  EXPECT_EQ(steps_of(ladder_of({1, 1, 1.2, 3, 4, 4, 4, 4, 4, 20, 20})), (std::vector{8 * kib, 64 * kib}));
}

TEST(ladder, a_rung_counts_its_shortest_walk) {
  const Rung rung{4 * kib, cookbook::timing_of({3.0 * loads, 2.0 * loads, 9.0 * loads})};
  EXPECT_DOUBLE_EQ(rung.seconds(), 2.0);
}

TEST(pages, memory_begins_at_a_huge_page_and_is_zero) {
  for (const Pages pages : {Pages::small, Pages::huge}) {
    const Memory memory(3 * mib, pages);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.begin()) % (2 * mib), 0U);
    const char* const bytes = static_cast<const char*>(memory.begin());
    EXPECT_EQ(std::count(bytes, bytes + 3 * mib, 0), static_cast<long>(3 * mib));
  }
}

TEST(sharing, no_count_is_lost_in_any_way) {
  const Pair pair = two_processors(topology::allowed_processors());
  EXPECT_EQ(pair.first, 0);
  EXPECT_LT(pair.second, cookbook::allowed_processors());
  EXPECT_EQ(ways_to_share().size(), 6U);
  for (const Sharing& way : ways_to_share()) {
    long lost = 0;
    EXPECT_GT(share(way, pair, lost), 0) << way.name;
    EXPECT_EQ(lost, 0) << way.name;
  }
}

TEST(sharing, a_plain_load_and_store_on_one_counter_loses_counts_and_that_is_noticed) {
  if (cookbook::allowed_processors() < 2) GTEST_SKIP() << "it takes two processors";
  const Sharing wrong = {"load and store, one counter for both", count_up<load_and_store>, 0};
  long lost = 0;
  for (int times = 0; times < 1000 && lost == 0; ++times) share(wrong, {0, 1}, lost);
  EXPECT_GT(lost, 0);
}

TEST(topology, reads_lists_and_writes_sizes) {
  EXPECT_EQ(topology::numbers_of("0-2,8"), (std::vector<int>{0, 1, 2, 8}));
  EXPECT_EQ(topology::numbers_of("5"), std::vector<int>{5});
  EXPECT_TRUE(topology::numbers_of("").empty());
  EXPECT_EQ(topology::bytes_text(48 * kib), "48 KiB");
  EXPECT_EQ(topology::bytes_text(1536 * kib), "1536 KiB");
  EXPECT_EQ(topology::bytes_text(480 * mib), "480 MiB");
  EXPECT_EQ(topology::bytes_text(100), "100 B");
}

TEST(memory_organisation, under_json_every_rung_is_a_record) {
  const auto result = run_quick({"--json"});
  ASSERT_EQ(result.exit_code, 0) << result.text();
  for (const std::string pages : {"small pages", "huge pages"}) {
    const auto sizes = result.captures("\"table\": \"time of a load\", \"row\": \"" + pages + ", (\\d+ [KM]iB)\"");
    EXPECT_EQ(sizes.size(), 17U) << result.text();
    EXPECT_EQ(sizes.front(), "4 KiB");
    EXPECT_EQ(sizes.back(), "1 MiB");
  }
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
  EXPECT_TRUE(result.has_line("ok    counts that two threads lose, shared in whatever way: 0")) << result.text();
}

TEST(memory_organisation_timing, loads_take_longer_the_more_memory_is_in_use) {
  const auto result = run("memory_organisation");
  for (const std::string column : {"([0-9.]+) ns  +[0-9.]+ ns$", "[0-9.]+ ns  +([0-9.]+) ns$"}) {
    const auto first = result.captures("^ +4 KiB  +" + column), last = result.captures("^ +128 MiB  +" + column);
    ASSERT_EQ(first.size() + last.size(), 2U) << result.text();
    EXPECT_GT(std::stod(last[0]), 2 * std::stod(first[0])) << result.text();
  }
}

TEST(memory_organisation, ctrl_c_leaves_nothing_behind) {
  const auto result = run("memory_organisation", {"--largest", "2048"}, {.interrupt_after_ms = 100});
  EXPECT_EQ(result.exit_code, -2) << result.text();
  EXPECT_EQ(result.left_behind, 0);
}

}  // namespace
