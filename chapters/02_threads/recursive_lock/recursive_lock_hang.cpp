// Pitfall: a method that holds a plain mutex calls another one that locks it
//
// add() locks the box's std::mutex and calls change(), which locks it again. The mutex is not free, so the thread waits
// until its holder unlocks it. But the holder is the thread itself, which waits. (C++ does not define what happens when
// a thread locks a std::mutex that it holds; on Linux it waits for ever.)
//
// Compile: g++ -std=c++20 -O2 chapters/02_threads/recursive_lock/recursive_lock_hang.cpp -pthread -o recursive_lock_hang
// Run:     recursive_lock_hang, then Ctrl-C
// Symptom: hangs

#include <cstdio>
#include <mutex>
#include <thread>

namespace {

class Box {
 public:
  int change(int items) {
    std::scoped_lock lock(mutex_);  // wrong: add() has locked it already
    return total_ += items;
  }

  int add() {
    std::scoped_lock lock(mutex_);
    ++additions_;
    return change(+1);
  }

  int additions() {
    std::scoped_lock lock(mutex_);
    return additions_;
  }

 private:
  std::mutex mutex_;
  int additions_ = 0, total_ = 0;
};

}  // namespace

int main() {
  Box box;
  std::puts("two threads add an item each");
  std::fflush(stdout);
  const auto add_one = [&] {
    box.add();
    box.change(+1);  // a correction, which is no addition
    box.change(-1);
  };
  { std::jthread first(add_one), second(add_one); }
  std::printf("%d additions, total %d\n", box.additions(), box.change(0));
}
