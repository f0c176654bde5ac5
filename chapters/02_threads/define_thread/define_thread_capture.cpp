// Define a thread, its number taken too late
//
// The five threads of define_thread.cpp, with one change: the number is captured by reference. Each thread reads it
// when it runs, not when it is made, and by then the loop has gone on. Numbers are missing, others come twice, and a 5
// that no thread was meant to have may appear. The loop writes what the threads read, so it is a data race as well.
//
// Compile: g++ -std=c++20 -O1 -g -fsanitize=thread chapters/02_threads/define_thread/define_thread_capture.cpp -o define_thread_capture
// Run:     define_thread_capture
// Symptom: exit 1, prints "numbers are missing"
// Symptom under thread: prints "WARNING: ThreadSanitizer: data race"

#include <cstdio>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

int main() {
  constexpr int threads = 5;
  std::mutex guard;
  std::set<int> seen;
  std::vector<std::jthread> started;
  int number = 0;
  for (; number < threads; ++number) {
    started.emplace_back([&] {  // [&] is the fault: [number, &guard, &seen] gives each thread its own number
      const int mine = number;
      std::scoped_lock hold(guard);
      std::printf("function called by thread %d\n", mine);
      seen.insert(mine);
    });
  }
  for (std::jthread& thread : started) thread.join();
  if (seen == std::set<int>{0, 1, 2, 3, 4}) return 0;
  std::puts("numbers are missing");
  return 1;
}
