// Loaded before a program by LD_PRELOAD, when an exercise is judged: writes to the file that COOKBOOK_EXERCISE_RECORD
// names a line "threads N" whenever more threads than before exist at the same time in this process, main included, and
// a line "process" for each process that this one starts.

#include <dlfcn.h>
#include <pthread.h>
#include <spawn.h>
#include <unistd.h>

#include <atomic>
#include <string>

#include "exercise_record.hpp"

namespace {

std::atomic<int> alive = 1, most = 1;

/// The function of that name which this library hides.
template <typename Function>
Function hidden(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

struct Start {
  void* (*function)(void*);
  void* argument;
};

void* counted(void* start) {
  struct Leave {
    ~Leave() { --alive; }  // also when the thread is cancelled or calls pthread_exit
  } leave;
  const Start copy = *static_cast<Start*>(start);
  delete static_cast<Start*>(start);
  return copy.function(copy.argument);
}

}  // namespace

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*function)(void*),
                              void* argument) {
  static const auto real = hidden<decltype(&pthread_create)>("pthread_create");
  const int now = ++alive;  // before the thread starts: it exists from here on
  int before = most.load();
  while (now > before && !most.compare_exchange_weak(before, now)) {
  }
  if (now > before) record("threads " + std::to_string(now));
  auto* start = new Start{function, argument};
  const int result = real(thread, attributes, counted, start);
  if (result != 0) {
    delete start;
    --alive;
  }
  return result;
}

extern "C" pid_t fork() {
  static const auto real = hidden<decltype(&fork)>("fork");
  const pid_t child = real();
  if (child > 0) record("process");
  if (child == 0) alive = most = 1;
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
