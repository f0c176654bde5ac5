// Queue between processes
//
// How many consumers does a producer need? One process puts ten items into a queue in shared memory, one every 10 ms.
// To work on an item takes 30 ms. One, two and three processes take the items out. The program prints how long each
// item waited in the queue, and when all were done.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/03_processes chapters/03_processes/process_queue/process_queue.cpp common/cookbook/*.cpp -lfmt -pthread -o process_queue
// Run:     process_queue [--items N] [--unit-ms N]

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "cookbook/process.hpp"
#include "shared_memory.hpp"
#include "shared_queue.hpp"

namespace {

using Clock = std::chrono::steady_clock;  // the same for all processes of a machine

constexpr int max_items = 1'000;
constexpr int no_more = -1;  // the sentinel; no item has this value

/// All of it lies in memory that parent and children share.
struct Board {
  SharedQueue<int, max_items> queue;
  Clock::time_point put[max_items], taken[max_items];
  std::atomic<int> times_taken[max_items] = {};
};

void produce(Board& board, int items, Clock::duration unit) {
  const auto start = Clock::now();
  for (int item = 0; item < items; ++item) {
    board.put[item] = Clock::now();  // the parent reads it when this process has ended
    board.queue.put(item);
    std::this_thread::sleep_until(start + (item + 1) * unit);
  }
}

void consume(Board& board, Clock::duration unit) {
  for (int item = 0; (item = board.queue.get()) != no_more;) {
    board.taken[item] = Clock::now();
    ++board.times_taken[item];
    std::this_thread::sleep_for(3 * unit);  // works on the item
    board.queue.task_done();
  }
}

/// Lets one producer and so many consumers pass the items. Prints a row; returns how many items were taken once.
long print_row(int consumers, int items, Clock::duration unit) {
  const Shared<Board> board;
  std::vector<pid_t> children;
  for (int i = 0; i < consumers; ++i) children.push_back(cookbook::start_child([&] { consume(*board, unit); }));
  const auto start = Clock::now();
  const pid_t producer = cookbook::start_child([&] { produce(*board, items, unit); });

  cookbook::exit_code_of(producer);  // the producer has put everything,
  board->queue.join();               // all of it has been processed,
  const auto done = Clock::now();
  for (int i = 0; i < consumers; ++i) board->queue.put(no_more);  // and the consumers may end
  for (const pid_t child : children) cookbook::exit_code_of(child);

  const auto ms = [](Clock::duration time) { return std::chrono::duration<double, std::milli>(time).count(); };
  std::string waits;
  for (int item = 0; item < items; ++item) waits += fmt::format("{:5.0f}", ms(board->taken[item] - board->put[item]));
  cookbook::println("{:9}  {}{:14.1f} ms", consumers, waits, ms(done - start));
  return std::count(board->times_taken, board->times_taken + items, 1);
}

}  // namespace

int main(int argc, char** argv) {
  int items = 10, unit_ms = 10;
  cookbook::Options options("Pass items between processes through a queue");
  options.add("items", items, "items that the producer makes", 0, max_items);
  options.add("unit-ms", unit_ms, "ms from item to item; a consumer works three times as long on one", 0, 2'000);
  options.parse(argc, argv);

  cookbook::println("consumers   ms that items 0, 1, 2, ... waited in the queue    all done after");
  std::vector<long> taken_once;
  for (const int consumers : {1, 2, 3}) {
    taken_once.push_back(print_row(consumers, items, std::chrono::milliseconds(unit_ms)));
  }
  cookbook::Checks checks;
  checks.equal("items that were taken exactly once", taken_once, std::vector<long>(3, items));
  return checks.exit_code();
}
