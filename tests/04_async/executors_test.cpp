// The program's output, and what it relies on in Asio's pool.

#include <algorithm>
#include <atomic>
#include <boost/asio.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/eventually.hpp"
#include "support/files.hpp"
#include "support/most_at_once.hpp"
#include "support/run.hpp"

namespace {

namespace asio = boost::asio;
using test_support::run;

const std::string no_wrong_result = "ok    wrong results in all runs: 0";

/// A row's time with jobs of one kind, in microseconds, or how many times as fast that is as one after another.
enum Cell { empty_us, short_us, short_factor, long_us, long_factor, waiting_us, waiting_factor };

double cell(const test_support::Result& result, const std::string& row, Cell wanted) {
  const std::string number = " +([0-9.]+)";
  std::string pattern = "^" + row + " +";
  for (const Cell one : {empty_us, short_us, short_factor, long_us, long_factor, waiting_us, waiting_factor}) {
    const bool is_factor = one == short_factor || one == long_factor || one == waiting_factor;
    const std::string any = is_factor ? "\\d+\\.\\d\\d" : "\\d+";
    pattern +=
        (one == wanted ? "(" + any + ")" : any) + (is_factor ? " x" : " us") + (one == waiting_factor ? "$" : " +");
  }
  const auto found = result.captures(pattern);
  EXPECT_EQ(found.size(), 1U) << row << "\n" << result.text();
  return found.empty() ? 0 : std::stod(found[0]);
}

TEST(executors, each_way_gives_all_results_for_any_number_of_workers) {
  for (const std::string workers : {"1", "3", "10", "40"}) {
    const auto result = run("executors", {"--workers", workers, "--steps", "1000"});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    EXPECT_EQ(result.leaked_processes, 0);
    EXPECT_EQ(result.captures("^(.*?) +\\d+ us( +\\d+ us +[0-9.]+ x){3}$"),
              (std::vector<std::string>{"one after another", workers + " processes", workers + " threads",
                                        workers + " threads, kept", "oneTBB, " + workers + " threads at most"}))
        << result.text();
    EXPECT_TRUE(result.has_line(no_wrong_result)) << result.text();
  }
}

TEST(executors, factors_are_the_time_of_one_thread_by_that_of_the_row) {
  const auto result = run("executors", {"--steps", "1000000"});
  ASSERT_EQ(result.exit_code, 0) << result.text();
  for (const auto& [us, factor] : std::vector<std::pair<Cell, Cell>>{
           {short_us, short_factor}, {long_us, long_factor}, {waiting_us, waiting_factor}}) {
    for (const std::string row :
         {"one after another", "2 processes", "2 threads", "2 threads, kept", "oneTBB, 2 threads at most"}) {
      const double expected = cell(result, "one after another", us) / std::max(1.0, cell(result, row, us));
      EXPECT_NEAR(cell(result, row, factor), expected, 0.1 + expected / 5) << row << "\n" << result.text();
    }
  }
}

// The waiting jobs need no core, so as many of them run at the same time as there are workers; oneTBB has no more
// threads than the machine has cores.
TEST(executors, waiting_jobs_gain_by_more_workers_than_cores_except_by_onetbb) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "not in a sanitizer's build, where a fork takes longer than the jobs wait";
#endif
  const int cores = static_cast<int>(std::min(5U, std::thread::hardware_concurrency()));
  bool all_wait_at_the_same_time = false;  // a busy machine may start or wake the workers late
  for (int attempt = 0; attempt < 10 && !all_wait_at_the_same_time; ++attempt) {
    const auto result = run("executors", {"--workers", "5", "--steps", "1000"});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    EXPECT_GE(cell(result, "one after another", waiting_us), 10'000);
    for (const std::string row : {"5 processes", "5 threads", "5 threads, kept"}) {
      EXPECT_GE(cell(result, row, waiting_us), 2'000) << row;
    }
    EXPECT_GE(cell(result, "oneTBB, 5 threads at most", waiting_us), 10 / cores * 1'000);
    all_wait_at_the_same_time = cell(result, "5 processes", waiting_factor) > 2.5 &&
                                cell(result, "5 threads", waiting_factor) > 2.5 &&
                                cell(result, "5 threads, kept", waiting_factor) > 3.5;
  }
  EXPECT_TRUE(all_wait_at_the_same_time);
}

TEST(executors, short_jobs_do_not_pay_for_a_pool_of_processes_and_long_ones_cost_more_than_it) {
  // A short job takes a hundredth of a long one: 0.1 ms for all ten here, which is less than a fork() and a wait()
  // take.
  const auto result = run("executors", {"--steps", "4000000", "--workers", "20"});
  ASSERT_EQ(result.exit_code, 0) << result.text();
  const double one = cell(result, "one after another", short_us);
  EXPECT_GT(cell(result, "one after another", long_us), 10 * one) << "a hundred times as many steps";
  EXPECT_LT(cell(result, "20 processes", short_factor), 1) << result.text();
  EXPECT_LT(cell(result, "20 processes", short_factor), cell(result, "20 processes", long_factor)) << result.text();

  const auto shorter = run("executors", {"--steps", "1000"});  // the long jobs, too, are over before a process begins
  EXPECT_LT(cell(shorter, "2 processes", long_factor), 1) << shorter.text();
}

TEST(executors, the_books_jobs_add_up) {
  const auto result = run("executors");
  ASSERT_EQ(result.exit_code, 0) << result.text();
  EXPECT_TRUE(result.has_line(no_wrong_result)) << result.text();
}

// The library that counts the processes of a program (support/exercise_interposer.cpp) is loaded by run().
TEST(executors, each_way_runs_as_often_as_is_said_with_each_number_of_steps) {
  const test_support::TemporaryDirectory folder;
  const std::string record = folder.path / "record";
  const auto result =
      run("executors", {"--workers", "2", "--steps", "1000"}, {.environment = {{"COOKBOOK_EXERCISE_RECORD", record}}});
  ASSERT_EQ(result.exit_code, 0) << result.text();
  const std::string text = test_support::text_of(record);
  if (text.empty()) GTEST_SKIP() << "a sanitizer's build does not load it";
  EXPECT_EQ(test_support::count(text, "process\n"), (100 + 100 + 10 + 10) * 2) << "of the pool of processes\n" << text;
}

/// How many threads a program has now.
long threads_of(pid_t program) {
  std::error_code gone;
  return std::distance(std::filesystem::directory_iterator("/proc/" + std::to_string(program) + "/task", gone), {});
}

/// How many of them run, or could if a core were free.
long running_threads_of(pid_t program) {
  long running = 0;
  std::error_code gone;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/" + std::to_string(program) + "/task", gone)) {
    const std::string state = test_support::text_of(thread.path() / "stat");
    running += state.find(") R ") != std::string::npos;
  }
  return running;
}

/// How many child processes it has now.
long children_of(pid_t program) {
  const std::string id = std::to_string(program);
  std::ifstream list("/proc/" + id + "/task/" + id + "/children");
  return std::distance(std::istream_iterator<pid_t>(list), {});
}

TEST(executors, each_pool_has_as_many_workers_as_it_was_told) {
  test_support::Process program("executors", {"--workers", "6", "--steps", "50000000"});
  EXPECT_TRUE(test_support::eventually([&] { return children_of(program.pid()) == 6; }));
  EXPECT_TRUE(test_support::eventually([&] { return threads_of(program.pid()) >= 7; }));  // with that of main()
  // Six jobs at the same time. (oneTBB, which comes next, has fewer threads where there are fewer cores.)
  EXPECT_TRUE(test_support::eventually([&] {
    for (int look = 0; look < 20; ++look) {
      if (running_threads_of(program.pid()) >= 6) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
  }));
  EXPECT_EQ(program.wait().exit_code, 0);
}

/// What `look` says of the program every 5 ms, until it ends; oneTBB's loop is what runs at the end.
template <typename Look>
std::vector<long> looks(const std::vector<std::string>& arguments, Look look) {
  test_support::Process program("executors", arguments);
  std::vector<long> seen;
  std::atomic<bool> ended = false;
  std::jthread sampler([&, pid = program.pid()] {
    while (!ended) {
      if (const long now = look(pid); now > 0) seen.push_back(now);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  });
  EXPECT_EQ(program.wait().exit_code, 0);
  ended = true;
  sampler.join();  // it writes into `seen`
  return seen;
}

TEST(executors, the_arena_of_one_worker_has_only_the_calling_thread) {
  const auto threads = looks({"--workers", "1", "--steps", "30000000"}, threads_of);
  ASSERT_GT(threads.size(), 40U);
  EXPECT_EQ(*std::max_element(threads.end() - 20, threads.end()), 2 + test_support::sanitizer_threads)
      << "that of main(), and that of Asio's pool that is kept";
  // At most, since a sanitizer starts its own thread with the program's first.
  EXPECT_LE(*std::min_element(threads.begin(), threads.end()), 1 + test_support::sanitizer_threads);
}

TEST(executors, the_arena_of_two_workers_runs_two_jobs_at_the_same_time) {
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "needs two processors";
  const auto running = looks({"--workers", "2", "--steps", "30000000"}, running_threads_of);
  ASSERT_GT(running.size(), 40U);
  EXPECT_GE(*std::max_element(running.end() - 40, running.end()), 2);  // long jobs, and at the end waiting ones
}

// Fewer microseconds for handing over jobs alone than for starting threads, too.
TEST(executors, a_pool_that_is_kept_costs_less_than_a_new_one) {
  for (int attempt = 0; attempt < 10; ++attempt) {
    const auto result = run("executors", {"--workers", "40", "--steps", "1000"});
    const auto made = result.captures("^40 threads +(\\d+) us"), kept = result.captures("^40 threads, kept +(\\d+) us");
    ASSERT_TRUE(made.size() == 1 && kept.size() == 1) << result.text();
    if (2 * std::stol(kept[0]) < std::stol(made[0])) return;
  }
  FAIL() << "never half as much";
}

TEST(executors, no_workers_are_refused) {
  for (const std::string workers : {"0", "-1"}) {
    const auto result = run("executors", {"--workers", workers});
    EXPECT_EQ(result.exit_code, 2) << result.text();
    EXPECT_THAT(result.err, testing::ElementsAre(testing::HasSubstr("--workers " + workers)));
  }
}

TEST(executors, ctrl_c_ends_all_processes) {
  const auto result = run("executors", {"--steps", "1000000000", "--workers", "2"}, {.interrupt_after_ms = 100});
  EXPECT_EQ(result.exit_code, -2) << result.text();
  EXPECT_EQ(result.leaked_processes, 0) << result.text();
}

TEST(executors_asio_thread_pool, an_exception_reaches_its_future_and_ends_no_worker) {
  asio::thread_pool pool(1);
  auto fails = asio::post(pool, std::packaged_task<int()>([]() -> int { throw std::runtime_error("no such item"); }));
  auto next = asio::post(pool, std::packaged_task<int()>([] { return 42; }));
  EXPECT_THROW(fails.get(), std::runtime_error);
  EXPECT_EQ(next.get(), 42);
}

TEST(executors_asio_thread_pool, its_destructor_drops_what_has_not_begun_and_join_does_not) {
  for (const bool joined : {false, true}) {
    std::atomic<int> begun = 0;
    std::promise<void> first_begun, end_of_first;
    {
      asio::thread_pool pool(1);
      asio::post(pool, [&] {
        first_begun.set_value();
        end_of_first.get_future().wait();
      });
      asio::post(pool, [&] { ++begun; });
      first_begun.get_future().wait();
      if (joined) {
        end_of_first.set_value();
        pool.join();
      } else {
        pool.stop();  // as the destructor does first
        end_of_first.set_value();
      }
    }
    EXPECT_EQ(begun, joined ? 1 : 0);
  }
}

}  // namespace
