// Semaphore
//
// A semaphore is a number of permits: acquire() takes one and waits while there is none, release() gives one back. The
// number with which it starts decides what it does. Six threads make a query with a semaphore that starts at 6, at 3,
// at 2 and at 1: so many queries run at the same time. Then a producer hands items to a consumer through a single
// variable, and two semaphores that start at 0 say whose turn it is.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/02_threads/semaphore/semaphore.cpp common/cookbook/*.cpp -lfmt -pthread -o semaphore
// Run:     semaphore [--items N] [--query-ms N]

#include <algorithm>
#include <barrier>
#include <chrono>
#include <mutex>
#include <numeric>
#include <semaphore>
#include <thread>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "semaphore_class.hpp"

namespace {

/// Stands for a database. Counts how many queries run at the same time.
class Database {
 public:
  Database(int limit, std::chrono::milliseconds query_time) : all_permits_used_(limit), query_time_(query_time) {}

  void query() {
    {
      const std::scoped_lock lock(mutex_);
      most_ = std::max(most_, ++running_);
    }
    all_permits_used_.arrive_and_wait();  // only for this demonstration: so `most_` is the same in every run
    std::this_thread::sleep_for(query_time_);
    const std::scoped_lock lock(mutex_);
    --running_;
  }

  int most() const { return most_; }

 private:
  std::barrier<> all_permits_used_;
  std::chrono::milliseconds query_time_;
  std::mutex mutex_;
  int running_ = 0, most_ = 0;
};

/// Six threads make a query each; there are `permits` for them, a number that divides 6. Prints and returns how many
/// queries ran at once, and prints how long it took.
int query_all(int permits, std::chrono::milliseconds query_time) {
  Database database(permits, query_time);
  Semaphore connections(permits);  // the class of semaphore_class.hpp
  const auto client = [&] {
    connections.acquire();
    database.query();
    connections.release();
  };
  const cookbook::Stopwatch watch;
  std::vector<std::jthread> clients;
  for (int i = 0; i < 6; ++i) clients.emplace_back(client);
  clients.clear();  // waits for the threads
  cookbook::println("starts at {}{:>18}{:>10} x {} ms{:>13.0f} ms", permits, database.most(), 6 / permits,
                    query_time.count(), watch.seconds() * 1e3);
  return database.most();
}

/// A semaphore that starts at 0 is a signal: each release() lets one acquire() go on.
void hand_over(int items, cookbook::Checks& checks) {
  std::counting_semaphore<> item_wanted(0), item_ready(0);
  int item = 0;  // needs no lock: the two threads use it in turns
  std::vector<int> taken;
  std::jthread producer([&] {
    for (int i = 1; i <= items; ++i) {
      item_wanted.acquire();
      item = i;
      cookbook::println("producer makes item {}", item);
      item_ready.release();
    }
  });
  std::jthread consumer([&] {
    for (int i = 1; i <= items; ++i) {
      cookbook::println("consumer wants an item");
      item_wanted.release();
      item_ready.acquire();
      cookbook::println("consumer takes item {}", item);
      taken.push_back(item);
    }
  });
  producer.join();
  consumer.join();
  std::vector<int> expected(items);
  std::iota(expected.begin(), expected.end(), 1);
  checks.equal("items taken", taken, expected);
  checks.equal("signals left", item_wanted.try_acquire() + item_ready.try_acquire(), 0);
}

}  // namespace

int main(int argc, char** argv) {
  int items = 2, query_ms = 20;
  cookbook::Options options("Limit how many threads make a query and hand items over, with semaphores");
  options.add("items", items, "items that the producer hands to the consumer", 1, 10'000);
  options.add("query-ms", query_ms, "how long each query takes", 0, 1'000);
  options.parse(argc, argv);

  cookbook::println("six queries      most at once      expected      all done after");
  std::vector<int> most;
  for (const int permits : {6, 3, 2, 1}) most.push_back(query_all(permits, std::chrono::milliseconds(query_ms)));
  cookbook::println("two that start at 0:");
  cookbook::Checks checks;
  hand_over(items, checks);
  checks.equal("most queries at once", most, {6, 3, 2, 1});
  return checks.exit_code();
}
