// The program's output for several numbers of ranks, and the random points from inside.

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "03_processes/again_as_ranks.hpp"
#include "05_distributed/monte_carlo_pi/distributed_map.hpp"
#include "05_distributed/monte_carlo_pi/random_points.hpp"
#include "support/run.hpp"

namespace {

/// By how many standard errors the estimate is off that comes from this number of hits of a single task.
double off_by = 0;
long hits_of_the_test(long /*task*/, long points) {
  const auto n = static_cast<double>(points);
  constexpr double pi = 3.141592653589793;
  return std::lround(n / 4 * (pi + off_by * std::sqrt(pi * (4 - pi) / n)));
}

}  // namespace

#define main main_of_the_program  // its functions are tested from inside, too, and its checks with other hits
#define hits hits_of_the_test
#include "05_distributed/monte_carlo_pi/monte_carlo_pi.cpp"
#undef hits
#undef main

/// Whether this rank comes late from the sleeping barrier of a test below.
bool late_from_the_barrier = false;

/// Instead of the library's, which PMPI_Test is.
extern "C" int MPI_Test(MPI_Request* request, int* done, MPI_Status* status) {
  const int result = PMPI_Test(request, done, status);
  if (late_from_the_barrier && *done) std::this_thread::sleep_for(std::chrono::milliseconds(500));
  return result;
}

/// A new window is not always zero.
extern "C" int MPI_Win_allocate(MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm ranks, void* memory,
                                MPI_Win* window) {
  const int result = PMPI_Win_allocate(bytes, unit, info, ranks, memory, window);
  **static_cast<long**>(memory) = 3;
  return result;
}

/// Whether this rank comes late from opening the window.
bool late_from_opening = false;

extern "C" int MPI_Win_lock_all(int assertions, MPI_Win window) {
  const int result = PMPI_Win_lock_all(assertions, window);
  if (late_from_opening) std::this_thread::sleep_for(std::chrono::milliseconds(300));
  return result;
}

/// The ranks whose operations this rank has waited for.
std::vector<int> flushed;

extern "C" int MPI_Win_flush(int rank, MPI_Win window) {
  flushed.push_back(rank);
  return PMPI_Win_flush(rank, window);
}

namespace {

using namespace std::chrono_literals;
using test_support::run;
using test_support::run_ranks;

/// As a rank of a test below, this program is the recipe's, but for the hits.
const bool has_its_own_hits = [] {
  const char* const standard_errors = std::getenv("OFF_BY_STANDARD_ERRORS");
  if (standard_errors == nullptr) return true;
  off_by = std::stod(standard_errors);
  std::string words[] = {"monte_carlo_pi", "--tasks", "1", "--points", "100000000"};
  char* arguments[] = {words[0].data(), words[1].data(), words[2].data(), words[3].data(), words[4].data(), nullptr};
  const int code = main_of_the_program(5, arguments);
  std::fflush(stdout);
  _exit(code);
}();

/// As a rank of a test below, this program shares out 200 tasks, before each of which rank 1 sleeps 20 ms.
const bool is_the_test = [] {
  if (std::getenv("RANK_1_IS_SLOW") == nullptr) return true;
  {
    const mpi::Environment world;
    int done = 0;
    distributed_map(world, 200, [&](long task) {
      if (world.rank() == 1) std::this_thread::sleep_for(20ms);
      ++done;
      return task;
    });
    if (world.rank() == 1) std::printf("rank 1 has done %d tasks\n", done);
  }
  std::fflush(stdout);
  _exit(0);
}();

TEST(monte_carlo_pi_distributed_map, a_slow_rank_takes_few_tasks) {
  const auto result = run_ranks(2, "monte_carlo_pi_test", {}, {.environment = {{"RANK_1_IS_SLOW", "yes"}}});
  const auto done = result.captures("^rank 1 has done (\\d+) tasks$");
  ASSERT_EQ(done.size(), 1U) << result.text();
  EXPECT_GE(std::stoi(done[0]), 0);
  EXPECT_LT(std::stoi(done[0]), 50) << "half of the tasks are not its share";
}

// In the process, where one rank does everything.
TEST(monte_carlo_pi_distributed_map, does_each_task_once_and_no_other) {
  const mpi::Environment world;
  std::vector<long> done;
  const auto work = [&](long task) {
    done.push_back(task);
    return 10 * task;
  };
  EXPECT_EQ(distributed_map(world, 5, work), (std::vector<long>{0, 10, 20, 30, 40}));
  EXPECT_EQ(done, (std::vector<long>{0, 1, 2, 3, 4}));
}

// A number may be used when the operation that fetches it is complete at rank 0, not at another.
TEST(monte_carlo_pi_distributed_map, waits_at_rank_0_for_each_number) {
  const mpi::Environment world;
  flushed.clear();
  distributed_map(world, 5, [](long task) { return task; });
  EXPECT_EQ(flushed, std::vector<int>(6, 0)) << "five tasks, and one number too many";
}

// Rank 0 stores the first number, here late: until then nobody may take one.
TEST(monte_carlo_pi_first_number, no_rank_takes_a_task_before_it_is_stored) {
  if (again_as_ranks(2, "monte_carlo_pi_test")) return;
  const mpi::Environment world;
  late_from_opening = world.rank() == 0;
  // Negative results: the largest of a task's result and the other rank's 0 would be 0.
  EXPECT_EQ(distributed_map(world, 5, [](long task) { return -task - 1; }), (std::vector<long>{-1, -2, -3, -4, -5}));
}

/// The columns of the table that depend on the random points alone, and the sizes.
std::vector<std::string> estimates(const test_support::Result& result) {
  return result.captures("^ *(\\d+ +\\d\\.\\d{6}) ");
}

TEST(monte_carlo_pi, the_estimate_is_the_same_for_any_number_of_ranks) {
  const std::vector<std::string> few = {"--tasks", "301", "--points", "77700"};
  const auto alone = run_ranks(1, "monte_carlo_pi", few);
  ASSERT_EQ(alone.exit_code, 0) << alone.text();
  ASSERT_EQ(estimates(alone).size(), 3U) << alone.text();
  EXPECT_EQ(alone.captures("^ *(\\d+) +\\d\\.\\d{6} "), (std::vector<std::string>{"7", "777", "77700"}));
  for (const int ranks : {2, 3, 5}) {
    const auto several = run_ranks(ranks, "monte_carlo_pi", few);
    EXPECT_EQ(several.exit_code, 0) << several.text();
    EXPECT_EQ(estimates(several), estimates(alone)) << ranks;
  }
}

TEST(monte_carlo_pi, the_estimate_gets_better_with_the_number_of_points) {
  for (const auto& [size, limit] : {std::pair{"1000", 0.0066}, {"2000", 0.0033}, {"3000", 0.0022}}) {
    const auto result = run_ranks(2, "monte_carlo_pi", {"--tasks", size, "--points", size});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    const auto pi = result.captures("^ *\\d+ +(\\d\\.\\d{6}) ");
    ASSERT_EQ(pi.size(), 2U) << result.text();
    EXPECT_NEAR(std::stod(pi[1]), 3.141592653589793, limit);
    const auto errors = result.captures("in standard errors: (-?[\\d.]+)");
    ASSERT_EQ(errors.size(), 1U) << result.text();
    constexpr double pi_itself = 3.141592653589793;
    const double standard_error = std::sqrt(pi_itself * (4 - pi_itself)) / std::stod(size);  // size * size points
    EXPECT_NEAR(std::stod(errors[0]), (std::stod(pi[1]) - pi_itself) / standard_error, 0.01);
  }
}

TEST(monte_carlo_pi, what_is_expected_is_each_rank_s_share_and_what_tasks_cost_that_do_nothing) {
  const auto result = run_ranks(2, "monte_carlo_pi", {"--tasks", "2000"});
  const auto nothing = result.captures("^2000 tasks that do nothing: ([\\d.]+) ms$");
  const auto one = result.captures(" ([\\d.]+) ms +[\\d.]+ ms +[\\d.]+ ms +[\\d.]+ x$");
  const auto expected = result.captures(" ([\\d.]+) ms +[\\d.]+ ms +[\\d.]+ x$");
  const auto all = result.captures(" ([\\d.]+) ms +[\\d.]+ x$");
  const auto speedup = result.captures(" ([\\d.]+) x$");
  ASSERT_TRUE(nothing.size() == 1 && one.size() == 3 && speedup.size() == 3) << result.text();
  for (int row = 0; row < 3; ++row) {
    EXPECT_NEAR(std::stod(expected[row]), std::stod(nothing[0]) + std::stod(one[row]) / 2, 0.02) << result.text();
  }
  EXPECT_NEAR(std::stod(speedup[2]), std::stod(one[2]) / std::stod(all[2]), 0.02) << result.text();
}

TEST(monte_carlo_pi, an_estimate_may_be_off_by_four_standard_errors) {
  for (const auto& [standard_errors, code] :
       {std::pair{"-4.01", 1}, {"-4", 0}, {"-3.9", 0}, {"3.9", 0}, {"4", 0}, {"4.01", 1}}) {
    const auto result =
        run_ranks(1, "monte_carlo_pi_test", {}, {.environment = {{"OFF_BY_STANDARD_ERRORS", standard_errors}}});
    EXPECT_EQ(result.exit_code, code) << standard_errors << result.text();
  }
}

TEST(monte_carlo_pi_best_of_three, the_time_begins_when_all_ranks_are_there) {
  if (const auto result = again_as_ranks(2, "monte_carlo_pi_test")) {
    const auto ms = result->captures("^(\\d+) ms without the delay$");
    ASSERT_EQ(ms.size(), 1U) << result->text();
    EXPECT_LT(std::stoi(ms[0]), 400);
    return;
  }
  const mpi::Environment world;
  late_from_the_barrier = world.rank() == 1;
  const double seconds = best_of_three(world, [] { MPI_CHECK(PMPI_Barrier(MPI_COMM_WORLD)); });
  if (world.rank() == 0) std::printf("%.0f ms without the delay\n", 1e3 * seconds);
  std::fflush(stdout);
}

TEST(monte_carlo_pi, more_ranks_than_tasks_is_no_problem) {
  EXPECT_EQ(run_ranks(4, "monte_carlo_pi", {"--tasks", "1", "--points", "100000"}).exit_code, 0);
}

/// The seconds of processor time that each child of a process has used.
std::vector<double> processor_seconds_of_children(pid_t parent) {
  const std::string id = std::to_string(parent);
  std::vector<double> seconds;
  std::istringstream children(test_support::text_of("/proc/" + id + "/task/" + id + "/children"));
  for (std::string child; children >> child;) {
    const std::string stat = test_support::text_of("/proc/" + child + "/stat");
    std::istringstream fields(stat.substr(stat.rfind(')') + 1));  // from the third on
    std::string word;
    for (int field = 3; field < 14; ++field) fields >> word;
    double user = 0, system = 0;
    fields >> user >> system;
    seconds.push_back((user + system) / static_cast<double>(sysconf(_SC_CLK_TCK)));
  }
  return seconds;
}

TEST(monte_carlo_pi, while_one_process_counts_the_other_ranks_sleep) {
  test_support::Process program("/usr/bin/mpirun",
                                {"--quiet", "--allow-run-as-root", "--oversubscribe", "-n", "2",
                                 test_support::bin() + "/monte_carlo_pi", "--points", "5000000"},
                                {.environment = {{"OMPI_MCA_odls_base_sigkill_timeout", "0"}, {"EVENT_NOEPOLL", "1"}}});
  program.read_until(" 50000 ");  // now rank 0 counts 5,000,000,000 points, again and again
  const auto before = processor_seconds_of_children(program.pid());
  std::this_thread::sleep_for(1s);
  const auto after = processor_seconds_of_children(program.pid());
  ASSERT_EQ(before.size(), 2U);
  ASSERT_EQ(after.size(), 2U);
  EXPECT_LT(std::min(after[0] - before[0], after[1] - before[1]), 0.15);
}

TEST(monte_carlo_pi, a_rank_that_is_killed_ends_the_job_with_a_message) {
  const std::string program = test_support::bin() + "/monte_carlo_pi";
  const auto result = run("/usr/bin/mpirun",
                          {"--allow-run-as-root", "--oversubscribe", "-n", "1", program, "--points", "100000000", ":",
                           "-n", "1", "/usr/bin/timeout", "-s", "KILL", "1", program, "--points", "100000000"},
                          {.environment = {{"OMPI_MCA_odls_base_sigkill_timeout", "0"}, {"EVENT_NOEPOLL", "1"}}});
  EXPECT_FALSE(result.timed_out);
  EXPECT_NE(result.exit_code, 0);
  EXPECT_NE(result.text().find("rank 1"), std::string::npos) << result.text();
  EXPECT_EQ(result.leaked_processes, 0);
}

TEST(monte_carlo_pi_random_points, a_point_on_the_circle_is_not_inside) {
  EXPECT_FALSE(inside({1, 0}));
  EXPECT_FALSE(inside({0, 1}));
  EXPECT_TRUE(inside({0, 0}));
  EXPECT_TRUE(inside({std::nextafter(1.0, 0.0), 0}));
  EXPECT_FALSE(inside({0.8, 0.7}));
}

TEST(monte_carlo_pi_random_points, each_task_has_points_of_its_own) {
  std::set<std::pair<double, double>> all;
  for (int task = 0; task < 1000; ++task) {
    for (int i = 0; i < 10; ++i) all.emplace(point(task, i).x, point(task, i).y);
  }
  EXPECT_EQ(all.size(), 10'000U);
}

TEST(monte_carlo_pi_random_points, they_fill_the_unit_square_evenly) {
  int quarters[4] = {};
  for (int i = 0; i < 100'000; ++i) {
    const Point p = point(7, i);
    ASSERT_TRUE(0 <= p.x && p.x < 1 && 0 <= p.y && p.y < 1);
    ++quarters[2 * (p.x < 0.5) + (p.y < 0.5)];
  }
  for (const int count : quarters) EXPECT_NEAR(count, 25'000, 700);  // five standard deviations
}

TEST(monte_carlo_pi_random_points, hits_are_between_none_and_all) {
  EXPECT_EQ(hits(3, 0), 0);
  for (int task = 0; task < 100; ++task) {
    EXPECT_EQ(hits(task, 1), inside(point(task, 0)));
    EXPECT_LE(hits(task, 50), 50);
    EXPECT_GE(hits(task, 50), hits(task, 49));
  }
}

}  // namespace
