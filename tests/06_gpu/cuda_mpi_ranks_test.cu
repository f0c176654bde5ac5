// The program's output with several numbers of ranks, with device pointers (where the MPI library takes them) and
// without.

#include "support/run.hpp"

namespace {

using test_support::run;
using test_support::run_ranks;

TEST(cuda_mpi_ranks, every_rank_has_the_sum_both_ways) {
  for (const int ranks : {1, 2, 3}) {
    for (const bool staged : {false, true}) {
      const auto result = staged ? run_ranks(ranks, "cuda_mpi_ranks", {"--count", "100003", "--staged"})
                                 : run_ranks(ranks, "cuda_mpi_ranks", {"--count", "100003"});
      if (result.exit_code == 77) GTEST_SKIP() << result.text();
      ASSERT_EQ(result.exit_code, 0) << result.text();
      EXPECT_EQ(result.lines_with("^rank \\d of \\d has device \\d+$").size(), static_cast<std::size_t>(ranks));
      const auto ways =
          result.captures("^(\\S+) memory: +to the host +\\d+ us, MPI_Allreduce +\\d+ us, back +\\d+ us$");
      ASSERT_GE(ways.size(), 2U) << result.text();
      EXPECT_EQ(ways[0], "pageable");
      EXPECT_EQ(ways[1], "page-locked");
      if (staged) {
        EXPECT_EQ(ways.size(), 2U) << result.text();
      }
      EXPECT_TRUE(result.has_line("ok    wrong sums on all devices: 0")) << result.text();
      EXPECT_TRUE(result.has_line("ok    each rank had the sum of all arrays each time: yes")) << result.text();
    }
  }
}

TEST(cuda_mpi_ranks, one_number_is_enough) {
  const auto result = run_ranks(2, "cuda_mpi_ranks", {"--count", "1"});
  if (result.exit_code == 77) GTEST_SKIP() << result.text();
  EXPECT_EQ(result.exit_code, 0) << result.text();
}

TEST(cuda_mpi_ranks, ranks_with_one_visible_device_share_it) {
  const auto result = run_ranks(2, "cuda_mpi_ranks", {}, {.environment = {{"CUDA_VISIBLE_DEVICES", "0"}}});
  if (result.exit_code == 77) GTEST_SKIP() << result.text();
  EXPECT_EQ(result.exit_code, 0) << result.text();
  EXPECT_TRUE(result.has_line("rank 0 of 2 has device 0")) << result.text();
  EXPECT_TRUE(result.has_line("rank 1 of 2 has device 0")) << result.text();
}

TEST(cuda_mpi_ranks, without_a_device_says_why_it_is_skipped) {
  const auto result = run("cuda_mpi_ranks", {}, {.environment = {{"CUDA_VISIBLE_DEVICES", ""}}});
  EXPECT_EQ(result.exit_code, 77) << result.text();
  EXPECT_THAT(result.err, testing::ElementsAre(testing::HasSubstr("skipped, no CUDA device")));
}

}  // namespace
