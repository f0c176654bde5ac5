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
#include <string>
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
  const Ends ends = ends_of(children, board->counter);
  close(quiet);
  const double ns = watch.seconds() * 1e9 / static_cast<double>(processes * changes);
  const std::string cost = ends.good == processes ? fmt::format("{:.1f} ns", ns) : "-";
  cookbook::println("{:<39}{:4}{:9}{:8}{:18}{:>13}", name, ends.good, ends.aborted, ends.asleep, board->counter.load(),
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
  // These two lie in the memory of this process: each child will have copies of its own.
  std::mutex ordinary_for_threads;
  boost::interprocess::interprocess_mutex ordinary_for_processes;
  const Shared<std::mutex> shared_for_threads;
  const Shared<boost::interprocess::interprocess_mutex> shared_for_processes;

  cookbook::println("                                       done  aborted  asleep   counter ends at   one change");
  print_row("no lock", no_lock, processes, changes);
  print_row("std::mutex in ordinary memory", ordinary_for_threads, processes, changes);
  print_row("interprocess_mutex in ordinary memory", ordinary_for_processes, processes, changes);
  print_row("std::mutex in shared memory", *shared_for_threads, processes, changes);
  const long counted = print_row("interprocess_mutex in shared memory", *shared_for_processes, processes, changes);

  cookbook::Checks checks;
  checks.equal("changes lost with the interprocess_mutex in shared memory", processes * changes - counted, 0L);
  return checks.exit_code();
}
