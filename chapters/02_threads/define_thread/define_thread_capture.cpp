// Pitfall: the loop variable captured by reference
//
// Each thread is meant to print its own number. But [&] gives all five lambdas the same variable, the one of the loop.
// A thread reads it when it runs, and the loop has usually gone on by then. So in most runs numbers are missing, others
// come twice, and there may be a 5. It is also a data race, because the loop changes the variable while the threads
// read it.
//
// Compile: g++ -std=c++20 -O2 chapters/02_threads/define_thread/define_thread_capture.cpp -pthread -o define_thread_capture
// Run:     define_thread_capture
// Symptom: exit 1, prints "numbers are missing"
// Symptom under thread: prints "WARNING: ThreadSanitizer: data race"

#include <cstdio>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

int main() {
  std::mutex mutex;  // only one thread at a time may change `seen`
  std::set<int> seen;
  std::vector<std::jthread> started;
  int number = 0;  // declared here, so that it still exists while the threads run
  for (; number < 5; ++number) {
    started.emplace_back([&] {  // wrong: all threads use the one variable `number`
      const int mine = number;
      std::scoped_lock lock(mutex);
      std::printf("function called by thread %d\n", mine);
      seen.insert(mine);
    });
  }
  for (std::jthread& thread : started) thread.join();
  if (seen == std::set<int>{0, 1, 2, 3, 4}) return 0;
  std::puts("numbers are missing");
  return 1;
}
