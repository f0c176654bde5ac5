// Pitfall: a primitive for threads between processes
//
// A std::latch lies in memory that parent and child share. The child waits, the parent counts down, and the latch is
// open; but the child goes on sleeping. count_down() asks a table of its own process whether somebody waits, and there
// nobody does.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/03_processes chapters/03_processes/process_synchronisation/process_synchronisation_latch.cpp common/cookbook/*.cpp -lfmt -pthread -o process_synchronisation_latch
// Run:     process_synchronisation_latch, then Ctrl-C
// Symptom: hangs

#include <chrono>
#include <latch>
#include <thread>

#include "cookbook/print.hpp"
#include "cookbook/process.hpp"
#include "shared_memory.hpp"

int main() {
  const Shared<std::latch> latch(1);
  const Shared<bool> may_go_on(false);
  const pid_t child = cookbook::start_child([&] {
    latch->wait();
    return *may_go_on ? 0 : 1;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));  // until the child sleeps

  *may_go_on = true;
  latch->count_down();
  cookbook::println("the latch is open: {}", latch->try_wait());
  const int code = cookbook::exit_code_of(child);
  cookbook::println("the child has gone on {}", code == 0 ? "when it was allowed" : "too early");
  return code;
}
