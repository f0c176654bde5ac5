// Shared lock
//
// Money is moved between accounts now and then, and their total is asked for often. A std::mutex would let one thread
// in at a time. A std::shared_mutex lets in any number of threads that only read, or one that writes. First three
// readers meet inside, and a writer waits until the last one has left; then four threads read and write at random, and
// no reader may see a transfer that is only half made.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/02_threads/shared_lock/shared_lock.cpp common/cookbook/*.cpp -lfmt -pthread -o shared_lock
// Run:     shared_lock [--readers N] [--operations N]

#include <atomic>
#include <chrono>
#include <latch>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "guarded.hpp"

using Balances = std::vector<long>;

int main(int argc, char** argv) {
  int readers = 3, operations = 20'000;
  cookbook::Options options("Let many readers in at once, or one writer");
  options.add("readers", readers, "threads that read at the same time", 1, 64);
  options.add("operations", operations, "reads and writes of each of the four threads", 1, 1'000'000);
  options.parse(argc, argv);

  Guarded accounts(Balances(10, 100));  // ten accounts with 100 each
  const auto total = [&] {
    return accounts.read([](const Balances& balance) { return std::accumulate(balance.begin(), balance.end(), 0L); });
  };
  const auto transfer = [&](int from, int to) {
    accounts.write([&](Balances& balance) {
      --balance[from];
      ++balance[to];
    });
  };

  // Who is inside when?
  std::atomic<int> came_in = 0, left = 0, left_before_the_writer = 0;
  std::latch all_inside(readers), writer_asks(1);
  std::vector<std::jthread> threads;
  for (int i = 0; i < readers; ++i) {
    threads.emplace_back([&] {
      accounts.read([&](const Balances&) {
        cookbook::println("a reader is inside");
        ++came_in;
        all_inside.arrive_and_wait();  // opens when all readers are inside; behind a std::mutex that would be never
        writer_asks.wait();
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        cookbook::println("a reader leaves");
        ++left;
      });
    });
  }
  threads.emplace_back([&] {
    all_inside.wait();
    cookbook::println("the writer asks for the lock");
    writer_asks.count_down();
    accounts.write([&](Balances&) {
      cookbook::println("the writer is inside");
      left_before_the_writer = left.load();
    });
  });
  threads.clear();  // waits for them

  // Four threads at once; one operation in ten is a transfer.
  std::atomic<int> wrong_totals = 0;
  for (unsigned seed = 0; seed < 4; ++seed) {
    threads.emplace_back([&, seed] {
      std::mt19937 random(seed);
      for (int i = 0; i < operations; ++i) {
        if (random() % 10 == 0) {
          transfer(random() % 10, random() % 10);
        } else if (total() != 1000) {
          ++wrong_totals;
        }
      }
    });
  }
  threads.clear();

  cookbook::Checks checks;
  checks.equal("readers that were inside at once", came_in.load(), readers);
  checks.equal("readers that had left before the writer came in", left_before_the_writer.load(), readers);
  checks.equal("totals that were wrong", wrong_totals.load(), 0);
  checks.equal("total at the end", total(), 1000L);
  return checks.exit_code();
}
