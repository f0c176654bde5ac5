// The program's output, which is the same in every run, and from inside what limits the attempts of a client.

#include "05_distributed/retry_budget/retry.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <string>

#include "05_distributed/retry_budget/overload.hpp"
#include "support/run.hpp"

namespace {

using test_support::run;

constexpr Policy delayed = {.repetitions = 3, .back_off = true, .jitter = true};

/// The share of the requests of these seconds that were answered.
double answered(const Outcome& outcome, std::size_t from, std::size_t to) {
  double started = 0, good = 0;
  for (std::size_t second = from; second < to; ++second) {
    started += static_cast<double>(outcome.started[second]);
    good += static_cast<double>(outcome.answered[second]);
  }
  return good / started;
}

Policy with_budget(Policy policy) {
  policy.budget = true;
  return policy;
}
Policy with_breaker(Policy policy) {
  policy.breaker = true;
  return policy;
}

TEST(retry_budget, its_table_shows_what_ends_the_overload_and_what_does_not) {
  const auto result = run("retry_budget");
  ASSERT_EQ(result.exit_code, 0) << result.text();
  EXPECT_EQ(run("retry_budget").out, result.out);
  for (const char* row :
       {"no repetitions +313 +66 +98 % +98 % +23 s", "at once +839 +268 +99 % +0 % +never",
        "back-off, jitter +770 +268 +99 % +0 % +never", "back-off, jitter, budget +349 +71 +99 % +100 % +26 s",
        "back-off, jitter, breaker +85 +67 +99 % +100 % +18 s",
        "at once, server drops late +263 +67 +99 % +100 % +14 s", "at once, queue of 90 +90 +68 +99 % +100 % +14 s"}) {
    EXPECT_EQ(result.lines_with("^" + std::string(row) + "$").size(), 1U) << row << "\n" << result.text();
  }
}

TEST(retry_budget_simulate, the_seed_changes_the_requests_and_not_the_lesson) {
  std::set<long> requests;
  for (unsigned seed = 1; seed <= 20; ++seed) {
    for (const Policy& plain : {Policy{.repetitions = 3}, Policy{.repetitions = 3, .back_off = true}, delayed}) {
      EXPECT_EQ(answered(simulate(plain, seed, 60), 20, 60), 0) << seed;
      EXPECT_GT(answered(simulate(with_budget(plain), seed, 60), 40, 60), 0.98) << seed;
      EXPECT_GT(answered(simulate(with_breaker(plain), seed, 60), 25, 60), 0.98) << seed;
      Policy dropping = plain;
      dropping.server_drops = true;
      EXPECT_GT(answered(simulate(dropping, seed, 60), 17, 60), 0.98) << seed;
      Policy limited = plain;
      limited.queue_limit = 90;
      const Outcome outcome = simulate(limited, seed, 60);
      EXPECT_GT(answered(outcome, 17, 60), 0.98) << seed;
      EXPECT_EQ(*std::max_element(outcome.queued.begin(), outcome.queued.end()), 90) << seed;
    }
    const Outcome none = simulate({}, seed, 60);
    requests.insert(none.requests);
    EXPECT_EQ(none.attempts, none.requests);
    EXPECT_EQ(std::accumulate(none.load.begin(), none.load.end(), 0L), none.attempts);
    EXPECT_EQ(std::accumulate(none.started.begin(), none.started.end(), 0L), none.requests);
    EXPECT_NEAR(static_cast<double>(none.requests), 4'200, 5 * 63) << seed;  // five standard deviations
    EXPECT_EQ(answered(none, 10, 14), 0) << seed;
    EXPECT_NEAR(answered(none, 40, 60), 0.98, 5 * 0.0037) << seed << ": one answer in 50 gets lost";
    EXPECT_EQ(simulate(delayed, seed, 60).requests, none.requests) << "the same load for all policies";
  }
  EXPECT_GT(requests.size(), 10U);
}

TEST(retry_budget_simulate, a_budget_allows_a_tenth_more_attempts_and_ten) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    const Outcome outcome = simulate(with_budget(delayed), seed, 60);
    EXPECT_LE(outcome.attempts, outcome.requests + outcome.requests / 10 + 10) << seed;
    EXPECT_GT(outcome.attempts, outcome.requests) << seed;
  }
}

TEST(retry_budget_simulate, without_trouble_every_request_is_answered) {
  const Outcome outcome = simulate(delayed, 1, 9);
  EXPECT_EQ(answered(outcome, 0, 7), 1);
}

TEST(retry_budget_back_off, doubles_up_to_its_limit) {
  EXPECT_EQ(back_off(1), 200);
  EXPECT_EQ(back_off(2), 400);
  EXPECT_EQ(back_off(5), 3'200);
  EXPECT_EQ(back_off(6), 3'200);
  EXPECT_EQ(back_off(1'000'000), 3'200);
}

TEST(retry_budget_back_off, jitter_takes_every_delay_from_none_to_the_whole) {
  std::mt19937_64 random(1);
  std::set<long> delays;
  for (int i = 0; i < 10'000; ++i) delays.insert(jittered_back_off(1, random));
  EXPECT_EQ(delays.size(), 201U);
  EXPECT_EQ(*delays.begin(), 0);
  EXPECT_EQ(*delays.rbegin(), 200);
}

TEST(retry_budget_budget, has_ten_at_first_and_then_one_per_ten_requests) {
  RetryBudget budget;
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(budget.take()) << i;
  EXPECT_FALSE(budget.take());
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < 9; ++i) budget.on_request();
    EXPECT_FALSE(budget.take());
    budget.on_request();
    EXPECT_TRUE(budget.take());
  }
  for (int i = 0; i < 100'000; ++i) budget.on_request();  // no more than ten are saved up
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(budget.take()) << i;
  EXPECT_FALSE(budget.take());
}

TEST(retry_budget_breaker, opens_after_20_failures_in_succession_and_probes_every_two_seconds) {
  CircuitBreaker breaker;
  for (int i = 0; i < 19; ++i) breaker.on_result(false, 0);
  breaker.on_result(true, 0);  // a success: it counts from the beginning
  for (int i = 0; i < 19; ++i) breaker.on_result(false, 0);
  EXPECT_TRUE(breaker.allows(0));
  breaker.on_result(false, 100);
  EXPECT_FALSE(breaker.allows(100));
  EXPECT_FALSE(breaker.allows(2'099));
  EXPECT_TRUE(breaker.allows(2'100));   // the probe
  EXPECT_FALSE(breaker.allows(2'100));  // and nothing besides
  EXPECT_FALSE(breaker.allows(9'000));
  breaker.on_result(false, 9'000);
  EXPECT_FALSE(breaker.allows(10'999));
  EXPECT_TRUE(breaker.allows(11'000));
  breaker.on_result(true, 11'100);
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(breaker.allows(11'100));
}

TEST(retry_budget_breaker, stays_open_until_two_seconds_after_the_last_failure) {
  CircuitBreaker breaker;
  for (int i = 0; i < 20; ++i) breaker.on_result(false, 100);
  breaker.on_result(false, 1'100);  // of an attempt that was under way
  EXPECT_FALSE(breaker.allows(2'100));
  EXPECT_FALSE(breaker.allows(3'099));
  EXPECT_TRUE(breaker.allows(3'100));
}

TEST(retry_budget_layers, multiply) {
  EXPECT_TRUE(run("retry_budget_layers").has_line("64 calls of the database for one request, which is not answered"));
}

}  // namespace
