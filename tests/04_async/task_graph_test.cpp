// Task graph: the program seen from outside. Beyond the source.

#include <algorithm>
#include <random>

#include "support/run.hpp"

namespace {

using test_support::run;

/// The tests ask whether results are right, not how fast anything is: one measured round will do.
const test_support::Setting once = {.environment = {{"COOKBOOK_ROUNDS", "1"}}};

std::string random_letters(int count, std::mt19937& random) {
  std::string letters;
  for (int i = 0; i < count; ++i) letters += "ACGT"[random() % 4];
  return letters;
}

/// Letters in common, by another way than the recipe's: for each place of `a`, where the subsequences of each length
/// end the earliest in `b` (the k-th entry is one past the end of the best one of length k + 1).
int in_common(const std::string& a, const std::string& b) {
  std::vector<std::size_t> ends;
  for (const char letter : a) {
    std::size_t search_from = 0;  // the end, before this letter, of the best one that is one shorter
    for (std::size_t k = 0; k <= ends.size(); ++k) {
      const std::size_t found = b.find(letter, search_from);
      if (found == std::string::npos) break;
      if (k == ends.size()) {
        ends.push_back(found + 1);
        break;
      }
      search_from = ends[k];
      ends[k] = std::min(ends[k], found + 1);
    }
  }
  return static_cast<int>(ends.size());
}

/// The result of the wavefront, and the sum of the results of the pipeline.
int expected_common(int letters) {
  std::mt19937 random(1);
  const std::string down = random_letters(letters, random);
  return in_common(down, random_letters(letters, random));
}

long expected_sum(int texts) {
  std::mt19937 random(1);
  const std::string sample = random_letters(200, random);
  long sum = 0;
  for (int i = 0; i < texts; ++i) sum += in_common(sample, random_letters(200, random));
  return sum;
}

TEST(task_graph, wavefront_is_right_for_any_size_block_and_thread_count) {
  // One letter; less than a block; blocks that do not divide the table; many small blocks; more threads than rows.
  struct Case {
    int letters, block, threads;
  };
  for (const auto& [letters, block, threads] :
       std::vector<Case>{{1, 50, 3}, {49, 50, 1}, {333, 50, 2}, {333, 111, 7}, {1000, 300, 64}, {1201, 50, 4}}) {
    const auto result = run("task_graph",
                            {"--letters", std::to_string(letters), "--block", std::to_string(block), "--threads",
                             std::to_string(threads), "--texts", "5"},
                            once);
    ASSERT_EQ(result.exit_code, 0) << result.text();
    EXPECT_TRUE(
        result.has_line("ok    letters in common, wavefront alone: " + std::to_string(expected_common(letters))))
        << result.text();
    EXPECT_TRUE(result.has_line("ok    cells wrong, flow graph: 0")) << result.text();
    EXPECT_TRUE(result.has_line("ok    cells wrong, by hand: 0")) << result.text();
  }
}

TEST(task_graph, pipeline_keeps_order_and_limit_for_any_number_of_tokens_and_threads) {
  constexpr int texts = 100;
  const std::string sum = std::to_string(expected_sum(texts));
  for (const int tokens : {1, 3, 50, 1000}) {
    for (const int threads : {1, 2, 9}) {
      const auto result = run("task_graph",
                              {"--letters", "100", "--texts", std::to_string(texts), "--tokens", std::to_string(tokens),
                               "--threads", std::to_string(threads)},
                              once);
      ASSERT_EQ(result.exit_code, 0) << result.text();
      EXPECT_EQ(result.captures("^pipeline alone: 100 texts, (\\d+) letters"), std::vector<std::string>{sum});
      for (const std::string form : {"flow graph", "parallel_pipeline", "by hand"}) {
        EXPECT_TRUE(result.has_line("ok    " + form + ", results wrong or out of order: 0")) << result.text();
        EXPECT_TRUE(result.has_line("ok    " + form + ", texts in flight above the limit: [0, 0, 0]")) << result.text();
        const auto most = result.captures("^" + form + ": .* up to 1, \\d+, (\\d+) texts in flight$");
        ASSERT_EQ(most.size(), 1U) << result.text();
        EXPECT_LE(std::stoi(most[0]), tokens);
      }
    }
  }
}

TEST(task_graph, without_tokens_the_texts_pile_up) {
  const auto result = run("task_graph_unlimited");
  EXPECT_EQ(result.exit_code, 1) << result.text();
  const auto most = result.captures("^10000 texts compared; up to (\\d+) texts in memory at a time$");
  ASSERT_EQ(most.size(), 1U) << result.text();
  EXPECT_GT(std::stoi(most[0]), 1000);
}

TEST(task_graph, every_form_has_its_speed_but_not_if_a_check_has_failed) {
  const std::vector<std::string> few = {"--letters", "500", "--texts", "20", "--json"};
  const auto result = run("task_graph", few, once);
  ASSERT_EQ(result.exit_code, 0) << result.text();
  for (const std::string row : {"one thread", "flow graph", "by hand"}) {
    EXPECT_EQ(result
                  .lines_with("\"row\": \"" + row +
                              "\".*\"of no waiting\": [0-9.e-]+, \"vs (?:flow graph|oneTBB's)\": [0-9.e-]+}")
                  .size(),
              2U)
        << row;
  }
  const auto spoiled = run("task_graph", few, {.environment = {{"COOKBOOK_FAULT", "1"}}});
  EXPECT_EQ(spoiled.exit_code, 1);
  EXPECT_TRUE(spoiled.lines_with("\"row\"").empty()) << spoiled.text();
}

TEST(task_graph, ctrl_c_ends_it_at_once) {
  const auto result = run("task_graph", {"--texts", "100000"}, {.interrupt_after_ms = 300});
  EXPECT_EQ(result.exit_code, -2) << result.text();
  EXPECT_EQ(result.left_behind, 0);
}

}  // namespace
