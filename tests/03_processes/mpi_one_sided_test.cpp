// One-sided communication: the program seen from outside. Beyond the source.

#include <numeric>
#include <sstream>

#include "support/run.hpp"

namespace {

using test_support::Result;
using test_support::run_ranks;

std::string text(int number) { return std::to_string(number); }

/// What `ranks` ranks print about their windows, the sum included.
std::vector<std::string> lines_about_windows(int ranks) {
  std::vector<std::string> lines;
  for (int i = 0; i < ranks; ++i) {
    const int right = (i + 1) % ranks, left = (i - 1 + ranks) % ranks, second = (i - 2 + 2 * ranks) % ranks;
    lines.push_back("process " + text(i) + " put " + text(100 + i) + " into " + text(right) + "'s window, found " +
                    text(100 + left) + " in its own, got " + text(100 + second) + " from " + text(left) + "'s");
  }
  lines.push_back("ok    every window holds the left neighbour's number: yes");
  lines.push_back("ok    every get brought the number from two places to the left: yes");
  const int sum = ranks * (ranks + 1) / 2;
  lines.push_back("ok    rank 0 has " + text(sum) + " * [0, 1, 2]: [0, " + text(sum) + ", " + text(2 * sum) + "]");
  return lines;
}

/// How many rows each rank says that it took.
std::vector<int> rows_taken(const Result& result) {
  std::vector<int> rows;
  for (const std::string& line : result.captures("^rows that each rank took: (.*)$")) {
    std::istringstream numbers(line);
    for (int number = 0; numbers >> number;) rows.push_back(number);
  }
  return rows;
}

TEST(mpi_one_sided, windows_counter_and_shared_memory_are_right_for_any_rank_count) {
  for (const int ranks : {1, 2, 7}) {
    const auto result = run_ranks(ranks, "mpi_one_sided", {"--up-to", "8"});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    EXPECT_THAT(result.lines_with("^process|every window|every get|rank 0 has"),
                testing::ElementsAreArray(lines_about_windows(ranks)))
        << result.text();
    const std::vector<int> taken = rows_taken(result);
    EXPECT_EQ(taken.size(), static_cast<std::size_t>(ranks)) << result.text();
    EXPECT_EQ(std::accumulate(taken.begin(), taken.end(), 0), 64) << result.text();
    EXPECT_TRUE(result.has_line("ok    rows of 64 that were taken exactly once: 64")) << result.text();
    EXPECT_TRUE(result.has_line("ok    steps of all rows, beside the serial loop's: 1037304")) << result.text();
    EXPECT_TRUE(result.has_line("ok    the left neighbour's store is in every rank's memory: yes")) << result.text();
    EXPECT_TRUE(result.has_line("ok    every rank has added up all memories by loads: yes")) << result.text();
    EXPECT_TRUE(result.err.empty()) << result.text();
    EXPECT_EQ(result.left_behind, 0);
  }
}

TEST(mpi_one_sided, every_row_is_taken_once_however_many_there_are) {
  for (const int rows : {1, 1000}) {  // fewer than ranks, and many
    const auto result = run_ranks(4, "mpi_one_sided", {"--rows", text(rows), "--up-to", "8"});
    EXPECT_EQ(result.exit_code, 0) << result.text();
    const std::vector<int> taken = rows_taken(result);
    EXPECT_EQ(std::accumulate(taken.begin(), taken.end(), 0), rows) << result.text();
    EXPECT_TRUE(result.has_line("ok    rows of " + text(rows) + " that were taken exactly once: " + text(rows)));
  }
}

TEST(mpi_one_sided, every_way_is_measured_at_every_size) {
  const auto result = run_ranks(4, "mpi_one_sided");
  ASSERT_EQ(result.exit_code, 0) << result.text();
  for (const std::string way : {"send, receive", "fence, put, fence", "lock, put, unlock", "lock, store, unlock",
                                "lock, get, unlock", "memcpy in one rank"}) {
    EXPECT_THAT(result.captures("^ *(\\d+ [KM]?i?B), " + way + " +[\\d.]+ us"),
                testing::ElementsAre("8 B", "1 KiB", "64 KiB", "1 MiB", "16 MiB"))
        << result.text();
  }
}

TEST(mpi_one_sided, other_memory_gives_the_same) {
  const auto allocated = run_ranks(2, "mpi_one_sided", {"--memory", "allocated", "--up-to", "65536"});
  EXPECT_EQ(allocated.exit_code, 0) << allocated.text();
  EXPECT_EQ(allocated.lines_with("^MPI_Win_allocate +median").size(), 1U) << allocated.text();
  EXPECT_TRUE(allocated.lines_with("store, unlock").empty()) << allocated.text();
}

/// A window of the program's own memory: MPI makes it, or the program says in one line that it does not.
void expect_created_or_rejected(const Result& result) {
  if (result.exit_code == 0) {
    EXPECT_EQ(result.lines_with("^MPI_Win_create +median").size(), 1U) << result.text();
  } else {
    EXPECT_EQ(result.exit_code, 2) << result.text();
    EXPECT_TRUE(result.out.empty()) << result.text();
    EXPECT_THAT(result.err,
                testing::ElementsAre(testing::MatchesRegex("mpi_one_sided: MPI_Win_create: MPI_ERR_WIN: .*")));
  }
}

TEST(mpi_one_sided, without_copies_by_the_kernel_only_created_memory_may_be_refused) {
  const std::map<std::string, std::string> no_copies = {{"OMPI_MCA_btl_vader_single_copy_mechanism", "none"}};
  const auto bare = run_ranks(3, "mpi_one_sided", {"--up-to", "65536"}, {.environment = no_copies});
  EXPECT_EQ(bare.exit_code, 0) << bare.text();
  const std::vector<std::string> created = {"--memory", "created", "--up-to", "65536"};
  expect_created_or_rejected(run_ranks(3, "mpi_one_sided", created, {.environment = no_copies}));
  expect_created_or_rejected(run_ranks(1, "mpi_one_sided", created));
}

TEST(mpi_one_sided, a_put_to_a_rank_that_does_not_exist_ends_all_ranks_with_a_message) {
  for (const int stray : {0, 3}) {
    const auto result = run_ranks(4, "mpi_one_sided", {"--stray", text(stray)});
    EXPECT_EQ(result.exit_code, 3) << result.text();
    EXPECT_TRUE(result.out.empty()) << result.text();
    ASSERT_EQ(result.err.size(), 1U) << result.text();
    EXPECT_THAT(result.err[0], testing::StartsWith("mpi_one_sided: rank " + text(stray) +
                                                   ": MPI_Put: MPI_ERR_RANK: invalid rank (mpi_one_sided.cpp:"));
    EXPECT_FALSE(result.timed_out);
    EXPECT_EQ(result.left_behind, 0);
  }
}

TEST(mpi_one_sided, a_stray_that_does_not_exist_is_rejected) {
  const auto result = run_ranks(4, "mpi_one_sided", {"--stray", "4"});
  EXPECT_EQ(result.exit_code, 2) << result.text();
  EXPECT_THAT(result.err, testing::ElementsAre("mpi_one_sided: no rank 4 among 4"));
}

TEST(mpi_one_sided, the_pitfall_loses_all_additions_but_one_and_accumulate_loses_none) {
  const auto result = run_ranks(5, "mpi_one_sided_lost_updates");
  EXPECT_EQ(result.exit_code, 1) << result.text();
  EXPECT_THAT(result.out,
              testing::ElementsAre("ok    counted by accumulate: 5", "FAIL  counted by get and put: 1, expected 5"));
  EXPECT_TRUE(result.err.empty()) << result.text();
}

}  // namespace
