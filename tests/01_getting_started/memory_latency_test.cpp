// Rings of cache lines in the process, the program from outside. Catalogue: 1.C7.

#include <set>

#include "01_getting_started/memory_latency/ring.hpp"
#include "support/run.hpp"

namespace {

using test_support::run;

const std::vector<std::size_t> lengths = {1, 2, 3, 64, 1000};

TEST(memory_latency, a_ring_passes_every_line_once) {
  for (const std::size_t length : lengths) {
    std::vector<Line> lines(length);
    for (const auto join : {join_in_order, join_at_random}) {
      join(lines);
      EXPECT_EQ(length_of_ring(lines.data()), length);
      std::set<const Line*> visited;
      for (std::size_t i = 0; i < length; ++i) visited.insert(walk(lines.data(), static_cast<long>(i)));
      EXPECT_EQ(visited.size(), length);
      EXPECT_EQ(walk(lines.data(), static_cast<long>(length)), lines.data());
    }
  }
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

TEST(memory_latency, a_ring_that_leaves_lines_out_is_found) {
  std::vector<Line> lines(10);
  join_in_order(lines);
  lines[4].next = &lines[0];
  EXPECT_EQ(length_of_ring(lines.data()), 5U);
}

TEST(memory_latency, a_line_is_a_cache_line) { EXPECT_EQ(sizeof(Line), 64U); }

TEST(memory_latency, has_a_row_per_size_up_to_the_largest) {
  const auto result = run("memory_latency", {"--largest", "1"});
  ASSERT_EQ(result.exit_code, 0) << result.text();
  EXPECT_EQ(result.captures("^ +(\\d+ [KM]iB) +[0-9.]+ ns +[0-9.]+ ns$"),
            (std::vector<std::string>{"4 KiB", "16 KiB", "64 KiB", "256 KiB", "1 MiB"}))
      << result.text();
  EXPECT_GE(result.lines_with("^from memory of node \\d+: [0-9.]+ ns$").size(), 1U) << result.text();
}

TEST(memory_latency_timing, far_memory_takes_longer_than_near) {
  const auto result = run("memory_latency", {"--largest", "64"});
  const auto near = result.captures("^ +4 KiB.* ([0-9.]+) ns$"), far = result.captures("^ +64 MiB.* ([0-9.]+) ns$");
  ASSERT_TRUE(near.size() == 1 && far.size() == 1) << result.text();
  EXPECT_GT(std::stod(far[0]), 5 * std::stod(near[0])) << result.text();
}

}  // namespace
