// What the ranks take and report, for several numbers of ranks and tasks, when they begin with their tasks, and how a
// window reports an error.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/mpi.hpp"
#include "cookbook/options.hpp"

namespace {

using Clock = std::chrono::steady_clock;                                  // the same for all processes of a machine
std::vector<std::pair<Clock::time_point, Clock::time_point>> tasks_done;  // by this rank: when they began and ended

std::size_t long_task = SIZE_MAX;       // so many tasks this rank does before one that takes
std::chrono::milliseconds long_time{};  // so much longer

/// Stands in the program's work_on() in place of the sleep.
template <typename Duration>
void sleep_and_note(Duration duration) {
  const auto begin = Clock::now();
  std::this_thread::sleep_for(duration);
  if (tasks_done.size() == long_task) std::this_thread::sleep_for(long_time);
  tasks_done.emplace_back(begin, Clock::now());
}

}  // namespace

#define main main_of_the_program  // it is run from inside, too
#define sleep_for(duration) yield(), sleep_and_note(duration)
#include "03_processes/mpi_one_sided/mpi_one_sided.cpp"
#undef sleep_for
#undef main

#include "03_processes/again_as_ranks.hpp"
#include "support/run.hpp"

namespace {

int late_rank = -1;            // does something else for a while, before it begins with its tasks
Clock::time_point was_late{};  // until then
std::size_t block = 0;         // so many tasks of this rank are those of its block
struct {
  double late, block_begins, block_ends, counter_begins;
} of_all;  // in seconds: the latest of all ranks, the first begin, the last end, and the first begin again
int arrived = 0, *awaited = nullptr;  // what MPI_Fetch_and_op has brought, and where it belongs after a flush
struct {
  bool fence = false;              // one has been called
  bool epoch = false;              // the last one has begun an epoch
  bool put = false;                // one has been called since
  std::vector<std::string> wrong;  // calls that MPI does not allow, though Open MPI 4.1 does what was meant
} so_far;
int begun_meanwhile = -1;  // tasks of the other ranks that have begun while rank 0 was at its long one

}  // namespace

// MPI lets a program put functions of its own in place of MPI's, which are then called PMPI_Win_fence and so on.

// After the first call of it the ranks go on to their tasks.
extern "C" int MPI_Win_fence(int hints, MPI_Win window) {
  const int error = PMPI_Win_fence(hints, window);
  if (so_far.put && (hints & MPI_MODE_NOPRECEDE)) so_far.wrong.push_back("a fence that says that there was no put");
  so_far.put = false;
  so_far.fence = true;
  so_far.epoch = !(hints & MPI_MODE_NOSUCCEED);
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == std::exchange(late_rank, -1)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    was_late = Clock::now();
  }
  return error;
}

extern "C" int MPI_Put(const void* from, int count, MPI_Datatype type, int rank, MPI_Aint place, int there,
                       MPI_Datatype type_there, MPI_Win window) {
  if (!so_far.epoch) so_far.wrong.push_back("a put outside of an epoch");
  so_far.put = true;
  return PMPI_Put(from, count, type, rank, place, there, type_there, window);
}

extern "C" int MPI_Win_lock_all(int hints, MPI_Win window) {
  if (!so_far.fence) so_far.wrong.push_back("zeros that no fence has published");
  return PMPI_Win_lock_all(hints, window);
}

// The result is there only after a flush, as MPI says. (Open MPI 4.1 brings it at once.)
extern "C" int MPI_Fetch_and_op(const void* from, void* to, MPI_Datatype type, int rank, MPI_Aint place,
                                MPI_Op operation, MPI_Win window) {
  if (awaited != nullptr) {
    std::fputs("a result that no flush has brought\n", stderr);
    std::_Exit(1);  // the rank would get 0 again and again
  }
  awaited = static_cast<int*>(to);
  return PMPI_Fetch_and_op(from, &arrived, type, rank, place, operation, window);
}

extern "C" int MPI_Win_flush(int rank, MPI_Win window) {
  const int error = PMPI_Win_flush(rank, window);
  if (awaited != nullptr) *std::exchange(awaited, nullptr) = arrived;
  return error;
}

extern "C" int MPI_Finalize() {
  const auto seconds = [](Clock::time_point time) {
    return std::chrono::duration<double>(time.time_since_epoch()).count();
  };
  const double never = std::numeric_limits<double>::max();
  double first[] = {never, never}, last[] = {0, seconds(was_late)};
  for (std::size_t i = 0; i < tasks_done.size(); ++i) {
    first[i >= block] = std::min(first[i >= block], seconds(tasks_done[i].first));
    if (i < block) last[0] = std::max(last[0], seconds(tasks_done[i].second));
  }
  PMPI_Allreduce(MPI_IN_PLACE, first, 2, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
  PMPI_Allreduce(MPI_IN_PLACE, last, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  of_all = {last[1], first[0], last[0], first[1]};

  double span[] = {never, never};
  if (long_task < tasks_done.size()) {
    std::tie(span[0], span[1]) = std::pair(seconds(tasks_done[long_task].first), seconds(tasks_done[long_task].second));
  }
  PMPI_Bcast(span, 2, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  const long begun = std::count_if(tasks_done.begin(), tasks_done.end(), [&](const auto& task) {
    return seconds(task.first) > span[0] && seconds(task.first) < span[1];
  });
  begun_meanwhile = static_cast<int>(begun);
  PMPI_Allreduce(MPI_IN_PLACE, &begun_meanwhile, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  return PMPI_Finalize();
}

namespace {

using test_support::run_ranks;

std::string text(int number) { return std::to_string(number); }

TEST(mpi_one_sided_tasks, all_ranks_begin_together_in_blocks_and_again_by_the_counter) {
  constexpr int ranks = 4, tasks = 64;
  if (again_as_ranks(ranks, "mpi_one_sided_test")) return;
  late_rank = 2;
  block = tasks / ranks;
  std::string name = "mpi_one_sided";
  char* arguments[] = {name.data(), nullptr};
  EXPECT_EQ(main_of_the_program(1, arguments), 0);
  EXPECT_GT(of_all.late, 0);
  EXPECT_GE(of_all.block_begins, of_all.late) << "none begins before all have come";
  EXPECT_GE(of_all.counter_begins, of_all.block_ends);
}

TEST(mpi_one_sided_calls, each_transfer_is_completed_before_its_result_is_used) {
  if (again_as_ranks(4, "mpi_one_sided_test")) return;
  std::string name = "mpi_one_sided";
  char* arguments[] = {name.data(), nullptr};
  EXPECT_EQ(main_of_the_program(1, arguments), 0);
  EXPECT_THAT(so_far.wrong, testing::ElementsAre());
}

/// Rank 0, the owner of the counter, is at its first task from it for two seconds. How many tasks do others begin
/// meanwhile? (Their first tasks take half a second, so that rank 0 gets one though it may come late.)
int begun_while_the_owner_works() {
  constexpr int ranks = 4, tasks = 64;
  block = tasks / ranks;
  long_task = block;
  const char* const rank = std::getenv("OMPI_COMM_WORLD_RANK");
  long_time = std::chrono::milliseconds(rank != nullptr && rank == std::string("0") ? 2000 : 500);
  std::string name = "mpi_one_sided";
  char* arguments[] = {name.data(), nullptr};
  EXPECT_EQ(main_of_the_program(1, arguments), 0);
  return begun_meanwhile;
}

TEST(mpi_one_sided_counter_in_shared_memory, is_changed_by_the_others_while_its_owner_works) {
#ifndef OPEN_MPI
  GTEST_SKIP() << "the name of this variable is that of Open MPI";
#endif
  if (again_as_ranks(4, "mpi_one_sided_test")) return;
  EXPECT_GT(begun_while_the_owner_works(), 3);
}

TEST(mpi_one_sided_counter_over_tcp, is_served_by_open_mpi_only_while_its_owner_is_in_a_call) {
#ifndef OPEN_MPI
  GTEST_SKIP() << "the names of these settings are those of Open MPI";
#endif
  if (again_as_ranks(4, "mpi_one_sided_test")) return;
  setenv("OMPI_MCA_osc", "^sm", 1);
  setenv("OMPI_MCA_btl", "self,tcp", 1);
  const int begun = begun_while_the_owner_works();
  EXPECT_GE(begun, 0);
  EXPECT_LE(begun, 3) << "each of the others may have got one number before, and gets no other one";
}

TEST(mpi_one_sided_exactly_once, counts_neither_what_nobody_has_taken_nor_what_two_have_taken) {
  if (again_as_ranks(3, "mpi_one_sided_test")) return;
  const mpi::Environment world;
  const int first = world.rank() == 0, last = world.rank() == 2;
  EXPECT_EQ(exactly_once({first, last, 0, 1, first + last, 2 * first}), 2);
  EXPECT_EQ(exactly_once({1}), 0);
  EXPECT_EQ(exactly_once({0}), 0);
}

/// How many tasks the ranks have done and how long it took, in the order of the ranks.
struct Reports {
  std::vector<int> in_blocks, by_counter;
  std::vector<double> ms_in_blocks, ms_by_counter;
};

Reports reports_of(const test_support::Result& result) {
  const std::string tasks = "\\d+ tasks in +", ms = "[\\d.]+ ms +", row = "^rank \\d+ +";
  Reports reports;
  for (const std::string& found : result.captures(row + "(\\d+) tasks in"))
    reports.in_blocks.push_back(std::stoi(found));
  for (const std::string& found : result.captures(row + tasks + "(\\d+\\.\\d) ms ")) {
    reports.ms_in_blocks.push_back(std::stod(found));
  }
  for (const std::string& found : result.captures(row + tasks + ms + "(\\d+) tasks in")) {
    reports.by_counter.push_back(std::stoi(found));
  }
  for (const std::string& found : result.captures(row + tasks + ms + tasks + "(\\d+\\.\\d) ms$")) {
    reports.ms_by_counter.push_back(std::stod(found));
  }
  return reports;
}

/// The two numbers, in ms, of a row below the ranks.
std::vector<double> two_of(const test_support::Result& result, const std::string& label) {
  std::vector<double> both;
  for (const std::string& row : {label + " +(\\d+\\.\\d) ms +[\\d.]+ ms$", label + " +[\\d.]+ ms +(\\d+\\.\\d) ms$"}) {
    const auto found = result.captures("^" + row);
    EXPECT_EQ(found.size(), 1U) << result.text();
    both.push_back(found.empty() ? -1 : std::stod(found[0]));
  }
  return both;
}

TEST(mpi_one_sided, tasks_and_reports_are_right_for_any_number_of_ranks) {
  struct Case {
    int ranks, tasks;
  };
  for (const auto& [ranks, tasks] : {Case{1, 5}, Case{2, 1}, Case{7, 300}}) {  // fewer tasks than ranks, and many
    const auto result = run_ranks(ranks, "mpi_one_sided", {"--tasks", text(tasks)});
    EXPECT_EQ(result.exit_code, 0) << result.text();
    const Reports reports = reports_of(result);
    ASSERT_EQ(reports.in_blocks.size(), static_cast<std::size_t>(ranks)) << result.text();
    ASSERT_EQ(reports.by_counter.size(), static_cast<std::size_t>(ranks)) << result.text();
    for (int i = 0; i < ranks; ++i) {
      const int first = tasks * i / ranks, end = tasks * (i + 1) / ranks;
      EXPECT_EQ(reports.in_blocks[static_cast<std::size_t>(i)], end - first) << result.text();
    }
    EXPECT_EQ(std::accumulate(reports.by_counter.begin(), reports.by_counter.end(), 0), tasks) << result.text();
    EXPECT_TRUE(result.has_line("ok    tasks taken exactly once, in blocks and by the counter: [" + text(tasks) + ", " +
                                text(tasks) + "]"))
        << result.text();
    EXPECT_TRUE(result.has_line("ok    tasks in the reports that the ranks have put there: [" + text(tasks) + ", " +
                                text(tasks) + "]"))
        << result.text();
    EXPECT_TRUE(result.err.empty()) << result.text();
    EXPECT_EQ(result.leaked_processes, 0);
  }
}

/// No clock is compared with another: a task sleeps for 40 us times its number, so its rank cannot be done earlier.
TEST(mpi_one_sided, no_rank_is_done_sooner_than_its_tasks_take) {
  const auto result = run_ranks(4, "mpi_one_sided", {"--tasks", "64"});
  const Reports reports = reports_of(result);
  ASSERT_EQ(reports.ms_in_blocks.size(), 4U) << result.text();
  ASSERT_EQ(reports.ms_by_counter.size(), 4U) << result.text();
  double all = 0;
  for (int rank = 0; rank < 4; ++rank) {
    const int first = 16 * rank, sum = 16 * first + 15 * 16 / 2;  // first + (first + 1) + ... + (first + 15)
    const auto i = static_cast<std::size_t>(rank);
    EXPECT_GE(reports.ms_in_blocks[i], 0.04 * sum - 0.1) << result.text();
    all += reports.ms_by_counter[i];
  }
  EXPECT_GE(all, 0.04 * 63 * 64 / 2 - 0.4) << result.text();
  EXPECT_THAT(two_of(result, "calculated, at least"), testing::ElementsAre(35.5, 20.2)) << result.text();
  const auto measured = two_of(result, "all are done after");
  EXPECT_EQ(measured[0], *std::max_element(reports.ms_in_blocks.begin(), reports.ms_in_blocks.end()));
  EXPECT_EQ(measured[1], *std::max_element(reports.ms_by_counter.begin(), reports.ms_by_counter.end()));
}

TEST(mpi_one_sided_timing, the_counter_ends_before_the_longest_block) {
  double best = 1;  // of five runs, since another program may take a core for a while
  for (int i = 0; i < 5; ++i) {
    const auto measured = two_of(run_ranks(4, "mpi_one_sided", {"--tasks", "100"}), "all are done after");
    ASSERT_GT(measured[1], 0);
    best = std::min(best, measured[1] / measured[0]);
  }
  EXPECT_LT(best, 0.85);
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
