// Pitfall: a task is lost with the worker that has taken it
//
// The workers take the numbers of their tasks from one queue, here a pipe, as those of Python's pool do. The first
// worker at task 7 is killed, and a new one takes its place; the caller waits for the tenth result for ever.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/03_processes chapters/03_processes/process_pool_recovery/process_pool_recovery_lost.cpp common/cookbook/*.cpp -lfmt -pthread -o process_pool_recovery_lost
// Run:     process_pool_recovery_lost, then Ctrl-C
// Symptom: hangs

#include <unistd.h>

#include <csignal>
#include <utility>

#include "cookbook/posix.hpp"
#include "cookbook/print.hpp"
#include "cookbook/process.hpp"
#include "shared_memory.hpp"

int main() {
  constexpr int tasks = 10, workers = 4;
  int to_workers[2], to_caller[2];
  check(pipe(to_workers), "pipe");
  check(pipe(to_caller), "pipe");
  const Shared<bool> killed(false);
  const auto work = [&] {
    for (int task; check(read(to_workers[0], &task, sizeof task), "read") == sizeof task;) {
      if (task == 7 && !std::exchange(*killed, true)) raise(SIGKILL);  // nobody else knows that it has task 7
      check(write(to_caller[1], &task, sizeof task), "write");
    }
  };
  cookbook::start_child([&] {  // the supervisor
    for (int i = 0; i < workers; ++i) cookbook::start_child(work);
    for (;;) {
      cookbook::exit_code_of(-1);  // any worker
      cookbook::start_child(work);
    }
  });

  for (int task = 0; task < tasks; ++task) check(write(to_workers[1], &task, sizeof task), "write");
  for (int results = 1; results <= tasks; ++results) {
    int task = 0;
    check(read(to_caller[0], &task, sizeof task), "read");
    cookbook::println("result {} of {}: that of task {}", results, tasks, task);
  }
  cookbook::println("all results are there");
}
