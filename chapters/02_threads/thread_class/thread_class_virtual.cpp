// Pitfall: a base class that starts the thread
//
// In Python one derives from Thread and overrides run(). Here the constructor of a base class starts the thread, and it
// calls a virtual run(). But the base class is constructed before the derived part of the object and destroyed after
// it. A thread that calls run() too early or too late gets the base's run(), which does nothing. In between it may also
// find the right one, and then all seems well.
//
// Compile: g++ -std=c++20 -O2 chapters/02_threads/thread_class/thread_class_virtual.cpp -pthread -o thread_class_virtual
// Run:     thread_class_virtual
// Symptom: exit 1, prints "the timer never ticked"
// Symptom under thread: prints "WARNING: ThreadSanitizer: data race on vptr"

#include <atomic>
#include <cstdio>
#include <thread>

namespace {

class Thread {
 public:
  Thread() : thread_([this] { run(); }) {}  // wrong: the thread starts, and the Timer does not exist yet
  virtual ~Thread() = default;              // wrong: thread_ is joined here, and the Timer is gone
  virtual void run() {}

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
  std::puts(ticked ? "the timer ticked" : "the timer never ticked");
  return ticked ? 0 : 1;
}
