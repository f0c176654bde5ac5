// Tests a SequenceLock whose readers a learner has written.

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <numeric>
#include <random>
#include <ranges>
#include <span>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace judge {

/// For each atomic the newest of its stores that a thread knows of: none of its loads returns an older one.
using View = std::map<const void*, std::size_t>;

void learn(View& view, const View& other) {
  for (const auto& [atomic, number] : other) view[atomic] = std::max(view[atomic], number);
}

/// While there is one, it has all stores, and a load returns any value that C++ allows, also an old one.
struct Memory {
  struct Store {
    unsigned long value;
    View view;  // what a thread learns by an acquire load of this value, or by a later fence
  };

  std::map<const void*, std::vector<Store>> stores;
  View known, before_fence;  // of the thread whose turn it is
  std::mt19937 random;

  std::vector<Store>& of(const void* atomic) {
    auto& all = stores[atomic];
    if (all.empty()) all.push_back({});  // 0, which it was initialised with
    return all;
  }

  void store(const void* atomic, unsigned long value, std::memory_order order) {
    auto& all = of(atomic);
    known[atomic] = all.size();
    all.push_back({value, order == std::memory_order_relaxed ? View{} : known});
  }

  unsigned long load(const void* atomic, std::memory_order order) {
    const auto& all = of(atomic);
    std::size_t& least = known[atomic];
    least = std::uniform_int_distribution(least, all.size() - 1)(random);
    const Store& found = all[least];
    learn(order == std::memory_order_relaxed ? before_fence : known, found.view);
    return found.value;
  }
};
inline Memory* memory = nullptr;

}  // namespace judge

namespace std {

template <typename T>
struct judge_atomic : atomic<T> {
  using atomic<T>::operator=;
  constexpr judge_atomic(T value = {}) : atomic<T>(value) {}
  T load(memory_order order = memory_order_seq_cst) const {
    return judge::memory != nullptr ? static_cast<T>(judge::memory->load(this, order)) : atomic<T>::load(order);
  }
  operator T() const { return load(); }
  void store(T value, memory_order order = memory_order_seq_cst) {
    if (judge::memory != nullptr) judge::memory->store(this, static_cast<unsigned long>(value), order);
    atomic<T>::store(value, order);
  }
};
template <typename T>
T atomic_load(const judge_atomic<T>* from) {
  return from->load();
}
template <typename T>
T atomic_load_explicit(const judge_atomic<T>* from, memory_order order) {
  return from->load(order);
}
inline void judge_fence(memory_order order) {
  const bool acquires = order != memory_order_relaxed && order != memory_order_release;
  if (judge::memory != nullptr && acquires) judge::learn(judge::memory->known, judge::memory->before_fence);
  if (judge::memory == nullptr) atomic_thread_fence(order);
}

}  // namespace std

#define atomic judge_atomic
#define atomic_thread_fence judge_fence
#include "sequence_lock.hpp"
#undef atomic
#undef atomic_thread_fence

using judge::expect;

namespace {

constexpr std::size_t words = 4096;  // so many that a reader often meets the writer at work
using Lock = SequenceLock<words>;

void one_thread() {
  Lock lock;
  Lock::Value value;
  for (long round = 1; round <= 3; ++round) {
    for (std::size_t i = 0; i < words; ++i) value[i] = round * static_cast<long>(i + 1);
    lock.write(value);
    expect(lock.read() == value, "read() does not return what was written last.");
    expect(lock.read() == value, "A second read() returns something else.");
  }
}

/// A reader reads while the lock is in memory that cannot be written.
void a_reader_writes_nothing() {
  void* const place = mmap(nullptr, sizeof(Lock), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (place == MAP_FAILED) std::abort();
  auto* const lock = new (place) Lock;
  Lock::Value value;
  value.fill(7);
  lock->write(value);
  struct sigaction action = {}, before = {};
  action.sa_handler = [](int) { judge::refuse("A reader writes to the lock, which other threads read."); };
  sigaction(SIGSEGV, &action, &before);
  mprotect(place, sizeof(Lock), PROT_READ);
  expect(std::as_const(*lock).read() == value, "read() does not return what was written last.");
  sigaction(SIGSEGV, &before, nullptr);
  munmap(place, sizeof(Lock));
}

/// The orders of the loads are strong enough for any processor: this one may hide it if they are not.
void any_values_that_are_allowed() {
  constexpr long writes = 2;
  judge::Memory memory;
  judge::memory = &memory;
  SequenceLock<3> lock;
  for (long round = 1; round <= writes; ++round) lock.write({round, round, round});
  for (int read = 0; read < 5'000; ++read) {
    memory.known = memory.before_fence = {};  // another thread, which has seen nothing yet
    const auto copy = lock.read();
    expect(copy[0] == copy[1] && copy[1] == copy[2],
           "With values that the memory orders allow the loads to return, on this processor or another one, a copy is "
           "half old and half new.");
  }
  judge::memory = nullptr;
}

void readers_and_a_writer() {
  Lock lock;
  Lock::Value value{};
  std::atomic<bool> stop = false;
  std::atomic<long> reads = 0;
  std::vector<std::jthread> readers;
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&] {
      for (long before = 0; !stop;) {
        const Lock::Value copy = lock.read();
        for (const long word : copy) expect(word == copy[0], "A copy is half old and half new.");
        expect(copy[0] >= before, "A copy is older than the one before.");
        before = copy[0];
        ++reads;
      }
    });
  }
  std::jthread writer([&] {
    using Clock = std::chrono::steady_clock;
    for (long round = 1; !stop; ++round) {
      value.fill(round);
      lock.write(value);
      const auto until = Clock::now() + std::chrono::microseconds(5);
      while (Clock::now() < until) {
      }
    }
  });
  // The writer is stopped again and again for a moment, about every second time in the middle of its work.
  for (int pause = 0; pause < 300 || (reads < 100 && pause < 5'000); ++pause) {
    pthread_kill(writer.native_handle(), SIGUSR1);
    std::this_thread::sleep_for(std::chrono::microseconds(300));
  }
  const bool enough = judge::within_two_seconds([&] { return reads >= 100; });
  expect(enough, "The readers do not come to an end.");
  stop = true;
}

}  // namespace

int main() {
  struct sigaction action = {};
  action.sa_handler = [](int) {
    const timespec moment = {0, 200'000};
    nanosleep(&moment, nullptr);
  };
  sigaction(SIGUSR1, &action, nullptr);
  one_thread();
  a_reader_writes_nothing();
  readers_and_a_writer();
  any_values_that_are_allowed();
  std::puts("all copies are whole");
}
