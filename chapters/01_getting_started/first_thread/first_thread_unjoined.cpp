// A first thread that nobody joins
//
// The program of first_thread.cpp without the join. With --way destroyed the std::thread object is destroyed while its
// thread runs, and the C++ library ends the whole program. With --way detached the thread is let go: main returns, the
// process ends, and the greetings that were still to come are lost without a word, with exit code 0.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/01_getting_started/first_thread/first_thread_unjoined.cpp common/cookbook/*.cpp -lfmt -pthread -o first_thread_unjoined
// Run:     first_thread_unjoined [--way destroyed|detached]
// Symptom: prints "std::terminate was called"

#include <chrono>
#include <cstdio>
#include <string>
#include <thread>

#include "cookbook/options.hpp"

namespace {

void greet() {
  std::puts("Thread Starting");
  for (int i = 0; i < 10; ++i) {
    std::puts("Hello Parallel C++ CookBook!!");
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  std::puts("Thread Ended");
}

}  // namespace

int main(int argc, char** argv) {
  std::string way = "destroyed";
  cookbook::Options options("Leave out the join of a thread");
  options.add_choice("way", way, "what becomes of the thread object", {"destroyed", "detached"});
  options.parse(argc, argv);
  std::setvbuf(stdout, nullptr, _IOLBF, 0);

  std::puts("Process Started");
  std::thread thread(greet);
  if (way == "detached") thread.detach();
  std::puts("Process Ended");
}  // the mistake: nobody has joined the thread
