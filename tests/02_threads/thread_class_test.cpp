// The program's lines, and Timer from inside.

#define main main_of_the_program  // to run its timers
#include "02_threads/thread_class/thread_class.cpp"
#undef main

#include <sys/resource.h>

#include <exception>
#include <functional>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <type_traits>
#include <utility>

#include "support/run.hpp"

namespace {

using namespace std::chrono_literals;
using test_support::Result;
using test_support::run;
using Clock = std::chrono::steady_clock;

/// When a timer has ticked, in ms, as the program prints it.
std::vector<double> times(const Result& result, const std::string& name) {
  std::vector<double> found;
  const auto lines = result.captures("^  " + name + " ticked after(.*)$");
  std::istringstream words(lines.empty() ? "" : lines.front());
  std::string unit;
  for (double time = 0; words >> time >> unit && unit == "ms";) found.push_back(time);
  return found;
}

TEST(thread_class, each_timer_ticks_as_often_as_was_asked_and_not_too_soon) {
  for (const int ticks : {1, 3, 20}) {
    const auto result = run("thread_class", {"--ticks", std::to_string(ticks), "--period-ms", "2"});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    for (const auto& [name, period] : {std::pair{"Timer-1", 2}, {"Timer-2", 4}}) {
      const auto found = times(result, name);
      ASSERT_EQ(found.size(), std::size_t(ticks)) << result.text();
      for (int tick = 0; tick < ticks; ++tick) {
        EXPECT_GE(found[tick] - (tick > 0 ? found[tick - 1] : 0), period - 0.11) << result.text();  // both are rounded
      }
    }
    const std::string number = std::to_string(ticks);
    EXPECT_TRUE(result.has_line("ok    ticks of Timer-1, Timer-2, and the one with an hour: [" + number + ", " +
                                number + ", 0]"))
        << result.text();
  }
}

TEST(thread_class, the_period_of_the_second_timer_is_twice_that_of_the_first) {
  // No tick comes too early, but on a busy machine one may come late.
  for (int attempt = 0; attempt < 10; ++attempt) {
    const auto result = run("thread_class", {"--ticks", "2", "--period-ms", "50"});
    const auto first = times(result, "Timer-1"), second = times(result, "Timer-2");
    ASSERT_TRUE(first.size() == 2 && second.size() == 2) << result.text();
    if (first.back() < 2 * 75 && second.back() < 2 * 125) return;
  }
  FAIL() << "never two ticks within one and a half, and two and a half, periods each";
}

TEST(thread_class, both_timers_run_at_the_same_time) {
  // One after the other they would take 9 periods, that is 0.9 s, and 0.3 s have gone before.
  for (int attempt = 0; attempt < 5; ++attempt) {
    const auto start = Clock::now();
    const auto result = run("thread_class", {"--period-ms", "100"});
    const auto took = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    ASSERT_EQ(result.exit_code, 0) << result.text();
    if (times(result, "Timer-1").back() + times(result, "Timer-2").back() + 300 > took) return;
  }
  FAIL() << "they never overlapped";
}

TEST(thread_class, the_timer_that_sleeps_ends_when_a_period_is_over) {
  const auto start = Clock::now();
  const auto result = run("thread_class", {"--ticks", "1", "--period-ms", "1"});
  ASSERT_EQ(result.exit_code, 0) << result.text();  // a timer that is not told to stop ticks for ever
  EXPECT_GE(Clock::now() - start, 300ms);
  EXPECT_TRUE(result.has_line("ok    the timer that sleeps ticked before it ended: yes")) << result.text();
  EXPECT_EQ(result.lines_with("^  a timer that sleeps, period of 300 ms: +ended +[0-9.]+ ms later$").size(), 1U)
      << result.text();
  EXPECT_EQ(result.lines_with("^  a timer with a stop token, period of an hour: +ended +[0-9.]+ ms later$").size(), 1U)
      << result.text();
}

TEST(thread_class, the_time_to_the_end_counts_from_the_request) {
  // It comes 20 ms after the start, so less than 300 ms remain, and most of them, except on a machine that is very
  // busy.
  for (int attempt = 0; attempt < 10; ++attempt) {
    const auto later = run("thread_class", {"--ticks", "1", "--period-ms", "1"})
                           .captures("period of 300 ms: +ended +([0-9.]+) ms later$");
    ASSERT_EQ(later.size(), 1U);
    if (200 < std::stod(later[0]) && std::stod(later[0]) < 290) return;
  }
  FAIL() << "never between 200 and 290 ms";
}

TEST(thread_class, ctrl_c_ends_it_at_once) {
  // By then the two timers with a long period usually wait.
  const auto result = run("thread_class", {"--period-ms", "10000"}, {.interrupt_after_ms = 600});
  EXPECT_EQ(result.exit_code, -2) << result.text();
  EXPECT_FALSE(result.timed_out);
  EXPECT_EQ(result.leaked_processes, 0);
}

TEST(thread_class_timer, waits_at_least_a_period_for_each_tick) {
  for (const auto period : {1ms, 7ms, 20ms}) {
    Timer timer(period, 3);
    const auto start = Clock::now();
    std::jthread(std::ref(timer)).join();
    EXPECT_GE(Clock::now() - start, 3 * period);
    EXPECT_EQ(timer.ticks(), 3);
    ASSERT_EQ(timer.times().size(), 3U);
    for (int tick = 0; tick < 3; ++tick) {
      EXPECT_GE(timer.times()[tick], std::chrono::duration<double>((tick + 1) * period).count());
    }
  }
}

TEST(thread_class_sleeping_timer, ticks_until_it_is_asked_to_stop) {
  SleepingTimer timer{1ms};
  std::jthread thread(std::ref(timer));
  std::this_thread::sleep_for(100ms);
  thread.request_stop();
  thread.join();
  EXPECT_GT(timer.ticks, 1);
}

TEST(thread_class_timer, does_not_wake_before_it_is_asked_to_stop) {
  Timer timer(1h, 1);
  rusage usage{};
  std::jthread thread([&](std::stop_token stop) {
    timer(stop);
    getrusage(RUSAGE_THREAD, &usage);
  });
  std::this_thread::sleep_for(200ms);
  thread.request_stop();
  thread.join();
  EXPECT_LT(usage.ru_nvcsw, 20) << "times that the thread gave up its core, to wait";
}

TEST(thread_class_timer, never_ticks_if_it_may_not) {
  Timer timer(1h, 0);
  std::jthread(std::ref(timer)).join();
  EXPECT_EQ(timer.ticks(), 0);
}

TEST(thread_class_timer, a_stop_after_the_first_tick_ends_it) {
  Timer timer(1ms, 1'000'000);
  std::jthread thread(std::ref(timer));
  while (timer.ticks() == 0) std::this_thread::yield();
  thread.request_stop();
  thread.join();
  EXPECT_GE(timer.ticks(), 1);
  EXPECT_LT(timer.ticks(), 1'000'000);
}

TEST(thread_class_timer, a_stop_ends_a_wait_of_an_hour_wherever_it_meets_it) {
  for (int round = 0; round < 200; ++round) {
    Timer timer(1h, 5);
    {
      std::jthread thread(std::ref(timer));
      for (int i = 0; i < round % 20; ++i) std::this_thread::yield();
    }  // the destructor requests the stop and joins
    EXPECT_EQ(timer.ticks(), 0);
  }
}

/// What the page advises: a class that keeps the exception for its owner.
class Failing {
 public:
  void operator()() {
    try {
      throw std::runtime_error("the clock is broken");
    } catch (...) {
      error_ = std::current_exception();
    }
  }
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::exception_ptr error_;
};

TEST(thread_class_object, an_exception_that_is_kept_reaches_the_owner_and_leaves_others_alone) {
  Timer timer(1ms, 5);
  std::jthread timer_thread(std::ref(timer));
  Failing failing;
  std::jthread(std::ref(failing)).join();
  EXPECT_THROW(failing.rethrow(), std::runtime_error);
  timer_thread.join();
  EXPECT_EQ(timer.ticks(), 5);
}

/// What the page advises: a final class whose last member is the thread.
class OwnThread final {
 public:
  explicit OwnThread(int& seen) : seen_(seen), thread_([this] { run(); }) {}
  OwnThread(OwnThread&&) = delete;  // the thread would go on with the old object

 private:
  void run() { seen_ = number_; }

  int& seen_;
  int number_ = 7;
  std::jthread thread_;
};

/// A class with a thread, whose move operations nobody has deleted.
struct MovedThread {
  int number = 7;
  std::jthread thread;
};

TEST(thread_class_object, a_class_with_a_thread_cannot_be_copied_and_can_be_moved_unless_that_is_deleted) {
  EXPECT_FALSE(std::is_copy_constructible_v<MovedThread>);
  EXPECT_TRUE(std::is_move_constructible_v<MovedThread>);
  EXPECT_FALSE(std::is_move_constructible_v<OwnThread>);
}

TEST(thread_class_object, a_final_class_whose_last_member_is_the_thread_is_safe) {
  for (int round = 0; round < 500; ++round) {
    int seen = 0;
    { OwnThread object(seen); }
    ASSERT_EQ(seen, 7);
  }
}

}  // namespace
