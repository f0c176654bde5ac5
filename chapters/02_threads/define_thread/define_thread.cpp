// Define a thread
//
// Five threads run one function, each with its own number. First, each thread is joined inside the loop that makes it:
// the threads run one after another, and nothing is gained. Then all threads are made before any is joined: they run at
// the same time, and the order of their lines can change from run to run.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/02_threads/define_thread/define_thread.cpp common/cookbook/*.cpp -lfmt -pthread -o define_thread
// Run:     define_thread [--threads N] [--work-ms N]

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <numeric>
#include <thread>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"

namespace {

/// The numbers of the threads in the order in which they did their work.
struct Finished {
  explicit Finished(int threads) : numbers(threads) {}
  std::vector<int> numbers;
  std::atomic<int> count = 0;  // atomic: threads that add 1 to it at the same time get different places
};

/// What each thread runs. The sleep stands for some work.
void work_and_print(int number, std::chrono::milliseconds work, Finished& finished) {
  cookbook::println("thread {} starts", number);
  std::this_thread::sleep_for(work);
  finished.numbers[finished.count++] = number;
  cookbook::println("thread {} ends", number);
}

}  // namespace

int main(int argc, char** argv) {
  int threads = 5, work_ms = 20;
  cookbook::Options options("Start threads and wait for them");
  options.add("threads", threads, "threads in each part", 1, 100);
  options.add("work-ms", work_ms, "how long each thread works, in ms", 0, 10'000);
  options.parse(argc, argv);
  const std::chrono::milliseconds work(work_ms);

  cookbook::println("Joined inside the loop:");
  Finished in_the_loop(threads);
  for (int number = 0; number < threads; ++number) {
    std::jthread thread(work_and_print, number, work, std::ref(in_the_loop));
    thread.join();  // waits until the function has returned; only then is the next thread made
  }

  cookbook::println("Joined after the loop:");
  Finished after_the_loop(threads);
  std::vector<std::jthread> started;
  for (int number = 0; number < threads; ++number) {
    started.emplace_back(work_and_print, number, work, std::ref(after_the_loop));  // the thread runs from here on
  }
  for (std::jthread& thread : started) thread.join();

  std::vector<int> expected(threads);  // 0, 1, 2 and so on
  std::iota(expected.begin(), expected.end(), 0);
  std::vector<int> sorted = after_the_loop.numbers;
  std::sort(sorted.begin(), sorted.end());

  cookbook::Checks checks;
  checks.equal("joined inside the loop, in this order", in_the_loop.numbers, expected);
  checks.equal("joined after the loop, sorted", sorted, expected);
  checks.equal("joinable after the join", started.front().joinable(), false);
  return checks.exit_code();
}
