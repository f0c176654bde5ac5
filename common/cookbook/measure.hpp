/// Measuring time: a stopwatch, and rows that take turns so that a change of the machine's speed meets all of them.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace cookbook {

/// Counts the seconds since it was made, on the steady clock.
class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// How long a piece of work took over several runs, in seconds.
struct Timing {
  double minimum = 0;
  double median = 0;
  double maximum = 0;
  int repeats = 0;
};

/// The timing of runs that took `seconds` each; at least one.
Timing timing_of(std::vector<double> seconds);

/// One of several ways to do a job, to be measured beside the others.
struct Benchmark {
  /// `work()` does the job once. If it returns nothing, the whole call is timed. If it returns a double, that is the
  /// time in seconds: for work that a GPU's events or another process has timed, or that begins with a preparation.
  template <typename Work>
  Benchmark(std::string name_, double items_per_run_, Work work)
      : name(std::move(name_)), items_per_run(items_per_run_) {
    if constexpr (std::is_void_v<std::invoke_result_t<Work&>>) {
      run = [work = std::move(work)]() mutable {
        const Stopwatch watch;
        work();
        return watch.seconds();
      };
    } else {
      run = std::move(work);
    }
  }

  std::string name;
  double items_per_run;         ///< what one run handles: bytes, tasks, operations
  std::function<double()> run;  ///< does the job once and returns the seconds that it took
};

/// Runs every row once without measuring, and then once in each of `rounds` rounds, in an order that changes from round
/// to round (the same order in every process, so that MPI ranks can measure together). Returns a timing per row. The
/// environment variable COOKBOOK_ROUNDS, which the tests set, is an upper limit for the number of rounds.
std::vector<Timing> run_interleaved(const std::vector<Benchmark>& rows, int rounds);

/// Makes the compiler believe that `value` is read here, so that it cannot remove the work that computed it.
template <typename Value>
inline void do_not_optimize(const Value& value) {
  asm volatile("" : : "r,m"(value) : "memory");
}

/// Ends the program with exit code 2 and one line on standard error if the machine has less than `bytes` of memory to
/// give (MemAvailable of Linux). `what` names the option that asks for so much, such as "--size 1073741824".
void require_memory(double bytes, const std::string& what);

}  // namespace cookbook
