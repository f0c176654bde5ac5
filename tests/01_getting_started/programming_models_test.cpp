// Four programming models: the program seen from outside. Catalogue: 1.C13 to 1.C17.

#include "01_getting_started/programming_models/numbers.hpp"

#include <string>
#include <vector>

#include "support/files.hpp"
#include "support/run.hpp"

namespace {

using test_support::run;

/// The sums of all models over all numbers.
std::vector<std::string> sums(const test_support::Result& result) {
  return result.captures(
      "^(?:ok    (?:shared memory, a lock for 4096 products|threads|messages, .*|data parallel, .*)|"
      "dot product of .*): (\\d+)$");
}

/// The i-th number of a row, computed here once more (splitmix64).
std::uint64_t number(std::uint64_t row, std::uint64_t i) {
  std::uint64_t bits = (2 * i + row) * 0x9e3779b97f4a7c15 + 0x9e3779b97f4a7c15;
  bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9;
  bits = (bits ^ bits >> 27) * 0x94d049bb133111eb;
  return bits >> 32;
}

std::string dot_product(std::uint64_t size) {
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < size; ++i) sum += number(0, i) * number(1, i);
  return std::to_string(sum);
}

void expect_right_sums(int numbers, const std::string& tasks) {
  const auto result =
      run("programming_models", {"--numbers", std::to_string(numbers), "--rounds", "1", "--tasks", tasks});
  ASSERT_EQ(result.exit_code, 0) << result.text();
  EXPECT_EQ(sums(result), std::vector<std::string>(8, dot_product(static_cast<std::uint64_t>(numbers))))
      << result.text();
  const std::string few = dot_product(static_cast<std::uint64_t>((numbers + 15) / 16));
  EXPECT_TRUE(result.has_line("ok    shared memory, a lock a product, a sixteenth of it: " + few)) << result.text();
}

TEST(programming_models, all_models_are_right_for_any_number_of_tasks) {
  for (const std::string tasks : {"1", "2", "3", "7", "16"}) expect_right_sums(100'003, tasks);
}

TEST(programming_models, rows_shorter_than_the_number_of_tasks_do_as_well) {
  for (const int numbers : {1, 2, 15, 16, 17}) expect_right_sums(numbers, "8");
}

TEST(programming_models, each_index_has_one_owner) {
  for (const auto distribution : {block, cyclic}) {
    for (const std::size_t size : {0UL, 1UL, 7UL, 100UL}) {
      for (const std::size_t tasks : {1UL, 3UL, 8UL}) {
        std::vector<int> owners(size);
        for (std::size_t task = 0; task < tasks; ++task) {
          const Owned own = distribution(size, tasks, task);
          for (std::size_t i = own.first; i < own.last; i += own.step) ++owners.at(i);
        }
        EXPECT_EQ(owners, std::vector<int>(size, 1)) << size << " among " << tasks;
      }
    }
  }
}

TEST(programming_models, messages_and_bytes_are_what_the_distribution_says) {
  const auto result = run("programming_models", {"--numbers", "1000", "--rounds", "1", "--tasks", "5"});
  EXPECT_TRUE(result.has_line("ok    messages sent to the workers, bytes in them: [10, 8000]")) << result.text();
  EXPECT_TRUE(result.has_line("ok    messages sent to owners, bytes in them: [5, 0]")) << result.text();
}

TEST(programming_models_timing, a_lock_a_product_costs_more_than_a_lock_for_many) {
  const auto result = run("programming_models");
  const auto often = result.captures("^shared memory, a lock a product +[0-9.]+ ns +([0-9.]+) ns");
  const auto seldom = result.captures("^shared memory, a lock for 4096 +[0-9.]+ ns +([0-9.]+) ns");
  ASSERT_EQ(often.size() + seldom.size(), 2U) << result.text();
  EXPECT_GT(std::stod(often[0]), 2 * std::stod(seldom[0])) << result.text();  // the lowest of each
}

TEST(programming_models, workers_end_with_their_master) {
  EXPECT_EQ(run("programming_models", {"--rounds", "1"}).left_behind, 0);
  EXPECT_EQ(run("programming_models", {"--rounds", "1000"}, {.interrupt_after_ms = 300}).exit_code, -2);

  // The master alone is killed when it has workers, with no chance to say good-bye: they see their channels close. The
  // shell leads the process group; a zombie (Z) has ended and only waits for this test.
  const test_support::Folder folder;
  for (const std::string signal : {"TERM", "KILL"}) {
    const std::string output = folder.path / signal;
    const std::string script = test_support::bin() + "/programming_models --rounds 1000 --numbers 1000 > " + output +
                               " & until [ -s " + output + " ]; do sleep 0.01; done; kill -" + signal +
                               " $!; until ! ps -eo pgid=,stat=,comm= | grep \"^ *$$ [^Z].*programming_mod\"; do "
                               "sleep 0.05; done";
    const auto killed = run("/bin/sh", {"-c", script});
    EXPECT_EQ(killed.exit_code, 0) << killed.text();
  }
}

}  // namespace
