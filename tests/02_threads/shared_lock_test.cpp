// The program's output, its measurement and Guarded from inside.

#include <atomic>

#include "02_threads/shared_lock/guarded.hpp"

/// A lock that counts how often it is taken in each way.
template <typename Lock>
struct Counted : Lock {
  static inline std::atomic<long> by_readers = 0, by_writers = 0;
  void lock() {
    ++by_writers;
    Lock::lock();
  }
  void lock_shared() {
    ++by_readers;
    Lock::lock_shared();
  }
};

#define main main_of_the_program  // its functions are tested from inside, too
#define PlainMutex Counted<PlainMutex>
#define NoMutex Counted<NoMutex>
#include "02_threads/shared_lock/shared_lock.cpp"
#undef main
#undef PlainMutex
#undef NoMutex

#include <sys/resource.h>

#include <latch>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cookbook/affinity.hpp"
#include "support/eventually.hpp"
#include "support/run.hpp"

namespace {

using namespace std::chrono_literals;
using test_support::run;

void wait_for(const std::atomic<int>& value, int wanted) {
  while (value < wanted) std::this_thread::yield();
}

TEST(shared_lock, readers_are_inside_together_and_the_writer_comes_after_the_last) {
  for (const std::string readers : {"1", "3", "20"}) {
    const auto result = run("shared_lock", {"--readers", readers}, {.limit = 60s});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    EXPECT_TRUE(result.has_line("ok    readers that had left before the writer came in: " + readers)) << result.text();

    // All enter, the writer asks, all leave, the writer enters.
    const auto story = result.lines_with("^(a reader|the writer) ");
    const std::size_t n = std::stoul(readers);
    ASSERT_EQ(story.size(), 2 * n + 2) << result.text();
    for (std::size_t i = 0; i < n; ++i) {
      EXPECT_EQ(story[i], "a reader is inside");
      EXPECT_EQ(story[n + 1 + i], "a reader leaves");
    }
    EXPECT_EQ(story[n], "the writer asks for the lock");
    EXPECT_EQ(story.back(), "the writer is inside");
  }
}

TEST(shared_lock, no_reader_sees_half_a_transfer) {
  const auto result = run("shared_lock", {"--operations", "5000"});
  ASSERT_EQ(result.exit_code, 0) << result.text();
  EXPECT_TRUE(result.has_line("ok    totals that were wrong: 0")) << result.text();
  EXPECT_EQ(result.captures("^adding up (\\d+) accounts(?: +\\d+ us){2}(?: +\\d+ us +\\d+){2}$"),
            (std::vector<std::string>{"10", "1000", "20000"}))
      << result.text();
  const auto one = result.captures("^adding up 20000 accounts +(\\d+) us +\\d+ us");
  const auto half = result.captures("^adding up 20000 accounts +\\d+ us +(\\d+) us");
  ASSERT_EQ(one.size() + half.size(), 2U) << result.text();
  EXPECT_NEAR(std::stod(half[0]), std::stod(one[0]) / 2, 1) << result.text();
}

using CountingMutex = Counted<std::shared_mutex>;

TEST(shared_lock, one_operation_of_a_hundred_writes_or_of_as_many_as_the_option_says) {
  for (const int write_every : {100, 2, 20}) {
    CountingMutex::by_readers = CountingMutex::by_writers = 0;
    int wrong_totals = 0;
    cost<CountingMutex>(2, 10, 1'000, write_every, wrong_totals);  // three runs of two threads
    EXPECT_EQ(CountingMutex::by_readers, 3 * 2 * (1'000 - 1'000 / write_every));
    EXPECT_EQ(CountingMutex::by_writers, 3 * 2 * 1'000 / write_every);
    EXPECT_EQ(wrong_totals, 0);
  }
  const auto result = run("shared_lock", {"--operations", "20", "--write-every", "10"});
  EXPECT_EQ(result.lines_with("^1000 operations, 90 % reads ").size(), 1U) << result.text();
}

/// A mutex whose first one makes each operation take 30 ms, the second one 10 ms, and the third one 20 ms.
struct SlowMutex : std::shared_mutex {
  static inline int made = 0;
  std::chrono::milliseconds delay = std::vector{30ms, 10ms, 20ms}.at(made++);
  void lock() {
    std::this_thread::sleep_for(delay);
    std::shared_mutex::lock();
  }
  void lock_shared() {
    std::this_thread::sleep_for(delay);
    std::shared_mutex::lock_shared();
  }
};

TEST(shared_lock, the_time_is_that_of_the_middle_run_for_1000_operations) {
  // Two threads make two operations each: in 60 ms or more, then in 20 or more, then in 40 or more.
  const auto start = std::chrono::steady_clock::now();
  int wrong_totals = 0;
  const auto [us, sleeps] = cost<SlowMutex>(2, 10, 2, 2, wrong_totals);
  const double middle_ms = us / 1e3 * 4 / 1e3;
  const double all_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  EXPECT_GE(middle_ms, 40);
  EXPECT_LE(middle_ms, all_ms - 60 - 20) << "the other two runs took at least 60 and 20 ms";
  EXPECT_GE(sleeps, 1000) << "each of the four operations sleeps once, or again for the lock";
  EXPECT_LE(sleeps, 3000);
  int none = 0;
  EXPECT_LT(cost<std::shared_mutex>(1, 10, 1'000, 100, none).sleeps, 100) << "one thread waits for nobody";
}

TEST(shared_lock, each_thread_makes_as_many_operations_as_the_option_says_and_a_twentieth_of_them_on_many_accounts) {
  std::string name = "shared_lock", option = "--operations", operations = "2000";
  char* arguments[] = {name.data(), option.data(), operations.data(), nullptr};
  EXPECT_EQ(main_of_the_program(3, arguments), 0);
  const int each = 3 * (2'000 + 2'000 + 100);  // three runs; one operation in a hundred writes
  EXPECT_EQ(Counted<NoMutex>::by_writers, each / 100);
  EXPECT_EQ(Counted<NoMutex>::by_readers, each - each / 100);
  EXPECT_EQ(Counted<PlainMutex>::by_writers, 2 * each / 100);
  EXPECT_EQ(Counted<PlainMutex>::by_readers, 2 * (each - each / 100));
}

TEST(shared_lock_guarded, readers_of_the_plain_mutex_come_in_one_at_a_time) {
  const Guarded<int, PlainMutex> guarded(0);
  std::atomic<int> inside = 0, together = 0;
  {
    std::vector<std::jthread> readers;
    for (int i = 0; i < 4; ++i) {
      readers.emplace_back([&] {
        for (int k = 0; k < 1'000; ++k) {
          guarded.read([&](int) {
            together += ++inside > 1;
            --inside;
          });
        }
      });
    }
  }
  EXPECT_EQ(together, 0);
}

TEST(shared_lock_guarded, readers_are_inside_together) {
  const Guarded<int> guarded(7);  // a reader needs no more than a const one
  std::latch all_inside(5);       // opens only if all are
  std::vector<std::jthread> readers;
  for (int i = 0; i < 5; ++i) {
    readers.emplace_back([&] {
      guarded.read([&](int value) {
        all_inside.arrive_and_wait();
        EXPECT_EQ(value, 7);
      });
    });
  }
}

TEST(shared_lock_guarded, a_writer_waits_for_every_reader) {
  Guarded<int> guarded(0);
  std::latch first_may_leave(1), second_may_leave(1);
  std::atomic<int> inside = 0, left = 0;
  const auto reader = [&](std::latch& may_leave) {
    guarded.read([&](int value) {
      ++inside;
      may_leave.wait();
      EXPECT_EQ(value, 0);
      ++left;
    });
  };
  std::jthread first(reader, std::ref(first_may_leave)), second(reader, std::ref(second_may_leave));
  wait_for(inside, 2);
  std::atomic<int> asked = 0, wrote = 0;
  std::jthread writer([&] {
    ++asked;
    guarded.write([&](int& value) {
      value = 1;
      EXPECT_EQ(left, 2);
      ++wrote;
    });
  });
  wait_for(asked, 1);
  first_may_leave.count_down();
  wait_for(left, 1);
  std::this_thread::sleep_for(5ms);  // time for a writer that comes in too early
  EXPECT_EQ(wrote, 0);
  second_may_leave.count_down();
  writer.join();
  EXPECT_EQ(wrote, 1);
}

TEST(shared_lock_guarded, nobody_comes_in_while_a_writer_is_inside) {
  Guarded<std::vector<int>> guarded({0, 0});
  std::atomic<int> asked = 0;
  std::vector<std::jthread> others;
  guarded.write([&](std::vector<int>& value) {
    value[0] = 1;
    others.emplace_back([&] {
      ++asked;
      guarded.read([](const std::vector<int>& seen) { EXPECT_EQ(seen[1], 1); });
    });
    others.emplace_back([&] {
      ++asked;
      guarded.write([](std::vector<int>& seen) { EXPECT_EQ(seen[1], 1); });
    });
    wait_for(asked, 2);
    std::this_thread::sleep_for(5ms);  // time for one that comes in too early
    value[1] = 1;
  });
}

TEST(shared_lock_guarded, changes_of_many_writers_are_neither_lost_nor_half_seen) {
  Guarded<std::vector<long>> guarded(std::vector<long>(100, 0));
  std::atomic<long> torn = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 40'000; ++i) {
          if (i % 4 == 0) {
            guarded.write([](std::vector<long>& value) {
              for (long& element : value) ++element;
            });
          } else {
            torn += guarded.read([](const std::vector<long>& value) { return value.front() != value.back(); });
          }
        }
      });
    }
  }
  EXPECT_EQ(torn, 0);
  EXPECT_EQ(guarded.read([](const std::vector<long>& value) { return value; }), std::vector<long>(100, 40'000));
}

TEST(shared_lock_guarded, the_lock_comes_free_when_an_exception_leaves) {
  Guarded<int> guarded(1);
  const auto fails = [](int) -> int { throw std::runtime_error("no"); };
  EXPECT_THROW(guarded.read(fails), std::runtime_error);
  EXPECT_THROW(guarded.write(fails), std::runtime_error);
  EXPECT_EQ(guarded.write([](int& value) { return ++value; }), 2);  // would hang if one of the two still held it
}

TEST(shared_lock_guarded, the_value_need_not_be_copyable) {
  Guarded<std::unique_ptr<int>> guarded(std::make_unique<int>(3));
  EXPECT_EQ(guarded.read([](const auto& value) { return *value; }), 3);
}

TEST(shared_lock_starved, readers_overtake_a_waiting_writer) {
  const auto result = run("shared_lock_starved");
  const auto reads = result.captures("^after (\\d+) reads the writer still waits$");
  ASSERT_EQ(reads.size(), 1U) << result.text();
  EXPECT_GE(std::stoi(reads[0]), 1000);
}

TEST(shared_lock_timing, the_shared_mutex_wins_if_reads_are_long_and_loses_if_they_are_short) {
  if (cookbook::allowed_processors() < 2) GTEST_SKIP() << "two processors are needed";
  std::string seen;
  const auto shows_it = [&seen] {
    const auto result = run("shared_lock", {"--operations", "100000"}, {.limit = 60s});
    seen = result.text();
    const auto column = [&](const std::string& before) {  // of ten accounts, and of 20,000
      std::vector<int> microseconds;
      for (const std::string& text : result.captures("^adding up \\d+0 accounts" + before + " +(\\d+) us")) {
        microseconds.push_back(std::stoi(text));
      }
      return std::pair(microseconds.at(0), microseconds.at(2));
    };
    const auto alone = column(""), mutex = column("(?: +\\d+ us){2}"), shared = column("(?: +\\d+ us){3} +\\d+");
    return alone.first < mutex.first && mutex.first < shared.first           // short reads
           && shared.second < mutex.second && shared.second < alone.second;  // long ones, two at the same time
  };
  bool shown = false;  // another program on one of the processors changes the order, but not in each of five runs
  for (int tries = 0; tries < 5 && !shown; ++tries) shown = shows_it();
  EXPECT_TRUE(shown) << seen;
}

/// How often a thread goes to sleep behind a shared mutex, per 1000 operations on ten accounts.
double sleeps_per_1000(int write_every) {
  const auto sleeps = [] {
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_nvcsw);
  };
  int wrong_totals = 0;
  const double before = sleeps();
  cost<std::shared_mutex>(2, 10, 100'000, write_every, wrong_totals);
  return (sleeps() - before) / (3 * 2 * 100);
}

TEST(shared_lock_timing, threads_sleep_because_of_the_writes) {
  if (cookbook::allowed_processors() < 2) GTEST_SKIP() << "two processors are needed";
  double with_writes = 0, reads_only = 0;
  for (int tries = 0; tries < 5 && with_writes < 10 * reads_only + 1; ++tries) {
    with_writes = sleeps_per_1000(100), reads_only = sleeps_per_1000(1'000'000);
  }
  EXPECT_GT(with_writes, 10 * reads_only + 1);
}

}  // namespace
