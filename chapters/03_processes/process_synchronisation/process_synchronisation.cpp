// Process synchronisation
//
// Two processes meet at a barrier and then print the time; two others print it as they come. Then four workers wait for
// an event and count under a lock. The primitives work between processes as between threads on two conditions: they lie
// in memory that the processes share, and they are made for it.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/03_processes chapters/03_processes/process_synchronisation/process_synchronisation.cpp common/cookbook/*.cpp -lfmt -pthread -o process_synchronisation
// Run:     process_synchronisation [--workers N] [--rounds N]

#include <fmt/chrono.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "cookbook/process.hpp"
#include "primitives.hpp"
#include "shared_memory.hpp"

namespace {

using Clock = std::chrono::steady_clock;  // the same for all processes of a machine
constexpr std::chrono::seconds timeout(10);

struct Meeting {
  Barrier barrier{2};
  Semaphore printed{0};  // one permit for each of p3 and p4 that has printed
  Clock::time_point arrived[2], went_on[4];
};

struct Work {
  Semaphore ready{0};  // one permit for each worker that has started
  Event start;
  Mutex mutex;
  long counter = 0;  // protected by the mutex
};

/// Stores the time and prints it.
void note_and_print_time(Clock::time_point& went_on, const char* name) {
  went_on = Clock::now();
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto micro = std::chrono::duration_cast<std::chrono::microseconds>(now).count();
  cookbook::println("process {} ----> {:%Y-%m-%d %H:%M:%S}.{:06}", name, fmt::localtime(micro / 1'000'000),
                    micro % 1'000'000);
}

void test_with_barrier(Meeting& meeting, int self, const char* name) {
  meeting.arrived[self] = Clock::now();
  if (meeting.barrier.wait_for(timeout)) note_and_print_time(meeting.went_on[self], name);
}

void test_without_barrier(Meeting& meeting, int self, const char* name) {
  note_and_print_time(meeting.went_on[self], name);
  meeting.printed.post();
}

/// One of the workers. Returns its exit code.
int work_on(Work& work, int rounds) {
  work.ready.post();                            // semaphore: one more is ready
  if (!work.start.wait_for(timeout)) return 1;  // event: wait until the parent sets it

  for (int i = 0; i < rounds; ++i) {
    const std::scoped_lock lock(work.mutex);  // lock: one process at a time
    ++work.counter;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  int workers = 4, rounds = 1000;
  cookbook::Options options("Synchronise processes: a barrier, a semaphore, an event and a lock");
  options.add("workers", workers, "processes that wait for the event and count", 1, 32);
  options.add("rounds", rounds, "changes that each worker makes under the lock", 1, 1'000'000);
  options.parse(argc, argv);

  const Shared<Meeting> meeting;
  std::vector<pid_t> four;
  four.push_back(cookbook::start_child([&] { test_with_barrier(*meeting, 0, "p1 - test_with_barrier"); }));
  four.push_back(cookbook::start_child([&] {
    for (int i = 0; i < 2; ++i) meeting->printed.wait();  // late on purpose: p3 and p4 have printed
    test_with_barrier(*meeting, 1, "p2 - test_with_barrier");
  }));
  four.push_back(cookbook::start_child([&] { test_without_barrier(*meeting, 2, "p3 - test_without_barrier"); }));
  four.push_back(cookbook::start_child([&] { test_without_barrier(*meeting, 3, "p4 - test_without_barrier"); }));
  for (const pid_t process : four) cookbook::exit_code_of(process);

  const Shared<Work> work;
  std::vector<pid_t> children;
  for (int i = 0; i < workers; ++i) {
    children.push_back(cookbook::start_child([&] { return work_on(*work, rounds); }));
  }
  for (int i = 0; i < workers; ++i) work->ready.wait();
  const long before = work->counter;
  work->start.set();
  for (const pid_t child : children) cookbook::exit_code_of(child);

  const auto& [p1, p2, p3, p4] = meeting->went_on;
  cookbook::Checks checks;
  checks.that(
      "barrier: p1 and p2 went on after both had come, p3 and p4 before",
      std::min(p1, p2) >= std::max(meeting->arrived[0], meeting->arrived[1]) && std::max(p3, p4) < meeting->arrived[1]);
  checks.equal("event: changes made before it was set", before, 0L);
  checks.equal("lock: changes that were lost", 1L * workers * rounds - work->counter, 0L);
  return checks.exit_code();
}
