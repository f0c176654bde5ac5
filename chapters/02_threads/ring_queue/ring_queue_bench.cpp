// Ring queue, measured
//
// Passes numbers through the two queues of the lesson, a queue of oneTBB and two of Boost: from one producer to one
// consumer, between several of each, and there and back. Only where there are two threads is each of them pinned.
//
// Compile: g++ -std=c++20 -O3 -march=native -Icommon chapters/02_threads/ring_queue/ring_queue_bench.cpp common/cookbook/*.cpp -ltbb -lfmt -pthread -o ring_queue_bench
// Run:     ring_queue_bench [--items N] [--threads N] [--rounds N]

#include <tbb/concurrent_queue.h>

#include <atomic>
#include <boost/lockfree/queue.hpp>
#include <boost/lockfree/spsc_queue.hpp>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "cookbook/affinity.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "locked_queue.hpp"
#include "ring_queue.hpp"

namespace {

constexpr std::size_t capacity = 1024;

/// The two queues of the lesson.
template <typename Queue>
struct Waiting {
  Queue queue{capacity};
  void put(long item) { queue.put(item); }
  long get() { return *queue.get(); }
};
using Ring = Waiting<RingQueue<long>>;
using Locked = Waiting<LockedQueue<long>>;

struct OneTbb {
  tbb::concurrent_bounded_queue<long> queue;
  OneTbb() { queue.set_capacity(capacity); }
  void put(long item) { queue.push(item); }
  long get() {
    long item = 0;
    queue.pop(item);
    return item;
  }
};

void pause(int tries) {
  if (tries % 1000 == 0) std::this_thread::yield();
}

/// Boost's queues do not wait. So their users try until they succeed, and let other threads run now and then.
template <typename Queue>
struct Spinning {
  Queue queue{capacity};
  void put(long item) {
    for (int tries = 1; !queue.push(item); ++tries) pause(tries);
  }
  long get() {
    long item = 0;
    for (int tries = 1; !queue.pop(item); ++tries) pause(tries);
    return item;
  }
};
using BoostOneToOne = Spinning<boost::lockfree::spsc_queue<long>>;
using BoostMany = Spinning<boost::lockfree::queue<long, boost::lockfree::fixed_sized<true>>>;

/// One cache line that two threads write in turn: a hand-over of an item without a queue.
struct Line {
  alignas(64) std::atomic<long> value = -1;
  void put(long item) { value = item; }
  long get() {
    long item = 0;
    for (int tries = 1; (item = value.load()) < 0; ++tries) pause(tries);
    value = -1;
    return item;
  }
};

/// Runs work(0) to work(threads - 1) at the same time; returns the seconds from the start of all to the end of the
/// last.
template <typename Work>
double seconds_of(int threads, bool pinned, const Work& work) {
  std::latch ready(threads), go(1);
  std::vector<std::jthread> running;
  for (int id = 0; id < threads; ++id) {
    running.emplace_back([&, id] {
      if (pinned) cookbook::pin(id);
      ready.count_down();
      go.wait();
      work(id);
    });
  }
  ready.wait();
  const cookbook::Stopwatch watch;
  go.count_down();
  running.clear();
  return watch.seconds();
}

/// `items` numbers through one queue, with so many threads on each side. Adds numbers that were lost to `wrong`.
template <typename Queue>
double pass(long items, int threads, long& wrong) {
  Queue queue;
  std::atomic<long> sum = 0;
  const long each = items / threads;
  const double seconds = seconds_of(2 * threads, threads == 1, [&](int id) {
    if (id < threads) {
      for (long i = 0; i < each; ++i) queue.put(id * each + i);
    } else {
      long mine = 0;
      for (long i = 0; i < each; ++i) mine += queue.get();
      sum += mine;
    }
  });
  wrong += sum != each * threads * (each * threads - 1) / 2;
  return seconds;
}

template <typename Queue>
double there_and_back(long items, long& wrong) {
  Queue there, back;
  return seconds_of(2, true, [&](int id) {
    for (long i = 0; i < items; ++i) {
      if (id == 0) {
        there.put(i);
        wrong += back.get() != i;
      } else {
        back.put(there.get());
      }
    }
  });
}

}  // namespace

int main(int argc, char** argv) {
  long items = 1'000'000;
  int threads = 4, rounds = 7;
  cookbook::Options options("What it costs to pass an item through a queue");
  options.add("items", items, "numbers that a run passes", 1'000, 1'000'000'000);
  options.add("threads", threads, "producers, and as many consumers, in the second table", 1, 64);
  options.add("rounds", rounds, "measured runs of each queue", 1, 1'000);
  options.parse(argc, argv);

  long wrong = 0;
  const auto row_of_pass = [&]<typename Queue>(const std::string& name, int on_each_side) {
    return cookbook::Benchmark(name, static_cast<double>(items),
                               [&wrong, items, on_each_side] { return pass<Queue>(items, on_each_side, wrong); });
  };
  const long turns = items / 20;
  const auto row_of_turn = [&]<typename Queue>(const std::string& name) {
    return cookbook::Benchmark(name, static_cast<double>(turns),
                               [&wrong, turns] { return there_and_back<Queue>(turns, wrong); });
  };

  cookbook::Figures one("one producer, one consumer", cookbook::rate("M items/s", 1e6));
  one.measure({row_of_pass.operator()<Ring>("ring queue", 1), row_of_pass.operator()<Locked>("deque and lock", 1),
               row_of_pass.operator()<OneTbb>("tbb::concurrent_bounded_queue", 1),
               row_of_pass.operator()<BoostOneToOne>("boost::lockfree::spsc_queue, spinning", 1)},
              rounds);
  one.speedup_over("tbb::concurrent_bounded_queue", "oneTBB");

  cookbook::Figures many(fmt::format("{} producers, {} consumers", threads, threads), cookbook::rate("M items/s", 1e6));
  many.measure(
      {row_of_pass.operator()<Ring>("ring queue", threads), row_of_pass.operator()<Locked>("deque and lock", threads),
       row_of_pass.operator()<OneTbb>("tbb::concurrent_bounded_queue", threads),
       row_of_pass.operator()<BoostMany>("boost::lockfree::queue, spinning", threads)},
      rounds);
  many.speedup_over("tbb::concurrent_bounded_queue", "oneTBB");

  cookbook::Figures turn("there and back, one item inside", cookbook::cost("ns", 1e-9));
  turn.measure({row_of_turn.operator()<Line>("a cache line, no queue"), row_of_turn.operator()<Ring>("ring queue"),
                row_of_turn.operator()<Locked>("deque and lock"),
                row_of_turn.operator()<OneTbb>("tbb::concurrent_bounded_queue"),
                row_of_turn.operator()<BoostOneToOne>("boost::lockfree::spsc_queue, spinning")},
               rounds);
  turn.percent_of("a cache line, no queue", "line");

  cookbook::Checks checks;
  checks.equal("items that were lost or came in a wrong place", wrong, 0L);
  one.print(checks);
  many.print(checks);
  turn.print(checks);
  return checks.exit_code();
}
