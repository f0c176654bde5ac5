// The outcomes of the schedules are known by hand. What is never seen is compared with what is seen under the same
// conditions, in turns: a test that could not see anything would prove nothing.

#define main main_of_the_program  // its rows are tested from inside, too
#include "09_diagnosis/memory_model_litmus/memory_model_litmus.cpp"
#undef main

#include <chrono>
#include <thread>

#include "support/run.hpp"

namespace {

using test_support::run;

TEST(memory_model_litmus_schedules, have_the_outcomes_that_one_finds_by_hand) {
  EXPECT_EQ((outcomes_of_schedules<StoreBuffering<relaxed, relaxed>>()), (Outcomes{{0, 1}, {1, 0}, {1, 1}}));
  EXPECT_EQ((outcomes_of_schedules<StoreBuffering<seq_cst, seq_cst>>()), (Outcomes{{0, 1}, {1, 0}, {1, 1}}));
  EXPECT_EQ((outcomes_of_schedules<MessagePassing<relaxed, relaxed>>()), (Outcomes{{0, 0}, {0, 1}, {1, 1}}));
  EXPECT_EQ((outcomes_of_schedules<MessagePassing<release, acquire>>()), (Outcomes{{0, 0}, {0, 1}, {1, 1}}));
  EXPECT_EQ((outcomes_of_schedules<LoadBuffering<relaxed, relaxed>>()), (Outcomes{{0, 0}, {0, 1}, {1, 0}}));
  EXPECT_EQ((outcomes_of_schedules<LoadBuffering<release, acquire>>()), (Outcomes{{0, 0}, {0, 1}, {1, 0}}));
}

#ifndef __SANITIZE_THREAD__  // it keeps the processor from what this test looks for

struct memory_model_litmus : testing::Test {
  void SetUp() override {
    if (cookbook::allowed_processors() < 2) GTEST_SKIP() << "this takes two processors";
  }
};

TEST_F(memory_model_litmus, counts_every_run_once) {
  for (const long runs : {1L, 10'000L, 10'001L}) {
    const Counts counts = run_in_two_threads<StoreBuffering<relaxed, relaxed>>(runs);
    EXPECT_EQ(counts.runs, (runs + 9'999) / 10'000 * 10'000);
    EXPECT_LE(counts.weak, counts.runs);
  }
}

/// Runs both tests in turns, until the first one's weak outcome has been seen in 20 rounds: on a busy machine, the two
/// threads meet only in some of the rounds, so ten seconds and one such round are enough. Returns how often the other
/// one's weak outcome was seen.
template <typename Seen, typename Other>
long seen_beside() {
  long rounds_seen = 0, other = 0;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (rounds_seen < 20 && (rounds_seen == 0 || std::chrono::steady_clock::now() < end)) {
    rounds_seen += run_in_two_threads<Seen>(20'000).weak > 0 ? 1 : 0;
    other += run_in_two_threads<Other>(20'000).weak;
  }
  return other;
}

#ifdef __x86_64__

TEST_F(memory_model_litmus, a_fence_or_seq_cst_ends_store_buffering) {
  using Relaxed = StoreBuffering<relaxed, relaxed>;
  EXPECT_EQ((seen_beside<Relaxed, StoreBuffering<relaxed, relaxed, full_fence>>()), 0);
  EXPECT_EQ((seen_beside<Relaxed, StoreBuffering<seq_cst, seq_cst>>()), 0);
}

TEST_F(memory_model_litmus, release_and_acquire_do_not_and_a_fence_for_the_compiler_does_not) {
  using Forbidden = StoreBuffering<seq_cst, seq_cst>;
  EXPECT_EQ((seen_beside<StoreBuffering<release, acquire>, Forbidden>()), 0);
  EXPECT_EQ((seen_beside<StoreBuffering<relaxed, relaxed, compiler_fence>, Forbidden>()), 0);
}

TEST_F(memory_model_litmus, other_orders_are_kept_by_x86) {
  using Relaxed = StoreBuffering<relaxed, relaxed>;
  EXPECT_EQ((seen_beside<Relaxed, MessagePassing<relaxed, relaxed>>()), 0);
  EXPECT_EQ((seen_beside<Relaxed, LoadBuffering<relaxed, relaxed>>()), 0);
}

#endif

/// Runs a test until an outcome has been seen.
template <typename Test>
bool is_seen(std::pair<int, int> outcome) {
  for (int round = 0; round < 4'000; ++round) {
    if (run_in_two_threads<Test>(20'000).outcomes.contains(outcome)) return true;
  }
  return false;
}

/// Message passing by a program that stores the flag first: what a processor would do that changes the stores' order.
struct FlagFirst : MessagePassing<relaxed, relaxed> {
  static void a1(Variables& v) { MessagePassing::a2(v); }
  static void a2(Variables& v) { MessagePassing::a1(v); }
};

/// The loads of each thread after its stores: what load buffering would be if they changed places.
struct StoresFirst : LoadBuffering<relaxed, relaxed> {
  static void a1(Variables& v) { LoadBuffering::a2(v); }
  static void a2(Variables& v) { LoadBuffering::a1(v); }
  static void b1(Variables& v) { LoadBuffering::b2(v); }
  static void b2(Variables& v) { LoadBuffering::b1(v); }
};

TEST_F(memory_model_litmus, steps_that_did_change_places_would_be_seen) {
  EXPECT_TRUE(is_seen<FlagFirst>({1, 0}));
  EXPECT_TRUE(is_seen<StoresFirst>({1, 1}));
}

/// Each run in two threads ends as no schedule does: the steps know whether they are made by this thread, which goes
/// through the schedules.
struct AlwaysWeak {
  static inline const std::thread::id this_thread = std::this_thread::get_id();
  static void a1(Variables&) {}
  static void a2(Variables& v) { v.r1 = std::this_thread::get_id() == this_thread ? 0 : 1; }
  static void b1(Variables&) {}
  static void b2(Variables&) {}
  static void fence() {}
};

TEST_F(memory_model_litmus, an_outcome_counts_against_each_who_forbids_it) {
  constexpr Rule forbidden = Rule::forbidden, allowed = Rule::allowed;
  for (const Rule cpp : {forbidden, allowed}) {
    for (const Rule x86 : {forbidden, allowed}) {
      Totals totals;
      for (int row = 1; row <= 2; ++row) {
        print_row<AlwaysWeak>("always weak", cpp, x86, 10'000, totals);
        EXPECT_EQ(totals.against_cpp, cpp == forbidden ? row * 10'000 : 0);
        EXPECT_EQ(totals.against_x86, x86 == forbidden ? row * 10'000 : 0);
        EXPECT_EQ(totals.buffered, x86 == allowed ? row : 0);
      }
    }
  }
}

/// Each run ends as the schedules do.
struct NeverWeak : AlwaysWeak {
  static void a2(Variables& v) { v.r1 = 0; }
};

TEST_F(memory_model_litmus, an_outcome_that_was_not_seen_counts_for_nothing) {
  constexpr Rule forbidden = Rule::forbidden, allowed = Rule::allowed;
  for (const Rule cpp : {forbidden, allowed}) {
    for (const Rule x86 : {forbidden, allowed}) {
      Totals totals;
      print_row<NeverWeak>("never weak", cpp, x86, 10'000, totals, 0.1);
      EXPECT_EQ(totals.against_cpp, 0);
      EXPECT_EQ(totals.against_x86, 0);
      EXPECT_EQ(totals.buffered, 0);
    }
  }
}

TEST_F(memory_model_litmus, prints_what_was_seen_and_what_is_allowed) {
  const auto result = run("memory_model_litmus", {"--runs", "20000"}, {.limit = std::chrono::seconds(90)});
  EXPECT_EQ(result.exit_code, 0) << result.text();
  for (const std::string name : {"relaxed", "release and acquire", "relaxed, fence for the compiler only"}) {
    EXPECT_EQ(result.lines_with("^    " + name + " +[1-9]\\d* of \\d+ +allowed +allowed$").size(), 1U) << name << "\n"
                                                                                                       << result.text();
  }
  for (const std::string name : {"relaxed, full fence", "seq_cst", "release and acquire"}) {
    EXPECT_EQ(result.lines_with("^    " + name + " +0 of \\d+ +forbidden +forbidden$").size(), 1U) << result.text();
  }
  EXPECT_EQ(result.lines_with("^    relaxed +0 of \\d+ +allowed +forbidden$").size(), 2U) << result.text();
}

#endif

}  // namespace
