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
  // Parts that are shorter than a block has threads, and longer; rows that are rounded up; one cluster, and many.
  const std::vector<std::vector<std::string>> sizes = {
      {"1", "64"}, {"1", "131072"}, {"3", "100"}, {"7", "8192"}, {"500", "20000"}};
  for (const auto& size : sizes) {
    const auto result = run("cuda_clusters", {"--rows", size[0], "--columns", size[1]});
    if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
    EXPECT_EQ(result.exit_code, 0) << result.text();
    for (const std::string way : {"copy, for comparison", "one block per row, which loads it twice",
                                  "one block per row, which keeps what it can", "clusters of 4 blocks, [0-9]+ at once",
                                  "clusters of 8 blocks, [0-9]+ at once", "clusters of 16 blocks, [0-9]+ at once",
                                  "clusters of 8 blocks, [0-9]+ at once, loading ahead",
                                  "clusters of 16 blocks, [0-9]+ at once, loading ahead"}) {
      EXPECT_EQ(result.lines_with("^" + way + " +[0-9.]+ ms$").size(), 1U) << result.text();
    }
    EXPECT_EQ(result.out.back(), "ok    ways with another number than the processor's: 0");
  }
}

TEST(cuda_clusters_timing, to_keep_a_row_or_a_part_of_it_is_faster_than_to_load_it_twice) {
  const auto result = run("cuda_clusters");
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  const auto block = result.captures("^one block per row, which loads it twice +([0-9.]+) ms$"),
             keeping = result.captures("^one block per row, which keeps what it can +([0-9.]+) ms$"),
             cluster = result.captures("^clusters of 8 blocks, [0-9]+ at once +([0-9.]+) ms$");
  ASSERT_EQ(block.size(), 1U) << result.text();
  ASSERT_EQ(keeping.size(), 1U) << result.text();
  ASSERT_EQ(cluster.size(), 1U) << result.text();
  EXPECT_LT(std::stod(cluster[0]), std::stod(block[0])) << result.text();
  EXPECT_LT(std::stod(keeping[0]), std::stod(block[0])) << result.text();
}

// Without racecheck, under which a cluster of 16 blocks takes more than a minute.
TEST(cuda_clusters, is_clean_under_compute_sanitizer) {
  cuda_test::expect_clean("cuda_clusters", {{"--rows", "3", "--columns", "1088"}, {"--rows", "2", "--columns", "4096"}},
                          {"memcheck"});
}

}  // namespace
