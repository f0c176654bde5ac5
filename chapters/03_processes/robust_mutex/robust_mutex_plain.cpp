// Pitfall: a mutex that is not robust
//
// A child locks a mutex for processes and is killed. The mutex stays locked, and the parent waits for it for ever.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/03_processes chapters/03_processes/robust_mutex/robust_mutex_plain.cpp common/cookbook/*.cpp -lfmt -pthread -o robust_mutex_plain
// Run:     robust_mutex_plain, then Ctrl-C
// Symptom: hangs

#include <pthread.h>

#include <csignal>

#include "cookbook/posix.hpp"
#include "cookbook/print.hpp"
#include "cookbook/process.hpp"
#include "shared_memory.hpp"

int main() {
  const Shared<pthread_mutex_t> mutex;
  pthread_mutexattr_t how;
  check_error(pthread_mutexattr_init(&how), "pthread_mutexattr_init");
  check_error(pthread_mutexattr_setpshared(&how, PTHREAD_PROCESS_SHARED), "pthread_mutexattr_setpshared");
  // Missing: pthread_mutexattr_setrobust(&how, PTHREAD_MUTEX_ROBUST);
  check_error(pthread_mutex_init(&*mutex, &how), "pthread_mutex_init");

  const pid_t child = cookbook::start_child([&] {
    check_error(pthread_mutex_lock(&*mutex), "pthread_mutex_lock");
    raise(SIGKILL);
  });
  cookbook::println("the owner of the lock was killed: {}", cookbook::exit_code_of(child));
  for (int i = 1; i <= 2; ++i) {
    const int error = pthread_mutex_lock(&*mutex);
    check_error(error, "pthread_mutex_lock");
    cookbook::println("the parent has the lock, time {} of 2", i);
    check_error(pthread_mutex_unlock(&*mutex), "pthread_mutex_unlock");
  }
}
