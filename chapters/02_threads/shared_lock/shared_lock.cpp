// Shared lock
//
// A std::mutex lets one thread in at a time. A std::shared_mutex lets in any number of threads that only read, or one
// that writes. First three readers meet inside, and a writer waits until the last one has left. Then two threads ask
// for the total of all accounts again and again, and now and then move money, behind a lock of either kind. The table
// shows what operations cost, and how often the threads slept while they waited for each other: the shared lock wins if
// the readers stay inside for long, and loses if they do not.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/02_threads chapters/02_threads/shared_lock/shared_lock.cpp common/cookbook/*.cpp -lfmt -pthread -o shared_lock
// Run:     shared_lock [--readers N] [--operations N] [--write-every N]

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <iterator>
#include <latch>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "guarded.hpp"
#include "run_concurrently.hpp"

namespace {

using Balances = std::vector<long>;

/// Readers wait for each other inside, and a writer waits for them. Returns how many readers had left when it came in.
int meet(int readers) {
  Guarded accounts(Balances(10, 100));
  std::atomic<int> left = 0, left_before_the_writer = 0;
  std::latch all_inside(readers), writer_asks(1);
  std::vector<std::jthread> threads;
  for (int i = 0; i < readers; ++i) {
    threads.emplace_back([&] {
      accounts.read([&](const Balances&) {
        cookbook::println("a reader is inside");
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
  return left_before_the_writer;
}

struct Cost {
  double microseconds, sleeps;  // both per 1000 operations
};

/// How often this thread has slept so far: the system counts how often a thread gave up its processor to wait.
long times_slept() {
  rusage usage{};
  if (getrusage(RUSAGE_THREAD, &usage) != 0) cookbook::exit_with_errno("getrusage");
  return usage.ru_nvcsw;
}

/// Two threads, each on a processor of its own: of `write_every` operations one moves money, the others add up all
/// accounts. Adds the totals that were wrong to `wrong`, and returns the cost in the median of three runs.
template <typename Mutex>
Cost cost(int size, int operations, int write_every, int& wrong) {
  Cost costs[3];
  for (Cost& result : costs) {
    std::atomic<long> sleeps = 0;
    Guarded<Balances, Mutex> accounts(Balances(size, 100));
    std::atomic<int> wrong_totals = 0;
    const double seconds = run_concurrently(2, [&](int id) {
      const long before = times_slept();
      for (int i = 0; i < operations; ++i) {
        if ((i + write_every / 2 * id) % write_every == 0) {
          accounts.write([](Balances& balance) {
            --balance.front();
            ++balance.back();
          });
        } else {
          wrong_totals += 100L * size != accounts.read([](const Balances& balance) {
            return std::reduce(balance.begin(), balance.end(), 0L);
          });
        }
      }
      sleeps += times_slept() - before;
    });
    const double thousands = 2 * operations / 1e3;
    result = {1e6 * seconds / thousands, static_cast<double>(sleeps) / thousands};
    wrong += wrong_totals;
  }
  std::sort(std::begin(costs), std::end(costs), [](Cost a, Cost b) { return a.microseconds < b.microseconds; });
  return costs[1];
}

}  // namespace

int main(int argc, char** argv) {
  int readers = 3, operations = 20'000, write_every = 100;
  cookbook::Options options("Let many readers in at once, or one writer");
  options.add("readers", readers, "threads that read at the same time, in the first part", 1, 64);
  options.add("operations", operations, "operations of each of two threads (with 20000 accounts a twentieth)", 20,
              1'000'000);
  options.add("write-every", write_every, "of so many operations one moves money, the others add up", 2, 1'000'000);
  options.parse(argc, argv);

  const int left_before_the_writer = meet(readers);

  int wrong = 0;
  cookbook::println("1000 operations of two threads,      std::mutex         std::shared_mutex");
  cookbook::println("{:<29}    time     sleeps          time     sleeps",
                    fmt::format("{:.3g} % of them reads", 100 - 100.0 / write_every));
  for (const int size : {10, 1'000, 20'000}) {
    const int repeats = size < 20'000 ? operations : operations / 20;
    const Cost mutex = cost<PlainMutex>(size, repeats, write_every, wrong);
    const Cost shared = cost<std::shared_mutex>(size, repeats, write_every, wrong);
    cookbook::println("{:<27}{:7.0f} us{:11.1f}{:11.0f} us{:11.1f}", fmt::format("adding up {} accounts", size),
                      mutex.microseconds, mutex.sleeps, shared.microseconds, shared.sleeps);
  }

  cookbook::Checks checks;
  checks.equal("readers that had left before the writer came in", left_before_the_writer, readers);
  checks.equal("totals that were wrong", wrong, 0);
  return checks.exit_code();
}
