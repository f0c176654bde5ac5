// What the ranks find in their windows, for several numbers of ranks and tasks, and how a window reports an error.

#include <numeric>
#include <string>
#include <vector>

#include "cookbook/mpi.hpp"
#include "support/run.hpp"

namespace {

using test_support::run_ranks;

std::string text(int number) { return std::to_string(number); }

TEST(mpi_one_sided, windows_tasks_and_shared_memory_are_right_for_any_number_of_ranks) {
  struct Case {
    int ranks, tasks;
  };
  for (const auto& [ranks, tasks] : {Case{1, 5}, Case{2, 1}, Case{7, 300}}) {  // fewer tasks than ranks, and many
    const auto result = run_ranks(ranks, "mpi_one_sided", {"--tasks", text(tasks)});
    EXPECT_EQ(result.exit_code, 0) << result.text();
    for (int i = 0; i < ranks; ++i) {
      const int next = (i + 1) % ranks, previous = (i - 1 + ranks) % ranks, before = (i - 2 + 2 * ranks) % ranks;
      EXPECT_TRUE(result.has_line("rank " + text(i) + " put " + text(100 + i) + " at rank " + text(next) + ", found " +
                                  text(100 + previous) + " in its window, got " + text(100 + before) + " from rank " +
                                  text(previous)))
          << result.text();
    }
    const auto taken = result.captures("^rank \\d took (\\d+) tasks$");
    EXPECT_EQ(taken.size(), static_cast<std::size_t>(ranks)) << result.text();
    EXPECT_EQ(std::accumulate(taken.begin(), taken.end(), 0,
                              [](int total, const std::string& count) { return total + std::stoi(count); }),
              tasks)
        << result.text();
    EXPECT_TRUE(result.has_line("ok    sum in the window of rank 0: " + text(ranks * (ranks + 1) / 2)));
    EXPECT_TRUE(result.has_line("ok    tasks that were taken exactly once: " + text(tasks)));
    EXPECT_TRUE(result.has_line("ok    ranks that found what another rank stored directly: " + text(ranks)));
    EXPECT_TRUE(result.err.empty()) << result.text();
    EXPECT_EQ(result.leaked_processes, 0);
  }
}

TEST(mpi_one_sided, the_pitfall_counts_to_one_with_any_number_of_ranks) {
  const auto result = run_ranks(3, "mpi_one_sided_lost_updates");
  EXPECT_EQ(result.exit_code, 1) << result.text();
  EXPECT_THAT(result.out, testing::ElementsAre("3 ranks have counted to 1"));
}

TEST(mpi_one_sided_window, returns_errors_once_it_has_a_handler_that_does) {
  const mpi::Environment world;
  int* memory = nullptr;
  MPI_Win window;
  MPI_CHECK(MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window));
  MPI_Errhandler handler;
  MPI_CHECK(MPI_Win_get_errhandler(window, &handler));
  EXPECT_EQ(handler, MPI_ERRORS_ARE_FATAL) << "it does not have that of MPI_COMM_WORLD";
  MPI_CHECK(MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN));
  MPI_CHECK(MPI_Win_fence(0, window));
  const int number = 1, nobody = world.size();
  int error_class = MPI_SUCCESS;
  MPI_Error_class(MPI_Put(&number, 1, MPI_INT, nobody, 0, 1, MPI_INT, window), &error_class);
  EXPECT_EQ(error_class, MPI_ERR_RANK);
  MPI_CHECK(MPI_Win_fence(0, window));
  MPI_CHECK(MPI_Win_free(&window));
}

}  // namespace
