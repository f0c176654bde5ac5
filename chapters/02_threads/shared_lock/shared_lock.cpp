// Shared lock
//
// A std::mutex lets one thread in at a time. A std::shared_mutex lets in any number of threads that only read, or one
// that writes. Two threads ask for the total of all accounts again and again, and now and then move money, behind a
// lock of either kind. The table shows how long that takes and how often a thread sleeps, and beside it what one thread
// needs without a lock: half of that is the best that two threads can reach. With --readers 2, two readers meet inside
// instead, and a writer waits until the last one has left.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/02_threads chapters/02_threads/shared_lock/shared_lock.cpp common/cookbook/*.cpp -lfmt -pthread -o shared_lock
// Run:     shared_lock [--readers N] [--operations N] [--write-every N]

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
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

/// Operation number i: every so often it moves money, else it adds up all accounts. Returns whether the total was
/// right.
template <typename Mutex>
bool operate(Guarded<Balances, Mutex>& accounts, int i, int write_every, long right_total) {
  if (i % write_every == 0) {
    accounts.write([](Balances& balance) {
      --balance.front();
      ++balance.back();
    });
    return true;
  }
  return right_total ==
         accounts.read([](const Balances& balance) { return std::reduce(balance.begin(), balance.end(), 0L); });
}

/// How often this thread has gone to sleep.
long sleeps_of_this_thread() {
  rusage usage;
  if (getrusage(RUSAGE_THREAD, &usage) != 0) cookbook::exit_with_errno("getrusage");
  return usage.ru_nvcsw;
}

struct Cost {
  double us, sleeps;  // of 1000 operations of all threads together
};

/// So many threads operate, each on a processor of its own. Adds the totals that were wrong to `wrong`, and returns the
/// cost in the middle one of three runs.
template <typename Mutex>
Cost cost(int threads, int size, int operations, int write_every, int& wrong) {
  std::vector<Cost> costs;
  for (int run = 0; run < 3; ++run) {
    Guarded<Balances, Mutex> accounts(Balances(size, 100));
    std::atomic<int> wrong_totals = 0;
    std::atomic<long> sleeps = 0;
    const double seconds = run_concurrently(threads, [&](int id) {
      const long before = sleeps_of_this_thread();
      const int first = write_every / 2 * id;  // so that the two threads do not write in the same turn
      for (int i = first; i < first + operations; ++i) wrong_totals += !operate(accounts, i, write_every, 100L * size);
      sleeps += sleeps_of_this_thread() - before;
    });
    const double thousands = threads * operations / 1e3;
    costs.push_back({1e6 * seconds / thousands, static_cast<double>(sleeps) / thousands});
    wrong += wrong_totals;
  }
  std::sort(costs.begin(), costs.end(), [](const Cost& one, const Cost& other) { return one.us < other.us; });
  return costs[1];
}

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
        std::this_thread::sleep_for(std::chrono::milliseconds(10));  // a writer that did not wait would come in now
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

}  // namespace

int main(int argc, char** argv) {
  int readers = 0, operations = 20'000, write_every = 100;
  cookbook::Options options("Let many readers in at once, or one writer");
  options.add("readers", readers, "so many readers meet inside instead, and a writer waits for them", 0, 64);
  options.add("operations", operations, "operations of each thread (with 20000 accounts a twentieth)", 20, 1'000'000);
  options.add("write-every", write_every, "of so many operations one moves money, the others add up", 2, 1'000'000);
  options.parse(argc, argv);
  cookbook::Checks checks;
  if (readers > 0) {
    checks.equal("readers that had left before the writer came in", meet(readers), readers);
    return checks.exit_code();
  }

  int wrong = 0;
  cookbook::println("{:<27}  one, no lock  half of it  two, std::mutex  sleeps  two, shared_mutex  sleeps",
                    fmt::format("1000 operations, {:.3g} % reads", 100 - 100.0 / write_every));
  for (const int size : {10, 1'000, 20'000}) {
    const int repeats = size < 20'000 ? operations : operations / 20;
    const Cost alone = cost<NoMutex>(1, size, repeats, write_every, wrong);
    const Cost mutex = cost<PlainMutex>(2, size, repeats, write_every, wrong);
    const Cost shared = cost<std::shared_mutex>(2, size, repeats, write_every, wrong);
    cookbook::println("{:<27}{:11.0f} us{:9.0f} us{:14.0f} us{:8.0f}{:16.0f} us{:8.0f}",
                      fmt::format("adding up {} accounts", size), alone.us, alone.us / 2, mutex.us, mutex.sleeps,
                      shared.us, shared.sleeps);
  }
  checks.equal("totals that were wrong", wrong, 0);
  return checks.exit_code();
}
