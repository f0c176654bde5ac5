// Loaded before a program by LD_PRELOAD, when an exercise is judged: writes to the file that COOKBOOK_EXERCISE_RECORD
// names a line "threads N" whenever more threads than before exist at the same time in this process, main included, and
// a line "process" for each process that this one starts. A thread exists until it is joined, or, if it is detached,
// until it has ended: one that has little to do may have done it before the next one is started. A program that is
// started by no other such program writes "begin" and, when its main() returns, "main returned".

#include <pthread.h>
#include <spawn.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>

#include "interposer.hpp"

namespace {

std::atomic<int> alive = 1, most = 1;

struct Start {
  void* (*function)(void*);
  void* argument;
};

/// The threads that have not left. Never destroyed, since threads may end when main() has returned.
struct Threads {
  enum class State { running, ended, detached };

  std::mutex mutex;  // held while a thread is created: so it is in the list before it ends
  std::map<pthread_t, State> states;

  /// A thread ends, or is detached. It has left when both have happened.
  void change(pthread_t thread, State now, State other) {
    const auto place = states.find(thread);
    if (place == states.end()) return;  // somebody joins it
    if (place->second == other) {
      states.erase(place);
      --alive;
    } else {
      place->second = now;
    }
  }
};

Threads* threads = new Threads;

void* counted(void* start) {
  struct Leave {
    ~Leave() {  // also when the thread is cancelled or calls pthread_exit
      const std::scoped_lock lock(threads->mutex);
      threads->change(pthread_self(), Threads::State::ended, Threads::State::detached);
    }
  } leave;
  const Start copy = *static_cast<Start*>(start);
  delete static_cast<Start*>(start);
  return copy.function(copy.argument);
}

using Main = int (*)(int, char**, char**);
Main program_main = nullptr;

/// Takes the place of main() of a program that the judge has started itself.
int observed_main(int count, char** arguments, char** environment) {
  const pid_t here = getpid();
  record("begin");
  const int code = program_main(count, arguments, environment);
  if (getpid() == here) record("main returned");  // not in a child that has returned from main() as well
  return code;
}

}  // namespace

/// Called by the first instructions of a program (Linux Standard Base 5.0, __libc_start_main).
extern "C" int __libc_start_main(Main main, int count, char** arguments, void (*init)(), void (*fini)(),
                                 void (*rtld_fini)(), void* stack_end) {
  static const auto real = hidden<decltype(&__libc_start_main)>("__libc_start_main");
  const bool outermost = std::getenv("COOKBOOK_EXERCISE_INSIDE") == nullptr;
  setenv("COOKBOOK_EXERCISE_INSIDE", "1", 1);
  program_main = main;
  return real(outermost ? observed_main : main, count, arguments, init, fini, rtld_fini, stack_end);
}

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*function)(void*),
                              void* argument) {
  static const auto real = hidden<decltype(&pthread_create)>("pthread_create");
  const int now = ++alive;  // before the thread starts: it exists from here on
  int before = most.load();
  while (now > before && !most.compare_exchange_weak(before, now)) {
  }
  if (now > before) record("threads " + std::to_string(now));
  auto* start = new Start{function, argument};
  int detached = PTHREAD_CREATE_JOINABLE;
  if (attributes != nullptr) pthread_attr_getdetachstate(attributes, &detached);
  const std::scoped_lock lock(threads->mutex);
  const int result = real(thread, attributes, counted, start);
  if (result != 0) {
    delete start;
    --alive;
  } else {
    threads->states[*thread] = detached == PTHREAD_CREATE_DETACHED ? Threads::State::detached : Threads::State::running;
  }
  return result;
}

extern "C" int pthread_join(pthread_t thread, void** returned) {
  static const auto real = hidden<decltype(&pthread_join)>("pthread_join");
  bool counts = false;
  {
    const std::scoped_lock lock(threads->mutex);
    counts = threads->states.erase(thread) > 0;  // from now on another thread may get its name
  }
  const int result = real(thread, returned);
  if (counts) --alive;
  return result;
}

extern "C" int pthread_detach(pthread_t thread) {
  static const auto real = hidden<decltype(&pthread_detach)>("pthread_detach");
  const std::scoped_lock lock(threads->mutex);
  threads->change(thread, Threads::State::detached, Threads::State::ended);
  return real(thread);
}

extern "C" pid_t fork() {
  static const auto real = hidden<decltype(&fork)>("fork");
  const pid_t child = real();
  if (child > 0) record("process");
  if (child == 0) {
    alive = most = 1;
    threads = new Threads;  // another thread may have held the mutex
  }
  return child;
}

extern "C" int posix_spawn(pid_t* child, const char* path, const posix_spawn_file_actions_t* actions,
                           const posix_spawnattr_t* attributes, char* const arguments[], char* const environment[]) {
  static const auto real = hidden<decltype(&posix_spawn)>("posix_spawn");
  const int result = real(child, path, actions, attributes, arguments, environment);
  if (result == 0) record("process");
  return result;
}

extern "C" int posix_spawnp(pid_t* child, const char* file, const posix_spawn_file_actions_t* actions,
                            const posix_spawnattr_t* attributes, char* const arguments[], char* const environment[]) {
  static const auto real = hidden<decltype(&posix_spawnp)>("posix_spawnp");
  const int result = real(child, file, actions, attributes, arguments, environment);
  if (result == 0) record("process");
  return result;
}
