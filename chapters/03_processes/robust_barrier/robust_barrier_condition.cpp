// Pitfall: a process is killed while it waits at a pthread_cond_t
//
// POSIX has no robust condition variable, though it has a robust mutex. That of glibc 2.36 counts who waits. A child is
// killed while it waits, and is never counted out again. The second pthread_cond_broadcast() after that waits for it
// for ever: the waiters are kept in two groups, which take turns, and a group is used again only when all have left it.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/03_processes chapters/03_processes/robust_barrier/robust_barrier_condition.cpp common/cookbook/*.cpp -lfmt -pthread -o robust_barrier_condition
// Run:     robust_barrier_condition, then Ctrl-C
// Symptom: hangs

#include <pthread.h>

#include <csignal>
#include <fstream>
#include <string>

#include "cookbook/posix.hpp"
#include "cookbook/print.hpp"
#include "cookbook/process.hpp"
#include "one_shot_event.hpp"
#include "robust_mutex.hpp"
#include "shared_memory.hpp"

namespace {

struct Board {
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  int changes;
};

pid_t start_waiting(Board& board) {
  OneShotEvent has_lock;
  const pid_t child = cookbook::start_child([&] {
    check_error(pthread_mutex_lock(&board.mutex), "pthread_mutex_lock");
    has_lock.give();
    const int before = board.changes;
    while (board.changes == before) check_error(pthread_cond_wait(&board.changed, &board.mutex), "pthread_cond_wait");
    const int after = board.changes;
    check_error(pthread_mutex_unlock(&board.mutex), "pthread_mutex_unlock");
    return after;
  });
  has_lock.wait();
  // Not before the child sleeps, which is the state S in /proc/<its id>/stat: only then is it counted as one that
  // waits.
  for (std::string state; state != "S";) {
    std::ifstream stat(fmt::format("/proc/{}/stat", child));
    stat >> state >> state >> state;  // its id, its name, its state
  }
  return child;
}

void change(Board& board) {
  check_error(pthread_mutex_lock(&board.mutex), "pthread_mutex_lock");
  ++board.changes;
  check_error(pthread_mutex_unlock(&board.mutex), "pthread_mutex_unlock");
  check_error(pthread_cond_broadcast(&board.changed), "pthread_cond_broadcast");  // hangs the second time
}

}  // namespace

int main() {
  const Shared<Board> board;
  init_robust(board->mutex);
  pthread_condattr_t how;
  check_error(pthread_condattr_init(&how), "pthread_condattr_init");
  check_error(pthread_condattr_setpshared(&how, PTHREAD_PROCESS_SHARED), "pthread_condattr_setpshared");
  check_error(pthread_cond_init(&board->changed, &how), "pthread_cond_init");

  const pid_t dead = start_waiting(*board);
  check(kill(dead, SIGKILL), "kill");
  cookbook::println("a process that waited was killed: {}", cookbook::exit_code_of(dead));
  for (int i = 0; i < 2; ++i) {
    const pid_t child = start_waiting(*board);
    change(*board);
    cookbook::println("another one was woken after change {}", cookbook::exit_code_of(child));
  }
}
