// Process pool that loses a task
//
// A pool as Python's: workers take the numbers of tasks from a queue, and the caller waits for as many results. The
// worker at task 7 is killed. It is replaced, but nobody knows that it had taken that task: nine results come, and the
// caller waits for the tenth for ever.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/03_processes chapters/03_processes/process_pool/process_pool_lost.cpp common/cookbook/*.cpp -lfmt -pthread -o process_pool_lost
// Run:     process_pool_lost
// Symptom: hangs

#include <csignal>

#include "../process_queue/shared_queue.hpp"
#include "child.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "shared_memory.hpp"

int main(int argc, char** argv) {
  cookbook::Options options("Lose a task with the worker that has taken it");
  options.parse(argc, argv);

  constexpr int tasks = 10, workers = 4;
  struct Square {
    int number, square;
  };
  struct Queues {
    SharedQueue<int, tasks> numbers;
    SharedQueue<Square, tasks> results;
  };
  const Shared<Queues> queues;
  const auto hire = [&] {
    return start_child([&] {
      while (const auto number = queues->numbers.get()) {
        if (*number == 7) kill(getpid(), SIGKILL);  // the task is in no queue now, and nowhere else
        queues->results.put({*number, *number * *number});
      }
    });
  };
  const pid_t supervisor = start_child([&] {
    for (int i = 0; i < workers; ++i) hire();
    for (;;) {
      cookbook::println("a worker ended: {}; it is replaced", exit_code_of(-1));
      hire();
    }
  });
  for (int i = 0; i < tasks; ++i) queues->numbers.put(i);
  for (int i = 0; i < tasks; ++i) {
    const auto [number, square] = *queues->results.get();
    cookbook::println("{} * {} = {}", number, number, square);
  }
  cookbook::println("never reached");
  kill(supervisor, SIGKILL);
}
