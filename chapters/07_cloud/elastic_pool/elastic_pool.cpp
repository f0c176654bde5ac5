// Elastic pool
//
// Two tenants send jobs to a pool of workers. While jobs wait the pool starts more workers, and it gives them back when
// they are idle. The private cloud has few machines: at a peak, jobs move on to a public cloud, but never those with
// sensitive data. Time is simulated, so that each run is the same.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/07_cloud/elastic_pool/elastic_pool.cpp common/cookbook/*.cpp -lfmt -pthread -o elastic_pool
// Run:     elastic_pool [--private-limit N] [--public-limit N] [--seed N]

#include <algorithm>
#include <deque>
#include <random>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "pool.hpp"

int main(int argc, char** argv) {
  std::size_t private_limit = 4, public_limit = 100;
  unsigned seed = 1;
  cookbook::Options options("Simulate a pool of workers that grows and shrinks with its queue");
  options.add("private-limit", private_limit, "workers of the private cloud at most", 1, 1000);
  options.add("public-limit", public_limit, "workers of the public cloud at most", 0, 1000);
  options.add("seed", seed, "which random jobs come", 0, 1'000'000);
  options.parse(argc, argv);

  constexpr int end_of_jobs = 400;  // seconds
  std::mt19937 random(seed);        // its numbers are the same everywhere
  std::deque<Job> jobs;             // a deque, because the pool points to the jobs
  ElasticPool pool{{false, private_limit}, {true, public_limit}, 20};
  // The chart is only for `--json`.
  cookbook::Figures chart("Load and workers", cookbook::rate("jobs or workers", 1), "simulation");
  std::size_t workers = 0, most_workers = 0, most_private = 0;
  cookbook::println("second  jobs waiting  private workers  public workers  bill");
  for (int now = 0; now < end_of_jobs || workers > 0; ++now) {
    const unsigned percent = now >= 100 && now < 200 ? 90 : 15;  // how likely a job is in this second
    if (now < end_of_jobs && random() % 100 < percent) {
      jobs.push_back({int(random() % 2), now, 5 + int(random() % 10), random() % 4 == 0});
      pool.queue.push_back(&jobs.back());
    }
    pool.second();
    const std::size_t waiting = pool.queue.size();
    const std::size_t in_private = pool.private_cloud.workers.size(), in_public = pool.public_cloud.workers.size();
    workers = in_private + in_public;
    most_workers = std::max(most_workers, workers);
    most_private = std::max(most_private, in_private);
    if (now % 100 == 50) {
      cookbook::println("{:6}  {:12}  {:15}  {:14}  {:4}", now, waiting, in_private, in_public, pool.bill);
    }
    if (now % 5 != 0 || now < 20) continue;  // the chart has a point every 5 s from second 20 on
    const auto point = [&](const char* line) { return fmt::format("{}, {} s", line, now); };
    chart.add(point("jobs waiting"), cookbook::timing_of({1}), double(waiting));
    chart.add(point("private workers"), cookbook::timing_of({1}), double(in_private));
    chart.add(point("public workers"), cookbook::timing_of({1}), double(in_public));
  }

  std::vector<int> asked = {0, 0};                      // seconds of work per tenant
  double count[2] = {}, waited[2] = {};                 // of jobs that may leave, and of sensitive ones
  int moved = 0, sensitive_moved = 0, moved_early = 0;  // of the jobs in the public cloud
  for (const Job& job : jobs) {
    asked[job.tenant] += job.work;
    ++count[job.sensitive];
    waited[job.sensitive] += job.waited;
    moved += job.was_public;
    sensitive_moved += job.was_public && job.sensitive;
    moved_early += job.was_public && job.waited < seconds_in_queue;
  }
  cookbook::println("{} jobs, {} of them in the public cloud", jobs.size(), moved);
  cookbook::println("average wait: {:.1f} s of sensitive jobs, {:.1f} s of others", waited[1] / count[1],
                    waited[0] / count[0]);
  cookbook::println("bill: {} seconds; with the {} of the peak all the time: {}", pool.bill, most_workers,
                    most_workers * pool.now);

  cookbook::Checks checks;
  checks.equal("seconds of work metered per tenant", pool.used, asked);
  checks.equal("sensitive jobs in the public cloud", sensitive_moved, 0);
  checks.equal("jobs that moved there in less than 10 s", moved_early, 0);
  checks.within("most private workers at once", most_private, 1, private_limit);
  if (cookbook::json_wanted()) chart.print(checks);
  return checks.exit_code();
}
