// The program's output, its functions and ElasticPool from inside.

#define main main_of_the_program  // its functions are tested from inside, too
#include "07_cloud/elastic_pool/elastic_pool.cpp"
#undef main

#include <algorithm>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "support/run.hpp"

namespace {

using test_support::run;

/// A pool that gives workers back after 20 idle seconds.
ElasticPool pool_of(std::size_t private_limit, std::size_t public_limit) {
  return {{false, private_limit}, {true, public_limit}, 20};
}

void simulate(ElasticPool& pool, int seconds) {
  for (int i = 0; i < seconds; ++i) pool.second();
}

/// Sends all jobs in second 0 and simulates `seconds`.
void all_at_once(ElasticPool& pool, std::vector<Job>& jobs, int seconds) {
  for (Job& job : jobs) pool.queue.push_back(&job);
  simulate(pool, seconds);
}

TEST(elastic_pool, every_seed_and_size_keeps_the_promises) {
  for (const std::string seed : {"0", "1", "2", "3"}) {
    for (const std::string limit : {"1", "4", "50"}) {
      const auto result = run("elastic_pool", {"--seed", seed, "--private-limit", limit});
      ASSERT_EQ(result.exit_code, 0) << result.text();
      EXPECT_TRUE(result.has_line("ok    sensitive jobs in the public cloud: 0")) << result.text();
      EXPECT_TRUE(result.has_line("ok    jobs in the public cloud after less than 10 s: 0")) << result.text();
    }
  }
}

TEST(elastic_pool, is_the_same_in_every_run_and_another_one_with_another_seed) {
  EXPECT_EQ(run("elastic_pool").out, run("elastic_pool").out);
  EXPECT_NE(run("elastic_pool").out, run("elastic_pool", {"--seed", "2"}).out);
}

TEST(elastic_pool, without_a_public_cloud_nothing_leaves_and_with_one_nothing_leaves_a_large_private_cloud) {
  const auto moved = [](std::size_t private_limit, std::size_t public_limit) {
    std::deque<Job> jobs = random_jobs(1);
    ElasticPool pool = pool_of(private_limit, public_limit);
    run(pool, jobs);
    return std::ranges::count_if(jobs, &Job::was_public);
  };
  EXPECT_EQ(moved(4, 0), 0);
  EXPECT_EQ(moved(100, 100), 0);
  EXPECT_EQ(moved(4, 100), 42);
}

TEST(elastic_pool, without_jobs_a_fixed_pool_costs_all_the_time_and_an_elastic_one_nothing) {
  std::deque<Job> no_jobs;
  ElasticPool fixed{{false, 4, std::vector<Worker>(4, Worker{0})}, {true, 0}, never}, elastic = pool_of(4, 100);
  EXPECT_EQ(run(fixed, no_jobs), 4U);
  EXPECT_EQ(fixed.bill, 4U * end_of_jobs);
  EXPECT_EQ(run(elastic, no_jobs), 0U);
  EXPECT_EQ(elastic.bill, 0U);
  EXPECT_EQ(elastic.now, end_of_jobs);
}

/// A column of the table of pools: 1 average wait, 2 that of 95 %, 3 longest, 4 bill, 5 working, 6 starting, 7 idle.
double cell(const test_support::Result& result, const std::string& pool, int column) {
  for (const std::string& line : result.lines_with("^" + pool + " +\\d")) {
    std::istringstream words(line.substr(pool.size()));
    double value = -1;
    for (std::string word; column > 0 && words >> word;) {
      if (word != "=" && word != "+") value = std::stod(word), --column;
    }
    return value;
  }
  return -1;
}

TEST(elastic_pool, its_table_is_what_fixed_and_elastic_pools_cost_and_let_wait) {
  const auto result = run("elastic_pool");
  const std::string small = "4 workers all the time", large = "11 workers all the time", elastic = "0 to 4 workers",
                    wide = "0 to 11 workers", flapping = "0 to 11, none kept idle", both = "0 to 4, then public ones";
  EXPECT_EQ(cell(result, large, 1), 0) << "it has a worker for each job, at once\n" << result.text();
  EXPECT_EQ(cell(result, large, 4), 11 * cell(result, small, 4) / 4) << "both are paid for the same time";
  // What the page says of the pools; the jobs are the same in every run.
  for (const auto& [pool, average, most, longest, bill, starting] : {std::tuple(small, 45.0, 103, 108, 1636, 0),
                                                                     {elastic, 45.3, 103, 108, 1496, 25},
                                                                     {wide, 0.5, 3, 5, 2083, 90},
                                                                     {flapping, 2.0, 5, 5, 1630, 320},
                                                                     {both, 6.7, 13, 15, 2024, 85}}) {
    EXPECT_DOUBLE_EQ(cell(result, pool, 1), average) << pool;
    EXPECT_EQ(cell(result, pool, 2), most) << pool;
    EXPECT_EQ(cell(result, pool, 3), longest) << pool;
    EXPECT_EQ(cell(result, pool, 4), bill) << pool;
    EXPECT_EQ(cell(result, pool, 6), starting) << pool;
  }
  EXPECT_LT(cell(result, both, 4), cell(result, large, 4));
  EXPECT_LT(cell(result, elastic, 4), cell(result, small, 4));
  EXPECT_LT(cell(result, both, 1), cell(result, elastic, 1));
  for (const std::string& pool : {small, large, elastic, wide, flapping, both}) {
    EXPECT_EQ(cell(result, pool, 5), 1310) << pool;
    EXPECT_EQ(cell(result, pool, 4), cell(result, pool, 5) + cell(result, pool, 6) + cell(result, pool, 7)) << pool;
  }
}

TEST(elastic_pool, its_records_are_lines_of_a_chart_with_a_point_every_five_seconds) {
  const auto result = run("elastic_pool", {"--json"});
  ASSERT_EQ(result.exit_code, 0) << result.text();
  // A pool of the test's own, second by second; the jobs are the same in every run.
  std::deque<Job> jobs = random_jobs(1);
  ElasticPool pool = pool_of(4, 100);
  std::vector<std::string> waiting, in_private, in_public;
  int second = 0;
  run(pool, jobs, [&] {
    if (second >= 20 && second % 5 == 0) {
      const auto point = [&](std::size_t value) { return fmt::format("{} s: {}", second, value); };
      waiting.push_back(point(pool.queue.size()));
      in_private.push_back(point(pool.private_cloud.workers.size()));
      in_public.push_back(point(pool.public_cloud.workers.size()));
    }
    ++second;
  });
  const auto points_of = [&](const std::string& line) {
    const std::string row = "\"row\": \"" + line + ", ";
    const auto seconds = result.captures(row + "(\\d+) s\"");
    const auto values = result.captures(row + ".*\"median\": (\\d+),");
    EXPECT_EQ(seconds.size(), values.size()) << line;
    std::vector<std::string> points;
    for (std::size_t i = 0; i < std::min(seconds.size(), values.size()); ++i) {
      points.push_back(seconds[i] + " s: " + values[i]);
    }
    return points;
  };
  EXPECT_EQ(points_of("jobs waiting"), waiting);
  EXPECT_EQ(points_of("private workers"), in_private);
  EXPECT_EQ(points_of("public workers"), in_public);
}

TEST(elastic_pool_pool, starts_a_worker_per_waiting_job_up_to_the_limit) {
  for (const std::size_t limit : {1U, 3U, 10U}) {
    ElasticPool pool = pool_of(limit, 0);
    std::vector<Job> jobs(5, Job{0, 10, false});
    all_at_once(pool, jobs, 2);
    EXPECT_EQ(pool.private_cloud.workers.size(), std::min<std::size_t>(limit, 5));
    EXPECT_EQ(pool.public_cloud.workers.size(), 0U);
  }
}

TEST(elastic_pool_pool, a_job_begins_when_a_worker_has_started_and_takes_its_time) {
  ElasticPool pool = pool_of(1, 0);
  std::vector<Job> jobs = {{0, 3, false}, {0, 4, false}};
  all_at_once(pool, jobs, start_seconds);
  EXPECT_EQ(pool.queue.size(), 2U) << "the worker needs all of its seconds to start";
  pool.second();
  EXPECT_EQ(pool.queue.size(), 1U);
  EXPECT_EQ(jobs[0].waited, start_seconds);
  simulate(pool, 2);
  EXPECT_EQ(jobs[1].waited, -1);
  pool.second();
  EXPECT_EQ(jobs[1].waited, start_seconds + 3) << "the second job begins when the first one is done";
}

TEST(elastic_pool_pool, gives_a_worker_back_after_its_idle_time_and_charges_for_it_until_then) {
  ElasticPool pool = pool_of(1, 0);
  std::vector<Job> jobs = {{0, 3, false}};
  constexpr int in_all = start_seconds + 3 + 20;
  all_at_once(pool, jobs, in_all);
  EXPECT_EQ(pool.private_cloud.workers.size(), 1U);
  EXPECT_EQ(pool.bill, std::size_t(in_all));
  simulate(pool, 2);
  EXPECT_EQ(pool.private_cloud.workers.size(), 0U);
  EXPECT_EQ(pool.bill, std::size_t(in_all)) << "nothing is charged while nothing runs";
  EXPECT_EQ(pool.starting, std::size_t(start_seconds));
}

TEST(elastic_pool_pool, an_idle_worker_that_gets_a_job_in_time_is_kept) {
  ElasticPool pool = pool_of(1, 0);
  std::vector<Job> jobs = {{0, 3, false}}, later = {{start_seconds + 3 + 20, 3, false}};
  all_at_once(pool, jobs, later[0].arrives);
  all_at_once(pool, later, 1);
  EXPECT_EQ(later[0].waited, 0);
}

TEST(elastic_pool_pool, sensitive_jobs_wait_for_the_private_cloud_and_others_move_on_after_a_while) {
  ElasticPool pool = pool_of(1, 10);
  std::vector<Job> jobs = {{0, 100, true}, {0, 10, true}, {0, 10, false}};
  all_at_once(pool, jobs, seconds_in_queue);
  EXPECT_EQ(pool.public_cloud.workers.size(), 0U);
  pool.second();
  EXPECT_EQ(pool.public_cloud.workers.size(), 1U);
  simulate(pool, 50);
  EXPECT_TRUE(jobs[2].was_public);
  EXPECT_EQ(jobs[2].waited, seconds_in_queue + start_seconds);
  EXPECT_EQ(jobs[1].waited, -1);
  simulate(pool, 100);
  EXPECT_EQ(jobs[1].waited, start_seconds + 100);
  EXPECT_FALSE(jobs[0].was_public || jobs[1].was_public);
}

TEST(elastic_pool_pool, a_free_public_worker_leaves_a_job_alone_that_has_not_waited) {
  ElasticPool pool = pool_of(1, 1);
  std::vector<Job> jobs = {{0, 100, true}, {0, 1, false}};
  all_at_once(pool, jobs, seconds_in_queue + start_seconds + 2);
  ASSERT_EQ(pool.public_cloud.workers.size(), 1U);
  std::vector<Job> later = {{pool.now, 1, false}};
  all_at_once(pool, later, seconds_in_queue);
  EXPECT_EQ(later[0].waited, -1);
  pool.second();
  EXPECT_EQ(later[0].waited, seconds_in_queue);
}

TEST(elastic_pool_pool, a_pool_of_fixed_size_has_its_workers_from_the_first_second_and_keeps_them) {
  ElasticPool fixed{{false, 2, std::vector<Worker>(2, Worker{0})}, {true, 0}, never};
  std::vector<Job> jobs = {{0, 3, false}, {0, 4, false}, {0, 1, false}};
  all_at_once(fixed, jobs, 1000);
  EXPECT_EQ(jobs[0].waited, 0);
  EXPECT_EQ(jobs[1].waited, 0);
  EXPECT_EQ(jobs[2].waited, 3);
  EXPECT_EQ(fixed.bill, 2000U);
}

TEST(elastic_pool_flapping, every_job_waits_for_a_worker_to_start) {
  const auto result = run("elastic_pool_flapping");
  EXPECT_TRUE(result.has_line("100 jobs waited 500 s, and took 300 s of work")) << result.text();
  EXPECT_TRUE(result.has_line("the bill is 800 s of workers")) << result.text();
}

}  // namespace
