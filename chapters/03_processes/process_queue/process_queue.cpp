// Process queue
//
// A producer puts ten numbers into a queue in shared memory, a consumer takes them out, three times as slowly; the
// backlog grows to seven and is drained. A last item says that no more will come. If one of the two is killed instead,
// their parent learns it and closes the queue, and the other does not wait for ever. The queue can also be joined. The
// tables at the end time it, and a stream for one writer and one reader, beside a pipe and Boost's message queue.
// The pitfall, process_queue_empty.cpp, ends when the queue is empty: before the first item.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/03_processes chapters/03_processes/process_queue/process_queue.cpp common/cookbook/*.cpp -lfmt -pthread -o process_queue
// Run:     process_queue [--items N] [--unit-ms N] [--measure N]

#include <algorithm>
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "child.hpp"
#include "common.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "queue_speed.hpp"
#include "shared_memory.hpp"
#include "shared_queue.hpp"
#include "trials.hpp"

namespace {

using Clock = std::chrono::steady_clock;

struct Trade {
  SharedQueue<int, max_items + 1> queue;
  std::atomic<std::size_t> count = 0;
  int popped[max_items] = {};
  std::atomic<long> latest_us = 0;  // by how much the latest step came after its time
};

/// Sleeps until `time`, and notes by how much it is late.
void sleep_until(Clock::time_point time, Trade& trade) {
  std::this_thread::sleep_until(time);
  const long late = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - time).count();
  trade.latest_us = std::max<long>(trade.latest_us, late);
}

/// One item a unit of time.
void produce(const std::string& name, const std::vector<int>& items, Clock::time_point start, Duration unit,
             Trade& trade) {
  for (std::size_t i = 0; i < items.size(); ++i) {
    trade.queue.put(items[i]);
    cookbook::println("Process Producer : item {} appended to queue {}", items[i], name);
    sleep_until(start + static_cast<int>(i + 1) * unit, trade);
    cookbook::println("The size of queue is {}", trade.queue.size());
  }
  trade.queue.put(no_more);
}

/// One item in three units, at 2, 5, 8, ...
void consume(const std::string& name, Clock::time_point start, Duration unit, Trade& trade) {
  for (int time = 2;; time += 3) {
    sleep_until(start + time * unit, trade);
    const auto item = trade.queue.get();
    if (!item || *item == no_more) break;
    cookbook::println("Process Consumer : item {} popped by {}", *item, name);
    trade.popped[trade.count++] = *item;
  }
  cookbook::println("the queue is empty");
}

void trade(std::size_t count, Duration unit, cookbook::Checks& checks) {
  const std::vector<int> items = make_items(count);
  const Shared<Trade> shared;
  const Clock::time_point start = Clock::now();
  start_child([&] { produce("producer-1", items, start, unit, *shared); });
  start_child([&] { consume("consumer-2", start, unit, *shared); });
  // Whoever ends first: if it did not get to its end, the other must not wait for it.
  std::vector<int> codes;
  for (int i = 0; i < 2; ++i) {
    codes.push_back(exit_code_of(-1));  // -1: of any child
    if (codes.back() != 0) shared->queue.close();
  }
  checks.equal("exit codes of both", codes, {0, 0});
  checks.equal("items popped", shared->count.load(), items.size());
  checks.that("in the order of appending", std::equal(items.begin(), items.end(), shared->popped));
  checks.that("all from 0 to 256", std::ranges::all_of(items, [](int item) { return item >= 0 && item <= 256; }));
  cookbook::println("every step within {:.2f} ms of its time", static_cast<double>(shared->latest_us) / 1000);
}

/// join() returns when every item has been reported as processed, not only taken.
void join_the_queue(cookbook::Checks& checks) {
  struct Work {
    SharedQueue<int, 16> queue;
    std::atomic<int> taken = 0;
    Event go_on;
  };
  const Shared<Work> work;
  checks.equal("join() on a queue that was never used", work->queue.join(Duration::zero()), true);
  for (int i = 0; i < 10; ++i) work->queue.put(i);
  const pid_t consumer = start_child([&] {
    for (int i = 0; i < 10; ++i) work->queue.get(timeout);
    for (int i = 0; i < 9; ++i) work->queue.task_done();
    work->taken = 10;
    work->go_on.wait_for(timeout);
    work->queue.task_done();
    try {
      work->queue.task_done();
    } catch (const std::logic_error&) {
      return 11;
    }
    return 0;
  });
  const auto deadline = Clock::now() + timeout;
  while (work->taken < 10 && Clock::now() < deadline) std::this_thread::yield();
  checks.equal("join() with ten taken and nine done", work->queue.join(std::chrono::milliseconds(5)), false);
  work->go_on.set();
  checks.equal("join() with ten done", work->queue.join(timeout), true);
  checks.equal("task_done() that is rejected", exit_code_of(consumer), 11);
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t items = 10;
  int unit_ms = 10;
  long measure = 20'000;
  cookbook::Options options("Pass items between processes through a queue");
  options.add("items", items, "items that the producer makes", 0, max_items);
  options.add("unit-ms", unit_ms, "time that the producer takes for an item; the consumer takes three times as long", 0,
              2000);
  options.add("measure", measure, "numbers to send when measuring; 0 measures nothing", 0, 10'000'000);
  options.parse(argc, argv);

  cookbook::Checks checks;
  trade(items, std::chrono::milliseconds(unit_ms), checks);
  join_the_queue(checks);
  share_the_queue(4000, checks);
  stream_numbers(10'000, checks);
  checks.equal("producers killed: consumers that ended", lose_one_side<SharedQueue<long, 4>>(20, true), 20);
  checks.equal("consumers killed: producers that ended", lose_one_side<SharedQueue<long, 4>>(20, false), 20);
  checks.equal("writers killed: readers that ended", lose_one_side<StreamOfNumbers>(20, true), 20);
  checks.equal("readers killed: writers that ended", lose_one_side<StreamOfNumbers>(20, false), 20);
  if (measure > 0) measure_queues(measure, checks);
  return checks.exit_code();
}
