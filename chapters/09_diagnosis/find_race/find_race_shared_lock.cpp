// Pitfall: a write under a shared lock
//
// Two threads look up prices at the same time, so each takes a std::shared_lock. The look-up also counts, and that is a
// write: under a shared lock nothing orders it with the write of the other thread. The two meet so seldom that the
// count is nearly always right. ThreadSanitizer reports the race in a run in which it is right, and says which mutex
// each thread held, and how.
//
// Compile: g++ -std=c++20 -O1 -g -fsanitize=thread chapters/09_diagnosis/find_race/find_race_shared_lock.cpp -o find_race_shared_lock
// Run:     find_race_shared_lock
// Symptom: exit 0, prints "4 look-ups counted"
// Symptom under thread: prints "WARNING: ThreadSanitizer: data race"

#include <chrono>
#include <cstdio>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>

namespace {

class Prices {
 public:
  void set(const std::string& name, int price) {
    std::unique_lock lock(mutex_);
    prices_[name] = price;
  }
  int get(const std::string& name) const {
    std::shared_lock lock(mutex_);
    ++look_ups_;  // wrong: a write, and other threads may hold the shared lock too
    return prices_.at(name);
  }
  int look_ups() const {
    std::unique_lock lock(mutex_);
    return look_ups_;
  }

 private:
  mutable std::shared_mutex mutex_;
  std::map<std::string, int> prices_;
  mutable int look_ups_ = 0;
};

void serve_two_customers(const Prices& prices) {
  for (int i = 0; i < 2; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));  // until the customer comes
    if (prices.get("tea") != 3) std::printf("a wrong price\n");
  }
}

}  // namespace

int main() {
  Prices prices;
  prices.set("tea", 3);
  {
    std::jthread first(serve_two_customers, std::cref(prices));
    std::jthread second(serve_two_customers, std::cref(prices));
  }
  std::printf("%d look-ups counted\n", prices.look_ups());
}
