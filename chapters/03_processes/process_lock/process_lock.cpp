// Lock between processes
//
// Which locks work between processes? Four processes add 1 to a counter in shared memory, a million times each: without
// a lock, with a lock that lies in ordinary memory, with one that lies in shared memory but is made for the threads of
// one process, and with one that is made for processes. The last one alone loses no change and leaves nobody asleep.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/03_processes chapters/03_processes/process_lock/process_lock.cpp common/cookbook/*.cpp -lfmt -pthread -o process_lock
// Run:     process_lock [--processes N] [--changes N]

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <boost/interprocess/sync/interprocess_mutex.hpp>
#include <chrono>
#include <csignal>
#include <fstream>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "cookbook/process.hpp"
#include "shared_memory.hpp"

namespace {

struct NoLock {
  void lock() {}
  void unlock() {}
};

/// An atomic variable that needs no lock of its own works between processes, too.
struct Board {
  static_assert(std::atomic<int>::is_always_lock_free && std::atomic<long>::is_always_lock_free);
  std::atomic<int> started = 0;
  std::atomic<long> counter = 0;
};

/// Adds 1 in two steps. Without a lock, another process can change the counter in between.
template <typename Mutex>
void add_often(Board& board, Mutex& mutex, long changes) {
  for (long i = 0; i < changes; ++i) {
    const std::scoped_lock lock(mutex);
    const long seen = board.counter.load();
    board.counter.store(seen + 1);
  }
}

/// How processes have ended; "aborted" is every end but that with 0.
struct Ends {
  int good = 0, aborted = 0, asleep = 0;
};

/// As in /proc: "S" if it sleeps, "Z" if it has ended, or another letter, "R" for example if it works.
std::string state_of(pid_t process) {
  std::ifstream stat(fmt::format("/proc/{}/stat", process));
  std::string id, name, state = "Z";
  stat >> id >> name >> state;
  return state;
}

/// Whether this child and all others that have not ended sleep. Their states are read one after the other, but while
/// one of them worked, the counter would soon change.
bool all_sleep(pid_t child, const std::vector<pid_t>& children, const Board& board) {
  const long before = board.counter;
  const bool nobody_works = std::all_of(children.begin(), children.end(), [](pid_t other) {
    const std::string state = state_of(other);
    return state == "S" || state == "Z";
  });
  return nobody_works && state_of(child) == "S" && board.counter == before;
}

/// Waits for the ends of these processes. When all that are left sleep, nobody will wake them, and it kills them.
Ends ends_of(const std::vector<pid_t>& children, const Board& board) {
  Ends ends;
  for (const pid_t child : children) {
    std::optional<int> code;
    for (bool all_asleep = false; !code && !all_asleep;) {
      all_asleep = all_sleep(child, children, board);
      code = cookbook::exit_code_of(child, std::chrono::milliseconds(all_asleep ? 0 : 5));
    }
    ++(!code ? ends.asleep : *code == 0 ? ends.good : ends.aborted);
    if (code) continue;
    check(kill(child, SIGKILL), "kill");
    cookbook::exit_code_of(child);
  }
  return ends;
}

/// Lets so many processes count under this lock. Prints a row; returns where the counter ends.
template <typename Mutex>
long print_row(const char* name, Mutex& mutex, int processes, long changes) {
  const Shared<Board> board;
  const int quiet = check(open("/dev/null", O_WRONLY | O_CLOEXEC), "open");
  std::vector<pid_t> children;
  const cookbook::Stopwatch watch;
  for (int i = 0; i < processes; ++i) {
    children.push_back(cookbook::start_child([&] {
      check(dup2(quiet, STDERR_FILENO), "dup2");  // glibc may notice that its mutex is broken, complain, and abort
      ++board->started;
      while (board->started < processes) std::this_thread::yield();  // so that they work at the same time
      add_often(*board, mutex, changes);
    }));
  }
  const Ends ends = ends_of(children, *board);
  close(quiet);
  const double ns = watch.seconds() * 1e9 / static_cast<double>(processes * changes);
  const std::string cost = ends.good == processes ? fmt::format("{:.1f} ns", ns) : "-";
  cookbook::println("{:<36}{:5}{:9}{:8}{:18}{:>13}", name, ends.good, ends.aborted, ends.asleep, board->counter.load(),
                    cost);
  return board->counter;
}

}  // namespace

int main(int argc, char** argv) {
  int processes = 4;
  long changes = 1'000'000;
  cookbook::Options options("Lock between processes");
  options.add("processes", processes, "processes that count", 1, 32);
  options.add("changes", changes, "changes that each process makes", 1, 10'000'000);
  options.parse(argc, argv);

  NoLock no_lock;
  std::mutex ordinary;  // in the memory of this process: each child will have a copy of its own
  const Shared<std::mutex> for_threads;
  const Shared<boost::interprocess::interprocess_mutex> for_processes;

  cookbook::println("                                     done  aborted  asleep   counter ends at   one change");
  print_row("no lock", no_lock, processes, changes);
  print_row("std::mutex in ordinary memory", ordinary, processes, changes);
  print_row("std::mutex in shared memory", *for_threads, processes, changes);
  const long counted = print_row("interprocess_mutex in shared memory", *for_processes, processes, changes);

  cookbook::Checks checks;
  checks.equal("changes lost with the interprocess_mutex", processes * changes - counted, 0L);
  return checks.exit_code();
}
