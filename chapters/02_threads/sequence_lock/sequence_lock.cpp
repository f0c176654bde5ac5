// A sequence lock
//
// A writer begins a change of three numbers that belong together in each microsecond, or as soon as the last change is
// done, and a reader reads them as fast as it can. Without any protection reading is fast, but some readings mix old
// and new numbers. With a std::mutex none does, and each reading has to change the mutex. A sequence lock lets the
// reader read without changing anything: it notices when the writer has come between, throws the copy away and reads
// again.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/02_threads chapters/02_threads/sequence_lock/sequence_lock.cpp common/cookbook/*.cpp -lfmt -pthread -o sequence_lock
// Run:     sequence_lock [--readers N] [--milliseconds N] [--pause NANOSECONDS]

#include "sequence_lock.hpp"

#include <array>
#include <atomic>
#include <mutex>
#include <thread>

#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "run_concurrently.hpp"

namespace {

using Three = std::array<long, 3>;  // 1, 2, 3, then 2, 4, 6, then 3, 6, 9 and so on

/// Three numbers, each of them atomic. Nothing keeps them together.
class Unprotected {
 public:
  void write(const Three& value) {
    for (std::size_t i = 0; i < 3; ++i) value_[i].store(value[i], std::memory_order_relaxed);
  }
  Three read(long&) const {
    Three copy;
    for (std::size_t i = 0; i < 3; ++i) copy[i] = value_[i].load(std::memory_order_relaxed);
    return copy;
  }

 private:
  std::array<std::atomic<long>, 3> value_{};
};

/// Three numbers and a mutex.
class ByMutex {
 public:
  void write(const Three& value) {
    const std::scoped_lock hold(mutex_);
    value_ = value;
  }
  Three read(long&) {
    const std::scoped_lock hold(mutex_);
    return value_;
  }

 private:
  std::mutex mutex_;
  Three value_{};
};

/// One thread writes, and others read, for so many milliseconds. Prints how long a reading and a change took, how many
/// readings mixed numbers of two changes, and how often one had to be repeated. Returns the number of mixed readings.
template <typename Numbers>
long measure(const char* name, int readers, int milliseconds, long pause) {
  alignas(64) Numbers numbers;
  std::atomic<long> readings = 0, mixed = 0, repeated = 0, changes = 0;
  std::atomic<double> seconds_to_read = 0;
  double seconds_to_write = 0;
  run_concurrently(readers + 1, [&](int thread) {
    const cookbook::Stopwatch since_begin;
    if (thread == 0) {
      do {
        const long i = ++changes;
        const cookbook::Stopwatch watch;
        numbers.write({i, 2 * i, 3 * i});
        seconds_to_write += watch.seconds();
        spin_until([&] { return watch.seconds() * 1e9 >= static_cast<double>(pause); });
      } while (since_begin.seconds() * 1e3 < milliseconds);
    } else {
      long done = 0, wrong = 0, again = 0;
      do {
        for (int i = 0; i < 100; ++i, ++done) {
          const auto [one, two, three] = numbers.read(again);  // only the sequence lock's readers read again
          if (two != 2 * one || three != 3 * one) ++wrong;
        }
      } while (since_begin.seconds() * 1e3 < milliseconds);
      seconds_to_read += since_begin.seconds();
      readings += done;
      mixed += wrong;
      repeated += again;
    }
  });
  cookbook::println("{:<16}{:>12.1f} ns{:>12.0f} ns{:>17}{:>13}", name,
                    seconds_to_read * 1e9 / static_cast<double>(readings),
                    seconds_to_write * 1e9 / static_cast<double>(changes), mixed.load(), repeated.load());
  return mixed;
}

}  // namespace

int main(int argc, char** argv) {
  int readers = 1, milliseconds = 200;
  long pause = 1000;
  cookbook::Options options(
      "Read numbers that another thread changes, without protection, with a mutex and with a sequence lock");
  options.add("readers", readers, "threads that read", 1, 64);
  options.add("milliseconds", milliseconds, "how long each row takes", 1, 60'000);
  options.add("pause", pause, "nanoseconds from one change to the next", 0, 1'000'000'000);
  options.parse(argc, argv);

  cookbook::println("                  one reading     one change   mixed readings   read again");
  measure<Unprotected>("no protection", readers, milliseconds, pause);
  long mixed = measure<ByMutex>("std::mutex", readers, milliseconds, pause);
  mixed += measure<SequenceLock<3>>("SequenceLock", readers, milliseconds, pause);

  cookbook::Checks checks;
  checks.equal("mixed readings with protection", mixed, 0L);
  return checks.exit_code();
}
