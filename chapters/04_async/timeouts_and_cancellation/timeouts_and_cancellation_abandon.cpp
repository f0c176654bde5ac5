// Pitfall: the operation is only abandoned
//
// std::future::wait_for() gives up after 10 ms. But that ends only the waiting: the operation knows nothing of it and
// goes on in its thread. It keeps all that it holds, and acts at last when nobody expects it any more.
//
// Compile: g++ -std=c++20 -O2 chapters/04_async/timeouts_and_cancellation/timeouts_and_cancellation_abandon.cpp -pthread -o timeouts_and_cancellation_abandon
// Run:     timeouts_and_cancellation_abandon
// Symptom: exit 1, prints "operations still running after the timeout: 1"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <future>
#include <latch>

int main() {
  std::atomic<int> running = 0, acted = 0;
  std::latch end(1);
  std::future<void> operation = std::async(std::launch::async, [&] {
    ++running;
    end.wait();  // stands for a server that does not answer
    std::puts("and now it acts, long after its caller has gone on");
    ++acted;
    --running;
  });
  while (running == 0) continue;

  const bool in_time = operation.wait_for(std::chrono::milliseconds(10)) == std::future_status::ready;
  std::printf("in time: %s\n", in_time ? "yes" : "no");
  const int left = running;
  std::printf("operations still running after the timeout: %d\n", left);
  end.count_down();
  operation.wait();
  return left == 0 && acted == 0 ? 0 : 1;
}
