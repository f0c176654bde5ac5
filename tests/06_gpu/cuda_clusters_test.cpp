// The programs seen from outside.

#include <string>

#include "06_gpu/compute_sanitizer.hpp"
#include "support/run.hpp"

namespace {

using cuda_test::skipped;
using test_support::run;

TEST(cuda_clusters, without_a_device_it_is_skipped_with_a_reason) {
  for (const std::string program : {"cuda_clusters", "cuda_clusters_block_barrier"}) {
    const auto result = run(program, {}, {.environment = {{"CUDA_VISIBLE_DEVICES", ""}}});
    EXPECT_EQ(result.exit_code, skipped) << result.text();
    EXPECT_TRUE(result.out.empty()) << result.text();
    ASSERT_EQ(result.err.size(), 1U) << result.text();
    EXPECT_THAT(result.err[0], testing::HasSubstr("skipped, no CUDA device: "));
  }
}

TEST(cuda_clusters, every_way_is_right_for_every_size) {
  // Parts that are shorter than a block has threads, and longer; rows that are rounded up; one cluster, and many;
  // clusters of every kind, also of a single block.
  const std::vector<std::vector<std::string>> sizes = {
      {"8", "1", "64"},      {"8", "1", "131072"},   {"4", "3", "100"},   {"16", "7", "8192"},
      {"8", "500", "20000"}, {"16", "500", "20000"}, {"1", "5", "20000"}, {"3", "9", "1000"}};
  for (const auto& size : sizes) {
    const auto result = run("cuda_clusters", {"--blocks", size[0], "--rows", size[1], "--columns", size[2]});
    if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
    EXPECT_EQ(result.exit_code, 0) << result.text();
    for (const std::string way :
         {"a copy: loads and stores once", "a block per row, loads it twice", "a block per row, keeps [0-9]+ % of it",
          "a cluster of [0-9]+ blocks per row, keeps it all"}) {
      EXPECT_EQ(result.lines_with("^" + way + " +[0-9.]+ GB +[0-9.]+ ms +[0-9.]+ ms$").size(), 1U) << result.text();
    }
    EXPECT_EQ(result.out.back(), "ok    ways with the processor's numbers: 4");
  }
}

TEST(cuda_clusters, only_a_cluster_moves_a_long_row_as_often_as_a_copy_does) {
  const auto result = run("cuda_clusters", {"--rows", "1000", "--columns", "131072"});
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  const auto moved = result.captures(" ([0-9.]+) GB ");
  ASSERT_EQ(moved.size(), 4U) << result.text();
  EXPECT_EQ(moved[0], "1.05") << result.text();  // 1000 * 131,072 * 4 bytes, twice
  EXPECT_EQ(moved[1], "1.57") << result.text();
  EXPECT_LT(moved[0], moved[2]) << result.text();
  EXPECT_LT(moved[2], moved[1]) << result.text();
  EXPECT_EQ(moved[3], moved[0]) << result.text();
}

TEST(cuda_clusters, a_part_that_is_too_large_for_a_block_is_refused) {
  const auto result = run("cuda_clusters", {"--blocks", "1", "--rows", "1", "--columns", "131072"});
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  EXPECT_EQ(result.exit_code, 2) << result.text();
  EXPECT_TRUE(result.out.empty()) << result.text();
  ASSERT_EQ(result.err.size(), 1U) << result.text();
  EXPECT_THAT(result.err[0], testing::HasSubstr("--blocks 1: each would have to keep 524288 bytes, and has room for "));
}

TEST(cuda_clusters_timing, to_keep_a_row_or_a_part_of_it_is_faster_than_to_load_it_twice) {
  const auto result = run("cuda_clusters");
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  const auto took = result.captures(" GB +[0-9.]+ ms +([0-9.]+) ms$");
  ASSERT_EQ(took.size(), 4U) << result.text();
  EXPECT_LT(std::stod(took[2]), std::stod(took[1])) << result.text();
  EXPECT_LT(std::stod(took[3]), std::stod(took[1])) << result.text();
}

// Without racecheck, under which a cluster of 16 blocks takes more than a minute.
TEST(cuda_clusters, is_clean_under_compute_sanitizer) {
  cuda_test::expect_clean(
      "cuda_clusters", {{"--rows", "3", "--columns", "1088"}, {"--blocks", "16", "--rows", "2", "--columns", "4096"}},
      {"memcheck"});
}

}  // namespace
