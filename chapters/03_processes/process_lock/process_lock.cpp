// Lock between processes
//
// Which locks work between processes? Four processes add 1 to a counter in shared memory, a million times each: without
// a lock, and with mutexes that are made for threads or for processes, and lie in ordinary or in shared memory. Only
// the one that is made for processes and lies in shared memory loses no change and leaves nobody asleep.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/03_processes chapters/03_processes/process_lock/process_lock.cpp common/cookbook/*.cpp -lfmt -pthread -o process_lock
// Run:     process_lock [--processes N] [--changes N]

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <boost/interprocess/sync/interprocess_mutex.hpp>
#include <mutex>
#include <thread>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "cookbook/process.hpp"
#include "shared_memory.hpp"
#include "watched_children.hpp"

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

/// Lets so many processes count under this lock. Prints a row; returns how many changes the counter lacks.
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
  const Ends ends = ends_of(children, board->counter);
  close(quiet);
  const double ns = watch.seconds() * 1e9 / static_cast<double>(processes * changes);
  const long lost = processes * changes - board->counter;
  const bool all = ends.good == processes;
  cookbook::println("{:<39}{:4}{:9}{:8}{:>16}{:>13}", name, ends.good, ends.aborted, ends.asleep,
                    all ? fmt::format("{}", lost) : "-", all ? fmt::format("{:.1f} ns", ns) : "-");
  return lost;
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
  // These two lie in the memory of this process: each child will have copies of its own.
  std::mutex std_in_ordinary;
  boost::interprocess::interprocess_mutex ipc_in_ordinary;
  const Shared<std::mutex> std_in_shared;
  const Shared<boost::interprocess::interprocess_mutex> ipc_in_shared;

  cookbook::println("                                       done  aborted  asleep    changes lost   one change");
  print_row("no lock", no_lock, processes, changes);
  print_row("std::mutex in ordinary memory", std_in_ordinary, processes, changes);
  print_row("interprocess_mutex in ordinary memory", ipc_in_ordinary, processes, changes);
  print_row("std::mutex in shared memory", *std_in_shared, processes, changes);
  const long lost = print_row("interprocess_mutex in shared memory", *ipc_in_shared, processes, changes);

  cookbook::Checks checks;
  checks.equal("changes lost with the interprocess_mutex in shared memory", lost, 0L);
  return checks.exit_code();
}
