// Async tasks: the program seen from outside. Catalogue: 4.C5, 4.4.

#include <chrono>
#include <sstream>

#include "04_async/serving.hpp"
#include "support/run.hpp"

namespace {

using test_support::run;

/// The tests ask whether results are right, not how fast anything is: one measured round will do.
const test_support::Setting once = {.environment = {{"COOKBOOK_ROUNDS", "1"}}};

/// The lines of the three tasks for these sizes, one of each task a round.
std::vector<std::string> expected_lines(int factorial, int fibonacci, int n, int k, const std::string& results) {
  std::vector<std::vector<std::string>> tasks(3);
  for (int i = 2; i <= factorial; ++i) tasks[0].push_back("Asio task: Compute factorial(" + std::to_string(i) + ")");
  for (int i = 0; i < fibonacci; ++i) tasks[1].push_back("Asio task: Compute fibonacci (" + std::to_string(i) + ")");
  for (int i = 1; i <= k; ++i) tasks[2].push_back("Asio task: Compute binomialCoeff (" + std::to_string(i) + ")");
  std::istringstream numbers(results);
  std::string number;
  numbers >> number;
  tasks[0].push_back("Asio task - factorial(" + std::to_string(factorial) + ") = " + number);
  numbers >> number;
  tasks[1].push_back("Asio task - fibonacci(" + std::to_string(fibonacci) + ") = " + number);
  numbers >> number;
  tasks[2].push_back("Asio task - binomialCoeff(" + std::to_string(n) + " , " + std::to_string(k) + ") = " + number);

  std::vector<std::string> lines;
  for (std::size_t round = 0; round < 100; ++round)
    for (const auto& task : tasks)
      if (round < task.size()) lines.push_back(task[round]);
  return lines;
}

struct Case {
  int factorial, fibonacci, n, k;
  std::string results;
};

TEST(async_tasks, lines_come_in_turn_for_any_sizes) {
  const std::vector<Case> cases = {{10, 10, 20, 10, "3628800 55 184756"},
                                   {0, 0, 7, 0, "1 0 1"},
                                   {1, 1, 1, 1, "1 1 1"},
                                   {2, 7, 5, 2, "2 13 10"},
                                   {5, 2, 3, 5, "120 1 0"},
                                   {20, 90, 60, 30, "2432902008176640000 2880067194370816120 118264581564861424"}};
  for (const Case& c : cases) {
    for (const std::string second_ms : {"0", "1"}) {
      const auto result =
          run("async_tasks",
              {"--factorial", std::to_string(c.factorial), "--fibonacci", std::to_string(c.fibonacci), "--binomial-n",
               std::to_string(c.n), "--binomial-k", std::to_string(c.k), "--second-ms", second_ms},
              once);
      ASSERT_EQ(result.exit_code, 0) << result.text();
      EXPECT_EQ(result.captures("^(Asio task.*)$"), expected_lines(c.factorial, c.fibonacci, c.n, c.k, c.results));
      const int sleeps = std::max(c.factorial - 1, 0) + c.fibonacci + c.k;
      EXPECT_TRUE(result.has_line("ok    sleeps: " + std::to_string(sleeps))) << result.text();
      EXPECT_TRUE(result.has_line("ok    seconds one after another: " + std::to_string(sleeps))) << result.text();
      EXPECT_TRUE(
          result.has_line("ok    seconds as tasks: " + std::to_string(std::max({c.factorial - 1, c.fibonacci, c.k}))))
          << result.text();
    }
  }
}

TEST(async_tasks, thirty_two_lines_from_one_thread) {
  const auto result = run("async_tasks", {"--second-ms", "0"}, once);
  EXPECT_EQ(result.lines_with("^Asio task").size(), 32U);
  EXPECT_TRUE(result.has_line("ok    threads: 1")) << result.text();
}

TEST(async_tasks_timing, real_time_is_nearer_to_ten_sleeps_than_to_all) {
  const auto begun = std::chrono::steady_clock::now();
  const auto result = run("async_tasks", {"--second-ms", "150"}, once);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begun;
  EXPECT_EQ(result.exit_code, 0) << result.text();
  EXPECT_GE(taken.count(), 10 * 0.150);
  EXPECT_LT(taken.count(), 29 * 0.150);
}

TEST(async_tasks, costs_are_printed_after_the_checks_and_not_under_a_fault) {
  EXPECT_EQ(run("async_tasks", {"--second-ms", "0"}, once).lines_with("ns +\\d+ %$").size(), 6U);
  const auto spoiled = run("async_tasks", {"--second-ms", "0"}, {.environment = {{"COOKBOOK_FAULT", "1"}}});
  EXPECT_EQ(spoiled.exit_code, 1);
  EXPECT_TRUE(spoiled.lines_with(" ns ").empty()) << spoiled.text();
}

TEST(async_tasks, ctrl_c_ends_it) {
  test_support::Started tasks("async_tasks", {"--second-ms", "10000"});
  EXPECT_EQ(tasks.read_line(), "Asio task: Compute factorial(2)");
  EXPECT_EQ(tasks.read_line(), "Asio task: Compute fibonacci (0)");
  EXPECT_EQ(tasks.read_line(), "Asio task: Compute binomialCoeff (1)");
  tasks.send_signal(SIGINT);
  EXPECT_EQ(tasks.exit_code(), -2);
  EXPECT_EQ(tasks.read_line(), "");
}

}  // namespace
