/// Waiting in tests: for a state instead of for so many milliseconds, and never for ever.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <string>
#include <thread>
#include <vector>

namespace test_support {

/// How long work may take that takes a second at most on a quiet machine; with a sanitizer it takes ten times as long.
/// (Ten seconds were too few for threads that spin, on two processors with ten other programs at work.)
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr std::chrono::seconds long_enough(60);
#else
constexpr std::chrono::seconds long_enough(30);
#endif

/// Runs `work`, and ends the whole test program if it has not returned when it is long_enough: a thread that sleeps for
/// ever cannot be ended otherwise.
inline void with_watchdog(const std::function<void()>& work) {
  std::promise<void> done;
  std::jthread runner([&] {
    work();
    done.set_value();
  });
  if (done.get_future().wait_for(long_enough) == std::future_status::ready) return;
  std::fputs("the test hangs\n", stderr);
  std::_Exit(1);
}

/// The state of a process or thread, given its folder in /proc: 'R' if it runs, 'S' if it sleeps, 'T' if it is stopped,
/// 'Z' if it has ended and nobody has waited for it, and others (man proc_pid_stat); 0 if it is not there.
inline char state_in(const std::filesystem::path& folder) {
  std::ifstream file(folder / "stat");
  std::string stat;
  std::getline(file, stat);
  const std::size_t name_ends = stat.rfind(") ");  // a thread's name may have spaces
  return name_ends == std::string::npos ? '\0' : stat[name_ends + 2];
}
inline char state_of(pid_t process) { return state_in("/proc/" + std::to_string(process)); }

/// Waits until a thread of this program, or a child process, sleeps as one does that waits for a lock. A child that has
/// ended, and is not waited for yet, counts as well. `id` is that of gettid() or fork().
inline void wait_until_asleep(pid_t id) {
  const std::filesystem::path folder = "/proc/" + std::to_string(id) + "/task/" + std::to_string(id);
  for (char state = 0; state != 'S' && state != 'Z'; std::this_thread::yield()) state = state_in(folder);
}

/// Sends SIGSTOP to a process and returns when each of its threads has stopped. The signal goes to one of them, and
/// until that one runs, on a busy machine after many milliseconds, the others go on. The process may not end meanwhile.
inline void stop_every_thread(pid_t process) {
  kill(process, SIGSTOP);
  for (bool all_stopped = false; !all_stopped; std::this_thread::yield()) {
    all_stopped = true;
    for (const auto& thread : std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/task")) {
      const char state = state_in(thread.path());
      all_stopped = all_stopped && (state == 'T' || state == 0);
    }
  }
}

/// Starts so many threads that call wait(), calls wake() when all of them sleep, and waits until all have returned;
/// ends the test program if one has not when it is long_enough.
inline void expect_all_wake(int threads, const std::function<void()>& wait, const std::function<void()>& wake) {
  with_watchdog([&] {
    std::vector<std::promise<pid_t>> ids(threads);
    std::vector<std::jthread> sleepers;
    for (std::promise<pid_t>& id : ids) {
      sleepers.emplace_back([&] {
        id.set_value(gettid());
        wait();
      });
    }
    for (std::promise<pid_t>& id : ids) wait_until_asleep(id.get_future().get());
    wake();
  });
}

}  // namespace test_support
