/// What the tests of the pools have in common.
#pragma once

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <future>
#include <latch>
#include <mutex>
#include <set>
#include <string>
#include <thread>

/// Runs `work`, and ends the whole test program if it has not returned after 10 seconds: a worker that sleeps for ever
/// cannot be ended otherwise.
inline void no_hang(const std::function<void()>& work) {
  std::promise<void> done;
  std::jthread runner([&] {
    work();
    done.set_value();
  });
  if (done.get_future().wait_for(std::chrono::seconds(10)) == std::future_status::ready) return;
  std::fputs("the pool hangs\n", stderr);
  std::_Exit(1);
}

/// Waits until the thread `id` of this process sleeps.
inline void wait_until_asleep(pid_t id) {
  std::string state;
  while (state != "S") {
    std::ifstream status("/proc/self/task/" + std::to_string(id) + "/stat");
    status >> state >> state >> state;
  }
}

/// The ids of the workers of a pool, whose number is known. Returns when all of them sleep.
template <typename Pool>
std::set<pid_t> sleeping_workers(Pool& pool, int workers) {
  std::latch all_here(workers), all_noted(workers);
  std::mutex mutex;
  std::set<pid_t> ids;
  for (int i = 0; i < workers; ++i) {
    pool.post([&] {
      all_here.arrive_and_wait();
      {
        std::scoped_lock lock(mutex);
        ids.insert(gettid());
      }
      all_noted.count_down();
    });
  }
  all_noted.wait();
  for (const pid_t id : ids) wait_until_asleep(id);
  return ids;
}
