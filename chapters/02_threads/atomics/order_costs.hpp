/// What one atomic operation costs at each memory order.
#pragma once

#include <atomic>
#include <mutex>
#include <string_view>

#include "cookbook/figures.hpp"
#include "cookbook/measure.hpp"
#include "run_together.hpp"
#include "spin_lock.hpp"

namespace atomics {

/// Measures runs of `operations` operations each, in a loop and back to back: first by this thread alone, then an
/// addition by one and by two threads on cores of their own. The orders are written out, as the compiler takes seq_cst
/// for one that it does not know.
inline cookbook::Figures order_costs(long operations) {
  using enum std::memory_order;
  cookbook::Figures figures("Cost of one operation", cookbook::cost("ns", 1e-9));
  alignas(64) std::atomic<long> cell = 0;

  const auto repeated = [&](auto operation) {
    return cookbook::measure([&] {
      cell = 0;
      for (long i = 0; i < operations; ++i) operation(i);
    });
  };
  const auto add = [&](std::string_view name, auto operation) {
    figures.add(name, repeated(operation), static_cast<double>(operations));
  };
  add("loop alone", [](long i) { cookbook::keep(i); });
  add("load relaxed", [&](long) { cookbook::keep(cell.load(relaxed)); });
  add("load acquire", [&](long) { cookbook::keep(cell.load(acquire)); });
  add("load seq_cst", [&](long) { cookbook::keep(cell.load(seq_cst)); });
  add("store relaxed", [&](long i) { cell.store(i, relaxed); });
  add("store release", [&](long i) { cell.store(i, release); });
  add("store seq_cst", [&](long i) { cell.store(i, seq_cst); });
  add("fetch_add relaxed", [&](long) { cell.fetch_add(1, relaxed); });
  add("fetch_add acq_rel", [&](long) { cell.fetch_add(1, acq_rel); });
  add("fetch_add seq_cst", [&](long) { cell.fetch_add(1, seq_cst); });
  add("compare-exchange relaxed", [&](long i) { cell.compare_exchange_strong(i, i + 1, relaxed); });
  add("compare-exchange acq_rel", [&](long i) { cell.compare_exchange_strong(i, i + 1, acq_rel); });
  add("compare-exchange seq_cst", [&](long i) { cell.compare_exchange_strong(i, i + 1, seq_cst); });

  alignas(64) SpinLock spin_lock;
  add("spin lock, lock and unlock", [&](long) { std::scoped_lock hold(spin_lock); });
  alignas(64) std::mutex mutex;
  const auto with_mutex = repeated([&](long) { std::scoped_lock hold(mutex); });
  figures.add_peer("std::mutex, lock and unlock", with_mutex, static_cast<double>(operations));

  for (const int threads : {1, 2}) {
    const auto shared = cookbook::measure([&] {
      run_together(threads, [&](int) {
        for (long i = 0; i < operations; ++i) cell.fetch_add(1, relaxed);
      });
    });
    figures.add(threads == 1 ? "fetch_add relaxed, 1 thread" : "fetch_add relaxed, 2 threads", shared,
                static_cast<double>(threads) * static_cast<double>(operations));
  }
  return figures;
}

}  // namespace atomics
