// The program's output, which is replayed line by line, its sleeps, and what a condition variable does and does not do.

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <ctime>
#include <deque>
#include <functional>
#include <mutex>
#include <numeric>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "02_threads/another_can_lock.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"

namespace noted {

using namespace std;

inline thread_local std::function<void(std::chrono::milliseconds)> sleep;  // of this thread, in place of the real one

namespace this_thread {

using std::this_thread::yield;

inline void sleep_for(std::chrono::milliseconds time) {
  if (sleep) return sleep(time);
  std::this_thread::sleep_for(time);
}

}  // namespace this_thread

inline thread_local int locks_held = 0;              // scoped locks of this thread
inline thread_local std::vector<int> clock_read_by;  // how many it had each time when it read the clock

template <typename Mutex>
class scoped_lock {
 public:
  explicit scoped_lock(Mutex& mutex) : lock_(mutex) { ++locks_held; }
  ~scoped_lock() { --locks_held; }

 private:
  std::scoped_lock<Mutex> lock_;
};

namespace chrono {

using namespace std::chrono;

struct steady_clock {
  using time_point = std::chrono::steady_clock::time_point;

  static time_point now() {
    clock_read_by.push_back(locks_held);
    return std::chrono::steady_clock::now();
  }
};

}  // namespace chrono

/// Notes which condition variables of a run somebody has slept at; they are numbered in the order of their making.
class condition_variable {
 public:
  static inline std::mutex noting;
  static inline int made = 0;
  static inline std::set<int> slept_at;

  condition_variable() : number_(made++) {}
  void notify_one() { real_.notify_one(); }
  void notify_all() { real_.notify_all(); }
  void wait(std::unique_lock<std::mutex>& lock) {
    {
      std::scoped_lock writing(noting);
      slept_at.insert(number_);
    }
    real_.wait(lock);
  }
  void wait(std::unique_lock<std::mutex>& lock, auto condition) {
    while (!condition()) wait(lock);
  }

 private:
  int number_;
  std::condition_variable real_;
};

}  // namespace noted

#define std noted
#define main main_of_the_program  // to call its functions
#include "02_threads/condition_variable/condition_variable.cpp"
#undef main
#undef std

#include "support/run.hpp"

namespace {

using namespace std::chrono_literals;
using test_support::run;

/// What the lines "put N, the buffer holds M" and "took N, the buffer holds M" of a run tell.
struct Story {
  std::size_t puts = 0, takes = 0, longest = 0;
  std::vector<std::size_t> lengths_after_last_put;
};

/// Replays a run: its lines must be true of a first-in, first-out buffer that never holds more than `capacity` items.
Story replay(int items, int capacity, int threads) {
  const auto result = run(
      "condition_variable",
      {"--items", std::to_string(items), "--capacity", std::to_string(capacity), "--threads", std::to_string(threads)},
      {.limit = 10s});
  EXPECT_FALSE(result.timed_out);
  EXPECT_EQ(result.exit_code, 0) << result.text();
  Story story;
  std::deque<std::string> buffer;
  for (const std::string& line : result.lines_with("^(put|took) \\d+, the buffer holds \\d+$")) {
    const std::size_t begin = line.find(' ') + 1;
    const std::string item = line.substr(begin, line.find(',') - begin);
    if (line[0] == 'p') {
      buffer.push_back(item);
      ++story.puts;
      story.lengths_after_last_put.clear();
    } else {
      EXPECT_FALSE(buffer.empty()) << line;
      if (buffer.empty()) return story;
      EXPECT_EQ(item, buffer.front()) << line;
      buffer.pop_front();
      ++story.takes;
    }
    EXPECT_EQ(line.substr(line.rfind(' ') + 1), std::to_string(buffer.size())) << line;
    story.longest = std::max(story.longest, buffer.size());
    story.lengths_after_last_put.push_back(buffer.size());
  }
  EXPECT_TRUE(result.has_line("ok    most items in the buffer at the same time: " + std::to_string(story.longest)))
      << result.text();
  return story;
}

TEST(condition_variable, a_consumer_that_waits_goes_on_after_the_item_has_come) {
  const auto result = run("condition_variable", {}, {.limit = 10s});
  for (const std::string how : {"looks again and again", "looks every 10 ms", "waits at a condition variable"}) {
    const auto late = result.captures("^" + how + " +\\d+ +(-?\\d+\\.\\d\\d\\d) ms later +\\d+\\.\\d\\d ms$");
    ASSERT_EQ(late.size(), 1U) << result.text();
    EXPECT_GE(std::stod(late[0]), 0) << how;
  }
}

TEST(condition_variable, who_looks_again_and_again_uses_more_of_the_processor_than_who_sleeps) {
  const auto result = run("condition_variable", {}, {.limit = 10s});
  const auto used = result.captures(" ms later +(\\d+\\.\\d\\d) ms$");
  ASSERT_EQ(used.size(), 3U) << result.text();
  EXPECT_GT(std::stod(used[0]), std::stod(used[2])) << result.text();
}

// It looks before it sleeps and when it has been woken, and once more if it is woken for no reason.
TEST(condition_variable, who_is_notified_looks_when_it_comes_and_when_it_is_woken) {
  const auto result = run("condition_variable", {}, {.limit = 10s});
  const auto looks = result.captures(" (\\d+) +\\d+\\.\\d+ ms later ");
  ASSERT_EQ(looks.size(), 3U) << result.text();
  EXPECT_GT(std::stol(looks[0]), std::stol(looks[2])) << result.text();
  EXPECT_GE(std::stol(looks[1]), 2) << result.text();
  EXPECT_GE(std::stol(looks[2]), 2) << result.text();
  EXPECT_LE(std::stol(looks[2]), 4) << result.text();
}

// The looks are 10 ms apart, and the item comes between two of them, so it is some milliseconds until the next look.
// Other programs may delay a run, but not ten.
TEST(condition_variable, who_looks_now_and_then_is_later_than_who_is_notified) {
  std::string seen;
  for (int attempt = 0; attempt < 10; ++attempt) {
    const auto result = run("condition_variable", {}, {.limit = 10s});
    const auto late = result.captures(" (\\d+\\.\\d+) ms later ");
    ASSERT_EQ(late.size(), 3U) << result.text();
    if (std::stod(late[1]) > 10 * std::stod(late[2]) && std::stod(late[1]) > 2) return;
    seen += result.text();
  }
  FAIL() << seen;
}

TEST(condition_variable, who_looks_every_10_ms_sleeps_as_long_between_two_looks_and_without_the_lock) {
  std::mutex mutex;
  noted::condition_variable not_empty;
  std::deque<int> buffer;
  const std::jthread limit([&](const std::stop_token& stop) {  // an item also for one that never sleeps
    for (int i = 0; i < 1'000 && !stop.stop_requested(); ++i) std::this_thread::sleep_for(10ms);
    std::scoped_lock lock(mutex);
    buffer.push_back(0);
  });
  std::unique_lock lock(mutex);
  std::vector<std::chrono::milliseconds> sleeps;
  noted::sleep = [&](std::chrono::milliseconds time) {
    EXPECT_FALSE(lock.owns_lock());
    sleeps.push_back(time);
    std::scoped_lock putting(mutex);
    if (sleeps.size() == 3) buffer.push_back(1);
  };
  look_every_10_ms(lock, not_empty, [&] { return !buffer.empty(); });
  noted::sleep = nullptr;
  EXPECT_TRUE(lock.owns_lock());
  EXPECT_EQ(sleeps, std::vector(3, 10ms));
}

TEST(condition_variable, an_item_has_come_when_it_is_put_and_not_while_the_producer_waits_for_the_mutex) {
  noted::clock_read_by.clear();
  testing::internal::CaptureStdout();
  print_cost("waits", sleep_until_notified);
  testing::internal::GetCapturedStdout();
  EXPECT_EQ(noted::clock_read_by, std::vector{1});
}

TEST(condition_variable, twenty_items_pass_through_a_buffer_of_ten) {
  const Story story = replay(20, 10, 1);
  EXPECT_EQ(story.puts, 20U);
  EXPECT_EQ(story.takes, 20U);
  EXPECT_LE(story.longest, 10U);
}

TEST(condition_variable, after_the_last_put_the_consumer_empties_the_buffer) {
  const auto lengths = replay(200, 10, 1).lengths_after_last_put;
  ASSERT_FALSE(lengths.empty());
  for (std::size_t i = 0; i < lengths.size(); ++i) EXPECT_EQ(lengths[i], lengths.size() - 1 - i);
}

TEST(condition_variable, the_most_is_counted_and_not_assumed) { EXPECT_LE(replay(20, 1000, 1).longest, 20U); }

TEST(condition_variable, with_one_place_puts_and_takes_come_by_turns) {
  const Story story = replay(500, 1, 1);
  EXPECT_EQ(story.puts, 500U);
  EXPECT_EQ(story.takes, 500U);
  EXPECT_EQ(story.longest, 1U);
}

TEST(condition_variable, one_row_sleeps_at_its_condition_variable_and_so_do_producer_and_consumer) {
  noted::condition_variable::made = 0;
  noted::condition_variable::slept_at.clear();
  char program[] = "condition_variable", option[] = "--items", items[] = "500";
  char* arguments[] = {program, option, items, nullptr};
  testing::internal::CaptureStdout();
  EXPECT_EQ(main_of_the_program(3, arguments), 0);
  testing::internal::GetCapturedStdout();
  // Those of the three rows are 0 to 2; those of the buffer, which has one place, are 3 and 4.
  EXPECT_EQ(noted::condition_variable::slept_at, (std::set{2, 3, 4}));
}

TEST(condition_variable, counts_match_for_any_number_of_threads) {
  for (const int threads : {2, 5}) {
    for (const int capacity : {1, 3, 10}) {
      const Story story = replay(200, capacity, threads);
      if (HasFailure()) return;  // it may have been a hang: do not wait for the next one
      EXPECT_EQ(story.puts, 200U * threads);
      EXPECT_EQ(story.takes, 200U * threads);
      EXPECT_LE(story.longest, static_cast<std::size_t>(capacity));
    }
  }
}

// What the page says about condition variables.

TEST(condition_variable_itself, does_not_remember_a_notification) {
  std::mutex mutex;
  std::condition_variable changed;
  std::unique_lock lock(mutex);
  bool timed_out = false;
  for (int i = 0; i < 10 && !timed_out; ++i) {  // a spurious wake-up may end one wait, or two
    changed.notify_one();
    timed_out = changed.wait_for(lock, 1ms) == std::cv_status::timeout;
  }
  EXPECT_TRUE(timed_out);
}

TEST(condition_variable_itself, waits_on_if_it_is_notified_and_the_condition_does_not_hold) {
  std::mutex mutex;
  std::condition_variable changed, looked;
  bool ready = false, gone_on = false;
  int looks = 0;
  std::jthread waiting([&] {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] {
      ++looks;
      looked.notify_one();
      return ready;
    });
    gone_on = true;
    looked.notify_one();
  });
  std::unique_lock lock(mutex);
  looked.wait(lock, [&] { return looks >= 1; });  // it keeps the mutex from its look to its sleep, so it sleeps now
  changed.notify_one();
  looked.wait(lock, [&] { return looks >= 2 || gone_on; });
  EXPECT_FALSE(gone_on);
  ready = true;
  changed.notify_one();
}

/// A recursive mutex; its unlock() tries from another thread whether it is free then.
struct Watched {
  std::recursive_mutex mutex;
  bool free = false;

  void lock() { mutex.lock(); }
  void unlock() {
    mutex.unlock();
    free = another_can_lock(mutex);
  }
};

TEST(condition_variable_itself, gives_up_one_level_of_a_recursive_lock) {
  for (const int depth : {1, 2}) {
    Watched watched;
    std::condition_variable_any changed;
    for (int i = 0; i < depth; ++i) watched.lock();
    changed.wait_for(watched, 1ms);  // calls unlock(), waits, calls lock()
    EXPECT_EQ(watched.free, depth == 1);
    for (int i = 0; i < depth; ++i) watched.unlock();
  }
}

TEST(condition_variable_if, lets_a_second_consumer_take_from_an_empty_list) {
  const auto result = run("condition_variable_if");
  EXPECT_EQ(result.exit_code, 1) << result.text();
  EXPECT_EQ(result.lines_with("^consumer [12] takes item 7$").size(), 1U) << result.text();
  EXPECT_EQ(result.lines_with("^consumer [12] takes from an empty list$").size(), 1U) << result.text();
}

}  // namespace
