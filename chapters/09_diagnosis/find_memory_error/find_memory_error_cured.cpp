// The faulty list of prices, repaired
//
// The seller shares the ownership of the list that it reads.
//
// Compile: g++ -std=c++20 -O2 chapters/09_diagnosis/find_memory_error/find_memory_error_cured.cpp -o find_memory_error_cured && g++ -std=c++20 -O1 -g -fno-omit-frame-pointer -fsanitize=address chapters/09_diagnosis/find_memory_error/find_memory_error_cured.cpp -o find_memory_error_cured_asan
// Run:     find_memory_error_cured, then find_memory_error_cured_asan

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

std::shared_ptr<const Prices> new_prices(int first) {
  auto prices = std::make_shared<Prices>();
  std::iota(prices->begin(), prices->end(), first);
  return prices;
}

class PriceList {
 public:
  explicit PriceList(std::shared_ptr<const Prices> prices) : prices_(std::move(prices)) {}

  std::shared_ptr<const Prices> prices() {
    const std::scoped_lock lock(mutex_);
    return prices_;  // a copy: the list lives as long as somebody has one
  }

  void replace(std::shared_ptr<const Prices> prices) {
    const std::scoped_lock lock(mutex_);
    prices_ = std::move(prices);
  }

 private:
  std::mutex mutex_;
  std::shared_ptr<const Prices> prices_;
};

std::latch seller_has_the_list(1), list_is_replaced(1);

void sell(PriceList& list) {
  const std::shared_ptr<const Prices> prices = list.prices();
  seller_has_the_list.count_down();
  list_is_replaced.wait();
  std::printf("price: %d\n", (*prices)[100]);
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
  std::printf("new price: %d\n", (*list.prices())[100]);
}
