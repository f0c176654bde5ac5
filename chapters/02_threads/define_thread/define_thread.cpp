// Start threads and wait for them
//
// Five threads run one function. First, each thread is joined inside the loop that makes it: the threads work one after
// another, and nothing is gained. Then all threads are made before any is joined: they work at the same time. The
// program prints from when to when each thread has worked, and how long all of it took.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/02_threads/define_thread/define_thread.cpp common/cookbook/*.cpp -lfmt -pthread -o define_thread
// Run:     define_thread [--threads N] [--work-ms N]

#include <algorithm>
#include <chrono>
#include <functional>
#include <string_view>
#include <thread>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"

namespace {

using std::chrono::milliseconds;

/// When a thread has begun and ended its work, in seconds; -1: not yet.
struct Period {
  double begin = -1, end = -1;
};

/// What each thread runs. The sleep stands for some work.
void do_work(milliseconds work, cookbook::Stopwatch watch, Period& period) {
  period.begin = watch.seconds();
  std::this_thread::sleep_for(work);
  period.end = watch.seconds();
}

std::vector<Period> joined_inside_the_loop(int threads, milliseconds work) {
  const cookbook::Stopwatch watch;
  std::vector<Period> periods(threads);
  for (int number = 0; number < threads; ++number) {
    std::jthread thread(do_work, work, watch, std::ref(periods[number]));
    thread.join();  // waits until the function has returned; only then is the next thread made
  }
  return periods;
}

std::vector<Period> joined_after_the_loop(int threads, milliseconds work) {
  const cookbook::Stopwatch watch;
  std::vector<Period> periods(threads);
  std::vector<std::jthread> started;
  for (int number = 0; number < threads; ++number) {
    started.emplace_back(do_work, work, watch, std::ref(periods[number]));  // the thread runs from here on
  }
  for (std::jthread& thread : started) thread.join();
  return periods;
}

void print(std::string_view heading, const std::vector<Period>& periods) {
  cookbook::println("{}:", heading);
  double work = 0, last_end = 0;
  for (std::size_t number = 0; number < periods.size(); ++number) {
    const auto [begin, end] = periods[number];
    cookbook::println("  thread {} worked from {:5.1f} ms to {:5.1f} ms", number, begin * 1000, end * 1000);
    work += end - begin;
    last_end = std::max(last_end, end);
  }
  cookbook::println("  {:.0f} ms of work in {:.0f} ms", work * 1000, last_end * 1000);
}

}  // namespace

int main(int argc, char** argv) {
  int threads = 5, work_ms = 20;
  cookbook::Options options("Start threads and wait for them");
  options.add("threads", threads, "threads in each part", 1, 100);
  options.add("work-ms", work_ms, "how long each thread works, in ms", 0, 10'000);
  options.parse(argc, argv);

  const std::vector<Period> inside = joined_inside_the_loop(threads, milliseconds(work_ms));
  print("joined inside the loop", inside);
  const std::vector<Period> after = joined_after_the_loop(threads, milliseconds(work_ms));
  print("joined after the loop", after);

  int too_early = 0;
  for (int number = 1; number < threads; ++number) too_early += inside[number].begin < inside[number - 1].end;
  const auto worked = std::count_if(after.begin(), after.end(), [](const Period& period) { return period.end >= 0; });
  cookbook::Checks checks;
  checks.equal("inside the loop: threads that began before the previous one had ended", too_early, 0);
  checks.equal("after the loop: threads that have worked", worked, threads);
  return checks.exit_code();
}
