// Tests a SpinLock that a learner has written.

#include "spin_lock.hpp"

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <latch>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
using judge::expect;
using judge::within_two_seconds;

namespace {

std::atomic<long> yields = 0;

/// How often the thread has given its core away, by a yield or a sleep. No other thread yields meanwhile.
long given_away(pid_t thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/status");
  long sleeps = 0;
  for (std::string word; file >> word;) {
    if (word == "voluntary_ctxt_switches:") file >> sleeps;
  }
  return yields + sleeps;
}

/// A lock in memory of its own, which can be made read-only: then it is seen who writes into it.
struct Watched {
  static constexpr std::size_t size = 1 << 16;  // a multiple of any page's size
  inline static char* memory = nullptr;
  inline static std::atomic<int> writes = 0;

  static SpinLock& lock() {
    void* const got = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    expect(got != MAP_FAILED, "There is no memory.");
    memory = static_cast<char*>(got);
    struct sigaction action = {};
    action.sa_sigaction = written;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, nullptr);
    static_assert(sizeof(SpinLock) <= size);
    return *new (memory) SpinLock;
  }

  static void allow(int what) { mprotect(memory, size, what); }

  /// The write is made again when this returns.
  static void written(int, siginfo_t* about, void*) {
    const char* place = static_cast<const char*>(about->si_addr);
    if (place < memory || place >= memory + size) {
      signal(SIGSEGV, SIG_DFL);
      return;
    }
    ++writes;
    allow(PROT_READ | PROT_WRITE);
  }
};

}  // namespace

// Stands before the library's own function, and counts: std::this_thread::yield() calls it.
extern "C" int sched_yield() noexcept {
  ++yields;
  return static_cast<int>(syscall(SYS_sched_yield));
}

namespace {

void one_thread() {
  SpinLock lock;
  lock.lock();
  judge::elsewhere([&] { expect(!lock.try_lock(), "Another thread takes a lock that is held."); });
  lock.unlock();
  judge::elsewhere([&] {
    expect(lock.try_lock(), "Nobody can take a lock that was given back.");
    lock.unlock();
  });
  lock.lock();  // it works more than once
  lock.unlock();
}

void a_thread_waits() {
  SpinLock& lock = Watched::lock();
  std::atomic<bool> through = false;
  std::atomic<pid_t> id = 0;
  std::atomic<long> before = 0;
  lock.lock();
  std::jthread other([&] {
    before = given_away(gettid());
    id = gettid();
    lock.lock();
    lock.unlock();
    through = true;
  });
  while (id == 0) std::this_thread::sleep_for(1ms);
  within_two_seconds([&] { return through || given_away(id) >= before + 10; });
  expect(!through, "lock() does not wait for the holder.");
  const long times = given_away(id) - before;
  expect(times > 0, "A thread that waits long does not give its core away.");
  expect(times >= 10, "A thread that waits long gives its core away a few times, and then keeps it busy.");
#ifndef __SANITIZE_THREAD__  // its own code would be interrupted in the midst
  for (int i = 0; i < 10; ++i) {
    const int writes = Watched::writes;
    Watched::allow(PROT_READ);
    for (int looks = 0; looks < 20 && Watched::writes == writes; ++looks) std::this_thread::sleep_for(1ms);
    Watched::allow(PROT_READ | PROT_WRITE);
  }
  expect(Watched::writes < 5, "A thread that waits writes to the flag again and again.");
#endif
  expect(!through, "lock() does not wait for the holder.");
  lock.unlock();
  expect(within_two_seconds([&] { return through.load(); }), "lock() does not see that the lock is free.");
}

void many_threads() {
  SpinLock lock;
  long plain = 0;  // not atomic: the lock has to make each change visible to the next holder
  {
    std::latch all_are_there(4);
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        all_are_there.arrive_and_wait();
        for (int round = 0; round < 20'000; ++round) {
          const std::scoped_lock mine(lock);
          const long seen = plain;
          if (round % 1'000 == 0) std::this_thread::yield();
          plain = seen + 1;
        }
      });
    }
  }
  expect(plain == 80'000, "Two threads were inside at the same time.");
}

}  // namespace

int main() {
  one_thread();
  a_thread_waits();
  many_threads();
  std::puts("one thread holds the lock at a time");
}
