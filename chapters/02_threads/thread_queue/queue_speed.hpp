/// What the queues of this recipe cost, beside those of two libraries: items passed one way, and there and back.
#pragma once

#include <pthread.h>
#include <sched.h>

#include <array>
#include <atomic>
#include <boost/lockfree/spsc_queue.hpp>
#include <cerrno>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <tbb/concurrent_queue.h>

#include "cookbook/figures.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/print.hpp"
#include "cookbook/verdict.hpp"
#include "plain_queue.hpp"
#include "ring_queue.hpp"

namespace {

constexpr std::size_t measured_capacity = 1024;

/// A thread that runs on one processor only, the first or the second of those that this program may use. Else the
/// system may put two threads on one processor, where every queue looks fast: no cache line ever moves.
inline std::jthread on_processor(int which, const std::function<void()>& work) {
  return std::jthread([which, work] {
    cpu_set_t allowed, one;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) cookbook::system_refused("sched_getaffinity");
    for (int cpu = 0, rank = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (!CPU_ISSET(cpu, &allowed) || rank++ != which % CPU_COUNT(&allowed)) continue;
      CPU_ZERO(&one);
      CPU_SET(cpu, &one);
    }
    if (const int error = pthread_setaffinity_np(pthread_self(), sizeof one, &one)) {
      errno = error;
      cookbook::system_refused("pthread_setaffinity_np");
    }
    work();
  });
}

/// Runs both at once, each on its processor; returns the seconds that `second` took, which is to end last.
inline double seconds_together(const std::function<void()>& first, const std::function<void()>& second) {
  std::atomic<int> ready = 0;
  const auto meet = [&] {
    for (++ready; ready < 2;) std::this_thread::yield();
  };
  double seconds = 0;
  std::jthread one = on_processor(0, [&] {
    meet();
    first();
  });
  on_processor(1, [&] {
    meet();
    const cookbook::Stopwatch watch;
    second();
    seconds = watch.seconds();
  }).join();
  return seconds;
}

/// The recipe's own queues, as the measurement uses a queue.
template <typename Queue>
struct Own {
  Queue queue;
  template <typename... Spin>
  explicit Own(Spin... spin) : queue(measured_capacity, spin...) {}
  void put(long item) { queue.put(std::move(item)); }
  long get() { return queue.get().value(); }
};

/// Own<RingQueue> whose consumers also report each item.
struct Reporting : Own<RingQueue<long>> {
  long get() {
    const long item = queue.get().value();
    queue.task_done();
    return item;
  }
};

/// oneTBB's: any number of producers and consumers, blocking.
struct OneTbb {
  tbb::concurrent_bounded_queue<long> queue;
  OneTbb() { queue.set_capacity(measured_capacity); }
  void put(long item) { queue.push(item); }
  long get() {
    long item = 0;
    queue.pop(item);
    return item;
  }
};

/// Attempts until it succeeds, never asleep; gives the processor away now and then, for there might be only one.
template <typename Attempt>
void spin(Attempt attempt) {
  for (int looks = 1; !attempt(); ++looks) {
    if (looks % 1000 == 0) std::this_thread::yield();
  }
}

/// Boost's: for one producer and one consumer only, and it does not block, so both of them spin.
struct BoostSpsc {
  boost::lockfree::spsc_queue<long> queue{measured_capacity};
  void put(long item) {
    spin([&] { return queue.push(item); });
  }
  long get() {
    long item = 0;
    spin([&] { return queue.pop(item); });
    return item;
  }
};

/// A queue in the measurement, and what it took.
struct Contender {
  std::string name;
  std::function<double(long items)> one_way, there_and_back;  // both return seconds
  std::vector<double> one_way_seconds = {}, there_and_back_seconds = {};
};

/// Makes a Contender of a kind of queue. Items that do not come out in the order in which they went in add to `wrong`.
template <typename Queue, typename... Arguments>
Contender contender(const std::string& name, long& wrong, Arguments... arguments) {
  const auto one_way = [&wrong, arguments...](long items) {
    Queue queue(arguments...);
    const auto put_all = [&] {
      for (long i = 0; i < items; ++i) queue.put(i);
    };
    const auto get_all = [&] {
      for (long i = 0; i < items; ++i) wrong += queue.get() != i;
    };
    return seconds_together(put_all, get_all);
  };
  const auto there_and_back = [&wrong, arguments...](long items) {
    Queue there(arguments...), back(arguments...);
    const auto answer = [&] {
      for (long i = 0; i < items; ++i) back.put(there.get());
    };
    const auto ask = [&] {
      for (long i = 0; i < items; ++i) {
        there.put(i);
        wrong += back.get() != i;
      }
    };
    return seconds_together(answer, ask);
  };
  return {name, one_way, there_and_back};
}

/// One cache line that two processors write in turn, without any queue: no item can be handed over faster than this.
inline double seconds_of_a_line_there_and_back(long items) {
  alignas(64) std::atomic<long> turn = 0;
  const auto follow = [&](long mine) {
    for (long i = 0; i < items; ++i, mine += 2) {
      spin([&] { return turn == mine; });
      turn = mine + 1;
    }
  };
  return seconds_together([&] { follow(1); }, [&] { follow(0); });
}

/// Items in two arrays that go to and fro whole, without any queue: what the caches can move when next to nothing is
/// paid for an item's own hand-over.
inline double seconds_in_blocks(long items, long& wrong) {
  constexpr long block = measured_capacity / 2;
  struct alignas(64) Half {
    std::atomic<bool> full = false;
    std::array<long, block> content = {};
  };
  std::array<Half, 2> halves;
  const auto each_block = [&](bool full, auto use) {
    for (long first = 0; first < items; first += block) {
      Half& half = halves[static_cast<std::size_t>(first / block % 2)];
      spin([&] { return half.full == full; });
      for (long i = 0; i < block; ++i) use(half.content[static_cast<std::size_t>(i)], first + i);
      half.full = !full;
    }
  };
  return seconds_together([&] { each_block(false, [](long& item, long i) { item = i; }); },
                          [&] { each_block(true, [&](long& item, long i) { wrong += item != i; }); });
}

/// Prints both tables. The queues take turns, so that whatever else the machine does meets all of them alike.
inline void measure_queues(long items, cookbook::Verdict& verdict) {
  using std::chrono::nanoseconds;
  long wrong = 0;
  std::vector<Contender> contenders = {
      contender<Own<PlainQueue<long>>>("plain queue", wrong),
      contender<Own<RingQueue<long>>>("ring queue that sleeps at once", wrong, nanoseconds(0)),
      contender<Own<RingQueue<long>>>("ring queue", wrong),
      contender<Reporting>("ring queue, with task_done()", wrong),
      contender<OneTbb>("tbb::concurrent_bounded_queue", wrong),
      contender<BoostSpsc>("boost::lockfree::spsc_queue, spinning", wrong),
  };
  const long turns = items / 200 + 1;
  std::vector<double> line_seconds, block_seconds;
  for (int round = 0; round < 8; ++round) {
    const auto note = [round](std::vector<double>& list, double seconds) {
      if (round > 0) list.push_back(seconds);  // the first round warms up
    };
    note(line_seconds, seconds_of_a_line_there_and_back(turns));
    note(block_seconds, seconds_in_blocks(items, wrong));
    for (Contender& queue : contenders) {
      note(queue.one_way_seconds, queue.one_way(items));
      note(queue.there_and_back_seconds, queue.there_and_back(turns));
    }
  }
  verdict.equal("items that came out of a measured queue in a wrong place", wrong, 0L);

  cookbook::Figures passed("one way, capacity 1024", cookbook::rate("M items/s", 1e6));
  cookbook::Figures returned("there and back, one item inside", cookbook::cost("ns", 1e-9));
  passed.add_limit("in blocks of 512, no queue", cookbook::timing_of(block_seconds), static_cast<double>(items));
  returned.add_limit("a cache line, no queue", cookbook::timing_of(line_seconds), static_cast<double>(turns));
  for (const Contender& queue : contenders) {
    const auto add = queue.name.starts_with("tbb") ? &cookbook::Figures::add_peer : &cookbook::Figures::add;
    (passed.*add)(queue.name, cookbook::timing_of(queue.one_way_seconds), static_cast<double>(items));
    (returned.*add)(queue.name, cookbook::timing_of(queue.there_and_back_seconds), static_cast<double>(turns));
  }
  passed.print(verdict);
  returned.print(verdict);
}

}  // namespace
