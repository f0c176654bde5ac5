// Process synchronisation
//
// Two processes meet at a barrier, two run as they come: the first two go on only when both are there. Lock, event,
// condition, semaphore, recursive lock and barrier work between processes as between threads, in memory that they share
// and made for it. What threads do not know: a process can be killed while it holds a lock. A robust mutex tells the
// next one so, who repairs and goes on. The pitfall, process_synchronisation_stuck.cpp, waits for the dead.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/03_processes chapters/03_processes/process_synchronisation/process_synchronisation.cpp common/cookbook/*.cpp -lfmt -pthread -o process_synchronisation
// Run:     process_synchronisation [--late-ms N] [--phases N] [--processes N] [--rounds N]

#include <fmt/chrono.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <ctime>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "child.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "primitives.hpp"      // Condition, Event, Semaphore, Barrier
#include "robust_mutex.hpp"    // RobustMutex, Hold
#include "shared_memory.hpp"   // Shared
#include "six_primitives.hpp"  // check_lock() and its like

namespace {

using Clock = std::chrono::steady_clock;  // the same for all processes of a machine

constexpr int max_phases = 1000;

struct Meeting {
  Barrier barrier{2};
  Semaphore printed{0};  // a permit for each of p3 and p4 that has printed
  Clock::time_point p2_began;
  Clock::time_point arrived[2][max_phases], went_on[2][max_phases];  // p1 and p2
  Clock::time_point stamped[2];                                      // p3 and p4
};

void print_time(const char* name) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto micro = std::chrono::duration_cast<std::chrono::microseconds>(now).count();
  cookbook::println("process {} ----> {:%Y-%m-%d %H:%M:%S}.{:06}", name, fmt::localtime(micro / 1'000'000),
                    micro % 1'000'000);
}

/// p1 and p2: meet at the barrier, then read the clock; and again, phase by phase.
int test_with_barrier(Meeting& meeting, int self, int phases) {
  for (int phase = 0; phase < phases; ++phase) {
    meeting.arrived[self][phase] = Clock::now();
    if (meeting.barrier.wait_for(timeout) != Barrier::Result::all_here) return 1;
    meeting.went_on[self][phase] = Clock::now();
    if (phase == 0) print_time(self == 0 ? "p1 - test_with_barrier" : "p2 - test_with_barrier");
  }
  return 0;
}

/// p3 and p4: read the clock.
void test_without_barrier(Meeting& meeting, int self) {
  meeting.stamped[self] = Clock::now();
  print_time(self == 0 ? "p3 - test_without_barrier" : "p4 - test_without_barrier");
  meeting.printed.release();
}

void meet(int phases, std::chrono::milliseconds late, cookbook::Checks& checks) {
  const Shared<Meeting> meeting;
  const pid_t p1 = start_child([&] { return test_with_barrier(*meeting, 0, phases); });
  const pid_t p2 = start_child([&] {
    // Late on purpose: when p3 and p4 have printed, and then some time.
    meeting->p2_began = Clock::now();
    for (int i = 0; i < 2; ++i) meeting->printed.acquire_for(timeout);
    std::this_thread::sleep_for(late);
    return test_with_barrier(*meeting, 1, phases);
  });
  const pid_t p3 = start_child([&] { test_without_barrier(*meeting, 0); });
  const pid_t p4 = start_child([&] { test_without_barrier(*meeting, 1); });
  checks.equal("exit codes of p1 to p4",
               std::vector<int>{exit_code_of(p1), exit_code_of(p2), exit_code_of(p3), exit_code_of(p4)}, {0, 0, 0, 0});

  int too_early = 0;
  for (int phase = 0; phase < phases; ++phase) {
    const auto both_here = std::max(meeting->arrived[0][phase], meeting->arrived[1][phase]);
    too_early += std::min(meeting->went_on[0][phase], meeting->went_on[1][phase]) < both_here;
  }
  const auto p2_came = meeting->arrived[1][0];
  checks.equal("phases in which p1 or p2 went on before both had come", too_early, 0);
  checks.that("p1 was held until p2 came, all the time that p2 was late",
              meeting->went_on[0][0] >= p2_came && p2_came - meeting->p2_began >= late);
  checks.that("p3 and p4 waited for nobody", std::max(meeting->stamped[0], meeting->stamped[1]) < p2_came);
}

/// Alone at a barrier for two; the other comes too late; both after a reset.
void wait_in_vain(cookbook::Checks& checks) {
  const Shared<Barrier> barrier(2);
  const auto visit = [&](Duration limit) {
    return start_child([&barrier, limit] { return static_cast<int>(barrier->wait_for(limit)); });
  };
  const int alone = exit_code_of(visit(std::chrono::milliseconds(10)));
  const int too_late = exit_code_of(visit(timeout));
  barrier->reset();
  const pid_t one = visit(timeout), two = visit(timeout);
  std::vector<std::string> results;
  for (const int result : {alone, too_late, exit_code_of(one), exit_code_of(two)}) {
    results.push_back(std::vector<std::string>{"all here", "timed out", "broken"}.at(static_cast<std::size_t>(result)));
  }
  checks.equal("a barrier for two, for one alone, one later, two after a reset", results,
               {"timed out", "broken", "all here", "all here"});
}

/// An owner is killed half-way through a transfer; others wait for its lock.
void lose_the_owner(int processes, cookbook::Checks& checks) {
  struct Accounts {
    RobustMutex mutex;
    Event half_way;
    int first = 70, second = 30;  // 100 together, unless somebody is half-way through a transfer
    int told = 0, transfers = 0;
  };
  const Shared<Accounts> accounts;
  const pid_t owner = start_child([&] {
    const Hold hold(accounts->mutex);
    accounts->first -= 10;
    accounts->half_way.set();
    for (;;) pause();
  });
  const bool half_way = accounts->half_way.wait_for(timeout);
  const auto others = start_children(processes, [&](int) {
    Hold hold(accounts->mutex);
    if (hold.owner_died()) {
      accounts->second = 100 - accounts->first;  // ends the transfer
      ++accounts->told;
      hold.repaired();
    }
    accounts->first -= 1;
    accounts->second += 1;
    ++accounts->transfers;
  });
  check(kill(owner, SIGKILL), "kill");
  checks.equal("killed half-way through a transfer, with the lock: its exit code", exit_code_of(owner), -SIGKILL);
  checks.equal("others that failed", failed(others) + !half_way, 0L);
  checks.equal("others that got the lock", accounts->transfers, processes);
  checks.equal("others that were told, and repaired", accounts->told, 1);
  checks.equal("both accounts, the dead one's transfer included", std::vector<int>{accounts->first, accounts->second},
               {60 - processes, 40 + processes});
}

/// An owner is killed, and the next one gives the lock back as if nothing had happened.
void repair_nothing(cookbook::Checks& checks) {
  const Shared<RobustMutex> mutex;
  std::vector<std::string> fates;
  for (int i = 0; i < 4; ++i) {
    const int code = exit_code_of(start_child([&] {
      try {
        const Hold hold(*mutex);
        if (i == 0) kill(getpid(), SIGKILL);
        return hold.owner_died() ? 1 : 0;
      } catch (const std::runtime_error&) {
        return 2;
      }
    }));
    fates.push_back(code == -SIGKILL ? "killed" : code == 1 ? "told" : code == 2 ? "refused" : "unaware");
  }
  checks.equal("four owners of a lock that nobody repairs", fates, {"killed", "told", "refused", "refused"});
}

void measure_locks(const cookbook::Checks& checks) {
  constexpr int locks = 100'000;
  std::thread([] {}).join();  // a program that never had a second thread locks without atomic operations
  std::mutex for_threads;
  const Shared<RobustMutex> for_processes;
  cookbook::Figures figures("lock and unlock, nobody else wants it", cookbook::cost("ns", 1e-9));
  figures.measure({{"std::mutex", locks,
                    [&] {
                      for (int i = 0; i < locks; ++i) const std::scoped_lock hold(for_threads);
                    }},
                   {"RobustMutex", locks,
                    [&] {
                      for (int i = 0; i < locks; ++i) const Hold hold(*for_processes);
                    }}},
                  9);
  figures.times("std::mutex");
  figures.print(checks);
}

}  // namespace

int main(int argc, char** argv) {
  int late_ms = 20, phases = 3, processes = 4;
  long rounds = 1000;
  cookbook::Options options("Synchronise processes, and survive the death of one that holds a lock");
  options.add("late-ms", late_ms, "time that p2 comes late to the barrier", 0, 5000);
  options.add("phases", phases, "how often p1 and p2 meet", 1, max_phases);
  options.add("processes", processes, "processes that share each of the six primitives", 1, max_processes);
  options.add("rounds", rounds, "changes under the lock, visits under the semaphore, phases of the barrier, of each", 1,
              1'000'000);
  options.parse(argc, argv);

  cookbook::Checks checks;
  meet(phases, std::chrono::milliseconds(late_ms), checks);
  wait_in_vain(checks);

  lose_the_owner(processes, checks);
  repair_nothing(checks);

  check_lock(processes, rounds, checks);
  check_event(processes, checks);
  check_condition(processes, checks);
  check_semaphore(processes, rounds, checks);
  check_recursive_lock(checks);
  check_barrier(processes, rounds, checks);

  measure_locks(checks);
  return checks.exit_code();
}
