/// What the judge of exercises puts into a program when it judges it again: looks at the decisive moments. Included
/// before the program's first line (-include), so a macro of the program does not change it.
#pragma once

#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <thread>

namespace judge {

/// Ends the program. The judge shows the learner this text.
[[noreturn]] inline void refuse(const std::string& why) {
  const std::string line = "\njudge: " + why + "\n";
  std::fflush(stdout);
  if (write(STDOUT_FILENO, line.data(), line.size()) < 0) std::perror("judge");
  _exit(66);
}

inline void expect(bool holds, const std::string& why) {
  if (!holds) refuse(why);
}

/// Numbers that all processes which this program forks share with it, all 0 in the beginning.
struct Board {
  std::atomic<long> numbers[16];
  std::atomic<int> met, inside, most_inside;
};

inline Board& board() {
  static Board* const shared = [] {
    void* memory = mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) std::abort();
    return new (memory) Board();
  }();
  return *shared;
}

inline std::atomic<long>& number(int which) { return board().numbers[which]; }

/// The process that main() began in. Initialised before main(), and so before any fork, as the board is.
inline const pid_t first_process = (board(), getpid());

/// Waits until `holds()`, up to two seconds; whether it does.
template <typename Condition>
bool within_two_seconds(Condition holds) {
  for (int i = 0; i < 2000 && !holds(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return holds();
}

/// To be called again and again by `count` threads, or processes, that have to be under way at the same time: the first
/// call of each waits for the first calls of the others. Returns true.
inline bool meet(int count, const std::string& why) {
  thread_local pid_t met = 0;
  if (met != getpid()) {
    met = getpid();
    ++board().met;
    expect(within_two_seconds([&] { return board().met >= count; }), why);
  }
  return true;
}

/// Whether a thread sleeps rather than looks again and again: whether it was asleep in most of 20 looks, 10 ms apart.
/// `path` is the file in which Linux says so.
inline bool asleep_in(const std::string& path) {
  int asleep = 0;
  for (int i = 0; i < 20; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    std::FILE* file = std::fopen(path.c_str(), "r");
    if (file == nullptr) continue;
    char text[512];
    const std::string all(text, std::fread(text, 1, sizeof text, file));
    std::fclose(file);
    const std::size_t name_end = all.rfind(')');
    asleep += name_end != std::string::npos && name_end + 2 < all.size() && all[name_end + 2] == 'S';
  }
  return asleep > 10;
}

/// The same five times, until it sleeps: on a busy machine it may come late to its sleep.
inline bool comes_to_sleep(const std::string& path) {
  for (int i = 0; i < 5; ++i) {
    if (asleep_in(path)) return true;
  }
  return false;
}

/// For a thread of this process, whose id gettid() has returned, and for the only thread of another process.
inline bool sleeps(pid_t thread) { return comes_to_sleep("/proc/self/task/" + std::to_string(thread) + "/stat"); }
inline bool sleeps_in(pid_t process) { return comes_to_sleep("/proc/" + std::to_string(process) + "/stat"); }

/// What this thread has done up to now. To be compared before and after it has waited: whoever looks again and again
/// uses the processor, or falls asleep many times.
struct Effort {
  double seconds;  // of a processor
  long times_asleep;
};

inline Effort effort() {
  rusage used{};
  getrusage(RUSAGE_THREAD, &used);
  const auto seconds = [](const timeval& time) { return static_cast<double>(time.tv_sec) + 1e-6 * time.tv_usec; };
  return {seconds(used.ru_utime) + seconds(used.ru_stime), used.ru_nvcsw};
}

/// How often another process, which has one thread, begins to wait within 0.3 s. It is 0 if it waits to be woken, and
/// more than 2 if it looks again and again, with a sleep in between.
inline long waits_begun_in(pid_t process) {
  const auto begun = [&] {
    std::FILE* file = std::fopen(("/proc/" + std::to_string(process) + "/status").c_str(), "r");
    if (file == nullptr) return 0L;
    long times = 0;
    char line[256];
    while (std::fgets(line, sizeof line, file) != nullptr) std::sscanf(line, "voluntary_ctxt_switches: %ld", &times);
    std::fclose(file);
    return times;
  };
  const long before = begun();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  return begun() - before;
}

/// Calls `look` in another thread, and waits for it: what does another thread see now?
template <typename Look>
void elsewhere(Look look) {
  std::thread(look).join();
}

/// While one of these exists, somebody is inside.
struct Inside {
  Inside() {
    const int now = ++board().inside;
    int most = board().most_inside;
    while (now > most && !board().most_inside.compare_exchange_weak(most, now)) {
    }
  }
  ~Inside() { --board().inside; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
};

/// For a program that has to end with an error: whichever exit code but 0 it leaves main() or calls exit() with becomes
/// 1. To be called before main(). Returns true.
inline bool any_error_becomes_1() {
  const auto leave = [](int code, void*) {
    std::fflush(nullptr);
    _exit(code == 0 ? 0 : 1);
  };
  return on_exit(leave, nullptr) == 0;
}

/// Takes the place of a sleep that a repair has added: the program must be right without it.
template <typename Duration>
void no_sleep(const Duration&) {
  std::this_thread::yield();
}

}  // namespace judge

/// Stands in the C++ before a program, once: the first three times that a thread (not main) has locked a mutex, it does
/// nothing for 100 ms, in which the other threads come to the locks that they want first. Trying to lock is as it was.
#define JUDGE_SLOW_LOCKS                                               \
  extern "C" int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept { \
    static thread_local int locked = 0;                                \
    while (const int error = pthread_mutex_trylock(mutex)) {           \
      if (error != EBUSY) return error;                                \
      usleep(200);                                                     \
    }                                                                  \
    if (gettid() != getpid() && ++locked <= 3) usleep(100'000);        \
    return 0;                                                          \
  }
