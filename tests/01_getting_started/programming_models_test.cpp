// Four programming models: the program seen from outside. Catalogue: 1.C13 to 1.C17.

#include <set>

#include "support/run.hpp"

namespace {

using test_support::run;

/// The sums of all models over all numbers.
std::vector<std::string> sums(const test_support::Result& result) {
  return result.captures(
      "^(?:ok    (?:shared memory, a lock for 4096 products|threads|messages, .*|data parallel, .*)|"
      "dot product of .*): (\\d+)$");
}

TEST(programming_models, all_models_agree_for_any_number_of_tasks) {
  std::set<std::string> different;
  for (const std::string tasks : {"1", "2", "3", "7", "16"}) {
    const auto result = run("programming_models", {"--numbers", "100003", "--rounds", "1", "--tasks", tasks});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    const auto found = sums(result);
    EXPECT_EQ(found.size(), 8U) << result.text();
    different.insert(found.begin(), found.end());
  }
  EXPECT_EQ(different.size(), 1U);
}

TEST(programming_models, rows_shorter_than_the_number_of_tasks_do_as_well) {
  for (const std::string numbers : {"1", "2", "15", "16", "17"}) {
    const auto result = run("programming_models", {"--numbers", numbers, "--rounds", "1", "--tasks", "8"});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    const auto found = sums(result);
    EXPECT_EQ(std::set(found.begin(), found.end()).size(), 1U) << result.text();
  }
}

TEST(programming_models, messages_and_bytes_are_what_the_distribution_says) {
  const auto result = run("programming_models", {"--numbers", "1000", "--rounds", "1", "--tasks", "5"});
  EXPECT_TRUE(result.has_line("ok    messages sent to the workers, bytes in them: [10, 8000]")) << result.text();
  EXPECT_TRUE(result.has_line("ok    messages sent to owners, bytes in them: [5, 0]")) << result.text();
}

TEST(programming_models, a_lock_a_product_costs_more_than_a_lock_for_many) {
  const auto result = run("programming_models");
  const auto often = result.captures("^shared memory, a lock a product +[0-9.]+ ns +([0-9.]+) ns");
  const auto seldom = result.captures("^shared memory, a lock for 4096 +[0-9.]+ ns +([0-9.]+) ns");
  ASSERT_EQ(often.size() + seldom.size(), 2U) << result.text();
  EXPECT_GT(std::stod(often[0]), 2 * std::stod(seldom[0])) << result.text();  // the lowest of each
}

TEST(programming_models, workers_end_with_their_master) {
  EXPECT_EQ(run("programming_models", {"--rounds", "1"}).left_behind, 0);
  EXPECT_EQ(run("programming_models", {"--rounds", "1000"}, {.interrupt_after_ms = 300}).exit_code, -2);

  // The master alone is killed, with no chance to say good-bye: the workers see their channels close. The shell leads
  // the process group; a zombie (Z) has ended and only waits for this test.
  for (const std::string signal : {"TERM", "KILL"}) {
    const std::string script =
        test_support::bin() + "/programming_models --rounds 1000 --numbers 1000 & sleep 0.3; kill -" + signal +
        " $!; for i in $(seq 100); do ps -eo pgid=,stat=,comm= | grep \"^ *$$ [^Z].*programming_mod\" || exit 0; "
        "sleep 0.05; done; exit 1";
    const auto killed = run("/bin/sh", {"-c", script});
    EXPECT_EQ(killed.exit_code, 0) << killed.text();
  }
}

}  // namespace
