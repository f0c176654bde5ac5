// Pitfall: a lock that is copied
//
// The mutex is made for processes, but it lies in ordinary memory. A child made by fork has a copy of that memory, and
// so a mutex of its own: each process locks another mutex, no call fails, and nothing is protected.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/03_processes chapters/03_processes/process_lock/process_lock_copied.cpp common/cookbook/*.cpp -lfmt -pthread -o process_lock_copied
// Run:     process_lock_copied
// Symptom: exit 1, prints "changes were lost"

#include <atomic>
#include <boost/interprocess/sync/interprocess_mutex.hpp>
#include <mutex>
#include <thread>

#include "cookbook/print.hpp"
#include "cookbook/process.hpp"
#include "shared_memory.hpp"

int main() {
  const Shared<std::atomic<long>> counter(0);
  boost::interprocess::interprocess_mutex mutex;  // wrong: the child will have a copy
  const auto count = [&] {
    for (int i = 0; i < 10'000'000; ++i) {
      const std::scoped_lock lock(mutex);
      const long seen = counter->load();
      if (i % 1000 == 0) std::this_thread::yield();  // the other process may come in between, now and then
      counter->store(seen + 1);
    }
  };
  const pid_t child = cookbook::start_child(count);
  count();
  const int code = cookbook::exit_code_of(child);
  cookbook::println("counter: {}", counter->load());
  if (counter->load() == 20'000'000) return code;
  cookbook::println("changes were lost");
  return 1;
}
