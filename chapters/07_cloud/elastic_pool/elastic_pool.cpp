// Elastic pool
//
// How many machines does one rent for a load that has a peak? The program sends the same jobs to six pools of workers:
// two of fixed size, three that grow with their queue, and one that also moves jobs to a public cloud at the peak, but
// never those with sensitive data. It prints how long jobs waited in each, and what the pool costs. Time is simulated,
// in one thread.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/07_cloud/elastic_pool/elastic_pool.cpp common/cookbook/*.cpp -lfmt -pthread -o elastic_pool
// Run:     elastic_pool [--private-limit N] [--public-limit N] [--seed N]

#include <algorithm>
#include <deque>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "pool.hpp"

namespace {

constexpr int end_of_jobs = 400;  // seconds

/// Few jobs at first, six times as many from second 100 to second 199, then few again.
std::deque<Job> random_jobs(unsigned seed) {
  std::mt19937 random(seed);  // its numbers are the same everywhere
  std::deque<Job> jobs;       // a deque, because the pool points to the jobs
  for (int now = 0; now < end_of_jobs; ++now) {
    const unsigned percent = now >= 100 && now < 200 ? 90 : 15;  // how likely a job is in this second
    if (random() % 100 >= percent) continue;
    random.discard(1);
    jobs.push_back({now, 5 + int(random() % 10), random() % 4 == 0});
  }
  return jobs;
}

/// Sends the jobs when they arrive, and goes on until all are done and an elastic pool has given back its workers,
/// those of the public cloud included. Calls each_second(), and returns the most workers that there were at once.
std::size_t run(
    ElasticPool& pool, std::deque<Job>& jobs, const std::function<void()>& each_second = [] {}) {
  std::size_t workers = 0, most = 0;
  auto next = jobs.begin();
  const bool is_fixed = pool.idle_seconds == never;
  for (bool busy = true; busy || pool.now < end_of_jobs || (workers > 0 && !is_fixed);) {
    if (next != jobs.end() && next->arrives == pool.now) pool.queue.push_back(&*next++);
    pool.second();
    workers = pool.private_cloud.workers.size() + pool.public_cloud.workers.size();
    most = std::max(most, workers);
    busy = !pool.queue.empty() || std::ranges::any_of(pool.private_cloud.workers, &Worker::working);
    each_second();
  }
  return most;
}

/// A point of the chart, every 5 s from second 20 on: what waits, and how many workers there are.
void add_point(cookbook::Figures& chart, const ElasticPool& pool) {
  const int now = pool.now - 1;
  if (now % 5 != 0 || now < 20) return;
  const auto add = [&](const char* line, std::size_t value) {
    chart.add(fmt::format("{}, {} s", line, now), cookbook::timing_of({1}), double(value));
  };
  add("jobs waiting", pool.queue.size());
  add("private workers", pool.private_cloud.workers.size());
  add("public workers", pool.public_cloud.workers.size());
}

/// Prints how long the jobs waited, and what the pool costs.
void print_row(const std::string& name, const ElasticPool& pool, const std::deque<Job>& jobs) {
  double sum = 0;
  std::size_t work = 0;
  std::vector<int> waits;
  for (const Job& job : jobs) {
    sum += job.waited, work += job.work;
    waits.push_back(job.waited);
  }
  std::sort(waits.begin(), waits.end());
  const int p95 = waits[(waits.size() * 95 + 99) / 100 - 1];  // 95 % of the jobs wait so long at most
  cookbook::println("{:<26}{:13.1f}{:6}{:9}{:8} ={:8} +{:9} +{:6}", name, sum / double(jobs.size()), p95, waits.back(),
                    pool.bill, work, pool.starting, pool.bill - work - pool.starting);
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t private_limit = 4, public_limit = 100;
  unsigned seed = 1;
  cookbook::Options options("Simulate pools of workers, fixed and elastic, under a load with a peak");
  options.add("private-limit", private_limit, "workers of the private cloud at most", 1, 1000);
  options.add("public-limit", public_limit, "workers of the public cloud at most", 0, 1000);
  options.add("seed", seed, "which random jobs come", 0, 1'000'000);
  options.parse(argc, argv);

  // The pool with both clouds comes first: its peak is the size of the large fixed pool.
  std::deque<Job> jobs = random_jobs(seed);
  ElasticPool burst{{false, private_limit}, {true, public_limit}, 20};
  cookbook::Figures chart("Load and workers", cookbook::rate("jobs or workers", 1), "simulation");  // for `--json`
  std::size_t most_private = 0;
  const std::size_t peak = run(burst, jobs, [&] {
    most_private = std::max(most_private, burst.private_cloud.workers.size());
    add_point(chart, burst);
  });

  cookbook::println("{:<26}{:>13}{:>6}{:>9}{:>8} ={:>8} +{:>9} +{:>6}", "all in seconds", "average wait", "95 %",
                    "longest", "bill", "working", "starting", "idle");
  for (const std::size_t size : {private_limit, peak}) {
    std::deque<Job> again = random_jobs(seed);
    ElasticPool fixed{{false, size, std::vector<Worker>(size, Worker{0})}, {true, 0}, never};
    run(fixed, again);
    print_row(fmt::format("{} workers all the time", size), fixed, again);
  }
  const auto run_elastic = [&](std::size_t limit, int idle_seconds, const char* how) {
    std::deque<Job> again = random_jobs(seed);
    ElasticPool elastic{{false, limit}, {true, 0}, idle_seconds};
    run(elastic, again);
    print_row(fmt::format("0 to {}{}", limit, how), elastic, again);
  };
  run_elastic(private_limit, 20, " workers");
  run_elastic(peak, 20, " workers");
  run_elastic(peak, 0, ", none kept idle");
  print_row(fmt::format("0 to {}, then public ones", private_limit), burst, jobs);

  int sensitive_moved = 0, moved_early = 0;
  for (const Job& job : jobs) {
    sensitive_moved += job.was_public && job.sensitive;
    moved_early += job.was_public && job.waited < seconds_in_queue;
  }

  cookbook::Checks checks;
  checks.equal("sensitive jobs in the public cloud", sensitive_moved, 0);
  checks.equal(fmt::format("jobs in the public cloud after less than {} s", seconds_in_queue), moved_early, 0);
  checks.within("most private workers at once", most_private, 1, private_limit);
  if (cookbook::json_wanted()) chart.print(checks);
  return checks.exit_code();
}
