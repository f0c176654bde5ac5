/// Cache lines that two threads write to: counting up, near each other and apart.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <string_view>
#include <thread>
#include <vector>

#include "cookbook/measure.hpp"
#include "topology.hpp"

using Counter = std::atomic<long>;
constexpr long counts = 10'000, bursts = 41;

/// One writer needs no atomic addition; the processor may take its time with the store.
inline void load_and_store(Counter& counter) {
  counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

/// The addition is done at once and undivided, so the line must be in this processor's cache, and in no other.
inline void atomic_add(Counter& counter) { counter.fetch_add(1, std::memory_order_relaxed); }

/// Two threads, each on a processor of its own, count up in bursts, both at the same time. The timing of all bursts.
template <void add_one(Counter&)>
cookbook::Timing count_up(Counter& first, Counter& second, const std::vector<int>& processors) {
  std::atomic<long> arrived = 0;
  std::vector<double> seconds[2];
  const auto count = [&](std::size_t me, Counter& counter) {
    topology::stay_on({processors[me]});  // if not, the times are worse and the counts the same
    for (long burst = 1; burst <= bursts; ++burst) {
      ++arrived;
      for (int looks = 0; arrived < 2 * burst; ++looks) {  // awake, so that both start within a moment
        if (looks > 100'000) std::this_thread::yield();
      }
      const cookbook::Stopwatch watch;
      for (long i = 0; i < counts; ++i) add_one(counter);
      seconds[me].push_back(watch.seconds());
    }
  };
  std::jthread other(count, 1, std::ref(second));
  std::jthread(count, 0, std::ref(first)).join();
  other.join();
  seconds[0].insert(seconds[0].end(), seconds[1].begin(), seconds[1].end());
  return cookbook::timing_of(std::move(seconds[0]));
}

/// Two processors with a first cache each, if there are two; hardware threads of one core share theirs.
inline std::vector<int> two_processors() {
  const std::vector<int> allowed = topology::allowed_processors();
  if (allowed.empty()) return {0, 0};
  const std::vector<topology::Cache> caches = topology::caches(allowed.front());
  for (const int other : allowed) {
    const bool shares = !caches.empty() && std::ranges::count(caches.front().shared_by, other) > 0;
    if (other != allowed.front() && !shares) return {allowed.front(), other};
  }
  return {allowed.front(), allowed.back()};
}

/// Counters that lie so many bytes apart, or one counter for both, with a distance of 0.
struct Sharing {
  std::string_view name;
  cookbook::Timing (*count_up)(Counter&, Counter&, const std::vector<int>&);
  std::size_t bytes_apart;
  cookbook::Timing timing = {};
};

inline std::vector<Sharing> ways_to_share() {
  return {{"atomic add, one counter for both", count_up<atomic_add>, 0},
          {"atomic add, 8 B apart", count_up<atomic_add>, 8},
          {"atomic add, 64 B apart", count_up<atomic_add>, 64},
          {"atomic add, 128 B apart", count_up<atomic_add>, 128},
          {"load and store, 8 B apart", count_up<load_and_store>, 8},
          {"load and store, 128 B apart", count_up<load_and_store>, 128}};
}

/// Counts in this way; whether no count was lost.
inline bool share(Sharing& way, const std::vector<int>& processors) {
  alignas(128) Counter counters[128 / sizeof(Counter) + 1] = {};
  Counter &first = counters[0], &second = counters[way.bytes_apart / sizeof(Counter)];
  way.timing = way.count_up(first, second, processors);
  constexpr long each = counts * bursts;
  return &first == &second ? first == 2 * each : first == each && second == each;
}
