// Tests a FunctionMetrics whose call() a learner has written.

#include "metrics.hpp"

#include <pthread.h>
#include <signal.h>
#include <time.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
using judge::expect;

namespace {

void expect_counted(const FunctionMetrics& metrics, std::uint64_t calls, std::uint64_t errors) {
  const FunctionMetrics::Reading reading = metrics.read();
  expect(reading.latencies.total() >= calls,
         errors > 0 ? "A call that threw is not counted." : "A call is not counted.");
  expect(reading.latencies.total() <= calls, "A call is counted twice.");
  expect(reading.errors >= errors, "A call that threw is not counted as an error.");
  expect(reading.errors <= errors, "A call that did not throw is counted as an error.");
}

void results_come_back() {
  FunctionMetrics metrics("results");
  int variable = 3;
  const auto reference = [&]() -> int& { return variable; };
  const bool same_type = std::is_same_v<decltype(metrics.call(reference)), int&>;
  expect(same_type && &metrics.call(reference) == &variable,
         "The function returns a reference, and call() another one.");
  const auto moved = [&]() -> int&& { return std::move(variable); };
  const bool same_moved_type = std::is_same_v<decltype(metrics.call(moved)), int&&>;
  expect(same_moved_type && metrics.call(moved) == 3,
         "The function returns a reference to what may be moved from, and call() something else.");
  expect(metrics.call([] { return 5; }) == 5, "call() does not return what the function returns.");
  expect(*metrics.call([] { return std::make_unique<int>(7); }) == 7,
         "call() does not return what the function returns.");
  metrics.call([&] { variable = 4; });
  expect(variable == 4, "call() does not call the function once.");
  expect_counted(metrics, 5, 0);
}

void times_are_measured() {
  FunctionMetrics metrics("times");
  metrics.call([] { std::this_thread::sleep_for(20ms); });
  const auto took = metrics.read().latencies.sum;
  expect(took >= 20ms, "A call took 20 ms, and less is counted.");
  expect(took < 10s, "A call took 20 ms, and much more is counted.");
}

void exceptions_go_on() {
  FunctionMetrics metrics("exceptions");
  bool caught = false;
  try {
    metrics.call([] { throw std::runtime_error("mine"); });
  } catch (const std::runtime_error& error) {
    caught = std::string("mine") == error.what();
  }
  expect(caught, "The function's exception does not go on to the caller.");
  expect_counted(metrics, 1, 1);
  metrics.call([] {
    try {
      throw 1;
    } catch (int) {
    }
  });
  expect_counted(metrics, 2, 1);
  const auto before = metrics.read().latencies.sum;
  try {
    metrics.call([] {
      std::this_thread::sleep_for(20ms);
      throw std::runtime_error("late");
    });
  } catch (const std::runtime_error&) {
  }
  expect(metrics.read().latencies.sum - before >= 20ms, "A call took 20 ms until it threw, and less is counted.");
}

void calls_of_a_destructor() {
  FunctionMetrics metrics("destructor");
  struct Last {
    FunctionMetrics& metrics;
    ~Last() {
      metrics.call([] {});
    }
  };
  try {
    const Last last{metrics};
    throw std::runtime_error("another one");
  } catch (const std::runtime_error&) {
  }
  expect(metrics.read().errors == 0,
         "A call that is made by a destructor, while another exception is under way, is counted as an error.");
  expect_counted(metrics, 1, 0);

  struct Failing {
    FunctionMetrics& metrics;
    ~Failing() {
      try {
        metrics.call([] { throw 1; });
      } catch (int) {
      }
    }
  };
  try {
    const Failing failing{metrics};
    throw std::runtime_error("another one");
  } catch (const std::runtime_error&) {
  }
  expect(metrics.read().errors == 1,
         "A call is made by a destructor, while another exception is under way, throws itself, and is not an error.");
  expect_counted(metrics, 2, 1);
}

void calls_run_at_the_same_time() {
  FunctionMetrics metrics("together");
  std::atomic<int> inside = 0, ended = 0;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      metrics.call([&] {
        ++inside;
        expect(judge::within_two_seconds([&] { return inside == 2; }), "Two calls do not run at the same time.");
      });
      ++ended;
    });
  }
  threads.clear();
  std::jthread again([&] {
    metrics.call([&] { metrics.call([] {}); });
    ++ended;
  });
  expect(judge::within_two_seconds([&] { return ended == 3; }), "A function that calls again never returns.");
  expect_counted(metrics, 4, 0);
}

/// A thread calls a function that throws, and is stopped again and again for a moment, wherever it is.
void readings_are_of_one_moment() {
  FunctionMetrics metrics("readings");
  std::atomic<bool> stop = false, same = true;
  std::atomic<std::uint64_t> calls = 0;
  std::jthread caller([&] {
    for (; !stop; ++calls) {
      try {
        metrics.call([] { throw 1; });
      } catch (int) {
      }
    }
  });
  const auto look = [&] {
    const FunctionMetrics::Reading reading = metrics.read();
    if (reading.errors != reading.latencies.total()) same = false;
  };
  for (int pause = 0; pause < 400 && same; ++pause) {
    pthread_kill(caller.native_handle(), SIGUSR1);
    for (int i = 0; i < 20; ++i) look();
    std::this_thread::sleep_for(50us);
  }
  stop = true;
  caller.join();
  expect(same, "All calls threw, and a reading has other numbers of calls and of errors: not about the same calls.");
  expect_counted(metrics, calls, calls);
}

/// What a thread does when it is stopped.
void pause_here(int) {
  const timespec moment = {0, 300'000};
  nanosleep(&moment, nullptr);
}

}  // namespace

int main() {
  signal(SIGUSR1, pause_here);
  results_come_back();
  times_are_measured();
  exceptions_go_on();
  calls_of_a_destructor();
  calls_run_at_the_same_time();
  readings_are_of_one_moment();
  std::puts("all calls are counted");
}
