// Pitfall: workers that die at their start are replaced without end
//
// Every worker of this pool ends before it takes a task, because something that it needs is not there. The pool starts
// another one each time. This program stops after a quarter of a second; a real pool would go on for ever, keep the
// processors busy and do no task.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/03_processes/process_pool_recovery/process_pool_recovery_storm.cpp common/cookbook/*.cpp -lfmt -pthread -o process_pool_recovery_storm
// Run:     process_pool_recovery_storm
// Symptom: exit 1, prints "no task was done"

#include <fcntl.h>

#include <cerrno>

#include "cookbook/measure.hpp"
#include "cookbook/print.hpp"
#include "cookbook/process.hpp"

int main() {
  const cookbook::Stopwatch watch;
  int started = 0, done = 0;
  while (watch.seconds() < 0.25 && done == 0) {
    const pid_t worker = cookbook::start_child([] { return open("/no/such/model", O_RDONLY) == -1 ? errno : 0; });
    ++started;
    if (cookbook::exit_code_of(worker) == 0) ++done;  // missing: a limit to failures
  }
  cookbook::println("{} workers were started", started);
  if (started <= 3) return 0;
  cookbook::println("no task was done, and workers were started without end");
  return 1;
}
