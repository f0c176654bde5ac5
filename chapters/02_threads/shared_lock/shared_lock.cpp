// Shared lock
//
// A std::mutex lets one thread in at a time. A std::shared_mutex lets in any number of threads that only read, or one
// that writes. First two readers meet inside, and a writer waits until the last one has left. Then two threads ask for
// the total of all accounts again and again, and now and then move money, behind a lock of either kind. The table shows
// beside it what one thread needs for the same without a lock: half of that is the best that two threads can reach, and
// the shared lock comes near to it if readers stay inside for long and writes are rare.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/02_threads chapters/02_threads/shared_lock/shared_lock.cpp common/cookbook/*.cpp -lfmt -pthread -o shared_lock
// Run:     shared_lock [--readers N] [--operations N] [--write-every N]

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
        std::this_thread::sleep_for(std::chrono::milliseconds(10));  // in which a writer that does not wait comes in
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

/// So many threads, each on a processor of its own: of `write_every` operations one moves money, the others add up all
/// accounts. Adds the totals that were wrong to `wrong`, and returns the microseconds that 1000 operations of all
/// threads together took, in the middle one of three runs.
template <typename Mutex>
double cost(int threads, int size, int operations, int write_every, int& wrong) {
  double costs[3];
  for (double& result : costs) {
    Guarded<Balances, Mutex> accounts(Balances(size, 100));
    std::atomic<int> wrong_totals = 0;
    const double seconds = run_concurrently(threads, [&](int id) {
      for (int i = 0; i < operations; ++i) {
        if ((i + write_every / 2 * id) % write_every == 0) {  // two threads write at different times
          accounts.write([](Balances& balance) {
            --balance.front();
            ++balance.back();
          });
        } else {
          const long total =
              accounts.read([](const Balances& balance) { return std::reduce(balance.begin(), balance.end(), 0L); });
          wrong_totals += total != 100L * size;
        }
      }
    });
    result = 1e6 * seconds / (threads * operations / 1e3);
    wrong += wrong_totals;
  }
  std::sort(std::begin(costs), std::end(costs));
  return costs[1];
}

}  // namespace

int main(int argc, char** argv) {
  int readers = 2, operations = 20'000, write_every = 100;
  cookbook::Options options("Let many readers in at once, or one writer");
  options.add("readers", readers, "threads that read at the same time, in the first part", 1, 64);
  options.add("operations", operations, "operations of each thread (with 20000 accounts a twentieth)", 20, 1'000'000);
  options.add("write-every", write_every, "of so many operations one moves money, the others add up", 2, 1'000'000);
  options.parse(argc, argv);

  const int left_before_the_writer = meet(readers);

  int wrong = 0;
  cookbook::println("{:<30} one thread, no lock   two, std::mutex   two, std::shared_mutex",
                    fmt::format("1000 operations, {:.3g} % reads", 100 - 100.0 / write_every));
  for (const int size : {10, 1'000, 20'000}) {
    const int repeats = size < 20'000 ? operations : operations / 20;
    const double alone = cost<NoMutex>(1, size, repeats, write_every, wrong);
    const double mutex = cost<PlainMutex>(2, size, repeats, write_every, wrong);
    const double shared = cost<std::shared_mutex>(2, size, repeats, write_every, wrong);
    cookbook::println("{:<30}{:17.0f} us{:15.0f} us{:22.0f} us", fmt::format("adding up {} accounts", size), alone,
                      mutex, shared);
  }

  cookbook::Checks checks;
  checks.equal("readers that had left before the writer came in", left_before_the_writer, readers);
  checks.equal("totals that were wrong", wrong, 0);
  return checks.exit_code();
}
