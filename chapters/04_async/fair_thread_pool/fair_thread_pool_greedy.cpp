// Pitfall: a worker takes many tasks for itself
//
// The worker that locks the queue takes all tasks that are in it, so that it has to lock only once. The first task is
// long. The nine short ones behind it wait until it has ended, although the second worker has nothing to do.
//
// Compile: g++ -std=c++20 -O2 chapters/04_async/fair_thread_pool/fair_thread_pool_greedy.cpp -pthread -o fair_thread_pool_greedy
// Run:     fair_thread_pool_greedy
// Symptom: exit 1, prints "0 of 9 short tasks"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

int main() {
  std::atomic<int> short_done = 0;
  int done_in_time = 0;
  std::mutex mutex;
  std::deque<std::function<void()>> queue;
  queue.push_back([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));  // the long task
    done_in_time = short_done;
  });
  for (int i = 0; i < 9; ++i) queue.push_back([&] { ++short_done; });

  const auto work = [&] {
    std::deque<std::function<void()>> mine;
    {
      std::scoped_lock lock(mutex);
      mine.swap(queue);  // wrong: nobody can take these tasks back while the first one runs
    }
    for (const auto& task : mine) task();
  };
  { std::jthread first(work), second(work); }
  std::printf("%d of 9 short tasks were done when the long one ended\n", done_in_time);
  return done_in_time == 9 ? 0 : 1;
}
