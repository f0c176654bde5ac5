// The program's output with several numbers of ranks, and the devices that ranks of several machines take.

#define main cuda_mpi_ranks_main  // the functions stand in the program's file, and the test has a main() of its own
#include "06_gpu/cuda_mpi_ranks/cuda_mpi_ranks.cu"
#undef main

#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "06_gpu/without_device.hpp"
#include "support/run.hpp"

namespace {

using test_support::run;
using test_support::run_ranks;

bool two_machines = false;

bool is_rank() { return std::getenv("COOKBOOK_IS_RANK") != nullptr; }

/// Runs the test with this name in several ranks, with devices that are not there.
void expect_that_ranks_pass(int ranks, const std::string& test, std::map<std::string, std::string> settings) {
  settings["LD_PRELOAD"] = cuda_test::library();
  settings["COOKBOOK_IS_RANK"] = "1";
  const auto result = run_ranks(ranks, "cuda_mpi_ranks_test", {"--gtest_filter=*." + test + "*"},
                                {.environment = settings, .probed = false});
  EXPECT_EQ(result.exit_code, 0) << result.text();
  EXPECT_EQ(result.lines_with("1 test.* ran").size(), static_cast<std::size_t>(ranks)) << result.text();
}

TEST(cuda_mpi_ranks, every_rank_has_the_sum) {
  for (const int ranks : {1, 2, 3}) {
    const auto result = run_ranks(ranks, "cuda_mpi_ranks", {"--count", "100003", "--steps", "1000"});
    if (result.exit_code == 77) GTEST_SKIP() << result.text();
    ASSERT_EQ(result.exit_code, 0) << result.text();
    EXPECT_EQ(result.lines_with("^rank (\\d) of \\d: number \\1 on its machine, takes device \\d+ of \\d+$").size(),
              static_cast<std::size_t>(ranks));
    EXPECT_EQ(result.lines_with(" +\\d+\\.\\d\\d ms$").size(), 5U) << result.text();
    EXPECT_TRUE(result.has_line("ok    wrong sums of all ranks: 0")) << result.text();
  }
}

TEST(cuda_mpi_ranks, one_number_is_enough) {
  const auto result = run_ranks(2, "cuda_mpi_ranks", {"--count", "1", "--steps", "1"});
  if (result.exit_code == 77) GTEST_SKIP() << result.text();
  EXPECT_EQ(result.exit_code, 0) << result.text();
}

TEST(cuda_mpi_ranks, ranks_with_one_visible_device_share_it) {
  const auto result =
      run_ranks(2, "cuda_mpi_ranks", {"--steps", "1000"}, {.environment = {{"CUDA_VISIBLE_DEVICES", "0"}}});
  if (result.exit_code == 77) GTEST_SKIP() << result.text();
  EXPECT_EQ(result.exit_code, 0) << result.text();
  EXPECT_TRUE(result.has_line("rank 0 of 2: number 0 on its machine, takes device 0 of 1")) << result.text();
  EXPECT_TRUE(result.has_line("rank 1 of 2: number 1 on its machine, takes device 0 of 1")) << result.text();
}

TEST(cuda_mpi_ranks_timing, ranks_with_a_device_of_their_own_do_not_wait_for_each_other) {
  const auto result = run_ranks(2, "cuda_mpi_ranks", {});
  if (result.exit_code == 77) GTEST_SKIP() << result.text();
  ASSERT_EQ(result.exit_code, 0) << result.text();
  if (result.lines_with("^rank 1 of 2: .* takes device 1 of \\d+$").empty()) GTEST_SKIP() << "one device";
  const auto times = result.captures("^work, .* +(\\d+\\.\\d\\d) ms$");
  ASSERT_EQ(times.size(), 2U) << result.text();
  EXPECT_LT(std::stod(times[1]), 0.75 * std::stod(times[0])) << result.text();
}

// Ranks 0 and 2 are said to be on one machine, 1 and 3 on another, and each machine to have two devices.
TEST(cuda_mpi_ranks, the_number_on_the_machine_decides_which_device_a_rank_takes) {
  if (!cuda_test::can_run_without_device) GTEST_SKIP() << "not in a sanitizer's build";
  if (!is_rank()) {
    expect_that_ranks_pass(4, "the_number_on_the_machine", {{"COOKBOOK_CUDA_DEVICES", "2"}});
    return;
  }
  const mpi::Environment world;
  two_machines = true;
  const Place place = take_device();
  two_machines = false;
  int current = -1;
  CUDA_CHECK(cudaGetDevice(&current));
  EXPECT_EQ(place.rank_on_machine, world.rank() / 2);
  EXPECT_EQ(place.device, world.rank() / 2);
  EXPECT_EQ(place.devices, 2);
  EXPECT_EQ(current, place.device);
}

// The memory of a device that is not there is the host's, and no kernel is run.
TEST(cuda_mpi_ranks, what_lies_on_the_devices_is_summed) {
  if (!cuda_test::can_run_without_device) GTEST_SKIP() << "not in a sanitizer's build";
  if (!is_rank()) {
    expect_that_ranks_pass(2, "what_lies_on_the_devices", {});
    return;
  }
  const mpi::Environment world;
  const std::uint64_t rank = world.rank();
  Numbers numbers(std::vector<std::uint64_t>{rank + 1, std::uint64_t{0} - rank, 7});
  std::vector<std::uint64_t> staged(3);
  sum_on_hosts(numbers, staged.data());
  EXPECT_EQ(numbers.to_host(), (std::vector<std::uint64_t>{3, std::uint64_t{0} - 1, 14}));
}

// What the ranks compute, one step after another on the host.
TEST(cuda_mpi_ranks, a_wrong_sum_is_counted) {
  if (!cuda_test::can_run_without_device) GTEST_SKIP() << "not in a sanitizer's build";
  if (!is_rank()) {
    expect_that_ranks_pass(1, "a_wrong_sum", {});
    return;
  }
  const mpi::Environment world;
  constexpr int ranks = 3, steps = 5;
  std::vector<std::uint64_t> sums(100);
  for (std::uint64_t i = 0; i < sums.size(); ++i) {
    for (int rank = 0; rank < ranks; ++rank) {
      std::uint64_t x = i;
      for (int step = 0; step < steps; ++step) x = factor * x + rank;
      sums[i] += x;
    }
  }
  EXPECT_EQ(wrong_sums(Numbers(sums), ranks, steps), 0);
  ++sums[0];
  --sums[99];
  EXPECT_EQ(wrong_sums(Numbers(sums), ranks, steps), 2);
}

TEST(cuda_mpi_ranks, without_a_device_says_why_it_is_skipped) {
  const auto result = run("cuda_mpi_ranks", {}, {.environment = {{"CUDA_VISIBLE_DEVICES", ""}}});
  EXPECT_EQ(result.exit_code, 77) << result.text();
  EXPECT_THAT(result.err, testing::ElementsAre(testing::HasSubstr("skipped, no CUDA device")));
}

}  // namespace

// This stands before MPI's own function (MPI 4.0, chapter 15), which calls all ranks here ranks of one machine.
extern "C" int MPI_Comm_split_type(MPI_Comm ranks, int type, int key, MPI_Info info, MPI_Comm* part) {
  if (!two_machines) return PMPI_Comm_split_type(ranks, type, key, info, part);
  int rank = 0;
  PMPI_Comm_rank(ranks, &rank);
  return PMPI_Comm_split(ranks, rank % 2, key, part);
}
