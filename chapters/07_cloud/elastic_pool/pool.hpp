/// A pool of workers in two clouds that grows and shrinks with its queue. Time is simulated, second by second.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

constexpr int start_seconds = 5;      ///< a worker needs so long until it is ready
constexpr int never = 1'000'000'000;  ///< an idle time after which no worker is given back: a pool of fixed size
constexpr int seconds_in_queue = 10;  ///< a job waits so long before it may move to the public cloud

struct Job {
  int arrives;      ///< second in which it comes
  int work;         ///< seconds that it takes
  bool sensitive;   ///< must not leave the private cloud
  int waited = -1;  ///< seconds until a worker took it; set by the pool, as the next member is
  bool was_public = false;
};

/// A machine that is paid for by the second. It starts, works, and is idle until it is given back.
struct Worker {
  int starting;     ///< seconds until it is ready
  int working = 0;  ///< seconds until its job is done
  int idle = 0;     ///< seconds for which it has had no job
};

struct Cloud {
  bool is_public;
  std::size_t limit;  ///< so many workers at most
  std::vector<Worker> workers = {};
};

struct ElasticPool {
  Cloud private_cloud, public_cloud;
  int idle_seconds;              ///< a worker is given back when it has been idle for longer
  std::vector<Job*> queue = {};  ///< a job is submitted by putting it here
  std::size_t bill = 0;          ///< seconds of workers, at work or not: what the provider charges
  std::size_t starting = 0;      ///< how many of these were spent on starting
  int now = 0;

  /// Simulates one second.
  void second() {
    for (Cloud* cloud : {&private_cloud, &public_cloud}) {
      grow(*cloud);
      starting +=
          std::count_if(cloud->workers.begin(), cloud->workers.end(), [](const Worker& w) { return w.starting > 0; });
      for (Worker& worker : cloud->workers) work(worker, *cloud);
      std::erase_if(cloud->workers, [&](const Worker& worker) { return worker.idle > idle_seconds; });
      bill += cloud->workers.size();
    }
    ++now;
  }

  /// Whether a worker of this cloud may take the job now.
  bool may_take(const Job& job, const Cloud& cloud) const {
    return !cloud.is_public || (!job.sensitive && now - job.arrives >= seconds_in_queue);
  }

  /// Starts a worker for each job that neither an idle nor a starting worker can take, up to the limit.
  void grow(Cloud& cloud) const {
    auto missing = std::count_if(queue.begin(), queue.end(), [&](Job* job) { return may_take(*job, cloud); });
    for (const Worker& worker : cloud.workers) {
      if (worker.working == 0) --missing;  // it is idle or starting, and will take one
    }
    for (; missing > 0 && cloud.workers.size() < cloud.limit; --missing) cloud.workers.push_back({start_seconds});
  }

  /// One second of one worker.
  void work(Worker& worker, const Cloud& cloud) {
    if (worker.starting > 0) {
      --worker.starting;
    } else if (worker.working > 0 || take_job(worker, cloud)) {
      --worker.working;
    } else {
      ++worker.idle;
    }
  }

  /// Gives the worker the first job that it may take. False if there is none.
  bool take_job(Worker& worker, const Cloud& cloud) {
    const auto next = std::find_if(queue.begin(), queue.end(), [&](Job* job) { return may_take(*job, cloud); });
    if (next == queue.end()) return false;
    Job& job = **next;
    queue.erase(next);
    job.waited = now - job.arrives;
    job.was_public = cloud.is_public;
    worker = {.starting = 0, .working = job.work, .idle = 0};
    return true;
  }
};
