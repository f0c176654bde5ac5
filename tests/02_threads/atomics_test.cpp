// Atomics: the program seen from outside. Beyond the source's chapter.

#include <algorithm>
#include <thread>

#include "support/run.hpp"

namespace {

using test_support::run;

/// The checks whose value is the same for any schedule, any number of rounds and of threads.
const std::vector<std::string> invariants{
    "ok    messages that came torn or stale: 0",
    "ok    counter under a spin lock, changes lost: 0",
    "ok    sequence lock, values read half-written: 0",
    "ok    sequence lock, values older than the one before: 0",
    "ok    counted head, additions lost by who had a node: 0",
    "ok    counted head, nodes that did not come out exactly once: 0",
    "ok    store, then load: at seq_cst, rounds in which both missed: 0",
};

TEST(atomics, nothing_is_torn_lost_or_doubled_over_any_number_of_rounds) {
  for (const char* rounds : {"1", "2", "1000", "100000"}) {
    const auto result = run("atomics", {"--rounds", rounds, "--operations", "1"});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    for (const auto& line : invariants) EXPECT_TRUE(result.has_line(line)) << line << '\n' << result.text();
  }
}

TEST(atomics, the_counted_stack_keeps_every_node_with_any_number_of_threads) {
  for (const char* threads : {"1", "2", "3", "8", "32"}) {
    const auto result = run("atomics", {"--threads", threads, "--rounds", "10000", "--operations", "1"});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    for (const auto& line : invariants) EXPECT_TRUE(result.has_line(line)) << line << '\n' << result.text();
  }
}

TEST(atomics, a_bare_head_falls_into_the_forced_aba_trap) {
  const auto result = run("atomics", {"--rounds", "1", "--operations", "1"});
  EXPECT_TRUE(result.has_line("ok    bare head, attempts of A to take node 0: 1")) << result.text();
  EXPECT_TRUE(result.has_line("ok    bare head, stack while A holds 0 and B holds 1: [1, 2]")) << result.text();
  EXPECT_TRUE(result.has_line("ok    bare head, stack after B put 1 back: [1, 1, 1, 1]")) << result.text();
}

TEST(atomics, a_counted_head_sees_the_same_trap_and_tries_again) {
  const auto result = run("atomics", {"--rounds", "1", "--operations", "1"});
  EXPECT_TRUE(result.has_line("ok    counted head, attempts of A to take node 0: 2")) << result.text();
  EXPECT_TRUE(result.has_line("ok    counted head, stack while A holds 0 and B holds 1: [2]")) << result.text();
  EXPECT_TRUE(result.has_line("ok    counted head, stack after B put 1 back: [1, 2]")) << result.text();
}

/// The check at seq_cst means something only if the test can see what it looks for.
TEST(atomics, the_store_buffer_test_sees_both_threads_miss_at_weaker_orders) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer runs every atomic operation at seq_cst or nearly so";
#endif
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "needs two cores";
  bool relaxed = false, release_acquire = false;
  for (int attempt = 0; attempt < 20 && !(relaxed && release_acquire); ++attempt) {
    const auto result = run("atomics", {"--rounds", "100000", "--operations", "1"});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    const auto seen = [&](const std::string& line) {
      const auto shares = result.captures(line + R"(.* in (\d+\.\d+) % of rounds)");
      EXPECT_EQ(shares.size(), 1U) << result.text();
      return shares.size() == 1 && std::stod(shares[0]) > 0;
    };
    relaxed |= seen("at relaxed");
    release_acquire |= seen("at release and acquire");
  }
  EXPECT_TRUE(relaxed);
  EXPECT_TRUE(release_acquire);
}

TEST(atomics, every_operation_has_its_cost_beside_the_mutex) {
  const auto result = run("atomics", {"--rounds", "100"});
  ASSERT_EQ(result.exit_code, 0) << result.text();
  EXPECT_EQ(result.lines_with(R"(^(load|store) (relaxed|acquire|release|seq_cst) +[\d.]+ ns)").size(), 6U);
  EXPECT_EQ(result.lines_with(R"(^(fetch_add|compare-exchange) (relaxed|acq_rel|seq_cst) +[\d.]+ ns)").size(), 6U);
  EXPECT_EQ(result.lines_with(R"(^fetch_add relaxed, [12] threads? +[\d.]+ ns)").size(), 2U);
  EXPECT_EQ(result.lines_with(R"(^std::mutex, lock and unlock .* 1\.00 x$)").size(), 1U);
}

TEST(atomics, on_x86_a_store_pays_for_seq_cst_and_not_for_release) {
#if !defined(__x86_64__) || !defined(__OPTIMIZE__) || defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "holds for x86-64, optimised, without sanitizers";
#endif
  const auto result = run("atomics", {"--rounds", "100"});
  const auto lowest = [&](const std::string& row) {
    const auto found = result.captures("^" + row + R"( +[\d.]+ ns +([\d.]+) ns)");
    EXPECT_EQ(found.size(), 1U) << result.text();
    return found.size() == 1 ? std::stod(found[0]) : 0;
  };
  EXPECT_LT(2 * lowest("store release"), lowest("store seq_cst")) << result.text();
}

TEST(atomics, ends_at_once_on_ctrl_c) {
  const auto result = run("atomics", {"--rounds", "10000000"}, {.interrupt_after_ms = 300});
  EXPECT_EQ(result.exit_code, -2) << result.text();
  EXPECT_EQ(result.left_behind, 0);
}

}  // namespace
