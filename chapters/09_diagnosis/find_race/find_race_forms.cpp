// Five ways to hand over a result
//
// A worker thread works out a result. main asks every 50 ms whether it is done, and then takes the result. Two of the
// five forms have a data race, three are right. find_race.cpp compiles this program and runs it under three tools; by
// itself it prints for each form how many of its jobs gave main the right result.
//
// Compile: g++ -std=c++20 -g chapters/09_diagnosis/find_race/find_race_forms.cpp -pthread -o find_race_forms
// Run:     find_race_forms JOBS MILLISECONDS, the length of the pause in gap()

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

constexpr std::chrono::milliseconds poll_period(50);
std::chrono::milliseconds pause_length(0);

/// Stands between the writes of `done` and of the result; a pause here makes it likely that main comes in between.
void gap() {
  if (pause_length.count() > 0) std::this_thread::sleep_for(pause_length);
}

struct AfterUnlock {
  std::mutex mutex;
  bool done = false;
  long result = 0;

  void finish(long sum) {
    {
      std::scoped_lock lock(mutex);
      done = true;
    }
    gap();
    result = sum;  // wrong: main may have seen `done`, and have read the result, before
  }
  bool is_done() {
    std::scoped_lock lock(mutex);
    return done;
  }
  long take() { return result; }
};

struct ThenLog : AfterUnlock {
  int log_lines = 0;

  void finish(long sum) {
    AfterUnlock::finish(sum);
    std::scoped_lock lock(mutex);  // the same fault; but now the thread locks and unlocks once more
    ++log_lines;
  }
  long take() { return result; }  // one per class, so that a report names the class
};

struct UnderLock : AfterUnlock {
  void finish(long sum) {
    std::scoped_lock lock(mutex);
    done = true;
    gap();
    result = sum;
  }
  long take() { return result; }
};

struct Release {
  std::atomic<bool> done = false;
  long result = 0;

  void finish(long sum) {
    result = sum;
    gap();
    done.store(true, std::memory_order_release);
  }
  bool is_done() { return done.load(std::memory_order_acquire); }
  long take() { return result; }
};

struct Fences {
  std::atomic<bool> done = false;
  long result = 0;

  void finish(long sum) {
    result = sum;
    gap();
    std::atomic_thread_fence(std::memory_order_release);
    done.store(true, std::memory_order_relaxed);
  }
  bool is_done() {
    if (!done.load(std::memory_order_relaxed)) return false;
    std::atomic_thread_fence(std::memory_order_acquire);
    return true;
  }
  long take() { return result; }
};

long sum_up_to(int last) {
  long sum = 0;
  for (int i = 1; i <= last; ++i) sum += i;
  return sum;
}

template <typename Form>
void try_form(const char* name, int jobs) {
  // Static, so that no two forms get the same memory: ThreadSanitizer reports only one race per address.
  static std::vector<Form> forms(jobs);
  std::vector<std::jthread> workers;
  for (Form& form : forms) workers.emplace_back([&form] { form.finish(sum_up_to(100)); });
  int right = 0;
  std::this_thread::sleep_for(poll_period);  // main has other work first
  for (Form& form : forms) {
    while (!form.is_done()) std::this_thread::sleep_for(poll_period);
    if (form.take() == 5050) ++right;
  }
  std::printf("%s %d\n", name, right);
}

int main(int argc, char** argv) {
  const int jobs = argc == 3 ? std::atoi(argv[1]) : 0;
  if (jobs < 1) {
    std::fprintf(stderr, "usage: find_race_forms JOBS MILLISECONDS\n");
    return 2;
  }
  pause_length = std::chrono::milliseconds(std::atoi(argv[2]));
  try_form<AfterUnlock>("AfterUnlock", jobs);
  try_form<ThenLog>("ThenLog", jobs);
  try_form<UnderLock>("UnderLock", jobs);
  try_form<Release>("Release", jobs);
  try_form<Fences>("Fences", jobs);
}
