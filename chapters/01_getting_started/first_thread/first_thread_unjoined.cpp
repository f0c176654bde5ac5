// Pitfall: nobody joins the thread
//
// std::thread is the older class: its destructor does not wait. At the end of main the object is destroyed although its
// thread was neither joined nor detached. Then the C++ library calls std::terminate, which ends the whole program at
// once, as a crash. It does so even if the thread has ended by itself.
//
// Compile: g++ -std=c++20 -O2 chapters/01_getting_started/first_thread/first_thread_unjoined.cpp -pthread -o first_thread_unjoined
// Run:     first_thread_unjoined
// Symptom: prints "terminate called"

#include <chrono>
#include <cstdio>
#include <thread>

namespace {

void greet() {
  for (int i = 0; i < 10; ++i) {
    std::puts("Hello Parallel C++ CookBook!!");
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  std::puts("Thread Ended");
}

}  // namespace

int main() {
  std::thread thread(greet);
  std::puts("Process Ended");
  std::fflush(stdout);
}  // wrong: neither thread.join() nor a std::jthread
