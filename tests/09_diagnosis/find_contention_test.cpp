// The lesson's report, and the library from outside: this test starts itself with the library before it, so that it
// knows which line waits for which.

#include <pthread.h>
#include <time.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <latch>
#include <mutex>
#include <regex>
#include <thread>

#include "09_diagnosis/find_contention/shop.hpp"
#include "support/files.hpp"
#include "support/run.hpp"

namespace {

using test_support::run;
using namespace std::chrono_literals;

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define SKIP_WITH_SANITIZER() GTEST_SKIP() << "the library for LD_PRELOAD is not made with a sanitizer"
#else
#define SKIP_WITH_SANITIZER()
#endif

test_support::Result profile_of(const std::string& program, const std::vector<std::string>& arguments = {}) {
  return run(program, arguments,
             {.environment = {{"LD_PRELOAD", test_support::bin() + "/libfind_contention_profile.so"}},
              .errors_among_output = true});
}

test_support::Result profile_of_sick(const std::string& test) {
  return profile_of(std::filesystem::read_symlink("/proc/self/exe"), {"--gtest_filter=find_contention_sick." + test});
}

/// What a line of the report says. `percent` is the share of the time for which all threads have lived.
struct Row {
  double waited = -1, percent = -1;
  long calls = -1, locks = -1;
};
Row row_of(const test_support::Result& result, const std::string& function) {
  const std::regex form(R"( *([\d.]+) ms +(\d+) % +(\d+) +(\d+)  )" + function + R"( \(.*)");
  std::smatch parts;
  for (const std::string& line : result.out) {
    if (std::regex_match(line, parts, form)) {
      return {std::stod(parts[1]), std::stod(parts[2]), std::stol(parts[3]), std::stol(parts[4])};
    }
  }
  ADD_FAILURE() << "no line about " << function << "\n" << result.text();
  return {};
}

/// The four times of the first line.
std::vector<double> sums_of(const test_support::Result& result) {
  std::vector<double> sums;
  const std::regex number(R"(([\d.]+) ms)");
  for (const std::string& line : result.lines_with("threads lived")) {
    for (std::sregex_iterator at(line.begin(), line.end(), number), end; at != end; ++at)
      sums.push_back(stod((*at)[1]));
  }
  if (sums.size() < 4) {
    ADD_FAILURE() << result.text();
    sums.resize(4);
  }
  return sums;
}

TEST(find_contention, the_report_names_the_line_that_takes_the_lock_of_the_prices) {
  SKIP_WITH_SANITIZER();
  const auto result = run("find_contention");
  ASSERT_EQ(result.exit_code, 0) << result.text();
  const auto lines = result.lines_with(R"( price \(find_contention_shop\.cpp:\d+\)$)");
  ASSERT_EQ(lines.size(), 1U) << result.text();
  // The first line of the table, with all of the calls and one lock.
  const auto heading = result.lines_with("waited +of time +calls +locks");
  ASSERT_EQ(heading.size(), 1U) << result.text();
  const auto at = std::find(result.out.begin(), result.out.end(), lines[0]);
  EXPECT_EQ(*std::prev(at), heading[0]);
  EXPECT_THAT(*std::prev(at, 2), testing::HasSubstr(" threads lived ")) << "the sums come before what they consist of";
  EXPECT_TRUE(std::regex_search(lines[0], std::regex(R"( % +200 +1 )"))) << lines[0];
}

TEST(find_contention, seven_of_eight_threads_wait_for_one_lock_and_hardly_any_for_64) {
  SKIP_WITH_SANITIZER();
  const auto one = profile_of("find_contention_shop", {"--threads", "8", "--locks", "1"});
  const auto many = profile_of("find_contention_shop", {"--threads", "8", "--locks", "64"});
  const auto sums = sums_of(one);
  const double share = row_of(one, "price").waited / sums[0];
  EXPECT_GT(share, 0.7) << one.text();
  EXPECT_LT(share, 0.9) << one.text();  // one of the eight has the lock
  EXPECT_NEAR(row_of(one, "price").percent, 100 * share, 1) << one.text();
  EXPECT_LT(row_of(many, "price").waited, row_of(one, "price").waited / 4) << many.text();
  EXPECT_EQ(row_of(many, "price").locks, 64);
  EXPECT_EQ(row_of(many, "Statistics::count").calls, 4000);
  EXPECT_EQ(row_of(many, "Statistics::count").locks, 1);
}

TEST(find_contention, the_times_of_the_threads_add_up) {
  SKIP_WITH_SANITIZER();
  const auto result = profile_of("find_contention_shop", {"--threads", "4"});
  const auto sums = sums_of(result);
  EXPECT_NEAR(sums[0], sums[1] + sums[2] + sums[3], 3) << result.text();
  EXPECT_GE(sums[3], 200) << "200 answers of the server take a millisecond each\n" << result.text();
  EXPECT_EQ(result.captures(R"(^(\d+) threads lived)"), std::vector<std::string>{"4"}) << result.text();
}

TEST(find_contention, one_thread_never_waits) {
  SKIP_WITH_SANITIZER();
  const auto result = profile_of("find_contention_shop", {"--threads", "1"});
  EXPECT_EQ(row_of(result, "price").waited, 0);
  EXPECT_EQ(row_of(result, "price").percent, 0);
  EXPECT_EQ(sums_of(result)[2], 0);
}

TEST(find_contention, the_pitfall_uses_one_of_its_locks) {
  SKIP_WITH_SANITIZER();
  const auto result = run("find_contention", {"--program", "find_contention_same_part"});
  EXPECT_EQ(row_of(result, "price").calls, 400);  // with one thread, and with eight
  EXPECT_LE(row_of(result, "price").locks, 2);    // one in each of two caches, which may have the same address
}

TEST(find_contention, a_program_that_does_not_exist_is_wrong_usage) {
  SKIP_WITH_SANITIZER();
  const auto result = run("find_contention", {"--program", "no_such_program"});
  EXPECT_EQ(result.exit_code, 2) << result.text();
  EXPECT_EQ(result.err.size(), 1U) << result.text();
}

/// A copy of the program, with another one in place of the shop, or with none of the library.
struct Copy {
  Copy() {
    for (const std::string name : {"find_contention", "find_contention_shop"}) {
      std::filesystem::copy_file(test_support::bin() + "/" + name, folder.path / name);
    }
  }
  test_support::TemporaryDirectory folder;
};

TEST(find_contention, without_the_library_there_is_no_report) {
  SKIP_WITH_SANITIZER();
  const Copy copy;
  const auto result = run(copy.folder.path / "find_contention");
  EXPECT_EQ(result.exit_code, 3) << result.text();
  ASSERT_EQ(result.err.size(), 1U) << result.text();
  EXPECT_THAT(result.err[0], testing::HasSubstr("no report of the locks: ERROR: ld.so: "));
}

TEST(find_contention, no_run_may_sell_for_another_sum) {
  SKIP_WITH_SANITIZER();
  const Copy copy;
  const auto library = "libfind_contention_profile.so";
  std::filesystem::copy_file(test_support::bin() + "/" + library, copy.folder.path / library);
  std::ofstream(copy.folder.path / "find_contention_shop") << R"sh(#!/bin/sh
[ "$2 threads, $4 locks" = "$WRONG" ] && echo 'sold for 98 in 1 ms' || echo 'sold for 99 in 1 ms'
printf '%s\n' sums headings "7 ms 87 % 200 $4  price (shop.cpp:1)"
)sh";
  for (const std::string wrong : {"", "1 threads, 1 locks", "8 threads, 1 locks", "8 threads, 64 locks"}) {
    const auto result = run(copy.folder.path / "find_contention", {}, {.environment = {{"WRONG", wrong}}});
    EXPECT_EQ(result.exit_code, wrong.empty() ? 0 : 1) << wrong << "\n" << result.text();
    EXPECT_EQ(result
                  .lines_with("^(ok  |FAIL)  all three runs sold for the same: " +
                              std::string(wrong.empty() ? "yes" : "no, expected yes") + "$")
                  .size(),
              1U)
        << wrong << "\n"
        << result.text();
  }
}

TEST(find_contention, the_work_is_the_same_for_any_number_of_threads) {
  struct Cache {
    int price(int product) { return ask_server(product); }
  };
  for (const int threads : {1, 2, 7}) {
    Cache cache;
    const Sales sales = sell(cache, threads);
    EXPECT_EQ(sales.total, 9527);
    EXPECT_EQ(sales.events, 4000);
  }
}

// The library
// -----------------------------------------------------------------------------------------------------------

std::mutex shared;

[[gnu::noinline]] void hold_for_long(std::latch& held) {
  std::scoped_lock lock(shared);
  held.count_down();
  std::this_thread::sleep_for(100ms);
}

[[gnu::noinline]] void need_it_shortly() { std::scoped_lock lock(shared); }

TEST(find_contention_sick, one_holds_and_another_waits) {
  std::latch held(1);
  std::jthread holder(hold_for_long, std::ref(held));
  held.wait();
  need_it_shortly();
}

TEST(find_contention_library, names_the_line_that_had_taken_the_lock) {
  SKIP_WITH_SANITIZER();
  const auto result = profile_of_sick("one_holds_and_another_waits");
  EXPECT_EQ(result.exit_code, 0) << result.text();
  const Row waiting = row_of(result, R"(\S*need_it_shortly)"), holding = row_of(result, R"(\S*hold_for_long)");
  EXPECT_GT(waiting.waited, 10) << result.text();
  EXPECT_EQ(holding.waited, 0);
  EXPECT_EQ(result.lines_with(R"(need_it_shortly \(find_contention_test\.cpp:\d+\), taken at \S*hold_for_long \(find)")
                .size(),
            1U)
      << result.text();
}

std::array<std::mutex, 4097> in_a_row;  // the addresses of the first and the last differ by five times the table's size

[[gnu::noinline]] void lock_the_last() { std::scoped_lock lock(in_a_row.back()); }
[[gnu::noinline]] void need_the_first() { std::scoped_lock lock(in_a_row.front()); }

TEST(find_contention_sick, another_mutex_takes_the_slot_of_the_one_that_is_waited_for) {
  std::latch held(1);
  std::jthread holder([&] {
    std::scoped_lock lock(in_a_row.front());
    lock_the_last();
    held.count_down();
    std::this_thread::sleep_for(100ms);
  });
  held.wait();
  need_the_first();
}

TEST(find_contention_library, does_not_take_the_line_that_locked_another_mutex_for_the_one_that_holds_this_one) {
  SKIP_WITH_SANITIZER();
  const auto result = profile_of_sick("another_mutex_takes_the_slot_of_the_one_that_is_waited_for");
  EXPECT_EQ(result.exit_code, 0) << result.text();
  EXPECT_GT(row_of(result, R"(\S*need_the_first)").waited, 10) << result.text();
  EXPECT_EQ(row_of(result, R"(\S*lock_the_last)").calls, 1);
  EXPECT_EQ(result.lines_with(R"(need_the_first \(.*, taken at)").size(), 0U) << result.text();
}

TEST(find_contention_sick, the_first_call_of_four_threads_waits) {
  std::latch held(1), coming(4);
  std::jthread holder([&] {
    std::scoped_lock lock(shared);
    held.count_down();
    coming.wait();
    std::this_thread::sleep_for(100ms);
  });
  held.wait();
  std::vector<std::jthread> waiters;
  for (int i = 0; i < 4; ++i) {
    waiters.emplace_back([&] {
      coming.count_down();
      need_it_shortly();
    });
  }
}

TEST(find_contention_library, a_thread_has_lived_as_long_as_it_has_waited) {
  SKIP_WITH_SANITIZER();
  const auto result = profile_of_sick("the_first_call_of_four_threads_waits");
  EXPECT_EQ(result.exit_code, 0) << result.text();
  const Row waiting = row_of(result, R"(\S*need_it_shortly)");
  EXPECT_EQ(waiting.calls, 4);
  EXPECT_GT(waiting.percent, 40) << "the waits of one thread alone\n" << result.text();
  // Without the time that the waiters have waited, about 100 ms would be left, those of the holder.
  EXPECT_GE(sums_of(result)[0], waiting.waited) << result.text();
}

std::mutex another;

TEST(find_contention_sick, the_second_of_two_locks_is_waited_for) {
  std::latch held(1);
  std::jthread holder([&] {
    std::scoped_lock lock(another);
    held.count_down();
    std::this_thread::sleep_for(100ms);
  });
  held.wait();
  std::scoped_lock both(shared, another);
}

TEST(find_contention_library, measures_the_wait_for_the_second_of_two_locks) {
  SKIP_WITH_SANITIZER();
  const auto result = profile_of_sick("the_second_of_two_locks_is_waited_for");
  EXPECT_EQ(result.exit_code, 0) << result.text();
  EXPECT_GT(sums_of(result)[2], 10) << result.text();
}

[[gnu::noinline]] int lock_and_report(pthread_mutex_t& mutex) {
  const int result = pthread_mutex_lock(&mutex);
  asm volatile("");  // not a call that the compiler makes a jump, since then the library would see the caller's line
  return result;
}

/// Computes for 100 ms, however often others have the processor in the meantime.
void compute() {
  const auto used = [] {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec * 1e3 + time.tv_nsec * 1e-6;
  };
  for (const double end = used() + 100; used() < end;) continue;
}

TEST(find_contention_sick, a_thread_computes_before_its_first_lock_and_after_it) {
  std::jthread([] {
    compute();
    need_it_shortly();
    compute();
  }).join();
}

TEST(find_contention_library, counts_the_time_on_a_processor_from_a_threads_first_lock) {
  SKIP_WITH_SANITIZER();
  const auto result = profile_of_sick("a_thread_computes_before_its_first_lock_and_after_it");
  EXPECT_EQ(result.exit_code, 0) << result.text();
  const double on_processor = sums_of(result)[1];
  EXPECT_GE(on_processor, 99) << result.text();
  EXPECT_LT(on_processor, 180) << result.text();  // without the 100 ms before it
}

pthread_mutex_t alone = PTHREAD_MUTEX_INITIALIZER;

[[gnu::noinline]] void lock_and_unlock() {
  pthread_mutex_lock(&alone);
  pthread_mutex_unlock(&alone);  // the return address of the call before it belongs to this line
}
constexpr int line_of_lock = __LINE__ - 3;

TEST(find_contention_sick, the_call_is_the_last_of_its_line) { lock_and_unlock(); }

TEST(find_contention_library, names_the_line_of_the_call_and_not_the_one_to_which_it_returns) {
  SKIP_WITH_SANITIZER();
  const auto result = profile_of_sick("the_call_is_the_last_of_its_line");
  EXPECT_EQ(result.exit_code, 0) << result.text();
  const std::string expected =
      R"(lock_and_unlock \(find_contention_test\.cpp:)" + std::to_string(line_of_lock) + R"(\))";
  EXPECT_EQ(result.lines_with(expected).size(), 1U) << result.text();
}

TEST(find_contention_sick, mutexes_of_all_kinds) {
  SKIP_WITH_SANITIZER();  // it would report the mutex that a thread leaves locked
  for (const int kind : {PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_RECURSIVE}) {
    pthread_mutexattr_t attributes;
    ASSERT_EQ(pthread_mutexattr_init(&attributes), 0);
    ASSERT_EQ(pthread_mutexattr_settype(&attributes, kind), 0);
    pthread_mutex_t mutex;
    ASSERT_EQ(pthread_mutex_init(&mutex, &attributes), 0);
    EXPECT_EQ(lock_and_report(mutex), 0);
    EXPECT_EQ(lock_and_report(mutex), kind == PTHREAD_MUTEX_ERRORCHECK ? EDEADLK : 0);
    EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
    EXPECT_EQ(pthread_mutex_unlock(&mutex), kind == PTHREAD_MUTEX_ERRORCHECK ? EPERM : 0);
  }
  pthread_mutexattr_t attributes;
  ASSERT_EQ(pthread_mutexattr_init(&attributes), 0);
  ASSERT_EQ(pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST), 0);
  pthread_mutex_t robust;
  ASSERT_EQ(pthread_mutex_init(&robust, &attributes), 0);
  std::thread([&] { EXPECT_EQ(lock_and_report(robust), 0); }).join();  // it ends with the mutex locked
  EXPECT_EQ(lock_and_report(robust), EOWNERDEAD);
  EXPECT_EQ(pthread_mutex_consistent(&robust), 0);
  EXPECT_EQ(pthread_mutex_unlock(&robust), 0);
}

TEST(find_contention_library, returns_what_the_c_library_returns) {
  SKIP_WITH_SANITIZER();
  const auto result = profile_of_sick("mutexes_of_all_kinds");
  EXPECT_EQ(result.exit_code, 0) << result.text();
  EXPECT_EQ(row_of(result, R"(\S*lock_and_report)").calls, 6);
}

long counted = 0;  // protected by `shared`

[[gnu::noinline]] void count() {
  std::scoped_lock lock(shared);
  ++counted;
}

/// Locks after the program's last thread has ended, and after the library's own profile of main.
struct Late {
  ~Late() { count(); }
} late;

TEST(find_contention_sick, many_threads_count) {
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([] {
        for (int n = 0; n < 20'000; ++n) count();
      });
    }
  }
  EXPECT_EQ(counted, 160'000);
}

TEST(find_contention_library, lets_in_one_thread_at_a_time_and_counts_every_call) {
  SKIP_WITH_SANITIZER();
  const auto result = profile_of_sick("many_threads_count");
  EXPECT_EQ(result.exit_code, 0) << result.text();
  EXPECT_EQ(row_of(result, R"(\S*count)").calls, 160'000);
  EXPECT_EQ(row_of(result, R"(\S*count)").locks, 1);
}

TEST(find_contention_timing, the_split_lock_lets_eight_threads_ask_at_once) {
  SKIP_WITH_SANITIZER();
  const auto time = [](const std::string& locks) {
    double fastest = 1e9;
    for (int i = 0; i < 3; ++i) {
      const auto result = run("find_contention_shop", {"--threads", "8", "--locks", locks});
      fastest = std::min(fastest, std::stod(result.captures(R"( in (\d+) ms)").at(0)));
    }
    return fastest;
  };
  EXPECT_GT(time("1"), 3 * time("64"));
}

}  // namespace
