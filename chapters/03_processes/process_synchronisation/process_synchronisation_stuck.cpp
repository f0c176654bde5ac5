// Process synchronisation, stuck
//
// Three ways to wait for ever. --mistake owner: a child is killed while it holds a mutex that is not robust. waiter: a
// child is killed while it waits at a pthread_cond_t, and whoever notifies waits for it. latch: the parent opens a
// std::latch in shared memory, but the standard library looks for waiters in a table of its own process.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/03_processes chapters/03_processes/process_synchronisation/process_synchronisation_stuck.cpp common/cookbook/*.cpp -lfmt -pthread -o process_synchronisation_stuck
// Run:     process_synchronisation_stuck [--mistake owner|waiter|latch]
// Symptom: hangs

#include <pthread.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <latch>
#include <string>
#include <thread>

#include "child.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "cookbook/system_check.hpp"
#include "shared_memory.hpp"

namespace {

struct Shelf {
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  std::latch latch{1};
};

/// Both made for processes; the mutex is not made robust.
void make(Shelf& shelf) {
  pthread_mutexattr_t mutex;
  pthread_condattr_t condition;
  check_error(pthread_mutexattr_init(&mutex), "pthread_mutexattr_init");
  check_error(pthread_condattr_init(&condition), "pthread_condattr_init");
  check_error(pthread_mutexattr_setpshared(&mutex, PTHREAD_PROCESS_SHARED), "pthread_mutexattr_setpshared");
  check_error(pthread_condattr_setpshared(&condition, PTHREAD_PROCESS_SHARED), "pthread_condattr_setpshared");
  check_error(pthread_mutex_init(&shelf.mutex, &mutex), "pthread_mutex_init");
  check_error(pthread_cond_init(&shelf.changed, &condition), "pthread_cond_init");
}

void wait_for_a_moment() { std::this_thread::sleep_for(std::chrono::milliseconds(100)); }

/// Does `work` in a child, which is killed a moment later.
template <typename Work>
void lose_a_child(Work work) {
  const pid_t child = start_child([&] {
    work();
    for (;;) pause();
  });
  wait_for_a_moment();
  check(kill(child, SIGKILL), "kill");
  cookbook::println("a child was killed: {}", exit_code_of(child));
}

void wait_at(Shelf& shelf) {
  check_error(pthread_mutex_lock(&shelf.mutex), "pthread_mutex_lock");
  check_error(pthread_cond_wait(&shelf.changed, &shelf.mutex), "pthread_cond_wait");
  check_error(pthread_mutex_unlock(&shelf.mutex), "pthread_mutex_unlock");
}

}  // namespace

int main(int argc, char** argv) {
  std::string mistake = "owner";
  cookbook::Options options("Wait for a process that is dead, or cannot hear");
  options.add_choice("mistake", mistake, "what is wrong", {"owner", "waiter", "latch"});
  options.parse(argc, argv);

  const Shared<Shelf> shelf;
  make(*shelf);
  if (mistake == "owner") {
    lose_a_child([&] { check_error(pthread_mutex_lock(&shelf->mutex), "pthread_mutex_lock"); });
    check_error(pthread_mutex_lock(&shelf->mutex),
                "pthread_mutex_lock");  // the dead one's: not free, and never will be
  } else if (mistake == "waiter") {
    lose_a_child([&] { wait_at(*shelf); });
    for (int i = 0; i < 2; ++i) {
      const pid_t child = start_child([&] { wait_at(*shelf); });
      wait_for_a_moment();
      check_error(pthread_cond_broadcast(&shelf->changed), "pthread_cond_broadcast");  // hangs the second time
      cookbook::println("a living one was woken: {}", exit_code_of(child));
    }
  } else {
    const pid_t child = start_child([&] { shelf->latch.wait(); });
    wait_for_a_moment();
    shelf->latch.count_down();  // wakes nobody: no thread of this process waits
    cookbook::println("the latch is open: {}", shelf->latch.try_wait() ? "yes" : "no");
    exit_code_of(child);
  }
  cookbook::println("never reached");
}
