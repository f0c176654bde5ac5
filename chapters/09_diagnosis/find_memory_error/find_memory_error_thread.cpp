// Pitfall: a reference that outlives the lock
//
// The list of prices is read and replaced under a lock. But prices() returns a reference, and its caller uses the list
// when the lock is unlocked again. Meanwhile another thread replaces the list, which deletes the old one. The latches
// make sure that it does so in every run. Without a tool the price is right all the same: nobody has overwritten this
// part of the memory yet.
//
// Compile: g++ -std=c++20 -O2 chapters/09_diagnosis/find_memory_error/find_memory_error_thread.cpp -o find_memory_error_thread && g++ -std=c++20 -O1 -g -fno-omit-frame-pointer -fsanitize=address chapters/09_diagnosis/find_memory_error/find_memory_error_thread.cpp -o find_memory_error_thread_asan
// Run:     find_memory_error_thread, then find_memory_error_thread_asan
// Symptom: exit 0, prints "price: 100"
// Symptom under address: prints "heap-use-after-free"
// Symptom under thread: prints "heap-use-after-free"

#include <array>
#include <cstdio>
#include <latch>
#include <memory>
#include <mutex>
#include <numeric>
#include <thread>
#include <utility>

namespace {

using Prices = std::array<int, 1000>;

std::unique_ptr<Prices> new_prices(int first) {
  auto prices = std::make_unique<Prices>();
  std::iota(prices->begin(), prices->end(), first);
  return prices;
}

class PriceList {
 public:
  explicit PriceList(std::unique_ptr<Prices> prices) : prices_(std::move(prices)) {}

  const Prices& prices() {
    const std::scoped_lock lock(mutex_);
    return *prices_;  // wrong: the caller uses it when the lock is unlocked again
  }

  void replace(std::unique_ptr<Prices> prices) {
    const std::scoped_lock lock(mutex_);
    prices_ = std::move(prices);
  }

 private:
  std::mutex mutex_;
  std::unique_ptr<Prices> prices_;
};

std::latch seller_has_the_list(1), list_is_replaced(1);

void sell(PriceList& list) {
  const Prices& prices = list.prices();
  seller_has_the_list.count_down();
  list_is_replaced.wait();
  std::printf("price: %d\n", prices[100]);
}

void raise_prices(PriceList& list) {
  seller_has_the_list.wait();
  list.replace(new_prices(1000));
  list_is_replaced.count_down();
}

}  // namespace

int main() {
  PriceList list(new_prices(0));
  std::thread seller(sell, std::ref(list));
  std::thread updater(raise_prices, std::ref(list));
  seller.join();
  updater.join();
}
