// Thread by class, with a base class
//
// Python's pattern of a base class and an overridden run(), with a base whose constructor starts the thread. It races
// twice. The base is made before the derived part is there, and its member joins after the derived part has gone. A
// thread that comes to run() at either time calls the base's, which does nothing. In between it may also find the right
// one; then all seems well.
//
// Compile: g++ -std=c++20 -O1 -g -fsanitize=thread chapters/02_threads/thread_class/thread_class_virtual.cpp -o thread_class_virtual
// Run:     thread_class_virtual
// Symptom: exit 1, prints "the timer never ticked"
// Symptom under thread: prints "WARNING: ThreadSanitizer: data race on vptr"

#include <atomic>
#include <cstdio>
#include <thread>

namespace {

class Thread {
 public:
  Thread() : thread_([this] { run(); }) {}  // the first race: the thread starts, and there is no Timer yet
  virtual ~Thread() = default;              // the second: ~Timer() is over when thread_ is joined here
  virtual void run() {}                     // as in Python, nothing unless overridden

 private:
  std::jthread thread_;
};

std::atomic<bool> ticked = false;

class Timer : public Thread {
 public:
  void run() override { ticked = true; }
};

}  // namespace

int main() {
  {
    Timer timer;
    std::puts("the timer is made");
  }
  if (ticked) return 0;
  std::puts("the timer never ticked");
  return 1;
}
