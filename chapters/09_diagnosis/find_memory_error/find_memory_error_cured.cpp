// The two faulty programs of find_memory_error, repaired
//
// The seller shares the ownership of the list that it reads, and the coroutine owns its text.
//
// Compile: g++ -std=c++20 -O2 chapters/09_diagnosis/find_memory_error/find_memory_error_cured.cpp -o find_memory_error_cured && g++ -std=c++20 -O1 -g -fno-omit-frame-pointer -fsanitize=address chapters/09_diagnosis/find_memory_error/find_memory_error_cured.cpp -o find_memory_error_cured_asan
// Run:     find_memory_error_cured, then find_memory_error_cured_asan

#include <array>
#include <coroutine>
#include <cstdio>
#include <exception>
#include <latch>
#include <memory>
#include <mutex>
#include <numeric>
#include <string>
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

/// A coroutine that begins when it is resumed for the first time.
struct Task {
  struct promise_type {
    Task get_return_object() { return Task{std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { std::terminate(); }
  };
  explicit Task(std::coroutine_handle<promise_type> coroutine) : handle(coroutine) {}
  ~Task() { handle.destroy(); }
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;

  std::coroutine_handle<promise_type> handle;
};

std::string address_of(const std::string& customer) {
  return customer + ", in the house with the green door, behind the old mill, London";
}

Task deliver(std::string address) {  // a copy, which is part of the coroutine
  std::printf("parcel to %s\n", address.substr(address.rfind(' ') + 1).c_str());
  co_return;
}

}  // namespace

int main() {
  PriceList list(new_prices(0));
  std::thread seller(sell, std::ref(list));
  std::thread updater(raise_prices, std::ref(list));
  seller.join();
  updater.join();
  std::printf("new price: %d\n", (*list.prices())[100]);

  const Task task = deliver(address_of("Holmes"));
  std::thread courier([&] { task.handle.resume(); });
  courier.join();
}
