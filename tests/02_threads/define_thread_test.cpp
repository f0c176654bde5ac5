// The program's lines, and what the page says about std::jthread.

#include <algorithm>
#include <latch>
#include <numeric>
#include <set>
#include <system_error>
#include <thread>

#include "support/run.hpp"

namespace {

using test_support::Result;
using test_support::run;
using Lines = std::vector<std::string>;

/// The lines "thread N starts" and "thread N ends" of one of the two parts.
Lines part(const Result& result, const std::string& heading) {
  const auto first = std::find(result.out.begin(), result.out.end(), heading);
  if (first == result.out.end()) return {};
  const auto last =
      std::find_if(first + 1, result.out.end(), [](const auto& line) { return !line.starts_with("thread "); });
  return Lines(first + 1, last);
}

Lines in_the_loop(const Result& result) { return part(result, "Joined inside the loop:"); }
Lines after_the_loop(const Result& result) { return part(result, "Joined after the loop:"); }

TEST(define_thread, joined_inside_the_loop_they_run_one_after_another) {
  for (const int threads : {1, 2, 3, 30}) {
    const auto result = run("define_thread", {"--threads", std::to_string(threads), "--work-ms", "1"});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    Lines expected;
    for (int number = 0; number < threads; ++number) {
      expected.push_back("thread " + std::to_string(number) + " starts");
      expected.push_back("thread " + std::to_string(number) + " ends");
    }
    EXPECT_EQ(in_the_loop(result), expected);
  }
}

TEST(define_thread, joined_after_the_loop_each_starts_and_ends_once) {
  for (const int threads : {1, 3, 100}) {
    const auto result = run("define_thread", {"--threads", std::to_string(threads), "--work-ms", "0"});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    const Lines lines = after_the_loop(result);
    EXPECT_EQ(lines.size(), 2U * threads) << result.text();
    for (int number = 0; number < threads; ++number) {
      const auto start = std::find(lines.begin(), lines.end(), "thread " + std::to_string(number) + " starts");
      const auto end = std::find(lines.begin(), lines.end(), "thread " + std::to_string(number) + " ends");
      EXPECT_LT(start, end) << result.text();
      EXPECT_NE(end, lines.end()) << result.text();
    }
  }
}

TEST(define_thread, joined_after_the_loop_they_overlap) {
  // A slow machine may make the last thread only when the first has ended, but not each time.
  for (int attempt = 0; attempt < 20; ++attempt) {
    const auto lines =
        after_the_loop(run("define_thread", {"--threads", "3", "--work-ms", std::to_string(20 << attempt / 4)}));
    ASSERT_EQ(lines.size(), 6U);
    if (std::all_of(lines.begin(), lines.begin() + 3, [](const auto& line) { return line.ends_with("starts"); }))
      return;
  }
  FAIL() << "three threads never started before one of them ended";
}

TEST(define_thread, the_checks_say_what_the_lines_say) {
  for (const int threads : {1, 4}) {
    const auto result = run("define_thread", {"--threads", std::to_string(threads), "--work-ms", "1"});
    std::string numbers = "[0";
    for (int number = 1; number < threads; ++number) numbers += ", " + std::to_string(number);
    EXPECT_TRUE(result.has_line("ok    joined inside the loop, in this order: " + numbers + "]")) << result.text();
    EXPECT_TRUE(result.has_line("ok    joined after the loop, sorted: " + numbers + "]")) << result.text();
  }
}

TEST(define_thread, the_work_takes_as_long_as_was_asked) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(run("define_thread", {"--threads", "2", "--work-ms", "50"}).exit_code, 0);
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(150));
}

TEST(jthread, starts_in_its_constructor_and_not_before) {
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

TEST(jthread, a_second_join_is_refused) {
  std::jthread thread([] {});
  thread.join();
  try {
    thread.join();
    FAIL() << "joined twice";
  } catch (const std::system_error& error) {
    EXPECT_EQ(error.code(), std::errc::invalid_argument);
  }
}

TEST(jthread, arguments_are_copied_unless_wrapped_in_ref) {
  int copied = 0, referred = 0;
  std::jthread([](int number) { EXPECT_EQ(++number, 1); }, copied).join();
  std::jthread([&](const int& number) { EXPECT_NE(&number, &copied); }, copied).join();
  std::jthread([](int& number) { ++number; }, std::ref(referred)).join();
  EXPECT_EQ(copied, 0);
  EXPECT_EQ(referred, 1);
}

int global = 0;
thread_local int one_per_thread = 0;

TEST(jthread, shares_globals_and_has_its_own_locals) {
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
