// The program's lines, and Timer from inside.

#include "02_threads/thread_class/timer.hpp"

#include <algorithm>
#include <exception>
#include <functional>
#include <stdexcept>
#include <thread>

#include "support/run.hpp"

namespace {

using namespace std::chrono_literals;
using test_support::Result;
using test_support::run;
using Clock = std::chrono::steady_clock;

long place_of(const Result& result, const std::string& line) {
  const auto found = std::find(result.out.begin(), result.out.end(), line);
  EXPECT_NE(found, result.out.end()) << line << '\n' << result.text();
  return found - result.out.begin();
}

TEST(thread_class, both_timers_tick_five_times_and_main_goes_on_after_them) {
  for (const char* period : {"1", "10"}) {
    const auto result = run("thread_class", {"--period-ms", period});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    const std::vector<std::string> five = {"1", "2", "3", "4", "5"};
    for (const std::string name : {"Timer-1", "Timer-2"}) {
      EXPECT_EQ(result.captures("^" + name + ": tick (\\d+)$"), five) << result.text();
      EXPECT_LT(place_of(result, "Starting " + name), place_of(result, name + ": tick 1"));
      EXPECT_LT(place_of(result, name + ": tick 5"), place_of(result, "Exiting " + name));
      EXPECT_LT(place_of(result, "Exiting " + name), place_of(result, "both timers have ended"));
    }
  }
}

TEST(thread_class, ticks_as_often_as_was_asked) {
  for (const std::string ticks : {"1", "20"}) {
    const auto result = run("thread_class", {"--ticks", ticks, "--period-ms", "1"});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    for (const std::string name : {"Timer-1", "Timer-2"}) {
      EXPECT_EQ(std::to_string(result.lines_with("^" + name + ": tick ").size()), ticks);
      EXPECT_TRUE(result.has_line("ok    ticks of " + name + ": " + ticks)) << result.text();
    }
  }
}

TEST(thread_class, the_timer_with_the_shorter_period_exits_first) {
  for (int attempt = 0; attempt < 5; ++attempt) {  // a busy machine may delay one thread, but hardly five times
    const auto result = run("thread_class", {"--period-ms", std::to_string(10 << attempt)});
    if (place_of(result, "Exiting Timer-1") < place_of(result, "Exiting Timer-2")) return;
  }
  FAIL() << "Timer-2 exited first in each run";
}

TEST(thread_class, the_second_timer_is_half_as_fast) {
  const auto start = Clock::now();
  EXPECT_EQ(run("thread_class", {"--period-ms", "20"}).exit_code, 0);
  EXPECT_GE(Clock::now() - start, 5 * 40ms);
}

TEST(thread_class, the_third_timer_ends_after_it_was_asked_and_without_a_tick) {
  const auto result = run("thread_class");
  EXPECT_LT(place_of(result, "asking Timer-3 to stop"), place_of(result, "Exiting Timer-3"));
  EXPECT_TRUE(result.captures("^(Timer-3): tick").empty()) << result.text();
  EXPECT_TRUE(result.has_line("ok    ticks of Timer-3: 0")) << result.text();
}

TEST(thread_class, ctrl_c_ends_it_at_once) {
  const auto result = run("thread_class", {"--period-ms", "10000"}, {.interrupt_after_ms = 200});
  EXPECT_EQ(result.exit_code, -2) << result.text();
  EXPECT_FALSE(result.timed_out);
  EXPECT_EQ(result.leaked_processes, 0);
}

TEST(timer, waits_at_least_a_period_for_each_tick) {
  for (const auto period : {1ms, 7ms, 20ms}) {
    Timer timer("timer", period, 3);
    const auto start = Clock::now();
    std::jthread(std::ref(timer)).join();
    EXPECT_GE(Clock::now() - start, 3 * period);
    EXPECT_EQ(timer.ticks(), 3);
  }
}

TEST(timer, never_ticks_if_it_may_not) {
  Timer timer("timer", 1h, 0);
  std::jthread(std::ref(timer)).join();
  EXPECT_EQ(timer.ticks(), 0);
}

TEST(timer, a_stop_after_the_first_tick_ends_it) {
  Timer timer("timer", 1ms, 1'000'000);
  std::jthread thread(std::ref(timer));
  while (timer.ticks() == 0) std::this_thread::yield();
  thread.request_stop();
  thread.join();
  EXPECT_GE(timer.ticks(), 1);
  EXPECT_LT(timer.ticks(), 1'000'000);
}

TEST(timer, a_stop_ends_a_wait_of_an_hour_wherever_it_meets_it) {
  for (int round = 0; round < 200; ++round) {
    Timer timer("timer", 1h, 5);
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

TEST(thread_object, an_exception_that_is_kept_reaches_the_owner_and_leaves_others_alone) {
  Timer timer("timer", 1ms, 5);
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

 private:
  void run() { seen_ = number_; }

  int& seen_;
  int number_ = 7;
  std::jthread thread_;
};

TEST(thread_object, a_final_class_whose_last_member_is_the_thread_is_safe) {
  for (int round = 0; round < 500; ++round) {
    int seen = 0;
    { OwnThread object(seen); }
    ASSERT_EQ(seen, 7);
  }
}

}  // namespace
