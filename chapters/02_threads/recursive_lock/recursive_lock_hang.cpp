// Pitfall: a method that holds a plain mutex calls another one that locks it
//
// add() locks the box's std::mutex and calls set(), which locks it again. The mutex is not free, so the thread waits
// until its holder unlocks it. But the holder is the thread itself, which waits. (C++ does not define what happens when
// a thread locks a std::mutex that it holds; on Linux it waits for ever.)
//
// Compile: g++ -std=c++20 -O2 chapters/02_threads/recursive_lock/recursive_lock_hang.cpp -pthread -o recursive_lock_hang
// Run:     recursive_lock_hang, then Ctrl-C
// Symptom: hangs

#include <cstdio>
#include <latch>
#include <mutex>
#include <stdexcept>
#include <thread>

namespace {

class Box {
 public:
  int items() {
    std::scoped_lock lock(mutex_);
    return items_;
  }

  void set(int number) {
    std::scoped_lock lock(mutex_);  // wrong: add() has locked it already
    if (number < 0) throw std::invalid_argument("a box cannot hold fewer than 0 items");
    items_ = number;
  }

  void add(int number) {
    std::scoped_lock lock(mutex_);
    set(items_ + number);
  }

 private:
  std::mutex mutex_;
  int items_ = 0;
};

}  // namespace

int main() {
  Box box;
  std::latch all_have_set(2);
  std::puts("add() locks, and calls set(), which locks, too");
  std::fflush(stdout);
  const auto set_and_add = [&] {
    box.set(10);
    all_have_set.arrive_and_wait();
    box.add(1);
  };
  { std::jthread first(set_and_add), second(set_and_add); }
  std::printf("%d items\n", box.items());
}
