// Pitfall: many locks, of which one is used
//
// The prices are divided among 64 locks by the remainder of the product's number. But here the numbers are multiples of
// 64, since their last six bits name a warehouse, and there is only warehouse 0. So all products belong to part 0, and
// the threads wait for one another as they did when there was one lock. The profile says so: 1 or 2 locks in two runs.
//
// Compile: g++ -std=c++20 -O2 -g1 chapters/09_diagnosis/find_contention/find_contention_same_part.cpp -pthread -o find_contention_same_part
// Run:     find_contention_same_part
// Symptom: exit 1, prints "8 threads are not even twice as fast as 1"

#include <array>
#include <cstddef>
#include <cstdio>
#include <map>
#include <mutex>

#include "shop.hpp"

namespace {

class PriceCache {
 public:
  int price(int product) {
    Part& part = parts_[static_cast<std::size_t>(product) % parts_.size()];  // wrong: always 0
    std::scoped_lock lock(part.mutex);
    const auto known = part.prices.find(product);
    if (known != part.prices.end()) return known->second;
    return part.prices[product] = ask_server(product);
  }

 private:
  struct Part {
    std::mutex mutex;
    std::map<int, int> prices;
  };
  std::array<Part, 64> parts_;
};

Sales sell_with(int threads) {
  PriceCache cache;
  return sell(cache, threads, 64);
}

}  // namespace

int main() {
  const Sales alone = sell_with(1), together = sell_with(8);
  std::printf("1 thread: sold for %ld in %.0f ms\n", alone.total, alone.milliseconds);
  std::printf("8 threads: sold for %ld in %.0f ms\n", together.total, together.milliseconds);
  if (together.milliseconds < alone.milliseconds / 2) return 0;
  std::puts("8 threads are not even twice as fast as 1");
  return 1;
}
