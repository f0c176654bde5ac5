// The slow program of find_contention, and its repair
//
// A shop keeps the prices that it has asked a server for. Threads answer orders, and share these prices. --locks 1 is
// the slow form: one lock for all prices. With --locks 64 each of 64 parts of the prices has a lock of its own.
//
// Compile: g++ -std=c++20 -O2 -g1 -Icommon chapters/09_diagnosis/find_contention/find_contention_shop.cpp common/cookbook/*.cpp -lfmt -pthread -o find_contention_shop
// Run:     find_contention_shop [--threads N] [--locks N]

#include <cstddef>
#include <map>
#include <mutex>
#include <vector>

#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "shop.hpp"

namespace {

/// The prices, in parts with a lock each.
class PriceCache {
 public:
  explicit PriceCache(std::size_t locks) : parts_(locks) {}

  int price(int product) {
    Part& part = parts_[static_cast<std::size_t>(product) % parts_.size()];
    std::scoped_lock lock(part.mutex);
    const auto known = part.prices.find(product);
    if (known != part.prices.end()) return known->second;
    return part.prices[product] = ask_server(product);  // all who want this lock wait for the server, too
  }

 private:
  struct Part {
    std::mutex mutex;
    std::map<int, int> prices;
  };
  std::vector<Part> parts_;
};

}  // namespace

int main(int argc, char** argv) {
  int threads = 8;
  std::size_t locks = 1;
  cookbook::Options options("Answers 200 orders of a shop, with so many threads and locks");
  options.add("threads", threads, "threads that answer orders", 1, 64);
  options.add("locks", locks, "locks among which the prices are divided", 1, 1'024);
  options.parse(argc, argv);
  PriceCache cache(locks);
  const Sales sales = sell(cache, threads);
  cookbook::println("sold for {} in {:.0f} ms", sales.total, sales.milliseconds);
}
