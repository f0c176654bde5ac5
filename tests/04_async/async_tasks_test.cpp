// The program's output, the computations from inside, and the clock of loop_time.hpp.

#include "04_async/async_tasks/computations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <string>
#include <utility>
#include <vector>

#include "support/run.hpp"

namespace {

namespace asio = boost::asio;
using test_support::run;

/// The lines of the three tasks, one of each task in each round.
std::vector<std::string> expected_lines(int n, const std::string& factorial, const std::string& fibonacci,
                                        const std::string& binomial) {
  const std::string number = std::to_string(n);
  std::vector<std::vector<std::string>> tasks(3);
  for (int i = 2; i <= n; ++i) tasks[0].push_back("compute factorial(" + std::to_string(i) + ")");
  for (int i = 0; i < n; ++i) tasks[1].push_back("compute fibonacci(" + std::to_string(i) + ")");
  for (int i = 1; i <= n; ++i) tasks[2].push_back("compute binomialCoeff(" + std::to_string(i) + ")");
  tasks[0].push_back("factorial(" + number + ") = " + factorial);
  tasks[1].push_back("fibonacci(" + number + ") = " + fibonacci);
  tasks[2].push_back("binomialCoeff(" + std::to_string(2 * n) + ", " + number + ") = " + binomial);

  std::vector<std::string> lines;
  for (std::size_t round = 0; round < 30; ++round) {
    for (const auto& task : tasks) {
      if (round < task.size()) lines.push_back(task[round]);
    }
  }
  return lines;
}

/// The lines of one form, with the second before each.
using Lines = std::vector<std::pair<int, std::string>>;

/// What the program prints of its two forms, side by side.
struct Columns {
  Lines sequence, tasks;
};

Columns columns_of(const test_support::Result& result) {
  Columns columns;
  std::size_t right = 0;  // where the second column begins
  int second = -1;
  for (const std::string& line : result.out) {
    if (line.starts_with("took")) break;
    if (right == 0) {  // the head
      right = line.find("as tasks");
      continue;
    }
    if (line[0] != ' ') second = std::stoi(line);
    const std::string left = line.substr(6, right - 6), text = left.substr(0, left.find_last_not_of(' ') + 1);
    if (!text.empty()) columns.sequence.emplace_back(second, text);
    if (line.size() > right) columns.tasks.emplace_back(second, line.substr(right));
  }
  return columns;
}

TEST(async_tasks, the_lines_come_in_turn_in_real_time_and_on_the_virtual_clock) {
  struct Case {
    int n;
    std::string factorial, fibonacci, binomial;
  };
  for (const Case& c : std::vector<Case>{{0, "1", "0", "1"},
                                         {1, "1", "1", "2"},
                                         {10, "3628800", "55", "184756"},
                                         {20, "2432902008176640000", "6765", "137846528820"}}) {
    for (const std::string second_ms : {"0", "1"}) {
      const auto result = run("async_tasks", {"--n", std::to_string(c.n), "--second-ms", second_ms});
      ASSERT_EQ(result.exit_code, 0) << result.text();
      const Lines tasks = columns_of(result).tasks;
      std::vector<std::string> lines;
      int steps = 0;
      for (const auto& [second, line] : tasks) {
        lines.push_back(line);
        if (line.find("compute binomial") == std::string::npos) continue;
        EXPECT_EQ(second, steps++) << "the line of step k comes when k seconds have been slept\n" << result.text();
      }
      EXPECT_EQ(steps, c.n);
      EXPECT_EQ(lines, expected_lines(c.n, c.factorial, c.fibonacci, c.binomial)) << result.text();
      EXPECT_TRUE(result.has_line(fmt::format("ok    seconds of sleep, one after another and as tasks: [{}, {}]",
                                              std::max(c.n - 1, 0) + 2 * c.n, c.n)))
          << result.text();
    }
  }
}

TEST(async_tasks, one_after_another_each_computation_begins_when_the_one_before_has_ended) {
  const auto result = run("async_tasks", {"--n", "1", "--second-ms", "0"});
  EXPECT_EQ(columns_of(result).sequence, (Lines{{0, "factorial(1) = 1"},
                                                {0, "compute fibonacci(0)"},
                                                {1, "fibonacci(1) = 1"},
                                                {1, "compute binomialCoeff(1)"},
                                                {2, "binomialCoeff(2, 1) = 2"}}))
      << result.text();
}

/// How long the two forms took, in milliseconds, one after another first.
std::vector<double> times_of(const test_support::Result& result) {
  std::vector<double> times;
  for (const char* pattern : {"^took +(\\d+\\.\\d) ms +\\d+\\.\\d ms$", "^took +\\d+\\.\\d ms +(\\d+\\.\\d) ms$"}) {
    for (const std::string& time : result.captures(pattern)) times.push_back(std::stod(time));
  }
  return times;
}

TEST(async_tasks, the_times_are_measured_and_ten_seconds_are_waited_for_and_twenty_nine) {
  const auto start = std::chrono::steady_clock::now();
  const auto result = run("async_tasks", {"--n", "10", "--second-ms", "20"});
  const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  const Columns columns = columns_of(result);
  EXPECT_EQ(columns.sequence.size(), 32U);
  EXPECT_EQ(columns.tasks.size(), 32U);
  const std::vector<double> times = times_of(result);
  ASSERT_EQ(times.size(), 2U) << result.text();
  EXPECT_GE(times[0], 29 * 20);
  EXPECT_GE(times[1], 10 * 20);
  EXPECT_LE(times[0] + times[1], ms + 1);
}

TEST(async_tasks, on_the_virtual_clock_nobody_waits) {
  const auto times = times_of(run("async_tasks", {"--n", "10", "--second-ms", "0"}));
  const auto real = times_of(run("async_tasks", {"--n", "10", "--second-ms", "20"}));
  ASSERT_EQ(times.size(), 2U);
  ASSERT_EQ(real.size(), 2U);
  for (const double time : times) EXPECT_LT(time, real[1]);
}

/// Runs one computation alone on the virtual clock.
template <typename Make>
long alone(Make make, int& sleeps, std::vector<std::string>& lines) {
  asio::io_context loop;
  LoopTime time(loop, std::chrono::milliseconds(0));
  Steps steps{time, [&](const std::string& line) { lines.push_back(line); }};
  std::future<long> result = asio::co_spawn(loop, make(steps), asio::use_future);
  time.run();
  sleeps = static_cast<int>(time.now());  // each takes a second
  return result.get();
}

TEST(async_tasks_computations, each_has_its_result_and_its_number_of_sleeps) {
  int sleeps = 0;
  std::vector<std::string> lines;
  EXPECT_EQ(alone([](Steps& steps) { return factorial(steps, 10); }, sleeps, lines), 3628800);
  EXPECT_EQ(sleeps, 9);
  EXPECT_EQ(alone([](Steps& steps) { return fibonacci(steps, 10); }, sleeps, lines), 55);
  EXPECT_EQ(sleeps, 10);
  EXPECT_EQ(alone([](Steps& steps) { return binomial(steps, 20, 10); }, sleeps, lines), 184756);
  EXPECT_EQ(sleeps, 10);
  EXPECT_EQ(lines.size(), 32U);
}

TEST(async_tasks_computations, the_smallest_cases_have_no_step) {
  for (const int n : {0, 1}) {
    int sleeps = 0;
    std::vector<std::string> lines;
    EXPECT_EQ(alone([n](Steps& steps) { return factorial(steps, n); }, sleeps, lines), 1);
    EXPECT_EQ(lines.size(), 1U);
  }
  int sleeps = 0;
  std::vector<std::string> lines;
  EXPECT_EQ(alone([](Steps& steps) { return fibonacci(steps, 0); }, sleeps, lines), 0);
  EXPECT_EQ(alone([](Steps& steps) { return binomial(steps, 7, 0); }, sleeps, lines), 1);
  EXPECT_EQ(lines.size(), 2U);
}

TEST(async_tasks_computations, all_intermediate_binomial_coefficients_are_whole_numbers) {
  const std::vector<long> expected = {20, 190, 1140, 4845, 15504, 38760, 77520, 125970, 167960, 184756};
  for (int k = 1; k <= 10; ++k) {
    int sleeps = 0;
    std::vector<std::string> lines;
    EXPECT_EQ(alone([k](Steps& steps) { return binomial(steps, 20, k); }, sleeps, lines),
              expected[static_cast<std::size_t>(k - 1)]);
  }
}

/// A task that sleeps 5 seconds, and its cancellation.
struct Cancelled {
  asio::cancellation_signal cancel;
  std::string end = "it has not ended";

  void start(asio::io_context& loop, LoopTime& time) {
    asio::co_spawn(loop, time.sleep(5),
                   asio::bind_cancellation_slot(cancel.slot(), [this](const std::exception_ptr& thrown) {
                     end = "it has slept";
                     try {
                       if (thrown) std::rethrow_exception(thrown);
                     } catch (const boost::system::system_error& error) {
                       end = error.code() == asio::error::operation_aborted ? "cancelled" : error.what();
                     }
                   }));
  }
};

TEST(async_tasks_sleep_of_loop_time, a_virtual_sleep_that_is_cancelled_leaves_nothing_behind) {
  asio::io_context loop;
  LoopTime time(loop, std::chrono::milliseconds(0));
  Cancelled sleeper;
  sleeper.start(loop, time);
  asio::co_spawn(
      loop,
      [&]() -> asio::awaitable<void> {
        co_await time.sleep(1);
        sleeper.cancel.emit(asio::cancellation_type::terminal);
        co_await time.sleep(1);
      },
      asio::detached);
  time.run();
  EXPECT_EQ(sleeper.end, "cancelled");
  EXPECT_EQ(time.now(), 2);  // not 5
}

TEST(async_tasks_sleep_of_loop_time, a_sleep_in_real_time_can_be_cancelled_too) {
  asio::io_context loop;
  LoopTime time(loop, std::chrono::milliseconds(1000));
  Cancelled sleeper;
  sleeper.start(loop, time);
  asio::post(loop, [&] { sleeper.cancel.emit(asio::cancellation_type::terminal); });
  time.run();
  EXPECT_EQ(sleeper.end, "cancelled");
}

TEST(async_tasks_sleep_of_loop_time, sleepers_may_be_destroyed_with_their_loop) {
  asio::io_context loop;
  LoopTime time(loop, std::chrono::milliseconds(0));
  asio::co_spawn(loop, time.sleep(5), asio::detached);
  loop.poll();
}

}  // namespace
