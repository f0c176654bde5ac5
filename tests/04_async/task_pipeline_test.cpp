// The program's output, and the job from inside.

#include "04_async/task_pipeline/job.hpp"

#include <atomic>
#include <chrono>
#include <thread>

/// A job whose first text is counted only when three others have been, or after ten seconds.
struct FirstIsSlow : Job {
  using Job::Job;
  static inline std::atomic<int> others = 0, others_before_the_first = 0;
  static void count(Text& text) {
    if (text.number == 0) {
      for (int i = 0; i < 10'000 && others < 3; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      std::this_thread::sleep_for(std::chrono::milliseconds(20));  // time for a text that overtakes it in writing
      others_before_the_first = others.load();
    } else {
      ++others;
    }
    Job::count(text);
  }
};

#define main main_of_the_program  // the pipeline is tested from inside, too, with that job
#define Job FirstIsSlow
#include "04_async/task_pipeline/task_pipeline.cpp"
#undef Job
#undef main

#include <map>
#include <string>
#include <vector>

#include "cookbook/affinity.hpp"
#include "support/run.hpp"

namespace {

using test_support::run;

#ifdef __SANITIZE_THREAD__  // with which each text takes much longer
constexpr int few = 60, many = 300;
#else
constexpr int few = 100, many = 800;
#endif

/// The number of texts in memory that a row shows.
int in_memory(const test_support::Result& result, const std::string& form) {
  const auto found = result.captures("^" + form + " +\\d+\\.\\d\\d ms +(\\d+)$");
  EXPECT_EQ(found.size(), 1U) << form << result.text();
  return found.empty() ? -1 : std::stoi(found[0]);
}

TEST(task_pipeline, keeps_order_and_limit_for_any_number_of_tokens) {
  for (const int tokens : {1, 2, 50, 1000}) {
    const auto result = run("task_pipeline", {"--texts", std::to_string(few), "--tokens", std::to_string(tokens)});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    EXPECT_TRUE(result.has_line("ok    runs whose results are not in the order of reading: 0")) << result.text();
    EXPECT_TRUE(result.has_line("ok    texts in memory above the limit: 0")) << result.text();
    EXPECT_EQ(in_memory(result, "one after another"), 1);
    EXPECT_EQ(in_memory(result, "pipeline, tokens: 1"), 1);
    std::vector<std::string> expected;
    for (int n = 1; n <= tokens; n *= 2) {
      expected.push_back(std::to_string(n));
      EXPECT_LE(in_memory(result, "pipeline, tokens: " + expected.back()), n);
    }
    EXPECT_EQ(result.captures("^pipeline, tokens: (\\d+) "), expected) << result.text();
  }
}

TEST(task_pipeline, all_at_once_are_all_in_memory) {
  const auto result = run("task_pipeline", {"--texts", std::to_string(many), "--tokens", "8"});
  ASSERT_EQ(result.exit_code, 0) << result.text();
  EXPECT_EQ(in_memory(result, "all at once"), many);
  EXPECT_LE(in_memory(result, "pipeline, tokens: 8"), 8);
}

TEST(task_pipeline_timing, with_more_than_two_tokens_several_texts_are_counted_at_a_time_and_with_one_token_only_one) {
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "one core";
  const auto result = run("task_pipeline");
  const auto times = result.captures("^.+ (\\d+\\.\\d\\d) ms +\\d+$");
  ASSERT_EQ(times.size(), 6U) << result.text();
  for (const int row : {1, 4, 5}) EXPECT_LT(std::stod(times[row]), 0.8 * std::stod(times[0])) << result.text();
  EXPECT_GT(std::stod(times[2]), 0.9 * std::stod(times[0])) << result.text();
}

TEST(task_pipeline, one_text_is_enough) { EXPECT_EQ(run("task_pipeline", {"--texts", "1"}).exit_code, 0); }

TEST(task_pipeline, texts_overtake_the_first_one_in_counting_but_keep_their_tokens_and_are_written_after_it) {
  if (cookbook::allowed_processors() < 2) GTEST_SKIP() << "two processors are needed";
  FirstIsSlow job(20);
  by_pipeline(job, 4);
  EXPECT_EQ(FirstIsSlow::others_before_the_first, 3) << "those that had the other three tokens";
  Job in_order(20);
  for (Text text; in_order.read(text);) {
    Job::count(text);
    in_order.write(text);
  }
  EXPECT_EQ(job.written, in_order.written);
}

/// The pairs of letters that are not in the order of the alphabet, by another way than the recipe's.
int unordered_pairs(const std::string& letters) {
  std::map<char, int> seen;
  int pairs = 0;
  for (const char letter : letters) {
    for (const auto& [earlier, count] : seen) pairs += earlier > letter ? count : 0;
    ++seen[letter];
  }
  return pairs;
}

TEST(task_pipeline_job, counts_the_pairs_that_are_out_of_order) {
  Job job(20);
  for (Text text; job.read(text);) {
    job.count(text);
    EXPECT_EQ(text.result, unordered_pairs(text.letters));
    EXPECT_EQ(text.letters.size(), 500U);
    job.write(text);
    EXPECT_EQ(job.written.back(), text.result);
  }
  EXPECT_EQ(job.written.size(), 20U);
}

TEST(task_pipeline_job, knows_how_many_texts_are_in_flight) {
  Job job(5);
  EXPECT_EQ(job.max_in_flight, 0);
  Text first, second;
  job.read(first);
  EXPECT_EQ(job.max_in_flight, 1);
  job.read(second);
  EXPECT_EQ(job.in_flight, 2);
  job.write(first);
  job.write(second);
  job.read(first);
  EXPECT_EQ(job.in_flight, 1);
  EXPECT_EQ(job.max_in_flight, 2);
}

TEST(task_pipeline_unlimited, lets_the_texts_pile_up) {
  const auto result = run("task_pipeline_unlimited");
  EXPECT_EQ(result.exit_code, 1) << result.text();
  const auto most = result.captures("^up to (\\d+) of 2000 texts in flight at the same time$");
  ASSERT_EQ(most.size(), 1U) << result.text();
  EXPECT_GT(std::stoi(most[0]), 200);
}

}  // namespace
