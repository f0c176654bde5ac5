// Pitfall: a daemon that is started by a short-lived thread
//
// The request PR_SET_PDEATHSIG is about the thread that made the child, not about the whole process. Here a thread
// starts the daemon and ends. The kernel ends the daemon at once, although the main program still runs and needs it.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/03_processes chapters/03_processes/background_process/background_process_thread.cpp common/cookbook/*.cpp -lfmt -pthread -o background_process_thread
// Run:     background_process_thread
// Symptom: exit 1, prints "the daemon was ended by signal 15, and main still runs"

#include <sys/wait.h>

#include <thread>

#include "cookbook/print.hpp"
#include "daemon.hpp"
#include "one_shot_event.hpp"

int main() {
  OneShotEvent begun;
  pid_t daemon = 0;
  std::thread starter([&] {
    daemon = start_daemon([&] {
      begun.give();
      usleep(200'000);  // its work
    });
    begun.wait();
  });  // wrong: the thread ends here, and the kernel ends the daemon
  starter.join();

  int status = 0;
  check(waitpid(daemon, &status, 0), "waitpid");
  if (WIFSIGNALED(status)) {
    cookbook::println("the daemon was ended by signal {}, and main still runs", WTERMSIG(status));
    return 1;
  }
  cookbook::println("the daemon has done its work, exit code {}", WEXITSTATUS(status));
}
