// The program's output: results, calls and threads of each way; its count from inside.

#define main main_of_the_program
#include "05_distributed/map_three_ways/map_three_ways.cpp"
#undef main

#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "cookbook/affinity.hpp"
#include "support/run.hpp"

namespace {

using test_support::run;

const std::string all_right = "ok    each way has the results of the loop: yes";

TEST(map_three_ways, doubles_the_numbers_in_order) {
  const auto result = run("map_three_ways", {"--work-us", "0"});
  ASSERT_EQ(result.exit_code, 0) << result.text();
  EXPECT_TRUE(result.has_line("each result: 2 4 6 8 10 12 14 16 18 20")) << result.text();
  EXPECT_TRUE(result.has_line(all_right)) << result.text();
}

TEST(map_three_ways, each_way_calls_the_function_once_per_element_and_a_view_only_when_it_is_read) {
  for (const std::string items : {"0", "1", "2", "1000"}) {
    const auto result = run("map_three_ways", {"--items", items, "--work-us", "0"});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    EXPECT_TRUE(result.has_line(all_right)) << result.text();
    const std::string one = items == "0" ? "0" : "1";
    const std::string letters = items == "1" ? "  A" : items == "2" ? "  AA" : "";  // none for 1000 elements
    for (const std::string way : {"a loop", "std::transform", "a view, read", "stored, filtered"}) {
      EXPECT_EQ(result.captures("^" + way + " +(\\d+ +\\d+) +[0-9.]+ ms").size(), 1U) << result.text();
      EXPECT_EQ(result.lines_with("^" + way + " +" + items + " +" + one + " +[0-9.]+ ms" + letters + "$").size(), 1U)
          << result.text();
    }
    EXPECT_EQ(result.lines_with("^a view, made +0 +0 +[0-9.]+ ms$").size(), 1U) << result.text();
    // The filter lets the larger half pass, and each of these is computed once more.
    const std::string filtered = items == "1000" ? "1500" : items == "2" ? "3" : items == "1" ? "2" : "0";
    EXPECT_EQ(result.lines_with("^a view, filtered +" + filtered + " +" + one + " +[0-9.]+ ms" + letters + "$").size(),
              1U)
        << result.text();
    EXPECT_EQ(result.captures("^on several threads +(\\d+)"), std::vector<std::string>{items}) << result.text();
  }
}

TEST(map_three_ways_calls, count_every_call_of_several_threads) {
  constexpr int threads = 4, each = 200'000;
  calls.reset();
  {
    std::latch all_there(threads);  // a thread that has ended might leave its number to the next
    std::vector<std::jthread> callers;
    for (int i = 0; i < threads; ++i) {
      callers.emplace_back([&] {
        all_there.arrive_and_wait();
        for (int call = 0; call < each; ++call) calls.note(call);
      });
    }
  }
  EXPECT_EQ(calls.number(), long{threads} * each);
  EXPECT_EQ(calls.threads(), std::size_t{threads});
}

TEST(map_three_ways_calls, have_a_letter_per_result_for_its_thread) {
  Calls some;
  some.note(6);
  std::jthread([&] { some.note(2), some.note(8); }).join();
  some.note(4);
  EXPECT_EQ(some.letters(), "ABBA");
  for (long result = 10; result <= 40; result += 2) some.note(result);
  EXPECT_EQ(some.letters(), "ABBA" + std::string(16, 'B'));
  some.note(42);
  EXPECT_EQ(some.letters(), "");
  some.reset();
  EXPECT_EQ(some.letters(), "");
  some.note(2);
  EXPECT_EQ(some.letters(), "A");
}

TEST(map_three_ways, the_results_of_up_to_20_elements_are_shown) {
  const auto shown = [](const std::string& items) {
    return run("map_three_ways", {"--items", items, "--work-us", "0"}).captures("^each result: .*?(\\d+)$");
  };
  EXPECT_EQ(shown("20"), std::vector<std::string>{"40"});
  EXPECT_EQ(shown("21"), std::vector<std::string>{});
}

TEST(map_three_ways, the_parallel_form_uses_several_threads) {
  if (cookbook::allowed_processors() < 2) GTEST_SKIP() << "needs two processors";
  int threads = 0;
  std::string text;
  for (int attempt = 0; attempt < 10 && threads < 2; ++attempt) {  // on a busy machine a thread may come too late
    const auto result = run("map_three_ways", {"--items", "100"});
    text = result.text();
    const auto found = result.captures("^on several threads +100 +(\\d+)");
    ASSERT_EQ(found.size(), 1U) << result.text();
    threads = std::stoi(found[0]);
  }
  EXPECT_GE(threads, 2) << text;
}

TEST(map_three_ways_timing, the_calls_of_several_threads_do_not_wait_for_one_another) {
  if (cookbook::allowed_processors() < 2) GTEST_SKIP() << "needs two processors";
  double share = 1;  // of the loop's time
  for (int attempt = 0; attempt < 5 && share > 0.8; ++attempt) {
    const auto result = run("map_three_ways", {"--items", "20", "--work-us", "5000"});
    const auto loop = result.captures("^a loop +20 +1 +([0-9.]+) ms  A{20}$");
    const auto threads = result.captures("^on several threads +20 +\\d+ +([0-9.]+) ms  [A-Z]{20}$");
    ASSERT_EQ(loop.size(), 1U) << result.text();
    ASSERT_EQ(threads.size(), 1U) << result.text();
    share = std::stod(threads[0]) / std::stod(loop[0]);
  }
  EXPECT_LT(share, 0.8);
}

}  // namespace
