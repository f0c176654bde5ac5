// The program's lines, and what the page says about std::jthread.

#include <sys/resource.h>

#include <algorithm>
#include <latch>
#include <regex>
#include <set>
#include <system_error>
#include <thread>

#include "support/run.hpp"

namespace {

using test_support::Result;
using test_support::run;

struct Period {
  int number;
  double begin_ms, end_ms;
};

/// What one of the two parts prints of its threads.
std::vector<Period> periods_of(const Result& result, const std::string& heading) {
  static const std::regex line("^  thread (\\d+) worked from +([0-9.]+) ms to +([0-9.]+) ms$");
  std::vector<Period> periods;
  std::smatch match;
  auto at = std::find(result.out.begin(), result.out.end(), heading);
  if (at == result.out.end()) return periods;
  while (++at != result.out.end() && std::regex_match(*at, match, line)) {
    periods.push_back({std::stoi(match[1]), std::stod(match[2]), std::stod(match[3])});
  }
  return periods;
}

std::vector<Period> in_the_loop(const Result& result) { return periods_of(result, "joined inside the loop:"); }
std::vector<Period> after_the_loop(const Result& result) { return periods_of(result, "joined after the loop:"); }

TEST(define_thread, joined_inside_the_loop_they_work_one_after_another) {
  for (const int threads : {1, 2, 3, 30}) {
    const auto result = run("define_thread", {"--threads", std::to_string(threads), "--work-ms", "2"});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    const auto periods = in_the_loop(result);
    ASSERT_EQ(periods.size(), std::size_t(threads)) << result.text();
    for (int number = 0; number < threads; ++number) {
      EXPECT_EQ(periods[number].number, number) << result.text();
      EXPECT_LE(periods[number].begin_ms, periods[number].end_ms) << result.text();
      if (number > 0) {
        EXPECT_LE(periods[number - 1].end_ms, periods[number].begin_ms) << result.text();
      }
    }
  }
}

TEST(define_thread, joined_after_the_loop_each_works_and_ends_once) {
  for (const int threads : {1, 3, 100}) {
    const auto result = run("define_thread", {"--threads", std::to_string(threads), "--work-ms", "0"});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    EXPECT_EQ(after_the_loop(result).size(), std::size_t(threads)) << result.text();
    EXPECT_TRUE(result.has_line("ok    after the loop: threads that have worked: " + std::to_string(threads)))
        << result.text();
  }
}

TEST(define_thread, joined_after_the_loop_they_overlap) {
  // A slow machine may make the last thread only when the first has ended, but not each time.
  for (int attempt = 0; attempt < 20; ++attempt) {
    const auto periods =
        after_the_loop(run("define_thread", {"--threads", "3", "--work-ms", std::to_string(20 << attempt / 4)}));
    ASSERT_EQ(periods.size(), 3U);
    double last_begin = 0, first_end = periods[0].end_ms;
    for (const Period& period : periods) {
      last_begin = std::max(last_begin, period.begin_ms);
      first_end = std::min(first_end, period.end_ms);
    }
    if (last_begin < first_end) return;
  }
  FAIL() << "three threads never started before one of them ended";
}

TEST(define_thread, the_last_line_of_a_part_adds_up_the_work_and_has_the_last_end) {
  for (const char* work : {"0", "20"}) {
    const auto result = run("define_thread", {"--threads", "4", "--work-ms", work});
    const auto sums = result.captures("^  (\\d+) ms of work in \\d+ ms$");
    const auto ends = result.captures("^  \\d+ ms of work in (\\d+) ms$");
    ASSERT_EQ(sums.size(), 2U) << result.text();
    for (const int part : {0, 1}) {
      double sum = 0, last = 0;
      for (const Period& period : part == 0 ? in_the_loop(result) : after_the_loop(result)) {
        sum += period.end_ms - period.begin_ms;
        last = std::max(last, period.end_ms);
      }
      EXPECT_NEAR(std::stod(sums[part]), sum, 0.5 + 4 * 0.1) << result.text();  // all are rounded
      EXPECT_NEAR(std::stod(ends[part]), last, 0.5 + 0.05 + 1e-6) << result.text();
    }
  }
}

TEST(define_thread, the_work_takes_as_long_as_was_asked) {
  const auto result = run("define_thread", {"--threads", "2", "--work-ms", "50"});
  ASSERT_EQ(result.exit_code, 0) << result.text();
  for (const auto& part : {in_the_loop(result), after_the_loop(result)}) {
    ASSERT_EQ(part.size(), 2U) << result.text();
    for (const Period& period : part)
      EXPECT_GE(period.end_ms - period.begin_ms, 49.8) << result.text();  // both are rounded
  }
}

TEST(define_thread, the_threads_sleep_and_need_no_core) {
  const auto seconds_of_children = [] {  // on processors, of all programs that have run
    rusage usage{};
    EXPECT_EQ(getrusage(RUSAGE_CHILDREN, &usage), 0);
    return usage.ru_utime.tv_sec + usage.ru_stime.tv_sec + (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
  };
  const double before = seconds_of_children();
  ASSERT_EQ(run("define_thread", {"--threads", "5", "--work-ms", "200"}).exit_code, 0);
  EXPECT_LT(seconds_of_children() - before, 0.2 * 5 / 2) << "the first part alone works for a second";
}

TEST(define_thread_jthread, starts_in_its_constructor_and_not_before) {
  int calls = 0;
  const auto work = [&] { ++calls; };
  std::jthread later;
  EXPECT_FALSE(later.joinable());
  EXPECT_EQ(calls, 0);
  later = std::jthread(work);
  EXPECT_TRUE(later.joinable());
  later.join();
  EXPECT_EQ(calls, 1);
}

TEST(define_thread_jthread, a_second_join_is_refused) {
  std::jthread thread([] {});
  thread.join();
  try {
    thread.join();
    FAIL() << "joined twice";
  } catch (const std::system_error& error) {
    EXPECT_EQ(error.code(), std::errc::invalid_argument);
  }
}

TEST(define_thread_jthread, arguments_are_copied_unless_wrapped_in_ref) {
  int copied = 0, referred = 0;
  std::jthread([](int number) { EXPECT_EQ(++number, 1); }, copied).join();
  std::jthread([&](const int& number) { EXPECT_NE(&number, &copied); }, copied).join();
  std::jthread([](int& number) { ++number; }, std::ref(referred)).join();
  EXPECT_EQ(copied, 0);
  EXPECT_EQ(referred, 1);
}

int global = 0;
thread_local int one_per_thread = 0;

TEST(define_thread_jthread, shares_globals_and_has_its_own_locals) {
  constexpr int threads = 20;
  struct Seen {
    const int *global, *one_per_thread, *local;
  };
  std::vector<Seen> seen(threads);
  std::latch all_noted(threads);  // the stack of a thread that has ended may serve the next one
  std::vector<std::jthread> started;
  for (Seen& mine : seen) {
    started.emplace_back([&] {
      int local = 0;
      mine = {&global, &one_per_thread, &local};
      all_noted.arrive_and_wait();
    });
  }
  started.clear();
  std::set<const int*> globals, ones_per_thread, locals;
  for (const Seen& one : seen) {
    globals.insert(one.global);
    ones_per_thread.insert(one.one_per_thread);
    locals.insert(one.local);
  }
  EXPECT_EQ(globals.size(), 1U);
  EXPECT_EQ(ones_per_thread.size(), 20U);
  EXPECT_EQ(locals.size(), 20U);
}

}  // namespace
