// Name threads, so that one can tell them apart
//
// Three threads exist at the same time, one of which computes, and main reads what the system calls them, from a file
// in which top and debuggers find it too. Without names all three are called like the program. With names they can be
// told apart, unless the names are too long: then the system refuses them by an error code, which is easily overlooked.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/02_threads/name_thread/name_thread.cpp common/cookbook/*.cpp -lfmt -pthread -o name_thread
// Run:     name_thread [--work-ms N]

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <functional>
#include <latch>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "named_thread.hpp"  // start_thread()

namespace {

using Work = std::function<void()>;
const std::vector<std::string> wanted = {"listener", "worker", "logger"};
std::array<int, 3> errors{};  // of the threads whose names are too long

// Four ways to start thread 0, 1 or 2.
std::jthread not_named(int, Work work) { return std::jthread(work); }
std::jthread named(int number, Work work) { return start_thread(work, wanted[number]); }
std::jthread named_by_default(int, Work work) { return start_thread(work); }
std::jthread named_too_long(int number, Work work) {
  return std::jthread([=] {
    const std::string name = "connection_pool_" + std::to_string(number + 1);
    errors[number] = pthread_setname_np(pthread_self(), name.c_str());  // 0 if the system takes the name
    work();
  });
}

/// What the threads do: number 1, the worker, computes, and the others wait.
void work_of(int number, std::chrono::milliseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (number == 1 && std::chrono::steady_clock::now() < end) continue;
  std::this_thread::sleep_until(end);
}

/// The name of a thread of this process, by the number that the system has for it.
std::string name_in_proc(pid_t thread) {
  std::string name;
  std::getline(std::ifstream("/proc/self/task/" + std::to_string(thread) + "/comm"), name);
  return name;
}

/// Starts three threads; prints and returns the names that the system has for them.
std::vector<std::string> names_of_three(std::string_view how, std::chrono::milliseconds time,
                                        std::jthread (*start)(int number, Work work)) {
  std::vector<pid_t> ids(3);
  std::latch all_started(3), names_read(1);
  std::vector<std::jthread> threads;
  for (int number = 0; number < 3; ++number) {
    threads.push_back(start(number, [&, number] {
      ids[number] = gettid();
      all_started.count_down();
      names_read.wait();  // the name of a thread that has ended could not be read any more
      work_of(number, time);
    }));
  }
  all_started.wait();
  const std::vector<std::string> names = {name_in_proc(ids[0]), name_in_proc(ids[1]), name_in_proc(ids[2])};
  names_read.count_down();
  cookbook::println("{:<28}{:<18}{:<18}{}", how, names[0], names[1], names[2]);
  return names;  // the destructors of the jthreads wait for them
}

}  // namespace

int main(int argc, char** argv) {
  int work_ms = 20;
  cookbook::Options options("Name threads for people and for the debugger");
  options.add("work-ms", work_ms, "how long each thread works, in ms", 0, 60'000);
  options.parse(argc, argv);
  const std::chrono::milliseconds time(work_ms);

  cookbook::println("{:<28}{:<18}{:<18}{}", "how they are named", "thread 1", "thread 2", "thread 3");
  names_of_three("not at all", time, not_named);
  const std::vector<std::string> names = names_of_three("start_thread(work, name)", time, named);
  names_of_three("start_thread(work)", time, named_by_default);
  names_of_three("connection_pool_N: refused", time, named_too_long);

  cookbook::Checks checks;
  checks.equal("names that the system has", names, wanted);
  checks.equal("threads whose names of 17 characters were refused", std::count(errors.begin(), errors.end(), ERANGE),
               3);
  return checks.exit_code();
}
