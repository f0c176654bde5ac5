// Rings of cache lines in the process, the program from outside.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "01_getting_started/memory_latency/pages.hpp"
#include "01_getting_started/memory_latency/ring.hpp"
#include "support/run.hpp"

namespace {

std::vector<const Line*> starts;  // of the walks that the program has measured
std::vector<bool> go_on;          // whether such a walk begins with a step to the next line in memory

const Line* noted_walk(const Line* line, long steps) {
  starts.push_back(line);
  go_on.push_back(line->next == line + 1);
  return walk(line, steps);
}

std::vector<const void*> large_memories;  // that the program has asked for

struct NotedMemory : PagedMemory {
  NotedMemory(std::size_t bytes, bool large) : PagedMemory(bytes, large) {
    if (large) large_memories.push_back(data());
  }
};

}  // namespace

#define main main_of_the_program  // to call its functions
#define walk noted_walk
#define PagedMemory NotedMemory
#include "01_getting_started/memory_latency/memory_latency.cpp"
#undef walk
#undef PagedMemory
#undef main

namespace {

using test_support::run;

const std::vector<std::size_t> lengths = {1, 2, 3, 64, 1000};

TEST(memory_latency, a_ring_passes_every_line_once) {
  for (const std::size_t length : lengths) {
    std::vector<Line> lines(length);
    for (const auto join : {join_in_order, join_at_random}) {
      join(lines);
      EXPECT_TRUE(is_one_ring(lines));
      std::set<const Line*> visited;
      for (std::size_t i = 0; i < length; ++i) visited.insert(walk(lines.data(), static_cast<long>(i)));
      EXPECT_EQ(visited.size(), length);
      EXPECT_EQ(walk(lines.data(), static_cast<long>(length)), lines.data());
    }
  }
}

// Else all walks but the first would find their lines in a cache, however long the ring is.
TEST(memory_latency, each_walk_goes_on_where_the_last_one_has_ended) {
  std::vector<Line> lines(100'003);
  join_at_random(lines);
  starts.clear();
  nanoseconds_per_step(lines.data());
  ASSERT_EQ(starts.size(), 5U);
  for (std::size_t i = 1; i < starts.size(); ++i) EXPECT_EQ(starts[i], walk(starts[i - 1], 20'000));
}

TEST(memory_latency, the_order_is_that_of_memory_or_random) {
  std::vector<Line> lines(1000);
  join_in_order(lines);
  int neighbours = 0;
  for (std::size_t i = 0; i + 1 < lines.size(); ++i) neighbours += lines[i].next == &lines[i + 1];
  EXPECT_EQ(neighbours, 999);
  join_at_random(lines);
  neighbours = 0;
  for (std::size_t i = 0; i + 1 < lines.size(); ++i) neighbours += lines[i].next == &lines[i + 1];
  EXPECT_LT(neighbours, 20);
}

TEST(memory_latency, lines_that_are_not_one_ring_are_found) {
  std::vector<Line> lines(10);
  const auto changed = [&](std::size_t line, std::size_t next) {
    join_in_order(lines);
    lines[line].next = &lines[next];
    return is_one_ring(lines);
  };
  EXPECT_TRUE(changed(4, 5)) << "nothing is changed";
  EXPECT_FALSE(changed(4, 0)) << "back too early";
  EXPECT_FALSE(changed(9, 3)) << "a tail and a circle: never back";
  EXPECT_FALSE(changed(0, 0));
  EXPECT_FALSE(changed(8, 0)) << "the last line is left out";
}

TEST(memory_latency, lines_of_paged_memory_begin_where_a_page_of_2_MiB_does) {
  for (const bool large : {false, true}) {
    const PagedMemory memory(5 << 20, large);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.data()) % (2 << 20), 0U);
    std::fill_n(static_cast<char*>(memory.data()), 5 << 20, 'x');  // all of it can be written
  }
}

TEST(memory_latency, memory_that_the_system_refuses_ends_the_program) {
  EXPECT_EXIT(PagedMemory(std::size_t{1} << 60, false), testing::ExitedWithCode(3), "mmap");
}

/// Of the mapping that contains `place`: the value of this line of /proc/self/smaps, in KiB; -1 if there is none.
long of_mapping(const void* place, const std::string& what) {
  std::ifstream file("/proc/self/smaps");
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    std::uintptr_t first = 0, last = 0;
    if (std::sscanf(line.c_str(), "%zx-%zx ", &first, &last) == 2) {
      inside = first <= reinterpret_cast<std::uintptr_t>(place) && reinterpret_cast<std::uintptr_t>(place) < last;
    } else if (inside && line.starts_with(what + ":")) {
      return std::stol(line.substr(what.size() + 1));
    }
  }
  return -1;
}

TEST(memory_latency, only_memory_for_which_they_are_asked_has_large_pages) {
  std::ifstream setting("/sys/kernel/mm/transparent_hugepage/enabled");
  std::string text;
  if (!std::getline(setting, text) || text.find("[never]") != std::string::npos) GTEST_SKIP() << "no large pages here";
  const PagedMemory small(8 << 20, false), large(8 << 20, true);
  for (const PagedMemory* memory : {&small, &large}) std::fill_n(static_cast<char*>(memory->data()), 8 << 20, 'x');
  EXPECT_EQ(of_mapping(small.data(), "AnonHugePages"), 0);
  EXPECT_GT(of_mapping(large.data(), "AnonHugePages"), 0);
}

TEST(memory_latency, the_columns_are_in_order_at_random_and_at_random_in_large_pages) {
  starts.clear();
  go_on.clear();
  large_memories.clear();
  char program[] = "memory_latency", largest[] = "--largest=1";
  char* arguments[] = {program, largest, nullptr};
  ASSERT_EQ(main_of_the_program(2, arguments), 0);
  ASSERT_EQ(starts.size(), 5U * 3 * 5) << "five sizes, three columns, five walks";
  ASSERT_EQ(large_memories.size(), 1U);
  for (std::size_t first = 0; first < starts.size(); first += 15) {
    for (const std::size_t column : {0U, 1U, 2U}) {
      EXPECT_EQ(starts[first + 5 * column] == large_memories[0], column == 2);
      EXPECT_EQ(go_on[first + 5 * column], column == 0);
    }
  }
}

TEST(memory_latency, a_line_is_a_cache_line) { EXPECT_EQ(sizeof(Line), 64U); }

TEST(memory_latency, has_a_row_per_size_up_to_the_largest) {
  const auto result = run("memory_latency", {"--largest", "1"});
  ASSERT_EQ(result.exit_code, 0) << result.text();
  EXPECT_EQ(result.captures("^ +(\\d+ [KM]iB)(?: +[0-9.]+ ns){3}  (?:L\\d of \\d+ [KM]iB|none|unknown)$"),
            (std::vector<std::string>{"4 KiB", "16 KiB", "64 KiB", "256 KiB", "1 MiB"}))
      << result.text();
}

// hwloc takes a description of a machine for the machine itself.
TEST(memory_latency, each_row_names_the_first_cache_of_the_machine_that_has_room_for_it) {
  using Texts = std::vector<std::string>;
  const std::string l1 = "L1 of 64 KiB", l2 = "L2 of 512 KiB", l3 = "L3 of 8 MiB";
  for (const auto& [machine, caches] :
       {std::pair("numa:2 l3:1(size=8388608) l2:1(size=524288) l1d:1(size=65536) pu:1", Texts{l1, l1, l1, l2, l3}),
        {"l1d:1(size=32768) pu:1", {"L1 of 32 KiB", "L1 of 32 KiB", "none", "none", "none"}},
        {"pu:1", Texts(5, "unknown")}}) {
    const auto result = run("memory_latency", {"--largest", "1"}, {.environment = {{"HWLOC_SYNTHETIC", machine}}});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    EXPECT_EQ(result.captures("^ .* ns  (.*)$"), caches) << result.text();
  }
}

/// A column of times, the first or a later one, of the row of `size`; NaN if the output has no such row.
double time_of(const test_support::Result& result, const std::string& size, int column) {
  const auto time = result.captures("^ +" + size + "(?: +[0-9.]+ ns){" + std::to_string(column) + "} +([0-9.]+) ns");
  EXPECT_EQ(time.size(), 1U) << result.text();
  return time.size() == 1 ? std::stod(time[0]) : std::nan("");
}

TEST(memory_latency_timing, far_memory_takes_longer_than_near) {
  const auto result = run("memory_latency");
  const double near = time_of(result, "4 KiB", 1), far = time_of(result, "64 MiB", 1);
  EXPECT_GT(near, 0.3) << "a load from L1 takes more than a cycle";
  EXPECT_LT(near, 20) << result.text();
  EXPECT_GT(far, 5 * near) << result.text();
  EXPECT_LT(time_of(result, "64 MiB", 0), far / 2) << "in order, lines are loaded ahead";
}

TEST(memory_latency_timing, with_large_pages_a_step_through_much_memory_is_shorter) {
  std::ifstream setting("/sys/kernel/mm/transparent_hugepage/enabled");
  std::string text;
  if (!std::getline(setting, text) || text.find("[never]") != std::string::npos) GTEST_SKIP() << "no large pages here";
  double small = 1e9, large = 1e9;  // the shortest of three runs
  for (int i = 0; i < 3; ++i) {
    const auto result = run("memory_latency", {"--largest", "256"});
    small = std::min(small, time_of(result, "256 MiB", 1));
    large = std::min(large, time_of(result, "256 MiB", 2));
  }
  EXPECT_LT(large, small);
}

}  // namespace
