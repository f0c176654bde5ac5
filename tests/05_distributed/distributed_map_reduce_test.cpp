// The program's output for several numbers of ranks, and its functions from inside.

#define main main_of_the_program  // its functions are tested from inside, too
#include "05_distributed/distributed_map_reduce/distributed_map_reduce.cpp"
#undef main

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/eventually.hpp"
#include "support/files.hpp"
#include "support/run.hpp"

namespace {

using test_support::Result;
using test_support::run;
using test_support::run_ranks;

/// The number of this unit in the row of this name: the first one, which is for tasks that wait, or that of tasks
/// which do not.
double figure(const Result& result, const std::string& row, const std::string& unit, bool wait = true) {
  const auto found = result.captures("^" + row + (wait ? " .*?" : " .*? ms .*?") + "([\\d.]+) " + unit);
  return found.size() == 1 ? std::stod(found[0]) : -1;
}

TEST(distributed_map_reduce, the_sums_do_not_depend_on_the_number_of_ranks) {
  for (const int ranks : {1, 2, 4, 8}) {
    const auto result = run_ranks(ranks, "distributed_map_reduce", {"--task-us", "0", "--length", "1000"});
    EXPECT_EQ(result.exit_code, 0) << result.text();
    EXPECT_TRUE(result.has_line("ok    all sums are those of the plain loop: yes")) << result.text();
  }
}

TEST(distributed_map_reduce, few_tasks_or_none_are_no_problem) {
  for (const char* tasks : {"0", "1", "2", "3"}) {
    const auto result = run_ranks(4, "distributed_map_reduce", {"--tasks", tasks});
    EXPECT_EQ(result.exit_code, 0) << result.text();
  }
}

TEST(distributed_map_reduce, refuses_more_lists_than_rank_0_can_keep) {
  const auto result = run_ranks(2, "distributed_map_reduce", {"--tasks", "10000", "--length", "10000000"});
  EXPECT_EQ(result.exit_code, 2) << result.text();
  EXPECT_THAT(result.err,
              testing::ElementsAre("distributed_map_reduce: --tasks times --length: at most 1000000000 counts"));
}

TEST(distributed_map_reduce, a_list_per_worker_and_not_one_per_task_travels_to_rank_0) {
  for (const auto& [ranks, shares] : {std::pair{2, 1.0}, {4, 3.0}}) {
    double moved = 0;
    // A worker that other programs keep from running meanwhile gets no task, and sends no list.
    for (int attempt = 0; attempt < 4 && moved != 2 * shares; ++attempt) {
      const auto result =
          run_ranks(ranks, "distributed_map_reduce", {"--tasks", "50", "--task-us", "1000", "--length", "250000"});
      ASSERT_EQ(result.exit_code, 0) << result.text();
      EXPECT_EQ(figure(result, "plain loop at rank 0", "MB"), 0);
      EXPECT_EQ(figure(result, "map", "MB"), 100) << result.text();
      EXPECT_EQ(figure(result, "map_as_completed", "MB"), 100) << result.text();
      moved = figure(result, "map_reduce", "MB");
      ASSERT_LE(moved, 2 * shares) << result.text();
    }
    EXPECT_EQ(moved, 2 * shares) << ranks << " ranks";
  }
}

TEST(distributed_map_reduce, it_takes_as_long_as_the_tasks_need) {
  const auto result = run_ranks(4, "distributed_map_reduce", {"--tasks", "60", "--task-us", "10000", "--length", "1"});
  ASSERT_EQ(result.exit_code, 0) << result.text();
  for (const std::string row :
       {"plain loop at rank 0", "map", "map_as_completed", "map_reduce", "no manager, MPI_Reduce"}) {
    EXPECT_GE(figure(result, row, "ms", false), 0) << result.text();
    EXPECT_LT(figure(result, row, "ms", false), figure(result, row, "ms")) << "without the wait\n" << result.text();
  }
  EXPECT_GE(figure(result, "plain loop at rank 0", "ms"), 600);
  EXPECT_GE(figure(result, "map", "ms"), 200);
  EXPECT_GE(figure(result, "map_as_completed", "ms"), 200);
  EXPECT_GE(figure(result, "map_reduce", "ms"), 200);
  EXPECT_GE(figure(result, "no manager, MPI_Reduce", "ms"), 150);  // rank 0 does tasks, too
}

TEST(distributed_map_reduce, the_workers_sleep_while_rank_0_runs_the_plain_loop) {
  const auto processor_seconds = [](const std::string& tasks) {
    const auto result =
        run_ranks(4, "distributed_map_reduce", {"--tasks", tasks, "--task-us", "1000000", "--length", "1"});
    EXPECT_EQ(result.exit_code, 0) << result.text();
    return result.processor_seconds;
  };
  // Three tasks take the loop 3 s, and three workers 1 s three times, in which rank 0 waits for their reports and does
  // not sleep.
  const double without_tasks = processor_seconds("0");
  EXPECT_LT(processor_seconds("3") - without_tasks, 6);
}

TEST(distributed_map_reduce, a_worker_that_is_killed_ends_the_job_with_a_message) {
  const std::string program = test_support::bin() + "/distributed_map_reduce";
  const auto result = run("/usr/bin/mpirun",
                          {"--allow-run-as-root", "--oversubscribe", "-n", "2", program, "--task-us", "100000", ":",
                           "-n", "1", "/usr/bin/timeout", "-s", "KILL", "1", program, "--task-us", "100000"},
                          {.environment = {{"OMPI_MCA_odls_base_sigkill_timeout", "0"}, {"EVENT_NOEPOLL", "1"}}});
  EXPECT_FALSE(result.timed_out);
  EXPECT_NE(result.exit_code, 0);
  EXPECT_NE(result.text().find("rank 2"), std::string::npos) << result.text();
  EXPECT_EQ(result.leaked_processes, 0);
}

TEST(distributed_map_reduce_timing, rank_0_adds_all_lists_or_one_per_worker) {
  const auto result = run_ranks(4, "distributed_map_reduce", {"--length", "1000000", "--tasks", "50"});
  ASSERT_EQ(result.exit_code, 0) << result.text();
  const auto adding = [&](const std::string& row) {
    const auto found = result.captures("^" + row + " .*? ms .*? ms +(\\d+) ms ");
    return found.size() == 1 ? std::stod(found[0]) : -1;
  };
  for (const std::string row : {"plain loop at rank 0", "map", "map_as_completed"}) {
    EXPECT_GT(adding(row), 5) << result.text();  // 50 lists of 8 MB
    EXPECT_LE(adding(row), figure(result, row, "ms", false)) << result.text();
  }
  EXPECT_GE(adding("map_reduce"), 0) << result.text();
  EXPECT_LT(adding("map_reduce"), adding("map") / 3) << result.text();  // three lists, of which the first is moved
  EXPECT_LE(adding("no manager, MPI_Reduce"), figure(result, "no manager, MPI_Reduce", "ms", false)) << result.text();
}

TEST(distributed_map_reduce_timing, three_workers_are_nearly_three_times_as_fast_and_four_ranks_four_times) {
  const auto result =
      run_ranks(4, "distributed_map_reduce", {"--tasks", "300", "--task-us", "10000", "--length", "1000"});
  ASSERT_EQ(result.exit_code, 0) << result.text();
  const double loop = figure(result, "plain loop at rank 0", "ms");
  EXPECT_GT(loop / figure(result, "map_reduce", "ms"), 2.7) << result.text();
  EXPECT_GT(loop / figure(result, "no manager, MPI_Reduce", "ms"), 3.5) << result.text();
}

TEST(distributed_map_reduce_timing, long_results_are_added_up_faster_where_they_are) {
  const auto result = run_ranks(4, "distributed_map_reduce", {"--length", "1000000", "--tasks", "50"});
  ASSERT_EQ(result.exit_code, 0) << result.text();
  for (const bool wait : {true, false}) {
    EXPECT_LT(figure(result, "map_reduce", "ms", wait), figure(result, "map", "ms", wait)) << result.text();
  }
}

TEST(distributed_map_reduce, each_task_up_to_the_last_that_one_may_ask_for_counts_as_often_as_its_number_says) {
  for (const long length : {1L, 1000L}) {
    for (long task = 0; task < 10'000; task += 99) {  // 9999 at last
      const Numbers counts = counts_of(task, length);
      ASSERT_EQ(counts.size(), static_cast<std::size_t>(length));
      ASSERT_EQ(std::accumulate(counts.begin(), counts.end(), 0L), task + 1) << "task " << task;
    }
  }
  EXPECT_NE(counts_of(1, 1000), counts_of(2, 1000));
  EXPECT_NE(counts_of(0, 1000), Numbers(1000));
}

/// Starts this test once more, as so many ranks, which find the folder in COOKBOOK_TASK_FARM.
Result run_again(int ranks, const std::string& test, const std::filesystem::path& folder) {
  return run("/usr/bin/mpirun",
             {"--allow-run-as-root", "--oversubscribe", "-n", std::to_string(ranks),
              std::filesystem::read_symlink("/proc/self/exe"), "--gtest_filter=*." + test},
             {.environment = {{"COOKBOOK_TASK_FARM", folder}, {"EVENT_NOEPOLL", "1"}}});
}

TEST(distributed_map_reduce_task_farm,
     results_come_in_the_order_in_which_they_are_ready_or_by_map_in_that_of_the_tasks) {
  if (const char* folder = std::getenv("COOKBOOK_TASK_FARM")) {
    const mpi::Environment world;
    const auto shorter_and_shorter = [](long task) {
      std::this_thread::sleep_for(std::chrono::milliseconds(std::vector{500, 300, 100}[task]));
      return Numbers{task};
    };
    std::string by_map, as_completed;
    for (const Numbers& result : map(world, 3, shorter_and_shorter)) by_map += std::to_string(result[0]);
    map_as_completed(world, 3, shorter_and_shorter, [&](long task, const Numbers& result) {
      EXPECT_EQ(result, Numbers{task});
      as_completed += std::to_string(task);
    });
    if (world.rank() == 0) std::ofstream(std::filesystem::path(folder) / "order") << by_map << ' ' << as_completed;
    return;
  }
  // Three workers do the three tasks at the same time, and the last task is the shortest. One that other programs keep
  // from running for a fifth of a second may come later, so there are several attempts.
  for (const auto& [ranks, order] : {std::pair(4, std::string("210")), {3, "120"}, {2, "012"}, {1, "012"}}) {
    const test_support::TemporaryDirectory folder;
    std::string by_map, as_completed;
    for (int attempt = 0; attempt < 4 && as_completed != order; ++attempt) {
      const auto result = run_again(
          ranks, "results_come_in_the_order_in_which_they_are_ready_or_by_map_in_that_of_the_tasks", folder.path);
      ASSERT_EQ(result.exit_code, 0) << result.text();
      std::ifstream(folder.path / "order") >> by_map >> as_completed;
      EXPECT_EQ(by_map, "012") << ranks << " ranks";
    }
    EXPECT_EQ(as_completed, order) << ranks << " ranks";
  }
}

// The test starts itself once more, as two ranks. A file for each task says that the worker has begun it.
TEST(distributed_map_reduce_task_farm, the_worker_does_its_next_task_while_rank_0_consumes_a_result) {
  if (const char* folder = std::getenv("COOKBOOK_TASK_FARM")) {
    const mpi::Environment world;
    const auto file_of = [&](long task) { return std::filesystem::path(folder) / std::to_string(task); };
    const auto work = [&](long task) {
      std::ofstream(file_of(task)) << "begun";
      return Numbers{task};
    };
    bool next_begun = true;
    map_as_completed(world, 3, work, [&](long task, const Numbers&) {
      next_begun = next_begun &&
                   (task == 2 || test_support::eventually([&] { return std::filesystem::exists(file_of(task + 1)); }));
    });
    EXPECT_TRUE(next_begun);
    return;
  }
  const test_support::TemporaryDirectory folder;
  const auto result = run_again(2, "the_worker_does_its_next_task_while_rank_0_consumes_a_result", folder.path);
  EXPECT_EQ(result.exit_code, 0) << result.text();
  EXPECT_TRUE(std::filesystem::exists(folder.path / "2")) << result.text();
}

// The functions in the process, where one rank does everything.
TEST(distributed_map_reduce_task_farm, one_rank_does_all_by_itself) {
  const mpi::Environment world;
  const auto work = [](long task) { return Numbers{task, 1}; };
  const auto both = [](Numbers& sum, const Numbers& more) { sum[0] += more[0], sum[1] += more[1]; };
  EXPECT_EQ(map(world, 3, work), (std::vector<Numbers>{{0, 1}, {1, 1}, {2, 1}}));
  EXPECT_EQ(map_reduce(world, 5, work, both), (Numbers{10, 5}));
  EXPECT_EQ(map_reduce(world, 0, work, both), Numbers());
  Numbers order;
  EXPECT_EQ(map_as_completed(world, 3, work, [&](long task, const Numbers&) { order.push_back(task); }), 0);
  EXPECT_EQ(order, (Numbers{0, 1, 2}));
}

}  // namespace
