// The program's output, and the helper that starts threads together.

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "run_concurrently.hpp"
#include "support/run.hpp"

namespace {

using test_support::run;

TEST(atomics, holds_for_any_number_of_rounds) {
  for (const int rounds : {1, 2, 1000, 5000, 5000, 5000, 5000}) {
    const auto result = run("atomics", {"--rounds", std::to_string(rounds)});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    EXPECT_TRUE(result.has_line("ok    relaxed: additions that were counted: " + std::to_string(2 * rounds)))
        << result.text();
    EXPECT_TRUE(result.has_line("ok    release and acquire: every message arrived as it was sent: yes"));
    EXPECT_TRUE(result.has_line("ok    sequential consistency: rounds in which both threads got the old value: 0"));
  }
}

#ifndef __SANITIZE_THREAD__  // it keeps the processor from what this test looks for
// The check of sequential consistency means something only if the same function can see the old value twice.
TEST(atomics, with_release_and_acquire_both_threads_can_get_the_old_value) {
  if (cookbook::allowed_processors() < 2) GTEST_SKIP() << "needs two processors";
  for (int attempt = 0; attempt < 20; ++attempt) {
    const auto result = run("atomics", {"--rounds", "5000"});
    const auto found =
        result.captures("^release and acquire: in (\\d+) of 5000 rounds both threads got the old value$");
    ASSERT_EQ(found.size(), 1U) << result.text();
    ASSERT_LT(std::stoi(found[0]), 5000) << "each round begins with fresh values, so most have a winner";
    if (std::stoi(found[0]) > 0) return;
  }
  FAIL() << "never seen in 20 runs";
}
#endif

TEST(run_concurrently, every_task_runs_once_and_all_at_the_same_time) {
  for (const int threads : {1, 2, 5}) {
    std::barrier all(threads);  // opens only if all the threads are there at once
    std::vector<std::atomic<int>> runs(threads);
    run_concurrently(threads, [&](int number) {
      all.arrive_and_wait();
      ++runs[number];
    });
    EXPECT_TRUE(std::all_of(runs.begin(), runs.end(), [](const auto& count) { return count == 1; }));
  }
}

TEST(run_concurrently, the_time_goes_on_until_the_last_task_has_ended) {
  const double seconds = run_concurrently(
      3, [](int number) { std::this_thread::sleep_for(std::chrono::milliseconds(number == 1 ? 20 : 0)); });
  EXPECT_GE(seconds, 0.02);
}

}  // namespace
