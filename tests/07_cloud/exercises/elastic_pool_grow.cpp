// Tests the growth and the work of a pool that a learner has written.

#include "pool.hpp"

#include <algorithm>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

using judge::expect;

namespace {

Job job_of(int work, bool sensitive = false, int arrives = 0) { return {arrives, work, sensitive}; }

void expect_workers(const Cloud& cloud, std::size_t count, const std::string& when) {
  const std::string numbers = std::to_string(cloud.workers.size()) + " instead of " + std::to_string(count) + ".";
  expect(cloud.workers.size() >= count, when + " there are too few workers: " + numbers);
  expect(cloud.workers.size() <= count, when + " there are too many workers: " + numbers);
}

void growth() {
  std::vector<Job> jobs(5, job_of(3));
  ElasticPool pool{{false, 4}, {true, 9}, never};
  pool.grow(pool.private_cloud);
  expect_workers(pool.private_cloud, 0, "Without a job");
  for (int i = 0; i < 2; ++i) pool.queue.push_back(&jobs[i]);
  pool.grow(pool.private_cloud);
  expect_workers(pool.private_cloud, 2, "When two jobs have come");
  for (const Worker& worker : pool.private_cloud.workers) {
    expect(worker.starting == start_seconds && worker.working == 0 && worker.idle == 0,
           "A worker does not begin with start_seconds in which it starts.");
  }
  pool.grow(pool.private_cloud);
  expect_workers(pool.private_cloud, 2, "When two jobs wait for two workers that are starting");
  pool.private_cloud.workers[0].starting = 0;
  pool.queue.push_back(&jobs[2]);
  pool.grow(pool.private_cloud);
  expect_workers(pool.private_cloud, 3, "With three jobs, an idle worker and a starting one");
  pool.private_cloud.workers[0].working = 5;
  pool.grow(pool.private_cloud);
  expect_workers(pool.private_cloud, 4, "With three jobs, a worker at work and two that are starting");
  for (int i = 3; i < 5; ++i) pool.queue.push_back(&jobs[i]);
  pool.grow(pool.private_cloud);
  expect_workers(pool.private_cloud, 4, "With five jobs and a limit of four");
  pool.queue.clear();
  pool.grow(pool.private_cloud);
  expect_workers(pool.private_cloud, 4, "When no job is left");
}

void public_growth() {
  Job sensitive = job_of(3, true), recent = job_of(3, false, 95), old = job_of(3, false, 90);
  ElasticPool pool{{false, 0}, {true, 9}, never, {&sensitive, &recent, &old}};
  pool.now = 100;
  pool.grow(pool.public_cloud);
  expect_workers(pool.public_cloud, 1,
                 "With a sensitive job, one that has just come and one that may move to the public cloud");
  pool.grow(pool.private_cloud);
  expect_workers(pool.private_cloud, 0, "With a limit of none");
}

/// Any number of jobs may come in one second, also more than there may be workers.
void growth_at_once() {
  for (const std::size_t limit : {1U, 3U, 7U, 40U}) {
    for (std::size_t count = 1; count <= 30; ++count) {
      std::vector<Job> jobs(count, job_of(3));
      ElasticPool pool{{false, limit}, {true, 0}, never};
      for (Job& job : jobs) pool.queue.push_back(&job);
      pool.grow(pool.private_cloud);
      const std::string when = "When " + std::to_string(count) + " jobs have come at once, and the limit is ";
      expect_workers(pool.private_cloud, std::min(count, limit), when + std::to_string(limit) + ",");
    }
  }
}

void work_of_a_public_worker() {
  Job sensitive = job_of(3, true), recent = job_of(3, false, 95), old = job_of(3, false, 90);
  ElasticPool pool{{false, 9}, {true, 9}, never, {&sensitive, &recent, &old}};
  pool.now = 100;
  Worker worker{0};
  pool.work(worker, pool.public_cloud);
  expect(sensitive.waited == -1, "A worker of the public cloud takes a sensitive job.");
  expect(recent.waited == -1, "A worker of the public cloud takes a job that has just come.");
  expect(old.waited == 10 && old.was_public, "A worker of the public cloud does not take a job that may move there.");
  for (int i = 0; i < 3; ++i) pool.work(worker, pool.public_cloud);
  expect(pool.queue.size() == 2 && worker.idle == 1,
         "A worker of the public cloud is not idle when all jobs that wait must stay in the private one.");
}

void work_of_one_worker() {
  Job first = job_of(3), second = job_of(1);
  ElasticPool pool{{false, 1}, {true, 0}, never, {&first, &second}};
  Worker worker{2};
  const auto second_of = [&](int starting, int working, int idle, const std::string& what) {
    pool.work(worker, pool.private_cloud);
    expect(worker.starting == starting && worker.working == working && worker.idle == idle, what);
  };
  second_of(1, 0, 0, "A worker that is starting has not come one second nearer to its start.");
  second_of(0, 0, 0, "A worker that is starting has not come one second nearer to its start.");
  expect(pool.queue.size() == 2, "A worker that is starting takes a job.");
  second_of(0, 2, 0, "The second in which a worker takes a job is not its first second of work.");
  expect(first.waited == 0, "A worker does not take the first job.");
  second_of(0, 1, 0, "A worker at work has not done one second of work.");
  second_of(0, 0, 0, "A worker at work has not done one second of work.");
  expect(pool.queue.size() == 1, "A worker at work takes a job.");
  second_of(0, 0, 0, "The second in which a worker takes a job is not its first second of work.");
  expect(pool.queue.empty(), "A worker without a job does not take the next one.");
  second_of(0, 0, 1, "A worker without a job is not idle for one second.");
  second_of(0, 0, 2, "A worker without a job is not idle for one second more.");
}

/// Jobs at random times. No job waits longer than a worker takes to start, each is done, and nobody starts in vain.
void a_day() {
  std::mt19937 random(6);
  std::vector<Job> jobs;
  for (int i = 0; i < 60; ++i)
    jobs.push_back(job_of(1 + static_cast<int>(random() % 20), true, static_cast<int>(random() % 200)));
  ElasticPool pool{{false, 100}, {true, 0}, 8};
  int work = 0;
  for (const Job& job : jobs) work += job.work;
  for (int now = 0; now < 300; ++now) {
    for (Job& job : jobs) {
      if (job.arrives == now) pool.queue.push_back(&job);
    }
    pool.second();
  }
  for (const Job& job : jobs) {
    expect(job.waited >= 0, "A job is never done.");
    expect(job.waited <= start_seconds, "A job waits longer than a worker takes to start, and there is no limit.");
  }
  expect(pool.private_cloud.workers.empty(), "Workers that are idle are not given back.");
  expect(pool.bill > static_cast<std::size_t>(work), "The workers were paid for less time than the work takes.");
}

}  // namespace

int main() {
  growth();
  public_growth();
  growth_at_once();
  work_of_one_worker();
  work_of_a_public_worker();
  a_day();
  std::puts("the pool has as many workers as it needs");
}
