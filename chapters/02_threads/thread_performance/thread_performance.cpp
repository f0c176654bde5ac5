// Thread performance
//
// When do threads pay? Four functions are called one call after another, and in threads: one that computes, one that
// reads a file, one that fetches web pages, and one that holds a lock. How busy the processor is in the calls one by
// one predicts what threads need: the time to start them, and then either what the processors have to do, or the time
// of a single call. The program prints the prediction beside the time that it took. It holds for three of the four.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/02_threads/thread_performance/thread_performance.cpp common/cookbook/*.cpp -lfmt -pthread -o thread_performance
// Run:     thread_performance [--calls N]

#include <algorithm>
#include <ctime>
#include <mutex>
#include <thread>

#include "calls.hpp"  // one_by_one(), in_threads()
#include "cookbook/affinity.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "jobs.hpp"  // fibonacci(), make_block_file(), read_blocks(), fetch_pages(), PageServer

namespace {

/// Of n calls, in seconds.
struct Times {
  double one_by_one = 1e9;  // from the first call to the end of the last one
  double busy = 0;          // how much of that time the calling thread used a processor
  double in_threads = 1e9;
};

/// What n threads should take, if it takes `start` to start them and to wait for them: all processors share the work,
/// and no thread ends before its own call has.
double predicted(const Times& times, double start, int n) {
  return start + std::max(times.busy / cookbook::allowed_processors(), times.one_by_one / n);
}

/// How long this thread has kept a processor busy so far.
double busy_seconds() {
  timespec time{};
  if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) != 0) cookbook::exit_with_errno("clock_gettime");
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Calls the function n times in both ways, three times, and takes the shortest times. Adds to `different` how often
/// the calls in threads had other results than those one by one.
template <typename Function>
Times measure(int n, Function function, int& different) {
  Times times;
  for (int run = 0; run < 3; ++run) {
    const double busy_before = busy_seconds();
    const cookbook::Stopwatch watch;
    const auto expected = one_by_one(n, function);
    const double time = watch.seconds(), busy = busy_seconds() - busy_before;
    if (time < times.one_by_one) {
      times.one_by_one = time;
      times.busy = std::min(busy, time);
    }

    const cookbook::Stopwatch threads_watch;
    const auto results = in_threads(n, function);
    times.in_threads = std::min(times.in_threads, threads_watch.seconds());
    different += results != expected;
  }
  return times;
}

/// Prints a row of the table.
void print(const char* name, const Times& times, double start, int n) {
  cookbook::println("{:<23}{:9.3f} ms{:5.0f} %{:9.3f} ms{:10.3f} ms{:6.1f} x", name, 1e3 * times.one_by_one,
                    100 * times.busy / times.one_by_one, 1e3 * predicted(times, start, n), 1e3 * times.in_threads,
                    times.one_by_one / times.in_threads);
}

}  // namespace

int main(int argc, char** argv) {
  int n = 8;
  cookbook::Options options("Compare calls one after another with calls in threads");
  options.add("calls", n, "calls of each function, and threads", 2, 64);
  options.parse(argc, argv);

  const std::string path = make_block_file();
  PageServer server(std::chrono::milliseconds(1));  // until it answers a request

  int different = 0;
  const auto nothing = [] { return 0; };
  const double start = measure(n, nothing, different).in_threads;
  const auto compare = [&](const char* name, auto function) { print(name, measure(n, function, different), start, n); };
  cookbook::println("to start {} threads and to wait for their ends: {:.3f} ms", n, 1e3 * start);
  cookbook::println("{:<23}  one by one   busy   predicted   in threads    gain", fmt::format("{} calls", n));
  compare("Fibonacci number 20000", [] { return fibonacci(20'000); });
  compare("1000 blocks of a file", [&] { return read_blocks(path); });
  compare("10 web pages", [&] { return fetch_pages(server.port()); });
  std::mutex mutex;
  compare("5 ms with a lock held", [&] {
    const std::scoped_lock lock(mutex);  // so only one call at a time can wait
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return 0;
  });

  cookbook::Checks checks;
  checks.equal("results in threads that differ from those one by one", different, 0);
  checks.that("several pages were waited for at the same time", server.most_at_once() > 1);
  return checks.exit_code();
}
