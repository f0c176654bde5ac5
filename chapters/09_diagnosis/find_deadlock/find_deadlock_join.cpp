// Pitfall: a lock held while waiting for a thread
//
// stop() locks the mutex, tells the worker to end, and waits for its end. The worker needs the same mutex to see that
// it shall end. So each waits for the other, but only one of them waits for a mutex: the debugger shows an owner there,
// and for the other the function join().
//
// Compile: g++ -std=c++20 -O2 -g chapters/09_diagnosis/find_deadlock/find_deadlock_join.cpp -pthread -o find_deadlock_join
// Run:     find_deadlock_join, then Ctrl-C
// Symptom: hangs

#include <chrono>
#include <cstdio>
#include <mutex>
#include <thread>

namespace {

class Worker {
 public:
  void stop() {
    std::scoped_lock lock(mutex_);
    stopping_ = true;
    thread_.join();  // wrong: the worker ends only when it has locked the mutex once more
  }

 private:
  void work() {
    for (;;) {
      {
        std::scoped_lock lock(mutex_);
        if (stopping_) return;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  std::mutex mutex_;
  bool stopping_ = false;
  std::thread thread_{[this] { work(); }};  // the last member: when it starts, the others are there
};

}  // namespace

int main() {
  Worker worker;
  std::printf("the worker is to stop\n");
  std::fflush(stdout);
  worker.stop();
  std::printf("the worker has stopped\n");
}
