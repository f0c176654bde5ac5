// Pitfall: workers are given back too soon
//
// A job comes every 10 seconds and takes 3. The pool gives a worker back as soon as it is idle, to save money. But a
// worker takes 5 seconds to start, and is paid for meanwhile. So each job waits for a worker to start, and more than
// half of the bill is for starting. A pool that starts and stops workers all the time is said to flap. (If the worker
// were kept, the bill would be 1000 s instead of 800 s, and only the first job would wait.)
//
// Compile: g++ -std=c++20 -O2 chapters/07_cloud/elastic_pool/elastic_pool_flapping.cpp -o elastic_pool_flapping
// Run:     elastic_pool_flapping
// Symptom: exit 1, prints "100 jobs waited 500 s"

#include <cstdio>

#include "pool.hpp"

int main() {
  constexpr int idle_seconds = 0;  // wrong: the next job finds no worker
  constexpr int period = 10, end = 1000;
  ElasticPool pool{{false, 1}, {true, 0}, idle_seconds};  // one private worker at most
  std::vector<Job> jobs;
  for (int second = 0; second < end; second += period) jobs.push_back({second, 3, false});
  auto next = jobs.begin();
  while (pool.now < end || !pool.private_cloud.workers.empty()) {
    if (next != jobs.end() && next->arrives == pool.now) pool.queue.push_back(&*next++);
    pool.second();
  }
  int waited = 0;
  for (const Job& job : jobs) waited += job.waited;
  int work = 0;
  for (const Job& job : jobs) work += job.work;
  std::printf("%zu jobs waited %d s, and took %d s of work\n", jobs.size(), waited, work);
  std::printf("the bill is %zu s of workers\n", pool.bill);
  return waited > start_seconds ? 1 : 0;
}
