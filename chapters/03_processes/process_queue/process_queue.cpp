// Queue between processes
//
// A producer puts the numbers from 1 to 10 into a queue in shared memory, and a consumer takes them out, three times as
// slowly. So the queue grows to seven numbers, and is emptied after the producer has ended. When all numbers have been
// processed, the parent puts a last item that means "no more", and the consumer ends.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/03_processes chapters/03_processes/process_queue/process_queue.cpp common/cookbook/*.cpp -lfmt -pthread -o process_queue
// Run:     process_queue [--items N] [--unit-ms N]

#include <chrono>
#include <numeric>
#include <thread>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "cookbook/process.hpp"
#include "shared_memory.hpp"
#include "shared_queue.hpp"

namespace {

using Clock = std::chrono::steady_clock;

constexpr int max_items = 1'000;
constexpr int no_more = -1;  // the sentinel; no item has this value

/// Both lie in memory that parent and children share.
struct SharedData {
  SharedQueue<int, max_items> queue;
  std::size_t taken_count = 0;
  int taken[max_items] = {};
};

}  // namespace

int main(int argc, char** argv) {
  int count = 10;
  int unit_ms = 10;
  cookbook::Options options("Pass items between processes through a queue");
  options.add("items", count, "items that the producer makes", 0, max_items);
  options.add("unit-ms", unit_ms, "ms from item to item for the producer; the consumer takes three times as long", 0,
              2'000);
  options.parse(argc, argv);

  const Shared<SharedData> shared;
  const auto start = Clock::now();
  const auto sleep_until = [&](int units) {
    std::this_thread::sleep_until(start + units * std::chrono::milliseconds(unit_ms));
  };

  const pid_t producer = cookbook::start_child([&] {
    for (int item = 1; item <= count; ++item) {
      shared->queue.put(item);
      cookbook::println("producer-1 put {}", item);
      sleep_until(item);
      cookbook::println("producer-1 sees {} items in the queue", shared->queue.size());
    }
  });
  const pid_t consumer = cookbook::start_child([&] {
    for (int units = 2;; units += 3) {
      sleep_until(units);  // takes an item at 2, 5, 8 and so on
      const int item = shared->queue.get();
      if (item == no_more) break;
      cookbook::println("consumer-2 took {}", item);
      shared->taken[shared->taken_count++] = item;
      shared->queue.task_done();
    }
    cookbook::println("consumer-2: the queue is empty");
  });

  const int producer_code = cookbook::exit_code_of(producer);  // the producer has put everything,
  shared->queue.join();                                        // all of it has been processed,
  shared->queue.put(no_more);                                  // and the consumer may end
  const int consumer_code = cookbook::exit_code_of(consumer);

  const std::vector<int> taken(shared->taken, shared->taken + shared->taken_count);
  cookbook::Checks checks;
  checks.equal("exit code of the producer", producer_code, 0);
  checks.equal("exit code of the consumer", consumer_code, 0);
  std::vector<int> put(count);
  std::iota(put.begin(), put.end(), 1);
  checks.equal("items taken", taken.size(), put.size());
  checks.that("they came in the order in which they were put", taken == put);
  return checks.exit_code();
}
