// Executors: the program seen from outside. Catalogue: 4.C1, 4.C2, 4.1.

#include <algorithm>
#include <numeric>

#include "support/run.hpp"

namespace {

using test_support::Result;
using test_support::run;

/// The tests ask whether results are right, not how fast anything is: one measured round will do.
const test_support::Setting once = {.environment = {{"COOKBOOK_ROUNDS", "1"}}};

/// The lines of the three phases, each up to its "... execution in" line.
std::vector<std::vector<std::string>> phases(const Result& result) {
  std::vector<std::vector<std::string>> found(1);
  for (const std::string& line : result.out) {
    if (line.starts_with("item ")) found.back().push_back(line);
    if (line.find(" execution in ") != std::string::npos) found.emplace_back();
  }
  found.pop_back();
  return found;
}

std::vector<std::string> lines_of_all_jobs(long steps) {
  std::vector<std::string> lines;
  for (long item = 1; item <= 10; ++item) {
    lines.push_back("item " + std::to_string(item) + " result " + std::to_string(item * steps));
  }
  return lines;
}

TEST(executors, each_way_does_each_job_once_for_any_number_of_workers) {
  for (const std::string workers : {"1", "2", "3", "5", "10", "40"}) {
    const auto result = run("executors", {"--workers", workers, "--steps", "1000", "--tasks", "200"}, once);
    ASSERT_EQ(result.exit_code, 0) << result.text();
    const auto found = phases(result);
    ASSERT_EQ(found.size(), 3U) << result.text();
    for (const auto& lines : found) EXPECT_THAT(lines, testing::UnorderedElementsAreArray(lines_of_all_jobs(1000)));
    EXPECT_EQ(found[0], lines_of_all_jobs(1000)) << "the sequential phase has an order";
    const std::string took_part = std::to_string(std::min(std::stoi(workers), 10));
    EXPECT_EQ(result.captures("^ok    workers that took part: (\\d+)$"),
              (std::vector<std::string>{"1", took_part, took_part}))
        << result.text();
  }
}

TEST(executors, the_sources_jobs_add_up) {
  const auto result = run("executors", {"--tasks", "200"}, once);
  ASSERT_EQ(result.exit_code, 0) << result.text();
  for (const auto& lines : phases(result)) {
    long sum = 0;
    for (const std::string& line : lines) sum += std::stol(line.substr(line.rfind(' ') + 1));
    EXPECT_EQ(sum, 550'000'000L);
  }
  EXPECT_EQ(result.captures("^(\\w+(?: pool)?) execution in [0-9.]+ s$"),
            (std::vector<std::string>{"Sequential", "Thread pool", "Process pool"}));
}

TEST(executors, an_exception_reaches_its_future_and_ends_no_worker) {
  const auto result = run("executors", {"--steps", "0", "--tasks", "200"}, once);
  for (const std::string pool : {"asio::thread_pool", "SmallPool"}) {
    EXPECT_TRUE(result.has_line("ok    " + pool + ": exception in the future: no such number")) << result.text();
    EXPECT_TRUE(result.has_line("ok    " + pool + ": the only worker's next job: 42")) << result.text();
  }
}

TEST(executors, no_workers_are_refused) {
  EXPECT_TRUE(run("executors", {"--steps", "0", "--tasks", "200"}, once)
                  .has_line("ok    a pool without workers: a pool needs at least one worker"));
  for (const std::string workers : {"0", "-1"}) {
    const auto result = run("executors", {"--workers", workers}, once);
    EXPECT_EQ(result.exit_code, 2) << result.text();
    EXPECT_THAT(result.err, testing::ElementsAre(testing::HasSubstr("--workers " + workers)));
  }
}

TEST(executors, no_empty_task_is_lost_for_any_number_of_tasks) {
  for (const std::string tasks : {"1", "2", "63", "64", "65", "1000", "30000"}) {
    const auto result = run("executors", {"--steps", "0", "--tasks", tasks}, once);
    EXPECT_EQ(result.exit_code, 0) << result.text();
    EXPECT_TRUE(result.has_line("ok    empty tasks that were lost, or done twice: 0")) << result.text();
  }
}

TEST(executors, ctrl_c_ends_it_at_once) {
  const auto result = run("executors", {"--steps", "3000000000", "--workers", "2"}, {.interrupt_after_ms = 300});
  EXPECT_NE(result.exit_code, 0) << result.text();
  EXPECT_EQ(result.left_behind, 0) << result.text();
}

}  // namespace
