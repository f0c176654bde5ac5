// Pitfall: an exception leaves the thread
//
// Two objects run in threads, and one of them throws. Nothing can catch the exception outside of its thread, not even
// the try around the join. So std::terminate ends the whole program, and the other thread, which has done nothing
// wrong, never comes to its end. In Python only the thread that threw would end.
//
// Compile: g++ -std=c++20 -O2 chapters/02_threads/thread_class/thread_class_exception.cpp -pthread -o thread_class_exception
// Run:     thread_class_exception
// Symptom: prints "terminate called after throwing an instance of 'std::runtime_error'"

#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <thread>

namespace {

struct Failing {
  void operator()() { throw std::runtime_error("the clock is broken"); }
};

struct Working {
  void operator()() {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    std::puts("the work is done");  // never printed
  }
};

}  // namespace

int main() {
  std::jthread working{Working()};
  try {
    std::jthread failing{Failing()};
    failing.join();
  } catch (const std::exception& error) {
    std::printf("caught: %s\n", error.what());  // never printed
  }
}
