/// Cache lines that two threads write to: counting up, near each other and apart.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <string_view>
#include <thread>
#include <vector>

#include "cookbook/measure.hpp"
#include "cookbook/pin.hpp"
#include "topology.hpp"

using Counter = std::atomic<long>;
constexpr long counts = 10'000;

/// One writer needs no atomic addition; the processor may take its time with the store.
inline void load_and_store(Counter& counter) {
  counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

/// The addition is done at once and undivided, so the line must be in this processor's cache, and in no other.
inline void atomic_add(Counter& counter) { counter.fetch_add(1, std::memory_order_relaxed); }

/// Two processors, in the way in which cookbook::pin() counts them.
struct Pair {
  int first, second;
};

/// Two threads, each on a processor of its own, count up at the same time. The seconds that it took, on average.
template <void add_one(Counter&)>
double count_up(Counter& first, Counter& second, Pair processors) {
  std::atomic<int> arrived = 0;
  double seconds[2];
  const auto count = [&](int processor, Counter& counter, double& taken) {
    cookbook::pin(processor);
    ++arrived;
    for (int looks = 0; arrived < 2; ++looks) {  // awake, so that both start within a moment
      if (looks > 100'000) std::this_thread::yield();
    }
    const cookbook::Stopwatch watch;
    for (long i = 0; i < counts; ++i) add_one(counter);
    taken = watch.seconds();
  };
  std::jthread other(count, processors.second, std::ref(second), std::ref(seconds[1]));
  std::jthread(count, processors.first, std::ref(first), std::ref(seconds[0])).join();
  other.join();
  return (seconds[0] + seconds[1]) / 2;
}

/// Two processors with a first cache each, if there are two; hardware threads of one core share theirs.
inline Pair two_processors(const std::vector<int>& allowed) {
  const std::vector<topology::Cache> caches = topology::caches(allowed.front());
  const auto has_its_own = [&](int processor) {
    return processor != allowed.front() &&
           (caches.empty() || std::ranges::count(caches.front().shared_by, processor) == 0);
  };
  const auto other = std::ranges::find_if(allowed, has_its_own);
  return {0, static_cast<int>((other != allowed.end() ? other : allowed.end() - 1) - allowed.begin())};
}

/// Counters that lie so many bytes apart, or one counter for both, with a distance of 0.
struct Sharing {
  std::string_view name;
  double (*count_up)(Counter&, Counter&, Pair);
  std::size_t bytes_apart;
};

inline std::vector<Sharing> ways_to_share() {
  return {{"atomic add, one counter for both", count_up<atomic_add>, 0},
          {"atomic add, 8 B apart", count_up<atomic_add>, 8},
          {"atomic add, 64 B apart", count_up<atomic_add>, 64},
          {"atomic add, 128 B apart", count_up<atomic_add>, 128},
          {"load and store, 8 B apart", count_up<load_and_store>, 8},
          {"load and store, 128 B apart", count_up<load_and_store>, 128}};
}

/// Counts in this way once, and adds what was lost to `lost`. The seconds that it took.
inline double share(const Sharing& way, Pair processors, long& lost) {
  alignas(128) Counter counters[128 / sizeof(Counter) + 1] = {};
  Counter &first = counters[0], &second = counters[way.bytes_apart / sizeof(Counter)];
  const double seconds = way.count_up(first, second, processors);
  lost += 2 * counts - (&first == &second ? first.load() : first + second);
  return seconds;
}
