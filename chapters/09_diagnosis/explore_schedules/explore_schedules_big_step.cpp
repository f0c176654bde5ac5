// Pitfall: two steps are explored as one
//
// Two threads add 1 to a counter with a load and a store. A latch makes both wait in between, so that one update is
// lost in every run. The model of the same threads has one step for the load and the store together, so no schedule of
// the model has anything between them. The explorer says that none fails, and the threads have just failed.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/09_diagnosis/explore_schedules/explore_schedules_big_step.cpp common/cookbook/*.cpp -lfmt -lboost_context -pthread -o explore_schedules_big_step
// Run:     explore_schedules_big_step
// Symptom: exit 1, prints "the threads did what the model says cannot happen"
// Symptom under thread: skipped, the sanitizer does not follow the fibers
// Symptom under address: skipped, the sanitizer does not follow the fibers

#include <atomic>
#include <latch>
#include <string>
#include <thread>

#include "cookbook/print.hpp"
#include "explorer.hpp"

namespace {

int counter_of_threads() {
  std::atomic<int> counter = 0;
  std::latch both_have_loaded(2);
  const auto increment = [&] {
    const int seen = counter.load();
    both_have_loaded.arrive_and_wait();
    counter.store(seen + 1);
  };
  { std::jthread a(increment), b(increment); }
  return counter;
}

struct Model {
  static constexpr int threads = 2;
  int counter = 0;

  void run(int, SteppedThread& self) {
    self.step("increments", [&] { ++counter; });  // wrong: the threads do this in two steps
  }
  std::string fault() const { return counter == threads ? "" : "an update is lost"; }
};

}  // namespace

int main() {
  const int counter = counter_of_threads();
  cookbook::println("two threads have counted to {}", counter);
  const Exploration<Model> found = explore<Model>();
  cookbook::println("the model: {} schedules, {} of them fail", found.schedules, found.failing);
  if (counter == 2 || found.failing > 0) return 0;
  cookbook::println("the threads did what the model says cannot happen");
  return 1;
}
