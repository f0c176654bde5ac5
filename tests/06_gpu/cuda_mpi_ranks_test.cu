// The program's output with several numbers of ranks, with device pointers (where the MPI library takes them) and
// without.

#define main cuda_mpi_ranks_main  // the functions stand in the program's file, and the test has a main() of its own
#include "06_gpu/cuda_mpi_ranks/cuda_mpi_ranks.cu"
#undef main

#include <cstdlib>
#include <vector>

#include "06_gpu/without_device.hpp"
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

// The memory of a device that is not there is the host's, so any MPI library can take its pointers.
TEST(cuda_mpi_ranks, what_lies_on_the_devices_is_summed_there) {
  if (!cuda_test::can_run_without_device) GTEST_SKIP() << "not in a sanitizer's build";
  if (std::getenv("COOKBOOK_IS_RANK") == nullptr) {
    const auto result =
        run_ranks(2, "cuda_mpi_ranks_test", {"--gtest_filter=*.what_lies_on_the_devices*"},
                  {.environment = {{"LD_PRELOAD", cuda_test::library()}, {"COOKBOOK_IS_RANK", "1"}}, .probed = false});
    EXPECT_EQ(result.exit_code, 0) << result.text();
    EXPECT_EQ(result.lines_with("1 test.* ran").size(), 2U) << result.text();
    return;
  }
  const mpi::Environment world;
  Numbers numbers(std::vector<std::int64_t>{world.rank() + 1, -world.rank(), 7});
  reduce_on_devices(numbers);
  EXPECT_EQ(numbers.to_host(), (std::vector<std::int64_t>{3, -1, 14}));
  std::vector<std::int64_t> staged(3);
  reduce_on_hosts(numbers, staged.data());
  EXPECT_EQ(numbers.to_host(), (std::vector<std::int64_t>{6, -2, 28}));
}

TEST(cuda_mpi_ranks, without_a_device_says_why_it_is_skipped) {
  const auto result = run("cuda_mpi_ranks", {}, {.environment = {{"CUDA_VISIBLE_DEVICES", ""}}});
  EXPECT_EQ(result.exit_code, 77) << result.text();
  EXPECT_THAT(result.err, testing::ElementsAre(testing::HasSubstr("skipped, no CUDA device")));
}

}  // namespace
