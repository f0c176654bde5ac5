// Define a thread: the program seen from outside. Catalogue: 2.C1, 2.C2, 2.1.

#include <algorithm>
#include <set>

#include "support/run.hpp"

namespace {

using test_support::run;

/// The numbers 0, 1, ... as the program prints them.
std::vector<std::string> numbers(int count) {
  std::vector<std::string> list;
  for (int i = 0; i < count; ++i) list.push_back(std::to_string(i));
  return list;
}

TEST(define_thread, joined_in_the_loop_in_order_joined_at_the_end_each_once) {
  for (const int threads : {1, 2, 5, 17, 100}) {
    const auto result = run("define_thread", {"--threads", std::to_string(threads)});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    auto spoke = result.captures("^function called by thread (\\d+)$");
    ASSERT_EQ(spoke.size(), static_cast<std::size_t>(2 * threads)) << result.text();

    const auto second = spoke.begin() + threads;
    const auto wanted = numbers(threads);
    EXPECT_TRUE(std::equal(wanted.begin(), wanted.end(), spoke.begin(), second)) << result.text();
    EXPECT_TRUE(std::is_permutation(wanted.begin(), wanted.end(), second, spoke.end())) << result.text();
  }
}

TEST(define_thread, the_order_of_overlapping_threads_is_not_fixed) {
  // A hundred threads that leave one latch come in the order of their numbers with a chance of almost nothing; ten runs
  // in a row that do are no chance at all.
  const auto wanted = numbers(100);
  int in_order = 0;
  for (int i = 0; i < 10; ++i) {
    const auto spoke = run("define_thread", {"--threads", "100"}).captures("^function called by thread (\\d+)$");
    ASSERT_EQ(spoke.size(), 200U);
    in_order += std::equal(wanted.begin(), wanted.end(), spoke.begin() + 100) ? 1 : 0;
  }
  EXPECT_LT(in_order, 10);
}

TEST(define_thread, what_has_no_thread_does_nothing_and_nobody_joins_twice) {
  const auto result = run("define_thread");
  EXPECT_TRUE(result.has_line("ok    a jthread made without work can be joined: false")) << result.text();
  EXPECT_TRUE(result.has_line("ok    runs of work that no thread was made for: 0")) << result.text();
  EXPECT_TRUE(result.has_line("ok    runs of the work once its thread was made and joined: 1")) << result.text();
  EXPECT_TRUE(result.has_line("ok    a second join is refused: true")) << result.text();
}

TEST(define_thread, a_global_has_one_address_and_each_thread_its_own_locals) {
  for (const int threads : {1, 3, 40}) {
    const auto result = run("define_thread", {"--threads", std::to_string(threads)});
    const auto addresses = [&](const std::string& variable) {
      const auto all = result.captures(variable + " at (0x[0-9a-f]+)");
      EXPECT_EQ(all.size(), static_cast<std::size_t>(threads)) << result.text();
      return static_cast<int>(std::set<std::string>(all.begin(), all.end()).size());
    };
    EXPECT_EQ(addresses("^global"), 1);
    EXPECT_EQ(addresses(" thread_local"), threads);
    EXPECT_EQ(addresses(" local"), threads);
  }
}

TEST(define_thread, arguments_are_copied_unless_asked_otherwise) {
  const auto result = run("define_thread");
  EXPECT_TRUE(result.has_line("ok    an argument that a thread got as a copy, and raised: 0")) << result.text();
  EXPECT_TRUE(result.has_line("ok    an argument that it got as a reference, and raised: 1")) << result.text();
}

TEST(define_thread, a_sleep_gives_the_processor_away) {
  const auto switches =
      run("define_thread").captures("^ok    context switches of a thread that slept 5 times: (\\d+)$");
  ASSERT_EQ(switches.size(), 1U);
  EXPECT_GE(std::stol(switches[0]), 1);
}

}  // namespace
