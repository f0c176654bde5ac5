/// The work of the shop: threads answer orders, each of which needs the price of one product.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

/// Asks the server for a price, which takes a millisecond.
inline int ask_server(int product) {
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return product % 97 + 1;
}

/// Counts what happens. Its lock is taken 20 times per order, and held for one addition.
class Statistics {
 public:
  void count() {
    std::scoped_lock lock(mutex_);
    ++events_;
  }
  long events() const { return events_; }

 private:
  std::mutex mutex_;
  long events_ = 0;
};

/// What the shop has done.
struct Sales {
  double milliseconds;
  long total;   ///< the sum of all prices
  long events;  ///< 20 per order
};

/// So many threads answer 200 orders, the orders of the products 0, step, 2 * step and so on. They share the cache.
template <typename Cache>
Sales sell(Cache& cache, int threads, int step = 1) {
  Statistics statistics;
  std::atomic<int> next = 0;
  std::atomic<long> total = 0;
  const auto work = [&] {
    for (int order = next++; order < 200; order = next++) {
      for (int event = 0; event < 20; ++event) statistics.count();
      total += cache.price(order * step);
    }
  };
  const auto start = std::chrono::steady_clock::now();
  {
    std::vector<std::jthread> all;
    for (int i = 0; i < threads; ++i) all.emplace_back(work);
  }
  const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
  return {time.count(), total, statistics.events()};
}
